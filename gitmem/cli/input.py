"""Standard input and batches: texts, and NDJSON with one edit or message per line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from gitmem.errors import BadInput

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.memory.transcripts.add import NewMessage
    from gitmem.memory.write.write import Edit


OPERATIONS = ("write", "append", "create")
TEXTS = ("op", "path", "text", "if_match", "entry", "user", "date")
KEYS = (*TEXTS, "set")
NAMES = ("path", "entry", "user", "date")
"""Keys that name something: an empty name is a mistake, not all of it."""
MESSAGE = ("id", "chat", "from", "at", "text")
SAID = '{"id": "17", "chat": "main", "from": "ada", "text": "On Monday."}'
EXAMPLE = '{"op": "append", "path": "log.md", "text": "Done.\\n"}'


def parse_batch(data: bytes) -> list[Edit]:
    """The edits that DATA asks for, in order; an error names the line."""
    return [_edit(number, line) for number, line in _lines(data)]


def parse_messages(data: bytes) -> list[NewMessage]:
    """The messages that DATA holds, in order; an error names the line."""
    return [_message(number, line) for number, line in _lines(data)]


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    # Not splitlines(), which also breaks at characters that JSON allows inside a string.
    lines = enumerate(data.split(b"\n"), 1)
    return ((number, line) for number, line in lines if line.strip())


def _message(number: int, line: bytes) -> NewMessage:
    from gitmem.memory.transcripts.add import NewMessage
    from gitmem.model.secrets.find import redacted_quote

    given = _parsed(number, line, SAID)
    unknown = [key for key in given if key not in MESSAGE]
    if unknown:
        there = f"there are {', '.join(MESSAGE)}"
        raise _bad(number, f"unknown key {redacted_quote(unknown[0])}; {there}", SAID)
    missing = [key for key in ("chat", "from", "text") if key not in given]
    if missing:
        raise _bad(number, f"{missing[0]!r} is missing", SAID)
    wrong = [key for key, value in given.items() if not isinstance(value, str)]
    if wrong:
        raise _bad(number, f"{wrong[0]!r} must be a text", SAID)
    found = {key: str(value) for key, value in given.items()}
    at = _moment(number, found["at"]) if found.get("at") else None
    return NewMessage(found["chat"], found["from"], found["text"], at, found.get("id", ""), number)


def _moment(number: int, text: str) -> datetime:
    from datetime import datetime

    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        from gitmem.model.secrets.find import redacted_quote

        raise _bad(number, f"'at' is {redacted_quote(text)}, not an ISO time", SAID) from error


def _edit(number: int, line: bytes) -> Edit:
    from gitmem.memory.write.write import Edit

    given = _parsed(number, line)
    fields = _fields(number, given.pop("set", {}))
    found = _checked(number, given)
    if "text" not in found and not fields and not found.get("entry"):
        raise _bad(number, "'text' is missing")
    op = found.get("op", "write")
    return Edit(
        found["path"],
        found.get("text"),
        append=op == "append",
        create=op == "create",
        if_match=found.get("if_match", ""),
        line=number,
        entry=found.get("entry", ""),
        set=fields,
        user=found.get("user", ""),
        date=found.get("date", ""),
    )


def _fields(number: int, given: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
        raise _bad(number, "'set' must be an object of texts")
    return tuple(given.items())


def _parsed(number: int, line: bytes, example: str = EXAMPLE) -> dict[str, object]:
    import json

    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:  # also for bytes that are no UTF-8
        raise _bad(number, f"invalid JSON ({error})", example) from error
    if not isinstance(found, dict):
        raise _bad(number, "not a JSON object", example)
    return found


def _checked(number: int, found: dict[str, object]) -> dict[str, str]:
    unknown = [key for key in found if key not in KEYS]
    if unknown:
        raise _bad(number, f"unknown key {unknown[0]!r}; there are {', '.join(KEYS)}")
    if "path" not in found:
        raise _bad(number, "'path' is missing")
    wrong = [key for key, value in found.items() if not isinstance(value, str)]
    if wrong:
        raise _bad(number, f"{wrong[0]!r} must be a text")
    values = {key: str(value) for key, value in found.items()}
    empty = [key for key in NAMES if values.get(key) == ""]
    if empty:
        raise _bad(number, f"{empty[0]!r} is empty")
    if values.get("op", "write") not in OPERATIONS:
        raise _bad(number, f"unknown op {values['op']!r}; there are {', '.join(OPERATIONS)}")
    return values


def _bad(number: int, message: str, example: str = EXAMPLE) -> BadInput:
    return BadInput(
        f"line {number}: {message}", hint=f"a line looks like {example}", batch_line=number
    )


STDIN = "-"
"""What stands for it among the arguments."""


def read_stdin(what: str, hint: str) -> bytes:
    """Standard input to its end, but never what somebody would have to type first."""
    if sys.stdin is None or sys.stdin.isatty():
        raise BadInput(f"no {what} given: standard input is a terminal", hint=hint)
    source: BinaryIO = sys.stdin.buffer
    return source.read()


def text_or_stdin(given: str | None, what: str, example: str) -> str:
    """A text as it was GIVEN, or from standard input for `-` and for none."""
    if given is not None and given != STDIN:
        return given
    try:
        return read_stdin(what, example).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"the {what} is not UTF-8 at byte {error.start}", hint=example) from error
