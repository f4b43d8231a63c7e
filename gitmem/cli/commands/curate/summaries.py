"""The commands `rollup` and `compact`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gitmem.cli.changes import remark_found
from gitmem.cli.declare import (
    allow_markers,
    allow_secret,
    argument,
    as_somebody,
    named,
    not_empty,
    option,
    reason,
)
from gitmem.cli.declare import command as declare
from gitmem.cli.input import text_or_stdin
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import columns, plain, short, text_lines, visible
from gitmem.errors import BadInput
from gitmem.model.hints import Call, Hint
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from gitmem.memory.upkeep.compact import Compacted
    from gitmem.memory.upkeep.rollup import RolledUp
    from gitmem.memory.upkeep.rollups_due import DueRollup, RollupsDue


ROLLUP_EXAMPLE = Hint(
    "pipe the text into ", Call("rollup", ("week", "2026-W07", "-"), (("summary", "TEXT"),))
)
ASK = Hint("see what is due with ", Call("rollup", options=(("due", True),)), "; ", ROLLUP_EXAMPLE)


@declare("rollup", takes_texts=True)
@argument("type", required=False, callback=not_empty, metavar="[week|month]")
@argument("period", required=False, callback=not_empty)
@argument("text", required=False)
@option("--due", is_flag=True, help="List past weeks and months without a summary")
@option("--no-text", is_flag=True, help="With --due: leave out the texts of the pages")
@named("--layer", metavar="NAME", help="Journal to summarise")
@option("--summary", metavar="TEXT", help="One line for prompts")
@named("--if-match", metavar="DIGEST", help="Fail if the pages have changed since --due")
@option("--dry-run", is_flag=True, help="List what would change, and change nothing")
@named("--id", "operation", metavar="ID", help="Recognise a retry by this id")
@allow_secret
@allow_markers
@reason
@as_somebody
def rollup_command(
    call: Invocation,
    *,
    type: str | None,
    period: str | None,
    text: str | None,
    due: bool,
    no_text: bool,
    layer: str | None,
    summary: str | None,
    if_match: str | None,
    dry_run: bool,
    operation: str | None,
    allow_secret: tuple[str, ...],
    allow_markers: bool,
    reason: str,
) -> None:
    """Write the summary of a week or a month

    --due lists past weeks and months without a summary; with --json it includes the texts of their
    pages, ready for a model. The layout defines which journals have summaries, and whether their
    pages then move to the archive.

    Writes TEXT as the page of the week or month PERIOD (2026-W07, 2026-02) and moves its sources,
    in one commit; without TEXT, or with -, reads standard input. A month consists of the weeks
    whose Monday falls in it. The default layer is the journal whose pages move.

    \b
    Examples:
      gitmem rollup --due
      gitmem rollup --due --layer episodes --json
      summarise | gitmem rollup week 2026-W07 --summary "Billing moved to ESM" -
      summarise | gitmem rollup month 2026-02 --layer diary --summary "The month of ESM" -
    """
    if due:
        if type or period or text:
            raise BadInput("--due lists, and takes no period", hint="take one or the other")
        _list_due(call, layer or "", texts=not no_text and call.settings.json)
        return
    if not type or not period:
        raise BadInput("name the week or month to roll up", hint=ASK)
    if summary is None:
        raise BadInput(
            "a roll-up needs --summary, the one line that a prompt shows", hint=ROLLUP_EXAMPLE
        )
    from gitmem.memory.upkeep.rollup import rollup

    content = text_or_stdin(text, "text", ROLLUP_EXAMPLE)
    with call.group() as group:
        done = rollup(
            group,
            type,
            period,
            content,
            summary=summary,
            layer=layer or "",
            if_match=if_match or "",
            reason=reason,
            operation=operation or "",
            allow_secret=allow_secret,
            allow_markers=allow_markers,
            dry_run=dry_run,
        )
    remark_found(call, done)
    for each in done.warnings:
        call.remark(each)
    pairs = [{"from": old, "to": new} for old, new in done.moved]
    call.answer(
        {**done._asdict(), "moved": pairs}, _rolled_up_lines(call, done), changed=_changed(done)
    )


def _changed(done: RolledUp) -> bool:
    return not (done.dry_run or done.recognised)


def _rolled_up_lines(call: Invocation, done: RolledUp) -> Iterator[str]:
    style = call.style
    verb = "would write" if done.dry_run else style.good("rolled up")
    verb = "rolled up before:" if done.recognised else verb
    commit = "" if done.dry_run else f" {style.name(short(done.commit))}"
    many = f"{counted(len(done.sources), 'page')} of {done.layer}"
    yield f"{verb} {many} as {style.bold(visible(done.path))}{commit}"
    for old, new in done.moved:
        yield f"  {visible(old)} -> {visible(new)}"


def _list_due(call: Invocation, layer: str, *, texts: bool) -> None:
    from gitmem.memory.upkeep.rollups_due import rollups_due

    with call.group() as group:
        found = rollups_due(group, layer=layer, texts=texts)
    rows = [_row(call, each) for each in found.due]
    call.answer({**found._asdict(), "due": rows}, _due_lines(call, found), data=True)
    for each in _remarks(call, found):
        call.remark(each)


def _remarks(call: Invocation, found: RollupsDue) -> Iterator[str]:
    if not found.layers:
        yield "no layer of this group is rolled up; a journal with `rollup:` in gitmem.yaml is"
    if found.due:
        yield f"the texts to sum up: {call.command('rollup --due --json')}"
    if found.late:
        yield (
            "to settle a late page, put its content into the summary and name it there among the "
            f"sources, or archive it: {call.command('rm PATH')}"
        )


def _row(call: Invocation, due: DueRollup) -> dict[str, Any]:
    """A period as a document has it."""
    names = {"first": "from", "last": "to"}
    facts = {names.get(key, key): value for key, value in due._asdict().items()}
    return {**facts, "command": call.addressed(due.command)}


def _due_lines(call: Invocation, found: RollupsDue) -> Iterator[str]:
    style = call.style
    cells = [
        (
            each.period,
            each.layer,
            f"{each.first} to {each.last}",
            counted(len(each.sources), "page"),
            each.target,
        )
        for each in found.due
    ]
    if cells:
        yield from columns(cells, (style.bold, plain, style.dim, plain, style.dim))
        yield ""
        yield f"next: {call.addressed(found.due[0].command)}"
    elif found.layers:
        yield f"nothing is due in {', '.join(found.layers)}"
    for wait in found.waiting:
        yield f"{wait.period} of {wait.layer} waits for {', '.join(wait.weeks)}"
    for late in found.late:
        yield f"{style.warn('late')} {visible(late.path)}: {visible(late.summary)} does not name it"
    for path in found.undated:
        yield f"{style.warn('undated')} {visible(path)}: no week or month has it"


COMPACT_EXAMPLE = Hint(
    "pipe the summary into ",
    Call("compact"),
    ", or run ",
    Call("compact", (), (("summary", "TEXT"),)),
)


@declare("compact")
@option("--summary", metavar="TEXT", help="Summary for the next session; - reads stdin")
@option("--daily", is_flag=True, help="Write to the file of the day instead")
@named("--at", metavar="TIME", help="Time of the compaction (default: now)")
@named("--id", "operation", metavar="ID", help="Recognise a retry by this id")
@allow_secret
@allow_markers
@reason
@as_somebody
def compact_command(
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
    """Store the summary of a session

    Appends a section `## Session Compaction <time>` to the file that the layout names, so that the
    next session can start fresh. Without --summary, reads the summary from standard input.

    \b
    Examples:
      gitmem compact --summary "Billing moved to ESM; open: invoices"
      summarise | gitmem compact --summary - --daily
      gitmem compact --summary "Invoices are blue" --at 2026-02-08T14:30
    """
    from gitmem.memory.upkeep.compact import compact
    from gitmem.memory.write.write import Allowed

    text = text_or_stdin(summary, "summary", COMPACT_EXAMPLE)
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
    call.answer(done, _compacted_lines(call, done))


def _compacted_lines(call: Invocation, done: Compacted) -> Iterator[str]:
    style = call.style
    verb = "kept before in" if done.recognised else "compacted into"
    commit = style.name(short(done.commit))
    yield f"{style.good(verb)} {style.bold(visible(done.path))} {commit}"
    yield f"request {visible(done.request_id)}"
    yield ""
    yield from text_lines(done.preview)
    yield ""
    yield "the next session can start fresh"
