"""The programs that hosts and their models call: present, of this version, and working."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from shlex import join, quote
from shutil import which

from gitmem import __version__
from gitmem.errors import GitmemError
from gitmem.integrations.doctor.wiring import Checkup, Fault, Running, Wiring
from gitmem.integrations.hooks.answer import DISABLE
from gitmem.integrations.install.host_files import USER, host_files
from gitmem.integrations.install.record import install_of
from gitmem.model.hints import Hint

TIMEOUT = 20.0
"""Seconds within which a program answers."""
BARE = ("gitmem",)
"""How skills, instructions and the plugin call gitmem, whatever the hooks call."""
_CLIENT = {"name": "gitmem doctor", "version": "1"}
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _CLIENT},
}


def program_faults(checkup: Checkup) -> Iterator[Fault]:
    """Programs that are missing or of another version."""
    wired, running = checkup.wired, checkup.running
    named = {_program(command): row for row in wired for command in row.commands}
    # A program that the user's own settings name, too, may be run.
    named |= {_program(each): row for row in wired if row.scope == USER for each in row.commands}
    for words, row in named.items():
        if words != BARE:
            yield from _path_faults(words, row, checkup.bare)
    # What only this shell finds is a note: a container may give its PATH to every process.
    used = checkup.environ if _is_only_here(checkup) else checkup.bare
    if not named or BARE in named or _needs_name(wired):
        yield from _bare_faults(used, running)
    if any(each.plugin or each.mcp for each in wired):
        yield from _mcp_faults(used, running)


def program_notes(checkup: Checkup) -> Iterator[str]:
    """What works only in hosts that are started from a shell such as this one."""
    if _needs_name(checkup.wired) and _is_only_here(checkup):
        what = "a login shell does not find gitmem, which skills and instructions call"
        yield f"{what}; {_way_to(checkup.running)}"


def _needs_name(wired: Sequence[Wiring]) -> bool:
    return any(each.skills or each.section or each.plugin for each in wired)


def _is_only_here(checkup: Checkup) -> bool:
    """Whether this shell finds gitmem, and a login shell does not."""
    here, there = (which("gitmem", path=x.get("PATH")) for x in (checkup.environ, checkup.bare))
    return here is not None and there is None


def _program(command: tuple[str, ...]) -> tuple[str, ...]:
    """The program of a command, without its arguments."""
    return command[:3] if command[1:3] == ("-m", "gitmem") else command[:1]


def _path_faults(
    words: tuple[str, ...], row: Wiring, environ: Mapping[str, str]
) -> Iterator[Fault]:
    """A program that is called by its path; one that only a project names is never run."""
    found = which(words[0], path=environ.get("PATH"))
    again = Hint(row.install(), " sets the path of this gitmem")
    if found is None:
        what = f"{row.settings} calls {words[0]}, which is missing"
        yield Fault("program-missing", what, again)
    elif row.scope == USER and (version := _version([found, *words[1:]], environ)) != __version__:
        yield Fault("other-version", _differs(found, version), Hint("upgrade it; or ", again))


def _bare_faults(environ: Mapping[str, str], running: Running) -> Iterator[Fault]:
    """The program that PATH leads to."""
    found = which("gitmem", path=environ.get("PATH"))
    if found is None:
        what = "gitmem is not on PATH, where skills and instructions look for it"
        yield Fault("not-on-path", what, _way_to(running))
    elif (version := _version([found], environ)) != __version__:
        hint = f"upgrade it, or put this one first: {_way_to(running)}"
        yield Fault("other-version", _differs(found, version), hint)


def _way_to(running: Running) -> str:
    """How a shell finds the gitmem that runs."""
    if len(running.words) > 1:
        return "run `uv tool install .` or `pipx install .` in the checkout of gitmem"
    folder = quote(os.path.dirname(running.words[0]))
    return f'put this into the profile of your shell: export PATH={folder}:"$PATH"'


def _differs(found: str, version: str) -> str:
    return f"{found} is {version or 'not a working gitmem'}, and this is {__version__}"


def _mcp_faults(environ: Mapping[str, str], running: Running) -> Iterator[Fault]:
    """The package for the MCP server; another program than this one is not run, as it is slow."""
    found = which("gitmem", path=environ.get("PATH"))
    is_other = found and os.path.realpath(found) != os.path.realpath(running.words[0])
    if not running.has_mcp and not is_other:
        yield Fault(
            "mcp-missing",
            "the package mcp is missing, which gitmem's MCP server needs",
            "in the checkout of gitmem, run `uv tool install '.[mcp]'` or `pipx install '.[mcp]'`; "
            "in the environment of gitmem, `pip install mcp`",
        )


def other_store_faults(checkup: Checkup) -> Iterator[Fault]:
    """Hooks that use one store, while a plain `gitmem` uses another."""
    store = checkup.store.root
    found = {(_store_in(each), row): None for row in checkup.wired for each in row.commands}
    for named, row in found:
        if named and os.path.realpath(named) != os.path.realpath(store):
            yield Fault(
                "other-store",
                f"the hooks in {row.settings} use the store {named}, "
                f"but a plain `gitmem`, as skills call it, uses {store}",
                Hint(
                    f"put this into the profile of your shell: export GITMEM_HOME={quote(named)}; "
                    "or make the hooks use this store: ",
                    row.install(),
                ),
            )


def _store_in(command: tuple[str, ...]) -> str:
    """The store that a command names, in either form of the option."""
    for word, following in pairwise(command):
        if word == "--store":
            return following
    return next((x.partition("=")[2] for x in command if x.startswith("--store=")), "")


def _run(
    words: Sequence[str], environ: Mapping[str, str], given: bytes = b""
) -> subprocess.CompletedProcess[bytes] | str:
    """The result of a program with GIVEN as its input; why it did not end by itself."""
    try:
        return subprocess.run(
            words, env=dict(environ), input=given, capture_output=True, timeout=TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)


def _version(command: list[str], environ: Mapping[str, str]) -> str:
    """The version that a program prints; empty where it fails."""
    done = _run([*command, "--version"], environ)
    output = b"" if isinstance(done, str) else done.stdout
    found = re.fullmatch(r"gitmem (\S+)", output.decode("utf-8", "replace").strip())
    return found[1] if found else ""


def call_faults(checkup: Checkup) -> Iterator[Fault]:
    """The calls of hosts that fail, with their output.

    Each is made once in the environment of a login shell: an active virtual environment hides what
    is missing everywhere else. Programs that only a project names are not run.
    """
    bare = checkup.bare
    for row in checkup.wired:
        if row.scope != USER:
            continue
        again = Hint(row.install(), " makes the host call this gitmem")
        for words in row.commands:
            line = join((*words, "hook", "session-start", "--host", row.host))
            if why := _hook_fails(line, bare):
                yield Fault("hook-fails", f"`{line}` in {row.settings} fails: {why}", again)
        server = _server(checkup, row)
        if server and (why := _server_fails(server, bare)):
            yield Fault("hook-fails", f"the MCP server `{join(server)}` fails: {why}", again)


def _hook_fails(line: str, bare: Mapping[str, str]) -> str:
    """Why a hook fails, which a host runs by a shell; empty where it works."""
    done = _run(["/bin/sh", "-c", line], {**bare, DISABLE: "1"}, b"{}")
    if isinstance(done, str):
        return done
    return _last_line(done.stderr) or f"exit code {done.returncode}" if done.returncode else ""


def _last_line(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


def _server(checkup: Checkup, row: Wiring) -> list[str] | None:
    """The words that start our MCP server, where `install` has configured it."""
    with suppress(GitmemError):  # an unreadable record is a fault of its own
        where = host_files(row.host, row.scope, checkup.environ, checkup.project)
        known = install_of(checkup.store.root, where).mcp
        if row.mcp and isinstance(known, dict):
            return [str(known.get("command")), *map(str, known.get("args", ()))]
    return None


def _server_fails(words: Sequence[str], bare: Mapping[str, str]) -> str:
    """Why an MCP server does not answer; empty where it does."""
    try:
        with subprocess.Popen(
            words,
            env=dict(bare),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as server:
            answer = _first_answer(server)
            server.kill()
            _, errors = server.communicate()
    except OSError as error:
        return str(error)
    if b'"result"' in answer:
        return ""
    return _last_line(errors) or "no answer"


def _first_answer(server: subprocess.Popen[bytes]) -> bytes:
    """The first answer of a server to a client that connects."""
    stdin, stdout = server.stdin, server.stdout
    if stdin is None or stdout is None:
        return b""
    with suppress(OSError):  # it has ended
        stdin.write(json.dumps(_INITIALIZE).encode() + b"\n")
        stdin.flush()
    ready, _, _ = select.select([stdout], [], [], TIMEOUT)
    return os.read(stdout.fileno(), 1 << 16) if ready else b""
