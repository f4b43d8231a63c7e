"""A roll-up under kill -9 at every step, and two at once: all of it, or nothing."""

from __future__ import annotations

from pathlib import Path

from gitmem.errors import Conflict
from gitmem.memory.group import Group, Store
from gitmem.memory.upkeep.rollup import rollup
from tests.support.faults import (
    POINTS,
    Scene,
    assert_sound,
    copied,
    dying_at,
    fixed_clock,
    new_scene,
)
from tests.support.processes import Crowd, Voice, alone

LAYOUT = """\
gitmem: 1
timezone: UTC
layers:
  episodes: {kind: journal, path: "episodes/{date}.md", rollup: move}
"""
DAYS = {f"episodes/2026-01-{day}.md": f"the {day}th\n".encode() for day in (26, 28, 30)}
BEFORE = {"gitmem.yaml": LAYOUT.encode(), **DAYS}
ARCHIVED = {f"archive/{path}": data for path, data in DAYS.items()}
TARGET = "episodes/2026-W05.md"


def roll(root: str) -> str:
    group = Group(Store(Path(root)), "main", now=fixed_clock)
    try:
        done = rollup(group, "week", "2026-W05", "A week.\n", summary="a week", operation="job")
    except Conflict as error:
        return str(error.facts["outcome"])
    return "recognised" if done.recognised else done.outcome


def roll_once(voice: Voice, root: str, step: int = 0) -> None:
    """Die at the STEP-th named point that is reached."""
    dying_at(voice, step)
    voice.say("rolled", roll(root))


def roll_on_the_word(voice: Voice, root: str) -> None:
    voice.say("ready")
    voice.hear()
    voice.say("rolled", roll(root))


def assert_all_or_nothing(scene: Scene) -> bool:
    """Whether it landed; never is there a page without its sources in the archive."""
    files = scene.files()
    landed = TARGET in files
    assert (ARCHIVED.items() <= files.items()) == landed
    assert (DAYS.items() <= files.items()) != landed
    return landed


def test_kill_a_roll_up_at_every_step_then_a_retry_finishes_it(tmp_path: Path) -> None:
    origin = new_scene(tmp_path / "origin", BEFORE)
    seen: set[str] = set()
    for step in range(1, 100):
        scene = copied(origin, tmp_path / f"store {step}")
        said = alone(roll_once, str(scene.root), step)
        if said[0][0] == "rolled":
            break
        seen.add(said[0][1])
        landed = assert_all_or_nothing(scene)

        outcome = alone(roll_once, str(scene.root))[0][1]

        assert outcome == ("recognised" if landed else "written")
        assert assert_all_or_nothing(scene)
        assert_sound(scene)
    assert seen == POINTS


def test_of_two_roll_ups_at_once_one_is_recognised(tmp_path: Path) -> None:
    for number in range(3):
        scene = new_scene(tmp_path / str(number), BEFORE)
        with Crowd() as crowd:
            children = [crowd.start(roll_on_the_word, str(scene.root)) for _ in range(2)]
            for child in children:
                assert child.hear() == ["ready"]
            for child in children:
                child.say("go")
            said = sorted(str(child.hear()[1]) for child in children)

        assert said == ["recognised", "written"]
        assert assert_all_or_nothing(scene)
        assert_sound(scene)
