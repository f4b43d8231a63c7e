"""`memory_get` and `memory_search`: names that agents know, in files that the layout allows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from gitmem.errors import BadInput, GroupNotFound, GroupRefused, PathNotFound, PathRefused
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.memory_actions import memory_get, memory_search
from gitmem.memory.transcripts.add import NewMessage, transcript_add
from gitmem.memory.write.write import Edit, write
from tests.support.clocks import Clock
from tests.support.histories import put
from tests.support.moulds import Moulds


@pytest.fixture
def nano(store: Store, clock: Clock, moulds: Moulds) -> Iterator[Group]:
    clock.time = moulds.cast("three of nano", store.root, made)
    group = Group(store, "other", who=Who("ada"), acting="other", now=clock)
    yield group
    group.close()


def made(root: Path) -> datetime:
    clock = Clock()
    for name in ("main", "other", "global"):
        init(Store(root), name, layout="nano", now=clock)
    group = Group(Store(root), "other", who=Who("ada"), acting="other", now=clock)
    put(group, "MEMORY.md", "The heron of the others.\n")
    put(group, "memory/notes.md", "A heron, noted.\n")
    put(group, "plans.md", "The secret heron.\n")
    group.close()
    return clock.time


def test_the_durable_file_is_what_is_read_by_default(nano: Group) -> None:
    found = memory_get(nano)

    assert (found.path, found.text) == ("MEMORY.md", "The heron of the others.\n")
    assert found.commit == nano.repository.tip()
    assert memory_get(nano, "memory/notes.md").text == "A heron, noted.\n"


@pytest.mark.parametrize("path", ["./memory/notes.md", "memory\\notes.md", ".\\memory\\notes.md"])
def test_paths_are_read_as_other_systems_write_them(nano: Group, path: str) -> None:
    assert memory_get(nano, path).path == "memory/notes.md"


@pytest.mark.parametrize("path", ["memory.md", "MEMORY.md"])
def test_it_is_found_in_either_spelling(nano: Group, path: str) -> None:
    assert memory_get(nano, path).path == "MEMORY.md"


def test_only_the_other_spelling_will_do_where_that_is_what_there_is(
    store: Store, clock: Clock
) -> None:
    init(store, "main", layout="none", now=clock)
    group = Group(store, "main", now=clock)
    put(group, "memory.md", "small\n")

    assert memory_get(group).path == "memory.md"
    group.close()


@pytest.mark.parametrize(
    "path",
    [
        "SOUL.md",
        "plans.md",
        "gitmem.yaml",
        "memory/deep/er.md",
        "memory/notes.txt",
        "memory/",
        "memory/../SOUL.md",
        "../other/MEMORY.md",
        "/etc/passwd",
        "archive/MEMORY.md",
        "memory/.hidden.md",
    ],
)
def test_only_files_that_the_layout_allows_can_be_read(nano: Group, path: str) -> None:
    with pytest.raises((PathRefused, PathNotFound)) as caught:
        memory_get(nano, path)
    assert "secret heron" not in str(caught.value)


def test_a_file_that_is_allowed_and_not_there_is_told(nano: Group) -> None:
    with pytest.raises(PathNotFound):
        memory_get(nano, "memory/none.md")


def test_a_layout_without_a_list_allows_all_of_its_group(store: Store, clock: Clock) -> None:
    init(store, "main", layout="standard", now=clock)
    group = Group(store, "main", now=clock)

    assert memory_get(group, "identity.md").path == "identity.md"
    group.close()


def test_a_search_covers_files_and_what_was_said(nano: Group) -> None:
    transcript_add(nano, [NewMessage("c", "Ada", "a heron was said")])

    found = {hit.text for hit in memory_search(nano, "heron").hits}

    assert found == {"The heron of the others.", "A heron, noted.", "a heron was said"}
    for sources, kinds in (
        ("memory", {"memory"}),
        ("sessions", {"transcript"}),
        ("transcripts", {"transcript"}),
    ):
        hits = memory_search(nano, "heron", sources=sources).hits
        assert {hit.source for hit in hits} == kinds
    with pytest.raises(BadInput, match="no source 'disk'"):
        memory_search(nano, "heron", sources="disk")


@pytest.mark.parametrize(("top_k", "count"), [(8, 8), (0, 1), (-5, 1), (64, 64), (1000, 64)])
def test_the_number_of_hits_is_brought_into_its_limits(nano: Group, top_k: int, count: int) -> None:
    write(nano, [Edit(f"memory/m{n}.md", f"Heron {n}.\n") for n in range(80)])

    assert len(memory_search(nano, "heron", top_k=top_k).hits) == count


def test_only_main_names_another_group(nano: Group, store: Store, clock: Clock) -> None:
    main = Group(store, "main", acting="main", now=clock)
    assert memory_get(main, group_folder="other").text == "The heron of the others.\n"
    assert memory_search(main, "heron", group_folder="other").hits
    with pytest.raises(GroupNotFound):
        memory_get(main, group_folder="nobody")
    main.close()

    for act in (
        lambda: memory_get(nano, group_folder="main"),
        lambda: memory_search(nano, "x", group_folder="main"),
        lambda: memory_get(nano, group_folder="../main"),
    ):
        with pytest.raises(GroupRefused):
            act()
    assert memory_get(nano, "MEMORY.md", group_folder="global").text
    assert memory_get(nano, group_folder="other").text


def test_a_group_that_acts_for_itself_is_bound_to_itself(
    nano: Group, store: Store, clock: Clock
) -> None:
    """Nobody said who acts: then it is the group, not a person at a terminal."""
    unbound = Group(store, "other", now=clock)

    with pytest.raises(GroupRefused):
        memory_get(unbound, group_folder="main")
    unbound.close()
