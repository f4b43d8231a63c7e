"""What a layout chooses from one commit: the pieces of memory that a prompt may hold."""

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
"""The fields of a note that say when it was last true."""
BROKEN = "its frontmatter cannot be read"
BY_PROMPT = "chosen by a prompt"
NOT_LOADED = {"query": BY_PROMPT, "never": "never loaded"}
LEAST_IMPORTANT = 5


class Wanted(Record):
    """What a caller asks for."""

    moment: datetime
    """When, in the zone of the group."""
    user: str = ""
    user_mode: str = ""
    """full, pointer or none; nothing for what the layout says."""
    layers: tuple[str, ...] = ()
    """Just these, whatever their rule; nothing for all that are loaded."""
    dated: bool = False
    """Whether it is shown how fresh things are."""
    prompted: bool = False
    """Whether a prompt chooses from the layers that are there for that."""


class LeftOut(Record):
    """Something that is not shown, and why."""

    layer: str
    group: str
    address: str
    why: str


class Gathered(Record):
    """What was found, in the order of the layout."""

    pieces: tuple[Piece, ...]
    left_out: tuple[LeftOut, ...]


def gather(
    layouts: Mapping[str, Layout], snapshots: Mapping[str, Snapshot], wanted: Wanted
) -> Gathered:
    """The pieces of the group, and of `global` for the layers to which that contributes.

    LAYOUTS is the one layout, with the names that files have in each group of SNAPSHOTS.
    """
    pieces: list[Piece] = []
    left: list[LeftOut] = []
    for number, layer in enumerate(layouts[""].layers):
        why = _reason(layer, wanted)
        if not why:
            if not wanted.layers and not (wanted.prompted and layer.load == "query"):
                left.append(LeftOut(layer.name, "", layer.path, NOT_LOADED[layer.load]))
            continue
        for group, snapshot in snapshots.items():
            if not group or layer.shared:
                *before, theirs = layouts[group].layers[: number + 1]
                found = _Layer(theirs, snapshot, wanted, _model(layer, group, why), before)
                pieces += found.pieces()
                left += found.left
    return Gathered(tuple(pieces), tuple(left))


def _reason(layer: Layer, wanted: Wanted) -> str:
    """Why a layer is shown; nothing when it is not."""
    if wanted.layers and layer.name not in wanted.layers:
        return ""
    if layer.load == "recent":
        return f"one of the {layer.recent} newest"
    if layer.load == "always":
        return "always loaded"
    if layer.load == "user":
        return "the file of the user"
    chosen = wanted.prompted and layer.load == "query"
    return "named by --layer" if wanted.layers and not chosen else ""


