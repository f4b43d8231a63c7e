"""Held versions: edits that a guard keeps out of git. List, show, accept or drop them.

A dropped version goes to the group's trash, from where it can be restored.
"""

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
from gitmem.memory.write.changeset import check_path_free
from gitmem.memory.write.open_edits import pending_edits
from gitmem.model.commit_messages import Note, revealed
from gitmem.model.guards import MARKERS_RULE, NAME_RULE, check_message_text, hold_rule
from gitmem.model.hints import Hint, call
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
"""Rules that cannot be waived: git, or the next reader of the log, would suffer."""
LIST = Hint(call("held"), " lists the held versions")
LIST_TRASH = Hint(call("held list", trash=True), " lists the trash")


class HeldVersion(Record):
    """A version that git does not have."""

    path: str
    rule: str
    set_aside: bool
    """False if it is in the work tree, True if a write moved it to the git directory."""
    location: str
    id: str = ""
    at: str = ""
    bytes: int | None = None


class HeldShown(Record):
    """A held version, with what looks like a credential masked."""

    thing: HeldVersion
    text: str
    redacted: int
    acceptable: bool = False
    """Whether it can be committed as it is."""
    trashed: bool = False
    """Whether it is in the trash."""
    way: str = ""
    """What to do first, if it cannot be committed as it is."""
    ignorable: bool = False
    """Whether `held ignore` can leave it on disk: not a file that git has."""


class Masked(Record):
    """A credential that was masked: the rule that found it, and the line. Never its value."""

    rule: str
    line: int


class HeldAccepted(Record):
    """A held version that was committed."""

    path: str
    commit: str
    captured: tuple[Captured, ...] = ()
    masked: tuple[Masked, ...] = ()
    """The credentials that are masked in the committed text."""
    trash: str = ""
    """The id of the original text in the trash, if credentials were masked."""


class HeldDropped(Record):
    """A held version that was moved to the trash."""

    path: str
    put_back: bool
    """True if HEAD's version is in its place again."""
    id: str
    """The id for `held restore`."""
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
    """A version that was restored from the trash."""

    path: str
    id: str
    """Empty if it is in the work tree again; else the id of the version that is set aside."""
    location: str


class HeldEmptied(Record):
    """Versions that were deleted from the trash for good, or would be."""

    deleted: tuple[TrashedVersion, ...]
    kept: int
    dry_run: bool = False

    @property
    def bytes(self) -> int:
        """The size of all deleted versions."""
        return sum(each.bytes or 0 for each in self.deleted)


def held_list(group: Group) -> tuple[HeldVersion, ...]:
    """All held versions, in the work tree and set aside."""
    edits = [_in_worktree(group, each) for each in pending_edits(group).held]
    return (*edits, *(_aside(each) for each in HeldFolder(group.gitdir)))


def _in_worktree(group: Group, each: HeldEdit) -> HeldVersion:
    location = str(group.worktree / each.path)
    return HeldVersion(each.path, each.rule, False, location, bytes=size_of(location))


def _aside(each: SetAside) -> HeldVersion:
    location = str(each.content)
    return HeldVersion(each.path, each.rule, True, location, each.id, each.at, size_of(location))


def _name(version: HeldVersion) -> str:
    """The name by which `held` commands find it: its id, or its path."""
    return version.id or version.path


def find_held(group: Group, what: str) -> HeldVersion:
    """The held version by id or path; the one in the work tree before those set aside.

    A name may be typed as it is printed, with `\\u{000A}` for a character that cannot be seen.
    """
    names = (group.inside(what), group.inside(revealed(what)))
    versions = held_list(group)
    found = [each for each in versions if each.path in names or each.id == what]
    if found:  # the one in the work tree comes first, then the one that was set aside last
        return found[0] if not found[0].set_aside else found[-1]
    raise _not_held(group, what, names[0], versions)


def _not_held(group: Group, what: str, path: str, versions: Sequence[HeldVersion]) -> NotFound:
    """The error for a version that is not held; its hint says where it is instead."""
    trash = Trash(group.gitdir)
    trashed = trash.find(what) or trash.find(path)
    near = near_misses(path, [each.path for each in versions])
    hint: str = LIST if versions else "no file of this group is held"
    if trashed:
        hint = Hint("it is in the trash; to restore it: ", call("held restore", trashed.id))
    elif any(edit.path == path for edit in pending_edits(group).edits):
        hint = Hint("no rule holds this edit; to commit it: ", call("capture", path))
    elif near:
        hint = f"did you mean {' or '.join(map(quoted, near))}?"
    return NotFound(f"no held version {what!r}", hint=hint)


def _read(group: Group, version: HeldVersion) -> FileState:
    """The content of a held version, if it is a plain file without other hard links."""
    if not version.set_aside:
        worktree = WorkTree(group.worktree)
        try:
            return worktree.look(version.path)
        finally:
            worktree.close()
    found = os.lstat(version.location)
    obstacle = obstacle_in(found)
    if obstacle:
        return FileState(None, found, obstacle)
    with open(version.location, "rb") as file:
        return FileState(file.read(), found)


