"""What denies a host's model access to memory: permissions, sandboxes, hooks without trust."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gitmem.errors import GitmemError
from gitmem.integrations.doctor.wiring import Checkup, Fault, Wiring
from gitmem.integrations.hosts.table import CODEX, HOSTS
from gitmem.integrations.install.host_files import USER, host_files, settings_in, table_in, texts_in
from gitmem.integrations.install.links import Linking, linking_of
from gitmem.integrations.install.parts.hooks import (
    HOOKS,
    MATCHER,
    events_wired,
    handlers_in,
    is_ours,
)
from gitmem.integrations.install.parts.mcp import NAME
from gitmem.integrations.install.parts.permissions import ALLOW, PERMISSIONS, covers
from gitmem.integrations.install.parts.sandbox import ROOTS, TABLE, is_below, roots_in
from gitmem.integrations.install.record import install_of
from gitmem.memory.group import Store
from gitmem.model.hints import Hint, call
from gitmem.model.text.format import counted

Settings = Mapping[Path, dict[str, Any]]
"""The files whose settings apply, the user's first."""
_FEW = 4
_AGAINST = {"deny": "denies", "ask": "asks about"}
_OPEN = "danger-full-access"
_WITH_MCP = Hint(call("install", CODEX, mcp=True), ": its tools write outside of the sandbox")
_TIMEOUT, _SHORTEST, _AT_THE_END = 600, 1, 3
"""Seconds that Codex gives a hook: by default, at least, and at most when a session ends."""
_UNMATCHED = frozenset(("Stop", "UserPromptSubmit", "SessionEnd"))
"""Events for which Codex ignores a matcher."""
_PAGE = "start `codex`, open /hooks there"
_OF_HANDLER = ("type", "command", "statusMessage", "additionalContextLimit")


def permission_faults(checkup: Checkup) -> Iterator[Fault]:
    """The rules that installations lack, and rules of the user that override ours."""
    store, wired = checkup.store, checkup.wired
    for row in wired:
        where = host_files(row.host, row.scope, checkup.environ, checkup.project)
        if not where.rules or not row.is_wired:
            continue
        try:
            known = install_of(store.root, where)
            linking = linking_of(store, where, known, is_plugin=bool(row.plugin))
        except GitmemError:  # a fault of its own
            continue
        # Where a link makes both scopes one file, the other scope's installation appears here.
        twins = [x for x in wired if x.host == row.host and x.settings != row.settings]
        is_twin = any(os.path.realpath(x.settings) == os.path.realpath(row.settings) for x in twins)
        if linking.permissions and (known.gitmem or not is_twin):
            yield from _missing(linking, row)
            paths = [x for each in checkup.files_of(row.host) for x in each.settings]
            managed = [checkup.managed] if checkup.managed else []
            yield from _against(linking, [*where.settings, *paths, *managed])


def _missing(linking: Linking, row: Wiring) -> Iterator[Fault]:
    for path, rules in linking.rules():
        allowed = texts_in(settings_in(path).get(PERMISSIONS), ALLOW)
        lacks = [each for each in rules if not any(covers(x, each) for x in allowed)]
        if lacks:
            what = f"{path} does not allow {_named(lacks)}"
            yield Fault("permissions-missing", what, Hint(row.install(), " adds the rules"))


def _against(linking: Linking, paths: Sequence[Path]) -> Iterator[Fault]:
    """A rule that denies or asks overrides all that allow."""
    rules = [each for _, found in linking.rules() for each in found]
    for path in dict.fromkeys(paths):
        settings = settings_in(path).get(PERMISSIONS)
        for kind, verb in _AGAINST.items():
            for rule in texts_in(settings, kind):
                hit = [each for each in rules if covers(rule, each)]
                if hit:
                    what = f"{path} {verb} {rule}, which overrides {_named(hit)}"
                    way = f"remove it from {kind} in {path}, or narrow it"
                    yield Fault("permissions-missing", what, way)


def _named(rules: Sequence[str]) -> str:
    first = ", ".join(rules[:_FEW])
    return first if len(rules) <= _FEW else f"{first} and {counted(len(rules) - _FEW, 'more rule')}"


def claude_sandbox_faults(store: Path, files: Settings, home: Path) -> Iterator[Fault]:
    """Whether the sandbox of Claude Code lets the model's shell write to memory."""
    boxes = {path: box for path, each in files.items() if (box := table_in(each, "sandbox"))}
    if not any(box.get("enabled") is True for box in boxes.values()):
        return
    rules = [table_in(box, "filesystem") for box in boxes.values()]
    denied = [x for rule in rules for key in ("denyWrite", "denyRead") for x in texts_in(rule, key)]
    allowed = [x for rule in rules for x in texts_in(rule, "allowWrite")]
    if any(_contains(x, store, home) for x in denied):
        keys, verb = "denyWrite and denyRead", "denies"
    elif not any(_contains(x, store, home) for x in allowed):
        keys, verb = "allowWrite", "does not allow"
    else:
        return
    yield Fault(
        "sandbox",
        f"the sandbox {verb} writing to {store}: gitmem fails in the model's shell",
        f"edit sandbox.filesystem.{keys} in {next(iter(boxes))}; hooks and MCP are not affected",
    )


