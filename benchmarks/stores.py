"""Stores of a given size, built fast: nothing is synced to disk while they grow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from gitmem.memory.group import Group, Store

# In a process of its own: once a repository was opened without fsync, its refs stay unsynced.
BUILDER = """
import os, sys
os.fsync = os.fdatasync = lambda fd: None
import pygit2
from pathlib import Path
from gitmem.memory.group import Group, Store
from gitmem.memory.admin.init import init
from gitmem.memory.write.write import Edit, write
pygit2.settings.enable_fsync_gitdir(False)
root, files, folders, commits = sys.argv[1], *map(int, sys.argv[2:])
store = Store(Path(root))
init(store, "main")
group = Group(store, "main")
def name(i): return f"folder{i % folders}/note{i}.md"
write(group, [Edit(name(i), f"# Note {i}\\n\\nsome text\\n") for i in range(files)])
for i in range(commits):
    write(group, [Edit(name(i % files), f"# Note {i}\\n\\nother text {i}\\n")])
"""


def build(root: Path, *, files: int, folders: int = 1, commits: int = 0) -> Group:
    """A group with FILES files in FOLDERS folders and COMMITS commits after the first."""
    arguments = [str(root), str(files), str(folders), str(commits)]
    subprocess.run([sys.executable, "-c", BUILDER, *arguments], check=True, cwd=Path.cwd())
    os.sync()
    return Group(Store(root), "main")
