"""The tool calls of a session, as its transcript shows them: when each ran, and what it wrote to.

Only the end of a transcript is read: edits that no commit holds yet are recent.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from math import inf
from typing import Any, NamedTuple

from gitmem.hosts.table import Host

TAIL = 1024 * 1024
"""Bytes at the end of a transcript that are read."""
RUNNING = 600.0
"""Seconds that a call without a result may still run: hosts give a shell ten minutes."""
ASIDE = 3600.0
"""Seconds that one which the host put into the background may."""
SLACK = 2.0
"""Seconds by which the clocks of a transcript and of a disk may differ."""
ASIDES = 20
"""Transcripts of subagents that are read."""
READING = frozenset(("Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "TodoWrite", "Skill"))
"""Tools that write no file."""
WRITING = frozenset(("Write", "Edit", "MultiEdit", "NotebookEdit", "apply_patch"))
"""Tools that name the file that they write."""
_VERBS = frozenset(("tee", "mv", "rm", "touch", "truncate", "unlink", "rmdir", "shred"))
_COPYING = frozenset(("cp", "ln", "install", "rsync"))
"""Programs that write to their last word alone."""


class Call(NamedTuple):
    """One tool call, and the time in which it ran."""

    name: str
    text: str
    begun: float
    ended: float

    def covers(self, moment: float) -> bool:
        """Whether it ran at MOMENT."""
        return self.begun - SLACK <= moment <= self.ended + SLACK

    def writes(self, path: str) -> bool:
        """Whether it says that it writes to the file PATH of a group."""
        name = os.path.basename(path)
        if name not in self.text:
            return False
        if self.name in WRITING:
            return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", self.text) is not None
        return any(_writes(each, name) for each in re.split(r"[|;&\n]+", self.text))


def _writes(command: str, name: str) -> bool:
    """Whether a simple COMMAND of a shell redirects to NAME, or gives it to who changes files."""
    for found in re.finditer(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", command):
        before = command[: found.start()]
        words = [each.rpartition("/")[2] for each in before.split()]
        last = not command[found.end() :].strip("\"' )")
        if re.search(r">\s*[\"']?[^\s\"'<>]*\Z", before[-4096:]):
            return True
        if _VERBS.intersection(words) or (last and _COPYING.intersection(words)):
            return True
        if "sed" in words and any(re.match(r"-[a-zA-Z]*i|--in-place", each) for each in words):
            return True
    return False


def session_calls(host: Host, transcript: str) -> list[Call] | None:
    """The calls of a session and its subagents; None where that cannot be known."""
    if not host.calls or not transcript:
        return None
    own = calls_in(host, transcript)
    if own is None:
        return None
    for path in _asides(transcript):
        own += calls_in(host, path) or ()
    return own


def calls_in(host: Host, transcript: str) -> list[Call] | None:
    """The calls in the file TRANSCRIPT; None where it cannot be read."""
    path = os.path.expanduser(transcript)
    try:
        with open(path, "rb", opener=_at_once) as file:
            stat = os.fstat(file.fileno())
            file.seek(max(0, stat.st_size - TAIL))
            data = file.read(TAIL)
    except (OSError, ValueError):
        return None
    lines = data.split(b"\n")[1 if stat.st_size > TAIL else 0 :]
    return _calls(host, lines, stat.st_mtime)


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _asides(transcript: str) -> list[str]:
    """The transcripts of subagents, where a host keeps them beside that of the session."""
    folder = f"{os.path.expanduser(transcript).removesuffix('.jsonl')}/subagents"
    with suppress(OSError):
        found = [each for each in os.scandir(folder) if each.name.endswith(".jsonl")]
        newest = sorted(found, key=lambda each: -each.stat().st_mtime)
        return [each.path for each in newest[:ASIDES]]
    return []


def _calls(host: Host, lines: list[bytes], modified: float) -> list[Call]:
    open_: dict[str, Call] = {}
    done: list[Call] = []
    kinds = tuple(f'"{each}"'.encode() for each in (*host.calls, *host.results))
    for line in lines:
        if not any(each in line for each in kinds):
            continue
        for row, moment in _rows(line):
            name = str(row.get("tool_use_id") or row.get("call_id") or row.get("id") or "")
            if row["type"] in host.calls:
                given = row.get("input", row.get("arguments", row.get("action")))
                ended = moment + ASIDE if _is_aside(given) else inf
                open_[name] = Call(str(row.get("name")), _text(given), moment, ended)
            elif row["type"] in host.results:
                # One whose call stands before what was read may have begun at any time.
                call = open_.pop(name, Call("", "", 0.0, inf))
                done.append(call if call.ended < inf else call._replace(ended=moment))
    still = (each if each.ended < inf else _running(each, modified) for each in open_.values())
    return [each for each in (*done, *still) if each.name not in READING]


def _running(call: Call, modified: float) -> Call:
    return call._replace(ended=max(call.begun, modified) + RUNNING)


def _is_aside(given: object) -> bool:
    return isinstance(given, dict) and given.get("run_in_background") is True


def _rows(line: bytes) -> Iterator[tuple[dict[str, Any], float]]:
    """The objects with a type in a line, each with the time of the line."""
    with suppress(ValueError, RecursionError, TypeError, KeyError):
        found = json.loads(line)
        moment = datetime.fromisoformat(found["timestamp"]).timestamp()
        for each in _typed(found, 4):
            yield each, moment


def _typed(value: object, depth: int) -> Iterator[dict[str, Any]]:
    inner: list[object] = value if isinstance(value, list) else []
    if isinstance(value, dict):
        if isinstance(value.get("type"), str):
            yield value
        inner = [value.get(each) for each in ("message", "content", "payload")]
    for each in inner if depth else ():
        yield from _typed(each, depth - 1)


def _text(given: object) -> str:
    """All strings in the arguments of a call, a line each; some hosts give them as JSON."""
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):
            inner = json.loads(given)
            if isinstance(inner, dict):
                return _text(inner)
        return given
    if isinstance(given, dict):
        return "\n".join(map(_text, given.values()))
    return "\n".join(map(_text, given)) if isinstance(given, list) else ""
