"""When each line and each entry was last touched, found by one walk forward through the history.

Lines are those of `git blame -w`, and git is the judge of them. An entry is more than its lines: it
keeps its date where its text, white space aside, stood somewhere in the commit before, wherever it
moved; a mechanical operation brings back the date that a text had; else it is touched by the commit
that changed it.

A walk costs what the new commits cost. Where the history forks, each way goes on from a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gitmem.core.chronicle import OID, Chronicle, FileDates, Row, State, Touch, mark_of
from gitmem.core.freshness import ADOPTION, BY_HAND, KEY, MECHANICAL, WHITE, part_that_differs
from gitmem.git.lines import common_ends, kept_lines
from gitmem.git.origins import Contents, Origins, carried
from gitmem.git.renames import Renames
from gitmem.git.repository import Repository
from gitmem.git.steps import Step, Trees, read_step

HELD_KEYS = 4096
LONG = 4096
"""After so many commits what is known is worth keeping, should the walk be cut short."""
NAMELESS = ("", b"")
A_DAY = 86400
FIRST_DAY = 719163
"""The ordinal of the day on which the clock of the commits begins."""


Keep = Callable[[Chronicle], None]


class Reading(NamedTuple):
    """How to read a file: what in it is an entry, whatever that may be."""

    blocks: Callable[[bytes], list[bytes]]
    """The keys of the entries in a file, or in a part of one."""
    whole: Callable[[str, bytes], bytes | None]
    """The key of a file that may be an entry itself."""
    texts: Callable[[bytes], Mapping[bytes, tuple[str, bytes]]]
    """What each of them is called, and its lines."""
    days: Callable[[bytes], Mapping[bytes, int]]
    """The day that an entry names itself, as an ordinal."""


class _File(NamedTuple):
    """A file that a commit brings or takes away."""

    path: str
    old: str
    new: str
    lines: bytes = b""
    come: Sequence[bytes] = ()
    """The keys that it brings."""
    gone: Sequence[bytes] = ()


def bring_up(
    known: Chronicle | None,
    repository: Repository,
    commit: str,
    reading: Reading,
    keep: Keep = lambda known: None,
) -> tuple[Chronicle, int]:
    """What is known at COMMIT, and by how many commits more than before.

    It goes on from KNOWN where that is one of its ancestors. KNOWN itself is changed, and worth
    nothing if this fails. A long walk is given to KEEP now and then: it may be cut short.
    """
    steps = _steps_since(repository, commit, known.commit) if known else None
    if known is None or steps is None:
        known, steps = Chronicle(), _steps_since(repository, commit, "") or []
    _Walk(known, repository, reading).go(steps, keep)
    return known, len(steps)


def _steps_since(repository: Repository, commit: str, base: str) -> list[Step] | None:
    """The commits behind BASE up to COMMIT, parents first; None where not all come from BASE."""
    found: dict[str, Step] = {}
    waiting = [commit]
    while waiting:
        oid = waiting.pop()
        if oid == base or oid in found:
            continue
        step = found[oid] = read_step(repository.objects, oid)
        if base and not step.parents:
            return None
        waiting += step.parents
    return list(_parents_first(found, commit))


def _parents_first(steps: Mapping[str, Step], commit: str) -> Iterator[Step]:
    seen: set[str] = set()
    stack = [(commit, False)]
    while stack:
        oid, done = stack.pop()
        if done:
            yield steps[oid]
        elif oid in steps and oid not in seen:
            seen.add(oid)
            stack.append((oid, True))
            stack += [(each, False) for each in reversed(steps[oid].parents)]


class _Walk:
    """One walk, from commit to commit."""

    def __init__(self, known: Chronicle, repository: Repository, reading: Reading) -> None:
        self._known, self._reading = known, reading
        self._objects = repository.objects
        self._trees = Trees(self._objects)
        self._content = Contents(self._objects)
        self._origins = Origins(self._content, self._changes)
        self._wholes: dict[tuple[str, str], bytes | None] = {}
        self._numbers = {row.oid: number for number, row in enumerate(known.rows)}
        self._states = {known.commit: known.state} if known.commit else {}
        self._roots: dict[str, str] = {}
        self._children: dict[str, int] = {}

    def go(self, steps: list[Step], keep: Keep) -> None:
        """Carry dates on over STEPS, parents first."""
        for step in steps:
            self._roots[step.oid] = step.tree
            for parent in step.parents:
                self._children[parent] = self._children.get(parent, 0) + 1
        for number, step in enumerate(steps, 1):
            self._take(step)
            if number == len(steps) or (number % LONG == 0 and len(self._states) == 1):
                self._known.commit, self._known.state = step.oid, self._states[step.oid]
                if number < len(steps):
                    keep(self._known)  # which may give the rows other numbers
                    self._numbers = {row.oid: at for at, row in enumerate(self._known.rows)}

    def _take(self, step: Step) -> None:
        number = self._number(Row(step.oid, step.seconds, step.agent))
        parents = [self._states[each] for each in step.parents]
        state = self._inherited(step)
        files = [_File(*each) for each in self._changes(step, 0)]
        renames = self._origins.renames([each[:3] for each in files])
        files = [self._looked_at(each, step, number, parents, renames) for each in files]
        for each in files:
            self._date(each, step, number, parents, state)
        for each in files:
            state.stand(each.come)
        for each in files:
            state.leave(each.gone)
            if each.new:
                state.files[each.path] = FileDates(each.new, each.lines)
            else:
                del state.files[each.path]
        self._states[step.oid] = state

    def _looked_at(
        self, file: _File, step: Step, number: int, parents: list[State], renames: Renames | None
    ) -> _File:
        """FILE with its lines and with the entries that come and go."""
        mark = mark_of(number)
        old, new = self._content(file.old), self._content(file.new)
        if file.old and file.new and len(parents) == 1:
            ends = common_ends(old, new)
            before, after = part_that_differs(old, new, *ends)
            origin = parents[0].files[file.path]
            lines = carried(origin.lines, kept_lines(old, new, *ends), mark)
        else:
            before, after, lines = old, new, b""
            if file.new:
                origins = self._origins.of(file.path, file.new, step, parents, renames)
                lines = self._origins.lines(file.new, origins, mark)
        return file._replace(
            lines=lines,
            come=self._keys(file.path, file.new, after),
            gone=self._keys(file.path, file.old, before),
        )

    def _keys(self, path: str, blob: str, part: bytes) -> list[bytes]:
        if not blob:
            return []
        if (path, blob) not in self._wholes:
            if len(self._wholes) > HELD_KEYS:
                self._wholes.clear()
            self._wholes[path, blob] = self._reading.whole(path, self._content(blob))
        whole, keys = self._wholes[path, blob], self._reading.blocks(part)
        return [*keys, whole] if whole else keys

    def _inherited(self, step: Step) -> State:
        """The state to go on from: that of the first parent, whole if nobody else needs it."""
        first = step.parents[0] if step.parents else ""
        for parent in step.parents:
            self._children[parent] -= 1
        if not first:
            return State()
        found = self._states[first]
        needed = self._children[first]
        for parent in step.parents:
            if not self._children[parent]:
                self._states.pop(parent, None)
        return found.copy() if needed else found

    def _changes(self, step: Step, parent: int) -> list[tuple[str, str, str]]:
        if not step.parents:
            return self._trees.changes("", step.tree)
        oid = step.parents[parent]
        if oid not in self._roots:
            self._roots[oid] = read_step(self._objects, oid).tree
        return self._trees.changes(self._roots[oid], step.tree)

    def _number(self, row: Row) -> int:
        number = self._numbers.get(row.oid)
        if number is None:
            number = self._numbers[row.oid] = len(self._known.rows)
            self._known.rows.append(row)
        return number

    def _date(
        self, file: _File, step: Step, number: int, parents: list[State], state: State
    ) -> None:
        """Give a date to each entry that did not stand in the first parent."""
        fresh = []
        for key in file.come:
            if key in state.count:
                continue
            touch = next((each.dates[key] for each in parents[1:] if key in each.count), None)
            if touch:
                state.dates[key] = touch
            else:
                fresh.append(key)
        if fresh:
            state.dates.update(self._touches(fresh, file, step, number, parents))

    def _touches(
        self, keys: list[bytes], file: _File, step: Step, number: int, parents: list[State]
    ) -> dict[bytes, Touch]:
        days = self._own_days(file, step)
        found = {key: Touch(number, days.get(key, 0)) for key in keys}
        regained: dict[bytes, Touch] = {}
        if step.op in MECHANICAL or len(parents) > 1:
            regained = self._regained(keys)
            found |= self._made_of_others([x for x in keys if x not in regained], file, parents)
        elif step.op in BY_HAND:
            regained = self._put_back(keys, file, parents)
        for key, (row, day) in found.items():
            if key not in regained:
                oid = bytes.fromhex(self._known.rows[row].oid)
                self._known.past.add(key + oid + day.to_bytes(4, "little"))
        return found | regained

    def _own_days(self, file: _File, step: Step) -> Mapping[bytes, int]:
        """The days that entries name themselves, where a folder without a history was adopted."""
        if step.op != ADOPTION or len(step.source) == 2 * OID:
            return {}
        latest = FIRST_DAY + step.seconds // A_DAY + 1  # where the day begins first, it is tomorrow
        found = self._reading.days(self._content(file.new))
        return {key: day for key, day in found.items() if day <= latest}

    def _regained(self, keys: Iterable[bytes]) -> dict[bytes, Touch]:
        """The dates that texts had when they stood somewhere last."""
        found = {}
        for key in keys:
            record = self._known.past.last(key)
            if record:
                oid = record[KEY : KEY + OID].hex()
                day = int.from_bytes(record[KEY + OID :], "little")
                found[key] = Touch(self._row_of(oid), day)
        return found

    def _row_of(self, oid: str) -> int:
        if oid in self._numbers:
            return self._numbers[oid]
        step = read_step(self._objects, oid)
        return self._number(Row(oid, step.seconds, step.agent))

    def _put_back(self, keys: list[bytes], file: _File, parents: list[State]) -> dict[bytes, Touch]:
        """Where somebody put something back by hand that was gone, it has the date it had.

        What stood there under the same title was not gone: it was changed, if only back.
        """
        found = self._regained(keys)
        standing = self._titles(file.path, parents) if found else {}
        names = self._reading.texts(self._content(file.new)) if standing else {}
        return {
            key: each for key, each in found.items() if names.get(key, NAMELESS)[0] not in standing
        }

    def _titles(self, path: str, parents: list[State]) -> dict[str, Touch]:
        """The entries of a file as it was in the parents, by title; of several, the newest."""
        found: dict[str, Touch] = {}
        for state in parents:
            before = state.files.get(path)
            known = self._reading.texts(self._content(before.blob)) if before else {}
            for key, (title, _) in known.items():
                touch = state.dates.get(key)
                if touch and (title not in found or self._is_newer(touch, found[title])):
                    found[title] = touch
        return found

    def _made_of_others(
        self, keys: list[bytes], file: _File, parents: list[State]
    ) -> dict[bytes, Touch]:
        """A text that never stood before, made of others: it is as old as what it was made of.

        A merge can hold more than it merges: then it is touched.
        """
        standing = self._titles(file.path, parents) if keys else {}
        names = self._reading.texts(self._content(file.new)) if standing else {}
        merged = self._lines_of(file.path, parents) if len(parents) > 1 and standing else None
        found = {}
        for key in keys:
            title, text = names.get(key, NAMELESS)
            if title in standing and (merged is None or merged.issuperset(_bare_lines(text))):
                found[key] = standing[title]
        return found

    def _lines_of(self, path: str, parents: list[State]) -> set[bytes]:
        blobs = [each.files[path].blob for each in parents if path in each.files]
        return {line for blob in blobs for line in _bare_lines(self._content(blob))}

    def _is_newer(self, one: Touch, other: Touch) -> bool:
        return self._known.rows[one.row].seconds > self._known.rows[other.row].seconds


def _bare_lines(text: bytes) -> set[bytes]:
    return {line.translate(None, WHITE) for line in text.split(b"\n")}
