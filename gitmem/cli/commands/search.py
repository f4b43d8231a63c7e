"""`gitmem search`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from gitmem.cli.declare import command as declare
from gitmem.cli.declare import named
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import visible, visible_text
from gitmem.cli.texts import TextCommand

if TYPE_CHECKING:
    from gitmem.memory.search.search import Hit, Searched

INDENT = "  "


@declare("search", cls=TextCommand)
@click.argument("query", nargs=-1, required=True)
@click.option("--source", metavar="S", default="all", help="memory, transcripts or all")
@click.option(
    "-n",
    "--limit",
    metavar="N",
    type=click.IntRange(1, 1000),
    default=8,
    help="Number of hits (default 8)",
)
@named("--since", metavar="MOMENT", help="Only what was touched or said since")
@named("--layer", "layers", metavar="L", multiple=True, help="Only in this layer; repeatable")
@named(
    "--chat", "chats", metavar="ID", multiple=True, help="Only messages of this chat; repeatable"
)
@click.option("--include-archive", is_flag=True, help="In the archive, too")
def command(
    call: Invocation,
    *,
    query: tuple[str, ...],
    source: str,
    limit: int,
    since: str | None,
    layers: tuple[str, ...],
    chats: tuple[str, ...],
    include_archive: bool,
) -> None:
    """Find what memory holds, and what was said

    In this group and in `global`, the best first; any of the words will do, in any form and
    language. A sentence or a whole message is as good as a word.

    \b
    Examples:
      gitmem search billing
      gitmem search "when did we decide to use ESM?"
      gitmem search deploy --layer decisions --since "30 days ago"
      gitmem search "what did Ada say about the invoice" --source transcripts --json
      gitmem search invoice --chat telegram:1
    """
    from gitmem.memory.search.search import search

    with call.group() as group:
        found = search(
            group,
            " ".join(query),
            source=source,
            limit=limit,
            since=since or "",
            layers=layers,
            chats=chats,
            include_archive=include_archive,
        )
    show_hits(call, found)


def show_hits(call: Invocation, found: Searched) -> None:
    """Print what was found, the best first, and what there is to say about it."""
    call.answer(found, _lines(call, found.hits), data=True)
    for each in found.notes:
        call.remark(each)
    if not found.hits:
        call.remark("nothing was found")


def _lines(call: Invocation, hits: tuple[Hit, ...]) -> Iterator[str]:
    for number, hit in enumerate(hits):
        if number:
            yield ""
        yield _headline(call, hit)
        for line in _marked(call, hit).splitlines():
            yield INDENT + line if line else ""


def _headline(call: Invocation, hit: Hit) -> str:
    style = call.style
    when = hit.at or hit.touched
    parts = (f"{when:%Y-%m-%d}" if when else "", hit.state, visible(hit.type))
    said = ", ".join(filter(None, parts))
    where = hit.address if hit.source == "memory" else f"{hit.from_} in {hit.chat}"
    group = "" if hit.group in ("", call.settings.group) else f"{hit.group}: "
    return f"{style.bold(visible(group + where))}{style.dim(f'  {said}' if said else '')}"


def _marked(call: Invocation, hit: Hit) -> str:
    """The passage with the words marked that were looked for."""
    from gitmem.model.language.words import marked

    parts, at = [], 0
    for start, end in marked(hit.text, hit.terms):
        parts += [visible_text(hit.text[at:start]), call.style.mark(visible(hit.text[start:end]))]
        at = end
    return "".join([*parts, visible_text(hit.text[at:])])
