"""Repairs around the objects: configuration, HEAD, locks, leftovers, modes, index, work tree."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.store.durable import write_durably
from gitmem.store.fsck import git_directory as upkeep
from gitmem.store.fsck.index_and_worktree import index_against_head
from gitmem.store.heads import put_head
from gitmem.store.index.file import Entry
from gitmem.store.index.staging import IndexBusy, entry
from gitmem.store.lock import Lock
from gitmem.store.objects.database import TEMP_PREFIX as OBJECT_PREFIX
from gitmem.store.objects.database import blob_id
from gitmem.store.refs.move import OURS, is_dead_lock
from gitmem.store.repository import Repository, Snapshot
from gitmem.store.setup import (
    config_text,
    is_tied,
    parse_config,
    tie,
    to_quarantine,
)
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.git_operations import git_operation
from gitmem.store.transaction.stale_locks import GRACE, git_works_in, is_open_somewhere
from gitmem.store.transaction.writer import Writer
from gitmem.store.worktree.held import HeldFolder
from gitmem.store.worktree.ignored import Ignored
from gitmem.store.worktree.swap import TEMP_PREFIX, swapped_folder

STALE = 600.0
"""Seconds after which a lock that nobody has open is taken for a dead git's."""


class Done(NamedTuple):
    """One repair: the finding it answers, and what was done."""

    code: str
    text: str
    path: str = ""
    object: str = ""


def make_folders(gitdir: Path) -> Iterator[Done]:
    """Make the folders without which nothing opens."""
    for name in upkeep.FOLDERS:
        if not (gitdir / name).is_dir():
            (gitdir / name).mkdir(mode=0o700, parents=True)
            yield Done("folder-missing", "made again", name)


def mend_config(gitdir: Path, default: Path) -> Iterator[Done]:
    """Write the configuration from its template, with the work tree and what others put there."""
    path = gitdir / "config"
    raw = path.read_bytes() if path.is_file() else b""
    sound = upkeep.is_config(raw)
    text = raw.decode("utf-8", "replace")
    found = parse_config(text)
    if sound and (not upkeep.drift(found) or not upkeep.knows_format(found)):
        return
    named = _worktree_named(gitdir, found.get("core.worktree", ""), default)
    kept = foreign_settings(text) if sound else ""
    if os.path.lexists(path):
        to_quarantine(gitdir, path, "config")
    write_durably(path, (config_text(named) + kept).encode())
    code = "config-changed" if sound else "config-damaged"
    yield Done(code, f"written from the template; the work tree is {named}", "config")


def _worktree_named(gitdir: Path, named: str, default: Path) -> str:
    """The work tree that a perhaps damaged configuration names, if that can be believed."""
    if named.isprintable() and named and (gitdir / named).is_dir():
        return named
    return os.path.relpath(default, gitdir)


def foreign_settings(text: str) -> str:
    """The settings in TEXT that are none of ours: a person's name, a remote."""
    ours = parse_config(config_text("")).keys()
    kept, section, header = "", "", ""
    for line in text.splitlines():
        if line.strip().startswith("["):
            section, header = line.strip().strip("[]").lower(), f"{line}\n"
        elif f"{section}.{line.partition('=')[0].strip().lower()}" not in ours and line.strip():
            kept += f"{header}{line}\n"
            header = ""
    return kept


def mend_head(gitdir: Path) -> Iterator[Done]:
    """Let HEAD name the branch, where it names nothing."""
    if upkeep.head_state(gitdir)[0] == "unreadable":
        put_head(gitdir)
        yield Done("head-damaged", "it names the branch 'main' again", "HEAD")


def remove_stale_locks(gitdir: Path) -> Iterator[Done]:
    """Remove the locks of a dead gitmem process; move away those of a git dead for a while."""
    for path, age in list(upkeep.locks(gitdir)):
        name = str(path.relative_to(gitdir))
        if name.startswith(OURS) and age <= GRACE:
            time.sleep(GRACE - age + 0.01)  # a `git pack-refs` may have it, for less than that
        if is_dead_lock(gitdir, path):
            path.unlink(missing_ok=True)
            yield Done("git-lock", "removed: the gitmem process that left it is dead", name)
        elif age > STALE and not is_open_somewhere(path) and not git_works_in(gitdir):
            to_quarantine(gitdir, path, path.name)
            yield Done("git-lock", "moved to quarantine: no process has it open", name)


def mend_modes(gitdir: Path) -> Iterator[Done]:
    """Let nobody but the owner in."""
    found = list(upkeep.open_to_others(gitdir))
    for path in found:
        with suppress(OSError):
            os.chmod(path, os.lstat(path).st_mode & 0o700)
    if found:
        yield Done("mode", f"{len(found)} closed to others", os.path.relpath(found[0], gitdir))


