"""Where a person sits: questions before what cannot be taken back, progress, colours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import Run
from tests.support.terminals import on_terminal

BOLD = "\x1b[1;4m"


@pytest.fixture
def summarised(run: Run) -> Run:
    """A group with a message that may go."""
    run("init")
    run("transcript", "add", "--chat", "c", "--from", "Ada", "An old heron.")
    run("transcript", "pending")
    run("transcript", "checkpoint", "--summary", "A heron")
    return run


PRUNE = ("transcript", "prune", "--before", "2026-03-01")


def test_dropping_for_good_is_asked_first(summarised: Run) -> None:
    code, seen = on_terminal(*PRUNE, typed="n\n")

    assert code == 0
    assert "nothing was dropped" in seen
    assert "would drop 1 message in 1 chat from before 2026-03-01" in seen
    assert "Drop it for good?" in seen
    assert summarised("transcript", "show", "c").code == 0

    code, seen = on_terminal(*PRUNE, typed="y\n")

    assert code == 0
    assert "dropped 1 message in 1 chat" in seen
    assert summarised("transcript", "show", "c").code == 3


def test_who_says_yes_beforehand_is_not_asked(summarised: Run) -> None:
    code, seen = on_terminal(*PRUNE, "--yes")

    assert code == 0
    assert "Drop it for good?" not in seen


def test_nothing_to_drop_is_no_question(summarised: Run) -> None:
    code, seen = on_terminal("transcript", "prune", "--before", "2020-01-01")

    assert code == 0
    assert "Drop it for good?" not in seen


def test_a_long_import_shows_how_far_it_is(run: Run, tmp_path: Path) -> None:
    run("init")
    path = tmp_path / "session.jsonl"
    rows = (
        {
            "type": "user",
            "uuid": f"u{number}",
            "timestamp": "2026-02-08T09:00:00Z",
            "message": {"content": f"text {number}"},
        }
        for number in range(2000)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    code, seen = on_terminal("transcript", "import", "claude-code", str(path))

    assert code == 0
    assert "\r\x1b[Kreading " in seen
    assert "kept 2,000 messages from 1 file" in seen
    quiet = on_terminal("transcript", "import", "claude-code", str(path), "-q")[1]
    assert "reading" not in quiet


def test_the_words_that_were_looked_for_stand_out(run: Run) -> None:
    run("init")
    run("write", "facts/birds.md", "The heron is grey.")

    assert f"The {BOLD}heron\x1b[0m is grey." in on_terminal("search", "heron")[1]
    assert "The [heron] is grey." in on_terminal("search", "heron", NO_COLOR="1")[1]


def test_a_message_is_not_waited_for(run: Run) -> None:
    run("init")

    code, seen = on_terminal("transcript", "add", "--chat", "c", "--from", "Ada")

    assert code == 2
    assert "standard input is a terminal" in seen
