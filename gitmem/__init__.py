"""The memory of AI agents, kept as plain Markdown in plain git.

    import gitmem

    with gitmem.open("main", store="~/memory", agent="claude", create=True) as memory:
        memory.write("notes.md", "Ada likes tea\\n", reason="she said so")
        print(memory.read("notes.md").text)

Nothing heavy is imported before the first of these names is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gitmem.api import Group
    from gitmem.api import open_group as open
    from gitmem.errors import GitmemError
    from gitmem.memory.transcripts.add import Spoken
    from gitmem.memory.write.write import Edit

__all__ = ["Edit", "GitmemError", "Group", "Spoken", "__version__", "open"]

_HOMES = {
    "open": ("gitmem.api", "open_group"),
    "Group": ("gitmem.api", "Group"),
    "Edit": ("gitmem.memory.write.write", "Edit"),
    "Spoken": ("gitmem.memory.transcripts.add", "Spoken"),
    "GitmemError": ("gitmem.errors", "GitmemError"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'gitmem' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)
