"""Queries on a derived SQLite file that is updated first, and rebuilt when it is damaged.

A query names the state of the store that it needs, and how to update the file to it. If another
process is updating the file, if the state is in the past, or if the disk is full, the query runs on
a copy in memory: it never waits long and never fails. A file that is damaged, or of another schema,
is rebuilt.

Readers and one writer work at the same time (WAL). Only discarding the files needs an exclusive
lock: SQLite would apply a log that is left beside a new file to it.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from gitmem.model.record import Record

Answer = TypeVar("Answer")
Value = TypeVar("Value")
Connection = sqlite3.Connection

PATIENCE = 0.25
"""Seconds to wait for another process that updates the file."""
FILLED = 32 * 1024
"""The page cache for filling a new file, in kilobytes: its pages change many times."""
BESIDE = ("-wal", "-shm", "-journal")
MANY = 500
"""Rows in one statement; old SQLite libraries take 999 values."""


class Schema(Record):
    """The tables of a file."""

    number: int
    """Incremented when the tables, or the rules for filling them, change."""
    tables: str
    """The SQL statements that create them."""


class Query(Record):
    """The state that a query needs; each function takes an open connection."""

    is_current: Callable[[Connection], bool]
    update: Callable[[Connection], None]
    keep: bool = True
    """False for a state in the past: the file is not changed."""


class CacheBroken(Exception):
    """Raised by an update: the file has rows that must go, and is rebuilt."""


_TORN = (TypeError, ValueError, LookupError)
"""Errors of code that misses rows in a damaged table. A bug of ours raises them again on the copy
in memory, where they are not caught."""


class _Locked(Exception):
    """Another process is writing the file."""


class _Unusable(Exception):
    """The file cannot be opened or created."""


def run_query(
    path: Path | None, schema: Schema, query: Query, answer: Callable[[Connection], Answer]
) -> Answer:
    """Return ANSWER(connection) at the state of QUERY; without PATH in memory only."""
    for attempt in range(2):
        if path is None:
            break
        try:
            with _opened(path, schema) as connection:
                return _answered(connection, query, answer)
        except (*_TORN, sqlite3.Error, _Unusable, CacheBroken) as error:
            if attempt or not (_is_busy(error) or discard(path)):
                break
    with _in_memory(schema) as connection:
        query.update(connection)
        return answer(connection)


def _answered(
    connection: Connection, query: Query, answer: Callable[[Connection], Answer]
) -> Answer:
    with _transaction(connection, "DEFERRED"):
        if query.is_current(connection):
            return answer(connection)
    if query.keep:
        with suppress(_Locked), _transaction(connection, "IMMEDIATE"):
            if not query.is_current(connection):
                query.update(connection)
            return answer(connection)
    with _copied(connection) as copy:
        if not query.is_current(copy):
            query.update(copy)
        return answer(copy)


@contextmanager
def _transaction(connection: Connection, kind: str) -> Iterator[None]:
    try:
        connection.execute(f"BEGIN {kind}")
    except sqlite3.OperationalError as error:
        if kind == "IMMEDIATE" and _is_busy(error):
            raise _Locked from error
        raise
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    with suppress(sqlite3.OperationalError):  # on a full disk the answer is still valid
        connection.execute("COMMIT")


def _is_busy(error: Exception) -> bool:
    is_ours = isinstance(error, sqlite3.OperationalError)
    return is_ours and ("locked" in str(error) or "busy" in str(error))


@contextmanager
def _opened(path: Path, schema: Schema) -> Iterator[Connection]:
    """The file with its tables, protected from `discard` while it is open."""
    with _guard(path, fcntl.LOCK_SH), _connected(path) as connection:
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found != schema.number:
            if found:
                raise _Unusable
            _prepare(connection, schema)
        yield connection


@contextmanager
def _connected(path: Path) -> Iterator[Connection]:
    _create(path)
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        # Consistent after a crash; what a power cut loses is derived again.
        connection.execute("PRAGMA synchronous=NORMAL")
        yield connection
    finally:
        connection.close()


def _create(path: Path) -> None:
    """Create the file for this user only; SQLite gives the files beside it the same mode.

    An existing file is not opened: closing it would release the locks of another thread.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError as error:
        if path.is_symlink():
            raise _Unusable from error
    except OSError as error:
        raise _Unusable from error


def _prepare(connection: Connection, schema: Schema) -> None:
    """Create the tables, unless another process is doing so."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA cache_size=-{FILLED}")
    try:
        with _transaction(connection, "IMMEDIATE"):
            if not connection.execute("PRAGMA user_version").fetchone()[0]:
                _make(connection, schema)
    except _Locked as error:
        raise sqlite3.OperationalError("locked") from error


def _make(connection: Connection, schema: Schema) -> None:
    for statement in filter(str.strip, schema.tables.split(";")):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version={schema.number}")


@contextmanager
def _in_memory(schema: Schema) -> Iterator[Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        _make(connection, schema)
        yield connection
    finally:
        connection.close()


@contextmanager
def _copied(connection: Connection) -> Iterator[Connection]:
    copy = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.backup(copy)
        yield copy
    finally:
        copy.close()


@contextmanager
def _guard(path: Path, kind: int) -> Iterator[None]:
    try:
        fd = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _Unusable from error
    try:
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except OSError as error:
            raise _Unusable from error
        yield
    finally:
        os.close(fd)


def discard(path: Path) -> bool:
    """Remove the files; False if another process has them open, or removal failed."""
    try:
        with _guard(path, fcntl.LOCK_EX):
            for each in [f"{path}{end}" for end in (*BESIDE, "")]:
                with suppress(FileNotFoundError):
                    os.unlink(each)
    except (OSError, _Unusable):
        return False
    return True


def verify(path: Path, schema: Schema) -> None:
    """Check the file with SQLite, and discard it if it is damaged.

    Queries notice most damage, but not a page with a part zeroed.
    """
    if not path.exists():
        return
    try:
        with _opened(path, schema) as connection:
            sound = connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]
            connection.execute("INSERT INTO words(words) VALUES ('integrity-check')")
    except _Unusable:
        return  # another process discards it, or it has another schema: the next query rebuilds it
    except sqlite3.Error as error:
        sound = _is_busy(error)
    if not sound:
        discard(path)


def chunks(values: Sequence[Value]) -> Iterator[tuple[Sequence[Value], str]]:
    """Yield VALUES in chunks for one statement, each with its placeholders."""
    for at in range(0, len(values), MANY):
        part = values[at : at + MANY]
        yield part, ", ".join("?" * len(part))
