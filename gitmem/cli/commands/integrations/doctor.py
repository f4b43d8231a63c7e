"""The command `doctor`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.cli import boundary
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import columns, visible
from gitmem.errors import BadInput
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from gitmem.integrations.doctor.doctor import Doctored, Wiring


MANAGED = {
    "darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
    "linux": "/etc/claude-code/managed-settings.json",
}
"""Where an administrator rules over Claude Code."""


@declare("doctor")
def doctor_command(call: Invocation) -> int:
    """Check the installation in agent hosts

    Checks the agent hosts of this machine, for the user and for the project in this folder: which
    events call gitmem, which skills are installed, and what would keep a hook from working. Changes
    nothing. Exits with 6 if it finds a problem, and prints the command that fixes it.

    \b
    Examples:
      gitmem doctor
      gitmem doctor --json
    """
    from importlib.util import find_spec

    from gitmem.integrations.doctor.doctor import Running, doctor
    from gitmem.integrations.hosts.program import own_program

    words = own_program(sys.argv[0], sys.executable)
    rules = MANAGED.get(sys.platform)
    group = _group(call)
    found = doctor(
        call.store,
        group,
        environ=call.environ,
        project=Path.cwd(),
        running=Running(words, sys.version_info[:3], find_spec("mcp") is not None),
        managed=Path(rules) if rules else None,
    )
    named = "" if group == call.settings.group else group  # what was named is added anyway
    hinted = [each._replace(hint=call.addressed(each.hint, named)) for each in found.findings]
    found = found._replace(findings=tuple(hinted))
    # Findings are errors: --quiet leaves them.
    call.answer(found, _lines(call, found), data=not found.is_well, well=found.is_well)
    return boundary.DONE if found.is_well else boundary.FINDINGS


def _group(call: Invocation) -> str:
    """The group that sessions in this folder use; broken links are a finding of their own."""
    linked = ""
    if not call.settings.group_named:
        with suppress(BadInput):
            linked = call.store.linked(call.folder)
    return linked or call.settings.group


def _lines(call: Invocation, found: Doctored) -> Iterator[str]:
    style = call.style
    rows = [(each.host, each.scope, _state(each), each.settings) for each in found.wired]
    yield from columns(rows, (style.bold,)) if rows else ()
    for each in found.findings:
        yield f"{style.bad(each.code)}: {visible(each.message)}"
        yield f"  {visible(each.hint)}"
    yield from (f"{style.warn('note')}: {visible(each)}" for each in found.notes)
    if found.is_well and found.notes:
        yield style.good(f"no findings, {counted(len(found.notes), 'note')}")
    elif found.is_well:
        yield style.good("no findings")
    else:
        yield style.bad(counted(len(found.findings), "finding"))


def _state(row: Wiring) -> str:
    """What a host has of us, in a few words."""
    if row.problem:
        return "unreadable"
    parts = [
        row.plugin and f"plugin {row.plugin}",
        row.events and counted(len(row.events), "event"),
        row.skills and counted(row.skills, "skill"),
        row.section and "section",
        row.mcp and "mcp",
    ]
    return ", ".join(str(each) for each in parts if each) or "not wired"
