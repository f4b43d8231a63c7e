"""Answer an event of an agent host: one object or nothing, and never a reason to stop.

A host takes the exit code 2 of a hook for a veto, which erases a prompt. Whatever goes wrong here
becomes a short word to the user instead. What a handler needs is imported by that handler: most
events are about files that are not ours, and cost no more than looking at a path.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import GitmemError, NotFound
from gitmem.integrations.hooks.dialects import EVENTS, Payload, answer
from gitmem.integrations.hosts.table import HOSTS
from gitmem.model.context.escape import NOTHING, ForModel, shown

if TYPE_CHECKING:
    from datetime import datetime

LARGEST = 32 * 1024 * 1024
"""Bytes that a host may say; a file that was written stands in them, too."""
LONGEST_NOTICE = 400
LONGEST_NAME = 200
DISABLE = "GITMEM_DISABLE"
DRAIN = "drain"
"""No event of a host: what sessions have left is taken in."""
READY = "ready"
"""Neither is this: what prompts are answered from is brought up to date."""


class Asked(NamedTuple):
    """What a host asks, and for whom."""

    event: str
    host: str
    payload: Payload
    store: str
    group: str
    """The group that was named; nothing where the project's folder says."""
    acting: str | None
    agent: str
    """Who the commits are by; nothing for the host."""
    environ: Mapping[str, str]
    now: datetime | None = None
    """Where the clock stands still; None when it runs."""

    @property
    def name(self) -> str:
        """The event, as hosts call it; nothing for one that the command names and we do not."""
        if self.event:
            return EVENTS.get(self.event, "")
        said = str(self.payload.get("hook_event_name"))
        return HOSTS[self.host].events.get(said, said)

    @property
    def session(self) -> str:
        """The session that asks; for a subagent that has an id of its own, the one it works for."""
        payload = self.payload
        return str(payload.get("parent_agent_id") or payload.get("session_id") or "")

    @property
    def turn(self) -> str:
        """The turn of the session, as its host names it."""
        return _name(self.payload.get(HOSTS[self.host].turn))

    @property
    def subagent(self) -> str:
        """The type and the id of the subagent that asks; nothing for the session itself."""
        kind, name = (_name(self.payload.get(each)) for each in ("agent_type", "agent_id"))
        return f"{kind}/{name}" if name else ""

    @property
    def project(self) -> str:
        """The folder that the session works in."""
        named = self.environ.get(HOSTS[self.host].project_variable)
        return named or str(self.payload.get("cwd") or "/")


def _name(value: object) -> str:
    """A name that a host gives; nothing for what cannot stand in a commit."""
    is_name = isinstance(value, str) and len(value) <= LONGEST_NAME and value.isprintable()
    return value if is_name else ""  # type: ignore[return-value]


class Said(NamedTuple):
    """What there is to say: to the model, and to its user."""

    context: ForModel = NOTHING
    notice: str = ""


class Reply(NamedTuple):
    """What a hook says in the end."""

    document: dict[str, object] | None = None
    """The one object to print; None for nothing."""
    complaint: str = ""
    """What went wrong, on one line, where the host reads no answer to this event."""


def damage_words(damage: Iterable[str]) -> str:
    """What the user is told of damage that was met."""
    return "\n".join(_clipped(f"gitmem: {each}") for each in damage)


class Parts:
    """The parts of an answer: one that fails is told, and never costs another."""

    def __init__(self) -> None:
        self.trouble: list[str] = []

    def tried(self, what: str, part: Callable[[], ForModel]) -> ForModel:
        """What PART says; where it fails nothing, and WHAT that means is told."""
        try:
            return part()
        except Exception as error:  # noqa: BLE001 - one part never costs another
            self.failed(error, what)
            return NOTHING

    def failed(self, error: Exception, what: str) -> None:
        """Tell of ERROR and WHAT it means; one that costs several parts is told once."""
        words = in_words(error)
        for at, each in enumerate(self.trouble):
            if each.startswith(f"{words}; "):
                self.trouble[at] = f"{each}; {what}"
                return
        self.trouble.append(f"{words}; {what}")

    def tell(self, damage: Iterable[str]) -> None:
        """Tell of DAMAGE that was met, and of which an answer may lack something."""
        told = self.notice
        new = (each for each in damage if each.partition(":")[0] not in told)
        self.trouble += filter(None, [damage_words(new)])

    @property
    def notice(self) -> str:
        """What the user is told."""
        return "\n".join(self.trouble)


