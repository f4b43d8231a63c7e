"""`gitmem completion`, and what a shell is offered."""

from __future__ import annotations

import subprocess

import pytest

from gitmem.cli.commands import COMMANDS
from tests.support.cli import Run


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_every_shell_asks_gitmem(shell: str, run: Run) -> None:
    said = run("completion", shell, PATH="/nonexistent")

    assert said.code == 0
    assert f"_GITMEM_COMPLETE={shell}_complete" in said.out
    assert run("completion", shell, "--json").document["script"].strip() == said.out.strip()


def test_bash_understands_its_script(run: Run) -> None:
    subprocess.run(["bash", "-n"], input=run("completion", "bash").raw, check=True)


def test_another_shell_is_a_usage_error(run: Run) -> None:
    assert run("completion", "csh").code == 2


def offered(run: Run, *words: str) -> list[str]:
    said = run(
        _GITMEM_COMPLETE="bash_complete",
        COMP_WORDS=" ".join(["gitmem", *words]),
        COMP_CWORD=str(len(words)),
    )
    return [line.partition(",")[2] for line in said.out.splitlines() if line]


def test_commands_options_files_and_groups_are_offered(gitmem: Run) -> None:
    gitmem("write", "state.md", "x")
    gitmem("init", "-g", "research")

    assert offered(gitmem, "re") == ["read", "restore"]
    assert offered(gitmem, "") == list(COMMANDS)
    assert "--if-match" in offered(gitmem, "write", "--i")
    assert offered(gitmem, "read", "st") == ["state.md"]
    assert offered(gitmem, "read", "-g", "r") == ["research"]


def test_without_a_store_nothing_is_offered_and_nothing_complained(run: Run) -> None:
    assert offered(run, "read", "st") == []
