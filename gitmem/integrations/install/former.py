"""What another memory system has left in a host's files: found, taken out, put back.

`templates/former.yaml` names it. A hook of that system would show memory a second time, and a
section would tell the model to keep memory past us. Both stay until somebody asks for `--replace`,
and both come back with `--uninstall`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from gitmem.errors import GitmemError, JsonRefused
from gitmem.integrations.install.files import read_file, text_of
from gitmem.integrations.install.locations import Places
from gitmem.integrations.install.parts.hooks import HOOKS, Spot, handlers_in, without_handler
from gitmem.integrations.install.parts.sections import (
    SECTION,
    has_section,
    put_section,
    take_section,
)
from gitmem.integrations.install.parts.settings import settings_in
from gitmem.model.text import json_edit
from gitmem.resources import templates

FILE = "former.yaml"
_BY_HAND = "if it tells the model to keep memory elsewhere, remove it by hand"
_START = r"(?<![\w.-])"
_ENDING = r"(?:\.[cm]?[jt]s)?(?!\.?[\w-])"
_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*\Z")


class Former(NamedTuple):
    """The names by which the parts of such a system are known."""

    scripts: tuple[str, ...]
    skills: tuple[str, ...]
    headings: tuple[str, ...]


class Section(NamedTuple):
    """A section of a Markdown file: its heading and its place, without the blank lines after."""

    heading: str
    start: int
    end: int


class Leftover(NamedTuple):
    """Something of a former system in a file of a host."""

    said: str
    is_hook: bool
    is_known: bool = True
    """False for what only a person can judge: `--replace` leaves it."""
    by_hand: str = ""
    """What to do about it where `--replace` does not."""


@cache
def former() -> Former:
    """What `templates/former.yaml` says."""
    import yaml

    said = yaml.safe_load((templates() / FILE).read_text("utf-8"))
    return Former(*(tuple(said[name]) for name in Former._fields))


def former_hooks(settings: object) -> list[tuple[str, str]]:
    """The event and the script of each hook in SETTINGS that a former system left."""
    events = settings.get(HOOKS) if isinstance(settings, dict) else None
    found = []
    for event, groups in events.items() if isinstance(events, dict) else ():
        found += [(str(event), script) for _, _, script in _former_in(groups)]
    return found


def _former_in(groups: object) -> Iterator[tuple[Spot, dict[str, Any], str]]:
    for spot, handler in handlers_in(groups):
        if script := _script_of(handler):
            yield spot, handler, script


def _script_of(handler: Mapping[str, Any]) -> str:
    """The script of a former system that HANDLER runs; empty for none."""
    more = handler.get("args")
    said = " ".join(map(str, (handler.get("command"), *(more if isinstance(more, list) else ()))))
    return _program_in(said)


def _program_in(text: str) -> str:
    """The first script of a former system that TEXT names, wherever it lies; empty for none.

    `node` finds a script without its ending, too, and releases have moved and renamed some; all of
    them lay in the folder `scripts` of the system's skill.
    """
    known = former()
    for each in known.scripts:
        if re.search(rf"{_START}{re.escape(Path(each).stem)}{_ENDING}", text):
            return each
    skills = "|".join(map(re.escape, known.skills))
    found = re.search(rf"{_START}(?:{skills})/scripts(?![\w-])", text)
    return found[0] if found else ""


def _names(text: str, word: str) -> bool:
    return re.search(rf"{_START}{re.escape(word)}(?!\.?[\w-])", text) is not None


def take_former_hooks(text: str) -> str:
    """The settings TEXT without the hooks that a former system left."""
    root = {} if json_edit.is_blank(text) else json_edit.read(text)
    for event in {event: None for event, _ in former_hooks(root)}:
        for spot, _, _ in reversed(list(_former_in(root[HOOKS][event]))):
            text = without_handler(text, event, spot)
        if json_edit.read(text)[HOOKS][event] == []:
            text = json_edit.remove(text, [HOOKS, event])
    return text


def put_former_hooks(text: str, before: str) -> str:
    """The settings TEXT with those hooks of a former system that stood in BEFORE, at the end."""
    old = {} if json_edit.is_blank(before) else json_edit.read(before)
    for event, group in _former_groups(old):
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


def _former_groups(settings: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each group of hooks with handlers of a former system, with these alone."""
    for event in dict.fromkeys(event for event, _ in former_hooks(settings)):
        groups = settings[HOOKS][event]
        by_group: dict[int, list[dict[str, Any]]] = {}
        for (number, _), handler, _ in _former_in(groups):
            by_group.setdefault(number, []).append(handler)
        for number, handlers in by_group.items():
            yield event, {**groups[number], HOOKS: handlers}


def former_sections(text: str) -> list[Section]:
    """The sections on memory of a former system in a CLAUDE.md or AGENTS.md; never our own."""
    return [each for each in _memory_sections(text) if _is_former(each, text)]


def like_sections(text: str) -> list[Section]:
    """Other sections on memory that say nothing of gitmem: nobody knows whose they are."""
    found = (each for each in _memory_sections(text) if not _is_former(each, text))
    return [each for each in found if not _names(text[each.start : each.end], "gitmem")]


def _memory_sections(text: str) -> list[Section]:
    own = re.search(SECTION, text, re.DOTALL)
    headings = {each.casefold() for each in former().headings}
    found: list[Section] = []
    for each in _sections(text):
        is_inside = found and each.start < found[-1].end
        is_own = own and own.start() <= each.start < own.end()
        if not is_inside and not is_own and _plain(each.heading) in headings:
            found.append(each._replace(end=min(each.end, _before(own, each, text))))
    return found


