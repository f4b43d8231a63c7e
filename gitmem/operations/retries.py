"""Recognising a call that was made before: the same operation id, the same edits."""

from __future__ import annotations

from collections.abc import Sequence

from gitmem.core.messages import parse
from gitmem.errors import Conflict
from gitmem.git.repository import Repository, Snapshot, differences
from gitmem.operations.applying import Aim, Edit, ended, text_bytes

RECOGNISED_WITHIN = 1000
"""How many commits back an operation id is looked for."""


def find_earlier(repository: Repository, operation: str) -> str | None:
    """The commit that an earlier call with the same id made, if it is in recent history."""
    tip = repository.tip().commit
    for number, commit in enumerate(repository.history(tip)):
        if number >= RECOGNISED_WITHIN:
            return None
        if parse(commit.message).get("Gitmem-Id") == operation:
            return commit.oid
    return None


def written_then(snapshot: Snapshot, operation: str, aims: Sequence[Aim]) -> dict[str, bytes]:
    """The files that the earlier call wrote; refuses an id that was used for something else."""
    files = {}
    for aim in {each.edit.path: each for each in aims}.values():
        path = _path_then(snapshot, aim)
        data = snapshot.read(path)
        if data is None or not _may_come_from(aim, data):
            raise Conflict(
                f"the operation id {operation!r} was used before, for another write",
                hint="use a fresh id for each operation",
                commit=snapshot.commit,
            )
        files[path] = data
    return files


def _path_then(snapshot: Snapshot, aim: Aim) -> str:
    """Where the edit went: the file of a layer has another name on another day."""
    if not aim.by_name or aim.layer is None:
        return aim.edit.path
    repository = snapshot.repository
    parents = repository.commit(snapshot.commit).parents
    before = repository.snapshot(parents[0]).root if parents else None
    changed = [path for path, _, _ in differences(repository, "", before, snapshot.root)]
    return next((path for path in changed if aim.layer.covers(path)), aim.edit.path)


def _may_come_from(aim: Aim, data: bytes) -> bool:
    """Whether a file with DATA may be what the edit made of it."""
    edit = aim.edit
    if edit.entry:
        return _has_entry(aim, data)
    if edit.fields and not _has_fields(edit, data):
        return False
    if edit.text is None:
        return True
    text = text_bytes(edit)
    if edit.fields or aim.by_name:
        return set(text.split(b"\n")) <= {*data.split(b"\n"), b""}
    if edit.append:
        return data.endswith((ended(text, b"\n"), ended(text, b"\r\n")))
    return data == text


def _has_fields(edit: Edit, data: bytes) -> bool:
    from gitmem.core.plainfields import read_fields

    found = read_fields(data.decode("utf-8", "replace"))
    return all(str(found.get(name)) == value for name, value in edit.fields)


def _has_entry(aim: Aim, data: bytes) -> bool:
    from gitmem.core.entries import put

    order = aim.layer.fields if aim.layer else ()
    text = data.decode("utf-8", "replace")
    body = None if aim.edit.text is None else text_bytes(aim.edit).decode("utf-8", "replace")
    # It is there if saying it again changes nothing.
    done = put(text, aim.edit.entry, aim.edit.fields, body, order)
    return not done.created and done.text == text
