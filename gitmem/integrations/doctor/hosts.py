"""Faults in the files of each host: settings, hooks, skills, and parts of an old memory system."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from gitmem.errors import GitmemError, Refused
from gitmem.integrations.doctor import access
from gitmem.integrations.doctor.wiring import Checkup, Fault, Wiring, all_files
from gitmem.integrations.hosts.program import Program
from gitmem.integrations.hosts.table import CLAUDE, CODEX, COPILOT, GEMINI
from gitmem.integrations.install.files import read_file, text_of
from gitmem.integrations.install.host_files import (
    PROJECT,
    HostFiles,
    read_settings,
    table_in,
    texts_in,
)
from gitmem.integrations.install.old_system import hooks_left, leftovers, old_system, remedy
from gitmem.integrations.install.parts.hooks import PROMPTS, events_wired, shipped_handlers
from gitmem.integrations.install.parts.mcp import NAME
from gitmem.integrations.install.parts.sections import check_marks
from gitmem.integrations.install.record import Install, install_of
from gitmem.integrations.install.remarks import shadow_in_other_scope, shadowed
from gitmem.integrations.install.skill_update import as_shipped, plan_skills
from gitmem.integrations.install.skills import SKILL, shipped_folder
from gitmem.integrations.transcripts.readers import home_in
from gitmem.memory.group import Group, Store
from gitmem.memory.layouts import layout_of
from gitmem.model.hints import Hint, call

Settings = dict[Path, dict[str, Any]]
_BROKEN = "edit it by hand: its host cannot read it, either"
_SWITCH_ON = "set it to true there, or remove it"
_SWITCHES = {
    "disableAllHooks": "set it to false there, or remove it",
    "allowManagedHooksOnly": "ask your administrator to add gitmem's hooks to the managed ones",
}


def host_faults(checkup: Checkup) -> Iterator[Fault]:
    """What stops hosts from calling gitmem, or makes them call it twice."""
    store, wired = checkup.store.root, checkup.wired
    for each in wired:
        if each.problem:
            yield Fault("settings-broken", each.problem, _BROKEN)
    for where in all_files(checkup.environ, checkup.project):
        yield from _local_faults(where)
        yield from _marker_faults(where)
        row = next((x for x in wired if (x.host, x.scope) == where[:2]), None)
        if row and row.events:
            yield from _age_faults(store, where, row)
    for host, check in _CHECKS.items():
        rows = [x for x in wired if x.host == host and x.is_wired]
        if rows:
            yield from _double_faults(rows)
            yield from _old_system_faults(checkup, host, rows)
            files = _settings(checkup, host)
            yield from _hidden_faults(rows, files)
            yield from _managed_faults(checkup.managed, files)
            yield from check(store, files, home_in(checkup.environ))


def _local_faults(where: HostFiles) -> Iterator[Fault]:
    """Unreadable settings of this person alone, whose hooks are unknown."""
    try:
        read_settings(where.local) if where.local else {}
    except GitmemError as error:
        yield Fault("settings-broken", error.message, _BROKEN)


def _marker_faults(where: HostFiles) -> Iterator[Fault]:
    """A section without a clear end, which is neither updated nor removed."""
    try:
        check_marks(text_of(where.memory, read_file(where.memory)))
    except Refused as error:
        again = call("install", where.host, scope=where.scope)
        what = f"{where.memory}: {error.message}"
        yield Fault("section-broken", what, Hint("correct or remove them by hand, then ", again))


def _age_faults(store: Path, where: HostFiles, row: Wiring) -> Iterator[Fault]:
    again = Hint(row.install())
    on_prompt = not PROMPTS.isdisjoint(row.events)
    handlers = shipped_handlers(where.host, Program(("gitmem",)), on_prompt=on_prompt)
    missing = [event for event in handlers if event not in row.events]
    if missing:
        yield Fault("hooks-old", f"{row.settings} has no hook for {', '.join(missing)}", again)
    try:
        known = install_of(store, where)
    except GitmemError as error:
        yield Fault("record-broken", error.message, error.hint)
        return
    plan = plan_skills(shipped_folder(), where.host, where.skills, known.skills, put_back=False)
    if plan.changes:
        old = sorted({x.path.relative_to(where.skills).parts[0] for x in plan.changes})
        yield Fault("skills-stale", f"outdated skills in {where.skills}: {', '.join(old)}", again)


def _double_faults(rows: Sequence[Wiring]) -> Iterator[Fault]:
    # A folder that both scopes share by a link is one file, whose hooks a host calls once.
    called = list({os.path.realpath(each.settings): each for each in rows if each.events}.values())
    plugin = next((each for each in rows if each.plugin), None)
    if plugin and called:
        what = f"the plugin {plugin.plugin} and {called[0].settings} both call gitmem"
        yield Fault("double", what, Hint(called[0].install("uninstall")))
    if len(called) > 1:
        what = f"{' and '.join(each.settings for each in called)} both call gitmem"
        way = call("install", called[0].host, scope=PROJECT, uninstall=True)
        yield Fault("double", what, Hint(way))


def _managed_faults(managed: Path | None, files: Settings) -> Iterator[Fault]:
    """Hooks of another memory system in an administrator's settings."""
    if managed in files:
        hint = f"remove it from {managed}: gitmem does not write that file"
        for each in hooks_left(managed, files[managed]):
            yield Fault("memory-twice", each.message, hint)


