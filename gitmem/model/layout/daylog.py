"""The rules of a log that begins anew every day: its header, its date, and where it goes.

A log is of the day that its header names, wherever in the file that line stands: the first such
line counts, blanks may follow the date, and a line that says anything more is no header.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time
from itertools import islice

from gitmem.errors import Conflict
from gitmem.model.layout.layout import Layer, filled, moment_values
from gitmem.model.paths import numbered

MOST = 100
"""How many logs of one day there may be beside the first."""
DATE = "{date}"
_DAY = r"(\d{4}-\d\d-\d\d)"


def header_day(layer: Layer, data: bytes) -> date | None:
    """The day of which the log DATA is by its header; None where it has none."""
    if DATE not in layer.header:
        return None
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    form = rf"^{_form(layer.header.rstrip())}[ \t]*\r?$"
    for found in re.finditer(form, text, re.MULTILINE | re.ASCII):
        try:
            return date.fromisoformat(found[1])
        except ValueError:  # the 30th of February is no day, so this is no header
            continue
    return None


def _form(pattern: str) -> str:
    """PATTERN as a regular expression: its first date is wanted, other variables are any word."""
    found = re.escape(pattern).replace(re.escape(DATE), _DAY, 1)
    return re.sub(r"\\{\w+\\}", r"[^/\\s]+", found)


def fresh(layer: Layer, day: date) -> bytes:
    """What a log of DAY begins with."""
    return f"{filled(layer.header, _values(day))}\n\n".encode() if layer.header else b""


def _values(day: date) -> dict[str, str]:
    return moment_values(datetime.combine(day, time.min))


def headed(layer: Layer, day: date, data: bytes) -> bytes:
    """DATA with the header of DAY put in front, in the manner of its lines."""
    bom = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    head = fresh(layer, day)
    if b"\r\n" in data:
        head = head.replace(b"\n", b"\r\n")
    return bom + head + data.removeprefix(bom)


def resting_place(layer: Layer, day: date, taken: Callable[[str], bool]) -> str:
    """Where the log of DAY goes: its own name, or with -1 to -100 where that is taken."""
    wanted = filled(layer.rotated, _values(day))
    for path in islice(numbered(wanted), MOST + 1):
        if not taken(path):
            return path
    raise Conflict(
        f"there are too many logs for {day}: {wanted} and {MOST} more",
        hint="move some of them away, for example "
        f"`gitmem rm {next(islice(numbered(wanted), 1, None))}`",
        path=wanted,
        date=day.isoformat(),
    )


def past_day(layer: Layer, path: str) -> tuple[date, int] | None:
    """The day and the number of a log that has rotated, by its path; None for any other file."""
    stem, ending = _parted(layer.rotated)
    found = re.fullmatch(rf"{_form(stem)}(?:-(\d{{1,3}}))?{re.escape(ending)}", path, re.ASCII)
    try:
        return (date.fromisoformat(found[1]), int(found[2] or 0)) if found else None
    except ValueError:
        return None


def _parted(path: str) -> tuple[str, str]:
    """A path before its ending, and the ending with its dot."""
    stem, dot, ending = path.rpartition(".")
    return (stem, dot + ending) if stem and "/" not in ending else (path, "")
