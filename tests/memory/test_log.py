"""What happened, and to whom it can be told."""

from __future__ import annotations

import pytest

from gitmem.errors import BadInput, PathNotFound, PathRefused
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.log import LogEntry, iter_log, log
from gitmem.memory.recover.undo import undo
from gitmem.memory.write.capture import capture
from gitmem.memory.write.move import move
from gitmem.memory.write.write import Edit, write
from gitmem.store.objects.database import ObjectDamaged
from tests.support.clocks import Clock
from tests.support.histories import by_hand, edit, lose, put, reopened, truncate


def titles(entries: tuple[LogEntry, ...]) -> list[str]:
    return [each.title for each in entries]


def as_someone(group: Group, agent: str, session: str = "") -> Group:
    return Group(group.store, group.name, who=Who(agent, session), now=group.now)


def test_an_entry_says_all_that_the_commit_says(group: Group) -> None:
    written = put(
        group, "notes/a.md", "# Tea\n", reason="she said so\n\ntwice", turn="7", operation="op-1"
    )

    newest = log(group)[0]

    assert newest == LogEntry(
        commit=written.commit,
        op="write",
        agent="ada",
        session="s-1",
        source="chat",
        turn="7",
        reason="she said so\n\ntwice",
        title="Tea",
        subject="write(notes/a.md): Tea",
        time=newest.time,
        paths=("notes/a.md",),
        violations=(),
        id="op-1",
        undoes=(),
        moved_from="",
    )
    assert newest.time.isoformat() == by_hand(group, "log", "-1", "--format=%aI")


def test_the_newest_comes_first_as_in_git_log(group: Group) -> None:
    for text in ("one", "two", "three"):
        put(group, "a.md", f"{text}\n")

    assert [each.commit for each in log(group)] == by_hand(group, "log", "--format=%H").split()
    assert titles(log(group)) == ["three", "two", "one", "the memory of main"]


def test_every_path_of_a_commit_is_named(group: Group) -> None:
    write(group, [Edit("b.md", "b\n"), Edit("ä/a.md", "a\n"), Edit("c d.md", "c\n")])

    entry = log(group)[0]

    assert entry.paths == ("b.md", "c d.md", "ä/a.md")
    assert (entry.subject, entry.title) == ("write(3 files): b", "b")


@pytest.mark.parametrize("path", ["a): b.md", "x: y/z.md", "(x).md", "n" * 90 + ".md"])
def test_a_strange_path_does_not_get_into_the_title(group: Group, path: str) -> None:
    put(group, path, "# Title\n")

    assert log(group)[0].title == "Title"


def test_a_commit_by_plain_git_has_no_operation_and_its_own_author(group: Group) -> None:
    edit(group, "a.md", "one\n")
    by_hand(group, "add", "a.md")
    by_hand(group, "commit", "-q", "-m", "fix: a typo", "-m", "It was wrong.")

    entry = log(group)[0]

    assert (entry.op, entry.agent, entry.session, entry.id) == ("", "A Person", "", "")
    assert (entry.title, entry.reason) == ("fix: a typo", "It was wrong.")


def test_what_a_reason_says_is_not_believed_to_be_a_trailer(group: Group) -> None:
    put(group, "a.md", "one\n", reason="x\n\nGitmem-Agent: mallory\nGitmem-Undoes: deadbeef")

    entry = log(group)[0]

    assert (entry.agent, entry.undoes) == ("ada", ())
    assert "mallory" in entry.reason


def test_a_log_can_be_short(group: Group) -> None:
    for text in ("one", "two", "three"):
        put(group, "a.md", f"{text}\n")

    assert titles(log(group, limit=2)) == ["three", "two"]
    assert titles(log(group, "a.md", limit=1)) == ["three"]
    with pytest.raises(BadInput):
        log(group, limit=-1)


def test_entries_are_chosen_by_who_and_what(group: Group) -> None:
    put(group, "a.md", "one\n")
    put(as_someone(group, "bob", "s-2"), "a.md", "two\n")
    put(as_someone(group, "bob", "s-3"), "b.md", "three\n")
    edit(group, "a.md", "edited\n")
    capture(group)

    assert titles(log(group, agent="bob")) == ["three", "two"]
    assert titles(log(group, session="s-2")) == ["two"]
    assert titles(log(group, agent="bob", session="s-1")) == []
    assert titles(log(group, op="capture")) == ["edited"]
    assert titles(log(group, "a.md", agent="bob")) == ["two"]
    assert titles(log(group, agent="bob", limit=1)) == ["three"]
    assert log(group, "b.md", session="s-1") == ()


