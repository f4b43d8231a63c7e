"""Extracting the summary of a compaction from the output of a model, without its scratchpad.

Hosts ask for `<analysis>`, then `<summary>`, and pass both. The text may be cut anywhere, so a tag
may lack its end, and a summary may mention these tags. Tags in code do not count. In doubt a text
is kept, unless it is in a scratchpad.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

CHATTER = 200
"""A shorter text around the tags is chatter ("Sure, here it is:"); a longer one is kept."""

_TAG = re.compile(
    r"(?P<mark>[*_]{0,3})<(?P<end>/?)(?P<name>analysis|summary)\b[^<>\n]{0,200}>(?P=mark)",
    re.IGNORECASE,
)
_FENCE = re.compile(r"(?m)^[ \t]*(`{3,}|~{3,})(.*)$")
_INLINE = re.compile(
    r"(?i)(?<!`)(`{1,2})(?!`)[^`\n]+\1(?!`)"
    r"|<details\b[^<>]{0,200}>\s{0,20}<summary\b[^<>]{0,200}>[^<]{0,1000}</summary>"
)
_BOUNDARY = re.compile(r"(?i)</analysis\s{0,9}>[*_]{0,3}\s{0,20}[*_]{0,3}<summary\b")
_WRAPPED = re.compile(r"(?i)(`{3,}|~{3,})[^\n`]*\n\s*(?=[*_]{0,3}<(?:analysis|summary)\b)")
_TORN = re.compile(r"(?i)<(?:/?(?:s(?:u(?:m(?:m(?:a(?:ry?)?)?)?)?)?)?)?\Z")
_TORN_END = re.compile(r"(?i)<(?:/(?:s(?:u(?:m(?:m(?:a(?:ry?)?)?)?)?)?)?)?\Z")
_ANSWER = re.compile(
    r"(?i)(?:sure|ok|okay|certainly|of course|absolutely|alright|understood|got it|here|let me"
    r"|i'll)\b"
)
_LINE_START = re.compile(r"(?:\A|[\n>*_])[ \t#]*\Z")
_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")
LOOK = 50
"""The most tags searched for the end of a scratchpad, so that many tags stay cheap."""


class _Tag(NamedTuple):
    kind: str
    """`analysis`, `summary`, or one of them after a slash."""
    start: int
    end: int


def summary_in(text: str) -> str:
    """Return the summary in TEXT; empty if all of it is scratchpad."""
    body = _unwrapped(text.strip())
    found = _Page(body).content()
    if found is None:
        return "" if _is_torn(body) else body
    parts = (each.strip() for each in found)
    return "\n\n".join(each for each in parts if each and not _is_torn(each))


def _unwrapped(text: str) -> str:
    """TEXT without a code fence around all of it, whose end may be cut off."""
    fence = _WRAPPED.match(text)
    inner = text[fence.end() :] if fence else text
    if not fence or (fence[1] in inner and not inner.endswith(f"\n{fence[1]}")):
        return text
    return inner.removesuffix(fence[1]).strip()


def _is_torn(body: str) -> bool:
    """Whether BODY is only the beginning of a tag."""
    found = _TORN.match(body)
    return found is not None and found.end() == len(body)


class _Page:
    """A text and its tags outside of code."""

    def __init__(self, text: str) -> None:
        self._text, self._tags = text, _tags(text)
        summaries = [at for at, each in enumerate(self._tags) if each.kind == "summary"]
        self._last = summaries[-1] if summaries else -1
        """The last tag that begins a summary."""

    def content(self) -> list[str] | None:
        """Return the parts with content, in order; None without tags."""
        at = self._first()
        if at is None:
            return None
        parts = [_unless_chatter(self._text[: self._tags[at].start])]
        while at < len(self._tags):
            if self._tags[at].kind == "analysis":
                at, start = self._past(at, parts)
            else:
                start = self._tags[at].end
            is_tagged = at < len(self._tags) and self._tags[at].kind == "summary"
            after = self._next(at + 1, is_tagged)
            stop = self._tags[after].start if after < len(self._tags) else len(self._text)
            parts += self._inside(at, start, stop, after) if is_tagged else [self._text[start:stop]]
            at = after
        return parts

    def _first(self) -> int | None:
        """The first real tag; None if the text only mentions tags."""
        kinds = [each.kind for each in self._tags]
        begin = kinds.index("analysis") if "analysis" in kinds else len(kinds)
        if "summary" in kinds[:begin]:
            begin = kinds.index("summary")
            return None if self._text[: self._tags[begin].start].strip() else begin
        if begin == len(kinds):
            return None
        before = self._text[: self._tags[begin].start].strip()
        is_answer = len(before) <= CHATTER and _ANSWER.match(before)
        return begin if not before or begin < self._last or is_answer else None

    def _past(self, begin: int, parts: list[str]) -> tuple[int, int]:
        """The tag of the summary after the scratchpad that begins with tag BEGIN, and its start.

        Without a summary, the last tag of the scratchpad, and its end.
        """
        depth, closed = 0, -1
        for at in range(begin, len(self._tags)):
            tag = self._tags[at]
            if tag.kind == "summary" and (closed == at - 1 or not self._is_draft(at)):
                if not depth:
                    parts.append(_unless_chatter(self._text[self._tags[closed].end : tag.start]))
                return at, tag.end
            if tag.kind.endswith("analysis"):
                is_end = tag.kind.startswith("/")
                depth, closed = depth + (-1 if is_end else 1), at if is_end else closed
                if is_end and depth <= 0 and at > self._last:
                    return at, tag.end
        if closed < 0:
            return len(self._tags), len(self._text)
        return closed, self._tags[closed].end

    def _is_draft(self, at: int) -> bool:
        """Whether the summary at tag AT is a draft in a scratchpad that ends later."""
        ahead = range(at + 1, min(self._last, at + LOOK))
        found = (each for each in ahead if self._tags[each].kind.endswith("analysis"))
        following = next(found, None)
        return following is not None and self._tags[following].kind.startswith("/")

    def _next(self, at: int, is_tagged: bool) -> int:
        """The tag from AT on that begins the next scratchpad or summary; after the last if none."""
        is_closed = False
        for each in range(at, len(self._tags)):
            tag = self._tags[each]
            is_closed |= tag.kind == "/summary"
            if not _is_own(self._text, tag):
                continue
            if tag.kind == "analysis" and (each < self._last or not is_tagged):
                return each
            if tag.kind == "summary" and is_tagged and is_closed:
                return each
        return len(self._tags)

    def _inside(self, at: int, start: int, stop: int, after: int) -> list[str]:
        """The summary at tag AT, and the text after it up to STOP."""
        ends = [each for each in self._tags[at:after] if each.kind == "/summary"]
        lasts = [each for each in ends if _LINE_END.match(self._text, each.end)]
        if not ends:
            return [_TORN_END.sub("", self._text[start:stop].rstrip())]
        end = (lasts or ends)[-1]
        return [self._text[start : end.start], _unless_chatter(self._text[end.end : stop])]


def _is_own(text: str, tag: _Tag) -> bool:
    """Whether TAG begins a line, or follows another tag."""
    return _LINE_START.search(text[max(0, tag.start - 40) : tag.start]) is not None


def _unless_chatter(text: str) -> str:
    return text if len(text.strip()) > CHATTER else ""


def _tags(text: str) -> list[_Tag]:
    """The tags of TEXT, without those in code and the `<summary>` of HTML."""
    found = _outside(text, list(_spans(text)))
    boundary = _BOUNDARY.search(text)
    kinds = {each.kind for each in found}
    if boundary and "analysis" in kinds and "summary" not in kinds:
        # A fence that the scratchpad left open hides the summary, so each is read on its own.
        cut = boundary.start()
        inner = ((start + cut, stop + cut) for start, stop in _spans(text[cut:]))
        found = _outside(text, [*_spans(text[:cut]), *inner])
    return found


def _outside(text: str, spans: Sequence[tuple[int, int]]) -> list[_Tag]:
    """The tags of TEXT outside of SPANS, which are in order."""
    found, number = [], 0
    for each in _TAG.finditer(text):
        while number < len(spans) and spans[number][1] <= each.start():
            number += 1
        if number < len(spans) and spans[number][0] <= each.start():
            continue
        found.append(_Tag(each["end"] + each["name"].lower(), each.start(), each.end()))
    return found


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """The spans of code and closed HTML in TEXT, in order."""
    at = 0
    for start, stop in [*_fenced(text), (len(text), len(text))]:
        yield from (each.span() for each in _INLINE.finditer(text, at, start))
        yield start, stop
        at = stop


def _fenced(text: str) -> Iterator[tuple[int, int]]:
    """The closed fenced blocks of TEXT."""
    opened: re.Match[str] | None = None
    for each in _FENCE.finditer(text):
        if opened is None:
            opened = each
        elif each[1].startswith(opened[1]) and not each[2].strip():
            yield opened.start(), each.end()
            opened = None
