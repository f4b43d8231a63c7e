"""Bring a group's files into the form of its layout: rename a file, move sections out of it.

Every line that was there is there afterwards, plus one note that names the file the sections went
to. The start of a session and maintenance migrate on their own if it is safe: none of the files is
held, in conflict or read by a host, and nobody has undone the migration.
"""

from __future__ import annotations

import re
from itertools import islice, pairwise, takewhile

from gitmem.cache.progress import forget_refusal, is_refused, keep_refusal
from gitmem.errors import Busy, Damaged, GitmemError, GroupRefused
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_of
from gitmem.memory.write.capture import capture_edits
from gitmem.memory.write.changeset import check_path_free
from gitmem.memory.write.open_edits import scan_edits
from gitmem.model.commit_messages import PARTLY, UNDOES, Note, parse
from gitmem.model.entries.lines import INSTALLED, SplitSections, join_sections, split_sections
from gitmem.model.guards import check_size
from gitmem.model.layout.layout import Migration, lower_name
from gitmem.model.record import Record
from gitmem.model.text.conflict_markers import conflicts
from gitmem.model.text.format import counted
from gitmem.store.lock import WAIT
from gitmem.store.repository import Repository, Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.plan import Plan, Published, Step
from gitmem.store.worktree.held import SetAside

NOTE = "{what}: kept in {into}."
LOOKED_AT = 500
"""Commits that are searched for the last change of a file, 0.4 ms each."""
FROM = "Gitmem-From"
WAYS_BACK = ("undo", "restore")
_REVERTS = r"This reverts commit ([0-9a-f]{40})"
"""What `git revert` writes."""