def test_since_begins_with_the_interval(store: Store, group: Group, clock: Clock) -> None:
    (store.root / ".env").write_text("TZ=Europe/Berlin\n")
    group = reopened(group)
    clock.set("2026-03-28T22:59:30+00:00")
    put(group, "a.md", "saturday night\n")
    clock.set("2026-03-28T23:00:30+00:00")
    put(group, "a.md", "sunday, past midnight\n")
    clock.set("2026-03-29T20:00:00+00:00")
    put(group, "b.md", "sunday evening\n")

    assert titles(log(group, since="2026-03-29")) == ["sunday evening", "sunday, past midnight"]
    assert titles(log(group, since="today")) == titles(log(group, since="2026-03-29"))
    assert titles(log(group, "a.md", since="today")) == ["sunday, past midnight"]
    assert titles(log(group, since="1 hour ago")) == ["sunday evening"]
    assert log(group, "a.md", since="now") == ()


@pytest.mark.parametrize("since", ["HEAD~1", "soon", "2026-02-30"])
def test_since_is_a_date(group: Group, since: str) -> None:
    with pytest.raises(BadInput):
        log(group, since=since)


def test_a_path_has_the_commits_that_touched_it(group: Group) -> None:
    put(group, "notes/a.md", "one\n")
    put(group, "notes/b.md", "two\n")
    put(group, "c.md", "three\n")
    put(group, "notes/a.md", "four\n")

    assert titles(log(group, "notes/a.md")) == ["four", "one"]
    assert titles(log(group, "notes")) == titles(log(group, "notes/")) == ["four", "two", "one"]
    assert titles(log(group, str(group.worktree / "c.md"))) == ["three"]
    assert titles(log(group, ".")) == titles(log(group))


def test_a_move_by_gitmem_is_followed(group: Group) -> None:
    put(group, "old.md", "one\n")
    put(group, "old.md", "two\n")
    move(group, "old.md", "ärchive/new.md", reason="tidy")
    put(group, "ärchive/new.md", "three\n")

    found = log(group, "ärchive/new.md")

    assert [(each.op, each.moved_from) for each in found] == [
        ("write", ""),
        ("move", "old.md"),
        ("write", ""),
        ("write", ""),
    ]
    assert found[1].paths == ("old.md", "ärchive/new.md")
    ours = [each.commit for each in found]
    assert ours == by_hand(group, "log", "--follow", "--format=%H", "--", "ärchive/new.md").split()


def test_a_move_by_gitmem_is_followed_although_the_text_changed_on_the_way(group: Group) -> None:
    lines = "".join(f"line {number}\n" for number in range(10))
    put(group, "old.md", lines)
    (group.worktree / "old.md").unlink()
    edit(group, "new.md", lines.replace("line 1\n", "").replace("line 2\n", ""))
    capture(group)

    assert [(each.op, each.moved_from) for each in log(group, "new.md")] == [
        ("capture", "old.md"),
        ("write", ""),
    ]


def test_a_folder_that_gitmem_moved_is_followed(group: Group) -> None:
    put(group, "old/a.md", "one\n")
    put(group, "old/deep/b.md", "one\n")
    move(group, "old", "new")
    put(group, "new/a.md", "two\n")

    assert [(each.op, each.moved_from) for each in log(group, "new")] == [
        ("write", ""),
        ("move", "old"),
        ("write", ""),
        ("write", ""),
    ]
    assert [each.op for each in log(group, "new/deep/b.md")] == ["move", "write"]
    assert log(group, "new/a.md")[1].moved_from == "old/a.md"


def test_a_move_by_a_person_is_followed(group: Group) -> None:
    put(group, "old.md", "one\n")
    by_hand(group, "mv", "old.md", "new.md")
    by_hand(group, "commit", "-q", "-m", "renamed")
    put(group, "new.md", "one\ntwo\n")

    found = log(group, "new.md")

    assert [(each.title, each.moved_from) for each in found] == [
        ("two", ""),
        ("renamed", "old.md"),
        ("one", ""),
    ]
    assert [each.moved_from for each in log(group)][:2] == ["", "old.md"]


def test_a_deleted_file_still_has_its_history(group: Group) -> None:
    put(group, "a.md", "one\n")
    (group.worktree / "a.md").unlink()
    capture(group)
    put(group, "b.md", "two\n")

    assert titles(log(group, "a.md")) == ["deleted", "one"]


