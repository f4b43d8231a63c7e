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


def secret_id(salt: str, rule: str, value: str) -> str:
    """The id of a value. Without the salt of its repository nobody can try values against it."""
    text = f"{salt}\0{rule}\0{value}".encode("utf-8", "surrogatepass")
    return sha256(text).hexdigest()[:ID_LENGTH]