def _contains(rule: str, store: Path, home: Path) -> bool:
    """Whether a path in a rule of a sandbox is the store, or a folder above it."""
    plain = rule.removesuffix("/**").removesuffix("/*").rstrip("/")
    if plain == "~" or plain.startswith("~/"):
        plain = f"{home}{plain[1:]}"
    folder = os.path.realpath(f"/{plain.lstrip('/')}")
    return Path(folder) in (real := Path(os.path.realpath(store)), *real.parents)


def codex_sandbox_faults(store: Path, files: Settings, home: Path) -> Iterator[Fault]:
    """Whether the sandbox of Codex lets the model's shell write to memory; otherwise MCP has to."""
    configs = _configs(files)
    modes = (x["sandbox_mode"] for x in reversed(configs.values()) if "sandbox_mode" in x)
    mode = next(modes, "")
    if mode == _OPEN:
        return
    has_mcp = any(NAME in table_in(each, HOSTS[CODEX].servers) for each in configs.values())
    profile = next((x for x in configs.values() if "default_permissions" in x), None)
    denies = "denies writes from the model's shell to"
    if mode == "read-only" or profile:
        if not has_mcp:
            by = f"default_permissions = {profile['default_permissions']!r}" if profile else mode
            yield Fault("sandbox", f"the sandbox ({by}) {denies} {store}", _WITH_MCP)
        return
    closed = _closed(store, configs, home)
    if closed:
        hint = _way_in(configs, closed)
        hint = hint if has_mcp else Hint(hint, "; or ", _WITH_MCP)
        yield Fault("sandbox", f"the sandbox {denies} {', '.join(closed)}", hint)


def _configs(files: Settings) -> dict[Path, dict[str, Any]]:
    return {path: each for path, each in files.items() if path.suffix == ".toml"}


def _closed(store: Path, configs: dict[Path, dict[str, Any]], home: Path) -> list[str]:
    """The folders of main and of linked groups that the sandbox does not let the model write to."""
    # The list of a project overrides the user's.
    listed = (each for each in reversed(configs.values()) if ROOTS in table_in(each, TABLE))
    roots = roots_in(next(listed, {}))
    folders = [f"{home}{x[1:]}" if x[:2] in ("~", "~/") else x for x in roots if "\0" not in x]
    real = [os.path.realpath(each) for each in folders]
    try:
        where = host_files(CODEX, USER, {"HOME": str(home)}, home)
        needed = linking_of(Store(store), where, install_of(store, where)).roots()
    except GitmemError:  # an unreadable config.yaml is a fault of its own
        return []
    return [each for each in needed if not is_below(each, real)]


def _way_in(configs: Settings, closed: Sequence[str]) -> str:
    user = next(iter(configs))
    if events_wired(settings_in(_hooks(user))):
        return Hint(call("install", CODEX))
    return f"add them to {ROOTS} under [{TABLE}] in {user}: {json.dumps(closed)}"


def trust_faults(files: Settings) -> Iterator[Fault]:
    """Hooks of ours that Codex skips: the user has not trusted them, or they have changed since.

    It records trust in the user's `config.toml`, by the position of each handler.
    """
    configs = _configs(files)
    states = _states(next(iter(configs.values()), {}))
    for path in map(_hooks, configs):
        ours = [
            (event, states.get((os.path.realpath(path), spot), {}), digest)
            for event, spot, digest in _ours(settings_in(path))
        ]
        off = [event for event, state, _ in ours if state.get("enabled") is False]
        new = [x for x, state, digest in ours if state.get("trusted_hash") != digest]
        if off:
            what = f"Codex skips hooks in {path} that are disabled: {', '.join(off)}"
            yield Fault("hooks-disabled", what, f"{_PAGE} and enable them")
        if new := [event for event in new if event not in off]:
            what = f"Codex skips hooks in {path} that are not trusted: {', '.join(new)}"
            yield Fault("hooks-untrusted", what, f"{_PAGE} and trust them")


def _hooks(config: Path) -> Path:
    return config.with_name("hooks.json")


def _states(settings: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """The user's decision about each hook, by the real path of its file and its position there."""
    found = {}
    for key, state in table_in(table_in(settings, HOOKS), "state").items():
        path, *spot = key.rsplit(":", 3)
        if path and "\0" not in path and isinstance(state, dict):
            found[os.path.realpath(path), ":".join(spot)] = state
    return found


def _ours(settings: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Each handler of ours: its event, its position, and the digest that Codex records."""
    for event, groups in table_in(settings, HOOKS).items():
        for (group, at), handler in handlers_in(groups):
            if is_ours(handler):
                digest = handler_digest(event, groups[group], handler)
                yield event, f"{_snake_case(event)}:{group}:{at}", digest


def _snake_case(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def handler_digest(event: str, group: Mapping[str, Any], handler: Mapping[str, Any]) -> str:
    """The digest of a handler, as Codex 0.166.0 computes it: of all that it runs, normalised."""
    from hashlib import sha256

    seconds = handler.get("timeout", _TIMEOUT)
    seconds = max(_SHORTEST, seconds) if isinstance(seconds, int) else _TIMEOUT
    if event == "SessionEnd":
        seconds = min(_AT_THE_END, seconds)
    known = {name: handler[name] for name in _OF_HANDLER if handler.get(name) is not None}
    row: dict[str, object] = {
        "event_name": _snake_case(event),
        "hooks": [{**known, "async": bool(handler.get("async")), "timeout": seconds}],
    }
    if group.get(MATCHER) is not None and event not in _UNMATCHED:
        row[MATCHER] = group[MATCHER]
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
