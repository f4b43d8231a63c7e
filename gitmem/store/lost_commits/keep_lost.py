"""Keep what only a reflog leads to, before a gc of a person's could take it."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from gitmem.store.durable import write_durably
from gitmem.store.fsck.check import VERIFIED
from gitmem.store.fsck.reflogs import lost_heads
from gitmem.store.fsck.replace_lost import whole_line
from gitmem.store.history.ancestry import is_behind
from gitmem.store.lost_commits.kept import keep, kept_name, kept_refs, note_rebuilt, release
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.refs.files import LogLine, all_refs, parse_log, read_log
from gitmem.store.repository import BRANCH, Repository

SEEN = "gitmem/log-seen"
"""How far the reflog was looked through: its size then, and a checksum of its end."""
_TAIL = 4096
_FORWARD = ("commit:", "commit (merge):", "commit (initial):", "cherry-pick:", "revert:")


def keep_lost(repository: Repository) -> Iterator[tuple[str, str]]:
    """Keep every commit that only the reflog leads to; tell which, and what became of it.

    Needs the group's lock.
    """
    gitdir = repository.gitdir
    size = _size(gitdir)  # first: what comes meanwhile is looked at next time
    lines, _, _ = read_log(gitdir, BRANCH)
    with repository.objects.probing():
        lost = lost_heads(gitdir, all_refs(gitdir), repository.objects, lines, VERIFIED)
    for oid in (*kept_refs(gitdir).values(), *lost):
        line = whole_line(repository, oid)
        if line.made or oid in lost:
            keep(repository, line.head)
            note_rebuilt(gitdir, line)
            yield oid, "; ".join(filter(None, (f"kept as {kept_name(line.head)}", line.lacking)))
        if line.head != oid:
            release(repository, oid)  # what was kept whole may have been damaged since
    for oid in kept_refs(gitdir).values():
        with suppress(ObjectDamaged):
            if is_behind(repository.objects, oid, repository.tip()):
                release(repository, oid)  # it is part of the branch again
    _remember(gitdir, size)


def _size(gitdir: Path) -> int:
    with suppress(OSError):
        return os.stat(gitdir / "logs" / BRANCH).st_size
    return 0


def may_be_lost(gitdir: Path) -> bool:
    """False when no move of the branch since `keep_lost` can have led away from anything."""
    lines, _, _ = parse_log(_unread(gitdir))
    pairs = pairwise(lines)
    return any(map(_may_lead_away, lines)) or any(a.new != b.old for a, b in pairs)


def _may_lead_away(line: LogLine) -> bool:
    words = line.message
    return words.startswith("check: ") if line.is_ours else not words.startswith(_FORWARD)


def _unread(gitdir: Path) -> bytes:
    """The part of the reflog that came since `keep_lost`; all of it where that cannot be told."""
    try:
        raw = (gitdir / "logs" / BRANCH).read_bytes()
    except OSError:
        return b""
    with suppress(OSError, ValueError):
        size, mark = map(int, (gitdir / SEEN).read_bytes().split())
        if mark == _mark(raw[:size]):
            return raw[size:]
    return raw


def _remember(gitdir: Path, size: int) -> None:
    with suppress(OSError):
        raw = (gitdir / "logs" / BRANCH).read_bytes()[:size]
        write_durably(gitdir / SEEN, b"%d %d\n" % (len(raw), _mark(raw)))


def _mark(raw: bytes) -> int:
    return zlib.crc32(raw[-_TAIL:])
