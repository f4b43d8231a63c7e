"""The commands `groups` and `link`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitmem.cli.declare import argument, group, option
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation, ago
from gitmem.cli.style import columns, plain, visible
from gitmem.errors import BadInput
from gitmem.model.hints import Call, Hint
from gitmem.model.text.format import counted, quoted

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.integrations.install.rewire import GivenBack, Rewired
    from gitmem.memory.admin.groups import GroupRemoved, GroupRow
    from gitmem.memory.admin.link import Link, Linked


@group("groups")
def groups_command(call: Invocation) -> None:
    """List, rename and remove groups

    \b
    Examples:
      gitmem groups
      gitmem groups rename research library
      gitmem groups remove scratch --yes
    """
    _list(call)


def _list(call: Invocation) -> None:
    from gitmem.memory.admin.groups import groups
    from gitmem.memory.clock import zone_of
    from gitmem.memory.group import time_now

    rows = groups(call.store, acting=call.settings.acting)
    now = time_now(call.clock, zone_of(call.store.root))
    call.answer({"groups": rows}, _lines(call, rows, now), data=True)
    if not rows:
        call.remark(f"no groups in {call.store.root}; create one: {call.command('init')}")


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


@groups_command.declare("list")
def list_(call: Invocation) -> None:
    """List the groups: last write, size, health

    \b
    Examples:
      gitmem groups list
      gitmem groups --json
    """
    _list(call)


@groups_command.declare("rename")
@argument("old")
@argument("new")
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


@groups_command.declare("remove")
@argument("name")
@option("--yes", is_flag=True, help="Do not ask for confirmation")
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
        again=f"groups remove {quoted(name)} --yes",
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


@declare("link")
@argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@option("--remove", is_flag=True, help="Remove the link of the folder")
def link_command(call: Invocation, *, folder: Path | None, remove: bool) -> None:
    """Choose the group of a project folder

    Commands without -g in that folder or below it, and the hooks of an agent that works there, then
    act on that group. GITMEM_GROUP takes precedence. Without -g this lists all links. The settings
    of agent hosts are updated, and the output lists the changed files. --remove also keeps the
    folder from being linked to the group of an agent host's own memory.

    \b
    Examples:
      gitmem link . -g shop
      gitmem link
      gitmem link ~/work/shop --remove
    """
    from gitmem.memory.admin.link import link, links, unlink

    acting, named = call.settings.acting, call.flags.group
    if remove:
        from gitmem.integrations.host_memory.adopt import own_group

        place = folder or Path()
        declines = bool(own_group(call.store, call.environ, place))
        done = unlink(call.store, place, acting=acting, declines=declines)
        answer_rewired(call, done, [_said(done)])
    elif named:
        done = link(call.store, folder or Path(), named, acting=acting)
        answer_rewired(call, done, [_said(done)])
    elif folder is not None:
        raise BadInput(
            "name the group that the folder should use",
            hint=Hint("add -g: ", Call("link", (str(folder),), group="NAME")),
        )
    else:
        here, found = call.group_name(), links(call.store, acting=acting)
        document = {"folder": os.getcwd(), "group": here, "links": found}
        call.answer(document, _listed(call, here, found), data=True)


def _said(done: Linked) -> str:
    folder = visible(done.folder)
    if not done.group:
        if not done.before:
            return f"{folder} uses no group of its own, and gets none by itself"
        return f"{folder} uses no group of its own any more; it used {done.before}"
    was = f" in place of {done.before}" if done.before and done.changed else ""
    return f"{folder} uses {done.group}{was}{'' if done.changed else ' already'}"


def _listed(call: Invocation, here: str, found: Sequence[Link]) -> Iterator[str]:
    yield f"this folder uses {call.style.bold(here)}"
    rows = [
        (each.group, visible(each.folder), "" if each.exists else "no such group") for each in found
    ]
    yield from columns(rows, (call.style.bold, plain, call.style.bad)) if rows else ()


def answer_rewired(
    call: Invocation,
    result: object,
    lines: Sequence[str],
    *,
    settled: str = "",
    remarks: Sequence[str] = (),
) -> None:
    """Bring the agent hosts up to date with the links, and print RESULT with what that changed.

    SETTLED is a group that was renamed or removed; REMARKS tell of its notes.
    """
    from gitmem.integrations.install.rewire import rewire

    done = rewire(call.store, call.environ, settled)
    done = done._replace(remarks=(*remarks, *done.remarks))
    rows = [*lines, *_rewired_lines(call, done)]
    call.answer(result, rows, rewired=done.files, remarks=done.remarks, left=done.left)


def _rewired_lines(call: Invocation, done: Rewired) -> Iterator[str]:
    for file in done.files:
        yield f"  {file.action} {visible(file.path)}"
    for text in (*done.remarks, *done.left):
        yield f"{call.style.warn('note')}: {visible(call.addressed(text))}"
