"""Full-text ranking of passages, for files and for messages.

Each sentence of a query is searched on its own, by any of its terms; a passage counts by its best
sentence. A score is the share of what a passage with all terms could reach, so that scores of
tables of different size compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log

from gitmem.cache.database import Connection, chunks
from gitmem.model.language.prompts import Sentence
from gitmem.model.language.ranking import Found
from gitmem.model.language.words import is_unspaced

WEIGHTS = {"text": 1.0, "before": 0.5, "after": 0.25, "head": 1.0}
"""The weight of a term in a passage, before it, after it, and in its headings."""
FILLING, FILLED = 32, 60
"""Rows of filler terms, and terms in each: in a memory of three notes, a term that two of them have
would otherwise have no weight."""
FILLER = "\ue000"
_WEIGHTS = ", ".join(map(str, WEIGHTS.values()))
HELD = 16 * 1024 * 1024
"""Bytes of terms that FTS5 gathers before it writes them: merging small parts is slower."""
WORDS = (
    f"CREATE VIRTUAL TABLE words USING fts5({', '.join(WEIGHTS)}, tokenize = 'ascii');"
    f" INSERT INTO words(words, rank) VALUES ('hashsize', {HELD})"
)
BALLAST = (
    f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {FILLING})"
    f" INSERT INTO words(rowid, text) SELECT -i, '{f'{FILLER} ' * FILLED}' FROM n"
)
REACH = 2.2
"""The most that bm25 gives for a term, in units of its rarity (k1 is 1.2)."""
SAME = 1e-9
ENOUGH = 6
"""A sentence counts as at most this many rare words: nobody answers each word of a long one."""
HALVES = 0.5
MORE = 64
"""The factor of the next search if too few matches were accepted."""
ALIKE = 1000
"""Equally good passages beyond which the search for more ends."""

Accepts = Callable[[int, int], bool]
"""Whether a passage counts, by its number and that of its document."""


class Rarity:
    """The rarity of each term in one table."""

    def __init__(self, connection: Connection, sentences: Iterable[Sentence]) -> None:
        self._total = connection.execute("SELECT count(*) FROM passages").fetchone()[0] + FILLING
        self._counts: dict[str, int] = {}
        for term in {term for each in sentences for term in each.terms}:
            row = connection.execute(
                "SELECT count(*) FROM words WHERE words MATCH ?", (match(term),)
            )
            self._counts[term] = row.fetchone()[0]

    def of(self, term: str) -> float:
        """Return the rarity of TERM; an unknown term has the greatest."""
        return self._of_count(self._counts[term])

    @property
    def of_nothing(self) -> float:
        """The rarity of an unknown term."""
        return self._of_count(0)

    def _of_count(self, count: int) -> float:
        return log(1 + (self._total - count + 0.5) / (count + 0.5))

    def reach(self, sentence: Sentence) -> float:
        """Return the best possible score for SENTENCE."""
        return sentence.weight * REACH * sum(map(self.of, sentence.terms))

    def coverage(self, sentence: Sentence, terms: Iterable[str]) -> float:
        """Return the share of SENTENCE that TERMS cover, weighted by rarity: 0 to 1.

        A long sentence counts as a few rare words. One of words that every passage has matches
        none of them: it counts as half a rare word.
        """
        there, rare = set(terms), self.of_nothing
        whole = max(rare / 2, min(sum(map(self._weight, sentence.terms)), ENOUGH * rare))
        met = sum(self.of(each) for each in sentence.terms if _stands(each, there))
        return min(1.0, met / whole)

    def _weight(self, term: str) -> float:
        """The weight of TERM in a sentence; an unknown pair may be two halves of words."""
        halves = not self._counts[term] and is_unspaced(term)
        return self.of(term) * (HALVES if halves else 1)


def match(*terms: str) -> str:
    """Return the FTS5 expression for any of TERMS, which have no punctuation."""
    parts = (f'"{each[:-1]}"*' if each.endswith("*") else f'"{each}"' for each in terms)
    return " OR ".join(parts)


def find(
    connection: Connection,
    sentences: Sequence[Sentence],
    rarity: Rarity,
    *,
    limit: int,
    accepts: Accepts | None = None,
) -> list[Found]:
    """Return the best passages, about LIMIT for each sentence, the best first."""
    best: dict[int, Found] = {}
    reach = max(map(rarity.reach, sentences), default=0.0)
    for number, sentence in enumerate(sentences):
        for found in _matching(connection, sentence, number, limit, accepts):
            score = found.score * sentence.weight / reach
            known = best.get(found.id)
            if known is None or score > known.score:
                best[found.id] = found._replace(score=score)
    return sorted(best.values(), key=lambda each: -each.score)


def _matching(
    connection: Connection, sentence: Sentence, number: int, limit: int, accepts: Accepts | None
) -> list[Found]:
    """The passages with any term of one sentence, and their bm25 scores."""
    most = limit
    while True:
        rows = _rows(connection, match(*sentence.terms), most)
        found = [
            Found(row, document, score, number)
            for row, score, document in rows
            if accepts is None or accepts(row, document)
        ]
        if len(rows) < most:
            return found
        # Which of several equal matches come last is random, so none of them is returned.
        apart = [each for each in found if each.score > rows[-1][1] + SAME]
        if len(apart) >= max(limit // 2, 1):
            return apart
        # Unless there are very many: each round ranks all matches, and a file may have 150,000
        # headings of one word.
        if len(found) >= ALIKE:
            return found
        most *= MORE


def _rows(connection: Connection, expression: str, most: int) -> list[tuple[int, float, int]]:
    rows = connection.execute(
        "SELECT id, score, (SELECT document FROM passages WHERE passages.id = found.id) FROM"
        f" (SELECT rowid AS id, -bm25(words, {_WEIGHTS}) AS score FROM words"
        "  WHERE words MATCH ? ORDER BY score DESC LIMIT ?) AS found",
        (expression, most),
    )
    return rows.fetchall()


def terms_in(connection: Connection, ids: Sequence[int]) -> Mapping[int, set[str]]:
    """Return the terms of passages and of their headings."""
    found: dict[int, set[str]] = {}
    for part, marks in chunks(ids):
        query = f"SELECT rowid, text, head FROM words WHERE rowid IN ({marks})"
        for row, text, head in connection.execute(query, part):
            found[row] = {*text.split(), *head.split()}
    return found


def _stands(term: str, there: set[str]) -> bool:
    if term.endswith("*"):
        return any(each.startswith(term[:-1]) for each in there)
    return term in there
