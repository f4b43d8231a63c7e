"""Views of a text without escapes, Markdown marks or line breaks that split a credential.

A `View` is a text made of pieces of another one, with a mapping back, so that a match names the
line, and a redaction hides the characters, of the original text.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import accumulate, pairwise

# A browser undoes one level of escapes, a log of JSON in JSON has two.
_MOST_LAYERS = 3
_BLANK_LINE = "\n\n"

# Control and format characters that a screen does not show, and accents that stand alone: a text
# in Unicode's decomposed form, as macOS writes names, has `n` and a tilde for one letter.
_INVISIBLE = (
    "\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Full-width, bold, circled and raised letters.
_STYLED = "\u1d2c-\u1d6a\u2070-\u209c\u2100-\u214f\u2460-\u24ea\uff01-\uff5e\U0001d400-\U0001d7ff"
# Common in every Chinese sentence: they count within a word only, or all would be read twice.
_CHINESE_SIGNS = "\uff01\uff02\uff07-\uff09\uff0c\uff1a\uff1b\uff1f\uff3b\uff3d\uff5b-\uff5d"
_DASHES = "\u2010-\u2013\u2212\ufe58\ufe63"
_SPACES = "\xa0\u1680\u2000-\u200a\u202f\u205f"

_ASCII_LEADS = (
    *("\\", "&", "%", "</", "<!", "<wbr", "\x0b", "\x0c"),
    *map(chr, (*range(9), *range(14, 32), 127)),
)
# In nearly every text, so more must follow: `=5F` in quoted-printable mail; a lone carriage return
# moves the cursor. One pattern each: a fixed first character makes it several times as fast.
_MORE_LEADS = (("=", r"=[2-7][0-9A-Fa-f]"), ("\r", r"\r(?!\n)"))
# Compiled on demand: together they take longer than searching an ordinary text.
_ASCII_LEAD = r"[\\&%<\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
_LEAD = rf"[\\&%<\x0b\x0c{_INVISIBLE}{_STYLED}{_DASHES}{_SPACES}]"
_CSI = r"\[[0-?]{0,40}[ -/]{0,4}[@-~]"
# Within a word: a full stop, for example, counts only if the word goes on.
_AFTER, _BEFORE = r"(?<=[\w.~:/+=-])", r"(?=[\w~-]|[.:/+=][\w-])"
_TAG = r"/?(?:b|i|u|s|a|em|strong|span|code|tt|kbd|mark|font|small|sub|sup|ins|del|wbr)"
_ESCAPE = (
    # Colours and links of a terminal, also where the escape character is itself escaped.
    rf"(?:\x1b|\\(?:e|033|x1[bB]|u001[bB])){_CSI}|\x9b{_CSI[2:]}"
    r"|\x1b\][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)|\x1b[ -/]{0,2}[0-Z\\^_]"
    # A tag within a word. One that begins a line or a cell separates words and stays.
    rf"|{_AFTER}<(?:{_TAG}(?:\s[^<>\n]{{0,120}})?/?|!--[^<>\n]{{0,120}}--)>{_BEFORE}"
    r"|\\u\{(?P<braced>[0-9A-Fa-f]{1,6})\}|\\(?:u|U0000)(?P<four>[0-9A-Fa-f]{4})"
    r"|\\x(?P<two>[0-9A-Fa-f]{2})|\\(?P<octal>[01][0-7]{2})|\\(?P<letter>[nrt])"
    r"|\\(?P<sign>[!-/:-@\[-`{-~])|%(?P<percent>[2-7][0-9A-Fa-f]|0[aAdD9])"
    r"|=(?P<mail>[2-7][0-9A-Fa-f])|\r(?!\n)|[\x0b\x0c]"
    r"|&\#(?P<decimal>[0-9]{1,7});?|&\#[xX](?P<hex>[0-9A-Fa-f]{1,6});?|&(?P<name>[A-Za-z]{2,20});"
)
_BASES = {"octal": 8, "decimal": 10}
_LETTERS = {"n": "\n", "r": "\n", "t": "\t"}
_NAMES = {
    **dict.fromkeys(("shy", "zwj", "zwnj", "lrm", "rlm", "NoBreak", "ZeroWidthSpace"), ""),
    **dict.fromkeys(("nbsp", "ensp", "emsp", "thinsp", "Tab"), " "),
    **dict.fromkeys(("hyphen", "dash", "ndash", "minus"), "-"),
    **dict.fromkeys(("lowbar", "UnderBar"), "_"),
    **dict.fromkeys(("amp", "AMP"), "&"),
    **dict.fromkeys(("lt", "LT"), "<"),
    **dict.fromkeys(("gt", "GT"), ">"),
    **dict.fromkeys(("quot", "QUOT"), '"'),
    **dict.fromkeys(("ast", "midast"), "*"),
    **dict.fromkeys(("grave", "DiacriticalGrave"), "`"),
    **dict.fromkeys(("verbar", "vert", "VerticalLine"), "|"),
    **dict.fromkeys(("lsqb", "lbrack"), "["),
    **dict.fromkeys(("rsqb", "rbrack"), "]"),
    **dict.fromkeys(("lcub", "lbrace"), "{"),
    **dict.fromkeys(("rcub", "rbrace"), "}"),
    "NewLine": "\n",
    "excl": "!",
    "num": "#",
    "dollar": "$",
    "percnt": "%",
    "apos": "'",
    "lpar": "(",
    "rpar": ")",
    "plus": "+",
    "comma": ",",
    "period": ".",
    "sol": "/",
    "colon": ":",
    "semi": ";",
    "equals": "=",
    "quest": "?",
    "commat": "@",
    "bsol": "\\",
    "Hat": "^",
}
_HARD_TO_SEE = f"(?P<unseen>[{_INVISIBLE}])|(?P<dash>[{_DASHES}])|(?P<space>[{_SPACES}])"
_INSTEAD = {"unseen": "", "dash": "-", "space": " "}
# Bold, struck out or code in the middle of a word. Underscores within a word mark nothing.
_NOT_IN_WORD = rf"(?<![\uff10-\uff5a])[{_CHINESE_SIGNS}]"
# Not in the middle of a run: a line of asterisks would be searched once for each.
_MARKS = rf"[*`~](?<![*`~].)[*`~]{{0,2}}{_BEFORE}"
_MARK = rf"{_AFTER}(?:\*{{1,3}}|`{{1,2}}|~~){_BEFORE}"

# Longest first: the mark of UTF-32 begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)

Change = tuple[int, int, str]
"""Start, end and replacement of a change to a text."""


class View:
    """A text made of pieces of another; piece i begins at starts[i] here and offsets[i] there.

    A changed piece has its width there; an unchanged one has 0.
    """

    __slots__ = ("offsets", "starts", "text", "widths")

    def __init__(
        self, text: str, starts: list[int], offsets: list[int], widths: list[int] | None = None
    ) -> None:
        self.text, self.starts, self.offsets = text, starts, offsets
        self.widths = widths or [0] * len(starts)

    def locate(self, start: int, end: int) -> tuple[int, int, bool]:
        """Return the span in the other text, and whether it covers more than one piece."""
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, end - 1) - 1
        there = self.offsets[first] + (0 if self.widths[first] else start - self.starts[first])
        width = self.widths[last] or end - self.starts[last]
        return there, self.offsets[last] + width, first != last


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def plain_views(text: str) -> Iterator[list[View]]:
    """Yield views of TEXT without escapes, then without escapes of escapes, and so on.

    Each comes as its list of steps: the last one is to be searched, the others lead back.
    """
    steps: list[View] = []
    for _ in range(_MOST_LAYERS):
        last = steps[-1].text if steps else text
        changes = list(_changes(last))
        if not changes:
            return
        # A rule matches within a paragraph, or in an armour whose header a blank line ends.
        steps = [*steps, _rewritten(last, _windows(last, changes, _BLANK_LINE, 2), changes)]
        yield steps


def located(steps: Iterable[View], start: int, end: int) -> tuple[int, int]:
    """Return the span in the original text for START to END in the last of STEPS."""
    for view in reversed([*steps]):
        start, end, _ = view.locate(start, end)
    return start, end


def unmarked(text: str) -> View | None:
    """Return a view of the lines with Markdown marks inside a word, without them; else None."""
    # Search for the mark first: a search for its look-behind goes letter by letter.
    if not any(sign in text for sign in "*`~"):
        return None
    marks = (_compiled(_MARK).match(text, each.start()) for each in re.finditer(_MARKS, text))
    changes = [(*mark.span(), "") for mark in marks if mark]
    return _rewritten(text, _windows(text, changes, "\n", 1), changes) if changes else None


def texts_of(data: bytes) -> Iterator[str]:
    """Yield DATA as UTF-8 and, if it has zeros or a byte order mark, as UTF-16 and UTF-32.

    All of them, because a shell may append UTF-16 to a file of UTF-8; a wrong encoding gives
    characters that no rule matches.
    """
    yield data.decode("utf-8", "replace")
    if b"\0" in data or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
            yield data.decode(encoding, "replace")


def likely_text(data: bytes) -> str:
    """Return DATA as text in its most likely encoding, for display."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    return max(texts_of(data), key=_plainness)


