"""What somebody asks to have installed, and what that means for the files as they are now."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem import __version__
from gitmem.integrations.host_memory.setting import CHOICE
from gitmem.integrations.hosts.table import CLAUDE, HOSTS
from gitmem.integrations.install.locations import PROJECT, USER, Places, Program, places
from gitmem.integrations.install.parts.linked import LinkedFolder, Linking, linking_of, with_memory
from gitmem.integrations.install.parts.sections import section
from gitmem.integrations.install.parts.settings import plugin_at
from gitmem.integrations.install.plan import (
    Plan,
    Wish,
    choices_of,
    handlers_for,
    mcp_for,
    plan_install,
)
from gitmem.integrations.install.record import install_of
from gitmem.memory.group import Group, Store

if TYPE_CHECKING:
    from gitmem.model.layout.layout import Layout

LAYOUT = "standard"
"""What a group gets that is made on the way."""


class Asked(NamedTuple):
    """What somebody wants, before it is known what stands there."""

    store: Store
    group: str
    where: Places
    program: Program
    on_prompt: bool | None
    mcp: bool | None
    permissions: bool | None
    has_plugin: bool
    replace: bool
    other: Places | None
    launcher: Path | None
    host_memory: bool | None
    environ: Mapping[str, str]
    would_link: tuple[LinkedFolder, ...] = ()
    """The folders that this very call links to a group, if it is a dry run."""

    def linked(self, folders: Sequence[LinkedFolder], *, dry_run: bool) -> Asked:
        """The same after FOLDERS were linked: a project that is one of them uses its group."""
        asked = self._replace(would_link=tuple(folders) if dry_run else ())
        own = next((each.group for each in folders if self._is_own(each)), self.group)
        return asked._replace(group=own)

    def _is_own(self, linked: LinkedFolder) -> bool:
        is_same = os.path.realpath(linked.folder) == os.path.realpath(self.where.root)
        return self.where.scope == PROJECT and is_same

    def planned(self, failed: Mapping[str, str] = {}) -> tuple[Wish, Plan]:
        """What that means here and now; refuses what cannot be.

        FAILED are settings that have to stay as they are, with the reason.
        """
        where, program, has_plugin = self.where, self.program, self.has_plugin
        known = install_of(self.store.root, where)
        layout = self._layout()
        asked = {"permissions": self.permissions, "mcp": self.mcp, CHOICE: self.host_memory}
        choices = choices_of(known, **asked)
        if HOSTS[where.host].own_memory:
            choices.setdefault(CHOICE, True)
        mcp = mcp_for(where, program, known, self.mcp, has_plugin)
        chosen = known._replace(choices=choices, mcp=mcp)
        wish = Wish(
            where,
            program,
            self.store.root,
            section(layout, self.group, is_for_all=where.scope == USER),
            handlers_for(where, program, self.on_prompt, has_plugin),
            mcp,
            has_plugin,
            linking_of(self.store, where, self.group, chosen, is_plugin=has_plugin),
            choices,
            self.launcher,
            layout.name,
            self.replace,
            self.other,
        )
        linking = with_memory(wish.linking, choices, self.environ).without(failed)
        wish = wish._replace(linking=self._with_links(linking))
        return wish, plan_install(wish, known, __version__)

    def _with_links(self, linking: Linking) -> Linking:
        """LINKING with the folders that a dry run has not linked."""
        if self.where.scope == USER:
            return linking._replace(folders=(*linking.folders, *self.would_link))
        own = next(filter(self._is_own, self.would_link), linking.own)
        return linking._replace(own=own._replace(folder=self.where.root))

    def _layout(self) -> Layout:
        """The layout of the group, or the one that it will get."""
        from gitmem.memory.layouts import layout_of, shipped_layout

        if self.group in self.store.names():
            with closing(Group(self.store, self.group)) as group:
                return layout_of(group)
        memory = HOSTS[self.where.host].own_memory
        is_adopted = memory and any(each.group == self.group for each in self.would_link)
        return shipped_layout(memory.layout if memory and is_adopted else LAYOUT)


def plugin_for(where: Places, environ: Mapping[str, str], project: Path) -> str:
    """The plugin that does the same everywhere this installation would."""
    if where.host != CLAUDE:
        return ""
    return plugin_at(where) or plugin_at(places(CLAUDE, USER, environ, project))
