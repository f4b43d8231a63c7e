"""A full set of conflict markers is told from Markdown that merely looks like a part of one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.errors import MarkersFound
from gitmem.model.guards import MARKERS_RULE, check_write, hold_rule
from gitmem.model.text.conflict_markers import conflicts, new_conflicts

OPEN, BASE, PARTED, CLOSE = "<" * 7, "|" * 7, "=" * 7, ">" * 7
SET = f"{OPEN} HEAD\nours\n{PARTED}\ntheirs\n{CLOSE} side\n"
DIFF3 = f"{OPEN} HEAD\nours\n{BASE} base\nold\n{PARTED}\ntheirs\n{CLOSE} side\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (SET, [1]),
        (DIFF3, [1]),
        (f"# Title\n\n{SET}between\n{DIFF3}", [3, 9]),
        (SET.replace("\n", "\r\n"), [1]),
        (SET.rstrip("\n"), [1]),
        (f"{OPEN}\n{PARTED}\n{CLOSE}", [1]),
        (f"```\ncode\n```\n{SET}", [4]),
        (f"{OPEN} HEAD\n```py\n{PARTED}\n```js\n{CLOSE} side\n```\n", [1]),
        (f"{OPEN} stray\n\n{OPEN} HEAD\na\n{PARTED}\nb\n{CLOSE} side\n", [3]),
    ],
)
def test_a_full_set_is_found_where_it_begins(text: str, lines: list[int]) -> None:
    assert conflicts(text.encode()) == lines


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"Heading\n{PARTED}\n\ntext\n",
        f"{CLOSE} quoted seven times\n{PARTED}\n{OPEN} HEAD\n",
        f"{OPEN} HEAD\nours\n{CLOSE} side\n",
        f"{OPEN} HEAD\nours\n{PARTED}\ntheirs\n",
        f"{OPEN}< HEAD\nours\n{PARTED}=\ntheirs\n{CLOSE}> side\n",
        "".join(f" {line}\n" for line in SET.splitlines()),
        f"```\n{SET}```\n",
        f"~~~ diff\n{SET}~~~\n",
        f"````\n```\n{SET}```\n````\n",
        f"```\n{SET}",
        f"   ```text\n{SET}   ```\n",
    ],
)
def test_what_is_no_full_set_or_fenced_is_none(text: str) -> None:
    assert conflicts(text.encode()) == []


def test_what_stood_there_before_is_no_news() -> None:
    assert new_conflicts((SET + "more\n").encode(), SET.encode()) == []
    assert new_conflicts((SET + SET).encode(), SET.encode()) == [1, 6]
    assert new_conflicts(b"resolved\n", SET.encode()) == []


@given(st.lists(st.sampled_from([OPEN, BASE, PARTED, CLOSE, "```", "~~~~", "text", ""])))
def test_any_order_of_such_lines_is_read(lines: list[str]) -> None:
    found = conflicts("\n".join(lines).encode())
    assert all(lines[each - 1] == OPEN for each in found)
    assert found == sorted(set(found))


def test_a_write_is_refused_with_the_way_on_and_an_edit_held() -> None:
    with pytest.raises(MarkersFound) as refused:
        check_write("a.md", f"x\n{SET}".encode(), None)
    assert refused.value.facts["line"] == 2
    assert "allow_markers=True" in refused.value.hint
    check_write("a.md", SET.encode(), None, allow_markers=True)
    assert hold_rule("a.md", "", SET.encode(), None) == f"{MARKERS_RULE}, line 1"
    assert hold_rule("a.md", "", SET.encode(), None, allow_markers=True) == ""
    assert hold_rule("a.md", "", SET.encode(), SET.encode()) == ""
