"""A fresh store with the group `main`, and a clock that the test sets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.operations.group import Group, Store, Who
from gitmem.operations.init import init
from tests.support.clocks import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def group(store: Store, clock: Clock) -> Iterator[Group]:
    who = Who("ada", "s-1", "chat")
    init(store, "main", who=who, now=clock)
    opened = Group(store, "main", who=who, now=clock)
    yield opened
    opened.close()
