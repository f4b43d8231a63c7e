"""A week or a month gets its page, its sources retire as they are, and all of it can be undone."""

from __future__ import annotations

import shutil
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gitmem.store.fault_points
from gitmem.errors import BadInput, Conflict, GitmemError, NotFound, SecretFound, TooBig
from gitmem.memory.admin.init import init
from gitmem.memory.context.inject import inject
from gitmem.memory.group import Group, Store
from gitmem.memory.read.log import log
from gitmem.memory.recover.undo import undo
from gitmem.memory.upkeep.rollup import RolledUp, rollup
from gitmem.memory.upkeep.rollups_due import RollupsDue, rollups_due
from gitmem.model.text.plain_frontmatter import read_fields
from tests.support.clocks import Clock
from tests.support.days import blamed
from tests.support.git import git
from tests.support.histories import by_hand, edit, put, truncate
from tests.support.samples import body

SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)
LAYOUT = """\
gitmem: 1
timezone: {zone}
layers:
  diary:
    kind: journal
    path: diary/{{date}}.md
    load: recent 3
    render: summary
    rollup: keep
  episodes:
    kind: journal
    path: episodes/{{date}}.md
    load: recent 5
    render: summary
    rollup: move
  plain:
    kind: journal
    path: plain/{{date}}.md
"""
WEEK = "2026-W06"
DAYS = ("2026-02-03", "2026-02-05", "2026-02-08")


def laid_out(group: Group, zone: str = "UTC", more: str = "") -> None:
    put(group, "gitmem.yaml", LAYOUT.format(zone=zone) + more)


def said(day: str) -> str:
    return f"---\nsummary: on {day}\n---\nIt was {day}.\n"


@pytest.fixture
def weeks(group: Group, clock: Clock) -> Group:
    """Three days of a week that is over, in both journals."""
    laid_out(group)
    for day in DAYS:
        put(group, f"episodes/{day}.md", said(day))
        put(group, f"diary/{day}.md", said(day))
    clock.set("2026-02-09T00:00:05Z")
    return group


def roll(group: Group, type: str = "week", period: str = WEEK, **more: str) -> RolledUp:
    text = more.pop("text", f"What {period} was about.\n")
    return rollup(group, type, period, text, summary=more.pop("summary", f"In {period}"), **more)  # type: ignore[arg-type]


def files(group: Group, under: str = "") -> dict[str, bytes]:
    snapshot = group.repository.snapshot()
    return {path: snapshot.read(path) or b"" for path, _ in snapshot.files(under)}


def names(group: Group, folder: str) -> list[str]:
    return sorted(group.repository.snapshot().folder(folder))


def due(found: RollupsDue) -> list[tuple[str, str]]:
    return [(each.layer, each.period) for each in found.due]


def assert_in_order(group: Group) -> None:
    assert git(group.worktree, "status", "--porcelain", "--untracked-files=all") == ""
    assert git(group.gitdir, "fsck", "--strict", "--no-dangling") == ""


def test_the_page_of_a_week_is_written_and_its_days_go_to_the_archive(weeks: Group) -> None:
    before = files(weeks)

    done = roll(weeks)

    assert (done.outcome, done.layer, done.path) == ("written", "episodes", "episodes/2026-W06.md")
    assert done.sources == DAYS
    assert names(weeks, "episodes") == ["2026-W06.md"]
    for day in DAYS:
        assert files(weeks)[f"archive/episodes/{day}.md"] == before[f"episodes/{day}.md"]
    page = (weeks.worktree / done.path).read_text()
    assert page.endswith("---\nWhat 2026-W06 was about.\n")
    assert read_fields(page) == {
        "summary": "In 2026-W06",
        "date": date(2026, 2, 8),
        "type": "week",
        "period": "2026-W06",
        "sources": list(DAYS),
    }
    assert_in_order(weeks)


def test_it_is_one_commit_that_names_every_source(weeks: Group) -> None:
    before = weeks.repository.tip()

    done = roll(weeks, reason="a new week")

    (entry, *_) = log(weeks, limit=1)
    assert (entry.commit, entry.op, entry.reason) == (done.commit, "rollup", "a new week")
    assert git(weeks.gitdir, "rev-parse", f"{done.commit}^").strip() == before
    shown = git(weeks.gitdir, "log", "-1", "--format=%s%n%(trailers:key=Gitmem-From,valueonly)")
    assert shown.split("\n")[0] == "rollup(episodes/2026-W06.md): In 2026-W06"
    assert shown.split("\n")[1:4] == [f"episodes/{day}.md" for day in DAYS]


