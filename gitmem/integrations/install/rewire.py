"""Keep installations in step with links and groups that have just changed, or are about to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import GitmemError
from gitmem.integrations.host_memory.move import MemoryMover
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install.apply import FileDone, carry_out, files_done
from gitmem.integrations.install.files import explained
from gitmem.integrations.install.host_files import HostFiles, host_files, plugin_for
from gitmem.integrations.install.links import followed, linking_of
from gitmem.integrations.install.plan import plan_links
from gitmem.integrations.install.record import Install, alone, installs
from gitmem.memory.group import Store


class Rewired(NamedTuple):
    """What happened to the installations after a link changed."""

    files: tuple[FileDone, ...] = ()
    remarks: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """What was not updated, and why."""


class GivenBack(NamedTuple):
    """What a group that is about to be removed gave back to hosts."""

    remarks: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """The folders of the group with notes that were not copied."""


def give_back(store: Store, environ: Mapping[str, str], group: str) -> GivenBack:
    """Copy the notes that hosts wrote into GROUP to the hosts' own folders, before it is removed.

    A failure is reported and does not stop the removal: the trash keeps every note.
    """
    remarks: list[str] = []
    kept: list[str] = []
    try:
        if installs(store.root):
            with alone(store.root):
                for known, _ in _here(store, environ):
                    mover = MemoryMover(store, HOSTS[known.host], environ)
                    kept += mover.give_back(known.given, group)
                    remarks += mover.remarks
    except GitmemError as error:  # `rewire` reports an unreadable record, too
        remarks.append(f"no notes of hosts were copied out of group {group}: {error.message}")
    return GivenBack(tuple(remarks), tuple(kept))


def rewire(store: Store, environ: Mapping[str, str], gone: str = "") -> Rewired:
    """Update every installation after a link changed.

    One that fails is reported and stops no other: the link itself stays. GONE is a group that
    was renamed, or removed after `give_back`.
    """
    done = Rewired()
    try:
        if not installs(store.root):
            return done
        with alone(store.root):
            for known, where in _here(store, environ):
                try:
                    more = _rewired(store, known, where, environ, gone)
                    files, remarks = (*done.files, *more.files), (*done.remarks, *more.remarks)
                    done = done._replace(files=files, remarks=remarks)
                except GitmemError as error:
                    done = done._replace(left=(*done.left, explained(error)))
    except GitmemError as error:  # an unreadable record
        done = done._replace(left=(*done.left, explained(error)))
    return done


def _here(store: Store, environ: Mapping[str, str]) -> Iterator[tuple[Install, HostFiles]]:
    """The installations for the home folder of this call."""
    for known in installs(store.root):
        where = host_files(known.host, known.scope, environ, Path(known.root))
        if known.is_of(where):
            yield known, where


def _rewired(
    store: Store, stored: Install, where: HostFiles, environ: Mapping[str, str], gone: str
) -> Rewired:
    if not stored.gitmem:  # uninstalled
        return Rewired()
    known = followed(store, stored, environ)
    is_plugin = bool(plugin_for(where, environ, where.root))
    linking = linking_of(store, where, known, is_plugin=is_plugin, environ=environ)
    plan = plan_links(linking, known)
    mover = MemoryMover(store, HOSTS[known.host], environ)
    failed = mover.move(known.given, plan.record.given, gone)
    plan = plan_links(linking.without(failed), known) if failed else plan
    files = tuple(files_done(plan))
    if files or plan.record != stored:  # another installation may have made the edits already
        carry_out(plan)
    reports = (*plan.remarks, *mover.remarks, *mover.left, *plan.linking.not_redirected())
    return Rewired(files, reports)
