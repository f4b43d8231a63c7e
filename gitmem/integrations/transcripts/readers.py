"""What the readers of all hosts share: reading growing files, and making messages of lines.

A host writes one JSON object per line and may write while we read. Its format is its own and
changes, so nothing in a line is trusted: a useless line is skipped with a reason, and the reasons
are counted.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from gitmem.errors import BadInput, NotFound
from gitmem.memory.transcripts.add import NewMessage
from gitmem.memory.transcripts.import_file import ParsedLine
from gitmem.model.commit_messages import visible
from gitmem.model.transcripts.batches import redacted

if TYPE_CHECKING:
    from gitmem.integrations.hosts.table import Host

LONGEST = 6 * 1024 * 1024
"""Bytes of a line; a longer one is not parsed.

A prompt with a picture fits. As text a line may take four times as much, and its parts again.
"""
TOO_LONG = b""
"""Stands for such a line: no other is empty."""
_BLOCK = 64 * 1024
_HALVES = "[\ud800-\udfff]"
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_HINT = "give the path of a transcript: a .jsonl file or a database"


NO_TEXT = ParsedLine(skipped="no text")
"""Tools, thoughts, images, and messages without text."""
NOT_CONVERSATION = ParsedLine(skipped="not conversation")
"""Notes of the host, texts it writes in its user's name, and side conversations."""
OVERLONG = ParsedLine(skipped="too long")
"""A line that is not parsed."""
UNREADABLE = ParsedLine(skipped="unreadable")
"""Not a JSON object, or one without required fields."""

_KIND = 40
"""Characters of an unknown kind that are reported."""

ReadLine = Callable[[bytes, str], ParsedLine]
"""Parses a line: its bytes, and the chat of its file."""


def read_lines(path: Path, offset: int, *, longest: int = LONGEST) -> Iterator[tuple[bytes, int]]:
    """The lines of a file from OFFSET on, each with the offset after it; TOO_LONG for long ones.

    They come stripped, without blank ones. An unterminated last line counts only if it is a
    complete JSON object: anything else is still being written.
    """
    for head, is_whole, behind in _lines(path, offset, longest):
        if is_whole is None:
            return
        line = head.strip() if is_whole else TOO_LONG
        if line or not is_whole:
            yield line, behind


def read_heads(path: Path, *, longest: int = LONGEST) -> Iterator[tuple[bytes, bool | None]]:
    """The lines of a file, and whether each is complete; of a long one only the head.

    None for a line that is still being written.
    """
    return ((head, is_whole) for head, is_whole, _ in _lines(path, 0, longest))


def _lines(path: Path, offset: int, longest: int) -> Iterator[tuple[bytes, bool | None, int]]:
    """The heads of lines, whether each is the whole line, and the offset after the line.

    None for a line that is still being written.
    """
    with opened(path) as file:
        file.seek(offset)
        while head := file.readline(longest + 1):
            is_whole = len(head) <= longest or head.endswith(b"\n")
            end = head if is_whole else _end_of_line(file)
            is_ended = end.endswith(b"\n") or row_of(end) is not None
            yield head, is_whole if is_ended else None, file.tell()


def opened(path: Path) -> BinaryIO:
    """A regular file, opened; NotFound or BadInput otherwise."""
    try:
        fd = os.open(path, _FLAGS)
    except FileNotFoundError as error:
        raise NotFound(f"no file {path}", hint=_HINT, path=str(path)) from error
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        why = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"reading {path} failed: {why}", hint=_HINT, path=str(path)) from error
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return os.fdopen(fd, "rb")
    os.close(fd)
    raise BadInput(f"{path} is not a regular file", hint=_HINT, path=str(path))


def _end_of_line(file: BinaryIO) -> bytes:
    """The last piece of a line that is too long; empty where the file ends first."""
    while (piece := file.readline(_BLOCK)) and not piece.endswith(b"\n"):
        pass
    return piece


