"""Dates of lines: git is the judge."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.chronicle import Chronicle
from gitmem.git.dating import Reading, bring_up
from gitmem.git.repository import Repository
from tests.support.histories import import_history
from tests.support.lines import blamed, random_history

NOTHING = Reading(lambda data: [], lambda path, data: None, lambda p, d: {}, lambda p, d: {})


def lines_of(known: Chronicle, path: str) -> list[str]:
    return [row.oid for row in known.lines(path)]


def disagreements(repository: Repository, known: Chronicle) -> list[tuple[str, int, str, str]]:
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

    known = bring_up(None, repository, repository.tip().commit, NOTHING)

    assert disagreements(repository, known) == []
