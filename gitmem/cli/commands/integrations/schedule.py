"""The command `schedule`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from gitmem.cli import boundary
from gitmem.cli.declare import argument, as_somebody, group, option
from gitmem.cli.invocation import Invocation, ago
from gitmem.cli.settings import Flags, resolve
from gitmem.cli.style import columns, plain, text_lines, visible
from gitmem.integrations.schedule.plan import NAMES, TASKS

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.integrations.schedule.plan import Scheduled, SchedulePlan
    from gitmem.integrations.schedule.schedule import LastRun, Ran, Scheduler, ScheduleStatus


backend_option = option(
    "--backend",
    type=click.Choice(["systemd", "cron"]),
    help="Scheduler to use  [default: systemd where it runs for this user, else cron]",
)
dry_run_option = option(
    "--dry-run", is_flag=True, help="Show what would change, and change nothing"
)


@group("schedule")
def schedule_command(call: Invocation) -> None:
    """Run maintain every day by systemd or cron

    In each group of the store, by its own time zone: rotates logs at 00:00, runs everything that is
    due at 23:00, including the snapshot of the day, and writes the report of the week on Sundays at
    02:00. docs/schedules.md explains these times and how to change them.

    \b
    Examples:
      gitmem schedule print
      gitmem schedule install --dry-run
      gitmem schedule install
      gitmem schedule status
      gitmem schedule tasks context-check
    """
    _status(call, None)


@schedule_command.declare("print")
@backend_option
def print_(call: Invocation, backend: str | None) -> None:
    """Print the schedule, and change nothing

    Needs no scheduler on this machine: you can install the output by hand.

    \b
    Examples:
      gitmem schedule print
      gitmem schedule print --backend cron
      gitmem schedule print --backend systemd --json
    """
    from gitmem.integrations.schedule.schedule import schedule_print

    found = schedule_print(_plan(call), backend)
    several = len(found.parts) > 1
    texts = [f"# {each.path}\n{each.text}" if several else each.text for each in found.parts]
    call.answer(found, text_lines("\n".join(texts)), data=True)
    for note in (found.by_hand, *found.notes):
        call.remark(note)


@schedule_command.declare("install")
@backend_option
@dry_run_option
def install(call: Invocation, backend: str | None, dry_run: bool) -> None:
    """Install or update the schedule

    In a crontab, writes a block between two marks and leaves the rest alone. For systemd, writes a
    timer and a service for each job into the folder of the user's units, but never over a file that
    gitmem did not write. A second run changes nothing.

    \b
    Examples:
      gitmem schedule install --dry-run
      gitmem schedule install
      gitmem schedule install --backend cron
    """
    from gitmem.integrations.schedule.schedule import schedule_install

    done = schedule_install(_plan(call), backend, dry_run=dry_run)
    call.answer(done, _changes(call, [done], "nothing to do: the schedule is in place"))
    for note in done.notes:
        call.remark(note)


@schedule_command.declare("remove")
@backend_option
@dry_run_option
def remove(call: Invocation, backend: str | None, dry_run: bool) -> None:
    """Remove the schedule

    Without --backend, removes it from every scheduler. Memory is not affected.

    \b
    Examples:
      gitmem schedule remove --dry-run
      gitmem schedule remove
    """
    from gitmem.integrations.schedule.schedule import schedule_remove

    done = schedule_remove(_plan(call), backend, dry_run=dry_run)
    changed = any(each.changed for each in done)
    lines = _changes(call, done, "nothing to do: there is no schedule for this store")
    call.answer({"changed": changed, "dry_run": dry_run, "schedulers": done}, lines)


@schedule_command.declare("status")
@backend_option
def status(call: Invocation, backend: str | None) -> None:
    """Show what is scheduled, and when it last ran

    \b
    Examples:
      gitmem schedule status
      gitmem schedule status --json
    """
    _status(call, backend)


@schedule_command.declare("tasks")
@argument("name", type=click.Choice(TASKS), required=False)
def tasks(call: Invocation, name: str | None) -> None:
    """List the tasks for an agent's own scheduler

    Besides the jobs of the machine this is the context check, every 30 minutes, which only an agent
    can do: below 70 % it answers "Context OK: X%", from 70 % on it syncs memory, from 85 % on it
    syncs and then begins a new session. Each task has a priority (1 comes first) and waits until
    the agent is idle, where its host can tell; systemd and cron cannot. With NAME, print only the
    text of that task.

    \b
    Examples:
      gitmem schedule tasks
      gitmem schedule tasks context-check
      gitmem schedule tasks --json
    """
    from gitmem.integrations.schedule.plan import schedule_tasks

    tasks = schedule_tasks(_plan(call), _layout(call))
    found = [each for each in tasks if name in (None, each.name)]
    if name:
        call.answer({"tasks": found}, text_lines(found[0].text), data=True)
        return
    rows = [
        (
            each.name,
            each.time,
            f"priority {each.priority}",
            "when idle" if each.require_idle else "",
        )
        for each in found
    ]
    call.answer({"tasks": found}, columns(rows, (call.style.bold,)), data=True)
    call.remark(f"`{call.command('schedule tasks NAME')}` prints the text to give your agent")


@schedule_command.declare("run")
@argument("job", type=click.Choice(NAMES))
@as_somebody
def run(call: Invocation, job: str) -> int:
    """Do one job in every group in which it is due

    Schedulers call this. A group is due if, by its own clock, the job's time has come since the
    last run there. By hand, use `gitmem maintain`. The context check is for an agent: `gitmem
    schedule tasks context-check` prints the text to give it.

    \b
    Examples:
      gitmem schedule run rotation
      gitmem schedule run snapshot --quiet
    """
    from gitmem.integrations.schedule.schedule import schedule_run

    acting = call.settings.acting
    done = schedule_run(call.store, job, who=call.who, acting=acting, now=call.clock)
    done = tuple(each._replace(hint=call.addressed(each.hint, each.group)) for each in done)
    codes = [boundary.slug_code(each.code) for each in done if each.code]
    # What failed is an error: --quiet leaves it.
    call.answer({"job": job, "groups": done}, _ran(call, done), data=bool(codes))
    return max(codes, default=boundary.DONE)


def _layout(call: Invocation) -> str:
    """The name of the group's layout; a task needs no group, and then none."""
    from gitmem.memory.layouts import layout_of

    store, named = call.store, call.settings.group_named
    if not named and (store.requires_group or call.group_name() not in store.names()):
        return ""
    with call.group() as group:
        return layout_of(group).name


