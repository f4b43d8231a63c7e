"""Entries and files go to the archive, several as one commit, and nothing is lost."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmem.errors import (
    BadInput,
    Conflict,
    GitmemError,
    NotFound,
    PathNotFound,
    PathRefused,
    PolicyRefused,
)
from gitmem.memory.curate.archive import archive
from gitmem.memory.entries.entries import entries
from gitmem.memory.entries.move_entry import move_entry
from gitmem.memory.group import Group
from gitmem.memory.read.log import log
from gitmem.memory.recover.archived import archived
from gitmem.memory.recover.restore import restore
from gitmem.memory.recover.undo import undo
from gitmem.memory.write.move import move, remove
from gitmem.memory.write.write import Edit, write
from gitmem.model.entries.blocks import parse
from gitmem.model.guards import MAX_FILE
from gitmem.model.paths import is_path
from tests.support.clocks import Clock
from tests.support.git import git
from tests.support.histories import by_hand, edit, put
from tests.support.samples import narrow
from tests.support.shelves import (
    DECISIONS,
    ESM,
    OLD,
    SHELF,
    TEA,
    count,
    files,
    furnish,
    is_clean,
    message,
    said,
    text,
)


@pytest.fixture
def memory(group: Group) -> Group:
    return furnish(group)


def test_an_entry_goes_to_the_archive_line_for_line(memory: Group) -> None:
    before = said(memory.repository)

    done = archive(memory, [OLD], reason="superseded in May")

    assert [(each.source, each.address, each.title) for each in done.archived] == [
        (OLD, f"{SHELF}#old-plan", "Old plan")
    ]
    start, end = DECISIONS.index("### Old"), DECISIONS.index("### Keep")
    assert text(memory, "reference/decisions.md") == DECISIONS[:start] + DECISIONS[end:]
    assert text(memory, SHELF) == DECISIONS[start:end].rstrip() + "\n"
    assert said(memory.repository) == before
    assert done.commit == memory.repository.tip()
    assert is_clean(memory)


def test_the_commit_says_what_came_from_where_and_why(memory: Group) -> None:
    head = memory.repository.tip()

    archive(memory, ["decisions#Old plan"], reason="superseded in May")

    said = message(memory)
    assert (said.op, said.reason) == ("archive", "superseded in May")
    assert said.subject == f"archive(reference/decisions.md): Old plan -> {SHELF}"
    assert said.all("Gitmem-From") == (OLD,)
    assert said.all("Gitmem-From-Commit") == (head,)


def test_entries_and_files_go_as_one_commit(memory: Group) -> None:
    before, commits = said(memory.repository), count(memory)

    done = archive(memory, [ESM, "facts/tea.md", TEA, "ideas#try-gleam"])

    assert count(memory) == commits + 1
    assert {each.source: each.address for each in done.archived} == {
        ESM: f"{SHELF}#use-esm-only",
        TEA: f"{SHELF}#keep-tea",
        "reference/ideas.md#try-gleam": "attic/reference/ideas.md#try-gleam",
        "facts/tea.md": "archive/facts/tea.md",
    }
    assert set(message(memory).all("Gitmem-From")) == {each.source for each in done.archived}
    assert said(memory.repository) == before
    assert text(memory, "reference/ideas.md") == "", "a file that lost its last entry stays"
    assert is_clean(memory)


def test_one_that_cannot_go_keeps_all(memory: Group) -> None:
    head = memory.repository.tip()

    for other in ("decisions#never", "never.md", "laws.md#be-kind", "archive/x.md", "gitmem.yaml"):
        with pytest.raises(GitmemError):
            archive(memory, [ESM, other])
    assert memory.repository.tip() == head
    assert is_clean(memory)


@pytest.mark.parametrize(
    ("thing", "error", "words"),
    [
        ("decisions#old-plam", NotFound, "no entry"),
        ("never.md#x", PathNotFound, "no file 'never.md'"),
        ("never.md", PathNotFound, "no file or folder .never.md"),
        ("", BadInput, "as a whole"),
        ("laws.md#be-kind", PolicyRefused, "protected"),
        ("laws.md", PolicyRefused, "protected"),
        ("diary/2026-02-07.md", PolicyRefused, "write-once"),
        ("gitmem.yaml", Conflict, "says what this group is"),
    ],
)
def test_what_cannot_be_is_told(
    memory: Group, thing: str, error: type[GitmemError], words: str
) -> None:
    with pytest.raises(error, match=words):
        archive(memory, [thing])


def test_nothing_to_archive_is_a_mistake(memory: Group) -> None:
    with pytest.raises(BadInput, match="nothing to archive"):
        archive(memory, [])


def test_a_near_miss_is_suggested(memory: Group) -> None:
    with pytest.raises(NotFound) as caught:
        archive(memory, ["decisions#old-plam"])
    assert "Old plan (#old-plan)" in caught.value.hint


def test_a_policy_can_be_set_aside(memory: Group) -> None:
    archive(memory, ["laws.md#be-kind", "diary/2026-02-07.md"], allow_policy=True)

    assert text(memory, "archive/laws.md") == "### Be kind\nAlways.\n"
    assert text(memory, "archive/diary/2026-02-07.md") == "It rained.\n"


@pytest.mark.parametrize("thing", [f"{SHELF}#old-plan", SHELF, "archive", "attic/x.md"])
def test_what_is_archived_is_not_archived_again(memory: Group, thing: str) -> None:
    archive(memory, [OLD])

    with pytest.raises(Conflict, match="in the archive already"):
        archive(memory, [thing])


def test_an_archive_collects_entries_of_the_same_title(memory: Group) -> None:
    archive(memory, [OLD])
    write(memory, [Edit("reference/decisions.md", "Again.", entry="Old plan")])

    done = archive(memory, [OLD])

    assert done.archived[0].address == f"{SHELF}#old-plan-2"
    assert [each.slug for each in parse(text(memory, SHELF))] == ["old-plan", "old-plan-2"]


def test_twins_in_one_call_keep_their_addresses(memory: Group) -> None:
    put(memory, "reference/decisions.md", "### A\none\n\n### A\ntwo\n\n### A\nthree\n")

    done = archive(memory, ["decisions#a", "decisions#a-2"])

    assert [each.source[-3:] for each in done.archived] == ["d#a", "a-2"]
    assert text(memory, "reference/decisions.md") == "### A\nthree\n"
    assert text(memory, SHELF) == "### A\none\n\n### A\ntwo\n"


def test_what_is_named_twice_goes_once(memory: Group) -> None:
    done = archive(memory, [OLD, "decisions#Old plan", "facts", "facts/tea.md"])

    assert [each.source for each in done.archived] == [OLD, "facts/tea.md"]


def test_a_name_that_is_none_is_a_mistake_also_beside_its_file(memory: Group) -> None:
    with pytest.raises(NotFound, match="typo"):
        archive(memory, ["facts", "facts/tea.md#typo"])


def test_removing_is_archiving(memory: Group, clock: Clock) -> None:
    put(memory, "notes/a.md", "one\n")
    clock.set("2026-02-09T10:00:00+00:00")
    removed = remove(memory, "notes/a.md", reason="x")
    by_remove, tree = message(memory), files(memory)
    undo(memory, [removed.commit])
    clock.set("2026-02-09T10:00:00+00:00")

    archive(memory, ["notes/a.md"], reason="x")

    facts = ("Gitmem-Op", "Gitmem-From", "Gitmem-Reason")
    assert [message(memory).all(x) for x in facts] == [by_remove.all(x) for x in facts]
    assert message(memory).subject == by_remove.subject
    assert files(memory) == tree


def test_a_dry_run_shows_what_would_move_and_moves_nothing(memory: Group) -> None:
    head = memory.repository.tip()

    shown = archive(memory, [OLD, "facts/tea.md"], dry_run=True)

    assert shown.dry_run
    assert memory.repository.tip() == head
    done = archive(memory, [OLD, "facts/tea.md"])
    assert shown.archived == done.archived


def test_an_edit_that_was_not_captured_yet_goes_along(memory: Group) -> None:
    edit(memory, "reference/decisions.md", DECISIONS.replace("It is time.", "It is high time."))
    edit(memory, SHELF, "### By hand\nstays\n")
    edit(memory, "facts/new.md", "only in the work tree\n")

    done = archive(memory, [ESM, "facts/new.md"])

    assert {each.path for each in done.captured} == {
        "reference/decisions.md",
        SHELF,
        "facts/new.md",
    }
    assert text(memory, SHELF).startswith("### By hand\nstays\n\n### Use ESM only\n")
    assert "It is high time." in text(memory, SHELF)
    assert text(memory, "archive/facts/new.md") == "only in the work tree\n"
    assert is_clean(memory)


def test_a_full_archive_goes_on_in_another_file(memory: Group) -> None:
    put(memory, SHELF, "### Full\n" + "x" * (MAX_FILE - 20) + "\n")

    done = archive(memory, [OLD])

    assert done.archived[0].address == "archive/reference/decisions-2.md#old-plan"
    restore(memory, OLD)
    assert text(memory, "reference/decisions.md") == DECISIONS


@pytest.mark.parametrize("standing", [b"\xff\n", b"### Open\n```\nnever closed\n"])
def test_an_archive_that_cannot_take_it_is_left_alone(memory: Group, standing: bytes) -> None:
    put(memory, SHELF, standing)

    done = archive(memory, [OLD])

    assert done.archived[0].address == "archive/reference/decisions-2.md#old-plan"
    assert files(memory)[SHELF] == standing


def test_an_entry_as_deep_as_can_be_can_still_be_archived(memory: Group) -> None:
    put(memory, "1/2/3/4/5/6/7/8.md", "### Deep\ndown\n")

    archive(memory, ["1/2/3/4/5/6/7/8.md#deep"])

    assert text(memory, "archive/2/3/4/5/6/7/8.md") == "### Deep\ndown\n"
    assert archived(memory).archived[0].source == "1/2/3/4/5/6/7/8.md#deep"
    restore(memory, "archive/2/3/4/5/6/7/8.md#deep")
    assert text(memory, "1/2/3/4/5/6/7/8.md") == "### Deep\ndown\n"


def test_a_credential_in_a_title_does_not_reach_the_message(memory: Group) -> None:
    (token, *_) = narrow()["github-token"]
    edit(memory, "reference/decisions.md", f"### Key {token}\nx\n")
    by_hand(memory, "commit", "-qam", "by a person, who may do everything")

    archive(memory, [entries(memory, "decisions").entries[0].address])

    assert token not in git(memory.gitdir, "log", "--format=%B", "main")


def test_archiving_can_be_undone(memory: Group) -> None:
    before = files(memory)

    done = archive(memory, [ESM, "facts/tea.md"])
    undo(memory, [done.commit])

    assert files(memory) == before


def test_the_list_says_what_is_archived_since_when_by_whom_and_why(
    memory: Group, clock: Clock
) -> None:
    clock.set("2026-02-10T10:00:00+00:00")
    first = archive(memory, [OLD, "facts/tea.md"], reason="tidy")
    clock.set("2026-02-11T10:00:00+00:00")
    second = archive(memory, [ESM, "ideas#try-gleam"], reason="done with")

    rows = {each.address: each for each in archived(memory).archived}

    assert {row.address: row.source for row in rows.values()} == {
        each.address: each.source for each in (*first.archived, *second.archived)
    }
    old = rows[f"{SHELF}#old-plan"]
    assert (old.commit, old.op, old.agent, old.reason) == (first.commit, "archive", "ada", "tidy")
    assert old.title == "Old plan"
    assert old.time is not None
    assert old.time.isoformat().startswith("2026-02-10T10:00")
    assert rows[f"{SHELF}#use-esm-only"].commit == second.commit
    assert rows["archive/facts/tea.md"].title == ""
    times = [row.time for row in archived(memory).archived if row.time]
    assert times == sorted(times, reverse=True)


def test_the_list_knows_other_ways_into_the_archive(memory: Group) -> None:
    move_entry(memory, TEA, SHELF)
    remove(memory, "reference/ideas.md")
    edit(memory, "archive/by hand.md", "### Not an entry of a layer\n")
    by_hand(memory, "add", "-A")
    by_hand(memory, "commit", "-qm", "by hand")

    rows = {each.address: each for each in archived(memory).archived}

    assert rows[f"{SHELF}#keep-tea"].source == TEA
    assert rows[f"{SHELF}#keep-tea"].op == "move-entry"
    gleam = "reference/ideas.md#try-gleam"
    assert rows[f"attic/{gleam}"].source == gleam
    assert rows["archive/by hand.md"].agent == "A Person"
    assert rows["archive/by hand.md"].source == ""
    assert len(rows) == 3


def test_the_list_survives_changes_in_the_archive(memory: Group) -> None:
    done = archive(memory, [OLD, TEA], reason="tidy")
    write(memory, [Edit(SHELF, "A remark.", entry="Old plan")])
    move(memory, SHELF, "archive/elsewhere.md")
    write(memory, [Edit("reference/decisions.md", "Again.", entry="Keep tea")])
    again = archive(memory, [TEA], reason="again")

    rows = {each.address: each for each in archived(memory).archived}

    assert {address: (row.commit, row.reason) for address, row in rows.items()} == {
        "archive/elsewhere.md#old-plan": (done.commit, "tidy"),
        "archive/elsewhere.md#keep-tea": (done.commit, "tidy"),
        f"{SHELF}#keep-tea": (again.commit, "again"),
    }


def test_of_twins_each_has_its_own_arrival(memory: Group) -> None:
    first = archive(memory, [OLD])
    write(memory, [Edit("reference/decisions.md", "Again.", entry="Old plan")])
    second = archive(memory, [OLD])
    restore(memory, f"{SHELF}#old-plan")

    (row,) = archived(memory).archived

    assert row.commit == second.commit != first.commit


def test_entries_of_one_title_come_back_each_to_its_own_file(memory: Group) -> None:
    for path in ("a/x.md", "b/x.md", "b/y.md"):
        put(memory, path, f"### Same\nof {path}\n")
    before = files(memory)
    put(memory, "archive/a/x.md", b"\xff cannot take it\n")

    done = archive(memory, ["b/y.md#same", "b/x.md#same", "a/x.md#same"])

    assert {row.address: row.source for row in archived(memory).archived if row.title} == {
        each.address: each.source for each in done.archived
    }
    for each in done.archived:
        restore(memory, each.address)
    assert {path: data for path, data in files(memory).items() if path[:2] in ("a/", "b/")} == {
        path: data for path, data in before.items() if path[:2] in ("a/", "b/")
    }


def test_twins_that_did_not_fit_into_one_file_are_told_apart(memory: Group) -> None:
    put(memory, "a.md", "### One\n\n### One\n```\nnever closed\n")

    done = archive(memory, ["a.md#one-2", "a.md#one"])

    assert [each.address for each in done.archived] == ["archive/a.md#one", "archive/a-2.md#one"]
    assert {row.address: row.source for row in archived(memory).archived} == {
        each.address: each.source for each in done.archived
    }


def test_an_empty_archive_is_an_empty_list(memory: Group) -> None:
    assert archived(memory).archived == ()


def test_the_list_looks_no_further_back_than_it_must(memory: Group) -> None:
    archive(memory, [OLD])
    first = git(memory.gitdir, "rev-list", "--max-parents=0", "main").strip()
    (memory.gitdir / "objects" / first[:2] / first[2:]).unlink()

    assert [row.source for row in archived(memory).archived] == [OLD]


def test_the_history_of_an_archived_file_is_followed(memory: Group) -> None:
    archive(memory, ["facts/tea.md"])

    assert [each.op for each in log(memory, "archive/facts/tea.md")] == ["archive", "write"]


TITLES = st.sampled_from(["One", "Two", "two", "Three 2", "C#", "???", "größe", "One"])
BODIES = st.sampled_from(
    ["", "- **Status:** raw\n", "text\n\nmore\n", "```\n### no\n```\n", "x", "- a\n  ```\n  ## b\n"]
)
BLOCKS = st.lists(st.tuples(TITLES, BODIES), min_size=1, max_size=5)
HEADS = st.sampled_from(["", "# Here\n\n", "---\na: b\n---\n\n", "## A\n", "intro\n"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A file of entries as people write them."""
    entries = "\n".join(f"### {title}\n{body}" for title, body in draw(BLOCKS))
    text = draw(HEADS) + entries
    text = text if draw(st.booleans()) else text.rstrip("\n")
    text = text.replace("\n", "\r\n") if draw(st.booleans()) else text
    return "\ufeff" * draw(st.booleans()) + text


