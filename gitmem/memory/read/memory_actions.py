"""Two actions that agents of one of the seed systems know by name: read a file, look something up.

A layout may name the files that they may touch; where it names none, all of the group's are fine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gitmem.errors import BadInput, PathRefused
from gitmem.memory.context.mask import masked
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_of
from gitmem.memory.read.read import Read, read
from gitmem.memory.search.search import ALL, MEMORY, TRANSCRIPTS, Searched, search
from gitmem.model.layout.layout import lower_name

DEFAULT_PATH = "MEMORY.md"
TOP_K, LEAST, MOST = 8, 1, 64
SOURCES = {"memory": MEMORY, "sessions": TRANSCRIPTS, "transcripts": TRANSCRIPTS, "all": ALL}


def memory_get(group: Group, path: str = DEFAULT_PATH, *, group_folder: str = "") -> Read:
    """A file of memory that the layout allows to be read so; of GROUP_FOLDER only for `main`."""
    with _meant(group, group_folder) as meant:
        wanted = path.replace("\\", "/").removeprefix("./") or DEFAULT_PATH
        layout = layout_of(meant)
        if not layout.allows(wanted):
            raise PathRefused(
                f"the layout does not allow reading {path!r} here",
                hint=f"allowed: {', '.join(layout.allow)}",
                path=path,
                rule="allow",
            )
        return _masked(meant, read(meant, _as_spelled(meant, wanted)))


def memory_search(
    group: Group,
    query: str,
    *,
    top_k: int = TOP_K,
    sources: str = "all",
    group_folder: str = "",
    since: str = "",
    layers: Sequence[str] = (),
    include_archive: bool = False,
) -> Searched:
    """What fits QUERY best, in the files that the layout allows and in what was said.

    TOP_K is brought into its limits; SINCE, LAYERS and INCLUDE_ARCHIVE are those of `search`.
    """
    if sources not in SOURCES:
        raise BadInput(f"no source {sources!r}", hint=f"use one of {', '.join(SOURCES)}")
    with _meant(group, group_folder) as meant:
        limit = min(max(top_k, LEAST), MOST)
        return search(
            meant,
            query,
            source=SOURCES[sources],
            limit=limit,
            since=since,
            layers=layers,
            include_archive=include_archive,
            allowed_only=True,
        )


def _masked(group: Group, found: Read) -> Read:
    """FOUND without credentials that plain git committed: a model reads it, whatever the door."""
    text = masked(group.repository.snapshot(found.commit), found.path, found.text)
    return found if text == found.text else found._replace(data=text.encode())


def _as_spelled(group: Group, path: str) -> str:
    """The durable file in the one of its two spellings that is there."""
    small = lower_name(DEFAULT_PATH)
    if path not in (DEFAULT_PATH, small):
        return path
    snapshot = group.repository.snapshot()
    return next((each for each in (path, DEFAULT_PATH, small) if snapshot.oid(each)), path)


@contextmanager
def _meant(group: Group, folder: str) -> Iterator[Group]:
    """The group itself, or the one that `main` names; any other is refused that."""
    if folder in ("", group.name):
        yield group
        return
    acting = group.acting or group.name
    other = Group(group.store, folder, who=group.who, acting=acting, now=group.moment)
    try:
        yield other
    finally:
        other.close()
