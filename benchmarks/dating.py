"""What it costs to know how fresh every entry is: against the history, and against git itself."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks.commands import ENVIRONMENT
from benchmarks.table import Row, interleaved
from gitmem.memory.admin.init import init
from gitmem.memory.entries.freshness import freshness
from gitmem.memory.group import Group, Store
from gitmem.memory.write.write import Edit, write

FILES, ENTRIES = 20, 50
LONG, SHORT = 20_000, 200
WARM_ROUNDS, COLD_ROUNDS = 15, 3
MEGABYTE = 1024  # in the kilobytes that Linux counts
LAYER = "  part{0}: {{kind: entries, path: reference/part{0}.md, ages: true}}\n"
PEAK = r"""
import re, sys
from pathlib import Path
from gitmem.memory.entries.freshness import freshness
from gitmem.memory.group import Group, Store
assert len(freshness(Group(Store(Path(sys.argv[1])), "main")).entries) > 900
# Not ru_maxrss: that remembers how large the process was from which this one was forked.
print(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])
"""


class _Entry:
    def __init__(self, name: str) -> None:
        self.name, self.status, self.decision = name, "active", "as it was"
        self.notes = ["More about it.", "And why."]

    def change(self, random: Random, number: int) -> None:
        """Mostly one line: a field, a status, a note more or less."""
        kind = random.random()
        if kind < 0.5:
            self.decision = f"decision number {number}"
        elif kind < 0.8:
            self.status = "paused" if self.status == "active" else "active"
        elif kind < 0.9 or len(self.notes) == 1:
            self.notes = [*self.notes[-5:], f"note {number}"]
        else:
            self.notes = self.notes[1:]

    def text(self) -> str:
        fields = (("Status", self.status), ("Importance", "3"), ("Decision", self.decision))
        lines = [f"### {self.name}", *(f"- **{name}:** {value}" for name, value in fields)]
        return "\n".join([*lines, "", *self.notes, "", ""])


def _stream(commits: int) -> Iterator[bytes]:
    """A history for `git fast-import`, of entries that change one at a time."""
    random = Random(7)
    files = [[_Entry(f"Entry {part}-{at}") for at in range(ENTRIES)] for part in range(FILES)]
    layers = "".join(LAYER.format(part) for part in range(FILES))
    yield _commit(0, {"gitmem.yaml": f"gitmem: 1\nlayers:\n{layers}"}, "from refs/heads/main^0\n")
    yield _commit(1, {_path(part): _text(entries) for part, entries in enumerate(files)})
    for number in range(2, commits):
        part = random.randrange(FILES)
        random.choice(files[part]).change(random, number)
        yield _commit(number, {_path(part): _text(files[part])})


def _path(part: int) -> str:
    return f"reference/part{part}.md"


def _text(entries: list[_Entry]) -> str:
    return "# Part\n\n" + "".join(each.text() for each in entries)


def _commit(number: int, files: dict[str, str], on: str = "") -> bytes:
    said = f"write: {number}\n\nGitmem-Op: write\nGitmem-Id: {number:016x}\nGitmem-Agent: ada\n"
    who = f"<ada@example.org> {1_700_000_000 + 600 * number} +0000"
    text = f"commit refs/heads/main\nauthor ada {who}\ncommitter gitmem {who}\n"
    text += f"data {len(said)}\n{said}{on}"
    for path, content in files.items():
        text += f"M 100644 inline {path}\ndata {len(content)}\n{content}\n"
    return text.encode()


def build(root: Path, commits: int) -> Store:
    """A group with so many commits, packed as `git gc` packs, with a commit-graph."""
    store = Store(root)
    init(store, "main")
    git(store, "fast-import", "--quiet", input=b"".join(_stream(commits)))
    git(store, "repack", "-adfq")
    git(store, "commit-graph", "write", "--reachable")
    git(store, f"--work-tree={store.default_worktree('main')}", "reset", "--hard")
    return store


def git(store: Store, *args: str, input: bytes = b"") -> None:
    """Run git in the repository of the group."""
    command = ["git", f"--git-dir={store.gitdir('main')}", *args]
    subprocess.run(command, check=True, capture_output=True, input=input, env=ENVIRONMENT)


def blame_all(store: Store) -> None:
    """What a person would do instead."""
    for part in range(FILES):
        git(store, "blame", "-w", "--porcelain", "main", "--", _path(part))


def ask(store: Store) -> None:
    """How fresh is everything?"""
    group = Group(store, "main")
    assert len(freshness(group).entries) >= FILES * ENTRIES
    group.close()


def _forget(store: Store) -> None:
    (store.gitdir("main") / "gitmem" / "dates").unlink(missing_ok=True)


def _touch(store: Store, number: int) -> None:
    group = Group(store, "main")
    write(group, [Edit(_path(0), entry="Entry 0-0", fields=(("Decision", f"again {number}"),))])
    group.close()


def rows() -> Iterator[Row]:
    """The promises on dates."""
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as folder:
        long, short = build(Path(folder) / "long", LONG), build(Path(folder) / "short", SHORT)
        yield from _cold(long)
        yield from _warm(long, short)
        yield _memory(long)


def _cold(long: Store) -> Iterator[Row]:
    def cold() -> None:
        _forget(long)
        ask(long)

    what = f"freshness, cold, of {LONG:,} commits / git blame of the same {FILES} files"
    yield Row(what, *interleaved(cold, lambda: blame_all(long), COLD_ROUNDS), 1.5)
    git(long, "commit-graph", "write", "--reachable", "--changed-paths")
    ours, theirs = interleaved(cold, lambda: blame_all(long), COLD_ROUNDS)
    yield Row("the same, with Bloom filters for git", ours, theirs)


def _warm(long: Store, short: Store) -> Iterator[Row]:
    times: dict[str, list[float]] = {"long": [], "short": []}
    ask(long)
    ask(short)
    for number in range(WARM_ROUNDS):
        for name, store in (("long", long), ("short", short)):
            _touch(store, number)
            ours, _ = interleaved(lambda store=store: ask(store), lambda: None, 1)  # type: ignore[misc]
            times[name].append(ours)
    ours, theirs = (sorted(each)[WARM_ROUNDS // 2] for each in times.values())
    yield Row(f"freshness after one more write, at {LONG:,} / at {SHORT}", ours, theirs, 1.3)
    _, blamed = interleaved(lambda: None, lambda: blame_all(long), 1)
    yield Row(f"the same / git blame of the same {FILES} files", ours, blamed, 0.1)


def _memory(long: Store) -> Row:
    _forget(long)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(long.root)],
        check=True,
        capture_output=True,
        env={**ENVIRONMENT, "PYTHONPATH": os.getcwd()},
    )
    used = int(done.stdout) / MEGABYTE
    return Row("peak memory of a cold walk / 200 MB", used, 200, 1, note="in MB, not ms")
