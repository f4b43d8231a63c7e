"""Standard input and output as lines of JSON, and errors for lines that are not messages.

The SDK reads and writes in threads, which doubles the cost of a short call and keeps a process from
ending while a thread waits for a line. Here the event loop waits itself. The SDK also ignores a
line that is not a message; here it is answered with an error.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

CHUNK = 1 << 16
STDIN, STDOUT, STDERR = 0, 1, 2
GRACE = 60.0
"""Seconds for the last answers after the input ended; a call waits ten for the lock."""
Id = str | int
"""The id of a request."""
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
LONGEST = 4300
"""The most digits of a number that Python reads."""
UNREADABLE = (
    "invalid JSON: a syntax error, a lone surrogate, a byte that is not UTF-8, "
    "or a number with too many digits"
)
SHAPELESS = (
    "invalid request: it needs jsonrpc, an id (string or integer), a method, "
    "and params that are an object"
)


@contextmanager
def claimed() -> Iterator[tuple[int, int]]:
    """Input and output on descriptors of their own.

    Meanwhile stdout of this process goes to stderr, and its stdin is empty.
    """
    source, target = os.dup(STDIN), os.dup(STDOUT)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, STDIN)
    try:
        os.dup2(STDERR, STDOUT)
    except OSError:  # there is no stderr
        os.dup2(nothing, STDOUT)
    os.close(nothing)
    try:
        yield source, target
    finally:
        os.dup2(source, STDIN)
        os.dup2(target, STDOUT)
        os.close(source)
        os.close(target)


class LineReader:
    """The input, line by line, until the other side closes it or a signal comes."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._wake = asyncio.Event()
        self._whole: deque[bytes] = deque()
        self._rest = bytearray()
        self._is_closed = False
        self.interrupted = 0
        """The signal that ended the input, or 0."""

    def interrupt(self, signal: int) -> None:
        """Read no more; calls that run are finished and answered."""
        self.interrupted = signal
        self._wake.set()

    @property
    def has_ended(self) -> bool:
        """Whether no line is left, and none will come."""
        return self._is_closed and not self._whole

    def put_back(self, lines: Sequence[bytes]) -> None:
        """Let LINES be the next ones."""
        self._whole.extendleft(reversed(lines))

    async def is_quiet(self, seconds: float) -> bool:
        """Wait SECONDS for the next line or its beginning; return whether nothing came."""
        if self._whole or self._is_closed or self.interrupted:
            return False
        try:
            async with asyncio.timeout(seconds):
                await self._wait()
        except TimeoutError:
            return True
        return False

    def __aiter__(self) -> LineReader:
        return self

    async def __anext__(self) -> bytes:
        while not self._whole and not self._is_closed:
            await self._fill()
        if not self._whole:
            raise StopAsyncIteration
        return self._whole.popleft()

    async def _fill(self) -> None:
        data = b"" if self.interrupted else await self._read()
        self._rest += data
        if not data:
            self._is_closed = True
            self._whole += [bytes(self._rest)] if self._rest else []
        elif b"\n" in data:
            *lines, rest = self._rest.split(b"\n")
            self._rest = bytearray(rest)
            self._whole += map(bytes, lines)

    async def _read(self) -> bytes:
        await self._wait()
        try:
            return b"" if self.interrupted else os.read(self._fd, CHUNK)
        except ConnectionError:  # the client is gone: the same as the end
            return b""

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._wake.clear()
        await _ready(self._wake, loop.add_reader, loop.remove_reader, self._fd)


