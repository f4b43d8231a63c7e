"""The six commands of the Anthropic memory tool (`memory_20250818`) on a group.

Every answer is the text in the documentation of the tool. A change is one commit; a deletion moves
to the archive. The SDK is not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

from gitmem.errors import Conflict, GitmemError, PathNotFound, PolicyRefused
from gitmem.integrations.memory_tool.files import (
    ROOT,
    NotDone,
    VisibleFiles,
    capture_edits,
    check_links,
    inside,
)
from gitmem.integrations.memory_tool.protocol import (
    Command,
    change_view,
    file_view,
    folder_view,
    integer,
    line_range,
    text,
)
from gitmem.memory.context.mask import hidden, masked
from gitmem.memory.group import Group
from gitmem.memory.read.read import Read, read
from gitmem.memory.write.apply import BlobMismatch
from gitmem.model.hints import in_shell

ATTEMPTS = 20
"""How often a change is retried when another writer was faster."""

COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
Changed = tuple[str, str]
"""The new text of a file, and the answer."""

# A model cannot add options to its call: these hints say what it can do.
HINTS = {
    "secret-found": "keep the value elsewhere, and write down where",
    "markers-found": "write the text without them, or put an example in fenced code",
    "shrink-refused": "change it in smaller steps, or delete it (the archive keeps it) and create "
    "it again",
    "append-only": "add to its end with insert",
    "write-once": "it cannot be changed: create a new file",
    "protected": "only a person can change it",
}


class Answer(NamedTuple):
    """The answer for the model."""

    content: str
    is_error: bool = False


@contextmanager
def reopened(group: Group) -> Iterator[Group]:
    """GROUP opened once more, for a thread whose caller may use or close theirs meanwhile."""
    with closing(group.other(group.name)) as ours:
        yield ours


class MemoryCommands:
    """The commands on one group.

    OVERWRITE: create may replace a file. ALLOW_SHRINK: a change may remove most of a file.
    """

    def __init__(
        self, group: Group, *, overwrite: bool = False, allow_shrink: bool = False
    ) -> None:
        self._group = group
        self._overwrite, self._allow_shrink = overwrite, allow_shrink

    def answer(self, command: Command) -> Answer:
        """Run one command; a refusal is an answer, too."""
        name = command.get("command")
        if name not in COMMANDS:
            known = ", ".join(COMMANDS)
            return Answer(f"Error: Unknown command: {name}. There are: {known}", True)
        do: Callable[[Command], str] = getattr(self, f"_{name}")
        answer = _answered(lambda: do(command))
        return answer._replace(content=hidden([self._group.gitdir], answer.content))

    def clear(self) -> Answer:
        """Move all of memory to the archive, as one commit."""
        return _answered(self._clear)

    def _view(self, command: Command) -> str:
        given, lines = text(command, "path"), line_range(command)
        [path], visible = self._resolved(given)
        if visible.is_folder(path):
            start = f"{path}/" if path else ""
            files = visible.files(path)
            return folder_view(given, [(x.path.removeprefix(start), x.bytes or 0) for x in files])
        if not visible.is_file(path):
            raise NotDone(f"The path {given} does not exist. Please provide a valid path.")
        found = read(self._group, path)
        snapshot = self._group.repository.snapshot(found.commit)
        return file_view(given, masked(snapshot, path, _text_of(found, given)), lines)

    def _create(self, command: Command) -> str:
        given, content = text(command, "path"), text(command, "file_text")
        [path], visible = self._resolved(given)
        visible.check_writable(path, given)
        if visible.is_taken(path) and not (self._overwrite and path):
            raise NotDone(f"Error: File {given} already exists")
        try:
            self._write(path, content, create=not self._overwrite)
        except Conflict as error:
            if "blob" not in error.facts:
                raise
            raise NotDone(f"Error: File {given} already exists") from error
        return f"File created successfully at: {given}"

    def _str_replace(self, command: Command) -> str:
        given, old = text(command, "path"), text(command, "old_str")
        new = text(command, "new_str", default="")

        def replaced(content: str) -> Changed:
            at = _only_place(content, old, given)
            changed = content[:at] + new + content[at + len(old) :]
            return changed, change_view(changed, at)

        absent = f"Error: The path {given} does not exist. Please provide a valid path."
        return self._changed(given, replaced, absent)

    def _insert(self, command: Command) -> str:
        given, added = text(command, "path"), text(command, "insert_text")
        line = integer(command, "insert_line")

        def inserted(content: str) -> Changed:
            lines = content.removesuffix("\n").split("\n") if content else []
            if not 0 <= line <= len(lines):
                raise NotDone(
                    f"Error: Invalid `insert_line` parameter: {line}. It should be within the "
                    f"range of lines of the file: [0, {len(lines)}]"
                )
            lines.insert(line, added.rstrip("\n"))
            joined = "\n".join(lines)
            done = f"The file {given} has been edited."
            return joined if joined.endswith("\n") else f"{joined}\n", done

        return self._changed(given, inserted, f"Error: The path {given} does not exist")

    def _delete(self, command: Command) -> str:
        from gitmem.memory.write.move import remove

        given = text(command, "path")
        [path], visible = self._resolved(given)
        if not path:
            raise NotDone(f"Cannot delete the {ROOT} directory itself")
        _check_there(visible, path, given)
        if visible.is_archived(path):
            raise NotDone(f"Error: {given} is in the archive already, where nothing is deleted")
        try:
            remove(self._group, path)
        except PathNotFound as error:
            raise _absent(given) from error
        return f"Successfully deleted {given}"

    def _rename(self, command: Command) -> str:
        from gitmem.memory.write.move import move

        given, renamed = text(command, "old_path"), text(command, "new_path")
        [old, new], visible = self._resolved(given, renamed)
        if not old:
            raise NotDone(f"Cannot rename the {ROOT} directory itself")
        visible.check_writable(new, renamed)
        if visible.is_taken(new):
            raise NotDone(f"Error: The destination {renamed} already exists")
        _check_there(visible, old, given)
        try:
            moved = move(self._group, old, new).moved
        except PathNotFound as error:
            raise _absent(given) from error
        source, target = moved[0]
        # If a folder appeared at the new name meanwhile, the file is inside it.
        real = target.removesuffix(source.removeprefix(old))
        return f"Successfully renamed {given} to {renamed if real == new else f'{ROOT}/{real}'}"

    def _clear(self) -> str:
        from gitmem.memory.curate.archive import archive
        from gitmem.memory.entries.targets import Target

        [_], visible = self._resolved(ROOT)
        targets = [Target(each.path) for each in visible.files("")]
        if targets:
            archive(self._group, targets)
        return "All memory cleared"

    def _resolved(self, *given: str) -> tuple[list[str], VisibleFiles]:
        """The paths in the group, and its files after capturing edits of others."""
        paths = [inside(each) for each in given]
        for path, named in zip(paths, given, strict=True):
            check_links(self._group.worktree, path, named)
        capture_edits(self._group, paths)
        return paths, VisibleFiles(self._group)

    def _changed(self, given: str, change: Callable[[str], Changed], absent: str) -> str:
        """Change a file based on the version that was read; retry if it changes meanwhile."""
        for attempt in range(ATTEMPTS):
            [path], visible = self._resolved(given)
            if not visible.is_file(path):
                no_file = f"Error: The path {given} is not a file."
                raise NotDone(no_file if visible.is_folder(path) else absent)
            visible.check_writable(path, given)
            found = read(self._group, path)
            changed, answer = change(_text_of(found, given))
            try:
                self._write(path, changed, if_match=found.blob)
            except BlobMismatch:
                if attempt + 1 == ATTEMPTS:
                    raise
            else:
                break
        return answer

    def _write(self, path: str, content: str, *, create: bool = False, if_match: str = "") -> None:
        from gitmem.memory.write.write import Allowed, Edit, write

        edit = Edit(f"./{path}", content, create=create, if_match=if_match)
        write(self._group, [edit], allowed=Allowed(shrink=self._allow_shrink))


def _answered(do: Callable[[], str]) -> Answer:
    try:
        return Answer(do())
    except NotDone as error:
        return Answer(error.message, True)
    except GitmemError as error:
        return Answer(_told(error), True)


def _told(error: GitmemError) -> str:
    """The error with a hint for a model."""
    kind = str(error.facts.get("policy")) if isinstance(error, PolicyRefused) else error.code
    message, hint = map(in_shell, (error.message, HINTS.get(kind, error.hint)))
    return f"Error: {message}\nHint: {hint}" if hint else f"Error: {message}"


def _text_of(found: Read, given: str) -> str:
    try:
        return found.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotDone(f"Error: {given} is not text: not UTF-8 at byte {error.start}") from error


def _only_place(content: str, old: str, given: str) -> int:
    """The offset of OLD in CONTENT; NotDone unless it occurs once."""
    if not old:
        raise NotDone("No replacement was performed, old_str is empty. Use insert to add text")
    count = content.count(old)
    if not count:
        raise NotDone(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {given}."
        )
    if count > 1:
        raise NotDone(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{', '.join(map(str, _lines_with(content, old)))}. Please ensure it is unique"
        )
    return content.index(old)


def _lines_with(content: str, old: str) -> list[int]:
    """The line of each occurrence of OLD."""
    found, line, at, offset = [], 1, 0, content.find(old)
    while offset != -1:
        line, at = line + content.count("\n", at, offset), offset
        found.append(line)
        offset = content.find(old, offset + 1)
    return found


def _check_there(visible: VisibleFiles, path: str, given: str) -> None:
    """Refuse to move a missing path, or a folder with files that must stay."""
    if not (visible.is_file(path) or visible.is_folder(path)):
        raise _absent(given)
    if not visible.is_whole(path):
        raise NotDone(f"Error: {given} also contains other files; name the memory files in it")


def _absent(given: str) -> NotDone:
    return NotDone(f"Error: The path {given} does not exist")
