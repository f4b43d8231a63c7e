"""What was said in a group: the messages on their own ref, and which of them are summarised.

A range is closed by a checkpoint, which is a commit of the branch. Whoever takes that commit back,
or one of the memories that it covers, opens the range again: so nothing has to be kept in step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gitmem.core.access import MAIN
from gitmem.core.intervals import Range, gaps, is_closed, read_range
from gitmem.core.messages import parse
from gitmem.core.transcripts import (
    BEGAN,
    FORGOTTEN,
    NUMBERS,
    REF,
    Message,
    decode,
    decode_keys,
    is_batch,
    span,
)
from gitmem.errors import Damaged
from gitmem.git.repository import Commit
from gitmem.git.sideline import line_tip
from gitmem.git.steps import Trees
from gitmem.index import said
from gitmem.index.database import Connection, Question, Spoilt, ask
from gitmem.index.said import Deed
from gitmem.operations.group import Group

if TYPE_CHECKING:
    from pathlib import Path

Answer = TypeVar("Answer")

NAME = "said.db"
CHECKPOINT = "checkpoint"
RANGE, CHAT, COVERS = "Gitmem-Range", "Gitmem-Chat", "Gitmem-Covers"
UNDOES = "Gitmem-Undoes"


class Said(NamedTuple):
    """The line of what was said, as its newest commit has it."""

    commit: str
    tree: str
    last: int
    """The last number that was ever given."""
    began: str
    """The commit of the branch at which the first message came in: no deed is older."""


class Standing(NamedTuple):
    """Which messages are summarised."""

    closed: tuple[Range, ...]
    last: Deed | None
    """The newest checkpoint that counts."""
    reopened: tuple[Deed, ...]
    """Checkpoints that were taken back, or whose memories were."""


class Checkpoint(NamedTuple):
    """A commit that closed a range."""

    commit: str
    begin: int
    end: int
    chat: str
    summary: str
    time: datetime
    agent: str


def read_checkpoint(commit: Commit) -> Checkpoint:
    """What a checkpoint says."""
    note = parse(commit.message)
    begin, end, chat, _ = read_range(note.get(RANGE), note.get(CHAT)) or Range(0, 0)
    agent = note.agent or commit.author
    return Checkpoint(commit.oid, begin, end, chat, note.body, commit.time, agent)


def tip_of(group: Group) -> Said | None:
    """The newest state; None where nothing was said yet."""
    oid = line_tip(group.repository, REF)
    if oid is None:
        return None
    commit = group.repository.commit(oid)
    note = parse(commit.message)
    return Said(oid, commit.tree, span(note.get(NUMBERS))[1], note.get(BEGAN))


def ask_said(group: Group, tip: Said | None, answer: Callable[[Connection], Answer]) -> Answer:
    """What ANSWER finds at TIP and at the newest commit of the branch."""
    branch = group.repository.tip().commit
    question = Question(
        lambda connection: _is_there(connection, tip, branch),
        lambda connection: _bring(connection, group, tip, branch),
    )
    return ask(said_path(group), said.FORM, question, answer)


def said_path(group: Group) -> Path | None:
    """Where the tables lie; nowhere for who only reads the group."""
    owns = group.acting in (None, MAIN, group.name)
    return group.gitdir / "gitmem" / NAME if owns else None


def _is_there(connection: Connection, tip: Said | None, branch: str) -> bool:
    tree = tip.tree if tip else ""
    here = (said.state(connection, said.TREE), said.state(connection, said.TIP))
    return here == (tree, branch if tip else "") and not said.is_unreadable(connection)


def _bring(connection: Connection, group: Group, tip: Said | None, branch: str) -> None:
    known = said.state(connection, said.TREE)
    if said.is_unreadable(connection) or tip is None:
        known = _cleared(connection)
    if tip is not None and known != tip.tree:
        _bring_messages(connection, group, known, tip)
    _bring_deeds(connection, group, tip, branch)
    said.set_state(connection, said.TREE, tip.tree if tip else "")
    said.set_state(connection, said.TIP, branch if tip else "")


def _cleared(connection: Connection) -> str:
    said.clear(connection)
    said.set_state(connection, said.UNREADABLE, "")
    return ""


def _bring_messages(connection: Connection, group: Group, known: str, tip: Said) -> None:
    objects = group.repository.objects
    try:
        changes = Trees(objects).changes(known, tip.tree)
    except Damaged:
        if not known:
            raise
        _cleared(connection)
        changes = Trees(objects).changes("", tip.tree)
    if any(is_batch(path) and old for path, old, _ in changes):
        raise Spoilt  # batches never change: some were dropped, and no word of theirs shall stay
    for path, _, blob in changes:
        if path == FORGOTTEN:
            said.forget(connection, decode_keys(objects.read_as("blob", blob)))
    fresh = sorted((path.rpartition("/")[2], path, new) for path, _, new in changes if new)
    said.put(connection, _batches(connection, group, [row for row in fresh if is_batch(row[0])]))


def _batches(
    connection: Connection, group: Group, rows: Iterable[tuple[str, str, str]]
) -> Iterator[tuple[str, str, Sequence[Message]]]:
    for _, path, blob in rows:
        try:
            data = group.repository.objects.read_as("blob", blob)
        except Damaged:  # it may be healed, and hides no other until then
            said.set_state(connection, said.UNREADABLE, "1")
            continue
        yield path, blob, list(decode(data))


def _bring_deeds(connection: Connection, group: Group, tip: Said | None, branch: str) -> None:
    """Look for checkpoints and for what takes back, in the commits that came since."""
    known = said.state(connection, said.TIP)
    if tip is None or known == branch:
        return
    found, met = [], False
    for commit in group.repository.history(branch):
        met = commit.oid == known
        if met or commit.oid == tip.began:
            break
        deed = _deed(commit)
        found += [deed] if deed else []
    said.put_deeds(connection, reversed(found), anew=not met)


def _deed(commit: Commit) -> Deed | None:
    note = parse(commit.message)
    undoes = note.all(UNDOES)
    closes = read_range(note.get(RANGE), note.get(CHAT)) if note.op == CHECKPOINT else None
    if not undoes and not closes:
        return None
    return Deed(commit.oid, undoes, closes, note.all(COVERS))


def standing(connection: Connection) -> Standing:
    """Which ranges are closed, by the commits of the branch."""
    gone: set[str] = set()
    closed: list[Range] = []
    reopened: list[Deed] = []
    last: Deed | None = None
    for deed in said.deeds(connection):
        if deed.oid not in gone:
            gone.update(deed.undoes)  # what is taken back itself takes nothing back
        if deed.closes is None:
            continue
        if deed.oid in gone or gone.intersection(deed.covers):
            reopened.append(deed)
        else:
            last = last or deed
            closed.append(deed.closes)
    return Standing(tuple(closed), last, tuple(reopened))


def pending_numbers(
    connection: Connection, closed: Sequence[Range], chat: str = ""
) -> list[tuple[int, str]]:
    """The messages that are not summarised, each with its chat, in order."""
    some = [each for each in closed if each.chat]
    return [
        (number, name)
        for gap in gaps(closed, said.last_number(connection))
        for number, name in said.numbers_in(connection, gap._replace(chat=chat))
        if not is_closed(some, number, name)
    ]


def messages_of(group: Group, connection: Connection, numbers: Sequence[int]) -> Iterator[Message]:
    """The messages with these numbers, in order; those of a damaged batch are left out."""
    wanted = set(numbers)
    for _, blob in said.batches_of(connection, numbers):
        with suppress(Damaged):
            data = group.repository.objects.read_as("blob", blob)
            yield from (each for each in decode(data) if each.number in wanted)
