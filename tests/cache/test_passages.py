"""A table of passages that was brought step by step finds what one built at once finds."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.cache.database import Connection
from gitmem.cache.fill import put_files as put
from gitmem.cache.passages import (
    SCHEMA,
    FileContent,
    PassageRow,
    file_of,
    forget,
    forget_all,
    passage_rows,
    set_state,
    states,
    unread,
)
from gitmem.cache.scoring import FILLING, Rarity, find
from gitmem.model.entries.freshness import key_of, key_of_file
from gitmem.model.language.prompts import query_sentences


def talk(name: str) -> str:
    """A paragraph that is a passage by itself."""
    return f"The deployment of the billing service waits for {name}. " * 9


BLOCKS = st.sampled_from(
    [
        "# Decisions\n\n",
        "## Billing\n",
        "### Use Postgres\n- **Importance:** 1\n- **Status:** active\n\nMySQL is slow.\n",
        "### Use Postgres\nAgain.\n\n",
        "### Use Redis\n" + talk("Redis") * 2 + "\n\n#### Why\n\nQueues.\n",
        "#### Deeper\n",
        talk("Ada") + "\n\n",
        talk("Bob") + "\n\n",
        "- one item\n- another item\n",
        "<!-- a comment -->\n\n",
        "Short.\n\n",
        "数据库备份在法兰克福\n\n",
        "\r\n",
    ]
)
HEADS = st.sampled_from(["", "", "---\nstatus: Done\nimportance: 2\n---\n", "\ufeff", "---\nx\n"])
TEXTS = st.builds(
    lambda head, blocks: (head + "".join(blocks)).encode(),
    HEADS,
    st.lists(BLOCKS, min_size=2, max_size=9),
)
ODD = st.one_of(st.none(), st.just(b""), st.just(b"bin\0ary"), st.binary(max_size=20))
DATA = st.one_of(TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, ODD)
PATHS = st.sampled_from(["a.md", "journal/2026-02-08.md", "notes/billing.md", "\udcff.md"])
SOURCES = st.sampled_from(["", "global"])
PUTS = st.tuples(st.just("put"), SOURCES, st.dictionaries(PATHS, DATA, min_size=1))
FORGETS = st.tuples(st.just("forget"), SOURCES, st.sets(PATHS))
ALL = st.tuples(st.just("all"), SOURCES, st.none())
STEPS = st.lists(st.one_of(PUTS, PUTS, PUTS, PUTS, FORGETS, ALL), min_size=2, max_size=8)
QUERIES = ["billing deployment", "why redis queues", "数据库", "postgres?", "8 February", "ada bob"]
Files = dict[tuple[str, str], bytes | None]


@contextmanager
def table() -> Iterator[Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.executescript(SCHEMA.tables)
        yield connection
    finally:
        connection.close()


def contents(files: Mapping[str, bytes | None]) -> list[FileContent]:
    return [FileContent(path, f"blob of {path!a}", data) for path, data in files.items()]


def ids(connection: Connection) -> list[int]:
    return [row for (row,) in connection.execute("SELECT id FROM passages ORDER BY id")]


def everything(connection: Connection) -> Counter[object]:
    """All that is known of each passage, but for its number."""
    words = {
        number: tuple(rest)
        for number, *rest in connection.execute(
            "SELECT rowid, text, before, after, head FROM words WHERE rowid > 0"
        )
    }
    there = passage_rows(connection, ids(connection))
    assert words.keys() == there.keys() == set(ids(connection))
    return Counter((each._replace(id=0), words[number]) for number, each in there.items())


def answers(connection: Connection, query: str) -> dict[object, list[float]]:
    """What is found for QUERY: the scores at each place."""
    sentences = query_sentences(query)
    found = find(connection, sentences, Rarity(connection, sentences), limit=1000)
    there = passage_rows(connection, [each.id for each in found])
    made: dict[object, list[float]] = {}
    for each in found:
        made.setdefault(there[each.id]._replace(id=0), []).append(round(each.score, 9))
    return made


def applied(connection: Connection, steps: Sequence[tuple[str, str, object]]) -> Files:
    """Bring a table through STEPS; what is there in the end."""
    files: Files = {}
    for what, source, given_ in steps:
        if what == "put":
            assert isinstance(given_, dict)
            put(connection, source, contents(given_))
            files |= {(source, path): data for path, data in given_.items()}
        elif what == "forget":
            assert isinstance(given_, set)
            forget(connection, source, given_)
            files = {at: x for at, x in files.items() if at[0] != source or at[1] not in given_}
        else:
            forget_all(connection, source)
            files = {at: data for at, data in files.items() if at[0] != source}
    return files


@given(STEPS)
def test_step_by_step_comes_to_the_same_as_all_at_once(
    steps: list[tuple[str, str, object]],
) -> None:
    with table() as slow, table() as fast:
        files = applied(slow, steps)
        for source in ("", "global"):
            put(fast, source, contents({p: data for (s, p), data in files.items() if s == source}))

        assert everything(slow) == everything(fast)
        assert sorted(unread(slow)) == sorted(unread(fast))
        for query in QUERIES:
            assert answers(slow, query) == answers(fast, query)
        count = slow.execute("SELECT count(*) FROM words").fetchone()[0]
        assert count == len(ids(slow)) + FILLING


def test_many_files_in_one_go_come_to_the_same_as_one_by_one() -> None:
    files = {f"n/{n}.md": f"# Note {n}\n\nIt is about ada{n % 7}.\n".encode() for n in range(1200)}

    with table() as slow, table() as fast:
        put(fast, "", contents(files))
        for path, data in files.items():
            put(slow, "", contents({path: data}))
        put(slow, "", contents(files))

        assert everything(slow) == everything(fast)
        assert len(ids(fast)) == 1200


def paragraphs(count: int) -> str:
    return "".join(f"Paragraph {n}: {talk(f'person{n}')}\n\n" for n in range(count))


def test_the_words_of_a_new_table_are_written_once_however_many() -> None:
    written = set()
    for count in (300, 1100, 2100):
        with table() as connection:
            connection.execute("BEGIN")
            files = [
                FileContent(f"{n}.md", "0" * 40, f"## T{n}\n\nword{n}\n".encode())
                for n in range(count)
            ]
            put(connection, "", files)
            connection.execute("COMMIT")
            parts = "SELECT count(DISTINCT segid) FROM words_idx"
            written.add(connection.execute(parts).fetchone()[0])
    assert len(written) == 1


def test_a_line_at_the_end_of_a_large_file_costs_that_line() -> None:
    text = f"# Log\n\n{paragraphs(200)}"
    with table() as connection:
        put(connection, "", contents({"log.md": text.encode()}))
        before = ids(connection)

        put(connection, "", contents({"log.md": f"{text}One more line.\n".encode()}))

        after = ids(connection)
        assert len(before) > 150
        assert len(set(before) - set(after)) <= 2
        assert 1 <= len(set(after) - set(before)) <= 3


def test_a_line_at_the_beginning_moves_the_others_and_they_keep_their_rows() -> None:
    text = paragraphs(100)
    with table() as connection:
        put(connection, "", contents({"log.md": text.encode()}))
        before = passage_rows(connection, ids(connection))

        put(connection, "", contents({"log.md": f"{talk('Zoe')}\n\n{text}".encode()}))

        after = passage_rows(connection, ids(connection))
        same = before.keys() & after.keys()
        assert len(same) >= len(before) - 2
        assert {after[each].line - before[each].line for each in same} == {2}
        assert {after[each].start - before[each].start for each in same} == {len(talk("Zoe")) + 2}


def test_what_did_not_change_is_not_touched() -> None:
    with table() as connection:
        put(connection, "", contents({"a.md": paragraphs(9).encode()}))
        before = ids(connection)

        put(connection, "", contents({"a.md": paragraphs(9).encode()}))

        assert ids(connection) == before


def test_a_file_that_is_gone_takes_every_word_with_it() -> None:
    with table() as connection:
        put(connection, "", contents({"a.md": b"heron", "b.md": b"heron and stork"}))
        put(connection, "global", contents({"a.md": b"heron"}))

        forget(connection, "", ["a.md", "never.md"])

        assert {(each.source, each.path) for each in found(connection, "heron")} == {
            ("", "b.md"),
            ("global", "a.md"),
        }


def found(connection: Connection, query: str) -> list[PassageRow]:
    sentences = query_sentences(query, anything=True)
    rows = find(connection, sentences, Rarity(connection, sentences), limit=100)
    there = passage_rows(connection, [each.id for each in rows])
    return [there[each.id] for each in rows]


def test_a_source_that_is_gone_is_forgotten_and_the_others_stay() -> None:
    with table() as connection:
        for source in ("", "global"):
            put(connection, source, contents({"a.md": b"heron", "b.md": None}))
            set_state(connection, source, f"tree of {source}")
        set_state(connection, "", "newer tree")

        forget_all(connection, "global")

        assert states(connection) == {"": "newer tree"}
        assert [each.source for each in found(connection, "heron")] == [""]
        assert unread(connection) == [("", "b.md", "blob of 'b.md'")]


def test_a_file_that_cannot_be_read_is_remembered_until_it_can() -> None:
    with table() as connection:
        put(connection, "", contents({"a.md": b"heron", "b.md": None}))
        assert unread(connection) == [("", "b.md", "blob of 'b.md'")]
        put(connection, "", contents({"a.md": None}))
        assert len(unread(connection)) == 2
        assert found(connection, "heron") == []

        put(connection, "", contents({"a.md": b"heron", "b.md": b"stork"}))

        assert unread(connection) == []
        assert len(found(connection, "heron stork")) == 2


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"", 0),
        (b"heron\0", 0),
        (b"heron \xff\xfe", 1),
        (b"\xef\xbb\xbfheron", 1),
        ("heron".encode("utf-16"), 0),
        (b'---\nstatus: "\\ud800"\n---\nheron', 1),
        (b"---\nstatus: [\n---\nheron", 1),
        (b"---\nimportance: 99999999999999999999\n---\nheron", 1),
    ],
)
def test_what_is_no_proper_text_is_no_reason_to_fail(data: bytes, count: int) -> None:
    with table() as connection:
        put(connection, "", contents({"a.md": data}))

        assert len(found(connection, "heron")) == count
        assert unread(connection) == []


@given(st.binary())
@example(b"### \xff\n### \xfe\n")
def test_any_bytes_can_be_taken_in(data: bytes) -> None:
    with table() as connection:
        put(connection, "", contents({"a.md": data}))
        forget(connection, "", ["a.md"])

        assert ids(connection) == []


@pytest.mark.parametrize("path", ["\udcff.md", "ordner/\udce4.md", "名前.md", "a b'c\".md", "?"])
def test_any_name_of_a_file_comes_back_as_it_was(path: str) -> None:
    with table() as connection:
        put(connection, "", contents({path: b"heron", "other.md": b"stork"}))
        put(connection, "", contents({path: b"heron, again"}))
        name = f"un{path}"
        put(connection, "", contents({name: None}))

        assert [each.path for each in found(connection, "heron")] == [path]
        assert unread(connection) == [("", name, f"blob of {name!a}")]
        documents = {document for (document,) in connection.execute("SELECT id FROM files")}
        names = {file_of(connection, each) for each in documents}
        assert names == {("", path), ("", "other.md"), ("", name)}


PAGE = b"""---
status: Draft
importance: 2
---

