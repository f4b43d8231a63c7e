"""Credentials that stand in git all the same: a commit by plain git passes no guard."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

ID_LENGTH = 12


class Exposed(NamedTuple):
    """A credential in one blob, or in the message of a commit."""

    id: str
    """What it is acknowledged by: the same value has the same one wherever it stands."""
    rule: str
    line: int
    blob: str
    """Empty where it stands in the commit's message or in a path."""
    commit: str
    """The commit that brought it."""
    path: str

    @property
    def location(self) -> str:
        """For what it can be acknowledged alone: its file, or the commit that says it."""
        return self.path or self.commit


def secret_id(salt: str, rule: str, value: str) -> str:
    """The id of a value. Without the salt of its repository nobody can try values against it."""
    text = f"{salt}\0{rule}\0{value}".encode("utf-8", "surrogatepass")
    return sha256(text).hexdigest()[:ID_LENGTH]


def located_id(salt: str, id: str, location: str) -> str:
    """The id by which the value of ID is acknowledged at LOCATION alone: a path, or a commit."""
    text = f"{salt}\0{id}\0{location}".encode("utf-8", "surrogatepass")
    return sha256(text).hexdigest()[:ID_LENGTH]
