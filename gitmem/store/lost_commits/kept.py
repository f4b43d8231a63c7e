"""Commits that left the branch, kept under refs/gitmem/kept so that no gc removes them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from gitmem.errors import Damaged, GitmemError, StorageFailed
from gitmem.model.hints import Hint, call
from gitmem.store.refs.files import all_refs, is_id
from gitmem.store.refs.move import Move, delete_ref, move_ref, ref_tip
from gitmem.store.repository import Repository

KEPT = "refs/gitmem/kept/"
REBUILT = "gitmem/rebuilt"
"""Commits that could not be read whole, each with the commit that replaces it."""
_DIGITS = 12


def kept_name(oid: str) -> str:
    """The ref under which the commit OID is kept."""
    return f"{KEPT}{oid[:_DIGITS]}"


def kept_refs(gitdir: Path) -> dict[str, str]:
    """The kept commits by the names of their refs."""
    return {name: oid for name, oid in all_refs(gitdir).items() if name.startswith(KEPT)}


def keep(repository: Repository, oid: str) -> None:
    """Keep the commit OID. Needs the group's lock."""
    gitdir, name = repository.gitdir, kept_name(oid)
    try:
        known = _kept_at(gitdir, name)
        if known != oid:
            move_ref(gitdir, name, Move(known, oid, "", 0))
    except (GitmemError, OSError) as error:
        raise StorageFailed(
            f"keeping commit {oid[:10]}, which left the branch, failed: {error}",
            hint=Hint("see ", call("check")),
        ) from error


def _kept_at(gitdir: Path, name: str) -> str | None:
    """The commit that the ref NAME keeps; a malformed ref is removed."""
    try:
        return ref_tip(gitdir, name)
    except Damaged:
        (gitdir / name).unlink()
        return ref_tip(gitdir, name)


def release(repository: Repository, oid: str) -> None:
    """Stop keeping the commit OID. Needs the group's lock."""
    with suppress(GitmemError, OSError):
        delete_ref(repository.gitdir, kept_name(oid))


def rebuilt(gitdir: Path) -> dict[str, str]:
    """The commits that were rebuilt, each with its copy."""
    with suppress(OSError):
        rows = map(str.split, (gitdir / REBUILT).read_text("ascii", "replace").split("\n"))
        return {row[0]: row[1] for row in rows if len(row) == 2 and all(map(is_id, row))}  # noqa: PLR2004
    return {}


def newest_copy(gitdir: Path, oid: str) -> str:
    """The newest copy of the commit OID; OID itself where it was never rebuilt."""
    copies = rebuilt(gitdir)
    while oid in copies:
        oid = copies.pop(oid)
    return oid


def let_go(gitdir: Path) -> set[str]:
    """The commits that a person let go: check reports them no more."""
    with suppress(OSError):
        text = _let_go_path(gitdir).read_text("ascii", "replace")
        return {line for line in text.split("\n") if is_id(line)}
    return set()


def note_let_go(gitdir: Path, oids: Iterable[str]) -> None:
    """Record that the commits OIDS are let go."""
    append_lines(_let_go_path(gitdir), oids)


def _let_go_path(gitdir: Path) -> Path:
    return gitdir / "gitmem" / "let-go"


def append_lines(path: Path, lines: Iterable[str]) -> None:
    """Append LINES to the file PATH, durably."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        file.write("\n".join(("", *lines, "")).encode())  # the line before may be torn
        file.flush()
        os.fsync(fd)
