"""The answer of a command that changed which group a folder uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gitmem.cli.invocation import Invocation
from gitmem.cli.style import visible

if TYPE_CHECKING:
    from gitmem.integrations.install.rewire import Rewired


def answer_rewired(
    call: Invocation,
    result: object,
    lines: Sequence[str],
    *,
    settled: str = "",
    remarks: Sequence[str] = (),
) -> None:
    """Bring the agent hosts up to date with the links, and print RESULT with what that changed.

    SETTLED is a group that was renamed or removed; REMARKS tell of its notes.
    """
    from gitmem.integrations.install.rewire import rewire

    done = rewire(call.store, call.environ, settled)
    done = done._replace(remarks=(*remarks, *done.remarks))
    rows = [*lines, *_lines(call, done)]
    call.answer(result, rows, rewired=done.files, remarks=done.remarks, left=done.left)


def _lines(call: Invocation, done: Rewired) -> Iterator[str]:
    for file in done.files:
        yield f"  {file.action} {visible(file.path)}"
    for text in (*done.remarks, *done.left):
        yield f"{call.style.warn('note')}: {visible(text)}"
