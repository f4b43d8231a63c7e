"""What a person is about to commit with plain git, asked the questions that every write is asked.

The commit has not happened yet, so all that a write would be refused for is refused here, too; git
itself has the way past it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Damaged, PathRefused
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.write.changeset import check_place
from gitmem.model.guards import hold_rule, violations
from gitmem.model.secrets import find as secrets
from gitmem.store.index.file import Entry, IndexFile
from gitmem.store.index.format import IndexUnreadable
from gitmem.store.objects.trees import Node
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import HeldEdit

_KINDS = {0o120000: "link", 0o160000: "submodule"}
MESSAGE = "the message"
_COMMENT = "#"
_SCISSORS = "# ------------------------ >8"


class Staged(NamedTuple):
    """The verdict on what is staged."""

    files: int
    """How many are other than in the last commit."""
    refused: tuple[HeldEdit, ...]


def guard_staged(group: Group, index: Path | None = None) -> Staged:
    """Judge what the index holds; INDEX is the one that git uses for this very commit."""
    snapshot = group.repository.snapshot()
    head = dict(snapshot.files())
    staged = {_path(each): each for each in _entries(index or group.gitdir / "index")}
    gone = [path for path in head if path not in staged]
    changed = [path for path, each in staged.items() if _differs(each, head.get(path))]
    refused = [HeldEdit(path, rule) for path in changed if (rule := _place(snapshot, path, gone))]
    known = {node.oid for node in head.values()}
    judged = [_judged(snapshot, staged[path], known) for path in changed]
    refused += [HeldEdit(each.path, each.rule) for each in judged if each.rule]
    refused += _broken(group, snapshot, staged, [*changed, *gone])
    return Staged(
        len(changed) + len(gone),
        tuple(sorted(set(refused), key=lambda each: (each.path, each.rule))),
    )


def guard_message(text: str) -> Staged:
    """Judge a commit message, as git hands it to its hooks: what git leaves out does not count."""
    # By line feeds, as git does: it keeps what stands behind a carriage return and a comment sign.
    kept = text.partition(_SCISSORS)[0].split("\n")
    said = "\n".join("" if each.startswith(_COMMENT) else each for each in kept)
    found = [f"secret: {each.rule}, line {each.line}" for each in secrets.find(said)]
    return Staged(0, tuple(HeldEdit(MESSAGE, each) for each in found))


def _path(entry: Entry) -> str:
    return entry.path.decode("utf-8", "surrogateescape")


def _entries(index: Path) -> Iterator[Entry]:
    try:
        return IndexFile.parse(index.read_bytes()).entries()
    except FileNotFoundError:
        return iter(())
    except IndexUnreadable as error:
        raise Damaged(f"{index}: {error}", hint="run `gitmem check --repair`") from error


def _differs(entry: Entry, node: Node | None) -> bool:
    return node is None or node.oid != entry.oid.hex() or entry.mode in _KINDS


def _place(snapshot: Snapshot, path: str, gone: list[str]) -> str:
    try:
        check_place(snapshot, path, leaving=gone)
    except PathRefused as error:
        return f"path: {error.message}"
    return ""


def _judged(snapshot: Snapshot, entry: Entry, known: set[str]) -> HeldEdit:
    """Why a staged file may not enter git; what is there already may move about in it."""
    path, oid, kind = _path(entry), entry.oid.hex(), _KINDS.get(entry.mode, "")
    if kind or oid in known:
        return HeldEdit(path, hold_rule(path, kind, None, None))
    data = snapshot.repository.objects.read_as("blob", oid)
    return HeldEdit(path, hold_rule(path, "", data, snapshot.read(path)))


def _broken(
    group: Group, snapshot: Snapshot, staged: dict[str, Entry], paths: list[str]
) -> Iterator[HeldEdit]:
    """The rules of the layout, and of what a file may lose, that a write would have to keep."""
    layout = layout_at(group, snapshot).layout
    read = snapshot.repository.objects.read_as
    for path in paths:
        entry = staged.get(path)
        if entry is None or entry.mode not in _KINDS:
            data = read("blob", entry.oid.hex()) if entry else None
            found = violations(path, data, snapshot.read(path), layout.policy_of(path))
            yield from (HeldEdit(path, each) for each in found)
