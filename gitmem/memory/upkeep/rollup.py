"""Roll up the pages of a week or a month: one page says what they said, and they retire.

One commit: the new page, and each source moved to the archive as it is, so that plain `git log
--follow` goes on behind it and `undo` brings all of them back. Where the layout keeps the days of a
journal, only the new page is written.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from gitmem.errors import BadInput, Conflict, NotFound
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.upkeep.jobs import JobOutcome, traced
from gitmem.memory.upkeep.rollups_due import digest_of_pages, rolled_layer, shelf_of
from gitmem.memory.write.apply import Edit, encoded
from gitmem.memory.write.capture import capture_edits
from gitmem.memory.write.changeset import Changeset
from gitmem.memory.write.open_edits import scan_edits
from gitmem.memory.write.retries import REQUEST, digest_of, find_earlier, written_then
from gitmem.model.commit_messages import Note, title_of_change
from gitmem.model.guards import allowance, check_message_text, check_write, write_warnings
from gitmem.model.layout.archives import path_in
from gitmem.model.layout.layout import Layer, Layout
from gitmem.model.layout.rollups import (
    JournalPage,
    JournalPages,
    Period,
    composed,
    names_of,
    period_of,
    target_of,
)
from gitmem.model.paths import check_path
from gitmem.model.record import Record
from gitmem.model.text.format import counted, quoted
from gitmem.model.text.plain_frontmatter import read_fields
from gitmem.store.history.moves import compare_commit
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.transaction.writer import Writer
from gitmem.store.worktree.held import SetAside

OP = "rollup"
WRITTEN, READY = "written", "ready"
NO_SOURCES, EXISTS, NOT_OVER = "no-sources", "exists", "not-over"
"""What can come of it, for the log of a job; these three are the `outcome` of an error."""
DUE = "see what is due with `gitmem rollup --due`"


class _Asked(NamedTuple):
    """What the caller wants."""

    period: Period
    layer: str
    summary: str
    text: str
    if_match: str
    moment: datetime
    allow_secret: tuple[str, ...]
    allow_markers: bool


class RolledUp(Record):
    """A week or a month that has its summary."""

    outcome: str
    """written, or ready on a dry run"""
    commit: str
    layer: str
    type: str
    period: str
    path: str
    sources: tuple[str, ...]
    """The names of the pages that it sums up, the oldest first."""
    moved: tuple[tuple[str, str], ...] = ()
    """Old path and new path of each that went to the archive."""
    dry_run: bool = False
    recognised: bool = False
    """True when an earlier call with the same id had written it."""
    captured: tuple[Captured, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    pending: bool = False
    warnings: tuple[str, ...] = ()


def rollup(
    group: Group,
    type: str,
    period: str,
    text: str,
    *,
    summary: str,
    layer: str = "",
    if_match: str = "",
    reason: str = "",
    operation: str = "",
    allow_secret: tuple[str, ...] = (),
    allow_markers: bool = False,
    dry_run: bool = False,
) -> RolledUp:
    """Write TEXT as the page of the week or month PERIOD, and let its sources go to the archive.

    Without LAYER it is the one whose pages move. IF_MATCH is what `rollups_due` gave for the
    sources: other pages, or other versions of them, are then a Conflict. A period that is not over,
    has no pages, or has a summary is an error whose `outcome` says which; nothing is moved.
    """
    gist = " ".join(summary.split())
    request = Edit(f"rollup {type} {period} {layer}", text, set=(("summary", gist),))
    encoded("the roll-up", f"{gist}{text}")
    _check_said(gist, text, operation)
    note, moment, wanted = group.note(OP, reason=reason), group.now(), period_of(type, period)
    if operation:
        note = note._replace(id=operation, extra=((REQUEST, digest_of([request])),))
    note = note._replace(extra=(*note.extra, *allowance(allow_secret)))
    asked = _Asked(wanted, layer, gist, text, if_match, moment, allow_secret, allow_markers)
    work = _Work(group, asked, note)
    if dry_run:
        _check_over(wanted, moment)
        snapshot = group.repository.snapshot()
        work.plan(snapshot)
        return work.done._replace(outcome=READY, commit=snapshot.commit, dry_run=True)

    def run() -> RolledUp:
        _check_over(wanted, moment)
        with group.writing() as writer:
            earlier = find_earlier(writer.repository, operation) if operation else None
            if earlier:
                return work.recognised(writer.repository.snapshot(earlier), digest_of([request]))
            return _written(writer, work)

    return traced(group, OP, run, _job_outcome, (Conflict, NotFound))


def _job_outcome(done: RolledUp) -> JobOutcome:
    what = f"{done.path}: {counted(len(done.sources), 'page')}"
    return JobOutcome("nothing" if done.recognised else "done", what, len(done.sources))


def _check_said(gist: str, text: str, operation: str) -> None:
    if not gist:
        raise BadInput(
            "the summary is empty", hint="say in one line what a prompt shall show: --summary"
        )
    if not text.strip():
        raise BadInput("the text is empty", hint="say what shall be remembered of that time")
    check_message_text("operation id", operation)


def _check_over(period: Period, moment: datetime) -> None:
    if not period.is_over(moment.date()):
        raise Conflict(
            f"the {period.type} {period.name} is not over: its last day is {period.last}, "
            f"and today is {moment.date()}",
            hint=DUE,
            outcome=NOT_OVER,
            period=period.name,
            last=f"{period.last}",
        )


def _written(writer: Writer, work: _Work) -> RolledUp:
    # What somebody did to the pages is part of what is moved.
    places = work.places(writer.repository.snapshot())
    capture_edits(writer, scan_edits(writer.repository, writer.worktree, places))
    published = writer.publish(work.plan)
    return work.done._replace(outcome=WRITTEN, **published.completion)


class _Work:
    """One roll-up; planned again when the branch moves in between."""

    def __init__(self, group: Group, asked: _Asked, note: Note) -> None:
        self._group, self._asked, self._note = group, asked, note
        period = asked.period
        self.done = RolledUp("", "", asked.layer, period.type, period.name, "", ())
        """What the last plan amounts to."""

    def _aim(self, snapshot: Snapshot) -> tuple[Layout, Layer, str]:
        layout = layout_at(self._group, snapshot).layout
        layer = rolled_layer(layout, self._asked.layer)
        return layout, layer, check_path(target_of(layer, self._asked.period))

    def places(self, snapshot: Snapshot) -> list[str]:
        """Where edits would matter: the pages, the new one, and where they go."""
        _, layer, target = self._aim(snapshot)
        folder = layer.path.partition("{")[0].rpartition("/")[0]
        kept = layer.rollup == "keep"
        return [folder, target, *([] if kept else [path_in(layer.archive, folder)])]

    def recognised(self, snapshot: Snapshot, digest: str) -> RolledUp:
        """What an earlier call with the same id did, in the commit of SNAPSHOT."""
        repository = snapshot.repository
        files = written_then(snapshot, self._note.id, digest)
        _, layer, target = self._aim(snapshot)
        commit = repository.commit(snapshot.commit)
        found = compare_commit(repository, commit, repository.commit(commit.parents[0]))
        fields = read_fields(files.get(target, b"").decode("utf-8", "replace"))
        names = fields.get("sources")
        return self.done._replace(
            outcome=WRITTEN,
            commit=commit.oid,
            layer=layer.name,
            path=target,
            sources=tuple(map(str, names)) if isinstance(names, list) else (),
            moved=tuple(sorted((old, new) for new, old in found.moves.items())),
            recognised=True,
        )

    def plan(self, snapshot: Snapshot) -> Plan[None]:
        """The new page, and its sources where they go."""
        layout, layer, target = self._aim(snapshot)
        shelf = shelf_of(snapshot, layout, layer, self._asked.moment).shelf
        pages = self._sources(snapshot, shelf, layer, target)
        draft = Changeset(snapshot)
        moves = () if layer.rollup == "keep" else _retired(draft, layer, pages)
        data = composed(self._asked.text, self._asked.summary, self._asked.period, pages)
        secret, markers = self._asked.allow_secret, self._asked.allow_markers
        check_write(target, data, None, allow_secret=secret, allow_markers=markers)
        self.done = self.done._replace(
            layer=layer.name,
            path=target,
            sources=names_of(pages),
            moved=moves,
            warnings=tuple(write_warnings(layer, target, data)) if layer.holds(target) else (),
        )
        draft.put(target, data)
        return Plan((Step(draft.changes, self._said(target, moves)),), None)

    def _sources(
        self, snapshot: Snapshot, shelf: JournalPages, layer: Layer, target: str
    ) -> tuple[JournalPage, ...]:
        """The pages to sum up; raises where there is a summary, or are none, or other ones."""
        period, wanted = self._asked.period, self._asked.if_match
        known = shelf.summary(period)
        if known or snapshot.node(target):
            raise _exists(period, known.path if known else target)
        pages = shelf.sources(period)
        if not pages:
            raise _no_sources(snapshot, period, layer, target)
        found = digest_of_pages(pages)
        if wanted and wanted.lower() != found:
            raise Conflict(
                f"the pages of {period.name} are no longer those that {wanted} stands for",
                hint=f"read them again, and base your text on them: {DUE}",
                period=period.name,
                if_match=wanted,
                found=found,
            )
        return pages

    def _said(self, target: str, moves: tuple[tuple[str, str], ...]) -> Note:
        title = title_of_change(None, self._asked.summary.encode())
        extra = (*self._note.extra, *(("Gitmem-From", old) for old, _ in moves))
        return self._note._replace(title=title, paths=(target,), extra=extra)


def _retired(
    draft: Changeset, layer: Layer, pages: tuple[JournalPage, ...]
) -> tuple[tuple[str, str], ...]:
    """Move each page to the archive; tell from where to where."""
    moves: list[tuple[str, str]] = []
    for page in pages:
        *_, (target, _) = draft.places(path_in(layer.archive, page.path))
        moves += draft.move(page.path, target)
    return tuple(moves)


def _exists(period: Period, path: str) -> Conflict:
    return Conflict(
        f"the {period.type} {period.name} has its summary: {path} exists already",
        hint=f"read it with `gitmem read {quoted(path)}`; "
        f"to replace it: `gitmem write {quoted(path)} -`",
        outcome=EXISTS,
        period=period.name,
        path=path,
    )


def _no_sources(snapshot: Snapshot, period: Period, layer: Layer, target: str) -> NotFound:
    """Say that there is nothing to roll up, and where the pages are if they have been."""
    old = path_in(layer.archive, target)
    gone = f"; {old} has what was rolled up before" if snapshot.node(old) else ""
    return NotFound(
        f"{layer.name} has no page from {period.first} to {period.last} "
        f"that waits for a summary{gone}",
        hint=DUE,
        outcome=NO_SOURCES,
        period=period.name,
    )
