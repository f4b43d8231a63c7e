"""`gitmem rotate`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.cli.changes import remark_found
from gitmem.cli.declare import as_somebody, reason
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import short, visible

if TYPE_CHECKING:
    from gitmem.memory.upkeep.rotate import Rotated


@declare("rotate")
@reason
@as_somebody
def command(call: Invocation, reason: str) -> None:
    """Begin the log of a new day

    A log of a day that is over moves to its date, with all its history, and a fresh one is made.
    A log of today stays as it is.

    \b
    Examples:
      gitmem rotate
      gitmem rotate -g research --json
    """
    from gitmem.memory.upkeep.rotate import rotate

    with call.group() as group:
        done = rotate(group, reason=reason)
    remark_found(call, done)
    pairs = [{"from": old, "to": new} for old, new in done.rotated]
    document = {**done._asdict(), "rotated": pairs}
    call.answer(document, _lines(call, done), changed=done.changed)


def _lines(call: Invocation, done: Rotated) -> Iterator[str]:
    style = call.style
    if not done.logs:
        yield "No rotation needed: the layout of this group has no log"
    elif not done.changed:
        yield f"No rotation needed: {visible(', '.join(done.logs))} is of today, {done.today}"
    # Of several, each has commits of its own: `gitmem log` has them.
    commit = style.name(short(done.commit)) if len(done.rotated) == 1 else ""
    for old, new in done.rotated:
        verb = style.good("rotated")
        yield f"{verb} {visible(old)} to {style.bold(visible(new))} {commit}".rstrip()
    for path in done.created:
        yield f"{style.good('created')} {style.bold(visible(path))} for {done.today}"
    for path in done.headed:
        yield f"{style.good('headed')} {style.bold(visible(path))}: it is of {done.today}"
