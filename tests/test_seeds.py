"""docs/seeds.md has a row for each feature of the five systems, and a test for each claim."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "seeds.md").read_text("utf-8")
NUMBERS = {"A": 31, "Z": 48, "V": 81, "M": 16, "F": 17, "C": 32}
STATES = ("done", "differently", "planned", "not applying")
BUILT = ("done", "differently")
"""What gitmem does: a row in one of these states has a test that fails without it."""
EXPECTED = [f"{mark}{number}" for mark, last in NUMBERS.items() for number in range(1, last + 1)]


class Row(NamedTuple):
    """A line of a table of the page."""

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
    """List what is wrong with a row."""
    found = [f"there is no test {test}" for test in row.tests if not exists(test)]
    if not row.feature or not row.where:
        found.append("a cell is empty")
    kind, colon, reason = (part.strip() for part in row.state.partition(":"))
    if kind not in STATES:
        return [*found, f"unknown state {row.state!r}"]
    if kind == "done" and colon:
        found.append("a row that is done needs no reason")
    if kind != "done" and not reason:
        found.append(f"{kind!r} needs a reason")
    if kind in BUILT and not row.tests:
        found.append(f"{kind!r} needs a test")
    return found


def kind_of(row: Row) -> str:
    return row.state.partition(":")[0].strip()


def count_line(rows: list[Row]) -> str:
    """The sentence that the page has to say about its rows."""
    kinds = Counter(kind_of(row) for row in rows)
    return f"Of {len(rows)} rows: {', '.join(f'{kinds[kind]} {kind}' for kind in STATES)}."


def test_every_number_stands_once_and_in_order() -> None:
    assert len(EXPECTED) == 193 + 32
    assert [row.number for row in ROWS] == EXPECTED


@pytest.mark.parametrize("row", ROWS, ids=[row.number for row in ROWS])
def test_a_row_is_well_formed(row: Row) -> None:
    assert faults_of(row) == []


def test_the_page_counts_right() -> None:
    assert count_line(ROWS) in PAGE.splitlines()


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("| A1 | a | b | done | |", "needs a test"),
        (
            "| A1 | a | b | done: mostly | `tests/test_seeds.py::test_the_page_counts_right` |",
            "no reason",
        ),
        ("| A1 | a | b | differently: so | |", "needs a test"),
        (
            "| A1 | a | b | differently | `tests/test_seeds.py::test_the_page_counts_right` |",
            "a reason",
        ),
        ("| A1 | a | b | done | `tests/test_seeds.py::test_nothing` |", "there is no test"),
        ("| A1 | a | b | done | `gitmem/api.py::open` |", "there is no test"),
        ("| A1 | a | b | done | `tests/test_none.py::test_a` |", "there is no test"),
        ("| A1 | a | b | planned | |", "needs a reason"),
        ("| A1 | a | b | planned: | |", "needs a reason"),
        ("| A1 | a | b | not applying | |", "needs a reason"),
        ("| A1 | a | b | not applying: | |", "needs a reason"),
        ("| A1 | a | b | partly: some | |", "unknown state"),
        ("| A1 | a | b | finished | |", "unknown state"),
        ("| A1 | | b | not applying: no | |", "a cell is empty"),
    ],
)
def test_a_malformed_row_is_reported(line: str, fault: str) -> None:
    assert any(fault in each for each in faults_of(read_row(line)))
