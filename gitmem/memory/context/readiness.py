"""Whether what a prompt is answered from is near enough to be brought up to date while it waits.

Who waits for a prompt waits a few seconds. The caches of a big group take longer when they are made
for the first time, or after much has changed: that is for a process that nobody waits for.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice

from gitmem.cache import passages
from gitmem.cache.database import Query, run_query
from gitmem.memory.context.pins import moment_at
from gitmem.memory.context.sources import sources_at
from gitmem.memory.entries.dates import dates_at, has_dates
from gitmem.memory.group import Group
from gitmem.memory.search.passages import at_commits, cache_path
from gitmem.model.layout.layout import Layout
from gitmem.store.history.walk import Trees
from gitmem.store.repository import Snapshot

FILES = 500
"""So many files are read while somebody waits ..."""
BYTES = 4 * 1024 * 1024
"""... if they are no more than this, all in all ..."""
COMMITS = 500
"""... and so many commits, where nothing is known of their dates."""
LOCK = "readying"
_AS_IT_IS = Query(lambda _: True, lambda _: None)


def is_ready(group: Group) -> bool:
    """Whether a prompt can be answered at once, or nearly so."""
    path, moment = cache_path(group), moment_at(group, None)
    if path is None:
        return True  # nothing is kept for who only reads, so it would be no faster later
    known = run_query(path, passages.SCHEMA, _AS_IT_IS, passages.states)
    with sources_at(group, moment, shared=True) as sources:
        found = sources.by_group.items()
        near = all(_is_near(known.get(source, ""), each) for source, each in found)
        layouts = sources.layouts
        return near and all(
            _has_dates(group, layouts[source], source, each) for source, each in found
        )


def _is_near(known: str, snapshot: Snapshot) -> bool:
    """Whether little has changed since the tree that is KNOWN; sizes are those in the index."""
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
    """Bring up to date what prompts are answered from, unless somebody is at it."""
    path, moment = cache_path(group), moment_at(group, None)
    with _alone(group) as is_mine, sources_at(group, moment, shared=True) as sources:
        if path is None or not is_mine:
            return
        run_query(path, passages.SCHEMA, at_commits(sources.by_group, keep=True), lambda _: None)
        for source, each in sources.by_group.items():
            dates_at(group, each, sources.layouts[source], source)


@contextmanager
def _alone(group: Group) -> Iterator[bool]:
    """Whether nobody else does the same; it is not worth doing twice."""
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
