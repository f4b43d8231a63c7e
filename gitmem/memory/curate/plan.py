"""A plan: decisions about entries, one on each line of NDJSON, and how each is applied.

    {"base": "51cc3e5..."}
    {"action": "confirm", "address": "reference/decisions.md#use-esm-only"}
    {"action": "merge-entries", "addresses": ["...", "..."], "into": "ideas", "title": "...",
     "text": "..."}

Every line is checked before one is applied, so that the author of a plan learns of all mistakes at
once. Actions change a draft and nothing else; together they are one commit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from gitmem.errors import BadInput, Conflict, GitmemError
from gitmem.memory.curate.archive import archive_files
from gitmem.memory.entries.confirm import confirmed_files
from gitmem.memory.entries.move_entry import EntryMove, moved_within
from gitmem.memory.entries.targets import (
    Target,
    TargetVersion,
    file_of,
    find_unchanged,
    resolve_targets,
    version_in,
)
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.read.read import missing
from gitmem.memory.write.apply import Edit, ResolvedEdit, applied
from gitmem.memory.write.changeset import Changes, Changeset
from gitmem.model.entries.blocks import Entry, parse, same_title, wording
from gitmem.model.entries.edit import Put, put, under_its_status
from gitmem.model.entries.lines import BOM
from gitmem.model.entries.placement import splice_all
from gitmem.model.guards import check_entry, check_message_text, check_write
from gitmem.model.hints import Hint, Option
from gitmem.model.layout.layout import Layer, Layout
from gitmem.model.paths import check_path
from gitmem.model.text.frontmatter import set_field
from gitmem.store.repository import Snapshot

EXAMPLE = '{"action": "archive", "address": "reference/ideas.md#try-it", "reason": "tried"}'


class ActionKeys(NamedTuple):
    """The keys of one action: required, optional, and those of which it needs at least one."""

    needs: tuple[str, ...]
    may: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()


ACTIONS: Mapping[str, ActionKeys] = {
    "confirm": ActionKeys(("address",)),
    "archive": ActionKeys(("address",)),
    "update": ActionKeys(("address",), any_of=("set", "text")),
    "move": ActionKeys(("address", "to"), ("set",)),
    "merge-entries": ActionKeys(("addresses", "into", "title", "text"), ("set",)),
    "keep": ActionKeys(("address",)),
}
"""The actions of a plan and their keys; each may have a `reason`."""
FEWEST = 2
"""How many entries a merge needs."""


class Decision(NamedTuple):
    """What to do with an entry, or with several that become one."""

    action: str
    addresses: tuple[str, ...]
    line: int = 0
    target: str = ""
    """`to` of a move, `into` of a merge."""
    title: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    text: str | None = None
    reason: str = ""


class Decisions(NamedTuple):
    """A whole plan."""

    base: str
    """The commit that the decisions are about; empty where the plan does not say."""
    decisions: tuple[Decision, ...]


class Problem(NamedTuple):
    """What is wrong with a line of a plan."""

    line: int
    message: str
    code: str = BadInput.code


class _BadLine(Exception):
    """A line of the plan is invalid; the message says why."""


def read_plan(data: bytes) -> Decisions:
    """The decisions in DATA; raises BadInput that names every invalid line."""
    base, decisions, problems = "", [], []
    # Not splitlines(), which also breaks at characters that JSON allows inside a string.
    lines = [(x, line) for x, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    for position, (number, line) in enumerate(lines):
        try:
            found = _parsed(line)
            if position == 0 and found.keys() == {"base"}:
                base = _text(found, "base")
            else:
                decisions.append(_decision(found, number))
        except _BadLine as error:
            problems.append(Problem(number, str(error)))
    if problems:
        raise BadInput(
            problems_text(problems),
            hint=f"a line looks like {EXAMPLE}",
            problems=as_facts(problems),
        )
    if not decisions:
        raise BadInput("the plan has no decisions", hint=f"a line looks like {EXAMPLE}")
    return Decisions(base, tuple(decisions))


def problems_text(problems: list[Problem]) -> str:
    """PROBLEMS as one message."""
    return Hint.joined("; ", (f"line {x.line}: " + Hint(x.message) for x in problems))


def as_facts(problems: list[Problem]) -> list[dict[str, object]]:
    """PROBLEMS as the facts of an error."""
    return [each._asdict() for each in problems]


def _parsed(line: bytes) -> dict[str, object]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:  # also for bytes that are not UTF-8
        raise _BadLine(f"invalid JSON ({error})") from error
    if not isinstance(found, dict):
        raise _BadLine("not a JSON object")
    return found


def _decision(found: Mapping[str, object], number: int) -> Decision:
    action = found.get("action")
    if action not in ACTIONS:
        raise _BadLine(f"unknown action {action!r}; use one of {', '.join(ACTIONS)}")
    _check_keys(str(action), found)
    read: Callable[[str], str] = lambda key: _text(found, key) if key in found else ""  # noqa: E731
    return Decision(
        str(action),
        _addresses(found),
        number,
        read("to") or read("into"),
        read("title"),
        _fields(found.get("set", {})),
        _text(found, "text") if "text" in found else None,
        read("reason"),
    )


def _check_keys(action: str, found: Mapping[str, object]) -> None:
    form = ACTIONS[action]
    missing = [key for key in form.needs if key not in found]
    if missing:
        raise _BadLine(f"{action} needs {missing[0]!r}")
    if form.any_of and not any(key in found for key in form.any_of):
        raise _BadLine(f"{action} needs {' or '.join(map(repr, form.any_of))}")
    known = ("action", "reason", *form.needs, *form.may, *form.any_of)
    unknown = [key for key in found if key not in known]
    if unknown:
        raise _BadLine(f"unknown key {unknown[0]!r}; {action} has {', '.join(known)}")


def _addresses(found: Mapping[str, object]) -> tuple[str, ...]:
    if "address" in found:
        return (_text(found, "address"),)
    given = found["addresses"]
    if not isinstance(given, list) or not all(isinstance(each, str) and each for each in given):
        raise _BadLine("'addresses' must be a list of strings")
    if len(given) < FEWEST:
        raise _BadLine("a merge needs two entries; use 'update' to change one")
    return tuple(given)


def _text(found: Mapping[str, object], key: str, *, empty: bool = False) -> str:
    value = found[key]
    if not isinstance(value, str):
        raise _BadLine(f"{key!r} must be a string")
    if not (empty or value.strip()):
        raise _BadLine(f"{key!r} is empty")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _BadLine(f"{key!r} is not valid Unicode at character {error.start}") from error
    return value


def _fields(given: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
        raise _BadLine("'set' must be an object of strings")
    return tuple((name, _text(given, name, empty=True)) for name in given)


class PlanLine(NamedTuple):
    """A decision, and its targets as they are in the base."""

    decision: Decision
    versions: tuple[TargetVersion, ...]

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of the targets in the base."""
        return tuple(each.address for each in self.versions)