LAW = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@LAW
@given(documents(), st.data())
def test_no_line_is_lost_or_made_by_any_archiving(
    group: Group, body: str, data: st.DataObject
) -> None:
    put(group, "here.md", body)
    before, known = said(group.repository), entries(group, "here.md").entries
    addresses = st.sampled_from([each.address for each in known])
    chosen = data.draw(st.lists(addresses, min_size=1, unique=True))

    done = archive(group, chosen)

    assert said(group.repository) == before
    assert [each.source for each in done.archived] == chosen
    left = [each.title for each in known if each.address not in chosen]
    assert [each.title for each in entries(group, "here.md").entries] == left
    shelved = {each.address: each for each in entries(group, "archive/here.md").entries}
    assert [shelved[each.address].title for each in done.archived] == [
        next(x.title for x in known if x.address == each) for each in chosen
    ]


@LAW
@given(documents(), st.data())
def test_what_was_archived_comes_back_to_where_it_was(
    group: Group, body: str, data: st.DataObject
) -> None:
    for path in ("here.md", "archive/here.md"):
        put(group, path, "")
    put(group, "here.md", body)
    known = entries(group, "here.md").entries
    chosen = data.draw(st.sampled_from([each.address for each in known]))

    (shelved,) = archive(group, [chosen]).archived
    before = said(group.repository)
    restore(group, shelved.address)

    assert said(group.repository) == before
    after = text(group, "here.md")
    assert [each.title for each in parse(after)] == [each.title for each in known]
    assert after.rstrip() == body.rstrip()


