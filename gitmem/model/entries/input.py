"""What a caller wants an entry to say: checked, and brought into the form in which it is kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from gitmem.errors import BadInput
from gitmem.model.entries.blocks import names_known, same_title
from gitmem.model.entries.lines import Lines, Spot, fold, scan, spots, tidy

Fields = Mapping[str, str] | Iterable[tuple[str, str]]

MAX_NAME = 60
MAX_TITLE = 200


class Wanted(NamedTuple):
    """What an entry is to say."""

    fields: list[tuple[str, str]]
    body: str
    order: tuple[str, ...]
    known: Collection[str]


def field_name(name: str, order: Sequence[str] = ()) -> str:
    """NAME as it is written, in the spelling of ORDER; BadInput when it cannot be a field's."""
    found = " ".join(name.split())
    plain = found.isprintable() and not set(found) & set("*:\uff1a")
    if not plain or not any(map(str.isalnum, found)) or len(found) > MAX_NAME:
        raise BadInput(
            f"{name!r} cannot be the name of a field",
            hint=f"use up to {MAX_NAME} letters, digits and blanks, for example Decided by",
            field=name,
        )
    return next((each for each in order if fold(each) == fold(found)), found)


def checked_title(name: str) -> str:
    """NAME as the title of an entry, or BadInput."""
    title = " ".join(name.split())
    if not title or len(title) > MAX_TITLE or any(map(_is_control, name.strip())):
        raise BadInput(
            f"{name!r} cannot be the title of an entry",
            hint=f"use one line of up to {MAX_TITLE} characters",
            title=name,
        )
    return title


def _is_control(char: str) -> bool:
    if char.isprintable():
        return False
    import unicodedata  # only for a title with something odd in it

    return unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")


def wanted(title: str, fields: Fields, body: str, order: Sequence[str]) -> Wanted:
    """What was asked for, with the fields that the body brings along."""
    known = names_known(order)
    given: dict[str, tuple[str, str]] = {}
    for name, value in fields.items() if isinstance(fields, Mapping) else fields:
        _give(given, name, value, order)
    lifted: dict[str, tuple[str, str]] = {}
    rest = _checked_body(_headless(free_text(body), title))
    inside = spots(rest, 0, len(rest.lines), known)
    for each in inside:
        if each.value or fold(each.name) not in given:
            _give(lifted, each.name, each.value, order)
    pairs = sorted({**lifted, **given}.values(), key=lambda pair: rank(pair[0], order))
    return Wanted(pairs, free_text(_without(rest, inside)), tuple(order), known)


def _headless(body: str, title: str) -> str:
    """BODY without the heading of the entry itself, if somebody gave that along."""
    first, _, rest = body.partition("\n")
    own = scan(first).headings
    return rest if own and same_title(own[0].title, title) else body


def _checked_body(body: str) -> Lines:
    """The lines of an entry with BODY, which must neither begin another nor swallow the next."""
    found = scan(f"### \n{body}\n### \n").headings
    if len(found) > 2:  # noqa: PLR2004 - the entry's own and the next one's
        raise BadInput(
            f"the text of an entry cannot hold the heading {found[1].title!r}",
            hint="use #### or deeper inside an entry, or write it as an entry of its own",
        )
    if len(found) == 1:
        raise BadInput(
            "the text has a code block (```) or a comment (<!--) that is never closed",
            hint="close it",
        )
    return scan(f"### \n{body}\n")


def _give(given: dict[str, tuple[str, str]], name: str, value: str, order: Sequence[str]) -> None:
    name = field_name(name, order)
    if fold(name) in given:
        raise BadInput(f"the field {name} is given twice", hint="give it once", field=name)
    if not tidy(value):
        raise BadInput(
            f"the field {name} has no value",
            hint="fields are not removed; write what is so now, for example `none`",
            field=name,
        )
    given[fold(name)] = (name, tidy(value))


def _without(found: Lines, inside: Sequence[Spot]) -> str:
    taken = {at for each in inside for at in range(each.start, each.end)}
    return "".join(line for at, line in enumerate(found.lines) if at and at not in taken)


def free_text(text: str) -> str:
    """Free text as it is kept: nothing empty around it, and a first line that is not indented."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    said = [at for at, line in enumerate(lines) if line.strip()]
    return "\n".join(lines[said[0] : said[-1] + 1]).strip() if said else ""


def rank(name: str, order: Sequence[str]) -> int:
    """The place of a field in ORDER; what is not in it comes last."""
    names = [fold(each) for each in order]
    return names.index(fold(name)) if fold(name) in names else len(names)
