"""What was said comes to the same tables however it came in, and is found by all that it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.cache.database import Connection
from gitmem.cache.fill import put_batches as put
from gitmem.cache.messages import (
    SCHEMA,
    TREE,
    MessagePassage,
    RangeCommit,
    batches_of,
    by_batch,
    chats,
    clear,
    counts,
    day_of,
    forget,
    known,
    last_number,
    message_passages,
    newest,
    numbers_in,
    put_range_commits,
    range_commits,
    senders,
    set_state,
    state,
)
from gitmem.cache.scoring import FILLING, Rarity, find
from gitmem.model.language.prompts import query_sentences
from gitmem.model.language.words import terms_of
from gitmem.model.transcripts.batches import Message, key_of
from gitmem.model.transcripts.intervals import Range

NOON = datetime(2026, 2, 8, 12, tzinfo=UTC)
LONG = "The invoices of the billing service wait for the heron. " * 40
SHORT = ["hello", "the heron is late", "why?", "数据库备份", " ", "<!-- hidden -->", "..."]
SPOKEN = st.sampled_from([*SHORT, LONG, "ok " * 300])
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=9)), timezone(timedelta(hours=-8))])
SAID = st.lists(
    st.tuples(
        st.sampled_from(["work", "home", "名前"]),
        st.sampled_from(["ada", "Bob Miller"]),
        st.integers(-50, 50),
        ZONES,
        SPOKEN,
    ),
    max_size=14,
)
CUTS = st.sets(st.integers(0, 14))
QUERIES = ["heron invoices", "hello", "数据库", "ada", "bob 8 February", "why late"]


@contextmanager
def table() -> Iterator[Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.executescript(SCHEMA.tables)
        yield connection
    finally:
        connection.close()


def numbered(said: Sequence[tuple[str, str, int, timezone, str]]) -> list[Message]:
    return [
        Message(number, f"id{number}", chat, sender, at(hours, zone), text)
        for number, (chat, sender, hours, zone, text) in enumerate(said, 1)
    ]


def at(hours: int, zone: timezone = UTC) -> datetime:
    return (NOON + timedelta(hours=hours)).astimezone(zone)


def spoken(*texts: str, chat: str = "work", first: int = 1) -> list[Message]:
    return [
        Message(number, f"id{number}", chat, "ada", at(number), text)
        for number, text in enumerate(texts, first)
    ]


Batch = tuple[str, str, Sequence[Message]]


def batch(messages: Sequence[Message]) -> Batch:
    first = messages[0].number if messages else 0
    return f"{first:010}.jsonl", f"blob {first}", messages


def parted(messages: Sequence[Message], cuts: set[int]) -> list[Batch]:
    """MESSAGES in batches that end where CUTS say so."""
    borders = sorted({0, len(messages), *(each for each in cuts if each <= len(messages))})
    return [batch(messages[one:other]) for one, other in pairwise(borders)]


def everything(connection: Connection) -> list[tuple[object, ...]]:
    """All that is known of each passage, but for its number and its batch."""
    rows = connection.execute("SELECT rowid, text, before, after, head FROM words WHERE rowid > 0")
    words = {number: rest for number, *rest in rows}
    there = message_passages(connection, list(words))
    days = dict(connection.execute("SELECT id, document FROM passages"))
    assert words.keys() == there.keys() == days.keys()
    return sorted(
        (where.number, where.start, where.stop, where.sender, where.chat, where.at,
         day_of(connection, days[number]), *words[number])
        for number, where in there.items()
    )  # fmt: skip


def found(connection: Connection, query: str) -> list[tuple[MessagePassage, float]]:
    sentences = query_sentences(query, anything=True)
    rows = find(connection, sentences, Rarity(connection, sentences), limit=1000)
    there = message_passages(connection, [each.id for each in rows])
    return [(there[each.id], round(each.score, 9)) for each in rows]


def answers(connection: Connection, query: str) -> list[tuple[int, int, float]]:
    return sorted((where.number, where.start, score) for where, score in found(connection, query))


@given(SAID, CUTS, CUTS)
def test_batch_by_batch_comes_to_the_same_as_all_at_once(
    said: list[tuple[str, str, int, timezone, str]], cuts: set[int], pauses: set[int]
) -> None:
    messages = numbered(said)
    batches = parted(messages, cuts)
    with table() as slow, table() as fast:
        put(fast, [batch(messages)])
        waiting: list[Batch] = []
        for number, each in enumerate(batches):
            waiting.append(each)
            if number in pauses:
                put(slow, waiting)
                waiting = []
        put(slow, waiting)

        assert everything(slow) == everything(fast)
        for query in QUERIES:
            assert answers(slow, query) == answers(fast, query)
        assert chats(slow) == chats(fast)
        assert senders(slow) == senders(fast)
        assert counts(slow) == counts(fast) == (len(messages), len({x.chat for x in messages}))
        assert last_number(slow) == last_number(fast) == len(messages)
        for chat in ("work", "home", "名前"):
            assert newest(slow, chat, 2) == newest(fast, chat, 2)
        total = slow.execute("SELECT count(*) FROM words").fetchone()[0]
        assert total == len(everything(slow)) + FILLING


@given(SAID, CUTS)
def test_what_is_asked_of_messages_is_what_they_say(
    said: list[tuple[str, str, int, timezone, str]], cuts: set[int]
) -> None:
    messages = numbered(said)
    with table() as connection:
        put(connection, parted(messages, cuts))

        for chat in ("work", "home", "nowhere"):
            mine = [each.number for each in messages if each.chat == chat]
            times = {each.number: each.at for each in messages}
            by_time = sorted(mine, key=lambda number: (times[number], number))
            assert newest(connection, chat, 0) == by_time
            assert newest(connection, chat, 3) == by_time[-3:]
            wanted = Range(2, 9, chat)
            inside = [(n, chat) for n in mine if 2 <= n <= 9]
            assert list(numbers_in(connection, wanted)) == inside
        assert list(numbers_in(connection, Range(2, 9))) == [
            (each.number, each.chat) for each in messages if 2 <= each.number <= 9
        ]
        for each in chats(connection):
            own = [x for x in messages if x.chat == each.chat]
            assert (each.messages, each.first, each.last) == (
                len(own),
                own[0].number,
                own[-1].number,
            )
            assert each.since == min(x.at for x in own)
            assert each.until == max(x.at for x in own)
            assert set(each.senders) == {x.sender for x in own}
        untils = [each.until for each in chats(connection)]
        assert untils == sorted(untils, reverse=True)
        rows = [row for _, part in by_batch(connection) for row in part]
        assert [(row.number, row.key, row.chat, row.at) for row in rows] == [
            (x.number, key_of(x.chat, x.id), x.chat, x.at.timestamp()) for x in messages
        ]
        assert [path for path, _ in by_batch(connection)] == [
            path for path, _, part in parted(messages, cuts) if part
        ]


def test_a_great_many_messages_come_to_the_same_in_one_batch_and_in_many() -> None:
    texts = [f"word{n} " * (n % 5) for n in range(1, 1601)]
    messages = [x._replace(chat=f"chat{x.number % 3}") for x in spoken(*texts)]
    with table() as one, table() as some, table() as many:
        put(one, [batch(messages)])
        put(some, parted(messages, set(range(0, 1600, 200))))
        for part in parted(messages, set(range(0, 1600, 7))):
            put(many, [part])

        assert everything(one) == everything(some) == everything(many)
        assert len(everything(one)) == 1280


def test_a_message_is_found_by_what_was_said_around_it_in_its_chat() -> None:
    with table() as connection:
        put(connection, [batch(spoken("the heron", "what?", "a stork"))])
        put(connection, [batch(spoken("an owl", chat="home", first=4))])
        put(connection, [batch(spoken("no", first=5))])

        def numbers(query: str) -> list[int]:
            return [where.number for where, _ in found(connection, query)]

        assert numbers("heron") == [1, 2]
        assert numbers("stork") == [3, 5, 2]
        assert numbers("owl") == [4]
        words = {row: list(rest) for row, *rest in connection.execute(
            "SELECT rowid, text, before, after FROM words WHERE rowid > 0")}  # fmt: skip
    assert words == {
        1: [terms_of("the heron"), "", "what"],
        2: ["what", terms_of("the heron"), "a stork"],
        3: ["a stork", "what", "no"],
        4: ["an owl", "", ""],
        5: ["no", "a stork", ""],
    }


def test_a_silent_message_does_not_part_its_neighbours() -> None:
    with table() as connection:
        put(connection, [batch(spoken("the heron", " "))])
        put(connection, [batch(spoken("what?", first=3))])

        assert [where.number for where, _ in found(connection, "heron")] == [1, 3]


def test_a_message_is_found_by_who_said_it_and_when() -> None:
    one = Message(1, "a", "work", "Ada Lovelace", at(0), "fine")
    two = Message(2, "b", "home", "bob", at(48), "fine")

    with table() as connection:
        put(connection, [batch([one, two])])

        assert [where.number for where, _ in found(connection, "lovelace")] == [1]
        assert [where.number for where, _ in found(connection, "tuesday")] == [2]
        assert found(connection, "2026-02-08")[0][0].number == 1
        assert senders(connection) == {
            "Ada Lovelace": frozenset(["ada", "lovelac"]),
            "bob": frozenset(["bob"]),
        }


def test_what_was_said_on_one_day_in_one_chat_counts_as_one_document() -> None:
    said = [("work", 0), ("work", 1), ("home", 1), ("work", 24), ("work", 2)]
    messages = [
        Message(number, f"{number}", chat, "ada", at(hours), "heron")
        for number, (chat, hours) in enumerate(said, 1)
    ]
    with table() as connection:
        put(connection, [batch(messages[:3])])
        put(connection, [batch(messages[3:])])
        rows = dict(connection.execute("SELECT number, document FROM passages"))

        assert rows[1] == rows[2] == rows[5]
        assert len(set(rows.values())) == 3
        assert day_of(connection, rows[4]) == "2026-02-09"


def test_a_long_message_is_found_in_parts_that_know_each_other() -> None:
    text = LONG + "\n\n" + "The owl sleeps. " * 30
    with table() as connection:
        put(connection, [batch(spoken(text))])
        owls = [where for where, _ in found(connection, "owl")]

        assert {text[each.start : each.stop].startswith("The owl") for each in owls[:1]} == {True}
        assert len(everything(connection)) > 3
        assert {each.number for each in owls} == {1}


def test_a_place_says_where_a_message_is() -> None:
    message = Message(7, "x", "work", "ada", at(3), "  the heron ")
    with table() as connection:
        put(connection, [("2026/7.jsonl", "b10b", [message])])
        ((where, _),) = found(connection, "heron")

    expected = MessagePassage(1, 7, 2, 11, "2026/7.jsonl", "b10b", "ada", "work", at(3).timestamp())
    assert where == expected


def test_more_than_a_statement_takes_values_can_be_looked_up() -> None:
    messages = spoken(*["heron"] * 2500)
    with table() as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 999)
        put(connection, parted(messages, set(range(0, 2500, 50))))

        assert len(message_passages(connection, range(1, 2501))) == 2500
        assert len(known(connection, [key_of("work", each.id) for each in messages])) == 2500
        numbers = [each.number for each in messages]
        assert batches_of(connection, numbers) == [
            (path, blob) for path, blob, part in parted(messages, set(range(0, 2500, 50))) if part
        ]


def test_batches_come_in_the_order_of_their_messages_each_once() -> None:
    messages = spoken(*"abcdefgh")
    with table() as connection:
        put(connection, parted(messages, {2, 4, 6}))

        assert [path for path, _ in batches_of(connection, [1, 2, 5, 6, 7])] == [
            "0000000001.jsonl",
            "0000000005.jsonl",
            "0000000007.jsonl",
        ]
        assert batches_of(connection, []) == batches_of(connection, [99]) == []


def test_a_message_is_known_while_it_is_there_and_after_it_was_dropped() -> None:
    keys = [key_of("work", f"id{number}") for number in (1, 2, 3)]
    with table() as connection:
        put(connection, [batch(spoken("hello"))])
        forget(connection, [keys[1], keys[1]])
        forget(connection, [keys[1]])

        assert known(connection, keys) == {keys[0], keys[1]}
        assert known(connection, [key_of("home", "id1")]) == set()
        assert known(connection, []) == set()


def test_after_all_is_forgotten_nothing_is_found_and_all_can_come_again() -> None:
    messages = spoken("the heron", LONG, "a stork")
    with table() as connection, table() as fresh:
        put(connection, [batch(messages)])
        forget(connection, [b"12345678"])
        set_state(connection, TREE, "abc")
        put_range_commits(connection, [RangeCommit("1", closes=Range(1, 2))], anew=True)

        clear(connection)

        assert found(connection, "heron stork") == []
        assert counts(connection) == (0, 0)
        assert (last_number(connection), chats(connection), senders(connection)) == (0, [], {})
        assert known(connection, [b"12345678"]) == set()
        assert state(connection, TREE) == ""
        put(connection, [batch(messages)])
        put(fresh, [batch(messages)])
        assert everything(connection) == everything(fresh)
        assert answers(connection, "heron") == answers(fresh, "heron")


def test_states_are_kept_by_name() -> None:
    with table() as connection:
        assert state(connection, TREE) == ""
        set_state(connection, TREE, "one")
        set_state(connection, TREE, "two")

        assert state(connection, TREE) == "two"


DEEDS = st.builds(
    RangeCommit,
    st.integers(1, 10**6).map(lambda number: f"{number:040x}"),
    st.lists(st.sampled_from(["a" * 40, "b" * 40])).map(tuple),
    st.lists(st.sampled_from(["e" * 40])).map(tuple),
    st.none()
    | st.builds(
        Range,
        st.integers(1, 9),
        st.integers(50, 10**17),
        st.text("ab 漢"),
        st.sampled_from([(), ((20, 20),), ((12, 14), (18, 30))]),
    ),
    st.lists(st.sampled_from(["c" * 40, "d" * 40])).map(tuple),
)


@given(st.lists(DEEDS, unique_by=lambda deed: deed.oid), st.integers(0, 10))
def test_deeds_come_back_the_newest_first(done: list[RangeCommit], cut: int) -> None:
    with table() as connection:
        put_range_commits(connection, [RangeCommit("x")], anew=True)
        put_range_commits(connection, done[:cut], anew=True)
        put_range_commits(connection, done[cut:], anew=False)

        assert range_commits(connection) == done[::-1]


@pytest.mark.parametrize("name", ["\ud800", "a\udcff b", "\0", "'; --", "", " ", "名前"])
def test_any_name_of_a_chat_or_a_person_can_be_kept(name: str) -> None:
    message = Message(1, name, name, name, at(0), f"heron {name}")
    with table() as connection:
        put(connection, [batch([message])])
        put(connection, [batch([message._replace(number=2, id="other")])])

        assert {where.number for where, _ in found(connection, "heron")} == {1, 2}
        assert newest(connection, name, 0) == [1, 2]
        assert [each.messages for each in chats(connection)] == [2]
        assert known(connection, [key_of(name, name)]) == {key_of(name, name)}
        numbers = [number for number, _ in numbers_in(connection, Range(1, 9, name))]
        assert numbers == [1, 2]


@pytest.mark.parametrize(
    "moment",
    [
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))),
        datetime.max.replace(tzinfo=UTC),
        datetime.min.replace(tzinfo=UTC),
    ],
)
def test_a_chat_of_any_time_can_be_listed(moment: datetime) -> None:
    with table() as connection:
        put(connection, [batch([Message(1, "a", "work", "ada", moment, "heron")])])

        (chat,) = chats(connection)
        assert abs(chat.since.replace(tzinfo=None) - moment.replace(tzinfo=None)).days <= 1


def test_of_many_people_in_a_chat_those_who_said_most_are_named() -> None:
    names = [f"p{n:02}" for n in range(12)]
    messages = [
        Message(n, f"{n}", "work", name, at(n), "hi")
        for n, name in enumerate([*names, *names[5:], "p11"], 1)
    ]
    with table() as connection:
        put(connection, [batch(messages)])

        (chat,) = chats(connection)
    assert chat.senders == ("p11", "p05", "p06", "p07", "p08", "p09", "p10", "p00", "p01", "p02")
