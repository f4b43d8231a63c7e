"""Install gitmem into an agent host, and uninstall it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any, NamedTuple

from gitmem.errors import BadInput
from gitmem.integrations.host_memory.choices import CHOICE
from gitmem.integrations.host_memory.folders import main_checkout
from gitmem.integrations.host_memory.move import MemoryMover
from gitmem.integrations.hosts.program import Program
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install.apply import FileDone, carry_out, files_done, take_out
from gitmem.integrations.install.host_files import (
    PROJECT,
    USER,
    HostFiles,
    host_files,
    other_scope,
    plugin_for,
)
from gitmem.integrations.install.links import (
    LinkedFolder,
    Linking,
    followed,
    found_given,
    linking_of,
)
from gitmem.integrations.install.parts.launcher import launcher_path
from gitmem.integrations.install.plan import LAYOUT, Request, plan_install, plan_uninstall
from gitmem.integrations.install.record import Install, alone, claims_of, install_of, installs
from gitmem.integrations.install.remarks import install_remarks, next_steps, uninstall_remarks
from gitmem.integrations.install.rewire import Rewired, rewire
from gitmem.memory.group import Store
from gitmem.memory.store import not_found
from gitmem.model.access import MAIN

if TYPE_CHECKING:
    from gitmem.integrations.host_memory.adopt import OwnAdopted
    from gitmem.memory.admin.init import Initialised


class Installed(NamedTuple):
    """What was installed or uninstalled, or would be."""

    host: str
    scope: str
    action: str
    """installed or uninstalled"""
    dry_run: bool
    files: tuple[FileDone, ...]
    """The files that changed."""
    remarks: tuple[str, ...]
    next: tuple[str, ...] = ()
    """The steps that are left to the user."""
    group: str = ""
    """The group that was created."""
    left: tuple[str, ...] = ()
    """What was not removed, and why."""
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
    """Add hooks, skills, the section on memory, permissions and, if chosen, MCP to HOST.

    PATH is that of a login shell: if it leads to no gitmem, a launcher is added. Unless HOST_MEMORY
    is declined, the memory that HOST writes by itself comes under version control. Choices that
    are None stay as they were.

    REPLACE replaces what an old memory system has left there, and removes what it has left in the
    other scope; `uninstall` puts both back.
    """
    where = host_files(host, scope, environ, project)
    plugin = plugin_for(where, environ, project)
    launcher = launcher_path(environ, path) if path is not None else None
    given = {"permissions": permissions, "mcp": mcp, CHOICE: host_memory}
    choices = {name: choice for name, choice in given.items() if choice is not None}
    other = other_scope(where, environ, project)
    request = Request(
        store,
        group,
        where,
        program,
        environ,
        choices,
        on_prompt,
        bool(plugin),
        replace,
        other,
        launcher,
    )
    plan = plan_install(request)  # raises before anything is created
    made = None if dry_run else _ensured(store, group)
    with nullcontext() if dry_run else alone(store.root):
        mover = MemoryMover(store, HOSTS[host], environ, dry_run=dry_run)
        # A project for which a group was named waits for that link.
        if plan.record.choices.get(CHOICE) and (scope == USER or group == MAIN):
            mover.adopt("" if scope == USER else str(where.root))
        request = request.linked(mover.linked, dry_run=dry_run)
        plan = plan_install(request)
        failed = mover.move(plan.known.given, plan.record.given)
        plan = plan_install(request, failed) if failed else plan
        files = tuple(files_done(plan))
        if not dry_run:
            carry_out(plan)
    others = Rewired() if dry_run else _rewired(store, environ, where, plan.known, plan.record)
    files = (*files, *others.files)
    moves = (*mover.remarks, *mover.left, *others.remarks, *others.left)
    remarks = (*plan.remarks, *moves, *install_remarks(plan, request, plugin))
    is_found = path is None or launcher is not None or which("gitmem", path=path) is not None
    steps = next_steps(request, group, mcp=bool(mcp), is_changed=bool(files), is_found=is_found)
    return Installed(
        host,
        scope,
        "installed",
        dry_run,
        files,
        remarks,
        (*(each.next for each in mover.adopted if each.next), *steps),
        made.group if made and made.created else "",
        adopted=tuple(mover.adopted),
    )


def uninstall(
    store: Store,
    host: str,
    scope: str,
    *,
    environ: Mapping[str, str],
    project: Path,
    dry_run: bool = False,
) -> Installed:
    """Remove what `install` has added; the store and its memory stay."""
    where = host_files(host, scope, environ, project)
    is_there = store.root.is_dir()
    with alone(store.root) if is_there and not dry_run else nullcontext():
        is_lost = not any(each.host == host for each in installs(store.root))
        known = _known(store, where, environ, project, is_lost=is_lost)
        mover = MemoryMover(store, HOSTS[host], environ, dry_run=dry_run)
        needed = _needed_by_others(store.root, known)
        if is_there:  # else there are no notes to copy back
            mover.move(known.given, needed)
        plan = plan_uninstall(_linking_left(store, where, known), known)
        files = tuple(files_done(plan))
        if not dry_run:
            take_out(plan)
    files = files if is_there else tuple(each._replace(backup="") for each in files)
    reports = uninstall_remarks(plan, environ, project, needed, is_lost=is_lost and bool(files))
    remarks = (*plan.remarks, *mover.remarks, *reports)
    left = (*plan.left, *mover.left)
    return Installed(host, scope, "uninstalled", dry_run, files, remarks, left=left)


def _known(
    store: Store, where: HostFiles, environ: Mapping[str, str], project: Path, *, is_lost: bool
) -> Install:
    """What there is to remove: by the record or, where that is lost, by the files themselves."""
    known = install_of(store.root, where)
    if is_lost:
        return known._replace(given=found_given(store, where.host, environ, project))
    return followed(store, known, environ, project, main_checkout(str(project)))


def _rewired(
    store: Store, environ: Mapping[str, str], where: HostFiles, *records: Install
) -> Rewired:
    """Update the user's installation after a project declined, or stopped declining, CHOICE."""
    was_declined, is_declined = (each.choices.get(CHOICE) is False for each in records)
    is_due = where.scope == PROJECT and is_declined != was_declined
    return rewire(store, environ) if is_due else Rewired()


def _needed_by_others(store: Path, known: Install) -> dict[str, dict[str, Any]]:
    """The redirects of KNOWN that stay because another installation needs them."""
    claims = claims_of(store, known)
    found = {path: claims.of_others(Path(path), CHOICE) for path in known.given}
    return {path: {CHOICE: each[0]} for path, each in found.items() if each}


def _linking_left(store: Store, where: HostFiles, known: Install) -> Linking:
    """The links for uninstalling; none where the configuration is unreadable."""
    try:
        return linking_of(store, where, known)
    except BadInput:
        own = LinkedFolder(where.root, MAIN, store.default_worktree(MAIN), store.gitdir(MAIN))
        return Linking(where, store.root, own)


def _ensured(store: Store, group: str) -> Initialised | None:
    """Create the group where it is missing: hooks without a memory would only report errors."""
    from gitmem.memory.admin.init import init

    names = store.names()
    if group in names:
        return None
    if names and group != MAIN:
        raise not_found(store, group)
    return init(store, group, layout=LAYOUT)
