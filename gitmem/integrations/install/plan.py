"""The edits of an installation, planned before any file changes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gitmem import __version__
from gitmem.errors import Refused
from gitmem.integrations.host_memory.choices import CHOICE
from gitmem.integrations.hosts.program import Program
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install.files import FileEdit, digest, explained, read_file, text_of
from gitmem.integrations.install.host_files import PROJECT, USER, HostFiles, settings_in
from gitmem.integrations.install.links import (
    LinkedFolder,
    Linking,
    followed,
    is_inside,
    linking_of,
    missing_projects,
    missing_reported,
    skill_names,
)
from gitmem.integrations.install.old_system import (
    give_place_back,
    has_old_hooks,
    old_part,
    old_sections,
    parts_beside,
    put_in_place,
    put_old_hooks,
    take_old_hooks,
)
from gitmem.integrations.install.part import (
    FilePart,
    PartAdded,
    ended_as,
    joined,
    put_part,
    take_part,
)
from gitmem.integrations.install.parts.hooks import (
    PROMPTS,
    Handlers,
    events_wired,
    put_hooks,
    shipped_handlers,
    take_hooks,
)
from gitmem.integrations.install.parts.launcher import PROGRAM, launcher_part
from gitmem.integrations.install.parts.linked import given_part, linked_parts
from gitmem.integrations.install.parts.mcp import mcp_part, server
from gitmem.integrations.install.parts.permissions import policy_part
from gitmem.integrations.install.parts.sections import put_section, section
from gitmem.integrations.install.record import (
    FileClaims,
    FileRecord,
    Install,
    after,
    as_replaced,
    bytes_before,
    claims_of,
    install_of,
    replaced_paths,
    replaced_skills,
)
from gitmem.integrations.install.skill_update import (
    SkillPlan,
    as_shipped,
    plan_removal,
    plan_skills,
)
from gitmem.integrations.install.skills import shipped_folder
from gitmem.memory.group import Group, Store

if TYPE_CHECKING:
    from gitmem.model.layout.layout import Layout

LAYOUT = "standard"
"""The layout of a group that an installation creates."""
ENV_EXAMPLE = ".env.example"


class Request(NamedTuple):
    """What a user asked to install."""

    store: Store
    group: str
    where: HostFiles
    program: Program
    environ: Mapping[str, str]
    choices: Mapping[str, bool]
    """What the user chose now, by the name of the option; the rest is as it was."""
    on_prompt: bool | None
    has_plugin: bool
    """Whether a plugin brings hooks, skills and the MCP server already."""
    replace: bool
    """Whether to replace what an old memory system has left."""
    other: HostFiles | None
    """The other scope, from which the parts of an old system are removed as well."""
    launcher: Path | None
    """The path for a launcher, if a login shell finds no gitmem."""
    would_link: tuple[LinkedFolder, ...] = ()
    """The folders that this very call links to a group, if it is a dry run."""

    def linked(self, folders: Sequence[LinkedFolder], *, dry_run: bool) -> Request:
        """The same after FOLDERS were linked: a project that is one of them uses its group."""
        own = next((each.group for each in folders if self._is_own(each)), self.group)
        return self._replace(would_link=tuple(folders) if dry_run else (), group=own)

    def _is_own(self, linked: LinkedFolder) -> bool:
        is_same = os.path.realpath(linked.folder) == os.path.realpath(self.where.root)
        return self.where.scope == PROJECT and is_same

    def with_links(self, linking: Linking) -> Linking:
        """LINKING with the folders that a dry run would link."""
        if self.where.scope == USER:
            return linking._replace(folders=(*linking.folders, *self.would_link))
        own = next(filter(self._is_own, self.would_link), linking.own)
        return linking._replace(own=own._replace(folder=self.where.root))

    def layout(self) -> Layout:
        """The layout of the group, or the one that it will get."""
        from gitmem.memory.layouts import layout_of, shipped_layout

        if self.group in self.store.names():
            with closing(Group(self.store, self.group)) as group:
                return layout_of(group)
        memory = HOSTS[self.where.host].own_memory
        is_adopted = memory and any(each.group == self.group for each in self.would_link)
        return shipped_layout(memory.layout if memory and is_adopted else LAYOUT)

    def handlers(self) -> Handlers:
        """The hooks to install; the event of a prompt stays as it is unless the user chose."""
        if self.has_plugin:
            return {}
        on_prompt = self.on_prompt
        if on_prompt is None:
            on_prompt = not PROMPTS.isdisjoint(events_wired(settings_in(self.where.hooks)))
        return shipped_handlers(self.where.host, self.program, on_prompt=on_prompt)

    def server(self, known: Install) -> dict[str, Any] | None:
        """The MCP server to install; none unless the user chose it now or before."""
        is_chosen = self.choices.get("mcp", known.mcp is not None)
        if not is_chosen or not self.where.mcp or self.has_plugin:
            return None
        return {**server(self.program), **HOSTS[self.where.host].server}


class InstallPlan(NamedTuple):
    """The edits of an installation, and the record of it."""

    linking: Linking
    known: Install
    """The record before."""
    record: Install
    shared: tuple[FileEdit, ...]
    """Files of other programs, which are backed up."""
    own: tuple[FileEdit, ...] = ()
    skills: SkillPlan = SkillPlan((), {}, 0)
    remarks: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """Why some file keeps its part of ours, where all parts are to be removed."""
    files: Mapping[str, FileRecord] = {}
    """Each shared file after the edits, for other installations with a part in it."""

    @property
    def changes(self) -> tuple[FileEdit, ...]:
        """Every edit."""
        return (*self.own, *self.skills.changes, *self.shared)


def plan_install(request: Request, failed: Mapping[str, str] = {}) -> InstallPlan:
    """The edits that install REQUEST, or update an installation to it.

    FAILED are settings of redirects that have to stay as they are, with the reason.
    """
    store, where = request.store, request.where
    known = followed(store, install_of(store.root, where), request.environ)
    choices = {**known.choices, **request.choices}
    if HOSTS[where.host].own_memory:
        choices.setdefault(CHOICE, True)
    layout = request.layout()
    skills, theirs = _skills(request, known, layout.name)
    chosen = known._replace(choices=choices, mcp=request.server(known), skills=skills.known)
    linking = linking_of(
        store, where, chosen, request.group, is_plugin=request.has_plugin, environ=request.environ
    )
    linking = request.with_links(linking.without(failed))
    claims = claims_of(store.root, known)
    handlers = request.handlers()
    text = section(layout, request.group, is_for_all=where.scope == USER)
    parts = _parts(request, linking, claims, handlers=handlers, made=text, mcp=chosen.mcp)
    plan = _put_all(linking, parts, claims, replace=request.replace)
    files = dict(plan.record.files)
    for path in {*theirs} - {*skills.known}:  # it was put back, or is the user's own now
        del files[as_replaced(where.skills / path)]
    for edit in skills.exchanges(where.skills):
        files.setdefault(as_replaced(edit.path), _exchanged(edit))
    record = plan.record._replace(
        gitmem=__version__,
        files=files,
        handlers=handlers,
        mcp=chosen.mcp,
        choices=choices,
        group=linking.own.group,
        skills=skills.known,
        skills_version=skills.version,
        skills_begun={},
        skills_folder=str(where.skills),
    )
    return plan._replace(own=tuple(_env_example(store.root)), skills=skills, record=record)


def _skills(request: Request, known: Install, layout: str) -> tuple[SkillPlan, Mapping[str, bytes]]:
    """The plan for skills, and the files of others that ours replaced before."""
    where = request.where
    given, theirs = _given(where, known), replaced_skills(request.store.root, known)
    if request.has_plugin:
        return plan_removal(where.skills, given, known.skills_begun, theirs=theirs), theirs
    plan = plan_skills(
        shipped_folder(),
        where.host,
        where.skills,
        given,
        scope=where.scope,
        begun=known.skills_begun,
        layout=layout,
        replace=request.replace,
        theirs=theirs,
    )
    return plan, theirs


def _given(where: HostFiles, known: Install) -> Mapping[str, str]:
    """Our skills there: a project that was cloned or moved has no record of them."""
    return known.skills or as_shipped(shipped_folder(), where.host, where.skills)


def plan_links(linking: Linking, known: Install) -> InstallPlan:
    """The edits that update the linked folders, and nothing else."""
    claims = claims_of(linking.store, known)
    return _put_all(linking, linked_parts(linking, claims), claims, stays=PROGRAM)


def _put_all(
    linking: Linking,
    parts: Iterable[FilePart],
    claims: FileClaims,
    *,
    replace: bool = False,
    stays: str = "",
) -> InstallPlan:
    """The edits that add all PARTS, and remove those that were added before and are not in PARTS.

    A part of the kind STAYS is never removed.
    """
    known, store = claims.own, linking.store
    edits, files, remarks = [], dict(known.files), []
    given: dict[str, Mapping[str, Any]] = {}
    for part in joined(parts):
        path = str(part.path)
        edit, added = put_part(part)
        over = {kind: x for kind, x in known.given.get(path, {}).items() if kind not in added.given}
        over = claims.unclaimed(part.path, over)
        if over and edit.after is not None:
            before = text_of(part.path, bytes_before(store, known, path))
            text = given_part(part.path, over).take(added.text, before, "")
            edit = edit._replace(after=text.encode())
        edits.append(edit)
        files[path] = after(claims.record_of(part.path), edit)
        given |= {path: added.given} if added.given else {}
        if replace and part.has_old(text_of(part.path, edit.before)):
            files[as_replaced(part.path)] = _exchanged(edit)
        remarks += [f"{path}: {each}" for each in added.remarks]
    done, now = {str(edit.path) for edit in edits}, dict(files)
    for path in known.given.keys() - done:
        # The folder of a project may be back tomorrow.
        if stays in known.given[path] or not Path(path).parent.is_dir():
            given[path] = known.given[path]
            continue
        edits.append(_taken(_given_part(path, claims), store, claims))
        now[path] = after(files.pop(path), edits[-1])
    record = known._replace(files=files, given=given)
    return InstallPlan(linking, known, record, tuple(edits), remarks=tuple(remarks), files=now)


def _taken(part: FilePart, store: Path, claims: FileClaims) -> FileEdit:
    return take_part(part, store, claims.own, is_last=not claims.is_shared(part.path))


def _given_part(path: str, claims: FileClaims) -> FilePart:
    """A file from which everything is removed that it was given and no other installation needs."""
    return given_part(Path(path), claims.unclaimed(Path(path), claims.own.given[path]))


def _exchanged(edit: FileEdit) -> FileRecord:
    """The record of a file in which ours replaces a part of others."""
    return FileRecord(digest(edit.before or b""), digest(edit.after or b""))


def _parts(
    request: Request,
    linking: Linking,
    claims: FileClaims,
    *,
    handlers: Handlers,
    made: str,
    mcp: dict[str, Any] | None,
) -> Iterator[FilePart]:
    """The files that have a part of ours, or will have, or had one."""
    where, known = request.where, claims.own
    yield _hooks_part(where, handlers, known, request.replace)
    yield _section_part(where, made, request.replace)
    if request.replace:
        yield from parts_beside(where, request.other)
    if where.mcp and (mcp or known.mcp):
        yield mcp_part(where.mcp, mcp, known.mcp)
    if where.policy:
        yield policy_part(where.policy, known, is_needed=linking.permissions)
    yield from linked_parts(linking, claims)
    if request.launcher:
        yield launcher_part(request.launcher, request.program.path)


def _hooks_part(
    where: HostFiles, handlers: Handlers, known: Install, replace: bool = False
) -> FilePart:
    def put(text: str) -> PartAdded:
        return put_hooks(take_old_hooks(text) if replace else text, handlers, known.handlers)

    def take(text: str, before: str, replaced: str) -> str:
        return put_old_hooks(take_hooks(text, before), replaced)

    return FilePart(where.hooks, put, take, has_old_hooks)


def _section_part(where: HostFiles, made: str, replace: bool = False) -> FilePart:
    put = put_in_place if replace else put_section
    return FilePart(
        where.memory,
        lambda text: PartAdded(put(text, made)),
        lambda text, before, replaced: ended_as(give_place_back(text, replaced), before),
        lambda text: bool(old_sections(text)),
    )


def _env_example(store: Path) -> Iterator[FileEdit]:
    from gitmem.resources import templates

    if read_file(store / ENV_EXAMPLE) is None:
        data = (templates() / "env.example").read_bytes()
        yield FileEdit(store / ENV_EXAMPLE, None, data)


def plan_uninstall(linking: Linking, known: Install) -> InstallPlan:
    """The edits that restore every file."""
    where, store = linking.where, linking.store
    claims, missing = claims_of(store, known), missing_projects(known)
    left, remarks = missing_reported(Store(store), known)
    edits = []
    for part in joined(_parts_to_take(linking, claims, missing)):
        try:
            edits.append(_taken(part, store, claims))
        except Refused as error:  # one such file stops no other from being restored
            left[str(part.path)] = explained(error)
    given, theirs = _given(where, known), replaced_skills(store, known)
    skills = plan_removal(where.skills, given, known.skills_begun, theirs=theirs)
    stays = {*left, *(as_replaced(Path(path)) for path in left)}
    record = known._replace(
        files={x: each for x, each in known.files.items() if x in stays or is_inside(x, missing)},
        mcp=known.mcp if str(where.mcp) in left else None,
        given={x: each for x, each in known.given.items() if x in left or is_inside(x, missing)},
    )
    paths = {str(each.path): each for each in edits}
    files = {x: after(known.files[x], paths[x]) for x in paths if x in known.files}
    reports = tuple(remarks), tuple(left.values())
    return InstallPlan(linking, known, record, tuple(edits), (), skills, *reports, files)


def _parts_to_take(
    linking: Linking, claims: FileClaims, missing: Sequence[str]
) -> Iterator[FilePart]:
    """Every part of an installation; projects that are MISSING keep theirs."""
    where, known = linking.where, claims.own
    parts = [_hooks_part(where, {}, known), _section_part(where, "")]
    parts += [mcp_part(where.mcp, None, known.mcp)] if where.mcp else []
    parts += [policy_part(where.policy, known)] if where.policy else []
    yield from parts
    done = {part.path for part in parts}
    replaced = (x for x in replaced_paths(known) if where.skills not in x.parents)
    yield from (old_part(each) for each in replaced if each not in done)
    yield from (_given_part(x, claims) for x in known.given if not is_inside(x, missing))
    if not known.gitmem:  # the record was lost, or there never was one
        names = skill_names(_given(where, known))
        yield from linked_parts(linking._replace(skills=names), claims)
