"""Commits that were made elsewhere, made anew on top of a branch.

They keep their order, merges, authors, dates and words. Nothing points at them until somebody
publishes the last one, so a process that dies here leaves unreachable objects and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from gitmem.store.objects.commits import EMAIL, raw_commit, signature, write_tree
from gitmem.store.repository import Repository

ROOT = ""
"""The key of the commit on which the line begins."""


class Remade(NamedTuple):
    """One commit of the line."""

    key: str
    parents: tuple[str, ...]
    """Keys of commits that came before it, the first being the one its files build on."""
    files: Mapping[str, bytes | None]
    """What it changes; None removes."""
    author: str
    when: datetime
    message: str
    email: str = EMAIL


def graft(repository: Repository, base: str, line: Iterable[Remade], now: datetime) -> str:
    """Write LINE on top of the commit BASE, durably, and tell the id of its last commit."""
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
