"""The documents say what the code does."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path

import pytest

import gitmem
from gitmem.memory.write.retries import RECOGNISED_WITHIN
from gitmem.model.commit_messages import STANDARD
from gitmem.model.guards import MAX_FILE
from gitmem.model.paths import MAX_DEPTH, MAX_GROUP_BYTES, MAX_PART_BYTES
from gitmem.store.config import FORMAT, new_config_text
from tests.support import api_page
from tests.support.git import git
from tests.support.pages import numbers

ROOT = Path(gitmem.__file__).parents[1]
DOCS = ROOT / "docs"
FORMAT_PAGE = (DOCS / "format.md").read_text("utf-8")
API_PAGE = (DOCS / "api.md").read_text("utf-8")


def blocks(page: str) -> list[str]:
    return re.findall(r"^```\w*\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def code_trailers() -> set[str]:
    """Every trailer that a string in the code names whole."""
    found = set(STANDARD)
    for path in (ROOT / "gitmem").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= set(re.findall(r"\AGitmem-[A-Z][A-Za-z-]+\Z", node.value))
    return found


def test_the_examples_of_the_api_page_run(tmp_path: Path) -> None:
    parsed = doctest.DocTestParser().get_doctest(
        API_PAGE, {"folder": tmp_path / "store"}, "api.md", str(DOCS / "api.md"), 0
    )
    said: list[str] = []

    results = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST).run(parsed, out=said.append)

    assert results.attempted > 15
    assert results.failed == 0, "".join(said)


def test_the_api_page_lists_the_methods_results_and_errors_of_the_code() -> None:
    written, mark, made = API_PAGE.partition(api_page.MARK)

    assert mark + made == api_page.reference(), "run `make docs`"
    assert "| `" not in written


def test_the_documented_configuration_is_the_one_that_is_written() -> None:
    assert new_config_text("../../groups/main") in blocks(FORMAT_PAGE)


def test_the_documented_trailers_are_those_of_the_code() -> None:
    rows = [line.split("|")[1] for line in FORMAT_PAGE.splitlines() if line.startswith("| `Gitmem")]

    assert set(re.findall(r"`(Gitmem-[\w-]+)`", "".join(rows))) == code_trailers()


def test_the_documented_operations_are_those_that_happen(tmp_path: Path) -> None:
    with gitmem.open(store=tmp_path / "store", create=True) as memory:
        memory.rotate()
        memory.compact("what was said")
        memory.write("episodes", "Long ago.\n", date="2026-01-01", set={"summary": "then"})
        memory.rollup("week", "2026-W01", "A week.\n", summary="a week")
        memory.write("ideas", "Soon.", entry="Drop it")
        memory.entries.move("reference/ideas.md#drop-it", "decisions")
        memory.decide('{"action": "update", "address": "decisions#drop-it", "text": "Now."}\n')
        memory.write("a.md", "one\n")
        memory.write("a.md", "two\n", append=True)
        memory.mv("a.md", "b.md")
        memory.rm("b.md")
        memory.restore("a.md", previous=True)
        memory.undo()
        memory.entries.confirm(["decisions#drop-it"])
        (memory.worktree / "c.md").write_text("three\n")
        memory.capture()
        memory.transcripts.add([gitmem.NewMessage("c", "ada", "hello")])
        memory.transcripts.pending()
        memory.transcripts.checkpoint("they met")
        happened = {entry.op for entry in memory.history.log()}
        trailer = "--format=%(trailers:key=Gitmem-Op,valueonly)"
        gitdir = tmp_path / "store" / "repos" / "main.git"
        happened |= set(git(gitdir, "log", trailer, "refs/gitmem/transcripts").split())

    row = next(line for line in FORMAT_PAGE.splitlines() if line.startswith("| `Gitmem-Op`"))
    documented = set(row.split("|")[2].strip().split(", "))
    assert documented - {"merge", "migrate", "adopt", "copy"} == happened


def test_the_documented_tree_is_the_real_one(tmp_path: Path) -> None:
    with gitmem.open(store=tmp_path / "store", create=True, layout="soul") as memory:
        memory.write("a.md", "one\n")
        memory.transcripts.add([gitmem.NewMessage("c", "ada", "hello")])
        memory.transcripts.pending()
        memory.search("hello")
    tree = blocks(FORMAT_PAGE)[0]

    for path in (tmp_path / "store").rglob("*"):
        parts = path.relative_to(tmp_path / "store").parts
        if len(parts) <= 4 and not {"objects", "refs", "logs"} & set(parts[:-1]):
            name = path.name.replace("main", "<group>")
            assert name in tree or name == "a.md", path
    assert git(tmp_path / "store" / "groups" / "main", "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("words", "real"),
    [
        (("Format version",), FORMAT),
        (("A path has", "parts"), MAX_DEPTH),
        (("A part has", "bytes"), MAX_PART_BYTES),
        (("such part", "bytes"), MAX_GROUP_BYTES),
        (("A file has", "MiB"), MAX_FILE / 1024**2),
        (("| `Gitmem-Id` |",), RECOGNISED_WITHIN),
    ],
)
def test_the_documented_limits_are_those_of_the_code(words: tuple[str, ...], real: float) -> None:
    assert real in numbers(FORMAT_PAGE, *words)
