"""Locks of dead writers of ours go, locks of living gits stay."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

import gitmem.store.fault_points
import gitmem.store.index.staging
from gitmem.errors import Busy
from gitmem.memory.group import Group, Store
from gitmem.memory.upkeep.maintain import maintain
from gitmem.memory.upkeep.snapshot import snapshot
from gitmem.memory.write.write import Edit
from gitmem.store.fsck.lost_refs import point
from gitmem.store.index.staging import Staging
from gitmem.store.lock import Lock, decode, lock_path
from gitmem.store.refs.move import delete_ref
from tests.support.damage import check_now
from tests.support.faults import Scene, assert_sound, fixed_clock, line, new_scene, write_once
from tests.support.git import PERSON, git
from tests.support.processes import PATIENCE, Crowd, Voice, alone

BEFORE = {"a.md": b"first\n", "b.md": b"b\n"}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return new_scene(tmp_path / "store", BEFORE)


def die_at(voice: Voice, root: str, point: str) -> None:
    """A writer that dies at a named point."""

    def reached(step: str) -> None:
        if step == point:
            os.kill(os.getpid(), signal.SIGKILL)

    gitmem.store.fault_points.reached = reached
    Scene(Path(root)).write(Edit("a.md", line("dead"), append=True))


def dead_commit(scene: Scene) -> str:
    """The commit of a writer that died before the branch moved."""
    said = git(scene.gitdir, "fsck", "--unreachable", "--no-reflogs")
    return next(row.split()[2] for row in said.splitlines() if " commit " in row)


@pytest.mark.parametrize("left", ["its commit", "nothing yet", "zeros after a power cut"])
def test_stale_lock_of_the_branch(scene: Scene, left: str) -> None:
    alone(die_at, str(scene.root), "objects")
    content = {"its commit": f"{dead_commit(scene)}\n", "nothing yet": ""}.get(left, "\0" * 41)
    (scene.gitdir / "refs" / "heads" / "main.lock").write_text(content)

    alone(write_once, str(scene.root), [["b.md", line("again")]])

    assert scene.files() == {"a.md": b"first\n", "b.md": line("again").encode()}
    assert_sound(scene)


@pytest.mark.parametrize("point", ["branch", "placed"])
def test_stale_lock_of_the_index(scene: Scene, point: str) -> None:
    alone(die_at, str(scene.root), point)
    leave_index_lock(scene)

    alone(write_once, str(scene.root), [["b.md", line("again")]])

    assert scene.files()["a.md"] == b"first\n" + line("dead").encode()
    assert_sound(scene)


def leave_index_lock(scene: Scene) -> None:
    """What a writer leaves that dies between taking the index's lock and renaming it."""
    ours = scene.gitdir / "gitmem" / "index.new"
    ours.write_bytes(b"half an index")
    os.link(ours, scene.gitdir / "index.lock")


