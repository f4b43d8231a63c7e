"""The command `maintain`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gitmem.cli import boundary
from gitmem.cli.declare import as_somebody, option
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import columns, plain, visible
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from gitmem.integrations.install.skill_update import SkillsUpdated
    from gitmem.memory.upkeep.maintain import Maintained


@declare("maintain")
@option("--all", "everywhere", is_flag=True, help="Maintain every group of the store")
@option("--dry-run", is_flag=True, help="List what is due, and do nothing")
@as_somebody
def maintain_command(call: Invocation, everywhere: bool, dry_run: bool) -> int:
    """Run all due jobs: capture, rotate, snapshot, verify, pack

    Recovers interrupted writes, captures edits, migrates old files, rotates logs, takes the
    snapshot of the day and missing ones, writes the report of the week, verifies new objects, packs
    the repository, writes a commit-graph for git, and updates installed skills. You can run it at
    any time, as often as you like. A failing step does not stop the others; the exit code is the
    highest of their codes. `gitmem status` shows the last run.

    \b
    Examples:
      gitmem maintain
      gitmem maintain --all --quiet
      gitmem maintain --dry-run --json
    """
    done = _all_maintained(call, dry_run) if everywhere else (_maintained(call, dry_run),)
    codes = [boundary.slug_code(each.code) for group in done for each in group.failed]
    hinted = [_addressed(call, each, each.group if everywhere else "") for each in done]
    document = {"groups": hinted} if everywhere else hinted[0]
    skills = () if dry_run else _skills(call)
    # What failed is an error: --quiet leaves it.
    lines = [*_lines(call, hinted), *_skill_lines(call, skills)]
    call.answer(document, lines, data=bool(codes), **({"skills": skills} if skills else {}))
    return max(codes, default=boundary.DONE)


def _maintained(call: Invocation, dry_run: bool) -> Maintained:
    from gitmem.memory.upkeep.maintain import maintain

    with call.group() as group, call.progress("maintaining") as progress:
        return maintain(group, dry_run=dry_run, progress=progress)


def _all_maintained(call: Invocation, dry_run: bool) -> tuple[Maintained, ...]:
    from gitmem.memory.upkeep.maintain import maintain_all

    with call.progress("maintaining groups") as progress:
        return maintain_all(
            call.store,
            who=call.who,
            acting=call.settings.acting,
            now=call.clock,
            dry_run=dry_run,
            progress=progress,
        )


def _skills(call: Invocation) -> tuple[SkillsUpdated, ...]:
    """Installed skills, brought up to date; most stores have no record of any."""
    if not os.path.exists(call.settings.store / "installs.json"):
        return ()
    from gitmem.integrations.install.skill_update import update_installed

    return update_installed(call.settings.store)


def _skill_lines(call: Invocation, done: Sequence[SkillsUpdated]) -> Iterator[str]:
    for each in done:
        if each.files:
            yield f"skills of {each.host}: {counted(len(each.files), 'file')} brought up to date"
        yield from (f"note: {visible(call.addressed(remark))}" for remark in each.remarks)


def _addressed(call: Invocation, done: Maintained, group: str) -> Maintained:
    """What became of a group, with hints that can be typed as they are."""
    steps = tuple(each._replace(hint=call.addressed(each.hint, group)) for each in done.steps)
    return done._replace(steps=steps)


def _lines(call: Invocation, done: Sequence[Maintained]) -> Iterator[str]:
    """One line for each step that did something, or should have."""
    style = call.style
    paints = {"failed": style.bad, "skipped": style.warn, "done": style.good, "due": style.good}

    def paint(outcome: str) -> str:
        return paints.get(outcome, plain)(outcome)

    told = [(group, each) for group in done for each in group.steps if each.outcome != "nothing"]
    rows = [(group.group, each.step, each.outcome, each.detail) for group, each in told]
    yield from columns(rows, (style.bold, plain, paint)) if rows else ()
    yield from (visible(hint) for hint in dict.fromkeys(x.hint for _, x in told if x.hint))
    idle = sum(group.outcome == "nothing" for group in done)
    if not done:
        yield "this store has no groups"
    elif idle == len(done) == 1:
        yield "nothing was due"
    elif idle:
        yield f"nothing was due in {counted(idle, 'group')}"
