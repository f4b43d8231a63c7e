"""The pages on search and transcripts have the numbers and words of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.cache import scoring
from gitmem.memory.context.retrieve import HALF, PER_FILE, RETRIEVED
from gitmem.memory.read import memory_actions
from gitmem.memory.search.search import Hit
from gitmem.memory.transcripts import add as transcript_add
from gitmem.memory.transcripts import pending
from gitmem.memory.transcripts import pending as transcript_pending
from gitmem.model.language import passages, ranking
from gitmem.model.language import prompts as asking
from gitmem.model.layout.layout import Retrieval, TranscriptSettings
from tests.support.pages import numbers

DOCS = Path(__file__).parents[1] / "docs"
SEARCH = (DOCS / "search.md").read_text("utf-8")
TRANSCRIPTS = (DOCS / "transcripts.md").read_text("utf-8")


def test_every_field_of_a_hit_is_explained() -> None:
    assert all(f"`{field.rstrip('_')}`" in SEARCH for field in Hit._fields)


@pytest.mark.parametrize(
    ("words", "real"),
    [
        (("**passages**", "characters"), passages.MOST),
        (("no further paragraph",), passages.ENOUGH),
        (("each sentence of your query",), asking.LAST),
        (("is a question counts",), asking.QUESTION),
        (("| the words of the passage |",), scoring.WEIGHTS["text"]),
        (("| the last", "passage before it |"), scoring.WEIGHTS["before"]),
        (("| the last", "passage before it |"), passages.NEAR),
        (("| the first", "passage after it |"), scoring.WEIGHTS["after"]),
        (("| the first", "passage after it |"), passages.NEAR),
        (("| its headings", "sender and time |"), scoring.WEIGHTS["head"]),
        (("messages of others count",), ranking.NOT_NAMED),
        (("stale passages count",), ranking.FRESH["stale"]),
        (("importance 5 counts",), ranking.IMPORTANT[5]),
        (("characters of the prompt",), asking.TAIL),
        (("characters of the prompt", "sentences"), asking.LAST),
        (("rare words counts as one",), scoring.ENOUGH),
        (("`gate: 0.3`, the default",), Retrieval().gate),
        (("at most", "passages with"), Retrieval().top),
        (("at most", "passages with", "characters"), Retrieval().chars),
        (("| `retrieve: {top:",), Retrieval().top),
        (("| `retrieve: {chars:",), Retrieval().chars),
        (("| `retrieve: {gate:",), Retrieval().gate),
        (("`memory_search(query, top_k=",), memory_actions.TOP_K),
        (("`top_k` is limited",), memory_actions.LEAST),
        (("`top_k` is limited",), memory_actions.MOST),
    ],
)
def test_the_page_on_search_has_the_numbers(words: tuple[str, ...], real: float) -> None:
    assert real in numbers(SEARCH, *words)


def test_the_page_on_search_names_the_default_file() -> None:
    assert f'memory_get(path="{memory_actions.DEFAULT_PATH}")' in SEARCH


def test_the_halves_of_the_page_are_halves() -> None:
    assert (ranking.DOCUMENT, HALF, PER_FILE) == (0.5, 0.5, 2)
    assert set(RETRIEVED) == {"always", "recent", "query"}


@pytest.mark.parametrize(
    "printed",
    [
        transcript_pending.NONE,
        transcript_pending.action_required(31, 30, "/gitmem-memory"),
    ],
)
def test_the_page_on_transcripts_has_what_is_printed(printed: str) -> None:
    assert printed in " ".join(TRANSCRIPTS.split())


@pytest.mark.parametrize(
    ("words", "real"),
    [
        (("`transcripts: {threshold:",), TranscriptSettings().threshold),
        (("`--chars`", "characters"), transcript_pending.CHARS),
        (("minutes",), pending.LASTS.total_seconds() / 60),
        (("MiB", "text"), transcript_add.MAX_TEXT / 1024**2),
    ],
)
def test_the_page_on_transcripts_has_the_numbers(words: tuple[str, ...], real: float) -> None:
    assert real in numbers(TRANSCRIPTS, *words)
