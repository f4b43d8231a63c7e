"""Edits that may not enter git: what they are, and what to do with them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from gitmem.errors import GitmemError, NotFound, Refused, StorageFailed
from gitmem.memory.group import Group
from gitmem.memory.read.log import start_of
from gitmem.memory.read.read import near_misses
from gitmem.memory.write.changeset import check_place
from gitmem.memory.write.open_edits import pending_edits
from gitmem.model.commit_messages import Note, revealed
from gitmem.model.guards import MARKERS_RULE, NAME_RULE, check_message_text, hold_rule
from gitmem.model.hints import call
from gitmem.model.paths import is_path
from gitmem.model.record import Record
from gitmem.model.secrets.find import find, redact
from gitmem.model.secrets.views import decoded_text, likely_text
from gitmem.model.text.format import quoted
from gitmem.store.transaction.capture import Captured, HeldEdit, sound
from gitmem.store.transaction.writer import Writer
from gitmem.store.worktree.held import HeldFolder, SetAside, size_of
from gitmem.store.worktree.trash import Dropping, Trash, Trashed
from gitmem.store.worktree.worktree import FileState, WorkTree, obstacle_in

REDACTED = "Gitmem-Redacted"
MOST = 50
"""Masked credentials that a commit names."""
MOST_ENDING = 10
"""Characters of a name's ending that a better name keeps."""
NEVER = ("path", "too-big", NAME_RULE)
"""Rules that nobody can waive: git, or the next reader of the log, would suffer."""


class HeldVersion(Record):
    """A version that git does not have."""

    path: str
    rule: str
    set_aside: bool
    """False when it stands in the work tree, True when a write moved it to the git directory."""
    location: str
    id: str = ""
    at: str = ""
    bytes: int | None = None


class HeldShown(Record):
    """A held version, with what looks like a credential blanked out."""

    thing: HeldVersion
    text: str
    redacted: int
    acceptable: bool = False
    """Whether it can be committed as it is."""
    trashed: bool = False
    """True when it lies in the trash."""
    way: str = ""
    """What to do first, where it cannot be committed as it is."""
    ignorable: bool = False
    """Whether `held ignore` can leave it on disk: not so for a file that git has."""


class Masked(Record):
    """A credential that was masked: which rule found it, and where. Never its value."""

    rule: str
    line: int


class HeldAccepted(Record):
    """A held version that is in git now."""

    path: str
    commit: str
    captured: tuple[Captured, ...] = ()
    masked: tuple[Masked, ...] = ()
    """What the committed text has a mask for."""
    trash: str = ""
    """The id under which the text with the credentials lies in the trash."""


def held_list(group: Group) -> tuple[HeldVersion, ...]:
    """Everything that is held, in the work tree and set aside."""
    standing = [_standing(group, each) for each in pending_edits(group).held]
    return (*standing, *(_aside(each) for each in HeldFolder(group.gitdir)))


def _standing(group: Group, each: HeldEdit) -> HeldVersion:
    location = str(group.worktree / each.path)
    return HeldVersion(each.path, each.rule, False, location, bytes=size_of(location))


def _aside(each: SetAside) -> HeldVersion:
    location = str(each.content)
    return HeldVersion(each.path, each.rule, True, location, each.id, each.at, size_of(location))


def find_held(group: Group, what: str) -> HeldVersion:
    """By id or by path; what stands in the work tree comes before what was set aside.

    A name may also be typed as it is printed, with `\\u{000A}` for what cannot be seen.
    """
    names = (group.inside(what), group.inside(revealed(what)))
    things = held_list(group)
    found = [thing for thing in things if thing.path in names or thing.id == what]
    if found:  # what stands there comes first, then what was set aside last
        return found[0] if not found[0].set_aside else found[-1]
    raise _not_held(group, what, names[0], things)


def _not_held(group: Group, what: str, path: str, things: Sequence[HeldVersion]) -> NotFound:
    """Why there is nothing to decide, and where it is instead."""
    trash = Trash(group.gitdir)
    trashed = trash.find(what) or trash.find(path)
    if trashed:
        hint = f"it is in the trash; bring it back: `gitmem held restore {trashed.id}`"
    elif any(edit.path == path for edit in pending_edits(group).edits):
        hint = f"no rule holds this edit; commit it: `gitmem capture {quoted(path)}`"
    else:
        near = near_misses(path, [thing.path for thing in things])
        hint = "list what is held: `gitmem held`" if things else "no file of this group is held"
        hint = f"did you mean {' or '.join(map(quoted, near))}?" if near else hint
    return NotFound(f"nothing is held for {what!r}", hint=hint)


