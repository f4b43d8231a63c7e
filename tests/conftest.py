"""Every test sees a sealed machine: no user config, no identity, no settings of the person."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import hypothesis
import pygit2
import pytest
from pygit2.enums import ConfigLevel

from tests.support.moulds import Moulds
from tests.support.seal import sealed

# No repository is opened and no fsync setting is touched here: libgit2 reads that flag when it
# opens the first repository, and the tests must see what gitmem itself did by then.
SEARCHED = (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL)

hypothesis.settings.register_profile("ci", derandomize=True, max_examples=50, deadline=None)
hypothesis.settings.register_profile("deep", max_examples=1_000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Fresh home folders, one for each test; not in tmp_path, which tests expect to be empty."""
    root = tmp_path_factory.mktemp("homes")
    return (root / str(number) for number in count())


@pytest.fixture(scope="session")
def moulds(tmp_path_factory: pytest.TempPathFactory) -> Moulds:
    """The stores that many tests begin with, made once."""
    return Moulds(tmp_path_factory.mktemp("moulds"))


@pytest.fixture(autouse=True)
def sealed_machine(homes: Iterator[Path]) -> Iterator[Path]:
    """Take the person out of the environment; give the home folder the test has instead."""
    home = next(homes)
    home.mkdir()
    for level in SEARCHED:
        pygit2.settings.search_path[level] = ""
    # A MonkeyPatch of its own, so that a test may undo its own changes and stay sealed.
    with pytest.MonkeyPatch.context() as seal:
        replace_environment(sealed(os.environ, home=home), seal)
        time.tzset()
        yield home
    time.tzset()


def replace_environment(wanted: dict[str, str], seal: pytest.MonkeyPatch) -> None:
    for name in os.environ.keys() - wanted.keys():
        seal.delenv(name)
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            seal.setenv(name, value)
