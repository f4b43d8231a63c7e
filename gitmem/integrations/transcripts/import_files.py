"""Import the conversations that agent hosts record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gitmem.errors import BadInput, GitmemError, NotFound
from gitmem.integrations.hosts import table
from gitmem.integrations.transcripts import claude_code, codex, copilot, gemini
from gitmem.integrations.transcripts.databases import DATABASES, summarised_in_c4
from gitmem.integrations.transcripts.readers import (
    NOT_CONVERSATION,
    OVERLONG,
    TOO_LONG,
    home_of,
    read_lines,
)
from gitmem.memory.transcripts.checkpoint import Summarised, transcript_summarised
from gitmem.memory.transcripts.import_file import (
    PATIENCE,
    ParsedLine,
    TranscriptImported,
    transcript_import,
    unread,
)
from gitmem.model.hints import Hint, call
from gitmem.model.secrets.find import redacted_quote

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitmem.integrations.transcripts.databases import Database
    from gitmem.memory.group import Group
    from gitmem.memory.transcripts.import_file import Lines, Mark, Progress

IMPORT = "transcript import"
SUFFIX = ".jsonl"


class TranscriptSource(NamedTuple):
    """Where a host keeps its transcripts, and how to read them."""

    lines: Lines
    default_home: Callable[[Mapping[str, str]], Path]
    transcript_files: Callable[[Path], Iterable[Path]]
    project_files: Callable[[Path, Path], Iterable[Path]]
    in_folder: Callable[[Path], list[Path]]
    mark: Mark | None = None
    """Identifies a file whose offsets are not bytes."""
    summary_in: Callable[[Path, str], str | None] | None = None
    """Reads the summary of a compaction, where only the transcript has it."""


class Reader(Protocol):
    """A module that reads the transcripts of one host."""

    def chat_of(self, path: Path) -> str: ...
    def is_aside(self, path: Path) -> bool: ...
    def read_line(self, raw: bytes, chat: str) -> ParsedLine: ...
    def transcript_files(self, root: Path) -> Iterable[Path]: ...
    def project_files(self, home: Path, project: Path) -> Iterable[Path]: ...


def _kept_in_lines(name: str, host: Reader) -> TranscriptSource:
    """The source for a host that writes a file of JSON lines per session."""

    def lines(path: Path, offset: int) -> Iterator[tuple[ParsedLine, int]]:
        chat, is_aside = host.chat_of(path), host.is_aside(path)
        for raw, behind in read_lines(path, offset):
            found = OVERLONG if raw == TOO_LONG else host.read_line(raw, chat)
            if found.message and is_aside:
                found = NOT_CONVERSATION
            elif found.message and not found.message.chat:
                found = ParsedLine(found.message._replace(chat=chat))
            yield found, behind

    def home(environ: Mapping[str, str]) -> Path:
        return home_of(table.HOSTS[name], environ)

    def in_folder(folder: Path) -> list[Path]:
        return [each for each in sorted(folder.rglob(f"*{SUFFIX}")) if not host.is_aside(each)]

    return TranscriptSource(lines, home, host.transcript_files, host.project_files, in_folder)


def _kept_in_database(host: Database) -> TranscriptSource:
    """The source for a system with one database for all chats."""

    def of_project(home: Path, project: Path) -> list[Path]:
        return host.files(project)

    return TranscriptSource(host.rows, host.home, host.files, of_project, host.files, host.mark)


HOSTS = {
    table.CLAUDE: _kept_in_lines(table.CLAUDE, claude_code),
    table.CODEX: _kept_in_lines(table.CODEX, codex)._replace(summary_in=codex.summary_in),
    table.GEMINI: _kept_in_lines(table.GEMINI, gemini),
    table.COPILOT: _kept_in_lines(table.COPILOT, copilot)._replace(summary_in=copilot.summary_in),
    **{name: _kept_in_database(each) for name, each in DATABASES.items()},
}


def summary_in(host: str, path: str, turn: str) -> str | None:
    """The summary of the last compaction, in TURN, in a transcript of HOST.

    Empty where it has none, None where it cannot be read.
    """
    known = HOSTS.get(host)
    return known.summary_in(Path(path).expanduser(), turn) if known and known.summary_in else ""


def import_transcripts(
    group: Group,
    host: str,
    *,
    environ: Mapping[str, str],
    paths: Sequence[str] = (),
    project: str = "",
    everything: bool = False,
    since: str = "",
    chats: Sequence[str] = (),
    dry_run: bool = False,
    progress: Progress | None = None,
    wait: float = PATIENCE,
) -> TranscriptImported:
    """Import PATHS, the conversations of PROJECT, or EVERYTHING of a host.

    CHATS: only messages of these.
    """
    known = HOSTS.get(host)
    if known is None:
        known_hosts = ", ".join(HOSTS)
        raise BadInput(f"unknown host {redacted_quote(host)}", hint=f"use one of {known_hosts}")
    if sum((bool(paths), bool(project), everything)) != 1:
        text = "give paths, a project or all, and only one of these"
        raise BadInput(text, hint=_example(host))
    home = known.default_home(environ)
    if paths:
        files = [each for path in paths for each in _files(known, Path(path).expanduser())]
    elif project:
        files = list(known.project_files(home, Path(project).expanduser()))
    else:
        files = list(known.transcript_files(home))
    if not files:
        raise _none_found(host, home, paths, project)
    done = transcript_import(
        group,
        files,
        known.lines,
        form=host,
        mark=known.mark,
        since=since,
        chats=chats,
        dry_run=dry_run,
        progress=progress,
        wait=wait,
    )
    if dry_run:
        return done
    parts = [part for path in files for part in _summarised(host, path)]
    return done._replace(summarised=transcript_summarised(group, parts))


def _example(host: str, *, in_project: bool = False) -> Hint:
    """A call that may find conversations of HOST; IN_PROJECT: those of a project were not there."""
    if host in DATABASES:
        return Hint("name the file, such as ", call(IMPORT, host, DATABASES[host].places[0]))
    every = call(IMPORT, host, all=True)
    return Hint("for example ", every if in_project else call(IMPORT, host, project="."))


def _none_found(host: str, home: Path, paths: Sequence[str], project: str) -> NotFound:
    if host in DATABASES:
        folder = ", ".join(paths) or project or str(home)
        places = " or ".join(DATABASES[host].places)
        return NotFound(f"no {places} in {redacted_quote(folder)}", hint=_example(host))
    where = "those paths" if paths else f"{home}"
    of = f" of {project}" if project else ""
    hint = _example(host, in_project=bool(project))
    return NotFound(f"no conversations{of} in {where}", hint=hint)


def unread_bytes(group: Group, host: str, path: str) -> int:
    """How many bytes of a transcript of HOST are unread."""
    return unread(group, Path(path), host)


def _files(host: TranscriptSource, path: Path) -> list[Path]:
    """PATH, or the transcripts in it if it is a folder."""
    return host.in_folder(path) if path.is_dir() else [path]


def _summarised(host: str, path: Path) -> list[Summarised]:
    """The summaries in a file; none where it is unreadable, which the import has reported."""
    with suppress(GitmemError, OSError):
        return summarised_in_c4(path) if host == "c4" else []
    return []
