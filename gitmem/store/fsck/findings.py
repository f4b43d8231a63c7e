"""Results of check and repair, as values with stable codes."""

from __future__ import annotations

from typing import NamedTuple

from gitmem.model.hints import Hint, call
from gitmem.model.record import Record

ERROR, WARNING, INFO = "error", "warning", "info"
REPAIR = Hint("run ", call("check", repair=True))


class CheckFinding(Record):
    """One problem of a group, or a fact worth knowing."""

    code: str
    message: str
    severity: str
    """error: memory cannot be read or written; warning: needs a repair; info: no action needed."""
    path: str = ""
    object: str = ""
    repaired: str = ""
    """What the repair did; empty while the problem stands."""
    hint: str = ""
    id: str = ""
    """The argument for `check --acknowledge`, where a person may accept the finding."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Identifies the same finding in another check."""
        return self.code, self.severity, self.path, self.object

    @property
    def stands(self) -> bool:
        """True for a finding that makes a group unsound."""
        return self.severity != INFO and not self.repaired


class Repaired(NamedTuple):
    """One repair: the finding it answers, and what was done."""

    code: str
    text: str
    path: str = ""
    object: str = ""


def error(
    code: str, message: str, *, path: str = "", object: str = "", hint: str = REPAIR
) -> CheckFinding:
    """A problem that keeps memory from being read or written."""
    return CheckFinding(code, message, ERROR, path, object, hint=hint)


def warning(
    code: str, message: str, *, path: str = "", object: str = "", hint: str = REPAIR
) -> CheckFinding:
    """A problem that needs a repair and blocks nothing yet."""
    return CheckFinding(code, message, WARNING, path, object, hint=hint)


def info(
    code: str, message: str, *, path: str = "", object: str = "", hint: str = ""
) -> CheckFinding:
    """A fact worth knowing."""
    return CheckFinding(code, message, INFO, path, object, hint=hint)
