"""Edits to a JSON text of somebody else's."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.errors import JsonRefused
from gitmem.model.text import json_edit

SPACES = st.sampled_from(["", "", "", " ", "\n", "\n  ", "\n\t", "\r\n    ", " \n\n ", "\t"])
NAMES = st.sampled_from(["a", "hooks", "ü", 'x"y', "\\", "", "\n"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
)
VALUES = st.recursive(
    SCALARS, lambda x: st.lists(x, max_size=3) | st.dictionaries(NAMES, x, max_size=3), max_leaves=8
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A JSON text with white space wherever it may stand."""

    def spelled(value: Any) -> str:
        if isinstance(value, dict):
            pairs = [f"{blank()}{dumped(k)}{blank()}:{around(v)}" for k, v in value.items()]
            return "{" + (",".join(pairs) or blank()) + "}"
        if isinstance(value, list):
            return "[" + (",".join(map(around, value)) or blank()) + "]"
        return dumped(value)

    def dumped(value: Any) -> str:
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    def blank() -> str:
        return draw(SPACES)

    def around(value: Any) -> str:
        return f"{blank()}{spelled(value)}{blank()}"

    neat = st.sampled_from([None, 2, 4, "\t"])
    value = draw(VALUES)
    if draw(st.booleans()):
        return json.dumps(value, indent=draw(neat)) + draw(st.sampled_from(["", "\n"]))
    return draw(st.sampled_from(["", json_edit.BOM])) + around(value)


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Where every value in VALUE stands."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *(place for step, each in inner for place in places(each, (*path, step)))]


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def container(data: st.DataObject, value: Any) -> tuple[str | int, ...]:
    """One of the objects and lists in VALUE; VALUE itself where it is neither."""
    found = [each for each in places(value) if isinstance(at(value, each), dict | list)]
    return data.draw(st.sampled_from(found or [()]))


@given(texts())
def test_it_reads_what_every_reader_reads(text: str) -> None:
    assert json_edit.read(text) == json.loads(text.removeprefix(json_edit.BOM))


@given(texts(), VALUES, st.data())
def test_what_is_put_in_is_there_and_nothing_else_has_changed(
    text: str, new: Any, data: st.DataObject
) -> None:
    before = json_edit.read(text)
    path = container(data, before)
    expected = copy.deepcopy(before)
    if isinstance(at(before, path), dict):
        changed = json_edit.insert(text, path, "new", new)
        at(expected, path)["new"] = new
        place = (*path, "new")
    elif isinstance(at(before, path), list):
        changed = json_edit.append(text, path, new)
        at(expected, path).append(new)
        place = (*path, -1)
    else:
        return

    assert json_edit.read(changed) == expected
    assert list(places(json_edit.read(changed))) == list(places(expected))  # and in this order
    assert json_edit.remove(changed, place) == text


@given(texts(), st.data())
def test_what_is_taken_out_is_gone_and_every_other_byte_stays(
    text: str, data: st.DataObject
) -> None:
    before = json_edit.read(text)
    path = data.draw(st.sampled_from(places(before)))
    if not path:
        return
    expected = copy.deepcopy(before)
    del at(expected, path[:-1])[path[-1]]

    changed = json_edit.remove(text, path)

    assert json_edit.read(changed) == expected
    kept = iter(text)
    assert all(letter in kept for letter in changed)  # nothing came, nothing was put elsewhere


@given(texts(), VALUES, st.data())
def test_another_value_changes_only_its_own_place(text: str, new: Any, data: st.DataObject) -> None:
    before = json_edit.read(text)
    path = data.draw(st.sampled_from(places(before)))
    expected = copy.deepcopy(before)
    if path:
        at(expected, path[:-1])[path[-1]] = new

    changed = json_edit.replace(text, path, new)

    assert json_edit.read(changed) == (expected if path else new)
    assert changed.startswith(text[: len(text) - len(text.lstrip(f"{json_edit.BOM} \t\r\n"))])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "a": [\n    1\n  ]\n}'),
        ("{}\n", '{\n  "a": [\n    1\n  ]\n}\n'),
        ('{"b": 1}', '{"b": 1, "a": [1]}'),
        ('{"b":1}', '{"b":1,"a":[1]}'),
        ('{\n\t"b": {}\n}\n', '{\n\t"b": {},\n\t"a": [\n\t\t1\n\t]\n}\n'),
        ('{\r\n    "b": 1\r\n}', '{\r\n    "b": 1,\r\n    "a": [\r\n        1\r\n    ]\r\n}'),
        ('{\n  "c": 1,\n\n  "b": 1\n}', '{\n  "c": 1,\n\n  "b": 1,\n  "a": [\n    1\n  ]\n}'),
        ('\ufeff{\n "b" : 1 }', '\ufeff{\n "b" : 1,\n "a" : [\n  1\n ] }'),
    ],
)
def test_a_new_member_looks_like_its_neighbours(before: str, after: str) -> None:
    assert json_edit.insert(before, (), "a", [1]) == after


def test_a_new_element_looks_like_its_neighbours() -> None:
    text = '{\n  "a": [\n    {\n      "b": 1\n    }\n  ],\n  "c": {}\n}\n'

    assert json_edit.append(text, ["a"], {"b": 2}) == (
        '{\n  "a": [\n    {\n      "b": 1\n    },\n    {\n      "b": 2\n    }\n  ],\n  "c": {}\n}\n'
    )
    assert '"c": {\n    "d": {}\n  }' in json_edit.insert(text, ["c"], "d", {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "unexpected end in line 1, column 1"),
        ("{", "no name in quotes in line 1, column 2"),
        ('{"a": 1,}', "no name in quotes in line 1, column 9"),
        ('{\n  // mine\n  "a": 1}', "no name in quotes in line 2, column 3"),
        ('{"a" 1}', "no ':' in line 1, column 6"),
        ("[1 2]", "no ',' in line 1, column 4"),
        ("[1] [2]", "text after the end in line 1, column 5"),
        ("[NaN]", "no value in line 1, column 2"),
        ("[01]", "no ',' in line 1, column 3"),
        ('["a\nb"]', "unterminated string in line 1, column 2"),
        ('{"a": 1, "b": 2,\n "a": 3}', "duplicate name 'a' in line 2, column 2"),
        ("[" * 5000, "more than 100 levels"),
    ],
)
def test_a_text_that_could_mean_two_things_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(JsonRefused) as caught:
        json_edit.read(text)

    assert said in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (["a"], "a is a list, not an object"),
        (["b"], "b is a text, not an object"),
        (["a", 0], "a.0 is a number or null, not an object"),
        (["b", "c"], "b is a text, not an object"),
    ],
)
def test_a_value_of_another_kind_is_not_written_into(path: list[str | int], said: str) -> None:
    with pytest.raises(JsonRefused, match=said):
        json_edit.insert('{"a": [1], "b": "x"}', path, "new", 1)
