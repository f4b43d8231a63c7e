"""A branch that a person moved with plain git: what left it is put back, or kept."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from gitmem.errors import Damaged, GitmemError, PathNotFound
from gitmem.memory.admin.committed_secrets import acknowledge
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store
from gitmem.memory.read.diff import diff
from gitmem.memory.read.read import read
from gitmem.memory.read.show import show
from gitmem.memory.read.status import status
from gitmem.memory.recover.kept import kept_drop, kept_list, kept_restore
from gitmem.memory.recover.restore import restore
from gitmem.memory.recover.undo import undo
from gitmem.memory.write.capture import capture
from gitmem.memory.write.write import Edit, write
from gitmem.store.fsck.findings import CheckFinding
from gitmem.store.fsck.reflogs import REWOUND
from gitmem.store.lock import last_published, lock_path
from gitmem.store.lost_commits.kept import kept_refs, newest_copy
from gitmem.store.lost_commits.merge_back import Rejoined
from gitmem.store.repository import BranchLost
from tests.faults.test_kill import die_at
from tests.support.damage import check_now, object_file, oid
from tests.support.faults import Scene, assert_sound, commits_of, files_on_disk, new_scene
from tests.support.git import git, git_bytes
from tests.support.processes import alone

PERSON = {
    "GIT_AUTHOR_NAME": "Person",
    "GIT_AUTHOR_EMAIL": "person@example.org",
    "GIT_COMMITTER_NAME": "Person",
    "GIT_COMMITTER_EMAIL": "person@example.org",
}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return new_scene(tmp_path / "store", {"a.md": b"first\n", "b.md": b"b\n"})


def by_person(scene: Scene, *arguments: str) -> str:
    """What a person types in the group's folder."""
    return git(scene.worktree, *arguments, env=PERSON)


@contextmanager
def moved_meanwhile(scene: Scene, message: str, to: str) -> Iterator[None]:
    """What `git reset` does to a branch that moved after it had read HEAD: it does not compare."""
    before = scene.head()
    yield
    assert scene.head() != before
    by_person(scene, "update-ref", "-m", message, "refs/heads/main", to or before)


def stashed_meanwhile(scene: Scene, *edits: Edit) -> str:
    """A write whose commit a `git stash` takes off the branch, files included; tell the commit."""
    before = scene.head()
    with moved_meanwhile(scene, "reset: moving to HEAD", before):
        written = scene.write(*edits)
    by_person(scene, "read-tree", "--reset", "-u", before)
    return written.commit


def next_writer(scene: Scene) -> list[Rejoined]:
    """The next command that takes the lock, and what it found."""
    with scene.opened() as group, group.writing() as writer:
        return list(writer.rejoined)


def test_a_write_that_a_stash_took_off_the_branch_is_put_back(scene: Scene) -> None:
    lost = stashed_meanwhile(scene, Edit("a.md", "second\n"), Edit("new.md", "new\n"))
    assert scene.files()["a.md"] == b"first\n"
    (found,) = next_writer(scene)
    assert found == Rejoined(lost, 1, lost, "reset: moving to HEAD")
    assert scene.head() == lost, "the commit itself is back: nothing else was there"
    assert_sound(scene)
    assert next_writer(scene) == []


def test_the_next_write_stands_on_top_of_what_was_put_back(scene: Scene) -> None:
    lost = stashed_meanwhile(scene, Edit("a.md", "second\n"))
    scene.write(Edit("a.md", "third\n", append=True))
    assert scene.files()["a.md"] == b"second\nthird\n"
    assert lost in commits_of(scene.gitdir)
    assert_sound(scene)


def test_commits_of_a_person_since_are_merged_with_what_is_put_back(scene: Scene) -> None:
    lost = stashed_meanwhile(scene, Edit("a.md", "first\nby the agent\n"), Edit("n.md", "n\n"))
    (scene.worktree / "a.md").write_bytes(b"by a person\nfirst\n")
    by_person(scene, "commit", "-qam", "by hand")
    theirs = scene.head()
    (found,) = next_writer(scene)
    assert found.commit == lost
    assert found.landed == scene.head() not in (lost, theirs)
    assert scene.files()["a.md"] == b"by a person\nfirst\nby the agent\n"
    assert scene.files()["n.md"] == b"n\n"
    assert {lost, theirs} <= commits_of(scene.gitdir)
    assert_sound(scene)


