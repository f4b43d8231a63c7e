"""Edits to a JSON text of somebody else's that leave every other byte as it was.

A host's settings are written by people: their order, their indentation and their line ends are
theirs. So nothing is ever dumped anew: a change puts a few characters in or takes them out, and
taking out what was just put in gives back the very same text.
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
"""Where a value stands: names in objects, numbers in lists."""


class JsonNode(NamedTuple):
    """A value and where it stands: `text[start:end]`."""

    value: Any
    start: int
    end: int
    inner: tuple[JsonMember, ...] = ()
    """The members of an object, or the elements of a list."""


class JsonMember(NamedTuple):
    """One thing in an object or a list; in a list it has no name, and begins with its value."""

    name: str
    start: int
    node: JsonNode


def read(text: str) -> Any:
    """What TEXT says; refuses what is no JSON, and an object that has a name twice."""
    return _parsed(text).value


def is_blank(text: str) -> bool:
    """Whether TEXT says nothing at all, as a file that was only just made."""
    return not text.strip(f"{BOM} \t\r\n")


def insert(text: str, path: Path, name: str, value: object) -> str:
    """TEXT with the member NAME put last into the object at PATH, which has none of that name."""
    node = _at(text, path, dict)
    if name in node.value:
        raise ValueError(f"there is a member {name!r} already")
    return _with_last(text, node, f"{json.dumps(name, ensure_ascii=False)}{_colon(text)}", value)


def append(text: str, path: Path, value: object) -> str:
    """TEXT with VALUE put last into the list at PATH."""
    return _with_last(text, _at(text, path, list), "", value)


def replace(text: str, path: Path, value: object) -> str:
    """TEXT with another value at PATH."""
    node = _at(text, path)
    is_wide = "\n" in text[node.start : node.end] or _is_wide(text)
    return text[: node.start] + _dumped(text, value, node.start, is_wide) + text[node.end :]


def remove(text: str, path: Path) -> str:
    """TEXT without the member or element at PATH."""
    node = _at(text, path[:-1])
    position = _position(node, path[-1])
    if position:  # with the comma before it
        return text[: node.inner[position - 1].node.end] + text[node.inner[position].node.end :]
    if len(node.inner) > 1:  # with the comma behind it
        return text[: node.inner[0].start] + text[node.inner[1].start :]
    space = re.sub(r"\r?\n[ \t]*\Z", "", text[node.start + 1 : node.inner[0].start])
    return text[: node.start + 1] + space + text[node.end - 1 :]


def _with_last(text: str, node: JsonNode, label: str, value: object) -> str:
    """TEXT with one more thing at the end of a container."""
    if not node.inner:
        return _with_first(text, node, label, value)
    last = node.inner[-1]
    before = node.inner[-2].node.end if len(node.inner) > 1 else node.start + 1
    space = re.sub(r"\A.*,", "", text[before : last.start], flags=re.DOTALL)
    is_wide = "\n" in space
    # Of blank lines in between only the last line break is taken over.
    space = re.sub(r"\A.*?(\r?\n[ \t]*)\Z", r"\1", space, flags=re.DOTALL)
    space = space or (" " if _colon(text).endswith(" ") else "")
    put = f"{text[: last.node.end]},{space}{label}"
    return put + _dumped(put, value, len(put), is_wide) + text[last.node.end :]


def _with_first(text: str, node: JsonNode, label: str, value: object) -> str:
    """TEXT with the first thing in an empty container; the space in it stays before that."""
    if not _is_wide(text):
        put = f"{text[: node.end - 1]}{label}"
        return put + _dumped(text, value, 0, False) + text[node.end - 1 :]
    newline, outer = _newline(text), _indent_at(text, node.start)
    put = f"{text[: node.end - 1]}{newline}{outer}{_unit(text)}{label}"
    return f"{put}{_dumped(put, value, len(put), True)}{newline}{outer}{text[node.end - 1 :]}"


def _dumped(text: str, value: object, at: int, is_wide: bool) -> str:
    """VALUE as JSON: on lines of its own where IS_WIDE, indented as TEXT is at AT."""
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
    """Whether things stand on lines of their own; where there are none yet, they will."""
    return "\n" in text.strip(f"{BOM} \t\r\n") or re.search(r"[^\s{}\[\]\ufeff]", text) is None


def _unit(text: str) -> str:
    """By how much each level is indented: as the first thing in the text that is."""
    found = re.search(r"\n([ \t]+)[^\s]", text)
    return found[1] if found else "  "


def _indent_at(text: str, at: int) -> str:
    """How the line that holds AT begins."""
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _colon(text: str) -> str:
    """What stands between a name and its value, as the first member of the text has it."""
    found = re.match(rf'{BOM}?{_SPACE}\{{{_SPACE}"(?:[^"\\]|\\.)*"([ \t]*:[ \t]*)', text)
    return found[1] if found else ": "


def _at(text: str, path: Path, kind: type = object) -> JsonNode:
    """The value at PATH, which must be of a KIND."""
    node = _parsed(text)
    for number, step in enumerate(path):
        wanted = dict if isinstance(step, str) else list
        _check_kind(node.value, wanted, path[:number])
        node = node.inner[_position(node, step)].node
    _check_kind(node.value, kind, path)
    return node


def _check_kind(value: object, kind: type, path: Path) -> None:
    if not isinstance(value, kind):
        raise wrong_kind(value, kind, path)


def wrong_kind(value: object, kind: type, path: Path) -> JsonRefused:
    """The error for a value at PATH that is not of the KIND it has to be."""
    where = ".".join(map(str, path)) or "the whole"
    return JsonRefused(
        f"{where} is {_KINDS.get(type(value), 'a number or null')}, not {_KINDS[kind]}",
        hint="mend it by hand; nothing was changed",
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
        raise scanner.refused(node.end, "something stands behind the end")
    return node


class _JsonScanner:
    """Reads a text once and remembers where everything stands."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._space = re.compile(_SPACE)
        self._number = re.compile(_NUMBER)
        self._decode = json.JSONDecoder().raw_decode

    def space(self, at: int) -> int:
        """Where the next thing begins."""
        found = self._space.match(self._text, at)
        return found.end() if found else at

    def refused(self, at: int, why: str) -> JsonRefused:
        """The error for a text that cannot be read at AT."""
        at = self.space(at)
        line = self._text.count("\n", 0, at) + 1
        column = at - self._text.rfind("\n", 0, at)
        return JsonRefused(
            f"it is no JSON: {why} in line {line}, column {column}",
            hint="mend it by hand; nothing was changed",
            line=line,
            column=column,
        )

    def value(self, at: int, depth: int) -> JsonNode:
        """The value that begins at AT."""
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
            raise self.refused(at, "a text that does not end well") from error

    def _scalar(self, at: int) -> JsonNode:
        for word, meaning in _WORDS.items():
            if self._text.startswith(word, at):
                return JsonNode(meaning, at, at + len(word))
        number = self._number.match(self._text, at)
        if number is None:
            raise self.refused(at, "no value" if at < len(self._text) else "the end comes too soon")
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
            raise self.refused(at, f"the name {name!r} for the second time")
        return JsonMember(name, at, self.value(self._expect(":", self.space(end)), depth + 1))

    def _expect(self, mark: str, at: int) -> int:
        if self._text[at : at + 1] != mark:
            raise self.refused(at, f"no {mark!r}")
        return self.space(at + 1)
