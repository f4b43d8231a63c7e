"""Finder of seed phrases of wallets: 12 to 24 words in a row from the list of BIP-39.

Ordinary text has no such row, since the list lacks `the`, `and`, `for` and every word of one or two
letters. The lengths of words alone rule out nearly every text, so few texts need the list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise

Span = tuple[int, int]

# How many words a phrase may have by BIP-39, most first.
_LEGAL = (24, 21, 18, 15, 12)
_FEWEST = min(_LEGAL)
_SHORTEST_TEXT = _FEWEST * 4 - 1
_LETTERS = bytes(sign if sign in range(97, 123) else 32 for sign in range(256))
_FITS = bytes(length in range(3, 9) for length in range(256))
_LONGEST = 255
# The most common words outside the list: they end a row before the list is loaded.
COMMON = frozenset(
    b"the and for with from are not was were has but which your its does been may might could would"
    b" our his her them than these those some each https com github org html set new see using user"
    b" data value default".split()
)
# Numbers of a list, commas, quotes, bullets or the side of a table fit between two words; white
# space beside them may be the margin of a nested list.
_WIDEST_GAP, _WIDEST_MARGIN = 12, 40
# The rule of a table's head fits there, too.
_TABLE = r"[\s|:.0-9-]{,200}"
# Names for such a phrase: the words after one are a phrase even with a wrong checksum, since one
# mistyped word still reveals the others.
_NAMES = (
    r"(?:seed|recovery|secret|backup|mnemonic)[ _-](?:recovery[ _-])?(?:phrase|words?\b)|mnemonic"
    r"|bip-?39|frase|phrase (?:secr|de r)|助记词|助記詞|フレーズ|ニーモニック"
)
# Words near a phrase and near much else: here the checksum decides.
_HINTS = (
    r"seed|phrase|recover|wallet|backup|ledger|trezor|metamask|phantom|electrum|exodus|crypto"
    r"|\b(?:12|24|twelve|twenty-four) words"
)
_BEFORE, _AFTER = 160, 80
# From here on a checksum has six bits or more.
_MANY = 18
# In a list by the alphabet every step goes up; in 11 steps of a random row nine or more do so in
# one row of 990.
_MOST_RISING = 0.75
# A phrase of 12 words has a word twice in 3 of 100 cases; rows in code repeat most of theirs.
_FEWEST_DIFFERENT = 0.75
# Less where a name says what it is, since `Word 1: ...` may stand between the words.
_FEWEST_DIFFERENT_NAMED = 0.34


def phrases_in(low: str) -> Iterator[Span]:
    """Yield the spans of seed phrases in LOW, a text in lower case."""
    if len(low) < _SHORTEST_TEXT:
        return
    letters = low.encode("ascii", "replace").translate(_LETTERS)
    letters = letters.replace(b" and ", b"     ")  # before the last word of a list
    words = letters.split()
    rows = [row for begin, end in _candidates(words) for row in _listed(words, begin, end)]
    if not rows:
        return
    spans = [found.span() for found in re.finditer(b"[a-z]+", letters)]
    for begin, positions in rows:
        for first, last in _close_together(low, spans[begin : begin + len(positions)]):
            row = spans[begin + first : begin + last]
            yield from _phrases(low, row, positions[first:last])


def _candidates(words: list[bytes]) -> Iterator[Span]:
    """The rows of WORDS that have the lengths of words in the list."""
    try:
        lengths = bytes(map(len, words))
    except ValueError:
        lengths = bytes(min(len(word), _LONGEST) for word in words)
    fits = lengths.translate(_FITS)
    if b"\1" * _FEWEST in fits:
        yield from (row.span() for row in re.finditer(b"\1{%d,}" % _FEWEST, fits))


def _listed(words: list[bytes], begin: int, end: int) -> Iterator[tuple[int, list[int]]]:
    """The rows of listed words between BEGIN and END: where each begins, and its list positions.

    Any twelve in a row include a twelfth word, so the others are looked up only if that is listed.
    """
    last = begin
    for pivot in range(begin + _FEWEST - 1, end, _FEWEST):
        near = max(begin, pivot - _FEWEST + 1), min(end, pivot + _FEWEST)
        first, after = _around(pivot, *near, lambda at: words[at] not in COMMON)
        if pivot < last or after - first < _FEWEST:
            continue
        first, last = _around(pivot, begin, end, lambda at: _position(words[at]) >= 0)
        if last - first >= _FEWEST:
            yield first, list(map(_position, words[first:last]))


def _position(word: bytes) -> int:
    """The position of WORD in the list; -1 if it is not listed."""
    from gitmem.model.secrets.seed_words import key_of, positions

    return positions().get(key_of(word), -1)


def _around(pivot: int, begin: int, end: int, fits: Callable[[int], bool]) -> Span:
    """How far the words around PIVOT fit, between BEGIN and END."""
    first, last = pivot, pivot
    while last < end and fits(last):
        last += 1
    while first > begin and last > pivot and fits(first - 1):
        first -= 1
    return first, last


def _close_together(low: str, spans: Sequence[Span]) -> Iterator[Span]:
    """The parts of a row without a wide gap."""
    gaps = [(one[1], two[0]) for one, two in pairwise(spans)]
    cuts = [at for at, (end, begin) in enumerate(gaps, 1) if _is_wide(low[end:begin])]
    yield from _parts(spans, cuts)


def _is_wide(gap: str) -> bool:
    if len(gap) <= _WIDEST_GAP:
        return False
    is_margin = len(gap) <= _WIDEST_MARGIN and len("".join(gap.split())) <= _WIDEST_GAP
    return not is_margin and not ("|" in gap and re.fullmatch(_TABLE, gap))


def _parted_alike(low: str, spans: Sequence[Span]) -> Iterator[Span]:
    """The parts of a row whose words have the same separator, numbers aside.

    A phrase is written in one way. Another separator parts it from listed words around it:
    `seed phrase: one two three`, `one, two, three; keep this`.
    """
    gaps = [re.sub("[0-9]+", "1", low[one[1] : two[0]]) for one, two in pairwise(spans)]
    cuts, at = [], 0
    for _, same in groupby(gaps):
        size = sum(1 for _ in same)
        if size + 1 >= _FEWEST:
            cuts += [at, at + size + 1]
        at += size
    yield from _parts(spans, cuts)


def _parts(spans: Sequence[Span], cuts: Sequence[int]) -> Iterator[Span]:
    for first, last in pairwise([0, *cuts, len(spans)]):
        if last - first >= _FEWEST:
            yield first, last


def _phrases(low: str, spans: Sequence[Span], positions: list[int]) -> Iterator[Span]:
    """The phrases in a row of listed words."""
    parts = [
        found
        for first, last in _parted_alike(low, spans)
        for found in _phrase(low, spans[first:last], positions[first:last])
    ]
    yield from parts or _phrase(low, spans, positions)


def _phrase(low: str, spans: Sequence[Span], positions: list[int]) -> Iterator[Span]:
    named = _after_name(low, spans)
    if named is not None and _differ(positions[named:], _FEWEST_DIFFERENT_NAMED):
        yield spans[named][0], spans[-1][1]
        return
    # The text may go on with listed words.
    for size in (each for each in _LEGAL if each <= len(positions)):
        for first in dict.fromkeys((0, len(positions) - size)):
            last = first + size
            if not _is_phrase(low, spans[first:last], positions[first:last]):
                continue
            begin, end = spans[first][0], spans[last - 1][1]
            if _is_hinted(low, begin, end) or _stands_out(low, spans, positions, first, last):
                yield begin, end
                return


def _after_name(low: str, spans: Sequence[Span]) -> int | None:
    """The first word after a name for a phrase, whose own words may be in the row."""
    begin = max(0, spans[0][0] - _BEFORE)
    found = re.search(_NAMES, low[begin : spans[-_FEWEST][0]])
    if found is None:
        return None
    return next(at for at, span in enumerate(spans) if span[0] >= begin + found.end())


def _is_hinted(low: str, begin: int, end: int) -> bool:
    before, after = low[max(0, begin - _BEFORE) : begin], low[end : end + _AFTER]
    return any(re.search(f"{_NAMES}|{_HINTS}", each) for each in (before, after))


def _differ(positions: list[int], fewest: float) -> bool:
    """Whether a row is more than `test test ... junk`, a common example."""
    return len(set(positions)) >= fewest * len(positions)


def _is_phrase(low: str, spans: Sequence[Span], positions: list[int]) -> bool:
    if not _differ(positions, _FEWEST_DIFFERENT):
        return False
    return _has_checksum(positions) or _is_electrum(
        " ".join(low[begin:end] for begin, end in spans)
    )


def _stands_out(
    low: str, spans: Sequence[Span], positions: list[int], first: int, last: int
) -> bool:
    """Whether the words from FIRST to LAST, with a valid checksum, are a phrase without a name.

    One in 16 rows of 12 words has a valid checksum by chance. But no other text has such a row that
    is a list from end to end: none was found in 36 MB of Markdown, tags and vocabulary included.
    """
    steps = list(pairwise(positions[first:last]))
    if sum(one < two for one, two in steps) > _MOST_RISING * len(steps):
        return False
    if last - first >= _MANY:
        return True
    inside = _gaps(low, spans[first:last])
    beside = _gaps(low, spans[max(0, first - 1) : first + 1]) | _gaps(
        low, spans[last - 1 : last + 1]
    )
    is_list = len(inside) == 1 or all(re.search("[0-9|]", gap) for gap in inside)
    return is_list and not inside & beside


def _gaps(low: str, spans: Sequence[Span]) -> set[str]:
    """The separators between words, numbers and line breaks aside."""
    gaps = {re.sub("[0-9]+", "1", low[one[1] : two[0]]) for one, two in pairwise(spans)}
    # A blank line is not a line break: it parts a phrase from the heading above it.
    broken = {re.sub(r"[ \t]*\r?\n[ \t>]*|[ \t]+", " ", gap) for gap in gaps}
    return {re.sub(",? and ", ", ", gap) for gap in broken}


def _has_checksum(positions: list[int]) -> bool:
    """Whether the last bits of a phrase are the first ones of the SHA-256 of the others."""
    from hashlib import sha256

    check = len(positions) // 3
    number = 0
    for position in positions:
        number = number << 11 | position
    entropy = (number >> check).to_bytes(check * 4, "big")
    return sha256(entropy).digest()[0] >> (8 - check) == number & ((1 << check) - 1)


def _is_electrum(phrase: str) -> bool:
    """Whether PHRASE names its kind in its own hash, as the seeds of Electrum do."""
    import hmac

    kind = hmac.digest(b"Seed version", phrase.encode(), "sha512").hex()
    return kind.startswith(("01", "100", "101", "102"))