def _read(group: Group, thing: HeldVersion) -> FileState:
    """The held version itself, as far as it is a plain file that nobody else has a name for."""
    if not thing.set_aside:
        worktree = WorkTree(group.worktree)
        try:
            return worktree.look(thing.path)
        finally:
            worktree.close()
    found = os.lstat(thing.location)
    obstacle = obstacle_in(found)
    if obstacle:
        return FileState(None, found, obstacle)
    with open(thing.location, "rb") as file:
        return FileState(file.read(), found)


def held_show(group: Group, what: str) -> HeldShown:
    """One held version, or one in the trash; what looks like a credential is blanked out."""
    thing, trashed = _find_anywhere(group, what)
    seen, ignorable = _read(group, thing), _can_ignore(group, thing)
    if seen.data is None:
        target = os.readlink(thing.location) if os.path.islink(thing.location) else ""
        text = f"a link to {target}\n" if target else ""
        return HeldShown(thing, text, 0, False, trashed, _way_in(group, thing), ignorable)
    text, count = redact(likely_text(seen.data))
    acceptable = not thing.rule.startswith(NEVER)
    marked = thing.rule.startswith(MARKERS_RULE) and not thing.set_aside
    way = "" if acceptable and not marked else _way_in(group, thing)
    return HeldShown(thing, text, count, acceptable, trashed, way, ignorable)


def _can_ignore(group: Group, thing: HeldVersion) -> bool:
    """Whether `held ignore` takes its path: git must not have it, and no list may name a secret."""
    if thing.set_aside or thing.rule.startswith(NAME_RULE):
        return False
    return group.repository.snapshot().node(thing.path) is None


def _find_anywhere(group: Group, what: str) -> tuple[HeldVersion, bool]:
    """What is held by that name, else what lies in the trash, and which of the two it is."""
    try:
        return find_held(group, what), False
    except NotFound:
        found = Trash(group.gitdir).find(what)
        if found is None:
            raise
    location = str(found.content)
    size = size_of(location)
    thing = HeldVersion(found.path, found.rule, True, location, found.id, found.dropped, size)
    return thing, True


def held_accept(group: Group, what: str, *, reason: str = "", mask: bool = False) -> HeldAccepted:
    """Commit a held version: somebody looked at it and decided.

    MASK: without its credentials. The text that has them then goes to the trash.
    """
    thing = find_held(group, what)
    finder = group.note("capture", reason=reason)
    with group.writing() as writer:
        seen = _read(group, thing)
        if seen.data is None or thing.rule.startswith(NEVER):
            raise _cannot_enter(group, thing)
        if thing.set_aside:
            writer.capture(thing.path)
        check_place(writer.repository.snapshot(), thing.path)
        accepted = _accept_masked if mask else _accept_whole
        return accepted(group, writer, thing, seen, finder)


def _accept_whole(
    group: Group, writer: Writer, thing: HeldVersion, seen: FileState, finder: Note
) -> HeldAccepted:
    broken = ("Gitmem-Violation", f"accepted by hand: {thing.rule}")
    captured = writer.accept(thing.path, seen, finder._replace(extra=(broken,)))
    if thing.set_aside:
        _drop_aside(group, thing)  # it is in git, word for word
    return HeldAccepted(thing.path, _commit_of(writer, captured), tuple(writer.captured))


def _accept_masked(
    group: Group, writer: Writer, thing: HeldVersion, seen: FileState, finder: Note
) -> HeldAccepted:
    if not thing.set_aside:
        writer.check_closed(thing.path, call("held accept", thing.path, redact=True))
    before = sound(writer.repository.snapshot(), thing.path)
    version, masked = _masked(thing, seen, before)
    said = tuple((REDACTED, f"{each.rule}, line {each.line}") for each in masked[:MOST])
    captured = writer.accept(thing.path, version, finder._replace(extra=said))
    if captured is None and not thing.set_aside:
        writer.move_aside(thing.path, thing.rule)  # committed by one who died before this
    trash = _trash_original(group, thing, seen, writer.set_aside)
    commit = _commit_of(writer, captured)
    return HeldAccepted(thing.path, commit, tuple(writer.captured), masked, trash)


def _commit_of(writer: Writer, captured: Captured | None) -> str:
    return captured.commit if captured else writer.repository.tip()


