"""A tool has written a file: if it is one of memory, it becomes a commit.

Nearly all are not. That is found out by looking for the `.git` file of a group above them, without
opening anything of git.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from gitmem.errors import Refused
from gitmem.integrations.hooks.answer import Asked, Said, in_words
from gitmem.integrations.hooks.dialects import files_written
from gitmem.integrations.host_memory.folders import may_be_own
from gitmem.integrations.hosts.table import HOSTS
from gitmem.model.context.escape import ForModel, in_command, joined, worded

if TYPE_CHECKING:
    from gitmem.integrations.hooks.limits import Room
    from gitmem.memory.group import Group
    from gitmem.memory.write.capture import CapturedAll

GITFILE = b"gitdir: "
MOST = 4096
TOLD = 5
"""Edits about which a model is told one by one."""


def written(asked: Asked) -> Said:
    """Commit those files of memory that a tool has just written."""
    groups: dict[str, list[str]] = {}
    news: list[str] = []
    for path in _meant(files_written(HOSTS[asked.host], asked.payload)):
        name = group_at(path, asked.store)
        if may_be_own(HOSTS[asked.host], path):
            from gitmem.integrations.hooks.host_memory import adopted_at

            name = adopted_at(asked, path, name, news.append)
        if name:
            groups.setdefault(name, []).append(path)
    if not groups:
        return Said()
    said = _captured(asked, groups)
    return said._replace(notice="\n".join(filter(None, (*news, said.notice))))


def _meant(paths: Iterable[str]) -> Iterator[str]:
    """PATHS, and where links lead: one outside of memory may lead into it."""
    for path in paths:
        if "\0" in path:
            continue  # no file can be called that, and whoever asks the system gets an error
        yield path
        if os.path.islink(path):
            yield os.path.realpath(path)


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
    with suppress(OSError), open(os.path.join(folder, ".git"), "rb", opener=_at_once) as file:
        data = file.read(MOST) or b""
        if data.startswith(GITFILE):
            target = os.fsdecode(data[len(GITFILE) :].strip())
            return os.path.realpath(os.path.join(folder, target))
    return None


def _at_once(path: str, flags: int) -> int:
    """Open without waiting: it may be a pipe that nobody writes to."""
    return os.open(path, flags | os.O_NONBLOCK)


def _captured(asked: Asked, groups: dict[str, list[str]]) -> Said:
    from gitmem.integrations.hooks.groups import SECONDS, WAIT, opened
    from gitmem.integrations.hooks.limits import room_of
    from gitmem.integrations.hooks.sessions import note_session

    words: list[ForModel] = []
    trouble: list[ForModel] = []
    room = room_of(asked.host).part(1 / len(groups) / 2)
    note_session(asked)
    for name, paths in groups.items():
        done: list[CapturedAll] = []
        with opened(asked, name, as_subagent=True) as group:
            inside = [_inside(group, each) for each in paths]
            for path in filter(group.is_memory, inside):
                from gitmem.memory.write.capture import capture  # not for other work beside memory

                try:
                    done.append(capture(group, [path], wait=WAIT, seconds=SECONDS))
                except Refused as error:  # a name that is none costs no other file
                    lost = "{why}; the edit of {path} is not in memory"
                    trouble.append(worded(lost, why=in_words(error), path=path))
        words += told(_together(done), name, room) if done else []
    trouble = list(room.whole_ones(trouble[:TOLD]))
    return Said(joined((*words, *trouble), "\n"), "\n".join(trouble))


def _together(done: Sequence[CapturedAll]) -> CapturedAll:
    from gitmem.memory.write.capture import CapturedAll

    captured = tuple(each for one in done for each in one.captured)
    held = tuple(each for one in done for each in one.held)
    claimed = tuple(path for one in done for path in one.claimed)
    operation = next((one.operation for one in done if one.claimed), None)
    return CapturedAll(captured, held, 0, claimed=claimed, operation=operation)


def _inside(group: Group, path: str) -> str:
    """PATH as the group names it, through all links but the last: one in memory is not followed."""
    folder, name = os.path.split(path)
    return os.path.relpath(f"{os.path.realpath(folder)}/{name}", os.path.realpath(group.worktree))


def told(done: CapturedAll, group: str, room: Room) -> list[ForModel]:
    """What a model should know about its edits: which are held, and which broke a rule."""
    words = _told(done, group)
    rest = "{more} more such edits: `gitmem -g {group} status` names them."
    shown = list(room.without(rest).whole_ones(words[:TOLD]))
    more = len(words) - len(shown)
    return [*shown, *([worded(rest, more=more, group=group)] if more else [])]


def _told(done: CapturedAll, group: str) -> list[ForModel]:
    from gitmem.model.secrets.find import shown_name  # whoever has taken in an edit has it already

    words = [
        worded(
            "The edit of {path} is not in memory ({rule}). It stays in the file: "
            "`gitmem -g {group} held show {file}` says more.",
            path=shown_name(each.path),
            rule=each.rule,
            group=group,
            file=in_command(shown_name(each.path)),
        )
        for each in done.held
    ]
    if done.operation:
        words += [
            worded(
                "The edit of {path} is not in memory yet: it belongs to {title} that a person has "
                "begun with git. It is captured when that is finished.",
                path=shown_name(path),
                title=done.operation.title,
            )
            for path in done.claimed
        ]
    for each in done.captured:
        words += [
            worded(
                "The edit of {path} is kept, but {broken}. "
                "`gitmem -g {group} undo {commit}` takes it back.",
                path=each.path,
                broken=broken,
                group=group,
                commit=each.commit[:10],
            )
            for broken in each.violations
        ]
    return words
