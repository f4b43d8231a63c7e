"""Check whether a group is sound. Every file is read directly, because libgit2 trusts its input."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from shlex import quote
from time import sleep
from typing import NamedTuple

from gitmem.model.scope import Scope
from gitmem.model.text.format import counted
from gitmem.model.transcripts.batches import REF
from gitmem.store.config import worktree_of
from gitmem.store.fsck.acknowledged import read_acknowledged
from gitmem.store.fsck.findings import REPAIR, CheckFinding, error, info, warning
from gitmem.store.fsck.git_directory import (
    config_findings,
    folder_findings,
    head_findings,
    mode_findings,
)
from gitmem.store.fsck.index_and_worktree import (
    date_findings,
    file_findings,
    index_findings,
    worktree_findings,
)
from gitmem.store.fsck.leftovers import (
    is_held,
    leftover_findings,
    lock_findings,
    record_findings,
)
from gitmem.store.fsck.packs import PackFault, pack_faults
from gitmem.store.fsck.reachable import Lack, Walk, check_loose, loose_names
from gitmem.store.fsck.reflogs import (
    broken_log_findings,
    rewound_findings,
    unreadable_findings,
    way_back,
)
from gitmem.store.fsck.refs import ref_findings
from gitmem.store.lost_commits.kept import KEPT
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.objects.trees import Node
from gitmem.store.refs.files import REPLACED, VERIFIED, all_refs
from gitmem.store.repository import BRANCH

PAUSE = 0.05
"""Seconds in which `git gc` moves an object to its new place."""
LOOKS = 3
"""How often everything is read again while a `git gc` moves objects."""
Progress = Callable[[int, int], None]


class Inspection(NamedTuple):
    """The findings of a check, and its extent."""

    findings: tuple[CheckFinding, ...]
    objects: int
    commits: int
    tip: str
    """The commit that the branch names; empty when the branch cannot be read."""
    walked_all: bool
    """True when no earlier verdict was trusted."""


class Survey(NamedTuple):
    """The state of all refs and objects."""

    refs: dict[str, str]
    damaged: dict[str, str]
    """Damaged loose objects, and why."""
    packs: list[PackFault]
    walk: Walk
    objects: int
    walked_all: bool


def inspect(
    gitdir: Path,
    *,
    now: datetime,
    full: bool = False,
    progress: Progress | None = None,
    scope: Scope | None = None,
) -> Inspection:
    """Check the git directory and, within SCOPE, the work tree; changes nothing."""
    objects = Objects(gitdir, stand_ins=False)
    try:
        survey = survey_of(gitdir, objects, full=full, progress=progress)
        walk = survey.walk
        findings = [*_around(gitdir, scope), *ref_findings(gitdir, walk.knows)]
        findings += _stored(gitdir, survey)
        findings += file_findings(walk.entries)
        findings += date_findings(objects, walk.newest, now)
        # Commits behind a lost commit would seem to have left the branch.
        if survey.refs.get(BRANCH) and not any(lack.kind == "commit" for lack in walk.lacks):
            findings += rewound_findings(gitdir, survey.refs, objects)
            findings += broken_log_findings(gitdir, objects, walk.knows)
        findings += unreadable_findings(gitdir, objects)
        # A writer may have moved the branch since it was read.
        is_read = not any(lack.at_head for lack in walk.lacks)
        whole = is_read and all_refs(gitdir).get(BRANCH) == survey.refs.get(BRANCH, "")
        findings += index_findings(gitdir, walk.entries, whole=whole)
    finally:
        objects.close()
    tip = survey.refs.get(BRANCH, "")
    order = {"error": 0, "warning": 1, "info": 2}
    findings.sort(key=lambda each: order[each.severity])
    return Inspection(tuple(findings), survey.objects, walk.commits, tip, survey.walked_all)


def survey_of(
    gitdir: Path, objects: Objects, *, full: bool = True, progress: Progress | None = None
) -> Survey:
    """Read and hash all objects.

    Refs are read first: objects that a writer adds meanwhile do no harm. History that was verified
    before is not read again, unless FULL or unless any object is damaged.
    """
    refs = all_refs(gitdir)
    names = list(loose_names(gitdir))
    count = _Count(progress, len(names))
    sound, damaged = [], {}
    for oid in names:
        try:
            if check_loose(objects, oid):
                sound.append(oid)
        except ObjectDamaged as damage:
            damaged[oid] = damage.why
        count.step()
    faults = pack_faults(gitdir)
    walk = Walk(objects, sound, count.step)
    verified = refs.get(VERIFIED, "")
    trusting = bool(verified) and not full and not damaged and not faults
    if trusting:
        walk.trust(verified)
    walk.run(refs)
    if trusting and walk.lacks:  # the verified history is damaged after all
        trusting, walk = False, Walk(objects, sound)
        walk.run(refs)
    for _ in range(LOOKS):
        if not _came_back(gitdir, walk.lacks):
            break
        walk = Walk(objects, sound)
        walk.run(refs)
    total = len(names) + sum(pack.count for pack in objects.packs)
    return Survey(refs, damaged, faults, walk, total, not trusting)


def _came_back(gitdir: Path, lacks: list[Lack]) -> bool:
    """True when a lost object can be read now: a `git gc` was moving it."""
    if not lacks:
        return False
    sleep(PAUSE)
    objects = Objects(gitdir, stand_ins=False)
    try:
        return any(objects.holds(lack.oid) for lack in lacks)
    finally:
        objects.close()


class _Count:
    """Reports progress; commits come on top of the loose objects counted at the start."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._done, self._total = progress, 0, total

    def step(self) -> None:
        self._done += 1
        if self._progress and self._done % 64 == 0:
            self._progress(self._done, max(self._total, self._done))


