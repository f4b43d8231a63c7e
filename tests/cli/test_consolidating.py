"""`gitmem consolidate` at the command line."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from tests.support.cli import Run

LATER = {"GITMEM_NOW": "2026-03-30T12:00:00Z"}
HOME = "reference/decisions.md"
TEXT = """\
### Use tabs
- **Status:** superseded

### Use ESM
- **Status:** active

### Never delete
- **Status:** active
- **Importance:** 1
"""


@pytest.fixture
def memory(run: Run) -> Run:
    then = {"GITMEM_NOW": "2026-02-08T12:00:00Z"}
    assert run("init", "--layout", "zylos", **then).code == 0
    assert run("write", HOME, "-", "--allow-shrink", input=TEXT, **then).code == 0
    assert run("write", "sessions/2026-02-01.md", "- said\n", **then).code == 0
    return run


def test_the_report_fits_a_screen_and_says_what_to_type(memory: Run) -> None:
    memory("write", "state.md", "x" * 5000, "--allow-shrink", **LATER)
    said = memory("consolidate", **LATER)

    assert said.code == 0
    titles = [each for each in said.out.splitlines() if each.endswith(")") and each[0] != " "]
    assert titles == ["Over budget (1)", "For gitmem consolidate --apply (2)", "To decide (1)"]
    assert "  state.md  5,001 of 4,096 bytes  122 %\n" in said.out
    assert "superseded, and unchanged for 50 days\n" in said.out
    assert f"gitmem confirm '{HOME}#use-esm'\n" in said.out
    assert "0 active, 0 aging, 3 fading, 0 stale; 1 immune" in said.out
    assert len(said.out.splitlines()) < 25


def test_the_report_has_the_keys_that_scripts_of_zylos_read(memory: Run) -> None:
    memory("write", "state.md", "x" * 5000, "--allow-shrink", **LATER)
    memory("rm", "references.md", **LATER)

    found = memory("consolidate", "--json", "--keys", "seed", **LATER).document
    own = memory("consolidate", "--json", **LATER).document

    assert set(found) == {
        *("schema_version", "timestamp", "memoryDir", "totals", "budgets", "referenceFiles"),
        *("sessions", "oldestFiles", "largestFiles", "recommendations"),
    }
    assert found["memoryDir"] == own["memory_dir"]
    assert found["totals"] == {
        "files": own["totals"]["files"],
        "sizeBytes": own["totals"]["size_bytes"],
    }
    assert found["budgets"]["rules"] == {
        "identity.md": 4096,
        "state.md": 4096,
        "references.md": 2048,
    }
    assert found["budgets"]["overBudget"] == ["state.md"]
    checks = {each["file"]: each for each in found["budgets"]["checks"]}
    state = checks["state.md"]
    assert (state["sizeBytes"], state["budgetUsagePct"], state["overBudget"]) == (5001, 122, True)
    assert state["modifiedAt"].startswith("2026-03-30T12:00:00")
    assert checks["references.md"] == {
        "file": "references.md",
        "exists": False,
        "budgetBytes": 2048,
        "overBudget": False,
    }
    assert found["sessions"] == {"archiveCandidatesOlderThan30Days": ["2026-02-01.md"]}
    decisions = next(each for each in found["referenceFiles"] if each["file"] == HOME)
    assert (decisions["exists"], decisions["ageDays"], decisions["freshness"]) == (
        True,
        50,
        "fading",
    )
    assert set(found["largestFiles"][0]) == {"path", "sizeBytes", "modifiedAt", "ageDays"}
    assert found["recommendations"] == own["recommendations"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--keys", "seed"), "gitmem consolidate --json --keys seed"),
        (("--json", "--keys", "old"), "'old'"),
        (("--json", "--keys", "seed", "--apply"), "--keys only works with the report"),
    ],
)
def test_keys_go_with_a_report_in_json(memory: Run, args: tuple[str, ...], said: str) -> None:
    done = memory("consolidate", *args, **LATER)

    assert (done.code, said in done.out + done.err) == (2, True), done.err


def test_the_timestamp_under_the_keys_of_a_seed_is_that_of_the_run(memory: Run) -> None:
    now = "2026-03-30T20:15:00+00:00"

    found = memory("consolidate", "--json", "--keys", "seed", GITMEM_NOW=now).document

    assert datetime.fromisoformat(found["timestamp"]) == datetime.fromisoformat(now)


def test_the_report_is_one_document_that_says_the_same_twice(memory: Run) -> None:
    first = memory("consolidate", "--json", **LATER)

    assert memory("consolidate", "--json", GITMEM_NOW="2026-03-30T20:00:00Z").raw == first.raw
    found = first.document
    assert found["sessions"] == {
        "archive_candidates_older_than_30_days": ["sessions/2026-02-01.md"]
    }
    assert [each["action"] for each in found["entries"]["fading"]] == ["confirm", "archive"]
    assert found["timestamp"] == "2026-03-30T00:00:00+00:00"
    assert memory("consolidate", "--json", "--quiet", **LATER).raw == first.raw


def test_a_group_in_order_has_nothing_to_do(run: Run) -> None:
    run("init")

    assert run("consolidate").out.splitlines()[-1] == "nothing to do"


def test_apply_says_what_it_did_and_how_to_take_it_back(memory: Run, files: Path) -> None:
    tried = memory("consolidate", "--apply", "--dry-run", **LATER)
    assert "would archive sessions/2026-02-01.md to archive/sessions/2026-02-01.md\n" in tried.out
    assert not (files / "archive").exists()

    said = memory("consolidate", "--apply", **LATER)
    assert said.code == 0
    assert f"archived {HOME}#use-tabs to archive/{HOME}#use-tabs\n" in said.out
    last, before = memory("log", "-n", "2", "--json").document["entries"]
    way = f"gitmem undo {last['commit'][:7]} {before['commit'][:7]}\n"
    assert f"logged in sessions/current.md; to take it back: {way}" in said.out
    assert "To decide (1)" in said.out
    assert "consolidate: archived 1 old log" in (files / "sessions/current.md").read_text()

    again = memory("consolidate", "--apply", "--json", **LATER).document
    assert (again["changed"], again["logs"], again["entries"]) == (False, [], [])
    assert memory("undo", "--last", "3", **LATER).code == 0
    assert (files / HOME).read_text() == TEXT


def test_a_plan_is_shown_and_then_landed(memory: Run, files: Path, tmp_path: Path) -> None:
    base = memory("consolidate", "--json", **LATER).document["commit"]
    plan = tmp_path / "plan.ndjson"
    plan.write_text(
        json.dumps({"base": base})
        + "\n"
        + json.dumps({"action": "confirm", "address": f"{HOME}#use-esm"})
        + "\n"
    )
    shown = memory("consolidate", "--plan", str(plan), "--dry-run", **LATER)

    assert shown.code == 0
    assert "+- **Confirmed:** 2026-03-30\n" in shown.out
    assert (files / HOME).read_text() == TEXT
    said = memory("consolidate", "--plan", "-", input=plan.read_bytes(), **LATER)
    assert said.out.startswith(f"confirm {HOME}#use-esm\n")
    assert "; to take it back: gitmem undo " in said.out
    assert "- **Confirmed:** 2026-03-30\n" in (files / HOME).read_text()
    # The plan is about a text that is no longer there.
    assert memory("consolidate", "--plan", str(plan), **LATER).code == 4
    skipped = memory("consolidate", "--plan", str(plan), "--skip-changed", **LATER)
    assert (skipped.code, skipped.out.splitlines()[-1]) == (0, "nothing to change")


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        ('{"action": "archive", "address": "decisions#none"}', 5),
        ("nonsense", 2),
        ("", 2),
    ],
)
def test_a_bad_plan_writes_nothing(memory: Run, files: Path, plan: str, code: int) -> None:
    said = memory("consolidate", "--plan", "-", "--json", input=plan, **LATER)

    assert said.code == code
    assert (files / HOME).read_text() == TEXT
    if plan:
        assert said.error["problems"][0]["line"] == 1


@pytest.mark.parametrize(
    "options",
    [
        ("--apply", "--plan", "x"),
        ("--apply", "--at", "yesterday"),
        ("--plan", "x", "--at", "yesterday"),
        ("--base", "HEAD"),
        ("--skip-changed",),
        ("--dry-run",),
        ("--plan", "no/such/file"),
        ("--plan", ""),
    ],
)
def test_options_that_make_no_sense_together_are_refused(
    memory: Run, options: tuple[str, ...]
) -> None:
    assert memory("consolidate", *options, **LATER).code == 2
