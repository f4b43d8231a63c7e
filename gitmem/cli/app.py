"""The application: click's commands, each made of its declaration when it is called."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import TYPE_CHECKING, Any

import click

from gitmem import __version__
from gitmem.cli import boundary
from gitmem.cli.commands import COMMANDS, SECTIONS, declared
from gitmem.cli.declare import (
    CONTEXT,
    GLOBAL_OPTIONS,
    PARAMETERS,
    Declared,
    DeclaredGroup,
    Parameter,
    Whole,
)
from gitmem.cli.invocation import Invocation
from gitmem.cli.plain import COMPLETE, HOOK

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

VALUED = ("--store", "-g", "--group")
FLAGS = ("--json", "-q", "--quiet")


class _WithGlobals(click.Command):
    """What commands and groups of commands share: the global options, listed apart."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        attributes.setdefault("context_settings", CONTEXT)
        super().__init__(*args, **attributes)
        self.globals = [made_parameter(each) for each in GLOBAL_OPTIONS]
        self.params = [*self.params, *self.globals]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then those that every command has."""
        apart = {id(each) for each in self.globals}
        own = [each for each in self.get_params(ctx) if id(each) not in apart]
        for title, options in (("Options", own), ("Global options", self.globals)):
            records = [each.get_help_record(ctx) for each in options if _is_option(each)]
            with formatter.section(title):
                formatter.write_dl([each for each in records if each])


def _is_option(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option)


class Command(_WithGlobals):
    """A command of gitmem."""


class CommandGroup(_WithGlobals, click.Group):
    """A command with commands of its own."""

    command_class = Command

    def __init__(self, *args: Any, **attributes: Any) -> None:
        attributes.setdefault("subcommand_metavar", "[COMMAND] [ARGS]...")
        super().__init__(*args, **attributes)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands first: they are what one looks for."""
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands as they are declared."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or say which ones are spelled alike."""
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise _no_such_command(ctx, args[0], known)
        return super().resolve_command(ctx, args)


def _no_such_command(ctx: click.Context, name: str, known: Sequence[str]) -> click.UsageError:
    from difflib import get_close_matches  # only after a typo

    near = get_close_matches(name, known)
    meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return click.UsageError(f"no command {name!r}{meant}", ctx)


class TextCommand(Command):
    """A command whose arguments may be whole texts.

    A text that begins with a dash (`- milk`, a `---` of frontmatter) is no option: none of ours has
    a blank in its name.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put such texts where no option is looked for."""
        end = (*args, "--").index("--")
        options, texts = self._parted(args[:end])
        rest = [*texts, *args[end + 1 :]]
        return super().parse_args(ctx, [*options, "--", *rest] if rest else options)

    def _parted(self, args: list[str]) -> tuple[list[str], list[str]]:
        valued = {
            name
            for each in self.params
            if isinstance(each, click.Option) and not each.is_flag
            for name in each.opts
        }
        options: list[str] = []
        texts: list[str] = []
        for arg in args:
            is_value = bool(options) and options[-1] in valued
            (texts if _is_text(arg) and not is_value else options).append(arg)
        return options, texts


def _is_text(arg: str) -> bool:
    name = arg.partition("=")[0]
    return arg.startswith("-") and (arg.startswith("---") or any(map(str.isspace, name)))


def made_parameter(declared: Parameter) -> click.Parameter:
    """What click knows of a parameter that is declared as data."""
    attributes = dict(declared.attributes)
    if isinstance(attributes.get("type"), Whole):
        attributes["type"] = click.IntRange(*attributes["type"])
    kind = click.Option if declared.is_option else click.Argument
    return kind(declared.names, **attributes)


@cache
def made_command(declared: Declared) -> click.Command:
    """What click knows of a command that is declared as data."""
    attributes = dict(declared.attributes)
    kind: type[click.Command] = attributes.pop("cls", Command)
    if declared.takes_texts:
        kind = TextCommand
    if isinstance(declared, DeclaredGroup):
        kind = CommandGroup
        attributes["commands"] = {each.name: made_command(each) for each in declared.commands}
        attributes["invoke_without_command"] = True
    parameters = [
        made_parameter(each) if isinstance(each, Parameter) else each
        for each in declared.parameters
    ]
    return click.command(declared.name, kind, params=parameters, **attributes)(_called(declared))


def _called(declared: Declared) -> Callable[..., Any]:
    """The function of a command as click calls it."""

    @wraps(declared.function)
    def run(**values: Any) -> Any:
        context = click.get_current_context()
        if context.invoked_subcommand is None:
            return declared.function(context.obj, **values)
        return None

    run.__dict__.pop(PARAMETERS, None)
    return run


class App(CommandGroup):
    """The command `gitmem`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, none of them loaded."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        if cmd_name not in COMMANDS:
            return None
        return made_command(declared(cmd_name))

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
            context.fail("no command given")
        click.echo(context.get_help(), err=True)
        context.exit(boundary.USAGE)
