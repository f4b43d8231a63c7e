"""A clock that was wrong for a while: what was made since is still found by its date."""

from __future__ import annotations

from datetime import datetime

import pytest

from gitmem.errors import MomentNotFound
from gitmem.memory.admin.init import init
from gitmem.memory.adopt.adopt import adopt
from gitmem.memory.context.inject import inject
from gitmem.memory.context.pins import pin, sources_at
from gitmem.memory.group import Group, Store
from gitmem.memory.read.diff import diff
from gitmem.memory.read.log import log
from gitmem.memory.read.read import read
from gitmem.memory.read.status import status
from gitmem.memory.recover.restore import restore
from gitmem.memory.resolve import resolve
from gitmem.memory.upkeep.snapshot import latest, snapshot
from tests.support.clocks import Clock
from tests.support.git import git
from tests.support.histories import edit, put

AHEAD = "2031-01-01T00:00:00Z"


def on(clock: Clock, day: int, hour: int = 12) -> None:
    clock.set(f"2026-03-{day:02}T{hour:02}:00:00Z")


def put_on(group: Group, clock: Clock, day: int, text: str) -> str:
    on(clock, day)
    return put(group, "a.md", f"{text}\n").commit


@pytest.fixture
def glitch(group: Group, clock: Clock) -> dict[str, str]:
    """One commit of 2031 between those of March 2026."""
    made = {"before": put_on(group, clock, 1, "before")}
    clock.set(AHEAD)
    made["ahead"] = put(group, "a.md", "ahead\n").commit
    made["third"] = put_on(group, clock, 3, "third")
    made["fifth"] = put_on(group, clock, 5, "fifth")
    on(clock, 7)
    return made


@pytest.mark.parametrize("at", ["now", "today", "2026-03-07", "2026-03-06", "2026-04-01"])
def test_a_commit_of_the_future_hides_nothing_that_came_after_it(
    group: Group, glitch: dict[str, str], at: str
) -> None:
    assert resolve(group, at) == glitch["fifth"]
    assert read(group, "a.md", at=at).data == b"fifth\n"


def test_each_day_has_the_newest_state_that_existed_by_then(
    group: Group, glitch: dict[str, str]
) -> None:
    days = {day: resolve(group, f"2026-03-{day:02}") for day in (1, 2, 3, 4, 5)}

    assert days[1] == days[2] == glitch["before"]
    assert days[3] == days[4] == glitch["third"]  # by then that of 2031 was made, too
    assert days[5] == glitch["fifth"]
    assert {each.path for each in diff(group, "2026-03-04", "2026-03-06").files} == {"a.md"}


def test_a_commit_of_the_future_that_is_the_newest_counts_from_now_on(
    group: Group, clock: Clock
) -> None:
    before = put_on(group, clock, 1, "before")
    clock.set(AHEAD)
    ahead = put(group, "a.md", "ahead\n").commit
    on(clock, 7)

    assert resolve(group, "today") == ahead
    assert resolve(group, "2026-03-05") == before


def test_a_commit_by_plain_git_after_it_is_found_by_its_date(
    group: Group, glitch: dict[str, str]
) -> None:
    edit(group, "b.md", "by hand\n")
    date = "2026-03-06T12:00:00Z"
    git(group.worktree, "add", "b.md")
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    git(group.worktree, "commit", "-qm", "by hand", env=dates)

    assert resolve(group, "2026-03-06") == group.repository.tip()
    assert resolve(group, "2026-03-05") == glitch["fifth"]


def test_restore_brings_back_what_stood_after_the_glitch(
    group: Group, clock: Clock, glitch: dict[str, str]
) -> None:
    restore(group, "a.md", at="2026-03-03")

    assert (group.worktree / "a.md").read_text() == "third\n"


def test_once_that_future_has_come_the_days_before_it_are_still_told_apart(
    group: Group, clock: Clock
) -> None:
    before = put_on(group, clock, 1, "before")
    on(clock, 20)
    put(group, "a.md", "ahead\n")
    third, fifth = put_on(group, clock, 3, "third"), put_on(group, clock, 5, "fifth")
    late = put_on(group, clock, 25, "late")
    on(clock, 28)

    days = {day: resolve(group, f"2026-03-{day:02}") for day in (2, 3, 4, 6, 24, 26)}

    assert days == {2: before, 3: third, 4: third, 6: fifth, 24: fifth, 26: late}


