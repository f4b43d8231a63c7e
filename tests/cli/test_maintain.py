"""`gitmem maintain` at the command line."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.cli import boundary
from tests.support.cli import Run
from tests.support.git import git

ROOT = Path(__file__).parents[2]


def test_it_says_what_it_did_and_then_that_nothing_was_due(gitmem: Run, files: Path) -> None:
    (files / "a.md").write_text("an edit\n")

    said = gitmem("maintain")

    assert (said.code, said.err) == (0, "")
    assert said.out == (
        "main  capture   done  a.md\n"
        "main  snapshot  done  snapshot/2026-02-08, 1 changed\n"
        "main  report    done  nothing to do\n"
        "main  scrub     done  2 commits and 1 file are sound\n"
    )
    assert gitmem("maintain").out == "nothing was due\n"
    assert gitmem("maintain", "--quiet").out == ""
    assert "  maintain  nothing  just now  nothing was due\n" in gitmem("status").out


def test_a_dry_run(gitmem: Run, files: Path) -> None:
    (files / "a.md").write_text("an edit\n")

    said = gitmem("maintain", "--dry-run")

    assert (said.code, said.out.splitlines()[0]) == (0, "main  capture  due  1 edit")
    assert [each["path"] for each in gitmem("status", "--json").document["edits"]] == ["a.md"]


def test_it_answers_with_a_document(gitmem: Run) -> None:
    gitmem("write", "a.md", "one")

    found = gitmem("maintain", "--json").document

    assert (found["group"], found["outcome"]) == ("main", "done")
    assert found["steps"][5] == {
        "step": "snapshot",
        "outcome": "done",
        "detail": "snapshot/2026-02-08, 1 changed",
        "code": "",
        "hint": "",
    }
    every = gitmem("maintain", "--all", "--json").document
    assert [each["outcome"] for each in every["groups"]] == ["nothing"]


def test_all_groups_are_told_in_lines_and_the_quiet_ones_in_a_number(gitmem: Run) -> None:
    gitmem("init", "-g", "research", "--layout", "none")
    gitmem("init", "-g", "empty", "--layout", "none")
    gitmem("write", "-g", "research", "a.md", "one")
    gitmem("maintain", "-g", "empty")
    gitmem("maintain", "-g", "main")

    said = gitmem("maintain", "--all")

    assert said.code == 0
    assert said.out == (
        "research  snapshot  done  snapshot/2026-02-08, 1 changed\n"
        "research  report    done  nothing to do\n"
        "research  scrub     done  2 commits and 1 file are sound\n"
        "nothing was due in 2 groups\n"
    )
    assert gitmem("maintain", "--all").out == "nothing was due in 3 groups\n"


def test_a_failure_has_its_exit_code_and_a_hint_that_can_be_typed(gitmem: Run, files: Path) -> None:
    gitmem("init", "-g", "research", "--layout", "none")
    gitmem("write", "-g", "research", "a.md", "one")
    gitmem("write", "-g", "research", "a.md", "two")  # so that nobody else has the first one
    gitdir = files.parents[1] / "repos" / "research.git"
    blob = git(gitdir, "rev-parse", "main~1:a.md").strip()
    path = gitdir / "objects" / blob[:2] / blob[2:]
    os.chmod(path, 0o600)
    os.truncate(path, 3)

    said = gitmem("maintain", "--all", "--quiet")

    assert said.code == boundary.DAMAGED
    assert "research  scrub" in said.out
    assert "gitmem -g research check --repair" in said.out
    assert "scrub failed" in gitmem("status", "-g", "research").out


def test_the_worst_failure_counts(gitmem: Run, files: Path) -> None:
    gitmem("write", "a.md", "one")
    (files / "b.md").write_text("an edit\n")
    git(files, "checkout", "-q", "--detach")

    said = gitmem("maintain")

    assert said.code == boundary.CONFLICT
    assert "git switch main" in said.out


@pytest.mark.parametrize(
    ("slug", "code"),
    [
        ("busy", boundary.BUSY),
        ("damaged", boundary.DAMAGED),
        ("object-missing", boundary.DAMAGED),
        ("git-too-slow", boundary.DAMAGED),
        ("conflict", boundary.CONFLICT),
        ("no such slug", boundary.UNEXPECTED),
    ],
)
def test_an_error_that_was_told_by_its_slug_has_the_code_of_its_kind(slug: str, code: int) -> None:
    import gitmem.store.program  # noqa: F401 - a kind is known when its module is

    assert boundary.slug_code(slug) == code


def test_a_group_may_maintain_itself_only(gitmem: Run) -> None:
    gitmem("init", "-g", "research", "--layout", "none")

    said = gitmem("maintain", "--all", "--json", GITMEM_GROUP="research")

    assert [each["group"] for each in said.document["groups"]] == ["research"]


def test_a_terminal_is_shown_how_far_it_is(gitmem: Run, home: Path) -> None:
    for number in range(3):
        gitmem("init", "-g", f"group{number}", "--layout", "none")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "gitmem", "--store", str(home), "maintain", "--all"]
    done = subprocess.run(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, check=True, timeout=60,
        env={**os.environ, "TERM": "xterm", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    os.close(theirs)
    shown = os.read(ours, 65_536).decode()
    os.close(ours)

    assert "maintaining groups" in shown
    assert b"maintaining groups" not in done.stdout


def lose(gitdir: Path, revision: str) -> None:
    """Remove an object of which nobody has a copy."""
    oid = git(gitdir, "rev-parse", revision).strip()
    (gitdir / "objects" / oid[:2] / oid[2:]).unlink()


def test_a_version_that_nobody_has_any_more_is_acknowledged_and_the_next_is_named(
    gitmem: Run, files: Path
) -> None:
    gitdir = files.parents[1] / "repos" / "main.git"
    for text in ("v1", "v2", "v3"):
        gitmem("write", "b.md", text)
    lose(gitdir, "main~1:b.md")
    assert gitmem("maintain").code == boundary.DAMAGED

    said = gitmem("check", "--repair")  # what the hint says

    command = said.out.partition("if no copy exists: `gitmem ")[2].partition("`")[0]
    assert said.code == boundary.FINDINGS
    assert gitmem(*command.split()).code == 0
    assert gitmem("maintain").code == 0
    assert gitmem("status", "--json").document["health"] == "ok"
    told = gitmem("check")
    assert told.code == 0
    assert "info object-missing: an older version of b.md" in told.out

    lose(gitdir, "main~2:b.md")
    again = gitmem("check")
    assert again.code == boundary.FINDINGS
    assert "warning object-missing" in again.out
    assert command not in again.out


def test_the_scrub_passes_over_what_is_acknowledged_and_over_nothing_else(
    gitmem: Run, files: Path
) -> None:
    gitdir = files.parents[1] / "repos" / "main.git"
    for text in ("v1", "v2", "v3"):
        gitmem("write", "b.md", text)
    lose(gitdir, "main~1:b.md")
    (found,) = gitmem("check", "--json").document["findings"]
    gitmem("check", "--acknowledge", found["id"])
    lose(gitdir, "main~2:b.md")

    assert gitmem("maintain").code == boundary.DAMAGED

    (other,) = [
        each
        for each in gitmem("check", "--json").document["findings"]
        if each["severity"] == "warning"
    ]
    gitmem("check", "--acknowledge", other["id"])
    said = gitmem("maintain")
    assert said.code == 0
    assert "2 lost versions acknowledged" in said.out


def test_what_the_files_of_today_need_is_never_acknowledged(gitmem: Run, files: Path) -> None:
    gitdir = files.parents[1] / "repos" / "main.git"
    gitmem("write", "b.md", "v1")
    lose(gitdir, "main:b.md")

    found = gitmem("check", "--json").document["findings"]

    assert {each["id"] for each in found if each["code"] == "object-missing"} == {""}
