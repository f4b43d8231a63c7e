"""No hook is late: its work grows with what is there and no faster, and it ends before its host.

What a late hook has done is safe, and it says nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import gitmem as package
from gitmem.integrations.doctor.machine import store_faults
from gitmem.integrations.hooks.answer import HANDLERS, respond
from gitmem.integrations.hooks.deadline import GRACE, LARGEST, NAME, SECONDS, USUAL, late_hooks
from gitmem.integrations.hooks.protocol import Event
from gitmem.integrations.hosts.program import Program
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install.parts.hooks import shipped_handlers
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.listing import list_files
from gitmem.memory.transcripts.spool import claim
from tests.support.git import git
from tests.support.histories import edit, put
from tests.support.moulds import Moulds
from tests.support.work import growth

ROOT = Path(package.__file__).parents[1]
PLACES = ("reference/decisions.md", "facts/x.md")
CONTENTS: dict[str, Callable[[int], str]] = {
    "fields": lambda n: "### E\n\n" + "".join(f"- **Name{x}:** word {x}\n" for x in range(n)),
    "entries": lambda n: "".join(f"### Word {x}\n" for x in range(n)),
    "headings": lambda n: "# Word\n" * n,
    "newlines": lambda n: "word\n" + "\n" * n + "word\n",
    "colons": lambda n: ":AA\n" * n,
}
RUN = """
import sys
from gitmem.cli import main
sys.argv = ["gitmem", "hook", "{event}"]
main()
"""
STUCK = """
import re, time
from gitmem.integrations.hooks import answer as answering
def stuck(asked):
    {how}
answering.HANDLERS["Stop"] = stuck
""" + RUN.format(event="stop")
WAYS = {
    "python": "while True: pass",
    "sleep": "time.sleep(60)",
    "re": "re.match('(a*)*b', 'a' * 64)",
    "guarded": """
    while True:
        try: time.sleep(60)
        except BaseException: pass
""",
}
IN_C = "import hashlib; hashlib.pbkdf2_hmac('sha256', b'', b'', (1 << 31) - 1)"
"""A step in which Python handles no signal."""


class Held:
    """A store, and hooks for it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def asked(self, event: str, **said: object) -> Event:
        """One event, in this process."""
        payload = {"session_id": "s", "cwd": "/", **said}
        return Event(event, "claude-code", payload, str(self.root), "main", None, "", {})

    def group(self) -> Group:
        """Its group."""
        return Group(Store(self.root), "main", who=Who("ada"))

    def run(
        self, script: str, said: bytes = b"{}", **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        """A hook as a process of its own, in which SCRIPT comes first."""
        home = {"PYTHONPATH": str(ROOT), "GITMEM_HOME": str(self.root)}
        return subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | home | env,
            input=said,
            capture_output=True,
            check=False,
            timeout=120,
        )


@pytest.fixture
def held(tmp_path: Path, moulds: Moulds) -> Held:
    root = tmp_path / "store"
    moulds.cast("of hooks", root, lambda each: init(Store(each), "main", layout="standard"))
    return Held(root)


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("session-start", {"source": "startup"}),
        ("user-prompt-submit", {"prompt": "what about word 17 and AA?"}),
    ],
)
def test_a_hook_works_four_times_as_much_for_four_times_as_much(
    tmp_path: Path, moulds: Moulds, content: str, event: str, said: dict[str, object]
) -> None:
    def work(size: int) -> Callable[[], object]:
        held = Held(tmp_path / f"{size}")
        moulds.cast(
            "of hooks", held.root, lambda each: init(Store(each), "main", layout="standard")
        )
        group = held.group()
        for path in PLACES:
            edit(group, path, CONTENTS[content](size))
        git(group.worktree, "add", "--all")
        git(group.worktree, "commit", "-q", "-m", "by hand")
        group.close()
        return lambda: respond(held.asked(event, **said))

    assert growth(work, 200) < 6


@pytest.mark.parametrize("way", WAYS)
def test_a_hook_that_would_be_late_ends_itself_and_says_nothing(held: Held, way: str) -> None:
    done = held.run(STUCK.format(how=WAYS[way]), GITMEM_HOOK_SECONDS="0.2")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    row = json.loads((held.root / NAME).read_text())
    assert row["event"] == "Stop"
    assert [event for event, _ in late_hooks(str(held.root), row["time"])] == ["Stop"]
    assert late_hooks(str(held.root), row["time"] + 8 * 86_400) == []


