"""Copy the notes of a host's own memory into a group, and back out of it.

Neither side loses a note. A file of the host that is replaced or deleted is kept in the store's
`backups`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.errors import GitmemError, NotFound
from gitmem.integrations.hooks.groups import group_at
from gitmem.integrations.host_memory.adopt import OwnAdopted, adopt_own, own_folders, project_of
from gitmem.integrations.host_memory.choices import CHOICE, is_declined
from gitmem.integrations.hosts.table import Host
from gitmem.integrations.install.files import FileEdit, back_up, explained, make, read_file
from gitmem.integrations.install.links import LinkedFolder
from gitmem.integrations.install.parts.host_memory import linked_redirects
from gitmem.memory.group import Group, Store, Who
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import FILE
from gitmem.model.text.format import counted

Given = Mapping[str, Mapping[str, Any]]
"""For each file of a host, what in it is ours."""


class NotesCopied(NamedTuple):
    """Notes that were copied into a group, or out of it, or would be."""

    source: str
    target: str
    group: str
    files: tuple[str, ...]
    """By their names in the target."""
    left: tuple[str, ...] = ()
    """Those that were not copied, each with the reason."""
    deleted: tuple[str, ...] = ()
    """Those that were deleted, because the group has deleted them."""


def copy_into_group(
    store: Store, host: Host, given: Mapping[str, str], *, dry_run: bool = False
) -> NotesCopied | None:
    """Copy the notes of the host's own folder into the group; None where there are no new ones."""
    own, directory = given["own"], given["directory"]
    if not os.path.isdir(own):
        return None
    from gitmem.memory.adopt.copy_in import copy_in

    who = Who(host.name, source=host.name)
    with closing(Group(store, given["group"], who=who)) as group:
        inside = os.path.relpath(directory, group.worktree)
        into = "" if inside == os.curdir else inside
        page = host.own_memory.page if host.own_memory else ""
        done = copy_in(group, Path(own), into, page=page, dry_run=dry_run)
    left = tuple(f"{each.path} ({each.why})" for each in done.left)
    if not done.taken and not left:
        return None
    files = tuple(path for _, path in done.taken)
    return NotesCopied(own, directory, given["group"], files, left)


def copy_back(
    store: Store, given: Mapping[str, str], *, dry_run: bool = False
) -> NotesCopied | None:
    """Copy newer notes of the group into the host's own folder.

    A file there is replaced only by a newer version of itself: the group had exactly its bytes, and
    got other ones since. It is deleted if the group deleted it, or else the host would remember it
    again. A note whose copy fails stops no other. Returns None where there is nothing to copy;
    NotFound where the notes are gone.
    """
    own, directory = Path(given["own"]), Path(given["directory"])
    if os.path.realpath(own) == os.path.realpath(directory):
        return None
    if directory.is_symlink() or not directory.is_dir():
        _check_never_written(store, given)
    done = NotesCopied(str(directory), str(own), given["group"], ())
    edits = [*_edits(store, given, directory, own), *_deletions(store, given, directory, own)]
    for path, edit in edits:
        why = edit if isinstance(edit, str) else "" if dry_run else _made(store, edit)
        if why:
            done = done._replace(left=(*done.left, f"{directory / path}: {why}"))
        elif isinstance(edit, FileEdit) and edit.after is None:
            done = done._replace(deleted=(*done.deleted, path))
        else:
            done = done._replace(files=(*done.files, path))
    return done if done.files or done.left or done.deleted else None


def _made(store: Store, edit: FileEdit) -> str:
    """Carry out EDIT; return why it failed."""
    try:
        back_up(store.root, edit)
        make(edit, mode=0o600)
    except GitmemError as error:
        return error.message
    except OSError as error:
        return explained(error)
    return ""


def _check_never_written(store: Store, given: Mapping[str, str]) -> None:
    """Raise NotFound for a missing folder, unless the host has not written a note yet."""
    name, directory = given["group"], given["directory"]
    message = f"no folder {directory}: no notes were copied from it to {given['own']}"
    if name not in store.names():
        raise NotFound(message, hint=f"a removed group is in {store.root / 'trash'}")
    with closing(Group(store, name, heals=False)) as group:
        inside = os.path.relpath(directory, group.worktree)
        if any(path.startswith(f"{inside}/") for path, _ in group.repository.snapshot().files()):
            raise NotFound(message, hint=Hint(call("restore", inside, group=name)))


