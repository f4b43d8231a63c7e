"""Wire gitmem into an agent host, and take it out again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any, NamedTuple

from gitmem import __version__
from gitmem.core.access import MAIN
from gitmem.errors import BadInput, GitmemError
from gitmem.hosts.host_memory.installing import MemoryWork
from gitmem.hosts.host_memory.wanted import CHOICE
from gitmem.hosts.install.advice import (
    doubts,
    edited_since,
    given_way,
    hidden_by,
    next_steps,
    shown_again,
    still_calling,
    still_there,
    unloaded,
)
from gitmem.hosts.install.claims import claims_of
from gitmem.hosts.install.files import (
    back_up,
    backup_of,
    diff_of,
    digest,
    make,
    missing_folders,
    sweep,
)
from gitmem.hosts.install.launcher import launcher_path
from gitmem.hosts.install.linked import (
    LinkedFolder,
    Linking,
    linking_of,
    own_group,
    unmoved,
    with_memory,
)
from gitmem.hosts.install.places import PROJECT, USER, Places, Program, other_scope, places
from gitmem.hosts.install.plan import (
    Plan,
    Wish,
    choices_of,
    handlers_for,
    mcp_for,
    plan_install,
    plan_links,
    plan_uninstall,
)
from gitmem.hosts.install.record import Install, alone, begun, install_of, installs, remember
from gitmem.hosts.install.sections import section
from gitmem.hosts.install.settings import plugin_at
from gitmem.hosts.install.skills_installed import make_skills
from gitmem.hosts.table import CLAUDE, HOSTS
from gitmem.operations.group import Group, Store, not_found

if TYPE_CHECKING:
    from gitmem.core.layout import Layout
    from gitmem.hosts.host_memory.adopting import OwnAdopted
    from gitmem.operations.init import Initialised

LAYOUT = "standard"
"""What a group gets that is made on the way."""


class FileDone(NamedTuple):
    """What became, or would become, of one file."""

    path: str
    action: str
    diff: str
    backup: str = ""
    """Where it is kept as it was, if it is somebody else's."""
    skill: str = ""
    """The folder of the skill of which it is a part."""


class Installed(NamedTuple):
    """What was done, or would be."""

    host: str
    scope: str
    action: str
    """installed or uninstalled"""
    dry_run: bool
    files: tuple[FileDone, ...]
    """Those that are other than they were."""
    remarks: tuple[str, ...]
    next: tuple[str, ...] = ()
    """What is left to a person."""
    group: str = ""
    """The group that was made on the way."""
    left: tuple[str, ...] = ()
    """What could not be taken out, and why."""
    adopted: tuple[OwnAdopted, ...] = ()
    """Folders of the host's own memory that became groups."""


class Rewired(NamedTuple):
    """What became of the installations after a link was changed."""

    files: tuple[FileDone, ...] = ()
    remarks: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """What could not be brought up to date, and why."""


class GivenBack(NamedTuple):
    """What a group that is about to go gave back to hosts."""

    remarks: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """The folders of the group with notes that could not be copied."""


