"""What a host finds that no shell of this moment has started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.integrations.hosts.program import find_program, login_environ
from gitmem.integrations.install.install import Installed
from gitmem.integrations.install.record import installs
from gitmem.integrations.install.rewire import rewire
from tests.integrations.test_install import Machine, tree


class Venv(Machine):
    """A machine on which gitmem lies in a virtual environment, active in this shell alone."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.place = self.write(folder / "venv" / "bin" / "gitmem", b"")
        self.place.write_text(f'#!/bin/sh\nexec {sys.executable} -m gitmem "$@"\n')
        self.place.chmod(0o755)
        self.launcher = self.home / ".local" / "bin" / "gitmem"
        self.environ |= {"SHELL": "/bin/sh", "PATH": f"{self.place.parent}:/usr/bin:/bin"}

    def profile(self, path: str) -> None:
        (self.home / ".profile").write_text(f"echo 'welcome to /opt'\nexport PATH={path}\n")

    def set_up(self, host: str = "claude-code") -> Installed:
        path = login_environ(self.environ)["PATH"]
        program = find_program(str(self.place), sys.executable, path)
        return self.install(host, program=program, path=path)

    def found(self) -> str:
        """What a shell finds that a host starts."""
        env = login_environ(self.environ)
        command = ["/bin/sh", "-c", "gitmem --version"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        return done.stdout


@pytest.fixture
def venv(tmp_path: Path) -> Venv:
    return Venv(tmp_path)


def test_the_path_is_that_of_a_login_shell_and_not_of_this_moment(venv: Venv) -> None:
    venv.profile("/opt/tools:/usr/bin:/bin")

    found = login_environ(venv.environ | {"VIRTUAL_ENV": "x", "PYTHONPATH": "y"})

    assert found == {"HOME": str(venv.home), "SHELL": "/bin/sh", "PATH": "/opt/tools:/usr/bin:/bin"}


@pytest.mark.parametrize("shell", ["/bin/false", "/no/such/shell"])
def test_without_a_shell_that_answers_the_path_of_this_moment_counts(
    venv: Venv, shell: str
) -> None:
    assert login_environ(venv.environ | {"SHELL": shell})["PATH"] == venv.environ["PATH"]


def test_hooks_and_a_launcher_work_without_the_virtual_environment(venv: Venv) -> None:
    venv.profile('"$HOME/.local/bin:/usr/bin:/bin"')
    before = tree(venv.home)

    venv.set_up()

    assert f'"command": "{venv.place} hook stop' in venv.settings.read_text()
    assert os.access(venv.launcher, os.X_OK)
    assert venv.found().startswith("gitmem ")
    assert venv.set_up().files == ()
    rewire(venv.store, venv.environ)
    assert venv.launcher.exists()
    venv.uninstall()
    assert tree(venv.home) == before


def test_a_launcher_goes_with_the_last_host_that_needs_it(venv: Venv) -> None:
    venv.profile('"$HOME/.local/bin:/usr/bin:/bin"')
    venv.launcher.parent.mkdir(parents=True)
    before = tree(venv.home)
    venv.set_up("claude-code")
    venv.set_up("codex")

    venv.uninstall("claude-code")
    assert venv.found().startswith("gitmem ")
    venv.uninstall("codex")

    assert tree(venv.home) == before
    assert installs(venv.store.root) == ()


@pytest.mark.parametrize("kind", ["file", "link"])
def test_nothing_that_stands_there_is_replaced(venv: Venv, kind: str, tmp_path: Path) -> None:
    venv.profile('"$HOME/.local/bin:/usr/bin:/bin"')
    venv.launcher.parent.mkdir(parents=True)
    if kind == "file":
        venv.launcher.write_text("not a program\n")
    else:
        venv.launcher.symlink_to(tmp_path / "gone")

    done = venv.set_up()

    assert not (tmp_path / "gone").exists()
    if kind == "file":
        assert venv.launcher.read_text() == "not a program\n"
    assert any(f"export PATH={venv.place.parent}" in each for each in done.next)


def test_who_has_no_folder_for_it_is_told_what_to_do(venv: Venv) -> None:
    venv.profile("/usr/bin:/bin")

    done = venv.set_up()

    assert not venv.launcher.exists()
    assert any(f'`export PATH={venv.place.parent}:"$PATH"`' in each for each in done.next)


def test_who_is_found_needs_nothing(venv: Venv) -> None:
    venv.profile(f'"$HOME/.local/bin:{venv.place.parent}:/usr/bin:/bin"')

    done = venv.set_up()

    assert '"command": "gitmem hook stop' in venv.settings.read_text()
    assert not venv.launcher.exists()
    assert not any("export PATH" in each for each in done.next)
