"""Hints for a model: a call becomes the call of a tool, an option the argument of one.

A model that has these tools may have no shell. A call that no tool can make stays a command, which
a person can type.
"""

from __future__ import annotations

import json
import re
from shlex import split

from gitmem.model.hints import Call, Hint, Option, as_option, in_shell, rendered

TOOLS = {
    "entries": "memory_list",
    "list": "memory_list",
    "log": "memory_history",
    "read": "memory_get",
    "restore": "memory_restore",
    "search": "memory_search",
    "status": "memory_status",
    "write": "memory_write",
}
ARGUMENTS = {"at": "at", "entry": "title", "previous": "previous"}
"""Options of a call, and the arguments of tools that mean the same."""
IMPLIED = ("append", "set")
"""Options that the choice of the tool, or its own arguments, make unnecessary."""
PLACEHOLDERS = ("...", ".")
OPTIONS = {
    "allow_shrink": "allow_shrink: true",
    "append": "memory_append",
    "set": "`fields`",
    "summary": "the field summary",
}
"""What a tool has instead of an option; most have an argument of the same name."""
FOR_PEOPLE = ("allow_secret", "allow_policy", "allow_markers")
"""Options that no tool has: only a person overrides these guards."""


def for_models(text: str) -> str:
    """TEXT with its calls and options as tools and arguments, where tools have them."""
    if isinstance(text, Hint):
        return rendered(text, _for_model)
    return _plain(text)


def _for_model(part: Call | Option) -> str:
    if isinstance(part, Call):
        return _tool_call(part) or in_shell(Hint(part))
    if part.name in FOR_PEOPLE:
        return f"`gitmem write {as_option(part)} ...`, which is for a person"
    return OPTIONS.get(part.name, f"`{part.name}`")


def _tool_call(call: Call) -> str:
    """CALL as one of a tool, such as `memory_get(path="a.md")`; empty where no tool can do it."""
    tool, arguments = TOOLS.get(call.verb), _arguments(call)
    if tool is None or arguments is None:
        return ""
    if call.verb == "write" and "title" in arguments:
        tool = "memory_entry"
    elif call.verb == "write" and ("append", True) in call.options:
        tool = "memory_append"
    given = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    return f"`{tool}({', '.join(given)})`"


def _arguments(call: Call) -> dict[str, str | bool] | None:
    """The arguments of the tool; None where CALL says more than a tool can take."""
    named = [each for each in call.args if each not in PLACEHOLDERS]
    options = {name: value for name, value in call.options if name not in IMPLIED}
    if call.group or len(named) > 1 or not options.keys() <= ARGUMENTS.keys():
        return None
    first = ("query" if call.verb == "search" else "path",)
    found: dict[str, str | bool] = dict(zip(first, named, strict=False))
    found |= {ARGUMENTS[name]: value for name, value in options.items()}
    return found | ({"entries": True} if call.verb == "entries" else {})


# Until every hint is data: commands and options found in plain texts.
_COMMAND = re.compile(r"`gitmem ([a-z-]+)([^`]*)`")
_PHRASES = (
    (r"repeat with --allow-shrink", "repeat with allow_shrink: true"),
    (
        r"repeat with (--allow-(?:secret \S+|policy|markers))",
        r"a person can do it: `gitmem write \1 ...`",
    ),
    (r"add to it with --append", "add to it with memory_append"),
    (r" \(leave out -g, or use -g \S+\)", ": leave out `group`"),
    (r"repeat with the same --id", "repeat it"),
    (r"add --summary", "set the field summary"),
    (r"\brun `git ", "a person has to run `git "),
    (r"(?<![\w-])--set(?![\w-])", "`fields`"),
    (r"(?<![\w-])--(at|create|date|previous|since|user)(?![\w-])", r"`\1`"),
)


def _plain(text: str) -> str:
    parts = _COMMAND.split(text)
    found = []
    for at in range(0, len(parts), 3):
        found.append(_phrased(parts[at]))
        if at + 2 < len(parts):
            verb, rest = parts[at + 1 : at + 3]
            found.append(_parsed(verb, rest) or f"`gitmem {verb}{rest}`")
    return "".join(found)


def _phrased(text: str) -> str:
    for pattern, words in _PHRASES:
        text = re.sub(pattern, words, text)
    return text


def _parsed(verb: str, rest: str) -> str:
    try:
        words = split(rest)
    except ValueError:
        return ""
    args, options = [], []
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            args.append(word)
            continue
        name = word.removeprefix("--")
        value = True if name in ("previous", "append") else words.pop(0) if words else ""
        options.append((name, value))
    if "$'" in rest:
        return ""
    return _tool_call(Call(verb, tuple(args[:1]), tuple(options)))