def install(
    store: Store,
    group: str,
    host: str,
    scope: str,
    *,
    program: Program,
    environ: Mapping[str, str],
    project: Path,
    on_prompt: bool | None = None,
    mcp: bool | None = None,
    permissions: bool | None = None,
    host_memory: bool | None = None,
    replace: bool = False,
    path: str | None = None,
    dry_run: bool = False,
) -> Installed:
    """Let HOST know gitmem: hooks, skills, the section on memory, permissions, if asked for MCP.

    PATH is that of a login shell: where it leads to no gitmem, a launcher is put there. Unless
    HOST_MEMORY is declined, the memory that HOST writes by itself comes under history.

    REPLACE takes the place of what a former memory system has left there, and takes out what it has
    left in the other scope; `uninstall` puts both back.
    """
    where = places(host, scope, environ, project)
    plugin = _plugin(where, environ, project)
    other = other_scope(where, environ, project)
    launcher = launcher_path(environ, path) if path is not None else None
    asked = _Asked(
        store,
        group,
        where,
        program,
        on_prompt,
        mcp,
        permissions,
        bool(plugin),
        replace,
        other,
        launcher,
        host_memory,
        environ,
    )
    wish, plan = asked.planned()  # what is refused is so before there is a store
    made = None if dry_run else _ensured(store, group)
    with nullcontext() if dry_run else alone(store.root):
        memory = MemoryWork(store, HOSTS[host], environ, dry_run=dry_run)
        if wish.choices.get(CHOICE):
            memory.adopt("" if scope == USER else str(where.root))
        wish, plan = asked.planned(more=memory.would_link if scope == USER else ())
        failed = memory.move(install_of(store.root, where).given, plan.record.given)
        wish, plan = asked.planned(failed) if failed else (wish, plan)
        files = tuple(_told(plan, store.root, where.skills))
        if not dry_run:
            _carry_out(plan, store.root, where)
    remarks = (
        *plan.remarks,
        *memory.remarks,
        *unmoved(wish.linking),
        *plan.skills.remarks,
        *unloaded(plan.skills, where, replace),
        *hidden_by(wish, store.root, environ, project),
        *given_way(plan, where, store.root),
        *still_there(plan, where, environ, project),
        *doubts(wish, plugin, environ, project),
    )
    is_found = path is None or launcher is not None or which("gitmem", path=path) is not None
    told = {"mcp": bool(mcp), "is_changed": bool(files), "is_found": is_found}
    steps = tuple(next_steps(wish, store, group, **told))
    steps = (*(each.next for each in memory.adopted if each.next), *steps)
    created = made.group if made and made.created else ""
    done = Installed(host, scope, "installed", dry_run, files, remarks, steps, created)
    return done._replace(adopted=tuple(memory.adopted))


class _Asked(NamedTuple):
    """What somebody wants, before it is known what stands there."""

    store: Store
    group: str
    where: Places
    program: Program
    on_prompt: bool | None
    mcp: bool | None
    permissions: bool | None
    has_plugin: bool
    replace: bool
    other: Places | None
    launcher: Path | None
    host_memory: bool | None
    environ: Mapping[str, str]

    def planned(
        self, failed: Mapping[str, str] = {}, more: Iterable[LinkedFolder] = ()
    ) -> tuple[Wish, Plan]:
        """What that means here and now; refuses what cannot be.

        FAILED are settings that have to stay as they are, with the reason; MORE are folders that a
        dry run would link.
        """
        where, program, has_plugin = self.where, self.program, self.has_plugin
        known = install_of(self.store.root, where)
        layout = _layout(self.store, self.group)
        asked = {"permissions": self.permissions, "mcp": self.mcp, CHOICE: self.host_memory}
        choices = choices_of(known, **asked)
        if HOSTS[where.host].own_memory:
            choices.setdefault(CHOICE, True)
        mcp = mcp_for(where, program, known, self.mcp, has_plugin)
        chosen = known._replace(choices=choices, mcp=mcp)
        wish = Wish(
            where,
            program,
            self.store.root,
            section(layout, self.group, is_for_all=where.scope == USER),
            handlers_for(where, program, self.on_prompt, has_plugin),
            mcp,
            has_plugin,
            linking_of(self.store, where, self.group, chosen, is_plugin=has_plugin),
            choices,
            self.launcher,
            layout.name,
            self.replace,
            self.other,
        )
        linking = with_memory(wish.linking, choices, self.environ).without(failed)
        linking = linking._replace(folders=(*linking.folders, *more))
        wish = wish._replace(linking=linking)
        return wish, plan_install(wish, known, __version__)