class LineWriter:
    """The output; one message is written at a time."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._turn = asyncio.Lock()
        self._asked: set[Id] = set()
        """Requests without an answer."""
        self._answered = asyncio.Event()
        self._repeated: Id | None = None
        """A request that was answered before."""

    async def write(self, text: str) -> None:
        """Write TEXT, unless it repeats an answer."""
        if self._repeated is not None and _answered_by(text) == self._repeated:
            self._repeated = None
            self._answered.set()
            return
        async with self._turn:
            await self._write(memoryview(text.encode("utf-8", "backslashreplace")))
        if self._asked:
            self.drop(_answered_by(text))

    def expect(self, request: Id) -> None:
        """Wait for an answer to REQUEST before the end."""
        self._asked.add(request)

    def drop(self, request: Id | None) -> None:
        """REQUEST was answered or cancelled."""
        if request is not None:
            self._asked.discard(request)
            self._answered.set()

    def expect_again(self, request: Id | None) -> None:
        """Do not write the next answer to REQUEST: it has been answered."""
        self._repeated = request

    async def answered_again(self) -> None:
        """Wait for that answer."""
        while self._repeated is not None:
            self._answered.clear()
            await self._answered.wait()

    async def all_answered(self) -> None:
        """Wait until every request is answered, but no longer than a call can take."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                while self._asked:
                    self._answered.clear()
                    await self._answered.wait()

    async def _write(self, left: memoryview) -> None:
        loop = asyncio.get_running_loop()
        while left:
            try:
                left = left[os.write(self._fd, left) :]
            except BlockingIOError:
                await _ready(asyncio.Event(), loop.add_writer, loop.remove_writer, self._fd)
            except ConnectionError:  # the client is gone; the call has been done
                return

    async def flush(self) -> None:
        """Do nothing: `write` buffers nothing."""


class MessageIds(NamedTuple):
    """The ids in a message that decide which answers are due."""

    request: Id | None = None
    """The id of a request, which gets an answer ..."""
    cancelled: Id | None = None
    """... unless it is cancelled before."""


class Messages:
    """The lines that READ accepts as messages; others are answered with an error.

    They begin with OPENING, lines that were answered before, whose answers are not written again.
    They end when all are answered: the SDK drops running calls when its input ends, and a client
    may send a request and close the pipe.
    """

    def __init__(
        self,
        lines: AsyncIterable[bytes],
        words: LineWriter,
        read: Callable[[bytes], MessageIds],
        opening: Sequence[bytes] = (),
    ) -> None:
        self._lines, self._words, self._read, self._opening = lines, words, read, opening

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for line in self._opening:
            self._words.expect_again(self._read(line).request)
            yield line
            await self._words.answered_again()
        async for line in self._lines:
            try:
                sense = self._read(line)
            except ValueError:
                await self._words.write(fault(line))
                continue
            if sense.request is not None:
                self._words.expect(sense.request)
            if sense.cancelled is not None:
                self._words.drop(sense.cancelled)
            yield line
        await self._words.all_answered()


def _answered_by(text: str) -> Id | None:
    """The id of the request that a message answers."""
    found = json.loads(text) if text.strip() else {}
    number = found.get("id") if "method" not in found else None
    return number if isinstance(number, str | int) else None


async def _ready(
    ready: asyncio.Event,
    add: Callable[..., object],
    remove: Callable[[int], object],
    descriptor: int,
) -> None:
    """Wait until DESCRIPTOR is ready; a plain file always is."""
    try:
        add(descriptor, ready.set)
    except PermissionError:
        return
    try:
        await ready.wait()
    finally:
        remove(descriptor)


def fault(line: bytes) -> str:
    """The error for LINE, which is not a message; empty where no answer is due."""
    if not line.strip():
        return ""
    try:
        found = _read(line)
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, UNREADABLE)
    if not isinstance(found, dict):
        return _error(None, INVALID_REQUEST, SHAPELESS)
    if "id" not in found or "result" in found or "error" in found:
        return ""  # a notification, or an answer to us
    is_whole = found.get("jsonrpc") == "2.0" and isinstance(found.get("method"), str)
    is_whole = is_whole and isinstance(found.get("params", {}), dict) and _is_id(found["id"])
    code, message = (PARSE_ERROR, UNREADABLE) if is_whole else (INVALID_REQUEST, SHAPELESS)
    return _error(found["id"], code, message)


def has_id(line: bytes) -> bool:
    """Whether LINE, a JSON object, has an id of any type."""
    return "id" in _read(line)


def _read(line: bytes) -> Any:
    return json.loads(line.decode("utf-8", "replace"), parse_int=_number)


def _number(digits: str) -> int | None:
    return int(digits) if len(digits) <= LONGEST else None


def _is_id(number: object) -> bool:
    return isinstance(number, str | int) and not isinstance(number, bool)


def _error(number: Any, code: int, message: str) -> str:
    known = number if _is_id(number) else None
    error = {"code": code, "message": message}
    return json.dumps({"jsonrpc": "2.0", "id": known, "error": error}) + "\n"
