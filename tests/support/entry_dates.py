"""The dates of entries, worked out slowly and plainly.

A second opinion on `gitmem.store.history.entry_dates`.

A text is a title and a status. A file of entries has several of them, a note is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

from tests.support.histories import Drawn

Text = tuple[str, str]
Spot = tuple[str, Text]
"""A path and a text in that file."""
Dates = dict[Spot, list[int]]
"""The numbers of the commits that changed a text last, once for each time that it stands there; of
an adopted entry, the day that it names instead."""

START, MINUTE = 1_600_000_000, 60
ENTRIES = ("reference/a.md", "reference/b.md", "archive/reference/a.md")
NOTES = ("facts/x.md", "facts/y.md", "archive/facts/x.md")
LAYOUT = """\
gitmem: 1
layers:
  a: {kind: entries, path: reference/a.md, ages: true}
  b: {kind: entries, path: reference/b.md, ages: true}
  shelf: {kind: entries, path: archive/reference/a.md}
  facts: {kind: notes, path: facts/*.md, ages: true}
"""
MECHANICAL = ("restore", "undo", "archive", "move")
OPS = ("", "", "write", "write", "capture", "capture", "capture", "adopt", *MECHANICAL)
SOURCES = ("", "0123456789abcdef" * 2 + "01234567", "/home/ada/agents/kitchen/state/memory/v1")
"""Of adopted commits: nothing, a commit of a history, or a folder whose path is as long."""
RUNS = ("", "", "one", "one", "two")
SITTING = 10
"""Minutes within which a text that is cut here and pasted there by two captures has moved."""
TITLES, STATUSES = ("One", "Two", "Three"), ("active", "paused")
DATED, DAY = "Three", "2020-09-10"
"""The title of the entries that name a day themselves, before the first commit; no note does."""
NAMED = (1_599_696_000 - START) // MINUTE
"""That day, as a number of a commit: one is made every minute."""


class Made(NamedTuple):
    """A commit: on top of which earlier ones, with which texts in which files."""

    parents: tuple[int, ...]
    files: Mapping[str, tuple[Text, ...]]
    op: str = ""
    run: str = ""
    """Which captures found their edits at the same time."""
    source: str = ""
    """Of an adopted commit."""


class _Sitting(NamedTuple):
    """What captures cut and pasted: the place of each text, and the commit."""

    cut: dict[tuple[Text, bool], tuple[str, int]]
    pasted: dict[tuple[Text, bool], tuple[str, int]]
    """Only in the run of the capture that cuts it: else it stood in both places."""


class SlowDates:
    """The dates at each commit of a history."""

    def __init__(self, history: Sequence[Made]) -> None:
        self._history = history
        self._known: dict[int, Dates] = {}
        self._left: dict[int, list[tuple[Spot, int]]] = {}
        """What left its place in each commit."""
        self._sittings: dict[int, _Sitting] = {}
        self._order = parents_first(history, len(history) - 1)
        for number in self._order:
            self._known[number] = self._dated(number)

    def at(self, number: int) -> Dates:
        """The dates of every text in every file."""
        return {spot: dates for spot, dates in self._known[number].items() if dates}

    def _dated(self, number: int) -> Dates:
        made = self._history[number]
        now = Counter((path, text) for path, texts in made.files.items() for text in texts)
        parents = [self._known[each] for each in made.parents]
        found = {spot: (parents[0].get(spot, []) if parents else [])[: now[spot]] for spot in now}
        missing = sorted(spot for spot in now for _ in range(now[spot] - len(found[spot])))
        self._left[number] = [
            (spot, date)
            for parent in parents
            for spot in sorted(parent)
            for date in reversed(parent[spot][now[spot] :])
        ]
        for other in parents[1:]:
            self._same_place(other, missing, found)
        free = [self._moved(parent, now, missing, found) for parent in parents]
        self._sittings[number] = self._sitting_before(made)
        if made.op == "capture":
            self._sit(number, free[0] if free else [], missing, found)
        fresh = {spot: self._fresh(spot, number) for spot in set(missing)}
        for spot in missing:
            found[spot].append(fresh[spot])
        return found

    def _same_place(self, other: Dates, missing: list[Spot], found: Dates) -> None:
        for spot in sorted(set(missing)):
            spare = list((Counter(other.get(spot, [])) - Counter(found[spot])).elements())
            for date in sorted(spare, key=other.get(spot, []).index):
                if spot in missing:
                    missing.remove(spot)
                    found[spot].append(date)

    def _sitting_before(self, made: Made) -> _Sitting:
        known = self._sittings[made.parents[0]] if made.parents else _Sitting({}, {})
        return _Sitting(dict(known.cut), dict(known.pasted))

    def _sit(
        self, number: int, free: list[tuple[Spot, int]], missing: list[Spot], found: Dates
    ) -> None:
        """Captures commit each file by itself, so a move between two takes two of them."""
        cut, pasted = self._sittings[number]
        last = {_kind(spot): (spot, date) for spot, date in sorted(free, key=lambda x: x[0])}
        for kind, (spot, date) in last.items():
            path, when = pasted.get(kind, ("", 0))
            here = found.get((path, spot[1]), [])
            same = self._history[when].run == self._history[number].run
            is_recent = path not in ("", spot[0]) and number - when <= SITTING and same
            if is_recent and when in here and date <= when:
                here[len(here) - 1 - here[::-1].index(when)] = date
                del pasted[kind]
            else:
                cut[kind] = spot[0], number
        for kind in {_kind(spot) for spot in missing}:
            spots = sorted(spot for spot in missing if _kind(spot) == kind)
            path, when = cut.get(kind, ("", 0))
            is_recent = path != "" and number - when <= SITTING
            if is_recent:
                del cut[kind]
            if is_recent and path not in [spot[0] for spot in spots]:
                missing.remove(spots[0])
                found[spots[0]].append(self._left_by(number, (path, spots[0][1]))[-1])
            else:
                pasted[kind] = spots[-1][0], number

    def _moved(
        self, parent: Dates, now: Counter[Spot], missing: list[Spot], found: Dates
    ) -> list[tuple[Spot, int]]:
        free = [(spot, date) for spot in parent for date in reversed(parent[spot][now[spot] :])]
        while True:
            pairs = [
                (-_alike(spot[0], to[0]), date, spot[0], to[0], spot, to)
                for spot, date in free
                for to in missing
                if _says_the_same(spot, to)
            ]
            if not pairs:
                return free
            _, date, _, _, spot, to = min(pairs)
            free.remove((spot, date))
            missing.remove(to)
            found[to].append(date)

    def _fresh(self, spot: Spot, number: int) -> int:
        made = self._history[number]
        before = [self._history[each].files for each in made.parents]
        regained = self._regained(spot, number)
        titles = self._titles(spot, made.parents)
        if made.op in MECHANICAL or len(made.parents) > 1:
            if regained is not None:
                return regained
            lines = {x for files in before for text in files.get(spot[0], ()) for x in _lines(text)}
            if titles and (len(made.parents) == 1 or lines.issuperset(_lines(spot[1]))):
                return max(titles)
        elif made.op in ("", "capture") and regained is not None and not titles:
            return regained
        has_past = made.source == SOURCES[1] and any(before)
        is_named = spot[0] in ENTRIES and spot[1][0] == DATED
        return NAMED if made.op == "adopt" and is_named and not has_past else number

    def _regained(self, spot: Spot, number: int) -> int | None:
        """The date that a text had here last; if it stands nowhere, the one it had anywhere."""
        left = [each for earlier in self._ancestors(number) for each in self._left[earlier]]
        here = self._left_by(number, spot)
        if here:
            return here[-1]
        stands = any(
            _says_the_same(place, spot)
            for parent in self._history[number].parents
            for place, dates in self._known[parent].items()
            if dates
        )
        anywhere = [date for place, date in left if _says_the_same(place, spot)]
        return anywhere[-1] if anywhere and not stands else None

    def _left_by(self, number: int, spot: Spot) -> list[int]:
        """The dates that a text had whenever it left a file."""
        left = [each for earlier in self._ancestors(number) for each in self._left[earlier]]
        return [date for place, date in left if place == spot]

    def _titles(self, spot: Spot, parents: Sequence[int]) -> list[int]:
        """The dates of what stood in the file under the same title; a note is its file."""
        path, (title, _) = spot
        return [
            date
            for parent in parents
            for (where, text), dates in self._known[parent].items()
            for date in dates
            if where == path and (path in NOTES or text[0] == title)
        ]

    def _ancestors(self, number: int) -> list[int]:
        """The commits before one, in the order of a walk to the last one, parents first."""
        wanted = ancestors(self._history, number) - {number}
        return [each for each in self._order if each in wanted]


def ancestors(history: Sequence[Made], number: int) -> set[int]:
    """A commit and all that came before it."""
    found, waiting = set(), [number]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += history[each].parents
    return found


def parents_first(history: Sequence[Made], number: int) -> list[int]:
    """A commit and all that came before it, those of its first parent before those of others."""
    found: list[int] = []

    def visit(each: int) -> None:
        if each not in found:
            for parent in history[each].parents:
                visit(parent)
            found.append(each)

    visit(number)
    return found


def _kind(spot: Spot) -> tuple[Text, bool]:
    """What a text is known by: an entry is never mistaken for a note."""
    return spot[1], spot[0] in NOTES


def _says_the_same(one: Spot, other: Spot) -> bool:
    return _kind(one) == _kind(other)


def _alike(one: str, other: str) -> int:
    """How many parts the ends of two paths have in common."""
    pairs = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    count = 0
    for a, b in pairs:
        if a != b:
            break
        count += 1
    return count


def _lines(text: Text) -> set[str]:
    return {f"### {text[0]}", f"Status: {text[1]}"}


def block_of(text: Text) -> str:
    """A text as it stands in a file of entries."""
    day = f"- **Date:** {DAY}\n" if text[0] == DATED else ""
    return f"### {text[0]}\n{day}- **Status:** {text[1]}\n"


def random_entries(random: Random, commits: int) -> list[Made]:
    """Entries and notes that are written, copied, moved, deleted, brought back and merged."""
    first = {ENTRIES[0]: (("One", "active"), (DATED, "active")), NOTES[0]: (("One", "active"),)}
    source = random.choice(SOURCES)
    history = [Made((), first, "adopt" if source else "", source=source)]
    heads = [0]
    for number in range(1, commits):
        parents = _parents(random, heads)
        files = dict(history[parents[0]].files)
        for other in parents[1:]:
            for path, texts in history[other].files.items():
                files[path] = texts if random.random() < 0.5 else files.get(path, texts)
        for _ in range(random.choice((0, 1)) if len(parents) > 1 else random.choice((1, 1, 2, 3))):
            _change(random, files, history)
        op = random.choice(OPS) if len(parents) == 1 else ""
        run = random.choice(RUNS) if op == "capture" else ""
        source = random.choice(SOURCES) if op == "adopt" else ""
        kept = {path: each for path, each in files.items() if each}
        history.append(Made(parents, kept, op, run, source))
        heads = [each for each in heads if each not in parents] + [number]
        if random.random() < 0.25:
            heads.append(random.randrange(number))
    return history


def _parents(random: Random, heads: list[int]) -> tuple[int, ...]:
    first = random.choice(heads)
    others = [each for each in dict.fromkeys(heads) if each != first]
    return (first, random.choice(others)) if others and random.random() < 0.4 else (first,)


def _change(random: Random, files: dict[str, tuple[Text, ...]], history: list[Made]) -> None:
    path, other = random.sample(ENTRIES if random.random() < 0.6 else NOTES, 2)
    texts, kind = list(files.get(path, ())), random.random()
    if kind < 0.25:  # as it was once
        files[path] = random.choice(history).files.get(path, ())
    elif kind < 0.5 and texts:  # copied or moved elsewhere
        text = random.choice(texts)
        files[other] = (text,) if other in NOTES else (*files.get(other, ()), text)
        if random.random() < 0.6:
            texts.remove(text)
            files[path] = tuple(texts)
    elif kind < 0.6 and texts:
        texts.remove(random.choice(texts))
        files[path] = tuple(texts)
    elif path in NOTES:
        files[path] = ((random.choice(TITLES), random.choice(STATUSES)),)
    else:
        new = random.choice(TITLES), random.choice(STATUSES)
        at = random.randint(0, len(texts))
        texts[at : at + random.choice((0, 1))] = [new]
        files[path] = tuple(texts)


def drawn(random: Random, history: Sequence[Made]) -> Iterator[Drawn]:
    """HISTORY as Markdown, whose white space is anybody's guess."""
    for number, made in enumerate(history):
        files = {
            path: "".join(_written(random, path, each) for each in texts)
            for path, texts in made.files.items()
        }
        parents = tuple(each + 1 for each in made.parents)
        yield Drawn(START + MINUTE * number, parents, files, made.op, made.run, made.source)


def _written(random: Random, path: str, text: Text) -> str:
    plain = block_of(text) if path in ENTRIES else f"{text[0]}\nStatus: {text[1]}\n"
    kind = random.random()
    if kind < 0.1:
        return plain.replace("\n", "\r\n")
    return plain + "\n" if kind < 0.3 else plain
