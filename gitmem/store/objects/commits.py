"""Making trees and commits: plain bytes, so that nothing but our own values can enter them.

By hand instead of pygit2's `create_commit`: its objects would go through libgit2's database (see
`trees`), and a tree made from the index is stale under concurrency (8 unlocked writers: of 75
acknowledged commits the content of 31 was missing at HEAD).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from gitmem.errors import Conflict
from gitmem.model.commit_messages import Note, compose, signature_name, with_trailers
from gitmem.store.objects import trees
from gitmem.store.objects.trees import FILE, FOLDER, Node, Tree
from gitmem.store.repository import Repository

EMAIL = "agent@gitmem.invalid"
COMMITTER = "gitmem <gitmem@gitmem.invalid>"


def write_tree(repository: Repository, root: str | None, files: Mapping[str, bytes | None]) -> str:
    """Stage FILES on top of the tree ROOT (None: an empty one) and return the new tree's id."""
    here: dict[str, bytes | None] = {}
    below: dict[str, dict[str, bytes | None]] = {}
    for path, data in files.items():
        name, slash, rest = path.partition("/")
        if slash:
            below.setdefault(name, {})[rest] = data
        else:
            here[name] = data
    tree = dict(repository.tree(root)) if root else {}
    gone = [name for name, data in here.items() if data is None]
    for name in gone:  # first: a folder of that name may come
        if name in tree and not tree[name].is_folder:
            del tree[name]
    for name, inner in below.items():
        _set_folder(repository, tree, name, inner)
    for name, data in here.items():
        if data is not None:
            _set_file(repository, tree, name, data)
    return _write(repository, tree)


def _set_file(repository: Repository, tree: Tree, name: str, data: bytes) -> None:
    node = tree.get(name)
    if node and node.is_folder:
        raise Conflict(f"{name} is a folder, so no file can take its place")
    tree[name] = Node(FILE, repository.objects.stage("blob", data))


def _set_folder(
    repository: Repository, tree: Tree, name: str, files: Mapping[str, bytes | None]
) -> None:
    node = tree.get(name)
    if node and not node.is_folder:
        if all(data is None for data in files.values()):
            return
        raise Conflict(f"{name} is a file, so nothing can be put below it")
    oid = write_tree(repository, node.oid if node else None, files)
    if repository.tree(oid):
        tree[name] = Node(FOLDER, oid)
    else:
        tree.pop(name, None)


def _write(repository: Repository, tree: Tree) -> str:
    oid = repository.objects.stage("tree", trees.serialise(tree))
    repository.remember_tree(oid, tree)
    return oid


def commit_bytes(
    tree: str, parent: str | None, note: Note, when: datetime, committed: int, *, merged: str = ""
) -> bytes:
    """A commit object: the agent is the author, gitmem the committer; MERGED is a second parent."""
    author = signature(note.agent, when)
    zone = _zone(when.utcoffset() or timedelta())
    parents = [each for each in (parent, merged) if each]
    return raw_commit(tree, parents, author, f"{committed} {zone}", compose(note))


def raw_commit(
    tree: str, parents: Iterable[str], author: str, committed: str, message: str
) -> bytes:
    """A commit object; AUTHOR with its time, and gitmem as the committer at COMMITTED."""
    lines = [f"tree {tree}", *(f"parent {each}" for each in parents)]
    lines += [f"author {author}", f"committer {COMMITTER} {committed}"]
    return ("\n".join(lines) + "\n\n" + message).encode("utf-8", "backslashreplace")


def rewritten(
    raw: bytes, tree: str, parents: Iterable[str], extra: tuple[tuple[str, str], ...]
) -> bytes:
    """The commit RAW with another tree and other parents, and EXTRA trailers that say so.

    Author, committer and their times stay. A signature goes: it was for other bytes.
    """
    head, _, message = raw.partition(b"\n\n")
    lines = [f"tree {tree}".encode(), *(f"parent {each}".encode() for each in parents)]
    word = b""
    for line in head.split(b"\n"):
        word = word if line.startswith(b" ") else line.partition(b" ")[0]
        if word not in (b"tree", b"parent", b"gpgsig", b"gpgsig-sha256", b"mergetag"):
            lines.append(line)
    text = with_trailers(message.decode("utf-8", "surrogateescape"), extra)
    return b"\n".join(lines) + b"\n\n" + text.encode("utf-8", "surrogateescape")


def signature(agent: str, when: datetime, email: str = EMAIL) -> str:
    """Who made a commit or a tag, and when, as git writes it."""
    zone = _zone(when.utcoffset() or timedelta())
    return f"{signature_name(agent)} <{email}> {int(when.timestamp())} {zone}"


def _zone(offset: timedelta) -> str:
    minutes = int(offset.total_seconds()) // 60
    sign, minutes = ("-", -minutes) if minutes < 0 else ("+", minutes)
    return f"{sign}{minutes // 60:02}{minutes % 60:02}"
