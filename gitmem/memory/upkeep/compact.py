"""Keep the summary of a session that was compacted, so that the next one can start fresh.

The summary stands as a section of its own. Headings in it stay as they are, also one that looks
like another compaction: it is somebody's text, and nothing reads these sections back by their
headings but `migrate`, which moves them one after the other and so keeps their order.
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
from gitmem.memory.write.capture import capture_edits
from gitmem.memory.write.changeset import check_place
from gitmem.memory.write.open_edits import scan_edits
from gitmem.memory.write.retries import REQUEST, digest_of, find_earlier, written_then
from gitmem.memory.write.write import Allowed
from gitmem.model.commit_messages import Note, title_of_change
from gitmem.model.context.pieces import one_line
from gitmem.model.guards import allowance, check_message_text, check_write, write_warnings
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
"""Characters of the summary that the answer repeats."""
CUT = "...truncated..."
GISTS = 600
"""Characters of all summaries of one day that a prompt shows."""
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


class Compacted(Record):
    """A session whose summary is kept."""

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
    """True when an earlier call with the same id had kept it."""
    warnings: tuple[str, ...] = ()


def draw() -> str:
    """Five characters that nobody can foresee."""
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
    """Add SUMMARY where the layout keeps compacted sessions; DAILY: to the file of the day.

    AT is when the session was compacted, where that is not now. GOES_ON: its host compacted it and
    carries on; else the session is marked, so that a hook tells it to start fresh.
    """
    text = summary.strip()
    if not text:
        raise BadInput("the summary is empty", hint="say what the next session has to know")
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
        path = _settled(group, writer, then, daily=daily)
        extra = ((REQUEST, digest), *allowance(allowed.secrets))
        note = note._replace(id=request, extra=extra)
        work = _Work(group, path, text, now=then, note=note, allowed=allowed)
        published = writer.publish(work.plan)
        if group.who.session and not goes_on:
            known = read_session(group.gitdir, group.who.session)
            keep_session(group.gitdir, group.who.session, known._replace(compacted=path))
        return Compacted(
            request_id=request,
            path=path,
            preview=_preview(text),
            start_fresh=not goes_on,
            warnings=work.warnings,
            **published.completion,
        )


def _settled(group: Group, writer: Writer, then: datetime, *, daily: bool) -> str:
    """The file that a summary goes to, with what somebody did to it captured."""

    def target() -> str:
        place = _place(layout_of(group), daily=daily)
        return _target(place, then, writer.repository.snapshot())

    path = target()
    either = filter(None, (path, lower_name(path)))
    capture_edits(writer, scan_edits(writer.repository, writer.worktree, [*either]))
    return target()  # an edit may have brought the file under its other name


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
        raise BadInput(f"{at!r} lies in the future", hint="without a time, now counts")
    return moment.start.astimezone(group.zone)


def _preview(text: str) -> str:
    """The beginning of a summary, for whoever asked for it."""
    return text if len(text) <= PREVIEW else text[:PREVIEW] + CUT


def _place(layout: Layout, *, daily: bool) -> str:
    place = layout.compact.daily if daily else layout.summaries
    if place:
        return place
    key = 'daily: "memory/{date}.md"' if daily else "into: MEMORY.md"
    way = f"leave out --daily: it goes to {layout.summaries}; or " if layout.summaries else ""
    raise BadInput(
        "the layout of this group does not say where "
        f"{'the compactions of a day' if daily else 'compacted sessions'} go",
        hint=f"{way}add `compact: {{{key}}}` to gitmem.yaml",
    )


def _target(place: str, now: datetime, snapshot: Snapshot) -> str:
    """The file at PLACE; where each has a moment for its name, one that is not there yet."""
    path = check_path(filled(place, moment_values(now)))
    if "datetime" not in variables_in(place):
        return path
    return next(free for free in numbered(path) if snapshot.oid(free) is None)


class _Work:
    """A summary for one file; planned again when the branch moves in between."""

    def __init__(
        self,
        group: Group,
        path: str,
        text: str,
        *,
        now: datetime,
        note: Note,
        allowed: Allowed,
    ) -> None:
        self._group, self._path, self._now = group, path, now
        self._block = f"\n{HEADING} {now.isoformat(timespec='seconds')}\n\n{text}\n"
        self._text, self._note, self._allowed = text, note, allowed
        self.warnings: tuple[str, ...] = ()

    def plan(self, snapshot: Snapshot) -> Plan[None]:
        """The file with the section at its end."""
        path, layout = self._path, layout_of(self._group)
        check_place(snapshot, path)
        layer, before = layout.layer_of(path), snapshot.read(path)
        is_log = layer is not None and layer.kind == "log" and layer.holds(path)
        start = new_log(layer, self._now.date()) if layer and is_log else b""
        fields = self._fields(layer, before) if layer else ()
        edit = Edit(path, self._block, append=True, set=fields)
        data = applied(ResolvedEdit(edit, layer, start), before)
        policy = "free" if self._allowed.policy else layout.policy_of(path)
        secrets, markers = self._allowed.secrets, self._allowed.markers
        check_write(path, data, before, allow_secret=secrets, allow_markers=markers, policy=policy)
        self.warnings = tuple(write_warnings(layer, path, data)) if layer else ()
        title = title_of_change(before, data)
        note = self._note._replace(title=title, paths=(path,))
        return Plan((Step({path: data}, note),), None)

    def _fields(self, layer: Layer, before: bytes | None) -> tuple[tuple[str, str], ...]:
        """A journal that is shown by its summaries would not show a session that has none."""
        if layer.kind != "journal" or layer.render != "summary":
            return ()
        new = gist(self._text)
        if before is not None:
            text = without_scratchpads(before.decode("utf-8", "replace"))
            earlier = one_line(read_fields(text).get("summary")) or gists(text)
            return (("summary", _together(earlier, new)),)
        known = {"summary": new, "date": f"{self._now.date()}"}
        wanted = [each for each in layer.fields if each in known] or ["summary"]
        return tuple((each, known[each]) for each in wanted)


def _together(earlier: str, new: str) -> str:
    """The summaries of a day; the newest whole, and of those before it what has room."""
    kept = cut(earlier, GISTS - len(new) - len(BETWEEN))
    return f"{kept}{BETWEEN}{new}" if kept else new
