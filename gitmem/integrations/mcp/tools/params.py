"""What a tool takes: as a JSON schema for the host, and as a check of what a model sent.

Hosts hardly check anything before they call, and some send numbers and objects as text. What can
only mean one thing is taken; a name that no parameter has is refused, since an `ifMatch` that is
passed over would be a guard that nobody holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gitmem.errors import BadInput

STRING, INTEGER, BOOLEAN, FIELDS = "string", "integer", "boolean", "object"
WORDS = {STRING: "a text", INTEGER: "a whole number", BOOLEAN: "true or false"}
DIGITS = r"[+-]?[0-9]{1,18}"
"""A number as text; a longer one was never meant."""
TRUTHS = {"true": True, "false": False}


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
