"""`gitmem search`: what was found, for people and for programs."""

from __future__ import annotations

import pytest

from tests.support.cli import Run


@pytest.fixture
def birds(run: Run) -> Run:
    """A group that knows something about birds."""
    assert run("init").code == 0
    assert run("write", "decisions", "For the canal.", "--entry", "Buy a heron").code == 0
    assert run("write", "facts/birds.md", "Herons are grey.\nStorks are not.").code == 0
    added = run("transcript", "add", "--chat", "tg:1", "--from", "Ada", "I saw the heron.")
    assert added.code == 0
    return run


PRINTED = """\
reference/decisions.md#buy-a-heron  2026-02-08, active
  ### Buy a [heron]
  - **Date:** 2026-02-08

  For the canal.

facts/birds.md  2026-02-08, active
  [Herons] are grey.
  Storks are not.

Ada in tg:1  2026-02-08
  I saw the [heron].
"""


def test_people_see_where_when_how_fresh_and_the_words_marked(birds: Run) -> None:
    said = birds("search", "heron")

    assert (said.code, said.err) == (0, "")
    assert said.out == PRINTED


def test_programs_get_a_document(birds: Run) -> None:
    found = birds("search", "grey herons", "--json", "--source", "memory").document

    first = found["hits"][0]
    assert {*first} >= {
        *("source", "path", "address", "heading", "lines", "text", "score", "touched", "state"),
        *("commit", "chat", "id", "from", "at"),
    }
    assert (first["path"], first["lines"], first["state"]) == ("facts/birds.md", [1, 2], "active")
    heard = birds("search", "saw", "--source", "transcripts", "--json").document["hits"][0]
    assert (heard["source"], heard["chat"], heard["from"]) == ("transcript", "tg:1", "Ada")
    assert heard["at"] == "2026-02-08T14:30:00+00:00"


def test_words_need_no_quotes_and_may_begin_with_a_dash(birds: Run) -> None:
    assert "Herons" in birds("search", "storks", "are", "not").out
    assert "Herons" in birds("search", "- storks are not").out
    assert "Herons" in birds("search", "--", "-storks").out


def test_nothing_found_is_said_and_is_no_error(birds: Run) -> None:
    said = birds("search", "zeppelin")

    assert (said.code, said.out, said.err) == (0, "", "note: no hits\n")
    assert birds("search", "zeppelin", "--json").document["hits"] == []
    assert "no word to search for" in birds("search", "???").err


def test_filters_are_passed_on(birds: Run) -> None:
    assert "decisions.md" not in birds("search", "heron", "--layer", "facts").out
    assert "Ada" not in birds("search", "heron", "--source", "memory").out
    assert birds("search", "heron", "--since", "2026-02-09").out == ""
    assert len(birds("search", "heron", "-n", "1", "--json").document["hits"]) == 1
    birds("archive", "facts/birds.md")
    assert "Herons" not in birds("search", "grey herons").out
    assert "archive/facts/birds.md  2026-02-08, archived" in (
        birds("search", "grey herons", "--include-archive").out
    )


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ((), 2, "Missing argument 'QUERY...'"),
        (("",), 2, "nothing to search for"),
        (("x", "--source", "all of it"), 2, "no source 'all of it'"),
        (("x", "--layer", "fact"), 2, "no layer 'fact'"),
        (("x", "--since", "then"), 2, "invalid date 'then'"),
        (("x", "-n", "0"), 2, "0 is not in the range"),
        (("x", "-g", "nobody"), 3, "has no group 'nobody'"),
    ],
)
def test_mistakes_are_told_with_the_way_on(
    birds: Run, args: tuple[str, ...], code: int, said: str
) -> None:
    done = birds("search", *args)

    assert done.code == code
    assert said in done.err
    assert "hint:" in done.err
    assert birds("search", *args, "--json").error["message"]


def test_a_terminal_trick_in_what_is_found_does_nothing(run: Run) -> None:
    run("init")
    run("write", "facts/x.md", "-", input=b"heron \x1b[31m red\n")

    assert "\x1b" not in run("search", "heron").out


def test_a_store_that_is_not_there_says_how_to_make_it(run: Run) -> None:
    said = run("search", "x")

    assert said.code == 3
    assert "gitmem init" in said.err


def test_a_search_can_be_of_one_chat(birds: Run) -> None:
    for chat, text in (("tg:2", "A heron stood there."), ("tg:3", "No heron here.")):
        assert birds("transcript", "add", "--chat", chat, "--from", "Bob", text).code == 0

    def heard(*options: str) -> list[str]:
        hits = birds("search", "heron", "--json", *options).document["hits"]
        return sorted(f"{hit['source']} {hit['chat']}" for hit in hits)

    assert heard("--chat", "tg:2") == ["transcript tg:2"]
    assert heard("--chat", "tg:2", "--source", "transcripts") == ["transcript tg:2"]
    assert heard("--chat", "tg:3", "--chat", "tg:1") == ["transcript tg:1", "transcript tg:3"]
    assert heard("--chat", "tg:2", "--since", "2026-02-09") == []


def test_a_chat_that_nobody_knows_is_told_and_one_without_messages_makes_no_sense(
    birds: Run,
) -> None:
    none = birds("search", "heron", "--chat", "tg:9")

    assert (none.code, none.out) == (0, "")
    assert "no messages in a chat 'tg:9'; see `gitmem transcript list`" in none.err
    for options in (("--source", "memory"), ("--layer", "facts")):
        refused = birds("search", "heron", "--chat", "tg:1", *options)
        assert refused.code == 2
        assert "chat filter" in refused.err


def test_a_chat_of_global_is_searched_too(birds: Run) -> None:
    assert birds("init", "-g", "global").code == 0
    added = ("transcript", "add", "--chat", "all", "--from", "Eve", "A heron for all.")
    assert birds("-g", "global", *added).code == 0

    said = birds("search", "heron", "--chat", "all")

    assert (said.err, said.out.count("[heron]")) == ("", 1)
