"""What the model should see: a pure function of pinned commits, a layout, options and a date.

Nothing is read from the work tree. The same pins, options, date and zone give the same bytes, which
prompt caches depend on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from gitmem.errors import BadInput, Damaged, GitmemError
from gitmem.memory.context.gather import BROKEN, Gathered, LeftOut, Wanted, gather
from gitmem.memory.context.pins import Pinned, moment_at
from gitmem.memory.context.sources import Sources, sources_at
from gitmem.memory.group import Group
from gitmem.memory.layer_files import Unmade, unmade_files
from gitmem.memory.layouts import Silenced, check_layers, silenced_at
from gitmem.model.context.escape import NOTHING, ForModel
from gitmem.model.context.pieces import Piece
from gitmem.model.context.render import ContextPage
from gitmem.model.layout.layout import FORMATS, Layout, Retrieval
from gitmem.model.record import Record
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from gitmem.memory.context.mask import Masks
    from gitmem.memory.write.count_edits import EditCount

LOADED = ("always", "recent", "user")
"""Load rules that need no prompt."""
USER_MODES = ("full", "pointer", "none")
OVER_BUDGET = "no room within the budget"
BY_HOST = "the host loads it by itself"
BETWEEN = 2
"""Characters between what is loaded by rule and what a prompt adds."""


class Placed(Record):
    """One piece of the prompt, and where it comes from."""

    layer: str
    group: str
    path: str
    address: str
    commit: str
    blob: str
    why: str
    date: str
    age: str
    state: str
    """How fresh it is, where that is shown."""
    chars: int
    """How many characters it takes, without what stands around it."""
    cut: str
    """`N of M bytes` for a piece that was cut."""
    lack: str
    """missing, empty or unreadable, in place of a text."""
    lines: str = ""
    """Which lines of its file, for what a prompt chose ..."""
    score: float = 0.0
    """... and how well it fits."""


class Manifest(Record):
    """What a prompt is made of, and what it lacks."""

    pieces: tuple[Placed, ...]
    left_out: tuple[LeftOut, ...]
    uncommitted: int | None
    """Edits in the work tree that do not show; None when nobody looked, or could."""
    notes: tuple[str, ...]
    layout_problem: str = ""
    held: int = 0
    """Edits that may not enter git, and so will not show."""


class Injected(Record):
    """A prompt's share of memory, and everything that it is made of."""

    group: str
    text: ForModel
    system_prompt: ForModel
    """What the layout loads by rule."""
    memory_context: ForModel
    """What a prompt chose."""
    pins: dict[str, str]
    """The commit of each group that was read."""
    layout: str
    layout_blob: str
    format: str
    annotate: bool
    budget: int | None
    date: str
    zone: str
    chars: int
    manifest: Manifest
    prompted: bool = False
    """Whether a prompt was given."""
    may_create: tuple[str, ...] = ()
    """Files of layers that have none yet, each with the heading it would have."""


class _Read(Record):
    """What the layout loads by rule, as far as there is room, and what a prompt adds."""

    found: Gathered
    kept: Sequence[Piece]
    dropped: Sequence[Piece]
    chosen: Sequence[Piece] = ()
    left_out: tuple[LeftOut, ...] = ()


def inject(
    group: Group,
    *,
    user: str = "",
    user_mode: str = "",
    prompt: str | None = None,
    top: int | None = None,
    chars: int | None = None,
    at: str | None = None,
    format: str = "",
    budget: int | None = None,
    layers: tuple[str, ...] = (),
    annotate: bool | None = None,
    measure: Callable[[str], int] = len,
    without: tuple[str, ...] = (),
    count_edits: bool = True,
) -> Injected:
    """The memory that a prompt should hold, now or as it was at a moment.

    Its layout says which layers are shown and how; the options change that for this once. With a
    PROMPT, passages that fit its end are added: at most TOP, with at most CHARS characters.
    MEASURE is what a budget counts in, where that is not characters. WITHOUT names files of this
    group that the model gets in another way. COUNT_EDITS looks at every file of the work tree for
    edits that do not show yet: at 2,500 files that is a quarter of the time.
    """
    moment = moment_at(group, at)
    layout = moment.loaded.layout
    _check(layout, format=format, user_mode=user_mode, budget=budget, layers=layers)
    if prompt is None and (top, chars) != (None, None):
        raise BadInput(
            "top and chars say how much a prompt gets",
            hint="add a prompt (`--prompt TEXT`), or leave them out",
        )
    retrieval = _retrieval(layout, top, chars)
    limit = (layout.budget or None) if budget is None else budget
    page = ContextPage(
        format or layout.format, annotate=layout.annotate if annotate is None else annotate
    )
    dated = page.annotate or page.format == "json"
    wanted = Wanted(moment.time, user, user_mode, tuple(layers), dated, prompt is not None)
    with sources_at(group, moment, shared=_needs_shared(layout, wanted)) as sources:
        reader = _Reader(group, moment, sources, page, limit=limit, measure=measure)
        read = reader.loaded(wanted, without)
        if prompt is not None:
            read = reader.with_prompt(read, prompt, retrieval, wanted.layers)
        unmade = unmade_files(sources.own, layout)
        silenced = tuple(_silenced(sources))
    text, untaken = page.text(_all(read)), _untaken(group, moment) if count_edits else None
    first = NOTHING if text or without else _first_words(unmade, page, limit)
    pins = {name or group.name: each.commit for name, each in sources.by_group.items()}
    return Injected(
        group=group.name,
        text=text or first,
        system_prompt=page.text(read.kept) or first,
        memory_context=page.text(read.chosen),
        pins=pins,
        layout=layout.name,
        layout_blob=moment.loaded.blob,
        format=page.format,
        annotate=page.annotate,
        budget=limit,
        date=f"{moment.time.date()}",
        zone=_zone_name(moment),
        chars=len(text or first),
        manifest=Manifest(
            tuple(
                _placed(page, each, pins[each.group or group.name])
                for each in page.in_order(_all(read))
            ),
            (*_left_out(read, page), *(each.left_out for each in silenced)),
            untaken.edits if untaken else None,
            (
                *sources.trouble,
                *_remarks(read.found),
                *_masked(sources.masks),
                *(each.file.words(each.group or group.name) for each in silenced),
            ),
            moment.loaded.problem,
            untaken.held if untaken else 0,
        ),
        prompted=prompt is not None,
        may_create=unmade.names,
    )


