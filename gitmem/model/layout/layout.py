"""A layout: which layers of memory a group has, and how each is written, shown, budgeted and aged.

A memory system is data. What a `gitmem.yaml` says becomes the values here (`parse` reads it),
and no code knows the name of any system.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

FILE = "gitmem.yaml"
"""Where a group keeps its layout."""
HAS = " has "
"""What stands in a mark of `recognise` between a file and what it says."""
VERSION = 1
"""The form of that file, its key `gitmem`."""

KINDS = ("document", "entries", "log", "journal", "notes", "profile")
LOADS = ("always", "recent", "user", "query", "never")
POLICIES = ("free", "append-only", "write-once", "protected")
RENDERINGS = ("whole", "summary", "pointer")
FORMATS = ("xml", "sections", "markdown", "snippets", "json")
TIMES = ("date", "datetime", "week", "month")
"""The variables that the clock fills in."""
VARIABLES = (*TIMES, "user")
NAMES = ("encoded", "literal")
"""How the id of a user becomes the name of a file."""
ROLLUPS = ("move", "keep")
"""What becomes of the pages of a journal whose week or month has its summary."""


class Layer(NamedTuple):
    """One kind of memory."""

    name: str
    kind: str
    path: str
    """A path, where {date} and the other variables and globs may stand."""
    load: str = "never"
    recent: int = 0
    """How many of the newest, where the load rule is `recent`."""
    label: str = ""
    """The heading of its section."""
    render: str = "whole"
    budget: int = 0
    """Bytes; 0 is no limit."""
    warn: int = 0
    policy: str = "free"
    ages: bool = False
    archive: str = "archive"
    """The folder to which its things retire."""
    importance: int = 3
    """1 is the last to be left out of a prompt that is too small, 5 the first."""
    shared: bool = False
    """True when the group `global` contributes to it."""
    rotated: str = ""
    """Where a log goes when its day is over."""
    header: str = ""
    """The first line of a fresh file."""
    default: str = ""
    """The file from which a new profile starts."""
    fields: tuple[str, ...] = ()
    """The fields of an entry, in the order in which they are written."""
    statuses: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    """Those statuses that say an entry has had its time."""
    types: tuple[str, ...] = ()
    strict: bool = False
    """True when an unknown status or type is refused, not only remarked."""
    exclusive: str = ""
    """Layers with the same word here never hold the same thing twice."""
    lint: tuple[str, ...] = ()
    """Rules for its content: no-secrets, no-config-values."""
    names: str = "encoded"
    """How the id of a user whom nothing is known of becomes the name of a file."""
    rollup: str = ""
    """Whether its pages retire to the archive when they are rolled up, or stay; empty for never."""

    @property
    def heading(self) -> str:
        """What stands above it in a prompt."""
        return self.label or self.name

    @property
    def is_literal(self) -> bool:
        """Whether a new profile is named by the id itself, where a file can be called so."""
        return self.names == "literal"

    @property
    def display_path(self) -> str:
        """Its path for a reader: `users/<user>.md`."""
        return re.sub(r"\{(\w+)\}", r"<\1>", self.path)

    def covers(self, path: str) -> bool:
        """Whether a file at PATH belongs here: a variable stands for any one name."""
        return self.holds(path) or (self.rotated != "" and fits(self.rotated, path))

    def holds(self, path: str) -> bool:
        """Whether PATH is where this layer is written now: a log that has rotated is past."""
        return fits(self.path, path)


class Compaction(NamedTuple):
    """Where the summary of a compacted session goes."""

    into: str = ""
    daily: str = ""


class Migration(NamedTuple):
    """What `migrate` brings into its present form."""

    old: str = ""
    new: str = ""
    """A file of the name OLD becomes NEW."""
    sections: str = ""
    """Sections of NEW whose heading begins so ..."""
    into: str = ""
    """... move here."""


class Retrieval(NamedTuple):
    """How much a prompt may call for, and when it calls for nothing."""

    top: int = 8
    """Passages."""
    chars: int = 6000
    gate: float = 0.3
    """How much of a sentence the best passage has to have in it, by how rare the words are."""


class TranscriptSettings(NamedTuple):
    """What is asked of conversations."""

    threshold: int = 30
    """More unsummarised messages than these are too many."""
    record: bool = True
    """Whether the hooks of an agent keep what was said in its sessions."""


class Layout(NamedTuple):
    """What a group's `gitmem.yaml` says."""

    name: str = ""
    timezone: str = ""
    format: str = "xml"
    annotate: bool = False
    budget: int = 0
    """Characters that an injection may have; 0 is no limit."""
    layers: tuple[Layer, ...] = ()
    compact: Compaction = Compaction()
    migrate: Migration = Migration()
    retrieve: Retrieval = Retrieval()
    transcripts: TranscriptSettings = TranscriptSettings()
    allow: tuple[str, ...] = ()
    """Patterns of files that the memory actions may read; nothing for all."""
    include: tuple[str, ...] = ()
    """Patterns of files that are memory beside what the layers name, in a folder elsewhere."""
    ignore: tuple[str, ...] = ()
    """Patterns of files that are no memory there, whatever names them."""
    recognise: tuple[str, ...] = ()
    """Files by which a folder that somebody already has is known to be of this kind."""
    unknown: tuple[str, ...] = ()
    """Keys of the file that only a newer gitmem can read: they are passed over."""

    @property
    def summaries(self) -> str:
        """Where the summary of a compacted session goes, whoever compacts; empty for nowhere.

        Without a word on it in the layout, by what there is: episodes, a log, or another journal.
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
        """The layers that LAYER stands behind: a file that fits one of them is not its own."""
        return self.layers[: self.layers.index(layer)]

    def allows(self, path: str) -> bool:
        """Whether the memory actions may read the file at PATH."""
        return not self.allow or any(fits(each, path) for each in self.allow)

    def spelled(self, has: Callable[[str], bool]) -> Layout:
        """This layout with the names that files have, by what it HAS: `memory.md` for `MEMORY.md`.

        A name in small letters counts where that of the layout is not there: some systems take
        both, and on a file system that knows no case they are one.
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
        """Files in small letters that no layer shows, each with the one that counts instead."""
        for path in (each.path for each in self.layers):
            small = lower_name(path)
            if small and has(path) and has(small) and self.layer_of(small) is None:
                yield small, path

    def _files(self) -> Iterator[str]:
        """Every path that it names."""
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

        # The name that is not there stays allowed: who asks for it gets the other.
        allow = dict.fromkeys((*self.allow, *map(real, self.allow)))
        return self._replace(
            layers=tuple(each._replace(path=real(each.path)) for each in self.layers),
            compact=Compaction(*map(real, self.compact)),
            migrate=Migration(*map(real, self.migrate)),
            allow=tuple(allow),
            recognise=tuple(map(marked, self.recognise)),
        )

    def policy_of(self, path: str) -> str:
        """How the file at PATH may be written; the layout itself always freely."""
        layer = next((each for each in self.layers if each.holds(path)), None)
        return layer.policy if layer else "free"


