"""Recognition of the memory system of a folder by its files.

A layout lists its marks under `recognise`: a file, a folder (`diary/`), or `PATTERN has TEXT` for
a file that matches PATTERN and has TEXT near its beginning. Without marks, the paths of its layers
count. No system is named here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from gitmem.model.layout.layout import HAS, Layout, fits

CERTAIN, LIKELY = 0.8, 0.3
LEAD = 0.15
"""The lead of the best layout over the next one, below which it is a guess."""


class Recognised(NamedTuple):
    """How well a layout fits a folder."""

    layout: str
    score: float
    """From 0 to 1: the share of its marks that were found, less if it covers few files."""
    sure: str
    """certain, likely or unsure"""
    why: tuple[str, ...]
    """The marks that were found."""
    missing: tuple[str, ...]
    """Those that were not."""


def recognise(
    paths: Collection[str], heads: Mapping[str, str], layouts: Mapping[str, Layout]
) -> tuple[Recognised, ...]:
    """Return the layouts that fit a folder with PATHS, the best first.

    HEADS has the first lines of its files. Only the first result may be sure.
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
    """Return the documents that LAYOUT loads always and that are missing from PATHS."""
    layout = layout.spelled(paths.__contains__)
    core = (each.path for each in layout.layers if each.kind == "document")
    shown = {each.path for each in layout.layers if each.load == "always"}
    return tuple(path for path in core if path in shown and path not in paths)


def _by_names(layout: Layout, paths: Collection[str], claimed: Collection[str]) -> Layout:
    """LAYOUT with the names in PATHS; a lower-case name that is CLAIMED marks another layout."""
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
    marks = layout.recognise or _paths(layout)
    evidence = {mark: _found(mark, paths, heads) for mark in marks}
    why = tuple(text for text in evidence.values() if text)
    missing = tuple(mark for mark, text in evidence.items() if not text)
    explained = sum(_explains(layout, path) for path in paths) / len(paths) if paths else 0.0
    share = len(why) / len(marks) if marks else 0.0
    return Recognised(name, round(share * (1 + explained) / 2, 2), "unsure", why, missing)


def _paths(layout: Layout) -> tuple[str, ...]:
    """The files of the layers, or the folders that hold them."""
    found: dict[str, None] = {}
    for layer in layout.layers:
        first, slash, _ = layer.path.partition("/")
        if "*" not in first and "{" not in first:
            found[first + slash] = None
    return tuple(found)


def _found(mark: str, paths: Collection[str], heads: Mapping[str, str]) -> str:
    """The evidence for a mark; nothing if it was not found."""
    if mark.endswith("/"):
        count = sum(path.startswith(mark) for path in paths)
        return f"{mark} ({count} file{'' if count == 1 else 's'})" if count else ""
    pattern, has, text = mark.partition(HAS)
    fitting = sorted(path for path in paths if fits(pattern, path))
    if has:
        fitting = [path for path in fitting if text in heads.get(path, "")]
        return f"{fitting[0]} has {text!r}" if fitting else ""
    return fitting[0] if fitting else ""


def _explains(layout: Layout, path: str) -> bool:
    return any(
        layer.covers(path) or path.startswith(f"{layer.archive}/") for layer in layout.layers
    )
