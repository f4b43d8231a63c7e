"""A person begins a merge, rebase or the like with plain git, and agents go on writing."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import product
from pathlib import Path

import pytest

from gitmem.errors import Busy, GitOperationUnderway
from gitmem.memory.admin.check import check
from gitmem.memory.context.inject import inject
from gitmem.memory.group import Group
from gitmem.memory.read.status import status
from gitmem.memory.upkeep.maintain import maintain
from gitmem.memory.write.capture import capture
from gitmem.memory.write.move import move, remove
from gitmem.memory.write.write import Edit, write
from gitmem.model.commit_messages import Note
from gitmem.store.transaction.plan import Plan, Step
from tests.faults.test_kill import die_at
from tests.support.cli import run_gitmem
from tests.support.editors import STYLES
from tests.support.faults import (
    UNACKNOWLEDGED,
    Scene,
    assert_sound,
    blobs_in_history,
    copied,
    files_on_disk,
    line,
    new_scene,
    tokens_in_history,
    write_once,
)
from tests.support.git import git
from tests.support.processes import Crowd, Program, Said, Voice, alone

EDITOR = {"GIT_EDITOR": "true"}
BEFORE = {
    "both.md": b"one\ntwo\nthree\n",
    "theirs.md": b"as it was\n",
    "gone.md": b"to be deleted\n",
    "other.md": b"other\n",
}
OWNED = ["both.md", "gone.md", "new.md", "theirs.md"]


def branched(root: Path) -> Scene:
    """Main and `side` have both changed one file; `side` has also changed, made and deleted one."""
    scene = new_scene(root, BEFORE)
    git(scene.worktree, "switch", "-qc", "side")
    (scene.worktree / "both.md").write_text("one\ntheirs\nthree\n")
    (scene.worktree / "theirs.md").write_text("as they want it\n")
    (scene.worktree / "new.md").write_text("new\n")
    (scene.worktree / "gone.md").unlink()
    git(scene.worktree, "add", "-A")
    git(scene.worktree, "commit", "-qm", "side")
    git(scene.worktree, "switch", "-q", "main")
    scene.write(Edit("both.md", "one\nours\nthree\n"))
    return scene


BEGIN: dict[str, tuple[str, ...]] = {
    "merge": ("merge", "side"),
    "cherry-pick": ("cherry-pick", "side"),
}


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return branched(tmp_path_factory.mktemp("origin") / "store")


@pytest.fixture
def scene(origin: Scene, tmp_path: Path) -> Scene:
    return copied(origin, tmp_path / "store")


def begin(scene: Scene, name: str) -> None:
    git(scene.worktree, *BEGIN[name], check=False)
    assert git(scene.worktree, "ls-files", "-u").count("both.md") == 3
    assert "<<<<<<<" in (scene.worktree / "both.md").read_text()


def resolve(scene: Scene, name: str) -> None:
    (scene.worktree / "both.md").write_text("one\nours and theirs\nthree\n")
    git(scene.worktree, "add", "both.md")
    git(scene.worktree, name, "--continue", env=EDITOR)


def markers_in_history(scene: Scene) -> bool:
    return any(b"<<<<<<<" in data for data in blobs_in_history(scene.gitdir).values())


def state_of(scene: Scene) -> tuple[str, str]:
    """What the operation has in the index, and the files that it owns."""
    staged = git(scene.worktree, "ls-files", "-s", "--", *OWNED)
    return staged, "".join(
        (scene.worktree / path).read_text() for path in OWNED if (scene.worktree / path).exists()
    )


@pytest.mark.parametrize("name", BEGIN)
def test_what_an_operation_owns_is_left_alone_and_the_rest_goes_on(scene: Scene, name: str) -> None:
    begin(scene, name)
    before = state_of(scene)
    (scene.worktree / "other.md").write_text("edited by hand\n")

    for number in range(2):
        scene.write(Edit("notes/free.md", line(f"free.{number}"), append=True))
    with scene.opened() as group:
        done = capture(group)

    assert state_of(scene) == before
    assert list(done.claimed) == OWNED
    assert done.operation is not None
    assert (done.operation.name, done.held) == (name, ())
    assert scene.files()["other.md"] == b"edited by hand\n"
    assert {path: scene.files()[path] for path in ("theirs.md", "gone.md")} == {
        path: BEFORE[path] for path in ("theirs.md", "gone.md")
    }
    assert not markers_in_history(scene)

    resolve(scene, name)
    files = scene.files()
    assert files["both.md"] == b"one\nours and theirs\nthree\n"
    assert files["theirs.md"] == b"as they want it\n"
    assert files["new.md"] == b"new\n"
    assert "gone.md" not in files
    assert files["other.md"] == b"edited by hand\n"
    assert files["notes/free.md"] == (line("free.0") + line("free.1")).encode()
    scene.write(Edit("both.md", "as an agent wants it\n"))
    assert_sound(scene)


@pytest.mark.parametrize("name", BEGIN)
def test_an_operation_that_is_aborted_takes_no_write_with_it(scene: Scene, name: str) -> None:
    begin(scene, name)
    scene.write(Edit("notes/free.md", line("free")))
    scene.write(Edit("other.md", line("other")))

    git(scene.worktree, name, "--abort")

    files = scene.files()
    assert files["notes/free.md"] == line("free").encode()
    assert files["other.md"] == line("other").encode()
    assert files["both.md"] == b"one\nours\nthree\n"
    scene.write(Edit("both.md", "on it goes\n"))
    assert_sound(scene)


def test_a_revert_in_conflict_is_left_alone(scene: Scene) -> None:
    scene.write(Edit("both.md", "one\nsince then\nthree\n"))
    git(scene.worktree, "revert", "--no-edit", "HEAD~1", check=False)
    assert git(scene.worktree, "ls-files", "-u")

    scene.write(Edit("other.md", "free\n"))

    with scene.opened() as group:
        found = status(group)
    assert found.operation is not None
    assert (found.operation.name, found.claimed) == ("revert", ("both.md",))
    (scene.worktree / "both.md").write_text("one\nresolved\nthree\n")
    git(scene.worktree, "add", "both.md")
    git(scene.worktree, "revert", "--continue", env=EDITOR)
    assert scene.files()["other.md"] == b"free\n"
    assert not markers_in_history(scene)
    assert_sound(scene)


DOORS: dict[str, Callable[[Scene, str], object]] = {
    "write": lambda scene, path: scene.write(Edit(path, "mine\n")),
    "append": lambda scene, path: scene.write(Edit(path, "mine\n", append=True)),
    "batch": lambda scene, path: scene.write(Edit("other.md", "x\n"), Edit(path, "mine\n")),
    "mv": lambda scene, path: opened(scene, lambda group: move(group, path, "elsewhere.md")),
    "rm": lambda scene, path: opened(scene, lambda group: remove(group, path)),
}


def opened(scene: Scene, work: Callable[..., object]) -> object:
    with scene.opened() as group:
        return work(group)


@pytest.mark.parametrize("path", ["both.md", "theirs.md"])
@pytest.mark.parametrize("door", DOORS)
def test_no_door_writes_a_file_that_a_merge_owns(scene: Scene, door: str, path: str) -> None:
    begin(scene, "merge")
    before, head = state_of(scene), scene.head()

    with pytest.raises(GitOperationUnderway) as refused:
        DOORS[door](scene, path)

    assert refused.value.facts["operation"] == "merge"
    assert "git merge --continue" in refused.value.hint
    assert "git merge --abort" in refused.value.hint
    assert state_of(scene) == before
    assert scene.head() == head


def test_no_file_takes_the_place_of_a_folder_that_a_merge_brings(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store", BEFORE)
    git(scene.worktree, "switch", "-qc", "side")
    for path, text in {"both.md": "theirs\n", "deep/new.md": "new\n", "plain": "x\n"}.items():
        (scene.worktree / path).parent.mkdir(exist_ok=True)
        (scene.worktree / path).write_text(text)
    git(scene.worktree, "add", "-A")
    git(scene.worktree, "commit", "-qm", "side")
    git(scene.worktree, "switch", "-q", "main")
    scene.write(Edit("both.md", "ours\n"))
    git(scene.worktree, "merge", "side", check=False)

    for path in ("deep", "plain/inside.md"):
        with pytest.raises(GitOperationUnderway):
            scene.write(Edit(path, "mine\n"))
    scene.write(Edit("deep/other.md", "free\n"))

    resolve(scene, "merge")
    assert scene.files()["deep/new.md"] == b"new\n"
    assert scene.files()["plain"] == b"x\n"
    assert scene.files()["deep/other.md"] == b"free\n"
    assert_sound(scene)


def test_a_writer_that_dies_beside_a_merge_costs_neither(scene: Scene, tmp_path: Path) -> None:
    begin(scene, "merge")
    for step in range(1, 100):
        each = copied(scene, tmp_path / f"store {step}")
        edits = [["other.md", line("killed")], ["notes/free.md", line("killed")]]
        said = alone(die_at, str(each.root), edits, step)
        if said[0][0] == "written":
            assert step > 5
            return
        owned = state_of(each)
        alone(write_once, str(each.root), [["again.md", line("again")]])
        assert state_of(each) == owned
        landed = said[0][1] not in UNACKNOWLEDGED

        resolve(each, "merge")

        files = each.files()
        assert (files["other.md"] == line("killed").encode()) == landed, said
        assert files["again.md"] == line("again").encode()
        assert files["both.md"] == b"one\nours and theirs\nthree\n"
        assert_sound(each)


@pytest.mark.parametrize("commits", ["merge", "commit -a", "add and commit"])
def test_a_person_who_commits_beside_a_dead_writer_takes_nothing_back(
    scene: Scene, tmp_path: Path, commits: str
) -> None:
    if commits == "merge":
        begin(scene, "merge")
    for step in range(1, 100):
        each = copied(scene, tmp_path / f"store {step}")
        edits = [["other.md", line("killed")], ["notes/free.md", line("killed")]]
        said = alone(die_at, str(each.root), edits, step)
        if said[0][0] == "written":
            assert step > 5
            return
        if (each.gitdir / "refs/heads/main.lock").exists():
            # As beside a git that died: nobody commits before gitmem has cleared it.
            alone(write_once, str(each.root), [["cleared.md", line("cleared")]])
        if commits == "merge":
            resolve(each, "merge")
        else:
            (each.worktree / "theirs.md").write_text("by hand\n")
            if commits == "add and commit":
                git(each.worktree, "add", "-A")
            git(each.worktree, "commit", "-qam", "by hand")
        alone(write_once, str(each.root), [["again.md", line("again")]])

        landed = said[0][1] not in UNACKNOWLEDGED
        files = each.files()
        assert (files["other.md"] == line("killed").encode()) == landed, said
        assert ("notes/free.md" in files) == landed
        assert files["theirs.md"] != BEFORE["theirs.md"]
        assert_sound(each)


def test_a_write_that_an_agent_took_back_itself_does_not_come_again(scene: Scene) -> None:
    before = scene.files()["other.md"]
    edits = [["other.md", line("killed")]]
    steps = (alone(die_at, str(scene.root), edits, step)[0][1] for step in range(5, 6))
    assert list(steps) == ["branch"]
    git(scene.worktree, "commit", "-qam", "by hand", check=False)
    scene.write(Edit("again.md", "again\n"))
    assert scene.files()["other.md"] == line("killed").encode()

    scene.write(Edit("other.md", before))
    scene.write(Edit("again.md", "and again\n"))
    assert scene.files()["other.md"] == before
    assert_sound(scene)


@pytest.mark.parametrize("written", ["other.md", "notes/free.md"])
def test_an_entry_that_git_takes_out_of_the_index_comes_back(scene: Scene, written: str) -> None:
    begin(scene, "merge")
    before = git(scene.worktree, "ls-files", "-s", written).split()
    scene.write(Edit(written, line("first")))
    scene.write(Edit(written, line("second")))
    lost = ["--force-remove", written]
    if before:
        lost = ["--cacheinfo", f"100644,{before[1]},{written}"]
    git(scene.worktree, "update-index", *lost)  # git wrote an index that it had read before

    scene.write(Edit("again.md", line("again")))
    scene.write(Edit(written, line("third"), append=True))

    resolve(scene, "merge")
    assert scene.files()[written] == (line("second") + line("third")).encode()
    assert_sound(scene)


def test_what_a_person_has_staged_alone_stays_staged(scene: Scene) -> None:
    (scene.worktree / "other.md").write_text("staged\n")
    git(scene.worktree, "add", "other.md")
    (scene.worktree / "other.md").write_bytes(BEFORE["other.md"])
    blob = git(scene.worktree, "ls-files", "-s", "other.md").split()[1]

    scene.write(Edit("again.md", line("again")))

    assert git(scene.worktree, "ls-files", "-s", "other.md").split()[1] == blob


def test_a_rebase_is_named_and_stops_every_write(scene: Scene) -> None:
    git(scene.worktree, "rebase", "side", check=False)
    disk = files_on_disk(scene.worktree)

    with pytest.raises(GitOperationUnderway) as refused:
        scene.write(Edit("other.md", "free\n"))
    with scene.opened() as group:
        found = status(group)
        with pytest.raises(GitOperationUnderway):
            capture(group)

    assert "a rebase begun with git" in refused.value.message
    assert refused.value.hint == (
        "resolve any conflicts, then run `git rebase --continue` in the group's folder, "
        "or `git rebase --abort` to give it up"
    )
    assert (found.health, found.edits) == ("elsewhere", ())
    assert files_on_disk(scene.worktree) == disk
    git(scene.worktree, "rebase", "--abort")
    scene.write(Edit("other.md", "free\n"))
    assert_sound(scene)


def test_a_bisect_is_named(scene: Scene) -> None:
    git(scene.worktree, "bisect", "start", "HEAD", "HEAD~2")
    if not scene.gitdir.joinpath("HEAD").read_text().startswith("ref:"):
        with pytest.raises(GitOperationUnderway) as refused:
            scene.write(Edit("other.md", "free\n"))
        assert refused.value.hint == "run `git bisect reset` in the group's folder"
    git(scene.worktree, "bisect", "reset")
    scene.write(Edit("other.md", "free\n"))
    assert_sound(scene)


def test_a_bisect_that_has_not_moved_yet_stops_nobody(scene: Scene) -> None:
    git(scene.worktree, "bisect", "start")
    (scene.worktree / "other.md").write_text("staged by hand\n")
    git(scene.worktree, "add", "other.md")

    scene.write(Edit("notes/free.md", "free\n"))

    assert scene.files()["other.md"] == b"staged by hand\n"


def test_conflicts_of_a_stash_are_left_alone(scene: Scene) -> None:
    (scene.worktree / "both.md").write_text("one\nstashed\nthree\n")
    git(scene.worktree, "stash")
    scene.write(Edit("both.md", "one\nsince then\nthree\n"))
    git(scene.worktree, "stash", "pop", check=False)
    assert git(scene.worktree, "ls-files", "-u")

    scene.write(Edit("other.md", "free\n"))
    with pytest.raises(GitOperationUnderway) as refused:
        scene.write(Edit("both.md", "mine\n"))

    assert refused.value.message == "'both.md' has a conflict to resolve"
    assert "`git add both.md`" in refused.value.hint
    with scene.opened() as group:
        found = status(group)
    assert found.operation is not None
    assert (found.operation.name, found.claimed) == ("conflict", ("both.md",))
    (scene.worktree / "both.md").write_text("one\nresolved\nthree\n")
    git(scene.worktree, "add", "both.md")
    scene.write(Edit("other.md", "freer\n"))
    assert scene.files()["both.md"] == b"one\nresolved\nthree\n"
    assert not markers_in_history(scene)


def test_several_picks_are_one_operation_until_the_last(scene: Scene) -> None:
    git(scene.worktree, "switch", "-q", "side")
    (scene.worktree / "more.md").write_text("more\n")
    git(scene.worktree, "add", "-A")
    git(scene.worktree, "commit", "-qm", "more")
    git(scene.worktree, "switch", "-q", "main")
    git(scene.worktree, "cherry-pick", "side~1", "side", check=False)
    (scene.worktree / "both.md").write_text("resolved\n")
    git(scene.worktree, "add", "both.md")
    git(scene.worktree, "commit", "-qm", "picked")

    scene.write(Edit("other.md", "free\n"))
    with scene.opened() as group:
        found = status(group)
    assert found.operation is not None
    assert (found.operation.name, found.claimed) == ("cherry-pick", ())
    git(scene.worktree, "cherry-pick", "--continue", env=EDITOR)

    assert scene.files()["more.md"] == b"more\n"
    assert scene.files()["other.md"] == b"free\n"
    assert_sound(scene)


def test_every_answer_says_what_is_not_finished(scene: Scene) -> None:
    begin(scene, "merge")
    home = {"GITMEM_HOME": str(scene.root)}
    way = (
        "resolve any conflicts, then run `git merge --continue` in the group's folder, "
        "or `git merge --abort` to give it up"
    )
    told = f"a merge begun with git is not finished\n  {way}\n"

    shown = run_gitmem("status", **home)
    assert told in shown.out
    assert "not captured until then: both.md" in shown.out
    assert "attention (merge of 4 files begun with git is not finished)" in shown.out
    document = run_gitmem("status", "--json", **home).document
    assert document["operation"]["name"] == "merge"
    assert document["operation"]["abort"] == "git merge --abort"
    assert document["claimed"] == OWNED

    assert told in run_gitmem("capture", **home).out
    named = run_gitmem("capture", "both.md", "--json", **home)
    assert (named.code, named.document["claimed"]) == (4, ["both.md"])
    refused = run_gitmem("write", "both.md", "mine", "--json", **home)
    assert (refused.code, refused.error["code"]) == (4, "git-operation")

    with scene.opened() as group:
        steps = {each.step: each for each in maintain(group).steps}
        assert "4 left to a merge begun with git" in steps["capture"].detail
        checked = check(group)
        assert checked.sound
        found = {each.code: each.hint for each in checked.findings}
        assert found["git-operation"] == way
        assert check(group, repair=True).sound
        text = inject(group).text
    assert "<<<<<<<" not in text
    assert git(scene.worktree, "ls-files", "-u").count("both.md") == 3


def test_repair_leaves_a_merge_as_it_is(scene: Scene) -> None:
    begin(scene, "merge")
    before = state_of(scene)
    with scene.opened() as group:
        check(group, repair=True)
    assert state_of(scene) == before


def test_markers_that_a_person_commits_are_named(scene: Scene) -> None:
    begin(scene, "merge")
    git(scene.worktree, "commit", "-qam", "merged in a hurry")

    scene.write(Edit("other.md", "free\n"))
    home = {"GITMEM_HOME": str(scene.root)}

    with scene.opened() as group:
        found = status(group)
    assert (found.operation, found.marked) == (None, ("both.md",))
    assert "1 file with conflict markers" in found.concerns
    assert "resolve it: gitmem edit both.md" in run_gitmem("status", **home).out
    linted = run_gitmem("lint", "--json", **home)
    assert linted.code == 6
    assert [(each["rule"], each["path"], each["line"]) for each in linted.document["findings"]] == [
        ("conflict-markers", "both.md", 2)
    ]
    scene.write(Edit("both.md", "resolved\n"))
    with scene.opened() as group:
        assert status(group).marked == ()
    assert run_gitmem("lint", **home).code == 0


def test_what_git_does_beside_a_writer_is_not_hidden_by_its_own_index(scene: Scene) -> None:
    """A writer looks for plain git as it begins; what comes later is for the next one to see."""
    scene.write(Edit("notes/free.md", "free\n"))
    with scene.opened() as group, group.writing() as writer:
        git(scene.worktree, "checkout", "-q", "HEAD~2", "--", "both.md")
        step = Step({"notes/free.md": b"freer\n"}, Note("write", id="1", agent="agent"))
        writer.publish(lambda _: Plan((step,), None))
    assert scene.files()["both.md"] == b"one\nours\nthree\n"

    scene.write(Edit("again.md", "again\n"))

    assert scene.files()["both.md"] == BEFORE["both.md"]
    assert_sound(scene)


SLOW_STRATEGY = """#!/bin/sh
touch "$GITMEM_TEST_BEGUN"
while [ ! -e "$GITMEM_TEST_GO" ]; do sleep 0.01; done
exit 2
"""


@contextmanager
def merge_that_fails(scene: Scene, folder: Path) -> Iterator[None]:
    """A `git merge` that has read HEAD, waits for the block, and then puts all files back."""
    strategy = folder / "git-merge-slow"
    strategy.write_text(SLOW_STRATEGY)
    strategy.chmod(0o755)
    begun, go = folder / "begun", folder / "go"
    env = {"PATH": f"{folder}:{os.environ['PATH']}"}
    env |= {"GITMEM_TEST_BEGUN": str(begun), "GITMEM_TEST_GO": str(go)}
    with ThreadPoolExecutor(1) as person:
        done = person.submit(
            git, scene.worktree, "merge", "-s", "slow", "side", check=False, env=env
        )
        while not begun.exists() and not done.done():
            time.sleep(0.01)
        yield
        go.touch()
        done.result()
    assert begun.exists()
    os.utime(scene.gitdir / "ORIG_HEAD")  # as on a machine that is not busy
    os.utime(scene.gitdir / "index")


def test_a_merge_that_fails_takes_no_write_back(scene: Scene, tmp_path: Path) -> None:
    """Git puts back the files of the HEAD that it has read, and does not move the branch."""
    with merge_that_fails(scene, tmp_path):
        scene.write(Edit("other.md", line("replaced")), Edit("notes/free.md", line("new")))
        with scene.opened() as group:
            move(group, "theirs.md", "moved.md")
            remove(group, "gone.md")
        expected = scene.files()
    assert (scene.worktree / "other.md").read_bytes() == BEFORE["other.md"]
    assert not (scene.worktree / "notes").exists()
    (scene.worktree / "both.md").write_text("edited by hand\n")

    scene.write(Edit("again.md", "again\n"))
    with scene.opened() as group:
        capture(group)

    edited = {"again.md": b"again\n", "both.md": b"edited by hand\n"}
    assert scene.files() == expected | edited
    assert_sound(scene)


def test_an_edit_that_a_failed_merge_brings_back_takes_no_write_back(
    scene: Scene, tmp_path: Path
) -> None:
    """Git stashes the edits that it finds, resets the files, and applies the stash to them."""
    (scene.worktree / "other.md").write_text("by hand\nother\n")
    with merge_that_fails(scene, tmp_path):
        scene.write(Edit("other.md", line("appended"), append=True))
        (scene.worktree / "other.md").write_text("lost: git resets it, and had not stashed it\n")
    assert (scene.worktree / "other.md").read_text() == "by hand\nother\n"
    with (scene.worktree / "other.md").open("a") as file:
        file.write("last\n")

    with scene.opened() as group:
        capture(group)

    expected = ("by hand\n", "other\n", line("appended"), "last\n")
    assert sorted(scene.files()["other.md"].decode().splitlines(True)) == sorted(expected)
    assert_sound(scene)


@pytest.mark.parametrize("way", ["later", "without a merge"])
def test_a_person_takes_back_a_write_after_a_merge(scene: Scene, tmp_path: Path, way: str) -> None:
    """What `git checkout` puts back is an edit, though a merge has failed some time before."""
    if way == "later":
        with merge_that_fails(scene, tmp_path):
            pass
        long_ago = time.time() - 60
        os.utime(scene.gitdir / "ORIG_HEAD", (long_ago, long_ago))
    scene.write(Edit("other.md", line("replaced")))
    git(scene.worktree, "checkout", "-q", "HEAD~1", "--", "other.md")

    with scene.opened() as group:
        capture(group)

    assert scene.files()["other.md"] == BEFORE["other.md"]
    assert_sound(scene)


Act = tuple[str, ...]
FIRST: dict[str, tuple[Act, ...]] = {
    "pull": (("git", "pull", "-q", ".", "main"),),
    "merge": (("git", "merge", "-q", "main"),),
    "reset": (("git", "reset", "-q", "--hard"),),
    "stash": (("edit", "both.md"), ("git", "stash", "-q")),
}
"""Commands that note HEAD in ORIG_HEAD, as a merge that fails does."""
MEANT: dict[str, tuple[tuple[Act, ...], dict[str, bytes | None]]] = {
    "rm": ((("write", "new.md"), ("git", "rm", "-q", "new.md")), {"new.md": None}),
    "mv": (
        (("write", "new.md"), ("git", "mv", "new.md", "newer.md")),
        {"new.md": None, "newer.md": b"written\n"},
    ),
    "checkout": (
        (("write", "other.md"), ("git", "checkout", "-q", "HEAD~1", "--", "other.md")),
        {"other.md": BEFORE["other.md"]},
    ),
    "checkout of all": (
        (
            ("write", "other.md"),
            ("write", "theirs.md"),
            ("git", "checkout", "-q", "HEAD~2", "--", "."),
        ),
        {path: BEFORE[path] for path in ("other.md", "theirs.md")},
    ),
    "restore": (
        (
            ("write", "other.md"),
            ("git", "restore", "--source=HEAD~1", "--staged", "--worktree", "other.md"),
        ),
        {"other.md": BEFORE["other.md"]},
    ),
    "checkout and a commit given up": (
        (
            ("write", "other.md"),
            ("git", "checkout", "-q", "HEAD~1", "--", "other.md"),
            ("git", "-c", "core.editor=false", "commit", "-q"),
        ),
        {"other.md": BEFORE["other.md"]},
    ),
    "revert of one of two": (
        (
            ("write", "other.md"),
            ("write", "theirs.md"),
            ("git", "revert", "-n", "HEAD~1"),
            ("git", "revert", "--quit"),
        ),
        {"other.md": BEFORE["other.md"], "theirs.md": b"written\n"},
    ),
}
REVERT = (
    ("write", "other.md"),
    ("git", "revert", "-n", "HEAD"),
    ("git", "revert", "--quit"),
)


def act(scene: Scene, acts: Iterable[Act]) -> None:
    """Do what a person and an agent do in turn."""
    for what, *words in acts:
        if what == "git":
            git(scene.worktree, *words, check="commit" not in words)
        elif what == "edit":
            (scene.worktree / words[0]).write_text("edited\n")
        else:
            scene.write(Edit(words[0], "written\n"))


def assert_captured(scene: Scene, expected: dict[str, bytes | None], by: str) -> None:
    """The next command leaves the files as a person has put them, and has no more to say."""
    home = {"GITMEM_HOME": str(scene.root)}
    said = run_gitmem(*(("capture",) if by == "capture" else ("write", "more.md", "x")), **home)
    assert (said.code, "git merge" in said.err) == (0, False)
    assert {path: scene.files().get(path) for path in expected} == expected
    disk = files_on_disk(scene.worktree)
    assert {path: disk.get(path) for path in expected} == expected
    assert_sound(scene)


@pytest.mark.parametrize(("meant", "first"), [*product(MEANT, FIRST)])
def test_what_a_person_takes_back_right_after_git_stays_so(
    scene: Scene, first: str, meant: str
) -> None:
    acts, expected = MEANT[meant]
    act(scene, (*FIRST[first], *acts))
    by = "capture" if (len(meant) + len(first)) % 2 else "write"
    assert_captured(scene, expected, by)


@pytest.mark.parametrize("first", ["pull", "reset", "stash"])
def test_what_a_revert_takes_back_right_after_git_stays_so(scene: Scene, first: str) -> None:
    """It leaves the index as a merge that fails does; but no merge can have failed."""
    act(scene, (*FIRST[first], *REVERT))
    assert_captured(scene, {"other.md": BEFORE["other.md"]}, "capture")


@pytest.mark.parametrize("way", ["checkout", "checkout of all", "rm"])
def test_what_a_pull_brings_can_be_taken_back(scene: Scene, tmp_path: Path, way: str) -> None:
    """Commits of another machine were made by gitmem, too."""
    other = copied(scene, tmp_path / "other")
    other.write(Edit("other.md", "bad\n"))
    if way != "checkout of all":
        other.write(Edit("junk.md", "junk\n"))
    git(scene.worktree, "pull", "-q", str(other.gitdir), "main")
    if way == "rm":
        git(scene.worktree, "rm", "-q", "junk.md")
        assert_captured(scene, {"junk.md": None, "other.md": b"bad\n"}, "capture")
    else:
        git(scene.worktree, "checkout", "-q", "ORIG_HEAD", "--", "other.md")
        assert_captured(scene, {"other.md": BEFORE["other.md"]}, "capture")


def test_what_is_put_forward_is_told_with_the_way_back(scene: Scene, tmp_path: Path) -> None:
    home = {"GITMEM_HOME": str(scene.root)}
    with merge_that_fails(scene, tmp_path):
        scene.write(Edit("other.md", "replaced\n"), Edit("new.md", "new\n"))
    second = copied(scene, tmp_path / "second")
    before = git(scene.worktree, "rev-parse", "ORIG_HEAD").strip()

    said = run_gitmem("capture", **home).err
    document = run_gitmem("capture", "--json", GITMEM_HOME=str(second.root)).document
    new, found = document["put_forward"]

    assert (found["path"], found["before"]) == ("other.md", before)
    assert new["path"] == "new.md"
    assert "note: other.md is as last written again: a failed `git merge` had reset it" in said
    assert f"`gitmem restore other.md --at {before[:10]}`" in said
    assert "`gitmem rm new.md`" in said
    assert "put_forward" not in run_gitmem("capture", "--json", **home).document
    assert scene.files()["other.md"] == b"replaced\n"
    run_gitmem("restore", "other.md", "--at", before[:10], **home)
    run_gitmem("rm", "new.md", **home)
    assert scene.files()["other.md"] == BEFORE["other.md"]
    assert "new.md" not in scene.files()
    assert_sound(scene)


def test_a_merge_that_fails_beside_a_writer_takes_no_write_back(
    scene: Scene, tmp_path: Path
) -> None:
    """A writer that has looked for plain git already patches the index that git has reset."""
    with ExitStack() as stack:
        with merge_that_fails(scene, tmp_path):
            scene.write(Edit("other.md", line("replaced")), Edit("notes/free.md", line("new")))
            writer = stack.enter_context(stack.enter_context(scene.opened()).writing())
        step = Step({"again.md": b"again\n"}, Note("write", id="1", agent="agent"))
        writer.publish(lambda _: Plan((step,), None))
    scene.write(Edit("more.md", "more\n"))
    with scene.opened() as group:
        capture(group)

    files = scene.files()
    assert files["other.md"] == line("replaced").encode()
    assert files["notes/free.md"] == line("new").encode()
    assert_sound(scene)


def test_a_file_that_git_resets_before_a_writer_has_staged_it_is_put_forward(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the index has the new version and the file the old one, as after an edit."""
    with ExitStack() as merge:
        merge.enter_context(merge_that_fails(scene, tmp_path))
        scene.write(Edit("other.md", line("replaced")))
        monkeypatch.setattr(
            "gitmem.store.fault_points.reached",
            lambda step: merge.close() if step == "placed" else None,
        )
        scene.write(Edit("other.md", line("appended"), append=True))
        monkeypatch.undo()

    with scene.opened() as group:
        capture(group)

    assert scene.files()["other.md"] == (line("replaced") + line("appended")).encode()
    assert_sound(scene)


