"""Permission rules that let a host's model use memory without asking.

Claude Code reads them from a list in its settings, Gemini CLI from a file of our own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from gitmem.integrations.install.files import digest
from gitmem.integrations.install.host_files import read_json, table_in
from gitmem.integrations.install.part import FilePart, PartAdded
from gitmem.integrations.install.parts.mcp import NAME
from gitmem.integrations.install.record import Install
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
"""Commands that a model may run without asking: none that syncs, destroys or runs programs."""
PLUGIN = "gitmem"
"""The plugin, whose name is the prefix of its skills and of its MCP server."""
_POLICY = """\
# Lets the model use memory without a question. Written by `gitmem install`, removed by --uninstall.

[[rule]]
toolName = "run_shell_command"
commandPrefix = [
{commands}
]
decision = "allow"
priority = 100
"""


def command_rules(more: Iterable[str] = ()) -> tuple[str, ...]:
    """The rules for the commands that an agent needs, and MORE."""
    return tuple(f"Bash(gitmem {verb}:*)" for verb in (*VERBS, *more))


def skill_rules(names: Iterable[str], *, is_plugin: bool = False) -> tuple[str, ...]:
    """The rules for our skills."""
    return tuple(f"Skill({PLUGIN}:{name})" if is_plugin else f"Skill({name})" for name in names)


def server_rules(*, is_plugin: bool = False) -> tuple[str, ...]:
    """The rule for every tool of our MCP server."""
    return (f"mcp__plugin_{PLUGIN}_{NAME}" if is_plugin else f"mcp__{NAME}",)


def folder_rules(folder: Path) -> tuple[str, ...]:
    """The rules for reading and editing files in FOLDER.

    A host compares the path that the model names and the one behind a link: both need a rule. Two
    slashes begin an absolute path; one would begin at the folder of the settings.
    """
    names = dict.fromkeys((str(folder), os.path.realpath(folder)))
    return tuple(f"{tool}(/{name}/**)" for tool in ("Read", "Edit") for name in names)


def covers(rule: str, ours: str) -> bool:
    """Whether RULE matches every use that OURS matches."""
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


def put_rules(text: str, rules: Sequence[str], known: Sequence[str]) -> PartAdded:
    """TEXT that allows RULES; KNOWN are those that gitmem added before.

    A rule that the user had already stays the user's.
    """
    if json_edit.is_blank(text):
        return put_rules("{}\n", rules, known) if rules else PartAdded(text, given={ALLOW: []})
    allowed = _allowed(text)
    text = _without(text, [each for each in known if each not in rules])
    missing = [each for each in rules if each not in allowed]
    for rule in missing:
        text = _with(text, rule)
    ours = [each for each in rules if each in known or each in missing]
    return PartAdded(text, given={ALLOW: ours})


def take_rules(text: str, before: str, known: Sequence[str]) -> str:
    """TEXT without the rules KNOWN, and without a list that gitmem added, once it is empty."""
    if json_edit.is_blank(text) or not any(each in _allowed(text) for each in known):
        return text
    text = _without(text, known)
    old = read_json(before)
    if not _allowed(text) and ALLOW not in table_in(old, PERMISSIONS):
        text = json_edit.remove(text, [PERMISSIONS, ALLOW])
    is_ours = not isinstance(old, dict) or old.get(PERMISSIONS) is None
    if json_edit.read(text)[PERMISSIONS] == {} and is_ours:
        text = json_edit.remove(text, [PERMISSIONS])
    return text


def _allowed(text: str) -> list[object]:
    """The rules that TEXT allows; JsonRefused if a value that has to change is of another type."""
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


def policy() -> str:
    """Our file of rules for Gemini CLI.

    It compares a prefix word by word and each command of a chain by itself, and refuses pipes,
    redirections and substitutions. A prefix that ends with a space matches nothing.
    """
    commands = (f"  {json.dumps(f'gitmem {verb}')}," for verb in VERBS)
    return _POLICY.replace("{commands}", "\n".join(commands))


def policy_part(path: Path, known: Install, *, is_needed: bool = False) -> FilePart:
    """The file of rules at PATH, if IS_NEEDED; one that the user changed stays."""

    def take(text: str, *_: str) -> str:
        return "" if text == policy() else text

    def put(text: str) -> PartAdded:
        if not is_needed:
            return PartAdded(take(text))
        record = known.files.get(str(path))
        is_ours = record is not None and record.after == digest(text.encode())
        if not text.strip() or is_ours or text == policy():
            return PartAdded(policy())
        return PartAdded(text, ("you changed this file: it stays",))

    return FilePart(path, put, take, is_whole=True)
