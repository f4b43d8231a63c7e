"""Everything that is due, at any time and as often as one likes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import gitmem.store.worktree.fingerprint
from gitmem.api.memory import open_group
from gitmem.errors import Conflict, GroupNotFound, GroupRefused
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.log import log
from gitmem.memory.read.status import status
from gitmem.memory.transcripts.add import NewMessage, transcript_add
from gitmem.memory.transcripts.checkpoint import transcript_checkpoint
from gitmem.memory.transcripts.pending import transcript_pending
from gitmem.memory.transcripts.prune import transcript_prune
from gitmem.memory.upkeep.jobs import last_jobs
from gitmem.memory.upkeep.maintain import Maintained, PackLimits, maintain, maintain_all
from gitmem.memory.upkeep.rotate import rotate
from gitmem.memory.upkeep.snapshot import snapshots
from gitmem.model.hints import in_shell
from gitmem.store.fsck import reachable as scrub
from gitmem.store.lock import Inflight, Lock, lock_path
from gitmem.store.objects.database import blob_id
from gitmem.store.refs.files import VERIFIED
from gitmem.store.worktree.fingerprint import SETTLED, fingerprint
from tests.support.clocks import Clock
from tests.support.days import CURRENT, header, with_log
from tests.support.git import git
from tests.support.histories import edit, put, reopened, truncate
from tests.support.jobs import read_jobs

AMEND = ("commit", "-q", "--amend", "-m", "amended")
TASKS = (
    *("recover", "keep", "capture", "migrate", "rotate", "snapshot", "report", "secrets", "scrub"),
    *("forget", "pack", "commit-graph"),
)
FEW = PackLimits(loose=1, packs=3)
SOON = 0.2


def outcomes(done: Maintained) -> dict[str, str]:
    return {each.step: each.outcome for each in done.steps}


def detail(done: Maintained, step: str) -> str:
    return next(each.detail for each in done.steps if each.step == step)


def refs(group: Group) -> str:
    return git(group.gitdir, "for-each-ref")


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quiet time is a short one, though longer than any tick of the clock of files here."""
    monkeypatch.setattr(gitmem.store.worktree.fingerprint, "SETTLED", SOON)


def until_quiet(group: Group) -> None:
    """Maintain until nothing is due, that is remembered, and an edit cannot hide in a tick."""
    maintain(group)
    time.sleep(SOON + 0.1)
    assert maintain(group).outcome == "nothing"
    assert (group.gitdir / "gitmem" / "maintained").exists()
    assert detail(maintain(group), "capture").startswith("nothing since")


def test_all_that_is_due_is_done_once(group: Group) -> None:
    with_log(group)
    edit(group, "by hand.md", "an edit\n")

    done = maintain(group)

    assert done.group == "main"
    assert tuple(each.step for each in done.steps) == TASKS
    assert outcomes(done) == {
        "recover": "nothing",
        "keep": "nothing",
        "capture": "done",
        "migrate": "nothing",
        "rotate": "done",
        "snapshot": "done",
        "report": "done",
        "secrets": "nothing",
        "scrub": "done",
        "forget": "nothing",
        "pack": "nothing",
        "commit-graph": "nothing",
    }
    assert detail(done, "capture") == "by hand.md"
    assert detail(done, "rotate") == f"{CURRENT} was made"
    assert [each.agent for each in log(group, "by hand.md")] == ["ada"]
    assert (group.worktree / CURRENT).read_text() == header("2026-02-08")
    assert git(
        group.gitdir, "rev-parse", "main", "snapshot/2026-02-08^{commit}", VERIFIED
    ).split() == 3 * [group.repository.tip()]

    before = refs(group)
    again = maintain(group)
    assert again.outcome == "nothing"
    assert set(outcomes(again).values()) == {"nothing"}
    assert all(each.detail for each in again.steps), "why there was nothing to do"
    assert refs(group) == before


def test_a_new_day_rotates_and_makes_a_snapshot(group: Group, clock: Clock) -> None:
    with_log(group)
    maintain(group)
    put(group, "a.md", "one\n")
    clock.advance(days=1)

    done = maintain(group)

    assert detail(done, "rotate") == f"{CURRENT} went to sessions/2026-02-08.md"
    assert [each.date for each in snapshots(group)] == ["2026-02-09", "2026-02-08"]


