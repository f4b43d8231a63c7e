"""A schedule as a block of the user's crontab; all other lines stay as they are."""

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
# Messages for a user without a crontab. Any other failure must not pass for that: the next step
# replaces the whole table.
NO_TABLE = ("no crontab for", "no such file or directory")


def works(environ: Mapping[str, str]) -> bool:
    """Whether the crontab of this user can be read."""
    return _readable(environ) is not None


def place(plan: SchedulePlan) -> str:
    """Where the entries are."""
    return TABLE


def printed(plan: SchedulePlan) -> tuple[tuple[str, str], ...]:
    """The block to add."""
    return ((TABLE, f"{block(plan)}\n"),)


def by_hand(plan: SchedulePlan) -> str:
    """How to install the block by hand."""
    return "add this to your crontab with `crontab -e`"


def install(plan: SchedulePlan, *, dry_run: bool) -> Scheduled:
    """Add the block to the table, or replace the old one."""
    table = _read(plan.environ)
    return _replace(plan, table, with_block(table, block(plan), plan.label), dry_run)


def remove(plan: SchedulePlan, *, dry_run: bool) -> Scheduled:
    """Remove the block from the table."""
    table = _read(plan.environ)
    return _replace(plan, table, without_block(table, plan.label), dry_run)


def is_there(plan: SchedulePlan) -> bool:
    """Whether the table has a block for this store."""
    return bool(_pattern(plan.label).search(_whole(plan)))


def entries(plan: SchedulePlan) -> tuple[JobEntry, ...]:
    """The state of each job in the table."""
    found = _pattern(plan.label).search(_whole(plan))
    lines = found[0].split("\n") if found else []
    return tuple(_entry(plan, each, lines) for each in plan.jobs)


def _entry(plan: SchedulePlan, job: ScheduledJob, lines: Sequence[str]) -> JobEntry:
    standing = [each for each in lines if f" schedule run {job.name} " in each]
    state = "present" if standing == job_lines(plan, job) else "outdated"
    return JobEntry(job.name, job.time.words, state if standing else "missing")


def block(plan: SchedulePlan) -> str:
    """The lines of a schedule between its marks."""
    begin, end = _marks(plan.label)
    lines = [line for job in plan.jobs for line in job_lines(plan, job)]
    words = {"begin": begin, "lines": "\n".join(lines), "end": end}
    return template(TABLE).substitute(words).rstrip("\n")


def job_lines(plan: SchedulePlan, job: ScheduledJob) -> list[str]:
    """The lines of one job: several where zones differ from that of the machine."""
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
    """TABLE with BLOCK in place of the old one, else at the end or before an unterminated line."""
    without_block(table, label)  # raises for half a block
    found = _pattern(label).search(table)
    if found:
        behind = without_block(table[found.end() :], label)
        return table[: found.start()] + block + found["end"] + behind
    if table and not table.endswith("\n"):
        return f"{block}\n{table}"  # cron ignores an unterminated line
    return f"{table}{block}\n"


def without_block(table: str, label: str) -> str:
    """TABLE without the block, byte for byte as before it was added."""
    rest, last = "", 0
    for found in _pattern(label).finditer(table):
        rest += table[last : found.start()]
        last = found.end()
        if not found["end"]:  # then the line end before it was added
            rest = rest.removesuffix("\n")
    rest += table[last:]
    begin, end = _marks(label)
    for mark in (begin, end):
        if mark in rest.split("\n"):
            raise Conflict(
                f"the line `{mark}` in the crontab has no counterpart; nothing was changed",
                hint="fix it with `crontab -e`",
            )
    return rest


def _marks(label: str) -> tuple[str, str]:
    name = f"gitmem schedule {label}".rstrip()
    return f"# BEGIN {name}", f"# END {name}"


def _pattern(label: str) -> re.Pattern[str]:
    """Matches a complete block, in which no other one begins."""
    begin, end = map(re.escape, _marks(label))
    inside = rf"(?:(?!{begin}\n).*\n)*?"
    return re.compile(rf"^{begin}\n{inside}{end}(?P<end>\n|\Z)", re.MULTILINE)


def _read(environ: Mapping[str, str]) -> str:
    done = run(READ, environ)
    if not done.returncode:
        return text_of(done.stdout)
    message = last_words(done)
    if any(each in message.lower() for each in NO_TABLE):
        return ""
    raise failure(READ, message)


def _whole(plan: SchedulePlan) -> str:
    """The table, empty where it is unreadable; raises for half a block."""
    table = _readable(plan.environ) or ""
    without_block(table, plan.label)
    return table


def _readable(environ: Mapping[str, str]) -> str | None:
    """The table; None where it cannot be read."""
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
