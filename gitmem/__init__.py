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
    from gitmem import errors, results
    from gitmem.api.memory import Memory
    from gitmem.api.memory import Memory as Group
    from gitmem.api.memory import open_group as open
    from gitmem.errors import GitmemError
    from gitmem.memory.transcripts.add import NewMessage
    from gitmem.memory.write.apply import Edit

__all__ = [
    "Edit",
    "GitmemError",
    "Group",
    "Memory",
    "NewMessage",
    "__version__",
    "errors",
    "open",
    "results",
]

_HOMES = {
    "open": "gitmem.api.memory:open_group",
    "Memory": "gitmem.api.memory:Memory",
    "Group": "gitmem.api.memory:Memory",
    "Edit": "gitmem.memory.write.apply:Edit",
    "NewMessage": "gitmem.memory.transcripts.add:NewMessage",
    "GitmemError": "gitmem.errors:GitmemError",
    "errors": "gitmem.errors",
    "results": "gitmem.results",
}
_OLD = {"Spoken": "NewMessage"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name in _OLD:
        from gitmem.api.arguments import warn_old

        warn_old(f"gitmem.{name}", f"gitmem.{_OLD[name]}")
        name = _OLD[name]
    if name not in _HOMES:
        raise AttributeError(f"module 'gitmem' has no attribute {name!r}")
    from importlib import import_module

    module, _, attribute = _HOMES[name].partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
