"""Which files of a commit belong to a layer, and the date that stands in their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain

from gitmem.errors import Damaged
from gitmem.model.context.escape import NOTHING, ForModel, worded
from gitmem.model.layout.layout import FILE, TIMES, Layer, Layout, is_glob, variables_in
from gitmem.model.record import Record
from gitmem.store.objects.trees import Node, Tree
from gitmem.store.repository import Snapshot

REGULAR = (0o100644, 0o100755)
"""Modes of files that hold text; a link in git is no memory."""
MARK = r"\*|\{\w+\}"


def layer_files(
    snapshot: Snapshot, layer: Layer, before: Sequence[Layer] = ()
) -> Iterator[tuple[str, str]]:
    """The files of LAYER with their blobs, but for those that belong to one of the layers BEFORE.

    It looks at the names in the folders that the pattern leads to, and at no others.
    """
    rivals = [each for each in before if _may_meet(each, layer)]
    found: Iterator[tuple[str, Node]]
    if "**" in layer.path:
        found = ((path, node) for path, node in snapshot.files() if layer.holds(path))
    else:
        found = _descend(snapshot, "", layer.path.split("/"))
    for path, node in found:
        if node.mode in REGULAR and not (rivals and any(each.covers(path) for each in rivals)):
            yield path, node.oid


class Unmade(Record):
    """The layers of which no file is there yet, and of which an agent may make one."""

    names: tuple[str, ...] = ()
    """Where it would be, with the heading it would have."""
    is_all: bool = False
    """True on the first day: no layer has a file."""

    @property
    def words(self) -> ForModel:
        """The sentence about them for a model."""
        if not self.names:
            return NOTHING
        text = "You may create these files, which do not exist yet: {names}."
        return worded(text, names=", ".join(self.names))


def unmade_files(snapshot: Snapshot, layout: Layout) -> Unmade:
    """What LAYOUT has a place for and a commit does not hold."""
    found: list[Layer] = []
    with suppress(Damaged):  # a folder that is lost may well have files
        for number, layer in enumerate(layout.layers):
            # Where folders have any depth, only a walk through all files could tell.
            there = "**" in layer.path or any(layer_files(snapshot, layer, layout.layers[:number]))
            found += [] if there else [layer]
    names = tuple(_titled(each) for each in found if each.policy != "protected")
    return Unmade(names, len(found) == len(layout.layers))


def _titled(layer: Layer) -> str:
    return f"{layer.display_path} ({layer.label})" if layer.label else layer.display_path


def dated_part(pattern: str) -> Callable[[str], str]:
    """How to get at what stands for the date in a path that fits PATTERN."""
    parts = pattern.split("/")
    dated = [at for at, part in enumerate(parts) if set(variables_in(part)) & set(TIMES)]
    if not dated or len(variables_in(parts[dated[-1]])) > 1 or is_glob(pattern):
        return lambda path: path.rpartition("/")[2].partition(".")[0]
    at = dated[-1]
    before, _, rest = (pattern if len(variables_in(pattern)) == 1 else parts[at]).partition("{")
    start, end = len(before), -len(rest.partition("}")[2]) or None
    if len(variables_in(pattern)) == 1:
        return lambda path: path[start:end]
    return lambda path: path.split("/")[at][start:end]


def _may_meet(one: Layer, other: Layer) -> bool:
    """Whether a path can belong to both, as far as the beginnings of their patterns tell."""
    ours = _beginning(other.path)
    return any(
        ours.startswith(theirs) or theirs.startswith(ours)
        for theirs in map(_beginning, filter(None, (one.path, one.rotated)))
    )


def _beginning(pattern: str) -> str:
    return re.split(MARK, pattern, maxsplit=1)[0]


def _descend(snapshot: Snapshot, folder: str, parts: list[str]) -> Iterator[tuple[str, Node]]:
    """Every node at the end of PARTS below FOLDER, in order; each part is a name or a pattern."""
    part, *rest = parts
    tree, inside = snapshot.folder(folder), f"{folder}/" if folder else ""
    names = _fitting(part, tree)
    if not rest:
        return ((inside + name, tree[name]) for name in names if inside or name != FILE)
    below = (_descend(snapshot, inside + name, rest) for name in names if tree[name].is_folder)
    return chain.from_iterable(below)


def _fitting(part: str, tree: Tree) -> Iterable[str]:
    """The names in TREE that fit one part of a pattern, as `Layer.holds` would have it."""
    marks = re.findall(MARK, part)
    if not marks:
        return (part,) if part in tree else ()
    if len(marks) > 1:
        layer = Layer("", "notes", part)
        return (name for name in tree if layer.holds(name))
    # One mark is all that patterns have, as a rule, and folders may be large.
    before, _, after = part.partition(marks[0])
    least = len(before) + len(after) + (marks[0] != "*")
    return [
        name
        for name in tree
        if name.startswith(before) and name.endswith(after) and len(name) >= least
    ]
