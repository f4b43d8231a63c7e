"""What a write has synced to disk, and in which order."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.memory.group import Group, Store
from gitmem.memory.write.write import Edit, write
from gitmem.store.lost_commits.merge_back import Rejoiner
from gitmem.store.repository import BRANCH, Repository
from gitmem.store.transaction.publish import Publisher
from tests.support.faults import Scene, copied, fixed_clock, line, new_scene, prepared_write
from tests.support.processes import Call, Crowd, Voice, calls_in, need_strace, traced

CALLS = ("fsync", "fdatasync", "rename", "renameat2", "pwrite64", "mkdir")
EDITS = [["notes/c.md", line("synced"), True]]
OBJECTS = 4
"""A blob, the tree of its folder, the root tree and the commit."""
REF_SYNCS = (
    "gitmem/ref-refs-heads-main.new",
    "logs/refs/heads/main",
    "logs/HEAD",
    "refs/heads",
)


def forgetful_write(voice: Voice, root: str, edits: list[list[object]], operation: str) -> None:
    """The mistake that the count must notice: a reflog that is not synced."""
    group = Group(Store(Path(root)), "main", now=fixed_clock)
    write(group, [Edit("warm.md", "warm\n")])
    sync, logs = os.fsync, f"{root}/repos/main.git/logs/"
    os.fsync = lambda fd: (  # type: ignore[assignment]
        None if os.readlink(f"/proc/self/fd/{fd}").startswith(logs) else sync(fd)
    )
    voice.say("ready")
    voice.hear()
    write(group, [Edit(*each) for each in edits], operation=operation)  # type: ignore[arg-type]


class Trace:
    """The calls of one write, with paths relative to the store."""

    def __init__(self, calls: list[Call], scene: Scene) -> None:
        self.lines = [call.text.replace(f"{scene.root}/", "") for call in calls]

    def places(self, pattern: str) -> list[int]:
        """Where in the order of calls PATTERN occurs."""
        return [at for at, text in enumerate(self.lines) if re.search(pattern, text)]

    def place(self, pattern: str) -> int:
        """Where PATTERN occurs, which must be once."""
        found = self.places(pattern)
        assert len(found) == 1, f"{pattern} occurs {len(found)} times in\n" + "\n".join(self.lines)
        return found[0]

    def synced(self, path: str) -> int:
        """Where the file or folder at PATH is synced, which must be once."""
        return self.place(rf"^f(data)?sync\(\d+<{path}>\) += 0")


def trace_of(program: Callable[..., None], folder: Path) -> Trace:
    need_strace()
    scene = new_scene(folder / "store", {"a.md": b"first\n", "notes/c.md": b"c\n"})
    with Crowd() as crowd:
        child = crowd.start(program, str(scene.root), EDITS, "operation")
        child.hear()
        with traced(child, folder / "log", CALLS):
            child.say("go")
            child.finish()
    return Trace(calls_in(folder / "log"), scene)


def check_objects(trace: Trace) -> int:
    """Every object is on disk, under its name, before the branch names it; count the syncs."""
    branch = trace.place(r'^rename\("[^"]*/refs/heads/main.lock"')
    named = trace.places(r'^rename\("repos/main.git/objects/.+ = 0$')
    assert len(named) == OBJECTS
    folders = set()
    for at in named:
        found = re.search(r'"(.+?)", "(.+?)/\w{38}"', trace.lines[at])
        assert found is not None
        assert trace.synced(re.escape(found[1])) < at
        assert at < trace.synced(re.escape(found[2])) < branch
        folders.add(found[2])
    made = bool(trace.places(r'^mkdir\("repos/main.git/objects/.+ = 0$'))
    if made:
        assert trace.synced("repos/main.git/objects") < branch
    return OBJECTS + len(folders) + made


def check_branch(trace: Trace) -> int:
    """Record and reflogs before the branch, its folder after it; count the syncs."""
    branch = trace.place(r'^rename\("[^"]*/refs/heads/main.lock"')
    *before, after = (trace.synced(f"repos/main.git/{name}") for name in REF_SYNCS)
    assert max(before) < branch < after
    noted, cleared = trace.places(r"^pwrite64\(\d+<repos/main.git/gitmem/lock>")
    record = trace.synced("repos/main.git/gitmem/lock")
    assert noted < record < trace.places(r"^rename")[0], "the record comes first of all"
    assert cleared > after
    return len(REF_SYNCS) + 1


def check_worktree(trace: Trace) -> int:
    """The file before it is swapped in, its name before the record is cleared; count the syncs."""
    swapped = trace.place(r"^renameat2\(.+RENAME_EXCHANGE")
    branch = trace.place(r'^rename\("[^"]*/refs/heads/main.lock"')
    assert branch < trace.synced(r"groups/main/notes/\.gitmem-[\w-]+") < swapped
    cleared = trace.places(r"^pwrite64\(\d+<repos/main.git/gitmem/lock>")[-1]
    assert swapped < trace.synced("groups/main/notes") < cleared
    return 2


def check(trace: Trace) -> None:
    expected = check_objects(trace) + check_branch(trace) + check_worktree(trace)
    assert len(trace.places(r"^f(data)?sync\(")) == expected


def test_fsync_calls(tmp_path: Path) -> None:
    check(trace_of(prepared_write, tmp_path))


def test_the_count_notices_a_log_that_is_not_synced(tmp_path: Path) -> None:
    trace = trace_of(forgetful_write, tmp_path)

    assert len(trace.places(r"^rename")) > OBJECTS, "it did write"
    with pytest.raises(AssertionError, match="logs/refs/heads/main"):
        check(trace)


def unchecked_write(voice: Voice, root: str, edits: list[list[object]], operation: str) -> None:
    """A write as the release before made it: the last published tip is not looked at.

    That one asked whether the file of the branch is there, and so does this.
    """

    def begin(self: Publisher) -> bool:
        return os.path.exists(self.repository.gitdir / BRANCH)

    Publisher.begin = begin  # type: ignore[method-assign]
    Rejoiner.__call__ = lambda self, tip: False  # type: ignore[method-assign]
    Repository._standing = lambda self, commit: commit  # type: ignore[method-assign]
    prepared_write(voice, root, edits, operation)


def test_the_check_of_the_last_published_tip_costs_two_system_calls_and_no_sync(
    tmp_path: Path,
) -> None:
    need_strace()
    origin = new_scene(tmp_path / "origin", {"a.md": b"first\n", "notes/c.md": b"c\n"})
    counts = {}
    for program in (prepared_write, unchecked_write):
        scene = copied(origin, tmp_path / program.__name__)
        log = tmp_path / f"{program.__name__}.log"
        with Crowd() as crowd:
            child = crowd.start(program, str(scene.root), EDITS, "operation")
            child.hear()
            with traced(child, log, ("%file", "%desc")):
                child.say("go")
                child.finish()
        names = [call.name for call in calls_in(log) if str(scene.root) in call.text]
        counts[program] = len(names), sum("sync" in name for name in names)
    checked, unchecked = counts[prepared_write], counts[unchecked_write]
    assert checked[0] - unchecked[0] <= 2
    assert checked[1] == unchecked[1] > 0


def test_the_calls_of_a_write_do_not_grow_with_files(tmp_path: Path) -> None:
    """A batch of many files leaves nothing behind that the writes after it pay for."""
    need_strace()
    counts, sizes = [], []
    for number in (10, 400):
        files = {f"notes/{each}.md": b"n\n" for each in range(number)}
        scene = new_scene(tmp_path / str(number), {"notes/c.md": b"c\n", **files})
        log = tmp_path / f"{number}.log"
        with Crowd() as crowd:
            child = crowd.start(prepared_write, str(scene.root), EDITS, "operation")
            child.hear()
            with traced(child, log, ("%file", "%desc")):
                child.say("go")
                child.finish()
        calls = [call.text for call in calls_in(log) if str(scene.root) in call.text]
        fan_out = [text for text in calls if "/objects" in text]  # a folder may be new, or not
        counts.append((len(calls) - len(fan_out), sum("sync(" in text for text in calls)))
        sizes.append((scene.gitdir / "gitmem" / "lock").stat().st_size)
    few, many = counts
    assert many[0] - few[0] <= 2, "an index of many files is read in two parts"
    assert abs(many[1] - few[1]) <= OBJECTS + 1
    assert max(sizes) <= 4096
