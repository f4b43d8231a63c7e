"""Install git hooks in a group's repository, and check what they are asked: a commit by hand.

gitmem lets no hook run in its repositories. A person may install ours: a file that the
configuration includes names its folder, so that the configuration itself stays as gitmem made it.
The hook refuses what a write would be refused for; `git commit --no-verify` overrides it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Conflict, Damaged, PathRefused
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.write.changeset import check_path_free
from gitmem.model.access import check_access
from gitmem.model.guards import hold_rule, violations
from gitmem.model.hints import Hint, call
from gitmem.model.secrets import find as secrets
from gitmem.resources import hooks as shipped_hooks
from gitmem.store.config import read_config
from gitmem.store.durable import make_folders, write_durably
from gitmem.store.index.file import IndexEntry, IndexFile
from gitmem.store.index.format import IndexUnreadable
from gitmem.store.objects.trees import Node
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import HeldEdit

HOOKS = ("hooks/pre-commit", "hooks/commit-msg")
"""One script for both: pre-commit checks the files, commit-msg the message."""
SETTINGS = "gitmem/git-hooks.config"
MARK = b"# gitmem:"
"""Marks our hook in every version."""
_CALL = 'ask() { gitmem "$@"; }'
_INCLUDE = f"[include]\n\tpath = {SETTINGS}\n"
_ADVICE = Hint(
    "let yours call ",
    call("check", staged=True),
    ", and as commit-msg ",
    call("check", message="FILE"),
)
_KINDS = {0o120000: "link", 0o160000: "submodule"}
MESSAGE = "the message"
_COMMENT = "#"
_SCISSORS = "# ------------------------ >8"


class GitHooked(NamedTuple):
    """A repository with or without our hook."""

    group: str
    path: str
    action: str
    """installed or uninstalled"""
    changed: bool
    dry_run: bool = False


def put_git_hook(group: Group, program: Sequence[str], *, dry_run: bool = False) -> GitHooked:
    """Install our hook in the group's repository; it calls PROGRAM."""
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
    """Remove our hook; other hooks stay."""
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
        raise Conflict(f"another hook exists: {hook}", hint=_ADVICE)


def _config(group: Group) -> str:
    """The configuration; Conflict where it runs other hooks."""
    path = read_config(group.gitdir).get("core.hookspath", os.devnull)
    if path != os.devnull:
        raise Conflict(f"this repository runs the hooks in {path}", hint=_ADVICE)
    return (group.gitdir / "config").read_text("utf-8")


def _from_worktree(group: Group) -> str:
    """The folder of the hook, relative to the work tree so that a store can be moved."""
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


class Staged(NamedTuple):
    """The verdict on staged files."""

    files: int
    """The number of files that differ from HEAD."""
    refused: tuple[HeldEdit, ...]


def guard_staged(group: Group, index: Path | None = None) -> Staged:
    """Check the staged files; INDEX is the one that git uses for this very commit."""
    snapshot = group.repository.snapshot()
    head = dict(snapshot.files())
    staged = {_path(each): each for each in _entries(index or group.gitdir / "index")}
    gone = [path for path in head if path not in staged]
    changed = [path for path, each in staged.items() if _differs(each, head.get(path))]
    refused = [HeldEdit(path, rule) for path in changed if (rule := _place(snapshot, path, gone))]
    known = {node.oid for node in head.values()}
    judged = [_judged(snapshot, staged[path], known) for path in changed]
    refused += [HeldEdit(each.path, each.rule) for each in judged if each.rule]
    refused += _broken(group, snapshot, staged, [*changed, *gone])
    return Staged(
        len(changed) + len(gone),
        tuple(sorted(set(refused), key=lambda each: (each.path, each.rule))),
    )


def guard_message(text: str) -> Staged:
    """Check a commit message as git hands it to its hooks, without comments."""
    # By line feeds, as git does: it keeps text behind a carriage return and a comment sign.
    kept = text.partition(_SCISSORS)[0].split("\n")
    message = "\n".join("" if each.startswith(_COMMENT) else each for each in kept)
    found = [f"secret: {each.rule}, line {each.line}" for each in secrets.find(message)]
    return Staged(0, tuple(HeldEdit(MESSAGE, each) for each in found))


def _path(entry: IndexEntry) -> str:
    return entry.path.decode("utf-8", "surrogateescape")


def _entries(index: Path) -> Iterator[IndexEntry]:
    try:
        return IndexFile.parse(index.read_bytes()).entries()
    except FileNotFoundError:
        return iter(())
    except IndexUnreadable as error:
        raise Damaged(f"{index}: {error}", hint=Hint("run ", call("check", repair=True))) from error


def _differs(entry: IndexEntry, node: Node | None) -> bool:
    return node is None or node.oid != entry.oid.hex() or entry.mode in _KINDS


def _place(snapshot: Snapshot, path: str, gone: list[str]) -> str:
    try:
        check_path_free(snapshot, path, leaving=gone)
    except PathRefused as error:
        return f"path: {error.message}"
    return ""


def _judged(snapshot: Snapshot, entry: IndexEntry, known: set[str]) -> HeldEdit:
    """Why a staged file may not enter git; content that HEAD has may move."""
    path, oid, kind = _path(entry), entry.oid.hex(), _KINDS.get(entry.mode, "")
    if kind or oid in known:
        return HeldEdit(path, hold_rule(path, kind, None, None))
    data = snapshot.repository.objects.read_as("blob", oid)
    return HeldEdit(path, hold_rule(path, "", data, snapshot.read(path)))


def _broken(
    group: Group, snapshot: Snapshot, staged: dict[str, IndexEntry], paths: list[str]
) -> Iterator[HeldEdit]:
    """The policies and guards against loss that a write would have to pass."""
    layout = layout_at(group, snapshot).layout
    read = snapshot.repository.objects.read_as
    for path in paths:
        entry = staged.get(path)
        if entry is None or entry.mode not in _KINDS:
            data = read("blob", entry.oid.hex()) if entry else None
            found = violations(path, data, snapshot.read(path), layout.policy_of(path))
            yield from (HeldEdit(path, each) for each in found)
