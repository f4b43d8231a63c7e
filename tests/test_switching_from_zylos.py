"""The page for those who switch from zylos, walked from the old folder through a day and back."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.git import git
from tests.support.old_folders import say_in_c4, zylos_folder
from tests.support.switching import Page, Walk, bytes_of, needs, shown

# 09:00 in Shanghai, where the bot lives by its .env.
MONDAY = "2026-02-09T01:00:00Z"
CORE = ["identity.md", "state.md", "references.md"]


@pytest.fixture
def zylos(sealed_machine: Path) -> Path:
    return zylos_folder(sealed_machine / "zylos")


@pytest.fixture
def walk(zylos: Path, sealed_machine: Path) -> Walk:
    return Walk(Page("from-zylos"), sealed_machine, MONDAY)


def sections(memory: Path) -> str:
    """What the seed shows: the three core files, each under its label."""
    labels = dict(zip(["BOT IDENTITY", "ACTIVE STATE", "REFERENCES"], CORE, strict=True))
    return "\n\n".join(
        f"=== {label} ===\n{shown(memory / name) if (memory / name).is_file() else '(missing)'}"
        for label, name in labels.items()
    )


def under(page: Path, heading: str) -> str:
    """The part of PAGE under a second-level heading."""
    return page.read_text("utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]


def tasks_of(zylos: Path) -> dict[str, str]:
    """The texts that the scheduler has, by name."""
    found = json.loads((zylos / ".claude/skills/scheduler/tasks.json").read_text())
    return {name: task["text"] for name, task in found.items()}


class TestAdopting:
    def test_the_files_stay_and_the_daily_commits_come_along(self, walk: Walk, zylos: Path) -> None:
        before, memory = bytes_of(zylos), zylos / "memory"

        adopting = walk.steps("Adopt the folder")
        first = next(adopting)

        assert first.endswith(sections(memory))
        assert "in Asia/Shanghai, by TZ in " in first
        assert bytes_of(zylos) == before | {
            "memory/gitmem.yaml": (memory / "gitmem.yaml").read_bytes()
        }
        assert git(zylos, "status", "--porcelain") == ""
        log = git(memory, "log", "--format=%s %ad", "--date=short", "--", "reference/projects.md")
        assert log == "memory: daily snapshot 2026-02-06 2026-02-06\n"
        assert "zia.example.com" not in git(memory, "log", "-p")

        status = next(adopting)
        assert "kept 4 messages" in status
        assert "Backup is done" in status

    def test_a_missing_file_is_said_to_be_missing(self, walk: Walk, zylos: Path) -> None:
        (zylos / "memory" / "references.md").unlink()

        assert next(walk.steps("Adopt the folder")).endswith(sections(zylos / "memory"))
        assert sections(zylos / "memory").endswith("=== REFERENCES ===\n(missing)")


class TestTheGateway:
    def test_a_session_starts_with_memory_once_and_the_open_messages(
        self, walk: Walk, zylos: Path
    ) -> None:
        walk.step("Adopt the folder")

        walk.step("Change the gateway")
        said = walk.session_start(zylos)

        assert said.startswith(sections(zylos / "memory"))
        assert said.count("=== ACTIVE STATE ===") == 1
        assert said.index("Backup is done") < said.index("The totals are wrong")
        assert "Is the backup on the NAS?" not in said, "it is summarised"
        local = json.loads((zylos / ".claude" / "settings.local.json").read_text())
        assert local["hooks"]["SessionStart"] == [
            {"matcher": "", "hooks": [{"type": "command", "command": "echo good morning"}]}
        ]
        page = (zylos / "CLAUDE.md").read_text()
        assert "## Memory System" not in page
        assert page.endswith("## Tools\n\nMany.\n")
        skill = (zylos / ".claude/skills/zylos-memory/SKILL.md").read_text()
        assert "gitmem-memory" in skill

    def test_c4_tells_memory_each_message_once(self, walk: Walk, zylos: Path) -> None:
        needs("node")
        walk.step("Adopt the folder")
        walk.place("Change the gateway")
        database = zylos / "comm-bridge" / "c4.db"
        with closing(sqlite3.connect(database)) as connection, connection:
            say_in_c4(connection, ("2026-02-09 00:59:00", "in", "telegram", "ada", "Good morning"))
        calls = f"""
            import {{ tellMemory }} from "{zylos}/.claude/skills/comm-bridge/scripts/gitmem.js";
            tellMemory("{database}");
        """

        for _ in range(2):
            walk.run("node --input-type=module -", input=calls)

        assert walk.run("gitmem transcript show telegram:ada").count("Good morning") == 1

    def test_more_than_thirty_messages_call_for_a_sync(self, walk: Walk, zylos: Path) -> None:
        with closing(sqlite3.connect(zylos / "comm-bridge" / "c4.db")) as connection, connection:
            many = [
                (f"2026-02-08 13:00:{n:02}", "in", "lark", "team", f"Row {n}") for n in range(29)
            ]
            say_in_c4(connection, *many)
        walk.step("Adopt the folder")
        walk.step("Change the gateway")

        said = walk.session_start(zylos)

        assert "[Action Required] There are 31 unsummarized conversations." in said
        assert said.startswith(sections(zylos / "memory"))


def test_a_day(walk: Walk, zylos: Path) -> None:
    needs("node")
    before, memory = bytes_of(zylos), zylos / "memory"
    walk.step("Adopt the folder")
    walk.step("Change the gateway")
    walk.place("Change the gateway")
    walk.session_start(zylos)

    walk.now = "2026-02-09T01:10:00Z"
    day = walk.steps("A day")
    fetches(next(day), memory, before["memory/sessions/current.md"])
    next(day)
    sorts(memory)
    assert "snapshot/2026-02-09" in next(day)
    assert "The tax table." in sections(memory)
    assert walk.run("gitmem inject") == sections(memory)
    assert walk.run("gitmem transcript pending") == "No unsummarized conversations.\n"
    consolidates(next(day), memory, before["memory/sessions/2025-12-30.md"])

    walk.step("Old hooks and cron lines")
    rotates_at_midnight(walk, zylos)
    assert walk.session_start(zylos).startswith(sections(memory))

    after = bytes_of(memory)
    old = {name.removeprefix("memory/"): data for name, data in before.items()}
    assert {name for name in after if after[name] != old.get(name)} == CHANGED | ADDED
    walk.step("Go back")
    after = bytes_of(zylos)
    assert after.keys() - before.keys() == {
        ".claude/skills/scheduler/tasks.json",
        *(f"memory/{name}" for name in ADDED - {"gitmem.yaml"}),
    }
    assert before.items() <= after.items(), "files, hooks, settings, sections and skills"
    assert "?? memory/sessions/2026-02-09.md" in git(zylos, "status", "--porcelain", "-uall")
    assert walk.skipped() == []


def fetches(said: str, memory: Path, log: bytes) -> None:
    """The log of yesterday has its date, and the open messages are handed out."""
    assert "[Unsummarized Range] begin=3 end=4 count=2" in said
    assert "The totals are wrong" in said
    assert "backup" not in said
    assert (memory / "sessions/2026-02-08.md").read_bytes() == log
    assert shown(memory / "sessions/current.md") == "# Session Log: 2026-02-09"


def sorts(memory: Path) -> None:
    """Each entry stands under the heading that fits its status, and no other line has changed."""
    projects = memory / "reference" / "projects.md"
    assert "### Tax table\n- **Status:** active\n" in under(projects, "Active")
    assert "### Invoice page\n- **Status:** completed\n" in under(projects, "Completed")
    assert "### Backup\n- **Status:** completed\n" in under(projects, "Completed")
    assert "Checks totals herself" in shown(memory / "users/ada/profile.md")


def consolidates(said: str, memory: Path, log: bytes) -> None:
    """The report has the seed's keys; a log and an entry that are over go to the archive."""
    report = json.JSONDecoder().raw_decode(said)[0]
    assert report["sessions"]["archiveCandidatesOlderThan30Days"] == ["2025-12-30.md"]
    assert [each["file"] for each in report["budgets"]["checks"]] == CORE
    assert report["budgets"]["overBudget"] == []
    assert (memory / "archive/sessions/2025-12-30.md").read_bytes() == log
    assert "### Memory without git" not in (memory / "reference/decisions.md").read_text()
    assert "### ESM only" in (memory / "reference/decisions.md").read_text()


