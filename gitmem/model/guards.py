"""What may enter git, asked on every door.

A write that breaks a rule is refused before any object exists. An edit made with ordinary tools has
already happened: it is *held* when it may not enter git at all, and lands with its violations
named when it merely should not have been made.
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
from gitmem.model.layout.layout import FILE as LAYOUT_FILE
from gitmem.model.layout.layout import Layer, budget_percent, budget_state
from gitmem.model.paths import is_path
from gitmem.model.secrets import find as secrets
from gitmem.model.text import frontmatter
from gitmem.model.text.format import human_size, quoted

if TYPE_CHECKING:
    from gitmem.model.entries.blocks import Entry

MAX_FILE = 1024 * 1024
MAX_MESSAGE = 16 * 1024
NAME_RULE = "secret in its name"
MARKERS_RULE = "conflict markers"
ALLOWED = "Gitmem-Allowed"
"""The trailer of a commit whose author said of a rule's finding that it is none."""
ACCEPTED = "accepted by hand: secret"
"""What `held accept` says in the commit of a version that holds one."""
SHRINK_FROM = 500
"""Bytes from which a file may not lose more than half of itself in one write."""


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
    """Refuse DATA as the new version of PATH, or return."""
    check_size(path, len(data))
    check_secrets(path, data, before, allow_secret)
    if not allow_markers:
        check_markers(path, data, before)
    check_policy(path, data, before, policy)
    if not allow_shrink and shrinks(data, before):
        raise _shrink_refused(path, data, before or b"")
    # A broken block that an editor brought in stays as it is: to add a line is no reason to refuse.
    if before is None or frontmatter.split(_text(data)) != frontmatter.split(_text(before)):
        frontmatter.check(_text(data))


