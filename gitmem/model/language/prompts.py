"""What a prompt asks for: its last sentences, each by the words that tell something.

A prompt is more than a question: it greets, quotes a log of a chat, wants something else first. So
each sentence is looked for by itself, and whatever fits one of them well counts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gitmem.model.language.unicode import FENCED, sentences
from gitmem.model.language.words import content_words, is_about_something, query_terms

LAST = 12
"""So many sentences at the end of a prompt count."""
LONGEST = 400
"""Characters after which a sentence without an end is parted."""
TAIL = 20_000
"""Characters at the end of a prompt that are looked at."""
QUESTION_MARKS = ("?", "\uff1f", "\u061f")
QUESTION = 1.3
"""How much more a question counts than what is merely said."""

_TAG = r"</?[A-Za-z][\w:-]*(?:\s[^<>]*)?/?>"
_BRACKETS = r"\s*(?:\[[^\[\]\n]{1,80}\]\s*)+"
_TIME = r"\d:\d|\d{4}"
# A name has a few words; what asks or lists something is none.
_SENDER = r"\s*[^\s:?!;,]{1,40}(?: [^\s:?!;,]{1,40}){0,3}:\s+"
_ROLE = r"(?i)\s*(?:user|human|assistant|ai|system)\s*:\s+"


class Sentence(NamedTuple):
    """One sentence, as it is looked for."""

    terms: tuple[str, ...]
    weight: float = 1.0


def query_sentences(prompt: str, *, anything: bool = False) -> tuple[Sentence, ...]:
    """The sentences of PROMPT that count, in order; none where it tells nothing.

    ANYTHING: it is taken as it is, and common words count, too. Who looks for `who` means it.
    """
    text = prompt[-TAIL:] if anything else prompt_text(prompt)
    found = [part for each in sentences(text) for part in _parted(each)][-LAST:]
    counts = content_words if anything else is_about_something
    made = [_sentence(each) for each in found if counts(each)]
    if anything and not made:
        made = [_sentence(each) for each in found]
    return tuple(each for each in made if each.terms)


def prompt_text(prompt: str) -> str:
    """The end of PROMPT without what a chat's log puts around it: times, names, tags, code."""
    # Code is taken out first: the end of a long block must not be taken for a beginning.
    plain = _blanked(_TAG, _blanked(FENCED, prompt, "```", "~~~")[-TAIL:], "<")
    text = plain if any(map(str.isalnum, plain)) else prompt[-TAIL:]
    return "\n".join(map(_without_prefix, text.splitlines()))


def _blanked(pattern: str, text: str, *marks: str) -> str:
    """TEXT without what fits PATTERN, which has one of MARKS in it."""
    return re.sub(pattern, "\n", text) if any(mark in text for mark in marks) else text


def _without_prefix(line: str) -> str:
    """LINE without `[time] sender:`, or the role of who speaks."""
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
