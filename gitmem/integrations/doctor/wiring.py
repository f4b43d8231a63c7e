"""What each host has of gitmem, and a fault that the doctor reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import BadInput, GitmemError
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install.files import read_file, text_of
from gitmem.integrations.install.host_files import (
    SCOPES,
    HostFiles,
    host_files,
    plugin_at,
    read_settings,
    table_in,
)
from gitmem.integrations.install.parts.hooks import events_wired
from gitmem.integrations.install.parts.mcp import NAME
from gitmem.integrations.install.parts.sections import has_section
from gitmem.integrations.install.record import install_of
from gitmem.integrations.install.skill_update import as_shipped
from gitmem.integrations.install.skills import SKILL, shipped_folder
from gitmem.memory.group import Store
from gitmem.model.hints import Call


class Fault(NamedTuple):
    """A fault, and how to repair it."""

    code: str
    message: str
    hint: str


class Running(NamedTuple):
    """The gitmem that runs the doctor."""

    words: tuple[str, ...]
    """The words that call it with any PATH."""
    python: tuple[int, ...]
    has_mcp: bool
    """Whether the package is installed that an MCP server needs."""


class Wiring(NamedTuple):
    """One host in one scope."""

    host: str
    scope: str
    settings: str
    """The file with our hooks."""
    events: tuple[str, ...] = ()
    """The events for which the host calls gitmem."""
    commands: tuple[tuple[str, ...], ...] = ()
    """The different calls, up to the word `hook`."""
    skills: int = 0
    section: bool = False
    mcp: bool = False
    plugin: str = ""
    problem: str = ""
    """Why the settings are unreadable."""

    @property
    def is_wired(self) -> bool:
        """Whether the host calls gitmem."""
        return bool(self.events or self.plugin)

    def install(self, *options: str) -> Call:
        """The call that installs there, with the flags OPTIONS."""
        flags = ((each, True) for each in options)
        return Call("install", (self.host,), (("scope", self.scope), *flags))


class Checkup(NamedTuple):
    """What the doctor examines."""

    store: Store
    group: str
    """The group that sessions in the project use."""
    environ: Mapping[str, str]
    project: Path
    running: Running
    wired: tuple[Wiring, ...]
    bare: Mapping[str, str]
    """The environment of a login shell."""
    managed: Path | None = None
    """The settings of an administrator."""

    @property
    def hosts(self) -> list[str]:
        """The hosts that call gitmem."""
        return list(dict.fromkeys(each.host for each in self.wired if each.is_wired))

    def files_of(self, host: str) -> Iterator[HostFiles]:
        """The files of HOST in each scope."""
        return files_of(host, self.environ, self.project)


def files_of(host: str, environ: Mapping[str, str], project: Path) -> Iterator[HostFiles]:
    """The files of HOST in each scope; the home folder has no scope project."""
    for scope in SCOPES:
        with suppress(BadInput):
            yield host_files(host, scope, environ, project)


def all_files(environ: Mapping[str, str], project: Path) -> Iterator[HostFiles]:
    """The files of each host in each scope."""
    for host in HOSTS:
        yield from files_of(host, environ, project)


def wirings(store: Path, environ: Mapping[str, str], project: Path) -> Iterator[Wiring]:
    """What each host has of gitmem; hosts that are not on this machine are left out."""
    for where in all_files(environ, project):
        if where.hooks.parent.is_dir() or where.memory.is_file():
            yield _wiring(store, where)


def _wiring(store: Path, where: HostFiles) -> Wiring:
    row = Wiring(where.host, where.scope, str(where.hooks))
    try:
        settings = read_settings(where.hooks)
        servers = read_settings(where.mcp) if where.mcp else {}
        memory = text_of(where.memory, read_file(where.memory))
    except GitmemError as error:
        return row._replace(problem=error.message)
    calls = events_wired(settings)
    ways = (words[: words.index("hook")] for words in calls.values())
    return row._replace(
        events=tuple(calls),
        commands=tuple(dict.fromkeys(ways)),
        skills=_count(store, where),
        section=has_section(memory),
        mcp=NAME in table_in(servers, HOSTS[where.host].servers),
        plugin=plugin_at(where),
    )


def _count(store: Path, where: HostFiles) -> int:
    """The number of our skills there: recorded ones, edited or not, and those as shipped."""
    given: Mapping[str, str] = {}
    with suppress(GitmemError):  # an unreadable record is a fault of its own
        given = install_of(store, where).skills
    ours = {*given, *as_shipped(shipped_folder(), where.host, where.skills)}
    return sum((where.skills / each).is_file() for each in ours if each.endswith(f"/{SKILL}"))
