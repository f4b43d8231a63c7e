"""Undo commits, and keep what others did since."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from gitmem.errors import BadInput, GitmemError, NotFound, PathRefused
from gitmem.memory.context.pins import has_transcripts
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_of
from gitmem.memory.resolve import resolve
from gitmem.memory.write.changeset import check_path_free
from gitmem.memory.write.write import Change, describe
from gitmem.model.commit_messages import PARTLY, UNDOES
from gitmem.model.commit_messages import parse as parse_message
from gitmem.model.entries.blocks import parse, wording
from gitmem.model.entries.placement import undone as undone_entries
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import Layer
from gitmem.model.paths import check_path
from gitmem.model.record import Record
from gitmem.model.secrets.find import find_new_in_bytes
from gitmem.model.text.merge import merge
from gitmem.store.history.diff import hunks
from gitmem.store.history.log import locate, walk
from gitmem.store.history.moves import compare_commit
from gitmem.store.lost_commits.unreadable import Unreadable, lacks_of, own_lacks
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.objects.trees import FILE, Node
from gitmem.store.repository import Commit, Repository, Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.plan import Plan, Step

LayerOf = Callable[[str], Layer | None]


class NotUndone(Record):
    """A file in which a commit could not be undone cleanly, and why; it is left as it is."""

    commit: str
    path: str
    why: str


class Undone(Record):
    """Commits that were undone, in one new commit."""

    commit: str
    undone: tuple[str, ...]
    changes: tuple[Change, ...]
    left: tuple[NotUndone, ...] = ()
    captured: tuple[Captured, ...] = ()
    pending: bool = False
    reopened: tuple[str, ...] = ()
    """Checkpoints of transcripts whose ranges are open again."""

    @property
    def changed(self) -> bool:
        """False if there was nothing to undo."""
        return bool(self.changes or self.undone)


class _Undoing(NamedTuple):
    """What a plan does: the result, and the commits that it undoes in part."""

    done: Undone
    partly: tuple[str, ...]


def undo(
    group: Group,
    commits: Sequence[str] = (),
    *,
    last: int = 0,
    session: str = "",
    agent: str = "",
    reason: str = "",
) -> Undone:
    """Undo the named COMMITS, or the LAST so many, or all of a session or agent, as one commit."""
    if sum((bool(commits), bool(last), bool(session or agent))) > 1 or last < 0:
        raise BadInput(
            "name either commits, a number of commits, or a session or agent",
            hint=Hint("for example ", call("undo", last="2"), ", or ", call("undo", session="ID")),
        )
    note = group.note("undo", reason=reason)
    named = [resolve(group, each) for each in commits]
    with group.writing() as writer:
        chosen = _chosen(group.repository, named, last, session, agent)
        for path in _paths_of(group.repository, chosen):
            writer.capture(path)
        layer_of = layout_of(group).layer_of
        empty = _without_files(group.repository, chosen)

        def plan(snapshot: Snapshot) -> Plan[_Undoing]:
            files, done, partly = _reverted(chosen, snapshot, layer_of)
            done = done._replace(undone=(*done.undone, *empty))
            if not files and not empty:
                return Plan((), _Undoing(done, partly))
            trailers = (*((UNDOES, x) for x in done.undone), *((PARTLY, x) for x in partly))
            message = note._replace(title=_title(chosen), paths=tuple(files), extra=trailers)
            return Plan((Step(files, message),), _Undoing(done, partly))

        published = writer.publish(plan)
    done, partly = published.result
    return done._replace(
        commit=published.commit,
        captured=published.captured,
        pending=published.pending,
        reopened=_reopened(group, {*done.undone, *partly}),
    )


def _reopened(group: Group, undone: set[str]) -> tuple[str, ...]:
    """The checkpoints that are among the commits UNDONE, or cover one of them."""
    if not undone or not has_transcripts(group):
        return ()
    from gitmem.memory.transcripts.transcripts import checkpoint_state, query_messages, tip_of

    with suppress(GitmemError, OSError):  # the undo itself is done
        found = query_messages(
            group, tip_of(group), lambda connection: checkpoint_state(connection).reopened
        )
        return tuple(each.oid for each in found if undone & {each.oid, *each.covers})
    return ()


def _without_files(repository: Repository, commits: Sequence[Commit]) -> tuple[str, ...]:
    """Those of COMMITS that changed no file: a checkpoint, or the undo of one."""
    found = (each for each in commits if parse_message(each.message).op in ("checkpoint", "undo"))
    return tuple(each.oid for each in found if not any(effect_of(repository, each)))


def _paths_of(repository: Repository, commits: Sequence[Commit]) -> list[str]:
    effects = [each for commit in commits for each in effect_of(repository, commit)]
    return sorted({path for each in effects for path in (each.path, each.moved_from) if path})


def _chosen(
    repository: Repository, named: Sequence[str], last: int, session: str, agent: str
) -> list[Commit]:
    """The commits to undo, newest first."""
    if named:
        return _named(repository, set(named))
    if session or agent:
        return _by(repository, session, agent)
    line = islice(repository.history(repository.tip()), max(last, 1))
    found = [each for each in line if each.parents]
    if not found:
        raise NotFound("no commits to undo", hint=Hint(call("log"), " lists the commits"))
    return found


def _named(repository: Repository, named: set[str]) -> list[Commit]:
    found = []
    for commit in walk(repository, repository.tip()):
        if commit.oid in named:
            found.append(commit)
        if len(found) == len(named):
            return found
    others = named - {each.oid for each in found}  # not on the branch at all
    return found + [repository.commit(each) for each in sorted(others)]


def _by(repository: Repository, session: str, agent: str) -> list[Commit]:
    """The commits of a session or agent that nobody has undone, also of merged branches.

    A merge itself belongs to nobody: the commits behind it made its changes.
    """
    found: list[Commit] = []
    undone: set[str] = set()
    known = False
    for commit in walk(repository, repository.tip()):
        mine = len(commit.parents) == 1 and _is_of(commit, session, agent)
        known = known or mine
        if commit.oid in undone:
            continue
        undoes = parse_message(commit.message).all(UNDOES)
        # An undo of one's own commits is not undone in turn; an undo of others' commits is.
        if undoes and not (mine and _any_of_others(repository, undoes, session, agent)):
            undone.update(undoes)
        elif mine:
            found.append(commit)
    if not known:
        who = f"session {session!r}" if session else f"agent {agent!r}"
        raise NotFound(f"no commit of {who}", hint=Hint(call("log"), " lists commits and agents"))
    return found


def _is_of(commit: Commit, session: str, agent: str) -> bool:
    note = parse_message(commit.message)
    names = (note.session, note.agent or commit.author)
    return all(want in ("", have) for want, have in zip((session, agent), names, strict=True))


def _any_of_others(
    repository: Repository, commits: Sequence[str], session: str, agent: str
) -> bool:
    return not all(_is_of(repository.commit(each), session, agent) for each in commits)


def _title(commits: Sequence[Commit]) -> str:
    first = commits[0].message.partition("\n")[0]
    return first if len(commits) == 1 else f"{len(commits)} commits, the newest: {first}"


class Effect(NamedTuple):
    """What a commit did to one file."""

    path: str
    old: Node | None
    new: Node | None
    moved_from: str = ""


def effect_of(repository: Repository, commit: Commit) -> Iterator[Effect]:
    """What COMMIT did, file by file; a move is one effect, not two."""
    parent = repository.commit(commit.parents[0]) if commit.parents else None
    found = compare_commit(repository, commit, parent)
    rows = {path: (old, new) for path, old, new in found.differences}
    before, after = lacks_of(parent) if parent else (), lacks_of(commit)
    if before or after:
        rows = _with_lost(repository, commit, rows, before, after)
    for path, (old, new) in rows.items():
        source = found.moves.get(path, "")
        if source:
            yield Effect(path, rows[source][0], new, source)
        elif path not in found.moves.values():
            yield Effect(path, old, new)


Rows = dict[str, tuple[Node | None, Node | None]]


def _with_lost(
    repository: Repository,
    commit: Commit,
    rows: Rows,
    before: Sequence[Unreadable],
    after: Sequence[Unreadable],
) -> Rows:
    """The changes of a rebuilt commit with the versions that are lost BEFORE and AFTER it.

    Its files hold an older version in place of each of them, which the commit did not change.
    """
    same = {each.key for each in before} & {each.key for each in after}
    for each in (*before, *after):
        if each.kind == "blob" and each.key not in same and each.path not in rows:
            node = locate(repository, commit.tree, each.path)
            rows[each.path] = (node, node)

    def true(lacks: Sequence[Unreadable], path: str, node: Node | None) -> Node | None:
        lost = (each for each in lacks if each.key not in same and each.concerns(path))
        return next((Node(FILE, each.object) for each in lost), node)

    return {
        path: (true(before, path, old), true(after, path, new)) for path, (old, new) in rows.items()
    }


def _reverted(
    commits: Iterable[Commit], snapshot: Snapshot, layer_of: LayerOf
) -> tuple[dict[str, bytes | None], Undone, tuple[str, ...]]:
    """The changed files, the result, and the partly undone commits; COMMITS come newest first."""
    revert = _Revert(snapshot, layer_of)
    left: list[NotUndone] = []
    done: list[str] = []
    for commit in commits:
        kept, changed = revert.undo(commit)
        left += kept
        done += [commit.oid] if changed else []
    left += revert.without_secrets()
    incomplete = {each.commit for each in left}
    before = {path: snapshot.read(path) for path in revert.now}
    files = {path: data for path, data in revert.now.items() if data != before[path]}
    changes = tuple(describe(path, before[path], files[path]) for path in files)
    undone = tuple(each for each in done if each not in incomplete)
    partly = tuple(each for each in done if each in incomplete)
    return files, Undone("", undone, changes, tuple(left)), partly


class _NotClean(Exception):
    """An effect cannot be undone; the message says why."""


class _Revert:
    """The files of one snapshot, in which commits are undone one by one."""

    def __init__(self, snapshot: Snapshot, layer_of: LayerOf) -> None:
        self._snapshot, self._layer_of = snapshot, layer_of
        self._repository = snapshot.repository
        self.now: dict[str, bytes | None] = {}
        self._undone_in: dict[str, list[str]] = {}
        """The commits that were undone in each file."""
        self._moved_from: dict[str, str] = {}
        """Both ends of a move: one goes with the other."""
        self._bound: dict[str, set[str]] = {}
        """The files among which each commit moved entries."""

    def _read(self, path: str) -> bytes | None:
        return self.now[path] if path in self.now else self._snapshot.read(path)

    def undo(self, commit: Commit) -> tuple[list[NotUndone], bool]:
        """Undo COMMIT as far as possible; return what is left, and whether anything changed."""
        left, changed = list(self._lost(commit)), False
        effects = list(effect_of(self._repository, commit))
        known, moved = dict(self.now), self._moved_entries(effects)
        # Files that it made go first, to make room for those that it removed.
        for effect in sorted(effects, key=lambda each: each.old is not None):
            try:
                self._check_still_there(effect, moved)
                files = self._reversed(effect)
            except (_NotClean, PathRefused, ObjectDamaged) as error:
                left.append(NotUndone(commit.oid, effect.path, _why(error)))
                continue
            changed = changed or any(data != self._read(path) for path, data in files.items())
            self.now.update(files)
            for path in files:
                self._undone_in.setdefault(path, []).append(commit.oid)
            if moved:
                self._bound.setdefault(commit.oid, set()).update(files)
        if left and moved:
            # Both ends or none: half of it would leave an entry in two files, or in none.
            self.now = known
            return [*left, *_rest(commit, effects, left)], False
        return left, changed

    def _lost(self, commit: Commit) -> Iterator[NotUndone]:
        """The unreadable folders of COMMIT, or all of it; unreadable files are effects."""
        for each in own_lacks(self._repository.objects, commit):
            if each.kind != "blob":
                yield NotUndone(commit.oid, each.path, each.message)

    def _moved_entries(self, effects: Sequence[Effect]) -> frozenset[str]:
        """The wordings of entries that a commit took out of one file and put into another."""
        gone: set[str] = set()
        come: set[str] = set()
        for effect in effects:
            old, new = (_wordings(self._sound(each)) for each in (effect.old, effect.new))
            gone.update(old - new)
            come.update(new - old)
        return frozenset(gone & come)

    def _sound(self, node: Node | None) -> bytes:
        with suppress(ObjectDamaged):
            if node is None or stat.S_ISREG(node.mode):
                return self._blob(node) or b""
        return b""

    def _check_still_there(self, effect: Effect, moved: frozenset[str]) -> None:
        """Refuse if an entry that was moved there has since left, or changed."""
        if not moved or effect.new is None:
            return
        brought = _wordings(self._sound(effect.new)) - _wordings(self._sound(effect.old))
        if (brought & moved) - _wordings(self._read(effect.path) or b""):
            raise _NotClean("an entry that was moved there has been moved or changed since")

    def _reversed(self, effect: Effect) -> dict[str, bytes | None]:
        if not all(node is None or stat.S_ISREG(node.mode) for node in (effect.old, effect.new)):
            raise _NotClean("not a plain file")
        current = self._read(effect.path)
        if effect.moved_from:
            return self._moved_back(effect, current)
        result = self._without(effect, current)
        if current is None and result is not None:
            self._check_free(effect.path)
        return {effect.path: result}

    def _moved_back(self, effect: Effect, current: bytes | None) -> dict[str, bytes | None]:
        taken = self._read(effect.moved_from) is not None
        if current is None and taken:
            return {}  # it was moved back already
        if current is None:
            raise _NotClean("the file was removed since")
        if taken:
            raise _NotClean(f"another file is at {effect.moved_from} now")
        result = self._without(effect, current)
        self._check_free(effect.moved_from, leaving=effect.path)
        self._moved_from[effect.moved_from] = effect.path
        return {effect.path: None, effect.moved_from: result}

    def _check_free(self, path: str, leaving: str = "") -> None:
        """Raise PathRefused if no file can be at PATH again."""
        there = [each for each, data in self.now.items() if data is not None and each != leaving]
        gone = [each for each, data in self.now.items() if data is None]
        check_path_free(self._snapshot, check_path(path), there, leaving=[*gone, leaving])

    def _without(self, effect: Effect, current: bytes | None) -> bytes | None:
        """CURRENT, the file now, without EFFECT."""
        before, after = self._blob(effect.old), self._blob(effect.new)
        if current in (before, after):
            return before
        if current is None:
            raise _NotClean("the file was removed since")
        if after is None:
            raise _NotClean("the file was written again since")
        merged = merge(after, current, before or b"", hunks)
        data: bytes | None = merged.data
        if merged.conflicts:
            layer = self._layer_of(effect.path)
            data = _without_entries(before or b"", after, current, layer)
        if data is None:
            raise _NotClean("the same lines were changed since")
        return None if before is None and not data.strip() else data

    def _blob(self, node: Node | None) -> bytes | None:
        return self._repository.objects.read_as("blob", node.oid) if node else None

    def without_secrets(self) -> Iterator[NotUndone]:
        """Leave files as they are that would hold a credential again."""
        for path, data in list(self.now.items()):
            rule = self._credential(path, data) if data and path in self.now else ""
            if rule:
                yield from (
                    NotUndone(commit, path, _exposing(commit, path, rule))
                    for commit in self._undone_in[path]
                )
                del self.now[path]
                self.now.pop(self._moved_from.get(path, ""), None)
                for commit in self._undone_in[path]:
                    for other in self._bound.get(commit, ()):
                        self.now.pop(other, None)

    def _credential(self, path: str, data: bytes) -> str:
        """The rule that finds a credential in DATA which the file does not hold now."""
        current = self._snapshot.read(self._moved_from.get(path, path))
        found = find_new_in_bytes(data, current)
        return found[0].rule if found else ""


def _why(error: _NotClean | PathRefused | ObjectDamaged) -> str:
    if isinstance(error, ObjectDamaged):
        return f"a version of it cannot be read: {error.message}"
    return str(error)


def _exposing(commit: str, path: str, rule: str) -> str:
    """Why a file is left, and how to restore it anyway."""
    back = call("restore", path, at=f"{commit[:10]}~1", allow_secret=rule)
    text = f"it would bring back what looks like a credential ({rule}); if it is not a secret: "
    return Hint(text, back)


def _wordings(data: bytes) -> set[str]:
    """The wordings of the entries of a file."""
    return {wording(each.block) for each in parse(data.decode("utf-8", "surrogateescape"))}


def _rest(
    commit: Commit, effects: Sequence[Effect], left: Sequence[NotUndone]
) -> Iterator[NotUndone]:
    known = {each.path for each in left}
    for effect in effects:
        if effect.path not in known:
            why = "it belongs to a move of entries that cannot be undone"
            yield NotUndone(commit.oid, effect.path, why)


def _without_entries(
    before: bytes, after: bytes, current: bytes, layer: Layer | None
) -> bytes | None:
    """CURRENT with the change undone entry by entry, where lines conflict; None if that fails."""
    try:
        found = undone_entries(before.decode(), after.decode(), current.decode(), hunks, layer)
    except (UnicodeDecodeError, BadInput):
        return None
    return None if found is None else found.encode()
