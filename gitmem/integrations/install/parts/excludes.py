"""Our lines in a repository's `info/exclude`: git shows no settings of one person as untracked."""

from __future__ import annotations

from collections.abc import Sequence

from gitmem.integrations.install.parts.hooks import Merged

EXCLUDE = "exclude"


def put_lines(text: str, wanted: Sequence[str], known: Sequence[str]) -> Merged:
    """TEXT with the lines WANTED at its end; KNOWN are those that we put there the last time."""
    text = take_lines(text, "", [each for each in known if each not in wanted])
    missing = [each for each in wanted if each not in text.splitlines()]
    gap = "\n" if missing and text and not text.endswith("\n") else ""
    text = f"{text}{gap}{''.join(f'{each}{chr(10)}' for each in missing)}"
    return Merged(text, given={EXCLUDE: [x for x in wanted if x in missing or x in known]})


def take_lines(text: str, before: str, known: Sequence[str]) -> str:
    """TEXT without the lines that are KNOWN to be ours."""
    lines = text.splitlines(keepends=True)
    left = "".join(each for each in lines if each.rstrip("\r\n") not in known)
    return left.removesuffix("\n") if left.removesuffix("\n") == before else left
