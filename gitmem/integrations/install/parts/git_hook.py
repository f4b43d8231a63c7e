"""The pre-commit hook that comes with gitmem, for one repository."""

from __future__ import annotations

import shlex

from gitmem.integrations.install.locations import Program
from gitmem.memory.admin.git_hook import GitHooked, put_git_hook
from gitmem.memory.group import Group
from gitmem.resources import hooks

_CALL = 'ask() { gitmem "$@"; }'


def install_git_hook(group: Group, program: Program, *, dry_run: bool = False) -> GitHooked:
    """Put it into the group's repository, calling PROGRAM."""
    text = (hooks() / "git" / "pre-commit").read_text("utf-8")
    call = _CALL.replace("gitmem", shlex.join(program.words))
    return put_git_hook(group, text.replace(_CALL, call).encode(), dry_run=dry_run)
