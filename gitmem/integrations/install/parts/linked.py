"""What a host gets for each linked folder: rules and writable roots, in a person's own files.

To give a linked folder one more part, yield it from `linked_parts`, let its `put` tell in
`Merged.given` what of it is ours, and say in `TAKEN_BACK` how that goes out again. `install`,
`uninstall` and `rewire` do the rest. Several parts may name the same file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.errors import GitmemError, JsonRefused, Refused
from gitmem.integrations.host_memory.setting import CHOICE, is_kept_in
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install.claims import Claims
from gitmem.integrations.install.locations import PROJECT, USER, Places
from gitmem.integrations.install.parts.excludes import EXCLUDE, put_lines, take_lines
from gitmem.integrations.install.parts.hooks import Merged, events_wired
from gitmem.integrations.install.parts.host_memory import (
    KIND,
    Moved,
    memory_part,
    moved_for,
    take_memory,
)
from gitmem.integrations.install.parts.launcher import PROGRAM, take_launcher
from gitmem.integrations.install.parts.permissions import (
    ALLOW,
    PERMISSIONS,
    command_rules,
    folder_rules,
    put_rules,
    server_rules,
    skill_rules,
    take_rules,
)
from gitmem.integrations.install.parts.sandbox import ROOTS, put_roots, take_roots
from gitmem.integrations.install.parts.settings import settings_in
from gitmem.integrations.install.record import Install
from gitmem.integrations.install.shared_files import Shared
from gitmem.integrations.install.skills.files import SKILL, shipped_folder, skill_files
from gitmem.memory.admin.groups import finish_rename
from gitmem.memory.admin.link import Link, exclusion, links
from gitmem.memory.group import Group, Store
from gitmem.model.access import MAIN


class LinkedFolder(NamedTuple):
    """A project folder, and the group that sessions in it use."""

    folder: Path
    group: str
    worktree: Path
    gitdir: Path


class Linking(NamedTuple):
    """The folders that one installation has to know of, and what somebody wants of them."""

    places: Places
    store: Path
    own: LinkedFolder
    """The folder of the installation itself, with the group of what is not linked."""
    folders: tuple[LinkedFolder, ...] = ()
    """The linked folders; none where the installation is for one project only."""
    permissions: bool = True
    skills: tuple[str, ...] = ()
    """The skills of ours that load there."""
    mcp: bool = False
    """Whether our MCP server is configured."""
    is_plugin: bool = False
    """Whether a plugin brings the skills and the server."""
    memory: tuple[Moved, ...] = ()
    """The folders whose host shall keep its own memory in their group."""

    @property
    def local(self) -> str:
        """The file of a project with settings of this person alone; empty if the host has none."""
        return HOSTS[self.places.host].project.local

    @property
    def projects(self) -> list[Path]:
        """The folders whose files may be shared with others."""
        own = [self.own.folder] if self.places.scope == PROJECT else []
        return [*own, *(each.folder for each in self.folders)]

    def without(self, failed: Mapping[str, str]) -> Linking:
        """The same where some settings have to stay as they are, each for a reason."""
        memory = (
            each._replace(problem=failed[str(each.settings)], directory="")
            if str(each.settings) in failed
            else each
            for each in self.memory
        )
        return self._replace(memory=tuple(memory))


TAKEN_BACK: Mapping[str, Callable[[str, str, Any], str]] = {
    ALLOW: take_rules,
    ROOTS: take_roots,
    EXCLUDE: take_lines,
    PROGRAM: take_launcher,
    KIND: take_memory,
}
"""For each kind of part: its text without what is ours, from that, the one before us, and ours."""


def linking_of(
    store: Store, where: Places, group: str, known: Install, *, is_plugin: bool = False
) -> Linking:
    """The links that the installation in WHERE has to know of, with the choices that are KNOWN.

    GROUP is that of the project, or of all folders without a link.
    """
    rows = _links(store) if where.scope == USER else ()
    found = (
        _linked_folder(store, Path(each.folder), each.group)
        for each in rows
        if each.exists and os.path.isdir(each.folder)
    )
    return Linking(
        where,
        store.root,
        _linked_folder(store, where.root, group),
        tuple(found),
        known.choices.get(PERMISSIONS, True),
        skill_names(skill_files(shipped_folder(), where.host) if is_plugin else known.skills),
        known.mcp is not None or known.choices.get("mcp", False),
        is_plugin,
    )


def _links(store: Store) -> tuple[Link, ...]:
    """The links as they are by now; a group that was being renamed gets its new name first."""
    for name in set(Store(store.root).links.values()):
        finish_rename(store, name)
    return links(Store(store.root))


def own_group(store: Store, where: Places, known: Install) -> str:
    """The group of an installation: that of its project, or of all folders without a link."""
    linked = Store(store.root).linked(str(where.root)) if where.scope == PROJECT else ""
    return linked or (known.group if known.group in store.names() else MAIN)


def skill_names(given: Iterable[str]) -> tuple[str, ...]:
    """The skills among the files GIVEN; of one that does not load only a copy lies there."""
    ours = (each.rpartition("/") for each in sorted(given))
    return tuple(folder for folder, _, name in ours if name == SKILL)


def _linked_folder(store: Store, folder: Path, group: str) -> LinkedFolder:
    return LinkedFolder(folder, group, _worktree(store, group), store.gitdir(group))


def _worktree(store: Store, name: str) -> Path:
    """Where the files of a group stand; one that is damaged or not made yet has its usual place."""
    with suppress(GitmemError), closing(Group(store, name, heals=False)) as group:
        return group.worktree
    return store.default_worktree(name)


def linked_parts(linking: Linking, claims: Claims) -> Iterator[Shared]:
    """The files in which folders have a part of ours by the group that they use."""
    parts = list(_folder_parts(linking, claims))
    yield from parts
    yield from _exclude_parts(linking, [each.path for each in parts], claims)
    if linking.permissions and linking.places.roots:
        path, roots = linking.places.roots, roots_of(linking)
        yield _roots_part(path, roots, _ours(linking, path, ROOTS, roots, claims))


def _folder_parts(linking: Linking, claims: Claims) -> Iterator[Shared]:
    for path, rules in wanted_rules(linking) if linking.permissions else ():
        ours = _ours(linking, path, ALLOW, rules, claims)
        yield _rules_part(path, rules, ours, is_needed=path == linking.places.rules)
    for each in linking.memory:
        own = claims.own.given.get(str(each.settings), {}).get(KIND)
        given: dict[str, str] = own or next(iter(claims.of_others(each.settings, KIND)), {})
        # What is set stays, whatever somebody tries for an hour; only another link changes it.
        wanted = each if each.directory or not given else Moved(each.settings, **given)
        if given or not each.problem:
            yield memory_part(HOSTS[linking.places.host], wanted, given)


def with_memory(
    linking: Linking, choices: Mapping[str, bool], environ: Mapping[str, str]
) -> Linking:
    """LINKING with the folders whose host shall keep its own memory in their group, if wanted."""
    if not choices.get(CHOICE):
        return linking
    where, store, folders = linking.places, Store(linking.store), linking.folders
    if where.scope != USER and store.linked(str(where.root)) == linking.own.group:
        folders = (linking.own,)
    elif where.scope == USER:
        kept = (is_kept_in(str(store.root), where.host, str(each.folder)) for each in folders)
        folders = tuple(each for each, is_kept in zip(folders, kept, strict=True) if not is_kept)
    moved = (
        moved_for(store, HOSTS[where.host], environ, each.folder, each.group) for each in folders
    )
    return linking._replace(memory=tuple(filter(None, moved)))


def unmoved(linking: Linking) -> Iterator[str]:
    """The folders whose host keeps its memory where it is, and why."""
    for each in linking.memory:
        if each.problem:
            folder = each.settings.parent.parent
            yield f"the host's own memory of {folder} is not in group {each.group}: {each.problem}"


def _exclude_parts(linking: Linking, paths: Sequence[Path], claims: Claims) -> Iterator[Shared]:
    """The exclude files of projects in which a file of PATHS is our making."""
    wanted: dict[Path, list[str]] = {}
    for path in dict.fromkeys(paths):
        if not any(path == each / linking.local for each in linking.projects):
            continue
        kept = claims.kept(path)
        is_made = kept.before is None if kept else not path.exists()
        rule = exclusion(Store(linking.store), path) if is_made else None
        if rule:
            wanted.setdefault(rule.file, []).append(rule.line)
    for file, lines in wanted.items():
        yield _exclude_part(file, lines, claims.ours(file, EXCLUDE, lines))


def _exclude_part(file: Path, lines: Sequence[str], ours: Sequence[str]) -> Shared:
    return Shared(
        file,
        lambda text: put_lines(text, lines, ours),
        lambda text, before, _: take_lines(text, before, ours),
    )


def wanted_rules(linking: Linking) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """The rules that each file shall have."""
    place = HOSTS[linking.places.host].project.rules
    if linking.places.rules:
        is_plugin = linking.is_plugin
        skills = skill_rules(linking.skills, is_plugin=is_plugin)
        servers = server_rules(is_plugin=is_plugin) if linking.mcp or is_plugin else ()
        files = folder_rules(linking.own.worktree)
        yield linking.places.rules, (*command_rules(), *skills, *servers, *files)
    for each in linking.folders if place else ():
        yield each.folder / place, folder_rules(each.worktree)


def roots_of(linking: Linking) -> tuple[str, ...]:
    """The folders to which a write to the groups of all folders goes."""
    found = (linking.own, *linking.folders)
    return tuple(dict.fromkeys(str(x) for each in found for x in (each.worktree, each.gitdir)))


def _ours(
    linking: Linking, path: Path, kind: str, wanted: tuple[str, ...], claims: Claims
) -> tuple[str, ...]:
    """What of KIND at PATH is ours; where the record was lost, that which we would put there."""
    if not claims.own.gitmem and events_wired(settings_in(linking.places.hooks)):
        return wanted
    return claims.ours(path, kind, wanted)


def _rules_part(
    path: Path, wanted: tuple[str, ...], ours: tuple[str, ...], *, is_needed: bool
) -> Shared:
    """A file that allows what is WANTED.

    One that nobody can read keeps nothing else back, unless it IS_NEEDED: the rules of an
    installation itself, without which a model can use nothing of it.
    """

    def put(text: str) -> Merged:
        try:
            return put_rules(text, wanted, ours)
        except JsonRefused as error:
            if is_needed:
                raise
            said = f"{error.message}; no permission rules were put there"
            return Merged(text, (said,), {ALLOW: list(ours)})

    return Shared(path, put, lambda text, before, _: take_rules(text, before, ours))


def _roots_part(path: Path, wanted: tuple[str, ...], ours: tuple[str, ...]) -> Shared:
    """A file whose sandbox can write to what is WANTED; likewise."""

    def put(text: str) -> Merged:
        try:
            return put_roots(text, wanted, ours)
        except Refused as error:
            said = f"{error.message}; the sandbox was not opened for memory"
            return Merged(text, (said,), {ROOTS: list(ours)})

    return Shared(path, put, lambda text, before, _: take_roots(text, before, ours))


def given_part(path: Path, given: Mapping[str, Any]) -> Shared:
    """A file from which all goes that was GIVEN to it."""

    def take(text: str, before: str, _: str = "") -> str:
        for kind, ours in given.items():
            text = TAKEN_BACK[kind](text, before, ours) if kind in TAKEN_BACK else text
        return text

    return Shared(path, lambda text: Merged(take(text, "")), take, is_whole=PROGRAM in given)
