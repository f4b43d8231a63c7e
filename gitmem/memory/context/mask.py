"""Mask the credentials that plain git committed past the guards.

Masked text is a function of the blob, the rules and the acknowledgements. If history was scanned up
to the pinned commit, the findings name the blobs to mask; otherwise the text itself is searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from gitmem.errors import Damaged
from gitmem.memory.searched import scanned_in
from gitmem.model.record import Record
from gitmem.store.repository import Snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from gitmem.model.context.pieces import Piece
    from gitmem.model.secrets.find import Spare


class _Known(Record):
    """The findings in one source."""

    searched: bool
    """Whether everything that the pinned commit reaches was scanned."""
    blobs: frozenset[str]
    """The blobs with findings."""
    others: bool
    """Whether a path or a message has findings."""


class Masks:
    """The masks over text from pinned commits, by their names in `Sources`."""

    def __init__(self, snapshots: Mapping[str, Snapshot]) -> None:
        self._snapshots = snapshots
        self._known: dict[str, _Known] = {}
        self.masked: dict[tuple[str, str], int] = {}
        """The number of masked credentials by source and path."""

    def piece(self, piece: Piece) -> Piece:
        """PIECE with its credentials masked."""
        known = self._known.get(piece.group) or self._look(piece.group)
        text = self.text(piece.group, piece.path, piece.blob, piece.text)
        if known.searched and not known.others:
            return piece if text is piece.text else piece._replace(text=text)
        path, address, user, change = (
            self.name(piece.group, each)
            for each in (piece.path, piece.address, piece.user, piece.change)
        )
        return piece._replace(text=text, path=path, address=address, user=user, change=change)

    def name(self, source: str, path: str) -> str:
        """PATH with its credentials masked: plain git commits a file of any name."""
        known = self._known.get(source) or self._look(source)
        if known.searched and not known.others:
            return path
        clean, count = self._redacted(source, path, "", path)
        return clean if count else path

    def text(self, source: str, path: str, blob: str, text: str) -> str:
        """TEXT, which is part of BLOB, with its credentials masked."""
        known = self._known.get(source) or self._look(source)
        if not text or (known.searched and blob not in known.blobs):
            return text
        clean, count = self._redacted(source, path, blob if blob in known.blobs else "", text)
        if count:
            self.masked[source, path] = count
        return clean if count else text

    def mixed(self, source: str, text: str, path: str = "") -> str:
        """TEXT from several blobs, older ones of PATH among them, with its credentials masked."""
        known = self._known.get(source) or self._look(source)
        if known.searched and not known.blobs and not known.others:
            return text
        return self._redacted(source, path, "", text)[0]

    def _look(self, source: str) -> _Known:
        snapshot = self._snapshots[source]
        found, _ = scanned_in(snapshot.repository.gitdir)
        blobs = frozenset(each.blob for each in found.found)
        searched = found.tip == snapshot.commit
        known = self._known[source] = _Known(searched, blobs - {""}, "" in blobs)
        return known

    def _redacted(self, source: str, path: str, blob: str, text: str) -> tuple[str, int]:
        from gitmem.model.secrets.find import find_in_bytes, redact

        spare = _spare(self._snapshots[source].repository.gitdir, path)
        clean, count = redact(text, spare)
        # A passage may lack the words around a value that make it a credential.
        for each in find_in_bytes(_blob(self._snapshots[source], blob)) if blob else ():
            if each.value in clean and not spare(each.rule, each.value):
                count += clean.count(each.value)
                clean = clean.replace(each.value, f"[redacted: {each.rule}]")
        return clean, count


def hidden(gitdirs: Iterable[Path], text: str) -> str:
    """TEXT, an answer to a model, without credentials that no group has acknowledged.

    For whole answers of a tool: a name, a heading or an error may hold a credential, too.
    """
    from gitmem.model.secrets.find import redact

    return redact(text, _Acknowledged([*gitdirs]).spares)[0]


class _Acknowledged:
    """The acknowledgements of some groups, even for a single file; read when needed."""

    def __init__(self, gitdirs: Sequence[Path]) -> None:
        self._gitdirs = gitdirs

    def spares(self, rule: str, value: str) -> bool:
        from gitmem.model.secrets.exposure import secret_id

        return any(secret_id(salt, rule, value) in ids for salt, ids in self._known)

    @cached_property
    def _known(self) -> list[tuple[str, set[str]]]:
        return [_acknowledged(gitdir) for gitdir in self._gitdirs]


def _acknowledged(gitdir: Path) -> tuple[str, set[str]]:
    from gitmem.cache.scanned import read_scanned
    from gitmem.store.fsck.acknowledged import read_acknowledged

    known, rows = read_acknowledged(gitdir), read_scanned(gitdir).found
    placed = {each.id for each in rows if known.covers(each.id, each.location)}
    return known.salt, {*known.ids, *placed}


def masked(snapshot: Snapshot, path: str, text: str) -> str:
    """TEXT of the file at PATH with its credentials masked."""
    return Masks({"": snapshot}).text("", path, snapshot.oid(path) or "", text)


def _spare(gitdir: Path, path: str) -> Spare:
    """Whether a value was acknowledged, everywhere or at PATH."""
    from gitmem.model.secrets.find import redacted_path
    from gitmem.store.fsck.acknowledged import read_acknowledged

    known, location = read_acknowledged(gitdir), redacted_path(path)
    return lambda rule, value: known.spares(rule, value, location)


def _blob(snapshot: Snapshot, oid: str) -> bytes:
    try:
        return snapshot.repository.objects.read_as("blob", oid)
    except Damaged:
        return b""
