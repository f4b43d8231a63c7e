"""`gitmem held`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from gitmem.cli.declare import as_somebody, group, reason
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import columns, quoted, short, visible
from gitmem.core.numbers import counted

if TYPE_CHECKING:
    from gitmem.operations.held import HeldShown, HeldThing


@group("held")
@click.pass_context
def command(context: click.Context, call: Invocation) -> None:
    """Decide on edits that may not enter git

    A secret, a link or a file too big stays on disk and out of the history until somebody takes it
    in or throws it away.

    \b
    Examples:
      gitmem held
      gitmem held show notes.md
      gitmem held drop notes.md
    """
    if context.invoked_subcommand is None:
        _list(call)


def _list(call: Invocation) -> None:
    from gitmem.operations.held import held_list

    with call.group() as group:
        things = held_list(group)
    call.answer({"held": things}, _table(call, things), data=True)
    if not things:
        call.remark("nothing is held")


def _table(call: Invocation, things: tuple[HeldThing, ...]) -> Iterator[str]:
    rows = [
        (
            each.path,
            each.rule,
            "" if each.bytes is None else counted(each.bytes, "byte"),
            f"set aside as {each.id}" if each.set_aside else "in the work tree",
        )
        for each in things
    ]
    if rows:
        yield from columns(rows, (call.style.bold, call.style.warn))


@command.declare("list")
def list_(call: Invocation) -> None:
    """List what is held, and why

    \b
    Examples:
      gitmem held list
      gitmem held list --json
    """
    _list(call)


@command.declare("show")
@click.argument("what", metavar="PATH|ID")
def show(call: Invocation, what: str) -> None:
    """Show a held version, with credentials blanked out

    \b
    Examples:
      gitmem held show notes.md
      gitmem held show 20260208T143000-a1b2c3
    """
    from gitmem.operations.held import held_show

    with call.group() as group:
        shown = held_show(group, what)
    call.answer(shown, _shown(shown), data=True)
    name = quoted(shown.thing.id or shown.thing.path)
    call.remark(f"take it in: gitmem held accept {name}; throw it away: gitmem held drop {name}")


def _shown(shown: HeldShown) -> Iterator[str]:
    yield f"{visible(shown.thing.path)} ({visible(shown.thing.rule)})"
    yield f"  in {visible(shown.thing.location)}"
    if shown.redacted:
        yield f"  {counted(shown.redacted, 'value')} blanked out"
    yield ""
    yield visible(shown.text.removesuffix("\n"))


@command.declare("accept")
@click.argument("what", metavar="PATH|ID")
@reason
@as_somebody
def accept(call: Invocation, what: str, reason: str) -> None:
    """Commit a held version as it is

    For a file that is no secret, whatever the rule says: it will be in the history for ever.

    \b
    Examples:
      gitmem held accept notes.md --reason "an example key from the manual"
    """
    from gitmem.operations.held import held_accept

    with call.group() as group:
        accepted = held_accept(group, what, reason=reason)
    call.answer(accepted, [f"accepted {visible(accepted.path)} {short(accepted.commit)}"])


@command.declare("drop")
@click.argument("what", metavar="PATH|ID")
def drop(call: Invocation, what: str) -> None:
    """Delete a held version for good

    Git never had it, so this is the one thing that cannot be brought back.

    \b
    Examples:
      gitmem held drop notes.md
    """
    from gitmem.operations.held import held_drop

    with call.group() as group:
        dropped = held_drop(group, what)
    back = "; the last committed version stands there again" if dropped.put_back else ""
    call.answer(dropped, [f"dropped {visible(dropped.path)}{back}"])