def uninstall(
    store: Store,
    host: str,
    scope: str,
    *,
    environ: Mapping[str, str],
    project: Path,
    dry_run: bool = False,
) -> Installed:
    """Take out what `install` has put in; the store and its memory stay."""
    where = places(host, scope, environ, project)
    is_there = store.root.is_dir() and not dry_run
    with alone(store.root) if is_there else nullcontext():
        known = install_of(store.root, where)
        memory = MemoryWork(store, HOSTS[host], environ, dry_run=dry_run)
        memory.move(known.given, _needed_by_others(store.root, known))
        plan = plan_uninstall(_linking_left(store, where, known), known)
        files = tuple(_told(plan, store.root, where.skills))
        if not dry_run:
            _take_out(plan, store.root, where)
    remarks = (
        *memory.remarks,
        *plan.skills.remarks,
        *edited_since(plan, where, store.root, known),
        *still_calling(plan, where),
        *shown_again(plan, where, environ, project),
    )
    return Installed(host, scope, "uninstalled", dry_run, files, remarks, left=plan.left)


def give_back(store: Store, environ: Mapping[str, str], group: str) -> GivenBack:
    """Copy the notes that hosts wrote into GROUP to the hosts' own folders, before it is removed.

    A failure is told and does not stop the removal: the trash keeps every note.
    """
    remarks: list[str] = []
    kept: list[str] = []
    try:
        if installs(store.root):
            with alone(store.root):
                for known in installs(store.root):
                    where = places(known.host, known.scope, environ, Path(known.root))
                    if known.is_of(where):
                        memory = MemoryWork(store, HOSTS[known.host], environ)
                        kept += memory.give_back(known.given, group)
                        remarks += memory.remarks
    except GitmemError as error:  # `rewire` tells the same of a record that nobody can read
        remarks.append(f"no notes of hosts were copied out of group {group}: {error.message}")
    return GivenBack(tuple(remarks), tuple(kept))


def rewire(store: Store, environ: Mapping[str, str], settled: str = "") -> Rewired:
    """Bring every installation up to date with the links: for who has just changed one.

    What cannot be changed keeps nothing else from it, and is told: the link stands all the same.
    SETTLED is a group that was renamed, or removed after `give_back`.
    """
    done = Rewired()
    try:
        if not installs(store.root):
            return done
        with alone(store.root):
            for known in installs(store.root):
                try:
                    done = _rewired(store, known, environ, done, settled)
                except GitmemError as error:
                    done = done._replace(left=(*done.left, f"{error.message}; {error.hint}"))
    except GitmemError as error:  # a record that nobody can read
        done = done._replace(left=(*done.left, f"{error.message}; {error.hint}"))
    return done


def _rewired(
    store: Store, known: Install, environ: Mapping[str, str], done: Rewired, settled: str
) -> Rewired:
    where = places(known.host, known.scope, environ, Path(known.root))
    if not known.is_of(where):  # made for another home than that of this call
        return done
    has_plugin = bool(_plugin(where, environ, where.root))
    linking = linking_of(store, where, own_group(store, where, known), known, is_plugin=has_plugin)
    linking = with_memory(linking, known.choices, environ)
    plan = plan_links(linking, known)
    memory = MemoryWork(store, HOSTS[known.host], environ)
    failed = memory.move(known.given, plan.record.given, settled)
    linking = linking.without(failed)
    plan = plan_links(linking, known) if failed else plan
    files = tuple(_told(plan, store.root, where.skills))
    if files or plan.record != known:  # another installation may have made the change already
        _carry_out(plan, store.root, where)
    remarks = (*done.remarks, *plan.remarks, *memory.remarks, *unmoved(linking))
    return done._replace(files=(*done.files, *files), remarks=remarks)


def _needed_by_others(store: Path, known: Install) -> dict[str, dict[str, Any]]:
    """The settings of KNOWN that move the host's own memory, and that stay for others."""
    claims = claims_of(store, known)
    found = {path: claims.of_others(Path(path), CHOICE) for path in known.given}
    return {path: {CHOICE: each[0]} for path, each in found.items() if each}


def _linking_left(store: Store, where: Places, known: Install) -> Linking:
    """The links for who only takes out: a config.yaml that nobody can read must not stop that."""
    try:
        return linking_of(store, where, own_group(store, where, known), known)
    except BadInput:
        own = LinkedFolder(where.root, MAIN, store.default_worktree(MAIN), store.gitdir(MAIN))
        return Linking(where, store.root, own)


