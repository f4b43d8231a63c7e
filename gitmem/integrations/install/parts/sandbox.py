"""The folders of memory among the `writable_roots` of Codex's sandbox.

Under `workspace-write` a command may write to the project and to `writable_roots`. A write of
gitmem needs two folders of a group: its files and its git directory, which the sandbox would keep
read-only if it were below the files. Every other byte of the TOML stays, and an edit whose result
is not exactly as planned is refused.
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
from gitmem.integrations.install.host_files import read_toml, table_in, texts_in
from gitmem.integrations.install.part import PartAdded

ROOTS = "writable_roots"
TABLE = "sandbox_workspace_write"
_BY_HAND = f"the sandbox denies writes to memory: add to {ROOTS} of [{TABLE}] by hand: {{}}"
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""|'  # strings first: a bracket or `#` in one means nothing
    r"'''.*?'''|"
    r'"(?:\\.|[^"\\\n])*"|'
    r"'[^'\n]*'|"
    r"\#[^\n]*|\n|[\[\]{}=,]|[^\s\"'\#\[\]{}=,]+",
    re.DOTALL,
)


class _RootsList(NamedTuple):
    """The position of the list of roots in a text."""

    begin: int
    """After its opening bracket."""
    end: int
    """Before its closing one."""
    line: int
    """Where the line of its key begins."""


class _RootsTable(NamedTuple):
    """The positions of the table and its list of roots in a text."""

    head: tuple[int, int] | None = None
    """The line of its header: start and end."""
    roots: _RootsList | None = None


def put_roots(text: str, folders: Sequence[str], ours: Sequence[str]) -> PartAdded:
    """TEXT whose sandbox can write to FOLDERS; OURS are the roots that gitmem added before.

    Roots that the user has, or that are below one of the user's, stay the user's.
    """
    kept = [each for each in roots_in(read_toml(text)) if each not in ours]
    theirs = [os.path.realpath(os.path.expanduser(x)) for x in kept if "\0" not in x]
    new = [each for each in dict.fromkeys(folders) if not is_below(each, theirs)]
    there = [each for each in roots_in(read_toml(text)) if each in ours]
    missing = [each for each in new if each not in there]
    try:
        text = _without(text, [each for each in there if each not in new])
        text = _with(text, missing) if missing else text
        return PartAdded(text, (), {ROOTS: new} if new else {})
    except Refused:
        given = [each for each in there if each in new]
        return PartAdded(text, (_BY_HAND.format(json.dumps(missing)),), {ROOTS: given})


def take_roots(text: str, before: str, ours: Sequence[str]) -> str:
    """TEXT without OURS, and without a list or table that was missing BEFORE gitmem."""
    there = [each for each in roots_in(read_toml(text)) if each in ours]
    if not there:
        return text
    text, old = _without(text, there), table_in(read_toml(before), TABLE)
    if table_in(read_toml(text), TABLE).get(ROOTS) == [] and ROOTS not in old:
        with suppress(Refused):  # an empty list changes nothing
            text = _agreed(_cut_list(text), text, None)
    if _find(before).head is None:
        text = _cut_table(text)
    # The last line may have had no newline.
    return before if text.rstrip("\r\n") == before.rstrip("\r\n") else text


def roots_in(settings: dict[str, Any]) -> list[str]:
    """The writable roots in the settings of a `config.toml`."""
    return texts_in(table_in(settings, TABLE), ROOTS)


def is_below(path: str, folders: Sequence[str]) -> bool:
    """Whether the real path of PATH is one of FOLDERS, which are real paths, or is in one."""
    real = os.path.realpath(path)
    return any(real == each or real.startswith(f"{each.rstrip('/')}/") for each in folders)


def _with(text: str, new: Sequence[str]) -> str:
    """TEXT with NEW at the start of the list, which needs no knowledge of its end."""
    found, newline = _find(text), "\r\n" if "\r\n" in text else "\n"
    items = ", ".join(json.dumps(each, ensure_ascii=False) for each in new)
    roots = [*new, *roots_in(read_toml(text))]
    if found.roots:
        at = found.roots.begin
        more = ", " if roots_in(read_toml(text)) else ""
        changed = f"{text[:at]}{items}{more}{text[at:]}"
    elif found.head:
        at = found.head[1]
        gap = "" if text[:at].endswith("\n") else newline
        changed = f"{text[:at]}{gap}{ROOTS} = [{items}]{newline}{text[at:]}"
    else:
        gap = newline * (2 - text.endswith("\n")) if text else ""
        changed = f"{text}{gap}[{TABLE}]{newline}{ROOTS} = [{items}]{newline}"
    return _agreed(changed, text, roots)


def _without(text: str, gone: Sequence[str]) -> str:
    """TEXT without the roots GONE."""
    if not gone:
        return text
    found = _find(text).roots
    if found is None:
        raise Refused(f"{ROOTS} is not a plain list", hint="remove the folders by hand")
    inner = text[found.begin : found.end]
    for begin, end in reversed([x[:2] for x in _strings(inner) if x[2] in gone]):
        behind = re.match(r",[ \t]?", inner[end:])
        if behind:
            inner = inner[:begin] + inner[end + behind.end() :]
        else:  # the last one: remove the comma before it instead
            inner = re.sub(r",[ \t]*\Z", "", inner[:begin]) + inner[end:]
    left = [each for each in roots_in(read_toml(text)) if each not in gone]
    return _agreed(text[: found.begin] + inner + text[found.end :], text, left)


def _strings(inner: str) -> Iterator[tuple[int, int, str]]:
    """The start, the end and the value of each string in a list."""
    for found in _TOKEN.finditer(inner):
        if found[0][0] in "\"'":
            value = tomllib.loads(f"x = {found[0]}")["x"]
            yield found.start(), found.end(), value


def _agreed(changed: str, text: str, roots: list[str] | None) -> str:
    """CHANGED; Refused if it is not TEXT with these ROOTS; None for no list at all."""
    expected = read_toml(text)
    table = dict(table_in(expected, TABLE))
    table.pop(ROOTS, None)
    expected[TABLE] = table if roots is None else {**table, ROOTS: roots}
    if _tables(changed) != expected:
        raise Refused(f"no way to edit {ROOTS} there", hint="edit it by hand")
    return changed


def _cut_list(text: str) -> str:
    """TEXT without the line of the list, which is empty."""
    found = _find(text).roots
    if found is None:
        return text
    rest = re.match(r"\][ \t]*\r?\n?", text[found.end :])
    return text[: found.line] + text[found.end + (rest.end() if rest else 0) :]


def _cut_table(text: str) -> str:
    """TEXT without the header of the table and the empty line before it, if the table is empty."""
    head, expected = _find(text).head, read_toml(text)
    if head is None:
        return text
    left = re.sub(r"(?<=\n)\r?\n\Z", "", text[: head[0]]) + text[head[1] :]
    if expected[TABLE] == {}:
        del expected[TABLE]
    return left if _tables(left) == expected else text


def _tables(text: str) -> dict[str, Any]:
    """The tables of TEXT; none where it is invalid."""
    try:
        return read_toml(text)
    except Refused:
        return {}


def _find(text: str) -> _RootsTable:
    """The positions of the table and its list, if they are written in the usual form."""
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
    return _RootsTable(head, roots)


def _headed(words: Sequence[re.Match[str]], table: str) -> tuple[str, bool]:
    """The table of the next line, and whether WORDS are its header."""
    texts = [each[0] for each in words]
    if texts and texts[0] == "[" and "=" not in texts:
        return "".join(texts[1:-1]).strip("\"'"), texts.count("[") == 1
    return table, False


def _list_in(words: Sequence[re.Match[str]], table: str, line: int) -> _RootsList | None:
    """The list of roots, if WORDS are the line that assigns it."""
    texts = [each[0] for each in words]
    key = "".join(texts[: texts.index("=")]) if "=" in texts else ""
    full = f"{table}.{key}" if table else key
    if full != f"{TABLE}.{ROOTS}" or texts[texts.index("=") + 1] != "[":
        return None
    return _RootsList(words[texts.index("=") + 1].end(), words[-1].start(), line)
