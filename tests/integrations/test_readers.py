"""Files that others are writing are read line by line, as far as they are whole."""

from __future__ import annotations

import json
import os
import socket
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.errors import BadInput, NotFound
from gitmem.integrations.transcripts.readers import (
    LONGEST,
    NO_TEXT,
    TOO_LONG,
    UNREADABLE,
    home_in,
    parsed,
    read_lines,
    row_of,
    texts_in,
    without,
)
from gitmem.memory.transcripts.add import NewMessage
from gitmem.memory.transcripts.import_file import ParsedLine

FEW = 40
"""Few enough bytes for a line, so that a long one can be cut everywhere."""
LINES = [
    b"\xef\xbb\xbf" + b'{"said": "with a mark"}\n',
    b'{"said": "plain"}\n',
    '{"said": "grüß 👋"}\r\n'.encode(),
    b"\n",
    b' \t{"said": "indented"} \t\r\n',
    b"no object\n",
    b"[1, 2]\r\n",
    b'"{"\n',
    b'{"torn": "by a cra\n',
    b" \r\n",
    b'{"said": "' + b"long " * 12 + b'"}\n',
    b'{"said": "again"}\n',
    b'{"bytes": "\xff\xfe"}\n',
    b'{"said": "last, without an end"}',
]
DATA = b"".join(LINES)


def lines(path: Path, offset: int = 0, longest: int = FEW) -> tuple[list[bytes], int]:
    """The lines from OFFSET on, and where to go on."""
    found = []
    for line, behind in read_lines(path, offset, longest=longest):
        assert behind > offset
        offset = behind
        found.append(line)
    return found, offset


def test_every_line_comes_once_without_the_space_around_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(DATA)

    found, offset = lines(path)

    assert found == [
        b'\xef\xbb\xbf{"said": "with a mark"}',
        b'{"said": "plain"}',
        '{"said": "grüß 👋"}'.encode(),
        b'{"said": "indented"}',
        b"no object",
        b"[1, 2]",
        b'"{"',
        b'{"torn": "by a cra',
        TOO_LONG,
        b'{"said": "again"}',
        b'{"bytes": "\xff\xfe"}',
        b'{"said": "last, without an end"}',
    ]
    assert offset == len(DATA)


def test_a_file_read_in_two_goes_has_the_same_lines_wherever_it_was_cut(tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    whole.write_bytes(DATA)
    expected = lines(whole)[0]

    for cut in range(len(DATA) + 1):
        part.write_bytes(DATA[:cut])
        first, offset = lines(part)
        second, _ = lines(whole, offset)
        assert first + second == expected, f"cut at {cut}"
        assert offset <= cut


@given(
    st.lists(st.sampled_from(LINES[:-1]), max_size=6).map(b"".join),
    st.lists(st.integers(0, 200)),
)
def test_a_file_that_grows_in_any_steps_has_the_same_lines(data: bytes, cuts: list[int]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        path.write_bytes(data)
        expected = lines(path)[0]
        found, offset = [], 0
        for cut in [*sorted(cuts), len(data)]:
            path.write_bytes(data[:cut])
            more, offset = lines(path, offset)
            found += more
    assert found == expected


def test_each_offset_is_a_place_to_go_on_from(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(DATA)
    pairs = list(read_lines(path, 0, longest=FEW))

    for count, (_, offset) in enumerate(pairs, 1):
        assert list(read_lines(path, offset, longest=FEW)) == pairs[count:]


@given(st.binary(max_size=300), st.integers(0, 400), st.integers(1, 20))
def test_no_bytes_make_reading_fail(data: bytes, offset: int, longest: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.jsonl")
        path.write_bytes(data)

        found = list(read_lines(path, offset, longest=longest))

    behind = [offset, *(each for _, each in found)]
    assert behind == sorted(set(behind))
    assert all(len(line) <= longest for line, _ in found)


@pytest.mark.parametrize(
    "half", ["{", '{"a": 1', '{"a": "}', "12", "[]", '"{}"', "null", "x" * 99, " ", '{"a": 1} x']
)
def test_a_last_line_without_an_end_waits_unless_it_is_an_object(tmp_path: Path, half: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 0}\n' + half)

    assert lines(path) == ([b'{"a": 0}'], 9)

    path.write_text('{"a": 0}\n' + half + "\n")
    expected = TOO_LONG if len(half) > FEW else half.strip().encode()
    assert lines(path, 9)[0] == [expected] * (half != " ")


def test_what_is_appended_while_somebody_reads_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}')
    reading = read_lines(path, 0)
    assert next(reading) == (b'{"a": 1}', 8)

    with path.open("ab") as file:
        file.write(b'\n{"a": 2}\n{"a"')

    assert list(reading) == [(b'{"a": 2}', 18)]


@pytest.mark.parametrize(("spare", "taken"), [(0, True), (1, False)])
def test_a_line_may_have_sixteen_megabytes_and_not_one_byte_more(
    tmp_path: Path, spare: int, taken: bool
) -> None:
    path = tmp_path / "a.jsonl"
    long = b'{"a": "' + b"x" * (LONGEST - 9 + spare) + b'"}'
    path.write_bytes(long + b"\n{}\n")

    found = list(read_lines(path, 0))

    assert len(long) == LONGEST + spare
    assert found[0] == (long if taken else TOO_LONG, len(long) + 1)
    assert found[1] == (b"{}", len(long) + 4)


def test_a_last_line_without_an_end_may_be_as_long_as_any(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}')

    assert lines(path, longest=8) == ([b'{"a": 1}'], 8)
    assert lines(path, longest=7) == ([], 0)


def test_a_huge_line_is_counted_and_never_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.write(b'{"a": 1}\n')
        file.truncate(20 * LONGEST)  # takes no room on the disk
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + b'{"a": 2}\n')

    tracemalloc.start()
    try:
        found = list(read_lines(path, 0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    end = 20 * LONGEST
    assert found == [(b'{"a": 1}', 9), (TOO_LONG, end + 1), (b'{"a": 2}', end + 10)]
    assert peak < 3 * LONGEST


def test_a_huge_line_that_has_no_end_yet_waits_for_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": "' + b"x" * FEW + b'"}')

    assert lines(path) == ([b'{"a": 1}'], 9)


def test_nothing_is_behind_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n')

    assert lines(path, 9) == ([], 9)
    assert lines(path, 999) == ([], 999)


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))

    for path in (*tmp_path.iterdir(), Path("/dev/null"), Path("a\0b"), Path("\ud800")):
        with pytest.raises(BadInput) as caught:
            list(read_lines(path, 0))
        assert ".jsonl" in caught.value.hint
        assert caught.value.facts == {"path": str(path)}


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no file") as caught:
        list(read_lines(tmp_path / "gone.jsonl", 0))
    assert ".jsonl" in caught.value.hint


def test_a_link_to_a_file_is_as_good_as_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"a": 1}\n')
    (tmp_path / "b.jsonl").symlink_to("a.jsonl")

    assert lines(tmp_path / "b.jsonl")[0] == [b'{"a": 1}']


@given(st.binary())
def test_any_line_is_an_object_or_none(raw: bytes) -> None:
    assert row_of(raw) is None or isinstance(row_of(raw), dict)


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"{", b"[]", b"1", b"null", b'"{}"', b"{'a': 1}", b'{"a": 1} {}'),
        b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":' * 100_000,
        b'{"a": ' + b"9" * 10_000 + b"}",
        '{"a": 1}'.encode("utf-16"),
    ],
    ids=lambda raw: repr(raw[:12]),
)
def test_what_is_no_object_is_none(raw: bytes) -> None:
    assert row_of(raw) is None


