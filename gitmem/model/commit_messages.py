"""Commit messages: a subject, the reason, then trailers that no text can forge.

The trailer block is the last paragraph and every value in it is one line, so a reason always stays
above it. Characters that hide or reorder text are written as `\\u{XXXX}`, and so is the backslash
of a literal `\\u{`: a composed message can be read back exactly.

By hand instead of pygit2's `Commit.message_trailers`: that is a dict, so of two `Gitmem-From` lines
it has the last one only.
"""

from __future__ import annotations

import re
import sys

from gitmem.errors import BadInput
from gitmem.model.hints import Hint, Option
from gitmem.model.record import Record

PREFIX = "Gitmem-"
SUBJECT_WIDTH = 100
SCOPE_WIDTH = 60
TITLE_WIDTH = 60
TITLE_SEARCHED = 16_384
AGENT_WIDTH = 200
NAMELESS = "agent"

# Characters that git strips from both ends of a name, beside blanks and control characters.
CRUD = " .,:;<>\"\\'"
# Where git stops reading a message: the rest is for the editor's eyes only.
SCISSORS = "------------------------ >8 ------------------------"

STANDARD = tuple(
    PREFIX + name
    for name in ("Op", "Id", "Agent", "Session", "Source", "Turn", "Subagent", "Reason")
)

RUN = "Gitmem-Run"
"""The trailer of captures that one run made."""
UNDOES = "Gitmem-Undoes"
"""The trailer with a commit that was undone ..."""
PARTLY = "Gitmem-Undoes-Part"
"""... and with one of which a part was."""


class Note(Record):
    """The operation that made a commit."""

    op: str
    id: str
    agent: str
    title: str = ""
    paths: tuple[str, ...] = ()
    session: str = ""
    source: str = ""
    turn: str = ""
    reason: str = ""
    extra: tuple[tuple[str, str], ...] = ()
    subagent: str = ""
    """A subagent of AGENT: `TYPE/ID`."""


class Parsed(Record):
    """A parsed commit message; one by plain git has no trailers of ours.

    Body and values are unescaped: show them with `visible`.
    """

    subject: str
    body: str
    trailers: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str:
        """Return the value of the first trailer NAME; empty if missing."""
        return next(iter(self.all(name)), "")

    def all(self, name: str) -> tuple[str, ...]:
        """Return the values of every trailer NAME, in order."""
        return tuple(value for key, value in self.trailers if key.lower() == name.lower())

    @property
    def op(self) -> str:
        """The operation; empty for a commit by plain git."""
        return self.get("Gitmem-Op")

    @property
    def id(self) -> str:
        """The id that identifies a retried operation."""
        return self.get("Gitmem-Id")

    @property
    def agent(self) -> str:
        """The exact name of the agent."""
        return self.get("Gitmem-Agent")

    @property
    def session(self) -> str:
        """The session the operation was part of."""
        return self.get("Gitmem-Session")

    @property
    def source(self) -> str:
        """Where the knowledge came from."""
        return self.get("Gitmem-Source")

    @property
    def turn(self) -> str:
        """The turn of the conversation the operation was part of."""
        return self.get("Gitmem-Turn")

    @property
    def subagent(self) -> str:
        """The subagent that made the edit, `TYPE/ID`."""
        return self.get("Gitmem-Subagent")

    @property
    def reason(self) -> str:
        """The reason on one line; the body has it whole."""
        return self.get("Gitmem-Reason")

    @property
    def extra(self) -> tuple[tuple[str, str], ...]:
        """The trailers that only some operations have."""
        return tuple(trailer for trailer in self.trailers if not _is_standard(trailer[0]))


def compose(note: Note, original: str = "") -> str:
    """Return the message of a commit for git.

    ORIGINAL, the message of a commit made elsewhere, replaces subject and reason.
    """
    words = [_body(original)] if original.strip() else [subject(note), _body(note.reason)]
    paragraphs = [*words, _block(note)]
    return "\n\n".join(filter(None, paragraphs)) + "\n"


