"""A layout: the layers of a group, and how each is written, shown, budgeted and aged.

A memory system is data: `parse` turns a `gitmem.yaml` into these values, and no code knows the name
of a system.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from gitmem.model.record import Record

FILE = "gitmem.yaml"
"""The file with the layout of a group."""
HAS = " has "
"""Between a file and its text in a mark of `recognise`."""
VERSION = 1
"""The format of that file: its key `gitmem`."""

KINDS = ("document", "entries", "log", "journal", "notes", "profile")
LOADS = ("always", "recent", "user", "query", "never")
POLICIES = ("free", "append-only", "write-once", "protected")
RENDERINGS = ("whole", "summary", "pointer")
FORMATS = ("xml", "sections", "markdown", "snippets", "json")
TIMES = ("date", "datetime", "week", "month")
"""Variables with a value from the clock."""
VARIABLES = (*TIMES, "user")
NAMES = ("encoded", "literal")
"""How a user id becomes a file name."""
ROLLUPS = ("move", "keep")
"""What `rollup` does with the pages that a summary covers."""


class Layer(Record):
    """One kind of memory."""

    name: str
    kind: str
    path: str
    """A path, which may have variables such as {date}, and globs."""
    load: str = "never"
    recent: int = 0
    """How many of the newest files, for `load: recent`."""
    label: str = ""
    """The heading of its section."""
    render: str = "whole"
    budget: int = 0
    """Bytes; 0 is no limit."""
    warn: int = 0
    policy: str = "free"
    ages: bool = False
    archive: str = "archive"
    """Its archive folder."""
    importance: int = 3
    """1 is dropped last from a prompt that is too small, 5 first."""
    shared: bool = False
    """Whether the group `global` contributes to it."""
    rotated: str = ""
    """Where a log goes when its day is over."""
    header: str = ""
    """The first line of a fresh file."""
    default: str = ""
    """The file from which a new profile starts."""
    fields: tuple[str, ...] = ()
    """The fields of an entry, in their order."""
    statuses: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    """The statuses of an outdated entry."""
    types: tuple[str, ...] = ()
    strict: bool = False
    """Whether an unknown status or type is refused, not only warned about."""
    exclusive: str = ""
    """Layers with the same word here must not have the same entry twice."""
    lint: tuple[str, ...] = ()
    """Rules for its content: no-secrets, no-config-values."""
    names: str = "encoded"
    """How the id of a new user becomes a file name."""
    rollup: str = ""
    """Whether pages that are rolled up move to the archive or stay; empty for no rollup."""

    @property
    def heading(self) -> str:
        """Its heading in a prompt."""
        return self.label or self.name

    @property
    def is_literal(self) -> bool:
        """Whether a new profile is named by the user id itself, where that is a valid name."""
        return self.names == "literal"

    @property
    def display_path(self) -> str:
        """Its path for people: `users/<user>.md`."""
        return re.sub(r"\{(\w+)\}", r"<\1>", self.path)

    def covers(self, path: str) -> bool:
        """Whether a file at PATH belongs here, rotated logs included."""
        return self.holds(path) or (self.rotated != "" and fits(self.rotated, path))

    def holds(self, path: str) -> bool:
        """Whether this layer is written at PATH; a rotated log is not."""
        return fits(self.path, path)


class Compaction(NamedTuple):
    """Where the summary of a compacted session goes."""

    into: str = ""
    daily: str = ""


class Migration(NamedTuple):
    """What `migrate` changes."""

    old: str = ""
    new: str = ""
    """The file OLD is renamed to NEW."""
    sections: str = ""
    """Sections of NEW whose heading begins so ..."""
    into: str = ""
    """... move here."""


class Retrieval(Record):
    """How many passages a prompt retrieves, and when it retrieves none."""

    top: int = 8
    """Passages."""
    chars: int = 6000
    gate: float = 0.3
    """The share of a sentence that the best passage must contain, weighted by rarity."""


class TranscriptSettings(Record):
    """Settings for recorded conversations."""

    threshold: int = 30
    """Above this number of unsummarised messages a summary is due."""
    record: bool = True
    """Whether hooks record the sessions of an agent."""


class Layout(Record):
    """The content of a group's `gitmem.yaml`."""

    name: str = ""
    timezone: str = ""
    format: str = "xml"
    annotate: bool = False
    budget: int = 0
    """The most characters of an injection; 0 is no limit."""
    layers: tuple[Layer, ...] = ()
    compact: Compaction = Compaction()
    migrate: Migration = Migration()
    retrieve: Retrieval = Retrieval()
    transcripts: TranscriptSettings = TranscriptSettings()
    allow: tuple[str, ...] = ()
    """Patterns of files that memory actions may read; empty for all."""
    include: tuple[str, ...] = ()
    """Patterns of more memory files, in a folder outside the store."""
    ignore: tuple[str, ...] = ()
    """Patterns of files there that are not memory, whatever names them."""
    recognise: tuple[str, ...] = ()
    """Marks by which an existing folder is recognised."""
    unknown: tuple[str, ...] = ()
    """Keys that this gitmem does not know and skips."""

    @property
    def summaries(self) -> str:
        """The path pattern for the summary of a compacted session; empty for none.

        Without `compact` in the layout it is that of episodes, a log, or another journal.
        """
        if self.compact.into or self.compact.daily:
            return self.compact.into or self.compact.daily
        journals = [each for each in self.layers if each.kind == "journal"]
        episodes = [each for each in journals if each.name == "episodes"]
        logs = [each for each in self.layers if each.kind == "log"]
        return next((each.path for each in (*episodes, *logs, *journals)), "")

    def layer(self, name: str) -> Layer | None:
        """The layer called NAME."""
        return next((each for each in self.layers if each.name == name), None)

    def layer_of(self, path: str) -> Layer | None:
        """The layer to which the file at PATH belongs: the first that covers it."""
        return next((each for each in self.layers if each.covers(path)), None)

    def layers_before(self, layer: Layer) -> tuple[Layer, ...]:
        """The layers before LAYER: a file that matches one of them is not LAYER's."""
        return self.layers[: self.layers.index(layer)]

    def allows(self, path: str) -> bool:
        """Whether memory actions may read the file at PATH."""
        return not self.allow or any(fits(each, path) for each in self.allow)

    def spelled(self, has: Callable[[str], bool]) -> Layout:
        """Return the layout with the names that files have: `memory.md` for `MEMORY.md`.

        HAS tells whether a file exists. The lower-case name counts where the layout's own is
        missing: some systems accept both, and a case-insensitive file system has one file.
        """
        taken = {each.path for each in self.layers}
        others = {path: lower_name(path) for path in self._files()}
        renamed = {
            path: small
            for path, small in others.items()
            if small and small not in taken and not has(path) and has(small)
        }
        return self._renamed(renamed) if renamed else self

    def silenced(self, has: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
        """Lower-case files that no layer shows, each with the file that counts instead."""
        for path in (each.path for each in self.layers):
            small = lower_name(path)
            if small and has(path) and has(small) and self.layer_of(small) is None:
                yield small, path

    def _files(self) -> Iterator[str]:
        """Every path in the layout."""
        yield from (each.path for each in self.layers)
        yield from (*self.compact, self.migrate.old, self.migrate.new, self.migrate.into)
        yield from self.allow
        yield from (mark.partition(HAS)[0] for mark in self.recognise)

    def _renamed(self, names: Mapping[str, str]) -> Layout:
        def real(path: str) -> str:
            return names.get(path, path)

        def marked(mark: str) -> str:
            path, has, text = mark.partition(HAS)
            return f"{real(path)}{has}{text}"

        # The missing name stays allowed: a request for it gets the other file.
        allow = dict.fromkeys((*self.allow, *map(real, self.allow)))
        return self._replace(
            layers=tuple(each._replace(path=real(each.path)) for each in self.layers),
            compact=Compaction(*map(real, self.compact)),
            migrate=Migration(*map(real, self.migrate)),
            allow=tuple(allow),
            recognise=tuple(map(marked, self.recognise)),
        )

    def policy_of(self, path: str) -> str:
        """Return the write policy of the file at PATH; `free` outside of layers."""
        layer = next((each for each in self.layers if each.holds(path)), None)
        return layer.policy if layer else "free"


EMPTY = Layout()
"""The layout of a group without one: every file is free, and nothing is shown."""


def budget_state(layer: Layer, size: int) -> str:
    """Return `over`, `near` or `ok`: SIZE against the budget; a file at its budget is inside."""
    if layer.budget and size > layer.budget:
        return "over"
    return "near" if layer.warn and size > layer.warn else "ok"


def budget_percent(layer: Layer, size: int) -> int:
    """Return the used share of the budget in percent; 0 without a budget."""
    return round(100 * size / layer.budget) if layer.budget else 0


def filled(pattern: str, values: Mapping[str, str]) -> str:
    """Return PATTERN with its variables replaced; KeyError for one without a value."""
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], pattern)