def decoded_text(data: bytes) -> tuple[str, str, bytes]:
    """Return DATA as text, with its encoding and byte order mark, to be encoded again.

    UTF-8 if no other encoding gives the same bytes back.
    """
    marked = [(encoding, mark) for mark, encoding in _BYTE_ORDER_MARKS if data.startswith(mark)]
    wide = [("utf-16-le", b""), ("utf-16-be", b""), ("utf-32-le", b""), ("utf-32-be", b"")]
    found = []
    for encoding, mark in marked[:1] or (wide if b"\0" in data else []):
        try:
            found.append((data[len(mark) :].decode(encoding), encoding, mark))
        except UnicodeDecodeError:
            continue
    plain = (data.decode("utf-8", "surrogateescape"), "utf-8", b"")
    return max((plain, *found), key=lambda each: _plainness(each[0]))


def _plainness(text: str) -> int:
    """How much of TEXT is ASCII; a wrong byte order gives random Chinese."""
    return len(re.findall(r"[\t-~]", text)) - 2 * (text.count("\ufffd") + text.count("\0"))


def _changes(text: str) -> Iterator[Change]:
    """The changes that undo the escapes of TEXT, in order."""
    leads = _leads(text)
    if not leads:
        return
    at, escape = 0, _compiled(_ESCAPE)
    for start in leads:
        if start >= at:
            found = escape.match(text, start)
            new = _meaning(found) if found else _plain_char(text[start])
            if text[start] > "\uff00" and _compiled(_NOT_IN_WORD).match(text, start):
                continue
            end = found.end() if found else start + 1
            if new is not None and new != text[start:end]:
                yield start, end, new
                at = end


