"""A group of a store, with a method for each verb; the command line calls the same operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from gitmem.api.arguments import Methods, Several, checked, names
from gitmem.api.parts import (
    EntryMethods,
    HeldMethods,
    HistoryMethods,
    KeptMethods,
    TranscriptMethods,
)
from gitmem.errors import BadInput
from gitmem.memory.clock import Clock
from gitmem.memory.group import Caller, Group, Store, Who
from gitmem.memory.group import open_group as opened
from gitmem.model.access import MAIN

if TYPE_CHECKING:
    from gitmem.memory.admin.check import Checked
    from gitmem.memory.admin.committed_secrets import Acknowledgement
    from gitmem.memory.context.inject import Injected
    from gitmem.memory.curate.archive import Archived
    from gitmem.memory.curate.consolidate import Consolidated
    from gitmem.memory.curate.decide import Decided
    from gitmem.memory.curate.lint import Linted
    from gitmem.memory.curate.migrate import Migrated
    from gitmem.memory.read.listing import Listed
    from gitmem.memory.read.read import Read
    from gitmem.memory.read.status import Status
    from gitmem.memory.recover.restore import Restored
    from gitmem.memory.recover.undo import Undone
    from gitmem.memory.search.search import Searched
    from gitmem.memory.upkeep.compact import Compacted
    from gitmem.memory.upkeep.maintain import Maintained
    from gitmem.memory.upkeep.rollup import RolledUp
    from gitmem.memory.upkeep.rollups_due import RollupsDue
    from gitmem.memory.upkeep.rotate import Rotated
    from gitmem.memory.upkeep.snapshot import Snapshotted
    from gitmem.memory.write.capture import CapturedAll
    from gitmem.memory.write.move import Moved
    from gitmem.memory.write.write import Edit, Written
    from gitmem.model.report import Report


class Memory(Methods):
    """An open group. Close it, or use it as a context manager."""

    _OLD: ClassVar[Mapping[str, str]] = {
        "archived": "entries.archived",
        "confirm": "entries.confirm",
        "diff": "history.diff",
        "freshness": "entries.freshness",
        "held_accept": "held.accept",
        "held_ask": "held.unignore",
        "held_drop": "held.drop",
        "held_empty": "held.empty",
        "held_ignore": "held.ignore",
        "held_ignored": "held.ignored",
        "held_restore": "held.restore",
        "held_show": "held.show",
        "held_trash": "held.trash",
        "kept_drop": "kept.drop",
        "kept_restore": "kept.restore",
        "line_dates": "history.lines",
        "log": "history.log",
        "move": "mv",
        "move_entry": "entries.move",
        "remove": "rm",
        "show": "history.show",
        "snapshots": "history.snapshots",
        "transcript_add": "transcripts.add",
        "transcript_checkpoint": "transcripts.checkpoint",
        "transcript_list": "transcripts.list",
        "transcript_pending": "transcripts.pending",
        "transcript_prune": "transcripts.prune",
        "transcript_show": "transcripts.show",
        "transcript_status": "transcripts.status",
        "write_batch": "batch",
    }

    def __init__(self, opened: Group) -> None:
        self._group = opened
        self.entries = EntryMethods(opened)
        self.held = HeldMethods(opened)
        self.history = HistoryMethods(opened)
        self.kept = KeptMethods(opened)
        self.transcripts = TranscriptMethods(opened)

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close file handles."""
        self._group.close()

    @property
    def name(self) -> str:
        """The group's name."""
        return self._group.name

    @property
    def worktree(self) -> Path:
        """The folder with the group's files."""
        return self._group.worktree

    @property
    def damage(self) -> tuple[str, ...]:
        """Damage found so far, one text each: repaired on the way, or missing from a result."""
        return self._group.damage

    def write(
        self,
        path: str,
        text: str | bytes | None = None,
        *,
        append: bool = False,
        create: bool = False,
        entry: str | None = None,
        set: Mapping[str, str] | None = None,
        user: str | None = None,
        date: str | None = None,
        if_match: str | None = None,
        reason: str | None = None,
        turn: str | None = None,
        id: str | None = None,
        allow_secret: Several = (),
        allow_shrink: bool = False,
        allow_policy: bool = False,
        allow_markers: bool = False,
    ) -> Written:
        """Replace a file, or append to it, as one commit. TEXT is stored byte for byte.

        PATH may be the name of a layer. SET changes fields of ENTRY, or of the file's frontmatter.
        ID recognises a retry.
        """
        from gitmem.memory.write.write import Allowed, Edit, write

        if text is None and not set and not entry:
            raise BadInput("nothing to write", hint="give text, set or entry", parameter="text")
        edit = Edit(
            path,
            text,
            append,
            create,
            if_match or "",
            entry=entry or "",
            set=tuple((set or {}).items()),
            user=user or "",
            date=date or "",
        )
        allowed = Allowed(names(allow_secret), allow_shrink, allow_policy, allow_markers)
        return write(
            self._group,
            [edit],
            reason=reason or "",
            turn=turn or "",
            operation=id or "",
            allowed=allowed,
        )

    def batch(
        self,
        edits: Iterable[Edit],
        *,
        reason: str | None = None,
        turn: str | None = None,
        id: str | None = None,
        allow_secret: Several = (),
        allow_shrink: bool = False,
        allow_markers: bool = False,
    ) -> Written:
        """Apply several edits as one commit, all or nothing."""
        from gitmem.memory.write.write import Allowed, write

        return write(
            self._group,
            tuple(edits),
            reason=reason or "",
            turn=turn or "",
            operation=id or "",
            allowed=Allowed(names(allow_secret), allow_shrink, markers=allow_markers),
        )

    def read(self, path: str, at: str | None = None) -> Read:
        """A file as it is, or was at a moment: a commit, tag or date."""
        from gitmem.memory.read.read import read

        return read(self._group, path, at=at)

    def list(self, glob: str | None = None, at: str | None = None) -> Listed:
        """The files, or those that match a pattern."""
        from gitmem.memory.read.listing import list_files

        return list_files(self._group, glob or "", at=at)

    def search(
        self,
        query: str,
        *,
        source: str = "all",
        limit: int = 8,
        since: str | None = None,
        layers: Several = (),
        chats: Several = (),
        include_archive: bool = False,
    ) -> Searched:
        """The passages of memory and the messages that match QUERY best."""
        from gitmem.memory.search.search import search

        return search(
            self._group,
            query,
            source=source,
            limit=limit,
            since=since or "",
            layers=names(layers),
            chats=names(chats),
            include_archive=include_archive,
        )

    def inject(
        self,
        *,
        user: str | None = None,
        user_mode: str | None = None,
        prompt: str | None = None,
        top: int | None = None,
        chars: int | None = None,
        at: str | None = None,
        format: str | None = None,
        budget: int | None = None,
        layers: Several = (),
        annotate: bool | None = None,
    ) -> Injected:
        """The context for a model, now or at a moment: the text and its manifest."""
        from gitmem.memory.context.inject import inject

        return inject(
            self._group,
            user=user or "",
            user_mode=user_mode or "",
            prompt=prompt,
            top=top,
            chars=chars,
            at=at,
            format=format or "",
            budget=budget,
            layers=names(layers),
            annotate=annotate,
        )

    def memory_get(self, path: str = "MEMORY.md", *, group_folder: str | None = None) -> Read:
        """A file that the layout allows agents to read; `main` may name another group."""
        from gitmem.memory.read.memory_actions import memory_get

        return memory_get(self._group, path, group_folder=group_folder or "")

    def memory_search(
        self, query: str, *, top_k: int = 8, sources: str = "all", group_folder: str | None = None
    ) -> Searched:
        """The passages of such files, and the messages, that match QUERY best."""
        from gitmem.memory.read.memory_actions import memory_search

        folder = group_folder or ""
        return memory_search(self._group, query, top_k=top_k, sources=sources, group_folder=folder)

    def capture(
        self, paths: Several = (), *, reason: str | None = None, allow_markers: bool = False
    ) -> CapturedAll:
        """Commit edits that were made outside gitmem."""
        from gitmem.memory.write.capture import capture

        return capture(self._group, names(paths), reason=reason or "", allow_markers=allow_markers)

    def mv(
        self, source: str, target: str, *, reason: str | None = None, allow_policy: bool = False
    ) -> Moved:
        """Move a file or a folder."""
        from gitmem.memory.write.move import move

        return move(self._group, source, target, reason=reason or "", allow_policy=allow_policy)

    def rm(self, path: str, *, reason: str | None = None, allow_policy: bool = False) -> Moved:
        """Move a file or a folder to the archive."""
        from gitmem.memory.write.move import remove

        return remove(self._group, path, reason=reason or "", allow_policy=allow_policy)

    def archive(
        self,
        targets: Several,
        *,
        reason: str | None = None,
        allow_policy: bool = False,
        dry_run: bool = False,
    ) -> Archived:
        """Move entries, by address, and files to the archive, as one commit."""
        from gitmem.memory.curate.archive import archive

        return archive(
            self._group,
            names(targets),
            reason=reason or "",
            allow_policy=allow_policy,
            dry_run=dry_run,
        )

    def restore(
        self,
        path: str | None = None,
        *,
        at: str | None = None,
        previous: bool = False,
        reason: str | None = None,
        allow_secret: Several = (),
    ) -> Restored:
        """Bring back a file, a folder, an entry by its address, or everything, as a new commit."""
        from gitmem.memory.recover.restore import WAY_BACK, restore

        return restore(
            self._group,
            path or "",
            at=at or "",
            previous=previous,
            reason=reason or "",
            allowed=WAY_BACK._replace(secrets=names(allow_secret)),
        )

    def undo(
        self,
        commits: Several = (),
        *,
        last: int | None = None,
        session: str | None = None,
        agent: str | None = None,
        reason: str | None = None,
    ) -> Undone:
        """Revert commits, the newest one by default, and keep later changes."""
        from gitmem.memory.recover.undo import undo

        return undo(
            self._group,
            names(commits),
            last=last or 0,
            session=session or "",
            agent=agent or "",
            reason=reason or "",
        )

    def report(self, *, at: str | None = None) -> Report:
        """What needs curating: files over budget, stale, outdated and duplicate entries."""
        from gitmem.memory.curate.report import report

        return report(self._group, at=at)

    def consolidate(self, *, reason: str | None = None, dry_run: bool = False) -> Consolidated:
        """Archive logs older than 30 days, and outdated entries unchanged for 30 days."""
        from gitmem.memory.curate.consolidate import consolidate

        return consolidate(self._group, reason=reason or "", dry_run=dry_run)

    def decide(
        self,
        plan: str | bytes,
        *,
        base: str | None = None,
        skip_changed: bool = False,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> Decided:
        """Apply a plan, NDJSON with one decision per line, as one commit."""
        from gitmem.memory.curate.decide import decide

        data = plan.encode() if isinstance(plan, str) else plan
        return decide(
            self._group,
            data,
            base=base or "",
            skip_changed=skip_changed,
            reason=reason or "",
            dry_run=dry_run,
        )

    def lint(self) -> Linted:
        """Secrets, duplicates, undated entries and the like in the last commit."""
        from gitmem.memory.curate.lint import lint

        return lint(self._group)

    def rotate(self, *, reason: str | None = None) -> Rotated:
        """Start the log of a new day, if one has begun."""
        from gitmem.memory.upkeep.rotate import rotate

        return rotate(self._group, reason=reason or "")

    def snapshot(self, *, force: bool = False, reason: str | None = None) -> Snapshotted:
        """Tag the current state, once a day unless forced."""
        from gitmem.memory.upkeep.snapshot import snapshot

        return snapshot(self._group, force=force, reason=reason or "")

    def compact(
        self,
        summary: str,
        *,
        daily: bool = False,
        at: str | None = None,
        reason: str | None = None,
        id: str | None = None,
        allow_secret: Several = (),
        allow_markers: bool = False,
    ) -> Compacted:
        """Store the summary of a session, so that the next session can start fresh."""
        from gitmem.memory.upkeep.compact import compact
        from gitmem.memory.write.write import Allowed

        return compact(
            self._group,
            summary,
            daily=daily,
            at=at or "",
            reason=reason or "",
            operation=id or "",
            allowed=Allowed(names(allow_secret), markers=allow_markers),
        )

    def rollups_due(self, *, layer: str | None = None, texts: bool = True) -> RollupsDue:
        """The past weeks and months without a summary, with their pages."""
        from gitmem.memory.upkeep.rollups_due import rollups_due

        return rollups_due(self._group, layer=layer or "", texts=texts)

    def rollup(
        self,
        type: str,
        period: str,
        text: str,
        *,
        summary: str,
        layer: str | None = None,
        if_match: str | None = None,
        reason: str | None = None,
        id: str | None = None,
        allow_secret: Several = (),
        allow_markers: bool = False,
        dry_run: bool = False,
    ) -> RolledUp:
        """Write the page of a week or month, and archive the pages that it sums up."""
        from gitmem.memory.upkeep.rollup import rollup

        return rollup(
            self._group,
            type,
            period,
            text,
            summary=summary,
            layer=layer or "",
            if_match=if_match or "",
            reason=reason or "",
            operation=id or "",
            allow_secret=names(allow_secret),
            allow_markers=allow_markers,
            dry_run=dry_run,
        )

    def migrate(self, *, dry_run: bool = False, reason: str | None = None) -> Migrated:
        """Convert old files to the form of the layout."""
        from gitmem.memory.curate.migrate import migrate

        return migrate(self._group, dry_run=dry_run, reason=reason or "")

    def maintain(self, *, dry_run: bool = False) -> Maintained:
        """Do everything that is due: capture, rotate, snapshot, verify, pack."""
        from gitmem.memory.upkeep.maintain import maintain

        return maintain(self._group, dry_run=dry_run)

    def status(self) -> Status:
        """The state of the group and what needs attention."""
        from gitmem.memory.read.status import status

        return status(self._group)

    def check(self, *, repair: bool = False) -> Checked:
        """Check the repository for damage, and repair it if asked."""
        from gitmem.memory.admin.check import check

        return check(self._group, repair=repair)

    def acknowledge(self, ids: Several) -> Acknowledgement:
        """Stop reporting secrets or lost versions, by the ids that `check` reports."""
        from gitmem.memory.admin.committed_secrets import acknowledge

        return acknowledge(self._group, names(ids))


@checked
def open_group(
    group: str | None = None,
    *,
    store: str | Path,
    agent: str = "agent",
    session: str | None = None,
    source: str | None = None,
    acting: str | None = None,
    create: bool = False,
    layout: str = "standard",
    now: Clock | None = None,
) -> Memory:
    """Open a group of the store in the folder STORE; with CREATE, make both if missing.

    A new group starts with LAYOUT; "none" leaves it empty.

    The default group is `main`, unless the store requires a name. ACTING is the group on whose
    behalf you act, which limits what you may do. None is a person, who may do everything.
    """
    place = Store(Path(store).expanduser().resolve())
    if group is None and place.requires_group:
        raise BadInput(
            "this store requires the name of a group",
            hint='name it: gitmem.open("NAME", ...)',
            parameter="group",
        )
    name, who = MAIN if group is None else group, Who(agent, session or "", source or "")
    if create:
        from gitmem.memory.admin.init import init

        init(place, name, layout=layout, who=who, acting=acting, now=now)
    return Memory(opened(place, name, Caller(who, acting, now)))
