"""The plugin for Claude Code is what the single sources make of it."""

from __future__ import annotations

import json
from pathlib import Path

from gitmem import __version__
from gitmem.integrations.install.skills import plugin_files, plugin_folder, write_plugin
from gitmem.model import skill_rules

ROOT = Path(__file__).parents[2]


def files_in(folder: Path) -> dict[str, bytes]:
    found = (each for each in folder.rglob("*") if each.is_file())
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in found}


def test_the_plugin_on_disk_is_up_to_date() -> None:
    assert files_in(plugin_folder()) == plugin_files(), "run `make plugin`"


def test_making_it_anew_leaves_nothing_of_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "plugin" / "skills" / "old").mkdir(parents=True)
    (tmp_path / "plugin" / "skills" / "old" / "SKILL.md").write_text("old")

    write_plugin(tmp_path / "plugin")

    assert files_in(tmp_path / "plugin") == plugin_files()


def test_it_has_the_parts_that_claude_code_looks_for() -> None:
    files = plugin_files()

    manifest = json.loads(files[".claude-plugin/plugin.json"])
    assert (manifest["name"], manifest["version"]) == ("gitmem", __version__)
    assert files["hooks/hooks.json"] == (ROOT / "hooks" / "hooks.json").read_bytes()
    assert json.loads(files[".mcp.json"]) == {
        "mcpServers": {"gitmem": {"command": "gitmem", "args": ["mcp"]}}
    }
    skills = {path.split("/")[1] for path in files if path.startswith("skills/")}
    assert {"diary", "facts", "gitmem-memory", "recall-memories", "users"} <= skills
    for name in skills:
        text = files[f"skills/{name}/SKILL.md"].decode()
        assert skill_rules.problems(text, name, also=("context", "argument-hint")) == ()


def test_the_marketplace_leads_to_the_plugin() -> None:
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())

    (plugin,) = market["plugins"]
    assert market["name"] == plugin["name"] == "gitmem"
    assert market["owner"]["name"]
    assert plugin["source"].startswith("./")
    manifest = ROOT / plugin["source"] / ".claude-plugin" / "plugin.json"
    assert json.loads(manifest.read_text())["name"] == "gitmem"