def test_plain_blame_and_log_follow_go_on_behind_it(weeks: Group, clock: Clock) -> None:
    clock.set("2026-02-10T10:00:00Z")
    roll(weeks)

    for day in DAYS:
        path = f"archive/episodes/{day}.md"
        found = git(weeks.worktree, "log", "--follow", "--format=%s", "--", path).splitlines()
        assert [each.partition("(")[0] for each in found] == ["rollup", "write"]
        assert {when for when, _ in blamed(weeks.worktree, path)} == {"2026-02-08"}


def test_a_diary_keeps_its_days(weeks: Group) -> None:
    before = files(weeks, "diary")

    done = roll(weeks, layer="diary")

    assert (done.path, done.moved, done.sources) == ("diary/week/2026-W06.md", (), DAYS)
    assert before.items() <= files(weeks, "diary").items()
    assert names(weeks, "archive") == []
    assert due(rollups_due(weeks)) == [("episodes", WEEK)]
    assert_in_order(weeks)


def test_a_prompt_shows_the_week_of_episodes_and_only_the_days_of_a_diary(weeks: Group) -> None:
    roll(weeks)
    roll(weeks, layer="diary")

    shown = inject(weeks).text

    assert shown.count("In 2026-W06") == 1
    assert 'type="week"' in shown
    assert [shown.count(f"on {day}") for day in DAYS] == [1, 1, 1]


def test_a_month_sums_up_its_weeks_and_the_days_that_none_of_them_names(
    weeks: Group, clock: Clock
) -> None:
    roll(weeks)
    put(weeks, "episodes/2026-02-04.md", said("2026-02-04"))  # late for its week
    put(weeks, "episodes/2026-02-01.md", said("2026-02-01"))  # of a week of January
    put(weeks, "episodes/2026-03-01.md", said("2026-03-01"))  # of a week of February
    clock.set("2026-03-02T09:00:00Z")
    roll(weeks, period="2026-W09")

    done = roll(weeks, "month", "2026-02")

    assert done.sources == ("2026-02-04", "2026-W06", "2026-W09")
    assert names(weeks, "episodes") == ["2026-02-01.md", "2026-02.md"]
    assert names(weeks, "archive/episodes") == [
        "2026-02-03.md", "2026-02-04.md", "2026-02-05.md", "2026-02-08.md", "2026-03-01.md",
        "2026-W06.md", "2026-W09.md",
    ]  # fmt: skip
    assert read_fields(files(weeks)["episodes/2026-02.md"].decode())["date"] == date(2026, 2, 28)


def test_a_month_of_a_diary_names_its_weeks_and_is_not_due_again(
    weeks: Group, clock: Clock
) -> None:
    roll(weeks, layer="diary")
    clock.set("2026-03-02T09:00:00Z")
    put(weeks, "diary/2026-02-06.md", said("2026-02-06"))

    done = roll(weeks, "month", "2026-02", layer="diary")

    assert (done.path, done.sources) == ("diary/month/2026-02.md", ("2026-02-06", "2026-W06"))
    found = rollups_due(weeks, layer="diary")
    assert (found.due, found.late, found.waiting) == ((), (), ())


def test_undo_brings_all_sources_back_with_their_history(weeks: Group) -> None:
    before = files(weeks)
    roll(weeks)

    done = undo(weeks)

    assert done.left == ()
    assert files(weeks) == before
    assert {path: (weeks.worktree / path).read_bytes() for path in before} == before
    assert due(rollups_due(weeks)) == [("diary", WEEK), ("episodes", WEEK)]
    found = git(
        weeks.worktree, "log", "--follow", "--format=%s", "--", f"episodes/{DAYS[0]}.md"
    ).splitlines()
    assert [each.partition("(")[0] for each in found] == ["undo", "rollup", "write"]
    assert roll(weeks).outcome == "written"
    assert_in_order(weeks)


