"""Dates of entries: each path has its own provenance, and only a move keeps a date."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.memory.entries.dates import reading_of
from gitmem.model.entries.dates import DatedCommit, KnownDates
from gitmem.model.entries.freshness import key_of, key_of_file
from gitmem.model.layout.parse import parse
from gitmem.store.history.dating import bring_up
from gitmem.store.history.regained_dates import A_DAY, FIRST_DAY, EntryReading
from tests.support import entry_dates
from tests.support.entry_dates import (
    ENTRIES,
    LAYOUT,
    MINUTE,
    NOTES,
    START,
    STATUSES,
    TITLES,
    Made,
    SlowDates,
)
from tests.support.histories import Drawn, import_history
from tests.support.lines import blamed

ONE, TWO, THREE = ("One", "active"), ("Two", "active"), ("Three", "active")
A, B, SHELF = ENTRIES
X, Y, ATTIC = NOTES
Found = dict[tuple[str, tuple[str, str]], list[int]]


@cache
def reading() -> EntryReading:
    return reading_of(parse(LAYOUT))


class History:
    """A history in a repository."""

    def __init__(self, folder: Path, history: list[Made], random: Random) -> None:
        self.repository = import_history(folder, list(entry_dates.drawn(random, history)))

    def known(self, commit: str = "", known: KnownDates | None = None) -> KnownDates:
        tip = commit or self.repository.tip()
        return bring_up(known, self.repository, tip, reading())[0]

    def dates(self, known: KnownDates) -> Found:
        found = {}
        for path in (*ENTRIES, *NOTES):
            for text in ((title, status) for title in TITLES for status in STATUSES):
                rows = known.changes(path, _key(path, text))
                if rows:
                    found[path, text] = [_number(row, day) for row, day in rows]
        return found


def _number(row: DatedCommit, day: int) -> int:
    seconds = (day - FIRST_DAY) * A_DAY if day else row.seconds
    return (seconds - START) // MINUTE


def _key(path: str, text: tuple[str, str]) -> bytes:
    if path in NOTES:
        return key_of_file(f"{text[0]}\nStatus: {text[1]}\n".encode())
    return key_of(entry_dates.block_of(text).encode())


@given(st.integers(0, 2**32))
def test_a_plain_reading_of_the_rules_finds_the_same_dates_and_so_does_going_on(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random = Random(seed)
    history = entry_dates.random_entries(random, 30)
    made = History(tmp_path_factory.mktemp("history") / "x.git", history, random)

    found = made.dates(made.known())

    slow = SlowDates(history).at(len(history) - 1)
    assert {spot: sorted(each) for spot, each in found.items()} == {
        spot: sorted(each) for spot, each in slow.items()
    }
    line = made.repository.history(made.repository.tip())
    known = made.known(random.choice([each.oid for each in line]))
    assert made.dates(made.known(known=known)) == found


def dates(folder: Path, *history: Made) -> Found:
    made = History(folder / "x.git", list(history), Random(0))
    return made.dates(made.known())


@pytest.mark.parametrize("parents", [(1, 2), (2, 1)])
def test_what_one_side_adds_follows_the_move_of_the_other(
    tmp_path: Path, parents: tuple[int, int]
) -> None:
    found = dates(
        tmp_path,
        Made((), {A: (ONE,)}),
        Made((0,), {B: (ONE,)}),
        Made((0,), {A: (ONE, TWO)}),
        Made(parents, {B: (ONE, TWO)}),
    )

    assert found == {(B, ONE): [0], (B, TWO): [2]}


def test_a_side_does_not_know_the_dates_of_the_other(tmp_path: Path) -> None:
    """One says something again, later; the other brings back what it took out."""
    found = dates(
        tmp_path,
        Made((), {A: (ONE,), B: (TWO,)}),
        Made((0,), {B: (TWO,)}),
        Made((1,), {A: (ONE,), B: (TWO,)}, "write"),
        Made((2,), {B: (TWO,)}),
        Made((0,), {B: (TWO, THREE)}),
        Made((4,), {A: (ONE,), B: (TWO, THREE)}, "restore"),
        Made((3, 5), {A: (ONE,), B: (TWO, THREE)}),
    )

    assert found[A, ONE] == [0]


def test_two_that_leave_together_come_back_by_the_ends_of_their_paths(tmp_path: Path) -> None:
    found = dates(
        tmp_path,
        Made((), {X: (TWO,)}),
        Made((0,), {X: (ONE,), Y: (TWO,)}),
        Made((1,), {X: (ONE,), Y: (ONE,)}),
        Made((2,), {Y: (TWO,), ATTIC: (ONE,)}),
    )

    assert found == {(Y, TWO): [3], (ATTIC, ONE): [1]}


@given(st.integers(0, 2**32))
def test_where_nothing_moves_or_goes_an_entry_is_as_old_as_its_newest_line(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random = Random(seed)
    blocks = [["### Entry 0\n"]]
    drawn = []
    for number in range(12):
        block = random.choice(blocks)
        if random.random() < 0.3:
            blocks.append([f"### Entry {number + 1}\n"])
        elif random.random() < 0.5 and len(block) > 1:
            block[random.randrange(1, len(block))] = f"line {number}\n"
        else:
            block.insert(random.randint(1, len(block)), f"line {number}\n")
        text = "".join(line for each in blocks for line in each)
        drawn.append(Drawn(START + MINUTE * number, (number,) if number else (), {A: text}))
    repository = import_history(tmp_path_factory.mktemp("history") / "x.git", drawn)

    tip = repository.tip()
    known, _ = bring_up(None, repository, tip, reading())

    rows = {row.oid: row.seconds for row in known.rows}
    lines = [rows[oid] for oid in blamed(repository.gitdir, A)]
    for block in blocks:
        newest = max(lines[: len(block)])
        del lines[: len(block)]
        ((row, _),) = known.changes(A, key_of("".join(block).encode()))
        assert row.seconds == newest
