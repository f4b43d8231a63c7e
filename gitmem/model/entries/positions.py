"""An entry in its place: changed where it stands, or put back where it stood."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gitmem.errors import BadInput
from gitmem.model.entries.blocks import Entry, parse, wording
from gitmem.model.entries.edit import add, take_all
from gitmem.model.entries.lines import BOM, bare, ending, newline_before, split_lines, trimmed
from gitmem.model.layout.layout import Layer
from gitmem.model.text.merge import Differ, merge


def replace(text: str, entry: Entry, block: str) -> str:
    """TEXT with the lines of BLOCK instead of those of ENTRY, in the line endings in use there."""
    lines = split_lines(text)
    newline = ending(lines[entry.start]) or newline_before(lines, entry.start)
    return splice(text, entry, "".join(bare(each) + newline for each in split_lines(block)))


def splice(text: str, entry: Entry, block: str) -> str:
    """TEXT with BLOCK as it is instead of ENTRY; empty lines behind an entry are not its own."""
    return splice_all(text, [(entry, block)])


def splice_all(text: str, blocks: Iterable[tuple[Entry, str]]) -> str:
    """The same for several entries of TEXT at once."""
    lines, said = split_lines(text), {each.start: wording(each.block) for each in parse(text)}
    # From the end, so that the lines above keep their numbers.
    for entry, block in sorted(blocks, key=lambda each: -each[0].start):
        old, new = trimmed(lines[entry.start : entry.end]), trimmed(split_lines(block))
        if not ending(old[-1]):
            new[-1] = bare(new[-1])
        if old[0].startswith(BOM):
            new[0] = BOM + new[0].removeprefix(BOM)
        lines[entry.start : entry.start + len(old)] = new
        said[entry.start] = wording(block)
    changed = "".join(lines)
    if _wordings(changed) != list(said.values()):
        raise BadInput(
            "what would stand there is not one entry, or changes another one",
            hint="look for a code block (```) or a comment (<!--) that is never closed",
        )
    return changed


def put_back(
    text: str, block: str, old: str, entry: Entry, differ: Differ, *, layer: Layer | None = None
) -> str:
    """TEXT with BLOCK where ENTRY stood in OLD; where LAYER has new ones if that cannot be told.

    It is a merge: of OLD without the entry, OLD added the entry, and TEXT all that came since.
    """
    rest, (before,) = take_all(old, [entry])
    then = old if wording(before) == wording(block) else replace(old, entry, block)
    merged = merge(rest.encode(), text.encode(), then.encode(), differ)
    found = merged.data.decode()
    clear = not merged.conflicts and _is_more(text, found, block)
    return found if clear else add(text, block, layer)


def _wordings(text: str) -> list[str]:
    return [wording(each.block) for each in parse(text)]


def _is_more(text: str, changed: str, block: str) -> bool:
    """Whether CHANGED is TEXT with BLOCK as one more entry, and nothing else."""
    before, after, said = _wordings(text), _wordings(changed), wording(block)
    if said not in after or _said(changed) != _said(text) + _said(block):
        return False
    without = [after[:at] + after[at + 1 :] for at, each in enumerate(after) if each == said]
    return before in without


def _said(text: str) -> Counter[str]:
    lines = (line.strip(f"{BOM} \t\r\n") for line in text.split("\n"))
    return Counter(line for line in lines if line)


def undone(
    before: str, after: str, current: str, differ: Differ, layer: Layer | None = None
) -> str | None:
    """CURRENT without what AFTER changed in BEFORE, entry by entry.

    For a change that only took entries out of a file or put some in. None where it did more than
    that, or where what it put in is no longer there word for word.
    """
    old, new = _by_wording(before), _by_wording(after)
    come = [new[said][at] for said in new for at in range(len(old.get(said, ())), len(new[said]))]
    gone = [old[said][at] for said in old for at in range(len(new.get(said, ())), len(old[said]))]
    if _said_outside(before) != _said_outside(after):
        return None
    now = _by_wording(current)
    taken = [each for entry in come for each in now.get(wording(entry.block), ())[-1:]]
    if len(taken) != len(come):
        return None
    text = take_all(current, taken)[0] if taken else current
    for entry in sorted(gone, key=lambda each: each.start):
        block = entry.block.removeprefix(BOM)
        text = put_back(text, block, before, entry, differ, layer=layer)
    return text


def _by_wording(text: str) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for each in parse(text):
        found.setdefault(wording(each.block), []).append(each)
    return found


def _said_outside(text: str) -> list[str]:
    """The lines that belong to no entry."""
    lines = split_lines(text)
    inside = {at for each in parse(text) for at in range(each.start, each.end)}
    rest = (line for at, line in enumerate(lines) if at not in inside)
    return [line.strip() for line in rest if line.strip()]
