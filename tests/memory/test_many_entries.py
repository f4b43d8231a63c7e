"""Many entries of one file: each deed reads the file a few times, not once for each entry."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from gitmem.memory.curate.archive import archive
from gitmem.memory.curate.consolidate import consolidate
from gitmem.memory.curate.decide import decide
from gitmem.memory.entries.confirm import confirm
from gitmem.memory.group import Group
from gitmem.memory.recover.archived import archived
from gitmem.model.entries import blocks as entry_blocks
from tests.support.clocks import Clock
from tests.support.histories import put

LONG = 2_000
"""Characters from which on a text is a whole file and not one entry."""
MANY, MORE = 60, 120


def addresses(count: int) -> list[str]:
    return [f"decisions#entry-{number}" for number in range(count)]


def plan_of(action: str, count: int) -> bytes:
    fields = {"set": {"Status": "active"}} if action == "update" else {}
    rows = ({"action": action, "address": each, **fields} for each in addresses(count))
    return "\n".join(map(json.dumps, rows)).encode()


DEEDS: dict[str, Callable[[Group, int], object]] = {
    "apply": lambda group, count: consolidate(group),
    "confirm": lambda group, count: confirm(group, addresses(count)),
    "archive": lambda group, count: archive(group, addresses(count)),
    "list": lambda group, count: (archive(group, addresses(count)), archived(group)),
    **{
        f"plan to {action}": lambda group, count, action=action: decide(
            group, plan_of(action, count)
        )
        for action in ("confirm", "archive", "update")
    },
}


@pytest.fixture
def group(standard: Group) -> Group:
    return standard


def files_read(group: Group, clock: Clock, deed: str, count: int) -> int:
    """How often a whole file is taken apart for COUNT entries."""
    block = "### Entry {}\n- **Status:** superseded\n\nWords enough to make it a long file.\n\n"
    text = "# Decisions\n\n" + "".join(block.format(number) for number in range(count))
    put(group, "archive/reference/decisions.md", "# Nothing yet\n")
    put(group, "reference/decisions.md", text)
    clock.advance(days=100)
    entry_blocks._parsed.cache_clear()
    found = 0

    def counting(text: str) -> entry_blocks.Lines:
        nonlocal found
        found += len(text) > LONG
        return scan(text)

    scan = entry_blocks.scan
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry_blocks, "scan", counting)
        DEEDS[deed](group, count)
    return found


@pytest.mark.parametrize("deed", DEEDS)
def test_twice_as_many_entries_are_no_more_readings(group: Group, clock: Clock, deed: str) -> None:
    few = files_read(group, clock, deed, MANY)

    assert files_read(group, clock, deed, MORE) <= few + 5
