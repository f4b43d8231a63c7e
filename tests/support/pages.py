"""Facts on a page of the documentation, whatever the sentence around them."""

from __future__ import annotations

import re


def statements(page: str) -> list[str]:
    """The sentences and the rows of tables of a page, each on one line."""
    rows = [line for line in page.splitlines() if line.startswith("|")]
    prose = "\n".join("" if line.startswith("|") else line for line in page.splitlines())
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:-|\d+\.) )", prose)
    sentences = [each for block in blocks for each in re.split(r"(?<=\.)\s", block)]
    return [" ".join(each.split()) for each in rows + sentences]


def numbers(page: str, *words: str) -> set[float]:
    """The numbers of the statements that have all of WORDS."""
    about = [each for each in statements(page) if all(word in each for word in words)]
    assert about, f"nothing on {words}"
    found = re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?", " ".join(about))
    return {float(each.replace(",", "")) for each in found}
