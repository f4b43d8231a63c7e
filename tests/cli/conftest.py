"""The command line in this process, on a store of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Run, run_gitmem
from tests.support.moulds import Moulds


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the store is, or will be."""
    monkeypatch.setenv("GITMEM_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("GITMEM_NOW", "2026-02-08T14:30:00Z")
    return tmp_path / "store"


@pytest.fixture
def run(home: Path) -> Run:
    """Run a command of gitmem."""
    return run_gitmem


@pytest.fixture
def gitmem(run: Run, home: Path, moulds: Moulds) -> Run:
    """The same, with the group main made a week ago."""

    def make(root: Path) -> None:
        week_ago = {"GITMEM_HOME": str(root), "GITMEM_NOW": "2026-02-01T08:00:00Z"}
        assert run("init", "--layout", "none", **week_ago).code == 0

    moulds.cast("a command line's", home, make)
    return run


@pytest.fixture
def files(home: Path) -> Path:
    """The work tree of the group main."""
    return home / "groups" / "main"
