"""`gitmem kept`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from gitmem.cli.declare import group
from gitmem.cli.invocation import Invocation, ago
from gitmem.cli.style import columns, short, visible
from gitmem.core.quoting import quoted

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.operations.departed import Kept


@group("kept")
@click.pass_context
def command(context: click.Context, call: Invocation) -> None:
    """Bring back commits that left the branch

    An amend, a rebase or a reset to a named commit takes commits off the branch. gitmem keeps them
    under refs/gitmem/kept/, where no `git gc` removes them, until you bring them back or let them
    go.

    \b
    Examples:
      gitmem kept
      gitmem kept restore 51cc3e5
      gitmem kept drop 51cc3e5 --yes
    """
    if context.invoked_subcommand is None:
        _list(call)


def _list(call: Invocation) -> None:
    from gitmem.operations.departed import kept_list

    with call.group() as group:
        found = kept_list(group)
        now = group.now()
    call.answer({"kept": found}, _table(call, found, now), data=True)
    if not found:
        call.remark("no commits are kept")


def _table(call: Invocation, found: tuple[Kept, ...], now: datetime) -> Iterator[str]:
    rows = [
        (short(each.commit), ago(each.time, now), visible(each.subject), visible(each.how))
        for each in found
    ]
    if rows:
        yield from columns(rows, (call.style.name, call.style.dim))


@command.declare("list")
def list_(call: Invocation) -> None:
    """List the commits that left the branch

    \b
    Examples:
      gitmem kept list
      gitmem kept list --json
    """
    _list(call)


@command.declare("restore")
@click.argument("commit", metavar="COMMIT")
@click.option(
    "--allow-secret",
    metavar="RULE",
    multiple=True,
    help="Accept this match as a false positive; repeatable",
)
def restore(call: Invocation, commit: str, allow_secret: tuple[str, ...]) -> None:
    """Merge kept commits into the branch

    What others wrote since stays. Where both changed the same lines, both versions stand one after
    the other. Refused where one of the commits holds a credential, in a file, a name or a message.

    \b
    Examples:
      gitmem kept restore 51cc3e5
      gitmem kept restore 51cc3e5 --allow-secret secret-assignment
    """
    from gitmem.operations.departed import kept_restore

    with call.group() as group:
        done = kept_restore(group, commit, allow_secret=allow_secret)
    call.answer(done, [f"restored {short(done.kept)} {call.style.name(short(done.commit))}"])


@command.declare("drop")
@click.argument("commit", metavar="COMMIT")
@click.option("-y", "--yes", is_flag=True, help="Do not ask")
def drop(call: Invocation, commit: str, *, yes: bool) -> None:
    """Let kept commits go

    Nothing is deleted at once, but the next `git gc` may remove them for good.

    \b
    Examples:
      gitmem kept drop 51cc3e5 --yes
    """
    from gitmem.operations.departed import kept_drop

    if not yes:
        call.confirm(
            f"Let {visible(commit)} go?",
            doing=f"dropping {commit!r}",
            again=f"gitmem kept drop {quoted(commit)} --yes",
        )
    with call.group() as group:
        done = kept_drop(group, commit)
    call.answer(done, [f"dropped {short(done.kept)}"])
