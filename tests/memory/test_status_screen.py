"""What the layers hold, against what they may hold."""

from __future__ import annotations

from datetime import date

import pytest

from gitmem.memory.group import Group
from gitmem.memory.layouts import folder_of
from gitmem.memory.read.inventory import CoreFile, LayerFiles, LogDay
from gitmem.memory.read.status import RECENT, LastSnapshot, TranscriptCounts, status
from gitmem.memory.transcripts.add import NewMessage, transcript_add
from gitmem.memory.upkeep.rotate import rotate
from gitmem.memory.upkeep.snapshot import snapshot
from tests.support.clocks import Clock
from tests.support.git import git
from tests.support.histories import edit, put, reopened, truncate

LAYOUT = """\
gitmem: 1
layout: screens
timezone: UTC
layers:
  identity: {kind: document, path: identity.md, budget: 100, warn: 80}
  state: {kind: document, path: state.md, budget: 100, warn: 80}
  references: {kind: document, path: references.md, budget: 100}
  soul: {kind: document, path: soul.md}
  user: {kind: profile, path: "users/{user}.md", budget: 10, default: users/default.md}
  decisions:
    kind: entries
    path: reference/decisions.md
    status: [active, superseded]
    retired: [superseded]
  diary: {kind: journal, path: "diary/{date}.md"}
  facts: {kind: notes, path: "facts/*.md"}
  sessions:
    {kind: log, path: log/now.md, rotated: "log/{date}.md", header: "# {date}", policy: append-only}
"""


@pytest.fixture
def screen(group: Group) -> Group:
    put(group, "gitmem.yaml", LAYOUT)
    return group


def core(group: Group) -> dict[str, CoreFile]:
    return {each.path: each for each in status(group).holdings.core}


@pytest.mark.parametrize(
    ("size", "state", "percent"),
    [
        (0, "ok", 0),
        (80, "ok", 80),
        (81, "near", 81),
        (100, "near", 100),
        (101, "over", 101),
        (999, "over", 999),
    ],
)
def test_at_the_budget_is_inside_and_near_it_is_said(
    screen: Group, size: int, state: str, percent: int
) -> None:
    put(screen, "state.md", "x" * size)

    found = core(screen)["state.md"]

    assert (found.state, found.bytes, found.percent) == (state, size, percent)
    assert (found.budget, found.layer) == (100, "state")


def test_bytes_count_and_not_characters(screen: Group) -> None:
    put(screen, "state.md", "é" * 51)
    assert core(screen)["state.md"].state == "over"


def test_missing_is_not_over_budget_and_each_is_a_concern(screen: Group) -> None:
    put(screen, "identity.md", "x" * 90)
    put(screen, "state.md", "x" * 200)

    found = status(screen)

    assert [(each.path, each.state) for each in found.holdings.core] == [
        ("identity.md", "near"),
        ("state.md", "over"),
        ("references.md", "missing"),
        ("soul.md", "missing"),
    ]
    assert found.concerns == ("1 over budget", "1 near budget", "1 missing")
    assert (found.health, found.layout) == ("attention", "screens")


def test_a_file_without_a_budget_may_be_missing(screen: Group) -> None:
    for name in ("identity.md", "state.md", "references.md"):
        put(screen, name, "x\n")

    found = status(screen)

    assert core(screen)["soul.md"].state == "missing"
    assert (found.health, found.concerns) == ("ok", ())


def test_edits_come_before_budgets_in_the_one_word(screen: Group) -> None:
    edit(screen, "state.md", "x\n")

    found = status(screen)

    assert found.health == "edited"
    assert found.concerns == ("3 missing",), "what is not committed is not memory yet"


def test_profiles_are_counted_and_only_the_large_ones_listed(screen: Group) -> None:
    put(screen, "users/ada.md", "short\n")
    put(screen, "users/bob.md", "much too long\n")
    put(screen, "users/default.md", "name:\n")

    found = status(screen)

    assert [each.path for each in found.holdings.core if each.layer == "user"] == ["users/bob.md"]
    assert LayerFiles("user", "profile", 2) in found.holdings.layers


