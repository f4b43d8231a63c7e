"""Secrets in commits that nobody has acknowledged, and what to say about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from gitmem.cache.scanned import Scanned
from gitmem.memory.group import Group
from gitmem.model.hints import Hint, call
from gitmem.model.record import Record
from gitmem.model.secrets.exposure import Exposed, secret_id
from gitmem.model.secrets.find import find_in_path, redacted_path
from gitmem.store.fsck.acknowledged import read_acknowledged

MOST_NAMED = 50
"""Locations of one value that a message names; `Secret.places` has all."""


class SecretLocation(Record):
    """The location of a credential in a file."""

    path: str
    line: int
    """0 if the name of the file holds it."""


class Secret(Record):
    """A credential in git that nobody has acknowledged."""

    id: str
    rule: str
    path: str
    """The first location; empty if the message of the commit holds it."""
    line: int
    """0 if the name of the file holds it."""
    commit: str
    """The commit that brought it; empty if history does not have it any more."""
    standing: bool
    """True while a file or its name holds it; False if only history does."""
    places: tuple[SecretLocation, ...] = ()
    """Every file that holds it now, in its content or its name."""
    beside: bool = False
    """True if the branch does not reach the commit, such as a kept one."""


def open_secrets(
    group: Group, known: Scanned, beside: Iterable[Exposed] = ()
) -> tuple[Secret, ...]:
    """The findings that nobody has acknowledged, those in current files first.

    BESIDE are the findings in commits that only other refs reach.
    """
    found = tuple(dict.fromkeys((*known.found, *beside)))
    if not found:
        return ()
    head, rows = _Head(group, frozenset(known.found)), dict[str, list[Exposed]]()
    for each in found:
        rows.setdefault(each.id, []).append(each)
    secrets = [secret for each in rows.values() if (secret := head.secret(each))]
    return tuple(sorted(secrets, key=lambda each: not each.standing))


class _Head:
    """Looks up findings in the files of HEAD."""

    def __init__(self, group: Group, on_branch: frozenset[Exposed]) -> None:
        self._objects, self._on_branch = group.repository.objects, on_branch
        self._done = read_acknowledged(group.gitdir)
        self._paths: dict[str, list[str]] = {}
        for path, node in group.repository.snapshot().files():
            self._paths.setdefault(node.oid, []).append(path)

    def secret(self, rows: list[Exposed]) -> Secret | None:
        """The finding for one value, found at ROWS; None if no commit or file shows it any more."""
        locations = (found for each in rows for found in self._locations(each))
        places = tuple(dict.fromkeys(locations))
        first = next((each for each in rows if self._is_shown(each)), None)
        id, rule = rows[0].id, rows[0].rule
        commit = first.commit if first else ""
        if places:
            return Secret(id, rule, places[0].path, places[0].line, commit, True, places)
        beside = first not in self._on_branch
        return first and Secret(id, rule, first.path, first.line, commit, False, beside=beside)

    def _is_shown(self, each: Exposed) -> bool:
        """Whether it is not acknowledged, and its commit is still there."""
        covered = self._done.covers(each.id, each.location)
        return not covered and self._objects.holds(each.commit)

    def _locations(self, each: Exposed) -> Iterator[SecretLocation]:
        """The locations at HEAD that nobody has acknowledged."""
        if each.blob:
            paths = [redacted_path(path) for path in self._paths.get(each.blob, ())]
        else:
            paths = self._named.get(each.id, [])
        for path in paths:
            if not self._done.covers(each.id, path):
                yield SecretLocation(path, each.line if each.blob else 0)

    @cached_property
    def _named(self) -> dict[str, list[str]]:
        """The files whose names hold a value, by its id."""
        named: dict[str, list[str]] = {}
        for path in (path for paths in self._paths.values() for path in paths):
            for each in find_in_path(path):
                id = secret_id(self._done.salt, each.rule, each.value)
                named.setdefault(id, []).append(redacted_path(path))
        return named


def secret_words(secret: Secret) -> tuple[str, str]:
    """The message about a finding, and its hint."""
    done = call("check", acknowledge=secret.id)
    if secret.standing:
        where = [_location_words(each.path, each.line) for each in secret.places]
        text = f"{_listed(where)} hold{'s' * (len(where) == 1)} what looks like a credential"
        way = "remove it from the file" if secret.line else "rename the file"
        hint = Hint(f"{way} and replace the key; if it is none, run ", done)
        return f"{text} ({secret.rule})", hint
    where = [_location_words(secret.path, secret.line)] if secret.path else ["the message"]
    text = f"history holds what looks like a credential ({secret.rule}): "
    text += f"{where[0]} of commit {secret.commit[:10]}"
    if secret.beside:
        text += ", which is not on the branch"
        listed = call("kept")
        return text, Hint(
            "replace the key, then run ", done, "; ", listed, " lists what you can drop"
        )
    more = "; docs/secrets.md says how to remove it from history"
    return text, Hint("replace the key, then run ", done, more)


def _listed(locations: list[str]) -> str:
    if len(locations) > MOST_NAMED:
        locations = [*locations[:MOST_NAMED], f"{len(locations) - MOST_NAMED:,} more"]
    *others, last = locations
    return f"{', '.join(others)} and {last}" if others else last


def _location_words(path: str, line: int) -> str:
    return f"{path} line {line}" if line else f"the name of {path}"
