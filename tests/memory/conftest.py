"""A fresh store with the group `main`, and a clock that the test sets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.memory.group import Group, Store, Who
from tests.support.clocks import Clock
from tests.support.moulds import Moulds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def group(store: Store, clock: Clock, moulds: Moulds) -> Iterator[Group]:
    who = Who("ada", "s-1", "chat")
    moulds.init(store, clock, who=who)
    opened = Group(store, "main", who=who, now=clock)
    yield opened
    opened.close()


@pytest.fixture
def standard(store: Store, clock: Clock, moulds: Moulds) -> Iterator[Group]:
    """The group `main` with the standard layout, opened by ada."""
    moulds.init(store, clock, layout="standard", who=Who("ada"))
    opened = Group(store, "main", who=Who("ada"), now=clock)
    yield opened
    opened.close()
