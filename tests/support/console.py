"""The console blocks of a page, and a shell that runs them.

`python -m tests.support.console` runs every page and rewrites the outputs that have changed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import NamedTuple

from tests.support.claude_notes import NotesOfClaudeCode
from tests.support.seal import sealed

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/tutorial.md")
# `gitmem install` goes by the real clock, whatever GITMEM_NOW says, so what follows it on a page
# happens three days later.
AFTER_INSTALL = timedelta(days=3)
SHOWN_DAY = "2026-11-16"
"""The day that stands on the pages for the day of a run."""
BLOCK = re.compile(r"^```(console|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Step(NamedTuple):
    """A command of a page. OUTPUT is None where the page does not show one."""

    command: str
    output: str | None


def steps(text: str) -> Iterator[Step]:
    """Every command of a page's `console` and `sh` blocks, in the order of the page."""
    for block in BLOCK.finditer(text):
        if block[1] == "sh":
            yield from (Step(re.sub(r" +# .*", "", line), None) for line in block[2].splitlines())
        else:
            for piece in re.split(r"^\$ ", block[2], flags=re.MULTILINE)[1:]:
                command, _, output = piece.partition("\n")
                yield Step(command, output)


def comparable(output: str) -> str:
    """OUTPUT without ids, which differ from run to run."""
    return re.sub(r"\b[0-9a-f]{7,40}\b", "<id>", output).strip()


class Ran(NamedTuple):
    output: str
    code: int


class Terminal:
    """A shell at a fixed time that keeps its folder and its exported variables."""

    def __init__(self, home: Path) -> None:
        self.home = home
        day = datetime.now(UTC).date() + AFTER_INSTALL
        self.now = datetime.combine(day, time(16, 57), UTC)
        self._state = home / ".terminal"
        tools = home / ".local" / "bin"
        tools.mkdir(parents=True)
        program = tools / "gitmem"
        program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m gitmem "$@"\n')
        program.chmod(0o755)
        self.env = sealed(os.environ, home=home) | {
            "PATH": f"{tools}:{os.environ['PATH']}",
            "GIT_PAGER": "cat",
        }

    def run(self, command: str, input: str = "", now: datetime | None = None) -> Ran:
        """Run COMMAND; answer with what a person sees, with `~` and SHOWN_DAY."""
        begin = f"cd '{self.home}'; [ ! -f '{self._state}' ] || . '{self._state}'"
        keep = "export -p | grep -v ' GITMEM_NOW='; printf 'cd %q\\n' \"$PWD\""
        end = f"code=$?; {{ {keep}; }} >'{self._state}'; exit $code"
        done = subprocess.run(
            ["bash", "-c", f"{begin}\n{{ {command}\n}} 2>&1\n{end}"],
            env=self.env | {"GITMEM_NOW": (now or self.now).isoformat()},
            input=input,
            capture_output=True,
            text=True,
            check=False,
        )
        seen = done.stdout.replace(str(self.home), "~")
        return Ran(seen.replace(f"{self.now:%Y-%m-%d}", SHOWN_DAY), done.returncode)


class Reader:
    """A person who types every gitmem command of a page, beside a Claude Code that writes notes."""

    def __init__(self, home: Path) -> None:
        self.terminal = Terminal(home)

    def follow(self, text: str) -> Iterator[tuple[Step, Ran]]:
        """Run the steps of a page; yield each with what really happens."""
        for step in steps(text):
            if step.output is None and not step.command.startswith("gitmem "):
                continue  # installs a program or builds the checkout
            host = NotesOfClaudeCode(self.terminal)
            wires = step.command == "gitmem install claude-code"
            if wires:
                host.write_before_gitmem()
            yield step, self.terminal.run(step.command)
            if wires:
                host.write_in_three_sessions()


def rewritten(text: str, home: Path) -> str:
    """TEXT with the outputs that are real now; those that differ by ids alone stay."""
    done = ""
    for step, real in Reader(home).follow(text):
        if step.output is not None:
            before, shown, text = text.partition(f"$ {step.command}\n{step.output}")
            if comparable(real.output) != comparable(step.output):
                shown = f"$ {step.command}\n{real.output.strip()}\n"
            done += before + shown
    return done + text


def main() -> None:
    for name in PAGES:
        page = ROOT / name
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(rewritten(page.read_text("utf-8"), Path(folder)), "utf-8")


if __name__ == "__main__":
    main()
