"""How text from memory is written into a prompt: it cannot leave its block, nor hide anything.

Every way of writing here can be read back exactly. `docs/injection.md` has the rules for readers.
"""

from __future__ import annotations

import re
from functools import partial

# All that controls, formats, separates lines, draws nothing, chooses between two ways to draw or is
# half a character; but \t and \n.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2"
    "\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
# What makes a sign an emoji stays behind one that can be: there it is common, and can be seen.
_STRAY = r"(?<![0-9#*\xa9\xae\u203c-\u27ff\u2900-\u3299\U0001f000-\U0001faff])\ufe0f"
_UNSEEN = rf"[{_HIDDEN}]|{_STRAY}"
# A backslash is written so, too, where what it begins would read as such an escape.
_SHOWN = rf"{_UNSEEN}|\\(?=u\{{)"
_SHOWN_ASCII = r"[\x00-\x08\x0b-\x1f\x7f]|\\u\{"
_SHOWN_ON_A_LINE = rf"[\t\n]|{_SHOWN}"
_HARMLESS = r"[A-Za-z0-9_ .,:;/#()+-]*"
# Possessive (`*+`), here and below: a file of blanks must not make a search go back and forth.
_OURS = r"(?i:<(?=\s*+(?:/\s*+)?(?:knowledge|entry)\b))|&(?=(?:lt|gt|amp);)"
_MARKUP = {"<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;", "'": "&#39;"}

MISSING = "(missing)"
EMPTY = "(empty)"
UNREADABLE = "(unreadable: gitmem check)"
SNIPPETS = "Relevant memory snippets:"
_STAND_INS = r"[ \t]*+\((?:missing|empty|unreadable: gitmem check|gitmem read .*)\)[ \t]*+$"
_LOST = r"[ \t]*+\(unreadable: gitmem check\)[ \t]*+$"
_CUT = r"[ \t]*+\[\.\.\. [0-9]+ of [0-9]+ bytes: .*\][ \t]*+$"
_LOOKS = {
    "sections": r"[ \t]*+={3,}+[^\n].*===[ \t]*+$",
    "markdown": r" {0,3}##(?:[ \t]|$)",
    "snippets": rf"[ \t]*+\[[ \t]*+[0-9]+[ \t]*+\][ \t]*+\(|[ \t]*+{SNIPPETS}[ \t]*+$",
}


def escape(char: str) -> str:
    """The visible form of a character."""
    return f"\\u{{{ord(char):04X}}}"


def _escaped(found: re.Match[str]) -> str:
    return escape(found[0])


def shown(text: str) -> str:
    """TEXT with what cannot be seen written as `\\u{XXXX}`; lines and tabs stay."""
    if text.isascii() and not re.search(_SHOWN_ASCII, text):
        return text  # most of it is, and compiling the whole list takes time
    return re.sub(_SHOWN, _escaped, text)


def shown_on_a_line(text: str) -> str:
    """The same, all on one line."""
    return re.sub(_SHOWN_ON_A_LINE, _escaped, text)


def in_markup(text: str) -> str:
    """TEXT as an attribute, or as a summary between tags."""
    if re.fullmatch(_HARMLESS, text):
        return text
    return re.sub(r"[<>&\"']", lambda found: _MARKUP[found[0]], shown_on_a_line(text))


def in_tag(text: str) -> str:
    """TEXT between tags, all of it visible: only what reads as a tag or an escape changes."""
    if "<" not in text and "&" not in text:
        return text
    return re.sub(_OURS, lambda found: _MARKUP[found[0]], text)


def in_block(text: str) -> str:
    """TEXT as the body of a tag; in it a line that looks like one of ours begins with `\\`."""
    text = in_tag(shown(text))
    if "[... " not in text and UNREADABLE not in text:
        return text
    return re.sub(rf"(?m)^(?=\\*+(?:{_LOST}|{_CUT}))", r"\\", text)


def in_mark(text: str) -> str:
    """TEXT as one of several marks in brackets: it cannot end itself, the brackets or a heading."""
    return re.sub(r"[,()]|=(?===)", _escaped, shown_on_a_line(text))


def hidden_in_json(text: str) -> str:
    """A JSON document that writes what cannot be seen in the way of JSON."""
    return re.sub(_UNSEEN, _json_escape, text)


def _json_escape(found: re.Match[str]) -> str:
    code = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{code[at : at + 4]}" for at in range(0, len(code), 4))


def _in_lines(text: str, *, pattern: str) -> str:
    return re.sub(pattern, r"\\", shown(text))


in_lines = {
    name: partial(_in_lines, pattern=rf"(?mi)^(?=\\*+(?:{look}|{_STAND_INS}|{_CUT}))")
    for name, look in _LOOKS.items()
}
"""By format: a body in which a line that looks like one of the format's own begins with `\\`."""