def test_a_clock_that_was_behind_makes_nothing_older_than_what_it_builds_on(
    group: Group, clock: Clock
) -> None:
    root = group.repository.tip()
    put_on(group, clock, 1, "first")
    clock.set("1999-01-01T00:00:00Z")
    behind = put(group, "a.md", "behind\n").commit
    edit(group, "b.md", "by hand\n")
    git(group.worktree, "add", "b.md")
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "1999-01-01T00:00:00Z")
    git(group.worktree, "commit", "-qm", "by hand", env=dates)
    by_hand = git(group.gitdir, "rev-parse", "main").strip()
    put_on(group, clock, 5, "fifth")
    on(clock, 7)

    assert resolve(group, "2026-03-04") in (behind, by_hand)
    assert resolve(group, "2026-02-20") == root
    with pytest.raises(MomentNotFound):
        resolve(group, "2000-01-01")


def adopted(store: Store, clock: Clock, *days: str) -> Group:
    """A group with the history of a folder, in which a commit was made on each of DAYS."""
    folder = store.root.parent / "notes"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for day in days:
        (folder / "a.md").write_text(f"{day}\n")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", day, env={"GIT_AUTHOR_DATE": f"{day}T12:00:00Z"})
    adopt(store, "notes", folder, layout="none", now=clock)
    return Group(store, "notes", now=clock)


def test_days_before_an_adoption_are_those_of_the_adopted_history(
    store: Store, clock: Clock
) -> None:
    on(clock, 1)
    notes = adopted(store, clock, "2020-01-01", "2020-01-05", "2020-01-03", "2020-01-09")
    on(clock, 3)
    tip = notes.repository.tip()

    for asked, there in (
        ("2020-01-01", "2020-01-01"),
        ("2020-01-04", "2020-01-01"),  # the third is on top of the second, whatever its date says
        ("2020-01-06", "2020-01-03"),
        ("2025-01-01", "2020-01-09"),
    ):
        assert read(notes, "a.md", at=asked).data == f"{there}\n".encode()
    with pytest.raises(MomentNotFound) as caught:
        resolve(notes, "2019-12-31")
    assert "2020-01-01" in caught.value.hint
    assert resolve(notes, "2026-03-01") == tip
    restore(notes, "a.md", at="2020-01-02")
    assert (notes.worktree / "a.md").read_text() == "2020-01-01\n"
    assert resolve(notes, "2026-03-01") == tip
    notes.close()


def test_an_adoption_into_an_old_empty_group_can_be_asked_for_days_of_both(
    store: Store, clock: Clock
) -> None:
    clock.set("2019-06-01T12:00:00Z")
    init(store, "notes", now=clock)
    on(clock, 1)
    notes = adopted(store, clock, "2020-01-01")
    empty = notes.repository.snapshot(resolve(notes, "2019-07-01"))
    assert not empty.folder("")
    assert read(notes, "a.md", at="2020-02-01").data == b"2020-01-01\n"
    notes.close()


def test_the_log_since_a_day_has_no_commits_of_before(group: Group, glitch: dict[str, str]) -> None:
    since = [each.commit for each in log(group, since="2026-03-04")]

    assert since == [glitch["fifth"]]
    assert [each.commit for each in log(group, "a.md", since="2026-03-04")] == [glitch["fifth"]]
    assert len(log(group, since="2026-03-02")) == 3
    assert log(group, since="2026-03-06") == ()


def test_an_injection_of_a_commit_has_the_date_on_which_that_was_made(
    group: Group, store: Store, clock: Clock
) -> None:
    init(store, "global", now=clock)
    shared = Group(store, "global", now=clock)
    put_on(group, clock, 1, "before")
    clock.set(AHEAD)
    ahead = put(group, "a.md", "ahead\n").commit
    early = put_on(shared, clock, 2, "early")
    third = put_on(group, clock, 3, "third")
    put_on(shared, clock, 6, "late")
    on(clock, 7)

    for at in (third, ahead, "2026-03-03"):
        assert str(inject(group, at=at).date)[:10] == "2026-03-03"
        with sources_at(group, pin(group, at), shared=True) as found:
            assert found.shared
            assert found.shared.commit == early
    shared.close()


def test_a_snapshot_of_a_day_to_come_is_not_the_newest(group: Group, clock: Clock) -> None:
    put_on(group, clock, 1, "one")
    clock.set(AHEAD)
    snapshot(group)
    put_on(group, clock, 3, "three")
    on(clock, 3)
    assert snapshot(group).outcome == "made"
    on(clock, 4)

    found = latest(group.repository, datetime.fromisoformat("2026-03-04").date())

    assert found
    assert found.name == "snapshot/2026-03-03"
    assert snapshot(group).outcome == "unchanged"
    shown = status(group).snapshot
    assert shown
    assert shown.name == "snapshot/2026-03-03"
