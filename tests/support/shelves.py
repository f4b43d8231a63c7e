"""A group whose memory holds entries, notes and a log, and what is asked of it."""

from __future__ import annotations

from collections import Counter

from gitmem.memory.group import Group
from gitmem.model.commit_messages import Parsed, parse
from gitmem.store.repository import Repository
from tests.support.git import git
from tests.support.histories import put

LAYOUT = """\
gitmem: 1
timezone: UTC
layers:
  decisions:
    kind: entries
    path: reference/decisions.md
    ages: true
    fields: [Date, Status, Importance]
    status: [active, superseded]
    retired: [superseded]
  ideas:
    kind: entries
    path: reference/ideas.md
    ages: true
    archive: attic
    fields: [Date, Status]
  laws:
    kind: entries
    path: laws.md
    ages: true
    policy: protected
  facts:
    kind: notes
    path: facts/*.md
    ages: true
  diary:
    kind: journal
    path: diary/{date}.md
    policy: write-once
  state:
    kind: document
    path: state.md
"""
DECISIONS = """\
# Decisions

### Use ESM only
- **Date:** 2026-01-02
- **Status:** active

It is time.

### Old plan
- **Date:** 2026-01-01
- **Status:** superseded

```
### no entry
```

### Keep tea
- **Date:** 2026-01-03
"""
ESM = "reference/decisions.md#use-esm-only"
OLD = "reference/decisions.md#old-plan"
TEA = "reference/decisions.md#keep-tea"
SHELF = "archive/reference/decisions.md"


def furnish(group: Group) -> Group:
    """Let GROUP have the layout, and something in most layers."""
    put(group, "gitmem.yaml", LAYOUT)
    put(group, "reference/decisions.md", DECISIONS)
    put(group, "reference/ideas.md", "### Try gleam\n- **Status:** raw\n")
    put(group, "facts/tea.md", "---\nsummary: tea\n---\nAda likes tea\n")
    put(group, "laws.md", "### Be kind\nAlways.\n")
    put(group, "diary/2026-02-07.md", "It rained.\n")
    put(group, "state.md", "All is well.\n")
    return group


def text(group: Group, path: str) -> str:
    """The file at HEAD."""
    return (group.repository.snapshot().read(path) or b"").decode()


def files(group: Group) -> dict[str, bytes]:
    """All files at HEAD."""
    snapshot = group.repository.snapshot()
    return {path: snapshot.read(path) or b"" for path, _ in snapshot.files()}


def said(repository: Repository) -> Counter[str]:
    """What all files say, by lines that are not blank; endings and byte order marks aside."""
    snapshot = repository.snapshot()
    texts = [(snapshot.read(path) or b"").decode() for path, _ in snapshot.files()]
    lines = (line.strip("\ufeff \t\r") for each in texts for line in each.split("\n"))
    return Counter(line for line in lines if line)


def message(group: Group) -> Parsed:
    """What the newest commit says, by git's own account."""
    return parse(git(group.gitdir, "log", "-1", "--format=%B", "main"))


def count(group: Group) -> int:
    """How many commits there are."""
    return int(git(group.gitdir, "rev-list", "--count", "main"))


def is_clean(group: Group) -> bool:
    """Whether the work tree is HEAD."""
    return git(group.worktree, "status", "--porcelain", "-uall") == ""
