"""Every run of a job leaves a trace, also one that did nothing, and why."""

from __future__ import annotations

import json
import os
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.errors import Conflict, Damaged, SecretFound
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store
from gitmem.memory.read.status import status
from gitmem.memory.upkeep.jobs import last_jobs, log_job
from gitmem.memory.upkeep.rotate import rotate
from gitmem.memory.upkeep.snapshot import snapshot
from gitmem.store.job_log import LONGEST, MOST_BYTES, Job, append_job, jobs_path
from tests.support.clocks import START, Clock
from tests.support.days import CURRENT, with_log
from tests.support.git import git
from tests.support.histories import put, truncate
from tests.support.jobs import read_jobs
from tests.support.processes import Crowd, Voice
from tests.support.samples import body


def last(group: Group, job: str) -> Job:
    return next(each for each in last_jobs(group) if each.job == job)


def outcome(job: Job) -> tuple[str, int, str]:
    return job.outcome, job.found, job.detail


def test_a_run_is_one_line_of_json_in_the_git_directory_and_no_commit(
    group: Group, clock: Clock
) -> None:
    before = git(group.gitdir, "rev-parse", "main")

    log_job(group, "roll", "done", found=3, detail="two\nlines", seconds=0.25)

    (line,) = Path(jobs_path(group.gitdir)).read_text().splitlines()
    assert json.loads(line) == {
        "time": clock.time.isoformat(),
        "job": "roll",
        "outcome": "done",
        "found": 3,
        "detail": "two lines",
        "seconds": 0.25,
    }
    assert stat.S_IMODE(os.stat(jobs_path(group.gitdir)).st_mode) == 0o600
    assert git(group.gitdir, "rev-parse", "main") == before


def test_the_last_run_of_each_job_is_told(group: Group, clock: Clock) -> None:
    log_job(group, "b", "failed", detail="first")
    clock.advance(minutes=5)
    log_job(group, "b", "nothing", detail="second")
    log_job(group, "a", "done")

    assert [(each.job, each.outcome, each.detail) for each in last_jobs(group)] == [
        ("a", "done", ""),
        ("b", "nothing", "second"),
    ]


def test_a_torn_line_is_passed_over_and_swallows_no_other(group: Group) -> None:
    log_job(group, "a", "done")
    with open(jobs_path(group.gitdir), "ab") as file:
        file.write(b'{"time": "2026-02-08T12:00:00+00:00", "job": "torn", "outc')

    log_job(group, "b", "done")

    assert [each.job for each in read_jobs(group.gitdir)] == ["a", "b"]


@pytest.mark.parametrize(
    "line", [b"null", b"[]", b"7", b"{}", b'{"time": 1}', b"\xff\xfe", b'{"time":"x","job":"y"}']
)
def test_a_line_of_another_form_is_passed_over(group: Group, line: bytes) -> None:
    Path(jobs_path(group.gitdir)).write_bytes(line + b"\n")
    log_job(group, "a", "done")

    assert [each.job for each in read_jobs(group.gitdir)] == ["a"]


def test_the_log_is_bounded_and_forgets_no_job_that_runs_seldom(group: Group) -> None:
    moment = group.moment()
    append_job(group.gitdir, Job(moment, "weekly", "done", detail="the report"))
    append_job(group.gitdir, Job(moment, "weekly", "skipped"))
    for number in range(1500):
        later = moment + timedelta(minutes=number)
        append_job(group.gitdir, Job(later, "often", "nothing", number, "x" * 2 * LONGEST))
        assert os.path.getsize(jobs_path(group.gitdir)) <= MOST_BYTES + 2 * LONGEST

    found = read_jobs(group.gitdir)
    assert [(each.job, each.outcome) for each in found[:2]] == [
        ("weekly", "done"),
        ("weekly", "skipped"),
    ]
    numbers = [each.found for each in found[2:]]
    assert numbers == list(range(1500 - len(numbers), 1500))
    assert len(numbers) > 300
    assert os.listdir(group.gitdir / "gitmem").count("jobs.jsonl.new") == 0


def log_many(voice: Voice, gitdir: str, name: int, runs: int) -> None:
    voice.say("ready")
    voice.hear()
    for number in range(runs):
        append_job(Path(gitdir), Job(START, f"job{name}", "done", number, "y" * LONGEST))


