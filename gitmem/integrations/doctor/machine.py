"""Faults of the machine and of the store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from shlex import quote
from shutil import which

from gitmem.errors import BadInput, GitmemError
from gitmem.integrations.doctor.wiring import Checkup, Fault
from gitmem.memory.group import Group, Store
from gitmem.model.hints import Call, Hint, call
from gitmem.model.layout.layout import Layout
from gitmem.model.text.format import counted

OLDEST = (3, 11)
CONVERTED = {
    "reftable": "git -C {gitdir} refs migrate --ref-format=files",
    "sha256": (
        "mv {gitdir} {aside} && "
        "GIT_DEFAULT_REF_FORMAT=files git init -q --bare -b main --object-format=sha1 {gitdir} && "
        "git -C {aside} fast-export --all --signed-tags=strip | "
        "git -C {gitdir} fast-import --quiet"
    ),
}
"""Commands that convert a repository into a form that gitmem reads."""


def machine_faults(checkup: Checkup) -> Iterator[Fault]:
    """Programs that are missing or too old."""
    python = checkup.running.python[:2]
    if python < OLDEST:
        runs = ".".join(map(str, python))
        yield Fault(
            "python-old",
            f"Python {runs} is too old: gitmem needs 3.11",
            "run `uv tool install --python 3.12 .` in the checkout of gitmem",
        )
    if which("git", path=checkup.environ.get("PATH")) is None:
        yield Fault(
            "git-missing",
            "no git on PATH: memory works, but is never packed",
            Hint("install git, then run ", call("maintain")),
        )


def store_faults(store: Store, group: str) -> Iterator[Fault]:
    """Faults of the store and its groups; GROUP is the one that sessions here use."""
    if not store.root.is_dir():
        yield Fault("store-missing", f"no store {store.root}", Hint(call("init")))
        return
    yield from _owner_faults(store)
    yield from _config_faults(store)
    if group not in store.names():
        made = Hint(call("init", group=group))
        yield Fault("group-missing", f"no group {group!r} in the store", made)
    for name in store.names():
        yield from _group_faults(store, name)
    yield from _late_faults(store)


def _late_faults(store: Store) -> Iterator[Fault]:
    """Hooks that were ended at their deadline."""
    from time import time

    from gitmem.integrations.hooks.deadline import NAME, late_hooks

    found = late_hooks(str(store.root), time())
    if found:
        events = ", ".join(sorted({event for event, _ in found}))
        last = datetime.fromtimestamp(found[-1][1]).astimezone()
        yield Fault(
            "hooks-late",
            f"{counted(len(found), 'hook')} took too long and gave no answer in the last week "
            f"({events}; the last one at {last:%Y-%m-%d %H:%M})",
            Hint(
                call("maintain"),
                f" updates the caches; then clear this list: `rm {quote(str(store.root / NAME))}`",
            ),
        )


def _config_faults(store: Store) -> Iterator[Fault]:
    from gitmem.memory.admin.link import links

    try:
        found = links(store)
    except BadInput as error:
        yield Fault("config-broken", error.message, error.hint)
        return
    for each in found:
        if not each.exists:
            what = f"{each.folder} is linked to the group {each.group!r}, which is missing"
            yield Fault("link-dangling", what, Hint(call("link", each.folder, remove=True)))


def _written_to(store: Store) -> Iterator[Path]:
    """The folders in which a write creates files; `sudo` leaves some of them to root."""
    root = store.root
    yield from (root, root / "repos", root / "groups")
    for name in store.names() if os.access(root / "repos", os.R_OK) else ():
        gitdir = store.gitdir(name)
        yield from (gitdir, gitdir / "objects", gitdir / "refs" / "heads", gitdir / "gitmem")
        yield store.default_worktree(name)


def _owner_faults(store: Store) -> Iterator[Fault]:
    root = store.root
    for path in _written_to(store):
        with suppress(FileNotFoundError):
            owner = path.stat().st_uid
            if owner != os.geteuid():
                yield Fault(
                    "wrong-owner",
                    f"{path} belongs to user {owner}, and this is user {os.geteuid()}",
                    f"`sudo chown -R {os.geteuid()} {quote(str(root))}`",
                )
                return
            if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
                closed = f"the mode of {path} denies its owner access"
                yield Fault("store-closed", closed, f"`chmod -R u+rwX {quote(str(root))}`")
                return


def _group_faults(store: Store, name: str) -> Iterator[Fault]:
    gitdir = store.gitdir(name)
    found = store.unread(name)
    if found and found.form in CONVERTED:
        way = CONVERTED[found.form].format(
            gitdir=quote(str(gitdir)), aside=quote(str(gitdir.with_suffix(f".{found.form}")))
        )
        hint = Hint(f"`{way}`, then ", call("check", group=name, repair=True))
        yield Fault(found.form, f"the repository of {name!r}: {found.why}", hint)
        return
    try:
        yield from _layout_faults(store, name)
    except (GitmemError, OSError) as error:
        what = error.message if isinstance(error, GitmemError) else str(error)
        yield Fault("group-damaged", what, Hint(call("check", group=name)))


def _hidden_faults(group: Group, layout: Layout, edit: Call) -> Iterator[Fault]:
    """Layers whose files are never captured, because a `.gitignore` there names them."""
    from gitmem.memory.scope import gitignored_layers

    known = {path for path, _ in group.repository.snapshot().files()}
    found = ", ".join(gitignored_layers(group.worktree, layout, known))
    if found:
        what = f"{found} of the group {group.name!r} is ignored by a .gitignore in its folder"
        yield Fault("layer-ignored", what, Hint(f"add `include: [{found}]` with ", edit))


def _layout_faults(store: Store, name: str) -> Iterator[Fault]:
    from gitmem.memory.layouts import layout_at

    with closing(Group(store, name)) as group:
        loaded = layout_at(group, group.repository.snapshot())
        edit = call("edit", "gitmem.yaml", group=name)
        if loaded.problem:
            yield Fault("layout-broken", f"the layout of {name!r}: {loaded.problem}", Hint(edit))
        if group.is_outside:
            yield from _hidden_faults(group, loaded.layout, edit)
