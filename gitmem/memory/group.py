"""A group opened for work: what every operation takes as its first argument."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import Damaged, PathRefused
from gitmem.memory.searched import CredentialSearch
from gitmem.memory.store import Store, not_found
from gitmem.model.access import MAIN, check_access
from gitmem.model.commit_messages import Note, check_agent
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import EMPTY, Layout
from gitmem.model.paths import check_group, check_path
from gitmem.store import isolation
from gitmem.store.config import (
    FORMAT,
    SCOPED,
    check_form,
    is_blank,
    name_worktree,
    read_config,
    worktree_in,
)
from gitmem.store.lock import WAIT
from gitmem.store.objects.rescue import Rescue, damage_met
from gitmem.store.repository import Repository, Snapshot
from gitmem.store.setup import is_tied

if TYPE_CHECKING:
    from gitmem.cache.layouts import LastValid
    from gitmem.memory.clock import Clock
    from gitmem.memory.scope import LeftOutside
    from gitmem.store.lost_commits.merge_back import Rejoined
    from gitmem.store.transaction.capture import PutForward
    from gitmem.store.transaction.git_operations import GitOperation
    from gitmem.store.transaction.writer import Writer
    from gitmem.store.worktree.scope import Scoped

__all__ = ["Caller", "Group", "Store", "Who", "isolate", "make_note", "open_group", "time_now"]

# What only a writer needs is imported where a write begins: reading is done before every prompt.


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


class Caller(NamedTuple):
    """Who opens a group, and from where."""

    who: Who = Who()
    acting: str | None = None
    """The group in whose name they act, which may be refused; None is a person."""
    now: Clock | None = None
    """Their clock, where it is not the machine's."""
    near: str = ""
    """The folder they work in: a work tree that was moved is found from there."""


def open_group(store: Store, name: str, caller: Caller, *, heals: bool = True) -> Group:
    """Open the group NAME of STORE for CALLER."""
    who, acting, now, near = caller
    return Group(store, name, who=who, acting=acting, now=now, near=near, heals=heals)


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
        self.writer: Writer | None = None
        """A writer at work knows where the branch is: its clock need not ask git again."""
        self.credential_search = CredentialSearch(self)
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
        named = worktree_in(self.gitdir, self._config)
        changed = False
        with suppress(OSError):  # an operation that needs to write here reports it
            if named is None and is_blank(self.gitdir) and is_tied(self.gitdir, default):
                name_worktree(self.gitdir, os.path.relpath(default, self.gitdir))
                changed = True
            elif named and named != default and named.parent == default.parent:
                changed = self._finished()
            elif named and near and not os.path.lexists(named):
                from gitmem.memory.admin.worktrees import relink_from

                changed = relink_from(self.store, self.name, near)
        if changed:
            self._config = read_config(self.gitdir)

    def _finished(self) -> bool:
        """Finish a renaming to this name that was interrupted; False where there was none."""
        from gitmem.memory.admin.groups import finish_rename

        with suppress(OSError):
            return finish_rename(self.store, self.name)
        return False

    def _check_format(self) -> None:
        check_form(self._config, self.name)
        found = self._config.get("gitmem.format", "1")
        if found != str(FORMAT):
            raise Damaged(
                f"this group has format {found}; this gitmem reads format {FORMAT}",
                hint=Hint("upgrade gitmem, or run ", call("check")),
            )
        if "core.worktree" not in self._config and not is_blank(self.gitdir):
            # It may be elsewhere: a write would go to the wrong folder.
            raise Damaged(
                f"the configuration of the repository of {self.name!r} names no work tree",
                hint=Hint("run ", call("check", repair=True)),
            )

    def other(self, name: str) -> Group:
        """The group NAME of the same store, opened for the same caller."""
        return open_group(self.store, name, Caller(self.who, self.acting, self._now))

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
                Hint(f"{name} cannot be trusted: {why}; run ", call("check"))
                for name, why in repository.trouble.items()
            ),
        )

    def forget_damage(self) -> None:
        """Forget it, so that each of many calls reports what it met itself."""
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
                hint=Hint("run ", call("check", repair=True)),
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
        if self.writer and self.writer.published:
            return self.writer.published
        with suppress(Damaged):
            return self.repository.tip()
        return ""

    def current_layout(self) -> Layout:
        """The layout that counts at the tip; an empty one where that is damaged.

        Whoever needs it whole reports the damage: a clock does not.
        """
        return self._layout_at(self._tip())

    def _layout_at(self, commit: str) -> Layout:
        from gitmem.memory.layouts import layout_at

        with suppress(Damaged):
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
        finder: Note | None = None,
    ) -> AbstractContextManager[Writer]:
        """Hold the group's lock to write: see `memory/writing`."""
        check_access(self.acting, self.name, write=True)
        from gitmem.memory.writing import FINDER, hold_lock

        return hold_lock(self, wait, late=late, hurried=hurried, finder=finder or FINDER)

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
        messages = [each._replace(how="").remark for each in self.rejoined]
        messages += [each.message for each in self.put_forward]
        messages += [each.message for each in self.left_outside]
        self.rejoined.clear()
        self.put_forward.clear()
        self.left_outside.clear()
        return tuple(messages)

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
