"""Installed skills, updated to the version that ships; an edit of the user is never overwritten.

A file that gitmem wrote is recognised by its recorded digest. One that differs was edited, and a
skill of the same name that gitmem did not write is foreign: both stay. Only `--replace` installs
ours instead, and `--uninstall` puts theirs back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitmem import __version__
from gitmem.errors import GitmemError
from gitmem.integrations.install.files import (
    FileEdit,
    digest,
    explained,
    is_temporary,
    make,
    read_file,
)
from gitmem.integrations.install.record import (
    Install,
    alone,
    begun,
    installs,
    remember,
    replaced_skills,
)
from gitmem.integrations.install.skills import (
    SKILL,
    alias_layouts,
    aliased_layout,
    shipped_folder,
    skill_files,
    version,
)
from gitmem.model.hints import Call, Hint, call

NOTHING: Mapping[str, str] = {}
NO_FILES: Mapping[str, bytes] = {}


class SkillPlan(NamedTuple):
    """The edits that a folder of skills needs."""

    changes: tuple[FileEdit, ...]
    known: Mapping[str, str]
    """What to record: each file, with the digest that gitmem wrote."""
    version: int
    remarks: tuple[str, ...] = ()
    shadowed: tuple[str, ...] = ()
    """Our skills that do not load, because another author's has the name."""
    replaced: tuple[str, ...] = ()
    """Files of others that ours replace."""

    def exchanges(self, folder: Path) -> list[FileEdit]:
        """The edits in FOLDER by which ours replace files of others."""
        paths = {folder / each for each in self.replaced}
        return [each for each in self.changes if each.path in paths]


def plan_skills(
    source: Path,
    host: str,
    folder: Path,
    known: Mapping[str, str],
    *,
    scope: str = "user",
    begun: Mapping[str, str] = NOTHING,
    put_back: bool = True,
    layout: str | None = None,
    replace: bool = False,
    theirs: Mapping[str, bytes] = NO_FILES,
) -> SkillPlan:
    """The edits that update the skills in FOLDER to SOURCE; KNOWN is what gitmem wrote before.

    BEGUN is what an interrupted call was about to write. PUT_BACK adds files that the user removed.
    LAYOUT names the aliases to add; None keeps those that were added. REPLACE puts ours in place of
    files of others; THEIRS are those that were replaced before.
    """
    if layout is None:
        layout = aliased_layout(source, {*known, *begun})
    shipped = skill_files(source, host, layout)
    update = _Update(folder, known, begun, theirs, shipped)
    update.bring(shipped, put_back, replace, call("install", host, scope=scope, replace=True))
    update.retire()
    return SkillPlan(
        update.changes(),
        update.written,
        version(source),
        tuple(update.remarks),
        tuple(update.shadowed),
        tuple(update.replaced),
    )


def plan_removal(
    folder: Path,
    known: Mapping[str, str],
    begun: Mapping[str, str] = NOTHING,
    *,
    theirs: Mapping[str, bytes] = NO_FILES,
) -> SkillPlan:
    """The edits that remove our skills and put THEIRS back; files that the user edited stay."""
    update = _Update(folder, known, begun, theirs)
    update.retire()
    return SkillPlan(update.changes(), {}, 0, tuple(update.remarks))


def as_shipped(source: Path, host: str, folder: Path) -> dict[str, str]:
    """The files in FOLDER that are exactly as shipped, for a caller without a record of them."""
    shipped = [skill_files(source, host, each) for each in ("", *alias_layouts(source))]
    found = {path: digest(data) for files in shipped for path, data in files.items()}
    now = {path: read_file(folder / path) for path in found}
    return {path: new for path, new in found.items() if digest(now[path] or b"") == new}


def _is_closed(folder: Path) -> bool:
    """Whether a link or a file is in place of the folder of a skill."""
    return folder.is_symlink() or folder.is_file()