@contextmanager
def living_git(scene: Scene, command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A git that holds the branch's lock until we say otherwise."""
    git_process = subprocess.Popen(
        ["git", f"--git-dir={scene.gitdir}", "update-ref", "--stdin"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | PERSON,
    )
    with git_process as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdin.write(f"start\n{command}\nprepare\n".encode())
        holder.stdin.flush()
        assert holder.stdout.readline() == b"start: ok\n"
        assert holder.stdout.readline() == b"prepare: ok\n"
        yield holder


def let_go(holder: subprocess.Popen[bytes]) -> None:
    assert holder.stdin is not None
    holder.stdin.write(b"abort\n")
    holder.stdin.flush()
    holder.stdin.close()
    holder.wait(PATIENCE)


@pytest.mark.parametrize("wants", ["verify", "update"])
def test_live_lock_survives(scene: Scene, wants: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Group.writing, "__defaults__", (0.2,))
    before, root = scene.head(), git(scene.gitdir, "rev-parse", "main~1").strip()
    lock = scene.gitdir / "refs" / "heads" / "main.lock"
    value = {"verify": before, "update": root}[wants]

    with living_git(scene, f"{wants} refs/heads/main {value}") as holder:
        time.sleep(1.1 if wants == "verify" else 0)  # older than an empty lock of ours may be
        held = lock.read_bytes()
        for _ in range(2):  # the second must not take the first for dead
            with pytest.raises(Busy, match=r"main\.lock") as busy:
                scene.write(Edit("a.md", line("busy")))
            assert "nothing was written" in str(busy.value)
        assert lock.read_bytes() == held
        let_go(holder)

    assert scene.head() == before
    scene.write(Edit("a.md", line("free")))
    assert_sound(scene)


def test_a_write_waits_for_a_lock_that_goes(scene: Scene) -> None:
    with living_git(scene, f"verify refs/heads/main {scene.head()}") as holder:
        release = threading.Timer(0.3, let_go, [holder])
        release.start()
        done = scene.write(Edit("a.md", line("patient")))
        release.join()

    assert done.commit == scene.head()
    assert_sound(scene)


@pytest.mark.parametrize("name", ["HEAD.lock", "packed-refs.lock"])
def test_a_lock_that_gitmem_never_takes_survives_the_death_of_a_writer(
    scene: Scene, name: str
) -> None:
    alone(die_at, str(scene.root), "branch")
    lock = scene.gitdir / name
    lock.touch()
    os.utime(lock, (0, 0))

    alone(write_once, str(scene.root), [["b.md", line("again")]])

    assert lock.exists()
    lock.unlink()
    assert_sound(scene)


def hog(voice: Voice, path: str) -> None:
    """Take the lock again the moment it is free, and say so each time."""
    for turn in count():
        with Lock(path):
            voice.say("turn", turn)
            time.sleep(0.01)


def test_who_waits_for_the_lock_comes_before_who_had_it(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    with Crowd() as crowd:
        crowd.start(hog, path).hear()
        for _ in range(10):
            turns = waiting_in_vain(crowd, path)
            assert turns <= 3, "the queue was jumped"


def waiting_in_vain(crowd: Crowd, path: str) -> int:
    """How often somebody else got the lock while we waited for it."""
    lock = Lock(path)
    list(crowd.listen(0.005))  # what was said before
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lock.acquire)
        turns = 0
        while not waiting.done():
            turns += len(list(crowd.listen(0.001)))
        waiting.result()
    lock.release()
    return turns


class Editor:
    """A person's `git commit --all`, whose editor stays open: it holds `index.lock` all along."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        self._opened, self._done = folder / "opened", folder / "done"
        os.mkfifo(self._opened)
        os.mkfifo(self._done)
        script = f"echo > '{self._opened}'; read line < '{self._done}'; echo by hand >"
        self._git = subprocess.Popen(
            ["git", "-C", str(scene.worktree), "-c", f"core.editor={script}", "commit", "--all"],
            env=os.environ | PERSON,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._opened.read_text()
        assert (scene.gitdir / "index.lock").exists()

    def close(self) -> int:
        """Save and quit; what git says to it."""
        self._done.write_text("\n")
        return self._git.wait(PATIENCE)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gitmem.store.index.staging, "PATIENCE", 0.1)


@pytest.mark.usefixtures("impatient")
def test_a_held_index_lock_makes_a_write_pending(scene: Scene, tmp_path: Path) -> None:
    (scene.worktree / "b.md").write_text("b\n" + line("person"))
    editor = Editor(scene, tmp_path)

    done = scene.write(Edit("a.md", line("ours")))
    assert done.pending
    assert done.commit == scene.head()
    assert (scene.gitdir / "index.lock").exists()
    assert (scene.worktree / "a.md").read_text() == line("ours")
    assert editor.close() != 0, "git sees that the branch has moved"

    assert not scene.write(Edit("c.md", "c\n")).pending
    assert git(scene.worktree, "status", "--porcelain") == " M b.md\n"
    assert scene.write(Edit("b.md", line("b"), append=True)).captured
    assert scene.files()["b.md"] == ("b\n" + line("person") + line("b")).encode()
    assert_sound(scene)


@pytest.mark.usefixtures("impatient")
def test_an_editor_open_beside_a_dead_writer(scene: Scene, tmp_path: Path) -> None:
    alone(die_at, str(scene.root), "branch")
    (scene.worktree / "b.md").write_text("b\n" + line("person"))
    editor = Editor(scene, tmp_path)

    done = scene.write(Edit("c.md", line("ours")))
    assert done.pending
    assert (scene.gitdir / "index.lock").exists(), "it belongs to a living git"
    assert (scene.worktree / "a.md").read_text() == "first\n" + line("dead")
    editor.close()

    assert not scene.write(Edit("b.md", line("b"), append=True)).pending
    assert scene.files() == {
        "a.md": ("first\n" + line("dead")).encode(),
        "b.md": ("b\n" + line("person") + line("b")).encode(),
        "c.md": line("ours").encode(),
    }
    assert_sound(scene)


@pytest.mark.usefixtures("impatient")
def test_whoever_dies_while_finishing_pending_work_leaves_no_lock(scene: Scene) -> None:
    theirs = scene.gitdir / "index.lock"
    theirs.touch()
    assert scene.write(Edit("a.md", line("pending"))).pending
    record = decode(Path(lock_path(scene.gitdir)).read_bytes())
    assert record is not None
    assert record.left
    theirs.unlink()
    leave_index_lock(scene)

    assert not scene.write(Edit("b.md", line("again"))).pending
    assert_sound(scene)


def test_a_persons_git_add_is_not_undone(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    (scene.worktree / "person.md").write_text("by hand\n")
    load, added = Staging.load, []

    def load_slowly(self: Staging) -> object:
        loaded = load(self)
        if not added:  # the person is faster than what follows
            said = git(scene.worktree, "add", "--verbose", "person.md", check=False)
            added.append(said.startswith("add"))
        return loaded

    monkeypatch.setattr(Staging, "load", load_slowly)
    scene.write(Edit("a.md", line("ours")))

    in_index = "person.md" in git(scene.worktree, "ls-files").splitlines()
    assert added == [in_index], "git said yes, so it must be there; or it said that it is locked"


HELD = {"nothing": "", "zeros": "\0" * 41, "a commit": "HEAD", "garbage": "what is this?\n"}


@pytest.mark.parametrize("held", HELD)
def test_a_stale_lock_below_our_own_refs_never_stops_the_scrub(scene: Scene, held: str) -> None:
    lock = scene.gitdir / "refs" / "gitmem" / "verified.lock"
    lock.parent.mkdir(exist_ok=True)
    content = HELD[held]
    lock.write_text(f"{scene.head()}\n" if content == "HEAD" else content)
    os.utime(lock, (1_000_000_000, 1_000_000_000))

    with scene.opened() as group:
        steps = {each.step: each.outcome for each in maintain(group).steps}

    assert steps["scrub"] == "done"
    assert git(scene.gitdir, "rev-parse", "refs/gitmem/verified").strip() == scene.head()
    assert not lock.exists()


def die_moving(voice: Voice, root: str, ref: str, step: str) -> None:
    """One of us that dies while it holds the lock of a ref."""

    def reached(point: str) -> None:
        if point == step:
            os.kill(os.getpid(), signal.SIGKILL)

    gitmem.store.fault_points.reached = reached
    with Scene(Path(root)).opened() as group:
        point(group.repository, ref, group.repository.tip(), "by hand")


@pytest.mark.parametrize("step", ["held", "logged"])
@pytest.mark.parametrize("ref", ["refs/heads/main", "refs/gitmem/verified", "refs/tags/snapshot/x"])
def test_whoever_dies_moving_any_ref_is_in_nobody_s_way(scene: Scene, ref: str, step: str) -> None:
    alone(die_moving, str(scene.root), ref, step)
    lock = scene.gitdir / f"{ref}.lock"
    assert lock.exists()

    scene.write(Edit("a.md", line("again")))
    with scene.opened() as group:
        assert point(group.repository, ref, group.repository.tip(), "again")

    assert not lock.exists()
    assert_sound(scene)


KEPT_REF = "refs/gitmem/kept/0123456789ab"


def die_deleting(voice: Voice, root: str) -> None:
    """One of us that dies while it takes a ref out of the packed refs, holding their lock."""

    def reached(step: str) -> None:
        if step == "held":
            os.kill(os.getpid(), signal.SIGKILL)

    gitmem.store.fault_points.reached = reached
    scene = Scene(Path(root))
    with Lock(lock_path(scene.gitdir)):
        delete_ref(scene.gitdir, KEPT_REF)


def pack_refs(scene: Scene) -> None:
    git(scene.gitdir, "update-ref", KEPT_REF, "refs/heads/main")
    git(scene.gitdir, "tag", "-a", "-m", "a tag", "before", "refs/heads/main")
    git(scene.gitdir, "pack-refs", "--all")


def test_the_lock_of_packed_refs_is_ours_after_death(scene: Scene) -> None:
    pack_refs(scene)
    alone(die_deleting, str(scene.root))
    assert (scene.gitdir / "packed-refs.lock").exists()
    assert [each.code for each in check_now(scene).findings if each.stands] == ["git-lock"]
    assert check_now(scene, repair=True).sound
    assert not (scene.gitdir / "packed-refs.lock").exists()
    git(scene.gitdir, "pack-refs", "--all")


def test_a_dead_lock_of_packed_refs_stops_nobody_who_deletes_a_ref(scene: Scene) -> None:
    pack_refs(scene)
    alone(die_deleting, str(scene.root))
    with Lock(lock_path(scene.gitdir)):
        delete_ref(scene.gitdir, KEPT_REF)
    shown = git(scene.gitdir, "show-ref", "-d").splitlines()
    assert [row.split()[1] for row in shown] == [
        "refs/heads/main",
        "refs/tags/before",
        "refs/tags/before^{}",
    ]
    assert_sound(scene)


def test_the_next_write_removes_a_dead_lock_of_packed_refs(scene: Scene) -> None:
    pack_refs(scene)
    alone(die_deleting, str(scene.root))
    assert (scene.gitdir / "packed-refs.lock").exists()
    scene.write(Edit("a.md", "next\n"))
    git(scene.gitdir, "pack-refs", "--all")
    assert_sound(scene)


@pytest.mark.parametrize("held", ["", "0" * 40, "not an id"])
@pytest.mark.parametrize("name", ["kept/abc", "verified", "anything/else"])
def test_repair_removes_a_stale_lock_below_our_own_refs(scene: Scene, name: str, held: str) -> None:
    lock = scene.gitdir / f"refs/gitmem/{name}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text(held)
    past = time.time() - 2
    os.utime(lock, (past, past))
    assert [each.code for each in check_now(scene).findings if each.stands] == ["git-lock"]
    assert check_now(scene, repair=True).sound
    assert not lock.exists()


@pytest.mark.parametrize("content", ["", "# pack-refs with: peeled fully-peeled sorted \n"])
def test_a_lock_of_packed_refs_is_judged_by_what_it_holds(scene: Scene, content: str) -> None:
    """libgit2, by which earlier releases deleted refs, writes into it; git keeps it empty."""
    lock = scene.gitdir / "packed-refs.lock"
    lock.write_text(content)
    (scene.gitdir / "index").unlink()  # so that there is something to repair
    check_now(scene, repair=True)
    assert lock.exists() == (content == "")


def test_a_snapshot_s_lock_is_known_by_its_file(scene: Scene) -> None:
    """Also where it holds a commit, as any git's could."""
    ours = scene.gitdir / "gitmem" / "ref-refs-tags-snapshot-2026-02-08.new"
    lock = scene.gitdir / "refs" / "tags" / "snapshot" / "2026-02-08.lock"
    lock.parent.mkdir(parents=True)
    ours.write_text(f"{scene.head()}\n")
    os.link(ours, lock)

    group = Group(Store(scene.root), "main", now=fixed_clock)
    assert snapshot(group).outcome == "made"
    group.close()

    assert_sound(scene)
