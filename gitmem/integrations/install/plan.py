"""What an installation will change, worked out before anything is touched."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.errors import Refused
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install.claims import Claims, claims_of
from gitmem.integrations.install.files import Change, digest, read_file, text_of
from gitmem.integrations.install.former import (
    former_sections,
    give_place_back,
    put_former_hooks,
    put_former_sections,
    put_in_place,
    take_former_hooks,
    take_former_sections,
)
from gitmem.integrations.install.locations import Places, Program
from gitmem.integrations.install.parts.hooks import (
    PROMPTS,
    Handlers,
    Merged,
    events_wired,
    put_hooks,
    take_hooks,
    wanted_handlers,
)
from gitmem.integrations.install.parts.launcher import PROGRAM, launcher_part
from gitmem.integrations.install.parts.linked import Linking, given_part, linked_parts, skill_names
from gitmem.integrations.install.parts.mcp import put_json, put_toml, server, take_json, take_toml
from gitmem.integrations.install.parts.policy import put_policy, take_policy
from gitmem.integrations.install.parts.sections import put_section
from gitmem.integrations.install.parts.settings import settings_in
from gitmem.integrations.install.projects import is_inside, missing_projects, missing_told
from gitmem.integrations.install.record import (
    Install,
    Kept,
    after,
    as_replaced,
    replaced_paths,
    replaced_skills,
)
from gitmem.integrations.install.shared_files import (
    Shared,
    joined,
    put_part,
    take_part,
    text_before,
)
from gitmem.integrations.install.skills.files import shipped_folder
from gitmem.integrations.install.skills.update import (
    SkillPlan,
    as_shipped,
    plan_removal,
    plan_skills,
)
from gitmem.memory.group import Store

ENV_EXAMPLE = ".env.example"


class Wish(NamedTuple):
    """What somebody wants installed."""

    places: Places
    program: Program
    store: Path
    section: str
    """The section on memory, with its marks."""
    handlers: Handlers
    mcp: dict[str, Any] | None
    has_plugin: bool
    linking: Linking
    """The folders that use a group, and what they get."""
    choices: Mapping[str, bool]
    """What somebody asked for or declined, to be remembered."""
    launcher: Path | None = None
    """Where a login shell shall find us, if it does not do so by itself."""
    layout: str = ""
    """That of the group, whose own names of skills are installed as well."""
    replace: bool = False
    """Whether to take the place of what a former system has left."""
    other: Places | None = None
    """The other scope: what a former system has left there goes as well, and nothing comes."""


class Plan(NamedTuple):
    """What will be done."""

    shared: tuple[Change, ...]
    """Files of somebody else's, of which a copy is kept."""
    own: tuple[Change, ...]
    skills: SkillPlan
    record: Install
    remarks: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """Why some file keeps its part of ours, where all shall go."""
    kept: Mapping[str, Kept] = {}
    """How each shared file will be, for the other installations that have a part in it."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """Everything."""
        return (*self.own, *self.skills.changes, *self.shared)


def handlers_for(
    places: Places, program: Program, on_prompt: bool | None, has_plugin: bool
) -> Handlers:
    """The handlers that shall stand there; who asked for prompts once keeps them until told."""
    if has_plugin:
        return {}
    if on_prompt is None:
        on_prompt = not PROMPTS.isdisjoint(events_wired(settings_in(places.hooks)))
    return wanted_handlers(places.host, program, on_prompt=on_prompt)


def mcp_for(
    places: Places, program: Program, known: Install, mcp: bool | None, has_plugin: bool
) -> dict[str, Any] | None:
    """The server that shall stand there; likewise."""
    asked = known.mcp is not None if mcp is None else mcp
    wanted = asked and places.mcp and not has_plugin
    return {**server(program), **HOSTS[places.host].server} if wanted else None


def plan_install(wish: Wish, known: Install, version: str) -> Plan:
    """What brings everything to where it should be."""
    places, given, theirs = (
        wish.places,
        _given(wish.places, known),
        replaced_skills(wish.store, known),
    )
    if wish.has_plugin:
        skills = plan_removal(places.skills, given, known.skills_begun, theirs=theirs)
    else:
        skills = plan_skills(
            shipped_folder(),
            places.host,
            places.skills,
            given,
            begun=known.skills_begun,
            layout=wish.layout,
            replace=wish.replace,
            theirs=theirs,
        )
    if not wish.has_plugin:
        names = skill_names(skills.known)
        wish = wish._replace(linking=wish.linking._replace(skills=names))
    claims = claims_of(wish.store, known)
    put = _put_all(_parts(wish, claims), wish.store, claims, replace=wish.replace)
    files = dict(put.record.files)
    for path in {*theirs} - {*skills.known}:  # it came back, or is somebody's own by now
        del files[as_replaced(places.skills / path)]
    for change in skills.exchanges(places.skills):
        files[as_replaced(change.path)] = _exchanged(change)
    record = put.record._replace(
        gitmem=version,
        files=files,
        handlers=wish.handlers,
        mcp=wish.mcp,
        choices=wish.choices,
        group=wish.linking.own.group,
        skills=skills.known,
        skills_version=skills.version,
        skills_begun={},
        skills_folder=str(places.skills),
    )
    return put._replace(own=tuple(_env_example(wish.store)), skills=skills, record=record)


def plan_links(linking: Linking, known: Install) -> Plan:
    """What brings the linked folders to where they should be, and nothing else."""
    claims = claims_of(linking.store, known)
    return _put_all(linked_parts(linking, claims), linking.store, claims, stays=PROGRAM)


def choices_of(known: Install, **asked: bool | None) -> dict[str, bool]:
    """What somebody chose now or, where they say nothing now, the last time."""
    chosen = {name: choice for name, choice in asked.items() if choice is not None}
    return {**known.choices, **chosen}


def _put_all(
    parts: Iterable[Shared],
    store: Path,
    claims: Claims,
    *,
    replace: bool = False,
    stays: str = "",
) -> Plan:
    """What puts all PARTS in, and takes out those that were given and are wanted no longer.

    A part of the kind STAYS is not asked for, and stays all the same.
    """
    known = claims.own
    changes, files, remarks = [], dict(known.files), []
    given: dict[str, Mapping[str, Any]] = {}
    for part in joined(parts):
        path = str(part.path)
        change, merged = put_part(part)
        over = {
            kind: x for kind, x in known.given.get(path, {}).items() if kind not in merged.given
        }
        over = claims.unclaimed(part.path, over)
        if over and change.after is not None:
            before = text_before(store, known, part.path)
            text = given_part(part.path, over).take(merged.text, before, "")
            change = change._replace(after=text.encode())
        changes.append(change)
        files[path] = after(claims.kept(part.path), change)
        given |= {path: merged.given} if merged.given else {}
        if replace and part.has_former(text_of(part.path, change.before)):
            files[as_replaced(part.path)] = _exchanged(change)
        remarks += [f"{path}: {each}" for each in merged.remarks]
    done, kept = {str(change.path) for change in changes}, dict(files)
    for path in known.given.keys() - done:
        # A project that is not there now may be there tomorrow.
        if stays in known.given[path] or not Path(path).parent.is_dir():
            given[path] = known.given[path]
            continue
        changes.append(_taken(_given_part(path, claims), store, claims))
        kept[path] = after(files.pop(path), changes[-1])
    record = known._replace(files=files, given=given)
    skills = SkillPlan((), known.skills, known.skills_version)
    return Plan(tuple(changes), (), skills, record, tuple(remarks), kept=kept)


def _taken(part: Shared, store: Path, claims: Claims) -> Change:
    return take_part(part, store, claims.own, is_last=not claims.is_shared(part.path))


def _given_part(path: str, claims: Claims) -> Shared:
    """A file from which all goes that it was given, and that no other installation needs."""
    return given_part(Path(path), claims.unclaimed(Path(path), claims.own.given[path]))


def _given(places: Places, known: Install) -> Mapping[str, str]:
    """The skills that are ours there: a project that was cloned or moved has no record of them."""
    return known.skills or as_shipped(shipped_folder(), places.host, places.skills)


def _exchanged(change: Change) -> Kept:
    """What to remember of a file in which something of a former system gives way."""
    return Kept(digest(change.before or b""), digest(change.after or b""))


def _parts(wish: Wish, claims: Claims) -> Iterator[Shared]:
    """The files in which we have a part, or shall have, or had one."""
    places, known = wish.places, claims.own
    yield _hooks_part(places, wish.handlers, known, wish.replace)
    yield _memory_part(places, wish.section, wish.replace)
    if wish.replace:
        yield from _parts_beside(places, wish.other)
    if places.mcp and (wish.mcp or known.mcp):
        yield _mcp_part(places, places.mcp, wish.mcp, known)
    if places.policy:
        yield _policy_part(places.policy, known, wish.linking.permissions)
    yield from linked_parts(wish.linking, claims)
    if wish.launcher:
        yield launcher_part(wish.launcher, wish.program.place)


def _hooks_part(places: Places, wanted: Handlers, known: Install, replace: bool = False) -> Shared:
    def put(text: str) -> Merged:
        return put_hooks(take_former_hooks(text) if replace else text, wanted, known.handlers)

    def take(text: str, before: str, replaced: str) -> str:
        return put_former_hooks(take_hooks(text, before), replaced)

    return Shared(places.hooks, put, take, _has_former_hooks)


def _parts_beside(places: Places, other: Places | None) -> Iterator[Shared]:
    """The files besides our own, also of the OTHER scope, in which a former system has its part.

    A file that has two names by a link is changed by the first: two changes of it would collide.
    """
    done = {os.path.realpath(each) for each in (places.hooks, places.memory)}
    for where in (places, other) if other else (places,):
        for path in (*where.settings, *where.pages):
            part, real = _left_part(path), os.path.realpath(path)
            if real not in done and part.found_in(text_of(path, read_file(path))):
                yield part
            done.add(real)


def _left_part(path: Path) -> Shared:
    """A file into which we write nothing, and in which a former system has its hooks or section."""
    if path.suffix == ".md":
        return Shared(
            path,
            lambda text: Merged(take_former_sections(text)),
            lambda text, _, replaced: put_former_sections(text, replaced),
            lambda text: bool(former_sections(text)),
        )
    return Shared(
        path,
        lambda text: Merged(take_former_hooks(text)),
        lambda text, _, replaced: put_former_hooks(text, replaced),
        _has_former_hooks,
    )


def _has_former_hooks(text: str) -> bool:
    return take_former_hooks(text) != text


def _memory_part(places: Places, section: str, replace: bool = False) -> Shared:
    put = put_in_place if replace else put_section
    return Shared(
        places.memory,
        lambda text: Merged(put(text, section)),
        lambda text, before, replaced: _ended_as(give_place_back(text, replaced), before),
        lambda text: bool(former_sections(text)),
    )


def _mcp_part(places: Places, path: Path, wanted: dict[str, Any] | None, known: Install) -> Shared:
    def take(text: str, before: str, _: str = "") -> str:
        if is_json:
            return take_json(text, before, known.mcp)
        return _ended_as(take_toml(text, known.mcp), before)

    def put(text: str) -> Merged:
        if wanted is None:
            return Merged(take(text, ""))
        return (put_json if is_json else put_toml)(text, wanted, known.mcp)

    is_json = path.suffix == ".json"
    return Shared(path, put, take)


def _policy_part(path: Path, known: Install, is_wanted: bool = False) -> Shared:
    return Shared(
        path,
        lambda text: put_policy(path, text, known, is_wanted=is_wanted),
        lambda text, *_: take_policy(text),
        is_whole=True,
    )


def _env_example(store: Path) -> Iterator[Change]:
    from gitmem.resources import templates

    if read_file(store / ENV_EXAMPLE) is None:
        data = (templates() / "env.example").read_bytes()
        yield Change(store / ENV_EXAMPLE, None, data)


def plan_uninstall(linking: Linking, known: Install) -> Plan:
    """What leaves every file as it was."""
    places, store = linking.places, linking.store
    parts = [_hooks_part(places, {}, known), _memory_part(places, "")]
    parts += [_mcp_part(places, places.mcp, None, known)] if places.mcp else []
    parts += [_policy_part(places.policy, known)] if places.policy else []
    done = {part.path for part in parts}
    left_alone = (x for x in replaced_paths(known) if places.skills not in x.parents)
    parts += [_left_part(each) for each in left_alone if each not in done]
    claims = claims_of(store, known)
    missing = missing_projects(known)
    parts += [_given_part(each, claims) for each in known.given if not is_inside(each, missing)]
    if not known.gitmem:  # the record was lost, or there never was one
        linking = linking._replace(skills=skill_names(_given(places, known)))
        parts += linked_parts(linking, claims)
    left, remarks = missing_told(Store(store), known)
    changes = []
    for part in joined(parts):
        try:
            changes.append(_taken(part, store, claims))
        except Refused as error:  # one such file keeps no other from being as it was
            left[str(part.path)] = f"{error.message}; {error.hint}"
    given, theirs = _given(places, known), replaced_skills(store, known)
    skills = plan_removal(places.skills, given, known.skills_begun, theirs=theirs)
    stays = {*left, *(as_replaced(Path(path)) for path in left)}
    record = known._replace(
        files={x: kept for x, kept in known.files.items() if x in stays or is_inside(x, missing)},
        mcp=known.mcp if str(places.mcp) in left else None,
        given={x: each for x, each in known.given.items() if x in left or is_inside(x, missing)},
    )
    kept = {
        str(each.path): after(known.files[str(each.path)], each)
        for each in changes
        if str(each.path) in known.files
    }
    told = tuple(remarks), tuple(left.values())
    return Plan(tuple(changes), (), skills, record, *told, kept)


def _ended_as(text: str, before: str) -> str:
    """TEXT, at the end of which our part stood, with the line ends that it had there BEFORE us."""
    bare, old = text.rstrip("\r\n"), before.rstrip("\r\n")
    is_same = bare.rpartition("\n")[2] == old.rpartition("\n")[2]
    return bare + before[len(old) :] if before and is_same else text
