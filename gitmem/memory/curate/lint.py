"""Report what memory should not hold: secrets, copied settings, duplicates, undated entries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gitmem.memory.admin.committed_secrets import scan_commits
from gitmem.memory.admin.secret_findings import open_secrets, secret_words
from gitmem.memory.clock import settings_in
from gitmem.memory.entries.targets import KIND, entries_in
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.store import Store
from gitmem.model.entries.blocks import DATES, Entry
from gitmem.model.entries.lines import fold
from gitmem.model.entries.rules import entry_issues, is_retired
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import Layer, Layout, budget_percent, budget_state
from gitmem.model.record import Record
from gitmem.model.secrets import find as secrets
from gitmem.model.text.conflict_markers import conflicts
from gitmem.model.text.dotenv import copies
from gitmem.model.text.format import human_size
from gitmem.store.objects.trees import SUBMODULE
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import sound

SECRET = "secret"


class Linted(Record):
    """The findings in the files of one commit."""

    commit: str
    findings: tuple[Lint, ...]
    checked: int
    """How many files were checked by all rules: those whose layer has any.

    Conflict markers and credentials are searched for in every file.
    """

    @property
    def clean(self) -> bool:
        """True if there are no findings."""
        return not self.findings


def lint(group: Group) -> Linted:
    """Check the files of the last commit by the rules of the layout.

    The work tree is not read: an edit may be half done.
    """
    snapshot = group.repository.snapshot()
    layout = layout_at(group, snapshot).layout
    settings = _settings(group.store, layout)
    findings: list[Lint] = []
    entries: list[PlacedEntry] = []
    checked = 0
    for path in _files(snapshot):
        layer = next((each for each in layout.layers if each.holds(path)), None)
        if layer is None or not _has_rules(layer):
            findings += _lint_markers(path, sound(snapshot, path) or b"")
            continue
        checked += 1
        data = snapshot.read(path) or b""
        findings += [*_lint_markers(path, data), *_lint_file(path, layer, data, settings)]
        if layer.kind == KIND:
            entries += [PlacedEntry(path, layer, x) for x in entries_in(snapshot, path, layer)]
    findings += [found for each in entries for found in _lint_entry(each)]
    findings += duplicates(entries, layout)
    known = {(each.path, each.line) for each in findings if each.rule == SECRET}
    findings += (each for each in _committed_secrets(group) if (each.path, each.line) not in known)
    return Linted(snapshot.commit, tuple(_in_order(findings)), checked)


def _committed_secrets(group: Group) -> Iterator[Lint]:
    """Credentials in any file that was committed with plain git, as `check` names them."""
    for each in open_secrets(group, scan_commits(group)):
        _, hint = secret_words(each)
        for place in each.places:
            where = f"line {place.line}" if place.line else "its name"
            message = f"{where} holds what looks like a credential ({each.rule})"
            yield Lint(SECRET, place.path, "", place.line, message, hint)


def duplicates(entries: Iterable[PlacedEntry], layout: Layout) -> Iterator[Lint]:
    """The duplicates among ENTRIES; the layer that the layout names first keeps its entry."""
    return _lint_duplicates(_by_layer(entries, layout))


def _has_rules(layer: Layer) -> bool:
    """Whether LAYER has any rule, so that its files have to be read."""
    return bool(layer.lint or layer.budget or layer.warn or layer.kind == KIND)


def _files(snapshot: Snapshot) -> Iterator[str]:
    for path, node in snapshot.files():
        if node.mode != SUBMODULE:
            yield path


def _by_layer(entries: Iterable[PlacedEntry], layout: Layout) -> list[PlacedEntry]:
    order = {each.name: number for number, each in enumerate(layout.layers)}
    return sorted(entries, key=lambda each: (order[each.layer.name], each.entry.start))


def _settings(store: Store, layout: Layout) -> dict[str, str]:
    """The values of the store's `.env`, if a layer has a rule about them."""
    if not any("no-config-values" in each.lint for each in layout.layers):
        return {}
    return settings_in(store.root)


ENV = ".env"
_KEPT = "keep the value elsewhere and write where it is: `see .env NAME`"
_EXPOSED = "git history still has it, so change the credential"
# The name of a credential, and the value behind it.
_CREDENTIAL = (
    r"(?i)\b(?:(?P<chosen>pass(?:word|wd|phrase|code)|pin|private[ _-]?key)|(?P<phrase>mnemonic"
    r"|(?:seed|recovery)[ _-]?(?:phrase|words?|codes?))|secret|token|api[ _-]?key)s?\b"
    r"[\"'`*_)\]]{0,4}[ \t]*[:=][\"'`*_ \t]{0,8}(?P<value>[^\s\"'`*][^\n]*)"
)
# Words that only say where a value is kept.
_POINTER = (
    r"(?i)(?:see|in|at|from|via|stored|kept|saved|held|lives?|ask|never|not|no|none|n/a|unknown"
    r"|unset|tbd|rotated|required|env|environment|vault|keychain|public)\b"
    r"|.*\.env\b|[-\u2013\u2014.?(<\[{$%/~]"
)
_VARIABLES = r"(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|\W)+"
_FEWEST_WORDS = 6
_SHORTEST_KEY = 6
_SHORT_TEXT = 30
# Fields that describe an entry and are not part of its text.
_ABOUT = frozenset(map(fold, (*DATES, "Status", "Importance", "Type", "Decided by", "Source")))


class Lint(Record):
    """A finding in a file or an entry."""

    rule: str
    path: str
    address: str
    """The entry it is about; empty for the file."""
    line: int
    """0 for the whole file."""
    message: str
    hint: str


