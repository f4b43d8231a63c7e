"""The section on memory in a CLAUDE.md or AGENTS.md, between two markers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitmem.errors import Refused
from gitmem.model.entries.lines import INSTALLED
from gitmem.model.layout.layout import Layer, Layout
from gitmem.model.transcripts.batches import with_sync_skill
from gitmem.resources import templates

BEGIN = INSTALLED
END = "<!-- gitmem:end -->"
SECTION = f"{BEGIN}.*?{END}"
_LINKED = """\
The table is for `{group}`, the group of every folder that is not linked to another. In a linked
folder you have that folder's group instead, whose layers may differ: `gitmem status` names it, and
`gitmem list` shows its files."""
_KB = 1024
_LOADS = {
    "always": "always",
    "user": "when you read it",  # no hook knows the user
    "query": "when something asks for it",
    "never": "when you read it",
}


def section(layout: Layout, group: str, *, is_for_all: bool = False) -> str:
    """The section for a group of this LAYOUT, with its markers.

    IS_FOR_ALL: hosts read it in every folder, also in folders that are linked to another group.
    """
    text = (templates() / "sections" / "memory.md").read_text("utf-8")
    text = with_sync_skill(text, layout.name)
    parts = {
        "{linked}": _LINKED.format(group=group) if is_for_all else "",
        "{layers}": "\n".join(_table(layout, group)),
        "{rules}": " ".join(_rules(layout)),
    }
    for name, part in parts.items():
        text = text.replace(name, part) if part else text.replace(f"{name}\n\n", "")
    return f"{BEGIN}\n{text.strip()}\n{END}"


def _table(layout: Layout, group: str) -> Iterator[str]:
    if not layout.layers:
        yield f"The group `{group}` has no layers: `gitmem list` shows its files."
        return
    yield f"| layer of `{group}` | file | holds | shown | at most |"
    yield "| --- | --- | --- | --- | --- |"
    holds = _holds()
    for each in layout.layers:
        purpose = holds["names"].get(each.name) or holds["kinds"][each.kind]
        row = each.name, f"`{each.display_path}`", purpose, _shown(each), _size(each.budget)
        yield f"| {' | '.join(row)} |"


def _holds() -> dict[str, dict[str, str]]:
    """What a layer is for, by its name and by its kind."""
    import yaml

    found: dict[str, dict[str, str]] = yaml.safe_load(
        (templates() / "sections" / "layers.yaml").read_text("utf-8")
    )
    return found


def _rules(layout: Layout) -> Iterator[str]:
    """How to choose a layer, which is the default, and whose profile to use."""
    if not layout.layers:
        return
    yield "**One place for each.** The layer whose row fits best."
    for names in _exclusive(layout):
        yield f"{_and(names)} never hold the same thing twice."
    profile = next((each.name for each in layout.layers if each.kind == "profile"), "")
    if profile:
        yield (
            "What concerns one person goes to that person's own profile, by the id under which they"
            f" write: `gitmem write {profile} --user ID --append TEXT`; `gitmem inject --layer"
            f" {profile} --user ID` shows it."
        )
    doubt = _in_doubt(layout)
    if doubt:
        # Where a prompt has summaries only, a page without one is never shown.
        words = "--summary SUMMARY TEXT" if doubt.render == "summary" else "TEXT"
        yield f"When in doubt, write to `{doubt.name}`: `gitmem write {doubt.name} {words}`."


def _exclusive(layout: Layout) -> Iterator[list[str]]:
    """The sets of layers of which only one may hold the same fact."""
    for word in dict.fromkeys(each.exclusive for each in layout.layers if each.exclusive):
        names = [each.name for each in layout.layers if each.exclusive == word]
        if len(names) > 1:
            yield names


def _and(names: list[str]) -> str:
    text = f"{', '.join(names[:-1])} and {names[-1]}"
    return text[:1].upper() + text[1:]


def _in_doubt(layout: Layout) -> Layer | None:
    """The default layer: the log of the day, else the first journal."""
    for kind in ("log", "journal"):
        for each in layout.layers:
            if each.kind == kind:
                return each
    return None


def _shown(layer: Layer) -> str:
    if layer.load == "recent":
        return f"the newest {layer.recent}"
    return _LOADS[layer.load]


def _size(budget: int) -> str:
    return f"{budget / _KB:g} KB" if budget else ""


def put_section(text: str, made: str) -> str:
    """TEXT with the section MADE in place of the old one, or else at the end."""
    check_marks(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    made = made.replace("\n", newline)
    if BEGIN in text:
        return re.sub(SECTION, lambda _: made, text, flags=re.DOTALL)
    gap = "" if not text else newline * (2 - min(2, _ends(text)))
    return f"{text}{gap}{made}{newline}"


def _ends(text: str) -> int:
    """The number of line ends at the end of TEXT."""
    found = re.search(r"(?:\r?\n)*\Z", text)
    return found[0].count("\n") if found else 0


def take_section(text: str) -> str:
    """TEXT without the section, and without the empty line before it."""
    check_marks(text)
    return re.sub(rf"(?:(?<=\n)\r?\n)?{SECTION}(?:\r?\n)?", "", text, flags=re.DOTALL)


def has_section(text: str) -> bool:
    """Whether TEXT has the section."""
    return re.search(SECTION, text, re.DOTALL) is not None


def check_marks(text: str) -> None:
    """Refuse TEXT if its markers do not enclose exactly one section."""
    marks = re.findall(f"{BEGIN}|{END}", text)
    if marks not in ([], [BEGIN, END]):
        raise Refused(
            f"the markers {BEGIN} and {END} do not occur once, in this order",
            hint="correct or remove them by hand; gitmem did not change this file",
        )
