"""Answer an event of an agent host: one object or nothing, and never a reason to stop.

A host takes the exit code 2 of a hook for a veto, which erases a prompt. Whatever goes wrong here
becomes a short word to the user instead. What a handler needs is imported by that handler: most
events are about files that are not ours, and cost no more than looking at a path.
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
"""No event of a host: what sessions have left is taken in."""
READY = "ready"
"""Neither is this: what prompts are answered from is brought up to date."""


class Output(Record):
    """What there is to say: to the model, and to its user."""

    context: ForModel = NOTHING
    notice: str = ""


class Reply(Record):
    """What a hook says in the end."""

    document: dict[str, object] | None = None
    """The one object to print; None for nothing."""
    complaint: str = ""
    """What went wrong, on one line, where the host reads no answer to this event."""


def damage_words(damage: Iterable[str]) -> str:
    """The notice for the user about DAMAGE that a hook met."""
    return "\n".join(notice_of(each) for each in damage)


def notice_of(text: str) -> str:
    """TEXT as one line for the user."""
    return _clipped(f"gitmem: {typed(text)}")


def typed(text: str) -> str:
    """TEXT, a hint or not, with its calls as commands: people and agents here have a shell."""
    from gitmem.model.hints import as_typed, rendered  # only where something is to be told

    return rendered(text, as_typed)


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


def respond(event: Event) -> Reply:
    """What to answer, and where."""
    host, name = HOSTS[event.host], event.name
    handler = HANDLERS.get(name)
    if handler is None or event.environ.get(DISABLE):
        return Reply()
    try:
        said = handler(event)
    except Exception as error:  # noqa: BLE001 - no event of a host is stopped by us
        said = Output(notice=_notice(error, name))
        _debugged(event)
    # A name or a value in an error is as hostile on a terminal as it is to a model.
    notice = shown(said.notice) if said.notice else ""
    if name in host.deaf:
        return Reply(complaint=" ".join(notice.split()))
    return Reply(answer(host, name, said.context, notice))


def _notice(error: Exception, name: str) -> str:
    """What the user is told; that there is no store only once a session."""
    if isinstance(error, NotFound) and name != "SessionStart":
        return ""
    return in_words(error)


def in_words(error: Exception) -> str:
    """An error on one line, with what to type next."""
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


def _start(event: Event) -> Output:
    from gitmem.integrations.hooks.session_start import started

    return started(event)


def _subagent(event: Event) -> Output:
    from gitmem.integrations.hooks.session_start import subagent_started

    return subagent_started(event)


def _prompt(event: Event) -> Output:
    from gitmem.integrations.hooks.turns import prompted

    return prompted(event)


def _written(event: Event) -> Output:
    from gitmem.integrations.hooks.edits import written

    return written(event)


def _turn(event: Event) -> Output:
    from gitmem.integrations.hooks.turns import turned

    return turned(event)


def _compacted(event: Event) -> Output:
    from gitmem.integrations.hooks.turns import compacted

    return compacted(event)


def _ended(event: Event) -> Output:
    note_end(event)
    return Output()


def note_end(event: Event, group: str = "") -> ForModel:
    """Leave word of what was said for who starts next; there is nothing to say about it."""
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
"""What a hook leaves to a process that nobody waits for."""
HANDLERS: dict[str, Callable[[Event], Output]] = {
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
