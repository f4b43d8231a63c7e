"""Commit edits that somebody made with ordinary tools."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from gitmem.errors import Conflict, PathNotFound, PathRefused
from gitmem.memory.group import Group, Who, make_note
from gitmem.memory.write.open_edits import PendingEdit, Scan, pending_edits, scan_edits
from gitmem.memory.writing import FINDER
from gitmem.model.commit_messages import RUN, Note, revealed
from gitmem.model.guards import MARKERS_RULE, hold_rule
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import FILE
from gitmem.model.paths import is_inside
from gitmem.model.record import Record
from gitmem.model.secrets.find import redact
from gitmem.model.text.format import quoted
from gitmem.store.lock import WAIT
from gitmem.store.transaction.capture import Captured, HeldEdit, new_id
from gitmem.store.transaction.git_operations import GitOperation
from gitmem.store.transaction.writer import Writer

Progress = Callable[[int, int], None]
Whose = Callable[[Sequence[PendingEdit]], Mapping[str, Who]]
"""Who made each of some edits, by path."""


class CapturedAll(Record):
    """What was found in the work tree and what became of it."""

    captured: tuple[Captured, ...]
    held: tuple[HeldEdit, ...]
    ignored: int
    left: int = 0
    """How many edits wait for the next time, where so many or so much time were too much."""
    ignored_by_pattern: int = 0
    """What somebody decided to leave out of memory: see `held ignore`."""
    claimed: tuple[str, ...] = ()
    """Files that belong to an operation which a person has begun with plain git ..."""
    operation: GitOperation | None = None
    """... and which that is; it may also have no files at all."""
    still_memory: tuple[str, ...] = ()
    """Files that a captured `gitmem.yaml` ignores, and that git has: they stay memory."""


def capture(
    group: Group,
    paths: Sequence[str] = (),
    *,
    reason: str = "",
    must_exist: bool = False,
    allow_markers: bool = False,
    wait: float = WAIT,
    most: int = 0,
    seconds: float = math.inf,
    progress: Progress | None = None,
    whose: Whose | None = None,
) -> CapturedAll:
    """Commit each edited file by itself, in the name of whoever acts, or of WHOSE it is.

    The scan runs without the lock; each file is looked at again under it, and the lock is free
    between two files. ALLOW_MARKERS: also what would be held for conflict markers.
    WAIT so long for it; MOST: no more edits than these, and 0 is all. SECONDS:
    so long for the scan, and after the first edit, which is always taken in, as long again.
    """
    finder = group.note("capture", reason=reason)._replace(extra=((RUN, new_id()),))
    targets = [_path_in(group, each) for each in paths]
    if must_exist:
        for path in targets:
            _check_known(group, path)
    targets = [each for each in targets if group.is_memory(each)]
    if paths and not targets:
        return CapturedAll((), (), 0)
    work = _Capture(group, finder, wait, seconds)
    work.recover()
    scan = pending_edits(group, targets, until=time.monotonic() + seconds)
    edits = scan.edits[:most] if most else scan.edits
    if whose and edits:
        work.sign(whose(edits))
    held = (*scan.held, *work.capture_all(edits, progress))
    if allow_markers:
        held = tuple(each for each in held if not work.takes_markers(each))
    left = len(scan.edits) - len(edits) + scan.left + work.left
    return CapturedAll(
        tuple(work.captured),
        held,
        scan.ignored,
        left,
        scan.ignored_by_pattern,
        scan.claimed,
        scan.operation,
        _still_memory(group, work.captured),
    )


def _still_memory(group: Group, captured: Iterable[Captured]) -> tuple[str, ...]:
    if not group.is_outside or all(each.path != FILE for each in captured):
        return ()
    from gitmem.memory.scope import ignored_memory  # only where the layout was edited

    return ignored_memory(group, group.repository.snapshot())


class _Capture:
    """One capture, which has so much time."""

    def __init__(self, group: Group, finder: Note, wait: float, seconds: float) -> None:
        self._group, self._finder = group, finder
        self._wait, self._seconds = wait, seconds
        self._hurried = seconds < math.inf
        self._finders: dict[str, Note] = {}
        self.captured: list[Captured] = []
        self.left = 0

    def sign(self, makers: Mapping[str, Who]) -> None:
        """Commit edits in the name of MAKERS, by path."""
        reason, extra = self._finder.reason, self._finder.extra
        for path, who in makers.items():
            note = make_note(who, self._finder.op, reason=reason)
            self._finders[path] = note._replace(extra=extra)

    def recover(self) -> None:
        """What a dead writer left behind is finished first, or it would look like edits."""
        with self._group.writing(self._wait, hurried=self._hurried, finder=self._finder) as writer:
            writer.sweep()
            self.captured += writer.captured

    def capture_all(
        self, edits: Sequence[PendingEdit], progress: Progress | None
    ) -> list[HeldEdit]:
        """Commit EDITS, as far as there is time; tell what is held."""
        until, done = math.inf, 0

        def captured(edit: PendingEdit) -> HeldEdit | None:
            nonlocal until, done
            if time.monotonic() > until:
                self.left += 1
                return None
            holding = self._capture_edit(edit)
            until = min(until, time.monotonic() + self._seconds)  # the first may have waited
            done += 1
            if progress:
                progress(done, len(edits))
            return holding

        return _in_turn(edits, captured)

    def takes_markers(self, each: HeldEdit) -> bool:
        """Commit a file that is held for its conflict markers alone; False for any other."""
        if not each.rule.startswith(MARKERS_RULE):
            return False
        allowed = ("Gitmem-Violation", f"accepted by hand: {each.rule}")
        finder = self._finder._replace(extra=(*self._finder.extra, allowed))
        with self._group.writing(self._wait, hurried=self._hurried) as writer:
            state = writer.worktree.look(each.path)
            if state.data is None or hold_rule(each.path, "", state.data, None, allow_markers=True):
                return False  # somebody has changed it since
            writer.accept(each.path, state, finder)
            self.captured.extend(writer.captured)
        return True

    def _capture_edit(self, edit: PendingEdit) -> HeldEdit | None:
        with self._group.writing(self._wait, hurried=self._hurried) as writer:
            holding = _captured_edit(writer, edit, self._finders.get(edit.path, self._finder))
            self.captured.extend(writer.captured)
        return holding


def _path_in(group: Group, path: str) -> str:
    """PATH as the group names it; a name that is in use is judged later: it may be deleted."""
    try:
        return group.relative(path)
    except PathRefused:
        for name in map(group.inside, (path, revealed(path))):
            there = is_inside(name) and os.path.lexists(group.worktree / name)
            if there or (name and group.repository.snapshot().node(name)):
                return name
        raise


def _check_known(group: Group, path: str) -> None:
    """Refuse a path that is neither in the work tree nor at HEAD: it is a typing mistake."""
    known = not path or group.repository.snapshot().node(path)
    if not known and not os.path.lexists(group.worktree / path):
        raise PathNotFound(
            f"no file {path!r} in the work tree or in the last commit",
            hint=Hint("see what waits to be captured with ", call("status")),
            path=path,
        )
    scope = group.scope(group.repository.snapshot())
    if scope and not group.is_memory(path):
        from gitmem.memory.scope import outside_memory  # only beside other work

        raise outside_memory(scope.scope, path)


def capture_paths(writer: Writer, paths: Iterable[str]) -> tuple[HeldEdit, ...]:
    """Commit the edits at and below PATHS under the lock of WRITER; return those that are held."""
    named = list(paths)
    if not named:
        return ()  # a scan of no paths is one of the whole work tree
    return capture_edits(writer, scan_edits(writer.repository, writer.worktree, named))


def capture_edits(writer: Writer, scan: Scan, finder: Note = FINDER) -> tuple[HeldEdit, ...]:
    """Capture all that SCAN found, under one lock; return the held edits."""
    return (*scan.held, *_in_turn(scan.edits, lambda edit: _captured_edit(writer, edit, finder)))


def _in_turn(
    edits: Iterable[PendingEdit], capture: Callable[[PendingEdit], HeldEdit | None]
) -> list[HeldEdit]:
    """Capture each; one whose path another still holds waits until that one is done."""
    held: list[HeldEdit] = []
    waiting, last = list(edits), -1
    while waiting and len(waiting) != last:
        last, turn, waiting = len(waiting), waiting, []
        for edit in turn:
            try:
                holding = capture(edit)
            except _PathTaken:
                waiting.append(edit)
            else:
                held += [holding] if holding else []
    return [*held, *(HeldEdit(edit.path, "in the way") for edit in waiting)]


class _PathTaken(Exception):
    """The path is taken by a folder or file that is not captured as removed yet."""


def _captured_edit(writer: Writer, edit: PendingEdit, finder: Note) -> HeldEdit | None:
    try:
        if edit.moved_to:
            result = _moved_out(writer, edit, finder)
        elif edit.change != "moved":
            result = writer.capture(edit.path, finder)
        else:
            result = writer.capture_move(edit.moved_from, edit.path, finder)
            writer.capture(edit.moved_from, finder)  # where it could not be one commit
    except Conflict as error:
        raise _PathTaken from error
    return result if isinstance(result, HeldEdit) else None


def _moved_out(writer: Writer, edit: PendingEdit, finder: Note) -> Captured | HeldEdit | None:
    """Commit that a file left memory, with where it went as the reason."""
    where = f"moved to {quoted(redact(edit.moved_to)[0])}, outside memory"
    reason = f"{finder.reason} ({where})" if finder.reason else where
    result = writer.capture(edit.path, finder._replace(reason=reason))
    if isinstance(result, Captured) and writer.captured[-1] is result:
        result = writer.captured[-1] = result._replace(moved_to=edit.moved_to)
    return result
