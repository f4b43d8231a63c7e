"""The report: what is too big, what faded, what had its time, and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.cli.render import document
from gitmem.memory.admin.init import init
from gitmem.memory.curate.report import report
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.write.move import remove
from gitmem.memory.write.write import Edit, write
from gitmem.model.entries.freshness import is_immune, state_of
from gitmem.model.report import (
    Condition,
    Considered,
    Findings,
    is_old_log,
    recommendations,
    suggest,
)
from tests.support.clocks import Clock
from tests.support.git import git
from tests.support.histories import by_hand, put, reopened
from tests.support.moulds import Moulds

DECISIONS, IDEAS, PROJECTS = (f"reference/{x}.md" for x in ("decisions", "ideas", "projects"))
TEXT = """\
# Decisions

### Use ESM only
- **Status:** active
- **Importance:** 3

One module format.

### Use tabs
- **Status:** superseded by spaces
- **Importance:** 4

### Never delete
- **Status:** active
- **Importance:** 1

### Keep the old plan
- **Status:** superseded
- **Importance:** 2

### Something somebody said
"""


@pytest.fixture
def group(store: Store, clock: Clock, moulds: Moulds) -> Iterator[Group]:
    moulds.init(store, clock, layout="zylos", who=Who("ada"))
    opened = Group(store, "main", who=Who("ada"), now=clock)
    yield opened
    opened.close()


def actions(group: Group) -> dict[str, str]:
    return {each.title: each.action for each in report(group).suggested}


def titles(entries: tuple[Considered, ...]) -> list[str]:
    return [each.title for each in entries]


@pytest.mark.parametrize(("days", "state"), [(6, "active"), (29, "aging")])
def test_of_what_is_fresh_nothing_is_suggested(
    group: Group, clock: Clock, days: int, state: str
) -> None:
    put(group, DECISIONS, TEXT)
    clock.advance(days=days)
    found = report(group)

    assert found.suggested == ()
    assert titles(getattr(found.entries, state)) == [
        "Something somebody said",
        "Use ESM only",
        "Use tabs",
    ]
    assert found.recommendations == ()


@pytest.mark.parametrize(("days", "state"), [(30, "fading"), (90, "fading"), (91, "stale")])
def test_what_faded_is_for_a_look_and_what_had_its_time_for_the_archive(
    group: Group, clock: Clock, days: int, state: str
) -> None:
    put(group, DECISIONS, TEXT)
    clock.advance(days=days)

    assert actions(group) == {
        "Use ESM only": "confirm",
        "Use tabs": "archive",
        "Something somebody said": "review",
    }
    found = report(group)
    assert {each.state for each in found.suggested} == {state}
    why = {each.title: each.why for each in found.suggested}
    assert why["Use tabs"] == f"superseded, and unchanged for {days} days"
    assert why["Use ESM only"] == (
        f"its status is active, but it is unchanged for {days} days; never confirmed"
    )


def test_the_immune_stand_apart_with_an_honest_state(group: Group, clock: Clock) -> None:
    put(group, DECISIONS, TEXT)
    clock.advance(days=200)
    found = report(group)

    assert titles(found.immune) == ["Keep the old plan", "Never delete"]
    assert {(each.state, each.action) for each in found.immune} == {("stale", "")}
    assert titles(found.retired) == ["Keep the old plan", "Use tabs"]
    assert not set(titles(found.immune)) & set(titles(found.entries.stale))


def test_what_was_confirmed_says_when(group: Group, clock: Clock) -> None:
    put(group, DECISIONS, "### Use ESM only\n- **Status:** active\n- **Confirmed:** 2026-02-08\n")
    clock.advance(days=45)

    (entry,) = report(group).suggested
    assert (
        entry.why
        == "its status is active, but it is unchanged for 45 days; confirmed on 2026-02-08"
    )


def test_the_totals_count_every_file_and_every_entry(group: Group, clock: Clock) -> None:
    put(group, DECISIONS, TEXT)
    clock.advance(days=50)
    put(group, IDEAS, "### A thought\n")
    found = report(group).totals

    sizes = git(group.worktree, "ls-tree", "-r", "-l", "HEAD").splitlines()
    assert found.files == len(sizes)
    assert found.size_bytes == sum(int(line.split()[3]) for line in sizes)
    assert (found.entries, found.active, found.aging, found.fading, found.stale) == (6, 1, 0, 5, 0)


@pytest.mark.parametrize(
    ("size", "over", "near"),
    [(3072, False, False), (3073, False, True), (4096, False, True), (4097, True, False)],
)
def test_at_the_budget_is_inside(group: Group, size: int, over: bool, near: bool) -> None:
    put(group, "state.md", "x" * (size - 1) + "\n")
    found = report(group)

    (check,) = [each for each in found.budgets.checks if each.file == "state.md"]
    assert (check.size_bytes, check.over_budget, check.near_budget) == (size, over, near)
    assert check.budget_usage_pct == round(100 * size / 4096)
    assert ("state.md" in found.budgets.over_budget, "state.md" in found.budgets.near_budget) == (
        over,
        near,
    )
    assert any("over its budget" in each for each in found.recommendations) == over


def test_a_core_file_that_is_missing_is_not_over_its_budget(group: Group) -> None:
    by_hand(group, "rm", "-q", "identity.md")
    by_hand(group, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "gone")
    found = report(group)

    (check,) = [each for each in found.budgets.checks if each.file == "identity.md"]
    assert (check.exists, check.missing, check.over_budget, check.modified_at) == (
        False,
        True,
        False,
        None,
    )
    assert found.budgets.missing == ("identity.md",)
    assert "identity.md is missing: write what belongs there" in found.recommendations


def test_logs_of_more_than_thirty_days_ago_are_candidates(group: Group, clock: Clock) -> None:
    clock.set("2026-03-12T12:00:00+00:00")
    names = ("2026-02-10", "2026-02-09", "2026-02-09-2", "2026-02-30", "2026-02-09-x", "notes")
    for name in names:
        put(group, f"sessions/{name}.md", "- said\n")
    put(group, "elsewhere/2026-01-01.md", "- said\n")

    found = report(group).sessions.archive_candidates_older_than_30_days

    # The 10th is exactly 30 days ago and stays; there is no 30th of February.
    assert found == ("sessions/2026-02-09.md", "sessions/2026-02-09-2.md")


@pytest.mark.parametrize(("zone", "found"), [("Pacific/Kiritimati", 1), ("Pacific/Niue", 0)])
def test_days_are_those_of_the_group(group: Group, clock: Clock, zone: str, found: int) -> None:
    layout = (group.repository.snapshot().read("gitmem.yaml") or b"").decode()
    put(group, "gitmem.yaml", layout.replace("layers:", f"timezone: {zone}\nlayers:"))
    put(group, "sessions/2026-02-08.md", "- said\n")
    clock.set("2026-03-10T11:00:00+00:00")  # the 11th on Kiritimati, the 10th on Niue

    candidates = report(group).sessions.archive_candidates_older_than_30_days
    assert len(candidates) == found


def test_a_log_in_the_archive_is_no_candidate(group: Group, clock: Clock) -> None:
    put(group, "sessions/2025-01-01.md", "- said\n")
    assert report(group).sessions.archive_candidates_older_than_30_days
    remove(group, "sessions/2025-01-01.md")

    assert report(group).sessions.archive_candidates_older_than_30_days == ()


def test_profiles_that_are_too_long_are_named(group: Group) -> None:
    put(group, "users/ada/profile.md", "x" * 1023 + "\n")
    put(group, "users/bob/profile.md", "x" * 1024 + "\n")
    put(group, "users/default/profile.md", "x" * 5000 + "\n")
    found = report(group)

    assert [(each.file, each.size_bytes, each.budget_bytes) for each in found.profiles] == [
        ("users/bob/profile.md", 1025, 1024)
    ]
    assert (
        "1 profile too long: summarise older notes of users/bob/profile.md" in found.recommendations
    )


def test_a_profile_of_a_layer_without_a_budget_may_have_a_kilobyte(group: Group) -> None:
    layout = (group.repository.snapshot().read("gitmem.yaml") or b"").decode()
    put(group, "gitmem.yaml", layout.replace("    budget: 1 KB\n", ""))
    put(group, "users/bob/profile.md", "x" * 1024 + "\n")

    assert [each.budget_bytes for each in report(group).profiles] == [1024]


def test_an_entry_in_two_files_of_reference_is_named(group: Group) -> None:
    put(group, DECISIONS, "### Use ESM only\n- **Status:** active\n")
    put(group, IDEAS, "### use esm only\n- **Status:** raw\n")

    (found,) = report(group).duplicates
    assert (found.address, found.title) == ("reference/ideas.md#use-esm-only", "use esm only")
    assert "reference/decisions.md#use-esm-only" in found.message


def test_files_are_as_old_as_their_newest_line_wherever_they_are_checked_out(
    group: Group, clock: Clock
) -> None:
    put(group, "notes/a.md", "one\n")
    clock.advance(days=10)
    write(group, [Edit("notes/a.md", "two\n", append=True)])
    clock.advance(days=5)
    (group.worktree / "notes" / "a.md").touch()
    found = report(group)

    rows = {each.file: each for each in found.oldest_files}
    assert rows["notes/a.md"].age_days == 5
    assert [each.age_days for each in found.oldest_files] == sorted(
        (each.age_days for each in found.oldest_files), reverse=True
    )
    blamed = git(group.worktree, "log", "-1", "--format=%cI", "--", "notes/a.md").strip()
    assert rows["notes/a.md"].modified_at.isoformat() == blamed  # type: ignore[union-attr]


def test_the_ten_largest_are_named_and_the_archive_is_not_among_them(group: Group) -> None:
    for number in range(15):
        put(group, f"notes/{number}.md", "x" * (10_000 + number))
    put(group, "notes/huge.md", "x" * 99_999)
    remove(group, "notes/huge.md")
    found = report(group)

    assert [each.file for each in found.largest_files] == [
        f"notes/{number}.md" for number in range(14, 4, -1)
    ]
    assert len(found.oldest_files) == 10


def test_reference_files_have_sizes_ages_and_counts(group: Group, clock: Clock) -> None:
    put(group, DECISIONS, TEXT)
    remove(group, PROJECTS)
    clock.advance(days=40)
    rows = {each.file: each for each in report(group).reference_files}

    found = rows[DECISIONS]
    assert (found.exists, found.size_bytes, found.age_days) == (True, len(TEXT), 40)
    assert (found.freshness, found.entries, found.retired) == ("fading", 3, 2)
    assert (rows[PROJECTS].exists, rows[PROJECTS].freshness) == (False, "")


def test_the_same_commit_and_day_give_the_same_report(group: Group, clock: Clock) -> None:
    put(group, DECISIONS, TEXT)
    clock.advance(days=40)
    first = document(report(group))
    clock.advance(hours=3)

    assert document(report(reopened(group))) == first
    clock.advance(days=1)
    assert document(report(group)) != first


def test_the_past_can_be_reported_on(group: Group, clock: Clock) -> None:
    put(group, DECISIONS, TEXT)
    clock.advance(days=40)
    then = report(group)
    clock.advance(days=1)
    put(group, DECISIONS, "# Decisions\n")
    clock.advance(days=5)

    assert report(group).suggested == ()
    assert report(group, at="2026-03-20") == then


def test_a_report_writes_nothing(group: Group, clock: Clock) -> None:
    put(group, DECISIONS, TEXT)
    (group.worktree / "state.md").write_text("by hand\n")
    head = git(group.worktree, "rev-parse", "HEAD")
    report(group)

    assert git(group.worktree, "rev-parse", "HEAD") == head
    assert (group.worktree / "state.md").read_text() == "by hand\n"


def test_a_group_without_a_layout_has_a_report_too(store: Store, clock: Clock) -> None:
    init(store, "bare", layout="none", now=clock)
    with_none = Group(store, "bare", now=clock)
    put(with_none, "a.md", "one\n")
    found = report(with_none)

    assert found.totals.entries == 0
    assert found.recommendations == ()
    assert [each.file for each in found.largest_files if each.file == "a.md"] == ["a.md"]
    with_none.close()


CONDITIONS = st.builds(
    lambda days, importance, retired, known, confirmed: Condition(
        state_of(days),
        days,
        "superseded" if retired else "active" if known else "",
        retired,
        is_immune(importance),
        confirmed,
        known and not retired,
    ),
    st.integers(0, 400),
    st.sampled_from([None, 1, 2, 3, 4, 5]),
    st.booleans(),
    st.booleans(),
    st.none() | st.dates(),
)


@given(CONDITIONS)
def test_age_alone_never_archives_and_the_immune_are_left_alone(entry: Condition) -> None:
    found = suggest(entry)

    assert (found.action == "archive") == (entry.retired and entry.days >= 30 and not entry.immune)
    assert (found.action == "") == (entry.days < 30 or entry.immune)
    assert bool(found.action) == bool(found.why)
    assert not found.why or str(entry.days) in found.why


@given(st.dates(date(2000, 1, 1), date(2100, 1, 1)), st.integers(0, 60))
def test_a_log_is_old_when_it_is_more_than_thirty_days_old(today: date, days: int) -> None:
    assert is_old_log(today - timedelta(days=days), today) == (days > 30)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a"], "1 outdated entry: `memory.consolidate()` archives it (a)"),
        (["a", "b"], "2 outdated entries: `memory.consolidate()` archives them (a, b)"),
    ],
)
def test_outdated_entries_are_counted(names: list[str], said: str) -> None:
    assert [*recommendations(Findings(archivable=names))] == [said]


def test_one_log_is_one() -> None:
    (said,) = recommendations(Findings(logs=["sessions/2026-01-01.md"]))

    assert said == "1 log of more than 30 days ago: `memory.consolidate()` archives it"


def test_a_recommendation_names_a_few_and_counts_the_rest() -> None:
    many = [f"reference/x.md#{number}" for number in range(8)]
    (said,) = recommendations(Findings(stale=many))

    assert said.startswith("8 stale entries to review")
    assert said.endswith("reference/x.md#4 and 3 more)")


KEYS = {
    "timestamp": None,
    "memory_dir": None,
    "totals": {"files", "size_bytes"},
    "budgets": {"rules", "warn_thresholds", "checks", "over_budget", "near_budget"},
    "reference_files": {
        *("file", "exists", "size_bytes", "modified_at", "age_days", "freshness"),
    },
    "sessions": {"archive_candidates_older_than_30_days"},
    "oldest_files": {"file", "size_bytes", "modified_at", "age_days"},
    "largest_files": {"file", "size_bytes", "modified_at", "age_days"},
    "recommendations": None,
}
CHECK = {
    *("file", "exists", "size_bytes", "budget_bytes", "warn_bytes", "over_budget"),
    *("near_budget", "budget_usage_pct", "modified_at"),
}


def test_who_knows_the_report_of_the_seed_finds_every_key_of_it(group: Group) -> None:
    found = json.loads(document(report(group)))

    for key, inner in KEYS.items():
        value = found[key][0] if isinstance(found[key], list) and inner else found[key]
        assert not inner or inner <= value.keys(), key
    assert found["budgets"]["checks"][0].keys() >= CHECK
