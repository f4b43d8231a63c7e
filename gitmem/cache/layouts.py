"""The cache of layouts: derived files in the git directory.

Parsing YAML costs more than the rest of a short command. One small file has the values of one
`gitmem.yaml`, by its blob. Another, for a group whose layout is broken or missing, has the last
valid one and the commit up to which the history was searched.
"""

from __future__ import annotations

import marshal
import sys
from hashlib import sha1
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.cache.files import put
from gitmem.model.layout.layout import (
    VERSION,
    Compaction,
    Layer,
    Layout,
    Migration,
    Retrieval,
    TranscriptSettings,
)
from gitmem.model.record import Record

FORM = 5
"""Incremented when the same file would give other values, or be refused."""
_SHAPES = (Layout, Layer, Compaction, Migration, Retrieval, TranscriptSettings)
_LAST_VALID = "standing"


class LastValid(NamedTuple):
    """The blob of the last valid layout at a commit; empty if there is none."""

    commit: str
    blob: str


def load_layout(gitdir: Path, blob: str) -> Layout | None:
    """Return the layout in BLOB, if it is the one that was stored last."""
    rest = _known(gitdir / "gitmem" / "layout", blob)
    return None if rest is None else _restored(marshal.loads(rest))


def save_layout(gitdir: Path, blob: str, layout: Layout) -> None:
    """Store LAYOUT for the next command."""
    _keep(gitdir / "gitmem" / "layout", blob, marshal.dumps(_plain(layout)))


def last_valid(gitdir: Path) -> LastValid | None:
    """Return the result of the last search of the history; None if there is none."""
    rest = _known(gitdir / "gitmem" / "layout-standing", _LAST_VALID)
    return None if rest is None else LastValid(*rest.decode("ascii").split("\n"))


def keep_last_valid(gitdir: Path, found: LastValid) -> None:
    """Store FOUND, so that the next search goes back only to its commit."""
    _keep(gitdir / "gitmem" / "layout-standing", _LAST_VALID, "\n".join(found).encode("ascii"))


def _known(path: Path, key: str) -> bytes | None:
    """The data stored for KEY; None for another key, another gitmem, or a damaged file."""
    try:
        head, _, rest = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return rest if head == _head(key, rest) else None


def _keep(path: Path, key: str, rest: bytes) -> None:
    put(path, _head(key, rest) + b"\n" + rest)


def _head(key: str, rest: bytes) -> bytes:
    """The first line, which proves REST: another gitmem may find another layout valid."""
    shape = ",".join(field for each in _SHAPES for field in each._fields)
    digest = sha1(f"{FORM} {VERSION} {sys.hexversion} {shape}\n".encode() + rest)
    return f"{key} {digest.hexdigest()}".encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        value = tuple(getattr(value, name) for name in value._fields)
    return tuple(_plain(each) for each in value) if isinstance(value, tuple) else value


def _restored(plain: Any) -> Layout:
    layout: Any = Layout(*plain)
    found: Layout = layout._replace(
        layers=tuple(Layer(*each) for each in layout.layers),
        compact=Compaction(*layout.compact),
        migrate=Migration(*layout.migrate),
        retrieve=Retrieval(*layout.retrieve),
        transcripts=TranscriptSettings(*layout.transcripts),
    )
    return found