def allowance(rules: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The trailers of a commit for which RULES were waived."""
    # Only what is a rule: somebody may have put the credential itself there.
    return tuple((ALLOWED, rule) for rule in dict.fromkeys(rules) if rule in secrets.RULES)


def is_allowed(message: str) -> bool:
    """Whether somebody who wrote through us said of a finding that it is none."""
    return f"\n{ALLOWED}: " in message or f": {ACCEPTED}" in message


def check_size(path: str, size: int) -> None:
    """Refuse what is larger than a memory file may be."""
    if size > MAX_FILE:
        raise TooBig(
            f"{path} would be {size:,} bytes; a memory file may have {MAX_FILE:,}",
            hint="split it into several files",
            path=path,
            bytes=size,
            limit=MAX_FILE,
        )


def check_secrets(
    path: str, data: bytes, before: bytes | None = None, allow: Iterable[str] = ()
) -> None:
    """Refuse text that holds a credential which was not in the file before."""
    found = secrets.find_new_in_bytes(data, before, allow)
    if found:
        first = found[0]
        raise SecretFound(
            f"{path} line {first.line} holds what looks like a credential ({first.rule})",
            hint="keep the value elsewhere and write where it is kept; "
            f"if it is no secret, repeat with --allow-secret {first.rule}",
            path=path,
            rule=first.rule,
            line=first.line,
            findings=[{"rule": each.rule, "line": each.line} for each in found],
        )


def check_markers(path: str, data: bytes, before: bytes | None = None) -> None:
    """Refuse text with more unresolved conflicts of a merge than the file had before."""
    found = _new_conflicts(data, before)
    if found:
        raise MarkersFound(
            f"'{path}' has conflict markers in line {found[0]}: an unresolved merge",
            hint="resolve the conflict and write the text without the lines `<<<<<<<`, `=======` "
            "and `>>>>>>>`; put an example into fenced code; to keep them, repeat with "
            "--allow-markers",
            path=path,
            line=found[0],
            lines=found,
        )


def _new_conflicts(data: bytes, before: bytes | None) -> list[int]:
    if b"<<<<<<<" not in data:
        return []
    from gitmem.model.text.merge import new_conflicts  # hardly any text has them

    return new_conflicts(data, before)


def check_message_text(what: str, text: str) -> None:
    """Refuse a reason, name or source that would put a credential into a commit message."""
    if len(text) > MAX_MESSAGE:
        raise TooBig(
            f"the {what} has {len(text):,} characters; {MAX_MESSAGE:,} is the most",
            hint="keep it short, and put the text into a file",
            limit=MAX_MESSAGE,
        )
    found = _found(text) if len(text) >= secrets.SHORTEST_SECRET else []
    if found:
        raise SecretFound(
            f"the {what} holds what looks like a credential ({found[0].rule})",
            hint="say it without the value: it would be kept in the history for ever",
            rule=found[0].rule,
            line=found[0].line,
        )


@lru_cache(maxsize=64)
def _found(text: str) -> list[secrets.SecretMatch]:
    """The findings in a short text: the same names come again and again."""
    return secrets.find(text)


def check_policy(path: str, data: bytes | None, before: bytes | None, policy: str) -> None:
    """Refuse what the layer to which PATH belongs does not allow; None is no file any more."""
    if not breaks_policy(data, before, policy):
        return
    hints = {
        "append-only": f"add to it: `gitmem write {quoted(path)} --append ...`",
        "write-once": "what was written stays: write a new file instead",
        "protected": "it is for people to change",
    }
    raise PolicyRefused(
        f"{path} is {policy} by the layout of this group",
        hint=f"{hints[policy]}; if it has to be, repeat with --allow-policy",
        path=path,
        policy=policy,
    )


def breaks_policy(data: bytes | None, before: bytes | None, policy: str) -> bool:
    """Whether going from BEFORE to DATA is what POLICY forbids; None is no file."""
    if policy == "free" or data == before:
        return False
    if policy == "protected":
        return before is not None or data is None
    if before is None:
        return False
    if policy == "append-only" and data is not None:
        return not _goes_on(data, before)
    return True


def _goes_on(data: bytes, before: bytes) -> bool:
    """Whether DATA begins with all lines of BEFORE; the last one ends, written so or not."""
    said = before.rstrip(b"\r\n")
    return data.startswith(said) and data[len(said) : len(said) + 1] in (b"\r", b"\n")


def shrinks(data: bytes, before: bytes | None) -> bool:
    """True when a file of some size would lose more than half of itself, or all it said."""
    if before is None or not before.strip():
        return False
    if not data.strip():
        return True
    return len(before) > SHRINK_FROM and len(data) * 2 < len(before)


def _shrink_refused(path: str, data: bytes, before: bytes) -> ShrinkRefused:
    lines = before.count(b"\n")
    return ShrinkRefused(
        f"{path} has {len(before):,} bytes in {lines:,} lines; this would leave {len(data):,}",
        hint=f"read it first (`gitmem read {quoted(path)}`) and write the whole new text, "
        "add to it with --append, or repeat with --allow-shrink",
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
    """Why an edit found in the work tree may not enter git; empty when it may.

    A deletion always may. It brings nothing into git, and a name that plain git has let in can
    leave by no other way.
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
    """The rules an edit broke that a write would have been refused for."""
    broken = []
    if breaks_policy(data, before, policy):
        broken.append(f"policy {path} is {policy}")
    if data is None:
        broken += ["layout: it is gone, and the last one counts"] if path == LAYOUT_FILE else []
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
    """One sentence for each thing that is worth a thought; a strict layer refuses instead."""
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
    yield f"{path} is {what}: {used}; move what is past elsewhere"


def _day_warning(layer: Layer, path: str, data: bytes, today: str) -> Iterator[str]:
    from gitmem.model.layout.archives import header_day

    day = header_day(layer, data)
    if day and str(day) < today:
        yield f"{path} is the log of {day}; `gitmem rotate` keeps it and begins today's"


def _summary_warning(path: str, text: str, before: str) -> Iterator[str]:
    from gitmem.model.text.plain_frontmatter import read_fields

    now, old = read_fields(text).get("summary"), read_fields(before).get("summary")
    if not now:
        yield f"{path} has no summary, so a prompt will not show it: add --summary"
    elif old and old != now:
        yield f"the summary of {path} was {str(old)!r} until now"


def _entry_warnings(layer: Layer, text: str, name: str) -> Iterator[str]:
    from gitmem.model.entries.blocks import find, matching, parse

    entries = parse(text, layer.fields)
    yield from check_entry(matching(entries, name) or find(entries, name), layer)


def _new_entry_warnings(layer: Layer, text: str, before: str) -> Iterator[str]:
    """What there is to say about entries that were not there before, as they are now."""
    from gitmem.model.entries.blocks import parse, wording

    known = {wording(each.block) for each in parse(before, layer.fields)}
    for each in parse(text, layer.fields):
        if wording(each.block) not in known:
            yield from check_entry(each, layer)


def check_entry(entry: Entry, layer: Layer) -> tuple[str, ...]:
    """What LAYER does not know about ENTRY; a strict one refuses it."""
    from gitmem.model.entries.rules import invalid_values

    found = invalid_values(entry, layer)
    if found and layer.strict:
        raise EntryRefused(
            f"{layer.name} is strict: {found[0]}",
            hint="say it as the layout has it, or take `strict` out of gitmem.yaml",
        )
    return found
