"""Hints in the words of whoever reads them: what a person types becomes what a model calls.

Errors name the next step as a command. A model that has these tools may have no shell, so commands
for which there is a tool become calls of it. What only a person should do stays a command.
"""

from __future__ import annotations

import json
import re
from shlex import split

from gitmem.model.hints import Call, Hint, Option, as_command, as_option, rendered

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
FLAGS = {"--at": "at", "--entry": "title", "--previous": "previous", "--append": "", "--set": ""}
ALONE = ("--previous", "--append")
"""Those of them that have no value."""

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


def for_models(text: str) -> str:
    """TEXT with its commands and options as tools and arguments, where there are such."""
    if isinstance(text, Hint):
        return rendered(text, _for_model)
    parts = _COMMAND.split(text)
    found = []
    for at in range(0, len(parts), 3):
        found.append(_phrased(parts[at]))
        if at + 2 < len(parts):
            verb, rest = parts[at + 1 : at + 3]
            found.append(as_call(verb, rest) or f"`gitmem {verb}{rest}`")
    return "".join(found)


def _phrased(text: str) -> str:
    for pattern, words in _PHRASES:
        text = re.sub(pattern, words, text)
    return text


def _for_model(part: Call | Option) -> str:
    """A call of a hint as a tool call, where there is such a tool; an option as an argument."""
    if isinstance(part, Option):
        return _phrased(as_option(part))
    command = as_command(part)
    return as_call(part.verb, command.removeprefix(f"gitmem {part.verb}")) or f"`{command}`"


def as_call(verb: str, rest: str) -> str:
    """A command as a call, such as `memory_get(path="a.md")`; nothing where no tool does that."""
    tool = TOOLS.get(verb)
    arguments = _arguments(verb, rest)
    if tool is None or arguments is None:
        return ""
    if verb == "write":
        adds = "memory_append" if "--append" in rest else tool
        tool = "memory_entry" if "title" in arguments else adds
    if verb == "entries":
        arguments["entries"] = True
    said = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items()
    )
    return f"`{tool}({said})`"


def _arguments(verb: str, rest: str) -> dict[str, str | bool] | None:
    """What a command line says; None where it says more than a tool can."""
    if "$'" in rest:
        return None  # a name in escapes that only a shell reads
    try:
        words = split(rest)
    except ValueError:
        return None
    found: dict[str, str | bool] = {}
    while words:
        word = words.pop(0)
        if word in ("...", "."):
            continue
        if not word.startswith("-"):
            found.setdefault("query" if verb == "search" else "path", word)
        elif word not in FLAGS:
            return None
        else:
            value = True if word in ALONE else words.pop(0) if words else ""
            found |= {FLAGS[word]: value} if FLAGS[word] else {}
    return found
