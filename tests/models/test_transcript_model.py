"""What was said, and what of it is summarised, against a list: whatever is done, in any order."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.recover.undo import undo
from gitmem.memory.search.search import search
from gitmem.memory.transcripts.add import NewMessage, transcript_add
from gitmem.memory.transcripts.checkpoint import transcript_checkpoint
from gitmem.memory.transcripts.pending import transcript_pending
from gitmem.memory.transcripts.prune import transcript_prune
from gitmem.memory.transcripts.status import transcript_list, transcript_show
from gitmem.memory.transcripts.transcripts import (
    NAME,
    checkpoint_state,
    pending_numbers,
    query_messages,
    tip_of,
)
from gitmem.memory.write.write import Edit, write
from tests.support.clocks import Clock
from tests.support.git import git

CHATS = st.sampled_from(["a", "b", "c d"])
PICKS = st.integers(0, 20)
"""Which one of several: by its place, since commits have other ids every time."""
IDS = st.sampled_from(["", "1", "2", "3"])


class Kept(NamedTuple):
    """A message of the model."""

    number: int
    chat: str
    id: str


class Closed(NamedTuple):
    """A checkpoint of the model."""

    commit: str
    numbers: frozenset[int]
    covers: tuple[str, ...]


class TranscriptMachine(RuleBasedStateMachine):
    """Every rule does the same to a group and to lists."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="gitmem-model-"))
        self.clock = Clock()
        self.kept: list[Kept] = []
        self.known: set[tuple[str, str]] = set()
        self.last = 0
        self.closed: list[Closed] = []
        self.undone: dict[str, list[str]] = {}
        """What each undo took back, in order."""

    @initialize()
    def begin(self) -> None:
        store = Store(self.folder / "store")
        init(store, "main", now=self.clock)
        self.group = Group(store, "main", who=Who("ada", "s"), now=self.clock)

    def teardown(self) -> None:
        self.group.close()
        shutil.rmtree(self.folder)

    @rule(rows=st.lists(st.tuples(CHATS, IDS), min_size=1, max_size=4))
    def add(self, rows: list[tuple[str, str]]) -> None:
        done = transcript_add(
            self.group, [NewMessage(c, "x", f"heron {c}", None, i) for c, i in rows]
        )
        new = 0
        for chat, id in rows:
            if id and (chat, id) in self.known:
                continue
            self.known.add((chat, id))
            self.last += 1
            new += 1
            self.kept.append(Kept(self.last, chat, id))
        assert (done.added, done.known) == (new, len(rows) - new)

    @rule(
        chat=st.one_of(st.just(""), CHATS), chars=st.sampled_from([0, 1, 20]), memory=st.booleans()
    )
    def summarise(self, chat: str, chars: int, memory: bool) -> None:
        found = transcript_pending(self.group, chat=chat, chars=chars)
        wanted = [each for each in self.pending() if chat in ("", each.chat)]
        assert found.pending == len(wanted)
        if not wanted:
            return
        given = wanted if not chars else wanted[: len(found.messages)]
        assert [each.number for each in found.messages] == [each.number for each in given]
        covers = ()
        if memory:
            edit = Edit(f"m{len(self.closed)}.md", "what was said\n")
            covers = (write(self.group, [edit]).commit,)
        done = transcript_checkpoint(self.group, "a summary")
        assert done.covers == covers
        numbers = frozenset(each.number for each in given)
        self.closed.append(Closed(done.commit, numbers, covers))

    @precondition(lambda self: self.closed)
    @rule(pick=PICKS, part=PICKS)
    def take_back(self, pick: int, part: int) -> None:
        checkpoint = self.closed[pick % len(self.closed)]
        targets = [checkpoint.commit, *checkpoint.covers]
        self.undo(targets[part % len(targets)])

    @precondition(lambda self: self.undone)
    @rule(pick=PICKS)
    def take_back_what_was_taken_back(self, pick: int) -> None:
        self.undo([*self.undone][pick % len(self.undone)])

    def undo(self, target: str) -> None:
        if target not in self.gone():
            done = undo(self.group, [target])
            if done.undone:  # an undo whose effect is gone another way has nothing to take back
                assert done.undone == (target,)
                self.undone[done.commit] = [target]

    @rule()
    def prune(self) -> None:
        self.clock.advance(days=2)
        open_ = {each.number for each in self.pending()}
        done = transcript_prune(self.group, "yesterday")
        there = {
            each.number
            for chat in transcript_list(self.group).chats
            for each in transcript_show(self.group, chat.chat).messages
        }
        gone = {each.number for each in self.kept} - there
        assert not gone & open_
        assert done.messages == len(gone)
        self.kept = [each for each in self.kept if each.number in there]

    @rule()
    def forget_the_cache(self) -> None:
        (self.group.gitdir / "gitmem" / NAME).unlink(missing_ok=True)

    def gone(self) -> set[str]:
        """The commits that are taken back, and not again."""
        found: set[str] = set()
        for commit, targets in reversed(self.undone.items()):
            if commit not in found:
                found.update(targets)
        return found

    def pending(self) -> list[Kept]:
        gone = self.gone()
        counting = [
            each for each in self.closed if each.commit not in gone and not gone & {*each.covers}
        ]
        closed = {number for each in counting for number in each.numbers}
        return [each for each in self.kept if each.number not in closed]

    @invariant()
    def the_same_is_pending(self) -> None:
        tip = tip_of(self.group)
        found = query_messages(
            self.group, tip, lambda table: pending_numbers(table, checkpoint_state(table).closed)
        )
        assert found == [(each.number, each.chat) for each in self.pending()]

    @invariant()
    def everything_that_is_kept_is_there_and_found(self) -> None:
        chats = {each.chat: each.messages for each in transcript_list(self.group).chats}
        counted: dict[str, int] = {}
        for each in self.kept:
            counted[each.chat] = counted.get(each.chat, 0) + 1
        assert chats == counted
        if len(self.kept) < 50:
            hits = search(self.group, "heron", source="transcripts", limit=50).hits
            assert len(hits) == len(self.kept)

    @invariant()
    def git_finds_nothing_wrong(self) -> None:
        if self.last % 5 == 0:
            assert git(self.group.gitdir, "fsck", "--strict", "--no-dangling") == ""


TestTranscripts = TranscriptMachine.TestCase
TestTranscripts.settings = settings(max_examples=12, stateful_step_count=15, deadline=None)


@pytest.mark.slow
class TestTranscriptsForLong(TranscriptMachine.TestCase):
    """The same, for minutes."""

    settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
