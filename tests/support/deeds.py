"""Every command that changes something, on a store that is small and has all it needs."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

from tests.support.cli import Said, run_gitmem
from tests.support.git import git
from tests.support.processes import Child, Crowd, Voice
from tests.support.samples import body

BEFORE, NOW = "2026-02-08T12:00:00Z", "2026-02-09T12:00:00Z"
KEPT = "- remember token-kept\n"
EDIT = "- remember token-edit\n"
SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)
SAID = '{"chat": "c", "from": "ada", "text": "We deploy on Monday"}\n'
HOOK = '{"session_id": "s", "source": "startup", "cwd": "/"}'
TOOL = '{"command": "create", "path": "/memories/tool.md", "file_text": "by the tool\\n"}'
ENTRY = "### {}\n\n- **Status:** active\n- **Date:** 2026-02-01\n\nBecause.\n"


class Deed(NamedTuple):
    """One call that changes something."""

    args: tuple[str, ...]
    input: str = ""
    again: tuple[int, ...] = (0,)
    """How the same call may end once it has landed."""


DEEDS: Mapping[str, Deed] = {
    "init": Deed(("init", "-g", "young")),
    "init elsewhere": Deed(("init", "-g", "young", "--worktree", "{home}/young")),
    "adopt": Deed(("adopt", "{home}/folder", "-g", "young", "--layout", "none")),
    "adopt in place": Deed(
        ("adopt", "{home}/folder", "-g", "young", "--in-place", "--layout", "none")
    ),
    "groups rename": Deed(("groups", "rename", "scratch", "library"), again=(3,)),
    "groups remove": Deed(("groups", "remove", "scratch", "--yes"), again=(3,)),
    "write": Deed(("write", "new/deep.md", "by a write\n")),
    "edit": Deed(("edit", "b.md")),
    "capture": Deed(("capture",)),
    "mv": Deed(("mv", "b.md", "c.md"), again=(3,)),
    "move-entry": Deed(
        ("move-entry", "reference/decisions.md#use-esm", "reference/ideas.md"), again=(3,)
    ),
    "rm": Deed(("rm", "b.md"), again=(3,)),
    "archive": Deed(("archive", "reference/decisions.md#use-esm"), again=(3,)),
    "confirm": Deed(("confirm", "reference/decisions.md#use-esm")),
    "rotate": Deed(("rotate",)),
    "consolidate": Deed(("consolidate", "--apply")),
    "compact": Deed(("compact", "--summary", "Billing moved to ESM", "--daily")),
    "rollup": Deed(
        ("rollup", "week", "2026-W06", "--summary", "ESM", "-"), "A week.\n", again=(4,)
    ),
    "snapshot": Deed(("snapshot",)),
    "snapshot again": Deed(("snapshot", "--force")),
    "transcript add": Deed(("transcript", "add", "--chat", "c", "--from", "ada", "One more")),
    "transcript pending": Deed(("transcript", "pending")),
    "transcript checkpoint": Deed(
        ("transcript", "checkpoint", "--summary", "Monday"), again=(0, 4)
    ),
    "migrate": Deed(("migrate",)),
    "install": Deed(("install", "claude-code", "--scope", "user")),
    "install git-hook": Deed(("install", "git-hook")),
    "link": Deed(("link", "{home}/folder", "-g", "scratch")),
    "hook": Deed(("hook", "session-start"), HOOK),
    "memory-tool": Deed(("memory-tool",), TOOL),
    "restore": Deed(("restore", "b.md", "--at", "{first}")),
    "undo": Deed(("undo", "{first}"), again=(0, 4)),
    "held accept": Deed(("held", "accept", "secret.md", "--yes"), again=(3,)),
    "kept restore": Deed(("kept", "restore", "{kept}", "-g", "scratch")),
    "kept drop": Deed(("kept", "drop", "{kept}", "--yes", "-g", "scratch"), again=(3,)),
    "held drop": Deed(("held", "drop", "secret.md", "--yes"), again=(3,)),
    "check": Deed(("check", "--repair")),
    "maintain": Deed(("maintain",)),
}
ELSEWHERE = {
    "schedule": "systemd or cron, which are the machine's: tests/integrations",
    "mcp": "a server",
}
READ_ONLY = frozenset(
    (
        *("completion", "inject", "search", "read", "list", "entries", "freshness", "status"),
        *("log", "show", "diff", "snapshots", "doctor", "lint", "memory"),
    )
)


class Answer(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    said: str


class Place(NamedTuple):
    """A home with a store in it, and a folder to be adopted."""

    home: Path
    first: str
    kept: str = ""

    @property
    def store(self) -> Path:
        """The store."""
        return self.home / "store"

    @property
    def env(self) -> dict[str, str]:
        """What every command there is told."""
        return {
            "HOME": str(self.home),
            "GITMEM_HOME": str(self.store),
            "GITMEM_NOW": NOW,
            "GITMEM_SESSION": "s",
            "EDITOR": f"sh {self.home}/editor",
        }

    def args(self, deed: Deed) -> list[str]:
        """The arguments of DEED here."""
        return [each.format(home=self.home, first=self.first, kept=self.kept) for each in deed.args]

    def run(self, *args: str, input: str | None = None, **env: str) -> Said:
        """One command, in this process."""
        with _Inside(self.home):
            return run_gitmem(*args, input=input, **{**self.env, **env})

    def begin(self, crowd: Crowd, deed: Deed) -> Child:
        """A child that is about to do DEED, and waits for a word."""
        child = crowd.start(do, str(self.home), self.args(deed), deed.input, self.env)
        assert child.hear() == ["ready"]
        return child

    def do(self, deed: Deed) -> Answer:
        """DEED, by a process of its own."""
        with Crowd() as crowd:
            child = self.begin(crowd, deed)
            child.say("go")
            return Answer(*child.hear()[1:])

    def gitdirs(self) -> list[Path]:
        """Every repository of the store, also those in its trash."""
        return sorted([*self.store.glob("repos/*.git"), *self.store.glob("trash/*/repos/*.git")])


class _Inside:
    """In a folder that no link or repository of ours is about."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._before = folder, ""

    def __enter__(self) -> None:
        self._before = os.getcwd()
        os.chdir(self._folder)

    def __exit__(self, *_: object) -> None:
        os.chdir(self._before)


