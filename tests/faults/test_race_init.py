"""Four processes make the same group at once."""

from __future__ import annotations

import time
from pathlib import Path

from gitmem.memory.admin.init import init
from gitmem.memory.group import Store
from gitmem.memory.write.write import Edit
from tests.support.faults import Scene, assert_sound, line
from tests.support.git import git
from tests.support.processes import Crowd, Voice

PROCESSES = 4
TRIALS = 25


def init_on_command(voice: Voice) -> None:
    """Make the group that the parent names, at the moment it names."""
    while said := voice.hear():
        root, start = said
        while time.monotonic() < start:
            pass
        done = init(Store(Path(root)), "main")
        voice.say(done.commit, done.created)


def test_four_initialisers_make_exactly_one_root(tmp_path: Path) -> None:
    with Crowd() as crowd:
        for _ in range(PROCESSES):
            crowd.start(init_on_command)
        for trial in range(TRIALS):
            scene = Scene(tmp_path / f"store {trial}")
            for child in crowd.children:
                child.say(str(scene.root), time.monotonic() + 0.02)
            answers = [child.hear() for child in crowd.children]

            roots = git(scene.gitdir, "rev-list", "--max-parents=0", "--all", "--reflog").split()
            assert len(roots) == 1
            assert {commit for commit, _ in answers} == set(roots)
            assert [created for _, created in answers].count(True) == 1
            assert [path.name for path in (scene.root / "repos").iterdir()] == ["main.git"]


def init_and_write(voice: Voice, root: str, name: int) -> None:
    """A newcomer who makes the group and writes at once."""
    init(Store(Path(root)), "main")
    done = Scene(Path(root)).write(Edit("notes.md", line(f"first.{name}"), append=True))
    voice.say("ack", done.commit)


def test_whoever_initialises_can_write_at_once(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "store")

    with Crowd() as crowd:
        for name in range(PROCESSES):
            crowd.start(init_and_write, str(scene.root), name)
        acks = [said for _, said in crowd.hear_out() if said[0] == "ack"]

    assert len(acks) == PROCESSES
    assert scene.files()["notes.md"].count(b"token-first.") == PROCESSES
    assert_sound(scene)
