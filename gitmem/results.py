"""What the methods of the API return, and the records in it; `docs/api.md` lists their fields.

Importing this module imports every operation: for annotations, import it if `TYPE_CHECKING`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitmem.cache.messages import Chat
from gitmem.memory.admin.check import Checked
from gitmem.memory.admin.committed_secrets import Acknowledgement
from gitmem.memory.admin.secret_findings import Secret, SecretLocation
from gitmem.memory.context.gather import LeftOut
from gitmem.memory.context.inject import Injected
from gitmem.memory.context.manifest import Manifest, Placed
from gitmem.memory.curate.archive import Archived, ArchiveMove
from gitmem.memory.curate.consolidate import Consolidated, LeftAlone
from gitmem.memory.curate.decide import AppliedDecision, Decided, SkippedDecision
from gitmem.memory.curate.lint import Lint, Linted
from gitmem.memory.curate.migrate import Migrated
from gitmem.memory.entries.confirm import Confirmed
from gitmem.memory.entries.entries import ListedEntries, ListedEntry
from gitmem.memory.entries.freshness import AgedEntry, Freshness, LineDate, LineDates
from gitmem.memory.entries.move_entry import EntryMoved
from gitmem.memory.layouts import Silenced
from gitmem.memory.read.diff import Diffed
from gitmem.memory.read.inventory import CoreFile, EntryCount, Inventory, LayerFiles, LogDay
from gitmem.memory.read.listing import Listed, Listing
from gitmem.memory.read.log import LogEntry
from gitmem.memory.read.read import Read
from gitmem.memory.read.show import FileChange, Shown
from gitmem.memory.read.status import InTrash, LastSnapshot, ReadBack, Status, TranscriptCounts
from gitmem.memory.recover.archived import ArchivedItem, ArchivedList
from gitmem.memory.recover.held import (
    HeldAccepted,
    HeldDropped,
    HeldEmptied,
    HeldRestored,
    HeldShown,
    HeldVersion,
    Masked,
    TrashedVersion,
)
from gitmem.memory.recover.ignore import HeldAsked, HeldIgnored, IgnoredRow
from gitmem.memory.recover.kept import KeptCommit, KeptDropped, KeptRestored
from gitmem.memory.recover.undo import NotUndone, Undone
from gitmem.memory.recover.versions import Restored
from gitmem.memory.search.search import Hit, Searched
from gitmem.memory.transcripts.add import NewMessage, TranscriptAdded
from gitmem.memory.transcripts.checkpoint import TranscriptCheckpointed
from gitmem.memory.transcripts.pending import MessageRow, TranscriptPending
from gitmem.memory.transcripts.prune import TranscriptPruned
from gitmem.memory.transcripts.status import (
    InFlight,
    TranscriptList,
    TranscriptShown,
    TranscriptStatus,
)
from gitmem.memory.transcripts.transcripts import Checkpoint
from gitmem.memory.upkeep.compact import Compacted
from gitmem.memory.upkeep.maintain import Maintained, Stepped
from gitmem.memory.upkeep.rollup import RolledUp
from gitmem.memory.upkeep.rollups_due import DueRollup, Late, MonthWaiting, RollupsDue, Source
from gitmem.memory.upkeep.rotate import Rotated
from gitmem.memory.upkeep.snapshot import SnapshotRow, Snapshotted
from gitmem.memory.write.apply import Edit
from gitmem.memory.write.capture import CapturedAll
from gitmem.memory.write.move import Moved
from gitmem.memory.write.open_edits import PendingEdit
from gitmem.memory.write.write import Change, Written
from gitmem.model.report import (
    BudgetCheck,
    Budgets,
    ByFreshness,
    Considered,
    Duplicate,
    FileSize,
    LongProfile,
    ReferenceFile,
    Report,
    Sessions,
    Totals,
)
from gitmem.store.fsck.findings import CheckFinding
from gitmem.store.job_log import Job
from gitmem.store.lost_commits.unreadable import Unreadable
from gitmem.store.transaction.capture import Captured, HeldEdit
from gitmem.store.transaction.git_operations import GitOperation
from gitmem.store.worktree.held import SetAside

__all__ = [
    "Acknowledgement",
    "AgedEntry",
    "AppliedDecision",
    "ArchiveMove",
    "Archived",
    "ArchivedItem",
    "ArchivedList",
    "BudgetCheck",
    "Budgets",
    "ByFreshness",
    "Captured",
    "CapturedAll",
    "Change",
    "Chat",
    "CheckFinding",
    "Checked",
    "Checkpoint",
    "Compacted",
    "Confirmed",
    "Considered",
    "Consolidated",
    "CoreFile",
    "Decided",
    "Diffed",
    "DueRollup",
    "Duplicate",
    "Edit",
    "EntryCount",
    "EntryMoved",
    "FileChange",
    "FileSize",
    "Freshness",
    "GitOperation",
    "HeldAccepted",
    "HeldAsked",
    "HeldDropped",
    "HeldEdit",
    "HeldEmptied",
    "HeldIgnored",
    "HeldRestored",
    "HeldShown",
    "HeldVersion",
    "Hit",
    "IgnoredRow",
    "InFlight",
    "InTrash",
    "Injected",
    "Inventory",
    "Job",
    "KeptCommit",
    "KeptDropped",
    "KeptRestored",
    "LastSnapshot",
    "Late",
    "LayerFiles",
    "LeftAlone",
    "LeftOut",
    "LineDate",
    "LineDates",
    "Lint",
    "Linted",
    "Listed",
    "ListedEntries",
    "ListedEntry",
    "Listing",
    "LogDay",
    "LogEntry",
    "LongProfile",
    "Maintained",
    "Manifest",
    "Masked",
    "MessageRow",
    "Migrated",
    "MonthWaiting",
    "Moved",
    "NewMessage",
    "NotUndone",
    "PendingEdit",
    "Placed",
    "Read",
    "ReadBack",
    "ReferenceFile",
    "Report",
    "Restored",
    "RolledUp",
    "RollupsDue",
    "Rotated",
    "Searched",
    "Secret",
    "SecretLocation",
    "Sessions",
    "SetAside",
    "Shown",
    "Silenced",
    "SkippedDecision",
    "SnapshotRow",
    "Snapshotted",
    "Source",
    "Status",
    "Stepped",
    "Totals",
    "TranscriptAdded",
    "TranscriptCheckpointed",
    "TranscriptCounts",
    "TranscriptList",
    "TranscriptPending",
    "TranscriptPruned",
    "TranscriptShown",
    "TranscriptStatus",
    "TrashedVersion",
    "Undone",
    "Unreadable",
    "Written",
]

_OLD = {"Entry": "LogEntry", "Place": "SecretLocation", "Said": "TranscriptCounts"}

if not TYPE_CHECKING:  # else every name would be there for type checkers

    def __getattr__(name: str) -> Any:
        """A result by its name of the last release."""
        if name not in _OLD:
            raise AttributeError(f"module 'gitmem.results' has no attribute {name!r}")
        from warnings import warn

        text = f"gitmem.results.{name} is deprecated, use gitmem.results.{_OLD[name]}"
        warn(text, DeprecationWarning, stacklevel=2)
        return globals()[_OLD[name]]
