"""The command `consolidate`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitmem.cli.changes import file_lines, remark_found
from gitmem.cli.commands.curate.report import decision_lines, report_lines, seed_report
from gitmem.cli.declare import as_somebody, at, named, option, reason
from gitmem.cli.declare import command as declare
from gitmem.cli.input import STDIN, read_stdin
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import short, visible
from gitmem.errors import BadInput
from gitmem.model.hints import Call, Hint
from gitmem.model.secrets.find import redacted_quote

if TYPE_CHECKING:
    from gitmem.memory.curate.consolidate import Consolidated
    from gitmem.memory.curate.decide import Decided


SEED = "seed"


@declare("consolidate")
@option("--apply", is_flag=True, help="Archive old logs and outdated entries")
@named("--plan", metavar="FILE", help="Apply decisions from NDJSON lines; - reads stdin")
@option("--dry-run", is_flag=True, help="List what would change, and change nothing")
@named("--base", metavar="COMMIT", help="Commit on which the plan is based")
@named("--keys", metavar="seed", help="Give the JSON report the keys of zylos' consolidate.js")
@option("--skip-changed", is_flag=True, help="Skip decisions on entries that changed since")
@at
@reason
@as_somebody
def consolidate_command(
    call: Invocation,
    *,
    apply: bool,
    plan: str | None,
    dry_run: bool,
    base: str | None,
    skip_changed: bool,
    keys: str | None,
    at: str | None,
    reason: str,
) -> None:
    """Report what needs curating, and archive outdated entries

    Without options it only reports: files over budget, what --apply would archive, entries to
    confirm, rewrite or archive, and duplicate entries.

    --apply does what can be done automatically. It archives logs older than 30 days, and entries
    with a final status (such as completed or superseded) that have not changed for 30 days; never
    one of importance 1 or 2, and never one for its age alone. Each kind is one commit.

    --plan applies decisions as one commit, all or nothing. Each line is a JSON object: confirm,
    archive, update, move, merge-entries or keep; see docs/consolidation.md. The report names the
    commit that it is based on; a decision on an entry that changed since is a conflict.

    \b
    Examples:
      gitmem consolidate
      gitmem consolidate --json --at 2026-02-08
      gitmem consolidate --json --keys seed
      gitmem consolidate --apply --dry-run
      gitmem consolidate --plan decisions.ndjson --dry-run
      gitmem consolidate --plan - --base 51cc3e5 --reason "the weekly look" <decisions.ndjson
    """
    _check_together(apply, plan, at, bool(base or skip_changed))
    _check_keys(call, keys, report=not apply and plan is None)
    options = {"dry_run": dry_run, "reason": reason}
    if plan is not None:
        _decide(call, plan, base=base or "", skip_changed=skip_changed, **options)
    elif apply:
        _apply(call, **options)
    elif dry_run:
        raise BadInput("--dry-run needs --apply or --plan", hint="add --apply, or --plan FILE")
    else:
        _report(call, at, keys)


def _check_together(apply: bool, plan: str | None, at: str | None, about_a_plan: bool) -> None:
    """Refuse options that make no sense together."""
    if apply and plan is not None:
        raise BadInput("--apply and --plan exclude each other", hint="run one after the other")
    if at and (apply or plan is not None):
        raise BadInput("--at works only with the report", hint="leave out --apply and --plan")
    if about_a_plan and plan is None:
        raise BadInput("--base and --skip-changed need --plan", hint="add --plan FILE")


def _check_keys(call: Invocation, keys: str | None, *, report: bool) -> None:
    if keys is None:
        return
    if keys != SEED:
        raise BadInput(f"unknown --keys {redacted_quote(keys)}", hint=f"use `--keys {SEED}`")
    if not report:
        raise BadInput("--keys only works with the report", hint="leave out --apply and --plan")
    if not call.settings.json:
        raise BadInput(
            "--keys needs --json",
            hint=Hint("run ", Call("consolidate", (), (("json", True), ("keys", SEED)))),
        )


def _report(call: Invocation, at: str | None, keys: str | None) -> None:
    from gitmem.memory.curate.report import made_report, report

    with call.group() as group:
        found = report(group, at=at) if at else made_report(group)
        now = group.now()
    if keys:
        # Our own report is about a day; who reads these keys expects the time of the run.
        found = found if at else found._replace(timestamp=now)
        call.answer(seed_report(found), data=True)
        return
    call.answer(found, report_lines(call, found), data=True)


def _apply(call: Invocation, **options: Any) -> None:
    from gitmem.memory.curate.consolidate import consolidate

    with call.group() as group:
        done = consolidate(group, **options)
    remark_found(call, done)
    call.answer(done, _consolidated(call, done), changed=done.changed)
    for each in done.warnings:
        call.remark(each)


def _consolidated(call: Invocation, done: Consolidated) -> Iterator[str]:
    style = call.style
    verb = "would archive" if done.dry_run else style.good("archived")
    for each in (*done.logs, *done.entries):
        yield f"{verb} {visible(each.source)} to {style.bold(visible(each.address))}"
    for left in done.left_alone:
        why = visible(call.addressed(left.why))
        yield f"{style.warn('left alone')} {visible(left.address)}: {why}"
    if not done.changed:
        yield "nothing to archive"
    elif not done.dry_run:
        logged = f", logged in {visible(done.logged)}" if done.logged else ""
        undo = f"to take it back: {call.command(' '.join(['undo', *map(short, done.commits)]))}"
        yield f"{style.name(short(done.commit))}{logged}; {undo}"
    yield from decision_lines(call, done.to_decide)


def _decide(call: Invocation, plan: str, **options: Any) -> None:
    from gitmem.memory.curate.decide import decide

    data = _plan_text(plan)
    with call.group() as group:
        done = decide(group, data, **options)
    remark_found(call, done)
    call.answer(done, _decided(call, done))
    for each in done.warnings:
        call.remark(each)


def _plan_text(plan: str) -> bytes:
    if plan == STDIN:
        return read_stdin("plan", hint="pipe the decisions in, or name a file")
    try:
        return Path(plan).read_bytes()
    except OSError as error:
        raise BadInput(
            f"cannot read {plan!r}: {error.strerror}", hint="name a file of decisions"
        ) from error


def _decided(call: Invocation, done: Decided) -> Iterator[str]:
    style = call.style
    for each in done.decisions:
        there = f" -> {style.bold(visible(each.address))}" if each.address else ""
        yield f"{style.good(each.action)} {visible(', '.join(each.addresses))}{there}"
    for void in done.skipped:
        what = visible(", ".join(void.addresses))
        yield f"{style.warn('skipped')} {void.action} {what}: changed since {short(done.base)}"
    yield from file_lines(style, done.files)
    if not done.changed:
        yield "nothing to change"
    elif not done.dry_run:
        commit = short(done.commit)
        yield f"{style.name(commit)}; to take it back: {call.command(f'undo {commit}')}"
