"""Wire gitmem into an agent host, and take it out again."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any, NamedTuple

from gitmem.errors import BadInput
from gitmem.integrations.host_memory.folders import main_checkout
from gitmem.integrations.host_memory.install import MemoryWork
from gitmem.integrations.host_memory.setting import CHOICE
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install.advice import (
    doubts,
    edited_since,
    given_way,
    hidden_by,
    next_steps,
    shown_again,
    still_calling,
    still_running,
    still_there,
    unloaded,
    without_record,
)
from gitmem.integrations.install.apply import FileDone, carry_out, take_out, told
from gitmem.integrations.install.claims import claims_of
from gitmem.integrations.install.locations import (
    PROJECT,
    USER,
    Places,
    Program,
    other_scope,
    places,
)
from gitmem.integrations.install.parts.launcher import launcher_path
from gitmem.integrations.install.parts.linked import (
    LinkedFolder,
    Linking,
    linking_of,
    own_group,
    unmoved,
)
from gitmem.integrations.install.plan import Wish, plan_uninstall
from gitmem.integrations.install.projects import followed, found_given
from gitmem.integrations.install.questions import LAYOUT, Asked, plugin_for
from gitmem.integrations.install.record import Install, alone, install_of, installs
from gitmem.integrations.install.rewire import Rewired, rewire
from gitmem.memory.group import Store
from gitmem.memory.store import not_found
from gitmem.model.access import MAIN

if TYPE_CHECKING:
    from gitmem.integrations.host_memory.adopt import OwnAdopted
    from gitmem.memory.admin.init import Initialised


class Installed(NamedTuple):
    """What was done, or would be."""

    host: str
    scope: str
    action: str
    """installed or uninstalled"""
    dry_run: bool
    files: tuple[FileDone, ...]
    """Those that are other than they were."""
    remarks: tuple[str, ...]
    next: tuple[str, ...] = ()
    """What is left to a person."""
    group: str = ""
    """The group that was made on the way."""
    left: tuple[str, ...] = ()
    """What could not be taken out, and why."""
    adopted: tuple[OwnAdopted, ...] = ()
    """Folders of the host's own memory that became groups."""


def install(
    store: Store,
    group: str,
    host: str,
    scope: str,
    *,
    program: Program,
    environ: Mapping[str, str],
    project: Path,
    on_prompt: bool | None = None,
    mcp: bool | None = None,
    permissions: bool | None = None,
    host_memory: bool | None = None,
    replace: bool = False,
    path: str | None = None,
    dry_run: bool = False,
) -> Installed:
    """Let HOST know gitmem: hooks, skills, the section on memory, permissions, if asked for MCP.

    PATH is that of a login shell: where it leads to no gitmem, a launcher is put there. Unless
    HOST_MEMORY is declined, the memory that HOST writes by itself comes under history.

    REPLACE takes the place of what a former memory system has left there, and takes out what it has
    left in the other scope; `uninstall` puts both back.
    """
    where = places(host, scope, environ, project)
    plugin = plugin_for(where, environ, project)
    other = other_scope(where, environ, project)
    launcher = launcher_path(environ, path) if path is not None else None
    asked = Asked(
        store,
        group,
        where,
        program,
        on_prompt,
        mcp,
        permissions,
        bool(plugin),
        replace,
        other,
        launcher,
        host_memory,
        environ,
    )
    wish, plan = asked.planned()  # what is refused is so before there is a store
    made = None if dry_run else _ensured(store, group)
    with nullcontext() if dry_run else alone(store.root):
        memory = MemoryWork(store, HOSTS[host], environ, dry_run=dry_run)
        # A project for which a group was named waits for that link.
        if wish.choices.get(CHOICE) and (scope == USER or group == MAIN):
            memory.adopt("" if scope == USER else str(where.root))
        asked = asked.linked(memory.linked, dry_run=dry_run)
        wish, plan = asked.planned()
        known = followed(store, install_of(store.root, where), environ)
        failed = memory.move(known.given, plan.record.given)
        wish, plan = asked.planned(failed) if failed else (wish, plan)
        files = tuple(told(plan, store.root, where.skills))
        if not dry_run:
            carry_out(plan, store.root, where)
    others = _rewired(store, environ, known, wish) if not dry_run else Rewired()
    files = (*files, *others.files)
    remarks = (
        *plan.remarks,
        *memory.remarks,
        *memory.left,
        *others.remarks,
        *others.left,
        *unmoved(wish.linking),
        *plan.skills.remarks,
        *unloaded(plan.skills, where, replace),
        *hidden_by(wish, store.root, environ, project),
        *given_way(plan, where, store.root),
        *still_there(plan, where, environ, project),
        *doubts(wish, plugin, environ, project),
    )
    is_found = path is None or launcher is not None or which("gitmem", path=path) is not None
    facts = {"mcp": bool(mcp), "is_changed": bool(files), "is_found": is_found}
    steps = tuple(next_steps(wish, store, group, **facts))
    steps = (*(each.next for each in memory.adopted if each.next), *steps)
    created = made.group if made and made.created else ""
    done = Installed(host, scope, "installed", dry_run, files, remarks, steps, created)
    return done._replace(adopted=tuple(memory.adopted))


