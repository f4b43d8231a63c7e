"""Check and repair what only reflogs lead to: rewound branches, kept and broken commits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote

from gitmem.model.hints import Hint, call
from gitmem.model.text.format import counted
from gitmem.store.durable import write_durably
from gitmem.store.fsck.acknowledged import read_acknowledged
from gitmem.store.fsck.findings import CheckFinding, Repaired, info, warning
from gitmem.store.history.ancestry import reached, read_commit, readable_commit
from gitmem.store.lost_commits.departures import lost_heads, outermost
from gitmem.store.lost_commits.kept import KEPT, keep, rebuilt
from gitmem.store.lost_commits.rebuild import note_rebuilt, rebuild_line
from gitmem.store.lost_commits.reflog import logged_ids, moves_from
from gitmem.store.lost_commits.unreadable import unreadable
from gitmem.store.objects import trees
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.objects.trees import FOLDER, SUBMODULE, Node
from gitmem.store.refs.files import ZERO, LogLine, all_refs, log_names, parse_log, read_log
from gitmem.store.repository import BRANCH, Commit, Repository
from gitmem.store.setup import to_quarantine

REWOUND = "branch-rewound"
KEPT_CODE = "commits-kept"
BROKEN_LOG = "reflog-unreadable"
MOST = 100
"""The number of findings of one kind that are listed one by one."""


def rewound_findings(
    gitdir: Path, refs: Mapping[str, str], objects: Objects
) -> Iterator[CheckFinding]:
    """Commits that the branch once had and no ref leads to, and those that are kept."""
    lines = read_log(gitdir, BRANCH).lines
    while lines and lines[-1].new != refs.get(BRANCH):
        lines.pop()  # of a writer that went on after the refs were read
    heads = lost_heads(gitdir, refs, objects, lines)
    for oid, how in list(heads.items())[:MOST]:
        what = f"{oid[:10]} left it{_by(how)}, and only the reflog still names it"
        yield warning(REWOUND, f"the branch was moved back: {what}", object=oid)
    if len(heads) > MOST:
        more = f"{counted(len(heads) - MOST, 'commit')} more left it"
        yield warning(REWOUND, f"the branch was moved back: {more}")
    yield from _kept_findings(refs, lines)


def _by(how: str) -> str:
    return f" by `{how}`" if how else ""


def _kept_findings(refs: Mapping[str, str], lines: Sequence[LogLine]) -> Iterator[CheckFinding]:
    kept = [oid for name, oid in refs.items() if name.startswith(KEPT)]
    how = moves_from(lines)
    for oid in kept[:MOST]:
        short = oid[:10]
        text = f"{short} left the branch{_by(how.get(oid, ''))} and is kept"
        restore, drop = call("kept restore", short), call("kept drop", short, yes=True)
        hint = Hint("merge it back: ", restore, "; drop it: ", drop)
        yield info(KEPT_CODE, text, object=oid, hint=hint)
    if len(kept) > MOST:
        text = f"{counted(len(kept) - MOST, 'commit')} more left the branch and are kept"
        yield info(KEPT_CODE, text, hint=Hint("list them: ", call("kept")))


def unreadable_findings(gitdir: Path, objects: Objects) -> Iterator[CheckFinding]:
    """Objects that rebuilt commits lack, until a copy is restored or the loss acknowledged."""
    done = read_acknowledged(gitdir).ids
    lost = [each for each in unreadable(gitdir, objects) if each.id not in done]
    for each in lost[:MOST]:
        hint = way_back(gitdir, each.kind, each.object, each.id)
        found = warning("version-lost", each.message, path=each.path, object=each.object, hint=hint)
        yield found._replace(id=each.id)


def way_back(gitdir: Path, kind: str, oid: str, id: str = "") -> str:
    """How to restore an object from a copy of the group; with ID, also how to acknowledge its loss.

    The hint restores the object and not the file: a newer version may stand there.
    """
    way = (
        f"from a copy of this group: `git -C COPY cat-file {kind} {oid} | "
        f"git --git-dir={quote(str(gitdir))} hash-object -t {kind} -w --stdin`"
    )
    if not id:
        return way
    return Hint(way, "; if no copy exists: ", call("check", acknowledge=id))


def broken_log_findings(
    gitdir: Path, objects: Objects, known: Callable[[str], bool]
) -> Iterator[CheckFinding]:
    """Reflogs that lead to commits which lack an object: every `git gc` fails for that.

    Dropping the copy of such a commit, or acknowledging its loss, does not end that.
    """
    whole = Wholeness(objects, known)
    for name in log_names(gitdir):
        lines = read_log(gitdir, name).lines
        named = dict.fromkeys(oid for line in lines for oid in (line.new, line.old))
        broken = [each for each in named if not whole.of(each)]
        # A missing commit has its own finding, and no gc fails for it.
        broken = [each for each in broken if readable_commit(objects, each)]
        if broken:
            what = f"{counted(len(broken), 'commit')} that cannot be read whole"
            text = f"the reflog of {name} leads to {what}, and so `git gc` fails"
            yield warning(BROKEN_LOG, text, path=f"logs/{name}", object=broken[0])


class Wholeness:
    """Whether commits can be read whole: with their files and their history.

    Objects that are KNOWN count as whole: refs lead to them, and another walk checks them.
    """

    def __init__(self, objects: Objects, known: Callable[[str], bool]) -> None:
        self._objects, self._known = objects, known
        self._answers: dict[str, bool] = {ZERO: True}

    def of(self, head: str) -> bool:
        """True when HEAD is whole; parents are checked first, each object once."""
        waiting, begun = [head], set[str]()
        with self._objects.probing():
            while waiting:
                oid = waiting[-1]
                commit = None if self._is_decided(oid) else self._commit(oid)
                begun.add(oid)
                needed = [each for each in commit.parents if each not in begun] if commit else []
                needed = [each for each in needed if not self._is_decided(each)]
                waiting += needed
                if not needed:
                    waiting.pop()
                    if commit:
                        behind = all(map(self._answer, commit.parents))
                        self._answers[oid] = behind and self._holds(Node(FOLDER, commit.tree))
        return self._answer(head)

    def _is_decided(self, oid: str) -> bool:
        return oid in self._answers or self._known(oid)

    def _answer(self, oid: str) -> bool:
        return self._answers.get(oid, True)

    def _commit(self, oid: str) -> Commit | None:
        try:
            return read_commit(self._objects, oid)
        except (ObjectDamaged, ValueError):
            self._answers[oid] = False
            return None

    def _holds(self, node: Node) -> bool:
        if node.mode != SUBMODULE and not self._is_decided(node.oid):
            try:
                data = self._objects.read_as("tree" if node.is_folder else "blob", node.oid)
                below = trees.parse(data).values() if node.is_folder else ()
                self._answers[node.oid] = all(map(self._holds, below))
            except (ObjectDamaged, ValueError, IndexError):
                self._answers[node.oid] = False
        return self._answer(node.oid)


def drop_torn_lines(gitdir: Path) -> Iterator[Repaired]:
    """Remove torn lines from reflogs."""
    yield from _rewrite_logs(gitdir, lambda line: line)


def drop_broken_lines(repository: Repository) -> Iterator[Repaired]:
    """Remove lines of reflogs that name lost commits; copies replace commits that lack objects.

    Only after everything that left the branch is kept: these lines are the last to know the parent
    of a damaged commit. A line whose commit lacks an object makes every `git gc` fail; it goes even
    where its copy was dropped.
    """
    gitdir, objects = repository.gitdir, repository.objects
    broken = _broken(repository, logged_ids(gitdir, *log_names(gitdir)))
    copies = {old: new for old, new in rebuilt(gitdir).items() if old in broken}

    def mended(line: bytes) -> bytes | None:
        old, new, rest = line.split(b" ", 2)
        ids = [_newest(oid.decode("ascii"), copies) for oid in (old, new)]
        sound = all(oid == ZERO or readable_commit(objects, oid) for oid in ids)
        kept = sound and broken.isdisjoint(ids)
        return b" ".join((*(oid.encode("ascii") for oid in ids), rest)) if kept else None

    yield from _rewrite_logs(gitdir, mended)


def _rewrite_logs(gitdir: Path, mended: Callable[[bytes], bytes | None]) -> Iterator[Repaired]:
    """Write each reflog again with its sound lines as MENDED; None removes a line."""
    for name in log_names(gitdir):
        path = gitdir / "logs" / name
        lines = list(filter(None, path.read_bytes().split(b"\n"))) if path.is_file() else []
        kept = [new for line in lines if parse_log(line).lines and (new := mended(line))]
        if kept != lines:
            to_quarantine(gitdir, path, f"reflog-{path.name}")
            write_durably(path, b"".join(line + b"\n" for line in kept))
            for code in ("reflog-torn", BROKEN_LOG):
                yield Repaired(code, "sound lines are kept", f"logs/{name}")


def _newest(oid: str, copies: Mapping[str, str]) -> str:
    """The newest copy of OID: a copy may have been damaged, and copied again."""
    tried = set[str]()
    while oid in copies and oid not in tried:
        tried.add(oid)
        oid = copies[oid]
    return oid


def keep_broken(repository: Repository) -> None:
    """Keep what can be read of broken commits that only other reflogs name.

    A detached HEAD or another branch was at them, and `drop_broken_lines` removes their lines. A
    line that can be read whole is left to git.
    """
    gitdir, objects = repository.gitdir, repository.objects
    named = logged_ids(gitdir, *log_names(gitdir))
    # `keep_lost` has kept all that the reflog of the branch names.
    named -= logged_ids(gitdir, BRANCH).union(*rebuilt(gitdir).items())
    broken = [oid for oid in sorted(named & _broken(repository, named)) if objects.holds(oid)]
    for oid in outermost(objects, broken, set(), {}):
        line = rebuild_line(repository, oid)
        if line.made:
            keep(repository, line.head)
            note_rebuilt(gitdir, line)


def _broken(repository: Repository, named: set[str]) -> set[str]:
    """Those of NAMED, and of the rebuilt commits, that cannot be read whole."""
    objects, known = repository.objects, set[str]()
    for oid in all_refs(repository.gitdir).values():
        known |= reached(objects, oid, known)
    whole = Wholeness(objects, known.__contains__)
    named = named.union(*rebuilt(repository.gitdir).items())
    return {oid for oid in named if not whole.of(oid)}
