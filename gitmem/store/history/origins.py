"""Where the lines of a file come from: what it was in each parent, as `git blame -w` has it.

By hand instead of pygit2's `blame`: see `dating`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from gitmem.errors import Damaged
from gitmem.model.entries.dates import MARK, DateState, FileDates
from gitmem.store.history.lines import Kept, common_ends, kept_lines, line_count
from gitmem.store.history.renames import Renames
from gitmem.store.history.walk import Change, Step
from gitmem.store.objects.database import Objects

HELD_BYTES = 8 * 1024 * 1024
"""Contents that are kept at hand: most changes are of a file that was read just before."""


class Contents:
    """Versions of files by their blobs."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._weight = 0

    def __call__(self, blob: str) -> bytes:
        """A version; one that is lost is as good as empty for what came after it."""
        data = self._held.get(blob) if blob else b""
        if data is None:
            data = b""
            with suppress(Damaged):
                data = self._objects.read_as("blob", blob)
            self._held[blob] = data
            self._weight += len(data)
            while self._weight > HELD_BYTES:
                self._weight -= len(self._held.popitem(last=False)[1])
        return data


class Origins:
    """What files were before, in each parent of a commit."""

    def __init__(self, content: Contents, changes: Callable[[Step, int], list[Change]]) -> None:
        self._content, self._changes = content, changes

    def renames(self, files: Sequence[Change]) -> Renames | None:
        """What new files may have been before; None where none is gone."""
        gone = {path: old for path, old, new in files if not new}
        come = sum(not old for _, old, _ in files)
        return Renames(gone, self._content, come) if gone and come else None

    def of(
        self, path: str, blob: str, step: Step, parents: list[DateState], renames: Renames | None
    ) -> list[FileDates]:
        """What the file at PATH was; alone where it was the very same in one of the parents.

        RENAMES are those from the first parent.
        """
        found = [each.files.get(path) for each in parents]
        same = next((each for each in found if each and each.blob == blob), None)
        if same:
            return [same]
        for at, state in enumerate(parents):
            if found[at] is None:
                if at:
                    renames = self.renames(self._changes(step, at))
                found[at] = state.files.get(renames.source_of(path, blob) if renames else "")
        same = next((each for each in found if each and each.blob == blob), None)
        return [same] if same else [each for each in found if each]

    def lines(self, blob: str, origins: list[FileDates], mark: bytes) -> bytes:
        """The mark of each line: that of the first origin that has it, or MARK."""
        data = self._content(blob)
        if len(origins) == 1 and origins[0].blob == blob:
            return origins[0].lines
        marks = [b""] * line_count(data)
        for origin in origins:
            for a, b, count in self._kept(origin, data):
                for at in range(count):
                    start = (a + at) * MARK
                    marks[b + at] = marks[b + at] or origin.lines[start : start + MARK]
        return b"".join(each or mark for each in marks)

    def _kept(self, origin: FileDates, data: bytes) -> tuple[Kept, ...]:
        old = self._content(origin.blob)
        return kept_lines(old, data, *common_ends(old, data))


def carried(lines: bytes, kept: Iterable[Kept], mark: bytes) -> bytes:
    """The marks of LINES where they were kept, and MARK for the others."""
    parts, at = [], 0
    for a, b, count in kept:
        parts += [mark * (b - at), lines[a * MARK : (a + count) * MARK]]
        at = b + count
    return b"".join(parts)
