"""Store the summary of a compacted session, so that the next session can start fresh.

Each summary is a section of its own. Headings in it stay as they are, also one that looks like
another compaction: it is somebody's text, and only `migrate` reads these sections back by their
headings; it moves them one after the other and so keeps their order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime

from gitmem.errors import BadInput
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_of
from gitmem.memory.transcripts.sessions import keep_session, read_session
from gitmem.memory.write.apply import Edit, ResolvedEdit, applied, encoded
from gitmem.memory.write.capture import capture_paths
from gitmem.memory.write.changeset import check_path_free
from gitmem.memory.write.retries import REQUEST, digest_of, find_earlier, written_then
from gitmem.memory.write.write import Allowed
from gitmem.model.commit_messages import title_of_change
from gitmem.model.context.pieces import one_line
from gitmem.model.guards import allowance, check_message_text, check_write, write_warnings
from gitmem.model.hints import Hint, Option
from gitmem.model.layout.archives import new_log
from gitmem.model.layout.layout import (
    Layer,
    Layout,
    filled,
    lower_name,
    moment_values,
    variables_in,
)
from gitmem.model.paths import check_path, numbered
from gitmem.model.record import Record
from gitmem.model.text.plain_frontmatter import read_fields
from gitmem.model.transcripts.compactions import (
    BETWEEN,
    HEADING,
    cut,
    gist,
    gists,
    without_scratchpads,
)
from gitmem.store.lock import WAIT
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.transaction.writer import Writer
from gitmem.store.worktree.held import SetAside

PREVIEW = 1200
"""Characters of the summary that the result repeats."""
CUT = "...truncated..."
GISTS = 600
"""Characters of all summaries of one day that a prompt shows."""
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


class Compacted(Record):
    """The summary of a session that was stored."""

    request_id: str
    path: str
    commit: str
    preview: str
    start_fresh: bool = True
    """The next run needs nothing of the session before it."""
    captured: tuple[Captured, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    pending: bool = False
    recognised: bool = False
    """True if an earlier call with the same id had stored it."""
    warnings: tuple[str, ...] = ()


def draw() -> str:
    """Five random characters."""
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in os.urandom(5))


def compact(
    group: Group,
    summary: str,
    *,
    daily: bool = False,
    at: str = "",
    reason: str = "",
    operation: str = "",
    allowed: Allowed = Allowed(),  # noqa: B008 - an immutable value
    goes_on: bool = False,
    draw: Callable[[], str] = draw,
    wait: float = WAIT,
) -> Compacted:
    """Add SUMMARY to the file that the layout names for it; DAILY: to the file of the day.

    AT is when the session was compacted, if that is not now. GOES_ON: its host compacted it and
    carries on; else the session is marked, so that a hook tells it to start fresh.
    """
    text = summary.strip()
    if not text:
        raise BadInput("the summary is empty", hint="write what the next session has to know")
    encoded("the summary", text)
    check_message_text("operation id", operation)
    note = group.note("compact", reason=reason)
    with group.writing(wait) as writer:
        now, then = group.now(), _moment(group, at)
        request = operation or f"compact-{int(now.timestamp() * 1000)}-{draw()}"
        digest = digest_of([Edit("compact --daily" if daily else "compact", text)])
        earlier = find_earlier(writer.repository, operation) if operation else None
        if earlier:
            files = written_then(writer.repository.snapshot(earlier), operation, digest)
            return Compacted(request, next(iter(files)), earlier, _preview(text), recognised=True)
        path = _target(group, writer, then, daily=daily)
        note = note._replace(id=request, extra=((REQUEST, digest), *allowance(allowed.secrets)))

        def plan(snapshot: Snapshot) -> Plan[tuple[str, ...]]:
            before = snapshot.read(path)
            data, warnings = _with_section(
                layout_of(group), snapshot, path, text, then=then, allowed=allowed
            )
            message = note._replace(title=title_of_change(before, data), paths=(path,))
            return Plan((Step({path: data}, message),), warnings)

        published = writer.publish(plan)
        if group.who.session and not goes_on:
            known = read_session(group.gitdir, group.who.session)
            keep_session(group.gitdir, group.who.session, known._replace(compacted=path))
        return Compacted(
            request_id=request,
            path=path,
            preview=_preview(text),
            start_fresh=not goes_on,
            warnings=published.result,
            **published.completion,
        )


def _target(group: Group, writer: Writer, then: datetime, *, daily: bool) -> str:
    """The file that a summary goes to, after edits to it were captured."""

    def target() -> str:
        pattern = _pattern(layout_of(group), daily=daily)
        path = check_path(filled(pattern, moment_values(then)))
        if "datetime" not in variables_in(pattern):
            return path
        snapshot = writer.repository.snapshot()
        return next(free for free in numbered(path) if snapshot.oid(free) is None)

    path = target()
    capture_paths(writer, filter(None, (path, lower_name(path))))
    return target()  # a captured edit may have added the file under its other name


def _moment(group: Group, at: str) -> datetime:
    """When a session was compacted, in the zone of its group."""
    now = group.now()
    if not at:
        return now
    from gitmem.model.moments import FORMS, parse_moment
    from gitmem.model.secrets.find import redacted_quote

    moment = parse_moment(at, now, group.zone)
    if moment is None:
        raise BadInput(f"invalid date {redacted_quote(at)}", hint=FORMS)
    if moment.start > now:
        raise BadInput(
            f"{at!r} lies in the future", hint="leave out the time to use the current one"
        )
    return moment.start.astimezone(group.zone)


def _preview(text: str) -> str:
    """The beginning of a summary, for the result."""
    return text if len(text) <= PREVIEW else text[:PREVIEW] + CUT


def _pattern(layout: Layout, *, daily: bool) -> str:
    """The path, with variables, that the layout names for compacted sessions."""
    pattern = layout.compact.daily if daily else layout.summaries
    if pattern:
        return pattern
    key = 'daily: "memory/{date}.md"' if daily else "into: MEMORY.md"
    hint = Hint(f"add `compact: {{{key}}}` to gitmem.yaml")
    if layout.summaries:
        leave = Hint("leave out ", Option("daily"), f" to use {layout.summaries}; or ")
        hint = leave + hint
    what = "the compactions of a day" if daily else "compacted sessions"
    raise BadInput(f"the layout of this group names no file for {what}", hint=hint)


def _with_section(
    layout: Layout, snapshot: Snapshot, path: str, text: str, *, then: datetime, allowed: Allowed
) -> tuple[bytes, tuple[str, ...]]:
    """The file at PATH with TEXT as a section at its end, and its layer's warnings."""
    check_path_free(snapshot, path)
    layer, before = layout.layer_of(path), snapshot.read(path)
    is_log = layer is not None and layer.kind == "log" and layer.holds(path)
    start = new_log(layer, then.date()) if layer and is_log else b""
    fields = _fields(layer, before, text, then) if layer else ()
    block = f"\n{HEADING} {then.isoformat(timespec='seconds')}\n\n{text}\n"
    edit = Edit(path, block, append=True, set=fields)
    data = applied(ResolvedEdit(edit, layer, start), before)
    check_write(
        path,
        data,
        before,
        allow_secret=allowed.secrets,
        allow_markers=allowed.markers,
        policy="free" if allowed.policy else layout.policy_of(path),
    )
    return data, tuple(write_warnings(layer, path, data)) if layer else ()


def _fields(
    layer: Layer, before: bytes | None, text: str, then: datetime
) -> tuple[tuple[str, str], ...]:
    """The fields of a journal that is shown by its summaries: without one, it would not be."""
    if layer.kind != "journal" or layer.render != "summary":
        return ()
    new = gist(text)
    if before is not None:
        old = without_scratchpads(before.decode("utf-8", "replace"))
        earlier = one_line(read_fields(old).get("summary")) or gists(old)
        return (("summary", _together(earlier, new)),)
    known = {"summary": new, "date": f"{then.date()}"}
    names = [each for each in layer.fields if each in known] or ["summary"]
    return tuple((each, known[each]) for each in names)


def _together(earlier: str, new: str) -> str:
    """The summaries of a day: the newest in full, and as much of the earlier ones as fits."""
    kept = cut(earlier, GISTS - len(new) - len(BETWEEN))
    return f"{kept}{BETWEEN}{new}" if kept else new