EMPTY = Layout()
"""The layout of a group that has none: every file is free, and nothing is shown."""


def budget_state(layer: Layer, size: int) -> str:
    """`over` the budget, `near` it, or `ok`."""
    if layer.budget and size > layer.budget:
        return "over"
    return "near" if layer.warn and size > layer.warn else "ok"


def budget_percent(layer: Layer, size: int) -> int:
    """How much of the budget is used; 0 where there is none."""
    return round(100 * size / layer.budget) if layer.budget else 0


def filled(pattern: str, values: Mapping[str, str]) -> str:
    """PATTERN with its variables replaced; raises KeyError for one that has no value."""
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], pattern)


def variables_in(pattern: str) -> tuple[str, ...]:
    """The variables of PATTERN, in order."""
    return tuple(re.findall(r"\{(\w+)\}", pattern))


def lower_name(path: str) -> str:
    """The other name by which a file is known; nothing for a pattern, or where it is the same."""
    if "*" in path or "{" in path:
        return ""
    folder, slash, name = path.rpartition("/")
    small = f"{folder}{slash}{name.lower()}"
    return small if small != path else ""


def is_glob(pattern: str) -> bool:
    """Whether PATTERN stands for any number of names."""
    return "*" in pattern


def moment_values(moment: datetime) -> dict[str, str]:
    """What the variables of time stand for at MOMENT."""
    year, week, _ = moment.isocalendar()
    return {
        "date": f"{moment.date()}",
        "datetime": moment.strftime("%Y-%m-%dT%H-%M-%S"),
        "week": f"{year:04}-W{week:02}",
        "month": f"{moment.year:04}-{moment.month:02}",
    }


def fits(pattern: str, path: str) -> bool:
    """Whether PATH fits PATTERN, whose variables stand for any one name."""
    if path == FILE:
        return False  # the layout itself is no memory, whatever a glob says
    if "{" not in pattern and "*" not in pattern:
        return pattern == path
    return re.fullmatch(_as_regex(pattern), path, re.DOTALL) is not None


@lru_cache(maxsize=256)
def _as_regex(pattern: str) -> str:
    """`*` and a variable stay inside one name; `**` crosses, and `**/` may be no folder at all."""
    marks = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    parts = re.split(r"(\*\*/|\*\*|\*|\{\w+\})", pattern)
    return "".join(
        marks.get(part, "[^/]+") if number % 2 else re.escape(part)
        for number, part in enumerate(parts)
    )
