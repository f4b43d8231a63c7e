"""Eight processes write to three shared files at once."""

from __future__ import annotations

from pathlib import Path

from gitmem.memory.write.write import Edit, write
from tests.support.faults import Scene, assert_sound, commits_of, files_at, line, new_scene
from tests.support.processes import Crowd, Voice

FILES = ("one.md", "two.md", "deep/three.md")
WRITERS = 8
ROUNDS = 16


def append_in_turns(voice: Voice, root: str, name: int) -> None:
    """Append to one file, and every fourth time to all three in one batch; acknowledge each."""
    with Scene(Path(root)).opened(f"writer {name}") as group:
        for turn in range(ROUNDS):
            paths = FILES if turn % 4 == 3 else (FILES[(name + turn) % 3],)
            token = f"w{name}.{turn}"
            done = write(group, [Edit(path, line(token), append=True) for path in paths])
            voice.say("ack", token, done.commit, paths)


def test_eight_writers_lose_nothing_and_get_no_errors(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store", {"one.md": b"# One\n"})

    with Crowd() as crowd:
        for name in range(WRITERS):
            crowd.start(append_in_turns, str(scene.root), name)
        acks = [said[1:] for _, said in crowd.hear_out() if said[0] == "ack"]

    assert len(acks) == WRITERS * ROUNDS
    history, now = commits_of(scene.gitdir), scene.files()
    for token, commit, paths in acks:
        assert commit in history
        then = files_at(scene.gitdir, commit)
        for path in paths:
            assert line(token).encode() in then[path]
            assert now[path].count(line(token).encode()) == 1
    assert len(history) == WRITERS * ROUNDS + 2, "one write is one commit"
    assert_sound(scene)
