"""A folder is known by its files, with reasons, and never by a silent guess."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.memory.layouts import shipped, shipped_layout
from gitmem.model.layout.layout import Layer, Layout
from gitmem.model.layout.recognise import Recognised, missing_core, recognise
from tests.support.memories import CLAUDE, NANO, SOUL, SYSTEMS, ZYLOS, Files

LAYOUTS = {name: shipped_layout(name) for name in shipped()}


def known(files: Mapping[str, str]) -> tuple[Recognised, ...]:
    return recognise(files.keys(), files, LAYOUTS)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_folder_of_each_system_is_recognised_with_certainty(name: str) -> None:
    best = known(SYSTEMS[name])[0]

    assert (best.layout, best.sure) == (name, "certain")
    assert best.missing == ()
    assert best.why != ()


@pytest.mark.parametrize(
    ("files", "layout"),
    [
        ({"soul.md": "I am.\n"}, "soul"),
        ({"MEMORY.md": "x\n", "memory/a.md": "y\n"}, "nano"),
        ({"diary/20260207.md": "", "facts/a.md": ""}, "arizuko"),
        ({"diary/20260207.md": "", "users/tg-1.md": ""}, "arizuko"),
        ({"identity.md": "", "state.md": "", "sessions/current.md": ""}, "zylos"),
        ({"MEMORY.md": CLAUDE["MEMORY.md"]}, "claude-code"),
    ],
)
def test_the_first_days_of_a_memory_are_likely(files: Files, layout: str) -> None:
    best = known(files)[0]

    assert (best.layout, best.sure) == (layout, "likely")


@pytest.mark.parametrize(
    "files",
    [
        {"diary/2026-02-07.md": "x\n"},
        {"MEMORY.md": "notes\n"},
        {"README.md": "x\n", "src/main.py": "y\n"},
        {**ZYLOS, "diary/2026-01-07.md": "", "facts/a.md": ""},
    ],
    ids=["a diary alone", "a bare MEMORY.md", "a program", "two systems in one"],
)
def test_what_could_be_several_is_unsure(files: Files) -> None:
    assert all(each.sure == "unsure" for each in known(files))


def test_a_folder_with_the_parts_of_all_is_the_layout_that_has_them_all() -> None:
    days = {f"diary/2026-01-{day:02}.md": "" for day in range(1, 20)}
    best = known({**ZYLOS, **days, "facts/a.md": "", "episodes/2026-W05.md": ""})[0]

    assert (best.layout, best.sure) == ("standard", "certain")


def test_the_reasons_name_files_and_count_folders() -> None:
    best = known(ZYLOS)[0]

    assert "identity.md" in best.why
    assert "reference/ (4 files)" in best.why
    assert known({"MEMORY.md": "x\n", "memory/a.md": "y\n"})[0].missing == ("SOUL.md",)


def test_content_counts_where_a_mark_asks_for_it() -> None:
    files = {**CLAUDE, "MEMORY.md": "just notes\n"}

    assert "MEMORY.md has ']('" in known(CLAUDE)[0].why
    assert "MEMORY.md has ](" in known(files)[0].missing


def test_the_case_of_a_name_tells_two_systems_apart() -> None:
    assert known(SOUL)[0].layout == "soul"
    assert known(NANO)[0].layout == "nano"


def test_a_layout_nobody_has_seen_is_recognised_by_its_marks_or_by_its_places() -> None:
    layers = (Layer("mind", "document", "mind.md"), Layer("dreams", "notes", "dreams/*.md"))
    marked = Layout(name="sleeper", layers=layers, recognise=("dreams/", "*.md has wake"))
    files = {"mind.md": "at eight I wake\n", "dreams/one.md": "falling\n"}

    for layout in (marked, Layout(name="sleeper", layers=layers)):
        best = recognise(files.keys(), files, {**LAYOUTS, "sleeper": layout})[0]
        assert (best.layout, best.sure, best.score) == ("sleeper", "certain", 1.0)


def test_an_empty_folder_is_nothing() -> None:
    assert known({}) == ()


def test_missing_core_files_are_those_that_every_prompt_shows() -> None:
    assert missing_core(LAYOUTS["zylos"], ["state.md"]) == ("identity.md", "references.md")
    assert missing_core(LAYOUTS["zylos"], ZYLOS) == ()
    assert missing_core(LAYOUTS["nano"], []) == ("SOUL.md",)


NAMES = st.sampled_from(
    [*{path for files in SYSTEMS.values() for path in files}, "notes.md", "src/main.py", "a/b/c"]
)


@given(st.sets(NAMES, max_size=12))
def test_scores_are_ordered_and_at_most_one_is_sure(paths: set[str]) -> None:
    found = recognise(paths, {}, LAYOUTS)

    assert [each.score for each in found] == sorted((e.score for e in found), reverse=True)
    assert all(0 < each.score <= 1 for each in found)
    assert all(each.sure == "unsure" for each in found[1:])


def test_no_system_is_named_in_the_code() -> None:
    source = Path(recognise.__code__.co_filename).read_text("utf-8")

    assert [name for name in LAYOUTS if name in source] == []
