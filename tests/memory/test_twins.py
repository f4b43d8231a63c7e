"""A text that stands in two files: each path has its own date, commit and author."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.cache.dates import FORM
from gitmem.memory.adopt.adopt import adopt
from gitmem.memory.context.inject import inject
from gitmem.memory.context.readiness import is_ready
from gitmem.memory.curate.archive import archive
from gitmem.memory.entries.freshness import AgedEntry, freshness
from gitmem.memory.entries.move_entry import move_entry
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.read import read
from gitmem.memory.recover.restore import restore
from gitmem.memory.recover.undo import undo
from gitmem.memory.search.search import search
from gitmem.memory.write.capture import capture
from gitmem.memory.write.move import move, remove
from gitmem.memory.write.write import Edit, write
from tests.support.clocks import Clock
from tests.support.git import git
from tests.support.histories import by_hand, edit, put, reopened

DECISIONS, IDEAS = "reference/decisions.md", "reference/ideas.md"
PREFERENCES = "reference/preferences.md"
TEA, COPY = "facts/tea.md", "facts/copy.md"
SAYS = "Ada drinks tea from Nepal.\n"
BLOCK = "### Use tabs\n- **Status:** active\n\nTabs are for people.\n"


@pytest.fixture
def group(standard: Group) -> Group:
    return standard


@pytest.fixture
def twins(group: Group, clock: Clock) -> Group:
    """A note and an entry of a hundred days ago, and copies of both by somebody else, of ten."""
    put(group, TEA, SAYS)
    put(group, DECISIONS, f"# Decisions\n\n{BLOCK}")
    clock.advance(days=90)
    bob = Group(group.store, "main", who=Who("bob"), now=clock)
    put(bob, COPY, SAYS)
    put(bob, IDEAS, f"# Ideas\n\n{BLOCK}")
    bob.close()
    clock.advance(days=10)
    return group


def ages(group: Group) -> dict[str, int]:
    """How many days ago each entry was touched, by its address."""
    return {each.address: each.age_days for each in freshness(group).entries}


def only(group: Group, address: str) -> AgedEntry:
    (entry,) = freshness(group, address).entries
    return entry


BEGINNING = {
    TEA: 100,
    COPY: 10,
    f"{DECISIONS}#use-tabs": 100,
    f"{IDEAS}#use-tabs": 10,
}


def test_a_copy_is_as_old_as_its_own_path(twins: Group) -> None:
    assert ages(twins) == BEGINNING
    assert only(twins, COPY).state == "aging"
    assert (only(twins, TEA).agent, only(twins, COPY).agent) == ("ada", "bob")
    assert only(twins, f"{IDEAS}#use-tabs").agent == "bob"


def test_search_credits_the_commit_of_the_path_it_found(twins: Group) -> None:
    for query, old, new in (
        ("tea from Nepal", TEA, COPY),
        ("tabs people", f"{DECISIONS}#use-tabs", f"{IDEAS}#use-tabs"),
    ):
        hits = {each.address: each for each in search(twins, query, source="memory").hits}
        for address in (old, new):
            assert hits[address].commit == only(twins, address).commit
            assert hits[address].touched == only(twins, address).touched
        assert hits[old].commit != hits[new].commit


def test_search_since_a_day_finds_the_copy_alone(twins: Group, clock: Clock) -> None:
    found = search(twins, "tea from Nepal", source="memory", since="20 days ago").hits

    assert [each.path for each in found] == [COPY]


def test_a_prompt_shows_each_by_its_own_date(twins: Group, clock: Clock) -> None:
    text = inject(twins, annotate=True, layers=("facts", "decisions", "ideas")).text

    tags = [line for line in text.split("\n") if "state=" in line]
    states = {tag.split('path="')[1].split('"')[0]: tag.split('state="')[1] for tag in tags}
    found = {path: state.split('"')[0] for path, state in states.items()}
    assert found == {
        TEA: "stale",
        COPY: "aging",
        f"{DECISIONS}#use-tabs": "stale",
        f"{IDEAS}#use-tabs": "aging",
    }


def test_the_archive_is_a_place_like_any_other(group: Group, clock: Clock) -> None:
    put(group, TEA, SAYS)
    archive(group, [TEA])
    clock.advance(days=100)

    put(group, TEA, SAYS)

    assert ages(group) == {TEA: 0}


BACK: dict[str, Callable[[Group], object]] = {
    "archived and restored": lambda group: (
        archive(group, [TEA, f"{DECISIONS}#use-tabs"]),
        restore(group, TEA),
        restore(group, f"{DECISIONS}#use-tabs"),
    ),
    "both archived and restored": lambda group: (
        archive(group, [TEA, COPY, f"{DECISIONS}#use-tabs", f"{IDEAS}#use-tabs"]),
        restore(group, COPY),
        restore(group, f"{IDEAS}#use-tabs"),
        restore(group, f"{DECISIONS}#use-tabs"),
        restore(group, TEA),
    ),
    "removed and restored": lambda group: (
        remove(group, COPY),
        restore(group, COPY),
    ),
    "deleted by hand and restored": lambda group: (
        os.unlink(group.worktree / COPY),
        edit(group, IDEAS, "# Ideas\n"),
        capture(group),
        restore(group, COPY, at="HEAD~2"),
        restore(group, IDEAS, previous=True),
    ),
    "deleted and put back by hand": lambda group: (
        os.unlink(group.worktree / COPY),
        capture(group),
        edit(group, COPY, SAYS),
        capture(group),
    ),
    "changed and undone": lambda group: undo(
        group, [put(group, IDEAS, "# Ideas\n\n### Use tabs\n- **Status:** raw\n").commit]
    ),
    "deleted and undone": lambda group: undo(group, [put(group, IDEAS, "# Ideas\n").commit]),
    "archived and undone": lambda group: undo(
        group, [archive(group, [COPY, f"{IDEAS}#use-tabs"]).commit]
    ),
    "moved and back": lambda group: (
        move(group, COPY, "x.md"),
        move(group, "x.md", COPY),
        move_entry(group, f"{IDEAS}#use-tabs", "projects"),
        move_entry(group, "projects#use-tabs", "ideas"),
    ),
    "changed places": lambda group: (
        move(group, COPY, "x.md"),
        move(group, TEA, "y.md"),
        move(group, "x.md", COPY),
        move(group, "y.md", TEA),
    ),
    "checked out": lambda group: (
        os.unlink(group.worktree / COPY),
        capture(group),
        by_hand(group, "checkout", "HEAD~1", "--", COPY),
        capture(group),
    ),
}


@pytest.mark.parametrize("what", BACK)
def test_each_gets_its_own_date_back(twins: Group, what: str) -> None:
    BACK[what](twins)

    assert ages(twins) == BEGINNING


def test_a_merge_keeps_what_each_side_knows(twins: Group, clock: Clock) -> None:
    by_hand(twins, "switch", "-q", "-c", "side")
    (twins.worktree / "facts/side.md").write_text(SAYS)
    by_hand(twins, "add", "facts")
    by_hand(twins, "commit", "-q", "-m", "side", at=f"{clock().isoformat()}")
    by_hand(twins, "switch", "-q", "main")
    clock.advance(days=3)
    put(twins, "state.md", "busy\n")
    by_hand(twins, "merge", "-q", "--no-edit", "side")

    assert ages(twins) == {
        **{address: days + 3 for address, days in BEGINNING.items()},
        "facts/side.md": 3,
    }


def test_one_that_moves_away_keeps_its_date_beside_its_twin(twins: Group) -> None:
    move(twins, COPY, "facts/moved.md")
    edit(twins, IDEAS, "# Ideas\n")
    edit(twins, PREFERENCES, f"# Preferences\n\n{BLOCK}")
    capture(twins)

    assert ages(twins) == {
        TEA: 100,
        "facts/moved.md": 10,
        f"{DECISIONS}#use-tabs": 100,
        f"{PREFERENCES}#use-tabs": 10,
    }


@pytest.mark.parametrize("home", [IDEAS, PREFERENCES])
@pytest.mark.parametrize("apart", [False, True])
def test_an_entry_that_is_cut_here_and_pasted_there_has_moved(
    twins: Group, clock: Clock, home: str, apart: bool
) -> None:
    """Each file is captured by itself: which of the two comes first is a matter of names.

    Where they are captured apart and it is pasted first, it comes back to a file that had it.
    """
    target = PREFERENCES if home == IDEAS else IDEAS
    if home != IDEAS:
        move_entry(twins, f"{IDEAS}#use-tabs", home)
    edits = {home: "# Nothing\n", target: f"# More\n\n{BLOCK}"}
    for path in sorted(edits):
        edit(twins, path, edits[path])
        if apart:
            capture(twins)
            clock.advance(minutes=5)
    capture(twins)

    assert ages(twins) == {
        TEA: 100,
        COPY: 10,
        f"{DECISIONS}#use-tabs": 100,
        f"{target}#use-tabs": 10,
    }


@pytest.mark.parametrize("minutes", [0, 1, 11])
def test_a_file_that_is_saved_under_another_name_is_new_while_the_first_stands(
    twins: Group, clock: Clock, minutes: int
) -> None:
    (twins.worktree / "facts/third.md").write_text(SAYS)
    capture(twins)
    clock.advance(minutes=minutes)
    (twins.worktree / COPY).unlink()
    capture(twins)

    assert ages(twins)["facts/third.md"] == 0


def test_a_file_that_is_saved_under_another_name_has_moved_if_both_are_found_at_once(
    twins: Group,
) -> None:
    (twins.worktree / "facts/third.md").write_text(SAYS)
    (twins.worktree / COPY).unlink()
    capture(twins)

    assert ages(twins)["facts/third.md"] == 10


@pytest.mark.parametrize("minutes", [0, 1, 11])
def test_a_copy_whose_original_goes_later_was_no_move(
    twins: Group, clock: Clock, minutes: int
) -> None:
    edit(twins, PREFERENCES, f"# Preferences\n\n{BLOCK}")
    capture(twins)
    clock.advance(minutes=minutes)
    edit(twins, IDEAS, "# Ideas\n")
    capture(twins)

    assert ages(twins)[f"{PREFERENCES}#use-tabs"] == 0


def test_a_copy_by_a_write_is_new_though_its_original_goes_at_once(twins: Group) -> None:
    put(twins, "facts/third.md", SAYS)
    remove(twins, COPY)

    assert ages(twins)["facts/third.md"] == 0


def test_twins_that_move_at_once_keep_their_dates_by_their_names(
    group: Group, clock: Clock
) -> None:
    put(group, "facts/b.md", SAYS)
    clock.advance(days=5)
    put(group, "facts/a.md", SAYS)
    clock.advance(days=5)
    (group.worktree / "facts").rename(group.worktree / "facts-of-old")
    capture(group)
    (group.worktree / "facts-of-old").rename(group.worktree / "facts")
    capture(group)

    assert ages(group) == {"facts/b.md": 10, "facts/a.md": 5}


def test_two_that_say_the_same_in_one_file_have_two_dates(group: Group, clock: Clock) -> None:
    put(group, DECISIONS, f"# Decisions\n\n{BLOCK}")
    clock.advance(days=20)
    put(group, DECISIONS, f"# Decisions\n\n{BLOCK}\n### Other\n\n{BLOCK}")

    assert ages(group) == {
        f"{DECISIONS}#use-tabs": 20,
        f"{DECISIONS}#use-tabs-2": 0,
        f"{DECISIONS}#other": 0,
    }
    hits = {each.address: each for each in search(group, "tabs people", source="memory").hits}
    for address in (f"{DECISIONS}#use-tabs", f"{DECISIONS}#use-tabs-2"):
        assert hits[address].commit == only(group, address).commit


def test_pages_that_say_the_same_are_of_their_own_days(group: Group, clock: Clock) -> None:
    layers = "  diary: {kind: journal, path: 'diary/{date}.md', ages: true}\n"
    put(group, "gitmem.yaml", f"gitmem: 1\nlayers:\n{layers}")
    for day in ("2026-02-08", "2026-02-09", "2026-02-10"):
        put(group, f"diary/{day}.md", "Nothing new.\n")
        clock.advance(days=1)

    assert [each.age_days for each in freshness(group).entries] == [3, 2, 1]


def test_empty_files_are_of_their_own_days(group: Group, clock: Clock) -> None:
    for name in ("a", "b"):
        edit(group, f"facts/{name}.md", "")
        capture(group)
        clock.advance(days=10)

    assert ages(group) == {"facts/a.md": 20, "facts/b.md": 10}


def test_adopted_copies_have_the_day_of_their_own_file(
    store: Store, tmp_path: Path, clock: Clock
) -> None:
    clock.set("2026-02-20T12:00:00+00:00")
    (tmp_path / "memory/facts").mkdir(parents=True)
    for name, age in (("a", 50), ("b", 5)):
        file = tmp_path / f"memory/facts/{name}.md"
        file.write_text(SAYS)
        os.utime(file, (clock.time.timestamp() - age * 86400,) * 2)
    adopt(store, "main", tmp_path / "memory", layout="standard", now=clock, in_place=True)
    group = Group(store, "main", now=clock)

    assert ages(group) == {"facts/a.md": 50, "facts/b.md": 5}
    group.close()


def test_an_adopted_history_tells_a_copy_from_a_move(
    store: Store, tmp_path: Path, clock: Clock
) -> None:
    clock.set("2026-02-20T12:00:00+00:00")
    folder = tmp_path / "memory"
    (folder / "facts").mkdir(parents=True)
    git(folder.parent, "init", "-q", "-b", "main", str(folder))

    def committed(day: str) -> None:
        git(folder, "add", "-A")
        when = {"GIT_AUTHOR_DATE": f"{day}T12:00:00Z", "GIT_COMMITTER_DATE": f"{day}T12:00:00Z"}
        git(folder, "commit", "-q", "-m", "x", env=when)

    (folder / "facts/a.md").write_text(SAYS)
    committed("2026-01-01")
    (folder / "facts/b.md").write_text(SAYS)
    committed("2026-01-20")
    (folder / "facts/a.md").rename(folder / "facts/c.md")
    committed("2026-02-10")
    adopt(store, "main", folder, layout="standard", now=clock)
    group = Group(store, "main", now=clock)

    assert ages(group) == {"facts/b.md": 31, "facts/c.md": 50}
    group.close()


def test_what_goes_to_the_archive_says_its_own_age(twins: Group) -> None:
    done = archive(twins, [COPY, f"{IDEAS}#use-tabs"])

    message = twins.repository.commit(done.commit).message
    touched = [line for line in message.split("\n") if line.startswith("Gitmem-Touched")]
    days = {line.split()[1]: line.split()[2][:10] for line in touched}
    assert days == {
        COPY: f"{only_date(twins)}",
        f"{IDEAS}#use-tabs": f"{only_date(twins)}",
    }


def only_date(group: Group) -> str:
    commits = list(group.repository.history(group.repository.tip()))
    (made,) = [each for each in commits if f"write({COPY})" in each.message]
    return f"{made.time.date()}"


def test_a_prompt_is_not_kept_waiting_where_dates_were_kept_otherwise(
    twins: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    search(twins, "tea", source="memory")
    freshness(twins)
    monkeypatch.setattr("gitmem.memory.context.readiness.COMMITS", 1)
    assert is_ready(twins)
    cache = twins.gitdir / "gitmem" / "dates"
    data = cache.read_bytes()

    cache.write_bytes(data.replace(b"gitmem-dates %d " % FORM, b"gitmem-dates 3 ", 1))

    assert not is_ready(twins)
    assert ages(reopened(twins)) == BEGINNING
    assert is_ready(twins)


def test_the_order_of_files_in_a_tree_makes_no_difference(twins: Group) -> None:
    """Sets of names have another order in each process."""
    archive(twins, [TEA, COPY])
    undo(twins, [twins.repository.tip()])
    script = (
        "import sys; from pathlib import Path\n"
        "from gitmem.memory.entries.freshness import freshness\n"
        "from gitmem.memory.group import Group, Store\n"
        "group = Group(Store(Path(sys.argv[1])), 'main')\n"
        "print([(each.address, each.commit) for each in freshness(group).entries])\n"
    )
    found = set()
    for seed in ("1", "2", "3"):
        (twins.gitdir / "gitmem" / "dates").unlink(missing_ok=True)
        env = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", script, str(twins.store.root)]
        found.add(subprocess.run(command, check=True, capture_output=True, env=env).stdout)

    assert len(found) == 1


def test_writing_what_stands_elsewhere_leaves_that_alone(twins: Group) -> None:
    write(twins, [Edit("facts/third.md", SAYS)])

    assert ages(twins) == {**BEGINNING, "facts/third.md": 0}
    assert read(twins, TEA).text == SAYS
