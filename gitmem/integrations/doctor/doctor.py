"""What is wired, what is not, and what would make a hook fail: looked at, never changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from gitmem.errors import GitmemError
from gitmem.integrations.doctor.calls import call_findings
from gitmem.integrations.doctor.findings import Finding, Running, Wiring
from gitmem.integrations.doctor.former import former_notes
from gitmem.integrations.doctor.hosts import host_findings, wirings
from gitmem.integrations.doctor.machine import machine_findings, store_findings
from gitmem.integrations.doctor.permissions import permission_findings
from gitmem.integrations.doctor.programs import (
    other_store_findings,
    program_findings,
    program_notes,
)
from gitmem.integrations.hosts.login import login_environ
from gitmem.integrations.hosts.table import HOSTS
from gitmem.memory.group import Group, Store

__all__ = ["Doctored", "Finding", "Running", "Wiring", "doctor"]


class Doctored(NamedTuple):
    """The state of everything between a host and its memory."""

    wired: tuple[Wiring, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    """What only a person can judge; it is no fault."""

    @property
    def is_well(self) -> bool:
        """Whether nothing is left to do."""
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
    """Look at the machine, the store, and each host in each scope; MANAGED are its rules."""
    wired = tuple(wirings(store.root, environ, project))
    bare = login_environ(environ)
    found = [
        *machine_findings(environ, running.python),
        *store_findings(store, group),
        *program_findings(wired, environ, bare, running),
        *call_findings(store.root, wired, environ, bare, project),
        *other_store_findings(store.root, wired),
        *host_findings(store.root, wired, environ, project, managed),
        *permission_findings(store, wired, environ, project, managed),
        *_room_findings(store, group, wired, environ, project),
        *_memory_findings(store, wired, environ, project),
        *_nothing(wired),
    ]
    notes = (
        *former_notes(store.root, wired, environ, project),
        *program_notes(wired, environ, bare, running),
    )
    return Doctored(wired, tuple(found), tuple(dict.fromkeys(notes)))


def _room_findings(
    store: Store, group: str, wired: Sequence[Wiring], environ: Mapping[str, str], project: Path
) -> Iterator[Finding]:
    """Core files of GROUP that a session start of a wired host would cut or leave out."""
    from gitmem.integrations.hooks.context import core_cut, loaded_by_host
    from gitmem.integrations.hooks.protocol import room_of

    hosts = dict.fromkeys(each.host for each in wired if each.events or each.plugin)
    if not hosts or group not in store.names():
        return
    for host in hosts:
        try:
            with closing(Group(store, group)) as opened:
                shown = loaded_by_host(opened, HOSTS[host], environ, str(project))
                cut = core_cut(opened, room_of(host), HOSTS[host].format, shown)
        except (GitmemError, OSError):  # told already
            return
        if cut:
            yield Finding(
                "core-cut",
                f"a session start in {host} has no room for all of group {group}: {', '.join(cut)}",
                f"`gitmem -g {quote(group)} status` shows the sizes: shorten or archive",
            )


def _memory_findings(
    store: Store, wired: Sequence[Wiring], environ: Mapping[str, str], project: Path
) -> Iterator[Finding]:
    from gitmem.integrations.doctor.host_memory import host_memory_findings

    try:
        yield from host_memory_findings(store, wired, environ, project)
    except GitmemError:  # a record or a config.yaml that cannot be read is told already
        return


def _nothing(wired: Sequence[Wiring]) -> Iterator[Finding]:
    if not any(each.events or each.plugin for each in wired):
        first, *others = HOSTS
        hint = f"`gitmem install {first}`, or one of {', '.join(others)} in its place"
        yield Finding("not-wired", "no host calls gitmem", hint)
