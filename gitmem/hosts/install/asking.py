"""What somebody asks to have installed, and what that means for the files as they are now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem import __version__
from gitmem.hosts.host_memory.wanted import CHOICE
from gitmem.hosts.install.linked import LinkedFolder, linking_of, with_memory
from gitmem.hosts.install.places import USER, Places, Program, places
from gitmem.hosts.install.plan import Plan, Wish, choices_of, handlers_for, mcp_for, plan_install
from gitmem.hosts.install.record import install_of
from gitmem.hosts.install.sections import section
from gitmem.hosts.install.settings import plugin_at
from gitmem.hosts.table import CLAUDE, HOSTS
from gitmem.operations.group import Group, Store

if TYPE_CHECKING:
    from gitmem.core.layout import Layout

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

    def planned(
        self, failed: Mapping[str, str] = {}, more: Iterable[LinkedFolder] = ()
    ) -> tuple[Wish, Plan]:
        """What that means here and now; refuses what cannot be.

        FAILED are settings that have to stay as they are, with the reason; MORE are folders that a
        dry run would link.
        """
        where, program, has_plugin = self.where, self.program, self.has_plugin
        known = install_of(self.store.root, where)
        layout = _layout(self.store, self.group)
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
        linking = linking._replace(folders=(*linking.folders, *more))
        wish = wish._replace(linking=linking)
        return wish, plan_install(wish, known, __version__)


def _layout(store: Store, name: str) -> Layout:
    from gitmem.operations.layouts import layout_of, shipped_layout

    if name not in store.names():
        return shipped_layout(LAYOUT)
    group = Group(store, name)
    try:
        return layout_of(group)
    finally:
        group.close()


def plugin_for(where: Places, environ: Mapping[str, str], project: Path) -> str:
    """The plugin that does the same everywhere this installation would."""
    if where.host != CLAUDE:
        return ""
    return plugin_at(where) or plugin_at(places(CLAUDE, USER, environ, project))
