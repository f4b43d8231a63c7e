"""Link project folders to groups, in the settings of the store."""

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
from gitmem.model.hints import Hint, call
from gitmem.model.paths import check_group
from gitmem.store.durable import write_durably
from gitmem.store.setup import ExcludeRule, exclude_rule

_WIDE = 0x10000
_FIX = "mend it by hand, with a line such as `links: {/home/ada/shop: shop}`"


class Link(NamedTuple):
    """A folder, and the group that it is linked to."""

    folder: str
    group: str
    exists: bool
    """True when the store has such a group."""


class Linked(NamedTuple):
    """A folder whose link was changed."""

    folder: str
    group: str
    """Empty for a folder without a link."""
    before: str
    changed: bool


def links(store: Store, *, acting: str | None = None) -> tuple[Link, ...]:
    """The linked folders, sorted; an acting group other than `main` sees only its own."""
    names, rows = set(store.names()), sorted(store.links.items())
    return tuple(
        Link(folder, name, name in names) for folder, name in rows if acting in (None, MAIN, name)
    )


def link(store: Store, folder: Path, group: str, *, acting: str | None = None) -> Linked:
    """Link FOLDER, and everything in it, to GROUP."""
    check_access(acting, check_group(group), write=True)
    place = os.path.realpath(folder)
    if not os.path.isdir(place):
        raise NotFound(f"no folder {str(folder)!r}", hint="name the folder of a project")
    if not store.gitdir(group).is_dir():
        raise not_found(store, group, acting)
    return _put(store, place, group)


def unlink(
    store: Store, folder: Path, *, acting: str | None = None, declines: bool = False
) -> Linked:
    """Remove the link of FOLDER; DECLINES: and never create one automatically."""
    place = os.path.realpath(folder)
    known = store.links.get(place, "")
    if declines and not known:
        check_access(acting, MAIN, write=True)
    elif not known:
        near = store.linked(place)
        above = f"; a folder above it uses {near!r}" if near else ""
        raise NotFound(
            f"{place} is linked to no group{above}", hint=Hint("list the links: ", call("link"))
        )
    else:
        check_access(acting, known, write=True)
    return _put(store, place, "", declines=declines)


def relink(store: Store, old: str, new: str) -> tuple[str, ...]:
    """Link the folders of the group OLD to NEW, or to none; the folders."""
    folders = tuple(folder for folder, name in store.links.items() if name == old)
    for folder in folders:
        _put(store, folder, new)
    return folders


def exclusion(store: Store, path: Path) -> ExcludeRule | None:
    """The rule by which the repository around PATH could ignore it; None without a repository.

    None for the work tree of a group, too.
    """
    found = exclude_rule(path)
    return None if found and store.root / "repos" in found.file.parents else found


def _put(store: Store, folder: str, group: str, *, declines: bool = False) -> Linked:
    with _alone(store):
        now = Store(store.root)  # read again, under the lock
        known: dict[str, str | None] = {**dict.fromkeys(now.declined), **now.links}
        linked = {path: name for path, name in known.items() if path != folder}
        if group or declines:
            linked[folder] = group or None
        if linked != known:
            _write(now, linked)
    return Linked(folder, group, known.get(folder) or "", linked != known)


@contextmanager
def _alone(store: Store) -> Iterator[None]:
    try:
        with open(f"{store.config}.lock", "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise StorageFailed(
            f"{store.config} cannot be written: {error.strerror}",
            hint=Hint("create the store: ", call("init"), "; or check the owner of the file"),
        ) from error


def _write(store: Store, linked: Mapping[str, str | None]) -> None:
    """Write the links to the settings; all other lines stay."""
    import yaml

    path = Path(os.path.realpath(store.config))
    text = path.read_bytes().decode("utf-8") if path.exists() else ""
    new = with_links(text, linked)
    others = {key: value for key, value in store.settings.items() if key != LINKS}
    try:
        rest, found = (yaml.safe_load(each) or {} for each in (with_links(text, {}), new))
    except yaml.YAMLError:
        rest, found = None, None
    if rest != others or found != ({**others, LINKS: dict(linked)} if linked else others):
        raise BadInput(f"changing the links in {path} would change other settings", hint=_FIX)
    write_durably(path, new.encode("utf-8", "surrogatepass"))


def with_links(text: str, linked: Mapping[str, str | None]) -> str:
    """The settings TEXT with LINKED in place of its links."""
    end = "\r\n" if "\r\n" in text else "\n"
    rows = "".join(f"  {_quoted(each)}: {_quoted(linked[each])}{end}" for each in sorted(linked))
    block = f"{LINKS}:{end}{rows}" if linked else ""
    found = re.search(rf"(?m)^{LINKS}[ \t]*:.*\n?(?:[ \t]+\S.*\n?|[ \t]*\n(?=[ \t]))*", text)
    if found:
        return text[: found.start()] + block + text[found.end() :]
    gap = end if text and block and not text.endswith("\n") else ""
    return f"{text}{gap}{block}"


def _quoted(text: str | None) -> str:
    """TEXT in quotes for YAML: like JSON, but without surrogate pairs."""
    import json

    if text is None:
        return "null"
    return '"{}"'.format(
        "".join(
            json.dumps(char)[1:-1] if ord(char) < _WIDE else f"\\U{ord(char):08x}" for char in text
        )
    )