def _model(layer: Layer, group: str, why: str) -> Piece:
    """What all pieces of a layer have in common."""
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
    """One layer of one commit."""

    def __init__(
        self,
        layer: Layer,
        snapshot: Snapshot,
        wanted: Wanted,
        model: Piece,
        before: Sequence[Layer],
    ) -> None:
        self._layer, self._snapshot, self._wanted = layer, snapshot, wanted
        self._model, self._before = model, before
        self._today = wanted.moment.date()
        self._zone = wanted.moment.tzinfo or UTC
        self._name = dated_part(layer.path)
        self.left: list[LeftOut] = []

    def pieces(self) -> list[Piece]:
        """The pieces, in the order in which they are shown."""
        try:
            return list(self._pieces())
        except Damaged:  # a folder; a file that cannot be read is told of in its place
            return [self._model._replace(path=self._layer.path, lack="unreadable")]

    def _pieces(self) -> Iterable[Piece]:
        layer = self._layer
        if "{user}" in layer.path and layer.kind != "journal":
            return self._profile()
        if "{user}" in layer.path and not self._made_own():
            return ()
        layer = self._layer
        if layer.kind in ("document", "log"):
            return (self._document(),)
        blobs = dict(layer_files(self._snapshot, layer, self._before))
        if not blobs and not self._model.group:
            self._leave(layer.path, "there is no such file")
        if layer.kind == "journal":
            pages = filter(None, map(self._page, self._newest_first(blobs)))
            return islice(pages, layer.recent if layer.load == "recent" else None)
        found = [piece for path in blobs for piece in self._things(self._file(path, blobs))]
        # New things come to the end, so that what a model has in its cache stays good.
        found.sort(key=lambda each: (each.date, each.path))
        return found[-layer.recent :] if layer.load == "recent" else found

    def _leave(self, address: str, why: str) -> None:
        self.left.append(LeftOut(self._layer.name, self._model.group, address, why))

    def _file(self, path: str, blobs: dict[str, str]) -> _File:
        return _File(path, blobs[path], day_of(self._name(path)))

    def _read(self, file: _File) -> tuple[Piece, str | None]:
        """A piece for FILE without its text, and that text; None when it cannot be read."""
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
        """The file at PATH as it is, if it is there."""
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
        """The path by PATTERN for the user who is addressed; nothing where there is none."""
        layer, user = self._layer, self._wanted.user
        if not user or self._wanted.user_mode == "none":
            self._leave(layer.path, "not wanted" if user else "no user was named")
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

    def _made_own(self) -> bool:
        """Whether there is a user: the journal is then that of this one alone."""
        path = self._own_path(self._layer.path)
        # A folder made by hand may be called {date} or *, and would then stand for those of others.
        known = len(variables_in(self._layer.path)) - 1
        if path and (len(variables_in(path)) != known or is_glob(path)):
            self._leave(path, "the user's folder stands for others as well")
            return False
        if path:
            self._layer, self._name = self._layer._replace(path=path), dated_part(path)
            self._model = self._model._replace(user=self._wanted.user)
        return bool(path)

    def _profile(self) -> Iterator[Piece]:
        user, mode = self._wanted.user, self._wanted.user_mode
        values = {"user": "{user}", **moment_values(self._wanted.moment)}
        path = self._own_path(filled(self._layer.path, values))
        if not path:
            return
        piece = self._whole(path)._replace(user=user)
        if piece.lack == "missing":
            self._leave(path, f"the user {user} has no file")
            return
        mode = mode or ("pointer" if piece.render == "pointer" else "full")
        yield piece._replace(render="pointer" if mode == "pointer" else "whole")

    def _things(self, file: _File) -> Iterator[Piece]:
        """A file of notes, or the entries of a file."""
        piece, text = self._read(file)
        if not text:
            yield piece if text is None else piece._replace(lack="empty")
        elif self._layer.kind == "entries":
            yield from self._entries(piece, text)
        else:
            yield from self._note(piece, file, text)

    def _note(self, piece: Piece, file: _File, text: str) -> Iterator[Piece]:
        fields = read_fields(text) if text.startswith("---") else {}
        said = (day_from(fields.get(name), self._zone) for name in OWN_DATES)
        day = next((each for each in said if each != NEVER), file.day)
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
        """The files of a journal, one at a time: few of many are shown, as a rule.

        Names that are just a date are in order by themselves; only the others are taken apart.
        """
        name = self._name
        plain: list[tuple[str, str]] = []
        odd: list[_File] = []
        for path in blobs:
            said = name(path)
            if is_day(said):
                plain.append((said, path))
            else:
                odd.append(self._dated(self._file(path, blobs)))
        plain.sort(reverse=True)
        files = (_File(path, blobs[path], Day(said)) for said, path in plain)
        if not odd:
            return files
        from heapq import merge

        odd.sort(key=_by_day, reverse=True)
        return merge(files, odd, key=_by_day, reverse=True)

    def _dated(self, file: _File) -> _File:
        """FILE with the date of its frontmatter, where its name has none.

        Only there: so the pages of a long journal that are not shown need not be read.
        """
        if file.day != NEVER:
            return file
        _, text = self._read(file)
        return file._replace(day=day_from(read_fields(text or "").get("date"), self._zone))

    def _page(self, file: _File) -> Piece | None:
        """One file of a journal; None for one that has nothing to show."""
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


def _span(name: str, said: object) -> str:
    """The span of a page where it is known: what it says itself, else a name that is no day."""
    by_name = type_of(name)
    return str(said) if said in TYPES else by_name if by_name != "day" else ""


def _importance(fields: dict[str, object], otherwise: int) -> int:
    found = fields.get("importance")
    if isinstance(found, int) and not isinstance(found, bool) and 1 <= found <= LEAST_IMPORTANT:
        return found
    return otherwise