def test_the_time_that_python_took_to_start_counts(held: Held) -> None:
    """A host counts from the start of the process, and a busy machine is slow to begin."""
    slow = "import signal, sys, time\ntime.sleep(1)\n"
    told = "signal.setitimer = lambda which, seconds: print(seconds, file=sys.stderr)\n"

    done = held.run(slow + told + RUN.format(event="stop"), GITMEM_HOOK_SECONDS="4")

    assert 2 <= float(done.stderr.split()[0]) <= 3


def test_one_that_hears_no_signal_is_ended_too(held: Held) -> None:
    # Long enough that a busy machine has begun the step when the signal comes.
    done = held.run(STUCK.format(how=IN_C), GITMEM_HOOK_SECONDS="2")

    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_a_host_that_never_ends_its_words_is_not_waited_for(held: Held) -> None:
    read, write = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "gitmem", "hook", "stop"],
            env=os.environ | {"GITMEM_HOME": str(held.root), "GITMEM_HOOK_SECONDS": "0.2"},
            cwd=ROOT,
            stdin=read,
            capture_output=True,
            check=False,
            timeout=60,
        )
    finally:
        os.close(read)
        os.close(write)

    assert (done.returncode, done.stdout) == (0, b"")


def test_doctor_tells_of_late_hooks_and_how_to_end_that(held: Held) -> None:
    held.run(STUCK.format(how=WAYS["sleep"]), GITMEM_HOOK_SECONDS="0.1")

    (found,) = [each for each in store_faults(Store(held.root), "main") if "late" in each.code]

    assert "1 hook took too long" in found.message
    assert "(Stop; " in found.message
    command = found.hint.rpartition(": `")[2].removesuffix("`")
    subprocess.run(command, shell=True, check=True)
    assert list(store_faults(Store(held.root), "main")) == []


def test_what_is_noted_has_an_end(held: Held) -> None:
    (held.root / NAME).write_bytes(b"no line of ours\n" + b"x" * LARGEST)

    held.run(STUCK.format(how=WAYS["sleep"]), GITMEM_HOOK_SECONDS="0.1")

    assert (held.root / NAME).stat().st_size < 200


@pytest.mark.parametrize("seconds", ["0", "none", "", "-1", "inf", "nan"])
def test_a_hook_in_time_answers_whatever_the_variable_says(held: Held, seconds: str) -> None:
    script = STUCK.format(how="return answering.Output(notice='in time')")

    done = held.run(script, GITMEM_HOOK_SECONDS=seconds)

    assert json.loads(done.stdout) == {"systemMessage": "in time"}
    assert not (held.root / NAME).exists()


def test_every_event_has_less_time_than_its_host_gives_it() -> None:
    given = {
        HOSTS[host].events.get(event, event): handler["timeout"] / HOSTS[host].second
        for host in HOSTS
        for event, group in shipped_handlers(host, Program(("gitmem",)), on_prompt=True).items()
        for handler in group["hooks"]
    }

    assert set(given) <= set(HANDLERS)
    assert all(SECONDS.get(each, USUAL) + GRACE < seconds for each, seconds in given.items())


def test_a_summary_survives_the_end_of_the_process_that_should_keep_it(held: Held) -> None:
    dying = """
import os, signal
from gitmem.memory.upkeep import compact
compact.compact = lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL)
"""
    script = dying + RUN.format(event="post-compact")
    said = json.dumps({"session_id": "s", "cwd": "/", "compact_summary": "We moved to ESM."})

    done = held.run(script, said.encode())

    assert (done.returncode, done.stdout) == (-9, b"")
    (left,) = claim(str(held.root))
    assert left.note.summary == "We moved to ESM."


def test_a_summary_that_is_kept_leaves_nothing_behind(held: Held) -> None:
    put(held.group(), "facts/a.md", "A fact.\n")
    before = len(list_files(held.group(), "").files)

    respond(held.asked("post-compact", compact_summary="We moved to ESM."))

    assert len(list_files(held.group(), "").files) == before + 1
    assert list(claim(str(held.root))) == []
