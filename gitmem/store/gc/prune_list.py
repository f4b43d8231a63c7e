"""The list of dropped commits and objects that `prune` is to remove from the disk."""

from __future__ import annotations

from pathlib import Path

from gitmem.store.refs.files import is_id
from gitmem.store.refs.move import put_durably

NAME = "dropped"
PACK = "pack-"
"""The prefix of packs on the list."""


def list_path(gitdir: Path) -> Path:
    """The path of the list."""
    return gitdir / "gitmem" / NAME


def note_dropped(gitdir: Path, commit: str, ref: str) -> None:
    """Put COMMIT on the list, before REF is moved away from it. Needs the group's lock."""
    known = listed(gitdir)
    if commit not in known:
        keep_listed(gitdir, {**known, commit: ref})


def dropped(gitdir: Path) -> list[str]:
    """The ids on the list."""
    return list(listed(gitdir))


def listed(gitdir: Path) -> dict[str, str]:
    """The ids on the list, each commit with its ref; other objects have none."""
    try:
        text = list_path(gitdir).read_text("ascii", "replace")
    except OSError:
        return {}
    rows = (line.partition(" ") for line in text.split("\n"))
    return {oid: ref for oid, _, ref in rows if is_id(oid.removeprefix(PACK))}


def keep_listed(gitdir: Path, rows: dict[str, str]) -> None:
    """Write the list."""
    path = list_path(gitdir)
    if rows:
        lines = (f"{oid} {ref}".strip() for oid, ref in rows.items())
        put_durably(path, "\n".join([*lines, ""]).encode(), path.with_suffix(".new"))
    else:
        path.unlink(missing_ok=True)
