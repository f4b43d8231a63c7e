"""The page for those who switch from nano, walked from the old folders through a day and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.git import git
from tests.support.old_folders import nano_folder
from tests.support.switching import Page, Walk, bytes_of, needs, shown

MONDAY = "2026-02-09T09:00:00Z"
MOVED = "Session Compaction: kept in MEMORY.md."


@pytest.fixture
def gateway(sealed_machine: Path) -> Path:
    return nano_folder(sealed_machine)


@pytest.fixture
def walk(gateway: Path) -> Walk:
    return Walk(Page("from-nano"), gateway.parent, MONDAY)


def snippets(*found: tuple[str, str, str, str]) -> str:
    """What a prompt gets: numbered passages with group, path, date and freshness."""
    lines = [
        f"[{number}] ({group}: {path}, {when}) {text}"
        for number, (group, path, when, text) in enumerate(found, 1)
    ]
    return "\n\n".join(["Relevant memory snippets:\n" + lines[0], *lines[1:]])


def migrated(soul: str, memory: str) -> tuple[str, str]:
    """SOUL.md and MEMORY.md as the seed's migration makes them, by its two rules."""
    head, _, rest = soul.partition("## Session Compaction ")
    section, following, tail = rest.partition("\n## ")
    kept = "".join([head, following.lstrip("\n"), tail]).strip("\n")
    return kept, f"{memory.strip(chr(10))}\n\n## Session Compaction {section}".strip("\n")


def adopted(walk: Walk) -> None:
    walk.step("Adopt the folder")


def calls(walk: Walk, script: str) -> Any:
    """Run SCRIPT with the functions of the page's module; it prints what it returns, as JSON."""
    needs("node")
    walk.place("Change the gateway")
    module = walk.home / "gateway" / "src" / "memory.mjs"
    lines = f'import * as memory from "{module}";\n{script}'
    return json.loads(walk.run("node --input-type=module -", input=lines))


def asked(walk: Walk, function: str, *arguments: Any) -> Any:
    """What the gateway's FUNCTION returns."""
    given = ", ".join(map(json.dumps, arguments))
    return calls(walk, f"console.log(JSON.stringify(memory.{function}({given})));")


def test_adopting_leaves_the_work_beside_memory_alone(walk: Walk, gateway: Path) -> None:
    home, before = walk.home, bytes_of(walk.home)
    folders = [home / "nano", *(gateway / "groups" / name for name in ("family", "global"))]

    adopting = walk.steps("Adopt the folder")
    next(adopting)

    new = {f"{folder.relative_to(home)}/gitmem.yaml" for folder in folders}
    after = {name: data for name, data in bytes_of(home).items() if ".local" not in name}
    assert after.keys() - before.keys() - {".walk"} == new
    assert before.items() <= after.items()
    tracked = git(home / "nano", "ls-files").split()
    assert {name for name in tracked if "src" in name} == set()
    assert "memory/suppliers.md" in tracked
    assert git(home / "nano", "status", "--porcelain") == ""
    next(adopting)
    assert walk.run("gitmem transcript pending") == "No unsummarized conversations.\n"


