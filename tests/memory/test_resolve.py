"""Which commit somebody means."""

from __future__ import annotations

import pytest

from gitmem.errors import BadInput, MomentNotFound
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store
from gitmem.memory.resolve import MomentAmbiguous, resolve
from gitmem.store.objects.database import ObjectDamaged, blob_id
from tests.support.clocks import Clock
from tests.support.histories import by_hand, lose, put, reopened, truncate


def test_no_moment_is_the_present(group: Group) -> None:
    last = put(group, "a.md", "one\n").commit

    assert resolve(group, None) == last


@pytest.mark.parametrize("name", ["HEAD", "@", "main", "refs/heads/main", " HEAD "])
def test_the_branch_has_names(group: Group, name: str) -> None:
    last = put(group, "a.md", "one\n").commit

    assert resolve(group, name) == last


def test_a_head_that_was_detached_by_hand_is_not_the_present(group: Group) -> None:
    first = put(group, "a.md", "one\n").commit
    last = put(group, "a.md", "two\n").commit
    by_hand(group, "checkout", "-q", "--detach", first)

    assert resolve(group, None) == resolve(group, "HEAD") == last


def test_a_commit_is_known_by_its_id_and_by_the_beginning_of_it(group: Group) -> None:
    first = put(group, "a.md", "one\n").commit
    put(group, "a.md", "two\n")

    assert resolve(group, first) == first
    assert resolve(group, first.upper()) == first
    assert resolve(group, first[:10]) == first


@pytest.mark.parametrize("steps", ["~1", "~", "^", "^1", "~2", "^^", "~1~1", "^~", "~0", "^0"])
def test_steps_back_are_what_git_takes(group: Group, steps: str) -> None:
    for text in ("one", "two", "three"):
        put(group, "a.md", f"{text}\n")

    assert resolve(group, f"HEAD{steps}") == by_hand(group, "rev-parse", f"HEAD{steps}")


def test_a_second_parent_can_be_named(group: Group) -> None:
    put(group, "a.md", "one\n")
    by_hand(group, "checkout", "-q", "-b", "side", "HEAD~1")
    by_hand(group, "commit", "-q", "--allow-empty", "-m", "aside")
    by_hand(group, "checkout", "-q", "main")
    by_hand(group, "merge", "-q", "--no-ff", "-m", "both", "side")

    assert resolve(group, "HEAD^2") == by_hand(group, "rev-parse", "side")


@pytest.mark.parametrize("at", ["HEAD~9", "HEAD^2", "HEAD~1^"])
def test_a_step_beyond_the_beginning_is_said(group: Group, at: str) -> None:
    put(group, "a.md", "one\n")

    with pytest.raises(MomentNotFound, match="there is nothing at"):
        resolve(group, at)


def test_a_date_is_the_last_commit_of_that_day(group: Group, clock: Clock) -> None:
    clock.set("2026-02-09T08:00:00+00:00")
    put(group, "a.md", "morning\n")
    clock.set("2026-02-09T23:59:50+00:00")
    evening = put(group, "a.md", "evening\n").commit
    clock.set("2026-02-10T00:00:10+00:00")
    put(group, "a.md", "next day\n")
    clock.set("2026-02-12T09:00:00+00:00")

    assert resolve(group, "2026-02-09") == evening
    assert resolve(group, "3 days ago") == evening
    assert resolve(group, "2026-02-09T23:59") == evening
    assert resolve(group, "yesterday") == resolve(group, None)
    assert resolve(group, "2026-02-09~1") == resolve(group, "2026-02-09T08:00")


def test_a_minute_holds_its_last_second(group: Group, clock: Clock) -> None:
    clock.set("2026-02-09T14:30:55+00:00")
    within = put(group, "a.md", "one\n").commit
    clock.set("2026-02-09T14:31:00+00:00")
    put(group, "a.md", "two\n")

    assert resolve(group, "2026-02-09T14:30") == within


