"""Import files of messages that another program writes, in parts, and no message twice."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha1
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from gitmem.cache.progress import Offset, keep_offsets, read_offsets
from gitmem.errors import BadInput, GitmemError, TooBig
from gitmem.memory.group import Group
from gitmem.memory.read.log import start_of
from gitmem.memory.transcripts.add import (
    NewMessage,
    check_message,
    transcript_add,
)
from gitmem.memory.transcripts.transcripts import is_chat
from gitmem.model.access import check_access
from gitmem.model.secrets.find import redacted_quote
from gitmem.model.transcripts.batches import chat_name
from gitmem.store.lock import WAIT

PART_MESSAGES = 1000
PART_CHARS = 1024 * 1024
"""The most that one commit stores."""
PATIENCE = WAIT
"""Seconds to wait for the lock."""
HEAD = 512
"""Bytes at the beginning of a file that identify it ..."""
TAIL = 64
"""... together with those before the offset that was reached."""
REASONS = 200
"""Distinct reasons for skipping lines that are counted; a file could invent any number ..."""
REASONS_TOLD = 8
"""... and the most frequent ones that are reported."""
OTHERS = "for other reasons"
TOO_LONG = "too long"
NOT_KEPT = "invalid chat, id or time"
Progress = Callable[[int, int], None]
CHATS_TOLD = 8
"""Chats that are named when a requested one is missing."""
_COUNTED = ("added", "known", "earlier", "others", "redacted", "files", "unchanged")


class ParsedLine(NamedTuple):
    """A line or row of a transcript: a message, or the reason why it is skipped."""

    message: NewMessage | None = None
    skipped: str = ""
    """The reason in a fixed word or two; empty for a message."""


Lines = Callable[[Path, int], Iterator[tuple[ParsedLine, int]]]
"""Reads a file from an offset on; each line comes with the offset behind it."""
Mark = Callable[[Path, int], str]
"""A digest that identifies a file up to an offset; empty where it is unreadable."""


class TranscriptImported(NamedTuple):
    """The result of an import."""

    added: int
    known: int
    """Messages that were stored before."""
    earlier: int
    """Messages older than `since`."""
    redacted: int
    files: int
    """How many files had new lines ..."""
    unchanged: int
    """... and how many had no complete new line or row."""
    passed: Mapping[str, int]
    """How many lines were skipped, by reason."""
    problems: tuple[str, ...]
    """Errors of files that could not be read."""
    commit: str
    dry_run: bool
    summarised: int = 0
    """How many messages the other program had summarised: they are not pending."""
    others: int = 0
    """Messages of other chats."""
    notes: tuple[str, ...] = ()
    """Notes about requested chats that are missing."""


def transcript_import(
    group: Group,
    files: Iterable[Path],
    lines: Lines,
    *,
    form: str,
    mark: Mark | None = None,
    since: str = "",
    chats: Sequence[str] = (),
    dry_run: bool = False,
    progress: Progress | None = None,
    wait: float = PATIENCE,
) -> TranscriptImported:
    """Store the new messages in FILES, and remember how far each was read as one of FORM.

    MARK identifies a file; the default is a digest of its beginning and of the bytes before the
    offset. CHATS: only messages of these.
    """
    check_access(group.acting, group.name, write=True)
    start = start_of(group, since) if since else 0.0
    work = _Import(
        group, lines, mark, form=form, since=start, chats=chats, dry_run=dry_run, wait=wait
    )
    sizes = {path: _size(path) for path in files}
    done, total = 0, sum(sizes.values())
    for path, size in sizes.items():
        work.read(path, _reporting(progress, done, total))
        done += size
    work.flush()
    return work.answer()


def unread(group: Group, path: Path, form: str) -> int:
    """How many bytes of a file of FORM are unread."""
    known = read_offsets(group.gitdir).get(_name(path, form))
    return max(0, _size(path) - (known.offset if known else 0))


def _name(path: Path, form: str) -> str:
    """The key of the offset of a file."""
    return f"{form} {os.path.realpath(path)}"


def _suffix(chats: Collection[str]) -> str:
    """What distinguishes imports of CHATS from those of all chats."""
    named = "\0".join(sorted(chats)).encode("utf-8", "surrogatepass")
    return f"#{_digest(named)}" if chats else ""


def _reporting(progress: Progress | None, done: int, total: int) -> Callable[[int], None]:
    """Reports the offset in one file as progress over all of them."""
    return lambda at: progress(done + at, total) if progress else None


class _Import:
    """One import of several files."""

    def __init__(
        self,
        group: Group,
        lines: Lines,
        mark: Mark | None,
        *,
        form: str,
        since: float,
        chats: Sequence[str],
        dry_run: bool,
        wait: float,
    ) -> None:
        self._group, self._lines, self._mark = group, lines, mark or _tail
        # The first page of a database changes with every write.
        self._head = 0 if mark else HEAD
        self._chats, self._found_chats = frozenset(chats), set[str]()
        # An import of some chats continues where the last one of the same chats ended.
        self._form, self._wait = form + _suffix(self._chats), wait
        self._since, self._dry_run = since, dry_run
        self._offsets = read_offsets(group.gitdir)
        self._reached: dict[str, Offset] = {}
        self._messages: list[NewMessage] = []
        self._size = 0
        self._counts = dict.fromkeys(_COUNTED, 0)
        self._passed: Counter[str] = Counter()
        self._met: set[bytes] = set()
        self._problems: list[str] = []
        self._commit = ""

    def read(self, path: Path, report: Callable[[int], None]) -> None:
        """Import one file from the offset that was reached."""
        try:
            self._read(path, report)
        except GitmemError as error:
            self._problems.append(error.message)
        except OSError as error:
            self._problems.append(f"{path}: {error.strerror}")

    def _read(self, path: Path, report: Callable[[int], None]) -> None:
        here = _name(path, self._form)
        known = self._known(here, path)
        offset, earlier, fresh = known.offset, known.since, False
        for line, behind in self._lines(path, offset):
            fresh, offset = True, behind
            if self._take(line):
                earlier = max(earlier, self._since)
            self._reached[here] = known._replace(offset=offset, since=earlier)
            report(offset)
            if len(self._messages) >= PART_MESSAGES or self._size >= PART_CHARS:
                self.flush()
        self._counts["files" if fresh else "unchanged"] += 1

    def _known(self, here: str, path: Path) -> Offset:
        """The offset reached in PATH; 0 for another file, or if the last import left out more."""
        status = path.stat()
        if not S_ISREG(status.st_mode):
            raise BadInput(f"{path} is not a regular file", hint="give the path of a transcript")
        with path.open("rb") as file:
            head = file.read(self._head)
        known = self._offsets.get(here)
        if known and known.inode == status.st_ino and known.since <= self._since:
            size = known.head.partition(":")[0]
            digest = _digest(head[: int(size)]) if size.isdecimal() else ""
            mark = self._mark(path, known.offset) if known.head == digest else ""
            if mark and mark == known.tail:
                return known
        return Offset(0, status.st_ino, _digest(head))

    def _take(self, line: ParsedLine) -> bool:
        """Collect the message of LINE; return True where it is older than `since`."""
        message = line.message
        why = line.skipped if message is None else _obstacle(message)
        if message is None or why:
            known = why in self._passed or len(self._passed) < REASONS
            self._passed[why if known else OTHERS] += 1
            return False
        if self._chats and not self._is_selected(message.chat):
            self._counts["others"] += 1
            return False
        if self._since and message.at and message.at.timestamp() < self._since:
            self._counts["earlier"] += 1
            return True
        self._messages.append(message)
        self._size += len(message.text)
        return False

    def _is_selected(self, chat: str) -> bool:
        """Whether CHAT is requested, by its name or its stored name."""
        if len(self._found_chats) < REASONS or chat in self._chats:
            self._found_chats.add(chat)
        return chat in self._chats or chat_name(chat)[0] in self._chats

    def _notes(self) -> Iterator[str]:
        """Notes about requested chats that neither the files nor the group have."""
        there = self._found_chats | {chat_name(each)[0] for each in self._found_chats}
        for chat in sorted(self._chats - there):
            if not is_chat(self._group, chat):
                named = ", ".join(
                    redacted_quote(each) for each in sorted(self._found_chats)[:CHATS_TOLD]
                )
                more = ", ..." if len(self._found_chats) > CHATS_TOLD else ""
                others = f"; chats there: {named}{more}" if named else ""
                yield f"no messages in a chat {redacted_quote(chat)}{others}"

    def flush(self) -> None:
        """Store the collected messages, and only then the offsets of the files."""
        if self._messages:
            done = transcript_add(
                self._group,
                self._messages,
                dry_run=self._dry_run,
                wait=self._wait,
                met=self._met,
            )
            for name in ("added", "known", "redacted"):
                self._counts[name] += getattr(done, name)
            self._commit = done.commit or self._commit
        self._messages, self._size = [], 0
        if not self._dry_run and self._reached:
            for name, offset in self._reached.items():
                self._offsets.pop(name, None)  # the last read come last
                path = Path(name.partition(" ")[2])
                self._offsets[name] = offset._replace(tail=self._mark(path, offset.offset))
            keep_offsets(self._group.gitdir, self._offsets)
        self._reached = {}

    def answer(self) -> TranscriptImported:
        """The result so far."""
        return TranscriptImported(
            passed=_most_frequent(self._passed),
            problems=tuple(self._problems),
            commit=self._commit,
            dry_run=self._dry_run,
            notes=tuple(self._notes()),
            **self._counts,
        )


def _most_frequent(passed: Counter[str]) -> dict[str, int]:
    """The most frequent reasons by name, and how many lines have others."""
    named = passed.most_common(REASONS_TOLD)
    rest = passed.total() - sum(count for _, count in named)
    return dict(sorted(named)) | ({OTHERS: rest + dict(named).get(OTHERS, 0)} if rest else {})


def _obstacle(message: NewMessage) -> str:
    """Why a message cannot be stored; empty where it can."""
    try:
        check_message(message)
    except TooBig:
        return TOO_LONG
    except BadInput:
        return NOT_KEPT
    return ""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _tail(path: Path, offset: int) -> str:
    """A digest of the bytes before OFFSET; empty where they cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, offset - TAIL))
            return _digest(file.read(min(TAIL, offset)))
    except OSError:
        return ""


def _digest(head: bytes) -> str:
    return f"{len(head)}:{sha1(head, usedforsecurity=False).hexdigest()[:16]}"
