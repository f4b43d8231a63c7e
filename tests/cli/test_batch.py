"""`gitmem write --batch`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitmem.cli.input import parse_batch
from gitmem.errors import BadInput
from tests.support.cli import Run


def lines(*edits: dict[str, object]) -> str:
    return "\n".join(json.dumps(each) for each in edits)


def test_all_lines_are_one_commit_and_see_those_before(gitmem: Run) -> None:
    said = gitmem(
        "write", "--batch", "-", "--reason", "one turn",
        input=lines(
            {"path": "a.md", "text": "one\n"},
            {"op": "append", "path": "a.md", "text": "two"},
            {"op": "create", "path": "b/c.md", "text": "three"},
        ),
    )  # fmt: skip

    assert said.code == 0, said.err
    assert gitmem("read", "a.md").out == "one\ntwo\n"
    assert gitmem("read", "b/c.md").out == "three"
    assert len(gitmem("log", "--json").document["entries"]) == 2
    assert [line.split()[1] for line in said.out.splitlines()] == ["a.md", "b/c.md"]


def test_a_batch_may_come_from_a_file(gitmem: Run, tmp_path: Path) -> None:
    (tmp_path / "batch").write_text(lines({"path": "a.md", "text": "x"}) + "\n\n")

    assert gitmem("write", "--batch", str(tmp_path / "batch")).code == 0
    assert gitmem("write", "--batch", str(tmp_path / "none")).code == 2


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ("{", "invalid JSON"),
        ("[]", "not a JSON object"),
        ('{"path": "a.md"}', "'text' is missing"),
        ('{"text": "x"}', "'path' is missing"),
        ('{"path": "a.md", "txt": "x"}', "unknown key 'txt'"),
        ('{"path": "a.md", "text": "x", "op": "wirte"}', "unknown op 'wirte'"),
        ('{"path": "a.md", "text": 1}', "'text' must be a text"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(second: str, said: str) -> None:
    with pytest.raises(BadInput, match=f"^line 3: .*{said}") as caught:
        parse_batch(f'{{"path": "ok.md", "text": "x"}}\n\n{second}\n'.encode())

    assert caught.value.facts["batch_line"] == 3


def test_bytes_that_are_no_text_are_told_with_their_line() -> None:
    with pytest.raises(BadInput, match=r"^line 1: "):
        parse_batch(b'{"path": "a.md", "text": "\xff"}')


def test_one_bad_line_and_nothing_is_written(gitmem: Run) -> None:
    said = gitmem(
        "write", "--batch", "-", "--json",
        input=lines({"path": "a.md", "text": "x"}, {"path": "../b.md", "text": "x"}),
    )  # fmt: skip

    assert (said.code, said.error["batch_line"]) == (5, 2)
    assert gitmem("list").out == ""


def test_line_separators_inside_a_text_do_not_end_the_line() -> None:
    text = "a\u2028b\x85c"

    (edit,) = parse_batch(json.dumps({"path": "a.md", "text": text}, ensure_ascii=False).encode())

    assert edit.text == text


@pytest.mark.parametrize("extra", [["a.md"], ["--append"], ["--create"], ["--if-match", "x"]])
def test_a_batch_says_itself_what_to_do(extra: list[str], gitmem: Run) -> None:
    assert gitmem("write", "--batch", "-", *extra, input="").code == 2


def test_an_empty_batch_is_a_usage_error(gitmem: Run) -> None:
    assert gitmem("write", "--batch", "-", input="\n").code == 2
