"""Hints for a model: a call becomes the call of a tool, an option the argument of one.

A model that has these tools may have no shell. A call that no tool can make stays a command, which
a person can type.
"""

from __future__ import annotations

import json

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
    return rendered(text, _for_model)


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
