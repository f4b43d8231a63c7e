"""The history that a folder brings along: which of its commits are kept, and with which files.

A version that may not enter git is left out; the version before it stays until one comes that may.
A commit of which nothing remains is left out too.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import GroupRefused
from gitmem.memory.adopt.folder import DOT, Left, Progress, why_not
from gitmem.model.scope import Scope
from gitmem.model.secrets.find import redact
from gitmem.store.foreign.graft import ROOT
from gitmem.store.foreign.repository import (
    LFS,
    LINK,
    SUBMODULE,
    Foreign,
    ForeignCommit,
    HistoryUnreadable,
    Past,
    find,
)
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.objects.trees import Node
from gitmem.store.repository import Difference


class Kept(NamedTuple):
    """A commit that is made anew."""

    source: ForeignCommit
    parents: tuple[str, ...]
    """The commits it stands on, those that are kept; ROOT for the beginning."""
    files: dict[str, str | None]
    """What it changes: path to blob, None for a file that goes."""


class History(NamedTuple):
    """What is kept of a past."""

    commits: tuple[Kept, ...] = ()
    head: str = ROOT
    """The kept commit that stands for the one that is checked out."""
    files: dict[str, str] = {}  # noqa: RUF012 - a default that nobody changes
    """What the folder holds at that commit, as far as it is kept."""
    tracked: frozenset[str] = frozenset()
    """Every name that the commit knows."""
    left: tuple[Left, ...] = ()
    problems: tuple[str, ...] = ()


def open_history(
    root: Path, store: Path, *, ours: bool = False
) -> tuple[Foreign | None, tuple[str, ...]]:
    """The repository that ROOT has or is part of, and why it cannot be read where it cannot.

    OURS: it is the group's own work tree by now, so only a repository around it counts.
    """
    try:
        found = find(root, above_only=ours)
    except HistoryUnreadable as error:
        return None, (f"its git history was left out: {error}",)
    for place in found.places() if found else ():
        if Path(place).resolve().is_relative_to(store.resolve()):
            raise GroupRefused(
                f"the git directory of {root} lies in the store, so it is a group's own history",
                hint="adopt a folder that belongs to no group",
                rule="access",
            )
    return found, ()


def read_history(
    foreign: Foreign, progress: Progress | None = None, scope: Scope | None = None
) -> History:
    """Judge every version of every file in the past of FOREIGN; nothing is written.

    With SCOPE, files beyond it are none of that past.
    """
    try:
        head = foreign.head()
    except HistoryUnreadable as error:
        return History(problems=(f"its git history was left out: {error}",))
    if head is None:
        return History()
    past = foreign.past(head)
    reader = _Reader(foreign, past, head, scope)
    for number, each in enumerate(past.commits, 1):
        reader.take(each)
        if progress:
            progress(number, len(past.commits))
    return reader.history()


class _State(NamedTuple):
    """How far the line has come at a commit of the source."""

    kept: str = ROOT
    root: str | None = None
    """The tree of the source that FILES stand for."""
    files: dict[str, str] = {}  # noqa: RUF012 - copied before it is changed


class _Reader:
    """Goes through a past, parents before children."""

    def __init__(self, foreign: Foreign, past: Past, head: str, scope: Scope | None) -> None:
        self._foreign, self._scope = foreign, scope
        self._past, self._head = past, head
        self._states: dict[str, _State] = {}
        # A state is as large as the folder: it goes once the last child has seen it.
        self._awaited = Counter(each for row in past.commits for each in row.commit.parents)
        self._awaited[head] += 1
        self._judged: dict[tuple[str, int, str], str] = {}
        self._left: dict[tuple[str, str], str] = {}
        self._problems: list[str] = []
        self._commits: list[Kept] = []

    def take(self, source: ForeignCommit) -> None:
        """Decide what of one commit is kept."""
        oid = source.commit.oid
        befores = [self._state_at(each) for each in source.commit.parents] or [_State()]
        before = befores[0]
        try:
            changes = self._foreign.changes(before.root, source.root)
        except ObjectDamaged as error:
            # What it did comes with its child, whose files are compared with an older tree.
            self._problems.append(f"the commit {oid[:10]} was left out: {error.message}")
            self._states[oid] = before
            return
        changed = self._changed(changes, before.files, oid)
        # The first one stays first, even if it is the beginning: its files are what we build on.
        others = (each.kept for each in befores[1:] if each.kept != ROOT)
        parents = tuple(dict.fromkeys((before.kept, *others)))
        if not changed and len(parents) == 1:
            self._states[oid] = before._replace(root=source.root)
            return
        files = {**before.files, **{path: new for path, new in changed.items() if new}}
        for path in (path for path, new in changed.items() if new is None):
            del files[path]
        self._states[oid] = _State(oid, source.root, files)
        self._commits.append(Kept(source, parents, changed))

    def _state_at(self, parent: str) -> _State:
        self._awaited[parent] -= 1
        return self._states[parent] if self._awaited[parent] else self._states.pop(parent)

    def history(self) -> History:
        """What came of it."""
        state = self._states.get(self._head, _State())
        left = tuple(Left(path, why, commit) for (path, why), commit in self._left.items())
        tracked: frozenset[str] = frozenset()
        with suppress(ObjectDamaged):
            tracked = self._foreign.names(state.root)
        problems = (*self._past.problems, *self._problems)
        return History(tuple(self._commits), state.kept, state.files, tracked, left, problems)

    def _changed(
        self, changes: list[Difference], before: dict[str, str], commit: str
    ) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for path, _, new in changes:
            if self._scope and not self._scope.holds(path):
                continue
            why = self._why_not(path, new) if new else ""
            if why:
                self._left.setdefault((redact(_outermost(path, why))[0], why), commit)
            elif new is None and path in before:
                found[path] = None
            elif new and before.get(path) != new.oid:
                found[path] = new.oid
        return found

    def _why_not(self, path: str, node: Node) -> str:
        key = (path, node.mode, node.oid)
        if key not in self._judged:
            self._judged[key] = self._judge(path, node)
        return self._judged[key]

    def _judge(self, path: str, node: Node) -> str:
        if any(part.startswith(".") for part in path.split("/")):
            return DOT
        if node.mode in (LINK, SUBMODULE):
            return "link" if node.mode == LINK else "submodule"
        try:
            data = self._foreign.blob(node.oid)
        except ObjectDamaged as error:
            return f"damaged: the object is {error.why}"
        if data.startswith(LFS):
            return "LFS pointer: the content is not in the repository"
        return why_not(path, "", data, allow_markers=True)  # they were resolved since, or stand


def _outermost(path: str, why: str) -> str:
    """What is named in the report: of a dot folder the folder, not each file in it."""
    if why != DOT:
        return path
    parts = path.split("/")
    dot = next(number for number, part in enumerate(parts, 1) if part.startswith("."))
    return "/".join(parts[:dot]) + "/" * (dot < len(parts))