def held_show(group: Group, what: str) -> HeldShown:
    """A held version, or one in the trash, with what looks like a credential masked."""
    version, trashed = _find_anywhere(group, what)
    content, ignorable = _read(group, version), _can_ignore(group, version)
    if content.data is None:
        is_link = os.path.islink(version.location)
        text = f"a link to {os.readlink(version.location)}\n" if is_link else ""
        return HeldShown(version, text, 0, False, trashed, _way_in(group, version), ignorable)
    text, count = redact(likely_text(content.data))
    acceptable = not version.rule.startswith(NEVER)
    marked = version.rule.startswith(MARKERS_RULE) and not version.set_aside
    way = "" if acceptable and not marked else _way_in(group, version)
    return HeldShown(version, text, count, acceptable, trashed, way, ignorable)


def _can_ignore(group: Group, version: HeldVersion) -> bool:
    """Whether `held ignore` takes its path: not if git has it, or the path holds a secret."""
    if version.set_aside or version.rule.startswith(NAME_RULE):
        return False
    return group.repository.snapshot().node(version.path) is None


def _find_anywhere(group: Group, what: str) -> tuple[HeldVersion, bool]:
    """The held version of that name, or the one in the trash, and whether it is in the trash."""
    try:
        return find_held(group, what), False
    except NotFound:
        found = Trash(group.gitdir).find(what)
        if found is None:
            raise
    location = str(found.content)
    size = size_of(location)
    version = HeldVersion(found.path, found.rule, True, location, found.id, found.dropped, size)
    return version, True


def held_accept(group: Group, what: str, *, reason: str = "", mask: bool = False) -> HeldAccepted:
    """Commit a held version, because somebody decided so.

    MASK: with its credentials masked; the original text goes to the trash.
    """
    version = find_held(group, what)
    note = group.note("capture", reason=reason)
    with group.writing() as writer:
        content = _read(group, version)
        if content.data is None or version.rule.startswith(NEVER):
            raise _cannot_enter(group, version)
        if version.set_aside:
            writer.capture(version.path)
        check_path_free(writer.repository.snapshot(), version.path)
        accepted = _accept_masked if mask else _accept_whole
        return accepted(group, writer, version, content, note)


def _accept_whole(
    group: Group, writer: Writer, version: HeldVersion, content: FileState, note: Note
) -> HeldAccepted:
    broken = ("Gitmem-Violation", f"accepted by hand: {version.rule}")
    captured = writer.accept(version.path, content, note._replace(extra=(broken,)))
    folder = HeldFolder(group.gitdir)
    aside = folder.find(version.id) if version.set_aside else None
    if aside:
        folder.drop(aside)  # git has its exact text
    return HeldAccepted(version.path, _commit_of(writer, captured), tuple(writer.captured))


def _accept_masked(
    group: Group, writer: Writer, version: HeldVersion, content: FileState, note: Note
) -> HeldAccepted:
    path = version.path
    if not version.set_aside:
        writer.check_closed(path, call("held accept", path, redact=True))
    text, masked = _masked(version, content, sound(writer.repository.snapshot(), path))
    trailers = tuple((REDACTED, f"{each.rule}, line {each.line}") for each in masked[:MOST])
    captured = writer.accept(path, text, note._replace(extra=trailers))
    if captured is None and not version.set_aside:
        writer.move_aside(path, version.rule)  # committed by a writer that died before this
    trash = _trash_original(group, version, content, writer.set_aside)
    return HeldAccepted(path, _commit_of(writer, captured), tuple(writer.captured), masked, trash)


def _commit_of(writer: Writer, captured: Captured | None) -> str:
    return captured.commit if captured else writer.repository.tip()


def _masked(
    version: HeldVersion, content: FileState, before: bytes | None
) -> tuple[FileState, tuple[Masked, ...]]:
    """The version with its credentials masked, and which they are."""
    text, encoding, mark = decoded_text(content.data or b"")
    found = tuple(Masked(each.rule, each.line) for each in find(text))
    data = mark + redact(text)[0].encode(encoding, "surrogateescape")
    rule = hold_rule(version.path, "", data, before)
    if not found or rule:
        why = f"it is still held: {rule}" if rule else "no credential was found in it"
        raise Refused(
            f"masking the credentials of {version.path!r} is not enough: {why}",
            hint=Hint(
                "look at it: ",
                call("held show", _name(version)),
                "; to commit it as it is: ",
                call("held accept", _name(version)),
            ),
            rule=rule or version.rule,
        )
    return FileState(data), found


def _trash_original(
    group: Group, version: HeldVersion, content: FileState, set_aside: Sequence[SetAside]
) -> str:
    """Move the version with the credentials to the trash; one that changed since stays held."""
    aside = HeldFolder(group.gitdir).find(version.id) if version.set_aside else None
    for each in (aside, *reversed(set_aside)):
        if each and each.path == version.path and _read(group, _aside(each)).data == content.data:
            why = Dropping(group.who.agent, group.now(), "accepted with its credentials masked")
            return Trash(group.gitdir).take(each, why._replace(stood=False)).id
    return ""


