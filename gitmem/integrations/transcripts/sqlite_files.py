"""SQLite databases of other programs, read without leaving a byte beside them.

A reader of a database in WAL mode makes its shared memory anew where that is missing, and removes
the log of a program that died. So which way in is taken depends on what lies there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from gitmem.errors import BadInput
from gitmem.integrations.transcripts.readers import opened

if TYPE_CHECKING:
    import sqlite3

_MAGIC = b"SQLite format 3\0"
_VERSIONS = 20
_WAL = 2
_PATIENCE = 1.0
"""Seconds to wait for a program that locks its database."""


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that can only read; raises BadInput where it cannot, now or while it is used."""
    import sqlite3

    with opened(path) as file:
        head = file.read(_VERSIONS)
    if not head.startswith(_MAGIC):
        raise BadInput(f"{path} is not a SQLite database", hint="give the path of the database")
    try:
        with _way_in(path, _WAL in head[-2:]) as way, closing(_connected(way)) as connection:
            yield connection
    except sqlite3.Error as error:
        hint = "try again when the program that owns it is idle, or with a copy of it"
        raise BadInput(f"{path} cannot be read: {error}", hint=hint) from error


def _connected(uri: str) -> sqlite3.Connection:
    import sqlite3

    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_PATIENCE)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


@contextmanager
def _way_in(path: Path, wal: bool) -> Iterator[str]:
    """The address by which SQLite opens a database and writes nothing."""
    log, shared = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
    if not wal:
        yield _address(path, "mode=ro")
    elif log.exists() and shared.exists():  # a program may run, though its log is empty just now
        yield _address(path, "mode=ro&readonly_shm=1")
    elif not log.exists() or log.stat().st_size == 0:
        yield _address(path, "mode=ro&immutable=1")
    else:
        with _copied(path, log) as copy:
            yield _address(copy, "mode=rw")


def _address(path: Path, how: str) -> str:
    return f"file:{quote(str(path.absolute()))}?{how}"


@contextmanager
def _copied(path: Path, log: Path) -> Iterator[Path]:
    """A copy of a database and its log, for as long as it is read."""
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="gitmem-") as folder:
        copy = Path(folder) / "copy.db"
        shutil.copyfile(path, copy)
        shutil.copyfile(log, f"{copy}-wal")
        yield copy
