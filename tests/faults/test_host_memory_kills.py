"""kill -9 at every step of a command that moves the memory of a host.

A step is whatever Python asks of the file system: a file opened to be written, a rename, a removal.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from gitmem.integrations.doctor.host_memory import host_memory_faults
from gitmem.integrations.doctor.wiring import Checkup, Running, wirings
from gitmem.integrations.host_memory.folders import used_for
from gitmem.memory.admin.init import init
from gitmem.memory.admin.link import link
from gitmem.memory.group import Group, Store
from tests.support.claude import CLAUDE, INDEX, TOPIC, Machine, installed
from tests.support.git import git
from tests.support.processes import Voice, alone

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
NEW = "written since\n"
NEWER = INDEX + "- [New](new.md)\n"


def dying_command(voice: Voice, arguments: list[str], home: str, step: int) -> None:
    """Run a command that dies before its STEP-th change; without a STEP it lives."""
    from gitmem.cli.app import app
    from gitmem.cli.commands import COMMANDS
    from gitmem.integrations.install import install as wiring

    del wiring  # imported now, so that no step is one of Python's own
    for name in COMMANDS:
        app.get_command(None, name)  # type: ignore[arg-type]
    sys.dont_write_bytecode = True
    os.environ["HOME"] = home
    os.environ["GITMEM_NOW"] = "2026-02-08T12:00:00+00:00"
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - the process ends with it
    steps = count(1)

    def watch(event: str, facts: tuple[object, ...]) -> None:
        is_path = event == "open" and not isinstance(facts[0], int)
        is_write = is_path and isinstance(facts[2], int) and facts[2] & WRITES
        if (is_write or event in CHANGES) and next(steps) == step:
            voice.say("dies", event, str(facts[0]))
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    try:
        app.main(arguments, prog_name="gitmem", standalone_mode=True)
    except SystemExit as ended:
        voice.say("exits", ended.code)


class Scene:
    """A machine that can be brought back to its beginning, at the very same place."""

    def __init__(self, root: Path, machine: Machine) -> None:
        self.root, self.machine, self._kept = root, machine, root.with_name("kept")
        shutil.copytree(root, self._kept, symlinks=True)

    def run(self, arguments: list[str], step: int = 0) -> list[object]:
        """The last word of a command: how it died, or its exit code."""
        store = ["--store", str(self.machine.store.root)]
        said = alone(dying_command, [*store, *arguments], str(self.machine.home), step)
        return next(list(each) for each in said if each[0] in ("dies", "exits"))

    def begin_again(self) -> None:
        shutil.rmtree(self.root)
        shutil.copytree(self._kept, self.root, symlinks=True)

    @property
    def used(self) -> Path:
        """The folder in which Claude Code keeps memory."""
        machine = self.machine
        return Path(used_for(CLAUDE, machine.environ, str(machine.project)).folder)

    @property
    def directory(self) -> str:
        path = self.machine.project / ".claude" / "settings.local.json"
        said = json.loads(path.read_text()) if path.exists() else {}
        return str(said.get("autoMemoryDirectory", ""))

    def findings(self) -> list[str]:
        """What `doctor` says of the memory of hosts."""
        machine, store = self.machine, Store(self.machine.store.root)
        wired = tuple(wirings(store.root, machine.environ, machine.project))
        running = Running(("gitmem",), (3, 12), has_mcp=True)
        where = machine.environ, machine.project
        found = host_memory_faults(Checkup(store, "main", *where, running, wired, machine.environ))
        return [each.message for each in found]

    def notes(self) -> dict[str, list[str]]:
        """Every version of each note that stands in a file somewhere, but for copies of ours."""
        found: dict[str, list[str]] = {}
        for path in self.root.rglob("*.md"):
            if "backups" not in path.parts and path.is_file():
                found.setdefault(path.name, []).append(path.read_text())
        return found


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """The project is linked to `till`, and Claude Code has written a note there since."""
    root = tmp_path / "machine"
    root.mkdir()
    machine = Machine(root)
    init(machine.store, "till", layout="standard")
    init(machine.store, "shed", layout="standard")
    link(machine.store, machine.project, "till")
    machine.memory()
    machine.session(machine.project)
    installed(machine)
    tree = machine.opened("till").worktree / "memory"
    (tree / "new.md").write_text(NEW)
    (tree / "MEMORY.md").write_text(NEWER)
    return Scene(root, machine)


COMMANDS = {
    "rename": ["groups", "rename", "till", "desk"],
    "remove": ["groups", "remove", "till", "--yes"],
    "link": ["-g", "shed", "link", "{project}"],
    "unlink": ["link", "{project}", "--remove"],
    "keep": ["install", "claude-code", "--keep-host-memory"],
}


def killed(scene: Scene, arguments: list[str]) -> Iterator[tuple[int, str]]:
    """Each step at which the command died; the scene is as it left it."""
    for step in count(1):
        said = scene.run(arguments, step)
        if said[0] == "exits":
            assert said[1] == 0
            return
        yield step, f"step {step}: {said[1]} {said[2]}"
        scene.begin_again()


@pytest.mark.timeout(3600)
@pytest.mark.slow  # some 50 steps for each command, and a whole installation after each
@pytest.mark.parametrize("name", COMMANDS)
def test_no_note_is_lost_and_the_next_command_goes_on(scene: Scene, name: str) -> None:
    arguments = [each.format(project=scene.machine.project) for each in COMMANDS[name]]
    steps = 0
    for step, where in killed(scene, arguments):
        steps = step
        check_survived(scene, where)
        if step % 2:
            scene.run(arguments)
        before, found = scene.directory, scene.findings()
        installed(scene.machine)
        assert scene.directory == before or found, where
        check_settled(scene, where)
    assert steps > 3


def check_survived(scene: Scene, where: str) -> None:
    found = scene.notes()
    assert TOPIC in found["mascot.md"], where
    assert NEW in found["new.md"], where
    assert NEWER in found["MEMORY.md"], where


def check_settled(scene: Scene, where: str) -> None:
    """Claude Code has every note in the folder that it uses, and nobody is left in doubt."""
    check_survived(scene, where)
    notes = {each.name: each.read_text() for each in scene.used.glob("*.md")}
    assert notes == {"MEMORY.md": NEWER, "mascot.md": TOPIC, "new.md": NEW}, where
    assert scene.findings() == [], where
    store = Store(scene.machine.store.root)
    for name in store.names():
        with closing(Group(store, name)):
            git(store.gitdir(name), "fsck", "--strict")
