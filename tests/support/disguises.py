"""Ways in which a credential stands in a text without standing there as it is."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

Disguise = Callable[[str], str]

SIGNS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
NAMES = {"_": "&lowbar;", "-": "&hyphen;", ".": "&period;", ":": "&colon;", "/": "&sol;"}


def _in_middle(between: str) -> Disguise:
    """With BETWEEN in two places inside."""
    return lambda s: f"{s[:6]}{between}{s[6:12]}{between}{s[12:]}"


def _each(form: Callable[[str], str]) -> Disguise:
    """With every character written in another FORM; white space stays."""

    def disguised(text: str) -> str:
        return "".join(char if char.isspace() else form(char) for char in text)

    return disguised


def _full_width(char: str) -> str:
    return chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char


DISGUISES: dict[str, Disguise] = {
    "soft hyphens": _in_middle("\u00ad"),
    "soft hyphen everywhere": _each(lambda char: f"{char}\u00ad"),
    "zero-width space": _in_middle("\u200b"),
    "zero-width joiner": _in_middle("\u200d"),
    "word joiner": _in_middle("\u2060"),
    "byte order mark": _in_middle("\ufeff"),
    "direction marks": _in_middle("\u202d"),
    "variation selector": _in_middle("\ufe0f"),
    "tag characters": _in_middle("\U000e0041"),
    "zeros": _in_middle("\0"),
    "markdown escapes": _each(lambda char: f"\\{char}" if char in SIGNS else char),
    "colours": lambda s: f"\x1b[31m{s[:6]}\x1b[0;1m{s[6:]}\x1b[0m",
    "colours as text": lambda s: f"\\u001b[31m{s[:6]}\\u001b[0m{s[6:]}",
    "terminal link": lambda s: f"{s[:6]}\x1b]8;;https://a.example\x1b\\{s[6:]}",
    "json escapes": _each(lambda char: f"\\u{ord(char):04x}"),
    "json in json": lambda s: json.dumps(json.dumps("".join(f"\\u{ord(c):04X}" for c in s))),
    "json slashes": lambda s: s.replace("/", "\\/"),
    "hex escapes": _each(lambda char: f"\\x{ord(char):02x}"),
    "octal escapes": _each(lambda char: f"\\{ord(char):03o}"),
    "html numbers": _each(lambda char: f"&#{ord(char)};"),
    "html hex numbers": _each(lambda char: f"&#x{ord(char):X};"),
    "html names": _each(lambda char: NAMES.get(char, char)),
    "html in html": _each(lambda char: f"&amp;#{ord(char)};"),
    "per cent": _each(lambda char: f"%{ord(char):02X}"),
    "per cent twice": _each(lambda char: f"%25{ord(char):02x}"),
    "mail": _each(lambda char: f"={ord(char):02X}"),
    "mail, its signs only": _each(lambda char: f"={ord(char):02X}" if char in SIGNS else char),
    "mail, a line that goes on": lambda s: f"{s[:14]}=\r\n{s[14:]}",
    "carriage returns": _in_middle("\r"),
    "form feeds": _in_middle("\f"),
    "line separators": _in_middle("\u2028"),
    "full width": _each(_full_width),
    "bold inside": lambda s: f"{s[:7]}**{s[7:11]}**{s[11:]}",
    "code inside": lambda s: f"{s[:7]}`{s[7:11]}`{s[11:]}",
    "tags inside": lambda s: f"{s[:7]}<b class='x y'>{s[7:11]}</b>{s[11:]}",
    "comment inside": lambda s: f"{s[:7]}<!-- x -->{s[7:]}",
    "typographic dashes": lambda s: s.replace("-", "\u2011"),
    "base64 of utf-16": lambda s: base64.b64encode(f"key: {s}".encode("utf-16-le")).decode(),
}
ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
