"""What a person is told besides: what would happen twice, what stays, and what is left to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from os.path import dirname, isdir, realpath
from pathlib import Path
from shlex import join, quote

from gitmem.errors import BadInput
from gitmem.integrations.hosts.table import CLAUDE, HOSTS
from gitmem.integrations.install.files import backup_of, digest, text_of
from gitmem.integrations.install.former import leftovers, way_out
from gitmem.integrations.install.locations import PROJECT, USER, Places, other_scope
from gitmem.integrations.install.parts.hooks import events_wired
from gitmem.integrations.install.parts.host_memory import DIRECTORY, KIND
from gitmem.integrations.install.parts.settings import plugin_at, settings_in
from gitmem.integrations.install.plan import Plan, Wish
from gitmem.integrations.install.record import Install, as_replaced, install_of, replaced_paths
from gitmem.integrations.install.skills.files import shipped_folder
from gitmem.integrations.install.skills.update import SkillPlan, as_shipped, plan_skills
from gitmem.memory.group import Store
from gitmem.model.access import MAIN
from gitmem.model.text.format import counted
from gitmem.model.text.json_edit import read


def still_calling(plan: Plan, where: Places) -> Iterator[str]:
    """What calls us after all, since it did so before."""
    after = next((x.after for x in plan.shared if x.path == where.hooks), None)
    events = events_wired(read(after.decode("utf-8"))) if after and after.strip() else {}
    if events:
        yield f"{where.hooks} calls gitmem in a way of your own, which stays: {', '.join(events)}"


def still_running(known: Install, needed: Mapping[str, object]) -> Iterator[str]:
    """The folders of groups to which sessions write that read the settings before they changed."""
    given = (
        kinds[KIND] for path, kinds in known.given.items() if path not in needed and KIND in kinds
    )
    folders = [each for each in dict.fromkeys(x[DIRECTORY] for x in given) if isdir(each)]
    if folders:
        later = f"notes they write later stay in {', '.join(folders)}"
        yield f"end running sessions of {HOSTS[known.host].title} first: {later}"


def without_record(store: Path, host: str) -> Iterator[str]:
    """What nobody can find where the record of installations is gone."""
    if HOSTS[host].project.local:
        said = f"no record of installs in {store}: other projects may still have settings of gitmem"
        yield f"{said}; run `gitmem install {host} --uninstall` in each"


def unloaded(skills: SkillPlan, where: Places, replace: bool) -> Iterator[str]:
    """Which skills of ours a host does not load, and what to do about it."""
    names = skills.shadowed
    if not names:
        return
    said = (
        f"{counted(len(names), 'skill')} of gitmem {'does' if len(names) == 1 else 'do'} not load"
    )
    if replace:
        paths = ", ".join(str(where.skills / each) for each in names)
        yield f"{said}: {', '.join(names)}; remove or rename {paths}, then install again"
    else:
        yield f"{said}: {', '.join(names)}; {_replace_hint(where)} puts ours in their place"


def hidden_by(wish: Wish, store: Path, environ: Mapping[str, str], project: Path) -> Iterator[str]:
    """Skills of the other scope that have the names of ours, and what to do about them."""
    there = other_scope(wish.places, environ, project)
    if there is None or wish.has_plugin or realpath(there.skills) == realpath(wish.places.skills):
        return
    for name in shadowed(there, install_of(store, there), wish.layout):
        yield "; ".join(shadow_in_other_scope(there, name))


def shadowed(there: Places, known: Install, layout: str) -> tuple[str, ...]:
    """The names of our skills that somebody else's have THERE, of which KNOWN is the record."""
    source = shipped_folder()
    given = known.skills or as_shipped(source, there.host, there.skills)
    plan = plan_skills(source, there.host, there.skills, given, put_back=False, layout=layout)
    return plan.shadowed


def shadow_in_other_scope(there: Places, name: str) -> tuple[str, str]:
    """What a skill THERE does to the one that we have put into the other scope, and the way out."""
    path, away = there.skills / name, there.skills.parent / f"{name}.before-gitmem"
    if there.host == CLAUDE and there.scope == USER:
        loads = "it loads before the one that gitmem has put into the project"
    else:
        loads = "there are two skills of that name"
    return (
        f"{path} is not gitmem's: {loads}",
        f"`{join(('mv', str(path), str(away)))}` lets gitmem's load",
    )


def _replace_hint(where: Places) -> str:
    return f"`{_install_call(where)} --replace`"


def _install_call(where: Places) -> str:
    return f"gitmem install {where.host} --scope {where.scope}"


