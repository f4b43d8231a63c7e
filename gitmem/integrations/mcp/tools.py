"""The table of tools: name, description and parameters of each. It needs no SDK.

Hosts hardly check arguments, and some send numbers and objects as text. A value that can mean only
one thing is accepted. An unknown name is refused: an ignored `ifMatch` would be a guard that
nobody holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gitmem.errors import BadInput, Busy, Damaged, GitmemError, StorageFailed
from gitmem.integrations.mcp import calls
from gitmem.integrations.mcp.calls import local
from gitmem.integrations.mcp.groups import Endpoint
from gitmem.integrations.mcp.hints import for_models
from gitmem.integrations.mcp.texts import ToolResult, escaped, refused, without_secrets
from gitmem.memory.context.mask import hidden
from gitmem.memory.read.memory_actions import DEFAULT_PATH, LEAST, MOST, TOP_K
from gitmem.memory.search.search import ALL, SOURCES
from gitmem.model.access import GLOBAL
from gitmem.model.context.escape import joined, on_a_line
from gitmem.model.hints import Hint, call

STRING, INTEGER, BOOLEAN, FIELDS = "string", "integer", "boolean", "object"
KINDS = {STRING: "a text", INTEGER: "a whole number", BOOLEAN: "true or false"}
DIGITS = r"[+-]?[0-9]{1,18}"
"""A number as text; no argument has more digits."""
TRUTHS = {"true": True, "false": False}
PATH = "A file such as notes/ada.md, or the name of a layer"
GROUP = "Another group; only main may name one, and every group may read global"
AT = "A commit, a tag, or a date such as 2026-02-08 or yesterday; default: now"
REASON = "Why you write this, kept in the history"
IF_MATCH = "The version you read; the write fails if the file has changed since"
OFFSET = "Where to continue; an answer that was cut names it"
CHECK = Hint("a person can run ", call("check"))
AT_FAULT = (Busy, Damaged, StorageFailed)
"""Errors that every other request would meet as well."""


class Param(NamedTuple):
    """One parameter of a tool."""

    name: str
    about: str
    kind: str = STRING
    default: Any = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    least: int = 0
    """The smallest number; for a required text, 1 means that it must not be empty."""
    most: int = 0
    """The largest number; 0 is no limit. A number out of range becomes the nearest one in it."""


def schema(params: Sequence[Param]) -> dict[str, Any]:
    """PARAMS as the input schema of a tool."""
    return {
        "type": "object",
        "properties": {each.name: _property(each) for each in params},
        "required": [each.name for each in params if each.required],
        "additionalProperties": False,
    }


def _property(param: Param) -> dict[str, Any]:
    found: dict[str, Any] = {"type": param.kind, "description": param.about}
    if param.kind == FIELDS:
        found["additionalProperties"] = {"type": STRING}
    if param.choices:
        found["enum"] = list(param.choices)
    if param.kind == INTEGER:
        found["minimum"] = param.least
    if param.most:
        found["maximum"] = param.most
    if not param.required and param.default not in ("", False, {}):
        found["default"] = param.default
    return found


def checked(tool: str, params: Sequence[Param], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments GIVEN, converted, with defaults; BadInput for one that does not fit."""
    names = [each.name for each in params]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise BadInput(
            f"{tool} has no parameter {unknown[0]!r}", hint=f"parameters: {', '.join(names)}"
        )
    return {each.name: _value(tool, each, given.get(each.name)) for each in params}


def _value(tool: str, param: Param, given: Any) -> Any:
    if given is None:
        if param.required:
            raise BadInput(f"{tool} needs {param.name!r}", hint=f"{param.name}: {param.about}")
        return param.default
    value: Any = _CASTS[param.kind](given)
    if value is None:
        kind = KINDS.get(param.kind, "an object of texts")
        raise BadInput(f"{param.name!r} must be {kind}", hint=f"{param.name}: {param.about}")
    if param.choices and value not in param.choices:
        raise BadInput(
            f"invalid {param.name} {value!r}", hint=f"use one of {', '.join(param.choices)}"
        )
    if param.kind == INTEGER:
        return min(max(value, param.least), param.most or value)
    if param.required and param.least and not value.strip():
        raise BadInput(f"{param.name!r} is empty", hint=f"{param.name}: {param.about}")
    return value


