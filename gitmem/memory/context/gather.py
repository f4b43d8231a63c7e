"""Gather the pieces of memory that a layout selects from pinned commits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

from gitmem.errors import Damaged, GitmemError
from gitmem.memory.layer_files import REGULAR, dated_part, layer_files
from gitmem.model.context.pieces import Piece, one_line, text_of, trimmed
from gitmem.model.layout.journal import (
    NEVER,
    TYPES,
    Day,
    age_label,
    day_from,
    day_of,
    is_day,
    type_of,
)
from gitmem.model.layout.layout import Layer, Layout, filled, is_glob, moment_values, variables_in
from gitmem.model.record import Record
from gitmem.model.text import frontmatter
from gitmem.model.text.plain_frontmatter import read_fields
from gitmem.model.transcripts.compactions import gists, squeezed
from gitmem.store.repository import Snapshot

OWN_DATES = ("updated", "date")
"""The fields of a note with the date on which it was last known to be true."""
BROKEN = "unreadable frontmatter"
BY_PROMPT = "needs a prompt"
NOT_LOADED = {"query": BY_PROMPT, "never": "never loaded"}
LEAST_IMPORTANT = 5


class Selection(Record):
    """What the caller wants to see."""

    moment: datetime
    """The pinned time, in the zone of the group."""
    user: str = ""
    user_mode: str = ""
    """full, pointer or none; empty for the mode of the layout."""
    layers: tuple[str, ...] = ()
    """Only these, whatever their load rule; empty for all that the layout loads."""
    prompted: bool = False
    """Whether passages are retrieved from the layers with `load: query`."""


class LeftOut(Record):
    """A layer, file or entry that is not shown, and why."""

    layer: str
    group: str
    address: str
    why: str


class Gathered(Record):
    """Pieces and what was left out, in the order of the layout."""

    pieces: tuple[Piece, ...]
    left_out: tuple[LeftOut, ...]


def gather(
    layouts: Mapping[str, Layout], snapshots: Mapping[str, Snapshot], selection: Selection
) -> Gathered:
    """The selected pieces of the group, and of `global` in shared layers.

    LAYOUTS has the layout of the group for each of SNAPSHOTS, with the file names used there.
    """
    pieces: list[Piece] = []
    left: list[LeftOut] = []
    for number, layer in enumerate(layouts[""].layers):
        why = _reason(layer, selection)
        if not why:
            if not selection.layers and not (selection.prompted and layer.load == "query"):
                left.append(LeftOut(layer.name, "", layer.path, NOT_LOADED[layer.load]))
            continue
        for group, snapshot in snapshots.items():
            if not group or layer.shared:
                *before, theirs = layouts[group].layers[: number + 1]
                found = _Layer(theirs, snapshot, selection, _model(layer, group, why), before)
                pieces += found.pieces()
                left += found.left
    return Gathered(tuple(pieces), tuple(left))


def _reason(layer: Layer, selection: Selection) -> str:
    """Why a layer is shown; empty if it is not."""
    if selection.layers and layer.name not in selection.layers:
        return ""
    if layer.load == "recent":
        return f"one of the {layer.recent} newest"
    if layer.load == "always":
        return "always loaded"
    if layer.load == "user":
        return "the user's file"
    retrieved = selection.prompted and layer.load == "query"
    return "requested by name" if selection.layers and not retrieved else ""


def _model(layer: Layer, group: str, why: str) -> Piece:
    """A piece with the fields that all pieces of a layer share."""
    return Piece(
        layer.name,
        layer.kind,
        heading=layer.heading,
        render="pointer" if layer.render == "pointer" else "whole",
        group=group,
        importance=layer.importance,
        vital=layer.importance == 1,
        why=why,
        queried=layer.load == "query",
        budget=layer.budget,
    )


class _File(NamedTuple):
    path: str
    blob: str
    day: Day = NEVER


class _Layer:
    """Reads the pieces of one layer from one commit."""

    def __init__(
        self,
        layer: Layer,
        snapshot: Snapshot,
        selection: Selection,
        model: Piece,
        before: Sequence[Layer],
    ) -> None:
        self._layer, self._snapshot, self._selection = layer, snapshot, selection
        self._model, self._before = model, before
        self._today = selection.moment.date()
        self._zone = selection.moment.tzinfo or UTC
        self._name = dated_part(layer.path)
        self.left: list[LeftOut] = []

    def pieces(self) -> list[Piece]:
        """The pieces, in the order of the page."""
        try:
            return list(self._pieces())
        except Damaged:  # of a folder; a damaged file becomes a piece of its own
            return [self._model._replace(path=self._layer.path, lack="unreadable")]

    def _pieces(self) -> Iterable[Piece]:
        layer = self._layer
        if "{user}" in layer.path and layer.kind != "journal":
            return self._profile()
        if "{user}" in layer.path and not self._narrowed_to_user():
            return ()
        layer = self._layer
        if layer.kind in ("document", "log"):
            return (self._document(),)
        blobs = dict(layer_files(self._snapshot, layer, self._before))
        if not blobs and not self._model.group:
            self._leave(layer.path, "no such file")
        if layer.kind == "journal":
            pages = filter(None, map(self._page, self._newest_first(blobs)))
            return islice(pages, layer.recent if layer.load == "recent" else None)
        found = [piece for path in blobs for piece in self._note_pieces(self._file(path, blobs))]
        # The newest come last, so that the prefix in the prompt cache stays valid.
        found.sort(key=lambda each: (each.date, each.path))
        return found[-layer.recent :] if layer.load == "recent" else found

    def _leave(self, address: str, why: str) -> None:
        self.left.append(LeftOut(self._layer.name, self._model.group, address, why))

    def _file(self, path: str, blobs: dict[str, str]) -> _File:
        return _File(path, blobs[path], day_of(self._name(path)))

    def _read(self, file: _File) -> tuple[Piece, str | None]:
        """A piece for FILE without its text, and the text; None if the blob is damaged."""
        day = file.day.date
        age = age_label(day, self._today) if self._layer.kind == "journal" else ""
        piece = self._model._replace(
            path=file.path, address=file.path, blob=file.blob, date=day, age=age
        )
        try:
            data = self._snapshot.repository.objects.read_as("blob", file.blob)
        except Damaged:
            return piece._replace(lack="unreadable"), None
        return piece, squeezed(text_of(data))

    def _whole(self, path: str) -> Piece:
        """The whole file at PATH as one piece."""
        node = self._snapshot.node(path)
        if node is None or node.mode not in REGULAR:
            return self._model._replace(path=path, address=path, lack="missing")
        piece, text = self._read(_File(path, node.oid))
        if text is None:
            return piece
        return piece._replace(text=text) if text else piece._replace(lack="empty")

    def _document(self) -> Piece:
        return self._whole(self._layer.path)

    def _own_path(self, pattern: str) -> str:
        """PATTERN with the name of the selected user; empty if there is none."""
        layer, user = self._layer, self._selection.user
        if not user or self._selection.user_mode == "none":
            self._leave(layer.path, "turned off for this call" if user else "no user was named")
            return ""
        from gitmem.model.users import user_path

        try:
            return user_path(
                pattern,
                user,
                self._snapshot.folder,
                default=layer.default,
                literal=layer.is_literal,
            )
        except GitmemError as error:
            if isinstance(error, Damaged):
                raise
            self._leave(layer.path, error.message)
            return ""

    def _narrowed_to_user(self) -> bool:
        """Narrow the layer to the journal of the selected user; False if there is none."""
        path = self._own_path(self._layer.path)
        # A folder made by hand may be called {date} or *, which would match those of other users.
        known = len(variables_in(self._layer.path)) - 1
        if path and (len(variables_in(path)) != known or is_glob(path)):
            self._leave(path, "the name of the user's folder is a pattern")
            return False
        if path:
            self._layer, self._name = self._layer._replace(path=path), dated_part(path)
            self._model = self._model._replace(user=self._selection.user)
        return bool(path)

    def _profile(self) -> Iterator[Piece]:
        user, mode = self._selection.user, self._selection.user_mode
        values = {"user": "{user}", **moment_values(self._selection.moment)}
        path = self._own_path(filled(self._layer.path, values))
        if not path:
            return
        piece = self._whole(path)._replace(user=user)
        if piece.lack == "missing":
            self._leave(path, f"no file for user {user!r}")
            return
        mode = mode or ("pointer" if piece.render == "pointer" else "full")
        yield piece._replace(render="pointer" if mode == "pointer" else "whole")

    def _note_pieces(self, file: _File) -> Iterator[Piece]:
        """The note in FILE, or its entries."""
        piece, text = self._read(file)
        if not text:
            yield piece if text is None else piece._replace(lack="empty")
        elif self._layer.kind == "entries":
            yield from self._entries(piece, text)
        else:
            yield from self._note(piece, file, text)

    def _note(self, piece: Piece, file: _File, text: str) -> Iterator[Piece]:
        fields = read_fields(text) if text.startswith("---") else {}
        dates = (day_from(fields.get(name), self._zone) for name in OWN_DATES)
        day = next((each for each in dates if each != NEVER), file.day)
        piece = piece._replace(date=day.date, importance=_importance(fields, piece.importance))
        if self._layer.render != "summary":
            yield piece._replace(text=text)
            return
        found = self._summary(piece, text, fields)
        if found:
            yield found._replace(age=age_label(day.date, self._today))

    def _entries(self, piece: Piece, text: str) -> Iterator[Piece]:
        from gitmem.model.entries.blocks import parse
        from gitmem.model.entries.rules import is_retired

        entries = parse(text, self._layer.fields)
        if not entries:
            self._leave(piece.path, "it has no entries")
        for each in entries:
            address = f"{piece.path}#{each.slug}"
            if is_retired(each, self._layer):
                self._leave(address, f"it is {each.status}")
                continue
            yield piece._replace(
                text=trimmed(each.block),
                address=address,
                date=f"{each.date or ''}",
                importance=each.importance or piece.importance,
            )

    def _newest_first(self, blobs: dict[str, str]) -> Iterator[_File]:
        """The files of a journal, lazily: most contexts show few of them.

        Names that are plain dates sort as text; only the others are parsed.
        """
        plain: list[tuple[str, str]] = []
        odd: list[_File] = []
        for path in blobs:
            name = self._name(path)
            if is_day(name):
                plain.append((name, path))
            else:
                odd.append(self._dated(self._file(path, blobs)))
        plain.sort(reverse=True)
        files = (_File(path, blobs[path], Day(name)) for name, path in plain)
        if not odd:
            return files
        from heapq import merge

        odd.sort(key=_by_day, reverse=True)
        return merge(files, odd, key=_by_day, reverse=True)

    def _dated(self, file: _File) -> _File:
        """FILE with the date of its frontmatter, if its name has none.

        Otherwise it is not read: a long journal has many files that the context does not show.
        """
        if file.day != NEVER:
            return file
        _, text = self._read(file)
        return file._replace(day=day_from(read_fields(text or "").get("date"), self._zone))

    def _page(self, file: _File) -> Piece | None:
        """One file of a journal; None if it has nothing to show."""
        piece, text = self._read(file)
        if text is None:
            return piece
        fields = read_fields(text)
        piece = piece._replace(
            type=_span(self._name(file.path), fields.get("type")),
            importance=_importance(fields, piece.importance),
        )
        if self._layer.render == "summary":
            return self._summary(piece, text, fields)
        block = frontmatter.split(text)
        body = trimmed(text[block.body :]) if block else text
        if not body:
            self._leave(file.path, "it is empty")
        return piece._replace(text=body) if body else None

    def _summary(self, piece: Piece, text: str, fields: dict[str, object]) -> Piece | None:
        shown = one_line(fields.get("summary")) or gists(text)
        if shown:
            return piece._replace(text=shown, render="summary")
        broken = not fields and frontmatter.split(text)
        self._leave(piece.path, BROKEN if broken else "it has no summary")
        return None


def _by_day(file: _File) -> tuple[Day, str]:
    return file.day, file.path


def _span(name: str, field: object) -> str:
    """The span of a page: FIELD if it is one, else that of NAME; empty for a day."""
    by_name = type_of(name)
    return str(field) if field in TYPES else by_name if by_name != "day" else ""


def _importance(fields: dict[str, object], otherwise: int) -> int:
    found = fields.get("importance")
    if isinstance(found, int) and not isinstance(found, bool) and 1 <= found <= LEAST_IMPORTANT:
        return found
    return otherwise
