"""Writing to a layer: it knows its own file, its form and its rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import gitmem.store.fault_points
from gitmem.errors import (
    BadInput,
    Conflict,
    EntryRefused,
    FrontmatterRefused,
    PolicyRefused,
    ShrinkRefused,
)
from gitmem.memory.admin.init import init
from gitmem.memory.context.inject import inject
from gitmem.memory.entries.move_entry import move_entry
from gitmem.memory.group import Group, Store
from gitmem.memory.read.log import log
from gitmem.memory.read.read import read
from gitmem.memory.recover.restore import restore
from gitmem.memory.recover.undo import undo
from gitmem.memory.write.capture import capture
from gitmem.memory.write.move import move, remove
from gitmem.memory.write.write import Allowed, Edit, Written, write
from tests.support.clocks import Clock
from tests.support.git import git
from tests.support.histories import by_hand
from tests.support.histories import edit as edit_file

Open = Callable[[str], Group]


@pytest.fixture
def of(store: Store, clock: Clock) -> Iterator[Open]:
    opened: list[Group] = []

    def make(layout: str) -> Group:
        init(store, layout, layout=layout, now=clock)
        opened.append(Group(store, layout, now=clock))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def put(group: Group, *edits: Edit, **options: object) -> Written:
    return write(group, list(edits), **options)  # type: ignore[arg-type]


def text_of(group: Group, path: str) -> str:
    return read(group, path).text


def test_the_diary_of_today_gets_a_summary_and_grows(of: Open) -> None:
    group = of("arizuko")
    put(group, Edit("diary", "Began.\n", set=(("summary", "a start"),)))
    written = put(group, Edit("diary", "Went on.", set=(("summary", "a day's work"),)))

    assert written.changes[0].path == "diary/2026-02-08.md"
    assert text_of(group, "diary/2026-02-08.md") == (
        "---\nsummary: a day's work\n---\nBegan.\n\nWent on.\n"
    ).replace("a day's work", '"a day\'s work"')
    assert all("replaced" in each for each in written.warnings)


def test_a_day_without_a_summary_is_remarked(of: Open) -> None:
    (remark,) = put(of("arizuko"), Edit("diary", "x\n")).warnings

    assert "no summary" in remark


def test_a_summary_that_makes_room_for_another_is_remarked(of: Open) -> None:
    group = of("arizuko")
    put(group, Edit("diary", "a\n", set=(("summary", "billing moved"),)))

    (remark,) = put(group, Edit("diary", "b\n", set=(("summary", "lunch"),))).warnings

    assert "'billing moved'" in remark


def test_a_page_of_that_day_in_the_short_form_is_the_page(of: Open) -> None:
    group = of("arizuko")
    put(group, Edit("diary/20260205.md", "Here.\n"))

    (group.worktree / "diary" / "20260204.md").write_text("By hand.\n")

    for day in ("05", "04"):
        (change,) = put(group, Edit("diary", "More.", date=f"2026-02-{day}")).changes
        assert change.path == f"diary/202602{day}.md"


@pytest.mark.parametrize("text", ["", "  \n"])
def test_nothing_is_no_page(of: Open, text: str) -> None:
    for layout, layer in (("arizuko", "diary"), ("zylos", "sessions"), ("soul", "diary")):
        with pytest.raises(BadInput, match="is empty"):
            put(of(layout), Edit(layer, text))


def test_an_episode_has_the_date_it_is_about(of: Open) -> None:
    group = of("arizuko")
    edit = Edit("episodes", "Long.\n", set=(("summary", "moved"),), date="2026-02-01")

    put(group, edit)

    assert text_of(group, "episodes/2026-02-01.md") == (
        "---\nsummary: moved\ndate: 2026-02-01\n---\nLong.\n"
    )


@pytest.mark.parametrize(("said", "day"), [("yesterday", 7), ("3 days ago", 5), ("20260201", 1)])
def test_a_day_may_be_said_in_words(of: Open, said: str, day: int) -> None:
    (change,) = put(of("arizuko"), Edit("diary", "x\n", date=said)).changes

    assert change.path == f"diary/2026-02-0{day}.md"


@pytest.mark.parametrize("said", ["soon", "2026-02-30"])
def test_a_day_that_is_none_is_an_error(of: Open, said: str) -> None:
    with pytest.raises(BadInput):
        put(of("arizuko"), Edit("diary", "x\n", date=said))


def test_each_entry_of_a_write_once_diary_is_a_file_of_its_own(of: Open, clock: Clock) -> None:
    group = of("soul")
    clock.set("2026-02-08T14:30:00Z")
    one = put(group, Edit("diary", "One.\n")).changes[0].path
    clock.set("2026-02-08T14:30:00Z")
    other = put(group, Edit("diary", "Other.\n")).changes[0].path

    assert one.startswith("diary/2026-02-08T14-30-0")
    assert one != other
    assert text_of(group, one) == "One.\n"
    assert text_of(group, other) == "Other.\n"


def test_two_entries_of_one_second_and_one_batch_are_two_files(of: Open) -> None:
    written = put(of("soul"), Edit("diary", "One.\n"), Edit("diary", "Other.\n"))

    first, second = (each.path for each in written.changes)
    assert second == first.replace(".md", "-1.md")


def test_a_batch_may_write_twice_to_one_day(of: Open) -> None:
    group = of("arizuko")
    put(group, Edit("diary", "One.\n"), Edit("diary", "Other.\n"))

    assert text_of(group, "diary/2026-02-08.md") == "One.\n\nOther.\n"


def test_a_write_once_file_is_never_written_again(of: Open) -> None:
    group = of("soul")
    path = put(group, Edit("diary", "As it was.\n")).changes[0].path

    for edit in (Edit(path, "As it never was.\n"), Edit(path, "more\n", append=True)):
        with pytest.raises(PolicyRefused, match="write-once"):
            put(group, edit)
    put(group, Edit(path, "As it was.\n"))  # the same again changes nothing
    put(group, Edit(path, "If it must be.\n"), allowed=Allowed(policy=True))

    assert text_of(group, path) == "If it must be.\n"


def test_a_page_written_by_hand_is_added_to(of: Open) -> None:
    group = of("arizuko")
    page = group.worktree / "diary" / "2026-02-08.md"
    page.parent.mkdir()
    page.write_text("---\nsummary: a morning\n---\nThe morning.\n")

    written = put(group, Edit("diary", "The afternoon.", set=(("summary", "a day"),)))

    assert [each.path for each in written.captured] == ["diary/2026-02-08.md"]
    assert page.read_text() == "---\nsummary: a day\n---\nThe morning.\n\nThe afternoon.\n"


@pytest.mark.parametrize("layout", ["arizuko", "soul"])
def test_a_page_that_a_person_commits_meanwhile_is_not_replaced(
    of: Open, clock: Clock, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    group = of(layout)
    clock.set("2026-02-08T14:30:00Z")
    names = [f"2026-02-08T14-30-{second:02}.md" for second in range(10)]
    waiting = ["objects"]

    def reached(point: str) -> None:
        if waiting and point == waiting[0]:
            waiting.clear()
            for name in ("2026-02-08.md", *names):
                edit_file(group, f"diary/{name}", "By hand.\n")
            by_hand(group, "add", "diary")
            by_hand(group, "commit", "-qm", "meanwhile")

    monkeypatch.setattr(gitmem.store.fault_points, "reached", reached)
    path = put(group, Edit("diary", "Mine.\n")).changes[0].path

    assert not waiting
    assert text_of(group, "diary/2026-02-08.md").startswith("By hand.\n")
    assert all(text_of(group, f"diary/{name}") == "By hand.\n" for name in names)
    assert "Mine." in text_of(group, path)


def test_a_profile_written_by_hand_under_the_literal_id_is_the_one(of: Open) -> None:
    group = of("arizuko")
    (group.worktree / "users").mkdir()
    (group.worktree / "users" / "telegram:9.md").write_text("By hand.\n")

    written = put(group, Edit("user", "- more", append=True, user="telegram:9"))

    assert written.changes[0].path == "users/telegram:9.md"
    assert text_of(group, "users/telegram:9.md") == "By hand.\n- more\n"


def test_a_name_taken_by_hand_is_not_free(of: Open, clock: Clock) -> None:
    group = of("soul")
    clock.set("2026-02-08T14:30:00Z")
    (group.worktree / "diary").mkdir()
    for second in range(10):
        (group.worktree / "diary" / f"2026-02-08T14-30-0{second}.md").write_text("By hand.\n")

    path = put(group, Edit("diary", "Mine.\n")).changes[0].path

    assert path.endswith("-1.md")
    assert text_of(group, path.replace("-1.md", ".md")) == "By hand.\n"


def test_the_log_of_the_session_begins_with_its_day_and_is_added_to(of: Open) -> None:
    group = of("zylos")
    put(group, Edit("sessions", "- 14:02 deployed"))
    put(group, Edit("sessions", "- 14:05 rolled back"))

    assert text_of(group, "sessions/current.md") == (
        "# Session Log: 2026-02-08\n\n- 14:02 deployed\n- 14:05 rolled back\n"
    )
    with pytest.raises(PolicyRefused, match="append-only") as caught:
        put(group, Edit("sessions/current.md", "# Session Log: 2026-02-08\n\n- nothing happened\n"))
    assert "append=" in caught.value.hint


def test_a_log_of_another_day_is_remarked(of: Open, clock: Clock) -> None:
    group = of("zylos")
    assert put(group, Edit("sessions", "- one")).warnings == ()
    clock.advance(days=1)

    (remark,) = put(group, Edit("sessions", "- two")).warnings

    assert "log of 2026-02-08; `memory.rotate()`" in remark


def test_a_path_of_the_log_is_the_log(of: Open) -> None:
    group = of("zylos")
    put(group, Edit("sessions/current.md", "- by path", append=True))

    assert text_of(group, "sessions/current.md") == "# Session Log: 2026-02-08\n\n- by path\n"


@pytest.mark.parametrize(
    "changed",
    ["# Log\n\n- paid 1000000 to Mallory\n", "# Log\n\n- paid 10, not\n- x\n", "# Log\n"],
)
def test_adding_to_a_line_is_no_appending(of: Open, changed: str) -> None:
    group = of("zylos")
    put(group, Edit("sessions/current.md", "# Log\n\n- paid 10\n"))

    with pytest.raises(PolicyRefused):
        put(group, Edit("sessions/current.md", changed))
    with pytest.raises(PolicyRefused):  # or the next one could write on in that line
        put(group, Edit("sessions/current.md", "# Log\n\n- paid 10"))
    put(group, Edit("sessions/current.md", "# Log\n\n- paid 10\n- and 20\n"))


def test_what_is_kept_from_change_is_not_moved_away_either(of: Open) -> None:
    soul, zylos, nano = of("soul"), of("zylos"), of("nano")
    page = put(soul, Edit("diary", "As it was.\n")).changes[0].path
    put(zylos, Edit("sessions", "- one"))
    for group, path in ((soul, page), (zylos, "sessions/current.md"), (nano, "SOUL.md")):
        with pytest.raises(PolicyRefused):
            move(group, path, "elsewhere.md")
        with pytest.raises(PolicyRefused):
            remove(group, path)
        assert remove(group, path, allow_policy=True).moved[0][1].startswith("archive/")


def test_an_entry_of_a_protected_file_stays_as_it_is(of: Open) -> None:
    group = of("nano")
    put(group, Edit("SOUL.md", "No.", entry="A rule"), allowed=Allowed(policy=True))

    with pytest.raises(PolicyRefused):
        move_entry(group, "SOUL.md#a-rule", "MEMORY.md")
    assert move_entry(group, "SOUL.md#a-rule", "MEMORY.md", allow_policy=True).commit


def test_moving_a_write_once_file_by_hand_is_a_violation(of: Open) -> None:
    group = of("soul")
    path = put(group, Edit("diary", "As it was.\n" * 5)).changes[0].path
    (group.worktree / path).rename(group.worktree / "diary" / "2020-01-01T00-00-00.md")

    capture(group)

    assert log(group, limit=1)[0].violations == (f"policy {path} is write-once",)


def test_a_layer_may_have_an_archive_of_its_own(of: Open) -> None:
    group = of("arizuko")
    text = text_of(group, "gitmem.yaml")
    own = text.replace("    path: facts/*.md\n", "    path: facts/*.md\n    archive: attic/old\n")
    put(group, Edit("gitmem.yaml", own), Edit("facts/a.md", "x\n"), Edit("b.md", "x\n"))

    assert remove(group, "facts/a.md").moved == (("facts/a.md", "attic/old/facts/a.md"),)
    assert remove(group, "b.md").moved == (("b.md", "archive/b.md"),)
    with pytest.raises(Conflict, match="in the archive already"):
        remove(group, "attic/old/facts/a.md")


def test_a_protected_file_is_for_people(of: Open) -> None:
    group = of("nano")
    with pytest.raises(PolicyRefused, match="protected"):
        put(group, Edit("SOUL.md", "I am somebody else now.\n" * 40))

    (group.worktree / "SOUL.md").write_text("By hand.\n")
    (captured,) = capture(group).captured

    assert any("protected" in each for each in captured.violations)


def test_an_edit_that_breaks_a_policy_lands_with_its_name_and_can_be_undone(of: Open) -> None:
    group = of("zylos")
    put(group, Edit("sessions", "- one"))
    place = group.worktree / "sessions" / "current.md"
    place.write_text("# Session Log: 2026-02-08\n\n- rewritten\n")

    capture(group)

    (entry,) = log(group, limit=1)
    assert entry.violations == ("policy sessions/current.md is append-only",)
    assert "Gitmem-Violation: policy" in git(group.worktree, "log", "-1", "--format=%B")
    undo(group)
    assert "- one" in place.read_text()


def test_deleting_a_write_once_file_is_a_violation_and_restoring_it_is_none(of: Open) -> None:
    group = of("soul")
    path = put(group, Edit("diary", "As it was.\n")).changes[0].path
    (group.worktree / path).unlink()

    capture(group)
    assert log(group, limit=1)[0].violations == (f"policy {path} is write-once",)

    restore(group, path, previous=True)
    assert text_of(group, path) == "As it was.\n"
    assert log(group, limit=1)[0].violations == ()


def test_a_profile_is_found_by_the_user_s_id(of: Open) -> None:
    group = of("arizuko")
    one = put(group, Edit("user", "Likes tea.\n", user="telegram:123")).changes[0].path
    put(group, Edit("users/discord:7.md", "Literal.\n"))
    two = put(group, Edit("user", "Still literal.\n", user="discord:7")).changes[0].path

    assert one == "users/telegram:123.md"
    assert two == "users/discord:7.md"


def test_a_group_with_the_layout_of_an_earlier_release_goes_on_with_its_names(of: Open) -> None:
    group = of("arizuko")
    layout = text_of(group, "gitmem.yaml")
    put(group, Edit("gitmem.yaml", layout.replace("    names: literal\n", "")))
    one = put(group, Edit("user", "Likes tea.\n", user="telegram:123")).changes[0].path
    assert one == "users/telegram%3A123.md"

    put(group, Edit("gitmem.yaml", layout))
    again = put(group, Edit("user", "Likes coffee.\n", user="telegram:123")).changes[0].path
    assert again == one
    assert "Likes coffee." in inject(group, user="telegram:123").text
    assert put(group, Edit("user", "New.\n", user="telegram:4")).changes[0].path == (
        "users/telegram:4.md"
    )


def test_a_new_profile_starts_from_the_default(of: Open) -> None:
    group = of("zylos")
    put(group, Edit("user", "- prefers short answers", append=True, user="ada"))

    profile = text_of(group, "users/ada/profile.md")
    assert profile.startswith(text_of(group, "users/default/profile.md"))
    assert profile.endswith("- prefers short answers\n")


def test_the_profile_from_which_others_start_is_nobody_s(of: Open) -> None:
    group = of("zylos")
    template = text_of(group, "users/default/profile.md")

    path = put(group, Edit("user", "Mine.\n", user="default")).changes[0].path

    assert path != "users/default/profile.md"
    assert text_of(group, "users/default/profile.md") == template
    assert put(group, Edit("user", "Mine, too.\n", user="default")).changes[0].path == path


def test_an_id_that_looks_encoded_is_somebody_else(of: Open) -> None:
    group = of("arizuko")
    one = put(group, Edit("user", "Private.\n", user="telegram:1")).changes[0].path
    two = put(group, Edit("user", "Mallory.\n", user="telegram%3A1")).changes[0].path

    assert one != two
    assert text_of(group, one) == "Private.\n"


def test_people_whose_ids_differ_in_case_have_files_of_their_own(of: Open) -> None:
    group = of("arizuko")
    paths = [
        put(group, Edit("user", f"{user}\n", user=user)).changes[0].path
        for user in ("Bob", "bob", "BOB")
    ]

    assert len(set(paths)) == 3
    assert [text_of(group, path) for path in paths] == ["Bob\n", "bob\n", "BOB\n"]


def test_an_id_that_is_too_long_is_an_error(of: Open) -> None:
    with pytest.raises(BadInput, match="too long"):
        put(of("arizuko"), Edit("user", "x\n", user="x" * 201))


@pytest.mark.parametrize(
    ("edit", "hint"),
    [
        (Edit("user", "x\n"), "name the user"),
        (Edit("facts", "x\n"), "facts/NAME.md"),
        (Edit("diary", "x\n", user="ada"), "leave out the user"),
        (Edit("facts/x.md", "x\n", date="2026-02-08"), "diary"),
        (Edit("user", "x\n", user="ada", date="2026-02-08"), "leave out the date"),
        (Edit("diray", "x\n"), "./diray"),
        (Edit("rules.md", set=(("Status", "x"),)), "entry='TITLE'"),
        (Edit("rules", set=(("Status", "x"),)), "entry='TITLE'"),
    ],
)
def test_what_a_layer_needs_is_said(of: Open, edit: Edit, hint: str) -> None:
    group = of("arizuko")
    more = "  rules: {kind: entries, path: rules.md}\n"
    put(group, Edit("gitmem.yaml", text_of(group, "gitmem.yaml") + more))

    with pytest.raises(BadInput) as caught:
        put(group, edit)

    assert hint in caught.value.hint


def test_a_file_of_the_layer_s_name_comes_first(group: Group, store: Store) -> None:
    write(group, [Edit("diary", "a file\n")])
    init(store, "main", layout="arizuko", relayout=True)

    assert write(group, [Edit("diary", "still a file\n")]).changes[0].path == "diary"


def test_a_file_may_be_called_nearly_like_a_layer(of: Open) -> None:
    group = of("arizuko")

    assert put(group, Edit("./diray", "x\n")).changes[0].path == "diray"
    assert put(group, Edit("diray", "y\n")).changes[0].path == "diray"
    assert put(group, Edit("./diary", "a file\n")).changes[0].path == "diary"
    (remark,) = put(group, Edit("LICENSE", "x\n")).warnings
    assert "no layer shows it; the layers are diary, episodes" in remark
    assert put(group, Edit("LICENSE", "y\n")).warnings == ()


def test_an_entry_is_made_and_changed_and_no_other_line_moves(of: Open) -> None:
    group = of("zylos")
    before = text_of(group, "reference/decisions.md")
    fields = (("Status", "active"), ("Decided by", "the team"), ("Importance", "2"))
    put(group, Edit("decisions", "Modules only.", entry="Use ESM only", set=fields))
    made = text_of(group, "reference/decisions.md")
    assert made == before.rstrip("\n") + (
        "\n\n### Use ESM only\n- **Date:** 2026-02-08\n- **Decided by:** the team\n"
        "- **Status:** active\n- **Importance:** 2\n\nModules only.\n"
    )

    edit = Edit("reference/decisions.md", entry="use-esm-only", set=(("Status", "superseded"),))
    written = put(group, edit)

    assert text_of(group, "reference/decisions.md") == made.replace(
        "**Status:** active", "**Status:** superseded"
    )
    assert (written.changes[0].added, written.changes[0].removed) == (1, 1)
    assert log(group, limit=2)[1].subject == "write(reference/decisions.md): Use ESM only"


def test_an_odd_status_is_remarked(of: Open) -> None:
    fields = (("Status", "maybe"), ("Importance", "7"))

    warnings = put(of("zylos"), Edit("decisions", entry="X", set=fields)).warnings

    assert any("maybe" in each for each in warnings)
    assert any("7" in each for each in warnings)


def test_a_strict_layer_refuses_it(of: Open) -> None:
    group = of("zylos")
    text = text_of(group, "gitmem.yaml")
    put(
        group,
        Edit("gitmem.yaml", text.replace("    ages: true\n", "    ages: true\n    strict: true\n")),
    )

    with pytest.raises(EntryRefused, match="maybe") as caught:
        put(group, Edit("decisions", entry="X", set=(("Status", "maybe"),)))

    assert "superseded" in caught.value.message
    assert "### X" not in text_of(group, "reference/decisions.md")


def test_a_strict_layer_refuses_it_also_in_a_whole_file(of: Open) -> None:
    group = of("zylos")
    text = text_of(group, "gitmem.yaml")
    put(group, Edit("decisions", entry="Old", set=(("Status", "maybe"),)))
    strict = text.replace("    ages: true\n", "    ages: true\n    strict: true\n")
    put(group, Edit("gitmem.yaml", strict))

    ideas = text_of(group, "reference/ideas.md")
    for edit in (
        Edit("reference/decisions.md", "\n### K\n- **Status:** bogus\n", append=True),
        Edit("reference/ideas.md", f"{ideas}\n### K\n- **Status:** x\n"),
    ):
        with pytest.raises(EntryRefused):
            put(group, edit)
    put(group, Edit("reference/decisions.md", "\n### K\n- **Status:** active\n", append=True))


def test_fields_alone_change_the_frontmatter_alone(of: Open) -> None:
    group = of("arizuko")
    put(group, Edit("facts/tea.md", "---\n# a comment\ntopic: tea\n---\nGreen.\n"))

    put(group, Edit("facts/tea.md", set=(("verified_at", "2026-02-08"),)))

    assert text_of(group, "facts/tea.md") == (
        "---\n# a comment\ntopic: tea\nverified_at: 2026-02-08\n---\nGreen.\n"
    )


def test_a_page_whose_frontmatter_is_no_yaml_can_be_added_to(of: Open) -> None:
    group = of("arizuko")
    page = group.worktree / "diary" / "2026-02-08.md"
    page.parent.mkdir()
    page.write_bytes(b"---\nsummary: Stock: counted\n---\nBy hand.\n")

    put(group, Edit("diary", "More."))

    assert text_of(group, "diary/2026-02-08.md") == (
        "---\nsummary: Stock: counted\n---\nBy hand.\n\nMore.\n"
    )
    with pytest.raises(FrontmatterRefused):
        put(
            group,
            Edit("diary/2026-02-08.md", "---\nsummary: Stock: lost\n---\nBy hand.\n\nMore.\n"),
        )
    put(group, Edit("diary", set=(("summary", "Stock: counted twice"),)))
    assert text_of(group, "diary/2026-02-08.md").startswith(
        '---\nsummary: "Stock: counted twice"\n---\nBy hand.\n'
    )


def test_a_file_over_its_budget_is_remarked_and_kept(of: Open) -> None:
    group = of("zylos")
    assert put(group, Edit("state", "x" * 3072)).warnings == ()
    near = put(group, Edit("state", "x" * 4096)).warnings
    over = put(group, Edit("state", "x" * 4097)).warnings

    assert "near its budget" in near[0]
    assert "over its budget: 4.0KB of 4.0KB (100 %)" in over[0]
    assert len(text_of(group, "state.md")) == 4097


def test_guards_count_for_layers_too(of: Open) -> None:
    group = of("zylos")
    put(group, Edit("state", "x\n" * 400))

    with pytest.raises(ShrinkRefused):
        put(group, Edit("state", "y\n"))


def test_a_retry_is_recognised_also_on_another_day(of: Open, clock: Clock) -> None:
    group = of("soul")
    first = put(group, Edit("diary", "Once.\n"), operation="op-1")
    clock.advance(days=1)

    again = put(group, Edit("diary", "Once.\n"), operation="op-1")

    assert again.recognised
    assert again.commit == first.commit
    assert again.changes[0].path == first.changes[0].path
    with pytest.raises(Conflict, match="used before"):
        put(group, Edit("diary", "Something else.\n"), operation="op-1")


def test_an_id_is_not_taken_for_another_entry_or_field(of: Open) -> None:
    group = of("standard")
    fields = (("Status", "active"),)
    put(group, Edit("decisions", "Why.", entry="A", set=fields), operation="op-1")
    put(group, Edit("diary", "x\n", set=(("summary", "one"),)), operation="op-2")

    same = put(group, Edit("decisions", "Why.", entry="A", set=fields), operation="op-1")
    assert same.recognised
    assert put(group, Edit("diary", "x\n", set=(("summary", "one"),)), operation="op-2").recognised
    put(group, Edit("user", "hello\n", user="ann"), operation="op-3")
    put(group, Edit("s.md", "1\n", append=True), Edit("s.md", "2\n", append=True), operation="b")
    with pytest.raises(Conflict, match="used before"):
        put(
            group,
            Edit("s.md", "other\n", append=True),
            Edit("s.md", "2\n", append=True),
            operation="b",
        )
    for edit, operation in (
        (Edit("user", "hello\n", user="bob"), "op-3"),
        (Edit("diary", "x\n", set=(("summary", "one"),), date="2026-02-01"), "op-2"),
        (Edit("diary", "x\n"), "op-2"),
        (Edit("decisions", "Why.", entry="B", set=fields), "op-1"),
        (Edit("decisions", "Why not.", entry="A", set=fields), "op-1"),
        (Edit("decisions", entry="A", set=(("Status", "archived"),)), "op-1"),
        (Edit("diary", "x\n", set=(("summary", "two"),)), "op-2"),
        (Edit("diary", "y\n", set=(("summary", "one"),)), "op-2"),
    ):
        with pytest.raises(Conflict, match="used before"):
            put(group, edit, operation=operation)


@pytest.mark.parametrize("name", ["Date observed", "date-observed", "DATE_OBSERVED"])
def test_a_day_that_is_given_in_another_spelling_is_not_given_twice(of: Open, name: str) -> None:
    group = of("zylos")
    put(group, Edit("preferences", entry="Tea", set=((name, "2026-01-01"),)))

    assert text_of(group, "reference/preferences.md").count("2026-0") == 1


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Pacific/Kiritimati", "2026-03-29"),
        ("Pacific/Pago_Pago", "2026-03-28"),
        ("Europe/Berlin", "2026-03-29"),
    ],
)
def test_today_is_the_day_in_the_zone_of_the_group(
    of: Open, clock: Clock, zone: str, day: str
) -> None:
    group = of("arizuko")
    text = text_of(group, "gitmem.yaml")
    put(group, Edit("gitmem.yaml", text.replace("gitmem: 1\n", f"gitmem: 1\ntimezone: {zone}\n")))
    clock.set("2026-03-29T00:59:30Z")  # a minute before the clocks of Berlin go forward

    assert put(group, Edit("diary", "x\n")).changes[0].path == f"diary/{day}.md"