def with_trailers(message: str, extra: tuple[tuple[str, str], ...]) -> str:
    """Return any MESSAGE with our trailers EXTRA added at its end."""
    block = "\n".join(f"{key}: {_value(value)}" for key, value in map(_checked, extra))
    gap = "\n" if parse(message).trailers else "\n\n"
    return f"{message.rstrip()}{gap}{block}\n"


def parse(message: str) -> Parsed:
    """Parse any commit message; only the `Gitmem-` lines of its last paragraph are trailers."""
    lines = _trimmed(message.replace("\r\n", "\n").split("\n"))
    blanks = [at for at, line in enumerate(lines) if _is_blank(line)]
    title_end, block_start = (blanks[0], blanks[-1] + 1) if blanks else (len(lines), len(lines))
    trailers = _trailers(lines[block_start:])
    body = "\n".join(_trimmed(lines[title_end : block_start if trailers else len(lines)]))
    parsed = Parsed(" ".join(map(str.strip, lines[:title_end])), body, trailers)
    # A message by plain git was never escaped.
    return parsed._replace(body=revealed(body)) if parsed.op else parsed


def visible(text: str) -> str:
    """Return TEXT on one line, with hidden and control characters as `\\u{XXXX}`."""
    text = text.replace("\\u{", _escaped("\\") + "u{")
    if text.isprintable():
        return text
    return "".join(_escaped(char) if _is_hidden(char) else char for char in text)


def revealed(text: str) -> str:
    """Return the text that `visible` was given."""
    return re.sub(r"\\u\{([0-9A-F]{4,6})\}", _character, text)


def signature_name(agent: str) -> str:
    """Return the agent's name for an author line of git; the exact one is in the trailer."""
    name = " ".join(visible(" ".join(agent.split())).translate(str.maketrans("<>", "()")).split())
    return name.strip(CRUD) or NAMELESS


def check_agent(name: str) -> str:
    """Return NAME without outer blanks, or raise BadInput if it is not a valid agent name."""
    name = name.strip()
    hint = Hint(
        "give ", Option("agent", "NAME"), " or set GITMEM_AGENT: up to 200 printable characters"
    )
    if not name:
        raise BadInput("empty agent name", hint=hint)
    if len(name) > AGENT_WIDTH:
        raise BadInput(f"agent name too long: {len(name)} characters", hint=hint, size=len(name))
    if any(map(_is_hidden, name)):
        shown = visible(name)
        raise BadInput(f"hidden characters in the agent name: {shown}", hint=hint, name=shown)
    return name


def title_of_change(before: bytes | None, after: bytes | None) -> str:
    """Return the title of a change of one file: its first new line."""
    if after is None:
        return "deleted"
    from gitmem.model.secrets.find import redact  # every write has it loaded

    known = set((before or b"").splitlines())
    new = b"\n".join(line for line in after.splitlines() if line not in known)
    text = (new if new.strip() else after).decode("utf-8", "replace")[:TITLE_SEARCHED]
    # A credential may be allowed in a file, but never in the log.
    return title_of(redact(text)[0])


def title_of(text: str) -> str:
    """Return the first line with content of a Markdown text, without marks, for a subject."""
    lines = text[:TITLE_SEARCHED].lstrip("\ufeff").splitlines()
    if lines and lines[0].rstrip() == "---":
        ends = (at for at, line in enumerate(lines) if at and line.rstrip() in ("---", "..."))
        lines = lines[next(ends, 0) + 1 :]
    plain = (_unmarked(line.strip()[:500]) for line in lines)
    return _clipped(next(filter(None, plain), ""), TITLE_WIDTH)


def _unmarked(line: str) -> str:
    """A line of Markdown as plain text; empty for rules, fences and comments."""
    if re.fullmatch(r"[-*_=~`#>|+:.\s]*|(?:```|~~~).*|<!--.*-->", line):
        return ""
    line = re.sub(r"^(?:(?:#{1,6}|[-*+]|[0-9]{1,9}[.)])\s+|>\s*|\[[ xX]\]\s+)+", "", line)
    line = re.sub(r"\s#+$", "", line)
    line = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", line)
    for _ in ("outer", "inner"):
        line = re.sub(r"(\*\*|\*|~~|`)(?=\S)(.+?)(?<=\S)\1", r"\2", line)
        line = re.sub(r"(?<!\w)(__?)(?=\S)(.+?)(?<=\S)\1(?!\w)", r"\2", line)
    return " ".join(line.split())


