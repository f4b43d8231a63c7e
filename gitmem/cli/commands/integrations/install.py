"""The command `install`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitmem.cli import boundary
from gitmem.cli.declare import argument, option
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import columns, visible
from gitmem.errors import BadInput
from gitmem.integrations.hosts.table import HOSTS
from gitmem.model.access import MAIN
from gitmem.model.hints import Call, Hint
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from gitmem.integrations.install.apply import FileDone
    from gitmem.integrations.install.install import Installed


GIT_HOOK = "git-hook"
LEAVE = "leave out the option"


@declare("install")
@argument("host", type=click.Choice((*HOSTS, GIT_HOOK)))
@option(
    "--scope", type=click.Choice(("user", "project")), help="Settings to change  [default: user]"
)
@option("--mcp/--no-mcp", default=None, help="Add the MCP server, or remove it")
@option("--on-prompt/--no-on-prompt", default=None, help="Add passages to each prompt, or stop")
@option(
    "--permissions/--no-permissions",
    default=None,
    help="Let the model use memory without asking (default), or remove these rules",
)
@option(
    "--host-memory/--keep-host-memory",
    default=None,
    help="Put the host's own memory under history (default), or leave it alone",
)
@option(
    "--replace",
    is_flag=True,
    help="Replace another memory system's hooks, section and skills of the same name",
)
@option("--uninstall", is_flag=True, help="Remove gitmem from the host, and restore its files")
@option("--dry-run", is_flag=True, help="Show what would change, and change nothing")
def install_command(
    call: Invocation,
    *,
    host: str,
    scope: str | None,
    mcp: bool | None,
    on_prompt: bool | None,
    permissions: bool | None,
    host_memory: bool | None,
    replace: bool,
    uninstall: bool,
    dry_run: bool,
) -> int:
    """Wire gitmem into an agent host

    Adds hooks, skills and a section in the host's instructions (CLAUDE.md, AGENTS.md, GEMINI.md,
    copilot-instructions.md), for the user or for the project in this folder, and creates the store
    and the group if missing. Run it again to update everything. The rest of those files stays as it
    is, the store's folder `backups` gets a copy of each first, and edited skills are left alone.
    Exits with 6 if --uninstall leaves something behind: an unreadable file, a missing project, a
    note that could not be copied back.

    Claude Code asks before each use of a tool, and refuses when headless. So this also adds
    permission rules for the commands that an agent needs, for the skills, and for the files of a
    group. A linked folder gets those of its own group, in its .claude/settings.local.json.
    --no-permissions leaves them out.

    The memory that Claude Code writes by itself is put under history: its folder becomes a group in
    place; in a linked project it moves into the project's group, and --uninstall copies it back.
    --keep-host-memory leaves it alone, now and when you run this again.

    Hooks, a section or skills of the same names from another memory system stay, and the output
    names them. --replace puts gitmem in their place and removes old hooks and sections from the
    other scope, too; --uninstall restores all of it.

    git-hook makes a plain `git commit` in a group obey the same guards as a write.

    \b
    Examples:
      gitmem install claude-code --dry-run
      gitmem install claude-code
      gitmem install codex --scope project --mcp
      gitmem install gemini --mcp --on-prompt
      gitmem install claude-code --replace --dry-run
      gitmem install claude-code --uninstall
      gitmem install git-hook -g research
    """
    wishes = {
        "mcp": mcp,
        "on_prompt": on_prompt,
        "permissions": permissions,
        "host_memory": host_memory,
    }
    if (uninstall or host == GIT_HOOK) and (replace or any(x is not None for x in wishes.values())):
        named = "--mcp, --on-prompt, --permissions, --keep-host-memory and --replace"
        raise BadInput(f"{named} work only when installing into a host", hint=LEAVE)
    if host in HOSTS and host_memory is not None and HOSTS[host].own_memory is None:
        raise BadInput(f"{HOSTS[host].title} has no memory of its own", hint=LEAVE)
    if host == GIT_HOOK:
        if scope:
            raise BadInput("git-hook takes no --scope", hint=LEAVE)
        _git_hook(call, uninstall, dry_run)
        return boundary.DONE
    place = scope or "user"
    if uninstall:
        done = _uninstalled(call, host, place, dry_run)
    else:
        done = _installed(call, host, place, dry_run, replace, **wishes)
    hinted = done._replace(
        next=tuple(map(call.addressed, done.next)),
        remarks=tuple(map(call.addressed, done.remarks)),
        left=tuple(map(call.addressed, done.left)),
    )
    # What was not taken out is an error: --quiet leaves it.
    call.answer(hinted, _lines(call, hinted), data=bool(done.left))
    return boundary.FINDINGS if done.left else boundary.DONE


def _uninstalled(call: Invocation, host: str, scope: str, dry_run: bool) -> Installed:
    from gitmem.integrations.install.install import uninstall

    return uninstall(
        call.store, host, scope, environ=call.environ, project=Path.cwd(), dry_run=dry_run
    )


def _installed(
    call: Invocation, host: str, scope: str, dry_run: bool, replace: bool, **wishes: bool | None
) -> Installed:
    from gitmem.integrations.hosts.program import find_program, login_environ
    from gitmem.integrations.install.install import install

    # A host may be started where the variable is not set. What a project shares names no place.
    is_named = call.flags.store or (scope == "user" and call.environ.get("GITMEM_HOME"))
    named = str(call.settings.store) if is_named else ""
    path = login_environ(call.environ)["PATH"]
    return install(
        call.store,
        _group(call, host, scope),
        host,
        scope,
        program=find_program(sys.argv[0], sys.executable, path, named),
        environ=call.environ,
        project=Path.cwd(),
        replace=replace,
        path=path,
        dry_run=dry_run,
        **wishes,
    )


def _group(call: Invocation, host: str, scope: str) -> str:
    """The group that an installation is for; that of the user is for all folders without a link."""
    named = call.flags.group
    if scope == "project":
        return call.group_name()
    here = Hint(Call("install", (host,), (("scope", "project"),)), " in its folder")
    if named and named != MAIN:
        raise BadInput(
            f"your own settings apply in every folder, {named!r} only in linked ones",
            hint=Hint(
                "leave out -g and link the folder with ",
                Call("link", ("DIR",), group=named),
                ", or install into the project alone: ",
                here,
            ),
        )
    if call.store.requires_group and not call.settings.group_named:
        raise BadInput(
            "this store requires linked folders, and your own settings apply in all folders",
            hint=Hint("install into the project: ", here),
        )
    return call.settings.group


def _lines(call: Invocation, done: Installed) -> Iterator[str]:
    style = call.style
    for each in done.files:
        if not each.skill or each.action == "changed":
            yield from _diff_lines(call, each)
    rows = list(_rows(done.files))
    yield from columns(rows, (style.good,)) if rows else ()
    for remark in done.remarks:
        yield f"{style.warn('note')}: {visible(remark)}"
    for reason in done.left:
        yield f"{style.bad('left')}: {visible(reason)}"
    yield from _adopted_lines(call, done)
    if done.group:
        yield f"created group {style.bold(done.group)}"
    if not rows and not done.left and not done.adopted:
        state = "is up to date" if done.action == "installed" else "is not installed"
        yield f"nothing to do: {done.host} {state}"
    elif done.dry_run:
        yield f"{counted(len(done.files), 'file')} would change; nothing was written"
    yield from (f"next: {visible(step)}" for step in done.next if not done.dry_run)


def _adopted_lines(call: Invocation, done: Installed) -> Iterator[str]:
    """The folders of the host's own memory that are groups now."""
    state = "would adopt" if done.dry_run else call.style.good("adopted")
    for each in done.adopted:
        said = f"{visible(each.folder)} ({counted(each.files, 'file')})"
        whose = f", used in {visible(each.project)}" if each.linked else ""
        yield f"{state} {said} as the group {call.style.bold(each.group)}{whose}"
        yield from (f"  held: {visible(path)}" for path in each.held)


