"""Archiving, restoring and confirming under kill -9 at every step, and beside an editor."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from gitmem.errors import GitmemError
from gitmem.memory.curate.archive import archive
from gitmem.memory.entries.confirm import confirm
from gitmem.memory.group import Group
from gitmem.memory.recover.restore import restore
from gitmem.memory.write.capture import capture
from tests.faults.test_rotate_faults import POINTS, dying_at, opened
from tests.support.editors import STYLES
from tests.support.faults import (
    Scene,
    assert_sound,
    copied,
    line,
    new_scene,
    steps,
    tokens_in_history,
)
from tests.support.processes import Crowd, Voice, alone
from tests.support.shelves import DECISIONS, LAYOUT, OLD, SHELF, TEA, said

HOME = "reference/decisions.md"
FACT = "facts/tea.md"
BEFORE = {
    "gitmem.yaml": LAYOUT.encode(),
    HOME: DECISIONS.encode(),
    FACT: b"Ada likes tea\n",
}
DEEDS: dict[str, Callable[[Group], object]] = {
    "archive": lambda group: archive(group, [OLD, FACT]),
    "restore": lambda group: restore(group, OLD),
    "confirm": lambda group: confirm(group, [TEA, FACT]),
}


def do_once(voice: Voice, root: str, deed: str, step: int = 0) -> None:
    """Do it, and die at the STEP-th point; what was done by a dead one cannot be done again."""
    dying_at(voice, step)
    try:
        DEEDS[deed](opened(root))
    except GitmemError as error:
        voice.say("refused", error.code)
    else:
        voice.say("done")


def scene_for(root: Path, deed: str) -> Scene:
    scene = new_scene(root, BEFORE)
    if deed == "restore":
        alone(do_once, str(scene.root), "archive")
    return scene


@pytest.mark.every_step
@pytest.mark.parametrize("deed", DEEDS)
def test_kill_it_at_every_step_and_it_has_happened_whole_or_not_at_all(
    tmp_path: Path, deed: str
) -> None:
    origin = scene_for(tmp_path / "origin", deed)
    before = origin.files()
    whole = copied(origin, tmp_path / "whole")
    alone(do_once, str(whole.root), deed)
    after, seen = whole.files(), set()
    tried = steps(1 if deed == "archive" else 4)
    for step in tried:
        scene = copied(origin, tmp_path / f"store {step}")
        words = alone(do_once, str(scene.root), deed, step)
        if words[0][0] == "done":
            break
        seen.add(words[0][1])
        assert scene.files() in (before, after)

        again = alone(do_once, str(scene.root), deed)

        assert again[0][0] in ("done", "refused")
        assert scene.files() == after
        assert_sound(scene)
    assert seen == POINTS if tried.step == 1 else len(seen) > 1 and seen < POINTS


@pytest.mark.every_step
@pytest.mark.parametrize("deed", ["archive", "restore"])
def test_an_edit_after_a_death_is_kept_and_no_line_is_lost(tmp_path: Path, deed: str) -> None:
    origin = scene_for(tmp_path / "origin", deed)
    with origin.opened() as group:
        expected = said(group.repository)
    for step in steps(3):
        scene = copied(origin, tmp_path / f"store {step}")
        if alone(do_once, str(scene.root), deed, step)[0][0] == "done":
            return
        with (scene.worktree / HOME).open("a") as file:
            file.write("\nafter the death\n")

        alone(do_once, str(scene.root), deed)

        with scene.opened() as group:
            capture(group)
            assert said(group.repository) - expected == {"after the death": 1}
            assert expected - said(group.repository) == {}
        assert_sound(scene)
    raise AssertionError("it never survived")


STOP = "stop"
"""The file that ends both: they have done enough, however fast the machine is."""


def edit_the_file(voice: Voice, root: str) -> None:
    """An agent that adds to the file with any editor; says which line is complete."""
    path, number = Scene(Path(root)).worktree / HOME, 0
    while not Path(root, STOP).exists():
        number += 1
        with suppress(FileNotFoundError):
            STYLES[random.choice(list(STYLES))](path, "\n" + line(f"agent.{number}"))
            voice.say("edited", f"token-agent.{number}")
        time.sleep(random.uniform(0, 0.06))


def to_and_fro(voice: Voice, root: str) -> None:
    """One who archives an entry and brings it back, again and again."""
    group = opened(root)
    while not Path(root, STOP).exists():
        for deed in (lambda: archive(group, [OLD]), lambda: restore(group, OLD)):
            with suppress(GitmemError):
                deed()
                voice.say("did")
    group.close()


def test_an_agent_that_edits_the_file_meanwhile_loses_nothing(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store", BEFORE)
    tokens, deeds = set(), 0
    with Crowd() as crowd:
        crowd.start(edit_the_file, str(scene.root))
        crowd.start(to_and_fro, str(scene.root))
        for _, words in crowd.hear_out():
            tokens |= {words[1]} if words[0] == "edited" else set()
            deeds += words[0] == "did"
            if len(tokens) > 10 and deeds > 2:
                (scene.root / STOP).touch()
    with scene.opened() as group:
        capture(group)
        texts = [scene.files().get(path, b"").decode() for path in (HOME, SHELF)]

    assert tokens <= tokens_in_history(scene.gitdir)
    # An editor that saved what it had read before may have put it back a second time.
    assert sum(text.count("### Old plan") for text in texts) >= 1
    assert_sound(scene)
