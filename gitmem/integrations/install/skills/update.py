"""Installed skills, brought up to date; what a person wrote is never written over.

What we put there is known by its digest. A file that differs from it was edited: it stays, and ours
is laid beside it. A skill of the same name that we did not make is somebody else's: it stays, too,
and ours is laid beside it file by file, under names that no host loads. Only who asks for it gets
ours in its place; then theirs is what comes back when ours goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from gitmem.integrations.install.files import Change, digest, is_half, read_file
from gitmem.integrations.install.skills.files import (
    SKILL,
    alias_layouts,
    aliased_layout,
    skill_files,
    version,
)

BESIDE = ".gitmem-new"
"""How the name of our version ends, where somebody edited theirs."""


NOTHING: Mapping[str, str] = {}
NO_FILES: Mapping[str, bytes] = {}


class SkillPlan(NamedTuple):
    """What has to be done to the skills in a folder."""

    changes: tuple[Change, ...]
    known: Mapping[str, str]
    """What to remember: each file, with the digest of what we gave."""
    version: int
    remarks: tuple[str, ...] = ()
    shadowed: tuple[str, ...] = ()
    """Skills of ours that do not load, because somebody else's has the name."""
    replaced: tuple[str, ...] = ()
    """Files of somebody else's in whose place ours come."""

    def exchanges(self, place: Path) -> list[Change]:
        """The changes of PLACE by which ours come in the place of somebody else's."""
        paths = {place / each for each in self.replaced}
        return [each for each in self.changes if each.path in paths]


def plan_skills(
    source: Path,
    host: str,
    place: Path,
    known: Mapping[str, str],
    *,
    begun: Mapping[str, str] = NOTHING,
    put_back: bool = True,
    layout: str | None = None,
    replace: bool = False,
    theirs: Mapping[str, bytes] = NO_FILES,
) -> SkillPlan:
    """What brings the skills in PLACE to the version of SOURCE; KNOWN is what we gave before.

    BEGUN is what was about to be given when it broke off. PUT_BACK: what we gave and somebody
    removed comes back, too. LAYOUT is whose aliases to bring; None keeps those that were given.
    REPLACE puts ours in the place of somebody else's; THEIRS is what was replaced before.
    """
    if layout is None:
        layout = aliased_layout(source, {*known, *begun})
    wanted = skill_files(source, host, layout)
    update = _Update(place, known, begun, _now(place, {*known, *begun, *wanted}), theirs)
    update.bring(wanted, put_back, replace)
    update.retire()
    return SkillPlan(
        update.changes(),
        update.fresh,
        version(source),
        tuple(update.remarks),
        tuple(update.shadowed),
        tuple(update.replaced),
    )


def plan_removal(
    place: Path,
    known: Mapping[str, str],
    begun: Mapping[str, str] = NOTHING,
    *,
    theirs: Mapping[str, bytes] = NO_FILES,
) -> SkillPlan:
    """What takes away the skills that we gave; what somebody edited stays.

    THEIRS is what ours had replaced: it comes back.
    """
    update = _Update(place, known, begun, _now(place, {*known, *begun}), theirs)
    update.retire()
    return SkillPlan(update.changes(), {}, 0, tuple(update.remarks))


def as_shipped(source: Path, host: str, place: Path) -> dict[str, str]:
    """The files in PLACE that are just as we ship them, for who has no record of giving them."""
    shipped = [skill_files(source, host, each) for each in ("", *alias_layouts(source))]
    found = {path: digest(data) for files in shipped for path, data in files.items()}
    now = {path: read_file(place / path) for path in found}
    return {path: new for path, new in found.items() if digest(now[path] or b"") == new}


def _now(place: Path, paths: set[str]) -> dict[str, bytes]:
    """What stands in PLACE now, as far as we may have to do with it."""
    beside = {f"{path}{BESIDE}" for path in paths}
    found = {path: read_file(place / path) for path in paths | beside}
    return {path: data for path, data in found.items() if data is not None}


def _is_closed(folder: Path) -> bool:
    """Whether something else stands where the folder of a skill would: a link, or a file."""
    return folder.is_symlink() or folder.is_file()


def _in(folder: Path) -> Iterator[Path]:
    return (each for each in folder.rglob("*") if each.is_file())


