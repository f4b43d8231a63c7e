"""A part of ours in a file of another program: added and removed while all else stays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.errors import Refused
from gitmem.integrations.install.files import FileEdit, digest, read_file, text_of
from gitmem.integrations.install.record import Install, as_replaced, bytes_before


class PartAdded(NamedTuple):
    """The text of a file with our part in it."""

    text: str
    remarks: tuple[str, ...] = ()
    given: Mapping[str, Any] = {}
    """What in it is ours, by the kind of part: recorded, and handed to the next `put`."""


class FilePart(NamedTuple):
    """A part of ours in one file."""

    path: Path
    put: Callable[[str], PartAdded]
    take: Callable[[str, str, str], str]
    """From its text now, the one before gitmem, and the one before `--replace`: without the part"""
    has_old: Callable[[str], bool] = lambda _: False
    """Whether a text has parts of an old memory system."""
    is_whole: bool = False
    """Whether the whole file is ours, and is removed once it is empty."""

    def found_in(self, text: str) -> bool:
        """Whether TEXT has parts of an old memory system; an error names the file."""
        with _naming(self.path):
            return self.has_old(text)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except Refused as error:
        error.message = f"{path}: {error.message}"
        raise


def joined(parts: Iterable[FilePart]) -> Iterator[FilePart]:
    """The parts of each file as one: two edits of one file would conflict.

    They are added in their order, and removed in the reverse.
    """
    files: dict[str, list[FilePart]] = {}
    for part in parts:
        files.setdefault(os.path.realpath(part.path), []).append(part)
    return (each[0] if len(each) == 1 else _one(each) for each in files.values())


def _one(parts: Sequence[FilePart]) -> FilePart:
    def put(text: str) -> PartAdded:
        remarks: list[str] = []
        given: dict[str, Any] = {}
        for part in parts:
            added = part.put(text)
            text = added.text
            remarks += added.remarks
            given |= added.given
        return PartAdded(text, tuple(remarks), given)

    def take(text: str, before: str, replaced: str) -> str:
        for part in reversed(parts):
            text = part.take(text, before, replaced)
        return text

    return FilePart(parts[0].path, put, take, lambda text: any(x.has_old(text) for x in parts))


def put_part(part: FilePart) -> tuple[FileEdit, PartAdded]:
    """The edit that adds a part, and what to report and record about it."""
    before = read_file(part.path)
    with _naming(part.path):
        added = part.put(text_of(part.path, before))
    is_gone = not added.text and (before is None or part.is_whole)
    return FileEdit(part.path, before, None if is_gone else added.text.encode()), added


def take_part(part: FilePart, store: Path, known: Install, *, is_last: bool = True) -> FileEdit:
    """The edit that restores a file: byte for byte if only gitmem changed it, else without the part

    Unless this IS_LAST, another installation has a part in it, which stays.
    """
    path = part.path
    now, record = read_file(path), known.files.get(str(path))
    if now is None:
        return FileEdit(path, None, None)
    before = bytes_before(store, known, path)
    is_new = record is not None and record.before is None
    is_known = before is not None or (is_new and not path.is_symlink())
    if is_last and record and record.exact and digest(now) == record.after and is_known:
        return FileEdit(path, now, before)
    replaced = text_of(path, bytes_before(store, known, as_replaced(path)))
    with _naming(path):
        text = part.take(text_of(path, now), text_of(path, before), replaced)
    is_gone = is_new and text.strip() in ("", "{}") and not path.is_symlink()
    is_gone = is_gone or (part.is_whole and not text)
    return FileEdit(path, now, None if is_gone else text.encode())


def ended_as(text: str, before: str) -> str:
    """TEXT, at the end of which our part was, with the line ends that it had BEFORE gitmem."""
    bare, old = text.rstrip("\r\n"), before.rstrip("\r\n")
    is_same = bare.rpartition("\n")[2] == old.rpartition("\n")[2]
    return bare + before[len(old) :] if before and is_same else text
