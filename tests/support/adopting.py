"""What adoption made of a folder, and what it must never do."""

from __future__ import annotations

from pathlib import Path

from gitmem.memory.admin.check import check
from gitmem.memory.group import Group, Store, Who
from tests.support.git import git
from tests.support.memories import history
from tests.support.samples import LETTERS, UPPER, body

KEY = "AKIA" + body(UPPER, 16, 3)
TOKEN = "gh" + "p_" + body(LETTERS, 36, 3)


def taken_of(group: Group) -> dict[str, bytes]:
    """The files of HEAD."""
    snapshot = group.repository.snapshot()
    return {path: snapshot.read(path) or b"" for path, _ in snapshot.files()}


def texts(files: dict[str, bytes]) -> dict[str, str]:
    """The same as text."""
    return {path: data.decode() for path, data in files.items()}


def opened(store: Store, name: str = "main") -> Group:
    """A group of the store."""
    return Group(store, name, who=Who("ada"))


def assert_sound(store: Store, name: str = "main") -> None:
    """Git finds nothing wrong, and neither do we."""
    assert git(store.gitdir(name), "fsck", "--strict", "--no-dangling") == ""
    group = opened(store, name)
    assert check(group).findings == ()
    group.close()


def with_secrets(root: Path) -> Path:
    """A repository where credentials stand in files, names and words, now and in the past."""
    return history(
        root,
        ("clean", {"soul.md": "I am\n", "user.md": "u\n"}),
        ("oops", {"soul.md": f"I am\nkey {KEY}\n", "gone.md": f"{TOKEN}\n"}),
        ("clean again", {"soul.md": "I am\nbrief\n", "gone.md": None}),
        (f"the token is {TOKEN}", {f"notes/{TOKEN}.md": "x\n"}),
        ("tidy", {f"notes/{TOKEN}.md": None, "user.md": f"u\n{KEY}\n"}),
    )
