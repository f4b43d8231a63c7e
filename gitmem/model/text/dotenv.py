"""Values of a `.env` file, and copies of them in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

SHORTEST = 4
"""Shorter values are not reported as copies."""
# Common values, whose copies mean nothing.
_COMMON = frozenset(
    {"true", "false", "none", "null", "info", "debug", "warn", "warning", "error", "main", "test"}
    | {"production", "development", "staging", "local", "localhost", "default", "auto", "http"}
)
_LINE = r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(.*)"


def values(text: str) -> dict[str, str]:
    """Return the variables that TEXT sets, without quotes and comments; the last one counts."""
    found = {}
    for line in text.removeprefix("\ufeff").splitlines():
        setting = re.fullmatch(_LINE, line)
        if setting:
            found[setting[1]] = _value(setting[2].strip())
    return found


def copies(text: str, settings: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the lines of TEXT with a value of SETTINGS, each with its variable."""
    specific = {key: value for key, value in settings.items() if _is_specific(value)}
    for number, line in enumerate(text.split("\n"), 1):
        for key, value in specific.items():
            if value in line and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", line):
                yield number, key


def _is_specific(value: str) -> bool:
    return len(value) >= SHORTEST and value.casefold() not in _COMMON


def _value(raw: str) -> str:
    if raw[:1] in ("'", '"') and raw[:1]:
        closing = raw.find(raw[0], 1)
        return raw[1:closing] if closing > 0 else raw[1:]
    return re.split(r"\s#", raw, maxsplit=1)[0].strip()
