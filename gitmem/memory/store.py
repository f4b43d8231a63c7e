"""A store: the folder that holds the groups, and its settings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from gitmem.errors import BadInput, GroupNotFound
from gitmem.model.access import MAIN
from gitmem.model.hints import Hint, call
from gitmem.store.config import Unread, read_config, unread
from gitmem.store.setup import begins

LINKS = "links"
"""The setting of a store that says which group a project folder uses."""


class Store:
    """A folder with `groups/` and `repos/`."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.abspath(root))

    def gitdir(self, group: str) -> Path:
        """Where the repository of GROUP lies."""
        return self.root / "repos" / f"{group}.git"

    def default_worktree(self, group: str) -> Path:
        """Where the work tree of GROUP lies unless it was put elsewhere."""
        return self.root / "groups" / group

    def names(self) -> list[str]:
        """The groups of this store, in order."""
        try:
            found = os.listdir(self.root / "repos")
        except FileNotFoundError:
            return []
        return sorted(each[:-4] for each in found if each.endswith(".git") and each[0] != ".")

    def unread(self, name: str) -> Unread | None:
        """Why the repository of a group is beyond us, sound as it may be."""
        return unread(read_config(self.gitdir(name)))

    def is_unfinished(self, name: str) -> bool:
        """Whether a group lacks what it begins with: whoever made it died, or is at it."""
        return begins(self.gitdir(name))

    @property
    def config(self) -> Path:
        """The file with the settings of the store."""
        return self.root / "config.yaml"

    @cached_property
    def settings(self) -> dict[str, object]:
        """What `config.yaml` in the store says; empty when there is none."""
        path = self.config
        if not path.exists():
            return {}
        import yaml  # only where there is a file to read

        try:
            found = yaml.safe_load(path.read_text("utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise BadInput(f"reading {path} failed: {error}", hint="fix or remove it") from error
        return found if isinstance(found, dict) else {}

    @property
    def requires_group(self) -> bool:
        """True when nothing may act without a group being named."""
        return self.settings.get("require_group") is True

    @property
    def links(self) -> dict[str, str]:
        """Which group each project folder uses, by its real path."""
        return {path: name for path, name in self._link_rows() if name is not None}

    @property
    def declined(self) -> frozenset[str]:
        """The project folders that use no group of their own, by their real paths."""
        return frozenset(path for path, name in self._link_rows() if name is None)

    def _link_rows(self) -> Iterator[tuple[str, str | None]]:
        found = self.settings.get(LINKS)
        rows = found.items() if isinstance(found, dict) else ()
        return ((path, name) for path, name in rows if isinstance(path, str) and path[:1] == "/")

    def linked(self, folder: str) -> str:
        """The group that FOLDER uses, or the nearest one above it that uses any; else nothing."""
        links = self.links
        path = os.path.realpath(folder) if links else "/"
        while path not in links and path != "/":
            path = os.path.dirname(path)
        return str(links.get(path, ""))


def not_found(store: Store, name: str, acting: str | None = None) -> GroupNotFound:
    """The error for a name that no group has; it lists the others for a caller who may see them."""
    names = store.names() if acting in (None, MAIN) else []
    known = f"; there are: {', '.join(names[:10])}" if names else ""
    return GroupNotFound(
        f"the store {store.root} has no group {name!r}{known}",
        hint=Hint("make it with ", call("init", group="" if name == MAIN else name)),
        group=name,
    )
