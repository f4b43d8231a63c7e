"""The plugin for Claude Code, made from the files that everything else is made from.

`make plugin` writes it; nothing in its folder is edited by hand.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from gitmem import __version__
from gitmem.integrations.hosts.table import CLAUDE
from gitmem.integrations.install.locations import Program
from gitmem.integrations.install.parts.mcp import NAME, SERVERS, server
from gitmem.integrations.install.skills.files import shipped_folder, skill_files
from gitmem.resources import hooks, templates

DESCRIPTION = "Memory as plain Markdown in plain git: every write is one commit, nothing is lost."


def plugin_files() -> dict[str, bytes]:
    """Every file of the plugin, by its path."""
    manifest = {
        "name": NAME,
        "version": __version__,
        "description": DESCRIPTION,
        "author": {"name": "gitmem contributors"},
        "license": "MIT",
        "keywords": ["agents", "audit", "git", "markdown", "memory"],
    }
    files = {f"skills/{path}": data for path, data in skill_files(shipped_folder(), CLAUDE).items()}
    return {
        ".claude-plugin/plugin.json": _json(manifest),
        ".mcp.json": _json({SERVERS: {NAME: server(Program(("gitmem",)))}}),
        "hooks/hooks.json": (hooks() / "hooks.json").read_bytes(),
        **files,
    }


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


def plugin_folder() -> Path:
    """Where the plugin lies, for the marketplace file at the root of the checkout."""
    return templates() / "plugin"


def write_plugin(folder: Path) -> None:
    """Make the plugin anew in FOLDER; what was there before goes."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, data in plugin_files().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


if __name__ == "__main__":
    write_plugin(plugin_folder())
