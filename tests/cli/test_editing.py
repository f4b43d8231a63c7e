"""`gitmem edit`, `capture`, `held`, `mv`, `rm` and `status`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tests.support.cli import Run
from tests.support.git import git
from tests.support.samples import narrow

KEY = narrow()["aws-key-id"][0]


def editor(tmp_path: Path, body: str) -> str:
    """The command line of an editor that does BODY to `path`, with an argument of its own."""
    script = tmp_path / "an editor.py"
    script.write_text(f"import sys\nfrom pathlib import Path\npath = Path(sys.argv[2])\n{body}\n")
    return shlex.join([sys.executable, str(script), "--wait"])


def test_an_edit_is_captured_when_the_editor_ends(gitmem: Run, tmp_path: Path) -> None:
    gitmem("write", "a.md", "one")
    adds = editor(tmp_path, "path.write_text(path.read_text() + 'two\\n')")

    said = gitmem("edit", "a.md", "--agent", "ada", "--reason", "by hand", EDITOR=adds)

    assert said.code == 0, said.err
    assert said.out.startswith("captured a.md (8 bytes) ")
    assert gitmem("read", "a.md").out == "one\ntwo\n"
    entry = gitmem("log", "--json").document["entries"][0]
    assert (entry["op"], entry["agent"], entry["reason"]) == ("capture", "ada", "by hand")


def test_a_file_that_is_not_there_yet_is_made_by_saving_it(gitmem: Run, tmp_path: Path) -> None:
    makes = editor(tmp_path, "path.write_text('new\\n')")

    gitmem("edit", "deep/er/a.md", VISUAL=makes, EDITOR="false")

    assert gitmem("read", "deep/er/a.md").out == "new\n"


def test_leaving_without_saving_changes_nothing(gitmem: Run, tmp_path: Path, files: Path) -> None:
    said = gitmem("edit", "deep/a.md", EDITOR=editor(tmp_path, ""))

    assert (said.code, said.out) == (0, "unchanged deep/a.md\n")
    assert not (files / "deep").exists()


def test_what_somebody_else_did_before_is_not_in_the_editors_name(
    gitmem: Run, files: Path, tmp_path: Path
) -> None:
    (files / "a.md").write_text("found\n")
    adds = editor(tmp_path, "path.write_text(path.read_text() + 'two\\n')")

    said = gitmem("edit", "a.md", "--agent", "ada", EDITOR=adds)

    assert "found and committed first" in said.err
    agents = [each["agent"] for each in gitmem("log", "a.md", "--json").document["entries"]]
    assert agents == ["ada", "unknown"]


@pytest.mark.parametrize("command", ["false", "/no/such/editor", "'unclosed"])
def test_an_editor_that_fails_captures_nothing(command: str, gitmem: Run) -> None:
    assert gitmem("edit", "a.md", EDITOR=command).code == 2


def test_without_an_editor_or_a_terminal_nobody_waits(gitmem: Run) -> None:
    said = gitmem("edit", "a.md")

    assert said.code == 2
    assert "EDITOR" in said.err


def test_an_editor_is_not_led_out_of_the_work_tree(
    gitmem: Run, files: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (files / "link").symlink_to(tmp_path / "outside")
    (files / "a.md").symlink_to(tmp_path / "outside" / "x")
    makes = editor(tmp_path, "path.write_text('new\\n')")

    assert gitmem("edit", "link/a.md", EDITOR=makes).code == 5
    assert gitmem("edit", "a.md", EDITOR=makes).code == 5
    assert gitmem("edit", ".", EDITOR=makes).code == 2
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_secret_typed_into_an_editor_is_held(gitmem: Run, tmp_path: Path) -> None:
    types = editor(tmp_path, f"path.write_text({KEY!r})")

    said = gitmem("edit", "a.md", EDITOR=types)

    assert said.code == 5
    assert "held a.md (secret: aws-key-id" in said.out
    assert "gitmem held show a.md" in said.out


def test_every_edit_is_captured_as_a_commit_of_its_own(gitmem: Run, files: Path) -> None:
    gitmem("write", "old.md", "a file that moves\nwith some lines\n")
    gitmem("write", "gone.md", "x")
    (files / "old.md").rename(files / "moved.md")
    (files / "gone.md").unlink()
    (files / "new.md").write_text("new\n")

    done = gitmem("capture", "--agent", "ada", "--reason", "by hand", "--json").document

    assert {each["path"]: each["moved_from"] for each in done["captured"]} == {
        "gone.md": "",
        "moved.md": "old.md",
        "new.md": "",
    }
    assert git(files, "status", "--porcelain") == ""
    assert git(files, "log", "-1", "--format=%an") == "ada\n"
    assert gitmem("capture").out == "nothing to capture\n"


def test_a_capture_that_broke_a_rule_says_how_to_take_it_back(gitmem: Run, files: Path) -> None:
    gitmem("write", "a.md", "x\n" * 400)
    (files / "a.md").write_text("y\n")

    said = gitmem("capture")

    assert "broke a rule: shrink" in said.out
    undo = said.out.partition("take it back: gitmem ")[2].split()
    assert gitmem("status").out.count(" ".join(undo)) == 1
    assert gitmem(*undo).code == 0
    assert "take it back" not in gitmem("status").out


def test_what_is_held_stops_nobody_but_who_asked_for_it(gitmem: Run, files: Path) -> None:
    (files / "key.md").write_text(KEY)
    (files / "a.md").write_text("fine\n")

    said = gitmem("capture")

    assert said.code == 0
    assert "held key.md" in said.out
    assert "captured a.md" in said.out
    assert gitmem("capture", "key.md").code == 5


def test_held_versions_are_listed_shown_and_decided_on(gitmem: Run, files: Path) -> None:
    (files / "key.md").write_text(f"the key: {KEY}\n")
    (files / "other.md").write_text(f"the key: {KEY}\n")

    (first, _) = gitmem("held", "list", "--json").document["held"]
    assert (first["path"], first["set_aside"]) == ("key.md", False)
    assert gitmem("held").out.splitlines()[0].startswith("key.md    secret: aws-key-id")
    shown = gitmem("held", "show", "key.md")
    assert "the key: " in shown.out
    assert KEY not in shown.out + gitmem("held", "show", "key.md", "--json").out
    assert "gitmem held accept key.md" in shown.err

    dropped = gitmem("held", "drop", "key.md", "--yes")
    assert dropped.out.startswith(
        "moved key.md to the trash\n  bring it back: gitmem held restore "
    )
    assert not (files / "key.md").exists()
    accepted = gitmem("held", "accept", "other.md", "--yes", "--reason", "an example")
    assert accepted.out.startswith("accepted other.md ")
    assert gitmem("read", "other.md").out == f"the key: {KEY}\n"
    assert gitmem("held").err == "note: nothing is held\n"
    assert "gitmem held restore" in gitmem("held", "show", "key.md").err
    assert gitmem("held", "show", "none.md").code == 3


def test_a_file_moves_with_its_history(gitmem: Run) -> None:
    gitmem("write", "a.md", "one")

    said = gitmem("mv", "a.md", "plans/b.md")

    assert said.out.startswith("moved a.md to plans/b.md ")
    assert len(gitmem("log", "plans/b.md", "--json").document["entries"]) == 2
    moved = gitmem("mv", "plans/b.md", "notes/", "--json").document["moved"]
    assert moved == [{"from": "plans/b.md", "to": "notes/b.md"}]
    assert gitmem("mv", "a.md", "b.md").code == 3


def test_removing_is_a_move_to_the_archive_and_says_so(gitmem: Run) -> None:
    gitmem("write", "a.md", "one")

    said = gitmem("rm", "a.md", "--reason", "done with it")

    assert said.out.startswith("moved a.md to archive/a.md ")
    assert gitmem("list").out == "archive/a.md\n"
    assert gitmem("rm", "archive/a.md").code == 4
    assert "archive/a.md" in gitmem("read", "a.md").err


def test_the_status_names_what_needs_a_decision(gitmem: Run, files: Path) -> None:
    gitmem("write", "a.md", "one", "--agent", "ada")
    (files / "a.md").write_text("edited\n")
    (files / "key.md").write_text(KEY)

    said = gitmem("status")

    assert "just now, write a.md by ada" in said.out
    assert "changed  a.md" in said.out
    assert "key.md  secret: aws-key-id" in said.out
    assert "gitmem capture" in said.out
    found = gitmem("status", "--json").document
    assert [each["path"] for each in found["edits"]] == ["a.md"]
    assert [each["path"] for each in found["held"]] == ["key.md"]


def test_a_fresh_group_has_a_short_status(gitmem: Run) -> None:
    assert gitmem("status").out.splitlines()[2:] == [
        "last    nothing yet",
        "read    0 files; history not yet (see: gitmem check)",
        "health  ok",
    ]
