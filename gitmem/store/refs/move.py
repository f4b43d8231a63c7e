"""The one way to move a ref: under the group's lock, compared, and never blocked by a stale lock.

By hand instead of pygit2's `create_reference`: with `force` it compares nothing (8 unlocked writers
lost 116 of 158 acknowledged commits), and it fails for ever on the lock of a killed writer (8 % of
kills leave one). `Reference.set_target` compares, but importing pygit2 costs 12 times a bare Python
(0.18 s of CPU), which every write would pay.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Busy, Conflict, Damaged
from gitmem.model.hints import Hint, call
from gitmem.store import fault_points
from gitmem.store.durable import make_folders, sync_folder
from gitmem.store.objects.commits import COMMITTER, EMAIL
from gitmem.store.refs.files import all_refs
from gitmem.store.repository import BRANCH, Repository
from gitmem.store.transaction.stale_locks import (
    GRACE,
    git_works_in,
    is_abandoned,
    is_open_somewhere,
)

PATIENCE = 1.0
"""Seconds to wait for a git that moves the same ref."""
OURS = "refs/gitmem/"
"""Only gitmem writes here, under the group's lock: whoever holds that and finds a lock of such a
ref, and no git at work, knows that its writer is dead."""
PACKED = "packed-refs"
LOG = "gitmem/log.new"
"""The log of a ref that begins, for the moment it takes to put it in place."""
_NOBODY = "0" * 40
_MARK = b"gitmem deletes a ref\n"
"""In our lock of the packed refs, so that it can be told from that of a living git."""
_LINKLESS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""How a file system without hard links answers, exFAT for instance."""
_DIGITS = frozenset("0123456789abcdef")


class Move(NamedTuple):
    """How a ref goes on."""

    old: str | None
    """Where it has to be; None: nowhere yet."""
    new: str
    message: str
    """For its log; without one there is none, as git has it for tags."""
    when: int
    """In seconds."""
    anew: bool = False
    """Its log forgets where it was before."""


