"""What needs attention in a group, each concern in a few words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.memory.admin.committed_secrets import MOST_COUNTED, UNREADABLE
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import FILE
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from gitmem.memory.read.status import Status
    from gitmem.memory.upkeep.missed_snapshots import MissedDays

BUDGETS = {"over": "over budget", "near": "near budget", "missing": "missing"}


def concerns_of(
    state: Status, elsewhere: str, missed: MissedDays | None, *, has_gap: bool
) -> Iterator[str]:
    """The concerns of STATE, in the order of `status`.

    ELSEWHERE says where HEAD is if not on the branch. MISSED is the result of the search for days
    without a snapshot, HAS_GAP whether some are known behind a newer one.
    """
    yield from _worktree(state, elsewhere)
    yield from _layout(state)
    if state.marked:
        yield f"{counted(len(state.marked), 'file')} with conflict markers"
    yield from (f"{each.job} failed" for each in state.jobs if each.outcome == "failed")
    yield from _transcripts(state)
    yield from _secrets(state)
    yield from _history(state)
    if state.migration:
        yield "migration due"
    yield from _snapshots(state, missed, has_gap=has_gap)
    if state.gitignored:
        yield f"{', '.join(state.gitignored)} hidden by .gitignore"
    if state.silenced:
        yield f"{counted(len(state.silenced), 'file')} not shown"


def _worktree(state: Status, elsewhere: str) -> Iterator[str]:
    if state.operation:
        files = f" of {counted(len(state.claimed), 'file')}" if state.claimed else ""
        yield f"{state.operation.name}{files} begun with git is not finished"
    elif elsewhere:
        yield f"HEAD is {elsewhere}"


def _layout(state: Status) -> Iterator[str]:
    """Budgets, layout and time zone; a file without a budget may be missing."""
    states = [each.state for each in state.holdings.core if each.budget]
    for name, words in BUDGETS.items():
        if name in states:
            yield f"{states.count(name)} {words}"
    if state.layout_problem:
        yield f"{FILE} is not in order"
    if state.zone_problem:
        yield "the time zone in .env is not known"


def _transcripts(state: Status) -> Iterator[str]:
    counts = state.said
    if counts and counts.unreadable:
        yield Hint("messages cannot be read: see ", call("check"))
    if counts and counts.too_many:
        yield f"{counted(counts.pending, 'message')} not summarised"


def _secrets(state: Status) -> Iterator[str]:
    standing = sum(each.standing for each in state.secrets)
    if standing:
        yield f"{counted(standing, 'secret')} in files"
    if len(state.secrets) > standing:
        yield f"{counted(len(state.secrets) - standing, 'secret')} in history"
    commits = state.unsearched
    if commits == UNREADABLE:
        yield "history not searched for secrets: it cannot be read"
    elif commits > MOST_COUNTED:
        yield f"more than {counted(MOST_COUNTED, 'commit')} not searched for secrets yet"
    elif commits:
        yield f"{counted(commits, 'commit')} not searched for secrets yet"


def _history(state: Status) -> Iterator[str]:
    if state.late:
        yield f"{counted(state.late, 'late edit')} not captured"
    if state.waiting:
        yield "commits left the branch"
    if state.unreadable:
        yield f"{counted(len(state.unreadable), 'version')} lost"


def _snapshots(state: Status, missed: MissedDays | None, *, has_gap: bool) -> Iterator[str]:
    days = state.missed_snapshots
    if missed and days and not missed.is_whole:
        yield f"no snapshot of at least {counted(len(days), 'day')}"
    elif days:
        many = f"{counted(len(days), 'day')} since " if len(days) > 1 else ""
        yield f"no snapshot of {many}{days[0]}"
    elif missed and not missed.is_whole and has_gap:
        yield f"days before {missed.reached} not checked for snapshots"
