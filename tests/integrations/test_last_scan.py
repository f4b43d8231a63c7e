"""A turn that edited nothing costs a stat for each file, and no edit hides behind that."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gitmem.integrations.hooks.answer import Reply, respond
from gitmem.integrations.hooks.protocol import Event
from gitmem.integrations.hooks.turns import TURNS
from gitmem.memory.admin.init import init
from gitmem.memory.admin.link import link
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.transcripts.sessions import Session, keep_session, live_sessions, read_session
from gitmem.memory.upkeep.maintain import maintain, maintain_all
from gitmem.memory.write import last_scan
from tests.support.git import git
from tests.support.histories import edit, put
from tests.support.moulds import Moulds
from tests.support.samples import UPPER, body

SESSION = "s-1"
HEAVY = ("pygit2", "yaml", "sqlite3", "gitmem.memory.group", "gitmem.model.layout.layout")


class Desk:
    """A store, and hooks in this process."""

    def __init__(self, root: Path) -> None:
        self.root, self.store = root, Store(root / "store")

    def hook(self, event: str, **said: Any) -> Reply:
        payload = {"session_id": SESSION, "cwd": str(self.root), "transcript_path": "/none.jsonl"}
        store = str(self.store.root)
        return respond(Event(event, "claude-code", payload | said, store, "", None, "", os.environ))

    def group(self, name: str = "main") -> Group:
        return Group(self.store, name, who=Who("ada"))

    @property
    def is_quiet(self) -> bool:
        """Whether the next turn would open nothing."""
        asking = last_scan.GroupChoice(str(self.store.root), str(self.root), "", "")
        return last_scan.unchanged_group(asking) == "main"

    def status(self) -> str:
        return git(self.store.default_worktree("main"), "status", "--porcelain")


@pytest.fixture
def desk(tmp_path: Path, moulds: Moulds, monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = Desk(tmp_path)
    moulds.cast("of hooks", made.store.root, lambda r: init(Store(r), "main", layout="standard"))
    group = made.group()
    put(group, "facts/a.md", "A fact.\n")
    put(group, "facts/deep/b.md", "A fact.\n")
    group.close()
    monkeypatch.setattr(last_scan, "MARGIN", -(10**15))  # no test waits for a disk's clock
    return made


@pytest.fixture
def calm(desk: Desk) -> Desk:
    """A group at which somebody has looked."""
    time.sleep(0.05)  # a tick of the clock lies behind the last write
    desk.hook("stop")
    assert desk.is_quiet
    return desk


def changed_in_place(facts: Path) -> None:
    """The size and the time of the file stay the same."""
    path = facts / "a.md"
    before = path.stat()
    path.write_text("B fact.\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced(facts: Path) -> None:
    (facts / "new.tmp").write_text("B fact.\n")
    os.replace(facts / "new.tmp", facts / "a.md")


EDITS: dict[str, Callable[[Path], object]] = {
    "changed in place": changed_in_place,
    "appended": lambda facts: (facts / "a.md").write_text("A fact.\nMore.\n"),
    "replaced": replaced,
    "new": lambda facts: (facts / "c.md").write_text("C fact.\n"),
    "new below": lambda facts: (facts / "deep" / "c.md").write_text("C fact.\n"),
    "new folder": lambda facts: shutil.copytree(facts / "deep", facts / "other"),
    "deleted": lambda facts: (facts / "a.md").unlink(),
    "moved": lambda facts: (facts / "a.md").rename(facts / "z.md"),
    "folder moved": lambda facts: (facts / "deep").rename(facts / "deeper"),
}


@pytest.mark.parametrize("how", EDITS)
def test_no_edit_is_missed(calm: Desk, how: str) -> None:
    EDITS[how](calm.store.default_worktree("main") / "facts")
    assert calm.status()

    calm.hook("stop")

    assert calm.status() == ""


def test_a_turn_without_edits_counts_and_leaves_word_of_what_was_said(calm: Desk) -> None:
    gitdir = calm.store.gitdir("main")
    before = read_session(gitdir, SESSION).turns

    assert calm.hook("stop") == Reply()

    assert read_session(gitdir, SESSION).turns == before + 1
    [(known, _)] = live_sessions(str(calm.store.root))
    assert (known.id, known.host) == (SESSION, "claude-code")
    (note,) = (calm.store.root / "spool").glob("*.json")
    assert json.loads(note.read_text())["group"] == "main"


def test_the_word_on_the_diary_comes_all_the_same(calm: Desk) -> None:
    keep_session(calm.store.gitdir("main"), SESSION, Session(turns=TURNS - 1))

    assert "diary" in str(calm.hook("stop").document)


def test_another_link_leads_to_another_group(calm: Desk) -> None:
    init(calm.store, "shop", layout="standard")
    link(calm.store, calm.root, "shop")
    group = calm.group("shop")
    edit(group, "state.md", "# State\n\nOf the shop.\n")

    calm.hook("stop")

    assert b"Of the shop." in (group.repository.snapshot().read("state.md") or b"")
    group.close()


@pytest.mark.parametrize("how", ["commit", "reset"])
def test_what_a_person_does_with_git_is_looked_at(calm: Desk, how: str) -> None:
    worktree = calm.store.default_worktree("main")
    if how == "commit":
        git(worktree, "commit", "-q", "--allow-empty", "-m", "by hand")
    else:
        git(worktree, "reset", "-q", "--hard", "HEAD~1")

    assert not calm.is_quiet


def test_a_group_that_is_gone_or_too_large_is_not_quiet(
    calm: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(last_scan, "MOST", 10)
    assert not calm.is_quiet
    monkeypatch.undo()
    assert calm.is_quiet
    shutil.rmtree(calm.store.default_worktree("main"))
    assert not calm.is_quiet


def test_an_edit_that_is_held_is_looked_at_once(desk: Desk) -> None:
    secret = "AKIA" + body(UPPER, 16, 7)
    edit(desk.group(), "facts/key.md", f"The key is {secret}.\n")
    time.sleep(0.05)

    desk.hook("stop")
    desk.hook("stop")

    assert desk.is_quiet
    assert "facts/key.md" in desk.status()


def test_what_was_just_written_is_looked_at_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(last_scan, "MARGIN", 10**15)

    desk.hook("stop")

    assert not desk.is_quiet


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("why", ["gone", "torn", "half", "old"])
def test_maintenance_removes_records_that_are_of_no_use(
    calm: Desk, why: str, everywhere: bool
) -> None:
    (record,) = (calm.store.root / "quiet").iterdir()
    useless = record.with_name("0123456789abcdef" + (".77" if why == "half" else ""))
    row = json.loads(record.read_text()) | ({"group": "nobody"} if why == "gone" else {})
    useless.write_text("{" if why == "torn" else json.dumps(row))
    if why in ("half", "old"):
        then = time.time() - (last_scan.KEPT if why == "old" else last_scan.ABANDONED)
        os.utime(useless, (then, then))

    for dry_run in (True, False):
        if everywhere:
            maintain_all(calm.store, dry_run=dry_run)
        else:
            with closing(calm.group()) as group:
                maintain(group, dry_run=dry_run)
        assert useless.exists() == dry_run

    assert record.exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"group": 5}', "\0" * 100, "[" * 60_000])
def test_a_torn_record_is_none(calm: Desk, text: str) -> None:
    (record,) = (calm.store.root / "quiet").iterdir()
    record.write_text(text)

    assert not calm.is_quiet
    assert calm.hook("stop") == Reply()
    assert calm.is_quiet


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("stop", {}),
        ("subagent-stop", {"agent_id": "a"}),
        ("user-prompt-submit", {"prompt": "thanks, great!"}),
        ("user-prompt-submit", {"prompt": "/compact"}),
    ],
)
def test_nothing_heavy_is_loaded_to_find_that_there_is_nothing_to_do(
    calm: Desk, event: str, said: dict[str, str]
) -> None:
    row = {"session_id": SESSION, "cwd": str(calm.root), "transcript_path": "/none.jsonl", **said}
    script = (
        "import sys\nfrom gitmem.cli import main\n"
        f"sys.argv = ['gitmem', 'hook', '{event}']\n"
        "try: main()\n"
        f"finally: print([each for each in {HEAVY!r} if each in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"GITMEM_HOME": str(calm.store.root)},
        input=json.dumps(row),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert (done.stdout, done.stderr) == ("", "[]\n")


def test_a_link_to_a_project_that_leads_elsewhere_now_is_another_project(calm: Desk) -> None:
    init(calm.store, "beta", layout="standard")
    folders = [calm.root / each for each in ("pa", "pb")]
    for folder, group in zip(folders, ("main", "beta"), strict=True):
        folder.mkdir()
        link(calm.store, folder, group)
    current = calm.root / "current"
    current.symlink_to(folders[0])
    calm.hook("stop", cwd=str(current))
    current.unlink()
    current.symlink_to(folders[1])
    group = calm.group("beta")
    edit(group, "facts/new.md", "A fact.\n")
    group.close()

    calm.hook("stop", cwd=str(current))

    assert git(calm.store.default_worktree("beta"), "status", "--porcelain") == ""
