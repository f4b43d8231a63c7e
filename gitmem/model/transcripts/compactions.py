"""Summaries of compacted sessions in a file: their gist, and what a prompt shows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitmem.model.language.unicode import SENTENCE_END

HEADING = "## Session Compaction"
GIST = 250
"""The most characters of a summary in a prompt."""
BETWEEN = "; "
"""Between the summaries of one day."""

# Strings: most texts have no summary, and compiling all of these takes milliseconds.
_ANALYSIS = r"(?i)<(/?)analysis\b[^<>]*>"
_BEGIN = r"(?im)^[ \t]*<analysis\b[^<>]*>"
# At the start of a line, or right after `</analysis>`: elsewhere it is prose about the tag.
_OPEN = r"(?im)(?:^|(?<=>))[ \t]*<summary\b[^<>]*>"
_CLOSE = r"(?i)</summary\s*>"
_SECTION = rf"(?m)^{HEADING}\b.*$"
_SUMMARY = r"(?im)^summary:[ \t]*[\"']?<analysis\b.*$"
_NEXT = r"(?m)^#{1,6} "
_ITEM = r"(?:[-*+]|\d{1,2}[.)])\s+"
_LABEL = r"(?:\d{1,2}[.)]\s+)?(?:\*\*|__)?[^.!?:]{1,80}:(?:\*\*|__)?:?"
_LABELLED = r"\d{1,2}[.)]\s+(?:\*\*|__)?[^.!?:]{1,80}:(?:\*\*|__)?\s+(?=\S)"
_BOLD = r"\*\*[^*]{1,80}\*\*|__[^_]{1,80}__"
_FENCE = r"`{3,}|~{3,}"
_RULE = r"(?:[-*_=`~]{3,}.*|</?[a-zA-Z][^<>]*>)"


def _scratchpad_end(text: str, start: int, stop: int) -> tuple[int, bool]:
    """The end of the scratchpad that begins at START, and whether a summary begins there."""
    depth, closed = 0, 0
    for tag in re.compile(_ANALYSIS).finditer(text, start, stop):
        depth += -1 if tag[1] else 1
        closed = tag.end() if tag[1] else closed
        if not depth:
            opened = re.compile(_OPEN).search(text, tag.end(), stop)
            return (opened.start(), True) if opened else (tag.end(), False)
    opened = re.compile(_OPEN).search(text, start, stop)
    if opened:
        return opened.start(), True
    return closed or stop, False


def gist(text: str) -> str:
    """Return the gist of a summary: its first sentences of content, on one line."""
    first = " ".join(_first_paragraph(text))
    if not first:
        lines = filter(None, map(str.strip, text.splitlines()))
        return cut(next(lines, "").strip("# "), GIST)
    return _sentences(re.sub(_ITEM, "", re.sub(_LABELLED, "", first), count=1))


def _first_paragraph(text: str) -> Iterator[str]:
    """The lines of the first paragraph or list item that is neither heading nor code."""
    begun, fence = False, ""
    for each in text.splitlines():
        line = " ".join(each.split())
        mark = re.match(_FENCE, line)
        if mark and (not fence or mark[0].startswith(fence)):
            fence = "" if fence else mark[0]
        is_content = bool(line) and not fence and not mark and not _is_heading(line)
        if begun and (not is_content or re.match(_ITEM, line)):
            return
        if is_content:
            begun = True
            yield line


def _is_heading(line: str) -> bool:
    forms = (_LABEL, _RULE, _BOLD)
    return line.startswith("#") or any(re.fullmatch(each, line) for each in forms)


def _sentences(text: str) -> str:
    """As many whole sentences of TEXT as fit; of a longer one, a part."""
    ends = [found.start() for found in re.finditer(SENTENCE_END, text)]
    whole = [end for end in (*ends, len(text)) if end <= GIST]
    return text[: whole[-1]].rstrip() if whole else cut(text, GIST)


def cut(text: str, most: int) -> str:
    """Return TEXT with at most MOST characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def gists(text: str) -> str:
    """Return the gists of the compactions in TEXT, a file without a summary of its own."""
    heads = list(re.finditer(_SECTION, text)) if HEADING in text else []
    if not heads:
        return ""
    from gitmem.model.transcripts.scratchpads import summary_in

    stops = [*(each.start() for each in heads[1:]), len(text)]
    sections = (text[head.end() : stop] for head, stop in zip(heads, stops, strict=True))
    return BETWEEN.join(filter(None, (gist(summary_in(each)) for each in sections)))


def without_scratchpads(text: str) -> str:
    """Return TEXT with the scratchpads that an earlier release stored replaced by blanks.

    Only right below the heading of a compaction, and in the one-line summary made from it. All
    positions stay the same.
    """
    if HEADING not in text or not re.search(_ANALYSIS, text) or not re.search(_SECTION, text):
        return text
    parts, at = [], 0
    for start, stop in _scratchpads(text):
        parts += [text[at:start], re.sub(r"[^\n]", " ", text[start:stop])]
        at = stop
    return "".join((*parts, text[at:]))


def squeezed(text: str) -> str:
    """Return TEXT without scratchpads and the gaps that they leave."""
    plain = without_scratchpads(text)
    return text if plain is text else re.sub(r"\n(?:[ \t]*\n){2,}", "\n\n", plain)


def _scratchpads(text: str) -> Iterator[tuple[int, int]]:
    heads = list(re.finditer(_SECTION, text))
    above = (
        re.compile(_SUMMARY).search(text, 0, heads[0].start()) if text.startswith("---") else None
    )
    if above:
        yield above.span()
    for number, head in enumerate(heads):
        stop = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        start = head.end() + len(text[head.end() : stop]) - len(text[head.end() : stop].lstrip())
        if not re.compile(_BEGIN).match(text, start, stop):
            continue
        end, opens = _scratchpad_end(text, start, stop)
        if not opens:
            following = re.compile(_NEXT).search(text, start, stop)
            yield start, min(end, following.start()) if following and end == stop else end
            continue
        opened = re.compile(_OPEN).match(text, end, stop)
        yield start, opened.end() if opened else end
        closed = re.compile(_CLOSE).search(text, end, stop)
        if closed:
            yield closed.span()
