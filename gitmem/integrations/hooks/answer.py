"""Answer one event of an agent host with one JSON object or nothing.

A host takes exit code 2 of a hook for a veto, which erases the prompt, so every error becomes a
short notice for the user instead. Each handler imports what it needs: most events concern files
that are not memory, and cost no more than a look at a path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gitmem.errors import GitmemError, NotFound
from gitmem.integrations.hooks.protocol import Event, answer
from gitmem.integrations.hosts.table import HOSTS
from gitmem.model.context.escape import NOTHING, ForModel, shown
from gitmem.model.record import Record

LONGEST_NOTICE = 400
DISABLE = "GITMEM_DISABLE"
DRAIN = "drain"
"""Not an event of a host: import what ended sessions left in the spool."""
READY = "ready"
"""Not an event of a host: update the caches that prompts are answered from."""


class Output(Record):
    """The texts for the model and for its user."""

    context: ForModel = NOTHING
    notice: str = ""


class Reply(Record):
    """What a hook prints."""

    document: dict[str, object] | None = None
    """The one object to print; None for nothing."""
    complaint: str = ""
    """An error on one line, for an event whose answer the host does not read."""


def damage_words(damage: Iterable[str]) -> str:
    """The notice for the user about DAMAGE that a hook met."""
    return "\n".join(notice_of(each) for each in damage)


def notice_of(text: str) -> str:
    """TEXT as one line for the user."""
    return _clipped(f"gitmem: {typed(text)}")


def typed(text: str) -> str:
    """TEXT, a hint or not, with its calls as commands: people and agents here have a shell."""
    from gitmem.model.hints import in_shell  # only where something is to be told

    return in_shell(text)


class Parts:
    """The parts of an answer: a failed one is reported and costs no other."""

    def __init__(self) -> None:
        self.trouble: list[str] = []

    def tried(self, what: str, part: Callable[[], ForModel]) -> ForModel:
        """The text of PART; where it raises, nothing, and the user is told WHAT failed."""
        try:
            return part()
        except Exception as error:  # noqa: BLE001 - one part never costs another
            self.failed(error, what)
            return NOTHING

    def failed(self, error: Exception, what: str) -> None:
        """Report ERROR and WHAT it costs; an error that costs several parts is reported once."""
        words = in_words(error)
        for at, each in enumerate(self.trouble):
            if each.startswith(f"{words}; "):
                self.trouble[at] = f"{each}; {what}"
                return
        self.trouble.append(f"{words}; {what}")

    def tell(self, damage: Iterable[str]) -> None:
        """Report DAMAGE, because of which the answer may be incomplete."""
        reported = self.notice
        new = (each for each in damage if each.partition(":")[0] not in reported)
        self.trouble += filter(None, [damage_words(new)])

    @property
    def notice(self) -> str:
        """The text for the user."""
        return "\n".join(self.trouble)


def respond(event: Event) -> Reply:
    """The reply to EVENT; never raises."""
    host, name = HOSTS[event.host], event.name
    handler = HANDLERS.get(name)
    if handler is None or event.environ.get(DISABLE):
        return Reply()
    try:
        output = handler(event)
    except Exception as error:  # noqa: BLE001 - a hook never stops its host
        output = Output(notice=_notice(error, name))
        _debugged(event)
    # A name or a value in an error is as hostile on a terminal as it is to a model.
    notice = shown(output.notice) if output.notice else ""
    if name in host.deaf:
        return Reply(complaint=" ".join(notice.split()))
    return Reply(answer(host, name, output.context, notice))


def _notice(error: Exception, name: str) -> str:
    """The notice about ERROR; a missing store is reported only when a session starts."""
    if isinstance(error, NotFound) and name != "SessionStart":
        return ""
    return in_words(error)


def in_words(error: Exception) -> str:
    """ERROR with its hint, on one line."""
    from gitmem.model.hints import Hint, call  # only where something failed

    hint: str = Hint("run ", call("doctor"))
    if isinstance(error, GitmemError):
        message, hint = error.message, error.hint
    elif isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        message = f"{where}{error.strerror or error}"
    else:
        message = f"unexpected {type(error).__name__}: {error}"
    return notice_of(Hint(message, " (", hint, ")") if hint else message)


def _clipped(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_NOTICE else f"{text[: LONGEST_NOTICE - 1]}…"


def _debugged(event: Event) -> None:
    if event.environ.get("GITMEM_DEBUG"):
        import traceback

        traceback.print_exc()


def _handled_in(module: str, name: str) -> Callable[[Event], Output]:
    """The handler NAME of a module of this folder, which is imported only for its event."""

    def handler(event: Event) -> Output:
        from importlib import import_module

        found = getattr(import_module(f"gitmem.integrations.hooks.{module}"), name)
        output: Output = found(event)
        return output

    return handler


def _ended(event: Event) -> Output:
    note_end(event)
    return Output()


def note_end(event: Event, group: str = "") -> ForModel:
    """Leave a note in the spool, so that the next start imports the transcript."""
    from gitmem.memory.transcripts.spool import SessionNote, leave, left_by

    where = event.transcript
    if event.session and where:
        named = group or event.group
        ended = SessionNote(event.host, event.session, where, event.project, named)
        before = None if named else left_by(event.store, ended)
        leave(event.store, before._replace(transcript=where) if before else ended)
    return NOTHING


def _drain(event: Event) -> None:
    from gitmem.integrations.hooks.drain import drain

    drain(event, at_once=False)


def _ready(event: Event) -> None:
    from gitmem.integrations.hooks.groups import opened
    from gitmem.memory.context.readiness import make_ready

    with opened(event) as group:
        make_ready(group)


UNWATCHED: dict[str, Callable[[Event], None]] = {DRAIN: _drain, READY: _ready}
"""Work that a hook leaves to a process in the background."""
HANDLERS: dict[str, Callable[[Event], Output]] = {
    "SessionStart": _handled_in("session_start", "started"),
    "SubagentStart": _handled_in("session_start", "subagent_started"),
    "UserPromptSubmit": _handled_in("turns", "prompted"),
    "PostToolUse": _handled_in("edits", "written"),
    "PreCompact": _handled_in("turns", "turned"),
    "PostCompact": _handled_in("turns", "compacted"),
    "Stop": _handled_in("turns", "turned"),
    "SubagentStop": _handled_in("turns", "turned"),
    "SessionEnd": _ended,
}