def uninstall(
    store: Store,
    host: str,
    scope: str,
    *,
    environ: Mapping[str, str],
    project: Path,
    dry_run: bool = False,
) -> Installed:
    """Take out what `install` has put in; the store and its memory stay."""
    where = places(host, scope, environ, project)
    is_there = store.root.is_dir()
    with alone(store.root) if is_there and not dry_run else nullcontext():
        is_lost = not any(each.host == host for each in installs(store.root))
        known = _known(store, where, environ, project, is_lost=is_lost)
        memory = MemoryWork(store, HOSTS[host], environ, dry_run=dry_run)
        needed = _needed_by_others(store.root, known)
        if is_there:  # else there are no notes to copy back
            memory.move(known.given, needed)
        plan = plan_uninstall(_linking_left(store, where, known), known)
        files = tuple(told(plan, store.root, where.skills))
        if not dry_run:
            take_out(plan, store.root, where)
    files = files if is_there else tuple(each._replace(backup="") for each in files)
    remarks = (
        *plan.remarks,
        *memory.remarks,
        *still_running(known, needed),
        *(without_record(store.root, host) if is_lost and files else ()),
        *plan.skills.remarks,
        *edited_since(plan, where, store.root, known),
        *still_calling(plan, where),
        *shown_again(plan, where, environ, project),
    )
    left = (*plan.left, *memory.left)
    return Installed(host, scope, "uninstalled", dry_run, files, remarks, left=left)


def _known(
    store: Store, where: Places, environ: Mapping[str, str], project: Path, *, is_lost: bool
) -> Install:
    """What there is to take out: by the record or, where that is lost, by what files say."""
    known = install_of(store.root, where)
    if is_lost:
        return known._replace(given=found_given(store, where.host, environ, project))
    return followed(store, known, environ, project, main_checkout(str(project)))


def _rewired(store: Store, environ: Mapping[str, str], known: Install, wish: Wish) -> Rewired:
    """Let the user's installation follow a project that now keeps its memory out, or no longer."""
    is_kept, was_kept = (x.choices.get(CHOICE) is False for x in (wish, known))
    is_project = wish.places.scope == PROJECT
    return rewire(store, environ) if is_project and is_kept != was_kept else Rewired()


def _needed_by_others(store: Path, known: Install) -> dict[str, dict[str, Any]]:
    """The settings of KNOWN that move the host's own memory, and that stay for others."""
    claims = claims_of(store, known)
    found = {path: claims.of_others(Path(path), CHOICE) for path in known.given}
    return {path: {CHOICE: each[0]} for path, each in found.items() if each}


def _linking_left(store: Store, where: Places, known: Install) -> Linking:
    """The links for who only takes out: a config.yaml that nobody can read must not stop that."""
    try:
        return linking_of(store, where, own_group(store, where, known), known)
    except BadInput:
        own = LinkedFolder(where.root, MAIN, store.default_worktree(MAIN), store.gitdir(MAIN))
        return Linking(where, store.root, own)


def _ensured(store: Store, group: str) -> Initialised | None:
    """Make the group where there is none: hooks without a memory would only complain."""
    from gitmem.memory.admin.init import init

    names = store.names()
    if group in names:
        return None
    if names and group != MAIN:
        raise not_found(store, group)
    return init(store, group, layout=LAYOUT)
