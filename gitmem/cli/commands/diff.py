"""`gitmem diff`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from gitmem.cli.declare import Command
from gitmem.cli.declare import command as declare
from gitmem.cli.filechanges import file_lines
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import short
from gitmem.errors import BadInput, MomentNotFound, PathNotFound

if TYPE_CHECKING:
    from gitmem.memory.group import Group
    from gitmem.memory.read.diff import Diffed

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
@click.argument("what", nargs=-1, metavar="[A [B]] [[--] PATH]")
@click.pass_context
def command(context: click.Context, call: Invocation, what: tuple[str, ...]) -> None:
    """Show what changed between two moments

    Without a moment: what was edited in the work tree and is not captured yet. With one: what
    changed since. The last argument is a path where it is no moment, or stands after --.

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
    call.answer(found, _lines(call, found), data=True)
    if not found.files:
        call.remark("nothing differs")


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
            "a difference is between two moments, in one path",
            hint="for example `gitmem diff yesterday today -- state.md`",
        )
    a, b = (*moments, "", "")[:MOMENTS]
    return a, b, "".join(paths)


def _neither(text: str, error: PathNotFound) -> PathNotFound:
    return PathNotFound(
        f"{text!r} is neither a moment nor a file of this group", hint=error.hint, **error.facts
    )


def _lines(call: Invocation, found: Diffed) -> Iterator[str]:
    if found.files or found.unreadable:
        yield f"{_named(found.a)} -> {_named(found.b)}"
    yield from file_lines(call.style, found.files, found.unreadable)


def _named(commit: str) -> str:
    return short(commit) or "the work tree"
