"""kill -9 at every step of a decision on a held version: it is in one place, whole, and named."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from gitmem.errors import NotFound
from gitmem.memory.admin.check import check_group
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.recover.held import held_accept, held_drop, held_list, held_restore, held_trash
from gitmem.memory.write.capture import capture
from gitmem.memory.write.write import Edit, write
from tests.support.disks import other_disk
from tests.support.faults import dying_at
from tests.support.git import git
from tests.support.processes import Crowd, Voice, alone, calls_in, need_strace, traced
from tests.support.samples import body

SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)
TEXT = f"the key {SECRET}\n".encode()
CALLS = (
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "fsync",
    "mkdir",
    "rmdir",
    "write",
)


class Case(NamedTuple):
    """A decision on `a.md`, and whether git has an older version of it."""

    act: Callable[[Group], object]
    known: bool
    dropped: bool = False
    """Whether it lies in the trash before."""


CASES = {
    "drop a new file": Case(lambda group: held_drop(group, "a.md"), False),
    "drop an edit": Case(lambda group: held_drop(group, "a.md"), True),
    "redact": Case(lambda group: held_accept(group, "a.md", mask=True), True),
    "restore": Case(lambda group: held_restore(group, "a.md"), False, True),
    "restore beside another": Case(lambda group: held_restore(group, "a.md"), True, True),
}


def prepared(root: Path, case: Case, worktree: Path | None = None) -> None:
    """A store with a held version of `a.md`."""
    init(Store(root), "main", worktree=worktree)
    group = Group(Store(root), "main")
    write(group, [Edit("b.md", "b\n"), *([Edit("a.md", "old\n")] if case.known else [])])
    (group.worktree / "a.md").write_bytes(TEXT)
    if case.dropped:
        held_drop(group, "a.md")
    group.close()


def die_at(voice: Voice, root: str, name: str, step: int) -> None:
    """Decide, and die at the STEP-th named point."""
    dying_at(voice, step)
    CASES[name].act(Group(Store(Path(root)), "main", who=Who("ada")))
    voice.say("decided")


def on_the_word(voice: Voice, root: str, name: str) -> None:
    """Decide when told to, for who watches system calls."""
    group = Group(Store(Path(root)), "main", who=Who("ada"))
    with suppress(NotFound):
        held_accept(group, "none.md")  # imports everything
    voice.say("ready")
    voice.hear()
    CASES[name].act(group)
    voice.say("decided")


def judge(root: Path, case: Case) -> None:
    """The version is somewhere, whole, where a person finds it; git has what it had or a mask."""
    group = Group(Store(root), "main")
    capture(group)
    places = [Path(each.location) for each in (*held_list(group), *held_trash(group))]
    assert [path.read_bytes() for path in places].count(TEXT) >= 1
    assert {path.read_bytes() for path in places} == {TEXT}
    if case.known:  # its absence was not taken for a deletion
        committed = git(group.gitdir, "show", "main:a.md")
        assert committed in ("old\n", "the key [redacted: aws-key-id]\n")
    assert SECRET not in git(group.gitdir, "cat-file", "--batch-all-objects", "--batch")
    if held_list(group) and not case.dropped:
        case.act(group)  # whoever died can be repeated
        assert any(Path(each.location).read_bytes() == TEXT for each in held_trash(group))
    worst = {each.severity for each in check_group(group.store, "main").findings}
    assert "error" not in worst
    group.close()


@pytest.mark.parametrize("name", list(CASES))
def test_a_decision_that_dies_at_a_named_step_loses_nothing(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    for step in count(1):
        root = tmp_path / f"{step}"
        prepared(root, case)
        said = alone(die_at, str(root), name, step)
        judge(root, case)
        if said[0] == ["decided"]:
            break
    assert step > 1


@pytest.mark.parametrize("name", ["drop a new file", "drop an edit", "redact"])
def test_across_file_systems_too(tmp_path: Path, name: str) -> None:
    with other_disk(tmp_path) as far:
        for step in count(1):
            root = tmp_path / f"{step}"
            prepared(root, CASES[name], far / f"{step}")
            said = alone(die_at, str(root), name, step)
            judge(root, CASES[name])
            if said[0] == ["decided"]:
                break


def test_the_version_is_on_the_disk_before_the_answer(tmp_path: Path) -> None:
    """What moved is synced with both folders, and what is known of it before it moves."""
    need_strace()
    prepared(tmp_path / "store", CASES["drop a new file"])
    log = tmp_path / "calls.log"
    with Crowd() as crowd:
        child = crowd.start(on_the_word, str(tmp_path / "store"), "drop a new file")
        assert child.hear() == ["ready"]
        with traced(child, log, ("rename", "renameat", "renameat2", "fsync")):
            child.say("go")
            assert ["decided"] in child.finish()
    calls = [call.text for call in calls_in(log)]

    def after(mark: str, start: int) -> int:
        found = (at for at in range(start, len(calls)) if re.search(mark, calls[at]))
        return next(found, len(calls))

    noted = after(r"^fsync.*held/[^/]+/meta\.json\.new>", 0)
    moved = after(r'^rename.*"a\.md".*held/[^/]+/content"', noted)
    synced = [after(mark, moved) for mark in (r"^fsync.*/content>", r"^fsync.*groups/main>")]
    trashed = after(r'^rename.*gitmem/trash/[^/]+"', max(synced))
    last = [after(mark, trashed) for mark in (r"^fsync.*gitmem/trash>", r"^fsync.*gitmem/held>")]
    assert noted < moved < max(synced) < trashed < max(last) < len(calls)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CASES))
def test_a_decision_that_dies_at_any_system_call_loses_nothing(tmp_path: Path, name: str) -> None:
    need_strace()
    deaths = 0
    for call in CALLS:  # strace counts each kind of call by itself
        for number in count(1):
            root = tmp_path / f"{call}-{number}"
            prepared(root, CASES[name])
            lived = killed_at(root, name, call, number)
            judge(root, CASES[name])
            if lived:
                break
            deaths += 1
    assert deaths > 3


def killed_at(root: Path, name: str, call: str, number: int) -> bool:
    """Decide, and die at the NUMBER-th CALL; True when there are fewer."""
    with Crowd() as crowd:
        child = crowd.start(on_the_word, str(root), name)
        assert child.hear() == ["ready"]
        with traced(child, root.with_suffix(".log"), [call], f"signal=KILL:when={number}"):
            child.say("go")
            return ["decided"] in child.finish()
