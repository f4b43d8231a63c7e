"""The commands `read` and `list`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gitmem.cli.declare import argument, at, option, path_argument
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import visible

if TYPE_CHECKING:
    from gitmem.memory.read.read import Read


@declare("read")
@path_argument()
@at
def read_command(call: Invocation, path: str, at: str | None) -> None:
    """Print a file, as it is or was

    Prints it byte for byte from a commit, never from the work tree: capture an edit to see it here.
    A moment is a commit, a tag, or a date such as 2026-02-08, yesterday or
    "3 days ago".

    \b
    Examples:
      gitmem read state.md
      gitmem read state.md --at yesterday
      gitmem read state.md --at 51cc3e5 --json
    """
    from gitmem.memory.read.read import read

    with call.group() as group:
        found = read(group, path, at=at)
    show_file(call, found)


def show_file(call: Invocation, found: Read) -> None:
    """Print a file byte for byte, or all that is known of it."""
    if call.settings.json:
        facts = {"path": found.path, "commit": found.commit, "blob": found.blob}
        call.answer(facts, bytes=len(found.data), text=found.text)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(found.data)


@declare("list")
@argument("glob", required=False, default="")
@option("-l", "--long", is_flag=True, help="Show sizes and blob ids")
@at
def list_command(call: Invocation, glob: str, long: bool, at: str | None) -> None:
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
