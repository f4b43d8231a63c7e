"""Results as one JSON document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import PurePath

from gitmem.model.hints import Hint, Render, rendered

SCHEMA_VERSION = 1
# The categories Cc, Cf, Zl and Zp, but for what JSON itself escapes and the ends of its lines.
HIDDEN = re.compile(
    "[\x7f-\x9f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001-\U000e007f]"
)


def document(result: object, render: Render | None = None, **more: object) -> bytes:
    """RESULT as the one document a command prints under --json, in UTF-8; RENDER words its hints.

    Half a character, as in a file name that is no UTF-8, stays an escape; so do control, bidi and
    zero-width characters, since people print documents, too.
    """
    import json

    body = as_plain(result, render)
    facts = body if isinstance(body, dict) else {"result": body}
    whole = {"schema_version": SCHEMA_VERSION, **facts, **dict(as_plain(more, render))}  # type: ignore[call-overload]
    text = re.sub(HIDDEN, _escaped, json.dumps(whole, ensure_ascii=False, indent=2))
    return text.encode("utf-8", "backslashreplace")


def _escaped(found: re.Match[str]) -> str:
    """A character as JSON escapes it: the same value, and nothing that a terminal obeys."""
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def as_plain(value: object, render: Render | None = None) -> object:
    """VALUE in the words of JSON: records as objects, moments as ISO times, bytes as text."""
    if value is None or isinstance(value, bool | int | float | str):
        return rendered(value, render) if render and isinstance(value, Hint) else value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): as_plain(each, render) for key, each in value.items()}
    return _as_plain_many(value, render)


def _as_plain_many(value: object, render: Render | None) -> object:
    fields = getattr(value, "_fields", None)
    if fields is not None:
        # `from` is a word of Python: a field of that name ends in `_`.
        return {name.rstrip("_"): as_plain(getattr(value, name), render) for name in fields}
    if isinstance(value, list | tuple):
        return [as_plain(each, render) for each in value]
    if isinstance(value, set | frozenset):
        return sorted((as_plain(each, render) for each in value), key=str)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
