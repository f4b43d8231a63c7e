"""What an operation plans to commit, and the commit that was published."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, NamedTuple, TypedDict, TypeVar

from gitmem.model.commit_messages import Note
from gitmem.store.repository import Snapshot

if TYPE_CHECKING:
    from gitmem.store.transaction.capture import Captured
    from gitmem.store.worktree.held import SetAside

T = TypeVar("T")


class Step(NamedTuple):
    """One commit: files with their new content (None removes) and what it says of itself."""

    files: Mapping[str, bytes | None]
    note: Note


class Plan(NamedTuple, Generic[T]):
    """What a transaction publishes with one move of the branch, and what the operation returns."""

    steps: tuple[Step, ...]
    """One commit each, usually a single one; none where there is nothing to change."""
    result: T
    standing: Mapping[str, str | None] = {}
    """What stands in the work tree where that is not HEAD's version: path to blob or None."""
    commit: str = ""
    """A line of commits on top of the branch that ends here, where it is written already: then the
    steps say what it brings into the work tree."""
    reinstated: tuple[str, ...] = ()
    """Files that no step changes and that must stand as in HEAD: a held version makes way."""


class Completion(TypedDict):
    """The fields in which every operation's result tells of its transaction."""

    commit: str
    captured: tuple[Captured, ...]
    set_aside: tuple[SetAside, ...]
    pending: bool


class Published(NamedTuple, Generic[T]):
    """A plan, carried out."""

    plan: Plan[T]
    commit: str
    """The new commit, or the tip of the branch where nothing changed."""
    parent: str
    blobs: Mapping[str, str | None] = {}
    """The new version of each file that changed; None for one that was removed."""
    changed: bool = False
    """Whether there is a new commit."""
    captured: tuple[Captured, ...] = ()
    """Edits by others that this writer has found and committed."""
    set_aside: tuple[SetAside, ...] = ()
    """Held versions that had to make way."""
    pending: bool = False
    """Whether a file still waits to reach the work tree or the index; the next writer does it."""

    @property
    def result(self) -> T:
        """What the operation returns, as far as its planner knows."""
        return self.plan.result

    @property
    def completion(self) -> Completion:
        """The fields that every operation's result has."""
        return {
            "commit": self.commit,
            "captured": self.captured,
            "set_aside": self.set_aside,
            "pending": self.pending,
        }


Planner = Callable[[Snapshot], Plan[T]]
"""Reads a snapshot and plans; it has no effects, for it is called again if the branch moves."""