def _masked(
    thing: HeldVersion, seen: FileState, before: bytes | None
) -> tuple[FileState, tuple[Masked, ...]]:
    """The version without its credentials, and which they were."""
    text, encoding, mark = decoded_text(seen.data or b"")
    found = tuple(Masked(each.rule, each.line) for each in find(text))
    data = mark + redact(text)[0].encode(encoding, "surrogateescape")
    rule = hold_rule(thing.path, "", data, before)
    if not found or rule:
        why = f"it is still held: {rule}" if rule else "no credential was found in it"
        name = thing.id or thing.path
        raise Refused(
            f"{thing.path!r} cannot be accepted with its credentials masked: {why}",
            hint=f"look at it: `gitmem held show {quoted(name)}`; to commit it as it is: "
            f"`gitmem held accept {quoted(name)}`",
            rule=rule or thing.rule,
        )
    return FileState(data), found


def _trash_original(
    group: Group, thing: HeldVersion, seen: FileState, set_aside: Sequence[SetAside]
) -> str:
    """Move the version that was masked to the trash; one that somebody changed since stays held."""
    aside = HeldFolder(group.gitdir).find(thing.id) if thing.set_aside else None
    for each in (aside, *reversed(set_aside)):
        if each and each.path == thing.path and _read(group, _aside(each)).data == seen.data:
            why = Dropping(group.who.agent, group.now(), "accepted with its credentials masked")
            return Trash(group.gitdir).take(each, why._replace(stood=False)).id
    return ""


def _way_in(group: Group, thing: HeldVersion) -> str:
    """What to do before it is committed; empty where nothing is in the way, or nothing helps.

    Every command works in any folder. A copy has a dot name first, which no capture looks at.
    """
    if thing.rule.startswith("too-big"):
        return "split it into files of at most 1 MiB"
    if thing.rule in ("link", "hard-link"):
        place = Path(thing.location)
        here, copy = quoted(str(place)), quoted(str(place.with_name(f".copy-of-{place.name}")))
        if place.is_dir():  # `mv` would go through the link, into the folder behind it
            return (
                f"put a copy in its place: `cp -RL {here} {copy} && rm {here} && mv {copy} {here}`"
            )
        return f"put a copy in its place: `cp {here} {copy} && mv {copy} {here}`"
    if thing.rule.startswith(("path", NAME_RULE)):
        to = group.worktree / _better_name(thing.path)
        return f"rename it: `mv -n {quoted(thing.location)} {quoted(str(to))}`"
    if thing.rule.startswith(MARKERS_RULE):
        return f"resolve the conflict: gitmem edit {quoted(thing.path)}"
    return ""


def _better_name(path: str) -> str:
    """A name near PATH that breaks no rule and holds no credential."""
    named = re.sub(r"\[redacted: [^]]*\]", "redacted", redact(path)[0])
    legal = "".join(char if char.isprintable() and char != "\\" else "-" for char in named)
    return legal if is_path(legal) else f"renamed{os.path.splitext(legal)[1][:MOST_ENDING]}"


def _cannot_enter(group: Group, thing: HeldVersion) -> Refused:
    name = quoted(thing.id or thing.path)
    stay = f"to leave it on disk: `gitmem held ignore {name}`"
    look = f"look at it: `gitmem held show {name}`"
    rest = stay if _can_ignore(group, thing) else look
    return Refused(
        f"{thing.path!r} cannot enter git: {thing.rule}",
        hint="; ".join(filter(None, (_way_in(group, thing), rest))),
        rule=thing.rule,
    )


def _drop_aside(group: Group, thing: HeldVersion) -> None:
    folder = HeldFolder(group.gitdir)
    each = folder.find(thing.id)
    if each:
        folder.drop(each)


class HeldDropped(Record):
    """A held version that lies in the trash now."""

    path: str
    put_back: bool
    """True when HEAD's version stands in its place again."""
    id: str
    """By which `held restore` brings it back."""
    location: str


class TrashedVersion(Record):
    """A version in the trash."""

    id: str
    path: str
    rule: str
    dropped: str
    agent: str
    reason: str
    location: str
    bytes: int | None


class HeldRestored(Record):
    """A version that came back from the trash."""

    path: str
    id: str
    """Empty when it stands in the work tree again; else it is set aside, by this id."""
    location: str


