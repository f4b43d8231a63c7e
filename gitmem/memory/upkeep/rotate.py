"""Begin the log of a new day: the old one moves to its date, then a fresh one is made.

Move first and create second, as two commits with one move of the branch: so plain `git blame` and
`git log --follow` see a rename and keep every line's date.

A log is of the day in its header. One without a header is of the day on which it was last changed,
unless a version of today had today's header: then somebody replaced today's log without it, and the
header is put back in front instead of the notes being moved away.
"""

from __future__ import annotations

from datetime import date, datetime, time

from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_of
from gitmem.memory.upkeep.jobs import JobOutcome, traced
from gitmem.memory.write.capture import capture_edits
from gitmem.memory.write.changeset import check_place
from gitmem.memory.write.open_edits import scan_edits
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
    """Every log that the layout knows."""
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
        """False when there was nothing to do."""
        return bool(self.rotated or self.created or self.headed)


def rotate(group: Group, *, reason: str = "") -> Rotated:
    """Let each log of a day that is over go to its date; one of today stays as it is."""
    return traced(group, "rotate", lambda: _rotate(group, reason), job_outcome)


def job_outcome(done: Rotated) -> JobOutcome:
    """What a rotation leaves as its trace."""
    if not done.logs:
        return JobOutcome("nothing", "the layout has no log")
    if not done.changed:
        return JobOutcome(
            "nothing", f"{', '.join(done.logs)} is of today, {done.today}", len(done.logs)
        )
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
        turns = [_Turn(group, writer, each, today, note) for each in layers]
        for turn in turns:
            turn.take()
        return Rotated(
            next((each.commit for each in reversed(turns) if each.commit), "")
            or writer.repository.tip(),
            today,
            tuple(each.path for each in layers),
            tuple(pair for turn in turns for pair in turn.moved),
            tuple(turn.path for turn in turns if turn.created),
            tuple(turn.path for turn in turns if turn.headed),
            tuple(writer.captured),
            tuple(writer.set_aside),
            writer.pending,
        )


class _Turn:
    """One log, and the day that begins."""

    def __init__(self, group: Group, writer: Writer, layer: Layer, today: date, note: Note) -> None:
        self._group, self._writer, self._layer = group, writer, layer
        self._today, self._note = today, note
        self._edited: date | None = None
        self.path = layer.path
        self.moved: tuple[tuple[str, str], ...] = ()
        self.created = self.headed = False
        self.commit = ""

    def take(self) -> None:
        """Take in what somebody did to the log, then let it go."""
        writer = self._writer
        capture_edits(writer, scan_edits(writer.repository, writer.worktree, self._places()))
        if any(each.path == self.path for each in writer.captured):
            found = writer.worktree.look(self.path).stat
            # Captured a moment ago, but that is not when it was written.
            self._edited = min(self._local(found.st_mtime), self._today) if found else None
        published = writer.publish(self._plan)
        self.commit = published.commit if published.changed else ""

    def _places(self) -> list[str]:
        """Where to look for edits: a log of today leaves the past ones alone."""
        data = self._writer.worktree.look(self.path).data
        if data is not None and header_day(self._layer, data) == self._today:
            return [self.path]
        return [self.path, self._layer.rotated.partition("{")[0].rpartition("/")[0]]

    def _local(self, seconds: float) -> date:
        return datetime.fromtimestamp(seconds, self._group.zone).date()

    def _plan(self, snapshot: Snapshot) -> Plan[None]:
        self.moved, self.created, self.headed = (), False, False
        data = snapshot.read(self.path)
        if data is None:
            return self._creation(snapshot)
        day = header_day(self._layer, data)
        if day == self._today or self._is_of_today(snapshot):
            return Plan((), None)
        if day is None and self._had_header_today(snapshot):
            return self._heading(data)
        return self._rotation(snapshot, data, day or self._last_day(snapshot))

    @property
    def _is_dated(self) -> bool:
        return DATE in self._layer.header

    def _creation(self, snapshot: Snapshot) -> Plan[None]:
        check_place(snapshot, self.path)
        self.created = True
        return Plan((self._fresh_step(),), None)

    def _fresh_step(self) -> Step:
        note = self._note._replace(title=f"a log for {self._today}", paths=(self.path,))
        return Step({self.path: new_log(self._layer, self._today)}, note)

    def _heading(self, data: bytes) -> Plan[None]:
        whole = with_header(self._layer, self._today, data)
        check_size(self.path, len(whole))
        self.headed = True
        note = self._note._replace(title=f"the header of {self._today}", paths=(self.path,))
        return Plan((Step({self.path: whole}, note),), None)

    def _rotation(self, snapshot: Snapshot, data: bytes, day: date) -> Plan[None]:
        def taken(path: str) -> bool:
            return bool(snapshot.node(path)) or not self._writer.worktree.look(path).absent

        target = rotated_path(self._layer, day, taken)
        check_place(snapshot, target, leaving=[self.path])
        self.moved, self.created = ((self.path, target),), True
        note = self._note._replace(
            title=f"{self.path} -> {target}",
            paths=(self.path,),
            extra=(("Gitmem-From", self.path),),
        )
        step = Step({self.path: None, target: data}, note)
        return Plan((step, self._fresh_step()), None)

    def _is_of_today(self, snapshot: Snapshot) -> bool:
        """Where the layout gives logs no date, one is of the day on which it was begun."""
        return not self._is_dated and self._first_day(snapshot) == self._today

    def _had_header_today(self, snapshot: Snapshot) -> bool:
        midnight = datetime.combine(self._today, time.min, self._group.zone).timestamp()
        for visit in follow(snapshot.repository, snapshot.commit, self.path, since=midnight):
            data = sound(snapshot.repository.snapshot(visit.commit.oid), self.path)
            if data is not None and header_day(self._layer, data) == self._today:
                return True
        return False

    def _last_day(self, snapshot: Snapshot) -> date:
        if not self._is_dated:
            return self._first_day(snapshot)
        visits = follow(snapshot.repository, snapshot.commit, self.path)
        last = next(visits, None)
        return self._edited or (self._day_of(last.commit) if last else self._today)

    def _first_day(self, snapshot: Snapshot) -> date:
        """The day on which the file that stands there now was made."""
        repository, day = snapshot.repository, self._today
        for visit in follow(repository, snapshot.commit, self.path):
            day = self._day_of(visit.commit)
            parents = [repository.commit(each) for each in visit.commit.parents[:1]]
            if not any(locate(repository, each.tree, self.path) for each in parents):
                break
        return day

    def _day_of(self, commit: Commit) -> date:
        return commit.time.astimezone(self._group.zone).date()