About herons.

### Feed the heron
- **Importance:** 1
- **Status:** Active (since May)

Fish.

### Stork
No fields.
"""


def test_an_entry_has_facts_of_its_own_and_what_is_none_has_those_of_its_file() -> None:
    with table() as connection:
        put(connection, "", contents({"birds.md": PAGE}))
        there = [each._replace(id=0) for each in passage_rows(connection, ids(connection)).values()]

    blocks = PAGE[PAGE.index(b"### Feed") :].split(b"### ")
    key, feed, stork = (
        key_of_file(PAGE),
        key_of(b"### " + blocks[1]),
        key_of(b"### " + blocks[2]),
    )
    text = PAGE.decode()
    at = [(0, text.index("\n\n### Feed")), (text.index("### Feed"), text.index("\n\n### Stork"))]
    at.append((text.index("### Stork"), len(text) - 1))
    blob = "blob of 'birds.md'"
    assert there == [
        PassageRow(0, "", "birds.md", blob, *at[0], 1, 6, "", "", key, 2, "draft"),
        PassageRow(
            *(0, "", "birds.md", blob, *at[1], 8, 12, "Feed the heron", "feed-the-heron"),
            *(feed, 1, "active"),
        ),
        PassageRow(0, "", "birds.md", blob, *at[2], 14, 15, "Stork", "stork", stork, None, ""),
    ]


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("fish", 8),
        ("feed", 8),
        ("stork", 14),
        ("about", 1),
        ("draft", 1),
    ],
)
def test_a_passage_is_found_by_its_words_and_by_its_heading(query: str, line: int) -> None:
    with table() as connection:
        put(connection, "", contents({"nature/birds.md": PAGE}))

        assert [each.line for each in found(connection, query)][:1] == [line]
        assert len(found(connection, "nature birds")) == 3


def test_what_stands_below_a_heading_is_found_by_it() -> None:
    text = f"# Zebra\n\n## Food\n\n{talk('Ada')}\n\n{talk('Bob')}\n\n### Hay\n\nGreen.\n"

    with table() as connection:
        put(connection, "", contents({"a.md": text.encode()}))

        assert {each.line for each in found(connection, "zebra food")} == {3, 7, 9}
        assert [each.line for each in found(connection, "hay")] == [9]


def test_a_page_of_a_journal_is_found_by_its_day() -> None:
    with table() as connection:
        put(connection, "", contents({f"log/2026-02-0{day}.md": b"Rain." for day in range(1, 9)}))

        first, *_ = found(connection, "Sunday 8 February")
        assert first.path == "log/2026-02-08.md"
        assert len(found(connection, "sunday")) == 2


def test_a_paragraph_is_found_by_its_neighbours_and_an_entry_is_not() -> None:
    one, other = talk("herons"), talk("storks")
    prose = f"{one}\n\n{other}\n"
    entries = f"### One\n{one}\n\n### Other\n{other}\n"

    with table() as connection:
        put(connection, "", contents({"prose.md": prose.encode()}))
        assert [each.line for each in found(connection, "heron")] == [1, 3]
        put(connection, "", contents({"prose.md": entries.encode()}))
        assert [each.line for each in found(connection, "heron")] == [1]


def test_more_passages_than_a_statement_takes_values_can_be_looked_up() -> None:
    with table() as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 999)
        put(connection, "", contents({f"{number}.md": b"heron" for number in range(2100)}))

        assert len(passage_rows(connection, ids(connection))) == 2100
        assert passage_rows(connection, []) == {}


def test_a_heading_without_end_is_not_stored_with_each_passage_below_it() -> None:
    text = "### " + "heron " * 20_000

    with table() as connection:
        put(connection, "", contents({"a.md": text.encode()}))
        size = connection.execute("SELECT sum(length(heading) + length(slug)) FROM passages")

        assert size.fetchone()[0] < len(text)
