"""Check a group for damage, and repair it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from gitmem.errors import GitmemError, GroupRefused
from gitmem.memory.admin.groups import finish_rename
from gitmem.memory.admin.worktrees import relink_from
from gitmem.memory.clock import Clock, zone_of, zone_problem
from gitmem.memory.group import Group, Store, time_now
from gitmem.memory.layouts import layout_at
from gitmem.memory.searched import keep_run
from gitmem.memory.store import not_found
from gitmem.model.access import check_access
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import FILE
from gitmem.model.paths import check_group as check_name
from gitmem.model.record import Record
from gitmem.model.scope import NOTHING, Scope
from gitmem.store.config import check_form, read_config, worktree_of
from gitmem.store.fsck.check import Progress, inspect
from gitmem.store.fsck.findings import INFO, WARNING, CheckFinding, info, warning
from gitmem.store.fsck.lost_refs import point_if_free
from gitmem.store.lock import last_run
from gitmem.store.refs.files import VERIFIED

SECRET = "secret"

__all__ = ["CheckFinding", "Checked", "check", "check_group"]


class Checked(Record):
    """The verdict on a group."""

    findings: tuple[CheckFinding, ...]
    objects: int
    """The number of objects; each was read and hashed, or is in a pack that was."""
    commits: int
    sound: bool
    """False when an error or a warning remains."""


def check(
    group: Group, *, repair: bool = False, full: bool = False, progress: Progress | None = None
) -> Checked:
    """Check an open group; FULL trusts no earlier verdict."""
    return check_group(
        group.store,
        group.name,
        repair=repair,
        full=full,
        acting=group.acting,
        now=group.now,
        progress=progress,
    )


def check_group(
    store: Store,
    name: str,
    *,
    repair: bool = False,
    full: bool = False,
    acting: str | None = None,
    now: Clock | None = None,
    progress: Progress | None = None,
    near: str = "",
) -> Checked:
    """Check a group that may be too damaged to open; REPAIR repairs what can be repaired.

    NEAR is the folder of the caller: a work tree that was moved is found from there.
    """
    check_access(acting, check_name(name), write=repair)
    gitdir = store.gitdir(name)
    if repair or (not gitdir.is_dir() and _may_write(acting, name)):
        finish_rename(store, name)
    if not gitdir.is_dir():
        raise not_found(store, name, acting)
    check_form(read_config(gitdir), name)
    zone = zone_of(store.root)
    moment = time_now(now, zone)
    scope = _scope(store, name)
    found = inspect(gitdir, now=moment, full=full or repair, progress=progress, scope=scope)
    findings = found.findings
    if repair and findings:
        from gitmem.store.fsck.repair import (
            repair as mend,  # only where there is something to mend
        )

        if near:
            relink_from(store, name, near)
        run = last_run(gitdir)
        done = mend(gitdir, store.default_worktree(name), lambda: time_now(now, zone), scope)
        if done:  # a repaired lock has no run; a newer format is left alone
            keep_run(gitdir, run)
        found = inspect(gitdir, now=time_now(now, zone), full=True, progress=progress, scope=scope)
        answers = {_key(each.code, each.path, each.object): each.text for each in done}
        findings = _merged(findings, found.findings, answers)
    findings = (*findings, *_layout(store, name), *_zone(store), *_secrets(store, name, acting))
    edits = list(_edits(store, name))
    sound = not any(each.stands for each in findings)
    if sound and found.tip and _may_write(acting, name):
        # The next check need not read all of history again.
        point_if_free(gitdir, VERIFIED, found.tip, "sound")
    return Checked((*findings, *edits), found.objects, found.commits, sound)


def _key(code: str, path: str, object: str) -> tuple[str, str]:
    return code, object or path


def _merged(
    before: Iterable[CheckFinding],
    after: Iterable[CheckFinding],
    answers: dict[tuple[str, str], str],
) -> tuple[CheckFinding, ...]:
    """The repaired findings with what was done, then those that remain."""
    left = list(after)
    keys, objects = {each.key for each in left}, {each.object for each in left if each.object}
    repaired = []
    for each in before:
        answer = answers.get(_key(each.code, each.path, each.object), "")
        # A damaged object that is missing now has not been repaired.
        if each.key not in keys and (answer or each.object not in objects):
            repaired.append(each._replace(repaired=answer or "repaired along with the rest"))
    return (*repaired, *left)


def _layout(store: Store, name: str) -> Iterator[CheckFinding]:
    """A layout that cannot be read: the group uses an older one."""
    with suppress(GitmemError, OSError):
        group = _as_it_is(store, name)
        try:
            problem = layout_at(group, group.repository.snapshot()).problem
        finally:
            group.close()
        if problem:
            hint = Hint("correct it with ", call("edit", FILE), ", or see ", call("log", FILE))
            yield warning("layout", problem, path=FILE, hint=hint)


def _scope(store: Store, name: str) -> Scope | None:
    """What in the work tree is memory; nothing new in a folder elsewhere without a layout."""
    with suppress(GitmemError, OSError):
        group = _as_it_is(store, name)
        try:
            found = group.scope(group.repository.snapshot())
            return found.scope if found else None
        finally:
            group.close()
    gitdir = store.gitdir(name)
    place = worktree_of(gitdir)
    return NOTHING if place and place != store.default_worktree(name) else None


def _secrets(store: Store, name: str, acting: str | None) -> Iterator[CheckFinding]:
    """Credentials that plain git committed: a warning in a file, an info in history."""
    from gitmem.memory.admin.committed_secrets import scan_beside, scan_commits
    from gitmem.memory.admin.secret_findings import open_secrets, secret_words

    with suppress(GitmemError, OSError):  # damage has its own findings
        group = _as_it_is(store, name, acting)
        try:
            beside = scan_beside(group).found  # first: it records commits that left the branch
            for each in open_secrets(group, scan_commits(group), beside):
                severity = WARNING if each.standing else INFO
                text, hint = secret_words(each)
                path, commit = each.path, each.commit
                yield CheckFinding(SECRET, text, severity, path, commit, hint=hint, id=each.id)
        finally:
            group.close()


def _zone(store: Store) -> Iterator[CheckFinding]:
    problem = zone_problem(store.root)
    if problem:
        hint = "use a name such as Europe/Berlin, or `timezone` in gitmem.yaml"
        yield warning("time-zone", problem, path=".env", hint=hint)


def _edits(store: Store, name: str) -> Iterator[CheckFinding]:
    """Edits that are not captured yet."""
    from gitmem.memory.write.open_edits import pending_edits

    with suppress(GitmemError, OSError):
        group = _as_it_is(store, name)
        try:
            if group.repository.head_elsewhere():
                return  # files of another branch
            for edit in pending_edits(group).edits:
                was = "is new" if edit.change == "new" else f"was {edit.change}"
                text = f"{edit.path} {was} and is not committed yet"
                hint = Hint("commit it: ", call("capture"))
                yield info("uncommitted", text, path=edit.path, hint=hint)
        finally:
            group.close()


def _as_it_is(store: Store, name: str, acting: str | None = None) -> Group:
    """The group, opened without healing: a check changes nothing."""
    group = Group(store, name, acting=acting, heals=False)
    group.repository.objects.rescuer = None
    return group


def _may_write(acting: str | None, name: str) -> bool:
    try:
        check_access(acting, name, write=True)
    except GroupRefused:
        return False
    return True
