"""`gitmem compact`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from gitmem.cli.changes import remark_found
from gitmem.cli.declare import allow_markers, allow_secret, as_somebody, named, reason
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.stdin import text_or_stdin
from gitmem.cli.style import short, text_lines, visible

if TYPE_CHECKING:
    from gitmem.memory.upkeep.compact import Compacted

EXAMPLE = "for example `... | gitmem compact`, or `gitmem compact --summary TEXT`"


@declare("compact")
@click.option("--summary", metavar="TEXT", help="What the next session has to know; - is stdin")
@click.option("--daily", is_flag=True, help="Into the file of the day instead")
@named("--at", metavar="TIME", help="When it was compacted, if not now")
@named("--id", "operation", metavar="ID", help="Recognise a retry by this id")
@allow_secret
@allow_markers
@reason
@as_somebody
def command(
    call: Invocation,
    *,
    summary: str | None,
    daily: bool,
    at: str | None,
    operation: str | None,
    allow_secret: tuple[str, ...],
    allow_markers: bool,
    reason: str,
) -> None:
    """Keep the summary of a session

    So the next one can start fresh. It becomes a section `## Session Compaction <time>` at the end
    of the file that the layout names. Without --summary, standard input is the summary.

    \b
    Examples:
      gitmem compact --summary "Billing moved to ESM; open: invoices"
      summarise | gitmem compact --summary - --daily
      gitmem compact --summary "Invoices are blue" --at 2026-02-08T14:30
    """
    from gitmem.memory.upkeep.compact import compact
    from gitmem.memory.write.write import Allowed

    text = text_or_stdin(summary, "summary", EXAMPLE)
    with call.group() as group:
        done = compact(
            group,
            text,
            daily=daily,
            at=at or "",
            reason=reason,
            operation=operation or "",
            allowed=Allowed(allow_secret, markers=allow_markers),
        )
    remark_found(call, done)
    for each in done.warnings:
        call.remark(each)
    call.answer(done, _lines(call, done))


def _lines(call: Invocation, done: Compacted) -> Iterator[str]:
    style = call.style
    verb = "kept before in" if done.recognised else "compacted into"
    commit = style.name(short(done.commit))
    yield f"{style.good(verb)} {style.bold(visible(done.path))} {commit}"
    yield f"request {visible(done.request_id)}"
    yield ""
    yield from text_lines(done.preview)
    yield ""
    yield "the next session can start fresh"
