"""The command `capture`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from gitmem.cli import boundary
from gitmem.cli.declare import allow_markers, as_somebody, path_argument, reason
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import short, visible
from gitmem.model.text.format import counted, quoted

if TYPE_CHECKING:
    from gitmem.memory.read.status import Status
    from gitmem.memory.write.capture import CapturedAll


SHOWN = 20


@declare("capture")
@path_argument("paths", nargs=-1, metavar="[PATH]...")
@reason
@as_somebody
@allow_markers
def capture_command(
    call: Invocation, paths: tuple[str, ...], reason: str, allow_markers: bool
) -> int:
    """Commit edits made outside gitmem

    Makes one commit for each file that was created, changed, deleted or renamed. An edit that may
    not enter git (a secret, a link, a file over 1 MiB) is held: it stays on disk until you decide.
    Files of a merge or rebase in progress are left alone until you finish it. If you name a path,
    the command exits with 5 when that path is held, and with 4 when it belongs to a merge.

    \b
    Examples:
      gitmem capture
      gitmem capture state.md --agent ada --reason "edited by hand"
      gitmem capture && gitmem status
    """
    from gitmem.memory.write.capture import capture

    with call.group() as group, call.progress("capturing") as progress:
        done = capture(
            group,
            paths,
            reason=reason,
            must_exist=True,
            allow_markers=allow_markers,
            progress=progress,
        )
        root = str(group.worktree)
    rest = still_memory_lines(call, done.still_memory, root)
    call.answer(done, chain(capture_lines(call, done), rest))
    return outcome(done) if paths else boundary.DONE


def outcome(done: CapturedAll) -> int:
    """The exit code where paths were named."""
    if done.claimed:
        return boundary.CONFLICT
    return boundary.REFUSED if done.held else boundary.DONE


def capture_lines(call: Invocation, done: CapturedAll) -> Iterator[str]:
    """What became of each edit, with the next command where one is needed."""
    style = call.style
    for each in done.captured:
        size = "gone" if each.bytes is None else counted(each.bytes, "byte")
        moved = f", was {visible(each.moved_from)}" if each.moved_from else ""
        moved += f", now {visible(each.moved_to)} outside memory" if each.moved_to else ""
        merged = ", merged with what was written since" if each.merged else ""
        facts = f"({size}{moved}{merged})"
        path = style.bold(visible(each.path))
        yield f"{style.good('captured')} {path} {facts} {style.name(short(each.commit))}"
        for broken in each.violations:
            yield f"  broke a rule: {visible(broken)}"
            yield f"  take it back: {call.command(f'undo {short(each.commit)}')}"
    for held in done.held:
        yield f"{style.warn('held')} {style.bold(visible(held.path))} ({visible(held.rule)})"
        yield f"  look at it: {call.command(f'held show {quoted(held.path)}')}"
    yield from claimed_lines(call, done)
    if not (done.captured or done.held or done.claimed):
        yield "nothing to capture"
    if done.ignored_by_pattern:
        ignored = f"{counted(done.ignored_by_pattern, 'file')} ignored"
        yield style.dim(f"{ignored} (see: {call.command('held ignore --list')})")
    if done.ignored:
        yield style.dim(f"{counted(done.ignored, 'other file')} left alone")


def still_memory_lines(call: Invocation, paths: Sequence[str], root: str) -> Iterator[str]:
    """Files that `ignore` names and git has, and how they leave memory and stay on disk."""
    if not paths:
        return
    yield call.style.warn("named by `ignore:`, and memory until you take it out")
    for path in paths[:SHOWN]:
        yield f"  {call.style.bold(visible(path))}"
    if len(paths) > SHOWN:
        yield f"  and {len(paths) - SHOWN:,} more"
    some = " ".join(map(quoted, paths[:SHOWN]))
    git = f"git -C {quoted(root)}"
    yield f"  keep it on disk: {git} rm -q --cached {some} && {git} commit -qm 'Ignore it'"
    yield f"  archive it: {call.command(f'rm {quoted(paths[0])}')}"


def claimed_lines(call: Invocation, found: CapturedAll | Status) -> Iterator[str]:
    """What a person has begun with git, how it ends, and which files wait for that."""
    operation, paths = found.operation, found.claimed
    if operation is None:
        return
    yield f"{call.style.warn(operation.title)} begun with git is not finished"
    yield f"  {operation.way_on}"
    for path in paths[:SHOWN]:
        yield f"  not captured until then: {call.style.bold(visible(path))}"
    if len(paths) > SHOWN:
        yield f"  and {len(paths) - SHOWN:,} more"
