"""The memory that a host writes by itself: outside of history, or in two places at once."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote

from gitmem.errors import GitmemError
from gitmem.integrations.doctor.findings import Finding, Wiring
from gitmem.integrations.hooks.groups import group_at
from gitmem.integrations.host_memory.adopt import is_home
from gitmem.integrations.host_memory.folders import main_checkout, used_for
from gitmem.integrations.host_memory.move import bring_in
from gitmem.integrations.host_memory.projects import has_memory, own_folders, project_of
from gitmem.integrations.host_memory.setting import (
    CHOICE,
    choice_for,
    is_kept,
    is_kept_in,
    is_moved,
)
from gitmem.integrations.hosts.table import HOSTS, Host
from gitmem.integrations.install.locations import places
from gitmem.integrations.install.parts.host_memory import Moved, linked_memory, moved_for
from gitmem.integrations.install.parts.linked import linking_of, own_group, with_memory
from gitmem.integrations.install.parts.settings import settings_in
from gitmem.integrations.install.projects import is_linked, project_at
from gitmem.integrations.install.record import installs
from gitmem.memory.group import Store
from gitmem.model.access import MAIN
from gitmem.model.text.format import counted

CODE = "host-memory"


def host_memory_findings(
    store: Store, wired: Sequence[Wiring], environ: Mapping[str, str], project: Path
) -> Iterator[Finding]:
    """What a host remembers by itself and history does not have, unless somebody wants it so."""
    yield from _unfinished(store, environ)
    names = dict.fromkeys(each.host for each in wired if each.events or each.plugin)
    for host in (HOSTS[name] for name in names):
        choice = choice_for(str(store.root), host.name, str(project))
        if host.own_memory is None or choice is False:
            continue
        if choice:
            refused = _refused(store, host, environ)
            yield from (Finding(CODE, *each) for each in refused.values())
            yield from _outside(store, host, environ, refused)
            yield from _unused(store, host, environ)
            yield from _interrupted(store, host, environ, refused)
            yield from _left_behind(store, host)
        yield from _here(store, host, environ, str(project), is_all=bool(choice))


def _unfinished(store: Store, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Projects that were away when their host was uninstalled, and that are back."""
    for known in (each for each in installs(store.root) if not each.gitmem):
        where = places(known.host, known.scope, environ, Path(known.root))
        for path in known.given if known.is_of(where) else ():
            if project_at(path, known.host) and os.path.exists(path):
                said = f"{path} still has settings of gitmem, which is uninstalled"
                way = f"`gitmem install {known.host} --scope {known.scope} --uninstall`"
                yield Finding(CODE, said, way)