def test_an_edit_made_after_the_stash_is_not_lost(scene: Scene) -> None:
    stashed_meanwhile(scene, Edit("a.md", "first\nby the agent\n"))
    (scene.worktree / "a.md").write_bytes(b"by an editor\nfirst\n")
    next_writer(scene)
    assert scene.files()["a.md"] == b"by an editor\nfirst\nby the agent\n"
    assert_sound(scene)


def test_an_edit_of_the_published_version_is_not_lost(scene: Scene) -> None:
    """Only the branch was moved: the file still is what was published, and edited on top."""
    before = scene.head()
    with moved_meanwhile(scene, "reset: moving to HEAD", before):
        scene.write(Edit("a.md", "first\nby the agent\n"))
    (scene.worktree / "a.md").write_bytes(b"first\nby the agent\nby an editor\n")
    next_writer(scene)
    capture_all(scene)
    assert scene.files()["a.md"] == b"first\nby the agent\nby an editor\n"
    assert_sound(scene)


def test_a_stash_can_still_be_popped(scene: Scene) -> None:
    (scene.worktree / "b.md").write_bytes(b"b\nstashed\n")
    by_person(scene, "stash")
    lost = stashed_meanwhile(scene, Edit("a.md", "second\n"))
    assert next_writer(scene)[0].landed == lost
    by_person(scene, "stash", "pop")
    assert files_on_disk(scene.worktree) == {"a.md": b"second\n", "b.md": b"b\nstashed\n"}
    capture_all(scene)
    assert_sound(scene)


@pytest.mark.parametrize(
    "typed",
    [
        ("commit", "--amend", "-m", "amended"),
        ("reset", "--hard", "HEAD~1"),
        ("reset", "--soft", "HEAD~1"),
        ("update-ref", "refs/heads/main", "main~1"),
        ("checkout", "-B", "main", "HEAD~1"),
        ("rebase", "-q", "--onto", "HEAD~2", "HEAD~1"),
    ],
    ids=" ".join,
)
def test_what_somebody_meant_is_kept_and_not_put_back(scene: Scene, typed: tuple[str, ...]) -> None:
    scene.write(Edit("between.md", "between\n"))
    gone = scene.write(Edit("a.md", "second\n")).commit
    by_person(scene, *typed)
    after = scene.head()
    (found,) = next_writer(scene)
    assert (found.commit, found.landed) == (gone, "")
    assert list(kept_refs(scene.gitdir).values()) == [gone]
    assert gone not in commits_of(scene.gitdir)
    assert after in commits_of(scene.gitdir)
    assert next_writer(scene) == []
    by_person(scene, "reflog", "expire", "--expire=now", "--all")
    by_person(scene, "gc", "-q", "--prune=now")
    assert git(scene.gitdir, "show", f"{gone}:a.md") == "second\n"


def test_what_was_moved_unmeant_and_then_meant_is_kept(scene: Scene) -> None:
    """An amend may have removed a secret: to merge what lay beside it would bring that back."""
    lost = stashed_meanwhile(scene, Edit("a.md", "second\n"))
    by_person(scene, "commit", "-q", "--amend", "-m", "amended")
    (found,) = next_writer(scene)
    assert (found.commit, found.landed) == (lost, "")
    assert lost in kept_refs(scene.gitdir).values()


def test_commits_of_a_person_on_top_are_not_touched(scene: Scene) -> None:
    for number in range(3):
        (scene.worktree / "a.md").write_bytes(b"%d\n" % number)
        by_person(scene, "commit", "-qam", f"by hand {number}")
    head = scene.head()
    assert next_writer(scene) == []
    assert scene.head() == last_published(scene.gitdir) == head


def test_a_lost_branch_file_is_healed_by_the_next_writer(scene: Scene) -> None:
    by_person(scene, "pack-refs", "--all")
    head = scene.write(Edit("a.md", "second\n")).commit
    (scene.gitdir / "refs/heads/main").unlink()
    assert scene.head() != head, "git falls back to what was packed, without a word"
    next_writer(scene)
    assert scene.head() == head
    assert_sound(scene)


