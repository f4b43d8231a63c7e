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


def _rename(folder: int, source: str, target: str, which: int) -> bool:
    """Do it in one call; False where the system cannot, OSError where it would not."""
    found = _system_call()
    if found is None:
        return False
    call, get_errno, flags = found
    if call(folder, os.fsencode(source), folder, os.fsencode(target), flags[which]) == 0:
        return True
    number = get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), target)


def rename_onto_nothing(folder: int, source: str, target: str) -> None:
    """Rename within FOLDER; FileExistsError when TARGET is taken."""
    if _rename(folder, source, target, 0):
        return
    if _exists(folder, target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(source, target, src_dir_fd=folder, dst_dir_fd=folder)


def swap(folder: int, source: str, target: str) -> None:
    """Exchange two names within FOLDER; FileNotFoundError when TARGET is not there."""
    if _rename(folder, source, target, 1):
        return
    aside = f"{source}~"
    os.rename(target, aside, src_dir_fd=folder, dst_dir_fd=folder)
    os.rename(source, target, src_dir_fd=folder, dst_dir_fd=folder)
    os.rename(aside, source, src_dir_fd=folder, dst_dir_fd=folder)


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
