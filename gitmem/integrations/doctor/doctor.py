"""Check everything between hosts and their memory; change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import GitmemError
from gitmem.integrations.doctor.access import permission_faults
from gitmem.integrations.doctor.hosts import host_faults, old_system_notes
from gitmem.integrations.doctor.machine import machine_faults, store_faults
from gitmem.integrations.doctor.programs import (
    call_faults,
    other_store_faults,
    program_faults,
    program_notes,
)
from gitmem.integrations.doctor.wiring import Checkup, Fault, Running, Wiring, wirings
from gitmem.integrations.hosts.program import login_environ
from gitmem.integrations.hosts.table import HOSTS
from gitmem.memory.group import Group, Store
from gitmem.model.hints import Hint, call

__all__ = ["Doctored", "Fault", "Running", "Wiring", "doctor"]


class Doctored(NamedTuple):
    """What each host has of gitmem, and the faults."""

    wired: tuple[Wiring, ...]
    findings: tuple[Fault, ...]
    notes: tuple[str, ...] = ()
    """What only a person can judge; not a fault."""

    @property
    def is_well(self) -> bool:
        """Whether there are no faults."""
        return not self.findings


def doctor(
    store: Store,
    group: str,
    *,
    environ: Mapping[str, str],
    project: Path,
    running: Running,
    managed: Path | None = None,
) -> Doctored:
    """Check the machine, the store, and each host; MANAGED are an administrator's settings."""
    wired = tuple(wirings(store.root, environ, project))
    bare = login_environ(environ)
    checkup = Checkup(store, group, environ, project, running, wired, bare, managed)
    found = [*machine_faults(checkup), *store_faults(store, group)]
    found += [fault for check in _CHECKS for fault in check(checkup)]
    notes = (*old_system_notes(checkup), *program_notes(checkup))
    return Doctored(wired, tuple(found), tuple(dict.fromkeys(notes)))


def _room_faults(checkup: Checkup) -> Iterator[Fault]:
    """Core files of the group that a session start of a wired host would cut or leave out."""
    from gitmem.integrations.hooks.context import core_cut, loaded_by_host
    from gitmem.integrations.hooks.protocol import room_of

    store, group = checkup.store, checkup.group
    for host in checkup.hosts if group in store.names() else ():
        try:
            with closing(Group(store, group)) as opened:
                project = str(checkup.project)
                shown = loaded_by_host(opened, HOSTS[host], checkup.environ, project)
                cut = core_cut(opened, room_of(host), HOSTS[host].format, shown)
        except (GitmemError, OSError):  # a fault of its own
            return
        if cut:
            yield Fault(
                "core-cut",
                f"a session start in {host} has no room for all of group {group}: {', '.join(cut)}",
                Hint(call("status", group=group), " shows the sizes: shorten or archive"),
            )


def _memory_faults(checkup: Checkup) -> Iterator[Fault]:
    from gitmem.integrations.doctor.host_memory import host_memory_faults

    try:
        yield from host_memory_faults(checkup)
    except GitmemError:  # an unreadable record or config.yaml is a fault of its own
        return


def _not_wired(checkup: Checkup) -> Iterator[Fault]:
    if not checkup.hosts:
        first, *others = HOSTS
        hint = Hint(call("install", first), f", or one of {', '.join(others)}")
        yield Fault("not-wired", "no host calls gitmem", hint)


_CHECKS: tuple[Callable[[Checkup], Iterator[Fault]], ...] = (
    program_faults,
    call_faults,
    other_store_faults,
    host_faults,
    permission_faults,
    _room_faults,
    _memory_faults,
    _not_wired,
)