def test_a_writer_that_captures_last_takes_no_write_back(scene: Scene, tmp_path: Path) -> None:
    """Its own write replaces the index that tells of the merge."""
    with merge_that_fails(scene, tmp_path):
        scene.write(Edit("other.md", line("replaced")))
    with scene.opened() as group, group.writing(late=True) as writer:
        step = Step({"again.md": b"again\n"}, Note("write", id="1", agent="agent"))
        writer.publish(lambda _: Plan((step,), None))

    with scene.opened() as group:
        capture(group)

    assert scene.files()["other.md"] == line("replaced").encode()
    assert_sound(scene)


@pytest.mark.parametrize("seconds", [math.inf, 60.0])
def test_edits_that_a_failed_merge_brings_back_are_merged_one_by_one(
    scene: Scene, tmp_path: Path, seconds: float
) -> None:
    """The first capture writes the index, and with it go the traces of the merge."""
    paths = ("other.md", "theirs.md", "gone.md")
    for path in paths:
        (scene.worktree / path).write_bytes(b"by hand\n" + BEFORE[path])
    with merge_that_fails(scene, tmp_path):
        scene.write(*(Edit(path, line(path), append=True) for path in paths))
    for path in paths:
        with (scene.worktree / path).open("a") as file:
            file.write("last\n")

    with scene.opened() as group:
        capture(group, seconds=seconds)

    for path in paths:
        expected = ("by hand\n", BEFORE[path].decode(), line(path), "last\n")
        assert sorted(scene.files()[path].decode().splitlines(True)) == sorted(expected)
    assert_sound(scene)