def test_entries_are_counted_and_those_that_have_had_their_time_apart(screen: Group) -> None:
    text = "".join(
        f"### {title}\n- **Status:** {state}\n\n"
        for title, state in (("A", "active"), ("B", "superseded"), ("C", "active"))
    )
    put(screen, "reference/decisions.md", f"# Decisions\n\n{text}")

    (found,) = status(screen).holdings.entries
    assert (found.path, found.layer) == ("reference/decisions.md", "decisions")
    assert (found.entries, found.retired) == (2, 1)


def test_days_and_notes_are_counted_and_the_last_day_is_named(screen: Group) -> None:
    for name in ("2026-02-01", "20260207", "2026-01-31T10-00-00", "about"):
        put(screen, f"diary/{name}.md", "x\n")
    put(screen, "facts/a.md", "x\n")

    layers = {each.layer: each for each in status(screen).holdings.layers}

    assert layers["diary"] == LayerFiles("diary", "journal", 4, "2026-02-07")
    assert layers["facts"] == LayerFiles("facts", "notes", 1)


def test_a_file_counts_in_the_first_layer_that_it_fits(group: Group) -> None:
    put(group, "gitmem.yaml", (folder_of("claude-code") / "layout.yaml").read_text())
    for name in ("MEMORY.md", "one.md", "two.md", "deeper/three.md"):
        put(group, name, "x\n")

    found = status(group).holdings

    assert [(each.path, each.layer) for each in found.core] == [("MEMORY.md", "index")]
    assert found.layers == (LayerFiles("topics", "notes", 2),)


def test_the_layout_is_no_memory_and_a_link_is_none(group: Group) -> None:
    put(group, "gitmem.yaml", "gitmem: 1\nlayers:\n  all: {kind: notes, path: '**'}\n")
    put(group, "a.md", "x\n")
    (group.worktree / "b.md").symlink_to("a.md")
    git(group.worktree, "add", "b.md")
    git(group.worktree, "commit", "-qm", "a link")

    assert status(group).holdings.layers == (LayerFiles("all", "notes", 1),)


@pytest.mark.parametrize(
    ("path", "names", "last"),
    [
        ("diary/log-{date}.md", ["log-2026-02-01", "log-2026-02-07", "log-x"], "2026-02-07"),
        ("diary/{date}/log.md", ["2026-02-01/log", "2026-02-07/log"], "2026-02-07"),
        ("diary/{week}.v1.md", ["2026-W05.v1", "2026-W06.v1"], "2026-02-08"),
    ],
)
def test_the_last_day_is_read_where_the_layout_puts_it(
    group: Group, path: str, names: list[str], last: str
) -> None:
    layer = f'{{kind: journal, path: "{path}"}}'
    put(group, "gitmem.yaml", f"gitmem: 1\nlayers:\n  diary: {layer}\n")
    for name in names:
        put(group, f"diary/{name}.md", "x\n")

    (found,) = status(group).holdings.layers

    assert found == LayerFiles("diary", "journal", len(names), last)


def test_a_log_is_due_until_it_has_rotated(screen: Group, clock: Clock) -> None:
    assert status(screen).holdings.logs == (LogDay("log/now.md", "sessions", None, False, True),)
    rotate(screen)
    (log,) = status(screen).holdings.logs
    assert (log.day, log.due, log.rotated) == (date(2026, 2, 8), False, "")
    clock.advance(days=1)
    (log,) = status(screen).holdings.logs
    assert (log.day, log.due) == (date(2026, 2, 8), True)

    rotate(screen)

    assert status(screen).holdings.logs == (
        LogDay(
            "log/now.md",
            "sessions",
            date(2026, 2, 9),
            True,
            False,
            "log/2026-02-08.md",
            date(2026, 2, 8),
        ),
    )


def test_it_names_the_last_snapshot(screen: Group) -> None:
    assert status(screen).snapshot is None
    put(screen, "state.md", "x\n")

    done = snapshot(screen)

    found = status(screen).snapshot
    assert found is not None
    assert (found.name, found.commit) == (done.name, done.commit)
    assert isinstance(found, LastSnapshot)


