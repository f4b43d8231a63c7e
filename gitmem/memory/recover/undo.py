"""Take back what commits did, and leave alone what others did since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from gitmem.errors import BadInput, GitmemError, NotFound
from gitmem.memory.context.sources import has_transcripts
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_of
from gitmem.memory.recover.revert import Left, Reversal, effect_of
from gitmem.memory.resolve import resolve
from gitmem.memory.write.write import Change
from gitmem.model.commit_messages import PARTLY, UNDOES, parse
from gitmem.store.history.log import walk
from gitmem.store.repository import Commit, Repository, Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.publish import Plan, Step

__all__ = ["Left", "Undone", "undo"]


class Undone(NamedTuple):
    """Commits whose effect is gone, in one new commit."""

    commit: str
    undone: tuple[str, ...]
    changes: tuple[Change, ...]
    left: tuple[Left, ...] = ()
    captured: tuple[Captured, ...] = ()
    pending: bool = False
    reopened: tuple[str, ...] = ()
    """Checkpoints of transcripts whose ranges are open again by it."""

    @property
    def changed(self) -> bool:
        """False when there was nothing to take back."""
        return bool(self.changes or self.undone)


def undo(
    group: Group,
    commits: Sequence[str] = (),
    *,
    last: int = 0,
    session: str = "",
    agent: str = "",
    reason: str = "",
) -> Undone:
    """Revert the named commits, or the last N, or all of a session or an agent, as one commit."""
    if sum((bool(commits), bool(last), bool(session or agent))) > 1 or last < 0:
        raise BadInput(
            "say either which commits, how many, or whose",
            hint="for example `gitmem undo --last 2`, or `gitmem undo --session ID`",
        )
    note = group.note("undo", reason=reason)
    wanted = [resolve(group, each) for each in commits]
    with group.writing() as writer:
        chosen = _chosen(group.repository, wanted, last, session, agent)
        for path in _touched(group.repository, chosen):
            writer.adopt(path)
        layout = layout_of(group)
        work = Reversal(chosen, layout.layer_of)
        words = _only_words(group.repository, chosen)

        def plan(snapshot: Snapshot) -> Plan | None:
            files = work.files(snapshot)
            if not files and not words:
                return None
            undone = tuple((UNDOES, each) for each in (*work.undone, *words))
            extra = (*undone, *((PARTLY, each) for each in work.partly))
            done = note._replace(title=_title(chosen), paths=tuple(files), extra=extra)
            return Plan((Step(files, done),))

        published = writer.publish(plan)
        commit = published.commit if published else group.repository.tip()
        undone = (*work.undone, *words)
        captured = tuple(writer.captured)
        pending = writer.pending
    reopened = _reopened(group, {*undone, *work.partly})
    return Undone(commit, undone, work.changes, tuple(work.left), captured, pending, reopened)


def _reopened(group: Group, undone: set[str]) -> tuple[str, ...]:
    """The checkpoints that are among the commits UNDONE, or cover one of them."""
    if not undone or not has_transcripts(group):
        return ()
    from gitmem.memory.transcripts.transcripts import ask_said, standing, tip_of

    with suppress(GitmemError, OSError):  # what was to be done is done
        found = ask_said(group, tip_of(group), lambda connection: standing(connection).reopened)
        return tuple(each.oid for each in found if undone & {each.oid, *each.covers})
    return ()


def _only_words(repository: Repository, commits: Sequence[Commit]) -> tuple[str, ...]:
    """Those of COMMITS that changed no file: a checkpoint, or what took one back."""
    said = (each for each in commits if parse(each.message).op in ("checkpoint", "undo"))
    return tuple(each.oid for each in said if not any(effect_of(repository, each)))


def _touched(repository: Repository, commits: Sequence[Commit]) -> list[str]:
    effects = [each for commit in commits for each in effect_of(repository, commit)]
    return sorted({path for each in effects for path in (each.path, each.moved_from) if path})


def _chosen(
    repository: Repository, wanted: Sequence[str], last: int, session: str, agent: str
) -> list[Commit]:
    """The commits to undo, newest first."""
    if wanted:
        return _named(repository, set(wanted))
    if session or agent:
        return _by(repository, session, agent)
    found = [each for each in _line(repository, max(last, 1)) if each.parents]
    if not found:
        raise NotFound("there is nothing to undo", hint="see `gitmem log`")
    return found


def _line(repository: Repository, limit: int = 0) -> Iterator[Commit]:
    return islice(repository.history(repository.tip()), limit or None)


def _named(repository: Repository, wanted: set[str]) -> list[Commit]:
    found = []
    for commit in walk(repository, repository.tip()):
        if commit.oid in wanted:
            found.append(commit)
        if len(found) == len(wanted):
            return found
    strangers = wanted - {each.oid for each in found}  # not on the branch at all
    return found + [repository.commit(each) for each in sorted(strangers)]


def _by(repository: Repository, session: str, agent: str) -> list[Commit]:
    """What one session or agent did and nobody has taken back since, merged branches included.

    A merge itself is nobody's work: what it brought is that of the commits behind it.
    """
    found: list[Commit] = []
    undone: set[str] = set()
    known = False
    for commit in walk(repository, repository.tip()):
        mine = len(commit.parents) == 1 and _is_of(commit, session, agent)
        known = known or mine
        if commit.oid in undone:
            continue
        undoes = parse(commit.message).all(UNDOES)
        # To take back one's own work is no work that could be taken back; others' work is.
        if undoes and not (mine and _any_of_others(repository, undoes, session, agent)):
            undone.update(undoes)
        elif mine:
            found.append(commit)
    if not known:
        who = f"session {session!r}" if session else f"agent {agent!r}"
        raise NotFound(f"no commit of {who}", hint="see who wrote with `gitmem log`")
    return found


def _is_of(commit: Commit, session: str, agent: str) -> bool:
    note = parse(commit.message)
    names = (note.session, note.agent or commit.author)
    return all(want in ("", have) for want, have in zip((session, agent), names, strict=True))


def _any_of_others(
    repository: Repository, commits: Sequence[str], session: str, agent: str
) -> bool:
    return not all(_is_of(repository.commit(each), session, agent) for each in commits)


def _title(commits: Sequence[Commit]) -> str:
    first = commits[0].message.partition("\n")[0]
    return first if len(commits) == 1 else f"{len(commits)} commits, the newest: {first}"