ROUNDS = 2
"""How often a person uses git at least, however much the machine has to do."""


def write_on(voice: Voice, root: str, seconds: float) -> None:
    """An agent that adds to files which no merge touches; says what is acknowledged."""
    stop, count = time.monotonic() + seconds, 0
    with Scene(Path(root)).opened() as group:
        while time.monotonic() < stop:
            count += 1
            token = f"{os.getpid()}.{count}"
            path = random.choice(("other.md", "notes/free.md"))
            # A git that died has left its lock; or a merge that failed has left a conflict here.
            with suppress(Busy, GitOperationUnderway):
                write(group, [Edit(path, line(token), append=True)])
                voice.say("ack", token)
                if count % 5 == 0:
                    capture_and_tell(voice, group)


def capture_and_tell(voice: Voice, group: Group) -> None:
    """Capture, and say from when to when that took, unless the edited file was left out."""
    begun = time.monotonic()
    done = capture(group)
    if "edited.md" not in {*done.claimed, *(each.path for each in done.held)}:
        voice.say("captured", begun, time.monotonic())


def edit_on(voice: Voice, root: str, seconds: float, rest: float) -> None:
    """An agent with an editor."""
    stop, count = time.monotonic() + seconds, 0
    while time.monotonic() < stop:
        count += 1
        begun = time.monotonic()
        with suppress(FileNotFoundError):  # `git clean -x` removes what an editor is about to save
            style = random.choice(list(STYLES))
            STYLES[style](Path(root, "groups/main/edited.md"), line(f"edit.{count}"))
            voice.say("edited", f"edit.{count}", begun, time.monotonic())
        time.sleep(random.uniform(0, rest))


