"""Finds the folders that ship with gitmem but are not Python."""

from __future__ import annotations

from pathlib import Path

from gitmem.errors import StorageFailed


def templates() -> Path:
    """Return the folder of layouts and skills that gitmem ships."""
    return find("templates", package=Path(__file__).parent)


def hooks() -> Path:
    """Return the folder of files that agent hosts read."""
    return find("hooks", package=Path(__file__).parent)


def find(name: str, *, package: Path) -> Path:
    """Return the folder NAME: inside PACKAGE in a wheel, beside it in a checkout."""
    inside, beside = package / name, package.parent / name
    if inside.is_dir():
        return inside
    # Beside an installed package lies site-packages, where a folder of this name is a stranger's.
    if (package.parent / "pyproject.toml").is_file() and beside.is_dir():
        return beside
    raise StorageFailed(
        f"gitmem's {name} folder is missing from this installation",
        hint="install gitmem again from its checkout: the installed package is incomplete",
        searched=[str(inside), str(beside)],
    )
