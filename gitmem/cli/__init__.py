"""The command line: declare, call, render."""

from __future__ import annotations

import codecs
import gc
import os
import sys
from io import TextIOWrapper
from typing import NoReturn


def main() -> NoReturn:
    """Run the command that the arguments of this process name, and exit."""
    # Hardly anything that a command makes is garbage before it ends: 8 of 160 ms went into looking.
    gc.set_threshold(50_000, 20, 20)
    os.umask(0o077)  # whatever is made here is somebody's memory
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A name that this terminal cannot show must not end a command that has done its work.
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding="utf-8" if is_ascii else None, errors="backslashreplace")
    if sys.argv[1:] == ["--version"]:
        from gitmem import __version__

        print(f"gitmem {__version__}")
        sys.exit(0)
    from gitmem.cli.plain import run

    code = run(sys.argv[1:], os.environ)
    if code is not None:
        sys.exit(code)
    from gitmem.cli.app import app

    app.main(prog_name="gitmem")
    raise AssertionError("unreachable: the application exits by itself")
