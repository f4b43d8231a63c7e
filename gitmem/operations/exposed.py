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
from gitmem.core.exposure import Exposed, secret_id
from gitmem.core.guards import MAX_FILE, SHORTEST_SECRET, is_allowed
from gitmem.core.secrets import Finding, find, found_in, redact
from gitmem.errors import Damaged, NotFound
from gitmem.git.acknowledged import acknowledge as keep_acknowledged
from gitmem.git.acknowledged import read_acknowledged, salted
from gitmem.git.objects import ObjectMissing
from gitmem.index.scanned import Scanned, carried_on, keep_scanned, read_scanned
from gitmem.operations.group import Group, scanned_in

if TYPE_CHECKING:
    from gitmem.git.lock import Run
    from gitmem.git.steps import Step

MOST_COMMITS = 200
MOST_BYTES = 2 * MAX_FILE
"""What somebody who writes or asks for the status waits for; more is left to maintenance."""
OVERLAP = 16 * 1024
"""So much of a part of a large file is searched again with the next one."""


class Secret(NamedTuple):
    """A credential in git that nobody has acknowledged."""

    id: str
    rule: str
    path: str
    """Empty where it is the message of the commit that holds it."""
    line: int
    commit: str
    """The commit that brought it."""
    standing: bool
    """True while a file holds it; False where it is in history only."""


class Acknowledgement(NamedTuple):
    """Findings that are no news any more."""

    ids: tuple[str, ...]
    changed: bool
    """False when all of them were acknowledged before."""


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

    def _said(self, step: Step) -> Iterator[Exposed]:
        message = self._group.repository.commit(step.oid).message
        yield from self._rows(find(message), "", step, "")

    def _named(self, step: Step, path: str) -> Iterator[Exposed]:
        if len(path) >= SHORTEST_SECRET:
            yield from self._rows(find(path), "", step, redact(path)[0])

    def _in_blob(self, step: Step, path: str, blob: str) -> Iterator[Exposed]:
        with suppress(Damaged):  # `check` tells of it; what cannot be read is not shown either
            data = self._objects.read_as("blob", blob)
            self._bytes += len(data)
            lines = 0
            for at in range(0, max(len(data), 1), MAX_FILE):
                part = data[max(0, at - OVERLAP) : at + MAX_FILE]
                found = [each._replace(line=each.line + lines) for each in found_in(part)]
                yield from self._rows(found, blob, step, redact(path)[0])
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

    What was allowed on the way, by `--allow-secret` or `held accept`, is acknowledged with that. A
    file that held a credential before holds it in its next version, too: then they are searched.
    """
    stored = read_scanned(group.gitdir)
    known = carried_on(stored, *before)
    tip, found = known.tip, known.found
    for parent, commit in landed:
        allowed = is_allowed(group.repository.commit(commit).message)
        if allowed or found:
            search = _Search(group, bounded=False)
            here = search.exposed(search.unscanned(commit, parent) or ()) or []
            found = tuple(dict.fromkeys((*found, *here)))
            if allowed:
                keep_acknowledged(group.gitdir, [each.id for each in here])
        tip = commit if parent == tip else tip
    if (tip, found) != (stored.tip, stored.found):
        keep_scanned(group.gitdir, known._replace(tip=tip, found=found))


def open_secrets(group: Group, known: Scanned) -> tuple[Secret, ...]:
    """What was found and nobody has acknowledged: first what still stands in a file."""
    if not known.found:
        return ()
    done = read_acknowledged(group.gitdir).ids
    standing = {node.oid: path for path, node in group.repository.snapshot().files()}
    secrets: dict[str, Secret] = {}
    for each in known.found:
        path = standing.get(each.blob) if each.blob else None
        if each.id not in done and (path or each.id not in secrets):
            first = secrets[each.id].commit if each.id in secrets else each.commit
            place = path or each.path
            secrets[each.id] = Secret(each.id, each.rule, place, each.line, first, bool(path))
    return tuple(sorted(secrets.values(), key=lambda each: not each.standing))


def secret_words(secret: Secret) -> tuple[str, str]:
    """What to say of a finding, and what to type next."""
    place = f"{secret.path} line {secret.line}" if secret.path else f"line {secret.line}"
    where = place if secret.path else f"the message of commit {secret.commit[:10]}"
    done = f"`gitmem check --acknowledge {secret.id}`"
    if secret.standing:
        text = f"{where} holds what looks like a credential ({secret.rule})"
        return text, f"remove it from the file and replace the key; if it is none, run {done}"
    if secret.path:
        where = f"{place} of commit {secret.commit[:10]}"
    text = f"history holds what looks like a credential ({secret.rule}): {where}"
    return text, f"replace the key; docs/secrets.md removes it from history; then run {done}"


def acknowledge(group: Group, ids: Iterable[str]) -> Acknowledgement:
    """End the notice about findings: somebody knows of them."""
    check_access(group.acting, group.name, write=True)
    wanted = tuple(dict.fromkeys(ids))
    known = {each.id for each in scan_commits(group).found}
    done = read_acknowledged(group.gitdir).ids
    for each in wanted:
        if each not in known | done:
            raise NotFound(
                f"no finding {each!r} in group {group.name}",
                hint="`gitmem check` lists them with their ids",
            )
    keep_acknowledged(group.gitdir, wanted)
    return Acknowledgement(wanted, not set(wanted) <= done)
