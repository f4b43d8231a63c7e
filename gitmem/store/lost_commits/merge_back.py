"""Published commits that left the branch: put back where nobody meant it, kept where somebody did.

Where the branch is behind them, the commits themselves come back. Where it went another way, a
merge has both, so that authors, reasons and sessions stay in history.
"""

from __future__ import annotations

import stat
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import Conflict, Damaged, GitmemError
from gitmem.model.commit_messages import Note, parse
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
    """The newest of them."""
    commits: int
    landed: str
    """Where the branch was put, which leads to them again; empty where they are only kept."""
    how: str
    """What the reflog says of the move that took them away; empty when it says nothing."""
    unreadable: tuple[Unreadable, ...] = ()
    """What was left out because nobody can read it any more."""

    @property
    def message(self) -> str:
        """What became of them, in a sentence."""
        what = counted(self.commits, "commit")
        moved = f" by `{self.how}`" if self.how else ""
        lacking = self._lacking()
        if self.landed:
            return f"{what} had left the branch{moved} and {_are(self.commits)} back{lacking}"
        them = "it" if self.commits == 1 else "them"
        back = f"bring {them} back with `gitmem kept restore {self.commit[:10]}`"
        return f"{what} left the branch{moved} and {_are(self.commits)} kept{lacking}; {back}"

    def _lacking(self) -> str:
        if not self.unreadable:
            return ""
        from gitmem.store.lost_commits.rebuild import RebuiltLine

        return f"; {RebuiltLine(self.commit, self.unreadable).loss} (see `gitmem check`)"


class Rejoiner:
    """Compares the branch with the last published tip. Needs the group's lock."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._repository = publisher.repository
        self.found: list[Rejoined] = []

    def compare(self, published: str) -> bool:
        """See where the branch is; False when somebody took off it what was PUBLISHED last."""
        self._heal_file()
        tip = self._repository.tip()
        self._publisher.published = published or tip
        left = self._left(tip)
        self._deal_with(left, tip)
        return left is None or self._is_back(published)

    def _is_back(self, published: str) -> bool:
        """True when the branch leads to PUBLISHED again, or to what can be read of it."""
        from gitmem.store.lost_commits.kept import newest_copy

        there = newest_copy(self._repository.gitdir, published)
        with suppress(ObjectDamaged):
            return is_behind(self._repository.objects, there, self._repository.tip())
        return False

    def __call__(self, tip: str) -> bool:
        """Deal with a branch at TIP that is not where we left it; True when it was moved again."""
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
        """Put a line on the branch unless its end was MEANT; tell which, and where that is now.

        Where it cannot be read whole, what can be read of it counts: a merge reads the newest
        versions alone, and an older one that is missing would make every `git gc` fail.
        """
        from gitmem.store.lost_commits.rebuild import rebuild_line  # only where commits left

        line = rebuild_line(self._repository, head)
        return line, "" if meant else self._landed(line.head, old=old)

    def land(self, head: str) -> str:
        """Put a kept line of commits on the branch; tell where that is now, or nothing."""
        from gitmem.store.lost_commits.kept import release

        line, landed = self._put_back(head, meant=False, old=True)
        if landed:
            self._note(line)
            release(self._repository, head)
            told = [each._replace(landed=landed) for each in self.found if each.commit == head]
            if line.unreadable:
                told.append(Rejoined(line.head, len(line.made), landed, "", line.unreadable))
            self.found = [*(each for each in self.found if each.commit != head), *told]
        return landed

    def _note(self, line: RebuiltLine) -> None:
        if line.made:
            from gitmem.store.lost_commits.rebuild import note_rebuilt

            note_rebuilt(self._repository.gitdir, line)

    def _heal_file(self) -> None:
        """Give a branch that lost its file a new one, for the git of a person to see."""
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
            with objects.probing():  # the reflog may name what a gc has taken: that is no damage
                return departure(self._repository.gitdir, objects, published, tip)
        except ObjectDamaged:
            return None  # what cannot be read cannot be put back; `check` names it

    def _tell(self, line: RebuiltLine, tip: str, landed: str, left: Departure) -> None:
        objects = self._repository.objects
        count = len(reached(objects, line.head, reached(objects, tip)))
        self.found.append(Rejoined(line.head, count, landed, left.how, line.unreadable))

    def _landed(self, head: str, *, old: bool = False) -> str:
        """Put the line that ends in HEAD on the branch; nothing where it does not go together.

        OLD: the branch went on since, so its own commits are the first parents of a merge. Else
        theirs are: they are what gitmem acknowledged last, and what `--last`, retries and
        checkpoints walk along.
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
            # By this id recovery knows whether the move was made.
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
        """The tree that has what both did since they parted; and what to say of it."""
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
        """Write the commit of a merge, and tell its id."""
        repository, when = self._repository, self._publisher.clock()
        newest = max(repository.commit(each.commit).committed for each in parents)
        committed = max(int(when.timestamp()), newest)
        first, second = parents
        raw = commit_bytes(root, first.commit, note, when, committed, merged=second.commit)
        commit = repository.objects.stage("commit", raw)
        repository.objects.flush()
        return commit

    def _standing(self, path: str, ours: Snapshot, theirs: Snapshot) -> str | None:
        """What is believed to stand at PATH: a version of either side, or the one it was made of.

        `git reset` has put the branch's version there; where only the branch was moved, the
        published one still stands. Anything else is an edit, and the index tells of which.
        """
        known = (ours.oid(path), theirs.oid(path))
        seen = self._publisher.worktree.look(path)
        if not seen.obstacle and seen.oid in known:
            return seen.oid
        staged = self._repository.staging.oid(path)
        return staged if staged in known else known[0]


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _is_file(node: Node | None) -> bool:
    """True for a plain file, and for none at all."""
    return node is None or stat.S_ISREG(node.mode)
