"""A store to be hurt, and the questions that decide whether it survived."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

import gitmem.store.fault_points
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.write.write import Allowed, Edit, Written, write
from gitmem.store.lock import decode, lock_path
from tests.support.git import git, git_bytes
from tests.support.processes import Voice

UNACKNOWLEDGED = ("recorded", "objects", "held", "logged")
"""The points of a write before its branch has moved."""
POINTS = {*UNACKNOWLEDGED, "branch", "placed", "staged", "dropped"}
"""All points of a write."""
ANYTHING_GOES = Allowed(shrink=True)
LEFTOVER = re.compile(r"(^|/)(\.gitmem-[^/]*|[^/]+\.lock|index\.new|tmp_obj[^/]*)$")
TOKEN = re.compile(rb"\btoken-[\w.-]+")
EVERY_STEP = os.environ.get("GITMEM_TEST_STEPS") == "all"
"""Read when it is imported: a test sees no setting of the person who runs it."""


class Scene(NamedTuple):
    """A store with the one group `main`."""

    root: Path

    @property
    def gitdir(self) -> Path:
        """Its git directory."""
        return self.root / "repos" / "main.git"

    @property
    def worktree(self) -> Path:
        """Its work tree."""
        return self.root / "groups" / "main"

    @contextmanager
    def opened(self, agent: str = "agent") -> Iterator[Group]:
        """The group, opened."""
        group = Group(Store(self.root), "main", who=Who(agent))
        try:
            yield group
        finally:
            group.close()

    def write(self, *edits: Edit, operation: str = "") -> Written:
        """One write by this process."""
        with self.opened() as group:
            return write(group, edits, operation=operation, allowed=ANYTHING_GOES)

    def head(self) -> str:
        """The commit that the branch names."""
        return git(self.gitdir, "rev-parse", "refs/heads/main").strip()

    def files(self) -> dict[str, bytes]:
        """The files of HEAD by git's own account."""
        return files_at(self.gitdir, "refs/heads/main")


def new_scene(root: Path, files: Mapping[str, bytes] | None = None) -> Scene:
    """A fresh store at ROOT; FILES are written in one commit."""
    init(Store(root), "main")
    scene = Scene(root)
    if files:
        scene.write(*(Edit(path, data) for path, data in files.items()))
    return scene


def copied(scene: Scene, root: Path) -> Scene:
    """A second store with the same content: everything in it is relative."""
    shutil.copytree(scene.root, root, symlinks=True)
    return Scene(root)


def files_at(gitdir: Path, revision: str) -> dict[str, bytes]:
    """Path and content of every file at REVISION, read by git."""
    listed = git_bytes(gitdir, "ls-tree", "-r", "-z", revision).split(b"\0")
    rows = [row.partition(b"\t") for row in listed if row]
    blobs = _batch(gitdir, [meta.split()[2].decode() for meta, _, _ in rows])
    return {os.fsdecode(path): blobs[meta.split()[2].decode()] for meta, _, path in rows}


def blobs_in_history(gitdir: Path) -> dict[str, bytes]:
    """Every version of every file that the branch can reach."""
    listed = git(gitdir, "rev-list", "--objects", "refs/heads/main")
    return _batch(gitdir, [line.partition(" ")[0] for line in listed.splitlines()])


def _batch(gitdir: Path, oids: Sequence[str]) -> dict[str, bytes]:
    printed = git_bytes(gitdir, "cat-file", "--batch", input="\n".join(oids) + "\n" if oids else "")
    blobs: dict[str, bytes] = {}
    at = 0
    while at < len(printed):
        end = printed.index(b"\n", at)
        oid, kind, size = printed[at:end].decode().split()
        at = end + 1 + int(size)
        if kind == "blob":
            blobs[oid] = printed[end + 1 : at]
        at += 1
    return blobs


def tokens_in_history(gitdir: Path) -> set[str]:
    """Every `token-...` that stands in some version of some file on the branch."""
    found = {token for data in blobs_in_history(gitdir).values() for token in TOKEN.findall(data)}
    return {token.decode() for token in found}