def mend_record(gitdir: Path, lock: Lock, raw: bytes) -> Iterator[Done]:
    """Forget a torn record, and keep a copy of it."""
    if upkeep.read_record(raw) == "torn":
        copy = gitdir / "gitmem" / "record.torn"
        copy.write_bytes(raw)
        to_quarantine(gitdir, copy, "record")
        lock.clear()
        yield Done("record-torn", "moved to quarantine", "gitmem/lock")


def remove_leftovers(gitdir: Path, writer: Writer) -> Iterator[Done]:
    """Take away what dead writers left; content that is in no commit is set aside, not deleted."""
    root = writer.worktree.root
    writer.repository.staging.clear_dead_lock()
    scope = writer.repository.scope(writer.repository.snapshot())
    found = list(upkeep.leftovers(gitdir, root, scope.scope if scope else None))
    writer.sweep()
    for path, age in found:
        text = "removed"
        if path.parent == swapped_folder(gitdir):
            if os.path.lexists(path):
                continue  # somebody still has it open
            text = "removed: its content is in git, or held"
        elif path.name.startswith(TEMP_PREFIX):
            text = _take_temp_away(gitdir, writer, path)
        elif not path.name.startswith(OBJECT_PREFIX) and age < STALE:
            continue
        elif path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()
        yield Done("leftover", text, str(path))


def _take_temp_away(gitdir: Path, writer: Writer, path: Path) -> str:
    name = path.relative_to(writer.worktree.root).as_posix()
    seen = writer.worktree.look(name)
    if seen.data is not None and writer.repository.objects.holds(blob_id(seen.data)):
        writer.worktree.drop(name)
        return "removed: its content is in git"
    rule = "left by an interrupted write"
    kept = HeldFolder(gitdir).keep(writer.worktree, name, name, rule, writer.clock())
    return f"set aside as {kept.id}: see `gitmem held show {kept.id}`"


def mend_index(gitdir: Path, writer: Writer) -> Iterator[Done]:
    """Make the index anew where it cannot be read, and let it follow HEAD where it is behind."""
    staging, snapshot = writer.repository.staging, writer.repository.snapshot()
    path = gitdir / "index"
    index, _ = staging.load()
    with suppress(OSError, IndexBusy):
        if index is None:
            code = "index-unreadable" if os.path.lexists(path) else "index-missing"
            if os.path.lexists(path):
                to_quarantine(gitdir, path, "index")
            staging.update({}, lambda: _entries(writer, snapshot), _unsure)
            yield Done(code, "made again from HEAD", "index")
            return
        stale, _ = index_against_head(gitdir, index, list(snapshot.files()))
        if stale and not git_operation(gitdir):  # what that has staged is its own
            fresh = {each.path.decode(): each for each in _entries(writer, snapshot)}
            changes = {name: fresh.get(name) for name in stale}
            staging.update(changes, lambda: iter(fresh.values()), _unsure)
            yield Done("index-stale", "brought to HEAD", "index")


def _unsure(known: Entry) -> bool:
    """Vouch for nothing: git will look at the content itself."""
    del known
    return False


def _entries(writer: Writer, snapshot: Snapshot) -> Iterator[Entry]:
    for path, node in snapshot.files():
        seen = writer.worktree.look(path)
        yield entry(path, node.oid, seen.stat if seen.oid == node.oid else None)


def tie_again(gitdir: Path, default: Path, writer: Writer) -> Iterator[Done]:
    """Put back the file `.git`, and the files that vanished with it."""
    root = writer.worktree.root
    count = writer.put_back()
    if (root / ".git").is_file() and not (root / ".git").is_symlink():
        to_quarantine(gitdir, root / ".git", "worktree.git")
    tie(gitdir, root, relative=root == default)
    text = f"{count} files put back" if count else "the file .git is written again"
    for code, path in (
        ("worktree-missing", root),
        ("gitfile-missing", root / ".git"),
        ("gitfile-foreign", root / ".git"),
    ):
        yield Done(code, text, str(path))


def is_untied(gitdir: Path, root: Path) -> bool:
    """True when the work tree or its marker is missing: then missing files are no deletions."""
    return not root.is_dir() or not is_tied(gitdir, root)


def take_in_work_tree(writer: Writer, *, deletions: bool) -> list[str]:
    """Commit what stands in the work tree and not in a HEAD that had to go back in time."""
    repository: Repository = writer.repository
    snapshot = repository.snapshot()
    head = {path: node.oid for path, node in snapshot.files()}
    ignored = Ignored(repository.gitdir)
    scope = repository.scope(snapshot)
    found = (path for path, _ in writer.worktree.scan(keeps=scope.keeps if scope else None))
    standing = [path for path in found if path in head or not ignored.fits(path)]
    gone = [path for path in head if path not in set(standing) and not repository.staging.oid(path)]
    taken = []
    for path in [*standing, *(gone if deletions else ())]:
        if writer.worktree.look(path).oid != head.get(path):
            adopted = writer.capture(path)
            taken += [path] if isinstance(adopted, Captured) else []
    return taken
