"""The page on secrets says what the code does, and its steps remove a secret from history."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import gitmem
from gitmem.operations.check import check
from gitmem.operations.exposed import MOST_BYTES, MOST_COMMITS
from gitmem.operations.group import Group, Store
from gitmem.operations.init import init
from gitmem.operations.inject import inject
from gitmem.operations.search import search
from gitmem.operations.snapshot import snapshot
from gitmem.operations.status import status
from gitmem.operations.transcript_add import Spoken, transcript_add
from gitmem.operations.transcript_show import transcript_show
from tests.support.git import git_bytes
from tests.support.histories import by_hand, edit, put
from tests.support.samples import narrow

PAGE = (Path(gitmem.__file__).parents[1] / "docs" / "secrets.md").read_text("utf-8")


def test_the_limits_of_a_write_are_those_of_the_page() -> None:
    assert f"more than {MOST_COMMITS} commits or {MOST_BYTES // 2**20} MiB" in PAGE


def steps() -> list[str]:
    """The commands of the section on history, without the last look, which takes a program."""
    section = PAGE.partition("## Remove a credential from history")[2]
    return [line.strip() for line in re.findall(r"^       (?=\S)(.*)$", section, re.MULTILINE)]


def test_the_steps_are_there() -> None:
    assert [each.split()[0] for each in steps()] == [
        *("umask", "echo", "cd", "git", "cd", "rm", "git", "grep", "gitmem")
    ]


def test_the_steps_remove_it_and_gitmem_works_on(tmp_path: Path) -> None:
    store, token = Store(tmp_path / "store"), narrow()["github-token"][0]
    init(store, "main", layout="standard")
    group = Group(store, "main")
    put(group, "state.md", "# State\n\nfine\n")
    edit(group, "state.md", f"# State\n\nkey {token}\n")
    by_hand(group, "commit", "-q", "-am", f"with {token}")
    snapshot(group)
    transcript_add(group, [Spoken("c", "ada", "hello")])
    search(group, "key")
    put(group, "state.md", "# State\n\nclean\n")
    check(group)
    group.close()

    commands = [each.replace("THE-VALUE", token) for each in steps()[:6]]
    subprocess.run(
        ["sh", "-ec", "\n".join(commands)],
        check=True,
        capture_output=True,
        env={
            "HOME": str(tmp_path),
            "GITMEM_HOME": str(store.root),
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        },
    )

    group = Group(store, "main")
    objects = git_bytes(group.gitdir, "cat-file", "--batch-all-objects", "--batch")
    assert token.encode() not in objects
    kept = [each for each in store.root.rglob("*") if each.is_file()]
    assert [each for each in kept if token.encode() in each.read_bytes()] == []
    assert check(group, full=True).findings == ()
    assert status(group).secrets == ()
    put(group, "after.md", "goes on\n")
    assert "clean" in inject(group).text
    assert [each.text for each in transcript_show(group, "c").messages] == ["hello"]
    group.close()
