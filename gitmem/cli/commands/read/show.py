"""The commands `show` and `diff`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from gitmem.cli.app import Command
from gitmem.cli.changes import file_lines
from gitmem.cli.declare import argument
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation, ago, at_time
from gitmem.cli.style import columns, short, text_lines, visible
from gitmem.errors import BadInput, MomentNotFound, PathNotFound
from gitmem.model.hints import Call, Hint

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.memory.group import Group
    from gitmem.memory.read.diff import Diffed
    from gitmem.memory.read.show import Shown


LONGER = 12
"""Digits of an id where fewer mean several commits."""
CANDIDATES = 10


@declare("show")
@argument("commit", required=False, default="HEAD")
def show_command(call: Invocation, commit: str) -> None:
    """Show one commit

    Prints author, time, reason and changes; of the newest commit if you name none.

    \b
    Examples:
      gitmem show
      gitmem show 51cc3e5
    """
    from gitmem.memory.read.show import show

    with call.group() as group:
        shown = show(group, commit)
        now = group.now()
    call.answer(shown, _shown_lines(call, shown, now), data=True)


def _shown_lines(call: Invocation, shown: Shown, now: datetime) -> Iterator[str]:
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


AFTER_DASHES = "gitmem.diff.paths"
MOMENTS = 2


class DiffCommand(Command):
    """A command that knows which arguments stood after `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what stands after `--` apart: it is a path, whatever it looks like."""
        end = (*args, "--").index("--")
        ctx.meta[AFTER_DASHES] = args[end + 1 :]
        return super().parse_args(ctx, args[:end])


@declare("diff", cls=DiffCommand)
@argument("what", nargs=-1, metavar="[A [B]] [[--] PATH]")
@click.pass_context
def diff_command(context: click.Context, call: Invocation, what: tuple[str, ...]) -> None:
    """Show what changed between two moments

    Without a moment: uncaptured edits in the work tree. With one: changes since then. The last
    argument is a path if it is not a moment, or if it follows --.

    \b
    Examples:
      gitmem diff
      gitmem diff yesterday state.md
      gitmem diff 2026-02-01 2026-02-08 -- reference
    """
    from gitmem.memory.read.diff import diff

    after = context.meta[AFTER_DASHES]
    with call.group() as group:
        guessed = _is_no_moment(group, what[-1]) if what and not after else False
        a, b, path = _sorted_out(what[:-1] if guessed else what, what[-1:] if guessed else after)
        try:
            found = diff(group, a, b, path)
        except PathNotFound as error:
            raise _neither(path, error) if guessed and "near" in error.facts else error from error
    call.answer(found, _diff_lines(call, found), data=True)
    if not found.files:
        call.remark("no differences")


def _is_no_moment(group: Group, text: str) -> bool:
    from gitmem.memory.resolve import resolve

    try:
        resolve(group, text)
    except MomentNotFound:
        return True
    return False


def _sorted_out(moments: Sequence[str], paths: Sequence[str]) -> tuple[str, str, str]:
    """The two moments and the path, each of which may be missing."""
    if len(moments) > MOMENTS or len(paths) > 1:
        raise BadInput(
            "diff takes at most two moments and one path",
            hint=Hint("for example ", Call("diff", ("yesterday", "today", "--", "state.md"))),
        )
    a, b = (*moments, "", "")[:MOMENTS]
    return a, b, "".join(paths)


def _neither(text: str, error: PathNotFound) -> PathNotFound:
    return PathNotFound(
        f"{text!r} is neither a moment nor a file of the group", hint=error.hint, **error.facts
    )


def _diff_lines(call: Invocation, found: Diffed) -> Iterator[str]:
    if found.files or found.unreadable:
        yield f"{_named(found.a)} -> {_named(found.b)}"
    yield from file_lines(call.style, found.files, found.unreadable)


def _named(commit: str) -> str:
    return short(commit) or "the work tree"
