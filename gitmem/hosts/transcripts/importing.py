"""The conversations that an agent's host keeps, taken in as what was said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.core.secrets import repeated
from gitmem.errors import BadInput, NotFound
from gitmem.hosts.transcripts import claude_code, codex
from gitmem.hosts.transcripts.readers import OVERLONG, TOO_LONG, read_lines
from gitmem.operations.transcript_add import Spoken
from gitmem.operations.transcript_import import (
    PATIENCE,
    Line,
    TranscriptImported,
    transcript_import,
    unread,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitmem.hosts.transcripts.readers import ReadLine
    from gitmem.operations.group import Group
    from gitmem.operations.transcript_import import Lines, Progress

SUFFIX = ".jsonl"
EXAMPLE = "for example `gitmem transcript import claude-code --project .`"


class Host(NamedTuple):
    """Where a host keeps its conversations, and how they are read."""

    read_line: ReadLine
    chat_of: Callable[[Path], str]
    default_home: Callable[[Mapping[str, str]], Path]
    transcript_files: Callable[[Path], Iterator[Path]]
    project_files: Callable[[Path, Path], Iterator[Path]]


HOSTS = {
    name: Host(
        each.read_line,
        each.chat_of,
        each.default_home,
        each.transcript_files,
        each.project_files,
    )
    for name, each in (("claude-code", claude_code), ("codex", codex))
}


def import_transcripts(
    group: Group,
    host: str,
    *,
    environ: Mapping[str, str],
    paths: Sequence[str] = (),
    project: str = "",
    everything: bool = False,
    since: str = "",
    dry_run: bool = False,
    progress: Progress | None = None,
    wait: float = PATIENCE,
) -> TranscriptImported:
    """Take in files, the conversations of a project, or all that a host has kept."""
    known = HOSTS.get(host)
    if known is None:
        raise BadInput(f"there is no host {repeated(host)}", hint=f"take one of {', '.join(HOSTS)}")
    if sum((bool(paths), bool(project), everything)) != 1:
        text = "say which conversations: PATH..., --project DIR or --all, and one of them alone"
        raise BadInput(text, hint=EXAMPLE.replace("claude-code", host))
    home = known.default_home(environ)
    if paths:
        files = [each for path in paths for each in _files(Path(path).expanduser())]
    elif project:
        files = list(known.project_files(home, Path(project).expanduser()))
    else:
        files = list(known.transcript_files(home))
    if not files:
        where = "those paths" if paths else f"{home}"
        of = f" of {project}" if project else ""
        example = EXAMPLE.replace("claude-code", host)
        raise NotFound(f"there are no conversations{of} in {where}", hint=example)
    return transcript_import(
        group,
        files,
        _lines_of(known),
        form=host,
        since=since,
        dry_run=dry_run,
        progress=progress,
        wait=wait,
    )


def unread_bytes(group: Group, host: str, path: str) -> int:
    """How much of a file of HOST is still to be read."""
    return unread(group, Path(path), host)


def _files(path: Path) -> list[Path]:
    """A file, or the conversations in a folder; those of subagents are not among them."""
    if not path.is_dir():
        return [path]
    found = sorted(path.rglob(f"*{SUFFIX}"))
    return [each for each in found if not each.name.startswith("agent-")]


def _lines_of(host: Host) -> Lines:
    def lines(path: Path, offset: int) -> Iterator[Line]:
        chat = host.chat_of(path)
        for raw, behind in read_lines(path, offset):
            said, passed = OVERLONG if raw == TOO_LONG else host.read_line(raw, chat)
            if said is None:
                yield Line(None, passed, behind)
            else:
                heard = Spoken(said.chat or chat, said.sender, said.text, said.at, said.id)
                yield Line(heard, "", behind)

    return lines
