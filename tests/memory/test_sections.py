"""Every door puts an entry under the heading of its status: `## Active`, `## Completed`."""

from __future__ import annotations

import json

import pytest

from gitmem.memory.admin.init import init
from gitmem.memory.curate.archive import archive
from gitmem.memory.curate.consolidate import consolidate
from gitmem.memory.curate.decide import decide
from gitmem.memory.entries.confirm import confirm
from gitmem.memory.entries.freshness import freshness
from gitmem.memory.entries.move_entry import move_entry
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.read import read
from gitmem.memory.recover.restore import restore
from gitmem.memory.recover.undo import undo
from gitmem.memory.write.write import Edit, write
from gitmem.model.entries.blocks import parse
from tests.support.clocks import Clock
from tests.support.days import said_lines
from tests.support.git import git
from tests.support.histories import put

PATH = "reference/projects.md"
TEXT = """\
# Projects

## Active

### Billing
- **Status:** active

### Search
- **Status:** paused

## Completed

### Old
- **Status:** completed

## Notes

Free text.
"""


@pytest.fixture
def zylos(store: Store, clock: Clock) -> Group:
    init(store, "main", layout="zylos", now=clock)
    group = Group(store, "main", who=Who("ada"), now=clock)
    put(group, PATH, TEXT)
    clock.advance(days=40)
    return group


def places(group: Group) -> dict[str, str]:
    return {each.title: each.section for each in parse(read(group, PATH).text)}


def set_status(group: Group, title: str, status: str) -> str:
    return write(group, [Edit("projects", entry=title, set=(("Status", status),))]).commit


def ages(group: Group) -> dict[str, int]:
    return {each.title: each.age_days for each in freshness(group).entries if each.path == PATH}


def test_a_new_entry_and_a_changed_one_stand_where_they_belong(zylos: Group) -> None:
    set_status(zylos, "New", "planning")
    commit = set_status(zylos, "Billing", "completed")

    assert places(zylos) == {
        "Search": "Active",
        "New": "Active",
        "Old": "Completed",
        "Billing": "Completed",
    }
    assert ages(zylos) == {"Search": 40, "New": 0, "Old": 40, "Billing": 0}
    assert zylos.repository.commit(commit).parents, "one commit"
    assert git(zylos.gitdir, "show", "--stat", "--format=", commit).count("|") == 1


def test_a_starter_file_has_both_headings(store: Store, clock: Clock) -> None:
    init(store, "fresh", layout="zylos", now=clock)
    group = Group(store, "fresh", who=Who("ada"), now=clock)
    set_status(group, "One", "active")
    set_status(group, "Two", "completed")

    assert places(group) == {"One": "Active", "Two": "Completed"}
    group.close()


def test_a_batch_does_the_same(zylos: Group) -> None:
    rows = [("Billing", "abandoned"), ("Old", "active"), ("New", "completed")]
    write(zylos, [Edit(PATH, entry=x, set=(("Status", status),)) for x, status in rows])

    found = {"Search": "Active", "Old": "Active", "Billing": "Completed", "New": "Completed"}
    assert places(zylos) == found


def test_what_comes_from_another_file_does_too(zylos: Group) -> None:
    write(zylos, [Edit("ideas", entry="Ship it", set=(("Status", "exploring"),))])

    done = move_entry(zylos, "ideas#ship-it", "projects", fields={"Status": "planning"})

    assert (places(zylos)["Ship it"], done.address) == ("Active", f"{PATH}#ship-it")
    assert done.title == "Ship it"


def test_to_confirm_moves_nothing(zylos: Group) -> None:
    confirm(zylos, ["projects#billing", "projects#old"])

    assert places(zylos) == {"Billing": "Active", "Search": "Active", "Old": "Completed"}


def test_a_plan_moves_what_it_updates(zylos: Group) -> None:
    rows = [
        {"action": "update", "address": "projects#billing", "set": {"Status": "completed"}},
        {"action": "update", "address": "projects#old", "set": {"Status": "active"}},
    ]
    decide(zylos, "\n".join(map(json.dumps, rows)).encode())

    assert places(zylos) == {"Search": "Active", "Old": "Active", "Billing": "Completed"}
    assert ages(zylos) == {"Search": 40, "Old": 0, "Billing": 0}


def test_an_undo_brings_the_place_and_the_date_back(zylos: Group) -> None:
    before = read(zylos, PATH).text
    commit = set_status(zylos, "Billing", "completed")

    undo(zylos, [commit])

    assert read(zylos, PATH).text == before
    assert ages(zylos) == {"Billing": 40, "Search": 40, "Old": 40}


def test_an_undo_keeps_what_others_wrote_meanwhile(zylos: Group) -> None:
    commit = set_status(zylos, "Billing", "completed")
    set_status(zylos, "Search", "completed")
    set_status(zylos, "New", "active")

    done = undo(zylos, [commit])

    assert done.left == ()
    assert places(zylos)["Billing"] == "Active"
    assert places(zylos)["Search"] == "Completed"
    assert ages(zylos)["Billing"] == 40


def test_an_earlier_version_comes_back_under_its_own_heading(zylos: Group) -> None:
    set_status(zylos, "Billing", "completed")

    restore(zylos, "projects#billing", previous=True)

    assert places(zylos) == {"Search": "Active", "Billing": "Active", "Old": "Completed"}
    assert ages(zylos)["Billing"] == 40


def test_what_is_archived_comes_back_to_its_place(zylos: Group) -> None:
    before = said_lines(zylos.repository)
    archive(zylos, ["projects#billing"])
    restore(zylos, "projects#billing")

    assert places(zylos) == {"Billing": "Active", "Search": "Active", "Old": "Completed"}
    assert said_lines(zylos.repository) == before


def test_nor_does_it_come_under_completed_where_its_place_is_gone(zylos: Group) -> None:
    archive(zylos, ["projects#billing"])
    put(zylos, PATH, "# Work\n\n## Active\n\n## Completed\n\n### Old\n- **Status:** completed\n")

    restore(zylos, "projects#billing")

    assert places(zylos) == {"Billing": "Active", "Old": "Completed"}


def test_consolidation_takes_only_what_had_its_time(zylos: Group) -> None:
    consolidate(zylos)

    assert places(zylos) == {"Billing": "Active", "Search": "Active"}
    assert "## Completed" in read(zylos, PATH).text
