"""What maintenance found out last: at which commit, and until when, nothing was due; on which day
a start last looked for missing snapshots, and how far back some may still be missing.

So that a look at a thousand quiet groups costs little more than opening them. An interrupted write
is not remembered here: it is looked for every time.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.cache.files import put

FORM = "6"
"""Counted up when there is something new that can be due."""


class Quiet(NamedTuple):
    """A state of a group in which nothing was due."""

    commit: str
    beside: str
    """What tells one state of what was said from another."""
    worktree: str
    """The looks of the work tree."""
    settings: str
    """What tells one state of the store's `.env`, which names the zone of days, from another."""
    since: float
    until: float
    """When the next local day begins."""


def quiet(gitdir: Path) -> Quiet | None:
    """What was remembered; None when nothing was, or it is torn, or by another gitmem."""
    try:
        with open(f"{gitdir}/gitmem/maintained", encoding="ascii") as file:
            form, commit, beside, worktree, settings, since, until, _ = file.read(1000).split("\n")
        if form != FORM:
            return None
        return Quiet(commit, beside, worktree, settings, float(since), float(until))
    except (OSError, ValueError):
        return None


def remember_unchanged(gitdir: Path, found: Quiet) -> None:
    """Remember that nothing is due, until something changes or the day ends."""
    lines = (FORM, *map(str, found), "")
    put(gitdir / "gitmem" / "maintained", "\n".join(lines).encode("ascii"))


def forget_quiet(gitdir: Path) -> None:
    """Forget it: something failed, and somebody should look again."""
    with suppress(OSError):
        os.unlink(f"{gitdir}/gitmem/maintained")


def last_snapshot_check(gitdir: Path) -> str:
    """The day on which somebody last looked for missing snapshots; empty if nobody has."""
    try:
        with open(f"{gitdir}/gitmem/looked", encoding="ascii") as file:
            return file.read(100).strip()
    except (OSError, ValueError):
        return ""


def keep_snapshot_check(gitdir: Path, day: str) -> None:
    """Remember that a start has looked on DAY: one look a day is enough, also where it fails."""
    put(gitdir / "gitmem" / "looked", f"{day}\n".encode("ascii"))


def is_refused(gitdir: Path) -> bool:
    """Whether somebody took an unasked migration back, and nobody has asked for one since."""
    return os.path.exists(f"{gitdir}/gitmem/migration-refused")


def keep_refusal(gitdir: Path) -> None:
    """Remember that: edits since then do not change it."""
    if not is_refused(gitdir):
        put(gitdir / "gitmem" / "migration-refused", b"")


def forget_refusal(gitdir: Path) -> None:
    """Forget it: somebody asks for the migration."""
    with suppress(OSError):
        os.unlink(f"{gitdir}/gitmem/migration-refused")


def snapshot_gap(gitdir: Path) -> str | None:
    """The day after which snapshots may still be missing, older than the newest one; empty for the
    beginning of history. None where the newest snapshot is that day.
    """
    try:
        with open(f"{gitdir}/gitmem/settled", encoding="ascii") as file:
            return file.read(100).strip()
    except OSError:
        return None
    except ValueError:
        return ""


def keep_snapshot_gap(gitdir: Path, day: str) -> None:
    """Remember DAY: newer snapshots are about to be made, and older days are left."""
    put(gitdir / "gitmem" / "settled", f"{day}\n".encode("ascii"))


def forget_snapshot_gap(gitdir: Path) -> None:
    """Forget it: no day is left."""
    with suppress(OSError):
        os.unlink(f"{gitdir}/gitmem/settled")


OFFSETS_NAME = "imported"
OFFSETS_FORM = 2
MOST = 20_000
"""Files that are remembered; those that were read last."""


class Offset(NamedTuple):
    """How far a file was read, and by what it is known to be the same one."""

    offset: int
    inode: int
    head: str
    """A digest of its beginning."""
    since: float = 0.0
    """What was said before that was passed over; 0 where nothing was."""
    tail: str = ""
    """A digest of what stands before the offset: who writes a file anew changes that."""


def read_offsets(gitdir: Path) -> dict[str, Offset]:
    """What is remembered, by the path of each file."""
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
    """Remember it."""
    import json

    rows = list(offsets.items())[-MOST:]
    put(gitdir / "gitmem" / OFFSETS_NAME, json.dumps([OFFSETS_FORM, rows]).encode())
