"""`gitmem show`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.declare import command as declare
from gitmem.cli.filechanges import file_lines
from gitmem.cli.invocation import Invocation, ago, at_time
from gitmem.cli.style import columns, short, text_lines, visible

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.memory.read.show import Shown


LONGER = 12
"""Digits of an id where fewer mean several commits."""
CANDIDATES = 10


@declare("show")
@click.argument("commit", required=False, default="HEAD")
def command(call: Invocation, commit: str) -> None:
    """Show one commit

    Who did it, when, why, and what it changed; the newest one where none is named.

    \b
    Examples:
      gitmem show
      gitmem show 51cc3e5
    """
    from gitmem.memory.read.show import show

    with call.group() as group:
        shown = show(group, commit)
        now = group.now()
    call.answer(shown, _lines(call, shown, now), data=True)


def _lines(call: Invocation, shown: Shown, now: datetime) -> Iterator[str]:
    style, entry = call.style, shown.entry
    yield f"{style.name(entry.commit)}  {style.bold(visible(entry.title or entry.subject))}"
    facts = {
        "what": entry.op or "by plain git",
        "who": entry.agent,
        "when": f"{at_time(entry.time, now)} ({ago(entry.time, now)})",
        "why": "",
        "session": entry.session,
        "source": entry.source,
        "turn": entry.turn,
        "subagent": entry.subagent,
        "closes": _closes(entry.closes),
        "covers": ", ".join(each[:10] for each in entry.covers),
        "undoes": ", ".join(each[:10] for each in entry.undoes),
        "broke": "; ".join(entry.violations),
    }
    for name, value in facts.items():
        # A reason is a text of its own; all else are names, on one line.
        lines = text_lines(entry.reason) if name == "why" else filter(None, [visible(value)])
        for number, line in enumerate(lines):
            yield f"  {'' if number else name:<8} {line}"
    yield from file_lines(call.style, shown.files, shown.unreadable)


def draw_details(call: Invocation, facts: Mapping[str, Any]) -> None:
    """The commits that an abbreviated id could mean."""
    rows = [(short(each["commit"], LONGER), each["subject"]) for each in facts["candidates"]]
    call.details(columns(rows[:CANDIDATES]))


def _closes(text: str) -> str:
    """What a checkpoint closes; the document has all parts of the range."""
    from gitmem.model.transcripts.intervals import brief

    numbers, of, chat = text.partition(" of ")
    return f"{brief(numbers)}{of}{chat}"
