"""The git directory around its objects: configuration, HEAD, modes, locks, records, leftovers."""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shlex import quote

from gitmem.model.scope import Scope
from gitmem.store.fsck.findings import Finding, error, info, warning
from gitmem.store.lock import decode, lock_path, remark_in
from gitmem.store.objects.database import Objects, blob_id
from gitmem.store.refs.files import is_id
from gitmem.store.refs.move import is_dead_lock
from gitmem.store.repository import BRANCH
from gitmem.store.setup import (
    FORMAT,
    HEAD_TEXT,
    config_text,
    default_of,
    is_tied,
    parse_config,
    told_where,
    worktree_of,
)
from gitmem.store.transaction.git_operations import git_operation
from gitmem.store.worktree.swap import TEMP_PREFIX, path_of, swapped_folder

FRESH = 10.0
"""Seconds in which a lock or temporary file is taken for somebody's who is at work."""
FOLDERS = ("objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags", "gitmem")
NEEDED = ("objects", "refs", "gitmem")
_ONE_LINE = re.compile(
    r'\s*(?:[#;].*|\[[A-Za-z0-9.-]+(?:\s+"(?:[^"\\]|\\.)*")?\].*'
    r'|[A-Za-z][A-Za-z0-9-]*\s*(?:=(?:[^"\\]|\\.|"(?:[^"\\]|\\.)*")*\\?)?)?\s*'
)
_BOOLEANS = {"yes": "true", "on": "true", "1": "true", "no": "false", "off": "false", "0": "false"}
SWITCH = "finish what you are doing there, then run `git switch main` in the group's folder"
_TEMPS = ("tmp_object_git2_", "tmp_obj_", "tmp_pack_", "tmp_idx_")


def folder_findings(gitdir: Path) -> Iterator[Finding]:
    """Folders without which git does not take this for a repository."""
    for name in NEEDED:
        if not (gitdir / name).is_dir():
            yield error(
                "folder-missing", f"the folder {name} of the git directory is missing", path=name
            )


def config_findings(gitdir: Path) -> Iterator[Finding]:
    """A configuration that cannot be read, is of another format, or was changed."""
    try:
        raw = (gitdir / "config").read_bytes()
    except OSError as problem:
        what = "missing" if isinstance(problem, FileNotFoundError) else "not readable"
        yield error("config-damaged", f"the configuration is {what}", path="config")
        return
    if not is_config(raw):
        yield error("config-damaged", "the configuration is empty or garbage", path="config")
        return
    found = parse_config(raw.decode())
    if not knows_format(found):
        yield error(
            "format-unknown",
            f"this group has format {found['gitmem.format']}; this gitmem knows format {FORMAT}",
            path="config",
            hint="upgrade gitmem",
        )
        return
    drifted = drift(found)
    if drifted:
        changes = ", ".join(f"{key} is {found.get(key, 'not set')}" for key in drifted)
        yield warning("config-changed", f"the configuration was changed: {changes}", path="config")


def is_config(raw: bytes) -> bool:
    """True for something that git can read and that configures anything at all."""
    try:
        text = raw.decode()
    except ValueError:
        return False
    joined = text.replace("\\\n", " ")
    if "\x00" in text or not all(_ONE_LINE.fullmatch(line) for line in joined.split("\n")):
        return False
    return "core.repositoryformatversion" in parse_config(text)


def knows_format(found: dict[str, str]) -> bool:
    """False for a repository that a newer gitmem has made."""
    return found.get("gitmem.format", str(FORMAT)) == str(FORMAT)


def drift(found: dict[str, str]) -> list[str]:
    """The keys whose value is not the one that gitmem gave them."""
    expected = parse_config(config_text(found.get("core.worktree", "")))
    return [
        key
        for key, value in expected.items()
        if _plain(found.get(key, "")) != _plain(value) or key not in found
    ]


def _plain(value: str) -> str:
    return _BOOLEANS.get(value.lower(), value.lower())


def head_findings(gitdir: Path) -> Iterator[Finding]:
    """A HEAD that cannot be read, or that a person put elsewhere."""
    state, where = head_state(gitdir)
    if state == "unreadable":
        yield error("head-damaged", f"HEAD is {where}", path="HEAD")
    elif state != "main":
        what = f"on the branch {where!r}" if state == "branch" else f"detached, at {where[:10]}"
        operation = git_operation(gitdir)
        by = f"by {operation.title} begun with git" if operation else "by hand"
        yield warning(
            "head-elsewhere",
            f"HEAD is {what}, put there {by}; gitmem writes to 'main' only",
            path="HEAD",
            hint=operation.way_on if operation else SWITCH,
        )


