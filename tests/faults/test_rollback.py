"""A writer turns out to be poisoned. What it wrote goes, what the others wrote stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.api.memory import Memory as Group
from gitmem.api.memory import open_group
from gitmem.errors import NotFound
from tests.support.git import git


@pytest.fixture
def store(tmp_path: Path) -> Path:
    open_group(store=tmp_path / "store", create=True, layout="none").close()
    return tmp_path / "store"


@pytest.fixture
def good(store: Path) -> Iterator[Group]:
    with open_group(store=store, agent="good", session="s-good") as group:
        yield group


@pytest.fixture
def bad(store: Path) -> Iterator[Group]:
    with open_group(store=store, agent="bad", session="s-bad") as group:
        yield group


def lines(group: Group, path: str) -> list[str]:
    return group.read(path).text.splitlines()


def commits(group: Group) -> int:
    return int(git(group.worktree, "rev-list", "--count", "main"))


@pytest.mark.parametrize("whom", [{"agent": "bad"}, {"session": "s-bad"}])
def test_one_command_and_one_commit_remove_one_writers_facts(
    good: Group, bad: Group, whom: dict[str, str]
) -> None:
    good.write("facts.md", "# Facts\n")
    for number in range(4):
        bad.write("facts.md", f"- bad fact {number}", append=True)
        good.write("facts.md", f"- good fact {number}", append=True)
    bad.write("bad only.md", "all of it\n")
    good.write("good only.md", "all of it\n")
    bad.write("good only.md", "- and a lie", append=True)
    before = commits(good)

    done = good.undo(**whom, reason="it was poisoned")

    assert done.left == ()
    assert len(done.undone) == 6
    assert commits(good) == before + 1
    assert lines(good, "facts.md") == ["# Facts", *(f"- good fact {n}" for n in range(4))]
    assert lines(good, "good only.md") == ["all of it"]
    assert [each.path for each in good.list().files] == ["facts.md", "good only.md"]
    assert good.history.log(limit=1)[0].undoes == done.undone
    assert git(good.worktree, "status", "--porcelain", "-uall") == ""
    assert git(good.worktree, "fsck", "--strict") == ""


def test_it_can_be_brought_back_if_it_was_not_poisoned_after_all(good: Group, bad: Group) -> None:
    bad.write("facts.md", "- bad fact\n")
    good.write("facts.md", "- good fact", append=True)
    before = good.read("facts.md").data

    good.undo(agent="bad")
    good.undo()

    assert good.read("facts.md").data == before


def test_what_cannot_be_removed_cleanly_is_named_and_the_rest_goes(good: Group, bad: Group) -> None:
    good.write("facts.md", "1\n2\n3\n")
    bad.write("facts.md", "1\ntwo\n3\n")
    good.write("facts.md", "1\ntwo, as I see it\n3\n")
    bad.write("lies.md", "lies\n")
    bad.write("facts.md", "- more lies", append=True)

    done = good.undo(agent="bad")

    assert [(each.path, each.why) for each in done.left] == [
        ("facts.md", "the same lines were changed since")
    ]
    assert len(done.undone) == 2
    assert lines(good, "facts.md") == ["1", "two, as I see it", "3"]
    assert [each.path for each in good.list().files] == ["facts.md"]


def test_files_it_deleted_moved_and_edited_by_hand_are_as_before(good: Group, bad: Group) -> None:
    good.write("a.md", "a\n")
    good.write("b.md", "b\n")
    good.write("c.md", "c\n")
    bad.rm("a.md")
    bad.mv("b.md", "hidden/b.md")
    (bad.worktree / "c.md").write_text("c\nby hand\n")
    bad.capture()
    good.write("hidden/b.md", "and a true line", append=True)

    done = good.undo(agent="bad")

    assert done.left == ()
    assert [each.path for each in good.list().files] == ["a.md", "b.md", "c.md"]
    assert lines(good, "b.md") == ["b", "and a true line"]
    assert lines(good, "c.md") == ["c"]


def test_a_second_time_there_is_nothing_left_to_remove(good: Group, bad: Group) -> None:
    good.write("facts.md", "# Facts\n")
    bad.write("facts.md", "- bad", append=True)
    good.undo(agent="bad")
    good.write("facts.md", "- good", append=True)
    before = commits(good)

    again = good.undo(agent="bad")

    assert (again.changed, again.left, again.undone) == (False, (), ())
    assert commits(good) == before
    assert lines(good, "facts.md") == ["# Facts", "- good"]


def test_a_poisoned_writer_cannot_undo_its_own_removal_for_good(good: Group, bad: Group) -> None:
    good.write("facts.md", "# Facts\n")
    bad.write("facts.md", "- bad", append=True)
    good.undo(agent="bad")
    bad.undo()  # brings its lie back
    assert lines(good, "facts.md") == ["# Facts", "- bad"]

    good.undo(agent="bad")

    assert lines(good, "facts.md") == ["# Facts"]


def test_its_own_undo_of_its_own_work_brings_nothing_back(good: Group, bad: Group) -> None:
    good.write("facts.md", "# Facts\n")
    bad.write("facts.md", "- bad", append=True)
    bad.undo()
    bad.write("facts.md", "- worse", append=True)

    good.undo(agent="bad")

    assert lines(good, "facts.md") == ["# Facts"]


def test_its_undo_of_others_work_is_taken_back(good: Group, bad: Group) -> None:
    good.write("facts.md", "# Facts\n")
    good.write("facts.md", "- true", append=True)
    bad.undo(agent="good")
    assert good.list().files == ()

    good.undo(agent="bad")

    assert lines(good, "facts.md") == ["# Facts", "- true"]


def test_a_name_that_never_wrote_is_not_found(good: Group) -> None:
    good.write("facts.md", "# Facts\n")

    for whom in ({"agent": "nobody"}, {"session": "none"}, {"agent": "good", "session": "none"}):
        with pytest.raises(NotFound):
            good.undo(**whom)


def test_agent_and_session_together_name_what_both_are_true_of(good: Group, store: Path) -> None:
    with open_group(store=store, agent="good", session="s-2") as later:
        good.write("a.md", "one\n")
        later.write("a.md", "two", append=True)

        later.undo(agent="good", session="s-2")

        assert lines(good, "a.md") == ["one"]


@settings(max_examples=15)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from("ab")), min_size=1, max_size=8))
def test_any_order_of_additions_can_be_taken_apart(
    tmp_path_factory: pytest.TempPathFactory, turns: list[tuple[bool, str]]
) -> None:
    store = tmp_path_factory.mktemp("law") / "store"
    names = {True: "bad", False: "good"}
    expected: dict[str, list[str]] = {"a": ["# a"], "b": ["# b"]}
    with open_group(store=store, agent="init", create=True, layout="none") as group:
        group.write("a.md", "# a\n")
        group.write("b.md", "# b\n")
    for number, (is_bad, file) in enumerate(turns):
        with open_group(store=store, agent=names[is_bad]) as group:
            group.write(f"{file}.md", f"- {names[is_bad]} {number}", append=True)
        expected[file] += [] if is_bad else [f"- good {number}"]

    with open_group(store=store, agent="judge") as group:
        if any(is_bad for is_bad, _ in turns):
            assert group.undo(agent="bad").left == ()
        found = {file: lines(group, f"{file}.md") for file in "ab"}

    assert found == expected
