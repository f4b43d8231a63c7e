"""List the freshness of entries: when the meaning of each last changed, by the history."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, datetime

from gitmem.errors import BadInput
from gitmem.memory.context.pins import Pinned, pin
from gitmem.memory.entries.dates import Dates, Touched, age_of, dates_of, does_age
from gitmem.memory.entries.targets import file_of
from gitmem.memory.group import Group
from gitmem.memory.layer_files import layer_files
from gitmem.memory.read.read import known_path, missing
from gitmem.model.entries.blocks import Entry, file_entry, find, parse, split_address
from gitmem.model.entries.freshness import STATES, is_immune, state_of
from gitmem.model.entries.rules import is_retired, status_of
from gitmem.model.layout.layout import Layer, Layout
from gitmem.model.paths import glob_match
from gitmem.model.record import Record
from gitmem.store.repository import Snapshot


class AgedEntry(Record):
    """An entry, and its freshness."""

    path: str
    title: str
    address: str
    touched: datetime
    """When its meaning last changed, in the zone of the group."""
    commit: str
    """The commit that changed it ..."""
    agent: str
    """... and its agent."""
    age_days: int
    state: str
    """active, aging, fading or stale"""
    importance: int | None
    status: str
    immune: bool
    """True if age alone is no reason to review it."""
    confirmed: date | None
    layer: str
    retired: bool
    """True if it is outdated by its status."""
    bytes: int


class Freshness(Record):
    """The entries of the layers that age, the oldest first."""

    commit: str
    date: date
    entries: tuple[AgedEntry, ...]


class LineDate(Record):
    """A line, and the commit that `git blame -w` finds for it."""

    line: int
    touched: datetime
    commit: str
    agent: str
    age_days: int
    state: str
    text: str


class LineDates(Record):
    """The lines of one file."""

    path: str
    commit: str
    date: date
    lines: tuple[LineDate, ...]


def freshness(
    group: Group, path: str = "", *, states: Collection[str] = (), at: str | None = None
) -> Freshness:
    """The entries of all layers that age, or of a layer, file, folder, pattern or address."""
    check_states(states)
    moment = pin(group, at)
    files, slug = _selected(group, moment, path)
    found = [
        each
        for each in aged_entries(moment, dates_of(group, moment), files)
        if (not slug or each.address.endswith(f"#{slug}")) and (not states or each.state in states)
    ]
    found.sort(key=lambda each: (-each.age_days, each.touched, each.address))
    return Freshness(moment.snapshot.commit, moment.time.date(), tuple(found))


def check_states(states: Iterable[str]) -> None:
    """Refuse an unknown state."""
    unknown = [each for each in states if each not in STATES]
    if unknown:
        raise BadInput(
            f"unknown state {unknown[0]!r}", hint=f"use one or more of {', '.join(STATES)}"
        )


def line_dates(group: Group, path: str, *, at: str | None = None) -> LineDates:
    """The commit and the age of every line of a file."""
    moment = pin(group, at)
    snapshot, today = moment.snapshot, moment.time.date()
    path = file_of(group, snapshot, moment.loaded.layout, path)
    data = snapshot.read(path)
    if data is None:
        raise missing(group, snapshot, path)
    lines = data.decode("utf-8", "replace").split("\n")
    rows = []
    for number, each in enumerate(dates_of(group, moment).lines(path), 1):
        when, days = age_of(each, moment.time)
        text = lines[number - 1].removesuffix("\r")
        rows.append(LineDate(number, when, each.commit, each.agent, days, state_of(days), text))
    return LineDates(path, snapshot.commit, today, tuple(rows))


def ageing_files(snapshot: Snapshot, layout: Layout) -> Iterator[tuple[str, Layer]]:
    """The files of all layers that age."""
    for layer in layout.layers:
        if does_age(layer):
            for path, _ in layer_files(snapshot, layer, layout.layers_before(layer)):
                if path != layer.default:
                    yield path, layer


def aged_entries(
    moment: Pinned, dates: Dates, files: Iterable[tuple[str, Layer]]
) -> Iterator[AgedEntry]:
    """The entries of FILES with their ages."""
    for path, layer in files:
        data = moment.snapshot.read(path) or b""
        for each, touched in entries_with_dates(path, data, layer, dates):
            yield _aged(path, each, layer, touched, moment.time)


def entries_with_dates(
    path: str, data: bytes, layer: Layer, dates: Dates
) -> Iterator[tuple[Entry, Touched]]:
    """The entries of a file, or the file as one entry, with their dates."""
    text = data.decode("utf-8", "surrogateescape")
    if layer.kind != "entries":
        touched = dates.of_file(path, data)
        if touched:
            yield file_entry(path, text), touched
        return
    entries = parse(text, layer.fields)
    touches = dates.of_entries(path, (each.block for each in entries))
    for each, touched in zip(entries, touches, strict=True):
        if touched:
            yield each, touched


def _aged(path: str, entry: Entry, layer: Layer, touched: Touched, now: datetime) -> AgedEntry:
    when, days = age_of(touched, now)
    return AgedEntry(
        path,
        entry.title,
        f"{path}#{entry.slug}" if entry.slug else path,
        when,
        touched.commit,
        touched.agent,
        days,
        state_of(days),
        entry.importance,
        status_of(entry, layer),
        is_immune(entry.importance),
        entry.confirmed,
        layer.name,
        is_retired(entry, layer),
        len(entry.block.encode("utf-8", "surrogateescape")),
    )


_Files = Sequence[tuple[str, Layer]]


def _selected(group: Group, moment: Pinned, path: str) -> tuple[_Files, str]:
    """The ageing files that PATH selects, and the slug of the entry if PATH is an address."""
    snapshot, layout = moment.snapshot, moment.loaded.layout
    files = list(ageing_files(snapshot, layout))
    if not path:
        return files, ""
    by_layer = [row for row in files if row[1].name == path]
    if by_layer or layout.layer(path):
        _check_ages(group, moment, path, by_layer)
        return by_layer, ""
    named, slug = split_address(path)
    layer = layout.layer(named)
    named = layer.path if slug and layer and layer.kind == "entries" else named
    found = [row for row in files if _is_below(row[0], named)]
    _check_ages(group, moment, named, found)
    if slug and found:
        data = snapshot.read(named) or b""
        slug = find(parse(data.decode("utf-8", "replace")), slug).slug
    return found, slug


def _check_ages(group: Group, moment: Pinned, path: str, found: _Files) -> None:
    """Refuse a path that selects no ageing file; the layer of one may be empty."""
    snapshot, layout = moment.snapshot, moment.loaded.layout
    layer = layout.layer(path)
    if found or (layer and does_age(layer)):
        return
    known = known_path(group, snapshot, path) if not layer else path
    if not layer and snapshot.node(known) is None and not _is_pattern(path):
        raise missing(group, snapshot, known)
    names = [each.name for each in layout.layers if does_age(each)]
    ageing = f"the layers that age are {', '.join(names)}" if names else "no layer here ages"
    raise BadInput(f"nothing in {path!r} ages", hint=f"{ageing}; see `ages:` in gitmem.yaml")


def _is_below(path: str, named: str) -> bool:
    folder = named.rstrip("/")
    return path == folder or path.startswith(f"{folder}/") or glob_match(named, path)


def _is_pattern(path: str) -> bool:
    return any(mark in path for mark in "*?[")
