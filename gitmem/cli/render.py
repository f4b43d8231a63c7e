"""Results as one JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import PurePath

SCHEMA_VERSION = 1


def document(result: object, **more: object) -> bytes:
    """RESULT as the one document a command prints under --json, in UTF-8.

    Half a character, as in a file name that is no UTF-8, stays an escape.
    """
    import json

    body = as_plain(result)
    facts = body if isinstance(body, dict) else {"result": body}
    whole = {"schema_version": SCHEMA_VERSION, **facts, **dict(as_plain(more))}  # type: ignore[call-overload]
    return json.dumps(whole, ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace")


def as_plain(value: object) -> object:
    """VALUE in the words of JSON: records as objects, moments as ISO times, bytes as text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): as_plain(each) for key, each in value.items()}
    return _as_plain_many(value)


def _as_plain_many(value: object) -> object:
    fields = getattr(value, "_fields", None)
    if fields is not None:
        # `from` is a word of Python: a field of that name ends in `_`.
        return {name.rstrip("_"): as_plain(getattr(value, name)) for name in fields}
    if isinstance(value, list | tuple):
        return [as_plain(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted((as_plain(each) for each in value), key=str)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
