"""What was dropped on purpose goes from the disk, and nothing that anybody needs goes with it."""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import gitmem.store.fault_points
import gitmem.store.gc.prune
from gitmem.errors import Busy, Damaged
from gitmem.memory.write.write import Edit
from gitmem.model.commit_messages import Note
from gitmem.store.gc.packing import pack, packs_of
from gitmem.store.gc.prune import forget_dropped
from gitmem.store.gc.prune_list import dropped, note_dropped
from gitmem.store.lock import Inflight, Item, Lock, lock_path
from gitmem.store.refs.side_branch import side_branch
from tests.support.faults import Scene, assert_sound, files_at, new_scene
from tests.support.git import git, git_bytes
from tests.support.moulds import Moulds

REF = "refs/gitmem/aside"
WHEN = datetime(2026, 2, 8, 12, tzinfo=UTC)
LOTS = 1_000_000
GONE = b"what shall be forgotten\n"
STAYS = b"what shall stay\n"


@pytest.fixture
def scene(tmp_path: Path, moulds: Moulds) -> Scene:
    moulds.cast("with two lines", tmp_path / "store", made)
    return Scene(tmp_path / "store")


def made(root: Path) -> None:
    scene = new_scene(root, {"a.md": b"one\n", "deep/b.md": b"two\n"})
    append(scene, "day/gone", GONE)
    append(scene, "day/stays", STAYS)


def append(scene: Scene, path: str, data: bytes) -> str:
    with scene.opened() as group, side_branch(group.repository, REF) as aside:
        note = Note("aside", os.urandom(8).hex(), "ada", title=path)
        return aside.append(aside.tip(), {path: data}, note, WHEN)


def drop(scene: Scene, *paths: str) -> str:
    """Let the line begin anew without PATHS; what it was before."""
    with scene.opened() as group, side_branch(group.repository, REF) as aside:
        old = aside.tip() or ""
        note_dropped(scene.gitdir, old, REF)
        note = Note("aside", os.urandom(8).hex(), "ada", title="dropped")
        aside.restart(old, dict.fromkeys(paths), note, WHEN)
        return old


def forget(scene: Scene) -> int:
    return forget_dropped(scene.gitdir, seconds=60).objects


def packed(scene: Scene) -> None:
    pack(scene.gitdir, seconds=60, most_packs=LOTS)


