"""The summary of a compacted session is kept, and the next one starts fresh."""

from __future__ import annotations

import re

import pytest

from gitmem.errors import BadInput, Conflict, PolicyRefused, SecretFound
from gitmem.memory.context.inject import inject
from gitmem.memory.group import Group
from gitmem.memory.read.log import log
from gitmem.memory.read.read import read
from gitmem.memory.search.search import search
from gitmem.memory.upkeep.compact import CUT, PREVIEW, compact, draw
from gitmem.memory.write.write import Allowed, Edit, write
from gitmem.model.text import frontmatter
from tests.support.git import git
from tests.support.histories import edit, put
from tests.support.samples import body

SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)
LAYOUT = """\
gitmem: 1
timezone: Europe/Berlin
compact:
  into: MEMORY.md
  daily: memory/{date}.md
layers:
  memory: {kind: document, path: MEMORY.md, budget: 200}
"""
EPISODES = """\
gitmem: 1
layers:
  episodes: {kind: journal, path: 'episodes/{date}.md', render: summary, fields: [summary, date]}
"""
TIME = "2026-02-08T13:00:0"


@pytest.fixture
def nano(group: Group) -> Group:
    put(group, "gitmem.yaml", LAYOUT)
    return group


def text(group: Group, path: str = "MEMORY.md") -> str:
    found = read(group, path).text
    return re.sub(TIME + r"\d\+01:00", "NOW", found)


def test_a_summary_becomes_a_section_at_the_end(nano: Group) -> None:
    put(nano, "MEMORY.md", "# Memory\n\n- tea\n")

    done = compact(nano, "We moved billing.\n\n- open: invoices\n", draw=lambda: "abcde")

    assert text(nano) == (
        "# Memory\n\n- tea\n\n## Session Compaction NOW\n\nWe moved billing.\n\n- open: invoices\n"
    )
    assert re.fullmatch(r"compact-17705520\d{5}-abcde", done.request_id)
    assert (done.path, done.start_fresh, done.recognised) == ("MEMORY.md", True, False)
    assert done.preview == "We moved billing.\n\n- open: invoices"
    (entry,) = log(nano, limit=1)
    assert (entry.op, entry.id, entry.commit) == ("compact", done.request_id, done.commit)
    assert git(nano.worktree, "status", "--porcelain") == ""


@pytest.mark.parametrize("before", ["- tea", "- tea\n"])
def test_a_file_without_a_last_line_end_gets_one(nano: Group, before: str) -> None:
    put(nano, "MEMORY.md", before)
    compact(nano, "x")
    assert text(nano) == "- tea\n\n## Session Compaction NOW\n\nx\n"


def test_a_file_that_is_not_there_is_made_and_a_second_section_follows(nano: Group) -> None:
    compact(nano, "one")
    compact(nano, "two")

    assert text(nano) == (
        "\n## Session Compaction NOW\n\none\n\n## Session Compaction NOW\n\ntwo\n"
    )


def test_daily_writes_to_the_file_of_the_local_day(nano: Group) -> None:
    done = compact(nano, "x", daily=True)

    assert done.path == "memory/2026-02-08.md"
    assert text(nano, done.path) == "\n## Session Compaction NOW\n\nx\n"


def test_the_preview_is_cut(nano: Group) -> None:
    assert compact(nano, "é" * PREVIEW).preview == "é" * PREVIEW
    assert compact(nano, "é" * (PREVIEW + 1)).preview == "é" * PREVIEW + CUT


def test_headings_in_a_summary_stay_as_they_are(nano: Group) -> None:
    compact(nano, "## Session Compaction of old\n\n# Title\n### Deep")

    assert text(nano).endswith("\n\n## Session Compaction of old\n\n# Title\n### Deep\n")


@pytest.mark.parametrize("empty", ["", "  \n\t\n"])
def test_an_empty_summary_is_an_error(nano: Group, empty: str) -> None:
    before = nano.repository.tip()

    with pytest.raises(BadInput, match="the summary is empty"):
        compact(nano, empty)
    assert nano.repository.tip() == before