def variables_in(pattern: str) -> tuple[str, ...]:
    """The variables of PATTERN, in order."""
    return tuple(re.findall(r"\{(\w+)\}", pattern))


def lower_name(path: str) -> str:
    """Return the lower-case name of a file; nothing for a pattern, or where it is the same."""
    if "*" in path or "{" in path:
        return ""
    folder, slash, name = path.rpartition("/")
    small = f"{folder}{slash}{name.lower()}"
    return small if small != path else ""


def is_glob(pattern: str) -> bool:
    """Whether PATTERN has a glob."""
    return "*" in pattern


def moment_values(moment: datetime) -> dict[str, str]:
    """Return the values of the time variables at MOMENT."""
    year, week, _ = moment.isocalendar()
    return {
        "date": f"{moment.date()}",
        "datetime": moment.strftime("%Y-%m-%dT%H-%M-%S"),
        "week": f"{year:04}-W{week:02}",
        "month": f"{moment.year:04}-{moment.month:02}",
    }


def fits(pattern: str, path: str) -> bool:
    """Whether PATH matches PATTERN, whose variables match any one name."""
    if path == FILE:
        return False  # the layout itself is not memory, whatever a glob matches
    if "{" not in pattern and "*" not in pattern:
        return pattern == path
    return re.fullmatch(_as_regex(pattern), path, re.DOTALL) is not None


@lru_cache(maxsize=256)
def _as_regex(pattern: str) -> str:
    """`*` and a variable stay inside one name; `**` crosses folders, and `**/` may match none."""
    marks = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    parts = re.split(r"(\*\*/|\*\*|\*|\{\w+\})", pattern)
    return "".join(
        marks.get(part, "[^/]+") if number % 2 else re.escape(part)
        for number, part in enumerate(parts)
    )
