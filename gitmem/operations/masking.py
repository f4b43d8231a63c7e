"""What reaches a model, without the credentials that came into git past the guards.

Masked text is a function of the blob, the rules, and what was acknowledged. Where history was
searched up to the pinned commit, the list of blobs says what to mask; where it was not, what is
about to be shown is searched itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import Damaged
from gitmem.git.repository import Snapshot
from gitmem.operations.group import scanned_in

if TYPE_CHECKING:
    from pathlib import Path

    from gitmem.core.pieces import Piece
    from gitmem.core.secrets import Spare


class _Known(NamedTuple):
    """What is known of one source."""

    searched: bool
    """Whether everything that the pinned commit reaches was searched."""
    blobs: frozenset[str]
    """Those in which something was found."""
    others: bool
    """Whether something was found in a path or in a message."""


class Masks:
    """The masks over what is read from some commits, by the name that `Sources` has for each."""

    def __init__(self, snapshots: Mapping[str, Snapshot]) -> None:
        self._snapshots = snapshots
        self._known: dict[str, _Known] = {}
        self.masked: dict[tuple[str, str], int] = {}
        """How many credentials were masked, by source and path."""

    def piece(self, piece: Piece) -> Piece:
        """PIECE as it may be shown."""
        text = self.text(piece.group, piece.path, piece.blob, piece.text)
        path, address = (self.name(piece.group, each) for each in (piece.path, piece.address))
        if text is piece.text and path is piece.path and address is piece.address:
            return piece
        return piece._replace(text=text, path=path, address=address)

    def name(self, source: str, path: str) -> str:
        """PATH as it may be shown: plain git commits a file of any name."""
        known = self._known.get(source) or self._look(source)
        if known.searched and not known.others:
            return path
        clean, count = self._redacted(source, "", path)
        return clean if count else path

    def text(self, source: str, path: str, blob: str, text: str) -> str:
        """TEXT, which stands in BLOB, as it may be shown."""
        known = self._known.get(source) or self._look(source)
        if not text or (known.searched and blob not in known.blobs):
            return text
        clean, count = self._redacted(source, blob if blob in known.blobs else "", text)
        if count:
            self.masked[source, path] = count
        return clean if count else text

    def mixed(self, source: str, text: str) -> str:
        """TEXT, which is made of several blobs, old ones among them, as it may be shown."""
        known = self._known.get(source) or self._look(source)
        if known.searched and not known.blobs and not known.others:
            return text
        return self._redacted(source, "", text)[0]

    def _look(self, source: str) -> _Known:
        snapshot = self._snapshots[source]
        found, _ = scanned_in(snapshot.repository.gitdir)
        blobs = frozenset(each.blob for each in found.found)
        searched = found.tip == snapshot.commit
        known = self._known[source] = _Known(searched, blobs - {""}, "" in blobs)
        return known

    def _redacted(self, source: str, blob: str, text: str) -> tuple[str, int]:
        from gitmem.core.secrets import found_in, redact

        repository = self._snapshots[source].repository
        spare = _spare(repository.gitdir)
        clean, count = redact(text, spare)
        # An entry may be shown without the words that make its neighbour's value a credential.
        for each in found_in(_blob(self._snapshots[source], blob)) if blob else ():
            if each.value in clean and not spare(each.rule, each.value):
                count += clean.count(each.value)
                clean = clean.replace(each.value, f"[redacted: {each.rule}]")
        return clean, count


def masked(snapshot: Snapshot, path: str, text: str) -> str:
    """TEXT of the file at PATH, as a model may see it that asks for the file by name."""
    return Masks({"": snapshot}).text("", path, snapshot.oid(path) or "", text)


def _spare(gitdir: Path) -> Spare:
    """Whether somebody has said of a value that it is none."""
    from gitmem.core.exposure import secret_id
    from gitmem.git.acknowledged import read_acknowledged

    known = read_acknowledged(gitdir)
    return lambda rule, value: secret_id(known.salt, rule, value) in known.ids


def _blob(snapshot: Snapshot, oid: str) -> bytes:
    try:
        return snapshot.repository.objects.read_as("blob", oid)
    except Damaged:
        return b""