def given_way(plan: Plan, where: Places, store: Path) -> Iterator[str]:
    """What gives way to ours, where it is kept, and the way back."""
    back = f"`{_install_call(where)} --uninstall` puts it back"
    for change in (*plan.skills.exchanges(where.skills), *plan.shared):
        kept = plan.record.files.get(as_replaced(change.path))
        if change.action == "changed" and kept and kept.before == digest(change.before or b""):
            copy = backup_of(store, change.path, kept.before)
            yield f"{change.path} is kept as {copy}; {back}"


def edited_since(plan: Plan, where: Places, store: Path, known: Install) -> Iterator[str]:
    """Which files of somebody else's do not come back, because ours was edited in their place."""
    changed = {change.path for change in plan.skills.changes}
    for path in replaced_paths(known):
        kept = known.files[as_replaced(path)].before
        if where.skills in path.parents and path not in changed and kept:
            yield f"what stood at {path} before gitmem is kept as {backup_of(store, path, kept)}"


def still_there(
    plan: Plan, where: Places, environ: Mapping[str, str], project: Path
) -> Iterator[str]:
    """What a former memory system still has in the files of the host, and what to do about it."""
    done = {Path(realpath(x.path)): text_of(x.path, x.after) for x in plan.shared}
    for there in filter(None, (where, other_scope(where, environ, project))):
        for each in leftovers(there, done):
            way = each.by_hand or way_out(there, (where.scope,))
            yield f"{each.said}; {way}" if each.is_known else each.said


def shown_again(
    plan: Plan, where: Places, environ: Mapping[str, str], project: Path
) -> Iterator[str]:
    """What came back beside an installation of ours in the other scope."""
    other = other_scope(where, environ, project)
    if other and (events_wired(settings_in(other.hooks)) or plugin_at(other)):
        yield from still_there(plan, other, environ, project)


def doubts(wish: Wish, plugin: str, environ: Mapping[str, str], project: Path) -> Iterator[str]:
    """What would make everything happen twice, or not at all elsewhere."""
    where = wish.places
    if plugin:
        yield (
            f"the plugin {plugin} is enabled and brings hooks, skills and the MCP server: "
            "they are left out here, or everything would happen twice"
        )
    if where.scope == PROJECT and not wish.program.is_portable:
        call = " ".join(wish.program.call)
        yield f"the settings of this project now name what only this machine has: {call}"
    there = other_scope(where, environ, project)
    # Where a link makes one file of both, a host calls us once.
    if there and not plugin and realpath(there.hooks) != realpath(where.hooks):
        yield from _in_other_scope(there)


def _in_other_scope(there: Places) -> Iterator[str]:
    if named := plugin_at(there):
        yield (
            f"the plugin {named} is enabled in {there.root}, too: there everything happens twice, "
            "unless you disable one of the two"
        )
    if events_wired(settings_in(there.hooks)):
        yield (
            f"{there.hooks} calls gitmem, too: keep one of the two, "
            f"`{_install_call(there)} --uninstall` removes that one"
        )


def _is_linked(store: Store, folder: Path, group: str) -> bool:
    with suppress(BadInput):  # a config.yaml that cannot be read is for the doctor to report
        return store.linked(str(folder)) == group
    return False


def next_steps(
    wish: Wish, store: Store, group: str, *, mcp: bool, is_changed: bool, is_found: bool
) -> Iterator[str]:
    where = wish.places
    # What hooks show is found by the folder of a session.
    if where.scope == PROJECT and group != MAIN and not _is_linked(store, where.root, group):
        yield f"gitmem link {quote(str(where.root))} -g {group}"
    if where.scope == USER and group != MAIN and is_changed:
        named = f"export GITMEM_GROUP={quote(group)}"
        yield f"put `{named}` into the profile of your shell: without it folders use {MAIN}"
    if mcp and where.mcp is None:
        yield f"claude mcp add --scope user gitmem -- {join((*wish.program.call, 'mcp'))}"
    if not is_found:
        folder = dirname(wish.program.place[0]) if len(wish.program.place) == 1 else "DIR"
        named = f'export PATH={quote(folder)}:"$PATH"'
        yield f"put `{named}` into the profile of your shell: skills call a plain `gitmem`"
    if is_changed and wish.program.store:
        named = f"export GITMEM_HOME={quote(wish.program.store)}"
        yield f"put `{named}` into the profile of your shell: skills call a plain `gitmem`"
    if is_changed and where.trust:
        yield where.trust
    if is_changed:
        yield "begin a new session of the host; `gitmem doctor` says what is wired"