def _leads(text: str) -> list[int]:
    """The positions of possible escapes in TEXT, in order."""
    found: list[int] = []
    if not text.isascii() or any(lead in text for lead in _ASCII_LEADS):
        pattern = _ASCII_LEAD if text.isascii() else _LEAD
        found += (each.start() for each in re.finditer(pattern, text))
    more = [
        each.start()
        for sign, pattern in _MORE_LEADS
        if sign in text
        for each in re.finditer(pattern, text)
    ]
    return sorted((*found, *more)) if more else found


def _meaning(escape: re.Match[str]) -> str | None:
    """The text that an escape stands for; None for an unknown name."""
    kind, code = escape.lastgroup or "", escape[escape.lastgroup or 0]
    if kind == "sign":
        return code
    if kind == "letter":
        return _LETTERS[code]
    if kind == "name":
        return _NAMES.get(code)
    if not kind:
        return ""
    number = int(code, _BASES.get(kind, 16))
    return _plain_char(chr(number)) if number <= sys.maxunicode else None


def _plain_char(char: str) -> str | None:
    """CHAR as rules write it: plain letters, dashes and spaces."""
    found = _compiled(_HARD_TO_SEE).match(char)
    if found:
        return _INSTEAD[str(found.lastgroup)]
    if char.isascii():
        return char
    from unicodedata import normalize

    folded = normalize("NFKC", char)
    return folded if folded.isascii() else char


def _windows(text: str, changes: list[Change], gap: str, count: int) -> Iterator[tuple[int, int]]:
    """The parts of TEXT around CHANGES, from a GAP before to the COUNT-th after each.

    The rest is unchanged, so that one `&amp;` in a page costs little.
    """
    start = stop = 0
    for begin, end, _ in changes:
        if end <= stop:
            continue
        before = text.rfind(gap, stop, begin)
        if before >= 0:
            if stop:
                yield start, stop
            start = before
        stop = end
        for _ in range(count):
            found = text.find(gap, stop + (stop > end))
            stop = found if found >= 0 else len(text)
    yield start, stop


