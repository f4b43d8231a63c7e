"""Take and list snapshots: one annotated tag for each day on which memory changed."""

from __future__ import annotations

import re
from datetime import date, datetime
from itertools import count, pairwise

from gitmem.errors import BadInput
from gitmem.memory.group import Group
from gitmem.memory.upkeep.jobs import JobOutcome, run_job
from gitmem.memory.write.capture import capture
from gitmem.model.commit_messages import visible
from gitmem.model.record import Record
from gitmem.store.refs.tags import Tag, read_tag, replace_tag, sound_tags, tag_names, write_tag
from gitmem.store.repository import Repository, differences
from gitmem.store.transaction.capture import Captured, HeldEdit

PREFIX = "snapshot/"
MESSAGE = "memory: daily snapshot {date}"
RECENT = 50
"""Commits that are searched for days without a snapshot before one is taken."""


class Snapshotted(Record):
    """A snapshot that was taken, or why not."""

    name: str
    date: date
    commit: str
    """The commit of the tag of that name; without one, the tip of the branch."""
    outcome: str
    """made, exists (today has one already) or unchanged (since the last one)"""
    kept: str = ""
    """The name that the replaced one has now, if it was forced."""
    since: str = ""
    """The one before, empty for the first ..."""
    changes: int = 0
    """... and how many files differ from it."""
    captured: tuple[Captured, ...] = ()
    held: tuple[HeldEdit, ...] = ()
    """Held edits, which are not in it."""

    @property
    def made(self) -> bool:
        """True if a new one was taken."""
        return self.outcome == "made"


class SnapshotRow(Record):
    """One snapshot of a list."""

    name: str
    date: str
    """Empty if the name holds none."""
    commit: str
    message: str
    agent: str
    time: datetime | None
    changes: int
    """How many files differ from the one before; for the first, how many it has."""


def snapshot(group: Group, *, force: bool = False, reason: str = "") -> Snapshotted:
    """Capture edits, then tag the tip of the branch; once a day unless FORCE."""
    return run_job(group, "snapshot", lambda: _snapshot(group, force, reason), job_outcome)


def job_outcome(done: Snapshotted) -> JobOutcome:
    """The line of a snapshot in the job log."""
    if done.outcome == "exists":
        return JobOutcome("nothing", f"{done.name} was made before")
    if done.outcome == "unchanged":
        return JobOutcome("nothing", "no memory changes since the last one")
    return JobOutcome("done", f"{done.name}, {done.changes:,} changed", done.changes)


def _snapshot(group: Group, force: bool, reason: str) -> Snapshotted:
    from gitmem.memory.upkeep.missed_snapshots import note_gap

    note = group.note("snapshot", reason=reason)
    found = capture(group, reason=reason)
    with group.writing() as writer:
        repository, now = writer.repository, group.now()
        commit, day = repository.tip(), now.date()
        last = latest(repository, day)
        name = f"{PREFIX}{day}"
        made = Tag(name, commit, note.agent, now, _message(day, reason))
        done = Snapshotted(name, day, commit, "made", captured=found.captured, held=found.held)
        before = read_tag(repository, name)
        if before and not force:
            return done._replace(outcome="exists", commit=before.commit)
        changes = _changes(repository, last.commit if last else None, commit)
        if not changes:
            return done._replace(outcome="unchanged")
        kept = _kept_name(repository, before) if before else ""
        if before:
            replace_tag(repository, made, "" if read_tag(repository, kept) else kept)
        else:
            note_gap(group)
            write_tag(repository, made)
        since = kept or (last.name if last else "")
        return done._replace(kept=kept, since=since, changes=changes)


def _message(day: date, reason: str) -> str:
    lines = [visible(line.rstrip()) for line in reason.strip().splitlines()]
    return "\n\n".join(filter(None, (MESSAGE.format(date=day), "\n".join(lines))))


def _changes(repository: Repository, before: str | None, after: str) -> int:
    """How many files differ between two commits."""
    old = repository.commit(before).tree if before else None
    return sum(1 for _ in differences(repository, "", old, repository.commit(after).tree))


def _kept_name(repository: Repository, tag: Tag) -> str:
    """The name for a replaced snapshot; its current one, if an earlier run was interrupted."""
    names = set(tag_names(repository, tag.name))
    number = next(each for each in count(1) if f"{tag.name}-{each}" not in names)
    last = f"{tag.name}-{number - 1}"
    known = read_tag(repository, last) if number > 1 else None
    return last if known == tag._replace(name=last) else f"{tag.name}-{number}"


def latest(repository: Repository, today: date) -> Tag | None:
    """The newest snapshot, at a cost that does not grow with the history."""
    return next(sound_tags(repository, _newest_first(repository, today)), None)


def latest_of(repository: Repository, day: str) -> Tag | None:
    """The newest snapshot of DAY or a day before it."""
    names = [each for each in tag_names(repository, PREFIX) if "" < day_of(each) <= day]
    return next(sound_tags(repository, sorted(names, key=_order, reverse=True)), None)


def has_grown(group: Group) -> bool:
    """Whether memory has changed since the snapshot of today, if there is one."""
    repository = group.repository
    made = read_tag(repository, f"{PREFIX}{group.now().date()}")
    now = repository.tip()
    return made is not None and repository.commit(made.commit).tree != repository.commit(now).tree


def snapshots(group: Group, *, limit: int = 0) -> tuple[SnapshotRow, ...]:
    """The snapshots, newest first."""
    if limit < 0:
        raise BadInput("limit must not be negative", hint="leave out the limit")
    repository = group.repository
    names = _newest_first(repository, group.now().date())
    tags = list(sound_tags(repository, names[: limit + 1] if limit else names))
    rows = [_row(repository, tag, before) for tag, before in pairwise((*tags, None)) if tag]
    return tuple(rows[:limit] if limit else rows)


def _row(repository: Repository, tag: Tag, before: Tag | None) -> SnapshotRow:
    changes = _changes(repository, before.commit if before else None, tag.commit)
    day = day_of(tag.name)
    return SnapshotRow(tag.name, day, tag.commit, tag.message, tag.tagger, tag.time, changes)


def _newest_first(repository: Repository, today: date) -> list[str]:
    """The names, newest first; those of future days, by a clock that was ahead, come last."""

    def order(name: str) -> tuple[bool, tuple[str, float, str]]:
        return day_of(name) <= str(today), _order(name)

    return sorted(tag_names(repository, PREFIX), key=order, reverse=True)


def day_of(name: str) -> str:
    """The day in the name of a snapshot; empty if it has none."""
    return _order(name)[0]


def _order(name: str) -> tuple[str, float, str]:
    """The sort key of a name: of one day, the one without a number is the newest."""
    found = re.fullmatch(rf"{PREFIX}(\d{{4}}-\d\d-\d\d)(?:-(\d{{1,6}}))?", name, re.ASCII)
    if not found:
        return "", 0, name
    return found[1], int(found[2]) if found[2] else float("inf"), name
