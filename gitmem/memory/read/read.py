"""Read a file as it is, or was: from a commit, never from the work tree."""

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
"""How many commits back a missing path is looked for."""
NEAR_SHOWN = 3


class Read(Record):
    """A file of one commit, byte for byte."""

    path: str
    commit: str
    blob: str
    data: bytes

    @property
    def text(self) -> str:
        """The file as text; bytes that are not UTF-8 show as the replacement character."""
        return self.data.decode("utf-8", "replace")


def read(group: Group, path: str, *, at: str | None = None) -> Read:
    """The file at PATH, as it is or was at a moment."""
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
    """PATH as the group names it; a name that plain git put there is fine, others are judged.

    Such a name may also be typed as it is printed, with `\\u{000A}` for what cannot be seen.
    """
    try:
        return group.relative(path)
    except PathRefused:
        for name in map(group.inside, (path, revealed(path))):
            if name and snapshot.node(name):
                return name
        raise


def missing(group: Group, snapshot: Snapshot, path: str) -> PathNotFound:
    """Why there is no file at PATH, and what to do about it."""
    if snapshot.node(path):
        return _no_file(snapshot, path)
    if group.repository.snapshot().node(path):
        return PathNotFound(
            f"there was no {path} at {snapshot.commit[:10]}; it came later",
            hint=Hint("see since when: ", call("log", path)),
            path=path,
        )
    from gitmem.store.history.log import follow  # only where something is missing

    visits = follow(group.repository, snapshot.commit, path, within=SEARCHED_BACK)
    last = next(visits, None)
    if last:
        return _vanished(group, path, last.commit)
    return _lost(group, path) or _unknown(snapshot, path)


def _lost(group: Group, path: str) -> PathNotFound | None:
    """Why there is no file at PATH, where commits that came back lack it."""
    from gitmem.store.lost_commits.unreadable import unreadable

    for each in unreadable(group.gitdir, group.repository.objects):
        if each.path and each.concerns(path):
            hint = Hint(call("check"), " shows how to bring it back from a copy of the group")
            text = f"there is no {path} in this group: {each.message}"
            return PathNotFound(text, hint=hint, path=path, object=each.object)
    return None


def _no_file(snapshot: Snapshot, path: str) -> PathNotFound:
    node = snapshot.node(path)
    if node and node.mode == SUBMODULE:
        return PathNotFound(f"{path} is a git repository of its own, not a file", path=path)
    what = f"{path} is a folder" if path else "no file was named"
    files = call("list", path) if path else call("list")
    return PathNotFound(what, hint=Hint("see which files there are: ", files), path=path)


def _vanished(group: Group, path: str, last: Commit) -> PathNotFound:
    """It existed: say what became of it, and how to have it back. LAST is who touched it last."""
    from gitmem.store.history.log import locate

    repository = group.repository
    holders = (last, *map(repository.commit, last.parents))
    holder = next(each for each in holders if locate(repository, each.tree, path))
    when = last.time.astimezone(group.zone).strftime("%Y-%m-%d %H:%M")
    target = _moved_to(repository, last, holder, path)
    if target:
        return PathNotFound(
            f"there is no {path} any more: it was moved to {target} on {when}",
            hint=Hint("read it with ", call("read", target)),
            path=path,
            moved_to=target,
        )
    # A merge by hand can lose a file that no commit deleted.
    what = "last changed" if holder == last else "deleted"
    return PathNotFound(
        f"there is no {path} any more: it was {what} on {when}, in {last.oid[:10]}",
        hint=Hint("bring it back with ", call("restore", path, at=holder.oid[:10])),
        path=path,
        restore=command("restore", path, at=holder.oid[:10]),
    )


def _moved_to(repository: Repository, last: Commit, holder: Commit, path: str) -> str:
    from gitmem.store.history.moves import compare_commit

    moves = compare_commit(repository, last, holder).moves
    return next((target for target, source in moves.items() if source == path), "")


def _unknown(snapshot: Snapshot, path: str) -> PathNotFound:
    near = near_misses(path, [each for each, _ in snapshot.files()])
    hint = (
        f"did you mean {' or '.join(near)}?" if near else Hint("list the files with ", call("list"))
    )
    return PathNotFound(f"there is no {path} in this group", hint=hint, path=path, near=near)


def near_misses(path: str, known: list[str]) -> list[str]:
    """The KNOWN paths that PATH may have been meant to be: twins, same name elsewhere, spelling."""
    from difflib import get_close_matches  # only where something was mistyped

    key, name = fold(path), fold(path.rpartition("/")[2])
    twins = [each for each in known if fold(each) == key]
    elsewhere = [each for each in known if fold(each.rpartition("/")[2]) == name]
    alike = get_close_matches(path, known, NEAR_SHOWN, 0.7)
    return list(dict.fromkeys([*twins, *elsewhere, *alike]))[:NEAR_SHOWN]
