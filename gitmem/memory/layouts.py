"""The layout that counts: of a group at a commit, or one of those that ship with gitmem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import tzinfo
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from gitmem.cache.layouts import LastValid, keep_last_valid, last_valid, load_layout, save_layout
from gitmem.errors import BadInput, Damaged, LayoutRefused, Refused
from gitmem.memory.clock import named_zone, zone_of
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import EMPTY, FILE, Layout
from gitmem.model.paths import check_path, find_twin
from gitmem.model.record import Record

if TYPE_CHECKING:
    from gitmem.memory.group import Group
    from gitmem.store.repository import Snapshot

DESCRIPTION = "layout.yaml"
"""What describes a layout in its folder."""
NONE = "none"
"""The name for: no layout at all."""


WORTH_KEEPING = 8
"""From so many commits back, what was found is kept for the next command."""


class Loaded(Record):
    """A layout, and whether it is the one that the commit itself holds."""

    layout: Layout
    blob: str = ""
    """The version of `gitmem.yaml` it was read from; empty where the group never had one."""
    problem: str = ""
    """What is wrong with the commit's own: an older one has to serve, or keys are passed over."""
    written: Layout = EMPTY
    """The layout as it is written: that of `layout` names files as the commit does."""


def check_layers(layout: Layout, layers: Sequence[str]) -> None:
    """Refuse the name of a layer that there is not."""
    known = [each.name for each in layout.layers]
    unknown = [each for each in layers if each not in known]
    if unknown:
        there = f"the layers are {', '.join(known)}" if known else "this group has no layout"
        raise BadInput(
            f"no layer {unknown[0]!r} in this group",
            hint=Hint(f"{there}; see ", call("status")),
            layer=unknown[0],
            layers=known,
        )


def layout_of(group: Group) -> Layout:
    """The layout of a group as it is now."""
    return layout_at(group, group.repository.snapshot()).layout


def layout_at(group: Group, snapshot: Snapshot) -> Loaded:
    """The layout at a commit: a broken or missing one never stops a group, the last valid serves.

    So somebody who wants none says so with a `gitmem.yaml` that has no layers.
    """
    found = _written_at(group, snapshot)
    return found._replace(layout=spelled_at(found.layout, snapshot), written=found.layout)


def spelled_at(layout: Layout, snapshot: Snapshot) -> Layout:
    """LAYOUT with the names that the files of a commit have; a folder that is lost has none."""
    return layout.spelled(_holder(snapshot))


def _holder(snapshot: Snapshot) -> Callable[[str], bool]:
    def has(path: str) -> bool:
        with suppress(Damaged):
            return snapshot.oid(path) is not None
        return False

    return has


class Silenced(Record):
    """A file that is not shown because the layout's own spelling of its name is there, too."""

    path: str
    by: str
    """The file that counts instead."""

    def words(self, group: str) -> str:
        """What somebody should know, and do, in GROUP."""
        from gitmem.model.text.format import quoted  # only where there is such a file

        remove = f"gitmem -g {quoted(group)} rm {quoted(self.path)}"
        return (
            f"{self.path} is not shown, because {self.by} is there: "
            f"move its text to {self.by}, then run `{remove}`"
        )


def silenced_at(layout: Layout, snapshot: Snapshot) -> tuple[Silenced, ...]:
    """The files of a commit that LAYOUT would show if they had their names to themselves."""
    return tuple(Silenced(*each) for each in layout.silenced(_holder(snapshot)))


def _written_at(group: Group, snapshot: Snapshot) -> Loaded:
    blob = snapshot.oid(FILE) or ""
    known = group.layouts.get(blob)
    if known:
        return _loaded(known, blob)
    if not blob and group.standing == (snapshot.commit, ""):
        return Loaded(EMPTY)
    problem, lost = f"{FILE} is missing", None
    if blob:
        try:
            return _loaded(_read(group, blob), blob)
        except LayoutRefused as error:
            problem = error.message
        except Damaged as error:
            problem, lost = f"{FILE} cannot be read: {error.message}", error
    found = _last_valid(group, snapshot, blob)
    if not found and lost:
        # To go on without would mean without any policy, and with layers taken for files.
        raise Damaged(
            problem, hint=Hint("run ", call("check", repair=True), ", or write it anew"), path=FILE
        )
    if not found:
        return Loaded(EMPTY, "", problem if blob else "")
    return Loaded(_read(group, found), found, f"{problem}; an older version is used")


def _loaded(layout: Layout, blob: str) -> Loaded:
    return Loaded(layout, blob, unknown_keys(layout))


def unknown_keys(layout: Layout) -> str:
    """What there is to say about keys that nobody here knows; nothing where there are none."""
    if not layout.unknown:
        return ""
    return f"{FILE} has unknown keys, which are ignored: {', '.join(layout.unknown)}"


def check_layout(data: bytes, current: Layout) -> None:
    """Refuse a layout that cannot be read; unknown keys that CURRENT has already may stay."""
    known = set(current.unknown)
    if not known or set(checked(data, lenient=True).unknown) - known:
        checked(data)


def _read(group: Group, blob: str) -> Layout:
    """The layout in BLOB, from memory, from the cache, or from the file itself."""
    layout = group.layouts.get(blob) or load_layout(group.gitdir, blob)
    if layout is None:
        layout = checked(_content(group, blob), lenient=True)
        if group.keeps:
            save_layout(group.gitdir, blob, layout)
    group.layouts[blob] = layout
    return layout


def _content(group: Group, blob: str) -> bytes:
    """What BLOB holds; if it is damaged, the work tree may still have the very same bytes."""
    try:
        return group.repository.objects.read_as("blob", blob)
    except Damaged:
        from gitmem.store.objects.database import blob_id

        with suppress(OSError, Damaged):
            data = (group.worktree / FILE).read_bytes()
            if blob_id(data) == blob:
                return data
        raise