def _edits(
    store: Store, given: Mapping[str, str], directory: Path, own: Path
) -> Iterator[tuple[str, FileEdit | str]]:
    """For each note that the host's own folder lacks, the edit, or why there is none."""
    if directory.is_symlink() or not directory.is_dir():
        return
    for path in _notes(directory):
        try:
            link = _link_to(own, path)
            data, there = read_file(directory / path), read_file(own / path)
        except GitmemError as error:
            yield path, error.message
            continue
        if link:
            yield path, f"{link} is a link"
        elif data is None or data == there:
            continue
        elif there is None or _is_newer(store, given["group"], directory / path, data, there):
            yield path, FileEdit(own / path, there, data)
        else:
            yield path, f"it is older than {own / path}, or both changed"


def _link_to(own: Path, path: str) -> str:
    """The link through which PATH in the host's own folder would be written elsewhere."""
    names = [own, *reversed((own / path).relative_to(own).parents), Path(path)]
    return next((str(own / each) for each in names if (own / each).is_symlink()), "")


def _deletions(
    store: Store, given: Mapping[str, str], directory: Path, own: Path
) -> Iterator[tuple[str, FileEdit | str]]:
    """The files of the host's own folder that are as the group had them before it deleted them."""
    from gitmem.memory.adopt.copy_in import has_held

    if own.is_symlink() or not own.is_dir():
        return
    with suppress(GitmemError), closing(Group(store, given["group"])) as group:
        head = group.repository.snapshot()
        for path in _notes(own):
            inside = os.path.relpath(directory / path, group.worktree)
            if os.path.lexists(directory / path) or head.node(inside) is not None:
                continue
            try:
                data = read_file(own / path)
                if data is not None and has_held(group, inside, data):
                    yield path, FileEdit(own / path, data, None)
            except GitmemError as error:  # one bad note stops no other deletion
                yield path, error.message


def _notes(directory: Path) -> Iterator[str]:
    """The notes in DIRECTORY, as a host would have written them."""
    for each in sorted(directory.rglob("*")):
        inside = each.relative_to(directory)
        is_hidden = any(part.startswith(".") for part in inside.parts)
        is_note = not is_hidden or (inside.suffix == ".md" and len(inside.parts) == 1)
        is_plain = each.is_file() and not each.is_symlink()
        if is_plain and is_note and inside.as_posix() != FILE:
            yield inside.as_posix()


def _is_newer(store: Store, name: str, path: Path, data: bytes, there: bytes) -> bool:
    """Whether the group had THERE at PATH, and DATA is a later version."""
    from gitmem.memory.adopt.copy_in import is_newer

    try:
        with closing(Group(store, name)) as group:
            return is_newer(group, os.path.relpath(path, group.worktree), data, there)
    except GitmemError:
        return False


def _reports(done: NotesCopied, *, back: bool, dry_run: bool) -> Iterator[str]:
    if done.files:
        verb = "would be copied" if dry_run else "copied"
        way = "back from" if back else "into"
        what = f"{counted(len(done.files), 'file')} of the host's memory {verb} {way}"
        yield f"{what} group {done.group}: {done.source} to {done.target}"
    if done.deleted:
        verb = "would be deleted" if dry_run else "deleted"
        names = ", ".join(done.deleted)
        yield f"{verb} in {done.target}, as group {done.group} has deleted them: {names}"


def _not_copied(done: NotesCopied) -> list[str]:
    return [f"not copied: {each}" for each in done.left]


