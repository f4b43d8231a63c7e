"""Which files of a work tree stay out of memory by somebody's decision.

`gitmem/ignored` has one JSON object on a line: pattern, who, when, why. It is local, as held files
are. The patterns also stand in git's `info/exclude`, so that a person's `git clean -fd` does not
delete those files and `git add -A` does not commit them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import PathRefused
from gitmem.model.hints import Hint, call

if TYPE_CHECKING:
    from gitmem.model.ignore import IgnorePattern
    from gitmem.store.repository import Snapshot

NAME = "ignored"
BEGIN = "# gitmem held ignore: begin"
END = "# gitmem held ignore: end"


class Ignoring(NamedTuple):
    """A pattern, and whose decision it is."""

    pattern: str
    at: str
    agent: str
    reason: str


class Ignored:
    """The patterns of one group."""

    def __init__(self, gitdir: Path) -> None:
        self._gitdir = gitdir
        self.rows = _read(f"{gitdir}/gitmem/{NAME}")

    @cached_property
    def _patterns(self) -> list[IgnorePattern]:
        from gitmem.model.ignore import IgnorePattern  # most groups ignore nothing

        return [IgnorePattern(row.pattern) for row in self.rows]

    def fits(self, path: str) -> bool:
        """Whether somebody decided to ignore PATH; that of a folder ends with a slash."""
        return bool(self.rows) and any(each.fits(path) for each in self._patterns)

    def check(self, files: Mapping[str, bytes | None], snapshot: Snapshot) -> None:
        """Refuse to write FILES where one is ignored; what SNAPSHOT has is memory all the same."""
        for path in files:
            fitting = (each.text for each in self._patterns if each.fits(path))
            pattern = "" if files[path] is None else next(fitting, "")
            if pattern and snapshot.oid(path) is None:
                raise PathRefused(
                    f"{path!r} is ignored in this group by the pattern {pattern!r}",
                    hint=Hint(
                        "choose another path, or take the pattern back: ",
                        call("held ignore", remove=pattern),
                    ),
                    path=path,
                    rule="ignored",
                )

    def keep(self, rows: Sequence[Ignoring]) -> None:
        """Make ROWS the patterns. Needs the group's lock."""
        import json  # only where somebody decides

        from gitmem.model.ignore import exclude_line
        from gitmem.store.refs.move import put_durably

        path = self._gitdir / "gitmem" / NAME
        text = "".join(json.dumps(row._asdict()) + "\n" for row in rows)
        put_durably(path, text.encode(), path.with_suffix(".new"))
        ours = [exclude_line(row.pattern) for row in rows if not set(row.pattern) & {"\n", "\r"}]
        put_rules(self._gitdir, BEGIN, END, ours)


def put_rules(
    gitdir: Path, begin: str, end: str, rules: Sequence[str], *, first: bool = False
) -> None:
    """Let RULES stand between the lines BEGIN and END of git's exclude file, FIRST or last in it.

    Nothing is written where they stand there already; all other lines stay.
    """
    exclude = gitdir / "info" / "exclude"
    before = _lines_of(exclude)
    kept = _without_block(before, begin, end)
    block = [begin, *rules, end] if rules else []
    lines = [*block, *kept] if first else [*kept, *block]
    if lines == before:
        return
    from gitmem.store.refs.move import put_durably

    exclude.parent.mkdir(mode=0o700, exist_ok=True)
    text = "".join(f"{line}\n" for line in lines)
    put_durably(exclude, text.encode("utf-8", "surrogateescape"), exclude.with_suffix(".new"))


def rules_between(gitdir: Path, begin: str, end: str) -> list[str]:
    """The lines between BEGIN and END of git's exclude file."""
    lines = _lines_of(gitdir / "info" / "exclude")
    if begin not in lines or end not in lines[lines.index(begin) :]:
        return []
    start = lines.index(begin)
    return lines[start + 1 : lines.index(end, start)]


def _read(path: str) -> tuple[Ignoring, ...]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return ()
    import json  # only where there is a decision

    rows = []
    for line in text.splitlines():
        try:
            found = json.loads(line)
            rows.append(Ignoring(*(str(found[key]) for key in Ignoring._fields)))
        except (ValueError, KeyError, TypeError):
            continue  # one torn line takes no other decision back
    return tuple(rows)


def _lines_of(path: Path) -> list[str]:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []


def _without_block(lines: list[str], begin: str, end: str) -> list[str]:
    """LINES but for those between BEGIN and END, and these two."""
    if begin not in lines or end not in lines[lines.index(begin) :]:
        return lines
    start = lines.index(begin)
    return [*lines[:start], *lines[lines.index(end, start) + 1 :]]
