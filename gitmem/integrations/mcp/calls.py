"""The calls behind the tools: each does one operation on a group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gitmem.errors import BadInput, Damaged, PathNotFound, PathRefused, PolicyRefused
from gitmem.integrations.mcp.groups import Endpoint, opened
from gitmem.integrations.mcp.status import state
from gitmem.integrations.mcp.texts import (
    ToolResult,
    changed,
    excerpt_of,
    found,
    history,
    listed_entries,
    listed_files,
    shown_file,
)
from gitmem.memory.context.mask import Masks, masked
from gitmem.memory.entries.targets import is_address
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_of
from gitmem.memory.read.memory_actions import DEFAULT_PATH
from gitmem.memory.read.read import known_path
from gitmem.memory.write.apply import Edit
from gitmem.memory.write.target import checked_edit, resolve_edits
from gitmem.model.access import MAIN
from gitmem.model.entries.blocks import split_address
from gitmem.model.hints import Hint, call
from gitmem.model.layout.archives import is_archived
from gitmem.model.layout.layout import FILE, Layout, is_glob, variables_in
from gitmem.model.paths import check_path, fold

if TYPE_CHECKING:
    from gitmem.memory.read.log import LogEntry

Arguments = dict[str, Any]


def local(path: str) -> str:
    """PATH, which must be relative to the root of the group.

    A person may name a file by its path on disk. A model should not know that path, and the checks
    here do not cover such a second name.
    """
    return check_path(path) if path.startswith(("/", "\\")) else path


def file_named(group: Group, path: str) -> str:
    """The file at PATH, or the file of the layer with that name, if it has just one.

    As in a write, the layer wins over a folder of that name.
    """
    is_file = not path or group.repository.snapshot().oid(path) is not None
    layer = None if is_file else layout_of(group).layer(path)
    if layer is None or is_glob(layer.path) or variables_in(layer.path):
        return path
    return layer.path


def pattern_named(group: Group, path: str) -> str:
    """PATH as a pattern; the name of a layer means its files, unless a folder has that name."""
    is_there = not path or group.repository.snapshot().node(path) is not None
    layer = None if is_there else layout_of(group).layer(path)
    if layer is None:
        return path
    found = layer.path
    for name in variables_in(found):
        found = found.replace(f"{{{name}}}", "*")
    return found


def check_read(group: Group, path: str) -> None:
    """Refuse a file, or the file of an entry, that the layout does not allow."""
    _check(layout_of(group), file_part(group, path), "reading")


def check_entries(group: Group, path: str) -> None:
    """Refuse the address of an entry in such a file: the error for a typo lists other entries."""
    file, name = split_address(path)
    if name and not layout_of(group).allows(path):
        _check(layout_of(group), file_named(group, file), "reading")


def check_edit(group: Group, edit: Edit) -> None:
    """Refuse to write to a file that the layout does not allow, whichever way EDIT names it."""
    layout, checked = layout_of(group), checked_edit(group, edit)
    for each in resolve_edits([checked], layout, group.repository.snapshot(), group.now()):
        path = each.edit.path
        _check(layout, path, "writing")
        _check_no_layout(path)
        _check_in_use(layout, path)


def check_restore(group: Group, path: str, *, older: bool) -> None:
    """Refuse to restore a file that the layout does not allow; OLDER: an earlier version."""
    layout = layout_of(group)
    file = known_path(group, group.repository.snapshot(), file_part(group, path))
    _check(layout, file, "restoring")
    _check_no_layout(file)
    if older and not is_address(group, path):
        _check_in_use(layout, file)


def _check_in_use(layout: Layout, path: str) -> None:
    if is_archived(layout, path):
        raise PathRefused(
            f"{path} is in the archive, which is read-only",
            hint=Hint("restore it first: ", call("restore", path)),
            path=path,
            rule="archive",
        )


def _check_no_layout(path: str) -> None:
    """Refuse the layout: whoever may change it can lift every protection."""
    if fold(path) == FILE:
        raise PolicyRefused(
            f"{FILE} is the layout of this group; only a person may change it",
            hint=Hint("ask a person to change it: ", call("edit", FILE)),
            path=FILE,
        )


def file_part(group: Group, path: str) -> str:
    """PATH, or the file of the entry that PATH addresses."""
    if path and is_address(group, path):
        return file_named(group, split_address(path)[0])
    return path


def hush(group: Group, error: PathNotFound) -> None:
    """Remove names of files that the layout does not allow from ERROR."""
    facts: dict[str, Any] = error.facts
    named = [*facts.get("near", ()), facts.get("moved_to", "")]
    if not all(layout_of(group).allows(each) for each in named if each):
        error.message = f"no file {facts['path']!r} in group {group.name}"
        error.hint = Hint("see ", call("list"))


def _check(layout: Layout, path: str, action: str) -> None:
    plain = path.replace("\\", "/").removeprefix("./")
    if not layout.allows(plain):
        raise PathRefused(
            f"the layout does not allow {action} {path or 'the whole group'!r} here",
            hint=f"allowed: {', '.join(layout.allow)}",
            path=path,
            rule="allow",
        )


def memory_search(endpoint: Endpoint, given: Arguments) -> ToolResult:
    """Search memory and transcripts."""
    from gitmem.memory.read import memory_actions

    with opened(endpoint, given["group"]) as group:
        searched = memory_actions.memory_search(
            group,
            given["query"],
            sources=given["source"],
            top_k=given["limit"],
            since=given["since"],
            layers=(given["layer"],) if given["layer"] else (),
            include_archive=given["archive"],
        )
        return ToolResult(found(group.name, searched))


def memory_get(endpoint: Endpoint, given: Arguments) -> ToolResult:
    """Read a file or an entry, now or at an earlier time."""
    with opened(endpoint, given["group"]) as group:
        got = file_text(group, given["path"] or DEFAULT_PATH, given["at"])
        edited = not given["at"] and _is_edited(group, got.path)
        part = excerpt_of(got.text, given["offset"])
        return ToolResult(shown_file(got.name, got.version, got.commit, part, edited))


class Text(NamedTuple):
    """The text of a file or an entry, as a model may see it."""

    name: str
    """The path of the file, or the address of the entry."""
    path: str
    version: str
    commit: str
    text: str


def file_text(group: Group, path: str, at: str = "") -> Text:
    """The text of a file, or of an entry by its address, now or AT an earlier time."""
    from gitmem.memory.entries.targets import is_address

    if is_address(group, path):
        return _entry(group, path, at)
    return _file(group, file_named(group, path), at)


def _file(group: Group, path: str, at: str) -> Text:
    from gitmem.memory.read import memory_actions
    from gitmem.memory.read.read import read

    check_read(group, path)
    if at:
        got = read(group, path.replace("\\", "/"), at=at)
    else:
        got = memory_actions.memory_get(group, path)
    text = masked(group.repository.snapshot(got.commit), got.path, got.text)
    return Text(got.path, got.path, got.blob, got.commit, text)


def _is_edited(group: Group, path: str) -> bool:
    """Whether the work tree has another version; False where the work tree is lost."""
    from gitmem.memory.write.open_edits import pending_edits

    with suppress(Damaged, OSError):
        return bool(pending_edits(group, [path]).edits)
    return False


def _entry(group: Group, address: str, at: str) -> Text:
    from gitmem.memory.entries.targets import locate_entry
    from gitmem.memory.layouts import layout_at
    from gitmem.memory.resolve import resolve

    check_read(group, address)
    snapshot = group.repository.snapshot(resolve(group, at or None))
    path, entry = locate_entry(group, snapshot, layout_at(group, snapshot).layout, address)
    name, version = f"{path}#{entry.slug}", snapshot.oid(path) or ""
    text = masked(snapshot, path, entry.block)
    return Text(name, path, version, snapshot.commit, text)


def memory_write(endpoint: Endpoint, given: Arguments) -> ToolResult:
    """Replace a file."""
    return _written(endpoint, given, _edit(given, create=given["create"]))


def memory_append(endpoint: Endpoint, given: Arguments) -> ToolResult:
    """Add to a file."""
    return _written(endpoint, given, _edit(given, append=True))


def memory_entry(endpoint: Endpoint, given: Arguments) -> ToolResult:
    """Create or change one entry of a file."""
    edit = _edit(given, entry=given["title"])
    if given["text"] == "":
        edit = edit._replace(text=None)  # set only fields, or create a bare title
    return _written(endpoint, given, edit)


def _edit(given: Arguments, **more: Any) -> Edit:
    text = given["text"]
    return Edit(
        given["path"],
        text if not text or text.endswith("\n") else f"{text}\n",
        if_match=given.get("if_match", ""),
        set=tuple(given.get("fields", {}).items()),
        user=given.get("user", ""),
        date=given.get("date", ""),
        **more,
    )


def _written(endpoint: Endpoint, given: Arguments, edit: Edit) -> ToolResult:
    from gitmem.memory.write.write import Allowed, write

    allowed = Allowed(shrink=given.get("allow_shrink", False))
    with opened(endpoint, given["group"]) as group:
        check_edit(group, edit)
        done = write(group, [edit], reason=given["reason"], allowed=allowed)
        return changed("written", done, group.take_rejoined())


def memory_list(endpoint: Endpoint, given: Arguments) -> ToolResult:
    """List the files or the entries of the group."""
    from gitmem.memory.entries.entries import entries
    from gitmem.memory.layouts import layout_of
    from gitmem.memory.read.listing import list_files

    path, at, offset = given["path"], given["at"] or None, given["offset"]
    with opened(endpoint, given["group"]) as group:
        allows = layout_of(group).allows
        if given["entries"]:
            check_entries(group, path)
            listed = entries(group, path, at=at)
            kept = tuple(each for each in listed.entries if allows(each.path))
            return listed_entries(listed._replace(entries=kept), offset)
        files = list_files(group, pattern_named(group, path), at=at).files
        return listed_files([each for each in files if allows(each.path)], offset)


def memory_history(endpoint: Endpoint, given: Arguments) -> ToolResult:
    """List commits with author, time and reason."""
    from itertools import islice

    from gitmem.memory.read.log import iter_log, log

    offset, limit = given["offset"], given["limit"]
    with opened(endpoint, given["group"]) as group:
        path = file_part(group, file_named(group, given["path"]))
        if path:
            check_read(group, path)
        every = iter_log(group, path, since=given["since"], agent=given["agent"])
        rows = list(islice(_allowed(group, every), offset, offset + limit + 1))
        if path and not rows:
            log(group, path, limit=1)  # raises for a path that never existed
        masks = Masks({"": group.repository.snapshot()})
        shown = [_without_secrets(masks, each) for each in rows[:limit]]
        return history(shown, offset, len(rows) > limit, group.zone)


def _without_secrets(masks: Masks, entry: LogEntry) -> LogEntry:
    """ENTRY with credentials in its author's texts masked."""
    title, subject, reason = (
        masks.mixed("", each) for each in (entry.title, entry.subject, entry.reason)
    )
    return entry._replace(title=title, subject=subject, reason=reason)


