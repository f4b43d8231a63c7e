"""`gitmem write` with a layout, and `gitmem init --layout`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import Run


@pytest.fixture
def zylos(run: Run) -> Run:
    assert run("init", "--layout", "zylos").code == 0
    return run


def test_a_new_group_gets_the_standard_layout_and_says_so(run: Run, files: Path) -> None:
    said = run("init")

    assert "layout   standard, with 9 files to begin with" in said.out
    assert (files / "gitmem.yaml").is_file()
    assert run("init", "--json").document["layout"] == "standard"


def test_a_group_may_have_none(run: Run, files: Path) -> None:
    said = run("init", "--layout", "none", "--json").document

    assert (said["layout"], said["started"]) == ("", [])
    assert [each.name for each in files.iterdir()] == [".git"]


def test_a_typo_in_the_layout_names_those_there_are(run: Run) -> None:
    said = run("init", "--layout", "zylo")

    assert said.code == 2
    assert "soul, standard, zylos, none" in said.err


def test_layers_are_written_by_name(zylos: Run, files: Path) -> None:
    zylos("write", "sessions", "- 14:02 deployed")
    zylos("write", "user", "--user", "telegram:123", "-", input="Likes tea.\n")
    zylos("write", "state", "# Now\n")

    assert (files / "sessions/current.md").read_text().endswith("\n\n- 14:02 deployed\n")
    assert (files / "users/telegram%3A123/profile.md").read_text() == "Likes tea.\n"


def test_an_entry_is_set_from_the_command_line(zylos: Run, files: Path) -> None:
    said = zylos(
        *("write", "reference/decisions.md", "--entry", "Use ESM only"),
        *("--set", "Status=maybe", "--set", "Decided by=the team", "--reason", "weekly"),
    )

    assert said.code == 0
    assert "note: " in said.err
    assert "'maybe'" in said.err
    assert (
        (files / "reference/decisions.md")
        .read_text()
        .endswith(
            "### Use ESM only\n- **Date:** 2026-02-08\n- **Decided by:** the team\n"
            "- **Status:** maybe\n"
        )
    )


def test_the_remarks_stand_in_the_document(zylos: Run) -> None:
    said = zylos("write", "state", "x" * 5000, "--allow-shrink", "--json").document

    assert "over its budget" in said["warnings"][0]


@pytest.mark.parametrize("given", ["Status", "=x", " =x"])
def test_a_field_without_a_name_or_value_is_an_error(zylos: Run, given: str) -> None:
    said = zylos("write", "decisions", "--entry", "X", "--set", given)

    assert said.code == 2
    assert "--set Status=active" in said.err


def test_an_empty_title_is_an_error_and_not_the_whole_file(zylos: Run) -> None:
    zylos("write", "decisions", "--entry", "A", "x")
    line = json.dumps({"path": "decisions", "entry": "", "text": "x"})

    assert zylos("write", "decisions", "--entry", "", "x").code == 2
    assert zylos("write", "--batch", "-", input=line).code == 2
    assert "### A" in zylos("read", "reference/decisions.md").out


def test_a_mistyped_layer_is_an_error_that_names_the_right_one(zylos: Run) -> None:
    said = zylos("write", "decision", "--entry", "A", "x")

    assert said.code == 2
    assert "did you mean 'decisions'?" in said.err


def test_what_a_policy_keeps_is_moved_only_on_purpose(zylos: Run) -> None:
    zylos("write", "sessions", "- one")

    said = zylos("rm", "sessions/current.md", "--json")

    assert (said.code, said.error["code"]) == (5, "policy-refused")
    assert zylos("mv", "sessions/current.md", "x.md").code == 5
    assert zylos("rm", "sessions/current.md", "--allow-policy").code == 0


def test_a_policy_says_no_and_how_to_go_on(zylos: Run) -> None:
    zylos("write", "sessions", "- one")

    said = zylos("write", "sessions/current.md", "gone", "--json")

    assert (said.code, said.error["code"]) == (5, "policy-refused")
    assert "--append" in said.error["hint"]
    assert zylos("write", "sessions/current.md", "gone", "--allow-policy").code == 0


def test_a_broken_layout_is_refused_with_its_line_and_key(zylos: Run) -> None:
    said = zylos("write", "gitmem.yaml", "-", "--json", input="gitmem: 1\nlayer: {}\n")

    assert (said.code, said.error["code"]) == (5, "layout-refused")
    assert (said.error["line"], said.error["key"]) == (2, "layer")
    assert "did you mean `layers`?" in said.error["message"]


def test_a_batch_knows_layers_entries_and_fields(zylos: Run, files: Path) -> None:
    lines = [
        {"path": "decisions", "entry": "Use ESM only", "set": {"Status": "active"}},
        {"path": "sessions", "text": "- decided"},
        {"path": "user", "user": "ada", "text": "Likes tea.\n"},
    ]
    said = zylos("write", "--batch", "-", input="\n".join(map(json.dumps, lines)))

    assert said.code == 0
    assert len(said.out.splitlines()) == 3
    assert "- **Status:** active" in (files / "reference/decisions.md").read_text()
    assert (files / "users/ada/profile.md").is_file()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ({"path": "decisions"}, "'text' is missing"),
        ({"text": "x"}, "'path' is missing"),
        ({"path": "a.md", "set": ["x"]}, "'set' must be an object of texts"),
        ({"path": "a.md", "set": {"x": 1}}, "'set' must be an object of texts"),
        ({"path": "user", "text": "x"}, "the layer 'user' needs a user"),
    ],
)
def test_a_bad_line_of_a_batch_is_named(zylos: Run, line: dict[str, object], why: str) -> None:
    said = zylos("write", "--batch", "-", input="\n" + json.dumps(line))

    assert said.code == 2
    assert f"line 2: {why}" in said.err


def test_an_old_day_can_be_written(run: Run, files: Path) -> None:
    run("init", "--layout", "arizuko")
    run("write", "episodes", "--summary", "moved house", "--date", "2026-01-31", "Boxes.")

    assert (files / "episodes/2026-01-31.md").read_text() == (
        "---\nsummary: moved house\ndate: 2026-01-31\n---\nBoxes.\n"
    )