def _ensured(store: Store, group: str) -> Initialised | None:
    """Make the group where there is none: hooks without a memory would only complain."""
    from gitmem.operations.init import init

    names = store.names()
    if group in names:
        return None
    if names and group != MAIN:
        raise not_found(store, group)
    return init(store, group, layout=LAYOUT)


def _layout(store: Store, name: str) -> Layout:
    from gitmem.operations.layouts import layout_of, shipped_layout

    if name not in store.names():
        return shipped_layout(LAYOUT)
    group = Group(store, name)
    try:
        return layout_of(group)
    finally:
        group.close()


def _told(plan: Plan, store: Path, skills: Path) -> Iterator[FileDone]:
    for change in plan.changes:
        if change.action != "nothing":
            path, skill, backup = str(change.path), "", ""
            if change in plan.skills.changes:
                skill = str(skills / change.path.relative_to(skills).parts[0])
            is_theirs = change in plan.shared or change in plan.skills.exchanges(skills)
            if is_theirs and change.before is not None:
                backup = str(backup_of(store, change.path, digest(change.before)))
            yield FileDone(path, change.action, diff_of(change), backup, skill)


def _carry_out(plan: Plan, store: Path, where: Places) -> None:
    """Do what was planned; the record first, so that nothing of ours is ever unknown.

    Before it come the copies of which it speaks: a record without them takes somebody else's skill
    for one of ours that was edited, and neither replaces it nor gives it back.
    """
    folders = (*plan.record.folders, *missing_folders(plan.changes))
    record = plan.record._replace(folders=tuple(dict.fromkeys(folders)))
    _prepare(plan, store, where)
    remember(store, begun(record, install_of(store, where)), plan.kept)
    _make(plan, where)
    removed = [each.path for each in plan.shared if each.action == "removed"]
    inside = [x for x in record.folders if any(Path(x) in each.parents for each in removed)]
    gone = _remove_empty(inside)
    folders = tuple(each for each in record.folders if each not in gone)
    remember(store, record._replace(folders=folders), plan.kept)


def _remove_empty(folders: Iterable[str]) -> list[str]:
    """Remove those of FOLDERS that are empty, the innermost first; tell which."""
    gone = []
    for folder in sorted(folders, key=len, reverse=True):
        with suppress(OSError):  # somebody has put something there
            Path(folder).rmdir()
            gone.append(folder)
    return gone


def _make(plan: Plan, where: Places) -> None:
    make_skills(plan.skills, where.skills, mode=_mode(where))
    for change in (*plan.own, *reversed(plan.shared)):  # the host is told last
        if change.action != "nothing":
            is_script = (change.after or b"").startswith(b"#!")
            make(change, mode=0o755 if is_script else _mode(where))


def _mode(where: Places) -> int:
    return 0o644 if where.scope == PROJECT else 0o600


def _prepare(plan: Plan, store: Path, where: Places) -> None:
    """Sweep up after those who died, and keep each file as it is."""
    given = (where.skills / each for each in (*plan.record.skills, *plan.record.skills_begun))
    touched = (*given, *(change.path for change in plan.changes))
    sweep({store, where.skills, *(each.parent for each in touched)})
    for change in (*plan.shared, *plan.skills.exchanges(where.skills)):
        if change.action != "nothing":
            back_up(store, change)


def _take_out(plan: Plan, store: Path, where: Places) -> None:
    """Do it backwards: the host is told first, and the record goes last."""
    _prepare(plan, store, where)
    for change in plan.shared:
        if change.action != "nothing":
            make(change, mode=_mode(where))
    make_skills(plan.skills, where.skills, mode=_mode(where))
    gone = _remove_empty(plan.record.folders)
    if installs(store):
        folders = tuple(each for each in plan.record.folders if each not in gone)
        record = plan.record._replace(skills={}, skills_begun={}, handlers={}, folders=folders)
        remember(store, record, plan.kept, gone=not plan.left)


def _plugin(where: Places, environ: Mapping[str, str], project: Path) -> str:
    """The plugin that does the same everywhere this installation would."""
    if where.host != CLAUDE:
        return ""
    return plugin_at(where) or plugin_at(places(CLAUDE, USER, environ, project))
