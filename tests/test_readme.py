"""The README's transcript is what really happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def transcript() -> list[tuple[str, str]]:
    """Each command of the README's console blocks, with the output that is printed there."""
    text = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    steps = []
    for block in blocks:
        for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = piece.partition("\n")
            steps.append((command, output.strip()))
    return steps


def comparable(output: str, folder: Path) -> str:
    """Without what differs from run to run: ids, times, and where the store is."""
    known = output.replace(str(folder), "~")
    known = re.sub(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?", "<time>", known)
    return re.sub(r"\b[0-9a-f]{7,40}\b", "<id>", known).strip()


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """An environment in which `gitmem` is this checkout."""
    tools = tmp_path / "bin"
    tools.mkdir()
    gitmem = tools / "gitmem"
    gitmem.write_text(f'#!/bin/sh\nexec {sys.executable} -m gitmem "$@"\n')
    gitmem.chmod(0o755)
    paths = {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    return {**os.environ, **paths, "GIT_PAGER": "cat", "GITMEM_HOME": str(tmp_path / "memory")}


def test_the_transcript_in_the_readme_is_real(shell: dict[str, str], tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    steps = transcript()
    assert len(steps) > 8

    for command, expected in steps:
        done = subprocess.run(
            ["bash", "-c", f"{{ {command}\n}} 2>&1"],
            cwd=home,
            env=shell,
            capture_output=True,
            text=True,
            check=False,
        )
        real = comparable(done.stdout, tmp_path)
        assert real == comparable(expected, tmp_path), command


def test_the_demo_runs_to_its_end(shell: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", str(ROOT / "docs" / "demo.sh")],
        cwd=tmp_path,
        env=shell,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "restored reference/decisions.md" in done.stdout
    assert '<knowledge layer="state"' in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith("sound")
