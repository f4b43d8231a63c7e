"""Skills that were installed once, brought up to date without anybody asking."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitmem import __version__
from gitmem.errors import GitmemError
from gitmem.integrations.install.files import make
from gitmem.integrations.install.locations import PROJECT
from gitmem.integrations.install.record import (
    Install,
    alone,
    begun,
    installs,
    remember,
    replaced_skills,
)
from gitmem.integrations.install.skills.files import shipped_folder, version
from gitmem.integrations.install.skills.update import SkillPlan, plan_skills


class SkillsUpdated(NamedTuple):
    """The skills of one installation, brought up to date."""

    host: str
    scope: str
    folder: str
    files: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def update_installed(store: Path, source: Path | None = None) -> tuple[SkillsUpdated, ...]:
    """Bring up to date what was installed from this store; one that fails stops no other."""
    source = source or shipped_folder()
    try:
        if all(_is_current(each, source) for each in installs(store)):
            return ()
        with alone(store):
            return tuple(_updated(store, source))
    except (GitmemError, OSError) as error:
        return (SkillsUpdated("", "", "", (), (_why(error),)),)


def _updated(store: Path, source: Path) -> Iterator[SkillsUpdated]:
    for each in installs(store):
        if _is_current(each, source) or not Path(each.skills_folder).is_dir():
            continue  # a project that is not there now may be there tomorrow
        try:
            yield _update(store, source, each)
        except (GitmemError, OSError) as error:
            yield SkillsUpdated(*each[:2], each.skills_folder, (), (_why(error),))


def _is_current(known: Install, source: Path) -> bool:
    """Whether there is nothing to do; who has no skills of ours, by the plugin say, gets none."""
    is_new = known.skills_version >= version(source) and known.gitmem == __version__
    return (is_new and not known.skills_begun) or not (known.skills or known.skills_begun)


def _update(store: Path, source: Path, known: Install) -> SkillsUpdated:
    place = Path(known.skills_folder)
    plan = plan_skills(
        source,
        known.host,
        place,
        known.skills,
        begun=known.skills_begun,
        put_back=False,
        theirs=replaced_skills(store, known),
    )
    done = known._replace(
        skills=plan.known, skills_version=plan.version, skills_begun={}, gitmem=__version__
    )
    remember(store, begun(done, known)._replace(gitmem=known.gitmem))
    make_skills(plan, place, mode=0o644 if known.scope == PROJECT else 0o600)
    remember(store, done)
    paths = tuple(str(each.path) for each in plan.changes)
    return SkillsUpdated(known.host, known.scope, str(place), paths, plan.remarks)


def make_skills(plan: SkillPlan, place: Path, *, mode: int) -> None:
    """Do what was planned, and remove the folders that are empty by it."""
    for change in plan.changes:
        make(change, mode=mode)
        if change.after is None:
            for folder in change.path.parents:
                if folder == place or place not in folder.parents:
                    break
                with suppress(OSError):  # somebody has put something there
                    folder.rmdir()


def _why(error: GitmemError | OSError) -> str:
    if isinstance(error, GitmemError):
        return f"the skills were not brought up to date: {error.message}; {error.hint}"
    return f"the skills were not brought up to date: {error}"
