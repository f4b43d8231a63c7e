"""Consolidation thinks for long, and others write meanwhile: nothing of theirs is lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.errors import Conflict
from gitmem.memory.curate.consolidate import consolidate
from gitmem.memory.curate.decide import decide
from gitmem.memory.curate.report import report
from gitmem.memory.group import Group, Store
from gitmem.memory.write.write import Edit, write
from tests.faults.test_rotate_faults import POINTS, dying_at
from tests.support.days import said_lines
from tests.support.faults import (
    Scene,
    assert_sound,
    commits_of,
    copied,
    line,
    new_scene,
    tokens_in_history,
)
from tests.support.processes import Crowd, Voice, alone

WRITERS, ROUNDS = 5, 10
HOME, SHELF = "reference/decisions.md", "archive/reference/decisions.md"
CURRENT, OLD_LOG = "sessions/current.md", "sessions/2026-01-01.md"
LAYOUT = """\
gitmem: 1
layout: consolidation
timezone: UTC
layers:
  decisions:
    kind: entries
    path: reference/decisions.md
    ages: true
    status: [active, superseded]
    retired: [superseded]
  sessions:
    kind: log
    path: sessions/current.md
    rotated: sessions/{date}.md
    header: "# Session Log: {date}"
    policy: append-only
"""
BEFORE = {
    "gitmem.yaml": LAYOUT.encode(),
    HOME: b"### Use tabs\n- **Status:** superseded\n\nTabs.\n\n### Use ESM\n- **Status:** active\n",
    OLD_LOG: b"- said long ago\n",
    CURRENT: b"# Session Log: 2026-02-08\n\n- said today\n",
}
THEN = datetime(2026, 2, 8, 12, tzinfo=UTC)


def then() -> datetime:
    return THEN


def later() -> datetime:
    """Fifty days after everything was written."""
    return datetime(2026, 3, 30, 12, tzinfo=UTC)


def aged_scene(root: Path) -> Scene:
    scene = new_scene(root)
    group = Group(Store(scene.root), "main", now=then)
    write(group, [Edit(path, data) for path, data in BEFORE.items()])
    group.close()
    return scene


def write_meanwhile(voice: Voice, root: str, name: int) -> None:
    """One of those who write: new entries, log lines and files, also in the very same files."""
    with Scene(Path(root)).opened(f"writer {name}") as group:
        for turn in range(ROUNDS):
            token = f"w{name}.{turn}"
            edits = (
                Edit(HOME, f"remember token-{token}", entry=f"Entry {token}"),
                Edit(CURRENT, line(token), append=True),
                Edit(f"notes/{token}.md", line(token)),
            )
            done = write(group, [edits[turn % len(edits)]])
            voice.say("ack", f"token-{token}", done.commit)


def others_write(scene: Scene) -> list[tuple[str, str]]:
    """Fifty writes by five processes; the token and the commit of each."""
    with Crowd() as crowd:
        for name in range(WRITERS):
            crowd.start(write_meanwhile, str(scene.root), name)
        acks = [(said[1], said[2]) for _, said in crowd.hear_out() if said[0] == "ack"]
    assert len(acks) == WRITERS * ROUNDS
    return acks


def assert_all_survived(scene: Scene, acks: list[tuple[str, str]]) -> None:
    """Every write is in the history, and what it said stands at HEAD, once."""
    now = b"\n".join(scene.files().values())
    history, said = commits_of(scene.gitdir), tokens_in_history(scene.gitdir)
    for token, commit in acks:
        assert commit in history
        assert token in said
        assert Counter(now.split())[token.encode()] == 1
    assert_sound(scene)


def slow(scene: Scene, deed: Callable[[], object]) -> Group:
    """A group whose report takes so long that others do DEED before it is done."""
    left = [deed]

    def clock() -> datetime:
        while left:
            left.pop()()
        return later()

    return Group(Store(scene.root), "main", now=clock)


def test_fifty_writes_survive_a_consolidation_that_thinks(tmp_path: Path) -> None:
    scene = aged_scene(tmp_path / "store")
    base = scene.head()
    acks: list[tuple[str, str]] = []
    group = slow(scene, lambda: acks.extend(others_write(scene)))

    done = consolidate(group)

    assert (done.base, len(acks)) == (base, 50)
    assert [each.source for each in done.entries] == [f"{HOME}#use-tabs"]
    assert [each.source for each in done.logs] == [OLD_LOG]
    assert b"### Use tabs" in scene.files()[SHELF]
    assert b"### Use tabs" not in scene.files()[HOME]
    assert_all_survived(scene, acks)
    group.close()


def test_fifty_writes_survive_a_plan_that_takes_its_time(tmp_path: Path) -> None:
    scene = aged_scene(tmp_path / "store")
    group = Group(Store(scene.root), "main", now=later)
    base = report(group).commit
    acks = others_write(scene)
    plan = [
        {"base": base},
        {"action": "archive", "address": f"{HOME}#use-tabs"},
        {"action": "confirm", "address": f"{HOME}#use-esm"},
    ]

    done = decide(group, "\n".join(map(json.dumps, plan)).encode())

    assert len(done.decisions) == 2
    assert b"- **Confirmed:** 2026-03-30\n" in scene.files()[HOME]
    assert b"### Use tabs" in scene.files()[SHELF]
    assert_all_survived(scene, acks)
    group.close()


def test_fifty_writes_while_consolidations_run(tmp_path: Path) -> None:
    scene = aged_scene(tmp_path / "store")
    acks = []
    with Crowd() as crowd:
        for name in range(WRITERS):
            crowd.start(write_meanwhile, str(scene.root), name)
        for _ in range(3):
            crowd.start(consolidate_once, str(scene.root))
        for _, said in crowd.hear_out():
            acks += [(said[1], said[2])] if said[0] == "ack" else []
            assert said[0] in ("ack", "consolidated", "done")

    assert len(acks) == 50
    assert b"### Use tabs" in scene.files()[SHELF]
    assert scene.files()[SHELF].count(b"### Use tabs") == 1
    assert_all_survived(scene, acks)


def test_an_entry_that_somebody_rewrote_meanwhile_is_not_archived_unseen(tmp_path: Path) -> None:
    scene = aged_scene(tmp_path / "store")
    rewritten = Edit(HOME, "Tabs again.", entry="Use tabs", set=(("Status", "active"),))
    group = slow(scene, lambda: scene.write(rewritten))

    done = consolidate(group)

    assert done.entries == ()
    assert [each.address for each in done.left_alone] == [f"{HOME}#use-tabs"]
    assert b"Tabs again." in scene.files()[HOME]
    plan = json.dumps({"action": "archive", "address": f"{HOME}#use-tabs"}).encode()
    with pytest.raises(Conflict):
        decide(group, plan, base=done.base)
    assert b"Tabs again." in scene.files()[HOME]
    assert_sound(scene)
    group.close()


def consolidate_once(voice: Voice, root: str, step: int = 0) -> None:
    dying_at(voice, step)
    group = Group(Store(Path(root)), "main", now=later)
    done = consolidate(group)
    voice.say("consolidated", [each.source for each in (*done.logs, *done.entries)])


def lines_of(scene: Scene) -> Counter[bytes]:
    """All lines but those that tell of a consolidation."""
    with scene.opened() as group:
        said = said_lines(group.repository)
    return Counter({x: count for x, count in said.items() if b" consolidate: " not in x})


def test_kill_a_consolidation_at_every_step_then_the_next_one_finishes_it(tmp_path: Path) -> None:
    origin = aged_scene(tmp_path / "origin")
    before = lines_of(origin)
    seen: set[str] = set()
    for step in range(1, 100):
        scene = copied(origin, tmp_path / f"store {step}")
        said = alone(consolidate_once, str(scene.root), step)
        if said[0][0] == "consolidated":
            break
        seen.add(said[0][1])
        # Both kinds and the log land together.
        files = scene.files()
        assert (SHELF in files) == (OLD_LOG not in files) == (b" consolidate: " in files[CURRENT])

        alone(consolidate_once, str(scene.root))

        assert lines_of(scene) == before
        assert scene.files()[f"archive/{OLD_LOG}"] == BEFORE[OLD_LOG]
        assert scene.files()[CURRENT].count(b" consolidate: ") == 2
        assert_sound(scene)
    assert seen == POINTS