class _Update:
    """The files of one folder, step by step from how they are to how they shall be."""

    def __init__(
        self,
        place: Path,
        known: Mapping[str, str],
        begun: Mapping[str, str],
        now: dict[str, bytes],
        theirs: Mapping[str, bytes],
    ) -> None:
        self._place = place
        self._known = {**begun, **known}
        self._begun = begun
        self._now = now
        self._then = dict(now)
        self._theirs = theirs
        self._given = frozenset(known)
        self.fresh: dict[str, str] = {}
        self.remarks: list[str] = []
        self.shadowed: list[str] = []
        self.replaced: list[str] = []

    def changes(self) -> tuple[Change, ...]:
        """Each file that shall be other than it is."""
        found = (
            Change(self._place / path, self._now.get(path), self._then.get(path))
            for path in sorted({*self._now, *self._then})
        )
        return tuple(each for each in found if each.action != "nothing")

    def bring(self, wanted: Mapping[str, bytes], put_back: bool, replace: bool = False) -> None:
        """Let each file be as it should, as far as it is ours or shall be."""
        names = dict.fromkeys(path.partition("/")[0] for path in wanted)
        foreign = {name for name in names if self._is_foreign(name, wanted)}
        closed = {name for name in foreign if _is_closed(self._place / name)}
        # What a link leads to may be shared, and is never ours to write over.
        linked = {path.partition("/")[0] for path in wanted if self._is_linked(path)}
        taken = foreign - closed - linked if replace else set()
        self.shadowed = sorted(foreign - taken)
        for name in self.shadowed:
            kept = "this skill is not installed" if name in closed else "ours lies beside it"
            how = "" if name in closed else f" as {SKILL}{BESIDE}"
            self.remarks.append(f"{self._place / name} is not gitmem's: it stays, and {kept}{how}")
        for path, data in wanted.items():
            name = path.partition("/")[0]
            if name in taken:
                self._take_over(path, data)
            elif name not in foreign:
                self._bring(path, data, put_back)
            elif name not in closed:
                self._lay(f"{path}{BESIDE}", data, put_back)

    def _is_ours(self, name: str) -> bool:
        return f"{name}/{SKILL}" in self._known

    def _is_foreign(self, name: str, wanted: Mapping[str, bytes]) -> bool:
        main, folder = f"{name}/{SKILL}", self._place / name
        if self._is_ours(name) or self._then.get(main) == wanted[main]:
            return False
        known = {self._place / path for path in self._known}
        others = (each for each in _in(folder) if each not in known and not is_half(each))
        return _is_closed(folder) or any(others)

    def _take_over(self, path: str, data: bytes) -> None:
        """Put a file of ours in the place of one that is somebody else's, if there is one."""
        have = self._then.get(path)
        if have not in (None, data):
            self.replaced.append(path)
        self._then[path] = data
        self.fresh[path] = digest(data)

    def _lay(self, beside: str, data: bytes, put_back: bool) -> None:
        """Lay a file of ours beside one that is somebody else's, unless that place is taken."""
        have, gave = self._then.get(beside), self._known.get(beside)
        is_removed = have is None and gave is not None
        is_taken = have not in (None, data) and not self._is_as_given(beside, have or b"")
        if is_taken or (is_removed and not put_back):
            self.fresh |= {beside: gave} if gave else {}
            return
        self._then[beside] = data
        self.fresh[beside] = digest(data)

    def _is_as_given(self, path: str, data: bytes) -> bool:
        """Whether nobody has edited a file since we made it."""
        return digest(data) in (self._known.get(path), self._begun.get(path))

    def _is_removed(self, path: str) -> bool:
        """Whether we gave this file, or the skill it is of, and somebody took it away."""
        main = f"{path.partition('/')[0]}/{SKILL}"
        return any(each in self._known and each not in self._then for each in (path, main))

    def _bring(self, path: str, data: bytes, put_back: bool) -> None:
        have, gave, new = self._then.get(path), self._known.get(path), digest(data)
        if not put_back and self._is_removed(path):
            self.fresh |= {path: gave} if gave else {}
            return
        beside = f"{path}{BESIDE}"
        self.fresh[path] = new
        # A replacement that broke off goes on: what it recorded, it had not yet replaced.
        is_due = path not in self._given and have == self._theirs.get(path)
        if have is None or digest(have) == new or self._is_as_given(path, have) or is_due:
            self._then[path] = data
            return
        merged = self._then.get(beside)
        if gave != new and merged is not None and not self._is_as_given(beside, merged):
            self.fresh[path] = gave or ""  # tried again once that is gone
            name = beside.rpartition("/")[2]
            both = f"{self._place / path} was edited, and so was {name} beside it: both stay"
            self.remarks.append(f"{both}; remove that one to get the new version there")
            return
        if gave != new:
            self._then[beside] = data
            edited = f"{self._place / path} was edited: it stays, and the new version lies beside"
            self.remarks.append(f"{edited} it as {beside.rpartition('/')[2]}")
        if beside in self._then:
            self.fresh[beside] = new

    def _is_linked(self, path: str) -> bool:
        """Whether somebody has moved a file of ours to a place of their own."""
        folders = [each for each in (self._place / path).parents if self._place in each.parents]
        return any(each.is_symlink() for each in (self._place / path, *folders))

    def retire(self) -> None:
        """Take away what we gave and is wanted no more; what somebody edited stays."""
        for path in self._known:
            have = self._then.get(path)
            if path in self.fresh or have is None:
                continue
            if self._is_linked(path):
                self.remarks.append(f"{self._place / path} is reached by a link: it stays")
            elif self._is_as_given(path, have) and path in self._theirs:
                self._then[path] = self._theirs[path]
            elif self._is_as_given(path, have):
                del self._then[path]
            else:
                self.remarks.append(f"{self._place / path} was edited: it stays, though not ours")
