"""Check and repair the index, the work tree and its `.git` file; check the names in HEAD."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from gitmem.errors import PathRefused
from gitmem.model.hints import Hint, call
from gitmem.model.paths import check_path, fold, is_inside
from gitmem.model.text.format import quoted
from gitmem.store.config import worktree_of
from gitmem.store.fsck.findings import CheckFinding, Repaired, error, info, warning
from gitmem.store.fsck.git_directory import head_state
from gitmem.store.fsck.leftovers import is_held, record_findings
from gitmem.store.history.ancestry import readable_commit
from gitmem.store.index.file import IndexFile
from gitmem.store.index.format import IndexUnreadable
from gitmem.store.index.staging import IndexBusy, entry
from gitmem.store.objects.database import Objects
from gitmem.store.objects.trees import FILE, SUBMODULE, Node
from gitmem.store.repository import Commit, Snapshot
from gitmem.store.setup import default_of, is_tied, relocation_hint, tie, to_quarantine
from gitmem.store.transaction.git_operations import CONFLICT, GitOperation, git_operation
from gitmem.store.worktree.worktree import WorkTree

if TYPE_CHECKING:
    from gitmem.store.index.file import IndexEntry
    from gitmem.store.transaction.writer import Writer

_ODD_MODES = {0o120000: "a symbolic link", SUBMODULE: "a submodule", 0o100755: "executable"}


def file_findings(entries: list[tuple[str, Node]]) -> Iterator[CheckFinding]:
    """Names and modes in HEAD that plain git committed and gitmem would have refused."""
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
    """How to give a file an allowed name; gitmem itself never touches a dot name."""
    if is_inside(path):
        return Hint("rename it: ", call("mv", path, "NEW"))
    command = f"git mv -- {quoted(path)} NEW && git commit -qm Rename"
    return f"rename it in the group's folder: `{command}`"


def _twins(path: str, names: dict[str, str]) -> Iterator[CheckFinding]:
    """Names that are equal on a file system that ignores case or Unicode form."""
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        name = "/".join(parts[:depth])
        twin = names.setdefault(fold(name), name)
        if twin != name:
            names[fold(name)] = name
            text = f"{name!r} and {twin!r} differ only in case or Unicode form"
            hint = Hint("rename one of them: ", call("mv", name, "NEW"))
            yield warning("twin", text, path=name, hint=hint)
            return


def date_findings(objects: Objects, newest: Commit | None, now: datetime) -> Iterator[CheckFinding]:
    """The first commits that are dated in the future.

    Committer time never runs backwards along the branch: one commit by a clock that is ahead gives
    its date to all that follow, so only the first is reported.
    """
    limit = (now + timedelta(minutes=10)).timestamp()
    waiting = [newest] if newest and newest.committed > limit else []
    known = {each.oid for each in waiting}
    for commit in waiting:
        parents = [readable_commit(objects, oid) for oid in commit.parents]
        late = [each for each in parents if each and each.committed > limit]
        waiting += [each for each in late if each.oid not in known]
        known |= {each.oid for each in late}
        if not late:
            when = datetime.fromtimestamp(commit.committed, now.tzinfo).isoformat(" ", "minutes")
            text = f"commit {commit.oid[:10]} is dated in the future: {when}"
            yield info("date-in-the-future", text, object=commit.oid, hint="check the system clock")


def index_findings(
    gitdir: Path, entries: list[tuple[str, Node]], *, whole: bool
) -> Iterator[CheckFinding]:
    """The index against HEAD: where the two differ and the file is HEAD's, the index is stale."""
    try:
        index = IndexFile.parse((gitdir / "index").read_bytes())
    except FileNotFoundError:
        if entries:
            text = "the index is missing: `git status` would mislead"
            yield warning("index-missing", text, path="index")
        return
    except (OSError, IndexUnreadable) as problem:
        yield warning("index-unreadable", f"the index cannot be read: {problem}", path="index")
        return
    operation = git_operation(gitdir)
    yield from _unfinished(index, operation)
    if operation or head_state(gitdir)[0] != "main":
        return  # staged files belong to the operation, or to another branch
    if is_held(gitdir) or not whole:
        return
    stale, staged = index_against_head(gitdir, index, entries)
    if is_held(gitdir) or any(record_findings(gitdir)):
        return
    if stale:
        text = f"the index is behind HEAD: a plain `git commit` would undo {', '.join(stale[:5])}"
        yield warning("index-stale", text, path="index")
    if staged:
        text = f"staged with git and not committed: {', '.join(staged[:5])}"
        yield info("staged", text, path="index", hint=Hint("commit it: ", call("capture")))


def _unfinished(index: IndexFile, operation: GitOperation | None) -> Iterator[CheckFinding]:
    """An operation that a person began with git, and its unmerged files."""
    for path in index.unmerged():
        name = path.decode("utf-8", "surrogateescape")
        hint = CONFLICT.way_on.replace("PATH", quoted(name))
        yield info("index-conflict", f"{name} is unmerged in the index", path=name, hint=hint)
    if operation:
        text = f"{operation.title} begun with git is not finished"
        yield info("git-operation", text, path="index", hint=operation.way_on)