def test_a_broken_byte_costs_a_letter_and_not_the_line() -> None:
    assert row_of(b'\xef\xbb\xbf{"a": "x\xffy"}\r') == {"a": "x\ufffdy"}


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("one", ["one"]),
        (" \n", []),
        ([], []),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two\n"}], ["one", "two\n"]),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": ["two"]}], ["one"]),
        ([{"type": "image", "source": {}}, {"type": "tool", "text": "x"}, "one", 2, None], []),
        ([{"type": ["text"], "text": "one"}, {"type": {}, "text": "one"}, {"text": "one"}], []),
        ([{"type": "text", "text": ["one"]}], None),
        ([{"type": "text"}], None),
        (None, None),
        ({"type": "text", "text": "one"}, None),
        (3, None),
    ],
)
def test_the_texts_of_a_message_are_those_of_its_text_blocks(
    content: object, texts: list[str] | None
) -> None:
    assert texts_in(content, ("text",)) == texts


def test_a_text_that_begins_like_the_hosts_own_is_left_out() -> None:
    assert without(["\n <x>1</x>", "say <x>", "<y>"], ("<x>", "<z>")) == ["say <x>", "<y>"]


@pytest.mark.parametrize(
    ("at", "moment"),
    [
        ("2026-02-08T14:30:00.123Z", datetime(2026, 2, 8, 14, 30, 0, 123000, UTC)),
        ("2026-02-08T14:30:00+02:00", datetime(2026, 2, 8, 12, 30, tzinfo=UTC)),
        ("2026-02-08T14:30:00", datetime(2026, 2, 8, 14, 30, tzinfo=UTC)),
    ],
)
def test_a_time_is_kept_in_utc(at: str, moment: datetime) -> None:
    said = NewMessage("c", "user", "a\n\nb", moment, "1")

    assert parsed("1", "c", "user", at, ["a", "b"]) == ParsedLine(said)


@pytest.mark.parametrize(
    "at",
    [
        *("", "yesterday", "2026-02-30T00:00:00Z", "2026-02-08T25:00:00Z", "2026-02-08T14:30:00ZZ"),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "\ud800", "2026\0"),
        *(None, 1770561000, 1.5, True, ["2026-02-08"], {}),
    ],
)
def test_what_has_no_time_cannot_be_read(at: object) -> None:
    assert parsed("1", "c", "user", at, ["a"]) == UNREADABLE


@pytest.mark.parametrize("id", ["", None, 7, ["1"], {}])
def test_what_has_no_id_cannot_be_read(id: object) -> None:
    assert parsed(id, "c", "user", "2026-02-08T14:30:00Z", ["a"]) == UNREADABLE


def test_half_a_character_is_replaced_so_that_the_text_can_be_kept() -> None:
    text = json.loads(r'"\ud83d\udc4b \ud83d"')

    said = parsed("\udfff", "\ud800", "user", "2026-02-08T14:30:00Z", [text]).message

    assert said is not None
    assert (said.id, said.chat, said.text) == ("\ufffd", "\ufffd", "👋 \ufffd")


def test_a_reading_is_of_something_said_or_says_why_not() -> None:
    assert NO_TEXT == (None, "no text")
    assert parsed("1", "c", "user", "2026-02-08T14:30:00Z", ["a"]).skipped == ""


def test_the_home_is_the_one_that_the_environment_names() -> None:
    assert home_in({"HOME": "/home/ada"}) == Path("/home/ada")
    assert home_in({}) == Path.home()
