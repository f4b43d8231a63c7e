"""The skills as prompts: for hosts that have no skills, or whose user wants to name one."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from gitmem.errors import BadInput
from gitmem.integrations.install.skills.files import SKILL, shipped_folder, skill_files
from gitmem.model.text import frontmatter

ARGUMENT = "request"
ABOUT = "What you want, in your own words"


class Prompt(NamedTuple):
    """One skill."""

    name: str
    about: str
    text: str


@cache
def prompts() -> dict[str, Prompt]:
    """The skills by their names."""
    files = {path: data.decode("utf-8") for path, data in skill_files(shipped_folder(), "").items()}
    names = [path.removesuffix(f"/{SKILL}") for path in files if path.endswith(f"/{SKILL}")]
    return {name: _prompt(name, files) for name in names}


def _prompt(name: str, files: dict[str, str]) -> Prompt:
    main = files[f"{name}/{SKILL}"]
    block = frontmatter.split(main)
    parts = [main[block.body :] if block else main]
    # A skill links to its other files; who reads it here has no folder to follow a link into.
    for path, text in files.items():
        if path.startswith(f"{name}/") and path != f"{name}/{SKILL}":
            parts.append(f'<file path="{path.removeprefix(f"{name}/")}">\n{text.strip()}\n</file>')
    about = " ".join(str(frontmatter.read(main).get("description", "")).split())
    return Prompt(name, about, "\n\n".join(each.strip() for each in parts) + "\n")


def prompted(name: str, request: str) -> str:
    """The text of the prompt NAME, with what its user asks for below it."""
    found = prompts().get(name)
    if found is None:
        raise BadInput(f"no prompt {name!r}", hint=f"there are: {', '.join(prompts())}")
    return f"{found.text}\nRequest: {request.strip()}\n" if request.strip() else found.text
