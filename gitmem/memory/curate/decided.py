"""What came of a plan, decision by decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from gitmem.memory.read.show import FileChange
from gitmem.store.transaction.capture import Captured
from gitmem.store.worktree.held import SetAside

PARTICIPLES = {
    "confirm": "confirmed",
    "archive": "archived",
    "update": "updated",
    "move": "moved",
    "merge-entries": "merged",
    "keep": "kept",
}


class Landed(NamedTuple):
    """A decision that was carried out."""

    line: int
    action: str
    addresses: tuple[str, ...]
    """What it was about, by the addresses of the base."""
    address: str
    """Where it stands now; empty where it stands as before."""
    reason: str = ""


class Skipped(NamedTuple):
    """A decision about something that was changed since the base."""

    line: int
    action: str
    addresses: tuple[str, ...]


class Decided(NamedTuple):
    """A plan that has landed, or would."""

    commit: str
    base: str
    decisions: tuple[Landed, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    logged: str = ""
    """The log that tells of it, where there is one."""
    files: tuple[FileChange, ...] = ()
    """What would change, where it was only tried."""
    dry_run: bool = False
    changed: bool = False
    warnings: tuple[str, ...] = ()
    captured: tuple[Captured, ...] = ()
    pending: bool = False
    set_aside: tuple[SetAside, ...] = ()


def sentence(landed: Landed) -> str:
    """A decision in one line."""
    said = f"{landed.action} {', '.join(landed.addresses)}"
    said += f" -> {landed.address}" if landed.address else ""
    return f"{said}: {landed.reason}" if landed.reason else said


def summed(landed: Iterable[Landed]) -> str:
    """How many decisions of each kind."""
    counts = Counter(each.action for each in landed)
    return ", ".join(f"{counts[x]:,} {said}" for x, said in PARTICIPLES.items() if counts[x])
