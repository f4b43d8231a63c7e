"""Check and remove what dead processes left: locks, records of writes, temporary files."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from gitmem.model.hints import Hint, call
from gitmem.model.scope import Scope
from gitmem.store.fsck.findings import CheckFinding, Repaired, info, warning
from gitmem.store.lock import Lock, decode, lock_path, remark_in
from gitmem.store.objects.database import TEMP_PREFIX as OBJECT_PREFIX
from gitmem.store.objects.database import Objects, blob_id
from gitmem.store.refs.move import OURS, is_dead_lock
from gitmem.store.setup import to_quarantine
from gitmem.store.transaction.stale_locks import GRACE, git_works_in, is_open_somewhere
from gitmem.store.worktree.swap import TEMP_PREFIX, path_of, swapped_folder

if TYPE_CHECKING:
    from gitmem.store.transaction.writer import Writer

FRESH = 10.0
"""Seconds in which a lock or temporary file may belong to a running process."""
STALE = 600.0
"""Seconds after which a lock that no process has open belongs to a dead git."""
_LOCKS = ("HEAD.lock", "config.lock", "index.lock", "packed-refs.lock", "shallow.lock")
_TEMPS = ("tmp_object_git2_", "tmp_obj_", "tmp_pack_", "tmp_idx_")


def is_held(gitdir: Path) -> bool:
    """True while a gitmem process holds the group's lock."""
    try:
        fd = os.open(lock_path(gitdir), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def lock_findings(gitdir: Path) -> Iterator[CheckFinding]:
    """Stale locks: those of a dead gitmem process, and old ones of git."""
    for path, age in _locks(gitdir):
        name = str(path.relative_to(gitdir))
        if is_dead_lock(gitdir, path) and path.exists() and not is_held(gitdir):
            yield warning("git-lock", f"{name} was left by a gitmem process that died", path=name)
        elif age > FRESH:
            yield warning(
                "git-lock",
                f"git's lock {name} is {_duration(age)} old",
                path=name,
                hint=f"if no git command is running in the group's folder: `rm {quote(str(path))}`",
            )


def remove_stale_locks(gitdir: Path) -> Iterator[Repaired]:
    """Remove locks of a dead gitmem process; quarantine old ones of git that nobody has open."""
    for path, age in list(_locks(gitdir)):
        name = str(path.relative_to(gitdir))
        if name.startswith(OURS) and age <= GRACE:
            time.sleep(GRACE - age + 0.01)  # a `git pack-refs` may have it, for less than that
        if is_dead_lock(gitdir, path):
            path.unlink(missing_ok=True)
            yield Repaired("git-lock", "removed: the gitmem process that left it is dead", name)
        elif age > STALE and not is_open_somewhere(path) and not git_works_in(gitdir):
            to_quarantine(gitdir, path, path.name)
            yield Repaired("git-lock", "moved to quarantine: no process has it open", name)


def _locks(gitdir: Path) -> Iterator[tuple[Path, float]]:
    """Every lock file of git, with its age in seconds."""
    for path in [*(gitdir / name for name in _LOCKS), *sorted((gitdir / "refs").rglob("*.lock"))]:
        yield from _with_age(path)


def _with_age(path: Path) -> Iterator[tuple[Path, float]]:
    with suppress(OSError):
        yield path, time.time() - path.lstat().st_mtime


def _duration(seconds: float) -> str:
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {name}"
    return f"{seconds:.0f} seconds"


def record_findings(gitdir: Path) -> Iterator[CheckFinding]:
    """The inflight record of a writer that died."""
    try:
        raw = Path(lock_path(gitdir)).read_bytes()
    except OSError:
        return
    record = _read_record(raw)
    if record == "torn":
        text = "the record of an interrupted write is torn"
        yield warning("record-torn", text, path="gitmem/lock")
    elif record:
        yield info(
            "write-unfinished",
            f"a write to {record} was interrupted; the next write completes it",
            path="gitmem/lock",
            hint=Hint("complete it now: ", call("capture")),
        )


def repair_record(gitdir: Path, lock: Lock) -> Iterator[Repaired]:
    """Clear a torn record; a copy of it goes to quarantine."""
    raw = Path(lock_path(gitdir)).read_bytes()
    if _read_record(raw) == "torn":
        copy = gitdir / "gitmem" / "record.torn"
        copy.write_bytes(raw)
        to_quarantine(gitdir, copy, "record")
        lock.clear()
        yield Repaired("record-torn", "moved to quarantine", "gitmem/lock")


def _read_record(raw: bytes) -> str:
    """The paths in an inflight record, `torn`, or an empty string."""
    try:
        record = decode(raw)
    except (ValueError, TypeError):
        return "torn"
    if record is None:
        return "torn" if raw.strip() and not remark_in(raw) else ""
    return ", ".join(item.path for item in record.items) or "nothing"


def leftover_findings(
    gitdir: Path, worktree: Path, scope: Scope | None = None
) -> Iterator[CheckFinding]:
    """Edits that came too late, and temporary files of dead writers."""
    for each in late_edits(gitdir):
        named = path_of(each.name)
        what = f"an edit of {named}" if named else "an edit"
        yield info(
            "late-edit",
            f"{what} was saved after a write had replaced the file; it is kept in {each}",
            path=str(each),
            hint=Hint("commit it: ", call("capture")),
        )
    for path, age in _leftovers(gitdir, worktree, scope):
        if age > FRESH and path.parent != swapped_folder(gitdir):
            yield info(
                "leftover",
                f"{path} was left by an interrupted command",
                path=str(path),
                hint=Hint("remove it: ", call("check", repair=True)),
            )


def late_edits(gitdir: Path) -> list[Path]:
    """Files that a write swapped out of the work tree and whose content is not in git.

    Files whose content is in git were replaced as intended: `maintain` removes them.
    """
    found = [path for path in _swapped_out(gitdir) if not _is_in_git(gitdir, path)]
    # Not those of a writer that has started meanwhile.
    if not found or is_held(gitdir) or any(record_findings(gitdir)):
        return []
    return [path for path in found if path.exists()]


def _swapped_out(gitdir: Path) -> list[Path]:
    return sorted(swapped_folder(gitdir).glob(f"{TEMP_PREFIX}*"))


def _is_in_git(gitdir: Path, path: Path) -> bool:
    """True for a file whose content git has, and for one that is gone."""
    objects = Objects(gitdir)
    try:
        return objects.holds(blob_id(path.read_bytes()))
    except FileNotFoundError:
        return True
    except OSError:
        return False
    finally:
        objects.close()


def remove_leftovers(gitdir: Path, writer: Writer) -> Iterator[Repaired]:
    """Remove temporary files of dead writers; content that is in no commit becomes a held file."""
    root = writer.worktree.root
    writer.repository.staging.clear_dead_lock()
    scope = writer.repository.scope(writer.repository.snapshot())
    found = list(_leftovers(gitdir, root, scope.scope if scope else None))
    writer.sweep()
    for path, age in found:
        text = "removed"
        if path.parent == swapped_folder(gitdir):
            if os.path.lexists(path):
                continue  # somebody still has it open
            text = "removed: its content is in git, or held"
        elif path.name.startswith(TEMP_PREFIX):
            text = _remove_temp(gitdir, writer, path)
        elif not path.name.startswith(OBJECT_PREFIX) and age < STALE:
            continue
        elif path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()
        yield Repaired("leftover", text, str(path))


def _remove_temp(gitdir: Path, writer: Writer, path: Path) -> str:
    from gitmem.store.worktree.held import HeldFolder

    name = path.relative_to(writer.worktree.root).as_posix()
    look = writer.worktree.look(name)
    if look.data is not None and writer.repository.objects.holds(blob_id(look.data)):
        writer.worktree.drop(name)
        return "removed: its content is in git"
    rule = "left by an interrupted write"
    kept = HeldFolder(gitdir).keep(writer.worktree, name, name, rule, writer.clock())
    return Hint(f"held as {kept.id}: see ", call("held show", kept.id))


def _leftovers(
    gitdir: Path, worktree: Path, scope: Scope | None = None
) -> Iterator[tuple[Path, float]]:
    """Temporary files of gitmem and git, with their age in seconds; not in folders out of SCOPE."""
    for path in _temporary(gitdir, worktree, scope):
        yield from _with_age(path)


def _temporary(gitdir: Path, worktree: Path, scope: Scope | None) -> Iterator[Path]:
    objects = gitdir / "objects"
    for folder in (objects, *sorted(objects.glob("??")), objects / "pack"):
        for prefix in _TEMPS:
            yield from sorted(folder.glob(f"{prefix}*"))
    yield from sorted(gitdir.glob("gitmem/index.new"))
    yield from sorted(gitdir.glob(".*.????????"))  # temporary files of `write_durably`
    yield from sorted(gitdir.parent.glob(".draft-*"))
    yield from _swapped_out(gitdir)
    for folder_name, folders, files in os.walk(worktree):
        if scope:
            above = os.path.relpath(folder_name, worktree).removeprefix(".")
            folders[:] = [each for each in folders if scope.reaches(f"{above}/{each}".lstrip("/"))]
        names = (name for name in sorted(files) if name.startswith(TEMP_PREFIX))
        yield from (Path(folder_name, name) for name in names)
