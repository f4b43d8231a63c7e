"""What is answered to a line that is no message: the SDK passes such a line over in silence."""

from __future__ import annotations

import json
from typing import Any

NO_JSON, NO_REQUEST = -32700, -32600
LONGEST = 4300
"""Digits of a number that Python reads."""
UNREADABLE = (
    "this line cannot be read: it is no JSON, or it has half a character, a byte that is no UTF-8, "
    "or a number of very many digits"
)
SHAPELESS = (
    "this is no request: it needs jsonrpc, an id that is a string or a whole number, method, "
    "and params that are an object"
)


def fault(line: bytes) -> str:
    """The answer to LINE, which could not be read; nothing where nobody waits for one."""
    if not line.strip():
        return ""
    try:
        found = _read(line)
    except (ValueError, RecursionError):
        return _error(None, NO_JSON, UNREADABLE)
    if not isinstance(found, dict):
        return _error(None, NO_REQUEST, SHAPELESS)
    if "id" not in found or "result" in found or "error" in found:
        return ""  # a notification, or an answer to us
    is_whole = found.get("jsonrpc") == "2.0" and isinstance(found.get("method"), str)
    is_whole = is_whole and isinstance(found.get("params", {}), dict) and _is_id(found["id"])
    code, said = (NO_JSON, UNREADABLE) if is_whole else (NO_REQUEST, SHAPELESS)
    return _error(found["id"], code, said)


def has_id(line: bytes) -> bool:
    """Whether LINE, which is an object, names an id, of whatever kind."""
    return "id" in _read(line)


def _read(line: bytes) -> Any:
    return json.loads(line.decode("utf-8", "replace"), parse_int=_number)


def _number(digits: str) -> int | None:
    return int(digits) if len(digits) <= LONGEST else None


def _is_id(number: object) -> bool:
    return isinstance(number, str | int) and not isinstance(number, bool)


def _error(number: Any, code: int, said: str) -> str:
    known = number if _is_id(number) else None
    error = {"code": code, "message": said}
    return json.dumps({"jsonrpc": "2.0", "id": known, "error": error}) + "\n"
