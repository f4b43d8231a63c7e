"""Making a group's repository, and tying it to its work tree.

By hand instead of pygit2's `init_repository`, which is six folders and a file and costs an import
of 0.18 s.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from gitmem.model.commit_messages import Note
from gitmem.model.hints import Hint, call
from gitmem.model.record import Record
from gitmem.store.config import new_config_text
from gitmem.store.durable import make_folders, rename_durably, sync_folder, sync_tree, write_durably
from gitmem.store.objects.commits import commit_bytes, write_tree
from gitmem.store.repository import BRANCH, Repository

EXCLUDED = b".gitmem-*"  # the prefix of `worktree/swap`, which no reader needs
"""The rule in `info/exclude`: no `git add -A` or `git stash -u` takes our temporary files in."""
LARGEST_RULES = 64 * 1024
"""Bytes of rules that a person may have there; more are left alone."""
HEAD_TEXT = f"ref: {BRANCH}\n"
_DRAFT = ".draft-"
_BEGINS = "begins"
_FOLDERS = ("objects/info", "objects/pack", "refs/heads", "refs/tags", "gitmem")


def create(gitdir: Path, worktree: str, note: Note, now: datetime) -> None:
    """Make a repository with its root commit at GITDIR, whole or not at all.

    It is built beside its place, synced and renamed there: a power cut leaves all of it or nothing.
    No template of git's is copied in. Until `begun` says otherwise, it counts as new.
    """
    draft = gitdir.with_name(f"{_DRAFT}{os.urandom(6).hex()}")
    try:
        for folder in _FOLDERS:
            (draft / folder).mkdir(parents=True)
        (draft / "HEAD").write_text(HEAD_TEXT)
        for name in ("lock", _BEGINS):
            (draft / "gitmem" / name).touch(mode=0o600)
        exclude_temps(draft)
        write_durably(draft / "config", new_config_text(worktree).encode())
        _write_root(draft, note, now)
        _close_to_others(draft)
        sync_tree(draft)
        rename_durably(draft, gitdir)
    except BaseException:
        _remove_tree(draft, ignore_errors=True)  # a full disk needs the room for the next attempt
        raise


def begins(gitdir: Path) -> bool:
    """True until the first files of a group are committed: its `init` failed, died or runs."""
    return os.path.exists(gitdir / "gitmem" / _BEGINS)


def begun(gitdir: Path) -> None:
    """Say that a group has all that it begins with. A crash before that costs a second look."""
    (gitdir / "gitmem" / _BEGINS).unlink(missing_ok=True)


def _write_root(gitdir: Path, note: Note, now: datetime) -> None:
    from gitmem.store.refs.move import Move, move_ref  # only here: every reader imports this module

    repository = Repository(gitdir)
    tree = write_tree(repository, None, {})
    raw = commit_bytes(tree, None, note, now, int(now.timestamp()))
    commit = repository.objects.write("commit", raw)
    move_ref(gitdir, BRANCH, Move(None, commit, "init", int(now.timestamp())))
    repository.close()


def exclude_temps(gitdir: Path) -> None:
    """Let git ignore our temporary files; rules that a person wrote stay.

    Asked where no writer of this release has been yet, and after somebody used plain git.
    """
    path = f"{gitdir}/info/exclude"
    before = b""
    with suppress(FileNotFoundError):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            before = os.read(fd, LARGEST_RULES)
        finally:
            os.close(fd)
    if EXCLUDED in before.splitlines() or len(before) == LARGEST_RULES:
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    gap = b"" if before[-1:] in (b"", b"\n") else b"\n"
    write_durably(Path(path), before + gap + EXCLUDED + b"\n")


def _close_to_others(folder: Path) -> None:
    """Nobody but the owner may read a memory."""
    for path, folders, files in os.walk(folder):
        os.chmod(path, 0o700)
        for name in files:
            os.chmod(os.path.join(path, name), 0o400 if "/objects/" in path else 0o600)
        del folders


def _remove_tree(folder: Path, *, ignore_errors: bool = False) -> None:
    from shutil import rmtree  # brings three compressors along, which nobody needs who reads

    rmtree(folder, ignore_errors=ignore_errors)


def remove_drafts(repos: Path) -> None:
    """Remove what an initialiser that died had begun. Needs the store's lock."""
    for draft in repos.glob(f"{_DRAFT}*"):
        _remove_tree(draft, ignore_errors=True)


