"""Land a plan: what a mind decided about entries becomes one commit, or nothing at all.

Who decides looks at a commit, the base, and thinks without any lock, for minutes perhaps. What
others write meanwhile stays: the decisions are applied to what there is when they land. Only an
entry that no longer says what it said makes its decision void, since it was about another text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from gitmem.errors import BadInput, Conflict, GitmemError, MomentNotFound, PlanRefused
from gitmem.memory.curate.archive import Provenance, archive_places
from gitmem.memory.curate.consolidate import JOB
from gitmem.memory.curate.day_log import day_log, noted
from gitmem.memory.curate.plan import (
    ARCHIVING,
    REMOVING,
    Decision,
    Outcome,
    PlanLine,
    Problem,
    Workspace,
    apply_all,
    apply_one,
    as_facts,
    look_up,
    problem_of,
    read_plan,
    told,
)
from gitmem.memory.entries.targets import TargetVersion, find_unchanged
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.read.show import FileChange, describe_change
from gitmem.memory.resolve import resolve
from gitmem.memory.upkeep.jobs import JobOutcome, traced
from gitmem.memory.write.capture import capture_edits
from gitmem.memory.write.changeset import Changes, Changeset
from gitmem.memory.write.open_edits import scan_edits
from gitmem.model.commit_messages import Note
from gitmem.model.record import Record
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.worktree.held import SetAside

OP = "consolidate"
DECISION = "Gitmem-Decision"
REFUSALS = (BadInput, PlanRefused, Conflict, MomentNotFound)
"""What is wrong with a plan, and no failure of ours."""
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
    """What it was about, by the addresses of the base."""
    address: str
    """Where it stands now; empty where it stands as before."""
    reason: str = ""


class SkippedDecision(Record):
    """A decision about something that was changed since the base."""

    line: int
    action: str
    addresses: tuple[str, ...]


class Decided(Record):
    """A plan that has landed, or would."""

    commit: str
    base: str
    decisions: tuple[AppliedDecision, ...] = ()
    skipped: tuple[SkippedDecision, ...] = ()
    logged: str = ""
    """The log that tells of it, where there is one."""
    files: tuple[FileChange, ...] = ()
    """What would change, where it was only tried."""
    dry_run: bool = False
    changed: bool = False
    warnings: tuple[str, ...] = ()
    captured: tuple[Captured, ...] = ()
    pending: bool = False
    set_aside: tuple[SetAside, ...] = ()


def decide(
    group: Group,
    plan: bytes,
    *,
    base: str = "",
    skip_changed: bool = False,
    reason: str = "",
    dry_run: bool = False,
) -> Decided:
    """Carry out PLAN, NDJSON, as one commit; what was changed since BASE makes it a Conflict.

    SKIP_CHANGED lands the other decisions and names those. DRY_RUN only shows the change.
    """
    note = group.note(OP, reason=reason)

    def run() -> Decided:
        named, decisions = read_plan(plan)
        if base and named and base != named:
            raise BadInput("the plan names another base", hint="leave out --base, or that line")
        seen = group.repository.snapshot(resolve(group, base or named or None))
        work = _DecisionRun(group, seen, decisions, note, skip_changed)
        return _rehearsed(group, work) if dry_run else _landed(group, work)

    return run() if dry_run else traced(group, JOB, run, _job_outcome, REFUSALS)


def _job_outcome(done: Decided) -> JobOutcome:
    outcome = "done" if done.changed else "nothing"
    return JobOutcome(outcome, _summary(done.decisions), len(done.decisions))


def _rehearsed(group: Group, work: _DecisionRun) -> Decided:
    snapshot = group.repository.snapshot()
    plan = work.plan(snapshot)
    changes = plan.steps[-1].files if plan.steps else {}
    files = (describe_change(path, snapshot.read(path), changes[path]) for path in sorted(changes))
    return work.done._replace(
        commit=snapshot.commit, files=tuple(files), dry_run=True, changed=bool(plan.steps)
    )


def _landed(group: Group, work: _DecisionRun) -> Decided:
    work.plan(group.repository.snapshot())  # what cannot be done is told before anything is
    with group.writing() as writer:
        paths = work.paths(writer.repository.snapshot())
        capture_edits(writer, scan_edits(writer.repository, writer.worktree, paths))
        published = writer.publish(work.plan)
        return work.done._replace(changed=published.changed, **published.completion)


class _DecisionRun:
    """Decisions and their targets; planned again when the branch moves in between."""

    def __init__(
        self,
        group: Group,
        base: Snapshot,
        decisions: Iterable[Decision],
        note: Note,
        skip_changed: bool,
    ) -> None:
        self._group, self._note, self._skip = group, note, skip_changed
        self._now = group.now()
        self._provenance = Provenance(group)
        self._lines, self._problems = look_up(group, base, decisions)
        self._base = base.commit
        self._archived: list[TargetVersion] = []
        self.done = Decided("", base.commit)

    def paths(self, snapshot: Snapshot) -> list[str]:
        """The files that may change: those of the targets, and where targets may go."""
        work = self._workspace(snapshot)
        log = day_log(work.layout)
        found = [log.path] if log else []
        for decision, versions in self._lines:
            found += [each.path for each in versions]
            found += [work.file(decision.target)] if decision.target else []
            if decision.action in ARCHIVING:
                for each in versions:
                    found += archive_places(snapshot, work.layout, each.path)
        return list(dict.fromkeys(found))

    def plan(self, snapshot: Snapshot) -> Plan[None]:
        """All decisions applied; one that cannot be makes the whole plan refused."""
        work = self._workspace(snapshot)
        lines, void = self._sorted_out(work.draft)
        self.done = Decided("", self._base, skipped=tuple(void))
        self._refuse([*self._problems, *self._apply(work, lines)], void)
        changes = {x: data for x, data in work.draft.changes.items() if snapshot.read(x) != data}
        if not changes:
            return Plan((), None)
        step = Step(changes, self._noted(snapshot, changes))
        return Plan((*self._logged(work, changes), step), None)

    def _workspace(self, snapshot: Snapshot) -> Workspace:
        layout = layout_at(self._group, snapshot).layout
        return Workspace(self._group, layout, Changeset(snapshot), self._now)

    def _apply(self, work: Workspace, lines: Sequence[PlanLine]) -> list[Problem]:
        """Apply decisions; where that fails, one by one, to tell what is wrong with which."""
        problems: list[Problem] = []
        outcomes: list[tuple[PlanLine, Outcome]] = []
        try:
            outcomes = list(zip(lines, apply_all(work, lines), strict=True))
        except GitmemError:
            work.replace({})
            for line in lines:
                try:
                    outcomes.append((line, apply_one(work, line)))
                except GitmemError as error:
                    problems.append(problem_of(line.decision, error))
        self._remember(outcomes)
        return problems

    def _remember(self, outcomes: Sequence[tuple[PlanLine, Outcome]]) -> None:
        warnings = dict.fromkeys(each for _, found in outcomes for each in found.warnings)
        self.done = self.done._replace(
            decisions=tuple(_applied(line, found) for line, found in outcomes),
            warnings=tuple(warnings),
        )
        self._archived = [
            version
            for line, _ in outcomes
            if line.decision.action in ARCHIVING
            for version in line.versions
        ]

    def _sorted_out(self, draft: Changeset) -> tuple[list[PlanLine], list[SkippedDecision]]:
        """The decisions that still count, and those about what was changed since the base."""
        lines: list[PlanLine] = []
        void: list[SkippedDecision] = []
        for each in self._lines:
            if all(find_unchanged(draft, version) for version in each.versions):
                lines.append(each)
            else:
                decision = each.decision
                void.append(SkippedDecision(decision.line, decision.action, each.addresses))
        return lines, void

    def _refuse(self, problems: list[Problem], void: list[SkippedDecision]) -> None:
        """Refuse the whole plan where a line cannot be done, or is about what was changed."""
        if problems and not self._skip:
            problems += [Problem(x.line, f"{_changed(x)} since", Conflict.code) for x in void]
        if problems:
            raise PlanRefused(
                told(sorted(problems)),
                hint="nothing was written; mend these lines and give the whole plan again",
                problems=as_facts(sorted(problems)),
            )
        if void and not self._skip:
            raise _outdated(self._base, void)

    def _logged(self, work: Workspace, changes: Changes) -> tuple[Step, ...]:
        """The log of the day with a line about it, unless the plan itself is about that log."""
        text = f"decided: {_summary(self.done.decisions)}"
        line = f"- {self._now:%H:%M} consolidate: {text}\n"
        log = noted(work.draft.snapshot, work.layout, line, self._now)
        if log is None or log.path in changes:
            return ()
        warnings = (*self.done.warnings, *log.warnings)
        self.done = self.done._replace(logged=log.path, warnings=warnings)
        note = self._note._replace(op="append", title=f"consolidated: {text}", paths=(log.path,))
        return (Step({log.path: log.data}, note),)

    def _noted(self, snapshot: Snapshot, changes: Changes) -> Note:
        applied = self.done.decisions
        moved = [x for each in applied if each.action in REMOVING for x in each.addresses]
        return self._note._replace(
            title=_summary(applied),
            paths=tuple(sorted(changes)),
            extra=(
                *((DECISION, _sentence(each)) for each in applied),
                *(("Gitmem-From", each) for each in moved),
                *self._provenance.of_versions(snapshot, self._archived),
            ),
        )


def _changed(void: SkippedDecision) -> str:
    return f"{', '.join(void.addresses)} changed"


def _outdated(base: str, void: list[SkippedDecision]) -> Conflict:
    said = "; ".join(f"line {each.line}: {_changed(each)}" for each in void)
    return Conflict(
        f"{said} since {base[:7]}, which the plan is about",
        hint="look at them again (`gitmem consolidate --json`), or repeat with --skip-changed",
        changed=[each._asdict() for each in void],
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
    """How many decisions of each kind."""
    counts = Counter(each.action for each in applied)
    return ", ".join(f"{counts[x]:,} {said}" for x, said in PARTICIPLES.items() if counts[x])
