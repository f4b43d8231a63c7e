"""Days that nobody made a snapshot of get one when the next session starts, or a sync ends."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.errors import GitmemError
from gitmem.memory.admin.init import init
from gitmem.memory.adopt.adopt import adopt
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.status import status
from gitmem.memory.transcripts.add import NewMessage, transcript_add
from gitmem.memory.transcripts.checkpoint import transcript_checkpoint
from gitmem.memory.transcripts.pending import transcript_pending
from gitmem.memory.upkeep.jobs import last_jobs
from gitmem.memory.upkeep.maintain import maintain
from gitmem.memory.upkeep.missed_snapshots import (
    MOST,
    TAGS_AT_ONCE,
    catch_up,
    missed_days,
    snapshot_missed,
)
from gitmem.memory.upkeep.snapshot import snapshot, snapshots
from tests.support.clocks import Clock
from tests.support.git import git
from tests.support.histories import by_hand, edit, put, truncate


def tags(group: Group) -> list[str]:
    return git(group.gitdir, "tag", "--list").split()


def tagged(group: Group, day: str) -> str:
    return git(group.gitdir, "rev-parse", f"snapshot/{day}^{{commit}}").strip()


class TestCatchingUp:
    def test_each_day_that_changed_gets_its_last_commit(self, group: Group, clock: Clock) -> None:
        lasts = []
        for number in range(3):
            put(group, "a.md", f"{number} first\n")
            lasts.append(put(group, "a.md", f"{number} last\n").commit)
            clock.advance(days=1)
        put(group, "a.md", "today\n")

        made = snapshot_missed(group)

        days = ["2026-02-08", "2026-02-09", "2026-02-10"]
        assert made == tuple(f"snapshot/{day}" for day in days)
        assert [tagged(group, day) for day in days] == lasts
        assert tags(group) == list(made), "today is not over"
        form = "%(contents:subject)|%(taggername)|%(taggerdate:short)"
        said = git(group.gitdir, "tag", "--list", f"--format={form}").split("\n")
        assert said[0] == "memory: daily snapshot 2026-02-08|ada|2026-02-08"
        assert git(group.gitdir, "fsck", "--strict") == ""
        assert [each.name for each in snapshots(group)] == list(made[::-1])
        assert snapshot_missed(group) == ()
        (trace,) = (each for each in last_jobs(group) if each.job == "snapshot")
        assert (trace.outcome, trace.found) == ("done", 3)

    def test_a_day_with_a_snapshot_keeps_it(self, group: Group, clock: Clock) -> None:
        put(group, "a.md", "one\n")
        first = snapshot(group).commit
        put(group, "a.md", "later that day\n")
        clock.advance(days=1)

        assert snapshot_missed(group) == ()
        assert tagged(group, "2026-02-08") == first

    def test_a_day_on_which_memory_stayed_the_same_needs_none(
        self, group: Group, clock: Clock
    ) -> None:
        put(group, "a.md", "one\n")
        snapshot(group)
        clock.advance(days=1)
        put(group, "a.md", "two\n")
        put(group, "a.md", "one\n")
        clock.advance(days=1)

        assert missed_days(group) == ()

    def test_an_empty_group_has_none(self, group: Group, clock: Clock) -> None:
        clock.advance(days=9)

        assert missed_days(group) == ()

    def test_days_are_those_of_the_groups_zone(self, group: Group, clock: Clock) -> None:
        put(group, "gitmem.yaml", "gitmem: 1\ntimezone: Asia/Tokyo\n")
        clock.set("2026-02-08T15:30:00+00:00")
        put(group, "a.md", "after midnight in Tokyo\n")
        clock.set("2026-02-09T15:30:00+00:00")

        assert snapshot_missed(group)[-1] == "snapshot/2026-02-09"

    def test_a_clock_that_was_ahead_makes_no_day_of_its_own(
        self, group: Group, clock: Clock
    ) -> None:
        put(group, "a.md", "one\n")
        clock.set("2027-06-01T12:00:00+00:00")
        put(group, "a.md", "two\n")
        clock.set("2026-02-09T12:00:00+00:00")
        put(group, "a.md", "three\n")
        clock.set("2026-02-11T12:00:00+00:00")

        made = snapshot_missed(group)

        assert made == ("snapshot/2026-02-08", "snapshot/2026-02-09")

    def test_a_commit_of_plain_git_counts_when_it_was_made(
        self, group: Group, clock: Clock
    ) -> None:
        put(group, "a.md", "one\n")
        edit(group, "a.md", "two\n")
        by_hand(group, "commit", "-qam", "by hand", at="2026-02-09T12:00:00+00:00")
        clock.set("2026-02-11T12:00:00+00:00")

        assert snapshot_missed(group) == ("snapshot/2026-02-08", "snapshot/2026-02-09")

    def test_an_adoption_is_of_its_day_whatever_its_commits_say(
        self, store: Store, tmp_path_factory: pytest.TempPathFactory, clock: Clock
    ) -> None:
        folder = tmp_path_factory.mktemp("old")
        git(folder.parent, "init", "-q", "-b", "main", str(folder))
        for day in ("2026-01-05", "2026-01-06"):
            (folder / "a.md").write_text(f"{day}\n")
            git(folder, "add", "-A")
            at = {"GIT_AUTHOR_DATE": f"{day}T12:00Z", "GIT_COMMITTER_DATE": f"{day}T12:00Z"}
            git(folder, "commit", "-qm", "x", env=at)
        adopt(store, "old", folder, layout="none", now=clock)
        group = Group(store, "old", now=clock)
        assert missed_days(group) == ()
        clock.advance(days=1)

        assert snapshot_missed(group) == ("snapshot/2026-02-08",)
        group.close()

    def test_a_name_that_is_taken_is_left_alone(self, group: Group, clock: Clock) -> None:
        put(group, "a.md", "one\n")
        done = snapshot(group)
        truncate(group.repository, git(group.gitdir, "rev-parse", done.name).strip())
        clock.advance(days=1)

        assert snapshot_missed(group) == ()

    def test_it_looks_back_so_far_and_no_further(self, group: Group, clock: Clock) -> None:
        put(group, "a.md", "one\n")
        clock.advance(days=1)
        for number in range(3):
            put(group, "a.md", f"{number}\n")

        assert missed_days(group, most=3) == ()
        assert len(missed_days(group, most=4)) == 1
        assert MOST > 100

    @given(st.lists(st.sampled_from(["write", "same", "day", "snapshot"]), max_size=12))
    def test_afterwards_no_day_that_is_over_lacks_one(
        self, tmp_path_factory: pytest.TempPathFactory, deeds: list[str]
    ) -> None:
        clock = Clock()
        root = Store(tmp_path_factory.mktemp("store"))
        init(root, "main", layout="none", now=clock)
        group = Group(root, "main", who=Who("ada"), now=clock)
        for number, deed in enumerate(deeds):
            if deed == "day":
                clock.advance(days=1)
            elif deed == "snapshot":
                snapshot(group)
            else:
                put(group, "a.md", f"{number if deed == 'write' else 'same'}\n")
        before = {name: tagged(group, name[9:]) for name in tags(group)}

        snapshot_missed(group)

        assert missed_days(group) == ()
        assert {name: tagged(group, name[9:]) for name in before} == before, "none is moved"
        days = [each.date for each in reversed(snapshots(group))]
        assert all(one < other for one, other in pairwise(days))
        group.close()


class TestOnceADay:
    def test_the_second_start_of_a_day_does_not_look(self, group: Group, clock: Clock) -> None:
        put(group, "a.md", "one\n")
        clock.advance(days=1)
        made = catch_up(group)
        git(group.gitdir, "tag", "-d", *made)

        assert (made, catch_up(group)) == (("snapshot/2026-02-08",), ())
        clock.advance(days=1)
        assert catch_up(group) == made

    def test_it_gives_way_to_a_writer_and_comes_again(self, group: Group, clock: Clock) -> None:
        put(group, "a.md", "one\n")
        clock.advance(days=1)
        other = Group(group.store, "main", now=clock)
        with other.writing():
            assert catch_up(group) == ()
        other.close()
        assert "snapshot failed" not in status(group).concerns

        assert catch_up(group) == ("snapshot/2026-02-08",)


class TestDaysThatAreLeft:
    """A start makes a few, and those that it leaves are found again behind the newer ones."""

    def days(self, group: Group, clock: Clock, number: int) -> list[str]:
        """Let memory change on so many days; what their snapshots are called."""
        names = []
        for each in range(number):
            names.append(f"snapshot/{clock().date()}")
            put(group, "a.md", f"{each}\n")
            clock.advance(days=1)
        return names

    def test_a_start_makes_the_newest_ones_and_maintenance_the_rest(
        self, group: Group, clock: Clock
    ) -> None:
        names = self.days(group, clock, 9)

        assert catch_up(group) == tuple(names[-TAGS_AT_ONCE:])
        assert status(group).missed_snapshots == tuple(name[9:] for name in names[:-TAGS_AT_ONCE])
        clock.advance(days=1)
        assert catch_up(group) == tuple(names[-2 * TAGS_AT_ONCE : -TAGS_AT_ONCE])
        maintain(group)

        assert tags(group) == names
        assert status(group).concerns == ()
        assert missed_days(group) == ()
        assert not (group.gitdir / "gitmem" / "settled").exists()

    def test_those_behind_the_bound_are_found_by_maintenance(
        self, group: Group, clock: Clock
    ) -> None:
        names = self.days(group, clock, 5)

        assert snapshot_missed(group, most=2) == tuple(names[-2:])
        assert snapshot_missed(group, most=2) == ()
        assert snapshot_missed(group) == tuple(names[:-2])

    def test_without_time_there_is_one_and_no_day_is_lost(self, group: Group, clock: Clock) -> None:
        names = self.days(group, clock, 5)

        assert snapshot_missed(group, tags=3, seconds=-1.0) == (names[2],)
        assert snapshot_missed(group) == (*names[:2], *names[3:])

    def test_a_snapshot_of_today_hides_no_day_before_it(self, group: Group, clock: Clock) -> None:
        names = self.days(group, clock, 3)
        put(group, "a.md", "today\n")
        today = snapshot(group).name

        assert snapshot_missed(group) == tuple(names)
        assert tags(group) == [*names, today]
        clock.advance(days=3)
        put(group, "a.md", "later\n")
        snapshot(group)
        assert not (group.gitdir / "gitmem" / "settled").exists(), "nothing is missing"

    def test_a_tag_of_a_day_to_come_hides_none(self, group: Group, clock: Clock) -> None:
        git(group.gitdir, "tag", "snapshot/2031-01-01", "main")
        names = self.days(group, clock, 2)

        assert snapshot_missed(group) == tuple(names)

    def test_status_says_at_least_where_it_did_not_see_all(
        self, group: Group, clock: Clock
    ) -> None:
        self.days(group, clock, 52)

        assert status(group).concerns == ("no snapshot of at least 50 days",)

    def test_status_says_that_there_may_be_more(
        self, group: Group, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.days(group, clock, 5)
        monkeypatch.setattr("gitmem.memory.read.status.MOST", 3)
        catch_up(group)

        day = f"{(clock() - timedelta(days=3)).date()}"
        assert status(group).concerns == (f"days before {day} not checked for snapshots",)

    def test_one_that_fails_is_tried_again_the_next_day(self, group: Group, clock: Clock) -> None:
        self.days(group, clock, 1)
        git(group.gitdir, "tag", "snapshot", "main")

        with pytest.raises(GitmemError):
            catch_up(group)
        assert catch_up(group) == ()
        git(group.gitdir, "tag", "-d", "snapshot")
        clock.advance(days=1)
        assert len(catch_up(group)) == 1


class TestASync:
    def sync(self, group: Group, number: int) -> str:
        transcript_add(group, [NewMessage("c", "ada", f"hello {number}")])
        transcript_pending(group)
        put(group, "a.md", f"{number}\n")
        return transcript_checkpoint(group, "They said hello").snapshot

    def test_its_checkpoint_tags_the_day_and_keeps_the_tags_before(self, group: Group) -> None:
        name = "snapshot/2026-02-08"
        commits = []
        for number in range(3):
            assert self.sync(group, number) == name
            commits.append(group.repository.tip())

        assert tags(group) == [name, f"{name}-1", f"{name}-2"]
        assert [each.commit for each in snapshots(group)] == commits[::-1]

    def test_without_a_change_of_memory_the_tag_stays(self, group: Group) -> None:
        self.sync(group, 1)
        before = git(group.gitdir, "show-ref", "--tags")
        transcript_add(group, [NewMessage("c", "ada", "thanks")])
        transcript_pending(group)

        done = transcript_checkpoint(group, "Nothing new")

        assert done.snapshot == ""
        assert git(group.gitdir, "show-ref", "--tags") == before

    def test_a_tag_that_cannot_be_made_costs_no_checkpoint(self, group: Group) -> None:
        (group.gitdir / "refs" / "tags").mkdir(exist_ok=True)
        (group.gitdir / "refs" / "tags" / "snapshot").write_text("in the way\n")

        assert self.sync(group, 1) == ""
        assert git(group.gitdir, "log", "-1", "--format=%s", "main").startswith("checkpoint")


class TestStatus:
    def test_a_day_before_yesterday_without_one_is_named(self, group: Group, clock: Clock) -> None:
        put(group, "a.md", "one\n")
        assert status(group).health == "ok", "today is not over"
        clock.advance(days=1)
        assert status(group).health == "ok", "the next session makes it"
        clock.advance(days=1)

        found = status(group)

        assert found.health == "attention"
        assert found.concerns == ("no snapshot of 2026-02-08",)
        assert found.missed_snapshots == ("2026-02-08",)

    def test_many_are_counted(self, group: Group, clock: Clock) -> None:
        for number in range(4):
            put(group, "a.md", f"{number}\n")
            clock.advance(days=1)

        found = status(group)

        assert found.concerns == ("no snapshot of 4 days since 2026-02-08",)
        maintain(group)
        assert status(group).missed_snapshots == ()
        assert tags(group) == [f"snapshot/2026-02-{day:02}" for day in (8, 9, 10, 11)]

    def test_a_group_that_rests_lacks_nothing(self, group: Group, clock: Clock) -> None:
        put(group, "a.md", "one\n")
        snapshot(group)
        clock.advance(days=300)

        assert status(group).health == "ok"
