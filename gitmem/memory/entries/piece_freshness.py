"""How fresh the pieces of a prompt are, where their layers age."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from gitmem.memory.context.sources import Sources
from gitmem.memory.entries.dates import Dates, Touched, age_of, dates_at, does_age
from gitmem.memory.group import Group
from gitmem.model.context.pieces import Piece
from gitmem.model.entries.blocks import split_address
from gitmem.model.entries.freshness import key_of, state_of
from gitmem.store.repository import Snapshot


def freshened(
    pieces: Sequence[Piece], now: datetime, sources: Sources, group: Group
) -> tuple[Piece, ...]:
    """PIECES of SOURCES with the state of those that age, and their date where they name none."""
    ageing = {each.name for each in sources.layouts[""].layers if does_age(each)}
    snapshots = sources.by_group
    known: dict[str, Dates] = {}

    def touched_of(piece: Piece) -> Touched | None:
        source = piece.group
        if source not in known:
            layout = sources.layouts[source]
            known[source] = dates_at(group, snapshots[source], layout, source)
        return _touched(piece, known[source], snapshots[source])

    def shown() -> Iterator[Piece]:
        for piece in pieces:
            plain = piece.render == "whole" and not piece.lack
            ages = plain and piece.layer in ageing
            touched = touched_of(piece) if ages else None
            yield _with_state(piece, touched, now) if touched else piece

    return tuple(shown())


def _touched(piece: Piece, dates: Dates, snapshot: Snapshot) -> Touched | None:
    if piece.kind != "entries":
        return dates.of_file(piece.path, piece.text.encode("utf-8", "surrogatepass"))
    key = key_of(piece.text.encode("utf-8", "surrogateescape"))
    return dates.of_address(snapshot, piece.path, split_address(piece.address)[1], key)


def _with_state(piece: Piece, touched: Touched, now: datetime) -> Piece:
    when, days = age_of(touched, now)
    return piece._replace(state=state_of(days), date=piece.date or f"{when.date()}")
