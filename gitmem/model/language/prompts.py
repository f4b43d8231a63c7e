"""Queries from a prompt: the content words of its last sentences.

A prompt is more than a question: it greets, quotes a chat, asks for several things. So each
sentence is a query of its own, and a passage that matches one of them well counts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gitmem.model.language.unicode import FENCED, sentences
from gitmem.model.language.words import content_words, is_about_something, query_terms

LAST = 12
"""The number of sentences at the end of a prompt that count."""
LONGEST = 400
"""The longest sentence in characters; a longer one is split."""
TAIL = 20_000
"""Characters at the end of a prompt that are read."""
QUESTION_MARKS = ("?", "\uff1f", "\u061f")
QUESTION = 1.3
"""The weight of a question; another sentence has 1."""

_TAG = r"</?[A-Za-z][\w:-]*(?:\s[^<>]*)?/?>"
_BRACKETS = r"\s*(?:\[[^\[\]\n]{1,80}\]\s*)+"
_TIME = r"\d:\d|\d{4}"
# A name has a few words and no punctuation.
_SENDER = r"\s*[^\s:?!;,]{1,40}(?: [^\s:?!;,]{1,40}){0,3}:\s+"
_ROLE = r"(?i)\s*(?:user|human|assistant|ai|system)\s*:\s+"


class Sentence(NamedTuple):
    """The query of one sentence."""

    terms: tuple[str, ...]
    weight: float = 1.0


def query_sentences(prompt: str, *, anything: bool = False) -> tuple[Sentence, ...]:
    """Return the queries of PROMPT, in order; none if it has no topic.

    ANYTHING takes the text as it is, common words included: for a search typed by a person.
    """
    text = prompt[-TAIL:] if anything else prompt_text(prompt)
    found = [part for each in sentences(text) for part in _parted(each)][-LAST:]
    counts = content_words if anything else is_about_something
    made = [_sentence(each) for each in found if counts(each)]
    if anything and not made:
        made = [_sentence(each) for each in found]
    return tuple(each for each in made if each.terms)


def prompt_text(prompt: str) -> str:
    """Return the end of PROMPT without the times, names, tags and code of a chat log."""
    # Code is removed first: the fence that ends a long block must not count as a start.
    plain = _blanked(_TAG, _blanked(FENCED, prompt, "```", "~~~")[-TAIL:], "<")
    text = plain if any(map(str.isalnum, plain)) else prompt[-TAIL:]
    return "\n".join(map(_without_prefix, text.splitlines()))


def _blanked(pattern: str, text: str, *marks: str) -> str:
    """TEXT without matches of PATTERN, each of which contains one of MARKS."""
    return re.sub(pattern, "\n", text) if any(mark in text for mark in marks) else text


def _without_prefix(line: str) -> str:
    """LINE without `[time] sender:` or the role of the speaker."""
    brackets = re.match(_BRACKETS, line) if "[" in line else None
    if brackets and re.search(_TIME, brackets[0]):
        return _without(_SENDER, line[brackets.end() :])
    return _without(_ROLE, line) if ":" in line else line


def _without(prefix: str, line: str) -> str:
    found = re.match(prefix, line)
    return line[found.end() :] if found else line


def _parted(sentence: str) -> list[str]:
    if len(sentence) <= LONGEST:
        return [sentence]
    return re.findall(rf"\S.{{0,{LONGEST - 1}}}(?=\s|\Z)|\S{{{LONGEST}}}", sentence)


def _sentence(text: str) -> Sentence:
    is_question = text.rstrip("\"')] ").endswith(QUESTION_MARKS)
    return Sentence(tuple(query_terms(text)), QUESTION if is_question else 1.0)
