"""A record is read by attribute, cannot be changed, and can gain a field."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from gitmem.model.record import Record


class Point(Record):
    """Two numbers."""

    x: int
    y: int = 0
    """Beside X."""

    @property
    def total(self) -> int:
        """Both together."""
        return self.x + self.y


class Named(Point):
    """With a name."""

    name: str = ""


def test_fields_are_given_by_position_or_name_and_have_defaults() -> None:
    assert (Point(1).x, Point(1).y, Point(y=2, x=1).total) == (1, 0, 3)
    assert Named._fields == ("x", "y", "name")
    assert repr(Named(1, name="a")) == "Named(x=1, y=0, name='a')"


def test_a_record_equals_one_of_its_own_class_with_the_same_values() -> None:
    assert Point(1) == Point(1, 0)
    assert len({Point(1), Point(1, 0), Point(2)}) == 2
    assert Point(1) != Named(1)
    assert Point(1, 2) != (1, 2)


def test_a_copy_may_have_other_values() -> None:
    assert Point(1, 2)._replace(y=3) == Point(1, 3)
    assert Point(1)._asdict() == {"x": 1, "y": 0}
    assert copy.deepcopy(Point(1, 2)) == pickle.loads(pickle.dumps(Point(1, 2))) == Point(1, 2)


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1}), ((), {"y": 1})],
)
def test_fields_that_are_missing_unknown_or_given_twice_are_refused(
    values: tuple[int, ...], named: dict[str, int]
) -> None:
    with pytest.raises(TypeError, match="Point"):
        Point(*values, **named)


def test_a_record_is_read_only() -> None:
    point: Any = Point(1)
    with pytest.raises(AttributeError, match="read-only"):
        point.x = 2
    with pytest.raises(AttributeError, match="read-only"):
        del point.x


def test_what_a_new_field_would_break_does_not_work() -> None:
    point: Any = Point(1, 2)
    for use in (iter, len, sorted, lambda each: each[0]):
        with pytest.raises(TypeError):
            use(point)
