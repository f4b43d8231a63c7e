"""The application: which commands there are, each loaded only when it is called."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gitmem import __version__
from gitmem.cli import boundary
from gitmem.cli.declare import CommandGroup
from gitmem.cli.invocation import Invocation

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Command -> its one line of help.
SECTIONS = {
    "Start": {
        "init": "Create a store and a group",
        "adopt": "Take an existing memory folder into a group",
        "groups": "List, rename and remove groups",
        "completion": "Print the completion script for a shell",
    },
    "Write": {
        "write": "Write a file, or add to one, as one commit",
        "edit": "Edit a file with your editor, then capture it",
        "capture": "Commit edits made with ordinary tools",
        "mv": "Move a file or a folder",
        "move-entry": "Move an entry to another file",
        "rm": "Move a file or a folder to the archive",
        "archive": "Move entries and files to the archive, or list it",
        "confirm": "Say that entries are still true",
        "rotate": "Begin the log of a new day",
        "consolidate": "Report what is too big, faded or past, and put it in order",
        "compact": "Keep the summary of a session",
        "rollup": "Roll up the days of a week, or the weeks of a month",
        "snapshot": "Tag what memory holds today",
        "transcript": "Keep what was said, and summarise it exactly once",
        "migrate": "Bring old files into the form of the layout",
    },
    "Read": {
        "inject": "Print what the model should see",
        "search": "Find what memory holds, and what was said",
        "memory": "Read and search just the files that the layout allows",
        "read": "Print a file, as it is or was",
        "list": "List the files, as they are or were",
        "entries": "List entries: decisions, projects, preferences, ideas",
        "freshness": "Show how long ago each entry was last touched",
        "status": "Show the state of the group and what needs attention",
        "log": "Show who did what, when and why",
        "show": "Show one commit",
        "diff": "Show what changed between two moments",
        "snapshots": "List the snapshots",
    },
    "Agents": {
        "install": "Wire gitmem into an agent host",
        "doctor": "Say what is wired, what is not, and what would fail",
        "link": "Say which group a project folder uses",
        "hook": "Answer an event of an agent host",
        "mcp": "Serve a group to an agent by MCP",
        "memory-tool": "Answer one command of the Anthropic memory tool",
        "schedule": "Let the machine call maintain every day",
    },
    "Repair": {
        "restore": "Bring back an entry, a file, a folder or the whole group",
        "undo": "Take back commits, and keep what came after",
        "held": "Decide on edits that may not enter git",
        "kept": "Bring back commits that left the branch",
        "check": "Check a group for damage, and repair it",
        "maintain": "Do everything that is due",
        "lint": "Report secrets, duplicates and undated entries",
    },
}
COMMANDS = {name: line for section in SECTIONS.values() for name, line in section.items()}

# Module below gitmem.cli.commands -> its commands. Each is its attribute `<name>_command`.
MODULES = {
    "admin.adopt": ("adopt",),
    "admin.check": ("check",),
    "admin.completion": ("completion",),
    "admin.groups": ("groups", "link"),
    "admin.init": ("init",),
    "curate.archive": ("archive",),
    "curate.consolidate": ("consolidate",),
    "curate.days": ("rotate", "snapshot", "snapshots"),
    "curate.lint": ("lint",),
    "curate.maintain": ("maintain",),
    "curate.migrate": ("migrate",),
    "curate.summaries": ("compact", "rollup"),
    "entries.entries": ("confirm", "entries", "move-entry"),
    "entries.freshness": ("freshness",),
    "integrations.doctor": ("doctor",),
    "integrations.hook": ("hook",),
    "integrations.install": ("install",),
    "integrations.schedule": ("schedule",),
    "integrations.serve": ("mcp", "memory-tool"),
    "read.files": ("list", "read"),
    "read.inject": ("inject",),
    "read.log": ("log",),
    "read.search": ("memory", "search"),
    "read.show": ("diff", "show"),
    "read.status": ("status",),
    "recover.held": ("held",),
    "recover.kept": ("kept",),
    "recover.restore": ("restore", "undo"),
    "transcripts.transcript": ("transcript",),
    "write.capture": ("capture",),
    "write.edit": ("edit",),
    "write.move": ("mv", "rm"),
    "write.write": ("write",),
}
COMPLETE = "_GITMEM_COMPLETE"
HOOK = "hook"
"""The command that exits with 0 or 1 alone: an agent host takes a 2 for a veto."""
VALUED = ("--store", "-g", "--group")
FLAGS = ("--json", "-q", "--quiet")


class App(CommandGroup):
    """The command `gitmem`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, none of them loaded."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module

        module = next(module for module, names in MODULES.items() if cmd_name in names)
        loaded = import_module(f"gitmem.cli.commands.{module}")
        found: click.Command = getattr(loaded, f"{cmd_name.replace('-', '_')}_command")
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the table says, without loading a command."""
        longest = max(map(len, COMMANDS))
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(longest), line) for name, line in section.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name, without loading a command."""
        from click.shell_completion import CompletionItem

        names = [each for each in COMMANDS if each.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(each, help=COMMANDS[each]) for each in names] + options

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click itself would take a reader who left for an error."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            return boundary.reader_left()

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run, report errors by the boundary, and exit."""
        given = list(sys.argv[1:] if args is None else args)
        invocation = extra.setdefault("obj", Invocation())

        def run() -> Any:
            return super(App, self).main(
                given, prog_name or "gitmem", complete_var or COMPLETE, False, **extra
            )

        if not standalone_mode:
            return run()
        code = boundary.guarded(run, given, invocation)
        sys.exit(min(code, boundary.UNEXPECTED) if may_be_hook(given) else code)


def may_be_hook(args: Sequence[str]) -> bool:
    """Whether a host may have called: `hook` is the command, or stands before it.

    Of an option that we do not know nobody can say whether the word behind it is its value.
    """
    left = iter(args)
    for each in left:
        value = next(left, "") if each in VALUED else ""
        if HOOK in (each, value):
            return True
        if each in COMMANDS:
            return False
        if each[:1] == "-" and each not in (*VALUED, *FLAGS):
            return HOOK in left
    return False


@click.group("gitmem", cls=App, invoke_without_command=True, subcommand_metavar="COMMAND [ARGS]...")
@click.version_option(__version__, prog_name="gitmem", message="%(prog)s %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Keep an agent's memory as plain Markdown in plain git.

    Every write is one commit, and nothing is ever lost.

    \b
    Examples:
      gitmem init
      gitmem write state.md "Moving billing to ESM" --reason "started today"
      gitmem log
    """
    if context.invoked_subcommand is None:
        if context.ensure_object(Invocation).flags.json:
            context.fail("there is no command")
        click.echo(context.get_help(), err=True)
        context.exit(boundary.USAGE)