LONG = "n" * 196
NAMES = st.sampled_from(["a", "A", "a.md", "ä.md", "v1.2", LONG, f"{LONG}.md", "ä" * 98 + ".md"])
PATHS = st.lists(NAMES, min_size=1, max_size=8).map("/".join).filter(is_path)


@LAW
@given(st.lists(st.tuples(PATHS, st.booleans()), min_size=1, max_size=8))
def test_whatever_can_be_written_can_be_removed(
    group: Group, removals: list[tuple[str, bool]]
) -> None:
    for path, whole in removals:
        put(group, path, f"{path}\n")
        before = Counter(files(group).values())

        done = remove(group, path.partition("/")[0] if whole else path)

        assert path in [old for old, _ in done.moved]
        assert all(new.startswith("archive/") for _, new in done.moved)
        assert Counter(files(group).values()) == before
        assert not [each for each in files(group) if not each.startswith("archive/")]


def test_a_folder_too_deep_for_the_archive_goes_there_file_by_file(group: Group) -> None:
    deep = "1/2/3/4/5/6/7/8.md"
    write(group, [Edit(deep, "deep\n"), Edit("1/a.md", "a\n"), Edit("2/b.md", "b\n")])
    remove(group, "2")

    done = remove(group, "1")

    assert done.moved == ((deep, "archive/2/3/4/5/6/7/8.md"), ("1/a.md", "archive/1/a.md"))
    restore(group, deep)
    assert text(group, deep) == "deep\n"


