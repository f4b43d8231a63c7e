"""The command `lint`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.cli import boundary
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import visible
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from gitmem.memory.curate.lint import Linted


@declare("lint")
def lint_command(call: Invocation) -> int:
    """Report secrets, duplicates and undated entries

    Also reports values copied from .env, files near or over their budget, entries without an
    importance or with an unknown status, and, in any file, conflict markers and credentials that
    plain git committed. Reads the last commit. Exits with 6 if it finds anything.

    \b
    Examples:
      gitmem lint
      gitmem lint -g research --json
    """
    from gitmem.memory.curate.lint import lint

    with call.group() as group:
        linted = lint(group)
    # Findings are errors: --quiet leaves them.
    hinted = [each._replace(hint=call.addressed(each.hint)) for each in linted.findings]
    linted = linted._replace(findings=tuple(hinted))
    call.answer(linted, _lines(call, linted), data=not linted.clean)
    return boundary.DONE if linted.clean else boundary.FINDINGS


def _lines(call: Invocation, linted: Linted) -> Iterator[str]:
    style = call.style
    looked = f"{counted(linted.checked, 'file')} checked"
    if linted.clean:
        yield f"{style.good('clean')}: {looked}"
        return
    last = ""
    for each in linted.findings:
        where = each.address or each.path
        yield f"{style.bold(visible(where))} {style.warn(each.rule)}: {visible(each.message)}"
        if each.hint != last:  # said once for a row of the same kind
            yield f"  {visible(each.hint)}"
        last = each.hint
    yield f"{style.bad(counted(len(linted.findings), 'finding'))}: {looked}"
