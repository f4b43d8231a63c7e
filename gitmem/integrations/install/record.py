"""What was installed, where, and how each file looked before and after: `installs.json`."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.errors import Damaged
from gitmem.integrations.install.files import Change, backup_of, digest, make, read_file
from gitmem.integrations.install.locations import Places

FILE = "installs.json"
LOCK = "installs.lock"
FORMAT = 1
UNKNOWN = ""
_LATER = ("choices", "given", "group")
"""Fields that an older release cannot read in a row: they stand beside the rows."""
_REPLACED = "#replaced"
"""Ends the name under which `files` knows a version that was replaced on request."""


class Kept(NamedTuple):
    """A file of somebody else's in which a part is ours."""

    before: str | None
    """By its digest, how it was before us: None for no file, nothing where nobody knows."""
    after: str
    exact: bool = True
    """True while nobody but us has changed it in between."""


class Install(NamedTuple):
    """One host in one scope, as it was left the last time."""

    host: str
    scope: str
    root: str
    gitmem: str = ""
    """The version that did it."""
    skills_version: int = 0
    skills_folder: str = ""
    skills: Mapping[str, str] = {}
    """Each file of a skill, with the digest it was given."""
    skills_begun: Mapping[str, str] = {}
    """The same for those that were about to be made: by a crash some are, and some are not."""
    files: Mapping[str, Kept] = {}
    handlers: Mapping[str, Any] = {}
    mcp: Any = None
    folders: tuple[str, ...] = ()
    """Those that had to be made."""
    choices: Mapping[str, bool] = {}
    """What somebody asked for or declined, by the name of the option."""
    given: Mapping[str, Mapping[str, Any]] = {}
    """For each file of somebody else's, what of it is ours, by a name for each kind."""
    group: str = ""
    """The group for which it was made: that of a project, or of all folders without a link."""

    def is_of(self, places: Places) -> bool:
        """Whether this is the installation in PLACES."""
        return (self.host, self.scope, self.root) == (*places[:2], str(places.root))


def installs(store: Path) -> tuple[Install, ...]:
    """All that were made from this store."""
    raw = read_file(store / FILE)
    if raw is None:
        return ()
    try:
        found = json.loads(raw)
        if found["version"] != FORMAT:
            raise ValueError(f"it has version {found['version']}")
        later = {_key(each): each for each in found.get("later", ())}
        return tuple(_install({**each, **later.get(_key(each), {})}) for each in found["installs"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(
            f"{store / FILE} cannot be read: {error}",
            hint=f"move it away (mv {store / FILE} {store / FILE}.old) and install again",
            path=str(store / FILE),
        ) from error


def _key(row: Mapping[str, Any]) -> tuple[object, ...]:
    """By what an installation is known."""
    return tuple(row[name] for name in Install._fields[:3])


def _install(row: dict[str, Any]) -> Install:
    files = {path: Kept(*each) for path, each in row.pop("files").items()}
    return Install(**{**row, "files": files, "folders": tuple(row.pop("folders"))})


def install_of(store: Path, places: Places) -> Install:
    """What is known of the installation in PLACES; an empty one where there is none."""
    known = next((each for each in installs(store) if each.is_of(places)), None)
    return known or Install(places.host, places.scope, str(places.root))


def remember(
    store: Path, done: Install, kept: Mapping[str, Kept] = {}, *, gone: bool = False
) -> None:
    """Keep DONE in place of what was known; or forget it, where it is GONE.

    KEPT are the files as they are now, for the installations that have a part in them, too. One
    that is gone leaves the folders it made to those that use them.
    """
    now = {os.path.realpath(path): each for path, each in kept.items()}
    folders = done.folders if gone else ()
    others = [_informed(x, now, folders) for x in installs(store) if x[:3] != done[:3]]
    rows = [each._asdict() for each in (*others, *(() if gone else (done,)))]
    names = (*Install._fields[:3], *_LATER)
    later = [{name: row[name] for name in names} for row in rows if any(map(row.get, _LATER))]
    told = [{name: row[name] for name in row if name not in _LATER} for row in rows]
    text = {"version": FORMAT, "installs": told, **({"later": later} if later else {})}
    data = json.dumps(text, indent=2) + "\n"
    path = store / FILE
    change = Change(path, read_file(path), data.encode() if rows else None)
    if change.action != "nothing":
        make(change, mode=0o600)


def _informed(known: Install, now: Mapping[str, Kept], folders: Iterable[str]) -> Install:
    """An installation that knows how its files are NOW, and has those of FOLDERS that it uses."""
    files, used = dict(known.files), [os.path.realpath(known.skills_folder)]
    for path, kept in known.files.items():
        used.append(real := os.path.realpath(path))
        if real in now:
            exact = kept.exact and now[real].exact
            files[path] = kept._replace(after=now[real].after, exact=exact)
    more = (x for x in folders if any(f"{each}/".startswith(f"{x}/") for each in used))
    return known._replace(files=files, folders=tuple(dict.fromkeys((*known.folders, *more))))


def begun(wanted: Install, known: Install) -> Install:
    """What to remember before anything is made: what is ours by now, and what shall be."""
    given = {
        path: _both(known.given.get(path, {}), wanted.given.get(path, {}))
        for path in dict.fromkeys((*known.given, *wanted.given))
    }
    return wanted._replace(
        skills=known.skills,
        skills_version=known.skills_version,
        skills_begun=wanted.skills,
        given=given,
        files={
            **{path: known.files[path] for path in given if path in known.files},
            **wanted.files,
        },
    )


def _both(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What is ours in a file that is still as it was, and in one that is changed already."""
    both = {**new, **old}
    for kind in old.keys() & new.keys():
        if isinstance(old[kind], list) and isinstance(new[kind], list):
            both[kind] = list(dict.fromkeys((*old[kind], *new[kind])))
    return both


def after(known: Kept | None, change: Change) -> Kept:
    """What to remember of a file once CHANGE is made."""
    now = None if change.before is None else digest(change.before)
    new = digest(change.after or b"")
    if known is None:
        before = UNKNOWN if change.action == "nothing" else now
        return Kept(before, new, before != UNKNOWN)
    if change.action == "nothing":
        return known
    return Kept(known.before, new, known.exact and now in (known.after, known.before))


def as_replaced(path: Path) -> str:
    """The name under which `files` keeps how PATH was when `--replace` took its place.

    It stands among the files, because a release that knows nothing of it has to read the record.
    """
    return f"{path}{_REPLACED}"


def replaced_bytes(store: Path, known: Install, path: Path) -> bytes | None:
    """What stood at PATH when `--replace` took its place; None where nothing was replaced."""
    kept = known.files.get(as_replaced(path))
    return read_file(backup_of(store, path, kept.before)) if kept and kept.before else None


def replaced_paths(known: Install) -> list[Path]:
    """The files of which `--replace` took the place, or a part."""
    names = (name for name in known.files if name.endswith(_REPLACED))
    return [Path(name.removesuffix(_REPLACED)) for name in names]


def replaced_skills(store: Path, known: Install) -> dict[str, bytes]:
    """The files of skills that were somebody else's before ours took their place."""
    folder = Path(known.skills_folder)
    inside = [each for each in replaced_paths(known) if folder in each.parents]
    found = {each: replaced_bytes(store, known, each) for each in inside}
    return {
        path.relative_to(folder).as_posix(): data
        for path, data in found.items()
        if data is not None
    }


@contextmanager
def alone(store: Path) -> Iterator[None]:
    """One at a time: two who write the record must not lose each other's lines."""
    store.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(store / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
