"""A plan of decisions: all of it lands as one commit, or nothing does."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from gitmem.errors import BadInput, Conflict, GitmemError, MomentNotFound, PlanRefused
from gitmem.memory.curate.archive import archive
from gitmem.memory.curate.decide import Decided, decide
from gitmem.memory.curate.plan import ACTIONS, APPLY, read_plan
from gitmem.memory.entries.freshness import freshness
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.log import log
from gitmem.memory.recover.restore import restore
from gitmem.memory.recover.undo import undo
from gitmem.memory.upkeep.jobs import last_jobs
from gitmem.memory.write.write import Edit, write
from gitmem.model.commit_messages import parse as parse_message
from gitmem.model.entries.blocks import parse
from tests.support.clocks import Clock
from tests.support.days import said_lines
from tests.support.git import git
from tests.support.histories import edit, put
from tests.support.moulds import Moulds

CURRENT = "sessions/current.md"
DECISIONS, IDEAS, FACT = "reference/decisions.md", "reference/ideas.md", "facts/tea.md"
TEXT = """\
# Decisions

### Use ESM only
- **Status:** active
- **Importance:** 3

One module format.

### Use tabs
- **Status:** superseded by spaces

Tabs, since May.

### Use tabs

The second of that name.
"""
IDEAS_TEXT = """\
### Try Gleam
- **Status:** raw

It is small.

### Try Elm
- **Status:** raw

It is small, too.

### Ship it
- **Status:** ready-to-commit

