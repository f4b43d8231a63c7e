"""Stores that tests of faults share: a few files of each kind, and one with some history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store, Who
from tests.support.damage import clone, rich_scene
from tests.support.faults import Scene
from tests.support.histories import put
from tests.support.moulds import Moulds


@pytest.fixture
def store(tmp_path: Path, moulds: Moulds) -> Store:
    moulds.cast("behind every door", tmp_path / "store", made)
    return Store(tmp_path / "store")


def made(root: Path) -> None:
    init(Store(root), "main", layout="standard", who=Who("ada"))
    group = Group(Store(root), "main", who=Who("ada", "s-1"))
    put(group, "a.md", "one\n")
    put(group, "notes/b.md", "two\n")
    put(group, "notes/c.md", "### One\n")
    put(group, "episodes/2026-01-01.md", "three\n")
    group.close()


@pytest.fixture
def group(store: Store) -> Iterator[Group]:
    group = Group(store, "main", who=Who("ada", "s-1"))
    yield group
    group.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A sound store, made once and never touched."""
    return rich_scene(tmp_path_factory.mktemp("whole") / "store")


@pytest.fixture
def scene(whole: Scene, tmp_path: Path) -> Scene:
    """A copy of it, to be hurt."""
    return clone(whole, tmp_path / "store")
