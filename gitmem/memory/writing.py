"""Hold a group's lock to write, with what belongs before and after every write."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from gitmem.errors import Damaged, GitmemError
from gitmem.memory.searched import keep_run
from gitmem.model.commit_messages import Note
from gitmem.model.layout.layout import FILE
from gitmem.store.lock import WAIT
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Rules
from gitmem.store.transaction.writer import Writer, open_writer

if TYPE_CHECKING:
    from gitmem.memory.group import Group

FINDER = Note(op="capture", id="", agent="unknown")
"""How an edit found on the way is recorded: its author is unknown."""


@contextmanager
def hold_lock(
    group: Group,
    wait: float = WAIT,
    *,
    late: bool = False,
    hurried: bool = False,
    finder: Note = FINDER,
) -> Iterator[Writer]:
    """The group's lock, held. Raises Busy after WAIT seconds.

    What a person did with plain git since the last writer is captured first, in the name of
    FINDER; LATE: at the end, for an operation that has to see it as it stands; HURRIED: by the
    next writer.
    """
    group.ensure_worktree()
    goes_on = hurried or group.credential_search.search_new()
    rules = Rules(partial(_policy, group), partial(_check, group))
    with open_writer(
        group.repository, group.worktree, group.now, FINDER, wait=wait, rules=rules
    ) as writer:
        group.writer = writer
        try:
            if not goes_on or writer.strayed:
                keep_run(group.gitdir, writer.run_before)
                writer.begin_run()
            changed = not hurried and writer.index_changed()
            if changed and not late:
                _capture_all(group, writer, finder)
            yield writer
            with suppress(GitmemError, OSError):  # the operation is done: the rest can wait
                if changed and late:
                    _capture_all(group, writer, finder)
            with suppress(GitmemError, OSError):
                writer.look_back()
        finally:
            group.writer = None
            group.rejoined += writer.rejoined
            group.put_forward += writer.put_forward
    if group.is_outside and writer.published != writer.run_before[1]:
        _exclude_rest(group, writer.run_before[1])
    group.credential_search.count_written(writer, goes_on=goes_on and not hurried)


def _capture_all(group: Group, writer: Writer, finder: Note) -> None:
    from gitmem.memory.write.capture import capture_edits
    from gitmem.memory.write.open_edits import scan_edits

    capture_edits(writer, scan_edits(group.repository, writer.worktree), finder)
    writer.restage()


def _policy(group: Group, snapshot: Snapshot, path: str) -> str:
    from gitmem.memory.layouts import layout_at

    with suppress(Damaged):  # an edit has happened: it is captured all the same
        return layout_at(group, snapshot).layout.policy_of(path)
    return "free"


def _check(group: Group, files: Mapping[str, bytes | None]) -> None:
    """Refuse a layout that cannot be read, an ignored path, and a file beside memory."""
    data = files.get(FILE)
    if data is not None:
        from gitmem.memory.layouts import check_layout

        check_layout(data, group.current_layout())
    if os.path.exists(f"{group.gitdir}/gitmem/ignored"):
        from gitmem.store.worktree.ignored import Ignored  # most groups ignore nothing

        Ignored(group.gitdir).check(files, group.repository.snapshot())
    if group.is_outside:
        from gitmem.memory.scope import check_writable

        check_writable(group, files)


def _exclude_rest(group: Group, since: str) -> None:
    """Tell git what is memory by the commits after SINCE."""
    from gitmem.model.scope import EVERYTHING
    from gitmem.store.worktree.scope import exclude_rest, paths_left

    with suppress(GitmemError, OSError):  # a rule that cannot be written stops nobody
        found = group.scope(group.repository.snapshot())
        scope = found.scope if found else EVERYTHING
        exclude_rest(group.gitdir, scope, paths_left(group.repository, scope, since))
        if found and since:
            from gitmem.memory.scope import left_outside

            left = left_outside(group, since)
            group.left_outside += [left] if left else []
