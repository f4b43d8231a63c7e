"""Reading and writing git objects without trusting a doubtful file.

libgit2 1.9.7 loops for ever on a truncated loose object, holding the interpreter. So loose objects
are read, inflated and hashed here; libgit2 only ever reads packs, and only writes.
"""

from __future__ import annotations

import os
import zlib
from hashlib import sha1
from pathlib import Path

import pygit2

from gitmem.errors import Damaged

KINDS = {
    "commit": pygit2.enums.ObjectType.COMMIT,
    "tree": pygit2.enums.ObjectType.TREE,
    "blob": pygit2.enums.ObjectType.BLOB,
    "tag": pygit2.enums.ObjectType.TAG,
}
KIND_NAMES = {int(value): name for name, value in KINDS.items()}

# Blobs may be 1 MiB; a tree or commit larger than this is not ours, and a zlib bomb stops here.
MAX_OBJECT = 64 * 1024 * 1024


class ObjectDamaged(Damaged):
    """An object's file does not hold what its name says."""

    code = "object-damaged"

    def __init__(self, oid: str, why: str) -> None:
        super().__init__(
            f"object {oid[:10]} is {why}",
            hint="run `gitmem check --repair`: it looks for a sound copy and keeps the damaged one",
            object=oid,
            why=why,
        )
        self.oid, self.why = oid, why


class ObjectMissing(ObjectDamaged):
    """An object that history refers to is not there at all."""

    code = "object-missing"

    def __init__(self, oid: str) -> None:
        super().__init__(oid, "missing")


def object_id(kind: str, data: bytes) -> str:
    """The id git gives to DATA as an object of KIND."""
    return sha1(b"%s %d\x00%s" % (kind.encode(), len(data), data)).hexdigest()


def blob_id(data: bytes) -> str:
    """The id git gives to a file with these bytes."""
    return object_id("blob", data)


def inflate(oid: str, raw: bytes) -> tuple[str, bytes]:
    """The kind and content of a loose object's file, or ObjectDamaged."""
    if not raw:
        raise ObjectDamaged(oid, "an empty file")
    stream = zlib.decompressobj()
    try:
        whole = stream.decompress(raw, MAX_OBJECT)
    except zlib.error as error:
        raise ObjectDamaged(oid, "not readable as compressed data") from error
    if not stream.eof:
        raise ObjectDamaged(oid, "truncated")
    if sha1(whole).hexdigest() != oid:
        raise ObjectDamaged(oid, "not what its name says: the content has changed")
    header, _, data = whole.partition(b"\x00")
    kind, _, size = header.partition(b" ")
    if kind.decode("ascii", "replace") not in KINDS or size != b"%d" % len(data):
        raise ObjectDamaged(oid, "not a git object")
    return kind.decode(), data


class Objects:
    """The object database of one repository."""

    def __init__(self, gitdir: Path, repository: pygit2.Repository) -> None:
        self._folder = os.path.join(gitdir, "objects")
        self._gitdir = gitdir
        self._repository = repository

    def loose_path(self, oid: str) -> str:
        """Where OID lies when it is a loose object."""
        return f"{self._folder}/{oid[:2]}/{oid[2:]}"

    def read(self, oid: str) -> tuple[str, bytes]:
        """The kind and content of an object; ObjectDamaged or ObjectMissing when there is none."""
        try:
            with open(self.loose_path(oid), "rb", buffering=0) as file:
                raw = file.read()
        except FileNotFoundError:
            return self._read_packed(oid)
        except OSError as error:
            raise ObjectDamaged(oid, f"not readable ({error.strerror})") from error
        return inflate(oid, raw)

    def _read_packed(self, oid: str) -> tuple[str, bytes]:
        try:
            kind, data = self._repository.read(oid)
        except (KeyError, ValueError) as error:
            raise ObjectMissing(oid) from error
        except (pygit2.GitError, OSError) as error:
            raise ObjectDamaged(oid, f"not readable from its pack ({error})") from error
        return KIND_NAMES[int(kind)], data

    def read_as(self, kind: str, oid: str) -> bytes:
        """The content of an object that must be of KIND."""
        found, data = self.read(oid)
        if found != kind:
            raise ObjectDamaged(oid, f"a {found} where a {kind} should be")
        return data

    def write(self, kind: str, data: bytes) -> str:
        """Store DATA and return its id.

        git and libgit2 skip the write when a file of that name exists, so a damaged one would stay
        damaged for ever: it is moved to quarantine first.
        """
        oid = object_id(kind, data)
        if os.path.exists(self.loose_path(oid)):
            try:
                self.read(oid)
            except ObjectDamaged:
                self.quarantine(oid)
        self._repository.write(KINDS[kind], data)
        return oid

    def quarantine(self, oid: str) -> str | None:
        """Move a loose object's file out of git's sight; return where it went."""
        target = os.path.join(self._gitdir, "gitmem", "quarantine", oid)
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        number = 0
        while os.path.lexists(f"{target}.{number}"):
            number += 1
        try:
            os.rename(self.loose_path(oid), f"{target}.{number}")
        except FileNotFoundError:
            return None
        return f"{target}.{number}"

    def expand(self, prefix: str) -> list[str]:
        """Every object id that starts with PREFIX (at least four hex digits)."""
        found = set(self._expand_loose(prefix))
        try:
            found.add(str(self._repository.expand_id(prefix)))
        except (KeyError, ValueError, pygit2.GitError):
            pass
        return sorted(found)

    def _expand_loose(self, prefix: str) -> list[str]:
        try:
            names = os.listdir(f"{self._folder}/{prefix[:2]}")
        except OSError:
            return []
        return [prefix[:2] + name for name in names if name.startswith(prefix[2:])]
