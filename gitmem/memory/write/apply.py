"""One edit, applied to one version of one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import BadInput, Conflict, GitmemError
from gitmem.model.hints import Hint, Option, call
from gitmem.model.layout.layout import Layer
from gitmem.model.record import Record
from gitmem.model.text.frontmatter import set_field
from gitmem.store.objects.database import blob_id


class Edit(Record):
    """One change of one file."""

    path: str
    """A path, or the name of a layer."""
    text: str | bytes | None = None
    """None: the text stays as it is, and only fields change."""
    append: bool = False
    create: bool = False
    if_match: str = ""
    line: int = 0
    """The line of a batch it came from, 0 when it stands alone."""
    entry: str = ""
    """The title or address of the one entry in the file that this is about."""
    set: tuple[tuple[str, str], ...] = ()
    """Fields of that entry, or of the file's frontmatter, as pairs of name and value."""
    user: str = ""
    """Whose profile it is."""
    date: str = ""
    """The day of a journal."""

    if not TYPE_CHECKING:

        def __init__(self, *values: object, **named: object) -> None:
            """Take `fields`, the name of `set` in the last release, too."""
            if "fields" in named:
                from warnings import warn

                warn("fields= is deprecated, use set=", DeprecationWarning, stacklevel=2)
                named["set"] = named.pop("fields")
            super().__init__(*values, **named)


class ResolvedEdit(NamedTuple):
    """An edit with the file it is meant for."""

    edit: Edit
    """Its path is a path now."""
    layer: Layer | None = None
    fresh: bytes = b""
    """What the file begins with where it does not exist yet."""
    by_name: bool = False
    """True when the layer was named, and not the file."""
    day: str = ""
    """Today, which a new entry gets where nobody says otherwise."""


def applied(target: ResolvedEdit, current: bytes | None) -> bytes:
    """The file after one edit."""
    edit = target.edit
    found = None if current is None else blob_id(current)
    if edit.create and current is not None:
        raise Conflict(
            f"{edit.path!r} exists already",
            hint=Hint("leave out ", Option("create"), " to replace it"),
            blob=found,
        )
    if edit.if_match and not (found or "").startswith(edit.if_match.lower()):
        raise BlobMismatch(edit.path, edit.if_match, found)
    before = current if current is not None else target.fresh or None
    if edit.entry:
        return _with_entry(target, before)
    data = _with_text(edit, before)
    return _with_fields(edit, data) if edit.set else data


def _with_text(edit: Edit, before: bytes | None) -> bytes:
    if edit.text is None:
        return before or b""
    data = text_bytes(edit)
    if not edit.append or before is None:
        return ended(data, b"\n") if edit.append else data
    newline = b"\r\n" if b"\r\n" in before else b"\n"
    return ended(before, newline) + ended(data, newline)


def _with_fields(edit: Edit, data: bytes) -> bytes:
    text = decoded(edit.path, data)
    for name, value in edit.set:
        text = set_field(text, name, value)
    return text.encode()


def _with_entry(target: ResolvedEdit, before: bytes | None) -> bytes:
    from gitmem.model.entries.blocks import matching, parse
    from gitmem.model.entries.edit import checked_title, put

    edit = target.edit
    body = None if edit.text is None else decoded(edit.path, text_bytes(edit))
    order = target.layer.fields if target.layer else ()
    text = decoded(edit.path, before or b"")
    exists = matching(parse(text, order), checked_title(edit.entry))
    fields = edit.set if exists else _dated(target, body or "")
    return put(text, edit.entry, fields, body, order, layer=target.layer).text.encode()


def _dated(target: ResolvedEdit, body: str) -> tuple[tuple[str, str], ...]:
    """The fields of a new entry: one that has days in its form gets today's."""
    from gitmem.model.entries.blocks import DATES, parse
    from gitmem.model.entries.lines import fold

    order = target.layer.fields if target.layer else ()
    given = {fold(name) for name, _ in target.edit.set}
    for entry in parse(f"### x\n{body}", order):
        given |= {fold(name) for name, _ in entry.fields}
    days = [name for name in order if name in DATES and fold(name) not in given]
    return (*target.edit.set, *((name, target.day) for name in days))


def text_bytes(edit: Edit) -> bytes:
    """The text of an edit as UTF-8."""
    text = edit.text or ""
    return text if isinstance(text, bytes) else encoded(edit.path, text)


def decoded(path: str, data: bytes) -> str:
    """A file as text, to change parts of it while the rest stays byte for byte."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{path} is not UTF-8 at byte {error.start}, so no part of it can be changed",
            hint="write the whole file instead",
            path=path,
        ) from error


class BlobMismatch(Conflict):
    """The file is not the version that the caller names."""

    code = "blob-mismatch"

    def __init__(self, path: str, expected: str, found: str | None) -> None:
        now = f"is {found}" if found else "does not exist"
        super().__init__(
            f"{path} {now}, not {expected}",
            hint=Hint("read it again (", call("read", path), ") and base your text on that"),
            path=path,
            blob=found,
            if_match=expected,
        )


def encoded(path: str, text: str) -> bytes:
    """TEXT as UTF-8; lone surrogates have no bytes."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadInput(
            f"the text for {path} is not valid Unicode at character {error.start}"
        ) from error


def ended(data: bytes, newline: bytes) -> bytes:
    """DATA with a line end at its end."""
    return data if not data or data.endswith(b"\n") else data + newline


class naming_line:  # noqa: N801 - reads as a statement: with naming_line(edit)
    """Let an error that happens inside say which line of a batch it was."""

    def __init__(self, edit: Edit) -> None:
        self._line = edit.line

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._line and isinstance(error, GitmemError) and "batch_line" not in error.facts:
            error.message = f"line {self._line}: {error.message}"
            error.args = (error.message,)
            error.facts["batch_line"] = self._line
