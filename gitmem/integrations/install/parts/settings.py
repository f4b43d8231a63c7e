"""What the settings of a host say, for who only looks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gitmem.errors import Refused
from gitmem.integrations.install.files import read_file, text_of
from gitmem.integrations.install.locations import Places
from gitmem.integrations.install.parts.mcp import read_toml
from gitmem.model.text import json_edit

PLUGIN = "gitmem@"


def settings_in(path: Path) -> dict[str, Any]:
    """The settings in a JSON file; none where it is missing or says nothing that can be used."""
    try:
        return read_settings(path)
    except Refused:
        return {}


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a JSON or TOML file, or why they cannot be read."""
    text = text_of(path, read_file(path))
    try:
        if path.suffix == ".toml":
            return read_toml(text)
        found = {} if json_edit.is_blank(text) else json_edit.read(text)
    except Refused as error:
        error.message = f"{path}: {error.message}"
        raise
    return found if isinstance(found, dict) else {}


def plugin_at(where: Places) -> str:
    """The plugin of ours that is enabled there, for all or only for this person."""
    return next(filter(None, (plugin_in(settings_in(each)) for each in where.settings)), "")


def plugin_in(settings: dict[str, Any]) -> str:
    """The plugin of ours that SETTINGS enables; nothing where there is none."""
    plugins = settings.get("enabledPlugins")
    named = plugins if isinstance(plugins, dict) else {}
    return next((name for name, on in named.items() if name.startswith(PLUGIN) and on), "")
