"""What a layer expects of its entries: statuses and types it knows, an importance, a date."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gitmem.model.entries.blocks import DATES, Entry
from gitmem.model.entries.lines import fold
from gitmem.model.layout.layout import Layer


class EntryIssue(NamedTuple):
    """One thing about an entry that is not as its layer expects."""

    rule: str
    text: str


INVALID = ("unknown-status", "unknown-type", "bad-importance")
"""What a strict layer refuses; the rest may be added later."""


def invalid_values(entry: Entry, layer: Layer | None) -> tuple[str, ...]:
    """What ENTRY says that LAYER does not know; a strict layer refuses it."""
    return tuple(each.text for each in entry_issues(entry, layer) if each.rule in INVALID)


def missing_values(entry: Entry, layer: Layer | None) -> tuple[str, ...]:
    """What ENTRY does not say although its layer has a field for it."""
    return tuple(each.text for each in entry_issues(entry, layer) if each.rule not in INVALID)


def entry_issues(entry: Entry, layer: Layer | None) -> tuple[EntryIssue, ...]:
    """All that is to be said about ENTRY; outside any layer only what holds for all."""
    return (*_invalid(entry, layer), *_missing(entry, layer))


def status_of(entry: Entry, layer: Layer | None) -> str:
    """The status as LAYER spells it, else as the entry does."""
    known = layer.statuses + layer.retired if layer else ()
    return one_of(entry.field("Status"), known) or entry.status


def is_retired(entry: Entry, layer: Layer | None) -> bool:
    """Whether its status says that ENTRY has had its time."""
    return layer is not None and one_of(entry.field("Status"), layer.retired) != ""


def one_of(value: str, words: Iterable[str]) -> str:
    """The one of WORDS with which VALUE begins; case, blanks and dashes do not matter."""
    said = fold(value.strip("*_`\"'[( \t"))
    # A form that nobody filled in: active | superseded | archived.
    if "|" in said:
        return ""
    fitting = [word for word in words if re.match(rf"{re.escape(fold(word))}(?!\w)", said)]
    return max(fitting, key=len, default="")


def _invalid(entry: Entry, layer: Layer | None) -> Iterator[EntryIssue]:
    for name, known in _known_words(layer):
        said = entry.field(name)
        if said and known and not one_of(said, known):
            shown = _shown(said)
            yield EntryIssue(
                f"unknown-{name.lower()}",
                f"the {name.lower()} {shown!r} is none of {', '.join(known)}",
            )
    said = entry.field("Importance")
    if said and entry.importance is None:
        yield EntryIssue(
            "bad-importance",
            f"the importance {_shown(said)!r} is no number from 1 (critical) to 5 (minor)",
        )


def _known_words(layer: Layer | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if layer is None:
        return ()
    return (("Status", layer.statuses), ("Type", layer.types))


def _missing(entry: Entry, layer: Layer | None) -> Iterator[EntryIssue]:
    if entry.date is None and _expects(layer, DATES):
        name = next(iter(_own(layer, DATES)), "Date")
        yield EntryIssue("no-date", f"there is no date: add **{name}:** YYYY-MM-DD")
    if not entry.field("Importance") and _expects(layer, ("Importance",)):
        yield EntryIssue("no-importance", "there is no importance: add **Importance:** 1 to 5")


def _expects(layer: Layer | None, names: Iterable[str]) -> bool:
    return layer is None or not layer.fields or bool(_own(layer, names))


def _own(layer: Layer | None, names: Iterable[str]) -> list[str]:
    """The fields of LAYER that are among NAMES."""
    wanted = {fold(name) for name in names}
    return [name for name in (layer.fields if layer else ()) if fold(name) in wanted]


def _shown(value: str) -> str:
    first, *rest = value.split("\n")
    longest = 40
    return f"{first[:longest]}..." if rest or len(first) > longest else first
