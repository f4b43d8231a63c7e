"""The answer of memory_status: layers, the last write, and what needs attention."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from gitmem.integrations.mcp.hints import for_models
from gitmem.integrations.mcp.texts import COMMIT, UNSEEN, ToolResult
from gitmem.model.context.escape import joined, on_a_line
from gitmem.model.layout.layout import Layout
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from datetime import tzinfo

    from gitmem.memory.read.status import Status

SHOWN, ROOM = 20, 4000
"""The most names of a kind, and the most characters of them together."""


def state(found: Status, layout: Layout, groups: Sequence[str], zone: tzinfo) -> ToolResult:
    """The state of a group; it names only files that LAYOUT allows these tools to use."""
    facts = _facts(found, layout, groups)
    size = counted(found.files, "file")
    lines = [
        f"group {found.group}: {size}, layout {found.layout or 'none'}, health {found.health}",
        *_last(found, zone),
        *_layers(facts["layers"]),
        *_listed("needs attention", facts["concerns"]),
        *_listed(f"edited with other tools, {UNSEEN}", facts["edited"]),
        *_listed("held, a person has to decide (`gitmem held`)", facts["held"]),
        *_listed("other groups, for the argument `group`", facts.get("groups", ())),
    ]
    return ToolResult(joined(map(on_a_line, lines), "\n"), facts)


def _facts(found: Status, layout: Layout, groups: Sequence[str]) -> dict[str, Any]:
    last, allows = found.last, layout.allows
    facts = {
        "group": found.group,
        "layout": found.layout,
        "files": found.files,
        "health": found.health,
        "concerns": list(_concerns(found, layout)),
        "layers": list(_layer_facts(found, layout)),
        "edited": _few(each.path for each in found.edits if allows(each.path)),
        "held": _few(f"{each.path} ({each.rule})" for each in found.held if allows(each.path)),
    }
    if last is not None:
        facts["last"] = {
            "commit": last.commit,
            "op": last.op or "git",
            "agent": last.agent,
            "time": last.time.isoformat(),
        }
    others = [each for each in groups if each != found.group]
    return {**facts, "groups": others} if others else facts


def _few(names: Iterable[str]) -> list[str]:
    """The first NAMES, as many as fit into an answer."""
    found = list(islice(names, SHOWN))
    while len(found) > 1 and sum(map(len, found)) > ROOM:
        found.pop()
    return found


def _concerns(found: Status, layout: Layout) -> Iterator[str]:
    yield from map(for_models, found.concerns)
    yield from filter(None, (found.layout_problem, found.zone_problem))
    for core in found.holdings.core:
        if core.state != "ok" and core.budget and layout.allows(core.path):
            yield f"{core.path} is {core.state}: {core.bytes:,} of {core.budget:,} bytes"


def _layer_facts(found: Status, layout: Layout) -> Iterator[dict[str, Any]]:
    counts = {
        **{each.layer: f"{each.bytes:,} bytes" for each in found.holdings.core},
        **{each.layer: counted(each.entries, "entry") for each in found.holdings.entries},
        **{each.layer: counted(each.files, "file") for each in found.holdings.layers},
    }
    for layer in layout.layers:
        if not layout.allows(re.sub(r"\*+|\{\w+\}", "x", layer.path)):
            continue
        yield {
            "name": layer.name,
            "kind": layer.kind,
            "path": layer.path,
            "policy": layer.policy,
            "holds": counts.get(layer.name, ""),
        }


def _last(found: Status, zone: tzinfo) -> Iterator[str]:
    last = found.last
    if last is None:
        yield "no commits yet"
        return
    when = f"{last.time.astimezone(zone):%Y-%m-%d %H:%M}"
    yield f"last: {last.op or 'git'} by {last.agent}, {when} (commit {last.commit[:COMMIT]})"


def _layers(layers: Sequence[dict[str, Any]]) -> Iterator[str]:
    if layers:
        yield "layers (name, kind, path); use a name as the path of a write:"
    for each in layers:
        policy = "" if each["policy"] == "free" else f", {each['policy']}"
        holds = f": {each['holds']}" if each["holds"] else ""
        yield f"- {each['name']}, {each['kind']}{policy}, {each['path']}{holds}"


def _listed(label: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{label}: {'; '.join(names)}"
