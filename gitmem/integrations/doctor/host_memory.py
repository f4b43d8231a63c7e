"""Faults of the memory that a host writes by itself."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from gitmem.errors import GitmemError
from gitmem.integrations.doctor.wiring import Checkup, Fault
from gitmem.integrations.hooks.groups import group_at
from gitmem.integrations.host_memory.adopt import has_memory, is_home, own_folders, project_of
from gitmem.integrations.host_memory.choices import (
    CHOICE,
    choice_for,
    is_declined,
    is_declined_in,
    is_redirected,
)
from gitmem.integrations.host_memory.folders import main_checkout, used_for
from gitmem.integrations.host_memory.move import copy_into_group
from gitmem.integrations.hosts.table import HOSTS, Host
from gitmem.integrations.install.host_files import host_files, settings_in
from gitmem.integrations.install.links import is_linked, linking_of, project_at
from gitmem.integrations.install.parts.host_memory import (
    MemoryRedirect,
    linked_redirects,
    redirect_for,
)
from gitmem.integrations.install.record import Install, installs
from gitmem.memory.group import Store
from gitmem.model.access import MAIN
from gitmem.model.hints import Call, Hint, Option, call
from gitmem.model.text.format import counted

CODE = "host-memory"


def host_memory_faults(checkup: Checkup) -> Iterator[Fault]:
    """Memory of hosts that is not under version control, unless the user declined."""
    store, environ, project = checkup.store, checkup.environ, str(checkup.project)
    yield from _not_uninstalled(store, environ)
    for host in (HOSTS[name] for name in checkup.hosts):
        choice = choice_for(str(store.root), host.name, project)
        if host.own_memory is None or choice is False:
            continue
        if choice:
            refused = _refused(store, host, environ)
            yield from refused.values()
            yield from _outside(store, host, environ, refused)
            yield from _not_linked(store, host, environ)
            yield from _interrupted(store, host, environ, refused)
            yield from _left_behind(store, host)
        yield from _here(store, host, environ, project, is_all=bool(choice))


def _again(host: Host) -> Call:
    return call("install", host.name)


def _of_home(store: Store, environ: Mapping[str, str]) -> Iterator[Install]:
    """The installations for this home folder."""
    for known in installs(store.root):
        if known.is_of(host_files(known.host, known.scope, environ, Path(known.root))):
            yield known


def _not_uninstalled(store: Store, environ: Mapping[str, str]) -> Iterator[Fault]:
    """Projects that were missing when their host was uninstalled, and that are back."""
    for known in _of_home(store, environ):
        for path in () if known.gitmem else known.given:
            if project_at(path, known.host) and os.path.exists(path):
                what = f"{path} still has settings of gitmem, which is uninstalled"
                way = call("install", known.host, scope=known.scope, uninstall=True)
                yield Fault(CODE, what, Hint(way))


def _refused(store: Store, host: Host, environ: Mapping[str, str]) -> dict[str, Fault]:
    """The fault of each folder of the host whose notes git may not get."""
    found = {}
    root = str(store.root)
    for folder, name in Store(store.root).links.items():
        if is_declined_in(root, host.name, folder):
            continue
        with suppress(GitmemError):  # a damaged group is a fault of its own
            redirect = redirect_for(store, host, environ, Path(folder), name)
            if not redirect or redirect.problem:
                continue
            own = os.path.realpath(redirect.own)
            if is_redirected(root, host.name, own):
                continue
            would = copy_into_group(store, host, redirect.given, dry_run=True)
            if would and would.left:
                what = f"the memory of {host.title} in {redirect.own} is not in group {name}: "
                what += f"git may not get {', '.join(would.left)}"
                found[own] = Fault(CODE, what, Hint("edit or move them, then run ", _again(host)))
    return found


def _outside(
    store: Store, host: Host, environ: Mapping[str, str], reported: Container[str]
) -> Iterator[Fault]:
    """Folders of the host that are no group."""
    root, linked = str(store.root), linked_redirects(store, host, environ)
    for folder in own_folders(host, environ):
        real = os.path.realpath(folder)
        if real in reported or group_at(f"{real}/x", root) or is_redirected(root, host.name, real):
            continue
        if is_declined(root, host, environ, folder, project_of(folder)):
            continue
        if real in linked and _is_copied(store, host, linked[real]):
            continue
        what = f"the memory of {host.title} in {folder} is not under version control"
        if os.path.lexists(folder / ".git"):
            way = Hint(call("adopt", str(folder), group="NAME"), " adopts a copy")
            yield Fault(CODE, f"{what}: it is a git repository of its own", way)
        else:
            yield Fault(CODE, what, Hint(_again(host)))


def _is_copied(store: Store, host: Host, redirect: MemoryRedirect) -> bool:
    """Whether the group has all notes of a linked project that was moved, or is missing."""
    if redirect.problem or os.path.isdir(redirect.settings.parents[1]):
        return False
    with suppress(GitmemError):
        return copy_into_group(store, host, redirect.given, dry_run=True) is None
    return False


def _not_linked(store: Store, host: Host, environ: Mapping[str, str]) -> Iterator[Fault]:
    """Folders of the host that are a group in place, and whose project has no link."""
    now = Store(store.root)
    for folder in own_folders(host, environ):
        name = group_at(str(folder / "x"), str(store.root))
        if not name or not os.path.lexists(folder / ".git"):
            continue
        project = project_of(folder)
        if not project or is_home(project, environ) or project in now.declined:
            continue
        if not now.linked(project):
            what = f"the memory of {host.title} in {folder} is group {name}, and sessions in "
            yield Fault(
                CODE,
                f"{what}{project} do not use that group",
                Hint(
                    call("link", project, group=name),
                    " links them, ",
                    call("link", project, remove=True),
                    " leaves it so",
                ),
            )


def _interrupted(
    store: Store, host: Host, environ: Mapping[str, str], reported: Container[str]
) -> Iterator[Fault]:
    """Settings that do not follow the links, because a change of links was interrupted."""
    for known in _of_home(store, environ):
        if known.host != host.name or not known.gitmem:
            continue
        where = host_files(host.name, known.scope, environ, Path(known.root))
        linking = linking_of(store, where, known, environ=environ)
        redirects = {str(each.settings): each for each in linking.memory}
        given = {path: kinds[CHOICE] for path, kinds in known.given.items() if CHOICE in kinds}
        again = Hint(call("install", host.name, scope=known.scope), " updates it")
        for path in given.keys() - redirects.keys():
            project, group = project_at(path, host.name), given[path]["group"]
            if not os.path.isdir(project):
                yield from _gone(store, host, project, group)
            else:
                what = f"{path} names group {group}, which {project} does not use any more"
                yield Fault(CODE, what, again)
        for path, each in redirects.items():
            is_reported = each.problem or os.path.realpath(each.own) in reported
            is_due = given.get(path) != each.given and not _is_users(host, path, given)
            if is_due and not is_reported:
                what = f"sessions in {Path(path).parents[1]} use group {each.group}"
                yield Fault(CODE, f"{what}, and {path} does not name it yet", again)


def _gone(store: Store, host: Host, project: str, group: str) -> Iterator[Fault]:
    """A linked project that was moved, deleted, or whose disk is not mounted."""
    if is_linked(store, project):
        yield Fault(
            CODE,
            f"no folder {project}, for which {host.title} keeps its memory in group {group}",
            Hint(
                call("link", "NEWDIR", group=group),
                " if you moved it, ",
                call("link", project, remove=True),
                " if it is gone for good",
            ),
        )


def _is_users(host: Host, path: str, given: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether the setting in PATH is the user's own."""
    named = settings_in(Path(path)).get(host.own_memory.directory) if host.own_memory else None
    return named not in (None, given.get(path, {}).get("directory"))


