"""Memory folders as their own systems leave them on a disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from tests.support.git import git

Files = Mapping[str, str]

ZYLOS: Files = {
    "identity.md": "# Identity\n\n## Who I Am\n\nA helper of the small team.\n",
    "state.md": "# State\n\nLast updated: 2026-02-07 21:10\n\n## Current Focus\n\nBilling.\n",
    "references.md": "# References\n\n## Configuration Sources\n\n- TZ: see .env\n",
    "users/ada/profile.md": "# Ada\n\n## Preferences\n\n- short answers\n",
    "users/default/profile.md": "# Profile\n",
    "reference/decisions.md": (
        "# Decisions\n\n### Use ESM only\n- **Date:** 2026-01-05\n- **Status:** active\n"
        "- **Importance:** 2\n- **Type:** strategic\n"
    ),
    "reference/projects.md": "# Projects\n\n### Billing\n- **Status:** active\n",
    "reference/preferences.md": "# Preferences\n",
    "reference/ideas.md": "# Ideas\n",
    "sessions/current.md": "# Session Log: 2026-02-08\n\n- 09:10 began\n",
    "sessions/2026-02-07.md": "# Session Log: 2026-02-07\n\n- 10:00 deployed\n",
    "archive/2025-12.md": "# Old things\n",
}

ARIZUKO: Files = {
    "diary/20260207.md": "---\nsummary: |\n  deployed\n  waiting\n---\n\n## 10:12\n\nd\n",
    "diary/20260208.md": "---\nsummary: quiet day\n---\n\n## 08:00\n\nnothing\n",
    "facts/stack.md": "---\ntopic: stack\nsummary: what runs where\n---\n\nPostgres 16.\n",
    "episodes/2026-W05.md": "---\nsummary: the week\ntype: week\n---\n\ntext\n",
    "users/tg-123456.md": "---\nname: Ada\nsummary: likes tea\n---\n\n## Recent\n\n- asked\n",
    "MEMORY.md": "# Pointers\n",
    "work.md": "now: billing\n",
}

SOUL: Files = {
    "soul.md": "I am curious and brief.\n",
    "user.md": "Prefers mornings.\n",
    "diary/2026-02-07T21-10-05.md": "Today went well.\n",
    "diary/2026-02-08T07-00-00.md": "A new day.\n",
    "reminders.md": "- water the plants\n",
}

NANO: Files = {
    "MEMORY.md": "# Memory\n\nThe team uses pnpm.\n\n## Session Compaction 2026-02-07\n\nDone.\n",
    "SOUL.md": "# Soul\n\nBe kind.\n",
    "memory/2026-02-07.md": "- deployed\n",
    "memory/people.md": "Ada likes tea.\n",
    "NANO.md": "# Nano\n",
}

CLAUDE: Files = {
    "MEMORY.md": "- [Package manager](feedback_pnpm.md) — use pnpm, never npm\n"
    "- [Deploys](project_deploys.md) — Fridays are off limits\n",
    "feedback_pnpm.md": "---\nname: pnpm\ndescription: use pnpm\nmetadata:\n  node_type: memory\n"
    "  type: feedback\n---\nUse pnpm. **Why:** lock file. See [[deploys]]\n",
    "project_deploys.md": "---\nname: deploys\ndescription: when not to deploy\ntype: project\n"
    "---\nNever on Fridays.\n",
}

SYSTEMS: Mapping[str, Files] = {
    "zylos": ZYLOS,
    "arizuko": ARIZUKO,
    "soul": SOUL,
    "nano": NANO,
    "claude-code": CLAUDE,
}


def lay(root: Path, files: Files, *, start: str = "2026-01-01T10:00:00+00:00") -> Path:
    """Write FILES below ROOT, each last changed a day later than the one before."""
    root.mkdir(parents=True, exist_ok=True)
    when = datetime.fromisoformat(start).timestamp()
    for number, (path, text) in enumerate(files.items()):
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
        os.utime(place, (when + number * 86_400, when + number * 86_400))
    return root


def stand(root: Path) -> dict[str, tuple[bytes, int, int]]:
    """Everything in a folder, but a `.git` at its top: content, mode and time of last change."""
    found = {}
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        if inside.parts[0] == ".git":
            continue
        status = path.lstat()
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(inside)] = (data, status.st_mode, status.st_mtime_ns if data else 0)
    return found


def history(root: Path, *commits: tuple[str, dict[str, str | bytes | None]]) -> Path:
    """A repository in ROOT, one commit a day from 2025-11-01, each by another author."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "trunk")
    for number, (message, files) in enumerate(commits, 1):
        commit(root, message, files, day=number)
    return root


def commit(root: Path, message: str, files: dict[str, str | bytes | None], day: int = 1) -> str:
    """One commit of the author of that DAY of November 2025; tells its id."""
    for path, data in files.items():
        place = root / path
        if data is None:
            place.unlink()
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data.encode() if isinstance(data, str) else data)
    git(root, "add", "-A", "-f")
    env = {
        "GIT_AUTHOR_NAME": f"Author {day}",
        "GIT_AUTHOR_EMAIL": f"author{day}@example.org",
        "GIT_AUTHOR_DATE": f"2025-11-{day:02}T08:00:00+02:00",
    }
    git(root, "commit", "-q", "--allow-empty-message", "-m", message, env=env)
    return git(root, "rev-parse", "HEAD").strip()
