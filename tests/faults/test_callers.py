"""Without a session it is known who asks, whatever runs the command: hosts, shells and scripts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store
from gitmem.memory.transcripts.add import Spoken, transcript_add
from gitmem.memory.transcripts.status import transcript_status

ROOT = Path(__file__).parents[2]
PENDING = '"$PYTHON" -m gitmem transcript pending --chat "$1"'
CLOSE = '"$PYTHON" -m gitmem transcript checkpoint --summary "$1 was summarised"'
WAIT = "echo $?; read -r line"
HOST = """
import json, subprocess, sys
from subprocess import DEVNULL, PIPE

children = []
for line in sys.stdin:
    kind, *rest = json.loads(line)
    if kind == "run":
        print(subprocess.run(rest, stdout=DEVNULL).returncode, flush=True)
    elif kind == "start":  # it goes on when it gets a line
        children.append(subprocess.Popen(rest, stdin=PIPE, stdout=PIPE, text=True))
        print(children[-1].stdout.readline().strip(), flush=True)
    elif kind == "go":
        said, _ = children[rest[0]].communicate("\\n")
        print(said.split()[-1], children[rest[0]].returncode, flush=True)
    else:
        children[rest[0]].kill()
        print(children[rest[0]].wait(), flush=True)
"""
"""A program that runs commands for an agent, and lives on."""


class Host:
    """Such a program, at work."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, *args: str) -> str:
        """The exit code of a command."""
        return self._ask("run", *args)

    def start(self, *args: str) -> str:
        """The first line of a command that goes on."""
        return self._ask("start", *args)

    def go(self, number: int) -> str:
        """Let it go on; the last word that it says, and its exit code."""
        return self._ask("go", number)

    def kill(self, number: int) -> str:
        return self._ask("kill", number)

    def _ask(self, *words: str | int) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{json.dumps(words)}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    """Two chats in which something was said."""
    store = Store(tmp_path / "store")
    init(store, "main")
    group = Group(store, "main")
    transcript_add(group, [Spoken("a", "Ada", "one"), Spoken("b", "Ada", "two")])
    yield group
    group.close()


