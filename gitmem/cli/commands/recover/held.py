"""The command `held`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.cli.declare import argument, as_somebody, group, named, option, reason
from gitmem.cli.invocation import Invocation, ago
from gitmem.cli.style import columns, short, text_lines, visible
from gitmem.errors import BadInput
from gitmem.model.hints import Call, Hint
from gitmem.model.text.format import counted, quoted

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.memory.recover.held import (
        HeldAccepted,
        HeldEmptied,
        HeldShown,
        HeldVersion,
        TrashedVersion,
    )
    from gitmem.memory.recover.ignore import HeldIgnored, IgnoredRow


SECRET = "secret:"
"""How the rule of a version begins that holds one."""
SHOWN = 20
NAMED = 3
"""Files in history that a remark names."""


@group("held")
def held_command(call: Invocation) -> None:
    """Decide on edits that were kept out of git

    A file with a secret or conflict markers, a link, or a file over 1 MiB stays on disk and out of
    git until you commit it, mask its secrets, ignore it or drop it.

    \b
    Examples:
      gitmem held
      gitmem held show notes.md
      gitmem held accept notes.md --redact
      gitmem held ignore "*.pdf"
    """
    _list(call)


def _list(call: Invocation, *, trash: bool = False) -> None:
    from gitmem.memory.recover.held import held_list, held_trash

    with call.group() as group:
        things = () if trash else held_list(group)
        dropped = held_trash(group) if trash else ()
        now = group.now()
    if trash:
        call.answer({"trash": dropped}, _trash_table(call, dropped, now), data=True)
    else:
        call.answer({"held": things}, _table(call, things), data=True)
    if trash and dropped:
        call.remark(f"bring one back: {call.command('held restore ID')}")
    elif not things:
        call.remark("the trash is empty" if trash else "nothing is held")


def _trash_table(
    call: Invocation, dropped: tuple[TrashedVersion, ...], now: datetime
) -> Iterator[str]:
    rows = [
        (
            each.id,
            each.path,
            each.rule,
            "" if each.bytes is None else counted(each.bytes, "byte"),
            f"dropped {_when(each.dropped, now)}by {each.agent or 'unknown'}",
            each.reason,
        )
        for each in dropped
    ]
    if rows:
        yield from columns(rows, (call.style.name, call.style.bold, call.style.warn))


def _when(text: str, now: datetime) -> str:
    from datetime import datetime

    try:
        return f"{ago(datetime.fromisoformat(text), now)} "
    except (ValueError, TypeError):
        return ""


def _table(call: Invocation, things: tuple[HeldVersion, ...]) -> Iterator[str]:
    rows = [
        (
            each.path,
            each.rule,
            "" if each.bytes is None else counted(each.bytes, "byte"),
            f"set aside as {each.id}" if each.set_aside else "",
        )
        for each in things
    ]
    if rows:
        yield from columns(rows, (call.style.bold, call.style.warn))


@held_command.declare("list")
@option("--trash", is_flag=True, help="List dropped versions instead")
def list_(call: Invocation, trash: bool) -> None:
    """List held versions, and why each is held

    \b
    Examples:
      gitmem held list
      gitmem held list --trash
      gitmem held list --json
    """
    _list(call, trash=trash)


@held_command.declare("show")
@argument("what", metavar="PATH|ID")
def show(call: Invocation, what: str) -> None:
    """Show a held version, with its secrets masked

    \b
    Examples:
      gitmem held show notes.md
      gitmem held show 20260208T143000-a1b2c3
    """
    from gitmem.memory.recover.held import held_show

    with call.group() as group:
        shown = held_show(group, what)
    shown = shown._replace(way=call.addressed(shown.way))
    call.answer(shown, _shown(shown), data=True)
    for line in _ways(call, shown):
        call.remark(line)


def _ways(call: Invocation, shown: HeldShown) -> Iterator[str]:
    """What can be done about it; nothing that destroys comes first."""
    thing = shown.thing
    name = quoted(thing.id or thing.path)
    if shown.trashed:
        yield f"bring it back: {call.command(f'held restore {name}')}"
        return
    if shown.way:
        yield shown.way
    if shown.redacted and shown.acceptable:
        yield f"commit it with its secrets masked: {call.command(f'held accept --redact {name}')}"
    if shown.acceptable:
        yield f"commit it as it is: {call.command(f'held accept {name}')}"
    if shown.ignorable:
        yield f"leave it on disk and out of memory: {call.command(f'held ignore {name}')}"
    yield f"move it to the trash: {call.command(f'held drop {name}')}"


def _shown(shown: HeldShown) -> Iterator[str]:
    yield f"{visible(shown.thing.path)} ({visible(shown.thing.rule)})"
    yield f"  in {visible(shown.thing.location)}"
    if shown.redacted:
        yield f"  {counted(shown.redacted, 'value')} masked"
    yield ""
    yield from text_lines(shown.text)


@held_command.declare("accept")
@argument("what", metavar="PATH|ID")
@option("--redact", is_flag=True, help="Commit the text with every secret in it masked")
@option("-y", "--yes", is_flag=True, help="Do not ask, also where a secret rule matches")
@reason
@as_somebody
def accept(call: Invocation, *, what: str, redact: bool, yes: bool, reason: str) -> None:
    """Commit a held version

    Without --redact it stays in the history for ever and models see it: use this for a false
    positive. gitmem no longer reports its values in this file; in other files, and once they have
    left this one, it refuses them as before. With --redact each secret becomes `[redacted: RULE]`,
    in the commit and in the file; the original text moves to the trash.

    \b
    Examples:
      gitmem held accept notes.md --redact
      gitmem held accept notes.md --yes --reason "an example key from the manual"
    """
    from gitmem.memory.recover.held import find_held, held_accept

    with call.group() as group:
        thing = find_held(group, what)
        asks = thing.rule.startswith(SECRET) and not (yes or redact)
        if asks and not call.confirm(
            f"Commit {visible(thing.path)} as it is ({visible(thing.rule)})? "
            "It stays in the history, and models will see it.",
            doing=f"committing {thing.path!r} with what looks like a secret",
            again=f"held accept {quoted(what)} --yes",
            declined="nothing was committed",
        ):
            return
        accepted = held_accept(group, what, reason=reason, mask=redact)
    call.answer(accepted, _accepted(call, accepted))


def _accepted(call: Invocation, accepted: HeldAccepted) -> Iterator[str]:
    yield f"accepted {visible(accepted.path)} {short(accepted.commit)}"
    for each in accepted.masked:
        yield f"  masked line {each.line}: {visible(each.rule)}"
    if accepted.trash:
        yield "  the text with the secrets lies in the trash"
        yield f"  delete it for good: {call.command(f'held empty {accepted.trash}')}"


@held_command.declare("drop")
@argument("what", metavar="PATH|ID")
@option("-y", "--yes", is_flag=True, help="Do not ask for confirmation")
@reason
@as_somebody
def drop(call: Invocation, what: str, yes: bool, reason: str) -> None:
    """Move a held version to the trash

    The last committed version, if there is one, takes its place again. `gitmem held restore`
    brings the dropped version back.

    \b
    Examples:
      gitmem held drop notes.md
      gitmem held drop notes.md --yes --reason "copied by mistake"
    """
    from gitmem.memory.recover.held import find_held, held_drop

    with call.group() as group:
        thing = find_held(group, what)
        if not yes and not call.confirm(
            f"Move {visible(thing.path)} ({visible(thing.rule)}) to the trash?",
            doing=f"dropping {thing.path!r}",
            again=f"held drop {quoted(what)} --yes",
            declined="nothing was dropped",
        ):
            return
        dropped = held_drop(group, what, reason=reason)
    back = "; the last committed version is back in its place" if dropped.put_back else ""
    way = f"  bring it back: {call.command(f'held restore {dropped.id}')}"
    call.answer(dropped, [f"moved {visible(dropped.path)} to the trash{back}", way])


@held_command.declare("restore")
@argument("what", metavar="ID|PATH")
def restore(call: Invocation, what: str) -> None:
    """Bring a dropped version back from the trash

    Puts the version back where it was. If another file is there now, nothing is overwritten: the
    version is held again, in the git directory.

    \b
    Examples:
      gitmem held list --trash
      gitmem held restore 20260208T143000-a1b2c3
    """
    from gitmem.memory.recover.held import held_restore

    with call.group() as group:
        back = held_restore(group, what)
    path = visible(back.path)
    if back.id:
        lines = [
            f"{path} is held again, set aside as {back.id}; nothing was overwritten",
            f"  look at it: {call.command(f'held show {back.id}')}",
        ]
    else:
        lines = [f"restored {path} to {visible(back.location)}"]
    call.answer(back, lines)


@held_command.declare("empty")
@argument("ids", nargs=-1, metavar="[ID]...")
@named("--before", metavar="MOMENT", help="Delete only versions that were dropped before MOMENT")
@option("--dry-run", is_flag=True, help="List what would be deleted, and delete nothing")
@option("-y", "--yes", is_flag=True, help="Do not ask for confirmation")
def empty(
    call: Invocation, *, ids: tuple[str, ...], before: str | None, dry_run: bool, yes: bool
) -> None:
    """Delete dropped versions for good

    Deletes the whole trash, or the versions you name. gitmem never does this by itself.

    \b
    Examples:
      gitmem held empty --dry-run
      gitmem held empty --before "90 days ago"
      gitmem held empty 20260208T143000-a1b2c3 --yes
    """
    from gitmem.memory.recover.held import held_empty

    with call.group() as group:
        done = held_empty(group, ids, before=before or "", dry_run=True)
        if done.deleted and not dry_run:
            if not yes and not _may_delete(call, done, ids, before):
                return
            done = held_empty(group, [each.id for each in done.deleted])
    verb = "would delete" if dry_run else "deleted"
    lines = [f"{verb} {visible(each.path)} ({each.id})" for each in done.deleted]
    call.answer(done._replace(dry_run=dry_run), lines or ["nothing to delete"])


def _may_delete(
    call: Invocation, planned: HeldEmptied, ids: tuple[str, ...], before: str | None
) -> bool:
    what = counted(len(planned.deleted), "version")
    words = [*map(quoted, ids), *(["--before", quoted(before)] if before else [])]
    return call.confirm(
        f"Delete {what} ({counted(planned.bytes, 'byte')}) for good?",
        doing=f"deleting {what} for good",
        again=" ".join(["held empty", *words, "--yes"]),
        declined="nothing was deleted",
    )


@held_command.declare("ignore")
@argument("what", metavar="[PATH|PATTERN]", required=False)
@option("--list", "listing", is_flag=True, help="List the ignored patterns, who added them and why")
@option("--remove", is_flag=True, help="Stop ignoring PATH or PATTERN")
@option("--dry-run", is_flag=True, help="List the files that would be ignored, and change nothing")
@reason
@as_somebody
def ignore(
    call: Invocation,
    *,
    what: str | None,
    listing: bool,
    remove: bool,
    dry_run: bool,
    reason: str,
) -> None:
    """Leave files on disk and out of memory

    Ignored files are neither captured nor held; `status` counts them. A pattern without a slash
    matches a name in any folder; one with a slash starts at the group's root. * and ? match within
    a name, ** matches any number of folders. You cannot ignore a file that is in history.

    \b
    Examples:
      gitmem held ignore "*.pdf"
      gitmem held ignore attachments/ --reason "belongs to the vault, not to memory"
      gitmem held ignore --list
      gitmem held ignore --remove "*.pdf"
    """
    from gitmem.memory.recover import ignore as ignoring

    if listing == bool(what):
        raise BadInput(
            "name one path or pattern, or use --list",
            hint=Hint("see ", Call("held ignore", options=(("help", True),))),
        )
    with call.group() as group:
        if what is None:
            rows = ignoring.held_ignored(group)
            call.answer({"ignored": rows}, _ignored_table(call, rows), data=True)
            if not rows:
                call.remark("nothing is ignored")
        elif remove:
            asked = ignoring.held_ask(group, what)
            call.answer(asked, [f"no longer ignored: {visible(asked.pattern)}"])
        else:
            done = ignoring.held_ignore(group, what, reason=reason, dry_run=dry_run)
            call.answer(done, _ignored(done, dry_run))
            _remark_history(call, done)
            _remark_nothing(call, done)


def _ignored_table(call: Invocation, rows: tuple[IgnoredRow, ...]) -> Iterator[str]:
    cells = [
        (each.pattern, counted(each.paths, "file"), f"by {each.agent}", each.at[:10], each.reason)
        for each in rows
    ]
    if cells:
        yield from columns(cells, (call.style.bold,))


def _ignored(done: HeldIgnored, dry_run: bool) -> Iterator[str]:
    verb = "would ignore" if dry_run else "ignored" if done.added else "already ignored"
    yield f"{verb} {visible(done.pattern)}: {counted(len(done.paths), 'file')}"
    yield from (f"  {visible(path)}" for path in done.paths[:SHOWN])
    if len(done.paths) > SHOWN:
        yield f"  and {len(done.paths) - SHOWN:,} more"


def _remark_history(call: Invocation, done: HeldIgnored) -> None:
    if done.in_history:
        names = ", ".join(done.in_history[:NAMED])
        rest = len(done.in_history) - NAMED
        more = f" and {rest:,} more" if rest > 0 else ""
        call.remark(f"in history, so still captured: {names}{more}")


def _remark_nothing(call: Invocation, done: HeldIgnored) -> None:
    """Name what a pattern that fits no file may have been meant for: it may be a typo."""
    if done.paths or done.in_history:
        return
    meant = f"; did you mean {' or '.join(map(quoted, done.near))}?" if done.near else ""
    call.remark(f"no file matches {done.pattern!r} yet{meant}")
    call.remark(f"to take it back: {call.command(f'held ignore --remove {quoted(done.pattern)}')}")
