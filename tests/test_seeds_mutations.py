"""The tests that docs/seeds.md names for a row fail when the row's feature is broken.

Each mutation breaks one line of a copy of the project and runs the tests of its row there. A
mutation that survives means that a row promises more than its tests check.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.support.mutations import FAST, SLOW, Mutation
from tests.test_seeds import ROOT, ROWS

PARTS = ("gitmem", "templates", "hooks", "tests", "docs", "pyproject.toml", "README.md")
TESTS_FAILED = 1
"""The exit code of pytest where tests failed; another one means that they did not run."""
NAMED = {row.number: row.tests for row in ROWS}


def test_every_row_that_has_tests_has_a_mutation() -> None:
    broken = {each.row for each in (*FAST, *SLOW)}

    assert [row.number for row in ROWS if row.tests and row.number not in broken] == []


@pytest.mark.parametrize("mutation", SLOW, ids=lambda each: each.id)
def test_the_line_that_a_mutation_breaks_is_still_there(mutation: Mutation) -> None:
    assert not mutation.old or mutation.old in (ROOT / mutation.path).read_text("utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project that a test may break."""
    root = tmp_path_factory.mktemp("mutated")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("*.pyc"))
        else:
            shutil.copy2(ROOT / part, root / part)
    return root


# Python takes a cached module for current by its time in seconds and its size, and several
# mutations of one file happen within a second: each gets a time of its own.
_TIMES = count(1_000_000_000)


@pytest.fixture
def broken(copy: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The copy with one mutation in it."""
    mutation: Mutation = request.param
    path = copy / mutation.path
    before = path.read_text("utf-8") if path.is_file() else None
    if mutation.old:
        assert before is not None, f"there is no {mutation.path}"
        assert mutation.old in before, f"{mutation.path} no longer says {mutation.old!r}"
    _put(path, (before or "").replace(mutation.old, mutation.new) if mutation.old else mutation.new)
    yield copy
    if before is None:
        path.unlink()
    else:
        _put(path, before)


def _put(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
    moment = next(_TIMES)
    os.utime(path, (moment, moment))


def run_named(root: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run TESTS in the project at ROOT until one fails."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--import-mode=importlib",  # two modules of one name may be in a row
    ]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    environment.pop("PYTEST_ADDOPTS", None)
    # Compiled once for all runs: a run takes a third of the time.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(root / "compiled")
    return subprocess.run(
        [*command, "-o", "addopts=", *tests],
        check=False,
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_the_copy_passes_while_nothing_is_broken(copy: Path) -> None:
    """Else a mutation could fail for a file that the copy lacks."""
    done = run_named(copy, tuple(dict.fromkeys(test for row in ROWS for test in row.tests)))

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("broken", "mutation"),
    [(each, each) for each in FAST],
    ids=[each.id for each in FAST],
    indirect=["broken"],
)
def test_a_broken_feature_fails_the_tests_of_its_row(broken: Path, mutation: Mutation) -> None:
    done = run_named(broken, NAMED[mutation.row])

    assert done.returncode == TESTS_FAILED, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "mutation"),
    [(each, each) for each in SLOW],
    ids=[each.id for each in SLOW],
    indirect=["broken"],
)
def test_every_other_broken_feature_fails_the_tests_of_its_row(
    broken: Path, mutation: Mutation
) -> None:
    done = run_named(broken, NAMED[mutation.row])

    assert done.returncode == TESTS_FAILED, done.stdout + done.stderr
