"""What it means to have something back: the answer, and the versions to choose from."""

from __future__ import annotations

from typing import NamedTuple

from gitmem.errors import Conflict
from gitmem.memory.read.log import Entry
from gitmem.memory.write.write import Change
from gitmem.model.text.quoting import quoted
from gitmem.store.transaction.capture import Captured
from gitmem.store.worktree.held import SetAside

VERSIONS_SHOWN = 10
SEARCHED = 50
"""How many commits of a path are looked at for versions to choose from."""


class Restored(NamedTuple):
    """Files that are as they were."""

    commit: str
    from_commit: str
    changes: tuple[Change, ...]
    captured: tuple[Captured, ...] = ()
    """The damage, committed first: it can be looked at, and brought back, too."""
    set_aside: tuple[SetAside, ...] = ()
    kept_newer: tuple[str, ...] = ()
    """Files of a restored folder that did not exist then; they stay."""
    pending: bool = False
    address: str = ""
    """The address of the entry that came back, or the path of a file that was archived."""
    source: str = ""
    """The address it had in the archive, where it came from there."""


class ChooseVersion(Conflict):
    """Nothing is damaged that is not committed: somebody has to say which version."""

    code = "choose-version"


def version(path: str, entry: Entry, size: int | None) -> dict[str, object]:
    """One version to choose, with the command that brings it back; PATH may be an address."""
    return {
        "commit": entry.commit,
        "bytes": size,
        "op": entry.op,
        "agent": entry.agent,
        "time": entry.time,
        "command": command("restore", path or ".", "--at", entry.commit[:10]),
    }


def command(verb: str, target: str, *options: str) -> str:
    """A command as it can be typed."""
    return " ".join(["gitmem", verb, *([quoted(target)] if target else []), *options])
