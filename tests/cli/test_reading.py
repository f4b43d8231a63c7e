"""`gitmem read`, `list`, `log`, `show` and `diff`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Run


@pytest.fixture
def told(gitmem: Run) -> Run:
    """A group with a small history over three days."""
    for day, args in enumerate(
        [
            ["state.md", "one", "--agent", "ada", "--session", "s1", "--reason", "it began"],
            ["diary/a.md", "dear diary", "--agent", "bob"],
            ["state.md", "two", "--agent", "bob", "--session", "s2"],
        ],
        start=5,
    ):
        assert gitmem("write", *args, GITMEM_NOW=f"2026-02-0{day}T12:00:00Z").code == 0
    return gitmem


def test_a_file_is_read_from_the_commit_and_not_from_the_work_tree(told: Run, files: Path) -> None:
    (files / "state.md").write_text("edited\n")

    assert told("read", "state.md").out == "two\n"
    assert told("read", "state.md", "--at", "2026-02-06").out == "one\n"
    assert told("read", "state.md", "--at", "3 days ago").out == "one\n"


def test_the_document_of_a_file_has_its_text_and_versions(told: Run) -> None:
    found = told("read", "state.md", "--json").document

    assert (found["path"], found["text"], found["bytes"]) == ("state.md", "two\n", 4)
    assert len(found["blob"]) == len(found["commit"]) == 40
    assert "data" not in found


def test_a_missing_file_is_not_found_with_what_was_meant(told: Run) -> None:
    said = told("read", "sate.md")

    assert (said.code, said.out) == (3, "")
    assert "state.md" in said.err
    assert told("read", "state.md", "--at", "tomorrowish").code == 3


def test_data_is_printed_even_when_quiet(told: Run) -> None:
    assert told("read", "-q", "state.md").out == "two\n"
    assert told("list", "-q").out == "diary/a.md\nstate.md\n"


def test_files_are_listed_by_folder_pattern_and_moment(told: Run) -> None:
    assert told("list", "diary").out == "diary/a.md\n"
    assert told("list", "*.md", "--at", "2026-02-05").out == "state.md\n"
    assert told("list", "-l").out.splitlines()[1].startswith(" 4  ")
    assert "no file fits" in told("list", "nothing*").err


def test_the_document_of_a_list_has_sizes(told: Run) -> None:
    found = told("list", "--json").document

    assert [(each["path"], each["bytes"]) for each in found["files"]] == [
        ("diary/a.md", 11),
        ("state.md", 4),
    ]


def test_the_log_says_who_did_what_when_and_why(told: Run) -> None:
    said = told("log")

    newest, _, first, why, begin = said.out.splitlines()
    assert newest.split()[1:] == ["yesterday", "write", "bob", "state.md", "two"]
    assert first.split()[1:] == ["3", "days", "ago", "write", "ada", "state.md", "one"]
    assert why == "         why: it began"
    assert "init" in begin
    assert newest.index("write") == first.index("write")


@pytest.mark.parametrize(
    ("args", "titles"),
    [
        (["state.md"], ["two", "one"]),
        (["diary"], ["dear diary"]),
        (["--agent", "bob"], ["two", "dear diary"]),
        (["--session", "s1"], ["one"]),
        (["--since", "2026-02-06"], ["two", "dear diary"]),
        (["--op", "init"], ["the memory of main"]),
        (["-n", "1"], ["two"]),
    ],
)
def test_the_log_can_be_narrowed(args: list[str], titles: list[str], told: Run) -> None:
    entries = told("log", "--json", *args).document["entries"]

    assert [each["title"] for each in entries] == titles


def test_sessions_show_when_asked_for(told: Run) -> None:
    assert "s1" not in told("log").out
    assert "session: s1" in told("log", "--session", "s1").out
    assert "session: s1" in told("log", "-v").out


def test_an_entry_has_every_fact(told: Run) -> None:
    entry = told("log", "-n", "1", "--json").document["entries"][0]

    assert entry["paths"] == ["state.md"]
    assert entry["time"].startswith("2026-02-07T12:00:00")
    assert entry["op"] == "write"


def test_an_unknown_path_in_the_log_is_not_found(told: Run) -> None:
    assert told("log", "never.md").code == 3
    assert told("log", "--since", "whenever").code == 2
    assert "fits" in told("log", "--agent", "nobody").err


def test_a_commit_is_shown_with_its_facts_and_its_lines(told: Run) -> None:
    said = told("show", "HEAD~2")

    assert "who      ada" in said.out
    assert "why      it began" in said.out
    assert "created state.md (+1, 0 -> 4 bytes)" in said.out
    assert said.out.endswith("+one\n")
    assert "bob" in told("show").out
    assert told("show", "ffff").code == 3


def test_a_removed_line_of_dashes_shows_in_the_difference(gitmem: Run) -> None:
    gitmem("write", "a.md", "x\n-- y\nz")
    gitmem("write", "a.md", "x\nz")

    assert "\n--- y\n" in gitmem("show").out


def test_the_document_of_a_commit_has_the_difference_of_each_file(told: Run) -> None:
    (file,) = told("show", "--json").document["files"]

    assert (file["path"], file["change"], file["added"], file["removed"]) == (
        "state.md", "changed", 1, 1,
    )  # fmt: skip
    assert "-one\n+two\n" in file["diff"]


def test_text_in_a_commit_cannot_play_tricks_on_the_terminal(gitmem: Run) -> None:
    gitmem("write", "a.md", "-", input=b"\x1b[2J\n")

    for said in (gitmem("log"), gitmem("show"), gitmem("status")):
        assert "\x1b" not in said.out


@pytest.mark.parametrize(
    ("args", "changed"),
    [
        ([], {"state.md": "changed"}),
        (["state.md"], {"state.md": "changed"}),
        (["2026-02-05"], {"diary/a.md": "created", "state.md": "changed"}),
        (["2026-02-05", "state.md"], {"state.md": "changed"}),
        (["2026-02-05", "2026-02-06"], {"diary/a.md": "created"}),
        (["2026-02-05", "2026-02-07", "diary"], {"diary/a.md": "created"}),
        (["2026-02-05", "--", "state.md"], {"state.md": "changed"}),
        (["HEAD", "HEAD"], {}),
    ],
)
def test_a_difference_takes_moments_then_a_path(
    args: list[str], changed: dict[str, str], told: Run, files: Path
) -> None:
    (files / "state.md").write_text("two\nedited\n")

    found = told("diff", "--json", *args).document

    assert {each["path"]: each["change"] for each in found["files"]} == changed


def test_what_was_edited_shows_as_lines(told: Run, files: Path) -> None:
    (files / "state.md").write_text("two\nedited\n")

    said = told("diff")

    assert "-> the work tree" in said.out
    assert said.out.endswith(" two\n+edited\n")


def test_a_file_named_like_a_moment_stands_after_two_dashes(gitmem: Run) -> None:
    gitmem("write", "today", "one")

    assert gitmem("diff", "HEAD~1", "--json", "--", "today").document["files"][0]["path"] == "today"


def test_neither_a_moment_nor_a_file_is_not_found(told: Run) -> None:
    said = told("diff", "yesterdya")

    assert said.code == 3
    assert "neither a moment nor a file" in said.err
    assert told("diff", "yesterdya", "state.md").code == 3
    assert told("diff", "HEAD", "HEAD", "HEAD", "state.md").code == 2
    assert "no differences" in told("diff").err
