"""What the model should see: a pure function of pinned commits, a layout, options and a date.

Nothing is read from the work tree. The same pins, options, date and zone give the same bytes, which
prompt caches depend on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.core.access import GLOBAL
from gitmem.core.layout import FORMATS, Layout
from gitmem.core.pieces import Piece
from gitmem.core.rendering import Page
from gitmem.errors import BadInput, Damaged, GitmemError, GroupNotFound, MomentNotFound
from gitmem.git.repository import Snapshot
from gitmem.operations.gathering import BROKEN, Gathered, LeftOut, Wanted, gather
from gitmem.operations.group import Group
from gitmem.operations.pinning import Pinned, moment_at

if TYPE_CHECKING:
    from gitmem.operations.untouched import Untaken

LOADED = ("always", "recent", "user")
"""Load rules that need no prompt."""
USER_MODES = ("full", "pointer", "none")
OVER_BUDGET = "no room within the budget"
NO_RETRIEVAL = "a prompt adds nothing yet: retrieval comes with search"


class Placed(NamedTuple):
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


class Manifest(NamedTuple):
    """What a prompt is made of, and what it lacks."""

    pieces: tuple[Placed, ...]
    left_out: tuple[LeftOut, ...]
    uncommitted: int | None
    """Edits in the work tree that do not show; None when nobody looked, or could."""
    notes: tuple[str, ...]
    layout_problem: str = ""
    held: int = 0
    """Edits that may not enter git, and so will not show."""


class Injected(NamedTuple):
    """A prompt's share of memory, and everything that it is made of."""

    group: str
    text: str
    system_prompt: str
    """What the layout loads by rule."""
    memory_context: str
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


class _Source:
    """What was read, and from which commits."""

    def __init__(self, found: Gathered, pins: dict[str, str], trouble: list[str]) -> None:
        self.found, self.pins, self.trouble = found, pins, trouble


def inject(
    group: Group,
    *,
    user: str = "",
    user_mode: str = "",
    prompt: str | None = None,
    at: str | None = None,
    format: str = "",
    budget: int | None = None,
    layers: tuple[str, ...] = (),
    annotate: bool | None = None,
) -> Injected:
    """The memory that a prompt should hold, now or as it was at a moment.

    Its layout says which layers are shown and how; the options change that for this once.
    """
    moment = moment_at(group, at)
    layout = moment.loaded.layout
    _check(layout, format=format, user_mode=user_mode, budget=budget, layers=layers)
    limit = (layout.budget or None) if budget is None else budget
    page = Page(format or layout.format, annotate=layout.annotate if annotate is None else annotate)
    dated = page.annotate or page.format == "json"
    wanted = Wanted(moment.time, user, user_mode, tuple(layers), dated)
    source = _read(group, moment, wanted)
    kept, dropped = _fitted([each for each in source.found.pieces if page.shows(each)], limit, page)
    text, untaken = page.text(kept), _untaken(group, moment)
    return Injected(
        group=group.name,
        text=text,
        system_prompt=text,
        memory_context="",
        pins=source.pins,
        layout=layout.name,
        layout_blob=moment.loaded.blob,
        format=page.format,
        annotate=page.annotate,
        budget=limit,
        date=f"{moment.time.date()}",
        zone=_zone_name(moment),
        chars=len(text),
        manifest=Manifest(
            tuple(_placed(page, each, source.pins[each.group or group.name]) for each in kept),
            _left_out(source.found, page, dropped),
            untaken.edits if untaken else None,
            (*([] if prompt is None else [NO_RETRIEVAL]), *source.trouble, *_remarks(source)),
            moment.loaded.problem,
            untaken.held if untaken else 0,
        ),
    )


def _check(
    layout: Layout, *, format: str, user_mode: str, budget: int | None, layers: tuple[str, ...]
) -> None:
    for what, word, words in (("format", format, FORMATS), ("user mode", user_mode, USER_MODES)):
        if word and word not in words:
            raise BadInput(f"there is no {what} {word!r}", hint=f"use one of {', '.join(words)}")
    if budget is not None and budget < 0:
        raise BadInput("a budget cannot be less than nothing", hint="give characters, or no budget")
    known = [each.name for each in layout.layers]
    unknown = [each for each in layers if each not in known]
    if unknown:
        there = f"there are: {', '.join(known)}" if known else "this group has no layout"
        raise BadInput(
            f"there is no layer {unknown[0]!r}",
            hint=f"{there}; see `gitmem read gitmem.yaml`",
            layer=unknown[0],
            layers=known,
        )


