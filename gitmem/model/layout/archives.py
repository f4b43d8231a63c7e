"""The archives of a layout, and the daily logs that rotate."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time
from itertools import islice

from gitmem.errors import Conflict
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import Layer, Layout, filled, moment_values
from gitmem.model.paths import MAX_DEPTH, MAX_PATH_BYTES, fold, numbered

ARCHIVE = "archive"
"""The archive of files that belong to no layer."""
ROOM = 64
"""Bytes of a path in an archive that stay free for a number: the same name may come again."""


def archives(layout: Layout) -> tuple[str, ...]:
    """Return the archive folders of LAYOUT; none of them lies in another."""
    folders = sorted({ARCHIVE, *(each.archive for each in layout.layers)})
    return tuple(x for x in folders if not any(x.startswith(f"{each}/") for each in folders))


def is_archived(layout: Layout, path: str) -> bool:
    """Whether PATH is an archive folder or lies in one."""
    return archive_of(layout, path) != ""


def archive_of(layout: Layout, path: str) -> str:
    """Return the archive folder that PATH is or lies in; empty for active memory."""
    holding = (each for each in archives(layout) if path == each or path.startswith(f"{each}/"))
    return next(holding, "")


def archive_path(layout: Layout, path: str, first: str = "") -> str:
    """Return where PATH, or an entry of it, is archived.

    For a folder, the layer of its FIRST file decides.
    """
    layer = layout.layer_of(first or path)
    return path_in(layer.archive if layer else ARCHIVE, path)


def path_in(archive: str, path: str) -> str:
    """Return where PATH goes in the folder ARCHIVE, if that name is free."""
    # A path at its limit of depth or length loses outer folders to the archive.
    while "/" in path and not _has_room(f"{archive}/{path}"):
        path = path.partition("/")[2]
    return f"{archive}/{path}"


def _has_room(path: str) -> bool:
    return path.count("/") < MAX_DEPTH and len(path.encode()) + ROOM <= MAX_PATH_BYTES


def in_the_way(path: str, archive: str) -> str:
    """Return the part of PATH, a file or a case twin, that blocks the folder ARCHIVE."""
    ours, theirs = path.split("/"), archive.split("/")
    for end, (one, other) in enumerate(zip(ours, theirs, strict=False), 1):
        if fold(one) != fold(other):
            return ""
        if one != other:
            return "/".join(ours[:end])
    return path if len(ours) <= len(theirs) else ""


MOST_LOGS = 100
"""The most logs of one day beside the first."""
DATE = "{date}"
_DAY = r"(\d{4}-\d\d-\d\d)"


def header_day(layer: Layer, data: bytes) -> date | None:
    """Return the day in the header of the log DATA; None without a header.

    The first line that is a header counts, wherever it stands. Blanks may follow the date; a line
    with more text is no header.
    """
    if DATE not in layer.header:
        return None
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    form = rf"^{_as_regex_of_day(layer.header.rstrip())}[ \t]*\r?$"
    for found in re.finditer(form, text, re.MULTILINE | re.ASCII):
        try:
            return date.fromisoformat(found[1])
        except ValueError:  # not a header: the 30th of February
            continue
    return None


def _as_regex_of_day(pattern: str) -> str:
    """PATTERN as a regular expression that captures its first date."""
    found = re.escape(pattern).replace(re.escape(DATE), _DAY, 1)
    return re.sub(r"\\{\w+\\}", r"[^/\\s]+", found)


def new_log(layer: Layer, day: date) -> bytes:
    """Return the first lines of a log of DAY."""
    return f"{filled(layer.header, _values(day))}\n\n".encode() if layer.header else b""


def _values(day: date) -> dict[str, str]:
    return moment_values(datetime.combine(day, time.min))


def with_header(layer: Layer, day: date, data: bytes) -> bytes:
    """Return DATA with the header of DAY before it, in the line endings of DATA."""
    bom = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    head = new_log(layer, day)
    if b"\r\n" in data:
        head = head.replace(b"\n", b"\r\n")
    return bom + head + data.removeprefix(bom)


def rotated_path(layer: Layer, day: date, taken: Callable[[str], bool]) -> str:
    """Return where the log of DAY goes: its own name, or with -1 to -100 if that is TAKEN."""
    target = filled(layer.rotated, _values(day))
    for path in islice(numbered(target), MOST_LOGS + 1):
        if not taken(path):
            return path
    raise Conflict(
        f"too many logs for {day}: {target} and {MOST_LOGS} more",
        hint=Hint(
            "archive some of them, for example ",
            call("rm", next(islice(numbered(target), 1, None))),
        ),
        path=target,
        date=day.isoformat(),
    )


def rotated_day(layer: Layer, path: str) -> tuple[date, int] | None:
    """Return the day and the number of a rotated log by its PATH; None for any other file."""
    stem, ending = _parted(layer.rotated)
    found = re.fullmatch(
        rf"{_as_regex_of_day(stem)}(?:-(\d{{1,3}}))?{re.escape(ending)}", path, re.ASCII
    )
    try:
        return (date.fromisoformat(found[1]), int(found[2] or 0)) if found else None
    except ValueError:
        return None


def _parted(path: str) -> tuple[str, str]:
    """PATH without its extension, and the extension with its dot."""
    stem, dot, ending = path.rpartition(".")
    return (stem, dot + ending) if stem and "/" not in ending else (path, "")
