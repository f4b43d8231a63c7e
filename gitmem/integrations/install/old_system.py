"""Hooks and sections that another memory system left in a host's files: found, removed, put back.

`templates/old_system.yaml` names them. A hook of that system would show memory a second time, and a
section would tell the model to keep memory elsewhere. Both stay until the user asks for
`--replace`, and both come back with `--uninstall`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from gitmem.errors import GitmemError
from gitmem.integrations.install.files import read_file, text_of
from gitmem.integrations.install.host_files import HostFiles, read_json, read_settings, table_in
from gitmem.integrations.install.part import FilePart, PartAdded
from gitmem.integrations.install.parts.hooks import HOOKS, Spot, handlers_in, without_handler
from gitmem.integrations.install.parts.sections import (
    SECTION,
    has_section,
    put_section,
    take_section,
)
from gitmem.model.hints import Hint, Option, call
from gitmem.model.text import json_edit
from gitmem.resources import templates

_START = r"(?<![\w.-])"
_ENDING = r"(?:\.[cm]?[jt]s)?(?!\.?[\w-])"
_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*\Z")


class OldSystem(NamedTuple):
    """The names that identify the parts of an old memory system."""

    scripts: tuple[str, ...]
    skills: tuple[str, ...]
    headings: tuple[str, ...]


class OldSection(NamedTuple):
    """A section of a Markdown file: its heading and its position, without trailing blank lines."""

    heading: str
    start: int
    end: int


class Leftover(NamedTuple):
    """A part of an old memory system in a file of a host."""

    message: str
    is_hook: bool
    is_known: bool = True
    """False for a part that only a person can judge: `--replace` leaves it."""
    by_hand: str = ""
    """What to do about it where `--replace` does nothing."""


@cache
def old_system() -> OldSystem:
    """The contents of `templates/old_system.yaml`."""
    import yaml

    found = yaml.safe_load((templates() / "old_system.yaml").read_text("utf-8"))
    return OldSystem(*(tuple(found[name]) for name in OldSystem._fields))


def old_hooks(settings: object) -> list[tuple[str, str]]:
    """The event and the script of each hook in SETTINGS that an old system left."""
    events = table_in(settings, HOOKS).items()
    return [(str(event), script) for event, groups in events for _, _, script in _old_in(groups)]


def _old_in(groups: object) -> Iterator[tuple[Spot, dict[str, Any], str]]:
    for spot, handler in handlers_in(groups):
        more = handler.get("args")
        words = (handler.get("command"), *(more if isinstance(more, list) else ()))
        if script := _script_in(" ".join(map(str, words))):
            yield spot, handler, script


def _script_in(text: str) -> str:
    """The first script of an old system that TEXT names, in any folder; empty for none.

    `node` finds a script without its ending, too, and releases have moved and renamed some; all of
    them were in the folder `scripts` of the system's skill.
    """
    known = old_system()
    for each in known.scripts:
        if re.search(rf"{_START}{re.escape(Path(each).stem)}{_ENDING}", text):
            return each
    skills = "|".join(map(re.escape, known.skills))
    found = re.search(rf"{_START}(?:{skills})/scripts(?![\w-])", text)
    return found[0] if found else ""


def _names(text: str, word: str) -> bool:
    return re.search(rf"{_START}{re.escape(word)}(?!\.?[\w-])", text) is not None


def take_old_hooks(text: str) -> str:
    """The settings TEXT without the hooks of an old system."""
    root = read_json(text)
    for event in {event: None for event, _ in old_hooks(root)}:
        for spot, _, _ in reversed(list(_old_in(root[HOOKS][event]))):
            text = without_handler(text, event, spot)
        if json_edit.read(text)[HOOKS][event] == []:
            text = json_edit.remove(text, [HOOKS, event])
    return text


def put_old_hooks(text: str, before: str) -> str:
    """The settings TEXT with those hooks of an old system that BEFORE has, at the end."""
    for event, group in _old_groups(read_json(before)):
        text = "{}\n" if json_edit.is_blank(text) else text
        root = json_edit.read(text)
        now = [handler for _, handler in handlers_in(root.get(HOOKS, {}).get(event))]
        missing = [each for each in group[HOOKS] if each not in now]
        if not missing:
            continue
        if HOOKS not in root:
            text = json_edit.insert(text, (), HOOKS, {})
        if event not in root.get(HOOKS, {}):
            text = json_edit.insert(text, [HOOKS], event, [])
        text = json_edit.append(text, [HOOKS, event], {**group, HOOKS: missing})
    return text


def _old_groups(settings: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each group of hooks with handlers of an old system, with these alone."""
    for event in dict.fromkeys(event for event, _ in old_hooks(settings)):
        groups = settings[HOOKS][event]
        by_group: dict[int, list[dict[str, Any]]] = {}
        for (number, _), handler, _ in _old_in(groups):
            by_group.setdefault(number, []).append(handler)
        for number, handlers in by_group.items():
            yield event, {**groups[number], HOOKS: handlers}


