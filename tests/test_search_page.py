"""The pages on search and transcripts say the numbers and words of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.cache import scoring
from gitmem.memory.context.retrieve import HALF, PER_FILE, RETRIEVED
from gitmem.memory.read import memory_actions
from gitmem.memory.search.search import Hit
from gitmem.memory.transcripts import add as transcript_add
from gitmem.memory.transcripts import leases
from gitmem.memory.transcripts import pending as transcript_pending
from gitmem.model.language import passages, ranking
from gitmem.model.language import prompts as asking
from gitmem.model.layout.layout import Retrieval, Saying

DOCS = Path(__file__).parents[1] / "docs"
SEARCH = " ".join((DOCS / "search.md").read_text("utf-8").split())
TRANSCRIPTS = " ".join((DOCS / "transcripts.md").read_text("utf-8").split())


def test_every_field_of_a_hit_is_explained() -> None:
    assert all(f"`{field.rstrip('_')}`" in SEARCH for field in Hit._fields)


@pytest.mark.parametrize(
    "sentence",
    [
        f"at most about {passages.MOST} characters",
        f"from {passages.ENOUGH} characters on",
        f"the last {asking.LAST} of it",
        f"counts {asking.QUESTION} times",
        f"passage before it, {passages.NEAR} characters | {scoring.WEIGHTS['before']}",
        f"behind it, {passages.NEAR} characters | {scoring.WEIGHTS['after']}",
        f"the words of the passage | {scoring.WEIGHTS['text']:g}",
        f"and when | {scoring.WEIGHTS['head']:g}",
        f"what others said counts {ranking.NOT_NAMED}",
        f"{ranking.FRESH['stale']} for what is stale, {ranking.IMPORTANT[5]} for importance 5",
        f"Of the prompt's end, {asking.TAIL:,} characters, the last {asking.LAST} sentences",
        f"a sentence of more than {scoring.ENOUGH} rare words counts as one of {scoring.ENOUGH}",
        f"`gate: {Retrieval().gate}` is the default",
        f"At most {Retrieval().top} passages with {Retrieval().chars:,} characters",
        f"`retrieve: {{top: {Retrieval().top}}}`",
        f"`retrieve: {{chars: {Retrieval().chars}}}`",
        f"`retrieve: {{gate: {Retrieval().gate}}}`",
        f'`memory_get(path="{memory_actions.DEFAULT_PATH}")`',
        f"top_k={memory_actions.TOP_K}",
        f"into {memory_actions.LEAST} to {memory_actions.MOST}",
    ],
)
def test_the_page_on_search_has_the_numbers(sentence: str) -> None:
    assert sentence in SEARCH


def test_the_halves_of_the_page_are_halves() -> None:
    assert (ranking.DOCUMENT, HALF, PER_FILE) == (0.5, 0.5, 2)
    assert set(RETRIEVED) == {"always", "recent", "query"}


@pytest.mark.parametrize(
    "sentence",
    [
        transcript_pending.NONE,
        f"{Saying().threshold} unless the layout says",
        transcript_pending.action_required(31, 30, "/gitmem-memory"),
        f"About {transcript_pending.CHARS:,} characters at a time",
        f"out for {leases.LASTS.total_seconds() / 60:g} minutes",
        f"at most {transcript_add.MAX_TEXT // 1024**2} MiB",
    ],
)
def test_the_page_on_transcripts_has_the_words(sentence: str) -> None:
    assert sentence in TRANSCRIPTS