def subject(note: Note) -> str:
    scope, title = _scope(note.paths), visible(" ".join(note.title.split()))
    head = visible(note.op) + (f"({scope})" if scope else "")
    return _clipped(f"{head}: {title}" if title else head, SUBJECT_WIDTH)


def _scope(paths: tuple[str, ...]) -> str:
    if len(paths) != 1:
        return f"{len(paths)} files" if paths else ""
    path = paths[0]
    # The end of a path is more telling than its start.
    return visible(path if len(path) <= SCOPE_WIDTH else "…" + path[1 - SCOPE_WIDTH :])


def _clipped(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    whole = re.sub(r"\\(?:u(?:\{[0-9A-F]*)?)?$", "", text[: width - 1])
    return whole.rstrip() + "…"


def _body(reason: str) -> str:
    lines = reason.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(map(_body_line, _trimmed(lines)))


def _body_line(line: str) -> str:
    line = "\t".join(map(visible, line.split("\t")))
    # After `---` or the scissors git ignores the rest of a message, our trailers included.
    if line.startswith("---") and line[3:4] in ("", " ", "\t"):
        line = _escaped("-") + line[1:]
    return line.replace(SCISSORS, _escaped("-") + SCISSORS[1:])


def _block(note: Note) -> str:
    reason = " ".join(note.reason.split())
    where = (note.session, note.source, note.turn, note.subagent)
    values = (note.op, note.id, note.agent, *where, reason)
    pairs = [*zip(STANDARD, values, strict=True), *map(_checked, note.extra)]
    return "\n".join(f"{key}: {_value(value)}" for key, value in pairs if value)


def _is_standard(key: str) -> bool:
    return key.title() in STANDARD


def _checked(trailer: tuple[str, str]) -> tuple[str, str]:
    key = trailer[0]
    if not re.fullmatch(r"Gitmem-[A-Za-z][A-Za-z0-9-]*", key) or _is_standard(key):
        raise ValueError(f"invalid extra trailer {key!r}")
    return trailer


def _value(text: str) -> str:
    line = visible(text)
    # Readers trim blanks at the ends.
    if line.startswith(" "):
        line = _escaped(" ") + line[1:]
    return line[:-1] + _escaped(" ") if line.endswith(" ") else line


def _trailers(block: list[str]) -> tuple[tuple[str, str], ...]:
    """Our trailers in a paragraph, if all of it is trailers for git."""
    unfolded = re.sub(r"\n[ \t]+", " ", "\n".join(block)).split("\n")
    pairs: list[tuple[str, str]] = []
    for line in unfolded:
        found = re.fullmatch(r"([A-Za-z0-9-]+)[ \t]*:[ \t]*(.*?)[ \t]*", line, re.DOTALL)
        if found:
            pairs.append((found[1], revealed(found[2])))
        elif not line.startswith("(cherry picked from commit "):
            return ()
    return tuple(pair for pair in pairs if pair[0].lower().startswith(PREFIX.lower()))


def _trimmed(lines: list[str]) -> list[str]:
    """LINES without the blank ones at both ends."""
    filled = [at for at, line in enumerate(lines) if not _is_blank(line)]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def _is_blank(line: str) -> bool:
    return not line.strip(" \t")


def _escaped(char: str) -> str:
    return f"\\u{{{ord(char):04X}}}"


def _character(escape: re.Match[str]) -> str:
    code = int(escape[1], 16)
    return chr(code) if code <= sys.maxunicode else escape[0]


def _is_hidden(char: str) -> bool:
    """Whether CHAR is a control, format or separator character, or a lone surrogate."""
    if char.isprintable():
        return False
    import unicodedata  # a megabyte that plain text never needs

    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