def test_a_layout_that_says_nothing_of_it_gives_the_next_step(group: Group) -> None:
    with pytest.raises(BadInput, match="names no file for compacted sessions") as caught:
        compact(group, "x")
    assert "add `compact: {into: MEMORY.md}` to gitmem.yaml" in caught.value.hint
    put(group, "gitmem.yaml", "gitmem: 1\ncompact: {into: MEMORY.md}\n")
    with pytest.raises(BadInput, match="names no file for the compactions of a day") as caught:
        compact(group, "x", daily=True)
    assert "leave out daily=True to use MEMORY.md" in caught.value.hint
    said = caught.value.hint.partition("`")[2].partition("`")[0]
    put(group, "gitmem.yaml", f"gitmem: 1\n{said}\n")
    assert compact(group, "x", daily=True).path == "memory/2026-02-08.md"


def test_a_retry_with_the_same_id_is_recognised(nano: Group) -> None:
    put(nano, "MEMORY.md", "another thing that stands there already\n")
    first = compact(nano, "x", operation="op-1")
    put(nano, "other.md", "meanwhile\n")

    again = compact(nano, "x", operation="op-1")

    assert (again.commit, again.request_id, again.path) == (first.commit, "op-1", "MEMORY.md")
    assert again.recognised
    assert text(nano).count("Compaction") == 1
    with pytest.raises(Conflict, match="was used before"):
        compact(nano, "another", operation="op-1")
    with pytest.raises(Conflict, match="was used before"):
        compact(nano, "x", daily=True, operation="op-1")
    write(nano, [Edit("a.md", "x\n")], operation="op-2")
    with pytest.raises(Conflict, match="was used before"):
        compact(nano, "x", operation="op-2")


def test_the_guards_of_a_write_hold(nano: Group) -> None:
    with pytest.raises(SecretFound):
        compact(nano, f"the key is {SECRET}")
    assert SECRET not in git(nano.gitdir, "cat-file", "--batch-all-objects", "--batch")
    compact(nano, f"the key is {SECRET}", allowed=Allowed(("aws-key-id",)))
    policy = "layers: {m: {kind: document, path: MEMORY.md, policy: protected}}\n"
    put(nano, "gitmem.yaml", f"gitmem: 1\ncompact: {{into: MEMORY.md}}\n{policy}")
    with pytest.raises(PolicyRefused):
        compact(nano, "x")
    with pytest.raises(BadInput, match="not valid Unicode"):
        compact(nano, "\ud800")


def test_over_its_budget_it_says_so(nano: Group) -> None:
    assert compact(nano, "x" * 50).warnings == ()
    (warning,) = compact(nano, "x" * 300).warnings
    assert "over its budget" in warning


def test_an_edit_by_hand_is_captured_first(nano: Group) -> None:
    put(nano, "MEMORY.md", "- tea\n")
    edit(nano, "MEMORY.md", "- tea\n- milk\n")

    done = compact(nano, "x")

    assert [each.path for each in done.captured] == ["MEMORY.md"]
    assert text(nano).startswith("- tea\n- milk\n\n## Session")


def test_into_a_log_that_is_not_there_the_header_comes_first(group: Group) -> None:
    put(
        group,
        "gitmem.yaml",
        "gitmem: 1\ntimezone: Europe/Berlin\ncompact: {into: log.md}\nlayers:\n"
        "  s: {kind: log, path: log.md, rotated: '{date}.md', header: '# {date}', "
        "policy: append-only}\n",
    )

    compact(group, "one")
    compact(group, "two")

    assert text(group, "log.md").startswith("# 2026-02-08\n\n\n## Session Compaction NOW\n\none\n")


def test_a_day_that_is_shown_by_its_summary_gets_one(group: Group) -> None:
    put(group, "gitmem.yaml", f"{EPISODES}compact: {{daily: 'episodes/{{date}}.md'}}\n")

    done = compact(group, "## Summary\n\nBilling: moved\nto ESM.\n\n- more", daily=True)
    compact(group, "later the same day", daily=True)

    found = frontmatter.read(read(group, done.path).text)
    summary = "Billing: moved to ESM.; later the same day"
    assert (found["summary"], str(found["date"])) == (summary, "2026-02-08")
    assert done.warnings == ()
    assert read(group, done.path).text.count("## Session Compaction") == 2