class MemoryMover:
    """The notes of one host during one installation: adopted, or copied into groups or back.

    Whatever fails is reported, and stops nothing else.
    """

    def __init__(
        self, store: Store, host: Host, environ: Mapping[str, str], *, dry_run: bool = False
    ) -> None:
        self._store, self._host, self._environ = store, host, environ
        self._dry_run = dry_run
        self.adopted: list[OwnAdopted] = []
        self.remarks: list[str] = []
        self.left: list[str] = []
        """Notes that were not copied back to the host, and why."""

    def adopt(self, only: str = "") -> None:
        """Adopt every folder of the host's own memory, or ONLY that of one project."""
        root = str(self._store.root)
        linked = linked_redirects(self._store, self._host, self._environ)
        for folder in own_folders(self._host, self._environ):
            known = group_at(str(folder / "x"), root)
            if known and not self._store.is_unfinished(known):
                continue
            project = project_of(folder, only)
            if only and project != os.path.realpath(only):
                continue
            if not only and is_declined(root, self._host, self._environ, folder, project):
                continue
            redirect = linked.get(os.path.realpath(folder))
            if redirect is None:
                self._adopt(folder, project, known)
            elif not os.path.isdir(redirect.settings.parents[1]) and not redirect.problem:
                self._copy_in(redirect.given)  # notes of an existing project move with its link

    def _adopt(self, folder: Path, project: str, name: str) -> None:
        try:
            done = adopt_own(
                self._store,
                self._host,
                folder,
                environ=self._environ,
                near=project,
                name=name,
                dry_run=self._dry_run,
            )
            self.adopted.append(done)
        except GitmemError as error:
            self.remarks.append(Hint(f"{folder} was not adopted: ", explained(error)))

    @property
    def linked(self) -> list[LinkedFolder]:
        """The folders that got a link; in a dry run, those that would."""
        gitdir = self._store.gitdir
        return [
            LinkedFolder(Path(each.project), each.group, Path(each.folder), gitdir(each.group))
            for each in self.adopted
            if each.linked
        ]

    def give_back(self, before: Given, group: str) -> list[str]:
        """Copy the notes of hosts out of GROUP before its removal; the folders that keep some."""
        kept = []
        for given in _redirects(before).values():
            if given["group"] != group:
                continue
            try:
                done = copy_back(self._store, given)
            except GitmemError as error:
                self.remarks.append(explained(error))
            except OSError as error:
                failed = f"copying notes to {given['own']} failed: "
                self.remarks.append(Hint(failed, explained(error)))
            else:
                if done:
                    self.remarks += _reports(done, back=True, dry_run=False)
                    self.remarks += _not_copied(done)
                if not done or not done.left:
                    continue
            if os.path.isdir(given["directory"]):
                kept.append(given["directory"])
        return kept

    def move(self, before: Given, after: Given, gone: str = "") -> dict[str, str]:
        """Copy notes as redirects change; return those that have to stay as they are, and why.

        GONE is a group whose notes need no copy: they moved with it, or were copied already.
        """
        old, new = _redirects(before), _redirects(after)
        for path, given in old.items():
            if new.get(path) != given and given["group"] != gone:
                copy = partial(copy_back, self._store, given, dry_run=self._dry_run)
                self._try(copy, back=True)
        failed = {}
        for path, given in new.items():
            # A redirect of ours to a missing folder has to change, whatever is left out.
            stays = path in old and (
                old[path]["directory"] == given["directory"]
                or not os.path.isdir(old[path]["directory"])
            )
            why = "" if stays else self._refused(given)
            why = why or self._copy_in(given)
            if why and not stays:
                failed[path] = why
        return failed

    def _refused(self, given: Mapping[str, str]) -> str:
        """Why memory stays where its host reads it: git may not get all of it."""
        try:
            found = copy_into_group(self._store, self._host, given, dry_run=True)
        except GitmemError:
            return ""  # the copy itself reports it
        if not found or not found.left:
            return ""
        files = f"git may not get {', '.join(found.left)}; "
        again = call("install", self._host.name)
        return Hint(f"{files}edit or move them in {found.source}, then run ", again)

    def _copy_in(self, given: Mapping[str, str]) -> str:
        copy = partial(copy_into_group, self._store, self._host, given, dry_run=self._dry_run)
        return self._try(copy, back=False)

    def _try(self, copy: Callable[[], NotesCopied | None], *, back: bool) -> str:
        """Carry out and report COPY; return why it failed."""
        failures = self.left if back else self.remarks
        try:
            done = copy()
        except GitmemError as error:
            failures.append(explained(error))
            return error.message
        if done:
            self.remarks += _reports(done, back=back, dry_run=self._dry_run)
            failures += _not_copied(done)
        return ""


def _redirects(given: Given) -> dict[str, Mapping[str, str]]:
    """The settings that redirect a host's memory, each with what the record keeps of it."""
    return {path: kinds[CHOICE] for path, kinds in given.items() if CHOICE in kinds}
