"""A full disk: a real one, of four megabytes."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

import gitmem.store.index.staging
from gitmem.errors import GitmemError, StorageFailed
from gitmem.memory.admin.check import check_group
from gitmem.memory.admin.init import init
from gitmem.memory.adopt.adopt import adopt
from gitmem.memory.group import Store
from gitmem.memory.read.read import read
from gitmem.memory.write.write import Edit
from tests.support.damage import object_file
from tests.support.faults import Scene, assert_sound, commits_of, files_on_disk, line, new_scene
from tests.support.git import git
from tests.support.processes import Voice, alone

MEGABYTES = 4
PAGE = 4096


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """An empty file system of four megabytes."""
    place = tmp_path / "small disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m,mode=0700", "none", str(place)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        why = mounted.stderr.strip() or "not root"
        pytest.skip(f"NO SMALL DISK CAN BE MOUNTED, a full disk is NOT TESTED: {why}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path, spare_pages: int = 0) -> Path:
    """Fill DISK up but for some pages; removing the ballast makes room again."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(PAGE))
        except OSError:
            file.truncate(file.tell() - spare_pages * PAGE)
    return ballast


def random_text(size: int) -> str:
    """Text that does not get smaller."""
    return os.urandom(size // 2).hex() + "\n"


def write_without_end(scene: Scene, acks: dict[str, tuple[str, bytes]]) -> None:
    for number in count():
        path, text = f"notes/{number}.md", line(str(number)) + random_text(60_000)
        acks[path] = (scene.write(Edit(path, text)).commit, text.encode())


def test_a_disk_that_fills_up_loses_nothing(small_disk: Path) -> None:
    scene = new_scene(small_disk / "store")
    reserve = small_disk / "reserve"
    reserve.write_bytes(bytes(100 * PAGE))
    acks: dict[str, tuple[str, bytes]] = {}
    with pytest.raises(StorageFailed, match="the disk is full") as failure:
        write_without_end(scene, acks)
    assert "free some space" in failure.value.hint
    assert len(acks) > 10

    with pytest.raises(StorageFailed, match="the disk is full"):
        scene.write(Edit("again.md", random_text(200_000)))

    history, files = commits_of(scene.gitdir), scene.files()
    assert all(commit in history and files[path] == text for path, (commit, text) in acks.items())
    assert files.keys() == acks.keys()
    reserve.unlink()
    scene.write(Edit("again.md", line("again")))
    assert_sound(scene)


def answer_to(scene: Scene, edits: Iterable[Edit]) -> str:
    try:
        return "pending" if scene.write(*edits).pending else "written"
    except StorageFailed as error:
        return error.message.rpartition(": ")[2]


def test_at_whatever_step_the_disk_is_full_the_next_write_works(small_disk: Path) -> None:
    answers = set()
    for spare in range(30):
        scene = new_scene(small_disk / "store", {"a.md": b"first\n", "notes/c.md": b"c\n"})
        with (scene.worktree / "a.md").open("a") as file:
            file.write(line("edit"))
        ballast = fill(small_disk, spare)
        edits = [Edit("a.md", line("full") + random_text(9_000), append=True)]
        edits += [Edit(f"notes/{number}.md", line("full")) for number in range(40)]
        answer = answer_to(scene, edits)
        answers.add(answer)
        landed = answer != "the disk is full"
        ballast.unlink()
        scene.write(Edit("again.md", line("again")))

        assert ("notes/39.md" in scene.files()) == landed
        assert (b"token-full" in scene.files()["a.md"]) == landed
        if not landed:
            scene.write(*edits)
        assert line("edit").encode() in scene.files()["a.md"]
        assert_sound(scene)
        subprocess.run(["rm", "-r", str(scene.root)], check=True)
    assert answers >= {"the disk is full", "pending"}


def in_need(disk: Path, spare: int, deed: Callable[[], object]) -> str:
    """What DEED answers on a disk with so many pages to SPARE."""
    ballast = fill(disk, spare)
    try:
        deed()
    except StorageFailed as error:
        return error.message.rpartition(": ")[2] + ": " + error.hint
    finally:
        ballast.unlink()
    return "done"


@pytest.mark.parametrize("way", ["init", "adopt", "in place"])
def test_a_group_that_could_not_be_made_for_want_of_space_is_made_when_there_is(
    small_disk: Path, tmp_path: Path, way: str
) -> None:
    source = tmp_path / "folder"
    source.mkdir()
    for number in range(30):
        (source / f"{number}.md").write_text(line(str(number)))
    answers = []
    for spare in (0, 3, 20, 33, 60, 90, 300):
        (source / ".git").unlink(missing_ok=True)
        store = Store(small_disk / f"store {spare}")

        def deed(store: Store = store) -> object:
            if way == "init":
                return init(store, "main", layout="standard")
            return adopt(store, "main", source, layout="none", in_place=way == "in place")

        answers.append(in_need(small_disk, spare, deed))
        deed()
        deed()
        assert check_group(store, "main").sound
        assert list((store.root / "repos").glob(".draft-*")) == []
        with_layout = "gitmem.yaml" in files_on_disk(store.default_worktree("main"))
        assert with_layout is (way == "init")
        subprocess.run(["rm", "-r", str(store.root)], check=True)
    assert set(answers) == {"the disk is full: free some space and repeat", "done"}
    assert answers[-1] == "done"


def on_small_worktree(disk: Path, home: Path) -> Scene:
    """A group whose git directory has room, and whose work tree has not."""
    place = disk / "memory"
    init(Store(home / "store"), "main", worktree=place)
    (home / "store" / "groups").mkdir(exist_ok=True)
    (home / "store" / "groups" / "main").symlink_to(place)
    return Scene(home / "store")


@contextmanager
def full(disk: Path) -> Iterator[None]:
    ballast = fill(disk)
    try:
        yield
    finally:
        ballast.unlink()


def test_a_work_tree_without_room_is_behind_and_nobody_edited_it(
    small_disk: Path, tmp_path: Path
) -> None:
    scene = on_small_worktree(small_disk, tmp_path)
    scene.write(Edit("a.md", line("0")), Edit("b.md", "b\n"))

    with full(small_disk):
        for number in range(1, 5):
            done = scene.write(Edit("a.md", line(str(number)), append=True))
            assert done.pending
            assert done.captured == ()
        done = scene.write(Edit("new/folder/c.md", line("c")))
        done = scene.write(Edit("new/folder/c.md", line("more"), append=True))
        assert done.pending
        assert done.captured == ()

    scene.write(Edit("b.md", "b2\n"))
    assert scene.files()["a.md"] == "".join(line(str(number)) for number in range(5)).encode()
    assert scene.files()["new/folder/c.md"] == (line("c") + line("more")).encode()
    assert files_on_disk(small_disk / "memory") == scene.files()
    assert git(small_disk / "memory", "status", "--porcelain") == ""


def test_an_edit_of_a_file_that_is_behind_is_merged(small_disk: Path, tmp_path: Path) -> None:
    scene = on_small_worktree(small_disk, tmp_path)
    scene.write(Edit("a.md", "# A\n\nend\n"))

    with full(small_disk):
        assert scene.write(Edit("a.md", "# A\n\nend\n" + line("ours"))).pending
        with (small_disk / "memory" / "a.md").open("r+") as file:
            file.write("# B\n")  # in place, where there is room
        assert scene.write(Edit("b.md", "b\n")).pending

    scene.write(Edit("c.md", "c\n"))
    assert scene.files()["a.md"] == b"# B\n\nend\n" + line("ours").encode()
    assert files_on_disk(small_disk / "memory") == scene.files()


def write_with_short_files(voice: Voice, root: str, edits: list[list[object]]) -> None:
    """A process whose files may have 600 bytes: a longer write is cut short without an error."""
    gitmem.store.index.staging.PATIENCE = 0.01
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
    voice.say(answer_to(Scene(Path(root)), [Edit(*each) for each in edits]))  # type: ignore[arg-type]


TEN: list[list[object]] = [[f"{number}.md", line(str(number))] for number in range(10)]


def test_a_record_that_is_cut_short_is_not_believed(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store", {"a.md": b"first\n"})

    (answer, _) = alone(write_with_short_files, str(scene.root), TEN)

    assert "File too large" in answer[0]
    assert scene.files() == {"a.md": b"first\n"}
    scene.write(Edit("again.md", line("again")))
    assert_sound(scene)


def test_pending_work_outlives_a_record_that_is_cut_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gitmem.store.index.staging, "PATIENCE", 0.01)
    scene = new_scene(tmp_path / "store", {"a.md": b"first\n"})
    theirs = scene.gitdir / "index.lock"
    theirs.touch()
    assert scene.write(Edit("a.md", line("pending"))).pending

    (answer, _) = alone(write_with_short_files, str(scene.root), TEN)

    assert "File too large" in answer[0]
    theirs.unlink()
    assert not scene.write(Edit("again.md", line("again"))).pending
    assert_sound(scene)


def test_a_reader_that_cannot_heal_for_want_of_space_makes_no_half_object(small_disk: Path) -> None:
    """A damaged object is written again by whoever reads it, and a reader may live for long."""
    texts = {name: random_text(3 * PAGE) for name in ("a.md", "b.md")}
    scene = new_scene(small_disk / "store", {name: data.encode() for name, data in texts.items()})
    for name in texts:
        object_file(scene, f"main:{name}").write_bytes(b"damaged")
    with scene.opened() as group:
        ballast = fill(small_disk, 1)
        for name in texts:
            with suppress(GitmemError):
                read(group, name)
        assert not list(scene.gitdir.glob("objects/tmp_obj_*"))
        ballast.unlink()
        assert [read(group, name).text for name in texts] == list(texts.values())
    scene.write(Edit("again.md", "again\n"))
    assert_sound(scene)
