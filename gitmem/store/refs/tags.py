"""Annotated tags: written object first, then the ref, so that a crash leaves nothing that counts.

Needs the repository's lock for everything that writes.

By hand instead of pygit2's `create_tag`: it writes object and ref in one call, through libgit2's
object database and past the locks of the dead (see `objects/database` and `refs`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from gitmem.errors import Damaged
from gitmem.store import fault_points
from gitmem.store.history.log import peel
from gitmem.store.objects.commits import signature
from gitmem.store.refs.files import loose_refs, packed_refs
from gitmem.store.refs.move import name_object, ref_tip
from gitmem.store.repository import Repository, parse_signature
from gitmem.store.transaction.publish import translated

TAGS = "refs/tags/"


class Tag(NamedTuple):
    """A name for a commit, with who gave it, when and why."""

    name: str
    commit: str
    tagger: str = ""
    """Empty for a tag that has no object of its own."""
    time: datetime | None = None
    message: str = ""


def tag_names(repository: Repository, prefix: str = "") -> list[str]:
    """The names of all tags that begin with PREFIX, in order; no object is read."""
    loose = list(loose_refs(repository.gitdir, TAGS))  # first: packing removes them afterwards
    packed, bad = packed_refs(repository.gitdir)
    if bad:
        repository.trouble["packed-refs"] = f"{len(bad)} of its lines cannot be read"
    for ref in loose:
        if not ref.target:
            repository.trouble[ref.name] = f"its file holds no object id: {ref.why}"
    names = {*packed, *(ref.name for ref in loose if ref.target)}
    start = TAGS + prefix
    return sorted(each.removeprefix(TAGS) for each in names if each.startswith(start))


def read_tag(repository: Repository, name: str) -> Tag | None:
    """The tag NAME; None where there is none, or it is on something that is no commit."""
    oid = repository.reference(TAGS + name)
    commit = peel(repository, oid) if oid else None
    if oid is None or commit is None:
        return None
    kind, data = repository.objects.read(oid)
    if kind != "tag":
        return Tag(name, commit)
    head, _, message = data.partition(b"\n\n")
    named = next((line for line in head.split(b"\n") if line.startswith(b"tag ")), b"")
    if _text(named[4:]) != name:  # one bit of packed-refs gives a tag another name
        repository.trouble[TAGS + name] = f"it calls itself {_text(named[4:])!r}"
    lines = [line for line in head.split(b"\n") if line.startswith(b"tagger ")]
    if not lines:
        return Tag(name, commit, message=_text(message))
    tagger, when = parse_signature(lines[0].removeprefix(b"tagger "))
    return Tag(name, commit, tagger, when, _text(message))


def _text(message: bytes) -> str:
    return message.decode("utf-8", "replace").strip("\n")


def write_tag(repository: Repository, tag: Tag) -> None:
    """Make a new tag; Conflict where the name is taken."""
    oid = _write_object(repository, tag)
    fault_points.reached("tagged")
    _name(repository, tag.name, None, oid)


def replace_tag(repository: Repository, tag: Tag, kept: str) -> None:
    """Let TAG take its name, and give the one that has it now the name KEPT.

    The old one gets its new name first: between the two it has both, and none is ever lost.
    """
    old = read_tag(repository, tag.name)
    if old is None:
        return write_tag(repository, tag)
    before = ref_tip(repository.gitdir, TAGS + tag.name)
    if kept:
        write_tag(repository, old._replace(name=kept))
    oid = _write_object(repository, tag)
    fault_points.reached("kept")
    _name(repository, tag.name, before, oid)
    return None


def _write_object(repository: Repository, tag: Tag) -> str:
    """Store what the tag says, durably; a tag by nobody says nothing and is the commit itself."""
    if tag.time is None:
        return tag.commit
    lines = [f"object {tag.commit}", "type commit", f"tag {tag.name}"]
    lines.append(f"tagger {signature(tag.tagger, tag.time)}")
    text = "\n".join(lines) + f"\n\n{tag.message}\n"
    with translated("writing the tag"):
        return repository.objects.write("tag", text.encode("utf-8", "backslashreplace"))


def _name(repository: Repository, name: str, before: str | None, oid: str) -> None:
    name_object(repository, TAGS + name, before, oid, f"the tag {name}")
    fault_points.reached("named")


def sound_tags(repository: Repository, names: list[str]) -> Iterator[Tag]:
    """Each of NAMES that can be read: one damaged tag is no reason to show none."""
    for name in names:
        with suppress(Damaged):
            tag = read_tag(repository, name)
            if tag:
                yield tag