class _Update:
    """The files of one folder, step by step from their present to their planned state."""

    def __init__(
        self,
        folder: Path,
        known: Mapping[str, str],
        begun: Mapping[str, str],
        theirs: Mapping[str, bytes],
        shipped: Mapping[str, bytes] = NO_FILES,
    ) -> None:
        self._folder = folder
        self._known = {**begun, **known}
        self._begun = begun
        found = {path: read_file(folder / path) for path in {*known, *begun, *shipped}}
        self._now = {path: data for path, data in found.items() if data is not None}
        self._then = dict(self._now)
        self._theirs = theirs
        self._given = frozenset(known)
        self.written: dict[str, str] = {}
        self.remarks: list[str] = []
        self.shadowed: list[str] = []
        self.replaced: list[str] = []

    def changes(self) -> tuple[FileEdit, ...]:
        """Each file whose planned state differs from the present one."""
        found = (
            FileEdit(self._folder / path, self._now.get(path), self._then.get(path))
            for path in sorted({*self._now, *self._then})
        )
        return tuple(each for each in found if each.action != "nothing")

    def bring(
        self, shipped: Mapping[str, bytes], put_back: bool, replace: bool, again: Call
    ) -> None:
        """Plan each file of SHIPPED, as far as it is ours or may become ours; AGAIN replaces."""
        names = dict.fromkeys(path.partition("/")[0] for path in shipped)
        foreign = {name for name in names if self._is_foreign(name, shipped)}
        closed = {name for name in foreign if _is_closed(self._folder / name)}
        # The target of a link may be shared: gitmem never replaces it.
        linked = {path.partition("/")[0] for path in shipped if self._is_linked(path)}
        taken = foreign - closed - linked if replace else set()
        self.shadowed = sorted(foreign - taken)
        for name in self.shadowed:
            kept = f"{self._folder / name} is not gitmem's: it stays"
            self.remarks.append(f"{kept}, and gitmem's skill {name} is not installed")
        for path, data in shipped.items():
            name = path.partition("/")[0]
            if name in taken:
                self._replace(path, data)
            elif name not in foreign:
                self._bring(path, data, put_back, replace and name not in linked, again)

    def _is_foreign(self, name: str, shipped: Mapping[str, bytes]) -> bool:
        main, folder = f"{name}/{SKILL}", self._folder / name
        if main in self._known or self._then.get(main) == shipped[main]:
            return False
        known = {self._folder / path for path in self._known}
        files = (each for each in folder.rglob("*") if each.is_file())
        others = (each for each in files if each not in known and not is_temporary(each))
        return _is_closed(folder) or any(others)

    def _replace(self, path: str, data: bytes) -> None:
        """Put a file of ours in place of one of others, if there is one."""
        if self._then.get(path) not in (None, data):
            self.replaced.append(path)
        self._write(path, data)

    def _write(self, path: str, data: bytes) -> None:
        self._then[path] = data
        self.written[path] = digest(data)

    def _is_as_given(self, path: str, data: bytes) -> bool:
        """Whether a file is still as gitmem wrote it."""
        return digest(data) in (self._known.get(path), self._begun.get(path))

    def _is_removed(self, path: str) -> bool:
        """Whether the user removed this file of ours, or the skill that it belongs to."""
        main = f"{path.partition('/')[0]}/{SKILL}"
        return any(each in self._known and each not in self._then for each in (path, main))

    def _bring(self, path: str, data: bytes, put_back: bool, replace: bool, again: Call) -> None:
        have, gave = self._then.get(path), self._known.get(path)
        if not put_back and self._is_removed(path):
            self.written |= {path: gave} if gave else {}
            return
        # An interrupted replacement goes on: it had recorded this file and not yet replaced it.
        is_due = path not in self._given and have == self._theirs.get(path)
        if have in (None, data) or self._is_as_given(path, have or b"") or is_due:
            self._write(path, data)
        elif replace:
            self._replace(path, data)
        else:
            self.written[path] = digest(data)
            if gave != digest(data):  # reported once for each new version
                edited = f"{self._folder / path} was edited: it stays; "
                self.remarks.append(Hint(edited, again, " installs the new version"))

    def _is_linked(self, path: str) -> bool:
        """Whether the user moved a file of ours and left a link."""
        file = self._folder / path
        folders = [each for each in file.parents if self._folder in each.parents]
        return any(each.is_symlink() for each in (file, *folders))

    def retire(self) -> None:
        """Remove the files that gitmem wrote and that no longer ship; edited ones stay."""
        for path in self._known:
            have = self._then.get(path)
            if path in self.written or have is None:
                continue
            if self._is_linked(path):
                self.remarks.append(f"{self._folder / path} is behind a link: it stays")
            elif not self._is_as_given(path, have):
                self.remarks.append(f"{self._folder / path} was edited: it stays")
            elif path in self._theirs:
                self._then[path] = self._theirs[path]
            else:
                del self._then[path]


def make_skills(plan: SkillPlan, folder: Path, *, mode: int) -> None:
    """Carry out PLAN, and remove the folders in FOLDER that are empty then."""
    for change in plan.changes:
        make(change, mode=mode)
        if change.after is None:
            for each in change.path.parents:
                if each == folder or folder not in each.parents:
                    break
                with suppress(OSError):  # it is not empty
                    each.rmdir()


class SkillsUpdated(NamedTuple):
    """The skills of one installation that were updated."""

    host: str
    scope: str
    folder: str
    files: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def update_installed(store: Path, source: Path | None = None) -> tuple[SkillsUpdated, ...]:
    """Update the skills of every installation from STORE; one that fails stops no other."""
    source = source or shipped_folder()
    try:
        if all(_is_current(each, source) for each in installs(store)):
            return ()
        with alone(store):
            return tuple(_updated(store, source))
    except (GitmemError, OSError) as error:
        return (SkillsUpdated("", "", "", (), (_failed(error),)),)


def _updated(store: Path, source: Path) -> Iterator[SkillsUpdated]:
    for each in installs(store):
        if _is_current(each, source) or not Path(each.skills_folder).is_dir():
            continue  # the folder of a project may be back tomorrow
        try:
            yield _update(store, source, each)
        except (GitmemError, OSError) as error:
            yield SkillsUpdated(*each[:2], each.skills_folder, (), (_failed(error),))


def _is_current(known: Install, source: Path) -> bool:
    """Whether no update is due; an installation without skills, by the plugin say, gets none."""
    is_new = known.skills_version >= version(source) and known.gitmem == __version__
    return (is_new and not known.skills_begun) or not (known.skills or known.skills_begun)


def _update(store: Path, source: Path, known: Install) -> SkillsUpdated:
    folder = Path(known.skills_folder)
    plan = plan_skills(
        source,
        known.host,
        folder,
        known.skills,
        scope=known.scope,
        begun=known.skills_begun,
        put_back=False,
        theirs=replaced_skills(store, known),
    )
    done = known._replace(
        skills=plan.known, skills_version=plan.version, skills_begun={}, gitmem=__version__
    )
    remember(store, begun(done, known)._replace(gitmem=known.gitmem))
    make_skills(plan, folder, mode=0o644 if known.scope == "project" else 0o600)
    remember(store, done)
    paths = tuple(str(each.path) for each in plan.changes)
    return SkillsUpdated(known.host, known.scope, str(folder), paths, plan.remarks)


def _failed(error: GitmemError | OSError) -> Hint:
    return Hint("updating the skills failed: ", explained(error))
