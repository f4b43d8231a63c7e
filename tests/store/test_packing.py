"""Packing: many small files become one, and nothing is ever lost on the way."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gitmem.errors import Busy, Damaged, StorageFailed
from gitmem.memory.admin.check import check
from gitmem.memory.read.read import read
from gitmem.memory.upkeep.maintain import Maintained, PackLimits, Stepped, maintain
from gitmem.memory.write.write import Edit
from gitmem.store.gc.packing import loose_estimate, pack, packs_of
from gitmem.store.lock import Lock
from gitmem.store.program import GitTooSlow, run_git
from tests.support.faults import Scene, assert_sound, files_at, new_scene
from tests.support.git import git
from tests.support.histories import truncate
from tests.support.moulds import Moulds

LOTS = 1_000_000


@pytest.fixture
def scene(tmp_path: Path, moulds: Moulds) -> Scene:
    moulds.cast("of many loose objects", tmp_path / "store", made)
    return Scene(tmp_path / "store")


def made(root: Path) -> None:
    scene = new_scene(root, {"a.md": b"one\n", "deep/b.md": b"two\n"})
    for number in range(20):
        scene.write(Edit("a.md", f"version {number}\n"))


def loose(scene: Scene) -> int:
    return int(git(scene.gitdir, "count-objects").split()[0])


def all_objects(scene: Scene) -> set[str]:
    listed = git(scene.gitdir, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    return set(listed.split())


def packed(scene: Scene, most_packs: int = LOTS) -> None:
    pack(scene.gitdir, seconds=60, most_packs=most_packs)


def step_of(done: Maintained, name: str) -> Stepped:
    return next(each for each in done.steps if each.step == name)


def test_all_that_is_loose_becomes_one_pack_and_reads_as_before(scene: Scene) -> None:
    before, objects = scene.files(), all_objects(scene)
    commits = git(scene.gitdir, "rev-list", "main").split()

    done = pack(scene.gitdir, seconds=60, most_packs=LOTS)

    assert (done.objects, done.packs, done.remark) == (len(objects), 0, "")
    assert loose(scene) == 0
    assert all_objects(scene) == objects
    assert len(packs_of(scene.gitdir)) == 1
    assert scene.files() == before
    assert git(scene.gitdir, "fsck", "--full", "--strict") == ""
    with scene.opened() as group:
        for commit in commits[:-1]:
            expected = files_at(scene.gitdir, commit)["a.md"]
            assert read(group, "a.md", at=commit).data == expected
        assert check(group).sound
    scene.write(Edit("a.md", "after\n"))
    assert_sound(scene)


def test_nobody_else_may_read_a_pack(scene: Scene) -> None:
    packed(scene)

    for path in (scene.gitdir / "objects" / "pack").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o400, path
    with scene.opened() as group:
        assert not [each for each in check(group).findings if each.code == "mode"]


def test_what_no_ref_reaches_is_kept(scene: Scene) -> None:
    lost = git(scene.gitdir, "hash-object", "-w", "--stdin", input="nobody names me\n").strip()
    git(scene.worktree, "reset", "-q", "--hard", "HEAD~3")
    git(scene.gitdir, "reflog", "expire", "--expire=now", "--all")
    objects = all_objects(scene)

    packed(scene)
    packed(scene, most_packs=1)

    assert all_objects(scene) == objects
    assert git(scene.gitdir, "cat-file", "blob", lost) == "nobody names me\n"
    assert loose(scene) == 0


def test_reflogs_and_refs_are_left_alone(scene: Scene) -> None:
    logs = (scene.gitdir / "logs" / "refs" / "heads" / "main").read_bytes()
    refs = git(scene.gitdir, "for-each-ref")

    packed(scene, most_packs=1)

    assert (scene.gitdir / "logs" / "refs" / "heads" / "main").read_bytes() == logs
    assert git(scene.gitdir, "for-each-ref") == refs
    assert not (scene.gitdir / "packed-refs").exists()


def test_many_packs_become_one(scene: Scene) -> None:
    for number in range(3):
        scene.write(Edit("c.md", f"pack {number}\n"))
        packed(scene)
    git(scene.gitdir, "multi-pack-index", "write")
    objects = all_objects(scene)
    assert len(packs_of(scene.gitdir)) == 3

    done = pack(scene.gitdir, seconds=60, most_packs=3)

    assert (done.objects, done.packs) == (0, 3)
    assert len(packs_of(scene.gitdir)) == 1
    assert all_objects(scene) == objects
    assert git(scene.gitdir, "fsck", "--full", "--strict") == ""
    scene.write(Edit("a.md", "after\n"))
    assert_sound(scene)


def test_a_pack_that_somebody_wants_to_keep_is_left_alone(scene: Scene) -> None:
    packed(scene)
    (kept,) = packs_of(scene.gitdir)
    Path(f"{kept}.keep").touch()
    scene.write(Edit("c.md", "more\n"))

    packed(scene, most_packs=1)

    assert os.path.exists(f"{kept}.pack")
    assert git(scene.gitdir, "fsck", "--full", "--strict") == ""


def test_packing_again_finds_nothing_to_do(scene: Scene) -> None:
    packed(scene)
    before = sorted(os.listdir(scene.gitdir / "objects" / "pack"))

    done = pack(scene.gitdir, seconds=60, most_packs=LOTS)

    assert (done.objects, done.packs) == (0, 0)
    assert sorted(os.listdir(scene.gitdir / "objects" / "pack")) == before


def test_a_damaged_object_stops_packing_and_nothing_goes(scene: Scene) -> None:
    with scene.opened() as group:
        truncate(group.repository, git(scene.gitdir, "rev-parse", "main~3:a.md").strip())
    before = loose(scene)

    with pytest.raises(StorageFailed, match="pack-objects failed"):
        packed(scene)

    assert loose(scene) == before
    assert packs_of(scene.gitdir) == []
    with scene.opened() as group:
        assert read(group, "a.md").data == b"version 19\n"


def test_a_damaged_pack_is_not_put_together_with_others(scene: Scene) -> None:
    packed(scene)
    scene.write(Edit("c.md", "more\n"))
    packed(scene)
    stems = packs_of(scene.gitdir)
    for stem in stems:
        os.chmod(f"{stem}.idx", 0o600)
        Path(f"{stem}.idx").write_bytes(b"garbage")

    with pytest.raises(Damaged, match="cannot be read"):
        packed(scene, most_packs=2)

    assert packs_of(scene.gitdir) == stems


def test_a_git_that_takes_too_long_is_stopped_and_nothing_goes(scene: Scene) -> None:
    before, objects = loose(scene), all_objects(scene)

    with pytest.raises(GitTooSlow):
        pack(scene.gitdir, seconds=0.0, most_packs=LOTS)

    assert (loose(scene), all_objects(scene)) == (before, objects)
    packed(scene)
    assert loose(scene) == 0
    assert os.listdir(scene.gitdir / "gitmem" / "packing") == ["lock"]


def test_two_do_not_pack_at_once(scene: Scene) -> None:
    packed(scene)
    with (
        Lock(scene.gitdir / "gitmem" / "packing" / "lock"),
        pytest.raises(Busy, match="is packing"),
    ):
        packed(scene)
    with Lock(scene.gitdir / "gitmem" / "packing" / "lock"), scene.opened() as group:
        done = maintain(group, limits=PackLimits(packs=1))
    step = step_of(done, "pack")
    assert (step.outcome, step.detail) == ("skipped", "another gitmem process is packing")


def test_without_git_packing_is_skipped_with_a_word_and_the_rest_works(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with scene.opened() as group:
        done = maintain(group, limits=PackLimits(loose=0))

    assert [(each.step, each.outcome) for each in done.steps if each.outcome != "nothing"] == [
        ("snapshot", "done"),
        ("report", "done"),
        ("scrub", "done"),
        ("pack", "skipped"),
    ]
    assert "needs git, which is not installed" in step_of(done, "pack").detail
    with pytest.raises(StorageFailed, match="git is not installed"):
        run_git(scene.gitdir, "version", seconds=5)


def test_packing_is_due_from_a_number_of_objects_on(scene: Scene, tmp_path: Path) -> None:
    names = [tmp_path / f"blob {number}" for number in range(400)]
    for name in names:
        name.write_text(name.name)
    git(scene.gitdir, "hash-object", "-w", "--stdin-paths", input="\n".join(map(str, names)))
    with scene.opened() as group:
        assert step_of(maintain(group, limits=PackLimits(loose=LOTS)), "pack").outcome == "nothing"
        done = maintain(group, limits=PackLimits(loose=150))
        assert step_of(done, "pack").outcome == "done"
        assert step_of(done, "pack").detail.endswith("objects packed")
        assert step_of(maintain(group, limits=PackLimits(loose=150)), "pack").outcome == "nothing"


def test_the_estimate_is_near_the_number(tmp_path: Path) -> None:
    for first in range(256):
        folder = tmp_path / "objects" / f"{first:02x}"
        folder.mkdir(parents=True)
        for number in range(10):
            (folder / f"{number:038x}").touch()

    assert loose_estimate(tmp_path) == 2560
    assert loose_estimate(tmp_path / "nowhere") == 0


def test_the_history_gets_a_graph_that_git_uses(scene: Scene) -> None:
    packed(scene)

    git(scene.gitdir, "commit-graph", "verify")
    assert "version" in git(scene.gitdir, "log", "-p", "-n1", "main", "--", "a.md")


@pytest.mark.parametrize(
    ("marked", "old", "goes"), [(True, True, True), (False, True, False), (True, False, False)]
)
def test_a_lock_on_the_graph_goes_only_if_one_of_us_died_with_it(
    scene: Scene, marked: bool, old: bool, goes: bool
) -> None:
    packed(scene)
    lock = scene.gitdir / "objects" / "info" / "commit-graph.lock"
    lock.touch()
    if old:
        os.utime(lock, (1, 1))
    if marked:
        (scene.gitdir / "gitmem" / "packing" / "graph").touch()

    done = pack(scene.gitdir, seconds=60, most_packs=LOTS)

    assert lock.exists() is not goes
    assert bool(done.remark) is not goes
    # Who is not sure yet leaves the mark for the next.
    assert (scene.gitdir / "gitmem" / "packing" / "graph").exists() is (marked and not goes)


def test_a_work_tree_that_is_not_there_does_not_matter(scene: Scene) -> None:
    os.rename(scene.worktree, scene.worktree.with_name("unmounted"))

    packed(scene)

    assert git(scene.gitdir, f"--work-tree={scene.root}", "fsck", "--full") == ""
    os.rename(scene.worktree.with_name("unmounted"), scene.worktree)
    assert_sound(scene)


def test_the_settings_of_whoever_calls_do_not_count(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "pack.packSizeLimit")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "nonsense")

    packed(scene)

    assert loose_estimate(scene.gitdir) == 0
    assert len(packs_of(scene.gitdir)) == 1
