"""Each host in each scope: what it reads of ours, and what in its settings is against us."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gitmem.errors import BadInput, GitmemError, Refused
from gitmem.integrations.doctor import codex
from gitmem.integrations.doctor.findings import Finding, Wiring
from gitmem.integrations.doctor.former import former_findings
from gitmem.integrations.hosts.table import CLAUDE, CODEX, COPILOT, GEMINI, HOSTS
from gitmem.integrations.install.files import read_file, text_of
from gitmem.integrations.install.former import hooks_left
from gitmem.integrations.install.locations import PROJECT, SCOPES, Places, Program, places
from gitmem.integrations.install.parts.hooks import PROMPTS, events_wired, wanted_handlers
from gitmem.integrations.install.parts.mcp import NAME
from gitmem.integrations.install.parts.sections import check_marks, has_section
from gitmem.integrations.install.parts.settings import plugin_at, read_settings
from gitmem.integrations.install.record import install_of
from gitmem.integrations.install.skills.files import SKILL, shipped_folder
from gitmem.integrations.install.skills.update import as_shipped, plan_skills
from gitmem.integrations.transcripts.readers import home_in

Settings = dict[Path, dict[str, Any]]
_BROKEN = "mend it by hand: its host cannot read it, either"
_SWITCHES = {
    "disableAllHooks": "set it to false there, or take it out",
    "allowManagedHooksOnly": "only your administrator can: ask to have gitmem's hooks managed",
}


def _all_places(environ: Mapping[str, str], project: Path) -> Iterator[Places]:
    for host in HOSTS:
        for scope in SCOPES:
            try:
                yield places(host, scope, environ, project)
            except BadInput:  # the home folder is no project
                continue


def wirings(store: Path, environ: Mapping[str, str], project: Path) -> Iterator[Wiring]:
    """What each host has of us; a host that is not on this machine is left out."""
    for where in _all_places(environ, project):
        if where.hooks.parent.is_dir() or where.memory.is_file():
            yield _wiring(store, where)


def _wiring(store: Path, where: Places) -> Wiring:
    row = Wiring(where.host, where.scope, str(where.hooks))
    try:
        settings = read_settings(where.hooks)
        servers = read_settings(where.mcp) if where.mcp else {}
        memory = text_of(where.memory, read_file(where.memory))
    except GitmemError as error:
        return row._replace(problem=error.message)
    calls = events_wired(settings)
    named = servers.get(HOSTS[where.host].servers)
    ways = (words[: words.index("hook")] for words in calls.values())
    return row._replace(
        events=tuple(calls),
        commands=tuple(dict.fromkeys(ways)),
        skills=_count(store, where),
        section=has_section(memory),
        mcp=isinstance(named, dict) and NAME in named,
        plugin=plugin_at(where),
    )


def _count(store: Path, where: Places) -> int:
    """How many skills are ours there: what was given, edited or not, and what is as it ships."""
    given: Mapping[str, str] = {}
    with suppress(GitmemError):  # told already
        given = install_of(store, where).skills
    ours = {*given, *as_shipped(shipped_folder(), where.host, where.skills)}
    return sum((where.skills / each).is_file() for each in ours if each.endswith(f"/{SKILL}"))


def host_findings(
    store: Path,
    wired: Sequence[Wiring],
    environ: Mapping[str, str],
    project: Path,
    managed: Path | None,
) -> Iterator[Finding]:
    """What keeps the hosts that call us from doing so, or from doing it once."""
    for each in wired:
        if each.problem:
            yield Finding("settings-broken", each.problem, _BROKEN)
    for where in _all_places(environ, project):
        yield from _local_findings(where)
        yield from _mark_findings(where)
        row = next((x for x in wired if (x.host, x.scope) == where[:2]), None)
        if row and row.events:
            yield from _age_findings(store, where, row)
    for host, look in _LOOKS.items():
        rows = [x for x in wired if x.host == host and (x.events or x.plugin)]
        if rows:
            yield from _double_findings(host, rows)
            yield from former_findings(store, host, rows, environ, project)
            files = _settings(_files(host, environ, project, managed))
            yield from _hidden_findings(rows, files)
            yield from _managed_findings(managed, files)
            yield from look(store, files, home_in(environ))


def _local_findings(where: Places) -> Iterator[Finding]:
    """Settings of this person alone that cannot be read: nobody knows what they call."""
    try:
        read_settings(where.local) if where.local else {}
    except GitmemError as error:
        yield Finding("settings-broken", error.message, _BROKEN)


def _mark_findings(where: Places) -> Iterator[Finding]:
    """A section of which nobody can say where it ends: it is neither renewed nor taken out."""
    try:
        check_marks(text_of(where.memory, read_file(where.memory)))
    except Refused as error:
        again = f"then `gitmem install {where.host} --scope {where.scope}`"
        said = f"{where.memory}: {error.message}"
        yield Finding("section-broken", said, f"mend or remove them by hand, {again}")


def _age_findings(store: Path, where: Places, row: Wiring) -> Iterator[Finding]:
    again = f"`gitmem install {where.host} --scope {where.scope}`"
    wanted = wanted_handlers(
        where.host, Program(("gitmem",)), on_prompt=not PROMPTS.isdisjoint(row.events)
    )
    missing = [event for event in wanted if event not in row.events]
    if missing:
        yield Finding("hooks-old", f"{row.settings} does not answer {', '.join(missing)}", again)
    try:
        known = install_of(store, where)
    except GitmemError as error:
        yield Finding("record-broken", error.message, error.hint)
        return
    plan = plan_skills(shipped_folder(), where.host, where.skills, known.skills, put_back=False)
    if plan.changes:
        old = sorted({x.path.relative_to(where.skills).parts[0] for x in plan.changes})
        said = f"not as they should be in {where.skills}: {', '.join(old)}"
        yield Finding("skills-stale", said, again)


def _double_findings(host: str, rows: Sequence[Wiring]) -> Iterator[Finding]:
    # A folder that both scopes share by a link is one file, whose calls a host makes once.
    called = list({os.path.realpath(each.settings): each for each in rows if each.events}.values())
    plugin = next((each for each in rows if each.plugin), None)
    if plugin and called:
        yield Finding(
            "double",
            f"the plugin {plugin.plugin} and {called[0].settings} both call gitmem",
            f"`gitmem install {host} --scope {called[0].scope} --uninstall`",
        )
    if len(called) > 1:
        yield Finding(
            "double",
            f"{' and '.join(each.settings for each in called)} both call gitmem",
            f"`gitmem install {host} --scope {PROJECT} --uninstall`",
        )


def _managed_findings(managed: Path | None, files: Settings) -> Iterator[Finding]:
    """Hooks of another memory system that an administrator has set."""
    if managed in files:
        hint = f"take it out of {managed}: gitmem does not write that file"
        for each in hooks_left(managed, files[managed]):
            yield Finding("memory-twice", each.said, hint)


def _hidden_findings(rows: Sequence[Wiring], files: Settings) -> Iterator[Finding]:
    """Calls in files that `install` does not write: they are made as well."""
    known = {os.path.realpath(each.settings) for each in rows}
    for path, said in files.items():
        if os.path.realpath(path) not in known and events_wired(said):
            text = f"{path} calls gitmem, too: everything happens twice"
            yield Finding("double", text, f"take those lines out of {path}")


def _files(
    host: str, environ: Mapping[str, str], project: Path, managed: Path | None
) -> Iterator[Path]:
    """The files whose settings count for HOST here."""
    for where in _all_places(environ, project):
        if where.host == host:
            yield from (*where.settings, *where.switches)
    if managed and host == CLAUDE:
        yield managed


def _settings(files: Iterator[Path]) -> Settings:
    found = {}
    for path in files:
        try:
            found[path] = read_settings(path)
        except GitmemError:  # told already, where it is one of ours
            found[path] = {}
    return found


def _claude_findings(store: Path, files: Settings, home: Path) -> Iterator[Finding]:
    for path, said in files.items():
        for name, hint in _SWITCHES.items():
            if said.get(name) is True:
                yield Finding("hooks-disabled", f"{name} is set in {path}: no hook runs", hint)
    boxes = {path: each for path, said in files.items() if (each := _table(said, "sandbox"))}
    if not any(box.get("enabled") is True for box in boxes.values()):
        return
    rules = [_table(box, "filesystem") for box in boxes.values()]
    denied = [x for rule in rules for key in ("denyWrite", "denyRead") for x in _texts(rule, key)]
    allowed = [x for rule in rules for x in _texts(rule, "allowWrite")]
    if any(_covers(x, store, home) for x in denied):
        where, what = "denyWrite and denyRead", "denies"
    elif not any(_covers(x, store, home) for x in allowed):
        where, what = "allowWrite", "does not allow"
    else:
        return
    yield Finding(
        "sandbox",
        f"the sandbox {what} writing to {store}: `gitmem write` fails in the model's shell",
        f"see to sandbox.filesystem.{where} in {next(iter(boxes))}; hooks and MCP are not affected",
    )


def _codex_findings(store: Path, files: Settings, home: Path) -> Iterator[Finding]:
    for path, said in files.items():
        if _table(said, "features").get("hooks") is False:
            text = f"hooks = false stands under [features] in {path}: no hook runs"
            yield Finding("hooks-disabled", text, "set it to true there, or take it out")
    yield from codex.sandbox_findings(store, files, home)
    yield from codex.trust_findings(files)


def _gemini_findings(store: Path, files: Settings, home: Path) -> Iterator[Finding]:
    for path, said in files.items():
        switch = _table(said, "hooksConfig")
        if switch.get("enabled") is False:
            text = f"hooksConfig.enabled is false in {path}: no hook runs"
            yield Finding("hooks-disabled", text, "set it to true there, or take it out")
        if NAME in _texts(switch, "disabled"):
            text = f"hooksConfig.disabled names {NAME} in {path}: no hook of it runs"
            yield Finding("hooks-disabled", text, f"take {NAME} out of that list")


def _copilot_findings(store: Path, files: Settings, home: Path) -> Iterator[Finding]:
    for path, said in files.items():
        if said.get("disableAllHooks") is True:
            text = f"disableAllHooks is set in {path}: no hook runs"
            yield Finding("hooks-disabled", text, _SWITCHES["disableAllHooks"])


_LOOKS = {
    CLAUDE: _claude_findings,
    CODEX: _codex_findings,
    GEMINI: _gemini_findings,
    COPILOT: _copilot_findings,
}


def _table(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = settings.get(name)
    return found if isinstance(found, dict) else {}


def _texts(settings: Mapping[str, Any], name: str) -> list[str]:
    found = settings.get(name)
    return [x for x in found if isinstance(x, str)] if isinstance(found, list) else []


def _covers(rule: str, store: Path, home: Path) -> bool:
    """Whether a path in a rule of a sandbox is the store, or a folder around it."""
    plain = rule.removesuffix("/**").removesuffix("/*").rstrip("/")
    if plain == "~" or plain.startswith("~/"):
        plain = f"{home}{plain[1:]}"
    folder = os.path.realpath(f"/{plain.lstrip('/')}")
    return Path(folder) in (real := Path(os.path.realpath(store)), *real.parents)