def head_state(gitdir: Path) -> tuple[str, str]:
    """main, branch, detached or unreadable, and which branch, commit or trouble."""
    try:
        text = (gitdir / "HEAD").read_bytes().decode("utf-8", "replace")
    except OSError as problem:
        missing = isinstance(problem, FileNotFoundError)
        return "unreadable", "missing" if missing else f"not readable ({problem.strerror})"
    if text == HEAD_TEXT:
        return "main", BRANCH
    if is_id(text.strip()):
        return "detached", text.strip()
    found = re.fullmatch(r"ref:\s*refs/heads/([^\x00-\x20]+)\s*", text)
    if not found:
        return "unreadable", "empty" if not text.strip("\x00 \n") else "garbage"
    return ("main", BRANCH) if f"refs/heads/{found[1]}" == BRANCH else ("branch", found[1])


def mode_findings(gitdir: Path) -> Iterator[Finding]:
    """Files that somebody else could read or change."""
    found = list(open_to_others(gitdir))
    if found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        first = os.path.relpath(found[0], gitdir)
        yield warning("mode", f"other users may enter the git directory: {first}{more}", path=first)


def open_to_others(gitdir: Path) -> Iterator[str]:
    """Every path whose mode lets others in.

    git makes its files readable by all where the umask allows it; the git directory itself must let
    nobody near them. What they could write to, or what was held for being secret, is closed twice.
    A file that a write replaced keeps the mode that its owner gave it.
    """
    for folder, _, files in os.walk(gitdir):
        if folder == str(swapped_folder(gitdir)):
            files = []  # noqa: PLW2901
        ours = folder == str(gitdir) or folder.startswith(f"{gitdir}/gitmem")
        for path in (folder, *(os.path.join(folder, name) for name in files)):
            with suppress(OSError):
                mode = os.lstat(path).st_mode
                closed = 0o077 if ours and (folder != str(gitdir) or path == folder) else 0o022
                if not stat.S_ISLNK(mode) and mode & closed:
                    yield path


