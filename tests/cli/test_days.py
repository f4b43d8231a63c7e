"""`gitmem rotate`, `snapshot`, `snapshots`, `compact`, `migrate`, and the screen of `status`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gitmem.model.text.format import human_size
from tests.support.cli import Run
from tests.support.days import LAYOUT, header
from tests.support.git import git

CURRENT = "sessions/current.md"
MORE = """\
compact: {into: MEMORY.md, daily: "memory/{date}.md"}
migrate:
  {from: CLAUDE.md, to: SOUL.md, sections: "## Session Compaction ", into: MEMORY.md}
"""
TOMORROW = "2026-02-09T00:10:00Z"


@pytest.fixture
def days(gitmem: Run) -> Run:
    layout = LAYOUT.format(zone="timezone: UTC") + MORE
    assert gitmem("write", "gitmem.yaml", layout).code == 0
    return gitmem


def shown(out: str) -> str:
    """OUT with its commits made alike."""
    return re.sub(r"\b[0-9a-f]{7}\b", "COMMIT", out)


def test_rotate_says_what_it_did_and_what_it_need_not_do(days: Run, files: Path) -> None:
    assert days("rotate").out == f"created {CURRENT} for 2026-02-08\n"
    days("write", CURRENT, "- one", "--append")

    again = days("rotate")
    assert (again.code, again.out) == (
        0,
        f"No rotation needed: {CURRENT} is of today, 2026-02-08\n",
    )
    said = days("rotate", GITMEM_NOW=TOMORROW)

    assert shown(said.out) == (
        f"rotated {CURRENT} to sessions/2026-02-08.md COMMIT\ncreated {CURRENT} for 2026-02-09\n"
    )
    assert (files / CURRENT).read_text() == header("2026-02-09")
    assert days("rotate", "--quiet", GITMEM_NOW=TOMORROW).out == ""


def test_rotate_in_json(days: Run, files: Path) -> None:
    (files / "sessions").mkdir()
    (files / CURRENT).write_text(header("2026-02-01") + "- by hand\n")

    found = days("rotate", "--json").document

    assert found["rotated"] == [{"from": CURRENT, "to": "sessions/2026-02-01.md"}]
    assert (found["created"], found["today"], found["changed"]) == ([CURRENT], "2026-02-08", True)
    assert [each["path"] for each in found["captured"]] == [CURRENT]
    assert days("rotate", "--json").document["changed"] is False


def test_rotate_gives_back_a_lost_header(days: Run, files: Path) -> None:
    days("rotate")
    (files / CURRENT).write_text("- began anew\n")

    said = days("rotate")

    assert said.out == f"headed {CURRENT}: it is of 2026-02-08\n"
    assert "was found and committed first" in said.err


def test_a_group_without_a_log_is_a_quiet_success(gitmem: Run) -> None:
    said = gitmem("rotate")

    assert (said.code, said.out) == (
        0,
        "No rotation needed: the layout of this group has no log\n",
    )


def test_too_many_logs_are_a_conflict_with_the_next_step(days: Run, files: Path) -> None:
    (files / "sessions").mkdir()
    for name in ["2026-02-01", *(f"2026-02-01-{number}" for number in range(1, 101))]:
        (files / "sessions" / f"{name}.md").write_text("x\n")
    (files / CURRENT).write_text(header("2026-02-01"))

    said = days("rotate", "--json")

    assert said.code == 4
    assert said.error["date"] == "2026-02-01"
    assert "too many logs for 2026-02-01" in said.error["message"]


def test_snapshot_and_snapshots(days: Run, files: Path) -> None:
    days("write", "state.md", "one")
    (files / "by-hand.md").write_text("x\n")

    said = days("snapshot")
    assert shown(said.out) == "tagged snapshot/2026-02-08 (3 files) COMMIT\n"
    assert "an edit of by-hand.md was captured first" in said.err
    days("write", "state.md", "two")
    again = days("snapshot")
    assert again.code == 0
    assert shown(again.out) == (
        "snapshot/2026-02-08 was made before COMMIT\nanother one today: gitmem snapshot --force\n"
    )
    forced = days("snapshot", "--force")
    assert shown(forced.out) == (
        "tagged snapshot/2026-02-08 (1 file changed since snapshot/2026-02-08-1) COMMIT\n"
        "the one before it is snapshot/2026-02-08-1 now\n"
    )
    assert days("snapshot", "--force").out == "No memory changes to snapshot.\n"
    assert days("snapshot", GITMEM_NOW=TOMORROW).out == "No memory changes to snapshot.\n"

    lines = days("snapshots").out.splitlines()
    assert [line.split()[0] for line in lines] == ["snapshot/2026-02-08", "snapshot/2026-02-08-1"]
    assert "1 file changed" in lines[0]
    assert lines[0].endswith("memory: daily snapshot 2026-02-08")
    (row, _) = days("snapshots", "--json").document["snapshots"]
    assert (row["date"], row["changes"], row["agent"]) == ("2026-02-08", 1, "agent")
    assert len(days("snapshots", "-n", "1", "--json").document["snapshots"]) == 1


def test_a_snapshot_is_a_moment_for_every_command(days: Run) -> None:
    days("write", "state.md", "one")
    days("snapshot")
    days("write", "state.md", "two", GITMEM_NOW=TOMORROW)

    assert days("read", "state.md", "--at", "snapshot/2026-02-08").out == "one\n"
    assert "+two" in days("diff", "snapshot/2026-02-08").out
    assert days("restore", "state.md", "--at", "snapshot/2026-02-08").code == 0
    assert days("read", "state.md").out == "one\n"


def test_what_is_held_is_not_in_a_snapshot_and_that_is_said(days: Run, files: Path) -> None:
    days("write", "state.md", "one")
    (files / "link.md").symlink_to("state.md")

    said = days("snapshot")

    assert said.code == 0
    assert "link.md is not in it: held (link)" in said.err


def test_without_snapshots_the_list_tells_how_to_make_one(gitmem: Run) -> None:
    said = gitmem("snapshots")

    assert (said.code, said.out) == (0, "")
    assert "gitmem snapshot" in said.err


def test_compact_answers_with_a_request_a_preview_and_a_fresh_start(days: Run) -> None:
    said = days("compact", "--summary", "- billing moved\n- open: invoices")

    assert said.code == 0
    lines = shown(said.out).splitlines()
    assert lines[0] == "compacted into MEMORY.md COMMIT"
    assert re.fullmatch(r"request compact-1770561000000-[a-z0-9]{5}", lines[1])
    assert lines[3:5] == ["- billing moved", "- open: invoices"]
    assert days("read", "MEMORY.md").out == (
        "\n## Session Compaction 2026-02-08T14:30:00+00:00\n\n- billing moved\n- open: invoices\n"
    )


def test_compact_takes_no_empty_time_for_now(days: Run) -> None:
    """A variable that is not set would date a session of last week by today."""
    said = days("compact", "--summary", "- billing moved", "--at", "")

    assert said.code == 2
    assert "Invalid value for '--at': it is empty" in said.err


def test_compact_reads_standard_input_and_answers_in_json(days: Run) -> None:
    found = days("compact", "--daily", "--json", input="from a pipe\n").document

    assert (found["path"], found["preview"]) == ("memory/2026-02-08.md", "from a pipe")
    assert found["start_fresh"] is True
    dashed = days("compact", "--summary", "-", "--json", "--id", "r-1", input="x").document
    assert (dashed["request_id"], dashed["recognised"]) == ("r-1", False)
    again = days("compact", "--summary", "x", "--json", "--id", "r-1").document
    assert (again["recognised"], again["commit"]) == (True, dashed["commit"])


def test_compact_refuses_nothing_and_what_is_no_text(days: Run, gitmem: Run) -> None:
    assert days("compact", "--summary", " ").code == 2
    assert days("compact", input=b"\xff\xfe").code == 2


def test_compact_needs_a_layout_that_says_where(gitmem: Run) -> None:
    said = gitmem("compact", "--summary", "x")

    assert said.code == 2
    assert "add `compact: {into: MEMORY.md}` to gitmem.yaml" in said.err


def test_migrate_says_what_it_would_do_then_does_it_once(days: Run, files: Path) -> None:
    days("write", "CLAUDE.md", "# Soul\n\n## Session Compaction 1\n\n- old\n")

    planned = days("migrate", "--dry-run")
    assert planned.out == (
        "would move CLAUDE.md to SOUL.md\nwould move 1 section of SOUL.md to MEMORY.md\n"
    )
    assert (files / "CLAUDE.md").exists()
    done = days("migrate")
    assert shown(done.out) == (
        "moved CLAUDE.md to SOUL.md COMMIT\nmoved 1 section of SOUL.md to MEMORY.md COMMIT\n"
    )
    again = days("migrate")
    assert (again.code, again.out) == (0, "nothing to migrate\n")
    assert days("migrate", "--json").document["sections"] == 0


def test_migrate_leaves_two_files_alone_and_says_so(days: Run) -> None:
    days("write", "CLAUDE.md", "a")
    days("write", "SOUL.md", "b")

    said = days("migrate")

    assert (said.code, said.out) == (0, "nothing to migrate\n")
    assert "CLAUDE.md and SOUL.md both exist" in said.err


SCREEN = """\
gitmem: 1
layout: screens
timezone: UTC
layers:
  identity: {kind: document, path: identity.md, budget: 4 KB, warn: 3 KB}
  state: {kind: document, path: state.md, budget: 1 KB}
  references: {kind: document, path: references.md, budget: 2 KB}
  decisions: {kind: entries, path: decisions.md, status: [active, old], retired: [old]}
  diary: {kind: journal, path: "diary/{date}.md"}
  sessions: {kind: log, path: log.md, rotated: "log/{date}.md", header: "# {date}"}
