"""Whatever a name holds, no terminal obeys it: every command that lists, over names made to harm.

Files, folders, held and dropped versions, authors, subjects, tags, branches, groups, sessions,
senders, chats, links and jobs are called after sequences that clear a screen, forge a line, hide or
reorder text, or are no text at all.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from unicodedata import category

import pytest

import gitmem.cli
from gitmem.cli.commands import COMMANDS
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import PAINTS, Style
from tests.support.cli import Run, Said
from tests.support.git import git, git_bytes
from tests.support.samples import body

SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)
EVIL = "\x1b[2J\u202egnp\u2066\u200b\ufeff\U000e0041\x7f\x9b31m"
LINE = f"{EVIL}\nFORGED line\r\tFORGED\u2028FORGED"
BYTES = b"\xff\x80" + EVIL.encode()
HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}

READING = [
    ["status"],
    ["log"],
    ["log", "-v"],
    ["log", "--since", "2020-01-01"],
    ["show"],
    ["show", "HEAD~1"],
    ["diff"],
    ["diff", "HEAD~2"],
    ["list"],
    ["list", "-l"],
    ["list", LINE],
    ["kept"],
    ["kept", "restore", LINE],
    ["kept", "drop", LINE],
    ["held"],
    ["held", "list", "--trash"],
    ["held", "ignore", "--list"],
    ["held", "ignore", "n*/", "--dry-run"],
    ["groups"],
    ["snapshots"],
    ["entries"],
    ["entries", "--json"],
    ["freshness"],
    ["freshness", "e.md"],
    ["lint"],
    ["check"],
    ["archive"],
    ["archive", "--list"],
    ["inject", "--annotate"],
    ["search", "forged"],
    ["search", "line", "--chat", LINE],
    ["memory", "get", LINE],
    ["memory", "search", "line"],
    ["search", "line", "--source", "transcripts"],
    ["transcript", "list"],
    ["transcript", "show", LINE],
    ["transcript", "pending"],
    ["transcript", "status"],
    ["transcript", "prune", "--before", "2026-02-09", "--dry-run"],
    ["consolidate"],
    ["rollup"],
    ["migrate", "--dry-run"],
    ["link"],
    ["inject"],
    ["inject", "--explain"],
    ["doctor"],
    ["schedule", "print", "--backend", "cron"],
    ["undo", LINE],
    ["restore", "e.md"],
    ["restore", LINE, "--at", LINE],
    ["read", LINE],
    ["read", "e.md", "--at", LINE],
    ["mv", LINE, "x.md"],
    ["rm", LINE],
    ["edit", LINE],
    ["confirm", LINE],
    ["move-entry", LINE, "e.md"],
    ["rotate"],
    ["groups", "rename", LINE, "x"],
    ["groups", "remove", LINE],
    ["-g", LINE, "status"],
    ["--store", LINE, "status"],
    ["write", LINE, "x"],
    ["held", "show", LINE],
    ["held", "accept", LINE],
    ["held", "drop", LINE],
    ["held", "restore", LINE],
    ["held", "empty", LINE, "--yes"],
    ["held", "ignore", LINE],
    ["held", "ignore", "--remove", LINE],
    ["nosuch" + LINE],
    ["status", f"--{LINE}"],
]
WRITING = [
    ["held", "accept", f"notes/{LINE}.md"],
    ["held", "ignore", f"notes/{LINE}.md"],
    ["held", "drop", "key.md", "--yes", "--reason", LINE],
    ["capture"],
    ["snapshot"],
    ["compact", "--summary", EVIL],
    ["maintain"],
    ["maintain", "--all"],
    ["check", "--repair"],
    ["rollup", "--week", LINE],
    ["write", "b.md", "x", "--reason", EVIL, "--session", LINE, "--source", LINE],
    ["log", "-v"],
    ["status"],
]
ELSEWHERE = {
    "init": "it names what the caller typed; the boundary is tried by the errors above",
    "completion": "a script for a shell, made of our own names",
    "install": "tests/cli/test_install.py",
    "hook": "JSON for hosts",
    "mcp": "JSON for hosts",
    "memory-tool": "JSON for hosts",
    "adopt": "its own test below",
}


@pytest.fixture
def haunted(gitmem: Run, home: Path, files: Path) -> Run:
    """A group in which everything that can have such a name has one."""
    assert gitmem("init", "--layout", "standard").code == 0
    entry = f"### {EVIL} One\n- **Status:** {EVIL}\n- **{EVIL}:** {EVIL}\n\nforged line {EVIL}\n"
    gitmem("write", "e.md", entry)
    gitmem("write", "reference/decisions.md", entry)
    gitmem("write", "reference/ideas.md", entry, "--agent", "a" * 200)
    stream = _commit(b"one", {os.fsencode(f"notes/{EVIL}.md"): b"forged line\n"})
    stream += _commit(b"two", {b"notes/" + BYTES: b"forged line " + EVIL.encode() + b"\n"})
    git_bytes(files, "fast-import", "--quiet", "--force", input=stream)
    git(files, "reset", "-q", "--hard")
    git(files, "tag", "-a", "-m", f"{EVIL}\nFORGED", "snapshot/\u202e\u200bx")
    git(files, "branch", "\u202e\u200bside")
    git(files, "commit", "-q", "--allow-empty", "-m", f"left {EVIL}\r FORGED")
    git(files, "update-ref", "refs/gitmem/kept/123456789012", "main")
    git(files, "update-ref", "-m", f"moved {EVIL}", "refs/heads/main", "main~1")
    notes = files / "notes"
    notes.mkdir(exist_ok=True)
    for name in (f"{LINE}.md".encode(), BYTES + b".md", b"n" * 250):
        Path(os.fsdecode(bytes(notes) + b"/" + name)).write_text("text\n")
    (notes / f"to{LINE}").symlink_to(f"/nowhere/{LINE}")
    for name in ("key.md", "dropped.md", f"{EVIL}.key"):
        (files / name).write_text(f"{SECRET} {EVIL}\n")
    said = json.dumps({"chat": LINE, "from": LINE, "text": f"a line {EVIL}", "id": LINE})
    for args in (
        ["held", "drop", "dropped.md", "--yes", "--reason", LINE],
        ["held", "ignore", f"{EVIL}.key", "--reason", LINE],
        ["transcript", "add", "--batch", "-"],
    ):
        assert gitmem(*args, input=f"{said}\n").code == 0, args
    (home / "repos" / f"{LINE}.git").mkdir()
    links = json.dumps({f"/nowhere/{LINE}": "main"})
    (home / "config.yaml").write_text(f"links: {links}\n")
    _job(home)
    return gitmem


def _commit(mark: bytes, files: dict[bytes, bytes]) -> bytes:
    subject = b"plain " + EVIL.encode() + b"\r FORGED"
    parts = [
        b"commit refs/heads/main\n",
        b"author " + EVIL.encode() + b" <evil@example.org> 1770000000 +0000\n",
        b"committer " + EVIL.encode() + b" <evil@example.org> 1770000000 +0000\n",
        b"data %d\n%s\n" % (len(subject), subject),
        b"from refs/heads/main^0\n" if mark == b"one" else b"",
    ]
    for path, data in files.items():
        quoted = b'"' + path.replace(b"\\", b"\\\\").replace(b"\n", b"\\n") + b'"'
        parts.append(b"M 100644 inline %s\ndata %d\n%s\n" % (quoted, len(data), data))
    return b"".join(parts)


def _job(home: Path) -> None:
    row = {
        "time": "2026-02-08T12:00:00+00:00",
        "job": f"rotate{LINE}",
        "outcome": f"failed{EVIL}",
        "found": 0,
        "detail": LINE,
        "seconds": 0.1,
    }
    with (home / "repos" / "main.git" / "gitmem" / "jobs.jsonl").open("a") as log:
        log.write(json.dumps(row) + "\n")


def harmless(said: Said, args: list[str], colours: bool = False) -> None:
    """Nothing that a terminal obeys, and no line that a name forged."""
    for text in (said.out, said.err):
        seen = re.sub(PAINTS, "", text) if colours else text
        found = sorted({f"{ord(each):04X}" for each in seen if _is_hidden(each)})
        assert found == [], f"{args!a} printed {found}: {text!a}"
        forged = [line for line in seen.splitlines() if re.match(r"[\s|:-]*FORGED", line)]
        assert forged == [], f"{args!a} printed {text!a}"


def _is_hidden(char: str) -> bool:
    return char != "\n" and category(char) in HIDDEN


@pytest.mark.parametrize("colours", [False, True], ids=["plain", "colours"])
def test_no_listing_prints_what_a_terminal_obeys(
    haunted: Run, monkeypatch: pytest.MonkeyPatch, colours: bool
) -> None:
    monkeypatch.setattr(Invocation, "style", property(lambda call: Style(colours)))

    for args in (*READING, *WRITING):
        harmless(haunted(*args), args, colours)


def test_every_command_is_looked_at() -> None:
    looked_at = {next(word for word in args if word in COMMANDS) for args in _named()}

    assert looked_at | ELSEWHERE.keys() == COMMANDS.keys()
    assert not looked_at & ELSEWHERE.keys()


def _named() -> list[list[str]]:
    return [args for args in (*READING, *WRITING) if set(args) & COMMANDS.keys()]


PRINTING = {
    "__init__.py": "the version",
    "style.py": "the one way out",
    "invocation.py": "answers and remarks, which it escapes",
    "boundary.py": "errors, which it escapes",
    "plain.py": "a line break after ^C",
    "app.py": "the help, made of our own words",
    "reference.py": "the same, for the documentation",
    "files.py": "the bytes of a file, as they are",
    "inject.py": "the context, which has an escaping of its own",
    "hook.py": "JSON for a host, and complaints that it escapes",
    "transcript.py": "the question before a prune, which it escapes",
}


def test_nobody_else_prints() -> None:
    printing = re.compile(
        r"\becho\(|click\.(?:secho|confirm|prompt)\(|\bprint\(|std(?:out|err)\.(?:w|b)"
    )
    cli = Path(gitmem.cli.__file__).parent
    found = {path.name for path in cli.rglob("*.py") if printing.search(path.read_text("utf-8"))}

    assert found == PRINTING.keys()


def test_a_document_has_names_exactly(haunted: Run, files: Path) -> None:
    held = {each["path"] for each in haunted("held", "--json").document["held"]}
    listed = {each["path"] for each in haunted("list", "--json").document["files"]}

    assert f"notes/{LINE}.md" in held
    assert f"notes/{EVIL}.md" in listed


def test_adopting_a_folder_prints_nothing_of_it_either(
    run: Run, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / f"vault{EVIL}"
    folder.mkdir()
    (folder / "a.md").write_text(f"{EVIL}\n")
    (folder / f"{LINE}.md").write_text("x\n")
    (folder / f"{EVIL}.md").write_text(f"---\na: &{EVIL}\n---\n")
    (folder / "key.md").write_text(f"{SECRET}\n")
    (folder / "A.md").write_text(f"\0{EVIL}\n")

    for more in (["--dry-run"], []):
        args = ["adopt", str(folder), "--layout", "none", *more]
        harmless(run(*args), args)
    harmless(run("status"), ["status"])
