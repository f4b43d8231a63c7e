"""Edits of a JSON text that keep every other byte.

The settings of a host belong to people, with their order, indentation and line endings. So the text
is never dumped anew: an edit inserts or removes a few characters, and removing what was inserted
gives back the same text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from gitmem.errors import JsonRefused

BOM = "\ufeff"
DEEPEST = 100
_SPACE = r"[ \t\n\r]*"
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_WORDS = {"true": True, "false": False, "null": None}
_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}

Path = Sequence[str | int]
"""The path to a value: names in objects, numbers in lists."""


class JsonNode(NamedTuple):
    """A value and its text, `text[start:end]`."""

    value: Any
    start: int
    end: int
    inner: tuple[JsonMember, ...] = ()
    """The members of an object, or the elements of a list."""


class JsonMember(NamedTuple):
    """A member of an object, or an element of a list, which has no name."""

    name: str
    start: int
    node: JsonNode


def read(text: str) -> Any:
    """Return the value of TEXT; JsonRefused for invalid JSON and duplicate names."""
    return _parsed(text).value


def is_blank(text: str) -> bool:
    """Whether TEXT is empty, as a new file is."""
    return not text.strip(f"{BOM} \t\r\n")


def insert(text: str, path: Path, name: str, value: object) -> str:
    """Return TEXT with the new member NAME at the end of the object at PATH."""
    node = _at(text, path, dict)
    if name in node.value:
        raise ValueError(f"duplicate member {name!r}")
    return _with_last(text, node, f"{json.dumps(name, ensure_ascii=False)}{_colon(text)}", value)


def append(text: str, path: Path, value: object) -> str:
    """Return TEXT with VALUE at the end of the list at PATH."""
    return _with_last(text, _at(text, path, list), "", value)


def replace(text: str, path: Path, value: object) -> str:
    """Return TEXT with VALUE at PATH."""
    node = _at(text, path)
    is_wide = "\n" in text[node.start : node.end] or _is_wide(text)
    return text[: node.start] + _dumped(text, value, node.start, is_wide) + text[node.end :]


def remove(text: str, path: Path) -> str:
    """Return TEXT without the member or element at PATH."""
    node = _at(text, path[:-1])
    position = _position(node, path[-1])
    if position:  # with the comma before it
        return text[: node.inner[position - 1].node.end] + text[node.inner[position].node.end :]
    if len(node.inner) > 1:  # with the comma behind it
        return text[: node.inner[0].start] + text[node.inner[1].start :]
    space = re.sub(r"\r?\n[ \t]*\Z", "", text[node.start + 1 : node.inner[0].start])
    return text[: node.start + 1] + space + text[node.end - 1 :]


def _with_last(text: str, node: JsonNode, label: str, value: object) -> str:
    """TEXT with VALUE at the end of a container."""
    if not node.inner:
        return _with_first(text, node, label, value)
    last = node.inner[-1]
    before = node.inner[-2].node.end if len(node.inner) > 1 else node.start + 1
    space = re.sub(r"\A.*,", "", text[before : last.start], flags=re.DOTALL)
    is_wide = "\n" in space
    # Of blank lines only the last line break is copied.
    space = re.sub(r"\A.*?(\r?\n[ \t]*)\Z", r"\1", space, flags=re.DOTALL)
    space = space or (" " if _colon(text).endswith(" ") else "")
    put = f"{text[: last.node.end]},{space}{label}"
    return put + _dumped(put, value, len(put), is_wide) + text[last.node.end :]


def _with_first(text: str, node: JsonNode, label: str, value: object) -> str:
    """TEXT with VALUE as the first element of an empty container, after its white space."""
    if not _is_wide(text):
        put = f"{text[: node.end - 1]}{label}"
        return put + _dumped(text, value, 0, False) + text[node.end - 1 :]
    newline, outer = _newline(text), _indent_at(text, node.start)
    put = f"{text[: node.end - 1]}{newline}{outer}{_unit(text)}{label}"
    return f"{put}{_dumped(put, value, len(put), True)}{newline}{outer}{text[node.end - 1 :]}"


def _dumped(text: str, value: object, at: int, is_wide: bool) -> str:
    """VALUE as JSON: on several lines if IS_WIDE, indented like TEXT at AT."""
    colon = _colon(text)
    if not is_wide:
        comma = ", " if colon.endswith(" ") else ","
        return json.dumps(value, ensure_ascii=False, separators=(comma, colon))
    dumped = json.dumps(value, ensure_ascii=False, indent=_unit(text), separators=(",", colon))
    # A line break inside a string is always an escape.
    return dumped.replace("\n", _newline(text) + _indent_at(text, at))


def _newline(text: str) -> str:
    found = re.search(r"\r?\n", text)
    return found[0] if found else "\n"


def _is_wide(text: str) -> bool:
    """Whether members are on lines of their own; they are in an empty text."""
    return "\n" in text.strip(f"{BOM} \t\r\n") or re.search(r"[^\s{}\[\]\ufeff]", text) is None


def _unit(text: str) -> str:
    """The indentation of a level: that of the first indented line."""
    found = re.search(r"\n([ \t]+)[^\s]", text)
    return found[1] if found else "  "


def _indent_at(text: str, at: int) -> str:
    """The indentation of the line at AT."""
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _colon(text: str) -> str:
    """The separator of a name and its value, as in the first member."""
    found = re.match(rf'{BOM}?{_SPACE}\{{{_SPACE}"(?:[^"\\]|\\.)*"([ \t]*:[ \t]*)', text)
    return found[1] if found else ": "


def _at(text: str, path: Path, kind: type = object) -> JsonNode:
    """The value at PATH; JsonRefused if it is not of KIND."""
    node = _parsed(text)
    for number, step in enumerate(path):
        container = dict if isinstance(step, str) else list
        _check_kind(node.value, container, path[:number])
        node = node.inner[_position(node, step)].node
    _check_kind(node.value, kind, path)
    return node


def _check_kind(value: object, kind: type, path: Path) -> None:
    if not isinstance(value, kind):
        raise wrong_kind(value, kind, path)


def wrong_kind(value: object, kind: type, path: Path) -> JsonRefused:
    """Return the error for a value at PATH that is not of KIND."""
    where = ".".join(map(str, path)) or "the whole"
    return JsonRefused(
        f"{where} is {_KINDS.get(type(value), 'a number or null')}, not {_KINDS[kind]}",
        hint="fix it by hand; nothing was changed",
        at=where,
    )


def _position(node: JsonNode, step: str | int) -> int:
    if isinstance(step, int):
        return range(len(node.inner))[step]
    return next(at for at, each in enumerate(node.inner) if each.name == step)


def _parsed(text: str) -> JsonNode:
    scanner = _JsonScanner(text)
    start = scanner.space(len(BOM) if text.startswith(BOM) else 0)
    node = scanner.value(start, 0)
    if scanner.space(node.end) != len(text):
        raise scanner.refused(node.end, "text after the end")
    return node


class _JsonScanner:
    """Parses a text once and records positions."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._space = re.compile(_SPACE)
        self._number = re.compile(_NUMBER)
        self._decode = json.JSONDecoder().raw_decode

    def space(self, at: int) -> int:
        """Return the position after white space."""
        found = self._space.match(self._text, at)
        return found.end() if found else at

    def refused(self, at: int, why: str) -> JsonRefused:
        """Return the error for invalid JSON at AT."""
        at = self.space(at)
        line = self._text.count("\n", 0, at) + 1
        column = at - self._text.rfind("\n", 0, at)
        return JsonRefused(
            f"not valid JSON: {why} in line {line}, column {column}",
            hint="fix it by hand; nothing was changed",
            line=line,
            column=column,
        )

    def value(self, at: int, depth: int) -> JsonNode:
        """Return the value at AT."""
        first = self._text[at : at + 1]
        if depth > DEEPEST:
            raise self.refused(at, f"more than {DEEPEST} levels")
        if first in ("{", "["):
            return self._container(at, depth, "}" if first == "{" else "]")
        if first == '"':
            found, end = self._string(at)
            return JsonNode(found, at, end)
        return self._scalar(at)

    def _string(self, at: int) -> tuple[str, int]:
        try:
            found, end = self._decode(self._text, at)
            return str(found), end
        except json.JSONDecodeError as error:
            raise self.refused(at, "unterminated string") from error

    def _scalar(self, at: int) -> JsonNode:
        for word, meaning in _WORDS.items():
            if self._text.startswith(word, at):
                return JsonNode(meaning, at, at + len(word))
        number = self._number.match(self._text, at)
        if number is None:
            raise self.refused(at, "no value" if at < len(self._text) else "unexpected end")
        return JsonNode(json.loads(number[0]), at, number.end())

    def _container(self, at: int, depth: int, closing: str) -> JsonNode:
        inner: list[JsonMember] = []
        names: set[str] = set()
        end = self.space(at + 1)
        while self._text[end : end + 1] != closing:
            if inner:
                end = self._expect(",", end)
            inner.append(self._member(end, depth, closing, names))
            names.add(inner[-1].name)
            end = self.space(inner[-1].node.end)
        values = [each.node.value for each in inner]
        found = values if closing == "]" else {x.name: x.node.value for x in inner}
        return JsonNode(found, at, end + 1, tuple(inner))

    def _member(self, at: int, depth: int, closing: str, others: set[str]) -> JsonMember:
        if closing == "]":
            return JsonMember("", at, self.value(at, depth + 1))
        if self._text[at : at + 1] != '"':
            raise self.refused(at, "no name in quotes")
        name, end = self._string(at)
        if name in others:
            raise self.refused(at, f"duplicate name {name!r}")
        return JsonMember(name, at, self.value(self._expect(":", self.space(end)), depth + 1))

    def _expect(self, mark: str, at: int) -> int:
        if self._text[at : at + 1] != mark:
            raise self.refused(at, f"no {mark!r}")
        return self.space(at + 1)
