"""`gitmem list`."""

from __future__ import annotations

import click

from gitmem.cli.declare import at
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import visible


@declare("list")
@click.argument("glob", required=False, default="")
@click.option("-l", "--long", is_flag=True, help="With sizes and blob ids")
@at
def command(call: Invocation, glob: str, long: bool, at: str | None) -> None:
    """List the files, as they are or were

    GLOB is a folder, a name or a pattern: * stays within a folder, ** does not.

    \b
    Examples:
      gitmem list
      gitmem list "diary/*.md"
      gitmem list reference --at 2026-02-08
    """
    from gitmem.memory.read.listing import list_files

    with call.group() as group:
        found = list_files(group, glob, at=at)
    rows = [
        ("?" if each.bytes is None else f"{each.bytes:,}", each.blob[:10], each.path)
        for each in found.files
    ]
    widest = max((len(size) for size, _, _ in rows), default=0)
    lines = (
        f"{size:>{widest}}  {call.style.name(blob)}  {visible(path)}" if long else visible(path)
        for size, blob, path in rows
    )
    call.answer(found, lines, data=True)
    if not rows and glob:
        call.remark(f"no file fits {glob}")
