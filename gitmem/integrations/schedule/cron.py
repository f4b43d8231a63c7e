"""A schedule as a block of the user's crontab; whatever else stands there stays as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from shlex import quote

from gitmem.errors import Conflict, ProgramFailed, ProgramMissing
from gitmem.integrations.schedule.plan import (
    Altered,
    JobEntry,
    Scheduled,
    ScheduledJob,
    SchedulePlan,
    template,
    unified_diff,
)
from gitmem.integrations.schedule.programs import failure, last_words, run, run_well, text_of

TABLE = "crontab"
READ, WRITE, CLEAR = (TABLE, "-l"), (TABLE, "-"), (TABLE, "-r")
# How the programs say that a user has no table yet. Any other failure must not pass for that:
# the next step is to write the table anew.
NO_TABLE = ("no crontab for", "no such file or directory")


def works(environ: Mapping[str, str]) -> bool:
    """True where there is a crontab to put a block into."""
    return _readable(environ) is not None


def place(plan: SchedulePlan) -> str:
    """Where the entries stand."""
    return TABLE


def printed(plan: SchedulePlan) -> tuple[tuple[str, str], ...]:
    """What to put where."""
    return ((TABLE, f"{block(plan)}\n"),)


def by_hand(plan: SchedulePlan) -> str:
    """What to do with what is printed."""
    return "add this to your crontab with `crontab -e`"


def install(plan: SchedulePlan, *, dry_run: bool) -> Scheduled:
    """Put the block into the table, in place of the one that stood there."""
    table = _read(plan.environ)
    return _replace(plan, table, with_block(table, block(plan), plan.label), dry_run)


def remove(plan: SchedulePlan, *, dry_run: bool) -> Scheduled:
    """Take the block out of the table."""
    table = _read(plan.environ)
    return _replace(plan, table, without_block(table, plan.label), dry_run)


def is_there(plan: SchedulePlan) -> bool:
    """True where the table has a block for this store."""
    return bool(_pattern(plan.label).search(_whole(plan)))


def entries(plan: SchedulePlan) -> tuple[JobEntry, ...]:
    """Each job, as the table has it."""
    found = _pattern(plan.label).search(_whole(plan))
    lines = found[0].split("\n") if found else []
    return tuple(_entry(plan, each, lines) for each in plan.jobs)


def _entry(plan: SchedulePlan, job: ScheduledJob, lines: Sequence[str]) -> JobEntry:
    standing = [each for each in lines if f" schedule run {job.name} " in each]
    state = "present" if standing == job_lines(plan, job) else "outdated"
    return JobEntry(job.name, job.time.words, state if standing else "missing")


def block(plan: SchedulePlan) -> str:
    """The lines of a schedule, with the marks by which they are found again."""
    begin, end = _marks(plan.label)
    lines = [line for job in plan.jobs for line in job_lines(plan, job)]
    words = {"begin": begin, "lines": "\n".join(lines), "end": end}
    return template(TABLE).substitute(words).rstrip("\n")


def job_lines(plan: SchedulePlan, job: ScheduledJob) -> list[str]:
    """The lines of one job: more than one where zones differ from that of the machine."""
    command = " ".join(cron_word(each) for each in plan.command(job))
    return [f"{each.crontab} {command}" for each in plan.machine_times(job)]


def cron_word(text: str) -> str:
    r"""TEXT as one word of a command, for cron and then for its shell.

    To cron a bare `%` is the end of the line, so it becomes `\%`. Some crons also make one of two
    backslashes, so that after each the quotes are closed and opened again.
    """
    word = quote(text)
    if "\\" in word:
        word = "'" + text.replace("'", "'\"'\"'").replace("\\", "\\''") + "'"
    return word.replace("%", "\\%")


def with_block(table: str, block: str, label: str) -> str:
    """TABLE with BLOCK: where one stood, else at the end, and before a line without an end."""
    without_block(table, label)  # refuses half a block
    found = _pattern(label).search(table)
    if found:
        behind = without_block(table[found.end() :], label)
        return table[: found.start()] + block + found["end"] + behind
    if table and not table.endswith("\n"):
        return f"{block}\n{table}"  # cron runs no line of ours without an end
    return f"{table}{block}\n"


def without_block(table: str, label: str) -> str:
    """TABLE as it was before there was a block, byte for byte."""
    rest, last = "", 0
    for found in _pattern(label).finditer(table):
        rest += table[last : found.start()]
        last = found.end()
        if not found["end"]:  # then the line end before it is ours
            rest = rest.removesuffix("\n")
    rest += table[last:]
    begin, end = _marks(label)
    for mark in (begin, end):
        if mark in rest.split("\n"):
            raise Conflict(
                f"the crontab has a line `{mark}` without its other half; nothing was changed",
                hint="see to it with `crontab -e`",
            )
    return rest


def _marks(label: str) -> tuple[str, str]:
    name = f"gitmem schedule {label}".rstrip()
    return f"# BEGIN {name}", f"# END {name}"


def _pattern(label: str) -> re.Pattern[str]:
    """A whole block: one that begins anew before its end is none."""
    begin, end = map(re.escape, _marks(label))
    inside = rf"(?:(?!{begin}\n).*\n)*?"
    return re.compile(rf"^{begin}\n{inside}{end}(?P<end>\n|\Z)", re.MULTILINE)


def _read(environ: Mapping[str, str]) -> str:
    done = run(READ, environ)
    if not done.returncode:
        return text_of(done.stdout)
    said = last_words(done)
    if any(each in said.lower() for each in NO_TABLE):
        return ""
    raise failure(READ, said)


def _whole(plan: SchedulePlan) -> str:
    """The table, nothing where there is none to be had; half a block does not pass for none."""
    table = _readable(plan.environ) or ""
    without_block(table, plan.label)
    return table


def _readable(environ: Mapping[str, str]) -> str | None:
    """The table; None for who only looks, where there is none to be had."""
    with suppress(ProgramMissing, ProgramFailed):
        return _read(environ)
    return None


def _replace(plan: SchedulePlan, before: str, after: str, dry_run: bool) -> Scheduled:
    if before == after:
        return Scheduled("cron", False, dry_run, (Altered(TABLE, "kept"),), (), "")
    command = WRITE if after else CLEAR
    if not dry_run:
        run_well(command, plan.environ, after.encode("utf-8", "surrogateescape"))
    files = (Altered(TABLE, "changed" if after else "removed"),)
    diff = unified_diff(TABLE, before, after)
    return Scheduled("cron", True, dry_run, files, (command,), diff)
