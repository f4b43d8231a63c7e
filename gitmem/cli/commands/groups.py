"""`gitmem groups`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitmem.cli.declare import group
from gitmem.cli.invocation import Invocation, ago
from gitmem.cli.rewiring import answer_rewired
from gitmem.cli.style import columns, plain, visible
from gitmem.model.text.numbers import counted
from gitmem.model.text.quoting import quoted

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.integrations.install.rewire import GivenBack
    from gitmem.memory.admin.groups import GroupRemoved, GroupRow


@group("groups")
@click.pass_context
def command(context: click.Context, call: Invocation) -> None:
    """List, rename and remove groups

    \b
    Examples:
      gitmem groups
      gitmem groups rename research library
      gitmem groups remove scratch --yes
    """
    if context.invoked_subcommand is None:
        _list(call)


def _list(call: Invocation) -> None:
    from gitmem.memory.admin.groups import groups
    from gitmem.memory.clock import zone_of
    from gitmem.memory.group import time_now

    rows = groups(call.store, acting=call.settings.acting)
    now = time_now(call.clock, zone_of(call.store.root))
    call.answer({"groups": rows}, _lines(call, rows, now), data=True)
    if not rows:
        call.remark(f"{call.store.root} has no groups; make one with `gitmem init`")


def _lines(call: Invocation, rows: tuple[GroupRow, ...], now: datetime) -> Iterator[str]:
    style = call.style
    cells = [
        (
            each.name,
            ago(each.last_write, now) if each.last_write else "",
            each.agent,
            counted(each.files, "file"),
            counted(each.bytes, "byte"),
            each.health,
            "" if _is_usual(call, each) else each.worktree,
        )
        for each in rows
    ]
    if cells:
        yield from columns(cells, (style.bold, plain, plain, plain, plain, style.warn))


def _is_usual(call: Invocation, row: GroupRow) -> bool:
    return row.worktree == str(call.store.default_worktree(row.name))


@command.declare("list")
def list_(call: Invocation) -> None:
    """List the groups: last write, size, health

    \b
    Examples:
      gitmem groups list
      gitmem groups --json
    """
    _list(call)


@command.declare("rename")
@click.argument("old")
@click.argument("new")
def rename(call: Invocation, old: str, new: str) -> None:
    """Give a group another name; files and history go with it

    \b
    Examples:
      gitmem groups rename research library
    """
    from gitmem.memory.admin.groups import rename_group

    renamed = rename_group(call.store, old, new, acting=call.settings.acting)
    line = f"renamed {renamed.old} to {renamed.new}; its files are in {visible(renamed.worktree)}"
    linked = (f"  {visible(each)} uses {renamed.new} now" for each in renamed.links)
    answer_rewired(call, renamed, [line, *linked], settled=old)


@command.declare("remove")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation")
def remove(call: Invocation, name: str, yes: bool) -> None:
    """Move a group, files and history, to the store's trash

    \b
    Examples:
      gitmem groups remove scratch
      gitmem groups remove scratch --yes
    """
    from gitmem.integrations.install.rewire import give_back
    from gitmem.memory.admin.groups import remove_group

    if not yes and not call.confirm(
        f"Move the group {name!r}, files and history, to the trash?",
        doing=f"removing the group {name!r}",
        again=f"gitmem groups remove {quoted(name)} --yes",
        declined="nothing was removed",
    ):
        return
    given: list[GivenBack] = []
    removed = remove_group(
        call.store,
        name,
        acting=call.settings.acting,
        now=call.clock,
        before=lambda: given.append(give_back(call.store, call.environ, name)),
    )
    notes = [each for back in given for each in back.remarks]
    places = (_now_at(call, removed, each) for back in given for each in back.kept)
    notes += (f"notes that were not copied are in {each}" for each in places)
    linked = (f"  {visible(each)} uses no group of its own any more" for each in removed.links)
    line = f"removed {removed.name}: it lies in {visible(removed.trash)}"
    answer_rewired(call, removed, [line, *linked], settled=name, remarks=notes)


def _now_at(call: Invocation, removed: GroupRemoved, folder: str) -> str:
    """Where a folder of a group is after its removal; a work tree outside the store stays."""
    from gitmem.memory.group import Store

    usual = call.store.default_worktree(removed.name)
    if not Path(folder).is_relative_to(usual):
        return folder
    trash = Store(Path(removed.trash)).default_worktree(removed.name)
    return str(trash / Path(folder).relative_to(usual))
