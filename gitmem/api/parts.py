"""Methods of a group by topic: `memory.entries`, `.history`, `.held`, `.kept`, `.transcripts`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gitmem.api.arguments import Methods, Several, names

if TYPE_CHECKING:
    from gitmem.memory.entries.confirm import Confirmed
    from gitmem.memory.entries.entries import ListedEntries
    from gitmem.memory.entries.freshness import Freshness, LineDates
    from gitmem.memory.entries.move_entry import EntryMoved
    from gitmem.memory.group import Group
    from gitmem.memory.read.diff import Diffed
    from gitmem.memory.read.log import LogEntry
    from gitmem.memory.read.show import Shown
    from gitmem.memory.recover.archived import ArchivedList
    from gitmem.memory.recover.held import (
        HeldAccepted,
        HeldDropped,
        HeldEmptied,
        HeldRestored,
        HeldShown,
        HeldVersion,
        TrashedVersion,
    )
    from gitmem.memory.recover.ignore import HeldAsked, HeldIgnored, IgnoredRow
    from gitmem.memory.recover.kept import KeptCommit, KeptDropped, KeptRestored
    from gitmem.memory.transcripts.add import NewMessage, TranscriptAdded
    from gitmem.memory.transcripts.checkpoint import TranscriptCheckpointed
    from gitmem.memory.transcripts.pending import TranscriptPending
    from gitmem.memory.transcripts.prune import TranscriptPruned
    from gitmem.memory.transcripts.status import TranscriptList, TranscriptShown, TranscriptStatus
    from gitmem.memory.upkeep.snapshot import SnapshotRow


class _Part(Methods):
    """Some of the methods of an open group."""

    def __init__(self, group: Group) -> None:
        self._group = group


class EntryMethods(_Part):
    """The entries of a group: decisions, projects, preferences, ideas."""

    def __call__(
        self, path: str | None = None, *, status: str | None = None, at: str | None = None
    ) -> ListedEntries:
        """The same as `list`."""
        return self.list(path, status=status, at=at)

    def list(
        self, path: str | None = None, *, status: str | None = None, at: str | None = None
    ) -> ListedEntries:
        """The entries of all layers, or of a layer, file, folder, pattern or address."""
        from gitmem.memory.entries.entries import entries

        return entries(self._group, path or "", status=status or "", at=at)

    def freshness(
        self, path: str | None = None, *, states: Several = (), at: str | None = None
    ) -> Freshness:
        """How long ago each entry of the layers that age last changed, oldest first."""
        from gitmem.memory.entries.freshness import freshness

        return freshness(self._group, path or "", states=names(states), at=at)

    def confirm(self, targets: Several, *, reason: str | None = None) -> Confirmed:
        """Mark entries, by address, as still accurate, as one commit."""
        from gitmem.memory.entries.confirm import confirm

        return confirm(self._group, names(targets), reason=reason or "")

    def move(
        self,
        address: str,
        target: str,
        *,
        set: Mapping[str, str] | None = None,
        reason: str | None = None,
        allow_policy: bool = False,
    ) -> EntryMoved:
        """Move an entry to another file or layer; SET changes fields or adds them."""
        from gitmem.memory.entries.move_entry import move_entry

        return move_entry(
            self._group,
            address,
            target,
            fields=set,
            reason=reason or "",
            allow_policy=allow_policy,
        )

    def archived(self) -> ArchivedList:
        """The archived entries and files: from where, since when and why."""
        from gitmem.memory.recover.archived import archived

        return archived(self._group)


class HistoryMethods(_Part):
    """The commits of a group."""

    def log(
        self,
        path: str | None = None,
        *,
        session: str | None = None,
        agent: str | None = None,
        since: str | None = None,
        op: str | None = None,
        limit: int | None = None,
    ) -> tuple[LogEntry, ...]:
        """Who changed what, when and why, newest first; follows moves."""
        from gitmem.memory.read.log import log

        return log(
            self._group,
            path or "",
            session=session or "",
            agent=agent or "",
            since=since or "",
            op=op or "",
            limit=limit or 0,
        )

    def show(self, commit: str) -> Shown:
        """One commit with its changes."""
        from gitmem.memory.read.show import show

        return show(self._group, commit)

    def diff(self, a: str | None = None, b: str | None = None, path: str | None = None) -> Diffed:
        """The changes between moments A and B, since A, or, without both, uncommitted edits."""
        from gitmem.memory.read.diff import diff

        return diff(self._group, a or "", b or "", path or "")

    def lines(self, path: str, *, at: str | None = None) -> LineDates:
        """The commit of every line of a file, as `git blame -w` reports it."""
        from gitmem.memory.entries.freshness import line_dates

        return line_dates(self._group, path, at=at)

    def snapshots(self, *, limit: int | None = None) -> tuple[SnapshotRow, ...]:
        """The snapshots, newest first."""
        from gitmem.memory.upkeep.snapshot import snapshots

        return snapshots(self._group, limit=limit or 0)


class HeldMethods(_Part):
    """Edits that a guard keeps out of git; TARGET is a path or an id."""

    def __call__(self) -> tuple[HeldVersion, ...]:
        """The same as `list`."""
        return self.list()

    def list(self) -> tuple[HeldVersion, ...]:
        """The held versions, in the work tree and set aside."""
        from gitmem.memory.recover.held import held_list

        return held_list(self._group)

    def show(self, target: str) -> HeldShown:
        """A held version with its credentials masked."""
        from gitmem.memory.recover.held import held_show

        return held_show(self._group, target)

    def accept(
        self, target: str, *, reason: str | None = None, redact: bool = False
    ) -> HeldAccepted:
        """Commit a held version as it is, or with its credentials masked."""
        from gitmem.memory.recover.held import held_accept

        return held_accept(self._group, target, reason=reason or "", mask=redact)

    def drop(self, target: str, *, reason: str | None = None) -> HeldDropped:
        """Move a held version to the trash."""
        from gitmem.memory.recover.held import held_drop

        return held_drop(self._group, target, reason=reason or "")

    def trash(self) -> tuple[TrashedVersion, ...]:
        """The dropped versions."""
        from gitmem.memory.recover.held import held_trash

        return held_trash(self._group)

    def restore(self, target: str) -> HeldRestored:
        """Bring a version back from the trash."""
        from gitmem.memory.recover.held import held_restore

        return held_restore(self._group, target)

    def empty(
        self, ids: Several = (), *, before: str | None = None, dry_run: bool = False
    ) -> HeldEmptied:
        """Delete versions from the trash for good: all, or those with IDS."""
        from gitmem.memory.recover.held import held_empty

        return held_empty(self._group, names(ids), before=before or "", dry_run=dry_run)

    def ignore(
        self, target: str, *, reason: str | None = None, dry_run: bool = False
    ) -> HeldIgnored:
        """Leave a file, or all files that match a pattern, on disk and out of memory."""
        from gitmem.memory.recover.ignore import held_ignore

        return held_ignore(self._group, target, reason=reason or "", dry_run=dry_run)

    def unignore(self, target: str) -> HeldAsked:
        """Stop ignoring a path or a pattern."""
        from gitmem.memory.recover.ignore import held_ask

        return held_ask(self._group, target)

    def ignored(self) -> tuple[IgnoredRow, ...]:
        """The ignored patterns."""
        from gitmem.memory.recover.ignore import held_ignored

        return held_ignored(self._group)


class KeptMethods(_Part):
    """Commits that left the branch."""

    def __call__(self) -> tuple[KeptCommit, ...]:
        """The same as `list`."""
        return self.list()

    def list(self) -> tuple[KeptCommit, ...]:
        """The kept commits."""
        from gitmem.memory.recover.kept import kept_list

        return kept_list(self._group)

    def restore(self, commit: str, *, allow_secret: Several = ()) -> KeptRestored:
        """Merge kept commits into the branch."""
        from gitmem.memory.recover.kept import kept_restore

        return kept_restore(self._group, commit, allow_secret=names(allow_secret))

    def drop(self, commit: str) -> KeptDropped:
        """Stop keeping commits; the next `git gc` may remove them."""
        from gitmem.memory.recover.kept import kept_drop

        return kept_drop(self._group, commit)


class TranscriptMethods(_Part):
    """Recorded conversations and their summaries."""

    def add(self, messages: Iterable[NewMessage]) -> TranscriptAdded:
        """Record messages as one commit; those with known ids are skipped."""
        from gitmem.memory.transcripts.add import transcript_add

        return transcript_add(self._group, tuple(messages))

    def list(self) -> TranscriptList:
        """The chats."""
        from gitmem.memory.transcripts.status import transcript_list

        return transcript_list(self._group)

    def show(self, chat: str, *, last: int | None = None) -> TranscriptShown:
        """The messages of a chat, or the LAST ones."""
        from gitmem.memory.transcripts.status import transcript_show

        return transcript_show(self._group, chat, last=last or 0)

    def pending(
        self, *, chat: str | None = None, chars: int | None = None, take_over: bool = False
    ) -> TranscriptPending:
        """The oldest range without a summary, for this agent and session until it is closed."""
        from gitmem.memory.transcripts.pending import CHARS, transcript_pending

        size = CHARS if chars is None else chars
        return transcript_pending(self._group, chat=chat or "", chars=size, take_over=take_over)

    def checkpoint(
        self, summary: str, *, token: str | None = None, covers: Several = ()
    ) -> TranscriptCheckpointed:
        """Close the range that `pending` handed out, as one commit."""
        from gitmem.memory.transcripts.checkpoint import transcript_checkpoint

        return transcript_checkpoint(self._group, summary, token=token or "", covers=names(covers))

    def status(self) -> TranscriptStatus:
        """How much is summarised, how much is pending, and who has a range."""
        from gitmem.memory.transcripts.status import transcript_status

        return transcript_status(self._group)

    def prune(self, before: str, *, dry_run: bool = False) -> TranscriptPruned:
        """Delete summarised messages from before a date, for good."""
        from gitmem.memory.transcripts.prune import transcript_prune

        return transcript_prune(self._group, before, dry_run=dry_run)
