"""The command `adopt`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitmem.cli.declare import argument, as_somebody, named, not_empty, option
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import visible
from gitmem.model.text.format import counted, quoted

if TYPE_CHECKING:
    from gitmem.memory.adopt.adopt import Adopted
    from gitmem.memory.adopt.folder import NotAdopted


NAMED = 3
"""How many names outside memory are listed."""
SHOWN = 20
"""How many things that are left out or remarked are listed one by one."""
SECRET = "secret: "
"""How the reason begins for which a file with a credential is left out."""


@declare("adopt")
@argument("folder", metavar="DIR", type=click.Path(), callback=not_empty)
@named("--layout", metavar="NAME", help="Layout, if gitmem does not recognise it")
@option("--in-place", is_flag=True, help="Make DIR itself the group's work tree")
@option("--dry-run", is_flag=True, help="List what would change, and change nothing")
@as_somebody
def adopt_command(
    call: Invocation, folder: str, layout: str | None, in_place: bool, dry_run: bool
) -> None:
    """Import an existing memory folder into a group

    Copies the folder, byte for byte, and leaves the original alone. Imports its git history, too;
    without one, commits get the modification times of the files. Lists the files that a guard
    refuses (a secret, a link, a file that is too big) and leaves them out. If the folder also holds
    source code, only the files that the layout names are copied.

    With --in-place, DIR itself becomes the group's work tree. It may be a workspace: only the files
    that the layout names are memory, and gitmem leaves everything else in DIR alone.

    A time zone (TZ) in the .env of DIR, or beside it, becomes that of the group.

    \b
    Examples:
      gitmem adopt ~/zylos/memory
      gitmem adopt ~/.claude/projects/my-project/memory -g coder --in-place
      gitmem adopt ./memories -g bot --layout soul --dry-run
    """
    from gitmem.memory.adopt.adopt import adopt

    with call.progress("adopting") as progress:
        done = adopt(
            call.store,
            call.group_name(),
            Path(folder).expanduser(),
            layout=layout or "",
            in_place=in_place,
            dry_run=dry_run,
            who=call.who,
            acting=call.settings.acting,
            now=call.clock,
            progress=progress,
        )
    done = done._replace(remarks=tuple(map(call.addressed, done.remarks)))
    call.answer(done, _lines(call, done))


def _lines(call: Invocation, done: Adopted) -> Iterator[str]:
    style = call.style
    if done.already:
        yield f"already adopted: {visible(done.source)} is in the group {style.bold(done.group)}"
        yield f"  files    {visible(done.worktree)}"
        yield f"  next     {_next(call, done)}"
        return
    state = "would adopt" if done.dry_run else style.good("adopted")
    count = counted(len(done.taken), "file")
    yield f"{state} {count} of {visible(done.source)} into the group {style.bold(done.group)}"
    yield f"  files    {visible(done.worktree)}{' (in place)' if done.in_place else ''}"
    yield f"  layout   {done.layout}, {done.sure}{_because(done)}"
    yield f"  history  {_history(done)}"
    if done.timezone:
        yield f"  days     in {done.timezone}, by TZ in {visible(done.timezone_from)}"
    if done.outside:
        yield f"  outside  {_outside(done)}"
    if done.excluded_in:
        yield f"  ignored  by the repository around it, in {visible(done.excluded_in)}"
    if done.missing:
        yield f"  missing  {', '.join(map(visible, done.missing))}: shown in every prompt once made"
    yield from _left(call, done)
    for each in done.remarks[:SHOWN]:
        yield f"  {style.warn('note')}     {visible(each)}"
    yield f"  next     {_next(call, done)}"


def _outside(done: Adopted) -> str:
    names = ", ".join(map(visible, done.outside[:NAMED]))
    more = f" and {len(done.outside) - NAMED:,} more" if len(done.outside) > NAMED else ""
    way = "to add one: `include:` in gitmem.yaml" if done.in_place else "all of it: --layout none"
    return f"{names}{more} ({way})"


def _because(done: Adopted) -> str:
    return f" ({done.score:.2f}): {visible(', '.join(done.why))}" if done.why else ""


def _history(done: Adopted) -> str:
    kept = f"{counted(done.commits, 'commit')} of its own kept, " if done.commits else ""
    return f"{kept}dates from {done.dates_from}"


def _left(call: Invocation, done: Adopted) -> Iterator[str]:
    held = [each for each in done.left if _is_held(done, each)]
    for each in held[:SHOWN]:
        way = "" if done.dry_run else f": see `{call.command('held')}`"
        yield f"  {call.style.warn('held')}     {visible(each.path)} ({visible(each.why)}){way}"
    left = [each for each in done.left if each not in held]
    for each in left[:SHOWN]:
        when = f", in commit {each.commit[:7]}" if each.commit else ""
        yield f"  {call.style.warn('left out')} {visible(each.path)} ({visible(each.why)}{when})"
        if _is_secret(each) and not done.dry_run:
            yield f"           if it is no secret: {visible(_written(call, done, each))}"
    more = max(len(held) - SHOWN, 0) + max(len(left) - SHOWN, 0)
    if more:
        yield f"  {call.style.warn('left out')} {more:,} more: see --json"


def _is_secret(each: NotAdopted) -> bool:
    return each.why.startswith(SECRET) and not each.commit


def _is_held(done: Adopted, each: NotAdopted) -> bool:
    """In place, a file with a secret stays in the work tree, where `gitmem held` names it."""
    linked = each.path in done.held and not each.commit
    return linked or (done.in_place and _is_secret(each))


def _written(call: Invocation, done: Adopted, each: NotAdopted) -> str:
    """The command that writes a file of the folder in spite of its secret."""
    rule = each.why.removeprefix(SECRET).partition(",")[0]
    source = quoted(str(Path(done.source, each.path)))
    words = f"write {quoted(each.path)} --allow-secret {rule} < {source}"
    return f"`{call.command(words)}`"


def _next(call: Invocation, done: Adopted) -> str:
    if done.dry_run:
        place = " --in-place" if done.in_place else ""
        layout = f" --layout {quoted(done.layout)}" if done.sure == "chosen" else ""
        return call.command(f"adopt {quoted(done.source)}{place}{layout}")
    if any(_is_held(done, each) for each in done.left):
        return call.command("held")
    return call.command("capture" if done.in_place else "status")
