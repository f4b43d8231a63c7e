"""In which order passages come, and which of them a prompt gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gitmem.model.record import Record

DOCUMENT = 0.5
"""How much the best passage of a document lifts the others of it."""
FRESH = {"active": 1.0, "aging": 0.99, "fading": 0.98, "stale": 0.97}
IMPORTANT = {1: 1.0, 2: 0.995, 3: 0.985, 4: 0.975, 5: 0.965}
"""A gentle push: of two that fit alike the fresher and more important one comes first."""
DEFAULT_IMPORTANCE = 3
PARTLY = min(FRESH.values()) * min(IMPORTANT.values())
"""What has only a part of the words counts so much: the push of age and rank alone would reach so
far, and never shall it bury what has all of them. Words that most passages have weigh nothing."""
LEAST = 0.000001
"""Scores are shown with six digits; what was found fits, however little."""
NOT_NAMED = 0.8
"""What somebody else said counts so much, where a question names one person."""


class Found(Record):
    """A passage that has something of what is asked."""

    id: int
    document: int
    score: float
    """How well it fits: above 0, and 1 at most."""
    sentence: int
    """Which sentence it fits best."""


def lifted(found: Sequence[Found]) -> list[Found]:
    """FOUND with what the best passage of each document adds to the others; the order stays open.

    A document counts by its best passage, never by how many it has.
    """
    best: dict[int, float] = {}
    for each in found:
        best[each.document] = max(each.score, best.get(each.document, 0.0))
    whole = 1 + DOCUMENT
    return [
        each._replace(score=(each.score + DOCUMENT * best[each.document]) / whole) for each in found
    ]


def push(state: str, importance: int | None, *, is_whole: bool = True) -> float:
    """By how much freshness and importance lower a score, a few percent at most.

    IS_WHOLE: the passage has everything that is asked for.
    """
    rank = importance or DEFAULT_IMPORTANCE
    gentle = FRESH.get(state, FRESH["active"]) * IMPORTANT.get(rank, IMPORTANT[DEFAULT_IMPORTANCE])
    return gentle if is_whole else gentle * PARTLY


def rounded_score(score: float) -> float:
    """A score as people see it."""
    return max(round(score, 6), LEAST)


class RetrievalLimits(Record):
    """How much a prompt gets at most."""

    top: int
    per_file: int


def choose(
    files: Sequence[object], limits: RetrievalLimits, fits: Callable[[Sequence[int]], bool]
) -> list[str]:
    """Of those that were ranked, each in one of FILES: nothing for what is taken, else why not.

    At first only so many of one file, so that others have their turn; if room is left, the rest.
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
