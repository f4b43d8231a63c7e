"""`gitmem archive`, `confirm`, and `restore` of an entry, at the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.cli import Run
from tests.support.shelves import DECISIONS, ESM, LAYOUT, OLD, SHELF, TEA

HOME = "reference/decisions.md"


@pytest.fixture
def memory(gitmem: Run) -> Run:
    assert gitmem("write", "gitmem.yaml", LAYOUT).code == 0
    assert gitmem("write", HOME, "-", input=DECISIONS).code == 0
    assert gitmem("write", "facts/tea.md", "Ada likes tea\n").code == 0
    return gitmem


def test_an_entry_is_archived_and_comes_back(memory: Run, files: Path) -> None:
    said = memory("archive", "decisions#old-plan", "--reason", "superseded")

    assert said.code == 0
    assert re.fullmatch(rf"archived {OLD} to {SHELF}#old-plan [0-9a-f]{{7}}\n", said.out)
    assert f"note: to have it back: gitmem restore '{OLD}'" in said.err
    back = memory("restore", OLD)
    assert re.fullmatch(rf"restored {OLD} [0-9a-f]{{7}} from {SHELF}#old-plan\n", back.out)
    assert (files / HOME).read_text() == DECISIONS
    assert not (files / "archive").exists()


def test_several_are_one_document(memory: Run) -> None:
    found = memory("archive", OLD, "facts/tea.md", "--json").document

    assert [(each["source"], each["address"]) for each in found["archived"]] == [
        (OLD, f"{SHELF}#old-plan"),
        ("facts/tea.md", "archive/facts/tea.md"),
    ]
    assert found["dry_run"] is False
    assert memory("log", "--json").document["entries"][0]["commit"] == found["commit"]


def test_a_dry_run_says_what_would_be(memory: Run, files: Path) -> None:
    said = memory("archive", OLD, "facts/tea.md", "--dry-run")

    assert said.out == (
        f"would archive {OLD} to {SHELF}#old-plan\n"
        "would archive facts/tea.md to archive/facts/tea.md\n"
    )
    assert said.err == ""
    assert not (files / "archive").exists()


def test_the_archive_is_a_table(memory: Run) -> None:
    memory("archive", OLD, "--reason", "superseded in May", "--agent", "ada")
    memory("archive", "facts/tea.md", GITMEM_NOW="2026-02-08T15:30:00Z")

    said = memory("archive", "--list", GITMEM_NOW="2026-02-10T15:30:00Z")

    assert said.code == 0
    first, second = (line.split("  ") for line in said.out.splitlines())
    assert [each.strip() for each in first if each][2:] == ["archive/facts/tea.md", "facts/tea.md"]
    assert [each.strip() for each in second if each][1:] == [
        "ada",
        f"{SHELF}#old-plan",
        OLD,
        "superseded in May",
    ]
    rows = memory("archive", "--list", "--json").document["archived"]
    assert [row["source"] for row in rows] == ["facts/tea.md", OLD]
    assert rows[1]["reason"] == "superseded in May"
    assert rows[1]["time"].startswith("2026-02-08T14:30")


def test_an_empty_archive_is_told(memory: Run) -> None:
    said = memory("archive", "--list")

    assert (said.code, said.out) == (0, "")
    assert "the archive is empty" in said.err
    assert memory("archive", "--list", "--json").document["archived"] == []


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("archive",), 2),
        (("archive", ""), 2),
        (("archive", "--list", OLD), 2),
        (("archive", "--list", "--dry-run"), 2),
        (("archive", "decisions#never"), 3),
        (("archive", "archive/x.md"), 4),
        (("archive", "gitmem.yaml"), 4),
        (("confirm",), 2),
        (("confirm", HOME), 2),
        (("confirm", "decisions#never"), 3),
        (("confirm", "gitmem.yaml"), 5),
        (("restore", "decisions#never"), 3),
        (("restore", TEA), 4),
    ],
)
def test_what_cannot_be_ends_with_its_code(memory: Run, args: tuple[str, ...], code: int) -> None:
    before = memory("log", "--json").document["entries"]

    said = memory(*args)

    assert said.code == code
    assert said.err.startswith("error: ") or "Usage" in said.err
    assert memory("log", "--json").document["entries"] == before


def test_what_is_still_true_is_confirmed(memory: Run, files: Path) -> None:
    said = memory("confirm", ESM, "facts/tea.md")

    assert re.fullmatch(rf"confirmed {ESM} ([0-9a-f]{{7}})\nconfirmed facts/tea.md \1\n", said.out)
    assert "- **Confirmed:** 2026-02-08" in (files / HOME).read_text()
    again = memory("confirm", "decisions#use-esm-only")
    assert again.out == f"unchanged {ESM}: confirmed today already\n"
    document = memory("confirm", ESM, TEA, "--json").document
    assert document["confirmed"] == [TEA]
    assert document["already"] == [ESM]
    assert document["date"] == "2026-02-08"


def test_what_does_not_age_says_why(memory: Run) -> None:
    memory("write", "state.md", "All is well.")

    said = memory("confirm", "state.md")

    assert said.code == 5
    assert (
        "error: 'state.md' does not age: entries of the layer state (document) do not age"
        in said.err
    )


def test_the_versions_of_an_entry_are_offered(memory: Run, files: Path) -> None:
    memory("write", HOME, "It was time.", "--entry", "Use ESM only")

    said = memory("restore", ESM)

    assert said.code == 4
    found = re.search(r"gitmem (restore \S+ --at \w+)$", said.out.splitlines()[0])
    assert found
    command = found[1].replace("'", "").split()
    assert memory(*command).code == 0
    assert (files / HOME).read_text() == DECISIONS
    assert memory("restore", *command[1:]).out.startswith("nothing to restore")
