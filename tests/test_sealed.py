"""The seal around every test, tried on a machine whose owner has configured everything."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import ConfigLevel

from tests.support.git import GitFailed, git, git_bytes
from tests.support.seal import is_personal, sealed

ROOT = Path(__file__).parents[1]

OWNED = {
    "CLAUDE_CODE_SESSION_ID": "leak",
    "EDITOR": "leak",
    "GITMEM_AGENT": "leak",
    "GITMEM_GROUP": "leak",
    "GITMEM_HOME": "leak",
    "GITMEM_NOW": "2001-01-01",
    "GIT_AUTHOR_NAME": "leak",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "user.name",
    "GIT_CONFIG_VALUE_0": "leak",
    "GIT_DIR": "leak",
    "TZ": "Pacific/Chatham",
    "XDG_RUNTIME_DIR": "leak",
}


def test_the_home_folder_is_the_tests_own_and_empty(sealed_machine: Path) -> None:
    assert Path.home() == sealed_machine
    assert list(sealed_machine.iterdir()) == []
    assert Path(os.environ["XDG_DATA_HOME"]).is_relative_to(sealed_machine)


def test_no_setting_of_the_person_is_left() -> None:
    left = {name: value for name, value in os.environ.items() if is_personal(name)}

    assert "leak" not in left.values()
    assert {name for name in left if not name.startswith("XDG_")} == {
        "GITMEM_HOOK_SECONDS",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "TZ",
    }


def test_local_time_is_universal_time() -> None:
    assert time.tzname[0] == "UTC"
    assert time.localtime(0).tm_hour == 0


def test_git_knows_no_setting_and_nobody(tmp_path: Path) -> None:
    told = subprocess.run(
        ["git", "config", "--list"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    asked = subprocess.run(
        ["git", "-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.stdout == ""
    assert asked.returncode != 0


@pytest.mark.parametrize(
    "level", [ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL]
)
def test_libgit2_looks_for_settings_nowhere(level: ConfigLevel) -> None:
    assert pygit2.settings.search_path[level] == ""


def test_libgit2_finds_no_global_config() -> None:
    with pytest.raises(OSError, match="global"):
        pygit2.Config.get_global_config()


def test_a_test_that_undoes_its_own_changes_stays_sealed(
    monkeypatch: pytest.MonkeyPatch, sealed_machine: Path
) -> None:
    monkeypatch.setenv("GITMEM_GROUP", "mine")
    monkeypatch.undo()

    assert "GITMEM_GROUP" not in os.environ
    assert Path.home() == sealed_machine


def test_the_seal_holds_on_a_machine_with_an_owner(tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = leak\n\temail = leak@example.org\n")
    owned = os.environ | OWNED | {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    for name in ("GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME"):
        del owned[name]

    every_other_test = [__file__, "-k", "not machine_with_an_owner"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *every_other_test],
        cwd=ROOT,
        env=owned,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_what_is_not_personal_passes_through_the_seal() -> None:
    through = sealed({"PATH": "/bin", "GIT_DIR": "leak", "TZ": "Asia/Tokyo"}, home=Path("/h"))

    assert through["PATH"] == "/bin"
    assert "GIT_DIR" not in through
    assert through["TZ"] == "UTC"


def test_the_second_opinion_commits_as_a_person_and_keeps_bytes(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    blob = git(tmp_path, "hash-object", "-w", "--stdin", input=b"one\r\ntwo").strip()
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "first")

    assert git_bytes(tmp_path / ".git", "cat-file", "blob", blob) == b"one\r\ntwo"
    assert git(tmp_path, "cat-file", "blob", blob) == "one\r\ntwo"
    assert git(tmp_path, "log", "--format=%an").strip() == "A Person"


def test_the_second_opinion_fails_loudly_with_what_git_said(tmp_path: Path) -> None:
    with pytest.raises(GitFailed, match="not a git repository"):
        git(tmp_path, "status")

    assert git(tmp_path, "status", check=False) == ""
