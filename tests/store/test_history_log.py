"""Walking history, with the real git as the judge."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.store.history.log import SLOP, Visit, follow, walk
from gitmem.store.repository import Repository
from tests.support.git import git
from tests.support.histories import Drawn, import_history, lose

NUMBERS = count()
PATHS = ("a.md", "b.md", "x/a.md", "x/y/c.md")


@st.composite
def graphs(draw: st.DrawFn) -> list[Drawn]:
    """Commits on one or two earlier ones each, at times that may lie, with a few files."""
    made: list[Drawn] = []
    for number in range(draw(st.integers(1, 9))):
        known = st.integers(max(1, number - 3), number)
        parents = draw(st.lists(known, min_size=1, max_size=2, unique=True)) if number else []
        files: dict[str, str] = {}
        for path in PATHS:
            sides = [made[parent - 1].files.get(path) for parent in parents]
            text = draw(st.sampled_from([*sides, *sides, None, f"{path} {number}\n"]))
            files.update({path: text} if text else {})
        time = 1_000_000 + 100 * number + draw(st.sampled_from((0, 0, 0, -250)))
        made.append(Drawn(time, tuple(parents), files))
    return made


def shas(repository: Repository, *args: str) -> list[str]:
    return git(repository.gitdir, "log", "--format=%H", *args).split()


def visited(repository: Repository, path: str) -> list[Visit]:
    return list(follow(repository, repository.tip(), path))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("histories")


def made_in(folder: Path, commits: list[Drawn]) -> Repository:
    return import_history(folder / f"{next(NUMBERS)}.git", commits)


@given(commits=graphs())
def test_a_walk_meets_the_commits_that_git_log_lists_in_its_order(
    folder: Path, commits: list[Drawn]
) -> None:
    repository = made_in(folder, commits)

    assert [each.oid for each in walk(repository, repository.tip())] == shas(repository)


@given(commits=graphs(), path=st.sampled_from((*PATHS, "x", "x/y")))
def test_what_touched_a_path_is_what_git_finds_in_its_full_history(
    folder: Path, commits: list[Drawn], path: str
) -> None:
    repository = made_in(folder, commits)

    found = visited(repository, path)

    plain = [each.commit.oid for each in found if len(each.commit.parents) < 2]
    merges = {each.commit.oid for each in found} - set(plain)
    assert plain == shas(repository, "--full-history", "--no-merges", "--", path)
    assert merges <= set(shas(repository, "--full-history", "--merges", "--", path))


@st.composite
def wanderings(draw: st.DrawFn) -> tuple[list[Drawn], str]:
    """A line of commits that edit and rename files; and the name one of them has at the end."""
    names = [f"{letter}.md" for letter in "abcdef"] + ["in/a.md", "in/b.md"]
    files: dict[str, str] = {"a.md": "first a\n", "b.md": "first b\n"}
    commits = [Drawn(1_000_000, (), dict(files))]
    for number in range(1, draw(st.integers(2, 8))):
        path = draw(st.sampled_from(sorted(files)))
        free = sorted(set(names) - set(files))
        if draw(st.booleans()):
            files[draw(st.sampled_from(free))] = files.pop(path)
        else:
            files[path] = f"edit {number} of {path}\n"
        commits.append(Drawn(1_000_000 + number, (number,), dict(files)))
    return commits, draw(st.sampled_from(sorted(files)))


@given(wandering=wanderings())
def test_a_file_is_followed_through_renames_as_git_log_follow_does(
    folder: Path, wandering: tuple[list[Drawn], str]
) -> None:
    commits, path = wandering
    repository = made_in(folder, commits)

    found = [each.commit.oid for each in visited(repository, path)]

    assert found == shas(repository, "--follow", "-M100%", "--", path)


LONG = "".join(f"line {number} says something\n" for number in range(10))


def test_a_rename_by_a_person_that_also_edits_is_followed(folder: Path) -> None:
    line = [
        Drawn(1_000, (), {"old.md": LONG}),
        Drawn(2_000, (1,), {"new.md": LONG.replace("line 3", "line three")}),
    ]

    found = visited(made_in(folder, line), "new.md")

    assert [(each.path, each.moved_from) for each in found] == [
        ("new.md", "old.md"),
        ("old.md", ""),
    ]


def test_an_unlike_file_that_takes_the_place_is_not_followed(folder: Path) -> None:
    line = [Drawn(1_000, (), {"old.md": LONG}), Drawn(2_000, (1,), {"new.md": "else\n"})]

    found = visited(made_in(folder, line), "new.md")

    assert [(each.path, each.moved_from) for each in found] == [("new.md", "")]


def test_empty_files_are_not_each_other(folder: Path) -> None:
    line = [Drawn(1_000, (), {"old.md": ""}), Drawn(2_000, (1,), {"new.md": ""})]

    assert [each.moved_from for each in visited(made_in(folder, line), "new.md")] == [""]


def test_a_folder_that_was_renamed_is_followed(folder: Path) -> None:
    line = [
        Drawn(1_000, (), {"old/a.md": "a\n", "old/deep/b.md": "b\n", "c.md": "c\n"}),
        Drawn(2_000, (1,), {"new/a.md": "a\n", "new/deep/b.md": "b\n", "c.md": "c\n"}),
        Drawn(3_000, (2,), {"new/a.md": "A\n", "new/deep/b.md": "b\n", "c.md": "c\n"}),
    ]

    found = visited(made_in(folder, line), "new")

    assert [(each.commit.message, each.path, each.moved_from) for each in found] == [
        ("3", "new", ""),
        ("2", "new", "old"),
        ("1", "old", ""),
    ]


def test_a_folder_that_only_received_a_file_has_no_other_past(folder: Path) -> None:
    line = [
        Drawn(1_000, (), {"old/a.md": "a\n", "old/b.md": "b\n"}),
        Drawn(2_000, (1,), {"old/a.md": "a\n", "new/b.md": "b\n"}),
    ]

    assert [each.moved_from for each in visited(made_in(folder, line), "new")] == [""]


def test_a_file_that_one_side_moved_is_found_on_the_other_side_too(folder: Path) -> None:
    edited = LONG + "one more\n"
    graph = [
        Drawn(1_000, (), {"old.md": LONG}),
        Drawn(2_000, (1,), {"new.md": LONG}),
        Drawn(3_000, (1,), {"old.md": edited}),
        Drawn(4_000, (2, 3), {"new.md": edited}),
    ]

    found = visited(made_in(folder, graph), "new.md")

    assert [(each.commit.message, each.path) for each in found] == [
        ("4", "new.md"),
        ("3", "old.md"),
        ("2", "new.md"),
        ("1", "old.md"),
    ]


def test_a_clock_that_was_wrong_once_hides_nothing_since(folder: Path) -> None:
    line = [
        Drawn(time, (number,) if number else (), {"a.md": f"{time}\n"})
        for number, time in enumerate((5_000, 6_000, 1_000, 7_000))
    ]
    repository = made_in(folder, line)

    found = [each.message for each in walk(repository, repository.tip(), since=5_500)]

    assert found == ["4", "2"]


def test_a_walk_back_to_a_time_does_not_read_all_that_was_before(folder: Path) -> None:
    line = [
        Drawn(number, (number - 1,) if number > 1 else (), {"a.md": f"{number}\n"})
        for number in range(1, SLOP + 10)
    ]
    repository = made_in(folder, line)
    lose(repository, shas(repository)[-1])

    found = follow(repository, repository.tip(), "a.md", since=SLOP + 7)

    assert [each.commit.committed for each in found] == [SLOP + 9, SLOP + 8, SLOP + 7]


def test_a_search_can_be_bounded(folder: Path) -> None:
    line = [
        Drawn(number, (number - 1,) if number > 1 else (), {f"{number}.md": f"{number}\n"})
        for number in range(1, 10)
    ]
    repository = made_in(folder, line)
    tip = repository.tip()

    assert list(follow(repository, tip, "1.md", within=7)) == []
    assert [each.commit.message for each in follow(repository, tip, "1.md", within=8)] == ["2"]
