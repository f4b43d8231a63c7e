"""`gitmem held`: what is asked, what is needed instead, and what is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Run
from tests.support.samples import body
from tests.support.terminals import on_terminal

KEY = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)
ROW = "moved key.md to the trash"


@pytest.fixture
def held(gitmem: Run, files: Path) -> Run:
    """A group with one held file."""
    (files / "key.md").write_text(f"one\nthe key: {KEY}\n")
    return gitmem


def test_a_drop_needs_yes_where_nobody_can_be_asked(held: Run, files: Path) -> None:
    said = held("held", "drop", "key.md")

    assert (said.code, said.out) == (2, "")
    assert said.err == (
        "error: dropping 'key.md' needs --yes\n"
        "hint: repeat with --yes: `gitmem held drop key.md --yes`\n"
    )
    assert held("held", "drop", "key.md", "--json").error["code"] == "bad-input"
    assert held("held", "drop", "none.md").code == 3
    assert (files / "key.md").exists()


@pytest.mark.parametrize(("typed", "stays"), [("n\n", True), ("\n", True), ("y\n", False)])
def test_a_drop_asks_on_a_terminal(
    held: Run, home: Path, files: Path, typed: str, stays: bool
) -> None:
    code, seen = on_terminal("held", "drop", "key.md", typed=typed, GITMEM_HOME=str(home))

    assert "Move key.md (secret: aws-key-id, line 2) to the trash? [y/N]" in seen
    assert (files / "key.md").exists() == stays
    assert (code == 0, ROW in seen) == (not stays, not stays)


def test_what_was_dropped_is_listed_shown_and_comes_back(held: Run, files: Path) -> None:
    dropped = held("held", "drop", "key.md", "-y", "--reason", "by mistake")
    name = dropped.out.split()[-1]

    assert dropped.out == f"{ROW}\n  bring it back: gitmem held restore {name}\n"
    assert "1 dropped version in the trash, 34 bytes" in held("status").out
    listed = held("held", "list", "--trash")
    assert listed.out.startswith(f"{name}  key.md  secret: aws-key-id, line 2  34 bytes  dropped")
    assert listed.out.endswith("by mistake\n")
    shown = held("held", "show", name)
    assert KEY not in shown.out
    assert f"gitmem held restore {name}" in shown.err
    assert "held accept" not in shown.err
    assert held("held", "restore", name).out == f"restored key.md to {files / 'key.md'}\n"
    assert KEY in (files / "key.md").read_text()
    assert held("held", "list", "--trash").err == "note: the trash is empty\n"


def test_the_way_back_does_not_overwrite(held: Run, files: Path) -> None:
    name = held("held", "drop", "key.md", "-y").out.split()[-1]
    (files / "key.md").write_text("mine\n")

    said = held("held", "restore", name)

    assert said.out.startswith(f"key.md is held again, set aside as {name}; nothing was overwr")
    assert (files / "key.md").read_text() == "mine\n"


def test_emptying_the_trash_needs_yes(held: Run) -> None:
    name = held("held", "drop", "key.md", "-y").out.split()[-1]

    assert held("held", "empty").err.startswith("error: deleting for good needs --yes\n")
    assert held("held", "empty", "--before", "yesterday", "--yes").out == "nothing was deleted\n"
    assert held("held", "empty", name, "--yes").out == f"deleted key.md ({name})\n"


def test_accepting_a_secret_needs_yes_where_nobody_can_be_asked(held: Run, files: Path) -> None:
    said = held("held", "accept", "key.md")

    assert (said.code, said.out) == (2, "")
    assert said.err == (
        "error: committing 'key.md' with what looks like a secret needs --yes\n"
        "hint: repeat with --yes: `gitmem held accept key.md --yes`\n"
    )
    assert held("log", "key.md").code == 3
    assert held("held", "accept", "key.md", "--yes").out.startswith("accepted key.md ")
    assert held("read", "key.md").out == (files / "key.md").read_text()


@pytest.mark.parametrize(("typed", "enters"), [("n\n", False), ("\n", False), ("y\n", True)])
def test_accepting_a_secret_asks_on_a_terminal(
    held: Run, home: Path, typed: str, enters: bool
) -> None:
    code, seen = on_terminal("held", "accept", "key.md", typed=typed, GITMEM_HOME=str(home))

    assert "Commit key.md as it is (secret: aws-key-id, line 2)?" in seen
    assert "models will see it. [y/N]" in seen
    assert KEY not in seen
    assert (code == 0, "accepted key.md" in seen) == (enters, enters)
    assert (held("log", "key.md").code == 0) == enters


def test_a_redacted_version_says_what_was_masked_and_never_the_value(
    held: Run, files: Path
) -> None:
    said = held("held", "accept", "--redact", "key.md")

    lines = said.out.splitlines()
    assert lines[0].startswith("accepted key.md ")
    assert lines[1:3] == [
        "  masked line 2: aws-key-id",
        "  the text with the secrets lies in the trash",
    ]
    assert lines[3].startswith("  delete it for good: gitmem held empty ")
    assert KEY not in said.out + said.err
    assert held("read", "key.md").out == "one\nthe key: [redacted: aws-key-id]\n"
    assert (files / "key.md").read_text() == "one\nthe key: [redacted: aws-key-id]\n"
    assert held("status").out.count("held out of git") == 0


def test_what_is_shown_tells_the_gentle_ways_first(held: Run, files: Path) -> None:
    (files / "link.md").symlink_to("/etc/passwd")

    assert held("held", "show", "key.md").err.splitlines() == [
        "note: commit it with its secrets masked: gitmem held accept --redact key.md",
        "note: commit it as it is: gitmem held accept key.md",
        "note: leave it on disk and out of memory: gitmem held ignore key.md",
        "note: move it to the trash: gitmem held drop key.md",
    ]
    assert "held accept" not in held("held", "show", "link.md").err
    refused = held("held", "accept", "link.md")
    assert refused.code == 5
    assert "`gitmem held ignore link.md`" in refused.err
    assert "drop" not in refused.err


def test_ignored_files_are_listed_and_only_counted_by_status(held: Run, files: Path) -> None:
    (files / "big.pdf").write_bytes(b"x" * 1_100_000)

    dry = held("held", "ignore", "*.pdf", "--dry-run")
    assert dry.out == "would ignore *.pdf: 1 file\n  big.pdf\n"
    assert held("held", "ignore", "*.pdf", "--reason", "the vault's").code == 0
    status = held("status").out
    assert "big.pdf" not in status
    assert "1 file ignored (see: gitmem held ignore --list)" in status
    assert held("status", "--json").document["ignored_by_pattern"] == 1
    listed = held("held", "ignore", "--list").out
    assert listed == "*.pdf  1 file  by agent  2026-02-08  the vault's\n"
    assert held("held", "ignore", "--list", "--json").document["ignored"][0]["paths"] == 1
    said = held("capture", "big.pdf").out
    assert said == "nothing to capture\n1 file ignored (see: gitmem held ignore --list)\n"
    assert held("held", "ignore", "--remove", "*.pdf").out == "no longer ignored: *.pdf\n"
    assert "big.pdf" in held("held").out
    for args in ([], ["a", "--list"]):
        assert held("held", "ignore", *args).code == 2


def test_a_pattern_that_fits_the_history_says_so(held: Run) -> None:
    held("write", "notes/a.md", "one")

    said = held("held", "ignore", "notes/*")

    assert said.err == "note: in the history, so still captured: notes/a.md\n"
    assert held("held", "ignore", "notes/a.md").code == 5