def read_payload(data: bytes) -> Payload | None:
    """The JSON object that a host said; None for anything else."""
    if len(data) > LARGEST:
        return None
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def respond(asked: Asked) -> Reply:
    """What to answer, and where."""
    host, event = HOSTS[asked.host], asked.name
    handler = HANDLERS.get(event)
    if handler is None or asked.environ.get(DISABLE):
        return Reply()
    try:
        said = handler(asked)
    except Exception as error:  # noqa: BLE001 - no event of a host is stopped by us
        said = Said(notice=_notice(error, event))
        _debugged(asked)
    # A name or a value in an error is as hostile on a terminal as it is to a model.
    notice = shown(said.notice) if said.notice else ""
    if event in host.deaf:
        return Reply(complaint=" ".join(notice.split()))
    return Reply(answer(host, event, said.context, notice))


def _notice(error: Exception, event: str) -> str:
    """What the user is told; that there is no store only once a session."""
    if isinstance(error, NotFound) and event != "SessionStart":
        return ""
    return in_words(error)


def in_words(error: Exception) -> str:
    """An error on one line, with what to type next."""
    if isinstance(error, GitmemError):
        said, hint = error.message, error.hint
    elif isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        said, hint = f"{where}{error.strerror or error}", "run `gitmem doctor`"
    else:
        said, hint = f"unexpected {type(error).__name__}: {error}", "run `gitmem doctor`"
    return _clipped(f"gitmem: {said}{f' ({hint})' if hint else ''}")


def _clipped(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_NOTICE else f"{text[: LONGEST_NOTICE - 1]}…"


def _debugged(asked: Asked) -> None:
    if asked.environ.get("GITMEM_DEBUG"):
        import traceback

        traceback.print_exc()


def _start(asked: Asked) -> Said:
    from gitmem.integrations.hooks.session_start import started

    return started(asked)


def _subagent(asked: Asked) -> Said:
    from gitmem.integrations.hooks.session_start import subagent_started

    return subagent_started(asked)


def _prompt(asked: Asked) -> Said:
    from gitmem.integrations.hooks.turns import prompted

    return prompted(asked)


def _written(asked: Asked) -> Said:
    from gitmem.integrations.hooks.tool_use import written

    return written(asked)


def _turn(asked: Asked) -> Said:
    from gitmem.integrations.hooks.turns import turned

    return turned(asked)


def _compacted(asked: Asked) -> Said:
    from gitmem.integrations.hooks.turns import compacted

    return compacted(asked)


def _ended(asked: Asked) -> Said:
    note_end(asked)
    return Said()


def note_end(asked: Asked, group: str = "") -> ForModel:
    """Leave word of what was said for who starts next; there is nothing to say about it."""
    from gitmem.memory.transcripts.spool import Ended, leave, left_by

    transcript = asked.payload.get("transcript_path")
    where = transcript if isinstance(transcript, str) else ""
    if asked.session and where:
        named = group or asked.group
        ended = Ended(asked.host, asked.session, where, asked.project, named)
        before = None if named else left_by(asked.store, ended)
        leave(asked.store, before._replace(transcript=where) if before else ended)
    return NOTHING


def _drain(asked: Asked) -> None:
    from gitmem.integrations.hooks.import_spool import drain

    drain(asked, at_once=False)


def _ready(asked: Asked) -> None:
    from gitmem.integrations.hooks.groups import opened
    from gitmem.memory.context.readiness import make_ready

    with opened(asked) as group:
        make_ready(group)


UNWATCHED: dict[str, Callable[[Asked], None]] = {DRAIN: _drain, READY: _ready}
"""What a hook leaves to a process that nobody waits for."""
HANDLERS: dict[str, Callable[[Asked], Said]] = {
    "SessionStart": _start,
    "SubagentStart": _subagent,
    "UserPromptSubmit": _prompt,
    "PostToolUse": _written,
    "PreCompact": _turn,
    "PostCompact": _compacted,
    "Stop": _turn,
    "SubagentStop": _turn,
    "SessionEnd": _ended,
}
