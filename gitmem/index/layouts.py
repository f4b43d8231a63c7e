"""What was found out about layouts: a cache in the git directory, never the truth.

Reading YAML costs more than everything else a short command does. One small file remembers the
values of one `gitmem.yaml`, named by its blob; another, for a group whose present one is broken or
missing, up to which commit the history has been looked through and what was found.
"""

from __future__ import annotations

import marshal
import os
import sys
from contextlib import suppress
from hashlib import sha1
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.core.layout import Compaction, Layer, Layout, Migration

FORM = 1
"""Counted up when the same file would be read into other values than before."""


class Standing(NamedTuple):
    """The blob whose layout counts at a commit; empty when there is none."""

    commit: str
    blob: str


def remembered(gitdir: Path, blob: str) -> Layout | None:
    """The layout in BLOB, if it is the one that was read last."""
    try:
        data = (gitdir / "gitmem" / "layout").read_bytes()
    except OSError:
        return None
    head, _, rest = data.partition(b"\n")
    if head != _head(blob, rest):
        return None  # another blob, another gitmem, or torn
    return _restored(marshal.loads(rest))


def remember(gitdir: Path, blob: str, layout: Layout) -> None:
    """Keep LAYOUT for the next command; a disk that cannot is no reason to fail."""
    rest = marshal.dumps(_plain(layout))
    _put(gitdir / "gitmem" / "layout", _head(blob, rest) + b"\n" + rest)


def standing(gitdir: Path) -> Standing | None:
    """Up to which commit the history was looked through."""
    try:
        words = (gitdir / "gitmem" / "layout-standing").read_text("ascii").split("\n")
    except (OSError, ValueError):
        return None
    return Standing(words[0], words[1]) if len(words) == len(Standing._fields) + 1 else None


def keep_standing(gitdir: Path, found: Standing) -> None:
    """Remember that, so that the next look goes back only to there."""
    text = "".join(f"{each}\n" for each in found)
    _put(gitdir / "gitmem" / "layout-standing", text.encode("ascii"))


def _head(blob: str, rest: bytes) -> bytes:
    shape = ",".join((*Layout._fields, *Layer._fields))
    digest = sha1(f"{FORM} {sys.hexversion} {shape}\n".encode() + rest)
    return f"{blob} {digest.hexdigest()}".encode()


def _plain(value: Any) -> Any:
    return tuple(_plain(each) for each in value) if isinstance(value, tuple) else value


def _restored(plain: Any) -> Layout:
    layout = Layout(*plain)
    return layout._replace(
        layers=tuple(Layer(*each) for each in layout.layers),
        compact=Compaction(*layout.compact),
        migrate=Migration(*layout.migrate),
    )


def _put(path: Path, data: bytes) -> None:
    """Replace the file at once: two processes may do so, and a third may read."""
    temp = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    with suppress(OSError):
        try:
            with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            os.replace(temp, path)
        except OSError:
            os.unlink(temp)
            raise
