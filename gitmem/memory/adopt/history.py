"""The commits that an adopted folder becomes.

First its own history, then uncommitted files by the day of their last change, then the layout. A
version that may not enter git is left out: the version before it stays until the next that may. A
commit that changes nothing then is left out, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import GroupRefused
from gitmem.memory.adopt.folder import DOT, Folder, NotAdopted, Progress, by_day, why_not
from gitmem.memory.adopt.layout import Choice
from gitmem.memory.group import Who, make_note
from gitmem.model.commit_messages import Note, compose
from gitmem.model.scope import Scope
from gitmem.model.secrets.find import redact
from gitmem.store.foreign.graft import ROOT, Grafted
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
from gitmem.store.objects.commits import EMAIL
from gitmem.store.objects.database import ObjectDamaged, blob_id
from gitmem.store.objects.trees import Node
from gitmem.store.repository import Difference
from gitmem.store.transaction.capture import new_id

ADOPTED = "Gitmem-Adopted"
"""The trailer of the last commit of an adoption, with the folder."""
MAX_MESSAGE = 64 * 1024

Version = str | bytes
"""A file's content, or its blob in the foreign repository."""
Blobs = Callable[[str], bytes]


class GraftedCommit(NamedTuple):
    """A foreign commit that is grafted."""

    source: ForeignCommit
    parents: tuple[str, ...]
    """Its parents among the kept commits; ROOT for none."""
    files: dict[str, str | None]
    """The blobs it changes by path; None removes a file."""


class History(NamedTuple):
    """The kept part of a foreign history."""

    commits: tuple[GraftedCommit, ...] = ()
    head: str = ROOT
    """The kept commit that stands for HEAD."""
    files: dict[str, str] = {}  # noqa: RUF012 - never changed
    """The files of that commit, as far as they are kept."""
    tracked: frozenset[str] = frozenset()
    """The paths of all files in HEAD."""
    left: tuple[NotAdopted, ...] = ()
    problems: tuple[str, ...] = ()


def open_history(
    root: Path, store: Path, *, ours: bool = False
) -> tuple[Foreign | None, tuple[str, ...]]:
    """The repository that ROOT is or is part of, or the problem that keeps it from being read.

    OURS: ROOT is the group's own work tree by now, so only a repository around it counts.
    """
    try:
        found = find(root, above_only=ours)
    except HistoryUnreadable as error:
        return None, (f"its git history was left out: {error}",)
    for each in found.folders() if found else ():
        if each.resolve().is_relative_to(store.resolve()):
            raise GroupRefused(
                f"the git directory of {root} lies in the store, so it is a group's own history",
                hint="adopt a folder that belongs to no group",
                rule="access",
            )
    return found, ()


def read_history(
    foreign: Foreign, progress: Progress | None = None, scope: Scope | None = None
) -> History:
    """Decide about every version of every file in the history of FOREIGN; writes nothing.

    SCOPE limits it to those files.
    """
    try:
        head = foreign.head()
    except HistoryUnreadable as error:
        return History(problems=(f"its git history was left out: {error}",))
    if head is None:
        return History()
    past = foreign.past(head)
    reader = _HistoryReader(foreign, past, head, scope)
    for number, each in enumerate(past.commits, 1):
        reader.add(each)
        if progress:
            progress(number, len(past.commits))
    return reader.history()


class _State(NamedTuple):
    """The state of the kept files at a foreign commit."""

    kept: str = ROOT
    root: str | None = None
    """The foreign tree that FILES stand for."""
    files: dict[str, str] = {}  # noqa: RUF012 - copied before it is changed


class _HistoryReader:
    """Reads a foreign history, parents before children."""

    def __init__(self, foreign: Foreign, past: Past, head: str, scope: Scope | None) -> None:
        self._foreign, self._scope = foreign, scope
        self._past, self._head = past, head
        self._states: dict[str, _State] = {}
        # A state is as large as the folder: it is dropped after the last child.
        self._awaited = Counter(each for row in past.commits for each in row.commit.parents)
        self._awaited[head] += 1
        self._judged: dict[tuple[str, int, str], str] = {}
        self._left: dict[tuple[str, str], str] = {}
        self._problems: list[str] = []
        self._commits: list[GraftedCommit] = []

    def add(self, source: ForeignCommit) -> None:
        """Decide which part of a commit is kept."""
        oid = source.commit.oid
        befores = [self._state_at(each) for each in source.commit.parents] or [_State()]
        before = befores[0]
        try:
            changes = self._foreign.changes(before.root, source.root)
        except ObjectDamaged as error:
            # Its child is compared with an older tree, and so has its changes.
            self._problems.append(f"the commit {oid[:10]} was left out: {error.message}")
            self._states[oid] = before
            return
        changed = self._changed(changes, before.files, oid)
        # The first parent stays first, even if it is ROOT: the changes are to its files.
        others = (each.kept for each in befores[1:] if each.kept != ROOT)
        parents = tuple(dict.fromkeys((before.kept, *others)))
        if not changed and len(parents) == 1:
            self._states[oid] = before._replace(root=source.root)
            return
        files = {**before.files, **{path: new for path, new in changed.items() if new}}
        for path in (path for path, new in changed.items() if new is None):
            del files[path]
        self._states[oid] = _State(oid, source.root, files)
        self._commits.append(GraftedCommit(source, parents, changed))

    def _state_at(self, parent: str) -> _State:
        self._awaited[parent] -= 1
        return self._states[parent] if self._awaited[parent] else self._states.pop(parent)

    def history(self) -> History:
        """The result."""
        state = self._states.get(self._head, _State())
        left = tuple(NotAdopted(path, why, commit) for (path, why), commit in self._left.items())
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
        return why_not(path, "", data, allow_markers=True)  # resolved since, or still in the folder