def _allowed(group: Group, entries: Iterable[LogEntry]) -> Iterator[LogEntry]:
    """ENTRIES that concern files the layout allows, naming only those files."""
    from gitmem.memory.layouts import layout_of

    layout = layout_of(group)
    for each in entries:
        paths = tuple(filter(layout.allows, each.paths)) if layout.allow else each.paths
        if paths or not each.paths:
            yield each._replace(paths=paths)


def memory_restore(endpoint: Endpoint, given: Arguments) -> ToolResult:
    """Restore an earlier version of a file or an entry."""
    from gitmem.memory.recover.restore import restore
    from gitmem.memory.write.write import Allowed

    at, previous = given["at"], given["previous"]
    if at and previous:
        raise BadInput("both `at` and `previous` are given", hint="give one of them")
    with opened(endpoint, given["group"]) as group:
        path = file_named(group, given["path"])
        if path.strip("./") == "":
            raise BadInput(
                "no file or entry given",
                hint=Hint("only a person can restore the whole group: ", call("restore", all=True)),
            )
        check_restore(group, path, older=bool(at or previous))
        reason = given["reason"]
        done = restore(group, path, at=at, previous=previous, reason=reason, allowed=Allowed())
        return changed("restored", done, group.take_rejoined())


def memory_status(endpoint: Endpoint, given: Arguments) -> ToolResult:
    """Show the state of the group."""
    from gitmem.memory.layouts import layout_of
    from gitmem.memory.read.status import status

    with opened(endpoint, given["group"]) as group:
        groups = endpoint.store.names() if endpoint.acting == MAIN else ()
        return state(status(group), layout_of(group), groups, group.zone)
