"""Which file a new one was before, by the rules of git: for who must agree with `git blame`.

`moves` says what gitmem knows about moves, which is more; here only likeness counts, as git
measures it: the share of the larger file's bytes that stand in the other one, line by line.

By hand instead of pygit2's `find_similar`: it works on a diff of trees that libgit2 reads, and the
walk of `dating` has the changes already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

ALIKE = 0.5
SAME_NAME = 0.75
"""What is enough for the only other file of the same name, however alike the others are."""
MANY = 250_000
"""Where more pairs than these would have to be compared, only equal files and names count."""
_PIECE = 64

Read = Callable[[str], bytes]


class Renames:
    """What the new files of one commit were before, among those that are GONE: path to blob."""

    def __init__(self, gone: Mapping[str, str], read: Read, come: int) -> None:
        self._gone, self._read = gone, read
        self._few = len(gone) * come <= MANY
        self._by_blob: dict[str, list[str]] = {}
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(gone):
            self._by_blob.setdefault(gone[path], []).append(path)
            self._by_name.setdefault(_name(path), []).append(path)
        self._measured: dict[str, Counter[bytes]] = {}

    def source_of(self, path: str, blob: str) -> str:
        """The file that the new one at PATH was; nothing where it is all new."""
        same, namesakes = self._by_blob.get(blob, []), self._by_name.get(_name(path), [])
        if same:
            return next((each for each in same if _name(each) == _name(path)), same[0])
        if len(namesakes) == 1 and self._likeness(namesakes[0], blob) >= SAME_NAME:
            return namesakes[0]
        others = self._gone if self._few else namesakes
        scored = [(-self._likeness(x, blob), _name(x) != _name(path), x) for x in others]
        best = min(scored, default=(0.0, True, ""))
        return best[2] if -best[0] >= ALIKE else ""

    def _likeness(self, source: str, blob: str) -> float:
        """The share of the larger file's bytes that stand in both."""
        sizes = len(self._read(self._gone[source])), len(self._read(blob))
        if not min(sizes) or min(sizes) < max(sizes) * ALIKE:
            return 0.0
        return (self._pieces(self._gone[source]) & self._pieces(blob)).total() / max(sizes)

    def _pieces(self, blob: str) -> Counter[bytes]:
        """The bytes of each line, of a long one in pieces; how a line ends does not matter."""
        if blob not in self._measured:
            found = self._measured[blob] = Counter()
            *lines, rest = self._read(blob).replace(b"\r\n", b"\n").split(b"\n")
            for line in (*(b"%s\n" % each for each in lines), rest):
                for at in range(0, len(line), _PIECE):
                    piece = line[at : at + _PIECE]
                    found[piece] += len(piece)
        return self._measured[blob]


def _name(path: str) -> str:
    return path.rpartition("/")[2]
