"""What stands in HEAD and in the index: names, kinds and dates that gitmem would not have made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from gitmem.errors import PathRefused
from gitmem.model.paths import check_path, fold, is_inside
from gitmem.model.text.format import quoted
from gitmem.store.fsck import git_directory as upkeep
from gitmem.store.fsck.findings import Finding, info, warning
from gitmem.store.fsck.reachable import GITLINK
from gitmem.store.index.file import IndexFile
from gitmem.store.index.format import IndexUnreadable
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.objects.trees import FILE, Node
from gitmem.store.repository import Commit, parse_commit
from gitmem.store.setup import worktree_of
from gitmem.store.transaction.git_operations import CONFLICT, GitOperation, git_operation
from gitmem.store.worktree.worktree import WorkTree

_ODD_MODES = {0o120000: "a link", GITLINK: "another repository", 0o100755: "executable"}


def file_findings(entries: list[tuple[str, Node]]) -> Iterator[Finding]:
    """What came into HEAD by plain git and would not have come in by gitmem."""
    names: dict[str, str] = {}
    for path, node in sorted(entries):
        if node.mode != FILE:
            what = _ODD_MODES.get(node.mode, f"of mode {node.mode:o}")
            yield info("not-a-plain-file", f"{path} is {what} in git", path=path)
        try:
            check_path(path)
        except PathRefused as refused:
            text = f"{path!r} was committed by plain git and breaks the rules: {refused.message}"
            yield warning("path-refused", text, path=path, hint=_rename(path))
        yield from _twins(path, names)


def _rename(path: str) -> str:
    """How to give a file a name that the rules allow; gitmem itself never touches a dot name."""
    if is_inside(path):
        return f"rename it: `gitmem mv {quoted(path)} NEW`"
    command = f"git mv -- {quoted(path)} NEW && git commit -qm Rename"
    return f"rename it in the group's folder: `{command}`"


def _twins(path: str, names: dict[str, str]) -> Iterator[Finding]:
    """Names that are one on a file system that ignores case or Unicode form."""
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        name = "/".join(parts[:depth])
        twin = names.setdefault(fold(name), name)
        if twin != name:
            names[fold(name)] = name
            text = f"{name!r} and {twin!r} differ only in case or Unicode form"
            way = f"rename one of them: `gitmem mv {quoted(name)} NEW`"
            yield warning("twin", text, path=name, hint=way)
            return


def date_findings(objects: Objects, newest: Commit | None, now: datetime) -> Iterator[Finding]:
    """Commits from a time that has not come yet.

    Committer time never runs backwards along the branch: one commit by a clock that is ahead gives
    its date to all that follow. So only the first one is named.
    """
    limit = (now + timedelta(minutes=10)).timestamp()
    for each in _first_after(objects, newest, limit):
        when = datetime.fromtimestamp(each.committed, now.tzinfo).isoformat(" ", "minutes")
        text = f"commit {each.oid[:10]} is dated in the future: {when}"
        yield info("date-in-the-future", text, object=each.oid, hint="see if the clock is right")


def _first_after(objects: Objects, newest: Commit | None, limit: float) -> Iterator[Commit]:
    """The commits behind NEWEST that are later than LIMIT, and that are built on none that is."""
    waiting = [newest] if newest and newest.committed > limit else []
    seen = {each.oid for each in waiting}
    while waiting:
        commit = waiting.pop()
        before = [_read_commit(objects, oid) for oid in commit.parents]
        late = [each for each in before if each and each.committed > limit]
        if not late:
            yield commit
        waiting += [each for each in late if each.oid not in seen]
        seen |= {each.oid for each in late}


def _read_commit(objects: Objects, oid: str) -> Commit | None:
    with suppress(ObjectDamaged):
        return parse_commit(oid, objects.read_as("commit", oid))
    return None


def index_findings(
    gitdir: Path, entries: list[tuple[str, Node]], *, whole: bool
) -> Iterator[Finding]:
    """The index against HEAD: where the two differ and the file is HEAD's, the index is stale."""
    try:
        index = IndexFile.parse((gitdir / "index").read_bytes())
    except FileNotFoundError:
        if entries:
            yield warning(
                "index-missing", "the index is missing: `git status` would mislead", path="index"
            )
        return
    except (OSError, IndexUnreadable) as problem:
        yield warning("index-unreadable", f"the index cannot be read: {problem}", path="index")
        return
    operation = git_operation(gitdir)
    yield from _unfinished(index, operation)
    if operation or upkeep.head_state(gitdir)[0] != "main":
        return  # what is staged belongs to the operation, or to another branch
    if upkeep.is_held(gitdir) or not whole:
        return
    stale, staged = index_against_head(gitdir, index, entries)
    if upkeep.is_held(gitdir) or any(upkeep.record_findings(gitdir)):
        return
    if stale:
        text = f"the index is behind HEAD: a plain `git commit` would undo {', '.join(stale[:5])}"
        yield warning("index-stale", text, path="index")
    if staged:
        text = f"staged with git and not committed: {', '.join(staged[:5])}"
        yield info("staged", text, path="index", hint="commit it: `gitmem capture`")


def _unfinished(index: IndexFile, operation: GitOperation | None) -> Iterator[Finding]:
    """What a person has begun with git, and the files whose conflicts wait for them."""
    for path in index.unmerged():
        name = path.decode("utf-8", "surrogateescape")
        way = CONFLICT.way_on.replace("PATH", quoted(name))
        yield info("index-conflict", f"{name} is in conflict in the index", path=name, hint=way)
    if operation:
        text = f"{operation.title} begun with git is not finished"
        yield info("git-operation", text, path="index", hint=operation.way_on)


def index_against_head(
    gitdir: Path, index: IndexFile, entries: list[tuple[str, Node]]
) -> tuple[list[str], list[str]]:
    """The paths that only the index has otherwise, and those that somebody staged."""
    head = {path: node.oid for path, node in entries}
    there = {
        entry.path.decode("utf-8", "surrogateescape"): entry.oid.hex() for entry in index.entries()
    }
    unmerged = {path.decode("utf-8", "surrogateescape") for path in index.unmerged()}
    differing = [
        path
        for path in sorted((head.keys() | there.keys()) - unmerged)
        if head.get(path) != there.get(path)
    ]
    root = worktree_of(gitdir)
    if not differing or root is None or not root.is_dir():
        return [], []
    worktree = WorkTree(root)
    try:
        seen = {path: worktree.look(path) for path in differing}
    finally:
        worktree.close()
    stale = [
        path for path in differing if seen[path].oid == head.get(path) and not seen[path].obstacle
    ]
    return stale, [path for path in differing if path not in stale]
