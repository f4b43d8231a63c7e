"""The memory tool beside the one that comes with the Anthropic SDK: same commands, same answers.

docs/memory-tool.md lists where they differ, and each row of that list is a test here.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, DefaultHttpxClient
from anthropic.lib.tools import BetaBuiltinFunctionTool
from anthropic.tools import BetaAbstractMemoryTool, BetaLocalFilesystemMemoryTool, ToolError
from hypothesis import given, settings
from hypothesis import strategies as st

import gitmem
from gitmem.memory_tool import GitMemoryTool
from tests.support.model import model
from tests.support.samples import narrow

PAGE = Path(__file__).parents[2] / "docs" / "memory-tool.md"
FAILED = "the system failed"
Command = dict[str, Any]
Said = tuple[str, bool]


def said(tool: BetaBuiltinFunctionTool, command: Command) -> Said:
    """What the tool runner would send, and whether as an error."""
    try:
        return str(tool.call(command)), False
    except ToolError as error:
        return str(error.content), True
    except (OSError, ValueError):
        return FAILED, True


class Pair:
    """Both tools, each with an empty memory."""

    def __init__(self, folder: Path, **options: bool) -> None:
        self.memory = gitmem.open(store=folder / "store", create=True, layout="none")
        self.ours = GitMemoryTool(self.memory, **options)
        self.theirs = BetaLocalFilesystemMemoryTool(str(folder / "sdk"))
        self.root = folder / "sdk" / "memories"

    def __call__(self, command: str, **fields: Any) -> tuple[Said, Said]:
        """What ours says, and theirs."""
        asked = {"command": command, **fields}
        return said(self.ours, asked), said(self.theirs, asked)

    def alike(self, command: str, **fields: Any) -> None:
        """Let both do something that they do alike."""
        ours, theirs = self(command, **fields)
        assert ours == theirs

    def our_files(self) -> dict[str, bytes]:
        """The files of the last commit that are not archived."""
        known = [each.path for each in self.memory.list().files]
        shown = [path for path in known if not path.startswith("archive/")]
        return {path: self.memory.read(path).data for path in shown}

    def their_files(self) -> dict[str, bytes]:
        return files_in(self.root)

    def standing(self) -> dict[str, bytes]:
        """The files in the work tree that are not archived."""
        found = files_in(self.memory.worktree)
        return {path: data for path, data in found.items() if path.split("/")[0] not in OWN}


OWN = ("archive", ".git")


def files_in(root: Path) -> dict[str, bytes]:
    found = (each for each in root.rglob("*") if each.is_file())
    return {each.relative_to(root).as_posix(): each.read_bytes() for each in found}


@contextmanager
def pair(**options: bool) -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="gitmem-memory-tool-") as folder:
        both = Pair(Path(folder), **options)
        try:
            yield both
        finally:
            both.memory.close()


@pytest.fixture
def both() -> Iterator[Pair]:
    with pair() as found:
        yield found


# How an answer of the SDK's tool reads in ours.


def translated(command: Command, answer: Said, files: dict[str, bytes]) -> Said:
    text, is_error = answer
    if text.startswith("Here're the files"):
        return listing(text, command["path"], files), False
    name = command["command"]
    if name == "insert":
        text = text.replace(". Please provide a valid path.", "")
        text = re.sub(r"the range (\[.*\])\.", r"the range of lines of the file: \1", text)
    exempt = name == "view" or text.startswith(("Cannot", "No replacement"))
    return (f"Error: {text}" if is_error and not exempt else text), is_error


def listing(text: str, path: str, files: dict[str, bytes]) -> str:
    header, first, *rows = text.split("\n")
    header = header.replace("hidden items:", "hidden items and node_modules:")
    sizes = {f"/memories/{each}": len(data) for each, data in files.items()}

    def row(line: str) -> str:
        size, _, where = line.partition("\t")
        inside = where.rstrip("/") + "/"
        if line == first or where.endswith("/"):
            size = human(sum(each for name, each in sizes.items() if name.startswith(inside)))
        elif size.endswith("K") and "." not in size:
            size = f"{size[:-1]}.0K"
        return f"{size}\t{where}"

    return "\n".join([header, *map(row, [first, *rows])])


def human(size: int) -> str:
    return f"{size}B" if size < 1024 else f"{size / 1024:.1f}K"


def prune(folder: Path) -> None:
    """Remove the folders in which there is no file."""
    for each in sorted(folder.rglob("*"), reverse=True):
        if each.is_dir() and not any(each.iterdir()):
            each.rmdir()


# `b` is a folder here and a file there, so that they get in each other's way.
BEGIN = ("a.md", "b/c.md", "b/d/e.md")
OTHERS = ("b", "b/d", "notes/Ü 日本.md", "notes/x", "a.md/x", "none/none.md")
KNOWN = st.sampled_from(BEGIN).map(lambda path: f"/memories/{path}")
PATHS = st.one_of(KNOWN, st.sampled_from(OTHERS).map(lambda path: f"/memories/{path}"))
NEW = st.sampled_from(["/memories/new.md", "/memories/b/new", "/memories/new/er.md"])
ANY_PATH = st.one_of(KNOWN, PATHS, PATHS, st.just("/memories"))
TEXTS = st.sampled_from(
    [
        *("one\ntwo\nthree\n", "one\ntwo\none\n", "two\r\none\r\n", "one, no end", "日本\nÜ\n"),
        *("", "\n", "\n\n\nx\n\n", "aaa\na a\n", " \tone\u2028two\x0b\n"),
        *("x" * 1024, "two\n" * 600, "1234567\n" * 384),
    ]
)
FIRST = st.one_of(st.just("one\ntwo\nthree\nfour\n"), TEXTS)
PARTS = st.sampled_from(["one", "one", "two", "one\n", "\n", "a", "aa", "x", "\r\n", "日", "no"])
LINES = st.one_of(st.integers(0, 2), st.integers(-2, 6))


def asking(name: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Command]:
    return st.fixed_dictionaries({"command": st.just(name), **fields})


def files_of(texts: tuple[str, ...]) -> list[Command]:
    return [
        {"command": "create", "path": f"/memories/{path}", "file_text": text}
        for path, text in zip(BEGIN, texts, strict=True)
    ]


COMMANDS = st.one_of(
    asking("create", path=ANY_PATH, file_text=TEXTS),
    asking("view", path=ANY_PATH),
    asking("view", path=PATHS, view_range=st.none() | st.lists(LINES, max_size=3)),
    asking("str_replace", path=PATHS, old_str=PARTS, new_str=PARTS | st.just("")),
    asking("str_replace", path=KNOWN, old_str=st.sampled_from(["one", "two"]), new_str=PARTS),
    asking("insert", path=PATHS, insert_line=LINES, insert_text=TEXTS),
    asking("delete", path=ANY_PATH),
    asking("rename", old_path=ANY_PATH, new_path=ANY_PATH),
    asking("rename", old_path=KNOWN | st.just("/memories/b"), new_path=NEW),
)


def last(memory: gitmem.Group, count: int) -> list[str]:
    """The newest commits."""
    return [each.commit for each in memory.history.log(limit=count)]


# As many as it takes to see each command succeed and fail, and to stay quick.
@settings(max_examples=settings.default.max_examples // 2)
@given(st.tuples(FIRST, FIRST, FIRST).map(files_of), st.lists(COMMANDS, min_size=4, max_size=16))
def test_both_tools_say_and_keep_the_same_and_a_change_is_one_commit(
    begin: list[Command], commands: list[Command]
) -> None:
    with pair(allow_shrink=True) as both:
        for command in begin + commands:
            compare(both, command)


def compare(both: Pair, command: Command) -> None:
    """Give both tools one command; look at what they say, what they keep, and at our commits."""
    before, tip = both.our_files(), last(both.memory, 1)

    answer, theirs = said(both.ours, command), said(both.theirs, command)

    prune(both.root)
    files = both.their_files()
    if theirs[0] == FAILED:
        assert answer[1]
        assert answer[0].startswith("Error: ")
    else:
        assert answer == translated(command, theirs, files)
    assert both.our_files() == both.standing() == files
    changes = int(files != before)
    assert last(both.memory, 1 + changes)[changes:] == tip


def test_both_tools_say_the_same_in_corners(both: Pair) -> None:
    path = "/memories/a.md"
    compare(both, {"command": "create", "path": path, "file_text": "aaaa\nb\n\nc"})
    for lines in ([0, 0], [3, 2], [-5, 2], [2, -2], [9, -1], [4, 9]):
        compare(both, {"command": "view", "path": path, "view_range": lines})
    for old in ("aa", "aaa", "\n", "b\n\nc"):
        compare(both, {"command": "str_replace", "path": path, "old_str": old, "new_str": "d"})
    for line, text in ((0, "x\n\n"), (1, "y\nz\r\n"), (5, ""), (6, "\n")):
        asked = {"command": "insert", "path": path, "insert_line": line, "insert_text": text}
        compare(both, asked)


class TestWhereTheyDiffer:
    """Each test is named as its row in docs/memory-tool.md."""

    def test_header(self, both: Pair) -> None:
        both.alike("create", path="/memories/node_modules/a.js", file_text="x")

        ours, theirs = both("view", path="/memories")

        start = "Here're the files and directories up to 2 levels deep in /memories, excluding"
        assert ours[0].split("\n")[0] == f"{start} hidden items and node_modules:"
        assert theirs[0].split("\n")[0] == f"{start} hidden items:"
        assert "a.js" not in ours[0]
        assert "a.js" in theirs[0]

    def test_sizes(self, both: Pair) -> None:
        both.alike("create", path="/memories/a/b.md", file_text="x" * 4096)

        ours, theirs = both("view", path="/memories")

        rows = ("/memories", "/memories/a/", "/memories/a/b.md")
        assert ours[0].split("\n")[1:] == [f"4.0K\t{path}" for path in rows]
        assert theirs[0].endswith("4K\t/memories/a/b.md")

    def test_error_prefix(self, both: Pair) -> None:
        both.alike("create", path="/memories/a.md", file_text="x")
        missing = {"path": "/memories/b.md"}
        for command, fields in (
            ("create", {"path": "/memories/a.md", "file_text": "x"}),
            ("str_replace", {**missing, "old_str": "x", "new_str": "y"}),
            ("delete", missing),
            ("rename", {"old_path": "/memories/b.md", "new_path": "/memories/c.md"}),
            ("rename", {"old_path": "/memories/b.md", "new_path": "/memories/a.md"}),
        ):
            ours, theirs = both(command, **fields)
            assert ours == (f"Error: {theirs[0]}", True)
        both.alike("view", **missing)
        both.alike("str_replace", path="/memories/a.md", old_str="y", new_str="z")

    def test_insert_words(self, both: Pair) -> None:
        both.alike("create", path="/memories/a.md", file_text="x\n")

        ours, theirs = both("insert", path="/memories/b.md", insert_line=0, insert_text="x")
        assert ours[0] == "Error: The path /memories/b.md does not exist"
        assert theirs[0].endswith("does not exist. Please provide a valid path.")
        ours, theirs = both("insert", path="/memories/a.md", insert_line=2, insert_text="x")
        assert ours[0].endswith("It should be within the range of lines of the file: [0, 1]")
        assert theirs[0].endswith("It should be within the range [0, 1].")

    def test_empty_folders(self, both: Pair) -> None:
        both.alike("create", path="/memories/a/b.md", file_text="x")
        both.alike("delete", path="/memories/a/b.md")

        ours, theirs = both("view", path="/memories/a")

        assert ours == ("The path /memories/a does not exist. Please provide a valid path.", True)
        assert not theirs[1]

    def test_delete(self, both: Pair) -> None:
        both.alike("create", path="/memories/a.md", file_text="x")
        both.alike("delete", path="/memories/a.md")

        ours, theirs = both("view", path="/memories/archive/a.md")

        assert ours[0].endswith("     1\tx")
        assert theirs[1]
        assert [each.op for each in both.memory.history.log()][:2] == ["archive", "write"]

    def test_clear(self, both: Pair) -> None:
        both.alike("create", path="/memories/a.md", file_text="x")

        assert both.ours.clear_all_memory() == both.theirs.clear_all_memory()

        assert both.our_files() == both.their_files() == {}
        assert both.memory.read("archive/a.md").text == "x"

    def test_own_files(self, both: Pair) -> None:
        for path in ("/memories/gitmem.yaml", "/memories/archive/a.md"):
            ours, theirs = both("create", path=path, file_text="gitmem: 1\n")
            assert (ours[1], theirs[1]) == (True, False)
        assert both.our_files() == {}

    def test_root_name(self, both: Pair) -> None:
        ours, theirs = both("create", path="/memoriesX/a.md", file_text="x")

        assert ours == ("Path must start with /memories, got: /memoriesX/a.md", True)
        assert not theirs[1]

    def test_dots(self, both: Pair) -> None:
        ours, theirs = both("create", path="/memories/a/../b.md", file_text="x")

        assert ours == ("Path /memories/a/../b.md would escape /memories directory", True)
        assert not theirs[1]
        ours, theirs = both("create", path="/memories/../b.md", file_text="x")
        assert ours == theirs
        assert both.our_files() == {}

    def test_names(self, both: Pair) -> None:
        both.alike("create", path="/memories/a.md", file_text="x")
        for name in (".hidden", "A.md", "%2e%2e/b.md", "a\\b.md", "b//c.md", "d/./c.md", "b."):
            ours, theirs = both("create", path=f"/memories/{name}", file_text="x")
            assert (ours[1], theirs[1]) == (True, False), name
        assert list(both.our_files()) == ["a.md"]

    def test_links(self, both: Pair) -> None:
        both.alike("create", path="/memories/a.md", file_text="x")
        for root in (both.root, both.memory.worktree):
            (root / "b.md").symlink_to(root / "a.md")

        ours, theirs = both("view", path="/memories/b.md")

        assert ours == ("Path /memories/b.md would escape /memories directory via symlink", True)
        assert not theirs[1]

    def test_new_str(self, both: Pair) -> None:
        both.alike("create", path="/memories/a.md", file_text="one two\n")

        asked = {"command": "str_replace", "path": "/memories/a.md", "old_str": " two"}

        assert not said(both.ours, asked)[1]
        assert both.our_files() == {"a.md": b"one\n"}
        with pytest.raises(TypeError):
            both.theirs.call(asked)

    def test_old_str(self, both: Pair) -> None:
        both.alike("create", path="/memories/a.md", file_text="")

        ours, theirs = both("str_replace", path="/memories/a.md", old_str="", new_str="x")

        assert ours[0] == "No replacement was performed, old_str is empty. Use insert to add text"
        assert not theirs[1]

    def test_guards(self, both: Pair) -> None:
        secret = narrow()["aws-key-id"][0]
        for path, text in (
            ("/memories/secret.md", f"{secret}\n"),
            ("/memories/big.md", "x" * (1024 * 1024 + 1)),
            ("/memories/alias.md", "---\na: &a 1\nb: *a\n---\n"),
        ):
            ours, theirs = both("create", path=path, file_text=text)
            assert (ours[1], theirs[1]) == (True, False), path
            assert secret not in ours[0]
        both.alike("create", path="/memories/a.md", file_text="all of it\n")
        ours, theirs = both("str_replace", path="/memories/a.md", old_str="all of it", new_str="")
        assert (ours[1], theirs[1]) == (True, False)
        assert list(both.our_files()) == ["a.md"]

    def test_slashes(self, both: Pair) -> None:
        both.alike("create", path="/memories/a.md", file_text="x")

        ours, theirs = both("view", path="/memories/")

        assert ours[0].endswith("\t/memories/a.md")
        assert theirs[0].endswith("\t/memories//a.md")

    def test_system_errors(self, both: Pair) -> None:
        both.alike("create", path="/memories/a.md", file_text="x")
        (both.root / "a.png").write_bytes(b"\xff")
        (both.memory.worktree / "a.png").write_bytes(b"\xff")
        for command, fields, words in (
            ("create", {"path": "/memories/a.md/b.md", "file_text": "x"}, "a.md is a file"),
            ("view", {"path": "/memories/a.png"}, "is not text"),
            ("create", {"path": "/memories/b.md", "file_text": "\ud800"}, "not valid Unicode"),
            ("create", {"path": f"/memories/{'x' * 300}", "file_text": "x"}, "300 bytes"),
        ):
            ours, theirs = both(command, **fields)
            assert theirs == (FAILED, True)
            assert ours[1]
            assert words in ours[0]

    def test_unknown_commands(self, both: Pair) -> None:
        ours = said(both.ours, {"command": "undo"})

        assert ours[1]
        assert ours[0].startswith("Error: Unknown command: undo. There are: view, create")
        with pytest.raises(NotImplementedError):
            both.theirs.call({"command": "undo"})
        for wrong in ({}, [], "view", {"command": "view"}, {"command": "insert", "path": 1}):
            with pytest.raises(ToolError):
                both.ours.call(wrong)

    def test_edits(self, both: Pair) -> None:
        for root in (both.root, both.memory.worktree):
            (root / "a.md").write_text("by hand\n")
            (root / "b.md").write_text(narrow()["aws-key-id"][0])

        both.alike("view", path="/memories/a.md")
        ours, theirs = both("view", path="/memories/b.md")

        assert both.memory.history.log(limit=1)[0].op == "capture"
        assert (ours[1], theirs[1]) == (True, False)

    def test_overwrite(self) -> None:
        with pair(overwrite=True) as both:
            both.alike("create", path="/memories/a.md", file_text="one\n")

            ours, theirs = both("create", path="/memories/a.md", file_text="two\n")

            assert ours == ("File created successfully at: /memories/a.md", False)
            assert theirs == ("File /memories/a.md already exists", True)
            assert both.our_files() == {"a.md": b"two\n"}


def test_the_page_lists_every_difference_and_no_other() -> None:
    section = PAGE.read_text("utf-8").partition("## Differences")[2].partition("\n## ")[0]
    documented = re.findall(r"^\| `([a-z ]+)` \|", section, re.M)
    tests = [name for name, _ in inspect.getmembers(TestWhereTheyDiffer, inspect.isfunction)]
    tested = [name.removeprefix("test_").replace("_", " ") for name in tests]

    assert sorted(documented) == sorted(tested)


def test_the_typed_commands_of_the_sdk_work_as_well(both: Pair) -> None:
    from anthropic.types.beta import (
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818ViewCommand,
    )

    create = BetaMemoryTool20250818CreateCommand(
        command="create", path="/memories/a.md", file_text="x"
    )
    rename = BetaMemoryTool20250818RenameCommand(
        command="rename", old_path="/memories/a.md", new_path="/memories/b.md"
    )
    view = BetaMemoryTool20250818ViewCommand(command="view", path="/memories/b.md")

    assert both.ours.create(create) == "File created successfully at: /memories/a.md"
    with pytest.raises(ToolError):
        both.ours.create(create)
    assert both.ours.execute(rename) == "Successfully renamed /memories/a.md to /memories/b.md"
    assert both.ours.view(view) == both.ours.call(view.to_dict())
    assert isinstance(both.ours, BetaAbstractMemoryTool)
    assert both.ours.to_dict() == {"type": "memory_20250818", "name": "memory"}
    cached = GitMemoryTool(both.memory, cache_control={"type": "ephemeral"})
    assert cached.to_dict()["cache_control"] == {"type": "ephemeral"}


def test_the_tool_runner_of_the_sdk_drives_it(both: Pair) -> None:
    script: list[list[Command]] = [
        [{"command": "view", "path": "/memories"}],
        [
            {"command": "create", "path": "/memories/ada.md", "file_text": "Ada likes tea\n"},
            {"command": "view", "path": "/memories/../x"},
        ],
        [],
    ]
    with (
        model(*script) as server,
        DefaultHttpxClient(trust_env=False) as http,
        Anthropic(
            api_key="none",
            base_url=f"http://127.0.0.1:{server.server_port}",
            max_retries=0,
            http_client=http,
        ) as client,
    ):
        message = client.beta.messages.tool_runner(
            model="claude-test",
            max_tokens=100,
            tools=[both.ours],
            messages=[{"role": "user", "content": "I am Ada, and I like tea."}],
        ).until_done()

    assert message.stop_reason == "end_turn"
    assert server.asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    results = server.asked[2]["messages"][-1]["content"]
    assert [each.get("is_error", False) for each in results] == [False, True]
    assert results[0]["content"] == "File created successfully at: /memories/ada.md"
    assert results[1]["content"] == "Path /memories/../x would escape /memories directory"
    assert both.memory.read("ada.md").text == "Ada likes tea\n"


def test_without_the_sdk_it_says_what_to_install() -> None:
    code = (
        "import sys\n"
        "sys.modules['anthropic'] = None\n"
        "from gitmem.errors import ExtraMissing\n"
        "try:\n"
        "    import gitmem.memory_tool\n"
        "except ExtraMissing as error:\n"
        "    print(error)\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "pip install --upgrade anthropic" in done.stdout