def commits_of(gitdir: Path) -> set[str]:
    """Every commit that the branch can reach."""
    return set(git(gitdir, "rev-list", "refs/heads/main").split())


def operations_of(gitdir: Path) -> list[str]:
    """The operation id of every commit, newest first."""
    form = "--format=%(trailers:key=Gitmem-Id,valueonly)"
    return git(gitdir, "log", form, "refs/heads/main").split()


def assert_sound(scene: Scene, *, held: Sequence[str] = ()) -> None:
    """Git finds nothing wrong, the work tree is HEAD, and nobody left anything behind.

    Paths in HELD are allowed to differ: something that may not enter git stands there.
    """
    assert git(scene.gitdir, "fsck", "--strict", "--no-dangling") == ""
    # A judge must not refresh the index on its way: the next writer would take that for a deed.
    watching = {"GIT_OPTIONAL_LOCKS": "0"}
    status = git(scene.worktree, "status", "--porcelain", "--untracked-files=all", env=watching)
    assert [line for line in status.splitlines() if line[3:] not in held] == []
    committed = {path: data for path, data in scene.files().items() if path not in held}
    assert files_on_disk(scene.worktree, held) == committed
    assert leftovers(scene) == []
    assert decode(Path(lock_path(scene.gitdir)).read_bytes()) is None


def files_on_disk(worktree: Path, without: Sequence[str] = ()) -> dict[str, bytes]:
    """Path and content of everything in the work tree but its `.git` file; b"?" for a pipe."""
    names = (path.relative_to(worktree) for path in worktree.rglob("*") if not path.is_dir())
    wanted = (str(name) for name in names if str(name) != ".git" and str(name) not in without)
    places = {name: worktree / name for name in wanted}
    return {name: b"?" if p.is_fifo() else p.read_bytes() for name, p in places.items()}


def leftovers(scene: Scene) -> list[str]:
    """Locks and temporary files of gitmem and libgit2."""
    paths = (path for top in (scene.gitdir, scene.worktree) for path in top.rglob("*"))
    return [str(path) for path in paths if LEFTOVER.search(str(path))]


def line(token: str) -> str:
    """A line of text with a token in it."""
    return f"- remember token-{token}\n"


def dying_at(voice: Voice, point: int | str) -> None:
    """Let this process die at the named POINT, or at the POINT-th one that is reached."""
    points = count(1)

    def reached(step: str) -> None:
        if point in (step, next(points)):
            voice.say("dies", step)
            os.kill(os.getpid(), signal.SIGKILL)

    gitmem.store.fault_points.reached = reached


def steps(every: int = 1) -> range:
    """The numbers of the points at which to let a process die: one of EVERY so many.

    `make test-slow` sets GITMEM_TEST_STEPS=all and tries all of them, whatever EVERY says.
    """
    return range(1, 100, 1 if EVERY_STEP else every)


def fixed_clock() -> datetime:
    """The same moment for ever, so that the same write makes the same system calls."""
    return datetime(2026, 2, 8, 12, tzinfo=UTC)


def prepared_write(voice: Voice, root: str, edits: list[list[object]], operation: str) -> None:
    """A child that is warm (everything imported, one write done) and writes on the word `go`."""
    group = Group(Store(Path(root)), "main", now=fixed_clock)
    write(group, [Edit("warm.md", "warm\n")], operation="warm")
    work = [Edit(*each) for each in edits]  # type: ignore[arg-type]
    voice.say("ready")
    voice.hear()
    try:
        done = write(group, work, operation=operation, allowed=ANYTHING_GOES)
    except Exception as error:  # noqa: BLE001 - any error is an answer to be judged
        voice.say("error", type(error).__name__, str(error), getattr(error, "hint", ""))
    else:
        voice.say("written", done.commit, done.pending)


def write_once(voice: Voice, root: str, edits: list[list[object]]) -> None:
    """A fresh process that makes one write and says what became of it."""
    work = [Edit(*each) for each in edits]  # type: ignore[arg-type]
    done = Scene(Path(root)).write(*work)
    voice.say("written", done.commit, done.pending, len(done.set_aside))
