"""Build the context for a model: pin, gather, date, mask, fit, retrieve, render.

The context is a function of the pinned commits, the layout, the options and the date. Nothing is
read from the work tree. The same input gives the same bytes, because prompt caches depend on that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import BadInput, Damaged, GitmemError
from gitmem.memory.context.gather import Gathered, Selection, gather
from gitmem.memory.context.manifest import (
    Draft,
    Manifest,
    leaving,
    left_out,
    overshadowed_files,
    placed,
    warnings,
)
from gitmem.memory.context.pins import Pinned, Sources, pin, sources_at
from gitmem.memory.group import Group
from gitmem.memory.layer_files import Unmade, unmade_files
from gitmem.memory.layouts import check_layers
from gitmem.model.context.escape import NOTHING, ForModel
from gitmem.model.context.pieces import Piece
from gitmem.model.context.render import ContextPage
from gitmem.model.layout.layout import FORMATS, Layout, Retrieval
from gitmem.model.record import Record

if TYPE_CHECKING:
    from gitmem.memory.context.mask import Masks
    from gitmem.memory.context.retrieve import Retriever
    from gitmem.memory.write.count_edits import EditCount

LOADED = ("always", "recent", "user")
"""Load rules that need no prompt."""
USER_MODES = ("full", "pointer", "none")
BY_HOST = "the host loads it by itself"
BETWEEN = 2
"""Characters between what the layout loads and the retrieved passages."""


class Injected(Record):
    """The context for a model, and what it is made of."""

    group: str
    text: ForModel
    system_prompt: ForModel
    """What the layout loads by rule."""
    memory_context: ForModel
    """The passages retrieved for the prompt."""
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
    """The files of layers that have none yet, each with the heading it would have."""


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
    """The context for a model, from HEAD or as it was AT a moment.

    The layout selects and renders the layers; the options override it. With a PROMPT, passages that
    match its end are added: at most TOP, with at most CHARS characters. MEASURE counts the budget
    in another unit than characters. WITHOUT names files of this group that the host loads by
    itself. COUNT_EDITS compares every file of the work tree to count uncommitted edits: at 2,500
    files that is a quarter of the time.
    """
    pinned = pin(group, at)
    layout = pinned.loaded.layout
    _check_options(layout, format=format, user_mode=user_mode, budget=budget, layers=layers)
    retrieval = _retrieval(layout, prompt, top, chars)
    page = ContextPage(
        format or layout.format, annotate=layout.annotate if annotate is None else annotate
    )
    room = _Room((layout.budget or None) if budget is None else budget, page, measure)
    selection = Selection(pinned.time, user, user_mode, tuple(layers), prompt is not None)
    with sources_at(group, pinned, shared=_needs_shared(layout, selection)) as sources:
        found = gather(sources.layouts, sources.by_group, selection)
        found = _leave_to_host(found, without)
        if page.annotate or page.format == "json":
            found = _date(found, group, pinned, sources)
        found = _mask(found, sources.masks)
        draft = room.fit(found)
        if prompt is not None:
            from gitmem.memory.context.retrieve import PromptQuery, Retriever  # imports sqlite3

            query = PromptQuery(prompt, room.share(retrieval, draft), page, selection.layers)
            draft = _retrieve(draft, Retriever(group, pinned, sources, query), room)
        unmade = unmade_files(sources.own, layout)
        overshadowed = tuple(overshadowed_files(sources))
    text = page.text(draft.pieces)
    first = NOTHING if text or without else _first_words(unmade, room)
    edits = _uncommitted(group, pinned) if count_edits else None
    commits = {name: each.commit for name, each in sources.by_group.items()}
    return Injected(
        group=group.name,
        text=text or first,
        system_prompt=page.text(draft.kept) or first,
        memory_context=page.text(draft.passages),
        pins={name or group.name: commit for name, commit in commits.items()},
        layout=layout.name,
        layout_blob=pinned.loaded.blob,
        format=page.format,
        annotate=page.annotate,
        budget=room.limit,
        date=f"{pinned.time.date()}",
        zone=_zone_name(pinned),
        chars=len(text or first),
        manifest=Manifest(
            tuple(placed(draft, page, commits)),
            (*left_out(draft, page), *(each.left_out for each in overshadowed)),
            edits.edits if edits else None,
            tuple(warnings(group.name, draft, sources, overshadowed)),
            pinned.loaded.problem,
            edits.held if edits else 0,
        ),
        prompted=prompt is not None,
        may_create=unmade.names,
    )


def _check_options(
    layout: Layout, *, format: str, user_mode: str, budget: int | None, layers: tuple[str, ...]
) -> None:
    for what, word, words in (("format", format, FORMATS), ("user mode", user_mode, USER_MODES)):
        if word and word not in words:
            raise BadInput(f"unknown {what} {word!r}", hint=f"use one of {', '.join(words)}")
    if budget is not None and budget < 0:
        raise BadInput("budget must not be negative", hint="give characters, or no budget")
    check_layers(layout, layers)


def _retrieval(layout: Layout, prompt: str | None, top: int | None, chars: int | None) -> Retrieval:
    """The limits of retrieval: the layout's, unless the caller gives TOP or CHARS."""
    if prompt is None and (top, chars) != (None, None):
        from gitmem.model.hints import Hint, Option

        raise BadInput(
            "top and chars need a prompt",
            hint=Hint("add ", Option("prompt", "TEXT"), ", or leave them out"),
        )
    for name, value, least, most in (("top", top, 1, 32), ("chars", chars, 1000, 50_000)):
        if value is not None and not least <= value <= most:
            raise BadInput(f"{name} must be from {least:,} to {most:,}", hint="leave it out")
    known = layout.retrieve
    return known._replace(top=top or known.top, chars=chars or known.chars)