def _text(given: Any) -> str | None:
    return given if isinstance(given, str) else None


def _number(given: Any) -> int | None:
    if isinstance(given, str) and re.fullmatch(DIGITS, given.strip()):
        return int(given)
    if isinstance(given, float) and given.is_integer():
        return int(given)
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def _truth(given: Any) -> bool | None:
    if isinstance(given, str):
        return TRUTHS.get(given.strip().lower())
    return given if isinstance(given, bool) else None


def _fields(given: Any) -> dict[str, str] | None:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return None
    if not isinstance(given, dict):
        return None
    plain = {str(name).strip(): _plain(value) for name, value in given.items()}
    found = {name: value for name, value in plain.items() if name and value is not None}
    return found if len(found) == len(given) else None


def _plain(value: Any) -> str | None:
    """The value of a field as text: a model may send the number 2 for `2`."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).strip() if isinstance(value, str | int | float) else None


_CASTS = {STRING: _text, INTEGER: _number, BOOLEAN: _truth, FIELDS: _fields}
_GROUP = Param("group", GROUP)
_AT = Param("at", AT)
_REASON = Param("reason", REASON)
_IF_MATCH = Param("if_match", IF_MATCH)
_OFFSET = Param("offset", OFFSET, INTEGER, 0, most=1_000_000_000)
_PATH = Param("path", PATH, required=True, least=1)
_USER = Param("user", "The user, for a layer with one file per user")
_DATE = Param("date", "The day, for a journal; default: today")


class Tool(NamedTuple):
    """One tool."""

    name: str
    title: str
    about: str
    params: tuple[Param, ...]
    call: Callable[[Endpoint, dict[str, Any]], ToolResult]
    reads: bool = False
    """Whether it only reads."""


TOOLS = (
    Tool(
        "memory_search",
        "Search memory",
        "Find passages in memory and in recorded conversations; the best come first. Any text is "
        "a valid query, in any language: a word or a whole sentence. Each hit has an address; "
        "pass it to memory_get to read more.",
        (
            Param("query", "What to look for", required=True, least=1),
            Param("limit", "Maximum number of hits", INTEGER, TOP_K, least=LEAST, most=MOST),
            Param("source", "Where to look", default=ALL, choices=SOURCES),
            Param("layer", "Only in this layer, such as decisions"),
            Param("since", "Only what changed or was said since, such as 30 days ago"),
            Param("archive", "Search the archive as well", BOOLEAN, False),
            _GROUP,
        ),
        calls.memory_search,
        reads=True,
    ),
    Tool(
        "memory_get",
        "Read a memory file",
        "Read a file, or one entry by its address (reference/decisions.md#use-esm-only), now or at "
        "an earlier time. The first line names the version; pass it as `if_match` when you write.",
        (
            Param("path", "A file, a layer with one file, or an address", default=DEFAULT_PATH),
            _AT,
            _OFFSET,
            _GROUP,
        ),
        calls.memory_get,
        reads=True,
    ),
    Tool(
        "memory_write",
        "Write a memory file",
        "Replace a whole file in one commit; older versions stay in the history. On a journal or a "
        "log it adds, like memory_append. A text that drops most of the file is refused. To add "
        "something, use memory_append or memory_entry: they leave the rest alone.",
        (
            _PATH,
            Param("text", "The complete new content", required=True),
            Param("fields", "Frontmatter fields to set, such as summary", FIELDS, {}),
            _REASON,
            _IF_MATCH,
            Param("create", "Fail if the file exists", BOOLEAN, False),
            Param("allow_shrink", "Accept that the file loses most of its text", BOOLEAN, False),
            _USER,
            _DATE,
            _GROUP,
        ),
        calls.memory_write,
    ),
    Tool(
        "memory_append",
        "Add to a memory file",
        "Add text at the end of a file, on its own lines, in one commit; a missing file is "
        "created. For a journal or a log, name the layer: it picks the file of today.",
        (
            _PATH,
            Param("text", "The text to add", required=True, least=1),
            Param("fields", "Frontmatter fields to set, such as summary", FIELDS, {}),
            _REASON,
            _IF_MATCH,
            _USER,
            _DATE,
            _GROUP,
        ),
        calls.memory_append,
    ),
    Tool(
        "memory_entry",
        "Set one entry",
        "Create or change one entry (a `### Title` block with fields) of a file or a layer such as "
        "decisions, in one commit. Everything you do not name stays: the rest of the file, other "
        "fields, and the text if you give none.",
        (
            _PATH,
            Param("title", "The title of the entry", required=True, least=1),
            Param("text", "The text below the fields"),
            Param("fields", "Fields to set, such as Status and Importance", FIELDS, {}),
            _REASON,
            _IF_MATCH,
            _GROUP,
        ),
        calls.memory_entry,
    ),
    Tool(
        "memory_list",
        "List memory files",
        "List files with their sizes, or entries with their addresses, now or at an earlier time.",
        (
            Param("path", "Only these: a folder, a layer, or a pattern such as notes/*.md"),
            Param("entries", "List entries instead of files", BOOLEAN, False),
            _AT,
            _OFFSET,
            _GROUP,
        ),
        calls.memory_list,
        reads=True,
    ),
    Tool(
        "memory_history",
        "Show the history",
        "Show who changed what, when and why, newest first; a file is followed through moves. "
        "Pass a commit as `at` to read or restore that version.",
        (
            Param("path", "A file, a folder, or an address (for its file); default: everything"),
            Param("limit", "Maximum number of commits", INTEGER, 20, least=1, most=100),
            Param("since", "Only commits since, such as yesterday"),
            Param("agent", "Only commits of this agent"),
            _OFFSET,
            _GROUP,
        ),
        calls.memory_history,
        reads=True,
    ),
    Tool(
        "memory_restore",
        "Restore a file or an entry",
        "Restore an earlier version of a file, or of one entry by its address, in a new commit; "
        "the present version stays in the history. Archived files and entries come back from the "
        "archive. Without `at` or `previous`, the answer lists the versions to choose from.",
        (
            Param("path", "A file, or the address of an entry", required=True, least=1),
            _AT,
            Param("previous", "Restore the version before the present one", BOOLEAN, False),
            _REASON,
            _GROUP,
        ),
        calls.memory_restore,
    ),
    Tool(
        "memory_status",
        "Show the state of memory",
        "Show the layers of the group, the last write, and what needs attention: files over "
        "budget, edits made with other tools, held files.",
        (_GROUP,),
        calls.memory_status,
        reads=True,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}


def answered(endpoint: Endpoint, name: str, given: Mapping[str, Any]) -> ToolResult:
    """Call the tool NAME; an error is an answer, too. Credentials are masked."""
    return guarded(endpoint, lambda: _called(endpoint, name, given))


def guarded(endpoint: Endpoint, call: Callable[[], ToolResult]) -> ToolResult:
    """The result of CALL, or its error, as a model may see it."""
    answer = _answered(endpoint, call)
    gitdirs = {*endpoint.kept.gitdirs(), *map(endpoint.store.gitdir, (endpoint.group, GLOBAL))}
    return without_secrets(answer, lambda text: hidden(gitdirs, text))


def _answered(endpoint: Endpoint, call: Callable[[], ToolResult]) -> ToolResult:
    try:
        answer = call()
        notes = [on_a_line(f"note: {for_models(each)}") for each in endpoint.kept.damage()]
        return ToolResult(joined((answer.text, *notes), "\n"), escaped(answer.facts), answer.failed)
    except GitmemError as error:
        answer = refused(error.code, error.message, error.hint, error.facts)
        return answer._replace(by_us=isinstance(error, AT_FAULT))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        message = f"{where}{error.strerror or error}"
        answer = refused(StorageFailed.code, message, CHECK, {})
        return answer._replace(by_us=True)
    except Exception as error:  # noqa: BLE001 - the boundary of this door: a server has to go on
        message = f"unexpected {type(error).__name__}: {error}"
        answer = refused("unexpected", message, "this is a bug in gitmem; please report it", {})
        return answer._replace(by_us=True)


def _called(endpoint: Endpoint, name: str, given: Mapping[str, Any]) -> ToolResult:
    tool = BY_NAME.get(name)
    if tool is None:
        raise BadInput(f"unknown tool {name!r}", hint=f"tools: {', '.join(BY_NAME)}")
    arguments = checked(name, tool.params, given)
    return tool.call(endpoint, {**arguments, "path": local(arguments.get("path", ""))})
