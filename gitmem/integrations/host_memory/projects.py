"""Whose memory a folder of the host is, and what its group shall be called."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.integrations.host_memory.folders import (
    LONGEST_NAME,
    folder_names,
    home_of,
    main_checkout,
)
from gitmem.integrations.hosts.table import Host
from gitmem.model.access import GLOBAL, MAIN
from gitmem.model.paths import MAX_GROUP_BYTES, find_twin

if TYPE_CHECKING:
    from gitmem.memory.group import Store

SESSIONS = 20
"""Transcripts of one project that are looked at for its folder ..."""
LINES = 50
"""... and lines of each: the folder stands in nearly every line."""
LONGEST = 1 << 20
RESERVED = (MAIN, GLOBAL)


def own_folders(host: Host, environ: Mapping[str, str]) -> list[Path]:
    """The folders of the host's own memory that hold a Markdown file, in order."""
    own = host.own_memory
    if own is None:
        return []
    found = Path(home_of(host, environ), own.projects).glob(f"*/{own.folder}")
    return sorted(each for each in found if has_memory(each))


def has_memory(folder: Path) -> bool:
    """Whether FOLDER holds memory; one behind a link belongs to whoever made the link."""
    return not folder.is_symlink() and any(each.is_file() for each in folder.rglob("*.md"))


def project_of(folder: Path, near: str = "") -> str:
    """The project whose memory FOLDER is; nothing where nothing tells, or where it is gone.

    The name of the folder cannot be turned back into a path. So it is the folder NEAR, one above
    it, or one that a transcript names, whose path makes that very name.
    """
    name = folder.parent.name
    for place in (near, *_folders_said(folder.parent)):
        for each in (place, main_checkout(place)) if place else ():
            for above in (each, *map(str, Path(each).parents)):
                if _is_called(above, name) and os.path.isdir(above):
                    return os.path.realpath(above)
    return ""


def _is_called(directory: str, name: str) -> bool:
    made = folder_names(os.path.realpath(directory))
    return any(
        each == name or (len(each) > LONGEST_NAME and name.startswith(f"{each[:LONGEST_NAME]}-"))
        for each in made
    )


def _folders_said(folder: Path) -> Iterator[str]:
    """The working directories in transcripts of a project, or of folders below it."""
    import json

    places = (folder, *sorted(folder.parent.glob(f"{_escaped(folder.name)}-*")))
    for path in islice(
        (file for each in places for file in sorted(each.glob("*.jsonl"))), SESSIONS
    ):
        try:
            with path.open("rb") as file:
                lines = [file.readline(LONGEST) for _ in range(LINES)]
        except OSError:
            continue
        for line in lines:
            if b'"cwd"' in line:
                try:
                    said = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                cwd = said.get("cwd") if isinstance(said, dict) else None
                if isinstance(cwd, str) and cwd.startswith("/") and "\0" not in cwd:
                    yield cwd


def _escaped(name: str) -> str:
    from glob import escape

    return escape(name)


def group_name(
    store: Store, folder: Path, project: str, host: Host, environ: Mapping[str, str]
) -> str:
    """A name for the group of FOLDER that no group of STORE has, by the project's own."""
    taken = {*store.names(), *RESERVED}
    names = [each for each in _names(folder, project, host, environ) if each] or [host.name]
    numbered = (f"{names[0]}-{number}" for number in count(2))
    for each in (*names, *islice(numbered, len(taken) + 1)):
        if each not in taken and find_twin(each, taken) is None:
            return each
    raise AssertionError  # one more name than there are groups


def _names(folder: Path, project: str, host: Host, environ: Mapping[str, str]) -> Iterator[str]:
    """What the group may be called, best first."""
    if project:
        place = Path(project)
        yield _plain(place.name)
        yield _plain(f"{place.parent.name}-{place.name}")
        return
    name, home = folder.parent.name, environ.get("HOME") or os.path.expanduser("~")
    for each in folder_names(os.path.realpath(home)):
        if name.startswith(f"{each}-"):
            yield _plain(name.removeprefix(each))
            return
    yield _plain(name.rstrip("-").rpartition("-")[2])


def _plain(name: str) -> str:
    """NAME with nothing in it that a group's name must not have, or that a shell minds."""
    kept = re.sub(r"[^\w.-]+", "-", name).strip("-._")
    return kept.encode()[: MAX_GROUP_BYTES - 10].decode("utf-8", "ignore")
