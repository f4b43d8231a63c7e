"""Plain calls, read by the declarations of the commands and run without click.

Importing click takes three times as long as a bare Python. A call is plain if nothing in it needs
explaining: options that are known and spelled out, each with its value, and no value that is empty
or begins with a dash. Any other call is left to click, and so are all messages about usage.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gitmem.cli.boundary import UNEXPECTED, guarded
from gitmem.cli.commands import COMMANDS, declared
from gitmem.cli.declare import (
    GLOBAL_OPTIONS,
    Declared,
    DeclaredGroup,
    Parameter,
    Whole,
    not_empty,
)
from gitmem.cli.invocation import Invocation
from gitmem.model.record import Record

COMPLETE = "_GITMEM_COMPLETE"
"""The variable by which a shell asks click for completions."""
HOOK = "hook"
"""The command that exits with 0 or 1 alone: an agent host takes a 2 for a veto."""
UNDERSTOOD = {
    *("metavar", "help", "shell_complete", "expose_value", "callback"),
    *("default", "multiple", "is_flag", "type", "required", "nargs"),
}
"""Attributes of a parameter that are heeded here, or say nothing about values."""
MANY = -1
"""The `nargs` of an argument that takes all that are left."""


LONG = 19
"""Digits that are nobody's number any more."""


class PlainCall(Record):
    """A command and what it is called with."""

    command: Declared
    kept: Mapping[str, Any]
    """What stays with the invocation."""
    values: Mapping[str, Any]
    """What the function is called with."""

    def keep_with(self, call: Invocation) -> None:
        """Let CALL remember what it has to."""
        for name, value in self.kept.items():
            if value:
                call.take(name, value)


def plain_call(args: Sequence[str]) -> PlainCall | None:
    """ARGS as a plain call; None where click has to look at them."""
    at = _command_at(args)
    if at is None:
        return None
    command = declared(args[at])
    if not is_plain(command):
        return None
    parameters = (*command.parameters, *GLOBAL_OPTIONS)
    before = _read(GLOBAL_OPTIONS, args[:at])
    after = _read(parameters, args[at + 1 :])
    if before is None or after is None:
        return None
    kept = {each.name for each in parameters if each.is_kept}
    given = before | {name: value for name, value in after.items() if value or name not in kept}
    return PlainCall(
        command,
        {name: value for name, value in given.items() if name in kept},
        {name: value for name, value in given.items() if name not in kept},
    )


def is_plain(command: Declared) -> bool:
    """Whether calls of COMMAND can be plain: nothing about it is for click alone."""
    if isinstance(command, DeclaredGroup) or "cls" in command.attributes:
        return False
    return all(map(_is_plain, command.parameters))


def _command_at(args: Sequence[str]) -> int | None:
    """Where the name of the command stands: the first word that is neither option nor value."""
    valued = {name for each in GLOBAL_OPTIONS if not _is_flag(each) for name in each.names}
    at = 0
    while at < len(args) and args[at].startswith("-"):
        at += 2 if args[at] in valued else 1
    return at if at < len(args) and args[at] in COMMANDS else None


def _is_flag(parameter: Parameter) -> bool:
    return bool(parameter.attributes.get("is_flag"))


def _is_plain(parameter: object) -> bool:
    if not isinstance(parameter, Parameter):
        return False
    found = parameter.attributes
    kind = found.get("type")
    return (
        UNDERSTOOD.issuperset(found)
        and (kind in (None, int) or isinstance(kind, Whole))
        and "/" not in parameter.names[0]
        and (parameter.is_kept or found.get("callback") in (None, not_empty))
    )


def _read(parameters: Iterable[Parameter], args: Sequence[str]) -> dict[str, Any] | None:
    """The value of each parameter; None where ARGS are not plain."""
    options = {name: each for each in parameters if each.is_option for name in each.names}
    found = {each.name: _default(each) for each in parameters if each.is_option}
    words: list[str] = []
    left = iter(args)
    for arg in left:
        if not arg.startswith("-") or arg == "-":
            words.append(arg)
            continue
        name, equals, text = arg.partition("=")
        option = options.get(name)
        if option is None or (equals and (_is_flag(option) or not name.startswith("--"))):
            return None
        value = True if _is_flag(option) else _value(option, text if equals else next(left, ""))
        if value is None:
            return None
        is_many = option.attributes.get("multiple")
        found[option.name] = (*found[option.name], value) if is_many else value
    arguments = _arguments([each for each in parameters if not each.is_option], words)
    return None if arguments is None else found | arguments


def _default(parameter: Parameter) -> Any:
    if _is_flag(parameter):
        return False
    return parameter.attributes.get("default", () if parameter.attributes.get("multiple") else None)


def _value(parameter: Parameter, text: str) -> str | int | None:
    """TEXT as PARAMETER takes it; None where that needs explaining."""
    if not text or (text.startswith("-") and text != "-"):
        return None
    kind = parameter.attributes.get("type")
    if kind is None:
        return text
    number = int(text) if len(text) < LONG and text.isascii() and text.isdigit() else None
    if number is None or not isinstance(kind, Whole):
        return number
    return number if kind.least <= number <= (kind.most or number) else None


def _arguments(parameters: Sequence[Parameter], words: list[str]) -> dict[str, Any] | None:
    """The value of each argument; None where there are too few words or too many."""
    found: dict[str, Any] = {}
    for each in parameters:
        is_last, is_many = each is parameters[-1], each.attributes.get("nargs") == MANY
        if is_many and not is_last:
            return None
        taken, words = (words, []) if is_many else (words[:1], words[1:])
        values = [_value(each, word) for word in taken]
        needed = each.attributes.get("required", not is_many and "default" not in each.attributes)
        if None in values or (needed and not values):
            return None
        found[each.name] = tuple(values) if is_many else (*values, _default(each))[0]
    return None if words else found


def run(args: Sequence[str], environ: Mapping[str, str]) -> int | None:
    """Run a plain call and give the exit code of the process; None where it is no such call."""
    found = None if COMPLETE in environ else plain_call(args)
    if found is None:
        return None
    call = Invocation(environ)
    found.keep_with(call)
    command = found.command

    def called() -> Any:
        try:
            return command.function(call, **found.values)
        except (EOFError, KeyboardInterrupt) as error:
            print(file=sys.stderr)  # after the ^C that a terminal shows
            raise KeyboardInterrupt from error

    code = guarded(called, args, call)
    return min(code, UNEXPECTED) if command.name == HOOK else code
