"""Folders as the systems that people switch from have left them, made by code."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
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


ZYLOS_MEMORY = {
    "identity.md": (
        "2026-01-05T09:00:00",
        (
            "# Identity\n\n## Who I Am\nI am Zia, an agent of a small team.\n\n## Principles\n"
            "- Ask before what cannot be undone\n\n## Timezone\n- Configured TZ: see .env TZ\n\n"
            "## Digital Assets\n\n### Accounts\n- GitHub: zia-bot\n\n### API Key References\n"
            "- OpenAI: key stored in .env as OPENAI_API_KEY\n"
        ),
    ),
    "state.md": (
        "2026-02-08T14:00:00",
        (
            "# Active State\n\nLast updated: 2026-02-08 22:00\n\n## Current Focus\n"
            "The invoice page.\n\n## Pending Tasks\n- [ ] Mend the totals (Ada, 2026-02-07)\n\n"
            "## Recent Completions\n- [x] Backup moved (2026-02-06)\n"
        ),
    ),
    "references.md": (
        "2026-01-20T09:00:00",
        (
            "# References\r\n\r\n## Configuration Sources\r\n"
            "- Environment: ~/zylos/.env (TZ, DOMAIN)\r\n"
            "\r\n## Key Paths\r\n- Memory: ~/zylos/memory/"
        ),
    ),
    "users/default/profile.md": (
        "2026-01-05T09:00:00",
        "# User Profile: (to be learned)\n\n## Notes\n(None yet)\n",
    ),
    "users/ada/profile.md": (
        "2026-02-05T09:00:00",
        (
            "# User Profile: Ada\n\n## Identity\n- User ID: ada\n- Primary Channel: telegram\n\n"
            "## Notes\n- Wants short answers\n\nLast updated: 2026-02-05\n"
        ),
    ),
    "reference/decisions.md": (
        "2025-12-30T09:00:00",
        (
            "# Decisions Log\n\n### ESM only\n- **Date:** 2025-10-02\n- **Decided by:** Ada\n"
            "- **Decision:** All code is ESM.\n- **Context:** CommonJS was the other way.\n"
            "- **Status:** active\n- **Importance:** 2\n- **Type:** procedural\n\n"
            "### Memory without git\n- **Date:** 2025-11-10\n- **Decided by:** Ada\n"
            "- **Decision:** Files alone.\n- **Context:** Simple.\n- **Status:** superseded\n"
            "- **Importance:** 4\n- **Type:** strategic\n"
        ),
    ),
    "reference/projects.md": (
        "2026-02-06T09:00:00",
        (
            "# Projects\n\nActive and planned projects. Updated by Memory Sync.\n\n## Active\n\n"
            "### Invoice page\n- **Status:** active\n- **Started:** 2026-01-15\n"
            "- **Updated:** 2026-02-06\n- **Description:** Totals and taxes.\n- **Importance:** 2\n"
            "- **Type:** factual\n\n## Completed\n\n### Backup\n- **Status:** completed\n"
            "- **Started:** 2025-12-01\n- **Updated:** 2026-02-06\n- **Description:** To the NAS.\n"
            "- **Importance:** 3\n- **Type:** factual\n"
        ),
    ),
    "reference/preferences.md": (
        "2026-01-05T09:00:00",
        (
            "# Shared Preferences\n\n### Plain text in Telegram\n- **Date observed:** 2026-01-05\n"
            "- **Applies to:** all\n- **Importance:** 3\n- **Type:** procedural\n"
        ),
    ),
    "reference/ideas.md": ("2026-01-05T09:00:00", "# Ideas\n\n(No ideas yet.)\n"),
    "sessions/current.md": (
        "2026-02-08T13:00:00",
        "# Session Log: 2026-02-08\n\n- 20:10 Ada asked for the totals\n- 21:00 Found the fault\n",
    ),
    "sessions/2026-02-06.md": (
        "2026-02-06T13:00:00",
        "# Session Log: 2026-02-06\n\n- 10:00 Backup moved to the NAS\n",
    ),
    "sessions/2025-12-30.md": (
        "2025-12-30T13:00:00",
        "# Session Log: 2025-12-30\n\n- 09:00 First day\n",
    ),
    "archive/old-host.md": ("2026-01-10T09:00:00", "The old host was called plum.\n"),
    "archive/.gitkeep": ("2026-01-05T09:00:00", ""),
}
ZYLOS_SCRIPTS = {
    "zylos-memory": (
        "session-start-inject.js",
        "rotate-session.js",
        "memory-sync.js",
        "consolidate.js",
        "memory-status.js",
        "daily-commit.js",
    ),
    "comm-bridge": ("c4-session-init.js", "c4-fetch.js", "c4-checkpoint.js"),
}
ZYLOS_PAGE = """\
# Zia

