"""The tools: what each is called, says of itself and takes. No SDK is needed to read this table."""

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
from gitmem.integrations.mcp.texts import ToolResult, refused, told, without_secrets
from gitmem.memory.context.mask import hidden
from gitmem.memory.read.memory_actions import DEFAULT_PATH, LEAST, MOST, TOP_K
from gitmem.memory.search.search import ALL, SOURCES
from gitmem.model.access import GLOBAL
from gitmem.model.context.escape import joined, on_a_line
from gitmem.model.hints import Hint, call

STRING, INTEGER, BOOLEAN, FIELDS = "string", "integer", "boolean", "object"
WORDS = {STRING: "a text", INTEGER: "a whole number", BOOLEAN: "true or false"}
DIGITS = r"[+-]?[0-9]{1,18}"
"""A number as text; a longer one was never meant."""
TRUTHS = {"true": True, "false": False}
PATH = "A file such as notes/ada.md, or the name of a layer"
GROUP = "Another group; only the group main may name one, and everybody may read global"
AT = "As of a commit, a tag or a date such as 2026-02-08 or yesterday"
REASON = "Why, for the history"
IF_MATCH = "The version that this is based on; the write fails if the file is another one by now"
OFFSET = "Where to go on, as told by an answer that was cut"
CHECK = Hint("a person can run ", call("check"))
AT_FAULT = (Busy, Damaged, StorageFailed)
"""Errors that another request would meet as well."""


class Param(NamedTuple):
    """One parameter of a tool."""

    name: str
    about: str
    kind: str = STRING
    default: Any = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    least: int = 0
    """The smallest number it may be; of a text that is required, 1 is one that is not empty."""
    most: int = 0
    """The largest number; 0 is no limit. What lies beyond either is brought inside."""


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
    """The arguments GIVEN, each of its kind, with defaults; or BadInput in plain words."""
    names = [each.name for each in params]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise BadInput(
            f"{tool} takes no argument {unknown[0]!r}", hint=f"it takes: {', '.join(names)}"
        )
    return {each.name: _value(tool, each, given.get(each.name)) for each in params}


