"""A reader of injected prompts that shares no code with what writes them.

It knows the rules of docs/injection.md and nothing else: where a block begins and ends, and how to
undo what was done to the text inside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

ATTRIBUTES = r'(?: [a-z]+="[^"<>\n]*")*'
OPENING = rf"<knowledge({ATTRIBUTES})( /)?>"
ENTRY = rf"<entry({ATTRIBUTES})>([^<>\n]*)</entry>"
TAGS = r"(?i)<\s*/?\s*(?:knowledge|entry)\b"
NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "#39": "'"}
LOOKS = {
    "sections": r"[ \t]*={3,}[^=].*={3,}[ \t]*",
    "markdown": r" {0,3}##[ \t]+(?:HEADS)(?:[ \t]*\(.*|[ \t]*#*[ \t]*)",
    "snippets": (
        r"[ \t]*\[[ \t]*[0-9]+[ \t]*\][ \t]*\(.*|[ \t]*relevant memory snippets:[ \t]*"
        r"|[ \t]*\((?:group|global)(?:: .*)?\)[ \t]*"
    ),
}
CUT_LOOK = r"\[\.\.\. [0-9]+ of [0-9]+ bytes: .*\][ \t]*"
STAND_INS = (
    r"[ \t]*\((?:missing|empty|unreadable: gitmem check|gitmem read .*)\)[ \t]*"
    rf"|[ \t]*{CUT_LOOK}"
)


CUT = r"\[\.\.\. ([0-9]+) of ([0-9]+) bytes: gitmem read .*\]"
UNREADABLE = "(unreadable: gitmem check)"
TYPES = ("day", "week", "month")


class Block(NamedTuple):
    """One piece as it was found in a prompt."""

    head: dict[str, str]
    """Its attributes; elsewhere its heading and what is said of it in brackets, by name."""
    text: str
    raw: str = ""
    """As it stood there."""
    cut: tuple[int, int] | None = None
    """How many bytes are left of how many."""
    lack: str = ""


def read_blocks(text: str, format: str, notice: str = "", heads: Iterable[str] = ()) -> list[Block]:
    """Every piece in TEXT, which is a prompt in FORMAT that begins with NOTICE.

    A page of Markdown has headings of its own beside others: HEADS are those.
    """
    if format == "json":
        return _json_blocks(text, notice)
    if notice and text:
        assert text.startswith(f"{notice}\n\n")
        text = text[len(notice) + 2 :]
    if format == "markdown":
        return _under(text, [*heads])
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
        ours = r"\\+(?:[ \t]*\(unreadable: gitmem check\)[ \t]*|[ \t]*" + CUT_LOOK + ")"
        found = _block(head, body.split("\n"), ours)
        return [found._replace(text=_markup_undone(found.text, "lt|gt|amp"))]
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


def _block(head: dict[str, str], lines: list[str], ours: str) -> Block:
    """The text of LINES: one backslash less, where it stands before what looks like OURS."""
    if lines == [UNREADABLE]:
        return Block(head, "", lines[0], lack="unreadable")
    found = Block(head, "", "\n".join(lines))
    note = re.fullmatch(CUT, lines[-1])
    if note:
        found, lines = found._replace(cut=(int(note[1]), int(note[2]))), lines[:-1]
    return found._replace(
        text="\n".join(line[1:] if re.fullmatch(ours, line) else line for line in lines)
    )


def _in_lines(
    head: dict[str, str], lines: list[str], format: str, heads: Iterable[str] = ()
) -> Block:
    looks = LOOKS[format].replace("HEADS", "|".join(map(_flexible, heads)))
    found = _block(head, lines, rf"(?i)\\+(?:{looks}|{STAND_INS})")
    return found._replace(text=_shown_again(found.text))


def _marks(text: str, first: tuple[str, ...]) -> dict[str, str]:
    """What stands in brackets: one of the words FIRST, then path, date and state."""
    marks = [each for each in text.split(", ") if each]
    before = marks.pop(0) if marks and marks[0] in first else ""
    found = {"before": before, "path": marks.pop(0) if marks else ""}
    if marks and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", marks[0]):
        found["date"] = marks.pop(0)
    assert len(marks) <= 1
    found["state"] = marks[0] if marks else ""
    return {name: _shown_again(value) for name, value in found.items() if value}


def _heading(text: str) -> dict[str, str]:
    found = re.fullmatch(r"(.*?)(?: \(([^()]*)\))?", text)
    assert found
    marks = _marks(found[2] or "", ("global",))
    if "before" in marks:
        marks["group"] = marks.pop("before")
    return {"heading": _shown_again(found[1]), **marks}


def _flexible(head: str) -> str:
    return r"[ \t]+".join(map(re.escape, head.split()))


def _under(text: str, heads: list[str]) -> list[Block]:
    named = "|".join(map(re.escape, heads))
    return _headed(text, "markdown", rf"## ((?:{named})(?: \([^()]*\))?)", heads)


def _headed(
    text: str, format: str, pattern: str = r"=== (.*) ===", heads: Iterable[str] = ()
) -> list[Block]:
    found: list[tuple[str, list[str]]] = []
    for line in text.split("\n") if text else ():
        heading = re.fullmatch(pattern, line)
        if heading:
            assert "===" not in heading[1]
            found.append((heading[1], []))
        else:
            assert found, f"{line!r} stands before the first heading"
            found[-1][1].append(line)
    for _, lines in found[:-1]:
        assert lines.pop() == ""
    return [_in_lines(_heading(heading), lines, format, heads) for heading, lines in found]


AGED = r"([a-z0-9 ]+)(?: \(([^()]*)\))?: (.*)"


def listed(block: Block) -> list[Block]:
    """Every line of a block that is a list."""
    lines = [re.fullmatch(f"- {AGED}", each) for each in block.raw.split("\n")]
    assert all(lines)
    return [_aged(each, block.head) for each in lines if each]


def aged(block: Block) -> Block:
    """A snippet that is a summary."""
    found = re.fullmatch(AGED, block.raw)
    assert found
    return _aged(found, block.head)


def _aged(found: re.Match[str], head: dict[str, str]) -> Block:
    marks = _marks(found[2] or "", TYPES)
    if "before" in marks:
        marks["type"] = marks.pop("before")
    return Block({**head, "age": found[1], **marks}, _shown_again(found[3]))


def _snippets(text: str, format: str) -> list[Block]:
    """Documents as they are, then what stands under the one line that begins the snippets."""
    if not text:
        return []
    lines = text.split("\n")
    start = "Relevant memory snippets:"
    at = lines.index(start) if start in lines else len(lines)
    documents, lines = lines[:at], lines[at + 1 :]
    if lines and documents:
        assert documents.pop() == ""
    return [*_documents(documents), *_numbered(lines, format)]


def _documents(lines: list[str]) -> list[Block]:
    """Each under a line that says whose it is; only the first may go without."""
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        head = re.fullmatch(r"\(((?:group|global)(?:: [^()]*)?)\)", line)
        if head:
            found.append((head[1], []))
        elif not found:
            found.append(("group", [line]))
        else:
            found[-1][1].append(line)
    for _, body in found[:-1]:
        assert body.pop() == ""
    return [_in_lines(_place(place), body, "snippets") for place, body in found]


def _numbered(lines: list[str], format: str) -> list[Block]:
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        head = re.fullmatch(r"\[([0-9]+)\] \(([^()]*)\) (.*)", line)
        if head:
            assert int(head[1]) == len(found) + 1
            found.append((head[2], [head[3]]))
        else:
            found[-1][1].append(line)
    for _, body in found[:-1]:
        assert body.pop() == ""
    return [_in_lines(_place(place), body, format) for place, body in found]


def _place(text: str) -> dict[str, str]:
    found = re.fullmatch(r"(group|global)(?:: (.*))?", text)
    assert found
    return {"group": found[1].removeprefix("group"), **_marks(found[2] or "", ())}


def _json_blocks(text: str, notice: str) -> list[Block]:
    if not text:
        return []
    document = json.loads(text)
    assert document.get("notice", "") == notice
    return [_from_document(each) for each in document["pieces"]]


def _from_document(fields: dict[str, Any]) -> Block:
    text, whole = fields.pop("text", ""), fields.pop("cut_from_bytes", None)
    size = len(text.encode("utf-8", "surrogatepass"))
    cut = None if whole is None else (size, whole)
    return Block(fields, text, cut=cut, lack=fields.pop("lack", ""))
