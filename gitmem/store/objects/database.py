"""Reading and writing git objects without trusting a doubtful file.

libgit2 1.9.7 loops for ever on a truncated loose object, holding the interpreter. So loose objects
are read, inflated and hashed here, packs in `packs`. Objects are written here, too: all
objects of a commit go to disk together, each synced as git would, in less time.

By hand instead of pygit2: reading because of that loop (measured: every truncation from 2 bytes
on), writing because libgit2 skips an object whose file exists, so the same content never heals a
damaged one (0 of 5 kinds of damage). `python -m benchmarks by_hand`: reading 220 loose objects
takes 0.55 of pygit2's time, writing four 0.90.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha1
from pathlib import Path
from typing import Protocol

from gitmem.errors import Damaged
from gitmem.model.hints import Hint, call
from gitmem.store.durable import read_whole, sync_folder, write_all
from gitmem.store.objects.pack_entries import PackDamaged
from gitmem.store.objects.packs import Content, Packs

KINDS = ("commit", "tree", "blob", "tag")

# Blobs may be 1 MiB; a tree or commit larger than this is not ours, and a zlib bomb stops here.
MAX_OBJECT = 64 * 1024 * 1024
MAX_STAGED = 64
TEMP_PREFIX = "tmp_obj_gitmem_"

# For a short text zlib spends its time on clearing tables for a long one: 45 us with the default
# window of 32 KiB, 6 us with this one. Every zlib reads both.
_SMALL, _SMALL_WINDOW, _SMALL_MEMORY = 4096, 12, 4


class ObjectDamaged(Damaged):
    """An object's file does not hold what its name says."""

    code = "object-damaged"

    def __init__(self, oid: str, why: str) -> None:
        super().__init__(
            f"object {oid[:10]} is {why}",
            hint=Hint(
                "run ",
                call("check", repair=True),
                ": it looks for a sound copy and keeps the damaged one",
            ),
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


def deflate(data: bytes) -> bytes:
    """DATA as a loose object's file holds it."""
    if len(data) > _SMALL:
        return zlib.compress(data, 1)
    stream = zlib.compressobj(1, zlib.DEFLATED, _SMALL_WINDOW, _SMALL_MEMORY)
    return stream.compress(data) + stream.flush()


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


class Rescuer(Protocol):
    """Knows where an object may still be found that the database has lost."""

    def find(self, oid: str) -> Content | None:
        """A second copy of OID, proved by its hash."""

    def put_back(self, kind: str, data: bytes) -> None:
        """Write the object again, where that is allowed; a copy that only serves is fine, too."""

    def mend_indexes(self) -> bool:
        """Make the indexes of sound packs anew that are damaged; False when there was none."""


class Objects:
    """The object database of one repository."""

    def __init__(self, gitdir: Path, *, stand_ins: bool = True) -> None:
        self._stand_ins = stand_ins
        self.rescuer: Rescuer | None = None
        """Asked before an object counts as lost."""
        self.lacking: dict[str, str] = {}
        """Objects that could not be read, and why. Many readers go on without one; whoever prints
        their answer says so, so that nothing is left out without a word."""
        self._folder = os.path.join(gitdir, "objects")
        self._gitdir = gitdir
        self._staged: dict[str, tuple[int, str]] = {}
        self.packs = Packs(os.path.join(self._folder, "pack"))

    def close(self) -> None:
        """Give back file handles; what was staged and never flushed is gone."""
        self.discard()
        self.packs.close()

    def loose_path(self, oid: str) -> str:
        """Where OID lies when it is a loose object."""
        return f"{self._folder}/{oid[:2]}/{oid[2:]}"

    def read(self, oid: str) -> tuple[str, bytes]:
        """The kind and content of an object; ObjectDamaged or ObjectMissing when there is none."""
        try:
            return self._stored(oid)
        except ObjectDamaged as damage:
            found = self._found_elsewhere(oid)
            if found is None:
                self.lacking[oid] = damage.why
                raise
            return found

    def holds(self, oid: str) -> bool:
        """True when OID is stored and sound; nothing is healed or noted for that."""
        try:
            return bool(self._stored(oid))
        except ObjectDamaged:
            return False

    @contextmanager
    def probing(self) -> Iterator[None]:
        """For who asks for what may well be gone: that is no damage to tell of, or to heal.

        A person may rewrite history and prune it; a cache, or an id that was typed, knows the old.
        """
        known, rescuer = dict(self.lacking), self.rescuer
        self.rescuer = None
        try:
            yield
        finally:
            self.lacking, self.rescuer = known, rescuer

    def _found_elsewhere(self, oid: str) -> Content | None:
        """What failed once, read again, or a second copy of it; a copy is put back."""
        with suppress(ObjectDamaged):
            # `git gc` moves objects from file to pack and from pack to pack under our eyes, and a
            # folder that changes is not listed at one moment: look again before anybody is accused.
            self.packs.close()
            return self._stored(oid)
        found = self._rescued(oid)
        if found is None and self.rescuer and self.rescuer.mend_indexes():
            self.packs.close()
            with suppress(ObjectDamaged):
                return self._stored(oid)
        if found is None and self.rescuer:
            with suppress(PackDamaged, ValueError):
                # What it is built on may be what is damaged, and have a second copy.
                found = self.packs.read(oid, self._rescued)
                if found:
                    self.rescuer.put_back(*found)
        return found

    def _rescued(self, oid: str) -> Content | None:
        """A second copy of OID, put back: a pack remembers what it was given as its own."""
        found = self.rescuer.find(oid) if self.rescuer else None
        if found and self.rescuer:
            self.rescuer.put_back(*found)
        return found

    def _stored(self, oid: str) -> tuple[str, bytes]:
        found = self.packs.at_hand(oid)
        if found:  # who walks through the past meets hardly any loose ones
            return found
        try:
            return inflate(oid, read_whole(self.loose_path(oid)))
        except FileNotFoundError:
            return self._read_packed(oid)
        except (ObjectDamaged, OSError) as error:
            with suppress(ObjectDamaged):
                return self._read_packed(oid)
            if isinstance(error, OSError):
                raise ObjectDamaged(oid, f"not readable ({error.strerror})") from error
            raise

    def _read_packed(self, oid: str) -> tuple[str, bytes]:
        try:
            found = self.packs.read(oid)
        except PackDamaged as error:
            raise ObjectDamaged(oid, f"not readable from its pack: {error}") from error
        except ValueError as error:
            raise ObjectMissing(oid) from error
        if found is None and self._stand_ins:
            found = self._stand_in(oid)
        if found is None:
            raise ObjectMissing(oid)
        return found

    def _stand_in(self, oid: str) -> tuple[str, bytes] | None:
        """What `check --repair` put in the place of a commit that was lost for good."""
        with suppress(OSError, ValueError):
            with open(os.path.join(self._gitdir, "refs", "replace", oid), "rb") as file:
                target = file.read().strip().decode("ascii")
            return self.read(target) if target != oid else None
        return None

    def read_as(self, kind: str, oid: str) -> bytes:
        """The content of an object that must be of KIND."""
        found, data = self.read(oid)
        if found != kind:
            raise ObjectDamaged(oid, f"a {found} where a {kind} should be")
        return data

    def write(self, kind: str, data: bytes) -> str:
        """Store DATA, durably, and return its id."""
        oid = self.stage(kind, data)
        self.flush()
        return oid

    def stage(self, kind: str, data: bytes) -> str:
        """Write DATA to a file beside its place and return its id; `flush` makes it an object.

        git skips the write where a file or a pack has that name, so a damaged object would stay
        damaged for ever: it is moved to quarantine, and a sound one written.
        """
        oid = object_id(kind, data)
        if oid in self._staged or self._is_sound(oid):
            return oid
        if len(self._staged) >= MAX_STAGED:
            self.flush()
        temp = f"{self._folder}/{TEMP_PREFIX}{os.urandom(8).hex()}"
        fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
        self._staged[oid] = fd, temp
        try:
            write_all(fd, deflate(b"%s %d\x00%s" % (kind.encode(), len(data), data)))
        except OSError:
            self._unstage(oid)  # or the next `flush` would make half an object of it
            raise
        if hasattr(os, "posix_fadvise"):  # starts the disk, so that the syncs below find less to do
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return oid

    def _is_sound(self, oid: str) -> bool:
        """True when a loose object is there and readable; a damaged one is moved away."""
        path = self.loose_path(oid)
        if not os.path.exists(path):
            return False
        try:
            inflate(oid, read_whole(path))
        except (ObjectDamaged, OSError):
            self.quarantine(oid)
            return False
        with suppress(OSError):
            os.utime(path)  # an old unreachable object may be what a `git gc` is about to prune
        return True

    def flush(self) -> None:
        """Sync what was staged, give it its name, and sync the names."""
        try:
            for fd, _ in self._staged.values():
                os.fsync(fd)
            folders = {oid[:2] for oid in self._staged}
            made = False
            for oid, (fd, temp) in self._staged.items():
                made = self._give_name(temp, oid) or made
                self._staged[oid] = fd, ""
            for name in sorted(folders):
                with suppress(FileNotFoundError):  # a `git repack` has it all in a pack by now
                    sync_folder(f"{self._folder}/{name}")
            if made:
                sync_folder(self._folder)
        finally:
            self.discard()

    def _give_name(self, temp: str, oid: str) -> bool:
        """Make a staged file an object; True where that took a new folder.

        A folder that has become empty may be removed by a `git repack` at any time.
        """
        made = False
        for _ in range(20):
            try:
                os.rename(temp, self.loose_path(oid))
                return made
            except FileNotFoundError:
                made = self._make_folder(oid[:2]) or made
        os.rename(temp, self.loose_path(oid))
        return made

    def _make_folder(self, name: str) -> bool:
        try:
            os.mkdir(f"{self._folder}/{name}", 0o700)
        except FileExistsError:
            return False
        return True

    def discard(self) -> None:
        """Let go of what is staged; what was not flushed is gone."""
        for oid in tuple(self._staged):
            self._unstage(oid)

    def _unstage(self, oid: str) -> None:
        fd, temp = self._staged.pop(oid)
        os.close(fd)
        if temp:
            with suppress(FileNotFoundError):
                os.unlink(temp)

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
        return sorted({*self._expand_loose(prefix), *self.packs.like(prefix)})

    def _expand_loose(self, prefix: str) -> list[str]:
        try:
            names = os.listdir(f"{self._folder}/{prefix[:2]}")
        except OSError:
            return []
        return [prefix[:2] + name for name in names if name.startswith(prefix[2:])]
