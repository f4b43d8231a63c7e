"""Whether the caches that a prompt needs can be updated while the user waits.

A user waits a few seconds. Building the caches of a big group for the first time, or after many
changes, takes longer; a background process does that.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice

from gitmem.cache import passages
from gitmem.cache.database import Query, run_query
from gitmem.memory.context.pins import pin, sources_at
from gitmem.memory.entries.dates import dates_at, has_dates
from gitmem.memory.group import Group
from gitmem.memory.search.passages import at_commits, cache_path
from gitmem.model.layout.layout import Layout
from gitmem.store.history.walk import Trees
from gitmem.store.repository import Snapshot

FILES = 500
"""Files that are read while a user waits ..."""
BYTES = 4 * 1024 * 1024
"""... up to this total size ..."""
COMMITS = 500
"""... and commits, if the cache of dates is empty."""
LOCK = "readying"
_AS_IT_IS = Query(lambda _: True, lambda _: None)


def is_ready(group: Group) -> bool:
    """Whether the context for a prompt can be built at once, or nearly so."""
    path, pinned = cache_path(group), pin(group, None)
    if path is None:
        return True  # a reader keeps no cache, so waiting would not help
    known = run_query(path, passages.SCHEMA, _AS_IT_IS, passages.states)
    with sources_at(group, pinned, shared=True) as sources:
        found = sources.by_group.items()
        near = all(_is_near(known.get(source, ""), each) for source, each in found)
        layouts = sources.layouts
        return near and all(
            _has_dates(group, layouts[source], source, each) for source, each in found
        )


def _is_near(known: str, snapshot: Snapshot) -> bool:
    """Whether little changed since the KNOWN tree, by the sizes in git's index."""
    if known == snapshot.root:
        return True
    changes = Trees(snapshot.repository.objects).changes(known, snapshot.root)
    index, _ = snapshot.repository.staging.load()
    paths = [path.encode("utf-8", "surrogateescape") for path, _, new in changes if new]
    entries = (index.get(path) for path in paths[:FILES]) if index else ()
    return len(paths) <= FILES and sum(each.stat.size for each in entries if each) <= BYTES


def _has_dates(group: Group, layout: Layout, source: str, snapshot: Snapshot) -> bool:
    if has_dates(group, layout, source):
        return True
    line = snapshot.repository.history(snapshot.commit)
    return next(islice(line, COMMITS, None), None) is None


def make_ready(group: Group) -> None:
    """Update the caches that prompts need, unless another process is doing so."""
    path, pinned = cache_path(group), pin(group, None)
    with _alone(group) as is_mine, sources_at(group, pinned, shared=True) as sources:
        if path is None or not is_mine:
            return
        run_query(path, passages.SCHEMA, at_commits(sources.by_group, keep=True), lambda _: None)
        for source, each in sources.by_group.items():
            dates_at(group, each, sources.layouts[source], source)


@contextmanager
def _alone(group: Group) -> Iterator[bool]:
    """Whether no other process updates the caches now."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(group.gitdir / "gitmem" / LOCK, flags, 0o600)
    try:
        yield _locked(fd)
    finally:
        os.close(fd)


def _locked(fd: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