def test_a_core_file_says_who_changed_it_last(screen: Group) -> None:
    put(screen, "state.md", "x\n")
    put(screen, "other.md", "x\n")

    found = core(screen)

    assert found["state.md"].agent == "ada"
    assert found["state.md"].updated is not None
    assert (found["identity.md"].agent, found["identity.md"].updated) == ("", None)


def test_an_entry_file_says_who_changed_it_last(screen: Group) -> None:
    put(screen, "reference/decisions.md", "### A\n")

    (found,) = status(screen).holdings.entries

    assert (found.entries, found.agent) == (1, "ada")
    assert found.updated is not None


def test_all_files_of_the_group_are_measured(screen: Group) -> None:
    before = status(screen)
    put(screen, "more/a.md", "é\n")

    after = status(screen)

    assert after.files == before.files + 1
    assert after.bytes == before.bytes + 3
    assert after.bytes == sum(
        len(screen.repository.snapshot().read(path) or b"")
        for path, _ in screen.repository.snapshot().files()
    )


def test_what_nobody_changed_of_late_is_said_to_be_older(screen: Group) -> None:
    """Looking further would cost more with every commit: a bound is told instead."""
    put(screen, "state.md", "x\n")
    for number in range(RECENT):
        put(screen, "other.md", f"{number}\n")

    found = core(screen)["state.md"]

    assert (found.updated, found.older_than is not None) == (None, True)


def test_a_broken_layout_is_named_and_the_last_good_one_counts(screen: Group) -> None:
    edit(screen, "gitmem.yaml", "gitmem: 1\nlayers: [\n")
    git(screen.worktree, "commit", "-qam", "oops")

    found = status(screen)

    assert (found.layout, found.health) == ("screens", "attention")
    assert "gitmem.yaml line" in found.layout_problem
    assert "gitmem.yaml is not in order" in found.concerns
    assert [each.path for each in found.holdings.core][:1] == ["identity.md"]


def test_a_damaged_file_is_named_and_the_rest_is_shown(screen: Group) -> None:
    put(screen, "state.md", "the state\n")
    put(screen, "reference/decisions.md", "### A\n")
    put(screen, "log/now.md", "# 2026-02-08\n")
    for path in ("state.md", "reference/decisions.md", "log/now.md"):
        truncate(screen.repository, screen.repository.snapshot().oid(path) or "")
    again = reopened(screen)

    found = core(again)

    assert (found["state.md"].state, found["identity.md"].state) == ("damaged", "missing")
    again.close()


def test_a_group_without_a_layout_has_no_holdings(group: Group) -> None:
    put(group, "a.md", "x\n")

    found = status(group)

    assert (found.layout, found.layout_problem, found.concerns) == ("", "", ())
    assert not any(found.holdings._asdict().values())
    assert found.health == "ok"


def test_the_cost_does_not_grow_with_the_history(
    screen: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reads() -> int:
        again = reopened(screen)
        seen: list[str] = []
        read = again.repository.objects.read

        def counted(oid: str) -> tuple[str, bytes]:
            seen.append(oid)
            return read(oid)

        monkeypatch.setattr(again.repository.objects, "read", counted)
        status(again)
        again.close()
        return len(seen)

    for number in range(60):
        put(screen, "state.md", f"{number}\n")
    before = reads()
    for number in range(60):
        put(screen, "state.md", f"{number} again\n")

    assert reads() <= before + 2


def test_what_was_said_is_counted_and_too_much_of_it_is_a_concern(screen: Group) -> None:
    assert status(screen).said is None
    transcript_add(screen, [NewMessage("c", "Ada", f"message {n}") for n in range(30)])
    assert status(screen).said == TranscriptCounts(30, 30, False)
    assert "not summarised" not in " ".join(status(screen).concerns)

    transcript_add(screen, [NewMessage("c", "Ada", "one more")])

    assert status(screen).said == TranscriptCounts(31, 31, True)
    assert "31 messages not summarised" in status(screen).concerns
