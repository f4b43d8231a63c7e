"""Every file of a git directory hurt in turn, and what commands then serve against the truth."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.cli import Said as Answer
from tests.support.cli import run_gitmem
from tests.support.damage import clone, flip_byte, watched
from tests.support.faults import Scene
from tests.support.git import git
from tests.support.processes import Voice

NOW = "2026-02-10T12:00:00+00:00"
SPOKEN = "heron"
CHAT = "telegram:1"

READS: tuple[tuple[str, ...], ...] = (
    ("read", "facts/heron.md"),
    ("read", "facts/heron.md", "--at", "snapshot/2026-02-09"),
    ("read", "reference/decisions.md"),
    ("list",),
    ("entries",),
    ("inject",),
    ("inject", "--prompt", "what does the heron eat?"),
    ("search", SPOKEN),
    ("freshness",),
    ("log",),
    ("log", "facts/heron.md"),
    ("show", "snapshot/2026-02-09"),
    ("diff", "snapshot/2026-02-09"),
    ("snapshots",),
    ("transcript", "list"),
    ("transcript", "show", CHAT),
    ("transcript", "status"),
    ("held",),
    ("status",),
)
"""Commands that only look. What they print must be true, or they have to say that it is not."""

FEW = tuple(
    each
    for each in READS
    if each[0] not in ("diff", "show", "held", "entries", "list", "freshness")
)
"""Those that a short run asks."""

HERON = ("read", "facts/heron.md")
OTTER = ("read", "notes/otter.md")
FROGS = "It also eats frogs.\n"
WRITES: tuple[tuple[str, ...], ...] = (
    ("write", "facts/heron.md", FROGS, "--append"),
    ("write", "notes/new.md", "A new note."),
    ("transcript", "add", "--chat", CHAT, "--from", "ada", "It is still there."),
)
"""Commands that write. Each lands whole, or says why not; nothing else is touched."""


def flip_scene(root: Path) -> Scene:
    """A store with all that a git directory may hold: loose and packed, refs, logs and caches."""
    scene = Scene(root)
    run = sealed(root)

    def day(number: int, *args: str) -> None:
        said = run(*args, GITMEM_NOW=f"2026-02-{number:02}T12:00:00+00:00")
        assert said.code == 0, (args, said)

    day(8, "init")
    day(8, "write", "facts/heron.md", "# Heron\n\nThe heron eats fish.")
    day(8, "write", "reference/decisions.md", "--entry", "Use the river", "--set", "Status=active")
    day(8, "transcript", "add", "--chat", CHAT, "--from", "ada", "Did you see the heron?")
    day(9, "write", "facts/heron.md", "It stands in the river.", "--append")
    day(9, "write", "notes/otter.md", "# Otter\n\nThe otter swims.")
    day(9, "snapshot")
    git(scene.gitdir, "gc", "-q")
    day(10, "write", "facts/heron.md", "It is grey.", "--append")
    day(10, "transcript", "add", "--chat", CHAT, "--from", "bob", "The heron was at the river.")
    day(10, "transcript", "add", "--chat", "other", "--from", "bob", "No heron today.")
    day(10, "write", "notes/deep/er/fox.md", "A fox.")
    day(10, "maintain")
    for command in READS:
        day(10, *command)
    return scene


def sealed(root: Path) -> Callable[..., Answer]:
    """The command line on the store at ROOT, with a clock that stands still."""

    def run(*args: str, **env: str) -> Answer:
        return run_gitmem(
            *args, **{"GITMEM_HOME": str(root), "GITMEM_NOW": NOW, "TZ": "UTC", **env}
        )

    return run


class Served(NamedTuple):
    """What one command answered."""

    code: int
    out: str
    err: str

    @property
    def is_said(self) -> bool:
        """True when it did not claim to have served all there is."""
        unwell = "\nhealth" in self.out and "\nhealth  ok" not in self.out
        told = "warning: " in self.err or "cannot be read" in self.out + self.err
        return self.code != 0 or unwell or told

    def fits(self, other: Served) -> bool:
        """True when it says the same; the log of jobs may be lost, and other words on stderr."""
        return _plain(self.out) == _plain(other.out)


def _plain(out: str) -> str:
    """OUT without where the store is, how far history was read and what jobs there were."""
    out = re.sub(r"(?m)^files +(\d+ files.*?) in .*", r"\1", out)
    return re.sub(r"(?m)^read  .*\n", "", out.partition("\njobs\n")[0])


def serve(voice: Voice, root: str, commands: list[list[str]]) -> None:
    """A child that runs commands, one after the other."""
    run = sealed(Path(root))
    for command in commands:
        said = run(*command)
        voice.say(command, said.code, said.out, said.err)


def served(scene: Scene, commands: tuple[tuple[str, ...], ...]) -> dict[tuple[str, ...], Served]:
    """What COMMANDS answer in a child, which must not hang, crash or die."""
    said = watched(serve, str(scene.root), [list(each) for each in commands])
    found = {tuple(command): Served(*rest) for command, *rest in said}
    for command, answer in found.items():
        assert answer.code != 1, f"{command} failed in an unexpected way: {answer}"
        assert "Traceback" not in answer.out + answer.err, (command, answer)
    return found


class Wound(NamedTuple):
    """One way to hurt a file."""

    name: str
    hurt: Callable[[Path], object]


def wounds(path: Path, seed: str, flips: int) -> Iterator[Wound]:
    """Bits turned at FLIPS places, half of it, nothing of it, NULs."""
    size = path.stat().st_size
    chance = random.Random(seed)
    for _ in range(flips if size else 0):
        at, bit = chance.randrange(size), 1 << chance.randrange(8)

        def flip(path: Path, at: int = at, bit: int = bit) -> None:
            flip_byte(path, at, bit)

        yield Wound(f"bit {bit} of byte {at} turned", flip)
    if size:
        yield Wound("cut to half", lambda path: os.truncate(path, path.stat().st_size // 2))
        yield Wound("full of NULs", lambda path: path.write_bytes(bytes(path.stat().st_size)))
        yield Wound("emptied", lambda path: os.truncate(path, 0))


def files_of(scene: Scene) -> list[str]:
    """Every file of the git directory, by its path in it."""
    found = (path for path in scene.gitdir.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(scene.gitdir)) for path in found)


def hurt_copy(scene: Scene, root: Path, name: str, wound: Wound) -> Scene:
    """A copy of SCENE in which the file NAME has that wound."""
    copy = clone(scene, root)
    path = copy.gitdir / name
    os.chmod(path, 0o600)
    wound.hurt(path)
    return copy
