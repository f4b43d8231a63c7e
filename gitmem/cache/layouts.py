"""What was found out about layouts: a cache in the git directory, never the truth.

Reading YAML costs more than everything else a short command does. One small file remembers the
values of one `gitmem.yaml`, named by its blob; another, for a group whose present one is broken or
missing, up to which commit the history has been looked through and what was found.
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

FORM = 5
"""Counted up when the same file would be read into other values than before, or refused."""
_SHAPES = (Layout, Layer, Compaction, Migration, Retrieval, TranscriptSettings)
_LAST_VALID = "standing"


class LastValid(NamedTuple):
    """The blob whose layout counts at a commit; empty when there is none."""

    commit: str
    blob: str


def load_layout(gitdir: Path, blob: str) -> Layout | None:
    """The layout in BLOB, if it is the one that was read last."""
    rest = _known(gitdir / "gitmem" / "layout", blob)
    return None if rest is None else _restored(marshal.loads(rest))


def save_layout(gitdir: Path, blob: str, layout: Layout) -> None:
    """Keep LAYOUT for the next command; a disk that cannot is no reason to fail."""
    _keep(gitdir / "gitmem" / "layout", blob, marshal.dumps(_plain(layout)))


def last_valid(gitdir: Path) -> LastValid | None:
    """Up to which commit the history was looked through."""
    rest = _known(gitdir / "gitmem" / "layout-standing", _LAST_VALID)
    return None if rest is None else LastValid(*rest.decode("ascii").split("\n"))


def keep_last_valid(gitdir: Path, found: LastValid) -> None:
    """Remember that, so that the next look goes back only to there."""
    _keep(gitdir / "gitmem" / "layout-standing", _LAST_VALID, "\n".join(found).encode("ascii"))


def _known(path: Path, key: str) -> bytes | None:
    """What is kept for KEY; nothing where it is of something else, of another gitmem, or torn."""
    try:
        head, _, rest = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return rest if head == _head(key, rest) else None


def _keep(path: Path, key: str, rest: bytes) -> None:
    put(path, _head(key, rest) + b"\n" + rest)


def _head(key: str, rest: bytes) -> bytes:
    """What tells whether REST can be believed: another gitmem may find another layout valid."""
    shape = ",".join(field for each in _SHAPES for field in each._fields)
    digest = sha1(f"{FORM} {VERSION} {sys.hexversion} {shape}\n".encode() + rest)
    return f"{key} {digest.hexdigest()}".encode()


def _plain(value: Any) -> Any:
    return tuple(_plain(each) for each in value) if isinstance(value, tuple) else value


def _restored(plain: Any) -> Layout:
    layout = Layout(*plain)
    return layout._replace(
        layers=tuple(Layer(*each) for each in layout.layers),
        compact=Compaction(*layout.compact),
        migrate=Migration(*layout.migrate),
        retrieve=Retrieval(*layout.retrieve),
        transcripts=TranscriptSettings(*layout.transcripts),
    )
