"""How far files were read is remembered exactly, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gitmem.cache.progress import (
    MOST,
    OFFSETS_FORM,
    OFFSETS_NAME,
    Offset,
    keep_offsets,
    read_offsets,
)

OFFSETS = st.dictionaries(
    st.text(),
    st.builds(
        Offset,
        st.integers(0, 2**63),
        st.integers(0, 2**63),
        st.text("0123456789abcdef:"),
        st.floats(0, 1e11),
        st.text("0123456789abcdef:"),
    ),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def gitdir(tmp_path: Path) -> Path:
    (tmp_path / "gitmem").mkdir()
    return tmp_path


@given(OFFSETS)
@shared_folder
def test_what_was_kept_is_read_back(gitdir: Path, offsets: dict[str, Offset]) -> None:
    keep_offsets(gitdir, offsets)

    assert read_offsets(gitdir) == offsets
    assert list(read_offsets(gitdir)) == list(offsets)


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
@example(json.dumps([OFFSETS_FORM, [["a", [float("inf"), 1, "x", 0, ""]]]]).encode())
@example(json.dumps([OFFSETS_FORM, [["a", [1, 1, "x", 10**400, ""]]]]).encode())
@example(json.dumps([OFFSETS_FORM, {"a": [1, 2, 3, 4, 5]}]).encode())
@example(b"[" * 100_000)
@shared_folder
def test_a_file_that_says_something_else_is_as_good_as_none(gitdir: Path, data: bytes) -> None:
    (gitdir / "gitmem" / OFFSETS_NAME).write_bytes(data)

    found = read_offsets(gitdir)

    assert all(isinstance(each, Offset) for each in found.values())


@pytest.mark.parametrize("row", [[1, 2], [1, 2, "x", "y", ""], None, "abcde", [[], 1, "x", 0, ""]])
def test_a_row_that_is_none_makes_everything_be_read_again(gitdir: Path, row: object) -> None:
    good = ["good", [1, 2, "x", 0.0]]
    (gitdir / "gitmem" / OFFSETS_NAME).write_text(json.dumps([OFFSETS_FORM, [good, ["bad", row]]]))

    assert read_offsets(gitdir) == {}


def test_another_form_is_not_read(gitdir: Path) -> None:
    (gitdir / "gitmem" / OFFSETS_NAME).write_text(
        json.dumps([OFFSETS_FORM + 1, [["a", [1, 2, "x", 0.0]]]])
    )

    assert read_offsets(gitdir) == {}


def test_where_nothing_was_kept_nothing_is_known(tmp_path: Path) -> None:
    assert read_offsets(tmp_path) == {}
    keep_offsets(tmp_path, {"a": Offset(1, 2, "x")})
    assert read_offsets(tmp_path) == {}


def test_those_that_were_read_last_are_remembered(gitdir: Path) -> None:
    offsets = {f"{number}": Offset(number, 1, "x") for number in range(MOST + 5)}

    keep_offsets(gitdir, offsets)

    assert list(read_offsets(gitdir)) == list(offsets)[5:]
