"""A merge loses no added line, glues none together, and agrees with git where git is sure."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.model.text.merge import Merged, merge, split_lines
from gitmem.store.history.diff import hunks
from tests.support.git import git_bytes

CONTENTS = st.sampled_from(
    [b"", b"a", b"b", b"c", b"- x", b"  y", b"### A", b"### B", b"\x00", b"\r", "é".encode()]
)
LINES = st.tuples(CONTENTS, st.sampled_from([b"\n", b"\n", b"\n", b"\r\n"])).map(b"".join)
FINAL = st.sampled_from([b"", b"", b"", b"end", b"a", b"a\r"])
TEXTS = st.tuples(st.lists(LINES, max_size=12), FINAL).map(lambda t: b"".join(t[0]) + t[1])


def edited(base: bytes) -> st.SearchStrategy[bytes]:
    """Texts that share much with BASE."""
    lines = split_lines(base)
    kept = st.lists(st.booleans() | st.just(True), min_size=len(lines), max_size=len(lines))
    added = st.lists(
        st.tuples(st.integers(0, len(lines)), st.lists(LINES, min_size=1, max_size=3)), max_size=3
    )
    return st.builds(lambda k, a, f: rewritten(lines, k, a) + f, kept, added, FINAL)


def rewritten(lines: list[bytes], kept: list[bool], added: list[tuple[int, list[bytes]]]) -> bytes:
    made: list[bytes] = []
    for at in range(len(lines) + 1):
        made += [line for where, new in added if where == at for line in new]
        made += [lines[at]] if at < len(lines) and kept[at] else []
    return b"".join(made)


TRIPLES = TEXTS.flatmap(lambda base: st.tuples(st.just(base), edited(base), edited(base)))


def bare(data: bytes) -> Counter[bytes]:
    """How often each line stands in DATA, whatever ends it."""
    return Counter(line.rstrip(b"\r\n") for line in split_lines(data))


def merged(base: str | None, ours: str, theirs: str) -> tuple[str, int]:
    """Merge texts whose lines are written with blanks between them."""
    given = None if base is None else lines_of(base)
    data, conflicts = merge(given, lines_of(ours), lines_of(theirs), hunks)
    return " ".join(data.decode().split("\n")[:-1]), conflicts


def lines_of(text: str) -> bytes:
    return "".join(f"{line}\n" for line in text.split()).encode()


@given(TEXTS, TEXTS)
def test_a_side_that_changed_nothing_yields_to_the_other(base: bytes, changed: bytes) -> None:
    assert merge(base, base, changed, hunks) == Merged(changed, 0)
    assert merge(base, changed, base, hunks) == Merged(changed, 0)


@given(TEXTS, TEXTS)
def test_sides_that_agree_need_no_merge(base: bytes, changed: bytes) -> None:
    assert merge(base, changed, changed, hunks) == Merged(changed, 0)
    assert merge(None, changed, changed, hunks) == Merged(changed, 0)


@given(TRIPLES)
def test_a_merge_without_conflict_has_no_favourite(triple: tuple[bytes, bytes, bytes]) -> None:
    base, ours, theirs = triple
    one, other = merge(base, ours, theirs, hunks), merge(base, theirs, ours, hunks)

    assert (one.conflicts == 0) == (other.conflicts == 0)
    if not one.conflicts:
        assert one == other


@given(TRIPLES)
def test_every_line_that_a_side_added_is_there(triple: tuple[bytes, bytes, bytes]) -> None:
    base, ours, theirs = triple
    result = bare(merge(base, ours, theirs, hunks).data)

    for side in (ours, theirs):
        assert (bare(side) - bare(base)) - result == Counter()


@given(TRIPLES)
def test_no_line_comes_from_nowhere(triple: tuple[bytes, bytes, bytes]) -> None:
    base, ours, theirs = triple
    result = bare(merge(base, ours, theirs, hunks).data)

    assert result - bare(ours) - bare(theirs) == Counter()


CUTS = st.lists(st.booleans(), min_size=8, max_size=8)
GAPS = st.sets(st.integers(0, 8), max_size=3)


@given(CUTS, GAPS, CUTS, GAPS)
def test_a_line_stays_if_both_sides_kept_it_and_a_removed_one_only_returns_in_a_conflict(
    kept: list[bool], gaps: set[int], kept_there: list[bool], gaps_there: set[int]
) -> None:
    base = [b"%d\n" % number for number in range(8)]
    ours = rewritten(base, kept, [(gap, [b"ours %d\n" % gap]) for gap in gaps])
    theirs = rewritten(base, kept_there, [(gap, [b"theirs %d\n" % gap]) for gap in gaps_there])
    result, conflicts = merge(b"".join(base), ours, theirs, hunks)

    stays = [n for n in range(8) if kept[n] and kept_there[n]]
    expected = {b"%d" % n for n in stays}
    expected |= {b"ours %d" % gap for gap in gaps} | {b"theirs %d" % gap for gap in gaps_there}
    assert expected <= bare(result).keys() if conflicts else expected == bare(result).keys()
    assert max(bare(result).values(), default=1) == 1


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected", "conflicts"),
    [
        ("a b c d e", "A b c d e", "a b c d E", "A b c d E", 0),
        ("a b", "A b", "a B", "A B", 0),
        ("a", "A", "a b", "A b", 0),
        ("a b", "x a b", "A b", "x A b", 0),
        ("a b c", "a c", "a b x c", "a x c", 0),
        ("a b c", "a", "a b x c", "a b x c", 1),
        ("a b c", "a c", "a B c", "a B c", 1),
        ("a b c", "a B c", "a c", "a B c", 1),
        ("a b c", "a x c", "a y c", "a x y c", 1),
        ("a b c", "a x c", "a x c", "a x c", 0),
        ("a b c d", "a x y d", "a b z d", "a x y z d", 1),
        ("a b c d e", "a x y d e", "a b v w e", "a x y v w e", 1),
        ("a b c", "a c", "a b", "a", 0),
        ("a b c d", "a d", "a", "a", 0),
        ("a", "a x", "a y", "a x y", 1),
        ("a", "a x", "a x y", "a x y", 0),
        ("a", "a y", "a x y", "a x y", 0),
        ("a", "a x z", "a y z", "a x y z", 1),
        ("a", "A x", "a x", "A x", 0),
        ("a b", "x a b", "x A b", "x A b", 0),
        ("a b c", "a x c", "a x y c", "a x y c", 1),
        ("0 q", "0 x q x", "0 x", "0 x x", 0),
        # Both took away one of two equal lines, and the diffs name different ones.
        ("b a a", "c b b a", "b a", "c b b a", 0),
        ("", "x", "y", "x y", 1),
        (None, "x y", "x z", "x y z", 1),
        (None, "", "x", "x", 0),
    ],
)
def test_lines_are_merged(
    base: str | None, ours: str, theirs: str, expected: str, conflicts: int
) -> None:
    assert merged(base, ours, theirs) == (expected, conflicts)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        (b"a", b"a\nb", b"a\nb\n", b"a\nb\n"),
        (b"a", b"a\nb", b"x\na", b"x\na\nb"),
        (b"a", b"A", b"a\nb\n", b"A\nb\n"),
        (b"a", b"a\nb", b"a\nc", b"a\nb\nc"),
        (None, b"a", b"b\n", b"a\nb\n"),
        (None, b"b\n", b"a", b"b\na"),
        (b"a\nb\n", b"a\nb", b"A\nb\n", b"A\nb"),
        (b"a\nb\n", b"a\nb", b"a\nb\nc\n", b"a\nb\nc\n"),
        (b"a\r\nb", b"a\r\nb\r\nc", b"a\r\nb\r\nd", b"a\r\nb\r\nc\r\nd"),
        (b"a\r\nb\r\nc\r\n", b"A\r\nb\r\nc\r\n", b"a\r\nb\r\nC\n", b"A\r\nb\r\nC\n"),
        (b"a\nb\r", b"x\na\nb\r", b"a\nb\r\n", b"x\na\nb\r\n"),
        (b"a\nm\nb\r", b"A\nm\nb\r", b"a\nm\nx\nb\r", b"A\nm\nx\nb\r"),
        (b"a\rb\n", b"a\rb\nc\n", b"x\na\rb\n", b"x\na\rb\nc\n"),
    ],
)
def test_lines_keep_their_endings_and_are_never_glued(
    base: bytes | None, ours: bytes, theirs: bytes, expected: bytes
) -> None:
    assert merge(base, ours, theirs, hunks).data == expected


OLD = "# Decisions\n\n### Old\n- **Date:** 2026-02-01\n"


def test_two_new_entries_keep_their_own_fields_and_the_blank_line_between() -> None:
    first = "\n### First\n- **Why:** a\n- **Date:** 2026-02-08\n"
    second = "\n### Second\n- **Why:** b\n- **Date:** 2026-02-08\n"

    result = merge(OLD.encode(), (OLD + first).encode(), (OLD + second).encode(), hunks)

    assert result == Merged((OLD + first + second).encode(), 1)


def test_two_versions_of_one_new_entry_share_its_heading() -> None:
    ours = OLD + "\n### New\n- a\n\n### End\n"
    theirs = OLD + "\n### New\n- b\n\n### End\n"

    result = merge(OLD.encode(), ours.encode(), theirs.encode(), hunks)

    assert result == Merged((OLD + "\n### New\n- a\n\n- b\n\n### End\n").encode(), 1)


def test_an_entry_deleted_by_one_side_and_changed_by_the_other_stays_whole() -> None:
    entry = "\n### Gone\n- a\n- b\n- c\n"
    changed = entry.replace("- b", "- B")

    result = merge((OLD + entry).encode(), OLD.encode(), (OLD + changed).encode(), hunks)

    assert result == Merged((OLD + changed).encode(), 1)


def test_an_entry_deleted_by_one_side_and_continued_by_the_other_stays_whole() -> None:
    entry = "\n### Gone\n- a\n"
    longer = entry + "- b\n"

    result = merge((OLD + entry).encode(), (OLD + longer).encode(), OLD.encode(), hunks)

    assert result == Merged((OLD + longer).encode(), 1)


def test_an_entry_can_be_deleted_while_another_is_added_behind_it() -> None:
    entry, new = "\n### Gone\n- a\n", "\n### New\n- b\n"

    result = merge((OLD + entry).encode(), OLD.encode(), (OLD + entry + new).encode(), hunks)

    assert result == Merged((OLD + new).encode(), 0)


def test_a_log_line_can_be_taken_back_after_others_were_appended() -> None:
    assert merged("-1 -2", "-1 -2 -3 -4", "-1") == ("-1 -3 -4", 0)


def test_an_item_is_not_deleted_from_above_its_new_continuation() -> None:
    result = merge(b"- a\n- b\n", b"- a\n", b"- a\n- b\n  more\n", hunks)

    assert result == Merged(b"- a\n- b\n  more\n", 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("merge")


def merged_by_git(folder: Path, base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """What `git merge-file` makes of them; raises where it sees a conflict."""
    for name, data in (("base", base), ("ours", ours), ("theirs", theirs)):
        (folder / name).write_bytes(data)
    return git_bytes(folder, "merge-file", "-p", "ours", "base", "theirs")


CHANGES = st.lists(
    st.tuples(st.sampled_from([0, 1]), st.sampled_from(["replace", "insert", "delete"])),
    min_size=1,
    max_size=6,
)


@settings(max_examples=40)
@given(CHANGES, st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_edits_far_apart_merge_as_git_merges_them(
    folder: Path, changes: list[tuple[int, str]], ending: bytes, closed: bool
) -> None:
    base = [b"line %d" % number + ending for number in range(4 * len(changes) + 4)]
    base[-1] = base[-1] if closed else b"the end"
    sides = [list(base), list(base)]
    for number, (side, kind) in reversed(list(enumerate(changes))):
        at = 4 * number + 2
        new = [] if kind == "delete" else [b"changed %d" % number + ending]
        sides[side][at : at if kind == "insert" else at + 1] = new
    texts = b"".join(base), b"".join(sides[0]), b"".join(sides[1])

    assert merge(*texts, hunks) == Merged(merged_by_git(folder, *texts), 0)


def test_lines_are_cut_only_after_a_line_feed() -> None:
    assert split_lines(b"a\rb\x0bc\x0c\xc2\x85\r\n\nd") == [
        b"a\rb\x0bc\x0c\xc2\x85\r\n",
        b"\n",
        b"d",
    ]
    assert split_lines(b"") == []
