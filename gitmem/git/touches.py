"""Which date each entry of a commit has: the one it had in a parent, or one of its own.

Each path has its own provenance. An entry keeps its date where its text, white space aside, stood
in the same file of a parent, or left another place in this commit: then it has moved. A copy of a
text that still stands elsewhere is new where it is new. What left a place is remembered, so that a
mechanical operation, or somebody's hand, can bring it back with the date it had there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gitmem.core.chronicle import OID, PLACE, Chronicle, State, Touch, Touches, place_of
from gitmem.core.freshness import ADOPTION, BY_HAND, KEY, MECHANICAL, WHITE
from gitmem.git.origins import Contents
from gitmem.git.steps import Step

NAMELESS = ("", b"")
A_DAY = 86400
FIRST_DAY = 719163
"""The ordinal of the day on which the clock of the commits begins."""


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


class Texts(NamedTuple):
    """The entries that a commit brings into a file or takes out of it, seen from one parent."""

    path: str
    blob: str
    """The file as it is now; nothing where there is none."""
    come: Sequence[bytes] = ()
    gone: Sequence[bytes] = ()


class Place(NamedTuple):
    """Where a text left, and the date it had there."""

    path: str
    touch: Touch


class Commit(NamedTuple):
    """One commit on top of its parents."""

    step: Step
    number: int
    """Its row."""
    parents: list[State]
    state: State
    """What becomes of the first parent."""


def net(come: list[bytes], gone: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Without the texts that come as often as they go: those stay."""
    if not come or not gone:
        return come, gone
    counts = Counter(come)
    counts.subtract(gone)
    return list(counts.elements()), list((-counts).elements())