def test_a_day_on_which_nothing_changed_gets_no_snapshot(group: Group, clock: Clock) -> None:
    put(group, "a.md", "one\n")
    maintain(group)
    clock.advance(days=1)

    done = maintain(group)

    assert done.outcome == "nothing"
    assert detail(done, "snapshot") == "no memory changes since snapshot/2026-02-08"


def test_a_packed_history_gets_its_commit_graph(group: Group) -> None:
    put(group, "a.md", "one\n")
    git(group.gitdir, "repack", "-adq")
    assert not (group.gitdir / "objects/info/commit-graph").exists()

    assert outcomes(maintain(group))["commit-graph"] == "done"

    assert (group.gitdir / "objects/info/commit-graph").exists()
    assert git(group.gitdir, "commit-graph", "verify") == ""
    assert outcomes(maintain(group))["commit-graph"] == "nothing"


@pytest.mark.usefixtures("soon")
def test_a_head_that_is_damaged_is_not_quiet(group: Group) -> None:
    put(group, "a.md", "one\n")
    until_quiet(group)
    (group.gitdir / "HEAD").write_text("garbage\n")

    assert "nothing since" not in detail(maintain(group), "capture")


def test_the_report_is_made_once_a_week(group: Group, clock: Clock) -> None:
    put(group, "a.md", "one\n")
    days = {}
    for day in range(15):
        days[day] = outcomes(maintain(group))["report"]
        clock.advance(days=1)

    assert [day for day, outcome in days.items() if outcome == "done"] == [0, 7, 14]
    (last,) = [each for each in last_jobs(group) if each.job == "report"]
    assert (last.outcome, last.detail) == ("done", "nothing to do")


def test_every_run_leaves_a_trace_also_one_that_did_nothing(group: Group) -> None:
    put(group, "a.md", "one\n")

    maintain(group)
    maintain(group)

    jobs = [(each.job, each.outcome) for each in read_jobs(group.gitdir)]
    assert jobs == [
        ("snapshot", "done"),
        ("report", "done"),
        ("scrub", "done"),
        ("maintain", "done"),
        ("maintain", "nothing"),
    ]
    assert [each.detail for each in status(group).jobs if each.job == "maintain"] == [
        "nothing was due"
    ]


def test_a_dry_run_says_what_is_due_and_changes_nothing(group: Group) -> None:
    with_log(group)
    edit(group, "a.md", "an edit\n")
    status(group)  # which reads the layout, and keeps it for the next
    before = refs(group), sorted(os.listdir(group.gitdir / "gitmem"))

    done = maintain(group, dry_run=True)

    assert done.outcome == "due"
    assert outcomes(done) == {
        "recover": "nothing",
        "keep": "nothing",
        "capture": "due",
        "migrate": "nothing",
        "rotate": "due",
        "snapshot": "due",
        "report": "due",
        "secrets": "nothing",
        "scrub": "due",
        "forget": "nothing",
        "pack": "nothing",
        "commit-graph": "nothing",
    }
    assert detail(done, "capture") == "1 edit"
    assert (refs(group), sorted(os.listdir(group.gitdir / "gitmem"))) == before
    assert status(group).jobs == ()


def test_an_interrupted_write_is_finished(group: Group) -> None:
    commit = put(group, "a.md", "one\n").commit
    with Lock(lock_path(group.gitdir)) as lock:
        lock.note(Inflight("gone", commit, 1, False, ()))
    assert outcomes(maintain(group, dry_run=True))["recover"] == "due"

    assert outcomes(maintain(group))["recover"] == "done"

    assert Lock(lock_path(group.gitdir)).peek() is None
    assert outcomes(maintain(group))["recover"] == "nothing"


def test_what_is_held_is_told_and_never_due_again(group: Group) -> None:
    put(group, "a.md", "one\n")
    os.symlink("/etc/passwd", group.worktree / "link.md")
    maintain(group)

    done = maintain(group)

    assert done.outcome == "nothing"
    assert detail(done, "capture") == "no edits, 1 held"


