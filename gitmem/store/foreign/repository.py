"""Read the repository that a folder belongs to, for adoption.

Objects are read and checked by our own reader, because libgit2 never returns from a truncated one.
No program, filter or hook of that repository runs, no link is followed and nothing is written.

By hand instead of pygit2's `Repository`, which opens it for its settings only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.store.config import parse_config, unread
from gitmem.store.isolation import seal
from gitmem.store.objects.database import ObjectDamaged, ObjectMissing, Objects
from gitmem.store.objects.trees import FOLDER, Node, Tree, parse
from gitmem.store.repository import Commit, Difference, differences, parse_commit

if TYPE_CHECKING:
    import pygit2

MAX_ALTERNATES = 8
LINK = 0o120000
SUBMODULE = 0o160000
LFS = b"version https://git-lfs.github.com/spec/v1\n"
CACHED = 4096
_ID = 40


class HistoryUnreadable(Exception):
    """A history exists and cannot be read; the message says why."""


class ForeignCommit(NamedTuple):
    """A commit of the foreign repository."""

    commit: Commit
    email: str
    root: str | None
    """The tree of the adopted folder; None where the commit does not have it."""


class Past(NamedTuple):
    """The readable part of a history."""

    commits: tuple[ForeignCommit, ...]
    """Parents before children."""
    problems: tuple[str, ...]
    """Why the history may be incomplete."""


class Foreign:
    """The repository to which a folder belongs."""

    def __init__(self, top: Path, gitdir: Path, prefix: str, *, bare: bool = False) -> None:
        self.top = top
        self.gitdir = gitdir
        self.common = _common_of(gitdir)
        self.prefix = prefix
        """The folder's path in the repository; empty for its top."""
        self.bare = bare
        self._config = {
            **parse_config(_small_text(self.common / "config") or ""),
            **parse_config(_small_text(self.gitdir / "config.worktree") or ""),
        }
        self._check_form()
        self._objects = [Objects(each, stand_ins=False) for each in _stores_of(self.common)]
        self._trees: dict[str, Tree] = {}
        self._raw: pygit2.Repository | None = None

    @property
    def is_own(self) -> bool:
        """True when the folder is the top of the repository."""
        return not self.prefix

    @property
    def is_sparse(self) -> bool:
        """True when files that are missing from the folder may not be deleted."""
        return self._config.get("core.sparsecheckout", "").lower() == "true"

    def folders(self) -> Iterator[Path]:
        """The git directories that are read."""
        yield from (self.gitdir, self.common)
        yield from _stores_of(self.common)

    def close(self) -> None:
        """Close file handles."""
        for each in self._objects:
            each.close()

    def head(self) -> str | None:
        """The commit of HEAD; None on an unborn branch."""
        text = _small_text(self.gitdir / "HEAD")
        if text is None:
            raise HistoryUnreadable("its HEAD cannot be read")
        for _ in range(5):
            if not text.startswith("ref: "):
                break
            name = text[5:].strip()
            found = _small_text(self.common / name) or _packed_ref(self.common, name)
            if found is None:
                return None
            text = found
        oid = text.strip()
        if len(oid) != _ID or not all(char in "0123456789abcdef" for char in oid):
            raise HistoryUnreadable("its HEAD names no commit")
        return oid

    def tracks(self) -> bool:
        """True when HEAD has the folder."""
        with suppress(ObjectDamaged, HistoryUnreadable):
            head = self.head()
            return head is not None and self._commit(head, shallow=False).root is not None
        return False

    def past(self, head: str) -> Past:
        """HEAD and its ancestors, as far as they can be read."""
        shallow = set((_small_text(self.common / "shallow") or "").split())
        problems = ["it is a shallow clone: earlier commits are missing"] if shallow else []
        found: dict[str, ForeignCommit | None] = {}
        order: list[ForeignCommit] = []
        waiting = [(head, False)]
        while waiting:
            oid, entered = waiting.pop()
            commit = found.get(oid)
            if entered and commit:
                order.append(commit)
            if entered or oid in found:
                continue
            try:
                commit = found[oid] = self._commit(oid, shallow=oid in shallow)
            except ObjectDamaged as error:
                found[oid] = None
                problems.append(f"the commit {oid[:10]} cannot be read: it is {error.why}")
                continue
            waiting.append((oid, True))
            waiting += [(parent, False) for parent in reversed(commit.commit.parents)]
        known = {each.commit.oid for each in order}
        return Past(tuple(_within(each, known) for each in order), tuple(problems))

    def changes(self, before: str | None, after: str | None) -> list[Difference]:
        """The files in which two trees differ; raises ObjectDamaged."""
        return list(differences(self, "", before, after))

    def names(self, root: str | None) -> frozenset[str]:
        """The paths of all files below a tree."""
        return frozenset(path for path, _, _ in self.changes(None, root))

    def blob(self, oid: str) -> bytes:
        """The content of a blob; raises ObjectDamaged."""
        return self._read("blob", oid)

    def tree(self, oid: str) -> Tree:
        """The tree OID; raises ObjectDamaged."""
        tree = self._trees.get(oid)
        if tree is None:
            try:
                tree = parse(self._read("tree", oid))
            except ValueError as error:
                raise ObjectDamaged(oid, "not a tree") from error
            if len(self._trees) >= CACHED:
                self._trees.clear()
            self._trees[oid] = tree
        return tree

    def ignores(self, path: str) -> bool:
        """True when the repository's rules ignore PATH."""
        import pygit2  # only for a folder that is a repository

        with suppress(pygit2.GitError, OSError, KeyError, ValueError):
            if self._raw is None:
                seal()
                flags = pygit2.enums.RepositoryOpenFlag.NO_SEARCH
                self._raw = pygit2.Repository(str(self.top), flags)
            return self._raw.path_is_ignored(path)
        return False

    def _commit(self, oid: str, *, shallow: bool) -> ForeignCommit:
        data = _as_utf8(self._read("commit", oid))
        commit = parse_commit(oid, data)
        if shallow:
            commit = commit._replace(parents=())
        return ForeignCommit(commit, _email(data), self._root(commit.tree))

    def _root(self, tree: str) -> str | None:
        """The tree at the prefix; None where it is missing or cannot be read."""
        node: Node | None = Node(FOLDER, tree)
        with suppress(ObjectDamaged):
            for part in self.prefix.split("/") if self.prefix else ():
                node = self.tree(node.oid).get(part) if node and node.is_folder else None
            return node.oid if node and node.is_folder else None
        return None

    def _read(self, kind: str, oid: str) -> bytes:
        for each in self._objects:
            with suppress(ObjectMissing):
                return each.read_as(kind, oid)
        raise ObjectMissing(oid)

    def _check_form(self) -> None:
        found = unread(self._config)
        if found:
            raise HistoryUnreadable(found.why)
        for each in (self.gitdir / "HEAD", self.common / "objects", self.common / "refs"):
            if each.is_symlink():
                raise HistoryUnreadable(f"{each.name} in its git directory is a link")
            if not each.exists():
                raise HistoryUnreadable(f"its git directory has no {each.name}")


