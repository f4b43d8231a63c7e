"""The commits of a group, or those that changed a path."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from gitmem.errors import BadInput
from gitmem.memory.group import Group
from gitmem.memory.read.read import known_path, missing
from gitmem.model.commit_messages import UNDOES, Parsed, parse, visible
from gitmem.model.moments import FORMS, parse_moment
from gitmem.model.record import Record
from gitmem.store.history.log import Visit, follow, walk
from gitmem.store.history.moves import compare_commit
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.repository import Commit, Repository


class LogEntry(Record):
    """One commit with its trailers and changed paths."""

    commit: str
    op: str
    """The operation; empty for a commit of plain git."""
    agent: str
    session: str
    source: str
    turn: str
    reason: str
    title: str
    subject: str
    time: datetime
    """The author's time and zone."""
    paths: tuple[str, ...]
    """The paths it changed; for a merge, those that differ from its first parent."""
    violations: tuple[str, ...]
    id: str
    undoes: tuple[str, ...]
    moved_from: str
    """The old name of the followed path, or of the only file that was moved."""
    closes: str = ""
    """The messages that a checkpoint marks as summarised, such as `12-45 of CHAT`."""
    covers: tuple[str, ...] = ()
    """The commits that hold those messages."""
    subagent: str = ""
    """The type and the id of the subagent that made an edit: `TYPE/ID`."""


def log(
    group: Group,
    path: str = "",
    *,
    session: str = "",
    agent: str = "",
    since: str = "",
    op: str = "",
    limit: int = 0,
) -> tuple[LogEntry, ...]:
    """The commits, newest first; those of PATH, a file or folder, follow its moves."""
    if limit < 0:
        raise BadInput("limit must not be negative", hint="leave out the limit for all")
    entries = iter_log(group, path, session=session, agent=agent, since=since, op=op)
    found = tuple(islice(entries, limit or None))
    if not found and path:
        _check_known(group, path)
    return found


def iter_log(
    group: Group,
    path: str = "",
    *,
    session: str = "",
    agent: str = "",
    since: str = "",
    op: str = "",
) -> Iterator[LogEntry]:
    """The same, lazily."""
    start = start_of(group, since) if since else 0.0
    for visit in _visits(group, path, start):
        note = parse(visit.commit.message)
        facts = (note.session, note.agent or visit.commit.author, note.op)
        if all(
            given in ("", fact) for given, fact in zip((session, agent, op), facts, strict=True)
        ):
            yield _entry(group.repository, visit, note)


def entry_of(repository: Repository, commit: Commit) -> LogEntry:
    """The log entry of COMMIT."""
    return _entry(repository, Visit(commit, ""), parse(commit.message))


def start_of(group: Group, since: str) -> float:
    """The start of SINCE, in seconds since the epoch."""
    moment = parse_moment(since, group.now(), group.zone)
    if moment is None:
        from gitmem.model.secrets.find import redacted_quote

        raise BadInput(f"invalid date {redacted_quote(since)}", hint=FORMS)
    return moment.start.timestamp()


def _visits(group: Group, path: str, since: float = 0.0) -> Iterator[Visit]:
    repository, tip = group.repository, group.repository.tip()
    path = known_path(group, repository.snapshot(tip), path) if path else ""
    now = group.moment().timestamp() if since else math.inf
    if path:
        return follow(repository, tip, path, since=since, now=now)
    return (Visit(commit, "") for commit in walk(repository, tip, since, now))


def _check_known(group: Group, path: str) -> None:
    """Raise PathNotFound if the group never had PATH."""
    if next(_visits(group, path), None) is None:
        snapshot = group.repository.snapshot()
        raise missing(group, snapshot, known_path(group, snapshot, path))


def _entry(repository: Repository, visit: Visit, note: Parsed) -> LogEntry:
    commit = visit.commit
    paths, moved_from = _changed(repository, commit)
    return LogEntry(
        commit.oid,
        note.op,
        note.agent or commit.author,
        note.session,
        note.source,
        note.turn,
        note.body,
        _title(note, paths),
        note.subject,
        commit.time,
        paths,
        note.all("Gitmem-Violation"),
        note.id,
        note.all(UNDOES),
        visit.moved_from if visit.path else moved_from,
        " of ".join(filter(None, (note.get("Gitmem-Range"), note.get("Gitmem-Chat")))),
        note.all("Gitmem-Covers"),
        note.subagent,
    )


def _changed(repository: Repository, commit: Commit) -> tuple[tuple[str, ...], str]:
    """The paths a commit changed, and the old name of one it moved; none if a tree is damaged."""
    try:
        parent = repository.commit(commit.parents[0]) if commit.parents else None
        found = compare_commit(repository, commit, parent)
    except ObjectDamaged:
        return (), ""
    paths = tuple(path for path, _, _ in found.differences)
    return paths, next(iter(found.moves.values())) if len(found.moves) == 1 else ""


def _title(note: Parsed, paths: tuple[str, ...]) -> str:
    """The subject without the operation and the path before it."""
    if not note.op:
        return note.subject
    # A path may contain "): "; a subject with a path changes at most two.
    for path in paths[:2]:
        head = f"{note.op}({visible(path)}): "
        if note.subject.startswith(head):
            return note.subject[len(head) :]
    head, _, title = note.subject.partition(": ")
    return title if head.startswith(note.op) else note.subject
