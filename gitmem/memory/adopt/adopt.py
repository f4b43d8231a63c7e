"""Adopt an existing memory folder into a group, with its history.

It is copied and never moved; in place, the folder itself becomes the work tree. Its files are
committed byte for byte and never changed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import BadInput
from gitmem.memory.admin.init import init
from gitmem.memory.adopt.folder import (
    HARD_LINK,
    Folder,
    NotAdopted,
    Progress,
    file_names,
    is_workspace,
    read_folder,
    remarks_on,
    source_folder,
)
from gitmem.memory.adopt.history import (
    AdoptedSource,
    History,
    PlannedCommits,
    open_history,
    plan_commits,
    read_history,
)
from gitmem.memory.adopt.layout import Choice, choose_layout, possible_scope, with_zone
from gitmem.memory.adopt.target import AdoptionTarget, check_target, has_content, is_adopted
from gitmem.memory.clock import Clock, zone_of
from gitmem.memory.group import Group, Store, Who, time_now
from gitmem.memory.layouts import layout_of
from gitmem.memory.scope import gitignored_layers, include_fix
from gitmem.model.access import check_access
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import FILE, Layout
from gitmem.model.layout.recognise import missing_core
from gitmem.model.paths import check_group
from gitmem.model.scope import Scope
from gitmem.model.secrets.find import redact
from gitmem.model.text.format import quoted
from gitmem.store.foreign.graft import graft
from gitmem.store.foreign.repository import Foreign
from gitmem.store.objects.database import ObjectMissing, blob_id
from gitmem.store.repository import Snapshot
from gitmem.store.setup import begun, is_tied
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.transaction.publish import translated
from gitmem.store.worktree.held import HeldFolder
from gitmem.store.worktree.scope import Scoped

ROUNDS = 60
"""How often an interrupted adoption is resumed; each round takes a second at most."""


class Adopted(NamedTuple):
    """An adopted folder, or the plan of a dry run."""

    group: str
    store: str
    source: str
    worktree: str
    in_place: bool
    layout: str
    sure: str
    """certain, likely, or chosen by the caller"""
    taken: tuple[str, ...]
    score: float = 1.0
    why: tuple[str, ...] = ()
    """The files by which the layout was recognised."""
    left: tuple[NotAdopted, ...] = ()
    held: tuple[str, ...] = ()
    """Files with a second hard link, which are held until a person decides."""
    commits: int = 0
    """The number of commits from its own history."""
    dates_from: str = ""
    """git, mtime, or both"""
    missing: tuple[str, ...] = ()
    """Files that every prompt of this layout includes and that the folder lacks."""
    remarks: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    """Names at the top of a workspace, or of a folder in place, that are no memory by its
    layout."""
    timezone: str = ""
    """The time zone in its `.env`, now in its layout ..."""
    timezone_from: str = ""
    """... and the path of that file."""
    commit: str = ""
    excluded_in: str = ""
    """The exclude file of a repository around a folder in place."""
    dry_run: bool = False
    already: bool = False
    """True when it was adopted before: nothing was done."""
    pending: bool = False
    """True when it is committed and some files have not reached the work tree yet."""


class _Adoption(NamedTuple):
    """Everything that is decided before anything is written."""

    folder: Folder
    history: History
    choice: Choice
    planned: PlannedCommits
    remarks: tuple[str, ...]
    narrow: bool
    """True when only files of the layout are adopted: in place, or of a workspace."""


def adopt(
    store: Store,
    name: str,
    source: Path,
    *,
    layout: str = "",
    in_place: bool = False,
    dry_run: bool = False,
    who: Who | None = None,
    acting: str | None = None,
    now: Clock | None = None,
    progress: Progress | None = None,
) -> Adopted:
    """Adopt the folder SOURCE into the group NAME, which must be new or empty.

    Without LAYOUT it is recognised by its files; BadInput where that would be a guess.
    """
    check_access(acting, check_group(name), write=True)
    root = source_folder(source)
    target = AdoptionTarget(store, name, root, in_place, who or Who(), acting, now)
    check_target(target)
    if is_adopted(target):
        return _already(target)
    foreign, problems = open_history(root, store.root, ours=is_tied(store.gitdir(name), root))
    try:
        plan = _plan(target, foreign, layout, progress)
        remarks = (*problems, *plan.remarks, *_still_tracked(target, foreign), *_from(foreign))
        plan = plan._replace(remarks=remarks)
        done = _result(target, plan)
        return done._replace(dry_run=True) if dry_run else _write(target, foreign, plan, progress)
    finally:
        if foreign:
            foreign.close()


def _plan(
    target: AdoptionTarget, foreign: Foreign | None, layout: str, progress: Progress | None
) -> _Adoption:
    """Plan the adoption; of a folder that is too large, only what may be memory."""
    scope = possible_scope(target.root, layout)
    if target.in_place:
        return _planned(target, foreign, layout, progress, scope)
    try:
        return _planned(target, foreign, layout, progress, None)
    except BadInput as error:
        if "most" not in error.facts or not is_workspace(file_names(target.root), scope):
            raise
        return _planned(target, foreign, layout, progress, scope)


def _planned(
    target: AdoptionTarget,
    foreign: Foreign | None,
    layout: str,
    progress: Progress | None,
    scope: Scope | None,
) -> _Adoption:
    """Read the folder and its history, and decide; writes nothing."""
    history = read_history(foreign, progress, scope) if foreign else History()
    folder = _read(target.root, foreign, history, progress, scope)
    if not folder.files and not history.commits:
        raise _nothing(target.root, folder)
    texts = {path: taken.data for path, taken in folder.files.items()}
    still = foreign is not None and (foreign.bare or foreign.is_sparse)
    if foreign and still:
        texts = {**{path: foreign.blob(oid) for path, oid in history.files.items()}, **texts}
    choice = choose_layout(target.root, texts, folder.away, layout)
    names = (*folder.files, *folder.away, *history.files)
    narrow = scope is not None or is_workspace(names, choice.scope)
    if narrow:
        folder = folder.within(choice.scope)
        history = read_history(foreign, progress, choice.scope) if foreign else history
    choice = with_zone(choice, target.root)
    now = time_now(target.now, zone_of(target.store.root, choice.layout.timezone))
    source = AdoptedSource(target.root, folder, history, keeps_missing=still)
    planned = plan_commits(source, choice, target.who, now)
    remarks = (*history.problems, *choice.remarks, *remarks_on(folder.files))
    if target.in_place:
        remarks = (*remarks, *_hidden(target.root, choice.layout, planned.files))
    return _Adoption(folder, history, choice, planned, remarks, narrow)


def _hidden(root: Path, layout: Layout, taken: Container[str]) -> Iterator[str]:
    """Layers that the folder's own `.gitignore` excludes: their new files would not be captured."""
    found = gitignored_layers(root, layout, taken)
    if found:
        what = f"{', '.join(found)} is memory by the layout, but a .gitignore there excludes it"
        yield f"{what}: to capture it, {include_fix(found)}"


