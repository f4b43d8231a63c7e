"""A plan: what a mind decided about entries, one decision on each line of NDJSON.

    {"base": "51cc3e5..."}
    {"action": "confirm", "address": "reference/decisions.md#use-esm-only"}
    {"action": "merge-entries", "addresses": ["...", "..."], "into": "ideas", "title": "...",
     "text": "..."}

Every line is judged before one of them counts, so that whoever wrote the plan learns of all that is
wrong with it at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from gitmem.errors import BadInput

EXAMPLE = '{"action": "archive", "address": "reference/ideas.md#try-it", "reason": "tried"}'


class Form(NamedTuple):
    """The keys of one action: those it needs, those it may have, and one of which it needs any."""

    needs: tuple[str, ...]
    may: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()


ACTIONS: Mapping[str, Form] = {
    "confirm": Form(("address",)),
    "archive": Form(("address",)),
    "update": Form(("address",), any_of=("set", "text")),
    "move": Form(("address", "to"), ("set",)),
    "merge-entries": Form(("addresses", "into", "title", "text"), ("set",)),
    "keep": Form(("address",)),
}
"""What can be decided, and in which words; each may have a `reason`."""
FEWEST = 2
"""How many entries a merge needs."""


class Decision(NamedTuple):
    """What shall become of an entry, or of several that become one."""

    action: str
    addresses: tuple[str, ...]
    line: int = 0
    target: str = ""
    """Where it goes: `to` of a move, `into` of a merge."""
    title: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    text: str | None = None
    reason: str = ""


class Decisions(NamedTuple):
    """A whole plan."""

    base: str
    """The commit that was looked at; empty where the plan does not say."""
    decisions: tuple[Decision, ...]


class Problem(NamedTuple):
    """What is wrong with a line."""

    line: int
    message: str
    code: str = BadInput.code


class _Wrong(Exception):
    """What is wrong with the line that is read."""


def read_plan(data: bytes) -> Decisions:
    """The decisions in DATA; BadInput names every line that cannot be understood."""
    base, decisions, problems = "", [], []
    # Not splitlines(), which also breaks at characters that JSON allows inside a string.
    lines = [(x, line) for x, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    for place, (number, line) in enumerate(lines):
        try:
            found = _parsed(line)
            if place == 0 and found.keys() == {"base"}:
                base = _text(found, "base")
            else:
                decisions.append(_decision(found, number))
        except _Wrong as wrong:
            problems.append(Problem(number, str(wrong)))
    if problems:
        raise BadInput(
            told(problems), hint=f"a line looks like {EXAMPLE}", problems=as_facts(problems)
        )
    if not decisions:
        raise BadInput("the plan decides nothing", hint=f"a line looks like {EXAMPLE}")
    return Decisions(base, tuple(decisions))


def told(problems: list[Problem]) -> str:
    """PROBLEMS as one message."""
    return "; ".join(f"line {each.line}: {each.message}" for each in problems)


def as_facts(problems: list[Problem]) -> list[dict[str, object]]:
    """PROBLEMS for a program."""
    return [each._asdict() for each in problems]


def _parsed(line: bytes) -> dict[str, object]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:  # also for bytes that are no UTF-8
        raise _Wrong(f"this is no JSON ({error})") from error
    if not isinstance(found, dict):
        raise _Wrong("this is no JSON object")
    return found


def _decision(found: Mapping[str, object], number: int) -> Decision:
    action = found.get("action")
    if action not in ACTIONS:
        raise _Wrong(f"the action {action!r} is none of {', '.join(ACTIONS)}")
    _check_keys(str(action), found)
    read: Callable[[str], str] = lambda key: _text(found, key) if key in found else ""  # noqa: E731
    return Decision(
        str(action),
        _addresses(found),
        number,
        read("to") or read("into"),
        read("title"),
        _fields(found.get("set", {})),
        _text(found, "text") if "text" in found else None,
        read("reason"),
    )


def _check_keys(action: str, found: Mapping[str, object]) -> None:
    form = ACTIONS[action]
    missing = [key for key in form.needs if key not in found]
    if missing:
        raise _Wrong(f"{action} needs {missing[0]!r}")
    if form.any_of and not any(key in found for key in form.any_of):
        raise _Wrong(f"{action} needs {' or '.join(map(repr, form.any_of))}")
    known = ("action", "reason", *form.needs, *form.may, *form.any_of)
    unknown = [key for key in found if key not in known]
    if unknown:
        raise _Wrong(f"{action} has no {unknown[0]!r}; there are {', '.join(known)}")


def _addresses(found: Mapping[str, object]) -> tuple[str, ...]:
    if "address" in found:
        return (_text(found, "address"),)
    given = found["addresses"]
    if not isinstance(given, list) or not all(isinstance(each, str) and each for each in given):
        raise _Wrong("'addresses' must be a list of texts")
    if len(given) < FEWEST:
        raise _Wrong("one entry alone cannot be merged: 'update' changes it")
    return tuple(given)


def _text(found: Mapping[str, object], key: str, *, empty: bool = False) -> str:
    value = found[key]
    if not isinstance(value, str):
        raise _Wrong(f"{key!r} must be a text")
    if not (empty or value.strip()):
        raise _Wrong(f"{key!r} is empty")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _Wrong(f"{key!r} is not valid Unicode at character {error.start}") from error
    return value


def _fields(given: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
        raise _Wrong("'set' must be an object of texts")
    return tuple((name, _text(given, name, empty=True)) for name in given)
