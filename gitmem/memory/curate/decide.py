"""Carry out a plan: decisions about entries become one commit, or nothing at all.

Whoever decides reads a commit, the base, and takes minutes without any lock. What others write
meanwhile stays: the decisions are applied to the current files. Only a decision about an entry
whose text changed since the base is void, because it was about another text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from gitmem.errors import BadInput, Conflict, GitmemError, MomentNotFound, PlanRefused
from gitmem.memory.curate.archive import Provenance, archive_paths
from gitmem.memory.curate.consolidate import JOB, day_log, with_log_lines
from gitmem.memory.curate.plan import (
    ARCHIVING,
    REMOVING,
    Outcome,
    PlanLine,
    Problem,
    Workspace,
    apply_all,
    apply_one,
    as_facts,
    look_up,
    problem_of,
    problems_text,
    read_plan,
)
from gitmem.memory.entries.targets import find_unchanged
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.read.show import FileChange, describe_change
from gitmem.memory.resolve import resolve
from gitmem.memory.upkeep.jobs import JobOutcome, run_job
from gitmem.memory.write.capture import capture_paths
from gitmem.memory.write.changeset import Changes, Changeset
from gitmem.model.commit_messages import Note
from gitmem.model.hints import Hint, Option, call
from gitmem.model.record import Record
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.worktree.held import SetAside

OP = "consolidate"
DECISION = "Gitmem-Decision"
REFUSALS = (BadInput, PlanRefused, Conflict, MomentNotFound)
"""Errors in the plan, which the job log does not count as failures."""
PARTICIPLES = {
    "confirm": "confirmed",
    "archive": "archived",
    "update": "updated",
    "move": "moved",
    "merge-entries": "merged",
    "keep": "kept",
}


class AppliedDecision(Record):
    """A decision that was carried out."""

    line: int
    action: str
    addresses: tuple[str, ...]
    """The addresses of its targets in the base."""
    address: str
    """The new address of the target; empty if it did not move."""
    reason: str = ""


class SkippedDecision(Record):
    """A decision whose target changed since the base."""

    line: int
    action: str
    addresses: tuple[str, ...]


class Decided(Record):
    """A plan that was carried out, or would be."""

    commit: str
    base: str
    decisions: tuple[AppliedDecision, ...] = ()
    skipped: tuple[SkippedDecision, ...] = ()
    logged: str = ""
    """The log that tells of it; empty if none does."""
    files: tuple[FileChange, ...] = ()
    """What would change, in a dry run."""
    dry_run: bool = False
    changed: bool = False
    warnings: tuple[str, ...] = ()
    captured: tuple[Captured, ...] = ()
    pending: bool = False
    set_aside: tuple[SetAside, ...] = ()


class _Decisions(NamedTuple):
    """The lines of a plan: the same for every snapshot that they are applied to."""

    group: Group
    base: str
    note: Note
    provenance: Provenance
    now: datetime
    lines: Sequence[PlanLine]
    problems: Sequence[Problem]
    """Lines that cannot be applied to any snapshot."""
    skip_changed: bool


def decide(
    group: Group,
    plan: bytes,
    *,
    base: str = "",
    skip_changed: bool = False,
    reason: str = "",
    dry_run: bool = False,
) -> Decided:
    """Carry out PLAN, NDJSON, as one commit; a target that changed since BASE is a Conflict.

    SKIP_CHANGED carries out the other decisions and lists those. DRY_RUN only shows the change.
    """
    note = group.note(OP, reason=reason)

    def run() -> Decided:
        named, decisions = read_plan(plan)
        if base and named and base != named:
            hint = Hint("leave out ", Option("base", base), ", or the first line of the plan")
            raise BadInput(f"the plan names another base, {named!r}", hint=hint)
        then = group.repository.snapshot(resolve(group, base or named or None))
        lines, problems = look_up(group, then, decisions)
        given = _Decisions(
            group,
            then.commit,
            note,
            Provenance(group),
            group.now(),
            lines,
            problems,
            skip_changed,
        )
        return _rehearsed(given) if dry_run else _published(given)

    return run() if dry_run else run_job(group, JOB, run, _job_outcome, REFUSALS)


def _job_outcome(done: Decided) -> JobOutcome:
    outcome = "done" if done.changed else "nothing"
    return JobOutcome(outcome, _summary(done.decisions), len(done.decisions))


def _rehearsed(given: _Decisions) -> Decided:
    snapshot = given.group.repository.snapshot()
    plan = _plan(given, snapshot)
    changes = plan.steps[-1].files if plan.steps else {}
    files = (describe_change(path, snapshot.read(path), changes[path]) for path in sorted(changes))
    return plan.result._replace(
        commit=snapshot.commit, files=tuple(files), dry_run=True, changed=bool(plan.steps)
    )


def _published(given: _Decisions) -> Decided:
    _plan(given, given.group.repository.snapshot())  # refuse a bad plan before capturing anything
    with given.group.writing() as writer:
        capture_paths(writer, _paths(given, writer.repository.snapshot()))
        published = writer.publish(lambda snapshot: _plan(given, snapshot))
        return published.result._replace(changed=published.changed, **published.completion)


def _workspace(given: _Decisions, snapshot: Snapshot) -> Workspace:
    layout = layout_at(given.group, snapshot).layout
    return Workspace(given.group, layout, Changeset(snapshot), given.now)


def _paths(given: _Decisions, snapshot: Snapshot) -> list[str]:
    """The files that may change: those of the targets, where targets may go, and the log."""
    work = _workspace(given, snapshot)
    log = day_log(work.layout)
    found = [log.path] if log else []
    for decision, versions in given.lines:
        found += [each.path for each in versions]
        found += [work.file(decision.target)] if decision.target else []
        if decision.action in ARCHIVING:
            for each in versions:
                found += archive_paths(snapshot, work.layout, each.path)
    return list(dict.fromkeys(found))


def _plan(given: _Decisions, snapshot: Snapshot) -> Plan[Decided]:
    """All decisions applied to SNAPSHOT; one that fails refuses the whole plan."""
    work = _workspace(given, snapshot)
    lines, skipped = _sorted_out(given, work.draft)
    applied, problems = _apply(work, lines)
    _refuse(given, [*given.problems, *problems], skipped)
    warnings = dict.fromkeys(each for _, outcome in applied for each in outcome.warnings)
    done = Decided(
        "",
        given.base,
        tuple(_applied(line, outcome) for line, outcome in applied),
        tuple(skipped),
        warnings=tuple(warnings),
    )
    changes = {x: data for x, data in work.draft.changes.items() if snapshot.read(x) != data}
    if not changes:
        return Plan((), done)
    step = Step(changes, _noted(given, snapshot, done, changes))
    return _with_log(given, work, Plan((step,), done))


def _sorted_out(
    given: _Decisions, draft: Changeset
) -> tuple[list[PlanLine], list[SkippedDecision]]:
    """The decisions that still count, and those whose target changed since the base."""
    lines: list[PlanLine] = []
    skipped: list[SkippedDecision] = []
    for each in given.lines:
        if all(find_unchanged(draft, version) for version in each.versions):
            lines.append(each)
        else:
            decision = each.decision
            skipped.append(SkippedDecision(decision.line, decision.action, each.addresses))
    return lines, skipped


def _apply(
    work: Workspace, lines: Sequence[PlanLine]
) -> tuple[list[tuple[PlanLine, Outcome]], list[Problem]]:
    """Apply decisions together; if that fails, one by one, to find which of them fail."""
    try:
        return list(zip(lines, apply_all(work, lines), strict=True)), []
    except GitmemError:
        work.replace({})
    outcomes: list[tuple[PlanLine, Outcome]] = []
    problems: list[Problem] = []
    for line in lines:
        try:
            outcomes.append((line, apply_one(work, line)))
        except GitmemError as error:
            problems.append(problem_of(line.decision, error))
    return outcomes, problems


def _refuse(given: _Decisions, problems: list[Problem], skipped: list[SkippedDecision]) -> None:
    """Refuse the whole plan if a line has a problem, or its target changed."""
    if problems and not given.skip_changed:
        problems += [Problem(x.line, f"{_changed(x)} since", Conflict.code) for x in skipped]
    if problems:
        raise PlanRefused(
            problems_text(sorted(problems)),
            hint="nothing was written; correct these lines and submit the whole plan again",
            problems=as_facts(sorted(problems)),
        )
    if skipped and not given.skip_changed:
        raise _outdated(given.base, skipped)


def _with_log(given: _Decisions, work: Workspace, plan: Plan[Decided]) -> Plan[Decided]:
    """PLAN after a line in the log of the day, unless the plan itself changes that log."""
    done, (step,) = plan.result, plan.steps
    text = f"decided: {_summary(done.decisions)}"
    line = f"- {given.now:%H:%M} consolidate: {text}\n"
    log = with_log_lines(work.draft.snapshot, work.layout, line, given.now)
    if log is None or log.path in step.files:
        return plan
    note = given.note._replace(op="append", title=f"consolidated: {text}", paths=(log.path,))
    done = done._replace(logged=log.path, warnings=(*done.warnings, *log.warnings))
    return Plan((Step({log.path: log.data}, note), step), done)


def _noted(given: _Decisions, snapshot: Snapshot, done: Decided, changes: Changes) -> Note:
    moved = [x for each in done.decisions if each.action in REMOVING for x in each.addresses]
    lines = {each.line for each in done.decisions if each.action in ARCHIVING}
    archived = [x for each in given.lines if each.decision.line in lines for x in each.versions]
    return given.note._replace(
        title=_summary(done.decisions),
        paths=tuple(sorted(changes)),
        extra=(
            *((DECISION, _sentence(each)) for each in done.decisions),
            *(("Gitmem-From", each) for each in moved),
            *given.provenance.of_versions(snapshot, archived),
        ),
    )


def _changed(skipped: SkippedDecision) -> str:
    return f"{', '.join(skipped.addresses)} changed"


def _outdated(base: str, skipped: list[SkippedDecision]) -> Conflict:
    lines = "; ".join(f"line {each.line}: {_changed(each)}" for each in skipped)
    return Conflict(
        f"{lines} since {base[:7]}, the base of the plan",
        hint=Hint(
            "read them again (",
            call("consolidate"),
            "), or repeat with ",
            Option("skip_changed"),
        ),
        changed=[each._asdict() for each in skipped],
    )


def _applied(line: PlanLine, outcome: Outcome) -> AppliedDecision:
    decision = line.decision
    return AppliedDecision(
        decision.line, decision.action, line.addresses, outcome.address, decision.reason
    )


def _sentence(applied: AppliedDecision) -> str:
    """A decision in one line."""
    text = f"{applied.action} {', '.join(applied.addresses)}"
    text += f" -> {applied.address}" if applied.address else ""
    return f"{text}: {applied.reason}" if applied.reason else text


def _summary(applied: Iterable[AppliedDecision]) -> str:
    """How many decisions of each action."""
    counts = Counter(each.action for each in applied)
    return ", ".join(f"{counts[x]:,} {done}" for x, done in PARTICIPLES.items() if counts[x])
