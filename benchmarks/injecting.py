"""What an injection costs: as a command, and against the history and the files it does not show."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

from benchmarks.commands import ENVIRONMENT, GITMEM, imports, run
from benchmarks.table import Row, interleaved
from gitmem.memory.admin.init import init
from gitmem.memory.context.inject import inject
from gitmem.memory.group import Group, Store

ROUNDS = 20
CALLS = 30
NOW = datetime.fromisoformat("2026-02-08T12:00:00Z")


def _day(number: int) -> tuple[str, str]:
    day: date = NOW.date() - timedelta(days=number)
    return f"diary/{day}.md", f"---\nsummary: What happened on {day}\n---\nAll of it.\n"


def _fact(number: int) -> tuple[str, str]:
    text = f"# Fact {number}\n\nSomething that is always good to know, with its reasons.\n"
    return f"facts/fact{number:03}.md", text * 3


def build(root: Path, *, facts: int, days: int, commits: int) -> Store:
    """A group of the layout arizuko with so many files, and so many commits after them."""
    store = Store(root)
    init(store, "main", layout="arizuko")
    files = dict([*map(_fact, range(facts)), *map(_day, range(days))])
    stream = commit_text("all of it", files, on="from refs/heads/main^0\n")
    # What is shown in the end is the same, however long the way there was.
    for number in range(commits):
        stream += commit_text(f"again {number}", {"notes/changing.md": f"Change {number}.\n"})
    git = ["git", f"--git-dir={store.gitdir('main')}"]
    quietly(*git, "fast-import", "--quiet", input=stream.encode())
    quietly(*git, "repack", "-adq")
    quietly(*git, f"--work-tree={store.default_worktree('main')}", "reset", "--hard")
    return store


def quietly(*command: str, input: bytes = b"") -> None:
    """Run a command that has nothing to say."""
    subprocess.run(command, check=True, capture_output=True, input=input, env=ENVIRONMENT)


def commit_text(message: str, files: dict[str, str], *, on: str = "") -> str:
    """A commit for `git fast-import`."""
    text = "commit refs/heads/main\ncommitter a <a@example.org> 1770000000 +0000\n"
    text += f"data {len(message)}\n{message}\n{on}"
    for path, content in files.items():
        text += f"M 100644 inline {path}\ndata {len(content.encode())}\n{content}\n"
    return text


def rows() -> Iterator[Row]:
    """The promises on an injection."""
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as folder:
        root = Path(folder)
        long = build(root / "long", facts=200, days=400, commits=10_000)
        yield _as_command(long)
        short = build(root / "short", facts=200, days=400, commits=10)
        yield _compared("inject at 10,000 commits / at 10", long, short, 1.2)
        yield _compared("the same, with how fresh each fact is", long, short, 1.2, annotate=True)
        few = build(root / "few", facts=10, days=40, commits=10)
        yield _compared("inject of 200 facts / of 10", short, few)
        many = build(root / "many", facts=10, days=4000, commits=10)
        yield _compared(
            "inject of 14 days out of 4,000 / out of 40",
            many,
            few,
            16,
            note="one stat for each file",
        )
        yield _compared(
            "the same, --at HEAD: no look at the work tree",
            many,
            few,
            8,
            at="HEAD",
            note="one look at each name",
        )


def _as_command(store: Store) -> Row:
    env = {**ENVIRONMENT, "GITMEM_HOME": str(store.root), "GITMEM_NOW": NOW.isoformat()}
    run(*GITMEM, "inject", env=env)
    ours, theirs = interleaved(
        lambda: run(*GITMEM, "inject", env=env),
        lambda: imports("pygit2", "click", "yaml"),
        ROUNDS,
    )
    what = "gitmem inject, own time / import pygit2, click, yaml"
    return Row(what, ours - theirs, theirs, 0.4, note="200 facts, 400 days, 10,000 commits")


def _compared(
    what: str,
    one: Store,
    other: Store,
    limit: float | None = None,
    *,
    at: str | None = None,
    annotate: bool = False,
    note: str = "",
) -> Row:
    def fresh(store: Store) -> None:
        group = Group(store, "main", now=lambda: NOW)
        assert inject(group, at=at, annotate=annotate).text
        group.close()

    ours, theirs = interleaved(lambda: fresh(one), lambda: fresh(other), CALLS)
    return Row(what, ours, theirs, limit, note=note)
