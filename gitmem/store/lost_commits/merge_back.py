"""Bring commits back that left the branch by accident, and keep those that left on purpose.

Where the branch is behind them, it moves forward to them. Where it went another way, a merge has
both sides, so that authors, reasons and sessions stay in history.
"""

from __future__ import annotations

import stat
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import Conflict, Damaged, GitmemError
from gitmem.model.commit_messages import Note, parse
from gitmem.model.hints import Hint, call
from gitmem.model.text.format import counted
from gitmem.store.history.ancestry import Split, is_behind, reached, split
from gitmem.store.lost_commits.departures import Departure, departure
from gitmem.store.objects.commits import commit_bytes, write_tree
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.objects.trees import Node
from gitmem.store.refs.files import packed_refs
from gitmem.store.refs.move import Move, move_ref
from gitmem.store.repository import BRANCH, Snapshot, branch_file, differences
from gitmem.store.transaction.capture import joined, new_id
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.transaction.publish import Publisher

if TYPE_CHECKING:
    from gitmem.store.lost_commits.rebuild import RebuiltLine
    from gitmem.store.lost_commits.unreadable import Unreadable


class Rejoined(NamedTuple):
    """Commits that had left the branch."""

    commit: str
    """The newest one."""
    commits: int
    landed: str
    """The commit of the branch that leads to them again; empty where they are kept."""
    how: str
    """The message in the reflog of the move that took them away; or empty."""
    unreadable: tuple[Unreadable, ...] = ()
    """The objects that were left out because they cannot be read."""

    @property
    def message(self) -> str:
        """What happened to them."""
        moved = f" by `{self.how}`" if self.how else ""
        left, now = ("had left", "back") if self.landed else ("left", "kept")
        be = "is" if self.commits == 1 else "are"
        text = f"{counted(self.commits, 'commit')} {left} the branch{moved} and {be} {now}"
        if not self.unreadable:
            return text
        from gitmem.store.lost_commits.rebuild import RebuiltLine

        return f"{text}; {RebuiltLine(self.commit, self.unreadable).loss}"

    @property
    def remark(self) -> Hint:
        """What happened to them, and the next step."""
        see = Hint(" (see ", call("check"), ")") if self.unreadable else ""
        return Hint(self.message, see, "; " if self.next_step else "", self.next_step)

    @property
    def next_step(self) -> str:
        """How to bring them back; empty where they are back."""
        if self.landed:
            return ""
        them = "it" if self.commits == 1 else "them"
        return Hint(f"bring {them} back with ", call("kept restore", self.commit[:10]))


