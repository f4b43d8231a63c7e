"""Bring back one entry: out of the archive, or as it once stood, to the place that it had.

An archived entry moves back line for line. One that was deleted comes from the newest version of
its file in which it stood. One that stands there is replaced where somebody says by which version.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from gitmem.errors import BadInput, Conflict, Damaged, NotFound
from gitmem.memory.curate.archive import archive_places
from gitmem.memory.entries.entries import address_parts, locate_entry
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.recover.archived import arrival_of
from gitmem.memory.recover.versions import (
    EntryVersion,
    Restored,
    choose,
    command,
    version_at,
    versions,
)
from gitmem.memory.resolve import resolve
from gitmem.memory.write.apply import decoded
from gitmem.memory.write.capture import capture_edits
from gitmem.memory.write.changeset import Changeset
from gitmem.memory.write.open_edits import scan_edits
from gitmem.memory.write.write import Allowed, describe
from gitmem.model.commit_messages import Note, title_of_change
from gitmem.model.entries.blocks import (
    Entry,
    find,
    named,
    parse,
    same_title,
    split_address,
    wording,
)
from gitmem.model.entries.edit import Put, under_its_status
from gitmem.model.entries.lines import BOM
from gitmem.model.entries.placement import add, put_back, replace, take_all
from gitmem.model.guards import allowance, check_message_text, check_secrets
from gitmem.model.layout.archives import archive_of, is_archived
from gitmem.model.layout.layout import Layer
from gitmem.store.history.diff import hunks
from gitmem.store.lost_commits.unreadable import lost_files
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.plan import Plan, Step


class _Wanted(NamedTuple):
    """What somebody wants to have back."""

    home: str
    """The file in which it stood."""
    name: str
    shelf: str = ""
    """Where in the archive it is, if that was said: the file ..."""
    shelved: str = ""
    """... and the name that it has there ..."""
    since: str = ""
    """... since this commit."""
    at: str = ""
    previous: bool = False

    @property
    def asked(self) -> bool:
        """True when a version was asked for."""
        return bool(self.at or self.previous)


def is_address(group: Group, given: str) -> bool:
    """Whether GIVEN names an entry, and not a file whose name has such a mark."""
    path, name = split_address(given)
    if not name:
        return False
    snapshot = group.repository.snapshot()
    if snapshot.node(given):
        return False
    layout = layout_at(group, snapshot).layout
    return ".md#" in given or bool(layout.layer(path)) or bool(snapshot.oid(path))


def restore_entry(
    group: Group, address: str, *, at: str, previous: bool, reason: str, allowed: Allowed
) -> Restored:
    """Bring back the entry at ADDRESS, which may be one in the archive, as one commit."""
    note = group.note("restore", reason=reason)
    wanted = _wanted(group, address)._replace(at=at, previous=previous)
    # The past is searched before the lock is taken: it may be long, and does not change.
    known = _known(group, wanted)
    with group.writing(late=not wanted.asked) as writer:
        head = group.repository.snapshot()
        work = _Work(group, wanted, known, note, allowed)
        if not wanted.shelf:
            work.lately = version_at(head, wanted.home, wanted.name)
        scan = scan_edits(writer.repository, writer.worktree, work.places(head))
        capture_edits(writer, scan)
        published = writer.publish(work.plan)
        done = work.done._replace(**published.completion)
    if work.stands:
        raise choose(group.repository.snapshot(), wanted.home, work.stands)
    return done


def _wanted(group: Group, address: str) -> _Wanted:
    snapshot = group.repository.snapshot()
    layout = layout_at(group, snapshot).layout
    path, name = address_parts(group, snapshot, layout, address)
    check_message_text("path", f"{path}#{name}")
    if not is_archived(layout, path):
        return _Wanted(path, name)
    path, entry = locate_entry(group, snapshot, layout, address)
    arrival = arrival_of(snapshot, path, entry)
    if arrival and arrival.source:
        return _Wanted(*split_address(arrival.source), path, entry.slug, arrival.commit)
    return _Wanted(path.removeprefix(f"{archive_of(layout, path)}/"), entry.slug, path, entry.slug)


def _known(group: Group, wanted: _Wanted) -> list[EntryVersion]:
    """The versions that may be meant: the newest, and where asked for one that says otherwise."""
    if wanted.since and not wanted.asked:
        parents = group.repository.commit(wanted.since).parents
        before = (version_at(group.repository.snapshot(x), *wanted[:2]) for x in parents)
        return list(filter(None, before))
    if not wanted.at:
        past = versions(group.repository.snapshot(), wanted.home, wanted.name)
        return list(islice(past, 2 if wanted.previous else 1))
    then = group.repository.snapshot(resolve(group, wanted.at))
    if lost_files(then, wanted.home):  # it is back, but the commit has an older version
        raise Damaged(
            f"{wanted.home} of {then.commit[:10]} was left out of it because it could not be read",
            hint=f"restore the file: `{command('restore', wanted.home, '--at', then.commit[:10])}`",
            path=wanted.home,
        )
    layout = layout_at(group, then).layout
    path, entry = locate_entry(group, then, layout, f"{wanted.home}#{wanted.name}")
    return [EntryVersion(then.commit, path, decoded(path, then.read(path) or b""), entry)]


class _Work:
    """One entry on its way back; planned again when the branch moves in between."""

    def __init__(
        self,
        group: Group,
        wanted: _Wanted,
        known: list[EntryVersion],
        note: Note,
        allowed: Allowed,
    ) -> None:
        self._group, self._wanted, self._known = group, wanted, known
        self._note, self._allowed = note, allowed
        self.lately: EntryVersion | None = None
        """As it was last written, before edits in the work tree."""
        self.stands = ""
        """Its slug, when it stands there and nobody said which other version shall."""
        self.done = Restored("", "", ())

    def places(self, snapshot: Snapshot) -> list[str]:
        """The files that may change: its own, and those of the archive where it may be."""
        home, shelf = self._wanted.home, self._wanted.shelf
        layout = layout_at(self._group, snapshot).layout
        return [home, *([shelf] if shelf else archive_places(snapshot, layout, home))]

    def plan(self, snapshot: Snapshot) -> Plan[None]:
        """The file with the entry in it, and the archive without it."""
        self.stands, self.done = "", Restored("", snapshot.commit, ())
        draft = Changeset(snapshot)
        standing = self._standing(draft)
        if standing and not self._is_twin(draft, standing):
            return self._replaced(draft, standing)
        lost = self._wanted.asked or self.lately is not None  # and not put away
        shelved = None if lost and not self._wanted.shelf else self._shelved(draft)
        if shelved:
            return self._moved_back(draft, *shelved)
        then = self._then
        if then is None:
            raise self._never(draft)
        return self._plan(draft, self._inserted(draft, then.entry.block), then.entry.block, then)

    def _standing(self, draft: Changeset) -> Entry | None:
        """The entry that stands where this one shall; a slug may be another's by now."""
        known, shelved = parse(draft.text(self._wanted.home)), self._wanted.shelf
        if not shelved:
            return named(known, self._wanted.name)
        title = find(parse(draft.text(shelved)), self._wanted.shelved).title
        return next((each for each in known if same_title(each.title, title)), None)

    def _is_twin(self, draft: Changeset, standing: Entry) -> bool:
        """Whether an archived entry had others of its title beside it, of which STANDING is one."""
        if not self._wanted.shelf or self._wanted.asked or self._then is None:
            return False
        texts = (self._then.text, draft.text(self._wanted.home))
        then, now = (sum(same_title(x.title, standing.title) for x in parse(y)) for y in texts)
        return now < then

    @property
    def _then(self) -> EntryVersion | None:
        """The version that comes back where none stands."""
        if self.lately and not self._wanted.asked:
            return self.lately
        return self._known[0] if self._known else None

    def _replaced(self, draft: Changeset, standing: Entry) -> Plan[None]:
        """Only its own lines change; unasked, only what an edit did to it is taken back."""
        wanted, said = self._wanted, wording(standing.block)
        if wanted.shelf:
            raise _taken(wanted, standing)
        known = self._known if wanted.asked else [self.lately] if self.lately else []
        other = next((each for each in known if each.says != said), None)
        if other:
            text = replace(draft.text(wanted.home), standing, other.entry.block)
            now = next(x for x in parse(text) if wording(x.block) == other.says)
            layer = self._layer(draft)
            text = under_its_status(Put(text, now.slug, created=False), standing, layer).text
            return self._plan(draft, text, other.entry.block, other)
        if wanted.previous:
            raise NotFound(
                f"{wanted.home}#{standing.slug} has no earlier version",
                hint=f"see the history of its file: `{command('log', wanted.home)}`",
            )
        if wanted.at:
            address = f"{wanted.home}#{standing.slug}"
            self.done = self.done._replace(from_commit=known[0].commit, address=address)
        else:
            self.stands = standing.slug
        return Plan((), None)

    def _shelved(self, draft: Changeset) -> tuple[str, Entry] | None:
        """Where in the archive it is: as named, or as it last stood, or else by its name."""
        if self._wanted.shelf:
            path = self._wanted.shelf
            return path, find(parse(draft.text(path)), self._wanted.shelved)
        known = self._on_shelves(draft)
        newest = self._known[0] if self._known else None
        exact = [each for each in known if newest and wording(each[1].block) == newest.says]
        found = exact or self._alike(known)
        return found[-1] if found else None

    def _on_shelves(self, draft: Changeset) -> list[tuple[str, Entry]]:
        files = [path for path in self.places(draft.snapshot)[1:] if draft.is_file(path)]
        return [(path, entry) for path in files for entry in _readable(draft, path)]

    def _alike(self, known: Sequence[tuple[str, Entry]]) -> list[tuple[str, Entry]]:
        first = named([entry for _, entry in known], self._wanted.name)
        return [each for each in known if first and same_title(each[1].title, first.title)]

    def _moved_back(self, draft: Changeset, path: str, entry: Entry) -> Plan[None]:
        rest, (block,) = take_all(draft.text(path), [entry])
        if rest.strip(f"{BOM} \t\r\n"):
            draft.put(path, rest.encode())
        else:
            draft.drop(path)  # it was made for such entries, and says nothing any more
        self.done = self.done._replace(source=f"{path}#{entry.slug}")
        return self._plan(draft, self._inserted(draft, block), block, self._then)

    def _inserted(self, draft: Changeset, block: str) -> str:
        """The file with BLOCK where the entry last stood; one that is gone has it alone."""
        text, then = draft.text(self._wanted.home), self._then
        if then is None or not draft.is_file(self._wanted.home):
            return add(text, block, self._layer(draft))
        return put_back(text, block, then.text, then.entry, hunks, layer=self._layer(draft))

    def _layer(self, draft: Changeset) -> Layer | None:
        return layout_at(self._group, draft.snapshot).layout.layer_of(self._wanted.home)

    def _plan(
        self, draft: Changeset, changed: str, block: str, then: EntryVersion | None
    ) -> Plan[None]:
        home, snapshot = self._wanted.home, draft.snapshot
        draft.put(home, changed.encode())
        before = b"\n".join(snapshot.read(each) or b"" for each in draft.changes)
        check_secrets(home, changed.encode(), before, self._allowed.secrets)
        if not self._allowed.policy:
            draft.check_policies(layout_at(self._group, snapshot).layout)
        entry = next(each for each in parse(changed) if wording(each.block) == wording(block))
        files = draft.changes.items()
        self.done = self.done._replace(
            from_commit=then.commit if then else snapshot.commit,
            changes=tuple(describe(path, snapshot.read(path), data) for path, data in files),
            address=f"{home}#{entry.slug}",
        )
        return Plan((Step(draft.changes, self._noted(block, then)),), None)

    def _noted(self, block: str, then: EntryVersion | None) -> Note:
        restores = [("Gitmem-Restores", then.commit)] if then else []
        source = self.done.source or (then.address if then else "")
        return self._note._replace(
            title=title_of_change(None, block.encode()),
            paths=(self._wanted.home,),
            extra=(*restores, ("Gitmem-From", source), *allowance(self._allowed.secrets)),
        )

    def _never(self, draft: Changeset) -> NotFound:
        """Nobody has ever heard of it: say what there is."""
        home = self._wanted.home
        known = [*_readable(draft, home), *(entry for _, entry in self._on_shelves(draft))]
        try:
            find(known, self._wanted.name)
        except NotFound as error:
            error.message = f"there never was an entry {self._wanted.name!r} in {home}"
            error.args = (error.message,)
            return error
        raise AssertionError("it was looked for before")


def _readable(draft: Changeset, path: str) -> tuple[Entry, ...]:
    with suppress(BadInput):
        return parse(draft.text(path))
    return ()


def _taken(wanted: _Wanted, standing: Entry) -> Conflict:
    return Conflict(
        f"{wanted.home} has an entry {standing.title!r} already",
        hint=f"compare them: `{command('entries', f'{wanted.home}#{standing.slug}')}`; "
        "give one of them another title, or write what is new into the other",
        path=wanted.home,
        entry=standing.slug,
    )