By Friday.
"""


@pytest.fixture
def group(store: Store, clock: Clock, moulds: Moulds) -> Iterator[Group]:
    moulds.init(store, clock, layout="standard", who=Who("ada"))
    opened = Group(store, "main", who=Who("ada"), now=clock)
    put(opened, DECISIONS, TEXT)
    put(opened, IDEAS, IDEAS_TEXT)
    put(opened, FACT, "Ada drinks tea.\n")
    clock.advance(days=100)
    yield opened
    opened.close()


def lines(*decisions: dict[str, object]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in decisions)


def decided(group: Group, *decisions: dict[str, object], **options: object) -> Decided:
    return decide(group, lines(*decisions), **options)  # type: ignore[arg-type]


def text_of(group: Group, path: str) -> str:
    return (group.repository.snapshot().read(path) or b"").decode()


def head(group: Group) -> str:
    return git(group.worktree, "rev-parse", "HEAD").strip()


def titles(group: Group, path: str) -> list[str]:
    return [each.title for each in parse(text_of(group, path))]


def ages(group: Group) -> dict[str, int]:
    return {each.address: each.age_days for each in freshness(group).entries}


ALL = (
    {"action": "confirm", "address": f"{DECISIONS}#use-esm-only"},
    {"action": "archive", "address": "decisions#use-tabs", "reason": "spaces won"},
    {"action": "update", "address": f"{DECISIONS}#use-tabs-2", "set": {"Status": "active"}},
    {"action": "move", "address": "ideas#ship-it", "to": "decisions", "set": {"Status": "active"}},
    {
        "action": "merge-entries",
        "addresses": ["ideas#try-gleam", "ideas#try-elm"],
        "into": "ideas",
        "title": "Try a small language",
        "set": {"Status": "exploring"},
        "text": "Gleam or Elm.",
    },
    {"action": "keep", "address": FACT},
)


def test_all_decisions_land_as_one_commit(group: Group) -> None:
    before = head(group)
    done = decided(group, *ALL, reason="the weekly look")

    assert git(group.worktree, "rev-parse", "HEAD~2").strip() == before
    assert [(each.op, each.reason) for each in log(group, limit=2)] == [
        ("consolidate", "the weekly look"),
        ("append", "the weekly look"),
    ]
    (told,) = text_of(group, CURRENT).splitlines()[2:]
    assert told.endswith(
        " consolidate: decided: 1 confirmed, 1 archived, 1 updated, 1 moved, 1 merged, 1 kept"
    )
    assert done.logged == CURRENT
    assert titles(group, DECISIONS) == ["Use ESM only", "Use tabs", "Ship it"]
    assert titles(group, IDEAS) == ["Try a small language"]
    assert titles(group, "archive/reference/ideas.md") == ["Try Gleam", "Try Elm"]
    assert "- **Confirmed:** 2026-05-19" in text_of(group, DECISIONS)
    assert "The second of that name." in text_of(group, DECISIONS)
    assert "Tabs, since May." in text_of(group, "archive/reference/decisions.md")
    assert [each.address for each in done.decisions] == [
        "",
        "archive/reference/decisions.md#use-tabs",
        "",
        f"{DECISIONS}#ship-it",
        f"{IDEAS}#try-a-small-language",
        "",
    ]
    assert git(group.worktree, "status", "--porcelain") == ""


def test_the_commit_names_every_decision_and_where_things_came_from(group: Group) -> None:
    decided(group, *ALL)

    said = git(group.worktree, "log", "-1", "--format=%(trailers:key=Gitmem-Decision,valueonly)")
    away, merged = f"archive/{DECISIONS}#use-tabs", f"{IDEAS}#try-gleam, {IDEAS}#try-elm"
    assert said.strip().splitlines() == [
        "confirm reference/decisions.md#use-esm-only",
        f"archive reference/decisions.md#use-tabs -> {away}: spaces won",
        "update reference/decisions.md#use-tabs-2",
        "move reference/ideas.md#ship-it -> reference/decisions.md#ship-it",
        f"merge-entries {merged} -> {IDEAS}#try-a-small-language",
        "keep facts/tea.md",
    ]
    origins = git(group.worktree, "log", "-1", "--format=%(trailers:key=Gitmem-From,valueonly)")
    assert origins.split() == [
        f"{DECISIONS}#use-tabs",
        f"{IDEAS}#ship-it",
        f"{IDEAS}#try-gleam",
        f"{IDEAS}#try-elm",
    ]


def test_what_says_something_new_is_fresh_and_what_only_moved_is_not(group: Group) -> None:
    decided(
        group,
        {"action": "confirm", "address": "decisions#use-esm-only"},
        {"action": "move", "address": "ideas#try-elm", "to": "decisions"},
        {"action": "update", "address": FACT, "text": "Ada drinks coffee.\n"},
    )

    assert ages(group) == {
        f"{DECISIONS}#use-esm-only": 0,
        f"{DECISIONS}#use-tabs": 100,
        f"{DECISIONS}#use-tabs-2": 100,
        f"{DECISIONS}#try-elm": 100,
        f"{IDEAS}#try-gleam": 100,
        f"{IDEAS}#ship-it": 100,
        FACT: 0,
    }


def test_undo_brings_back_every_entry_with_its_date(group: Group) -> None:
    files = {x: text_of(group, x) for x in git(group.worktree, "ls-files").split()}
    before = ages(group)
    done = decided(group, *ALL)
    undo(group, [done.commit])
    files[CURRENT] = text_of(group, CURRENT)  # a log keeps what it told

    assert {x: text_of(group, x) for x in git(group.worktree, "ls-files").split()} == files
    assert ages(group) == before


def test_an_entry_that_a_plan_archived_can_be_restored(group: Group) -> None:
    decided(group, {"action": "archive", "address": "ideas#try-elm"})
    restore(group, f"{IDEAS}#try-elm")

    assert sorted(titles(group, IDEAS)) == ["Ship it", "Try Elm", "Try Gleam"]


def test_no_line_is_lost_by_archiving_moving_and_merging(group: Group) -> None:
    before = said_lines(group.repository)
    decided(
        group, ALL[1], ALL[4], {"action": "move", "address": "ideas#ship-it", "to": "decisions"}
    )

    assert before - said_lines(group.repository) == Counter()


def test_a_file_can_be_decided_upon_as_a_whole(group: Group) -> None:
    put(group, "facts/pie.md", "Ada likes pie.\n")
    put(group, "facts/cat.md", "---\nimportance: 2\n---\nAda has a cat.\n")
    decided(
        group,
        {"action": "archive", "address": FACT},
        {
            "action": "move",
            "address": "facts/pie.md",
            "to": "facts/food.md",
            "set": {"title": "Pie"},
        },
        {"action": "confirm", "address": "facts/cat.md"},
    )

    assert text_of(group, f"archive/{FACT}") == "Ada drinks tea.\n"
    assert text_of(group, "facts/food.md") == "---\ntitle: Pie\n---\nAda likes pie.\n"
    assert "confirmed: 2026-05-19\n" in text_of(group, "facts/cat.md")


def test_a_plan_that_only_keeps_makes_no_commit(group: Group) -> None:
    before = head(group)
    done = decided(group, {"action": "keep", "address": FACT})

    assert (done.changed, head(group)) == (False, before)
    assert [each.action for each in done.decisions] == ["keep"]


def test_a_dry_run_shows_the_change_and_writes_nothing(group: Group) -> None:
    before = head(group)
    tried = decided(group, *ALL, dry_run=True)

    assert head(group) == before
    assert tried.dry_run
    assert tried.changed
    shown = {each.path: each.diff for each in tried.files}
    assert sorted(shown) == [
        "archive/reference/decisions.md",
        "archive/reference/ideas.md",
        DECISIONS,
        IDEAS,
    ]
    assert "+- **Confirmed:** 2026-05-19\n" in shown[DECISIONS]
    done = decided(group, *ALL)
    assert done.decisions == tried.decisions
    assert text_of(group, DECISIONS).count("Confirmed") == 1


def test_what_others_wrote_since_the_base_stays(group: Group) -> None:
    base = head(group)
    write(group, [Edit(DECISIONS, "Said later.", entry="A new one")])
    put(group, "state.md", "Busy.\n")
    decided(group, *ALL, base=base)

    assert "A new one" in titles(group, DECISIONS)
    assert text_of(group, "state.md") == "Busy.\n"


def test_what_was_changed_since_the_base_is_a_conflict_that_names_all_of_it(group: Group) -> None:
    base = head(group)
    write(group, [Edit(DECISIONS, "Both formats.", entry="Use ESM only")])
    archive(group, ["ideas#try-elm"])
    before = head(group)

    with pytest.raises(Conflict) as caught:
        decided(group, *ALL, base=base)

    assert head(group) == before
    assert "line 1: reference/decisions.md#use-esm-only" in caught.value.message
    assert (
        "line 5: reference/ideas.md#try-gleam, reference/ideas.md#try-elm" in caught.value.message
    )
    assert "skip_changed" in caught.value.hint
    assert "line 2" not in caught.value.message


def test_the_rest_lands_where_changes_are_skipped(group: Group) -> None:
    base = head(group)
    write(group, [Edit(DECISIONS, "Both formats.", entry="Use ESM only")])
    done = decided(group, *ALL, base=base, skip_changed=True)

    assert [(each.line, each.addresses) for each in done.skipped] == [
        (1, (f"{DECISIONS}#use-esm-only",))
    ]
    assert len(done.decisions) == 5
    assert "Confirmed" not in text_of(group, DECISIONS)


def test_a_plan_is_about_a_text_and_not_about_a_place(group: Group) -> None:
    base = head(group)
    put(
        group,
        DECISIONS,
        TEXT.replace("### Use ESM only", "### Use tabs\n\nA third.\n\n### Use ESM only"),
    )
    decided(group, {"action": "archive", "address": "decisions#use-tabs"}, base=base)

    assert "A third." in text_of(group, DECISIONS)
    assert "Tabs, since May." not in text_of(group, DECISIONS)


def test_a_plan_records_the_date_of_the_text_that_it_archived(group: Group, clock: Clock) -> None:
    same = "### Same\n- **Status:** active\n{}\n\n"
    put(group, DECISIONS, f"# D\n\n{same.format('first')}{same.format('second')}")
    then = group.now().date()
    clock.advance(days=20)
    put(group, DECISIONS, text_of(group, DECISIONS) + same.format("third"))
    base = head(group)
    archive(group, ["decisions#same"])

    done = decided(group, {"action": "archive", "address": "decisions#same-2"}, base=base)

    (said,) = parse_message(group.repository.commit(done.commit).message).all("Gitmem-Touched")
    assert said.startswith(f"{DECISIONS}#same-2 {then}")
    assert "second" in text_of(group, f"archive/{DECISIONS}")


def test_an_edit_in_the_work_tree_counts_as_a_change(group: Group) -> None:
    edit(group, DECISIONS, TEXT.replace("One module format.", "Two."))

    with pytest.raises(Conflict, match="use-esm-only"):
        decided(group, ALL[0])
    assert "Two." in text_of(group, DECISIONS)
    assert "Confirmed" not in text_of(group, DECISIONS)


def test_the_base_may_be_the_first_line_of_the_plan(group: Group) -> None:
    base = head(group)
    write(group, [Edit(DECISIONS, "Both formats.", entry="Use ESM only")])

    with pytest.raises(Conflict):
        decided(group, {"base": base}, ALL[0])
    with pytest.raises(BadInput, match="another base"):
        decided(group, {"base": base}, ALL[0], base="HEAD")
    with pytest.raises(MomentNotFound):
        decided(group, {"base": "0123456789"}, ALL[0])


def test_every_line_that_cannot_be_done_is_named_and_nothing_is_written(group: Group) -> None:
    before = head(group)
    with pytest.raises(PlanRefused) as caught:
        decided(
            group,
            {"action": "confirm", "address": "decisions#use-esm-only"},
            {"action": "archive", "address": "decisions#no-such-thing"},
            {"action": "archive", "address": "facts/none.md"},
            {"action": "update", "address": "decisions#use-esm-only", "text": "Twice."},
        )

    found = caught.value.facts["problems"]
    assert [each["line"] for each in found] == [2, 3, 4]  # type: ignore[attr-defined]
    assert "is in line 1 already" in caught.value.message
    assert head(group) == before


def test_guards_count_for_plans_and_name_the_line(group: Group) -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    before = head(group)
    with pytest.raises(PlanRefused) as caught:
        decided(
            group,
            {"action": "update", "address": "ideas#try-elm", "text": f"The token is {secret}"},
            {"action": "confirm", "address": "gitmem.yaml"},
            {"action": "archive", "address": "facts/none.md"},
            {"action": "move", "address": "ideas#ship-it", "to": "../outside.md"},
        )
    found = caught.value.facts["problems"]
    assert [each["line"] for each in found] == [1, 2, 3, 4]  # type: ignore[attr-defined]
    assert secret not in caught.value.message
    with pytest.raises(PlanRefused, match="credential"):
        decided(group, {"action": "archive", "address": "decisions#use-tabs", "reason": secret})
    assert head(group) == before


def test_a_layer_that_keeps_its_things_keeps_them_from_a_plan(group: Group) -> None:
    text = text_of(group, "gitmem.yaml")
    where, mark, rest = text.partition("path: reference/ideas.md\n")
    put(group, "gitmem.yaml", f"{where}{mark}    policy: append-only\n{rest}")

    with pytest.raises(PlanRefused, match=r"line 1: reference/ideas\.md is append-only"):
        decided(group, {"action": "archive", "address": "ideas#try-elm"})


def test_a_strict_layer_refuses_a_status_that_it_does_not_know(group: Group) -> None:
    text = text_of(group, "gitmem.yaml")
    where, mark, rest = text.partition("path: reference/ideas.md\n")
    plan = {"action": "update", "address": "ideas#try-elm", "set": {"Status": "odd"}}
    assert any("'odd'" in each for each in decided(group, plan, dry_run=True).warnings)
    put(group, "gitmem.yaml", f"{where}{mark}    strict: true\n{rest}")

    with pytest.raises(PlanRefused, match="strict"):
        decided(group, plan)


def test_a_merge_does_not_write_over_an_entry_that_it_is_not_about(group: Group) -> None:
    plan = {**ALL[4], "title": "ship it"}

    with pytest.raises(PlanRefused, match="has an entry 'Ship it' already"):
        decided(group, plan)
    assert len(titles(group, IDEAS)) == 3


def test_a_merge_may_keep_the_title_of_one_of_its_entries(group: Group) -> None:
    decided(group, {**ALL[4], "title": "Try Elm"})

    assert titles(group, IDEAS) == ["Ship it", "Try Elm"]
    assert "Gleam or Elm." in text_of(group, IDEAS)
    assert "It is small, too." in text_of(group, "archive/reference/ideas.md")


MERGE = b'{"action": "merge-entries", "addresses": [%], "into": "c", "title": "t", "text": "x"}'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"nonsense", "invalid JSON"),
        (b"[]", "not a JSON object"),
        (b'{"action": "delete", "address": "a#b"}', "unknown action 'delete'"),
        (b'{"address": "a#b"}', "unknown action None"),
        (b'{"action": "confirm"}', "confirm needs 'address'"),
        (b'{"action": "confirm", "address": 3}', "'address' must be a string"),
        (b'{"action": "confirm", "address": " "}', "'address' is empty"),
        (b'{"action": "confirm", "address": "a#b", "text": "x"}', "unknown key 'text'"),
        (b'{"action": "update", "address": "a#b"}', "update needs 'set' or 'text'"),
        (b'{"action": "update", "address": "a#b", "set": []}', "'set' must be an object"),
        (b'{"action": "update", "address": "a#b", "text": " "}', "'text' is empty"),
        (b'{"action": "move", "address": "a#b"}', "move needs 'to'"),
        (MERGE.replace(b"%", b'"a#b"'), "a merge needs two entries"),
        (MERGE.replace(b"%", b'"a#b", 3'), "'addresses' must be a list of strings"),
        (b'{"action": "keep", "address": "\\ud800"}', "'address' is not valid Unicode"),
        (b"\xff", "invalid JSON"),
        (b'{"base": "abc"}', "unknown action None"),
    ],
)
def test_a_line_that_makes_no_sense_is_named(line: bytes, said: str) -> None:
    good = lines(ALL[0])

    with pytest.raises(BadInput) as caught:
        read_plan(good + b"\n" + line + b"\n" + good + b"{}\n")

    assert f"line 3: {said}" in caught.value.message
    assert "line 5: " in caught.value.message


@pytest.mark.parametrize("data", [b"", b"\n\n", b'{"base": "abc"}\n'])
def test_a_plan_without_decisions_is_refused(data: bytes) -> None:
    with pytest.raises(BadInput, match="has no decisions"):
        read_plan(data)


def test_every_action_has_a_deed() -> None:
    assert list(APPLY) == list(ACTIONS)


@pytest.mark.parametrize(
    "plan",
    [
        {"action": "update", "address": "ideas#try-elm", "text": "One.\n\n### Two\n\nThree."},
        {"action": "update", "address": "ideas#try-elm", "text": "```\nnever closed"},
        {**ALL[4], "title": "One\n### Two"},
        {**ALL[4], "text": "One.\n\n### Two"},
        {**ALL[4], "into": "facts/tea.md"},
        {**ALL[4], "into": "gitmem.yaml"},
        {"action": "move", "address": "ideas#try-elm", "to": "gitmem.yaml"},
        {"action": "move", "address": "ideas#try-elm", "to": "ideas"},
        {"action": "move", "address": FACT, "to": IDEAS},
        {"action": "archive", "address": "gitmem.yaml"},
        {"action": "confirm", "address": "state.md"},
        {"action": "archive", "address": "reference"},
    ],
)
def test_no_decision_can_smuggle_in_more_than_it_says(
    group: Group, plan: dict[str, object]
) -> None:
    before = head(group)

    with pytest.raises(GitmemError):
        decided(group, plan)
    assert head(group) == before
    assert git(group.worktree, "status", "--porcelain") == ""


def test_a_layout_without_a_log_has_a_plan_in_one_commit(group: Group) -> None:
    text = text_of(group, "gitmem.yaml")
    put(group, "gitmem.yaml", text[: text.index("  sessions:")])
    before = head(group)
    done = decided(group, ALL[0])

    assert (done.logged, git(group.worktree, "rev-parse", "HEAD~1").strip()) == ("", before)


def test_a_plan_about_the_log_itself_leaves_it_alone(group: Group) -> None:
    put(group, CURRENT, "# Session Log: 2026-02-08\n\n### A thought\n\nSaid.\n")
    put(
        group, "gitmem.yaml", text_of(group, "gitmem.yaml").replace("    policy: append-only\n", "")
    )
    done = decided(group, {"action": "move", "address": f"{CURRENT}#a-thought", "to": "ideas"})

    assert done.logged == ""
    assert "A thought" in titles(group, IDEAS)
    assert "A thought" not in text_of(group, CURRENT)


def test_every_plan_leaves_a_trace_also_one_that_is_refused(group: Group) -> None:
    decided(group, ALL[0], dry_run=True)
    assert last_jobs(group) == ()

    with pytest.raises(PlanRefused):
        decided(group, {"action": "archive", "address": "decisions#none"})
    (trace,) = last_jobs(group)
    assert (trace.job, trace.outcome) == ("consolidate", "nothing")
    assert "line 1: no entry" in trace.detail

    with pytest.raises(BadInput):
        decide(group, b"{no json\n")
    (trace,) = last_jobs(group)
    assert (trace.outcome, "line 1" in trace.detail) == ("nothing", True)

    decided(group, *ALL)
    (trace,) = last_jobs(group)
    assert (trace.outcome, trace.found) == ("done", 6)
