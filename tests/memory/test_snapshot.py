"""One tag for each local day on which memory changed."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from gitmem.api.memory import open_group
from gitmem.errors import BadInput, GroupRefused, SecretFound
from gitmem.memory.admin.check import check
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.diff import diff
from gitmem.memory.read.log import log
from gitmem.memory.read.read import read
from gitmem.memory.upkeep.snapshot import latest, snapshot, snapshots
from gitmem.memory.write.capture import capture
from tests.support.clocks import Clock
from tests.support.git import git
from tests.support.histories import edit, put, truncate
from tests.support.samples import body

SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)
TODAY = "snapshot/2026-02-08"


def tags(group: Group) -> list[str]:
    return git(group.gitdir, "tag", "--list").split()


def test_a_snapshot_tags_what_the_group_holds_with_the_daily_message(group: Group) -> None:
    commit = put(group, "a.md", "one\n").commit

    done = snapshot(group)

    assert (done.outcome, done.made, done.name, done.commit) == ("made", True, TODAY, commit)
    assert (done.date, done.changes, done.kept) == (date(2026, 2, 8), 1, "")
    form = "%(objecttype)|%(*objectname)|%(taggername)|%(taggeremail)|%(contents)"
    assert git(group.gitdir, "tag", "--list", f"--format={form}").strip() == (
        f"tag|{commit}|ada|<agent@gitmem.invalid>|memory: daily snapshot 2026-02-08"
    )
    assert git(group.gitdir, "fsck", "--strict") == ""


def test_pending_edits_are_captured_first(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "a.md", "two\n")
    edit(group, "untracked.md", "new\n")

    done = snapshot(group, reason="the evening")

    assert sorted(each.path for each in done.captured) == ["a.md", "untracked.md"]
    assert read(group, "untracked.md", at=TODAY).text == "new\n"
    assert {each.agent for each in log(group, op="capture")} == {"ada"}
    assert git(group.gitdir, "tag", "--format=%(contents:body)").strip() == "the evening"


def test_held_edits_do_not_stop_it_and_are_named(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "b.md", f"{SECRET}\n")

    done = snapshot(group)

    assert done.made
    assert [each.path for each in done.held] == ["b.md"]
    assert SECRET not in git(group.gitdir, "cat-file", "--batch-all-objects", "--batch")


def test_a_second_one_on_the_same_day_moves_nothing(group: Group) -> None:
    first = put(group, "a.md", "one\n").commit
    snapshot(group)
    tagged = git(group.gitdir, "rev-parse", TODAY)
    put(group, "a.md", "two\n")
    edit(group, "c.md", "three\n")

    done = snapshot(group)

    assert (done.outcome, done.commit, done.kept) == ("exists", first, "")
    assert git(group.gitdir, "rev-parse", TODAY) == tagged
    assert [each.path for each in done.captured] == ["c.md"], "edits are safe all the same"
    assert tags(group) == [TODAY]


def test_force_makes_a_new_one_and_keeps_each_old_one_under_a_number(group: Group) -> None:
    commits = []
    for number in range(4):
        commits.append(put(group, "a.md", f"{number}\n").commit)
        done = snapshot(group, force=True)
        assert done.made
        assert done.kept == (f"{TODAY}-{number}" if number else "")

    assert [row.name for row in snapshots(group)] == [TODAY, *(f"{TODAY}-{n}" for n in (3, 2, 1))]
    assert [row.commit for row in snapshots(group)] == commits[::-1]
    assert git(group.gitdir, "fsck", "--strict", "--no-dangling") == ""


def test_no_change_no_tag_even_if_forced(group: Group, clock: Clock) -> None:
    assert snapshot(group).outcome == "unchanged", "there is nothing yet"
    put(group, "a.md", "one\n")
    assert snapshot(group).made
    assert snapshot(group, force=True).outcome == "unchanged"
    clock.advance(days=1)

    done = snapshot(group)

    assert (done.outcome, done.name) == ("unchanged", "snapshot/2026-02-09")
    assert tags(group) == [TODAY]


def test_what_was_written_and_taken_back_is_no_change(group: Group, clock: Clock) -> None:
    put(group, "a.md", "one\n")
    snapshot(group)
    clock.advance(days=1)
    put(group, "a.md", "two\n")
    put(group, "a.md", "one\n")

    assert snapshot(group).outcome == "unchanged"


@pytest.mark.parametrize(
    ("zone", "name"),
    [
        ("America/Los_Angeles", "snapshot/2026-02-07"),
        ("Asia/Tokyo", "snapshot/2026-02-08"),
        ("Pacific/Kiritimati", "snapshot/2026-02-08"),
        ("Pacific/Pago_Pago", "snapshot/2026-02-07"),
    ],
)
def test_the_day_is_the_groups_own(group: Group, clock: Clock, zone: str, name: str) -> None:
    put(group, "gitmem.yaml", f"gitmem: 1\ntimezone: {zone}\n")
    clock.set("2026-02-08T07:30:00Z")

    assert snapshot(group).name == name


def test_a_day_begins_for_snapshots_at_local_midnight(group: Group, clock: Clock) -> None:
    put(group, "gitmem.yaml", "gitmem: 1\ntimezone: America/New_York\n")
    clock.set("2026-11-02T04:59:00Z")
    assert snapshot(group).name == "snapshot/2026-11-01"
    put(group, "a.md", "one\n")
    clock.set("2026-11-02T05:01:00Z")
    assert snapshot(group).name == "snapshot/2026-11-02"


def test_a_snapshot_can_be_named_wherever_a_moment_can(group: Group, clock: Clock) -> None:
    put(group, "a.md", "one\n")
    snapshot(group)
    clock.advance(days=1)
    put(group, "a.md", "two\n")
    put(group, "b.md", "new\n")
    snapshot(group)
    put(group, "a.md", "three\n")

    assert read(group, "a.md", at=TODAY).text == "one\n"
    assert read(group, "a.md", at=f"refs/tags/{TODAY}").text == "one\n"
    since = diff(group, TODAY)
    assert [each.path for each in since.files] == ["a.md", "b.md"]
    between = diff(group, TODAY, "snapshot/2026-02-09")
    assert [each.path for each in between.files] == ["a.md", "b.md"]
    assert read(group, "a.md", at="snapshot/2026-02-09~1").text == "two\n"


def test_the_list_tells_what_changed_from_one_to_the_next(group: Group, clock: Clock) -> None:
    for number in range(3):
        for name in range(number + 1):
            put(group, f"{name}.md", f"{number}\n")
        snapshot(group, reason="why" if number == 1 else "")
        clock.advance(days=1)
    git(group.gitdir, "tag", "snapshot/by-hand", "main~1")

    rows = snapshots(group)

    assert [(row.name, row.date, row.changes) for row in rows] == [
        ("snapshot/2026-02-10", "2026-02-10", 3),
        ("snapshot/2026-02-09", "2026-02-09", 2),
        ("snapshot/2026-02-08", "2026-02-08", 2),
        ("snapshot/by-hand", "", 2),
    ]
    assert rows[1].message == "memory: daily snapshot 2026-02-09\n\nwhy"
    assert (rows[0].agent, rows[3].agent, rows[3].time) == ("ada", "", None)
    assert snapshots(group, limit=1) == rows[:1]
    assert snapshots(group, limit=9) == rows
    with pytest.raises(BadInput):
        snapshots(group, limit=-1)


def test_a_damaged_tag_is_left_out_and_stops_nothing(group: Group, clock: Clock) -> None:
    put(group, "a.md", "one\n")
    snapshot(group)
    truncate(group.repository, git(group.gitdir, "rev-parse", TODAY).strip())
    clock.advance(days=1)
    put(group, "a.md", "two\n")

    assert latest(group.repository, group.now().date()) is None
    assert snapshot(group).name == "snapshot/2026-02-09"
    assert [row.name for row in snapshots(group)] == ["snapshot/2026-02-09"]


def test_a_group_without_snapshots_lists_none(group: Group) -> None:
    assert snapshots(group) == ()
    assert latest(group.repository, group.now().date()) is None


def test_a_secret_in_the_reason_is_refused_before_anything_is_done(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "a.md", "two\n")

    with pytest.raises(SecretFound):
        snapshot(group, reason=f"the key is {SECRET}")
    assert tags(group) == []
    assert read(group, "a.md").text == "one\n"


def test_a_reason_cannot_break_out_of_its_place(group: Group) -> None:
    put(group, "a.md", "one\n")

    snapshot(group, reason="one\n\nobject x\n\u202etwo")

    assert git(group.gitdir, "fsck", "--strict") == ""
    (row,) = snapshots(group)
    assert row.message.endswith("one\n\nobject x\n\\u{202E}two")


@pytest.mark.parametrize("agent", ["Ada <x> Lovelace", "  .,", "名前", 'a"b'])
def test_without_any_git_identity_the_agent_is_the_tagger(
    store: Store, clock: Clock, agent: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [each for each in os.environ if each.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    init(store, "main", now=clock)
    group = Group(store, "main", who=Who(agent), now=clock)
    edit(group, "a.md", "one\n")

    assert snapshot(group).made

    assert git(group.gitdir, "fsck", "--strict") == ""
    author = git(group.gitdir, "log", "-1", "--format=%an <%ae>").strip()
    tagger = git(group.gitdir, "tag", "--format=%(taggername) %(taggeremail)").strip()
    assert tagger == author
    group.close()


def test_check_finds_nothing_wrong_with_a_snapshot(group: Group) -> None:
    for number in range(3):
        put(group, "a.md", f"{number}\n")
        snapshot(group, force=True)

    assert check(group).findings == ()
    git(group.worktree, "gc", "-q")
    assert len(snapshots(group)) == 3
    assert check(group).sound


def test_a_ref_that_is_no_ref_stops_nothing(group: Group) -> None:
    put(group, "a.md", "one\n")
    folder = group.gitdir / "refs" / "tags" / "snapshot"
    folder.mkdir(parents=True)
    (folder / "2026-02-07").write_text("nonsense\n")

    done = snapshot(group)

    assert (done.made, [row.name for row in snapshots(group)]) == (True, [TODAY])


def test_only_who_may_write_may_make_one(group: Group) -> None:
    init(group.store, "global")
    reader = Group(group.store, "global", acting="research")

    with pytest.raises(GroupRefused):
        snapshot(reader)
    assert snapshots(reader) == ()
    reader.close()


def test_an_edit_that_came_after_the_capture_waits_for_the_next_one(
    group: Group, clock: Clock
) -> None:
    put(group, "a.md", "one\n")
    snapshot(group)
    edit(group, "a.md", "two\n")
    clock.advance(days=1)

    assert snapshot(group).changes == 1
    assert capture(group).captured == ()


def test_days_through_the_api(store: Store, clock: Clock) -> None:
    with open_group(store=store.root, create=True, layout="standard", now=clock) as memory:
        assert memory.rotate().created == ("sessions/current.md",)
        assert memory.snapshot().made
        clock.advance(days=1)
        assert memory.rotate(reason="a new day").rotated == (
            ("sessions/current.md", f"sessions/{memory.history.snapshots()[0].date}.md"),
        )
        assert memory.compact("all is well", id="r-1").request_id == "r-1"
        assert memory.snapshot(force=True).changes == 3
        assert len(memory.history.snapshots(limit=1)) == 1
        assert not memory.migrate(dry_run=True).changed
        assert memory.status().layout == "standard"