def test_only_new_objects_are_read_back(group: Group) -> None:
    put(group, "old.md", "old\n")
    maintain(group)
    blob = git(group.gitdir, "rev-parse", "main:old.md").strip()
    truncate(group.repository, blob)
    put(group, "new.md", "new\n")

    done = maintain(group)

    assert detail(done, "scrub") == "1 commit and 1 file are sound"
    assert git(group.gitdir, "rev-parse", VERIFIED) == git(group.gitdir, "rev-parse", "main")


@pytest.mark.parametrize("what", ["main:new.md", "main:deep", "main"])
def test_a_damaged_new_object_fails_the_step_and_stops_no_other(group: Group, what: str) -> None:
    put(group, "a.md", "one\n")
    maintain(group)
    verified = git(group.gitdir, "rev-parse", VERIFIED)
    put(group, "new.md", "new\n")
    put(group, "deep/x.md", "deep\n")
    put(group, "last.md", "last\n")
    hurt = git(group.gitdir, "rev-parse", what if what != "main" else "main~1").strip()
    truncate(group.repository, hurt)
    afresh = reopened(group)

    done = maintain(afresh, limits=FEW)

    (failed,) = [each for each in done.failed if each.step == "scrub"]
    assert (failed.code, failed.hint) == ("damaged", "run `gitmem check --repair`")
    assert hurt[:10] in failed.detail
    assert done.outcome == "failed"
    assert tuple(each.step for each in done.steps) == TASKS
    assert git(group.gitdir, "rev-parse", VERIFIED) == verified
    assert ("scrub", "failed") in [(each.job, each.outcome) for each in last_jobs(afresh)]
    afresh.close()


def test_a_damaged_object_that_stands_elsewhere_is_healed_and_noted(group: Group) -> None:
    put(group, "a.md", "one\n")
    os.unlink(group.repository.objects.loose_path(group.repository.snapshot().oid("a.md") or ""))

    done = maintain(group, limits=FEW)

    (scrubbed,) = [each for each in done.steps if each.step == "scrub"]
    assert scrubbed.outcome == "done"
    assert "healed, from the work tree (a.md)" in scrubbed.detail


