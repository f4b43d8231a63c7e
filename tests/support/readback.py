"""A reader of injected prompts that shares no code with what writes them.

It knows the rules of docs/injection.md and nothing else: where a block begins and ends, and how to
undo what was done to the text inside.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

ATTRIBUTES = r'(?: [a-z]+="[^"<>\n]*")*'
OPENING = rf"<knowledge({ATTRIBUTES})( /)?>"
ENTRY = rf"<entry({ATTRIBUTES})>([^<>\n]*)</entry>"
TAGS = r"(?i)<\s*/?\s*(?:knowledge|entry)\b"
NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "#39": "'"}
LOOKS = {
    "sections": r"[ \t]*={3,}[^=].*={3,}[ \t]*",
    "markdown": r" {0,3}##(?:[ \t].*)?",
    "snippets": r"[ \t]*\[[ \t]*[0-9]+[ \t]*\][ \t]*\(.*|[ \t]*relevant memory snippets:[ \t]*",
}
STAND_INS = (
    r"[ \t]*\((?:missing|empty|unreadable: gitmem check|gitmem read .*)\)[ \t]*"
    r"|[ \t]*\[\.\.\. [0-9]+ of [0-9]+ bytes: .*\][ \t]*"
)


class Block(NamedTuple):
    """One piece as it was found in a prompt."""

    head: dict[str, str]
    """Its attributes; where there is a heading, just that."""
    text: str
    raw: str
    """As it stood there."""


def read_blocks(text: str, format: str, notice: str = "") -> list[Block]:
    """Every piece in TEXT, which is a prompt in FORMAT that begins with NOTICE."""
    if format == "json":
        return _json_blocks(text, notice)
    if notice and text:
        assert text.startswith(f"{notice}\n\n")
        text = text[len(notice) + 2 :]
    return {"xml": _xml_blocks, "snippets": _snippets}.get(format, _headed)(text, format)


def _shown_again(text: str) -> str:
    """What was written as an escape, as it was."""
    return re.sub(r"\\u\{([0-9A-F]{4,6})\}", lambda found: chr(int(found[1], 16)), text)


def _markup_undone(text: str, names: str) -> str:
    return _shown_again(re.sub(f"&({names});", lambda found: NAMED[found[1]], text))


def _attributes(text: str) -> dict[str, str]:
    pairs = re.findall(r' ([a-z]+)="([^"]*)"', text)
    return {name: _markup_undone(value, "lt|gt|amp|quot|#39") for name, value in pairs}


def _xml_blocks(text: str, format: str) -> list[Block]:
    del format
    found: list[Block] = []
    at, tags = 0, 0
    while at < len(text):
        opening = re.compile(OPENING).match(text, at)
        assert opening, f"no block begins at {text[at : at + 60]!r}"
        head, at, tags = _attributes(opening[1]), opening.end(), tags + 1
        if opening[2]:
            found.append(Block(head, "", ""))
        else:
            closing = re.compile(r"(?i)<\s*/\s*knowledge\b").search(text, at)
            assert closing
            assert text[closing.start() - 1 :].startswith("\n</knowledge>")
            body = text[at + 1 : closing.start() - 1]
            inside = _xml_body(head, body)
            tags += 1 + 2 * sum("entry" in each.head for each in inside)
            found += [each._replace(head=_bare(each.head)) for each in inside]
            at = closing.start() + len("</knowledge>")
        assert text[at : at + 2] in ("", "\n\n")
        assert text[at:] != "\n\n"
        at += 2
    assert len(re.findall(TAGS, text)) == tags
    return found


def _bare(head: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in head.items() if name != "entry"}


def _xml_body(head: dict[str, str], body: str) -> list[Block]:
    if not body.startswith("<entry"):
        return [Block(head, _markup_undone(body, "lt|gt|amp"), body)]
    entries = [re.fullmatch(ENTRY, line) for line in body.split("\n")]
    assert all(entries)
    return [
        Block(
            {"entry": "", **head, **_attributes(each[1])},
            _markup_undone(each[2], "lt|gt|amp|quot|#39"),
            each[2],
        )
        for each in entries
        if each
    ]


def _lines_undone(lines: list[str], format: str) -> str:
    """The text of LINES: one backslash less, where it stands before what looks like ours."""
    ours = rf"(?i)\\+(?:{LOOKS[format]}|{STAND_INS})"
    return _shown_again("\n".join(line[1:] if re.fullmatch(ours, line) else line for line in lines))


def _headed(text: str, format: str) -> list[Block]:
    pattern = r"=== (.*) ===" if format == "sections" else r"## (.*)"
    found: list[tuple[str, list[str]]] = []
    for line in text.split("\n") if text else ():
        heading = re.fullmatch(pattern, line)
        if heading:
            found.append((_shown_again(heading[1]), []))
        else:
            assert found, f"{line!r} stands before the first heading"
            found[-1][1].append(line)
    for _, lines in found[:-1]:
        assert lines.pop() == ""
    return [
        Block({"heading": heading}, _lines_undone(lines, format), "\n".join(lines))
        for heading, lines in found
    ]


def listed(block: Block) -> list[tuple[str, str]]:
    """The age and the text of every line of a block that is a list."""
    lines = [
        re.fullmatch(r"- ([a-z0-9 ]+)(?: \(.*?\))?: (.*)", each) for each in block.raw.split("\n")
    ]
    assert all(lines)
    return [(each[1], _shown_again(each[2])) for each in lines if each]


def _snippets(text: str, format: str) -> list[Block]:
    if not text:
        return []
    first, *lines = text.split("\n")
    assert first == "Relevant memory snippets:"
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        head = re.fullmatch(r"\[([0-9]+)\] \((.*?)\) (.*)", line)
        if head:
            assert int(head[1]) == len(found) + 1
            found.append((_shown_again(head[2]), [head[3]]))
        else:
            found[-1][1].append(line)
    for _, body in found[:-1]:
        assert body.pop() == ""
    return [
        Block({"place": place}, _lines_undone(body, format), "\n".join(body))
        for place, body in found
    ]


def _json_blocks(text: str, notice: str) -> list[Block]:
    if not text:
        return []
    document = json.loads(text)
    assert document.get("notice", "") == notice
    return [
        Block({k: v for k, v in each.items() if k != "text"}, each.get("text", ""), "")
        for each in document["pieces"]
    ]
