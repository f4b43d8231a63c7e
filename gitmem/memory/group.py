"""A store, and a group opened for work: what every operation takes as its first argument."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import BadInput, Damaged, GitmemError, GroupNotFound, PathRefused
from gitmem.model.access import MAIN, check_access
from gitmem.model.commit_messages import Note, check_agent
from gitmem.model.layout.layout import EMPTY, FILE, Layout
from gitmem.model.paths import check_group, check_path
from gitmem.store import isolation
from gitmem.store.formats import Unread, check_form, unread
from gitmem.store.lock import WAIT, Run, last_run
from gitmem.store.objects.rescue import Rescue, damage_met
from gitmem.store.repository import Repository, Snapshot, branch_file
from gitmem.store.setup import (
    FORMAT,
    SCOPED,
    begins,
    is_blank,
    is_tied,
    name_worktree,
    read_config,
    worktree_in,
)

if TYPE_CHECKING:
    from gitmem.cache.layouts import LastValid
    from gitmem.cache.scanned import Scanned, Stamp
    from gitmem.memory.clock import Clock
    from gitmem.memory.scope import LeftOutside
    from gitmem.store.lost_commits.merge_back import Rejoined
    from gitmem.store.transaction.capture import PutForward, Rules
    from gitmem.store.transaction.git_operations import GitOperation
    from gitmem.store.transaction.writer import Writer
    from gitmem.store.worktree.scope import Scoped

# What only a writer needs is imported where a write begins: reading is done before every prompt.

LINKS = "links"
"""The setting of a store that says which group a project folder uses."""

FINDER = Note(op="capture", id="", agent="unknown")
"""How an edit found on the way is recorded: nobody said who made it."""


def isolate() -> None:
    """For a process of our own: no git configuration, identity or home of the operator counts."""
    isolation.isolate()


class Who(NamedTuple):
    """In whose name an operation acts."""

    agent: str = "agent"
    session: str = ""
    source: str = ""
    turn: str = ""
    subagent: str = ""
    """The type and the id of an agent that works for this one."""


def make_note(who: Who, op: str, *, reason: str = "", paths: tuple[str, ...] = ()) -> Note:
    """What a commit says of itself; refuses a credential in any part of it."""
    from gitmem.model.guards import check_message_text
    from gitmem.store.transaction.capture import new_id

    check_message_text("reason, agent, session or source", "\n".join((reason, *who)))
    return Note(
        op=op,
        id=new_id(),
        agent=check_agent(who.agent),
        paths=paths,
        session=who.session,
        source=who.source,
        turn=who.turn,
        reason=reason,
        subagent=who.subagent,
    )


def time_now(clock: Clock | None, zone: tzinfo) -> datetime:
    """The time in ZONE."""
    return (clock() if clock else datetime.now(UTC)).astimezone(zone)


class Store:
    """A folder with `groups/` and `repos/`."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.abspath(root))

    def gitdir(self, group: str) -> Path:
        """Where the repository of GROUP lies."""
        return self.root / "repos" / f"{group}.git"

    def default_worktree(self, group: str) -> Path:
        """Where the work tree of GROUP lies unless it was put elsewhere."""
        return self.root / "groups" / group

    def names(self) -> list[str]:
        """The groups of this store, in order."""
        try:
            found = os.listdir(self.root / "repos")
        except FileNotFoundError:
            return []
        return sorted(each[:-4] for each in found if each.endswith(".git") and each[0] != ".")

    def unread(self, name: str) -> Unread | None:
        """Why the repository of a group is beyond us, sound as it may be."""
        return unread(read_config(self.gitdir(name)))

    def is_unfinished(self, name: str) -> bool:
        """Whether a group lacks what it begins with: whoever made it died, or is at it."""
        return begins(self.gitdir(name))

    @property
    def config(self) -> Path:
        """The file with the settings of the store."""
        return self.root / "config.yaml"

    @cached_property
    def settings(self) -> dict[str, object]:
        """What `config.yaml` in the store says; empty when there is none."""
        path = self.config
        if not path.exists():
            return {}
        import yaml  # only where there is a file to read

        try:
            found = yaml.safe_load(path.read_text("utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise BadInput(f"{path} cannot be read: {error}", hint="mend or remove it") from error
        return found if isinstance(found, dict) else {}

    @property
    def requires_group(self) -> bool:
        """True when nothing may act without a group being named."""
        return self.settings.get("require_group") is True

    @property
    def links(self) -> dict[str, str]:
        """Which group each project folder uses, by its real path."""
        return {path: name for path, name in self._link_rows() if name is not None}

    @property
    def declined(self) -> frozenset[str]:
        """The project folders that shall use no group of their own, by their real paths."""
        return frozenset(path for path, name in self._link_rows() if name is None)

    def _link_rows(self) -> Iterator[tuple[str, str | None]]:
        found = self.settings.get(LINKS)
        rows = found.items() if isinstance(found, dict) else ()
        return ((path, name) for path, name in rows if isinstance(path, str) and path[:1] == "/")

    def linked(self, folder: str) -> str:
        """The group that FOLDER uses, or the nearest one above it that uses any; else nothing."""
        links = self.links
        place = os.path.realpath(folder) if links else "/"
        while place not in links and place != "/":
            place = os.path.dirname(place)
        return str(links.get(place, ""))


class Group:
    """One group, opened: a repository, a work tree, a clock, and in whose name we act."""

    def __init__(
        self,
        store: Store,
        name: str,
        *,
        who: Who | None = None,
        acting: str | None = None,
        now: Clock | None = None,
        near: str = "",
        heals: bool = True,
    ) -> None:
        """NEAR is the folder the caller works in: a moved work tree is found from there.

        HEALS: what a power cut or a dead `groups rename` left is mended on the way, where the
        acting group may do that.
        """
        check_access(acting, check_group(name), write=False)
        self.store = store
        self.name = name
        self.who = who or Who()
        self.acting = acting
        self._now = now
        self._zone: tuple[str, tzinfo] | None = None
        self._zoned_at = ""
        self._writer: Writer | None = None
        """A writer at work knows where the branch is: its clock need not ask git again."""
        self._exposed: bool | None = None
        """Whether a credential was found in history; None before anybody has looked."""
        self._searched: tuple[str, Stamp] = "", None
        """Where our last writer left the branch, all searched, and the file that says up to where:
        while both stay as they are, nobody need read that file and the lock again."""
        self.layouts: dict[str, Layout] = {}
        """Layouts that were read, by the blob they stand in."""
        self.rejoined: list[Rejoined] = []
        """Commits that had left the branch and that our writers have put back, or kept."""
        self.put_forward: list[PutForward] = []
        self.left_outside: list[LeftOutside] = []
        """Files that a failed `git merge` had reset and that our writers have put forward."""
        self.standing: LastValid | None = None
        """Which one counts at a commit that has none of its own."""
        self.gitdir = store.gitdir(name)
        heals = heals and self.keeps
        if not self.gitdir.is_dir() and not (heals and self._finished()):
            raise not_found(store, name, acting)
        self._config = read_config(self.gitdir)
        self._check_format()  # before anything is healed: a newer format is not ours to touch
        if heals and self._config.get("core.worktree") != f"../../groups/{name}":
            self._find_config(near)
        self.repository = Repository(self.gitdir, heals=heals)
        self._rescue = Rescue(self.gitdir, lambda: self.worktree, keeps=self.keeps)
        self.repository.objects.rescuer = self._rescue
        self.repository.scope = self.scope

    def _find_config(self, near: str) -> None:
        """The work tree is elsewhere, or a power cut or an interrupted renaming left it unnamed."""
        default = self.store.default_worktree(self.name)
        place = worktree_in(self.gitdir, self._config)
        changed = False
        with suppress(OSError):  # who cannot write here is told by who needs it
            if place is None and is_blank(self.gitdir) and is_tied(self.gitdir, default):
                name_worktree(self.gitdir, os.path.relpath(default, self.gitdir))
                changed = True
            elif place and place != default and place.parent == default.parent:
                changed = self._finished()
            elif place and near and not os.path.lexists(place):
                from gitmem.memory.admin.worktrees import relink_from

                changed = relink_from(self.store, self.name, near)
        if changed:
            self._config = read_config(self.gitdir)

    def _finished(self) -> bool:
        """Finish a renaming to this name that was interrupted; False where there was none."""
        from gitmem.memory.admin.rename import finish_rename

        with suppress(OSError):
            return finish_rename(self.store, self.name)
        return False

    def _check_format(self) -> None:
        check_form(self._config, self.name)
        found = self._config.get("gitmem.format", "1")
        if found != str(FORMAT):
            raise Damaged(
                f"this group has format {found}; this gitmem reads format {FORMAT}",
                hint="upgrade gitmem, or run `gitmem check`",
            )
        if "core.worktree" not in self._config and not is_blank(self.gitdir):
            # It may be elsewhere: a write would go to the wrong folder.
            raise Damaged(
                f"the configuration of the repository of {self.name!r} names no work tree",
                hint="run `gitmem check --repair`",
            )

    def close(self) -> None:
        """Give back file handles."""
        self.repository.close()

    @property
    def keeps(self) -> bool:
        """Whether what is found out may be kept in its git directory: not by who only reads it."""
        return self.acting in (None, MAIN, self.name)

    @property
    def damage(self) -> tuple[str, ...]:
        """What this process met that was damaged, in words: whoever prints an answer adds it."""
        repository = self.repository
        return (
            *damage_met(self._rescue.healed, repository.objects.lacking),
            *(
                f"{name} cannot be trusted: {why}; run `gitmem check`"
                for name, why in repository.trouble.items()
            ),
        )

    def forget_damage(self) -> None:
        """Begin anew, for who answers many calls: each is told what it met itself."""
        self._rescue.healed.clear()
        self.repository.objects.lacking.clear()
        self.repository.trouble.clear()

    @cached_property
    def worktree(self) -> Path:
        """The folder where this group's files stand."""
        if not self.gitdir.is_dir():
            raise not_found(self.store, self.name, self.acting)  # removed or renamed meanwhile
        found = worktree_in(self.gitdir, self._config)
        if found is None:
            raise Damaged(
                f"the configuration of {self.name!r} names no work tree",
                hint="run `gitmem check --repair`",
            )
        return found

    @property
    def zone(self) -> tzinfo:
        """The time zone in which this group's days begin."""
        tip = self._tip()
        if tip != self._zoned_at or self._zone is None:
            layout = self._layout_at(tip)
            if self._zone is None or layout.timezone != self._zone[0]:
                from gitmem.memory.layouts import zone_then

                self._zone = layout.timezone, zone_then(self, layout)
            self._zoned_at = tip
        return self._zone[1]

    def _tip(self) -> str:
        if self._writer and self._writer.published:
            return self._writer.published
        with suppress(Damaged):
            return self.repository.tip()
        return ""

    def _layout_at(self, commit: str) -> Layout:
        from gitmem.memory.layouts import layout_at

        with suppress(Damaged):  # what is damaged is told by who needs it, not by a clock
            return layout_at(self, self.repository.snapshot(commit)).layout
        return EMPTY

    def relative(self, path: str) -> str:
        """PATH as this group names it; refused where the rules allow no such name."""
        path = self.inside(path)
        return path and check_path(path)

    def inside(self, path: str) -> str:
        """PATH from the group's root, whatever its name: a path into the work tree loses that."""
        if path.startswith("/"):
            root = str(self.worktree)
            if path == root or path.startswith(f"{root}/"):
                path = path[len(root) :]
            else:
                raise PathRefused(
                    f"{path} is not in the work tree {root}", path=path, rule="outside"
                )
        path = path.strip("/").removeprefix("./")
        return "" if path == "." else path

    def now(self) -> datetime:
        """The time, in the group's zone."""
        return time_now(self._now, self.zone)

    def moment(self) -> datetime:
        """The time in UTC, for who needs no local day: to know the zone is to read the layout."""
        return time_now(self._now, UTC)

    def note(self, op: str, *, reason: str = "", paths: tuple[str, ...] = ()) -> Note:
        """What a commit says of itself, in the name of whoever acts."""
        return make_note(self.who, op, reason=reason, paths=paths)

    def writing(
        self,
        wait: float = WAIT,
        *,
        late: bool = False,
        hurried: bool = False,
        finder: Note = FINDER,
    ) -> AbstractContextManager[Writer]:
        """Hold the group's lock.

        What a person did with plain git since the last writer is taken in first, in the name of
        FINDER; LATE: at the end, for who has to see it as it stands; HURRIED: by the next one.
        """
        check_access(self.acting, self.name, write=True)
        self.ensure_worktree()
        goes_on = hurried or self._scan()
        return self._writing(wait, late, hurried, finder, goes_on)

    def _scan(self) -> bool:
        """Search what plain git committed for credentials: before the lock, nobody waits for it.

        True where the lock goes on telling which commits are ours; False where it begins anew.
        """
        from gitmem.cache.scanned import scanned_stamp

        with suppress(GitmemError, OSError):  # what is damaged is told by who needs it
            tip = branch_file(self.gitdir) or self.repository.tip()
            stamp = scanned_stamp(self.gitdir)
            if (tip, stamp) == self._searched:
                return True
            self._searched = "", stamp
            known, goes_on = scanned_in(self.gitdir)
            self._exposed = bool(known.found)
            if tip in (known.tip, known.left):
                return goes_on
            from gitmem.memory.context.exposed import scan_commits

            self._exposed = bool(scan_commits(self, bounded=True).found)
        return False

    def _count_as_scanned(self, writer: Writer) -> None:
        """Remember that commits came through our doors, which have searched them.

        The lock tells that, as long as nobody else moves the branch and no finding is open.
        """
        from gitmem.model.guards import is_allowed

        with suppress(GitmemError, OSError):
            ends = (self.repository.commit(commit).message for _, commit in writer.landed)
            if self._exposed is None:
                self._exposed = bool(scanned_in(self.gitdir)[0].found)
            if self._exposed or writer.strayed or any(map(is_allowed, ends)):
                from gitmem.memory.context.exposed import count_as_scanned

                count_as_scanned(self, writer)

    @contextmanager
    def _writing(
        self, wait: float, late: bool, hurried: bool, finder: Note, goes_on: bool
    ) -> Iterator[Writer]:
        from gitmem.store.transaction.writer import writing

        with writing(
            self.repository, self.worktree, self.now, FINDER, wait=wait, rules=self._rules()
        ) as writer:
            self._writer = writer
            try:
                if not goes_on or writer.strayed:
                    keep_run(self.gitdir, writer.run_before)
                    writer.begin_run()
                changed = not hurried and writer.index_changed()
                if changed and not late:
                    self._take_in(writer, finder)
                yield writer
                if changed and late:
                    # What was asked for is done: the rest can wait.
                    with suppress(GitmemError, OSError):
                        self._take_in(writer, finder)
                with suppress(GitmemError, OSError):
                    writer.look_back()
            finally:
                self._writer = None
                self.rejoined += writer.rejoined
                self.put_forward += writer.put_forward
        if self.is_outside and writer.published != writer.run_before[1]:
            self._exclude_rest(writer.run_before[1])
        if writer.landed or writer.strayed:
            self._count_as_scanned(writer)
            follows = goes_on and not (hurried or writer.strayed or self._exposed)
            self._searched = writer.published if follows else "", self._searched[1]

    def _exclude_rest(self, since: str) -> None:
        """Tell git what is memory by the commits after SINCE."""
        from gitmem.model.scope import EVERYTHING
        from gitmem.store.worktree.scope import exclude_rest, paths_left

        with suppress(GitmemError, OSError):  # a rule that cannot be written stops nobody
            found = self.scope(self.repository.snapshot())
            scope = found.scope if found else EVERYTHING
            exclude_rest(self.gitdir, scope, paths_left(self.repository, scope, since))
            if found and since:
                from gitmem.memory.scope import left_outside

                left = left_outside(self, since)
                self.left_outside += [left] if left else []

    def underway(self) -> GitOperation | None:
        """What a person has begun with plain git in this group and not finished."""
        if not self.repository.is_git_at_work():
            return None
        from gitmem.store.transaction.git_operations import git_operation

        return git_operation(self.gitdir)

    def take_rejoined(self) -> tuple[str, ...]:
        """What became of commits that had left the branch, and of files that a merge had reset.

        In sentences, told once. For models, and so without the words of the reflog, which may be
        anybody's.
        """
        told = [each._replace(how="").message for each in self.rejoined]
        told += [each.told for each in self.put_forward]
        told += [each.told for each in self.left_outside]
        self.rejoined.clear()
        self.put_forward.clear()
        self.left_outside.clear()
        return tuple(told)

    def _rules(self) -> Rules:
        from gitmem.store.transaction.capture import Rules

        return Rules(self._policy, self._check)

    def _policy(self, snapshot: Snapshot, path: str) -> str:
        from gitmem.memory.layouts import layout_at

        with suppress(Damaged):  # an edit has happened: it is taken in all the same
            return layout_at(self, snapshot).layout.policy_of(path)
        return "free"

    def _check(self, files: Mapping[str, bytes | None]) -> None:
        """Refuse a layout that cannot be read, an ignored path, and a file beside memory."""
        data = files.get(FILE)
        if data is not None:
            from gitmem.memory.layouts import check_layout

            check_layout(data, self._layout_at(self._tip()))
        if os.path.exists(f"{self.gitdir}/gitmem/ignored"):
            from gitmem.store.worktree.ignored import Ignored  # most groups ignore nothing

            Ignored(self.gitdir).check(files, self.repository.snapshot())
        if self.is_outside:
            from gitmem.memory.scope import check_writable

            check_writable(self, files)

    def _take_in(self, writer: Writer, finder: Note) -> None:
        from gitmem.memory.write.capture import capture_edits
        from gitmem.memory.write.open_edits import scan_edits

        capture_edits(writer, scan_edits(self.repository, writer.worktree), finder)
        writer.restage()

    def scope(self, snapshot: Snapshot) -> Scoped | None:
        """What in the work tree is memory beside the files of SNAPSHOT; None for all of it."""
        if not self.is_outside:
            return None
        from gitmem.memory.scope import scope_at  # only for a folder that somebody has

        return scope_at(self, snapshot)

    def is_memory(self, path: str) -> bool:
        """Whether PATH is memory, or a folder in which memory may lie."""
        scope = self.scope(self.repository.snapshot())
        return scope is None or not path or scope.keeps(path, os.path.isdir(self.worktree / path))

    @cached_property
    def is_outside(self) -> bool:
        """True when the work tree was put where the store would not have it."""
        return self.worktree != self.store.default_worktree(self.name)

    @property
    def is_scoped(self) -> bool:
        """Whether the group was made to keep to its layout in a folder with other work."""
        return self._config.get(SCOPED[0]) == SCOPED[1]

    def ensure_worktree(self) -> None:
        """A work tree that lost its `.git` file was removed or is not mounted, not edited.

        Its missing files are then no deletions: in the store they are put back, elsewhere we wait.
        """
        if self.is_outside:
            if not is_tied(self.gitdir, self.worktree):
                from gitmem.memory.admin.worktrees import tie_outside

                tie_outside(self)
        elif not os.path.lexists(f"{self.worktree}/.git"):
            self.revive_worktree()

    def revive_worktree(self) -> int:
        """Make the work tree anew where it is missing, and put back its files; count them."""
        from gitmem.memory.admin.worktrees import revive  # only where it is gone

        return revive(self)


def is_where_left(group: Group) -> bool:
    """True while the branch is where the last writer of ours left it."""
    with suppress(Damaged):
        return last_run(group.gitdir)[1] in ("", group.repository.tip())
    return True


def scanned_in(gitdir: Path) -> tuple[Scanned, bool]:
    """Up to where history was searched for credentials, with what writers of ours added since.

    The second is False where the lock tells of commits that do not follow what was searched.
    """
    from gitmem.cache.scanned import advanced, read_scanned

    known, (since, tip) = read_scanned(gitdir), last_run(gitdir)
    if not since or since not in (known.tip, known.left) or has_open(gitdir, known):
        return known, False
    return advanced(known, since, tip), True


def has_open(gitdir: Path, known: Scanned) -> bool:
    """Whether something was found that nobody has acknowledged: then the lock tells of no run.

    A file with such a finding holds it in its next version, too, and a writer may die between
    landing that version and writing the finding down.
    """
    if not known.found:
        return False
    from gitmem.store.fsck.acknowledged import read_acknowledged

    done = read_acknowledged(gitdir)
    return not all(done.covers(each.id, each.location) for each in known.found)


def keep_run(gitdir: Path, run: Run) -> None:
    """Write down which commits RUN vouches for: the lock is about to stop telling of them."""
    from gitmem.cache.scanned import advanced, keep_scanned, read_scanned

    stored = read_scanned(gitdir)
    known = advanced(stored, *run)
    if known != stored and not has_open(gitdir, stored):
        keep_scanned(gitdir, known)


def not_found(store: Store, name: str, acting: str | None = None) -> GroupNotFound:
    """The error for a name that no group has; only who may see the others is told of them."""
    names = store.names() if acting in (None, MAIN) else []
    known = f"; there are: {', '.join(names[:10])}" if names else ""
    return GroupNotFound(
        f"the store {store.root} has no group {name!r}{known}",
        hint=f"make it with `gitmem init{'' if name == 'main' else f' -g {name}'}`",
        group=name,
    )
