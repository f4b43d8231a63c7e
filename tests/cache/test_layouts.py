"""What is remembered of layouts is believed only by the gitmem that wrote it, and only whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gitmem.cache import layouts
from gitmem.cache.layouts import LastValid, keep_last_valid, last_valid, load_layout, save_layout
from gitmem.model.layout.layout import Compaction, Layer, Layout, Migration

BLOB = "b" * 40
LAYOUT = Layout(
    "mine",
    layers=(Layer("facts", "notes", "facts/*.md", lint=("no-secrets",)),),
    compact=Compaction("a.md", "{date}.md"),
    migrate=Migration("old.md", "new.md"),
)
FOUND = LastValid("c" * 40, BLOB)


class Grown(NamedTuple):
    """A shape of another gitmem."""

    into: str = ""
    weekly: str = ""


@pytest.fixture
def gitdir(tmp_path: Path) -> Path:
    (tmp_path / "gitmem").mkdir()
    save_layout(tmp_path, BLOB, LAYOUT)
    keep_last_valid(tmp_path, FOUND)
    return tmp_path


def other_form(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(layouts, "FORM", layouts.FORM + 1)


def other_version(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(layouts, "VERSION", layouts.VERSION + 1)


def other_shape(place: int) -> Callable[[pytest.MonkeyPatch], None]:
    shapes = list(layouts._SHAPES)
    shapes[place] = Grown  # type: ignore[call-overload]
    return lambda patch: patch.setattr(layouts, "_SHAPES", tuple(shapes))


def test_what_was_kept_is_found_again(gitdir: Path) -> None:
    assert load_layout(gitdir, BLOB) == LAYOUT
    assert last_valid(gitdir) == FOUND
    keep_last_valid(gitdir, LastValid("d" * 40, ""))
    assert last_valid(gitdir) == LastValid("d" * 40, "")


def test_of_another_blob_nothing_is_known(gitdir: Path) -> None:
    assert load_layout(gitdir, "a" * 40) is None


@pytest.mark.parametrize("change", [other_form, other_version, *map(other_shape, range(4))])
def test_another_gitmem_looks_for_itself(
    gitdir: Path, change: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch)

    assert load_layout(gitdir, BLOB) is None
    assert last_valid(gitdir) is None


@pytest.mark.parametrize("name", ["layout", "layout-standing"])
def test_what_is_torn_or_of_an_older_form_is_not_believed(gitdir: Path, name: str) -> None:
    path = gitdir / "gitmem" / name
    whole = path.read_bytes()

    for data in (b"", whole[:-1], whole[: len(whole) // 2], whole + b"x", b"c\nb\n", b"\xff\n\n\n"):
        path.write_bytes(data)
        assert load_layout(gitdir, BLOB) is None or name != "layout"
        assert last_valid(gitdir) is None or name != "layout-standing"
