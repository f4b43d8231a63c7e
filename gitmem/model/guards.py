"""The guards that every write passes, and the warnings that follow it.

A write that breaks a rule is refused before any object exists. An edit made with ordinary tools has
already happened: it is *held* if it must not enter git at all, else it is captured, and its commit
names the violations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from gitmem.errors import (
    EntryRefused,
    FrontmatterRefused,
    LayoutRefused,
    MarkersFound,
    PolicyRefused,
    SecretFound,
    ShrinkRefused,
    TooBig,
)
from gitmem.model.hints import Hint, Option, call
from gitmem.model.layout.layout import FILE as LAYOUT_FILE
from gitmem.model.layout.layout import Layer, budget_percent, budget_state
from gitmem.model.paths import is_path
from gitmem.model.secrets import find as secrets
from gitmem.model.text import frontmatter
from gitmem.model.text.format import human_size

if TYPE_CHECKING:
    from gitmem.model.entries.blocks import Entry

MAX_FILE = 1024 * 1024
MAX_MESSAGE = 16 * 1024
NAME_RULE = "secret in its name"
MARKERS_RULE = "conflict markers"
ALLOWED = "Gitmem-Allowed"
"""The trailer of a commit whose author accepted a match of the rule as a false positive."""
ACCEPTED = "accepted by hand: secret"
"""In the commit of a held version with a secret that a person accepted."""
SHRINK_FROM = 500
"""Bytes above which a write must not remove more than half of a file."""


def check_write(
    path: str,
    data: bytes,
    before: bytes | None,
    *,
    allow_secret: Iterable[str] = (),
    allow_shrink: bool = False,
    allow_markers: bool = False,
    policy: str = "free",
) -> None:
    """Raise the error of the first rule that DATA breaks as the new version of PATH."""
    check_size(path, len(data))
    check_secrets(path, data, before, allow_secret)
    if not allow_markers:
        check_markers(path, data, before)
    check_policy(path, data, before, policy)
    if not allow_shrink and shrinks(data, before):
        raise _shrink_refused(path, data, before or b"")
    # A broken block that an editor left is no reason to refuse a write that keeps it.
    if before is None or frontmatter.split(_text(data)) != frontmatter.split(_text(before)):
        frontmatter.check(_text(data))


def allowance(rules: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the trailers of a commit for which RULES were waived."""
    # Names of rules only: a caller may have passed the credential itself.
    return tuple((ALLOWED, rule) for rule in dict.fromkeys(rules) if rule in secrets.RULES)


def is_allowed(message: str) -> bool:
    """Whether the author of the commit MESSAGE accepted a match as a false positive."""
    return f"\n{ALLOWED}: " in message or f": {ACCEPTED}" in message


def check_size(path: str, size: int) -> None:
    """Raise TooBig for a file larger than 1 MiB."""
    if size > MAX_FILE:
        raise TooBig(
            f"{path} would have {size:,} bytes; at most {MAX_FILE:,} are allowed",
            hint="split it into several files",
            path=path,
            bytes=size,
            limit=MAX_FILE,
        )


def check_secrets(
    path: str, data: bytes, before: bytes | None = None, allow: Iterable[str] = ()
) -> None:
    """Raise SecretFound for a credential in DATA that is not in BEFORE."""
    found = secrets.find_new_in_bytes(data, before, allow)
    if found:
        first = found[0]
        raise SecretFound(
            f"{path} line {first.line} holds what looks like a credential ({first.rule})",
            hint=Hint(
                "keep the value elsewhere and write where it is kept; for a false positive, "
                "repeat with ",
                Option("allow_secret", first.rule),
            ),
            path=path,
            rule=first.rule,
            line=first.line,
            findings=[{"rule": each.rule, "line": each.line} for each in found],
        )


def check_markers(path: str, data: bytes, before: bytes | None = None) -> None:
    """Raise MarkersFound if DATA has more unresolved merge conflicts than BEFORE."""
    found = _new_conflicts(data, before)
    if found:
        raise MarkersFound(
            f"'{path}' has conflict markers in line {found[0]}: an unresolved merge",
            hint=Hint(
                "resolve the conflict and write the text without the lines `<<<<<<<`, `=======` "
                "and `>>>>>>>`; put an example into fenced code; to keep them, repeat with ",
                Option("allow_markers"),
            ),
            path=path,
            line=found[0],
            lines=found,
        )


