"""Child processes that may die at any moment, and what they said until then."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PATIENCE = 60.0
"""Seconds after which a silent child is a failure; the machine may be busy with other tests."""

# Children are forked from one process that has imported everything: each takes milliseconds to
# start, and the fork is safe because that process has one thread.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["pytest", "tests.support.faults"])

Said = list[Any]


class Voice:
    """A child's line to its parent: one `sendto` for each message, never a `write`.

    So an injected failure of `write` cannot hit it, and a message is heard whole or not at all.
    """

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._unread = b""

    def say(self, *facts: object) -> None:
        """Tell the parent, who reads it even if this process is dead by then."""
        self._channel.sendall(json.dumps(facts).encode() + b"\n")

    def hear(self) -> Said:
        """Wait for the parent's next word."""
        while b"\n" not in self._unread:
            received = self._channel.recv(65536)
            if not received:
                raise EOFError("the parent is gone")
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        said: Said = json.loads(line)
        return said


Program = Callable[..., None]


def _run(channel: socket.socket, program: Program, args: tuple[object, ...]) -> None:
    voice = Voice(channel)
    try:
        program(voice, *args)
    except BaseException:
        voice.say("failed", traceback.format_exc())
        raise
    voice.say("done")


class Child:
    """One child: PROGRAM(voice, *ARGS) in a process of its own."""

    def __init__(self, program: Program, *args: object) -> None:
        self._channel, theirs = socket.socketpair()
        self._process = FORKS.Process(target=_run, args=(theirs, program, args), daemon=True)
        self._process.start()
        theirs.close()
        self._unread = b""
        self._unheard: list[Said] = []
        self.silent = False
        """True when it has ended and everything it said has been heard."""

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None
        return self._process.pid

    def fileno(self) -> int:
        """For `select`."""
        return self._channel.fileno()

    def say(self, *facts: object) -> None:
        """Tell the child."""
        self._channel.sendall(json.dumps(facts).encode() + b"\n")

    def receive(self) -> list[Said]:
        """Whatever it has said since; blocks until there is something, or it has ended."""
        try:
            received = self._channel.recv(65536)
        except ConnectionResetError:  # it died with words of ours unread
            received = b""
        self.silent = not received
        *lines, self._unread = (self._unread + received).split(b"\n")
        heard: list[Said] = [json.loads(line) for line in lines]
        for said in heard:
            if said[0] == "failed":
                raise AssertionError(f"a child failed:\n{said[1]}")
        return heard

    def hear(self) -> Said:
        """The next thing it says; ["ended"] when it has ended without another word."""
        deadline = time.monotonic() + PATIENCE
        while not self._unheard:
            if self.silent:
                return ["ended"]
            if not select.select([self], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"a child has said nothing for {PATIENCE:g} s")
            self._unheard += self.receive()
        return self._unheard.pop(0)

    def finish(self) -> list[Said]:
        """Everything it still says until it ends by itself or was killed."""
        heard = []
        while (said := self.hear()) != ["ended"]:
            heard.append(said)
        self._process.join(PATIENCE)
        return heard

    def kill(self) -> None:
        """SIGKILL, now."""
        self._process.kill()

    def stop(self, number: int) -> None:
        """Send any other signal."""
        os.kill(self.pid, number)

    def close(self) -> None:
        """Make sure that it is gone."""
        self._process.kill()
        self._process.join(PATIENCE)
        self._process.close()
        self._channel.close()


class Crowd:
    """Children that run at the same time; all are gone when the `with` block ends."""

    def __init__(self) -> None:
        self.children: list[Child] = []

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self.children:
            child.close()

    def start(self, program: Program, *args: object) -> Child:
        """Let one more begin."""
        child = Child(program, *args)
        self.children.append(child)
        return child

    def listen(self, seconds: float) -> Iterator[tuple[Child, Said]]:
        """What anybody says within SECONDS; ends early when all have ended."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            talking = [child for child in self.children if not child.silent]
            if not talking:
                return
            for child in select.select(talking, [], [], left)[0]:
                for said in child.receive():
                    yield child, said

    def hear_out(self, patience: float = PATIENCE) -> Iterator[tuple[Child, Said]]:
        """What anybody says until all have ended."""
        yield from self.listen(patience)
        if any(not child.silent for child in self.children):
            raise AssertionError(f"children are still at work after {patience:g} s")


def alone(program: Program, *args: object) -> list[Said]:
    """Everything PROGRAM says in a process of its own, until it ends."""
    with Crowd() as crowd:
        return crowd.start(program, *args).finish()


class Call(NamedTuple):
    """One system call of a traced child."""

    name: str
    text: str
    """Name, arguments and result as strace prints them, with the paths of descriptors."""

    @property
    def creates(self) -> bool:
        """True when it would make a file."""
        return "O_CREAT" in self.text


def need_strace() -> None:
    """Skip, loudly, where system calls cannot be watched."""
    if shutil.which("strace") is None:
        pytest.skip("strace IS MISSING: faults at system calls are NOT TESTED; install strace")
    probe = subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        said = probe.stderr.decode("utf-8", "replace").strip()
        pytest.skip(f"strace MAY NOT TRACE HERE, faults at system calls are NOT TESTED: {said}")


@contextmanager
def traced(
    child: Child, log: Path, calls: Iterable[str], inject: str = "", *, plain: bool = True
) -> Iterator[None]:
    """Watch CALLS of a waiting child; INJECT is strace's `error=EIO:when=3` and the like.

    The count of `when` begins here. Leave the block when the child has ended. Without PLAIN all
    strings are whole, and in hex.
    """
    names = ",".join(calls)
    form = ["-s", "256"] if plain else ["-s", "10000000", "-xx"]
    command = ["strace", "-y", *form, "-o", str(log), "-p", str(child.pid)]
    command += ["-e", f"trace={names}", "-e", "signal=none"]
    if inject:
        command += ["-e", f"inject={names}:{inject}"]
    strace = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        assert strace.stderr is not None
        said = strace.stderr.readline()
        assert b"attached" in said, said
        yield
    finally:
        try:
            strace.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            strace.send_signal(signal.SIGINT)
            strace.wait()
        assert strace.stderr is not None
        strace.stderr.close()


def calls_in(log: Path) -> list[Call]:
    """The system calls of a log, in order."""
    text = log.read_text("utf-8", "replace")
    return [Call(name, line) for line in text.splitlines() if (name := _call_name(line))]


def _call_name(line: str) -> str:
    found = re.match(r"(\w+)\(", line)
    return found[1] if found else ""
