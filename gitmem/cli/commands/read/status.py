"""The command `status`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.cli.commands.read.log import paths_of
from gitmem.cli.commands.write.capture import claimed_lines, still_memory_lines
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation, ago
from gitmem.cli.style import Paint, columns, plain, short, visible
from gitmem.model.text.format import counted, human_size, quoted

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.cli.invocation import Invocation
    from gitmem.memory.read.inventory import CoreFile, EntryCount, Inventory, LayerFiles, LogDay
    from gitmem.memory.read.status import Status


SHOWN = 20


@declare("status")
def status_command(call: Invocation) -> None:
    """Show the state of the group and what needs attention

    Prints the number and size of all files, each core file's size against its budget, entries, days
    and logs, and when each was changed last; the last write, snapshot and rotation, and the last
    run of each job; then edits that are not captured yet, held versions, captures that broke a
    rule, secrets, and commits that left the branch. Reads every file at HEAD before it calls the
    group `ok`.

    \b
    Examples:
      gitmem status
      gitmem status -g research --json
    """
    from gitmem.memory.read.status import status

    with call.group() as group:
        found = status(group)
        now = group.now()
    call.answer(found, _lines(call, found, now), data=True)


def _lines(call: Invocation, found: Status, now: datetime) -> Iterator[str]:
    yield from columns(_overview(call, found, now), (call.style.dim,))
    if found.health.startswith("damaged"):
        yield f"        next: {call.command('check --repair')}"
    elif found.health == "elsewhere" and not found.operation:
        yield "        next: run `git switch main` in the group's folder"
    if found.migration:
        yield visible(f"        due: {found.migration}")
        yield f"        do it: {call.command('migrate')}"
    if found.unmigrated:
        yield visible(f"        not migrated: {found.unmigrated}")
    for each in found.silenced:
        yield call.style.warn(visible(f"        {each.words(found.group)}"))
    if found.missed_snapshots:
        yield f"        make the missing snapshots: {call.command('maintain')}"
    for problem in filter(None, (found.layout_problem, found.zone_problem)):
        yield call.style.warn(visible(f"        {problem}"))
    yield from holding_lines(call, found.holdings, now)
    yield from _jobs(call, found, now)
    if found.operation:
        yield ""
        yield from claimed_lines(call, found)
    yield from _edits(call, found)
    yield from _late(call, found)
    yield from _marked(call, found)
    yield from _held(call, found)
    yield from _beside(call, found)
    yield from _violations(call, found)
    yield from _secrets(call, found)
    yield from _departed(call, found, now)
    yield from _lost(call, found)


def _overview(call: Invocation, found: Status, now: datetime) -> Iterator[tuple[str, str]]:
    yield "group", found.group
    if found.layout or found.layout_problem:
        yield "layout", found.layout or "-"
    size = (
        f"{counted(found.files, 'file')}, {human_size(found.bytes)}" if found.files else "no files"
    )
    yield "files", f"{size} in {found.worktree}"
    yield "last", _last(found, now)
    if found.snapshot:
        at = found.snapshot.time
        made = f", {ago(at, now)}" if at else ""
        yield "snap", f"{short(found.snapshot.commit)}  {found.snapshot.name}{made}"
    if found.said:
        pending = f", {found.said.pending:,} not summarised" if found.said.pending else ""
        yield "said", f"{counted(found.said.messages, 'message')}{pending}"
    yield "read", _read(call, found)
    concerns = f" ({', '.join(found.concerns)})" if found.concerns else ""
    yield "health", found.health + concerns


def _read(call: Invocation, found: Status) -> str:
    """What was looked at, and so what the word on health is about."""
    verified, since = found.read.verified, found.read.since
    told = counted(found.read.files, "file")
    if not verified:
        return f"{told}; history not yet (see: {call.command('check')})"
    if since is None:
        return (
            f"{told}; history up to {short(verified)}, many commits ago "
            f"(see: {call.command('check')})"
        )
    late = f", {counted(since, 'commit')} ago" if since else ""
    return f"{told}; history up to {short(verified)}{late}"


def _last(found: Status, now: datetime) -> str:
    entry = found.last
    if entry is None:
        return "nothing yet"
    what = f"{entry.op or 'git'} {paths_of(entry) if entry.paths else ''}".rstrip()
    return f"{short(entry.commit)}  {ago(entry.time, now)}, {what} by {entry.agent}"


def _jobs(call: Invocation, found: Status, now: datetime) -> Iterator[str]:
    if not found.jobs:
        return
    yield from ("", "jobs")
    rows = [
        (f"  {each.job}", each.outcome, ago(each.time, now), visible(each.detail))
        for each in found.jobs
    ]

    def paint(outcome: str) -> str:
        return call.style.warn(outcome) if outcome == "failed" else outcome

    yield from columns(rows, (call.style.bold, paint))


def _edits(call: Invocation, found: Status) -> Iterator[str]:
    if not found.edits:
        return
    style = call.style
    see = f"(see: {call.command('diff')})"
    way = see if found.health == "elsewhere" else _capture(call)
    yield from ("", f"not captured yet {way}")
    for each in found.edits[:SHOWN]:
        moved = f" (was {visible(each.moved_from)})" if each.moved_from else ""
        moved += f" (now {visible(each.moved_to)} outside memory)" if each.moved_to else ""
        yield f"  {each.change:<8} {style.bold(visible(each.path))}{moved}"
    if len(found.edits) > SHOWN:
        yield f"  and {len(found.edits) - SHOWN:,} more"


def _marked(call: Invocation, found: Status) -> Iterator[str]:
    if found.marked:
        yield from ("", "committed with conflict markers")
    for path in found.marked[:SHOWN]:
        yield f"  {call.style.bold(visible(path))}"
        yield f"    resolve it: {call.command(f'edit {quoted(path)}')}"


def _held(call: Invocation, found: Status) -> Iterator[str]:
    style = call.style
    if found.held:
        yield from ("", f"held out of git (show: {call.command('held show PATH')})")
    for each in found.held[:SHOWN]:
        yield f"  {style.bold(visible(each.path))}  {style.warn(visible(each.rule))}"
    if found.set_aside:
        aside = f"{counted(found.set_aside, 'version')} set aside"
        yield from ("", f"{aside} (see: {call.command('held')})")
    yield from _out_of_the_way(call, found)


def _out_of_the_way(call: Invocation, found: Status) -> Iterator[str]:
    """What nobody has to decide on: only counted."""
    if found.ignored_by_pattern:
        ignored = f"{counted(found.ignored_by_pattern, 'file')} ignored"
        yield from ("", f"{ignored} (see: {call.command('held ignore --list')})")
    if found.trash.versions:
        size = counted(found.trash.bytes, "byte")
        trash = f"{counted(found.trash.versions, 'dropped version')} in the trash, {size}"
        yield from ("", f"{trash} (see: {call.command('held list --trash')})")


def _beside(call: Invocation, found: Status) -> Iterator[str]:
    """Where the rules of a folder outside the store say one thing, and git has another."""
    if found.gitignored:
        places = visible(", ".join(found.gitignored))
        yield from ("", f"never captured, because a .gitignore names it: {places}")
        edit = call.command("edit gitmem.yaml")
        yield f"    make it memory: add `include: [{places}]` with {edit}"
    if found.still_memory:
        yield ""
        yield from still_memory_lines(call, found.still_memory, found.worktree)


def _late(call: Invocation, found: Status) -> Iterator[str]:
    if found.late:
        late = f"{counted(found.late, 'edit')} came too late for the write that replaced the file"
        yield from ("", f"{late} {_capture(call)}")


def _capture(call: Invocation) -> str:
    return f"(see: {call.command('diff')}; commit: {call.command('capture')})"


def _lost(call: Invocation, found: Status) -> Iterator[str]:
    if found.unreadable:
        yield from ("", "versions that cannot be read")
    for each in found.unreadable[:SHOWN]:
        what = "" if each.kind == "commit" else f"  {each.kind} {short(each.object)}"
        yield f"  {call.style.warn(each.words)}{what}"
        known = call.command(f"check --acknowledge {each.id}")
        yield f"           if no copy exists: {known}"
    if len(found.unreadable) > SHOWN:
        yield f"  and {len(found.unreadable) - SHOWN:,} more (see: {call.command('check')})"


def _departed(call: Invocation, found: Status, now: datetime) -> Iterator[str]:
    if found.waiting:
        yield from ("", call.style.warn(visible(call.addressed(found.waiting))))
    if found.kept:
        drop = call.command("kept drop COMMIT")
        yield from ("", f"commits that left the branch (drop: {drop})")
    for each in found.kept[:SHOWN]:
        words = visible(f"{ago(each.time, now)}  {each.subject}")
        yield f"  {call.style.name(short(each.commit))}  {words}"
        back = call.command(f"kept restore {short(each.commit)}")
        yield f"           bring it back: {back}"
    if len(found.kept) > SHOWN:
        yield f"  and {len(found.kept) - SHOWN:,} more: {call.command('kept')}"


def _violations(call: Invocation, found: Status) -> Iterator[str]:
    style = call.style
    if found.violations:
        yield from ("", "captured, but broke a rule")
    for each in found.violations[:SHOWN]:
        broken = style.warn(visible("; ".join(each.violations)))
        yield f"  {style.name(short(each.commit))}  {broken}"
        yield f"           take it back: {call.command(f'undo {short(each.commit)}')}"


def _secrets(call: Invocation, found: Status) -> Iterator[str]:
    from gitmem.memory.admin.secret_findings import secret_words

    if found.secrets:
        yield from ("", "secrets in git, masked for models")
    for each in found.secrets[:SHOWN]:
        text, hint = secret_words(each)
        yield f"  {call.style.warn(visible(text))}"
        yield f"           {visible(call.addressed(hint))}"
    if len(found.secrets) > SHOWN:
        yield f"  and {len(found.secrets) - SHOWN:,} more (see: {call.command('check')})"
    if found.unsearched:
        yield from ("", "history is not searched for secrets yet; the files are")
        search = f"search it: {call.command('maintain')}"
        repair = f"repair it first: {call.command('check --repair')}"
        yield f"           {search if found.unsearched > 0 else repair}"


INDENT = "  "


def holding_lines(call: Invocation, found: Inventory, now: datetime) -> Iterator[str]:
    """A block for the core files, and one for everything else."""
    style = call.style
    if found.core:
        yield ""
        paints: dict[str, Paint] = {"over": style.bad, "near": style.warn, "missing": style.warn}
        rows = [_core(each, now) for each in found.core]
        for each, line in zip(found.core, columns(rows, (style.bold,)), strict=True):
            yield INDENT + paints.get(each.state, plain)(line)
    rest = [
        *(_entries(each, now) for each in found.entries),
        *(_files(each) for each in found.layers),
        *(_log(call, each) for each in found.logs),
    ]
    if rest:
        yield ""
        yield from (INDENT + line for line in columns(rest, (style.bold,)))


def _core(file: CoreFile, now: datetime) -> tuple[str, str, str, str]:
    from gitmem.model.text.format import human_size

    if file.state in ("missing", "damaged"):
        return file.path, "", file.state, ""
    size = human_size(file.bytes)
    if file.budget:
        size += f" / {human_size(file.budget)} ({file.percent}%)"
    return file.path, size, file.state, _changed(file, now)


def _entries(count: EntryCount, now: datetime) -> tuple[str, str]:
    many = "1 entry" if count.entries == 1 else f"{count.entries:,} entries"
    many += f", {count.retired:,} retired" if count.retired else ""
    changed = _changed(count, now)
    return count.path, many + (f"; {changed}" if changed else "")


def _changed(file: CoreFile | EntryCount, now: datetime) -> str:
    """When a file was changed last, and by whom."""
    if file.updated:
        return f"{ago(file.updated, now)} by {file.agent}"
    return f"before {file.older_than:%Y-%m-%d}" if file.older_than else ""


def _files(layer: LayerFiles) -> tuple[str, str]:
    last = f", last {layer.last}" if layer.last else ""
    return layer.layer, counted(layer.files, "file") + last


def _log(call: Invocation, log: LogDay) -> tuple[str, str]:
    of = f"of {log.day}" if log.day else "without a day" if log.exists else "not begun"
    past = f", last rotated to {log.rotated}" if log.rotated else ", never rotated"
    due = f"; next: {call.command('rotate')}" if log.due else ""
    return log.path, of + past + due
