"""The commands of the README and of the tutorial do what these pages print."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import click
import pytest

from gitmem.cli.app import app
from tests.support.console import PAGES, ROOT, Reader, Terminal, comparable, rewritten, steps

README = (ROOT / "README.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
LEAST = {"README.md": 8, "docs/tutorial.md": 35}


@pytest.mark.parametrize("name", PAGES)
def test_every_output_is_real(name: str, tmp_path: Path) -> None:
    followed = 0
    for step, real in Reader(tmp_path).follow((ROOT / name).read_text("utf-8")):
        followed += 1
        if step.output is None:
            assert real.code == 0, (step.command, real.output)
        else:
            assert comparable(real.output) == comparable(step.output), step.command

    assert followed >= LEAST[name]


def test_a_wrong_output_is_found_and_rewritten(tmp_path: Path) -> None:
    page = "```console\n$ export WHO=ada\n$ echo $WHO\nbob\n```\n"

    assert rewritten(page, tmp_path) == page.replace("bob", "ada")


def test_what_is_not_run_installs_or_builds_the_checkout() -> None:
    skipped = {
        step.command
        for name in PAGES
        for step in steps((ROOT / name).read_text("utf-8"))
        if step.output is None and not step.command.startswith("gitmem ")
    }

    targets = {f"make {target}" for target in re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE)}
    assert skipped <= targets | {"uv tool install ."}
    assert {"make demo", "make test"} <= skipped


@pytest.mark.parametrize("name", PAGES)
def test_commands_in_the_text_exist(name: str) -> None:
    named = re.findall(r"`gitmem ([a-z-]+)", (ROOT / name).read_text("utf-8"))

    assert named
    assert {verb for verb in named if app.get_command(click.Context(app), verb) is None} == set()


def test_the_readme_is_short() -> None:
    assert len(README.split()) < 700


def test_the_readme_makes_five_promises_on_its_first_screen() -> None:
    first, *_ = README.partition("\n## ")

    assert len(re.findall(r"^- \*\*.+?\*\*.*$", first, re.MULTILINE)) == 5
    assert len(re.findall(r"^\$ gitmem ", first, re.MULTILINE)) == 4


def test_the_readme_names_the_hosts_that_the_tests_drive() -> None:
    driven = re.findall(
        r"^(?:\w+_)?(?:CODE|CODEX|GEMINI|COPILOT) := (\S+)$", MAKEFILE, re.MULTILINE
    )

    assert len(driven) == 5
    assert set(driven) == set(re.findall(r"\b\d+\.\d+\.\d+\b", README))


def test_the_demo_runs_to_its_end(tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = subprocess.run(
        ["bash", str(ROOT / "docs" / "demo.sh")],
        cwd=tmp_path,
        env=Terminal(home).env,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "restored reference/decisions.md" in done.stdout
    assert '<knowledge layer="state"' in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith("sound")