def _value(tool: str, param: Param, given: Any) -> Any:
    if given is None:
        if param.required:
            raise BadInput(f"{tool} needs {param.name!r}", hint=f"{param.name}: {param.about}")
        return param.default
    value: Any = _CASTS[param.kind](given)
    if value is None:
        wanted = WORDS.get(param.kind, "an object of texts")
        raise BadInput(f"{param.name!r} has to be {wanted}", hint=f"{param.name}: {param.about}")
    if param.choices and value not in param.choices:
        raise BadInput(
            f"{param.name!r} cannot be {value!r}", hint=f"use one of {', '.join(param.choices)}"
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
    """A field's value as text: a model writes `2` where the file says `2`."""
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
_USER = Param("user", "Whose profile, where the layer has one for each user")
_DATE = Param("date", "The day of a journal, if not today")


class Tool(NamedTuple):
    """One tool."""

    name: str
    title: str
    about: str
    params: tuple[Param, ...]
    call: Callable[[Endpoint, dict[str, Any]], ToolResult]
    reads: bool = False
    """True when it changes nothing, however often it is called."""


TOOLS = (
    Tool(
        "memory_search",
        "Search memory",
        "Find passages of memory, and of what was said in conversations, that fit a question; the "
        "best come first. Words in any form and language; a whole sentence is as good as a word. "
        "Each hit has an address that memory_get takes.",
        (
            Param("query", "What is looked for", required=True, least=1),
            Param("limit", "How many hits", INTEGER, TOP_K, least=LEAST, most=MOST),
            Param("source", "Where to look", default=ALL, choices=SOURCES),
            Param("layer", "Only in this layer, such as decisions"),
            Param("since", "Only what was touched or said since then, such as 30 days ago"),
            Param("archive", "In the archive, too", BOOLEAN, False),
            _GROUP,
        ),
        calls.memory_search,
        reads=True,
    ),
    Tool(
        "memory_get",
        "Read a memory file",
        "Read a file, or one entry by its address (reference/decisions.md#use-esm-only), as it is "
        "or was. The first line says its version, which `if_match` of a write takes.",
        (
            Param("path", "A file, a layer of one file, or an address", default=DEFAULT_PATH),
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
        "Replace a whole file, as one commit; older versions stay in the history. To a layer that "
        "is a journal or a log it adds, as memory_append does. A text that leaves out most of what "
        "the file said is refused, since that is hardly ever meant. To add something, "
        "memory_append and memory_entry need no knowledge of the rest.",
        (
            _PATH,
            Param("text", "All that the file shall say", required=True),
            Param("fields", "Fields of its frontmatter to set, such as summary", FIELDS, {}),
            _REASON,
            _IF_MATCH,
            Param("create", "Fail if the file exists", BOOLEAN, False),
            Param("allow_shrink", "The file may lose most of its text", BOOLEAN, False),
            _USER,
            _DATE,
            _GROUP,
        ),
        calls.memory_write,
    ),
    Tool(
        "memory_append",
        "Add to a memory file",
        "Add text at the end of a file, on lines of its own, as one commit; the file is made where "
        "it is missing. A layer that is a journal or a log knows its file of today.",
        (
            _PATH,
            Param("text", "What to add", required=True, least=1),
            Param("fields", "Fields of the frontmatter to set, such as summary", FIELDS, {}),
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
        "decisions, as one commit; the rest of the file stays as it is. Fields that are not named "
        "stay, and so does the text if none is given.",
        (
            _PATH,
            Param("title", "The title of the entry", required=True, least=1),
            Param("text", "What it says below its fields"),
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
        "List files with their sizes, or entries with their addresses, as they are or were.",
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
        "Who changed a file, or anything, when and why; newest first, through moves of the file. "
        "The commits are moments that `at` takes.",
        (
            Param("path", "A file, a folder or an address, whose file is meant; all if not given"),
            Param("limit", "How many commits", INTEGER, 20, least=1, most=100),
            Param("since", "Only since then, such as yesterday"),
            Param("agent", "Only by this agent"),
            _OFFSET,
            _GROUP,
        ),
        calls.memory_history,
        reads=True,
    ),
    Tool(
        "memory_restore",
        "Bring back a file or an entry",
        "Bring back a file, or one entry by its address, as it was, as a new commit: what stands "
        "there now stays in the history. What was archived comes back from the archive. Without "
        "`at` and `previous` the versions to choose from are listed, where there is a choice.",
        (
            Param("path", "A file, or the address of an entry", required=True, least=1),
            _AT,
            Param("previous", "The version before the present one", BOOLEAN, False),
            _REASON,
            _GROUP,
        ),
        calls.memory_restore,
    ),
    Tool(
        "memory_status",
        "Show the state of memory",
        "What the group holds, layer by layer, the last write, and what needs a look: files over "
        "their budget, edits by other tools, versions held out of git.",
        (_GROUP,),
        calls.memory_status,
        reads=True,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}


def answered(endpoint: Endpoint, name: str, given: Mapping[str, Any]) -> ToolResult:
    """Call the tool NAME; whatever goes wrong is an answer, too. No credential is part of it."""
    return guarded(endpoint, lambda: _called(endpoint, name, given))


def guarded(endpoint: Endpoint, call: Callable[[], ToolResult]) -> ToolResult:
    """What CALL answers, or why it does not, as a model may see it."""
    answer = _answered(endpoint, call)
    gitdirs = {*endpoint.kept.gitdirs(), *map(endpoint.store.gitdir, (endpoint.group, GLOBAL))}
    return without_secrets(answer, lambda text: hidden(gitdirs, text))


def _answered(endpoint: Endpoint, call: Callable[[], ToolResult]) -> ToolResult:
    try:
        answer = call()
        notes = [on_a_line(f"note: {for_models(each)}") for each in endpoint.kept.damage()]
        return ToolResult(joined((answer.text, *notes), "\n"), told(answer.facts), answer.failed)
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
        answer = refused("unexpected", message, "this is a bug of gitmem's; please report it", {})
        return answer._replace(by_us=True)


def _called(endpoint: Endpoint, name: str, given: Mapping[str, Any]) -> ToolResult:
    tool = BY_NAME.get(name)
    if tool is None:
        raise BadInput(f"there is no tool {name!r}", hint=f"there are: {', '.join(BY_NAME)}")
    arguments = checked(name, tool.params, given)
    return tool.call(endpoint, {**arguments, "path": local(arguments.get("path", ""))})