class Migrated(Record):
    """What was migrated, or would be."""

    commit: str
    renamed: tuple[tuple[str, str], ...] = ()
    """Old path and new path."""
    sections: int = 0
    """How many sections moved ..."""
    source: str = ""
    into: str = ""
    """... from SOURCE to INTO."""
    left: str = ""
    """What was left as it is, and why."""
    dry_run: bool = False
    captured: tuple[Captured, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    pending: bool = False
    commits: tuple[str, ...] = ()
    """The new commits, the newest first: one for the name, one for the sections."""
    is_refused: bool = False
    """Whether it is left because somebody undid it."""

    @property
    def changed(self) -> bool:
        """False if there was nothing to do."""
        return bool(self.renamed or self.sections)

    @property
    def summary(self) -> str:
        """What was done, or is due, in a line."""
        words = [f"{old} becomes {new}" for old, new in self.renamed]
        if self.sections:
            many = counted(self.sections, "section")
            words.append(f"{many} of {self.source} {'move' if self.sections > 1 else 'moves'}")
            words[-1] += f" to {self.into}"
        return ", ".join(words)


def migrate(
    group: Group,
    *,
    dry_run: bool = False,
    reason: str = "",
    automatic: bool = False,
    wait: float = WAIT,
) -> Migrated:
    """Do what the layout's `migrate` says; a second call finds nothing to do.

    AUTOMATIC: only if it is safe; otherwise `left` says why not.
    """
    note = group.note("migrate", reason=reason)
    planned = _safe_plan if automatic else _plan
    if dry_run:
        snapshot = group.repository.snapshot()
        done = planned(layout_of(group).migrate, note, snapshot).result
        return done._replace(commit=snapshot.commit, dry_run=True)
    with group.writing(wait) as writer:
        rules = layout_of(group).migrate
        named = (rules.old, rules.new, rules.into)
        paths = [*filter(None, (*named, *map(lower_name, named)))]
        busy = ""
        if paths:
            scan = scan_edits(writer.repository, writer.worktree, paths)
            capture_edits(writer, scan)
            held = [f"{each.path} is held ({each.rule})" for each in scan.held]
            claimed = [f"{path} belongs to an operation begun with git" for path in scan.claimed]
            busy = [*held, *claimed, ""][0]
        rules = layout_of(group).migrate  # the captured edits may have changed it
        published = writer.publish(lambda snapshot: planned(rules, note, snapshot, busy))
        if not automatic:
            forget_refusal(group.gitdir)
        commits = _since(writer.repository, published)
        return published.result._replace(commits=commits, **published.completion)


def due_migration(group: Group) -> Migrated:
    """What is due at the last commit, or why it is left; cheap if the layout has no migration.

    Raises Damaged.
    """
    if not any(layout_of(group).migrate):
        return Migrated("")
    return migrate(group, dry_run=True, automatic=True)


def migrate_due(group: Group, *, wait: float = WAIT) -> Migrated:
    """Do what is due and safe."""
    due = due_migration(group)
    if due.is_refused:
        keep_refusal(group.gitdir)  # or it would end once more commits came than are searched
    return migrate(group, automatic=True, wait=wait) if due.changed else due


def _since(repository: Repository, published: Published[Migrated]) -> tuple[str, ...]:
    line = repository.history(published.commit)
    return tuple(each.oid for each in takewhile(lambda each: each.oid != published.parent, line))


def _safe_plan(rules: Migration, note: Note, snapshot: Snapshot, busy: str = "") -> Plan[Migrated]:
    """The plan if it is safe to carry out without asking; else no steps, and why."""
    try:
        plan = _plan(rules, note, snapshot)
        if not plan.steps:
            return plan
        why, is_refused = _unsafe(rules, snapshot, is_renamed=bool(plan.result.renamed))
    except (Busy, Damaged, GroupRefused):
        raise
    except GitmemError as error:  # `status` shows it; a session can do nothing about it
        return Plan((), Migrated("", left=error.message))
    if busy or why:
        return Plan((), Migrated("", left=busy or why, is_refused=is_refused and not busy))
    return plan


def _unsafe(rules: Migration, snapshot: Snapshot, *, is_renamed: bool) -> tuple[str, bool]:
    """Why a person should look at it first, or nothing; and whether somebody undid it."""
    path = rules.old if is_renamed else rules.new
    for each in filter(None, (rules.old if is_renamed else "", rules.new, rules.into)):
        if conflicts(snapshot.read(each) or b""):
            return f"{each} has conflict markers", False
    if is_renamed and INSTALLED.encode() in (snapshot.read(path) or b""):
        return f"{path} has a section for agents, so a host reads it", False
    refused = f"somebody undid the migration of {path}"
    if is_refused(snapshot.repository.gitdir):
        return refused, True
    if _was_taken_back(snapshot, path, came_back=is_renamed):
        return refused, True
    op = _last_op(snapshot, path)
    if op is None:
        return f"{path} has not changed for long", False
    return (refused, True) if op in WAYS_BACK else ("", False)


def _plan(rules: Migration, note: Note, snapshot: Snapshot, busy: str = "") -> Plan[Migrated]:
    """First the name, then the sections: two commits, so that blame follows the rename."""
    old, new = rules.old, rules.new
    done = Migrated("")
    data = snapshot.read(new) if new else None
    steps: list[Step] = []
    before = snapshot.read(old) if old and new else None
    if before is not None and data is not None:
        done = Migrated("", left=f"{old} and {new} both exist; {old} was left as it is")
    elif before is not None:
        check_path_free(snapshot, new, leaving=[old])
        done, data = Migrated("", ((old, new),)), before
        title = note._replace(title=f"{old} -> {new}", paths=(old,), extra=((FROM, old),))
        steps.append(Step({old: None, new: before}, title))
    if data is None or not rules.sections or rules.into in ("", new):
        return Plan(tuple(steps), done)
    parted = split_sections(data, rules.sections)
    count = len(parted.sections)
    if count:
        steps.append(_move_sections(rules, note, snapshot, parted))
        done = done._replace(sections=count, source=new, into=rules.into)
    return Plan(tuple(steps), done)


def _move_sections(rules: Migration, note: Note, snapshot: Snapshot, parted: SplitSections) -> Step:
    new, into = rules.new, rules.into
    check_path_free(snapshot, into, [new])
    line = NOTE.format(what=rules.sections.strip("# "), into=into).encode()
    rest = parted.rest if line in parted.rest.splitlines() else join_sections(parted.rest, line)
    whole = join_sections(snapshot.read(into) or b"", *parted.sections)
    for path, data in ((new, rest), (into, whole)):
        check_size(path, len(data))
    title = f"{counted(len(parted.sections), 'section')} of {new} -> {into}"
    message = note._replace(title=title, paths=(into, new), extra=((FROM, new),))
    return Step({new: rest, into: whole}, message)


def _was_taken_back(snapshot: Snapshot, path: str, *, came_back: bool) -> bool:
    """Whether a migration was undone or the file at PATH restored, and none was made after that.

    Edits since then do not count: a refusal lasts until somebody asks for the migration.
    CAME_BACK: the file has its old name again, so an earlier migration was reversed in whichever
    way: with `mv`, with git or with an editor.
    """
    repository, undone = snapshot.repository, set[str]()
    restored = migrated = False
    line = [*islice(repository.history(snapshot.commit), LOOKED_AT)]
    for commit, parent in pairwise([*line, None]):
        note = parse(commit.message) if commit else None
        if commit is None or note is None or (migrated and not undone and not came_back):
            break
        if note.op == "migrate":
            if restored or commit.oid in undone or (came_back and note.get(FROM) == path):
                return True
            migrated = True
        elif not migrated and commit.oid not in undone:  # an undo that was undone does not count
            undone |= {*note.all(UNDOES), *note.all(PARTLY), *re.findall(_REVERTS, commit.message)}
            if note.op == "restore" and parent:
                before = repository.snapshot(parent.oid).oid(path)
                restored |= before != repository.snapshot(commit.oid).oid(path)
    return False


def _last_op(snapshot: Snapshot, path: str) -> str | None:
    """The operation that last changed the file at PATH; None if that was long ago."""
    repository, blob = snapshot.repository, snapshot.oid(path)
    line = repository.history(snapshot.commit)
    for commit, parent in pairwise([*islice(line, LOOKED_AT), None]):
        if commit and parent is None and commit.parents:
            return None
        before = repository.snapshot(parent.oid).oid(path) if parent else None
        if commit and before != blob:
            return parse(commit.message).op
    return None
