"""Read a folder for adoption: the files that may enter git, and those that are left out."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import BadInput, Damaged, NotFound, PathRefused
from gitmem.model.guards import MAX_FILE, hold_rule, violations
from gitmem.model.paths import check_path, fold
from gitmem.model.scope import Scope
from gitmem.model.secrets.find import redact
from gitmem.model.text.frontmatter import by_line
from gitmem.store.worktree.scope import Scoped
from gitmem.store.worktree.worktree import FileState, InTheWay, Keeps, WorkTree, obstacle_in

Progress = Callable[[int, int], None]

ATTEMPTS = 5
PATIENCE = 0.2
"""Seconds to wait for a process that writes to a file."""
BINARY_SEARCHED = 8000
MOST_FILES = 20_000
MOST_BYTES = 512 * 1024 * 1024
"""Larger folders are no memory, but a home directory for instance."""
PROJECT = ("package.json", "pyproject.toml", "Cargo.toml", "go.mod", "Makefile")
SOURCES = (
    ".c", ".cc", ".cpp", ".cs", ".go", ".h", ".java", ".js", ".jsx", ".kt", ".mjs", ".php", ".py",
    ".rb", ".rs", ".scala", ".swift", ".ts", ".tsx",
)  # fmt: skip
"""Files that make a folder a workspace: names, and suffixes of source files."""
DOT = "dot name"
GITIGNORED = "ignored by its own .gitignore"
HARD_LINK = "hard-link"
LINK = "link"


class AdoptedFile(NamedTuple):
    """A file that may enter git."""

    data: bytes
    mtime: float


class NotAdopted(NamedTuple):
    """A file or folder that is left out."""

    path: str
    """A folder ends in a slash; credentials in the path are redacted."""
    why: str
    commit: str = ""
    """The commit of the folder's own history that has it; empty for the folder itself."""


class Folder(NamedTuple):
    """The content of a folder."""

    files: dict[str, AdoptedFile]
    left: tuple[NotAdopted, ...]
    away: frozenset[str]
    """The paths of LEFT, not redacted."""
    linked: Mapping[str, bytes] = {}
    """The content of files with a second hard link: left out, and held until a person decides."""

    def within(self, scope: Scope) -> Folder:
        """The part of it within SCOPE."""

        def is_in(path: str) -> bool:
            folder = path.endswith("/")
            return scope.reaches(path.rstrip("/")) if folder else scope.holds(path)

        def is_left(each: NotAdopted) -> bool:
            link = each.why == LINK and scope.reaches(each.path)  # it may lead to a folder
            return link or is_in(each.path)

        return Folder(
            {path: taken for path, taken in self.files.items() if is_in(path)},
            tuple(filter(is_left, self.left)),
            frozenset(path for path in self.away if scope.holds(path) or scope.reaches(path)),
            {path: data for path, data in self.linked.items() if is_in(path)},
        )


def source_folder(source: Path) -> Path:
    """SOURCE without links in its path; raises NotFound or BadInput for no readable folder."""
    root = Path(os.path.realpath(source))
    if not os.path.lexists(source) or not root.exists():
        raise NotFound(f"no folder {str(source)!r}", hint="name an existing folder")
    if not root.is_dir():
        raise BadInput(f"{source} is not a folder", hint="name the folder that holds the memory")
    if not os.access(root, os.R_OK | os.X_OK):
        raise BadInput(f"{source} cannot be read", hint="check its permissions")
    return root


def is_workspace(paths: Iterable[str], scope: Scope) -> bool:
    """True when PATHS include source files outside SCOPE: a program beside the memory.

    A folder with nothing but notes, pictures and other texts is a memory, and adopted whole.
    """
    return any(
        (path.endswith(SOURCES) or path.rpartition("/")[2] in PROJECT) and not scope.holds(path)
        for path in paths
    )


def file_names(root: Path) -> Iterator[str]:
    """The path of every file below ROOT that is in no dot folder."""
    for folder, folders, names in os.walk(root):
        folders[:] = [each for each in folders if each[0] != "."]
        inside = os.path.relpath(folder, root)
        yield from (os.path.normpath(f"{inside}/{name}") for name in names)


def read_folder(
    root: Path,
    ignored: Callable[[str], bool],
    progress: Progress | None = None,
    scope: Scoped | None = None,
) -> Folder:
    """Read every file in ROOT that may enter git; follows no link and changes nothing.

    SCOPE limits what is read.
    """
    worktree = _opened(root)
    files: dict[str, AdoptedFile] = {}
    linked: dict[str, bytes] = {}
    away: dict[str, str] = {} if scope else dict.fromkeys(_dotted(worktree), DOT)

    def keeps(path: str, folder: bool) -> bool:
        if scope is None:
            return True
        if not scope.names(path, folder):
            return not folder and scope.is_linked(path)
        if folder and scope.is_gitignored(path, folder):
            away[f"{path}/"] = GITIGNORED
            return False
        return True

    try:
        found = _listed(root, worktree, keeps)
        for number, (path, status) in enumerate(found, 1):
            why, taken = _judged(worktree, path, status, ignored)
            if taken:
                files[path] = taken
            elif why:
                away[path] = why
            if why == HARD_LINK:
                linked |= _linked(worktree, path)
            if progress:
                progress(number, len(found))
    finally:
        worktree.close()
    left = tuple(NotAdopted(redact(path)[0], why) for path, why in sorted(away.items()))
    return Folder(files, left, frozenset(path.rstrip("/") for path in away), linked)


