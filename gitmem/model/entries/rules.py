"""Rules for the entries of a layer: known statuses and types, an importance, a date."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gitmem.model.entries.blocks import DATES, Entry
from gitmem.model.entries.lines import fold
from gitmem.model.layout.layout import Layer


class EntryIssue(NamedTuple):
    """A rule that an entry breaks."""

    rule: str
    text: str


INVALID = ("unknown-status", "unknown-type", "bad-importance")
"""The rules that a strict layer enforces; missing values may be added later."""


def invalid_values(entry: Entry, layer: Layer | None) -> tuple[str, ...]:
    """Return the issues of ENTRY that a strict LAYER refuses."""
    return tuple(each.text for each in entry_issues(entry, layer) if each.rule in INVALID)


def missing_values(entry: Entry, layer: Layer | None) -> tuple[str, ...]:
    """Return the fields of LAYER that ENTRY lacks, one sentence each."""
    return tuple(each.text for each in entry_issues(entry, layer) if each.rule not in INVALID)


def entry_issues(entry: Entry, layer: Layer | None) -> tuple[EntryIssue, ...]:
    """Return all issues of ENTRY; without a LAYER, those of the general rules."""
    return (*_invalid(entry, layer), *_missing(entry, layer))


def status_of(entry: Entry, layer: Layer | None) -> str:
    """Return the status as LAYER spells it, else as the entry does."""
    known = layer.statuses + layer.retired if layer else ()
    return one_of(entry.field("Status"), known) or entry.status


def is_retired(entry: Entry, layer: Layer | None) -> bool:
    """Whether the status of ENTRY says that it is outdated."""
    return layer is not None and one_of(entry.field("Status"), layer.retired) != ""


def one_of(value: str, words: Iterable[str]) -> str:
    """Return the longest of WORDS that begins VALUE; case, blanks and dashes do not matter."""
    folded = fold(value.strip("*_`\"'[( \t"))
    # A template that was not filled in: active | superseded | archived.
    if "|" in folded:
        return ""
    fitting = [word for word in words if re.match(rf"{re.escape(fold(word))}(?!\w)", folded)]
    return max(fitting, key=len, default="")


def _invalid(entry: Entry, layer: Layer | None) -> Iterator[EntryIssue]:
    for name, known in _known_words(layer):
        value = entry.field(name)
        if value and known and not one_of(value, known):
            yield EntryIssue(
                f"unknown-{name.lower()}",
                f"unknown {name.lower()} {_shown(value)!r}: use one of {', '.join(known)}",
            )
    value = entry.field("Importance")
    if value and entry.importance is None:
        yield EntryIssue(
            "bad-importance",
            f"invalid importance {_shown(value)!r}: use 1 (critical) to 5 (minor)",
        )


def _known_words(layer: Layer | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if layer is None:
        return ()
    return (("Status", layer.statuses), ("Type", layer.types))


def _missing(entry: Entry, layer: Layer | None) -> Iterator[EntryIssue]:
    if entry.date is None and _expects(layer, DATES):
        name = next(iter(_own(layer, DATES)), "Date")
        yield EntryIssue("no-date", f"no date: add **{name}:** YYYY-MM-DD")
    if not entry.field("Importance") and _expects(layer, ("Importance",)):
        yield EntryIssue("no-importance", "no importance: add **Importance:** 1 to 5")


def _expects(layer: Layer | None, names: Iterable[str]) -> bool:
    return layer is None or not layer.fields or bool(_own(layer, names))


def _own(layer: Layer | None, names: Iterable[str]) -> list[str]:
    """The fields of LAYER that are among NAMES."""
    folded = {fold(name) for name in names}
    return [name for name in (layer.fields if layer else ()) if fold(name) in folded]


def _shown(value: str) -> str:
    first, *rest = value.split("\n")
    longest = 40
    return f"{first[:longest]}..." if rest or len(first) > longest else first
