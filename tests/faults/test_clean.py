"""A person cleans up with plain git while a replaced file is still open, or its writer is dead.

What somebody still writes to must survive every such command, and no file of ours may be committed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import gitmem.store.fault_points
import gitmem.store.transaction.publish
from gitmem.memory.admin.check import check
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.status import status
from gitmem.memory.upkeep.maintain import maintain
from gitmem.memory.write.capture import capture
from gitmem.memory.write.write import Edit, write
from gitmem.store.worktree.swap import SWAPPED, path_of, swapped
from tests.faults.test_kill import die_at
from tests.support.disks import other_disk
from tests.support.faults import (
    ANYTHING_GOES,
    UNACKNOWLEDGED,
    Scene,
    assert_sound,
    copied,
    leftovers,
    line,
    new_scene,
    write_once,
)
from tests.support.git import git
from tests.support.processes import alone
from tests.support.releases import Release, previous_code, this_code

BEFORE = {"a.md": b"first\n", "notes/c.md": b"c\n"}
PERSON = ("-c", "user.name=A Person", "-c", "user.email=person@example.org")
CLEANERS = {
    "clean -fd": (("clean", "-fdq"),),
    "clean -fdx": (("clean", "-ffdxq"),),
    "stash -u": (("stash", "-u"), ("stash", "pop")),
    "stash -a": (("stash", "-a"), ("stash", "pop")),
    "add and commit": (("add", "-A"), ("commit", "-qm", "all of it")),
    "checkout -f": (("checkout", "-qf"),),
}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return new_scene(tmp_path / "store", BEFORE)


def clean(worktree: Path, name: str) -> None:
    """What a person types; where there is nothing to stash or to commit, git says so and fails."""
    for words in CLEANERS[name]:
        git(worktree, *PERSON, *words, check=False)


def committed_names(scene: Scene) -> set[str]:
    """Every path in any commit of any ref, those of the stash too."""
    shown = git(scene.gitdir, "log", "--all", "-m", "--format=", "--name-only")
    return set(shown.split())


def tokens_anywhere(scene: Scene) -> str:
    """What every version says that a ref, also the stash, can reach."""
    return git(scene.gitdir, "log", "--all", "-m", "-p", "--format=")


@pytest.mark.parametrize("name", CLEANERS)
def test_a_late_edit_survives_whatever_a_person_cleans_up_with(
    scene: Scene, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gitmem.store.transaction.publish, "PATIENCE", 0.01)
    with (scene.worktree / "a.md").open("a") as file:
        assert scene.write(Edit("a.md", line("ours"), append=True)).pending
        file.write(line("late"))
        file.flush()
        clean(scene.worktree, name)
    scene.write(Edit("notes/c.md", line("other")))

    text = scene.files()["a.md"].decode()
    assert line("late") in text
    assert line("ours") in text
    assert not [each for each in committed_names(scene) if ".gitmem" in each]
    assert_sound(scene)


@pytest.mark.parametrize("name", ["clean -fdx", "stash -a", "add and commit"])
def test_nothing_is_cleaned_away_that_a_dead_writer_left(tmp_path: Path, name: str) -> None:
    origin = new_scene(tmp_path / "origin", BEFORE)
    for step in range(1, 100):
        scene = copied(origin, tmp_path / f"store {step}")
        with (scene.worktree / "a.md").open("a") as file:
            said = alone(die_at, str(scene.root), [["a.md", line("ours"), True]], step)
            if said[0][0] == "written":
                assert step > 5
                return
            file.write(line("late"))
            file.flush()
            clean(scene.worktree, name)
        alone(write_once, str(scene.root), [["again.md", line("again")]])
        alone(write_once, str(scene.root), [["a.md", line("end"), True]])

        said_in_all = tokens_anywhere(scene)
        assert "token-late" in said_in_all, said
        assert ("token-ours" in said_in_all) or said[0][1] in UNACKNOWLEDGED
        assert not [each for each in committed_names(scene) if ".gitmem" in each]
        assert leftovers(scene) == []


@pytest.mark.parametrize("name", [name for name in CLEANERS if name != "add and commit"])
def test_a_new_file_that_git_removes_before_it_is_staged_stands_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Until the index names it, the file is untracked for git; afterwards nobody has deleted it."""
    taken = (command for command in CLEANERS[name][:1])

    def clean_once(step: str) -> None:
        if step == "placed":
            for words in taken:
                git(scene.worktree, *PERSON, *words, check=False)

    monkeypatch.setattr(gitmem.store.fault_points, "reached", clean_once)
    scene.write(Edit("new/d.md", line("new")), Edit("e.md", line("e")))
    monkeypatch.undo()
    with scene.opened() as group:
        assert capture(group).captured == ()

    assert (scene.worktree / "new/d.md").read_text() == line("new")
    assert scene.files()["e.md"] == line("e").encode()
    assert git(scene.worktree, "status", "--porcelain") == ""
    assert_sound(scene)


