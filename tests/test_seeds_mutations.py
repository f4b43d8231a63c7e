"""The tests that docs/seeds.md names for a row fail when the row's feature is broken.

Each mutation breaks one line of a copy of the project and runs the tests of its row there. A
mutation that survives means that a row promises more than its tests check.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.test_seeds import ROOT, ROWS

PARTS = ("gitmem", "templates", "hooks", "tests", "docs", "pyproject.toml", "README.md")
TESTS_FAILED = 1
"""The exit code of pytest where tests failed; another one means that they did not run."""
NAMED = {row.number: row.tests for row in ROWS}
LAYOUTS = "templates/layouts"
SYNC = "templates/skills/gitmem-memory"


class Mutation(NamedTuple):
    """OLD becomes NEW in the file PATH; without OLD, NEW is all that the file says."""

    row: str
    path: str
    old: str
    new: str = ""

    @property
    def id(self) -> str:
        """A short name: the row and the first words that go."""
        return f"{self.row}-{' '.join((self.old or self.path).split()[:4])}"


# One for each kind of row: these run with every other test.
FAST = [
    # A number and a header of a layout.
    Mutation("A10", f"{LAYOUTS}/arizuko/layout.yaml", "load: recent 14", "load: recent 13"),
    Mutation("V62", f"{LAYOUTS}/zylos/layout.yaml", "# Session Log: {date}", "# Log: {date}"),
    # A starter file that says nothing.
    Mutation("V45", f"{LAYOUTS}/zylos/reference/ideas.md", ""),
    # A sentence of a skill.
    Mutation("V50", f"{SYNC}/SKILL.md", "- The log is only added to until its day is over.\n"),
    # A constant.
    Mutation("Z42", "gitmem/core/freshness.py", "7, 30, 91", "7, 31, 91"),
    # The shape of a prompt.
    Mutation("V52", "gitmem/core/rendering.py", '"=== {} ==="', '"== {} =="'),
]
ARIZUKO = f"{LAYOUTS}/arizuko/layout.yaml"
ZYLOS = f"{LAYOUTS}/zylos"
TIERS = f"{ZYLOS}/layout.yaml"
SOUL = f"{LAYOUTS}/soul/layout.yaml"
NANO = f"{LAYOUTS}/nano/layout.yaml"
CHOICES = f"{ZYLOS}/reference"
STARTERS = ("identity", "state", "references", "users/default/profile")
REFERENCE = ("decisions", "projects", "preferences", "ideas")

SLOW = [
    # Layouts: paths, load rules, numbers, labels, policies, fields.
    Mutation("A1", ARIZUKO, "path: facts/*.md", "path: notes/*.md"),
    Mutation("A5", ARIZUKO, "path: diary/{date}.md", "path: diary/{datetime}.md"),
    Mutation("A9", ARIZUKO, "format: xml", "format: sections"),
    Mutation("A11", ARIZUKO, "load: recent 14\n    render: summary", "load: recent 14"),
    Mutation("A16", ARIZUKO, "load: recent 5", "load: recent 4"),
    Mutation("A18", ARIZUKO, "path: facts/*.md", "path: fact/*.md"),
    Mutation("A19", ARIZUKO, "facts/*.md\n    load: always", "facts/*.md\n    load: query"),
    Mutation("A22", ARIZUKO, "path: users/{user}.md", "path: users/{user}/profile.md"),
    Mutation("A23", ARIZUKO, "load: user", "load: never"),
    Mutation("Z2", TIERS, "label: ACTIVE STATE", "label: STATE"),
    Mutation("Z2", TIERS, "label: REFERENCES\n    load: always", "label: REFERENCES"),
    Mutation("Z3", TIERS, "path: users/{user}/profile.md", "path: users/{user}.md"),
    Mutation("Z4", TIERS, "path: reference/ideas.md", "path: ideas.md"),
    Mutation("Z5", TIERS, "rotated: sessions/{date}.md", "rotated: archive/{date}.md"),
    Mutation("Z29", TIERS, "label: BOT IDENTITY", "label: IDENTITY"),
    Mutation(
        "Z36",
        TIERS,
        "STATE\n    load: always\n    importance: 1\n    budget: 4 KB",
        "STATE\n    load: always\n    importance: 1\n    budget: 16 KB",
    ),
    Mutation(
        "Z38",
        TIERS,
        "path: reference/decisions.md",
        "path: reference/decisions.md\n    budget: 4 KB",
    ),
    Mutation("Z42", TIERS, "retired: [superseded, archived]", "retired: [archived]"),
    Mutation("Z45", TIERS, "budget: 1 KB", "budget: 2 KB"),
    Mutation("V5", TIERS, "label: REFERENCES\n    load: always", "label: REFERENCES"),
    Mutation("V7", TIERS, "path: users/{user}/profile.md", "path: identity/{user}.md"),
    Mutation(
        "V12",
        TIERS,
        "IDENTITY\n    load: always\n    importance: 1\n    budget: 4 KB",
        "IDENTITY\n    load: always\n    importance: 1\n    budget: 5 KB",
    ),
    Mutation("V13", TIERS, "budget: 1 KB", "budget: 2 KB"),
    Mutation(
        "V14",
        TIERS,
        "STATE\n    load: always\n    importance: 1\n    budget: 4 KB",
        "STATE\n    load: always\n    importance: 1\n    budget: 5 KB",
    ),
    Mutation("V15", TIERS, "budget: 2 KB", "budget: 3 KB"),
    Mutation(
        "V18", TIERS, "path: reference/ideas.md", "path: reference/ideas.md\n    budget: 4 KB"
    ),
    Mutation("V19", TIERS, "policy: append-only", "policy: append-only\n    budget: 4 KB"),
    Mutation("V29", TIERS, "Decided by, "),
    Mutation("V30", TIERS, "paused, "),
    Mutation("V31", TIERS, "types: [procedural, experiential]", "types: [procedural]"),
    Mutation("V32", TIERS, ", Related"),
    Mutation(
        "V33",
        TIERS,
        "path: reference/ideas.md\n    ages: true\n    exclusive: reference",
        "path: reference/ideas.md\n    ages: true",
    ),
    Mutation("V50", TIERS, "policy: append-only", "policy: free"),
    Mutation("M3", SOUL, "path: diary/{datetime}.md", "path: diary/{date}.md"),
    Mutation(
        "M4",
        SOUL,
        "path: user.md\n    label: About the User\n    load: always",
        "path: user.md\n    label: About the User",
    ),
    Mutation("M5", SOUL, "policy: write-once", "policy: free"),
    Mutation("M6", SOUL, "policy: write-once", "policy: write-once\n    load: recent 3"),
    Mutation("M7", SOUL, "label: Your Personality", "label: Personality"),
    Mutation("M13", f"{LAYOUTS}/soul/soul.md", "", "# Soul\n"),
    Mutation("M15", SOUL, "policy: write-once", "policy: write-once\n    load: recent 3"),
    Mutation("F1", NANO, "path: memory/*.md", "path: notes/*.md"),
    Mutation("F1", NANO, "policy: protected", "policy: free"),
    Mutation("F4", NANO, "    global: true\n"),
    Mutation("F7", NANO, "into: MEMORY.md\n  daily", "into: SOUL.md\n  daily"),
    Mutation("C1", TIERS, "    warn: 3 KB\n"),
    Mutation("C21", NANO, "policy: protected", "policy: free"),
    Mutation("C27", NANO, "  daily: memory/{date}.md\n"),
    Mutation("C28", NANO, '"memory/*.md"', '"*.md"'),
    Mutation("A13", ARIZUKO, "    fields: [summary, date]\n"),
    Mutation("Z24", TIERS, "    default: users/default/profile.md\n"),
    Mutation("Z26", TIERS, "    lint: [no-config-values]\n"),
    Mutation("V9", TIERS, "    lint: [no-config-values]\n"),
    # Starter files.
    Mutation("V16", f"{ZYLOS}/identity.md", "# Identity\n", "# Identity\n" + "More words. " * 400),
    *(Mutation("V45", f"{ZYLOS}/{name}.md", "") for name in STARTERS),
    *(Mutation("V45", f"{CHOICES}/{name}.md", "") for name in REFERENCE[:3]),
    *(Mutation("V44", f"{CHOICES}/{name}.md", "") for name in REFERENCE[:1]),
    Mutation(
        "Z20",
        f"{CHOICES}/decisions.md",
        "Choices that somebody made and that closed the alternatives. ",
    ),
    Mutation(
        "Z21", f"{CHOICES}/projects.md", "Work with a scope, a beginning and some day an end. "
    ),
    Mutation(
        "Z22",
        f"{CHOICES}/preferences.md",
        "How things shall be done, for everybody and until further notice. ",
    ),
    Mutation("Z23", f"{CHOICES}/ideas.md", "What might be done, and nobody has promised. "),
    Mutation("Z25", f"{ZYLOS}/state.md", "## Pending Tasks\n"),
    Mutation(
        "Z26", f"{ZYLOS}/references.md", "A configured value is named by its place, never repeated."
    ),
    Mutation("V20", f"{ZYLOS}/identity.md", "### Wallet References\n"),
    Mutation("V23", f"{ZYLOS}/state.md", "Last updated: never\n\n"),
    Mutation("V25", f"{ZYLOS}/references.md", "## Active IDs\n"),
    Mutation(
        "V26", f"{ZYLOS}/references.md", "- Not the address, but `Mail: see .env SMTP_HOST`.\n"
    ),
    Mutation("V27", f"{ZYLOS}/users/default/profile.md", "- Response style:\n"),
    Mutation("V34", f"{CHOICES}/projects.md", "A single task is no project (state.md);"),
    Mutation("V36", f"{ZYLOS}/references.md", "- reference/decisions.md: closed choices\n"),
    Mutation("V37", f"{ZYLOS}/references.md", ", and all in doubt"),
    Mutation(
        "V38", f"{CHOICES}/decisions.md", '"We should" is still an idea', "A plan is still an idea"
    ),
    Mutation(
        "V38", f"{CHOICES}/projects.md", "A single task is no project", "A single task is a project"
    ),
    Mutation(
        "V38",
        f"{CHOICES}/preferences.md",
        "a wish for this one time is an event",
        "a wish for this one time is kept",
    ),
    # Skills.
    Mutation(
        "A12",
        "templates/skills/diary/SKILL.md",
        'gitmem write diary --summary "Calendar',
        'gitmem write diary "Calendar',
    ),
    Mutation(
        "A27",
        "templates/skills/diary/SKILL.md",
        '"Write a diary entry", "note what we did today", "wrap up the session". Adds',
        "Adds",
    ),
    Mutation("A27", "templates/skills/recall-memories/SKILL.md", '  "recall". Finds', "  Finds"),
    Mutation("Z11", f"{SYNC}/SKILL.md", " Takes no arguments."),
    Mutation("Z12", f"{SYNC}/SKILL.md", "```sh\ngitmem rotate\n```\n"),
    Mutation(
        "Z13", f"{SYNC}/SKILL.md", "go on with step 5 |\n| exit", "go on with step 7 |\n| exit"
    ),
    Mutation(
        "Z14", f"{SYNC}/SKILL.md", "the four values are needed in steps 6 and 7", "they are read"
    ),
    Mutation("Z15", f"{SYNC}/SKILL.md", "gitmem read references.md\n"),
    Mutation("Z15", f"{SYNC}/SKILL.md", "gitmem read sessions/current.md\n"),
    Mutation(
        "Z16",
        f"{SYNC}/SKILL.md",
        "| a plan, a guess, a wish that nobody promised | `reference/ideas.md` |\n",
    ),
    Mutation(
        "Z17",
        f"{SYNC}/SKILL.md",
        "This step is done in every sync, with or without messages:",
        "This step is done after messages:",
    ),
    Mutation(
        "Z18",
        f"{SYNC}/SKILL.md",
        "Only where step 2 handed out a range, and after everything is written. ",
    ),
    Mutation("V10", f"{SYNC}/SKILL.md", " Takes no arguments."),
    Mutation(
        "V24",
        f"{SYNC}/SKILL.md",
        "gitmem write state --if-match BLOB",
        "gitmem write notes.md --if-match BLOB",
    ),
    Mutation(
        "V38",
        f"{SYNC}/SKILL.md",
        'Close calls: "we should" is an idea and no decision. ',
        "Close calls: ",
    ),
    Mutation("V48", f"{SYNC}/SKILL.md", "## Step 3: read what is known\n"),
    Mutation("V49", f"{SYNC}/SKILL.md", "Memory flush complete. State saved.", "Done."),
    Mutation("V50", f"{SYNC}/SKILL.md", "- Little: most of what is said needs no memory.\n"),
    Mutation("V50", f"{SYNC}/SKILL.md", "- A person's matters go to that person's profile.\n"),
    Mutation(
        "V50",
        f"{SYNC}/SKILL.md",
        "- A configured value is not copied; memory says where it stands.\n",
    ),
    Mutation("V50", f"{SYNC}/SKILL.md", "below 2 KB, and 4 KB at the very most", "kept short"),
    Mutation("V79", f"{SYNC}/SKILL.md", "30 to 60 seconds", "a while"),
    Mutation(
        "Z42",
        f"{SYNC}/SKILL.md",
        "what still holds is confirmed, what does not is\nchanged or archived",
        "it is left alone",
    ),
    Mutation("Z44", f"{SYNC}/SKILL.md", " Nothing of importance 1 or 2 is archived for its age."),
    Mutation("Z27", f"{SYNC}/references/state.md", ""),
    Mutation("Z27", f"{SYNC}/references/identity.md", ""),
    Mutation("Z27", f"{SYNC}/references/decisions.md", "Decided by"),
    Mutation("Z28", f"{SYNC}/examples/state.md", ""),
    Mutation("Z28", f"{SYNC}/examples/ideas.md", "### "),
    Mutation("V47", "templates/skills/claude-code.yaml", "  context: fork\n"),
    Mutation("V47", f"{SYNC}/SKILL.md", "allowed-tools: Bash(gitmem:*) Read\n"),
    Mutation("V11", "templates/skills/claude-code.yaml", "  context: fork\n"),
    Mutation("Z7", "templates/skills/claude-code.yaml", "  context: fork\n"),
    # Constants.
    Mutation("A12", "gitmem/hosts/hooks/turns.py", "TURNS = 100", "TURNS = 90"),
    Mutation("Z9", "gitmem/core/layout.py", "threshold: int = 30", "threshold: int = 29"),
    Mutation("C14", "gitmem/core/layout.py", "threshold: int = 30", "threshold: int = 31"),
    Mutation("V63", "gitmem/core/layout.py", "threshold: int = 30", "threshold: int = 40"),
    Mutation("Z37", "gitmem/core/consolidation.py", "LOG_DAYS = 30", "LOG_DAYS = 31"),
    Mutation("Z40", "gitmem/core/freshness.py", "7, 30, 91", "8, 30, 91"),
    Mutation("Z41", "gitmem/core/freshness.py", "7, 30, 91", "7, 29, 91"),
    Mutation("Z43", "gitmem/core/freshness.py", "7, 30, 91", "7, 30, 92"),
    Mutation("C8", "gitmem/core/freshness.py", "7, 30, 91", "7, 30, 90"),
    Mutation("V40", "gitmem/core/freshness.py", '"stale")', '"old")'),
    Mutation("Z44", "gitmem/core/freshness.py", "IMMUNE = 2", "IMMUNE = 1"),
    Mutation("V42", "gitmem/core/freshness.py", "IMMUNE = 2", "IMMUNE = 1"),
    Mutation("C6", "gitmem/core/freshness.py", "IMMUNE = 2", "IMMUNE = 3"),
    Mutation("Z6", "gitmem/core/archives.py", 'ARCHIVE = "archive"', 'ARCHIVE = "attic"'),
    Mutation("Z46", "gitmem/core/archives.py", 'ARCHIVE = "archive"', 'ARCHIVE = "attic"'),
    Mutation("V51", "gitmem/core/budgets.py", "size > layer.budget", "size >= layer.budget"),
    Mutation("V53", "gitmem/core/daylog.py", "MOST = 100", "MOST = 99"),
    Mutation("Z31", "gitmem/operations/snapshot.py", "memory: daily snapshot", "memory: snapshot"),
    Mutation("V65", "gitmem/operations/snapshot.py", "memory: daily snapshot", "daily snapshot"),
    Mutation("F7", "gitmem/operations/compact.py", '"## Session Compaction"', '"## Compaction"'),
    Mutation("F8", "gitmem/core/layout.py", "top: int = 8", "top: int = 9"),
    Mutation("F8", "gitmem/core/layout.py", "chars: int = 6000", "chars: int = 7000"),
    Mutation("F17", "gitmem/operations/compact.py", "PREVIEW = 1200", "PREVIEW = 12"),
    Mutation("F13", "gitmem/core/access.py", "target == GLOBAL and not write", "not write"),
    Mutation("V75", "templates/env.example", "TZ=UTC\n"),
    Mutation("V61", "gitmem/operations/clock.py", 'ENV = ".env"', 'ENV = ".environment"'),
    Mutation("A29", "templates/skills/users/SKILL.md", 'version: "1"', 'version: "7"'),
    Mutation("C31", "gitmem/core/entry_blocks.py", '"Date observed", '),
    Mutation("V58", "hooks/hooks.json", '"timeout": 10', '"timeout": 1'),
    # What a prompt and a message look like.
    Mutation(
        "A7",
        "gitmem/core/rendering.py",
        'piece.render == "summary" and not piece.lack:\n        entry',
        'piece.render == "none" and not piece.lack:\n        entry',
    ),
    Mutation("A8", "gitmem/core/journal.py", '"yesterday" if', '"1 day ago" if'),
    Mutation("A8", "gitmem/core/journal.py", "} weeks ago", "} weeks"),
    Mutation("A20", "gitmem/core/rendering.py", '"jid": piece.user', '"id": piece.user'),
    Mutation(
        "A20",
        "gitmem/core/rendering.py",
        'f"<knowledge{_attributes(place | more)}>"',
        'f"<fact{_attributes(place | more)}>"',
    ),
    Mutation("V52", "gitmem/core/escaping.py", 'MISSING = "(missing)"', 'MISSING = "(none)"'),
    Mutation("C16", "gitmem/core/escaping.py", 'MISSING = "(missing)"', 'MISSING = "(none)"'),
    Mutation("M7", "gitmem/core/rendering.py", '"## {}"', '"# {}"'),
    Mutation(
        "Z13",
        "gitmem/operations/transcript_pending.py",
        '"No unsummarized conversations."',
        '"Nothing."',
    ),
    Mutation("Z14", "gitmem/cli/commands/transcript.py", "[Unsummarized Range]", "[Range]"),
    # Pages.
    Mutation("A21", "docs/layouts.md", "conventions, systems and contacts that are", "things"),
    Mutation("A25", "docs/layouts.md", "prefers, their history and work", "says"),
    Mutation(
        "V28",
        "docs/layouts.md",
        "| what might be done, and nobody promised | `reference/ideas.md` |\n",
    ),
    Mutation("V35", "docs/layouts.md", "from 1, critical, to 5, minor", "from 1 to 5"),
    Mutation("V80", "docs/layouts.md", "; never memory"),
    Mutation(
        "M8",
        "docs/injection.md",
        "**memory**, status board, the last",
        "status board, **memory**, the last",
    ),
    Mutation("M9", "docs/injection.md", "; no conversation"),
]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project that a test may break."""
    root = tmp_path_factory.mktemp("mutated")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("*.pyc"))
        else:
            shutil.copy2(ROOT / part, root / part)
    return root


