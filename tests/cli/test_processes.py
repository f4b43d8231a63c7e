"""The command as a process of its own: what it imports, its pipes, its modes, its terminal."""

from __future__ import annotations

import os
import pty
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import gitmem as package
from tests.support.cli import Run

ROOT = Path(package.__file__).parents[1]
GITMEM = [sys.executable, "-m", "gitmem"]
LISTS_MODULES = (
    "import atexit, sys\n"
    "atexit.register(lambda: print('\\n'.join(sys.modules), file=sys.stderr))\n"
    "from gitmem.cli import main\n"
    "sys.argv[0] = 'gitmem'\n"
    "main()\n"
)


def process(*args: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    settings: dict[str, object] = {"stdin": subprocess.DEVNULL, "capture_output": True}
    settings |= options
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run([*GITMEM, *args], env=env, check=False, timeout=60, **settings)  # type: ignore[call-overload, no-any-return]


def imported(*args: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LISTS_MODULES, *args],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(done.stderr.split())


@pytest.fixture
def store(home: Path) -> Path:
    assert process("init").returncode == 0
    return home


def test_the_version_needs_no_click() -> None:
    modules = imported("--version")

    assert "gitmem.cli" in modules
    assert modules.isdisjoint({"click", "gitmem.cli.app", "gitmem.errors"})


@pytest.mark.parametrize("args", [["--help"], ["write", "--help"]])
def test_help_imports_nothing_heavy(args: list[str]) -> None:
    modules = imported(*args)

    heavy = {"pygit2", "yaml", "json", "difflib", "sqlite3", "dataclasses", "importlib.metadata"}
    assert "gitmem.cli.app" in modules
    assert modules & heavy == set()
    assert not any(each.startswith(("gitmem.memory", "gitmem.store")) for each in modules)


def test_help_of_the_whole_loads_no_command() -> None:
    assert not any(each.startswith("gitmem.cli.commands.") for each in imported("--help"))


HEAVY = {
    *(
        "pygit2",
        "yaml",
        "frontmatter",
        "difflib",
        "zoneinfo",
        "sqlite3",
        "importlib.metadata",
        "random",
    ),
    "gitmem.model.text.merge",
}
WRITER = {
    *(
        "gitmem.store.transaction.writer",
        "gitmem.store.transaction.publish",
        "gitmem.store.transaction.capture",
        "gitmem.store.worktree.held",
    ),
    *("gitmem.model.guards", "gitmem.model.secrets.find"),
}


UNREAD = {
    *("shutil", "bz2", "lzma", "gitmem.store.history.log", "gitmem.store.history.moves"),
    "gitmem.model.transcripts.scratchpads",
}
"""What only writers, damage and the past need."""


@pytest.mark.parametrize("text", ["hello", "hello\nand more\n"])
def test_a_plain_change_imports_no_libgit2(store: Path, text: str) -> None:
    process("write", "a.md", "hello\n")

    assert "pygit2" not in imported("write", "a.md", text)


def test_dates_that_are_kept_import_no_walk(store: Path) -> None:
    process("write", "reference/preferences.md", "--entry", "Tea", "green")
    process("inject")

    modules = imported("inject")

    assert "gitmem.memory.entries.dates" in modules
    assert "gitmem.store.history.dating" not in modules


def test_a_write_imports_only_what_it_needs(store: Path) -> None:
    modules = imported("write", "a.md", "hello")

    assert modules >= WRITER
    assert modules & HEAVY == set()


@pytest.mark.parametrize("args", [["inject"], ["read", "a.md"], ["inject", "--user", "ada"]])
def test_reading_imports_nothing_that_writes(store: Path, args: list[str]) -> None:
    process("write", "a.md", "hello")

    modules = imported(*args)

    assert modules & (HEAVY | WRITER | UNREAD | {"json", "click"}) == set()


@pytest.mark.parametrize("args", [["search", "hello"], ["inject", "--prompt", "hello"]])
def test_a_question_imports_nothing_that_writes(store: Path, args: list[str]) -> None:
    process("write", "facts/a.md", "hello")
    process(*args)  # brings the index up

    modules = imported(*args)

    assert "sqlite3" in modules
    assert modules & ((HEAVY - {"sqlite3"}) | WRITER | {"json", "click"}) == set()
    assert not any(each.startswith("gitmem.memory.transcript") for each in modules)


def test_the_status_imports_only_what_it_needs(store: Path) -> None:
    process("write", "a.md", "hello")

    assert imported("status") & (HEAVY | {"json", "click"}) == set()


def test_what_is_made_is_for_its_owner_alone(store: Path) -> None:
    process("write", "a.md", "hello", umask=0o000)

    for path in [store, *store.rglob("*")]:
        if not path.is_symlink():
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_bytes_go_through_pipes_unchanged(store: Path) -> None:
    data = bytes(range(32, 256)) + b"\r\n\n no end"

    wrote = process("write", "a.bin", stdin=None, input=data)

    assert wrote.returncode == 0, wrote.stderr
    assert process("read", "a.bin").stdout == data


def test_a_reader_that_leaves_is_no_error(store: Path) -> None:
    process("write", "a.md", stdin=None, input=b"line\n" * 100_000)

    done = subprocess.run(
        f"set -o pipefail; {sys.executable} -m gitmem read a.md | head -n 1",
        shell=True,
        executable="/bin/bash",
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"line\n", b"")


def test_a_full_disk_under_stdout_is_an_error(store: Path) -> None:
    process("write", "a.md", "hello")
    with open("/dev/full", "wb") as full:
        done = process("read", "a.md", stdout=full, stderr=subprocess.PIPE, capture_output=False)

    assert done.returncode == 8
    assert b"No space left" in done.stderr


def test_a_write_never_waits_for_somebody_to_type(store: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        done = process("write", "a.md", stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)

    assert done.returncode == 2
    assert b"gitmem write notes.md" in done.stderr


def test_without_a_standard_input_there_is_nothing_to_write(store: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m gitmem write a.md <&-",
        shell=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )

    assert done.returncode == 2, done.stderr


def on_terminal(*args: str, **variables: str) -> bytes:
    """What a command prints on a terminal."""
    ours, theirs = pty.openpty()
    env = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm"} | variables
    with subprocess.Popen(
        [*GITMEM, *args], env=env, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    ):
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 65_536):
                said += part
        except OSError:
            pass  # how a terminal says that the other side is closed
    os.close(ours)
    return said


def test_colours_show_on_a_terminal_unless_forbidden(store: Path) -> None:
    process("write", "a.md", "hello")

    assert b"\x1b[36m" in on_terminal("log")
    assert b"\x1b" not in on_terminal("log", NO_COLOR="1")
    assert b"\x1b" not in process("log").stdout


def test_a_terminal_gets_a_screenful_of_log(gitmem: Run) -> None:
    for number in range(31):
        gitmem("write", "a.md", "--append", str(number))

    assert b"gitmem log -n 0" in on_terminal("log")
    assert b"gitmem log -n 0" not in on_terminal("log", "-n", "0")
    assert len(process("log").stdout.splitlines()) == 32


def test_the_module_and_the_installed_command_are_the_same() -> None:
    done = process("--version")

    assert done.stdout.decode() == f"gitmem {package.__version__}\n"
    assert done.stderr == b""


def test_an_interrupt_ends_with_130(store: Path, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nkill -INT $PPID\nsleep 1\n")
    editor.chmod(0o700)

    done = subprocess.run(
        [*GITMEM, "edit", "a.md"],
        env=os.environ | {"PYTHONPATH": str(ROOT), "EDITOR": str(editor)},
        capture_output=True,
        check=False,
        # A job that a shell starts in the background ignores interrupts, and so do its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )

    assert done.returncode == 130
    assert b"interrupted" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("trouble", ["a broken configuration", "no home at all"])
def test_the_operators_git_configuration_does_not_matter(
    trouble: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "somewhere"
    if trouble == "a broken configuration":
        home.mkdir()
        (home / ".gitconfig").write_text("[core\nbroken = = =\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    store = ["--store", str(tmp_path / "store")]

    assert process("init", *store).returncode == 0
    assert process("write", "a.md", "text", *store).returncode == 0
    assert process("read", "a.md", *store).stdout == b"text\n"
