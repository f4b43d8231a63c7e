"""Recognise a call that was made before, by its operation id and its request."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha1

from gitmem.errors import Conflict
from gitmem.memory.write.apply import Edit
from gitmem.model.commit_messages import parse
from gitmem.store.repository import Repository, Snapshot, differences

RECOGNISED_WITHIN = 1000
"""How many commits back an operation id is looked for."""
REQUEST = "Gitmem-Request"
"""The trailer that tells two requests with one id apart."""


def find_earlier(repository: Repository, operation: str, op: str = "") -> str | None:
    """The commit that an earlier call with the same id made, if it is in recent history.

    OP: only one that did this; an id says nothing about what was done under it.
    """
    tip = repository.tip()
    for number, commit in enumerate(repository.history(tip)):
        if number >= RECOGNISED_WITHIN:
            return None
        note = parse(commit.message)
        if note.id == operation and op in ("", note.op):
            return commit.oid
    return None


def digest_of(edits: Sequence[Edit]) -> str:
    """A digest of a request: of everything but the line numbers of a batch."""
    facts = [(edit._replace(line=0, text=None), _text(edit)) for edit in edits]
    return sha1(repr(facts).encode("utf-8", "backslashreplace"), usedforsecurity=False).hexdigest()


def _text(edit: Edit) -> bytes | None:
    text = edit.text
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def written_then(snapshot: Snapshot, operation: str, digest: str) -> dict[str, bytes]:
    """The files that the earlier call wrote; refuses an id that was used for something else."""
    repository = snapshot.repository
    commit = repository.commit(snapshot.commit)
    if parse(commit.message).get(REQUEST) != digest:
        raise Conflict(
            f"the operation id {operation!r} was used before, for another write",
            hint="use a fresh id for each operation",
            commit=snapshot.commit,
        )
    before = repository.snapshot(commit.parents[0]).root if commit.parents else None
    changed = [path for path, _, _ in differences(repository, "", before, snapshot.root)]
    return {path: snapshot.read(path) or b"" for path in changed}