def _new_conflicts(data: bytes, before: bytes | None) -> list[int]:
    if b"<<<<<<<" not in data:
        return []
    from gitmem.model.text.conflict_markers import new_conflicts  # hardly any text has a marker

    return new_conflicts(data, before)


def check_message_text(what: str, text: str) -> None:
    """Raise TooBig or SecretFound for a text that must not enter a commit message.

    WHAT names it in the error: the reason, the source.
    """
    if len(text) > MAX_MESSAGE:
        raise TooBig(
            f"the {what} has {len(text):,} characters; at most {MAX_MESSAGE:,} are allowed",
            hint="keep it short, and put the text into a file",
            limit=MAX_MESSAGE,
        )
    found = _found(text) if len(text) >= secrets.SHORTEST_SECRET else []
    if found:
        raise SecretFound(
            f"the {what} holds what looks like a credential ({found[0].rule})",
            hint="leave the value out: the history would keep it for ever",
            rule=found[0].rule,
            line=found[0].line,
        )


@lru_cache(maxsize=64)
def _found(text: str) -> list[secrets.SecretMatch]:
    """The matches in a short text; names of agents and sessions repeat."""
    return secrets.find(text)


def check_policy(path: str, data: bytes | None, before: bytes | None, policy: str) -> None:
    """Raise PolicyRefused if POLICY forbids the change from BEFORE to DATA; None is no file."""
    if not breaks_policy(data, before, policy):
        return
    hints = {
        "append-only": Hint("add to it: ", call("write", path, "...", append=True)),
        "write-once": "write a new file instead",
        "protected": "only people change it",
    }
    raise PolicyRefused(
        f"{path} is {policy} by the layout of this group",
        hint=Hint(hints[policy], "; to override the policy, repeat with ", Option("allow_policy")),
        path=path,
        policy=policy,
    )


def breaks_policy(data: bytes | None, before: bytes | None, policy: str) -> bool:
    """Whether POLICY forbids the change from BEFORE to DATA; None is no file."""
    if policy == "free" or data == before:
        return False
    if policy == "protected":
        return before is not None or data is None
    if before is None:
        return False
    if policy == "append-only" and data is not None:
        return not _appends(data, before)
    return True


def _appends(data: bytes, before: bytes) -> bool:
    """Whether DATA begins with all lines of BEFORE, whose last one may lack its newline."""
    old = before.rstrip(b"\r\n")
    return data.startswith(old) and data[len(old) : len(old) + 1] in (b"\r", b"\n")


def shrinks(data: bytes, before: bytes | None) -> bool:
    """Whether DATA empties BEFORE, or removes more than half of a file over 500 bytes."""
    if before is None or not before.strip():
        return False
    if not data.strip():
        return True
    return len(before) > SHRINK_FROM and len(data) * 2 < len(before)


def _shrink_refused(path: str, data: bytes, before: bytes) -> ShrinkRefused:
    lines = before.count(b"\n")
    return ShrinkRefused(
        f"{path} has {len(before):,} bytes in {lines:,} lines; this would leave {len(data):,}",
        hint=Hint(
            *("read it first (", call("read", path), ") and write the whole new text, "),
            *("add to it with ", Option("append"), ", or repeat with "),
            Option("allow_shrink"),
        ),
        path=path,
        bytes=len(before),
        new_bytes=len(data),
    )


def hold_rule(
    path: str,
    obstacle: str,
    data: bytes | None,
    before: bytes | None,
    *,
    allow_markers: bool = False,
) -> str:
    """Return why an edit in the work tree must be held; empty if it may be captured.

    A deletion is always captured: it adds nothing, and a bad name that plain git committed can
    leave in no other way.
    """
    if data is None and not obstacle:
        return ""
    if not is_path(path):
        return "path"
    return obstacle or _content_rule(path, data or b"", before, allow_markers)


def _content_rule(path: str, data: bytes, before: bytes | None, allow_markers: bool) -> str:
    if len(data) > MAX_FILE:
        return "too-big"
    named = secrets.find_in_path(path)
    if named:
        return f"{NAME_RULE}: {named[0].rule}"
    found = secrets.find_new_in_bytes(data, before)
    if found:
        return f"secret: {found[0].rule}, line {found[0].line}"
    marked = [] if allow_markers else _new_conflicts(data, before)
    return f"{MARKERS_RULE}, line {marked[0]}" if marked else ""