def _left_behind(store: Store, host: Host) -> Iterator[Fault]:
    """Redirects that were removed by hand, and notes that went to the host's own folder."""
    own, again = host.own_memory, _again(host)
    rows = [each for each in installs(store.root) if each.host == host.name and each.gitmem]
    given = [each for row in rows for each in row.given.items()]
    for path, each in ((path, kinds[CHOICE]) for path, kinds in given if CHOICE in kinds):
        if own and Path(path).parent.is_dir() and own.directory not in settings_in(Path(path)):
            what = f"{path} no longer sets {own.directory} to {each['directory']}"
            never = Option("keep_host_memory")
            yield Fault(CODE, what, Hint(again, " sets it again, with ", never, " never"))
            continue
        with suppress(GitmemError):  # a damaged group is a fault of its own
            found = copy_into_group(store, host, each, dry_run=True)
            if found and found.files:
                count = counted(len(found.files), "file")
                what = f"{count} in {each['own']} that group {each['group']} does not have"
                what = f"{host.title} wrote to two folders: {what}"
                yield Fault(CODE, what, Hint(again, " copies them"))
            if found and found.left:
                what = f"git may not get {', '.join(found.left)} in {each['own']}"
                what = f"group {each['group']} lacks notes of {host.title}: {what}"
                yield Fault(CODE, what, Hint("edit or move them, then run ", again))


def _here(
    store: Store, host: Host, environ: Mapping[str, str], project: str, *, is_all: bool
) -> Iterator[Fault]:
    """The folder that the host uses in PROJECT, if a setting names it or no choice is recorded."""
    used = used_for(host, environ, project)
    if not used.folder or (is_all and not used.named_by):
        return
    name = group_at(os.path.join(used.folder, "x"), str(store.root))
    project = main_checkout(project)  # whose memory it is, whatever group a worktree is linked to
    linked = Store(store.root).linked(project)
    # By its own settings: those of the user apply to all folders, with a link or without.
    local = os.path.join(project, host.project.local) if host.project.local else ""
    shown = linked or (MAIN if used.named_by == local else "")
    if name and shown and name != shown:
        yield Fault(
            CODE,
            f"sessions in {project} use group {shown}, and {host.title} keeps its memory in "
            f"group {name} by {used.named_by}",
            Hint(call("link", project, group=name)),
        )
    elif not name and has_memory(Path(used.folder)):
        by = f", which {used.named_by} names," if used.named_by else ""
        adopted = call("adopt", used.folder, group="NAME", in_place=True, layout=host.name)
        what = f"the memory of {host.title} in {used.folder}{by} is not under version control"
        yield Fault(CODE, what, Hint(adopted if used.named_by else _again(host)))
