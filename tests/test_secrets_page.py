"""The page on secrets says what the code does, and its steps remove a secret from history."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import gitmem
from gitmem.memory.admin.check import check
from gitmem.memory.admin.commit_search import MOST_BYTES, MOST_COMMITS
from gitmem.memory.admin.init import init
from gitmem.memory.context.inject import inject
from gitmem.memory.group import Group, Store
from gitmem.memory.read.status import status
from gitmem.memory.recover.held import held_drop, held_list
from gitmem.memory.recover.kept import kept_list
from gitmem.memory.search.search import search
from gitmem.memory.transcripts.add import NewMessage, transcript_add
from gitmem.memory.transcripts.status import transcript_show
from gitmem.memory.upkeep.snapshot import snapshot
from gitmem.store import fault_points
from gitmem.store.worktree.held import HeldFolder
from tests.support.git import git_bytes
from tests.support.histories import by_hand, edit, put
from tests.support.pages import numbers
from tests.support.processes import Crowd, Voice
from tests.support.samples import narrow

PAGE = (Path(gitmem.__file__).parents[1] / "docs" / "secrets.md").read_text("utf-8")


def test_the_limits_of_a_write_are_those_of_the_page() -> None:
    limits = numbers(PAGE, "to `maintain` and `check`", "commits", "MiB")
    assert limits == {MOST_COMMITS, MOST_BYTES / 2**20}


def steps() -> list[str]:
    """The commands of the section on history, without the last look, which takes a program."""
    section = PAGE.partition("## Remove a credential from history")[2]
    return [line.strip() for line in re.findall(r"^       (?=\S)(.*)$", section, re.MULTILINE)]


def test_the_steps_are_there() -> None:
    said = [" ".join(each.split()[:2]) for each in steps()]
    assert said[1:] == [
        'WORK="$GITMEM_HOME/groups/main" REPO="$GITMEM_HOME/repos/main.git"',
        *("gitmem capture", "gitmem kept", "gitmem held", "gitmem held", "umask 077"),
        *("echo 'literal:THE-VALUE==>[removed]'", 'cd "$WORK"', 'cd "$REPO"', 'cd "$REPO"'),
        *('cd "$REPO"', "grep -rlaF", "gitmem check"),
    ]
    assert said[0].startswith("export GITMEM_HOME=")


def die_after_the_swap(voice: Voice, root: str) -> None:
    """A child that replaces the file with the value and dies before it lets go of that version."""

    def reached(point: str) -> None:
        if point == "placed":
            voice.say(point)
            os.kill(os.getpid(), signal.SIGKILL)

    fault_points.reached = reached
    group = Group(Store(Path(root)), "main")
    put(group, "state.md", "# State\n\nclean\n")


def swapped(store: Store) -> list[str]:
    with Crowd() as crowd:
        crowd.start(die_after_the_swap, str(store.root))
        assert [words for _, words in crowd.hear_out(60)] == [["placed"]]
    return [str(each) for each in (store.gitdir("main") / "gitmem" / "swapped").iterdir()]


def everywhere(store: Store, token: str) -> dict[str, str]:
    """Leave it in a file, a message, a snapshot, a kept commit, a held file, trash and quarantine.

    Returns what the page has words for.
    """
    init(store, "main", layout="standard")
    group = Group(store, "main")
    put(group, "state.md", "# State\n\nfine\n")
    edit(group, "state.md", f"# State\n\nkey {token}\n")
    by_hand(group, "commit", "-q", "-am", f"with {token}")
    snapshot(group)
    transcript_add(group, [NewMessage("c", "ada", "hello")])
    search(group, "key")
    put(group, "more.md", "more\n")
    by_hand(group, "reset", "-q", "--hard", "HEAD~2")
    edit(group, "state.md", f"# State\n\nother {token}\n")
    by_hand(group, "commit", "-q", "-am", "again")
    (group.gitdir / "gitmem" / "quarantine").mkdir(exist_ok=True)
    (group.gitdir / "gitmem" / "quarantine" / "x.0").write_bytes(token.encode())
    edit(group, "dropped.md", f"{token}\n")
    held_drop(group, "dropped.md")
    edit(group, "held.md", f"{token}\n")
    put(group, "held.md", "takes its place\n")
    (aside,) = HeldFolder(group.gitdir)
    (kept,) = kept_list(group)
    check(group)
    group.close()
    assert swapped(store)
    return {"THE-VALUE": token, "COMMIT": kept.commit[:10], "FILE": aside.id}


def test_the_steps_remove_it_and_gitmem_works_on(tmp_path: Path) -> None:
    store, token = Store(tmp_path / "store"), narrow()["github-token"][0]
    lines = steps()
    for word, value in everywhere(store, token).items():
        lines = [each.replace(word, value) for each in lines]
    told = subprocess.run(
        ["sh", "-ec", "\n".join(lines[:11])],
        check=False,
        capture_output=True,
        text=True,
        env={
            "HOME": str(tmp_path),
            "GITMEM_HOME": str(store.root),
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        },
    )
    assert told.returncode == 0, told.stderr

    group = Group(store, "main")
    objects = git_bytes(group.gitdir, "cat-file", "--batch-all-objects", "--batch")
    assert token.encode() not in objects
    files = [each for each in store.root.rglob("*") if each.is_file()]
    assert [each for each in files if token.encode() in each.read_bytes()] == []
    assert check(group, full=True).findings == ()
    assert status(group).secrets == ()
    put(group, "after.md", "goes on\n")
    assert "clean" in inject(group).text
    assert [each.text for each in transcript_show(group, "c").messages] == ["hello"]
    group.close()


def dead(group: Group) -> None:
    """A writer that died before it let go of the version it had replaced."""
    assert swapped(group.store)


def opened(group: Group) -> int:
    """A writer that could not let go of it, because another program has it open."""
    other = os.open(group.worktree / "state.md", os.O_WRONLY)
    put(group, "state.md", "# State\n\nclean\n")
    return other


@pytest.mark.parametrize("waits", [dead, opened])
def test_a_file_that_waits_does_not_bring_it_back(
    tmp_path: Path, waits: Callable[[Group], int | None]
) -> None:
    """Who forgot the third step: a version is in `gitmem/swapped` while history is rewritten."""
    store, token = Store(tmp_path / "store"), narrow()["github-token"][0]
    init(store, "main")
    group = Group(store, "main")
    put(group, "state.md", "# State\n\nfine\n")
    edit(group, "state.md", f"# State\n\nkey {token}\n")
    by_hand(group, "commit", "-q", "-am", "with a key")
    other = waits(group)
    assert os.listdir(group.gitdir / "gitmem" / "swapped")
    group.close()
    (tmp_path / "expressions").write_text(f"literal:{token}==>[removed]\n")
    with_text = ("--replace-text", str(tmp_path / "expressions"))
    program = [sys.executable, "-m", "git_filter_repo", "--force", *with_text]
    subprocess.run(program, cwd=store.gitdir("main"), check=True, capture_output=True)
    if other is not None:
        os.close(other)

    group = Group(store, "main")
    for text in ("goes on\n", "and on\n", "still\n"):
        put(group, "after.md", text)

    objects = git_bytes(group.gitdir, "cat-file", "--batch-all-objects", "--batch")
    assert token.encode() not in objects
    assert [each.path for each in held_list(group)] == ["state.md"], "and nothing is lost"
    group.close()
