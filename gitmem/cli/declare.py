"""How commands are declared: every one takes the global options, before or after its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from gitmem.cli.invocation import Invocation
from gitmem.errors import BadInput

Declared = TypeVar("Declared", bound=Callable[..., Any])

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def not_empty(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Refuse an empty text: a shell variable that was not set must not mean everything or main."""
    if value == "" or (isinstance(value, tuple) and "" in value):
        raise click.BadParameter("it is empty", context, parameter)
    return value


def _take(context: click.Context, option: click.Parameter, value: object) -> None:
    if option.name in ("store", "group"):
        not_empty(context, option, value)
    if value and option.name:
        context.ensure_object(Invocation).take(option.name, value)


def flag(*names: str, **attributes: Any) -> click.Option:
    """An option that is kept with the invocation and not passed to the command."""
    return click.Option(list(names), expose_value=False, callback=_take, **attributes)


def global_options() -> list[click.Parameter]:
    """The options that every command takes."""
    return [
        flag("--store", metavar="DIR", help="The store  [env: GITMEM_HOME]"),
        flag(
            "-g",
            "--group",
            metavar="NAME",
            help="The group  [env: GITMEM_GROUP; default: main]",
            shell_complete=_complete_group,
        ),
        flag("--json", is_flag=True, help="Answer with one JSON document"),
        flag("-q", "--quiet", is_flag=True, help="Print nothing but data and errors"),
    ]


def as_somebody(function: Declared) -> Declared:
    """Add the options that say in whose name a commit is made."""
    for name, metavar, line in (
        ("--source", "TEXT", "Where this comes from"),
        ("--session", "ID", "The session  [env: GITMEM_SESSION]"),
        ("--agent", "NAME", "Who does this  [env: GITMEM_AGENT]"),
    ):
        kept = click.option(name, metavar=metavar, help=line, expose_value=False, callback=_take)
        function = kept(function)
    return function


def path_argument(name: str = "path", **attributes: Any) -> Callable[[Declared], Declared]:
    """Add an argument that a shell completes with the files of the group."""
    return click.argument(name, shell_complete=_complete_path, callback=not_empty, **attributes)


def _complete_path(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    from gitmem.errors import GitmemError
    from gitmem.memory.read.listing import list_files

    try:
        with context.ensure_object(Invocation).group() as group:
            files = list_files(group).files
    except (GitmemError, OSError):
        return []  # a shell that completes is no place for complaints
    return [each.path for each in files if each.path.startswith(incomplete)]


def _complete_group(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    names = context.ensure_object(Invocation).store.names()
    return [each for each in names if each.startswith(incomplete)]


def named(*names: str, **attributes: Any) -> Callable[[Declared], Declared]:
    """Add an option that names something, and so cannot be empty."""
    return click.option(*names, callback=not_empty, **attributes)


reason = click.option("--reason", metavar="TEXT", default="", help="Why, for the history")
at = named("--at", metavar="MOMENT", help="As of a commit, a tag or a date")


class _WithGlobals(click.Command):
    """What commands and groups of commands share: the global options, listed apart."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        attributes.setdefault("context_settings", CONTEXT)
        super().__init__(*args, **attributes)
        self.globals = global_options()
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

    def declare(
        self, name: str, **attributes: Any
    ) -> Callable[[Callable[..., Any]], click.Command]:
        """Declare a command of this group; its function takes the invocation first."""

        def add(function: Callable[..., Any]) -> click.Command:
            made = command(name, **attributes)(function)
            self.add_command(made)
            return made

        return add

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
    return click.UsageError(f"there is no command {name!r}{meant}", ctx)


def command(name: str, **attributes: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command; its function takes the invocation first."""
    kind: type[click.Command] = attributes.pop("cls", Command)

    def declare(function: Callable[..., Any]) -> click.Command:
        return click.command(name, kind, **attributes)(click.pass_obj(function))

    return declare


def group(name: str) -> Callable[[Callable[..., Any]], CommandGroup]:
    """Declare a command with commands of its own; alone, it lists."""

    def declare(function: Callable[..., Any]) -> CommandGroup:
        made = click.group(name, cls=CommandGroup, invoke_without_command=True)
        return made(click.pass_obj(function))

    return declare


allow_policy = click.option(
    "--allow-policy", is_flag=True, help="Also what the layer keeps from change"
)
"""For commands that a layer's policy can stop."""


allow_secret = click.option(
    "--allow-secret",
    metavar="RULE",
    multiple=True,
    help="Accept this match as a false positive; repeatable",
)
"""For commands that a secret can stop."""


allow_markers = click.option(
    "--allow-markers", is_flag=True, help="Accept the conflict markers of a merge as text"
)
"""For commands that conflict markers can stop."""


def fields_of(given: tuple[str, ...]) -> dict[str, str]:
    """What several `--set FIELD=VALUE` ask for."""
    found = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"{each!r} sets no field", hint="write it as --set Status=active")
        found[name.strip()] = value.strip()
    return found


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