def test_a_read_sees_past_a_lost_branch_file(scene: Scene) -> None:
    by_person(scene, "pack-refs", "--all")
    scene.write(Edit("a.md", "second\n"))
    head = scene.write(Edit("a.md", "third\n")).commit
    (scene.gitdir / "refs/heads/main").unlink()
    with scene.opened() as group:
        assert read(group, "a.md").data == b"third\n"
        assert group.repository.tip() == head
    assert not (scene.gitdir / "refs/heads/main").exists(), "who only reads changes nothing"


def test_a_read_fails_where_nobody_can_tell_what_is_newest(scene: Scene) -> None:
    by_person(scene, "pack-refs", "--all")
    head = scene.write(Edit("a.md", "second\n")).commit
    (scene.gitdir / "refs/heads/main").unlink()
    (scene.gitdir / "objects" / head[:2] / head[2:]).unlink()
    with scene.opened() as group, pytest.raises(BranchLost) as lost:
        read(group, "a.md")
    assert "check --repair" in lost.value.hint
    assert check_now(scene, repair=True).findings
    capture_all(scene)
    with scene.opened() as group:
        assert read(group, "a.md").data == b"second\n", "the work tree still had it"
    assert_sound(scene)


def test_a_branch_that_is_packed_and_whole_is_read_as_it_is(scene: Scene) -> None:
    by_person(scene, "pack-refs", "--all")
    with scene.opened() as group:
        assert read(group, "a.md").data == b"first\n"
    assert scene.write(Edit("a.md", "second\n")).commit == scene.head()


def test_an_edit_whose_capture_left_the_branch_stays(scene: Scene) -> None:
    """A record counts only while the branch has its commit."""
    (scene.worktree / "a.md").write_bytes(b"edited\n")
    lock = scene.gitdir / "index.lock"
    lock.touch()
    capture_all(scene)
    lock.unlink()
    by_person(scene, "update-ref", "refs/heads/main", "main~1")
    scene.write(Edit("b.md", "x\n"))
    assert (scene.worktree / "a.md").read_bytes() == b"edited\n"
    capture_all(scene)
    assert scene.files()["a.md"] == b"edited\n"
    assert_sound(scene)


def test_a_capture_that_left_the_branch_unmeant_is_put_back(scene: Scene) -> None:
    (scene.worktree / "a.md").write_bytes(b"edited\n")
    lock = scene.gitdir / "index.lock"
    lock.touch()
    before = scene.head()
    with moved_meanwhile(scene, "reset: moving to HEAD", before):
        capture_all(scene)
    lock.unlink()
    lost = last_published(scene.gitdir)
    (found,) = next_writer(scene)
    assert found.landed == lost == scene.head()
    assert scene.files()["a.md"] == b"edited\n"
    assert_sound(scene)


def test_files_and_folders_that_do_not_go_together_are_kept_apart(scene: Scene) -> None:
    lost = stashed_meanwhile(scene, Edit("notes/x.md", "x\n"))
    (scene.worktree / "notes").write_bytes(b"a file of that name\n")
    by_person(scene, "add", "notes")
    by_person(scene, "commit", "-qm", "by hand")
    (found,) = next_writer(scene)
    assert (found.commit, found.landed) == (lost, "")
    assert lost in kept_refs(scene.gitdir).values()
    assert_sound(scene)


def test_a_commit_that_cannot_be_read_stops_nobody(scene: Scene) -> None:
    lost = stashed_meanwhile(scene, Edit("a.md", "second\n"))
    (scene.gitdir / "objects" / lost[:2] / lost[2:]).unlink()
    assert scene.write(Edit("b.md", "x\n")).commit == scene.head()