def index_against_head(
    gitdir: Path, index: IndexFile, entries: list[tuple[str, Node]]
) -> tuple[list[str], list[str]]:
    """The paths at which the index is stale, and those that a person staged."""
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
        looks = {path: worktree.look(path) for path in differing}
    finally:
        worktree.close()
    stale = [
        path for path, look in looks.items() if look.oid == head.get(path) and not look.obstacle
    ]
    return stale, [path for path in differing if path not in stale]


def repair_index(gitdir: Path, writer: Writer) -> Iterator[Repaired]:
    """Write an unreadable index again from HEAD; update stale entries of a readable one."""
    staging, snapshot = writer.repository.staging, writer.repository.snapshot()
    path = gitdir / "index"
    index, _ = staging.load()
    with suppress(OSError, IndexBusy):
        if index is None:
            code = "index-unreadable" if os.path.lexists(path) else "index-missing"
            if os.path.lexists(path):
                to_quarantine(gitdir, path, "index")
            staging.update({}, lambda: _entries(writer, snapshot), _unsure)
            yield Repaired(code, "written again from HEAD", "index")
            return
        stale, _ = index_against_head(gitdir, index, list(snapshot.files()))
        if stale and not git_operation(gitdir):  # its staged files are not ours
            fresh = {each.path.decode(): each for each in _entries(writer, snapshot)}
            changes = {name: fresh.get(name) for name in stale}
            staging.update(changes, lambda: iter(fresh.values()), _unsure)
            yield Repaired("index-stale", "updated from HEAD", "index")


def _unsure(known: IndexEntry) -> bool:
    """Trust no stat data: git will compare the content itself."""
    del known
    return False


def _entries(writer: Writer, snapshot: Snapshot) -> Iterator[IndexEntry]:
    for path, node in snapshot.files():
        look = writer.worktree.look(path)
        yield entry(path, node.oid, look.stat if look.oid == node.oid else None)


def worktree_findings(gitdir: Path) -> Iterator[CheckFinding]:
    """A work tree that is missing, or whose `.git` is not the file that gitmem wrote."""
    worktree = worktree_of(gitdir)
    if worktree is not None and worktree.is_symlink():
        yield error(
            "worktree-link",
            f"the work tree {worktree} is a symbolic link, and gitmem follows none",
            path=str(worktree),
            hint="put the folder it leads to in its place: "
            f"`rm {quote(str(worktree))} && "
            f"mv {quote(os.path.realpath(worktree))} {quote(str(worktree))}`",
        )
        return
    if worktree is None or is_tied(gitdir, worktree):
        return
    marker = worktree / ".git"
    if not worktree.is_dir():
        yield _missing_worktree(gitdir, worktree)
    elif not os.path.lexists(marker):
        text = f"{marker} is missing: git finds no repository there"
        yield warning("gitfile-missing", text, path=str(marker))
    else:
        kind = "link" if marker.is_symlink() else "folder" if marker.is_dir() else "file"
        text = f"the {kind} {marker} does not lead to this group; gitmem ignores it, git would not"
        yield warning("gitfile-foreign", text, path=str(marker))


def _missing_worktree(gitdir: Path, worktree: Path) -> CheckFinding:
    text = f"the work tree {worktree} is missing"
    if worktree == default_of(gitdir):
        return error("worktree-missing", text, path=str(worktree))
    hint = relocation_hint(gitdir.name.removesuffix(".git"), worktree)
    return error("worktree-missing", text, path=str(worktree), hint=hint)


def is_untied(gitdir: Path, root: Path) -> bool:
    """True when the work tree or its `.git` is missing: then missing files are no deletions."""
    return not root.is_dir() or not is_tied(gitdir, root)


def repair_worktree(gitdir: Path, default: Path, writer: Writer) -> Iterator[Repaired]:
    """Write the `.git` file again, and restore the files that vanished with it."""
    root = writer.worktree.root
    count = writer.put_back()
    if (root / ".git").is_file() and not (root / ".git").is_symlink():
        to_quarantine(gitdir, root / ".git", "worktree.git")
    tie(gitdir, root, relative=root == default)
    text = f"{count} files restored" if count else "the file .git is written again"
    for code, path in (
        ("worktree-missing", root),
        ("gitfile-missing", root / ".git"),
        ("gitfile-foreign", root / ".git"),
    ):
        yield Repaired(code, text, str(path))


def capture_worktree(writer: Writer, *, deletions: bool) -> None:
    """Commit every file that differs from a HEAD that a repair moved back."""
    from gitmem.store.worktree.ignored import Ignored

    repository = writer.repository
    snapshot = repository.snapshot()
    head = {path: node.oid for path, node in snapshot.files()}
    ignored = Ignored(repository.gitdir)
    scope = repository.scope(snapshot)
    found = (path for path, _ in writer.worktree.scan(keeps=scope.keeps if scope else None))
    standing = [path for path in found if path in head or not ignored.fits(path)]
    gone = [path for path in head if path not in set(standing) and not repository.staging.oid(path)]
    for path in [*standing, *(gone if deletions else ())]:
        if writer.worktree.look(path).oid != head.get(path):
            writer.capture(path)