def ref_tip(gitdir: Path, name: str) -> str | None:
    """Where a ref is that has a log; None for one that never was, Damaged where nobody can tell.

    Where its file is lost, git falls back to what it packed some time ago, without a word, or takes
    the ref for one that never was. The log remembers.
    """
    try:
        with open(gitdir / name, "rb") as file:
            found = file.read(64).strip().decode("ascii", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return _remembered(gitdir, name)
    except OSError as error:
        raise _unreadable(name) from error
    if not _is_id(found):
        raise _unreadable(name)
    return found


def _remembered(gitdir: Path, name: str) -> str | None:
    from gitmem.store.refs.files import (  # only where there is no file
        packed_refs,
        read_log,
    )

    packed = packed_refs(gitdir)[0].get(name)
    lines = read_log(gitdir, name).lines
    return lines[-1].new if lines and lines[-1].new != _NOBODY else packed


def _is_id(text: str) -> bool:
    return len(text) == len(_NOBODY) and _DIGITS.issuperset(text)


def _unreadable(name: str) -> Damaged:
    return Damaged(
        f"{name} cannot be read", hint=Hint("run ", call("check", repair=True)), ref=name
    )


class RefMoved(Conflict):
    """Somebody else has moved a ref since it was read."""

    code = "ref-moved"


def move_ref(
    gitdir: Path,
    name: str,
    move: Move,
    *,
    wait: float = PATIENCE,
    now: Callable[[], str | None] | None = None,
) -> None:
    """Move a ref by git's own protocol: its lock, its log, then the rename.

    It has to be where MOVE begins, by NOW or by its own file and log; else RefMoved. A git that
    holds its lock is given WAIT seconds. Nothing fails behind the rename: what is moved is moved.
    Needs the group's lock.
    """
    ours, lock, path = _ours(gitdir, name), gitdir / f"{name}.lock", gitdir / name
    clear_dead_lock(gitdir, name)
    make_folders(path.parent)
    make_folders(ours.parent)
    try:
        _write(ours, f"{move.new}\n".encode())
        _take(gitdir, name, wait)
        if (now() if now else ref_tip(gitdir, name)) != move.old:
            raise RefMoved(
                f"somebody else has moved {name} at this moment, so nothing was written",
                hint="repeat",
                ref=name,
            )
        fault_points.reached("held")
        with ExitStack() as logs:
            for each in _logs_of(name) if move.message else ():
                logs.enter_context(_logged(gitdir, each, move))
            fault_points.reached("logged")
            os.rename(lock, path)
    except BaseException:
        clear_dead_lock(gitdir, name)  # ours alone: nobody else may be kept out by it
        raise
    with suppress(OSError):
        sync_folder(path.parent)
    with suppress(OSError):
        ours.unlink()


def _logs_of(name: str) -> tuple[str, ...]:
    """git keeps two for the branch, since HEAD is on it."""
    return (name, "HEAD") if name == BRANCH else (name,)


def clear_dead_lock(gitdir: Path, name: str) -> bool:
    """After a crash or a failure: remove the lock of a ref if one of us made it; tell whether.

    It is a hard link to a file of our own, or a copy where the disk has no links; or a link to the
    ref itself, where libgit2 made the ref and could not unlink the lock, which git never does.
    """
    ours, lock = _ours(gitdir, name), gitdir / f"{name}.lock"
    dead = _is_same(lock, ours) or _is_copy(lock, ours) or _is_same(lock, gitdir / name)
    if dead:
        lock.unlink(missing_ok=True)
    ours.unlink(missing_ok=True)
    return dead


def delete_ref(gitdir: Path, name: str) -> None:
    """Let a ref be no more, also where `git pack-refs` has put it. Needs the group's lock.

    As git does it, the lock of the packed refs is held until the file of the ref is gone: else
    somebody who packs refs meanwhile would bring it back. libgit2 is not asked to: its lock could
    not be told from that of a living git after a crash.
    """
    clear_dead_lock(gitdir, PACKED)
    _write(_ours(gitdir, PACKED), _MARK)
    try:
        _take(gitdir, PACKED, PATIENCE)
        fault_points.reached("held")
        _unpack(gitdir, name)
        clear_dead_lock(gitdir, name)
        for path in (gitdir / "logs" / name, gitdir / name):
            path.unlink(missing_ok=True)
        with suppress(FileNotFoundError):  # git removes a folder in which no ref is left
            sync_folder((gitdir / name).parent)
    finally:
        clear_dead_lock(gitdir, PACKED)


def _unpack(gitdir: Path, name: str) -> None:
    """Take the lines of a ref out of `packed-refs`, and leave all others as they are."""
    path = gitdir / PACKED
    kept: list[bytes] = []
    ours = False
    for row in path.read_bytes().splitlines(keepends=True) if path.exists() else ():
        ours = ours if row.startswith(b"^") else row.rstrip(b"\n").endswith(f" {name}".encode())
        kept += [] if ours else [row]
    if path.exists() and len(b"".join(kept)) < path.stat().st_size:
        put_durably(path, b"".join(kept), gitdir / "gitmem" / f"{PACKED}.new")


def is_dead_lock(gitdir: Path, lock: Path) -> bool:
    """True for a lock that one of us left when it died; nobody may hold the group's lock.

    It is a hard link to a file of ours, or below our own refs. Earlier releases let libgit2 write
    the packed refs, and that writes into the lock itself, which git does not.
    """
    name = lock.relative_to(gitdir).as_posix().removesuffix(".lock")
    ours = (_ours(gitdir, name), gitdir / name, gitdir / "gitmem" / f"{name}.new")
    if any(_is_same(lock, each) for each in ours):
        return True
    if name == PACKED:
        with suppress(OSError):
            begins = lock.read_bytes().startswith(b"# pack-refs")
            return begins and not (git_works_in(gitdir) or is_open_somewhere(lock))
    return name.startswith(OURS) and is_abandoned(gitdir, lock)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other))
    except OSError:
        return False


def _is_copy(lock: Path, ours: Path) -> bool:
    """Whether the lock holds what ours does: git moves no ref to a commit that we just wrote."""
    try:
        content = ours.read_bytes()
        return bool(content) and lock.read_bytes() == content
    except OSError:
        return False


def _ours(gitdir: Path, name: str) -> Path:
    """The file to which the lock is a hard link: so it can be told from that of a living git."""
    return gitdir / "gitmem" / f"ref-{name.removeprefix(OURS).replace('/', '-')}.new"


def put_durably(path: Path, data: bytes, temp: Path) -> None:
    """Replace a small file by way of TEMP, always the same: so a crash leaves one at most."""
    temp.unlink(missing_ok=True)
    _write(temp, data)
    os.rename(temp, path)
    sync_folder(path.parent)