def checked(data: bytes, *, lenient: bool = False) -> Layout:
    """The layout that DATA describes, or LayoutRefused; its time zone must exist here, too.

    LENIENT: as what stands in a commit is read, where a newer gitmem may have put it.
    """
    from gitmem.model.layout.parse import parse

    try:
        layout = parse(data.decode("utf-8"), lenient=lenient)
    except UnicodeDecodeError as error:
        raise LayoutRefused(f"{FILE} is not UTF-8 at byte {error.start}", line=0, key="") from error
    if layout.timezone:
        try:
            named_zone(layout.timezone)
        except BadInput as error:
            lines = data.decode("utf-8", "replace").split("\n")
            at = next((n for n, each in enumerate(lines, 1) if each.startswith("timezone")), 1)
            raise LayoutRefused(
                f"{FILE} line {at}, timezone: {error.message}",
                hint=error.hint,
                line=at,
                key="timezone",
            ) from error
    return layout


def _last_valid(group: Group, snapshot: Snapshot, broken: str) -> str:
    """The newest version before SNAPSHOT that can be read; each look goes on from the last one."""
    known = group.standing or last_valid(group.gitdir)
    last, steps, found = broken, 0, ""
    with suppress(Damaged):  # what cannot be read is not the last word on the rest
        for commit in group.repository.history(snapshot.commit):
            steps += 1
            if known and commit.oid == known.commit:
                found = known.blob
                break
            blob = _blob_at(group, commit.oid)
            if blob and blob != last and _is_valid(group, blob):
                found = blob
                break
            if known and commit.parents[:1] == (known.commit,):
                found = known.blob  # as the next step would find, without reading for it
                break
            last = blob
        group.standing = LastValid(snapshot.commit, found)
        if steps >= WORTH_KEEPING and group.keeps:
            keep_last_valid(group.gitdir, group.standing)
    return found


def _blob_at(group: Group, commit: str) -> str:
    with suppress(Damaged):
        return group.repository.snapshot(commit).oid(FILE) or ""
    return ""


def _is_valid(group: Group, blob: str) -> bool:
    with suppress(LayoutRefused, Damaged):
        _read(group, blob)
        return True
    return False


def zone_then(group: Group, layout: Layout) -> tzinfo:
    """The zone in which a group's days begin by LAYOUT."""
    if layout.timezone:
        with suppress(BadInput):
            return named_zone(layout.timezone)
    return zone_of(group.store.root)


def _folder() -> Path:
    from gitmem.resources import templates

    return templates() / "layouts"


def shipped() -> tuple[str, ...]:
    """The names of the layouts that come with gitmem."""
    return tuple(sorted(each.parent.name for each in _folder().glob(f"*/{DESCRIPTION}")))


def folder_of(name: str) -> Path:
    """The folder of the layout NAME: one of ours, or a folder that somebody made."""
    folder = Path(name).expanduser() if "/" in name else _folder() / name
    if name in ("", ".", "..") or not (folder / DESCRIPTION).is_file():
        raise BadInput(
            f"no layout {name!r}",
            hint=f"choose one of {', '.join((*shipped(), NONE))}, "
            "or name a folder with a layout.yaml in it: ./mine",
        )
    return folder


def shipped_layout(name: str) -> Layout:
    """The layout called NAME, as it ships."""
    return _described(folder_of(name))[1]


def starter_files(name: str) -> dict[str, bytes]:
    """What a new group with the layout NAME begins with: path to content.

    The folder may be anybody's, so what is in it passes the guards that a write passes.
    """
    from gitmem.model.guards import check_message_text, check_write

    folder = folder_of(name)
    found = {FILE: _described(folder)[0]}
    for inside, data in _beside(folder):
        twin = _twin(inside, found)
        if inside == FILE or twin:
            raise _unfit(folder / inside, f"it is the same name as {twin or DESCRIPTION}")
        check_message_text("path", check_path(inside))
        try:
            check_write(inside, data, None)
        except Refused as error:
            error.hint = f"take it out of {folder / inside}"
            raise
        found[inside] = data
    return found


def _twin(path: str, others: Iterable[str]) -> str | None:
    """Another path that differs in case or Unicode form alone, in its folders, too."""
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        begins = {"/".join(each.split("/")[:end]) for each in others}
        twin = find_twin("/".join(parts[:end]), begins)
        if twin:
            return twin
    return None


def _described(folder: Path) -> tuple[bytes, Layout]:
    """The layout.yaml of FOLDER, as bytes and as what it says."""
    from gitmem.model.guards import check_secrets

    data = (folder / DESCRIPTION).read_bytes()
    check_secrets(DESCRIPTION, data)
    try:
        return data, checked(data)
    except LayoutRefused as error:
        where = error.message.replace(FILE, str(folder / DESCRIPTION), 1)
        raise LayoutRefused(where, hint="docs/layouts.md has every key", **error.facts) from error


def _beside(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The other files of FOLDER; names that begin with a dot are no memory."""
    from gitmem.model.guards import check_size

    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).as_posix()
        if inside == DESCRIPTION or "/." in f"/{inside}":
            continue
        mode = path.lstat().st_mode
        if not S_ISDIR(mode):
            if not S_ISREG(mode):
                raise _unfit(path, "it is no plain file")
            check_size(inside, path.stat().st_size)
            yield inside, path.read_bytes()


def _unfit(path: Path, why: str) -> BadInput:
    return BadInput(f"{path} cannot be part of a layout: {why}", hint="take it out of the folder")