def _plain(heading: str) -> str:
    """HEADING without a number, an emoji or marks around its words."""
    return re.sub(r"^[\W\d_]+|[\W_]+$", "", heading).casefold()


def _before(own: re.Match[str] | None, section: Section, text: str) -> int:
    """Where SECTION ends at the latest: our own, which has its marks, is no part of it."""
    if own is None or own.start() < section.start:
        return section.end
    return len(text[: own.start()].rstrip("\r\n"))


def _is_former(section: Section, text: str) -> bool:
    known = former()
    said = text[section.start : section.end]
    return any(_names(said, each) for each in (*known.skills, *known.scripts))


def _sections(text: str) -> Iterator[Section]:
    """Every section: from its heading to the next one that is not below it."""
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
        yield Section(heading, start, start + len(body))


def take_former_sections(text: str) -> str:
    """TEXT without the sections that a former system left."""
    return _without(text, former_sections(text))


def _without(text: str, sections: Sequence[Section]) -> str:
    for each in reversed(sections):
        rest = text[each.end :].lstrip("\r\n")
        text = text[: each.start] + rest if rest else text[: each.start].rstrip("\r\n") + "\n"
    return text


def put_former_sections(text: str, before: str) -> str:
    """TEXT with the sections that stood in BEFORE, each before its old neighbour, if none is there.

    Where the neighbour is gone, a section comes back at the end.
    """
    if former_sections(text):
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    for each in former_sections(before):
        made = newline.join(before[each.start : each.end].splitlines())
        neighbour = before[each.end :].strip().partition("\n")[0].rstrip()
        at = _line_at(text, neighbour) if neighbour else None
        if at is None:
            text = f"{text.rstrip()}{2 * newline if text.strip() else ''}{made}{newline}"
        else:
            text = f"{text[:at]}{made}{2 * newline}{text[at:]}"
    return text


def _line_at(text: str, line: str) -> int | None:
    """Where LINE begins in TEXT; None where it does not stand there just once."""
    found = list(re.finditer(rf"^{re.escape(line)}\s*?$", text, re.MULTILINE))
    return found[0].start() if len(found) == 1 else None


def put_in_place(text: str, made: str) -> str:
    """TEXT with our section in the place of those that a former system left."""
    found = former_sections(text)
    text = _without(text, found[0 if has_section(text) else 1 :])
    if found and not has_section(text):
        newline = "\r\n" if "\r\n" in text else "\n"
        first = found[0]
        return text[: first.start] + made.replace("\n", newline) + text[first.end :]
    return put_section(text, made)


def give_place_back(text: str, before: str) -> str:
    """TEXT with the sections that stood in BEFORE in the place of ours, if none is there now."""
    old = [before[each.start : each.end] for each in former_sections(before)]
    if not old or former_sections(text) or not has_section(text):
        return take_section(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    return re.sub(SECTION, lambda _: (2 * newline).join(old), text, flags=re.DOTALL)


def leftovers(
    where: Places, texts: Mapping[Path, str] = MappingProxyType({})
) -> Iterator[Leftover]:
    """What a former system has in the files of one host in one scope.

    TEXTS are those that some of the files, by their real paths, will have.
    """
    for path in where.settings:
        yield from hooks_left(path, _settings(path, texts))
    for path in where.pages:
        yield from _left_in(path, _text(path, texts))
    for path in where.pages_above:
        by_hand = f"take it out of {path} by hand"
        yield from (x._replace(by_hand=by_hand) for x in _left_in(path, _text(path, texts)))


def hooks_left(path: Path, settings: object) -> Iterator[Leftover]:
    """The hooks that a former system has in SETTINGS, which are those of PATH."""
    scripts: dict[str, list[str]] = {}
    for event, script in former_hooks(settings):
        scripts.setdefault(script, []).append(event)
    for script, events in scripts.items():
        said = f"{path} runs {script} at {', '.join(events)}"
        yield Leftover(f"{said}: memory is shown twice", is_hook=True)


def _left_in(path: Path, text: str) -> Iterator[Leftover]:
    """What a former system has left in a page of instructions."""
    for each in former_sections(text):
        said = f"{path} has the section {each.heading!r} of another memory system"
        yield Leftover(f"{said}: the model gets two sets of instructions", is_hook=False)
    like = like_sections(text)
    for each in like:
        said = f"{path} has a section {each.heading!r} that does not mention gitmem"
        yield Leftover(f"{said}; {_BY_HAND}", is_hook=False, is_known=False)
    rest = re.sub(SECTION, "", _without(take_former_sections(text), like), flags=re.DOTALL)
    if named := _program_in(rest):
        said = f"{path} names {named} of another memory system; if it tells the model to run it"
        yield Leftover(f"{said}, remove those lines by hand", is_hook=False, is_known=False)


def _settings(path: Path, texts: Mapping[Path, str]) -> object:
    text = texts.get(real := Path(os.path.realpath(path)))
    if text is None:
        return settings_in(real)
    try:
        return {} if json_edit.is_blank(text) else json_edit.read(text)
    except JsonRefused:  # told by who has to write it
        return {}


def _text(path: Path, texts: Mapping[Path, str]) -> str:
    if (text := texts.get(Path(os.path.realpath(path)))) is not None:
        return text
    try:
        return text_of(path, read_file(path))
    except GitmemError:  # told by who has to write it
        return ""


def way_out(there: Places, installed: Sequence[str]) -> str:
    """What to type so that it goes from THERE; INSTALLED are the scopes that call us already.

    One installation is enough: `--replace` looks at both scopes, whichever it installs into.
    """
    scope = there.scope if there.scope in installed or not installed else installed[0]
    call = f"`gitmem install {there.host} --scope {scope} --replace`"
    return f"{call} takes it out, and --uninstall puts it back"
