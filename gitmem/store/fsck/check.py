"""Is a group sound? Everything is read with plain file reads; libgit2 sees nothing doubtful."""

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
from gitmem.store.fsck import git_directory as upkeep
from gitmem.store.fsck.acknowledged import read_acknowledged
from gitmem.store.fsck.findings import REPAIR, Finding, error, info, warning
from gitmem.store.fsck.index_and_worktree import date_findings, file_findings, index_findings
from gitmem.store.fsck.packs import PackFault, pack_faults
from gitmem.store.fsck.reachable import Lack, Walk, check_loose, loose_names
from gitmem.store.fsck.reflogs import (
    broken_log_findings,
    rewound_findings,
    unreadable_findings,
    way_back,
)
from gitmem.store.lost_commits.departures import logged_after
from gitmem.store.lost_commits.kept import KEPT
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.objects.trees import Node
from gitmem.store.refs.files import (
    ZERO,
    all_refs,
    is_id,
    loose_refs,
    packed_refs,
    read_log,
)
from gitmem.store.refs.move import ref_tip
from gitmem.store.repository import BRANCH
from gitmem.store.setup import worktree_of

VERIFIED = "refs/gitmem/verified"
REPLACED = "refs/replace"
PAUSE = 0.05
"""Seconds in which whoever moves a branch has done so."""
LOOKS = 3
"""How often everything is read again where a `git gc` moves objects about."""
Progress = Callable[[int, int], None]


class Inspection(NamedTuple):
    """What was found, and in what."""

    findings: tuple[Finding, ...]
    objects: int
    commits: int
    tip: str
    """The commit that the branch names, empty when that cannot be read."""
    walked_all: bool
    """True when no earlier verdict was relied on."""


class Survey(NamedTuple):
    """The state of everything that is stored."""

    refs: dict[str, str]
    damaged: dict[str, str]
    """Loose objects that are damaged, and why."""
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
    """Look at everything, in the work tree only within SCOPE; change nothing."""
    objects = Objects(gitdir, stand_ins=False)
    try:
        survey = survey_of(gitdir, objects, full=full, progress=progress)
        findings = [*_around(gitdir, scope), *_refs(gitdir, survey), *_stored(gitdir, survey)]
        walk = survey.walk
        findings += file_findings(walk.entries)
        findings += date_findings(objects, walk.newest, now)
        # What lies behind a lost commit would seem to have left the branch.
        if survey.refs.get(BRANCH) and not any(lack.kind == "commit" for lack in walk.lacks):
            findings += rewound_findings(gitdir, survey.refs, objects, VERIFIED)
            findings += broken_log_findings(gitdir, objects, walk.knows)
        findings += unreadable_findings(gitdir, objects)
        # Not what a writer did since the branch was read.
        is_read = not any(lack.at_head for lack in walk.lacks)
        whole = is_read and all_refs(gitdir).get(BRANCH) == survey.refs.get(BRANCH, "")
        findings += index_findings(gitdir, walk.entries, whole=whole)
    finally:
        objects.close()
    tip = survey.refs.get(BRANCH, "")
    order = {"error": 0, "warning": 1, "info": 2}
    findings.sort(key=lambda each: order[each.severity])
    return Inspection(tuple(findings), survey.objects, survey.walk.commits, tip, survey.walked_all)


def survey_of(
    gitdir: Path, objects: Objects, *, full: bool = True, progress: Progress | None = None
) -> Survey:
    """Read and hash everything that is stored.

    Refs are read first: what a writer adds meanwhile is in nobody's way. History that was found
    sound before is not read again, unless FULL or unless anything is damaged.
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
    if trusting and walk.lacks:  # then the trust was misplaced
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
    """True when something that lacked can be read after all: a `git gc` was moving it."""
    if not lacks:
        return False
    sleep(PAUSE)
    objects = Objects(gitdir, stand_ins=False)
    try:
        return any(objects.holds(lack.oid) for lack in lacks)
    finally:
        objects.close()


class _Count:
    """Tells how far we are; commits come on top of the objects that were known at the start."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._done, self._total = progress, 0, total

    def step(self) -> None:
        self._done += 1
        if self._progress and self._done % 64 == 0:
            self._progress(self._done, max(self._total, self._done))


def _around(gitdir: Path, scope: Scope | None) -> Iterator[Finding]:
    yield from upkeep.folder_findings(gitdir)
    yield from upkeep.config_findings(gitdir)
    yield from upkeep.head_findings(gitdir)
    yield from upkeep.mode_findings(gitdir)
    yield from upkeep.gitfile_findings(gitdir)
    if (gitdir / "objects" / "info" / "alternates").exists():
        yield warning(
            "alternates",
            "objects are borrowed from another repository (objects/info/alternates)",
            path="objects/info/alternates",
            hint="copy them, then remove the file: "
            f"`git --git-dir={quote(str(gitdir))} repack -adq && "
            f"rm {quote(str(gitdir))}/objects/info/alternates`",
        )
    if upkeep.is_held(gitdir):
        return  # a writer is at work: what lies around is its own
    yield from upkeep.lock_findings(gitdir)
    unfinished = list(upkeep.record_findings(gitdir))
    yield from unfinished
    if not unfinished:
        yield from upkeep.leftover_findings(gitdir, worktree_of(gitdir) or gitdir / "gitmem", scope)