def row_of(raw: bytes) -> dict[str, object] | None:
    """The JSON object in a line; None for any other line.

    An invalid byte becomes a replacement character: it costs a letter, not the message.
    """
    try:
        row = json.loads(raw.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def unknown(kind: str) -> ParsedLine:
    """A line of an unknown KIND."""
    named = visible(redacted(kind)[0])[:_KIND]
    return ParsedLine(skipped=f"unknown: {named}" if named else "unknown")


def texts_in(content: object, kinds: tuple[str, ...]) -> list[str] | None:
    """The texts of a message, which is a text or a list of blocks; None where it is neither.

    Only blocks of KINDS count. If none of these has a text, that is None as well: a changed format
    must not look like silence.
    """
    if isinstance(content, str):
        content = [{"type": kinds[0], "text": content}]
    if not isinstance(content, list):
        return None
    blocks = [each for each in content if isinstance(each, dict) and each.get("type") in kinds]
    texts = [each["text"] for each in blocks if isinstance(each.get("text"), str)]
    return [each for each in texts if each.strip()] if texts or not blocks else None


def without(texts: list[str], beginnings: tuple[str, ...]) -> list[str]:
    """TEXTS without those that a host writes in its user's name, by their BEGINNINGS."""
    return [each for each in texts if each.strip() and not each.lstrip().startswith(beginnings)]


def parsed(id: object, chat: str, sender: str, at: object, texts: list[str]) -> ParsedLine:
    """A message of TEXTS, separated by blank lines; UNREADABLE without an id or a time."""
    moment = moment_of(at)
    if not isinstance(id, str) or not id or moment is None:
        return UNREADABLE
    text = "\n\n".join(texts)
    return ParsedLine(NewMessage(_sound(chat), sender, _sound(text), moment, _sound(id)))


def moment_of(value: object) -> datetime | None:
    """The time in VALUE, in UTC, which is also its zone where it names none."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # not a time, or before year 1 in UTC
        return None


def _sound(text: str) -> str:
    """TEXT without lone surrogates, which JSON can hold and UTF-8 cannot."""
    return re.sub(_HALVES, "\ufffd", text)


def home_in(environ: Mapping[str, str]) -> Path:
    """The home folder of the person."""
    return Path(environ.get("HOME") or os.path.expanduser("~"))


def home_of(host: Host, environ: Mapping[str, str]) -> Path:
    """The folder in which HOST keeps its files."""
    from gitmem.integrations.host_memory.folders import home_of as named

    return Path(named(host, environ))


def first_row(path: Path, kind: str, part: str) -> Mapping[str, object]:
    """PART of the first line of a transcript if that is of KIND; else empty."""
    with suppress(BadInput, NotFound):  # removed or unreadable by now
        first, _ = next(read_lines(path, 0), (b"", 0))
        row = row_of(first) or {}
        found = row.get(part) if row.get("type") == kind else None
        return found if isinstance(found, dict) else {}
    return {}


def folder_named(named: object) -> str:
    """The canonical path of the folder in a transcript; empty where it names none."""
    with suppress(ValueError):  # not a valid path
        return real_name(named) if isinstance(named, str) and os.path.isabs(named) else ""
    return ""


def started_in(
    files: Iterable[Path], folder_of: Callable[[Path], str], project: Path
) -> Iterator[Path]:
    """The FILES whose session started in the folder PROJECT."""
    folder = real_name(project)
    return (each for each in files if folder_of(each) == folder)


def files_among(paths: Iterable[Path]) -> list[Path]:
    """The PATHS that are regular files, in order."""
    return sorted(each for each in paths if os.path.isfile(each))


def real_name(folder: str | Path) -> str:
    """The canonical path of a folder: links resolved, Unicode in NFC."""
    from unicodedata import normalize  # a megabyte that few calls need

    return normalize("NFC", os.path.realpath(folder))
