"""`gitmem inject`: the text and nothing else on stdout, remarks on stderr."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Run

DAY = "---\nsummary: Shipped it\n---\nbody\n"
SEEN = 'path="facts/a.md" date="2026-02-08" state="active"'
FACTS = '<knowledge layer="facts">\nUse ESM only. ü\n</knowledge>'


@pytest.fixture
def arizuko(run: Run) -> Run:
    """A group with a fact, a day and a user."""
    assert run("init", "--layout", "arizuko").code == 0
    assert run("write", "facts/a.md", "Use ESM only. ü").code == 0
    assert run("write", "diary/2026-02-07.md", "-", input=DAY).code == 0
    assert run("write", "users/ada.md", "Likes tea").code == 0
    return run


PRINTED = f"""\
<knowledge layer="diary">
<entry age="yesterday">Shipped it</entry>
</knowledge>

{FACTS}"""


def test_it_prints_the_text_byte_for_byte_and_nothing_else(arizuko: Run) -> None:
    said = arizuko("inject")

    assert (said.code, said.raw, said.err) == (0, PRINTED.encode(), "")


def test_edits_that_do_not_show_are_counted_on_the_side(arizuko: Run, files: Path) -> None:
    (files / "facts" / "b.md").write_text("new\n")

    said = arizuko("inject")

    assert said.raw == PRINTED.encode()
    assert said.err == (
        "note: not shown, because not committed: 1 edit; commit with: gitmem capture\n"
    )
    assert arizuko("inject", "-q").err == ""


def test_options_choose_the_user_the_layers_and_the_format(arizuko: Run) -> None:
    user = '<knowledge layer="user" jid="ada">\nLikes tea\n</knowledge>'

    assert arizuko("inject", "--user", "ada").out == f"{PRINTED}\n\n{user}"
    assert arizuko("inject", "--layer", "user", "--user", "ada").out == user
    pointer = arizuko("inject", "--layer", "user", "--user", "ada", "--user-mode", "pointer")
    assert pointer.out == '<knowledge layer="user" jid="ada" path="users/ada.md" />'
    assert arizuko("inject", "--layer", "facts", "--format", "markdown").out == (
        "## facts\nUse ESM only. ü"
    )
    annotated = arizuko("inject", "--layer", "facts", "--annotate").out
    assert annotated.endswith(FACTS.replace('"facts"', f'"facts" {SEEN}'))
    assert annotated.startswith("What follows was noted down earlier")


def test_a_budget_is_kept_and_what_it_cost_is_said(arizuko: Run) -> None:
    said = arizuko("inject", "--budget", str(len(PRINTED) - 1))

    assert said.out == FACTS
    assert said.err == "note: the budget left out or cut 1 piece: --explain has them\n"
    none = arizuko("inject", "--budget", "3")
    assert none.out == ""
    assert "no context fits into 3 characters" in none.err


def test_the_document_holds_the_prompt_its_pins_and_the_manifest(arizuko: Run) -> None:
    found = arizuko("inject", "--json", "--user", "ada").document

    assert found["system_prompt"] == found["text"]
    assert found["memory_context"] == ""
    assert list(found["pins"]) == ["main"]
    assert [each["address"] for each in found["manifest"]["pieces"]] == [
        *("diary/2026-02-07.md", "facts/a.md", "users/ada.md")
    ]
    assert {"layer", "commit", "blob", "why", "chars", "cut"} <= found["manifest"]["pieces"][
        0
    ].keys()
    assert (found["date"], found["format"], found["manifest"]["uncommitted"]) == (
        "2026-02-08",
        "xml",
        0,
    )


def test_a_report_says_what_is_in_it_and_why(arizuko: Run) -> None:
    said = arizuko("inject", "--explain", "--budget", "100")

    assert said.code == 0
    lines = [line.split() for line in said.out.splitlines()]
    assert ["layout", "arizuko,", "format", "xml"] in lines
    assert ["size", f"{len(FACTS)}", "of", "100", "characters", "in", "1", "piece"] in lines
    assert ["facts", "facts/a.md", "15", "characters", "always", "loaded"] in lines
    left = ["diary", "diary/2026-02-07.md", "no", "room", "within", "the", "budget"]
    assert left in lines
    assert ["user", "users/{user}.md", "no", "user", "was", "named"] in lines


def test_a_prompt_adds_what_fits_it(arizuko: Run) -> None:
    arizuko("write", "diary/2025-12-24.md", "---\nsummary: Birds\n---\nSaw a heron.\n")

    asked = arizuko("inject", "--prompt", "When did I see the heron?")
    by_stdin = arizuko("inject", "--prompt", "-", input=b"heron \xff?")
    silent = arizuko("inject", "--prompt", "Write a poem about the sea.")

    assert "Saw a heron." in asked.out
    assert "Saw a heron." in by_stdin.out
    assert "heron" not in silent.out


def test_a_prompt_that_nothing_fits_is_told_on_the_side(run: Run) -> None:
    run("init", "--layout", "nano")

    said = run("inject", "--layer", "notes", "--prompt", "Where is the heron?")

    assert (said.code, said.out) == (0, "")
    assert said.err == ("note: no passage matches the prompt; see the nearest ones: --explain\n")


def test_why_each_came_and_each_near_miss_did_not(run: Run) -> None:
    run("init", "--layout", "nano")
    run("write", "memory/birds.md", "The heron lives in the canal.")

    near = run("inject", "--prompt", "Is a heron larger than an ostrich or an emu?", "--explain")
    there = run("inject", "--prompt", "Where does the heron live?", "--explain")

    assert "memory/birds.md 1-1  below the gate: matches " in near.out
    assert "matches 100% of the prompt" in there.out


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--top", "0"), "top must be from 1 to 32"),
        (("--top", "33"), "top must be from 1 to 32"),
        (("--chars", "999"), "chars must be from 1,000 to 50,000"),
    ],
)
def test_limits_that_cannot_be_are_refused(
    arizuko: Run, options: tuple[str, ...], why: str
) -> None:
    said = arizuko("inject", "--prompt", "x", *options)

    assert (said.code, why in said.err) == (2, True)


def test_a_moment_shows_the_prompt_of_then(arizuko: Run) -> None:
    arizuko("write", "facts/a.md", "Other", GITMEM_NOW="2026-02-10T08:00:00Z")

    said = arizuko("inject", "--at", "2026-02-08", GITMEM_NOW="2026-03-08T08:00:00Z")

    assert (said.out, said.err) == (PRINTED, "")


@pytest.mark.parametrize(
    ("layout", "remark"),
    [
        ("none", "this group has no layout; give it one: gitmem init --layout standard"),
        ("soul", "the layers of soul are empty; see: gitmem inject --explain"),
    ],
)
def test_when_there_is_nothing_to_show_it_says_why(run: Run, layout: str, remark: str) -> None:
    run("init", "--layout", layout)

    said = run("inject")

    # What a model may create is for the model; why there is no memory is for who called.
    assert (said.code, said.out != "") == (0, layout == "soul")
    assert said.err == f"note: no context: {remark}\n"


def test_a_moment_before_the_layout_suggests_no_new_one(run: Run) -> None:
    run("init", "--layout", "none")
    run("write", "a.md", "A", GITMEM_NOW="2026-02-08T08:00:00Z")
    run("init", "--layout", "soul", GITMEM_NOW="2026-02-10T08:00:00Z")

    said = run("inject", "--at", "2026-02-08", GITMEM_NOW="2026-03-08T08:00:00Z")

    remark = "this group had no layout then; see: gitmem list --at 2026-02-08"
    assert said.err == f"note: no context: {remark}\n"


@pytest.mark.parametrize(
    ("load", "remark"),
    [
        ("always", "the layers of this layout are empty; see: gitmem inject --explain"),
        ("query", "this layout needs a prompt; see a layer: gitmem inject --layer NAME"),
    ],
)
def test_a_layout_without_a_name_leaves_no_gap(run: Run, load: str, remark: str) -> None:
    run("init", "--layout", "none")
    layer = f"{{kind: notes, path: 'n/*.md', load: {load}}}"
    run("write", "gitmem.yaml", "-", input=f"gitmem: 1\nlayers:\n  notes: {layer}\n")

    assert run("inject").err == f"note: no context: {remark}\n"


def test_a_layout_that_chooses_by_a_prompt_says_so(run: Run, files: Path) -> None:
    run("init", "--layout", "nano")
    (files / "SOUL.md").unlink()
    run("capture")

    said = run("inject")

    assert said.raw == b""
    assert "the layout nano needs a prompt; see a layer: gitmem inject --layer" in said.err


def test_mistakes_are_told_with_what_there_is(arizuko: Run) -> None:
    layer = arizuko("inject", "--layer", "fact", "--json")
    assert (layer.code, layer.error["code"]) == (2, "bad-input")
    assert layer.error["layers"] == ["diary", "episodes", "facts", "user"]
    assert arizuko("inject", "--format", "html").code == 2
    assert arizuko("inject", "--budget", "-1").code == 2
    assert arizuko("inject", "--user", "").code == 2
    assert arizuko("inject", "--at", "1999-01-01").code == 3


def test_a_layout_that_somebody_broke_is_remarked(arizuko: Run, files: Path) -> None:
    (files / "gitmem.yaml").write_text("gitmem: 1\nlayers: 7\n")
    arizuko("capture")

    said = arizuko("inject")

    assert said.raw == PRINTED.encode()
    assert "gitmem.yaml" in said.err
