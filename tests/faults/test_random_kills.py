"""kill -9 at random times, under two writers and an agent with an editor."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from gitmem.memory.write.capture import capture
from gitmem.memory.write.write import Edit, write
from tests.support.editors import STYLES
from tests.support.faults import (
    ANYTHING_GOES,
    Scene,
    assert_sound,
    commits_of,
    line,
    new_scene,
    tokens_in_history,
    write_once,
)
from tests.support.processes import Child, Crowd, Said, Voice, alone

FILES = ("one.md", "two.md", "deep/three.md")
WRITERS = 2


def write_for_ever(voice: Voice, root: str, seed: int) -> None:
    """Appends, replacements, batches and captures, each acknowledged, until it is killed."""
    chance = random.Random(seed)
    with Scene(Path(root)).opened(f"writer {seed}") as group:
        for turn in count():
            kind = chance.choice(["append", "replace", "batch", "capture"])
            if kind == "capture":
                capture(group)
                continue
            paths = FILES if kind == "batch" else [chance.choice(FILES)]
            token = f"w{seed}.{turn}"
            edits = [Edit(path, line(token), append=kind == "append") for path in paths]
            done = write(group, edits, allowed=ANYTHING_GOES)
            voice.say("ack", token, done.commit)


def edit_until_told(voice: Voice, root: str, stop: str) -> None:
    """An agent with an editor; it reports an edit when it is complete, and dies of old age."""
    worktree = Scene(Path(root)).worktree
    for turn in count():
        if Path(stop).exists():
            return
        token = f"agent.{turn}"
        with suppress(FileNotFoundError):
            random.choice(list(STYLES.values()))(
                worktree / random.choice(FILES), "\n" + line(token)
            )
            voice.say("edited", token)
        time.sleep(random.uniform(0, 0.01))


class Recorder:
    """Hears everybody out, and knows nothing else."""

    def __init__(self) -> None:
        self.heard: list[Said] = []
        self.crowd = Crowd()

    def listen(self, seconds: float) -> None:
        self.heard += [said for _, said in self.crowd.listen(seconds)]

    def listen_for(self, many: int) -> None:
        """Until so many writes and edits are done: killing alone proves nothing."""
        deadline = time.monotonic() + 60
        while min(map(self.count, ("ack", "edited"))) < many and time.monotonic() < deadline:
            self.listen(0.05)

    def count(self, kind: str) -> int:
        return sum(said[0] == kind for said in self.heard)

    def bury(self, child: Child) -> None:
        """Kill, and hear what was said before."""
        child.kill()
        self.heard += child.finish()
        child.close()
        self.crowd.children.remove(child)


def kill_at_random(folder: Path, kills: int) -> None:
    scene = new_scene(folder / "store", dict.fromkeys(FILES, b"# Title\n\nfirst\n"))
    recorder, seeds = Recorder(), count()
    with recorder.crowd as crowd:
        agent = crowd.start(edit_until_told, str(scene.root), str(folder / "stop"))
        living = [crowd.start(write_for_ever, str(scene.root), next(seeds)) for _ in range(WRITERS)]
        for number in range(kills):
            recorder.listen(random.uniform(0.02, 0.2))
            recorder.listen_for(number // 2 + 1)
            recorder.bury(living.pop(random.randrange(WRITERS)))
            living.append(crowd.start(write_for_ever, str(scene.root), next(seeds)))
        for child in living:
            recorder.bury(child)
        (folder / "stop").touch()
        recorder.heard += agent.finish()
    alone(write_once, str(scene.root), [[path, line("end"), True] for path in FILES])
    judge(scene, recorder.heard, kills)


def judge(scene: Scene, heard: list[Said], kills: int) -> None:
    acks = [said for said in heard if said[0] == "ack"]
    edits = [said for said in heard if said[0] == "edited"]
    assert len(acks) >= kills // 2
    assert len(edits) >= kills // 2
    tokens = tokens_in_history(scene.gitdir)
    assert {f"token-{said[1]}" for said in [*acks, *edits]} - tokens == set()
    assert {said[2] for said in acks} <= commits_of(scene.gitdir)
    assert_sound(scene)


def test_random_kills(tmp_path: Path) -> None:
    kill_at_random(tmp_path, kills=40)


@pytest.mark.slow
def test_three_hundred_random_kills(tmp_path: Path) -> None:
    kill_at_random(tmp_path, kills=300)
