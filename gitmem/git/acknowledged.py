"""Which findings in history somebody has looked at: a decision, so it is kept and not derived."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gitmem.git.setup import write_durably

NAME = "acknowledged"


class Acknowledged(NamedTuple):
    """The ids that were acknowledged, and the salt by which ids are made."""

    salt: str
    ids: frozenset[str] = frozenset()


def read_acknowledged(gitdir: Path) -> Acknowledged:
    """What was acknowledged; without a salt where nothing was ever found."""
    try:
        salt, *ids = (gitdir / "gitmem" / NAME).read_text("ascii").split()
    except (OSError, ValueError):
        return Acknowledged("")
    return Acknowledged(salt, frozenset(ids))


def salted(gitdir: Path) -> Acknowledged:
    """The same, with a salt: the first one who finds something makes it."""
    known = read_acknowledged(gitdir)
    if known.salt:
        return known
    return _kept(gitdir, Acknowledged(os.urandom(16).hex()))


def acknowledge(gitdir: Path, ids: Iterable[str]) -> Acknowledged:
    """Add IDS."""
    known = salted(gitdir)
    wanted = known.ids | set(ids)
    return known if wanted == known.ids else _kept(gitdir, Acknowledged(known.salt, wanted))


def _kept(gitdir: Path, known: Acknowledged) -> Acknowledged:
    lines = (known.salt, *sorted(known.ids), "")
    write_durably(gitdir / "gitmem" / NAME, "\n".join(lines).encode("ascii"))
    return known