class TestTheGateway:
    def test_a_prompt_gets_its_soul_and_what_fits(self, walk: Walk) -> None:
        adopted(walk)
        asked(walk, "startup")
        wifi = "Where is the password of the wifi?"

        paper = asked(
            walk, "buildMemoryContext", {"groupFolder": "main", "prompt": "Who sells us paper?"}
        )
        shared = asked(walk, "buildMemoryContext", {"groupFolder": "family", "prompt": wifi})
        poem = asked(walk, "buildMemoryContext", {"groupFolder": "main", "prompt": "Sing!"})

        assert paper["systemPrompt"] == shown(walk.home / "nano" / "SOUL.md")
        supplier = shown(walk.home / "nano" / "memory" / "suppliers.md")
        assert paper["memoryContext"] == snippets(
            ("group", "memory/suppliers.md", "2026-01-12, aging", supplier)
        )
        everyone = shown(walk.home / "gateway" / "groups" / "global" / "MEMORY.md")
        assert shared["memoryContext"] == snippets(("global", "MEMORY.md", "2026-01-02", everyone))
        assert poem["memoryContext"] == ""

    def test_an_edit_of_the_last_run_is_found(self, walk: Walk) -> None:
        adopted(walk)
        note = walk.home / "nano" / "memory" / "keys.md"
        note.write_text("The key of the cellar hangs behind the clock.\n")

        found = asked(
            walk, "buildMemoryContext", {"groupFolder": "main", "prompt": "the key of the cellar"}
        )

        assert "behind the clock" in found["memoryContext"]

    def test_limits_hold(self, walk: Walk) -> None:
        adopted(walk)
        wish = {"groupFolder": "main", "prompt": "deploys of the printer"}

        few = asked(walk, "buildMemoryContext", {**wish, "topK": 1})["memoryContext"]
        many = asked(walk, "buildMemoryContext", wish)["memoryContext"]
        short = asked(walk, "buildMemoryContext", {**wish, "chars": 100})["memoryContext"]

        assert "[1] " in few
        assert "[2] " not in few
        assert "[2] " in many
        assert len(short) <= 100 + len("Relevant memory snippets:\n")

    def test_actions_read_what_is_allowed_and_nothing_else(self, walk: Walk) -> None:
        adopted(walk)
        get = {"action": "memory_get"}

        assert (
            "Monday"
            in asked(walk, "executeMemoryAction", "main", {**get, "path": "MEMORY.md"})["text"]
        )
        for path in ("SOUL.md", "../nano/MEMORY.md", "/etc/passwd", "src/prices.js", "--help"):
            refused = asked(walk, "executeMemoryAction", "main", {**get, "path": path})
            assert refused["error"]["hint"], path
        hits = asked(
            walk, "executeMemoryAction", "main", {"action": "memory_search", "query": "blue"}
        )
        assert "Blue, since Thursday" in [each["text"] for each in hits["hits"]]

    def test_only_main_asks_for_another_group(self, walk: Walk) -> None:
        adopted(walk)
        wish = {"action": "memory_get", "path": "MEMORY.md"}

        main = asked(walk, "executeMemoryAction", "main", {**wish, "groupFolder": "family"})
        family = asked(walk, "executeMemoryAction", "family", {**wish, "groupFolder": "main"})
        own = asked(walk, "executeMemoryAction", "family", wish)

        assert "Grandma" in main["text"]
        assert "text" not in family
        assert family["error"]["message"]
        assert own["text"] == main["text"]

    def test_a_compaction_lands_in_memory_and_the_next_run_is_fresh(self, walk: Walk) -> None:
        adopted(walk)
        wish = {"groupFolder": "family", "summary": "May is fixed.", "timestamp": MONDAY}

        done = asked(walk, "compact", wish)

        assert done["nextRunNoContinue"] is True
        assert done["requestId"].startswith("compact-")
        assert done["preview"] == "May is fixed."
        kept = (walk.home / "gateway/groups/family/MEMORY.md").read_text()
        assert "## Session Compaction 2026-02-09T09:00:00" in kept
        assert kept.endswith("\n\nMay is fixed.\n")

    def test_messages_are_kept_once_and_found_in_their_chat(self, walk: Walk) -> None:
        adopted(walk)
        said = {"groupFolder": "main", "chatJid": "ada@s", "sender": "Ada", "id": "m7"}

        for _ in range(2):
            asked(walk, "keepMessage", {**said, "text": "--json is an invoice option"})

        found = json.loads(walk.run("gitmem search --chat ada@s --json invoice"))
        assert [each["id"] for each in found["hits"]].count("m7") == 1

    def test_without_gitmem_a_run_goes_on(self, walk: Walk) -> None:
        wish = {"groupFolder": "nobody", "prompt": "Hello"}

        assert asked(walk, "buildMemoryContext", wish) == {"systemPrompt": "", "memoryContext": ""}


def test_a_day(walk: Walk, gateway: Path) -> None:
    nano, family = walk.home / "nano", gateway / "groups" / "family"
    before = {folder: bytes_of(folder) for folder in (nano, family)}
    adopted(walk)

    walk.now = "2026-02-09T16:10:00Z"
    day = walk.steps("A day")
    assert "migrate" in next(day)
    for folder, old in ((nano, "SOUL.md"), (family, "CLAUDE.md")):
        soul, memory = migrated(before[folder][old].decode(), before[folder]["MEMORY.md"].decode())
        assert shown(folder / "SOUL.md").replace(f"\n\n{MOVED}", "") == soul
        assert shown(folder / "MEMORY.md") == memory
    assert not (family / "CLAUDE.md").exists()
    assert next(day) == f"{shown(nano / 'SOUL.md')}\n\n" + snippets(
        ("group", "memory/suppliers.md", "2026-01-12, aging", shown(nano / "memory/suppliers.md"))
    )
    found = next(day)
    assert "Since February also from [Papirhuset]." in found
    assert "Which colour has the [invoice] [folder]?" in found
    assert "## Session Compaction 2026-02-09T16:00:00" in next(day)
    assert "memory/plants.md" in next(day)

    walk.now = "2026-02-09T23:00:00Z"
    assert "snapshot/2026-02-09" in walk.step("Old hooks and cron lines")
    assert walk.session_start(nano).startswith(shown(nano / "SOUL.md"))

    after = bytes_of(nano)
    changed = {name for name in after if after[name] != before[nano].get(name)}
    assert changed == {
        "MEMORY.md",
        "SOUL.md",
        "gitmem.yaml",
        "memory/plants.md",
        "memory/suppliers.md",
    }
    assert after["memory/suppliers.md"].startswith(before[nano]["memory/suppliers.md"])
    assert after["memory/plants.md"].endswith(before[nano]["memory/plants.md"])
    walk.step("Go back")
    assert bytes_of(nano) == before[nano]
    assert bytes_of(family) == before[family] | {"SOUL.md": (family / "SOUL.md").read_bytes()}
    assert walk.skipped() == []


def test_going_back_keeps_what_was_written_since(walk: Walk, gateway: Path) -> None:
    folders = (walk.home / "nano", gateway / "groups")
    before = [bytes_of(folder) for folder in folders]
    adopted(walk)
    walk.run("gitmem -g family write memory/trip.md 'Bergen, by train.'")

    walk.run(walk.page.blocks("Go back", "sh")[-1].text)

    before[1]["family/memory/trip.md"] = b"Bergen, by train.\n"
    assert [bytes_of(folder) for folder in folders] == before
