"""The operator's own git configuration, which counts for nothing in a process of ours.

libgit2 keeps the places where it looks for it from its start on, so they are blanked before it
reads any: not earlier, because importing pygit2 costs more than a whole hook.
"""

from __future__ import annotations

_isolated = False


def isolate() -> None:
    """For a process of our own: no git configuration, identity or home of the operator counts."""
    global _isolated  # noqa: PLW0603 - the settings of libgit2 are the process's, too
    _isolated = True


def seal() -> None:
    """Apply that to libgit2, before it opens or makes a repository."""
    if _isolated:
        import pygit2

        level = pygit2.enums.ConfigLevel
        for each in (level.GLOBAL, level.XDG, level.SYSTEM, level.PROGRAMDATA):
            pygit2.settings.search_path[each] = ""