def test_a_file_that_came_back_has_both_of_its_lives(group: Group) -> None:
    put(group, "a.md", "one\n")
    (group.worktree / "a.md").unlink()
    capture(group)
    put(group, "a.md", "two\n")

    assert titles(log(group, "a.md")) == ["two", "deleted", "one"]


def merged_by_hand(group: Group) -> None:
    put(group, "a.md", "one\n")
    at = group.now()
    stamps = [f"{int(at.timestamp()) + seconds} +0000" for seconds in (10, 20, 30)]
    by_hand(group, "checkout", "-q", "-b", "side")
    edit(group, "side.md", "aside\n")
    by_hand(group, "add", "side.md")
    by_hand(group, "commit", "-q", "-m", "on the side", at=stamps[0])
    by_hand(group, "checkout", "-q", "main")
    edit(group, "a.md", "two\n")
    by_hand(group, "commit", "-q", "-a", "-m", "on main", at=stamps[1])
    by_hand(group, "merge", "-q", "--no-ff", "-m", "both", "side", at=stamps[2])


def test_a_merge_by_a_person_loses_no_commit_of_its_second_parent(group: Group) -> None:
    merged_by_hand(group)

    found = log(group)

    assert titles(found) == ["both", "on main", "on the side", "one", "the memory of main"]
    assert [each.commit for each in found] == by_hand(group, "log", "--format=%H").split()
    assert found[0].paths == ("side.md",)
    assert titles(log(group, "side.md")) == ["on the side"]
    assert titles(log(group, "a.md")) == ["on main", "one"]


def test_an_undo_names_what_it_undid(group: Group) -> None:
    put(group, "a.md", "one\n")
    second = put(group, "a.md", "two\n").commit
    undo(group, [second])

    assert log(group)[0].undoes == (second,)


def test_a_capture_that_broke_a_rule_says_so(group: Group) -> None:
    put(group, "a.md", "a line of some length\n" * 40)
    edit(group, "a.md", "short\n")
    capture(group)

    assert log(group)[0].violations == ("shrink a.md 880 -> 6 bytes",)


def test_a_path_that_never_was_is_not_answered_with_silence(group: Group) -> None:
    put(group, "notes.md", "one\n")

    with pytest.raises(PathNotFound) as caught:
        log(group, "notse.md")

    assert caught.value.facts["near"] == ["notes.md"]


@pytest.mark.parametrize("path", ["../other/a.md", "/etc/passwd", "a/../b"])
def test_a_path_that_leads_out_is_refused(group: Group, path: str) -> None:
    with pytest.raises(PathRefused):
        log(group, path)


def test_a_short_log_does_not_read_old_commits(group: Group) -> None:
    for number in range(5):
        put(group, "a.md", f"{number}\n")
    first = log(group)[-2].commit
    lose(group.repository, first)
    group = reopened(group)

    assert titles(log(group, limit=3)) == ["4", "3", "2"]
    assert titles(log(group, "a.md", limit=3)) == ["4", "3", "2"]
    with pytest.raises(ObjectDamaged):
        log(group)


def test_a_log_is_made_one_by_one(group: Group) -> None:
    put(group, "a.md", "one\n")
    put(group, "a.md", "two\n")
    entries = iter_log(group)

    assert next(entries).title == "two"
    put(group, "a.md", "three\n")
    assert next(entries).title == "one"


def test_the_log_of_a_path_does_not_read_other_folders(group: Group) -> None:
    put(group, "notes/a.md", "one\n")
    put(group, "other/b.md", "two\n")
    put(group, "notes/a.md", "three\n")
    snapshot = group.repository.snapshot()
    other = snapshot.node("other")
    assert other
    truncate(group.repository, other.oid)
    group = reopened(group)

    assert titles(log(group, "notes/a.md")) == ["three", "one"]
    with pytest.raises(ObjectDamaged):
        log(group, "other/b.md")


def test_a_damaged_tree_hides_paths_and_not_the_log(group: Group) -> None:
    put(group, "a.md", "one\n")
    put(group, "a.md", "two\n")
    truncate(group.repository, group.repository.snapshot().root)
    group = reopened(group)

    found = log(group)

    assert titles(found) == ["two", "one", "the memory of main"]
    assert [each.paths for each in found] == [(), ("a.md",), ()]
    with pytest.raises(ObjectDamaged):
        log(group, "a.md")