def test_undo_brings_back_pages_that_are_alike_and_pages_that_are_empty(weeks: Group) -> None:
    for name in ("2026-02-06", "2026-02-06-2", "2026-02-07", "2026-02-07-2"):
        put(weeks, f"episodes/{name}.md", "the same\n" if "06" in name else "")
    before = files(weeks)
    roll(weeks)

    assert undo(weeks).left == ()
    assert files(weeks) == before


def test_names_that_the_archive_has_get_a_number(weeks: Group) -> None:
    put(weeks, "archive/episodes/2026-02-03.md", "older\n")
    put(weeks, "episodes/2026-02-03-2.md", said("2026-02-03, evening"))

    done = roll(weeks)

    targets = [new.rpartition("/")[2] for _, new in done.moved]
    assert targets[:2] == ["2026-02-03-2.md", "2026-02-03-2-2.md"]
    assert len(set(targets)) == 4
    found = files(weeks, "archive/episodes")
    assert found["archive/episodes/2026-02-03.md"] == b"older\n"
    assert found["archive/episodes/2026-02-03-2.md"].decode() == said("2026-02-03")


def test_an_edit_that_lies_around_comes_along(weeks: Group) -> None:
    edit(weeks, "episodes/2026-02-03.md", said("2026-02-03") + "By hand.\n")
    edit(weeks, "episodes/2026-02-07.md", "new, by hand\n")
    (weeks.worktree / "episodes/2026-02-05.md").unlink()

    done = roll(weeks)

    assert done.sources == ("2026-02-03", "2026-02-07", "2026-02-08")
    assert {each.path for each in done.captured} == {
        f"episodes/2026-02-0{day}.md" for day in (3, 5, 7)
    }
    assert b"By hand." in files(weeks)["archive/episodes/2026-02-03.md"]
    assert_in_order(weeks)


def test_an_edit_that_may_not_enter_git_is_not_lost(weeks: Group) -> None:
    text = f"key {SECRET}\n"
    edit(weeks, "episodes/2026-02-03.md", text)

    done = roll(weeks)

    (aside,) = done.set_aside
    kept = (weeks.gitdir / "gitmem/held").rglob("content")
    assert [each.read_text() for each in kept] == [text]
    assert aside.path == "episodes/2026-02-03.md"
    assert SECRET.encode() not in b"".join(files(weeks).values())


def refused(group: Group, kind: type[GitmemError], *args: str, **more: str) -> GitmemError:
    """The error of a roll-up that changes nothing at all."""
    before = group.repository.tip()
    with pytest.raises(kind) as caught:
        roll(group, *args, **more)
    assert group.repository.tip() == before
    assert_in_order(group)
    return caught.value


def test_a_period_that_has_its_summary_is_left_alone(weeks: Group) -> None:
    roll(weeks)
    put(weeks, "episodes/2026-02-04.md", said("2026-02-04"))

    error = refused(weeks, Conflict)

    assert (error.facts["outcome"], error.facts["path"]) == ("exists", "episodes/2026-W06.md")
    assert "memory.write('episodes/2026-W06.md'" in error.hint


def test_a_summary_that_nobody_has_captured_yet_counts(weeks: Group) -> None:
    edit(weeks, "episodes/2026-W06.md", "by hand\n")

    with pytest.raises(Conflict, match="has a summary already"):
        roll(weeks)

    assert (weeks.worktree / "episodes/2026-W06.md").read_text() == "by hand\n"
    assert names(weeks, "archive") == []


def test_a_summary_that_stands_among_the_days_of_a_diary_counts(weeks: Group) -> None:
    put(weeks, "diary/2026-W06.md", "---\nsources: [2026-02-03]\n---\nby hand\n")

    error = refused(weeks, Conflict, layer="diary")

    assert (error.facts["outcome"], error.facts["path"]) == ("exists", "diary/2026-W06.md")
    assert due(rollups_due(weeks)) == [("episodes", WEEK)]


def test_a_period_without_pages_is_told(weeks: Group) -> None:
    error = refused(weeks, NotFound, "week", "2026-W04")

    assert error.facts["outcome"] == "no-sources"


def test_a_week_that_went_into_its_month_says_where_it_is(weeks: Group, clock: Clock) -> None:
    roll(weeks)
    clock.set("2026-03-02T09:00:00Z")
    roll(weeks, "month", "2026-02")

    error = refused(weeks, NotFound)

    assert "archive/episodes/2026-W06.md" in error.message


