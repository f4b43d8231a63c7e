"""What `check` has to say, as values with stable codes."""

from __future__ import annotations

from gitmem.model.record import Record

ERROR, WARNING, INFO = "error", "warning", "info"
REPAIR = "run `gitmem check --repair`"


class Finding(Record):
    """One thing that is not as it should be, or worth knowing."""

    code: str
    message: str
    severity: str
    """error: memory cannot be read or written; warning: it should be mended; info: good to know."""
    path: str = ""
    object: str = ""
    repaired: str = ""
    """What was done about it; empty when it still stands."""
    hint: str = ""
    id: str = ""
    """What `check --acknowledge` takes, where that is the way to end it."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What makes it the same finding in another check."""
        return self.code, self.severity, self.path, self.object

    @property
    def stands(self) -> bool:
        """True for what makes a group unsound."""
        return self.severity != INFO and not self.repaired


def error(code: str, message: str, *, path: str = "", object: str = "", hint: str = "") -> Finding:
    """Something that keeps memory from being read or written."""
    return Finding(code, message, ERROR, path, object, "", hint or REPAIR)


def warning(
    code: str, message: str, *, path: str = "", object: str = "", hint: str = ""
) -> Finding:
    """Something that should be mended and costs nothing yet."""
    return Finding(code, message, WARNING, path, object, "", hint or REPAIR)


def info(code: str, message: str, *, path: str = "", object: str = "", hint: str = "") -> Finding:
    """Something that is as it may be, and good to know."""
    return Finding(code, message, INFO, path, object, "", hint)