def old_sections(text: str) -> list[OldSection]:
    """The sections on memory of an old system in a CLAUDE.md or AGENTS.md; never our own."""
    return [each for each in _memory_sections(text) if _is_old(each, text)]


def _unknown_sections(text: str) -> list[OldSection]:
    """Other sections on memory that do not mention gitmem: their origin is unknown."""
    found = (each for each in _memory_sections(text) if not _is_old(each, text))
    return [each for each in found if not _names(text[each.start : each.end], "gitmem")]


def _memory_sections(text: str) -> list[OldSection]:
    own = re.search(SECTION, text, re.DOTALL)
    headings = {each.casefold() for each in old_system().headings}
    found: list[OldSection] = []
    for each in _sections(text):
        is_inside = found and each.start < found[-1].end
        is_own = own and own.start() <= each.start < own.end()
        # Headings may have a number, an emoji or marks around their words.
        plain = re.sub(r"^[\W\d_]+|[\W_]+$", "", each.heading).casefold()
        if not is_inside and not is_own and plain in headings:
            end = each.end
            if own and own.start() >= each.start:  # our own section is never a part of another
                end = min(end, len(text[: own.start()].rstrip("\r\n")))
            found.append(each._replace(end=end))
    return found


def _is_old(section: OldSection, text: str) -> bool:
    known, body = old_system(), text[section.start : section.end]
    return any(_names(body, each) for each in (*known.skills, *known.scripts))


def _sections(text: str) -> Iterator[OldSection]:
    """Every section: from its heading to the next one of the same or a higher level."""
    headings, at, fence = [], 0, ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        found = None if fence else _HEADING.match(line.rstrip("\r\n"))
        if found:
            headings.append((len(found[1]), found[2], at))
        at += len(line)
    for number, (level, heading, start) in enumerate(headings):
        later = (each[2] for each in headings[number + 1 :] if each[0] <= level)
        body = text[start : next(later, len(text))].rstrip("\r\n")
        yield OldSection(heading, start, start + len(body))


def _without(text: str, sections: Sequence[OldSection]) -> str:
    for each in reversed(sections):
        rest = text[each.end :].lstrip("\r\n")
        text = text[: each.start] + rest if rest else text[: each.start].rstrip("\r\n") + "\n"
    return text


def _put_old_sections(text: str, before: str) -> str:
    """TEXT with the old sections of BEFORE, each before its old neighbour, unless it has some.

    Where the neighbour is gone, a section is added at the end.
    """
    if old_sections(text):
        return text
    newline = _newline(text)
    for each in old_sections(before):
        made = newline.join(before[each.start : each.end].splitlines())
        neighbour = before[each.end :].strip().partition("\n")[0].rstrip()
        lines = list(re.finditer(rf"^{re.escape(neighbour)}\s*?$", text, re.MULTILINE))
        if neighbour and len(lines) == 1:
            at = lines[0].start()
            text = f"{text[:at]}{made}{2 * newline}{text[at:]}"
        else:
            text = f"{text.rstrip()}{2 * newline if text.strip() else ''}{made}{newline}"
    return text


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def put_in_place(text: str, made: str) -> str:
    """TEXT with our section MADE in place of those that an old system left."""
    found = old_sections(text)
    text = _without(text, found[0 if has_section(text) else 1 :])
    if found and not has_section(text):
        first = found[0]
        return text[: first.start] + made.replace("\n", _newline(text)) + text[first.end :]
    return put_section(text, made)


