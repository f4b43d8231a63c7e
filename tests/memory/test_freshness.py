"""When the meaning of an entry last changed: what counts as a change, and what does not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from gitmem.cache.dates import load
from gitmem.errors import BadInput, Damaged, PathNotFound
from gitmem.memory.admin.check import check
from gitmem.memory.adopt.adopt import adopt
from gitmem.memory.context.inject import inject
from gitmem.memory.curate.archive import archive
from gitmem.memory.curate.migrate import migrate
from gitmem.memory.entries.confirm import confirm
from gitmem.memory.entries.freshness import AgedEntry, freshness, line_dates
from gitmem.memory.entries.move_entry import move_entry
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.read import read
from gitmem.memory.recover.restore import restore
from gitmem.memory.recover.undo import undo
from gitmem.memory.upkeep.rotate import rotate
from gitmem.memory.write.capture import capture
from gitmem.memory.write.move import move, remove
from gitmem.memory.write.write import Edit, write
from gitmem.model.entries.dates import KnownDates
from gitmem.model.entries.freshness import is_immune, state_of
from gitmem.store.history import dating
from tests.support.clocks import Clock
from tests.support.days import blamed
from tests.support.git import git
from tests.support.histories import by_hand, edit, put, reopened

DECISIONS, IDEAS = "reference/decisions.md", "reference/ideas.md"
FACT = "facts/tea.md"
FOUR_WORDS = "### Tea it is, always\n"
TEXT = """\
# Decisions

### Use ESM only
- **Status:** active
- **Importance:** 3

One module format.

### Use tabs
- **Status:** active
- **Context:** asked twice

