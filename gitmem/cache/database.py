"""A derived SQLite file: asked at one state of the truth, brought there first, never trusted.

Whoever asks says at which state the answer has to be, and how a file is brought there from
wherever it is. If another process is at it just now, if the state is one of the past, or if the
disk takes nothing, the same is done on a copy in memory: nobody waits long, and nobody fails.
A file that is torn or of another form is begun anew.

Readers and one writer work at the same time (WAL). Only to throw the files away one must be alone:
a log left beside a new file would be played into it.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

Answer = TypeVar("Answer")
Value = TypeVar("Value")
Connection = sqlite3.Connection

PATIENCE = 0.25
"""Seconds to wait for another process that brings the file up to date."""
FILLED = 32 * 1024
"""Kilobytes of a new file that stay in memory while it is filled: its pages change many times."""
BESIDE = ("-wal", "-shm", "-journal")
MANY = 500
"""Rows that are handed over, or asked for, in one go: old libraries take 999 values."""


class Schema(NamedTuple):
    """What such a file has in it."""

    number: int
    """Counted up when the tables, or the rules by which they are filled, change."""
    tables: str
    """The statements that make them."""


class Query(NamedTuple):
    """At which state something is asked, and how to get there; each takes an open connection."""

    is_current: Callable[[Connection], bool]
    update: Callable[[Connection], None]
    keep: bool = True
    """False for a state of the past: the file stays where it is."""


class CacheBroken(Exception):
    """Raised in bringing: the file holds what it must not hold any more, and is begun anew."""


_TORN = (TypeError, ValueError, LookupError)
"""What code raises that finds a table without what must be in it. A mistake of ours raises it again
on a copy in memory, and there nobody catches it."""


class _Locked(Exception):
    """Somebody else is writing the file."""


class _Unusable(Exception):
    """The file cannot be read, or cannot be made."""


def run_query(
    path: Path | None, form: Schema, query: Query, answer: Callable[[Connection], Answer]
) -> Answer:
    """What ANSWER finds at the state that QUERY names; without a PATH nothing is kept."""
    for attempt in range(2):
        if path is None:
            break
        try:
            with _opened(path, form) as connection:
                return _answered(connection, query, answer)
        except (*_TORN, sqlite3.Error, _Unusable, CacheBroken) as error:
            if attempt or not (_is_busy(error) or discard(path)):
                break
    with _in_memory(form) as connection:
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
    with suppress(sqlite3.OperationalError):  # a full disk: the answer stands all the same
        connection.execute("COMMIT")


def _is_busy(error: Exception) -> bool:
    is_ours = isinstance(error, sqlite3.OperationalError)
    return is_ours and ("locked" in str(error) or "busy" in str(error))


@contextmanager
def _opened(path: Path, form: Schema) -> Iterator[Connection]:
    """The file with its tables; nobody throws it away as long as it is open."""
    with _guard(path, fcntl.LOCK_SH), _connected(path) as connection:
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found != form.number:
            if found:
                raise _Unusable
            _prepare(connection, form)
        yield connection


@contextmanager
def _connected(path: Path) -> Iterator[Connection]:
    _create(path)
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        # Whole after a crash, and what a power cut takes of it is found again.
        connection.execute("PRAGMA synchronous=NORMAL")
        yield connection
    finally:
        connection.close()


def _create(path: Path) -> None:
    """Make the file, so that nobody else may read it; SQLite gives its others the same mode.

    One that is there is not opened: to close it would end the locks of another thread on it.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError as error:
        if path.is_symlink():
            raise _Unusable from error
    except OSError as error:
        raise _Unusable from error


def _prepare(connection: Connection, form: Schema) -> None:
    """Make the tables, unless another process does so at this moment."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA cache_size=-{FILLED}")
    try:
        with _transaction(connection, "IMMEDIATE"):
            if not connection.execute("PRAGMA user_version").fetchone()[0]:
                _make(connection, form)
    except _Locked as error:
        raise sqlite3.OperationalError("locked") from error


def _make(connection: Connection, form: Schema) -> None:
    for statement in filter(str.strip, form.tables.split(";")):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version={form.number}")


@contextmanager
def _in_memory(form: Schema) -> Iterator[Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        _make(connection, form)
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
    """Remove the files; False when somebody else has them open, or they cannot be removed."""
    try:
        with _guard(path, fcntl.LOCK_EX):
            for each in [f"{path}{end}" for end in (*BESIDE, "")]:
                with suppress(FileNotFoundError):
                    os.unlink(each)
    except (OSError, _Unusable):
        return False
    return True


def verify(path: Path, form: Schema) -> None:
    """Compare every table with itself, and throw the file away if something in it changed.

    To ask notices most damage, but not a page of which a part became zeros.
    """
    if not path.exists():
        return
    try:
        with _opened(path, form) as connection:
            sound = connection.execute("PRAGMA quick_check").fetchall() == [("ok",)]
            connection.execute("INSERT INTO words(words) VALUES ('integrity-check')")
    except _Unusable:
        return  # somebody throws it away, or it is of another form: who asks next begins anew
    except sqlite3.Error as error:
        sound = _is_busy(error)
    if not sound:
        discard(path)


def chunks(values: Sequence[Value]) -> Iterator[tuple[Sequence[Value], str]]:
    """VALUES in parts that one statement can take, each with so many query marks."""
    for at in range(0, len(values), MANY):
        part = values[at : at + MANY]
        yield part, ", ".join("?" * len(part))
