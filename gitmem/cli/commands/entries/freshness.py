"""The command `freshness`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.cli.declare import argument, at, named, option
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import Paint, columns, plain, short, visible
from gitmem.errors import BadInput
from gitmem.model.text.format import counted, quoted

if TYPE_CHECKING:
    from gitmem.memory.entries.freshness import AgedEntry, Freshness, LineDates


FADED = ("fading", "stale")
BARS = {"active": "####", "aging": "###.", "fading": "##..", "stale": "#..."}


@declare("freshness")
@argument("path", required=False, default="")
@named("--state", metavar="STATE,...", default=None, help="Show only entries in these states")
@option("--lines", is_flag=True, help="Show each line of the file PATH, as `git blame -w` does")
@at
def freshness_command(
    call: Invocation, path: str, state: str | None, lines: bool, at: str | None
) -> None:
    """Show how long ago each entry last changed

    Only a change of meaning counts: moving, archiving, restoring, sorting, whitespace and reading
    do not. Under 7 days an entry is active, under 30 aging, up to 90 fading, then stale. Entries of
    importance 1 and 2 are marked immune: their age alone needs no attention.

    PATH is a layer, a file, a folder, a pattern or the address of one entry.

    \b
    Examples:
      gitmem freshness
      gitmem freshness decisions --state fading,stale
      gitmem freshness reference/projects.md --lines
      gitmem freshness --at 2026-02-08 --json
    """
    from gitmem.memory.entries.freshness import freshness, line_dates

    if lines:
        if not path or state:
            raise BadInput("--lines needs a file and no --state", hint="name one file")
        with call.group() as group:
            dated = line_dates(group, path, at=at)
        call.answer(dated, _drawn_lines(call, dated), data=True)
        return
    states = tuple(filter(None, (each.strip() for each in (state or "").split(","))))
    with call.group() as group:
        found = freshness(group, path, states=states, at=at)
    call.answer(found, _lines(call, found), data=True)
    call.remark(_summed(call, found, states))


def _paint(call: Invocation, state: str) -> Paint:
    style = call.style
    paints = {"active": style.good, "aging": plain, "fading": style.warn, "stale": style.bad}
    return paints[state]


def _lines(call: Invocation, found: Freshness) -> Iterator[str]:
    table = columns(_row(each) for each in found.entries)
    for each, line in zip(found.entries, table, strict=True):
        bar = BARS[each.state]
        yield _paint(call, each.state)(bar) + line.removeprefix(bar)


def _row(entry: AgedEntry) -> tuple[str, ...]:
    importance = "-" if entry.importance is None else str(entry.importance)
    return (
        BARS[entry.state],
        entry.state,
        f"{entry.age_days}d",
        f"{entry.touched:%Y-%m-%d}",
        f"{importance} immune" if entry.immune else importance,
        entry.status or "-",
        entry.address,
        entry.title,
    )


def _summed(call: Invocation, found: Freshness, states: tuple[str, ...]) -> str:
    if not found.entries:
        return f"nothing is {' or '.join(states)}" if states else "no entries that age yet"
    counts = {state: sum(each.state == state for each in found.entries) for state in BARS}
    said = ", ".join(f"{count:,} {state}" for state, count in counts.items() if count)
    open_ = (each for each in found.entries if not (each.immune or each.retired))
    faded = [each for each in open_ if each.state in FADED]
    confirm = call.command(f"confirm {quoted(faded[0].address)}") if faded else ""
    way = f"; still accurate: {confirm}" if faded else ""
    return f"{counted(len(found.entries), 'entry')}: {said}{way}"


def _drawn_lines(call: Invocation, dated: LineDates) -> Iterator[str]:
    rows = [
        (short(each.commit), f"{each.touched:%Y-%m-%d}", each.agent, each.state, visible(each.text))
        for each in dated.lines
    ]
    for each, line in zip(dated.lines, columns(rows), strict=True):
        yield _paint(call, each.state)(line) if each.state in FADED else line