def _write(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(fd)


def _take(gitdir: Path, name: str, wait: float) -> None:
    ours, lock = _ours(gitdir, name), gitdir / f"{name}.lock"
    deadline = time.monotonic() + wait
    while True:
        try:
            _link(ours, lock)
            return
        except FileExistsError as error:
            if name.startswith(OURS) and is_abandoned(gitdir, lock):
                lock.unlink(missing_ok=True)
            elif time.monotonic() >= deadline:
                raise _held(lock, "nothing was written") from error
            time.sleep(0.005)


def _link(ours: Path, lock: Path) -> None:
    try:
        os.link(ours, lock)
    except OSError as error:
        if error.errno not in _LINKLESS:
            raise
        _write(lock, ours.read_bytes())


@contextmanager
def _logged(gitdir: Path, name: str, move: Move) -> Iterator[None]:
    """Say where the ref goes, durably, before it does in the block; if it fails to, unsay it."""
    path = gitdir / "logs" / name
    make_folders(path.parent)
    old = _NOBODY if move.anew or not move.old else move.old
    line = f"{old} {move.new} {COMMITTER} {move.when} +0000\t{move.message}\n".encode()
    size = path.stat().st_size if path.exists() else 0
    try:
        if move.anew or not size:
            put_durably(path, line, gitdir / LOG)
        else:
            _append(path, line)
        yield
    except BaseException:
        if not move.anew:
            with suppress(OSError):
                _cut_back(path, size, line)
        raise


def _cut_back(path: Path, size: int, line: bytes) -> None:
    """Take LINE, or the part of it that was written, off a log that had SIZE before.

    Not where git has written behind it meanwhile: then it stays as a move that never was.
    """
    with open(path, "rb") as log:
        log.seek(size)
        added = log.read()
    if line.startswith(added.removeprefix(b"\n")):
        os.truncate(path, size)


def _append(path: Path, line: bytes) -> None:
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    with open(fd, "r+b", buffering=0) as file:
        end = os.fstat(fd).st_size - 1
        whole = line if os.pread(fd, 1, end) == b"\n" else b"\n" + line
        while whole:  # a disk may be full in the middle of it
            whole = whole[file.write(whole) :]
        os.fsync(fd)


def _held(lock: Path, but: str) -> Busy:
    return Busy(
        f"git holds {lock.name}, so {but}",
        hint=Hint(
            "repeat; if no git command is running, ", call("check", repair=True), " removes it"
        ),
        lock=str(lock),
    )


def name_object(repository: Repository, name: str, old: str | None, new: str, what: str) -> None:
    """Let the ref NAME, which has no log, go from OLD to NEW. WHAT says in an error what that is.

    The lock of a writer that died goes first.
    """
    lock = repository.gitdir / f"{name}.lock"
    if _is_dead(repository, lock):
        lock.unlink(missing_ok=True)
    try:
        _check_free(repository, name)
        move_ref(repository.gitdir, name, Move(old, new, "", 0))
    except Busy as error:
        raise _held(lock, f"{what} was not made") from error
    except (Conflict, OSError) as error:
        if getattr(error, "errno", None) == errno.ENOSPC:
            raise  # that is the disk, and nobody else
        raise Conflict(
            f"{what} could not be made: {error}", hint=Hint("see ", call("check"))
        ) from error


def _check_free(repository: Repository, name: str) -> None:
    """A name that is packed is no folder on the disk, and still no other may lie below it."""
    for other in all_refs(repository.gitdir):
        if other.startswith(f"{name}/") or name.startswith(f"{other}/"):
            raise Conflict(f"there is a ref {other}", ref=other)


def _is_dead(repository: Repository, lock: Path) -> bool:
    """True for a lock that one of us left when it died: we hold the group's, so nobody lives."""
    try:
        content = lock.read_bytes().strip(b"\0\n").decode("ascii", "replace")
        age = time.time() - lock.stat().st_mtime
    except OSError:
        return False
    if not content:
        return age > GRACE
    with suppress(Damaged, OSError, ValueError):
        if not repository.objects.holds(content):
            return False  # its writer died before the object had its name
        kind, data = repository.objects.read(content)
        head = data.partition(b"\n\n")[0]
        return kind == "tag" and f"<{EMAIL}> ".encode() in head
    return False