def in_berlin(store: Store, group: Group) -> Group:
    (store.root / ".env").write_text("TZ=Europe/Berlin\n")
    return reopened(group)


def test_the_short_day_of_spring_ends_at_local_midnight(
    store: Store, group: Group, clock: Clock
) -> None:
    group = in_berlin(store, group)
    clock.set("2026-03-28T22:59:00+00:00")  # 23:59 in winter time
    saturday = put(group, "a.md", "saturday\n").commit
    clock.set("2026-03-29T21:59:00+00:00")  # 23:59 in summer time
    sunday = put(group, "a.md", "sunday\n").commit
    clock.set("2026-03-29T22:00:30+00:00")
    put(group, "a.md", "monday\n")

    assert resolve(group, "2026-03-28") == saturday
    assert resolve(group, "2026-03-29") == sunday
    # Between 2 and 3 the clocks jumped: nothing was recorded in that hour.
    assert resolve(group, "2026-03-29T02:30") == saturday


def test_the_hour_that_autumn_has_twice_is_one_interval(
    store: Store, group: Group, clock: Clock
) -> None:
    group = in_berlin(store, group)
    clock.set("2026-10-25T00:30:10+00:00")  # 02:30 the first time
    put(group, "a.md", "first\n")
    clock.set("2026-10-25T01:30:10+00:00")  # 02:30 the second time
    second = put(group, "a.md", "second\n").commit
    clock.set("2026-10-25T22:59:00+00:00")
    evening = put(group, "a.md", "evening\n").commit
    clock.set("2026-10-25T23:00:10+00:00")
    put(group, "a.md", "monday\n")

    assert resolve(group, "2026-10-25T02:30") == second
    assert resolve(group, "2026-10-25") == evening


def test_before_the_beginning_there_was_nothing(group: Group) -> None:
    with pytest.raises(MomentNotFound, match="no commit at") as caught:
        resolve(group, "2020-01-01")

    assert "begins at 2026-02-08" in caught.value.hint


def test_a_date_that_cannot_be_is_refused(group: Group) -> None:
    with pytest.raises(BadInput, match="no such moment"):
        resolve(group, "2026-02-30")


@pytest.mark.parametrize("annotated", [True, False])
@pytest.mark.parametrize("name", ["v1", "snapshot/2026-02-08", "täglich"])
def test_a_tag_is_a_moment(group: Group, name: str, annotated: bool) -> None:
    tagged = put(group, "a.md", "one\n").commit
    by_hand(group, "tag", *(["-a", "-m", "x"] if annotated else []), name)
    put(group, "a.md", "two\n")

    for spelled in (name, f"tags/{name}", f"refs/tags/{name}"):
        assert resolve(group, spelled) == tagged
    assert resolve(group, f"{name}~1") == by_hand(group, "rev-parse", f"{name}~1")


def test_a_tag_on_a_tag_is_followed(group: Group) -> None:
    tagged = put(group, "a.md", "one\n").commit
    by_hand(group, "tag", "-a", "-m", "x", "inner")
    by_hand(group, "tag", "-a", "-m", "x", "outer", "inner")
    by_hand(group, "gc", "-q")

    assert resolve(reopened(group), "outer") == tagged


def test_a_tag_that_looks_like_a_date_is_reached_by_its_full_name(group: Group) -> None:
    tagged = put(group, "a.md", "one\n").commit
    by_hand(group, "tag", "2020-01-01")
    put(group, "a.md", "two\n")

    assert resolve(group, "refs/tags/2020-01-01") == tagged


def test_a_tag_on_a_file_is_no_moment(group: Group) -> None:
    put(group, "a.md", "one\n")
    by_hand(group, "tag", "file", "HEAD:a.md")

    with pytest.raises(MomentNotFound, match="not on a commit"):
        resolve(group, "file")