def _plan(call: Invocation) -> SchedulePlan:
    from gitmem.integrations.hosts.program import own_program
    from gitmem.integrations.schedule.plan import planned
    from gitmem.memory.clock import SystemZone
    from gitmem.memory.group import time_now

    unnamed = {key: value for key, value in call.environ.items() if key != "GITMEM_HOME"}
    return planned(
        call.store,
        program=own_program(sys.argv[0], sys.executable),
        default=resolve(Flags(), unnamed).store,
        acting=call.settings.acting,
        now=time_now(call.clock, SystemZone()),
        environ=call.environ,
    )


def _changes(call: Invocation, done: Sequence[Scheduled], nothing: str) -> Iterator[str]:
    for each in done:
        if each.dry_run:
            yield from text_lines(each.diff)
        else:
            altered = [file for file in each.files if file.change != "kept"]
            yield from (f"{file.change} {call.style.bold(visible(file.path))}" for file in altered)
        verb = "would run" if each.dry_run else "ran"
        yield from (f"{verb} {' '.join(command)}" for command in each.commands)
    if not any(each.changed for each in done):
        yield nothing


def _ran(call: Invocation, done: Sequence[Ran]) -> Iterator[str]:
    style = call.style
    paints = {"failed": style.bad, "skipped": style.warn, "done": style.good}

    def paint(outcome: str) -> str:
        return paints.get(outcome, plain)(outcome)

    rows = [(each.group, each.outcome, each.detail) for each in done]
    yield from columns(rows, (style.bold, paint)) if rows else ["this store has no groups"]
    yield from (visible(hint) for hint in dict.fromkeys(each.hint for each in done if each.hint))


def _status(call: Invocation, backend: str | None) -> None:
    from gitmem.integrations.schedule.schedule import schedule_status

    plan = _plan(call)
    found = schedule_status(plan, call.store, backend)
    call.answer(found, _status_lines(call, found, plan.now), data=True)
    for note in found.notes:
        call.remark(note)


def _status_lines(call: Invocation, found: ScheduleStatus, now: datetime) -> Iterator[str]:
    used = [each for each in found.schedulers if each.is_used]
    if not used:
        yield f"nothing is scheduled for {visible(found.store)}"
    for each in used:
        yield f"{call.style.bold(each.backend)} ({visible(each.place)})"
        yield from columns(_rows(each, found.runs, now), (plain, _state_paint(call)))
    failed = [each for each in found.runs if each.outcome == "failed"]
    for run in failed:
        what = f"{run.job} in {run.group}: {run.detail}"
        yield f"{call.style.bad('failed')} {visible(what)}"


def _rows(scheduler: Scheduler, runs: Sequence[LastRun], now: datetime) -> Iterator[Sequence[str]]:
    words = {True: "active", False: "not active", None: ""}
    for each in scheduler.entries:
        mine = [run.time for run in runs if run.job == each.job]
        last = f"last ran {ago(max(mine), now)}" if mine else "has not run yet"
        yield f"  {each.job}", each.state, words[each.active], each.time, last


def _state_paint(call: Invocation) -> Callable[[str], str]:
    style = call.style
    return lambda state: (style.good if state == "present" else style.warn)(state)
