"""Where an agent host reads what we give it, and how it shall call us."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from shutil import which
from typing import NamedTuple

from gitmem.errors import BadInput
from gitmem.integrations.hosts.program import own_program
from gitmem.integrations.hosts.table import HOSTS, Files
from gitmem.integrations.transcripts.readers import home_in, home_of

USER, PROJECT = "user", "project"
SCOPES = (USER, PROJECT)


class Places(NamedTuple):
    """The files of one host in one scope."""

    host: str
    scope: str
    root: Path
    """The folder by which an installation is known: the host's home, or the project."""
    hooks: Path
    skills: Path
    memory: Path
    """The instructions that the model always sees."""
    mcp: Path | None
    """Where MCP servers stand; None where the host writes that itself."""

    local: Path | None = None
    """The settings of a project that only this person has; None where a host knows none."""
    rules: Path | None = None
    """Where permission rules stand; None where a host knows none."""
    roots: Path | None = None
    """Where the folders stand that its sandbox can write to; None where we put none."""

    @property
    def settings(self) -> tuple[Path, ...]:
        """Every file of this scope in which hooks may stand."""
        return (self.hooks, self.local) if self.local else (self.hooks,)

    @property
    def policy(self) -> Path | None:
        """The file of permission rules that is ours alone; None where a host reads no such file."""
        return self.root / self._files.policy if self._files.policy else None

    @property
    def switches(self) -> tuple[Path, ...]:
        """Other settings of this scope that can add hooks, or switch all of them off."""
        return tuple(self.root / each for each in self._files.switches)

    @property
    def trust(self) -> str:
        """What a person has to do before the host runs new hooks of this scope."""
        return self._files.trust

    @property
    def pages(self) -> tuple[Path, ...]:
        """Every file of this scope with instructions that the host reads, ours first."""
        return (self.memory, *(self.root / each for each in self._files.more_memory))

    @property
    def pages_above(self) -> tuple[Path, ...]:
        """Those of the folders around a project, which count for other projects, too."""
        is_read, name = self._files.reads_above, self._files.memory
        return tuple(each / name for each in self.root.parents) if is_read else ()

    @property
    def _files(self) -> Files:
        row = HOSTS[self.host]
        return row.user if self.scope == USER else row.project


def places(host: str, scope: str, environ: Mapping[str, str], project: Path) -> Places:
    """The files of HOST: those of the person, or of the folder PROJECT."""
    if scope == USER:
        return _below(host, scope, home_of(HOSTS[host], environ), HOSTS[host].user)
    root = Path(os.path.abspath(project))
    if os.path.realpath(root) == os.path.realpath(home_in(environ)):
        raise BadInput(
            f"{root} is your home folder, and its settings are your own",
            hint="leave out --scope project, or go to the folder of the project",
        )
    return _below(host, scope, root, HOSTS[host].project)


def other_scope(where: Places, environ: Mapping[str, str], project: Path) -> Places | None:
    """The same host's files in the other scope; None where PROJECT is the home folder."""
    try:
        return places(where.host, USER if where.scope == PROJECT else PROJECT, environ, project)
    except BadInput:  # the home folder is no project
        return None


def _below(host: str, scope: str, root: Path, files: Files) -> Places:
    given = (files.mcp, files.local, files.rules, files.roots)
    mcp, local, rules, roots = (root / each if each else None for each in given)
    hooks, skills, memory = (root / each for each in (files.hooks, files.skills, files.memory))
    return Places(host, scope, root, hooks, skills, memory, mcp, local, rules, roots)


class Program(NamedTuple):
    """How this very gitmem is called from anywhere."""

    words: tuple[str, ...]
    store: str = ""
    """The store that a call has to name; nothing where it finds it by itself."""
    place: tuple[str, ...] = ()
    """The words that work whatever PATH says."""

    @property
    def is_portable(self) -> bool:
        """Whether the same words work on another machine."""
        return self.words == ("gitmem",) and not self.store

    @property
    def call(self) -> tuple[str, ...]:
        """The words with which every call begins."""
        return (*self.words, "--store", self.store) if self.store else self.words

    def line(self, command: str) -> str:
        """COMMAND, which begins with `gitmem`, as a shell has to be given it."""
        return shlex.join(self.call) + command.removeprefix("gitmem")


def find_program(argv0: str, executable: str, path: str, store: str = "") -> Program:
    """How to call the gitmem that runs: by its name where PATH leads there, else by its place.

    PATH is that of a login shell: a virtual environment is active in this shell alone.
    """
    words = own_program(argv0, executable)
    found = which("gitmem", path=path)
    if found and os.path.realpath(found) == os.path.realpath(words[0]):
        return Program(("gitmem",), store, words)
    return Program(words, store, words)
