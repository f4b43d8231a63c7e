"""Do what was planned, in an order in which a crash loses nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.integrations.install.files import (
    back_up,
    backup_of,
    diff_of,
    digest,
    make,
    missing_folders,
    sweep,
)
from gitmem.integrations.install.locations import PROJECT, Places
from gitmem.integrations.install.plan import Plan
from gitmem.integrations.install.record import begun, install_of, installs, remember
from gitmem.integrations.install.skills.installed import make_skills


class FileDone(NamedTuple):
    """What became, or would become, of one file."""

    path: str
    action: str
    diff: str
    backup: str = ""
    """Where it is kept as it was, if it is somebody else's."""
    skill: str = ""
    """The folder of the skill of which it is a part."""


def told(plan: Plan, store: Path, skills: Path) -> Iterator[FileDone]:
    for change in plan.changes:
        if change.action != "nothing":
            path, skill, backup = str(change.path), "", ""
            if change in plan.skills.changes:
                skill = str(skills / change.path.relative_to(skills).parts[0])
            is_theirs = change in plan.shared or change in plan.skills.exchanges(skills)
            if is_theirs and change.before is not None:
                backup = str(backup_of(store, change.path, digest(change.before)))
            yield FileDone(path, change.action, diff_of(change), backup, skill)


def carry_out(plan: Plan, store: Path, where: Places) -> None:
    """Do what was planned; the record first, so that nothing of ours is ever unknown.

    Before it come the copies of which it speaks: a record without them takes somebody else's skill
    for one of ours that was edited, and neither replaces it nor gives it back.
    """
    folders = (*plan.record.folders, *missing_folders(plan.changes))
    record = plan.record._replace(folders=tuple(dict.fromkeys(folders)))
    _prepare(plan, store, where)
    remember(store, begun(record, install_of(store, where)), plan.kept)
    _make(plan, where)
    removed = [each.path for each in plan.shared if each.action == "removed"]
    inside = [x for x in record.folders if any(Path(x) in each.parents for each in removed)]
    gone = _remove_empty(inside)
    folders = tuple(each for each in record.folders if each not in gone)
    remember(store, record._replace(folders=folders), plan.kept)


def _remove_empty(folders: Iterable[str]) -> list[str]:
    """Remove those of FOLDERS that are empty, the innermost first; tell which."""
    gone = []
    for folder in sorted(folders, key=len, reverse=True):
        with suppress(OSError):  # somebody has put something there
            Path(folder).rmdir()
            gone.append(folder)
    return gone


def _make(plan: Plan, where: Places) -> None:
    make_skills(plan.skills, where.skills, mode=_mode(where))
    for change in (*plan.own, *reversed(plan.shared)):  # the host is told last
        if change.action != "nothing":
            is_script = (change.after or b"").startswith(b"#!")
            make(change, mode=0o755 if is_script else _mode(where))


def _mode(where: Places) -> int:
    return 0o644 if where.scope == PROJECT else 0o600


def _prepare(plan: Plan, store: Path, where: Places) -> None:
    """Sweep up after those who died, and keep each file as it is."""
    given = (where.skills / each for each in (*plan.record.skills, *plan.record.skills_begun))
    touched = (*given, *(change.path for change in plan.changes))
    sweep({store, where.skills, *(each.parent for each in touched)})
    for change in (*plan.shared, *plan.skills.exchanges(where.skills)):
        if change.action != "nothing":
            back_up(store, change)


def take_out(plan: Plan, store: Path, where: Places) -> None:
    """Do it backwards: the host is told first, and the record goes last."""
    _prepare(plan, store, where)
    for change in plan.shared:
        if change.action != "nothing":
            make(change, mode=_mode(where))
    make_skills(plan.skills, where.skills, mode=_mode(where))
    gone = _remove_empty(plan.record.folders)
    if installs(store):
        folders = tuple(each for each in plan.record.folders if each not in gone)
        record = plan.record._replace(skills={}, skills_begun={}, handlers={}, folders=folders)
        remember(store, record, plan.kept, gone=not plan.left)
