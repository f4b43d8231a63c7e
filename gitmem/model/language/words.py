"""Search terms of a text, in any language.

The term of a word is its English stem, else the word in lower case without accents. Scripts without
blanks between words give overlapping pairs of characters, so that any part of a sentence can be
found. A term has no blank and no ASCII punctuation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from gitmem.model.language.common_words import ASKING, HIRAGANA, IDLE_TERMS, PARTICLES, STOP_WORDS
from gitmem.model.language.stems import IRREGULAR, stem
from gitmem.model.language.unicode import normal_form

_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Thai, Lao, Tibetan, Burmese, Khmer, Japanese, Chinese; Korean, whose particles stick to words."""
_SIGNS = "\u231a-\u23fa\u2600-\u27bf\u2b05-\u2b55\U0001f000-\U0001faff"
"""Symbols, each of which is a word."""
_JAMO = "[\u1100-\u11ff]"
"""The parts of Korean characters: macOS writes names with them."""
# Letters and digits; the marks of Indian scripts, and accents, belong to the letters before them.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670"
_LETTERS = rf"[^\W_{_UNSPACED}]|[{_MARKS}\u0900-\u0963\u0966-\u0dff]"
# Strings: compiling all scripts takes milliseconds that plain text never needs.
_WORD = rf"[{_UNSPACED}]+|[{_SIGNS}]|(?:{_LETTERS})+"
_ASCII_WORD = r"[A-Za-z0-9]+"
_PLAIN = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_UNSPACED_RUN = rf"[{_UNSPACED}]+"
_ACCENTS = f"[{_MARKS}\u0640]+"
LONGEST = 64
"""Characters of a word that count: a longer one is a digest or encoded data."""
HELD = 100_000


class _TermCache(dict[str, str]):
    """The terms of words, each computed once."""

    def __missing__(self, word: str) -> str:
        if len(self) >= HELD:
            self.clear()
        found = self[word] = " ".join(_terms(word))
        return found


_cached_terms = _TermCache()


def terms_of(text: str) -> str:
    """Return the terms of TEXT in order, separated by blanks."""
    found = map(_cached_terms.__getitem__, words_of(text))
    # Only a word of accents alone has no term, and that is never ASCII.
    return " ".join(found if text.isascii() else filter(None, found))


def words_of(text: str) -> list[str]:
    """Return the words of TEXT; an ASCII text in lower case."""
    if text.isascii():
        return text.translate(_PLAIN).split()
    if re.search(_JAMO, text):
        text = normal_form("NFC", text)
    return re.findall(_WORD, text)


def content_words(text: str) -> list[str]:
    """Return the words of TEXT that are not common words."""
    return [each for each in words_of(text) if _cached_terms[each] and _is_content_word(each)]


def is_about_something(text: str) -> bool:
    """Whether TEXT has a topic: a word beyond those of replies and commands.

    `nice work` and `try the next one` are about the last answer, and retrieve nothing.
    """
    return any(not IDLE_TERMS.issuperset(_query_terms_of(each)) for each in content_words(text))


def query_terms(text: str) -> list[str]:
    """Return the terms to search for TEXT, each once; common words only if it has no other.

    A single character of a script without blanks gets a `*`: it matches every term that begins so.
    """
    words = content_words(text) or words_of(text)
    found = dict.fromkeys(term for word in words for term in _query_terms_of(word))
    return list(filter(_is_content, found)) or list(found)


def _is_content_word(word: str) -> bool:
    if is_unspaced(word):
        return any(map(_is_content, _query_terms_of(word)))
    low = word.lower()
    return low not in STOP_WORDS and IRREGULAR.get(low, "") not in STOP_WORDS


def _is_content(term: str) -> bool:
    """False for function characters of a script without blanks."""
    if term.isascii():
        return True
    return term not in ASKING and PARTICLES.isdisjoint(term) and not HIRAGANA.issuperset(term)


def term_spans(text: str, terms: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of the words of TEXT that match one of TERMS."""
    plain = {each for each in terms if not each.endswith("*")}
    begin = tuple(each[:-1] for each in terms if each.endswith("*"))
    pattern = _ASCII_WORD if text.isascii() else _WORD
    for found in re.finditer(pattern, text):
        if is_unspaced(found[0]):
            yield from _marked_run(found[0], found.start(), plain, begin)
        elif _are_searched(_cached_terms[found[0]].split(), plain, begin):
            yield found.span()


def _are_searched(terms: Sequence[str], plain: set[str], begin: tuple[str, ...]) -> bool:
    met = not plain.isdisjoint(terms)
    return met or (bool(begin) and any(each.startswith(begin) for each in terms))


def _terms(word: str) -> list[str]:
    """The terms of one word of a text."""
    if word.isascii():
        return [stem(word.lower()[:LONGEST])]
    plain = folded(word)
    if is_unspaced(plain):
        return _pairs(plain)
    # Ligatures, fractions and full-width letters split into several words.
    parts = re.findall(_WORD, plain)
    if parts == [plain]:
        return [stem(plain[:LONGEST])]
    return [each for part in parts for each in _terms(part)]


def is_unspaced(word: str) -> bool:
    """Whether WORD is in a script without blanks."""
    return not word.isascii() and re.fullmatch(_UNSPACED_RUN, word) is not None


def folded(word: str) -> str:
    """Return WORD in lower case, without accents, in one Unicode form."""
    bare = re.sub(_ACCENTS, "", normal_form("NFKD", normal_form("NFKC", word).casefold()))
    return normal_form("NFC", bare)


def _pairs(run: str) -> list[str]:
    """Every pair of neighbours, and the last character, so that each begins a term."""
    return [*(run[at : at + 2] for at in range(len(run) - 1)), run[-1]]


def _query_terms_of(word: str) -> list[str]:
    terms = _cached_terms[word].split()
    if not is_unspaced(word) or not terms:
        return terms
    return terms[:-1] if len(terms) > 1 else [f"{terms[0]}*"]


def _marked_run(
    run: str, at: int, plain: set[str], begin: tuple[str, ...]
) -> Iterator[tuple[int, int]]:
    """The spans in a run without blanks that match; overlapping ones are joined."""
    terms = _cached_terms[run].split()
    if len(terms) != len(run):  # normalised to another length: only the whole run can be marked
        if _are_searched(terms, plain, begin):
            yield at, at + len(run)
        return
    start = end = -1
    for offset, term in enumerate(terms):
        if term in plain:
            reach = offset + len(term)
        elif begin and term.startswith(begin):
            reach = offset + 1
        else:
            continue
        if offset > end and start >= 0:
            yield at + start, at + end
            start = -1
        start = offset if start < 0 else start
        end = reach
    if start >= 0:
        yield at + start, at + end
