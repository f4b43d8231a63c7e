"""The commands `search` and `memory`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.cli.commands.read.files import show_file
from gitmem.cli.declare import Whole, argument, group, named, option
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import visible, visible_text
from gitmem.errors import BadInput
from gitmem.model.hints import Call, Hint

if TYPE_CHECKING:
    from gitmem.memory.search.search import Hit, Searched


INDENT = "  "


@declare("search", takes_texts=True)
@argument("query", nargs=-1, required=True)
@option("--source", metavar="S", default="all", help="Where to search: memory, transcripts or all")
@option(
    "-n",
    "--limit",
    metavar="N",
    type=Whole(1, 1000),
    default=8,
    help="Number of hits (default 8)",
)
@named("--since", metavar="MOMENT", help="Only entries changed, and messages sent, since MOMENT")
@named("--layer", "layers", metavar="L", multiple=True, help="Search only this layer; repeatable")
@named(
    "--chat",
    "chats",
    metavar="ID",
    multiple=True,
    help="Search only messages of this chat; repeatable",
)
@option("--include-archive", is_flag=True, help="Search the archive, too")
def search_command(
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
    """Search memory and recorded conversations

    Searches this group and `global` and prints the best hits first. Any word may match, in any form
    and language. There is no query syntax: a sentence or a whole message is a valid query.

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
        call.remark("no hits")


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
    from gitmem.model.language.words import term_spans

    parts, at = [], 0
    for start, end in term_spans(hit.text, hit.terms):
        parts += [visible_text(hit.text[at:start]), call.style.mark(visible(hit.text[start:end]))]
        at = end
    return "".join([*parts, visible_text(hit.text[at:])])


@group("memory")
def memory_command(call: Invocation) -> None:
    """Read and search only the files that the layout allows

    The two actions that agents also have by MCP and in Python, with the same limits: `allow` in
    gitmem.yaml names the files, and only the group main may name another group with -g. To read or
    search everything, use `gitmem read` and `gitmem search`.

    \b
    Examples:
      gitmem memory get
      gitmem memory get memory/billing.md
      gitmem memory search "when do we deploy?" --source sessions
    """
    raise BadInput(
        "no action given",
        hint=Hint("use ", Call("memory get"), " or ", Call("memory search", ("QUERY",))),
    )


@memory_command.declare("get")
@argument("path", default="MEMORY.md")
def get(call: Invocation, path: str) -> None:
    """Print a memory file; MEMORY.md if no PATH is given

    Secrets that plain git committed are masked.

    \b
    Examples:
      gitmem memory get
      gitmem memory get memory/billing.md --json
    """
    from gitmem.memory.read.memory_actions import memory_get

    with call.group() as group:
        found = memory_get(group, path)
    show_file(call, found)


@memory_command.declare("search", takes_texts=True)
@argument("query", nargs=-1, required=True)
@option("--source", metavar="S", default="all", help="Where to search: memory, sessions or all")
@option(
    "-n", "--limit", metavar="N", type=int, default=8, help="Number of hits, 1 to 64 (default 8)"
)
def search_allowed(call: Invocation, *, query: tuple[str, ...], source: str, limit: int) -> None:
    """Find passages of memory files and messages that fit QUERY

    \b
    Examples:
      gitmem memory search billing
      gitmem memory search "when do we deploy?" --source sessions -n 3 --json
    """
    from gitmem.memory.read.memory_actions import memory_search

    with call.group() as group:
        found = memory_search(group, " ".join(query), top_k=limit, sources=source)
    show_hits(call, found)
