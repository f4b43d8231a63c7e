"""What another memory system has left in the files of a host, and what it hides of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gitmem.errors import BadInput, GitmemError
from gitmem.integrations.doctor.findings import Finding, Wiring
from gitmem.integrations.install.advice import shadow_in_other_scope, shadowed
from gitmem.integrations.install.former import former, leftovers, way_out
from gitmem.integrations.install.locations import SCOPES, Places, places
from gitmem.integrations.install.record import Install, install_of
from gitmem.integrations.install.skills.files import SKILL, aliased_layout, shipped_folder
from gitmem.integrations.install.skills.update import as_shipped


def former_findings(
    store: Path, host: str, rows: Sequence[Wiring], environ: Mapping[str, str], project: Path
) -> Iterator[Finding]:
    """What shows memory twice, gives a model other instructions, or loads in the place of ours."""
    wired = [each.scope for each in rows]
    found = list(_installs(store, host, environ, project))
    layout = next(filter(None, (_layout(known) for _, known in found)), "")
    for there, known in found:
        for each in leftovers(there):
            hint = each.by_hand or way_out(there, wired)
            if each.is_hook:
                yield Finding("memory-twice", each.said, hint)
            elif each.is_known:
                yield Finding("section-old", each.said, hint)
        # A plugin brings its skills under names of its own.
        is_needed = any(each.events and not each.plugin for each in rows)
        hidden = shadowed(there, known, layout) if is_needed else ()
        for name in hidden:
            yield _shadow_finding(there, there.skills / name, known, wired)
        yield from _skill_findings(there, known, hidden)


def former_notes(
    store: Path, wired: Sequence[Wiring], environ: Mapping[str, str], project: Path
) -> Iterator[str]:
    """Sections on memory of which only a person can say whose they are."""
    for host in dict.fromkeys(each.host for each in wired if each.events or each.plugin):
        for there, _ in _installs(store, host, environ, project):
            yield from (each.said for each in leftovers(there) if not each.is_known)


def _installs(
    store: Path, host: str, environ: Mapping[str, str], project: Path
) -> Iterator[tuple[Places, Install]]:
    for scope in SCOPES:
        try:
            there = places(host, scope, environ, project)
            yield there, install_of(store, there)
        except BadInput:  # the home folder is no project
            continue
        except GitmemError:  # a record that cannot be read is told already
            return


def _layout(known: Install) -> str:
    return aliased_layout(shipped_folder(), known.skills)


def _given(there: Places, known: Install) -> Mapping[str, str]:
    return known.skills or as_shipped(shipped_folder(), there.host, there.skills)


def _shadow_finding(there: Places, path: Path, known: Install, wired: Sequence[str]) -> Finding:
    said = f"{path} is not gitmem's"
    if known.skills or there.scope in wired:
        way = f"`gitmem install {there.host} --scope {there.scope} --replace` takes its place"
        return Finding(
            "skill-shadowed", f"{said}: it loads, and the skill of that name does not", way
        )
    return Finding("skill-shadowed", *shadow_in_other_scope(there, path.name))


def _skill_findings(there: Places, known: Install, told: Sequence[str]) -> Iterator[Finding]:
    """Skills of a former system under a name that ours do not use here."""
    ours = {each.partition("/")[0] for each in _given(there, known)}
    for name in former().skills:
        path = there.skills / name
        if name not in (*ours, *told) and (path / SKILL).is_file():
            said = f"{path} is a skill of another memory system: it keeps memory past gitmem"
            yield Finding("skill-old", said, f"move it out of {there.skills}")