class Rejoiner:
    """Brings back what left the branch since the last published tip. Needs the group's lock."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._repository = publisher.repository
        self.found: list[Rejoined] = []

    def compare(self, published: str) -> bool:
        """Compare the branch with the last PUBLISHED tip; False when that left it for good."""
        self._heal_file()
        tip = self._repository.tip()
        self._publisher.published = published or tip
        left = self._left(tip)
        self._deal_with(left, tip)
        return left is None or self._is_back(published)

    def _is_back(self, published: str) -> bool:
        """True when the branch leads to PUBLISHED again, or to its rebuilt copy."""
        from gitmem.store.lost_commits.kept import newest_copy

        there = newest_copy(self._repository.gitdir, published)
        with suppress(ObjectDamaged):
            return is_behind(self._repository.objects, there, self._repository.tip())
        return False

    def __call__(self, tip: str) -> bool:
        """Handle a branch that others moved to TIP; True when this moved it again."""
        return self._deal_with(self._left(tip), tip)

    def _deal_with(self, left: Departure | None, tip: str) -> bool:
        if left is None:
            self._publisher.published = tip
            return False
        moved = False
        for head in left.heads:
            line, landed = self._put_back(head, meant=left.meant)
            moved = moved or bool(landed)
            if not landed:
                from gitmem.store.lost_commits.kept import keep

                keep(self._repository, line.head)
            self._note(line)
            self._tell(line, tip, landed, left)
        if not moved:
            self._publisher.published = tip
        return moved

    def _put_back(self, head: str, *, meant: bool, old: bool = False) -> tuple[RebuiltLine, str]:
        """Bring a line back to the branch unless a person MEANT to remove it.

        Returns the line and the new commit of the branch, or an empty string. A line that cannot be
        read whole is rebuilt first: a missing older version would make every `git gc` fail.
        """
        from gitmem.store.lost_commits.rebuild import rebuild_line  # only where commits left

        line = rebuild_line(self._repository, head)
        return line, "" if meant else self._landed(line.head, old=old)

    def land(self, head: str) -> str:
        """Bring a kept line back to the branch; the new commit of the branch, or empty."""
        from gitmem.store.lost_commits.kept import release

        line, landed = self._put_back(head, meant=False, old=True)
        if landed:
            self._note(line)
            release(self._repository, head)
            back = [each._replace(landed=landed) for each in self.found if each.commit == head]
            if line.unreadable:
                back.append(Rejoined(line.head, len(line.made), landed, "", line.unreadable))
            self.found = [*(each for each in self.found if each.commit != head), *back]
        return landed

    def _note(self, line: RebuiltLine) -> None:
        if line.made:
            from gitmem.store.lost_commits.rebuild import note_rebuilt

            note_rebuilt(self._repository.gitdir, line)

    def _heal_file(self) -> None:
        """Write the file of a branch that lost it, for the git of a person to see."""
        repository = self._repository
        if branch_file(repository.gitdir):
            return
        tip = repository.tip()
        if packed_refs(repository.gitdir)[0].get(BRANCH) != tip:
            now = int(self._publisher.clock().timestamp())
            move = Move(tip, tip, "recovered from the reflog", now)
            with suppress(GitmemError, OSError):  # a git command is at work
                move_ref(repository.gitdir, BRANCH, move)

    def _left(self, tip: str) -> Departure | None:
        published = self._publisher.published
        try:
            objects = self._repository.objects
            with objects.probing():  # the reflog may name commits that a gc removed: no damage
                return departure(self._repository.gitdir, objects, published, tip)
        except ObjectDamaged:
            return None  # `check` reports it

    def _tell(self, line: RebuiltLine, tip: str, landed: str, left: Departure) -> None:
        objects = self._repository.objects
        count = len(reached(objects, line.head, reached(objects, tip)))
        self.found.append(Rejoined(line.head, count, landed, left.how, line.unreadable))

    def _landed(self, head: str, *, old: bool = False) -> str:
        """Bring the line that ends in HEAD back to the branch; empty where a merge conflicts.

        OLD: the branch went on since, so its own commits are the first parents of a merge. Else
        those of the line are: gitmem acknowledged them last, and `undo --last`, retries and
        checkpoints follow first parents.
        """
        publisher = self._publisher
        while True:
            tip = self._repository.tip()
            try:
                apart = split(self._repository.objects, tip, head)
                if not apart.theirs:
                    return tip
                ours = self._repository.snapshot(tip)
                plan = self._plan(ours, self._repository.snapshot(head), apart, old)
                publisher.check_claims({path for step in plan.steps for path in step.files}, ours)
            except (Conflict, Damaged):
                return ""
            published = publisher.publish_on(tip, ours, plan)
            if published:
                return published.commit

    def _plan(self, ours: Snapshot, theirs: Snapshot, apart: Split, old: bool) -> Plan[None]:
        words = f"{counted(len(apart.theirs), 'commit')} that had left the branch"
        note = Note(op="merge", id=new_id(), agent="gitmem", title=f"bring back {words}")
        own = parse(self._repository.commit(theirs.commit).message).id
        if not apart.ours and own:
            # By this id recovery finds whether the branch was moved.
            note, commit = note._replace(id=own), theirs.commit
        else:
            root, note = self._merged(ours, theirs, apart, note)
            commit = self._written(root, (ours, theirs) if old else (theirs, ours), note)
        final = self._repository.snapshot(commit)
        changed = [path for path, _, _ in differences(self._repository, "", ours.root, final.root)]
        files = {path: final.read(path) for path in changed if _is_file(final.node(path))}
        standing = {path: self._standing(path, ours, theirs) for path in files}
        return Plan((Step(files, note),), None, standing, commit)

    def _merged(
        self, ours: Snapshot, theirs: Snapshot, apart: Split, note: Note
    ) -> tuple[str, Note]:
        """The tree with the changes of both sides since they parted, and its note."""
        repository = self._repository
        base = repository.snapshot(apart.base) if apart.base else None
        files: dict[str, bytes | None] = {}
        changes = differences(repository, "", base.root if base else None, theirs.root)
        for path, old, new in changes:
            mine = ours.node(path)
            if mine == new or not (_is_file(mine) and _is_file(new)):
                continue
            if mine == old:
                files[path] = theirs.read(path)
            else:
                before = base.read(path) if base and _is_file(old) else None
                files[path], _ = joined(before, ours.read(path), theirs.read(path))
        root = write_tree(repository, ours.root, files)
        return root, note._replace(paths=tuple(sorted(files)))

    def _written(self, root: str, parents: tuple[Snapshot, Snapshot], note: Note) -> str:
        """Write the commit of a merge; its id."""
        repository, when = self._repository, self._publisher.clock()
        newest = max(repository.commit(each.commit).committed for each in parents)
        committed = max(int(when.timestamp()), newest)
        first, second = parents
        raw = commit_bytes(root, first.commit, note, when, committed, merged=second.commit)
        commit = repository.objects.stage("commit", raw)
        repository.objects.flush()
        return commit

    def _standing(self, path: str, ours: Snapshot, theirs: Snapshot) -> str | None:
        """The version that the work tree has at PATH: that of either side, or the base of an edit.

        `git reset` has put the branch's version there; where only the branch was moved, the
        published one is still there. Anything else is an edit, and the index names its base.
        """
        known = (ours.oid(path), theirs.oid(path))
        look = self._publisher.worktree.look(path)
        if not look.obstacle and look.oid in known:
            return look.oid
        staged = self._repository.staging.oid(path)
        return staged if staged in known else known[0]


def _is_file(node: Node | None) -> bool:
    """True for a regular file, and for None."""
    return node is None or stat.S_ISREG(node.mode)