@contextmanager
def running(group: Group) -> Iterator[Host]:
    settings = {"PYTHONPATH": str(ROOT), "GITMEM_HOME": str(group.store.root)}
    with subprocess.Popen(
        [sys.executable, "-c", HOST],
        env=os.environ | settings | {"PYTHON": sys.executable},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Host(process)
        finally:
            process.kill()


@pytest.fixture
def host(group: Group) -> Iterator[Host]:
    with running(group) as found:
        yield found


def script(folder: Path, lines: Sequence[str], shell: str = "/bin/sh") -> str:
    """A file that can be run."""
    path = folder / "sync.sh"
    path.write_text("\n".join((f"#!{shell}", *lines, "")))
    path.chmod(0o700)
    return str(path)


def shells() -> list[str]:
    return [each for each in ("/bin/sh", "/bin/bash", "/bin/zsh") if shutil.which(each)]


def pending(group: Group) -> int:
    return transcript_status(group).pending


@pytest.mark.parametrize("shell", shells())
def test_of_two_scripts_of_one_host_the_second_is_told(
    group: Group, host: Host, tmp_path: Path, shell: str
) -> None:
    path = script(tmp_path, (f"{PENDING} >/dev/null", WAIT, CLOSE, "echo $?"), shell)

    assert host.start(shell, path, "a") == "0"
    assert host.start(shell, path, "b") == "7"
    assert host.go(1) == "4 0", "it has nothing to close"
    assert pending(group) == 2
    assert host.go(0) == "0 0"

    last = transcript_status(group).checkpoint
    assert last is not None
    assert (last.chat, last.summary) == ("a", "a was summarised")


@pytest.mark.parametrize("shell", shells())
def test_a_script_that_asks_within_a_pipe_closes_its_range(
    group: Group, host: Host, tmp_path: Path, shell: str
) -> None:
    lines = (
        f"said=$({PENDING} --json | cat)",
        '( test -n "$said"; true )',
        f"( {CLOSE} )",
        "exit $?",
    )

    assert host.run(script(tmp_path, lines, shell), "a") == "0"
    assert pending(group) == 1


@pytest.mark.parametrize(
    "command",
    [
        *(("sh", "-c"), ("bash", "-lc"), ("bash", "-o", "pipefail", "-c"), ("sh", "-e", "-c")),
        *(("bash", "--norc", "-c", "-l"), ("timeout", "60", "sh", "-c")),
    ],
    ids=" ".join,
)
def test_a_host_that_gives_each_command_to_a_shell_of_its_own_has_the_range(
    group: Group, host: Host, command: tuple[str, ...]
) -> None:
    assert host.run(*command, f"true; {PENDING} | cat; exit $?", "x", "a") == "0"
    with running(group) as other:
        assert other.run(*command, f"{PENDING}; exit $?", "x", "a") == "7"
    assert host.run(*command, f"true; {CLOSE}; exit $?", "x", "a") == "0"
    assert pending(group) == 1


def test_of_two_long_commands_of_one_host_the_second_is_told(group: Group, host: Host) -> None:
    """Each is given to a shell of its own, and both go on."""
    command = "; ".join((f"{PENDING} >/dev/null", WAIT, CLOSE, "echo $?"))

    assert host.start("bash", "-c", command, "x", "a") == "0"
    assert host.start("bash", "-c", command, "x", "b") == "7"
    assert host.run("bash", "-c", f"{CLOSE}; exit $?", "x", "b") == "4"
    assert host.go(1) == "4 0"
    assert host.go(0) == "0 0"
    assert pending(group) == 1


def test_what_a_script_had_that_is_dead_is_handed_out_again(
    group: Group, host: Host, tmp_path: Path
) -> None:
    path = script(tmp_path, (f"{PENDING} >/dev/null", WAIT, CLOSE, "echo $?"))

    assert host.start(path, "a") == "0"
    host.kill(0)

    assert host.start(path, "a") == "0"
    assert host.go(1) == "0 0"
    assert pending(group) == 1


def test_what_was_handed_to_another_since_is_not_closed_without_a_token(
    group: Group, host: Host, tmp_path: Path
) -> None:
    path = script(tmp_path, (f"{PENDING} $2 >/dev/null", WAIT, CLOSE, "echo $?"))

    assert host.start(path, "a") == "0"
    assert host.start(path, "b", "--take-over") == "0"

    assert host.go(0) == "4 0"
    assert host.go(1) == "0 0"
    last = transcript_status(group).checkpoint
    assert last is not None
    assert (last.chat, last.summary) == ("b", "b was summarised")


SANDBOX = ("unshare", "--pid", "--fork", "--mount-proc")
"""As sandboxes run a command: in a namespace of its own, where process 1 is the sandbox."""


def has_sandbox() -> bool:
    if not shutil.which(SANDBOX[0]):
        return False
    return subprocess.run([*SANDBOX, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not has_sandbox(), reason="needs unshare with a PID namespace (root)")
def test_a_session_in_a_sandbox_keeps_its_range_from_another_until_it_asks_again(
    group: Group,
) -> None:
    """Each command of a sandbox is process 1, and the kernel uses the number of its place again."""

    def ask(session: str) -> int:
        line = '"$PYTHON" -m gitmem transcript pending --session "$0"; exit $?'
        home = {"PYTHONPATH": str(ROOT), "GITMEM_HOME": str(group.store.root)}
        env = os.environ | home | {"PYTHON": sys.executable}
        command = [*SANDBOX, "sh", "-c", line, session]
        return subprocess.run(command, env=env, capture_output=True, check=False).returncode

    assert ask("first") == 0

    # Several tries: one of them gets the number that the first command had.
    assert {ask("second") for _ in range(4)} == {7}
    assert ask("first") == 0
