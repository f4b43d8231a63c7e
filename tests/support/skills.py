"""What a page of a skill tells an agent to type, and a group in which it is typed.

In a page, every line of a ```sh fence is a command, with a here-document where a text is long, and
so is every `gitmem ...` between backticks. A fence that begins with `# in zylos, nano` is for
groups of those layouts; all else is for each layout that the skill names in its metadata.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from gitmem.memory.layouts import shipped_layout
from gitmem.model.text import frontmatter
from gitmem.resources import templates
from tests.support.cli import Run, Said, run_gitmem

SKILLS = templates() / "skills"
NOW = "2026-02-08T14:30:00Z"
LONG_AGO = "2026-01-18T08:00:00Z"

# A word in capitals stands for something that an earlier command has printed; the newest counts.
PLACEHOLDERS = {
    "TOKEN": r"^\[Unsummarized Range\] .*token=(\w+)$",
    "BLOB": r"^ *\d+ +([0-9a-f]{7,}) +state\.md$",
    "PATH": r"^(\S+\.(?:md|yaml))\b",
    "CHAT": r"^(\S+) +\d+ messages?\b",
    "COMMIT": r"^([0-9a-f]{7})\b",
    "PERIOD": r'^ *"period": "(\S+-W\d\d)",$',
    "DIGEST": r'^ *"if_match": "(\w+)",$',
}


class Typed(NamedTuple):
    """A command as the page has it: its words behind `gitmem`, and what it gets to read."""

    words: tuple[str, ...]
    text: str | None


class Answered(NamedTuple):
    """A command that was run, its placeholders filled, and what it said."""

    words: tuple[str, ...]
    said: Said


def pages(skill: str) -> list[Path]:
    """The SKILL.md and the pages of forms: all that has commands."""
    folder = SKILLS / skill
    return [folder / "SKILL.md", *sorted((folder / "references").glob("*.md"))]


def layouts_of(skill: str) -> list[str]:
    """The layouts for which the skill says what to type."""
    fields = frontmatter.read((SKILLS / skill / "SKILL.md").read_text("utf-8"))
    metadata = fields["metadata"]
    assert isinstance(metadata, dict)
    return str(metadata["layouts"]).split()


def scripts(page: str, layout: str) -> Iterator[str]:
    """What a shell gets in a group of LAYOUT, one text for each fence or pair of backticks."""
    for fence in re.finditer(r"^```(\w+)\n(.*?)^```$|`(gitmem [^`]+)`", page, re.M | re.S):
        language, content, inline = fence.groups()
        if inline:
            yield f"{inline}\n"
        elif language == "sh":
            only = re.match(r"# in ([\w, -]+)\n", content)
            if only is None or layout in only[1].split(", "):
                yield content[only.end() :] if only else content


def commands(page: str, layout: str) -> Iterator[Typed]:
    """What is to be typed in a group of LAYOUT, in the order of PAGE."""
    for script in scripts(page, layout):
        lines = iter(script.splitlines())
        for line in lines:
            typed, here, mark = line.partition(" <<'EOF'")
            assert not mark, f"a here-document ends its line: {line}"
            name, *words = shlex.split(typed)
            assert name == "gitmem", f"every line is a command of gitmem's: {line}"
            yield Typed(tuple(words), _until_its_end(lines) if here else None)


def _until_its_end(lines: Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in itertools.takewhile(lambda line: line != "EOF", lines))


def run_page(page: str, layout: str) -> list[Answered]:
    """Type all that PAGE says for LAYOUT, in this process."""
    return run_all(commands(page, layout), run_gitmem)


def run_all(typed: Iterable[Typed], run: Run) -> list[Answered]:
    """Type each, its placeholders filled by what the ones before it have answered."""
    answered: list[Answered] = []
    for each in typed:
        words = tuple(filled(word, answered) for word in each.words)
        answered.append(Answered(words, run(*words, input=each.text)))
    return answered


def run_process(*words: str, input: str | None) -> Said:
    """Run a command as an agent does: a process of its own."""
    command = [sys.executable, "-m", "gitmem", *words]
    done = subprocess.run(command, input=input or "", capture_output=True, text=True, check=False)
    return Said(done.returncode, done.stdout, done.stderr, done.stdout.encode())


def filled(word: str, answered: list[Answered]) -> str:
    """WORD, or what the newest answer has for it where it is a placeholder."""
    pattern = PLACEHOLDERS.get(word)
    if pattern is None:
        return word
    for each in reversed(answered):
        found = re.search(pattern, each.said.out, re.M)
        if found:
            return found[1]
    raise AssertionError(f"nothing that was printed before says what {word} is")


def used_group(layout: str, home: Path, project: Path) -> None:
    """A group of LAYOUT that is three weeks old, with episodes, messages and a host's own files."""
    assert run_gitmem("init", "--layout", layout, GITMEM_NOW=LONG_AGO).code == 0
    if shipped_layout(layout).layer("episodes"):
        day = ("--date", "2026-01-20", "--summary", "The site is up")
        assert run_gitmem("write", "episodes", *day, "It runs.", GITMEM_NOW=LONG_AGO).code == 0
    for text in ("Please import the old calendar.", "Bookings close at six from now on."):
        add = ("transcript", "add", "--chat", "telegram:1", "--from", "ada", text)
        assert run_gitmem(*add).code == 0
    _claude_code_said(home, project)
    _codex_said(home, project)


def _claude_code_said(home: Path, project: Path) -> None:
    folder = home / ".claude" / "projects" / re.sub("[^a-zA-Z0-9]", "-", str(project))
    folder.mkdir(parents=True)
    message = {"role": "user", "content": "Recurring bookings, too."}
    ids = {"type": "user", "uuid": "u-1", "sessionId": "s-1", "timestamp": NOW}
    row = {**ids, "message": message}
    (folder / "s-1.jsonl").write_text(json.dumps(row) + "\n", "utf-8")


def _codex_said(home: Path, project: Path) -> None:
    folder = home / ".codex" / "sessions" / "2026" / "02" / "08"
    folder.mkdir(parents=True)
    content = [{"type": "input_text", "text": "And the invoices?"}]
    rows = [
        ("session_meta", {"id": "c-1", "cwd": str(project)}),
        ("response_item", {"type": "message", "role": "user", "content": content, "id": "m-1"}),
    ]
    lines = [{"timestamp": NOW, "type": kind, "payload": payload} for kind, payload in rows]
    name = "rollout-2026-02-08T14-30-00-0199c0de-1111-7222-8333-444455556666.jsonl"
    (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
