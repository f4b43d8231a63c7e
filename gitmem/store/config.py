"""The configuration of a group's repository: written, read, and refused where it is beyond us.

By hand instead of pygit2's `Config`: libgit2 follows `include.path`, so another file could name the
work tree, gives up on the whole file for one broken line, and renames a new file into place without
an fsync. Reading takes 0.58 of its time (`python -m benchmarks by_hand`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Damaged
from gitmem.model.hints import Hint, call
from gitmem.store.durable import write_durably

FORMAT = 1
SCOPED = ("gitmem.scope", "layout")
"""In the configuration of a group that keeps to its layout in a folder with other work. Groups of
releases before that have no such key: all files of their folder stay memory."""
_CONFIG = (
    ("core", "repositoryformatversion", "0"),
    ("core", "bare", "false"),
    ("core", "filemode", "false"),
    ("core", "symlinks", "false"),
    ("core", "autocrlf", "false"),
    ("core", "logAllRefUpdates", "true"),
    ("core", "protectHFS", "true"),
    ("core", "protectNTFS", "true"),
    ("core", "hooksPath", "/dev/null"),
    ("core", "attributesFile", "/dev/null"),
    ("core", "fsmonitor", "false"),
    ("core", "fsync", "all"),
    ("core", "sharedRepository", "0600"),
    ("gc", "auto", "0"),
    ("maintenance", "auto", "false"),
    ("transfer", "fsckObjects", "true"),
    ("gitmem", "format", str(FORMAT)),
)
_READ = (
    ("extensions.objectformat", "sha1", "its objects are named by {}, and only sha1 is read"),
    ("extensions.refstorage", "files", "its branches are kept as {}, and only files are read"),
)
"""Settings of git that change how a repository is stored, with the only value that we read."""


def config_text(worktree: str) -> str:
    """The whole configuration of a group's repository, the same for all but the work tree."""
    quoted = worktree.replace("\\", "\\\\").replace('"', '\\"')
    rows = [*_CONFIG[:2], ("core", "worktree", f'"{quoted}"'), *_CONFIG[2:]]
    text, section = "", ""
    for name, key, value in rows:
        text += f"[{name}]\n" if name != section else ""
        text += f"\t{key} = {value}\n"
        section = name
    return text


def new_config_text(worktree: str) -> str:
    """The configuration of a new group, which also says that it keeps to its layout."""
    section, _, key = SCOPED[0].partition(".")
    text = config_text(worktree)
    return text.replace(f"[{section}]\n", f"[{section}]\n\t{key} = {SCOPED[1]}\n")


def name_worktree(gitdir: Path, worktree: str) -> None:
    """Let the configuration name another work tree; what a person added, a remote say, stays."""
    changed = fresh = new_config_text(worktree)
    with suppress(OSError, ValueError):
        text = (gitdir / "config").read_text("utf-8")
        line = next(each for each in fresh.splitlines() if "worktree =" in each)
        changed, count = re.subn(r"(?mi)^\s*worktree\s*=.*$", lambda _: line, text, count=1)
        changed = changed if count else fresh
    write_durably(gitdir / "config", changed.encode())


def read_config(gitdir: Path) -> dict[str, str]:
    """The configuration as `section.key` in lower case; empty when it cannot be read."""
    try:
        return parse_config((gitdir / "config").read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def is_blank(gitdir: Path) -> bool:
    """True for a configuration of which a power cut left nothing."""
    try:
        return not (gitdir / "config").read_bytes().strip(b"\0 \n")
    except OSError as error:
        return isinstance(error, FileNotFoundError)


def parse_config(text: str) -> dict[str, str]:
    """The settings in TEXT as `section.key` in lower case; what is no setting is skipped."""
    found, section = {}, ""
    for line in map(str.strip, text.splitlines()):
        head = re.match(r"\[([^\]]*)\]", line)
        section = head[1].lower() if head else section
        key, is_setting, value = line[head.end() if head else 0 :].partition("=")
        if is_setting:
            found[f"{section}.{key.strip().lower()}"] = _plain(value.strip())
    return found


def _plain(value: str) -> str:
    """A value without its quotes, and without the remark behind it."""
    quoted = re.match(r'"((?:[^"\\]|\\.)*)"', value)
    if not quoted:
        return re.sub(r"\s*[#;].*", "", value)
    return quoted[1].replace('\\"', '"').replace("\\\\", "\\")


def worktree_of(gitdir: Path) -> Path | None:
    """The work tree that the configuration names; None when it names none."""
    return worktree_in(gitdir, read_config(gitdir))


def worktree_in(gitdir: Path, config: dict[str, str]) -> Path | None:
    """The same, for who has read the configuration."""
    named = config.get("core.worktree")
    return Path(os.path.normpath(gitdir / named)) if named else None


class Unread(NamedTuple):
    """Why a repository cannot be read, sound as it may be."""

    form: str
    why: str


def unread(config: Mapping[str, str]) -> Unread | None:
    """What in CONFIG is beyond us; None where nothing is."""
    for key, known, why in _READ:
        form = config.get(key, known).lower()
        if form != known:
            return Unread(form, why.format(form))
    return None


def check_form(config: Mapping[str, str], name: str) -> None:
    """Refuse the repository of the group NAME, if it is of such a kind."""
    found = unread(config)
    if found:
        raise Damaged(
            f"the repository of {name!r} cannot be used: {found.why}; nothing in it was changed",
            hint=Hint("run ", call("doctor"), ": it says how to convert it"),
        )
