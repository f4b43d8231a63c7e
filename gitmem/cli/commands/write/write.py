"""The command `write`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.cli.changes import change_lines, remark_found
from gitmem.cli.declare import (
    allow_markers,
    allow_policy,
    allow_secret,
    argument,
    as_somebody,
    fields_of,
    named,
    option,
    path_argument,
    reason,
)
from gitmem.cli.declare import command as declare
from gitmem.cli.input import STDIN, read_stdin
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import short
from gitmem.errors import BadInput
from gitmem.model.hints import Call, Hint

if TYPE_CHECKING:
    from gitmem.memory.write.write import Edit, Written


EXAMPLES = Hint(
    "for example ",
    Call("write", ("notes.md", "Ada likes tea")),
    ", or pipe the text into ",
    Call("write", ("notes.md", "-")),
)


@declare("write", takes_texts=True)
@path_argument(required=False)
@argument("text", required=False)
@option("--append", is_flag=True, help="Append TEXT on lines of its own")
@option("--create", is_flag=True, help="Fail if the file exists")
@named("--entry", metavar="TITLE", help="Create or change only this entry of the file")
@option(
    "--set",
    "settings",
    metavar="FIELD=VALUE",
    multiple=True,
    help="Set a field of the entry, or of the file's frontmatter; repeatable",
)
@option("--summary", metavar="TEXT", help="The same as --set summary=TEXT")
@named("--user", metavar="ID", help="User whose profile to write")
@named("--date", metavar="DAY", help="Day of the journal (default: today)")
@option("--batch", metavar="FILE", help="Read edits from NDJSON lines; - reads stdin")
@named("--if-match", metavar="BLOB", help="Fail unless the file has this blob id")
@reason
@as_somebody
@option(
    "--turn", metavar="ID", default="", help="Turn of the conversation, recorded in the history"
)
@named("--id", "operation", metavar="ID", help="Recognise a retry by this id")
@allow_secret
@option(
    "--allow-shrink",
    is_flag=True,
    help="Allow the write to shrink the file by more than half, or to empty it",
)
@allow_policy
@allow_markers
def write_command(
    call: Invocation,
    *,
    path: str | None,
    text: str | None,
    append: bool,
    create: bool,
    entry: str | None,
    settings: tuple[str, ...],
    summary: str | None,
    user: str | None,
    date: str | None,
    batch: str | None,
    if_match: str | None,
    reason: str,
    turn: str,
    operation: str | None,
    allow_secret: tuple[str, ...],
    allow_shrink: bool,
    allow_policy: bool,
    allow_markers: bool,
) -> None:
    """Write a file, or append to it, as one commit

    PATH is a file, or the name of a layer of the group's layout, which chooses the file: the
    diary of today, the profile of a user, the log of the session (which is appended to).

    TEXT replaces the whole file, with a newline at its end; without TEXT, or with -, standard input
    does, byte for byte. Writing the same content changes nothing. With --entry or --set you may
    leave out TEXT to change only fields.

    Each line of a batch is an object with "path" and optionally "text", "op" (write, append or
    create), "if_match", "entry", "set" (an object), "user" and "date". All lines become one commit,
    all or nothing.

    \b
    Examples:
      gitmem write state.md "Moving billing to ESM" --reason "started today"
      gitmem write todo.md --append "- call Ada"
      generate-report | gitmem write report.md -
      gitmem write diary --summary "Billing is on ESM" "Moved the last module today."
      gitmem write sessions "- 14:02 deployed"
      gitmem write user --user telegram:123456 --append "- prefers short answers"
      gitmem write decisions --entry "Use ESM only" --set Status=active --set Importance=2
    """
    from gitmem.memory.write.write import Allowed, Edit, write

    if batch is not None:
        mixed = (path, append, create, if_match, entry, settings, summary, user, date)
        edits = _batch(batch, any(mixed))
    else:
        if not path:
            raise BadInput("no path given", hint=EXAMPLES)
        if append and create:
            raise BadInput("--append and --create exclude each other", hint="use one of them")
        named = {} if summary is None else {"summary": summary}
        fields = tuple((named | fields_of(settings)).items())
        content = None if text is None and (fields or entry) else _content(text)
        edit = Edit(path, content, append, create, if_match or "")
        edits = [edit._replace(entry=entry or "", set=fields, user=user or "", date=date or "")]
    allowed = Allowed(allow_secret, allow_shrink, allow_policy, allow_markers)
    with call.group() as group:
        written = write(
            group, edits, reason=reason, turn=turn, operation=operation or "", allowed=allowed
        )
    remark_found(call, written)
    for each in written.warnings:
        call.remark(each)
    call.answer(written, _lines(call, written), changed=written.changed)


def _batch(source: str, mixed: bool) -> list[Edit]:
    from gitmem.cli.input import EXAMPLE, parse_batch

    if mixed:
        raise BadInput(
            "--batch excludes PATH and the options of a single write",
            hint=f"put them into the lines of the batch, such as {EXAMPLE}",
        )
    if source == STDIN:
        return parse_batch(
            read_stdin(
                "text to write",
                Hint("pipe ", EXAMPLE, " into ", Call("write", options=(("batch", "-"),))),
            )
        )
    try:
        return parse_batch(Path(source).read_bytes())
    except OSError as error:
        raise BadInput(
            f"cannot read {source!r}: {error.strerror}", hint="use - for standard input"
        ) from error


def _content(text: str | None) -> str | bytes:
    if text is None or text == STDIN:
        return read_stdin("text to write", EXAMPLES)
    return text if not text or text.endswith("\n") else f"{text}\n"


def _lines(call: Invocation, written: Written) -> Iterator[str]:
    if written.recognised:
        for each in written.changes:
            yield f"unchanged {each.path}: written before under this id {short(written.commit)}"
        return
    yield from change_lines("written", written.changes, written.commit, call.style)
