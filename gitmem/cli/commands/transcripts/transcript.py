"""The command `transcript`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click

from gitmem.cli import boundary
from gitmem.cli.declare import Whole, argument, as_somebody, group, named, option
from gitmem.cli.input import STDIN, read_stdin, text_or_stdin
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import columns, short, visible, visible_text
from gitmem.errors import BadInput
from gitmem.model.hints import Call, Hint
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from gitmem.memory.transcripts.add import NewMessage, TranscriptAdded
    from gitmem.memory.transcripts.import_file import TranscriptImported
    from gitmem.memory.transcripts.pending import MessageRow, TranscriptPending
    from gitmem.memory.transcripts.prune import TranscriptPruned
    from gitmem.memory.transcripts.status import TranscriptShown, TranscriptStatus


SHOWN = 20
"""Numbers of lost messages that are named."""
EXAMPLE = Hint(
    "for example ",
    Call("transcript add", ("Deploy on Monday",), (("chat", "main"), ("from", "ada"))),
)


@group("transcript")
def transcript_command(call: Invocation) -> None:
    """Record conversations, and summarise each message once

    Messages are stored on their own ref, refs/gitmem/transcripts, and not in the work tree.
    Credentials in them are masked. `gitmem search` finds them.

    \b
    Examples:
      gitmem transcript add --chat telegram:1 --from ada "We deploy on Monday"
      gitmem transcript import claude-code --all
      gitmem transcript pending
      gitmem transcript checkpoint --summary "Deploys moved to Monday"
    """
    _status(call)


@transcript_command.declare("add", takes_texts=True)
@argument("text", required=False)
@named("--chat", metavar="ID", help="Chat of the message")
@named("--from", "sender", metavar="NAME", help="Sender of the message")
@named("--at", metavar="TIME", help="Time of the message (default: now)")
@named("--id", metavar="ID", help="Skip the message if the chat has one with this id")
@option("--batch", metavar="FILE", help="Read messages from NDJSON lines; - reads stdin")
@as_somebody
def add(
    call: Invocation,
    *,
    text: str | None,
    chat: str | None,
    sender: str | None,
    at: str | None,
    id: str | None,
    batch: str | None,
) -> None:
    """Record a message, or a batch of them

    Each line of a batch is an object with "chat", "from" and "text", and where known "id" and "at"
    (an ISO time). A message is skipped if the same chat has one with its id. All lines are one
    commit.

    \b
    Examples:
      gitmem transcript add --chat telegram:1 --from ada "We deploy on Monday"
      some-gateway | gitmem transcript add --batch -
    """
    from gitmem.memory.transcripts.add import NewMessage, transcript_add

    if batch is not None:
        if any((text, chat, sender, at, id)):
            raise BadInput(
                "--batch excludes the other options", hint="put them into the lines of the batch"
            )
        messages = _batch(batch)
    else:
        if not chat or not sender:
            raise BadInput("a message needs --chat and --from", hint=EXAMPLE)
        said = text_or_stdin(text, "message", EXAMPLE)
        messages = [NewMessage(chat, sender, said, None, id or "")]
    with call.group() as group:
        if at and not batch:
            messages = [messages[0]._replace(at=_time(at, group.now()))]
        added = transcript_add(group, messages)
    call.answer(added, [_added(call, added)])


def _batch(source: str) -> list[NewMessage]:
    from pathlib import Path

    from gitmem.cli.input import parse_messages

    if source == STDIN:
        return parse_messages(read_stdin("message", EXAMPLE))
    try:
        return parse_messages(Path(source).read_bytes())
    except OSError as error:
        raise BadInput(
            f"cannot read {source!r}: {error.strerror}", hint="use - for standard input"
        ) from error


def _time(text: str, now: datetime) -> datetime:
    from gitmem.model.moments import FORMS, parse_moment
    from gitmem.model.secrets.find import redacted_quote

    found = parse_moment(text, now, now.tzinfo)  # type: ignore[arg-type]
    if found is None:
        raise BadInput(f"invalid time {redacted_quote(text)}", hint=FORMS)
    return found.start


def _added(call: Invocation, added: TranscriptAdded) -> str:
    known = f", {counted(added.known, 'message')} known before" if added.known else ""
    blanked = f", {counted(added.redacted, 'credential')} blanked out" if added.redacted else ""
    if not added.added:
        return f"nothing new{known}"
    span = f"{added.first}-{added.last}" if added.added > 1 else f"{added.first}"
    commit = call.style.name(short(added.commit))
    return f"kept {counted(added.added, 'message')} ({span}){known}{blanked} {commit}"


@transcript_command.declare("import")
@argument("host", metavar="claude-code|codex|gemini|copilot|c4|nano")
@argument("paths", nargs=-1, metavar="[PATH]...")
@named("--project", metavar="DIR", help="Import all conversations of this folder")
@option("--all", "everything", is_flag=True, help="Import all conversations")
@named("--since", metavar="MOMENT", help="Import only messages since MOMENT")
@option(
    "--chat",
    "chats",
    metavar="ID",
    multiple=True,
    help="Import only messages of this chat; repeatable",
)
@option("--dry-run", is_flag=True, help="Count what would be imported, and import nothing")
@as_somebody
def import_(
    call: Invocation,
    *,
    host: str,
    paths: tuple[str, ...],
    project: str | None,
    everything: bool,
    since: str | None,
    chats: tuple[str, ...],
    dry_run: bool,
) -> int:
    """Import the conversations of another program

    Imports the messages of people and the model, without thinking, tool calls and tool results.
    Continues where the last import of a file stopped; an incomplete last line waits for the next
    import. c4 is the database of zylos' bridge; messages covered by its checkpoints are not
    pending. nano is a database with a table `messages`. Both are opened read-only.

    \b
    Examples:
      gitmem transcript import claude-code --project .
      gitmem transcript import codex --all --since "30 days ago" --dry-run
      gitmem transcript import claude-code ~/.claude/projects/-home-ada-shop/4f3a.jsonl
      gitmem transcript import c4 ~/zylos/comm-bridge/c4.db
      gitmem transcript import nano store/messages.db --chat 49123@s.whatsapp.net
    """
    from gitmem.integrations.transcripts.databases import DATABASES
    from gitmem.integrations.transcripts.import_files import import_transcripts

    with call.group() as group, call.progress("reading", "bytes") as progress:
        done = import_transcripts(
            group,
            host,
            paths=paths,
            project=project or "",
            everything=everything,
            since=since or "",
            chats=chats,
            dry_run=dry_run,
            environ=call.environ,
            progress=progress,
        )
    call.answer(done, _imported(done, "row" if host in DATABASES else "line"))
    for each in (*done.notes, *done.problems):
        call.remark(each)
    return boundary.NOT_FOUND if done.problems and paths else boundary.DONE


def _imported(done: TranscriptImported, unit: str) -> Iterator[str]:
    verb = "would keep" if done.dry_run else "kept"
    yield f"{verb} {counted(done.added, 'message')} from {counted(done.files, 'file')}"
    for count, what in (
        (done.unchanged, f"nothing new in {counted(done.unchanged, 'file')}"),
        (done.known, f"{done.known:,} known before"),
        (done.earlier, f"{done.earlier:,} said earlier"),
        (done.others, f"{done.others:,} of other chats"),
        (done.redacted, f"{counted(done.redacted, 'credential')} blanked out"),
        (done.summarised, f"{done.summarised:,} summarised before, not pending"),
    ):
        if count:
            yield f"  {what}"
    for why, count in done.passed.items():
        yield f"  {counted(count, unit)} passed over: {why}"


@transcript_command.declare("list")
def list_(call: Invocation) -> None:
    """List the chats

    \b
    Examples:
      gitmem transcript list
      gitmem transcript list --json
    """
    from gitmem.memory.transcripts.status import transcript_list

    with call.group() as group:
        found = transcript_list(group)
        zone = group.zone
    rows = [
        (
            each.chat,
            counted(each.messages, "message"),
            f"{each.since.astimezone(zone):%Y-%m-%d}",
            f"{each.until.astimezone(zone):%Y-%m-%d %H:%M}",
            ", ".join(each.senders),
        )
        for each in found.chats
    ]
    call.answer(found, columns(rows, (call.style.bold,)) if rows else (), data=True)
    if not rows:
        call.remark("nothing of it is kept any more" if found.commit else "nothing was said yet")


@transcript_command.declare("show")
@argument("chat")
@option("--last", metavar="N", type=Whole(0), default=0, help="Show only the newest N; 0 shows all")
def show(call: Invocation, chat: str, last: int) -> None:
    """Show the messages of a chat

    \b
    Examples:
      gitmem transcript show telegram:1 --last 20
    """
    from gitmem.memory.transcripts.status import transcript_show

    with call.group() as group:
        shown = transcript_show(group, chat, last=last)
        now = group.now()
    lines = (*_messages(call, shown.messages, now), *_lost(call, shown))
    call.answer(shown, lines, data=True)


def _lost(call: Invocation, shown: TranscriptShown) -> Iterator[str]:
    """What should have been shown, so that nobody takes the rest for all."""
    if shown.lost:
        numbers = ", ".join(str(each) for each in shown.lost[:SHOWN])
        more = ", ..." if len(shown.lost) > SHOWN else ""
        lost = f"{counted(len(shown.lost), 'message')} cannot be read ({numbers}{more})"
        yield f"[{lost}; see: {call.command('check')}]"
    elif shown.unreadable:
        lost = "messages of this group cannot be read, perhaps of this chat"
        yield f"[{lost}; see: {call.command('check')}]"


def _messages(
    call: Invocation, messages: Sequence[MessageRow], now: datetime, *, chats: bool = False
) -> Iterator[str]:
    for each in messages:
        at = f"{each.at.astimezone(now.tzinfo):%Y-%m-%d %H:%M}"
        where = f" ({visible(each.chat)})" if chats else ""
        head = f"[{each.number}] {at} {call.style.bold(visible(each.from_))}{where}: "
        first, *rest = visible_text(each.text.rstrip("\n")).split("\n")
        yield head + first
        yield from (f"    {line}" for line in rest)


@transcript_command.declare("pending")
@named("--chat", metavar="ID", help="Only messages of this chat")
@option(
    "--chars", metavar="N", type=Whole(0), help="Size of the range in characters, roughly; 0 is all"
)
@option("--take-over", is_flag=True, help="Take the range from the agent that has it")
@as_somebody
def pending(call: Invocation, *, chat: str | None, chars: int | None, take_over: bool) -> None:
    """Print the next range of messages to summarise

    Reserves the oldest range for one agent and session. Until `checkpoint` closes it, others are
    refused for 30 minutes; the same agent and session get it again, with a new token.

    \b
    Examples:
      gitmem transcript pending
      gitmem transcript pending --chat telegram:1 --json
    """
    from gitmem.memory.transcripts.pending import CHARS, transcript_pending

    with call.group() as group:
        found = transcript_pending(
            group,
            chat=chat or "",
            chars=CHARS if chars is None else chars,
            take_over=take_over,
        )
        now = group.now()
    call.answer(found, _pending(call, found, now), data=True)
    if not found.known:
        chats = call.command("transcript list")
        call.remark(f"no messages in a chat {found.chat!r}; see `{chats}`")
    if found.messages:
        more = f"; {counted(found.more, 'more message')} pending" if found.more else ""
        close = call.command(f"transcript checkpoint --token {found.token} --summary TEXT")
        call.remark(f"when it is summarised: {close}{more}")


def _pending(call: Invocation, found: TranscriptPending, now: datetime) -> Iterator[str]:
    from gitmem.memory.transcripts.pending import NONE

    if found.action:
        yield found.action
    if not found.messages:
        yield NONE
        return
    yield (
        f"[Unsummarized Range] begin={found.begin} end={found.end} "
        f"count={len(found.messages)} token={found.token}"
    )
    yield from _messages(call, found.messages, now, chats=not found.chat)


@transcript_command.declare("checkpoint", takes_texts=True)
@option("--summary", metavar="TEXT", help="Summary of the range; - reads stdin")
@named("--token", metavar="TOKEN", help="Range to close (default: the one this session has)")
@named(
    "--covers",
    metavar="COMMIT",
    multiple=True,
    help="Commit that stores the summary in memory; repeatable",
)
@as_somebody
def checkpoint(
    call: Invocation, *, summary: str | None, token: str | None, covers: tuple[str, ...]
) -> None:
    """Close the range from `pending` with a summary

    Makes one commit, which `gitmem log` shows. It names the commits that this session made since it
    got the range, including captured edits, or those of --covers: undoing one of them, or the
    checkpoint, reopens the range. Later messages stay pending. If memory has changed, takes a new
    snapshot of today; the earlier one is renamed to -1.

    \b
    Examples:
      gitmem transcript checkpoint --summary "Deploys moved to Monday; Ada is away until June"
    """
    from gitmem.memory.transcripts.checkpoint import transcript_checkpoint

    example = Hint(
        "for example ",
        Call("transcript checkpoint", options=(("summary", "Deploys moved to Monday"),)),
    )
    if summary is None:
        raise BadInput("a checkpoint needs a --summary", hint=example)
    text = text_or_stdin(summary, "summary", example)
    with call.group() as group:
        done = transcript_checkpoint(group, text, token=token or "", covers=covers)
    again = " before under this token" if done.recognised else ""
    line = (
        f"summarised {done.begin}-{done.end} ({counted(done.messages, 'message')}){again} "
        f"{call.style.name(short(done.commit))}"
    )
    tagged = [f"tagged {done.snapshot}"] if done.snapshot else []
    call.answer(done, [line, *tagged])


@transcript_command.declare("status")
def status(call: Invocation) -> None:
    """Show how many messages are summarised and pending

    \b
    Examples:
      gitmem transcript status
      gitmem transcript status --json
    """
    _status(call)


def _status(call: Invocation) -> None:
    from gitmem.memory.transcripts.status import transcript_status

    with call.group() as group:
        found = transcript_status(group)
        now = group.now()
    call.answer(found, _status_lines(call, found, now), data=True)


def _status_lines(call: Invocation, found: TranscriptStatus, now: datetime) -> Iterator[str]:
    from gitmem.model.transcripts.batches import NONE_NEW

    if not found.messages and not found.last:
        yield "nothing was said yet"
        return
    yield from columns(_status_rows(call, found, now), (call.style.dim,))
    if found.unreadable:
        yield f"some messages cannot be read; see: {call.command('check')}"
    if found.action or not found.pending:
        yield found.action or NONE_NEW


def _status_rows(
    call: Invocation, found: TranscriptStatus, now: datetime
) -> Iterator[tuple[str, str]]:
    from gitmem.cli.invocation import ago

    where = f" in {counted(found.chats, 'chat')}" if found.messages else ""
    yield "kept", f"{counted(found.messages, 'message')}{where}"
    span = f" ({found.begin}-{found.end})" if found.pending else ""
    yield "pending", f"{found.pending:,} of at most {found.threshold:,}{span}"
    if found.in_flight:
        out = found.in_flight
        who = out.session or out.agent
        free = "" if out.alive else ", free again"
        yield "in flight", f"{out.begin}-{out.end}, {who} since {ago(out.since, now)}{free}"
    last = found.checkpoint
    if last:
        when = ago(last.time, now)
        line = " ".join(last.summary.split())
        yield "last", f"{last.begin}-{last.end} {when}: {line}"
    if found.reopened:
        yield "reopened", counted(len(found.reopened), "range")


@transcript_command.declare("prune")
@named("--before", metavar="DATE", required=True, help="Drop messages from before this day")
@option("--dry-run", is_flag=True, help="Count what would be dropped, and drop nothing")
@option("-y", "--yes", is_flag=True, help="Do not ask for confirmation")
@as_somebody
def prune(call: Invocation, *, before: str, dry_run: bool, yes: bool) -> None:
    """Delete old messages that are summarised

    Deletes them for good, not to the archive. Only whole batches go, if all their messages are
    summarised and older; memory and its history are not affected. The next `gitmem maintain`
    removes them from the disk.

    \b
    Examples:
      gitmem transcript prune --before 2026-01-01 --dry-run
      gitmem transcript prune --before "90 days ago" --yes
    """
    from gitmem.memory.transcripts.prune import transcript_prune

    with call.group() as group:
        if not dry_run and not yes and sys.stdin is not None and sys.stdin.isatty():
            planned = transcript_prune(group, before, dry_run=True)
            if planned.messages:
                for line in _pruned(planned):
                    click.echo(call.style.line(line), err=True)
                if not click.confirm("Drop it for good?", err=True):
                    call.answer(planned, ["nothing was dropped"])
                    return
        done = transcript_prune(group, before, dry_run=dry_run)
    call.answer(done, _pruned(done))
    if done.messages and not dry_run:
        call.remark(f"to remove it from the disk now: {call.command('maintain')}")


def _pruned(done: TranscriptPruned) -> Iterator[str]:
    verb = "would drop" if done.dry_run else "dropped"
    chats = f" in {counted(len(done.chats), 'chat')}" if done.chats else ""
    yield f"{verb} {counted(done.messages, 'message')}{chats} from before {done.before:%Y-%m-%d}"
    if done.kept_pending:
        yield f"  kept: {counted(done.kept_pending, 'message')} not summarised"
    if done.kept_with_them:
        yield f"  kept: {counted(done.kept_with_them, 'message')} that came in with others"
