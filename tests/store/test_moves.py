"""Which files are the same under another name."""

from __future__ import annotations

import pytest

from gitmem.store.history.moves import MANY, likeness_of, pair_moves

ONE, TWO, THREE, FOUR = ("1" * 40, "2" * 40, "3" * 40, "4" * 40)


def unlike(source: str, target: str) -> float:
    del source, target
    return 0.0


def test_equal_content_is_the_same_file() -> None:
    assert pair_moves({"a": ONE, "b": TWO}, {"c": TWO, "d": THREE}, unlike) == {"c": "b"}


def test_among_equals_the_name_decides() -> None:
    gone = {"old/a.md": ONE, "old/b.md": ONE, "b.md": ONE}
    born = {"new/b.md": ONE, "new/old/b.md": ONE}

    assert pair_moves(gone, born, unlike) == {"new/old/b.md": "old/b.md", "new/b.md": "b.md"}


def test_among_equals_what_was_named_comes_first() -> None:
    gone, born = {"a/x.md": ONE, "b/y.md": ONE}, {"c/x.md": ONE}

    assert pair_moves(gone, born, unlike) == {"c/x.md": "a/x.md"}
    assert pair_moves(gone, born, unlike, named=["b/y.md"]) == {"c/x.md": "b/y.md"}


def test_what_was_named_and_has_no_rival_needs_no_likeness() -> None:
    assert pair_moves({"a": ONE}, {"b": TWO}, unlike, named=["a"]) == {"b": "a"}
    assert pair_moves({"a": ONE}, {"b": TWO, "c": THREE}, unlike, named=["a"]) == {}
    assert pair_moves({"a": ONE}, {"b": TWO}, unlike) == {}


def test_the_most_alike_are_paired_first() -> None:
    scores = {("a", "c"): 0.9, ("a", "d"): 1.0, ("b", "c"): 0.7, ("b", "d"): 0.9}
    gone, born = {"a": ONE, "b": TWO}, {"c": THREE, "d": FOUR}

    pairs = pair_moves(gone, born, lambda source, target: scores[source, target])

    assert pairs == {"d": "a", "c": "b"}


@pytest.mark.parametrize(("count", "paired"), [(MANY, MANY), (MANY + 1, 0)])
@pytest.mark.parametrize("few", ["gone", "born", "neither"])
def test_in_a_crowd_nothing_is_guessed(few: str, count: int, paired: int) -> None:
    gone = {f"{number}.old": f"{number:040}" for number in range(2 if few == "gone" else count)}
    born = {f"{number}.new": f"{number:039}f" for number in range(2 if few == "born" else count)}

    pairs = pair_moves(gone, born, lambda *_: 1.0)

    assert len(pairs) == min(paired, len(gone), len(born))


def test_a_file_does_not_move_into_itself() -> None:
    assert pair_moves({"a": ONE}, {"a/b": ONE}, unlike) == {}
    assert pair_moves({"a/b": ONE}, {"a": ONE}, unlike, named=["a/b"]) == {}


@pytest.mark.parametrize(
    ("old", "new", "share"),
    [
        (b"a\nb\n", b"b\r\n\r\na", 1.0),
        (b"a\nb\nc\nd\n", b"a\nb\n", 0.5),
        (b"a\na\na\na\n", b"a\n", 0.25),
        (b"a\n", b"b\n", 0.0),
        (b"", b"", 0.0),
        (b"\n\n", b"\n \n", 0.0),
        (None, b"a\n", 0.0),
    ],
)
def test_likeness_is_the_share_of_common_lines(
    old: bytes | None, new: bytes | None, share: float
) -> None:
    assert likeness_of(lambda _: old, lambda _: new)("x", "y") == share
    assert likeness_of(lambda _: new, lambda _: old)("x", "y") == share
