"""The pages for those who switch: each is walked, from the old folder to a day and back."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest

from gitmem.cli.app import app
from tests.support.git import git
from tests.support.old_folders import soul_folder
from tests.support.switching import DOCS, Page, Walk, bytes_of, needs

ROOT = DOCS.parent
PAGES = ["from-soul"]
SECTIONS = [
    "What replaces what",
    "Adopt the folder",
    "Change the gateway",
    "A day",
    "Old hooks and cron lines",
    "What is different, and why",
    "Go back",
]


class TestEveryPage:
    @pytest.fixture(params=PAGES)
    def each(self, request: pytest.FixtureRequest) -> Page:
        return Page(str(request.param))

    def test_has_the_same_sections(self, each: Page) -> None:
        assert each.sections == SECTIONS

    def test_has_a_command_for_each_part_of_the_old_system(self, each: Page) -> None:
        rows = each.rows("What replaces what")

        assert len(rows) > 5
        assert all(len(row) == 2 and all(row) for row in rows)

    def test_names_commands_and_options_that_exist(self, each: Page) -> None:
        assert len(each.commands()) > 10
        for line in each.commands():
            assert unknown_words(line) == [], line

    def test_is_linked(self, each: Page) -> None:
        assert f"(docs/{each.name}.md)" in (ROOT / "README.md").read_text("utf-8")
        assert f"({each.name}.md)" in (DOCS / "layouts.md").read_text("utf-8")

    def test_links_to_pages_that_exist(self, each: Page) -> None:
        for target in re.findall(r"\]\(([\w.-]+)(?:#[\w-]+)?\)", each.text):
            assert (DOCS / target).is_file(), target


def unknown_words(line: str) -> list[str]:
    """The commands and options of LINE that gitmem does not have."""
    words = re.sub(r"^gitmem (-g \S+ )?", "", line)
    command: click.Command = app
    known = {"-g", "--group", "--store", "--json", "-q", "--quiet", "--"}
    for word in shlex.split(words):
        if isinstance(command, click.Group):
            found = command.get_command(click.Context(command), word)
            if found is None:
                return [word]
            command = found
    for each in command.params:
        known |= {*each.opts, *each.secondary_opts}
    return [
        word for word in shlex.split(words) if word.startswith("-") and word not in known | {"-"}
    ]


def shown(path: Path) -> str:
    """A file as a prompt has it: LF, and no blank lines around it."""
    return path.read_text("utf-8").replace("\r\n", "\n").strip("\n")


class TestSoul:
    MONDAY = "2026-02-02T09:00:00Z"

    @pytest.fixture
    def memories(self, sealed_machine: Path) -> Path:
        return soul_folder(sealed_machine / "assistant")

    @pytest.fixture
    def walk(self, memories: Path, sealed_machine: Path) -> Walk:
        return Walk(Page("from-soul"), sealed_machine, self.MONDAY)

    @staticmethod
    def sections(memories: Path) -> str:
        """What the seed shows: two headings, each over the contents of its file."""
        files = {"Your Personality": "soul.md", "About the User": "user.md"}
        return "\n\n".join(
            f"## {heading}\n{shown(memories / name)}"
            for heading, name in files.items()
            if (memories / name).is_file()
        )

    def test_a_day(self, walk: Walk, memories: Path) -> None:
        before = bytes_of(memories)

        assert walk.step("Adopt the folder").endswith(self.sections(memories))
        assert bytes_of(memories) == before | {
            "gitmem.yaml": (memories / "gitmem.yaml").read_bytes()
        }
        assert git(memories.parent, "status", "--porcelain") == ""

        walk.now = "2026-02-02T18:00:00Z"
        day = walk.steps("A day")
        assert "Ada said so" in next(day)
        assert "Drinks coffee" in self.sections(memories)
        assert walk.run("gitmem inject") == self.sections(memories)
        assert "The [greenhouse] comes on Sunday." in next(day)
        next(day)
        assert walk.run("gitmem inject") == self.sections(memories)
        assert (memories / "user.md").read_bytes() == before["user.md"], "restored"
        assert (
            shown(memories / "diary" / "2026-02-02T18-00-00.md")
            == "The greenhouse comes on Sunday."
        )
        assert walk.run("gitmem transcript pending") == "No unsummarized conversations.\n"

        walk.now = "2026-02-02T23:00:00Z"
        assert "snapshot/2026-02-02" in walk.step("Old hooks and cron lines")
        walk.now = "2026-02-03T08:00:00Z"
        assert walk.session_start(memories.parent).startswith(self.sections(memories))

        walk.step("Go back")
        assert bytes_of(memories) == before | {
            "diary/2026-02-02T18-00-00.md": b"The greenhouse comes on Sunday.\n"
        }
        assert walk.skipped() == []

    def test_the_gateway(self, walk: Walk, memories: Path) -> None:
        needs("node")
        walk.step("Adopt the folder")
        walk.place("Change the gateway")
        calls = """
            import { conversation, heartbeat } from "./context.mjs";
            import { keepMessage } from "./memory.mjs";
            keepMessage({ chat: "telegram:1", from: "ada", id: "7", text: "--help me" });
            keepMessage({ chat: "telegram:1", from: "ada", id: "7", text: "--help me" });
            const said = conversation("SYSTEM", "BOARD", "HISTORY", "MESSAGE");
            console.log(JSON.stringify([said, heartbeat("SYSTEM", "BOARD", "TICK")]));
        """
        (memories / "soul.md").write_text("# Soul\n\nI am Quill, and I laugh.\n")
        (memories / "user.md").unlink()

        talk, tick = json.loads(walk.run("node --input-type=module -", input=calls))

        memory = "## Your Personality\n# Soul\n\nI am Quill, and I laugh."
        assert talk == f"SYSTEM\n\n{memory}\n\nBOARD\n\nHISTORY\n\nMESSAGE"
        assert tick == f"SYSTEM\n\n{memory}\n\nBOARD\n\nTICK"
        assert memory == self.sections(memories)
        assert walk.run("gitmem transcript show telegram:1").count("--help me") == 1
        assert "capture  conversation  soul.md" in walk.run("gitmem log soul.md")

    def test_a_gateway_without_memory_goes_on(self, walk: Walk) -> None:
        needs("node")
        walk.place("Change the gateway")
        walk.run("cd assistant")
        calls = """
            import { heartbeat } from "./context.mjs";
            process.stdout.write(heartbeat("SYSTEM", "BOARD", "TICK"));
        """

        assert walk.run("node --input-type=module -", input=calls) == "SYSTEM\n\nBOARD\n\nTICK"