@pytest.mark.parametrize(
    ("text", "gist"),
    [
        ("one line", "one line"),
        ("# Only a heading", "Only a heading"),
        ("w " * 400, ("w " * 200)[:249].rstrip() + "…"),
    ],
)
def test_the_gist_is_the_first_paragraph(group: Group, text: str, gist: str) -> None:
    layers = "layers: {d: {kind: journal, path: 'd/{date}.md', render: summary}}"
    put(group, "gitmem.yaml", f"gitmem: 1\ncompact: {{into: d/x.md}}\n{layers}\n")

    done = compact(group, text)

    assert frontmatter.read(read(group, done.path).text) == {"summary": gist}


def test_the_newest_of_many_summaries_of_a_day_is_shown_whole(group: Group) -> None:
    put(group, "gitmem.yaml", f"{EPISODES}compact: {{daily: 'episodes/{{date}}.md'}}\n")

    for number in range(9):
        done = compact(group, f"Session {number} was about " + "billing, " * 12, daily=True)

    text = read(group, done.path).text
    summary = str(frontmatter.read(text)["summary"])
    assert "Session 8 was about" in summary
    assert len(summary) <= 600
    assert all(f"Session {number} was" in text for number in range(9))


RAW = """<analysis>
Let me chronologically analyze.
</analysis>

<summary>
1. Intent:
   Fix {}.
</summary>"""


def test_a_scratchpad_that_an_earlier_release_kept_is_neither_shown_nor_found(
    group: Group,
) -> None:
    shown_days = EPISODES.replace("render:", "load: recent 3, render:")
    put(group, "gitmem.yaml", f"{shown_days}compact: {{daily: 'episodes/{{date}}.md'}}\n")
    head = '---\nsummary: "<analysis> Let me chronologically analyze. </analysis>"\n---\n'
    section = "\n## Session Compaction 2026-02-08T10:00:00+01:00\n\n"
    put(group, "episodes/2026-02-08.md", head + section + RAW.format("the rounding bug") + "\n")

    assert search(group, "chronologically analyze").hits == ()
    (hit,) = search(group, "rounding bug").hits
    assert "analy" not in hit.text
    shown = inject(group, prompt="Did we fix the rounding bug?").text
    assert "Fix the rounding bug." in shown
    assert "analy" not in shown

    compact(group, "Move to Adyen.", daily=True)

    text = read(group, "episodes/2026-02-08.md").text
    assert frontmatter.read(text)["summary"] == "Fix the rounding bug.; Move to Adyen."
    assert "chronologically" in text, "nobody rewrites what stands there"


def test_what_is_drawn_has_five_characters_and_is_never_the_same() -> None:
    drawn = {draw() for _ in range(100)}

    assert len(drawn) > 90
    assert all(re.fullmatch(r"[a-z0-9]{5}", each) for each in drawn)


def test_a_session_of_an_earlier_day_is_dated_by_that_day(group: Group) -> None:
    put(group, "gitmem.yaml", "gitmem: 1\ncompact: {into: 'memory/{date}.md'}\n")

    done = compact(group, "Billing moved.", at="2026-02-03T14:30")

    assert done.path == "memory/2026-02-03.md"
    text = read(group, done.path).text
    assert "## Session Compaction 2026-02-03T14:30:00" in text
    for at in ("2126-01-01", "once"):
        with pytest.raises(BadInput):
            compact(group, "x", at=at)


def test_a_page_whose_summary_is_no_yaml_gets_the_section_all_the_same(group: Group) -> None:
    put(group, "gitmem.yaml", EPISODES)
    edit(group, "episodes/2026-02-08.md", "---\nsummary: Stock: counted\n---\nBy hand.\n")

    compact(group, "Paper is ordered.")

    found = read(group, "episodes/2026-02-08.md").text
    assert frontmatter.read(found) == {"summary": "Stock: counted; Paper is ordered."}
    assert found.startswith('---\nsummary: "Stock: counted; Paper is ordered."\n---\nBy hand.\n')
    assert found.endswith("\nPaper is ordered.\n")
