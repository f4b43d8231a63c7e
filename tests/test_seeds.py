"""The map of what gitmem was asked for: every number once, and no claim without its test."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "seeds.md").read_text("utf-8")
NUMBERS = {"A": 31, "Z": 48, "V": 81, "M": 16, "F": 17, "C": 32}
EXPECTED = [f"{mark}{number}" for mark, last in NUMBERS.items() for number in range(1, last + 1)]


class Row(NamedTuple):
    """One thing that was asked for."""

    number: str
    feature: str
    where: str
    state: str
    tests: tuple[str, ...]


def read_row(line: str) -> Row:
    number, feature, where, state, tests = (cell.strip() for cell in line.strip("|").split("|"))
    return Row(number, feature, where, state, tuple(re.findall(r"`([^`]+)`", tests)))


ROWS = [read_row(line) for line in PAGE.splitlines() if re.match(r"\| [AZVMFC]\d", line)]


def named_in(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}::{name}" for name in named_in(node.body))
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name


@cache
def functions_of(path: str) -> frozenset[str]:
    """The tests in a file, as pytest names them; none where there is no such file."""
    file = ROOT / path
    if not path.startswith("tests/") or not file.is_file():
        return frozenset()
    return frozenset(named_in(ast.parse(file.read_text("utf-8")).body))


def exists(test: str) -> bool:
    path, _, name = test.partition("::")
    return name in functions_of(path)


def faults_of(row: Row) -> list[str]:
    """What is wrong with a row, in words."""
    found = [f"there is no test {test}" for test in row.tests if not exists(test)]
    if not row.feature or not row.where:
        found.append("it says nothing")
    kind, _, reason = (part.strip() for part in row.state.partition(":"))
    if kind == "not applying":
        return found if reason else [*found, "it gives no reason"]
    if row.state != "done":
        return [*found, f"{row.state!r} is no state"]
    if not row.tests:
        found.append("it is done and has no test")
    return found


def test_every_number_stands_once_and_in_order() -> None:
    assert len(EXPECTED) == 193 + 32
    assert [row.number for row in ROWS] == EXPECTED


@pytest.mark.parametrize("row", ROWS, ids=[row.number for row in ROWS])
def test_a_row_says_what_is_so(row: Row) -> None:
    assert faults_of(row) == []


def test_the_page_counts_right() -> None:
    done = sum(row.state == "done" for row in ROWS)

    assert f"Of {len(ROWS)} numbers: {done} done, {len(ROWS) - done} not applying." in PAGE


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("| A1 | a | b | done | |", "has no test"),
        ("| A1 | a | b | done | `tests/test_seeds.py::test_nothing` |", "there is no test"),
        ("| A1 | a | b | done | `gitmem/api.py::open` |", "there is no test"),
        ("| A1 | a | b | done | `tests/test_none.py::test_a` |", "there is no test"),
        ("| A1 | a | b | planned: later | |", "is no state"),
        ("| A1 | a | b | not applying | |", "no reason"),
        ("| A1 | a | b | not applying: | |", "no reason"),
        ("| A1 | a | b | finished | |", "is no state"),
        ("| A1 | | b | not applying: no | |", "says nothing"),
    ],
)
def test_a_row_that_is_not_so_is_noticed(line: str, fault: str) -> None:
    assert any(fault in each for each in faults_of(read_row(line)))
