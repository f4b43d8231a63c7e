"""The machine and the store, as a hook will find them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from shlex import quote
from shutil import which

from gitmem.errors import BadInput, GitmemError
from gitmem.integrations.doctor.findings import Finding
from gitmem.memory.group import Group, Store
from gitmem.model.layout.layout import Layout
from gitmem.model.text.format import counted

OLDEST = (3, 11)
CONVERTED = {
    "reftable": "git -C {gitdir} refs migrate --ref-format=files && {repaired}",
    "sha256": (
        "mv {gitdir} {aside} && "
        "GIT_DEFAULT_REF_FORMAT=files git init -q --bare -b main --object-format=sha1 {gitdir} && "
        "git -C {aside} fast-export --all --signed-tags=strip | "
        "git -C {gitdir} fast-import --quiet && {repaired}"
    ),
}
"""How a repository becomes one that we can read."""


def machine_findings(environ: Mapping[str, str], python: tuple[int, ...]) -> Iterator[Finding]:
    """What the machine lacks."""
    if python[:2] < OLDEST:
        runs = ".".join(map(str, python[:2]))
        yield Finding(
            "python-old",
            f"this is Python {runs}, and gitmem needs 3.11",
            "install it anew under a newer Python: `uv tool install --python 3.12 gitmem-cli`",
        )
    if which("git", path=environ.get("PATH")) is None:
        yield Finding(
            "git-missing",
            "there is no git: memory works, but is never packed",
            "install git, then run `gitmem maintain`",
        )


def store_findings(store: Store, group: str) -> Iterator[Finding]:
    """What keeps us from the memory itself."""
    if not store.root.is_dir():
        yield Finding("store-missing", f"there is no store {store.root}", "`gitmem init`")
        return
    yield from _owner_findings(store)
    yield from _config_findings(store)
    if group not in store.names():
        made = f"`gitmem init -g {quote(group)}`"
        yield Finding("group-missing", f"the store has no group {group!r}", made)
    for name in store.names():
        yield from _group_findings(store, name)
    yield from _late_findings(store)


def _late_findings(store: Store) -> Iterator[Finding]:
    """Hooks that had to end without a word."""
    from time import time

    from gitmem.integrations.hooks.deadline import NAME, late_hooks

    found = late_hooks(str(store.root), time())
    if found:
        events = ", ".join(sorted({event for event, _ in found}))
        last = datetime.fromtimestamp(found[-1][1]).astimezone()
        yield Finding(
            "hooks-late",
            f"{counted(len(found), 'hook')} took too long and said nothing in the last week "
            f"({events}; the last one at {last:%Y-%m-%d %H:%M})",
            "`gitmem maintain` brings caches up to date; then forget this: "
            f"`rm {quote(str(store.root / NAME))}`",
        )


def _config_findings(store: Store) -> Iterator[Finding]:
    from gitmem.memory.admin.link import links

    try:
        found = links(store)
    except BadInput as error:
        yield Finding("config-broken", error.message, error.hint)
        return
    for each in found:
        if not each.exists:
            said = f"{each.folder} is linked to the group {each.group!r}, which is not there"
            yield Finding("link-dangling", said, f"`gitmem link {quote(each.folder)} --remove`")


def _written_to(store: Store) -> Iterator[Path]:
    """The folders in which a write makes files; `sudo gitmem` leaves some of them to root."""
    root = store.root
    yield from (root, root / "repos", root / "groups")
    for name in store.names() if os.access(root / "repos", os.R_OK) else ():
        gitdir = store.gitdir(name)
        yield from (gitdir, gitdir / "objects", gitdir / "refs" / "heads", gitdir / "gitmem")
        yield store.default_worktree(name)


def _owner_findings(store: Store) -> Iterator[Finding]:
    root = store.root
    for path in _written_to(store):
        with suppress(FileNotFoundError):
            owner = path.stat().st_uid
            if owner != os.geteuid():
                yield Finding(
                    "wrong-owner",
                    f"{path} belongs to user {owner}, and this is user {os.geteuid()}",
                    f"sudo chown -R {os.geteuid()} {quote(str(root))}",
                )
                return
            if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
                closed = f"{path} is closed to its owner"
                yield Finding("store-closed", closed, f"chmod -R u+rwX {quote(str(root))}")
                return


def _group_findings(store: Store, name: str) -> Iterator[Finding]:
    gitdir = store.gitdir(name)
    found = store.unread(name)
    if found and found.form in CONVERTED:
        way = CONVERTED[found.form].format(
            gitdir=quote(str(gitdir)),
            aside=quote(str(gitdir.with_suffix(f".{found.form}"))),
            repaired=f"gitmem check --repair -g {quote(name)}",
        )
        yield Finding(found.form, f"the repository of {name!r}: {found.said}", way)
        return
    try:
        yield from _layout_findings(store, name)
    except (GitmemError, OSError) as error:
        said = error.message if isinstance(error, GitmemError) else str(error)
        yield Finding("group-damaged", said, f"`gitmem check -g {quote(name)}`")


def _hidden_findings(group: Group, layout: Layout, mend: str) -> Iterator[Finding]:
    """Notes that are never captured, because a `.gitignore` beside them names their folder."""
    from gitmem.memory.scope import gitignored_layers

    known = {path for path, _ in group.repository.snapshot().files()}
    found = ", ".join(gitignored_layers(group.worktree, layout, known))
    if found:
        said = f"{found} of the group {group.name!r} is ignored by a .gitignore in its folder"
        yield Finding("layer-ignored", said, f"add `include: [{found}]` with {mend}")


def _layout_findings(store: Store, name: str) -> Iterator[Finding]:
    from gitmem.memory.layouts import layout_at

    group = Group(store, name)
    try:
        loaded = layout_at(group, group.repository.snapshot())
        mend = f"`gitmem edit -g {quote(name)} gitmem.yaml`"
        if loaded.problem:
            yield Finding("layout-broken", f"the layout of {name!r}: {loaded.problem}", mend)
        if group.is_outside:
            yield from _hidden_findings(group, loaded.layout, mend)
    finally:
        group.close()
