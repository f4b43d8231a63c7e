"""A branch that was moved back: what it held is still there, but only a reflog keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from gitmem.git.checks.findings import Finding, warning
from gitmem.git.checks.reffiles import ZERO, read_log
from gitmem.git.objects import ObjectDamaged, Objects
from gitmem.git.repository import BRANCH, parse_commit

REWOUND = "branch-rewound"
KEPT = "refs/gitmem/kept/"
RECENT = 100
"""How many moves of the branch are looked at."""


def rewound_findings(
    gitdir: Path, refs: Mapping[str, str], objects: Objects, verified: str
) -> list[Finding]:
    """The newest commit that the branch once had and that no ref leads to any more."""
    lines, _, _ = read_log(gitdir, BRANCH)
    while lines and lines[-1].new != refs.get(BRANCH):
        lines.pop()  # of a writer that went on after the refs were read
    sound = refs.get(verified, "")
    known = [line.old for line in reversed(lines[-RECENT:])]
    wanted = [oid for oid in (*known, sound) if oid and oid != ZERO]
    starts = [oid for name, oid in refs.items() if name != verified]
    lost = _unreached(objects, starts, wanted)
    newest = next((oid for oid in wanted if oid in lost), "")
    if not newest:
        return []
    text = f"the branch was moved back: {newest[:10]} is no longer part of it"
    hint = f"bring its files back as a new commit: `gitmem restore . --at {newest[:10]}`"
    return [warning(REWOUND, text, object=newest, hint=hint)]


def _unreached(objects: Objects, starts: Iterable[str], wanted: Iterable[str]) -> set[str]:
    """Those of WANTED that can be read and do not lie behind any of STARTS."""
    missing = {oid for oid in wanted if _parents(objects, oid) is not None}
    seen: set[str] = set()
    waiting = list(starts)
    while waiting and missing:
        oid = waiting.pop()
        if oid not in seen:
            seen.add(oid)
            missing.discard(oid)
            waiting += _parents(objects, oid) or ()
    return missing


def _parents(objects: Objects, oid: str) -> tuple[str, ...] | None:
    try:
        kind, data = objects.read(oid)
    except ObjectDamaged:
        return None
    if kind == "tag":
        return (data[7:47].decode("ascii", "replace"),)
    return parse_commit(oid, data).parents if kind == "commit" else None