def _rewritten(text: str, windows: Iterable[tuple[int, int]], changes: list[Change]) -> View:
    """A view of the WINDOWS of TEXT with CHANGES applied, separated by blank lines."""
    pieces = list(_pieces(text, windows, changes))
    sizes = [len(part) for part, _, _ in pieces]
    starts = list(accumulate(sizes, initial=0))[:-1]
    offsets, widths = [offset for _, offset, _ in pieces], [width for _, _, width in pieces]
    return View("".join(part for part, _, _ in pieces), starts, offsets, widths)


def _pieces(
    text: str, windows: Iterable[tuple[int, int]], changes: list[Change]
) -> Iterator[tuple[str, int, int]]:
    """The pieces of a view with their offsets, and their widths if changed."""
    left = iter(changes)
    change = next(left, None)
    for start, stop in windows:
        at = start
        while change and change[1] <= stop:
            begin, end, new = change
            yield from ((text[at:begin], at, 0),) if begin > at else ()
            yield from ((new, begin, end - begin),) if new else ()
            at, change = end, next(left, None)
        yield text[at:stop], at, 0
        yield _BLANK_LINE, stop, 0


# No rule for a token matches anything shorter, and ordinary words rarely get there.
_SHORTEST_WORD = 12
_SHORTEST_JOINED = 20
_PAIR = 2
_MARGIN = " \t\r>\\"


class LongWords(View):
    """Words of a text, whose offsets are computed on demand, which is rare."""

    __slots__ = ("_source", "_words")

    def __init__(self, source: str, words: list[str]) -> None:
        super().__init__("\n".join(words), [], [])
        self._source, self._words = source, words

    def locate(self, start: int, end: int) -> tuple[int, int, bool]:
        if not self.starts:
            self._find_words()
        return super().locate(start, end)

    def _find_words(self) -> None:
        end = 0
        for word in self._words:
            self.offsets.append(self._source.find(word, end))
            end = self.offsets[-1] + len(word)
        sizes = (len(word) + 1 for word in self._words[:-1])
        self.starts = list(accumulate(sizes, initial=0))
        self.widths = [0] * len(self.starts)


def long_words(text: str) -> View:
    """Return the words of TEXT that are long enough for a token; prose has few."""
    return LongWords(text, [word for word in text.split() if len(word) >= _SHORTEST_WORD])


def joined(rows: list[list[tuple[int, str]]]) -> View:
    """Return a view with each of ROWS as one word."""
    starts, offsets, parts, size = [], [], [], 0
    for row in rows:
        for offset, word in row:
            starts.append(size)
            offsets.append(offset)
            size += len(word)
            parts.append(word)
        parts.append("\n")
        size += 1
    return View("".join(parts), starts, offsets)


def readings(row: list[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Yield ROW and the parts of it that may be one token without the words around it."""
    longest_trimmed = 64
    yield row
    if any(word.endswith("=") for _, word in row[:-1]):
        # A soft line break of quoted-printable mail.
        yield [*((at, word.removesuffix("=")) for at, word in row[:-1]), row[-1]]
    if len(row) > _PAIR:
        yield from (list(pair) for pair in pairwise(row))
    if _PAIR + 1 < len(row) <= longest_trimmed:
        yield from (row[1:], row[:-1], row[1:-1])


def rows_of(text: str) -> Iterator[list[tuple[int, str]]]:
    """Yield rows of words, with offsets, that only a line break and a margin separate."""
    row: list[tuple[int, str]] = []
    tail, before, at = "", "", 0  # the last word, the line it ends, and where this line begins
    for line in text.split("\n"):
        words = line.strip(_MARGIN).split(None, 1)
        joins = bool(words) and bool(tail) and len(tail) + len(words[0]) >= _SHORTEST_JOINED
        if joins:
            row = row or [(at - len(before) - 1 + before.rfind(tail), tail)]
            row.append((at + line.find(words[0]), words[0]))
        if row and (not joins or len(words) > 1):
            yield row
            row = []
        tail, before = words[-1].rsplit(None, 1)[-1] if words else "", line
        at += len(line) + 1
    if row:
        yield row
