"""Histories of any shape, made by git itself, and ways to hurt them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gitmem.memory.group import Group
from gitmem.memory.write.write import Allowed, Edit, Written, write
from gitmem.store.repository import Repository
from tests.support.git import git, git_bytes


class Drawn(NamedTuple):
    """One commit of a history: when, on top of which earlier ones, and all its files."""

    time: int
    parents: tuple[int, ...]
    files: Mapping[str, str]
    op: str = ""
    """The operation that made it; nothing for a commit of plain git."""
    run: str = ""
    """The captures that it was made with."""
    source: str = ""
    """Where an adopted commit comes from."""


def import_history(folder: Path, commits: Sequence[Drawn]) -> Repository:
    """A bare repository with COMMITS, the last of which is the tip of main."""
    git(folder.parent, "init", "-q", "--bare", "-b", "main", str(folder))
    stream = b"".join(_record(number, each) for number, each in enumerate(commits, 1))
    loose = ("-c", "fastimport.unpackLimit=100000")
    git_bytes(folder, *loose, "fast-import", "--quiet", "--force", input=stream)
    return Repository(folder)


def _record(number: int, commit: Drawn) -> bytes:
    first, *others = commit.parents or (0,)
    said = f"{number}\n\nGitmem-Op: {commit.op}\n" if commit.op else str(number)
    said += f"Gitmem-Run: {commit.run}\n" if commit.run else ""
    said += f"Gitmem-Source: {commit.source}\n" if commit.source else ""
    lines = [
        "reset refs/heads/main",  # a root has no parent, whatever the branch held before
        "",
        "commit refs/heads/main",
        f"mark :{number}",
        f"committer A Person <person@example.org> {commit.time} +0000",
        f"data {len(said)}",
        said,
    ]
    lines += [f"from :{first}"] if first else []
    lines += [f"merge :{other}" for other in others]
    lines.append("deleteall")
    for path, text in commit.files.items():
        lines += [f"M 100644 inline {path}", f"data {len(text.encode())}", text]
    return ("\n".join(lines) + "\n").encode()


def put(group: Group, path: str, text: str | bytes, **facts: str) -> Written:
    """Write one file, whatever it loses by it."""
    return write(group, [Edit(path, text)], allowed=Allowed(shrink=True), **facts)


def edit(group: Group, path: str, text: str | bytes) -> Path:
    """Write a work-tree file with ordinary tools."""
    file = group.worktree / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def dropped_by_stash(group: Group, path: str, text: str) -> str:
    """A write that a `git stash`, which had read HEAD before, takes off the branch; its commit."""
    before = group.repository.tip()
    commit = put(group, path, text).commit
    how = "reset: moving to HEAD"
    git(group.gitdir, "update-ref", "-m", how, "refs/heads/main", before)
    git(group.worktree, "read-tree", "--reset", "-u", before)
    return commit


def by_hand(group: Group, *args: str, at: str = "") -> str:
    """What a person does with plain git in the work tree."""
    dates = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at} if at else {}
    return git(group.worktree, *args, env=dates).strip()


def truncate(repository: Repository, oid: str) -> None:
    """Damage an object in the way that makes libgit2 loop for ever, with no second copy at hand."""
    repository.objects.rescuer = None
    path = repository.objects.loose_path(oid)
    os.chmod(path, 0o600)
    os.truncate(path, os.path.getsize(path) - 4)


def lose(repository: Repository, oid: str) -> None:
    """Remove an object, with no second copy at hand."""
    repository.objects.rescuer = None
    os.unlink(repository.objects.loose_path(oid))


def reopened(group: Group) -> Group:
    """The same group, with nothing remembered of it."""
    again = Group(group.store, group.name, who=group.who, now=group.now)
    if group.repository.objects.rescuer is None:
        again.repository.objects.rescuer = None
    return again
