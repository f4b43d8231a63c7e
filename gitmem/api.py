"""The Python API: a group with a method for each verb.

Every method is one operation of `gitmem.memory`; the command line calls the same ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.errors import BadInput
from gitmem.memory.clock import Clock
from gitmem.memory.group import Group as OpenedGroup
from gitmem.memory.group import Store, Who
from gitmem.model.access import MAIN

if TYPE_CHECKING:
    from gitmem.memory.admin.check import Checked
    from gitmem.memory.context.exposed import Acknowledgement
    from gitmem.memory.context.inject import Injected
    from gitmem.memory.curate.archive import Archived
    from gitmem.memory.curate.consolidate import Consolidated
    from gitmem.memory.curate.decide import Decided
    from gitmem.memory.curate.lint import Linted
    from gitmem.memory.curate.migrate import Migrated
    from gitmem.memory.entries.confirm import Confirmed
    from gitmem.memory.entries.entries import ListedEntries
    from gitmem.memory.entries.freshness import Freshness, LineDates
    from gitmem.memory.entries.move_entry import EntryMoved
    from gitmem.memory.read.diff import Diffed
    from gitmem.memory.read.listing import Listed
    from gitmem.memory.read.log import Entry
    from gitmem.memory.read.read import Read
    from gitmem.memory.read.show import Shown
    from gitmem.memory.read.status import Status
    from gitmem.memory.recover.archived import ArchivedList
    from gitmem.memory.recover.held import (
        HeldAccepted,
        HeldDropped,
        HeldEmptied,
        HeldRestored,
        HeldShown,
        HeldVersion,
        TrashedVersion,
    )
    from gitmem.memory.recover.ignore import HeldAsked, HeldIgnored, IgnoredRow
    from gitmem.memory.recover.kept import KeptCommit, KeptDropped, KeptRestored
    from gitmem.memory.recover.restore import Restored
    from gitmem.memory.recover.undo import Undone
    from gitmem.memory.search.search import Searched
    from gitmem.memory.transcripts.add import Spoken, TranscriptAdded
    from gitmem.memory.transcripts.checkpoint import TranscriptCheckpointed
    from gitmem.memory.transcripts.pending import TranscriptPending
    from gitmem.memory.transcripts.prune import TranscriptPruned
    from gitmem.memory.transcripts.status import TranscriptList, TranscriptShown, TranscriptStatus
    from gitmem.memory.upkeep.compact import Compacted
    from gitmem.memory.upkeep.maintain import Maintained
    from gitmem.memory.upkeep.rollup import RolledUp
    from gitmem.memory.upkeep.rollups_due import RollupsDue
    from gitmem.memory.upkeep.rotate import Rotated
    from gitmem.memory.upkeep.snapshot import SnapshotRow, Snapshotted
    from gitmem.memory.write.capture import CapturedAll
    from gitmem.memory.write.move import Moved
    from gitmem.memory.write.write import Edit, Written
    from gitmem.model.report import Report

Several = str | Iterable[str]
"""Names, or one of them alone."""


def _tuple(names: Several) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


class Group:
    """One group of a store. Close it, or use it as a context manager."""

    def __init__(self, opened: OpenedGroup) -> None:
        self._group = opened

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back file handles."""
        self._group.close()

    @property
    def name(self) -> str:
        """The group's name."""
        return self._group.name

    @property
    def worktree(self) -> Path:
        """The folder where the group's files stand."""
        return self._group.worktree

    @property
    def damage(self) -> tuple[str, ...]:
        """What was damaged so far, in words: healed on the way, or missing from an answer."""
        return self._group.damage

    def write(
        self,
        path: str,
        text: str | bytes | None = None,
        *,
        append: bool = False,
        create: bool = False,
        entry: str = "",
        fields: Mapping[str, str] | None = None,
        user: str = "",
        date: str = "",
        if_match: str | None = None,
        reason: str | None = None,
        turn: str | None = None,
        operation: str | None = None,
        allow_secret: Several = (),
        allow_shrink: bool = False,
        allow_policy: bool = False,
        allow_markers: bool = False,
    ) -> Written:
        """Replace a file, or add to it, as one commit. TEXT is kept byte for byte.

        PATH may be the name of a layer. FIELDS belong to ENTRY, or to the file's frontmatter.
        """
        from gitmem.memory.write.write import Allowed, Edit, write

        if text is None and not fields and not entry:
            raise BadInput("there is nothing to write", hint="give a text, fields or an entry")
        edit = Edit(path, text, append, create, if_match or "", user=user, date=date)
        edit = edit._replace(entry=entry, fields=tuple((fields or {}).items()))
        allowed = Allowed(_tuple(allow_secret), allow_shrink, allow_policy, allow_markers)
        return write(
            self._group,
            [edit],
            reason=reason or "",
            turn=turn or "",
            operation=operation or "",
            allowed=allowed,
        )

    def write_batch(
        self,
        edits: Sequence[Edit],
        *,
        reason: str | None = None,
        turn: str | None = None,
        operation: str | None = None,
        allow_secret: Several = (),
        allow_shrink: bool = False,
        allow_markers: bool = False,
    ) -> Written:
        """Apply several edits as one commit, all or nothing."""
        from gitmem.memory.write.write import Allowed, write

        return write(
            self._group,
            edits,
            reason=reason or "",
            turn=turn or "",
            operation=operation or "",
            allowed=Allowed(_tuple(allow_secret), allow_shrink, markers=allow_markers),
        )

    def read(self, path: str, at: str | None = None) -> Read:
        """A file as it is, or was at a moment: a commit, tag or date."""
        from gitmem.memory.read.read import read

        return read(self._group, path, at=at)

    def list(self, glob: str = "", at: str | None = None) -> Listed:
        """The files, or those that match a pattern."""
        from gitmem.memory.read.listing import list_files

        return list_files(self._group, glob, at=at)

    def log(
        self,
        path: str = "",
        *,
        session: str = "",
        agent: str = "",
        since: str = "",
        op: str = "",
        limit: int = 0,
    ) -> tuple[Entry, ...]:
        """Who changed what, when and why, newest first; follows moves."""
        from gitmem.memory.read.log import log

        return log(self._group, path, session=session, agent=agent, since=since, op=op, limit=limit)

    def show(self, commit: str) -> Shown:
        """One commit with its changes."""
        from gitmem.memory.read.show import show

        return show(self._group, commit)

    def diff(self, a: str = "", b: str = "", path: str = "") -> Diffed:
        """What changed between two moments, or since one, or is not committed yet."""
        from gitmem.memory.read.diff import diff

        return diff(self._group, a, b, path)

    def capture(
        self, paths: Several = (), *, reason: str | None = None, allow_markers: bool = False
    ) -> CapturedAll:
        """Commit edits that were made with ordinary tools."""
        from gitmem.memory.write.capture import capture

        named = _tuple(paths)
        return capture(self._group, named, reason=reason or "", allow_markers=allow_markers)

    def restore(
        self,
        path: str = "",
        *,
        at: str | None = None,
        previous: bool = False,
        reason: str | None = None,
        allow_secret: Several = (),
    ) -> Restored:
        """Bring back a file, a folder, an entry by its address, or everything, as a new commit."""
        from gitmem.memory.recover.restore import WAY_BACK, restore

        allowed = WAY_BACK._replace(secrets=_tuple(allow_secret))
        return restore(
            self._group,
            path,
            at=at or "",
            previous=previous,
            reason=reason or "",
            allowed=allowed,
        )

    def undo(
        self,
        commits: Several = (),
        *,
        last: int = 0,
        session: str = "",
        agent: str = "",
        reason: str | None = None,
    ) -> Undone:
        """Take back commits, and leave alone what others did since."""
        from gitmem.memory.recover.undo import undo

        return undo(
            self._group,
            _tuple(commits),
            last=last,
            session=session,
            agent=agent,
            reason=reason or "",
        )

    def move(
        self, source: str, target: str, *, reason: str = "", allow_policy: bool = False
    ) -> Moved:
        """Move a file or a folder."""
        from gitmem.memory.write.move import move

        return move(self._group, source, target, reason=reason, allow_policy=allow_policy)

    def remove(self, path: str, *, reason: str = "", allow_policy: bool = False) -> Moved:
        """Move a file or a folder to the archive."""
        from gitmem.memory.write.move import remove

        return remove(self._group, path, reason=reason, allow_policy=allow_policy)

    def archive(
        self,
        things: Several,
        *,
        reason: str | None = None,
        allow_policy: bool = False,
        dry_run: bool = False,
    ) -> Archived:
        """Move entries by address, and files, to the archive, as one commit."""
        from gitmem.memory.curate.archive import archive

        return archive(
            self._group,
            _tuple(things),
            reason=reason or "",
            allow_policy=allow_policy,
            dry_run=dry_run,
        )

    def archived(self) -> ArchivedList:
        """What stands in the archive, from where, since when and why."""
        from gitmem.memory.recover.archived import archived

        return archived(self._group)

    def confirm(self, things: Several, *, reason: str | None = None) -> Confirmed:
        """Write into entries, by address, that they are true today, as one commit."""
        from gitmem.memory.entries.confirm import confirm

        return confirm(self._group, _tuple(things), reason=reason or "")

    def entries(self, path: str = "", *, status: str = "", at: str | None = None) -> ListedEntries:
        """The entries of all layers, or of a layer, file, folder, pattern or address."""
        from gitmem.memory.entries.entries import entries

        return entries(self._group, path, status=status, at=at)

    def freshness(
        self, path: str = "", *, states: Collection[str] = (), at: str | None = None
    ) -> Freshness:
        """How long ago each entry of the layers that age was last touched, oldest first."""
        from gitmem.memory.entries.freshness import freshness

        return freshness(self._group, path, states=states, at=at)

    def line_dates(self, path: str, *, at: str | None = None) -> LineDates:
        """The commit of every line of a file, as `git blame -w` has it."""
        from gitmem.memory.entries.freshness import line_dates

        return line_dates(self._group, path, at=at)

    def report(self, *, at: str | None = None) -> Report:
        """What a look at all of memory finds: too big, faded, past its time, twice."""
        from gitmem.memory.curate.report import report

        return report(self._group, at=at)

    def consolidate(self, *, reason: str = "", dry_run: bool = False) -> Consolidated:
        """Archive logs of more than a month ago, and entries that had their time and faded."""
        from gitmem.memory.curate.consolidate import consolidate

        return consolidate(self._group, reason=reason, dry_run=dry_run)

    def decide(
        self,
        plan: str | bytes,
        *,
        base: str = "",
        skip_changed: bool = False,
        reason: str = "",
        dry_run: bool = False,
    ) -> Decided:
        """Carry out a plan, NDJSON with one decision in each line, as one commit."""
        from gitmem.memory.curate.decide import decide

        data = plan.encode() if isinstance(plan, str) else plan
        return decide(
            self._group,
            data,
            base=base,
            skip_changed=skip_changed,
            reason=reason,
            dry_run=dry_run,
        )

    def move_entry(
        self,
        address: str,
        target: str,
        *,
        fields: Mapping[str, str] | None = None,
        reason: str = "",
        allow_policy: bool = False,
    ) -> EntryMoved:
        """Move an entry to another file or layer, with FIELDS set on the way."""
        from gitmem.memory.entries.move_entry import move_entry

        return move_entry(
            self._group, address, target, fields=fields, reason=reason, allow_policy=allow_policy
        )

    def lint(self) -> Linted:
        """What the last commit says that it should not say, or not there, or not like this."""
        from gitmem.memory.curate.lint import lint

        return lint(self._group)

    def kept(self) -> tuple[KeptCommit, ...]:
        """Commits that left the branch and are kept."""
        from gitmem.memory.recover.kept import kept_list

        return kept_list(self._group)

    def kept_restore(self, commit: str, *, allow_secret: Several = ()) -> KeptRestored:
        """Merge kept commits into the branch."""
        from gitmem.memory.recover.kept import kept_restore

        return kept_restore(self._group, commit, allow_secret=_tuple(allow_secret))

    def kept_drop(self, commit: str) -> KeptDropped:
        """Keep commits no longer."""
        from gitmem.memory.recover.kept import kept_drop

        return kept_drop(self._group, commit)

    def held(self) -> tuple[HeldVersion, ...]:
        """Edits that may not enter git, in the work tree and set aside."""
        from gitmem.memory.recover.held import held_list

        return held_list(self._group)

    def held_show(self, what: str) -> HeldShown:
        """A held version by path or id, with credentials blanked out."""
        from gitmem.memory.recover.held import held_show

        return held_show(self._group, what)

    def held_accept(
        self, what: str, *, reason: str | None = None, mask: bool = False
    ) -> HeldAccepted:
        """Commit a held version as it is, or with its credentials masked."""
        from gitmem.memory.recover.held import held_accept

        return held_accept(self._group, what, reason=reason or "", mask=mask)

    def held_drop(self, what: str, *, reason: str | None = None) -> HeldDropped:
        """Move a held version to the trash."""
        from gitmem.memory.recover.held import held_drop

        return held_drop(self._group, what, reason=reason or "")

    def held_trash(self) -> tuple[TrashedVersion, ...]:
        """The held versions that were dropped."""
        from gitmem.memory.recover.held import held_trash

        return held_trash(self._group)

    def held_restore(self, what: str) -> HeldRestored:
        """Bring a version back from the trash, by id or path."""
        from gitmem.memory.recover.held import held_restore

        return held_restore(self._group, what)

    def held_empty(
        self, ids: Sequence[str] = (), *, before: str | None = None, dry_run: bool = False
    ) -> HeldEmptied:
        """Delete versions from the trash for good."""
        from gitmem.memory.recover.held import held_empty

        return held_empty(self._group, ids, before=before or "", dry_run=dry_run)

    def held_ignore(
        self, what: str, *, reason: str | None = None, dry_run: bool = False
    ) -> HeldIgnored:
        """Leave a file, or all that fit a pattern, on disk and out of memory."""
        from gitmem.memory.recover.ignore import held_ignore

        return held_ignore(self._group, what, reason=reason or "", dry_run=dry_run)

    def held_ask(self, what: str) -> HeldAsked:
        """Stop ignoring a path or a pattern."""
        from gitmem.memory.recover.ignore import held_ask

        return held_ask(self._group, what)

    def held_ignored(self) -> tuple[IgnoredRow, ...]:
        """The patterns of files that are ignored."""
        from gitmem.memory.recover.ignore import held_ignored

        return held_ignored(self._group)

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
        """What the model should see, now or as it was at a moment; the text and its manifest."""
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
            layers=_tuple(layers),
            annotate=annotate,
        )

    def search(
        self,
        query: str,
        *,
        source: str = "all",
        limit: int = 8,
        since: str | None = None,
        layers: Several = (),
        include_archive: bool = False,
    ) -> Searched:
        """What fits a question best, in memory and in what was said."""
        from gitmem.memory.search.search import search

        return search(
            self._group,
            query,
            source=source,
            limit=limit,
            since=since or "",
            layers=_tuple(layers),
            include_archive=include_archive,
        )

    def memory_get(self, path: str = "MEMORY.md", *, group_folder: str = "") -> Read:
        """A file that the layout allows to be read by this name; `main` may name a group."""
        from gitmem.memory.read.memory_actions import memory_get

        return memory_get(self._group, path, group_folder=group_folder)

    def memory_search(
        self, query: str, *, top_k: int = 8, sources: str = "all", group_folder: str = ""
    ) -> Searched:
        """What fits a question best, in such files and in what was said."""
        from gitmem.memory.read.memory_actions import memory_search

        return memory_search(
            self._group, query, top_k=top_k, sources=sources, group_folder=group_folder
        )

    def transcript_add(self, messages: Sequence[Spoken]) -> TranscriptAdded:
        """Keep what was said as one commit; messages whose ids are known are passed over."""
        from gitmem.memory.transcripts.add import transcript_add

        return transcript_add(self._group, messages)

    def transcript_list(self) -> TranscriptList:
        """The chats."""
        from gitmem.memory.transcripts.status import transcript_list

        return transcript_list(self._group)

    def transcript_show(self, chat: str, *, last: int = 0) -> TranscriptShown:
        """The messages of a chat, or the last ones."""
        from gitmem.memory.transcripts.status import transcript_show

        return transcript_show(self._group, chat, last=last)

    def transcript_pending(
        self, *, chat: str = "", chars: int | None = None, take_over: bool = False
    ) -> TranscriptPending:
        """The oldest range that is not summarised, for this agent and session until closed."""
        from gitmem.memory.transcripts.pending import CHARS, transcript_pending

        size = CHARS if chars is None else chars
        return transcript_pending(self._group, chat=chat, chars=size, take_over=take_over)

    def transcript_checkpoint(
        self, summary: str, *, token: str = "", covers: Several = ()
    ) -> TranscriptCheckpointed:
        """Close the range that was handed out, as one commit."""
        from gitmem.memory.transcripts.checkpoint import transcript_checkpoint

        return transcript_checkpoint(self._group, summary, token=token, covers=_tuple(covers))

    def transcript_status(self) -> TranscriptStatus:
        """What is summarised, what is not, and whether somebody is at it."""
        from gitmem.memory.transcripts.status import transcript_status

        return transcript_status(self._group)

    def transcript_prune(self, before: str, *, dry_run: bool = False) -> TranscriptPruned:
        """Drop what was said before a date, where it is summarised: for good."""
        from gitmem.memory.transcripts.prune import transcript_prune

        return transcript_prune(self._group, before, dry_run=dry_run)

    def rotate(self, *, reason: str | None = None) -> Rotated:
        """Begin the log of a new day, where one has begun."""
        from gitmem.memory.upkeep.rotate import rotate

        return rotate(self._group, reason=reason or "")

    def snapshot(self, *, force: bool = False, reason: str | None = None) -> Snapshotted:
        """Tag what memory holds today, once a day unless forced."""
        from gitmem.memory.upkeep.snapshot import snapshot

        return snapshot(self._group, force=force, reason=reason or "")

    def snapshots(self, *, limit: int = 0) -> tuple[SnapshotRow, ...]:
        """The snapshots, newest first."""
        from gitmem.memory.upkeep.snapshot import snapshots

        return snapshots(self._group, limit=limit)

    def compact(
        self,
        summary: str,
        *,
        daily: bool = False,
        at: str = "",
        reason: str | None = None,
        operation: str | None = None,
        allow_secret: Several = (),
        allow_markers: bool = False,
    ) -> Compacted:
        """Keep the summary of a session, so that the next can start fresh."""
        from gitmem.memory.upkeep.compact import compact
        from gitmem.memory.write.write import Allowed

        return compact(
            self._group,
            summary,
            daily=daily,
            at=at,
            reason=reason or "",
            operation=operation or "",
            allowed=Allowed(_tuple(allow_secret), markers=allow_markers),
        )

    def rollups_due(self, *, layer: str = "", texts: bool = True) -> RollupsDue:
        """The weeks and months that are over and have no summary yet, with their pages."""
        from gitmem.memory.upkeep.rollups_due import rollups_due

        return rollups_due(self._group, layer=layer, texts=texts)

    def rollup(
        self,
        type: str,
        period: str,
        text: str,
        *,
        summary: str,
        layer: str = "",
        if_match: str | None = None,
        reason: str | None = None,
        operation: str | None = None,
        allow_secret: Several = (),
        allow_markers: bool = False,
        dry_run: bool = False,
    ) -> RolledUp:
        """Write the page of a week or month, and let the pages it sums up go to the archive."""
        from gitmem.memory.upkeep.rollup import rollup

        return rollup(
            self._group,
            type,
            period,
            text,
            summary=summary,
            layer=layer,
            if_match=if_match or "",
            reason=reason or "",
            operation=operation or "",
            allow_secret=_tuple(allow_secret),
            allow_markers=allow_markers,
            dry_run=dry_run,
        )

    def migrate(self, *, dry_run: bool = False, reason: str | None = None) -> Migrated:
        """Bring old files into the form that the layout wants."""
        from gitmem.memory.curate.migrate import migrate

        return migrate(self._group, dry_run=dry_run, reason=reason or "")

    def status(self) -> Status:
        """How the group is."""
        from gitmem.memory.read.status import status

        return status(self._group)

    def maintain(self, *, dry_run: bool = False) -> Maintained:
        """Do what is due: capture, rotate, snapshot, verify, pack; or only say what that is."""
        from gitmem.memory.upkeep.maintain import maintain

        return maintain(self._group, dry_run=dry_run)

    def check(self, *, repair: bool = False) -> Checked:
        """Verify the repository, and mend it if asked."""
        from gitmem.memory.admin.check import check

        return check(self._group, repair=repair)

    def acknowledge(self, ids: Several) -> Acknowledgement:
        """End the notice about secrets in git, by the ids that `check` gives."""
        from gitmem.memory.context.exposed import acknowledge

        return acknowledge(self._group, _tuple(ids))


def open_group(
    group: str | None = None,
    *,
    store: str | Path,
    agent: str = "agent",
    session: str = "",
    source: str = "",
    acting: str | None = None,
    create: bool = False,
    layout: str = "standard",
    now: Clock | None = None,
) -> Group:
    """Open a group of the store in the folder STORE; with CREATE, make both where missing.

    A new group begins with LAYOUT; "none" leaves it empty.

    Without a name it is `main`, unless the store wants names. ACTING is the group in whose name we
    act: it may be refused. None is a person, who may do everything.
    """
    place = Store(Path(store).expanduser().resolve())
    if group is None and place.requires_group:
        raise BadInput("this store wants its group to be named", hint='gitmem.open("NAME", ...)')
    name, who = MAIN if group is None else group, Who(agent, session, source)
    if create:
        from gitmem.memory.admin.init import init

        init(place, name, layout=layout, who=who, acting=acting, now=now)
    return Group(OpenedGroup(place, name, who=who, acting=acting, now=now))
