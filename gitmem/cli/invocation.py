"""One call of the command line: what was asked for, whom to ask, and where the answer goes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING

from gitmem.cli.settings import Flags, Settings, resolve
from gitmem.cli.style import Style, echo, visible
from gitmem.errors import BadInput
from gitmem.model.hints import Call, Hint, Option, as_command, as_option, rendered
from gitmem.model.text.format import quoted

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.memory.clock import Clock
    from gitmem.memory.group import Group, Store, Who

Progress = Callable[[int, int], None]


class Invocation:
    """What every command gets: settings, the store and its group, and a way to answer."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self.flags = Flags()
        self._mended: dict[str, list[object]] = {
            "rejoined": [],
            "put_forward": [],
            "left_outside": [],
        }
        self.environ = os.environ if environ is None else environ
        self._groups: list[Group] = []

    def take(self, name: str, value: object) -> None:
        """Remember a flag; the last one given counts, before or after the command's name."""
        self.flags = Flags(**{**self.flags._asdict(), name: value})

    @cached_property
    def settings(self) -> Settings:
        """The settings in force."""
        return resolve(self.flags, self.environ)

    @cached_property
    def style(self) -> Style:
        """Colours, where a person looks at a terminal and did not forbid them."""
        return Style(self.settings.colour and sys.stdout.isatty())

    @cached_property
    def store(self) -> Store:
        """The store, whether it exists or not."""
        from gitmem.memory.group import Store, isolate

        isolate()
        return Store(self.settings.store)

    @property
    def who(self) -> Who:
        """In whose name we act."""
        from gitmem.memory.group import Who

        return Who(self.settings.agent, self.settings.session, self.settings.source)

    @property
    def clock(self) -> Clock | None:
        """A clock that stands still, where the settings say so."""
        fixed = self.settings.now
        return None if fixed is None else lambda: fixed

    @property
    def folder(self) -> str:
        """Where this call was made; empty in a folder that was removed."""
        try:
            return os.getcwd()
        except OSError:
            return ""

    def group_name(self) -> str:
        """The group to act on: as named, as this folder is linked, or the default."""
        if self.settings.group_named:
            return self.settings.group
        return self.group_of(self.folder)

    def group_of(self, folder: str) -> str:
        """The group of a project folder, where none is named; some stores want it said outright."""
        linked = self.store.linked(folder)
        if not linked and self.store.requires_group:
            raise BadInput(
                "this store requires the name of a group",
                hint=Hint(
                    "add -g NAME, set GITMEM_GROUP, or link this folder: ",
                    Call("link", (".",), group="NAME"),
                ),
            )
        return linked or self.settings.group

    @contextmanager
    def group(self, who: Who | None = None) -> Iterator[Group]:
        """The group to act on, opened; in the name of WHO, where that is not the caller."""
        from gitmem.memory.group import Caller, open_group

        caller = Caller(who or self.who, self.settings.acting, self.clock, self.folder)
        group = open_group(self.store, self.group_name(), caller)
        self._groups.append(group)
        try:
            yield group
            self._warn(group)
        finally:
            group.close()
            told = [each.remark for each in group.rejoined]
            told += [each.message for each in group.put_forward]
            told += [each.message for each in group.left_outside]
            for text in told:
                self.remark(text)
            self._mended["rejoined"] += group.rejoined
            self._mended["put_forward"] += group.put_forward
            self._mended["left_outside"] += group.left_outside

    def _warn(self, group: Group) -> None:
        """Say what was damaged on the way, also to who wants it quiet: the answer may lack it."""
        for each in group.damage:
            echo(f"warning: {visible(self.addressed(each))}", err=True)

    @property
    def _damage(self) -> list[str]:
        return [each for group in self._groups for each in group.damage]

    def answer(
        self, result: object, lines: Iterable[str] = (), *, data: bool = False, **more: object
    ) -> None:
        """Print RESULT: as a document under --json, else as LINES; --quiet leaves only DATA."""
        if self.settings.json:
            from gitmem.cli.render import document

            more = {name: found for name, found in self._mended.items() if found} | more
            told = {"damage": self._damage} if self._damage else {}
            echo(document(result, self.typed, **more, **told))
        elif data or not self.settings.quiet:
            for line in lines:
                echo(self.style.line(line))

    def details(self, lines: Iterable[str]) -> None:
        """Print what belongs to an error that was just reported."""
        for line in lines:
            echo(self.style.line(line))

    def addressed(self, text: str, group: str = "") -> str:
        """TEXT whose calls are commands for the store and group that this call named, or GROUP."""
        if group and isinstance(text, Hint):
            text = text.of_group(group)
        return rendered(text, self.typed)

    def typed(self, part: Call | Option) -> str:
        """A call of a hint as a command that can be typed as it is; an option as a flag."""
        if isinstance(part, Option):
            return as_option(part)
        # The settings of a user count in every folder, whatever group a folder has.
        is_for_all = part.verb == "install" and not (
            "git-hook" in part.args or ("scope", "project") in part.options
        )
        group = "" if is_for_all else part.group or self.flags.group
        return as_command(part, self._flags(group))

    def command(self, words: str) -> str:
        """The command with WORDS, for the store and group that this call named."""
        return f"gitmem{self._flags(self.flags.group)} {words}"

    def _flags(self, group: str) -> str:
        both = (("--store", self.flags.store), ("-g", group))
        return "".join(f" {flag} {quoted(str(value))}" for flag, value in both if value)

    def remark(self, text: str) -> None:
        """Say something on the side; a document has it in its fields."""
        if not (self.settings.quiet or self.settings.json):
            echo(f"note: {visible(self.addressed(text))}", err=True)

    def confirm(self, question: str, *, doing: str, again: str, declined: str) -> bool:
        """Ask the person at the terminal; where there is none, only --yes is an answer.

        To decline is an answer, not an error: DECLINED is said, and the command ends.
        """
        if sys.stdin is None or not sys.stdin.isatty():
            raise BadInput(
                f"{doing} needs --yes", hint=f"repeat with --yes: `{self.command(again)}`"
            )
        from click import confirm

        agreed = confirm(self.style.line(question), err=True)
        if not agreed:
            self.answer({"declined": True}, [declined])
        return agreed

    @contextmanager
    def progress(self, label: str, unit: str = "") -> Iterator[Progress | None]:
        """A counter on stderr while something long runs, on a terminal only."""
        if self.settings.quiet or not sys.stderr.isatty():
            yield None
            return
        try:
            yield _Meter(label, unit).show
        finally:
            _draw("")


class _Meter:
    """How far something is, drawn no oftener than anybody could read it."""

    OFTEN = 0.1

    def __init__(self, label: str, unit: str) -> None:
        self._label, self._unit, self._next = label, f" {unit}" if unit else "", 0.0

    def show(self, done: int, total: int) -> None:
        """Draw it, if it was not just drawn."""
        now = monotonic()
        if now >= self._next:
            self._next = now + self.OFTEN
            _draw(f"{self._label} {done:,}/{total:,}{self._unit}" if total else self._label)


def _draw(text: str) -> None:
    echo(f"\r\x1b[K{text}", err=True, end="")


def ago(then: datetime, now: datetime) -> str:
    """How long ago THEN was, in the time zone of NOW."""
    from datetime import UTC

    from gitmem.model.moments import age

    return age(then, now, now.tzinfo or UTC)


def at_time(then: datetime, now: datetime) -> str:
    """When THEN was, in the time zone of NOW."""
    return then.astimezone(now.tzinfo).isoformat(sep=" ", timespec="seconds")
