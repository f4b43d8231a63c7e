"""HEAD, where a power cut or a damaged disk left nothing of it.

Only a person moves HEAD, and git replaces it by a rename: one that is empty, full of NULs or
missing was never meant. Where the branch is there, only one content can be right, so no lock is
needed.
"""

from __future__ import annotations

import os
from pathlib import Path

from gitmem.store.durable import write_durably


def heal_head(gitdir: Path) -> bool:
    """Let a HEAD that names nothing name the branch again; False where there is no telling."""
    from gitmem.store.fsck.git_directory import head_state
    from gitmem.store.refs.files import all_refs  # only where something is wrong
    from gitmem.store.repository import BRANCH

    try:
        if head_state(gitdir)[0] != "unreadable" or BRANCH not in all_refs(gitdir):
            return False
        put_head(gitdir)
    except OSError:
        return False  # who may only read it is told as before
    return True


def put_head(gitdir: Path) -> None:
    """Write HEAD anew; what stands there is kept in quarantine, unless it says nothing."""
    from gitmem.store.setup import HEAD_TEXT, to_quarantine

    path = gitdir / "HEAD"
    if os.path.lexists(path) and not _is_blank(path):
        to_quarantine(gitdir, path, "HEAD")
    write_durably(path, HEAD_TEXT.encode())


def _is_blank(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and not path.read_bytes().strip(b"\x00 \n")
