"""Choose the layout of an adopted folder: its own, the caller's, or the one it resembles."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import BadInput, LayoutRefused
from gitmem.memory.clock import ENV, named_zone, settings_in
from gitmem.memory.layouts import (
    NONE,
    checked,
    shipped,
    shipped_layout,
    starter_files,
    unknown_keys,
)
from gitmem.memory.scope import layout_scope
from gitmem.model.hints import Hint, Option, call
from gitmem.model.layout.layout import EMPTY, FILE, Layout
from gitmem.model.layout.recognise import Recognised, recognise
from gitmem.model.scope import NOTHING, Scope, scope_of, union_of
from gitmem.model.secrets.find import redact
from gitmem.store.worktree.worktree import WorkTree

HEAD = 4096
"""The number of bytes of a file by which a layout is recognised."""
UNSURE = "unsure"
MOST_INSIDE = 50


class Choice(NamedTuple):
    """The chosen layout, and why."""

    name: str
    layout: Layout
    sure: str
    score: float = 1.0
    why: tuple[str, ...] = ()
    text: bytes | None = None
    """The `gitmem.yaml` to add; None where the folder has its own, or for no layout."""
    remarks: tuple[str, ...] = ()
    broken: bool = False
    """True when the folder's own layout cannot be read."""
    zone: str = ""
    """The time zone in the folder's `.env`, which is in TEXT now ..."""
    zone_from: str = ""
    """... and the path of that file."""

    @property
    def scope(self) -> Scope:
        """The files that are memory by the layout."""
        return NOTHING if self.broken else scope_of(self.layout)

    @property
    def adds(self) -> str:
        """The path of the added file, if any."""
        return FILE if self.text is not None else ""


def choose_layout(
    root: Path, texts: Mapping[str, bytes], away: Collection[str], named: str = ""
) -> Choice:
    """The layout for a folder with these files; BadInput where the caller has to choose."""
    if FILE in texts:
        return _own(texts[FILE], named)
    if named == NONE:
        return Choice(NONE, EMPTY, "chosen", 0.0)
    if FILE in away:
        raise BadInput(
            f"{FILE} in {root} may not enter git, and a layout needs that path",
            hint=Hint("move it away, or repeat with ", Option("layout", NONE)),
        )
    found = _candidates(texts, away)
    if named:
        text = starter_files(named)[FILE]
        fits = next((each for each in found if each.layout == named), None)
        score, why = (fits.score, fits.why) if fits else (0.0, ())
        return Choice(named, checked(text), "chosen", score, why, text)
    if not found or found[0].sure == UNSURE:
        raise _ask(root, texts, found)
    best = found[0]
    text = starter_files(best.layout)[FILE]
    return Choice(best.layout, checked(text), best.sure, best.score, best.why, text)


def possible_scope(root: Path, named: str) -> Scope:
    """What may be memory in ROOT before its files are read: by its own layout, NAMED, or any."""
    worktree = WorkTree(root)
    try:
        own = worktree.look(FILE)
    finally:
        worktree.close()
    if own.data is not None or named == NONE:
        return layout_scope(own.data)
    names = (named,) if named else shipped()
    return union_of(scope_of(shipped_layout(name)) for name in names)


def with_zone(choice: Choice, root: Path) -> Choice:
    """CHOICE with the time zone that the `.env` of the adopted system names.

    The file is in the folder or above it. Only TZ is read; the zone of a layout wins.
    """
    for folder in (root, root.parent):
        found = settings_in(folder).get("TZ", "").removeprefix(":")
        if found:
            return choice if choice.layout.timezone else _zoned(choice, found, folder / ENV)
    return choice


def _zoned(choice: Choice, zone: str, source: Path) -> Choice:
    setting = f"TZ={redact(zone)[0]} in {redact(str(source))[0]}"
    try:
        named_zone(zone)
    except BadInput:
        remark = Hint(f"{setting} is no known time zone; set `timezone:` with ", call("edit", FILE))
        return choice._replace(remarks=(*choice.remarks, remark))
    line = rb"\g<0>timezone: " + zone.encode() + rb"\n"
    text = choice.text and re.sub(rb"(?m)^gitmem:.*\n", line, choice.text, count=1)
    with suppress(LayoutRefused):
        layout = checked(text) if text else EMPTY
        if layout.timezone == zone:
            return choice._replace(text=text, layout=layout, zone=zone, zone_from=str(source))
    remark = Hint(f"{setting} is not used: add `timezone: {zone}` with ", call("edit", FILE))
    return choice._replace(remarks=(*choice.remarks, remark))


def _own(text: bytes, named: str) -> Choice:
    """The folder's own layout, which is not rewritten even if it is broken."""
    remarks: tuple[str, ...] = ()
    broken = False
    try:
        layout = checked(text, lenient=True)
        remarks = tuple(filter(None, (unknown_keys(layout),)))
    except LayoutRefused as error:
        layout, broken = EMPTY, True
        remarks = (f"its layout is kept and cannot be used: {error.message}",)
    if named and named != layout.name:
        raise BadInput(
            f"the folder has a {FILE} of its own ({layout.name or 'broken'})",
            hint=Hint(
                "leave out ", Option("layout"), "; edit it afterwards with ", call("edit", FILE)
            ),
        )
    return Choice(layout.name or NONE, layout, "certain", 1.0, (FILE,), None, remarks, broken)


def _candidates(texts: Mapping[str, bytes], away: Collection[str] = ()) -> tuple[Recognised, ...]:
    """The layouts that fit; files that are left out count, too."""
    heads = {path: data[:HEAD].decode("utf-8", "replace") for path, data in texts.items()}
    names = {*texts, *(path for path in away if "/." not in f"/{path}")}
    return recognise(names, heads, {name: shipped_layout(name) for name in shipped()})


def _ask(root: Path, texts: Mapping[str, bytes], found: tuple[Recognised, ...]) -> BadInput:
    inside, hint = _inside(texts), Hint()
    if inside:
        hint = Hint(f"{inside} in it looks like one: ", call("adopt", str(root / inside)), "; or ")
    names = [each.layout for each in found[:3]] or list(shipped())
    likest = ", ".join(f"{each.layout} {each.score:.2f}" for each in found[:3]) or "none"
    return BadInput(
        f"the layout of {root} is not clear (best: {likest})",
        hint=Hint(
            hint, "choose with ", Option("layout", "NAME"), f": {', '.join(names)} or {NONE}"
        ),
        candidates=[each._asdict() for each in found],
    )


def _inside(texts: Mapping[str, bytes]) -> str:
    """The only folder inside that is recognised; or empty."""
    folders: dict[str, dict[str, bytes]] = {}
    for path, data in texts.items():
        first, slash, rest = path.partition("/")
        if slash:
            folders.setdefault(first, {})[rest] = data
    if len(folders) > MOST_INSIDE:
        return ""
    sure = [name for name, inner in folders.items() if _is_sure(_candidates(inner))]
    return sure[0] if len(sure) == 1 else ""


def _is_sure(found: tuple[Recognised, ...]) -> bool:
    return bool(found) and found[0].sure != UNSURE
