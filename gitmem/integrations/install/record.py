"""The record of installations, `installs.json`: what gitmem put where, and each file before it.

Two scopes or two hosts may change the same file. Each records the file as it was before the first
of them, and claims every value that it needs, also one that another has added. So the order of
uninstalling does not matter: a value stays until no installation claims it, and the last to leave
a file restores it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any, NamedTuple

from gitmem.errors import Damaged
from gitmem.integrations.install.files import FileEdit, backup_of, digest, make, read_file

if TYPE_CHECKING:
    from gitmem.integrations.install.host_files import HostFiles

FILE = "installs.json"
LOCK = "installs.lock"
FORMAT = 1
UNKNOWN = ""
_LATER = ("choices", "given", "group")
"""Fields that an older release cannot read in a row: they have a list of their own."""
_REPLACED = "#replaced"
"""Ends the key under which `files` has a version that `--replace` replaced."""


class FileRecord(NamedTuple):
    """A file of another program that has a part of ours."""

    before: str | None
    """Its digest before gitmem: None for no file, empty where it is unknown."""
    after: str
    exact: bool = True
    """True while only gitmem has changed it in between."""


class Install(NamedTuple):
    """One host in one scope, as the last installation left it."""

    host: str
    scope: str
    root: str
    gitmem: str = ""
    """The version that installed it; empty once uninstalled, while a file still has our part."""
    skills_version: int = 0
    skills_folder: str = ""
    skills: Mapping[str, str] = {}
    """Each file of a skill, with the digest that gitmem wrote."""
    skills_begun: Mapping[str, str] = {}
    """The same for files about to be written: after a crash only some are."""
    files: Mapping[str, FileRecord] = {}
    handlers: Mapping[str, Any] = {}
    mcp: Any = None
    folders: tuple[str, ...] = ()
    """The folders that gitmem created."""
    choices: Mapping[str, bool] = {}
    """What the user chose, by the name of the option."""
    given: Mapping[str, Mapping[str, Any]] = {}
    """For each file of another program, what in it is ours, by the kind of part."""
    group: str = ""
    """The group of the project, or of all folders without a link."""

    def is_of(self, where: HostFiles) -> bool:
        """Whether this is the installation in WHERE."""
        return self[:3] == (where.host, where.scope, str(where.root))


def installs(store: Path) -> tuple[Install, ...]:
    """Every installation from this store; Damaged where the record is unreadable."""
    path = store / FILE
    raw = read_file(path)
    if raw is None:
        return ()
    try:
        found = json.loads(raw)
        if found["version"] != FORMAT:
            raise ValueError(f"unknown version {found['version']}")
        later = {_key(each): each for each in found.get("later", ())}
        return tuple(_install({**each, **later.get(_key(each), {})}) for each in found["installs"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(
            f"the record {path} is unreadable: {error}",
            hint=f"move it away (`{join(('mv', str(path), f'{path}.old'))}`) and install again",
            path=str(path),
        ) from error


def _key(row: Mapping[str, Any]) -> tuple[object, ...]:
    """The fields that identify an installation."""
    return tuple(row[name] for name in Install._fields[:3])


def _install(row: dict[str, Any]) -> Install:
    files = {path: FileRecord(*each) for path, each in row.pop("files").items()}
    return Install(**{**row, "files": files, "folders": tuple(row.pop("folders"))})


def install_of(store: Path, where: HostFiles) -> Install:
    """The recorded installation in WHERE; an empty one if none is recorded."""
    known = next((each for each in installs(store) if each.is_of(where)), None)
    return known or Install(where.host, where.scope, str(where.root))


def remember(
    store: Path, done: Install, files: Mapping[str, FileRecord] = {}, *, gone: bool = False
) -> None:
    """Replace the row of DONE, or remove it where the installation is GONE.

    FILES are the files as they are now, for other installations with a part in them. One that is
    gone leaves the folders it made to those that use them.
    """
    now = {os.path.realpath(path): each for path, each in files.items()}
    folders = done.folders if gone else ()
    others = [_informed(x, now, folders) for x in installs(store) if x[:3] != done[:3]]
    rows = [each._asdict() for each in (*others, *(() if gone else (done,)))]
    names = (*Install._fields[:3], *_LATER)
    later = [{name: row[name] for name in names} for row in rows if any(map(row.get, _LATER))]
    first = [{name: row[name] for name in row if name not in _LATER} for row in rows]
    text = {"version": FORMAT, "installs": first, **({"later": later} if later else {})}
    data = json.dumps(text, indent=2) + "\n"
    path = store / FILE
    edit = FileEdit(path, read_file(path), data.encode() if rows else None)
    if edit.action != "nothing":
        make(edit, mode=0o600)


def _informed(known: Install, now: Mapping[str, FileRecord], folders: Iterable[str]) -> Install:
    """KNOWN with its files as they are NOW, and with those of FOLDERS that it uses."""
    files, used = dict(known.files), [os.path.realpath(known.skills_folder)]
    for path, record in known.files.items():
        used.append(real := os.path.realpath(path))
        if real in now:
            exact = record.exact and now[real].exact
            files[path] = record._replace(after=now[real].after, exact=exact)
    more = (x for x in folders if any(f"{each}/".startswith(f"{x}/") for each in used))
    return known._replace(files=files, folders=tuple(dict.fromkeys((*known.folders, *more))))


def begun(planned: Install, known: Install) -> Install:
    """The row to record before anything is written: what is ours now, and what will be."""
    given = {
        path: _both(known.given.get(path, {}), planned.given.get(path, {}))
        for path in dict.fromkeys((*known.given, *planned.given))
    }
    old = {path: known.files[path] for path in given if path in known.files}
    return planned._replace(
        skills=known.skills,
        skills_version=known.skills_version,
        skills_begun=planned.skills,
        given=given,
        files={**old, **planned.files},
    )


def _both(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What is ours in a file before and after its change."""
    both = {**new, **old}
    for kind in old.keys() & new.keys():
        if isinstance(old[kind], list) and isinstance(new[kind], list):
            both[kind] = list(dict.fromkeys((*old[kind], *new[kind])))
    return both


