"""A file in small letters counts where that with the layout's own name is not there: memory.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitmem.memory.admin.init import init
from gitmem.memory.adopt.adopt import adopt
from gitmem.memory.context.inject import inject
from gitmem.memory.curate.migrate import migrate
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.layouts import Silenced, layout_at, layout_of, shipped_layout
from gitmem.memory.read.memory_actions import memory_get, memory_search
from gitmem.memory.read.read import read
from gitmem.memory.read.status import status
from gitmem.memory.search.search import search
from gitmem.memory.upkeep.compact import compact
from gitmem.memory.write.capture import capture
from gitmem.memory.write.move import move, remove
from gitmem.memory.write.write import Edit, write
from gitmem.model.layout.layout import Layer, Layout
from tests.support.adopting import opened
from tests.support.clocks import Clock
from tests.support.histories import edit, put
from tests.support.memories import lay

TEA = "# Memory\n\nAda likes tea.\n"
Folder = Callable[..., Group]


@pytest.fixture
def folder(store: Store, clock: Clock, tmp_path: Path) -> Iterator[Folder]:
    """Make a group of nano out of a folder that somebody has."""
    groups: list[Group] = []

    def make(files: dict[str, str], name: str = "main") -> Group:
        lay(tmp_path / name, files)
        adopt(store, name, tmp_path / name, layout="nano", now=clock)
        groups.append(Group(store, name, who=Who("ada"), now=clock))
        return groups[-1]

    yield make
    for each in groups:
        each.close()


def files(group: Group) -> set[str]:
    return {path for path, _ in group.repository.snapshot().files()} - {"gitmem.yaml"}


def test_every_verb_takes_the_file_that_is_there(folder: Folder) -> None:
    group = folder({"memory.md": TEA})

    assert "Ada likes tea." in inject(group, prompt="what does Ada like?").memory_context
    assert "Ada likes tea." in inject(group, layers=("memory",)).text
    assert [hit.path for hit in search(group, "tea", layers=["memory"]).hits] == ["memory.md"]
    assert [hit.path for hit in memory_search(group, "tea").hits] == ["memory.md"]
    assert {memory_get(group, path).path for path in ("MEMORY.md", "memory.md")} == {"memory.md"}
    assert compact(group, "Billing moved.").path == "memory.md"
    write(group, [Edit("memory", "Bob likes coffee.\n", append=True)])
    assert "Bob likes coffee." in read(group, "memory.md").text
    assert "MEMORY.md" not in [each.path for each in status(group).holdings.core]
    assert files(group) == {"memory.md"}


def test_the_name_of_the_layout_counts_where_both_are_there(folder: Folder) -> None:
    group = folder({"MEMORY.md": TEA, "memory.md": "# Old\n\nAda likes milk.\n"})

    assert inject(group, layers=("memory",)).text.endswith("Ada likes tea.")
    assert "milk" not in inject(group, prompt="what does Ada like?").text
    assert compact(group, "Billing moved.").path == "MEMORY.md"
    assert memory_get(group).path == "MEMORY.md"
    assert memory_get(group, "memory.md").text.endswith("Ada likes milk.\n")


def test_a_file_that_is_silenced_is_named_with_the_way_out(folder: Folder) -> None:
    """Both files are read by hand and one of them never by a model: nobody would notice that."""
    group = folder({"MEMORY.md": TEA, "memory.md": "# Old\n\nAda likes milk.\n"})
    words = (
        "memory.md is not shown, because MEMORY.md is there: "
        "move its text to MEMORY.md, then run `gitmem -g main rm memory.md`"
    )

    found = status(group)
    shown = inject(group).manifest

    assert (found.silenced, found.health) == ((Silenced("memory.md", "MEMORY.md"),), "attention")
    assert "1 file not shown" in found.concerns
    assert words in shown.notes
    assert ("memory.md", "MEMORY.md is there") in [(x.address, x.why) for x in shown.left_out]
    remove(group, "memory.md")
    assert (status(group).silenced, inject(group).manifest.notes) == ((), ())


def test_a_silenced_file_of_global_is_named_too(folder: Folder) -> None:
    folder({"MEMORY.md": TEA, "memory.md": "# All\n\nEverybody likes cake.\n"}, "global")
    group = folder({"MEMORY.md": TEA})

    notes = inject(group, prompt="who likes cake?").manifest.notes

    assert any("run `gitmem -g global rm memory.md`" in each for each in notes)
    assert status(group).silenced == ()


def test_a_small_file_that_another_layer_shows_is_not_silenced(store: Store, clock: Clock) -> None:
    init(store, "main", layout="claude-code", now=clock)
    group = Group(store, "main", who=Who("ada"), now=clock)
    edit(group, "MEMORY.md", TEA)
    edit(group, "memory.md", "# Topic\n\nAda likes milk.\n")
    capture(group)

    assert "milk" in inject(group, prompt="does Ada like milk?").text
    assert (status(group).silenced, inject(group).manifest.notes) == ((), ())
    group.close()


def test_a_file_that_gets_the_name_of_the_layout_counts_from_then_on(folder: Folder) -> None:
    group = folder({"memory.md": TEA})
    before = group.repository.tip()

    move(group, "memory.md", "MEMORY.md")

    assert compact(group, "Billing moved.").path == "MEMORY.md"
    then = layout_at(group, group.repository.snapshot(before)).layout.layer("memory")
    assert then
    assert then.path == "memory.md"
    assert inject(group, layers=("memory",), at=before).text.endswith("Ada likes tea.")


def test_global_may_spell_it_in_another_way(folder: Folder) -> None:
    folder({"memory.md": "# All\n\nEverybody likes cake.\n"}, "global")
    group = folder({"MEMORY.md": TEA}, "main")

    assert "(global) # All\n\nEverybody likes cake." in inject(group, layers=("memory",)).text
    asked = inject(group, prompt="who likes cake?")
    assert "(global: memory.md, 2026-01-01) # All" in asked.memory_context
    assert [hit.path for hit in search(group, "cake", layers=["memory"]).hits] == ["memory.md"]


@pytest.mark.parametrize("verb", ["compact", "write", "capture"])
def test_a_file_that_is_not_captured_yet_is_no_reason_for_another(
    store: Store, clock: Clock, verb: str
) -> None:
    init(store, "main", layout="nano", now=clock)
    group = Group(store, "main", who=Who("ada"), now=clock)
    (group.worktree / "MEMORY.md").unlink()
    capture(group)
    edit(group, "memory.md", TEA)

    if verb == "compact":
        assert compact(group, "Billing moved.").path == "memory.md"
    elif verb == "write":
        write(group, [Edit("memory", "Bob likes coffee.\n", append=True)])
    else:
        capture(group)

    assert files(group) == {"SOUL.md", "memory.md"}
    assert read(group, "memory.md").text.startswith(TEA)
    group.close()


def test_sections_move_to_the_file_that_is_there(folder: Folder) -> None:
    old = "# Soul\n\nKind.\n\n## Session Compaction 2026-01-01\n\n- one\n"
    group = folder({"CLAUDE.md": old, "memory.md": TEA})

    done = migrate(group)

    assert (done.renamed, done.into) == ((("CLAUDE.md", "SOUL.md"),), "memory.md")
    assert read(group, "memory.md").text.endswith("- one\n")
    assert files(group) == {"SOUL.md", "memory.md"}


def test_a_folder_is_recognised_by_it(store: Store, clock: Clock, tmp_path: Path) -> None:
    small = {"memory.md": TEA, "memory/b.md": "Bob.\n", "SOUL.md": "Kind.\n"}
    lay(tmp_path / "theirs", small)

    done = adopt(store, "main", tmp_path / "theirs", now=clock)

    assert (done.layout, done.sure, done.missing) == ("nano", "certain", ())
    assert "memory.md" in done.why
    with_it = opened(store)
    assert compact(with_it, "Billing moved.").path == "memory.md"
    with_it.close()


def test_a_group_that_begins_in_such_a_folder_gets_no_second_file(
    store: Store, clock: Clock, tmp_path: Path
) -> None:
    lay(tmp_path / "theirs", {"memory.md": TEA})

    init(store, "main", layout="nano", worktree=tmp_path / "theirs", now=clock)

    assert sorted(each.name for each in (tmp_path / "theirs").glob("*.md")) == [
        "SOUL.md",
        "memory.md",
    ]


def test_no_layer_takes_the_file_of_another() -> None:
    layers = (Layer("a", "document", "NOTES.md"), Layer("b", "document", "notes.md"))
    layout = Layout(layers=layers)

    assert layout.spelled({"notes.md"}.__contains__) is layout


def test_most_layouts_have_nothing_to_spell(store: Store, clock: Clock) -> None:
    for name in ("zylos", "arizuko", "soul", "standard"):
        layout = shipped_layout(name)
        assert layout.spelled(pytest.fail) is layout
    init(store, "main", layout="nano", now=clock)
    group = Group(store, "main", now=clock)
    assert layout_of(group) == shipped_layout("nano")
    put(group, "memory/x.md", "x")
    group.close()
