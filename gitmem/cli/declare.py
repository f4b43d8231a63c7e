"""How commands are declared: as data, which `plain` reads and `app` makes click's commands of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from gitmem.cli.invocation import Invocation
from gitmem.errors import BadInput
from gitmem.model.record import Record

if TYPE_CHECKING:
    import click

Function = TypeVar("Function", bound=Callable[..., Any])

PARAMETERS = "__click_params__"
"""Where a function keeps its parameters, the last one first: click's own decorators do so, too."""
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Whole(NamedTuple):
    """The type of a whole number within limits."""

    least: int
    most: int | None = None


class Parameter(Record):
    """An option or an argument of a command."""

    names: tuple[str, ...]
    attributes: Mapping[str, Any]
    """As `click.Option` and `click.Argument` take them; `type` may be a `Whole`."""

    @property
    def is_option(self) -> bool:
        """False for an argument, which is found by its position."""
        return self.names[0].startswith("-")

    @property
    def name(self) -> str:
        """The name of the function's parameter: the one without dashes, or the long one."""
        plain = [each for each in self.names if not each.startswith("-")]
        return plain[0] if plain else max(self.names, key=len).lstrip("-").replace("-", "_")

    @property
    def is_kept(self) -> bool:
        """Whether the value stays with the invocation and is not passed to the function."""
        return self.attributes.get("callback") is keep


def option(*names: str, **attributes: Any) -> Callable[[Function], Function]:
    """Add an option, or an argument, to a command."""

    def add(function: Function) -> Function:
        function.__dict__.setdefault(PARAMETERS, []).append(Parameter(names, attributes))
        return function

    return add


argument = option


def named(*names: str, **attributes: Any) -> Callable[[Function], Function]:
    """Add an option that names something, and so cannot be empty."""
    return option(*names, callback=not_empty, **attributes)


def not_empty(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Refuse an empty text: a shell variable that was not set must not mean everything or main."""
    if value == "" or (isinstance(value, tuple) and "" in value):
        from click import BadParameter

        raise BadParameter("it is empty", context, parameter)
    return value


def keep(context: click.Context, option: click.Parameter, value: object) -> None:
    """Keep the value of an option with the invocation."""
    if option.name in ("store", "group"):
        not_empty(context, option, value)
    if value and option.name:
        context.ensure_object(Invocation).take(option.name, value)


def _kept(*names: str, **attributes: Any) -> Parameter:
    return Parameter(names, {**attributes, "expose_value": False, "callback": keep})


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


GLOBAL_OPTIONS = (
    _kept("--store", metavar="DIR", help="Folder of the store  [env: GITMEM_HOME]"),
    _kept(
        "-g",
        "--group",
        metavar="NAME",
        help="Name of the group  [env: GITMEM_GROUP; default: main]",
        shell_complete=_complete_group,
    ),
    _kept("--json", is_flag=True, help="Print one JSON document"),
    _kept("-q", "--quiet", is_flag=True, help="Print only data and errors"),
)
"""The options that every command takes, before or after its name."""


def as_somebody(function: Function) -> Function:
    """Add the options that say in whose name a commit is made."""
    for name, metavar, line in (
        ("--source", "TEXT", "Source, recorded in the history"),
        ("--session", "ID", "Session, recorded in the history  [env: GITMEM_SESSION]"),
        ("--agent", "NAME", "Agent, recorded in the history  [env: GITMEM_AGENT]"),
    ):
        kept = _kept(name, metavar=metavar, help=line)
        function = option(*kept.names, **kept.attributes)(function)
    return function


def path_argument(name: str = "path", **attributes: Any) -> Callable[[Function], Function]:
    """Add an argument that a shell completes with the files of the group."""
    return argument(name, shell_complete=_complete_path, callback=not_empty, **attributes)


reason = option("--reason", metavar="TEXT", default="", help="Reason, recorded in the history")
at = named("--at", metavar="MOMENT", help="Show the state at a commit, a tag or a date")
allow_policy = option("--allow-policy", is_flag=True, help="Override the layer's write policy")
"""For commands that a layer's policy can stop."""
allow_secret = option(
    "--allow-secret",
    metavar="RULE",
    multiple=True,
    help="Accept this match as a false positive; repeatable",
)
"""For commands that a secret can stop."""
allow_markers = option(
    "--allow-markers", is_flag=True, help="Accept the conflict markers of a merge as text"
)
"""For commands that conflict markers can stop."""


class Declared:
    """A command as data."""

    def __init__(
        self, name: str, function: Callable[..., Any], *, takes_texts: bool, **attributes: Any
    ) -> None:
        self.name = name
        self.function = function
        self.takes_texts = takes_texts
        """Whether an argument that begins with a dash may be a text."""
        self.attributes = attributes
        """What else click has to know."""
        self.parameters: tuple[Any, ...] = tuple(reversed(getattr(function, PARAMETERS, ())))
        """Each a `Parameter`, or made by click's own decorators."""


class DeclaredGroup(Declared):
    """A command with commands of its own; its function runs when none of them is named."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__(name, function, takes_texts=False)
        self.commands: list[Declared] = []

    def declare(self, name: str, **attributes: Any) -> Callable[[Callable[..., Any]], Declared]:
        """Declare a command of this group; its function takes the invocation first."""

        def add(function: Callable[..., Any]) -> Declared:
            made = command(name, **attributes)(function)
            self.commands.append(made)
            return made

        return add


def command(
    name: str, *, takes_texts: bool = False, **attributes: Any
) -> Callable[[Callable[..., Any]], Declared]:
    """Declare a command; its function takes the invocation first."""

    def declare(function: Callable[..., Any]) -> Declared:
        return Declared(name, function, takes_texts=takes_texts, **attributes)

    return declare


def group(name: str) -> Callable[[Callable[..., Any]], DeclaredGroup]:
    """Declare a command with commands of its own; alone, it lists."""

    def declare(function: Callable[..., Any]) -> DeclaredGroup:
        return DeclaredGroup(name, function)

    return declare


def fields_of(given: tuple[str, ...]) -> dict[str, str]:
    """What several `--set FIELD=VALUE` ask for."""
    found = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise BadInput(
                f"{each!r} is not of the form FIELD=VALUE", hint="write it as --set Status=active"
            )
        found[name.strip()] = value.strip()
    return found