def give_place_back(text: str, before: str) -> str:
    """TEXT with the old sections of BEFORE in place of ours, unless it has some."""
    old = [before[each.start : each.end] for each in old_sections(before)]
    if not old or old_sections(text) or not has_section(text):
        return take_section(text)
    gap = 2 * _newline(text)
    return re.sub(SECTION, lambda _: gap.join(old), text, flags=re.DOTALL)


def has_old_hooks(text: str) -> bool:
    """Whether the settings TEXT have hooks of an old system."""
    return bool(old_hooks(read_json(text)))


def old_part(path: Path) -> FilePart:
    """A file that gets nothing of ours, and loses the hooks or sections of an old system."""
    if path.suffix == ".md":
        return FilePart(
            path,
            lambda text: PartAdded(_without(text, old_sections(text))),
            lambda text, _, replaced: _put_old_sections(text, replaced),
            lambda text: bool(old_sections(text)),
        )
    return FilePart(
        path,
        lambda text: PartAdded(take_old_hooks(text)),
        lambda text, _, replaced: put_old_hooks(text, replaced),
        has_old_hooks,
    )


def parts_beside(where: HostFiles, other: HostFiles | None) -> Iterator[FilePart]:
    """The files besides our own, also of the OTHER scope, that have parts of an old system.

    A file with two names by a link is edited under the first: two edits of it would conflict.
    """
    done = {os.path.realpath(each) for each in (where.hooks, where.memory)}
    for files in filter(None, (where, other)):
        for path in (*files.settings, *files.pages):
            part, real = old_part(path), os.path.realpath(path)
            if real not in done and part.found_in(text_of(path, read_file(path))):
                yield part
            done.add(real)


def leftovers(
    where: HostFiles, texts: Mapping[Path, str] = MappingProxyType({})
) -> Iterator[Leftover]:
    """The parts of an old system in the files of one host in one scope.

    TEXTS are those that some of the files, by their real paths, will have.
    """
    for path in where.settings:
        planned = texts.get(Path(os.path.realpath(path)))
        try:
            settings = read_settings(path) if planned is None else read_json(planned)
        except GitmemError:  # reported by whatever writes it
            continue
        yield from hooks_left(path, settings)
    for path in (*where.pages, *where.pages_above):
        by_hand = f"remove it from {path} by hand" if path in where.pages_above else ""
        planned = texts.get(Path(os.path.realpath(path)))
        try:
            text = text_of(path, read_file(path)) if planned is None else planned
        except GitmemError:
            continue
        yield from (x._replace(by_hand=by_hand) for x in _left_in(path, text))


def hooks_left(path: Path, settings: object) -> Iterator[Leftover]:
    """The hooks of an old system in SETTINGS, which are those of PATH."""
    scripts: dict[str, list[str]] = {}
    for event, script in old_hooks(settings):
        scripts.setdefault(script, []).append(event)
    for script, events in scripts.items():
        message = f"{path} runs {script} at {', '.join(events)}: memory is shown twice"
        yield Leftover(message, is_hook=True)


def _left_in(path: Path, text: str) -> Iterator[Leftover]:
    """The parts of an old system in a page of instructions."""
    old, unknown = old_sections(text), _unknown_sections(text)
    for each in old:
        message = f"{path} has the section {each.heading!r} of another memory system"
        yield Leftover(f"{message}: the model gets two sets of instructions", is_hook=False)
    for each in unknown:
        message = f"{path} has a section {each.heading!r} that does not mention gitmem"
        by_hand = "if it tells the model to keep memory elsewhere, remove it by hand"
        yield Leftover(f"{message}; {by_hand}", is_hook=False, is_known=False)
    others = sorted((*old, *unknown), key=lambda each: each.start)
    rest = re.sub(SECTION, "", _without(text, others), flags=re.DOTALL)
    if named := _script_in(rest):
        message = f"{path} names {named} of another memory system"
        by_hand = "if it tells the model to run it, remove those lines by hand"
        yield Leftover(f"{message}; {by_hand}", is_hook=False, is_known=False)


def remedy(there: HostFiles, installed: Sequence[str]) -> Hint:
    """The call that removes leftovers from THERE; INSTALLED are the scopes that call gitmem.

    One installation is enough: `--replace` looks at both scopes, whichever it installs into.
    """
    scope = there.scope if there.scope in installed or not installed else installed[0]
    replace = call("install", there.host, scope=scope, replace=True)
    return Hint(replace, " removes it, and ", Option("uninstall"), " puts it back")