def pick_on(voice: Voice, root: str, seconds: float) -> None:
    """A person who picks commits, resolves the conflicts, and cleans up in between."""
    scene = Scene(Path(root))
    stop, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < stop or rounds < ROUNDS:
        rounds += 1
        change_side(scene, f"one\ntheirs {rounds}\nthree\n")
        git(scene.worktree, "cherry-pick", "side", check=False)
        git(scene.worktree, "clean", "-ffdxq", check=False)
        remove_lock_of_dead_git(scene)
        while (scene.gitdir / "CHERRY_PICK_HEAD").exists():
            (scene.worktree / "both.md").write_text(f"one\nours and theirs {rounds}\nthree\n")
            git(scene.worktree, "add", "both.md", check=False)
            git(scene.worktree, "commit", "-q", "--allow-empty", "--no-edit", check=False)
            remove_lock_of_dead_git(scene)
    voice.say("rounds", rounds)


def merge_on(voice: Voice, root: str, seconds: float) -> None:
    """A person who merges, resolves or aborts, and says when git was at work."""
    scene = Scene(Path(root))
    stop, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < stop or rounds < ROUNDS:
        rounds += 1
        begun = time.monotonic()
        change_side(scene, f"one\ntheirs {rounds}\nthree\n")
        git(scene.worktree, "merge", "-q", "--no-edit", "side", check=False)
        while (scene.gitdir / "MERGE_HEAD").exists() and time.monotonic() < stop:
            if random.random() < 0.4:
                git(scene.worktree, "merge", "--abort", check=False)
            else:
                (scene.worktree / "both.md").write_text(f"one\nboth {rounds}\nthree\n")
                git(scene.worktree, "add", "both.md", check=False)
                git(scene.worktree, "commit", "-q", "--no-edit", check=False)
            remove_lock_of_dead_git(scene)
        remove_lock_of_dead_git(scene)
        end_conflict(scene)
        voice.say("git", begun, time.monotonic())
        time.sleep(random.uniform(0, 0.3))
    voice.say("rounds", rounds)


