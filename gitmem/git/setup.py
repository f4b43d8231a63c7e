"""Making a group's repository, and tying it to its work tree."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import pygit2

from gitmem.core.messages import Note
from gitmem.git.commits import commit_bytes, write_tree
from gitmem.git.objects import sync_folder
from gitmem.git.repository import BRANCH, Repository
from gitmem.git.swapping import TEMP_PREFIX

FORMAT = 1
EXCLUDED = f"{TEMP_PREFIX}*".encode()
"""The rule in `info/exclude`: no `git add -A` or `git stash -u` takes our temporary files in."""
LARGEST_RULES = 64 * 1024
"""Bytes of rules that a person may have there; more are left alone."""
HEAD_TEXT = f"ref: {BRANCH}\n"
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


def create(gitdir: Path, worktree: str, note: Note, now: datetime) -> None:
    """Make a repository with its root commit at GITDIR, whole or not at all.

    It is built beside its place and renamed there. libgit2 makes it, so no template is copied in.
    """
    draft = gitdir.with_name(f".draft-{os.urandom(6).hex()}")
    pygit2.init_repository(str(draft), bare=True, initial_head="main", mode=0o700)
    for name in ("description", "hooks", "info"):
        _remove(draft / name)
    (draft / "gitmem").mkdir(mode=0o700)
    (draft / "gitmem" / "lock").touch(mode=0o600)
    exclude_temps(draft)
    (draft / "config").write_text(config_text(worktree), "utf-8")
    _write_root(draft, note, now)
    _close_to_others(draft)
    os.rename(draft, gitdir)
    sync_folder(gitdir.parent)


def _write_root(gitdir: Path, note: Note, now: datetime) -> None:
    repository = Repository(gitdir)
    tree = write_tree(repository, None, {})
    raw = commit_bytes(tree, None, note, now, int(now.timestamp()))
    commit = repository.objects.write("commit", raw)
    repository.raw.create_reference(BRANCH, commit, message="init")
    repository.close()


def exclude_temps(gitdir: Path) -> None:
    """Let git ignore our temporary files; rules that a person wrote stay.

    Every writer asks: a group of an earlier release has no such rule.
    """
    path = f"{gitdir}/info/exclude"
    before = b""
    with suppress(FileNotFoundError):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            before = os.read(fd, LARGEST_RULES)
        finally:
            os.close(fd)
    if EXCLUDED in before.splitlines() or len(before) == LARGEST_RULES:
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    gap = b"" if before[-1:] in (b"", b"\n") else b"\n"
    write_durably(Path(path), before + gap + EXCLUDED + b"\n")


def _close_to_others(folder: Path) -> None:
    """Nobody but the owner may read a memory."""
    for path, folders, files in os.walk(folder):
        os.chmod(path, 0o700)
        for name in files:
            os.chmod(os.path.join(path, name), 0o400 if "/objects/" in path else 0o600)
        del folders


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove_drafts(repos: Path) -> None:
    """Remove what an initialiser that died had begun. Needs the store's lock."""
    for draft in repos.glob(".draft-*"):
        shutil.rmtree(draft, ignore_errors=True)


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


def name_worktree(gitdir: Path, worktree: str) -> None:
    """Let the configuration name another work tree; what a person added, a remote say, stays."""
    changed = fresh = config_text(worktree)
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


def tie(gitdir: Path, worktree: Path, *, relative: bool) -> None:
    """Write the file `.git` into the work tree, so that a person's `git log` works there.

    A folder or link that was put in its place is kept, out of reach: its hooks must never run.
    """
    target = os.path.relpath(gitdir, worktree) if relative else str(gitdir)
    marker = worktree / ".git"
    if os.path.lexists(marker) and (marker.is_symlink() or not marker.is_file()):
        to_quarantine(gitdir, marker, "worktree.git")
    write_durably(marker, f"gitdir: {target}\n".encode())


def is_tied(gitdir: Path, worktree: Path) -> bool:
    """True when the work tree's `.git` file leads to GITDIR."""
    return _tied_to(worktree) == os.path.normpath(gitdir)


def leads_nowhere(worktree: Path) -> bool:
    """True when the work tree's `.git` file names a folder that is no longer there."""
    target = _tied_to(worktree)
    return target is not None and not os.path.lexists(target)


def _tied_to(worktree: Path) -> str | None:
    """Where the work tree's `.git` file leads; None when it is no such file."""
    try:
        # Without blocking: a named pipe in its place must not stop us for ever.
        fd = os.open(worktree / ".git", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        text = os.read(fd, 4096).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(fd)
    kind, _, target = text.strip().partition(": ")
    return os.path.normpath(worktree / target) if kind == "gitdir" else None


def exclude_from_parent(worktree: Path) -> Path | None:
    """Where a repository of somebody else holds the folder, let it ignore it; tell which file."""
    for above in worktree.parents:
        common = _common_folder(above)
        if common:
            exclude = common / "info" / "exclude"
            inner = re.sub(r"([\\*?\[ ])", r"\\\1", worktree.relative_to(above).as_posix())
            line = os.fsencode(f"/{inner}/")
            before = exclude.read_bytes() if exclude.exists() else b""
            if line not in before.splitlines():
                exclude.parent.mkdir(exist_ok=True)
                with exclude.open("ab") as file:
                    file.write((b"" if before[-1:] in (b"", b"\n") else b"\n") + line + b"\n")
            return exclude
    return None


def _common_folder(folder: Path) -> Path | None:
    """The git directory that FOLDER's branches share; None when it is no repository."""
    gitdir = folder / ".git"
    if not gitdir.is_dir():  # a submodule or one of several work trees has a file
        target = _tied_to(folder)
        if target is None or not os.path.isdir(target):
            return None
        gitdir = Path(target)
    try:
        common = gitdir / (gitdir / "commondir").read_text("utf-8").strip()
        return Path(os.path.normpath(common))
    except (OSError, ValueError):
        return gitdir


def to_quarantine(gitdir: Path, path: Path, name: str) -> Path:
    """Move a damaged or planted thing out of everybody's way, and say where it is kept."""
    folder = gitdir / "gitmem" / "quarantine"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = 0
    while os.path.lexists(folder / f"{name}.{number}"):
        number += 1
    shutil.move(path, folder / f"{name}.{number}")
    return folder / f"{name}.{number}"


def write_durably(path: Path, data: bytes) -> None:
    """Replace a small file so that a crash leaves the old one or the new one."""
    temp = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.replace(temp, path)
    sync_folder(path.parent)
