"""A store with some history, and a copy of it for each test that hurts one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.damage import clone, rich_scene
from tests.support.faults import Scene


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A sound store, made once and never touched."""
    return rich_scene(tmp_path_factory.mktemp("whole") / "store")


@pytest.fixture
def scene(whole: Scene, tmp_path: Path) -> Scene:
    """A copy of it, to be hurt."""
    return clone(whole, tmp_path / "store")