def made(home: Path) -> Place:
    """A store with something of every kind in it."""
    home.mkdir()
    place = Place(home, "")
    (home / "editor").write_text('echo "by an editor" >> "$1"\n')
    folder = home / "folder"
    folder.mkdir()
    (folder / "old.md").write_text("it was here\n")
    for args in _beginning():
        said = place.run(*args, GITMEM_NOW=BEFORE)
        assert said.code == 0, (args, said)
        if args[:2] == ("write", "b.md"):
            first = place.run("log", "--json", "-n", "1").document["entries"][0]["commit"]
            place = place._replace(first=first)
    place = place._replace(kept=_amended(place))
    worktree = place.store / "groups" / "main"
    (worktree / "a.md").write_text(f"first\n{KEPT}{EDIT}")
    (worktree / "secret.md").write_text(f"key {SECRET}\n")
    (place.store / "groups" / "scratch" / "edited.md").write_text(EDIT)
    return place


def _amended(place: Place) -> str:
    """A commit that a person has amended, and that is kept since."""
    scratch = place.store / "groups" / "scratch"
    place.run("write", "-g", "scratch", "amended.md", "before\n", GITMEM_NOW=BEFORE)
    git(scratch, "commit", "-q", "--amend", "-m", "amended")
    place.run("capture", "-g", "scratch", GITMEM_NOW=BEFORE)
    (kept,) = place.run("kept", "-g", "scratch", "--json").document["kept"]
    return str(kept["commit"])


def _beginning() -> Iterator[tuple[str, ...]]:
    yield ("init",)
    yield ("init", "-g", "scratch", "--layout", "none")
    yield ("write", "b.md", "second\n")
    yield ("write", "b.md", f"second\n{KEPT}")
    yield ("write", "a.md", f"first\n{KEPT}")
    yield ("write", "reference/decisions.md", f"\n{ENTRY.format('Use ESM')}", "--append")
    yield ("write", "episodes/2026-02-03.md", "---\nsummary: tea\n---\n\nA day.\n")
    yield ("write", "-g", "scratch", "kept.md", KEPT)
    yield ("transcript", "add", "--chat", "c", "--from", "ada", "We deploy on Monday")
    yield ("transcript", "pending")
    yield ("snapshot",)
    yield ("write", "b.md", "- more\n", "--append")


def copied(place: Place, home: Path) -> Place:
    """The same elsewhere: everything in a store is relative."""
    shutil.copytree(place.home, home, symlinks=True)
    return place._replace(home=home)


def do(voice: Voice, home: str, args: list[str], input: str, env: dict[str, str]) -> None:
    """A child that is warm, and runs one command on the word `go`."""
    os.chdir(home)
    os.environ.update(env)
    _run(["status"])
    with TemporaryFile("w+") as given:  # a real file, since hooks ask for one
        given.write(input)
        given.seek(0)
        os.dup2(given.fileno(), 0)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - it is the process's own
    voice.say("ready")
    voice.hear()
    voice.say("answered", *_run(args))


def _run(args: list[str]) -> tuple[int, str]:
    """The exit code, and all that was said: by no `write`, which could be made to fail."""
    from gitmem.cli.app import app

    said = BytesIO()
    with TextIOWrapper(said, "utf-8", write_through=True) as out:
        with redirect_stdout(out), redirect_stderr(out):
            try:
                app.main(args, prog_name="gitmem")
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 0
        return code, said.getvalue().decode("utf-8", "replace")
