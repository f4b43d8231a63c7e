"""Look for what memory should not say: secrets, copied settings, doubles, things without a date."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gitmem.memory.clock import settings_in
from gitmem.memory.context.exposed import open_secrets, scan_commits, secret_words
from gitmem.memory.entries.entries import KIND, entries_in
from gitmem.memory.group import Group, Store
from gitmem.memory.layouts import layout_at
from gitmem.model.curate.lint import (
    Lint,
    Placed,
    in_order,
    lint_duplicates,
    lint_entry,
    lint_file,
    lint_markers,
)
from gitmem.model.layout.layout import Layer, Layout
from gitmem.store.objects.trees import SUBMODULE
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import sound

SECRET = "secret"


class Linted(NamedTuple):
    """What was found in the files of one commit."""

    commit: str
    findings: tuple[Lint, ...]
    checked: int
    """How many files were looked at for all rules: those whose layer has any.

    For conflict markers and credentials every file is.
    """

    @property
    def clean(self) -> bool:
        """True when there is nothing to say."""
        return not self.findings


def lint(group: Group) -> Linted:
    """Judge what the group's last commit says by the rules of its layout.

    The work tree is not looked at: what somebody is in the middle of is their own.
    """
    snapshot = group.repository.snapshot()
    layout = layout_at(group, snapshot).layout
    settings = _settings(group.store, layout)
    findings: list[Lint] = []
    entries: list[Placed] = []
    checked = 0
    for path in _files(snapshot):
        layer = next((each for each in layout.layers if each.holds(path)), None)
        if layer is None or not _asks(layer):
            findings += lint_markers(path, sound(snapshot, path) or b"")
            continue
        checked += 1
        data = snapshot.read(path) or b""
        findings += [*lint_markers(path, data), *lint_file(path, layer, data, settings)]
        if layer.kind == KIND:
            entries += [Placed(path, layer, x) for x in entries_in(snapshot, path, layer)]
    findings += [found for each in entries for found in lint_entry(each)]
    findings += duplicates(entries, layout)
    known = {(each.path, each.line) for each in findings if each.rule == SECRET}
    findings += (each for each in _secrets(group) if (each.path, each.line) not in known)
    return Linted(snapshot.commit, tuple(in_order(findings)), checked)


def _secrets(group: Group) -> Iterator[Lint]:
    """Credentials in any file that came in by plain git, as `check` names them."""
    for each in open_secrets(group, scan_commits(group)):
        _, hint = secret_words(each)
        for path, line in each.places:
            where = f"line {line}" if line else "its name"
            message = f"{where} holds what looks like a credential ({each.rule})"
            yield Lint(SECRET, path, "", line, message, hint)


def duplicates(entries: Iterable[Placed], layout: Layout) -> Iterator[Lint]:
    """Those of ENTRIES that stand twice; what the layout names first is where one belongs."""
    return lint_duplicates(_by_layer(entries, layout))


def _asks(layer: Layer) -> bool:
    """Whether LAYER has any rule, so that its files need be read."""
    return bool(layer.lint or layer.budget or layer.warn or layer.kind == KIND)


def _files(snapshot: Snapshot) -> Iterator[str]:
    for path, node in snapshot.files():
        if node.mode != SUBMODULE:
            yield path


def _by_layer(entries: Iterable[Placed], layout: Layout) -> list[Placed]:
    order = {each.name: place for place, each in enumerate(layout.layers)}
    return sorted(entries, key=lambda each: (order[each.layer.name], each.entry.start))


def _settings(store: Store, layout: Layout) -> dict[str, str]:
    """The values of the store's `.env`, where a layer wants to know them."""
    if not any("no-config-values" in each.lint for each in layout.layers):
        return {}
    return settings_in(store.root)
