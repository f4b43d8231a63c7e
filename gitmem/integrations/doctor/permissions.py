"""The permission rules without which a host's model cannot use memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gitmem.errors import BadInput, GitmemError
from gitmem.integrations.doctor.findings import Finding, Wiring
from gitmem.integrations.install.locations import Places, places
from gitmem.integrations.install.parts.linked import Linking, linking_of, own_group, wanted_rules
from gitmem.integrations.install.parts.permissions import ALLOW, PERMISSIONS, covers
from gitmem.integrations.install.parts.settings import settings_in
from gitmem.integrations.install.record import install_of
from gitmem.memory.group import Store
from gitmem.model.text.format import counted

_FEW = 4
_AGAINST = {"deny": "denies", "ask": "asks about"}


def permission_findings(
    store: Store,
    wired: Sequence[Wiring],
    environ: Mapping[str, str],
    project: Path,
    managed: Path | None,
) -> Iterator[Finding]:
    """The rules that installations lack, and rules of the user that are against ours."""
    for row in wired:
        where = places(row.host, row.scope, environ, project)
        if not where.rules or not (row.events or row.plugin):
            continue
        try:
            known = install_of(store.root, where)
            group = own_group(store, where, known)
            linking = linking_of(store, where, group, known, is_plugin=bool(row.plugin))
        except (BadInput, GitmemError):  # told already
            continue
        # Where a link makes both scopes one file, the other scope's installation is seen here.
        twins = [x for x in wired if x.host == row.host and x.settings != row.settings]
        is_twin = any(os.path.realpath(x.settings) == os.path.realpath(row.settings) for x in twins)
        if linking.permissions and (known.gitmem or not is_twin):
            yield from _missing(linking)
            yield from _against(linking, environ, project, managed)


def _missing(linking: Linking) -> Iterator[Finding]:
    where = linking.places
    for path, rules in wanted_rules(linking):
        allowed = _rules_in(settings_in(path), ALLOW)
        lacks = [each for each in rules if not any(covers(x, each) for x in allowed)]
        if lacks:
            again = f"`gitmem install {where.host} --scope {where.scope}` puts them in"
            yield Finding("permissions-missing", f"{path} does not allow {_named(lacks)}", again)


def _against(
    linking: Linking, environ: Mapping[str, str], project: Path, managed: Path | None
) -> Iterator[Finding]:
    """A rule that denies or asks comes before all that allow."""
    rules = [each for _, found in wanted_rules(linking) for each in found]
    for path in _files(linking.places, environ, project, managed):
        said = settings_in(path)
        for kind, verb in _AGAINST.items():
            for rule in _rules_in(said, kind):
                hit = [each for each in rules if covers(rule, each)]
                if hit:
                    text = f"{path} {verb} {rule}, which comes before {_named(hit)}"
                    yield Finding(
                        "permissions-missing",
                        text,
                        f"take it out of {kind} in {path}, or narrow it",
                    )


def _files(
    where: Places, environ: Mapping[str, str], project: Path, managed: Path | None
) -> list[Path]:
    """Every file with rules that counts in PROJECT."""
    found = dict.fromkeys(where.settings)
    for scope in ("user", "project"):
        try:
            found |= dict.fromkeys(places(where.host, scope, environ, project).settings)
        except BadInput:  # the home folder is no project
            continue
    return [*found, *([managed] if managed else [])]


def _rules_in(settings: dict[str, Any], kind: str) -> list[str]:
    rules = settings.get(PERMISSIONS)
    found = rules.get(kind) if isinstance(rules, dict) else None
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _named(rules: Sequence[str]) -> str:
    first = ", ".join(rules[:_FEW])
    return first if len(rules) <= _FEW else f"{first} and {counted(len(rules) - _FEW, 'more rule')}"