def _rows(files: Sequence[FileDone]) -> Iterator[tuple[str, str, str]]:
    """One row for each file, and for the files of a skill to which the same happens."""
    counts = Counter((each.action, each.skill) for each in files)
    for each in {(x.action, x.skill or x.path): x for x in files}.values():
        if each.skill:
            yield each.action, each.skill, counted(counts[each.action, each.skill], "file")
        else:
            yield each.action, each.path, each.backup and f"kept as {each.backup}"


def _diff_lines(call: Invocation, file: FileDone) -> Iterator[str]:
    style = call.style
    paints = {"+": style.good, "-": style.bad, "@": style.name}
    for line in file.diff.splitlines():
        shown = visible(line.rstrip("\r"))
        paint = paints.get(line[:1])
        yield paint(shown) if paint else shown


def _git_hook(call: Invocation, uninstall: bool, dry_run: bool) -> None:
    from gitmem.integrations.hosts.program import find_program, login_environ
    from gitmem.memory.admin.git_hook import put_git_hook, take_git_hook

    path = login_environ(call.environ)["PATH"]
    program = find_program(sys.argv[0], sys.executable, path)
    with call.group() as group:
        if uninstall:
            done = take_git_hook(group, dry_run=dry_run)
        else:
            done = put_git_hook(group, program.words, dry_run=dry_run)
    tense = "would be " if dry_run else ""
    said = f"{tense}{done.action}" if done.changed else f"already {done.action}"
    call.answer(done, [f"{said}: {visible(done.path)}"])
