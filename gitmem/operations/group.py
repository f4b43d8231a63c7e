"""A store, and a group opened for work: what every operation takes as its first argument."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from gitmem.core.access import check_access
from gitmem.core.guards import check_message_text
from gitmem.core.messages import Note, check_agent
from gitmem.core.paths import check_group
from gitmem.errors import BadInput, Damaged, GroupNotFound
from gitmem.git.lock import WAIT
from gitmem.git.repository import Repository
from gitmem.git.setup import FORMAT, is_tied, read_config, tie, worktree_of
from gitmem.git.writer import Writer, new_id, writing
from gitmem.operations.clock import Clock, zone_of

FINDER = Note(op="capture", id="", agent="unknown")
"""How an edit found on the way is recorded: nobody said who made it."""


class Who(NamedTuple):
    """In whose name an operation acts."""

    agent: str = "agent"
    session: str = ""
    source: str = ""


def make_note(who: Who, op: str, *, reason: str = "", paths: tuple[str, ...] = ()) -> Note:
    """What a commit says of itself; refuses a credential in any part of it."""
    agent, session, source = who
    for what, text in zip(("reason", *Who._fields), (reason, *who), strict=True):
        check_message_text(what, text)
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
        self.root = root

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

    @cached_property
    def settings(self) -> dict[str, object]:
        """What `config.yaml` in the store says; empty when there is none."""
        path = self.root / "config.yaml"
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
        self.gitdir = store.gitdir(name)
        if not self.gitdir.is_dir():
            raise _not_found(store, name)
        self.repository = Repository(self.gitdir)
        self._config = read_config(self.gitdir)
        self._check_format()

    def _check_format(self) -> None:
        found = self._config.get("gitmem.format", "1")
        if found != str(FORMAT):
            raise Damaged(
                f"this group has format {found}; this gitmem reads format {FORMAT}",
                hint="upgrade gitmem, or run `gitmem check`",
            )

    def close(self) -> None:
        """Give back file handles."""
        self.repository.close()

    @cached_property
    def worktree(self) -> Path:
        """The folder where this group's files stand."""
        found = worktree_of(self.gitdir)
        if found is None:
            raise Damaged(
                f"the configuration of {self.name!r} names no work tree",
                hint="run `gitmem check --repair`",
            )
        return found

    @cached_property
    def zone(self) -> tzinfo:
        """The time zone in which this group's days begin."""
        return zone_of(self.store.root)

    def now(self) -> datetime:
        """The time, in the group's zone."""
        return time_now(self._now, self.zone)

    def note(self, op: str, *, reason: str = "", paths: tuple[str, ...] = ()) -> Note:
        """What a commit says of itself, in the name of whoever acts."""
        return make_note(self.who, op, reason=reason, paths=paths)

    def writing(self, wait: float = WAIT) -> AbstractContextManager[Writer]:
        """Hold the group's lock."""
        check_access(self.acting, self.name, write=True)
        self.ensure_worktree()
        return writing(self.repository, self.worktree, self.now, FINDER, wait)

    def ensure_worktree(self) -> None:
        """A work tree that lost its `.git` file was removed or is not mounted, not edited.

        Its missing files are then no deletions: in the store they are put back, elsewhere we wait.
        """
        if is_tied(self.gitdir, self.worktree):
            return
        if self.worktree != self.store.default_worktree(self.name):
            raise Damaged(
                f"the work tree {self.worktree} is not there, or not ours: it has no .git file",
                hint="if it is on another disk, mount it; else run `gitmem check --repair`",
                path=str(self.worktree),
            )
        self.revive_worktree()

    def revive_worktree(self) -> int:
        """Make the work tree anew where it is missing, and put back its files; count them."""
        self.worktree.mkdir(mode=0o700, parents=True, exist_ok=True)
        inside = self.worktree == self.store.default_worktree(self.name)
        with writing(self.repository, self.worktree, self.now, FINDER) as writer:
            count = writer.put_back()
            tie(self.gitdir, self.worktree, relative=inside)
        return count


def _not_found(store: Store, name: str) -> GroupNotFound:
    names = store.names()
    known = f"; there are: {', '.join(names[:10])}" if names else ""
    return GroupNotFound(
        f"the store {store.root} has no group {name!r}{known}",
        hint=f"make it with `gitmem init{'' if name == 'main' else f' -g {name}'}`",
        group=name,
    )
