"""Write commits of a foreign history on top of a branch.

They keep their order, merges, authors, dates and messages. No ref leads to them until the caller
publishes the last one, so a process that dies here leaves unreachable objects and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from gitmem.store.objects.commits import EMAIL, raw_commit, signature, write_tree
from gitmem.store.repository import Repository

ROOT = ""
"""The key of the commit below the first one."""


class Grafted(NamedTuple):
    """One commit to write."""

    key: str
    parents: tuple[str, ...]
    """Keys of commits before it; its files are changes to the first."""
    files: Mapping[str, bytes | None]
    """New contents by path; None removes a file."""
    author: str
    when: datetime
    message: str
    email: str = EMAIL


def graft(repository: Repository, base: str, line: Iterable[Grafted], now: datetime) -> str:
    """Write LINE on top of the commit BASE, durably; the id of the last commit."""
    start = repository.commit(base)
    seconds = max(int(now.timestamp()), start.committed)
    # Committer time never runs backwards, whatever the authors' clocks said.
    committed = f"{seconds} {now.strftime('%z')[:5]}"
    made, trees, last = {ROOT: base}, {ROOT: start.tree}, base
    for each in line:
        tree = write_tree(repository, trees[each.parents[0]], each.files)
        parents = [made[key] for key in each.parents]
        author = signature(each.author, each.when, plain_email(each.email))
        raw = raw_commit(tree, parents, author, committed, each.message)
        last = repository.objects.stage("commit", raw)
        made[each.key], trees[each.key] = last, tree
    repository.objects.flush()
    return last


def plain_email(text: str) -> str:
    """An address that cannot break an author line."""
    return "".join(char for char in text if char.isprintable() and char not in "<> ") or EMAIL
