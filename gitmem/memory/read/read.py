"""Read a file from a commit, never from the work tree."""

from __future__ import annotations

from gitmem.errors import PathNotFound, PathRefused
from gitmem.memory.group import Group
from gitmem.memory.resolve import resolve
from gitmem.model.commit_messages import revealed
from gitmem.model.hints import Hint, call, command
from gitmem.model.paths import fold
from gitmem.model.record import Record
from gitmem.store.objects.trees import SUBMODULE
from gitmem.store.repository import Commit, Repository, Snapshot

SEARCHED_BACK = 2000
"""The number of commits searched for a missing path."""
NEAR_SHOWN = 3


class Read(Record):
    """A file of one commit."""

    path: str
    commit: str
    blob: str
    data: bytes

    @property
    def text(self) -> str:
        """The file as text, with a replacement character for bytes that are not UTF-8."""
        return self.data.decode("utf-8", "replace")


def read(group: Group, path: str, *, at: str | None = None) -> Read:
    """The file at PATH, from HEAD or as it was AT a moment."""
    snapshot = group.repository.snapshot(resolve(group, at))
    path = known_path(group, snapshot, path)
    node = snapshot.node(path)
    if at and (node is None or not node.is_folder):
        from gitmem.store.lost_commits.unreadable import lost_files

        node = lost_files(snapshot, path).get(path, node)
    if node is None or node.is_folder or node.mode == SUBMODULE:
        raise missing(group, snapshot, path)
    data = group.repository.objects.read_as("blob", node.oid)
    return Read(path, snapshot.commit, node.oid, data)


def known_path(group: Group, snapshot: Snapshot, path: str) -> str:
    """PATH relative to the group; raises PathRefused for an invalid path that git does not have.

    A path that plain git committed may also be typed as it is printed, with `\\u{000A}` for an
    invisible character.
    """
    try:
        return group.relative(path)
    except PathRefused:
        for name in map(group.inside, (path, revealed(path))):
            if name and snapshot.node(name):
                return name
        raise


def missing(group: Group, snapshot: Snapshot, path: str) -> PathNotFound:
    """The error for a PATH without a file: what became of it, and the next step."""
    if snapshot.node(path):
        return _no_file(snapshot, path)
    if group.repository.snapshot().node(path):
        return PathNotFound(
            f"no file {path!r} at {snapshot.commit[:10]}; it was created later",
            hint=Hint("see its history: ", call("log", path)),
            path=path,
        )
    from gitmem.store.history.log import follow  # only for a missing file

    visits = follow(group.repository, snapshot.commit, path, within=SEARCHED_BACK)
    last = next(visits, None)
    if last:
        return _vanished(group, path, last.commit)
    return _lost(group, path) or _unknown(group, snapshot, path)


def _lost(group: Group, path: str) -> PathNotFound | None:
    """The error if recovered commits lack PATH."""
    from gitmem.store.lost_commits.unreadable import unreadable

    for each in unreadable(group.gitdir, group.repository.objects):
        if each.path and each.concerns(path):
            hint = Hint(call("check"), " shows how to bring it back from a copy of the group")
            text = f"no file {path!r} in group {group.name}: {each.message}"
            return PathNotFound(text, hint=hint, path=path, object=each.object)
    return None


def _no_file(snapshot: Snapshot, path: str) -> PathNotFound:
    node = snapshot.node(path)
    if node and node.mode == SUBMODULE:
        return PathNotFound(f"{path} is a nested git repository, not a file", path=path)
    what = f"{path} is a folder" if path else "no file given"
    files = call("list", path) if path else call("list")
    return PathNotFound(what, hint=Hint("list the files: ", files), path=path)


def _vanished(group: Group, path: str, last: Commit) -> PathNotFound:
    """The error for a file that was moved or deleted; LAST is the last commit that changed it."""
    from gitmem.store.history.log import locate

    repository = group.repository
    holders = (last, *map(repository.commit, last.parents))
    holder = next(each for each in holders if locate(repository, each.tree, path))
    when = last.time.astimezone(group.zone).strftime("%Y-%m-%d %H:%M")
    target = _moved_to(repository, last, holder, path)
    if target:
        return PathNotFound(
            f"no file {path!r} in group {group.name}: it was moved to {target} on {when}",
            hint=Hint("read it with ", call("read", target)),
            path=path,
            moved_to=target,
        )
    # A merge by hand can lose a file that no commit deleted.
    what = "last changed" if holder == last else "deleted"
    return PathNotFound(
        f"no file {path!r} in group {group.name}: it was {what} on {when}, in {last.oid[:10]}",
        hint=Hint("bring it back with ", call("restore", path, at=holder.oid[:10])),
        path=path,
        restore=command("restore", path, at=holder.oid[:10]),
    )


def _moved_to(repository: Repository, last: Commit, holder: Commit, path: str) -> str:
    from gitmem.store.history.moves import compare_commit

    moves = compare_commit(repository, last, holder).moves
    return next((target for target, source in moves.items() if source == path), "")


def _unknown(group: Group, snapshot: Snapshot, path: str) -> PathNotFound:
    near = near_misses(path, [each for each, _ in snapshot.files()])
    hint = (
        f"did you mean {' or '.join(near)}?" if near else Hint("list the files with ", call("list"))
    )
    text = f"no file {path!r} in group {group.name}"
    return PathNotFound(text, hint=hint, path=path, near=near)


def near_misses(path: str, known: list[str]) -> list[str]:
    """The KNOWN paths nearest to PATH: other case, same name in another folder, like spelling."""
    from difflib import get_close_matches  # only for an unknown path

    key, name = fold(path), fold(path.rpartition("/")[2])
    twins = [each for each in known if fold(each) == key]
    elsewhere = [each for each in known if fold(each.rpartition("/")[2]) == name]
    alike = get_close_matches(path, known, NEAR_SHOWN, 0.7)
    return list(dict.fromkeys([*twins, *elsewhere, *alike]))[:NEAR_SHOWN]