class Dating:
    """Gives dates to entries, commit by commit."""

    def __init__(
        self,
        known: Chronicle,
        reading: Reading,
        content: Contents,
        row_of: Callable[[str], int],
    ) -> None:
        self._known, self._reading = known, reading
        self._content, self._row_of = content, row_of

    def dated(
        self, made: Commit, changes: Sequence[Sequence[Texts]]
    ) -> dict[str, Mapping[bytes, Touches]]:
        """The entries of the files that differ from the first parent, by path.

        CHANGES are those from each parent, by path.
        """
        texts: dict[str, dict[bytes, Touches]] = {}
        left = [self._left(each, state) for each, state in zip(changes, made.parents, strict=False)]
        come: dict[bytes, list[str]] = {}
        for each in changes[0]:
            before = made.parents[0].files.get(each.path) if made.parents else None
            texts[each.path] = _without(before.texts if before else {}, each.gone)
            for key in each.come:
                come.setdefault(key, []).append(each.path)
        for key, path, touch in self._kept(come, left, made):
            texts[path][key] = (*texts[path].get(key, ()), touch)
        for each in changes[0]:
            fresh = [key for key in dict.fromkeys(each.come) if each.path in come.get(key, ())]
            for key, touch in self._touches(fresh, each, made).items() if fresh else ():
                new = come[key].count(each.path) * (touch,)
                texts[each.path][key] = (*texts[each.path].get(key, ()), *new)
        self._remember(left, made.state.run)
        return {**texts}

    def _left(self, changes: Sequence[Texts], state: State) -> dict[bytes, list[Place]]:
        """The texts that left their places in one parent; of several in a file the last to come."""
        found: dict[bytes, list[Place]] = {}
        for each in changes:
            for key, count in Counter(each.gone).items() if each.gone else ():
                places = [Place(each.path, x) for x in state.touches(each.path, key)[-count:]]
                found.setdefault(key, []).extend(places)
        return found

    def _remember(self, left: Sequence[Mapping[bytes, list[Place]]], run: int) -> None:
        rows, past = self._known.rows, self._known.past
        for each in left:
            for key, places in each.items():
                for path, (row, day) in places:
                    oid = bytes.fromhex(rows[row].oid)
                    past.add(key + place_of(path) + oid + day.to_bytes(4, "little"), run)

    def _kept(
        self,
        come: dict[bytes, list[str]],
        left: Sequence[Mapping[bytes, list[Place]]],
        made: Commit,
    ) -> Iterator[tuple[bytes, str, Touch]]:
        """The dates of texts that stood in another parent or have moved: no longer in COME."""
        for key in list(come) if len(made.parents) > 1 else ():
            come[key], found = _merged(key, come[key], made.parents)
            yield from ((key, *each) for each in found)
        for places in left:
            for key in [each for each in come if come[each] and each in places]:
                come[key], found = self._moved(come[key], places[key])
                yield from ((key, *each) for each in found)

    def _moved(
        self, come: list[str], left: list[Place]
    ) -> tuple[list[str], list[tuple[str, Touch]]]:
        """Which of the places that a text left it went from, for each that it came to.

        Where there are several, to the place whose path ends alike, and from the oldest first.
        """
        if len(come) == len(left) == 1:
            return [], [(come[0], left[0].touch)]
        left = sorted(left, key=lambda each: (self._when(each.touch), each.path))
        come, found = sorted(come), []
        for depth in range(max(path.count("/") + 1 for path in come), -1, -1):
            waiting: dict[str, list[str]] = {}
            for path in come:
                waiting.setdefault(_end(path, depth), []).append(path)
            rest = []
            for place in left:
                paths = waiting.get(_end(place.path, depth))
                if paths:
                    found.append((paths.pop(0), place.touch))
                else:
                    rest.append(place)
            come, left = sorted(x for paths in waiting.values() for x in paths), rest
        return come, found

    def _touches(self, keys: list[bytes], file: Texts, made: Commit) -> dict[bytes, Touch]:
        """The dates of texts that are new where they are."""
        days = self._own_days(file, made.step)
        found = {key: (made.number, days.get(key, 0)) for key in keys}
        if made.step.op in MECHANICAL or len(made.parents) > 1:
            regained = self._regained(keys, file, made)
            others = [key for key in keys if key not in regained]
            return found | self._made_of_others(others, file, made) | regained
        if made.step.op in BY_HAND:
            return found | self._put_back(keys, file, made)
        return found

    def _own_days(self, file: Texts, step: Step) -> Mapping[bytes, int]:
        """The days that entries name themselves, where a folder without a history was adopted."""
        if step.op != ADOPTION or len(step.source) == 2 * OID:
            return {}
        latest = FIRST_DAY + step.seconds // A_DAY + 1  # where the day begins first, it is tomorrow
        found = self._reading.days(self._content(file.blob))
        return {key: day for key, day in found.items() if day <= latest}

    def _regained(self, keys: Iterable[bytes], file: Texts, made: Commit) -> dict[bytes, Touch]:
        """The dates that texts had in this file last; if they stand in none now, in any other."""
        found = {}
        for key in keys:
            record = self._record(key, file.path, made)
            if record:
                start = KEY + PLACE
                oid = record[start : start + OID].hex()
                day = int.from_bytes(record[start + OID :], "little")
                found[key] = self._row_of(oid), day
        return found

    def _record(self, key: bytes, path: str, made: Commit) -> bytes | None:
        past, runs, own = self._known.past, made.state.runs, key + place_of(path)
        anywhere = past.last(key, runs)
        if anywhere is None or anywhere.startswith(own):
            return anywhere
        stands = any(each.has(key) for each in made.parents)
        return past.last(own, runs) or (None if stands else anywhere)

    def _put_back(self, keys: list[bytes], file: Texts, made: Commit) -> dict[bytes, Touch]:
        """Where somebody put something back by hand that was gone, it has the date it had.

        What stood there under the same title was not gone: it was changed, if only back.
        """
        found = self._regained(keys, file, made)
        standing = self._titles(file.path, made.parents) if found else {}
        names = self._reading.texts(self._content(file.blob)) if standing else {}
        return {
            key: each for key, each in found.items() if names.get(key, NAMELESS)[0] not in standing
        }

    def _titles(self, path: str, parents: Sequence[State]) -> dict[str, Touch]:
        """The entries of a file as it was in the parents, by title; of several, the newest."""
        found: dict[str, Touch] = {}
        for state in parents:
            before = state.files.get(path)
            known = self._reading.texts(self._content(before.blob)) if before else {}
            for key, (title, _) in known.items():
                for touch in state.touches(path, key):
                    if title not in found or self._when(touch) > self._when(found[title]):
                        found[title] = touch
        return found

    def _made_of_others(self, keys: list[bytes], file: Texts, made: Commit) -> dict[bytes, Touch]:
        """A text that never stood before, made of others: it is as old as what it was made of.

        A merge can hold more than it merges: then it is touched.
        """
        parents = made.parents
        standing = self._titles(file.path, parents) if keys else {}
        names = self._reading.texts(self._content(file.blob)) if standing else {}
        merged = self._lines_of(file.path, parents) if len(parents) > 1 and standing else None
        found = {}
        for key in keys:
            title, text = names.get(key, NAMELESS)
            if title in standing and (merged is None or merged.issuperset(_bare_lines(text))):
                found[key] = standing[title]
        return found

    def _lines_of(self, path: str, parents: Sequence[State]) -> set[bytes]:
        blobs = [each.files[path].blob for each in parents if path in each.files]
        return {line for blob in blobs for line in _bare_lines(self._content(blob))}

    def _when(self, touch: Touch) -> int:
        row, day = touch
        return (day - FIRST_DAY) * A_DAY if day else self._known.rows[row].seconds


def _without(texts: Mapping[bytes, Touches], gone: Sequence[bytes]) -> dict[bytes, Touches]:
    """TEXTS without those that are GONE; of several the last to come."""
    found = dict(texts)
    for key in gone:
        touches = found.pop(key, ())[:-1]
        if touches:
            found[key] = touches
    return found


def _merged(
    key: bytes, come: list[str], parents: Sequence[State]
) -> tuple[list[str], list[tuple[str, Touch]]]:
    """The dates of a text that came to places where it stood in another parent; and the rest."""
    rest, found = [], []
    for path, count in Counter(come).items():
        known = list(parents[0].touches(path, key))
        news: list[Touch] = []
        for state in parents[1:]:
            have = Counter((*known, *news))
            news += (Counter(state.touches(path, key)) - have).elements()
        found += [(path, touch) for touch in news[:count]]
        rest += [path] * (count - len(news[:count]))
    return rest, found


def _end(path: str, depth: int) -> str:
    """The last DEPTH parts of a path."""
    return "/".join(path.split("/")[-depth:]) if depth else ""


def _bare_lines(text: bytes) -> set[bytes]:
    return {line.translate(None, WHITE) for line in text.split(b"\n")}
