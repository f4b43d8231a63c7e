"""A branch that was moved back: what it held is still there, but only a reflog keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote

from gitmem.model.text.format import counted
from gitmem.store.fsck.acknowledged import read_acknowledged
from gitmem.store.fsck.findings import REPAIR, Finding, info, warning
from gitmem.store.fsck.reachable import Wholeness
from gitmem.store.lost_commits.departures import logged_parents, readable_before
from gitmem.store.lost_commits.kept import KEPT, let_go, rebuilt, unreadable
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.refs.files import ZERO, LogLine, log_names, read_log
from gitmem.store.repository import BRANCH, parse_commit

REWOUND = "branch-rewound"
KEPT_CODE = "commits-kept"
BROKEN_LOG = "reflog-unreadable"
MOST = 100
"""How many findings of one kind are listed one by one."""


def rewound_findings(
    gitdir: Path, refs: Mapping[str, str], objects: Objects, verified: str
) -> list[Finding]:
    """Every line of commits that the branch once had and that no ref leads to any more."""
    lines, _, _ = read_log(gitdir, BRANCH)
    while lines and lines[-1].new != refs.get(BRANCH):
        lines.pop()  # of a writer that went on after the refs were read
    heads = lost_heads(gitdir, refs, objects, lines, verified)
    found = [
        warning(REWOUND, f"the branch was moved back: {_what(heads[oid], oid)}", object=oid)
        for oid in list(heads)[:MOST]
    ]
    if len(heads) > MOST:
        more = f"the branch was moved back: {counted(len(heads) - MOST, 'commit')} more left it"
        found.append(warning(REWOUND, more, hint=REPAIR))
    return [*found, *_kept_findings(gitdir, refs, lines)]


def _what(how: str, oid: str) -> str:
    moved = f" by `{how}`" if how else ""
    return f"{oid[:10]} left it{moved}, and only the reflog still names it"


def _kept_findings(
    gitdir: Path, refs: Mapping[str, str], lines: Sequence[LogLine]
) -> Iterator[Finding]:
    kept = [oid for name, oid in refs.items() if name.startswith(KEPT)]
    how = moves_from(lines)
    for oid in kept[:MOST]:
        moved = f" by `{how[oid]}`" if how.get(oid) else ""
        text = f"{oid[:10]} left the branch{moved} and is kept"
        hint = f"bring it back: `gitmem kept restore {oid[:10]}`; drop it: `gitmem kept drop"
        yield info(KEPT_CODE, text, object=oid, hint=f"{hint} {oid[:10]} --yes`")
    if len(kept) > MOST:
        text = f"{counted(len(kept) - MOST, 'commit')} more left the branch and are kept"
        yield info(KEPT_CODE, text, hint="list them: `gitmem kept`")


def unreadable_findings(gitdir: Path, objects: Objects) -> Iterator[Finding]:
    """What was left out of rebuilt commits, until somebody has it again or knows of it."""
    done = read_acknowledged(gitdir).ids
    lost = [each for each in unreadable(gitdir, objects) if each.id not in done]
    for each in lost[:MOST]:
        way = way_back(gitdir, each.kind, each.object, each.id)
        found = warning("version-lost", each.told, path=each.path, object=each.object, hint=way)
        yield found._replace(id=each.id)


def settled_ids(gitdir: Path) -> set[str]:
    """The commits of which `check --repair` has kept all that can be, once it has been over them.

    Those that only another reflog names, such as that of a detached HEAD, are not among them.
    """
    return logged_ids(gitdir, BRANCH).union(*rebuilt(gitdir).items())


def logged_ids(gitdir: Path, *names: str) -> set[str]:
    """The commits that the reflogs of NAMES name."""
    lines = (line for name in names for line in read_log(gitdir, name)[0])
    return {oid for line in lines for oid in (line.old, line.new)}


def broken_log_findings(
    gitdir: Path, objects: Objects, known: Callable[[str], bool]
) -> Iterator[Finding]:
    """Reflogs that lead to commits which lack an object: every `git gc` fails for that.

    That the copy of such a line was dropped, or its loss acknowledged, does not end it.
    """
    whole = Wholeness(objects, known)
    for name in log_names(gitdir):
        lines, _, _ = read_log(gitdir, name)
        named = dict.fromkeys(oid for line in lines for oid in (line.new, line.old))
        broken = [each for each in named if not whole.of(each)]
        # A commit that is missing itself is told as such, and harms no gc.
        broken = [each for each in broken if _parents(objects, each) is not None]
        if broken:
            what = f"{counted(len(broken), 'commit')} that cannot be read whole"
            text = f"the reflog of {name} leads to {what}, and so `git gc` fails"
            yield warning(BROKEN_LOG, text, path=f"logs/{name}", object=broken[0])


def way_back(gitdir: Path, kind: str, oid: str, id: str = "") -> str:
    """Bring the object back, and not its text to the file: a newer version may stand there.

    ID is what `check --acknowledge` takes where that may end it, too.
    """
    way = (
        f"from a copy of this group: `git -C COPY cat-file {kind} {oid} | "
        f"git --git-dir={quote(str(gitdir))} hash-object -t {kind} -w --stdin`"
    )
    return f"{way}; if nobody has a copy: `gitmem check --acknowledge {id}`" if id else way


def moves_from(lines: Iterable[LogLine]) -> dict[str, str]:
    """What the reflog says about the move that led away from each commit."""
    return {line.old: line.message for line in lines if not line.is_ours}


def lost_heads(
    gitdir: Path,
    refs: Mapping[str, str],
    objects: Objects,
    lines: Sequence[LogLine],
    verified: str,
) -> dict[str, str]:
    """The commits that LINES know, that nobody let go, and that no ref but VERIFIED leads to.

    Newest first, with what the reflog says; one that leads to another stands for both. The cost is
    that of one walk through the commits, whatever the number of moves.
    """
    said = moves_from(lines)
    logged = logged_parents(lines)
    left = [*_left_behind(objects, lines), refs.get(verified, "")]
    wanted = list(filter(None, (readable_before(objects, oid, logged) for oid in left)))
    gone = let_go(gitdir)
    starts = [oid for name, oid in refs.items() if name != verified]
    lost, reached = _unreached(objects, starts, [oid for oid in wanted if oid not in gone])
    heads: dict[str, str] = {}
    for oid in dict.fromkeys(oid for oid in wanted if oid in lost):
        if oid not in reached:
            for older in _behind(objects, oid, reached):
                heads.pop(older, None)
            heads[oid] = said.get(oid, "")
    return heads


def _left_behind(objects: Objects, lines: Sequence[LogLine]) -> Iterator[str]:
    """The commits that a move may have led away from, newest first.

    A move of ours, and a commit on top of another, leads on.
    """
    if lines:
        yield lines[-1].new
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at]
        if line.old != ZERO and not _leads_on(objects, line):
            yield line.old
        if at and lines[at - 1].new not in (line.old, ZERO):
            yield lines[at - 1].new


def _leads_on(objects: Objects, line: LogLine) -> bool:
    if line.is_ours and not line.message.startswith("check: "):
        return True
    return line.old in (_parents(objects, line.new) or ())


def _unreached(
    objects: Objects, starts: Iterable[str], wanted: Iterable[str]
) -> tuple[set[str], set[str]]:
    """Those of WANTED that can be read and do not lie behind any of STARTS; and all that does.

    The second is all of it only where the first is not empty.
    """
    missing = {oid for oid in wanted if _parents(objects, oid) is not None}
    seen: set[str] = set()
    waiting = list(starts)
    missing.difference_update(waiting)
    while waiting and missing:
        oid = waiting.pop()
        if oid not in seen:
            seen.add(oid)
            missing.discard(oid)
            waiting += _parents(objects, oid) or ()
    return missing, seen


def _behind(objects: Objects, start: str, reached: set[str]) -> Iterator[str]:
    """START and what lies behind it, as far as it is not REACHED before; it is now."""
    waiting = [start]
    while waiting:
        oid = waiting.pop()
        if oid not in reached:
            reached.add(oid)
            yield oid
            waiting += _parents(objects, oid) or ()


def _parents(objects: Objects, oid: str) -> tuple[str, ...] | None:
    try:
        kind, data = objects.read(oid)
    except ObjectDamaged:
        return None
    if kind == "tag":
        return (data[7:47].decode("ascii", "replace"),)
    return parse_commit(oid, data).parents if kind == "commit" else None
