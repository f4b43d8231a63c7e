"""Ranking of passages, and the choice of those for a prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gitmem.model.record import Record

DOCUMENT = 0.5
"""The share of a document's best score that its other passages get."""
FRESH = {"active": 1.0, "aging": 0.99, "fading": 0.98, "stale": 0.97}
IMPORTANT = {1: 1.0, 2: 0.995, 3: 0.985, 4: 0.975, 5: 0.965}
"""Small factors: of two equal matches the fresher and more important one comes first."""
DEFAULT_IMPORTANCE = 3
PARTLY = min(FRESH.values()) * min(IMPORTANT.values())
"""The factor of a passage with only a part of the terms: the lowest push, so that age and rank
never put such a passage above one with all terms. Terms of most passages do not count."""
LEAST = 0.000001
"""The lowest score: a match is never shown as 0."""
NOT_NAMED = 0.8
"""The factor for messages of others, if a query names one sender."""


class Found(Record):
    """A passage that matches a query."""

    id: int
    document: int
    score: float
    """Above 0, at most 1."""
    sentence: int
    """The number of its best sentence."""


def lifted(found: Sequence[Found]) -> list[Found]:
    """Return FOUND, unsorted, with the score of each document's best passage added to its others.

    A document counts by its best passage, not by their number.
    """
    best: dict[int, float] = {}
    for each in found:
        best[each.document] = max(each.score, best.get(each.document, 0.0))
    whole = 1 + DOCUMENT
    return [
        each._replace(score=(each.score + DOCUMENT * best[each.document]) / whole) for each in found
    ]


def push(state: str, importance: int | None, *, is_whole: bool = True) -> float:
    """Return the factor for freshness and importance, a few percent below 1.

    IS_WHOLE if the passage has all terms of the query.
    """
    rank = importance or DEFAULT_IMPORTANCE
    gentle = FRESH.get(state, FRESH["active"]) * IMPORTANT.get(rank, IMPORTANT[DEFAULT_IMPORTANCE])
    return gentle if is_whole else gentle * PARTLY


def rounded_score(score: float) -> float:
    """Return a score for display, with six digits."""
    return max(round(score, 6), LEAST)


class RetrievalLimits(Record):
    """The most passages for a prompt."""

    top: int
    per_file: int


def choose(
    files: Sequence[object], limits: RetrievalLimits, fits: Callable[[Sequence[int]], bool]
) -> list[str]:
    """Choose from ranked passages; FILES has the file of each, and FITS tells whether some fit.

    Returns an empty text for a chosen passage, else the reason. Each file gets `per_file` first, so
    that others have their turn; if room is left, the rest follows.
    """
    taken: list[int] = []
    why = [""] * len(files)
    for most in (limits.per_file, limits.top):
        for at in range(len(files)):
            if at in taken:
                continue
            of_its_file = sum(files[each] == files[at] for each in taken)
            if len(taken) >= limits.top:
                if not why[at] or of_its_file > limits.per_file:
                    why[at] = f"only {limits.top} are taken"
            elif of_its_file >= most:
                why[at] = f"{most} of its file come before it"
            elif not fits(sorted((*taken, at))):
                why[at] = "no room is left"
            else:
                why[at] = ""
                taken.append(at)
    return why