class Workspace(NamedTuple):
    """The draft that decisions are applied to."""

    group: Group
    layout: Layout
    draft: Changeset
    now: datetime

    def file(self, name: str) -> str:
        """The path that NAME, a path or a layer of entries, stands for."""
        return check_path(file_of(self.group, self.draft.snapshot, self.layout, name))

    def replace(self, changes: Changes) -> None:
        """Make CHANGES the only differences from the commit."""
        self.draft.changes = dict(changes)


class Outcome(NamedTuple):
    """The result of a decision."""

    address: str = ""
    """The new address of the target; empty if it did not move."""
    warnings: tuple[str, ...] = ()


class _Located(NamedTuple):
    """A target in the draft; a file as a whole is an entry without a slug."""

    path: str
    entry: Entry

    @property
    def address(self) -> str:
        return f"{self.path}#{self.entry.slug}" if self.entry.slug else self.path


class _Order(NamedTuple):
    """A decision, and its targets in the draft."""

    decision: Decision
    located: Sequence[_Located]


_Action = Callable[[Workspace, Sequence[_Order]], list[Outcome]]


def look_up(
    group: Group, base: Snapshot, decisions: Iterable[Decision]
) -> tuple[list[PlanLine], list[Problem]]:
    """Each decision with its targets in BASE, and the problems; a target may occur once."""
    layout = layout_at(group, base).layout
    lines: list[PlanLine] = []
    problems: list[Problem] = []
    decided: dict[str, int] = {}
    for each in decisions:
        try:
            words = (*each.addresses, each.target, each.title, each.reason)
            check_message_text("address, title or reason", "\n".join(words))
            lines.append(PlanLine(each, tuple(_versions(group, base, layout, each, decided))))
        except GitmemError as error:
            problems.append(problem_of(each, error))
    return lines, problems