def after(known: FileRecord | None, edit: FileEdit) -> FileRecord:
    """What to record of a file once EDIT is made."""
    now = None if edit.before is None else digest(edit.before)
    new = digest(edit.after or b"")
    if known is None:
        before = UNKNOWN if edit.action == "nothing" else now
        return FileRecord(before, new, before != UNKNOWN)
    if edit.action == "nothing":
        return known
    return FileRecord(known.before, new, known.exact and now in (known.after, known.before))


def as_replaced(path: Path) -> str:
    """The key under which `files` has PATH as it was when `--replace` replaced it.

    It is among the files because an older release has to read the record.
    """
    return f"{path}{_REPLACED}"


def bytes_before(store: Path, known: Install, path: Path | str) -> bytes | None:
    """The backup of PATH, or of a key by `as_replaced`; None where there is none."""
    record = known.files.get(str(path))
    name = Path(str(path).removesuffix(_REPLACED))
    return read_file(backup_of(store, name, record.before)) if record and record.before else None


def replaced_paths(known: Install) -> list[Path]:
    """The files that `--replace` replaced, wholly or in part."""
    names = (name for name in known.files if name.endswith(_REPLACED))
    return [Path(name.removesuffix(_REPLACED)) for name in names]


def replaced_skills(store: Path, known: Install) -> dict[str, bytes]:
    """The files of other authors' skills that ours replaced, by their path in the folder."""
    folder = Path(known.skills_folder)
    inside = (each for each in replaced_paths(known) if folder in each.parents)
    found = ((each, bytes_before(store, known, as_replaced(each))) for each in inside)
    return {x.relative_to(folder).as_posix(): data for x, data in found if data is not None}


class FileClaims(NamedTuple):
    """One installation, and what all others record of files, by their real paths."""

    own: Install
    files: Mapping[str, FileRecord]
    given: Mapping[str, tuple[Mapping[str, Any], ...]]

    def record_of(self, path: Path) -> FileRecord | None:
        """The record of a file by any installation, this one first."""
        return self.own.files.get(str(path)) or self.files.get(os.path.realpath(path))

    def is_shared(self, path: Path) -> bool:
        """Whether another installation has a part in a file."""
        return os.path.realpath(path) in self.files

    def of_others(self, path: Path, kind: str) -> list[Any]:
        """What of KIND each of the others has at PATH."""
        rows = self.given.get(os.path.realpath(path), ())
        return [each[kind] for each in rows if kind in each]

    def ours(self, path: Path, kind: str, needed: Sequence[str]) -> tuple[str, ...]:
        """The values that count as ours: those that only we have, and those of others we need."""
        theirs = [value for each in self.of_others(path, kind) for value in each]
        had = self.own.given.get(str(path), {}).get(kind, ())
        alone = (each for each in had if each not in theirs)
        return (*alone, *(each for each in dict.fromkeys(theirs) if each in needed))

    def unclaimed(self, path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
        """What of GIVEN no other installation claims, and that may be removed from PATH."""
        free: dict[str, Any] = {}
        for kind, ours in given.items():
            theirs = self.of_others(path, kind)
            if isinstance(ours, list):
                free[kind] = [x for x in ours if not any(x in each for each in theirs)]
            elif not theirs:
                free[kind] = ours
        return free


def claims_of(store: Path, known: Install) -> FileClaims:
    """The claims of the installation KNOWN, among all from STORE."""
    files: dict[str, FileRecord] = {}
    given: dict[str, tuple[Mapping[str, Any], ...]] = {}
    for row in installs(store):
        if row[:3] == known[:3]:
            continue
        for path, record in row.files.items():
            files.setdefault(os.path.realpath(path), record)
        for path, each in row.given.items():
            real = os.path.realpath(path)
            given[real] = (*given.get(real, ()), each)
    return FileClaims(known, files, given)


@contextmanager
def alone(store: Path) -> Iterator[None]:
    """Hold the lock of the record, which is written by one process at a time."""
    store.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(store / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