def _needs_shared(layout: Layout, selection: Selection) -> bool:
    """Whether `global` contributes to a selected layer."""
    return selection.prompted or any(
        each.shared and (each.name in selection.layers if selection.layers else each.load in LOADED)
        for each in layout.layers
    )


def _leave_to_host(found: Gathered, paths: tuple[str, ...]) -> Gathered:
    """FOUND without the files of the group at PATHS, which the host loads."""
    if not paths:
        return found
    gone = [each for each in found.pieces if not each.group and each.path in paths]
    rows = dict.fromkeys(leaving(each, BY_HOST) for each in gone)
    pieces = tuple(each for each in found.pieces if each not in gone)
    return Gathered(pieces, (*found.left_out, *rows))


def _date(found: Gathered, group: Group, pinned: Pinned, sources: Sources) -> Gathered:
    """FOUND with the freshness of each piece; a context without it is better than none."""
    from gitmem.memory.entries.dates import freshened

    try:
        pieces = freshened(found.pieces, pinned.time, sources, group)
    except Damaged as error:
        sources.trouble.append(f"cannot determine freshness: {error.message}")
        return found
    return found._replace(pieces=pieces)


def _mask(found: Gathered, masks: Masks) -> Gathered:
    """FOUND with credentials masked, in names as well."""
    left = [each._replace(address=masks.name(each.group, each.address)) for each in found.left_out]
    return Gathered(tuple(map(masks.piece, found.pieces)), tuple(left))


class _Room(NamedTuple):
    """The budget of a page."""

    limit: int | None
    page: ContextPage
    measure: Callable[[str], int]

    def fit(self, found: Gathered, reserved: int = 0) -> Draft:
        """Keep the pieces of FOUND for which there is room beside RESERVED characters."""
        pieces = [each for each in found.pieces if self.page.shows(each)]
        if self.limit is None:
            return Draft(found, pieces, ())
        from gitmem.model.context.fit import fit  # only with a budget

        room = max(0, self.limit - reserved)
        return Draft(found, *fit(pieces, room, lambda some: self.measure(self.page.text(some))))

    def share(self, retrieval: Retrieval, draft: Draft) -> Retrieval:
        """RETRIEVAL within the budget: the free part of it, or half if less is free."""
        if self.limit is None:
            return retrieval
        free = max(self.limit // 2, self.limit - self.page.size(draft.kept) - BETWEEN)
        return retrieval._replace(chars=min(retrieval.chars, free))


def _retrieve(draft: Draft, retriever: Retriever, room: _Room) -> Draft:
    """DRAFT with the passages that match the prompt; what the layout loads makes room for them."""
    shown = _shown(draft.kept)
    while True:
        found = retriever.retrieve(shown)
        if room.limit is not None and found.pieces:
            draft = room.fit(draft.found, room.page.size(found.pieces) + BETWEEN)
        # A piece that made room is not shown any more, and may itself match the prompt.
        still = shown & _shown(draft.kept)
        if still == shown:
            break
        shown = still
    whole = _shown(draft.kept)
    passages = tuple(each for each in found.pieces if (each.group, each.address) not in whole)
    return draft._replace(passages=passages, near_misses=found.left_out)


def _shown(pieces: Sequence[Piece]) -> frozenset[tuple[str, str]]:
    """Group and address of each piece that is shown whole."""
    whole = (each for each in pieces if each.render == "whole" and each.whole is None)
    return frozenset((each.group, each.address) for each in whole)


def _first_words(unmade: Unmade, room: _Room) -> ForModel:
    """What a model reads before any layer has a file: the files that it may create."""
    words = unmade.words if unmade.is_all and room.page.format != "json" else NOTHING
    return words if room.limit is None or len(words) <= room.limit else NOTHING


def _zone_name(pinned: Pinned) -> str:
    return getattr(pinned.time.tzinfo, "key", "") or f"UTC{pinned.time:%z}"


def _uncommitted(group: Group, pinned: Pinned) -> EditCount | None:
    """Edits that the context does not show; None for the past or an unreadable work tree."""
    if pinned.instant is not None:
        return None
    from gitmem.memory.write.count_edits import count_edits

    try:
        return count_edits(group, pinned.snapshot)
    except (GitmemError, OSError):
        return None