def _versions(
    group: Group, base: Snapshot, layout: Layout, decision: Decision, decided: dict[str, int]
) -> Iterator[TargetVersion]:
    for target in resolve_targets(group, base, layout, decision.addresses):
        found = version_in(base, target)
        if found is None:
            raise missing(group, base, target.path)
        line = next((decided[each] for each in decided if _covers(each, found)), None)
        if line is not None:
            where = "this line" if line == decision.line else f"line {line}"
            raise BadInput(f"{found.address} is in {where} already")
        decided[found.address] = decision.line
        yield found


def _covers(address: str, version: TargetVersion) -> bool:
    """Whether a decision about ADDRESS covers VERSION: an entry goes with its file."""
    within = not version.slug and address.startswith(f"{version.path}#")
    return within or address in (version.address, version.path)


def problem_of(decision: Decision, error: GitmemError) -> Problem:
    """The problem that ERROR is for the line of DECISION."""
    hint = Hint(error.hint)
    # A plan has no options by which a guard is waived.
    is_waiver = "repeat with --" in hint or any(isinstance(x, Option) for x in hint.parts)
    text = error.message if is_waiver or not hint else Hint(error.message, " (", hint, ")")
    return Problem(decision.line, text, error.code)


def apply_all(work: Workspace, lines: Sequence[PlanLine]) -> list[Outcome]:
    """Apply all decisions, those of one action together; no two have the same target."""
    outcomes: dict[int, Outcome] = {}
    for action in TOGETHER:
        chosen = {x.decision.line: x for x in lines if x.decision.action == action}
        found = _apply(work, list(chosen.values())) if chosen else []
        outcomes |= dict(zip(chosen, found, strict=True))
    for line in lines:
        if line.decision.line not in outcomes:
            (outcomes[line.decision.line],) = _apply(work, [line])
    _check(work, {})
    return [outcomes[each.decision.line] for each in lines]


def apply_one(work: Workspace, line: PlanLine) -> Outcome:
    """Apply one decision; if that fails, the draft is unchanged."""
    before = dict(work.draft.changes)
    try:
        (outcome,) = _apply(work, [line])
        _check(work, before)
    except GitmemError:
        work.replace(before)
        raise
    return outcome


def _apply(work: Workspace, lines: Sequence[PlanLine]) -> list[Outcome]:
    orders = [_Order(x.decision, [_locate(work, each) for each in x.versions]) for x in lines]
    return APPLY[lines[0].decision.action](work, orders)


def _locate(work: Workspace, version: TargetVersion) -> _Located:
    entry = find_unchanged(work.draft, version, work.layout.layer_of(version.path))
    if entry is None:
        raise Conflict(f"an earlier line of the plan changes {version.address}")
    return _Located(version.path, entry)


def _check(work: Workspace, before: Changes) -> None:
    """Check the files that decisions changed; what they held BEFORE may stay."""
    draft = work.draft
    then = Changeset(draft.snapshot, before)
    changed = [path for path, data in draft.changes.items() if then.read(path) != data]
    known = b"\n".join(then.read(path) or b"" for path in changed)
    for path in changed:
        data = draft.changes[path]
        if data is not None:
            check_write(path, data, known, allow_shrink=True)
    draft.check_policies(work.layout)


def _targets(orders: Sequence[_Order]) -> list[Target]:
    return [Target(each.path, each.entry.slug) for order in orders for each in order.located]


def _keep(work: Workspace, orders: Sequence[_Order]) -> list[Outcome]:
    return [Outcome() for _ in orders]


def _confirm(work: Workspace, orders: Sequence[_Order]) -> list[Outcome]:
    draft, day = work.draft, work.now.date()
    done = confirmed_files(work.layout, draft.snapshot, _targets(orders), day, draft.changes)
    work.replace(done.changes)
    return [Outcome() for _ in orders]


def _archive(work: Workspace, orders: Sequence[_Order]) -> list[Outcome]:
    done = archive_files(work.layout, work.draft.snapshot, _targets(orders), work.draft.changes)
    work.replace(done.changes)
    addresses = {each.source: each.address for each in done.moves}
    return [Outcome(addresses[order.located[0].address]) for order in orders]


