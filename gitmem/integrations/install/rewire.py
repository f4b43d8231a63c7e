"""Keep installations in step with links and groups that have just changed, or are about to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import GitmemError
from gitmem.integrations.host_memory.install import MemoryWork
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install.apply import FileDone, carry_out, told
from gitmem.integrations.install.locations import places
from gitmem.integrations.install.parts.linked import linking_of, own_group, unmoved, with_memory
from gitmem.integrations.install.plan import plan_links
from gitmem.integrations.install.questions import plugin_for
from gitmem.integrations.install.record import Install, alone, installs
from gitmem.memory.group import Store


class Rewired(NamedTuple):
    """What became of the installations after a link was changed."""

    files: tuple[FileDone, ...] = ()
    remarks: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """What could not be brought up to date, and why."""


class GivenBack(NamedTuple):
    """What a group that is about to go gave back to hosts."""

    remarks: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """The folders of the group with notes that could not be copied."""


def give_back(store: Store, environ: Mapping[str, str], group: str) -> GivenBack:
    """Copy the notes that hosts wrote into GROUP to the hosts' own folders, before it is removed.

    A failure is told and does not stop the removal: the trash keeps every note.
    """
    remarks: list[str] = []
    kept: list[str] = []
    try:
        if installs(store.root):
            with alone(store.root):
                for known in installs(store.root):
                    where = places(known.host, known.scope, environ, Path(known.root))
                    if known.is_of(where):
                        memory = MemoryWork(store, HOSTS[known.host], environ)
                        kept += memory.give_back(known.given, group)
                        remarks += memory.remarks
    except GitmemError as error:  # `rewire` tells the same of a record that nobody can read
        remarks.append(f"no notes of hosts were copied out of group {group}: {error.message}")
    return GivenBack(tuple(remarks), tuple(kept))


def rewire(store: Store, environ: Mapping[str, str], settled: str = "") -> Rewired:
    """Bring every installation up to date with the links: for who has just changed one.

    What cannot be changed keeps nothing else from it, and is told: the link stands all the same.
    SETTLED is a group that was renamed, or removed after `give_back`.
    """
    done = Rewired()
    try:
        if not installs(store.root):
            return done
        with alone(store.root):
            for known in installs(store.root):
                try:
                    done = _rewired(store, known, environ, done, settled)
                except GitmemError as error:
                    done = done._replace(left=(*done.left, f"{error.message}; {error.hint}"))
    except GitmemError as error:  # a record that nobody can read
        done = done._replace(left=(*done.left, f"{error.message}; {error.hint}"))
    return done


def _rewired(
    store: Store, known: Install, environ: Mapping[str, str], done: Rewired, settled: str
) -> Rewired:
    where = places(known.host, known.scope, environ, Path(known.root))
    if not known.is_of(where):  # made for another home than that of this call
        return done
    has_plugin = bool(plugin_for(where, environ, where.root))
    linking = linking_of(store, where, own_group(store, where, known), known, is_plugin=has_plugin)
    linking = with_memory(linking, known.choices, environ)
    plan = plan_links(linking, known)
    memory = MemoryWork(store, HOSTS[known.host], environ)
    failed = memory.move(known.given, plan.record.given, settled)
    linking = linking.without(failed)
    plan = plan_links(linking, known) if failed else plan
    files = tuple(told(plan, store.root, where.skills))
    if files or plan.record != known:  # another installation may have made the change already
        carry_out(plan, store.root, where)
    remarks = (*done.remarks, *plan.remarks, *memory.remarks, *unmoved(linking))
    return done._replace(files=(*done.files, *files), remarks=remarks)
