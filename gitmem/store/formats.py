"""Kinds of repositories that git can make and we cannot read: refused, never repaired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gitmem.errors import Damaged

_READ = (
    ("extensions.objectformat", "sha1", "its objects are named by {}, and only sha1 is read"),
    ("extensions.refstorage", "files", "its branches are kept as {}, and only files are read"),
)


class Unread(NamedTuple):
    """Why a repository cannot be read, sound as it may be."""

    form: str
    said: str


def unread(config: Mapping[str, str]) -> Unread | None:
    """What in CONFIG is beyond us; None where nothing is."""
    for key, known, said in _READ:
        form = config.get(key, known).lower()
        if form != known:
            return Unread(form, said.format(form))
    return None


def check_form(config: Mapping[str, str], name: str) -> None:
    """Refuse the repository of the group NAME, if it is of such a kind."""
    found = unread(config)
    if found:
        raise Damaged(
            f"the repository of {name!r} cannot be used: {found.said}; nothing in it was changed",
            hint="run `gitmem doctor`: it says how to convert it",
        )
