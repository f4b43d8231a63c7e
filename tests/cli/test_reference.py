"""The page docs/cli.md."""

from __future__ import annotations

from pathlib import Path

from gitmem.cli.boundary import MEANINGS
from gitmem.cli.commands import COMMANDS
from gitmem.cli.reference import reference
from gitmem.cli.settings import VARIABLES

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_the_page_is_what_the_commands_say() -> None:
    assert PAGE.read_text("utf-8") == reference(), "run `make docs`"


def test_the_page_has_every_command_exit_code_and_variable() -> None:
    page = reference()

    for name in (*COMMANDS, "held accept", "groups rename"):
        assert f"\n## gitmem {name}\n" in page
    for code in MEANINGS:
        assert f"\n| {code} | " in page
    for name in VARIABLES:
        assert f"\n| `{name}` | " in page


def test_every_variable_that_is_read_is_on_the_page() -> None:
    sources = [
        each.read_text("utf-8") for each in (PAGE.parents[1] / "gitmem" / "cli").rglob("*.py")
    ]
    read = {
        name
        for source in sources
        for line in source.splitlines()
        if "environ.get(" in line
        for name in line.split('"')[1::2]
        if name.isupper()
    }

    assert read - {"HOME", "PATH", "TERM", "XDG_DATA_HOME"} <= set(VARIABLES)
    assert "GITMEM_GROUP" in read
