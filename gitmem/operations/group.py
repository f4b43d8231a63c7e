"""A store, and a group opened for work: what every operation takes as its first argument."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.core.access import MAIN, check_access
from gitmem.core.layout import EMPTY, FILE, Layout
from gitmem.core.messages import Note, check_agent
from gitmem.core.paths import check_group, check_path
from gitmem.errors import BadInput, Damaged, GitmemError, GroupNotFound, PathRefused
from gitmem.git.formats import Unread, check_form, unread
from gitmem.git.lock import WAIT
from gitmem.git.repository import Repository, Snapshot, seal
from gitmem.git.setup import FORMAT, is_tied, leads_nowhere, read_config, tie, worktree_in

if TYPE_CHECKING:
    from gitmem.git.rejoining import Rejoined
    from gitmem.git.writer import Writer
    from gitmem.index.layouts import Standing
    from gitmem.operations.clock import Clock

# What only a writer needs is imported where a write begins: reading is done before every prompt.

LINKS = "links"
"""The setting of a store that says which group a project folder uses."""

FINDER = Note(op="capture", id="", agent="unknown")
"""How an edit found on the way is recorded: nobody said who made it."""


def isolate() -> None:
    """For a process of our own: no git configuration, identity or home of the operator counts."""
    seal()


class Who(NamedTuple):
    """In whose name an operation acts."""

    agent: str = "agent"
    session: str = ""
    source: str = ""


def make_note(who: Who, op: str, *, reason: str = "", paths: tuple[str, ...] = ()) -> Note:
    """What a commit says of itself; refuses a credential in any part of it."""
    from gitmem.core.guards import check_message_text
    from gitmem.git.intake import new_id

    agent, session, source = who
    check_message_text("reason, agent, session or source", "\n".join((reason, *who)))
    return Note(
        op=op,
        id=new_id(),
        agent=check_agent(agent),
        paths=paths,
        session=session,
        source=source,
        reason=reason,
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
        found = self.settings.get(LINKS)
        rows = found.items() if isinstance(found, dict) else ()
        return {path: name for path, name in rows if isinstance(path, str) and path[:1] == "/"}

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
    ) -> None:
        check_access(acting, check_group(name), write=False)
        self.store = store
        self.name = name
        self.who = who or Who()
        self.acting = acting
        self._now = now
        self._zone: tuple[str, tzinfo] | None = None
        self._zoned_at = ""
        self.layouts: dict[str, Layout] = {}
        """Layouts that were read, by the blob they stand in."""
        self.rejoined: list[Rejoined] = []
        """Commits that had left the branch and that our writers have put back, or kept."""
        self.standing: Standing | None = None
        """Which one counts at a commit that has none of its own."""
        self.gitdir = store.gitdir(name)
        if not self.gitdir.is_dir():
            raise not_found(store, name, acting)
        self.repository = Repository(self.gitdir)
        self._config = read_config(self.gitdir)
        self._check_format()

    def _check_format(self) -> None:
        check_form(self._config, self.name)
        found = self._config.get("gitmem.format", "1")
        if found != str(FORMAT):
            raise Damaged(
                f"this group has format {found}; this gitmem reads format {FORMAT}",
                hint="upgrade gitmem, or run `gitmem check`",
            )

    def close(self) -> None:
        """Give back file handles."""
        self.repository.close()

    @property
    def keeps(self) -> bool:
        """Whether what is found out may be kept in its git directory: not by who only reads it."""
        return self.acting in (None, MAIN, self.name)

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
            layout = self._layout_now()
            if self._zone is None or layout.timezone != self._zone[0]:
                from gitmem.operations.layouts import zone_then

                self._zone = layout.timezone, zone_then(self, layout)
            self._zoned_at = tip
        return self._zone[1]

    def _tip(self) -> str:
        with suppress(Damaged):
            return self.repository.tip().commit
        return ""

    def _layout_now(self) -> Layout:
        from gitmem.operations.layouts import layout_of

        with suppress(Damaged):  # what is damaged is told by who needs it, not by a clock
            return layout_of(self)
        return EMPTY

    def relative(self, path: str) -> str:
        """PATH as this group names it: a path into the work tree loses that prefix."""
        if path.startswith("/"):
            root = str(self.worktree)
            if path == root or path.startswith(f"{root}/"):
                path = path[len(root) :]
            else:
                raise PathRefused(
                    f"{path} is not in the work tree {root}", path=path, rule="outside"
                )
        path = path.strip("/").removeprefix("./")
        return "" if path in ("", ".") else check_path(path)

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
        if not hurried:
            self._scan()
        return self._writing(wait, late, hurried, finder)

    def _scan(self) -> None:
        """Search what plain git committed for credentials: before the lock, nobody waits for it."""
        from gitmem.operations.exposed import scan_commits

        with suppress(GitmemError, OSError):  # what is damaged is told by who needs it
            scan_commits(self, bounded=True)

    @contextmanager
    def _writing(self, wait: float, late: bool, hurried: bool, finder: Note) -> Iterator[Writer]:
        from gitmem.git.writer import writing

        with writing(
            self.repository, self.worktree, self.now, FINDER, wait=wait, policies=self._policy
        ) as writer:
            writer.examine = self._examine
            changed = not hurried and writer.index_changed()
            if changed and not late:
                self._take_in(writer, finder)
            try:
                yield writer
                if changed and late:
                    # What was asked for is done: the rest can wait.
                    with suppress(GitmemError, OSError):
                        self._take_in(writer, finder)
            finally:
                self.rejoined += writer.rejoined
        if writer.landed:
            from gitmem.operations.exposed import count_as_scanned

            with suppress(GitmemError, OSError):
                count_as_scanned(self, writer.landed)

    def take_rejoined(self) -> tuple[str, ...]:
        """What became of commits that had left the branch, in sentences; told once.

        For models, and so without the words of the reflog, which may be anybody's.
        """
        told = tuple(each._replace(how="").told for each in self.rejoined)
        self.rejoined.clear()
        return told

    def _policy(self, snapshot: Snapshot, path: str) -> str:
        from gitmem.operations.layouts import layout_at

        with suppress(Damaged):  # an edit has happened: it is taken in all the same
            return layout_at(self, snapshot).layout.policy_of(path)
        return "free"

    def _examine(self, files: Mapping[str, bytes | None]) -> None:
        """Refuse a layout that cannot be read, and a path that somebody decided to ignore."""
        from gitmem.git.ignored import Ignored

        data = files.get(FILE)
        if data is not None:
            from gitmem.operations.layouts import checked

            checked(data)
        ignored = Ignored(self.gitdir)
        if ignored.rows:
            ignored.check(files, self.repository.snapshot())

    def _take_in(self, writer: Writer, finder: Note) -> None:
        from gitmem.operations.capture import adopt_all
        from gitmem.operations.pending import scan_edits

        adopt_all(writer, scan_edits(self.repository, writer.worktree), finder)

    @cached_property
    def is_outside(self) -> bool:
        """True when the work tree was put where the store would not have it."""
        return self.worktree != self.store.default_worktree(self.name)

    def ensure_worktree(self) -> None:
        """A work tree that lost its `.git` file was removed or is not mounted, not edited.

        Its missing files are then no deletions: in the store they are put back, elsewhere we wait.
        """
        if self.is_outside:
            self._ensure_ours()
        elif not os.path.lexists(f"{self.worktree}/.git"):
            self.revive_worktree()

    def _ensure_ours(self) -> None:
        """The `.git` file of a folder elsewhere must lead to us, or to where the store once was."""
        if is_tied(self.gitdir, self.worktree):
            return
        if not leads_nowhere(self.worktree):
            raise Damaged(
                f"the work tree {self.worktree} is not there, or not ours: "
                "its .git file does not lead to this group",
                hint="if it is on another disk, mount it; if it was moved, say where to: "
                f"`gitmem init -g {self.name} --worktree DIR`; "
                "if it is lost, run `gitmem check --repair`",
                path=str(self.worktree),
            )
        tie(self.gitdir, self.worktree, relative=False)

    def revive_worktree(self) -> int:
        """Make the work tree anew where it is missing, and put back its files; count them."""
        from gitmem.git.writer import writing

        check_access(self.acting, self.name, write=True)
        try:
            self.worktree.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise Damaged(
                f"the work tree {self.worktree} is gone and cannot be made: {error.strerror}",
                hint="see what stands in its place, and move that away",
                path=str(self.worktree),
            ) from error
        with writing(self.repository, self.worktree, self.now, FINDER) as writer:
            count = writer.put_back()
            tie(self.gitdir, self.worktree, relative=not self.is_outside)
        return count


def not_found(store: Store, name: str, acting: str | None = None) -> GroupNotFound:
    """The error for a name that no group has; only who may see the others is told of them."""
    names = store.names() if acting in (None, MAIN) else []
    known = f"; there are: {', '.join(names[:10])}" if names else ""
    return GroupNotFound(
        f"the store {store.root} has no group {name!r}{known}",
        hint=f"make it with `gitmem init{'' if name == 'main' else f' -g {name}'}`",
        group=name,
    )
