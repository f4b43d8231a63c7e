"""Who may act on which group."""

from __future__ import annotations

from gitmem.errors import GroupRefused

MAIN = "main"
GLOBAL = "global"


def check_access(acting: str | None, target: str, *, write: bool) -> None:
    """Refuse unless the acting group may read, or write to, the target.

    `main` (and nobody, which is a person at a terminal) may act on every group; `global` is read by
    all; every other group sees itself.
    """
    if acting in (None, MAIN, target):
        return
    if target == GLOBAL and not write:
        return
    what = "write to" if write else "read"
    raise GroupRefused(
        f"the group {acting!r} may not {what} the group {target!r}",
        hint=f"act on your own group (leave out -g, or use -g {acting})",
        acting=acting,
        target=target,
        rule="access",
    )