def _hidden_faults(rows: Sequence[Wiring], files: Settings) -> Iterator[Fault]:
    """Calls in files that `install` does not write: the host makes them as well."""
    known = {os.path.realpath(each.settings) for each in rows}
    for path, settings in files.items():
        if os.path.realpath(path) not in known and events_wired(settings):
            what = f"{path} calls gitmem, too: everything happens twice"
            yield Fault("double", what, f"remove those lines from {path}")


def _settings(checkup: Checkup, host: str) -> Settings:
    """The settings that apply to HOST here, by their files."""
    where = list(checkup.files_of(host))
    paths = [path for each in where for path in (*each.settings, *each.switches)]
    found = {}
    for path in (*paths, checkup.managed) if checkup.managed and host == CLAUDE else paths:
        try:
            found[path] = read_settings(path)
        except GitmemError:  # a fault of its own
            found[path] = {}
    return found


def _disabled(name: str, path: Path, hint: str) -> Fault:
    return Fault("hooks-disabled", f"{name} in {path}: no hook runs", hint)


def _claude_faults(store: Path, files: Settings, home: Path) -> Iterator[Fault]:
    for path, settings in files.items():
        for name, hint in _SWITCHES.items():
            if settings.get(name) is True:
                yield _disabled(f"{name} is set", path, hint)
    yield from access.claude_sandbox_faults(store, files, home)


def _codex_faults(store: Path, files: Settings, home: Path) -> Iterator[Fault]:
    for path, settings in files.items():
        if table_in(settings, "features").get("hooks") is False:
            yield _disabled("hooks = false under [features]", path, _SWITCH_ON)
    yield from access.codex_sandbox_faults(store, files, home)
    yield from access.trust_faults(files)


def _gemini_faults(store: Path, files: Settings, home: Path) -> Iterator[Fault]:
    for path, settings in files.items():
        switch = table_in(settings, "hooksConfig")
        if switch.get("enabled") is False:
            yield _disabled("hooksConfig.enabled is false", path, _SWITCH_ON)
        if NAME in texts_in(switch, "disabled"):
            what = f"hooksConfig.disabled names {NAME}"
            yield _disabled(what, path, f"remove {NAME} from that list")


def _copilot_faults(store: Path, files: Settings, home: Path) -> Iterator[Fault]:
    for path, settings in files.items():
        if settings.get("disableAllHooks") is True:
            yield _disabled("disableAllHooks is set", path, _SWITCHES["disableAllHooks"])


_CHECKS: Mapping[str, Callable[[Path, Settings, Path], Iterator[Fault]]] = {
    CLAUDE: _claude_faults,
    CODEX: _codex_faults,
    GEMINI: _gemini_faults,
    COPILOT: _copilot_faults,
}


def _old_system_faults(checkup: Checkup, host: str, rows: Sequence[Wiring]) -> Iterator[Fault]:
    """Old hooks that show memory twice, old instructions, and skills that load instead of ours."""
    wired = [each.scope for each in rows]
    found = list(_installs(checkup, host))
    layout = next(filter(None, (_layout(checkup.store, known.group) for _, known in found)), "")
    # A plugin brings its skills under names of its own.
    is_needed = any(each.events and not each.plugin for each in rows)
    for there, known in found:
        for each in leftovers(there):
            hint = each.by_hand or remedy(there, wired)
            if each.is_hook:
                yield Fault("memory-twice", each.message, hint)
            elif each.is_known:
                yield Fault("section-old", each.message, hint)
        hidden = shadowed(there, known, layout) if is_needed else ()
        for name in hidden:
            yield _shadow_fault(there, name, known, wired)
        yield from _old_skill_faults(there, known, hidden)


def _layout(store: Store, group: str) -> str:
    """The name of the layout of GROUP, whose aliases count; empty where it is unreadable."""
    with suppress(GitmemError), closing(Group(store, group)) as opened:
        return layout_of(opened).name
    return ""


def old_system_notes(checkup: Checkup) -> Iterator[str]:
    """Sections on memory whose origin only a person knows."""
    for host in checkup.hosts:
        for there, _ in _installs(checkup, host):
            yield from (each.message for each in leftovers(there) if not each.is_known)


def _installs(checkup: Checkup, host: str) -> Iterator[tuple[HostFiles, Install]]:
    for there in checkup.files_of(host):
        try:
            yield there, install_of(checkup.store.root, there)
        except GitmemError:  # an unreadable record is a fault of its own
            return


def _shadow_fault(there: HostFiles, name: str, known: Install, wired: Sequence[str]) -> Fault:
    if known.skills or there.scope in wired:
        what = f"{there.skills / name} is not gitmem's: it loads instead of gitmem's skill"
        again = call("install", there.host, scope=there.scope, replace=True)
        return Fault("skill-shadowed", what, Hint(again, " replaces it"))
    return Fault("skill-shadowed", *shadow_in_other_scope(there, name))


def _old_skill_faults(there: HostFiles, known: Install, reported: Sequence[str]) -> Iterator[Fault]:
    """Skills of an old system under a name that ours do not use here."""
    given = known.skills or as_shipped(shipped_folder(), there.host, there.skills)
    ours = {each.partition("/")[0] for each in given}
    for name in old_system().skills:
        path = there.skills / name
        if name not in (*ours, *reported) and (path / SKILL).is_file():
            what = f"{path} is a skill of another memory system, which bypasses gitmem"
            yield Fault("skill-old", what, f"move it out of {there.skills}")
