"""Rotate logs: the log of a past day moves to its date, and a new one is made.

Move first and create second, as two commits with one move of the branch: so plain `git blame` and
`git log --follow` see a rename and keep every line's date.

The header of a log names its day. A log without a header belongs to the day of its last change,
unless a version of today had today's header: then somebody replaced today's log without it, and the
header is put back instead of the notes being moved away.
"""

from __future__ import annotations

from datetime import date, datetime, time

from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_of
from gitmem.memory.upkeep.jobs import JobOutcome, run_job
from gitmem.memory.write.capture import capture_paths
from gitmem.memory.write.changeset import check_path_free
from gitmem.model.commit_messages import Note
from gitmem.model.guards import check_size
from gitmem.model.layout.archives import DATE, header_day, new_log, rotated_path, with_header
from gitmem.model.layout.layout import Layer
from gitmem.model.record import Record
from gitmem.store.history.log import follow, locate
from gitmem.store.repository import Commit, Snapshot
from gitmem.store.transaction.capture import Captured, sound
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.transaction.writer import Writer
from gitmem.store.worktree.held import SetAside


class Rotated(Record):
    """What became of a group's logs."""

    commit: str
    today: date
    logs: tuple[str, ...]
    """All logs of the layout."""
    rotated: tuple[tuple[str, str], ...] = ()
    """Old path and new path of each that moved."""
    created: tuple[str, ...] = ()
    headed: tuple[str, ...] = ()
    """Logs of today that had lost their header and got it back."""
    captured: tuple[Captured, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    pending: bool = False

    @property
    def changed(self) -> bool:
        """False if there was nothing to do."""
        return bool(self.rotated or self.created or self.headed)


def rotate(group: Group, *, reason: str = "") -> Rotated:
    """Move each log of a past day to its date and begin a new one; a log of today stays."""
    return run_job(group, "rotate", lambda: _rotate(group, reason), job_outcome)


def job_outcome(done: Rotated) -> JobOutcome:
    """The line of a rotation in the job log."""
    if not done.logs:
        return JobOutcome("nothing", "the layout has no log")
    if not done.changed:
        detail = f"{', '.join(done.logs)} is of today, {done.today}"
        return JobOutcome("nothing", detail, len(done.logs))
    made = [path for path in done.created if path not in dict(done.rotated)]
    words = [f"{old} went to {new}" for old, new in done.rotated]
    words += [f"{path} was made" for path in made]
    words += [f"{path} got its header back" for path in done.headed]
    return JobOutcome("done", ", ".join(words), len(done.logs))


def _rotate(group: Group, reason: str) -> Rotated:
    note = group.note("rotate", reason=reason)
    with group.writing() as writer:
        today = group.now().date()
        layers = [each for each in layout_of(group).layers if each.kind == "log"]
        done = Rotated(writer.repository.tip(), today, tuple(each.path for each in layers))
        for layer in layers:
            rotation = _Rotation(group, writer, layer, today, note)
            published = writer.publish(rotation.plan)
            found = published.result
            done = done._replace(
                commit=published.commit if published.changed else done.commit,
                rotated=(*done.rotated, *found.rotated),
                created=(*done.created, *found.created),
                headed=(*done.headed, *found.headed),
            )
        return done._replace(
            commit=done.commit if done.changed else writer.repository.tip(),
            captured=tuple(writer.captured),
            set_aside=tuple(writer.set_aside),
            pending=writer.pending,
        )


class _Rotation:
    """The rotation of one log, after edits to it were captured."""

    def __init__(self, group: Group, writer: Writer, layer: Layer, today: date, note: Note) -> None:
        self._group, self._writer, self._layer = group, writer, layer
        self._today, self._note, self._path = today, note, layer.path
        self._unchanged = Rotated("", today, ())
        capture_paths(writer, self._edited_paths())
        self._edited: date | None = None
        if any(each.path == self._path for each in writer.captured):
            found = writer.worktree.look(self._path).stat
            # It was captured just now, but the edit may be older.
            self._edited = min(self._local(found.st_mtime), today) if found else None

    def _edited_paths(self) -> list[str]:
        """The paths to search for edits: with a log of today, not those of past logs."""
        data = self._writer.worktree.look(self._path).data
        if data is not None and header_day(self._layer, data) == self._today:
            return [self._path]
        return [self._path, self._layer.rotated.partition("{")[0].rpartition("/")[0]]

    def _local(self, seconds: float) -> date:
        return datetime.fromtimestamp(seconds, self._group.zone).date()

    def plan(self, snapshot: Snapshot) -> Plan[Rotated]:
        """Make the log, give it its header back, move it away, or leave it."""
        data = snapshot.read(self._path)
        if data is None:
            check_path_free(snapshot, self._path)
            return Plan((self._fresh_step(),), self._unchanged._replace(created=(self._path,)))
        day = header_day(self._layer, data)
        if day == self._today or self._is_of_today(snapshot):
            return Plan((), self._unchanged)
        if day is None and self._had_header_today(snapshot):
            return self._with_header(data)
        return self._moved(snapshot, data, day or self._last_day(snapshot))

    @property
    def _is_dated(self) -> bool:
        return DATE in self._layer.header

    def _fresh_step(self) -> Step:
        note = self._note._replace(title=f"a log for {self._today}", paths=(self._path,))
        return Step({self._path: new_log(self._layer, self._today)}, note)

    def _with_header(self, data: bytes) -> Plan[Rotated]:
        whole = with_header(self._layer, self._today, data)
        check_size(self._path, len(whole))
        note = self._note._replace(title=f"the header of {self._today}", paths=(self._path,))
        done = self._unchanged._replace(headed=(self._path,))
        return Plan((Step({self._path: whole}, note),), done)

    def _moved(self, snapshot: Snapshot, data: bytes, day: date) -> Plan[Rotated]:
        def taken(path: str) -> bool:
            return bool(snapshot.node(path)) or not self._writer.worktree.look(path).absent

        target = rotated_path(self._layer, day, taken)
        check_path_free(snapshot, target, leaving=[self._path])
        note = self._note._replace(
            title=f"{self._path} -> {target}",
            paths=(self._path,),
            extra=(("Gitmem-From", self._path),),
        )
        step = Step({self._path: None, target: data}, note)
        done = self._unchanged._replace(rotated=((self._path, target),), created=(self._path,))
        return Plan((step, self._fresh_step()), done)

    def _is_of_today(self, snapshot: Snapshot) -> bool:
        """Whether a log that the layout gives no date was begun today."""
        return not self._is_dated and self._first_day(snapshot) == self._today

    def _had_header_today(self, snapshot: Snapshot) -> bool:
        midnight = datetime.combine(self._today, time.min, self._group.zone).timestamp()
        for visit in follow(snapshot.repository, snapshot.commit, self._path, since=midnight):
            data = sound(snapshot.repository.snapshot(visit.commit.oid), self._path)
            if data is not None and header_day(self._layer, data) == self._today:
                return True
        return False

    def _last_day(self, snapshot: Snapshot) -> date:
        if not self._is_dated:
            return self._first_day(snapshot)
        visits = follow(snapshot.repository, snapshot.commit, self._path)
        last = next(visits, None)
        return self._edited or (self._day_of(last.commit) if last else self._today)

    def _first_day(self, snapshot: Snapshot) -> date:
        """The day on which the current file was made."""
        repository, day = snapshot.repository, self._today
        for visit in follow(repository, snapshot.commit, self._path):
            day = self._day_of(visit.commit)
            parents = [repository.commit(each) for each in visit.commit.parents[:1]]
            if not any(locate(repository, each.tree, self._path) for each in parents):
                break
        return day

    def _day_of(self, commit: Commit) -> date:
        return commit.time.astimezone(self._group.zone).date()
