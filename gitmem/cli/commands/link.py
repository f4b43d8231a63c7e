"""`gitmem link`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.rewiring import answer_rewired
from gitmem.cli.style import columns, plain, visible
from gitmem.errors import BadInput
from gitmem.model.text.quoting import quoted

if TYPE_CHECKING:
    from gitmem.memory.admin.link import Link, Linked


@declare("link")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--remove", is_flag=True, help="Let the folder use no group of its own")
def command(call: Invocation, *, folder: Path | None, remove: bool) -> None:
    """Say which group a project folder uses

    A command without -g, in that folder or below it, then acts on that group, and so do the hooks
    of an agent that works there. GITMEM_GROUP still comes first. Without -g this shows all links.
    Agent hosts that gitmem is installed in learn of it: the answer names the files that change.
    --remove also declines a link to the group of an agent host's own memory.

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
            hint=f"add -g: `gitmem link {quoted(str(folder))} -g NAME`",
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
        (each.group, visible(each.folder), "" if each.exists else "there is no such group")
        for each in found
    ]
    yield from columns(rows, (call.style.bold, plain, call.style.bad)) if rows else ()
