"""Arguments of the API: types are checked, and names of the last release work with a warning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from gitmem.errors import BadInput

if TYPE_CHECKING:
    Function = TypeVar("Function", bound=Callable[..., Any])

Several = str | Iterable[str]
"""Names, or one of them alone."""

_OLD_PARAMETERS = {
    "operation": "id",
    "fields": "set",
    "things": "targets",
    "what": "target",
    "mask": "redact",
}


def names(given: Several) -> tuple[str, ...]:
    """GIVEN as a tuple; one name alone is a tuple of one."""
    return (given,) if isinstance(given, str) else tuple(given)


class Methods:
    """A class whose public methods check their arguments, and that answers to old names."""

    _OLD: ClassVar[Mapping[str, str]] = {}
    """Names of the last release -> attributes, such as `held.show`."""

    def __init_subclass__(cls) -> None:
        for name, value in tuple(vars(cls).items()):
            if isinstance(value, FunctionType) and (name[0] != "_" or name == "__call__"):
                setattr(cls, name, checked(value))

    if not TYPE_CHECKING:  # else every attribute would be there for type checkers

        def __getattr__(self, name: str) -> Any:
            """An attribute by its name of the last release."""
            from operator import attrgetter

            if name not in self._OLD:
                raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
            warn_old(name, f"memory.{self._OLD[name]}")
            return attrgetter(self._OLD[name])(self)


def warn_old(old: str, new: str, level: int = 3) -> None:
    """Tell the caller that the next release will not know the name OLD."""
    from warnings import warn

    warn(f"{old} is deprecated, use {new}", DeprecationWarning, stacklevel=level)


def checked(function: Function) -> Function:
    """FUNCTION, which refuses arguments of the wrong type with a BadInput that names them."""
    code, kinds = function.__code__, function.__annotations__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @wraps(function)
    def call(*values: Any, **named: Any) -> Any:
        if not named.keys() <= {*parameters}:
            named = _translated(named, parameters)
        given = dict(zip(parameters, values, strict=False))
        positional = [_valid(name, kinds.get(name), value) for name, value in given.items()]
        rest = {name: _valid(name, kinds.get(name), value) for name, value in named.items()}
        return function(*positional, *values[len(given) :], **rest)

    return call  # type: ignore[return-value]


def _translated(named: Mapping[str, Any], parameters: Iterable[str]) -> dict[str, Any]:
    found = {}
    for name, value in named.items():
        new = _OLD_PARAMETERS.get(name, name)
        is_old = name not in parameters and new in parameters
        if is_old:
            warn_old(f"{name}=", f"{new}=", 4)
        found[new if is_old else name] = value
    return found


def _valid(name: str, kind: str | None, value: Any) -> Any:
    """VALUE, if it is of KIND, an annotation; an iterator becomes a tuple on the way."""
    if kind is None:
        return value  # `self`
    accepts, wanted = KINDS[kind]
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        value = tuple(value)
    if not accepts(value):
        raise BadInput(
            f"{name} must be {wanted}, not {type(value).__name__}",
            hint=f"pass {wanted} as {name}",
            parameter=name,
        )
    return value


def _is(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_names(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, tuple) and all(map(_is(str), value)))


def _is_fields(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    return all(isinstance(each, str) for pair in value.items() for each in pair)


def _or_none(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or accepts(value)


def _are(module: str, name: str) -> Callable[[Any], bool]:
    def accepts(value: Any) -> bool:
        from importlib import import_module

        kind = getattr(import_module(module), name)
        return isinstance(value, tuple) and all(isinstance(each, kind) for each in value)

    return accepts


KINDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "str": (_is(str), "a str"),
    "str | None": (_or_none(_is(str)), "a str or None"),
    "str | bytes": (_is(str, bytes), "a str or bytes"),
    "str | bytes | None": (_or_none(_is(str, bytes)), "a str, bytes or None"),
    "str | Path": (_is(str, Path), "a str or a Path"),
    "bool": (_is(bool), "True or False"),
    "bool | None": (_or_none(_is(bool)), "True, False or None"),
    "int": (_is_int, "an int"),
    "int | None": (_or_none(_is_int), "an int or None"),
    "Several": (_is_names, "a str or several"),
    "Mapping[str, str] | None": (_or_none(_is_fields), "a dict of str or None"),
    "Clock | None": (_or_none(callable), "a function that returns the time, or None"),
    "Iterable[Edit]": (_are("gitmem.memory.write.apply", "Edit"), "a list of gitmem.Edit"),
    "Iterable[NewMessage]": (
        _are("gitmem.memory.transcripts.add", "NewMessage"),
        "a list of gitmem.NewMessage",
    ),
}
"""How the types of parameters are checked, by their annotations, and what an error calls them."""