def _first_words(unmade: Unmade, page: ContextPage, limit: int | None) -> ForModel:
    """What a model is told on the first day; once there is memory, a prompt is that alone."""
    words = unmade.words if unmade.is_all and page.format != "json" else NOTHING
    return words if limit is None or len(words) <= limit else NOTHING


def _all(read: _Read) -> Sequence[Piece]:
    return (*read.kept, *read.chosen)


def _retrieval(layout: Layout, top: int | None, chars: int | None) -> Retrieval:
    """How much a prompt may call for: as the layout says, or as the caller does."""
    for name, value, least, most in (("top", top, 1, 32), ("chars", chars, 1000, 50_000)):
        if value is not None and not least <= value <= most:
            raise BadInput(f"{name} must be from {least:,} to {most:,}", hint="leave it out")
    known = layout.retrieve
    return known._replace(top=top or known.top, chars=chars or known.chars)


def _check(
    layout: Layout, *, format: str, user_mode: str, budget: int | None, layers: tuple[str, ...]
) -> None:
    for what, word, words in (("format", format, FORMATS), ("user mode", user_mode, USER_MODES)):
        if word and word not in words:
            raise BadInput(f"there is no {what} {word!r}", hint=f"use one of {', '.join(words)}")
    if budget is not None and budget < 0:
        raise BadInput("a budget cannot be less than nothing", hint="give characters, or no budget")
    check_layers(layout, layers)


def _needs_shared(layout: Layout, wanted: Wanted) -> bool:
    """Whether `global` contributes to anything that is to be shown."""
    return wanted.prompted or any(
        each.shared and (each.name in wanted.layers if wanted.layers else each.load in LOADED)
        for each in layout.layers
    )


