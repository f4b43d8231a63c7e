"""The tasks of maintenance: when each is due, and what it does.

Checking whether a task is due changes nothing and takes no lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import Busy, Damaged
from gitmem.memory.group import Group
from gitmem.memory.searched import is_where_left, scanned_in
from gitmem.memory.upkeep.jobs import JobOutcome, last_jobs
from gitmem.model.hints import Hint, call
from gitmem.model.text.format import counted
from gitmem.store.fsck.acknowledged import read_acknowledged
from gitmem.store.fsck.check import losses
from gitmem.store.lock import Lock, lock_path
from gitmem.store.refs.files import VERIFIED
from gitmem.store.worktree.swap import swapped_folder

if TYPE_CHECKING:
    from gitmem.memory.write.capture import CapturedAll
    from gitmem.memory.write.open_edits import Scan

WEEK = 7


class PackLimits(NamedTuple):
    """When the repository is packed, and how long that may take."""

    loose: int = 6000
    """The estimated number of loose objects from which on they are packed."""
    packs: int = 20
    """The number of packs from which on they become one."""
    seconds: float = 600.0
    """The time limit for packing."""


class Due(NamedTuple):
    """Whether a task is due, and why, or why not."""

    is_due: bool
    why: str


class UpkeepTask(NamedTuple):
    """One task of maintenance."""

    name: str
    due: Callable[[Group, PackLimits], Due]
    do: Callable[[Group, PackLimits], JobOutcome]
    is_job: bool = False
    """True if it is a job of its own, which logs its runs itself."""


def _recover_due(group: Group, limits: PackLimits) -> Due:
    record = Lock(lock_path(group.gitdir)).peek()
    if record is None and not is_where_left(group):
        return Due(True, "the branch is not where gitmem left it")
    if record is None:
        left = _swapped_out(group)
        why = f"a write that left {counted(left, 'replaced version')} is not finished"
        return Due(bool(left), why if left else "no write was interrupted")
    paths = ", ".join(item.path for item in record.items)
    return Due(True, f"a write to {paths or 'the group'} is not finished")


def _swapped_out(group: Group) -> int:
    """The files that were swapped out of the work tree and have no record any more."""
    with suppress(OSError):
        return len(os.listdir(swapped_folder(group.gitdir)))
    return 0


def _recover(group: Group, limits: PackLimits) -> JobOutcome:
    before = _recover_due(group, limits)
    with group.writing() as writer:  # taking the lock recovers
        writer.sweep()
        found, rejoined = len(writer.captured), list(writer.rejoined)
        mended = [f"{each.commit[:10]}: {each.message}" for each in rejoined]
        mended += [each.message for each in writer.put_forward]
        pending = writer.pending
    if mended:
        hint = Hint.joined("; ", [each.next_step for each in rejoined if each.next_step])
        return JobOutcome("done", "; ".join(mended), len(mended), hint)
    if pending:
        return JobOutcome("skipped", f"{before.why}: somebody still has a file open")
    done = before.why.replace("is not finished", "was finished")
    return JobOutcome("done" if before.why != done else "nothing", done, found)


def _keep_due(group: Group, limits: PackLimits) -> Due:
    from gitmem.store.lost_commits.departures import may_be_lost

    if may_be_lost(group.gitdir):
        return Due(True, "the branch was moved by hand")
    return Due(False, "nobody moved the branch back")


def _keep(group: Group, limits: PackLimits) -> JobOutcome:
    from gitmem.store.lost_commits.departures import keep_lost

    with group.writing() as writer:  # which puts back what was dropped by accident
        found = list(keep_lost(writer.repository))
    if not found:
        return JobOutcome("nothing", "no commit has left the branch")
    return JobOutcome("done", "; ".join(f"{oid[:10]}: {what}" for oid, what in found), len(found))


def _capture_due(group: Group, limits: PackLimits) -> Due:
    from gitmem.memory.write.open_edits import pending_edits

    scan = pending_edits(group)
    words = counted(len(scan.edits), "edit") if scan.edits else "no edits"
    return Due(bool(scan.edits), words + _held(len(scan.held)) + _claimed(scan))


def _capture(group: Group, limits: PackLimits) -> JobOutcome:
    from gitmem.memory.write.capture import capture

    done = capture(group)
    paths = ", ".join(each.path for each in done.captured)
    outcome = "done" if done.captured else "nothing"
    found = len(done.captured) + len(done.held)
    return JobOutcome(
        outcome, (paths or "no edits") + _held(len(done.held)) + _claimed(done), found
    )


def _claimed(found: Scan | CapturedAll) -> str:
    if not found.claimed or found.operation is None:
        return ""
    return f", {len(found.claimed):,} left to {found.operation.title} begun with git"


def _held(number: int) -> str:
    return f", {number:,} held" if number else ""


def _migrate_due(group: Group, limits: PackLimits) -> Due:
    from gitmem.memory.curate.migrate import due_migration

    due = due_migration(group)
    return Due(due.changed, due.summary or due.left or "all files match the layout")


def _migrate(group: Group, limits: PackLimits) -> JobOutcome:
    from gitmem.memory.curate.migrate import migrate_due

    done = migrate_due(group)
    if not done.changed:
        return JobOutcome("skipped", done.left)
    return JobOutcome("done", done.summary, len(done.renamed) + done.sections)


def _rotate_due(group: Group, limits: PackLimits) -> Due:
    from gitmem.memory.layouts import layout_of
    from gitmem.model.layout.archives import header_day

    snapshot, today = group.repository.snapshot(), group.now().date()
    logs = [each for each in layout_of(group).layers if each.kind == "log"]
    if not logs:
        return Due(False, "the layout has no log")
    for layer in logs:
        data = snapshot.read(layer.path)
        if data is None:
            return Due(True, f"no file {layer.path} yet")
        if header_day(layer, data) != today:
            return Due(True, f"{layer.path} may not be of today")
    return Due(False, f"{', '.join(each.path for each in logs)} is of today, {today}")


def _rotate(group: Group, limits: PackLimits) -> JobOutcome:
    from gitmem.memory.upkeep.rotate import job_outcome, rotate

    return job_outcome(rotate(group))


def _snapshot_due(group: Group, limits: PackLimits) -> Due:
    from gitmem.cache.progress import snapshot_gap
    from gitmem.memory.upkeep.missed_snapshots import ALL, missed_days
    from gitmem.memory.upkeep.snapshot import PREFIX, latest
    from gitmem.store.refs.tags import read_tag

    missed = missed_days(group, most=ALL)
    if missed:
        return Due(True, f"no snapshot of {', '.join(str(each.date) for each in missed)}")
    if snapshot_gap(group.gitdir) is not None:
        return Due(True, "older days are not checked yet")
    repository, today = group.repository, group.now().date()
    if read_tag(repository, f"{PREFIX}{today}"):
        return Due(False, f"{PREFIX}{today} was made before")
    last, tree = latest(repository, today), repository.commit(repository.tip()).tree
    if last is None:
        return Due(bool(repository.tree(tree)), "no snapshot yet")
    if repository.commit(last.commit).tree == tree:
        return Due(False, f"no memory changes since {last.name}")
    return Due(True, f"memory changed since {last.name}")


def _snapshot(group: Group, limits: PackLimits) -> JobOutcome:
    from gitmem.memory.upkeep.missed_snapshots import snapshot_missed
    from gitmem.memory.upkeep.snapshot import job_outcome, snapshot

    late, done = snapshot_missed(group), job_outcome(snapshot(group))
    if not late:
        return done
    today = [done.detail] if done.outcome == "done" else []
    return JobOutcome(
        "done", "; ".join([f"{', '.join(late)} made late", *today]), done.found + len(late)
    )


def _report_due(group: Group, limits: PackLimits) -> Due:
    from gitmem.memory.curate.report import JOB

    last = next((each for each in last_jobs(group) if each.job == JOB), None)
    if last is None or last.outcome != "done":
        return Due(True, "no report yet" if last is None else f"the last one {last.outcome}")
    days = (group.now().date() - last.time.astimezone(group.zone).date()).days
    return Due(days >= WEEK, f"the last one was made {counted(days, 'day')} ago")


def _report(group: Group, limits: PackLimits) -> JobOutcome:
    from gitmem.memory.curate.report import job_outcome, made_report

    return job_outcome(made_report(group))


def _scrub_due(group: Group, limits: PackLimits) -> Due:
    tip = group.repository.tip()
    if group.repository.reference(VERIFIED) == tip:
        return Due(False, "all commits are verified")
    return Due(True, "some commits are not verified yet")


def _scrub(group: Group, limits: PackLimits) -> JobOutcome:
    from gitmem.store.fsck.lost_refs import point_if_free
    from gitmem.store.fsck.reachable import scrub

    _read_caches_back(group)
    tip = group.repository.tip()
    found = scrub(group.repository, tip, group.repository.reference(VERIFIED))
    if found.lacks and not _known_losses(group, found.lost):
        more = f", and {len(found.lacks) - 1} more" if len(found.lacks) > 1 else ""
        raise Damaged(found.lacks[0] + more, hint=Hint("run ", call("check", repair=True)))
    if found.rewound:  # only the ref that is about to move may lead there
        _keep(group, limits)
    words = f"{counted(found.commits, 'commit')} and {counted(found.files, 'file')} are sound"
    lost = f"{counted(len(found.lost), 'lost version')} acknowledged" if found.lost else ""
    # The run is unattended, so its log line names what was healed.
    words = "; ".join(filter(None, (words, lost, *group.damage)))
    if not point_if_free(group.gitdir, VERIFIED, tip, "sound"):
        return JobOutcome(
            "skipped", f"{words}, but a writer was at work: they will be verified again"
        )
    return JobOutcome("done", words, found.commits + found.files)


def _known_losses(group: Group, lost: frozenset[str]) -> bool:
    """Whether all of LOST is acknowledged, and the branch lacks nothing else."""
    if not read_acknowledged(group.gitdir).ids:
        return False
    known = losses(group.gitdir)
    return lost <= known.acknowledged and not known.open


def _read_caches_back(group: Group) -> None:
    """Verify the caches: a damaged one would find too little."""
    from gitmem.cache import messages as said
    from gitmem.cache import passages
    from gitmem.cache.database import verify
    from gitmem.memory.search.passages import cache_path
    from gitmem.memory.transcripts.transcripts import messages_path

    for path, form in ((cache_path(group), passages.SCHEMA), (messages_path(group), said.SCHEMA)):
        if path:
            verify(path, form)


def _secrets_due(group: Group, limits: PackLimits) -> Due:
    from gitmem.memory.admin.committed_secrets import waits_beside

    tip, known = group.repository.tip(), scanned_in(group.gitdir)[0].tip
    is_due = tip != known or waits_beside(group)
    return Due(
        is_due,
        "commits by plain git are not searched for secrets yet" if is_due else "all searched",
    )


def _secrets(group: Group, limits: PackLimits) -> JobOutcome:
    from gitmem.memory.admin.committed_secrets import scan_beside, scan_commits
    from gitmem.memory.admin.secret_findings import open_secrets

    beside = scan_beside(group).found
    found = len(open_secrets(group, scan_commits(group), beside))
    words = f"{counted(found, 'secret')} found" if found else "no secrets found"
    return JobOutcome("done", words, found)


def _forget_due(group: Group, limits: PackLimits) -> Due:
    from gitmem.store.gc.prune_list import dropped

    found = bool(dropped(group.gitdir))
    return Due(found, "dropped messages are still on the disk" if found else "nothing was dropped")


def _forget(group: Group, limits: PackLimits) -> JobOutcome:
    from gitmem.memory.transcripts.transcripts import is_transcript_object, query_messages, tip_of
    from gitmem.store.gc.prune import forget_dropped
    from gitmem.store.program import find_git

    if find_git() is None:
        return JobOutcome("skipped", "rewriting packs needs git, which is not installed")
    # A process that had the cache open while it was deleted may have saved it again.
    query_messages(group, tip_of(group), lambda _: None)
    try:
        gone = forget_dropped(group.gitdir, seconds=limits.seconds, stray=is_transcript_object)
    except Busy as error:
        return JobOutcome("skipped", error.message)
    return JobOutcome("done", f"{counted(gone.objects, 'object')} removed for good", gone.objects)


def _pack_due(group: Group, limits: PackLimits) -> Due:
    from gitmem.store.gc.packing import loose_estimate, packs_of

    loose, packs = loose_estimate(group.gitdir), len(packs_of(group.gitdir))
    is_due = loose >= limits.loose or packs >= limits.packs
    return Due(is_due, f"about {counted(loose, 'loose object')}, {counted(packs, 'pack')}")


def _pack(group: Group, limits: PackLimits) -> JobOutcome:
    from gitmem.store.gc.packing import pack
    from gitmem.store.program import find_git

    if find_git() is None:
        why = f"{_pack_due(group, limits).why}; packing needs git, which is not installed"
        return JobOutcome("skipped", why)
    try:
        done = pack(group.gitdir, seconds=limits.seconds, most_packs=limits.packs)
    except Busy as error:
        return JobOutcome("skipped", error.message)
    words = [f"{counted(done.objects, 'object')} packed"] if done.objects else []
    words += [f"{counted(done.packs, 'pack')} became one"] if done.packs else []
    return JobOutcome("done", "; ".join([*words, *filter(None, [done.remark])]), done.objects)


def _graph_due(group: Group, limits: PackLimits) -> Due:
    from gitmem.store.gc.packing import has_graph, packs_of

    if has_graph(group.gitdir):
        return Due(False, "it exists, and packing renews it")
    return Due(bool(packs_of(group.gitdir)), "no commit-graph yet")


def _graph(group: Group, limits: PackLimits) -> JobOutcome:
    from gitmem.store.gc.packing import write_graph
    from gitmem.store.program import find_git

    if find_git() is None:
        return JobOutcome("skipped", "the commit-graph needs git, which is not installed")
    try:
        problem = write_graph(group.gitdir, seconds=limits.seconds)
    except Busy as error:
        problem = error.message
    return (
        JobOutcome("skipped", problem)
        if problem
        else JobOutcome("done", "the commit-graph was written")
    )


TASKS = (
    UpkeepTask("recover", _recover_due, _recover),
    UpkeepTask("keep", _keep_due, _keep),
    UpkeepTask("capture", _capture_due, _capture),
    UpkeepTask("migrate", _migrate_due, _migrate),
    UpkeepTask("rotate", _rotate_due, _rotate, is_job=True),
    UpkeepTask("snapshot", _snapshot_due, _snapshot, is_job=True),
    UpkeepTask("report", _report_due, _report, is_job=True),
    UpkeepTask("secrets", _secrets_due, _secrets),
    UpkeepTask("scrub", _scrub_due, _scrub),
    UpkeepTask("forget", _forget_due, _forget),
    UpkeepTask("pack", _pack_due, _pack),
    UpkeepTask("commit-graph", _graph_due, _graph),
)
"""In the order in which they run: each sees what the ones before it did."""