Be kind.

## Memory System

Files in `~/zylos/memory/`. Memory Sync comes first: invoke `/zylos-memory`.

## Tools

Many.
"""
# A scheduler that only keeps what it is told, one task for each name.
ZYLOS_SCHEDULER = """\
import { existsSync, readFileSync, writeFileSync } from "node:fs";
const file = new URL("../tasks.json", import.meta.url);
const tasks = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
const [verb, subject, ...rest] = process.argv.slice(2);
if (verb === "remove") delete tasks[subject];
if (verb === "add") tasks[rest[rest.indexOf("--name") + 1]] = { text: subject, options: rest };
writeFileSync(file, JSON.stringify(tasks));
"""


def zylos_hooks() -> str:
    """The settings of Claude Code with the two hooks of the old system, and one of the person."""
    scripts = (
        "zylos-memory/scripts/session-start-inject.js",
        "comm-bridge/scripts/c4-session-init.js",
    )
    hooks = [
        {"type": "command", "command": f"node ~/zylos/.claude/skills/{each}", "timeout": 10000}
        for each in scripts
    ]
    own = {"type": "command", "command": "echo good morning"}
    start = [{"matcher": "", "hooks": hooks}, {"matcher": "", "hooks": [own]}]
    return json.dumps({"hooks": {"SessionStart": start}, "model": "opus"}, indent=2) + "\n"


def zylos_folder(root: Path) -> Path:
    """A bot in ROOT with its memory, skills, hooks, `.env`, messages and daily commits."""
    installed = "2026-01-05T09:00:00"
    own = {
        ".env": (installed, "# Timezone\nTZ='Asia/Shanghai'\nDOMAIN=zia.example.com\n"),
        ".gitignore": (installed, ".env\ncomm-bridge/\nnode_modules/\n"),
        "CLAUDE.md": (installed, ZYLOS_PAGE),
        ".claude/settings.local.json": (installed, zylos_hooks()),
        ".claude/skills/scheduler/package.json": (installed, '{"type": "module"}\n'),
        ".claude/skills/scheduler/scripts/cli.js": (installed, ZYLOS_SCHEDULER),
    }
    for skill, scripts in ZYLOS_SCRIPTS.items():
        page = f"---\nname: {skill}\ndescription: {skill} of old.\n---\nRun the scripts.\n"
        own[f".claude/skills/{skill}/SKILL.md"] = (installed, page)
        own[f".claude/skills/{skill}/package.json"] = (installed, '{"type": "module"}\n')
        for name in scripts:
            own[f".claude/skills/{skill}/scripts/{name}"] = (installed, f"// {name}\n")
    fill(root, own)
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "zylos init")
    daily_commits(root)
    c4_database(root / "comm-bridge" / "c4.db", C4_MESSAGES, 2)
    return root


def daily_commits(root: Path) -> None:
    """The memory of ROOT, a commit for each day on which a file changed, but for the last."""
    days = sorted({moment[:10] for moment, _ in ZYLOS_MEMORY.values()})
    for day in days:
        files = {name: file for name, file in ZYLOS_MEMORY.items() if file[0][:10] == day}
        fill(root / "memory", files)
        if day != days[-1]:
            git(root, "add", "memory/")
            moment = f"{day}T23:00:00+08:00"
            dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
            git(root, "commit", "--quiet", "-m", f"memory: daily snapshot {day}", env=dates)


C4_MESSAGES = [
    ("2026-02-06 02:00:00", "in", "telegram", "ada", "Is the backup on the NAS?"),
    ("2026-02-06 02:00:09", "out", "telegram", "ada", "Yes, since this morning"),
    ("2026-02-08 12:10:00", "in", "telegram", "ada", "The totals are wrong"),
    ("2026-02-08 12:10:30", "out", "telegram", "ada", "I look into the taxes"),
]


def c4_database(path: Path, messages: list[tuple[str, str, str, str, str]], closed: int) -> None:
    """The SQLite file of C4 with MESSAGES, of which the first CLOSED have a checkpoint."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(
            "CREATE TABLE checkpoints (id INTEGER PRIMARY KEY, timestamp DATETIME, summary TEXT,"
            " start_conversation_id INTEGER, end_conversation_id INTEGER);"
            "CREATE TABLE conversations (id INTEGER PRIMARY KEY, timestamp DATETIME,"
            " direction TEXT, channel TEXT, endpoint_id TEXT, content TEXT, status TEXT,"
            " priority INTEGER);"
        )
        say_in_c4(database, *messages)
        database.execute(
            "INSERT INTO checkpoints VALUES (1, '2026-02-06 15:00:00', 'Backup is done', 1, ?)",
            (closed,),
        )


