"""The command `kept`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.cli.declare import allow_secret, argument, group, not_empty, option
from gitmem.cli.invocation import Invocation, ago
from gitmem.cli.style import columns, short, visible

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.memory.recover.kept import KeptCommit, KeptRestored


@group("kept")
def kept_command(call: Invocation) -> None:
    """Bring back commits that left the branch

    `git commit --amend`, `git rebase` and `git reset` to another commit take commits off the
    branch. gitmem keeps them under refs/gitmem/kept/, where no `git gc` removes them, until you
    restore or drop them.

    \b
    Examples:
      gitmem kept
      gitmem kept restore 51cc3e5
      gitmem kept drop 51cc3e5 --yes
    """
    _list(call)


def _list(call: Invocation) -> None:
    from gitmem.memory.recover.kept import kept_list

    with call.group() as group:
        found = kept_list(group)
        now = group.now()
    call.answer({"kept": found}, _table(call, found, now), data=True)
    if not found:
        call.remark("no commits are kept")


def _table(call: Invocation, found: tuple[KeptCommit, ...], now: datetime) -> Iterator[str]:
    rows = [
        (short(each.commit), ago(each.time, now), visible(each.subject), _brief(each.how))
        for each in found
    ]
    if rows:
        yield from columns(rows, (call.style.name, call.style.dim))


def _brief(how: str) -> str:
    """What the reflog says, with ids as people quote them: a rebase names a whole one."""
    return visible(re.sub(r"\b[0-9a-f]{40}\b", lambda found: short(found[0]), how))


@kept_command.declare("list")
def list_(call: Invocation) -> None:
    """List the commits that left the branch

    \b
    Examples:
      gitmem kept list
      gitmem kept list --json
    """
    _list(call)


@kept_command.declare("restore")
@argument("commit", metavar="COMMIT", callback=not_empty)
@allow_secret
def restore(call: Invocation, commit: str, allow_secret: tuple[str, ...]) -> None:
    """Merge kept commits into the branch

    Later changes stay. Where both sides changed the same lines, both versions are kept, one after
    the other. Refused if one of the commits has a credential in a file, a name or a message.

    \b
    Examples:
      gitmem kept restore 51cc3e5
      gitmem kept restore 51cc3e5 --allow-secret secret-assignment
    """
    from gitmem.memory.recover.kept import kept_restore

    with call.group() as group:
        done = kept_restore(group, commit, allow_secret=allow_secret)
    call.answer(done, [_restored(call, done)])


def _restored(call: Invocation, done: KeptRestored) -> str:
    if not done.changed:
        return f"{short(done.kept)} is on the branch already"
    merged = "" if done.commit == done.kept else f", merged as {short(done.commit)}"
    return f"restored {call.style.name(short(done.kept))}{merged}"


@kept_command.declare("drop")
@argument("commit", metavar="COMMIT", callback=not_empty)
@option("-y", "--yes", is_flag=True, help="Do not ask for confirmation")
def drop(call: Invocation, commit: str, *, yes: bool) -> None:
    """Stop keeping commits that left the branch

    Nothing is deleted at once, but the next `git gc` may remove them for good.

    \b
    Examples:
      gitmem kept drop 51cc3e5 --yes
    """
    from gitmem.memory.recover.kept import find_kept, kept_drop

    with call.group() as group:
        found = short(find_kept(group, commit))
        if not yes and not call.confirm(
            f"Drop the kept commit {found}? A `git gc` may then remove it for good.",
            doing=f"dropping {found!r}",
            again=f"kept drop {found} --yes",
            declined="nothing was dropped",
        ):
            return
        done = kept_drop(group, commit)
    call.answer(done, [f"dropped {short(done.kept)}"])
