"""Drop old messages that are summarised: the only data that gitmem really removes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from gitmem.cache import messages as cache
from gitmem.cache.database import Connection, discard
from gitmem.cache.progress import forget_quiet
from gitmem.errors import BadInput
from gitmem.memory.group import Group
from gitmem.memory.transcripts.transcripts import (
    TranscriptTip,
    checkpoint_state,
    messages_path,
    query_messages,
    tip_of,
)
from gitmem.model.access import check_access
from gitmem.model.moments import FORMS, parse_moment
from gitmem.model.record import Record
from gitmem.model.secrets.find import redacted_quote
from gitmem.model.text.format import counted
from gitmem.model.transcripts.batches import (
    BEGAN,
    FORGOTTEN,
    NUMBERS,
    OP,
    REF,
    decode_keys,
    encode_keys,
)
from gitmem.store.gc.prune_list import note_dropped
from gitmem.store.refs.side_branch import side_branch


class TranscriptPruned(Record):
    """The result of a prune."""

    commit: str
    """The new root; the last commit where nothing was dropped."""
    before: datetime
    batches: int
    messages: int
    chats: tuple[str, ...]
    kept_pending: int
    """Older messages that stay because they are pending ..."""
    kept_with_them: int
    """... and those that share a batch with pending or newer ones."""
    dry_run: bool = False


class _Chosen(NamedTuple):
    paths: list[str]
    keys: list[bytes]
    chats: set[str]
    pending: int
    beside: int


def transcript_prune(group: Group, before: str, *, dry_run: bool = False) -> TranscriptPruned:
    """Drop the summarised batches whose messages are all older than BEFORE."""
    check_access(group.acting, group.name, write=True)
    moment = parse_moment(before, group.now(), group.zone)
    if moment is None:
        raise BadInput(f"invalid date {redacted_quote(before)}", hint=FORMS)
    start = moment.start
    note = group.note(OP)
    tip = tip_of(group)
    chosen = _chosen(group, tip, start)
    if tip is None or dry_run or not chosen.paths:
        return _answer(tip.commit if tip else "", start, chosen, dry_run=dry_run)
    with side_branch(group.repository, REF) as line:
        now = tip_of(group) or tip
        chosen = _chosen(group, now, start)  # again: a checkpoint may have been undone
        if not chosen.paths:
            return _answer(now.commit, start, chosen)
        facts = ((NUMBERS, f"{now.last}-{now.last}"), (BEGAN, now.began))
        title = f"{counted(len(chosen.keys), 'message')} from before {start.date()} dropped"
        known = group.repository.snapshot(now.commit).read(FORGOTTEN) or b""
        files: dict[str, bytes | None] = dict.fromkeys(chosen.paths)
        files[FORGOTTEN] = encode_keys([*decode_keys(known), *chosen.keys])
        note_dropped(group.gitdir, now.commit, REF)
        _forget_words(group)  # before as well, in case this process dies
        done = note._replace(title=title, extra=facts)
        commit = line.restart(now.commit, files, done, group.now())
    _forget_words(group)
    return _answer(commit, start, chosen)


def _forget_words(group: Group) -> None:
    """Delete caches that contain dropped messages, or say that nothing is due."""
    path = messages_path(group)
    if path:
        discard(path)
    forget_quiet(group.gitdir)


def _chosen(group: Group, tip: TranscriptTip | None, before: datetime) -> _Chosen:
    """The batches to drop, and counts of the messages that keep others."""
    limit = before.astimezone(UTC).timestamp()

    def answer(connection: Connection) -> _Chosen:
        closed = checkpoint_state(connection).closed
        found = _Chosen([], [], set(), 0, 0)
        for path, rows in cache.by_batch(connection):
            old = [row for row in rows if row.at < limit]
            pending = sum(not closed.has(row.number, row.chat) for row in old)
            if len(old) == len(rows) and not pending:
                found.paths.append(path)
                found.keys.extend(row.key for row in rows)
                found.chats.update(row.chat for row in rows)
            else:
                beside = found.beside + len(old) - pending
                found = found._replace(pending=found.pending + pending, beside=beside)
        return found

    return query_messages(group, tip, answer)


def _answer(
    commit: str, before: datetime, chosen: _Chosen, *, dry_run: bool = False
) -> TranscriptPruned:
    chats: Sequence[str] = sorted(chosen.chats)
    return TranscriptPruned(
        commit,
        before,
        len(chosen.paths),
        len(chosen.keys),
        tuple(chats),
        chosen.pending,
        chosen.beside,
        dry_run,
    )
