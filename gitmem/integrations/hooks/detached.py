"""What takes longer than a host waits is done in a process of its own, which nobody waits for."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

from gitmem.integrations.hooks.answer import Asked
from gitmem.integrations.hosts.program import own_program


def detach(asked: Asked, work: str, group: str = "") -> None:
    """Let `gitmem hook` do WORK, which is no event of a host, and do not wait for it."""
    program = own_program(sys.argv[0], sys.executable)
    named = ("-g", group) if group else ()
    with suppress(OSError):
        subprocess.Popen(
            [*program, "--store", asked.store, *named, "hook", work],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
