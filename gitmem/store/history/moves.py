"""Compare two trees: which files differ, and which were moved.

By hand instead of pygit2's `diff_to_tree` and `find_similar`: libgit2 would read trees that may be
truncated (see `objects/database`; ours takes 1.17 of its time), and likeness only guesses a move
that a commit of gitmem names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import NamedTuple

from gitmem.model.commit_messages import parse
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.objects.trees import SUBMODULE, Node
from gitmem.store.repository import Commit, Difference, Repository, differences

EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
ALIKE = 0.6
"""The share of equal lines that makes two files a move."""
MANY = 30
"""With more new or removed files than this, only equal content counts as a move."""

Likeness = Callable[[str, str], float]
"""The similarity of an old file and a new file, from 0 to 1."""


class Comparison(NamedTuple):
    """The differences of two trees."""

    differences: tuple[Difference, ...]
    moves: dict[str, str]
    """New path to old path."""


def compare_commit(repository: Repository, commit: Commit, parent: Commit | None) -> Comparison:
    """The changes of COMMIT to PARENT, with the moves that its message names."""
    note = parse(commit.message)
    before = parent.tree if parent else None
    # gitmem names its moves: similar files in its commits are no move.
    named = note.all("Gitmem-From")
    return compare(repository, before, commit.tree, named=named, guess=not note.op)


def compare(
    repository: Repository,
    before: str | None,
    after: str | None,
    *,
    named: Collection[str] = (),
    guess: bool = True,
) -> Comparison:
    """What differs between two trees; NAMED files were moved, others with GUESS if they look so."""
    found = tuple(differences(repository, "", before, after))
    gone = {path: old.oid for path, old, new in found if old and not new}
    born = {path: new.oid for path, old, new in found if new and not old}

    def read(oid: str) -> bytes | None:
        with suppress(ObjectDamaged):
            return repository.objects.read_as("blob", oid)
        return None

    judged = likeness_of(lambda path: read(gone[path]), lambda path: read(born[path]))

    def likeness(source: str, target: str) -> float:
        return judged(source, target) if guess or source in named else 0.0

    return Comparison(found, pair_moves(gone, born, likeness, named=named))


def pair_moves(
    gone: Mapping[str, str],
    born: Mapping[str, str],
    likeness: Likeness,
    *,
    named: Collection[str] = (),
) -> dict[str, str]:
    """Which of the BORN files (path to blob) were GONE ones before: new path to old path.

    Equal content comes first, then a named one without a rival, then what is most alike.
    """
    moves: dict[str, str] = {}
    old, new = dict(gone), dict(born)

    def pair(source: str, target: str) -> None:
        if source in old and target in new and _can_move(source, target):
            moves[target] = source
            del old[source], new[target]

    for source, target in _equal_pairs(old, new, named):
        pair(source, target)
    left = [source for source in old if source in named]
    if len(left) == len(new) == 1:
        pair(left[0], next(iter(new)))
    if 0 < len(old) <= MANY and 0 < len(new) <= MANY:
        for source, target in _alike_pairs(old, new, likeness):
            pair(source, target)
    return moves


def _equal_pairs(
    gone: Mapping[str, str], born: Mapping[str, str], named: Collection[str]
) -> list[tuple[str, str]]:
    """Pairs of the same content, the likeliest first."""
    homes: dict[str, list[str]] = {}
    for source, oid in gone.items():
        if oid != EMPTY_BLOB:  # empty files are all alike
            homes.setdefault(oid, []).append(source)
    pairs = [(source, target) for target, oid in born.items() for source in homes.get(oid, ())]
    return sorted(pairs, key=lambda each: (each[0] not in named, -_common_end(*each), each))


def _alike_pairs(
    gone: Mapping[str, str], born: Mapping[str, str], likeness: Likeness
) -> list[tuple[str, str]]:
    scored = [
        (-likeness(source, target), -_common_end(source, target), source, target)
        for source in gone
        for target in born
    ]
    return [(source, target) for score, _, source, target in sorted(scored) if -score >= ALIKE]


def _can_move(source: str, target: str) -> bool:
    """False where a file became a folder of its name, or the reverse."""
    return not (source.startswith(f"{target}/") or target.startswith(f"{source}/"))


def _common_end(one: str, other: str) -> int:
    """The number of parts that two paths share at their ends."""
    count = 0
    for a, b in zip(reversed(one.split("/")), reversed(other.split("/")), strict=False):
        if a != b:
            break
        count += 1
    return count


def likeness_of(
    read_old: Callable[[str], bytes | None], read_new: Callable[[str], bytes | None]
) -> Likeness:
    """The share of equal lines in the longer file; reads each file once."""
    from functools import cache

    old_lines = cache(lambda path: _lines(read_old(path)))
    new_lines = cache(lambda path: _lines(read_new(path)))

    def likeness(source: str, target: str) -> float:
        one, other = old_lines(source), new_lines(target)
        longer = max(one.total(), other.total())
        return (one & other).total() / longer if longer else 0.0

    return likeness


def _lines(data: bytes | None) -> Counter[bytes]:
    """The lines of a text in no order, without blank lines and line endings."""
    return Counter(line.strip() for line in (data or b"").split(b"\n") if line.strip())


def content(repository: Repository, node: Node | None) -> bytes | None:
    """The content of a file; of a submodule, the line that git shows for it."""
    if node is None:
        return None
    if node.mode == SUBMODULE:
        return f"Subproject commit {node.oid}\n".encode()
    return repository.objects.read_as("blob", node.oid)