def _way_in(group: Group, version: HeldVersion) -> str:
    """What to do before it can be committed; empty if nothing is in the way, or nothing helps.

    Every command works in any folder. A copy gets a dot name first, which no capture looks at.
    """
    if version.rule.startswith("too-big"):
        return "split it into files of at most 1 MiB"
    if version.rule in ("link", "hard-link"):
        path = Path(version.location)
        here, copy = quoted(str(path)), quoted(str(path.with_name(f".copy-of-{path.name}")))
        if path.is_dir():  # `mv` would go through the link, into the folder behind it
            return (
                f"put a copy in its place: `cp -RL {here} {copy} && rm {here} && mv {copy} {here}`"
            )
        return f"put a copy in its place: `cp {here} {copy} && mv {copy} {here}`"
    if version.rule.startswith(("path", NAME_RULE)):
        to = group.worktree / _better_name(version.path)
        return f"rename it: `mv -n {quoted(version.location)} {quoted(str(to))}`"
    if version.rule.startswith(MARKERS_RULE):
        return Hint("resolve the conflict: ", call("edit", version.path))
    return ""


def _better_name(path: str) -> str:
    """A name near PATH that breaks no rule and holds no credential."""
    named = re.sub(r"\[redacted: [^]]*\]", "redacted", redact(path)[0])
    legal = "".join(char if char.isprintable() and char != "\\" else "-" for char in named)
    return legal if is_path(legal) else f"renamed{os.path.splitext(legal)[1][:MOST_ENDING]}"


def _cannot_enter(group: Group, version: HeldVersion) -> Refused:
    stay = Hint("to leave it on disk: ", call("held ignore", _name(version)))
    show = Hint("look at it: ", call("held show", _name(version)))
    rest = stay if _can_ignore(group, version) else show
    return Refused(
        f"git cannot take {version.path!r}: {version.rule}",
        hint=Hint.joined("; ", filter(None, (_way_in(group, version), rest))),
        rule=version.rule,
    )


def held_drop(group: Group, what: str, *, reason: str = "") -> HeldDropped:
    """Move a held version to the trash; `held_restore` brings it back."""
    check_message_text("reason", reason)
    find_held(group, what)
    with group.writing() as writer:
        version = find_held(group, what)  # again: somebody may have resolved it until now
        in_git = any(writer.repository.snapshot().files(version.path))
        back = in_git and not version.set_aside
        aside = _move_aside(writer, version, in_git) if not version.set_aside else None
        aside = aside or HeldFolder(group.gitdir).find(_name(version))
        if aside is None:
            raise _not_moved(version, writer.pending)
        why = Dropping(group.who.agent, group.now(), reason, not version.set_aside)
        done = Trash(group.gitdir).take(aside, why)
        return HeldDropped(version.path, back, done.id, str(done.content))


def _not_moved(version: HeldVersion, pending: bool) -> GitmemError:
    if pending:
        return StorageFailed(
            f"moving {version.path!r} to the trash failed; nothing is lost",
            hint="check the disk of the store; " + LIST,
        )
    return NotFound(f"{version.path!r} is not held any more", hint=LIST)


def _move_aside(writer: Writer, version: HeldVersion, in_git: bool) -> SetAside | None:
    writer.check_closed(version.path, call("held drop", version.path, yes=True))
    try:
        return writer.move_aside(version.path, version.rule)
    except OSError as error:
        stay = Hint("to leave it on disk: ", call("held ignore", version.path))
        raise Refused(
            f"moving {version.path!r} to the trash failed: {error.strerror}",
            hint="" if in_git else stay,
            rule=version.rule,
        ) from error


def held_trash(group: Group) -> tuple[TrashedVersion, ...]:
    """The versions in the trash, oldest first."""
    return tuple(map(_trashed, Trash(group.gitdir)))


def _trashed(each: Trashed) -> TrashedVersion:
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
    """Move a version out of the trash: to its path, or back to held if that path is taken."""
    with group.writing() as writer:
        trash = Trash(group.gitdir)
        each = trash.find(what) or trash.find(group.inside(revealed(what)))
        if each is None:
            raise NotFound(f"no version {what!r} in the trash", hint=LIST_TRASH)
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
    """The versions to delete, and the result of a dry run."""
    until = start_of(group, before) if before else math.inf
    known = list(Trash(group.gitdir))
    missing = [each for each in ids if each not in {row.id for row in known}]
    if missing:
        raise NotFound(f"no version {missing[0]!r} in the trash", hint=LIST_TRASH)
    going = [row for row in known if (row.id in ids or not ids) and _older(row, until)]
    return HeldEmptied(tuple(map(_trashed, going)), len(known) - len(going), True), going


def _older(row: Trashed, until: float) -> bool:
    """Whether a version was dropped before UNTIL; False if its time is unreadable."""
    if until == math.inf:
        return True
    with suppress(ValueError):
        return datetime.fromisoformat(row.dropped).timestamp() < until
    return False
