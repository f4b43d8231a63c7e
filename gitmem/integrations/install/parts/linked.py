"""The parts for linked folders: permission rules, sandbox roots, redirects and git excludes.

To give a linked folder one more part, yield it from `linked_parts`, let its `put` record in
`PartAdded.given` what is ours, and add a function to `TAKEN_BACK` that removes it. `install`,
`uninstall` and `rewire` do the rest. Several parts may name the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.errors import Refused
from gitmem.integrations.host_memory.choices import CHOICE
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install.host_files import settings_in
from gitmem.integrations.install.links import Linking
from gitmem.integrations.install.part import FilePart, PartAdded
from gitmem.integrations.install.parts.hooks import events_wired
from gitmem.integrations.install.parts.host_memory import MemoryRedirect, memory_part, take_memory
from gitmem.integrations.install.parts.launcher import PROGRAM, take_launcher
from gitmem.integrations.install.parts.permissions import ALLOW, put_rules, take_rules
from gitmem.integrations.install.parts.sandbox import ROOTS, put_roots, take_roots
from gitmem.integrations.install.record import FileClaims
from gitmem.memory.admin.link import exclusion
from gitmem.memory.group import Store

EXCLUDE = "exclude"


def linked_parts(linking: Linking, claims: FileClaims) -> Iterator[FilePart]:
    """The parts of all folders, each for the group that the folder uses."""
    parts = [*_rule_parts(linking, claims), *_memory_parts(linking, claims)]
    yield from parts
    for file, lines in _excludes(linking, [each.path for each in parts], claims).items():
        yield _list_part(file, EXCLUDES, lines, claims.ours(file, EXCLUDE, lines))
    if linking.permissions and linking.where.roots:
        path, roots = linking.where.roots, linking.roots()
        yield _list_part(path, SANDBOX, roots, _ours(linking, path, ROOTS, roots, claims))


def _rule_parts(linking: Linking, claims: FileClaims) -> Iterator[FilePart]:
    """A file that is unreadable stops no other, unless it is that of the installation itself."""
    for path, rules in linking.rules() if linking.permissions else ():
        ours = _ours(linking, path, ALLOW, rules, claims)
        # Without its own rules an installation is of no use to a model.
        yield _list_part(path, RULES, rules, ours, is_needed=path == linking.where.rules)


def _memory_parts(linking: Linking, claims: FileClaims) -> Iterator[FilePart]:
    for each in linking.memory:
        own = claims.own.given.get(str(each.settings), {}).get(CHOICE)
        given: dict[str, str] = own or next(iter(claims.of_others(each.settings, CHOICE)), {})
        # A redirect stays while its group is damaged, say; only another link changes it.
        redirect = each if each.directory or not given else MemoryRedirect(each.settings, **given)
        if given or not each.problem:
            yield memory_part(HOSTS[linking.where.host], redirect, given)


def _excludes(linking: Linking, paths: Sequence[Path], claims: FileClaims) -> dict[Path, list[str]]:
    """The lines for the exclude files of projects in which gitmem creates a file of PATHS."""
    local = HOSTS[linking.where.host].project.local
    found: dict[Path, list[str]] = {}
    for path in dict.fromkeys(paths):
        if not any(path == each / local for each in linking.projects):
            continue
        record = claims.record_of(path)
        is_made = record.before is None if record else not path.exists()
        rule = exclusion(Store(linking.store), path) if is_made else None
        if rule:
            found.setdefault(rule.file, []).append(rule.line)
    return found


def _ours(
    linking: Linking, path: Path, kind: str, values: tuple[str, ...], claims: FileClaims
) -> tuple[str, ...]:
    """The values of KIND at PATH that are ours; where the record was lost, all VALUES."""
    if not claims.own.gitmem and events_wired(settings_in(linking.where.hooks)):
        return values
    return claims.ours(path, kind, values)


def _list_part(
    path: Path,
    kind: ListKind,
    values: Sequence[str],
    ours: Sequence[str],
    *,
    is_needed: bool = False,
) -> FilePart:
    """A file whose list of KIND has VALUES, of which OURS were added before.

    An unreadable file is a remark, unless its part IS_NEEDED.
    """

    def put(text: str) -> PartAdded:
        try:
            return kind.put(text, values, ours)
        except Refused as error:
            if is_needed:
                raise
            return PartAdded(text, (f"{error.message}; {kind.lost}",), {kind.name: list(ours)})

    return FilePart(path, put, lambda text, before, _: kind.take(text, before, ours))


def _put_lines(text: str, lines: Sequence[str], known: Sequence[str]) -> PartAdded:
    """TEXT of a git exclude file with LINES at its end; KNOWN are those added before."""
    text = take_lines(text, "", [each for each in known if each not in lines])
    missing = [each for each in lines if each not in text.splitlines()]
    gap = "\n" if missing and text and not text.endswith("\n") else ""
    text = f"{text}{gap}{''.join(f'{each}{chr(10)}' for each in missing)}"
    return PartAdded(text, (), {EXCLUDE: [x for x in lines if x in missing or x in known]})


def take_lines(text: str, before: str, known: Sequence[str]) -> str:
    """TEXT of a git exclude file without the lines KNOWN."""
    lines = text.splitlines(keepends=True)
    left = "".join(each for each in lines if each.rstrip("\r\n") not in known)
    return left.removesuffix("\n") if left.removesuffix("\n") == before else left


class ListKind(NamedTuple):
    """A list in a file to which gitmem adds values."""

    name: str
    put: Callable[[str, Sequence[str], Sequence[str]], PartAdded]
    take: Callable[[str, str, Any], str]
    lost: str = ""
    """What an unreadable file costs."""


RULES = ListKind(ALLOW, put_rules, take_rules, "no permission rules were added")
SANDBOX = ListKind(ROOTS, put_roots, take_roots, "the sandbox still denies writes to memory")
EXCLUDES = ListKind(EXCLUDE, _put_lines, take_lines)
TAKEN_BACK: Mapping[str, Callable[[str, str, Any], str]] = {
    **{each.name: each.take for each in (RULES, SANDBOX, EXCLUDES)},
    PROGRAM: take_launcher,
    CHOICE: take_memory,
}
"""For each kind of part: its text without what is ours, from that, the one before, and ours."""


def given_part(path: Path, given: Mapping[str, Any]) -> FilePart:
    """A file from which everything GIVEN to it is removed."""

    def take(text: str, before: str, _: str = "") -> str:
        for kind, ours in given.items():
            text = TAKEN_BACK[kind](text, before, ours) if kind in TAKEN_BACK else text
        return text

    return FilePart(path, lambda text: PartAdded(take(text, "")), take, is_whole=PROGRAM in given)
