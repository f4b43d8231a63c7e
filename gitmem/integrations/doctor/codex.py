"""What keeps Codex from memory: its sandbox, and hooks that nobody has trusted."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gitmem.errors import GitmemError
from gitmem.integrations.doctor.findings import Finding
from gitmem.integrations.hosts.table import CODEX, HOSTS
from gitmem.integrations.install.locations import USER, places
from gitmem.integrations.install.parts.hooks import (
    HOOKS,
    MATCHER,
    events_wired,
    handlers_in,
    is_ours,
)
from gitmem.integrations.install.parts.linked import linking_of, own_group, roots_of
from gitmem.integrations.install.parts.mcp import NAME
from gitmem.integrations.install.parts.sandbox import ROOTS, TABLE, is_below, roots_in
from gitmem.integrations.install.parts.settings import settings_in
from gitmem.integrations.install.record import install_of
from gitmem.memory.group import Store

Settings = Mapping[Path, dict[str, Any]]
"""The files whose settings count, the user's first."""
_OPEN = "danger-full-access"
_WITH_MCP = "`gitmem install codex --mcp`: its tools write outside of the sandbox"
_TIMEOUT, _SHORTEST, _AT_THE_END = 600, 1, 3
"""Seconds that Codex gives a hook: unless told, at least, and when a session ends at most."""
_UNMATCHED = frozenset(("Stop", "UserPromptSubmit", "SessionEnd"))
"""Events for which Codex ignores a matcher."""
_PAGE = "start `codex`, open /hooks there"
_OF_HANDLER = ("type", "command", "statusMessage", "additionalContextLimit")


def sandbox_findings(store: Path, files: Settings, home: Path) -> Iterator[Finding]:
    """Whether the model's shell can write to memory; where it cannot, MCP has to."""
    said = _configs(files)
    mode = next((x["sandbox_mode"] for x in reversed(said.values()) if "sandbox_mode" in x), "")
    if mode == _OPEN:
        return
    servers = HOSTS[CODEX].servers
    has_mcp = any(NAME in _table(each, servers) for each in said.values())
    profile = next((x for x in said.values() if "default_permissions" in x), None)
    if mode == "read-only" or profile:
        if not has_mcp:
            by = f"default_permissions = {profile['default_permissions']!r}" if profile else mode
            text = f"the sandbox ({by}) keeps `gitmem write` in the model's shell from {store}"
            yield Finding("sandbox", text, _WITH_MCP)
        return
    closed = _closed(store, said, home)
    if closed:
        text = f"the sandbox keeps `gitmem write` in the model's shell from {', '.join(closed)}"
        hint = _way_in(said, closed)
        yield Finding("sandbox", text, hint if has_mcp else f"{hint}; or {_WITH_MCP}")


def _configs(files: Settings) -> dict[Path, dict[str, Any]]:
    return {path: said for path, said in files.items() if path.suffix == ".toml"}


def _closed(store: Path, said: dict[Path, dict[str, Any]], home: Path) -> list[str]:
    """The folders of main and of linked groups to which the sandbox does not let write."""
    # The list of a project takes the place of the user's.
    listed = (each for each in reversed(said.values()) if ROOTS in _table(each, TABLE))
    roots = roots_in(next(listed, {}))
    folders = [f"{home}{x[1:]}" if x[:2] in ("~", "~/") else x for x in roots if "\0" not in x]
    real = [os.path.realpath(each) for each in folders]
    try:
        where = places(CODEX, USER, {"HOME": str(home)}, home)
        known = install_of(store, where)
        group = own_group(Store(store), where, known)
        wanted = roots_of(linking_of(Store(store), where, group, known))
    except GitmemError:  # a config.yaml that nobody can read is told by another
        return []
    return [each for each in wanted if not is_below(each, real)]


def _way_in(said: Settings, closed: Sequence[str]) -> str:
    user = next(iter(said))
    if events_wired(settings_in(_hooks(user))):
        return "`gitmem install codex`"
    return f"add them to {ROOTS} under [{TABLE}] in {user}: {json.dumps(closed)}"


def trust_findings(files: Settings) -> Iterator[Finding]:
    """Hooks of ours that Codex skips: nobody has trusted them, or they have changed since.

    It keeps what was trusted in the user's `config.toml`, by the place of each handler.
    """
    said = _configs(files)
    states = _states(next(iter(said.values()), {}))
    for path in map(_hooks, said):
        ours = [
            (event, states.get((os.path.realpath(path), spot), {}), digest)
            for event, spot, digest in _ours(settings_in(path))
        ]
        off = [event for event, state, _ in ours if state.get("enabled") is False]
        new = [x for x, state, digest in ours if state.get("trusted_hash") != digest]
        if off:
            text = f"Codex skips hooks in {path} that are switched off: {', '.join(off)}"
            yield Finding("hooks-disabled", text, f"{_PAGE} and switch them on")
        if new := [event for event in new if event not in off]:
            text = f"Codex skips hooks in {path} that are not trusted: {', '.join(new)}"
            yield Finding("hooks-untrusted", text, f"{_PAGE} and trust them")


def _hooks(config: Path) -> Path:
    return config.with_name("hooks.json")


def _states(said: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """What a user has decided about each hook, by the real path of its file and its place there."""
    found = {}
    for key, state in _table(_table(said, HOOKS), "state").items():
        path, *spot = key.rsplit(":", 3)
        if path and "\0" not in path and isinstance(state, dict):
            found[os.path.realpath(path), ":".join(spot)] = state
    return found


def _ours(settings: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Each handler of ours: its event, its place, and the digest by which Codex knows it."""
    for event, groups in _table(settings, HOOKS).items():
        for (group, at), handler in handlers_in(groups):
            if is_ours(handler):
                name = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
                yield event, f"{name}:{group}:{at}", handler_digest(event, groups[group], handler)


def handler_digest(event: str, group: Mapping[str, Any], handler: Mapping[str, Any]) -> str:
    """The digest of a handler, as Codex 0.166.0 makes it: of all that it would run, normalised."""
    from hashlib import sha256

    seconds = handler.get("timeout", _TIMEOUT)
    seconds = max(_SHORTEST, seconds) if isinstance(seconds, int) else _TIMEOUT
    if event == "SessionEnd":
        seconds = min(_AT_THE_END, seconds)
    known = {name: handler[name] for name in _OF_HANDLER if handler.get(name) is not None}
    row: dict[str, object] = {
        "event_name": re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower(),
        "hooks": [{**known, "async": bool(handler.get("async")), "timeout": seconds}],
    }
    if group.get(MATCHER) is not None and event not in _UNMATCHED:
        row[MATCHER] = group[MATCHER]
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _table(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = settings.get(name)
    return found if isinstance(found, dict) else {}
