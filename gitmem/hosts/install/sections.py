"""The section on memory in a CLAUDE.md or AGENTS.md: between two marks, all else is the user's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitmem.core.layout import Layer, Layout
from gitmem.core.sections import INSTALLED
from gitmem.errors import Refused
from gitmem.resources import templates

BEGIN = INSTALLED
END = "<!-- gitmem:end -->"
_SECTION = f"{BEGIN}.*?{END}"
_KB = 1024
_LOADS = {
    "always": "always",
    "user": "while that person speaks",
    "query": "when something asks for it",
    "never": "when you read it",
}


def section(layout: Layout, group: str) -> str:
    """The section for a group of this LAYOUT, with its marks."""
    text = (templates() / "sections" / "memory.md").read_text("utf-8")
    table = "\n".join(_table(layout, group))
    return f"{BEGIN}\n{text.replace('{layers}', table).strip()}\n{END}"


def _table(layout: Layout, group: str) -> Iterator[str]:
    if not layout.layers:
        yield f"The group `{group}` has no layers: `gitmem list` shows its files."
        return
    yield f"| layer of `{group}` | file | shown | at most |"
    yield "| --- | --- | --- | --- |"
    for each in layout.layers:
        yield f"| {each.name} | `{_path(each)}` | {_shown(each)} | {_size(each.budget)} |"


def _path(layer: Layer) -> str:
    return re.sub(r"\{(\w+)\}", r"<\1>", layer.path)


def _shown(layer: Layer) -> str:
    if layer.load == "recent":
        return f"the newest {layer.recent}"
    return _LOADS[layer.load]


def _size(budget: int) -> str:
    return f"{budget / _KB:g} KB" if budget else ""


def put_section(text: str, made: str) -> str:
    """TEXT with the section, in its old place or else at the end."""
    check_marks(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    made = made.replace("\n", newline)
    if BEGIN in text:
        return re.sub(_SECTION, lambda _: made, text, flags=re.DOTALL)
    gap = "" if not text else newline * (2 - min(2, _ends(text)))
    return f"{text}{gap}{made}{newline}"


def _ends(text: str) -> int:
    """How many lines end where TEXT does."""
    found = re.search(r"(?:\r?\n)*\Z", text)
    return found[0].count("\n") if found else 0


def take_section(text: str) -> str:
    """TEXT without the section, and without the empty line before it."""
    check_marks(text)
    return re.sub(rf"(?:(?<=\n)\r?\n)?{_SECTION}(?:\r?\n)?", "", text, flags=re.DOTALL)


def has_section(text: str) -> bool:
    """Whether the section stands in TEXT."""
    return re.search(_SECTION, text, re.DOTALL) is not None


def check_marks(text: str) -> None:
    """Refuse marks of which nobody can say where the section begins or ends."""
    marks = re.findall(f"{BEGIN}|{END}", text)
    if marks not in ([], [BEGIN, END]):
        raise Refused(
            f"the marks {BEGIN} and {END} do not stand there once, in this order",
            hint="mend or remove them by hand; this file was not changed",
        )