def default_of(gitdir: Path) -> Path:
    """Where the work tree of the group in GITDIR stands, unless it was put elsewhere."""
    return gitdir.parent.parent / "groups" / gitdir.name.removesuffix(".git")


def relocation_hint(name: str, worktree: Path) -> Hint:
    """The next step for a WORKTREE that was moved or lost: only a person knows which."""
    moved = call("init", group=name, worktree="DIR")
    again = call("init", group=name, worktree=str(worktree))
    return Hint(
        "if you moved it, run ",
        moved,
        " with its new path; if it is lost, ",
        again,
        " puts its files back",
    )


def tie(gitdir: Path, worktree: Path, *, relative: bool) -> None:
    """Write the file `.git` into the work tree, so that a person's `git log` works there.

    A folder or link that was put in its place is kept, out of reach: its hooks must never run.
    """
    target = os.path.relpath(gitdir, worktree) if relative else str(gitdir)
    marker = worktree / ".git"
    for left in worktree.glob("..git.????????"):  # of one that died here: git would see it
        left.unlink(missing_ok=True)
    if os.path.lexists(marker) and (marker.is_symlink() or not marker.is_file()):
        to_quarantine(gitdir, marker, "worktree.git")
    write_durably(marker, f"gitdir: {target}\n".encode())


def is_tied(gitdir: Path, worktree: Path) -> bool:
    """True when the work tree's `.git` file leads to GITDIR."""
    return _tied_to(worktree) == os.path.normpath(gitdir)


def leads_nowhere(worktree: Path) -> bool:
    """True when the work tree's `.git` file names a folder that is no longer there."""
    target = _tied_to(worktree)
    return target is not None and not os.path.lexists(target)


def _tied_to(worktree: Path) -> str | None:
    """Where the work tree's `.git` file leads; None when it is no such file."""
    try:
        # Without blocking: a named pipe in its place must not stop us for ever.
        fd = os.open(worktree / ".git", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        text = os.read(fd, 4096).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(fd)
    kind, _, target = text.strip().partition(": ")
    return os.path.normpath(worktree / target) if kind == "gitdir" else None


def exclude_from_parent(worktree: Path) -> Path | None:
    """Where a repository of somebody else holds the folder, let it ignore it; tell which file."""
    found = exclude_rule(worktree)
    if found is None:
        return None
    exclude, line = found.file, os.fsencode(f"{found.line}/")
    before = exclude.read_bytes() if exclude.exists() else b""
    if line not in before.splitlines():
        make_folders(exclude.parent)
        with exclude.open("ab", buffering=0) as file:
            file.write((b"" if before[-1:] in (b"", b"\n") else b"\n") + line + b"\n")
            os.fsync(file.fileno())
        sync_folder(exclude.parent)
    return exclude


class ExcludeRule(Record):
    """The line by which a repository ignores a path, and the file in which it has to stand."""

    file: Path
    line: str


def exclude_rule(path: Path) -> ExcludeRule | None:
    """How the repository around PATH could ignore it; None where there is no repository."""
    for above in path.parents:
        common = _common_folder(above)
        if common:
            inner = re.sub(r"([\\*?\[ ])", r"\\\1", path.relative_to(above).as_posix())
            return ExcludeRule(common / "info" / "exclude", f"/{inner}")
    return None


def _common_folder(folder: Path) -> Path | None:
    """The git directory that FOLDER's branches share; None when it is no repository."""
    gitdir = folder / ".git"
    if not gitdir.is_dir():  # a submodule or one of several work trees has a file
        target = _tied_to(folder)
        if target is None or not os.path.isdir(target):
            return None
        gitdir = Path(target)
    try:
        common = gitdir / (gitdir / "commondir").read_text("utf-8").strip()
        return Path(os.path.normpath(common))
    except (OSError, ValueError):
        return gitdir


def to_quarantine(gitdir: Path, path: Path, name: str) -> Path:
    """Move a damaged or planted file or folder out of the way; return its new path."""
    folder = gitdir / "gitmem" / "quarantine"
    make_folders(folder)
    number = 0
    while os.path.lexists(folder / f"{name}.{number}"):
        number += 1
    from shutil import move

    move(path, folder / f"{name}.{number}")
    sync_folder(folder)
    return folder / f"{name}.{number}"