def _read(
    root: Path,
    foreign: Foreign | None,
    history: History,
    progress: Progress | None,
    scope: Scope | None,
) -> Folder:
    if foreign and foreign.bare:
        return Folder({}, (), frozenset())

    scoped = Scoped(root, scope) if scope else None

    def ignored(path: str) -> bool:
        if scoped:
            return path not in history.tracked and scoped.is_gitignored(path, False)
        # A repository around the folder may ignore all of it, memory included.
        if foreign is None or not foreign.is_own or path in history.tracked:
            return False
        return foreign.ignores(path)

    return read_folder(root, ignored, progress, scoped)


def _write(
    target: AdoptionTarget, foreign: Foreign | None, plan: _Adoption, progress: Progress | None
) -> Adopted:
    """Create the group, write the commits, and move the branch."""
    made = init(
        target.store,
        target.name,
        worktree=target.root if target.in_place else None,
        capture_files=False,
        who=target.who,
        acting=target.acting,
        now=target.now,
    )
    group = target.opened()
    try:
        with translated("adopting the folder"):
            commit, pending = _publish(group, target, foreign, plan, progress)
            begun(group.gitdir)
    finally:
        group.close()
    done = _result(target, plan)
    return done._replace(commit=commit, excluded_in=made.excluded_in, pending=pending)


def _publish(
    group: Group,
    target: AdoptionTarget,
    foreign: Foreign | None,
    plan: _Adoption,
    progress: Progress | None,
) -> tuple[str, bool]:
    def blobs(oid: str) -> bytes:
        if foreign is None:
            raise ObjectMissing(oid)
        return foreign.blob(oid)

    base = group.repository.tip()
    tip = graft(group.repository, base, plan.planned.grafted(blobs, progress), group.now())
    contents = plan.planned.contents(blobs)
    standing = _standing(contents, plan.choice) if target.in_place else {}

    def planner(snapshot: Snapshot) -> Plan[None]:
        if snapshot.commit != base or snapshot.folder(""):
            raise has_content(target)
        return Plan((Step(contents, plan.planned.last_note),), None, standing, tip)

    with group.writing() as writer:
        if not target.in_place:  # there the files themselves are held
            _hold(group, plan.folder.linked)
        writer.publish(planner, checked=False)
        return tip, writer.pending


def _hold(group: Group, linked: Mapping[str, bytes]) -> None:
    """Hold files with a second hard link, as a capture does; each once."""
    folder = HeldFolder(group.gitdir)
    known = {each.path for each in folder}
    for path, data in linked.items():
        if path not in known:
            folder.keep_copy(data, path, HARD_LINK, group.now())


