"""Credentials that plain git committed, past the guards, and their ids."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

ID_LENGTH = 12


class Exposed(NamedTuple):
    """A credential in one blob, or in the message of a commit."""

    id: str
    """Its id for acknowledging; the same value has the same id everywhere."""
    rule: str
    line: int
    blob: str
    """Empty for a credential in a commit message or a path."""
    commit: str
    """The commit that added it."""
    path: str

    @property
    def location(self) -> str:
        """Where it can be acknowledged alone: its file, or the commit whose message has it."""
        return self.path or self.commit


def secret_id(salt: str, rule: str, value: str) -> str:
    """Return the id of a value; without the salt of its repository values cannot be tried."""
    text = f"{salt}\0{rule}\0{value}".encode("utf-8", "surrogatepass")
    return sha256(text).hexdigest()[:ID_LENGTH]


def located_id(salt: str, id: str, location: str) -> str:
    """Return the id of the value ID at LOCATION alone: a path, or a commit."""
    text = f"{salt}\0{id}\0{location}".encode("utf-8", "surrogatepass")
    return sha256(text).hexdigest()[:ID_LENGTH]
