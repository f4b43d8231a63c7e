"""A home with Claude Code's own memory in it, and gitmem beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gitmem as package
from gitmem.integrations.host_memory.adopt import adopt_own
from gitmem.integrations.host_memory.folders import folder_names
from gitmem.integrations.hosts.program import Program
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install import install as wiring
from gitmem.integrations.install.install import Installed
from gitmem.memory.group import Group, Store, Who
from tests.support.git import git

CLAUDE = HOSTS["claude-code"]
FIXTURES = Path(__file__).parents[1] / "fixtures" / "hosts"
ROOT = Path(package.__file__).parents[1]
INDEX = "- [Mascot](mascot.md) - it is called quokka-lantern\n"
TOPIC = "---\nname: mascot\ndescription: who the mascot is\n---\nA quokka.\n"


class Machine:
    """A home with Claude Code's files, a store, and a project that is a repository."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "home" / "work" / "shop"
        self.project.mkdir(parents=True)
        git(self.project, "init", "-q", ".")
        self.store = Store(folder / "store")
        self.environ = {"HOME": str(self.home)}

    def folder(self, project: Path | None = None) -> Path:
        """The folder that Claude Code has for PROJECT."""
        [name] = folder_names(os.path.realpath(project or self.project))
        return self.home / ".claude" / "projects" / name

    def memory(self, project: Path | None = None, **files: str) -> Path:
        """The memory that Claude Code wrote there, with FILES more."""
        folder = self.folder(project) / "memory"
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in {"MEMORY": INDEX, "mascot": TOPIC, **files}.items():
            (folder / f"{name}.md").write_text(text)
        return folder

    def session(self, cwd: Path, project: Path | None = None) -> Path:
        """A transcript as Claude Code 2.1.325 wrote it, of a session in CWD."""
        recorded = FIXTURES / "transcripts" / "claude-code-2.1.325-tools-compact.jsonl"
        path = self.folder(project) / "5c2b3bb2-6fc7-44ef-97c4-8b3e32fb7330.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(recorded.read_text().replace("/home/ada/shop", str(cwd)))
        return path

    def adopt(self, folder: Path, **options: Any) -> Any:
        return adopt_own(self.store, CLAUDE, folder, environ=self.environ, **options)

    def hook(self, event: str, recorded: str, **said: Any) -> dict[str, Any]:
        """Call a hook with a RECORDED payload, in which SAID stands in place of the same keys."""
        row = json.loads((FIXTURES / "hooks" / f"claude-code-{recorded}.json").read_text())
        transcript = str(self.folder() / "5c2b3bb2-6fc7-44ef-97c4-8b3e32fb7330.jsonl")
        row |= {"cwd": str(self.project), "transcript_path": transcript, **said}
        env = {**os.environ, **self.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-m", "gitmem", "--store", self.store.root, "hook", event],
            env=env,
            input=json.dumps(row),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout else {}

    def removed(self, name: str) -> str:
        """What `groups remove` answers."""
        return self.run("groups", "remove", name, "--yes")

    def run(self, *arguments: str) -> str:
        """What a command answers."""
        done = subprocess.run(
            [sys.executable, "-m", "gitmem", "--store", self.store.root, *arguments],
            env={**os.environ, **self.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def started(self, recorded: str = "SessionStart-startup", **said: Any) -> str:
        """What a session start shows to the model."""
        inner = self.hook("session-start", recorded, **said).get("hookSpecificOutput", {})
        return str(inner.get("additionalContext", ""))

    def links(self) -> dict[str, str]:
        """The folders that use a group, as the store knows them by now."""
        return Store(self.store.root).links

    def opened(self, name: str) -> Group:
        return Group(self.store, name, who=Who("ada"))


def installed(machine: Machine, scope: str = "user", **wishes: Any) -> Installed:
    return wiring.install(
        machine.store,
        wishes.pop("group", "main"),
        "claude-code",
        scope,
        program=Program(("gitmem",)),
        environ=machine.environ,
        project=machine.project,
        **wishes,
    )


def uninstalled(machine: Machine, **options: Any) -> Installed:
    return wiring.uninstall(
        machine.store,
        "claude-code",
        "user",
        environ=machine.environ,
        project=machine.project,
        **options,
    )
