"""Records: what the Python API takes and returns, read by attribute so that fields can be added."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self, dataclass_transform


@dataclass_transform(frozen_default=True)
class Record:
    """A frozen object; its fields are the annotations of its class, and their values defaults.

    Unlike a NamedTuple it cannot be unpacked, indexed or compared with a tuple, all of which a new
    field would break. Unlike a dataclass it generates no code: defining one takes a tenth of the
    time of a NamedTuple, which counts in a hook.
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    _required: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        # Not inspect.get_annotations: importing inspect takes longer than all records together.
        own = vars(cls).get("__annotations__", {})
        cls._fields = (*cls._fields, *own)
        cls._required = tuple(each for each in cls._fields if not hasattr(cls, each))

    def __init__(self, *values: Any, **named: Any) -> None:
        given, fields = self.__dict__, self._fields
        given.update(zip(fields, values, strict=False))
        given.update(named)
        count = len(values) + len(named)
        if len(given) != count or (named and not named.keys() <= {*fields}):
            raise TypeError(f"{type(self).__name__} takes {', '.join(fields)}, each once")
        if count < len(fields):
            for each in self._required:
                if each not in given:
                    raise TypeError(f"{type(self).__name__} needs {each!r}")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is read-only")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is read-only")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._asdict() == other._asdict()

    def __hash__(self) -> int:
        return hash(tuple(self._asdict().values()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{type(self).__name__}({shown})"

    def _asdict(self) -> dict[str, Any]:
        """The fields with their values."""
        return {each: getattr(self, each) for each in self._fields}

    def _replace(self, **changes: Any) -> Self:
        """A copy with other values for some fields."""
        return type(self)(**{**self.__dict__, **changes})
