"""Land a plan: what a mind decided about entries becomes one commit, or nothing at all.

Who decides looks at a commit, the base, and thinks without any lock, for minutes perhaps. What
others write meanwhile stays: the decisions are carried out on what there is when they land. Only an
entry that no longer says what it said makes its decision void, since it was about another text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gitmem.errors import BadInput, Conflict, GitmemError, MomentNotFound, PlanRefused
from gitmem.memory.curate.actions import (
    AWAY,
    DEEDS,
    SHELVING,
    TOGETHER,
    Asked,
    Deed,
    Ground,
    Standing,
)
from gitmem.memory.curate.archive import shelves
from gitmem.memory.curate.consolidate import JOB
from gitmem.memory.curate.decided import Decided, Landed, Skipped, sentence, summed
from gitmem.memory.curate.plan_rows import Row, looked_up, problem_of, refuse
from gitmem.memory.curate.provenance import Provenance
from gitmem.memory.days.jobs import Told, traced
from gitmem.memory.entries.relocate import Seen, still_there
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.read.show import describe_change
from gitmem.memory.resolve import resolve
from gitmem.memory.write.capture import adopt_all
from gitmem.memory.write.day_log import day_log, noted
from gitmem.memory.write.draft import Changes, Draft
from gitmem.memory.write.landing import landing
from gitmem.memory.write.open_edits import scan_edits
from gitmem.model.commit_messages import Note
from gitmem.model.curate.plan import Decision, Problem, read_plan
from gitmem.model.guards import check_write
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.publish import Plan, Step

OP = "consolidate"
DECISION = "Gitmem-Decision"
REFUSALS = (BadInput, PlanRefused, Conflict, MomentNotFound)
"""What is wrong with a plan, and no failure of ours."""


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
        work = _Work(group, seen, decisions, note, skip_changed)
        return _tried(group, work) if dry_run else _landed(group, work)

    return run() if dry_run else traced(group, JOB, run, _told, REFUSALS)


def _told(done: Decided) -> Told:
    outcome = "done" if done.changed else "nothing"
    return Told(outcome, summed(done.decisions), len(done.decisions))


def _tried(group: Group, work: _Work) -> Decided:
    snapshot = group.repository.snapshot()
    plan = work.plan(snapshot)
    changes = plan.steps[-1].files if plan else {}
    files = (describe_change(path, snapshot.read(path), changes[path]) for path in sorted(changes))
    return work.done._replace(
        commit=snapshot.commit, files=tuple(files), dry_run=True, changed=bool(plan)
    )


def _landed(group: Group, work: _Work) -> Decided:
    work.plan(group.repository.snapshot())  # what cannot be done is told before anything is
    with group.writing() as writer:
        places = work.places(writer.repository.snapshot())
        adopt_all(writer, scan_edits(writer.repository, writer.worktree, places))
        published = writer.publish(work.plan)
        return work.done._replace(changed=published is not None, **landing(writer, published))


class _Work:
    """Decisions, and what they were about; planned again when the branch moves in between."""

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
        self._rows, self._problems = looked_up(group, base, decisions)
        self._base = base.commit
        self._shelved: list[Seen] = []
        self.done = Decided("", base.commit)

    def places(self, snapshot: Snapshot) -> list[str]:
        """The files that may change: those that are meant, and where things may go."""
        layout = layout_at(self._group, snapshot).layout
        ground = Ground(self._group, layout, Draft(snapshot), self._now)
        log = day_log(layout)
        found = [log.path] if log else []
        for decision, seen in self._rows:
            found += [each.path for each in seen]
            found += [ground.target(decision.target)] if decision.target else []
            if decision.action in SHELVING:
                found += [path for each in seen for path in shelves(snapshot, layout, each.path)]
        return list(dict.fromkeys(found))

    def plan(self, snapshot: Snapshot) -> Plan | None:
        """All decisions carried out; one that cannot be makes the whole plan refused."""
        layout = layout_at(self._group, snapshot).layout
        ground = Ground(self._group, layout, Draft(snapshot), self._now)
        rows, void = self._sorted_out(ground)
        self.done = Decided("", self._base, skipped=tuple(void))
        self._refuse([*self._problems, *self._carry_out(ground, rows)], void)
        changes = {x: data for x, data in ground.draft.changes.items() if snapshot.read(x) != data}
        if not changes:
            return None
        return Plan((*self._logged(ground, changes), Step(changes, self._said(snapshot, changes))))

    def _carry_out(self, ground: Ground, rows: Sequence[Row]) -> list[Problem]:
        """Carry out decisions; where that fails, one by one, to tell what is wrong with which."""
        try:
            deeds = _all_carried_out(ground, rows)
        except GitmemError:
            ground.take({})
            return self._one_by_one(ground, rows)
        self._remember(rows, deeds)
        return []

    def _one_by_one(self, ground: Ground, rows: Sequence[Row]) -> list[Problem]:
        problems: list[Problem] = []
        done: list[Row] = []
        deeds: list[Deed] = []
        for row in rows:
            before = dict(ground.draft.changes)
            try:
                found = _carried_out(ground, [row])
                _check(ground, before)
            except GitmemError as error:
                ground.take(before)
                problems.append(problem_of(row.decision, error))
            else:
                done.append(row)
                deeds += found
        self._remember(done, deeds)
        return problems

    def _remember(self, rows: Sequence[Row], deeds: Sequence[Deed]) -> None:
        landed = [_landed_row(row, deed) for row, deed in zip(rows, deeds, strict=True)]
        said = tuple(dict.fromkeys(each for deed in deeds for each in deed.warnings))
        self.done = self.done._replace(decisions=tuple(landed), warnings=said)
        self._shelved = [x for row in rows if row.decision.action in SHELVING for x in row.seen]

    def _sorted_out(self, ground: Ground) -> tuple[list[Row], list[Skipped]]:
        """The decisions that still count, and those about what was changed since the base."""
        rows: list[Row] = []
        void: list[Skipped] = []
        for decision, seen in self._rows:
            if all(still_there(ground.draft, each) for each in seen):
                rows.append(Row(decision, seen))
            else:
                addresses = tuple(each.address for each in seen)
                void.append(Skipped(decision.line, decision.action, addresses))
        return rows, void

    def _refuse(self, problems: list[Problem], void: list[Skipped]) -> None:
        """Refuse the whole plan where a line cannot be done, or is about what was changed."""
        if self._skip:
            refuse(problems)
        elif problems:
            since = [Problem(x.line, f"{_changed(x)} since", Conflict.code) for x in void]
            refuse([*problems, *since])
        elif void:
            raise _outdated(self._base, void)

    def _logged(self, ground: Ground, changes: Changes) -> tuple[Step, ...]:
        """The log of the day with a line about it, unless the plan itself is about that log."""
        said = f"decided: {summed(self.done.decisions)}"
        text = f"- {self._now:%H:%M} consolidate: {said}\n"
        log = noted(ground.draft.snapshot, ground.layout, text, self._now)
        if log is None or log.path in changes:
            return ()
        warnings = (*self.done.warnings, *log.warnings)
        self.done = self.done._replace(logged=log.path, warnings=warnings)
        note = self._note._replace(op="append", title=f"consolidated: {said}", paths=(log.path,))
        return (Step({log.path: log.data}, note),)

    def _said(self, snapshot: Snapshot, changes: Changes) -> Note:
        landed = self.done.decisions
        left = [x for each in landed if each.action in AWAY for x in each.addresses]
        return self._note._replace(
            title=summed(landed),
            paths=tuple(sorted(changes)),
            extra=(
                *((DECISION, sentence(each)) for each in landed),
                *(("Gitmem-From", each) for each in left),
                *self._provenance.of_seen(snapshot, self._shelved),
            ),
        )


def _all_carried_out(ground: Ground, rows: Sequence[Row]) -> list[Deed]:
    """Carry out all decisions, those of a kind together; each is about another thing."""
    deeds: dict[int, Deed] = {}
    for action in TOGETHER:
        chosen = {row.decision.line: row for row in rows if row.decision.action == action}
        found = _carried_out(ground, list(chosen.values())) if chosen else []
        deeds |= dict(zip(chosen, found, strict=True))
    for row in rows:
        if row.decision.line not in deeds:
            (deeds[row.decision.line],) = _carried_out(ground, [row])
    _check(ground, {})
    return [deeds[row.decision.line] for row in rows]


def _carried_out(ground: Ground, rows: Sequence[Row]) -> list[Deed]:
    asked = [Asked(row.decision, [_standing(ground, x) for x in row.seen]) for row in rows]
    return DEEDS[rows[0].decision.action](ground, asked)


def _standing(ground: Ground, seen: Seen) -> Standing:
    entry = still_there(ground.draft, seen, ground.layout.layer_of(seen.path))
    if entry is None:
        raise Conflict(f"{seen.address} is changed by an earlier line of the plan")
    return Standing(seen.path, entry)


def _check(ground: Ground, before: dict[str, bytes | None]) -> None:
    """Judge what a decision made of the files: what was there may stay, whatever it is."""
    draft = ground.draft
    then = Draft(draft.snapshot, before)
    changed = [path for path, data in draft.changes.items() if then.read(path) != data]
    known = b"\n".join(then.read(path) or b"" for path in changed)
    for path in changed:
        data = draft.changes[path]
        if data is not None:
            check_write(path, data, known, allow_shrink=True)
    draft.check_policies(ground.layout)


def _changed(void: Skipped) -> str:
    return f"{', '.join(void.addresses)} changed"


def _outdated(base: str, void: list[Skipped]) -> Conflict:
    said = "; ".join(f"line {each.line}: {_changed(each)}" for each in void)
    return Conflict(
        f"{said} since {base[:7]}, which the plan is about",
        hint="look at them again (`gitmem consolidate --json`), or repeat with --skip-changed",
        changed=[each._asdict() for each in void],
    )


def _landed_row(row: Row, deed: Deed) -> Landed:
    decision, addresses = row.decision, tuple(each.address for each in row.seen)
    return Landed(decision.line, decision.action, addresses, deed.address, decision.reason)
