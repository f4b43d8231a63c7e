"""Ways to hurt a repository, and a process of its own in which to see what gitmem makes of it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.errors import GitmemError
from gitmem.memory.admin.check import Checked, check_group
from gitmem.memory.group import Group, Store
from gitmem.memory.read.log import log
from gitmem.memory.read.read import read
from gitmem.memory.write.write import Edit, write
from gitmem.store.fsck.findings import CheckFinding
from tests.support.faults import Scene, new_scene
from tests.support.git import git
from tests.support.processes import Crowd, Program, Said, Voice

WATCHDOG = 20.0
"""Seconds after which a command has hung."""

FILES = ("notes/a.md", "notes/b.md", "notes/deep/c.md", "top.md")


def rich_scene(root: Path) -> Scene:
    """A store with some history: every file was written three times, and a day was kept."""
    scene = new_scene(root)
    for version in range(3):
        for path in FILES:
            scene.write(Edit(path, f"# {path}\n\nversion {version} of it\n" * 8))
        if version == 1:
            git(scene.gitdir, "tag", "-a", "-m", "a day", "snapshot/2026-02-08", "refs/heads/main")
    return scene


def oid(scene: Scene, revision: str) -> str:
    """The object that git finds at REVISION."""
    return git(scene.gitdir, "rev-parse", revision).strip()


def object_file(scene: Scene, revision: str) -> Path:
    """The file of a loose object, writable."""
    name = oid(scene, revision)
    path = scene.gitdir / "objects" / name[:2] / name[2:]
    os.chmod(path, 0o600)
    return path


def pack_file(scene: Scene, ending: str) -> Path:
    """The one pack, or what belongs to it, writable."""
    (path,) = (scene.gitdir / "objects" / "pack").glob(f"*{ending}")
    os.chmod(path, 0o600)
    return path


def pack(scene: Scene) -> None:
    """Let git itself put everything into one pack."""
    git(scene.gitdir, "repack", "-adq")


def flip(path: Path, at: float, bit: int = 3) -> None:
    """Turn one bit of a file round; AT is a part of its length."""
    flip_byte(path, int(at * (path.stat().st_size - 1)), 1 << bit)


def flip_byte(path: Path, at: int, bits: int = 0x80) -> None:
    """Turn bits of the byte that stands at AT."""
    data = bytearray(path.read_bytes())
    data[at] ^= bits
    path.write_bytes(data)


def cut(path: Path, to: float) -> None:
    """Let only a part of a file be left; at least one byte is lost."""
    size = path.stat().st_size
    os.truncate(path, min(int(to * size), size - 1))


def hurt_in_pack(scene: Scene, name: str) -> None:
    """Turn a bit in the middle of the one object NAME."""
    path = pack_file(scene, ".pack")
    listed = git(scene.gitdir, "verify-pack", "-v", str(pack_file(scene, ".idx"))).splitlines()
    (row,) = [line.split() for line in listed if line.startswith(name)]
    flip_byte(path, int(row[4]) + int(row[3]) // 2)


Wound = Callable[[Path], object]

WOUNDS: dict[str, Wound] = {
    "zero-length": lambda path: os.truncate(path, 0),
    "cut to one byte": lambda path: os.truncate(path, 1),
    "cut to two bytes": lambda path: os.truncate(path, 2),
    "cut to half": lambda path: cut(path, 0.5),
    "cut by one byte": lambda path: cut(path, 1.0),
    "one bit turned": lambda path: flip(path, 0.5),
    "full of NULs": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "missing": lambda path: path.unlink(),
}


class Outcome(NamedTuple):
    """What became of one command."""

    what: str
    code: str
    """`ok`, or the code of the error."""
    seconds: float


def tried(what: str, attempt: Callable[[], object]) -> Outcome:
    """Run one command; only errors that gitmem raises on purpose are an answer."""
    start = time.monotonic()
    try:
        attempt()
    except GitmemError as error:
        return Outcome(what, error.code, time.monotonic() - start)
    return Outcome(what, "ok", time.monotonic() - start)


def behave(voice: Voice, root: str) -> None:
    """A child that reads, lists history and writes, each in a group opened anew."""
    store = Store(Path(root))

    def opened(work: Callable[[Group], object]) -> Callable[[], None]:
        def attempt() -> None:
            group = Group(store, "main")
            try:
                work(group)
            finally:
                group.close()

        return attempt

    for path in FILES:
        voice.say(*tried(f"read {path}", opened(partial(read, path=path))))
    voice.say(*tried("log", opened(log)))
    voice.say(*tried("write", opened(lambda group: write(group, [Edit("other.md", "other\n")]))))
    again = [Edit("other.md", "more\n", append=True)]
    voice.say(*tried("retry", opened(lambda group: write(group, again, operation="again"))))


def heal(voice: Voice, root: str) -> None:
    """A child that checks, repairs, checks, and repairs again, telling what each found."""
    store = Store(Path(root))
    for what in ("check", "repair", "after", "again"):
        checked = check_group(store, "main", repair=what in ("repair", "again"))
        voice.say(
            what, checked.sound, [list(finding._asdict().values()) for finding in checked.findings]
        )


def watched(program: Program, *args: object) -> list[Said]:
    """What PROGRAM says in a process of its own, which must end in time and by itself."""
    with Crowd() as crowd:
        child = crowd.start(program, *args)
        said = [words for _, words in crowd.hear_out(WATCHDOG)]
    assert child.silent
    assert said, "the process died without a word"
    assert said[-1] == ["done"], f"the process died after saying {said}"
    return said[:-1]


class Report(NamedTuple):
    """What `check` said in a child."""

    sound: bool
    findings: list[dict[str, Any]]

    @property
    def codes(self) -> set[str]:
        """The codes of what still stands."""
        return {each["code"] for each in self.findings if not each["repaired"]}

    @property
    def faults(self) -> set[str]:
        """The same without what is only good to know."""
        standing = (each for each in self.findings if not each["repaired"])
        return {each["code"] for each in standing if each["severity"] != "info"}

    @property
    def repaired(self) -> set[str]:
        """The codes of what was mended."""
        return {each["code"] for each in self.findings if each["repaired"]}


def healed(scene: Scene) -> dict[str, Report]:
    """Check, repair and check again in a child."""
    names = CheckFinding._fields
    return {
        what: Report(sound, [dict(zip(names, each, strict=True)) for each in findings])
        for what, sound, findings in watched(heal, str(scene.root))
    }


def behaved(scene: Scene) -> dict[str, str]:
    """What each command answered in a child."""
    said = watched(behave, str(scene.root))
    assert all(seconds < WATCHDOG / 2 for _, _, seconds in said), said
    return {what: code for what, code, _ in said}


def check_now(scene: Scene, *, repair: bool = False, full: bool = False) -> Checked:
    """Check in this process."""
    return check_group(Store(scene.root), "main", repair=repair, full=full)


def roots(scene: Scene) -> list[str]:
    """The commits without a parent."""
    return git(scene.gitdir, "rev-list", "--max-parents=0", "refs/heads/main").split()


def fsck_is_clean(scene: Scene) -> bool:
    """Git's own verdict."""
    try:
        git(scene.gitdir, "fsck", "--strict", "--no-dangling")
    except AssertionError:
        return False
    return True


def clone(scene: Scene, root: Path) -> Scene:
    """A copy to be hurt."""
    shutil.copytree(scene.root, root, symlinks=True)
    return Scene(root)
