"""Folders as the systems that people switch from have left them, made by code."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from tests.support.git import git


def fill(folder: Path, files: Mapping[str, tuple[str, str]]) -> Path:
    """Write FILES below FOLDER: each path has the moment of its last change and its text."""
    for name, (moment, text) in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        changed = datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()
        os.utime(path, (changed, changed))
    return folder


def project(folder: Path, ignores: str = "") -> Path:
    """A git repository of the person's own around the memory, with one commit."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / ".gitignore").write_text(ignores)
    git(folder, "add", ".gitignore")
    git(folder, "commit", "--quiet", "-m", "the gateway")
    return folder


SOUL = {
    "soul.md": (
        "2026-01-28T09:12:00",
        "# Soul\n\nI am Quill: calm, brief, curious.\n\n## Learned\n\nI ask before I act.\n",
    ),
    "user.md": (
        "2026-02-01T20:15:00",
        "# Ada\r\n\r\n- Lives in Oslo\r\n- Drinks tea\r\n\r\n## Projects\r\n\r\nA garden.",
    ),
    "diary/2026-01-30T08-00-00.md": (
        "2026-01-30T08:00:00",
        "Ada planned the beds of her garden.\n",
    ),
    "diary/2026-02-01T14-30-00.md": (
        "2026-02-01T14:30:00",
        "---\nmood: quiet\n---\nWe talked about seeds: beans, kale.\n",
    ),
    "diary/2026-02-01T20-15-00.md": ("2026-02-01T20:15:00", "The greenhouse arrives on Friday."),
    "diary/notes.md": ("2026-01-20T10:00:00", "A page without a date in its name.\n"),
}


def soul_folder(root: Path) -> Path:
    """The folder `memories/` of a gateway in ROOT: soul.md, user.md and a diary."""
    root.mkdir(parents=True)
    project(root, "node_modules/\nmemories/\n")
    return fill(root / "memories", SOUL)


def page_of(summary: str, body: str, more: str = "") -> str:
    """A page with a `summary` as the system itself writes it."""
    return f"---\nsummary: {summary}\n{more}---\n{body}\n"


ARIZUKO = {
    **{
        f"diary/2026-01-{day:02}.md": (
            f"2026-01-{day:02}T22:00:00",
            page_of(f"Day {day} of the shop", f"All of day {day}."),
        )
        for day in range(19, 31)
    },
    "diary/2026-02-02.md": (
        "2026-02-02T22:00:00",
        '---\r\nsummary: "Stock: counted, 3 < 5 & fine"\r\n---\r\nShelf by shelf.\r\n',
    ),
    "diary/2026-02-03.md": ("2026-02-03T22:00:00", "Nobody wrote a summary for this day.\n"),
    "diary/2026-02-05.md": (
        "2026-02-05T22:00:00",
        "---\nsummary: >-\n  The printer broke,\n  Bob mended it.\n---\nIt was the fuser.\n",
    ),
    "diary/2026-02-06.md": (
        "2026-02-06T22:00:00",
        "---\nsummary: |\n  Ada ordered paper.\nmood: busy\n---\nTen boxes.",
    ),
    "diary/2026-02-08.md": ("2026-02-08T22:00:00", page_of("Rested", "Sunday.")),
    "episodes/2026-01.md": (
        "2026-02-01T03:00:00",
        page_of("January: the shop opened", "A month.", "date: 2026-01-31\n"),
    ),
    "episodes/2026-W05.md": (
        "2026-02-02T03:00:00",
        page_of("The week of the first orders", "A week.", "date: 2026-02-01\n"),
    ),
    **{
        f"episodes/2026-02-{day:02}.md": (
            f"2026-02-{day:02}T23:00:00",
            page_of(
                f"Session {day}: invoices", f"What was said on {day}.", f"date: 2026-02-{day:02}\n"
            ),
        )
        for day in (2, 4, 5, 6)
    },
    "facts/conventions.md": ("2026-01-19T10:00:00", "# Conventions\n\n- Prices in kroner\n"),
    "facts/printer.md": ("2026-02-05T18:00:00", "The printer: <10.0.0.7>, queue `a&b`.\r\n"),
    "users/telegram:123456.md": ("2026-02-06T12:00:00", "Ada. Likes short answers.\n"),
    "users/bob.md": ("2026-01-25T12:00:00", "Bob mends printers.\n"),
}
WORKSPACE = {
    "CLAUDE.md": ("2026-01-19T09:00:00", "You help in the shop.\n"),
    "src/prices.js": ("2026-01-21T09:00:00", "export const paper = 79;\n"),
    "src/node_modules/left/index.js": ("2026-01-21T09:00:00", "module.exports = 1;\n"),
    "media/20260206/photo.jpg": ("2026-02-06T12:00:00", "\u0000not a text"),
}


def arizuko_folder(root: Path) -> Path:
    """The `groups/` of a gateway in ROOT: a shop that is a workspace, too, and docs under git."""
    groups = root / "groups"
    fill(groups / "shop", {**ARIZUKO, **WORKSPACE})
    docs = fill(groups / "docs", {name: ARIZUKO[name] for name in DOCS_PAGES})
    git(docs, "init", "--quiet", "--initial-branch=main")
    for name in DOCS_PAGES:
        git(docs, "add", name)
        git(docs, "commit", "--quiet", "-m", f"add {name}")
    return groups


DOCS_PAGES = ("facts/conventions.md", "users/bob.md", "diary/2026-02-08.md")


def claude_home(home: Path) -> Path:
    """The folder of Claude Code with skills of the old system, a hook and a section of its own."""
    hook = "node /app/hooks/pre-compact.js"
    entry = {"hooks": [{"type": "command", "command": hook}]}
    settings = json.dumps({"hooks": {"PreCompact": [entry]}})
    skills = {
        f"skills/{name}/SKILL.md": (
            "2026-01-19T09:00:00",
            f"---\nname: {name}\ndescription: Use it for {name}.\n---\nWrite plain files.\n",
        )
        for name in ("diary", "recall-memories", "users")
    }
    own = {
        "settings.json": ("2026-01-19T09:00:00", f"{settings}\n"),
        "CLAUDE.md": ("2026-01-19T09:00:00", "# House rules\n\nBe kind."),
    }
    return fill(home / ".claude", {**skills, **own})
