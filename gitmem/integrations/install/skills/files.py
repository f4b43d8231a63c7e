"""The skills that come with gitmem: their files for a host, and their version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitmem.integrations.hosts.table import CLAUDE
from gitmem.integrations.install.parts.permissions import command_rules
from gitmem.model.skill_rules import with_keys

if TYPE_CHECKING:
    from collections.abc import Iterator

SKILL = "SKILL.md"
MIGRATIONS = "migrations"
EXTRAS = "claude-code.yaml"
ALIASES = "aliases"
"""The folder with other names of skills, in a folder for each layout that uses them."""
_NUMBERED = re.compile(r"(\d{4})\.yaml")


def shipped_folder() -> Path:
    """Where the skills that come with gitmem lie."""
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
    """The layout of whose aliases there are files among those GIVEN; empty for none."""
    names = {path.partition("/")[0] for path in given}
    for layout in alias_layouts(folder):
        if any(
            each.parent.name in names for each in (folder / ALIASES / layout).glob(f"*/{SKILL}")
        ):
            return layout
    return ""


def skill_files(folder: Path, host: str, layout: str = "") -> dict[str, bytes]:
    """Every file of every skill in FOLDER, as HOST shall have it: `diary/SKILL.md` to bytes.

    With the LAYOUT of a group also the names that only groups of this layout have for them.
    """
    extras = _yaml(folder / EXTRAS)
    found = {}
    for path in sorted(folder.glob(f"*/{SKILL}")):
        for each in _files(path.parent):
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
    """The frontmatter of a skill for Claude Code, which may use VERBS and TOOLS unasked."""
    return {**keys, "allowed-tools": [*command_rules(verbs), *tools]}


def _files(folder: Path) -> Iterator[Path]:
    return (each for each in sorted(folder.rglob("*")) if each.is_file())
