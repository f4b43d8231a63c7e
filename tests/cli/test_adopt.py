"""`gitmem adopt` as a person sees it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.support.cli import Run
from tests.support.git import git
from tests.support.memories import SYSTEMS, ZYLOS, lay, stand
from tests.support.samples import UPPER, body
from tests.support.workspaces import workspace

KEY = "AKIA" + body(UPPER, 16, 5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return lay(tmp_path / "my memory", ZYLOS)


def test_it_says_what_was_taken_why_and_what_comes_next(run: Run, folder: Path) -> None:
    (folder / ".env").write_text("TZ=UTC\n")
    (folder / "keys.md").write_text(f"{KEY}\n")
    (folder / "identity.md").unlink()

    said = run("adopt", str(folder))

    assert said.code == 0
    assert f"adopted 11 files of {folder} into the group main" in said.out
    assert "layout   zylos, likely (0.77): state.md, references.md, reference/ (4 " in said.out
    assert "history  dates from mtime" in said.out
    assert "missing  identity.md" in said.out
    assert "left out .env (dot name)" in said.out
    assert "left out keys.md (secret: aws-key-id, line 1)" in said.out
    assert "next     gitmem status" in said.out
    assert KEY not in said.out
    assert run("read", "state.md").out == ZYLOS["state.md"]


def test_a_secret_in_place_is_held_and_not_missing(run: Run, folder: Path) -> None:
    (folder / "identity.md").write_text(f"# Identity\n{KEY}\n")

    said = run("adopt", str(folder), "--in-place", "-g", "bot")

    assert "missing" not in said.out
    row = "held     identity.md (secret: aws-key-id, line 2): see `gitmem -g bot held`"
    assert row in said.out
    assert "next     gitmem -g bot held\n" in said.out
    assert run("held", "accept", "identity.md", "-g", "bot", "--yes").code == 0
    assert KEY in run("read", "identity.md", "-g", "bot").out


def test_a_secret_left_out_of_a_copy_can_be_written(run: Run, folder: Path) -> None:
    text = f"# Identity\n{KEY}\n"
    (folder / "identity.md").write_text(text)

    said = run("adopt", str(folder), "-g", "bot")

    assert "missing" not in said.out
    assert "left out identity.md (secret: aws-key-id, line 2)" in said.out
    command = next(row for row in said.out.splitlines() if "if it is no secret: `" in row)
    words, _, source = command.split("`")[1].partition(" < ")
    assert shlex.split(source) == [str(folder / "identity.md")]
    assert run(*shlex.split(words)[1:], input=text).code == 0
    assert run("read", "identity.md", "-g", "bot").out == text


def test_a_dry_run_prints_the_command_that_does_it(run: Run, home: Path, folder: Path) -> None:
    said = run("adopt", str(folder), "--dry-run", "-g", "bot", "--layout", "zylos", "--in-place")

    assert said.out.startswith(f"would adopt 12 files of {folder}")
    assert not home.exists()
    command = next(line for line in said.out.splitlines() if "next" in line).split("next")[1]
    assert run(*shlex.split(command)[1:]).code == 0
    assert run("status", "-g", "bot", "--json").document["worktree"] == str(folder)


def test_json_has_everything(run: Run, tmp_path: Path) -> None:
    folder = lay(tmp_path / "claude", SYSTEMS["claude-code"])
    (folder / "link.md").symlink_to("MEMORY.md")

    found = run("adopt", str(folder), "-g", "coder", "--json").document

    assert (found["group"], found["layout"], found["sure"]) == ("coder", "claude-code", "certain")
    assert found["taken"] == sorted(SYSTEMS["claude-code"])
    assert found["left"] == [{"path": "link.md", "why": "link", "commit": ""}]
    assert (found["dates_from"], found["commits"], found["already"]) == ("mtime", 0, False)
    assert found["score"] > 0.9
    assert len(found["commit"]) == 40


def test_an_unclear_folder_asks(run: Run, home: Path, tmp_path: Path) -> None:
    folder = lay(tmp_path / "m", {"diary/2026-01-01.md": "x\n"})

    said = run("adopt", str(folder))

    assert said.code == 2
    assert "is not clear" in said.err
    assert "--layout" in said.err
    names = [each["layout"] for each in run("adopt", str(folder), "--json").error["candidates"]]
    assert {"soul", "arizuko"} <= set(names)
    assert not home.exists()


def test_a_second_time_is_a_quiet_success(run: Run, folder: Path) -> None:
    run("adopt", str(folder))

    again = run("adopt", str(folder))

    assert again.code == 0
    assert again.out.startswith("already adopted")
    assert run("adopt", str(folder), "--json").document["already"] is True


def test_a_group_with_files_names_the_way_on(gitmem: Run, folder: Path) -> None:
    gitmem("write", "a.md", "mine")

    said = gitmem("adopt", str(folder))

    assert said.code == 4
    assert "-g NAME" in said.err


@pytest.mark.parametrize(
    ("make", "code"), [("missing", 3), ("file", 2), ("empty", 2), ("repository", 4)]
)
def test_folders_that_cannot_be_have_their_exit_codes(
    run: Run, tmp_path: Path, make: str, code: int
) -> None:
    place = tmp_path / "place"
    if make == "file":
        place.write_text("x")
    elif make != "missing":
        place.mkdir()
    if make == "repository":
        git(place, "init", "-q")

    said = run("adopt", str(place), "--in-place")

    assert said.code == code
    assert "hint:" in said.err


def test_in_place_an_agent_goes_on_and_capture_follows(run: Run, folder: Path) -> None:
    before = stand(folder)
    said = run("adopt", str(folder), "--in-place", "--agent", "ada")

    assert "(in place)" in said.out
    assert {path: stand(folder)[path] for path in before} == before
    (folder / "state.md").write_text("edited\n")
    assert "captured state.md" in run("capture").out
    assert "ada" in run("log", "identity.md").out


def test_history_is_counted_and_shown(run: Run, tmp_path: Path) -> None:
    folder = lay(tmp_path / "m", SYSTEMS["soul"])
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "my first words")

    said = run("adopt", str(folder))

    assert "history  1 commit of its own kept, dates from git" in said.out
    assert "my first words" in run("log", "soul.md").out
    assert "A Person" in run("log", "soul.md").out


def test_many_left_out_things_are_not_a_flood(run: Run, folder: Path) -> None:
    for number in range(30):
        (folder / f".x{number}").write_text("")

    said = run("adopt", str(folder))

    assert said.out.count("left out") == 21
    assert "10 more: see --json" in said.out


def test_a_workspace_is_adopted_in_place_and_only_its_memory_shows(
    run: Run, tmp_path: Path
) -> None:
    folder = workspace(tmp_path / "zylos")
    (tmp_path / "zylos" / ".env").write_text("TZ=Asia/Tokyo\nSECRET=hush\n")

    said = run("adopt", str(folder), "--in-place")

    assert said.code == 0
    assert said.out.startswith(f"adopted 12 files of {folder} into the group main\n")
    assert f"days     in Asia/Tokyo, by TZ in {folder}/.env" in said.out
    beside = "outside  README.md, logs/, node_modules/ and 3 more (to add one: `include:` in"
    assert beside in said.out
    assert "left out" not in said.out
    assert "hush" not in said.out

    (folder / "src/main.ts").write_text("changed\n")
    shown = [run(*words).out for words in (("status",), ("list",), ("capture",), ("held",))]
    assert not any(word in out for out in shown for word in ("src", "node_modules", "package"))
    assert run("search", "answer module left-pad").out.count("node_modules") == 0
    refused = run("capture", "src/main.ts")
    assert refused.code == 5
    assert "'src/main.ts' is outside the memory of this group" in refused.err
    assert "include:" in refused.err
    assert run("write", "src/notes.md", "Kept on purpose.").code == 0
    (folder / "src/notes.md").write_text("And edited.\n")
    assert "captured src/notes.md" in run("capture").out


def test_json_names_what_is_outside_and_the_zone(run: Run, tmp_path: Path) -> None:
    folder = workspace(tmp_path / "zylos")
    (tmp_path / ".env").write_text("TZ='Europe/Berlin'\n")

    found = run("adopt", str(folder), "--in-place", "--dry-run", "--json").document

    assert found["outside"] == sorted(found["outside"])
    assert {"node_modules/", "src/", "package.json"} <= set(found["outside"])
    assert found["timezone"] == "Europe/Berlin"
    assert found["timezone_from"] == str(tmp_path / ".env")


def test_a_summary_that_is_read_line_by_line_is_nothing_to_report(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    (folder / "facts").mkdir(parents=True)
    (folder / "facts" / "stock.md").write_text("---\nsummary: Stock: counted\n---\nx\n")
    (folder / "facts" / "bad.md").write_text("---\ntags: [a\n---\nx\n")

    said = run("adopt", str(folder), "--layout", "standard", "--dry-run")

    assert "stock.md: " not in said.out + said.err
    assert "bad.md: frontmatter refused: line 2 is not valid YAML" in said.out + said.err
