"""The command `check`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.cli import boundary
from gitmem.cli.declare import command as declare
from gitmem.cli.declare import option
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import visible
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from gitmem.memory.admin.check import Checked, CheckFinding
    from gitmem.memory.admin.git_hook import Staged


REPAIR = "gitmem check --repair"


@declare("check")
@option(
    "--repair", is_flag=True, help="Repair what can be repaired; damaged files go to quarantine"
)
@option("--full", is_flag=True, help="Read the whole history again, not only new commits")
@option("--staged", is_flag=True, help="Check only what `git commit` would commit")
@option("--index", metavar="FILE", hidden=True)  # git has another one for `commit -a`
@option("--message", metavar="FILE", help="Check only the commit message in FILE")
@option(
    "--acknowledge",
    metavar="ID",
    multiple=True,
    help="Stop reporting the secret or lost version with this ID; repeatable",
)
def check_command(
    call: Invocation,
    *,
    repair: bool,
    full: bool,
    acknowledge: tuple[str, ...],
    staged: bool,
    index: str | None,
    message: str | None,
) -> int:
    """Check a group for damage, and repair it

    Reads every object and checks branches, the index, the work tree, locks, settings and file
    modes. Exits with 6 while a problem is left.

    \b
    Examples:
      gitmem check
      gitmem check --repair
      gitmem check -g research --full --json
      gitmem check --staged
      gitmem check --acknowledge 4f0c1a9be27d
    """
    if acknowledge:
        return _acknowledge(call, acknowledge)
    if staged or message:
        return _staged(call, Path(index) if index else None, message)
    from gitmem.memory.admin.check import check_group  # also of a group that cannot be opened

    with call.progress("checking") as progress:
        checked = check_group(
            call.store,
            call.group_name(),
            repair=repair,
            full=full,
            acting=call.settings.acting,
            now=call.clock,
            progress=progress,
            near=call.folder,
        )
    hinted = [
        each._replace(hint=call.addressed(each.hint), repaired=call.addressed(each.repaired))
        for each in checked.findings
    ]
    document = checked._replace(findings=tuple(hinted))
    # Findings are errors: --quiet leaves them.
    call.answer(document, _lines(call, checked, repair), data=not checked.sound)
    return boundary.DONE if checked.sound else boundary.FINDINGS


def _lines(call: Invocation, checked: Checked, repair: bool) -> Iterator[str]:
    style = call.style
    looked = f"{counted(checked.objects, 'object')}, {counted(checked.commits, 'commit')} checked"
    for each in checked.findings:
        yield from _finding(call, each)
    if checked.sound:
        yield f"{style.good('sound')}: {looked}"
        return
    left = sum(each.stands for each in checked.findings)
    yield f"{style.bad(counted(left, 'finding'))}: {looked}"
    if not repair and any(each.stands and REPAIR in each.hint for each in checked.findings):
        yield f"next: {call.command('check --repair')}"


def _finding(call: Invocation, finding: CheckFinding) -> Iterator[str]:
    style = call.style
    paint = {"error": style.bad, "warning": style.warn}.get(finding.severity, style.dim)
    yield f"{paint(finding.severity)} {finding.code}: {visible(finding.message)}"
    if finding.repaired:
        yield f"  {style.good('repaired')}: {visible(call.addressed(finding.repaired))}"
    elif finding.hint and REPAIR not in finding.hint:  # said once, at the end
        yield f"  {visible(call.addressed(finding.hint))}"


def _acknowledge(call: Invocation, ids: tuple[str, ...]) -> int:
    from gitmem.memory.admin.committed_secrets import acknowledge

    with call.group() as group:
        done = acknowledge(group, ids)
    before = "" if done.changed else " before"
    call.answer(done, (f"{each} acknowledged{before}" for each in done.ids))
    if done.secrets:
        call.remark("models see these values again in every file that still has them")
    return boundary.DONE


def _staged(call: Invocation, index: Path | None, message: str | None) -> int:
    from gitmem.memory.admin.git_hook import guard_message, guard_staged

    if message:
        found = guard_message(Path(message).read_text("utf-8", "replace"))
    else:
        with call.group() as group:
            found = guard_staged(group, index)
    # A refused commit needs a look: --quiet prints it.
    call.answer(found, _staged_lines(call, found), data=bool(found.refused))
    return boundary.FINDINGS if found.refused else boundary.DONE


def _staged_lines(call: Invocation, found: Staged) -> Iterator[str]:
    style = call.style
    for each in found.refused:
        yield f"{style.bad('refused')} {visible(each.path)}: {visible(each.rule)}"
    if not found.refused:
        yield f"{style.good('sound')}: {counted(found.files, 'file')} staged"
