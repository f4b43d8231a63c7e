"""A page on switching, walked on a machine of its own: its blocks are run, in its order."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

DOCS = Path(__file__).parents[2] / "docs"


class Block(NamedTuple):
    """A fenced block of a page."""

    section: str
    language: str
    text: str


class Page:
    """A page of docs/, taken apart."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = (DOCS / f"{name}.md").read_text("utf-8")
        self.prose: dict[str, str] = {}
        self._blocks: list[Block] = []
        section, opened = "", None
        for line in self.text.splitlines(keepends=True):
            # A heading inside of a block belongs to the block: pages show Markdown, too.
            if opened is None and line.startswith("## "):
                section = line[3:].strip()
            elif line.startswith("```"):
                opened = line[3:].strip() if opened is None else None
                if opened is not None:
                    self._blocks.append(Block(section, opened, ""))
            elif opened is not None:
                block = self._blocks.pop()
                self._blocks.append(block._replace(text=block.text + line))
            else:
                self.prose[section] = self.prose.get(section, "") + line

    @property
    def sections(self) -> list[str]:
        """The titles of its second-level headings, in order."""
        return [title for title in self.prose if title]

    def blocks(self, section: str | None = None, *languages: str) -> list[Block]:
        """Its fenced blocks in order; of one section, in some languages, where these are named."""
        return [
            each
            for each in self._blocks
            if section in (None, each.section) and each.language in (languages or [each.language])
        ]

    def rows(self, title: str) -> list[list[str]]:
        """The cells of the table under a heading, without its head."""
        lines = [line for line in self.prose[title].splitlines() if line.startswith("|")]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]

    def commands(self) -> set[str]:
        """Every `gitmem ...` of the page, in blocks and in running text."""
        shell = "\n".join(block.text for block in self.blocks(None, "sh")).replace("\\\n", " ")
        found = re.findall(r"(?:^|\$\(|&& |\| |do )(gitmem [^#\n|;)]+)", shell, re.MULTILINE)
        return {each.strip() for each in [*found, *re.findall(r"`(gitmem [^`]+)`", self.text)]}


def needs(program: str) -> None:
    """Skip the test where PROGRAM is missing, and say what that leaves untested."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is missing: THE GATEWAY LINES OF THIS PAGE ARE NOT TESTED")


class Walk:
    """One reader of a page: a home folder, a clock, and a shell that remembers where it stands."""

    def __init__(self, page: Page, home: Path, now: str) -> None:
        self.page, self.home = page, home
        self.ran: list[Block] = []
        self._state = home / ".walk"
        self._env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        self.now = now

    def steps(self, title: str) -> Iterator[str]:
        """Run the shell blocks of a section one by one; each answers with what it printed."""
        blocks = self.page.blocks(title, "sh")
        assert blocks, f"{self.page.name} has no commands under {title!r}"
        for block in blocks:
            self.ran.append(block)
            yield self.run(block.text)

    def step(self, title: str) -> str:
        """Run all shell blocks of a section, and answer with what they printed."""
        return "".join(self.steps(title))

    def run(self, script: str, input: str = "") -> str:
        """Run SCRIPT in the reader's shell, which keeps its folder and its exported variables."""
        # The clock is the walk's own: a block never sees the time that an earlier one ran at.
        keep = "export -p | grep -v ' GITMEM_NOW='; printf 'cd %q\\n' \"$PWD\""
        begin = f"cd '{self.home}'; [ ! -f '{self._state}' ] || . '{self._state}'"
        done = subprocess.run(
            ["bash", "-c", f"set -euo pipefail\n{begin}\n{script}\n{{ {keep}; }} >'{self._state}'"],
            env={**self._env, "GITMEM_NOW": self.now},
            input=input,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def place(self, title: str) -> None:
        """Save the code of a section: the first line of each block is a comment with its path."""
        for block in self.page.blocks(title):
            named = re.match(r"(?://|#) (\S+)\n", block.text)
            if named:
                path = self.home / named[1].removeprefix("~/")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text)

    def session_start(self, folder: Path, **more: str) -> str:
        """Start a session of Claude Code in FOLDER; answer with what the hook gives the model."""
        event = {"session_id": "s-1", "cwd": str(folder), "source": "startup", **more}
        (entry,) = self._settings(folder)["hooks"]["SessionStart"]
        (hook,) = entry["hooks"]
        said = self.run(f"cd '{folder}'; {hook['command']}", input=json.dumps(event))
        answer = json.loads(said)["hookSpecificOutput"]["additionalContext"]
        assert isinstance(answer, str)
        return answer

    def _settings(self, folder: Path) -> dict[str, Any]:
        """The settings of the project in FOLDER, else those of the reader."""
        places = [each / ".claude" / "settings.json" for each in (folder, self.home)]
        found = json.loads(next(filter(Path.is_file, places)).read_text())
        assert isinstance(found, dict)
        return found

    def skipped(self) -> list[Block]:
        """The shell blocks of the page that the walk has not run."""
        return [each for each in self.page.blocks(None, "sh") if each not in self.ran]


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file below FOLDER with its bytes, but for what belongs to git."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def shown(path: Path) -> str:
    """A file as a prompt has it: LF, and no blank lines around it."""
    return path.read_text("utf-8").replace("\r\n", "\n").strip("\n")
