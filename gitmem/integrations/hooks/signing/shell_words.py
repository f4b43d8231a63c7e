"""A command of a shell as words and operators. No text takes longer than its length."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<blank>(?:[ \t\r]|\\\n)++|\#[^\n]*+)
    |(?P<redirect>&>>?|[0-9]*+(?:<<<|<<-?|<>|<&|>&|>\||>>|>|<))
    |(?P<operator>\n|&&|\|\||\|&|;;|[;&|()])
    |(?P<word>(?:\\.|'[^']*+'|"(?:\\.|[^"\\])*+"|[^\s\\'"<>|;&()])++)""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile(r"""\\(.)|'([^']*+)'|"((?:\\.|[^"\\])*+)"|([^\\'"]++)""", re.DOTALL)
_HEREDOC = re.compile(r"[0-9]*<<-?")


class Word(NamedTuple):
    text: str
    plain: bool
    """Whether it means what it says: nothing in it is replaced by the shell."""


def tokens_of(text: str) -> Iterator[tuple[str, str]]:
    """The words and operators of TEXT, each with its kind.

    A `target` is a word to which output goes; `hidden` stands for what cannot be read.
    """
    at, redirect = 0, ""
    ends: list[str] = []  # of the texts that begin behind this line
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:  # a quote without end
            yield "hidden", ""
            return
        at, kind, value = found.end(), str(found.lastgroup), found[0]
        if kind == "blank":
            continue
        if kind == "word" and _HEREDOC.fullmatch(redirect):
            ends.append(value)
        elif kind == "word":
            yield from _redirected(redirect, value)
        elif kind == "operator":
            yield from _operated(redirect, value)
        redirect = value if kind == "redirect" else ""
        while value == "\n" and ends:
            body, at = _behind(text, at, ends.pop(0))
            yield from body


def _operated(redirect: str, value: str) -> Iterator[tuple[str, str]]:
    if redirect:
        yield "hidden", ""  # `>(program)`
    yield "operator", value


def _redirected(redirect: str, value: str) -> Iterator[tuple[str, str]]:
    if not redirect:
        yield "word", value
    elif ">" in redirect and not (redirect.endswith("&") and re.fullmatch(r"\d+|-", value)):
        yield "target", value
    if redirect and runs_inside(value):
        yield "hidden", ""


def _behind(text: str, at: int, end: str) -> tuple[list[tuple[str, str]], int]:
    """The text that goes on to a line END, as far as it matters, and where that line is over."""
    name = word_of(end).text
    found = re.compile(rf"^\t*{re.escape(name)}$", re.MULTILINE).search(text, at)
    body = text[at : found.start() if found else len(text)]
    is_hiding = name == end and runs_inside(body)  # without quotes the shell looks into it
    return [("hidden", "")] if is_hiding else [], found.end() if found else len(text)


def runs_inside(text: str) -> bool:
    """Whether TEXT may have a command in it that is not seen."""
    return "$(" in text or "`" in text


def word_of(raw: str) -> Word:
    """A word without its quotes."""
    if raw.startswith("~") and (raw == "~" or raw.startswith("~/")):
        inner = word_of(raw[1:])
        return inner._replace(text=os.path.expanduser("~") + inner.text)
    plain, parts = not raw.startswith("~"), []
    for escaped, single, double, bare in _QUOTED.findall(raw):
        plain &= not re.search(r"[$`]", re.sub(r"\\.", "", double, flags=re.DOTALL))
        plain &= not re.search(r"[$`*?\[{]", bare)
        parts.append(single or bare or escaped or re.sub(r'\\([$`"\\\n])', r"\1", double))
    return Word("".join(parts), plain)
