"""Every error gitmem raises on purpose.

An error is a situation with its facts. It has a stable slug (`code`) that scripts may match, a
message for people, and a `hint` that names the next step. What exit code it becomes is decided in
`cli/boundary.py` and nowhere else.
"""

from __future__ import annotations

from typing import ClassVar


class GitmemError(Exception):
    """The root of all errors raised on purpose. Nothing was written unless the message says so."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "", **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.facts = facts


class NotFound(GitmemError):
    """Something named by the caller does not exist."""

    code = "not-found"


class GroupNotFound(NotFound):
    """The store has no group of that name."""

    code = "group-not-found"


class PathNotFound(NotFound):
    """The group has no such file at that moment."""

    code = "path-not-found"


class MomentNotFound(NotFound):
    """No commit, tag or date like the one asked for."""

    code = "moment-not-found"


class ProgramMissing(NotFound):
    """Another program is needed, and is not installed."""

    code = "program-missing"


class FolderGone(NotFound):
    """The folder in which the command was started was removed."""

    code = "folder-gone"


class BadInput(GitmemError):
    """The caller's words make no sense: a usage error."""

    code = "bad-input"


class ExtraMissing(NotFound):
    """A package is not installed that only this part of gitmem needs."""

    code = "extra-missing"


class Conflict(GitmemError):
    """What the caller assumed is no longer so."""

    code = "conflict"


class GitOperationUnderway(Conflict):
    """A person has begun a merge, rebase or the like with git, and it is not finished."""

    code = "git-operation"


class Refused(GitmemError):
    """A guard said no, before any object was written."""

    code = "refused"


class PathRefused(Refused):
    """The path breaks the path grammar, or leads somewhere it must not."""

    code = "path-refused"


class GroupRefused(Refused):
    """The group's name breaks the grammar, or the acting group may not act there."""

    code = "group-refused"


class SecretFound(Refused):
    """The text holds something that looks like a credential."""

    code = "secret-found"


class MarkersFound(Refused):
    """The text holds conflict markers of a merge that nobody has resolved."""

    code = "markers-found"


class ShrinkRefused(Refused):
    """The write would remove most of a file."""

    code = "shrink-refused"


class TooBig(Refused):
    """The text is larger than a memory file may be."""

    code = "too-big"


class FrontmatterRefused(Refused):
    """The block between the `---` lines cannot be read safely."""

    code = "frontmatter-refused"


class LayoutRefused(Refused):
    """A `gitmem.yaml` that cannot be: the message names its line and key."""

    code = "layout-refused"


class PolicyRefused(Refused):
    """The layer to which the file belongs is not written like this."""

    code = "policy-refused"


class JsonRefused(Refused):
    """A JSON file of another program that cannot be edited without guessing."""

    code = "json-refused"


class EntryRefused(Refused):
    """A strict layer does not take an entry with such a status, type or importance."""

    code = "entry-refused"


class DoesNotAge(Refused):
    """What cannot grow stale cannot be confirmed, either."""

    code = "does-not-age"


class PlanRefused(Refused):
    """Decisions that cannot be carried out: the message names each line."""

    code = "plan-refused"


class Busy(GitmemError):
    """Somebody else holds a lock; nothing was written and a retry is safe."""

    code = "busy"


class Damaged(GitmemError):
    """The repository is damaged in a way that stops this command."""

    code = "damaged"


class StorageFailed(GitmemError):
    """The disk or git failed underneath."""

    code = "storage-failed"


class ProgramFailed(StorageFailed):
    """Another program was called, and did not do what it was asked for."""

    code = "program-failed"
