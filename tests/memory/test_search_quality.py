"""Questions in people's own words find their answers, and idle talk finds none.

A small set made by hand: it cannot say how good the order is, but it says when it gets worse.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gitmem.memory.admin.init import init
from gitmem.memory.context.inject import inject
from gitmem.memory.group import Group, Store
from gitmem.memory.search.search import search
from gitmem.memory.transcripts.add import NewMessage, transcript_add
from gitmem.memory.write.write import Allowed, Edit, write
from tests.support.languages import CHINESE, GERMAN, JAPANESE, Memory
from tests.support.questions import (
    ABOUT_NOTES,
    ABOUT_SAID,
    ELSEWHERE,
    FIRST,
    IDLE,
    LONG_ABOUT_NOTES,
    LONG_ELSEWHERE,
    NOTES,
    SAID,
    Asked,
)


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    store = Store(tmp_path_factory.mktemp("quality") / "store")
    init(store, "main", layout="nano")
    opened = Group(store, "main")
    write(opened, [Edit(f"memory/n{n}.md", f"{t}\n") for n, t in enumerate(NOTES.values())])
    transcript_add(opened, [NewMessage("team", name, text, None, id) for id, name, text in SAID])
    yield opened
    opened.close()


PAGES = sorted((Path(__file__).parents[2] / "docs").glob("*.md"))
NAMES = {f"memory/n{number}.md": name for number, name in enumerate(NOTES)}


def found(group: Group, question: str, source: str, limit: int) -> list[str]:
    hits = search(group, question, source=source, limit=limit).hits
    return [NAMES.get(hit.path, hit.id) for hit in hits]


def share(group: Group, asked: Sequence[Asked], source: str, limit: int, before: str = "") -> float:
    """Of how many questions an answer is among the first LIMIT hits."""
    right = [
        bool({*each.answers} & {*found(group, f"{before} {each.text}", source, limit)})
        for each in asked
    ]
    return sum(right) / len(right)


def test_other_words_than_those_of_the_answer_find_it(group: Group) -> None:
    assert share(group, ABOUT_NOTES, "memory", 1) >= 0.85
    assert share(group, ABOUT_NOTES, "memory", 3) >= 0.95
    assert share(group, ABOUT_NOTES, "memory", 8) == 1.0


def test_so_do_questions_about_what_was_said(group: Group) -> None:
    assert share(group, ABOUT_SAID, "transcripts", 1) >= 0.65
    assert share(group, ABOUT_SAID, "transcripts", 3) >= 0.85
    assert share(group, ABOUT_SAID, "transcripts", 8) >= 0.95


@pytest.mark.parametrize("before", FIRST)
def test_an_errand_before_the_question_does_not_spoil_it(group: Group, before: str) -> None:
    assert share(group, ABOUT_NOTES, "memory", 3, before) >= 0.9
    assert share(group, ABOUT_SAID, "transcripts", 8, before) >= 0.9


def plain(tmp_path: Path, texts: Sequence[str]) -> sqlite3.Connection:
    """Full text search as one would do it in a minute."""
    table = sqlite3.connect(tmp_path / "plain.db")
    table.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'porter unicode61')")
    table.executemany("INSERT INTO words VALUES (?)", ((text,) for text in texts))
    return table


def plainly_found(table: sqlite3.Connection, question: str, limit: int) -> list[int]:
    terms = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
    rows = table.execute(
        "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (terms, limit)
    )
    return [row for (row,) in rows]


def test_it_finds_more_than_plain_full_text_search(group: Group, tmp_path: Path) -> None:
    table = plain(tmp_path, [text for _, _, text in SAID])
    names = [id for id, _, _ in SAID]
    for before in ("", *FIRST):
        right = [
            bool(
                {*each.answers}
                & {names[n - 1] for n in plainly_found(table, f"{before} {each.text}", 3)}
            )
            for each in ABOUT_SAID
        ]
        assert share(group, ABOUT_SAID, "transcripts", 3, before) > sum(right) / len(right)
    table.close()


def opened(group: Group, prompts: Sequence[str]) -> float:
    """For how many of PROMPTS the gate opens."""
    shown = [bool(inject(group, prompt=each).memory_context) for each in prompts]
    return sum(shown) / len(shown)


def test_the_gate_opens_for_what_memory_knows_and_stays_shut_for_the_rest(group: Group) -> None:
    about = [each.text for each in ABOUT_NOTES]

    assert opened(group, about) >= 0.85
    assert opened(group, ELSEWHERE) <= 0.08
    assert opened(group, LONG_ABOUT_NOTES) >= 0.8
    assert opened(group, LONG_ELSEWHERE) == 0.0


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    """A memory of some hundred passages, in which most words of every day stand somewhere."""
    store = Store(tmp_path_factory.mktemp("large") / "store")
    init(store, "main", layout="nano")
    opened = Group(store, "main")
    pages = {f"memory/{each.stem}.md": each.read_text("utf-8")[:20_000] for each in PAGES}
    notes = {f"memory/n{n}.md": f"{text}\n" for n, text in enumerate(NOTES.values())}
    allowed = Allowed(secrets=("secret-assignment", "password-in-prose"))
    write(opened, [Edit(path, text) for path, text in {**pages, **notes}.items()], allowed=allowed)
    yield opened
    opened.close()


def test_idle_talk_opens_no_gate_however_much_there_is_to_find(large: Group) -> None:
    assert opened(large, IDLE) == 0.0
    assert opened(large, [each.text for each in ABOUT_NOTES]) >= 0.9


def test_what_the_gate_lets_through_holds_the_answer(group: Group) -> None:
    right = 0
    for each in ABOUT_NOTES:
        pieces = inject(group, prompt=each.text).manifest.pieces
        right += bool({*each.answers} & {NAMES.get(piece.path, "") for piece in pieces})

    assert right / len(ABOUT_NOTES) >= 0.85


LANGUAGES = {"chinese": CHINESE, "japanese": JAPANESE, "german": GERMAN}


@pytest.fixture(scope="module", params=LANGUAGES)
def elsewhere(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Group, Memory]]:
    store = Store(tmp_path_factory.mktemp("elsewhere") / "store")
    init(store, "main", layout="nano")
    opened = Group(store, "main")
    memory = LANGUAGES[request.param]
    write(opened, [Edit(f"memory/{n}.md", f"{text}\n") for n, text in enumerate(memory.notes)])
    yield opened, memory
    opened.close()


def test_questions_in_other_languages_find_their_answers(elsewhere: tuple[Group, Memory]) -> None:
    group, memory = elsewhere
    first = [
        [hit.path for hit in search(group, question, source="memory", limit=3).hits]
        for question, _ in memory.asked
    ]
    wanted = [f"memory/{number}.md" for _, number in memory.asked]

    right = [path in paths for path, paths in zip(wanted, first, strict=True)]
    assert sum(right) / len(right) >= 0.95


def test_the_gate_knows_idle_talk_in_other_languages(elsewhere: tuple[Group, Memory]) -> None:
    group, memory = elsewhere

    assert opened(group, [question for question, _ in memory.asked]) >= 0.95
    assert opened(group, memory.idle) == 0.0
    assert opened(group, memory.elsewhere) <= 0.15