@pytest.mark.parametrize(
    "at", ["", "  ", "nonsense", "no-such-tag", "abc", "beef" * 10, "feed", "../x", "a..b", "-x"]
)
def test_what_names_nothing_is_answered_with_the_forms_there_are(group: Group, at: str) -> None:
    with pytest.raises(MomentNotFound) as caught:
        resolve(group, at)

    assert "2026-02-08" in caught.value.hint


def test_the_id_of_a_file_is_no_moment(group: Group) -> None:
    blob = put(group, "a.md", "one\n").blob

    with pytest.raises(MomentNotFound, match="is not a commit"):
        resolve(group, blob)
    with pytest.raises(MomentNotFound, match=f"no commit {blob[:12]}"):
        resolve(group, blob[:12])


def commits_that_share(group: Group, digits: int) -> list[str]:
    """Write until two commits begin alike."""
    seen: dict[str, list[str]] = {}
    raw = group.repository.objects.read(resolve(group, None))[1]
    number = 0
    while True:
        number += 1
        oid = group.repository.objects.write("commit", raw + b"%d\n" % number)
        same = seen.setdefault(oid[:digits], [])
        same.append(oid)
        if len(same) > 1 and not is_like_a_date(oid[:digits]):
            return sorted(same)[:2]


def is_like_a_date(start: str) -> bool:
    """Whether the first digits of a commit also mean so many days ago, which comes first."""
    return start[:-1].isdecimal() and start.endswith("d")


@pytest.mark.parametrize("packed", [False, True])
def test_a_beginning_that_two_commits_share_names_both(group: Group, packed: bool) -> None:
    put(group, "a.md", "one\n")
    one, other = commits_that_share(group, 4)
    for name, oid in (("one", one), ("other", other)):
        by_hand(group, "tag", name, oid)
    if packed:
        by_hand(group, "gc", "-q")
    group = reopened(group)

    with pytest.raises(MomentAmbiguous) as caught:
        resolve(group, one[:4])

    candidates = caught.value.facts["candidates"]
    assert {one, other} == {each["commit"] for each in candidates}
    assert one[:12] in caught.value.message
    assert resolve(group, one[:20]) == one


@pytest.mark.parametrize("damaged", [False, True])
def test_a_file_that_begins_alike_does_not_make_a_commit_ambiguous(
    group: Group, damaged: bool
) -> None:
    commit = put(group, "a.md", "one\n").commit
    while is_like_a_date(commit[:4]):
        commit = put(group, "a.md", commit).commit
    number = 0
    while not blob_id(b"%d" % number).startswith(commit[:4]):
        number += 1
    blob = group.repository.objects.write("blob", b"%d" % number)
    if damaged:
        truncate(group.repository, blob)

    assert resolve(reopened(group), commit[:4]) == commit


def test_a_damaged_commit_is_said_to_be_damaged(group: Group) -> None:
    commit = put(group, "a.md", "one\n").commit
    truncate(group.repository, commit)

    for at in (commit, commit[:12], "HEAD~1"):
        with pytest.raises(ObjectDamaged) as caught:
            resolve(reopened(group), at)
        assert "check --repair" in caught.value.hint


def test_a_tag_whose_commit_is_lost_is_said_to_be_damaged(group: Group) -> None:
    commit = put(group, "a.md", "one\n").commit
    by_hand(group, "tag", "-a", "-m", "x", "v1")
    tag = by_hand(group, "rev-parse", "v1")
    lose(group.repository, commit)

    for at in ("v1", tag):
        with pytest.raises(ObjectDamaged):
            resolve(reopened(group), at)


def test_the_commits_of_another_group_are_unknown_here(
    store: Store, group: Group, clock: Clock
) -> None:
    init(store, "other", now=clock)
    other = Group(store, "other", now=clock)
    foreign = put(other, "a.md", "secret plans\n").commit
    other.close()

    for at in (foreign, foreign[:10]):
        with pytest.raises(MomentNotFound):
            resolve(group, at)
