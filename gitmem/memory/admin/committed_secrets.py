"""Secrets in commits that passed no guard: found when they first appear, named, and masked.

A commit made by plain git, fetched or pulled is searched by the next command that writes, by
`status`, `maintain` and `check`; these three also search what only other refs lead to. What counts
is up to where history was searched, never what a commit says of itself: anybody can type a trailer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from gitmem.cache.scanned import (
    Scanned,
    ScannedRefs,
    advanced,
    keep_scanned,
    keep_scanned_refs,
    read_scanned,
    read_scanned_refs,
)
from gitmem.errors import Damaged, NotFound
from gitmem.memory.group import Group
from gitmem.memory.searched import has_open, scanned_in
from gitmem.model.access import check_access
from gitmem.model.guards import MAX_FILE, is_allowed
from gitmem.model.hints import Hint, call
from gitmem.model.record import Record
from gitmem.model.secrets.exposure import Exposed, located_id, secret_id
from gitmem.model.secrets.find import SecretMatch, find, find_in_bytes, find_in_path, redacted_path
from gitmem.store.fsck.acknowledged import acknowledge as keep_acknowledged
from gitmem.store.fsck.acknowledged import read_acknowledged, salted
from gitmem.store.history.ancestry import only_behind
from gitmem.store.history.log import peel
from gitmem.store.lost_commits.kept import KEPT
from gitmem.store.lost_commits.unreadable import unreadable
from gitmem.store.objects.database import ObjectMissing
from gitmem.store.refs.files import all_refs
from gitmem.store.refs.move import OURS
from gitmem.store.repository import BRANCH

if TYPE_CHECKING:
    from pathlib import Path

    from gitmem.store.history.walk import Trees, WalkedCommit
    from gitmem.store.transaction.writer import Writer

MOST_COMMITS = 200
MOST_BYTES = 2 * MAX_FILE
"""What somebody who writes or asks for the status waits for; more is left to maintenance."""
MOST_COUNTED = 1000
UNREADABLE = -1
"""So many commits that wait for that are counted."""
MOST_NAMED = 50
"""Places of one value that a sentence names; `status --json` lists all."""
OVERLAP = 16 * 1024
"""So much of a part of a large file is searched again with the next one."""


_Brought = Iterable[tuple[Exposed, set[str]]]


class SecretLocation(Record):
    """A file that holds a credential now."""

    path: str
    line: int
    """0 where it is the name of the file that holds it."""


class Secret(Record):
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
    places: tuple[SecretLocation, ...] = ()
    """Every file that holds it now, or whose name does."""
    beside: bool = False
    """True where only other refs than the branch lead to the commit: it may be a kept one."""


class Acknowledgement(Record):
    """Findings that are no news any more."""

    ids: tuple[str, ...]
    changed: bool
    """False when all of them were acknowledged before."""
    secrets: bool = True
    """True when a secret is among them: models see it again where it still stands."""


def scan_commits(group: Group, *, bounded: bool = False) -> Scanned:
    """Search the commits that were not searched yet.

    BOUNDED: where there are too many, what they changed in the files of HEAD, and nothing else.
    """
    known, tip = scanned_in(group.gitdir)[0], group.repository.tip()
    search = _Search(group, MOST_COMMITS if bounded else None)
    if tip == known.tip or (bounded and tip == known.left):
        left = "" if tip == known.tip else known.left
        new = Scanned(known.tip, left, _kept(group, known.found))
    else:
        found = None if bounded else search.between(tip, known.tip)
        if found is None:
            new = _glanced(group, search, known, tip)
        else:
            new = Scanned(tip, "", _joined(_replaced(group, known, found), found))
    if group.keeps and new != known:
        keep_scanned(group.gitdir, new)
    return new


def scan_beside(group: Group, *, bounded: bool = False, also: Iterable[str] = ()) -> ScannedRefs:
    """Search the commits that refs lead to and the branch does not: kept ones, tags, branches.

    BOUNDED: where there are too many, only count them. ALSO: commits that are about to be dropped.
    While the refs name the same objects this costs a look at them.
    """
    known, tips = read_scanned_refs(group.gitdir), tips_beside(group.gitdir).union(also)
    if tips == known.tips or not group.keeps:
        return known
    with suppress(Damaged):
        search = _Search(group, MOST_COMMITS if bounded else None)
        ends = tips - known.tips, tips & known.tips
        steps = search.beside(*ends)
        found = None if steps is None else search.readable(steps)
        if steps is None or found is None:
            steps = _Search(group, MOST_COUNTED).beside(*ends)
            return known._replace(left=MOST_COUNTED + 1 if steps is None else len(steps))
        if known.found and not known.tips <= tips:
            there = _led_to(group, search.commits(tips))
            known = known._replace(found=tuple(e for e in known.found if e.commit in there))
        known = ScannedRefs(tips, _joined(known.found, found))
        keep_scanned_refs(group.gitdir, known)
        _leave_branch(group, {each.oid for each in steps})
    return known


def waits_beside(group: Group) -> bool:
    """Whether `scan_beside` has anything to search or to forget.

    A new snapshot of the branch is no such thing. That is remembered: the next look starts there.
    """
    known, tips = read_scanned_refs(group.gitdir), tips_beside(group.gitdir)
    if tips == known.tips:
        return False
    ends = tips - known.tips, tips & known.tips
    if (known.found and not known.tips <= tips) or _Search(group, 0).beside(*ends) is None:
        return True
    keep_scanned_refs(group.gitdir, ScannedRefs(tips, known.found))
    return False


def tips_beside(gitdir: Path) -> frozenset[str]:
    """The objects that refs name, without the branch, transcripts and what gitmem notes."""
    refs = all_refs(gitdir)
    ours = {name for name in refs if name.startswith(OURS) and not name.startswith(KEPT)}
    return frozenset(refs[name] for name in refs.keys() - ours - {BRANCH})


def _led_to(group: Group, commits: Iterable[str]) -> set[str]:
    """COMMITS and all that lies behind them; Damaged where that cannot be told."""
    search, found, queue = _Search(group), set[str](), [*commits]
    while queue:
        oid = queue.pop()
        if oid not in found:
            found.add(oid)
            queue += search.step(oid).parents
    return found


def _leave_branch(group: Group, commits: set[str]) -> None:
    """Forget of the branch what was found in COMMITS, which have left it: it is known beside it.

    Not where the files of HEAD alone were searched: such a row names HEAD, and not who brought it.
    """
    known = read_scanned(group.gitdir)
    if known.left or commits.isdisjoint(each.commit for each in known.found):
        return
    gone = commits - _led_to(group, [group.repository.tip()])
    found = tuple(each for each in known.found if each.commit not in gone)
    keep_scanned(group.gitdir, known._replace(found=found))


def _glanced(group: Group, search: _Search, known: Scanned, tip: str) -> Scanned:
    """What is known once somebody has searched up to TIP, or the files there.

    The files alone where somebody waits, or where a commit on the way cannot be read: what stands
    in them is never left out for that. Where history was left behind, the files are searched as
    well: a branch that was moved back brings versions that nobody has seen.
    """
    base = known.left or known.tip
    found = search.between(tip, base)
    kept = _kept(group, known.found)
    if found is not None and not known.left:
        return Scanned(tip, "", _joined(kept, found))
    return Scanned(known.tip, tip, _joined(kept, found or (), search.standing(tip, base)))


def _joined(*rows: Iterable[Exposed]) -> tuple[Exposed, ...]:
    return tuple(dict.fromkeys(each for some in rows for each in some))


def _kept(group: Group, found: tuple[Exposed, ...]) -> tuple[Exposed, ...]:
    return tuple(each for each in found if _is_there(group, each))


def _replaced(group: Group, known: Scanned, found: Iterable[Exposed]) -> Iterable[Exposed]:
    """What was known before: a row that named HEAD goes where the commit was FOUND that brought it.

    Whoever glances at the files of HEAD does not know which one that was.
    """
    better = {each._replace(commit=each.location) for each in found} if known.left else ()
    kept = _kept(group, known.found)
    return (each for each in kept if each._replace(commit=each.location) not in better)


def unsearched(group: Group, known: Scanned) -> int:
    """How many commits wait to be searched; one more than MOST_COUNTED where there are more.

    UNREADABLE where they cannot be counted, because one cannot be read.
    """
    if not known.left:
        return 0
    with suppress(Damaged):
        steps = _Search(group, MOST_COUNTED).unscanned(known.left, known.tip)
        return MOST_COUNTED + 1 if steps is None else max(len(steps), 1)
    return UNREADABLE


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

    def __init__(self, group: Group, most: int | None = None) -> None:
        """MOST: so many commits, and MOST_BYTES of what they brought."""
        self._group, self._most = group, most
        self._objects = group.repository.objects
        self._bytes = 0
        self._found: dict[str, tuple[SecretMatch, ...]] = {}
        """What each blob holds; nearly always nothing."""

    @cached_property
    def _trees(self) -> Trees:
        from gitmem.store.history.walk import Trees

        return Trees(self._objects)

    def step(self, oid: str) -> WalkedCommit:
        """One commit."""
        from gitmem.store.history.walk import read_walked  # a write of ours has nothing to search

        return read_walked(self._objects, oid)

    def between(self, tip: str, known: str) -> list[Exposed] | None:
        """What the commits from KNOWN to TIP brought; None: too many, or some cannot be read."""
        with suppress(Damaged):
            steps = self.unscanned(tip, known)
            return None if steps is None else self.exposed(steps)
        return None

    def unscanned(self, tip: str, known: str) -> list[WalkedCommit] | None:
        """The commits that TIP reaches and KNOWN does not, oldest first; None: too many."""
        straight = self._straight(tip, known)
        if straight is not None:
            return straight
        seen = self._reached(known)
        found: list[WalkedCommit] = []
        queue = [tip]
        while queue:
            oid = queue.pop()
            if oid not in seen:
                seen.add(oid)
                found.append(self.step(oid))
                queue += found[-1].parents
            if self._most is not None and len(found) > self._most:
                return None
        return found[::-1]

    def beside(self, new: Iterable[str], old: Iterable[str]) -> list[WalkedCommit] | None:
        """What NEW lead to and neither OLD nor the branch does, oldest first; None: too many."""
        tip, new = self._group.repository.tip(), self.commits(new)
        old = [tip] if new <= {tip} else [tip, *self.commits(old)]
        found = only_behind(self._objects, new, old, self._most)
        return None if found is None else [self.step(oid) for oid in reversed(found)]

    def commits(self, tips: Iterable[str]) -> set[str]:
        """The commits that TIPS are, or that tags were put on, as far as they can be read."""
        found = set[str | None]()
        for each in tips:
            with suppress(Damaged):
                found.add(peel(self._group.repository, each))
        return {each for each in found if each}

    def readable(self, steps: Iterable[WalkedCommit]) -> list[Exposed] | None:
        """As `exposed`, without the commits that cannot be read: `check` tells of them."""
        found: list[Exposed] = []
        for step in steps:
            with suppress(Damaged):
                more = self.exposed([step])
                if more is None:
                    return None
                found += more
        return found

    def _straight(self, tip: str, known: str) -> list[WalkedCommit] | None:
        """The same where only a few commits lie between them, which is nearly always."""
        found: list[WalkedCommit] = []
        while tip != known and len(found) < (self._most or MOST_COMMITS):
            found.append(self.step(tip))
            if len(found[-1].parents) != 1:
                return None if found[-1].parents or known else found[::-1]
            (tip,) = found[-1].parents
        return found[::-1] if tip == known else None

    def _reached(self, commit: str) -> set[str]:
        """COMMIT and what it reaches; where the search is bounded, the newest of them."""
        if not commit:
            return set()
        with suppress(Damaged):  # a history that was written anew: its old commits may be gone
            from gitmem.store.history.log import walk

            return {each.oid for each in islice(walk(self._group.repository, commit), self._most)}
        return set()

    def exposed(self, steps: Iterable[WalkedCommit]) -> list[Exposed] | None:
        """What the commits brought; None when that is more than may be read now.

        Each has its own row, also for the same blob: another may leave the branch.
        """
        found: list[Exposed] = []
        for step in steps:
            found += self._said(step)
            before = self.step(step.parents[0]).tree if step.parents else ""
            for path, _, blob in self._trees.changes(before, step.tree):
                found += self._named(step, path)
                if blob:
                    found += self._in_blob(step, path, blob)
                if self._most is not None and self._bytes > MOST_BYTES:
                    return None
        return found

    def standing(self, tip: str, known: str) -> list[Exposed]:
        """What the files of TIP hold that those of KNOWN do not, however much that is."""
        step, before, found = self.step(tip), "", list[Exposed]()
        with suppress(Damaged):  # a history that was written anew: its old commits may be gone
            before = self.step(known).tree if known else ""
        for path, _, blob in self._trees.changes(before, step.tree):
            if blob:
                found += (*self._named(step, path), *self._in_blob(step, path, blob))
        return found

    def brought(self, steps: Iterable[WalkedCommit]) -> Iterator[tuple[Exposed, set[str]]]:
        """What was not in its file before, with the files that it left in the same commit."""
        for step in steps:
            came, left = list[Exposed](), dict[str, set[str]]()
            before = self.step(step.parents[0]).tree if step.parents else ""
            for path, old, blob in self._trees.changes(before, step.tree):
                now, was = (self._by_id(step, path, each) for each in (blob, old))
                came += (now[id] for id in now.keys() - was.keys())
                for id in was.keys() - now.keys():
                    left.setdefault(id, set()).add(was[id].path)
            yield from ((each, left.get(each.id, set())) for each in came)

    def _by_id(self, step: WalkedCommit, path: str, blob: str) -> dict[str, Exposed]:
        return {each.id: each for each in self._in_blob(step, path, blob)} if blob else {}

    def _said(self, step: WalkedCommit) -> Iterator[Exposed]:
        message = self._group.repository.commit(step.oid).message
        yield from self._rows(find(message), "", step, "")

    def _named(self, step: WalkedCommit, path: str) -> Iterator[Exposed]:
        found = [each._replace(line=0) for each in find_in_path(path)]
        yield from self._rows(found, "", step, redacted_path(path))

    def _in_blob(self, step: WalkedCommit, path: str, blob: str) -> Iterator[Exposed]:
        if blob not in self._found:
            self._found[blob] = tuple(self._searched(blob))
        yield from self._rows(self._found[blob], blob, step, redacted_path(path))

    def _searched(self, blob: str) -> Iterator[SecretMatch]:
        with suppress(Damaged):  # `check` tells of it; what cannot be read is not shown either
            data = self._objects.read_as("blob", blob)
            self._bytes += len(data)
            lines = 0
            for at in range(0, max(len(data), 1), MAX_FILE):
                part = data[max(0, at - OVERLAP) : at + MAX_FILE]
                yield from (each._replace(line=each.line + lines) for each in find_in_bytes(part))
                lines = data.count(b"\n", 0, max(0, at + MAX_FILE - OVERLAP))

    def _rows(
        self, found: Iterable[SecretMatch], blob: str, step: WalkedCommit, path: str
    ) -> Iterator[Exposed]:
        for each in found:
            id = secret_id(self._salt, each.rule, each.value)
            yield Exposed(id, each.rule, each.line, blob, step.oid, path)

    @cached_property
    def _salt(self) -> str:
        """Asked for when something was found: before that there may be none."""
        known = salted if self._group.keeps else read_acknowledged
        return known(self._group.gitdir).salt


def count_as_scanned(group: Group, writer: Writer) -> None:
    """Remember that the commits of WRITER, and those before them in its run, were searched.

    What was allowed on the way, by `--allow-secret` or `held accept`, is acknowledged with that, in
    the file that it came to and nowhere else. A file that held a credential before holds it in its
    next version, too: then they are searched.

    While the lock tells the same, nothing is written down.
    """
    stored = read_scanned(group.gitdir)
    goes_on = not has_open(group.gitdir, stored)
    known = advanced(stored, *writer.run_before) if goes_on else stored
    found = known.found
    touched = not writer.replaced.isdisjoint({each.blob for each in found})
    for parent, commit in writer.ranges:
        allowed = is_allowed(group.repository.commit(commit).message)
        if allowed or touched:
            search = _Search(group)
            steps = search.unscanned(commit, parent) or []
            acknowledge_in_place(group, _allowed(group, search.brought(steps), allowed))
            found = _joined(found, search.exposed(steps) or ())
        tip, left = (commit if each == parent else each for each in (known.tip, known.left))
        known = Scanned(tip, left, found)
    if known != (advanced(stored, *writer.run) if goes_on else stored):
        keep_scanned(group.gitdir, known)


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
    ids = [(each.id, each.location) for each in found]
    salt = salted(group.gitdir).salt if ids else ""
    keep_acknowledged(group.gitdir, [located_id(salt, *each) for each in ids])


def exposed_beside(group: Group, commit: str) -> list[Exposed]:
    """What the branch would get that nobody has acknowledged, if it were to lead to COMMIT."""
    search = _Search(group)
    steps = search.unscanned(commit, group.repository.tip()) or []
    done = read_acknowledged(group.gitdir)
    return [each for each in search.exposed(steps) or () if not done.covers(each.id, each.location)]


def open_secrets(
    group: Group, known: Scanned, beside: Iterable[Exposed] = ()
) -> tuple[Secret, ...]:
    """What was found and nobody has acknowledged: first what still stands in a file.

    BESIDE is what was found where only other refs lead to.
    """
    found = _joined(known.found, beside)
    if not found:
        return ()
    head, rows = _Head(group, frozenset(known.found)), dict[str, list[Exposed]]()
    for each in found:
        rows.setdefault(each.id, []).append(each)
    secrets = [secret for each in rows.values() if (secret := head.secret(each))]
    return tuple(sorted(secrets, key=lambda each: not each.standing))


class _Head:
    """What stands at HEAD of what was found."""

    def __init__(self, group: Group, on_branch: frozenset[Exposed]) -> None:
        self._objects, self._on_branch = group.repository.objects, on_branch
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
            return Secret(id, rule, places[0].path, places[0].line, commit, True, places)
        beside = first not in self._on_branch
        return first and Secret(id, rule, first.path, first.line, commit, False, beside=beside)

    def _is_shown(self, each: Exposed) -> bool:
        """Whether it is open, and its commit can be looked at: it may be gone from history."""
        covered = self._done.covers(each.id, each.location)
        return not covered and self._objects.holds(each.commit)

    def _places(self, each: Exposed) -> Iterator[SecretLocation]:
        """The files of HEAD that hold it where nobody has acknowledged it."""
        if each.blob:
            paths = [redacted_path(path) for path in self._paths.get(each.blob, ())]
        else:
            paths = self._named.get(each.id, [])
        for path in paths:
            if not self._done.covers(each.id, path):
                yield SecretLocation(path, each.line if each.blob else 0)

    @cached_property
    def _named(self) -> dict[str, list[str]]:
        """The files whose names hold a value, by its id; nobody asks where no name held one."""
        named: dict[str, list[str]] = {}
        for path in (path for paths in self._paths.values() for path in paths):
            for each in find_in_path(path):
                id = secret_id(self._done.salt, each.rule, each.value)
                named.setdefault(id, []).append(redacted_path(path))
        return named


def secret_words(secret: Secret) -> tuple[str, str]:
    """What to say of a finding, and what to type next."""
    done = call("check", acknowledge=secret.id)
    if secret.standing:
        where = [_place_words(each.path, each.line) for each in secret.places]
        text = f"{_listed(where)} hold{'s' * (len(where) == 1)} what looks like a credential"
        way = "remove it from the file" if secret.line else "rename the file"
        hint = Hint(f"{way} and replace the key; if it is none, run ", done)
        return f"{text} ({secret.rule})", hint
    where = [_place_words(secret.path, secret.line)] if secret.path else ["the message"]
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
    found = (*scan_beside(group).found, *scan_commits(group).found)
    secrets = {each.id for each in found}
    known = {*secrets, *(each.id for each in unreadable(group.gitdir, group.repository.objects))}
    done = read_acknowledged(group.gitdir).ids
    if not known | done >= set(wanted):  # only then: it reads all of history
        from gitmem.store.fsck.check import losses

        known |= set(losses(group.gitdir).open.values()) - {""}
    for each in wanted:
        if each not in known | done:
            raise NotFound(
                f"no finding {each!r} in group {group.name}",
                hint=Hint(call("check"), " lists them with their ids"),
            )
    keep_acknowledged(group.gitdir, wanted)
    return Acknowledgement(wanted, not set(wanted) <= done, not secrets.isdisjoint(wanted))
