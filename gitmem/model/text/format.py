"""Numbers, sizes and names in the texts that people read."""

from __future__ import annotations

KILO = 1024


def counted(number: int, unit: str) -> str:
    """Return NUMBER with UNIT, in the plural if needed: 1 entry, 1,200 entries."""
    if number == 1:
        return f"1 {unit}"
    is_soft = unit.endswith("y") and unit[-2] not in "aeiou"
    return f"{number:,} {unit[:-1]}ies" if is_soft else f"{number:,} {unit}s"


_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+,@ ")
"""Characters that need no escape in `$'...'`."""


def quoted(text: str) -> str:
    """Return TEXT as one word for a shell, with escapes for invisible characters and backticks.

    A path that begins with a dash gets `./`, or it would be an option. Backticks are escaped since
    hints are set in backticks.
    """
    text = f"./{text}" if text.startswith("-") else text
    if text.isprintable() and "`" not in text:
        from shlex import quote

        return quote(text)
    raw = text.encode("utf-8", "surrogateescape")
    plain = (chr(byte) if chr(byte) in _PLAIN else f"\\x{byte:02x}" for byte in raw)
    return f"$'{''.join(plain)}'"


def human_size(size: int) -> str:
    """Return a size for people: `812B`, `4.0KB`, `1.5MB`."""
    if size < KILO:
        return f"{size}B"
    return f"{size / KILO:.1f}KB" if size < KILO * KILO else f"{size / KILO / KILO:.1f}MB"
