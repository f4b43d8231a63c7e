"""docs/README.md sorts every page, and links between documents resolve."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
INDEX = (DOCS / "README.md").read_text("utf-8")
KINDS = ["Tutorial", "How-to", "Reference", "Explanation"]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(DOCS.glob("*.md")),
    *sorted(ROOT.glob("[th]*/README.md")),
]


def links(text: str) -> list[str]:
    """The targets of a page's links to other files or to its own headings; none from code."""
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"\]\(([^)\s]+)\)", prose)
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings get on a forge."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).strip().replace(" ", "-") for each in headings}


def test_the_index_has_every_page_once_with_a_line() -> None:
    listed = re.findall(r"^- \[[^\]]+\]\(([\w-]+\.md)\): .+\.$", INDEX, re.MULTILINE)

    assert sorted(listed) == sorted({page.name for page in DOCS.glob("*.md")} - {"README.md"})
    assert listed == links(INDEX)


def test_the_index_sorts_pages_by_their_purpose() -> None:
    assert re.findall(r"^## (.+)$", INDEX, re.MULTILINE) == KINDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    for link in links(page.read_text("utf-8")):
        target, _, anchor = link.partition("#")
        other = page.parent / target if target else page
        assert other.exists(), link
        assert not anchor or anchor in anchors(other), link


def test_gitmem_is_installed_from_the_checkout_alone() -> None:
    """Nobody has published the name yet, so an index may have somebody else's program."""
    pages = [page for page in PAGES if page.name != "cli.md"]
    install = re.compile(r"\b(?:pipx?|uv tool|uv pip) install ([^\s`]+)")
    installed = {name for page in pages for name in install.findall(page.read_text("utf-8"))}

    assert installed - {"git-filter-repo"} == {".", "'.[mcp]'", "'.[anthropic]'"}
