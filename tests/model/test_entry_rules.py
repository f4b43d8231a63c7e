"""A layer judges its entries by what it knows, and forgives how it is written."""

from __future__ import annotations

import pytest

from gitmem.model.entries.blocks import Entry, parse
from gitmem.model.entries.rules import invalid_values, is_retired, missing_values, one_of, status_of
from gitmem.model.layout.layout import Layer

LAYER = Layer(
    "decisions",
    "entries",
    "d.md",
    fields=("Date", "Status", "Importance", "Type"),
    statuses=("active", "ready-to-commit", "ready"),
    retired=("archived",),
    types=("strategic",),
)


def entry(*lines: str) -> Entry:
    (found,) = parse("### T\n" + "".join(f"- **{line}\n" for line in lines))
    return found


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ("active", "active"),
        ("Active, since May", "active"),
        ("**active**", "active"),
        ("Ready to commit", "ready-to-commit"),
        ("ready_to_commit soon", "ready-to-commit"),
        ("ready", "ready"),
        ("activated", ""),
        ("active | ready", ""),
        ("", ""),
    ],
)
def test_a_value_is_the_longest_word_it_begins_with(value: str, word: str) -> None:
    assert one_of(value, LAYER.statuses) == word


def test_what_a_layer_does_not_know_is_judged_and_what_is_missing_is_lacking() -> None:
    odd = entry("Status:** maybe", "Type:** odd\n  and long", "Importance:** none")

    assert invalid_values(odd, LAYER) == (
        "unknown status 'maybe': use one of active, ready-to-commit, ready",
        "unknown type 'odd...': use one of strategic",
        "invalid importance 'none': use 1 (critical) to 5 (minor)",
    )
    assert missing_values(odd, LAYER) == ("no date: add **Date:** YYYY-MM-DD",)


def test_an_entry_without_status_and_type_is_fine() -> None:
    good = entry("Updated:** 2026-01-02", "Importance:** 3")

    assert invalid_values(good, LAYER) == missing_values(good, LAYER) == ()


def test_a_layer_is_asked_only_for_fields_it_has() -> None:
    bare = entry()

    assert missing_values(bare, LAYER._replace(fields=("Date observed",))) == (
        "no date: add **Date observed:** YYYY-MM-DD",
    )
    assert missing_values(bare, LAYER._replace(fields=("Mood",))) == ()
    assert len(missing_values(bare, LAYER._replace(fields=()))) == 2
    assert len(missing_values(bare, None)) == 2


def test_a_status_is_told_in_the_words_of_the_layer() -> None:
    old = entry("Status:** Archived by Ada")

    assert status_of(old, LAYER) == "archived"
    assert is_retired(old, LAYER)
    assert not is_retired(old, None)
    assert status_of(entry("Status:** Ready to commit"), LAYER) == "ready-to-commit"
    assert status_of(entry("Status:** Odd one"), LAYER) == "odd one"