def why_not(path: str, obstacle: str, data: bytes | None, *, allow_markers: bool = False) -> str:
    """Why a version of a file may not enter git; empty when it may."""
    try:
        check_path(path)
    except PathRefused as refused:
        return f"path: {refused.facts['rule']}"
    return hold_rule(path, obstacle, data, None, allow_markers=allow_markers)


def by_day(
    files: Mapping[str, AdoptedFile], now: datetime
) -> Iterator[tuple[datetime, dict[str, bytes]]]:
    """The files by the local day of their last change, with the time of that day's last one."""
    days: dict[str, list[tuple[datetime, str]]] = {}
    for path, taken in files.items():
        when = changed_at(taken, now)
        days.setdefault(f"{when.date()}", []).append((when, path))
    for _, rows in sorted(days.items()):
        rows.sort()
        yield rows[-1][0], {path: files[path].data for _, path in rows}


def changed_at(taken: AdoptedFile, now: datetime) -> datetime:
    """When a file was last changed; NOW for a time in the future."""
    sane = 0 < taken.mtime <= now.timestamp()
    return datetime.fromtimestamp(taken.mtime, now.tzinfo) if sane else now


def remarks_on(files: Mapping[str, AdoptedFile]) -> Iterator[str]:
    """Remarks on files that are adopted and may surprise."""
    for names in _twins(files):
        yield f"{' and '.join(names)} differ only in case or Unicode form: both are kept"
    binary = [path for path, each in files.items() if b"\0" in each.data[:BINARY_SEARCHED]]
    if binary:
        more = f" and {len(binary) - 1} more" if len(binary) > 1 else ""
        yield f"{binary[0]}{more} is binary: kept as it is"
    for path, each in files.items():
        # A summary that is read line by line works as before: nothing to report.
        shows = by_line(each.data.decode("utf-8", "replace")).get("summary")
        found = violations(path, each.data, None)
        yield from (x for x in found if not (shows and x.startswith("frontmatter ")))


def _twins(paths: Iterable[str]) -> Iterator[tuple[str, ...]]:
    names: dict[str, set[str]] = {}
    for path in paths:
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            name = "/".join(parts[:end])
            names.setdefault(fold(name), set()).add(name)
    for same in names.values():
        leaves = {each.rpartition("/")[2] for each in same}
        if len(leaves) > 1:  # else only folders above them differ, which are reported already
            yield tuple(sorted(same))


def _opened(root: Path) -> WorkTree:
    try:
        return WorkTree(root)
    except Damaged as error:
        raise BadInput(f"{root} cannot be read", hint="check its permissions") from error


def _listed(root: Path, worktree: WorkTree, keeps: Keeps) -> list[tuple[str, os.stat_result]]:
    found, size = [], 0
    for path, status in worktree.scan(keeps=keeps):
        found.append((path, status))
        size += min(status.st_size, MAX_FILE)
        if len(found) > MOST_FILES or size > MOST_BYTES:
            raise BadInput(
                f"{root} holds more than {MOST_FILES:,} files or {MOST_BYTES >> 20} MiB",
                hint="name the folder that holds the memory, not one around it",
                most=MOST_FILES,
            )
    return found


def _judged(
    worktree: WorkTree, path: str, status: os.stat_result, ignored: Callable[[str], bool]
) -> tuple[str, AdoptedFile | None]:
    """Why PATH is left out, or its content; neither when it has just vanished."""
    obstacle = "unreadable" if stat.S_ISDIR(status.st_mode) else obstacle_in(status)
    why = why_not(path, obstacle, None)
    if why:
        return why, None
    if ignored(path):
        return GITIGNORED, None
    look = _steady(worktree, path)
    if look.absent:
        return "", None
    why = why_not(path, look.obstacle, look.data)
    if why or look.data is None or look.stat is None:
        return why or "unreadable", None
    return "", AdoptedFile(look.data, look.stat.st_mtime)


def _linked(worktree: WorkTree, path: str) -> dict[str, bytes]:
    """The content of a file with a second hard link, if no other rule leaves it out."""
    with suppress(OSError, InTheWay), worktree.parent(path) as (folder, name):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(name, flags, dir_fd=folder), "rb") as file:
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            data = file.read(MAX_FILE + 1) if regular else b""
            if regular and not why_not(path, "", data):
                return {path: data}
    return {}


def _steady(worktree: WorkTree, path: str) -> FileState:
    """The file, read again while it changes.

    Half a write can look like a whole file, so two reads must agree, and no process may have it
    open for writing at the second.
    """
    try:
        look = worktree.look(path)
        for _ in range(ATTEMPTS):
            before, look = look, worktree.look(path, patience=PATIENCE)
            if (look.data, look.obstacle) == (before.data, before.obstacle) and not look.busy:
                break
    except OSError:
        return FileState(obstacle="unreadable")
    return look


def _dotted(worktree: WorkTree) -> list[str]:
    """The dot names, which are no memory; of a dot folder only the folder."""
    found, folders = [], [""]
    while folders:
        inside = folders.pop()
        with suppress(OSError, InTheWay), worktree.parent(f"{inside}.") as (fd, _):
            with os.scandir(fd) as entries:
                rows = [(each.name, each.is_dir(follow_symlinks=False)) for each in entries]
            # The folder's own `.git` is its history, which is reported elsewhere.
            dots = [row for row in rows if row[0][0] == "." and (inside or row[0] != ".git")]
            found += [f"{inside}{name}{'/' * folder}" for name, folder in dots]
            folders += [f"{inside}{name}/" for name, folder in rows if folder and name[0] != "."]
    return found
