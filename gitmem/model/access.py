"""Access control: which group may read or write which."""

from __future__ import annotations

from gitmem.errors import GroupRefused
from gitmem.model.hints import Hint, Option

MAIN = "main"
GLOBAL = "global"


def check_access(acting: str | None, target: str, *, write: bool) -> None:
    """Raise GroupRefused unless the ACTING group may read, or write to, TARGET.

    `main` may act on every group, and so may a person at a terminal (ACTING is None). Every group
    may read `global`. Any other group may act on itself alone.
    """
    if acting in (None, MAIN, target):
        return
    if target == GLOBAL and not write:
        return
    what = "write to" if write else "read"
    raise GroupRefused(
        f"the group {acting!r} may not {what} the group {target!r}",
        hint=Hint(f"act on your own group, {acting!r}: leave out ", Option("group")),
        acting=acting,
        target=target,
        rule="access",
    )