@pytest.mark.parametrize(
    ("now", "zone", "over"),
    [
        ("2026-02-08T23:59:50Z", "UTC", False),
        ("2026-02-09T00:00:00Z", "UTC", True),
        ("2026-02-08T09:59:50Z", "Pacific/Kiritimati", False),  # UTC+14
        ("2026-02-08T10:00:00Z", "Pacific/Kiritimati", True),
        ("2026-02-09T10:59:50Z", "Pacific/Pago_Pago", False),  # UTC-11
        ("2026-02-09T11:00:00Z", "Pacific/Pago_Pago", True),
    ],
)
def test_a_week_is_over_at_midnight_in_the_zone_of_the_group(
    weeks: Group, clock: Clock, now: str, zone: str, over: bool
) -> None:
    laid_out(weeks, zone)
    clock.set(now)

    assert (("episodes", WEEK) in due(rollups_due(weeks))) is over
    if over:
        assert roll(weeks).outcome == "written"
    else:
        error = refused(weeks, Conflict)
        assert (error.facts["outcome"], error.facts["last"]) == ("not-over", "2026-02-08")


@pytest.mark.parametrize(
    ("type", "period", "days", "last"),
    [
        (
            "week",
            "2026-W53",
            ["2026-12-28", "2026-12-31", "2027-01-01", "2027-01-03"],
            "2027-01-03",
        ),
        ("week", "2027-W01", ["2027-01-04", "2027-01-10"], "2027-01-10"),
        ("week", "2028-W09", ["2028-02-28", "2028-02-29", "2028-03-05"], "2028-03-05"),
        ("month", "2026-12", ["2026-12-07", "2026-12-31", "2027-01-03"], "2027-01-03"),
        ("month", "2028-02", ["2028-02-07", "2028-02-29", "2028-03-05"], "2028-03-05"),
    ],
)
def test_years_and_leap_days_to_the_day(
    group: Group, clock: Clock, *, type: str, period: str, days: list[str], last: str
) -> None:
    laid_out(group)
    around = [date.fromisoformat(days[0]) - timedelta(1), date.fromisoformat(last) + timedelta(1)]
    for day in (*days, *map(str, around)):
        put(group, f"episodes/{day}.md", said(day))
    clock.set(f"{last}T23:59:00Z")
    refused(group, Conflict, type, period)
    clock.set(f"{around[1]}T00:00:00Z")

    assert list(roll(group, type, period).sources) == days
    assert names(group, "episodes") == sorted([f"{each}.md" for each in around] + [f"{period}.md"])


def test_other_pages_than_those_somebody_has_seen_are_a_conflict(weeks: Group) -> None:
    (_, seen) = rollups_due(weeks).due
    put(weeks, "episodes/2026-02-04.md", said("2026-02-04"))

    error = refused(weeks, Conflict, if_match=seen.if_match)

    assert "rollups_due()" in error.hint
    (_, now) = rollups_due(weeks).due
    assert roll(weeks, if_match=now.if_match).outcome == "written"


def test_another_version_of_a_page_is_a_conflict_too(weeks: Group) -> None:
    (_, seen) = rollups_due(weeks).due
    edit(weeks, "episodes/2026-02-05.md", said("2026-02-05") + "More.\n")

    with pytest.raises(Conflict):
        roll(weeks, if_match=seen.if_match)
    assert names(weeks, "archive") == []


def test_a_retry_with_the_same_id_is_recognised(weeks: Group) -> None:
    first = roll(weeks, operation="job-1")

    again = roll(weeks, operation="job-1")

    assert again.recognised
    assert again == first._replace(recognised=True)
    assert roll(weeks, layer="diary", operation="job-2").recognised is False
    assert roll(weeks, layer="diary", operation="job-2").sources == DAYS
    error = refused(weeks, Conflict, text="another text", operation="job-1")
    assert "job-1" in error.message


