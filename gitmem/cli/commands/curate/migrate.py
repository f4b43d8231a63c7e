"""The command `migrate`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.cli.changes import remark_found
from gitmem.cli.declare import as_somebody, option, reason
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import short, visible
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from gitmem.memory.curate.migrate import Migrated


@declare("migrate")
@option("--dry-run", is_flag=True, help="List what would change, and change nothing")
@reason
@as_somebody
def migrate_command(call: Invocation, dry_run: bool, reason: str) -> None:
    """Convert old files to the form of the layout

    Follows `migrate` in gitmem.yaml: renames files with old names, and moves sections to the file
    where they belong, leaving a line that says so. No line is lost, and a second run does nothing.

    \b
    Examples:
      gitmem migrate --dry-run
      gitmem migrate
    """
    from gitmem.memory.curate.migrate import migrate

    with call.group() as group:
        done = migrate(group, dry_run=dry_run, reason=reason)
    remark_found(call, done)
    if done.left:
        call.remark(done.left)
    pairs = [{"from": old, "to": new} for old, new in done.renamed]
    document = {**done._asdict(), "renamed": pairs}
    call.answer(document, _lines(call, done), changed=done.changed and not dry_run)


def _lines(call: Invocation, done: Migrated) -> Iterator[str]:
    style = call.style
    if not done.changed:
        yield "nothing to migrate"
        return
    verb = "would move" if done.dry_run else style.good("moved")
    commit = "" if done.dry_run else f" {style.name(short(done.commit))}"
    for old, new in done.renamed:
        yield f"{verb} {visible(old)} to {style.bold(visible(new))}{commit}"
    if done.sections:
        many = counted(done.sections, "section")
        yield f"{verb} {many} of {visible(done.source)} to {style.bold(visible(done.into))}{commit}"
