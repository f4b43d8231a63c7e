"""The messages of a group on their own ref, and which of them are summarised.

A checkpoint, which is a commit of the branch, closes a range. Undoing that commit, or one that it
covers, reopens the range, so there is no second state to keep in step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gitmem.cache import messages as cache
from gitmem.cache.database import CacheBroken, Connection, Query, run_query
from gitmem.cache.messages import RangeCommit
from gitmem.errors import Damaged
from gitmem.memory.group import Group
from gitmem.model.commit_messages import PARTLY, UNDOES, Parsed, parse
from gitmem.model.record import Record
from gitmem.model.transcripts.batches import (
    BEGAN,
    FORGOTTEN,
    NUMBERS,
    OP,
    REF,
    Message,
    decode,
    decode_keys,
    first_in,
    is_batch,
    span,
)
from gitmem.model.transcripts.intervals import Closed, Range, read_range
from gitmem.store.history.walk import Trees
from gitmem.store.refs.side_branch import side_branch_tip
from gitmem.store.repository import Commit

if TYPE_CHECKING:
    from pathlib import Path

Answer = TypeVar("Answer")

NAME = "said.db"
CHECKPOINT = "checkpoint"
RANGE, CHAT, COVERS = "Gitmem-Range", "Gitmem-Chat", "Gitmem-Covers"
COUNT = "Gitmem-Count"
"""How many messages a checkpoint closed."""
AT = "Gitmem-At"
"""When another program made the checkpoint: the commit has the time of the import."""


class TranscriptTip(NamedTuple):
    """The newest commit on the ref of transcripts."""

    commit: str
    tree: str
    last: int
    """The last number that any message got."""
    began: str
    """The tip of the branch when the first message came in: no checkpoint is older."""


class CheckpointState(NamedTuple):
    """Which messages are summarised."""

    closed: Closed
    last: RangeCommit | None
    """The newest checkpoint that counts."""
    reopened: tuple[RangeCommit, ...]
    """Checkpoints that were undone, or whose commits were."""


class Checkpoint(Record):
    """A commit that closed a range."""

    commit: str
    begin: int
    end: int
    chat: str
    summary: str
    time: datetime
    agent: str


def read_checkpoint(commit: Commit) -> Checkpoint:
    """The checkpoint in a commit."""
    note = parse(commit.message)
    begin, end, chat, _ = read_range(note.get(RANGE), note.get(CHAT)) or Range(0, 0)
    agent = note.agent or commit.author
    return Checkpoint(commit.oid, begin, end, chat, note.body, _made_at(commit, note), agent)


def _made_at(commit: Commit, note: Parsed) -> datetime:
    with suppress(ValueError):  # also where there is no such trailer
        made = datetime.fromisoformat(note.get(AT))
        return made if made.tzinfo else commit.time
    return commit.time


def tip_of(group: Group) -> TranscriptTip | None:
    """The tip of the ref; None without messages."""
    oid = side_branch_tip(group.repository, REF)
    if oid is None:
        return None
    commit = group.repository.commit(oid)
    note = parse(commit.message)
    return TranscriptTip(oid, commit.tree, span(note.get(NUMBERS))[1], note.get(BEGAN))


def query_messages(
    group: Group, tip: TranscriptTip | None, answer: Callable[[Connection], Answer]
) -> Answer:
    """Run ANSWER on tables that match TIP and the tip of the branch."""
    branch = group.repository.tip()
    question = Query(
        lambda connection: _is_there(connection, group, tip, branch),
        lambda connection: _bring(connection, group, tip, branch),
    )
    return run_query(messages_path(group), cache.SCHEMA, question, answer)


def is_chat(group: Group, chat: str) -> bool:
    """Whether CHAT has readable messages."""
    with suppress(Damaged):
        return query_messages(
            group,
            tip_of(group),
            lambda tables: bool(cache.spans(tables, cache.stored_chat(tables, chat))),
        )
    return False


def messages_path(group: Group) -> Path | None:
    """The file of the tables; None for a reader that keeps no cache."""
    return group.gitdir / "gitmem" / NAME if group.keeps else None


def _is_there(connection: Connection, group: Group, tip: TranscriptTip | None, branch: str) -> bool:
    tree = tip.tree if tip else ""
    here = (cache.state(connection, cache.TREE), cache.state(connection, cache.TIP))
    return here == (tree, branch if tip else "") and not _is_healed(connection, group)


def _is_healed(connection: Connection, group: Group) -> bool:
    """Whether a blob that was unreadable can be read now."""
    return any(_read(group, blob) is not None for _, blob in cache.unread(connection))


def _read(group: Group, blob: str) -> bytes | None:
    """A batch; None where it is damaged."""
    with suppress(Damaged):
        return group.repository.objects.read_as("blob", blob)
    return None


def _bring(connection: Connection, group: Group, tip: TranscriptTip | None, branch: str) -> None:
    known = cache.state(connection, cache.TREE)
    if tip is None or _is_healed(connection, group):  # its messages belong between others
        known = _cleared(connection)
    if tip is not None and known != tip.tree:
        _bring_messages(connection, group, known, tip)
    _bring_deeds(connection, group, tip, branch)
    cache.set_state(connection, cache.TREE, tip.tree if tip else "")
    cache.set_state(connection, cache.TIP, branch if tip else "")


def _cleared(connection: Connection) -> str:
    cache.clear(connection)
    return ""


def _bring_messages(connection: Connection, group: Group, known: str, tip: TranscriptTip) -> None:
    objects = group.repository.objects
    try:
        with objects.probing():
            changes = Trees(objects).changes(known, tip.tree)
    except Damaged:  # what was known may be gone for good; what is there now is healed, or told
        _cleared(connection)
        changes = Trees(objects).changes("", tip.tree)
    if any(is_batch(path) and old for path, old, _ in changes):
        raise CacheBroken  # batches never change: some were dropped, and so are their words
    new = sorted((path.rpartition("/")[2], path, blob) for path, _, blob in changes if blob)
    files = [(path, blob) for _, path, blob in new]
    for _, _, data in _readable(connection, group, [row for row in files if row[0] == FORGOTTEN]):
        cache.forget(connection, decode_keys(data))
    batches = _readable(connection, group, [row for row in files if is_batch(row[0])])
    from gitmem.cache.fill import put_batches  # only where something changed

    put_batches(connection, ((path, blob, list(decode(data))) for path, blob, data in batches))


def _readable(
    connection: Connection, group: Group, files: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str, bytes]]:
    """FILES with what is in them; one that is damaged may be healed, and hides no other."""
    for path, blob in files:
        data = _read(group, blob)
        if data is None:
            cache.put_unread(connection, path, blob)
        else:
            yield path, blob, data


def _bring_deeds(
    connection: Connection, group: Group, tip: TranscriptTip | None, branch: str
) -> None:
    """Record the checkpoints and undos in the commits since the last time."""
    known = cache.state(connection, cache.TIP)
    if tip is None or known == branch:
        return
    found, met = [], False
    for commit in group.repository.history(branch):
        met = commit.oid == known
        if met or commit.oid == tip.began:
            break
        deed = _deed(commit)
        found += [deed] if deed else []
    cache.put_range_commits(connection, reversed(found), anew=not met)


def _deed(commit: Commit) -> RangeCommit | None:
    note = parse(commit.message)
    undoes, partly = note.all(UNDOES), note.all(PARTLY)
    closes = read_range(note.get(RANGE), note.get(CHAT)) if note.op == CHECKPOINT else None
    if not (undoes or partly or closes):
        return None
    return RangeCommit(commit.oid, undoes, partly, closes, note.all(COVERS))


def last_closed(group: Group) -> int:
    """The last number that a checkpoint names, where the line itself cannot tell any more.

    Somebody may have removed its ref, log and all: then no number shall be given twice.
    """
    deeds = map(_deed, group.repository.history(group.repository.tip()))
    return max((each.closes.last for each in deeds if each and each.closes), default=0)


def checkpoint_state(connection: Connection) -> CheckpointState:
    """Which ranges are closed, by the commits of the branch."""
    gone: set[str] = set()
    partly: set[str] = set()
    closed: list[Range] = []
    reopened: list[RangeCommit] = []
    last: RangeCommit | None = None
    for deed in cache.range_commits(connection):
        if deed.oid not in gone:
            gone.update(deed.undoes)  # what is taken back itself takes nothing back
            partly.update(deed.partly)
        if deed.closes is None:
            continue
        if deed.oid in gone or gone.intersection(deed.covers) or partly.intersection(deed.covers):
            reopened.append(deed)
        else:
            last = last or deed
            closed.append(deed.closes)
    return CheckpointState(Closed(closed), last, tuple(reopened))


def pending_numbers(
    connection: Connection, closed: Closed, chat: str = ""
) -> list[tuple[int, str]]:
    """The numbers of pending messages, each with its chat, in order."""
    return sorted(
        (number, name)
        for name, first, last in cache.spans(connection, chat)
        for gap in closed.gaps(name, first, last)
        for number in cache.numbers_of(connection, name, *gap)
    )


def is_transcript_object(kind: str, data: bytes) -> bool:
    """Whether an object is a batch of messages or a commit of one."""
    if kind == "commit":
        return parse(data.partition(b"\n\n")[2].decode("utf-8", "replace")).op == OP
    lines = data.splitlines() if kind == "blob" else []
    return bool(lines) and len(list(decode(data))) == len(lines)


def is_unreadable(connection: Connection) -> bool:
    """Whether some messages cannot be read."""
    return bool(cache.unread(connection))


def has_open_unread(connection: Connection, closed: Closed, last: int) -> bool:
    """Whether an unreadable batch may hold pending messages up to LAST."""
    for path, _ in cache.unread(connection):
        begin = first_in(path) if is_batch(path) else 0
        end = (cache.next_number(connection, begin) or last + 1) - 1
        if begin and list(closed.gaps("", begin, max(begin, end))):
            return True
    return False


def up_to_unread(connection: Connection, closed: Closed, numbers: list[int]) -> list[int]:
    """NUMBERS up to the first unreadable pending batch, which may be repaired and stays open."""
    for path, _ in cache.unread(connection) if numbers else ():
        begin = first_in(path)
        behind = cache.next_number(connection, begin)
        if numbers[0] < begin < behind and list(closed.gaps("", begin, behind - 1)):
            return [number for number in numbers if number < begin]
    return numbers


def messages_of(group: Group, connection: Connection, numbers: Sequence[int]) -> Iterator[Message]:
    """The messages with NUMBERS, in order, without those of a damaged batch."""
    wanted = set(numbers)
    for _, blob in cache.batches_of(connection, numbers):
        data = _read(group, blob) or b""
        yield from (each for each in decode(data) if each.number in wanted)
