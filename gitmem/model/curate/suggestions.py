"""What consolidation suggests, and why: rules over what a report has found.

Age alone is a reason to look at an entry, never to put it away: only one whose status says that it
has had its time goes to the archive by itself, and never one of importance 1 or 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from gitmem.model.layout.budgets import KILO, human
from gitmem.model.text.numbers import counted

FADED = ("fading", "stale")
"""The states in which an entry is worth a look."""
LOG_DAYS = 30
"""Logs that are older go to the archive; at this age they stay."""
PROFILE = KILO
"""The bytes of a profile whose layer has no budget."""
MOST = 10
"""How many of the oldest and largest files a report names."""
NAMED = 5
"""How many things a sentence names."""


class Suggestion(NamedTuple):
    """What to do about an entry."""

    action: str = ""
    """archive, confirm, review, or nothing"""
    why: str = ""


class Condition(NamedTuple):
    """What of an entry decides what becomes of it."""

    state: str
    days: int
    status: str
    retired: bool
    immune: bool
    confirmed: date | None
    confirmable: bool
    """True when its status is one that its layer knows as living."""


def suggest(entry: Condition) -> Suggestion:
    """What to do about an entry, and why; nothing while it is fresh, and where it is immune."""
    if entry.immune or entry.state not in FADED:
        return Suggestion()
    untouched = f"untouched for {entry.days} days"
    if entry.retired:
        return Suggestion("archive", f"{entry.status}, and {untouched}")
    said = f"confirmed on {entry.confirmed}" if entry.confirmed else "never confirmed"
    if entry.confirmable:
        return Suggestion("confirm", f"said to be {entry.status}, but {untouched}; {said}")
    status = f"its status is {entry.status!r}" if entry.status else "it has no status"
    return Suggestion("review", f"{untouched}; {status}; {said}")


def is_old_log(day: date, today: date) -> bool:
    """Whether the log of DAY goes to the archive: strictly older than the limit."""
    return day < today - timedelta(days=LOG_DAYS)


class Findings(NamedTuple):
    """What recommendations are made of."""

    over: Sequence[tuple[str, int, int]] = ()
    """Path, bytes and budget of each file over it."""
    near: Sequence[str] = ()
    missing: Sequence[str] = ()
    logs: Sequence[str] = ()
    archivable: Sequence[str] = ()
    stale: Sequence[str] = ()
    """Addresses to confirm or review, first those in this state ..."""
    fading: Sequence[str] = ()
    """... then these."""
    profiles: Sequence[str] = ()
    duplicates: Sequence[str] = ()


def recommendations(found: Findings) -> Iterator[str]:
    """What to do, one sentence for each thing, the most pressing first."""
    for path, size, budget in found.over:
        yield (
            f"{path} is over its budget ({human(size)} of {human(budget)}): "
            "say it in fewer words, and move what is past to reference/ or archive/"
        )
    if found.missing:
        yield f"{names_of(found.missing)} {_are(found.missing)} missing: write what belongs there"
    if found.logs:
        yield (
            f"{counted(len(found.logs), 'log')} of more than {LOG_DAYS} days ago: "
            f"`gitmem consolidate --apply` archives {_them(found.logs)}"
        )
    if found.archivable:
        yield (
            f"{counted(len(found.archivable), 'outdated entry')}: `gitmem consolidate --apply` "
            f"archives {_them(found.archivable)} ({names_of(found.archivable)})"
        )
    yield from _to_look_at(found)


def _to_look_at(found: Findings) -> Iterator[str]:
    """What only a mind can decide."""
    for state, addresses in (("stale", found.stale), ("fading", found.fading)):
        if addresses:
            yield (
                f"{counted(len(addresses), f'{state} entry')} to look at: "
                "still true, `gitmem confirm`; changed, `gitmem write`; over, `gitmem archive` "
                f"({names_of(addresses)})"
            )
    if found.profiles:
        yield (
            f"{counted(len(found.profiles), 'profile')} too long: summarise older notes of "
            + names_of(found.profiles)
        )
    if found.duplicates:
        stand = "stands" if len(found.duplicates) == 1 else "stand"
        yield (
            f"{counted(len(found.duplicates), 'entry')} {stand} in two places: bring what is new "
            f"together in one, and archive the other ({names_of(found.duplicates)})"
        )
    if found.near:
        yield f"{names_of(found.near)} {_are(found.near)} near the budget"


def names_of(things: Sequence[str]) -> str:
    """The first of THINGS by name, and how many more there are."""
    more = len(things) - NAMED
    return ", ".join(things[:NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _them(things: Sequence[str]) -> str:
    return "it" if len(things) == 1 else "them"


def _are(things: Sequence[str]) -> str:
    return "is" if len(things) == 1 else "are"