def _needs_shared(group: Group, layout: Layout, wanted: Wanted) -> bool:
    """Whether `global` contributes to anything that is to be shown."""
    if group.name == GLOBAL or not group.store.gitdir(GLOBAL).is_dir():
        return False
    return any(
        each.shared and (each.name in wanted.layers if wanted.layers else each.load in LOADED)
        for each in layout.layers
    )


def _read(group: Group, moment: Pinned, wanted: Wanted) -> _Source:
    """Everything that the layout chooses, from this group and from `global`."""
    layout, own = moment.loaded.layout, moment.snapshot
    pins, shared = {group.name: own.commit}, None
    trouble: list[str] = []
    if _needs_shared(group, layout, wanted):
        try:
            shared = Group(group.store, GLOBAL, acting=group.acting)
        except (GroupNotFound, Damaged) as error:
            trouble.append(f"the group {GLOBAL} cannot be read: {error.message}")
    try:
        theirs = _shared_at(shared, moment, trouble) if shared else None
        if theirs:
            pins[GLOBAL] = theirs.commit
        found = gather(layout, own, theirs, wanted)
        if wanted.dated:
            sources = {"": own, GLOBAL: theirs} if theirs else {"": own}
            found = _freshened(found, moment, sources, group.gitdir, trouble)
        return _Source(found, pins, trouble)
    finally:
        if shared:
            shared.close()


def _freshened(
    found: Gathered,
    moment: Pinned,
    sources: Mapping[str, Snapshot],
    gitdir: Path,
    trouble: list[str],
) -> Gathered:
    """What was found with how fresh each is; without it a prompt is better than none."""
    from gitmem.operations.freshening import freshened

    layout, now = moment.loaded.layout, moment.time
    try:
        return found._replace(pieces=freshened(found.pieces, layout, now, sources, gitdir))
    except Damaged as error:
        trouble.append(f"how fresh things are cannot be told: {error.message}")
        return found


def _shared_at(shared: Group, moment: Pinned, trouble: list[str]) -> Snapshot | None:
    """The commit of `global` at that moment, if there was one; it is never locked."""
    repository, instant = shared.repository, moment.instant
    try:
        return repository.snapshot(repository.at_time(instant).oid if instant else None)
    except MomentNotFound:
        return None
    except Damaged as error:
        trouble.append(f"the group {GLOBAL} cannot be read: {error.message}")
        return None


def _placed(page: Page, piece: Piece, commit: str) -> Placed:
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
    )


def _fitted(
    pieces: list[Piece], limit: int | None, page: Page
) -> tuple[Sequence[Piece], Sequence[Piece]]:
    """What there is room for, and what had to go."""
    if limit is None:
        return pieces, ()
    from gitmem.core.fitting import fit  # only where there is a limit

    return fit(pieces, limit, page.size)


def _left_out(found: Gathered, page: Page, dropped: Sequence[Piece]) -> tuple[LeftOut, ...]:
    absent = [(each, f"it is {each.lack}") for each in found.pieces if not page.shows(each)]
    return (
        *found.left_out,
        *(
            LeftOut(each.layer, each.group, each.address or each.path, why)
            for each, why in (*absent, *((each, OVER_BUDGET) for each in dropped))
        ),
    )


def _remarks(source: _Source) -> Iterator[str]:
    """What somebody should mend."""
    for each in source.found.left_out:
        if each.why == BROKEN:
            yield f"{each.address}: {each.why}, so its summary is not shown"


def _zone_name(moment: Pinned) -> str:
    return getattr(moment.time.tzinfo, "key", "") or f"UTC{moment.time:%z}"


def _untaken(group: Group, moment: Pinned) -> Untaken | None:
    """Edits that do not show; a work tree that cannot be looked at is no reason to fail."""
    if moment.instant is not None:
        return None
    from gitmem.operations.untouched import count_edits

    try:
        return count_edits(group, moment.snapshot)
    except (GitmemError, OSError):
        return None
