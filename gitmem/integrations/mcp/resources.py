"""Files of memory as resources, `memory://GROUP/PATH`, and skills as prompts.

A file that the layout keeps from tools is not a resource. Texts are escaped as in a prompt; only
`memory_get` is exact, because a model writes back what it reads there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

from gitmem.errors import BadInput
from gitmem.integrations.mcp.calls import file_text, local
from gitmem.integrations.mcp.groups import Endpoint, opened
from gitmem.integrations.mcp.texts import ToolResult, excerpt_of, sound
from gitmem.memory.context.mask import Masks
from gitmem.model.access import GLOBAL
from gitmem.model.context.escape import NOTHING, joined, on_a_line, on_lines

if TYPE_CHECKING:
    from gitmem.memory.group import Group
    from gitmem.memory.read.listing import Listing

TEMPLATE = "memory://{group}/{path}"
PAGE = 100
_URI = r"(?i:memory)://([^/?#]+)/(.+)"
ARGUMENT = "request"
ABOUT = "What you want, in your own words"


class FileAddress(NamedTuple):
    """The group and path in the address of a resource."""

    group: str
    path: str


def uri(address: FileAddress) -> str:
    """The address of a file."""
    return f"memory://{quote(address.group, safe='')}/{quote(address.path)}"


def parse_address(address: str) -> FileAddress:
    """The group and path of ADDRESS; `#` and a slug after the path name one entry."""
    found = re.fullmatch(_URI, address, re.DOTALL)
    if found is None:
        raise BadInput(
            f"{address!r} is not the address of a memory file",
            hint="an address is memory://GROUP/PATH, such as memory://main/notes/ada.md",
        )
    try:
        return FileAddress(*(unquote(each, errors="strict") for each in found.groups()))
    except UnicodeDecodeError as error:
        raise BadInput(f"{address!r} is not UTF-8 when decoded", hint="use UTF-8") from error


def kind(path: str) -> str:
    """The media type of a file."""
    return "text/markdown" if path.partition("#")[0].lower().endswith(".md") else "text/plain"


def read_document(endpoint: Endpoint, address: str) -> ToolResult:
    """The text at ADDRESS, as much as fits into one answer."""
    group, path = parse_address(address)
    with opened(endpoint, group) as found:
        got = file_text(found, local(path))
    part = excerpt_of(got.text, 0)
    if part.is_all:
        return ToolResult(on_lines(part.text))
    rest = f"[cut here; the rest: `memory_get` of {path} with offset={part.stop}]"
    return ToolResult(joined((on_lines(part.text), on_a_line(rest)), "\n"))


def list_documents(endpoint: Endpoint, cursor: str) -> ToolResult:
    """A page of files: those of the group, then those of `global`.

    CURSOR is the address of the last file before the page, so that new files shift no page.
    """
    after, there = parse_address(cursor) if cursor else None, endpoint.store.names()
    names = [each for each in dict.fromkeys((endpoint.group, GLOBAL)) if each in there]
    if after and after.group not in names:
        raise BadInput(f"invalid cursor {cursor!r}", hint="begin without a cursor")
    rows: list[dict[str, Any]] = []
    for name in names[names.index(after.group) if after else 0 :]:
        start = after.path if after and after.group == name else ""
        with opened(endpoint, name) as group:
            rows += _rows(group, start, PAGE + 1 - len(rows), is_other=name != endpoint.group)
        if len(rows) > PAGE:
            return ToolResult(NOTHING, {"rows": rows[:PAGE], "next": rows[PAGE - 1]["uri"]})
    return ToolResult(NOTHING, {"rows": rows})


def first_page(endpoint: Endpoint) -> dict[str, Any] | None:
    """The first page in the form of the protocol; None if listing fails."""
    from gitmem.integrations.mcp.tools import guarded

    answer = guarded(endpoint, lambda: list_documents(endpoint, ""))
    if answer.failed or answer.facts is None:
        return None
    rows = [_on_the_wire(each) for each in answer.facts["rows"]]
    after = {"nextCursor": answer.facts["next"]} if "next" in answer.facts else {}
    return {**after, "resources": rows}


def _on_the_wire(row: dict[str, Any]) -> dict[str, Any]:
    size = {} if row["size"] is None else {"size": row["size"]}
    return {"mimeType": row["kind"], "name": sound(row["name"]), **size, "uri": row["uri"]}


def _rows(group: Group, start: str, most: int, *, is_other: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for each in _files(group, start):
        if len(found) == most:
            break
        name = f"{group.name}: {each.path}" if is_other else each.path
        at = uri(FileAddress(group.name, each.path))
        found.append({"uri": at, "name": name, "kind": kind(at), "size": each.bytes})
    return found


def _files(group: Group, start: str) -> Iterator[Listing]:
    """The files after START that the layout allows, without those whose name holds a credential."""
    from gitmem.memory.layouts import layout_of
    from gitmem.memory.read.listing import list_files

    allows, masks = layout_of(group).allows, Masks({"": group.repository.snapshot()})
    for each in sorted(list_files(group).files, key=lambda each: each.path):
        if each.path > start and allows(each.path) and masks.name("", each.path) == each.path:
            yield each


class Prompt(NamedTuple):
    """A skill as a prompt."""

    name: str
    about: str
    text: str


@cache
def prompts() -> dict[str, Prompt]:
    """The skills by name."""
    from gitmem.integrations.install.skills import SKILL, shipped_folder, skill_files

    files = {path: data.decode("utf-8") for path, data in skill_files(shipped_folder(), "").items()}
    names = [path.removesuffix(f"/{SKILL}") for path in files if path.endswith(f"/{SKILL}")]
    return {name: _prompt(name, files) for name in names}


def _prompt(name: str, files: dict[str, str]) -> Prompt:
    from gitmem.integrations.install.skills import SKILL
    from gitmem.model.text import frontmatter

    main = files[f"{name}/{SKILL}"]
    block = frontmatter.split(main)
    parts = [main[block.body :] if block else main]
    # A skill links to its other files, and a prompt has no folder: put them in line.
    for path, text in files.items():
        if path.startswith(f"{name}/") and path != f"{name}/{SKILL}":
            parts.append(f'<file path="{path.removeprefix(f"{name}/")}">\n{text.strip()}\n</file>')
    about = " ".join(str(frontmatter.read(main).get("description", "")).split())
    return Prompt(name, about, "\n\n".join(each.strip() for each in parts) + "\n")


def prompted(name: str, request: str) -> str:
    """The text of the prompt NAME, followed by the user's REQUEST."""
    found = prompts().get(name)
    if found is None:
        raise BadInput(f"unknown prompt {name!r}", hint=f"prompts: {', '.join(prompts())}")
    return f"{found.text}\nRequest: {request.strip()}\n" if request.strip() else found.text