class HeldEmptied(Record):
    """Versions that were deleted from the trash for good, or would be."""

    deleted: tuple[TrashedVersion, ...]
    kept: int
    dry_run: bool = False

    @property
    def bytes(self) -> int:
        """The size of all that is deleted."""
        return sum(each.bytes or 0 for each in self.deleted)


def held_drop(group: Group, what: str, *, reason: str = "") -> HeldDropped:
    """Move a held version to the trash; `held_restore` brings it back."""
    check_message_text("reason", reason)
    find_held(group, what)
    with group.writing() as writer:
        thing = find_held(group, what)  # again: until now somebody may have mended it
        back = not thing.set_aside and any(writer.repository.snapshot().files(thing.path))
        aside = _set_out(writer, thing, back) if not thing.set_aside else None
        aside = aside or HeldFolder(group.gitdir).find(thing.id or thing.path)
        if aside is None:
            raise _not_moved(thing, writer.pending)
        why = Dropping(group.who.agent, group.now(), reason, not thing.set_aside)
        done = Trash(group.gitdir).take(aside, why)
        return HeldDropped(thing.path, back, done.id, str(done.content))


def _not_moved(thing: HeldVersion, pending: bool) -> GitmemError:
    if pending:
        return StorageFailed(
            f"moving {thing.path!r} to the trash failed; nothing is lost",
            hint="check the disk of the store, then see where the file is: `gitmem held`",
        )
    return NotFound(
        f"nothing is held for {thing.path!r} any more", hint="list what is held: `gitmem held`"
    )


def _set_out(writer: Writer, thing: HeldVersion, in_git: bool) -> SetAside | None:
    writer.check_closed(thing.path, call("held drop", thing.path, yes=True))
    try:
        return writer.move_aside(thing.path, thing.rule)
    except OSError as error:
        raise Refused(
            f"{thing.path!r} cannot be moved to the trash: {error.strerror}",
            hint=""
            if in_git
            else f"to leave it on disk: `gitmem held ignore {quoted(thing.path)}`",
            rule=thing.rule,
        ) from error


def held_trash(group: Group) -> tuple[TrashedVersion, ...]:
    """What lies in the trash, oldest first."""
    return tuple(map(_dropped, Trash(group.gitdir)))


def _dropped(each: Trashed) -> TrashedVersion:
    location = str(each.content)
    return TrashedVersion(
        each.id,
        each.path,
        each.rule,
        each.dropped,
        each.agent,
        each.reason,
        location,
        size_of(location),
    )


def held_restore(group: Group, what: str) -> HeldRestored:
    """Bring a version back from the trash, to its place or, where that is taken, under held."""
    with group.writing() as writer:
        trash = Trash(group.gitdir)
        each = trash.find(what) or trash.find(group.inside(revealed(what)))
        if each is None:
            raise NotFound(
                f"no version {what!r} in the trash", hint="list them: `gitmem held list --trash`"
            )
        if trash.put_back(each, writer.worktree):
            return HeldRestored(each.path, "", str(group.worktree / each.path))
        aside = trash.hold(each)
        return HeldRestored(each.path, aside.id, str(aside.content))


def held_empty(
    group: Group, ids: Sequence[str] = (), *, before: str = "", dry_run: bool = False
) -> HeldEmptied:
    """Delete from the trash for good: those of IDS, or those dropped BEFORE a moment, or all."""
    if dry_run:
        return _emptied(group, ids, before)[0]
    with group.writing():
        done, going = _emptied(group, ids, before)
        for row in going:
            Trash(group.gitdir).remove(row)
        return done._replace(dry_run=False)


def _emptied(
    group: Group, ids: Sequence[str], before: str
) -> tuple[HeldEmptied, Sequence[Trashed]]:
    """What would be deleted."""
    until = start_of(group, before) if before else math.inf
    known = list(Trash(group.gitdir))
    missing = [each for each in ids if each not in {row.id for row in known}]
    if missing:
        raise NotFound(
            f"no version {missing[0]!r} in the trash", hint="list them: `gitmem held list --trash`"
        )
    going = [row for row in known if (row.id in ids or not ids) and _older(row, until)]
    return HeldEmptied(tuple(map(_dropped, going)), len(known) - len(going), True), going


def _older(row: Trashed, until: float) -> bool:
    """Whether a version was dropped before that; of one without a sound time nobody knows."""
    if until == math.inf:
        return True
    with suppress(ValueError):
        return datetime.fromisoformat(row.dropped).timestamp() < until
    return False