def test_a_dry_run_says_all_of_it_and_does_nothing(weeks: Group) -> None:
    before, head = files(weeks), weeks.repository.tip()

    done = rollup(weeks, "week", WEEK, "text", summary="s", dry_run=True)

    assert (done.outcome, done.dry_run, done.commit) == ("ready", True, head)
    assert [old for old, _ in done.moved] == [f"episodes/{day}.md" for day in DAYS]
    assert (files(weeks), weeks.repository.tip()) == (before, head)


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"summary": " \n "}, BadInput),
        ({"text": "  \n"}, BadInput),
        ({"text": "half a \ud800 character"}, BadInput),
        ({"period": "2026-07"}, BadInput),
        ({"type": "day", "period": "2026-02-03"}, BadInput),
        ({"layer": "nothing"}, BadInput),
        ({"layer": "plain"}, BadInput),
        ({"text": f"the key is {SECRET}"}, SecretFound),
        ({"summary": f"the key is {SECRET}"}, SecretFound),
        ({"reason": f"the key is {SECRET}"}, SecretFound),
        ({"operation": SECRET}, SecretFound),
        ({"text": "x" * (1024 * 1024)}, TooBig),
        ({"text": "---\na: [\n---\nbroken\n"}, GitmemError),
        ({"if_match": "0123456789ab"}, Conflict),
    ],
)
def test_bad_input_is_refused_and_nothing_moves(
    weeks: Group, more: dict[str, str], kind: type[GitmemError]
) -> None:
    error = refused(weeks, kind, **more)

    assert error.hint or kind is BadInput
    assert SECRET not in f"{error} {error.hint} {error.facts}"


def test_a_page_that_cannot_be_read_stops_it(weeks: Group) -> None:
    truncate(weeks.repository, weeks.repository.snapshot().oid("episodes/2026-02-05.md") or "")
    before = weeks.repository.tip()

    (_, found) = rollups_due(weeks).due
    assert [each.readable for each in found.sources] == [True, False, True]
    with pytest.raises(GitmemError):
        roll(weeks)
    assert weeks.repository.tip() == before


def test_without_a_layer_that_is_rolled_up_it_says_what_to_write(group: Group) -> None:
    put(group, "gitmem.yaml", "gitmem: 1\n")

    assert rollups_due(group).layers == ()
    error = refused(group, BadInput, "week", "2026-W05")
    assert "rollup: move" in error.hint


def test_several_layers_that_move_have_to_be_named(weeks: Group) -> None:
    more = "  more:\n    kind: journal\n    path: more/{date}.md\n    rollup: move\n"
    laid_out(weeks, more=more)

    error = refused(weeks, BadInput)

    assert "episodes" in error.hint
    assert roll(weeks, layer="episodes").outcome == "written"


def test_the_layer_decides_where_pages_retire_and_its_policy_does_not_stop_them(
    weeks: Group,
) -> None:
    layout = LAYOUT.format(zone="UTC").replace(
        "    rollup: move\n", "    rollup: move\n    archive: attic/old\n    policy: write-once\n"
    )
    put(weeks, "gitmem.yaml", layout)

    roll(weeks)

    assert len(names(weeks, "attic/old/episodes")) == 3


def test_a_name_that_comes_again_after_its_week_was_rolled_up_is_not_forgotten(
    weeks: Group, clock: Clock
) -> None:
    roll(weeks)
    put(weeks, "episodes/2026-02-03.md", "told later\n")
    clock.set("2026-03-02T09:00:00Z")

    (found,) = rollups_due(weeks, layer="episodes").due

    assert [each.path for each in found.sources] == [
        "episodes/2026-02-03.md",
        "episodes/2026-W06.md",
    ]
    roll(weeks, "month", "2026-02")
    assert files(weeks)["archive/episodes/2026-02-03-2.md"] == b"told later\n"
    put(weeks, "episodes/2026-02-05.md", "even later\n")
    assert due(rollups_due(weeks, layer="episodes")) == [("episodes", WEEK)]
    roll(weeks)
    (late,) = rollups_due(weeks).late
    assert (late.path, late.summary) == ("episodes/2026-W06.md", "episodes/2026-02.md")


def test_pages_of_a_folder_that_was_adopted_with_days_weeks_and_months_are_not_due(
    group: Group, clock: Clock
) -> None:
    """As arizuko leaves them: nothing was moved, and the lists have names with endings."""
    laid_out(group)
    put(group, "episodes/20260203.md", said("2026-02-03"))
    put(group, "episodes/2026-W06.md", "---\ntype: week\nsources: [20260203.md]\n---\nw\n")
    put(group, "episodes/2026-02.md", "---\nsources:\n- 2026-W06.md\n---\nm\n")
    clock.set("2026-03-02T09:00:00Z")

    found = rollups_due(group)

    assert (found.due, found.late, found.waiting, found.undated) == ((), (), (), ())


