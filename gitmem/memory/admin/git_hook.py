"""Hooks in a group's repository, for people who `git commit` there by hand.

gitmem lets no hook run in its repositories. Where somebody asks for ours, a file that the
configuration includes says where it lies, so that the configuration itself stays as it was made.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Conflict
from gitmem.memory.group import Group
from gitmem.model.access import check_access
from gitmem.resources import hooks as shipped_hooks
from gitmem.store.config import read_config
from gitmem.store.durable import make_folders, write_durably

HOOKS = ("hooks/pre-commit", "hooks/commit-msg")
"""One script for both: before the commit it judges the files, then the message."""
SETTINGS = "gitmem/git-hooks.config"
MARK = b"# gitmem:"
"""By what our hook is known, of whatever version."""
_CALL = 'ask() { gitmem "$@"; }'
_INCLUDE = f"[include]\n\tpath = {SETTINGS}\n"
_ADVICE = "let yours call `gitmem check --staged`, and as commit-msg `gitmem check --message FILE`"


class GitHooked(NamedTuple):
    """A repository with our hook, or without it."""

    group: str
    path: str
    action: str
    """installed or uninstalled"""
    changed: bool
    dry_run: bool = False


def put_git_hook(group: Group, program: Sequence[str], *, dry_run: bool = False) -> GitHooked:
    """Let `git commit` in the group's work tree run the hook that we ship, which calls PROGRAM."""
    check_access(group.acting, group.name, write=True)
    hooks, config, script = _hooks(group), _config(group), _script(program)
    settings = f"[core]\n\thooksPath = {_quoted(_from_worktree(group))}\n".encode()
    before = [_read(each) for each in hooks]
    for hook, data in zip(hooks, before, strict=True):
        _check_ours(hook, data)
    same = all(data == script for data in before)
    done = same and _read(group.gitdir / SETTINGS) == settings and _INCLUDE in config
    if not (done or dry_run):
        _write(hooks, script)
        write_durably(group.gitdir / SETTINGS, settings)
        if _INCLUDE not in config:
            gap = "" if config.endswith("\n") else "\n"
            write_durably(group.gitdir / "config", f"{config}{gap}{_INCLUDE}".encode())
    return GitHooked(group.name, str(hooks[0]), "installed", not done, dry_run)


def _script(program: Sequence[str]) -> bytes:
    text = (shipped_hooks() / "git" / "pre-commit").read_text("utf-8")
    return text.replace(_CALL, _CALL.replace("gitmem", shlex.join(program))).encode()


def _hooks(group: Group) -> list[Path]:
    return [group.gitdir / each for each in HOOKS]


def _write(hooks: Iterable[Path], script: bytes) -> None:
    for hook in hooks:
        make_folders(hook.parent)
        write_durably(hook, script)
        hook.chmod(0o700)


def take_git_hook(group: Group, *, dry_run: bool = False) -> GitHooked:
    """Take it out again; a hook of somebody else's stays."""
    check_access(group.acting, group.name, write=True)
    hooks, config = _hooks(group), _config(group)
    ours = [each for each in hooks if MARK in (_read(each) or b"")]
    changed = bool(ours) or _INCLUDE in config
    if changed and not dry_run:
        write_durably(group.gitdir / "config", config.replace(_INCLUDE, "").encode())
        (group.gitdir / SETTINGS).unlink(missing_ok=True)
        for hook in ours:
            hook.unlink()
        folder = hooks[0].parent
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    return GitHooked(group.name, str(hooks[0]), "uninstalled", changed, dry_run)


def _check_ours(hook: Path, before: bytes | None) -> None:
    if before is not None and MARK not in before:
        raise Conflict(f"there is a hook already, and it is not ours: {hook}", hint=_ADVICE)


def _config(group: Group) -> str:
    """The configuration; one that runs hooks of somebody else's is left alone."""
    path = read_config(group.gitdir).get("core.hookspath", os.devnull)
    if path != os.devnull:
        raise Conflict(f"this repository runs the hooks in {path}", hint=_ADVICE)
    return (group.gitdir / "config").read_text("utf-8")


def _from_worktree(group: Group) -> str:
    """Where git finds the hook: from the work tree, so that a store can be moved as a whole."""
    folder = (group.gitdir / HOOKS[0]).parent
    return str(folder) if group.is_outside else os.path.relpath(folder, group.worktree)


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
