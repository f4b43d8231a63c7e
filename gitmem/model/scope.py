"""Which files of a folder are memory, where the folder also holds other work.

Inside the store every file of a group is memory. A folder elsewhere may be a workspace with sources
and dependencies: there only files that the layout names are memory. A folder that can hold none is
never entered, so 50,000 files in it cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gitmem.model.layout.layout import FILE, Layout, fits

DEEP = "**"


class Scope(NamedTuple):
    """The patterns that decide whether a path is memory."""

    named: tuple[str, ...] = ()
    """Paths that the layers and other keys of the layout name; a `.gitignore` may exclude some."""
    included: tuple[str, ...] = ()
    """Paths that `include` adds, whatever a `.gitignore` says."""
    ignored: tuple[str, ...] = ()
    """Paths that `ignore` removes from both."""

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
        """Whether `include` keeps PATH, or files in that FOLDER, though a `.gitignore` names it."""
        if folder:
            return any(_leads_below(each, path) for each in self.included)
        return path == FILE or _any(self.included, path)

    def exclude_lines(self) -> list[str]:
        """Return the lines for `info/exclude` that hide everything else from git.

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
            return list(_hidden(self.ignored))
        rows = [line for _, both in sorted(levels.items()) for each in both for line in each]
        return [*rows, *deep, *_hidden(self.ignored)]

    def shown_lines(self, paths: Iterable[str]) -> list[str]:
        """Return lines that show git the files at PATHS again, to follow `exclude_lines`."""
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
"""The layout alone: for a group whose layout is unreadable."""


def scope_of(layout: Layout) -> Scope:
    """Return the scope of LAYOUT; without layers and `include`, every file is memory."""
    if not layout.layers and not layout.include:
        return EVERYTHING._replace(ignored=layout.ignore)
    named = (each for pattern in _named(layout) for each in (pattern, *_lower_names(pattern)))
    return Scope(tuple(dict.fromkeys(named)), layout.include, layout.ignore)


def union_of(scopes: Iterable[Scope]) -> Scope:
    """Return what is memory by at least one of SCOPES, while it is open which of them counts."""
    found = list(scopes)
    return Scope(
        tuple(dict.fromkeys(each for scope in found for each in scope.named)),
        tuple(dict.fromkeys(each for scope in found for each in scope.included)),
        found[0].ignored if len(found) == 1 else (),
    )


def shown_paths(lines: Iterable[str]) -> Iterator[str]:
    """Return the paths in LINES, which `Scope.shown_lines` made."""
    for line in lines:
        if line.startswith("!/") and not line.endswith("/"):
            yield re.sub(r"\\(.)", r"\1", line[2:])


def fixed_part(pattern: str) -> str:
    """Return the folders of PATTERN before its first variable or glob."""
    parts = pattern.split("/")
    varies = (number for number, part in enumerate(parts) if set(part) & set("*?[{"))
    return "/".join(parts[: next(varies, len(parts))])


def _named(layout: Layout) -> Iterator[str]:
    """Every path pattern that LAYOUT names."""
    for layer in layout.layers:
        yield from filter(None, (layer.path, layer.rotated, layer.default))
        yield f"{layer.archive}/{DEEP}"
        if layer.rollup:
            from gitmem.model.layout.rollups import pattern_of  # only where days become weeks

            yield from (pattern_of(layer, "week"), pattern_of(layer, "month"))
    yield from filter(None, (*layout.compact, layout.migrate.old, layout.migrate.new))
    yield from filter(None, (layout.migrate.into, *layout.allow))


def _lower_names(path: str) -> Iterator[str]:
    """The lower-case name of a file that systems spell either way: `memory.md` for `MEMORY.md`."""
    folder, slash, name = path.rpartition("/")
    if "*" not in path and "{" not in path and name != name.lower():
        yield f"{folder}{slash}{name.lower()}"


def _any(patterns: Iterable[str], path: str) -> bool:
    return any(fits(each, path) for each in patterns)


def _whole(pattern: str) -> bool:
    """Whether PATTERN matches all of a folder."""
    return pattern.endswith(f"/{DEEP}")


def _leads_below(pattern: str, folder: str) -> bool:
    """Whether a path below FOLDER can match PATTERN."""
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
    """PATH as an ignore rule of git that matches this path alone."""
    line = re.sub(r"([\\*?\[])", r"\\\1", path)
    return line[:-1] + "\\ " if line.endswith(" ") else line


def _hidden(patterns: Iterable[str]) -> Iterator[str]:
    for each in patterns:
        line = re.sub(r"\{\w+\}", "*", each)
        yield f"/{line.removesuffix(DEEP)}" if _whole(each) else f"/{line}"
