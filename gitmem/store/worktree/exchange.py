"""Two renames that POSIX lacks: swap two names, and rename only onto nothing.

Both are one system call on Linux (`renameat2`) and macOS (`renameatx_np`). Elsewhere, and on file
systems that refuse them, they fall back to steps with a short window; docs/concurrency.md says so.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}
_LINUX = (1, 2)  # RENAME_NOREPLACE, RENAME_EXCHANGE
_MACOS = (4, 2)  # RENAME_EXCL, RENAME_SWAP


@cache
def _system_call() -> tuple[Callable[..., int], Callable[[], int], tuple[int, int]] | None:
    """The system's call, its errno and its two flags; None where there is none."""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    name, flags = ("renameatx_np", _MACOS) if sys.platform == "darwin" else ("renameat2", _LINUX)
    call = getattr(library, name, None)
    if call is None:
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return call, ctypes.get_errno, flags


class Location(NamedTuple):
    """A name in an open folder."""

    folder: int
    name: str


def _rename(source: Location, target: Location, which: int) -> bool:
    """Do it in one call; False where the system cannot, OSError where it would not."""
    found = _system_call()
    if found is None:
        return False
    call, get_errno, flags = found
    names = os.fsencode(source.name), os.fsencode(target.name)
    if call(source.folder, names[0], target.folder, names[1], flags[which]) == 0:
        return True
    number = get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), target.name)


def rename_onto_nothing(source: Location, target: Location) -> None:
    """Rename SOURCE; FileExistsError when TARGET is taken."""
    if _rename(source, target, 0):
        return
    if is_taken(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target.name)
    _rename_over(source, target)


def swap(source: Location, target: Location) -> None:
    """Exchange two names; FileNotFoundError when TARGET is not there."""
    if _rename(source, target, 1):
        return
    aside = source._replace(name=f"{source.name}~")
    _rename_over(target, aside)
    _rename_over(source, target)
    _rename_over(aside, source)


def _rename_over(source: Location, target: Location) -> None:
    os.rename(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder)


def is_taken(target: Location) -> bool:
    """True when something stands there."""
    try:
        os.stat(target.name, dir_fd=target.folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
