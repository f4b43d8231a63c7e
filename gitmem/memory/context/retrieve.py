"""Retrieve the passages of memory that match a prompt.

The gate: if even the passage that covers most of a sentence covers too little of it, the prompt is
about something else, and nothing is retrieved.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from gitmem.cache.passages import PassageRow
from gitmem.errors import Damaged
from gitmem.memory.context.gather import LeftOut
from gitmem.memory.context.pins import Pinned, Sources
from gitmem.memory.group import Group
from gitmem.memory.search.passages import CANDIDATES, Match, find_passages, text_of
from gitmem.model.context.pieces import PASSAGE, Piece, trimmed
from gitmem.model.context.render import ContextPage
from gitmem.model.language.passages import without_comments
from gitmem.model.language.prompts import query_sentences
from gitmem.model.language.ranking import RetrievalLimits, choose, rounded_score
from gitmem.model.layout.journal import day_of
from gitmem.model.layout.layout import Layer, Layout, Retrieval
from gitmem.model.record import Record
from gitmem.model.transcripts.compactions import HEADING

PER_FILE = 2
"""Passages of one file, unless room is left."""
NEAR = 8
"""Near misses in the manifest."""
MORE = 16
"""Candidates beyond the number that may be taken."""
MANY = 20
"""Factor for the second query, if most matches of the first are already shown."""
RETRIEVED = ("always", "recent", "query")
"""Load rules of the layers that are searched. `user` is not: such a file belongs to one person."""
HALF = 0.5
"""The share of the gate that passages after the best one need."""


class Retrieved(Record):
    """The retrieved passages, and the near misses."""

    pieces: tuple[Piece, ...]
    left_out: tuple[LeftOut, ...]


class PromptQuery(Record):
    """A prompt and the limits of its retrieval."""

    prompt: str
    limits: Retrieval
    page: ContextPage
    """The page that renders the passages."""
    layers: tuple[str, ...] = ()
    """Search only these; empty for all."""


Shown = frozenset[tuple[str, str]]
"""Group and path or address of the pieces that are shown whole."""


class _Candidate(Record):
    piece: Piece
    match: Match
    why_not: str = ""


class Retriever:
    """The passages that match the end of a prompt; each query runs once."""

    def __init__(self, group: Group, pinned: Pinned, sources: Sources, query: PromptQuery) -> None:
        self._group, self._pinned, self._sources = group, pinned, sources
        self._query = query
        self._known: dict[int, list[Match]] = {}

    def retrieve(self, shown: Shown) -> Retrieved:
        """The best matches within the limits; what is SHOWN is not repeated."""
        found = self._candidates(shown)
        open_ = [each for each in found if not each.why_not]
        chosen = dict(zip(map(id, open_), _reasons(open_, self._query), strict=True))
        judged = [(each, chosen.get(id(each), each.why_not)) for each in found]
        return Retrieved(
            tuple(each.piece for each, why in judged if not why), tuple(_near_misses(judged))
        )

    def _candidates(self, shown: Shown) -> list[_Candidate]:
        """The candidates of a second, larger query if the first yields too few."""
        for limit in (CANDIDATES, CANDIDATES * MANY):
            matches = self._matches(limit)
            found = _candidates(matches, self._sources, self._query, shown)
            left = self._query.limits.top - sum(not each.why_not for each in found)
            if left <= 0 or len(matches) < limit // 2:
                break
        return found

    def _matches(self, limit: int) -> list[Match]:
        if limit not in self._known:
            eligible = _eligible(self._sources.layouts, self._query.layers)
            sentences = query_sentences(self._query.prompt)
            self._known[limit] = find_passages(
                self._group, self._pinned, self._sources, sentences, eligible, limit=limit
            )
        return self._known[limit]


def _near_misses(judged: Sequence[tuple[_Candidate, str]]) -> Iterator[LeftOut]:
    """The best of those not taken; those already shown come last."""
    left = [(each, why) for each, why in judged if why]
    listed = sorted(left, key=lambda each: bool(each[0].why_not))[:NEAR]
    return (_left(*each) for each in left if each in listed)


def _eligible(layouts: Mapping[str, Layout], layers: Sequence[str]) -> Callable[[str, str], bool]:
    def is_eligible(source: str, path: str) -> bool:
        layer = layouts[source].layer_of(path)
        if layer is None or (source and not layer.shared) or "{user}" in layer.path:
            return False
        return layer.load in RETRIEVED and (not layers or layer.name in layers)

    return is_eligible


def _candidates(
    matches: Sequence[Match], sources: Sources, query: PromptQuery, shown: Shown
) -> list[_Candidate]:
    """The matches that have a text of their own, with the obstacle to each, if any."""
    found: list[_Candidate] = []
    files: Counter[tuple[str, str]] = Counter()
    barred = 0
    for match in matches:
        layer, passage = match.layer, match.passage
        if layer is None or (layer.kind == "entries" and not passage.slug):
            continue  # the text above the entries of a file is for its writers
        why_not = _obstacle(match, layer, shown)
        # No file can get more, and no file should crowd out the others.
        most = query.limits.top + NEAR
        if barred >= NEAR if why_not else files[passage.source, passage.path] >= most:
            continue
        text = _text(sources, passage)
        if not text:
            continue
        piece = sources.masks.piece(_piece(match, layer, text))
        found.append(_Candidate(piece, match, why_not))
        barred += bool(why_not)
        files[passage.source, passage.path] += not why_not
        if sum(min(each, PER_FILE) for each in files.values()) >= query.limits.top + MORE:
            break
    return found


def _text(sources: Sources, passage: PassageRow) -> str:
    """The text of a passage; empty if it has only headings or is damaged."""
    try:
        text = trimmed(without_comments(text_of(sources, passage)))
        if HEADING in text:  # the index may have left out a scratchpad here
            text = re.sub(r"\n(?:[ \t]*\n){2,}", "\n\n", text)
    except Damaged:
        return ""
    return "" if re.fullmatch(r"(?:#.*\s*)+", text) else text


def _obstacle(match: Match, layer: Layer, shown: Shown) -> str:
    passage = match.passage
    if {(passage.source, passage.path), (passage.source, match.address)} & shown:
        return "it is shown whole already"
    return f"it is {passage.status}" if passage.status in layer.retired else ""


def _piece(match: Match, layer: Layer, text: str) -> Piece:
    passage = match.passage
    return Piece(
        layer.name,
        PASSAGE,
        text,
        heading=layer.heading,
        group=passage.source,
        path=passage.path,
        address=match.address,
        date=_date(match, layer),
        state=match.state,
        importance=passage.importance or layer.importance,
        blob=passage.blob,
        why=f"matches {match.coverage:.0%} of the prompt",
        lines=f"{passage.line}-{passage.last}",
        score=rounded_score(match.score),
    )


def _date(match: Match, layer: Layer) -> str:
    """The day of a page of a journal; of other files when they were last changed."""
    name = match.passage.path.rpartition("/")[2].partition(".")[0]
    own = day_of(name).date if layer.kind == "journal" else ""
    return own or (f"{match.when.date()}" if match.when else "")


def _reasons(found: Sequence[_Candidate], query: PromptQuery) -> list[str]:
    """Why each of FOUND is left out; empty for those taken."""
    gate = query.limits.gate
    # Not just the first: a long sentence about another subject may score higher.
    if max((each.match.coverage for each in found), default=0.0) < gate:
        return [_below_gate(each.match, gate) for each in found]
    strong = [each for each in found if each.match.coverage >= gate * HALF]
    pieces = [each.piece for each in strong]

    def fits(taken: Sequence[int]) -> bool:
        return query.page.size([pieces[at] for at in taken]) <= query.limits.chars

    limits = RetrievalLimits(query.limits.top, PER_FILE)
    why = iter(choose([(each.group, each.path) for each in pieces], limits, fits))
    return [next(why) if each in strong else _too_weak(each.match, gate * HALF) for each in found]


def _below_gate(match: Match, gate: float) -> str:
    return f"below the gate: matches {match.coverage:.0%} of the prompt, needs {gate:.0%}"


def _too_weak(match: Match, needed: float) -> str:
    return f"matches {match.coverage:.0%} of the prompt, needs {needed:.0%} after the best"


def _left(candidate: _Candidate, why: str) -> LeftOut:
    piece = candidate.piece
    return LeftOut(piece.layer, piece.group, f"{piece.address} {piece.lines}", why)