def end_conflict(scene: Scene) -> None:
    """Keep all lines of a file that a merge, as it failed, could not bring back whole."""
    rows = git(scene.worktree, "ls-files", "-u").splitlines()
    for path in sorted({row.partition("\t")[2] for row in rows} - {"both.md"}):
        lines = (scene.worktree / path).read_text().splitlines(keepends=True)
        kept = [each for each in lines if each.startswith("- remember ")]
        (scene.worktree / path).write_text("".join(kept))
        git(scene.worktree, "add", path, check=False)


def remove_lock_of_dead_git(scene: Scene) -> None:
    """Do what git advises after it died: an editor has made a file shorter that git had mapped."""
    lock = scene.gitdir / "index.lock"
    with suppress(FileNotFoundError):
        if lock.stat().st_nlink == 1:  # that of a writer of ours is a hard link
            lock.unlink()


def change_side(scene: Scene, text: str) -> None:
    """Add a commit to `side` without touching the work tree."""
    own = {"GIT_INDEX_FILE": str(scene.root / "index of side")}
    blob = git(scene.gitdir, "hash-object", "-w", "--stdin", input=text).strip()
    git(scene.gitdir, "read-tree", "side", env=own)
    git(scene.gitdir, "update-index", "--cacheinfo", f"100644,{blob},both.md", env=own)
    tree = git(scene.gitdir, "write-tree", env=own).strip()
    commit = git(scene.gitdir, "commit-tree", "-p", "side", "-m", "more", tree).strip()
    git(scene.gitdir, "update-ref", "refs/heads/side", commit)


