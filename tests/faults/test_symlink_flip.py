"""An attacker swaps a folder for a link that leads outside, as fast as it can."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest

from gitmem.errors import GitmemError
from gitmem.memory.recover.restore import restore
from gitmem.memory.write.capture import capture
from gitmem.memory.write.write import Edit, write
from gitmem.store.worktree.exchange import Location, swap
from gitmem.store.worktree.worktree import WorkTree
from tests.support.faults import (
    ANYTHING_GOES,
    Scene,
    blobs_in_history,
    commits_of,
    files_on_disk,
    leftovers,
    line,
    new_scene,
)
from tests.support.git import git
from tests.support.processes import Crowd, Voice

VICTIM = b"the victim's diary\n"
SECONDS = 3.0
ENOUGH = 6
"""Writes that have to be acknowledged, however long a busy machine takes for them."""


OFTEN = 100
"""How often both states have to be seen before a race took place."""


def flip(voice: Voice, folder: str, names: list[str]) -> None:
    """Swap the two names in a folder without end; another name takes part, so both are missed."""
    fd = os.open(folder, os.O_RDONLY)
    one, other = names
    voice.say("ready")
    while True:
        with suppress(OSError):
            swap(Location(fd, one), Location(fd, other))


def flip_file(voice: Voice, folder: str, victim: str) -> None:
    """Replace a file by a link to the victim's, and back."""
    os.chdir(folder)
    voice.say("ready")
    while True:
        with suppress(OSError):
            os.symlink(victim, "link")
            os.replace("link", "c.md")
            Path("plain").write_bytes(b"mine\n")
            os.replace("plain", "c.md")


def work_until(voice: Voice, root: str, seconds: float) -> None:
    """Everything that reads or writes the work tree, through the attacked path."""
    count = acknowledged = 0
    with Scene(Path(root)).opened() as group:
        stop = time.monotonic() + seconds
        while time.monotonic() < stop or acknowledged < ENOUGH:
            count += 1
            with suppress(GitmemError):  # it may be refused or held, but never led outside
                done = write(
                    group,
                    [Edit("notes/c.md", line(str(count)), append=count % 2 == 0)],
                    allowed=ANYTHING_GOES,
                )
                voice.say("ack", str(count), done.commit)
                acknowledged += 1
            with suppress(GitmemError):
                write(group, [Edit(f"notes/new/{count}.md", line(f"new.{count}"))])
            with suppress(GitmemError):
                capture(group)
            with suppress(GitmemError):
                restore(group, "notes")


@pytest.mark.parametrize("attack", ["folder", "file"])
def test_symlink_flip(tmp_path: Path, attack: str) -> None:
    scene = new_scene(tmp_path / "store", {"notes/c.md": b"c\n", "other.md": b"o\n"})
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "c.md").write_bytes(VICTIM)
    (victim / "d.md").write_bytes(VICTIM)
    with Crowd() as crowd:
        if attack == "folder":
            (scene.worktree / "aside").symlink_to(victim)
            attacker = crowd.start(flip, str(scene.worktree), ["notes", "aside"])
        else:
            notes, target = scene.worktree / "notes", victim / "c.md"
            attacker = crowd.start(flip_file, str(notes), str(target))
        attacker.hear()
        worker = crowd.start(work_until, str(scene.root), SECONDS)
        acks = [said for said in worker.finish() if said[0] == "ack"]
        attacker.kill()
        attacker.finish()

    assert len(acks) >= ENOUGH
    assert files_on_disk(victim) == {"c.md": VICTIM, "d.md": VICTIM}
    assert all(VICTIM.strip() not in data for data in blobs_in_history(scene.gitdir).values())
    everything = git(scene.gitdir, "cat-file", "--batch-all-objects", "--batch")
    assert VICTIM.strip().decode() not in everything
    assert {commit for _, _, commit in acks} <= commits_of(scene.gitdir)
    done = scene.write(Edit("notes/c.md", line("after")))
    assert not done.pending
    assert (scene.worktree / "notes" / "c.md").read_text() == line("after")
    # A folder that is moved away takes along what we put in it: that at least is known to git.
    known = set(blobs_in_history(scene.gitdir).values())
    assert all(Path(each).read_bytes() in known for each in leftovers(scene))
    assert git(scene.gitdir, "fsck", "--strict", "--no-dangling") == ""


def test_looking_through_a_flipping_folder_never_sees_the_victim(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    (root / "notes").mkdir(parents=True)
    (root / "notes" / "c.md").write_bytes(b"mine\n")
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "c.md").write_bytes(VICTIM)
    (root / "aside").symlink_to(victim)
    seen: dict[str, int] = {"mine": 0, "link": 0}
    with Crowd() as crowd:
        crowd.start(flip, str(root), ["notes", "aside"]).hear()
        tree = WorkTree(root)
        stop = time.monotonic() + SECONDS / 3
        # On one busy core the other process may not flip for a while: go on until it did.
        while time.monotonic() < stop or min(seen.values()) <= OFTEN:
            found = tree.look("notes/c.md")
            assert found.data in (b"mine\n", None)
            seen["mine" if found.data else "link"] += 1
        tree.close()

    assert min(seen.values()) > OFTEN
