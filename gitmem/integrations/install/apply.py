"""Carry out a plan, in an order in which a crash loses nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.integrations.install.files import (
    back_up,
    backup_of,
    diff_of,
    digest,
    make,
    missing_folders,
    sweep,
)
from gitmem.integrations.install.host_files import PROJECT, HostFiles
from gitmem.integrations.install.plan import InstallPlan
from gitmem.integrations.install.record import begun, installs, remember
from gitmem.integrations.install.skill_update import make_skills


class FileDone(NamedTuple):
    """What happened, or would happen, to one file."""

    path: str
    action: str
    diff: str
    backup: str = ""
    """The copy of a file of others, as it was."""
    skill: str = ""
    """The folder of the skill that it belongs to."""


def files_done(plan: InstallPlan) -> Iterator[FileDone]:
    """Each file that PLAN changes."""
    folder, store = plan.linking.where.skills, plan.linking.store
    for edit in plan.changes:
        if edit.action != "nothing":
            skill, backup = "", ""
            if edit in plan.skills.changes:
                skill = str(folder / edit.path.relative_to(folder).parts[0])
            is_theirs = edit in plan.shared or edit in plan.skills.exchanges(folder)
            if is_theirs and edit.before is not None:
                backup = str(backup_of(store, edit.path, digest(edit.before)))
            yield FileDone(str(edit.path), edit.action, diff_of(edit), backup, skill)


def carry_out(plan: InstallPlan) -> None:
    """Carry out PLAN: first the backups, then the record, then the files.

    Backups come first because the record names them: without its backup, a foreign skill
    would look like one of ours that was edited, and be neither replaced nor put back.
    """
    store, where = plan.linking.store, plan.linking.where
    folders = (*plan.record.folders, *missing_folders(plan.changes))
    record = plan.record._replace(folders=tuple(dict.fromkeys(folders)))
    _prepare(plan)
    remember(store, begun(record, plan.known), plan.files)
    make_skills(plan.skills, where.skills, mode=_mode(where))
    for edit in (*plan.own, *reversed(plan.shared)):  # the hooks of the host come last
        if edit.action != "nothing":
            is_script = (edit.after or b"").startswith(b"#!")
            make(edit, mode=0o755 if is_script else _mode(where))
    removed = [each.path for each in plan.shared if each.action == "removed"]
    inside = [x for x in record.folders if any(Path(x) in each.parents for each in removed)]
    gone = _remove_empty(inside)
    folders = tuple(each for each in record.folders if each not in gone)
    remember(store, record._replace(folders=folders), plan.files)


def take_out(plan: InstallPlan) -> None:
    """Carry out PLAN backwards: first the hooks of the host, and the record last.

    A row stays for files that keep a part of ours, without the version: nothing updates it any
    more, and the next `--uninstall` finishes it.
    """
    store, where = plan.linking.store, plan.linking.where
    _prepare(plan)
    for edit in plan.shared:
        if edit.action != "nothing":
            make(edit, mode=_mode(where))
    make_skills(plan.skills, where.skills, mode=_mode(where))
    gone = _remove_empty(plan.record.folders)
    if installs(store):
        folders = tuple(each for each in plan.record.folders if each not in gone)
        none: dict[str, Any] = {"skills": {}, "skills_begun": {}, "handlers": {}, "choices": {}}
        record = plan.record._replace(gitmem="", folders=folders, **none)
        remember(store, record, plan.files, gone=not plan.left and not record.given)


def _prepare(plan: InstallPlan) -> None:
    """Remove half-written files of processes that died, and back up each file."""
    store, where = plan.linking.store, plan.linking.where
    given = (where.skills / each for each in (*plan.record.skills, *plan.record.skills_begun))
    paths = (*given, *(edit.path for edit in plan.changes))
    sweep({store, where.skills, *(each.parent for each in paths)})
    for edit in (*plan.shared, *plan.skills.exchanges(where.skills)):
        # A store that the user deleted is not created again to remove our parts from files.
        if edit.action != "nothing" and store.is_dir():
            back_up(store, edit)


def _remove_empty(folders: Iterable[str]) -> list[str]:
    """Remove those of FOLDERS that are empty, the innermost first; return them."""
    gone = []
    for folder in sorted(folders, key=len, reverse=True):
        with suppress(OSError):  # it is not empty
            Path(folder).rmdir()
            gone.append(folder)
    return gone


def _mode(where: HostFiles) -> int:
    return 0o644 if where.scope == PROJECT else 0o600
