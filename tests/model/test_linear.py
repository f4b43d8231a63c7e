"""What reads files of memory takes four times as long for four times as much, whatever they say."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial
from hashlib import sha1
from unicodedata import normalize

import pytest

from gitmem.model.commit_messages import parse as parse_message
from gitmem.model.context.escape import shown, shown_on_a_line
from gitmem.model.context.fit import fit
from gitmem.model.context.pieces import Piece, one_line, text_of
from gitmem.model.context.render import ContextPage
from gitmem.model.entries.blocks import file_entry, parse, slug_of
from gitmem.model.entries.dates import FEW, OID, PAST, PATH_KEY, RecordLog
from gitmem.model.entries.edit import put
from gitmem.model.entries.freshness import KEY, key_of, key_of_file
from gitmem.model.language.passages import passages, without_comments
from gitmem.model.language.prompts import query_sentences
from gitmem.model.language.unicode import PART, normal_form
from gitmem.model.language.words import term_spans, terms_of
from gitmem.model.layout.layout import FORMATS
from gitmem.model.text import plain_frontmatter as plainfields
from gitmem.model.transcripts.compactions import gist
from gitmem.model.transcripts.scratchpads import summary_in
from tests.support.work import growth

Reader = Callable[[str], object]


def entries(text: str) -> None:
    """All that is asked of entries."""
    for each in parse(text):
        _ = each.importance, each.status, each.type, each.date, each.confirmed


def drawn(text: str, format: str) -> None:
    """A page of it, and one that has only room for half of it."""
    page, piece = ContextPage(format, annotate=True), Piece("facts", "document", text, path="a.md")
    page.text([piece])
    fit([piece], max(200, len(text) // 2), page.size)


READERS: dict[str, Reader] = {
    "entries": entries,
    "compaction": lambda text: summary_in(f"<summary>{text}</summary>"),
    "scratchpads": lambda text: summary_in(f"<analysis>{text}"),
    "gist": gist,
    "passages": passages,
    "comments": without_comments,
    "prompt": query_sentences,
    "search": partial(query_sentences, anything=True),
    "terms": terms_of,
    "marked": lambda text: list(term_spans(text, ["word", "a*"])),
    "text": lambda text: one_line(text_of(text.encode())),
    "frontmatter": plainfields.read_fields,
    "file": lambda text: file_entry("a.md", text),
    "slug": slug_of,
    "keys": lambda text: (key_of(text.encode()), key_of_file(text.encode())),
    "message": parse_message,
    "escapes": lambda text: (shown(text), shown_on_a_line(text)),
    **{f"page {each}": partial(drawn, format=each) for each in FORMATS},
}
UNITS = {
    "fields": "- **Name:** value\n",
    "spread fields": "- **Name:** value\n\n",
    "deep fields": "- **Name:** value\n  more\n\n",
    "plain fields": "Status: x\n",
    "headings": "### T\n",
    "other headings": "# T\n#### D\n",
    "newlines": "\n",
    "returns": "\r\n",
    "bare returns": "\r",
    "colons": ":AA\n",
    "blanks": " ",
    "tabs": "\t\n",
    "letters": "a",
    "words": "word ",
    "fences": "```\n",
    "tildes": "~~~\n",
    "items": "- x\n",
    "rules": "---\n",
    "brackets": "[",
    "ticks": "`",
    "less": "<",
    "tags": "<user ",
    "comments": "<!-- ",
    "ends": "-->",
    "stars": "**a",
    "stops": ". ",
    "closed": ".)",
    "equals": "=== ",
    "backslashes": "\\",
    "escapes": "\\u{",
    "hidden": "\u200b",
    "han": "漢",
    "marks": "\u0315\u0300",
    "jamo": "\u1100",
    "speakers": "[12:30] a: b\n",
    "yaml": "a: b\n",
    "nul": "\x00",
    "pairs": "<analysis>a</analysis>\n<summary>b</summary>\n",
    "drafts": "<analysis>\n<summary>\n",
    "ended": "</analysis>\n</summary>\n",
}
FRAMES = {"bare": "{}", "entry": "### E\n{}", "front": "---\n{}", "tail": "{}X"}


def text_with(unit: str, frame: str, size: int) -> str:
    """A text of SIZE characters made of one unit."""
    return FRAMES[frame].replace("{}", UNITS[unit] * (size // len(UNITS[unit])))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("unit", "frame"),
    [
        ("fields", "entry"),
        ("spread fields", "entry"),
        ("deep fields", "entry"),
        ("headings", "bare"),
        ("other headings", "bare"),
        ("newlines", "tail"),
        ("colons", "bare"),
        ("fences", "bare"),
        ("comments", "bare"),
        ("yaml", "front"),
        ("pairs", "bare"),
        ("drafts", "bare"),
        ("ended", "bare"),
    ],
)
def test_four_times_as_much_is_four_times_the_work(reader: str, unit: str, frame: str) -> None:
    def work(size: int) -> Callable[[], object]:
        text = text_with(unit, frame, size)
        return lambda: READERS[reader](text)

    assert growth(work, 1500) < 6


def test_an_entry_with_many_fields_is_changed_in_linear_time() -> None:
    def work(size: int) -> Callable[[], object]:
        fields = "".join(f"- **Name {number}:** value\n" for number in range(size))
        return lambda: put(f"### E\n{fields}", "E", {"Status": "done"}.items())

    assert growth(work, 50) < 6


class Counting(bytes):
    """Bytes that count how often they are searched."""

    searches = 0

    def rfind(self, *args: object) -> int:  # type: ignore[override]
        Counting.searches += 1
        return super().rfind(*args)  # type: ignore[arg-type]


def test_what_is_remembered_is_not_looked_through_for_each_text() -> None:
    def key(number: int) -> bytes:
        return sha1(b"%d" % number).digest()[:KEY].ljust(KEY, b"k")

    def record(number: int) -> bytes:
        return key(number) + bytes(PATH_KEY + OID) + number.to_bytes(4, "little")

    memory = RecordLog(PAST, lambda: Counting(b"".join(map(record, range(500)))))
    Counting.searches = 0
    memory.add(record(700))

    found = [memory.last(key(number)) for number in range(800)]

    assert found == [record(n) if n < 500 or n == 700 else None for n in range(800)]
    memory.add(record(799))
    assert memory.last(key(799)) == record(799)
    assert Counting.searches <= 2 * FEW


def test_marks_without_end_are_put_in_order_part_by_part() -> None:
    """The number of marks that Python orders together is what takes the time."""
    marks = "\u0315\u0300"
    longest = max(map(len, re.findall("\u0300+", normal_form("NFD", "a" + marks * 5000))))

    assert longest <= PART
    assert normal_form("NFC", "a\u0301 " * 5000) == "á " * 5000
    assert normal_form("NFC", "가나다 e\u0301" * 900) == normalize("NFC", "가나다 e\u0301" * 900)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("reader", READERS)
def test_no_text_takes_the_square_of_its_length(reader: str, unit: str) -> None:
    """By the clock of the process, since it is functions in C that are meant."""
    for frame in FRAMES:
        small, large = (
            min(_seconds(READERS[reader], text_with(unit, frame, size)) for _ in range(2))
            for size in (60_000, 240_000)
        )
        assert large < max(0.2, 11 * small), (reader, unit, frame, small, large)


def _seconds(reader: Reader, text: str) -> float:
    parse.__globals__["_parsed"].cache_clear()
    begun = time.process_time()
    reader(text)
    return time.process_time() - begun
