"""Which file a new one was before, by the rules of git: for who must agree with `git blame`.

`moves` says what gitmem knows about moves, which is more; here only likeness counts, as git
measures it: the share of the larger file's bytes that stand in the other one, line by line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

ALIKE = 0.5
SAME_NAME = 0.75
"""What is enough for the only other file of the same name, however alike the others are."""
_PIECE = 64

Read = Callable[[str], bytes]


def source_of(path: str, blob: str, gone: Mapping[str, str], read: Read) -> str:
    """The one of the GONE files (path to blob) that the new file at PATH was; nothing if none."""
    same = sorted(each for each, oid in gone.items() if oid == blob)
    if same:
        return next((each for each in same if _name(each) == _name(path)), same[0])
    target = _Measured(read(blob))
    namesakes = [each for each in gone if _name(each) == _name(path)]
    if len(namesakes) == 1 and target.likeness(read(gone[namesakes[0]])) >= SAME_NAME:
        return namesakes[0]
    scored = [
        (-target.likeness(read(oid)), _name(each) != _name(path), each)
        for each, oid in gone.items()
    ]
    best = min(scored, default=(0.0, True, ""))
    return best[2] if -best[0] >= ALIKE else ""


class _Measured:
    """A file, and what its pieces weigh."""

    def __init__(self, data: bytes) -> None:
        self._size, self._pieces = len(data), _pieces(data)

    def likeness(self, data: bytes) -> float:
        larger, smaller = max(self._size, len(data)), min(self._size, len(data))
        if not smaller or smaller < larger * ALIKE:
            return 0.0
        return (self._pieces & _pieces(data)).total() / larger


def _pieces(data: bytes) -> Counter[bytes]:
    """The bytes of each line, of a long one in pieces; how a line ends does not matter."""
    found: Counter[bytes] = Counter()
    *lines, rest = data.replace(b"\r\n", b"\n").split(b"\n")
    for line in (*(b"%s\n" % each for each in lines), rest):
        for at in range(0, len(line), _PIECE):
            piece = line[at : at + _PIECE]
            found[piece] += len(piece)
    return found


def _name(path: str) -> str:
    return path.rpartition("/")[2]
