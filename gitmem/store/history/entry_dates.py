"""The date of each entry of a commit.

An entry keeps its date where its text, ignoring white space, is in the same file of a parent, or
left another file in this commit: then it has moved. A copy of a text that stays elsewhere is new;
`regained_dates` gives its date.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gitmem.model.entries.dates import DateState, LastChange, LastChanges, Moved
from gitmem.store.history.regained_dates import CommitContext, Regaining

CAPTURE = "capture"
SITTING = 600
"""Seconds within which two captures can be one move of an entry."""
MOST_MOVED = 4096
"""The number of texts that are remembered for that."""


class Texts(NamedTuple):
    """The entries that a commit adds to a file or removes from it, against one parent."""

    path: str
    blob: str
    """The new version of the file; empty for none."""
    come: Sequence[bytes] = ()
    gone: Sequence[bytes] = ()


class TextDate(NamedTuple):
    """The date of a text in a file."""

    path: str
    touch: LastChange


NOWHERE = ("", 0, "")
LeftTexts = dict[bytes, list[TextDate]]
"""Removed texts, each with its files and dates."""


def net(come: list[bytes], gone: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """COME and GONE without the texts in both."""
    if not come or not gone or set(come).isdisjoint(gone):
        return come, gone
    counts = Counter(come)
    counts.subtract(gone)
    return list(counts.elements()), list((-counts).elements())


def dated(
    commit: CommitContext, changes: Sequence[Sequence[Texts]], regaining: Regaining
) -> Mapping[str, Mapping[bytes, LastChanges]]:
    """The dates of the entries in files that differ from the first parent, by path.

    CHANGES are those from each parent, in the order of their paths.
    """
    work = _CommitDates(commit, changes, regaining)
    if len(commit.parents) > 1:
        work.merge()
    for each in work.left:
        work.move(each)
    if commit.step.op == CAPTURE:
        work.move_within_sitting()
    work.touch()
    for left in work.left:
        for key, places in left.items():
            for path, touch in places:
                regaining.remember(key, path, touch, commit.state.run)
    return work.texts


class _CommitDates:
    """Finds the dates of the entries of one commit."""

    def __init__(
        self, commit: CommitContext, changes: Sequence[Sequence[Texts]], regaining: Regaining
    ) -> None:
        self._commit, self._regaining = commit, regaining
        self._files = changes[0]
        self.left: list[LeftTexts] = [{} for _ in commit.parents]
        """The removed texts, against each parent."""
        self.texts: dict[str, dict[bytes, LastChanges]] = {}
        self._come: dict[bytes, list[str]] = {}
        """The files of added texts that have no date yet."""
        for at, state in enumerate(commit.parents):
            for path, _, _, gone in changes[at]:
                texts = _without(state, path, gone, self.left[at])
                if not at:
                    self.texts[path] = texts
        for path, _, come, _ in self._files:
            self.texts.setdefault(path, {})
            for key in come:
                self._come.setdefault(key, []).append(path)
        self._gone = dict(self.left[0]) if commit.parents else {}
        """The removed texts of the first parent that were added nowhere."""

    def merge(self) -> None:
        """Texts that stand where they stood in another parent have the date they had there."""
        for key in list(self._come):
            found = _merged(key, self._come[key], self._commit.parents)
            for path, touch in found:
                self._give(key, path, touch)

    def move(self, left: LeftTexts) -> None:
        """Give texts that moved from one file to another their old date."""
        for key in [each for each in left if each in self._come]:
            pairs = self._paired(self._come[key], left[key])
            for path, place in pairs:
                self._give(key, path, place.touch)
            if left is self.left[0]:
                used = Counter(place for _, place in pairs)
                self._gone[key] = list((Counter(left[key]) - used).elements())

    def touch(self) -> None:
        """Date the remaining texts, which are new in their files."""
        for path, blob, come, _ in self._files:
            keys = [key for key in dict.fromkeys(come) if path in self._come.get(key, ())]
            if keys:
                found = self._regaining.touches(keys, path, blob, self._commit)
                for key, touch in found.items():
                    for _ in range(self._come[key].count(path)):
                        self._give(key, path, touch)

    def move_within_sitting(self) -> None:
        """Find entries that were cut out of one file and pasted into another, in either order.

        `capture` commits each file by itself: moving an entry by hand makes two commits, in the
        order of the paths. But a text that was in both files for a while is a copy, even if the
        first is deleted soon after.
        """
        state, now, run = self._commit.state, self._commit.step.seconds, self._commit.step.run
        for known in (state.cut, state.pasted):
            _forget_old(known, now)
        for key, places in self._gone.items():
            if places and not self._was_pasted(key, places[-1]):
                state.cut.pop(key, None)  # the newest goes last
                state.cut[key] = places[-1].path, now, run
        for key in list(self._come):
            if not self._was_cut(key):
                state.pasted.pop(key, None)
                state.pasted[key] = self._come[key][-1], now, run

    def _was_cut(self, key: bytes) -> bool:
        """True when an added text was cut elsewhere just before; it gets that date."""
        state = self._commit.state
        path, seconds, _ = state.cut.get(key, NOWHERE)
        if not _is_recent(path, seconds, self._commit.step.seconds):
            return False
        del state.cut[key]
        touch = self._regaining.last_at(key, path, state)
        if touch is None or path in self._come[key]:  # it came back to its file
            return False
        self._give(key, self._come[key][0], touch)
        return True

    def _was_pasted(self, key: bytes, place: TextDate) -> bool:
        """True when a removed text was pasted elsewhere just before; the copy gets its date.

        It was removed before it was pasted if one run of capture found both edits. Captures of
        earlier releases name no run, so there the time decides.
        """
        state, when, step = self._commit.state, self._regaining.when, self._commit.step
        path, seconds, run = state.pasted.get(key, NOWHERE)
        if not _is_recent(path, seconds, step.seconds) or path == place.path or run != step.run:
            return False
        known = self._texts_of(path)
        touches = known.get(key, ())
        news = [at for at, each in enumerate(touches) if when(each) == seconds]
        if not news or when(place.touch) > seconds:
            return False
        del state.pasted[key]
        kept = (*touches[: news[-1]], place.touch, *touches[news[-1] + 1 :])
        self._put(path, {**known, key: kept})
        return True

    def _texts_of(self, path: str) -> Mapping[bytes, LastChanges]:
        if path in self.texts:
            return self.texts[path]
        found = self._commit.state.files.get(path)
        return found.texts if found else {}

    def _put(self, path: str, texts: dict[bytes, LastChanges]) -> None:
        files = self._commit.state.files
        if path in self.texts:
            self.texts[path] = texts
        else:
            files[path] = files[path]._replace(texts=texts)

    def _give(self, key: bytes, path: str, touch: LastChange) -> None:
        texts, waiting = self.texts[path], self._come[key]
        texts[key] = (*texts.get(key, ()), touch)
        waiting.remove(path)
        if not waiting:
            del self._come[key]

    def _paired(self, come: list[str], left: list[TextDate]) -> list[tuple[str, TextDate]]:
        """Pair added and removed copies of a text: those whose paths end alike first.

        The oldest comes first.
        """
        if len(come) == len(left) == 1:
            return [(come[0], left[0])]
        when = self._regaining.when
        left = sorted(left, key=lambda each: (when(each.touch), each.path))
        come, found = sorted(come), []
        for depth in range(max(path.count("/") + 1 for path in come), -1, -1):
            waiting: dict[str, list[str]] = {}
            for path in reversed(come):
                waiting.setdefault(_end(path, depth), []).append(path)
            rest = []
            for place in left:
                paths = waiting.get(_end(place.path, depth))
                if paths:
                    found.append((paths.pop(), place))
                else:
                    rest.append(place)
            come, left = sorted(x for paths in waiting.values() for x in paths), rest
        return found


def _without(
    state: DateState, path: str, gone: Iterable[bytes], left: LeftTexts
) -> dict[bytes, LastChanges]:
    """The texts of a file without those that are GONE; of equal texts the last is removed.

    LEFT gets the removed ones.
    """
    before = state.files.get(path)
    found = dict(before.texts) if before else {}
    for key in gone:
        touches = found.pop(key, ())
        if touches:
            left.setdefault(key, []).append(TextDate(path, touches[-1]))
        if len(touches) > 1:
            found[key] = touches[:-1]
    return found


def _merged(
    key: bytes, come: list[str], parents: Sequence[DateState]
) -> list[tuple[str, LastChange]]:
    """The dates of a text in files where another parent has it."""
    found: list[tuple[str, LastChange]] = []
    for path, count in Counter(come).items():
        known = list(parents[0].last_changes(path, key))
        news: list[LastChange] = []
        for state in parents[1:]:
            news += (Counter(state.last_changes(path, key)) - Counter((*known, *news))).elements()
        found += [(path, touch) for touch in news[:count]]
    return found


def _forget_old(known: Moved, now: int) -> None:
    """Drop texts that are older than SITTING."""
    while known:
        path, seconds, _ = next(iter(known.values()))
        if len(known) <= MOST_MOVED and _is_recent(path, seconds, now):
            return
        del known[next(iter(known))]


def _is_recent(path: str, seconds: int, now: int) -> bool:
    return bool(path) and abs(now - seconds) <= SITTING  # the clock of a commit may be wrong


def _end(path: str, depth: int) -> str:
    """The last DEPTH parts of a path."""
    return "/".join(path.split("/")[-depth:]) if depth else ""
