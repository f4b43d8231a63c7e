"""What an installation does about the memory that its host writes by itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from gitmem.errors import GitmemError
from gitmem.integrations.hooks.groups import group_at
from gitmem.integrations.host_memory.adopt import OwnAdopted, adopt_own
from gitmem.integrations.host_memory.move import (
    Brought,
    bring_back,
    bring_in,
    not_copied,
    refusal,
    said_of,
)
from gitmem.integrations.host_memory.projects import own_folders, project_of
from gitmem.integrations.host_memory.setting import CHOICE, is_kept
from gitmem.integrations.hosts.table import Host
from gitmem.integrations.install.parts.host_memory import linked_memory
from gitmem.integrations.install.parts.linked import LinkedFolder
from gitmem.memory.group import Store

Given = Mapping[str, Mapping[str, Any]]
"""For each file of a host, what of it is ours."""


class MemoryWork:
    """One round: folders become groups, and what they hold moves into groups or out of them.

    Whatever cannot be done is told, and keeps nothing else from being done.
    """

    def __init__(
        self, store: Store, host: Host, environ: Mapping[str, str], *, dry_run: bool = False
    ) -> None:
        self._store, self._host, self._environ = store, host, environ
        self._dry_run = dry_run
        self.adopted: list[OwnAdopted] = []
        self.remarks: list[str] = []
        self.left: list[str] = []
        """Notes that did not come back to the host, and why."""

    def adopt(self, only: str = "") -> None:
        """Put every folder of the host's own memory under history; ONLY that of one project."""
        root = str(self._store.root)
        belongs = linked_memory(self._store, self._host, self._environ)
        for folder in own_folders(self._host, self._environ):
            known = group_at(str(folder / "x"), root)
            if known and not self._store.is_unfinished(known):
                continue
            project = project_of(folder, only)
            if only and project != os.path.realpath(only):
                continue
            if not only and is_kept(root, self._host, self._environ, folder, project):
                continue
            moved = belongs.get(os.path.realpath(folder))
            if moved is None:
                self._adopt(folder, project, known)
            elif not os.path.isdir(moved.settings.parents[1]) and not moved.problem:
                self._bring_in(moved.given)  # that of a project that is there moves with its link

    def _bring_in(self, given: Mapping[str, str]) -> str:
        bring = partial(bring_in, self._store, self._host, given, dry_run=self._dry_run)
        return self._try(bring, False)

    def _adopt(self, folder: Path, project: str, name: str) -> None:
        try:
            done = adopt_own(
                self._store,
                self._host,
                folder,
                environ=self._environ,
                near=project,
                name=name,
                dry_run=self._dry_run,
            )
            self.adopted.append(done)
        except GitmemError as error:
            self.remarks.append(f"{folder} is not under history: {error.message}; {error.hint}")

    @property
    def linked(self) -> list[LinkedFolder]:
        """The folders that got a link; in a dry run, those that would."""
        return [
            LinkedFolder(
                Path(each.project),
                each.group,
                Path(each.folder),
                self._store.gitdir(each.group),
            )
            for each in self.adopted
            if each.linked
        ]

    def give_back(self, before: Given, group: str) -> list[str]:
        """Copy the notes of hosts out of GROUP before its removal; the folders that keep some."""
        kept = []
        for given in _moved(before).values():
            if given["group"] != group:
                continue
            try:
                done = bring_back(self._store, given)
            except GitmemError as error:
                self.remarks.append(f"{error.message}; {error.hint}")
            except OSError as error:
                why = f"{error.strerror} ({error.filename})"
                self.remarks.append(f"copying notes to {given['own']} failed: {why}")
            else:
                if done:
                    self.remarks += said_of(done, back=True, dry_run=False)
                if not done or not done.left:
                    continue
            if os.path.isdir(given["directory"]):
                kept.append(given["directory"])
        return kept

    def move(self, before: Given, after: Given, settled: str = "") -> dict[str, str]:
        """Copy what settings that change move in and out; those that have to wait, and why.

        SETTLED is a group whose notes need no copy: they went along, or came back already.
        """
        old, new = _moved(before), _moved(after)
        for path, given in old.items():
            if new.get(path) != given and given["group"] != settled:
                self._try(partial(bring_back, self._store, given, dry_run=self._dry_run), True)
        failed = {}
        for path, given in new.items():
            # A setting of ours whose folder is gone has to change, whatever is left out.
            stays = path in old and (
                old[path]["directory"] == given["directory"]
                or not os.path.isdir(old[path]["directory"])
            )
            why = "" if stays else self._refused(given)
            why = why or self._bring_in(given)
            if why and not stays:
                failed[path] = why
        return failed

    def _refused(self, given: Mapping[str, str]) -> str:
        """Why memory stays where its host reads it: the group would not get all of it."""
        try:
            found = bring_in(self._store, self._host, given, dry_run=True)
        except GitmemError:
            return ""  # the copy itself tells
        return refusal(found, self._host) if found and found.left else ""

    def _try(self, deed: Callable[[], Brought | None], back: bool) -> str:
        """Do it, and tell what it did; why it could not be done."""
        failures = self.left if back else self.remarks
        try:
            done = deed()
        except GitmemError as error:
            failures.append(f"{error.message}; {error.hint}")
            return error.message
        if done:
            told = done._replace(left=())
            self.remarks += said_of(told, back=back, dry_run=self._dry_run)
            failures += not_copied(done)
        return ""


def _moved(given: Given) -> dict[str, Mapping[str, str]]:
    """The settings that tell a host where to keep memory, each with what we remember of it."""
    return {path: kinds[CHOICE] for path, kinds in given.items() if CHOICE in kinds}
