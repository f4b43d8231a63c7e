"""Which files of a folder are memory, where the folder also holds other work.

Inside the store every file of a group is memory. A folder elsewhere may be somebody's workspace,
with sources and dependencies beside the memory: there only what the layout names counts. A folder
in which nothing can be memory is never entered, so that 50,000 files in it cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gitmem.model.layout.layout import FILE, Layout, fits

DEEP = "**"


class Scope(NamedTuple):
    """The patterns by which a path is memory or not."""

    named: tuple[str, ...] = ()
    """What the layers and the other keys of the layout name; a `.gitignore` may take from it."""
    included: tuple[str, ...] = ()
    """What `include` adds, whatever a `.gitignore` says."""
    ignored: tuple[str, ...] = ()
    """What `ignore` takes away from both."""

    def holds(self, path: str) -> bool:
        """Whether the file at PATH is memory."""
        if path == FILE:
            return True
        return _any((*self.named, *self.included), path) and not self.ignores(path)

    def reaches(self, folder: str) -> bool:
        """Whether a file below FOLDER can be memory."""
        if _any((each.removesuffix(f"/{DEEP}") for each in self.ignored if _whole(each)), folder):
            return False
        return any(_leads_below(each, folder) for each in (*self.named, *self.included))

    def ignores(self, path: str) -> bool:
        """Whether the file at PATH fits a pattern of `ignore`."""
        return _any(self.ignored, path)

    def insists(self, path: str, *, folder: bool = False) -> bool:
        """Whether PATH counts, or may lead to what counts, even where a `.gitignore` names it."""
        if folder:
            return any(_leads_below(each, path) for each in self.included)
        return path == FILE or _any(self.included, path)

    def exclude_lines(self) -> list[str]:
        """The rules by which git leaves everything else alone, for `info/exclude`.

        Git re-includes nothing below a folder that is excluded, so each folder on the way to a file
        is re-included and its content excluded again, level by level. Below a `**` in the middle of
        a pattern git may show more than is memory.
        """
        levels: dict[int, tuple[dict[str, None], dict[str, None]]] = {}
        deep: dict[str, None] = {}
        for pattern in (FILE, *self.named, *self.included):
            parts = [re.sub(r"\{\w+\}", "*", part) for part in pattern.split("/")]
            for depth, part in enumerate(parts):
                above = "".join(f"/{each}" for each in parts[:depth])
                if DEEP in part:
                    deep[f"!{above}/{DEEP}"] = None
                    break
                hidden, shown = levels.setdefault(depth, ({}, {}))
                hidden[f"{above}/*"] = None
                shown[f"!{above}/{part}{'/' * (depth < len(parts) - 1)}"] = None
        if f"!/{DEEP}" in deep:
            return list(_unwanted(self.ignored))
        rows = [line for _, both in sorted(levels.items()) for each in both for line in each]
        return [*rows, *deep, *_unwanted(self.ignored)]

    def shown_lines(self, paths: Iterable[str]) -> list[str]:
        """The rules by which git sees files at PATHS all the same, after `exclude_lines`."""
        rows: dict[str, None] = {}
        folders = {
            folder
            for path in paths
            for folder in _above(path)
            if not all(map(self.reaches, (folder, *_above(folder))))
        }
        for folder in sorted(folders, key=lambda each: (each.count("/"), each)):
            rows[f"!/{_literal(folder)}/"] = rows[f"/{_literal(folder)}/*"] = None
        return [*rows, *(f"!/{_literal(path)}" for path in paths)]


EVERYTHING = Scope((DEEP,))
NOTHING = Scope()
"""Only the layout itself: for a group whose layout cannot be read, beside what it has already."""


def scope_of(layout: Layout) -> Scope:
    """What is memory by LAYOUT; without any layer or `include`, everything."""
    if not layout.layers and not layout.include:
        return EVERYTHING._replace(ignored=layout.ignore)
    named = (each for pattern in _named(layout) for each in (pattern, *_in_small_letters(pattern)))
    return Scope(tuple(dict.fromkeys(named)), layout.include, layout.ignore)


def union_of(scopes: Iterable[Scope]) -> Scope:
    """What is memory by at least one of SCOPES, before anybody knows which one counts."""
    found = list(scopes)
    return Scope(
        tuple(dict.fromkeys(each for scope in found for each in scope.named)),
        tuple(dict.fromkeys(each for scope in found for each in scope.included)),
        found[0].ignored if len(found) == 1 else (),
    )


def shown_paths(lines: Iterable[str]) -> Iterator[str]:
    """The paths of `Scope.shown_lines`."""
    for line in lines:
        if line.startswith("!/") and not line.endswith("/"):
            yield re.sub(r"\\(.)", r"\1", line[2:])


def fixed_part(pattern: str) -> str:
    """The part of PATTERN in front of the first name that may vary; empty where that is first."""
    parts = pattern.split("/")
    varies = (number for number, part in enumerate(parts) if set(part) & set("*?[{"))
    return "/".join(parts[: next(varies, len(parts))])


def _named(layout: Layout) -> Iterator[str]:
    """Every pattern of LAYOUT by which a file of memory is found, written or retired."""
    for layer in layout.layers:
        yield from filter(None, (layer.path, layer.rotated, layer.default))
        yield f"{layer.archive}/{DEEP}"
        if layer.rollup:
            from gitmem.model.layout.rollups import pattern_of  # only where days become weeks

            yield from (pattern_of(layer, "week"), pattern_of(layer, "month"))
    yield from filter(None, (*layout.compact, layout.migrate.old, layout.migrate.new))
    yield from filter(None, (layout.migrate.into, *layout.allow))


def _in_small_letters(path: str) -> Iterator[str]:
    """The other name of a file that systems spell either way: `memory.md` for `MEMORY.md`."""
    folder, slash, name = path.rpartition("/")
    if "*" not in path and "{" not in path and name != name.lower():
        yield f"{folder}{slash}{name.lower()}"


def _any(patterns: Iterable[str], path: str) -> bool:
    return any(fits(each, path) for each in patterns)


def _whole(pattern: str) -> bool:
    """Whether PATTERN means all of a folder."""
    return pattern.endswith(f"/{DEEP}")


def _leads_below(pattern: str, folder: str) -> bool:
    """Whether a path that fits PATTERN can lie below FOLDER."""
    parts, names = pattern.split("/"), folder.split("/")
    for part, name in zip(parts, names, strict=False):
        if DEEP in part:
            return True
        if not fits(part, name):
            return False
    return len(parts) > len(names)


def _above(path: str) -> Iterator[str]:
    """The folders that PATH lies in."""
    while path := path.rpartition("/")[0]:
        yield path


def _literal(path: str) -> str:
    """PATH as a rule of git that means just this path."""
    line = re.sub(r"([\\*?\[])", r"\\\1", path)
    return line[:-1] + "\\ " if line.endswith(" ") else line


def _unwanted(patterns: Iterable[str]) -> Iterator[str]:
    for each in patterns:
        line = re.sub(r"\{\w+\}", "*", each)
        yield f"/{line.removesuffix(DEEP)}" if _whole(each) else f"/{line}"