def violations(
    path: str, data: bytes | None, before: bytes | None, policy: str = "free"
) -> tuple[str, ...]:
    """Return the rules that an edit broke and for which a write is refused."""
    broken = []
    if breaks_policy(data, before, policy):
        broken.append(f"policy {path} is {policy}")
    if data is None:
        broken += ["layout: deleted; the last one counts"] if path == LAYOUT_FILE else []
        return tuple(broken)
    if shrinks(data, before):
        broken.append(f"shrink {path} {len(before or b'')} -> {len(data)} bytes")
    try:
        frontmatter.check(_text(data))
    except FrontmatterRefused as error:
        broken.append(f"frontmatter {path}: {error.message}")
    if path == LAYOUT_FILE:
        broken += _layout_violation(data)
    return tuple(broken)


def _layout_violation(data: bytes) -> list[str]:
    from gitmem.model.layout.parse import parse

    try:
        parse(_text(data))
    except LayoutRefused as error:
        return [f"layout {error.message}"]
    return []


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def write_warnings(
    layer: Layer,
    path: str,
    data: bytes,
    before: bytes | None = None,
    *,
    entry: str = "",
    today: str = "",
) -> Iterator[str]:
    """Yield warnings about DATA, just written to PATH in LAYER.

    ENTRY names the entry that was written. Raises EntryRefused where the layer is strict.
    """
    yield from _size_warning(layer, path, len(data))
    if layer.kind == "log" and layer.holds(path):
        yield from _day_warning(layer, path, data, today)
    text = data.decode("utf-8", "replace")
    if layer.kind == "journal" and layer.render == "summary":
        yield from _summary_warning(path, text, (before or b"").decode("utf-8", "replace"))
    if entry:
        yield from _entry_warnings(layer, text, entry)
    elif layer.kind == "entries":
        yield from _new_entry_warnings(layer, text, (before or b"").decode("utf-8", "replace"))


def _size_warning(layer: Layer, path: str, size: int) -> Iterator[str]:
    state = budget_state(layer, size)
    if state == "ok":
        return
    used = f"{human_size(size)} of {human_size(layer.budget)} ({budget_percent(layer, size)} %)"
    what = "over its budget" if state == "over" else "near its budget"
    yield f"{path} is {what}: {used}; archive outdated text"


def _day_warning(layer: Layer, path: str, data: bytes, today: str) -> Iterator[str]:
    from gitmem.model.layout.archives import header_day

    day = header_day(layer, data)
    if day and str(day) < today:
        yield Hint(
            f"{path} is the log of {day}; ", call("rotate"), " archives it and begins today's"
        )


def _summary_warning(path: str, text: str, before: str) -> Iterator[str]:
    from gitmem.model.text.plain_frontmatter import read_fields

    now, old = read_fields(text).get("summary"), read_fields(before).get("summary")
    if not now:
        yield Hint(f"{path} has no summary, so no prompt shows it: add ", Option("summary"))
    elif old and old != now:
        yield f"the summary of {path} replaced {str(old)!r}"


def _entry_warnings(layer: Layer, text: str, name: str) -> Iterator[str]:
    from gitmem.model.entries.blocks import find, matching, parse

    entries = parse(text, layer.fields)
    yield from check_entry(matching(entries, name) or find(entries, name), layer)


def _new_entry_warnings(layer: Layer, text: str, before: str) -> Iterator[str]:
    """Warnings about entries that are new in TEXT, or changed."""
    from gitmem.model.entries.blocks import parse, wording

    known = {wording(each.block) for each in parse(before, layer.fields)}
    for each in parse(text, layer.fields):
        if wording(each.block) not in known:
            yield from check_entry(each, layer)


def check_entry(entry: Entry, layer: Layer) -> tuple[str, ...]:
    """Return the values of ENTRY that LAYER does not know; raise EntryRefused if it is strict."""
    from gitmem.model.entries.rules import invalid_values

    found = invalid_values(entry, layer)
    if found and layer.strict:
        raise EntryRefused(
            f"{layer.name} is strict: {found[0]}",
            hint="use a value that the layout lists, or remove `strict` from gitmem.yaml",
        )
    return found
