"""A home, a project and a fake model: everything a real host needs, below one folder.

No configuration of the person who runs this is read or written: HOME, and every variable that a
host or gitmem reads, is set anew.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.seal import sealed

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
# Read when pytest collects: later the seal of the tests takes variables of gitmem away.
HOSTS = Path(os.environ.get("GITMEM_TEST_HOSTS") or CHECKOUT / ".hosts").resolve()
CLAUDE_CODE, OLDER_CLAUDE_CODE, CODEX = "2.1.325", "2.1.197", "0.166.0"
GEMINI, COPILOT = "0.61.0", "1.0.102"
GITMEM = Path(sys.executable).parent / "gitmem"
PATIENCE = 300.0
_FOREIGN = ("CLAUDE", "CODEX", "ANTHROPIC", "OPENAI", "GEMINI", "COPILOT", "AI_AGENT")
_QUIET = (
    "DISABLE_TELEMETRY",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
)
_CONVERSATION = {"messages", "input", "contents"}
_INSTRUCTIONS = ("system", "instructions", "systemInstruction")

Json = dict[str, Any]


class Run(NamedTuple):
    """One run of a host: its answer, the session, and the requests that reached the model."""

    answer: Json
    output: str
    session: str
    requests: list[Json]

    @property
    def first(self) -> Json:
        """The first request of the conversation."""
        return next((each for each in self.requests if each.get("tools")), {})

    @property
    def denied(self) -> list[Json]:
        """The tool calls that Claude Code denied."""
        return list(self.answer.get("permission_denials") or [])


class Bench:
    """A home, a project and a fake model below the folder ROOT."""

    def __init__(self, root: Path, *, summary: str = "", claude: str = CLAUDE_CODE) -> None:
        self.root = root.resolve()
        self.home, self.project, self.requests_log = (
            self.root / each for each in ("home", "project", "requests")
        )
        for each in (self.home, self.project, self.requests_log):
            each.mkdir(parents=True)
        self.store = self.home / ".local" / "share" / "gitmem"
        self.group = self.store / "groups" / "shop"
        self.version = claude
        self.summarises(summary)
        kept = {name: at for name, at in os.environ.items() if not name.startswith(_FOREIGN)}
        self.env = sealed(kept, home=self.home) | dict.fromkeys(_QUIET, "1")
        self.env["PATH"] = os.pathsep.join((str(GITMEM.parent), self.env.get("PATH", "")))
        # As on a machine where gitmem was installed with uv or pipx.
        (self.home / ".profile").write_text(f"export PATH={shlex.quote(self.env['PATH'])}\n")
        self.env["SHELL"] = "/bin/sh"
        self._server, self.api = self._serve()
        self.env |= {"ANTHROPIC_BASE_URL": self.api, "ANTHROPIC_API_KEY": "dummy"}
        self.env |= {"GOOGLE_GEMINI_BASE_URL": self.api, "GEMINI_API_KEY": "dummy"}
        self.env |= {"COPILOT_PROVIDER_BASE_URL": f"{self.api}/v1", "COPILOT_MODEL": "fake-model"}
        self.env |= {"COPILOT_OFFLINE": "true", "FAKE_KEY": "dummy"}
        self.run("git", "init", "-q", ".")

    def _serve(self) -> tuple[subprocess.Popen[str], str]:
        command = [sys.executable, str(HERE / "fakeapi.py"), "--log", str(self.requests_log)]
        command += ["--summary", str(self.root / "summary"), "--rules", str(self.root / "rules")]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        return server, server.stdout.readline().strip()

    def close(self) -> None:
        """Stop the fake model."""
        self._server.terminate()
        self._server.wait(PATIENCE)
        assert self._server.stdout is not None
        self._server.stdout.close()

    # ---- the model

    def summarises(self, text: str) -> None:
        """What the model answers from now on when a host compacts."""
        if text:
            (self.root / "summary").write_text(text)

    def rules(self, *rules: tuple[str, str]) -> None:
        """Scripts for prompts that a host writes itself, each with the pattern of the prompt."""
        rows = [{"match": match, "script": script} for match, script in rules]
        (self.root / "rules").write_text(json.dumps(rows))

    def requests(self, since: int = 0) -> list[Json]:
        """The bodies of all requests with a conversation, without the first SINCE requests."""
        files = sorted(self.requests_log.glob("[0-9]*.json"))[since:]
        bodies = [json.loads(each.read_text())["body"] or {} for each in files]
        return [each for each in bodies if each.keys() & _CONVERSATION]

    def seen(self, body: Json | None = None) -> str:
        """All text that the model got in a request; by default in the last one."""
        if body is None:
            body = next(reversed(self.requests()), {})
        parts = [body.get(each) for each in (*_INSTRUCTIONS, *sorted(_CONVERSATION))]
        text = json.dumps([each for each in parts if each], ensure_ascii=False)
        return text.replace('\\"', '"').replace("\\n", "\n")

    # ---- programs

    def run(
        self, *command: str | Path, cwd: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in the project, without a terminal."""
        return subprocess.run(
            [str(each) for each in command],
            cwd=cwd or self.project,
            env=self.env | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def gitmem(self, *args: str | Path, cwd: Path | None = None) -> str:
        """Run gitmem, which must succeed."""
        done = self.run(GITMEM, *args, cwd=cwd)
        assert done.returncode == 0, f"gitmem {shlex.join(map(str, args))}\n{done.stderr}"
        return done.stdout

    def gitmem_json(self, *args: str | Path, cwd: Path | None = None) -> Json:
        """The JSON document that a command of gitmem prints, with whatever exit code."""
        document: Json = json.loads(self.run(GITMEM, *args, "--json", cwd=cwd).stdout)
        return document

    def claude(self, prompt: str, *options: str | Path, cwd: Path | None = None, **env: str) -> Run:
        """Give Claude Code a prompt, headless."""
        begun = self._count()
        command = (program("claude", self.version), "-p", prompt, "--output-format", "json")
        done = self.run(*command, *options, cwd=cwd, **env)
        answer = _object(done.stdout)
        session = str(answer.get("session_id", ""))
        return Run(answer, done.stdout + done.stderr, session, self.requests(begun))

    def codex(
        self, prompt: str, *options: str | Path, cwd: Path | None = None, trusted: bool = True
    ) -> Run:
        """Give Codex a prompt, headless; the hooks run where they are TRUSTED."""
        begun = self._count()
        trust = ("--dangerously-bypass-hook-trust",) if trusted else ()
        command = (program("codex", CODEX), "exec", "--json", *trust)
        done = self.run(*command, *options, prompt, cwd=cwd)
        rows = [_object(line) for line in done.stdout.splitlines()]
        session = next((each["thread_id"] for each in rows if "thread_id" in each), "")
        return Run({}, done.stdout + done.stderr, session, self.requests(begun))

    def gemini(self, prompt: str, *options: str | Path, cwd: Path | None = None) -> Run:
        """Give Gemini CLI a prompt, headless."""
        begun = self._count()
        # With the default model it asks another one first which model to use.
        command = (program("gemini", GEMINI), "-m", "gemini-2.5-pro", "--output-format", "json")
        done = self.run(*command, *options, "-p", prompt, cwd=cwd)
        answer = _object(done.stdout)
        session = str(answer.get("session_id", ""))
        return Run(answer, done.stdout + done.stderr, session, self.requests(begun))

    def copilot(self, prompt: str, *options: str | Path, cwd: Path | None = None) -> Run:
        """Give Copilot CLI a prompt, headless."""
        begun = self._count()
        done = self.run(program("copilot", COPILOT), *options, "-p", prompt, cwd=cwd)
        sessions = self.home.glob(".copilot/session-state/*/events.jsonl")
        newest = max(sessions, key=lambda each: each.stat().st_mtime_ns, default=None)
        session = newest.parent.name if newest else ""
        return Run({}, done.stdout + done.stderr, session, self.requests(begun))

    def _count(self) -> int:
        return len(list(self.requests_log.glob("[0-9]*.json")))

    # ---- memory

    def begin(self, host: str, *options: str) -> None:
        """Install gitmem as a user does, link the project and remember two things."""
        self.gitmem("install", host, "--on-prompt", *options)
        self.gitmem("init", "-g", "shop")
        self.gitmem("link", ".", "-g", "shop")
        self.remember("facts/release.md", "The codename is zebra-quartz.")
        entry = ("--entry", "Use Postgres for orders", "SQLite locked up in the sale.")
        self.gitmem("write", "decisions", *entry, "--agent", "ada")

    def remember(self, path: str, text: str) -> None:
        """Write a file of memory as somebody else."""
        self.gitmem("write", path, text, "--agent", "ada")

    def log(self, count: int = 50) -> list[Json]:
        """The newest commits of the group, newest first."""
        return list(self.gitmem_json("log", "-n", str(count))["entries"])

    def commit_of(self, path: str) -> Json:
        """The newest commit that changed PATH, or an empty object."""
        return next((each for each in self.log() if path in each["paths"]), {})

    def hits(self, query: str, source: str = "memory") -> list[Json]:
        """The results of a search."""
        return list(self.gitmem_json("search", query, "--source", source)["hits"])

    def messages(self) -> list[Json]:
        """All messages of all transcripts in the group."""
        chats = [each["chat"] for each in self.gitmem_json("transcript", "list")["chats"]]
        shown = [self.gitmem_json("transcript", "show", each, "--last", "0") for each in chats]
        return [message for each in shown for message in each["messages"]]

    def episodes(self) -> str:
        """The pages of the layer `episodes`, as they are on disk."""
        return "\n".join(each.read_text() for each in sorted(self.group.glob("episodes/*.md")))

    def wired_events(self, host: str) -> set[str]:
        """The events of HOST that gitmem answers, as doctor finds them."""
        wired = [each for each in self.gitmem_json("doctor")["wired"] if each["host"] == host]
        return {event for each in wired for event in each["events"]}


@contextmanager
def a_bench(root: Path, **options: str) -> Iterator[Bench]:
    """A bench that stops its fake model at the end."""
    bench = Bench(root, **options)
    try:
        yield bench
    finally:
        bench.close()


def program(name: str, version: str) -> Path:
    """The installed program NAME of VERSION; without it the test is skipped."""
    room = HOSTS / f"claude-code-{version}" if version == OLDER_CLAUDE_CODE else HOSTS
    found = room / "node_modules" / ".bin" / name
    if not found.exists():
        pytest.skip(f"{name} {version} is not installed in {room}; run `make test-hosts`")
    return found


def installed_version(path: Path) -> str:
    """The version that a host names."""
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"\d+\.\d+\.\d+", done.stdout)
    return found[0] if found else done.stdout + done.stderr


def call(tool: str, **arguments: object) -> str:
    """The line of a prompt that makes the model call a tool."""
    return f"@@tool {tool} {json.dumps(arguments)}"


def script(*lines: str) -> str:
    """A prompt of such lines, after which the model says that it is done."""
    return "\n".join((*lines, "@@say ok"))


def password() -> str:
    """A sentence that no memory may hold, put together so that scanners stay quiet."""
    return "the pass" + "word is " + "hunter2" + "-9f3kq8"


def _object(text: str) -> Json:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
