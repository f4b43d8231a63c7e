"""The tool calls in the transcript of a session: when each ran and what it wrote to.

Only the end of a transcript is read: edits without a commit are recent. An earlier call may still
run, so the unread part counts as a call that may have written anything.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from math import inf
from typing import Any, NamedTuple

from gitmem.integrations.hooks.protocol import files_written
from gitmem.integrations.hooks.shell import Writes, writes_of
from gitmem.integrations.hosts.table import Host

TAIL = 8 * 1024 * 1024
"""Bytes read at the end of a transcript."""
RUNNING = 600.0
"""Seconds that a call without a result may still run: hosts give a shell ten minutes."""
ASIDE = 3600.0
"""Seconds that a call in the background may still run."""
SLACK = 2.0
"""Seconds by which the clocks of a transcript and of a disk may differ."""
ASIDES = 20
"""The most transcripts of subagents that are read."""
READING = frozenset(
    (
        *("Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "TodoWrite", "Skill"),
        *("update_plan", "view_image"),
    )
)
"""Tools that write no file."""
WRITING = frozenset(("Write", "Edit", "MultiEdit", "NotebookEdit", "apply_patch"))
"""Tools that name the file that they write."""
_BEHIND = (b'"backgroundTaskId"', b"Process running with session ID")
"""Marks in the result of a command that runs on."""
_FAILED = (b'"is_error":true', b'"is_error": true')
_CONTEXTS = ("turn_context", "session_meta")
"""Lines of Codex that name the folder; in Claude Code each line does."""


class ToolCall(NamedTuple):
    """One tool call, and the time in which it ran."""

    name: str
    writes: Writes
    begun: float
    ended: float
    lingers: float = 0.0
    """Until when a part of it may run."""
    failed: bool = False
    is_over: bool = False
    """Whether it has a result."""

    def may_write(self, paths: Sequence[str], since: float, until: float) -> bool:
        """Whether it may have written to one of the real PATHS after SINCE, and by UNTIL."""
        # A tool that names its file is captured as it ends, so it leaves no later edit.
        is_kept = self.name in WRITING and self.is_over
        last = self.begun - SLACK if is_kept else max(self.ended, self.lingers)
        ran = self.begun - SLACK <= until and since <= last
        return ran and any(map(self.writes.maybe, paths))

    def runs_at(self, moment: float) -> bool:
        """Whether it may have run at MOMENT."""
        until = max(self.ended, self.lingers) + SLACK
        return self.begun - SLACK <= moment <= until

    def shows(self, path: str, moment: float) -> bool:
        """Whether it names PATH as its target and ran at MOMENT."""
        ran = self.begun - SLACK <= moment <= self.ended + SLACK
        return ran and not self.failed and self.writes.surely(path)


def _unknown(until: float) -> ToolCall:
    """A call that stands for those that are unknown."""
    return ToolCall("", Writes(opaque=True), 0.0, until)


def session_calls(host: Host, transcript: str) -> list[ToolCall] | None:
    """The calls of a session and its subagents; None where they are unknown."""
    if not host.calls or not transcript:
        return None
    own = calls_in(host, transcript)
    if own is None:
        return None
    asides = _asides(transcript)
    if asides is None or len(asides) > ASIDES:
        own.append(_unknown(inf))
    for path in (asides or ())[:ASIDES]:
        own += calls_in(host, path) or [_unknown(inf)]
    return own


def calls_in(host: Host, transcript: str) -> list[ToolCall] | None:
    """The calls in the file TRANSCRIPT; None where it cannot be read."""
    path = os.path.expanduser(transcript)
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            stat = os.fstat(file.fileno())
            file.seek(max(0, stat.st_size - TAIL))
            data = file.read(TAIL)
    except (OSError, ValueError):
        return None
    is_cut = stat.st_size > TAIL
    return _TranscriptReader(host, stat.st_mtime).calls(data.split(b"\n")[is_cut:], is_cut=is_cut)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _asides(transcript: str) -> list[str] | None:
    """The transcripts of subagents beside that of the session, newest first; None if unreadable."""
    folder = f"{os.path.expanduser(transcript).removesuffix('.jsonl')}/subagents"
    try:
        found = [each.path for each in os.scandir(folder) if each.name.endswith(".jsonl")]
    except FileNotFoundError:
        return []
    except OSError:
        return None
    return sorted(found, key=lambda each: -(modified(each) or inf))


def modified(path: str) -> float:
    """The mtime of PATH; 0 without such a file."""
    with suppress(OSError, ValueError):
        return os.stat(os.path.expanduser(path)).st_mtime if path else 0.0
    return 0.0


class _TranscriptReader:
    """Reads the lines of one transcript in order."""

    def __init__(self, host: Host, modified: float) -> None:
        self._host, self._modified = host, modified
        self._folder: str | None = None
        self._open: dict[str, ToolCall] = {}
        self._done: list[ToolCall] = []
        self._first = inf

    def calls(self, lines: list[bytes], *, is_cut: bool) -> list[ToolCall]:
        """The calls in LINES; IS_CUT: earlier lines were not read."""
        kinds = tuple(
            f'"{each}"'.encode() for each in (*self._host.calls, *self._host.results, *_CONTEXTS)
        )
        for line in lines:
            if any(each in line for each in kinds):
                self._take(line)
        running = self._modified + RUNNING
        still = (
            each._replace(ended=max(each.begun + RUNNING, running)) if each.ended == inf else each
            for each in self._open.values()
        )
        found = [each for each in (*self._done, *still) if each.name not in READING]
        begun_before = self._first + ASIDE if self._first < inf else 0.0
        return [*found, *([_unknown(max(running, begun_before))] if is_cut else ())]

    def _take(self, line: bytes) -> None:
        try:
            found = json.loads(line)
            moment = datetime.fromisoformat(found["timestamp"]).timestamp()
        except (ValueError, RecursionError, TypeError, KeyError):
            # Perhaps a call that is still being written.
            self._done.append(_unknown(self._modified + RUNNING))
            return
        self._first = min(self._first, moment)
        self._folder = _folder_in(found) or self._folder
        for row in _typed(found, 4):
            name = str(row.get("tool_use_id") or row.get("call_id") or row.get("id") or "")
            if row["type"] in self._host.calls:
                self._open[name] = self._begun(row, moment)
            elif row["type"] in self._host.results:
                # Its call is in the unread part, so it may have begun at any time.
                self._end(self._open.pop(name, _unknown(inf)), line, moment)

    def _begun(self, row: Mapping[str, Any], moment: float) -> ToolCall:
        given = row.get("input", row.get("arguments", row.get("action")))
        name, arguments = str(row.get("name")), _arguments(given)
        writes = self._writes(name, arguments)
        return ToolCall(name, writes, moment, moment + ASIDE if _is_aside(arguments) else inf)

    def _end(self, call: ToolCall, line: bytes, moment: float) -> None:
        ended = call.ended if call.begun and call.ended < inf else moment
        runs_on = call.writes.lingers or any(each in line for each in _BEHIND)
        lingers = max(call.begun, moment) + ASIDE if runs_on else 0.0
        failed = any(each in line for each in _FAILED)
        self._done.append(call._replace(ended=ended, lingers=lingers, failed=failed, is_over=True))

    def _writes(self, name: str, arguments: Mapping[str, Any]) -> Writes:
        if name in WRITING:
            folder = self._folder or "/nowhere"
            payload = {"tool_name": name, "tool_input": arguments, "cwd": folder}
            files = [os.path.realpath(each) for each in files_written(self._host, payload)]
            return Writes(frozenset(files), opaque=not files)
        command = next((arguments[key] for key in ("command", "cmd") if key in arguments), None)
        folder = arguments.get("workdir") or arguments.get("working_directory") or ""
        if not isinstance(folder, str):
            return Writes(opaque=True)
        where = os.path.join(self._folder or "", folder)
        text = _command(command)
        return writes_of(text, where if where.startswith("/") else None) if text else _OPAQUE


_OPAQUE = Writes(opaque=True)


def _command(given: object) -> str:
    """The text of a shell command; some hosts give a list of words."""
    if isinstance(given, list) and given and all(isinstance(each, str) for each in given):
        return shlex.join(given)
    return given if isinstance(given, str) else ""


def _is_aside(arguments: Mapping[str, Any]) -> bool:
    return arguments.get("run_in_background") is True


def _folder_in(row: object) -> str:
    """The working folder that a line names."""
    inner = row.get("payload") if isinstance(row, dict) else None
    for each in (row, inner):
        named = each.get("cwd") if isinstance(each, dict) else None
        if isinstance(named, str) and named.startswith("/"):
            return named
    return ""


def _typed(value: object, depth: int) -> Iterator[dict[str, Any]]:
    inner: list[object] = value if isinstance(value, list) else []
    if isinstance(value, dict):
        if isinstance(value.get("type"), str):
            yield value
        inner = [value.get(each) for each in ("message", "content", "payload")]
    for each in inner if depth else ():
        yield from _typed(each, depth - 1)


def _arguments(given: object) -> Mapping[str, Any]:
    """The arguments of a call; some hosts give them as JSON text, or a patch as plain text."""
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):
            inner = json.loads(given)
            if isinstance(inner, dict):
                return inner
        return {"command": given}
    return given if isinstance(given, dict) else {}
