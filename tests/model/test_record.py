"""Named tuples of ours are those of `typing`, and made faster."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing
from typing import TYPE_CHECKING

import pytest

from gitmem.model import record

if TYPE_CHECKING:
    from typing import NamedTuple as Ours
    from typing import NamedTuple as Theirs
else:
    Ours, Theirs = record.NamedTuple, typing.NamedTuple


class Point(Ours):
    """A point."""

    x: int
    y: int = 2
    name: str = ""
    """How it is called."""

    @property
    def total(self) -> int:
        """The sum of both."""
        return self.x + self.y


class Known(Theirs):
    """A point."""

    x: int
    y: int = 2
    name: str = ""


class Empty(Ours):
    """Nothing."""


class Named(Point):
    """A class below one."""


def test_a_record_is_what_typing_would_make() -> None:
    ours, theirs = Point(1, name="a"), Known(1, name="a")

    assert ours == theirs == (1, 2, "a")
    assert hash(ours) == hash(theirs)
    assert repr(ours) == repr(theirs).replace("Known", "Point")
    assert ours._asdict() == theirs._asdict()
    assert (Point._fields, Point._field_defaults) == (Known._fields, Known._field_defaults)
    assert Point.__match_args__ == Known.__match_args__
    assert list(inspect.signature(Point).parameters) == list(inspect.signature(Known).parameters)
    assert Point.__doc__ == "A point."
    assert Point.__module__ == __name__
    assert Point.__bases__[0].__bases__ == (tuple,)
    assert Point.__annotations__ == {"x": "int", "y": "int", "name": "str"}


def test_a_record_can_be_changed_copied_and_stored() -> None:
    point = Point(1)

    assert point._replace(y=5) == Point(1, 5)
    assert Point._make([1, 2, "b"]).name == "b"
    assert point.total == 3
    assert pickle.loads(pickle.dumps(point)) == copy.copy(point) == point
    assert type(copy.deepcopy(point)) is Point
    assert not hasattr(point, "__dict__")
    assert Empty() == ()
    assert Named(1)._replace(x=2) == (2, 2, "")
    assert type(Named(1)._replace(x=2)) is Named


def test_wrong_fields_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Point.__new__\(\) missing 1 required .*'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=2)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="'z'"):
        Point(1)._replace(z=2)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        Point(1).x = 2  # type: ignore[misc]
