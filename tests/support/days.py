"""Groups whose memory is about days, and what must be true of them whatever happens."""

from __future__ import annotations

from collections import Counter
from datetime import date
from pathlib import Path

from gitmem.memory.group import Group
from gitmem.model.layout.layout import Layer
from gitmem.store.repository import Repository
from tests.support.git import git
from tests.support.histories import put

CURRENT = "sessions/current.md"
LAYER = Layer(
    "sessions",
    "log",
    CURRENT,
    rotated="sessions/{date}.md",
    header="# Session Log: {date}",
    policy="append-only",
)
LAYOUT = """\
gitmem: 1
layout: days
{zone}
layers:
  sessions:
    kind: log
    path: sessions/current.md
    rotated: sessions/{{date}}.md
    header: "# Session Log: {{date}}"
    policy: append-only
"""


def with_log(group: Group, zone: str = "UTC") -> None:
    """Give GROUP a layout with a session log, and a zone for its days."""
    put(group, "gitmem.yaml", LAYOUT.format(zone=f"timezone: {zone}" if zone else ""))


def header(day: str | date) -> str:
    """What a session log of DAY begins with."""
    return f"# Session Log: {day}\n\n"


def said_lines(repository: Repository) -> Counter[bytes]:
    """Every line of every file at HEAD that is not blank, and how often it stands there."""
    snapshot = repository.snapshot()
    found: Counter[bytes] = Counter()
    for path, _ in snapshot.files():
        found.update(line for line in (snapshot.read(path) or b"").splitlines() if line.strip())
    return found


def blamed(where: Path, path: str) -> list[tuple[str, str]]:
    """The commit's date and the text of each line of PATH, by plain `git blame`."""
    shown = git(where, "blame", "--date=format-local:%Y-%m-%d", "-s", "--porcelain", path)
    dates: dict[str, str] = {}
    rows: list[tuple[str, str]] = []
    commit = ""
    for line in shown.splitlines():
        if line.startswith("\t"):
            rows.append((dates[commit], line[1:]))
        elif line.startswith("author-time "):
            dates[commit] = f"{date.fromtimestamp(int(line.split()[1]))}"
        elif len(line.split(" ")[0]) == 40:
            commit = line.split(" ")[0]
    return rows