def _update(work: Workspace, orders: Sequence[_Order]) -> list[Outcome]:
    """Entries of one file are changed together."""
    outcomes: list[Outcome] = []
    blocks: dict[str, list[tuple[Entry, str]]] = {}
    for decision, ((path, entry),) in orders:
        layer = work.layout.layer_of(path)
        if not entry.slug:
            edit = Edit(path, decision.text, set=decision.fields)
            work.draft.put(path, applied(ResolvedEdit(edit), work.draft.read(path)))
            outcomes.append(Outcome())
            continue
        changed = _changed(entry, decision, layer)
        blocks.setdefault(path, []).append((entry, changed))
        outcomes.append(Outcome(warnings=_judged(changed, layer)))
    for path, pairs in blocks.items():
        text = splice_all(work.draft.text(path), pairs)
        work.draft.put(path, _under_status(text, pairs, work.layout.layer_of(path)).encode())
    return outcomes


def _under_status(text: str, blocks: Sequence[tuple[Entry, str]], layer: Layer | None) -> str:
    """TEXT with each of the changed BLOCKS under the heading of its status."""
    for before, block in blocks if layer else ():
        entry = next(each for each in parse(text) if wording(each.block) == wording(block))
        text = under_its_status(Put(text, entry.slug, created=False), before, layer).text
    return text


def _changed(entry: Entry, decision: Decision, layer: Layer | None) -> str:
    order = layer.fields if layer else ()
    # Parsed on its own, so that no other entry of the same title is changed.
    block = entry.block.removeprefix(BOM)
    (alone,) = parse(block, order)
    return put(block, alone.slug, decision.fields, decision.text, order).text


def _judged(block: str, layer: Layer | None) -> tuple[str, ...]:
    if layer is None or layer.kind != "entries":
        return ()
    return check_entry(parse(block, layer.fields)[0], layer)


def _move(work: Workspace, order: _Order) -> Outcome:
    decision, ((path, entry),) = order
    target, draft = work.file(decision.target), work.draft
    if target == path:
        raise BadInput(f"{path} is there already", hint="to change it, use 'update'")
    if entry.slug:
        move = EntryMove(path, entry, target, work.layout.layer_of(target))
        moved = moved_within(draft, move, decision.fields)
        return Outcome(f"{target}#{moved.entry.slug}", moved.warnings)
    ((_, new),) = draft.move(path, target)
    if decision.fields:
        text = draft.text(new)
        for name, value in decision.fields:
            text = set_field(text, name, value)
        draft.put(new, text.encode())
    return Outcome(new)


def _merge(work: Workspace, order: _Order) -> Outcome:
    decision, draft = order.decision, work.draft
    into = work.file(decision.target)
    layer = work.layout.layer_of(into)
    if layer is not None and layer.kind != "entries":
        raise BadInput(
            f"{into} belongs to the layer {layer.name}, which has no entries",
            hint="merge into a file of entries, or use 'update' to change the note",
        )
    _archive(work, [order])
    known = parse(draft.text(into))
    twin = next((each for each in known if same_title(each.title, decision.title)), None)
    if twin:
        raise Conflict(
            f"{into} has an entry {twin.title!r} already",
            hint=f"add {into}#{twin.slug} to the addresses, or choose another title",
        )
    edit = Edit(into, decision.text, entry=decision.title, set=decision.fields)
    draft.put(into, applied(ResolvedEdit(edit, layer, day=f"{work.now.date()}"), draft.read(into)))
    entry = next(x for x in parse(draft.text(into)) if same_title(x.title, decision.title))
    return Outcome(f"{into}#{entry.slug}", _judged(entry.block, layer))


def _each(action: Callable[[Workspace, _Order], Outcome]) -> _Action:
    return lambda work, orders: [action(work, order) for order in orders]


APPLY: Mapping[str, _Action] = {
    "confirm": _confirm,
    "archive": _archive,
    "update": _update,
    "move": _each(_move),
    "merge-entries": _each(_merge),
    "keep": _keep,
}
TOGETHER = ("confirm", "archive", "update")
"""Actions that are applied to many targets at once, so that each file is parsed only once."""
REMOVING = ("archive", "move", "merge-entries")
"""Actions that move a target away from its address."""
ARCHIVING = ("archive", "merge-entries")
"""Actions that move targets to the archive."""
