"""The hunks of a diff turn the old text into the new one, whatever bytes it holds."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitmem.model.text.hunks import Hunk
from gitmem.model.text.merge import split_lines
from gitmem.store.history.diff import hunks, unified
from tests.support.git import git

CONTENTS = st.sampled_from([b"", b"a", b"b", b"c", b"\x00", b"a\x00b", b"\r", b"  x", b"\xff\xfe"])
LINES = st.tuples(CONTENTS, st.sampled_from([b"\n", b"\n", b"\r\n"])).map(b"".join)
TEXTS = st.tuples(st.lists(LINES, max_size=15), st.sampled_from([b"", b"", b"a", b"\x00"])).map(
    lambda parts: b"".join(parts[0]) + parts[1]
)


def applied(old: bytes, new: bytes, found: list[Hunk]) -> bytes:
    before, after = split_lines(old), split_lines(new)
    made, at = [], 0
    for hunk in found:
        made += before[at : hunk.a0] + after[hunk.b0 : hunk.b1]
        at = hunk.a1
    return b"".join(made + before[at:])


@given(TEXTS, TEXTS)
@example(b"", b"a\n")
@example(b"a\n", b"")
@example(b"a", b"a\n")
@example(b"a\r\n", b"a\n")
def test_the_hunks_turn_the_old_text_into_the_new(old: bytes, new: bytes) -> None:
    assert applied(old, new, hunks(old, new)) == new


@given(TEXTS, TEXTS)
def test_hunks_are_in_order_and_apart(old: bytes, new: bytes) -> None:
    found = hunks(old, new)

    assert all(h.a1 > h.a0 or h.b1 > h.b0 for h in found)
    assert all(h.a1 < k.a0 and h.b1 < k.b0 for h, k in pairwise(found))
    # What stands between two hunks is the same on both sides.
    assert all(k.a0 - h.a1 == k.b0 - h.b1 for h, k in pairwise(found))


@given(TEXTS)
def test_a_text_does_not_differ_from_itself(text: bytes) -> None:
    assert hunks(text, text) == []
    assert unified(text, text, "a", "b") == ""


def test_an_inserted_entry_is_one_hunk_that_starts_at_its_first_line() -> None:
    old = b"- same\n  b\n"
    new = b"- same\n  a\n- same\n  b\n"

    assert hunks(old, new) == [Hunk(0, 0, 0, 2)]


def test_changes_with_one_line_between_them_are_two_hunks() -> None:
    assert hunks(b"a\nb\nc\n", b"A\nb\n") == [Hunk(0, 1, 0, 1), Hunk(2, 3, 2, 2)]


def test_a_patch_names_the_files_as_they_are_called() -> None:
    assert unified(b"a\nb\n", b"a\nc\n", "a/ü x.md", "b/ü x.md") == (
        "--- a/ü x.md\n+++ b/ü x.md\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    )


def test_a_patch_shows_a_missing_final_newline_and_bytes_that_are_no_text() -> None:
    shown = unified(b"a", b"\xff\x00\n", "old", "new")

    assert shown == (
        "--- old\n+++ new\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+\ufffd\x00\n"
    )


def test_a_file_that_begins_with_what_looks_like_a_hunk_is_shown_whole() -> None:
    shown = unified(b"", b"x\n@@ -1 +1 @@\n", "old", "new")

    assert shown == "--- old\n+++ new\n@@ -0,0 +1,2 @@\n+x\n+@@ -1 +1 @@\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("diff")


@settings(max_examples=25)
@given(TEXTS, TEXTS.filter(bool))
def test_git_can_apply_the_patch(folder: Path, old: bytes, new: bytes) -> None:
    (folder / "note.md").write_bytes(old)
    patch = unified(old, new, "a/note.md", "b/note.md")
    if b"\xff" in old + new or not patch:
        return  # shown for people, with a stand-in for bytes that are no text

    git(folder, "apply", "--unidiff-zero", "-", input=patch)

    assert (folder / "note.md").read_bytes() == new
