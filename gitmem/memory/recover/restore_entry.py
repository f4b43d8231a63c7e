"""Restore one entry: from the archive, or as it was at a commit, to its place in its file.

An archived entry moves back line for line. A deleted one comes from the newest version of its file
that had it. One that exists is replaced only by a version that the caller names.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from gitmem.errors import BadInput, Damaged, NotFound
from gitmem.memory.curate.archive import archive_paths
from gitmem.memory.entries.move_entry import title_taken
from gitmem.memory.entries.targets import address_parts, locate_entry
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.recover.archived import arrival_of
from gitmem.memory.recover.versions import EntryVersion, Restored, choose, version_at, versions
from gitmem.memory.resolve import resolve
from gitmem.memory.write.apply import decoded
from gitmem.memory.write.capture import capture_paths
from gitmem.memory.write.changeset import Changeset
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
from gitmem.model.hints import Hint, call
from gitmem.model.layout.archives import archive_of, is_archived
from gitmem.store.history.diff import hunks
from gitmem.store.lost_commits.unreadable import lost_files
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.plan import Plan, Step


class _EntryRequest(NamedTuple):
    """The entry to restore: the same for every snapshot that it is planned on."""

    home: str
    """The file that it belongs to."""
    name: str
    archive_file: str = ""
    """The file of the archive that the caller named ..."""
    archived_name: str = ""
    """... the entry's name in it ..."""
    since: str = ""
    """... and the commit that moved it there."""
    at: str = ""
    previous: bool = False
    versions: Sequence[EntryVersion] = ()
    """The versions that may come back: the newest, and for `previous` the one before."""
    lately: EntryVersion | None = None
    """As HEAD has it, before edits in the work tree are captured."""

    @property
    def names_version(self) -> bool:
        """Whether the caller named a version."""
        return bool(self.at or self.previous)

    @property
    def version(self) -> EntryVersion | None:
        """The version to restore if the entry does not exist."""
        if self.lately and not self.names_version:
            return self.lately
        return self.versions[0] if self.versions else None


def restore_entry(
    group: Group, address: str, *, at: str, previous: bool, reason: str, allowed: Allowed
) -> Restored:
    """Restore the entry at ADDRESS, which may be one in the archive, as one commit."""
    note = group.note("restore", reason=reason)
    request = _request(group, address)._replace(at=at, previous=previous)
    # The history is searched before the lock is taken: it may be long, and does not change.
    request = request._replace(versions=_known_versions(group, request))
    with group.writing(late=not request.names_version) as writer:
        head = group.repository.snapshot()
        if not request.archive_file:
            request = request._replace(lately=version_at(head, request.home, request.name))
        capture_paths(writer, [request.home, *_archive_files(group, head, request)])
        published = writer.publish(
            lambda snapshot: _EntryRestore(group, request, note, allowed, snapshot).plan()
        )
    done = published.result
    if isinstance(done, str):
        raise choose(group.repository.snapshot(), request.home, done)
    return done._replace(**published.completion)


def _request(group: Group, address: str) -> _EntryRequest:
    snapshot = group.repository.snapshot()
    layout = layout_at(group, snapshot).layout
    path, name = address_parts(group, snapshot, layout, address)
    check_message_text("path", f"{path}#{name}")
    if not is_archived(layout, path):
        return _EntryRequest(path, name)
    path, entry = locate_entry(group, snapshot, layout, address)
    arrival = arrival_of(snapshot, path, entry)
    if arrival and arrival.source:
        return _EntryRequest(*split_address(arrival.source), path, entry.slug, arrival.commit)
    home = path.removeprefix(f"{archive_of(layout, path)}/")
    return _EntryRequest(home, entry.slug, path, entry.slug)


def _known_versions(group: Group, request: _EntryRequest) -> list[EntryVersion]:
    """The versions that may come back."""
    home, name = request.home, request.name
    if request.since and not request.names_version:
        parents = group.repository.commit(request.since).parents
        before = (version_at(group.repository.snapshot(each), home, name) for each in parents)
        return list(filter(None, before))
    if not request.at:
        past = versions(group.repository.snapshot(), home, name)
        return list(islice(past, 2 if request.previous else 1))
    then = group.repository.snapshot(resolve(group, request.at))
    if lost_files(then, home):  # it is back, but the commit has an older version
        raise Damaged(
            f"{home} of {then.commit[:10]} was left out of it because it could not be read",
            hint=Hint("restore the file: ", call("restore", home, at=then.commit[:10])),
            path=home,
        )
    path, entry = locate_entry(group, then, layout_at(group, then).layout, f"{home}#{name}")
    return [EntryVersion(then.commit, path, decoded(path, then.read(path) or b""), entry)]


def _archive_files(group: Group, snapshot: Snapshot, request: _EntryRequest) -> list[str]:
    """The files of the archive that the entry may be in."""
    if request.archive_file:
        return [request.archive_file]
    return list(archive_paths(snapshot, layout_at(group, snapshot).layout, request.home))


_EntryPlan = Plan[Restored | str]
"""Its result is a str, the entry's slug, if the entry exists and the caller named no version."""