"""


def test_the_status_is_one_screen(gitmem: Run, files: Path) -> None:
    gitmem("write", "gitmem.yaml", SCREEN)
    gitmem("write", "identity.md", "x" * 1228, "--agent", "ada")
    gitmem("write", "state.md", "x" * 1100)
    gitmem("write", "decisions.md", "### A\n- **Status:** active\n\n### B\n- **Status:** old")
    gitmem("write", "diary/2026-02-07.md", "x")
    gitmem("write", "log.md", "# 2026-02-07")
    gitmem("rotate")
    gitmem("snapshot")

    said = gitmem("status", GITMEM_NOW="2026-02-08T15:00:00Z")

    total = sum(each.stat().st_size for each in files.rglob("*") if each.is_file())
    total -= (files / ".git").stat().st_size
    assert said.code == 0
    assert shown(said.out) == (
        "group   main\n"
        "layout  screens\n"
        f"files   7 files, {human_size(total)} in {files}\n"
        "last    COMMIT  30 minutes ago, rotate log.md by agent\n"
        "snap    COMMIT  snapshot/2026-02-08, 30 minutes ago\n"
        "read    7 files; history not yet (see: gitmem check)\n"
        "health  attention (1 over budget, 1 missing)\n"
        "\n"
        "  identity.md    1.2KB / 4.0KB (30%)   ok       30 minutes ago by ada\n"
        "  state.md       1.1KB / 1.0KB (108%)  over     30 minutes ago by agent\n"
        "  references.md                        missing\n"
        "\n"
        "  decisions.md  1 entry, 1 retired; 30 minutes ago by agent\n"
        "  diary         1 file, last 2026-02-07\n"
        "  log.md        of 2026-02-08, last rotated to log/2026-02-07.md\n"
        "\n"
        "jobs\n"
        "  rotate    done  30 minutes ago  log.md went to log/2026-02-07.md\n"
        "  snapshot  done  30 minutes ago  snapshot/2026-02-08, 7 changed\n"
    )
    due = gitmem("status", GITMEM_NOW=TOMORROW).out
    assert "of 2026-02-08, last rotated to log/2026-02-07.md; next: gitmem rotate" in due


def test_the_status_in_json_has_every_number(gitmem: Run) -> None:
    gitmem("write", "gitmem.yaml", SCREEN)
    gitmem("write", "state.md", "x" * 1100)

    found = gitmem("status", "--json").document

    assert (found["layout"], found["health"]) == ("screens", "attention")
    assert found["concerns"] == ["1 over budget", "2 missing"]
    state = found["holdings"]["core"][1]
    assert (state["path"], state["state"], state["percent"]) == ("state.md", "over", 108)
    assert found["holdings"]["logs"][0]["due"] is True
    assert (found["files"], found["bytes"]) == (2, len(SCREEN.encode()) + 1101)
    assert found["snapshot"] is None


def test_a_broken_layout_shows_in_the_status_and_stops_nothing(gitmem: Run, files: Path) -> None:
    gitmem("write", "gitmem.yaml", SCREEN)
    (files / "gitmem.yaml").write_text("gitmem: 1\nlayers: [\n")
    git(files, "commit", "-qam", "oops")

    said = gitmem("status")

    assert said.code == 0
    assert "layout  screens" in said.out
    assert "gitmem.yaml line" in said.out
    assert gitmem("rotate").code == 0
