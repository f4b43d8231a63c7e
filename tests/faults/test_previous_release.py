"""Stores live on: this release and the one before it work on the same store, in turn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.faults import POINTS, UNACKNOWLEDGED
from tests.support.git import git
from tests.support.releases import Release, previous_code, this_code
from tests.support.samples import body

OLD_POINTS = ("recorded", "objects", "branch", "placed", "staged", "dropped")
STEPS = (
    ("write", "facts/a.md", "one\n"),
    ("write", "decisions", "--entry", "Use ESM", "--set", "Importance=2", "Why not."),
    ("write", "facts/a.md", "two\n", "--append"),
    ("write", "sessions", "- 10:00 began"),
    ("snapshot",),
    ("mv", "facts/a.md", "facts/b.md"),
    ("write", "facts/c.md", "three\n"),
    ("search", "three"),
    ("freshness",),
    ("archive", "facts/c.md"),
    ("restore", "facts/c.md"),
    ("undo",),
    ("transcript", "add", "--chat", "c", "--from", "ada", "hello"),
    ("maintain",),
    ("inject",),
    ("status",),
    ("log",),
    ("check",),
)


class Both(NamedTuple):
    """Two releases on one store."""

    old: Release
    new: Release

    @property
    def group(self) -> Path:
        """The work tree."""
        return self.new.store / "groups" / "main"

    @property
    def gitdir(self) -> Path:
        """The git directory."""
        return self.new.store / "repos" / "main.git"


@pytest.fixture(scope="module")
def old_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return previous_code(tmp_path_factory.mktemp("previous"))


@pytest.fixture
def both(old_code: Path, tmp_path: Path) -> Both:
    store = tmp_path / "store"
    return Both(Release("old", old_code, store), Release("new", this_code(), store))


def in_turn(both: Both, first: str) -> Iterator[Release]:
    return cycle((both.old, both.new) if first == "old" else (both.new, both.old))


@pytest.mark.parametrize("first", ["old", "new"])
def test_both_work_on_one_store_in_turn(both: Both, first: str) -> None:
    turns = in_turn(both, first)
    next(turns).done("init")
    for step in STEPS:
        next(turns).done(*step)
    for release in both:
        assert release.document("check")["findings"] == [], release.name
        assert release.done("read", "facts/b.md") == "one\ntwo\n"
    assert git(both.gitdir, "fsck", "--strict", "--no-dangling") == ""
    assert git(both.group, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("dies", "point"),
    [*(("old", each) for each in OLD_POINTS), *(("new", each) for each in sorted(POINTS))],
)
def test_one_recovers_what_the_other_left_when_it_was_killed(
    both: Both, dies: str, point: str
) -> None:
    killed, heir = both if dies == "old" else reversed(both)
    killed.done("init", "--layout", "none")
    killed.done("write", "a.md", "before\n")
    (both.group / "b.md").write_text("an edit\n")
    code, _ = killed.run("write", "a.md", "after, and longer\n", killed_at=point)
    assert code == -9
    heir.done("write", "c.md", "c\n")
    heir.done("capture")
    assert heir.done("read", "b.md") == "an edit\n"
    landed = point not in UNACKNOWLEDGED
    assert heir.done("read", "a.md") == ("after, and longer\n" if landed else "before\n")
    # The reflog names a commit that never landed. This release would have noted that.
    known = {"branch-rewound"} if (dies, point) == ("new", "logged") else set()
    for release in both:
        findings = release.run("--json", "check")[1]
        assert {each["code"] for each in json.loads(findings)["findings"]} <= known, release.name
    assert git(both.group, "status", "--porcelain") == ""


@pytest.mark.parametrize("first", ["old", "new"])
def test_an_edit_of_a_person_is_captured_by_either(both: Both, first: str) -> None:
    turns = in_turn(both, first)
    next(turns).done("init", "--layout", "none")
    next(turns).done("write", "a.md", "one\n")
    for number in range(3):
        (both.group / "a.md").write_text(f"edit {number}\n")
        git(both.group, "add", "-A")
        next(turns).done("write", "b.md", f"{number}\n")
        assert next(turns).done("read", "a.md") == f"edit {number}\n"


def test_held_dropped_and_ignored_files_stop_neither(both: Both) -> None:
    secret = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)
    both.old.done("init", "--layout", "none")
    (both.group / "a.md").write_text(f"{secret}\n")
    both.old.done("write", "a.md", "written\n")
    (aside,) = both.old.document("held")["held"]

    both.new.done("held", "drop", aside["id"], "--yes")
    assert both.old.document("held")["held"] == []
    both.new.done("held", "restore", aside["id"])
    assert [each["id"] for each in both.old.document("held")["held"]] == [aside["id"]]
    both.new.done("held", "accept", aside["id"], "--redact")
    (both.group / "big.pdf").write_bytes(b"x" * 1_100_000)
    both.new.done("held", "ignore", "*.pdf")

    both.old.done("write", "b.md", "b\n")
    both.old.done("maintain")
    assert (both.group / "big.pdf").exists()
    for release in both:
        assert release.document("check")["findings"] == [], release.name
        assert release.done("read", "a.md") == "[redacted: aws-key-id]\n"
    assert [each["path"] for each in both.new.document("held", "list", "--trash")["trash"]] == [
        "a.md"
    ]


@pytest.mark.parametrize("first", ["old", "new"])
def test_dates_that_one_has_kept_are_not_believed_by_the_other(both: Both, first: str) -> None:
    """The previous release gives a copy the date of what it was copied from."""
    turns = in_turn(both, first)
    next(turns).done("init")
    for name in ("a", "b"):
        next(turns).done("write", f"facts/{name}.md", "The same.\n")
    for _ in range(2):
        found = {
            release.name: {each["path"]: each["commit"] for each in entries(release)}
            for release in (next(turns), next(turns))
        }
        assert len(set(found["new"].values())) == 2
        assert len(set(found["old"].values())) == 1


def entries(release: Release) -> list[dict[str, str]]:
    found = release.document("freshness", "facts")["entries"]
    assert isinstance(found, list)
    return found


def test_a_folder_that_the_old_one_adopted_stays_memory_whole(both: Both, tmp_path: Path) -> None:
    """What this release leaves out in a new group would be lost without a word in an old one."""
    folder = tmp_path / "work"
    for path in ("MEMORY.md", "projects/a/notes.md"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("known\n")
    both.old.done("adopt", str(folder), "--in-place", "--layout", "claude-code")
    (folder / "projects/a/notes.md").rename(folder / "projects/a/journal.md")
    (folder / "projects/b").mkdir()
    (folder / "projects/b/notes.md").write_text("new\n")

    both.new.done("capture")

    paths = {each["path"] for each in both.new.document("list")["files"]}
    assert {"projects/a/journal.md", "projects/b/notes.md"} <= paths
    assert "gitmem memory" not in (both.gitdir / "info" / "exclude").read_text()

    with (folder / "gitmem.yaml").open("a") as layout:
        layout.write("include: [projects/**]\n")
    both.new.done("capture")
    (folder / "src").mkdir()
    (folder / "src/a.ts").write_text("other\n")
    (folder / "projects/c.md").write_text("c\n")
    assert "projects/c.md" in both.new.done("capture")
    assert "src/a.ts" not in both.new.done("list")