def is_safe(edit: Said, heard: list[Said]) -> bool:
    """Whether a capture has followed EDIT before git was at work again.

    Until then git may destroy it, as it does without gitmem: where a merge cannot begin, because
    the branch moves or a file is edited, git resets every file.
    """
    _, _, begun, saved = edit
    ends = [each[2] for each in heard if each[0] == "captured" and each[1] > saved]
    until = min(ends, default=float("inf"))
    return not any(each[1] < until and each[2] > begun for each in heard if each[0] == "git")


def soak(scene: Scene, seconds: float, person: Program, rest: float = 0.004) -> list[Said]:
    """Two writers, an editor and a PERSON with git; what must be in history is there."""
    scene.write(Edit("edited.md", "edited\n"))
    root = str(scene.root)
    with Crowd() as crowd:
        for program in (write_on, write_on, person):
            crowd.start(program, root, seconds)
        crowd.start(edit_on, root, seconds, rest)
        heard = [said for _, said in crowd.hear_out(seconds + 60)]
    git(scene.worktree, "merge", "--abort", check=False)
    end_conflict(scene)  # an abort applies the edits that the merge had stashed
    git(scene.worktree, "reset", "-q", check=False)  # where even that was refused
    git(scene.worktree, "checkout", "-q", "HEAD", "--", "both.md")  # half merged, it is held
    with scene.opened() as group:
        capture(group)
    scene.write(Edit("notes/end.md", "end\n"))

    assert next(each[1] for each in heard if each[0] == "rounds") >= ROUNDS
    acked = {f"token-{each[1]}" for each in heard if each[0] == "ack"}
    edits = {f"token-{each[1]}" for each in heard if each[0] == "edited" and is_safe(each, heard)}
    assert (acked | edits) - tokens_in_history(scene.gitdir) == set()
    assert not markers_in_history(scene)
    assert_sound(scene)
    return heard


def assert_standing(scene: Scene, heard: list[Said]) -> None:
    """Every acknowledged line still stands in its file."""
    files = scene.files()
    standing = (files["other.md"] + files.get("notes/free.md", b"")).decode()
    acked = [f"token-{each[1]}\n" for each in heard if each[0] == "ack"]
    assert [token for token in acked if token not in standing] == []


def test_agents_write_and_edit_while_a_person_picks_commits(scene: Scene) -> None:
    assert_standing(scene, soak(scene, 3.0, pick_on))


def test_agents_write_and_edit_while_a_person_merges(scene: Scene) -> None:
    soak(scene, 4.0, merge_on, rest=0.1)


@pytest.mark.slow
def test_agents_write_and_edit_while_a_person_picks_commits_for_minutes(scene: Scene) -> None:
    assert_standing(scene, soak(scene, 180.0, pick_on))


@pytest.mark.slow
def test_agents_write_and_edit_while_a_person_merges_for_minutes(scene: Scene) -> None:
    heard = soak(scene, 180.0, merge_on, rest=0.1)
    edits = [each for each in heard if each[0] == "edited"]
    assert any(is_safe(each, heard) for each in edits)
