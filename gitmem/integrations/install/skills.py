"""The skills that ship with gitmem: their files for a host, their version, and the plugin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gitmem.integrations.hosts.table import CLAUDE
from gitmem.integrations.install.parts.permissions import command_rules
from gitmem.model.skill_rules import with_keys

SKILL = "SKILL.md"
MIGRATIONS = "migrations"
EXTRAS = "claude-code.yaml"
ALIASES = "aliases"
"""The folder with other names for skills, in a folder for each layout that uses them."""
PLUGIN_DESCRIPTION = (
    "Memory as plain Markdown in plain git: every write is one commit, nothing is lost."
)
_NUMBERED = re.compile(r"(\d{4})\.yaml")


def shipped_folder() -> Path:
    """The folder of the skills that ship."""
    from gitmem.resources import templates

    return templates() / "skills"


def version(folder: Path) -> int:
    """The version of the skills in FOLDER: the number of the last migration."""
    names = (each.name for each in (folder / MIGRATIONS).glob("*.yaml"))
    return max((int(found[1]) for found in map(_NUMBERED.fullmatch, names) if found), default=0)


def _yaml(path: Path) -> dict[str, Any]:
    import yaml

    found = yaml.safe_load(path.read_text("utf-8")) if path.is_file() else None
    return found if isinstance(found, dict) else {}


def alias_layouts(folder: Path) -> list[str]:
    """The layouts that have names of their own for some of the skills in FOLDER."""
    return sorted(each.name for each in (folder / ALIASES).glob("*") if each.is_dir())


def aliased_layout(folder: Path, given: Iterable[str]) -> str:
    """The layout whose aliases are among the files GIVEN; empty for none."""
    names = {path.partition("/")[0] for path in given}
    for layout in alias_layouts(folder):
        if any(
            each.parent.name in names for each in (folder / ALIASES / layout).glob(f"*/{SKILL}")
        ):
            return layout
    return ""


def skill_files(folder: Path, host: str, layout: str = "") -> dict[str, bytes]:
    """Every file of every skill in FOLDER for HOST: `diary/SKILL.md` to bytes.

    With the LAYOUT of a group, its aliases are included.
    """
    extras = _yaml(folder / EXTRAS)
    found = {}
    for path in sorted(folder.glob(f"*/{SKILL}")):
        for each in sorted(x for x in path.parent.rglob("*") if x.is_file()):
            found[each.relative_to(folder).as_posix()] = each.read_bytes()
        main = f"{path.parent.name}/{SKILL}"
        keys = _claude_keys(**extras.get(path.parent.name, {})) if host == CLAUDE else {}
        found[main] = with_keys(found[main].decode("utf-8"), keys).encode()
    if layout in alias_layouts(folder):
        found |= skill_files(folder / ALIASES / layout, host)
    return found


def _claude_keys(
    verbs: Sequence[str] = (), tools: Sequence[str] = (), **keys: str
) -> dict[str, str | Sequence[str]]:
    """The frontmatter of a skill for Claude Code, which may use VERBS and TOOLS without asking."""
    return {**keys, "allowed-tools": [*command_rules(verbs), *tools]}


def plugin_files() -> dict[str, bytes]:
    """Every file of the plugin for Claude Code, by its path."""
    import json

    from gitmem import __version__
    from gitmem.integrations.hosts.program import Program
    from gitmem.integrations.install.parts.mcp import NAME, SERVERS, server
    from gitmem.resources import hooks

    manifest = {
        "name": NAME,
        "version": __version__,
        "description": PLUGIN_DESCRIPTION,
        "author": {"name": "gitmem contributors"},
        "license": "MIT",
        "keywords": ["agents", "audit", "git", "markdown", "memory"],
    }
    servers = {SERVERS: {NAME: server(Program(("gitmem",)))}}
    skills = skill_files(shipped_folder(), CLAUDE).items()
    return {
        ".claude-plugin/plugin.json": f"{json.dumps(manifest, indent=2)}\n".encode(),
        ".mcp.json": f"{json.dumps(servers, indent=2)}\n".encode(),
        "hooks/hooks.json": (hooks() / "hooks.json").read_bytes(),
        **{f"skills/{path}": data for path, data in skills},
    }


def write_plugin(folder: Path) -> None:
    """Write the plugin into FOLDER, which is removed first."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    for path, data in plugin_files().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def plugin_folder() -> Path:
    """The folder of the plugin, for the marketplace file at the root of the checkout."""
    return shipped_folder().parent / "plugin"


if __name__ == "__main__":  # `make plugin`
    write_plugin(plugin_folder())
