"""`gitmem memory get` and `gitmem memory search`: the two actions by name, on the command line."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.api.memory import open_group
from tests.support.cli import Run
from tests.support.serving import serving

NOW = datetime(2026, 2, 8, 14, 30, tzinfo=UTC)


@pytest.fixture
def nano(run: Run) -> Run:
    """Three groups of the layout nano; `other` knows something about herons."""
    for name in ("main", "other", "global"):
        assert run("init", "-g", name, "--layout", "nano").code == 0

    def write(path: str, text: str) -> None:
        assert run("-g", "other", "write", path, text, "--allow-policy", "--allow-shrink").code == 0

    write("MEMORY.md", "The heron of the others.")
    write("memory/notes.md", "A heron, noted.")
    write("plans.md", "The secret heron.")
    said = ("transcript", "add", "--chat", "tg:1", "--from", "Ada", "I saw the heron.")
    assert run("-g", "other", *said).code == 0
    return run


def test_a_file_is_printed_as_it_is(nano: Run) -> None:
    assert nano("-g", "other", "memory", "get").out == "The heron of the others.\n"
    assert nano("-g", "other", "memory", "get", "memory/notes.md").out == "A heron, noted.\n"
    found = nano("-g", "other", "memory", "get", "memory.md", "--json").document
    assert (found["path"], found["text"]) == ("MEMORY.md", "The heron of the others.\n")
    assert {*found} >= {"commit", "blob", "bytes"}


@pytest.mark.parametrize("path", ["SOUL.md", "plans.md", "gitmem.yaml", "memory/../SOUL.md"])
def test_only_files_that_the_layout_allows_are_read(nano: Run, path: str) -> None:
    refused = nano("-g", "other", "memory", "get", path)

    assert refused.code == 5
    assert "the layout does not allow reading" in refused.err
    assert "MEMORY.md, memory.md, memory/*.md" in refused.err
    assert "secret" not in refused.out


def test_a_file_that_is_not_there_is_told(nano: Run) -> None:
    assert nano("-g", "other", "memory", "get", "memory/none.md").code == 3


def test_a_search_covers_the_allowed_files_and_messages(nano: Run) -> None:
    def found(*options: str) -> set[str]:
        said = nano("-g", "other", "memory", "search", "heron", "--json", *options)
        return {hit["text"] for hit in said.document["hits"]}

    files = {"The heron of the others.", "A heron, noted."}
    assert found() == {*files, "I saw the heron."}
    assert found("--source", "memory") == files
    assert found("--source", "sessions") == found("--source", "transcripts") == {"I saw the heron."}
    shown = nano("-g", "other", "memory", "search", "secret", "heron").out
    assert "memory/notes.md" in shown
    assert "plans.md" not in shown
    assert nano("-g", "other", "memory", "search", "heron", "--source", "disk").code == 2


@pytest.mark.parametrize(("limit", "count"), [(-5, 1), (0, 1), (2, 2), (1000, 64)])
def test_the_number_of_hits_is_brought_into_its_limits(nano: Run, limit: int, count: int) -> None:
    lines = "\n".join(f'{{"path": "memory/m{n}.md", "text": "Heron {n}."}}' for n in range(80))
    assert nano("-g", "other", "write", "--batch", "-", input=lines).code == 0

    said = nano("-g", "other", "memory", "search", "heron", "-n", str(limit), "--json")

    assert len(said.document["hits"]) == count


def test_no_group_but_main_names_another(nano: Run) -> None:
    for verb in (("get",), ("search", "heron")):
        refused = nano("-g", "other", "memory", *verb, GITMEM_GROUP="global")
        assert refused.code == 5
        assert "heron" not in refused.out
        assert nano("-g", "other", "memory", *verb, GITMEM_GROUP="main").code == 0


def test_all_three_doors_answer_alike(nano: Run, home: Path) -> None:
    get = nano("-g", "other", "memory", "get", "memory/notes.md", "--json").document
    search = nano("-g", "other", "memory", "search", "heron", "--json").document

    with open_group("other", store=home, now=lambda: NOW) as memory:
        assert memory.memory_get("memory/notes.md").text == get["text"]
        hits = memory.memory_search("heron").hits
        assert [(hit.address, hit.score) for hit in hits] == [
            (hit["address"], hit["score"]) for hit in search["hits"]
        ]
    with serving(home.parent, "-g", "other", env={"GITMEM_NOW": NOW.isoformat()}) as server:
        text = server.done("memory_get", path="memory/notes.md").text
        assert get["text"] in text
        assert get["blob"][:12] in text
        told = server.done("memory_search", query="heron").text
    places = [told.index(hit["text"]) for hit in search["hits"]]
    assert places == sorted(places)


def test_the_bare_command_names_its_actions(nano: Run) -> None:
    said = nano("memory")

    assert said.code == 2
    assert "`gitmem memory get` or `gitmem memory search QUERY`" in said.err
