"""A tool has written a file: if it is one of memory, it becomes a commit.

Nearly all are not. That is found out by looking for the `.git` file of a group above them, without
opening anything of git.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from gitmem.errors import Refused
from gitmem.hosts.hooks.answering import Asked, Said, in_words
from gitmem.hosts.hooks.dialects import files_written

if TYPE_CHECKING:
    from gitmem.operations.capture import CapturedAll
    from gitmem.operations.group import Group

GITFILE = b"gitdir: "
MOST = 4096
TOLD = 5
"""Edits about which a model is told one by one."""


def written(asked: Asked) -> Said:
    """Commit those files of memory that a tool has just written."""
    groups: dict[str, list[str]] = {}
    for path in files_written(asked.payload):
        name = group_at(path, asked.store)
        if name:
            groups.setdefault(name, []).append(path)
    if not groups:
        return Said()
    return _captured(asked, groups)


def group_at(path: str, store: str) -> str:
    """The group of STORE in whose work tree PATH is; nothing where it is in none."""
    repos = os.path.join(os.path.realpath(store), "repos")
    place = os.path.realpath(os.path.dirname(path))
    while True:
        found = _leads_to(place)
        if found is not None:
            home, name = os.path.split(found)
            return name.removesuffix(".git") if home == repos and name.endswith(".git") else ""
        above = os.path.dirname(place)
        if above == place:
            return ""
        place = above


def _leads_to(folder: str) -> str | None:
    """Where the `.git` file of a folder leads; None where there is no such file."""
    with suppress(OSError), open(os.path.join(folder, ".git"), "rb") as file:
        data = file.read(MOST)
        if data.startswith(GITFILE):
            target = os.fsdecode(data[len(GITFILE) :].strip())
            return os.path.realpath(os.path.join(folder, target))
    return None


def _captured(asked: Asked, groups: dict[str, list[str]]) -> Said:
    from gitmem.hosts.hooks.groups import SECONDS, WAIT, opened
    from gitmem.operations.capture import capture

    words: list[str] = []
    trouble: list[str] = []
    for name, paths in groups.items():
        with opened(asked, name) as group:
            for path in (_inside(group, each) for each in paths):
                try:
                    done = capture(group, [path], wait=WAIT, seconds=SECONDS)
                except Refused as error:  # a name that is none costs no other file
                    trouble.append(f"{in_words(error)}; the edit of {path} is not in memory")
                else:
                    words += told(done, group.name)
    return Said("\n".join((*words[:TOLD], *trouble[:TOLD])), "\n".join(trouble[:TOLD]))


def _inside(group: Group, path: str) -> str:
    """PATH as the group names it, through all links but the last: one in memory is not followed."""
    folder, name = os.path.split(path)
    return os.path.relpath(f"{os.path.realpath(folder)}/{name}", os.path.realpath(group.worktree))


def told(done: CapturedAll, group: str) -> list[str]:
    """What a model should know about its edits: which are held, and which broke a rule."""
    words = _told(done, group)
    more = len(words) - TOLD
    rest = [f"{more} more such edits: `gitmem -g {group} status` names them."] if more > 0 else []
    return [*words[:TOLD], *rest]


def _told(done: CapturedAll, group: str) -> list[str]:
    words = [
        f"The edit of {each.path} is not in memory ({each.rule}). It stays in the file: "
        f"`gitmem -g {group} held show {each.path}` says more."
        for each in done.held
    ]
    for each in done.captured:
        words += [
            f"The edit of {each.path} is kept, but {broken}. "
            f"`gitmem -g {group} undo {each.commit[:10]}` takes it back."
            for broken in each.violations
        ]
    return words