def say_in_c4(database: sqlite3.Connection, *messages: tuple[str, str, str, str, str]) -> None:
    """Add MESSAGES as c4-receive.js and c4-send.js do."""
    database.executemany(
        "INSERT INTO conversations (timestamp, direction, channel, endpoint_id, content)"
        " VALUES (?, ?, ?, ?, ?)",
        messages,
    )


NANO_MAIN = {
    "SOUL.md": (
        "2026-02-05T18:00:00",
        (
            "# Andy\n\nI help Ada with her shop.\n\n"
            "## Session Compaction 2026-02-05T18:00:00.000Z\n\n"
            "Invoices moved to the blue folder.\n\n"
            "## Tone\n\nShort and warm.\n"
        ),
    ),
    "MEMORY.md": (
        "2026-02-02T09:00:00",
        (
            "# Memory\n\n## Printer\n\nThe printer is at 10.0.0.7, queue `main`.\n\n"
            "## Deploys\n\nDeploys happen on Monday.\n"
        ),
    ),
    "memory/suppliers.md": (
        "2026-01-12T09:00:00",
        "# Suppliers\r\n\r\nPaper comes from Nordpapir, ten boxes at a time.\r\n",
    ),
    "memory/plants.md": ("2025-10-01T09:00:00", "The fern in the window needs water on Fridays."),
    "src/prices.js": ("2026-01-21T09:00:00", "export const paper = 79;\n"),
    "src/node_modules/left/index.js": ("2026-01-21T09:00:00", "module.exports = 1;\n"),
}
NANO_FAMILY = {
    "CLAUDE.md": (
        "2026-01-30T09:00:00",
        (
            "# Andy at home\n\nI am kind.\n\n## Session Compaction 2026-01-30T09:00:00.000Z\n\n"
            "The trip to Bergen is booked.\n"
        ),
    ),
    "MEMORY.md": ("2026-01-28T09:00:00", "# Family\n\nGrandma's birthday is on 3 March.\n"),
    "conversations/2026-01-30.md": ("2026-01-30T09:00:00", "Not a memory.\n"),
}
NANO_GLOBAL = {
    "MEMORY.md": ("2026-01-02T09:00:00", "# For all\n\nThe wifi password is on the fridge.\n"),
}
NANO_MESSAGES = [
    (
        "m1",
        "ada@s",
        "ada@s",
        "Ada",
        "Which colour has the invoice folder?",
        "2026-02-06T09:00:00Z",
        0,
    ),
    ("m2", "ada@s", "andy", None, "Blue, since Thursday", "2026-02-06T09:00:05Z", 1),
    ("m1", "family@g", "bo@s", "Bo", "Bergen in May!", "2026-01-30T08:00:00Z", 0),
]


def nano_folder(home: Path) -> Path:
    """A gateway in HOME with a workspace for its main group, two other groups and messages."""
    fill(home / "nano", NANO_MAIN)
    gateway = home / "gateway"
    fill(gateway / "groups" / "family", NANO_FAMILY)
    fill(gateway / "groups" / "global", NANO_GLOBAL)
    (gateway / "store").mkdir()
    with closing(sqlite3.connect(gateway / "store" / "messages.db")) as database, database:
        database.executescript(
            "CREATE TABLE messages (id TEXT, chat_jid TEXT, sender TEXT, sender_name TEXT,"
            " content TEXT, timestamp TEXT, is_from_me INTEGER, PRIMARY KEY (id, chat_jid));"
            "CREATE VIRTUAL TABLE messages_fts USING fts5(content);"
        )
        database.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)", NANO_MESSAGES)
    return gateway
