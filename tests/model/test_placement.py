"""An entry is changed where it stands, and put back where it stood."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.errors import BadInput
from gitmem.model.entries.blocks import parse, wording
from gitmem.model.entries.placement import put_back, replace, splice, take_all
from gitmem.store.history.diff import hunks

OLD = "# Here\n\n## A\n\n### One\n1\n\n### Two\n2\n\n## B\n\n### Three\n3\n"


def without(text: str, number: int) -> tuple[str, str]:
    rest, (block,) = take_all(text, [parse(text)[number]])
    return rest, block


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("old", [OLD, OLD.replace("\n", "\r\n"), "\ufeff" + OLD[8:], OLD.rstrip()])
def test_where_nothing_else_changed_the_file_is_as_it_was(old: str, number: int) -> None:
    rest, block = without(old, number)

    assert put_back(rest, block, old, parse(old)[number], hunks) == old


def test_it_comes_back_into_its_section_among_what_is_new() -> None:
    rest, block = without(OLD, 1)
    now = rest.replace("### One\n1\n", "### One\n1, still\n") + "\n### Four\n4\n"

    after = put_back(now, block, OLD, parse(OLD)[1], hunks)

    assert [(x.title, x.section) for x in parse(after)] == [
        ("One", "A"),
        ("Two", "A"),
        ("Three", "B"),
        ("Four", "B"),
    ]
    assert "1, still" in after


def test_where_its_place_is_gone_it_comes_last() -> None:
    _, block = without(OLD, 1)

    after = put_back("### Other\nx\n", block, OLD, parse(OLD)[1], hunks)

    assert after == "### Other\nx\n\n### Two\n2\n"


def test_another_version_takes_the_place_in_the_endings_of_the_file() -> None:
    text = OLD.replace("\n", "\r\n")

    after = replace(text, parse(text)[1], "### Two\n2, better\nand longer\n\n\n")

    assert after == text.replace("2\r\n", "2, better\r\nand longer\r\n")


def test_a_last_line_without_an_ending_stays_without_one() -> None:
    text = OLD.rstrip()

    assert replace(text, parse(text)[2], "### Three\nthree\n") == OLD[:-2] + "three"


@pytest.mark.parametrize("block", ["### Two\n```\nopen\n", "### Two\n\n### Too\n", "no heading\n"])
def test_what_is_not_one_entry_there_is_refused(block: str) -> None:
    with pytest.raises(BadInput, match="not one entry"):
        splice(OLD, parse(OLD)[1], block)


BODIES = st.sampled_from(["1\n", "", "text\n\nmore\n", "```\n### no\n```\n", "- **Status:** x\n\n"])
ENTRIES = st.lists(st.tuples(st.sampled_from("ABCDEF"), BODIES), min_size=1, max_size=5)


def written(entries: list[tuple[str, str]]) -> str:
    return "# Here\n\n" + "\n".join(f"### {title}\n{body}" for title, body in entries)


@given(ENTRIES, ENTRIES, st.data())
def test_whatever_was_made_of_the_file_it_gets_this_entry_and_nothing_else(
    then: list[tuple[str, str]], now: list[tuple[str, str]], data: st.DataObject
) -> None:
    old, text = written(then), written(now)
    number = data.draw(st.integers(0, len(then) - 1))
    _, block = without(old, number)

    after = put_back(text, block, old, parse(old)[number], hunks)

    before = [wording(each.block) for each in parse(text)]
    found = [wording(each.block) for each in parse(after)]
    assert wording(block) in found
    assert before in [found[:at] + found[at + 1 :] for at in range(len(found))]
    assert after.startswith("# Here\n")
