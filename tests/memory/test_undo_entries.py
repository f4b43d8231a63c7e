"""Undo of what moved entries, after others have written to the same files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.memory.admin.init import init
from gitmem.memory.curate.archive import archive
from gitmem.memory.curate.consolidate import consolidate
from gitmem.memory.entries.freshness import freshness
from gitmem.memory.entries.move_entry import move_entry
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.read import read
from gitmem.memory.recover.undo import undo
from gitmem.memory.write.write import Allowed, Edit, write
from tests.support.clocks import Clock
from tests.support.histories import put
from tests.support.samples import body

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
    edit = Edit(layer, f"about {title}", entry=title, set=(("Status", status),))
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


def test_a_credential_that_may_not_come_back_keeps_its_entry_where_it_is(memory: Group) -> None:
    secret = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)
    allowed = Allowed(secrets=("aws-key-id",))
    edit = Edit("decisions", f"the key {secret}", entry="Key", set=(("Status", "active"),))
    write(memory, [edit], allowed=allowed)
    commit = archive(memory, ["decisions#key"]).commit

    done = undo(memory, [commit])

    assert done.left
    assert secret in read(memory, f"archive/{DECISIONS}").text
    assert secret not in read(memory, DECISIONS).text


def standing(group: Group) -> Counter[str]:
    """How often each entry's own words stand in memory, wherever that is."""
    snapshot = group.repository.snapshot()
    texts = ((snapshot.read(path) or b"").decode() for path, _ in snapshot.files())
    return Counter(word for text in texts for word in text.split() if word.startswith("words-of-"))


def live(group: Group, random: Random) -> Counter[str]:
    """Write entries, move some, let others write, take the move back; what must stand then."""
    said: Counter[str] = Counter()
    titles = [f"T{number}" for number in range(random.randint(2, 5))]
    for title in titles:
        edit = Edit("decisions", f"words-of-{title}", entry=title, set=(("Status", "active"),))
        write(group, [edit])
        said[f"words-of-{title}"] = 1
    chosen = [f"decisions#{each.lower()}" for each in random.sample(titles, random.randint(1, 2))]
    if random.random() < 0.5:
        commit = archive(group, chosen).commit
    else:
        commit = move_entry(group, chosen[0], "ideas").commit
    for number in range(random.randint(0, 4)):
        layer = random.choice(("decisions", "ideas"))
        if random.random() < 0.6:
            title = f"N{number}"
            edit = Edit(layer, f"words-of-{title}", entry=title, set=(("Status", "active"),))
            said[f"words-of-{title}"] += 1
            write(group, [edit])
        else:
            archived = [each.address for each in freshness(group, layer).entries]
            if archived:
                archive(group, [random.choice(archived)])
    undo(group, [commit])
    return said


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_no_undo_of_a_move_loses_or_doubles_an_entry(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    store, clock = Store(tmp_path_factory.mktemp("life") / "store"), Clock()
    init(store, "main", layout="standard", who=Who("ada"), now=clock)
    group = Group(store, "main", who=Who("ada"), now=clock)
    try:
        said = live(group, Random(seed))
        assert standing(group) == said
    finally:
        group.close()
