"""Dates of entries against a model that remembers every state there ever was."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.memory.admin.init import init
from gitmem.memory.entries.freshness import freshness
from gitmem.memory.entries.move_entry import move_entry
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.recover.restore import restore
from gitmem.memory.recover.undo import undo
from tests.support.clocks import Clock
from tests.support.histories import put

PATHS = ("reference/decisions.md", "reference/ideas.md", "reference/projects.md")
ASIDE = "archive/reference/old.md"
TITLES = ("One", "Two", "Three", "Four")


class Block(NamedTuple):
    """An entry, by what it says."""

    title: str
    status: str
    notes: tuple[str, ...] = ()

    def text(self, newline: str = "\n", blank: str = "") -> str:
        lines = [f"### {self.title}", f"- **Status:**{blank} {self.status}", *self.notes]
        return newline.join((*lines, "", ""))


State = dict[str, tuple[Block, ...]]


class Model:
    """Every state, with the commit that made it and the dates that its entries had."""

    def __init__(self) -> None:
        self.commits: list[str] = []
        self.states: list[State] = []
        self.dates: list[dict[Block, int]] = []

    def record(self, commit: str, state: State, day: int, *, mechanical: bool) -> None:
        """A text that stood before keeps its date; a mechanical change gives an old one back."""
        standing = self.dates[-1] if self.dates else {}
        known: dict[Block, int] = {}
        for each in self.dates:
            known.update(each)
        dates = {}
        for block in {block for blocks in state.values() for block in blocks}:
            if block in standing:
                dates[block] = standing[block]
            elif mechanical and block in known:
                dates[block] = known[block]
            else:
                dates[block] = day
        self.commits.append(commit)
        self.states.append(state)
        self.dates.append(dates)


class Play:
    """One random life of a group."""

    def __init__(self, group: Group, clock: Clock, random: Random) -> None:
        self.group, self.clock, self.random = group, clock, random
        self.model, self.day = Model(), 0
        self._put_all(dict.fromkeys(PATHS, ()))

    def _put_all(self, state: State) -> None:
        for path, blocks in state.items():
            commit = self._written(path, blocks)
        self.model.record(commit, state, self.day, mechanical=False)

    def _written(self, path: str, blocks: tuple[Block, ...], **form: str) -> str:
        text = "# Entries\n\n" + "".join(each.text(**form) for each in blocks)
        return put(self.group, path, text).commit

    @property
    def now(self) -> State:
        return dict(self.model.states[-1])

    def _write(self, path: str, blocks: tuple[Block, ...], **form: str) -> None:
        commit = self._written(path, blocks, **form)
        self.model.record(commit, self.now | {path: blocks}, self.day, mechanical=False)

    def step(self) -> None:
        """Let some days go by, and something happen."""
        days = self.random.randint(0, 20)
        self.day += days
        self.clock.advance(days=days)
        verbs = (
            *(self.change, self.change, self.create, self.reorder, self.reshape, self.drop),
            *(self.move, self.aside, self.undo, self.restore),
        )
        self.random.choice(verbs)()

    def _some_file(self) -> tuple[str, tuple[Block, ...]]:
        path = self.random.choice(PATHS)
        return path, self.now[path]

    def create(self) -> None:
        path, blocks = self._some_file()
        free = [each for each in TITLES if each not in {block.title for block in blocks}]
        if free:
            # Told apart by their words, so that a title alone says nothing.
            block = Block(self.random.choice(free), "active", (f"made {self.random.random()}",))
            self._write(path, (*blocks, block))

    def change(self) -> None:
        path, blocks = self._some_file()
        if not blocks:
            return
        at = self.random.randrange(len(blocks))
        kind, block = self.random.random(), blocks[at]
        if kind < 0.5:
            new = block._replace(status=self.random.choice(("active", "paused", "done")))
        elif kind < 0.75 or not block.notes:
            new = block._replace(notes=(*block.notes, f"note {self.random.random()}"))
        else:
            new = block._replace(notes=block.notes[1:])
        self._write(path, (*blocks[:at], new, *blocks[at + 1 :]))

    def reorder(self) -> None:
        path, blocks = self._some_file()
        self._write(path, tuple(self.random.sample(blocks, len(blocks))))

    def reshape(self) -> None:
        path, blocks = self._some_file()
        form = self.random.choice(({"newline": "\r\n"}, {"blank": "  "}, {"newline": " \n"}))
        self._write(path, blocks, **form)

    def drop(self) -> None:
        path, blocks = self._some_file()
        if blocks:
            self._write(path, blocks[1:])

    def move(self) -> None:
        self._move(self.random.choice(PATHS))

    def aside(self) -> None:
        self._move(ASIDE)

    def _move(self, target: str) -> None:
        path, blocks = self._some_file()
        there = self.now.get(target, ())
        if path == target or not blocks:
            return
        block = self.random.choice(blocks)
        if block.title in {each.title for each in there}:
            return
        moved = move_entry(self.group, f"{path}#{block.title.lower()}", target)
        left = tuple(each for each in blocks if each != block)
        state = self.now | {path: left, target: (*there, block)}
        self.model.record(moved.commit, state, self.day, mechanical=True)

    def undo(self) -> None:
        if len(self.model.commits) > 2 and self.model.commits[-1] != self.model.commits[-2]:
            undone = undo(self.group, [self.model.commits[-1]])
            if undone.commit != self.model.commits[-1]:
                before = self.model.states[-2]
                self.model.record(undone.commit, before, self.day, mechanical=True)

    def restore(self) -> None:
        path = self.random.choice(PATHS)
        at = self.random.randrange(len(self.model.commits))
        commit = restore(self.group, path, at=self.model.commits[at]).commit
        state = self.now | {path: self.model.states[at][path]}
        self.model.record(commit, state, self.day, mechanical=True)

    def check(self) -> None:
        """What gitmem says is what the model remembers."""
        found = {
            (each.path, each.title): each.age_days
            for each in freshness(self.group).entries
            if each.path in PATHS
        }
        state, dates = self.model.states[-1], self.model.dates[-1]
        wanted = {
            (path, block.title): self.day - dates[block] for path in PATHS for block in state[path]
        }
        assert found == wanted


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_no_move_restore_or_undo_ever_touches_an_entry(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    clock, store = Clock(), Store(tmp_path_factory.mktemp("life") / "store")
    init(store, "main", layout="standard", who=Who("ada"), now=clock)
    group = Group(store, "main", who=Who("ada"), now=clock)
    try:
        play = Play(group, clock, Random(seed))
        for number in range(25):
            play.step()
            if number % 3 == 0:  # so that what is kept is used, and has to be caught up
                play.check()
        play.check()
    finally:
        group.close()
