"""Dates of entries: each path has its own provenance, and only a move keeps a date."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.chronicle import Chronicle
from gitmem.core.freshness import key_of, key_of_file
from gitmem.core.layout_file import parse
from gitmem.git.dating import bring_up
from gitmem.git.regaining import Reading
from gitmem.operations.dating import reading_of
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
from tests.support.histories import import_history

ONE, TWO = ("One", "active"), ("Two", "active")
A, B, SHELF = ENTRIES
X, Y, ATTIC = NOTES
Found = dict[tuple[str, tuple[str, str]], list[int]]


@cache
def reading() -> Reading:
    return reading_of(parse(LAYOUT))


class History:
    """A history in a repository."""

    def __init__(self, folder: Path, history: list[Made], random: Random) -> None:
        self.repository = import_history(folder, list(entry_dates.drawn(random, history)))

    def known(self, commit: str = "", known: Chronicle | None = None) -> Chronicle:
        tip = commit or self.repository.tip().commit
        return bring_up(known, self.repository, tip, reading())[0]

    def dates(self, known: Chronicle) -> Found:
        found = {}
        for path in (*ENTRIES, *NOTES):
            for text in ((title, status) for title in TITLES for status in STATUSES):
                rows = known.touched(path, _key(path, text))
                if rows:
                    found[path, text] = [(row.seconds - START) // MINUTE for row, _ in rows]
        return found


def _key(path: str, text: tuple[str, str]) -> bytes:
    if path in NOTES:
        return key_of_file(f"{text[0]}\nStatus: {text[1]}\n".encode())
    return key_of(entry_dates.block_of(text).encode())


@given(st.integers(0, 2**32))
def test_a_plain_reading_of_the_rules_finds_the_same_dates(
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


@given(st.integers(0, 2**32))
def test_going_on_from_any_commit_gives_what_a_whole_walk_gives(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random = Random(seed)
    history = entry_dates.random_entries(random, 30)
    made = History(tmp_path_factory.mktemp("history") / "x.git", history, random)

    line = made.repository.history(made.repository.tip().commit)
    known = made.known(random.choice([each.oid for each in line]))

    assert made.dates(made.known(known=known)) == made.dates(made.known())
