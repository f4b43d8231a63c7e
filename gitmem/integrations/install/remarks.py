"""Remarks on an installation: what would happen twice, what stays, and what is left to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from os.path import dirname, isdir, realpath
from pathlib import Path
from shlex import join, quote

from gitmem.errors import BadInput
from gitmem.integrations.host_memory.choices import CHOICE
from gitmem.integrations.hosts.table import CLAUDE, HOSTS
from gitmem.integrations.install.files import backup_of, digest, text_of
from gitmem.integrations.install.host_files import (
    PROJECT,
    USER,
    HostFiles,
    other_scope,
    plugin_at,
    read_json,
    settings_in,
)
from gitmem.integrations.install.old_system import leftovers, remedy
from gitmem.integrations.install.parts.hooks import events_wired
from gitmem.integrations.install.parts.host_memory import DIRECTORY
from gitmem.integrations.install.plan import InstallPlan, Request
from gitmem.integrations.install.record import Install, as_replaced, install_of, replaced_paths
from gitmem.integrations.install.skill_update import SkillPlan, as_shipped, plan_skills
from gitmem.integrations.install.skills import shipped_folder
from gitmem.memory.group import Store
from gitmem.model.access import MAIN
from gitmem.model.hints import Call, Hint, call
from gitmem.model.text.format import counted


def install_remarks(plan: InstallPlan, request: Request, plugin: str) -> Iterator[str]:
    """The remarks on an installation of REQUEST."""
    where = request.where
    yield from plan.linking.not_redirected()
    yield from plan.skills.remarks
    yield from _not_loaded(plan.skills, where, request.replace)
    yield from _shadowed_skills(plan, request)
    yield from _replaced(plan)
    yield from _leftovers(plan, where, request.other)
    yield from _twice(request, plugin)


def uninstall_remarks(
    plan: InstallPlan,
    environ: Mapping[str, str],
    project: Path,
    needed: Mapping[str, object],
    *,
    is_lost: bool,
) -> Iterator[str]:
    """The remarks on uninstalling; NEEDED are settings that other installations need."""
    where, store = plan.linking.where, plan.linking.store
    yield from _open_sessions(plan.known, needed)
    if is_lost and HOSTS[where.host].project.local:
        yield Hint(
            f"no record of installations in {store}: other projects may still have settings of "
            "gitmem; run ",
            call("install", where.host, uninstall=True),
            " in each",
        )
    yield from plan.skills.remarks
    yield from _not_put_back(plan)
    yield from _own_calls(plan)
    # What is put back beside an installation in the other scope shows memory twice.
    other = other_scope(where, environ, project)
    if other and (events_wired(settings_in(other.hooks)) or plugin_at(other)):
        yield from _leftovers(plan, other, where)


def _install(where: HostFiles, option: str) -> Call:
    return Call("install", (where.host,), (("scope", where.scope), (option, True)))


def _own_calls(plan: InstallPlan) -> Iterator[str]:
    """Events for which the user's own commands still call gitmem."""
    path = plan.linking.where.hooks
    after = next((x.after for x in plan.shared if x.path == path), None)
    events = events_wired(read_json(after.decode("utf-8"))) if after else {}
    if events:
        yield f"your own commands in {path}, which stay, call gitmem: {', '.join(events)}"


def _open_sessions(known: Install, needed: Mapping[str, object]) -> Iterator[str]:
    """The folders of groups to which sessions still write that started before."""
    given = (
        kinds[CHOICE]
        for path, kinds in known.given.items()
        if path not in needed and CHOICE in kinds
    )
    folders = [each for each in dict.fromkeys(x[DIRECTORY] for x in given) if isdir(each)]
    if folders:
        later = f"notes that they write later stay in {', '.join(folders)}"
        yield f"end running sessions of {HOSTS[known.host].title} first: {later}"


def _not_loaded(skills: SkillPlan, where: HostFiles, replace: bool) -> Iterator[str]:
    """Our skills that a host does not load, and the remedy."""
    names = skills.shadowed
    if not names:
        return
    verb = "does" if len(names) == 1 else "do"
    what = f"{counted(len(names), 'skill')} of gitmem {verb} not load: {', '.join(names)}; "
    if replace:
        paths = ", ".join(str(where.skills / each) for each in names)
        yield f"{what}remove or rename {paths}, then install again"
    else:
        yield Hint(what, _install(where, "replace"), " replaces those that are there")


def _shadowed_skills(plan: InstallPlan, request: Request) -> Iterator[str]:
    """Skills of the other scope that have the names of ours, and the remedy."""
    there, where = request.other, request.where
    if there is None or request.has_plugin or realpath(there.skills) == realpath(where.skills):
        return
    known = install_of(plan.linking.store, there)
    for name in shadowed(there, known, request.layout().name):
        yield "; ".join(shadow_in_other_scope(there, name))


