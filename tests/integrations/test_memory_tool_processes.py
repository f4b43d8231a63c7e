"""`gitmem memory-tool` as processes: one command in, one answer out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gitmem as package
from tests.support.cli import Said, run_gitmem
from tests.support.git import git

ROOT = Path(package.__file__).parents[1]
GITMEM = [sys.executable, "-m", "gitmem", "memory-tool"]
LISTS_MODULES = (
    "import atexit, sys\n"
    "atexit.register(lambda: print('\\n'.join(sys.modules), file=sys.stderr))\n"
    "from gitmem.cli import main\n"
    "main()\n"
)
NOTES = "/memories/notes.md"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with an empty group."""
    monkeypatch.setenv("GITMEM_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert run_gitmem("init", "--layout", "none").code == 0
    return tmp_path / "store"


def asked(*args: str, **command: Any) -> Said:
    return run_gitmem("memory-tool", *args, input=json.dumps(command))


def started(**command: Any) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(GITMEM, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps(command).encode())
    process.stdin.close()
    process.stdin = None
    return process


def heard(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    answer = json.loads(out)
    assert answer.keys() == {"content", "is_error"}
    return dict(answer)


def commits(home: Path) -> int:
    return int(git(home / "repos" / "main.git", "rev-list", "--count", "main"))


def test_a_command_in_an_answer_out(home: Path) -> None:
    made = heard(started(command="create", path="/memories/Ü.md", file_text="Ada likes tea\n"))
    again = heard(started(command="create", path="/memories/Ü.md", file_text="x"))

    assert made == {"content": "File created successfully at: /memories/Ü.md", "is_error": False}
    assert again == {"content": "Error: File /memories/Ü.md already exists", "is_error": True}
    assert (home / "groups" / "main" / "Ü.md").read_text() == "Ada likes tea\n"


def test_it_imports_neither_the_sdk_nor_what_a_look_does_not_need(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LISTS_MODULES, "memory-tool"],
        input=json.dumps({"command": "view", "path": "/memories"}),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    modules = set(done.stderr.split())
    assert "gitmem.integrations.memory_tool.commands" in modules
    heavy = {
        "anthropic",
        "mcp",
        "pydantic",
        "gitmem.memory_tool",
        "yaml",
        "gitmem.store.transaction.writer",
    }
    assert modules & heavy == set()


def test_many_at_once_lose_nothing(home: Path) -> None:
    asked(command="create", path=NOTES, file_text="begin\n")
    before = commits(home)

    running = [
        started(command="insert", path=NOTES, insert_line=1, insert_text=f"- {number}")
        for number in range(6)
    ]
    answers = [heard(each) for each in running]

    assert {each["content"] for each in answers} == {f"The file {NOTES} has been edited."}
    lines = (home / "groups" / "main" / "notes.md").read_text().splitlines()
    assert lines[0] == "begin"
    assert sorted(lines[1:]) == [f"- {number}" for number in range(6)]
    assert commits(home) == before + 6


def test_of_two_that_create_the_same_one_is_told_so(home: Path) -> None:
    texts = ("one\n", "two\n")

    running = [started(command="create", path=NOTES, file_text=text) for text in texts]
    answers = [heard(each) for each in running]

    won = [text for text, each in zip(texts, answers, strict=True) if not each["is_error"]]
    assert [(home / "groups" / "main" / "notes.md").read_text()] == won
    said = [each["content"] for each in answers if each["is_error"]]
    assert said == [f"Error: File {NOTES} already exists"]


def test_the_document_is_the_same_answer(home: Path) -> None:
    said = asked("--json", command="view", path="/memories")

    assert (said.code, said.err) == (0, "")
    assert said.document["content"].endswith("\n0B\t/memories")
    assert said.document["is_error"] is False
    assert json.loads(asked("-q", command="view", path="/memories").out) == {
        "content": said.document["content"],
        "is_error": False,
    }


@pytest.mark.parametrize(
    "given", ["", "view", "[1]", '"view"', "{", '{"command": "view"', "\xff", "[" * 100_000]
)
def test_what_is_no_command_is_a_usage_error(given: str, home: Path) -> None:
    said = run_gitmem("memory-tool", "--json", input=given.encode("latin-1"))

    assert (said.code, said.error["code"]) == (2, "bad-input")
    assert "gitmem memory-tool" in said.error["hint"]
    assert run_gitmem("memory-tool", input=given.encode("latin-1")).out == ""


def test_a_group_that_is_not_there_is_no_answer(home: Path) -> None:
    said = asked("-g", "none", command="view", path="/memories")

    assert (said.code, said.out) == (3, "")
    assert "gitmem -g none init" in said.err


def test_the_options_say_who_and_what_is_allowed(home: Path) -> None:
    asked(command="create", path=NOTES, file_text="one\n")
    refused = asked(command="create", path=NOTES, file_text="two\n")
    replaced = asked("--overwrite", command="create", path=NOTES, file_text="two\n")
    emptied = {"command": "str_replace", "path": NOTES, "old_str": "two\n"}
    kept = asked(**emptied)
    removed = asked("--allow-shrink", "--agent", "claude", "--session", "s-1", **emptied)

    results = [json.loads(each.out)["is_error"] for each in (refused, replaced, kept, removed)]
    assert results == [True, False, True, False]
    trailers = git(home / "groups" / "main", "log", "-1", "--format=%(trailers:only)")
    assert "Gitmem-Agent: claude\n" in trailers
    assert "Gitmem-Session: s-1\n" in trailers
    assert "Gitmem-Source: memory-tool\n" in trailers


def test_half_a_character_comes_back_as_an_escape(home: Path) -> None:
    said = asked(command="view", path="/x\ud800")

    assert said.code == 0
    assert json.loads(said.raw)["is_error"]
    assert b"\\ud800" in said.raw


def test_a_terminal_is_not_waited_for(home: Path) -> None:
    ours, theirs = os.openpty()
    try:
        done = subprocess.run(
            GITMEM, stdin=theirs, capture_output=True, text=True, check=False, timeout=60
        )
    finally:
        os.close(ours)
        os.close(theirs)

    assert done.returncode == 2
    assert "standard input is a terminal" in done.stderr
