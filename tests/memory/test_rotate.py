"""The log of a day that is over goes to its date, and nothing else does."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gitmem.store.fault_points
from gitmem.errors import Conflict, PathRefused
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store
from gitmem.memory.read.log import log
from gitmem.memory.recover.undo import undo
from gitmem.memory.upkeep.rotate import Rotated, rotate
from gitmem.memory.write.capture import capture
from gitmem.memory.write.write import Allowed, Edit, write
from gitmem.model.layout.archives import header_day
from tests.support.clocks import Clock
from tests.support.days import CURRENT, LAYER, blamed, header, said_lines, with_log
from tests.support.git import git
from tests.support.histories import by_hand, edit, put
from tests.support.samples import body

SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)


@pytest.fixture
def days(group: Group) -> Group:
    with_log(group)
    return group


def log_is(group: Group, content: str) -> None:
    """Let the log hold CONTENT, whatever its policy."""
    write(group, [Edit(CURRENT, content)], allowed=Allowed(shrink=True, policy=True))


def text(group: Group, path: str = CURRENT) -> str | None:
    data = group.repository.snapshot().read(path)
    return None if data is None else data.decode()


def past(group: Group) -> list[str]:
    names = group.repository.snapshot().folder("sessions")
    return [each for each in sorted(names) if each != "current.md"]


def assert_in_order(group: Group) -> None:
    assert git(group.worktree, "status", "--porcelain", "--untracked-files=all") == ""
    assert git(group.gitdir, "fsck", "--strict", "--no-dangling") == ""


def test_without_a_log_only_a_fresh_one_is_made(days: Group) -> None:
    done = rotate(days)

    assert (done.rotated, done.created, done.today) == ((), (CURRENT,), date(2026, 2, 8))
    assert text(days) == "# Session Log: 2026-02-08\n\n"
    assert (days.worktree / CURRENT).read_text() == "# Session Log: 2026-02-08\n\n"
    assert_in_order(days)


def test_a_log_of_today_stays(days: Group) -> None:
    rotate(days)
    log_is(days, header("2026-02-08") + "- one\n")
    before = days.repository.tip()

    done = rotate(days)

    assert (done.changed, done.commit, done.logs) == (False, before, (CURRENT,))
    assert past(days) == []


def test_yesterdays_log_goes_to_its_date_and_a_fresh_one_is_made(days: Group, clock: Clock) -> None:
    log_is(days, header("2026-02-08") + "- one\n")
    clock.set("2026-02-09T00:00:05Z")

    done = rotate(days, reason="a new day")

    assert done.rotated == ((CURRENT, "sessions/2026-02-08.md"),)
    assert done.created == (CURRENT,)
    assert text(days, "sessions/2026-02-08.md") == header("2026-02-08") + "- one\n"
    assert text(days) == header("2026-02-09")
    assert_in_order(days)


def test_it_is_two_commits_with_one_move_of_the_branch(days: Group, clock: Clock) -> None:
    log_is(days, header("2026-02-08") + "- one\n")
    before = days.repository.tip()
    clock.set("2026-02-09T08:00:00Z")

    done = rotate(days, reason="a new day")

    fresh, move = log(days, limit=2)
    assert (fresh.commit, fresh.op, fresh.title) == (done.commit, "rotate", "a log for 2026-02-09")
    assert (move.op, move.agent, move.reason) == ("rotate", "ada", "a new day")
    assert (move.moved_from, move.paths) == (CURRENT, ("sessions/2026-02-08.md", CURRENT))
    trailer = "--format=%(trailers:key=Gitmem-From,valueonly)"
    assert git(days.gitdir, "log", "-1", trailer, move.commit).strip() == CURRENT
    moves = git(days.gitdir, "reflog", "show", "--format=%H", "refs/heads/main").split()
    assert moves[:2] == [fresh.commit, before]


def test_plain_blame_and_log_follow_keep_the_dates_of_a_rotated_log(
    days: Group, clock: Clock
) -> None:
    log_is(days, header("2026-02-08") + "- written on the eighth\n")
    clock.set("2026-02-09T10:00:00Z")
    log_is(days, header("2026-02-08") + "- written on the eighth\n- and on the ninth\n")
    clock.set("2026-02-10T10:00:00Z")
    rotate(days)
    clock.set("2026-02-11T10:00:00Z")
    rotate(days)

    assert blamed(days.worktree, "sessions/2026-02-08.md") == [
        ("2026-02-08", "# Session Log: 2026-02-08"),
        ("2026-02-08", ""),
        ("2026-02-08", "- written on the eighth"),
        ("2026-02-09", "- and on the ninth"),
    ]
    followed = git(days.worktree, "log", "--follow", "--format=%s", "sessions/2026-02-08.md")
    assert len(followed.splitlines()) == 3
    assert len(log(days, "sessions/2026-02-08.md")) == 3


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (header("2026-03-01") + "- from the future\n", "2026-03-01.md"),
        ("- no header\n", "2026-02-05.md"),
        ("# Session Log: 2026-02-01 and more\n", "2026-02-05.md"),
        ("", "2026-02-05.md"),
        ("\n\n", "2026-02-05.md"),
        ("- first\n# Session Log: 2026-01-31  \r\n- second\n", "2026-01-31.md"),
    ],
)
def test_future_headers_missing_ones_and_empty_logs_rotate_too(
    days: Group, clock: Clock, content: str, name: str
) -> None:
    clock.set("2026-02-05T12:00:00Z")
    log_is(days, content)
    clock.set("2026-02-08T12:00:00Z")

    done = rotate(days)

    assert done.rotated == ((CURRENT, f"sessions/{name}"),)
    assert text(days, f"sessions/{name}") == content
    assert text(days) == header("2026-02-08")
    assert_in_order(days)


def test_names_that_are_taken_are_counted_on_and_the_hundred_and_first_is_an_error(
    days: Group, clock: Clock
) -> None:
    names = ["2026-02-07.md", *(f"2026-02-07-{number}.md" for number in range(1, 100))]
    for name in names:
        edit(days, f"sessions/{name}", f"{name}\n")
    log_is(days, header("2026-02-07") + "- one\n")
    assert rotate(days).rotated == ((CURRENT, "sessions/2026-02-07-100.md"),)
    log_is(days, header("2026-02-07") + "- two\n")
    capture(days)
    before = days.repository.tip()

    with pytest.raises(Conflict, match="too many logs for 2026-02-07"):
        rotate(days)

    assert days.repository.tip() == before
    assert text(days) == header("2026-02-07") + "- two\n"


def test_a_file_that_nobody_committed_keeps_its_name(days: Group, clock: Clock) -> None:
    log_is(days, header("2026-02-07") + "- one\n")
    edit(days, "sessions/2026-02-07.md", "by hand\n")

    done = rotate(days)

    assert done.rotated == ((CURRENT, "sessions/2026-02-07-1.md"),)
    assert text(days, "sessions/2026-02-07.md") == "by hand\n"
    assert [each.path for each in done.captured] == ["sessions/2026-02-07.md"]


def test_a_name_at_which_something_held_stands_is_taken(days: Group) -> None:
    log_is(days, header("2026-02-07") + "- one\n")
    (days.worktree / "sessions" / "2026-02-07.md").symlink_to("/etc/hostname")

    assert rotate(days).rotated == ((CURRENT, "sessions/2026-02-07-1.md"),)
    assert (days.worktree / "sessions" / "2026-02-07.md").is_symlink()


ZONES = {
    "America/Los_Angeles": ("2026-02-08T07:59:00Z", "2026-02-08T08:01:00Z"),
    "Asia/Tokyo": ("2026-02-08T14:59:00Z", "2026-02-08T15:01:00Z"),
    "Pacific/Kiritimati": ("2026-02-08T09:59:00Z", "2026-02-08T10:01:00Z"),
    "Pacific/Pago_Pago": ("2026-02-08T10:59:00Z", "2026-02-08T11:01:00Z"),
    # Days of 23 and of 25 hours, and one that begins at 01:00.
    "Europe/Berlin": ("2026-03-29T21:59:00Z", "2026-03-29T22:01:00Z"),
    "America/New_York": ("2026-11-02T04:59:00Z", "2026-11-02T05:01:00Z"),
    "Africa/Cairo": ("2026-04-23T21:59:00Z", "2026-04-23T22:01:00Z"),
}


@pytest.mark.parametrize("zone", ZONES)
def test_a_day_ends_at_midnight_where_the_group_lives(
    group: Group, clock: Clock, zone: str
) -> None:
    before, after = ZONES[zone]
    with_log(group, zone)
    clock.set(before)
    today = rotate(group).today
    clock.set(before)
    assert not rotate(group).changed
    clock.set(after)

    done = rotate(group)

    assert (done.today - today).days == 1
    assert done.rotated == ((CURRENT, f"sessions/{today}.md"),)
    assert text(group) == header(done.today)


@pytest.mark.parametrize("line", ["TZ='Asia/Tokyo'", 'export TZ="Asia/Tokyo"', "TZ=Asia/Tokyo"])
def test_the_zone_may_come_from_the_stores_env_file(group: Group, clock: Clock, line: str) -> None:
    (group.store.root / ".env").write_text(f"OTHER=1\n{line}\n")
    with_log(group, "")
    clock.set("2026-02-08T15:01:00Z")

    assert rotate(group).today == date(2026, 2, 9)


def test_without_any_word_on_it_the_zone_is_the_systems(
    group: Group, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    with_log(group, "")
    clock.set("2026-02-05T12:00:00Z")
    log_is(group, "- the sixth on the island\n")
    clock.set("2026-02-08T10:01:00Z")

    done = rotate(group)

    assert (done.today, done.rotated) == (date(2026, 2, 9), ((CURRENT, "sessions/2026-02-06.md"),))


def test_a_log_without_header_is_dated_in_the_groups_zone(group: Group, clock: Clock) -> None:
    with_log(group, "Pacific/Kiritimati")
    clock.set("2026-02-05T12:00:00Z")
    log_is(group, "- the sixth on the island\n")
    clock.set("2026-02-08T12:00:00Z")

    assert rotate(group).rotated == ((CURRENT, "sessions/2026-02-06.md"),)


def test_an_edit_that_nobody_committed_goes_with_its_log(days: Group) -> None:
    log_is(days, header("2026-02-07") + "- one\n")
    edit(days, CURRENT, header("2026-02-07") + "- one\n- by hand\n")

    done = rotate(days)

    assert [each.path for each in done.captured] == [CURRENT]
    assert text(days, "sessions/2026-02-07.md") == header("2026-02-07") + "- one\n- by hand\n"
    assert text(days) == header("2026-02-08")
    assert_in_order(days)


def test_a_log_that_somebody_renamed_by_hand_keeps_its_history(days: Group, clock: Clock) -> None:
    log_is(days, header("2026-02-07") + "- one\n- two\n")
    where = days.worktree / "sessions"
    (where / "current.md").rename(where / "2026-02-07.md")

    done = rotate(days)

    assert (done.rotated, done.created) == ((), (CURRENT,))
    assert [each.moved_from for each in done.captured] == [CURRENT]
    assert text(days) == header("2026-02-08")


def test_only_the_move_is_enough_to_go_on_from(days: Group) -> None:
    log_is(days, header("2026-02-07") + "- one\n")
    by_hand(days, "mv", CURRENT, "sessions/2026-02-07.md")
    by_hand(days, "commit", "-qm", "only the move")

    done = rotate(days)

    assert (done.rotated, done.created) == ((), (CURRENT,))
    assert text(days) == header("2026-02-08")
    assert past(days) == ["2026-02-07.md"]


def test_notes_of_today_that_lost_their_header_get_it_back(days: Group, clock: Clock) -> None:
    log_is(days, header("2026-02-07") + "- one\n")
    rotate(days)
    edit(days, CURRENT, "- an agent began anew\n")

    done = rotate(days)

    assert (done.rotated, done.created, done.headed) == ((), (), (CURRENT,))
    assert text(days) == header("2026-02-08") + "- an agent began anew\n"
    assert past(days) == ["2026-02-07.md"]
    assert not rotate(days).changed
    assert_in_order(days)


def test_also_when_the_log_was_deleted_and_made_anew(days: Group) -> None:
    rotate(days)
    (days.worktree / CURRENT).unlink()
    capture(days)
    edit(days, CURRENT, "- made anew\n")
    capture(days)

    assert rotate(days).headed == (CURRENT,)
    assert text(days) == header("2026-02-08") + "- made anew\n"


def test_the_next_day_notes_without_header_go_to_their_own_day(days: Group, clock: Clock) -> None:
    rotate(days)
    edit(days, CURRENT, "- made anew\n")
    capture(days)
    clock.set("2026-02-09T12:00:00Z")

    assert rotate(days).rotated == ((CURRENT, "sessions/2026-02-08.md"),)


def test_a_secret_in_the_log_is_set_aside_and_stays_out_of_git(days: Group) -> None:
    log_is(days, header("2026-02-07") + "- one\n")
    edit(days, CURRENT, header("2026-02-07") + f"- {SECRET}\n")

    done = rotate(days)

    assert done.rotated == ((CURRENT, "sessions/2026-02-07.md"),)
    assert [each.path for each in done.set_aside] == [CURRENT]
    assert text(days, "sessions/2026-02-07.md") == header("2026-02-07") + "- one\n"
    assert SECRET not in git(days.gitdir, "cat-file", "--batch-all-objects", "--batch")


def test_what_was_allowed_in_once_is_not_judged_again(days: Group) -> None:
    content = header("2026-02-07") + f"- {SECRET}\n"
    write(days, [Edit(CURRENT, content)], allowed=Allowed(("aws-key-id",)))

    assert rotate(days).rotated
    assert text(days, "sessions/2026-02-07.md") == content


def test_an_edit_is_dated_by_when_it_was_made_and_not_by_when_it_was_found(
    days: Group, clock: Clock
) -> None:
    file = edit(days, CURRENT, "- no header, of the third\n")
    then = datetime(2026, 2, 3, 12, tzinfo=UTC).timestamp()
    os.utime(file, (then, then))

    assert rotate(days).rotated == ((CURRENT, "sessions/2026-02-03.md"),)


def test_a_rotation_can_be_taken_back(days: Group, clock: Clock) -> None:
    content = header("2026-02-07") + "- one\n"
    log_is(days, content)
    rotate(days)

    undo(days, last=2)

    assert (text(days), past(days)) == (content, [])
    assert rotate(days).rotated


def test_a_group_without_a_log_has_nothing_to_do(group: Group) -> None:
    before = group.repository.tip()

    assert rotate(group) == Rotated(before, date(2026, 2, 8), ())


def test_every_log_of_a_layout_rotates(group: Group) -> None:
    put(
        group,
        "gitmem.yaml",
        "gitmem: 1\ntimezone: UTC\nlayers:\n"
        "  a: {kind: log, path: a/now.md, rotated: 'a/{date}.md', header: '# A {date}'}\n"
        "  b: {kind: log, path: b.txt, rotated: 'b/{date}', header: '{date}'}\n",
    )
    put(group, "a/now.md", "# A 2026-02-01\n")
    put(group, "b.txt", "2026-02-02\n")

    done = rotate(group)

    assert done.rotated == (("a/now.md", "a/2026-02-01.md"), ("b.txt", "b/2026-02-02"))
    assert (text(group, "a/now.md"), text(group, "b.txt")) == (
        "# A 2026-02-08\n\n",
        "2026-02-08\n\n",
    )
    assert not rotate(group).changed


def test_a_log_whose_layout_knows_no_header_is_of_the_day_it_was_begun(
    group: Group, clock: Clock
) -> None:
    layout = "layers:\n  a: {kind: log, path: now.md, rotated: 'old/{date}.md'}\n"
    put(group, "gitmem.yaml", f"gitmem: 1\ntimezone: UTC\n{layout}")
    put(group, "now.md", "- one\n")
    assert not rotate(group).changed
    clock.set("2026-02-09T00:10:00Z")
    put(group, "now.md", "- one\n- after midnight\n")

    assert rotate(group).rotated == (("now.md", "old/2026-02-08.md"),)
    assert text(group, "now.md") == ""
    assert not rotate(group).changed


Deed = Callable[[Path], None]
RACES: dict[str, Deed] = {
    "append": lambda path: path.write_text(path.read_text() + "- meanwhile\n"),
    "replace": lambda path: path.write_text("- meanwhile\n"),
    "recreate": lambda path: (path.unlink(), path.write_text("- meanwhile\n"))[0],
    "insert": lambda path: path.write_text(
        path.read_text().replace("\n\n", "\n\n- meanwhile\n", 1)
    ),
}


@pytest.mark.parametrize("step", ["recorded", "branch", "placed", "dropped"])
@pytest.mark.parametrize("deed", RACES)
def test_what_an_agent_does_meanwhile_stands_under_the_new_header(
    days: Group, monkeypatch: pytest.MonkeyPatch, deed: str, step: str
) -> None:
    log_is(days, header("2026-02-07") + "- one\n- two\n")
    waiting = [step]

    def reached(point: str) -> None:
        if waiting and point == waiting[0]:
            waiting.clear()
            RACES[deed](days.worktree / CURRENT)

    monkeypatch.setattr(gitmem.store.fault_points, "reached", reached)
    rotate(days)
    capture(days)
    rotate(days)

    assert not waiting
    said = [line for line in (text(days) or "").splitlines() if line]
    assert said == ["# Session Log: 2026-02-08", "- meanwhile"]
    assert text(days, "sessions/2026-02-07.md") == header("2026-02-07") + "- one\n- two\n"
    if deed == "append":  # it added to what it had seen, and that is all that was asked
        assert not any(each.violations for each in log(days))
    assert_in_order(days)


def test_a_person_who_commits_meanwhile_makes_it_planned_anew(
    days: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_is(days, header("2026-02-07") + "- one\n")
    waiting = ["objects"]

    def reached(point: str) -> None:
        if waiting and point == waiting[0]:
            waiting.clear()
            edit(days, "sessions/2026-02-07.md", "by hand\n")
            by_hand(days, "add", "sessions/2026-02-07.md")
            by_hand(days, "commit", "-qm", "meanwhile")

    monkeypatch.setattr(gitmem.store.fault_points, "reached", reached)
    done = rotate(days)

    assert not waiting
    assert done.rotated == ((CURRENT, "sessions/2026-02-07-1.md"),)
    assert text(days, "sessions/2026-02-07-1.md") == header("2026-02-07") + "- one\n"
    assert text(days, "sessions/2026-02-07.md") == "by hand\n"
    assert text(days) == header("2026-02-08")
    assert_in_order(days)


def test_a_person_who_rotates_meanwhile_leaves_nothing_to_do(
    days: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_is(days, header("2026-02-07") + "- one\n")
    waiting = ["objects"]

    def reached(point: str) -> None:
        if waiting and point == waiting[0]:
            waiting.clear()
            by_hand(days, "mv", CURRENT, "sessions/old.md")
            edit(days, CURRENT, header("2026-02-08") + "- by hand\n")
            by_hand(days, "add", ".")
            by_hand(days, "commit", "-qm", "meanwhile")

    monkeypatch.setattr(gitmem.store.fault_points, "reached", reached)
    done = rotate(days)

    assert not waiting
    assert not done.changed
    assert (past(days), text(days)) == (["old.md"], header("2026-02-08") + "- by hand\n")


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_may_not_enter_git_makes_room_for_the_fresh_log(days: Group, kind: str) -> None:
    content = header("2026-02-07") + "- one\n"
    log_is(days, content)
    place = days.worktree / CURRENT
    place.unlink()
    place.symlink_to("/etc/hostname") if kind == "link" else os.mkfifo(place)

    done = rotate(days)

    assert done.rotated == ((CURRENT, "sessions/2026-02-07.md"),)
    assert text(days, "sessions/2026-02-07.md") == content
    assert [each.path for each in done.set_aside] == [CURRENT]
    assert text(days) == place.read_text() == header("2026-02-08")


def test_a_folder_in_the_place_of_the_log_is_an_error_that_loses_nothing(days: Group) -> None:
    log_is(days, header("2026-02-07") + "- one\n")
    place = days.worktree / CURRENT
    place.unlink()
    place.mkdir()
    (place / "inside.md").write_text("inside\n")

    with pytest.raises(PathRefused, match="is a folder"):
        rotate(days)
    assert text(days, f"{CURRENT}/inside.md") == "inside\n"


def test_an_editor_that_saves_yesterdays_text_over_the_fresh_log_loses_nothing(days: Group) -> None:
    log_is(days, header("2026-02-07") + "- one\n")
    rotate(days)
    edit(days, CURRENT, header("2026-02-07") + "- one\n- from an old buffer\n")

    done = rotate(days)

    assert done.rotated == ((CURRENT, "sessions/2026-02-07-1.md"),)
    assert "- from an old buffer\n" in (text(days, "sessions/2026-02-07-1.md") or "")
    assert text(days) == header("2026-02-08")


LINES = st.lists(
    st.sampled_from(
        ["- a", "- b", "", "# Session Log: 2026-02-07", "# Session Log: 2026-02-08", "x"]
    )
    | st.text("ab #\t", max_size=5)
)
DEEDS = st.lists(
    st.tuples(st.sampled_from(["write", "edit", "append", "rotate", "delete", "day"]), LINES),
    max_size=8,
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(deeds=DEEDS)
def test_rotation_conserves_every_line_and_adds_only_headers(
    tmp_path: Path, deeds: list[tuple[str, list[str]]]
) -> None:
    clock = Clock()
    store = Store(tmp_path / f"{random.getrandbits(64):x}")
    init(store, "main", now=clock)
    group = Group(store, "main", now=clock)
    with_log(group)
    for deed, lines in deeds:
        content = "".join(f"{line}\n" for line in lines)
        if deed == "write":
            log_is(group, content)
        elif deed == "edit":
            edit(group, CURRENT, content)
        elif deed == "append" and (group.worktree / CURRENT).exists():
            edit(group, CURRENT, (group.worktree / CURRENT).read_text() + content)
        elif deed == "delete":
            (group.worktree / CURRENT).unlink(missing_ok=True)
        elif deed == "day":
            clock.advance(days=1)
        else:
            assert_conserved(group)
    assert_conserved(group)
    group.close()


def assert_conserved(group: Group) -> None:
    capture(group)
    before = said_lines(group.repository)

    done = rotate(group)

    added = Counter([f"# Session Log: {done.today}".encode()] if done.changed else [])
    assert said_lines(group.repository) == before + added
    assert header_day(LAYER, group.repository.snapshot().read(CURRENT) or b"") == done.today
    assert_in_order(group)
