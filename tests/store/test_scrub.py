"""Reading what is new, with the real git as the judge."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.store.fsck.reachable import scrub
from gitmem.store.repository import Repository
from tests.store.test_history_log import graphs, made_in
from tests.support.git import git
from tests.support.histories import Drawn, lose


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scrubs")


def listed(repository: Repository, *args: str) -> list[str]:
    return git(repository.gitdir, "rev-list", *args).split()


def is_ancestor(repository: Repository, one: str, other: str) -> bool:
    return one in listed(repository, other)


@given(commits=graphs(), one=st.integers(0, 100), other=st.integers(0, 100))
def test_new_is_what_git_finds_between_two_commits(
    folder: Path, commits: list[Drawn], one: int, other: int
) -> None:
    repository = made_in(folder, commits)
    known = listed(repository, "main")
    verified, tip = known[one % len(known)], known[other % len(known)]

    found = scrub(repository, tip, verified)

    new = len(listed(repository, tip, f"^{verified}"))
    assert found.lacks == ()
    assert found.rewound is not is_ancestor(repository, verified, tip)
    honest = all(
        commits[parent - 1].time <= each.time for each in commits for parent in each.parents
    )
    assert found.commits == new if honest else found.commits >= new


@given(commits=graphs(), choice=st.integers(0, 100), victim=st.integers(0, 100))
def test_whatever_new_object_is_lost_is_missed(
    folder: Path, commits: list[Drawn], choice: int, victim: int
) -> None:
    repository = made_in(folder, commits)
    known = listed(repository, "main")
    verified, tip = known[choice % len(known)], repository.tip()
    between = listed(repository, "--objects", "--no-object-names", tip, f"^{verified}")
    if not between:
        return
    lost = between[victim % len(between)]
    lose(repository, lost)

    found = scrub(Repository(repository.gitdir), tip, verified)

    assert any(lost[:10] in each for each in found.lacks)


@given(commits=graphs())
def test_where_nothing_was_verified_everything_is_new(folder: Path, commits: list[Drawn]) -> None:
    repository = made_in(folder, commits)

    found = scrub(repository, repository.tip(), None)

    blobs = git(
        repository.gitdir,
        "rev-list",
        "--objects",
        "--filter=object:type=blob",
        "--filter-provided-objects",
        "main",
    ).splitlines()
    assert (found.commits, found.files) == (len(listed(repository, "main")), len(blobs))
    assert not found.rewound