def find(folder: Path, *, above_only: bool = False) -> Foreign | None:
    """The repository that FOLDER is or is tracked in; None for none.

    ABOVE_ONLY: a repository at FOLDER itself does not count.
    """
    if not above_only and _is_bare(folder):
        return Foreign(folder, folder, "", bare=True)
    for above in folder.parents if above_only else (folder, *folder.parents):
        if os.path.lexists(above / ".git"):
            inside = folder.relative_to(above).as_posix()
            found = Foreign(above, _gitdir_of(above), "" if inside == "." else inside)
            return found if found.is_own or found.tracks() else None
    return None


def is_repository(folder: Path) -> bool:
    """True when FOLDER is the top of a repository, sound or not."""
    return os.path.lexists(folder / ".git") or _is_bare(folder)


def _within(found: ForeignCommit, known: set[str]) -> ForeignCommit:
    """The commit without parents that are not KNOWN."""
    parents = tuple(each for each in found.commit.parents if each in known)
    return found._replace(commit=found.commit._replace(parents=parents))


def _as_utf8(data: bytes) -> bytes:
    """A commit object, converted to UTF-8 from the encoding that it declares."""
    head = data.partition(b"\n\n")[0]
    for line in head.split(b"\n"):
        key, _, name = line.partition(b" ")
        if key == b"encoding":
            with suppress(LookupError):
                return data.decode(name.decode("ascii", "replace"), "replace").encode()
    return data


def _email(data: bytes) -> str:
    for line in data.partition(b"\n\n")[0].split(b"\n"):
        if line.startswith(b"author "):
            return line.partition(b"<")[2].partition(b">")[0].decode("utf-8", "replace")
    return ""


def _is_bare(folder: Path) -> bool:
    """True when FOLDER is a bare repository."""
    parts = ("HEAD", "objects", "refs")
    return not os.path.lexists(folder / ".git") and all((folder / each).exists() for each in parts)


def _gitdir_of(top: Path) -> Path:
    """The git directory of the work tree at TOP."""
    marker = top / ".git"
    if marker.is_symlink():
        raise HistoryUnreadable("its .git is a link, and links are not followed")
    if marker.is_dir():
        return marker
    kind, _, target = (_small_text(marker) or "").strip().partition(": ")
    if kind != "gitdir":
        raise HistoryUnreadable("its .git is neither a folder nor a file that names one")
    return Path(os.path.realpath(top / target))


def _common_of(gitdir: Path) -> Path:
    """The git directory whose branches and objects several work trees share."""
    named = _small_text(gitdir / "commondir")
    return Path(os.path.realpath(gitdir / named.strip())) if named else gitdir


def _stores_of(common: Path) -> list[Path]:
    """The git directory, and those that its alternates name."""
    found = [common]
    for each in found:
        text = _small_text(each / "objects" / "info" / "alternates") or ""
        for line in text.splitlines():
            lender = Path(os.path.realpath(each / "objects" / line)).parent
            if line and lender not in found and len(found) < MAX_ALTERNATES:
                found.append(lender)
    return found


def _packed_ref(common: Path, name: str) -> str | None:
    """The commit of a packed ref."""
    for line in (_small_text(common / "packed-refs", limit=1 << 26) or "").splitlines():
        oid, _, ref = line.partition(" ")
        if ref == name:
            return oid
    return None


def _small_text(path: Path, limit: int = 1 << 20) -> str | None:
    """The text of a small file; None for a missing file and for a link."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with open(fd, "rb") as file:
            return file.read(limit).decode("utf-8", "replace")
    except OSError:
        return None