def _standing(contents: dict[str, bytes], choice: Choice) -> dict[str, str | None]:
    """In place, no file is touched: each is as committed, or an edit that may not enter git."""
    found: dict[str, str | None] = {path: blob_id(data) for path, data in contents.items()}
    if choice.adds:
        found[choice.adds] = None
    return found


def _result(target: AdoptionTarget, plan: _Adoption) -> Adopted:
    known = {(each.path, each.why) for each in plan.folder.left}
    past = (each for each in plan.history.left if (each.path, each.why) not in known)
    return Adopted(
        group=target.name,
        store=str(target.store.root),
        source=str(target.root),
        worktree=str(target.worktree),
        in_place=target.in_place,
        layout=plan.choice.name,
        sure=plan.choice.sure,
        taken=tuple(sorted(path for path in plan.planned.files if path != plan.choice.adds)),
        score=plan.choice.score,
        why=plan.choice.why,
        left=(*plan.folder.left, *past),
        held=tuple(sorted(plan.folder.linked)),
        commits=len(plan.history.commits),
        dates_from=plan.planned.dates_from,
        # A file that is left out exists: a new one at its path would hide it.
        missing=missing_core(plan.choice.layout, {*plan.planned.files, *plan.folder.away}),
        remarks=(*plan.remarks, *_old_name(plan)),
        outside=_outside(target.root, plan.choice.scope) if plan.narrow else (),
        timezone=plan.choice.zone,
        timezone_from=plan.choice.zone_from,
    )


def _outside(root: Path, scope: Scope) -> tuple[str, ...]:
    """The names at the top of ROOT that are no memory; folders end in a slash."""
    scoped = Scoped(root, scope)
    with os.scandir(root) as found:
        rows = [(each.name, each.is_dir(follow_symlinks=False)) for each in found]
    beyond = (
        f"{name}{'/' * folder}"
        for name, folder in rows
        if name[0] != "." and not (scoped.names(name, folder) or scoped.is_linked(name))
    )
    return tuple(redact(each)[0] for each in sorted(beyond))


def _old_name(plan: _Adoption) -> tuple[str, ...]:
    """A remark on a file that the layout has renamed."""
    old, new = plan.choice.layout.spelled(plan.planned.files.__contains__).migrate[:2]
    if old not in plan.planned.files or new in plan.planned.files:
        return ()
    return (Hint(f"{old} is called {new} in this layout; rename it: ", call("migrate")),)


def _from(foreign: Foreign | None) -> tuple[str, ...]:
    """The repository of the history, where it is outside the folder."""
    if foreign is None or foreign.common.is_relative_to(foreign.top):
        return ()
    return (f"its history comes from the repository in {foreign.common}",)


def _still_tracked(target: AdoptionTarget, foreign: Foreign | None) -> tuple[str, ...]:
    if not target.in_place or foreign is None or foreign.is_own:
        return ()
    stop = f"git -C {foreign.top} rm -r --cached {foreign.prefix}"
    return (f"the repository in {foreign.top} tracks this folder, too; to stop that: {stop}",)


def _already(target: AdoptionTarget) -> Adopted:
    group = target.opened()
    try:
        finished = _finished(group)
        layout, tip = layout_of(group), group.repository.tip()
        taken = tuple(path for path, _ in group.repository.snapshot(tip).files())
    finally:
        group.close()
    return Adopted(
        group=target.name,
        store=str(target.store.root),
        source=str(target.root),
        worktree=str(target.worktree),
        in_place=target.in_place,
        layout=layout.name,
        sure="certain",
        taken=taken,
        why=(FILE,) if FILE in taken else (),
        missing=missing_core(layout, taken),
        commit=tip,
        already=True,
        pending=not finished,
    )


def _finished(group: Group) -> bool:
    """True once every file has reached the work tree, also after an interrupted adoption."""
    for _ in range(ROUNDS):
        with group.writing() as writer:
            if not writer.pending:
                return True
    return False


def _nothing(root: Path, folder: Folder) -> BadInput:
    reasons = Counter(each.why.partition(":")[0] for each in folder.left)
    out = "; left out: " if folder.left else ""
    out += ", ".join(f"{many} {why}" for why, many in reasons.most_common())
    hint = "name the folder that holds the memory files"
    if folder.linked:
        every, copy = len(folder.linked) == len(folder.left), quoted(f"{root}-copy")
        hint = "every file has" if every else f"{len(folder.linked)} of the files have"
        hint += f" a second hard link; copy the folder: `cp -r {quoted(str(root))} {copy}`"
        hint = Hint(f"{hint}, then ", call("adopt", f"{root}-copy"))
    return BadInput(
        f"nothing to adopt in {root}{out}",
        hint=hint,
        left=[each._asdict() for each in folder.left[:20]],
    )
