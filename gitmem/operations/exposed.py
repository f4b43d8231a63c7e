"""Credentials in commits that passed no guard: found when they first appear, named, and masked.

A commit made by plain git, fetched or pulled is searched by the next command that writes, by
`status`, `maintain` and `check`. What counts is up to where history was searched, never what a
commit says of itself: anybody can type a trailer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from gitmem.core.access import check_access
from gitmem.core.exposure import Exposed, placed_id, secret_id
from gitmem.core.guards import MAX_FILE, is_allowed
from gitmem.core.secrets import Finding, find, found_in, found_in_name, shown_name
from gitmem.errors import Damaged, NotFound
from gitmem.git.acknowledged import acknowledge as keep_acknowledged
from gitmem.git.acknowledged import read_acknowledged, salted
from gitmem.git.kept import unreadable
from gitmem.git.objects import ObjectMissing
from gitmem.index.scanned import Scanned, carried_on, keep_scanned, read_scanned
from gitmem.operations.group import Group, scanned_in

if TYPE_CHECKING:
    from gitmem.git.lock import Run
    from gitmem.git.steps import Step

MOST_COMMITS = 200
MOST_BYTES = 2 * MAX_FILE
"""What somebody who writes or asks for the status waits for; more is left to maintenance."""
MOST_NAMED = 50
"""Places of one value that a sentence names; `status --json` lists all."""
OVERLAP = 16 * 1024
"""So much of a part of a large file is searched again with the next one."""


_Brought = Iterable[tuple[Exposed, set[str]]]


class Place(NamedTuple):
    """A file that holds a credential now."""

    path: str
    line: int
    """0 where it is the name of the file that holds it."""


class Secret(NamedTuple):
    """A credential in git that nobody has acknowledged."""

    id: str
    rule: str
    path: str
    """The first place; empty where it is the message of the commit that holds it."""
    line: int
    """0 where it is the name of the file that holds it."""
    commit: str
    """The commit that brought it; empty where that is gone."""
    standing: bool
    """True while a file or its name holds it; False where it is in history only."""
    places: tuple[Place, ...] = ()
    """Every file that holds it now, or whose name does."""


class Acknowledgement(NamedTuple):
    """Findings that are no news any more."""

    ids: tuple[str, ...]
    changed: bool
    """False when all of them were acknowledged before."""
    secrets: bool = True
    """True when a secret is among them: models see it again where it still stands."""


def scan_commits(group: Group, *, bounded: bool = False) -> Scanned:
    """Search the commits that were not searched yet; BOUNDED: unless there are too many."""
    known, tip = scanned_in(group.gitdir)[0], group.repository.tip().commit
    if tip == known.tip or (bounded and tip == known.left):
        return known
    search = _Search(group, bounded)
    steps = search.unscanned(tip, known.tip)
    found = None if steps is None else search.exposed(steps)
    if found is None:
        known = known._replace(left=tip)
    else:
        kept = [each for each in known.found if _is_there(group, each)]
        known = Scanned(tip, "", tuple(dict.fromkeys((*kept, *found))))
    if group.keeps:
        keep_scanned(group.gitdir, known)
    return known


def _is_there(group: Group, found: Exposed) -> bool:
    """False once somebody has removed it from history, and git has dropped the object."""
    objects = group.repository.objects
    try:
        with objects.probing():  # or it would be healed from a copy that is held or in the trash
            objects.read(found.blob or found.commit)
    except ObjectMissing:
        return False
    except Damaged:
        return True
    return True


class _Search:
    """A walk over commits; where it is bounded, it gives up when there is too much to read."""

    def __init__(self, group: Group, bounded: bool) -> None:
        self._group, self._bounded = group, bounded
        self._objects = group.repository.objects
        self._bytes = 0

    def _step(self, oid: str) -> Step:
        from gitmem.git.steps import read_step  # a write of ours has nothing to search

        return read_step(self._objects, oid)

    def unscanned(self, tip: str, known: str) -> list[Step] | None:
        """The commits that TIP reaches and KNOWN does not, oldest first; None: too many."""
        straight = self._straight(tip, known)
        if straight is not None:
            return straight
        seen = self._reached(known)
        found: list[Step] = []
        queue = [tip]
        while queue:
            oid = queue.pop()
            if oid not in seen:
                seen.add(oid)
                found.append(self._step(oid))
                queue += found[-1].parents
            if self._bounded and len(found) > MOST_COMMITS:
                return None
        return found[::-1]

    def _straight(self, tip: str, known: str) -> list[Step] | None:
        """The same where only a few commits lie between them, which is nearly always."""
        found: list[Step] = []
        while tip != known and len(found) < MOST_COMMITS:
            found.append(self._step(tip))
            if len(found[-1].parents) != 1:
                return None if found[-1].parents or known else found[::-1]
            (tip,) = found[-1].parents
        return found[::-1] if tip == known else None

    def _reached(self, commit: str) -> set[str]:
        """COMMIT and what it reaches; where the search is bounded, the newest of them."""
        if not commit:
            return set()
        most = MOST_COMMITS if self._bounded else None
        with suppress(Damaged):  # a history that was written anew: its old commits may be gone
            from gitmem.git.history import walk

            return {each.oid for each in islice(walk(self._group.repository, commit), most)}
        return set()

    def exposed(self, steps: Iterable[Step]) -> list[Exposed] | None:
        """What the commits brought; None when that is more than may be read now."""
        from gitmem.git.steps import Trees

        trees, seen, found = Trees(self._objects), set[str](), list[Exposed]()
        for step in steps:
            found += self._said(step)
            before = self._step(step.parents[0]).tree if step.parents else ""
            for path, _, blob in trees.changes(before, step.tree):
                found += self._named(step, path)
                if blob and blob not in seen:
                    seen.add(blob)
                    found += self._in_blob(step, path, blob)
                if self._bounded and self._bytes > MOST_BYTES:
                    return None
        return found

    def brought(self, steps: Iterable[Step]) -> Iterator[tuple[Exposed, set[str]]]:
        """What was not in its file before, with the files that it left in the same commit."""
        from gitmem.git.steps import Trees

        trees = Trees(self._objects)
        for step in steps:
            came, left = list[Exposed](), dict[str, set[str]]()
            before = self._step(step.parents[0]).tree if step.parents else ""
            for path, old, blob in trees.changes(before, step.tree):
                now, was = (self._by_id(step, path, each) for each in (blob, old))
                came += (now[id] for id in now.keys() - was.keys())
                for id in was.keys() - now.keys():
                    left.setdefault(id, set()).add(was[id].path)
            yield from ((each, left.get(each.id, set())) for each in came)

    def _by_id(self, step: Step, path: str, blob: str) -> dict[str, Exposed]:
        return {each.id: each for each in self._in_blob(step, path, blob)} if blob else {}

    def _said(self, step: Step) -> Iterator[Exposed]:
        message = self._group.repository.commit(step.oid).message
        yield from self._rows(find(message), "", step, "")

    def _named(self, step: Step, path: str) -> Iterator[Exposed]:
        found = [each._replace(line=0) for each in found_in_name(path)]
        yield from self._rows(found, "", step, shown_name(path))

    def _in_blob(self, step: Step, path: str, blob: str) -> Iterator[Exposed]:
        with suppress(Damaged):  # `check` tells of it; what cannot be read is not shown either
            data = self._objects.read_as("blob", blob)
            self._bytes += len(data)
            lines = 0
            for at in range(0, max(len(data), 1), MAX_FILE):
                part = data[max(0, at - OVERLAP) : at + MAX_FILE]
                found = [each._replace(line=each.line + lines) for each in found_in(part)]
                yield from self._rows(found, blob, step, shown_name(path))
                lines = data.count(b"\n", 0, max(0, at + MAX_FILE - OVERLAP))

    def _rows(
        self, found: Iterable[Finding], blob: str, step: Step, path: str
    ) -> Iterator[Exposed]:
        for each in found:
            id = secret_id(self._salt, each.rule, each.value)
            yield Exposed(id, each.rule, each.line, blob, step.oid, path)

    @cached_property
    def _salt(self) -> str:
        """Asked for when something was found: before that there may be none."""
        known = salted if self._group.keeps else read_acknowledged
        return known(self._group.gitdir).salt


def count_as_scanned(group: Group, before: Run, landed: Iterable[tuple[str, str]]) -> None:
    """Remember that commits came through our doors: LANDED are what each began on, and its end.

    BEFORE is what the lock told until then of commits that came through them.

    What was allowed on the way, by `--allow-secret` or `held accept`, is acknowledged with that, in
    the file that it came to and nowhere else. A file that held a credential before holds it in its
    next version, too: then they are searched.
    """
    stored = read_scanned(group.gitdir)
    known = carried_on(stored, *before)
    tip, found = known.tip, known.found
    for parent, commit in landed:
        allowed = is_allowed(group.repository.commit(commit).message)
        if allowed or found:
            search = _Search(group, bounded=False)
            steps = search.unscanned(commit, parent) or []
            acknowledge_in_place(group, _allowed(group, search.brought(steps), allowed))
            found = tuple(dict.fromkeys((*found, *(search.exposed(steps) or ()))))
        tip = commit if parent == tip else tip
    if (tip, found) != (stored.tip, stored.found):
        keep_scanned(group.gitdir, known._replace(tip=tip, found=found))


def _allowed(group: Group, brought: _Brought, allowed: bool) -> list[Exposed]:
    """Those of BROUGHT that somebody allowed in this commit, or in the files that they left.

    The guards let nothing else in: what comes to a file without leave was moved there, by `mv`,
    `archive` or `rotate`. Moved from where nobody allowed it, it stays a finding.
    """
    if allowed:
        return [each for each, _ in brought]
    done = read_acknowledged(group.gitdir)
    return [
        each
        for each, left in brought
        if left and each.id not in done.ids and all(done.covers(each.id, at) for at in left)
    ]


def acknowledge_in_place(group: Group, found: Iterable[Exposed]) -> None:
    """Acknowledge each value of FOUND in its own file alone: it may not turn up in another one."""
    ids = [(each.id, each.place) for each in found]
    salt = salted(group.gitdir).salt if ids else ""
    keep_acknowledged(group.gitdir, [placed_id(salt, *each) for each in ids])


def exposed_beside(group: Group, commit: str) -> list[Exposed]:
    """What the branch would get that nobody has acknowledged, if it were to lead to COMMIT."""
    search = _Search(group, bounded=False)
    steps = search.unscanned(commit, group.repository.tip().commit) or []
    done = read_acknowledged(group.gitdir)
    return [each for each in search.exposed(steps) or () if not done.covers(each.id, each.place)]


def open_secrets(group: Group, known: Scanned) -> tuple[Secret, ...]:
    """What was found and nobody has acknowledged: first what still stands in a file."""
    if not known.found:
        return ()
    head, rows = _Head(group), dict[str, list[Exposed]]()
    for each in known.found:
        rows.setdefault(each.id, []).append(each)
    secrets = [secret for each in rows.values() if (secret := head.secret(each))]
    return tuple(sorted(secrets, key=lambda each: not each.standing))


class _Head:
    """What stands at HEAD of what was found."""

    def __init__(self, group: Group) -> None:
        self._objects = group.repository.objects
        self._done = read_acknowledged(group.gitdir)
        self._paths: dict[str, list[str]] = {}
        for path, node in group.repository.snapshot().files():
            self._paths.setdefault(node.oid, []).append(path)

    def secret(self, rows: list[Exposed]) -> Secret | None:
        """What to say of one value, found at ROWS; nothing where no commit or file shows it."""
        places = tuple(dict.fromkeys(place for each in rows for place in self._places(each)))
        first = next((each for each in rows if self._is_shown(each)), None)
        id, rule = rows[0].id, rows[0].rule
        commit = first.commit if first else ""
        if places:
            return Secret(id, rule, *places[0], commit, True, places)
        return first and Secret(id, rule, first.path, first.line, commit, False)

    def _is_shown(self, each: Exposed) -> bool:
        """Whether it is open, and its commit can be looked at: it may be gone from history."""
        covered = self._done.covers(each.id, each.place)
        return not covered and self._objects.holds(each.commit)

    def _places(self, each: Exposed) -> Iterator[Place]:
        """The files of HEAD that hold it where nobody has acknowledged it."""
        if each.blob:
            paths = [shown_name(path) for path in self._paths.get(each.blob, ())]
        else:
            paths = self._named.get(each.id, [])
        for path in paths:
            if not self._done.covers(each.id, path):
                yield Place(path, each.line if each.blob else 0)

    @cached_property
    def _named(self) -> dict[str, list[str]]:
        """The files whose names hold a value, by its id; nobody asks where no name held one."""
        named: dict[str, list[str]] = {}
        for path in (path for paths in self._paths.values() for path in paths):
            for each in found_in_name(path):
                id = secret_id(self._done.salt, each.rule, each.value)
                named.setdefault(id, []).append(shown_name(path))
        return named


def secret_words(secret: Secret) -> tuple[str, str]:
    """What to say of a finding, and what to type next."""
    done = f"`gitmem check --acknowledge {secret.id}`"
    if secret.standing:
        where = [_place_words(*each) for each in secret.places]
        text = f"{_listed(where)} hold{'s' * (len(where) == 1)} what looks like a credential"
        way = "remove it from the file" if secret.line else "rename the file"
        return f"{text} ({secret.rule})", f"{way} and replace the key; if it is none, run {done}"
    where = [_place_words(secret.path, secret.line)] if secret.path else ["the message"]
    text = f"history holds what looks like a credential ({secret.rule}): "
    hint = f"replace the key, then run {done}; docs/secrets.md says how to remove it from history"
    return f"{text}{where[0]} of commit {secret.commit[:10]}", hint


def _listed(places: list[str]) -> str:
    if len(places) > MOST_NAMED:
        places = [*places[:MOST_NAMED], f"{len(places) - MOST_NAMED:,} more"]
    *others, last = places
    return f"{', '.join(others)} and {last}" if others else last


def _place_words(path: str, line: int) -> str:
    return f"{path} line {line}" if line else f"the name of {path}"


def acknowledge(group: Group, ids: Iterable[str]) -> Acknowledgement:
    """End the notice about findings: somebody knows of them."""
    check_access(group.acting, group.name, write=True)
    wanted = tuple(dict.fromkeys(ids))
    secrets = {each.id for each in scan_commits(group).found}
    known = {*secrets, *(each.id for each in unreadable(group.gitdir, group.repository.objects))}
    done = read_acknowledged(group.gitdir).ids
    for each in wanted:
        if each not in known | done:
            raise NotFound(
                f"no finding {each!r} in group {group.name}",
                hint="`gitmem check` lists them with their ids",
            )
    keep_acknowledged(group.gitdir, wanted)
    return Acknowledgement(wanted, not set(wanted) <= done, not secrets.isdisjoint(wanted))
