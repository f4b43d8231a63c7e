"""The safe part of consolidation: what had its time goes to the archive, and nothing else does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.memory.admin.init import init
from gitmem.memory.curate.consolidate import consolidate
from gitmem.memory.entries.freshness import freshness
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.log import log
from gitmem.memory.recover.archived import archived
from gitmem.memory.recover.undo import undo
from gitmem.memory.upkeep.jobs import last_jobs
from gitmem.memory.upkeep.rotate import rotate
from gitmem.memory.write.move import remove
from gitmem.memory.write.write import Edit, write
from gitmem.model.entries.freshness import state_of
from tests.support.clocks import Clock
from tests.support.days import said_lines
from tests.support.git import git
from tests.support.histories import by_hand, edit, put
from tests.support.moulds import Moulds

DECISIONS, IDEAS = "reference/decisions.md", "reference/ideas.md"
CURRENT = "sessions/current.md"
TEXT = """\
# Decisions

### Use ESM only
- **Status:** active
- **Importance:** 3

### Use tabs
- **Status:** superseded by spaces
- **Importance:** 4

Tabs, since May.

### Keep the old plan
- **Status:** superseded
- **Importance:** 2

### Something somebody said
"""
OLD_LOG = "sessions/2025-11-01.md"


@pytest.fixture
def group(store: Store, clock: Clock, moulds: Moulds) -> Iterator[Group]:
    moulds.init(store, clock, layout="zylos", who=Who("ada"))
    opened = Group(store, "main", who=Who("ada"), now=clock)
    yield opened
    opened.close()


@pytest.fixture
def old(group: Group, clock: Clock) -> Group:
    """A group whose decisions faded, with logs of long ago and of lately."""
    put(group, DECISIONS, TEXT)
    put(group, OLD_LOG, "# Session Log: 2025-11-01\n\n- said long ago\n")
    put(group, "sessions/2025-11-01-1.md", "- said later that day\n")
    clock.advance(days=45)
    put(group, "sessions/2026-03-20.md", "- said lately\n")
    rotate(group)
    return group


def text_of(group: Group, path: str) -> str:
    return (group.repository.snapshot().read(path) or b"").decode()


def ops(group: Group, count: int) -> list[str]:
    return [each.op for each in log(group, limit=count)]


def ages(group: Group) -> dict[str, datetime]:
    return {each.title: each.touched for each in freshness(group).entries}


def test_old_logs_and_past_entries_go_to_the_archive(old: Group) -> None:
    done = consolidate(old)

    assert [(each.source, each.address) for each in done.logs] == [
        (OLD_LOG, f"archive/{OLD_LOG}"),
        ("sessions/2025-11-01-1.md", "archive/sessions/2025-11-01-1.md"),
    ]
    assert [(each.source, each.address) for each in done.entries] == [
        ("reference/decisions.md#use-tabs", "archive/reference/decisions.md#use-tabs")
    ]
    assert "Use tabs" not in text_of(old, DECISIONS)
    assert "Tabs, since May." in text_of(old, "archive/reference/decisions.md")
    assert "sessions/2026-03-20.md" in git(old.worktree, "ls-files")
    assert git(old.worktree, "status", "--porcelain") == ""


def test_each_kind_is_one_commit_and_the_log_tells_of_it(old: Group) -> None:
    before = git(old.worktree, "rev-parse", "HEAD").strip()
    done = consolidate(old, reason="the weekly look")

    assert ops(old, 3) == ["archive", "archive", "append"]
    assert git(old.worktree, "rev-parse", "HEAD~3").strip() == before
    assert done.logged == CURRENT
    last = text_of(old, CURRENT).splitlines()[-2:]
    assert [line.partition(" consolidate: ")[2] for line in last] == [
        f"archived 2 old logs: {OLD_LOG}, sessions/2025-11-01-1.md",
        "archived 1 outdated entry: reference/decisions.md#use-tabs",
    ]
    for number in range(3):
        assert "the weekly look" in git(old.worktree, "log", "-1", "--format=%b", f"HEAD~{number}")


def test_git_follows_an_archived_log_and_blames_its_lines(old: Group) -> None:
    first = git(old.worktree, "log", "-1", "--format=%H", "--", OLD_LOG).strip()
    consolidate(old)

    followed = git(old.worktree, "log", "--follow", "--format=%H", "--", f"archive/{OLD_LOG}")
    assert followed.split()[-1] == first
    blamed = git(old.worktree, "blame", "-s", "-l", f"archive/{OLD_LOG}")
    assert {line.split()[0] for line in blamed.splitlines()} == {first}


def test_the_commit_says_from_where_and_since_when(old: Group) -> None:
    base = git(old.worktree, "rev-parse", "HEAD").strip()
    consolidate(old)

    said = git(old.worktree, "log", "-1", "--format=%B")
    assert "Gitmem-From: reference/decisions.md#use-tabs" in said
    assert f"Gitmem-From-Commit: {base}" in said
    assert "Gitmem-Consolidated" not in said


def test_a_second_time_there_is_nothing_to_do(old: Group) -> None:
    consolidate(old)
    head = git(old.worktree, "rev-parse", "HEAD")
    again = consolidate(old)

    assert not again.changed
    assert (again.logs, again.entries, again.said, again.logged) == ((), (), (), "")
    assert git(old.worktree, "rev-parse", "HEAD") == head


def test_what_is_left_for_a_mind_is_said(old: Group) -> None:
    done = consolidate(old)

    assert {each.title: each.action for each in done.to_decide} == {
        "Use ESM only": "confirm",
        "Something somebody said": "review",
    }
    assert len(done.recommendations) == 1
    assert done.recommendations[0].startswith("2 fading entries to review")


def test_a_dry_run_shows_what_would_happen_and_writes_nothing(old: Group) -> None:
    edit(old, DECISIONS, TEXT + "\n### By hand\n")
    head = git(old.worktree, "rev-parse", "HEAD")
    tried = consolidate(old, dry_run=True)

    assert git(old.worktree, "rev-parse", "HEAD") == head
    assert (old.worktree / DECISIONS).read_text().endswith("### By hand\n")
    done = consolidate(old)
    same = ("base", "logs", "entries", "logged", "to_decide", "recommendations", "left_alone")
    assert [getattr(tried, name) for name in same] == [getattr(done, name) for name in same]
    assert tried.dry_run
    assert "### By hand" in text_of(old, DECISIONS)


def test_fresh_things_stay_whatever_their_status(group: Group, clock: Clock) -> None:
    put(group, DECISIONS, TEXT)
    clock.advance(days=29)

    assert not consolidate(group).changed


def test_where_a_name_is_taken_in_the_archive_a_number_is_found(old: Group) -> None:
    put(old, f"archive/{OLD_LOG}", "- another one\n")
    done = consolidate(old)

    assert done.logs[0].address == "archive/sessions/2025-11-01-2.md"
    assert text_of(old, f"archive/{OLD_LOG}") == "- another one\n"


def test_a_layout_without_a_log_has_it_in_the_commits(store: Store, clock: Clock) -> None:
    init(store, "main", layout="zylos", who=Who("ada"), now=clock)
    group = Group(store, "main", now=clock)
    put(group, DECISIONS, TEXT)
    text = text_of(group, "gitmem.yaml")
    put(group, "gitmem.yaml", text[: text.index("  sessions:")])
    clock.advance(days=45)
    done = consolidate(group)

    assert (done.logged, len(done.entries)) == ("", 1)
    assert ops(group, 1) == ["archive"]
    said = git(
        group.worktree, "log", "-1", "--format=%(trailers:key=Gitmem-Consolidated,valueonly)"
    )
    assert said.strip() == "archived 1 outdated entry: reference/decisions.md#use-tabs"
    group.close()


def test_a_log_of_yesterday_is_added_to_with_a_remark(old: Group, clock: Clock) -> None:
    clock.advance(days=1)
    done = consolidate(old)

    assert done.logged == CURRENT
    assert any("rotate" in each for each in done.warnings)


def test_a_log_that_is_not_there_is_begun(old: Group) -> None:
    remove(old, CURRENT, allow_policy=True)
    consolidate(old)

    assert text_of(old, CURRENT).startswith("# Session Log: 2026-03-25\n\n- ")


def test_an_edit_in_the_work_tree_is_kept_and_what_it_changed_stays(old: Group) -> None:
    edit(old, DECISIONS, TEXT.replace("Tabs, since May.", "Tabs, since June."))
    done = consolidate(old)

    assert [each.path for each in done.captured] == [DECISIONS]
    assert done.entries == ()
    assert [(each.address, each.why) for each in done.left_alone] == [
        ("reference/decisions.md#use-tabs", "it was changed meanwhile")
    ]
    assert "Tabs, since June." in text_of(old, DECISIONS)
    assert len(done.logs) == 2


def thinking(group: Group, deed: Callable[[], object]) -> Group:
    """The same group, in which DEED is done while a report is made: when the clock is asked."""
    left = [deed]

    def now() -> datetime:
        while left:
            left.pop()()
        return group.now()

    return Group(group.store, group.name, who=group.who, now=now)


def test_an_entry_that_was_changed_meanwhile_stays(old: Group) -> None:
    slow = thinking(
        old, lambda: write(old, [Edit(DECISIONS, entry="Use tabs", set=(("Status", "active"),))])
    )
    done = consolidate(slow)

    assert done.entries == ()
    assert [each.why for each in done.left_alone] == ["it was changed meanwhile"]
    assert "Use tabs" in text_of(old, DECISIONS)
    slow.close()


def test_an_entry_that_only_has_another_address_now_goes_all_the_same(old: Group) -> None:
    slow = thinking(
        old,
        lambda: put(old, DECISIONS, TEXT.replace("\n### Use ESM", "\n### Use tabs\n\n### Use ESM")),
    )
    done = consolidate(slow)

    assert [each.source for each in done.entries] == ["reference/decisions.md#use-tabs-2"]
    assert "### Use tabs\n" in text_of(old, DECISIONS)
    assert "Tabs, since May." not in text_of(old, DECISIONS)
    slow.close()


def test_a_layout_that_changed_meanwhile_counts(old: Group) -> None:
    text = text_of(old, "gitmem.yaml")
    kept = text.replace("retired: [superseded, archived]", "retired: [archived]")
    slow = thinking(old, lambda: put(old, "gitmem.yaml", kept))

    assert consolidate(slow).entries == ()
    assert "Use tabs" in text_of(old, DECISIONS)
    slow.close()


def test_an_append_only_layer_keeps_its_entries(old: Group) -> None:
    text = text_of(old, "gitmem.yaml")
    head, mark, rest = text.partition("path: reference/decisions.md\n")
    put(old, "gitmem.yaml", f"{head}{mark}    policy: append-only\n{rest}")
    done = consolidate(old)

    assert done.entries == done.left_alone == ()  # nobody could confirm them, so they do not age
    assert not [each for each in done.to_decide if each.address.startswith(DECISIONS)]
    assert len(done.logs) == 2


def test_one_entry_that_cannot_go_does_not_keep_the_others(old: Group, clock: Clock) -> None:
    put(old, IDEAS, b"### Broken \xff\n- **Status:** dropped\n\n")
    clock.advance(days=45)
    done = consolidate(old)

    assert [each.title for each in done.entries] == ["Use tabs"]
    assert [each.address for each in done.left_alone] == ["reference/ideas.md#broken"]
    assert not consolidate(old).changed


def test_undo_brings_back_every_entry_and_log_with_its_date(old: Group, clock: Clock) -> None:
    before = ages(old)
    files = {path: text_of(old, path) for path in git(old.worktree, "ls-files").split()}
    consolidate(old)
    write(old, [Edit(CURRENT, "- somebody writes on\n", append=True)])
    clock.advance(days=3)
    undone = undo(old, ["HEAD~1", "HEAD~2"])

    assert undone.left == ()
    assert ages(old) == before
    now = {path: text_of(old, path) for path in git(old.worktree, "ls-files").split()}
    now.pop(CURRENT), files.pop(CURRENT)
    assert now == files


def test_notes_that_had_their_time_go_as_files(store: Store, clock: Clock) -> None:
    init(store, "main", layout="standard", now=clock)
    group = Group(store, "main", now=clock)
    text = text_of(group, "gitmem.yaml")
    head, mark, rest = text.partition("path: facts/*.md\n")
    put(group, "gitmem.yaml", f"{head}{mark}    status: [valid, over]\n    retired: [over]\n{rest}")
    put(group, "facts/tea.md", "---\nstatus: over\n---\nAda drinks tea.\n")
    put(group, "facts/pie.md", "---\nstatus: over\nimportance: 1\n---\nAda likes pie.\n")
    clock.advance(days=31)
    done = consolidate(group)

    assert [(each.source, each.address) for each in done.entries] == [
        ("facts/tea.md", "archive/facts/tea.md")
    ]
    group.close()


ENTRY = st.tuples(
    st.sampled_from(["active", "superseded", "archived", "whatever", ""]),
    st.sampled_from(["1", "2", "3", "5", "", "high"]),
    st.sampled_from([1, 29, 31, 89, 200]),
)


@settings(max_examples=12)
@given(st.lists(ENTRY, min_size=1, max_size=8))
def test_only_what_is_past_and_faded_goes_and_no_line_is_lost(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, str, int]]
) -> None:
    clock = Clock()
    store = Store(tmp_path_factory.mktemp("law") / "store")
    init(store, "main", layout="zylos", now=clock)
    group = Group(store, "main", now=clock)
    start = clock.time
    rows = sorted(enumerate(entries), key=lambda row: -row[1][2])
    for number, (status, importance, days) in rows:
        clock.time = start
        clock.advance(days=200 - days)
        fields = tuple(x for x in (("Status", status), ("Importance", importance)) if x[1])
        write(group, [Edit(DECISIONS, f"Body {number}.", entry=f"Entry {number}", set=fields)])
    clock.time = start
    clock.advance(days=200, hours=1)
    lines, before = said_lines(group.repository), ages(group)

    done = consolidate(group)

    expected = {
        f"Entry {number}"
        for number, (status, importance, days) in enumerate(entries)
        if status in ("superseded", "archived")
        and importance not in ("1", "2")
        and state_of(days) in ("fading", "stale")
    }
    assert {each.title for each in done.entries} == expected
    logged = Counter(
        line for line in text_of(group, CURRENT).encode().splitlines() if b" consolidate: " in line
    )
    assert said_lines(group.repository) - lines - logged <= Counter([b"# Session Log: 2026-08-27"])
    assert lines - said_lines(group.repository) == Counter()
    assert not consolidate(group).changed
    if done.changed:
        undo(group, last=1)
        assert ages(group) == before
    group.close()


def test_one_log_that_cannot_go_does_not_keep_the_others(old: Group) -> None:
    by_hand_too_big(old, OLD_LOG)
    done = consolidate(old)

    assert [each.source for each in done.logs] == ["sessions/2025-11-01-1.md"]
    assert [each.address for each in done.left_alone] == [OLD_LOG]
    assert "Use tabs" in [each.title for each in done.entries]


def by_hand_too_big(group: Group, path: str) -> None:
    """Make a file larger than a memory file may be, as only plain git can."""
    edit(group, path, b"- said\n" * 200_000)
    by_hand(group, "add", path)
    by_hand(group, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "big")


def test_an_old_log_that_a_layer_keeps_stays(old: Group) -> None:
    text = text_of(old, "gitmem.yaml")
    kept = "  kept:\n    kind: notes\n    path: sessions/2025*.md\n    policy: write-once\n"
    put(old, "gitmem.yaml", text.replace("layers:\n", f"layers:\n{kept}"))
    done = consolidate(old)

    assert done.logs == ()
    assert {each.why for each in done.left_alone} == {"the layout makes it write-once"}


def test_a_log_that_is_full_leaves_it_to_the_commits(old: Group) -> None:
    by_hand_too_big(old, CURRENT)
    done = consolidate(old)

    assert (done.logged, done.changed) == ("", True)
    said = git(old.worktree, "log", "-1", "--format=%(trailers:key=Gitmem-Consolidated,valueonly)")
    assert said.startswith("archived 1 outdated entry")


def test_a_name_that_looks_like_a_credential_is_not_said(old: Group, clock: Clock) -> None:
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    edit(old, IDEAS, f"### {token}\n- **Status:** dropped\n")
    by_hand(old, "add", IDEAS)
    by_hand(
        old,
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b.c",
        "commit",
        "-qm",
        "x",
        at="2026-02-08T12:00:00Z",
    )
    done = consolidate(old)

    assert len(done.entries) == 1
    assert token.lower() not in git(old.worktree, "log", "-3", "--format=%B").lower()


def test_every_run_leaves_a_trace_and_a_dry_run_none(old: Group) -> None:
    consolidate(old, dry_run=True)
    assert [each for each in last_jobs(old) if each.job == "consolidate"] == []

    consolidate(old)
    (trace,) = [each for each in last_jobs(old) if each.job == "consolidate"]
    assert (trace.outcome, trace.found) == ("done", 3)
    assert "archived 2 old logs" in trace.detail

    consolidate(old)
    (trace,) = [each for each in last_jobs(old) if each.job == "consolidate"]
    assert (trace.outcome, trace.detail) == ("nothing", "no old logs and no outdated entries")


def test_the_archive_knows_when_an_entry_was_touched(old: Group) -> None:
    consolidate(old)

    (found,) = [each for each in archived(old).archived if each.title == "Use tabs"]
    assert found.source == "reference/decisions.md#use-tabs"
    assert found.touched.startswith("2026-02-08T12:00")
