"""`gitmem read`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gitmem.cli.declare import at, path_argument
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation

if TYPE_CHECKING:
    from gitmem.memory.read.read import Read


@declare("read")
@path_argument()
@at
def command(call: Invocation, path: str, at: str | None) -> None:
    """Print a file, as it is or was

    Byte for byte, from a commit and never from the work tree: what somebody edits there shows once
    it is captured. A moment is a commit, a tag, or a date such as 2026-02-08, yesterday or
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
