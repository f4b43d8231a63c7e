"""A second file system, for what cannot be moved there by a rename."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

PLACES = ("/dev/shm", "/tmp", "/var/tmp")


@contextmanager
def other_disk(beside: Path) -> Iterator[Path]:
    """A folder on another file system than BESIDE; skips where there is none."""
    here = beside.stat().st_dev
    places = (place for place in map(Path, PLACES) if place.is_dir() and os.access(place, os.W_OK))
    found = next((place for place in places if place.stat().st_dev != here), None)
    if found is None:
        pytest.skip("this machine has no second file system to try it on")
    with TemporaryDirectory(dir=found) as folder:
        yield Path(folder)