def test_pages_without_a_date_in_their_name_count_by_their_frontmatter(weeks: Group) -> None:
    put(weeks, "episodes/kick-off.md", "---\ndate: 2026-02-06\n---\nbegan\n")
    put(weeks, "episodes/notes.md", "no date at all\n")

    found = rollups_due(weeks, layer="episodes")

    assert found.undated == ("episodes/notes.md",)
    assert roll(weeks).sources == ("2026-02-03", "2026-02-05", "kick-off", "2026-02-08")
    assert names(weeks, "episodes") == ["2026-W06.md", "notes.md"]


def test_what_is_due_has_the_texts_for_a_model(weeks: Group) -> None:
    found = rollups_due(weeks, layer="episodes")

    (week,) = found.due
    assert (week.type, week.period, week.target) == ("week", WEEK, "episodes/2026-W06.md")
    assert (week.first, week.last) == (date(2026, 2, 2), date(2026, 2, 8))
    first = week.sources[0]
    assert (first.path, first.date, first.type, first.summary) == (
        "episodes/2026-02-03.md",
        "2026-02-03",
        "day",
        "on 2026-02-03",
    )
    assert first.text == said("2026-02-03").rstrip()
    bare = rollups_due(weeks, layer="episodes", texts=False).due[0].sources[0]
    assert (bare.text, bare.summary) == (None, "on 2026-02-03")


def test_to_ask_what_is_due_changes_nothing(weeks: Group) -> None:
    edit(weeks, "episodes/2026-02-04.md", "not captured\n")
    before = weeks.repository.tip()

    assert len(rollups_due(weeks, layer="episodes").due[0].sources) == 3
    assert weeks.repository.tip() == before
    assert git(weeks.worktree, "status", "--porcelain") == "?? episodes/2026-02-04.md\n"


def test_a_commit_by_hand_in_between_is_planned_anew(
    weeks: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page of another day lands after the plan was made and before the branch moves."""
    times = iter([True])

    def reached(step: str) -> None:
        if step == "objects" and next(times, False):
            edit(weeks, "episodes/2026-02-06.md", "by a person\n")
            by_hand(weeks, "add", "episodes/2026-02-06.md")
            by_hand(weeks, "commit", "-qm", "by a person")

    monkeypatch.setattr(gitmem.store.fault_points, "reached", reached)

    done = roll(weeks)

    assert "2026-02-06" in done.sources
    assert files(weeks)["archive/episodes/2026-02-06.md"] == b"by a person\n"


@settings(
    max_examples=8,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.sets(st.integers(0, 70), min_size=1, max_size=10),
    st.integers(20, 90),
    st.sampled_from(["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"]),
)
def test_rolling_up_all_that_is_due_ends_and_keeps_every_byte(
    tmp_path: Path, days: set[int], now: int, zone: str
) -> None:
    root = tmp_path / "law"
    shutil.rmtree(root, ignore_errors=True)
    clock = Clock(datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(now))
    store = Store(root)
    init(store, "main", layout="none", now=clock)
    group = Group(store, "main", now=clock)
    laid_out(group, zone)
    for each in days:
        put(group, f"episodes/{date(2026, 1, 1) + timedelta(each)}.md", f"day {each}\n")
    before = files(group, "episodes")

    rounds = 0
    while found := rollups_due(group).due:
        roll(group, found[0].type, found[0].period, if_match=found[0].if_match)
        rounds += 1
        assert rounds <= 2 * len(days)

    here = {path.removeprefix("archive/"): data for path, data in files(group).items()}
    assert before.items() <= here.items()
    after = rollups_due(group)
    assert (after.waiting, after.late, after.undated) == ((), (), ())
    standing = [each for each in names(group, "episodes") if len(each) == len("2026-01-01.md")]
    this_week = clock.time.astimezone(group.zone).date()
    this_week -= timedelta(this_week.weekday())
    assert all(each[:10] >= f"{this_week}" for each in standing)
    group.close()
