"""The commands `restore` and `undo`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gitmem.cli import boundary
from gitmem.cli.changes import change_lines, remark_found
from gitmem.cli.declare import (
    Whole,
    allow_secret,
    argument,
    as_somebody,
    at,
    named,
    option,
    path_argument,
    reason,
)
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation, ago
from gitmem.cli.style import columns, short, visible
from gitmem.errors import BadInput
from gitmem.model.hints import Call, Hint
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from gitmem.memory.recover.restore import Restored
    from gitmem.memory.recover.undo import Undone


@declare("restore")
@path_argument(required=False)
@at
@option("--previous", is_flag=True, help="Restore the version before the current one")
@option("--all", "everything", is_flag=True, help="Restore the whole group; the same as .")
@reason
@as_somebody
@allow_secret
def restore_command(
    call: Invocation,
    *,
    path: str | None,
    at: str | None,
    previous: bool,
    everything: bool,
    reason: str,
    allow_secret: tuple[str, ...],
) -> None:
    """Bring back an entry, a file, a folder or the whole group

    Makes a new commit: the current version stays in the history. Without a moment, a file that was
    damaged, emptied or deleted in the work tree comes back as last written; if the damage is
    already committed, lists the versions to choose from (exit 4).

    PATH may be the old address of an entry, or its address in the archive. Archived entries and
    files move back; a deleted entry returns to its place in its file. With a moment, only the lines
    of that entry change.

    \b
    Examples:
      gitmem restore state.md
      gitmem restore state.md --at yesterday
      gitmem restore decisions#old-plan
      gitmem restore --all --at 2026-02-08
    """
    from gitmem.memory.recover.restore import WAY_BACK, restore

    _check(path, at, previous, everything)
    with call.group() as group:
        restored = restore(
            group,
            "." if everything else path or "",
            at=at or "",
            previous=previous,
            reason=reason,
            allowed=WAY_BACK._replace(secrets=allow_secret),
        )
    remark_found(call, restored)
    call.answer(restored, _lines(call, restored))


def _check(path: str | None, at: str | None, previous: bool, everything: bool) -> None:
    if bool(path) == everything:
        raise BadInput(
            "name a path to restore, or use --all",
            hint=Hint(
                "for example ",
                Call("restore", ("state.md",)),
                ", or ",
                Call("restore", options=(("all", True), ("at", "yesterday"))),
            ),
        )
    if at and previous:
        raise BadInput("--at and --previous exclude each other", hint="use one of them")


def _lines(call: Invocation, restored: Restored) -> Iterator[str]:
    if restored.address and restored.changes:
        yield _entry_line(call, restored)
        return
    lines = change_lines("restored", restored.changes, restored.commit, call.style)
    origin = short(restored.from_commit)
    yield from (f"{line} from {origin}" for line in lines)
    if not restored.changes:
        yield f"nothing to restore: it is as it was at {origin}"
    if restored.kept_newer:
        count = counted(len(restored.kept_newer), "newer file")
        yield f"{count} kept: {visible(', '.join(restored.kept_newer[:5]))}"


def _entry_line(call: Invocation, restored: Restored) -> str:
    style = call.style
    verb, what = style.good("restored"), style.bold(visible(restored.address))
    origin = visible(restored.source) or short(restored.from_commit)
    return f"{verb} {what} {style.name(short(restored.commit))} from {origin}"


def draw_details(call: Invocation, facts: Mapping[str, Any]) -> None:
    """The versions to choose from, with the command for each."""
    now = call.clock() if call.clock else datetime.now(UTC)
    rows = [
        (
            ago(each["time"], now),
            "" if each["bytes"] is None else counted(each["bytes"], "byte"),
            each["op"],
            each["agent"],
            each["command"],
        )
        for each in facts["versions"]
    ]
    call.details(columns(rows))


@declare("undo")
@argument("commits", nargs=-1, metavar="[COMMIT]...")
@option("--last", metavar="N", type=Whole(1), default=None, help="Revert the newest N commits")
@named("--session", metavar="ID", help="Revert all commits of this session")
@named("--agent", metavar="NAME", help="Revert all commits of this agent")
@reason
def undo_command(
    call: Invocation,
    *,
    commits: tuple[str, ...],
    last: int | None,
    session: str | None,
    agent: str | None,
    reason: str,
) -> int:
    """Revert commits, and keep later changes

    Makes one new commit. Without arguments, reverts the newest commit. Lists changes that it cannot
    revert because the same lines changed since, and leaves them alone (exit 4).

    \b
    Examples:
      gitmem undo
      gitmem undo 51cc3e5
      gitmem undo --session 4f2a --reason "it misread the brief"
    """
    from gitmem.memory.recover.undo import undo

    with call.group() as group:
        undone = undo(
            group,
            commits,
            last=last or 0,
            session=session or "",
            agent=agent or "",
            reason=reason,
        )
    remark_found(call, undone)
    call.answer(undone, _undone_lines(call, undone), changed=undone.changed)
    return boundary.CONFLICT if undone.left else boundary.DONE


def _undone_lines(call: Invocation, undone: Undone) -> Iterator[str]:
    if undone.undone:
        names = ", ".join(map(short, undone.undone[:5]))
        yield f"took back {counted(len(undone.undone), 'commit')}: {names}"
    yield from change_lines("undone", undone.changes, undone.commit, call.style)
    for each in undone.left:
        where = " of ".join(filter(None, (visible(each.path), short(each.commit))))
        yield f"{call.style.warn('left')} {where}: {visible(call.addressed(each.why))}"
    if undone.reopened:
        ranges = counted(len(undone.reopened), "summarised range")
        yield f"reopened {ranges}; see: {call.command('transcript pending')}"
    if not undone.undone and not undone.left:
        yield "nothing to take back: it is as it was before already"
