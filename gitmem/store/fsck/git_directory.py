"""Check and repair the folders, configuration, HEAD and file modes of a git directory."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gitmem.store.config import FORMAT, config_text, parse_config
from gitmem.store.durable import write_durably
from gitmem.store.fsck.findings import CheckFinding, Repaired, error, warning
from gitmem.store.refs.files import all_refs, is_id
from gitmem.store.repository import BRANCH
from gitmem.store.setup import HEAD_TEXT, to_quarantine
from gitmem.store.worktree.swap import swapped_folder

FOLDERS = ("objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags", "gitmem")
NEEDED = ("objects", "refs", "gitmem")
_ONE_LINE = re.compile(
    r'\s*(?:[#;].*|\[[A-Za-z0-9.-]+(?:\s+"(?:[^"\\]|\\.)*")?\].*'
    r'|[A-Za-z][A-Za-z0-9-]*\s*(?:=(?:[^"\\]|\\.|"(?:[^"\\]|\\.)*")*\\?)?)?\s*'
)
_BOOLEANS = {"yes": "true", "on": "true", "1": "true", "no": "false", "off": "false", "0": "false"}
SWITCH = "finish your work on that branch, then run `git switch main` in the group's folder"


def folder_findings(gitdir: Path) -> Iterator[CheckFinding]:
    """Missing folders without which git does not recognise a repository."""
    for name in NEEDED:
        if not (gitdir / name).is_dir():
            text = f"the folder {name} of the git directory is missing"
            yield error("folder-missing", text, path=name)


def make_folders(gitdir: Path) -> Iterator[Repaired]:
    """Create missing folders."""
    for name in FOLDERS:
        if not (gitdir / name).is_dir():
            (gitdir / name).mkdir(mode=0o700, parents=True)
            yield Repaired("folder-missing", "created", name)


def config_findings(gitdir: Path) -> Iterator[CheckFinding]:
    """A configuration that is unreadable, of another format, or changed."""
    try:
        raw = (gitdir / "config").read_bytes()
    except OSError as problem:
        what = "missing" if isinstance(problem, FileNotFoundError) else "not readable"
        yield error("config-damaged", f"the configuration is {what}", path="config")
        return
    if not _is_config(raw):
        yield error("config-damaged", "the configuration is empty or malformed", path="config")
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
    changed = _changed_settings(found)
    if changed:
        changes = ", ".join(f"{key} is {found.get(key, 'not set')}" for key in changed)
        yield warning("config-changed", f"the configuration was changed: {changes}", path="config")


def repair_config(gitdir: Path, default: Path) -> Iterator[Repaired]:
    """Write our settings again; the work tree and the settings of others stay."""
    path = gitdir / "config"
    raw = path.read_bytes() if path.is_file() else b""
    sound = _is_config(raw)
    text = raw.decode("utf-8", "replace")
    found = parse_config(text)
    if sound and (not _changed_settings(found) or not knows_format(found)):
        return
    named = found.get("core.worktree", "")
    if not (named and named.isprintable() and (gitdir / named).is_dir()):
        named = os.path.relpath(default, gitdir)
    others = _other_settings(text) if sound else ""
    if os.path.lexists(path):
        to_quarantine(gitdir, path, "config")
    write_durably(path, (config_text(named) + others).encode())
    code = "config-changed" if sound else "config-damaged"
    yield Repaired(code, f"written from the template; the work tree is {named}", "config")


def _is_config(raw: bytes) -> bool:
    """True for a file that git can parse and that configures a repository."""
    try:
        text = raw.decode()
    except ValueError:
        return False
    joined = text.replace("\\\n", " ")
    if "\x00" in text or not all(_ONE_LINE.fullmatch(line) for line in joined.split("\n")):
        return False
    return "core.repositoryformatversion" in parse_config(text)


def knows_format(found: dict[str, str]) -> bool:
    """False for the configuration of a newer gitmem."""
    return found.get("gitmem.format", str(FORMAT)) == str(FORMAT)


def _changed_settings(found: dict[str, str]) -> list[str]:
    """The keys whose value is not the one that gitmem set."""
    expected = parse_config(config_text(found.get("core.worktree", "")))
    return [
        key
        for key, value in expected.items()
        if _plain(found.get(key, "")) != _plain(value) or key not in found
    ]


def _plain(value: str) -> str:
    return _BOOLEANS.get(value.lower(), value.lower())


def _other_settings(text: str) -> str:
    """The settings in TEXT that gitmem does not set: a person's name, a remote."""
    ours = parse_config(config_text("")).keys()
    kept, section, header = "", "", ""
    for line in text.splitlines():
        if line.strip().startswith("["):
            section, header = line.strip().strip("[]").lower(), f"{line}\n"
        elif f"{section}.{line.partition('=')[0].strip().lower()}" not in ours and line.strip():
            kept += f"{header}{line}\n"
            header = ""
    return kept


def head_findings(gitdir: Path) -> Iterator[CheckFinding]:
    """A HEAD that cannot be read, or that a person moved."""
    from gitmem.store.transaction.git_operations import git_operation

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
    """main, branch, detached or unreadable; and which branch, commit or problem."""
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
        return "unreadable", "empty" if not text.strip("\x00 \n") else "malformed"
    return ("main", BRANCH) if f"refs/heads/{found[1]}" == BRANCH else ("branch", found[1])


def repair_head(gitdir: Path) -> Iterator[Repaired]:
    """Point an unreadable HEAD at the branch; the old file goes to quarantine unless blank."""
    if head_state(gitdir)[0] == "unreadable":
        path = gitdir / "HEAD"
        if os.path.lexists(path) and not _is_blank(path):
            to_quarantine(gitdir, path, "HEAD")
        write_durably(path, HEAD_TEXT.encode())
        yield Repaired("head-damaged", "points at the branch 'main' again", "HEAD")


def heal_head(gitdir: Path) -> bool:
    """Repair an unreadable HEAD on the way, without a lock; False where nothing was done.

    A power cut can leave HEAD empty or full of NULs. Where the branch exists, only one content can
    be right, so concurrent repairs agree.
    """
    try:
        return BRANCH in all_refs(gitdir) and bool(list(repair_head(gitdir)))
    except OSError:
        return False  # a read-only file system: the caller reports HEAD as before


def _is_blank(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and not path.read_bytes().strip(b"\x00 \n")


def mode_findings(gitdir: Path) -> Iterator[CheckFinding]:
    """Files that other users could read or change."""
    found = list(_open_to_others(gitdir))
    if found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        first = os.path.relpath(found[0], gitdir)
        yield warning("mode", f"other users may enter the git directory: {first}{more}", path=first)


def repair_modes(gitdir: Path) -> Iterator[Repaired]:
    """Remove the permissions of other users."""
    found = list(_open_to_others(gitdir))
    for path in found:
        with suppress(OSError):
            os.chmod(path, os.lstat(path).st_mode & 0o700)
    if found:
        text = f"{len(found)} closed to other users"
        yield Repaired("mode", text, os.path.relpath(found[0], gitdir))


def _open_to_others(gitdir: Path) -> Iterator[str]:
    """Every path whose mode admits other users.

    git makes its files readable by all where the umask allows it, so the git directory itself must
    be closed. Files that others could write to, and everything in gitmem/, are closed as well.
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
