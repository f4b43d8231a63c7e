"""Names as they can be typed in a shell."""

from __future__ import annotations

PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+,@ ")
"""What stands for itself in `$'...'`."""


def quoted(text: str) -> str:
    """TEXT as one word for a shell; what cannot be seen is written in escapes that it reads.

    A name that begins with a dash would be read as an option; `./` before it is the same path. A
    backtick is an escape, too: hints stand between two of them.
    """
    text = f"./{text}" if text.startswith("-") else text
    if text.isprintable() and "`" not in text:
        from shlex import quote

        return quote(text)
    raw = text.encode("utf-8", "surrogateescape")
    plain = (chr(byte) if chr(byte) in PLAIN else f"\\x{byte:02x}" for byte in raw)
    return f"$'{''.join(plain)}'"