def rotates_at_midnight(walk: Walk, zylos: Path) -> None:
    """What the scheduler tells the agent to run begins a log when the day of the .env is over."""
    sessions = zylos / "memory" / "sessions"
    assert "zylos-memory/scripts" not in str(tasks_of(zylos))
    command = tasks_of(zylos)["session-rotation-daily"].partition("Run: ")[2]
    walk.now = "2026-02-09T15:59:00Z"
    walk.run(command)
    assert not (sessions / "2026-02-09.md").exists(), "it is still Monday in Shanghai"
    walk.now = "2026-02-09T16:01:00Z"
    walk.run(command)
    assert "a tax table comes next" in shown(sessions / "2026-02-09.md")
    assert shown(sessions / "current.md") == "# Session Log: 2026-02-10"


CHANGED = {
    "reference/decisions.md",
    "reference/projects.md",
    "sessions/current.md",
    "state.md",
    "users/ada/profile.md",
}
ADDED = {
    "archive/reference/decisions.md",
    "archive/sessions/2025-12-30.md",
    "gitmem.yaml",
    "sessions/2026-02-08.md",
    "sessions/2026-02-09.md",
}
"""What the day has made of the folder."""


def test_going_back_keeps_what_was_written_since(walk: Walk, zylos: Path) -> None:
    before, excluded = bytes_of(zylos), (zylos / ".git/info/exclude").read_bytes()
    walk.step("Adopt the folder")
    walk.step("Change the gateway")
    walk.place("Change the gateway")
    walk.run("gitmem write state --append '- [ ] Tea'")

    walk.run(walk.page.blocks("Go back", "sh")[-1].text)

    state = before["memory/state.md"] + b"- [ ] Tea\n"
    assert bytes_of(zylos) == before | {"memory/state.md": state}
    assert (zylos / ".git/info/exclude").read_bytes() == excluded
