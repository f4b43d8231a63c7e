"""How far maintenance, snapshots, migration and imports have come: small derived files.

With them a check of a thousand quiet groups costs little more than opening them. An interrupted
write is not recorded here: every check looks for one.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.cache.files import put

FORM = "6"
"""Incremented when maintenance gets a new task."""


class Quiet(NamedTuple):
    """A state of a group in which no maintenance was due."""

    commit: str
    beside: str
    """Identifies the state of the transcripts."""
    worktree: str
    """Identifies the state of the work tree."""
    settings: str
    """Identifies the state of the store's `.env`, which sets the time zone."""
    since: float
    until: float
    """When the next local day begins."""


def quiet(gitdir: Path) -> Quiet | None:
    """Return the stored state; None if missing, damaged or from another gitmem."""
    try:
        with open(f"{gitdir}/gitmem/maintained", encoding="ascii") as file:
            form, commit, beside, worktree, settings, since, until, _ = file.read(1000).split("\n")
        if form != FORM:
            return None
        return Quiet(commit, beside, worktree, settings, float(since), float(until))
    except (OSError, ValueError):
        return None


def remember_unchanged(gitdir: Path, found: Quiet) -> None:
    """Record that nothing is due until something changes or the day ends."""
    lines = (FORM, *map(str, found), "")
    put(gitdir / "gitmem" / "maintained", "\n".join(lines).encode("ascii"))


def forget_quiet(gitdir: Path) -> None:
    """Remove the record after a failure, so that the next check looks again."""
    with suppress(OSError):
        os.unlink(f"{gitdir}/gitmem/maintained")


def last_snapshot_check(gitdir: Path) -> str:
    """Return the day of the last check for missing snapshots; empty for never."""
    try:
        with open(f"{gitdir}/gitmem/looked", encoding="ascii") as file:
            return file.read(100).strip()
    except (OSError, ValueError):
        return ""


def keep_snapshot_check(gitdir: Path, day: str) -> None:
    """Record a check on DAY: one check a day is enough, even if it fails."""
    put(gitdir / "gitmem" / "looked", f"{day}\n".encode("ascii"))


def is_refused(gitdir: Path) -> bool:
    """Whether an automatic migration was undone and none was requested since."""
    return os.path.exists(f"{gitdir}/gitmem/migration-refused")


def keep_refusal(gitdir: Path) -> None:
    """Record that the migration was undone; later edits do not change it."""
    if not is_refused(gitdir):
        put(gitdir / "gitmem" / "migration-refused", b"")


def forget_refusal(gitdir: Path) -> None:
    """Remove the record: a migration was requested."""
    with suppress(OSError):
        os.unlink(f"{gitdir}/gitmem/migration-refused")


def snapshot_gap(gitdir: Path) -> str | None:
    """Return the day after which older snapshots may be missing; empty for all of history.

    None if there is no gap: the newest snapshot is that day.
    """
    try:
        with open(f"{gitdir}/gitmem/settled", encoding="ascii") as file:
            return file.read(100).strip()
    except OSError:
        return None
    except ValueError:
        return ""


def keep_snapshot_gap(gitdir: Path, day: str) -> None:
    """Record DAY before newer snapshots are made: older days are still missing."""
    put(gitdir / "gitmem" / "settled", f"{day}\n".encode("ascii"))


def forget_snapshot_gap(gitdir: Path) -> None:
    """Remove the record: no day is missing."""
    with suppress(OSError):
        os.unlink(f"{gitdir}/gitmem/settled")


OFFSETS_NAME = "imported"
OFFSETS_FORM = 2
MOST = 20_000
"""The most files recorded: those that were read last."""


class Offset(NamedTuple):
    """How far a file was read, and what identifies it."""

    offset: int
    inode: int
    head: str
    """A digest of its beginning."""
    since: float = 0.0
    """Messages before this time were skipped; 0 if none were."""
    tail: str = ""
    """A digest of the bytes before the offset, which changes if the file is rewritten."""


def read_offsets(gitdir: Path) -> dict[str, Offset]:
    """Return the recorded offsets by path."""
    import json  # the quiet path of a hook reads this module, but no offsets

    try:
        form, rows = json.loads((gitdir / "gitmem" / OFFSETS_NAME).read_bytes())
        if form != OFFSETS_FORM:
            return {}
        return {path: _offset(*row) for path, row in rows}
    except (OSError, ValueError, TypeError, OverflowError, RecursionError):
        return {}


def _offset(offset: int, inode: int, head: str, since: float, tail: str) -> Offset:
    return Offset(int(offset), int(inode), str(head), float(since), str(tail))


def keep_offsets(gitdir: Path, offsets: dict[str, Offset]) -> None:
    """Record OFFSETS; without them files are read again, and known messages recognised."""
    import json

    rows = list(offsets.items())[-MOST:]
    put(gitdir / "gitmem" / OFFSETS_NAME, json.dumps([OFFSETS_FORM, rows]).encode())
