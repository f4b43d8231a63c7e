"""A `.gitignore` is read as git reads it: git is the judge."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmem.model.scope import EVERYTHING
from gitmem.store.worktree.scope import Scoped
from tests.support.git import git
from tests.support.memories import lay

PATHS = (
    "a", "b.md", "d/a", "d/b.md", "d/e/a", "d/e/b.md", "e/a", "e/d/b.md", "x y", "#a", "!a",
)  # fmt: skip
TYPICAL = (
    "a|/a|*|/*|*/|!*/|*.md|!*.md|d|d/|/d/|!d/|d/*|!d/a|d/**|**/a|**/e/|d/**/a|!/d/|e/d|/e/d/|# no|"
    "\\#a|\\!a|x y|x y |x\\ y|[ab]|[!a]|?|b.*|!b.md|!/e/d/b.md|"
)
RULES = st.one_of(
    st.sampled_from([*TYPICAL.split("|")]),
    st.text("ade*/!.?", max_size=5).filter(lambda text: "***" not in text),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = lay(tmp_path_factory.mktemp("ignoring"), dict.fromkeys(PATHS[:1], "x"))
    git(root, "init", "-q")
    return root


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(RULES, max_size=4), st.lists(RULES, max_size=2))
def test_what_git_ignores_is_ignored(folder: Path, rules: list[str], inner: list[str]) -> None:
    (folder / ".gitignore").write_text("\n".join(rules))
    (folder / "d").mkdir(exist_ok=True)
    (folder / "d/.gitignore").write_text("\n".join(inner))
    asked = "\n".join(PATHS)
    said = git(folder, "-c", "core.quotePath=false", "check-ignore", "--no-index", "--stdin",
               input=asked, check=False)  # fmt: skip
    found = {path.strip('"') for path in said.splitlines()}
    ours = Scoped(folder, EVERYTHING)
    assert {path for path in PATHS if ours.is_gitignored(path, False)} == found
