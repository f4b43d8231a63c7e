"""The lines of a plan with what they are about, and how all that is wrong with them is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gitmem.errors import BadInput, GitmemError, PlanRefused
from gitmem.memory.entries.relocate import Seen, seen_in
from gitmem.memory.entries.targets import all_meant
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.read.read import missing
from gitmem.model.curate.plan import Decision, Problem, as_facts, told
from gitmem.model.guards import check_message_text
from gitmem.model.layout.layout import Layout
from gitmem.store.repository import Snapshot


class Row(NamedTuple):
    """A decision, and what it is about as it was when somebody decided."""

    decision: Decision
    seen: tuple[Seen, ...]


def looked_up(
    group: Group, base: Snapshot, decisions: Iterable[Decision]
) -> tuple[list[Row], list[Problem]]:
    """Each decision with what it is about in BASE; a thing may be decided upon once."""
    layout = layout_at(group, base).layout
    rows: list[Row] = []
    problems: list[Problem] = []
    decided: dict[str, int] = {}
    for each in decisions:
        try:
            check_message_text("address, title or reason", "\n".join(_words(each)))
            rows.append(Row(each, tuple(_seen(group, base, layout, each, decided))))
        except GitmemError as error:
            problems.append(problem_of(each, error))
    return rows, problems


def _words(decision: Decision) -> Iterator[str]:
    yield from (*decision.addresses, decision.target, decision.title, decision.reason)


def _seen(
    group: Group, base: Snapshot, layout: Layout, decision: Decision, decided: dict[str, int]
) -> Iterator[Seen]:
    for thing in all_meant(group, base, layout, decision.addresses):
        found = seen_in(base, thing)
        if found is None:
            raise missing(group, base, thing.path)
        line = next((decided[each] for each in decided if _is_about(each, found)), None)
        if line is not None:
            where = "here" if line == decision.line else f"in line {line}"
            raise BadInput(f"{found.address} is decided upon {where} already")
        decided[found.address] = decision.line
        yield found


def _is_about(address: str, seen: Seen) -> bool:
    """Whether what is decided about ADDRESS is about SEEN, too: an entry goes with its file."""
    within = not seen.slug and address.startswith(f"{seen.path}#")
    return within or address in (seen.address, seen.path)


def problem_of(decision: Decision, error: GitmemError) -> Problem:
    """What is wrong with the line of DECISION."""
    # A plan has no options by which a guard is waived.
    useful = error.hint and "repeat with --" not in error.hint
    said = f"{error.message} ({error.hint})" if useful else error.message
    return Problem(decision.line, said, error.code)


def refuse(problems: list[Problem]) -> None:
    """Refuse a plan of which lines cannot be carried out."""
    if problems:
        raise PlanRefused(
            told(sorted(problems)),
            hint="nothing was written; mend these lines and give the whole plan again",
            problems=as_facts(sorted(problems)),
        )
