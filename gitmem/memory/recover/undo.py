"""Take back what commits did, and leave alone what others did since."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from gitmem.errors import BadInput, GitmemError, NotFound, PathRefused
from gitmem.memory.context.sources import has_transcripts
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_of
from gitmem.memory.resolve import resolve
from gitmem.memory.write.changeset import check_place
from gitmem.memory.write.write import Change, describe
from gitmem.model.commit_messages import PARTLY, UNDOES
from gitmem.model.commit_messages import parse as parse_message
from gitmem.model.entries.blocks import parse, wording
from gitmem.model.entries.placement import undone
from gitmem.model.layout.layout import Layer
from gitmem.model.paths import check_path
from gitmem.model.record import Record
from gitmem.model.secrets.find import find_new_in_bytes
from gitmem.model.text.format import quoted
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

__all__ = ["NotUndone", "Undone", "undo"]


class Undone(Record):
    """Commits whose effect is gone, in one new commit."""

    commit: str
    undone: tuple[str, ...]
    changes: tuple[Change, ...]
    left: tuple[NotUndone, ...] = ()
    captured: tuple[Captured, ...] = ()
    pending: bool = False
    reopened: tuple[str, ...] = ()
    """Checkpoints of transcripts whose ranges are open again by it."""

    @property
    def changed(self) -> bool:
        """False when there was nothing to take back."""
        return bool(self.changes or self.undone)


def undo(
    group: Group,
    commits: Sequence[str] = (),
    *,
    last: int = 0,
    session: str = "",
    agent: str = "",
    reason: str = "",
) -> Undone:
    """Revert the named commits, or the last N, or all of a session or an agent, as one commit."""
    if sum((bool(commits), bool(last), bool(session or agent))) > 1 or last < 0:
        raise BadInput(
            "say either which commits, how many, or whose",
            hint="for example `gitmem undo --last 2`, or `gitmem undo --session ID`",
        )
    note = group.note("undo", reason=reason)
    wanted = [resolve(group, each) for each in commits]
    with group.writing() as writer:
        chosen = _chosen(group.repository, wanted, last, session, agent)
        for path in _touched(group.repository, chosen):
            writer.capture(path)
        layout = layout_of(group)
        work = Reversal(chosen, layout.layer_of)
        words = _only_words(group.repository, chosen)

        def plan(snapshot: Snapshot) -> Plan[None]:
            files = work.files(snapshot)
            if not files and not words:
                return Plan((), None)
            undone = tuple((UNDOES, each) for each in (*work.undone, *words))
            extra = (*undone, *((PARTLY, each) for each in work.partly))
            done = note._replace(title=_title(chosen), paths=tuple(files), extra=extra)
            return Plan((Step(files, done),), None)

        published = writer.publish(plan)
    undone = (*work.undone, *words)
    reopened = _reopened(group, {*undone, *work.partly})
    return Undone(
        published.commit,
        undone,
        work.changes,
        tuple(work.left),
        published.captured,
        published.pending,
        reopened,
    )


def _reopened(group: Group, undone: set[str]) -> tuple[str, ...]:
    """The checkpoints that are among the commits UNDONE, or cover one of them."""
    if not undone or not has_transcripts(group):
        return ()
    from gitmem.memory.transcripts.transcripts import checkpoint_state, query_messages, tip_of

    with suppress(GitmemError, OSError):  # what was to be done is done
        found = query_messages(
            group, tip_of(group), lambda connection: checkpoint_state(connection).reopened
        )
        return tuple(each.oid for each in found if undone & {each.oid, *each.covers})
    return ()


def _only_words(repository: Repository, commits: Sequence[Commit]) -> tuple[str, ...]:
    """Those of COMMITS that changed no file: a checkpoint, or what took one back."""
    said = (each for each in commits if parse_message(each.message).op in ("checkpoint", "undo"))
    return tuple(each.oid for each in said if not any(effect_of(repository, each)))


def _touched(repository: Repository, commits: Sequence[Commit]) -> list[str]:
    effects = [each for commit in commits for each in effect_of(repository, commit)]
    return sorted({path for each in effects for path in (each.path, each.moved_from) if path})


def _chosen(
    repository: Repository, wanted: Sequence[str], last: int, session: str, agent: str
) -> list[Commit]:
    """The commits to undo, newest first."""
    if wanted:
        return _named(repository, set(wanted))
    if session or agent:
        return _by(repository, session, agent)
    found = [each for each in _line(repository, max(last, 1)) if each.parents]
    if not found:
        raise NotFound("there is nothing to undo", hint="see `gitmem log`")
    return found


def _line(repository: Repository, limit: int = 0) -> Iterator[Commit]:
    return islice(repository.history(repository.tip()), limit or None)


def _named(repository: Repository, wanted: set[str]) -> list[Commit]:
    found = []
    for commit in walk(repository, repository.tip()):
        if commit.oid in wanted:
            found.append(commit)
        if len(found) == len(wanted):
            return found
    strangers = wanted - {each.oid for each in found}  # not on the branch at all
    return found + [repository.commit(each) for each in sorted(strangers)]


def _by(repository: Repository, session: str, agent: str) -> list[Commit]:
    """What one session or agent did and nobody has taken back since, merged branches included.

    A merge itself is nobody's work: what it brought is that of the commits behind it.
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
        # To take back one's own work is no work that could be taken back; others' work is.
        if undoes and not (mine and _any_of_others(repository, undoes, session, agent)):
            undone.update(undoes)
        elif mine:
            found.append(commit)
    if not known:
        who = f"session {session!r}" if session else f"agent {agent!r}"
        raise NotFound(f"no commit of {who}", hint="see who wrote with `gitmem log`")
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