def all_objects(scene: Scene) -> set[str]:
    listed = git(scene.gitdir, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    return set(listed.split())


def holds(scene: Scene, data: bytes) -> bool:
    """Whether any object has these bytes in it."""
    return data in git_bytes(scene.gitdir, "cat-file", "--batch-all-objects", "--batch")


def blob(data: bytes) -> str:
    return git(Path("/"), "hash-object", "--stdin", input=data).strip()


def all_at(scene: Scene, *revisions: str) -> set[str]:
    """Every object that these reach, by git's account."""
    listed = git(scene.gitdir, "rev-list", "--objects", "--no-object-names", *revisions)
    return set(listed.split())


def at_step(monkeypatch: pytest.MonkeyPatch, step: str, act: Callable[[], object]) -> None:
    """Let somebody act, once, when a step is reached."""
    acts = [act]

    def reached(point: str) -> None:
        if point == step and acts:
            acts.pop()()

    monkeypatch.setattr(gitmem.store.fault_points, "reached", reached)


def twice(scene: Scene) -> None:
    copy = scene.root / "copy"
    shutil.copytree(scene.gitdir / "objects", copy)
    packed(scene)
    shutil.copytree(copy, scene.gitdir / "objects", dirs_exist_ok=True)
    shutil.rmtree(copy)


HOW: dict[str, Callable[[Scene], object]] = {
    "loose": lambda scene: None,
    "packed": packed,
    "in two packs": lambda scene: (packed(scene), append(scene, "day/more", b"m\n"), packed(scene)),
    "packed and loose": twice,
    "by a person": lambda scene: git(scene.gitdir, "repack", "-a", "-d", "-q", "-b"),
    "in a multi-pack": lambda scene: (
        packed(scene),
        git(scene.gitdir, "multi-pack-index", "write"),
        git(scene.gitdir, "commit-graph", "write", "--reachable", "--split"),
    ),
}


@pytest.mark.parametrize("how", HOW)
def test_what_was_dropped_goes_and_all_else_stays(scene: Scene, how: str) -> None:
    HOW[how](scene)
    lost = git(scene.gitdir, "hash-object", "-w", "--stdin", input="nobody names me\n").strip()
    old = drop(scene, "day/gone")
    assert holds(scene, GONE)
    before = all_objects(scene)
    expected = before - (all_at(scene, old) - all_at(scene, REF, "main"))

    assert forget(scene) == len(before) - len(expected) > 5

    assert all_objects(scene) == expected
    assert not holds(scene, GONE)
    assert lost in expected
    assert files_at(scene.gitdir, REF)["day/stays"] == STAYS
    assert dropped(scene.gitdir) == []
    assert not (scene.gitdir / "gitmem" / "dropped").exists()
    assert os.listdir(scene.gitdir / "gitmem" / "packing") == ["lock"]
    assert git(scene.gitdir, "fsck", "--full", "--strict", "--no-dangling") == ""
    git(scene.gitdir, "commit-graph", "verify")
    assert git(scene.gitdir, "log", "--format=%H", "main", "--", "a.md")
    assert_sound(scene)


def test_with_nothing_dropped_nothing_goes(scene: Scene) -> None:
    packed(scene)
    before = all_objects(scene), packs_of(scene.gitdir)

    assert forget(scene) == 0

    assert (all_objects(scene), packs_of(scene.gitdir)) == before


def indexed(scene: Scene) -> None:
    (scene.worktree / "person.md").write_bytes(GONE)
    git(scene.worktree, "add", "person.md")


def recorded(scene: Scene) -> None:
    """A dead writer's record names it: the next one needs it to finish that one's work."""
    git(scene.gitdir, "hash-object", "-w", "--stdin", input=GONE)
    with Lock(lock_path(scene.gitdir)) as lock:
        item = Item("x.md", None, blob(GONE), ".gitmem-x", True)
        lock.note(Inflight("x", "", 1, False, (item,)))


NEEDED: dict[str, Callable[[Scene], object]] = {
    "as memory": lambda scene: scene.write(Edit("same.md", GONE)),
    "in the past": lambda scene: (
        scene.write(Edit("same.md", GONE)),
        scene.write(Edit("same.md", "another\n")),
    ),
    "only in the log of the branch": lambda scene: (
        scene.write(Edit("same.md", GONE)),
        git(scene.worktree, "reset", "-q", "--hard", "HEAD~1"),
        (scene.gitdir / "ORIG_HEAD").unlink(),
    ),
    "in the index": indexed,
    "in a stash": lambda scene: (indexed(scene), git(scene.worktree, "stash", "-q")),
    "under a tag": lambda scene: git(scene.gitdir, "tag", "mine", blob(GONE)),
    "on the line itself": lambda scene: append(scene, "day/again", GONE),
    "in a record": recorded,
}


@pytest.mark.parametrize("when", ["before", "meanwhile"])
@pytest.mark.parametrize("how", ["loose", "packed"])
@pytest.mark.parametrize("need", NEEDED)
def test_what_is_needed_elsewhere_stays(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, need: str, how: str, when: str
) -> None:
    HOW[how](scene)
    if when == "before":
        NEEDED[need](scene)
        drop(scene, "day/gone")
    else:
        drop(scene, "day/gone")
        at_step(monkeypatch, "repacked", lambda: NEEDED[need](scene))

    forget(scene)

    assert git_bytes(scene.gitdir, "cat-file", "blob", blob(GONE)) == GONE
    assert git(scene.gitdir, "fsck", "--full", "--strict", "--no-dangling") == ""
    assert dropped(scene.gitdir) == []


@pytest.mark.parametrize("name", ["ORIG_HEAD", "FETCH_HEAD"])
def test_what_git_remembers_for_a_while_is_needed(scene: Scene, name: str) -> None:
    git(scene.worktree, "checkout", "-q", "-b", "elsewhere")
    indexed(scene)
    git(scene.worktree, "commit", "-q", "-m", "with it")
    commit = git(scene.worktree, "rev-parse", "HEAD").strip()
    git(scene.worktree, "switch", "-q", "main")
    git(scene.worktree, "branch", "-q", "-D", "elsewhere")
    git(scene.gitdir, "reflog", "expire", "--expire=now", "--all")
    (scene.gitdir / name).write_text(f"{commit}\n")
    drop(scene, "day/gone")

    forget(scene)

    assert holds(scene, GONE)


def test_a_ref_of_somebody_s_own_is_respected_and_told_of(scene: Scene) -> None:
    git(scene.gitdir, "tag", "mine", REF)
    old = drop(scene, "day/gone")

    with pytest.raises(Busy, match=f"leads to {old[:10]}, which was dropped") as caught:
        forget(scene)

    assert "for-each-ref" in caught.value.hint
    assert holds(scene, GONE)
    git(scene.gitdir, "tag", "-d", "mine")
    assert forget(scene) > 0
    assert not holds(scene, GONE)


def test_a_pack_that_somebody_wants_to_keep_is_told_of(scene: Scene) -> None:
    packed(scene)
    (kept,) = packs_of(scene.gitdir)
    Path(f"{kept}.keep").touch()
    append(scene, "day/later", b"later\n")
    drop(scene, "day/gone", "day/later")

    with pytest.raises(Busy, match=r"in a pack with a \.keep file"):
        forget(scene)

    assert not holds(scene, b"later\n")
    assert holds(scene, GONE)
    assert git(scene.gitdir, "fsck", "--full", "--strict", "--no-dangling") == ""
    Path(f"{kept}.keep").unlink()
    assert forget(scene) > 0
    assert not holds(scene, GONE)


def test_whoever_noted_it_and_died_before_letting_go_costs_nothing(scene: Scene) -> None:
    tip = git(scene.gitdir, "rev-parse", REF).strip()
    note_dropped(scene.gitdir, tip, REF)
    before = all_objects(scene)

    assert forget(scene) == 0

    assert all_objects(scene) == before
    assert dropped(scene.gitdir) == []
    drop(scene, "day/gone")
    assert forget(scene) > 0
    assert not holds(scene, GONE)


@pytest.mark.parametrize("noted", [False, True])
def test_what_is_dropped_while_something_is_forgotten_is_forgotten_too(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, noted: bool
) -> None:
    drop(scene, "day/gone")
    append(scene, "day/next", b"the next to go\n")
    if noted:  # by one who died, and the second one lets go of the very same commit
        note_dropped(scene.gitdir, git(scene.gitdir, "rev-parse", REF).strip(), REF)
    at_step(monkeypatch, "repacked", lambda: drop(scene, "day/next"))

    forget(scene)
    forget(scene)

    assert not holds(scene, GONE)
    assert not holds(scene, b"the next to go\n")
    assert dropped(scene.gitdir) == []
    assert files_at(scene.gitdir, REF) == {"day/stays": STAYS}


@pytest.mark.parametrize("how", ["loose", "packed"])
def test_a_person_who_packs_meanwhile_saves_it_for_nobody(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    HOW[how](scene)
    drop(scene, "day/gone")
    repack = ("repack", "-a", "-d", "-q", "--keep-unreachable")
    at_step(monkeypatch, "repacked", lambda: git(scene.gitdir, *repack))

    forget(scene)

    assert not holds(scene, GONE)
    assert git(scene.gitdir, "fsck", "--full", "--strict", "--no-dangling") == ""
    assert_sound(scene)


def test_who_is_disturbed_again_and_again_gives_up_and_loses_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(scene, "day/gone")
    before = all_objects(scene)
    monkeypatch.setattr(gitmem.store.gc.prune, "ROUNDS", 1)
    at_step(monkeypatch, "repacked", lambda: git(scene.gitdir, "tag", "mine", blob(GONE)))

    with pytest.raises(Busy, match="other processes kept changing"):
        forget(scene)

    assert all_objects(scene) == before
    assert dropped(scene.gitdir) != []


def test_two_do_not_forget_at_once(scene: Scene) -> None:
    drop(scene, "day/gone")
    packed(scene)

    with Lock(scene.gitdir / "gitmem" / "packing" / "lock"), pytest.raises(Busy, match="packing"):
        forget(scene)

    assert forget(scene) > 0


def test_a_hole_in_the_line_stops_it_since_what_is_needed_cannot_be_told(scene: Scene) -> None:
    drop(scene, "day/gone")
    tree = git(scene.gitdir, "rev-parse", f"{REF}:day").strip()
    (scene.gitdir / "objects" / tree[:2] / tree[2:]).unlink()
    before = all_objects(scene)

    with pytest.raises(Damaged, match="nothing was removed") as caught:
        forget(scene)

    assert "check --repair" in caught.value.hint
    assert all_objects(scene) == before
    assert dropped(scene.gitdir) != []


def test_a_line_that_is_lost_stops_it_for_the_same_reason(scene: Scene) -> None:
    drop(scene, "day/gone")
    (scene.gitdir / REF).unlink()
    assert forget(scene) > 0, "its log knows where it was"
    append(scene, "day/next", b"next\n")
    drop(scene, "day/next")
    (scene.gitdir / REF).unlink()
    (scene.gitdir / "logs" / REF).unlink()
    before = all_objects(scene)

    with pytest.raises(Damaged, match="is lost"):
        forget(scene)

    assert all_objects(scene) == before


def test_a_hole_in_the_past_of_memory_does_not_stop_it(scene: Scene) -> None:
    scene.write(Edit("deep/b.md", "three\n"))
    tree = git(scene.gitdir, "rev-parse", "main~1:deep").strip()
    (scene.gitdir / "objects" / tree[:2] / tree[2:]).unlink()
    drop(scene, "day/gone")

    assert forget(scene) > 0

    assert not holds(scene, GONE)


def test_a_damaged_object_of_memory_stops_it(scene: Scene) -> None:
    scene.write(Edit("deep/b.md", "three\n"))
    tree = git(scene.gitdir, "rev-parse", "main~1:deep").strip()
    path = scene.gitdir / "objects" / tree[:2] / tree[2:]
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-4])
    drop(scene, "day/gone")

    with pytest.raises(Damaged, match=f"objects that {tree[:10]} needs"):
        forget(scene)


def test_what_is_damaged_among_the_dropped_goes_with_its_copies_in_quarantine(scene: Scene) -> None:
    place = scene.gitdir / "objects" / blob(GONE)[:2] / blob(GONE)[2:]
    aside = scene.gitdir / "gitmem" / "quarantine"
    aside.mkdir()
    (aside / f"{blob(GONE)}.0").write_bytes(place.read_bytes())
    (aside / f"{blob(STAYS)}.0").write_bytes(zlib.compress(b"something else"))
    place.chmod(0o600)
    place.write_bytes(place.read_bytes()[:-2])
    drop(scene, "day/gone")

    forget(scene)

    assert not place.exists()
    assert [each.name for each in aside.iterdir()] == [f"{blob(STAYS)}.0"]


def test_a_list_that_is_torn_names_what_can_be_read(scene: Scene) -> None:
    old = drop(scene, "day/gone")
    path = scene.gitdir / "gitmem" / "dropped"
    path.write_bytes(b"\0\0\n" + path.read_bytes() + b"0123\n" + b"\xff" * 9)

    assert dropped(scene.gitdir) == [old]
    assert forget(scene) > 0
    assert not path.exists()
