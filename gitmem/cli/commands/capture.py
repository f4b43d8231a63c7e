"""`gitmem capture`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.cli import boundary
from gitmem.cli.declare import as_somebody, path_argument, reason
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import short, visible
from gitmem.core.numbers import counted
from gitmem.core.quoting import quoted

if TYPE_CHECKING:
    from gitmem.operations.capture import CapturedAll


@declare("capture")
@path_argument("paths", nargs=-1, metavar="[PATH]...")
@reason
@as_somebody
def command(call: Invocation, paths: tuple[str, ...], reason: str) -> int:
    """Commit edits made with ordinary tools

    One commit for each file that was made, changed, deleted or renamed. What may not enter git (a
    secret, a link, a file too big) is held: it stays where it is until somebody decides; a named
    path that is held makes this exit with 5.

    \b
    Examples:
      gitmem capture
      gitmem capture state.md --agent ada --reason "edited by hand"
      gitmem capture && gitmem status
    """
    from gitmem.operations.capture import capture

    with call.group() as group, call.progress("capturing") as progress:
        done = capture(group, paths, reason=reason, must_exist=True, progress=progress)
    call.answer(done, capture_lines(call, done))
    return boundary.REFUSED if paths and done.held else boundary.DONE


def capture_lines(call: Invocation, done: CapturedAll) -> Iterator[str]:
    """What became of each edit, with the next command where one is needed."""
    style = call.style
    for each in done.captured:
        size = "gone" if each.bytes is None else counted(each.bytes, "byte")
        moved = f", was {visible(each.moved_from)}" if each.moved_from else ""
        merged = ", merged with what was written since" if each.merged else ""
        facts = f"({size}{moved}{merged})"
        path = style.bold(visible(each.path))
        yield f"{style.good('captured')} {path} {facts} {style.name(short(each.commit))}"
        for broken in each.violations:
            yield f"  broke a rule: {visible(broken)}"
            yield call.addressed(f"  take it back: gitmem undo {short(each.commit)}")
    for held in done.held:
        yield f"{style.warn('held')} {style.bold(visible(held.path))} ({visible(held.rule)})"
        yield call.addressed(f"  look at it: gitmem held show {quoted(held.path)}")
    if not done.captured and not done.held:
        yield "nothing to capture"
    if done.ignored_by_pattern:
        ignored = f"{counted(done.ignored_by_pattern, 'file')} ignored"
        yield style.dim(call.addressed(f"{ignored} (see: gitmem held ignore --list)"))
    if done.ignored:
        yield style.dim(f"{counted(done.ignored, 'other file')} left alone")
