"""Which memory system a folder belongs to, judged by its files alone.

A layout names its marks under `recognise`: a file, a folder (`diary/`), or `PATTERN has TEXT` for
a file that fits PATTERN and says TEXT near its beginning. A layout without marks is known by where
its layers lie. No system is named here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from gitmem.model.layout.layout import HAS, Layer, Layout

CERTAIN, LIKELY = 0.8, 0.3
LEAD = 0.15
"""By how much the best has to be better than the next one, or it is a guess."""


class Recognised(NamedTuple):
    """How well a layout fits a folder."""

    layout: str
    score: float
    """From 0 to 1: the share of its marks that were found, less where it explains few files."""
    sure: str
    """certain, likely or unsure"""
    why: tuple[str, ...]
    """The marks that were found."""
    missing: tuple[str, ...]
    """Those that were not."""


def recognise(
    paths: Collection[str], heads: Mapping[str, str], layouts: Mapping[str, Layout]
) -> tuple[Recognised, ...]:
    """The layouts that fit a folder with these PATHS, the best first.

    HEADS has the first lines of its files. Only the first answer may be sure.
    """
    claimed = {each.path for layout in layouts.values() for each in layout.layers}
    judged = [
        _judged(name, _by_names(layout, paths, claimed), paths, heads)
        for name, layout in sorted(layouts.items())
    ]
    fitting = sorted((each for each in judged if each.score), key=lambda each: -each.score)
    if not fitting:
        return ()
    best, rest = fitting[0], fitting[1:]
    return (best._replace(sure=_how_sure(best.score, rest[0].score if rest else 0.0)), *rest)


def missing_core(layout: Layout, paths: Collection[str]) -> tuple[str, ...]:
    """The documents that LAYOUT shows in every prompt and that are not among PATHS."""
    layout = layout.spelled(paths.__contains__)
    core = (each.path for each in layout.layers if each.kind == "document")
    shown = {each.path for each in layout.layers if each.load == "always"}
    return tuple(path for path in core if path in shown and path not in paths)


def _by_names(layout: Layout, paths: Collection[str], claimed: Collection[str]) -> Layout:
    """LAYOUT with the names of PATHS; a small name that is CLAIMED is a mark of another layout."""
    own = {each.path for each in layout.layers}
    return layout.spelled(lambda path: path in paths and (path in own or path not in claimed))


def _how_sure(score: float, next_best: float) -> str:
    if score - next_best < LEAD:
        return "unsure"
    if score >= CERTAIN:
        return "certain"
    return "likely" if score >= LIKELY else "unsure"


def _judged(
    name: str, layout: Layout, paths: Collection[str], heads: Mapping[str, str]
) -> Recognised:
    marks = layout.recognise or _places(layout)
    said = {mark: _found(mark, paths, heads) for mark in marks}
    why = tuple(text for text in said.values() if text)
    missing = tuple(mark for mark, text in said.items() if not text)
    explained = sum(_explains(layout, path) for path in paths) / len(paths) if paths else 0.0
    share = len(why) / len(marks) if marks else 0.0
    return Recognised(name, round(share * (1 + explained) / 2, 2), "unsure", why, missing)


def _places(layout: Layout) -> tuple[str, ...]:
    """Where the layers lie: their files, and the folders that hold them."""
    found: dict[str, None] = {}
    for layer in layout.layers:
        first, slash, _ = layer.path.partition("/")
        if "*" not in first and "{" not in first:
            found[first + slash] = None
    return tuple(found)


def _found(mark: str, paths: Collection[str], heads: Mapping[str, str]) -> str:
    """What there is to say for a mark that was found; nothing where it was not."""
    if mark.endswith("/"):
        count = sum(path.startswith(mark) for path in paths)
        return f"{mark} ({count} file{'' if count == 1 else 's'})" if count else ""
    pattern, has, text = mark.partition(HAS)
    place = Layer("", "notes", pattern)
    fitting = sorted(path for path in paths if place.holds(path))
    if has:
        fitting = [path for path in fitting if text in heads.get(path, "")]
        return f"{fitting[0]} has {text!r}" if fitting else ""
    return fitting[0] if fitting else ""


def _explains(layout: Layout, path: str) -> bool:
    return any(
        layer.covers(path) or path.startswith(f"{layer.archive}/") for layer in layout.layers
    )
