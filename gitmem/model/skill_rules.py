"""Validation of a SKILL.md by the Agent Skills specification, and the keys that a host adds.

Every host accepts six keys; some refuse a skill that has another one. Keys of one host alone are
therefore stored apart and added to its copy.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from gitmem.errors import FrontmatterRefused
from gitmem.model.text import frontmatter

KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
MAX_LINES = 500
MAX_CHARACTERS = 15_000
"""Fewer than 5,000 tokens: a token of plain English has more than three characters."""

_NAME = r"[a-z0-9]+(?:-[a-z0-9]+)*"


def problems(text: str, folder: str, *, also: Collection[str] = ()) -> tuple[str, ...]:
    """Return what is wrong with TEXT as the SKILL.md of FOLDER; keys in ALSO are allowed, too."""
    block = frontmatter.split(text)
    if block is None:
        return ("no frontmatter between two `---` lines at the start",)
    try:
        frontmatter.check(text)
    except FrontmatterRefused as error:
        return (str(error),)
    fields = frontmatter.read(text)
    return (
        *(f"the key {key!r} is not one of the six" for key in fields.keys() - {*KEYS, *also}),
        *_wrong_name(fields.get("name"), folder),
        *_wrong_texts(fields),
        *_wrong_metadata(fields.get("metadata", {})),
        *_wrong_tools(fields.get("allowed-tools", "")),
        *_wrong_body(text[block.body :]),
    )


def with_keys(text: str, keys: Mapping[str, str | Sequence[str]]) -> str:
    """Return TEXT with KEYS set in its frontmatter, every other byte unchanged."""
    for key, value in keys.items():
        text = frontmatter.set_field(text, key, value)
    return text


def _wrong_name(name: object, folder: str) -> Iterator[str]:
    if not isinstance(name, str) or not re.fullmatch(_NAME, name):
        yield "its name must be small letters and digits, with single dashes between them"
    elif len(name) > MAX_NAME:
        yield f"its name has more than {MAX_NAME} characters"
    elif name != folder:
        yield f"its name is {name!r}, and its folder {folder!r}"


def _wrong_texts(fields: Mapping[str, object]) -> Iterator[str]:
    description = fields.get("description")
    if not isinstance(description, str) or not 1 <= len(description.strip()) <= MAX_DESCRIPTION:
        yield f"its description must have 1 to {MAX_DESCRIPTION} characters"
    elif "<" in description or ">" in description:
        yield "its description has an angle bracket, which upload forms refuse"
    if not isinstance(fields.get("license", ""), str):
        yield "its license must be a text"
    compatibility = fields.get("compatibility", "any")
    if not isinstance(compatibility, str) or not 1 <= len(compatibility) <= MAX_COMPATIBILITY:
        yield f"its compatibility must have 1 to {MAX_COMPATIBILITY} characters"


def _wrong_metadata(metadata: object) -> Iterator[str]:
    if not isinstance(metadata, dict):
        yield "its metadata must be a mapping"
        return
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            yield f"metadata {key}: both must be texts; put them in quotes"


def _wrong_tools(tools: object) -> Iterator[str]:
    named = tools if isinstance(tools, list) else [tools]
    if not all(isinstance(tool, str) for tool in named):
        yield "its allowed-tools must be a text or a list of texts"


def _wrong_body(body: str) -> Iterator[str]:
    if not body.strip():
        yield "no text below its frontmatter"
    if body.count("\n") >= MAX_LINES:
        yield f"it has {body.count(chr(10))} lines; fewer than {MAX_LINES} are allowed"
    if len(body) > MAX_CHARACTERS:
        yield f"it has {len(body)} characters; {MAX_CHARACTERS} are about 5,000 tokens"