def shadowed(there: HostFiles, known: Install, layout: str) -> tuple[str, ...]:
    """The names of our skills that other authors' skills have THERE; KNOWN is the record."""
    source = shipped_folder()
    given = known.skills or as_shipped(source, there.host, there.skills)
    plan = plan_skills(source, there.host, there.skills, given, put_back=False, layout=layout)
    return plan.shadowed


def shadow_in_other_scope(there: HostFiles, name: str) -> tuple[str, str]:
    """What a skill THERE does to the one that gitmem has in the other scope, and the remedy."""
    path, away = there.skills / name, there.skills.parent / f"{name}.before-gitmem"
    effect = "two skills have that name"
    if there.host == CLAUDE and there.scope == USER:
        effect = "it loads before gitmem's skill in the project"
    return (
        f"{path} is not gitmem's: {effect}",
        f"`{join(('mv', str(path), str(away)))}` lets gitmem's load",
    )


def _replaced(plan: InstallPlan) -> Iterator[str]:
    """The files of others that ours replace, their backups, and the way back."""
    where, store = plan.linking.where, plan.linking.store
    for edit in (*plan.skills.exchanges(where.skills), *plan.shared):
        record = plan.record.files.get(as_replaced(edit.path))
        if edit.action == "changed" and record and record.before == digest(edit.before or b""):
            copy = f"{edit.path} is kept as {backup_of(store, edit.path, record.before)}; "
            yield Hint(copy, _install(where, "uninstall"), " puts it back")


def _not_put_back(plan: InstallPlan) -> Iterator[str]:
    """The files of others that are not put back, because ours was edited in their place."""
    folder, known = plan.linking.where.skills, plan.known
    changed = {change.path for change in plan.skills.changes}
    for path in replaced_paths(known):
        before = known.files[as_replaced(path)].before
        if folder in path.parents and path not in changed and before:
            copy = backup_of(plan.linking.store, path, before)
            yield f"{path} as it was before gitmem is kept as {copy}"


def _leftovers(plan: InstallPlan, where: HostFiles, other: HostFiles | None) -> Iterator[str]:
    """The parts of an old memory system in the files of the host, and the remedy."""
    done = {Path(realpath(x.path)): text_of(x.path, x.after) for x in plan.shared}
    for there in filter(None, (where, other)):
        for each in leftovers(there, done):
            way = each.by_hand or remedy(there, (where.scope,))
            yield Hint(each.message, "; ", way) if each.is_known else each.message


def _twice(request: Request, plugin: str) -> Iterator[str]:
    """What would make every event happen twice, or fail on other machines."""
    where, there = request.where, request.other
    if plugin:
        yield (
            f"the plugin {plugin} is enabled and brings hooks, skills and the MCP server: gitmem "
            "does not add them here, so that nothing happens twice"
        )
    if where.scope == PROJECT and not request.program.is_portable:
        words = " ".join(request.program.call)
        yield f"the settings of this project now name a path of this machine: {words}"
    # A host calls gitmem once where a link makes one file of both.
    if not there or plugin or realpath(there.hooks) == realpath(where.hooks):
        return
    if named := plugin_at(there):
        yield (
            f"the plugin {named} is enabled in {there.root}, too: everything happens twice there "
            "unless you disable one of the two"
        )
    if events_wired(settings_in(there.hooks)):
        what = f"{there.hooks} calls gitmem, too: keep one of the two; "
        yield Hint(what, _install(there, "uninstall"), " removes that one")


def _is_linked(store: Store, folder: Path, group: str) -> bool:
    with suppress(BadInput):  # the doctor reports an unreadable config.yaml
        return store.linked(str(folder)) == group
    return False


def next_steps(
    request: Request, group: str, *, mcp: bool, is_changed: bool, is_found: bool
) -> Iterator[str]:
    """The steps that are left to the user; GROUP is the one that the call named."""
    where, program = request.where, request.program
    # Hooks choose the group by the folder of a session.
    is_other = where.scope == PROJECT and group != MAIN
    if is_other and not _is_linked(request.store, where.root, group):
        yield Hint(call("link", str(where.root), group=group))
    if where.scope == USER and group != MAIN and is_changed:
        yield f"{_exported('GITMEM_GROUP', quote(group))}: without it folders use {MAIN}"
    if mcp and where.mcp is None:
        yield f"`claude mcp add --scope user gitmem -- {join((*program.call, 'mcp'))}`"
    plain = "skills call a plain `gitmem`"
    if not is_found:
        folder = dirname(program.path[0]) if len(program.path) == 1 else "DIR"
        value = f'{quote(folder)}:"$PATH"'
        yield f"{_exported('PATH', value)}: {plain}"
    if is_changed and program.store:
        yield f"{_exported('GITMEM_HOME', quote(program.store))}: {plain}"
    if is_changed and where.trust:
        yield where.trust
    if is_changed:
        yield Hint("start a new session of the host; ", call("doctor"), " checks the installation")


def _exported(name: str, value: str) -> str:
    return f"put `export {name}={value}` into the profile of your shell"
