"""Atomic writes of derived files; a failed write is ignored."""

from __future__ import annotations

import os
from contextlib import suppress
from os import PathLike


def put(path: str | PathLike[str], data: bytes) -> None:
    """Replace the file atomically, so that other processes may read and replace it meanwhile.

    An error of the disk is ignored: the file is derived.
    """
    temp = f"{os.fspath(path)}.{os.getpid()}.{os.urandom(4).hex()}"
    with suppress(OSError):
        try:
            with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            os.replace(temp, path)
        except OSError:
            os.unlink(temp)
            raise
