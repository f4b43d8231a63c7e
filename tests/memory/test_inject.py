"""Injection: pure, pinned, and never stopped by what is broken."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.errors import BadInput, GroupRefused, MomentNotFound
from gitmem.memory.admin.init import init
from gitmem.memory.context.inject import Injected, inject
from gitmem.memory.context.manifest import OVER_BUDGET
from gitmem.memory.group import Group, Store
from gitmem.memory.write.capture import capture
from gitmem.model.context.render import NOTICE
from gitmem.model.layout.journal import NEVER, Day, age_label, day_from, day_of
from gitmem.model.layout.layout import FORMATS
from tests.support.clocks import START, Clock
from tests.support.git import git
from tests.support.histories import by_hand, edit, lose, put, reopened, truncate
from tests.support.readback import read_blocks

LAYOUT = """\
gitmem: 1
layout: small
timezone: {zone}
format: xml
layers:
  state: {{kind: document, path: state.md, load: always, importance: 1}}
  facts: {{kind: notes, path: facts/*.md, load: always, global: true}}
  rules: {{kind: entries, path: rules.md, load: always, retired: [dropped], global: true}}
  diary: {{kind: journal, path: "diary/{{date}}.md", load: recent 3, render: summary}}
  old: {{kind: journal, path: "old/{{month}}/{{date}}.md"}}
  log: {{kind: log, path: log/now.md, rotated: "log/{{date}}.md"}}
  user: {{kind: profile, path: "users/{{user}}.md", load: user}}
"""


def layout(zone: str = "UTC") -> str:
    return LAYOUT.format(zone=zone)


@pytest.fixture
def small(group: Group) -> Group:
    """The group main with a layout that has one layer of each kind."""
    put(group, "gitmem.yaml", layout())
    return group


def text_of(injected: Injected) -> list[str]:
    heads = {each.layer for each in injected.manifest.pieces}
    return [each.text for each in read_blocks(injected.text, injected.format, heads=heads)]


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Store]:
    """Stores one after the other, for tests that need many."""
    return lambda: Store(tmp_path_factory.mktemp("pool"))


def filled_group(store: Store, files: Mapping[str, str], name: str = "main") -> Group:
    """A group that holds just FILES."""
    clock = Clock()
    init(store, name, now=clock)
    group = Group(store, name, now=clock)
    for path, text in files.items():
        edit(group, path, text)
    capture(group)
    return group


page_texts = st.sampled_from(
    [
        "---\nsummary: s\n---\n",
        "---\nsummary: s\ndate: 2026-02-07T23:00:00-11:00\n---\n",
        "---\nsummary: s\ndate: 0001-01-01T00:00:00+14:00\n---\n",
        "nothing to say\n",
        "",
    ]
)
SOME_PATHS = (
    "state.md facts/a.md facts/b.md rules.md diary/2026-02-08.md diary/20260207.md diary/loose.md "
    "log/now.md old/2026-01/2026-01-31.md users/ada.md"
)
some_files = st.dictionaries(
    st.sampled_from(SOME_PATHS.split()),
    st.one_of(page_texts, st.text("ab\n#- =[]()<&é\u200b", max_size=40)),
    max_size=6,
)
some_options = st.fixed_dictionaries(
    {},
    optional={
        "user": st.sampled_from(["ada", "default", "x:y"]),
        "user_mode": st.sampled_from(["full", "pointer", "none"]),
        "format": st.sampled_from(FORMATS),
        "budget": st.integers(0, 400),
        "layers": st.sampled_from([("facts",), ("log", "old"), ("diary", "state")]),
        "annotate": st.booleans(),
        "at": st.sampled_from(["HEAD", "now", "2026-02-08"]),
    },
)


@given(files=some_files, shared=some_files, options=some_options)
@settings(max_examples=25)
def test_the_same_pins_options_date_and_zone_give_the_same_bytes(
    pool: Callable[[], Store],
    files: dict[str, str],
    shared: dict[str, str],
    options: dict[str, Any],
) -> None:
    now = START + timedelta(hours=1)
    stores = [pool(), pool()]
    for store, order in zip(stores, (1, -1), strict=True):
        # The order in which things were written, the names of commits aside, counts for nothing.
        for name, content in (("main", {**files, "gitmem.yaml": layout()}), ("global", shared)):
            filled_group(store, dict(list(content.items())[::order]), name).close()
    found = [
        inject(Group(store, "main", now=lambda: now), **options)
        for store in (stores[0], stores[0], stores[1])
    ]

    assert found[0] == found[1]
    assert found[0].text == found[2].text
    assert found[0].chars == len(found[0].text)


def test_the_same_pins_options_and_date_give_the_same_bytes(small: Group, clock: Clock) -> None:
    put(small, "facts/a.md", "A.\n")
    put(small, "diary/2026-02-07.md", "---\nsummary: yesterday's\n---\n")
    first = inject(small, user="ada", budget=900)
    clock.advance(hours=3)

    assert inject(reopened(small), user="ada", budget=900) == first


def test_edits_that_are_not_committed_never_show_and_are_counted(small: Group) -> None:
    put(small, "state.md", "Committed.\n")
    before = inject(small)
    edit(small, "state.md", "Not committed.\n")
    edit(small, "facts/new.md", "Not committed either.\n")
    (small.worktree / "link.md").symlink_to("state.md")

    after = inject(small)

    assert after.text == before.text
    assert (before.manifest.uncommitted, after.manifest.uncommitted) == (0, 2)
    assert (before.manifest.held, after.manifest.held) == (0, 1)


names = st.sampled_from(["state.md", "facts/a.md", "diary/2026-02-08.md", "rules.md", "x.txt"])
edits = st.lists(st.tuples(names, st.text("ab\n#- ", max_size=30)), max_size=4)


@given(edits=edits, fresh=st.booleans())
@settings(max_examples=25)
def test_no_edit_of_the_work_tree_changes_the_text_and_each_is_counted(
    pool: Callable[[], Store], edits: list[tuple[str, str]], fresh: bool
) -> None:
    committed = {"gitmem.yaml": layout(), "state.md": "Committed.\n", "x.txt": "a"}
    group = filled_group(pool(), committed)
    before = inject(group)
    for path, text in edits:
        edit(group, path, text)

    after = inject(reopened(group) if fresh else group)

    changed = {path for path, text in dict(edits).items() if committed.get(path) != text}
    assert after.text == before.text
    assert (before.manifest.uncommitted, after.manifest.uncommitted) == (0, len(changed))
    group.close()


def test_a_work_tree_that_is_gone_is_no_reason_to_fail(small: Group) -> None:
    put(small, "state.md", "Here.\n")
    os.rename(small.worktree, f"{small.worktree}-away")

    assert text_of(inject(small)) == ["Here."]


def test_the_manifest_names_every_piece_with_its_pin(
    small: Group, store: Store, clock: Clock
) -> None:
    init(store, "global", now=clock)
    shared = Group(store, "global", now=clock)
    put(shared, "facts/all.md", "For all.\n")
    put(small, "facts/own.md", "Own.\n")
    written = put(
        small, "rules.md", "### Be kind\n- **Date:** 2026-02-01\n\n### Old\n- Status: dropped\n"
    )

    found = inject(small)

    assert found.pins == {"main": written.commit, "global": shared.repository.tip()}
    tip = small.repository.snapshot()
    assert [
        (each.group, each.address, each.commit, each.blob) for each in found.manifest.pieces
    ] == [
        ("", "facts/own.md", written.commit, tip.oid("facts/own.md")),
        (
            "global",
            "facts/all.md",
            found.pins["global"],
            shared.repository.snapshot().oid("facts/all.md"),
        ),
        ("", "rules.md#be-kind", written.commit, tip.oid("rules.md")),
    ]
    assert [each.why for each in found.manifest.pieces] == ["always loaded"] * 3
    assert found.manifest.pieces[0].chars == len("Own.")
    assert found.layout_blob == tip.oid("gitmem.yaml")
    assert (found.date, found.zone) == ("2026-02-08", "UTC")
    left = {(each.layer, each.group, each.address, each.why) for each in found.manifest.left_out}
    assert left == {
        ("state", "", "state.md", "it is missing"),
        ("rules", "", "rules.md#old", "it is dropped"),
        ("diary", "", "diary/{date}.md", "no such file"),
        ("old", "", "old/{month}/{date}.md", "never loaded"),
        ("log", "", "log/now.md", "never loaded"),
        ("user", "", "users/{user}.md", "no user was named"),
    }
    shared.close()


def test_the_global_group_shows_nothing_of_itself_twice(
    small: Group, store: Store, clock: Clock
) -> None:
    init(store, "global", now=clock)
    shared = Group(store, "global", now=clock)
    put(shared, "gitmem.yaml", layout())
    put(shared, "facts/all.md", "For all.\n")

    assert inject(shared).text == '<knowledge layer="facts">\nFor all.\n</knowledge>'
    shared.close()


def test_another_group_reads_global_and_only_that(store: Store, clock: Clock) -> None:
    for name in ("mine", "theirs", "global"):
        init(store, name, now=clock)
        with_files = Group(store, name, now=clock)
        put(with_files, "gitmem.yaml", layout())
        put(with_files, "facts/a.md", f"Of {name}.\n")
        with_files.close()
    mine = Group(store, "mine", acting="mine", now=clock)

    assert text_of(inject(mine)) == ["Of mine.", "Of global."]
    with pytest.raises(GroupRefused):
        Group(store, "theirs", acting="mine", now=clock)
    mine.close()


def test_a_global_group_that_is_damaged_is_named_and_left_out(small: Group, store: Store) -> None:
    init(store, "global")
    put(small, "facts/own.md", "Own.\n")
    (store.gitdir("global") / "refs/heads/main").write_text("nonsense\n")

    found = inject(small)

    assert text_of(found) == ["Own."]
    assert any("cannot read group global" in each for each in found.manifest.notes)


@pytest.mark.parametrize("format", FORMATS)
def test_a_damaged_file_is_named_in_its_place(small: Group, format: str) -> None:
    for path in ("state.md", "facts/a.md", "facts/b.md"):
        put(small, path, f"This is {path}.\n")
    put(small, "diary/2026-02-08.md", "---\nsummary: a day\n---\n")
    put(small, "rules.md", "### One\n")
    for path in ("state.md", "facts/a.md", "diary/2026-02-08.md", "rules.md"):
        truncate(small.repository, small.repository.snapshot().oid(path) or "")

    found = inject(reopened(small), format=format)

    lacks = [(each.path, each.lack) for each in found.manifest.pieces]
    assert lacks == [
        ("state.md", "unreadable"),
        ("facts/a.md", "unreadable"),
        ("facts/b.md", ""),
        ("rules.md", "unreadable"),
        ("diary/2026-02-08.md", "unreadable"),
    ]
    said = '"lack": "unreadable"' if format == "json" else "(unreadable: gitmem check)"
    assert found.text.count(said) == 4
    assert "This is facts/b.md." in found.text


def test_a_damaged_folder_is_named_in_its_place(small: Group) -> None:
    put(small, "state.md", "Here.\n")
    put(small, "facts/a.md", "A.\n")
    node = small.repository.snapshot().node("facts")
    assert node
    lose(small.repository, node.oid)

    found = inject(reopened(small))

    assert [(each.text, each.lack) for each in read_blocks(found.text, "xml")] == [
        ("Here.", ""),
        ("", "unreadable"),
    ]


def test_a_link_or_a_repository_in_git_is_no_memory(small: Group) -> None:
    put(small, "facts/a.md", "A.\n")
    (small.worktree / "facts" / "link.md").symlink_to("/etc/passwd")
    by_hand(small, "add", "facts/link.md")
    cacheinfo = f"160000,{small.repository.tip()},facts/sub.md"
    by_hand(small, "update-index", "--add", "--cacheinfo", cacheinfo)
    by_hand(small, "commit", "-qm", "by hand")

    assert text_of(inject(reopened(small))) == ["A."]


SHAPES = {
    "plain": "summary: Fixed it",
    "literal": "summary: |\n  Fixed\n  it",
    "literal stripped": "summary: |-\n  Fixed\n  it",
    "folded": "summary: >\n  Fixed\n  it",
    "folded stripped": "summary: >-\n  Fixed\n  it",
    "double quoted": 'summary: "Fixed it"',
    "single quoted": "summary: 'Fixed it'",
    "several lines": "summary: Fixed\n  it",
    "a list": "summary:\n  - Fixed it",
    "among others": "tags: [a, b]\nsummary: Fixed it # done\nmood: {good: yes}",
}


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_summary_is_read_in_every_shape(
    small: Group, shape: str, newline: str, mark: str
) -> None:
    text = f"{mark}---\n{SHAPES[shape]}\n---\nbody --- body\n".replace("\n", newline)
    put(small, "diary/2026-02-08.md", text.encode())

    assert text_of(inject(small)) == ["Fixed it"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("just a body\n", "it has no summary"),
        ("---\ntags: [a]\n---\nbody\n", "it has no summary"),
        ("---\nsummary:\n---\nbody\n", "it has no summary"),
        ("---\nsummary: '  '\n---\nbody\n", "it has no summary"),
        ("---\n[summary\n---\nbody\n", "unreadable frontmatter"),
    ],
)
def test_a_day_without_a_summary_is_named(small: Group, text: str, why: str) -> None:
    edit(small, "diary/2026-02-08.md", text)
    by_hand(small, "add", ".")
    by_hand(small, "commit", "-qm", "by hand")

    found = inject(reopened(small))

    assert found.text == ""
    assert [each.why for each in found.manifest.left_out if each.layer == "diary"] == [why]
    assert bool(found.manifest.notes) == (why == "unreadable frontmatter")


def test_pages_without_a_date_in_their_name_have_that_of_their_frontmatter(small: Group) -> None:
    put(small, "diary/release.md", "---\nsummary: released\ndate: 2026-02-06\n---\n")
    put(small, "diary/loose.md", "---\nsummary: loose\n---\n")
    put(small, "diary/2026-02-07.md", "---\nsummary: seventh\ndate: 2020-01-01\n---\n")
    put(small, "diary/2026-02-05.md", "---\nsummary: fifth\n---\n")

    found = inject(small)

    shown = [(each.path, each.date, each.age) for each in found.manifest.pieces]
    assert shown == [
        ("diary/2026-02-07.md", "2026-02-07", "yesterday"),
        ("diary/release.md", "2026-02-06", "2 days ago"),
        ("diary/2026-02-05.md", "2026-02-05", "3 days ago"),
    ]


def test_several_pages_of_one_day_are_shown_latest_first(small: Group) -> None:
    for name in ("2026-02-08", "2026-02-08-2", "2026-02-08-10", "2026-02-08T09-00-00"):
        put(small, f"diary/{name}.md", f"---\nsummary: {name}\n---\n")

    assert text_of(inject(small)) == ["2026-02-08T09-00-00", "2026-02-08-10", "2026-02-08-2"]


DAYS = [
    "2026-02-08", "20260208", "2026-02-08T09-00-00", "20260208T09-00-00", "2026-02-08-2",
    "20260208-10", "2026-02-07", "2026-02-07-1", "2026-02-29", "2024-02-29", "2026-02-30",
    "2026-W06", "2026-W07", "2026-02", "2026-01", "9999-99-99", "2026-notes", "loose",
    "x2026-02-08", "0000-01-01", "2027-01-01", "20260131", "2026-01-31", "zzz", "2026-02-08x",
]  # fmt: skip


def simply_ordered(pages: Mapping[str, str]) -> list[str]:
    """The pages with a summary, newest first, by reading and sorting all of them."""

    def day(name: str) -> Day:
        said = re.search("date: (.*)", pages[name])
        by_name = day_of(name)
        return day_from(said[1], UTC) if said and by_name == NEVER else by_name

    paths = sorted(pages, key=lambda name: (day(name), f"diary/{name}.md"), reverse=True)
    return [f"diary/{name}.md" for name in paths if "summary" in pages[name]]


@given(
    pages=st.dictionaries(st.sampled_from(DAYS), page_texts, max_size=14), count=st.integers(1, 5)
)
@settings(max_examples=40)
def test_the_newest_of_a_journal_are_those_that_a_full_sort_finds(
    pool: Callable[[], Store], pages: dict[str, str], count: int
) -> None:
    files = {f"diary/{name}.md": text for name, text in pages.items()}
    group = filled_group(
        pool(), {**files, "gitmem.yaml": layout().replace("recent 3", f"recent {count}")}
    )

    shown = [each.path for each in inject(group, layers=("diary",)).manifest.pieces]

    assert shown == simply_ordered(pages)[:count]
    group.close()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("facts/a.md", "---\nupdated: 0001-01-01T00:00:00+14:00\n---\nx\n"),
        ("facts/a.md", "---\nupdated: 9999-12-31T23:59:59-11:00\n---\nx\n"),
        ("facts/a.md", "---\ndate: 9999-12-31T23:59:59-11:00\n---\nx\n"),
        ("diary/x.md", "---\nsummary: x\ndate: 0001-01-01T00:00:00+14:00\n---\n"),
        ("diary/x.md", "---\nsummary: &a [x, *a]\n---\n"),
        ("diary/x.md", f"---\nsummary: 0x{'f' * 6000}\n---\n"),
        ("diary/x.md", f"---\nsummary: {'9' * 6000}\n---\n"),
        ("diary/x.md", f"---\nsummary: {'[' * 900}x{']' * 900}\n---\n"),
        ("diary/x.md", f"---\nsummary: x\nimportance: 0x{'f' * 6000}\n---\n"),
        ("facts/a.md", f"---\nimportance: {'9' * 6000}\nupdated: .inf\n---\nx\n"),
    ],
)
def test_no_file_stops_an_injection(small: Group, path: str, text: str) -> None:
    put(small, "state.md", "Here.\n")
    edit(small, path, text)
    by_hand(small, "add", ".")
    by_hand(small, "commit", "-qm", "by hand")

    assert text_of(inject(reopened(small)))[0] == "Here."
    assert inject(reopened(small), annotate=True, format="json").chars


def test_an_entry_with_words_behind_its_status_has_had_its_time_too(small: Group) -> None:
    entries = "### One\n- **Status:** dropped with ESM\n\n### Two\n- **Status:** undropped\n"
    put(small, "rules.md", entries)

    assert [each.address for each in inject(small).manifest.pieces] == ["rules.md#two"]


def test_notes_and_entries_stand_by_their_own_date_then_by_path(small: Group) -> None:
    put(small, "facts/b.md", "---\ndate: 2026-02-01\n---\nB\n")
    put(small, "facts/a.md", "---\ndate: 2026-01-01\nupdated: 2026-02-03\n---\nA\n")
    put(small, "facts/z.md", "Z\n")
    put(small, "facts/c.md", "C\n")
    put(
        small,
        "rules.md",
        "### New\n- **Date:** 2026-02-05\n### Plain\n### Old\n- **Date:** 2020-02-05\n",
    )

    addresses = [each.address for each in inject(small).manifest.pieces]

    assert addresses == [
        *("facts/c.md", "facts/z.md", "facts/b.md", "facts/a.md"),
        *("rules.md#plain", "rules.md#old", "rules.md#new"),
    ]


def test_the_text_of_a_layer_that_is_never_loaded_can_be_asked_for(small: Group) -> None:
    put(small, "old/2026-01/2026-01-31.md", "---\nsummary: x\n---\nJanuary's last.\n")
    put(small, "log/now.md", "Today's log.\n")
    put(small, "log/2026-02-07.md", "Yesterday's log.\n")

    assert text_of(inject(small)) == []
    asked = inject(small, layers=("log", "old"))
    assert text_of(asked) == ["January's last.", "Today's log."]
    assert {each.why for each in asked.manifest.pieces} == {"requested by name"}


def test_words_that_make_no_sense_are_refused_with_those_that_do(small: Group) -> None:
    with pytest.raises(BadInput, match="no layer 'facs'") as error:
        inject(small, layers=("facs",))
    assert "the layers are state, facts, rules, diary, old, log, user" in error.value.hint
    with pytest.raises(BadInput, match="format 'plain'"):
        inject(small, format="plain")
    with pytest.raises(BadInput, match="user mode 'some'"):
        inject(small, user_mode="some")
    with pytest.raises(BadInput):
        inject(small, budget=-1)


def test_an_id_that_can_be_no_file_is_left_out(small: Group) -> None:
    put(small, "state.md", "Here.\n")

    found = inject(small, user="x" * 300)

    assert text_of(found) == ["Here."]
    assert "too long" in next(each.why for each in found.manifest.left_out if each.layer == "user")


def test_what_has_no_room_is_named(small: Group) -> None:
    put(small, "state.md", "First.\n\n" + "Much more of it. " * 20)
    put(small, "facts/a.md", "A fact.\n")
    put(small, "diary/2026-02-07.md", "---\nsummary: a day\n---\n")

    whole = inject(small)
    tight = inject(small, budget=whole.chars - 1)
    tiny = inject(small, budget=120)

    assert [each.address for each in tight.manifest.left_out if each.why == OVER_BUDGET] == [
        "facts/a.md"
    ]
    assert [each.path for each in tight.manifest.pieces] == ["state.md", "diary/2026-02-07.md"]
    (state,) = tiny.manifest.pieces
    assert state.cut == "6 of 347 bytes"
    assert "[... 6 of 347 bytes: gitmem read state.md]" in tiny.text
    assert tiny.chars == len(tiny.text) <= 120
    assert inject(small, budget=0).text == ""


def test_the_importance_of_an_entry_counts_before_that_of_its_layer(small: Group) -> None:
    put(
        small,
        "rules.md",
        "### Minor\n- **Importance:** 5\n\n### Plain\n\n### Major\n- **Importance:** 1\n",
    )
    put(small, "facts/a.md", "A fact.\n")
    page = inject(small).chars

    gone = [
        [
            each.address
            for each in inject(small, budget=budget).manifest.left_out
            if each.why == OVER_BUDGET
        ]
        for budget in (page - 1, 0)
    ]

    assert gone[0] == ["rules.md#minor"]
    assert gone[1] == ["rules.md#minor", "rules.md#plain", "facts/a.md", "rules.md#major"]


def test_a_layout_can_set_the_budget(small: Group) -> None:
    put(small, "facts/a.md", "A fact.\n" * 50)
    put(small, "gitmem.yaml", layout().replace("format: xml", "format: xml\nbudget: 100"))

    assert inject(small).text == ""
    assert inject(small, budget=10_000).budget == 10_000


def test_a_group_without_a_layout_shows_nothing(group: Group) -> None:
    put(group, "state.md", "Here.\n")

    found = inject(group)

    assert (found.text, found.layout_blob, found.manifest.pieces) == ("", "", ())


def test_a_layout_that_was_broken_by_hand_is_told_of(small: Group) -> None:
    put(small, "state.md", "Here.\n")
    edit(small, "gitmem.yaml", "gitmem: 1\nlayers: what?\n")
    by_hand(small, "commit", "-qam", "by hand")

    found = inject(reopened(small))

    assert text_of(found) == ["Here."]
    assert "gitmem.yaml" in found.manifest.layout_problem


def test_an_annotated_page_begins_with_the_notice(small: Group) -> None:
    put(small, "state.md", "Here.\n")

    assert inject(small, annotate=True).text == (
        f'{NOTICE}\n\n<knowledge layer="state" path="state.md">\nHere.\n</knowledge>'
    )


ZONES = {
    "Pacific/Kiritimati": ("2026-02-07T10:00:00Z", "2026-02-08T09:59:59Z"),
    "Pacific/Pago_Pago": ("2026-02-08T11:00:00Z", "2026-02-09T10:59:59Z"),
    "UTC": ("2026-02-08T00:00:00Z", "2026-02-08T23:59:59Z"),
}


@pytest.mark.parametrize("zone", ZONES)
def test_a_day_is_a_day_in_the_zone_of_the_group(small: Group, clock: Clock, zone: str) -> None:
    first, last = map(datetime.fromisoformat, ZONES[zone])
    put(small, "gitmem.yaml", layout(zone))
    put(small, "diary/2026-02-08.md", "---\nsummary: the day\n---\n")

    def age(moment: datetime) -> str:
        clock.time = moment - timedelta(seconds=1)
        return inject(Group(small.store, "main", now=lambda: moment)).manifest.pieces[0].age

    second = timedelta(seconds=1)
    assert [age(first), age(last)] == ["today", "today"]
    assert age(first - second) == "today"  # not begun yet
    assert age(last + second) == "yesterday"
    assert age(last + second + timedelta(days=1)) == "2 days ago"


@pytest.mark.parametrize(
    ("zone", "before", "after"),
    [
        ("Europe/Berlin", "2026-03-29T21:59:59Z", "2026-03-29T22:00:00Z"),  # a day of 23 hours
        ("Europe/Berlin", "2026-10-25T22:59:59Z", "2026-10-25T23:00:00Z"),  # one of 25
        ("Africa/Cairo", "2026-04-23T21:59:59Z", "2026-04-23T22:00:00Z"),  # no midnight at all
    ],
)
def test_days_change_at_midnight_also_when_clocks_do(
    small: Group, zone: str, before: str, after: str
) -> None:
    put(small, "gitmem.yaml", layout(zone))
    local = datetime.fromisoformat(before).astimezone(ZoneInfo(zone)).date()
    put(small, f"diary/{local}.md", "---\nsummary: the day\n---\n")

    ages = [
        inject(Group(small.store, "main", now=lambda at=at: datetime.fromisoformat(at)))
        .manifest.pieces[0]
        .age
        for at in (before, after)
    ]

    assert ages == ["today", "yesterday"]


class Frozen:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime:
        return self.time


contents = st.sampled_from(["one", "two", "three\n\nmore", "</knowledge>", ""])
deeds = st.one_of(
    st.tuples(st.just("main"), st.sampled_from(["facts/a.md", "state.md", "rules.md"]), contents),
    st.tuples(st.just("main"), st.sampled_from(["diary/2026-02-08.md", "diary/x.md"]), contents),
    st.tuples(st.just("main"), st.just("gitmem.yaml"), st.sampled_from(
        [layout("Pacific/Kiritimati"), layout("Pacific/Pago_Pago"), "gitmem: 1\n"])),
    st.tuples(st.just("global"), st.sampled_from(["facts/a.md", "facts/b.md"]), contents),
)  # fmt: skip


seconds_later = st.one_of(st.just(0), st.integers(1, 200_000))


@given(st.lists(st.tuples(deeds, seconds_later), min_size=1, max_size=7))
@settings(max_examples=20)
def test_a_moment_shows_what_was_shown_then(
    pool: Callable[[], Store], history: list[tuple[tuple[str, str, str], int]]
) -> None:
    store, clock = pool(), Frozen()
    init(store, "main", now=clock)
    main = Group(store, "main", now=clock)
    put(main, "gitmem.yaml", layout())
    shown: dict[str, tuple[datetime, Injected]] = {}
    last: dict[datetime, dict[str, str]] = {}
    for (name, path, text), later in history:
        clock.time += timedelta(seconds=later)
        _do(store, clock, name, path, text)
        found = inject(main)
        if name == "main":
            shown.setdefault(found.pins["main"], (clock.time, found))
        last[clock.time] = {each: Group(store, each).repository.tip() for each in store.names()}
    clock.time += timedelta(days=100)

    for commit, (time, then) in shown.items():
        # Times are whole seconds: all that `global` did in this one counts as done before.
        at_the_end = last[time].get("global") == then.pins.get("global")
        moments = [commit]
        if last[time]["main"] == commit:
            moments.append(f"{time:%Y-%m-%dT%H:%M:%SZ}")
        for found in (inject(main, at=each) for each in moments):
            assert found.pins["main"] == commit
            assert found.pins.get("global") in (None, last[time].get("global"))
            if at_the_end or "global" not in found.pins:
                seen = found.manifest._replace(uncommitted=0)
                assert found._replace(manifest=seen) == then
    main.close()


def _do(store: Store, clock: Frozen, name: str, path: str, text: str) -> None:
    if name not in store.names():
        init(store, name, now=clock)
    group = Group(store, name, now=clock)
    summary = f"---\nsummary: {text}\n---\n" if path.startswith("diary") else text
    edit(group, path, summary)
    capture(group)
    group.close()


@pytest.mark.parametrize(
    ("then", "now"), [("Pacific/Kiritimati", "UTC"), ("Pacific/Pago_Pago", "UTC")]
)
@pytest.mark.parametrize("day", ["2026-02-08", "2026-02-09", "2026-02-10", "4 days ago"])
def test_a_day_that_is_asked_for_stays_that_day_when_the_zone_has_changed(
    small: Group, clock: Clock, then: str, now: str, day: str
) -> None:
    put(small, "gitmem.yaml", layout(then))
    put(small, "diary/2026-02-08.md", "---\nsummary: the day\n---\n")
    clock.set("2026-02-12T12:00:00Z")
    put(small, "gitmem.yaml", layout(now))

    found = inject(small, at=day)

    asked = f"{small.now().date() - timedelta(days=4)}" if day == "4 days ago" else day
    assert (found.date, found.zone) == (asked, then)
    assert found.manifest.pieces[0].age == age_label("2026-02-08", date.fromisoformat(asked))


def test_a_clock_time_is_an_instant_in_whatever_zone(small: Group, clock: Clock) -> None:
    put(small, "gitmem.yaml", layout("Pacific/Kiritimati"))
    clock.set("2026-02-12T12:00:00Z")
    put(small, "gitmem.yaml", layout("UTC"))

    assert inject(small, at="2026-02-08T13:00").date == "2026-02-09"
    assert inject(small, at="2026-02-08T13:00:00-11:00").date == "2026-02-09"


def test_a_date_before_the_global_group_shows_none_of_it(
    small: Group, store: Store, clock: Clock
) -> None:
    put(small, "facts/a.md", "Own.\n")
    clock.set("2026-02-09T12:00:00Z")
    init(store, "global", now=clock)
    shared = Group(store, "global", now=clock)
    put(shared, "facts/all.md", "For all.\n")

    assert text_of(inject(small)) == ["Own.", "For all."]
    then = inject(small, at="2026-02-08")
    assert text_of(then) == ["Own."]
    assert list(then.pins) == ["main"]
    assert then.date == "2026-02-08"
    assert then.manifest.uncommitted is None
    with pytest.raises(MomentNotFound):
        inject(small, at="2020-01-01")
    shared.close()


def test_a_tag_and_a_step_back_name_a_moment(small: Group) -> None:
    first = put(small, "state.md", "One.\n")
    git(small.gitdir, "tag", "snapshot/2026-02-08", first.commit)
    put(small, "state.md", "Two.\n")

    for at in ("snapshot/2026-02-08", "HEAD~1", first.commit[:10]):
        assert text_of(inject(small, at=at)) == ["One."]


def test_reading_global_takes_no_lock_and_writes_nothing_there(
    small: Group, store: Store, clock: Clock
) -> None:
    init(store, "global", now=clock)
    put(small, "facts/a.md", "Own.\n")
    gitdir = store.gitdir("global")
    before = {path: path.stat().st_mtime_ns for path in gitdir.rglob("*")}

    inject(reopened(small))

    assert {path: path.stat().st_mtime_ns for path in gitdir.rglob("*")} == before


def test_times_are_in_utc_where_a_test_says_nothing() -> None:
    assert START.tzinfo is UTC


@pytest.mark.parametrize(
    "user", ["../state", "../../repos/main.git/config", "/etc/passwd", "..\\state", "a/b", "."]
)
def test_no_id_of_a_user_leads_out_of_the_folder_of_users(small: Group, user: str) -> None:
    put(small, "state.md", "Own business.\n")

    assert inject(small, user=user, layers=("user",)).text == ""


def test_a_file_belongs_to_the_first_layer_that_covers_it(group: Group) -> None:
    layers = (
        "  index: {kind: document, path: INDEX.md, load: always}\n"
        "  log: {kind: log, path: days/now.md, rotated: 'days/old-{date}.md'}\n"
        "  days: {kind: journal, path: 'days/{date}.md', load: always}\n"
        "  topics: {kind: notes, path: '*.md', load: always}\n"
        "  deep: {kind: notes, path: '**/x*y*.md', load: always}\n"
    )
    put(group, "gitmem.yaml", f"gitmem: 1\nformat: markdown\nlayers:\n{layers}")
    for path in ("INDEX.md", "a.md", "xy.md", "days/now.md", "days/2026-02-08.md"):
        put(group, path, f"This is {path}\n")
    put(group, "days/old-2026-02-07.md", "Rotated\n")
    put(group, "p/q/x1y2.md", "Deep\n")

    assert [(each.layer, each.path) for each in inject(group).manifest.pieces] == [
        ("index", "INDEX.md"),
        ("days", "days/2026-02-08.md"),
        ("topics", "a.md"),
        ("topics", "xy.md"),
        ("deep", "p/q/x1y2.md"),
    ]


def test_notes_can_be_shown_by_their_summaries(group: Group) -> None:
    layer = "{kind: notes, path: 'n/*.md', load: recent 2, render: summary}"
    put(group, "gitmem.yaml", f"gitmem: 1\nlayers:\n  notes: {layer}\n")
    put(group, "n/a.md", "---\nsummary: A\ndate: 2026-02-07\nimportance: 1\n---\nbody\n")
    put(group, "n/b.md", "---\nsummary: B\nupdated: 2026-02-08\n---\nbody\n")
    put(group, "n/c.md", "---\nsummary: C\n---\nbody\n")
    put(group, "n/d.md", "body\n")

    found = inject(group)

    assert found.text == (
        '<knowledge layer="notes">\n<entry age="yesterday">A</entry>\n'
        '<entry age="today">B</entry>\n</knowledge>'
    )
    assert ("n/d.md", "it has no summary") in [
        (each.address, each.why) for each in found.manifest.left_out
    ]
    tight = inject(group, budget=found.chars - 1)  # the older one says that it matters more
    assert [each.path for each in tight.manifest.pieces] == ["n/a.md"]


def test_a_journal_can_be_that_of_one_user(group: Group) -> None:
    layer = '{kind: journal, path: "u/{user}/{date}.md", load: recent 2, render: summary}'
    put(group, "gitmem.yaml", f"gitmem: 1\nlayers:\n  days: {layer}\n")
    for user, day in (("a%3Ab", 5), ("a%3Ab", 6), ("a%3Ab", 7), ("other", 8)):
        put(group, f"u/{user}/2026-02-0{day}.md", f"---\nsummary: {user} {day}\n---\n")

    assert text_of(inject(group, user="a:b")) == ["a%3Ab 7", "a%3Ab 6"]
    assert 'jid="a:b"' in inject(group, user="a:b").text
    assert inject(group).text == inject(group, user="nobody").text == ""
    for odd in ("{date}", "*", "date"):
        edit(group, f"u/{odd}/2026-02-01.md", "---\nsummary: odd\n---\n")
    capture(group)
    assert inject(group, user="{date}").text == inject(group, user="*").text == ""
    assert text_of(inject(group, user="date")) == ["odd"]


def test_a_layer_can_point_instead_of_showing(group: Group) -> None:
    layer = "{kind: notes, path: 'n/*.md', load: always, render: pointer}"
    put(group, "gitmem.yaml", f"gitmem: 1\nlayers:\n  notes: {layer}\n")
    put(group, "n/a b.md", "A\n")

    assert inject(group).text == '<knowledge layer="notes" path="n/a b.md" />'
    assert inject(group, format="markdown").text == "## notes\n(gitmem read 'n/a b.md')"
