"""What a prompt calls for: passages of memory that fit it, or nothing at all.

The gate is the passage that has most of a sentence: where that is too little, the prompt is about
something else, and memory stays silent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from gitmem.cache.passages import PassageRow
from gitmem.errors import Damaged
from gitmem.memory.context.gather import LeftOut
from gitmem.memory.context.pins import Pinned
from gitmem.memory.context.sources import Sources
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
"""So many passages of a file, unless room is left."""
NEAR = 8
"""Near misses that are told of."""
MORE = 16
"""Beyond those that may be taken, so many are looked at."""
MANY = 20
"""By how much more are looked up, where most of the first cannot be taken."""
RETRIEVED = ("always", "recent", "query")
"""Load rules of layers in which a prompt may find something: `never` is never, and what belongs to
one person is not for others."""
HALF = 0.5
"""What is behind the best one needs so much of the gate."""


class Retrieved(Record):
    """What a prompt gets, and what it nearly got."""

    pieces: tuple[Piece, ...]
    left_out: tuple[LeftOut, ...]


class Asked(Record):
    """What a prompt is looked up with."""

    prompt: str
    limits: Retrieval
    page: ContextPage
    """How what is found will be drawn."""
    layers: tuple[str, ...] = ()
    """Only in these; nothing for all in which a prompt may find something."""


Shown = frozenset[tuple[str, str]]
"""The group and the path or address of what a prompt has whole already."""


class _Candidate(Record):
    piece: Piece
    match: Match
    why_not: str = ""


class Retriever:
    """What fits the end of a prompt: looked up once, taken by what the prompt has already."""

    def __init__(self, group: Group, moment: Pinned, sources: Sources, asked: Asked) -> None:
        self._group, self._moment, self._sources = group, moment, sources
        self._asked = asked
        self._known: dict[int, list[Match]] = {}

    def retrieve(self, shown: Shown) -> Retrieved:
        """The passages that fit best, within the limits; what is SHOWN is not repeated."""
        found = self._candidates(shown)
        open_ = [each for each in found if not each.why_not]
        chosen = dict(zip(map(id, open_), _reasons(open_, self._asked), strict=True))
        judged = [(each, chosen.get(id(each), each.why_not)) for each in found]
        return Retrieved(
            tuple(each.piece for each, why in judged if not why), tuple(_near_misses(judged))
        )

    def _candidates(self, shown: Shown) -> list[_Candidate]:
        """Where too few of those that come first can be taken, many more are looked at."""
        for limit in (CANDIDATES, CANDIDATES * MANY):
            matches = self._matches(limit)
            found = _candidates(matches, self._sources, self._asked, shown)
            left = self._asked.limits.top - sum(not each.why_not for each in found)
            if left <= 0 or len(matches) < limit // 2:
                break
        return found

    def _matches(self, limit: int) -> list[Match]:
        if limit not in self._known:
            eligible = _eligible(self._sources.layouts, self._asked.layers)
            sentences = query_sentences(self._asked.prompt)
            self._known[limit] = find_passages(
                self._group, self._moment, self._sources, sentences, eligible, limit=limit
            )
        return self._known[limit]


def _near_misses(judged: Sequence[tuple[_Candidate, str]]) -> Iterator[LeftOut]:
    """Some of what was not taken; what the prompt has already, only where room is left."""
    left = [(each, why) for each, why in judged if why]
    told = sorted(left, key=lambda each: bool(each[0].why_not))[:NEAR]
    return (_left(*each) for each in left if each in told)


def _eligible(layouts: Mapping[str, Layout], layers: Sequence[str]) -> Callable[[str, str], bool]:
    def is_eligible(source: str, path: str) -> bool:
        layer = layouts[source].layer_of(path)
        if layer is None or (source and not layer.shared) or "{user}" in layer.path:
            return False
        return layer.load in RETRIEVED and (not layers or layer.name in layers)

    return is_eligible


def _candidates(
    matches: Sequence[Match], sources: Sources, asked: Asked, shown: Shown
) -> list[_Candidate]:
    """Those that say something by themselves, with what stands against some of them."""
    found: list[_Candidate] = []
    files: Counter[tuple[str, str]] = Counter()
    barred = 0
    for match in matches:
        layer, place = match.layer, match.place
        if layer is None or (layer.kind == "entries" and not place.slug):
            continue  # what stands above the entries of a file is there for who writes them
        why_not = _obstacle(match, layer, shown)
        # One file cannot get more, and shall not be all that is looked at.
        most = asked.limits.top + NEAR
        if barred >= NEAR if why_not else files[place.source, place.path] >= most:
            continue
        text = _text(sources, place)
        if not text:
            continue
        piece = sources.masks.piece(_piece(match, layer, text))
        found.append(_Candidate(piece, match, why_not))
        barred += bool(why_not)
        files[place.source, place.path] += not why_not
        if sum(min(each, PER_FILE) for each in files.values()) >= asked.limits.top + MORE:
            break
    return found


def _text(sources: Sources, place: PassageRow) -> str:
    """What a passage says to a reader; nothing for headings alone, or where it cannot be read."""
    try:
        text = trimmed(without_comments(text_of(sources, place)))
        if HEADING in text:  # the index may have left out a scratchpad here
            text = re.sub(r"\n(?:[ \t]*\n){2,}", "\n\n", text)
    except Damaged:
        return ""
    return "" if re.fullmatch(r"(?:#.*\s*)+", text) else text


def _obstacle(match: Match, layer: Layer, shown: Shown) -> str:
    place = match.place
    if {(place.source, place.path), (place.source, match.address)} & shown:
        return "it is shown whole already"
    return f"it is {place.status}" if place.status in layer.retired else ""


def _piece(match: Match, layer: Layer, text: str) -> Piece:
    place = match.place
    return Piece(
        layer.name,
        PASSAGE,
        text,
        heading=layer.heading,
        group=place.source,
        path=place.path,
        address=match.address,
        date=_date(match, layer),
        state=match.state,
        importance=place.importance or layer.importance,
        blob=place.blob,
        why=f"fits the prompt: has {match.coverage:.0%} of what it asks for",
        lines=f"{place.line}-{place.last}",
        score=rounded_score(match.score),
    )


def _date(match: Match, layer: Layer) -> str:
    """The day that a page of a journal is about; of other things when they were touched."""
    name = match.place.path.rpartition("/")[2].partition(".")[0]
    own = day_of(name).date if layer.kind == "journal" else ""
    return own or (f"{match.when.date()}" if match.when else "")


def _reasons(found: Sequence[_Candidate], asked: Asked) -> list[str]:
    """Why each of FOUND is left out; nothing for what is taken."""
    gate = asked.limits.gate
    # Not by the first one alone: a long sentence about something else may have the higher score.
    if max((each.match.coverage for each in found), default=0.0) < gate:
        return [_behind_the_gate(each.match, gate) for each in found]
    strong = [each for each in found if each.match.coverage >= gate * HALF]
    pieces = [each.piece for each in strong]

    def fits(taken: Sequence[int]) -> bool:
        return asked.page.size([pieces[at] for at in taken]) <= asked.limits.chars

    limits = RetrievalLimits(asked.limits.top, PER_FILE)
    why = iter(choose([(each.group, each.path) for each in pieces], limits, fits))
    return [next(why) if each in strong else _too_weak(each.match, gate * HALF) for each in found]


def _behind_the_gate(match: Match, gate: float) -> str:
    return f"below the gate: has {match.coverage:.0%} of what is asked for, {gate:.0%} is needed"


def _too_weak(match: Match, needed: float) -> str:
    return f"has {match.coverage:.0%} of what is asked for, {needed:.0%} is needed behind the best"


def _left(candidate: _Candidate, why: str) -> LeftOut:
    piece = candidate.piece
    return LeftOut(piece.layer, piece.group, f"{piece.address} {piece.lines}", why)