class _Reader:
    """Where everything is read from, and how it will be drawn."""

    def __init__(
        self,
        group: Group,
        moment: Pinned,
        sources: Sources,
        page: ContextPage,
        *,
        limit: int | None,
        measure: Callable[[str], int],
    ) -> None:
        self._group, self._moment, self._sources = group, moment, sources
        self._page, self._limit, self._measure = page, limit, measure

    def loaded(self, wanted: Wanted, without: tuple[str, ...] = ()) -> _Read:
        """Everything that the layout chooses, from this group and from `global`."""
        sources = self._sources
        found = _without(gather(sources.layouts, sources.by_group, wanted), without)
        if wanted.dated:
            found = _freshened(found, self._moment.time, sources, self._group)
        masks = sources.masks
        left_out = [
            each._replace(address=masks.name(each.group, each.address)) for each in found.left_out
        ]
        found = Gathered(tuple(map(masks.piece, found.pieces)), tuple(left_out))
        return _Read(found, *self._fitted(found, self._limit))

    def with_prompt(
        self, read: _Read, prompt: str, limits: Retrieval, layers: tuple[str, ...]
    ) -> _Read:
        """READ with what the prompt adds; where there is a limit, up to half of it is for that."""
        from gitmem.memory.context.retrieve import Asked, Retriever  # opens a database

        limit, page = self._limit, self._page
        if limit is not None:
            free = max(limit // 2, limit - page.size(read.kept) - BETWEEN)
            limits = limits._replace(chars=min(limits.chars, free))
        asked = Asked(prompt, limits, page, layers)
        retriever = Retriever(self._group, self._moment, self._sources, asked)
        shown = _shown(read.kept)
        while True:
            found = retriever.retrieve(shown)
            if limit is not None and found.pieces:
                room = max(0, limit - page.size(found.pieces) - BETWEEN)
                kept, dropped = self._fitted(read.found, room)
                read = read._replace(kept=kept, dropped=dropped)
            # What had to make room is not shown any more, and may be what is asked for.
            still = shown & _shown(read.kept)
            if still == shown:
                break
            shown = still
        whole = _shown(read.kept)
        chosen = tuple(each for each in found.pieces if (each.group, each.address) not in whole)
        return read._replace(chosen=chosen, left_out=found.left_out)

    def _fitted(
        self, found: Gathered, limit: int | None
    ) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """What there is room for, and what had to go."""
        pieces = [each for each in found.pieces if self._page.shows(each)]
        if limit is None:
            return pieces, ()
        from gitmem.model.context.fit import fit  # only where there is a limit

        return fit(pieces, limit, lambda some: self._measure(self._page.text(some)))


def _without(found: Gathered, paths: tuple[str, ...]) -> Gathered:
    """What was found but for the files of the group at PATHS."""
    if not paths:
        return found
    gone = [each for each in found.pieces if not each.group and each.path in paths]
    left = (LeftOut(each.layer, each.group, each.address or each.path, BY_HOST) for each in gone)
    pieces = tuple(each for each in found.pieces if each not in gone)
    return Gathered(pieces, (*found.left_out, *dict.fromkeys(left)))


def _shown(pieces: Sequence[Piece]) -> frozenset[tuple[str, str]]:
    """What stands whole in a prompt: group and address of each."""
    whole = (each for each in pieces if each.render == "whole" and each.whole is None)
    return frozenset((each.group, each.address) for each in whole)


def _freshened(found: Gathered, now: datetime, sources: Sources, group: Group) -> Gathered:
    """What was found with how fresh each is; without it a prompt is better than none."""
    from gitmem.memory.entries.dates import freshened

    try:
        pieces = freshened(found.pieces, now, sources, group)
    except Damaged as error:
        sources.trouble.append(f"how fresh things are cannot be told: {error.message}")
        return found
    return found._replace(pieces=pieces)


def _placed(page: ContextPage, piece: Piece, commit: str) -> Placed:
    return Placed(
        layer=piece.layer,
        group=piece.group,
        path=piece.path,
        address=piece.address or piece.path,
        commit=commit,
        blob=piece.blob,
        why=piece.why,
        date=piece.date,
        age=piece.age,
        state=piece.state,
        chars=len(page.draw(piece).text),
        cut="" if piece.whole is None else f"{piece.size} of {piece.whole} bytes",
        lack=piece.lack,
        lines=piece.lines,
        score=piece.score,
    )


def _left_out(read: _Read, page: ContextPage) -> tuple[LeftOut, ...]:
    found, dropped = read.found, read.dropped
    absent = [(each, f"it is {each.lack}") for each in found.pieces if not page.shows(each)]
    return (
        *found.left_out,
        *(
            LeftOut(each.layer, each.group, each.address or each.path, why)
            for each, why in (*absent, *((each, OVER_BUDGET) for each in dropped))
        ),
        *read.left_out,
    )


def _remarks(found: Gathered) -> Iterator[str]:
    """What somebody should mend."""
    for each in found.left_out:
        if each.why == BROKEN:
            yield f"{each.address}: {each.why}, so its summary is not shown"


class _Silenced(Record):
    group: str
    file: Silenced
    layer: str

    @property
    def left_out(self) -> LeftOut:
        return LeftOut(self.layer, self.group, self.file.path, f"{self.file.by} is there")


def _silenced(sources: Sources) -> Iterator[_Silenced]:
    """Files that a layer would show if another spelling of their name were not there."""
    for group, snapshot in sources.by_group.items():
        layout = sources.layouts[group]
        for each in silenced_at(layout, snapshot):
            layer = layout.layer_of(each.by)
            if layer and (layer.shared or not group):
                yield _Silenced(group, each, layer.name)


def _masked(masks: Masks) -> Iterator[str]:
    """That a secret is hidden is for people: the model gets the mask."""
    if not masks.masked:
        return
    from gitmem.model.hints import Hint, call

    for (group, path), count in sorted(masks.masked.items()):
        name = masks.name(group, path)
        place = f"{group}: {name}" if group else name
        yield Hint(f"{place}: {counted(count, 'secret')} masked, see ", call("check"))


def _zone_name(moment: Pinned) -> str:
    return getattr(moment.time.tzinfo, "key", "") or f"UTC{moment.time:%z}"


def _untaken(group: Group, moment: Pinned) -> EditCount | None:
    """Edits that do not show; a work tree that cannot be looked at is no reason to fail."""
    if moment.instant is not None:
        return None
    from gitmem.memory.write.count_edits import count_edits

    try:
        return count_edits(group, moment.snapshot)
    except (GitmemError, OSError):
        return None
