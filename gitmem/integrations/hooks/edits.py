"""Capture edits: of a tool that just ended, of a turn, and in the host's own memory.

Most files that tools write are not memory. The `.git` file of a group tells, so for those nothing
of git is opened, and whatever a capture needs is imported only then.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gitmem.errors import Refused
from gitmem.integrations.hooks.answer import Output, in_words, typed
from gitmem.integrations.hooks.groups import WAIT, group_at, opened
from gitmem.integrations.hooks.protocol import Event, asking, files_written
from gitmem.integrations.host_memory.folders import may_be_own, own_folder_at, used_for
from gitmem.integrations.hosts.table import HOSTS
from gitmem.model.access import MAIN
from gitmem.model.context.escape import NOTHING, ForModel, in_command, joined, worded

if TYPE_CHECKING:
    from gitmem.integrations.hooks.protocol import Room
    from gitmem.integrations.host_memory.adopt import OwnAdopted
    from gitmem.memory.group import Group
    from gitmem.memory.write.capture import CapturedAll

EDITS = 100
"""Edits that one hook captures; the rest wait for the next one ..."""
SECONDS = 1.0
"""... as do those for which it has no time: so long it scans, and as long it commits."""
TOLD = 5
"""Edits that a model is told about one by one."""


def written(event: Event) -> Output:
    """Capture the files of memory that a tool has just written."""
    groups: dict[str, list[str]] = {}
    news: list[str] = []
    for path in _resolved(files_written(HOSTS[event.host], event.payload)):
        name = group_at(path, event.store)
        if may_be_own(HOSTS[event.host], path):
            name = adopted_at(event, path, name, news.append)
        if name:
            groups.setdefault(name, []).append(path)
    if not groups:
        return Output()
    output = _captured(event, groups)
    return output._replace(notice="\n".join(filter(None, (*news, output.notice))))


def _resolved(paths: Iterable[str]) -> Iterator[str]:
    """PATHS, and where links lead: one outside of memory may lead into it."""
    for path in paths:
        if "\0" in path:
            continue  # no file name, and the system calls below raise ValueError for it
        yield path
        if os.path.islink(path):
            yield os.path.realpath(path)


def _captured(event: Event, groups: dict[str, list[str]]) -> Output:
    from gitmem.integrations.hooks.protocol import note_session, room_of

    words: list[ForModel] = []
    trouble: list[ForModel] = []
    room = room_of(event.host).part(1 / len(groups) / 2)
    note_session(event)
    for name, paths in groups.items():
        done: list[CapturedAll] = []
        with opened(event, name, as_subagent=True) as group:
            inside = [_inside(group, each) for each in paths]
            for path in filter(group.is_memory, inside):
                from gitmem.memory.write.capture import capture  # only for files of memory

                try:
                    done.append(capture(group, [path], wait=WAIT, seconds=SECONDS))
                except Refused as error:  # a refused name costs no other file
                    lost = "{why}; the edit of {path} is not in memory"
                    trouble.append(worded(lost, why=in_words(error), path=path))
        words += edit_notes(_together(done), name, room) if done else []
    trouble = list(room.whole_ones(trouble[:TOLD]))
    return Output(joined((*words, *trouble), "\n"), "\n".join(trouble))


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


def capture_edits(event: Event, group: Group, room: Room, *, with_held: bool = False) -> ForModel:
    """Capture edits made through a shell; return what the model should know about them.

    WITH_HELD: name held edits as well. They stay held, so not every turn repeats them.
    """
    from gitmem.memory.searched import is_where_left
    from gitmem.memory.write.count_edits import is_unchanged
    from gitmem.memory.write.last_scan import note_captured_until, remember_unchanged, state_of

    worktree, began = str(group.worktree), time.time()
    state = state_of(event.store, group.name, worktree)  # before the scan: edits during it differ
    if is_where_left(group) and is_unchanged(group, group.repository.snapshot()):
        remember_unchanged(asking(event), group.name, worktree, state)
        note_captured_until(group.gitdir, began, ())
        return NOTHING
    from gitmem.integrations.hooks.authors import Authors
    from gitmem.memory.write.capture import capture

    whose = Authors(event, group)
    done = capture(group, wait=WAIT, most=EDITS, seconds=SECONDS, whose=whose)
    if not (done.captured or done.left or done.claimed or done.operation):
        remember_unchanged(asking(event), group.name, worktree, state)  # what is left is held
    if not (done.left or done.claimed or done.operation):
        note_captured_until(group.gitdir, began, (each.path for each in done.held))
    reported = done if with_held else done._replace(held=(), claimed=())
    rejoined = [worded("{what}.", what=typed(each)) for each in group.take_rejoined()]
    left = [*rejoined, *_left(done.left)]
    return joined((*edit_notes(reported, group.name, room.without("".join(left))), *left), "\n")


def edit_notes(done: CapturedAll, group: str, room: Room) -> list[ForModel]:
    """What a model should know about its edits: which are held and which broke a policy."""
    words = _notes_on(done, group)
    rest = "{more} more such edits: see `gitmem -g {group} status`."
    shown = list(room.without(rest).whole_ones(words[:TOLD]))
    more = len(words) - len(shown)
    return [*shown, *([worded(rest, more=more, group=group)] if more else [])]


def _notes_on(done: CapturedAll, group: str) -> list[ForModel]:
    from gitmem.model.secrets.find import redacted_path  # loaded by the capture anyway

    words = [
        worded(
            "The edit of {path} is held: {rule}. It stays in the file and out of memory; "
            "see `gitmem -g {group} held show {file}`.",
            path=redacted_path(each.path),
            rule=each.rule,
            group=group,
            file=in_command(redacted_path(each.path)),
        )
        for each in done.held
    ]
    if done.operation:
        words += [
            worded(
                "The edit of {path} is not in memory yet: it belongs to {title} that a person has "
                "begun with git, and is captured when that is finished.",
                path=redacted_path(path),
                title=done.operation.title,
            )
            for path in done.claimed
        ]
    for each in done.captured:
        words += [
            worded(
                "The edit of {path} is committed, but {broken}. "
                "To take it back: `gitmem -g {group} undo {commit}`.",
                path=each.path,
                broken=typed(broken),
                group=group,
                commit=each.commit[:10],
            )
            for broken in each.violations
        ]
    return words


def adopted_at(event: Event, path: str, known: str, tell: Callable[[str], None]) -> str:
    """The group of the host's own memory at PATH, adopted now if it is new; else KNOWN.

    TELL gets a notice about a group that no session uses: nothing else shows it to the user.
    """
    folder = own_folder_at(HOSTS[event.host], event.environ, path)
    return _adopted(event, folder, known, tell) if folder else known


def capture_own(event: Event, group: str, room: Room, news: list[str]) -> ForModel:
    """Capture edits in the host's own memory, where that is not the session's GROUP.

    NEWS gets notices for the user.
    """
    host = HOSTS[event.host]
    folder = used_for(host, event.environ, event.project).folder if host.own_memory else ""
    if not folder or not os.path.isdir(folder):
        return NOTHING
    inside = os.path.join(folder, "x")
    known = group_at(inside, event.store)
    name = known if known == group else adopted_at(event, inside, known, news.append)
    if not name or name == group or event.acting not in (None, MAIN, name):
        return NOTHING
    with opened(event, name) as own:
        return capture_edits(event._replace(group=name), own, room)


def is_own_quiet(event: Event, group: str) -> bool:
    """Whether no edit waits in the host's own memory, where that is not the session's GROUP."""
    from gitmem.memory.write.last_scan import unchanged_group

    folder = used_for(HOSTS[event.host], event.environ, event.project).folder
    if not folder or not os.path.isdir(folder):
        return True
    known = group_at(os.path.join(folder, "x"), event.store)
    if not known:
        return not os.listdir(folder)
    return known == group or unchanged_group(asking(event._replace(group=known))) == known


def _adopted(event: Event, folder: str, known: str, tell: Callable[[str], None]) -> str:
    """The group of FOLDER; of several hooks that see it at once, only one adopts it."""
    if known and not _is_unfinished(event.store, known):
        return known
    if not known and os.path.lexists(os.path.join(folder, ".git")):
        return ""  # a repository of the user; `doctor` names it
    from gitmem.integrations.host_memory.choices import is_chosen, is_redirected

    if event.acting not in (None, MAIN) or not is_chosen(event.store, event.host, event.project):
        return known
    if not known and is_redirected(event.store, event.host, folder):
        return ""  # an older session still writes to the old folder; `install` copies that
    from pathlib import Path

    from gitmem.integrations.host_memory.adopt import adopt_own, has_memory
    from gitmem.integrations.install.record import alone
    from gitmem.memory.group import Store, Who, isolate

    isolate()
    with alone(Path(event.store)):
        found = group_at(os.path.join(folder, "x"), event.store)
        is_done = found and not _is_unfinished(event.store, found)
        if is_done or not has_memory(Path(folder)):
            return found
        done = adopt_own(
            Store(Path(event.store)),
            HOSTS[event.host],
            Path(folder),
            environ=event.environ,
            near=event.project,
            name=found,
            who=Who(event.agent or event.host, event.session, event.host),
        )
    if done.linked:
        from gitmem.integrations.install.rewire import rewire

        rewire(Store(Path(event.store)), event.environ)
    else:
        tell(typed(_news(event, done)))
    return done.group


def _news(event: Event, done: OwnAdopted) -> str:
    from gitmem.model.hints import Hint, call

    title = HOSTS[event.host].title
    news = f"gitmem adopted the memory of {title} in {done.folder} as group {done.group!r}"
    if not done.next:
        return news
    return Hint(
        f"{news}. Sessions in {done.project} do not use it: ",
        done.next,
        " links them, ",
        call("link", done.project, remove=True),
        " leaves it so",
    )


def _is_unfinished(store: str, name: str) -> bool:
    """Whether an adoption was interrupted: a hook that is late ends itself."""
    from pathlib import Path

    from gitmem.memory.group import Store

    return Store(Path(store)).is_unfinished(name)


def _left(count: int) -> list[ForModel]:
    if not count:
        return []
    waits = "{count} more edit waits" if count == 1 else "{count} more edits wait"
    return [worded(waits + " for `gitmem capture`.", count=count)]
