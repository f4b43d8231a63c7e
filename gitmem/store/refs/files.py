"""Read refs and reflogs from their files, and say which of them are malformed.

By hand instead of pygit2's `Reference.log`: after a power cut a ref or a reflog can be full of NULs
(2 of 10 cuts), and libgit2 takes a missing ref for a branch that was never born.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

ZERO = "0" * 40
VERIFIED = "refs/gitmem/verified"
"""The newest commit whose whole history was checked."""
REPLACED = "refs/replace"
_LINKS = 5
"""How many symbolic refs in a row are followed, as in git."""
OURS = "gitmem <gitmem@gitmem.invalid> "
_ID = r"[0-9a-f]{40}"
_SYMBOLIC = r"ref: (refs/[^\x00-\x20]+)\s*"
_NAME = r"(?:HEAD|refs/[^\x00-\x20\x7f~^:?*\[\\]+)"
_PACKED = r"([0-9a-f]{40}) (refs/[^\x00-\x20]+)"
_HEADER = "# pack-refs with:"
_PEELED = r"\^[0-9a-f]{40}"
_LOGGED = re.compile(r"([0-9a-f]{40}) ([0-9a-f]{40}) ([^\x00\t]*)(?:\t([^\x00]*))?")


class RefFile(NamedTuple):
    """A loose ref."""

    name: str
    target: str
    """An object id, or the name of another ref; empty when the file is malformed."""
    why: str = ""
    """Why the file is malformed."""


class LogLine(NamedTuple):
    """One move of a ref."""

    old: str
    new: str
    who: str = ""
    """Name, address and time of the committer."""
    message: str = ""
    """Empty after `git update-ref`."""

    @property
    def is_ours(self) -> bool:
        """True for a move by gitmem."""
        return self.who.startswith(OURS)


class Reflog(NamedTuple):
    """The content of a reflog."""

    lines: list[LogLine]
    """Oldest first."""
    torn: list[bytes]
    """Lines that do not parse."""
    ends_torn: bool
    """True when the last line is one of them."""


def loose_refs(gitdir: Path, under: str = "refs/") -> Iterator[RefFile]:
    """Every loose ref below UNDER, sorted by name within each folder."""
    for folder, folders, files in os.walk(gitdir / under):
        folders.sort()
        below = os.path.relpath(folder, gitdir)  # once: a year of snapshots is in one folder
        for file in sorted(files):
            if not file.endswith(".lock"):
                with suppress(FileNotFoundError):  # packed or removed since
                    yield _read_ref(f"{folder}/{file}", f"{below}/{file}")


def resolve(gitdir: Path, name: str) -> RefFile:
    """The object that the ref NAME leads to; no target for an unknown or malformed ref."""
    for _ in range(_LINKS):
        if not re.fullmatch(_NAME, name) or ".." in name:
            return RefFile(name, "")
        try:
            found = _read_ref(f"{gitdir}/{name}", name)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return RefFile(name, packed_refs(gitdir)[0].get(name, ""))
        if found.why or is_id(found.target):
            return found
        name = found.target
    return RefFile(name, "", "a symbolic ref that leads to itself")


def _read_ref(path: str, name: str) -> RefFile:
    try:
        with open(path, "rb", buffering=0) as opened:
            raw = opened.read()
    except (FileNotFoundError, NotADirectoryError):
        raise
    except IsADirectoryError:
        raise FileNotFoundError(path) from None
    except OSError as error:
        return RefFile(name, "", f"not readable ({error.strerror})")
    if not raw:
        return RefFile(name, "", "empty")
    if not raw.strip(b"\x00"):
        return RefFile(name, "", "nothing but NUL bytes")
    text = raw.decode("utf-8", "replace")
    symbolic = re.fullmatch(_SYMBOLIC, text)
    if symbolic:
        return RefFile(name, symbolic[1])
    if is_id(text.strip()):
        return RefFile(name, text.strip())
    return RefFile(name, "", "neither an object id nor the name of a ref")


def packed_refs(gitdir: Path) -> tuple[dict[str, str], list[str]]:
    """The refs in `packed-refs`, and its malformed lines."""
    try:
        text = (gitdir / "packed-refs").read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return {}, []
    except OSError as error:
        return {}, [f"not readable ({error.strerror})"]
    found: dict[str, str] = {}
    *lines, last = text.split("\n")
    bad = [last] if last or not text else []  # git refuses a file without a newline at its end
    for number, line in enumerate(lines):
        row = re.fullmatch(_PACKED, line)
        if row:
            found[row[2]] = row[1]
        elif not re.fullmatch(_PEELED, line) and (number or not line.startswith(_HEADER)):
            bad.append(line)
    return found, bad


def all_refs(gitdir: Path) -> dict[str, str]:
    """Every ref that names an object; a loose ref wins over `packed-refs`."""
    loose = list(loose_refs(gitdir))  # first: `git pack-refs` removes them after packing
    found, _ = packed_refs(gitdir)
    for ref in loose:
        if is_id(ref.target):
            found[ref.name] = ref.target
        else:
            found.pop(ref.name, None)
    return found


def read_log(gitdir: Path, name: str) -> Reflog:
    """The reflog of the ref NAME; an empty one where the file cannot be read."""
    try:
        raw = (gitdir / "logs" / name).read_bytes()
    except OSError:
        raw = b""
    return parse_log(raw)


def log_names(gitdir: Path) -> list[str]:
    """Every ref with a reflog, HEAD first, except those below refs/gitmem/."""
    found = []
    for folder, _, files in os.walk(gitdir / "logs"):
        below = Path(folder).relative_to(gitdir / "logs")
        found += [(below / file).as_posix() for file in files]
    return sorted(name for name in found if not name.startswith("refs/gitmem/"))


def parse_log(raw: bytes) -> Reflog:
    """The reflog whose file contains RAW."""
    found, torn, ends_torn = [], [], False
    for line in raw.split(b"\n"):
        row = _LOGGED.fullmatch(line.decode("utf-8", "replace"))
        if row:
            found.append(LogLine(row[1], row[2], row[3], row[4] or ""))
        elif line:
            torn.append(line)
        ends_torn = not row if line else ends_torn
    return Reflog(found, torn, ends_torn)


def is_id(text: str) -> bool:
    """True for a full object id."""
    return re.fullmatch(_ID, text) is not None
