"""What a schedule should be: whose store, which program, which jobs, in which zones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from hashlib import sha256
from pathlib import Path
from string import Template
from typing import NamedTuple

from gitmem.errors import BadInput, GitmemError, GroupRefused
from gitmem.integrations.schedule.times import Job, Time, by_machine, timetable
from gitmem.memory.clock import named_zone, zone_of
from gitmem.memory.group import Group, Store
from gitmem.model.access import MAIN
from gitmem.resources import templates

DIGITS = 8
DELETE = "\x7f"


class Plan(NamedTuple):
    """A schedule as it should be."""

    program: tuple[str, ...]
    store: str
    label: str
    """What tells it from the schedules of other stores; empty for the default store."""
    jobs: tuple[Job, ...]
    zones: tuple[str, ...]
    """The zones in which days of groups begin; an empty name is the zone of the machine."""
    groups: tuple[str, ...]
    now: datetime
    """In the zone of the machine."""
    environ: Mapping[str, str]

    def command(self, job: Job) -> tuple[str, ...]:
        """What a scheduler runs."""
        return (*self.program, "--store", self.store, "schedule", "run", job.name, "--quiet")

    def machine_times(self, job: Job) -> list[Time]:
        """When it is time for JOB in one of the zones, by the clock of the machine."""
        machine, today = self.now.tzinfo, self.now.date()
        assert machine is not None
        zones = [named_zone(each) if each else None for each in self.zones]
        found = [by_machine(job.time, each, machine, today) for each in zones]
        return list(dict.fromkeys(each for times in found for each in times))


class Altered(NamedTuple):
    """One file of a schedule, and what becomes of it."""

    path: str
    change: str
    """created, changed, removed, or kept where it is as it should be"""


class Scheduled(NamedTuple):
    """What was done with one scheduler."""

    backend: str
    changed: bool
    dry_run: bool
    files: tuple[Altered, ...]
    commands: tuple[tuple[str, ...], ...]
    """The programs that were called, or would be."""
    diff: str
    notes: tuple[str, ...] = ()


class Entry(NamedTuple):
    """One job of a schedule, as a scheduler has it."""

    job: str
    time: str
    state: str
    """present, outdated (it was made for another time, program or store), missing, or foreign (a
    file has its name that is not ours)"""
    active: bool | None = None
    """Whether the timer runs; None where the scheduler has none."""


def planned(
    store: Store,
    *,
    program: tuple[str, ...],
    default: Path,
    acting: str | None,
    now: datetime,
    environ: Mapping[str, str],
) -> Plan:
    """The schedule for STORE; DEFAULT is the store that needs no name."""
    check_may(acting)
    root = str(store.root)
    for each in (root, *program):
        _check_printable(each)
    label = "" if store.root == default else sha256(root.encode()).hexdigest()[:DIGITS]
    groups = tuple(store.names())
    jobs, zones = timetable(store.settings), _zones(store, groups)
    return Plan(program, root, label, jobs, zones, groups, now, environ)


def check_may(acting: str | None) -> None:
    """Refuse a group that may not act on all others: a schedule does."""
    if acting not in (None, MAIN):
        raise GroupRefused(
            f"the group {acting!r} may not schedule work on all groups",
            hint="ask whoever acts for main",
            acting=acting,
            rule="access",
        )


def _check_printable(path: str) -> None:
    """Refuse a path that neither a crontab nor a unit file can say."""
    if any(each < " " or each == DELETE or "\ud800" <= each <= "\udfff" for each in path):
        raise BadInput(
            f"{path!r} has a character that no crontab and no unit file can hold",
            hint="move it to a path without line breaks and other control characters",
        )


def _zones(store: Store, groups: Sequence[str]) -> tuple[str, ...]:
    found = {_zone(store, each) for each in groups} or {_key(zone_of(store.root))}
    return tuple(sorted(found))


def _zone(store: Store, name: str) -> str:
    try:
        group = Group(store, name)
        try:
            return _key(group.zone)
        finally:
            group.close()
    except (GitmemError, OSError):  # what is damaged is told by who works on it
        return _key(zone_of(store.root))


def _key(zone: tzinfo) -> str:
    """The name of a zone; that of the machine has none."""
    return str(getattr(zone, "key", ""))


def template(name: str) -> Template:
    """One of the files in templates/schedule."""
    return Template((templates() / "schedule" / name).read_text("utf-8"))


def unified_diff(path: str, before: str | None, after: str | None) -> str:
    """What becomes of one file, as a diff; None is a file that is not there."""
    from difflib import unified_diff as diff

    old, new = ((each or "").splitlines(keepends=True) for each in (before, after))
    old_path, new_path = ("/dev/null" if each is None else path for each in (before, after))
    lines = diff(old, new, old_path, new_path)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
