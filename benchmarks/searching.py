"""What a search costs, against bare SQLite on the same rows, and how it grows."""

from __future__ import annotations

import json
import random
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, cycle, product
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.commands import ENVIRONMENT, GITMEM, imports, run
from benchmarks.injecting import commit_text, quietly
from benchmarks.table import Row, interleaved
from gitmem.cache.database import run_query
from gitmem.cache.passages import SCHEMA
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store
from gitmem.memory.search.passages import NAME, at_commits
from gitmem.memory.search.search import search
from gitmem.memory.write.write import Edit, write
from gitmem.model.entries.blocks import parse
from gitmem.model.language.passages import beginning, ending, parted, passages, without_comments
from gitmem.model.language.prompts import query_sentences
from gitmem.model.language.unicode import sentences as split
from gitmem.model.language.words import query_terms, term_spans, terms_of

ROUNDS = 20
TRAPS = [
    "#\n", "- a\n", "a", "```\n", "### a\n", "#### a\n", "a\n\n", "a. ", "\u3002", "<!--",
    "<!-- a\n", "<!-- a -->\n\n", "-->", " ", "\n", ".)", "---\n", "\r", "~~~\n```\n",
    "    * x\n", "a\r\n", "[", "[1:1] ", "<a ", "`", "~", "a:", "user:", "?", '"', "é ", "system ",
    "é", "漢", "क", "😀", "_é", "\u0301", "ｶ", "\u1100\u1161",
    "### Tea\n- **Status:** active\n\nGreen.\n",
]  # fmt: skip
"""Texts that repeat themselves: who looks at some place again and again pays for it there."""
QUERIES = 60
PER_FILE = 4
MEGABYTES = 100
PAGES = sorted(Path(__file__).parents[1].glob("docs/*.md"))

IMPORT = """
import sys
from pathlib import Path
from gitmem.integrations.transcripts.import_files import import_transcripts
from gitmem.memory.group import Group, Store
group = Group(Store(Path(sys.argv[1])), "main")
print(import_transcripts(group, "claude-code", paths=[sys.argv[2]], environ={}).added)
"""


def sentences() -> list[str]:
    """What people write about software: the sentences of our own documents."""
    text = " ".join(page.read_text("utf-8") for page in PAGES)
    prose = " ".join(re.findall(r"[A-Za-z ,;'-]+[.]", text)).split(".")
    return [f"{each.strip()}." for each in prose if len(each.split()) > 4]


def build(root: Path, *, files: int) -> Store:
    """A group with FILES notes in folders of a hundred, each of a few passages."""
    store, rng, said = Store(root), random.Random(7), sentences()
    init(store, "main", layout="standard")
    notes = {}
    for number in range(files):
        parts = (
            f"## {rng.choice(said)}\n\n{' '.join(rng.sample(said, 7))}" for _ in range(PER_FILE)
        )
        notes[f"notes/{number // 100:03}/note{number:05}.md"] = "\n\n".join(parts) + "\n"
    git = ["git", f"--git-dir={store.gitdir('main')}"]
    stream = commit_text("all of it", notes, on="from refs/heads/main^0\n")
    quietly(*git, "fast-import", "--quiet", input=stream.encode())
    quietly(*git, "repack", "-adq")
    quietly(*git, f"--work-tree={store.default_worktree('main')}", "reset", "--hard")
    return store


def bare_rows(store: Store) -> list[tuple[str, ...]]:
    """The passages of a group as somebody would put them into a table of full text search."""
    found: list[tuple[str, ...]] = []
    root = store.default_worktree("main")
    for path in sorted(root.rglob("*.md")):
        text = path.read_text("utf-8")
        parts = [text[each.start : each.stop] for each in passages(text)]
        for at, part in enumerate(parts):
            before = ending(parts[at - 1]) if at else ""
            after = beginning(parts[at + 1]) if at + 1 < len(parts) else ""
            found.append((part, before, after, path.name))
    return found


def bare(path: Path, rows: list[tuple[str, ...]]) -> sqlite3.Connection:
    """Those rows in such a table."""
    path.unlink(missing_ok=True)
    table = sqlite3.connect(path, isolation_level=None)
    table.execute("PRAGMA journal_mode=WAL")
    table.execute(
        "CREATE VIRTUAL TABLE words USING fts5(text, before, after, head,"
        " tokenize = 'porter unicode61')"
    )
    table.execute("BEGIN")
    table.executemany("INSERT INTO words VALUES (?, ?, ?, ?)", rows)
    table.execute("COMMIT")
    return table


def asked_bare(table: sqlite3.Connection, query: str) -> list[tuple[int, float]]:
    words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
    return table.execute(
        "SELECT rowid, bm25(words, 1.0, 0.5, 0.25, 1.0) AS score FROM words WHERE words MATCH ?"
        " ORDER BY score LIMIT 8",
        (words,),
    ).fetchall()


def questions(number: int) -> list[str]:
    """Short questions: some words of a sentence."""
    rng, said = random.Random(11), sentences()
    picked = (rng.choice(said).rstrip(".").split() for _ in range(number))
    return [" ".join(rng.sample(words, min(5, len(words)))) for words in picked]


def rows() -> Iterator[Row]:
    """The promises on search."""
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as folder:
        root = Path(folder)
        large, small = build(root / "large", files=2500), build(root / "small", files=25)
        yield from _building(large, root)
        yield from _asking(large, root)
        yield _updating(large, small)
        yield _as_command(large)
        yield _importing(root)
    yield _parting()


