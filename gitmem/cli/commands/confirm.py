"""`gitmem confirm`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.cli.changes import remark_found
from gitmem.cli.declare import as_somebody, path_argument, reason
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import short, visible

if TYPE_CHECKING:
    from gitmem.memory.entries.confirm import Confirmed


@declare("confirm")
@path_argument("things", metavar="ADDRESS...", nargs=-1, required=True)
@reason
@as_somebody
def command(call: Invocation, things: tuple[str, ...], reason: str) -> None:
    """Say that entries are still true

    ADDRESS is as `gitmem entries` lists it, or the path of a note that ages. Today's date is
    written into each, `- **Confirmed:**` in an entry and `confirmed:` in the frontmatter of a note,
    as one commit for all: so they are fresh again, also to plain `git blame`. What does not grow
    stale is refused.

    \b
    Examples:
      gitmem confirm decisions#use-esm-only
      gitmem confirm reference/projects.md#billing facts/tea.md --reason "asked Ada"
    """
    from gitmem.memory.entries.confirm import confirm

    with call.group() as group:
        done = confirm(group, things, reason=reason)
    remark_found(call, done)
    call.answer(done, _lines(call, done))


def _lines(call: Invocation, done: Confirmed) -> Iterator[str]:
    style = call.style
    for each in done.confirmed:
        commit = style.name(short(done.commit))
        yield f"{style.good('confirmed')} {style.bold(visible(each))} {commit}"
    for each in done.already:
        yield f"unchanged {visible(each)}: confirmed today already"
