"""Folders in which an agent works: its memory, and all that stands beside it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.memories import ARIZUKO, CLAUDE, NANO, SOUL, ZYLOS, Files, lay

WORK: Files = {
    "README.md": "# The project\n",
    "package.json": '{"name": "bot"}\n',
    "src/main.ts": "export const answer = 42\n",
    "src/lib/deep/er/util.ts": "export {}\n",
    "node_modules/left-pad/index.js": "module.exports = 1\n",
    "node_modules/left-pad/docs/facts/tea.md": "# Tea\n",
    "logs/2026-02-08.md": "not a diary\n",
    "reference.txt": "x\n",
}
"""What is nobody's memory, in any layout."""

MEMORY: Mapping[str, Files] = {
    "zylos": ZYLOS,
    "arizuko": {path: text for path, text in ARIZUKO.items() if "/" in path},
    "soul": {path: text for path, text in SOUL.items() if path != "reminders.md"},
    "nano": {path: text for path, text in NANO.items() if path != "NANO.md"},
    "claude-code": CLAUDE,
}


def work_beside(name: str) -> Files:
    """The other work in a folder of the layout NAME: there a note at the top may be memory."""
    return {
        path: text for path, text in WORK.items() if (name, path) != ("claude-code", "README.md")
    }


def workspace(root: Path, name: str = "zylos", *, modules: int = 50) -> Path:
    """A folder with the memory of the layout NAME, sources, and many small MODULES."""
    lay(root, {**MEMORY[name], **work_beside(name)})
    for number in range(modules):
        lay(root / f"node_modules/m{number}", {"index.js": "x\n", "README.md": "# Module\n"})
    os.symlink("../left-pad/index.js", root / "node_modules/link")
    (root / "src/huge.bin").write_bytes(b"\0" * (2 << 20))
    return root


_watching: list[set[str]] = []


def _heard(event: str, given: tuple[object, ...]) -> None:
    if _watching and event in ("open", "os.scandir", "os.listdir") and given:
        _watching[-1].add(os.fsdecode(given[0]) if isinstance(given[0], (str, bytes)) else "")


@contextmanager
def opened_names() -> Iterator[set[str]]:
    """The names and paths that this process opens or lists meanwhile."""
    if not getattr(sys, "_gitmem_heard", False):
        sys.addaudithook(_heard)
        sys._gitmem_heard = True  # type: ignore[attr-defined]
    _watching.append(set())
    try:
        yield _watching[-1]
    finally:
        _watching.pop()
