"""How others call the gitmem that runs now."""

from __future__ import annotations

import os


def own_program(argv0: str, python: str) -> tuple[str, ...]:
    """The script by its path, else its Python.

    A link stays a link: the one that installers put into a folder of programs outlives upgrades.
    """
    beside = os.path.join(os.path.dirname(python), "gitmem")
    for path in (os.path.abspath(argv0), beside):
        if os.path.basename(path) == "gitmem" and os.path.isfile(path) and os.access(path, os.X_OK):
            return (path,)
    return (python, "-m", "gitmem")