def test_a_folder_in_the_archive_steps_aside_for_a_file_of_its_name(group: Group) -> None:
    put(group, "notes", "a file\n")
    remove(group, "notes")
    put(group, "notes/a.md", "in a folder\n")

    done = remove(group, "notes/a.md")

    assert done.moved == (("notes/a.md", "archive/notes-2/a.md"),)
    restore(group, "notes/a.md")
    assert text(group, "notes/a.md") == "in a folder\n"


@pytest.mark.parametrize("path", ["archive", "Archive/x.md", "ARCHIVE", "old/Shelf/x.md", "old"])
def test_nothing_new_takes_the_place_of_the_archive(group: Group, path: str) -> None:
    layers = "{facts: {kind: notes, path: facts/*.md, archive: old/shelf}}"
    put(group, "gitmem.yaml", f"gitmem: 1\nlayers: {layers}\n")
    put(group, "a.md", "a\n")
    put(group, "facts/b.md", "b\n")

    with pytest.raises(PathRefused, match="the name of the archive"):
        put(group, f"./{path}", "x\n")
    with pytest.raises(PathRefused, match="the name of the archive"):
        move(group, "a.md", path)

    remove(group, "a.md")
    remove(group, "facts/b.md")
    assert {*files(group)} == {"archive/a.md", "old/shelf/facts/b.md", "gitmem.yaml"}


def test_a_folder_of_that_name_which_somebody_had_goes_on(group: Group) -> None:
    edit(group, "Archive/a.md", "a\n")
    by_hand(group, "add", "--all")
    by_hand(group, "commit", "-qm", "as it was before")

    put(group, "Archive/b.md", "b\n")

    assert "Archive/b.md" in files(group)