def _refused(store: Store, host: Host, environ: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """For each folder of the host that cannot move into its group: the files, and the way out."""
    found = {}
    for folder, name in Store(store.root).links.items():
        if is_kept_in(str(store.root), host.name, folder):
            continue
        with suppress(GitmemError):  # a group that is damaged is told already
            moved = moved_for(store, host, environ, Path(folder), name)
            if (
                not moved
                or moved.problem
                or is_moved(str(store.root), host.name, os.path.realpath(moved.own))
            ):
                continue
            would = bring_in(store, host, moved.given, dry_run=True)
            if would and would.left:
                said = f"the memory of {host.title} in {moved.own} is not in group {name}: "
                said += f"git may not get {', '.join(would.left)}"
                way = f"edit or move them, then `gitmem install {host.name}`"
                found[os.path.realpath(moved.own)] = (said, way)
    return found


def _outside(
    store: Store, host: Host, environ: Mapping[str, str], told: Container[str]
) -> Iterator[Finding]:
    """Folders of the host that are no group."""
    root, belongs = str(store.root), linked_memory(store, host, environ)
    for folder in own_folders(host, environ):
        real = os.path.realpath(folder)
        if real in told or group_at(f"{real}/x", root) or is_moved(root, host.name, real):
            continue
        if is_kept(root, host, environ, folder, project_of(folder)):
            continue
        if real in belongs and _is_held(store, host, belongs[real]):
            continue
        said = f"the memory of {host.title} in {folder} is not under history"
        if os.path.lexists(folder / ".git"):
            way = f"`gitmem adopt {quote(str(folder))} -g NAME` adopts a copy"
            yield Finding(CODE, f"{said}: it is a git repository of its own", way)
        else:
            yield Finding(CODE, said, f"`gitmem install {host.name}`")


def _is_held(store: Store, host: Host, moved: Moved) -> bool:
    """Whether the group has all notes of a linked project that was moved, or is away."""
    if moved.problem or os.path.isdir(moved.settings.parents[1]):
        return False
    with suppress(GitmemError):
        return bring_in(store, host, moved.given, dry_run=True) is None
    return False


def _unused(store: Store, host: Host, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Folders of the host that are a group in place, and whose project has no link to any."""
    now = Store(store.root)
    for folder in own_folders(host, environ):
        name = group_at(str(folder / "x"), str(store.root))
        if not name or not os.path.lexists(folder / ".git"):
            continue
        project = project_of(folder)
        if not project or is_home(project, environ) or project in now.declined:
            continue
        if not now.linked(project):
            said = f"the memory of {host.title} in {folder} is group {name}"
            link = f"gitmem link {quote(project)}"
            yield Finding(
                CODE,
                f"{said}, and sessions in {project} do not use that group",
                f"`{link} -g {quote(name)}` links them, `{link} --remove` leaves it so",
            )


def _interrupted(
    store: Store, host: Host, environ: Mapping[str, str], told: Container[str]
) -> Iterator[Finding]:
    """Settings that do not follow the links: whoever changed a link was interrupted."""
    for known in (each for each in installs(store.root) if each.host == host.name):
        where = places(host.name, known.scope, environ, Path(known.root))
        if not known.is_of(where) or not known.gitmem:
            continue
        linking = linking_of(store, where, own_group(store, where, known), known)
        wanted = {str(x.settings): x for x in with_memory(linking, known.choices, environ).memory}
        given = {path: kinds[CHOICE] for path, kinds in known.given.items() if CHOICE in kinds}
        again = f"`gitmem install {host.name} --scope {known.scope}` brings it up to date"
        for path in given.keys() - wanted.keys():
            project, group = project_at(path, host.name), given[path]["group"]
            if not os.path.isdir(project):
                yield from _gone(store, host, project, group)
                continue
            said = f"{path} names group {group}, which {project} does"
            yield Finding(CODE, f"{said} not use any more", again)
        for path, moved in wanted.items():
            is_told = moved.problem or os.path.realpath(moved.own) in told
            if not is_told and given.get(path) != moved.given and not _is_users(host, path, given):
                said = f"sessions in {Path(path).parents[1]} use group {moved.group}"
                yield Finding(CODE, f"{said}, and {path} does not name it yet", again)


def _gone(store: Store, host: Host, project: str, group: str) -> Iterator[Finding]:
    """A linked project that was moved, deleted, or whose disk is not mounted."""
    if is_linked(store, project):
        said = f"no folder {project}, for which {host.title} keeps its memory in group {group}"
        moved = f"`gitmem link NEWDIR -g {quote(group)}` if you moved it"
        gone = f"`gitmem link {quote(project)} --remove` if it is gone for good"
        yield Finding(CODE, said, f"{moved}, {gone}")


def _is_users(host: Host, path: str, given: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether the setting in PATH is somebody's own."""
    named = settings_in(Path(path)).get(host.own_memory.directory) if host.own_memory else None
    return named not in (None, given.get(path, {}).get("directory"))


def _left_behind(store: Store, host: Host) -> Iterator[Finding]:
    """Settings of ours that somebody took out, and notes that went to the host's own folder."""
    own = host.own_memory
    rows = [each for each in installs(store.root) if each.host == host.name and each.gitmem]
    given = [each for row in rows for each in row.given.items()]
    for path, each in ((path, kinds[CHOICE]) for path, kinds in given if CHOICE in kinds):
        again = f"`gitmem install {host.name}`"
        if own and Path(path).parent.is_dir() and own.directory not in settings_in(Path(path)):
            said = f"{path} no longer sets {own.directory} to {each['directory']}"
            yield Finding(CODE, said, f"{again} sets it again, with --keep-host-memory never")
            continue
        with suppress(GitmemError):  # a group that is damaged is told already
            found = bring_in(store, host, each, dry_run=True)
            if found and found.files:
                count = counted(len(found.files), "file")
                said = f"{count} in {each['own']} that group {each['group']} does not have"
                yield Finding(CODE, f"{host.title} wrote to two folders: {said}", f"{again} copies")
            if found and found.left:
                said = f"git may not get {', '.join(found.left)} in {each['own']}"
                way = f"edit or move them, then {again}"
                yield Finding(
                    CODE, f"group {each['group']} lacks notes of {host.title}: {said}", way
                )


def _here(
    store: Store, host: Host, environ: Mapping[str, str], project: str, *, is_all: bool
) -> Iterator[Finding]:
    """The folder that the host uses in PROJECT, where a setting names it or nobody was asked."""
    used = used_for(host, environ, project)
    if not used.folder or (is_all and not used.named_by):
        return
    name = group_at(os.path.join(used.folder, "x"), str(store.root))
    project = main_checkout(project)  # whose memory it is, whatever group a worktree is linked to
    linked = Store(store.root).linked(project)
    # By its own settings: those of the user count in all folders, with a link or without.
    local = os.path.join(project, host.project.local) if host.project.local else ""
    shown = linked or (MAIN if used.named_by == local else "")
    if name and shown and name != shown:
        yield Finding(
            CODE,
            f"sessions in {project} use group {shown}, and {host.title} keeps its memory in "
            f"group {name} by {used.named_by}",
            f"`gitmem link {quote(project)} -g {quote(name)}`",
        )
    elif not name and has_memory(Path(used.folder)):
        by = f", which {used.named_by} names," if used.named_by else ""
        yield Finding(
            CODE,
            f"the memory of {host.title} in {used.folder}{by} is not under history",
            f"`gitmem install {host.name}`"
            if not used.named_by
            else f"`gitmem adopt {quote(used.folder)} -g NAME --in-place --layout {host.name}`",
        )
