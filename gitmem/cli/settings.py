"""The settings in force: flags first, then the environment, then defaults."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gitmem.errors import BadInput
from gitmem.integrations.hosts.table import host_in, session_in
from gitmem.model.record import Record

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

VARIABLES = {
    "GITMEM_HOME": "the store, where `--store` is not given; else `$XDG_DATA_HOME/gitmem`, "
    "which is `~/.local/share/gitmem` by default",
    "GITMEM_GROUP": "the group, where `-g` is not given; else that of the folder (`gitmem link`), "
    "else `main`. Where set, it is also the "
    "acting group: it may write to no other group unless it is `main`, and read only `global`",
    "GITMEM_AGENT": "in whose name commits are made, where `--agent` is not given; else the "
    "agent host in whose shell the command runs (`claude-code`, `codex`, `gemini`, `copilot`), "
    "else `agent`",
    "GITMEM_SESSION": "the session commits belong to, where `--session` is not given",
    "CLAUDE_CODE_SESSION_ID": "the session, where nothing of gitmem's own names one",
    "CODEX_SESSION_ID": "the same in Codex",
    "CODEX_THREAD_ID": "the same in a Codex that sets no `CODEX_SESSION_ID`",
    "COPILOT_AGENT_SESSION_ID": "the same in Copilot CLI; Gemini CLI names none in its shell",
    "GITMEM_NOW": "an ISO time such as `2026-02-08T14:30:00Z`: the clock stands still there, for "
    "tests and rehearsals; from 1971 to 9997",
    "TZ": "the time zone of the machine, where neither the group nor the store's `.env` names one; "
    "one that is a day or more away from UTC is refused",
    "GITMEM_DISABLE": "any value: `gitmem hook` does nothing",
    "GITMEM_HOOK_SECONDS": "how long `gitmem hook` may take before it says nothing; 0 for no limit",
    "GITMEM_DEBUG": "any value: an error also shows where in the code it was raised",
    "NO_COLOR": "any value: no colours, on a terminal neither",
    "VISUAL": "the editor of `gitmem edit`, with its arguments",
    "EDITOR": "the editor of `gitmem edit`, where `VISUAL` is not set",
}
"""What the command line reads from the environment, for people."""

DEFAULT_GROUP = "main"
DEFAULT_AGENT = "agent"


FIRST_YEAR, LAST_YEAR = 1971, 9997
"""git counts seconds from 1970 on, and the calendar ends with 9999: zones and timetables, which
look a year ahead, need room."""
A_DAY = 86400


class Flags(Record):
    """What the command line said, wherever on it; empty where it said nothing."""

    store: str = ""
    group: str = ""
    json: bool = False
    quiet: bool = False
    agent: str = ""
    session: str = ""
    source: str = ""


class Settings(Record):
    """What one call of the command line goes by."""

    folder: str
    """That of the store."""
    group: str
    group_named: bool
    """False when the group is only the default."""
    acting: str | None
    agent: str
    session: str
    source: str
    now: datetime | None
    """Where the clock stands still; None when it runs."""
    json: bool
    quiet: bool
    colour: bool

    @property
    def store(self) -> Path:
        """The store."""
        from pathlib import Path  # brings half of urllib along, which few hooks need

        return Path(self.folder)


def resolve(flags: Flags, environ: Mapping[str, str]) -> Settings:
    """The settings in force under FLAGS in the environment ENVIRON; an empty variable is unset."""
    _check_zone(environ.get("TZ", ""))
    acting = environ.get("GITMEM_GROUP") or None
    group = flags.group or acting
    host = host_in(environ)
    agent = environ.get("GITMEM_AGENT") or (host.name if host else DEFAULT_AGENT)
    session = environ.get("GITMEM_SESSION") or session_in(environ)
    return Settings(
        folder=_store(flags.store or environ.get("GITMEM_HOME", ""), environ),
        group=group or DEFAULT_GROUP,
        group_named=group is not None,
        acting=acting,
        agent=flags.agent or agent,
        session=flags.session or session,
        source=flags.source,
        now=_moment(environ.get("GITMEM_NOW", "")),
        json=flags.json,
        quiet=flags.quiet,
        colour=not environ.get("NO_COLOR") and environ.get("TERM") != "dumb",
    )


def _store(named: str, environ: Mapping[str, str]) -> str:
    home = environ.get("HOME") or os.path.expanduser("~")
    if named:
        # Shells leave the tilde of `--store=~/memory` alone, and so do .env files.
        return os.path.abspath(home + named[1:] if named[:2] in ("~", "~/") else named)
    data = environ.get("XDG_DATA_HOME", "")
    # The XDG specification: a relative path is invalid and to be ignored.
    return os.path.join(data if data.startswith("/") else f"{home}/.local/share", "gitmem")


def _moment(text: str) -> datetime | None:
    if not text:
        return None
    from datetime import datetime  # nearly always the clock runs

    try:
        moment = datetime.fromisoformat(text)
        if not FIRST_YEAR <= moment.year <= LAST_YEAR:
            raise _wrong_clock(text, f"which is not in the years {FIRST_YEAR} to {LAST_YEAR}")
        return moment if moment.tzinfo else moment.astimezone()
    except ValueError as error:
        raise _wrong_clock(text, "not an ISO time") from error


def _wrong_clock(text: str, why: str) -> BadInput:
    return BadInput(
        f"GITMEM_NOW is {text!r}, {why}",
        hint="write it like 2026-02-08T14:30:00Z, or unset it",
    )


def _check_zone(name: str) -> None:
    """Refuse a TZ that Python cannot work with: POSIX knows offsets of a day, and longer names."""
    if name and max(abs(time.timezone), abs(time.altzone)) >= A_DAY:
        raise BadInput(
            f"TZ is {name!r}, which is a day or more away from UTC",
            hint="set it to a name such as Europe/Berlin or UTC, or unset it",
        )