def test_a_group_that_may_only_be_read_is_not_healed(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store")
    store = Store(scene.root)
    init(store, "global")
    shared = Group(store, "global")
    write(shared, [Edit("g.md", "one\n")])
    gitdir = store.gitdir("global")
    git(gitdir, "pack-refs", "--all")
    write(shared, [Edit("g.md", "two\n")])
    shared.close()
    (gitdir / "refs/heads/main").unlink()
    before = sorted(str(path) for path in gitdir.rglob("*"))
    reader = Group(store, "global", acting="research")
    assert read(reader, "g.md").data == b"two\n"
    with pytest.raises(GitmemError):
        write(reader, [Edit("g.md", "three\n")])
    reader.close()
    assert sorted(str(path) for path in gitdir.rglob("*")) == before


def test_what_is_restored_later_does_not_hide_what_came_since(scene: Scene) -> None:
    """Retries, checkpoints and `--last` walk along the first parents."""
    gone = scene.write(Edit("gone.md", "gone\n")).commit
    by_person(scene, "reset", "-q", "--hard", "HEAD~1")
    since = [scene.write(Edit("since.md", f"{number}\n")).commit for number in range(3)]
    with scene.opened() as group:
        done = kept_restore(group, gone[:10])
    line = git(scene.gitdir, "rev-list", "--first-parent", "main").split()
    assert line[:2] == [done.commit, since[-1]]
    assert {"gone.md", "since.md"} <= scene.files().keys()
    assert_sound(scene)


# A lost line of commits that cannot be read whole ------------------------------------------------


def rewound_line(scene: Scene, message: str = "reset: moving to HEAD") -> dict[str, str]:
    """Three writes that a move of the branch took away, files included; tell the commits."""
    before = scene.head()
    made = {
        "d": scene.write(Edit("a.md", "second\n"), Edit("d.md", "d\n")).commit,
        "x": scene.write(Edit("notes/x.md", "x\n"), Edit("notes/y.md", "y\n")).commit,
        "e": scene.write(Edit("e.md", "precious\n")).commit,
    }
    by_person(scene, "update-ref", "-m", message, "refs/heads/main", before)
    by_person(scene, "read-tree", "--reset", "-u", before)
    return made


def lose(scene: Scene, revision: str) -> str:
    """Let nobody find the object at REVISION any more; tell which it is."""
    name = oid(scene, revision)
    (scene.gitdir / "objects" / name[:2] / name[2:]).unlink()
    return name


WHOLE = {
    "a.md": b"second\n",
    "b.md": b"b\n",
    "d.md": b"d\n",
    "notes/x.md": b"x\n",
    "notes/y.md": b"y\n",
    "e.md": b"precious\n",
}
LOSSES: dict[str, tuple[str, dict[str, bytes | None], str]] = {
    "a file": ("{d}:d.md", {"d.md": None}, "d.md of {d:.10}"),
    "a newer version": ("{d}:a.md", {"a.md": b"first\n"}, "a.md of {d:.10}"),
    "a folder": (
        "{x}:notes",
        {"notes/x.md": None, "notes/y.md": None},
        "notes of {x:.10}",
    ),
    "the folder of the last commit": ("{e}^{{tree}}", {"e.md": None}, "the files of {e:.10}"),
    "the first commit": ("{d}", {}, "commit {d:.10}"),
    "a commit in the middle": ("{x}", {}, "commit {x:.10}"),
    "the last commit": ("{e}", {"e.md": None}, "commit {e:.10}"),
}


@pytest.mark.parametrize(("revision", "instead", "told"), LOSSES.values(), ids=LOSSES)
def test_what_can_be_read_of_a_damaged_line_is_put_back(
    scene: Scene, revision: str, instead: dict[str, bytes | None], told: str
) -> None:
    made = rewound_line(scene)
    lose(scene, revision.format(**made))
    with scene.opened() as group:
        write(group, [Edit("c.md", "c\n")])
        (found,) = group.rejoined
    expected = {**WHOLE, **instead, "c.md": b"c\n"}
    standing = {path: data for path, data in expected.items() if data is not None}
    assert scene.files() == files_on_disk(scene.worktree) == standing
    assert [each.words for each in found.unreadable] == [told.format(**made)] * bool(told)
    assert told.format(**made) in found.message
    wrote = {"d": "write(2 files): second", "x": "write(2 files): x", "e": "write(e.md): precious"}
    lost = {each.object for each in found.unreadable}
    said = git(scene.gitdir, "log", "--format=%s", "main").splitlines()
    assert {words for name, words in wrote.items() if made[name] not in lost} <= set(said)
    assert next_writer(scene) == []


@pytest.mark.parametrize("revision", ["{x}:notes", "{x}"])
def test_a_damaged_line_that_somebody_took_off_is_kept(scene: Scene, revision: str) -> None:
    made = rewound_line(scene, "reset: moving to HEAD~3")
    lose(scene, revision.format(**made))
    (found,) = next_writer(scene)
    assert found.landed == ""
    assert found.unreadable
    assert list(kept_refs(scene.gitdir).values()) == [found.commit]
    with scene.opened() as group:
        assert kept_list(group)[0].how == "reset: moving to HEAD~3"
        kept_restore(group, found.commit[:10])
    assert scene.files()["e.md"] == b"precious\n"
    assert_nothing_blocks_gc(scene)


def assert_nothing_blocks_gc(scene: Scene) -> None:
    """`check --repair` leaves nothing that leads to a missing object, and still names the loss."""
    checked = check_now(scene, repair=True)
    assert {each.code for each in checked.findings if each.stands} == {"version-lost"}
    by_person(scene, "gc", "-q", "--prune=now")
    by_person(scene, "bundle", "create", "-q", str(scene.root / "all.bundle"), "--all")
    assert git(scene.gitdir, "fsck", "--strict", "--no-dangling") == ""
    assert {each.code for each in check_now(scene).findings if each.stands} == {"version-lost"}


@pytest.mark.parametrize("revision", ["{d}:d.md", "{e}"])
def test_what_was_lost_is_named_until_somebody_knows_of_it(scene: Scene, revision: str) -> None:
    made = rewound_line(scene)
    lost = lose(scene, revision.format(**made))
    next_writer(scene)
    with scene.opened() as group:
        found = status(group)
        assert [each.object for each in found.unreadable] == [lost]
        assert (found.health, found.concerns) == ("attention", ("1 version lost",))
    assert_nothing_blocks_gc(scene)
    with scene.opened() as group:
        assert acknowledge(group, [found.unreadable[0].id]).changed
        assert status(group).health == "ok"
    assert check_now(scene).sound


def test_repair_copies_a_kept_line_that_was_damaged_since(scene: Scene) -> None:
    made = rewound_line(scene, "reset: moving to HEAD~3")
    (found,) = next_writer(scene)
    assert (found.commit, found.unreadable) == (made["e"], ())
    lose(scene, "{d}:d.md".format(**made))
    assert_nothing_blocks_gc(scene)
    (kept,) = kept_refs(scene.gitdir).values()
    assert kept != made["e"]
    assert git(scene.gitdir, "show", f"{kept}:e.md") == "precious\n"
    with scene.opened() as group:
        assert kept_list(group)[0].how == "reset: moving to HEAD~3"


def test_files_of_a_lost_commit_are_not_guessed(scene: Scene) -> None:
    """A commit that somebody broke off leaves a tree that fits all that the reflog says."""
    made = rewound_line(scene)
    rows = git(scene.gitdir, "ls-tree", made["e"])
    other = git(scene.gitdir, "hash-object", "-w", "--stdin", input="never committed\n").strip()
    told = oid(scene, f"{made['e']}:e.md")
    git(scene.gitdir, "mktree", input=rows.replace(told, other))
    lose(scene, f"{made['e']}^{{tree}}")
    lose(scene, made["e"])
    (found,) = next_writer(scene)
    assert [each.object for each in found.unreadable] == [made["e"]]
    assert "e.md" not in scene.files()
    assert scene.files()["notes/x.md"] == b"x\n"


@pytest.mark.parametrize("step", [1, 4])
def test_whoever_dies_while_a_damaged_line_is_put_back_loses_nothing(
    scene: Scene, step: int
) -> None:
    made = rewound_line(scene)
    lose(scene, "{d}:d.md".format(**made))
    lose(scene, "{x}".format(**made))
    said = alone(die_at, str(scene.root), [["c.md", "c\n"]], step)
    assert said[0][0] == "dies"
    scene.write(Edit("since.md", "since\n"))
    lost = {"d.md", "c.md"}  # what cannot be read, and what was never acknowledged
    assert WHOLE.items() - {("d.md", b"d\n")} <= scene.files().items()
    assert lost.isdisjoint(scene.files())
    assert_nothing_blocks_gc(scene)


def test_a_version_that_is_written_again_is_no_longer_lost(scene: Scene) -> None:
    made = rewound_line(scene)
    lose(scene, "{d}:d.md".format(**made))
    assert next_writer(scene)
    scene.write(Edit("d.md", "d\n"))
    with scene.opened() as group:
        assert status(group).unreadable == ()
    assert check_now(scene).sound


@pytest.mark.parametrize("meant", [True, False])
def test_repair_keeps_what_can_be_read_of_a_line_that_only_the_reflog_knows(
    scene: Scene, meant: bool
) -> None:
    """As a release leaves it that noticed nothing: the lock names no published tip."""
    made = rewound_line(scene, "reset: moving to " + ("HEAD~3" if meant else "HEAD"))
    for revision in ("{d}:d.md", "{x}"):
        lose(scene, revision.format(**made))
    Path(lock_path(scene.gitdir)).write_bytes(b"")
    (found,) = [each for each in check_now(scene).findings if each.code == REWOUND]
    assert found.object == made["e"]
    (done,) = [each for each in check_now(scene, repair=True).findings if each.code == REWOUND]
    assert done.repaired.startswith("kept as refs/gitmem/kept/")
    assert f"; d.md of {made['d'][:10]} and commit {made['x'][:10]} cannot be read" in done.repaired
    (kept,) = kept_refs(scene.gitdir).values()
    assert git(scene.gitdir, "show", f"{kept}:e.md") == "precious\n"
    said = git(scene.gitdir, "log", "--format=%s", kept)
    assert "write(2 files): second" in said
    assert "write(e.md): precious" in said
    assert_nothing_blocks_gc(scene)


def test_a_rebuilt_commit_says_whose_copy_it_is(scene: Scene) -> None:
    made = rewound_line(scene)
    lost = lose(scene, "{x}:notes/x.md".format(**made))
    (found,) = next_writer(scene)
    form = "%an %at %B"
    copies = git(scene.gitdir, "log", "-2", f"--format={form}", found.landed)
    assert f"Gitmem-Rebuilt: {made['x']}\nGitmem-Unreadable: blob {lost} notes/x.md\n" in copies
    assert f"Gitmem-Rebuilt: {made['e']}\n" in copies
    for name in ("x", "e"):
        whole = git(scene.gitdir, "log", "-1", f"--format={form}", made[name]).rstrip()
        assert whole in copies, "author, time, reason and trailers are as they were"
    assert made["d"] in commits_of(scene.gitdir), "what was whole is not copied"
    assert scene.files()["notes/y.md"] == b"y\n"


def two_versions(scene: Scene, path: str = "n.md", to: str = "HEAD~2") -> dict[str, str]:
    """Two versions of a file on a line that left the branch, of which the first is lost."""
    made = {
        "one": scene.write(Edit(path, "one\n")).commit,
        "two": scene.write(Edit(path, "one\ntwo\n")).commit,
    }
    made["blob"] = oid(scene, f"{made['one']}:{path}")
    by_person(scene, "update-ref", "-m", f"reset: moving to {to}", "refs/heads/main", "main~2")
    by_person(scene, "read-tree", "--reset", "-u", "main")
    lose(scene, made["blob"])
    return made


def copy_of(scene: Scene, commit: str) -> str:
    return newest_copy(scene.gitdir, commit)


def lost_versions(scene: Scene) -> list[CheckFinding]:
    return [each for each in check_now(scene).findings if each.code == "version-lost"]


def test_an_older_version_that_is_lost_does_not_get_on_the_branch(scene: Scene) -> None:
    """The newest versions are all there, so that a merge alone would notice nothing."""
    made = two_versions(scene, to="HEAD")
    (found,) = next_writer(scene)
    assert scene.files()["n.md"] == b"one\ntwo\n"
    assert made["one"] not in commits_of(scene.gitdir)
    assert found.remark == (
        "2 commits had left the branch by `reset: moving to HEAD` and are back; "
        f"n.md of {made['one'][:10]} cannot be read (see `gitmem check`)"
    )
    assert_nothing_blocks_gc(scene)


@pytest.mark.parametrize("first", [True, False], ids=["at once", "after a write"])
@pytest.mark.parametrize("copy", [True, False], ids=["the copy", "the old id"])
def test_a_damaged_line_can_be_dropped_by_either_id(scene: Scene, first: bool, copy: bool) -> None:
    made = two_versions(scene)
    if not first:
        next_writer(scene)
    with scene.opened() as group:
        wanted = copy_of(scene, made["two"]) if copy else made["two"]
        done = kept_drop(group, wanted[:10])
        assert group.rejoined == []
        assert kept_list(group) == ()
    assert done.kept == copy_of(scene, made["two"]) != made["two"]
    assert kept_refs(scene.gitdir) == {}
    assert next_writer(scene) == []
    check_now(scene, repair=True)
    assert kept_refs(scene.gitdir) == {}
    assert lost_versions(scene) == []


@pytest.mark.parametrize("first", [True, False], ids=["at once", "after a write"])
def test_a_damaged_line_can_be_restored_by_either_id_once(scene: Scene, first: bool) -> None:
    made = two_versions(scene)
    if not first:
        scene.write(Edit("since.md", "since\n"))
    with scene.opened() as group:
        done = kept_restore(group, made["two"][:10])
        told = [each.message for each in group.rejoined]
        assert all("and are back; n.md of" in each for each in told)
        assert len(told) == first
        assert done.kept == copy_of(scene, made["two"]) != made["two"]
        head = scene.head()
        for again in (made["two"], done.kept):
            restored = kept_restore(group, again[:10])
            assert (restored.kept, restored.commit, restored.changed) == (done.kept, head, False)
    assert scene.head() == head
    assert kept_refs(scene.gitdir) == {}
    assert scene.files()["n.md"] == b"one\ntwo\n"
    assert not {made["one"], made["two"]} & commits_of(scene.gitdir)
    assert_nothing_blocks_gc(scene)


@pytest.mark.parametrize("name", ["n.md", "a\x07`b\n.md", os.fsdecode(b"caf\xe9.md")])
def test_a_lost_version_comes_back_from_a_copy_of_the_group(scene: Scene, name: str) -> None:
    """Into the object database, not into the file: that has a newer version."""
    rows = [git(scene.gitdir, "ls-tree", "main^{tree}")]
    blobs = [
        git(scene.gitdir, "hash-object", "-w", "--stdin", input=text).strip()
        for text in ("one\n", "one\ntwo\n")
    ]
    before = scene.head()
    for blob in blobs:
        row = b"100644 blob %s\t%s\0" % (blob.encode(), os.fsencode(name))
        listed = rows[0].replace("\n", "\0").encode() + row
        tree = git_bytes(scene.gitdir, "mktree", "-z", input=listed).decode().strip()
        made = git(scene.gitdir, "commit-tree", tree, "-p", "main", "-m", "x", env=PERSON).strip()
        by_person(scene, "update-ref", "-m", "commit: x", "refs/heads/main", made)
    newest = f"{scene.head()}^{{tree}}"
    copy = str(scene.root / "copy")
    by_person(scene, "clone", "-q", "--bare", "--no-hardlinks", str(scene.gitdir), copy)
    by_person(scene, "read-tree", "--reset", "-u", "main")
    next_writer(scene)
    by_person(scene, "update-ref", "-m", "reset: moving to HEAD", "refs/heads/main", before)
    by_person(scene, "read-tree", "--reset", "-u", "main")
    object_file(scene, blobs[0]).write_bytes(b"xx")
    assert next_writer(scene)
    (found,) = lost_versions(scene)
    assert found.path == name
    typed = found.hint.split("`")[1].replace("COPY", copy)
    subprocess.run(["sh", "-c", typed], check=True, capture_output=True)
    assert lost_versions(scene) == []
    assert git(scene.gitdir, "rev-parse", "main^{tree}") == git(scene.gitdir, "rev-parse", newest)


def test_whoever_asks_for_a_lost_version_is_told_so(scene: Scene) -> None:
    made = two_versions(scene, to="HEAD")
    next_writer(scene)
    copy, newer = copy_of(scene, made["one"]), copy_of(scene, made["two"])
    with scene.opened() as group:
        for ask in (
            partial(read, group, "n.md", at=copy),
            partial(restore, group, "n.md", at=copy),
            partial(restore, group, "", at=copy),
            partial(restore, group, "n.md#entry", at=copy),
        ):
            with pytest.raises(Damaged, match="cannot be read") as caught:
                ask()
            assert caught.value.facts["object"] == made["blob"]
        assert read(group, "n.md", at=newer).data == b"one\ntwo\n"
        for commit in (copy, newer):
            assert [each.object for each in show(group, commit).unreadable] == [made["blob"]]
            assert [each.object for each in diff(group, commit + "^", commit).unreadable] == [
                made["blob"]
            ]
        for commit in (newer, copy):
            undone = undo(group, [commit])
            assert not undone.changed
            (left,) = undone.left
            assert (left.path, "cannot be read" in left.why) == ("n.md", True)
    assert scene.files()["n.md"] == b"one\ntwo\n"
    git(scene.gitdir, "hash-object", "-w", "--stdin", input="one\n")
    with scene.opened() as group:
        assert read(group, "n.md", at=copy).data == b"one\n"
        with pytest.raises(Damaged) as caught:
            restore(group, "n.md#entry", at=copy)
        assert f"restore('n.md', at='{copy[:10]}')" in caught.value.hint
        assert undo(group, [newer]).undone == (newer,)
        assert read(group, "n.md").data == b"one\n"


def test_an_older_version_is_not_shown_for_a_lost_one(scene: Scene) -> None:
    made = rewound_line(scene)
    lost = lose(scene, "{d}:a.md".format(**made))
    next_writer(scene)
    with scene.opened() as group:
        for name in ("d", "x"):
            with pytest.raises(Damaged) as caught:
                read(group, "a.md", at=copy_of(scene, made[name]))
            assert caught.value.facts["object"] == lost
        assert read(group, "a.md").data == b"first\n", "what stands there now is what it says"
        assert [each.words for each in show(group, copy_of(scene, made["x"])).unreadable] == []
        assert undo(group, [copy_of(scene, made["x"])]).left == ()


def test_a_file_that_was_left_out_is_not_called_unknown(scene: Scene) -> None:
    made = rewound_line(scene)
    lose(scene, "{d}:d.md".format(**made))
    next_writer(scene)
    with scene.opened() as group, pytest.raises(PathNotFound) as caught:
        read(group, "d.md")
    assert f"d.md of {made['d'][:10]} cannot be read" in caught.value.message


def test_a_commit_that_deleted_a_lost_file_lacks_nothing(scene: Scene) -> None:
    before = scene.head()
    one = scene.write(Edit("n.md", "one\n")).commit
    (scene.worktree / "n.md").unlink()
    capture_all(scene)
    gone = scene.head()
    by_person(scene, "update-ref", "-m", "reset: moving to HEAD", "refs/heads/main", before)
    by_person(scene, "read-tree", "--reset", "-u", "main")
    lost = lose(scene, f"{one}:n.md")
    next_writer(scene)
    with scene.opened() as group:
        copy = copy_of(scene, gone)
        with pytest.raises(PathNotFound):
            read(group, "n.md", at=copy)
        assert [each.object for each in show(group, copy).unreadable] == [lost]
        assert [each.path for each in undo(group, [copy]).left] == ["n.md"]


def test_what_a_commit_after_a_lost_one_did_is_not_guessed(scene: Scene) -> None:
    """Its files are those of both; to take them back would take back what the lost one did."""
    made = rewound_line(scene)
    lose(scene, made["x"])
    next_writer(scene)
    before = scene.files()
    copy = copy_of(scene, made["e"])
    with scene.opened() as group:
        assert [each.object for each in show(group, copy).unreadable] == [made["x"]]
        assert undo(group, [copy]).left
        assert undo(group, [copy_of(scene, made["x"])]).left
    assert scene.files() == before


def test_to_know_of_one_loss_hides_no_later_one(scene: Scene) -> None:
    made = two_versions(scene, to="HEAD")
    next_writer(scene)
    (first,) = lost_versions(scene)
    with scene.opened() as group:
        acknowledge(group, [first.id])
    assert lost_versions(scene) == []
    assert two_versions(scene, "third.md", to="HEAD")["blob"] == made["blob"]
    next_writer(scene)
    found = lost_versions(scene)
    assert [each.object for each in found] == [made["blob"]]
    assert found[0].path == "third.md"
    assert found[0].id != first.id


def test_one_damaged_file_that_nothing_needs_is_one(scene: Scene) -> None:
    stray = git(scene.gitdir, "hash-object", "-w", "--stdin", input="stray\n").strip()
    object_file(scene, stray).write_bytes(b"xx")
    (found,) = check_now(scene).findings
    assert found.message == "1 damaged object file that no history needs"


def capture_all(scene: Scene) -> None:
    with scene.opened() as group:
        capture(group, wait=0.2)