class PlacedEntry(NamedTuple):
    """An entry, with its file and layer."""

    path: str
    layer: Layer
    entry: Entry

    @property
    def address(self) -> str:
        """The address of the entry."""
        return f"{self.path}#{self.entry.slug}"


def _lint_file(path: str, layer: Layer, data: bytes, settings: Mapping[str, str]) -> Iterator[Lint]:
    """The findings about one file; SETTINGS are the values in `.env`."""
    text = data.decode("utf-8", "replace")
    if "no-secrets" in layer.lint:
        yield from _secrets(path, data, text)
    if "no-config-values" in layer.lint:
        yield from _copies(path, text, settings)
    yield from _size(path, layer, len(data))


def _lint_markers(path: str, data: bytes) -> Iterator[Lint]:
    """Merge conflicts that were committed without being resolved."""
    for line in conflicts(data):
        message = f"line {line} begins an unresolved merge conflict"
        hint = Hint("resolve it: ", call("edit", path))
        yield Lint("conflict-markers", path, "", line, message, hint)


def _lint_entry(placed: PlacedEntry) -> Iterator[Lint]:
    """The findings about one entry."""
    path, layer, entry = placed
    for each in entry_issues(entry, layer):
        setting = _example(each.rule, layer)
        hint = Hint("set it: ", call("write", path, entry=entry.slug, set=setting))
        yield Lint(each.rule, path, placed.address, entry.line, each.text, hint)


def _lint_duplicates(entries: Iterable[PlacedEntry]) -> Iterator[Lint]:
    """Entries that occur twice in layers of which only one may have them."""
    titles: dict[tuple[str, str], PlacedEntry] = {}
    texts: dict[tuple[str, str], PlacedEntry] = {}
    for each in entries:
        label = each.layer.exclusive
        first = titles.setdefault((label, _title(each.entry)), each) if label else each
        if first is each and label and len(_text(each.entry)) >= _SHORT_TEXT:
            first = texts.setdefault((label, _text(each.entry)), each)
        if first is not each and not _is_sequel(first, each):
            yield _duplicate(first, each)


def _secrets(path: str, data: bytes, text: str) -> Iterator[Lint]:
    found = {each.line: each.rule for each in reversed(secrets.find_in_bytes(data))}
    for number, line in enumerate(text.split("\n"), 1):
        named = re.search(_CREDENTIAL, line)
        if named and number not in found and _is_value(named):
            found[number] = "a value after the name of a credential"
    for number, rule in sorted(found.items()):
        message = f"line {number} holds what looks like a credential ({rule})"
        yield Lint("secret", path, "", number, message, f"{_KEPT}; {_EXPOSED}")


def _is_value(named: re.Match[str]) -> bool:
    """Whether a value follows the name of a credential, and not words about it."""
    value = named["value"]
    if re.match(_POINTER, value) or re.fullmatch(_VARIABLES, value):
        return False
    first, *rest = value.split()
    if named["phrase"]:
        return len(rest) + 1 >= _FEWEST_WORDS
    mixed = any(map(str.isdigit, first)) and any(map(str.isalpha, first))
    return bool(named["chosen"] and not rest) or (mixed and len(first) >= _SHORTEST_KEY)


def _copies(path: str, text: str, settings: Mapping[str, str]) -> Iterator[Lint]:
    for number, key in copies(text, settings):
        message = f"line {number} repeats the value of {key} from {ENV}"
        hint = f"write a pointer instead: `{key}: see {ENV} {key}`"
        yield Lint("config-value", path, "", number, message, hint)


def _size(path: str, layer: Layer, size: int) -> Iterator[Lint]:
    state = budget_state(layer, size)
    if state == "ok":
        return
    used = f"{human_size(size)} of {human_size(layer.budget)}, {budget_percent(layer, size)} %"
    message = f"it is {state} its budget: {size:,} bytes ({used})"
    hint = "shorten it, and move outdated text to reference/ or archive/"
    yield Lint(f"{state}-budget", path, "", 0, message, hint)


def _example(rule: str, layer: Layer) -> str:
    examples = {
        "no-date": f"{_date_field(layer)}=YYYY-MM-DD",
        "no-importance": "Importance=3",
        "bad-importance": "Importance=3",
        "unknown-status": f"Status={next(iter(layer.statuses), '...')}",
        "unknown-type": f"Type={next(iter(layer.types), '...')}",
    }
    return examples[rule]


def _date_field(layer: Layer) -> str:
    dates = set(map(fold, DATES))
    return next((name for name in layer.fields if fold(name) in dates), "Date")


def _title(entry: Entry) -> str:
    return " ".join(entry.title.casefold().split()).strip("*_`\"'.!? ")


def _text(entry: Entry) -> str:
    """The text of an entry, without the fields that describe it."""
    values = [value for name, value in entry.fields if fold(name) not in _ABOUT]
    return " ".join(" ".join([*values, entry.prose]).casefold().split())


def _is_sequel(first: PlacedEntry, second: PlacedEntry) -> bool:
    """Whether one of two entries of a file is outdated, so that the other continues it."""
    both = (first, second)
    return first.path == second.path and any(is_retired(x.entry, x.layer) for x in both)


def _duplicate(first: PlacedEntry, second: PlacedEntry) -> Lint:
    message = f"{second.entry.title!r} is a duplicate of {first.address}"
    hint = Hint(
        "merge the two entries into one, and archive the other: ", call("archive", second.address)
    )
    return Lint("duplicate", second.path, second.address, second.entry.line, message, hint)


def _in_order(findings: Iterable[Lint]) -> Sequence[Lint]:
    """FINDINGS by file and line."""
    return sorted(findings, key=lambda each: (each.path, each.line, each.rule))
