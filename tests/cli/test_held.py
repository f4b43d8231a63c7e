"""`gitmem held`: what is asked, what is needed instead, and what is said."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import Run, run_gitmem, shell_words
from tests.support.git import git
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
    assert (code, ROW in seen, "nothing was dropped" in seen) == (0, not stays, stays)
    assert "interrupted" not in seen


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

    assert held("held", "empty", "--before", "2026-02-09").err == (
        "error: deleting 1 version for good needs --yes\n"
        "hint: repeat with --yes: `gitmem held empty --before 2026-02-09 --yes`\n"
    )
    assert held("held", "empty", "--before", "yesterday", "--yes").out == "nothing to delete\n"
    assert held("held", "empty", "none").code == 3
    assert held("held", "empty", "--dry-run").out == f"would delete key.md ({name})\n"
    assert held("held", "empty", "--dry-run", "--json").document["dry_run"] is True
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
    assert (code, "accepted key.md" in seen) == (0, enters)
    assert ("nothing was committed" in seen) != enters
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

    assert said.err == "note: in history, so still captured: notes/a.md\n"
    assert held("held", "ignore", "notes/a.md").code == 5


@pytest.mark.parametrize(("typed", "stays"), [("n\n", True), ("y\n", False)])
def test_emptying_the_trash_asks_with_count_and_size(
    held: Run, home: Path, typed: str, stays: bool
) -> None:
    held("held", "drop", "key.md", "-y")

    code, seen = on_terminal("held", "empty", typed=typed, GITMEM_HOME=str(home))

    assert "Delete 1 version (34 bytes) for good? [y/N]" in seen
    assert (code, "nothing was deleted" in seen) == (0, stays)
    assert ("key.md" in held("held", "list", "--trash").out) == stays


def test_an_empty_trash_is_not_asked_about(held: Run, home: Path) -> None:
    code, seen = on_terminal("held", "empty", GITMEM_HOME=str(home))

    assert (code, seen) == (0, "nothing to delete\n")


def test_a_file_that_is_being_written_is_not_dropped_and_the_hint_is_whole(
    held: Run, files: Path
) -> None:
    with open(files / "key.md", "a", encoding="utf-8"):
        said = held("held", "drop", "key.md", "--yes")

    assert said.code == 7
    assert "then repeat `gitmem held drop key.md --yes`" in said.err
    assert held("held", "drop", "key.md", "--yes").code == 0


def test_a_secret_in_the_name_cannot_be_masked_and_nobody_is_told_so(
    held: Run, files: Path
) -> None:
    (files / f"{KEY}.md").write_text(f"the key: {KEY}\n")
    (files / "a\nb.md").write_text(f"the key: {KEY}\n")

    for name in (f"{KEY}.md", "a\nb.md"):
        said = held("held", "show", name)
        assert "held accept" not in said.err
        assert said.err.startswith("note: rename it: `mv -n ")
        assert held("held", "accept", "--redact", name).code == 5


@pytest.mark.parametrize("kind", ["link", "hard-link", "path", "name"])
def test_the_way_in_is_a_command_that_works_anywhere(
    held: Run, files: Path, tmp_path: Path, kind: str
) -> None:
    (files / "key.md").unlink()
    other = tmp_path / "other.md"
    other.write_text("text\n")
    name = {"path": "a \n'b\\.md", "name": f"{KEY}.md"}.get(kind, "it's a file.md")
    place = files / name
    {"link": place.symlink_to, "hard-link": place.hardlink_to}.get(kind, other.rename)(
        other if kind.endswith("link") else place
    )

    refused = held("held", "accept", "--json", name)
    assert refused.code == 5
    command = re.findall(r"`((?:cp|mv) [^`]+)`", refused.error["hint"])[0]
    subprocess.run(["bash", "-c", command], check=True, cwd="/")

    assert held("held").out == ""
    assert held("capture").code == 0
    (path,) = held("list", "--json").document["files"]
    assert held("read", path["path"]).out == "text\n"


def test_what_is_not_held_says_where_it_is_instead(held: Run, files: Path) -> None:
    (files / "plain.md").write_text("plain\n")

    assert "did you mean key.md?" in held("held", "show", "kye.md").err
    assert "`gitmem capture plain.md`" in held("held", "drop", "plain.md").err
    name = held("held", "drop", "key.md", "--yes").out.split()[-1]
    said = held("held", "accept", "./key.md")
    assert (said.code, f"`gitmem held restore {name}`" in said.err) == (3, True)
    assert held("held", "restore", "./key.md").code == 0


def test_a_pattern_that_matches_nothing_says_so(held: Run, files: Path) -> None:
    (files / "big.pdf").write_bytes(b"x" * 1_100_000)

    said = held("held", "ignore", "big.pfd")

    assert said.err.splitlines() == [
        "note: no file matches 'big.pfd' yet; did you mean big.pdf?",
        "note: to take it back: gitmem held ignore --remove big.pfd",
    ]
    assert held("held", "ignore", "big.pfd", "--json").document["near"] == ["big.pdf"]
    assert "no file matches '*.doc' yet\n" in held("held", "ignore", "*.doc", "--dry-run").err
    assert held("held", "ignore", "--remove", "big.pfd").code == 0
    assert held("held", "ignore", "big.pdf").err == ""


ODD = ["-dash.md", "it's a file.md", "a\nb.md", "tab\there.md", "back\\slash.md", "esc\x1b[2J.md"]


@pytest.mark.parametrize("name", ODD)
def test_what_is_printed_can_be_typed(held: Run, files: Path, name: str) -> None:
    """A name as a table shows it, and every command of a hint as a shell reads it."""
    (files / "key.md").rename(files / name)

    shown = held("held").out.split("  ")[0]
    said = held("held", "show", *(["--"] if shown.startswith("-") else []), shown)
    assert said.code == 0
    hints = re.findall(r"gitmem (held .*)$", said.err, re.MULTILINE)
    for hint in hints:
        words = shell_words(f"{hint} --yes" if " drop " in hint else f"{hint} --help")
        assert held(*words).code == 0
    assert not (files / name).exists()
    assert held("held", "restore", f"./{shown}").code == 0
    assert (files / name).exists()


@pytest.mark.parametrize("name", ODD)
def test_a_file_with_an_odd_name_that_is_deleted_leaves_the_branch(
    gitmem: Run, files: Path, name: str
) -> None:
    (files / name).write_text("one\n")
    git(files, "add", "-A")
    git(files, "commit", "-qm", "by hand")
    (files / name).unlink()

    shown = re.findall(r"deleted  (.*)$", gitmem("status").out, re.MULTILINE)[0]
    said = gitmem("capture", "--", shown)

    assert (said.code, said.out.startswith(f"captured {shown} (gone)")) == (0, True)
    assert gitmem("held").err == "note: nothing is held\n"
    assert gitmem("check").code == 0
    assert git(files, "status", "--porcelain") == ""


@pytest.mark.parametrize("name", ODD)
def test_a_file_with_an_odd_name_is_read_and_moved_by_the_name_that_is_printed(
    gitmem: Run, files: Path, name: str
) -> None:
    (files / name).write_text("one\n")
    git(files, "add", "-A")
    git(files, "commit", "-qm", "by hand")

    shown = gitmem("list").out.rstrip("\n")
    assert gitmem("read", "--", shown).out == "one\n"
    assert gitmem("mv", "--", shown, "new.md").code == 0
    assert gitmem("check").code == 0
    assert git(files, "status", "--porcelain") == ""


def test_a_name_that_begins_with_a_dash_is_told_how_to_be_typed(held: Run, files: Path) -> None:
    (files / "key.md").rename(files / "-key.md")

    assert (
        "write a file name that begins with a dash as ./-NAME"
        in held("held", "show", "-key.md").err
    )
    assert held("held", "show", "./-key.md").code == 0
    assert "./-NAME" not in held("held", "--wrong").err


def test_a_name_that_looks_like_a_command_stays_as_it_is(held: Run, files: Path) -> None:
    name = "it's; gitmem log.md"
    (files / "key.md").rename(files / name)

    hints = re.findall(
        r"gitmem -g main (held .*)$", held("-g", "main", "held", "show", name).err, re.M
    )

    assert len(hints) == 4
    assert all(shell_words(each)[-1] == name for each in hints)


def test_a_file_with_conflict_markers_is_told_how_to_resolve_them(held: Run, files: Path) -> None:
    (files / "it's.md").write_text("<<<<<<< a\none\n=======\ntwo\n>>>>>>> b\n")

    said = held("held", "show", "it's.md").err.splitlines()[0]

    assert said == "note: resolve the conflict: `gitmem edit 'it'\"'\"'s.md'`"


def test_the_id_of_a_held_version_is_no_pattern(held: Run, files: Path) -> None:
    name = held("held", "drop", "key.md", "-y").out.split()[-1]
    (files / "key.md").write_text("mine\n")
    held("held", "restore", name)

    said = held("held", "ignore", name)

    assert (said.code, "`gitmem held ignore key.md`" in said.err) == (2, True)
    assert held("held", "ignore", "--list").out == ""


def test_a_file_that_git_has_is_not_offered_to_be_ignored(held: Run, files: Path) -> None:
    held("write", "notes.md", "one")
    (files / "notes.md").write_text(f"the key: {KEY}\n")
    held("write", "link.md", "one")
    (files / "link.md").unlink()
    (files / "link.md").symlink_to("/etc/hostname")

    for name in ("notes.md", "link.md"):
        assert "held ignore" not in held("held", "show", name).err
    assert "held ignore" not in held("held", "accept", "link.md").err
    assert "held ignore" in held("held", "show", "key.md").err


def secret_edit(files: Path) -> str:
    run_gitmem("write", "notes.md", "one")
    (files / "notes.md").write_text(f"the key: {KEY}\n")
    return "notes.md"


def odd_secret(files: Path) -> str:
    (files / "-it's `new`.md").write_text(f"the key: {KEY}\n")
    return "./-it's `new`.md"


def named_file(name: str, text: str = "text\n") -> Callable[[Path], str]:
    def make(files: Path) -> str:
        (files / name).write_text(text)
        return name

    return make


def link(files: Path) -> str:
    (files.parent.parent / "other.md").write_text("other\n")
    (files / "link.md").symlink_to(files.parent.parent / "other.md")
    return "link.md"


def hard_link(files: Path) -> str:
    (files.parent.parent / "other.md").write_text("other\n")
    (files / "hard.md").hardlink_to(files.parent.parent / "other.md")
    return "hard.md"


def set_aside(files: Path) -> str:
    (files / "key.md").write_text(f"the key: {KEY}\n")
    dropped = run_gitmem("held", "drop", "key.md", "-y").out.split()[-1]
    (files / "key.md").write_text("mine\n")
    run_gitmem("held", "restore", dropped)
    return dropped


KINDS: dict[str, Callable[[Path], str]] = {
    "a secret": odd_secret,
    "a secret in a file that git has": secret_edit,
    "a secret in the name": named_file(f"{KEY}.md"),
    "a name": named_file("a\n'b`\\.md", f"the key: {KEY}\n"),
    "a link": link,
    "a hard link": hard_link,
    "too big": named_file("big.pdf", "x" * 1_100_000),
    "conflict markers": named_file("m.md", "<<<<<<< a\none\n=======\ntwo\n>>>>>>> b\n"),
    "set aside": set_aside,
}


@pytest.mark.parametrize("way", range(5))
@pytest.mark.parametrize("kind", KINDS)
def test_every_way_that_is_offered_works(
    gitmem: Run, files: Path, kind: str, way: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typed one at a time, each of the commands that `held show` names ends what is held."""
    name = KINDS[kind](files)
    monkeypatch.setenv("VISUAL", "sh -c 'echo resolved > \"$0\"'")
    hints = [
        line for line in gitmem("held", "show", name).err.splitlines() if "split it" not in line
    ]
    if way >= len(hints):
        return
    command = hints[way].partition(": ")[2].partition(": ")[2].strip("`")
    if command.startswith("gitmem "):
        words = shell_words(command)[1:]
        asks = "drop" in words or ("accept" in words and "--redact" not in words)
        said = gitmem(*words, *(["--yes"] if asks else []))
        assert (said.code, said.err) == (0, "")
    else:
        subprocess.run(["bash", "-c", command], check=True, cwd="/")
    rules = [each["rule"] for each in gitmem("held", "--json").document["held"]]
    # A better name is the first of two steps where the text has a secret as well.
    assert rules == (["secret: aws-key-id, line 1"] if (kind, way) == ("a name", 0) else [])


def test_a_pattern_never_names_a_secret(held: Run, files: Path) -> None:
    (files / f"{KEY}.md").write_text("text\n")

    said = held("held", "ignore", f"{KEY}.md")

    assert (said.code, "write * in place of the value" in said.err) == (5, True)
    assert KEY not in said.err
    assert held("held", "ignore", f"{KEY[:4]}*.md").code == 0