class _EntryRestore:
    """A request, carried out on one snapshot."""

    def __init__(
        self,
        group: Group,
        request: _EntryRequest,
        note: Note,
        allowed: Allowed,
        snapshot: Snapshot,
    ) -> None:
        self._group, self._request, self._note, self._allowed = group, request, note, allowed
        self._snapshot, self._draft = snapshot, Changeset(snapshot)
        self._layout = layout_at(group, snapshot).layout
        self._layer = self._layout.layer_of(request.home)

    def plan(self) -> _EntryPlan:
        """The file with the entry in it, and the archive without it."""
        request = self._request
        standing = self._standing()
        if standing and not self._is_twin(standing):
            return self._replaced(standing)
        is_lost = request.names_version or request.lately is not None  # and not archived
        if request.archive_file or not is_lost:
            archived = self._archived()
            if archived:
                return self._moved_back(*archived)
        then = request.version
        if then is None:
            raise self._unknown()
        return self._plan(self._inserted(then.entry.block), then.entry.block, then)

    def _standing(self) -> Entry | None:
        """The entry that is in the file now; its slug may belong to another by now."""
        request = self._request
        known = parse(self._draft.text(request.home))
        if not request.archive_file:
            return named(known, request.name)
        title = find(parse(self._draft.text(request.archive_file)), request.archived_name).title
        return next((each for each in known if same_title(each.title, title)), None)

    def _is_twin(self, standing: Entry) -> bool:
        """Whether the archived entry had others of its title beside it, such as STANDING."""
        request = self._request
        if not request.archive_file or request.names_version or request.version is None:
            return False
        texts = (request.version.text, self._draft.text(request.home))
        then, now = (sum(same_title(x.title, standing.title) for x in parse(y)) for y in texts)
        return now < then

    def _replaced(self, standing: Entry) -> _EntryPlan:
        """Change the lines of STANDING only; without a named version, only undo an edit."""
        request, address = self._request, f"{self._request.home}#{standing.slug}"
        if request.archive_file:
            raise title_taken(request.home, standing)
        lately = [request.lately] if request.lately else []
        known = request.versions if request.names_version else lately
        other = next((each for each in known if each.words != wording(standing.block)), None)
        if other:
            text = replace(self._draft.text(request.home), standing, other.entry.block)
            now = next(x for x in parse(text) if wording(x.block) == other.words)
            text = under_its_status(Put(text, now.slug, created=False), standing, self._layer).text
            return self._plan(text, other.entry.block, other)
        if request.previous:
            raise NotFound(
                f"{address} has no earlier version",
                hint=Hint("see the history of its file: ", call("log", request.home)),
            )
        if request.at:
            return Plan((), Restored("", known[0].commit, (), address=address))
        return Plan((), standing.slug)

    def _archived(self) -> tuple[str, Entry] | None:
        """The entry in the archive: as named, or by its last wording, or else by its name."""
        request = self._request
        if request.archive_file:
            entries = parse(self._draft.text(request.archive_file))
            return request.archive_file, find(entries, request.archived_name)
        known = self._in_archive()
        newest = request.versions[0].words if request.versions else None
        exact = [each for each in known if wording(each[1].block) == newest]
        first = named([entry for _, entry in known], request.name)
        alike = [each for each in known if first and same_title(each[1].title, first.title)]
        found = exact or alike
        return found[-1] if found else None

    def _in_archive(self) -> list[tuple[str, Entry]]:
        paths = _archive_files(self._group, self._snapshot, self._request)
        files = [path for path in paths if self._draft.is_file(path)]
        return [(path, entry) for path in files for entry in self._readable(path)]

    def _readable(self, path: str) -> tuple[Entry, ...]:
        with suppress(BadInput):
            return parse(self._draft.text(path))
        return ()

    def _moved_back(self, path: str, entry: Entry) -> _EntryPlan:
        rest, (block,) = take_all(self._draft.text(path), [entry])
        if rest.strip(f"{BOM} \t\r\n"):
            self._draft.put(path, rest.encode())
        else:
            self._draft.drop(path)  # it was made for archived entries, and is empty now
        text = self._inserted(block)
        return self._plan(text, block, self._request.version, f"{path}#{entry.slug}")

    def _inserted(self, block: str) -> str:
        """The file with BLOCK where the entry was last; a file that is gone holds it alone."""
        home, then = self._request.home, self._request.version
        text = self._draft.text(home)
        if then is None or not self._draft.is_file(home):
            return add(text, block, self._layer)
        return put_back(text, block, then.text, then.entry, hunks, layer=self._layer)

    def _plan(
        self, text: str, block: str, then: EntryVersion | None, source: str = ""
    ) -> _EntryPlan:
        """Publish TEXT as the file, with BLOCK in it, which THEN or the archived SOURCE had."""
        home, draft, snapshot = self._request.home, self._draft, self._snapshot
        draft.put(home, text.encode())
        before = b"\n".join(snapshot.read(each) or b"" for each in draft.changes)
        check_secrets(home, text.encode(), before, self._allowed.secrets)
        if not self._allowed.policy:
            draft.check_policies(self._layout)
        entry = next(each for each in parse(text) if wording(each.block) == wording(block))
        files = draft.changes.items()
        restores = [("Gitmem-Restores", then.commit)] if then else []
        origin = source or (then.address if then else "")
        note = self._note._replace(
            title=title_of_change(None, block.encode()),
            paths=(home,),
            extra=(*restores, ("Gitmem-From", origin), *allowance(self._allowed.secrets)),
        )
        done = Restored(
            "",
            then.commit if then else snapshot.commit,
            tuple(describe(path, snapshot.read(path), data) for path, data in files),
            address=f"{home}#{entry.slug}",
            source=source,
        )
        return Plan((Step(draft.changes, note),), done)

    def _unknown(self) -> NotFound:
        """The error for an entry that never existed; its hint names similar ones."""
        home, name = self._request.home, self._request.name
        known = [*self._readable(home), *(entry for _, entry in self._in_archive())]
        try:
            find(known, name)
        except NotFound as error:
            error.message = f"no entry {name!r} in {home}, now or earlier"
            error.args = (error.message,)
            return error
        raise AssertionError("the entry was searched for before")
