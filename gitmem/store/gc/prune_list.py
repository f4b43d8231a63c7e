"""The list of what was dropped on purpose and may still be on the disk: `prune` removes it."""

from __future__ import annotations

from pathlib import Path

from gitmem.store.refs.files import is_id
from gitmem.store.refs.move import put_durably

NAME = "dropped"
PACK = "pack-"
"""How packs are called that are to go."""


def list_path(gitdir: Path) -> Path:
    """Where the list lies."""
    return gitdir / "gitmem" / NAME


def note_dropped(gitdir: Path, commit: str, ref: str) -> None:
    """Remember that what only COMMIT reaches shall go: before REF lets go of it.

    Needs the group's lock.
    """
    known = listed(gitdir)
    if commit not in known:
        keep_listed(gitdir, {**known, commit: ref})


def dropped(gitdir: Path) -> list[str]:
    """What was let go, and may still be on the disk."""
    return list(listed(gitdir))


def listed(gitdir: Path) -> dict[str, str]:
    """The same, with the ref that each commit was on; what else is to go was on none."""
    try:
        text = list_path(gitdir).read_text("ascii", "replace")
    except OSError:
        return {}
    rows = (line.partition(" ") for line in text.split("\n"))
    return {oid: ref for oid, _, ref in rows if is_id(oid.removeprefix(PACK))}


def keep_listed(gitdir: Path, rows: dict[str, str]) -> None:
    """Make that the list."""
    path = list_path(gitdir)
    if rows:
        lines = (f"{oid} {ref}".strip() for oid, ref in rows.items())
        put_durably(path, "\n".join([*lines, ""]).encode(), path.with_suffix(".new"))
    else:
        path.unlink(missing_ok=True)
