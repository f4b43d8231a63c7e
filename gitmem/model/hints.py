"""What to do next, as data: a verb with its arguments, which each door words in its own way.

The command line shows a hint as a command, MCP as a tool call, and Python, as `str(hint)`, as a
method of a group. No other room names a command line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gitmem.model.record import Record
from gitmem.model.text.format import quoted

COMMAND_ONLY = frozenset(
    {
        "adopt",
        "check",
        "doctor",
        "edit",
        "groups",
        "init",
        "install",
        "link",
        "mcp",
        "schedule",
        "transcript import",
    }
)
"""Verbs without a method: in Python, too, a hint names the command."""
_METHODS = {
    "archive --list": "entries.archived",
    "confirm": "entries.confirm",
    "consolidate": "report",
    "consolidate --apply": "consolidate",
    "diff": "history.diff",
    "freshness": "entries.freshness",
    "held ignore --list": "held.ignored",
    "held ignore --remove": "held.unignore",
    "held list --trash": "held.trash",
    "log": "history.log",
    "memory get": "memory_get",
    "memory search": "memory_search",
    "move-entry": "entries.move",
    "restore --all": "restore",
    "rollup --due": "rollups_due",
    "show": "history.show",
    "snapshots": "history.snapshots",
    "transcript": "transcripts.status",
}
"""Methods whose names differ from the verb."""
_TERMINAL = ("yes", "json")
"""Options about questions and output, which no method has."""

Options = tuple[tuple[str, str | bool], ...]


class Call(Record):
    """A verb of gitmem with its arguments."""

    verb: str
    """Such as `check`, or `held show`."""
    args: tuple[str, ...] = ()
    options: Options = ()
    """By the names of the Python API: `("allow_shrink", True)`."""
    group: str = ""
    """The group it is meant for, where that is not the caller's."""
    bare: bool = False
    """Whether it is a field of its own: shown as a command without backticks, also in Python."""


class Option(Record):
    """An option of the call that failed, to be given when it is repeated."""

    name: str
    value: str | bool = True


Part = str | Call | Option
Render = Callable[[Call | Option], str]


def call(verb: str, *args: str, group: str = "", **options: str | bool) -> Call:
    """The call of VERB with ARGS and OPTIONS."""
    return Call(verb, args, tuple(options.items()), group)


def command(verb: str, *args: str, **options: str | bool) -> Hint:
    """A call for a field that holds nothing but a command."""
    return Hint(Call(verb, args, tuple(options.items()), bare=True))


class Hint(str):
    """A text in which calls and options are data; its string value is for Python.

    Put texts together with `+` or `Hint.joined`: an f-string keeps the string value only.
    """

    __slots__ = ("parts",)

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Hint:
        """The text that PARTS make; a hint among them is taken apart."""
        flat = tuple(_flat(parts))
        made = super().__new__(cls, "".join(map(_in_python, flat)))
        made.parts = flat
        return made

    def __add__(self, other: str) -> Hint:
        return Hint(self, other)

    def __radd__(self, other: str) -> Hint:
        return Hint(other, self)

    @classmethod
    def joined(cls, separator: str, texts: Iterable[str]) -> Hint:
        """TEXTS, hints or not, with SEPARATOR between them."""
        parts = [part for text in texts for part in (separator, text)]
        return cls(*parts[1:])

    def of_group(self, group: str) -> Hint:
        """The same, whose calls are meant for GROUP."""
        named = (
            each._replace(group=each.group or group) if isinstance(each, Call) else each
            for each in self.parts
        )
        return Hint(*named)


def rendered(text: str, render: Render) -> str:
    """TEXT, in which a door's RENDER words the calls and options; a plain text stays as it is."""
    if not isinstance(text, Hint):
        return text
    return "".join(each if isinstance(each, str) else render(each) for each in text.parts)


def _flat(parts: Iterable[Part]) -> Iterable[Part]:
    for part in parts:
        if isinstance(part, Hint):
            yield from part.parts
        else:
            yield part


def _in_python(part: Part) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Option):
        return f"{part.name}={part.value!r}"
    if part.bare or {part.verb, part.verb.partition(" ")[0]} & COMMAND_ONLY:
        return _typed(part)
    name, options = method_of(part.verb, part.options)
    given = (f"{key}={value!r}" for key, value in options)
    return f"`memory.{name}({', '.join((*map(repr, part.args), *given))})`"


def method_of(verb: str, options: Options = ()) -> tuple[str, Options]:
    """The method of the Python API that does what VERB does, and the options that it takes."""
    options = tuple(each for each in options if each[0] not in _TERMINAL)
    for each in options:
        method = _METHODS.get(f"{verb} --{each[0]}")
        if method:
            return method, tuple(other for other in options if other != each)
    return _METHODS.get(
        verb, verb.replace("transcript ", "transcripts.").replace(" ", ".")
    ), options


def in_shell(text: str) -> str:
    """TEXT with its calls as commands, for a door without flags of its own."""
    return rendered(text, _typed)


def _typed(part: Call | Option) -> str:
    if isinstance(part, Option):
        return as_option(part)
    return as_command(part, f" -g {quoted(part.group)}" if part.group else "")


def as_command(call: Call, flags: str = "") -> str:
    """CALL as it is typed in a shell, with FLAGS of the program before its verb."""
    options = (as_option(Option(*each)) for each in call.options)
    typed = " ".join((f"gitmem{flags}", call.verb, *map(quoted, call.args), *options))
    return typed if call.bare else f"`{typed}`"


def as_option(option: Option) -> str:
    """OPTION as it is typed in a shell."""
    flag = f"--{option.name.rstrip('_').replace('_', '-')}"
    return flag if isinstance(option.value, bool) else f"{flag} {quoted(option.value)}"