def test_several_processes_write_at_once_while_the_log_is_cut(group: Group) -> None:
    with Crowd() as crowd:
        for name in range(4):
            crowd.start(log_many, str(group.gitdir), name, 700)
        for child in crowd.children:
            child.hear()
        for child in crowd.children:
            child.say("go")
        assert len([said for _, said in crowd.hear_out() if said == ["done"]]) == 4

    raw = Path(jobs_path(group.gitdir)).read_bytes().splitlines()
    found = read_jobs(group.gitdir)
    assert len(found) == len(raw), "a line was torn"
    assert {each.found for each in last_jobs(group)} == {699}
    for name in range(4):
        numbers = [each.found for each in found if each.job == f"job{name}"]
        assert numbers == list(range(numbers[0], 700)), "a line in the middle is lost"


def test_a_log_that_cannot_be_written_stops_no_job(group: Group) -> None:
    put(group, "a.md", "one\n")
    os.symlink("/nowhere/at/all", jobs_path(group.gitdir))

    assert snapshot(group).made
    assert last_jobs(group) == ()


def test_a_rotation_leaves_a_trace_also_where_there_is_nothing_to_do(
    group: Group, clock: Clock
) -> None:
    rotate(group)
    assert outcome(last(group, "rotate")) == ("nothing", 0, "the layout has no log")

    with_log(group)
    rotate(group)
    assert outcome(last(group, "rotate")) == ("done", 1, f"{CURRENT} was made")
    rotate(group)
    found = last(group, "rotate")
    assert outcome(found) == ("nothing", 1, f"{CURRENT} is of today, 2026-02-08")
    clock.advance(days=1)
    rotate(group)
    found = last(group, "rotate")
    assert outcome(found) == ("done", 1, f"{CURRENT} went to sessions/2026-02-08.md")
    assert found.time == clock.time


def test_a_snapshot_leaves_a_trace_also_where_there_is_nothing_to_do(
    group: Group, clock: Clock
) -> None:
    snapshot(group)
    assert outcome(last(group, "snapshot")) == (
        "nothing",
        0,
        "no memory changes since the last one",
    )
    put(group, "a.md", "one\n")
    snapshot(group)
    assert outcome(last(group, "snapshot")) == ("done", 1, "snapshot/2026-02-08, 1 changed")
    snapshot(group)
    assert outcome(last(group, "snapshot")) == ("nothing", 0, "snapshot/2026-02-08 was made before")


def test_a_run_that_fails_leaves_a_trace_and_is_a_concern_of_status(group: Group) -> None:
    put(group, "a.md", "one\n")
    git(group.worktree, "checkout", "-q", "--detach")
    with pytest.raises(Conflict):
        rotate(group)
    git(group.worktree, "checkout", "-q", "main")

    assert last(group, "rotate").outcome == "failed"
    assert last(group, "rotate").detail.startswith("HEAD of this group is detached")
    found = status(group)
    assert found.concerns == ("rotate failed",)
    assert found.health == "attention"
    assert [each.job for each in found.jobs] == ["rotate"]

    rotate(group)
    assert status(group).concerns == ()


def test_damage_leaves_a_trace(group: Group) -> None:
    truncate(group.repository, put(group, "a.md", "one\n").commit)
    afresh = Group(group.store, "main")  # else what was just written is remembered

    with pytest.raises(Damaged):
        snapshot(afresh)
    afresh.close()

    assert last(group, "snapshot").outcome == "failed"
    assert "truncated" in last(group, "snapshot").detail


def test_a_credential_in_what_was_asked_for_is_not_kept_in_the_log(group: Group) -> None:
    secret = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)

    with pytest.raises(SecretFound):
        rotate(group, reason=f"the key is {secret}")

    assert last(group, "rotate").outcome == "failed"
    assert secret not in Path(jobs_path(group.gitdir)).read_text()


def test_who_may_not_write_to_a_group_leaves_no_trace_in_it(store: Store, clock: Clock) -> None:
    init(store, "global", now=clock)
    guest = Group(store, "global", acting="research", now=clock)

    log_job(guest, "mine", "done")

    assert not os.path.exists(jobs_path(guest.gitdir))
    guest.close()