def _around(gitdir: Path, scope: Scope | None) -> Iterator[CheckFinding]:
    """Findings around the objects and refs."""
    yield from folder_findings(gitdir)
    yield from config_findings(gitdir)
    yield from head_findings(gitdir)
    yield from mode_findings(gitdir)
    yield from worktree_findings(gitdir)
    if (gitdir / "objects" / "info" / "alternates").exists():
        yield warning(
            "alternates",
            "objects are borrowed from another repository (objects/info/alternates)",
            path="objects/info/alternates",
            hint="copy them, then remove the file: "
            f"`git --git-dir={quote(str(gitdir))} repack -adq && "
            f"rm {quote(str(gitdir))}/objects/info/alternates`",
        )
    if is_held(gitdir):
        return  # temporary files and records belong to the running writer
    yield from lock_findings(gitdir)
    unfinished = list(record_findings(gitdir))
    yield from unfinished
    if not unfinished:
        yield from leftover_findings(gitdir, worktree_of(gitdir) or gitdir / "gitmem", scope)


def _stored(gitdir: Path, survey: Survey) -> Iterator[CheckFinding]:
    """Lost and damaged objects and packs."""
    lacking = {lack.oid for lack in survey.walk.lacks}
    for lack in survey.walk.lacks:
        yield from _lack_findings(gitdir, lack, survey.walk.entries)
    idle = [oid for oid in survey.damaged if oid not in lacking]
    if idle:
        text = f"{counted(len(idle), 'damaged object file')} that no history needs"
        yield warning("object-damaged-unused", text, object=idle[0])
    for fault in survey.packs:
        name = os.path.relpath(fault.path, gitdir)
        say = warning if fault.code in ("pack-cache-damaged", "pack-missing") else error
        yield say(fault.code, f"{name} is {fault.why}", path=name)


def _lack_findings(
    gitdir: Path, lack: Lack, entries: list[tuple[str, Node]]
) -> Iterator[CheckFinding]:
    kept = any((gitdir / "gitmem" / "quarantine").glob(f"{lack.oid}.*"))
    what = f"object {lack.oid[:10]} is {lack.why}" + (" (damaged, in quarantine)" if kept else "")
    code = "object-missing" if lack.why == "missing" else "object-damaged"
    if lack.at_head and lack.kind == "blob":
        for path in [path for path, node in entries if node.oid == lack.oid]:
            yield error(code, f"{path} cannot be read: {what}", path=path, object=lack.oid)
        return
    say, where = _where(gitdir, lack)
    path = lack.ref if lack.kind == "commit" else lack.path
    id = lack.id if _may_be_lost(gitdir, lack) else ""
    if id in read_acknowledged(gitdir).ids:
        say, what = info, f"{what}, which is acknowledged"
    hint = _hint(gitdir, lack, "" if say is info else id)
    yield say(code, f"{where}: {what}", path=path, object=lack.oid, hint=hint)._replace(id=id)


def _hint(gitdir: Path, lack: Lack, id: str) -> str:
    """How to restore a missing object, or to acknowledge its loss by ID; a repair else."""
    if lack.why != "missing" or lack.ref.startswith(KEPT):
        return REPAIR  # looks for a copy, or keeps the commit without that file
    return way_back(gitdir, lack.kind, lack.oid, id)


def _may_be_lost(gitdir: Path, lack: Lack) -> bool:
    """True when a person may acknowledge the loss: a missing version of the past.

    Not of a damaged object, for which a repair looks for a copy first; nor of a commit, whose
    history would be unknown.
    """
    is_gone = lack.why == "missing" and lack.kind != "commit" and not lack.ref.startswith(KEPT)
    return is_gone and _where(gitdir, lack)[0] is warning


class Losses(NamedTuple):
    """Objects that history needs and that cannot be read."""

    open: dict[str, str]
    """Each with the id for `check --acknowledge`, or empty where that is not allowed."""
    acknowledged: frozenset[str]


def losses(gitdir: Path) -> Losses:
    """The objects that history has lost; reads and hashes everything, so it is slow.

    Without those of kept commits, which a repair ends, and of transcripts, which scrub ignores.
    """
    objects = Objects(gitdir, stand_ins=False)
    try:
        found = survey_of(gitdir, objects).walk.lacks
    finally:
        objects.close()
    lacks = [lack for lack in found if not lack.ref.startswith((KEPT, REF))]
    done = read_acknowledged(gitdir).ids
    ids = {lack.oid: lack.id if _may_be_lost(gitdir, lack) else "" for lack in lacks}
    known = frozenset(oid for oid, id in ids.items() if id in done)
    return Losses({oid: id for oid, id in ids.items() if oid not in known}, known)


def _where(gitdir: Path, lack: Lack) -> tuple[Callable[..., CheckFinding], str]:
    """The severity of the loss, and what cannot be read for it."""
    replaced = (gitdir / REPLACED / lack.oid).is_file() and bool(lack.commit)
    if lack.ref == REF:
        what = f"{lack.path} of the transcripts" if lack.path else "a transcript"
        return error, f"{what} cannot be read"
    if lack.kind == "commit" and replaced:
        return warning, f"a commit is lost before {lack.commit[:10]}, and another stands in for it"
    if lack.kind == "commit":
        cut = f"history is cut before commit {lack.commit[:10]}"
        return error, cut if lack.commit else f"{lack.ref} leads nowhere"
    if lack.at_head:
        what = f"the folder {lack.path}" if lack.path else "the newest state of the group"
        return error, f"{what} cannot be read"
    what = f"of {lack.path}" if lack.path else "of the group"
    return warning, f"an older version {what} (in commit {lack.commit[:10]}) cannot be read"