def _refs(gitdir: Path, survey: Survey) -> Iterator[Finding]:
    loose = list(loose_refs(gitdir))  # first: `git pack-refs` removes them after packing
    packed, bad = packed_refs(gitdir)
    for ref in loose:
        what = "the branch" if ref.name == BRANCH else f"the ref {ref.name}"
        if ref.why:
            yield error("ref-malformed", f"{what} cannot be read: {ref.why}", path=ref.name)
        elif ref.name == BRANCH and not is_id(ref.target):
            text = f"the branch is no commit but another name for {ref.target}"
            yield error("ref-malformed", text, path=ref.name)
    if bad:
        text = f"packed-refs has {len(bad)} lines that make no sense"
        yield error("packed-refs-malformed", text, path="packed-refs")
    if BRANCH not in {*packed, *(ref.name for ref in loose)}:
        history = ", though the group has a history" if _had_history(gitdir) else ""
        yield error("branch-missing", f"the branch is missing{history}", path=BRANCH)
    yield from _behind(gitdir)
    yield from _said(gitdir)
    yield from _logs(gitdir, survey)


def _said(gitdir: Path) -> Iterator[Finding]:
    """The ref of what was said, where its file is lost and only its log knows of it."""
    if os.path.exists(gitdir / REF):
        return
    packed, last = packed_refs(gitdir)[0].get(REF), ref_tip(gitdir, REF)
    if last != packed and not upkeep.is_held(gitdir):
        what = "older than its log" if packed else "missing"
        text = f"{REF} is {what}, which has seen it at {(last or '')[:10]}"
        yield warning("ref-missing", text, path=REF)


def _logs(gitdir: Path, survey: Survey) -> Iterator[Finding]:
    """Reflogs with torn lines, or with commits that nobody knows."""
    objects = Objects(gitdir)
    for name in ("HEAD", BRANCH):
        lines, torn, _ = read_log(gitdir, name)
        known = [
            all(survey.walk.knows(oid) or _is_there(objects, oid) for oid in (line.old, line.new))
            for line in lines
        ]
        count = len(torn) + known.count(False)
        if count:
            text = f"the reflog of {name} has {count} lines that are torn or lead nowhere"
            yield warning("reflog-torn", text, path=f"logs/{name}")
    objects.close()


def _is_there(objects: Objects, oid: str) -> bool:
    try:
        return oid == ZERO or bool(objects.read(oid))
    except ObjectDamaged:
        return False


def _behind(gitdir: Path) -> Iterator[Finding]:
    """A branch that is older than its reflog says; a writer between the two steps is waited for."""
    objects = Objects(gitdir)
    newer = logged_after(gitdir, objects)
    for _ in range(2 if newer else 0):
        sleep(PAUSE)
        busy = upkeep.is_held(gitdir) or any(upkeep.record_findings(gitdir))
        newer = "" if busy else logged_after(gitdir, objects)
    objects.close()
    if newer:
        text = f"the branch is older than its reflog, which has seen it at {newer[:10]}"
        yield error("branch-behind", text, path=BRANCH)


def _had_history(gitdir: Path) -> bool:
    logged = any(read_log(gitdir, name)[0] for name in (BRANCH, "HEAD"))
    return logged or bool(all_refs(gitdir)) or any(True for _ in loose_names(gitdir))


def _stored(gitdir: Path, survey: Survey) -> Iterator[Finding]:
    lacking = {lack.oid for lack in survey.walk.lacks}
    for lack in survey.walk.lacks:
        yield from _lack_findings(gitdir, lack, survey.walk.entries)
    idle = [oid for oid in survey.damaged if oid not in lacking]
    if idle:
        text = f"{counted(len(idle), 'damaged object file')} that no history depends on"
        yield warning("object-damaged-unused", text, object=idle[0])
    for fault in survey.packs:
        name = os.path.relpath(fault.path, gitdir)
        say = warning if fault.code in ("pack-cache-damaged", "pack-missing") else error
        yield say(fault.code, f"{name} is {fault.why}", path=name)


def _lack_findings(gitdir: Path, lack: Lack, entries: list[tuple[str, Node]]) -> Iterator[Finding]:
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
    hint = _way(gitdir, lack, "" if say is info else id) if lack.why == "missing" else ""
    yield say(code, f"{where}: {what}", path=path, object=lack.oid, hint=hint)._replace(id=id)


def _way(gitdir: Path, lack: Lack, id: str) -> str:
    """What ends it where no copy is left that may be put back."""
    if lack.ref.startswith(KEPT):
        return REPAIR  # keeps the commit without that file
    return way_back(gitdir, lack.kind, lack.oid, id)


def _may_be_lost(gitdir: Path, lack: Lack) -> bool:
    """Whether somebody may decide to live without LACK: a version of the past that is gone.

    Not what is damaged: a repair looks for a copy of it first, and moves it away. Not a commit
    either: nobody can tell what left the branch behind it.
    """
    is_gone = lack.why == "missing" and lack.kind != "commit" and not lack.ref.startswith(KEPT)
    return is_gone and _where(gitdir, lack)[0] is warning


class Losses(NamedTuple):
    """Objects that history needs and nobody can read."""

    open: dict[str, str]
    """The id of each that may be acknowledged and is not; of others it is empty."""
    acknowledged: frozenset[str]


def losses(gitdir: Path) -> Losses:
    """What history has lost; reads and hashes everything, so only where something lacks.

    Without what is kept, which a repair ends, and what was said, which the scrub does not read.
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


def _where(gitdir: Path, lack: Lack) -> tuple[Callable[..., Finding], str]:
    """How bad it is that LACK is lacking, and for what."""
    replaced = (gitdir / REPLACED / lack.oid).is_file() and bool(lack.commit)
    if lack.ref == REF:
        what = f"{lack.path} of what was said" if lack.path else "what was said"
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
