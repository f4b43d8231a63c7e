"""The pages for those who switch: each is walked, from the old folder to a day and back."""

from __future__ import annotations

import json
import re
import shlex
from datetime import date, timedelta
from html import escape
from pathlib import Path

import click
import pytest
import yaml

from gitmem.cli.app import app
from tests.support.git import git
from tests.support.old_folders import ARIZUKO, arizuko_folder, claude_home, soul_folder
from tests.support.switching import DOCS, Page, Walk, bytes_of, needs, shown

PAGES = ["from-arizuko", "from-nano", "from-soul", "from-zylos"]
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
        assert f"({each.name}.md)" in (DOCS / "README.md").read_text("utf-8")
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
    return [word for word in shlex.split(words) if re.match(r"-\S", word) and word not in known]


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


class TestArizuko:
    MONDAY = "2026-02-09T09:00:00Z"

    @pytest.fixture
    def shop(self, sealed_machine: Path) -> Path:
        return arizuko_folder(sealed_machine / "arizuko") / "shop"

    @pytest.fixture
    def walk(self, shop: Path, sealed_machine: Path) -> Walk:
        return Walk(Page("from-arizuko"), sealed_machine, self.MONDAY)

    @classmethod
    def blocks(cls, shop: Path, today: str, jid: str = "") -> str:
        """What the seed shows: summaries with their age, facts whole, the file of the sender."""
        day = date.fromisoformat(today)
        user = shop / "users" / f"{jid}.md"
        facts = sorted((shop / "facts").glob("*.md"))
        parts = [cls.summaries(shop / "diary", day, 14), cls.summaries(shop / "episodes", day, 5)]
        parts += [f'<knowledge layer="facts">\n{shown(fact)}\n</knowledge>' for fact in facts]
        if jid and user.is_file():
            parts.append(f'<knowledge layer="user" jid="{jid}">\n{shown(user)}\n</knowledge>')
        return "\n\n".join(parts)

    @staticmethod
    def summaries(folder: Path, today: date, most: int) -> str:
        found = []
        for path in folder.glob("*.md"):
            text = path.read_text("utf-8").replace("\r\n", "\n")
            if text.startswith("---\n"):
                said, last, kind = summary_of(text.split("---\n")[1]), *last_day(path.stem)
                found.append((last, said, f' type="{kind}"' if kind else ""))
        newest = sorted(found, reverse=True)[:most]
        lines = [
            f'<entry age="{age(today, last)}"{kind}>{escape(said)}</entry>'
            for last, said, kind in newest
        ]
        inner = "\n".join(lines)
        return f'<knowledge layer="{folder.name}">\n{inner}\n</knowledge>'

    def test_a_day(self, walk: Walk, shop: Path) -> None:
        groups, jid = shop.parent, "telegram:123456"
        before, host = bytes_of(groups), bytes_of(claude_home(walk.home))

        adopting = walk.steps("Adopt the folder")
        assert next(adopting).endswith(self.blocks(shop, "2026-02-09", jid))
        assert bytes_of(groups) == before | {
            "shop/gitmem.yaml": (shop / "gitmem.yaml").read_bytes()
        }
        listed = set(walk.run("gitmem -g shop list").split())
        assert listed == {"gitmem.yaml", *ARIZUKO}, "and nothing of the workspace"
        next(adopting)
        assert "add users/bob.md" in git(groups / "docs", "log", "--format=%s")
        assert shown(groups / "docs" / "users" / "bob.md") == "Bob mends printers."

        walk.place("Change the gateway")
        assert json.loads(walk.step("Change the gateway")) == {
            "prompt": "Is there paper?",
            "systemPrompt": f"{self.blocks(shop, '2026-02-09', jid)}\n\nYou help in the shop.",
        }

        day = walk.steps("A day")
        assert "capture  shop" in next(day)
        assert '"today">Paper: ten boxes are here<' in self.blocks(shop, "2026-02-09")
        assert walk.run("gitmem -g shop inject") == self.blocks(shop, "2026-02-09")
        assert "ten boxes" in next(day)
        assert "Counts the paper" in self.blocks(shop, "2026-02-09", jid)
        assert "Carl" in self.blocks(shop, "2026-02-09", "whatsapp:4711")
        walk.now = "2026-02-09T17:00:00Z"
        next(day)
        assert '"today">Paper arrived and is counted. Open' in self.blocks(shop, "2026-02-09")
        next(day)
        assert 'type="week">The printer is mended' in self.blocks(shop, "2026-02-09")
        assert walk.run(f"gitmem -g shop inject --user {jid}") == self.blocks(
            shop, "2026-02-09", jid
        )

        walk.now = "2026-02-09T23:00:00Z"
        assert "snapshot/2026-02-09" in walk.step("Old hooks and cron lines")
        skills = walk.home / ".claude" / "skills"
        assert "gitmem write diary" in (skills / "diary" / "SKILL.md").read_text()
        assert (skills / "recall" / "SKILL.md").is_file()
        walk.now = "2026-02-10T08:00:00Z"
        assert walk.session_start(shop).startswith(self.blocks(shop, "2026-02-10"))

        walk.step("Go back")
        assert bytes_of(walk.home / ".claude") == host
        after = bytes_of(groups)
        assert before.keys() - after.keys() == set(self.ROLLED)
        assert self.changed(before, after) == {f"shop/{name}" for name in self.WRITTEN}
        assert git(groups / "docs", "status", "--porcelain") == ""
        assert walk.skipped() == []

    ROLLED = tuple(f"shop/episodes/2026-02-{day:02}.md" for day in (2, 4, 5, 6))
    WRITTEN = (
        "diary/2026-02-09.md",
        "episodes/2026-02-09.md",
        "episodes/2026-W06.md",
        "users/telegram:123456.md",
        "users/whatsapp:4711.md",
    )

    @staticmethod
    def changed(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
        """The files that are new or other bytes; a move to the archive is neither."""
        old = {name.replace("/episodes/", "/archive/episodes/"): before[name] for name in before}
        return {name for name in after if after[name] not in (before.get(name), old.get(name))}

    def test_a_run_of_nobody_known_gets_no_user(self, walk: Walk, shop: Path) -> None:
        walk.step("Adopt the folder")
        walk.place("Change the gateway")

        for jid in ("''", "whatsapp:4711"):
            said = walk.run(f"python3 ../with_memory.py shop {jid}", input='{"prompt": "Hello"}')
            assert json.loads(said)["systemPrompt"] == self.blocks(shop, "2026-02-09")


def summary_of(block: str) -> str:
    """The `summary:` of a page, also where the rest of its line is no YAML; on one line."""
    try:
        said = yaml.safe_load(block)["summary"]
    except yaml.YAMLError:
        said = block.partition("summary: ")[2].partition("\n")[0]
    return " ".join(said.split())


def last_day(name: str) -> tuple[date, str]:
    """The last day that a page is about, by its name, and which span it has if not a day."""
    if "W" in name:
        return date.fromisocalendar(int(name[:4]), int(name[6:]), 7), "week"
    if name.count("-") == 1:
        following = date.fromisoformat(f"{name}-28") + timedelta(days=4)
        return following - timedelta(days=following.day), "month"
    return date.fromisoformat(name), ""


def age(today: date, day: date) -> str:
    """The label that the seed gives an entry."""
    days = (today - day).days
    near = ["today", "yesterday", *(f"{count} days ago" for count in range(2, 7))]
    weeks = days // 7
    return near[days] if days < 7 else f"{weeks} week{'s' if weeks > 1 else ''} ago"