# Python takes a cached module for current by its time in seconds and its size, and several
# mutations of one file happen within a second: each gets a time of its own.
_TIMES = count(1_000_000_000)


@pytest.fixture
def broken(copy: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The copy with one mutation in it."""
    mutation: Mutation = request.param
    path = copy / mutation.path
    before = path.read_text("utf-8") if path.is_file() else None
    if mutation.old:
        assert before is not None, f"there is no {mutation.path}"
        assert mutation.old in before, f"{mutation.path} no longer says {mutation.old!r}"
    _put(path, (before or "").replace(mutation.old, mutation.new) if mutation.old else mutation.new)
    yield copy
    if before is None:
        path.unlink()
    else:
        _put(path, before)


def _put(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
    moment = next(_TIMES)
    os.utime(path, (moment, moment))


def run_named(root: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run TESTS in the project at ROOT until one fails."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    ]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    environment.pop("PYTEST_ADDOPTS", None)
    return subprocess.run(
        [*command, "-o", "addopts=", *tests],
        check=False,
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("broken", "mutation"),
    [(each, each) for each in FAST],
    ids=[each.id for each in FAST],
    indirect=["broken"],
)
def test_a_broken_feature_fails_the_tests_of_its_row(broken: Path, mutation: Mutation) -> None:
    done = run_named(broken, NAMED[mutation.row])

    assert done.returncode == TESTS_FAILED, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "mutation"),
    [(each, each) for each in SLOW],
    ids=[each.id for each in SLOW],
    indirect=["broken"],
)
def test_every_other_broken_feature_fails_the_tests_of_its_row(
    broken: Path, mutation: Mutation
) -> None:
    done = run_named(broken, NAMED[mutation.row])

    assert done.returncode == TESTS_FAILED, done.stdout + done.stderr