class NotUndone(Record):
    """Something that could not be undone cleanly and was left as it is."""

    commit: str
    path: str
    why: str


class Effect(NamedTuple):
    """What a commit did to one file."""

    path: str
    old: Node | None
    new: Node | None
    moved_from: str = ""


def effect_of(repository: Repository, commit: Commit) -> Iterator[Effect]:
    """What COMMIT did, file by file; a move is one thing, not two."""
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

    In its files an older version stands for each of them, which is not what was changed.
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


class _NotClean(Exception):
    """Why something cannot be taken back."""


class Reversal:
    """Commits taken back one by one, newest first."""

    def __init__(
        self, commits: Sequence[Commit], layer_of: Callable[[str], Layer | None] = lambda path: None
    ) -> None:
        self._commits, self._layer_of = commits, layer_of
        self.undone: list[str] = []
        """The commits of which nothing is left ..."""
        self.partly: list[str] = []
        """... and those of which something was taken back."""
        self.left: list[NotUndone] = []
        self.changes: tuple[Change, ...] = ()

    def files(self, snapshot: Snapshot) -> dict[str, bytes | None]:
        """What becomes of which files of SNAPSHOT."""
        work = _Work(snapshot, self._layer_of)
        self.left, done = [], []
        for commit in self._commits:
            left, changed = work.take_back(commit)
            self.left += left
            done += [commit.oid] if changed else []
        self.left += work.without_secrets()
        incomplete = {each.commit for each in self.left}
        self.undone = [each for each in done if each not in incomplete]
        self.partly = [each for each in done if each in incomplete]
        before = {path: snapshot.read(path) for path in work.now}
        files = {path: data for path, data in work.now.items() if data != before[path]}
        self.changes = tuple(describe(path, before[path], files[path]) for path in files)
        return files


