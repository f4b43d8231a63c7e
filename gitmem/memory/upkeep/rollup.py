"""Roll up a week or month of a journal: one page sums up its pages, which go to the archive.

One commit has the new page and moves each source to the archive unchanged, so that plain
`git log --follow` continues behind it and `undo` brings all of them back. If the layout keeps the
days of a journal, the commit only has the new page.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from gitmem.errors import BadInput, Conflict, NotFound
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.upkeep.jobs import JobOutcome, run_job
from gitmem.memory.upkeep.rollups_due import Journal, digest_of_pages, journal_of, rolled_layer
from gitmem.memory.write.apply import Edit, encoded
from gitmem.memory.write.capture import capture_paths
from gitmem.memory.write.changeset import Changeset
from gitmem.memory.write.retries import REQUEST, digest_of, find_earlier, written_then
from gitmem.model.commit_messages import Note, title_of_change
from gitmem.model.guards import allowance, check_message_text, check_write, write_warnings
from gitmem.model.hints import Hint, Option, call
from gitmem.model.layout.archives import path_in
from gitmem.model.layout.layout import Layer, Layout
from gitmem.model.layout.rollups import (
    JournalPage,
    Period,
    composed,
    names_of,
    period_of,
    target_of,
)
from gitmem.model.paths import check_path
from gitmem.model.record import Record
from gitmem.model.text.format import counted
from gitmem.model.text.plain_frontmatter import read_fields
from gitmem.store.history.moves import compare_commit
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.worktree.held import SetAside

OP = "rollup"
WRITTEN, READY = "written", "ready"
NO_SOURCES, EXISTS, NOT_OVER = "no-sources", "exists", "not-over"
"""Outcomes for the job log; these three are the `outcome` of an error."""
DUE = Hint("see what is due: ", call("rollup", due=True))


class _RollupRequest(NamedTuple):
    """A roll-up: the same for every snapshot that it is planned on."""

    group: Group
    period: Period
    layer: str
    summary: str
    text: str
    if_match: str
    note: Note
    moment: datetime
    allow_secret: tuple[str, ...]
    allow_markers: bool


class RolledUp(Record):
    """The summary of a week or a month."""

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
    """Old path and new path of each page that went to the archive."""
    dry_run: bool = False
    recognised: bool = False
    """True if an earlier call with the same id had written it."""
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
    """Write TEXT as the page of the week or month PERIOD, and move its sources to the archive.

    Without LAYER it is the one whose pages move. IF_MATCH is what `rollups_due` gave for the
    sources: other pages, or other versions of them, are then a Conflict. A period that is not over,
    has no pages, or has a summary is an error whose `outcome` says which.
    """
    gist = " ".join(summary.split())
    encoded("the roll-up", f"{gist}{text}")
    _check_texts(gist, text, operation)
    digest = digest_of([Edit(f"rollup {type} {period} {layer}", text, set=(("summary", gist),))])
    note = group.note(OP, reason=reason)
    if operation:
        note = note._replace(id=operation, extra=((REQUEST, digest),))
    note = note._replace(extra=(*note.extra, *allowance(allow_secret)))
    request = _RollupRequest(
        group,
        period_of(type, period),
        layer,
        gist,
        text,
        if_match,
        note,
        group.now(),
        allow_secret,
        allow_markers,
    )
    if dry_run:
        _check_over(request)
        snapshot = group.repository.snapshot()
        done = _plan(request, snapshot).result
        return done._replace(outcome=READY, commit=snapshot.commit, dry_run=True)

    def run() -> RolledUp:
        _check_over(request)
        with group.writing() as writer:
            earlier = find_earlier(writer.repository, operation) if operation else None
            if earlier:
                return _recognised(request, writer.repository.snapshot(earlier), digest)
            # Edits to the pages are part of what is moved.
            capture_paths(writer, _paths(request, writer.repository.snapshot()))
            published = writer.publish(lambda snapshot: _plan(request, snapshot))
            return published.result._replace(**published.completion)

    return run_job(group, OP, run, _job_outcome, (Conflict, NotFound))


def _job_outcome(done: RolledUp) -> JobOutcome:
    what = f"{done.path}: {counted(len(done.sources), 'page')}"
    return JobOutcome("nothing" if done.recognised else "done", what, len(done.sources))


def _check_texts(gist: str, text: str, operation: str) -> None:
    if not gist:
        hint = Hint("give one line that a prompt shows: ", Option("summary", "TEXT"))
        raise BadInput("the summary is empty", hint=hint)
    if not text.strip():
        raise BadInput("the text is empty", hint="write what to remember of that time")
    check_message_text("operation id", operation)


def _check_over(request: _RollupRequest) -> None:
    period, today = request.period, request.moment.date()
    if not period.is_over(today):
        raise Conflict(
            f"the {period.type} {period.name} is not over: its last day is {period.last}, "
            f"and today is {today}",
            hint=DUE,
            outcome=NOT_OVER,
            period=period.name,
            last=f"{period.last}",
        )


class _RollupTarget(NamedTuple):
    """The layer that is rolled up, and the path of the new page."""

    layout: Layout
    layer: Layer
    path: str


def _target(request: _RollupRequest, snapshot: Snapshot) -> _RollupTarget:
    layout = layout_at(request.group, snapshot).layout
    layer = rolled_layer(layout, request.layer)
    return _RollupTarget(layout, layer, check_path(target_of(layer, request.period)))


def _paths(request: _RollupRequest, snapshot: Snapshot) -> list[str]:
    """The paths whose edits matter: the pages, the new one, and where they go."""
    _, layer, path = _target(request, snapshot)
    folder = layer.path.partition("{")[0].rpartition("/")[0]
    return [folder, path, *([] if layer.rollup == "keep" else [path_in(layer.archive, folder)])]


def _recognised(request: _RollupRequest, snapshot: Snapshot, digest: str) -> RolledUp:
    """What an earlier call with the same id did, in the commit of SNAPSHOT."""
    repository = snapshot.repository
    files = written_then(snapshot, request.note.id, digest)
    _, layer, path = _target(request, snapshot)
    commit = repository.commit(snapshot.commit)
    found = compare_commit(repository, commit, repository.commit(commit.parents[0]))
    names = read_fields(files.get(path, b"").decode("utf-8", "replace")).get("sources")
    return RolledUp(
        WRITTEN,
        commit.oid,
        layer.name,
        request.period.type,
        request.period.name,
        path,
        tuple(map(str, names)) if isinstance(names, list) else (),
        tuple(sorted((old, new) for new, old in found.moves.items())),
        recognised=True,
    )


def _plan(request: _RollupRequest, snapshot: Snapshot) -> Plan[RolledUp]:
    """The new page, and its sources in the archive."""
    layout, layer, path = _target(request, snapshot)
    period = request.period
    pages = _sources(request, snapshot, journal_of(snapshot, layout, layer, request.moment), layer)
    draft = Changeset(snapshot)
    moves = () if layer.rollup == "keep" else _archived(draft, layer, pages)
    data = composed(request.text, request.summary, period, pages)
    secrets, markers = request.allow_secret, request.allow_markers
    check_write(path, data, None, allow_secret=secrets, allow_markers=markers)
    draft.put(path, data)
    note = request.note._replace(
        title=title_of_change(None, request.summary.encode()),
        paths=(path,),
        extra=(*request.note.extra, *(("Gitmem-From", old) for old, _ in moves)),
    )
    warnings = tuple(write_warnings(layer, path, data)) if layer.holds(path) else ()
    done = RolledUp(
        WRITTEN,
        "",
        layer.name,
        period.type,
        period.name,
        path,
        names_of(pages),
        moves,
        warnings=warnings,
    )
    return Plan((Step(draft.changes, note),), done)


def _sources(
    request: _RollupRequest, snapshot: Snapshot, journal: Journal, layer: Layer
) -> tuple[JournalPage, ...]:
    """The pages to sum up; raises if there is a summary, or no pages, or others than expected."""
    period, expected = request.period, request.if_match
    target = target_of(layer, period)
    known = journal.pages.summary(period)
    if known or snapshot.node(target):
        raise _exists(period, known.path if known else target)
    pages = journal.pages.sources(period)
    if not pages:
        raise _no_sources(snapshot, period, layer, target)
    found = digest_of_pages(pages)
    if expected and expected.lower() != found:
        raise Conflict(
            f"the pages of {period.name} changed since {expected!r}",
            hint="read them again, and base your text on them: " + DUE,
            period=period.name,
            if_match=expected,
            found=found,
        )
    return pages


def _archived(
    draft: Changeset, layer: Layer, pages: tuple[JournalPage, ...]
) -> tuple[tuple[str, str], ...]:
    """Move each page to the archive; return the old and the new path of each."""
    moves: list[tuple[str, str]] = []
    for page in pages:
        *_, (target, _) = draft.candidates(path_in(layer.archive, page.path))
        moves += draft.move(page.path, target)
    return tuple(moves)


def _exists(period: Period, path: str) -> Conflict:
    return Conflict(
        f"the {period.type} {period.name} has a summary already: {path}",
        hint=Hint(
            "to read it: ", call("read", path), "; to replace it: ", call("write", path, "-")
        ),
        outcome=EXISTS,
        period=period.name,
        path=path,
    )


def _no_sources(snapshot: Snapshot, period: Period, layer: Layer, target: str) -> NotFound:
    """The error for a period without pages; it names the summary if they were rolled up."""
    old = path_in(layer.archive, target)
    gone = f"; {old} sums up the pages that were rolled up before" if snapshot.node(old) else ""
    return NotFound(
        f"no page of {layer.name} from {period.first} to {period.last} waits for a summary{gone}",
        hint=DUE,
        outcome=NO_SOURCES,
        period=period.name,
    )
