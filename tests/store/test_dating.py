"""Dates of lines: git is the judge."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.entries.dates import KnownDates
from gitmem.store.history.dating import bring_up
from gitmem.store.history.regained_dates import EntryReading
from gitmem.store.repository import Repository
from tests.support.histories import Drawn, import_history
from tests.support.lines import blamed, random_history

NOTHING = EntryReading(lambda data: [], lambda path, data: None, lambda data: {}, lambda data: {})


def lines_of(known: KnownDates, path: str) -> list[str]:
    return [row.oid for row in known.lines(path)]


def disagreements(repository: Repository, known: KnownDates) -> list[tuple[str, int, str, str]]:
    found = []
    for path, _ in repository.snapshot(known.commit).files():
        ours, theirs = lines_of(known, path), blamed(repository.gitdir, path, known.commit)
        assert len(ours) == len(theirs), path
        rows = enumerate(zip(ours, theirs, strict=True), 1)
        found += [(path, number, a, b) for number, (a, b) in rows if a != b]
    return found


@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_every_line_has_the_commit_that_git_blames(
    tmp_path_factory: pytest.TempPathFactory, seed: int, long_lines: bool, moves: bool
) -> None:
    folder = tmp_path_factory.mktemp("history") / "x.git"
    history = random_history(Random(seed), 25, long_lines=long_lines, moves=moves)
    repository = import_history(folder, history)

    known, _ = bring_up(None, repository, repository.tip(), NOTHING)

    assert disagreements(repository, known) == []


@given(st.integers(0, 2**32))
def test_going_on_from_any_commit_gives_what_a_whole_walk_gives(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random = Random(seed)
    folder = tmp_path_factory.mktemp("history") / "x.git"
    repository = import_history(folder, random_history(random, 25))
    line = [each.oid for each in repository.history(repository.tip())]
    known, _ = bring_up(None, repository, random.choice(line), NOTHING)

    known, _ = bring_up(known, repository, line[0], NOTHING)

    whole, _ = bring_up(None, repository, line[0], NOTHING)
    assert known.commit == whole.commit == line[0]
    for path, _ in repository.snapshot().files():
        assert lines_of(known, path) == lines_of(whole, path)


@pytest.mark.slow
def test_git_agrees_on_every_line_of_three_thousand_commits(tmp_path: Path) -> None:
    repository = import_history(tmp_path / "x.git", random_history(Random(3), 3_000))

    known, _ = bring_up(None, repository, repository.tip(), NOTHING)

    assert disagreements(repository, known) == []


def test_commits_that_nothing_refers_to_any_more_are_let_go(tmp_path: Path) -> None:
    drawn = [
        Drawn(1_600_000_000 + at, (at,) if at else (), {"a.md": f"{at}\nlast\n"})
        for at in range(1100)
    ]
    repository = import_history(tmp_path / "x.git", drawn)
    known, _ = bring_up(None, repository, repository.tip(), NOTHING)

    known.tidy()

    assert lines_of(known, "a.md") == blamed(repository.gitdir, "a.md")
    assert len(known.rows) == 2