def _outermost(path: str, why: str) -> str:
    """The path for the report: of a dot folder the folder, not each file in it."""
    if why != DOT:
        return path
    parts = path.split("/")
    dot = next(number for number, part in enumerate(parts, 1) if part.startswith("."))
    return "/".join(parts[:dot]) + "/" * (dot < len(parts))


class PlannedCommit(NamedTuple):
    """A commit of the adoption."""

    key: str
    parents: tuple[str, ...]
    files: Mapping[str, Version | None]
    note: Note
    when: datetime
    message: str = ""
    """The foreign commit's message."""
    email: str = EMAIL


class AdoptedSource(NamedTuple):
    """A folder and its history, as they were read."""

    root: Path
    folder: Folder
    history: History
    keeps_missing: bool = False
    """True when files that are missing from the folder were not deleted."""


class PlannedCommits(NamedTuple):
    """The commits of an adoption in order, and the files at the end."""

    commits: tuple[PlannedCommit, ...]
    files: Mapping[str, Version]
    dates_from: str

    @property
    def last_note(self) -> Note:
        """The note of the last commit."""
        return self.commits[-1].note

    def grafted(self, blobs: Blobs, progress: Progress | None = None) -> Iterator[Grafted]:
        """The commits with their content; BLOBS reads from the folder's own repository."""
        for number, each in enumerate(self.commits, 1):
            files = {path: _content(version, blobs) for path, version in each.files.items()}
            message = compose(each.note, each.message)
            yield Grafted(
                each.key, each.parents, files, each.note.agent, each.when, message, each.email
            )
            if progress:
                progress(number, len(self.commits))

    def contents(self, blobs: Blobs) -> dict[str, bytes]:
        """The files at the end."""
        return {
            path: version if isinstance(version, bytes) else blobs(version)
            for path, version in self.files.items()
        }


def plan_commits(source: AdoptedSource, choice: Choice, who: Who, now: datetime) -> PlannedCommits:
    """Plan every commit of the adoption of SOURCE."""
    root, folder, history, keeps_missing = source
    origin = redact(str(root))[0]
    template = make_note(who._replace(source=who.source or origin), "adopt")
    commits = [_kept(each) for each in history.commits]
    files: dict[str, Version] = dict(history.files)
    last = history.head

    def add(key: str, changes: Mapping[str, Version | None], title: str, when: datetime) -> None:
        nonlocal last
        note = template._replace(id=new_id(), title=title, paths=tuple(changes))
        commits.append(PlannedCommit(key, (last,), changes, note, when))
        last = key

    gone = [] if keeps_missing else _gone(history.files, folder)
    if gone:
        add("gone", dict.fromkeys(gone), "no longer in the folder", now)
    fresh = {
        path: taken
        for path, taken in folder.files.items()
        if path not in files or blob_id(taken.data) != files[path]
    }
    for when, day in by_day(fresh, now):
        add(f"day {when.date()}", day, f"as it was on {when.date()}", when)
    if choice.text is not None:
        add("layout", {choice.adds: choice.text}, f"the layout {choice.name}", now)
    commits[-1] = _marked(commits[-1], origin)
    files = {path: version for path, version in files.items() if path not in gone}
    files.update({path: taken.data for path, taken in folder.files.items()})
    files.update({choice.adds: choice.text} if choice.text is not None else {})
    return PlannedCommits(tuple(commits), files, _dates(bool(history.commits), bool(fresh)))


def _gone(before: Collection[str], folder: Folder) -> list[str]:
    """Files of HEAD that were deleted from the folder; not those that were left out."""
    return [path for path in before if path not in folder.files and not _hidden(path, folder.away)]


def _hidden(path: str, away: Collection[str]) -> bool:
    parts = path.split("/")
    return any("/".join(parts[:end]) in away for end in range(1, len(parts) + 1))


def _kept(kept: GraftedCommit) -> PlannedCommit:
    """A foreign commit with its author and message; credentials in them are redacted."""
    commit, email, _ = kept.source
    agent = redact(commit.author)[0]
    note = Note("adopt", new_id(), agent, paths=tuple(kept.files), source=commit.oid)
    message, email = redact(commit.message[:MAX_MESSAGE])[0], redact(email)[0]
    return PlannedCommit(commit.oid, kept.parents, kept.files, note, commit.time, message, email)


def _marked(commit: PlannedCommit, origin: str) -> PlannedCommit:
    extra = (*commit.note.extra, (ADOPTED, origin))
    return commit._replace(note=commit.note._replace(extra=extra))


def _content(version: Version | None, blobs: Blobs) -> bytes | None:
    return blobs(version) if isinstance(version, str) else version


def _dates(git: bool, mtime: bool) -> str:
    return " and ".join(word for word, used in (("git", git), ("mtime", mtime)) if used)
