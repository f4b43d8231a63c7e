"""Whatever several sessions do at once: what a turn signs was made by that session alone.

Histories are made up. The files, their times and the transcripts are real, and the test knows who
really wrote each line.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from gitmem.errors import NotFound
from gitmem.integrations.hooks import authors, tool_calls
from gitmem.integrations.hooks.answer import respond
from gitmem.integrations.hooks.protocol import Event
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.log import LogEntry, log
from gitmem.memory.write.open_edits import pending_edits
from tests.support.moulds import Moulds

SLACK = 0.05
"""Seconds in place of two, so that a history with pauses takes no minute; a disk ticks faster."""
SESSIONS = ("one", "two", "three")
FILES = ("a.md", "b.md")
COMMANDS = {
    "sure": "echo x >> {}",
    "conditional": "grep -q none {0} || echo x >> {0}",
    "listed": "make && echo x >> {}",
    "branch": "if true; then echo x >> {}; fi",
    "hidden": "python notes.py",
    "background": "(sleep 9; echo x >> {}) &",
    "reading": "cat {}",
}


class World:
    """Sessions that write to the files of one group."""

    def __init__(self, root: Path, store: Store) -> None:
        self.root, self.store = root, store
        self.facts = store.default_worktree("main") / "facts"
        self.facts.mkdir(exist_ok=True)
        self.open: dict[str, tuple[str, str, str]] = {}
        self.aside: dict[str, list[str]] = defaultdict(list)
        self.writers: dict[str, set[str]] = defaultdict(set)
        self.commits: dict[str, str] = {}

    def begin(self, session: str, kind: str, name: str) -> None:
        """Begin a call, unless one runs."""
        if session not in self.open:
            use = {"type": "tool_use", "id": f"t-{time.time_ns()}", "name": "Bash"}
            command = COMMANDS[kind].format(self.facts / name)
            self._tell(session, "assistant", use | {"input": {"command": command}})
            self.open[session] = (use["id"], kind, name)

    def write(self, session: str, name: str) -> None:
        """Let the call that runs write to the file that it means, or a program to any."""
        _, kind, meant = self.open.get(session, ("", "", ""))
        if kind == "hidden":
            self._append(session, name)
        elif kind and kind != "reading":
            self._append(session, meant)
        elif self.aside[session]:
            self._append(session, self.aside[session][0])

    def end(self, session: str) -> None:
        """End the call that runs."""
        if session in self.open:
            use, kind, name = self.open.pop(session)
            self._tell(session, "user", {"type": "tool_result", "tool_use_id": use, "content": ""})
            self.aside[session] += [name] if kind == "background" else []

    def stop(self, session: str) -> None:
        """End a turn, and look at each commit that it has made."""
        self._hook("stop", session)
        for name in FILES:
            found = self._newest(name)
            if found and self.commits.get(name) != found.commit:
                self.commits[name] = found.commit
                made_by = self.writers.pop(name, set())
                event(f"signed: {bool(found.session)}")
                assert found.session == "" or made_by == {found.session}

    def save(self, session: str) -> None:
        """Write with a tool that names its file: one that nobody else writes to."""
        name = f"{session}.md"
        (self.facts / name).write_text(f"{time.time_ns()}\n")
        tool = {"tool_name": "Write", "tool_input": {"file_path": str(self.facts / name)}}
        self._hook("post-tool-use", session, **tool)

    def pause(self, session: str) -> None:
        """Let so much time pass that what follows is later by any clock."""
        time.sleep(2 * SLACK)

    def left(self) -> int:
        """How many edits no commit holds."""
        with self._group() as group:
            return len(pending_edits(group).edits)

    def start(self, session: str) -> None:
        self._hook("session-start", session, source="startup")

    def _append(self, session: str, name: str) -> None:
        self.writers[name].add(session)
        with (self.facts / name).open("a") as file:
            file.write(f"{session} {time.time_ns()}\n")

    def _tell(self, session: str, kind: str, block: dict[str, Any]) -> None:
        stamp = datetime.now(UTC).isoformat()
        row = {"type": kind, "timestamp": stamp, "cwd": str(self.root)}
        with (self.root / f"{session}.jsonl").open("a") as file:
            file.write(json.dumps(row | {"message": {"role": kind, "content": [block]}}) + "\n")

    def _hook(self, name: str, session: str, **said: Any) -> None:
        transcript = self.root / f"{session}.jsonl"
        row = {"session_id": session, "transcript_path": str(transcript), "cwd": str(self.root)}
        asked = Event(name, "claude-code", row | said, str(self.store.root), "", None, "", {})
        respond(asked)

    def _newest(self, name: str) -> LogEntry | None:
        with suppress(NotFound), self._group() as group:
            return next(iter(log(group, f"facts/{name}")), None)
        return None

    @contextmanager
    def _group(self) -> Iterator[Group]:
        group = Group(self.store, "main", who=Who("ada"))
        try:
            yield group
        finally:
            group.close()


_WHO = st.sampled_from(SESSIONS)
_NAME = st.sampled_from(FILES)
_CALL = st.tuples(st.sampled_from(sorted(COMMANDS)), _NAME)
_STEPS = st.one_of(
    st.tuples(st.just("begin"), _WHO, _CALL),
    st.tuples(st.just("write"), _WHO, st.tuples(_NAME)),
    st.tuples(st.sampled_from(("end", "stop", "save", "pause")), _WHO, st.just(())),
    # A whole call: most are short.
    st.tuples(st.just("run"), _WHO, _CALL),
)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(_STEPS, min_size=4, max_size=14))
def test_what_a_turn_signs_was_made_by_that_session_alone(
    moulds: Moulds, steps: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    slack = (patch.object(each, "SLACK", SLACK) for each in (authors, tool_calls))
    with tempfile.TemporaryDirectory() as folder, next(slack), next(slack):
        store = Store(Path(folder) / "store")
        moulds.cast("of hooks", store.root, lambda r: init(Store(r), "main", layout="standard"))
        world = World(Path(folder), store)
        for each in SESSIONS:
            world.start(each)
        for action, session, given_ in steps:
            if action == "run":
                world.end(session)
                world.begin(session, *given_)
                world.write(session, given_[1])
                world.end(session)
            else:
                getattr(world, action)(session, *given_)
        for each in SESSIONS:
            world.end(each)
            world.stop(each)
        assert world.left() == 0
