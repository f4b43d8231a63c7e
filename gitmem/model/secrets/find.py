"""Finding and redacting credentials in text.

Three views of a text are searched: as it is, with words joined across a line break, and with long
runs of base64 decoded; and all three again without the escapes that `views` knows. A value is never
part of a message or a repr.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from gitmem.model.secrets.rules import TABLE
from gitmem.model.secrets.shapes import Rule
from gitmem.model.secrets.views import (
    View,
    joined,
    located,
    long_words,
    plain_views,
    readings,
    rows_of,
    texts_of,
    unmarked,
)

RULES: dict[str, str] = {rule.slug: rule.about for rule in TABLE}
"""What each rule finds, by its slug."""


def _by_literal(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    """RULES by the literal that a text must contain; each literal is searched once."""
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        for literal in rule.literals:
            found.setdefault(literal, []).append(rule)
    return found


_NARROW = _by_literal(rule for rule in TABLE if not rule.wide)
_WIDE = _by_literal(rule for rule in TABLE if rule.wide and not rule.weak)
_GUESSES = _by_literal(rule for rule in TABLE if rule.weak and not rule.needs)
_FINDERS = [rule for rule in TABLE if rule.finder and not rule.wide]
_WIDE_FINDERS = [rule for rule in TABLE if rule.finder and rule.wide]
_GUESSES_IF = [(rule.needs, _by_literal([rule])) for rule in TABLE if rule.weak and rule.needs]

# Where hits overlap, the surest one wins.
_SURE, _JOINED, _DECODED, _WEAK = range(4)
_RUN = r"[A-Za-z0-9+/_-]{24,}={0,2}"
_STANDARD = str.maketrans("-_", "+/")
_TEXT = bytes(range(32, 127)) + b"\t\n\r"
_MOST_NOISE = 0.3
_TRAILING = ".,;:)]}*_|\\"
# How many values are searched for further copies; only a hostile text has more.
_MOST_ECHOES = 200
_SHORTEST_ECHO = 8
SHORTEST_SECRET = 12
"""Shorter names, reasons and paths are not searched."""


class SecretMatch(NamedTuple):
    """A credential in a text; `value` is for comparison and never shown."""

    rule: str
    line: int
    value: str

    def __repr__(self) -> str:
        return f"SecretMatch(rule={self.rule!r}, line={self.line})"


class _Hit:
    __slots__ = ("end", "rank", "rule", "start", "value")

    def __init__(self, rank: int, start: int, end: int, rule: str, value: str) -> None:
        self.rank, self.start, self.end, self.rule, self.value = rank, start, end, rule, value


def find(text: str) -> list[SecretMatch]:
    """Return the credentials in TEXT by line; each once, under its surest rule."""
    findings: dict[SecretMatch, None] = {}
    line, at = 1, 0
    for hit in _hits(text):
        line, at = line + text.count("\n", at, hit.start), hit.start
        findings[SecretMatch(hit.rule, line, hit.value)] = None
    return list(findings)


def find_new(text: str, before: str | None, allowed: Iterable[str] = ()) -> list[SecretMatch]:
    """Return the credentials in TEXT that are not in BEFORE, except those of ALLOWED rules."""
    permitted = frozenset(allowed)
    found = [finding for finding in find(text) if finding.rule not in permitted]
    if not found or before is None:
        return found
    known = {finding.value for finding in find(before)}
    return [new for new in found if new.value not in before and not _is_known(new.value, known)]


def find_new_in_bytes(
    data: bytes, before: bytes | None, allowed: Iterable[str] = ()
) -> list[SecretMatch]:
    """Return the new credentials in a file of any Unicode encoding."""
    old = None if before is None else "\0\n".join(texts_of(before))
    found = [new for text in texts_of(data) for new in find_new(text, old, allowed)]
    return list(dict.fromkeys(found))


def find_in_bytes(data: bytes) -> list[SecretMatch]:
    """Return the credentials in a file of any Unicode encoding."""
    return list(dict.fromkeys(found for text in texts_of(data) for found in find(text)))


def find_in_path(path: str) -> list[SecretMatch]:
    """Return the credentials in the path of a file."""
    return find(path) if len(path) >= SHORTEST_SECRET else []


def redacted_path(path: str) -> str:
    """Return PATH with its credentials redacted."""
    return redact(path)[0] if find_in_path(path) else path


Spare = Callable[[str, str], bool]
"""Whether a rule and a value are a known false positive."""


def redact(text: str, spare: Spare | None = None) -> tuple[str, int]:
    """Return TEXT with every credential replaced by `[redacted: rule]`, and their number.

    A match that SPARE accepts stays.
    """
    count = 0
    # The text on both sides of a redacted credential may form another one. A hostile text of such
    # places would take a pass for each, so after two passes whole lines go, then everything.
    for widen in (_as_found, _as_found, _whole_lines, _whole_lines, _whole_text):
        hits = [hit for hit in _hits(text) if not (spare and spare(hit.rule, hit.value))]
        if not hits:
            break
        text, replaced = _redacted(text, widen(text, hits))
        count += replaced
    return text, count


def _as_found(text: str, hits: list[_Hit]) -> list[_Hit]:
    return hits


def _whole_lines(text: str, hits: list[_Hit]) -> list[_Hit]:
    """One hit for each run of lines with HITS."""
    wide: list[_Hit] = []
    for hit in hits:
        if wide and hit.start <= wide[-1].end:
            wide[-1].end = max(wide[-1].end, _line_end(text, hit.end))
        else:
            start = text.rfind("\n", 0, hit.start) + 1
            wide.append(_Hit(hit.rank, start, _line_end(text, hit.end), hit.rule, hit.value))
    return wide


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return found if found >= 0 else len(text)


def _whole_text(text: str, hits: list[_Hit]) -> list[_Hit]:
    return [_Hit(_SURE, 0, len(text), hits[0].rule, hits[0].value)]


def redacted_quote(text: str) -> str:
    """Return TEXT in quotes for an error message, with its credentials redacted."""
    return repr(redact(text)[0])


def _is_known(value: str, known: set[str]) -> bool:
    """Whether VALUE extends a known one: a token at a line break may take in the next word."""
    return any(value.startswith(old) or old.startswith(value) for old in known)


def _redacted(text: str, hits: list[_Hit]) -> tuple[str, int]:
    parts, at = [], 0
    for hit in hits:
        parts += [text[at : hit.start], f"[redacted: {hit.rule}]"]
        at = hit.end
    text, count = "".join([*parts, text[at:]]), len(hits)
    for hit in hits[:_MOST_ECHOES]:
        if len(hit.value) >= _SHORTEST_ECHO and hit.value in text:
            count += text.count(hit.value)
            text = text.replace(hit.value, f"[redacted: {hit.rule}]")
    return text, count


def _hits(text: str) -> list[_Hit]:
    """All hits in TEXT, escaped or not, in order and without overlaps."""
    hits = _hits_in(text)
    for steps in plain_views(text):
        for hit in _hits_in(steps[-1].text):
            start, end = located(steps, hit.start, hit.end)
            hits.append(_Hit(hit.rank, start, end, hit.rule, hit.value))
    return _without_overlaps(hits)


def _hits_in(text: str) -> list[_Hit]:
    """The hits in one view of a text, some of them twice."""
    words, rows = long_words(text), list(rows_of(text))
    lines = joined([reading for row in rows for reading in readings(row)])
    hits = [*_plain_hits(text, words), *_joined_hits(lines), *_decoded_hits(words, cut=False)]
    hits += _unmarked_hits(words)
    hits += _decoded_hits(joined(rows), cut=True)
    return hits


def _without_overlaps(hits: list[_Hit]) -> list[_Hit]:
    taken: list[tuple[int, int]] = []
    kept: list[_Hit] = []
    for hit in sorted(hits, key=lambda hit: (hit.rank, hit.start, -hit.end)):
        where = bisect_right(taken, (hit.start, hit.end))
        free_before = where == 0 or taken[where - 1][1] <= hit.start
        if free_before and (where == len(taken) or taken[where][0] >= hit.end):
            taken.insert(where, (hit.start, hit.end))
            kept.append(hit)
    return sorted(kept, key=lambda hit: hit.start)


def _plain_hits(text: str, words: View) -> Iterator[_Hit]:
    for rule, start, end in _tokens(words.text):
        there, end_there, _ = words.locate(start, end)
        yield _Hit(_SURE, there, end_there, rule.slug, text[there:end_there])
    for rule, start, end in _matches(_WIDE, text, text):
        yield _Hit(_SURE, start, end, rule.slug, text[start:end])
    # The capital dotted I is the one letter whose lower case is longer, which would shift offsets.
    low = text.replace("\u0130", "I").lower()
    for rule, start, end in _finds(_WIDE_FINDERS, low):
        if not rule.weak:
            yield _Hit(_SURE, start, end, rule.slug, text[start:end])
        elif _judged(rule, text, (start, end)):
            yield _Hit(_WEAK, start, end, rule.slug, text[start:end])
    tables = [_GUESSES, *(guess for needs, guess in _GUESSES_IF if any(n in low for n in needs))]
    for table in tables:
        for rule, start, end in _matches(table, text, low):
            yield _Hit(_WEAK, start, end, rule.slug, text[start:end])


def _unmarked_hits(words: View) -> Iterator[_Hit]:
    """Hits in words with bold or code marks inside."""
    view = unmarked(words.text)
    if view:
        for rule, start, end in _tokens(view.text):
            there, end_there = located((words, view), start, end)
            yield _Hit(_SURE, there, end_there, rule.slug, view.text[start:end])


def _joined_hits(lines: View) -> Iterator[_Hit]:
    for rule, start, end in _tokens(lines.text):
        there, end_there, cut = lines.locate(start, end)
        if cut:
            last = end - lines.starts[bisect_right(lines.starts, end - 1) - 1]
            rank = _JOINED if _is_word(lines.text[end - last : end]) else _SURE
            yield _Hit(rank, there, end_there, rule.slug, lines.text[start:end])


def _is_word(part: str) -> bool:
    """Whether PART looks like the first word of the next sentence, not the end of a token."""
    return len(part) < _SHORTEST_ECHO or (part.isalpha() and (part.islower() or part.istitle()))


def _decoded_hits(view: View, cut: bool) -> Iterator[_Hit]:
    """Hits in the decoded runs of base64 in VIEW; the whole run is the value."""
    runs = [(run.span(), text) for run in re.finditer(_RUN, view.text) for text in _decoded(run[0])]
    if not runs:
        return
    texts = [text for _, text in runs]
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    together = "\0".join(texts)
    for hit in _plain_hits(together, long_words(together)):
        (start, end), _ = runs[bisect_right(starts, hit.start) - 1]
        there, end_there, across = view.locate(start, end)
        if across == cut:
            yield _Hit(_DECODED, there, end_there, hit.rule, view.text[start:end])


def _decoded(run: str) -> Iterator[str]:
    """RUN decoded from each of four offsets, since a word may be joined to its start."""
    if run.lower() == run or run.upper() == run:
        return  # a hex digest or a slug: base64 of text has letters of both cases
    from binascii import a2b_base64

    digits = run.rstrip("=").translate(_STANDARD)
    for skipped in range(4):
        length = len(digits) - skipped
        whole = digits[skipped : skipped + length - (length % 4 == 1)]
        # Zeros are UTF-16, in which PowerShell encodes commands.
        data = a2b_base64(whole + "=" * (-len(whole) % 4)).replace(b"\0", b"")
        if len(data.translate(None, _TEXT)) <= _MOST_NOISE * len(data):
            yield data.decode("latin-1")


def _tokens(words: str) -> Iterator[tuple[Rule, int, int]]:
    """The spans of tokens in long WORDS, one to a line."""
    yield from _matches(_NARROW, words, words)
    yield from _finds(_FINDERS, words)


def _finds(rules: Iterable[Rule], text: str) -> Iterator[tuple[Rule, int, int]]:
    for rule in rules:
        if rule.finder is not None:
            yield from ((rule, *span) for span in rule.finder(text))


def _matches(table: dict[str, list[Rule]], text: str, hay: str) -> Iterator[tuple[Rule, int, int]]:
    """The spans of values in TEXT; HAY is TEXT, or its lower case, to look for literals."""
    if not hay:  # common: a note without long words
        return
    for literal, rules in table.items():
        if literal in hay:
            positions = _positions(literal, hay)
            for rule in rules:
                yield from ((rule, *span) for span in _spans(rule, text, positions))


def _positions(literal: str, hay: str) -> list[int]:
    positions, at = [], hay.find(literal)
    while at >= 0:
        positions.append(at)
        at = hay.find(literal, at + 1)
    return positions


def _spans(rule: Rule, text: str, positions: list[int]) -> Iterator[tuple[int, int]]:
    end = 0
    for at in positions:
        span = _match_at(rule, text, at) if at >= end else None
        if span is not None:
            yield span
            end = span[1]


def _match_at(rule: Rule, text: str, at: int) -> tuple[int, int] | None:
    pattern = _compiled(rule)
    for back in rule.backs:
        found = pattern.match(text, at - back) if at >= back else None
        if found is not None:
            return _judged(rule, text, found.span(found.lastindex or 0))
    return None


def _judged(rule: Rule, text: str, span: tuple[int, int]) -> tuple[int, int] | None:
    start, end = span
    if rule.weak:
        if text.startswith("...", end - 3) or text.startswith("...", end):
            return None  # the author left out the rest
        end = start + len(text[start:end].rstrip(_TRAILING))
    return (start, end) if rule.judge is None or rule.judge(text[start:end]) else None


@cache
def _compiled(rule: Rule) -> re.Pattern[str]:
    return re.compile(rule.pattern, re.IGNORECASE if rule.weak else 0)
