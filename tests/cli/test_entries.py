"""`gitmem entries`, `move-entry` and `lint` at the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gitmem.cli.app import app
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import Style
from tests.support.cli import Run

LAYOUT = """\
gitmem: 1
layers:
  decisions:
    kind: entries
    path: reference/decisions.md
    exclusive: reference
    fields: [Date, Decision, Status, Importance]
    status: [active, superseded]
    retired: [superseded]
  ideas:
    kind: entries
    path: reference/ideas.md
    exclusive: reference
    fields: [Date, Status, Importance]
    status: [raw]
"""
DECISIONS = """\
### Use ESM only
- **Date:** 2026-01-02
- **Status:** active
- **Importance:** 2

### Old
- **Date:** 2026-01-01
- **Status:** superseded
- **Importance:** 3
"""


@pytest.fixture
def memory(gitmem: Run) -> Run:
    assert gitmem("write", "gitmem.yaml", LAYOUT).code == 0
    assert gitmem("write", "reference/decisions.md", DECISIONS).code == 0
    assert gitmem("write", "reference/ideas.md", "### Try gleam\n- **Date:** 2026-02-01").code == 0
    return gitmem


def test_entries_are_a_table(memory: Run) -> None:
    said = memory("entries")

    assert said.code == 0
    assert said.out == (
        "2026-01-02  active      2  reference/decisions.md#use-esm-only  Use ESM only\n"
        "2026-01-01  superseded  3  reference/decisions.md#old           Old\n"
        "2026-02-01  -           -  reference/ideas.md#try-gleam         Try gleam\n"
    )
    assert "1 entry with warnings: gitmem lint" in said.err


@pytest.mark.usefixtures("memory")
def test_what_had_its_time_is_dimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Invocation, "style", Style(colour=True))

    active, old, _ = CliRunner().invoke(app, ["entries"], color=True).stdout.splitlines()

    assert old.startswith("\x1b[2m2026-01-01  superseded")
    assert active.startswith("2026-01-02")


def test_entries_as_a_document(memory: Run) -> None:
    found = memory("entries", "decisions", "--status", "active", "--json").document

    (entry,) = found["entries"]
    assert entry["address"] == "reference/decisions.md#use-esm-only"
    assert (entry["date"], entry["importance"], entry["retired"]) == ("2026-01-02", 2, False)
    assert entry["warnings"] == []


def test_no_entries_say_how_to_begin(gitmem: Run) -> None:
    said = gitmem("entries")
    assert (said.code, said.out) == (0, "")
    assert "gitmem write reference/decisions.md --entry" in said.err

    gitmem("write", "gitmem.yaml", LAYOUT)
    gitmem("write", "reference/ideas.md", "# Ideas\n")
    assert "gitmem write reference/ideas.md --entry" in gitmem("entries").err
    assert "no entry has the status 'raw'" in gitmem("entries", "--status", "raw").err
    assert gitmem("entries", "ideas", "--at", "HEAD~1").out == ""


def test_an_entry_moves(memory: Run, files: Path) -> None:
    said = memory(
        "move-entry",
        "reference/ideas.md#try-gleam",
        "decisions",
        "--set",
        "Status=active",
        "--set",
        "Decision=a = b",
        "--reason",
        "agreed",
    )

    assert said.code == 0
    assert said.out.startswith(
        "moved reference/ideas.md#try-gleam to reference/decisions.md#try-gleam "
    )
    assert "no importance" in said.err
    assert (
        (files / "reference/decisions.md")
        .read_text()
        .endswith(
            "\n### Try gleam\n- **Date:** 2026-02-01\n- **Decision:** a = b\n- **Status:** active\n"
        )
    )
    assert "move-entry" in memory("log").out


def test_a_move_as_a_document(memory: Run) -> None:
    found = memory("move-entry", "ideas#try-gleam", "decisions", "--json").document

    assert found["source"] == "reference/ideas.md#try-gleam"
    assert found["address"] == "reference/decisions.md#try-gleam"
    assert len(found["warnings"]) == 1


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("ideas#try-glaem", "decisions"), 3, "did you mean Try gleam (#try-gleam)?"),
        (("ideas", "decisions"), 2, "is not the address of an entry"),
        (("ideas#try-gleam", "decisions", "--set", "Status"), 2, "FIELD=VALUE"),
        (("ideas#try-gleam", "decisions", "--set", "Status="), 2, "has no value"),
        (("ideas#try-gleam", ""), 2, "it is empty"),
        (("ideas#try-gleam", "../x.md"), 5, ".."),
    ],
)
def test_a_move_that_cannot_be(memory: Run, args: tuple[str, ...], code: int, said: str) -> None:
    answer = memory("move-entry", *args)

    assert answer.code == code
    assert said in answer.err


def test_lint_exits_with_6_while_there_is_something_to_say(memory: Run) -> None:
    said = memory("lint")

    assert said.code == 6
    assert "reference/ideas.md#try-gleam no-importance: no importance" in said.out
    assert "--set Importance=3" in said.out
    assert said.out.endswith("1 finding: 2 files checked\n")
    assert memory("lint", "-q").out == said.out

    found = memory("lint", "--json")
    assert found.code == 6
    assert found.document["findings"][0]["rule"] == "no-importance"
    assert found.document["checked"] == 2


def test_lint_of_clean_memory(memory: Run) -> None:
    hint = memory("lint").out.splitlines()[1]
    assert "gitmem write reference/ideas.md" in hint
    assert memory("write", "ideas", "--entry", "try-gleam", "--set", "Importance=3").code == 0

    said = memory("lint")

    assert (said.code, said.out) == (0, "clean: 2 files checked\n")
    assert memory("lint", "-q").out == ""


def test_an_entry_stands_under_the_heading_of_its_status(gitmem: Run, files: Path) -> None:
    gitmem("write", "gitmem.yaml", LAYOUT)
    gitmem("write", "reference/decisions.md", "# Decisions\n\n## Active\n\n## Superseded\n")

    gitmem("write", "decisions", "--entry", "Use ESM", "--set", "Status=active")
    gitmem("write", "decisions", "--entry", "Use tabs", "--set", "Status=superseded by spaces")
    said = gitmem("write", "decisions", "--entry", "use-esm", "--set", "Status=superseded")

    assert said.code == 0
    text = (files / "reference" / "decisions.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("#")]
    assert lines == ["# Decisions", "## Active", "## Superseded", "### Use tabs", "### Use ESM"]
    rows = gitmem("entries", "decisions", "--json").document["entries"]
    assert [each["section"] for each in rows] == ["Superseded", "Superseded"]
