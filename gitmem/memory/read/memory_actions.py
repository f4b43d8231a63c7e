"""`memory_get` and `memory_search`, as agents of the nano system know them.

The layout may restrict the files they read with `allow`.
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
    """A file that the layout allows; only `main` may name another group as GROUP_FOLDER."""
    with _target_group(group, group_folder) as target:
        name = path.replace("\\", "/").removeprefix("./") or DEFAULT_PATH
        layout = layout_of(target)
        if not layout.allows(name):
            raise PathRefused(
                f"the layout does not allow reading {path!r}",
                hint=f"allowed: {', '.join(layout.allow)}",
                path=path,
                rule="allow",
            )
        return _masked(target, read(target, _as_spelled(target, name)))


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
    """The best matches for QUERY in the files that the layout allows and in transcripts.

    TOP_K is clamped to its limits; SINCE, LAYERS and INCLUDE_ARCHIVE are those of `search`.
    """
    if sources not in SOURCES:
        raise BadInput(f"no source {sources!r}", hint=f"use one of {', '.join(SOURCES)}")
    with _target_group(group, group_folder) as target:
        limit = min(max(top_k, LEAST), MOST)
        return search(
            target,
            query,
            source=SOURCES[sources],
            limit=limit,
            since=since,
            layers=layers,
            include_archive=include_archive,
            allowed_only=True,
        )


def _masked(group: Group, found: Read) -> Read:
    """FOUND with credentials masked, because a model reads it."""
    text = masked(group.repository.snapshot(found.commit), found.path, found.text)
    return found if text == found.text else found._replace(data=text.encode())


def _as_spelled(group: Group, path: str) -> str:
    """PATH, or for MEMORY.md the spelling that exists."""
    small = lower_name(DEFAULT_PATH)
    if path not in (DEFAULT_PATH, small):
        return path
    snapshot = group.repository.snapshot()
    return next((each for each in (path, DEFAULT_PATH, small) if snapshot.oid(each)), path)


@contextmanager
def _target_group(group: Group, folder: str) -> Iterator[Group]:
    """GROUP, or the group FOLDER, which only `main` may name."""
    if folder in ("", group.name):
        yield group
        return
    acting = group.acting or group.name
    other = Group(group.store, folder, who=group.who, acting=acting, now=group.moment)
    try:
        yield other
    finally:
        other.close()
