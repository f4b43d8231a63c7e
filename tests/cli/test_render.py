"""Results as one JSON document."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from gitmem.cli.render import as_plain, document


class Inner(NamedTuple):
    at: datetime
    data: bytes


class Outer(NamedTuple):
    name: str
    inner: tuple[Inner, ...]
    place: Path
    nothing: None = None


MOMENT = datetime(2026, 2, 8, 14, 30, tzinfo=UTC)


def test_records_are_objects_all_the_way_down() -> None:
    outer = Outer("a", (Inner(MOMENT, b"text\xff"),), Path("/x"))

    assert as_plain(outer) == {
        "name": "a",
        "inner": [{"at": "2026-02-08T14:30:00+00:00", "data": "text\ufffd"}],
        "place": "/x",
        "nothing": None,
    }


def test_a_document_names_its_schema_and_what_is_added() -> None:
    assert json.loads(document({"a": 1}, b=(2,))) == {"schema_version": 1, "a": 1, "b": [2]}


def test_half_a_character_survives_as_an_escape() -> None:
    assert json.loads(document({"path": "a\udcff"}))["path"] == "a\udcff"


def test_what_has_no_form_in_json_is_a_bug() -> None:
    with pytest.raises(TypeError):
        as_plain(object())