def test_a_file_that_waits_is_no_finding_of_check(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gitmem.store.transaction.publish, "PATIENCE", 0.01)
    (scene.worktree / "a.md").chmod(0o644)
    with (scene.worktree / "a.md").open("a"), scene.opened() as group:
        scene.write(Edit("a.md", line("ours"), append=True))
        checked = check(group)
    assert [each.code for each in checked.findings] == ["write-unfinished"]


def test_what_came_out_never_has_a_name_in_the_work_tree(scene: Scene) -> None:
    seen: list[str] = []

    def look(point: str) -> None:
        del point
        seen.extend(path.name for path in scene.worktree.rglob(".gitmem-*"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gitmem.store.fault_points, "reached", look)
        scene.write(Edit("a.md", "new\n"), Edit("new/b.md", "b\n"))
    assert seen == []


def test_git_excludes_our_temporary_files_from_the_start(scene: Scene) -> None:
    ours = scene.worktree / "notes" / ".gitmem-0123456789abcdef-0"
    ours.write_text("half a version\n")

    git(scene.worktree, "add", "-A")
    git(scene.worktree, "clean", "-fdq")

    assert git(scene.worktree, "status", "--porcelain", "--untracked-files=all") == ""
    assert ours.exists()


@pytest.mark.parametrize("theirs", [None, b"*.swp", b"*.swp\n"])
def test_a_group_of_an_earlier_release_gets_the_rule_with_the_next_write(
    scene: Scene, theirs: bytes | None
) -> None:
    exclude = scene.gitdir / "info" / "exclude"
    exclude.unlink()
    exclude.parent.rmdir()
    if theirs is not None:
        exclude.parent.mkdir()
        exclude.write_bytes(theirs)
    lock = scene.gitdir / "gitmem" / "lock"
    lock.write_bytes(lock.read_bytes().partition(b"\n")[0])  # that release names no tip

    scene.write(Edit("b.md", "b\n"))
    scene.write(Edit("b.md", "b again\n"))

    rules = exclude.read_bytes().splitlines()
    assert rules == [*((theirs or b"").splitlines()), b".gitmem-*"]


def test_who_uses_plain_git_has_the_rule_again_after_the_next_write(scene: Scene) -> None:
    exclude = scene.gitdir / "info" / "exclude"
    exclude.write_bytes(b"*.swp\n")
    git(scene.worktree, *PERSON, "commit", "-q", "--allow-empty", "-m", "by hand")
    git(scene.worktree, "add", "-A")
    (scene.worktree / "own.md").write_text("own\n")
    git(scene.worktree, "add", "own.md")

    scene.write(Edit("b.md", "b\n"))

    assert exclude.read_bytes().splitlines() == [b"*.swp", b".gitmem-*"]


def test_a_rule_that_cannot_be_written_stops_no_writer(scene: Scene) -> None:
    exclude = scene.gitdir / "info" / "exclude"
    exclude.unlink()
    exclude.mkdir()

    scene.write(Edit("b.md", "b\n"))

    assert scene.files()["b.md"] == b"b\n"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder on another file system than the store."""
    with other_disk(tmp_path) as folder:
        yield folder / "vault"


def test_on_another_file_system_a_late_edit_waits_beside_its_file(
    tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gitmem.store.transaction.publish, "PATIENCE", 0.01)
    store = Store(tmp_path / "store")
    init(store, "main", worktree=elsewhere)
    group = Group(store, "main", who=Who("agent"))
    write(group, [Edit("a.md", "first\n")])
    with (elsewhere / "a.md").open("a") as file:
        assert write(group, [Edit("a.md", "ours\n", append=True)]).pending
        file.write("late\n")
        file.flush()
        git(elsewhere, "clean", "-fdq")
        git(elsewhere, *PERSON, "stash", "-u", check=False)
        git(elsewhere, "add", "-A")
    write(group, [Edit("b.md", "b\n")], allowed=ANYTHING_GOES)

    assert group.repository.snapshot().read("a.md") == b"first\nours\nlate\n"
    assert git(elsewhere, "status", "--porcelain", "--untracked-files=all") == ""
    assert [path.name for path in elsewhere.rglob(".gitmem-*")] == []
    group.close()


def test_a_late_edit_that_the_previous_release_does_not_see_is_captured_by_this_one(
    tmp_path: Path,
) -> None:
    code = previous_code(tmp_path / "previous")
    scene = Scene(tmp_path / "store")
    old, new = (Release("old", code, scene.root), Release("new", this_code(), scene.root))
    new.done("init", "--layout", "none")
    new.done("write", "a.md", "first\n")
    with (scene.worktree / "a.md").open("a") as file:
        new.done("write", "a.md", "ours\n", "--append")
        file.write("late\n")
    old.done("write", "b.md", "b\n")
    assert leftovers(scene) != [], "the previous release leaves it where it is"

    with scene.opened() as group:
        maintain(group)

    assert b"late\n" in scene.files()["a.md"]
    assert leftovers(scene) == []
    assert_sound(scene)


def test_a_late_edit_that_only_a_loose_object_has_is_captured(scene: Scene) -> None:
    """Whoever died while capturing it left the object, and nothing that leads to it."""
    folder = scene.gitdir / "gitmem" / "swapped"
    folder.mkdir(mode=0o700, exist_ok=True)
    late = folder / ".gitmem-0123456789abcdef-0-a.md"
    late.write_text("first\nlate\n")
    git(scene.gitdir, "hash-object", "-w", str(late))

    with scene.opened() as group:
        maintain(group)

    assert b"late\n" in scene.files()["a.md"]
    assert_sound(scene)


def test_check_names_what_git_does_not_have_and_repair_captures_it(scene: Scene) -> None:
    folder = scene.gitdir / "gitmem" / "swapped"
    folder.mkdir(mode=0o700)
    known, unknown = (folder / f".gitmem-0123456789abcdef-{each}" for each in ("0-a.md", "1-a.md"))
    known.write_text("first\n")
    unknown.write_text("first\nlate\n")
    for path in (known, unknown):
        os.utime(path, (0, 0))

    with scene.opened() as group:
        found = check(group).findings
        assert [(each.code, each.path) for each in found] == [("late-edit", str(unknown))]
        assert check(group, repair=True).sound

    assert b"late\n" in scene.files()["a.md"]
    assert_sound(scene)


def late_edit(scene: Scene) -> Path:
    """An edit of a.md that came out of the work tree, and that no record names."""
    folder = scene.gitdir / "gitmem" / "swapped"
    folder.mkdir(mode=0o700, exist_ok=True)
    late = folder / ".gitmem-0123456789abcdef-0-a.md"
    late.write_text("first\nlate\n")
    return late


@pytest.mark.parametrize("path", ["a.md", "notes/c.md", "new.md"])
def test_the_next_write_captures_a_late_edit(scene: Scene, path: str) -> None:
    late = late_edit(scene)
    os.utime(late.parent, ns=(2**62, 2**62))  # no clock of a file system is too coarse for that
    scene.write(Edit(path, "since\n", append=True))
    assert b"late\n" in scene.files()["a.md"]
    assert b"since\n" in scene.files()[path]
    assert_sound(scene)


def test_the_next_capture_picks_a_late_edit_up(scene: Scene) -> None:
    late = late_edit(scene)
    os.utime(late.parent, (0, 0))  # as if an earlier writer had left it
    with scene.opened() as group:
        done = capture(group)
    assert [each.path for each in done.captured] == ["a.md"]
    assert b"late\n" in scene.files()["a.md"]
    assert_sound(scene)


def test_a_late_edit_is_named_at_once(scene: Scene) -> None:
    late = late_edit(scene)
    with scene.opened() as group:
        found = status(group)
        assert (found.late, found.health) == (1, "attention")
        assert found.concerns == ("1 late edit not captured",)
        (named,) = check(group).findings
    assert (named.code, named.path) == ("late-edit", str(late))
    assert "an edit of a.md" in named.message


def test_a_write_after_the_previous_release_captures_a_late_edit(tmp_path: Path) -> None:
    code = previous_code(tmp_path / "previous")
    scene = Scene(tmp_path / "store")
    old, new = (Release("old", code, scene.root), Release("new", this_code(), scene.root))
    new.done("init", "--layout", "none")
    new.done("write", "a.md", "first\n")
    with (scene.worktree / "a.md").open("a") as file:
        new.done("write", "a.md", "ours\n", "--append")
        file.write("late\n")
    old.done("write", "b.md", "b\n")
    new.done("write", "c.md", "c\n")
    assert b"late\n" in scene.files()["a.md"]
    assert_sound(scene)


def test_what_came_out_of_an_unknown_file_is_held(scene: Scene) -> None:
    folder = scene.gitdir / "gitmem" / "swapped"
    folder.mkdir(mode=0o700)
    (folder / ".gitmem-0123456789abcdef-0").write_text("of a path too long for a name\n")
    (folder / ".gitmem-0123456789abcdef-1-a.md").write_text("first\n")

    with scene.opened() as group:
        maintain(group)

    held = list((scene.gitdir / "gitmem" / "held").glob("*/content"))
    assert [path.read_text() for path in held] == ["of a path too long for a name\n"]
    assert_sound(scene)


@pytest.mark.parametrize("path", ["a.md", "a/b c.md", "50%/x~", "%2F.md~", "é/日本.md"])
def test_the_name_of_what_came_out_says_of_which_file(path: str) -> None:
    name = swapped(path, ".gitmem-0123456789abcdef-0").removeprefix(SWAPPED)
    assert "/" not in name
    assert path_of(name) == path
    assert path_of(f"{name}~") == path
    long = swapped("/".join(["x" * 200] * 8), ".gitmem-0123456789abcdef-0")
    assert len(os.fsencode(long)) < 255
    assert path_of(long.removeprefix(SWAPPED)) == ""