def _building(store: Store, root: Path) -> Iterator[Row]:
    group = Group(store, "main")
    found = bare_rows(store)

    def ours() -> None:
        for each in group.gitdir.glob(f"gitmem/{NAME}*"):
            each.unlink()
        _bring(group)

    def theirs() -> None:
        bare(root / "bare.db", found).close()

    mine, others = interleaved(ours, theirs, 9)
    group.close()
    what = f"index of {len(found):,} passages anew / bare executemany"
    yield Row(what, mine, others, 3, note="with reading the blobs")


def _asking(store: Store, root: Path) -> Iterator[Row]:
    group = Group(store, "main")
    table = bare(root / "bare.db", bare_rows(store))
    asked = questions(QUERIES)
    ours, theirs = _each(
        [query for _, query in zip(range(1000), cycle(asked), strict=False)],
        lambda query: search(group, query, source="memory"),
        lambda query: asked_bare(table, query),
    )
    yield Row("search, p50 / bare MATCH with bm25", median(ours), median(theirs), 3)
    # By what the bare query took at that time: the machine may be slower at the end than at first.
    each = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    what = "the last 100 of 1,000 searches / the first 100"
    yield Row(what, median(each[-100:]), median(each[:100]), 1.2, note="each by the bare query")
    table.close()
    group.close()


def _each(
    queries: list[str], ours: Callable[[str], object], theirs: Callable[[str], object]
) -> tuple[list[float], list[float]]:
    mine, others = [], []
    for query in queries:
        mine.append(_timed(lambda query=query: ours(query)))  # type: ignore[misc]
        others.append(_timed(lambda query=query: theirs(query)))  # type: ignore[misc]
    return mine, others


def _timed(call: Callable[[], object]) -> float:
    began = perf_counter()
    call()
    return (perf_counter() - began) * 1000


def _bring(group: Group) -> None:
    """Bring the index to what the group is now, and ask nothing."""
    question = at_commits({"": group.repository.snapshot()}, keep=True)
    run_query(group.gitdir / "gitmem" / NAME, SCHEMA, question, lambda _: None)


def _updating(large: Store, small: Store) -> Row:
    groups = [Group(large, "main"), Group(small, "main")]
    numbers = count()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for group, kept in zip(groups, times, strict=True):
            write(group, [Edit("notes/000/changing.md", f"## New\n\nText {next(numbers)}.\n")])
            kept.append(_timed(partial(_bring, group)))
    for group in groups:
        group.close()
    return Row(
        "index after one write at 10,000 passages / at 100", median(times[0]), median(times[1]), 1.5
    )


def _as_command(store: Store) -> Row:
    env = {**ENVIRONMENT, "GITMEM_HOME": str(store.root)}
    run(*GITMEM, "search", "branch lock", env=env)
    ours, theirs = interleaved(
        lambda: run(*GITMEM, "search", "branch lock", env=env),
        lambda: imports("pygit2", "click", "yaml", "sqlite3"),
        ROUNDS,
    )
    what = "gitmem search, own time / import pygit2, click, yaml, sqlite3"
    return Row(what, ours - theirs, theirs, 0.5, note="10,000 passages")


def _importing(root: Path) -> Row:
    """The memory that an import of many conversations takes, in MB, against what it may."""
    store, said = Store(root / "imported"), sentences()
    init(store, "main", layout="none")
    path = root / "session.jsonl"
    rng, numbers = random.Random(3), count()
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < MEGABYTES * 1024 * 1024:
            file.write(json.dumps(_line(next(numbers), rng, said)) + "\n")
    command = [sys.executable, "-c", IMPORT, str(store.root), str(path)]
    subprocess.run(command, check=True, capture_output=True, cwd=Path.cwd())
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return Row(f"import of {MEGABYTES} MB, peak MB / what it may take", peak, 150, 1)


def _line(number: int, rng: random.Random, said: list[str]) -> dict[str, object]:
    """A line as a host writes it: for each thing that is said, some tools and what they print."""
    kind = ("user", "assistant", "tool")[number % 3]
    block: dict[str, object] = {"type": "text", "text": " ".join(rng.choices(said, k=5))}
    if kind == "tool":
        block = {"type": "tool_result", "content": " ".join(rng.choices(said, k=200))}
    return {
        "type": "user" if kind == "tool" else kind,
        "uuid": f"00000000-0000-4000-8000-{number:012}",
        "sessionId": "a-session",
        "timestamp": f"2026-02-08T12:{number // 60 % 60:02}:{number % 60:02}Z",
        "message": {"role": kind, "content": [block]},
    }


def _parting() -> Row:
    """The text on which six times the length costs most beyond six times the work."""
    found = []
    texts = count()

    def entries(text: str) -> object:
        return parse(f"{text}{next(texts)}")  # another text each time: the last ones are remembered

    works = (passages, without_comments, list_parted, split, looked_for, query_sentences, entries)
    for trap, work in product(TRAPS, works):
        short, long = (f"# x\n{trap * (size // len(trap))}" for size in (50_000, 300_000))
        mine, six = interleaved(partial(work, long), partial(_repeat, work, short, 6), 3)
        found.append((mine + 1, six + 1))  # what takes no time at all has no ratio
    mine, six = max(found, key=lambda each: each[0] / each[1])
    return Row("parting 300 KB / six times 50 KB, on the worst text", mine, six, 3)


def list_parted(text: str) -> object:
    """Parted as what was said is."""
    return list(parted(text))


def looked_for(text: str) -> object:
    """Looked for, and marked where it stands."""
    return terms_of(text), query_terms(text), list(term_spans(text, ["漢漢", "漢*", "a"]))


def _repeat(work: Callable[[str], object], text: str, times: int) -> None:
    for _ in range(times):
        work(text)
