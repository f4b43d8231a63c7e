"""The folders of memory among those that Codex's sandbox lets the model write to.

Under `workspace-write` a command may write to the project and to `writable_roots`. A write of
gitmem needs two folders of a group: its files and its git directory, which the sandbox would keep
read-only if it stood below the files. Every other byte of the TOML stays, and a change that does
not say exactly what it should is not made.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from gitmem.errors import Refused
from gitmem.integrations.install.parts.hooks import Merged
from gitmem.integrations.install.parts.mcp import read_toml

ROOTS = "writable_roots"
TABLE = "sandbox_workspace_write"
_BY_HAND = f"the sandbox keeps `gitmem write` out: add to {ROOTS} of [{TABLE}] by hand: {{}}"
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""|'  # strings first: a bracket or `#` in one means nothing
    r"'''.*?'''|"
    r'"(?:\\.|[^"\\\n])*"|'
    r"'[^'\n]*'|"
    r"\#[^\n]*|\n|[\[\]{}=,]|[^\s\"'\#\[\]{}=,]+",
    re.DOTALL,
)


class _List(NamedTuple):
    """Where the list of roots stands in a text."""

    begin: int
    """Behind its opening bracket."""
    end: int
    """Before its closing one."""
    line: int
    """Where the line of its key begins."""


class _Found(NamedTuple):
    """What stands in a text of the table: behind its head, and its list of roots."""

    head: tuple[int, int] | None = None
    """The line with which the table begins, and its end."""
    roots: _List | None = None


def put_roots(text: str, wanted: Sequence[str], ours: Sequence[str]) -> Merged:
    """TEXT whose sandbox can write to WANTED; OURS are the roots that we put there before.

    Those that the user has named, or a folder around them, stay the user's.
    """
    kept = [each for each in roots_in(read_toml(text)) if each not in ours]
    theirs = [os.path.realpath(os.path.expanduser(x)) for x in kept if "\0" not in x]
    new = [each for each in dict.fromkeys(wanted) if not is_below(each, theirs)]
    there = [each for each in roots_in(read_toml(text)) if each in ours]
    missing = [each for each in new if each not in there]
    try:
        text = _without(text, [each for each in there if each not in new])
        text = _with(text, missing) if missing else text
        return Merged(text, (), {ROOTS: new} if new else {})
    except Refused:
        given = [each for each in there if each in new]
        return Merged(text, (_BY_HAND.format(json.dumps(missing)),), {ROOTS: given})


def take_roots(text: str, before: str, ours: Sequence[str]) -> str:
    """TEXT without OURS, and without a list or table that was not there BEFORE us."""
    there = [each for each in roots_in(read_toml(text)) if each in ours]
    if not there:
        return text
    text, old = _without(text, there), _table(read_toml(before))
    if (_table(read_toml(text)) or {}).get(ROOTS) == [] and ROOTS not in (old or {}):
        with suppress(Refused):  # an empty list changes nothing
            text = _agreed(_cut_list(text), text, None)
    if _find(before).head is None:
        text = _cut_table(text)
    # A last line that had no end got one.
    return before if text.rstrip("\r\n") == before.rstrip("\r\n") else text


def _table(said: dict[str, Any]) -> dict[str, Any] | None:
    found = said.get(TABLE)
    return found if isinstance(found, dict) else None


def roots_in(said: dict[str, Any]) -> list[str]:
    """The writable roots that the settings in a `config.toml` name."""
    found = (_table(said) or {}).get(ROOTS)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def is_below(path: str, folders: Sequence[str]) -> bool:
    """Whether PATH really is one of FOLDERS, which are real, or stands in one."""
    real = os.path.realpath(path)
    return any(real == each or real.startswith(f"{each.rstrip('/')}/") for each in folders)


def _with(text: str, new: Sequence[str]) -> str:
    """TEXT with NEW in front of the list: there it needs nothing of what follows."""
    found, newline = _find(text), "\r\n" if "\r\n" in text else "\n"
    said = ", ".join(json.dumps(each, ensure_ascii=False) for each in new)
    roots = [*new, *roots_in(read_toml(text))]
    if found.roots:
        at = found.roots.begin
        more = ", " if roots_in(read_toml(text)) else ""
        changed = f"{text[:at]}{said}{more}{text[at:]}"
    elif found.head:
        at = found.head[1]
        gap = "" if text[:at].endswith("\n") else newline
        changed = f"{text[:at]}{gap}{ROOTS} = [{said}]{newline}{text[at:]}"
    else:
        gap = newline * (2 - text.endswith("\n")) if text else ""
        changed = f"{text}{gap}[{TABLE}]{newline}{ROOTS} = [{said}]{newline}"
    return _agreed(changed, text, roots)


def _without(text: str, gone: Sequence[str]) -> str:
    """TEXT without the roots GONE."""
    if not gone:
        return text
    found = _find(text).roots
    if found is None:
        raise Refused(f"{ROOTS} is not a list that can be edited", hint="take them out by hand")
    inner = text[found.begin : found.end]
    for begin, end in reversed([x[:2] for x in _strings(inner) if x[2] in gone]):
        behind = re.match(r",[ \t]?", inner[end:])
        if behind:
            inner = inner[:begin] + inner[end + behind.end() :]
        else:  # the last one: the comma before it goes instead
            inner = re.sub(r",[ \t]*\Z", "", inner[:begin]) + inner[end:]
    left = [each for each in roots_in(read_toml(text)) if each not in gone]
    return _agreed(text[: found.begin] + inner + text[found.end :], text, left)


def _strings(inner: str) -> Iterator[tuple[int, int, str]]:
    """The strings in a list: where each begins and ends, and what it says."""
    for found in _TOKEN.finditer(inner):
        if found[0][0] in "\"'":
            value = tomllib.loads(f"x = {found[0]}")["x"]
            yield found.start(), found.end(), value


def _agreed(changed: str, text: str, roots: list[str] | None) -> str:
    """CHANGED, if it says what TEXT does and names these ROOTS; None for no list at all."""
    wanted = read_toml(text)
    table = dict(_table(wanted) or {})
    table.pop(ROOTS, None)
    wanted[TABLE] = table if roots is None else {**table, ROOTS: roots}
    if _said(changed) != wanted:
        raise Refused(f"{ROOTS} cannot be changed there", hint="change it by hand")
    return changed


def _cut_list(text: str) -> str:
    """TEXT without the line of the list, which is empty."""
    found = _find(text).roots
    if found is None:
        return text
    rest = re.match(r"\][ \t]*\r?\n?", text[found.end :])
    return text[: found.line] + text[found.end + (rest.end() if rest else 0) :]


def _cut_table(text: str) -> str:
    """TEXT without the head of the table, and the empty line before it, if nothing stands below."""
    head, wanted = _find(text).head, read_toml(text)
    if head is None:
        return text
    left = re.sub(r"(?<=\n)\r?\n\Z", "", text[: head[0]]) + text[head[1] :]
    if wanted[TABLE] == {}:
        del wanted[TABLE]
    return left if _said(left) == wanted else text


def _said(text: str) -> dict[str, Any]:
    """What TEXT says; nothing where that is no TOML."""
    try:
        return read_toml(text)
    except Refused:
        return {}


def _find(text: str) -> _Found:
    """Where the table and its list stand; not where they are written in another way."""
    head, roots, table, line, depth = None, None, "", 0, 0
    words: list[re.Match[str]] = []
    for token in _TOKEN.finditer(text):
        if token[0] == "\n" and depth == 0:
            table, is_head = _headed(words, table)
            if is_head and table == TABLE:
                head = (line, token.end())
            line, words = token.end(), []
        elif token[0][0] != "#":
            words.append(token)
            depth = max(0, depth + (token[0] in "[{") - (token[0] in "]}"))
            if depth == 0 and token[0] == "]":
                roots = roots or _list_in(words, table, line)
    if words:
        table, is_head = _headed(words, table)
        head = (line, len(text)) if is_head and table == TABLE else head
    return _Found(head, roots)


def _headed(words: Sequence[re.Match[str]], table: str) -> tuple[str, bool]:
    """The table in which the next line stands, and whether WORDS are its head."""
    said = [each[0] for each in words]
    if said and said[0] == "[" and "=" not in said:
        return "".join(said[1:-1]).strip("\"'"), said.count("[") == 1
    return table, False


def _list_in(words: Sequence[re.Match[str]], table: str, line: int) -> _List | None:
    """The list of roots, if WORDS are the line that assigns it."""
    said = [each[0] for each in words]
    key = "".join(said[: said.index("=")]) if "=" in said else ""
    full = f"{table}.{key}" if table else key
    if full != f"{TABLE}.{ROOTS}" or said[said.index("=") + 1] != "[":
        return None
    return _List(words[said.index("=") + 1].end(), words[-1].start(), line)
