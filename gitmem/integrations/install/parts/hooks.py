"""Our hook handlers in a host's settings: added, updated and removed while all else stays.

A handler is recognised by its command, not by its position, so that one of an older version or of
another path is replaced and not doubled.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from gitmem.integrations.hosts.program import Program
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install.host_files import read_json, table_in
from gitmem.integrations.install.part import PartAdded
from gitmem.model.text import json_edit
from gitmem.model.text.json_edit import wrong_kind
from gitmem.resources import hooks as hooks_folder

HOOKS = "hooks"
PROMPT = "UserPromptSubmit"
"""The event that gitmem answers only if the user asked for it ..."""
PROMPTS = frozenset(each.named(PROMPT) for each in HOSTS.values())
"""... and its name in each host."""
PROMPT_SECONDS = 5
_CALLS = r"""(?<![\w.-])gitmem['"]?\s.*\bhook\b"""
_JOINTS = frozenset("();<>|&")
"""Operators of a shell: a line with one is the user's own."""
_OWN_OPTIONS = frozenset(("-g", "--group", "--agent", "--session"))
"""Options that gitmem never writes into a call: the user added them on purpose."""
MATCHER = "matcher"

Handlers = Mapping[str, dict[str, Any]]
"""For each event, our group of handlers."""
Spot = tuple[int, int]
"""The index of a group of an event, and of a handler in it."""


def shipped_handlers(host: str, program: Program, *, on_prompt: bool = False) -> Handlers:
    """Our handlers for HOST, which call PROGRAM; ON_PROMPT also for the event of a prompt."""
    shipped = json.loads((hooks_folder() / HOSTS[host].handlers).read_text("utf-8"))
    found = {event: groups[0] for event, groups in shipped[HOOKS].items()}
    if on_prompt:
        row = HOSTS[host]
        handler = {
            **found["SessionStart"]["hooks"][0],
            "command": f"gitmem hook user-prompt-submit --host {host}",
            "timeout": PROMPT_SECONDS * row.second,
        }
        found[row.named(PROMPT)] = {"hooks": [handler]}
    for group in found.values():
        for handler in group["hooks"]:
            handler["command"] = program.line(handler["command"])
    return found


def put_hooks(text: str, handlers: Handlers, known: Handlers) -> PartAdded:
    """TEXT with HANDLERS; KNOWN are those of the last installation."""
    if json_edit.is_blank(text):
        return put_hooks("{}\n", handlers, known) if handlers else PartAdded(text)
    root = _checked(json_edit.read(text), handlers)
    if HOOKS not in root and handlers:
        text = json_edit.insert(text, (), HOOKS, {})
    remarks: list[str] = []
    for event, group in handlers.items():
        text, remark = _put(text, event, group, known.get(event))
        remarks += [remark] if remark else []
    for event in json_edit.read(text).get(HOOKS, {}):
        if event not in handlers and (event in known or event in PROMPTS):
            text = _as_before(text, event, {})
    return PartAdded(text, tuple(remarks))


def take_hooks(text: str, before: str) -> str:
    """TEXT with our handlers as they were BEFORE gitmem; later changes of others stay."""
    events, old = table_in(read_json(text), HOOKS), read_json(before)
    had_ours = False
    for event in events:
        had_ours |= bool(_plain_in(events[event]))
        text = _as_before(text, event, table_in(old, HOOKS))
    emptied = had_ours and json_edit.read(text)[HOOKS] == {}
    return json_edit.remove(text, [HOOKS]) if emptied and not _has_hooks(old) else text


def _has_hooks(settings: object) -> bool:
    return isinstance(settings, dict) and settings.get(HOOKS) is not None


def events_wired(settings: object) -> dict[str, tuple[str, ...]]:
    """The events for which SETTINGS call gitmem, each with the words of its command."""
    found: dict[str, tuple[str, ...]] = {}
    for event, groups in table_in(settings, HOOKS).items():
        for group, handler in _ours_in(groups):
            found.setdefault(str(event), tuple(_words(groups[group][HOOKS][handler])))
    return found


def is_ours(handler: object) -> bool:
    """Whether a handler calls `gitmem hook` and nothing else, from any path, of any version."""
    words = _words(handler)
    if re.fullmatch(r"(?:.*/)?python[0-9.]*", words[0] if words else ""):
        words = words[2:] if words[1:2] == ["-m"] else words[1:]
    if not words or words[0].rpartition("/")[2] != "gitmem":
        return False
    rest = iter(words[1:])
    for word in rest:
        if word in ("--store", "-g", "--group"):
            next(rest, "")
        elif not word.startswith("-"):
            return word == "hook" and not any(set(each) <= _JOINTS for each in words if each)
    return False


def _words(handler: object) -> list[str]:
    command = handler.get("command") if isinstance(handler, dict) else None
    more = handler.get("args") if isinstance(handler, dict) else None
    scanner = shlex.shlex(command if isinstance(command, str) else "", None, True, True)
    scanner.whitespace_split = True
    try:
        words = list(scanner)
    except ValueError:  # an unterminated quote
        return []
    return [*words, *map(str, more if isinstance(more, list) else ())]


def _ours_in(groups: object) -> list[Spot]:
    """The positions of our handlers among the GROUPS of an event."""
    return [spot for spot, handler in handlers_in(groups) if is_ours(handler)]


def handlers_in(groups: object) -> list[tuple[Spot, dict[str, Any]]]:
    """Every handler among the GROUPS of an event, with its position."""
    return [
        ((number, at), handler)
        for number, group in enumerate(groups if isinstance(groups, list) else ())
        for at, handler in enumerate(_handlers(group))
        if isinstance(handler, dict)
    ]


def _plain_in(groups: Any) -> list[Spot]:
    """Those of our handlers that have no option of the user's own."""
    return [
        (number, at)
        for number, at in _ours_in(groups)
        if not _OWN_OPTIONS.intersection(_words(groups[number][HOOKS][at]))
    ]


def _handlers(group: object) -> list[object]:
    found = group.get(HOOKS) if isinstance(group, dict) else None
    return found if isinstance(found, list) else []


def _checked(root: object, handlers: Handlers) -> dict[str, Any]:
    """ROOT; JsonRefused if a value that HANDLERS are written into has another type."""
    if not isinstance(root, dict):
        raise wrong_kind(root, dict, ())
    events = root.get(HOOKS, {})
    if not isinstance(events, dict):
        raise wrong_kind(events, dict, [HOOKS])
    for event in handlers:
        groups = events.get(event, [])
        if not isinstance(groups, list):
            raise wrong_kind(groups, list, [HOOKS, event])
        for number, group in enumerate(groups):
            if not isinstance(group, dict):
                raise wrong_kind(group, dict, [HOOKS, event, number])
            if not isinstance(group.get(HOOKS, []), list):
                raise wrong_kind(group[HOOKS], list, [HOOKS, event, number, HOOKS])
    return root


def _put(
    text: str, event: str, group: dict[str, Any], known: dict[str, Any] | None
) -> tuple[str, str]:
    """TEXT with our one group for EVENT, and a remark or nothing."""
    events = json_edit.read(text)[HOOKS]
    if event not in events:
        return json_edit.insert(text, [HOOKS], event, [group]), ""
    groups = events[event]
    spots = _plain_in(groups)
    if not spots:
        if any(_calls_us(each) for each in groups):
            return text, f"your own command for {event} already calls gitmem: it stays"
        return json_edit.append(text, [HOOKS, event], group), ""
    first = groups[spots[0][0]].get(MATCHER)
    for spot in reversed(spots[1:]):
        if groups[spot[0]].get(MATCHER) == first:  # another matcher is for other tools
            text = without_handler(text, event, spot)
    return _renewed(text, event, spots[0], group, known), ""


def _calls_us(group: object) -> bool:
    found = (each.get("command") for each in _handlers(group) if isinstance(each, dict))
    return any(re.search(_CALLS, str(each), re.DOTALL) for each in found)


def _renewed(
    text: str, event: str, spot: Spot, group: dict[str, Any], known: dict[str, Any] | None
) -> str:
    """TEXT with our handler at SPOT updated; what the user changed about it stays."""
    number, at = spot
    there = json_edit.read(text)[HOOKS][event][number]
    if there == group:
        return text
    if there == known:
        return json_edit.replace(text, [HOOKS, event, number], group)
    return _calling(text, [HOOKS, event, number, HOOKS, at], group[HOOKS][0])


def _calling(text: str, path: list[str | int], fresh: dict[str, Any]) -> str:
    """TEXT in which the handler at PATH has the command of FRESH; its timeout, say, stays."""
    handler = json_edit.read(text)
    for step in path:
        handler = handler[step]
    if "args" in handler or "args" in fresh:
        return json_edit.replace(text, path, fresh)
    if handler["command"] == fresh["command"]:
        return text
    return json_edit.replace(text, [*path, "command"], fresh["command"])


def _as_before(text: str, event: str, kept: Mapping[str, Any]) -> str:
    """TEXT in which no handler of ours answers EVENT, except those in KEPT."""
    groups, old = json_edit.read(text)[HOOKS][event], kept.get(event, [])
    now = [groups[number][HOOKS][at] for number, at in _plain_in(groups)]
    then = [old[number][HOOKS][at] for number, at in _plain_in(old)]
    ours = [spot for spot in _plain_in(groups) if groups[spot[0]][HOOKS][spot[1]] not in then]
    replaced = [each for each in then if each not in now]
    for (number, at), handler in zip(ours, replaced, strict=False):
        text = _calling(text, [HOOKS, event, number, HOOKS, at], handler)
    for spot in reversed(ours[len(replaced) :]):
        text = without_handler(text, event, spot)
    if ours and json_edit.read(text)[HOOKS][event] == [] and event not in kept:
        text = json_edit.remove(text, [HOOKS, event])
    return text


def without_handler(text: str, event: str, spot: Spot) -> str:
    """TEXT without the handler at SPOT, and without its group if that is empty then."""
    number, at = spot
    text = json_edit.remove(text, [HOOKS, event, number, HOOKS, at])
    is_empty = json_edit.read(text)[HOOKS][event][number][HOOKS] == []
    return json_edit.remove(text, [HOOKS, event, number]) if is_empty else text
