"""Commits that left the branch, kept under a ref of their own so that no gc can take them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pygit2

from gitmem.errors import StorageFailed
from gitmem.git.checks.reffiles import all_refs, is_id
from gitmem.git.checks.scrub import scrub
from gitmem.git.repository import Repository

KEPT = "refs/gitmem/kept/"
_DIGITS = 12


def kept_name(oid: str) -> str:
    """The ref under which the commit OID is kept."""
    return f"{KEPT}{oid[:_DIGITS]}"


def keep(repository: Repository, oid: str) -> None:
    """Keep the commit OID. Needs the group's lock, which is why a lock of the ref is stale."""
    name = kept_name(oid)
    if repository.reference(name) == oid:
        return
    (repository.gitdir / f"{name}.lock").unlink(missing_ok=True)
    try:
        repository.raw.create_reference(name, oid, force=True)
    except (pygit2.GitError, OSError, ValueError) as error:
        raise StorageFailed(
            f"keeping commit {oid[:10]}, which left the branch, failed: {error}",
            hint="see `gitmem check`",
        ) from error
    with suppress(OSError):  # libgit2 leaves its mode to the umask
        os.chmod(repository.gitdir / name, 0o600)


def keep_whole(repository: Repository, oid: str) -> str:
    """Keep OID if all that the branch does not have of it can be read; else tell what cannot.

    A ref that leads to something damaged would make a sound group a damaged one.
    """
    found = scrub(repository, oid, repository.tip().commit)
    if found.lacks:
        return found.lacks[0]
    keep(repository, oid)
    return ""


def release(repository: Repository, oid: str) -> None:
    """Keep the commit OID no longer. Needs the group's lock."""
    with suppress(KeyError, pygit2.GitError, OSError):
        repository.raw.lookup_reference(kept_name(oid)).delete()


def kept_refs(gitdir: Path) -> dict[str, str]:
    """The commits that are kept, by the names of their refs."""
    return {name: oid for name, oid in all_refs(gitdir).items() if name.startswith(KEPT)}


def dropped_path(gitdir: Path) -> Path:
    """The list of commits that somebody has let go, and that are not named again."""
    return gitdir / "gitmem" / "let-go"


def let_go(gitdir: Path) -> set[str]:
    """The commits that somebody has let go."""
    with suppress(OSError):
        text = dropped_path(gitdir).read_text("ascii", "replace")
        return {line for line in text.split("\n") if is_id(line)}
    return set()


def note_let_go(gitdir: Path, oid: str) -> None:
    """Remember that nobody wants to hear of the commit OID again."""
    fd = os.open(dropped_path(gitdir), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        file.write(f"\n{oid}\n".encode())  # the line before may be torn
        file.flush()
        os.fsync(fd)
