"""The command line: declare, call, render."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import NoReturn


def main() -> NoReturn:
    """Run the command that the arguments of this process name, and exit."""
    os.umask(0o077)  # whatever is made here is somebody's memory
    if isinstance(sys.stdout, TextIOWrapper):
        # A name that this terminal cannot show must not end a command that has done its work.
        sys.stdout.reconfigure(errors="backslashreplace")
    from gitmem.cli.app import app

    app.main(prog_name="gitmem")
    raise AssertionError("unreachable: the application exits by itself")
