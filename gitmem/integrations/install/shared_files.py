"""Files of somebody else's in which a part is ours: put in, taken out, and all else as it was."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.errors import Refused
from gitmem.integrations.install.files import Change, backup_of, digest, read_file, text_of
from gitmem.integrations.install.parts.hooks import Merged
from gitmem.integrations.install.record import Install, replaced_bytes


class Shared(NamedTuple):
    """A file of somebody else's in which a part is ours."""

    path: Path
    put: Callable[[str], Merged]
    take: Callable[[str, str, str], str]
    """From its text now, the one before us, and the one before what it said was replaced."""
    has_former: Callable[[str], bool] = lambda _: False
    """Whether a text has what a former system left."""
    is_whole: bool = False
    """Whether the file is all ours, and goes when nothing is left in it."""

    def found_in(self, text: str) -> bool:
        """Whether TEXT has what a former system left; says of which file it cannot be told."""
        with _naming(self.path):
            return self.has_former(text)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except Refused as error:
        error.message = f"{path}: {error.message}"
        raise


def joined(parts: Iterable[Shared]) -> Iterator[Shared]:
    """The parts of each file as one: two changes of one file would collide.

    They are put in their order, and taken out in the reverse.
    """
    files: dict[str, list[Shared]] = {}
    for part in parts:
        files.setdefault(os.path.realpath(part.path), []).append(part)
    return (each[0] if len(each) == 1 else _one(each) for each in files.values())


def _one(parts: Sequence[Shared]) -> Shared:
    def put(text: str) -> Merged:
        remarks: list[str] = []
        given: dict[str, Any] = {}
        for part in parts:
            merged = part.put(text)
            text = merged.text
            remarks += merged.remarks
            given |= merged.given
        return Merged(text, tuple(remarks), given)

    def take(text: str, before: str, replaced: str) -> str:
        for part in reversed(parts):
            text = part.take(text, before, replaced)
        return text

    return Shared(parts[0].path, put, take, lambda text: any(x.has_former(text) for x in parts))


def put_part(part: Shared) -> tuple[Change, Merged]:
    """The change that puts a part in, and what there is to say and to remember about it."""
    before = read_file(part.path)
    with _naming(part.path):
        merged = part.put(text_of(part.path, before))
    is_gone = not merged.text and (before is None or part.is_whole)
    new = None if is_gone else merged.text.encode()
    return Change(part.path, before, new), merged


def text_before(store: Path, known: Install, path: Path) -> str:
    """What a file said before us; nothing where there was none, or nobody knows."""
    kept = known.files.get(str(path))
    data = read_file(backup_of(store, path, kept.before)) if kept and kept.before else None
    return text_of(path, data)


def take_part(part: Shared, store: Path, known: Install, *, is_last: bool = True) -> Change:
    """The file as it was: byte for byte where nobody touched it since, else without our part.

    Unless this IS_LAST, another installation has a part in it, which stays.
    """
    now, kept = read_file(part.path), known.files.get(str(part.path))
    if now is None:
        return Change(part.path, None, None)
    before = read_file(backup_of(store, part.path, kept.before)) if kept and kept.before else None
    is_new = kept is not None and kept.before is None
    is_known = before is not None or (is_new and not part.path.is_symlink())
    if is_last and kept and kept.exact and digest(now) == kept.after and is_known:
        return Change(part.path, now, before)
    replaced = text_of(part.path, replaced_bytes(store, known, part.path))
    with _naming(part.path):
        text = part.take(text_of(part.path, now), text_of(part.path, before), replaced)
    is_gone = is_new and text.strip() in ("", "{}") and not part.path.is_symlink()
    is_gone = is_gone or (part.is_whole and not text)
    return Change(part.path, now, None if is_gone else text.encode())
