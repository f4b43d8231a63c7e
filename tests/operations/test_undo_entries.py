"""Undo of what moved entries, after others have written to the same files."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from gitmem.operations.archive import archive
from gitmem.operations.consolidate import consolidate
from gitmem.operations.freshness import freshness
from gitmem.operations.group import Group, Store, Who
from gitmem.operations.init import init
from gitmem.operations.move_entry import move_entry
from gitmem.operations.read import read
from gitmem.operations.undo import undo
from gitmem.operations.write import Edit, write
from tests.support.clocks import Clock
from tests.support.histories import put

DECISIONS, IDEAS = "reference/decisions.md", "reference/ideas.md"


@pytest.fixture
def memory(store: Store, clock: Clock) -> Iterator[Group]:
    init(store, "main", layout="standard", who=Who("ada"), now=clock)
    group = Group(store, "main", who=Who("ada"), now=clock)
    for title in ("Zed", "Why"):
        entry(group, "decisions", title, "superseded")
    clock.advance(days=100)
    yield group
    group.close()


def entry(group: Group, layer: str, title: str, status: str = "active") -> None:
    edit = Edit(layer, f"about {title}", entry=title, fields=(("Status", status),))
    write(group, [edit])


def dates(group: Group) -> dict[str, int]:
    return {each.title: each.age_days for each in freshness(group).entries}


MOVES: dict[str, Callable[[Group], str]] = {
    "consolidate": lambda group: consolidate(group).commit,
    "archive": lambda group: archive(group, ["decisions#zed", "decisions#why"]).commit,
    "move-entry": lambda group: move_entry(group, "decisions#why", "ideas").commit,
}


@pytest.mark.parametrize("how", MOVES)
def test_entries_come_back_although_others_wrote_beside_them(memory: Group, how: str) -> None:
    commit = MOVES[how](memory)
    for layer in ("decisions", "ideas"):
        entry(memory, layer, "New")

    done = undo(memory, [commit])

    assert done.left == ()
    text = read(memory, DECISIONS).text
    assert all(f"about {title}" in text for title in ("Zed", "Why", "New"))
    assert (dates(memory)["Zed"], dates(memory)["Why"], dates(memory)["New"]) == (100, 100, 0)
    assert "about Why" not in read(memory, IDEAS).text


def test_where_one_end_cannot_be_undone_the_other_stays_too(memory: Group) -> None:
    commit = archive(memory, ["decisions#zed"]).commit
    shelf = f"archive/{DECISIONS}"
    put(memory, shelf, read(memory, shelf).text.replace("about Zed", "about Zed, rewritten"))

    done = undo(memory, [commit])

    assert {each.path for each in done.left} == {DECISIONS, shelf}
    assert "about Zed, rewritten" in read(memory, shelf).text
    assert "about Zed" not in read(memory, DECISIONS).text
