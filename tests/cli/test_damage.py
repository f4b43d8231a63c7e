"""What is damaged is never left out without a word, whichever command meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.cli.boundary import DAMAGED
from gitmem.model.transcripts.batches import REF
from tests.support.cli import Run
from tests.support.damage import WOUNDS
from tests.support.git import git


@pytest.fixture
def gitdir(home: Path) -> Path:
    return home / "repos" / "main.git"


def lose(gitdir: Path, revision: str, wound: str = "missing") -> None:
    oid = git(gitdir, "rev-parse", revision).strip()
    path = gitdir / "objects" / oid[:2] / oid[2:]
    path.chmod(0o600)
    WOUNDS[wound](path)


@pytest.fixture
def said(gitmem: Run, gitdir: Path) -> Run:
    """A group in which three things were said, each in a batch of its own."""
    for text in ("a heron", "a stork", "a crane"):
        assert gitmem("transcript", "add", "--chat", "c", "--from", "ada", text).code == 0
    return gitmem


def batch(gitdir: Path, number: int) -> str:
    rows = git(gitdir, "ls-tree", "-r", "--name-only", REF).splitlines()
    return f"{REF}:{sorted(rows)[number]}"


class TestTranscripts:
    @pytest.mark.parametrize("known", [True, False])
    def test_show_says_that_a_message_is_missing(
        self, said: Run, gitdir: Path, known: bool
    ) -> None:
        if known:
            said("transcript", "list")
        else:
            (gitdir / "gitmem" / "said.db").unlink(missing_ok=True)
        lose(gitdir, batch(gitdir, 1), "cut to half")

        shown = said("transcript", "show", "c")

        assert "a heron" in shown.out
        assert "a stork" not in shown.out
        assert "cannot be read" in shown.out
        assert "warning: " in shown.err
        told = said("transcript", "show", "c", "--json").document
        assert told["lost"] == ([2] if known else [])
        assert told["unreadable"]
        assert told["damage"]

    def test_a_chat_that_cannot_be_read_is_not_called_unknown(
        self, said: Run, gitdir: Path
    ) -> None:
        for number in range(3):
            lose(gitdir, batch(gitdir, number))
        (gitdir / "gitmem" / "said.db").unlink(missing_ok=True)

        assert said("transcript", "show", "c").code == DAMAGED

    @pytest.mark.parametrize("known", [True, False])
    def test_nothing_pending_is_not_claimed_of_what_cannot_be_read(
        self, said: Run, gitdir: Path, known: bool
    ) -> None:
        said("transcript", "list")
        for number in range(3):
            lose(gitdir, batch(gitdir, number))
        if not known:
            (gitdir / "gitmem" / "said.db").unlink(missing_ok=True)

        found = said("transcript", "pending")

        assert found.code == DAMAGED
        assert "check --repair" in found.err

    def test_every_look_at_them_says_so(self, said: Run, gitdir: Path) -> None:
        (gitdir / "gitmem" / "said.db").unlink(missing_ok=True)
        lose(gitdir, batch(gitdir, 0))

        for command in (["transcript", "list"], ["transcript", "status"], ["search", "stork"]):
            found = said(*command)
            assert (found.code, "warning: " in found.err) == (0, True), command
        assert "messages cannot be read" in said("status").out


class TestMemory:
    @pytest.fixture(autouse=True)
    def notes(self, gitmem: Run, gitdir: Path, files: Path) -> None:
        gitmem("write", "a.md", "A heron stands here.")
        gitmem("write", "b.md", "A heron stands there.")
        assert gitmem("search", "heron").code == 0
        lose(gitdir, "main:a.md")
        (files / "a.md").unlink()

    def test_a_hit_that_cannot_be_shown_is_told(self, gitmem: Run) -> None:
        found = gitmem("search", "heron")

        assert "b.md" in found.out
        assert "warning: object" in found.err
        assert gitmem("search", "heron", "-q").err == found.err
        assert gitmem("search", "heron", "--json").document["damage"]

    def test_status_does_not_claim_health(self, gitmem: Run) -> None:
        found = gitmem("status", "--json").document

        assert found["health"] == "damaged: a.md cannot be read"
        assert found["read"]["unreadable"] == ["a.md"]
        assert found["read"]["files"] == 1

    def test_a_list_tells_what_has_no_size(self, gitmem: Run) -> None:
        assert "warning: " in gitmem("list", "--json").err

    @pytest.mark.parametrize(
        "command", [["read", "a.md"], ["diff", "main~2"], ["log", "--patch"], ["freshness", "a.md"]]
    )
    def test_every_other_reader_fails_or_says_so(self, gitmem: Run, command: list[str]) -> None:
        found = gitmem(*command)

        assert found.code != 0 or "warning: " in found.err


def test_what_was_healed_is_told_once(gitmem: Run, gitdir: Path) -> None:
    gitmem("write", "a.md", "A heron stands here.")
    lose(gitdir, "main:a.md", "full of NULs")

    found = gitmem("read", "a.md")

    assert (found.code, found.out) == (0, "A heron stands here.\n")
    assert "is healed, from the work tree (a.md)" in found.err
    assert gitmem("read", "a.md").err == ""


def test_a_write_that_healed_is_no_new_file(gitmem: Run, gitdir: Path) -> None:
    gitmem("write", "a.md", "A heron stands here.")
    lose(gitdir, "main:a.md", "zero-length")

    written = gitmem("write", "a.md", "A stork stands here.")

    assert "new" not in written.out
    assert "is healed" in written.err
    assert gitmem("read", "a.md", "--at", "main~1").out == "A heron stands here.\n"


def test_status_tells_how_far_history_was_read(gitmem: Run) -> None:
    gitmem("write", "a.md", "one")
    assert "history not yet" in gitmem("status").out
    gitmem("check")
    gitmem("write", "a.md", "two")

    found = gitmem("status")

    assert "\nread    1 file; history up to " in found.out
    assert ", 1 commit ago\n" in found.out
    assert "\nhealth  ok\n" in found.out


def test_what_was_never_there_is_no_damage(gitmem: Run, gitdir: Path) -> None:
    """A search knows the tree of a history that a person has written anew, and pruned."""
    gitmem("write", "notes/a.md", "A heron stands here.")
    gitmem("search", "heron")
    git(gitdir, "update-ref", "refs/heads/main", "main~1")
    git(gitdir, "reflog", "expire", "--expire=now", "--all")
    git(gitdir, "gc", "-q", "--prune=now")

    found = gitmem("search", "heron")

    assert (found.code, "warning" in found.err) == (0, False)
    typed = gitmem("read", "notes/a.md", "--at", "f" * 40)
    assert (typed.code, "warning" in typed.err) == (3, False)