def is_held(gitdir: Path) -> bool:
    """True while a gitmem process works on the group."""
    try:
        fd = os.open(lock_path(gitdir), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def lock_findings(gitdir: Path) -> Iterator[Finding]:
    """Locks that a dead gitmem process left, and those of git that have stood for too long."""
    for path, age in locks(gitdir):
        name = str(path.relative_to(gitdir))
        if is_dead_lock(gitdir, path) and path.exists() and not is_held(gitdir):
            yield warning("git-lock", f"{name} was left by a gitmem process that died", path=name)
        elif age > FRESH:
            yield warning(
                "git-lock",
                f"git's lock {name} has stood for {_duration(age)}",
                path=name,
                hint=f"if no git command is running in the group's folder: `rm {quote(str(path))}`",
            )


def locks(gitdir: Path) -> Iterator[tuple[Path, float]]:
    """Every lock of git, with its age in seconds."""
    names = ("HEAD.lock", "config.lock", "index.lock", "packed-refs.lock", "shallow.lock")
    found = [gitdir / name for name in names]
    found += sorted((gitdir / "refs").rglob("*.lock"))
    for path in found:
        with suppress(OSError):
            yield path, time.time() - path.lstat().st_mtime


def _duration(seconds: float) -> str:
    for size, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {name}"
    return f"{seconds:.0f} seconds"


def record_findings(gitdir: Path) -> Iterator[Finding]:
    """A writer's record though no writer is alive."""
    try:
        raw = Path(lock_path(gitdir)).read_bytes()
    except OSError:
        return
    record = read_record(raw)
    if record == "torn":
        yield warning(
            "record-torn", "the record of an interrupted write is torn", path="gitmem/lock"
        )
    elif record:
        yield info(
            "write-unfinished",
            f"a write to {record} was interrupted; the next finishes it",
            path="gitmem/lock",
            hint="finish it now: `gitmem capture`",
        )


def read_record(raw: bytes) -> str:
    """What an inflight record is about, `torn`, or nothing."""
    try:
        record = decode(raw)
    except (ValueError, TypeError):
        return "torn"
    if record is None:
        return "torn" if raw.strip() and not remark_in(raw) else ""
    return ", ".join(item.path for item in record.items) or "nothing"


def leftover_findings(
    gitdir: Path, worktree: Path, scope: Scope | None = None
) -> Iterator[Finding]:
    """Temporary files of writers that are no more."""
    for each in late_edits(gitdir):
        named = path_of(each.name)
        what = f"an edit of {named}" if named else "an edit"
        yield info(
            "late-edit",
            f"{what} came too late for the write that replaced it, and waits in {each}",
            path=str(each),
            hint="`gitmem capture` commits it",
        )
    for path, age in leftovers(gitdir, worktree, scope):
        if age > FRESH and path.parent != swapped_folder(gitdir):
            yield info(
                "leftover",
                f"{path} was left by an interrupted command",
                path=str(path),
                hint="`gitmem check --repair` takes it away",
            )


def late_edits(gitdir: Path) -> list[Path]:
    """Files that came out of the work tree, that git does not have and no record names.

    One that git has was replaced as it should be: `maintain` removes it without a word.
    """
    found = [path for path in _swapped_out(gitdir) if not _is_known(gitdir, path)]
    # Not those of a writer that has come meanwhile.
    if not found or is_held(gitdir) or any(record_findings(gitdir)):
        return []
    return [path for path in found if path.exists()]


def _swapped_out(gitdir: Path) -> list[Path]:
    return sorted(swapped_folder(gitdir).glob(f"{TEMP_PREFIX}*"))


def _is_known(gitdir: Path, path: Path) -> bool:
    """True for a file whose content git has, and for one that is gone."""
    objects = Objects(gitdir)
    try:
        return objects.holds(blob_id(path.read_bytes()))
    except FileNotFoundError:
        return True
    except OSError:
        return False
    finally:
        objects.close()


def leftovers(
    gitdir: Path, worktree: Path, scope: Scope | None = None
) -> Iterator[tuple[Path, float]]:
    """Temporary files of gitmem and git, with their age in seconds; not in folders out of SCOPE."""
    for path in _temporary(gitdir, worktree, scope):
        with suppress(OSError):
            yield path, time.time() - path.lstat().st_mtime


def _temporary(gitdir: Path, worktree: Path, scope: Scope | None) -> Iterator[Path]:
    objects = gitdir / "objects"
    for folder in (objects, *sorted(objects.glob("??")), objects / "pack"):
        for prefix in _TEMPS:
            yield from sorted(folder.glob(f"{prefix}*"))
    yield from sorted(gitdir.glob("gitmem/index.new"))
    yield from sorted(gitdir.glob(".*.????????"))  # what `write_durably` was writing
    yield from sorted(gitdir.parent.glob(".draft-*"))
    yield from _swapped_out(gitdir)
    for folder_name, folders, files in os.walk(worktree):
        if scope:
            above = os.path.relpath(folder_name, worktree).removeprefix(".")
            folders[:] = [each for each in folders if scope.reaches(f"{above}/{each}".lstrip("/"))]
        names = (name for name in sorted(files) if name.startswith(TEMP_PREFIX))
        yield from (Path(folder_name, name) for name in names)


def _missing(gitdir: Path, worktree: Path) -> Finding:
    text = f"the work tree {worktree} is not there"
    if worktree == default_of(gitdir):
        return error("worktree-missing", text, path=str(worktree))
    hint = told_where(gitdir.name.removesuffix(".git"), worktree)
    return error("worktree-missing", text, path=str(worktree), hint=hint)


def gitfile_findings(gitdir: Path) -> Iterator[Finding]:
    """A work tree that is missing, or whose `.git` is not the file that gitmem put there."""
    worktree = worktree_of(gitdir)
    if worktree is not None and worktree.is_symlink():
        yield error(
            "worktree-link",
            f"the work tree {worktree} is a link, and links are never followed",
            path=str(worktree),
            hint="put the folder it leads to in its place: "
            f"`rm {quote(str(worktree))} && "
            f"mv {quote(os.path.realpath(worktree))} {quote(str(worktree))}`",
        )
        return
    if worktree is None or is_tied(gitdir, worktree):
        return
    marker = worktree / ".git"
    if not worktree.is_dir():
        yield _missing(gitdir, worktree)
    elif not os.path.lexists(marker):
        yield warning(
            "gitfile-missing",
            f"{marker} is missing: git finds no repository there",
            path=str(marker),
        )
    else:
        kind = "link" if marker.is_symlink() else "folder" if marker.is_dir() else "file"
        yield warning(
            "gitfile-foreign",
            f"the {kind} {marker} does not lead to this group; gitmem ignores it, git would not",
            path=str(marker),
        )
