"""The command `edit`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.cli.commands.write.capture import capture_lines, outcome
from gitmem.cli.declare import allow_markers, as_somebody, path_argument, reason
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import visible
from gitmem.errors import BadInput, PathRefused
from gitmem.model.hints import Call, Hint

if TYPE_CHECKING:
    from gitmem.memory.group import Group


FALLBACKS = ("editor", "vi", "nano")
HINT = 'set VISUAL or EDITOR, for example `EDITOR="code --wait"`'


@declare("edit")
@path_argument()
@reason
@as_somebody
@allow_markers
def edit_command(call: Invocation, path: str, reason: str, allow_markers: bool) -> int:
    """Edit a file with your editor, then capture it

    The editor is $VISUAL, else $EDITOR. Saving a new file creates it.

    \b
    Examples:
      gitmem edit state.md
      EDITOR="code --wait" gitmem edit diary/today.md --reason "notes of the day"
    """
    from gitmem.memory.group import Who
    from gitmem.memory.write.capture import capture
    from gitmem.memory.writing import FINDER

    editor = _editor(call.environ)
    with call.group(who=Who(FINDER.agent)) as group:
        name = group.relative(path)
        place = _place(group, name)
        before = capture(group, [name])
    for each in before.captured:
        call.remark(f"an edit of {each.path} was found and committed first")
    _run(editor, place)
    with call.group() as group:
        done = capture(group, [name], reason=reason, allow_markers=allow_markers)
    changed = bool(done.captured or done.held or done.claimed)
    call.answer(done, capture_lines(call, done) if changed else [f"unchanged {visible(name)}"])
    return outcome(done)


def _editor(environ: Mapping[str, str]) -> list[str]:
    """The editor's command line."""
    import shlex
    import shutil

    named = environ.get("VISUAL") or environ.get("EDITOR") or ""
    try:
        words = shlex.split(named)
    except ValueError as error:
        raise BadInput(f"invalid editor {named!r}: {error}", hint=HINT) from error
    if words:
        return words
    found = next(filter(shutil.which, FALLBACKS), None)
    if found is None or not sys.stdin.isatty():
        raise BadInput("no editor found", hint=HINT)
    return [found]


def _place(group: Group, name: str) -> Path:
    """Where the file stands or will stand; an editor must not be led out of the work tree."""
    if not name or (group.worktree / name).is_dir():
        raise BadInput(
            "name one file to edit", hint=Hint("for example ", Call("edit", ("state.md",)))
        )
    group.ensure_worktree()
    place = group.worktree / name
    if place.parent.resolve() != group.worktree.resolve() / Path(name).parent or place.is_symlink():
        raise PathRefused(
            f"{name} leads through a link", hint=Hint("see ", Call("held")), path=name, rule="link"
        )
    return place


def _run(editor: list[str], place: Path) -> None:
    import subprocess

    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        code = subprocess.run([*editor, str(place)], check=False).returncode
    except OSError as error:
        raise BadInput(
            f"cannot start the editor {editor[0]!r}: {error.strerror}", hint=HINT
        ) from error
    finally:
        if not os.path.lexists(place):
            with suppress(OSError):
                os.removedirs(place.parent)  # the work tree itself is never empty
    if code:
        raise BadInput(
            f"the editor {editor[0]!r} ended with {code}; nothing was captured",
            hint=Hint("if the file is as you want it, run ", Call("capture")),
        )
