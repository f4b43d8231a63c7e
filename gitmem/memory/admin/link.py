"""Which group a project folder uses: kept in the settings of the store, whatever else they say."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import BadInput, NotFound, StorageFailed
from gitmem.memory.group import Store
from gitmem.memory.store import LINKS, not_found
from gitmem.model.access import MAIN, check_access
from gitmem.model.paths import check_group
from gitmem.store.durable import write_durably
from gitmem.store.setup import ExcludeRule, exclude_rule

_WIDE = 0x10000
MENDED = "mend it by hand, with a line such as `links: {/home/ada/shop: shop}`"


class Link(NamedTuple):
    """A folder, and the group that it uses."""

    folder: str
    group: str
    exists: bool
    """Whether the store has such a group."""


class Linked(NamedTuple):
    """A folder that uses another group now."""

    folder: str
    group: str
    """Nothing where it uses none of its own any more."""
    before: str
    changed: bool


def links(store: Store, *, acting: str | None = None) -> tuple[Link, ...]:
    """The folders that use a group, in order; who is not `main` sees only those of its own."""
    names, rows = set(store.names()), sorted(store.links.items())
    return tuple(
        Link(folder, name, name in names) for folder, name in rows if acting in (None, MAIN, name)
    )


def link(store: Store, folder: Path, group: str, *, acting: str | None = None) -> Linked:
    """From now on FOLDER, and what is in it, uses GROUP."""
    check_access(acting, check_group(group), write=True)
    place = os.path.realpath(folder)
    if not os.path.isdir(place):
        raise NotFound(f"there is no folder {folder}", hint="give the folder of a project")
    if not store.gitdir(group).is_dir():
        raise not_found(store, group, acting)
    return _put(store, place, group)


def unlink(
    store: Store, folder: Path, *, acting: str | None = None, declines: bool = False
) -> Linked:
    """FOLDER uses no group of its own any more; DECLINES: and shall get none by itself."""
    place = os.path.realpath(folder)
    known = store.links.get(place, "")
    if declines and not known:
        check_access(acting, MAIN, write=True)
    elif not known:
        near = store.linked(place)
        above = f"; a folder above it uses {near!r}" if near else ""
        raise NotFound(f"{place} is linked to no group{above}", hint="see `gitmem link`")
    else:
        check_access(acting, known, write=True)
    return _put(store, place, "", declines=declines)


def relink(store: Store, old: str, new: str) -> tuple[str, ...]:
    """The folders that used the group OLD use NEW, or nothing; which they are."""
    folders = tuple(folder for folder, name in store.links.items() if name == old)
    for folder in folders:
        _put(store, folder, new)
    return folders


def exclusion(store: Store, path: Path) -> ExcludeRule | None:
    """How the project that holds PATH could ignore it; None without a repository.

    The work tree of a group has a repository, too; what is memory there is not git's to decide.
    """
    found = exclude_rule(path)
    return None if found and store.root / "repos" in found.file.parents else found


def _put(store: Store, folder: str, group: str, *, declines: bool = False) -> Linked:
    with _alone(store):
        now = Store(store.root)  # as it is by now
        known: dict[str, str | None] = {**dict.fromkeys(now.declined), **now.links}
        wanted = {path: name for path, name in known.items() if path != folder}
        if group or declines:
            wanted[folder] = group or None
        if wanted != known:
            _write(now, wanted)
    return Linked(folder, group, known.get(folder) or "", wanted != known)


@contextmanager
def _alone(store: Store) -> Iterator[None]:
    try:
        with open(f"{store.config}.lock", "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise StorageFailed(
            f"{store.config} cannot be written: {error.strerror}",
            hint="make the store with `gitmem init`, or see who owns it",
        ) from error


def _write(store: Store, wanted: Mapping[str, str | None]) -> None:
    """Put the links into the settings; every other line stays as it is."""
    import yaml

    path = Path(os.path.realpath(store.config))
    text = path.read_bytes().decode("utf-8") if path.exists() else ""
    new = with_links(text, wanted)
    others = {key: value for key, value in store.settings.items() if key != LINKS}
    try:
        rest, found = (yaml.safe_load(each) or {} for each in (with_links(text, {}), new))
    except yaml.YAMLError:
        rest, found = None, None
    if rest != others or found != ({**others, LINKS: dict(wanted)} if wanted else others):
        raise BadInput(f"{path} has links in a form that cannot be changed here", hint=MENDED)
    write_durably(path, new.encode("utf-8", "surrogatepass"))


def with_links(text: str, wanted: Mapping[str, str | None]) -> str:
    """The settings TEXT with these links in the place of those that it has."""
    end = "\r\n" if "\r\n" in text else "\n"
    rows = "".join(f"  {_quoted(each)}: {_quoted(wanted[each])}{end}" for each in sorted(wanted))
    block = f"{LINKS}:{end}{rows}" if wanted else ""
    found = re.search(rf"(?m)^{LINKS}[ \t]*:.*\n?(?:[ \t]+\S.*\n?|[ \t]*\n(?=[ \t]))*", text)
    if found:
        return text[: found.start()] + block + text[found.end() :]
    gap = end if text and block and not text.endswith("\n") else ""
    return f"{text}{gap}{block}"


def _quoted(text: str | None) -> str:
    """TEXT in quotes, as YAML takes it: like JSON, but a character is never two halves."""
    import json

    if text is None:
        return "null"
    return '"{}"'.format(
        "".join(
            json.dumps(char)[1:-1] if ord(char) < _WIDE else f"\\U{ord(char):08x}" for char in text
        )
    )
