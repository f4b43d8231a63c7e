"""The permission rules that let a host's model use memory, among those of the user."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from gitmem.integrations.install.parts.hooks import Merged
from gitmem.integrations.install.parts.mcp import NAME
from gitmem.model.text import json_edit
from gitmem.model.text.json_edit import wrong_kind

PERMISSIONS, ALLOW = "permissions", "allow"
VERBS = (
    "read",
    "list",
    "search",
    "memory",
    "write",
    "log",
    "show",
    "diff",
    "inject",
    "entries",
    "freshness",
    "confirm",
    "capture",
    "compact",
    "status",
    # Not `transcript` itself: `prune` destroys messages.
    "transcript add",
    "transcript import",
    "transcript list",
    "transcript show",
    "transcript pending",
    "transcript checkpoint",
    "transcript status",
)
"""The commands that a model may run unasked: none that reaches outside, destroys or runs others."""
PLUGIN = "gitmem"
"""The plugin, whose name stands before those of its skills and of its MCP server."""


def command_rules(more: Iterable[str] = ()) -> tuple[str, ...]:
    """The rules that let a model run the commands an agent needs, and MORE."""
    return tuple(f"Bash(gitmem {verb}:*)" for verb in (*VERBS, *more))


def skill_rules(names: Iterable[str], *, is_plugin: bool = False) -> tuple[str, ...]:
    """The rules that let a model use our skills without a question."""
    return tuple(f"Skill({PLUGIN}:{name})" if is_plugin else f"Skill({name})" for name in names)


def server_rules(*, is_plugin: bool = False) -> tuple[str, ...]:
    """The rule for every tool of our MCP server."""
    return (f"mcp__plugin_{PLUGIN}_{NAME}" if is_plugin else f"mcp__{NAME}",)


def folder_rules(folder: Path) -> tuple[str, ...]:
    """The rules that let a model read and change files in FOLDER.

    A host compares the path that the model names and the one behind a link: both need a rule. Two
    slashes begin a path of the file system; one would begin at the settings.
    """
    names = dict.fromkeys((str(folder), os.path.realpath(folder)))
    return tuple(f"{tool}(/{name}/**)" for tool in ("Read", "Edit") for name in names)


def covers(rule: str, ours: str) -> bool:
    """Whether RULE decides on all that OURS is about."""
    tool, _, spec = rule.removesuffix(")").partition("(")
    own_tool, _, own = ours.removesuffix(")").partition("(")
    if tool != own_tool and not (tool == "Write" and own_tool == "Edit"):
        return False
    if spec in ("", "*") or rule == ours:
        return True
    if tool in ("Read", "Edit", "Write"):
        path = spec.removeprefix("/") if spec.startswith("//") else os.path.expanduser(spec)
        return fnmatchcase(own[1:].removesuffix("**"), path.replace("**", "*"))
    prefix, is_open, _ = spec.partition(":*")
    own = own.removesuffix(":*")
    return f"{own} ".startswith(f"{prefix} ") if is_open else fnmatchcase(f"{own} ", spec)


def put_rules(text: str, wanted: Sequence[str], known: Sequence[str]) -> Merged:
    """TEXT that allows what is WANTED; KNOWN are the rules that we put there the last time.

    A rule that stood there before us stays the user's.
    """
    if json_edit.is_blank(text):
        return put_rules("{}\n", wanted, known) if wanted else Merged(text, given={ALLOW: []})
    allowed = _allowed(text)
    text = _without(text, [each for each in known if each not in wanted])
    missing = [each for each in wanted if each not in allowed]
    for rule in missing:
        text = _with(text, rule)
    ours = [each for each in wanted if each in known or each in missing]
    return Merged(text, given={ALLOW: ours})


def take_rules(text: str, before: str, known: Sequence[str]) -> str:
    """TEXT without the rules that are KNOWN to be ours; an empty list that was ours goes, too."""
    if json_edit.is_blank(text) or not any(each in _allowed(text) for each in known):
        return text
    text = _without(text, known)
    old = {} if json_edit.is_blank(before) else json_edit.read(before)
    had = old.get(PERMISSIONS) if isinstance(old, dict) else None
    if not _allowed(text) and ALLOW not in (had if isinstance(had, dict) else ()):
        text = json_edit.remove(text, [PERMISSIONS, ALLOW])
    if json_edit.read(text)[PERMISSIONS] == {} and had is None:
        text = json_edit.remove(text, [PERMISSIONS])
    return text


def _allowed(text: str) -> list[object]:
    """What TEXT allows, if everything that we have to write into is what it should be."""
    root = json_edit.read(text)
    if not isinstance(root, dict):
        raise wrong_kind(root, dict, ())
    rules = root.get(PERMISSIONS, {})
    if not isinstance(rules, dict):
        raise wrong_kind(rules, dict, [PERMISSIONS])
    allowed = rules.get(ALLOW, [])
    if not isinstance(allowed, list):
        raise wrong_kind(allowed, list, [PERMISSIONS, ALLOW])
    return allowed


def _with(text: str, rule: str) -> str:
    root = json_edit.read(text)
    if PERMISSIONS not in root:
        return json_edit.insert(text, (), PERMISSIONS, {ALLOW: [rule]})
    if ALLOW not in root[PERMISSIONS]:
        return json_edit.insert(text, [PERMISSIONS], ALLOW, [rule])
    return json_edit.append(text, [PERMISSIONS, ALLOW], rule)


def _without(text: str, rules: Sequence[str]) -> str:
    allowed = _allowed(text)
    for at in reversed(range(len(allowed))):
        if allowed[at] in rules:
            text = json_edit.remove(text, [PERMISSIONS, ALLOW, at])
    return text