def test_what_a_gc_is_moving_is_read_again_before_anybody_is_accused(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(group, "a.md", "one\n")
    put(group, "a.md", "two\n")
    place = Path(group.repository.objects.loose_path(blob_id(b"one\n")))
    aside = place.rename(place.with_suffix(".moving"))
    monkeypatch.setattr(scrub, "sleep", lambda _: aside.rename(place))  # what git does meanwhile

    done = maintain(group, limits=FEW)

    assert not done.failed


@pytest.mark.usefixtures("soon")
def test_a_failure_that_was_mended_is_no_concern_any_more(group: Group) -> None:
    put(group, "a.md", "one\n")
    until_quiet(group)
    git(group.worktree, "checkout", "-q", "--detach")
    with pytest.raises(Conflict):
        rotate(group)
    git(group.worktree, "checkout", "-q", "main")
    assert status(group).concerns == ("rotate failed",)

    assert maintain(group).outcome == "nothing"

    assert status(group).concerns == ()
    assert ("rotate", "nothing") in [(each.job, each.outcome) for each in last_jobs(group)]


@pytest.mark.parametrize("typed", [("reset", "-q", "--hard", "HEAD~1"), AMEND], ids=" ".join)
def test_what_a_person_takes_off_the_branch_is_kept_and_nothing_fails(
    group: Group, typed: tuple[str, ...]
) -> None:
    put(group, "a.md", "one\n")
    put(group, "a.md", "two\n")
    maintain(group)
    gone = git(group.gitdir, "rev-parse", VERIFIED).strip()
    git(group.worktree, *typed)

    done = maintain(group)

    assert not done.failed
    assert gone[:10] in detail(done, "recover")
    (hint,) = [each.hint for each in done.steps if each.hint]
    assert f"`gitmem kept restore {gone[:10]}`" in in_shell(hint)
    assert git(group.gitdir, "rev-parse", f"refs/gitmem/kept/{gone[:12]}").strip() == gone
    assert git(group.gitdir, "rev-parse", VERIFIED) == git(group.gitdir, "rev-parse", "main")
    assert set(outcomes(maintain(group)).values()) == {"nothing"}


def test_what_only_the_reflog_leads_to_is_kept_before_a_gc_can_take_it(group: Group) -> None:
    """A person's own commits, which gitmem never published, count as well."""
    put(group, "a.md", "one\n")
    maintain(group)
    gone = []
    for number in range(3):
        (group.worktree / "a.md").write_text(f"by hand {number}\n")
        git(group.worktree, "commit", "-qam", "by hand")
        gone.append(git(group.gitdir, "rev-parse", "main").strip())
        git(group.worktree, "reset", "-q", "--hard", "HEAD~1")

    assert outcomes(maintain(group, dry_run=True))["keep"] == "due"
    assert outcomes(maintain(group))["keep"] == "done"
    git(group.gitdir, "reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
    git(group.gitdir, "gc", "-q", "--prune=now")

    for oid in gone:
        assert git(group.gitdir, "rev-parse", f"refs/gitmem/kept/{oid[:12]}").strip() == oid
    assert outcomes(maintain(group))["keep"] == "nothing"


def test_merges_by_hand_are_read_on_both_sides(group: Group) -> None:
    put(group, "a.md", "one\n")
    maintain(group)
    git(group.worktree, "checkout", "-q", "-b", "side")
    (group.worktree / "side.md").write_text("side\n")
    git(group.worktree, "add", "side.md")
    git(group.worktree, "commit", "-qm", "side", env={"GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z"})
    git(group.worktree, "checkout", "-q", "main")
    put(group, "b.md", "two\n")
    git(group.worktree, "merge", "-q", "--no-ff", "-m", "both", "side")

    assert detail(maintain(group), "scrub") == "3 commits and 2 files are sound"


@pytest.mark.usefixtures("soon")
def test_where_nothing_changed_nothing_is_looked_at_again(group: Group) -> None:
    put(group, "a.md", "one\n")

    until_quiet(group)

    assert last_jobs(group)[0].job == "maintain"
    assert last_jobs(group)[0].outcome == "nothing"


def in_place(group: Group) -> None:
    """An edit that keeps the size, and even the time of the last change that people see."""
    file = group.worktree / "a.md"
    before = file.stat()
    with open(file, "r+b") as opened:
        opened.write(b"two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


DISTURBANCES: dict[str, tuple[Callable[[Group, Clock], object], str]] = {
    "an edit in place": (lambda group, _: in_place(group), "capture"),
    "a new file": (lambda group, _: edit(group, "deep/new.md", "x\n"), "capture"),
    "a deletion": (lambda group, _: (group.worktree / "a.md").unlink(), "capture"),
    "a rename": (
        lambda group, _: (group.worktree / "a.md").rename(group.worktree / "b.md"),
        "capture",
    ),
    "a commit": (lambda group, _: put(group, "c.md", "x\n"), "scrub"),
    "a new day": (lambda group, clock: clock.advance(days=1), "rotate"),
    "another zone": (
        lambda group, _: (group.store.root / ".env").write_text("TZ=Pacific/Kiritimati\n"),
        "rotate",
    ),
    "an interrupted write": (
        lambda group, _: interrupted(group),
        "recover",
    ),
}


def interrupted(group: Group) -> None:
    with Lock(lock_path(group.gitdir)) as lock:
        lock.note(Inflight("gone", group.repository.tip(), 1, False, ()))


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("name", DISTURBANCES)
def test_whatever_makes_something_due_is_noticed_after_a_quiet_time(
    group: Group, clock: Clock, name: str
) -> None:
    disturb, step = DISTURBANCES[name]
    with_log(group, zone="")
    (group.store.root / ".env").write_text("TZ=UTC\n")
    put(group, "a.md", "one\n")
    until_quiet(group)

    disturb(group, clock)

    afresh = Group(group.store, "main", now=clock)
    assert outcomes(maintain(afresh))[step] == "done"
    afresh.close()


def test_a_fresh_edit_is_not_trusted_to_look_different_from_the_next(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("")
    (tmp_path / "a.md").write_text("one")

    assert not fingerprint(str(tmp_path)).is_settled(time.time())
    assert fingerprint(str(tmp_path)).is_settled(time.time() + SETTLED + 0.1)


def test_every_group_is_maintained_and_a_damaged_one_stops_none(store: Store, clock: Clock) -> None:
    for name in ("a", "broken", "z"):
        init(store, name, layout="none", now=clock)
        with open_group(name, store=store.root, now=clock) as group:
            group.write("x.md", "x\n")
    (store.gitdir("broken") / "refs" / "heads" / "main").write_bytes(b"")
    os.rename(store.gitdir("broken") / "HEAD", store.gitdir("broken") / "gone")
    seen: list[tuple[int, int]] = []

    done = maintain_all(store, now=clock, progress=lambda at, total: seen.append((at, total)))

    assert [(each.group, each.outcome) for each in done] == [
        ("a", "done"),
        ("broken", "failed"),
        ("z", "done"),
    ]
    assert done[1].failed[0].code == "branch-lost"
    assert "check --repair" in done[1].failed[0].hint
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert [each.outcome for each in read_jobs(store.gitdir("broken"))] == ["failed"]
    assert [each.outcome for each in maintain_all(store, now=clock)] == [
        "nothing",
        "failed",
        "nothing",
    ]


def test_a_group_maintains_itself_and_no_other(store: Store, clock: Clock) -> None:
    for name in ("main", "global", "research", "other"):
        init(store, name, now=clock)

    def names(acting: str | None) -> list[str]:
        return [each.group for each in maintain_all(store, acting=acting, now=clock)]

    assert names("research") == ["research"]
    assert names("main") == names(None) == ["global", "main", "other", "research"]
    with pytest.raises(GroupNotFound):
        names("nobody")
    guest = Group(store, "global", acting="research", now=clock)
    with pytest.raises(GroupRefused):
        maintain(guest)
    guest.close()


def test_a_store_without_groups_has_nothing_due(tmp_path: Path) -> None:
    assert maintain_all(Store(tmp_path)) == ()


def test_it_acts_in_the_name_of_its_caller(store: Store, clock: Clock) -> None:
    init(store, "main", now=clock)
    (store.default_worktree("main") / "a.md").write_text("x\n")

    maintain_all(store, who=Who("cron"), now=clock)

    with open_group(store=store.root) as group:
        assert {each.agent for each in group.history.log(op="capture")} == {"cron"}


def test_a_head_put_elsewhere_fails_what_needs_the_branch_and_is_told(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "b.md", "two\n")
    git(group.worktree, "checkout", "-q", "--detach")

    done = maintain(group)

    assert outcomes(done)["capture"] == "failed"
    assert next(each.code for each in done.failed) == "conflict"
    assert outcomes(done)["scrub"] == "done"
    assert (group.worktree / "b.md").read_text() == "two\n"


def test_the_api_maintains(store: Store, clock: Clock) -> None:
    with open_group(store=store.root, create=True, now=clock) as group:
        assert group.maintain(dry_run=True).outcome == "due"
        assert group.maintain().outcome == "done"
        assert group.maintain().outcome == "nothing"


@pytest.mark.usefixtures("soon")
def test_what_was_said_is_looked_after_though_the_branch_stands_still(group: Group) -> None:
    until_quiet(group)

    transcript_add(group, [NewMessage("c", "Ada", "a heron")])

    assert not detail(maintain(group), "pack").startswith("nothing since")


@pytest.mark.usefixtures("soon")
def test_what_is_dropped_while_maintenance_runs_is_not_forgotten(group: Group) -> None:
    transcript_add(group, [NewMessage("c", "Ada", "a heron")])
    transcript_pending(group)
    transcript_checkpoint(group, "a heron was seen")
    until_quiet(group)
    quiet = (group.gitdir / "gitmem" / "maintained").read_bytes()
    transcript_prune(group, "2027-01-01")
    (group.gitdir / "gitmem" / "maintained").write_bytes(quiet)  # by one who had begun before

    assert outcomes(maintain(group))["forget"] == "done"
