"""The files of an agent host: where they are, and what its settings say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.errors import BadInput, Refused
from gitmem.integrations.hosts.table import CLAUDE, HOSTS, Files
from gitmem.integrations.install.files import read_file, text_of
from gitmem.integrations.transcripts.readers import home_in, home_of
from gitmem.model.hints import Hint, Option
from gitmem.model.text import json_edit

USER, PROJECT = "user", "project"
SCOPES = (USER, PROJECT)
_PLUGIN = "gitmem@"
BY_HAND = "edit it by hand; gitmem changed nothing"


class HostFiles(NamedTuple):
    """The files of one host in one scope."""

    host: str
    scope: str
    root: Path
    """The host's home folder, or the project: it identifies an installation."""

    @property
    def _files(self) -> Files:
        row = HOSTS[self.host]
        return row.user if self.scope == USER else row.project

    def _path(self, name: str) -> Path | None:
        return self.root / name if name else None

    @property
    def hooks(self) -> Path:
        """The settings with hooks."""
        return self.root / self._files.hooks

    @property
    def skills(self) -> Path:
        """The folder of skills."""
        return self.root / self._files.skills

    @property
    def memory(self) -> Path:
        """The instructions that the model always sees."""
        return self.root / self._files.memory

    @property
    def mcp(self) -> Path | None:
        """The file that configures MCP servers; None where only the host writes it."""
        return self._path(self._files.mcp)

    @property
    def local(self) -> Path | None:
        """The settings of a project that only this person has; None if the host has none."""
        return self._path(self._files.local)

    @property
    def rules(self) -> Path | None:
        """The file with permission rules; None if the host has none."""
        return self._path(self._files.rules)

    @property
    def roots(self) -> Path | None:
        """The file that lists the writable folders of the sandbox; None if gitmem adds none."""
        return self._path(self._files.roots)

    @property
    def policy(self) -> Path | None:
        """The file of permission rules that is all gitmem's; None if the host reads none."""
        return self._path(self._files.policy)

    @property
    def settings(self) -> tuple[Path, ...]:
        """Every file of this scope that may contain hooks."""
        return (self.hooks, self.local) if self.local else (self.hooks,)

    @property
    def switches(self) -> tuple[Path, ...]:
        """Other settings of this scope that can add hooks, or disable all of them."""
        return tuple(self.root / each for each in self._files.switches)

    @property
    def trust(self) -> str:
        """What a person does before the host runs new hooks of this scope."""
        return self._files.trust

    @property
    def pages(self) -> tuple[Path, ...]:
        """Every file of this scope with instructions that the host reads, ours first."""
        return (self.memory, *(self.root / each for each in self._files.more_memory))

    @property
    def pages_above(self) -> tuple[Path, ...]:
        """Those of the folders above a project, which other projects read as well."""
        is_read, name = self._files.reads_above, self._files.memory
        return tuple(each / name for each in self.root.parents) if is_read else ()


def host_files(host: str, scope: str, environ: Mapping[str, str], project: Path) -> HostFiles:
    """The files of HOST for the user, or for PROJECT; BadInput if that is the home folder."""
    if scope == USER:
        return HostFiles(host, scope, home_of(HOSTS[host], environ))
    root = Path(os.path.abspath(project))
    if os.path.realpath(root) == os.path.realpath(home_in(environ)):
        raise BadInput(
            f"{root} is your home folder, which has the settings of scope user",
            hint=Hint("leave out ", Option("scope", PROJECT), ", or change to a project folder"),
        )
    return HostFiles(host, scope, root)


def other_scope(where: HostFiles, environ: Mapping[str, str], project: Path) -> HostFiles | None:
    """The same host's files in the other scope; None where PROJECT is the home folder."""
    try:
        return host_files(where.host, USER if where.scope == PROJECT else PROJECT, environ, project)
    except BadInput:
        return None


def settings_in(path: Path) -> dict[str, Any]:
    """The settings in a file; none where it is missing or unreadable."""
    try:
        return read_settings(path)
    except Refused:
        return {}


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a JSON or TOML file; Refused, naming PATH, where it is unreadable."""
    text = text_of(path, read_file(path))
    try:
        found = read_toml(text) if path.suffix == ".toml" else read_json(text)
    except Refused as error:
        error.message = f"{path}: {error.message}"
        raise
    return found if isinstance(found, dict) else {}


def read_json(text: str) -> Any:
    """The value of a JSON text; an empty object where TEXT is blank."""
    return {} if json_edit.is_blank(text) else json_edit.read(text)


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text; Refused where it is invalid."""
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"invalid TOML: {error}", hint=BY_HAND) from error


def table_in(settings: object, name: str) -> dict[str, Any]:
    """The object NAME in SETTINGS; an empty one where it is missing or something else."""
    found = settings.get(name) if isinstance(settings, dict) else None
    return found if isinstance(found, dict) else {}


def texts_in(settings: object, name: str) -> list[str]:
    """The strings of the list NAME in SETTINGS; none where it is missing or something else."""
    found = settings.get(name) if isinstance(settings, dict) else None
    return [x for x in found if isinstance(x, str)] if isinstance(found, list) else []


def plugin_at(where: HostFiles) -> str:
    """The gitmem plugin that is enabled there, for all or only for this person; empty for none."""
    for path in where.settings:
        for name, is_on in table_in(settings_in(path), "enabledPlugins").items():
            if name.startswith(_PLUGIN) and is_on:
                return name
    return ""


def plugin_for(where: HostFiles, environ: Mapping[str, str], project: Path) -> str:
    """The enabled plugin that covers the scope of WHERE; empty for none."""
    if where.host != CLAUDE:
        return ""
    return plugin_at(where) or plugin_at(host_files(CLAUDE, USER, environ, project))