### Tea it is, always
"""


@pytest.fixture
def group(standard: Group) -> Group:
    return standard


@pytest.fixture
def old(group: Group, clock: Clock) -> Group:
    """A group whose entries and fact were written a hundred days ago."""
    put(group, DECISIONS, TEXT)
    put(group, FACT, "Ada drinks tea.\n")
    clock.advance(days=100)
    return group


def ages(group: Group) -> dict[str, int]:
    """How many days ago each entry was touched, by its title."""
    return {each.title: each.age_days for each in freshness(group).entries}


def only(group: Group, path: str = "") -> AgedEntry:
    (entry,) = freshness(group, path).entries
    return entry


@pytest.mark.parametrize(
    ("days", "state"),
    [
        *((0, "active"), (6, "active"), (7, "aging"), (29, "aging"), (30, "fading")),
        *((90, "fading"), (91, "stale"), (10_000, "stale")),
    ],
)
def test_the_states_begin_on_their_days(group: Group, clock: Clock, days: int, state: str) -> None:
    put(group, FACT, "Ada drinks tea.\n")
    clock.advance(days=days)

    assert (only(group).age_days, only(group).state) == (days, state)
    assert state_of(days) == state


@pytest.mark.parametrize(
    ("importance", "immune"), [("1", True), ("2", True), ("3", False), ("5", False), ("", False)]
)
def test_importance_one_and_two_are_immune_and_their_state_stays_honest(
    group: Group, clock: Clock, importance: str, immune: bool
) -> None:
    field = f"- **Importance:** {importance}\n" if importance else ""
    put(group, DECISIONS, f"### Use ESM only\n{field}")
    clock.advance(days=91)

    assert (only(group).immune, only(group).state) == (immune, "stale")
    assert is_immune(int(importance) if importance else None) == immune


@pytest.mark.parametrize(
    ("zone", "days"), [("Pacific/Kiritimati", 1), ("Pacific/Niue", 0), ("UTC", 0)]
)
def test_days_are_those_of_the_group(group: Group, clock: Clock, zone: str, days: int) -> None:
    put(group, "gitmem.yaml", _with_zone(group, zone))
    clock.set("2026-03-01T09:59:00+00:00")
    put(group, FACT, "Ada drinks tea.\n")
    clock.set("2026-03-01T10:01:00+00:00")

    assert only(group).age_days == days


def _with_zone(group: Group, zone: str) -> bytes:
    return read(group, "gitmem.yaml").data + f"timezone: {zone}\n".encode()


def test_a_time_in_the_future_is_today(group: Group, clock: Clock) -> None:
    clock.set("2026-03-09T12:00:00+00:00")
    put(group, FACT, "Ada drinks tea.\n")
    clock.set("2026-03-01T12:00:00+00:00")

    assert (only(group).age_days, only(group).state) == (0, "active")
    assert "date-in-the-future" in {each.code for each in check(group).findings}


def test_an_entry_says_who_touched_it_when_and_by_which_commit(group: Group, clock: Clock) -> None:
    written = put(group, DECISIONS, "### Use ESM only\n- **Status:** superseded by CJS\n")
    clock.advance(days=8)

    found = only(group)

    assert found.address == f"{DECISIONS}#use-esm-only"
    assert (found.path, found.title, found.layer) == (DECISIONS, "Use ESM only", "decisions")
    assert (found.commit, found.agent) == (written.commit, "ada")
    assert found.touched == group.repository.commit(written.commit).time
    assert (found.status, found.retired, found.confirmed) == ("superseded", True, None)


def test_a_changed_entry_is_touched_and_its_neighbours_are_not(old: Group) -> None:
    write(old, [Edit(DECISIONS, entry="Use tabs", set=(("Status", "superseded"),))])

    assert ages(old) == {"Use ESM only": 100, "Use tabs": 0, "Tea it is, always": 100, "tea": 100}


def test_a_deleted_line_is_a_change(old: Group) -> None:
    put(old, DECISIONS, TEXT.replace("- **Context:** asked twice\n", ""))

    assert ages(old)["Use tabs"] == 0
    assert ages(old)["Use ESM only"] == 100


def test_a_new_entry_is_of_today(old: Group) -> None:
    write(old, [Edit(DECISIONS, entry="Use pnpm", set=(("Status", "active"),))])

    assert ages(old)["Use pnpm"] == 0
    assert ages(old)["Use tabs"] == 100


def _reordered() -> str:
    head, *blocks = TEXT.split("### ")
    return "### ".join([head, *reversed([each.rstrip() + "\n\n" for each in blocks])])


def _moved_by_hand(group: Group) -> None:
    head, rest = TEXT.split("### Use tabs")
    edit(group, DECISIONS, head)
    edit(group, "archive/old.md", f"### Use tabs{rest}")
    capture(group)
    edit(group, "archive/old.md", "nothing left\n")
    edit(group, DECISIONS, TEXT)
    capture(group)


def _merged(group: Group) -> None:
    by_hand(group, "switch", "-q", "-c", "side", "HEAD")
    (group.worktree / "notes.md").write_text("a note\n")
    by_hand(group, "add", "notes.md")
    by_hand(group, "commit", "-q", "-m", "on the side")
    by_hand(group, "switch", "-q", "main")
    put(group, "state.md", "busy\n")
    by_hand(group, "merge", "-q", "--no-edit", "side")


MECHANICAL: dict[str, Callable[[Group], object]] = {
    "crlf": lambda group: put(group, DECISIONS, TEXT.replace("\n", "\r\n")),
    "trailing blanks": lambda group: put(group, DECISIONS, TEXT.replace("\n", "  \n")),
    "blank lines": lambda group: put(group, DECISIONS, TEXT.replace("\n\n", "\n\n\n\n")),
    "re-wrapped": lambda group: put(group, DECISIONS, TEXT.replace("One module", "One\nmodule")),
    "tabs": lambda group: put(group, DECISIONS, TEXT.replace(": ", ":\t").replace(":**", ":** ")),
    "reordered": lambda group: put(group, DECISIONS, _reordered()),
    "moved by hand": _moved_by_hand,
    "moved": lambda group: move(group, DECISIONS, "reference/old/decisions.md"),
    "moved and back": lambda group: (
        move(group, DECISIONS, "x.md"),
        move(group, "x.md", DECISIONS),
    ),
    "another layer and back": lambda group: (
        move_entry(group, f"{DECISIONS}#use-tabs", "ideas"),
        move_entry(group, f"{IDEAS}#use-tabs", "decisions"),
    ),
    "archived and back": lambda group: (
        move_entry(group, f"{DECISIONS}#tea-it-is-always", f"archive/{DECISIONS}"),
        move_entry(group, f"archive/{DECISIONS}#tea-it-is-always", "decisions"),
    ),
    "the file archived and back": lambda group: (
        remove(group, DECISIONS),
        move(group, f"archive/{DECISIONS}", DECISIONS),
        remove(group, FACT),
        move(group, f"archive/{FACT}", FACT),
    ),
    "read and injected": lambda group: (read(group, DECISIONS), inject(group), ages(group)),
    "archived and restored by address": lambda group: (
        archive(group, [f"{DECISIONS}#tea-it-is-always", "decisions#use-tabs", FACT]),
        restore(group, "decisions#tea-it-is-always"),
        restore(group, f"archive/{DECISIONS}#use-tabs"),
        restore(group, FACT),
    ),
    "deleted and restored by address": lambda group: (
        put(group, DECISIONS, TEXT[: TEXT.index("### Use tabs")]),
        restore(group, "decisions#use-tabs"),
        restore(group, "decisions#tea-it-is-always"),
    ),
    "a note put back by hand": lambda group: (
        os.unlink(group.worktree / FACT),
        capture(group),
        edit(group, FACT, "Ada drinks tea.\n"),
        capture(group),
    ),
    "rotated": rotate,
    "deleted and undone": lambda group: undo(
        group, [put(group, DECISIONS, "# Decisions\n\n### Use tabs\n- **Status:** x\n").commit]
    ),
    "changed and undone": lambda group: undo(
        group, [put(group, DECISIONS, TEXT.replace("active", "dropped")).commit]
    ),
    "emptied and restored": lambda group: (
        put(group, DECISIONS, "stub\n"),
        put(group, FACT, "stub\n"),
        restore(group, DECISIONS, previous=True),
        restore(group, FACT, previous=True),
    ),
    "deleted by hand and restored": lambda group: (
        os.unlink(group.worktree / DECISIONS),
        capture(group),
        restore(group, DECISIONS, at="HEAD~1"),
    ),
    "damaged by hand and checked out": lambda group: (
        edit(group, DECISIONS, "stub\n"),
        capture(group),
        by_hand(group, "checkout", "HEAD~1", "--", DECISIONS),
        capture(group),
    ),
    "reverted by git": lambda group: (
        put(group, DECISIONS, "stub\n"),
        by_hand(group, "revert", "--no-edit", "HEAD"),
    ),
    "merged": _merged,
}


@pytest.mark.parametrize("what", MECHANICAL)
def test_what_changes_no_meaning_changes_no_date(old: Group, what: str) -> None:
    MECHANICAL[what](old)

    dates = line_dates_by_title(old) if what == "moved" else ages(old)
    assert set(dates.values()) == {100}
    if what != "moved":  # the layer knows another path
        assert set(dates) >= {"Use ESM only", "Use tabs", "Tea it is, always", "tea"}


def line_dates_by_title(group: Group) -> dict[str, int]:
    found = line_dates(group, "reference/old/decisions.md").lines
    return {each.text: each.age_days for each in found}


def test_what_a_migration_renames_keeps_its_date(group: Group, clock: Clock) -> None:
    layers = "layers:\n  facts: {kind: notes, path: facts/*.md, ages: true}\n"
    put(group, "gitmem.yaml", f"gitmem: 1\nmigrate: {{from: old.md, to: facts/new.md}}\n{layers}")
    put(group, "old.md", "Ada drinks tea.\n")
    clock.advance(days=100)

    assert migrate(group).changed

    assert ages(group) == {"new": 100}


def test_undoing_one_of_two_changes_leaves_the_date_of_the_other(old: Group, clock: Clock) -> None:
    first = write(old, [Edit(DECISIONS, entry="Use tabs", set=(("Status", "dropped"),))])
    clock.advance(days=10)
    write(old, [Edit(DECISIONS, entry="Use tabs", set=(("Context", "asked thrice"),))])
    clock.advance(days=10)

    undo(old, [first.commit])

    assert "asked thrice" in read(old, DECISIONS).text
    assert "dropped" not in read(old, DECISIONS).text
    assert ages(old)["Use tabs"] == 10


def test_taking_an_undo_back_brings_the_later_date_back(old: Group, clock: Clock) -> None:
    changed = write(old, [Edit(DECISIONS, entry="Use tabs", set=(("Status", "dropped"),))])
    clock.advance(days=10)
    undone = undo(old, [changed.commit])
    assert ages(old)["Use tabs"] == 110

    undo(old, [undone.commit])

    assert ages(old)["Use tabs"] == 10


def test_a_status_that_is_set_back_on_purpose_is_a_change(old: Group) -> None:
    for status in ("paused", "active"):
        write(old, [Edit(DECISIONS, entry="Use tabs", set=(("Status", status),))])

    assert ages(old)["Use tabs"] == 0


def test_a_status_that_is_set_back_with_an_editor_is_a_change(old: Group) -> None:
    for text in (TEXT.replace("asked twice", "asked once"), TEXT):
        edit(old, DECISIONS, text)
        capture(old)

    assert ages(old)["Use tabs"] == 0


def test_several_that_are_set_back_with_an_editor_are_changed(old: Group) -> None:
    for text in (TEXT.replace("active", "dropped"), TEXT):
        edit(old, DECISIONS, text)
        capture(old)

    assert {ages(old)[each] for each in ("Use ESM only", "Use tabs")} == {0}
    assert ages(old)["Tea it is, always"] == 100


def test_two_entries_that_change_places_by_hand_keep_their_dates(old: Group) -> None:
    put(old, IDEAS, "# Ideas\n\n### Try Gleam\n- **Status:** raw\n")
    idea, tabs = "### Try Gleam\n- **Status:** raw\n", TEXT[TEXT.index("### Use tabs") :]
    edit(old, DECISIONS, TEXT.replace(tabs, idea))
    edit(old, IDEAS, f"# Ideas\n\n{tabs}")
    capture(old)

    assert ages(old)["Use tabs"] == ages(old)["Tea it is, always"] == 100
    assert ages(old)["Try Gleam"] == 0


def test_what_a_merge_itself_says_is_touched_by_it(old: Group, clock: Clock) -> None:
    by_hand(old, "switch", "-q", "-c", "side")
    (old.worktree / DECISIONS).write_text(TEXT.replace("asked twice", "asked on the side"))
    by_hand(old, "commit", "-q", "-a", "-m", "side", at="2026-05-01T12:00:00Z")
    by_hand(old, "switch", "-q", "main")
    (old.worktree / DECISIONS).write_text(TEXT.replace("One module", "Just one module"))
    by_hand(old, "commit", "-q", "-a", "-m", "main", at="2026-05-02T12:00:00Z")
    clock.set("2026-06-01T12:00:00+00:00")
    by_hand(old, "merge", "-q", "--no-commit", "side")
    merged = (old.worktree / DECISIONS).read_text()
    (old.worktree / DECISIONS).write_text(merged + "- **Status:** new in the merge\n")
    by_hand(old, "commit", "-q", "-a", "-m", "merge", at="2026-06-01T10:00:00Z")

    days = {each.title: f"{each.touched.date()}" for each in freshness(old, DECISIONS).entries}
    assert days == {
        "Use ESM only": "2026-05-02",
        "Use tabs": "2026-05-01",
        "Tea it is, always": "2026-06-01",
    }


def test_setting_a_field_on_the_way_to_another_file_is_a_change(old: Group) -> None:
    move_entry(old, f"{DECISIONS}#use-tabs", "ideas", fields={"Status": "raw"})

    assert ages(old)["Use tabs"] == 0


def test_where_nothing_moved_an_entry_is_as_old_as_its_newest_line(
    old: Group, clock: Clock
) -> None:
    write(old, [Edit(DECISIONS, entry="Use tabs", set=(("Context", "asked thrice"),))])
    clock.advance(days=5)

    found = freshness(old, DECISIONS).entries
    rows = blamed(old.worktree, DECISIONS)

    for each in found:
        start = next(at for at, row in enumerate(rows) if row[1] == f"### {each.title}")
        block = [
            row
            for at, row in enumerate(rows)
            if at == start
            or (at > start and not any(x[1].startswith("#") for x in rows[start + 1 : at + 1]))
        ]
        assert max(day for day, _ in block) == f"{each.touched.date()}"


def test_confirming_is_touching(old: Group) -> None:
    confirm(old, ["decisions#use-tabs", FACT])

    assert (ages(old)["Use tabs"], ages(old)["tea"], ages(old)["Use ESM only"]) == (0, 0, 100)
    (tabs,) = freshness(old, "decisions#use-tabs").entries
    assert tabs.confirmed == old.now().date()


def test_the_past_can_be_asked(old: Group, clock: Clock) -> None:
    clock.advance(days=20)
    put(old, DECISIONS, TEXT.replace("twice", "thrice"))
    clock.advance(days=50)

    then = freshness(old, at=f"{(clock.time - timedelta(days=51)).date()}")

    assert {each.title: each.age_days for each in then.entries}["Use tabs"] == 119
    assert ages(old)["Use tabs"] == 50


def test_it_can_be_asked_of_a_part(old: Group) -> None:
    def titles(path: str, **wanted: object) -> set[str]:
        return {each.title for each in freshness(old, path, **wanted).entries}  # type: ignore[arg-type]

    three = {"Use ESM only", "Use tabs", "Tea it is, always"}
    for path in ("decisions", DECISIONS, "reference", "reference/*.md"):
        assert titles(path) == three
    assert titles("facts") == titles(FACT) == {"tea"}
    assert titles(f"{DECISIONS}#use-tabs") == titles("decisions#use-tabs") == {"Use tabs"}
    assert titles("", states=("active",)) == set()
    assert len(titles("", states=("stale", "fading"))) == 4


def test_what_does_not_age_is_said_to(old: Group) -> None:
    with pytest.raises(BadInput, match=r"state\.md"):
        freshness(old, "state.md")
    with pytest.raises(PathNotFound):
        freshness(old, "nothing.md")
    with pytest.raises(BadInput, match="stael"):
        freshness(old, states=["stael"])


def test_the_most_faded_comes_first(old: Group, clock: Clock) -> None:
    put(old, "facts/new.md", "A new one.\n")
    clock.advance(days=3)
    put(old, "facts/newer.md", "A newer one.\n")

    days = [each.age_days for each in freshness(old).entries]

    assert days == sorted(days, reverse=True)
    assert freshness(old).entries[-1].title == "newer"


def test_a_layer_that_is_written_once_does_not_age(group: Group) -> None:
    text = "gitmem: 1\nlayers:\n  facts: {kind: notes, path: facts/*.md, ages: true"
    put(group, FACT, "Ada drinks tea.\n")
    for policy, count in (("free", 1), ("write-once", 0), ("protected", 0)):
        put(group, "gitmem.yaml", f"{text}, policy: {policy}}}\n")
        assert len(freshness(group).entries) == count


def adopted(store: Store, folder: Path, clock: Clock, files: dict[str, str], mtime: str) -> Group:
    """A group that took in FOLDER with FILES that were last changed on a day."""
    when = date.fromisoformat(mtime).toordinal() - date(1970, 1, 1).toordinal()
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
        os.utime(folder / path, (when * 86400 + 43200,) * 2)
    adopt(store, "main", folder, layout="standard", now=clock)
    return Group(store, "main", now=clock)


def test_adopted_entries_age_by_their_own_dates_or_by_the_file(
    store: Store, tmp_path: Path, clock: Clock
) -> None:
    clock.set("2026-02-20T12:00:00+00:00")
    projects = (
        "### Billing\n- **Started:** 2025-11-01\n- **Updated:** 2026-01-02\n\n"
        "### Search\n- **Status:** active\n\n### Tomorrow\n- **Updated:** 2026-12-24\n"
    )
    files = {
        "reference/projects.md": projects,
        "reference/preferences.md": "### Short\n- **Date observed:** 2025-12-24\n",
        "facts/a.md": "---\nupdated: 2026-01-31\n---\n\nText.\n",
        "facts/b.md": "Text without a date.\n",
    }
    group = adopted(store, tmp_path / "memory", clock, files, "2026-02-10")

    days = {each.title: f"{each.touched.date()}" for each in freshness(group).entries}

    assert days == {
        "Billing": "2026-01-02",
        "Search": "2026-02-10",
        "Tomorrow": "2026-02-10",
        "Short": "2025-12-24",
        "a": "2026-01-31",
        "b": "2026-02-10",
    }
    write(group, [Edit("projects", entry="Billing", set=(("Status", "paused"),))])
    assert ages(group)["Billing"] == 0
    group.close()


def test_an_adopted_date_survives_a_restore(store: Store, tmp_path: Path, clock: Clock) -> None:
    clock.set("2026-02-20T12:00:00+00:00")
    files = {"reference/ideas.md": "### Try it\n- **Date:** 2025-12-24\n"}
    group = adopted(store, tmp_path / "memory", clock, files, "2026-02-10")
    put(group, "reference/ideas.md", "stub\n")

    restore(group, "reference/ideas.md", previous=True)

    assert f"{only(group, 'ideas').touched.date()}" == "2025-12-24"
    group.close()


def test_an_adopted_history_keeps_its_own_dates(store: Store, tmp_path: Path, clock: Clock) -> None:
    folder = tmp_path / "memory"
    (folder / "facts").mkdir(parents=True)
    git(folder.parent, "init", "-q", "-b", "main", str(folder))
    for day, text in (("2026-01-05", "One.\n"), ("2026-01-20", "Two.\n")):
        (folder / "facts/a.md").write_text(text)
        git(folder, "add", "-A")
        when = {"GIT_AUTHOR_DATE": f"{day}T12:00:00Z", "GIT_COMMITTER_DATE": f"{day}T12:00:00Z"}
        git(folder, "commit", "-q", "-m", "x", env=when)
    adopt(store, "main", folder, layout="standard", now=clock)
    group = Group(store, "main", now=clock)

    assert f"{only(group).touched.date()}" == "2026-01-20"
    group.close()


def committed(folder: Path, day: str, path: str, text: str) -> None:
    """A commit of plain git in FOLDER, which becomes a repository."""
    if not (folder / ".git").exists():
        git(folder.parent, "init", "-q", "-b", "main", str(folder))
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)
    git(folder, "add", "-A")
    when = {"GIT_AUTHOR_DATE": f"{day}T12:00:00Z", "GIT_COMMITTER_DATE": f"{day}T12:00:00Z"}
    git(folder, "commit", "-q", "-m", "x", env=when)


def test_entries_of_the_first_adopted_commit_age_by_their_own_dates(
    store: Store, tmp_path: Path, clock: Clock
) -> None:
    """They are older than the repository that somebody made for them one day."""
    clock.set("2026-02-20T12:00:00+00:00")
    folder, path = tmp_path / "memory", "reference/projects.md"
    first = (
        "### Billing\n- **Started:** 2025-11-01\n- **Updated:** 2025-12-02\n\n"
        "### Search\n- **Status:** active\n\n"
        "### Later\n- **Updated:** 2026-12-24\n\n"
        "### Changed\n- **Started:** 2025-10-01\n"
    )
    folder.mkdir()
    committed(folder, "2026-01-05", path, first)
    added = "- **Status:** paused\n\n### New\n- **Started:** 2025-09-01\n"
    committed(folder, "2026-01-20", path, f"{first}{added}")
    adopt(store, "main", folder, layout="standard", now=clock)
    group = Group(store, "main", now=clock)

    days = {each.title: f"{each.touched.date()}" for each in freshness(group).entries}

    assert days == {
        "Billing": "2025-12-02",
        "Search": "2026-01-05",
        "Later": "2026-01-05",
        "Changed": "2026-01-20",
        "New": "2026-01-20",
    }
    group.close()


def test_a_source_as_long_as_a_commit_id_is_no_commit(
    store: Store, tmp_path: Path, clock: Clock
) -> None:
    clock.set("2026-02-20T12:00:00+00:00")
    folder = tmp_path / "memory"
    (folder / "reference").mkdir(parents=True)
    (folder / "reference/ideas.md").write_text("### Try it\n- **Date:** 2025-12-24\n")
    who = Who(source="/home/ada/agents/kitchen/state/memory/v1")
    assert len(who.source) == 40
    adopt(store, "main", folder, layout="standard", who=who, now=clock)
    group = Group(store, "main", now=clock)

    assert f"{only(group, 'ideas').touched.date()}" == "2025-12-24"
    group.close()


# The cache


def cache_of(group: Group) -> Path:
    return group.gitdir / "gitmem" / "dates"


@pytest.mark.parametrize("writes", [1, 40])
def test_what_is_kept_gives_the_same_as_the_history(old: Group, clock: Clock, writes: int) -> None:
    freshness(old)
    for number in range(writes):
        write(old, [Edit(DECISIONS, entry="Use tabs", set=(("Status", f"now {number}"),))])
        clock.advance(days=1)
    warm = freshness(old)
    os.unlink(cache_of(old))

    assert freshness(old) == warm


@pytest.mark.parametrize("size", [0, 1, 40, 200, -1])
def test_a_torn_cache_is_not_believed(old: Group, size: int) -> None:
    before = freshness(old)
    data = cache_of(old).read_bytes()
    cache_of(old).write_bytes(data[:size])

    assert freshness(old) == before


def test_no_changed_byte_of_the_cache_is_believed(old: Group) -> None:
    before = freshness(old)
    data = cache_of(old).read_bytes()
    for at in range(0, len(data), max(1, len(data) // 97)):
        cache_of(old).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert freshness(old) == before


@pytest.mark.parametrize("how", ["gone", "torn", "replaced"])
def test_a_memory_that_is_lost_at_the_wrong_moment_is_made_again(
    old: Group, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    freshness(old)
    put(old, DECISIONS, "stub\n")
    restore(old, DECISIONS, previous=True)
    data = cache_of(old).read_bytes()

    def load_and_lose(path: Path, reading: str) -> KnownDates | None:
        known = load(path, reading)
        if how == "gone":
            os.unlink(path)
        else:
            path.write_bytes(data[:-1] if how == "torn" else b"another\n")
        return known

    monkeypatch.setattr("gitmem.memory.entries.dates.load", load_and_lose)
    assert ages(old)["Use tabs"] == 100


def test_many_processes_may_ask_and_write_at_once(old: Group) -> None:
    script = (
        "import sys; from gitmem.cli import main\n"
        f"sys.argv = ['gitmem', '--store', {str(old.store.root)!r}, *sys.argv[1:]]\nmain()"
    )

    def started(*args: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", script, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    for turn in range(3):
        writes = [
            started("write", "ideas", "--entry", f"Idea {turn} {number}", "--set", "Status=raw")
            for number in range(4)
        ]
        asked = [started("freshness", "--json") for _ in range(4)]
        for each in (*writes, *asked):
            out, err = each.communicate(timeout=60)
            assert each.returncode == 0, (out, err)
        os.unlink(cache_of(old)) if turn == 1 else None

    found = freshness(old)
    os.unlink(cache_of(old))
    assert freshness(old) == found
    assert sum(each.layer == "ideas" for each in found.entries) == 12


def test_a_long_walk_that_is_cut_short_is_not_begun_anew(
    old: Group, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        write(old, [Edit(DECISIONS, entry="Use tabs", set=(("Status", f"now {number}"),))])
        clock.advance(days=1)
    whole = freshness(old)
    os.unlink(cache_of(old))
    monkeypatch.setattr(dating, "LONG", 10)
    last, taken = old.repository.tip(), []
    take = dating._Walk._take

    def cut_short(walk: dating._Walk, step: dating.Step) -> None:
        if step.oid == last and not taken:
            taken.append(step.oid)
            raise KeyboardInterrupt
        take(walk, step)

    monkeypatch.setattr(dating._Walk, "_take", cut_short)
    with pytest.raises(KeyboardInterrupt):
        freshness(old)
    known = load(cache_of(old), cache_of(old).read_bytes().split(b" ")[3][:-1].decode())

    assert known is not None
    assert known.commit != last
    assert freshness(old) == whole


def test_a_cache_of_another_branch_is_not_believed(old: Group) -> None:
    side = old.repository.tip()
    put(old, DECISIONS, TEXT.replace("twice", "thrice"))
    freshness(old)
    git(old.gitdir, "update-ref", "refs/heads/main", side)

    assert ages(reopened(old))["Use tabs"] == 100


def test_a_cache_that_cannot_be_written_is_no_reason_to_fail(old: Group) -> None:
    before = freshness(old)
    os.unlink(cache_of(old))
    cache_of(old).mkdir()

    assert freshness(old) == before


def test_asking_about_the_past_leaves_the_cache_alone(old: Group) -> None:
    put(old, DECISIONS, TEXT.replace("twice", "thrice"))
    freshness(old)
    kept = cache_of(old).read_bytes()

    freshness(old, at="HEAD~1")

    assert cache_of(old).read_bytes() == kept


def test_another_layout_reads_the_files_anew(old: Group) -> None:
    assert "tea" in ages(old)
    layout = read(old, "gitmem.yaml").text.replace("path: facts/*.md", "path: reference/ideas.txt")
    put(old, "gitmem.yaml", layout)

    assert "tea" not in ages(old)


def test_the_order_of_the_layers_decides_how_a_file_is_read(group: Group) -> None:
    notes = "  notes: {kind: notes, path: facts/*.md, ages: true}\n"
    special = "  special: {kind: entries, path: facts/special.md, ages: true}\n"
    put(group, "facts/special.md", "### One\n- **Status:** active\n\n### Two\n")
    for layers, titles in ((notes + special, {"special"}), (special + notes, {"One", "Two"})):
        put(group, "gitmem.yaml", f"gitmem: 1\nlayers:\n{layers}")
        assert set(ages(group)) == titles


def test_a_lost_version_of_long_ago_stops_nothing(old: Group) -> None:
    blob = old.repository.snapshot().oid(DECISIONS) or ""
    put(old, DECISIONS, TEXT.replace("twice", "thrice"))
    os.unlink(old.repository.objects.loose_path(blob))

    assert set(ages(reopened(old))) >= {"Use tabs", "tea"}


def test_a_version_that_was_lost_and_found_again_does_no_harm(old: Group) -> None:
    place = Path(old.repository.objects.loose_path(old.repository.snapshot().oid(DECISIONS) or ""))
    aside = place.rename(place.with_suffix(".aside"))
    old.repository.objects.rescuer = None  # the work tree has it, too
    for number in range(20):  # enough to be kept
        put(old, "state.md", f"busy {number}\n")
    with pytest.raises(Damaged):
        freshness(reopened(old))
    aside.rename(place)

    put(old, DECISIONS, TEXT.replace("twice", "thrice"))

    assert ages(reopened(old))["Use tabs"] == 0


def test_lines_are_those_of_git_blame(old: Group, clock: Clock) -> None:
    put(old, DECISIONS, TEXT.replace("twice", "thrice"))
    clock.advance(days=3)

    found = line_dates(old, "decisions")

    rows = blamed(old.worktree, DECISIONS)
    assert [(f"{each.touched.date()}", each.text) for each in found.lines] == rows
    assert {each.age_days for each in found.lines} == {3, 103}
    with pytest.raises(PathNotFound):
        line_dates(old, "nothing.md")
