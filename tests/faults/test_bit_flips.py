"""Every file of a git directory is hurt: whatever is served is the truth, or it is said that not.

Nothing hangs, nothing crashes, and what has a second copy is back after `check --repair`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from gitmem.cache.scanned import NOTHING, Scanned, keep_scanned, read_scanned
from gitmem.model.secrets.exposure import Exposed
from gitmem.model.transcripts.batches import REF
from tests.support.damage import clone
from tests.support.faults import Scene
from tests.support.flips import (
    FEW,
    FROGS,
    HERON,
    OTTER,
    READS,
    WRITES,
    Served,
    Wound,
    files_of,
    flip_scene,
    hurt_copy,
    served,
    wounds,
)
from tests.support.git import git

Answers = dict[tuple[str, ...], Served]
Commands = tuple[tuple[str, ...], ...]
REPAIR = ("check", "--repair")


class Whole(NamedTuple):
    """A sound store, and what commands say of it."""

    scene: Scene
    truth: Answers


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Made once, and never touched."""
    folder = tmp_path_factory.mktemp("whole")
    scene = flip_scene(folder / "store")
    truth = served(clone(scene, folder / "truth"), READS)
    assert not [command for command, answer in truth.items() if answer.is_said]
    return Whole(scene, truth)


def lies(got: Answers, truth: Answers) -> list[tuple[str, ...]]:
    """The commands that served something else than the truth, without a word."""
    return [
        command
        for command, answer in got.items()
        if not answer.is_said and not answer.fits(truth[command])
    ]


def assert_honest(whole: Whole, root: Path, name: str, wound: Wound, commands: Commands) -> None:
    """Hurt one file: reads are true or say so, and a repair brings back what can be had."""
    scene = hurt_copy(whole.scene, root, name, wound)
    assert not lies(served(scene, commands), whole.truth)

    repaired = served(scene, (REPAIR,))[REPAIR]

    after = served(scene, commands)
    if not name.startswith("objects/"):
        assert repaired.code == 0, repaired
    if repaired.code == 0:
        assert not [each for each, told in after.items() if not told.fits(whole.truth[each])]
    else:  # something is lost for good: `check` goes on saying so
        assert served(scene, (("check",),))[("check",)].code != 0


def assert_kept(whole: Whole, root: Path, name: str, wound: Wound) -> None:
    """Hurt one file: what is written lands whole or not at all, and costs nothing that was."""
    scene = hurt_copy(whole.scene, root, name, wound)
    heron = whole.truth[HERON].out

    written = served(scene, WRITES)

    served(scene, (REPAIR,))
    now = served(scene, (HERON, OTTER))
    landed = written[WRITES[0]].code == 0
    assert now[HERON].out in ((heron + FROGS,) if landed else (heron, heron + FROGS))
    assert now[OTTER].out == "# Otter\n\nThe otter swims.\n"


def loose(scene: Scene, revision: str) -> str:
    name = git(scene.gitdir, "rev-parse", revision).strip()
    return f"objects/{name[:2]}/{name[2:]}"


def packed(scene: Scene, ending: str) -> str:
    (path,) = (scene.gitdir / "objects" / "pack").glob(f"*{ending}")
    return str(path.relative_to(scene.gitdir))


SOME = {
    "the branch": ("refs/heads/main", "bit"),
    "the ref of transcripts": ("refs/gitmem/transcripts", "bit"),
    "packed refs": ("packed-refs", "emptied"),
    "a snapshot": ("refs/tags/snapshot/2026-02-10", "NULs"),
    "the index": ("index", "bit"),
    "dates": ("gitmem/dates", "bit"),
    "the index of messages": ("gitmem/said.db", "half"),
}
OBJECTS = {
    "a file of HEAD": (lambda scene: loose(scene, "main:facts/heron.md"), "bit"),
    "a folder of HEAD": (lambda scene: loose(scene, "main:facts"), "half"),
    "a pack": (lambda scene: packed(scene, ".pack"), "bit"),
    "the index of a pack": (lambda scene: packed(scene, ".idx"), "half"),
}


def case(whole: Whole, name: str, kind: str) -> tuple[str, Wound]:
    found = wounds(whole.scene.gitdir / name, name, 1)
    return name, next(each for each in found if kind in each.name)


def short_cases(whole: Whole) -> Iterator[tuple[str, Wound]]:
    for name, kind in SOME.values():
        yield case(whole, name, kind)
    for find, kind in OBJECTS.values():
        yield case(whole, find(whole.scene), kind)


NUMBERS = range(len(SOME) + len(OBJECTS))


@pytest.mark.parametrize("number", NUMBERS, ids=[*SOME, *OBJECTS])
def test_what_is_served_is_true(whole: Whole, tmp_path: Path, number: int) -> None:
    name, wound = list(short_cases(whole))[number]
    assert_honest(whole, tmp_path / "store", name, wound, FEW)


@pytest.mark.parametrize("what", OBJECTS)
def test_what_is_written_costs_nothing(whole: Whole, tmp_path: Path, what: str) -> None:
    find, kind = OBJECTS[what]
    assert_kept(whole, tmp_path / "store", *case(whole, find(whole.scene), kind))


SHARES = 8


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_every_file_may_be_hurt(whole: Whole, tmp_path: Path, share: int) -> None:
    for name in files_of(whole.scene)[share::SHARES]:
        for number, wound in enumerate(wounds(whole.scene.gitdir / name, name, 4)):
            print(name, wound.name)  # noqa: T201 - what it was, where it fails
            root = tmp_path / name.replace("/", "-") / str(number)
            assert_honest(whole, root / "read", name, wound, READS)
            assert_kept(whole, root / "written", name, wound)


def test_a_lost_commit_of_transcripts_is_not_papered_over(whole: Whole, tmp_path: Path) -> None:
    """The ref is right and its commit is gone: to move it back would drop messages."""
    name = loose(whole.scene, REF)
    scene = hurt_copy(whole.scene, tmp_path / "store", *case(whole, name, "half"))
    before = (scene.gitdir / REF).read_text()

    repaired = served(scene, (REPAIR,))[REPAIR]

    assert repaired.code != 0
    assert (scene.gitdir / REF).read_text() == before


def test_any_bit_turned_in_what_was_searched_is_noticed(tmp_path: Path) -> None:
    """Else a commit that is none is looked up, or a secret that was found is shown again."""
    (tmp_path / "gitmem").mkdir()
    found = Exposed("id", "aws-access-key", 3, "b" * 40, "c" * 40, "notes/otter.md")
    keep_scanned(tmp_path, Scanned("a" * 40, "", (found,)))
    assert read_scanned(tmp_path).found == (found,)
    path = tmp_path / "gitmem" / "scanned"
    whole = path.read_bytes()

    for at, bit in product(range(len(whole)), range(8)):
        path.write_bytes(whole[:at] + bytes((whole[at] ^ 1 << bit,)) + whole[at + 1 :])
        assert read_scanned(tmp_path) == NOTHING, (at, bit)