class _Work:
    """The files of a snapshot, as they are changed step by step."""

    def __init__(self, snapshot: Snapshot, layer_of: Callable[[str], Layer | None]) -> None:
        self._snapshot, self._layer_of = snapshot, layer_of
        self._repository = snapshot.repository
        self.now: dict[str, bytes | None] = {}
        self._touched: dict[str, list[str]] = {}
        self._together: dict[str, str] = {}  # both ends of a move: one goes with the other
        self._bound: dict[str, set[str]] = {}  # the files among which a commit moved entries

    def _read(self, path: str) -> bytes | None:
        return self.now[path] if path in self.now else self._snapshot.read(path)

    def take_back(self, commit: Commit) -> tuple[list[NotUndone], bool]:
        """Undo one commit as far as possible; tell what is left, and whether anything changed."""
        left, changed = list(self._lost(commit)), False
        effects = list(effect_of(self._repository, commit))
        known, moved = dict(self.now), self._moved_entries(effects)
        # What it made goes first, to make room for what it removed.
        for effect in sorted(effects, key=lambda each: each.old is not None):
            try:
                self._check_still_there(effect, moved)
                files = self._reversed(effect)
            except _NotClean as error:
                left.append(NotUndone(commit.oid, effect.path, str(error)))
                continue
            except ObjectDamaged as error:
                why = f"a version of it cannot be read: {error.message}"
                left.append(NotUndone(commit.oid, effect.path, why))
                continue
            except PathRefused as error:
                left.append(NotUndone(commit.oid, effect.path, error.message))
                continue
            changed = changed or any(data != self._read(path) for path, data in files.items())
            self.now.update(files)
            for path in files:
                self._touched.setdefault(path, []).append(commit.oid)
            if moved:
                self._bound.setdefault(commit.oid, set()).update(files)
        if left and moved:
            # Both ends or none: half of it would leave an entry in two places, or in none.
            self.now = known
            return [*left, *_rest(commit, effects, left)], False
        return left, changed

    def _lost(self, commit: Commit) -> Iterator[NotUndone]:
        """The folders of COMMIT, or all its files, that nobody can read; files are effects."""
        for each in own_lacks(self._repository.objects, commit):
            if each.kind != "blob":
                yield NotUndone(commit.oid, each.path, each.message)

    def _moved_entries(self, effects: Sequence[Effect]) -> frozenset[str]:
        """What the entries say that a commit took out of one file and put into another."""
        gone: set[str] = set()
        come: set[str] = set()
        for effect in effects:
            old, new = (_said(self._sound(each)) for each in (effect.old, effect.new))
            gone.update(old - new)
            come.update(new - old)
        return frozenset(gone & come)

    def _sound(self, node: Node | None) -> bytes:
        with suppress(ObjectDamaged):
            if node is None or stat.S_ISREG(node.mode):
                return self._blob(node) or b""
        return b""

    def _check_still_there(self, effect: Effect, moved: frozenset[str]) -> None:
        """An entry that has gone on from where it was put cannot come back from there."""
        if not moved or effect.new is None:
            return
        brought = _said(self._sound(effect.new)) - _said(self._sound(effect.old))
        if (brought & moved) - _said(self._read(effect.path) or b""):
            raise _NotClean("an entry that was put there is not there any more, as it was")

    def _reversed(self, effect: Effect) -> dict[str, bytes | None]:
        if not all(node is None or stat.S_ISREG(node.mode) for node in (effect.old, effect.new)):
            raise _NotClean("it is no plain file")
        current = self._read(effect.path)
        if effect.moved_from:
            return self._moved_back(effect, current)
        result = self._reverted(effect, current)
        if current is None and result is not None:
            self._check_free(effect.path)
        return {effect.path: result}

    def _moved_back(self, effect: Effect, current: bytes | None) -> dict[str, bytes | None]:
        taken = self._read(effect.moved_from) is not None
        if current is None and taken:
            return {}  # it was moved back already
        if current is None:
            raise _NotClean("the file is gone since")
        if taken:
            raise _NotClean(f"there is another {effect.moved_from} now")
        result = self._reverted(effect, current)
        self._check_free(effect.moved_from, leaving=effect.path)
        self._together[effect.moved_from] = effect.path
        return {effect.path: None, effect.moved_from: result}

    def _check_free(self, path: str, leaving: str = "") -> None:
        """Raise PathRefused when a file cannot stand at PATH again."""
        there = [each for each, data in self.now.items() if data is not None and each != leaving]
        gone = [each for each, data in self.now.items() if data is None]
        check_place(self._snapshot, check_path(path), there, leaving=[*gone, leaving])

    def _reverted(self, effect: Effect, current: bytes | None) -> bytes | None:
        """The file with one change taken back."""
        before, after = self._blob(effect.old), self._blob(effect.new)
        if current in (before, after):
            return before
        if current is None:
            raise _NotClean("the file is gone since")
        if after is None:
            raise _NotClean("the file was written again since")
        merged = merge(after, current, before or b"", hunks)
        data: bytes | None = merged.data
        if merged.conflicts:
            layer = self._layer_of(effect.path)
            data = _entries_undone(before or b"", after, current, layer)
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
                    for commit in self._touched[path]
                )
                del self.now[path]
                self.now.pop(self._together.get(path, ""), None)
                for commit in self._touched[path]:
                    for other in self._bound.get(commit, ()):
                        self.now.pop(other, None)

    def _credential(self, path: str, data: bytes) -> str:
        """The rule by which DATA holds a credential that the file does not hold now."""
        current = self._snapshot.read(self._together.get(path, path))
        found = find_new_in_bytes(data, current)
        return found[0].rule if found else ""


def _exposing(commit: str, path: str, rule: str) -> str:
    """Why a file is left, and how to have it all the same."""
    back = f"gitmem restore {quoted(path)} --at {commit[:10]}~1 --allow-secret {rule}"
    return f"it would bring back what looks like a credential ({rule}); if it is none: `{back}`"


def _said(data: bytes) -> set[str]:
    """What the entries of a file say."""
    return {wording(each.block) for each in parse(data.decode("utf-8", "surrogateescape"))}


def _rest(
    commit: Commit, effects: Sequence[Effect], left: Sequence[NotUndone]
) -> Iterator[NotUndone]:
    known = {each.path for each in left}
    for effect in effects:
        if effect.path not in known:
            yield NotUndone(
                commit.oid, effect.path, "it belongs together with what cannot be undone"
            )


def _entries_undone(
    before: bytes, after: bytes, current: bytes, layer: Layer | None
) -> bytes | None:
    """The reverse by entries, where lines are in each other's way; None where that cannot be."""
    try:
        found = undone(before.decode(), after.decode(), current.decode(), hunks, layer)
    except (UnicodeDecodeError, BadInput):
        return None
    return None if found is None else found.encode()
