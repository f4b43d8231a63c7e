"""The programs that a host and its model will call: whether they are there, and whose they are."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from shlex import quote
from shutil import which

from gitmem import __version__
from gitmem.integrations.doctor.findings import Finding, Running, Wiring
from gitmem.integrations.install.locations import USER

PATIENCE = 20.0
"""Seconds within which a program tells its version."""
BARE = ("gitmem",)
"""How skills, instructions and the plugin call us, wherever the hooks lead."""


def program_findings(
    wired: Sequence[Wiring], environ: Mapping[str, str], bare: Mapping[str, str], running: Running
) -> Iterator[Finding]:
    """What becomes of a call that names a program; BARE is the environment of a login shell."""
    named = {_program(command): row for row in wired for command in row.commands}
    # What the user's own settings name, too, may be asked.
    named |= {_program(each): row for row in wired if row.scope == USER for each in row.commands}
    for words, row in named.items():
        if words != BARE:
            yield from _placed_findings(words, row, bare)
    # What only this shell finds is a note: a container may give its PATH to every process.
    seen = bare if _is_found(bare) or not _is_found(environ) else environ
    if not named or BARE in named or _needs_name(wired):
        yield from _bare_findings(seen, running)
    if any(each.plugin or each.mcp for each in wired):
        yield from _mcp_findings(seen, running)


def program_notes(
    wired: Sequence[Wiring], environ: Mapping[str, str], bare: Mapping[str, str], running: Running
) -> Iterator[str]:
    """What works only in hosts that are started from a shell such as this one."""
    if _needs_name(wired) and _is_found(environ) and not _is_found(bare):
        said = "a login shell finds no gitmem, by which skills and instructions call it"
        yield f"{said}; {_way_to(running)}"


def _needs_name(wired: Sequence[Wiring]) -> bool:
    return any(each.skills or each.section or each.plugin for each in wired)


def _is_found(environ: Mapping[str, str]) -> bool:
    return which("gitmem", path=environ.get("PATH")) is not None


def _program(command: tuple[str, ...]) -> tuple[str, ...]:
    """The program that a command calls, without what it is told."""
    return command[:3] if command[1:3] == ("-m", "gitmem") else command[:1]


def _placed_findings(
    words: tuple[str, ...], row: Wiring, environ: Mapping[str, str]
) -> Iterator[Finding]:
    """A program that is named by its place; what only a project names may be anybody's."""
    again = f"`gitmem install {row.host} --scope {row.scope}`"
    found = which(words[0], path=environ.get("PATH"))
    if found is None:
        said = f"{words[0]} is not there, and {row.settings} calls it"
        yield Finding("program-missing", said, f"{again} names the one that runs")
    elif row.scope == USER and (version := _version([found, *words[1:]], environ)) != __version__:
        hint = f"upgrade it, or {again} names the one that runs"
        yield Finding("other-version", _differs(found, version), hint)


def _bare_findings(environ: Mapping[str, str], running: Running) -> Iterator[Finding]:
    """The program that PATH leads to."""
    found = which("gitmem", path=environ.get("PATH"))
    if found is None:
        said = "there is no gitmem on PATH, by which skills and instructions call it"
        yield Finding("not-on-path", said, _way_to(running))
    elif (version := _version([found], environ)) != __version__:
        hint = f"upgrade it, or let this one come first: {_way_to(running)}"
        yield Finding("other-version", _differs(found, version), hint)


def _way_to(running: Running) -> str:
    """What lets a shell find the gitmem that runs."""
    if len(running.words) > 1:
        return "`uv tool install gitmem-cli` puts one there, and so does `pipx install gitmem-cli`"
    folder = quote(os.path.dirname(running.words[0]))
    return f'put this into the profile of your shell: export PATH={folder}:"$PATH"'


def _differs(found: str, version: str) -> str:
    return f"{found} is {version or 'no gitmem that runs'}, and this is {__version__}"


def _mcp_findings(environ: Mapping[str, str], running: Running) -> Iterator[Finding]:
    """What an MCP server needs; another program than this one is not asked, for it takes long."""
    found = which("gitmem", path=environ.get("PATH"))
    is_other = found and os.path.realpath(found) != os.path.realpath(running.words[0])
    if not running.has_mcp and not is_other:
        yield Finding(
            "mcp-missing",
            "a host starts `gitmem mcp`, for which the package mcp is missing",
            "install it where gitmem is: pip install 'gitmem-cli[mcp]'",
        )


def other_store_findings(store: Path, wired: Sequence[Wiring]) -> Iterator[Finding]:
    """Hooks that are told of one store, while a plain `gitmem` uses another."""
    told = {(_store_in(each), row): None for row in wired for each in row.commands}
    for named, row in told:
        if named and os.path.realpath(named) != os.path.realpath(store):
            yield Finding(
                "other-store",
                f"the hooks in {row.settings} use the store {named}, "
                f"but a plain `gitmem`, as skills call it, uses {store}",
                f"put this into the profile of your shell: export GITMEM_HOME={quote(named)}; "
                f"or let the hooks use this one: `gitmem install {row.host} --scope {row.scope}`",
            )


def _store_in(command: tuple[str, ...]) -> str:
    """The store that a command names, in either of two ways."""
    for word, following in pairwise(command):
        if word == "--store":
            return following
    return next((x.partition("=")[2] for x in command if x.startswith("--store=")), "")


def _version(command: list[str], environ: Mapping[str, str]) -> str:
    """What a program says its version is; nothing where it fails."""
    try:
        done = subprocess.run(
            [*command, "--version"],
            env=dict(environ),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    said = re.fullmatch(r"gitmem (\S+)", done.stdout.decode("utf-8", "replace").strip())
    return said[1] if said else ""
