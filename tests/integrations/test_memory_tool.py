"""The memory tool on a group: every documented string, and what gitmem adds to it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gitmem.integrations.memory_tool.commands import COMMANDS, Answer, MemoryCommands
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.listing import list_files
from gitmem.memory.read.log import log
from gitmem.memory.read.read import read
from gitmem.memory.write.write import Edit, write
from gitmem.store.transaction.plan import Plan, Step
from tests.support.clocks import Clock
from tests.support.git import git
from tests.support.moulds import Moulds
from tests.support.samples import narrow

Do = Callable[..., Answer]
Meanwhile = Callable[..., Answer]
NOTES = "one\ntwo\nthree\nfour\nfive\ntwo\n"
UNKNOWN = "Error: Unknown command: {}. There are: " + ", ".join(COMMANDS)


def opened(root: Path, layout: str = "none", name: str = "main") -> Group:
    store = Store(root)
    init(store, name, layout=layout, now=Clock())
    return Group(store, name, who=Who("claude"), now=Clock())


@pytest.fixture
def group(tmp_path: Path, moulds: Moulds) -> Iterator[Group]:
    moulds.init(Store(tmp_path / "store"), Clock())
    group = Group(Store(tmp_path / "store"), "main", who=Who("claude"), now=Clock())
    yield group
    group.close()


@pytest.fixture
def do(group: Group) -> Do:
    return doing(group)


def doing(group: Group, **options: bool) -> Do:
    commands = MemoryCommands(group, **options)
    return lambda command, **fields: commands.answer({"command": command, **fields})


def head(group: Group) -> str:
    return group.repository.tip()


def paths(group: Group) -> list[str]:
    return [each.path for each in list_files(group).files]


def text(group: Group, path: str) -> str:
    return read(group, path).text


def publish(group: Group, files: dict[str, bytes | None]) -> None:
    """Commit files whatever they are called."""
    with group.writing() as writer:
        writer.publish(lambda _: Plan((Step(files, group.note("write")),), None))


# What the documentation of memory_20250818 says, with the SDK's words where it leaves a choice.
ROOT, NOTE, NONE = "/memories", "/memories/notes.md", "/memories/none.md"
TWO_DEEP = "Here're the files and directories up to 2 levels deep in"
HEADER = f"{TWO_DEEP} {{}}, excluding hidden items and node_modules:"
EMPTY = f"{HEADER.format(ROOT)}\n0B\t/memories"
NUMBERED = "Here's the content of {} with line numbers:"
EDITED = "The memory file has been edited. Here is the snippet showing the change"
RANGE = "It should be within the range of lines of the file: [0, 6]"
NO_REPLACEMENT = "No replacement was performed"

Row = tuple[str, dict[str, object], str]
GOLDEN: dict[str, Row] = {
    "view the root": (
        "view",
        {"path": ROOT},
        (
            f"{HEADER.format(ROOT)}\n1.5K\t/memories\n28B\t/memories/notes.md\n1.5K\t/memories/x/"
            "\n1.5K\t/memories/x/big.md\n5B\t/memories/x/y/"
        ),
    ),
    "view a folder": (
        "view",
        {"path": "/memories/x/"},
        (
            f"{HEADER.format('/memories/x/')}\n1.5K\t/memories/x/\n1.5K\t/memories/x/big.md"
            "\n5B\t/memories/x/y/\n5B\t/memories/x/y/z.md"
        ),
    ),
    "view a file": (
        "view",
        {"path": "/memories/x/y/z.md"},
        f"{NUMBERED.format('/memories/x/y/z.md')}\n     1\tdeep\n     2\t",
    ),
    "view lines": (
        "view",
        {"path": NOTE, "view_range": [2, 3]},
        f"{NUMBERED.format(NOTE)}\n     2\ttwo\n     3\tthree",
    ),
    "view to the end": (
        "view",
        {"path": NOTE, "view_range": [6, -1]},
        f"{NUMBERED.format(NOTE)}\n     6\ttwo\n     7\t",
    ),
    "create": (
        "create",
        {"path": "/memories/new/a.md", "file_text": "hello"},
        "File created successfully at: /memories/new/a.md",
    ),
    "str_replace": (
        "str_replace",
        {"path": NOTE, "old_str": "three", "new_str": "3"},
        (
            f"{EDITED} (with line numbers):"
            "\n     1\tone\n     2\ttwo\n     3\t3\n     4\tfour\n     5\tfive"
        ),
    ),
    "insert": (
        "insert",
        {"path": NOTE, "insert_line": 0, "insert_text": "zero\n"},
        "The file /memories/notes.md has been edited.",
    ),
    "delete a file": ("delete", {"path": NOTE}, "Successfully deleted /memories/notes.md"),
    "delete a folder": ("delete", {"path": "/memories/x"}, "Successfully deleted /memories/x"),
    "rename a file": (
        "rename",
        {"old_path": NOTE, "new_path": "/memories/old/notes.md"},
        "Successfully renamed /memories/notes.md to /memories/old/notes.md",
    ),
    "rename a folder": (
        "rename",
        {"old_path": "/memories/x", "new_path": "/memories/z"},
        "Successfully renamed /memories/x to /memories/z",
    ),
}
GOLDEN_ERRORS: dict[str, Row] = {
    "view: missing": (
        "view",
        {"path": NONE},
        "The path /memories/none.md does not exist. Please provide a valid path.",
    ),
    "create: exists": (
        "create",
        {"path": NOTE, "file_text": "x"},
        "Error: File /memories/notes.md already exists",
    ),
    "create: a folder": (
        "create",
        {"path": "/memories/x", "file_text": "x"},
        "Error: File /memories/x already exists",
    ),
    "create: the root": (
        "create",
        {"path": ROOT, "file_text": "x"},
        "Error: File /memories already exists",
    ),
    "str_replace: missing": (
        "str_replace",
        {"path": NONE, "old_str": "a", "new_str": "b"},
        "Error: The path /memories/none.md does not exist. Please provide a valid path.",
    ),
    "str_replace: a folder": (
        "str_replace",
        {"path": "/memories/x", "old_str": "a", "new_str": "b"},
        "Error: The path /memories/x is not a file.",
    ),
    "str_replace: not there": (
        "str_replace",
        {"path": NOTE, "old_str": "six", "new_str": "6"},
        f"{NO_REPLACEMENT}, old_str `six` did not appear verbatim in /memories/notes.md.",
    ),
    "str_replace: twice there": (
        "str_replace",
        {"path": NOTE, "old_str": "two", "new_str": "2"},
        (
            f"{NO_REPLACEMENT}. Multiple occurrences of old_str `two` in lines: 2, 6. "
            "Please ensure it is unique"
        ),
    ),
    "insert: missing": (
        "insert",
        {"path": NONE, "insert_line": 0, "insert_text": "x"},
        "Error: The path /memories/none.md does not exist",
    ),
    "insert: behind the end": (
        "insert",
        {"path": NOTE, "insert_line": 7, "insert_text": "x"},
        f"Error: Invalid `insert_line` parameter: 7. {RANGE}",
    ),
    "insert: before the start": (
        "insert",
        {"path": NOTE, "insert_line": -1, "insert_text": "x"},
        f"Error: Invalid `insert_line` parameter: -1. {RANGE}",
    ),
    "delete: missing": (
        "delete",
        {"path": NONE},
        "Error: The path /memories/none.md does not exist",
    ),
    "delete: the root": (
        "delete",
        {"path": ROOT},
        "Cannot delete the /memories directory itself",
    ),
    "delete: the root with a slash": (
        "delete",
        {"path": "/memories/"},
        "Cannot delete the /memories directory itself",
    ),
    "rename: missing": (
        "rename",
        {"old_path": NONE, "new_path": "/memories/a.md"},
        "Error: The path /memories/none.md does not exist",
    ),
    "rename: exists": (
        "rename",
        {"old_path": NOTE, "new_path": "/memories/x"},
        "Error: The destination /memories/x already exists",
    ),
    "rename: onto the root": (
        "rename",
        {"old_path": NOTE, "new_path": ROOT},
        "Error: The destination /memories already exists",
    ),
    "rename: the root": (
        "rename",
        {"old_path": ROOT, "new_path": "/memories/a"},
        "Cannot rename the /memories directory itself",
    ),
}


@pytest.fixture
def filled(group: Group) -> Group:
    files = {"notes.md": NOTES, "x/big.md": "1234567\n" * 192, "x/y/z.md": "deep\n"}
    write(group, [Edit(path, data) for path, data in files.items()])
    return group


class TestWhatIsDocumented:
    @pytest.mark.parametrize("row", GOLDEN.values(), ids=GOLDEN)
    def test_an_answer_is_given_to_the_letter(self, row: Row, filled: Group, do: Do) -> None:
        command, fields, said = row

        assert do(command, **fields) == Answer(said)

    def test_an_error_is_told_to_the_letter_and_changes_nothing(
        self, filled: Group, do: Do
    ) -> None:
        before = head(filled)

        answers = {name: do(row[0], **row[1]) for name, row in GOLDEN_ERRORS.items()}

        assert answers == {name: Answer(row[2], True) for name, row in GOLDEN_ERRORS.items()}
        assert head(filled) == before

    def test_an_empty_memory_is_no_error(self, do: Do) -> None:
        assert do("view", path="/memories") == Answer(EMPTY)

    def test_a_file_with_too_many_lines_is_not_shown(self, group: Group, do: Do) -> None:
        write(group, [Edit("long.md", "\n" * 999_999), Edit("fits.md", "\n" * 999_998)])

        said = "File /memories/long.md exceeds maximum line limit of 999,999 lines."
        assert do("view", path="/memories/long.md") == Answer(said, is_error=True)
        last = do("view", path="/memories/fits.md", view_range=[999_999, -1])
        assert last.content.endswith("\n999999\t")

    def test_hidden_items_and_node_modules_are_not_listed(self, group: Group, do: Do) -> None:
        write(group, [Edit("node_modules/a/b.js", "x"), Edit("src/node_modules/c.js", "x")])

        assert do("view", path="/memories").content == EMPTY

    def test_hidden_items_that_git_has_are_not_listed(self, group: Group, do: Do) -> None:
        publish(group, {".hidden.md": b"x", "a/.b/c.md": b"x"})

        assert do("view", path="/memories") == Answer(EMPTY)

    def test_a_folder_may_be_called_like_a_pattern(self, group: Group, do: Do) -> None:
        write(group, [Edit("[a]*/x.md", "x"), Edit("a/y.md", "y"), Edit("?/z.md", "z")])

        assert do("view", path="/memories/[a]*").content.endswith("\n1B\t/memories/[a]*/x.md")
        assert do("view", path="/memories/?").content.count("\n") == 2

    def test_a_replacement_without_new_text_removes(self, filled: Group, do: Do) -> None:
        assert not do("str_replace", path="/memories/notes.md", old_str="three\n").is_error
        assert text(filled, "notes.md") == "one\ntwo\nfour\nfive\ntwo\n"

    def test_bytes_come_back_as_they_went_in(self, group: Group, do: Do) -> None:
        content = "\ufeffCRLF\r\nno end, Ünï 日本 \x00"
        do("create", path="/memories/Ü/日本語 x.md", file_text=content)

        assert read(group, "Ü/日本語 x.md").data == content.encode()


class TestCommits:
    def test_each_change_is_one_commit_and_says_what_it_was(self, group: Group, do: Do) -> None:
        do("create", path="/memories/a.md", file_text="one\n")
        do("str_replace", path="/memories/a.md", old_str="one", new_str="two")
        do("insert", path="/memories/a.md", insert_line=1, insert_text="three")
        do("rename", old_path="/memories/a.md", new_path="/memories/b.md")
        do("delete", path="/memories/b.md")

        entries = log(group)
        assert [each.op for each in entries] == [
            *("archive", "move", "write", "write", "write", "init")
        ]
        assert {each.agent for each in entries[:5]} == {"claude"}

    def test_a_look_and_a_change_to_the_same_are_none(self, filled: Group, do: Do) -> None:
        before = head(filled)

        do("view", path="/memories")
        do("view", path="/memories/notes.md")
        assert not do(
            "str_replace", path="/memories/notes.md", old_str="one", new_str="one"
        ).is_error
        assert head(filled) == before


class TestTheArchive:
    def test_what_is_deleted_moves_there_and_can_be_renamed_back(
        self, filled: Group, do: Do
    ) -> None:
        do("delete", path="/memories/notes.md")

        assert text(filled, "archive/notes.md") == NOTES
        assert "archive" not in do("view", path="/memories").content
        assert "/memories/archive/notes.md" in do("view", path="/memories/archive").content
        assert "three" in do("view", path="/memories/archive/notes.md").content
        back = do("rename", old_path="/memories/archive/notes.md", new_path="/memories/notes.md")
        assert not back.is_error
        assert text(filled, "notes.md") == NOTES

    def test_the_same_name_can_be_deleted_again_and_again(self, group: Group, do: Do) -> None:
        for number in range(3):
            do("create", path="/memories/a.md", file_text=f"{number}\n")
            assert not do("delete", path="/memories/a.md").is_error

        assert paths(group) == ["archive/a-2.md", "archive/a-3.md", "archive/a.md"]

    def test_nothing_is_made_that_would_stand_in_its_place(self, group: Group, do: Do) -> None:
        do("create", path="/memories/c.md", file_text="x\n")

        for path in ("/memories/Archive/x.md", "/memories/ARCHIVE"):
            for answer in (
                do("create", path=path, file_text="x"),
                do("rename", old_path="/memories/c.md", new_path=path),
            ):
                assert answer.is_error
                assert "the name of the archive" in answer.content

        assert not do("delete", path="/memories/c.md").is_error

    def test_no_depth_and_no_length_of_a_name_keeps_a_thing_from_it(
        self, group: Group, do: Do
    ) -> None:
        long = "n" * 197
        for path, deleted in (("1/2/3/4/5/6/7/8.md", "1"), (f"{long}.md", f"{long}.md")):
            for _ in range(2):
                assert not do("create", path=f"/memories/{path}", file_text="x\n").is_error
                assert not do("delete", path=f"/memories/{deleted}").is_error

        assert paths(group) == [
            "archive/2/3/4/5/6/7/8-2.md",
            "archive/2/3/4/5/6/7/8.md",
            f"archive/{long[:-2]}-2.md",
            f"archive/{long}.md",
        ]

    def test_nothing_in_it_is_changed(self, group: Group, do: Do) -> None:
        write(group, [Edit("archive/a.md", "one\n"), Edit("c.md", "x\n")])
        before, shelved = head(group), "/memories/archive/a.md"

        answers = [
            do("create", path="/memories/archive/b.md", file_text="x"),
            do("create", path="/memories/archive", file_text="x"),
            do("str_replace", path=shelved, old_str="o", new_str="x"),
            do("insert", path=shelved, insert_line=0, insert_text="x"),
            do("delete", path=shelved),
            do("delete", path="/memories/archive"),
            do("rename", old_path="/memories/c.md", new_path="/memories/archive/c.md"),
        ]

        assert all(each.is_error and "is in the archive" in each.content for each in answers)
        assert head(group) == before

    def test_clearing_memory_is_one_commit_that_archives_all(self, tmp_path: Path) -> None:
        group = opened(tmp_path / "s", "zylos")
        known = [path for path in paths(group) if path != "gitmem.yaml"]
        commits = len(log(group))

        assert MemoryCommands(group).clear() == Answer("All memory cleared")
        assert MemoryCommands(group).clear() == Answer("All memory cleared")

        assert paths(group) == sorted([*(f"archive/{each}" for each in known), "gitmem.yaml"])
        assert len(log(group)) == commits + 1
        group.close()


class TestWhatIsNoMemory:
    def test_the_layout_is_neither_shown_nor_changed(self, tmp_path: Path) -> None:
        group = opened(tmp_path / "s", "zylos")
        do, before = doing(group), head(group)
        for name in ("gitmem.yaml", "GITMEM.yaml", "gitmem.yaml/x"):
            path = f"/memories/{name}"
            fields = dict.fromkeys(("path", "old_path"), path) | {"new_path": "/memories/a"}
            fields |= {"file_text": "x", "old_str": "gitmem", "insert_text": "x"}
            said = {each: do(each, **fields, insert_line=0) for each in COMMANDS}

            no_memory = Answer(f"Error: {path} is the layout of this memory, not memory", True)
            assert said.pop("create") == no_memory
            assert all(f"The path {path} does not exist" in each.content for each in said.values())
            assert do("rename", old_path="/memories/state.md", new_path=path) == no_memory
        assert "gitmem.yaml" not in do("view", path="/memories").content
        assert head(group) == before
        group.close()

    def test_a_layout_may_allow_only_some_files(self, tmp_path: Path) -> None:
        group = opened(tmp_path / "s", "nano")
        write(group, [Edit("memory/a.md", "seen\n"), Edit("secret.txt", "unseen\n")])
        do = doing(group)

        assert "secret.txt" not in do("view", path="/memories").content
        assert "does not exist" in do("view", path="/memories/secret.txt").content
        assert do("create", path="/memories/b.txt", file_text="x").is_error
        assert not do("create", path="/memories/memory/b.md", file_text="x").is_error
        assert not do("delete", path="/memories/memory").is_error
        assert "seen" in do("view", path="/memories/archive/memory/a.md").content
        group.close()

    def test_a_folder_that_holds_more_than_memory_is_not_moved(self, tmp_path: Path) -> None:
        group = opened(tmp_path / "s", "nano")
        write(group, [Edit("memory/a.md", "seen\n"), Edit("memory/b.txt", "unseen\n")])
        do, before = doing(group), head(group)

        said = "Error: /memories/memory also contains other files; name the memory files in it"
        assert do("delete", path="/memories/memory") == Answer(said, is_error=True)
        assert head(group) == before
        assert not do("delete", path="/memories/memory/a.md").is_error
        group.close()


WAYS_OUT = [
    "/memories/../outside.md",
    "/memories/a/../../outside.md",
    "/memories/..",
    "/memories/a/..",
    "/memories/%2e%2e/outside.md",
    "/memories/%2E%2e%2foutside.md",
    "/memories/..%2foutside.md",
    "/memories/%252e%252e/outside.md",
    "/memories/%c0%ae%c0%ae/outside.md",
    "/memories/..\\outside.md",
    "/memories\\..\\outside.md",
    "/memories/a\\b.md",
    "/memories/C:/outside.md",
    "/memoriesX/outside.md",
    "/memories.md",
    "/memories%2f..%2foutside.md",
    "/Memories/a.md",
    "memories/a.md",
    "/outside.md",
    "../outside.md",
    "outside.md",
    "",
    "/",
    "~/outside.md",
]


class TestPaths:
    def test_every_way_out_is_refused_by_every_command(
        self, filled: Group, do: Do, tmp_path: Path
    ) -> None:
        outside = tmp_path / "store" / "groups" / "outside.md"
        outside.write_text("untouched\n")
        before = head(filled)
        fields = {"file_text": "x", "old_str": "untouched", "new_str": "x", "insert_text": "x"}
        for path in WAYS_OUT:
            answers = [do(each, path=path, insert_line=0, **fields) for each in COMMANDS[:5]]
            answers += [
                do("rename", old_path=path, new_path="/memories/new.md"),
                do("rename", old_path="/memories/notes.md", new_path=path),
            ]

            within = path.startswith("/memories/")
            said = "Path {} would escape /memories directory"
            said = said if within else "Path must start with /memories, got: {}"
            assert answers == [Answer(said.format(path), is_error=True)] * 7
        assert head(filled) == before
        assert outside.read_text() == "untouched\n"

    def test_a_name_that_gitmem_does_not_take_is_refused_in_words(
        self, group: Group, do: Do
    ) -> None:
        for path in (
            *("/memories/.hidden", "/memories/.git/config", "/memories/a//b.md", "/memories/./a"),
            *("/memories/a\x00b.md", "/memories/a\nb.md", "/memories/ a.md", "/memories/a."),
            *("/memories/" + "a/" * 9 + "b.md", "/memories/" + "a" * 201, "/memories/\u200b.md"),
        ):
            answer = do("create", path=path, file_text="x")

            assert answer.is_error, path
            assert answer.content.startswith("Error: path refused: ")
            assert "\nHint: " in answer.content
        assert paths(group) == []

    def test_a_slash_more_at_an_end_changes_nothing(self, filled: Group, do: Do) -> None:
        assert not do("view", path="/memories//notes.md").is_error
        assert not do("view", path="/memories/").is_error
        assert not do("create", path="/memories/b.md/", file_text="x").is_error
        assert "b.md" in paths(filled)

    @pytest.mark.parametrize("command", COMMANDS)
    def test_no_link_is_followed(self, command: str, filled: Group, do: Do, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "a.md").write_text("untouched\n")
        os.symlink(outside, filled.worktree / "folder")
        os.symlink(outside / "a.md", filled.worktree / "file.md")
        os.symlink(outside / "none.md", filled.worktree / "dangling.md")
        before = head(filled)

        for name in ("folder", "folder/a.md", "folder/new.md", "file.md", "dangling.md"):
            path = f"/memories/{name}"
            fields = dict.fromkeys(("path", "old_path"), path) | {"new_path": "/memories/b.md"}
            fields |= {"file_text": "x", "old_str": "untouched", "insert_text": "x"}
            said = f"Path {path} would escape /memories directory via symlink"
            assert do(command, **fields, insert_line=0) == Answer(said, is_error=True)

        listed = do("view", path="/memories").content
        assert "folder" not in listed
        assert "file.md" not in listed
        assert head(filled) == before
        assert (filled.worktree / "folder").is_symlink()
        assert [(each.name, each.read_text()) for each in outside.iterdir()] == [
            ("a.md", "untouched\n")
        ]

    def test_nothing_is_renamed_onto_or_below_a_link(
        self, filled: Group, do: Do, tmp_path: Path
    ) -> None:
        os.symlink(tmp_path, filled.worktree / "folder")

        for path in ("/memories/folder", "/memories/folder/b.md"):
            assert (
                "via symlink" in do("rename", old_path="/memories/notes.md", new_path=path).content
            )
        assert "notes.md" in paths(filled)

    def test_a_twin_of_a_name_is_refused(self, filled: Group, do: Do) -> None:
        answer = do("create", path="/memories/NOTES.md", file_text="x")

        assert answer.is_error
        assert "only in case" in answer.content

    def test_a_file_is_no_folder(self, filled: Group, do: Do) -> None:
        below = "/memories/notes.md/b.md"

        assert do("view", path=below).is_error
        assert "is a file" in do("create", path=below, file_text="x").content
        assert "is a file" in do("rename", old_path="/memories/x", new_path=below).content
        assert (
            "into itself"
            in do("rename", old_path="/memories/x", new_path="/memories/x/y/x").content
        )


class TestEditsByOthers:
    def test_they_are_committed_first_and_then_seen(self, filled: Group, do: Do) -> None:
        (filled.worktree / "notes.md").write_text("mine\n")
        (filled.worktree / "x" / "new.md").write_text("also mine\n")

        assert do("view", path="/memories/notes.md").content.endswith("     1\tmine\n     2\t")
        assert "10B\t/memories/x/new.md" in do("view", path="/memories/x").content
        captures = log(filled)[:2]
        assert [each.op for each in captures] == ["capture", "capture"]
        assert {each.agent for each in captures} == {"unknown"}

    def test_only_what_was_asked_for_is_committed(self, filled: Group, do: Do) -> None:
        before = head(filled)
        (filled.worktree / "x" / "new.md").write_text("half a sent")

        do("view", path="/memories/notes.md")

        assert head(filled) == before

    def test_a_change_builds_on_them(self, filled: Group, do: Do) -> None:
        (filled.worktree / "notes.md").write_text("mine\n")
        assert not do(
            "str_replace", path="/memories/notes.md", old_str="mine", new_str="ours"
        ).is_error
        (filled.worktree / "notes.md").write_text("ours\nmine\n")
        assert not do(
            "insert", path="/memories/notes.md", insert_line=2, insert_text="yours"
        ).is_error

        assert text(filled, "notes.md") == "ours\nmine\nyours\n"
        assert [each.op for each in log(filled)[:4]] == ["write", "capture"] * 2

    def test_a_file_made_by_hand_exists(self, filled: Group, do: Do) -> None:
        (filled.worktree / "mine.md").write_text("mine\n")
        (filled.worktree / "also.md").write_text("mine, too\n")

        assert do("create", path="/memories/mine.md", file_text="x") == Answer(
            "Error: File /memories/mine.md already exists", is_error=True
        )
        moved = do("rename", old_path="/memories/notes.md", new_path="/memories/also.md")
        assert moved.content == "Error: The destination /memories/also.md already exists"
        assert do("delete", path="/memories/mine.md").content.startswith("Successfully")
        assert text(filled, "archive/mine.md") == "mine\n"

    def test_a_file_removed_by_hand_does_not(self, filled: Group, do: Do) -> None:
        (filled.worktree / "notes.md").unlink()

        for command in ("view", "delete"):
            assert "does not exist" in do(command, path="/memories/notes.md").content
        assert not do("create", path="/memories/notes.md", file_text="x").is_error

    def test_what_may_not_enter_git_is_not_shown(self, filled: Group, do: Do) -> None:
        secret = narrow()["aws-key-id"][0]
        (filled.worktree / "notes.md").write_text(f"{NOTES}{secret}\n")
        (filled.worktree / "keys.md").write_text(f"{secret}\n")

        shown = do("view", path="/memories/notes.md").content
        assert shown.endswith("     6\ttwo\n     7\t")
        assert "keys.md" not in do("view", path="/memories").content
        assert "does not exist" in do("view", path="/memories/keys.md").content


@pytest.fixture
def meanwhile(filled: Group) -> Iterator[Meanwhile]:
    """Do a command while somebody else changes files: after it looked, before it may write."""
    slow = Group(filled.store, filled.name, who=Who("claude"), now=Clock())
    do = doing(slow)

    def done(changes: dict[str, bytes | None], command: str, **fields: object) -> Answer:
        with ThreadPoolExecutor(1) as pool:
            with filled.writing() as writer:
                answer = pool.submit(do, command, **fields)
                time.sleep(0.2)  # it looks, and then waits for the lock
                writer.publish(lambda _: Plan((Step(changes, filled.note("write")),), None))
            return answer.result(timeout=60)

    yield done
    slow.close()


class TestWhoIsQuicker:
    def test_a_change_is_made_to_what_stands_there_by_then(
        self, filled: Group, meanwhile: Meanwhile
    ) -> None:
        theirs = {"notes.md": NOTES.replace("one", "ONE").encode()}

        answer = meanwhile(theirs, "str_replace", path=NOTE, old_str="three", new_str="THREE")

        assert "ONE" in answer.content
        assert text(filled, "notes.md") == NOTES.replace("one", "ONE").replace("three", "THREE")

    def test_a_change_to_what_is_gone_by_then_is_none(
        self, filled: Group, meanwhile: Meanwhile
    ) -> None:
        answer = meanwhile({"notes.md": None}, "insert", path=NOTE, insert_line=0, insert_text="x")

        assert answer == Answer("Error: The path /memories/notes.md does not exist", is_error=True)

    def test_a_file_that_came_to_be_is_not_overwritten(
        self, filled: Group, meanwhile: Meanwhile
    ) -> None:
        answer = meanwhile({"b.md": b"theirs"}, "create", path="/memories/b.md", file_text="mine")

        assert answer == Answer("Error: File /memories/b.md already exists", is_error=True)
        assert text(filled, "b.md") == "theirs"

    def test_what_is_gone_can_be_neither_deleted_nor_renamed(self, meanwhile: Meanwhile) -> None:
        absent = "Error: The path {} does not exist"

        deleted = meanwhile({"notes.md": None}, "delete", path=NOTE)
        moved = meanwhile(
            {"x/big.md": None}, "rename", old_path="/memories/x/big.md", new_path="/memories/b.md"
        )

        assert deleted == Answer(absent.format(NOTE), is_error=True)
        assert moved == Answer(absent.format("/memories/x/big.md"), is_error=True)

    def test_a_rename_says_where_it_really_led(self, filled: Group, meanwhile: Meanwhile) -> None:
        theirs: dict[str, bytes | None] = {"new/b.md": b"theirs"}

        answer = meanwhile(theirs, "rename", old_path=NOTE, new_path="/memories/new")

        late = Answer("Error: The destination /memories/new already exists", is_error=True)
        there = Answer("Successfully renamed /memories/notes.md to /memories/new/notes.md")
        assert answer == (late if "notes.md" in paths(filled) else there)


class TestGuards:
    @pytest.mark.parametrize("command", ["create", "str_replace", "insert"])
    def test_a_credential_is_refused_and_never_repeated(
        self, command: str, filled: Group, do: Do
    ) -> None:
        secret, before = narrow()["aws-key-id"][0], head(filled)
        path = "/memories/new.md" if command == "create" else "/memories/notes.md"
        fields = dict.fromkeys(("file_text", "new_str", "insert_text"), f"key {secret}\n")

        answer = do(command, path=path, old_str="three\n", insert_line=3, **fields)

        line = {"create": 1, "str_replace": 3, "insert": 4}[command]
        assert answer == Answer(
            f"Error: {path.removeprefix('/memories/')} line {line} holds what looks like a "
            "credential (aws-key-id)\nHint: keep the value elsewhere, and write down where",
            is_error=True,
        )
        assert head(filled) == before

    def test_most_of_a_file_is_not_removed_by_accident(self, filled: Group, do: Do) -> None:
        big, path = "1234567\n" * 192, "/memories/x/big.md"

        answer = do("str_replace", path=path, old_str=big[8:], new_str="")

        assert answer == Answer(
            "Error: x/big.md has 1,536 bytes in 192 lines; this would leave 8\nHint: change it in "
            "smaller steps, or delete it (the archive keeps it) and create it again",
            is_error=True,
        )
        assert do("str_replace", path="/memories/notes.md", old_str=NOTES, new_str="").is_error
        allowed = doing(filled, allow_shrink=True)
        assert not allowed("str_replace", path=path, old_str=big[8:], new_str="").is_error
        assert text(filled, "x/big.md") == "1234567\n"

    def test_a_file_may_be_overwritten_where_that_is_wanted(self, filled: Group) -> None:
        do = doing(filled, overwrite=True)

        said = do("create", path="/memories/notes.md", file_text="all new\n")
        assert said == Answer("File created successfully at: /memories/notes.md")
        assert text(filled, "notes.md") == "all new\n"
        assert do("create", path="/memories/x/big.md", file_text="small\n").is_error
        assert do("create", path="/memories/x", file_text="x").is_error
        assert do("create", path="/memories", file_text="x") == Answer(
            "Error: File /memories already exists", is_error=True
        )
        both = doing(filled, overwrite=True, allow_shrink=True)
        assert not both("create", path="/memories/x/big.md", file_text="small\n").is_error

    def test_a_log_is_only_added_to(self, tmp_path: Path) -> None:
        group = opened(tmp_path / "s", "zylos")
        write(group, [Edit("sessions", "- began\n")])
        do, path = doing(group), "/memories/sessions/current.md"
        lines = text(group, "sessions/current.md").count("\n")

        assert not do("insert", path=path, insert_line=lines, insert_text="- went on").is_error
        before = head(group)
        for answer in (
            do("insert", path=path, insert_line=0, insert_text="- before"),
            do("str_replace", path=path, old_str="began", new_str="begun"),
            do("delete", path=path),
            do("rename", old_path=path, new_path="/memories/old.md"),
        ):
            assert answer.content == (
                "Error: sessions/current.md is append-only by the layout of this group\n"
                "Hint: add to its end with insert"
            )
        assert head(group) == before
        group.close()

    def test_who_may_only_read_sees_and_does_not_write(self, tmp_path: Path) -> None:
        opened(tmp_path / "s", name="one").close()
        group = opened(tmp_path / "s", name="global")
        write(group, [Edit("a.md", "for all\n")])
        (group.worktree / "a.md").write_text("edited\n")
        reader = Group(group.store, "global", acting="one")
        do = doing(reader)

        assert "for all" in do("view", path="/memories/a.md").content
        assert "/memories/a.md" in do("view", path="/memories").content
        refused = do("create", path="/memories/b.md", file_text="x")
        assert refused.is_error
        assert "may not write to the group 'global'" in refused.content
        assert do("delete", path="/memories/a.md").is_error
        reader.close()
        group.close()

    def test_a_group_that_cannot_be_written_to_is_told_as_such(self, filled: Group, do: Do) -> None:
        git(filled.worktree, "checkout", "-q", "--detach")
        (filled.worktree / "notes.md").write_text("mine\n")

        answer = do("create", path="/memories/new.md", file_text="x")

        assert answer.is_error
        assert answer.content.startswith("Error: HEAD of this group is detached")
        assert do("view", path=NOTE).content.endswith("     6\ttwo\n     7\t")

    def test_a_file_that_is_no_text_is_said_to_be_none(self, group: Group, do: Do) -> None:
        write(group, [Edit("a.png", b"\x89PNG\xff")])

        for command in ("view", "str_replace", "insert"):
            assert do(
                command, path="/memories/a.png", old_str="x", insert_line=0, insert_text="x"
            ) == Answer("Error: /memories/a.png is not text: not UTF-8 at byte 0", is_error=True)

    def test_half_a_character_cannot_be_written(self, group: Group, do: Do) -> None:
        answer = do("create", path="/memories/a.md", file_text="\ud800")

        assert answer.is_error
        assert "not valid Unicode" in answer.content
        assert do("create", path="/memories/\ud800.md", file_text="x").is_error


WRONG_FIELDS: list[Row] = [
    ("view", {}, "Error: The command view needs `path`, a text"),
    ("view", {"path": 1}, "Error: The command view needs `path`, a text"),
    (
        "view",
        {"path": "/memories/notes.md", "view_range": "1-2"},
        "Error: The command view needs `view_range`, two line numbers",
    ),
    (
        "view",
        {"path": "/memories/notes.md", "view_range": [1, True]},
        "Error: The command view needs `view_range`, two line numbers",
    ),
    (
        "create",
        {"path": "/memories/a.md"},
        "Error: The command create needs `file_text`, a text",
    ),
    (
        "str_replace",
        {"path": "/memories/notes.md"},
        "Error: The command str_replace needs `old_str`, a text",
    ),
    (
        "str_replace",
        {"path": "/memories/notes.md", "old_str": ""},
        "No replacement was performed, old_str is empty. Use insert to add text",
    ),
    (
        "insert",
        {"path": "/memories/notes.md", "insert_text": "x"},
        "Error: The command insert needs `insert_line`, a whole number",
    ),
    (
        "insert",
        {"path": "/memories/notes.md", "insert_text": "x", "insert_line": True},
        "Error: The command insert needs `insert_line`, a whole number",
    ),
    ("delete", {"path": None}, "Error: The command delete needs `path`, a text"),
    (
        "rename",
        {"old_path": "/memories/notes.md"},
        "Error: The command rename needs `new_path`, a text",
    ),
    (
        "undo",
        {"path": "/memories"},
        UNKNOWN.format("undo"),
    ),
]


class TestFields:
    def test_a_wrong_one_is_named(self, filled: Group, do: Do) -> None:
        answers = [do(command, **fields) for command, fields, _ in WRONG_FIELDS]

        assert answers == [Answer(said, is_error=True) for _, _, said in WRONG_FIELDS]

    @pytest.mark.parametrize("line", [1, "1", " +1 ", 1.0])
    def test_a_number_may_come_as_the_sdk_takes_it(
        self, filled: Group, do: Do, line: object
    ) -> None:
        assert not do("insert", path=NOTE, insert_line=line, insert_text="added").is_error
        assert "     2\tadded" in do("view", path=NOTE, view_range=[line, 2.0]).content

    def test_a_command_without_a_name_is_told_which_there_are(self, group: Group) -> None:
        for given in ({}, {"command": None}, {"command": ["view"]}, {"command": "clear"}):
            answer = MemoryCommands(group).answer(given)
            assert answer == Answer(UNKNOWN.format(given.get("command")), is_error=True)

    def test_a_range_that_is_no_pair_shows_all(self, filled: Group, do: Do) -> None:
        whole = do("view", path=NOTE)

        for given in (None, [], [2], [1, 2, 3]):
            assert do("view", path=NOTE, view_range=given) == whole
