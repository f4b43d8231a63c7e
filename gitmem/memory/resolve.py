"""Which commit somebody means: by date, name, tag or id."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import islice

from gitmem.errors import BadInput, MomentNotFound
from gitmem.memory.group import Group
from gitmem.model.hints import Hint, call
from gitmem.store.objects.database import ObjectMissing
from gitmem.store.repository import BRANCH, Repository

FORMS = Hint(
    "give a commit, a tag, HEAD~2, or a date such as 2026-02-08, 2026-02-08T14:30, yesterday "
    "or `3 days ago`; ",
    call("log"),
    " lists the commits",
)
STEPS = r"(?:[~^][0-9]{0,9})*\Z"  # no date, tag or id holds these two signs
CURRENT = frozenset({"HEAD", "@", "main", BRANCH})
WHOLE_ID = 40
CANDIDATES_SHOWN = 10


class MomentAmbiguous(BadInput):
    """More than one commit begins like that."""

    code = "moment-ambiguous"


def resolve(group: Group, at: str | None) -> str:
    """The id of the commit that AT names; None names what the group holds now.

    A date denotes the last commit of its interval, in the group's time zone.
    """
    if at is None:
        return group.repository.tip()
    name = re.sub(STEPS, "", at.strip())
    commit = _named(group, name)
    for kind, number in re.findall(r"([~^])([0-9]*)", at.strip()[len(name) :]):
        commit = _stepped(group.repository, commit, kind, int(number or 1))
    return commit


def _named(group: Group, name: str) -> str:
    repository, digits = group.repository, name.lower()
    is_id = re.fullmatch(r"[0-9a-f]{4,40}", digits)
    if is_id and len(name) == WHOLE_ID:
        return _by_id(repository, digits)
    from gitmem.model.moments import parse_moment  # only where a moment is named

    moment = parse_moment(name, group.now(), group.zone)
    if moment:
        return _by_time(group, moment.end)
    if name in CURRENT:
        return repository.tip()
    tag = _by_tag(repository, name)
    if tag:
        return tag
    if is_id:
        return _by_prefix(repository, digits)
    raise MomentNotFound(
        f"no commit, tag or date {name!r}" if name else "no moment was named",
        hint=FORMS,
        at=name,
    )


def _by_time(group: Group, moment: datetime) -> str:
    """The state of the group at MOMENT; before it had any file, that of the folder it adopted.

    Adopted commits came to the branch with the adoption, so its own dates lead to none of them.
    """
    from gitmem.store.history.timeline import adopted_at, at_time

    repository = group.repository
    try:
        found = at_time(repository, moment, group.now()).oid
    except MomentNotFound:
        adopted = adopted_at(repository, moment)
        if adopted is None:
            raise
        return adopted.oid
    if repository.snapshot(found).folder(""):
        return found
    adopted = adopted_at(repository, moment)
    return adopted.oid if adopted else found


def _by_id(repository: Repository, oid: str) -> str:
    from gitmem.store.history.log import peel  # only where a moment is named

    try:
        with repository.objects.probing():
            commit = peel(repository, oid)
    except ObjectMissing as error:
        if error.oid != oid:
            raise
        raise MomentNotFound(f"no commit {oid}", hint=FORMS, at=oid) from error
    if commit is None:
        raise MomentNotFound(f"{oid} is not a commit", hint=FORMS, at=oid)
    return commit


def _by_tag(repository: Repository, name: str) -> str | None:
    short = name.removeprefix("refs/").removeprefix("tags/")
    oid = repository.reference(f"refs/tags/{short}") if short else None
    if oid is None:
        return None
    from gitmem.store.history.log import peel

    commit = peel(repository, oid)
    if commit is None:
        raise MomentNotFound(f"the tag {name!r} is not on a commit", hint=FORMS, at=name)
    return commit


def _by_prefix(repository: Repository, prefix: str) -> str:
    from gitmem.store.history.log import commits_like

    found = commits_like(repository, prefix)
    if not found:
        raise MomentNotFound(f"no commit {prefix}", hint=FORMS, at=prefix)
    if len(found) > 1:
        raise _ambiguous(repository, prefix, found)
    return found[0]


def _ambiguous(repository: Repository, prefix: str, found: list[str]) -> MomentAmbiguous:
    subjects = {oid: repository.commit(oid).message.partition("\n")[0] for oid in found}
    ids = ", ".join(oid[:12] for oid in found[:CANDIDATES_SHOWN])
    return MomentAmbiguous(
        f"{len(found)} commits begin with {prefix!r}: {ids}",
        hint="give more digits",
        at=prefix,
        candidates=[{"commit": oid, "subject": subject} for oid, subject in subjects.items()],
    )


def _stepped(repository: Repository, commit: str, kind: str, number: int) -> str:
    """`~N` goes N commits back along the branch, `^N` to the Nth parent of a merge."""
    if kind == "~":
        chosen = [each.oid for each in islice(repository.history(commit), number, number + 1)]
    else:
        parents = repository.commit(commit).parents if number else (commit,)
        chosen = list(parents[max(number - 1, 0) : number or 1])
    if not chosen:
        raise MomentNotFound(
            f"there is nothing at {commit[:10]}{kind}{number}",
            hint=Hint("see how far the history goes back with ", call("log")),
            at=f"{commit[:10]}{kind}{number}",
        )
    return chosen[0]
