"""How agents and people save a file: each way reads it, adds a text, and writes it back."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path


def pause() -> None:
    """A moment in which anything may happen to the file."""
    time.sleep(random.uniform(0, 0.004))


def by_rename(path: Path, text: str) -> None:
    """As most editors save: a new file takes the old one's place."""
    new = path.with_name(f".{path.name}.swp")
    content = path.read_text() + text
    pause()
    new.write_text(content)
    os.replace(new, path)


def by_truncating(path: Path, text: str) -> None:
    """As a shell's `>` or Python's open('w'): for a moment the file is empty, then half there."""
    content = path.read_text() + text
    half = len(content) // 2
    with path.open("w") as file:
        pause()
        file.write(content[:half])
        file.flush()
        pause()
        file.write(content[half:])


def in_place(path: Path, text: str) -> None:
    """Read and write through one handle, which may outlive the file's place in the folder."""
    with path.open("r+") as file:
        content = file.read() + text
        pause()
        file.seek(0)
        file.write(content[: len(content) // 2])
        file.flush()
        pause()
        file.write(content[len(content) // 2 :])
        file.truncate()


def by_appending(path: Path, text: str) -> None:
    """As a shell's `>>`, with pauses between the open, the two halves and the close."""
    with path.open("a") as file:
        pause()
        file.write(text[:10])
        file.flush()
        pause()
        file.write(text[10:])
        file.flush()
        pause()


STYLES: dict[str, Callable[[Path, str], None]] = {
    "rename": by_rename,
    "truncate": by_truncating,
    "in place": in_place,
    "append": by_appending,
}
