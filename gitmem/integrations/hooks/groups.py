"""The group of a session, opened for a hook; and its edits, as many as a hook has time for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitmem.errors import BadInput
from gitmem.integrations.hooks.answer import Asked
from gitmem.integrations.hooks.limits import Room
from gitmem.memory.group import Group, Store, Who, isolate
from gitmem.model.context.escape import NOTHING, ForModel, joined, worded

WAIT = 2.0
"""Seconds that a hook waits for another writer."""
EDITS = 100
"""Edits that one hook takes in; the rest wait for the next one ..."""
SECONDS = 1.0
"""... as do those that it has no time for: so long it looks, and as long it takes in."""


@contextmanager
def opened(asked: Asked, name: str = "", *, as_subagent: bool = False) -> Iterator[Group]:
    """The group NAME, or the one that the session works with; AS_SUBAGENT: in its name, too."""
    isolate()
    store = Store(Path(asked.store))
    aside = asked.subagent if as_subagent else ""
    who = Who(asked.agent or asked.host, asked.session, asked.host, asked.turn, aside)
    fixed = asked.now
    now = None if fixed is None else lambda: fixed
    name = name or asked.group or group_of(store, asked.project)
    group = Group(store, name, who=who, acting=asked.acting, now=now, near=asked.project)
    try:
        yield group
    finally:
        group.close()


def group_of(store: Store, folder: str) -> str:
    """The group that a project folder uses."""
    linked = store.linked(folder)
    if not linked and store.requires_group:
        from gitmem.model.text.quoting import quoted  # only where something is wrong

        raise BadInput(
            "this store wants every group to be named, and this folder is linked to none",
            hint=f"run `gitmem link {quoted(folder)} -g NAME`",
        )
    return linked or "main"


def heir_of(asked: Asked) -> str:
    """The group that has what was left for one that is gone: the one its folder uses by now."""
    store = Store(Path(asked.store))
    is_gone = asked.group and not store.gitdir(asked.group).is_dir()
    return store.linked(asked.project) if is_gone else ""


def take_in(asked: Asked, group: Group, room: Room, *, with_held: bool = False) -> ForModel:
    """Commit edits that were made through a shell; what the model should know of them.

    WITH_HELD: also which may not enter git. That stays so, and would be said at every turn.
    """
    from gitmem.integrations.hooks.sessions import asking
    from gitmem.integrations.hooks.tool_use import told
    from gitmem.memory.group import is_where_left
    from gitmem.memory.write.caught_up import note_caught_up
    from gitmem.memory.write.quiet import keep_quiet, state_of
    from gitmem.memory.write.unchanged import is_untouched

    worktree, began = str(group.worktree), time.time()
    state = state_of(asked.store, group.name, worktree)  # before the look: what changes is later
    if is_where_left(group) and is_untouched(group, group.repository.snapshot()):
        keep_quiet(asking(asked), group.name, worktree, state)
        note_caught_up(group.gitdir, began, ())
        return NOTHING
    from gitmem.integrations.hooks.signing.signing import Signatures
    from gitmem.memory.write.capture import capture

    whose = Signatures(asked, group)
    done = capture(group, wait=WAIT, most=EDITS, seconds=SECONDS, whose=whose)
    if not (done.captured or done.left or done.claimed or done.operation):
        keep_quiet(asking(asked), group.name, worktree, state)  # all else is held, and stays so
    if not (done.left or done.claimed or done.operation):
        note_caught_up(group.gitdir, began, (each.path for each in done.held))
    told_of = done if with_held else done._replace(held=(), claimed=())
    left = [*(worded("{what}.", what=each) for each in group.take_rejoined()), *_left(done.left)]
    return joined((*told(told_of, group.name, room.without("".join(left))), *left), "\n")


def underway(group: Group) -> list[str]:
    """What a person has begun with git in a group and not finished, in a word to the user."""
    found = group.underway()
    if found is None:
        return []
    begun = f"{found.title} begun with git in {group.name!r} is not finished"
    return [f"gitmem: {begun}: its files are not captured ({found.way_on})"]


def _left(count: int) -> list[ForModel]:
    if not count:
        return []
    waits = "{count} more edit waits" if count == 1 else "{count} more edits wait"
    return [worded(waits + " for `gitmem capture`.", count=count)]
