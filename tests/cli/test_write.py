"""`gitmem write`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Run
from tests.support.git import git
from tests.support.samples import narrow

KEY = narrow()["aws-key-id"][0]


def test_a_write_says_what_became_of_the_file(gitmem: Run) -> None:
    first = gitmem("write", "reference/decisions.md", "one\ntwo")
    second = gitmem("write", "reference/decisions.md", "one\nthree\nfour")

    commit = gitmem("log", "--json").document["entries"][0]["commit"]
    assert first.out.startswith("written reference/decisions.md (new, +2, 8 bytes) ")
    assert second.out == f"written reference/decisions.md (+2 -1, 15 bytes) {commit[:7]}\n"


def test_the_same_again_is_unchanged(gitmem: Run) -> None:
    gitmem("write", "a.md", "hello")

    said = gitmem("write", "a.md", "hello")

    assert (said.code, said.out) == (0, "unchanged a.md\n")
    assert gitmem("write", "a.md", "hello", "--json").document["changed"] is False


def test_the_document_has_commit_blob_bytes_and_change(gitmem: Run, home: Path) -> None:
    found = gitmem("write", "a.md", "hello", "--json").document

    (change,) = found["changes"]
    assert change["change"] == "created"
    assert change["bytes"] == 6
    assert git(home / "groups" / "main", "rev-parse", "HEAD:a.md") == f"{change['blob']}\n"
    assert git(home / "groups" / "main", "rev-parse", "HEAD") == f"{found['commit']}\n"
    assert found["changed"] is True


@pytest.mark.parametrize(
    ("text", "stored"), [("a", "a\n"), ("a\n", "a\n"), ("a\nb", "a\nb\n"), ("", "")]
)
def test_a_text_argument_ends_with_a_newline(text: str, stored: str, gitmem: Run) -> None:
    gitmem("write", "a.md", text)

    assert gitmem("read", "a.md").out == stored


@pytest.mark.parametrize("argument", [["-"], []])
def test_standard_input_is_taken_byte_for_byte(argument: list[str], gitmem: Run) -> None:
    data = b"no newline\r\nat the end \xe2\x9c\x93"

    assert gitmem("write", "a.md", *argument, input=data).code == 0

    assert gitmem("read", "a.md").raw == data


@pytest.mark.parametrize(
    "text", ["- a list item", "-- a dash", "---\ntitle: x\n---\nbody", "--reason is no option here"]
)
def test_a_text_may_begin_with_a_dash(text: str, gitmem: Run) -> None:
    said = gitmem("write", "a.md", text, "--reason", "- because")
    gitmem("write", "b.md", "--reason", "- because", "--append", text)

    assert said.code == 0, said.err
    assert gitmem("read", "a.md").out == f"{text}\n"
    assert gitmem("read", "b.md").out == f"{text}\n"
    assert gitmem("log", "a.md", "--json").document["entries"][0]["reason"] == "- because"


def test_after_two_dashes_everything_is_text(gitmem: Run) -> None:
    gitmem("write", "--reason=two words", "a.md", "--", "--append")

    assert gitmem("read", "a.md").out == "--append\n"


def test_append_adds_lines_and_create_wants_no_file(gitmem: Run) -> None:
    gitmem("write", "a.md", "--append", "one")
    gitmem("write", "a.md", "--append", "two")

    assert gitmem("read", "a.md").out == "one\ntwo\n"
    assert gitmem("write", "a.md", "--create", "three").code == 4
    assert gitmem("write", "a.md", "--create", "--append", "three").code == 2


def test_who_why_and_from_where_are_in_the_log(gitmem: Run) -> None:
    gitmem(
        "write", "a.md", "x", "--reason", "it was time", "--agent", "ada", "--session", "s1",
        "--source", "mail of Monday", "--turn", "t1", "--id", "op1",
    )  # fmt: skip

    entry = gitmem("log", "--json").document["entries"][0]
    assert [entry[name] for name in ("reason", "agent", "session", "source", "turn", "id")] == [
        "it was time", "ada", "s1", "mail of Monday", "t1", "op1",
    ]  # fmt: skip


def test_a_retry_is_recognised_by_its_id(gitmem: Run) -> None:
    gitmem("write", "a.md", "--append", "x", "--id", "op1")

    said = gitmem("write", "a.md", "--append", "x", "--id", "op1")

    assert said.out.startswith("unchanged a.md: written before under this id ")
    assert gitmem("read", "a.md").out == "x\n"


def test_a_version_that_is_no_longer_there_is_a_conflict_with_the_present_one(gitmem: Run) -> None:
    blob = gitmem("write", "a.md", "one", "--json").document["changes"][0]["blob"]
    gitmem("write", "a.md", "two")

    said = gitmem("write", "a.md", "three", "--if-match", blob, "--json")

    assert said.code == 4
    assert said.error["if_match"] == blob
    assert gitmem("write", "a.md", "three", "--if-match", said.error["blob"]).code == 0


def test_guards_refuse_with_the_rule_and_the_way_on(gitmem: Run) -> None:
    secret = gitmem("write", "a.md", f"key {KEY}", "--json")
    gitmem("write", "big.md", "x\n" * 400)
    shrink = gitmem("write", "big.md", "y")

    assert (secret.code, secret.error["rule"], secret.error["line"]) == (5, "aws-key-id", 1)
    assert KEY not in secret.out
    assert shrink.code == 5
    assert "--allow-shrink" in shrink.err
    assert gitmem("write", "../a.md", "x").code == 5
    assert gitmem("write", "a.md", f"key {KEY}", "--allow-secret", "aws-key-id").code == 0
    assert gitmem("write", "big.md", "y", "--allow-shrink").code == 0


def test_an_edit_found_on_the_way_is_mentioned_on_the_side(gitmem: Run, files: Path) -> None:
    gitmem("write", "a.md", "one")
    (files / "a.md").write_text("one\nedited\n")

    said = gitmem("write", "a.md", "--append", "two")

    assert said.out.startswith("written a.md")
    assert "an edit of a.md was found and committed first" in said.err
    assert gitmem("read", "a.md").out == "one\nedited\ntwo\n"


def test_a_held_version_that_was_set_aside_is_mentioned(gitmem: Run, files: Path) -> None:
    (files / "a.md").write_text(KEY)

    said = gitmem("write", "a.md", "safe")

    assert said.code == 0
    assert "gitmem held show" in said.err
    assert KEY not in said.err


def test_quiet_means_quiet(gitmem: Run, files: Path) -> None:
    gitmem("write", "a.md", "one", "-q")
    (files / "a.md").write_text("edited\n")

    said = gitmem("-q", "write", "a.md", "two")

    assert (said.code, said.out, said.err) == (0, "", "")


def test_a_path_is_needed(gitmem: Run) -> None:
    said = gitmem("write")

    assert said.code == 2
    assert "gitmem write notes.md" in said.err
