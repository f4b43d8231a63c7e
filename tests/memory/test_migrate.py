"""Old names and stray sections are brought into their present form, once."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.memory.curate.migrate import Migrated, due_migration, migrate, migrate_due
from gitmem.memory.group import Group
from gitmem.memory.read.log import log
from gitmem.memory.read.read import read
from gitmem.memory.read.status import status
from gitmem.memory.recover.restore import restore
from gitmem.memory.recover.undo import undo
from gitmem.memory.upkeep.maintain import maintain
from gitmem.memory.write.capture import capture
from gitmem.memory.write.move import move
from gitmem.memory.write.write import Allowed, Edit, write
from gitmem.model.entries.lines import join_sections, split_sections
from tests.support.days import said_lines
from tests.support.git import git
from tests.support.histories import by_hand, edit, put
from tests.support.samples import body

SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)
LAYOUT = """\
gitmem: 1
migrate:
  from: CLAUDE.md
  to: SOUL.md
  sections: "## Session Compaction "
  into: MEMORY.md
layers:
  soul: {kind: document, path: SOUL.md, policy: protected}
"""
NOTE = "Session Compaction: kept in MEMORY.md."
OLD = (
    "# Soul\n\nI am kind.\n\n## Session Compaction 2026-01-01\n\n- one\n\n### Deep\n\n- two\n\n"
    "## Principles\n\n- be brief\n\n## Session Compaction 2026-01-02\n- three"
)


@pytest.fixture
def nano(group: Group) -> Group:
    put(group, "gitmem.yaml", LAYOUT)
    return group


def text(group: Group, path: str) -> str:
    return read(group, path).text


def edited(group: Group, path: str, text: str) -> None:
    """Let a person change a file, who may change a protected one."""
    edit(group, path, text)
    capture(group)


def test_a_legacy_file_takes_its_new_name_and_the_sections_move(nano: Group) -> None:
    put(nano, "CLAUDE.md", OLD)
    put(nano, "MEMORY.md", "- tea\n")

    done = migrate(nano)

    assert (done.renamed, done.sections, done.left) == ((("CLAUDE.md", "SOUL.md"),), 2, "")
    assert (done.source, done.into) == ("SOUL.md", "MEMORY.md")
    assert text(nano, "SOUL.md") == (
        f"# Soul\n\nI am kind.\n\n## Principles\n\n- be brief\n\n{NOTE}\n"
    )
    assert text(nano, "MEMORY.md") == (
        "- tea\n\n## Session Compaction 2026-01-01\n\n- one\n\n### Deep\n\n- two\n\n"
        "## Session Compaction 2026-01-02\n- three\n"
    )
    assert nano.repository.snapshot().node("CLAUDE.md") is None
    assert [each.op for each in log(nano, limit=2)] == ["migrate", "migrate"]
    assert git(nano.worktree, "status", "--porcelain") == ""
    assert git(nano.gitdir, "fsck", "--strict", "--no-dangling") == ""


def test_a_second_run_finds_nothing_to_do(nano: Group) -> None:
    put(nano, "CLAUDE.md", OLD)
    migrate(nano)
    before = nano.repository.tip()

    assert migrate(nano) == Migrated(before)
    assert not migrate(nano).changed


def test_later_sections_move_too_and_the_note_stands_once(nano: Group) -> None:
    put(nano, "CLAUDE.md", OLD)
    migrate(nano)
    soul = text(nano, "SOUL.md")
    loose = Allowed(policy=True)
    write(nano, [Edit("SOUL.md", f"{soul}\n## Session Compaction late\n\nx\n")], allowed=loose)

    assert migrate(nano).sections == 1
    assert text(nano, "SOUL.md").count(NOTE) == 1
    assert text(nano, "MEMORY.md").endswith("- three\n\n## Session Compaction late\n\nx\n")


def test_where_both_files_exist_both_stay_and_that_is_said(nano: Group) -> None:
    put(nano, "CLAUDE.md", "legacy\n")
    put(nano, "SOUL.md", OLD)

    done = migrate(nano)

    assert done.renamed == ()
    assert done.left == "CLAUDE.md and SOUL.md both exist; CLAUDE.md was left as it is"
    assert text(nano, "CLAUDE.md") == "legacy\n"
    assert done.sections == 2, "its sections move all the same"


def test_the_new_name_keeps_the_history(nano: Group) -> None:
    put(nano, "CLAUDE.md", "# Soul\n\nI am kind and patient, and I write short sentences.\n")
    migrate(nano)

    followed = git(nano.worktree, "log", "--follow", "--format=%s", "SOUL.md").splitlines()
    assert len(followed) == 2
    assert [each.moved_from for each in log(nano, "SOUL.md")] == ["CLAUDE.md", ""]


def test_a_dry_run_changes_nothing_and_says_what_would_be_done(nano: Group) -> None:
    put(nano, "CLAUDE.md", OLD)
    before = nano.repository.tip()

    planned = migrate(nano, dry_run=True)

    assert (planned.dry_run, planned.commit) == (True, before)
    assert nano.repository.tip() == before
    done = migrate(nano)
    assert (planned.renamed, planned.sections) == (done.renamed, done.sections)
    assert migrate(nano, dry_run=True).changed is False


def test_a_layout_without_migration_has_nothing_to_do(group: Group) -> None:
    put(group, "CLAUDE.md", OLD)
    before = group.repository.tip()

    assert migrate(group) == Migrated(before)
    assert migrate(group, dry_run=True) == Migrated(before, dry_run=True)


def test_edits_by_hand_are_captured_first(nano: Group) -> None:
    edit(nano, "CLAUDE.md", OLD)

    done = migrate(nano)

    assert [each.path for each in done.captured] == ["CLAUDE.md"]
    assert done.sections == 2


def test_what_stood_there_already_is_not_judged_again(nano: Group) -> None:
    big = "## Session Compaction x\n" + f"- {SECRET}\n" + "- a long line of text\n" * 100
    write(nano, [Edit("SOUL.md", f"# S\n{big}")], allowed=Allowed(("aws-key-id",)))

    assert migrate(nano).sections == 1, "neither secret, nor shrinking, nor a protected layer"
    assert SECRET in text(nano, "MEMORY.md")


def test_every_line_is_conserved_but_for_the_note(nano: Group) -> None:
    put(nano, "SOUL.md", OLD.replace("\n", "\r\n"))
    put(nano, "MEMORY.md", "- tea")
    before = said_lines(nano.repository)

    migrate(nano)

    assert said_lines(nano.repository) == before + Counter([NOTE.encode()])


LINES = st.sampled_from(
    ["## Session Compaction 1", "## Session Compaction", "## Other", "# Top", "- x", "", "### Low"]
)


@given(st.lists(LINES), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_parting_loses_no_line_and_leaves_no_section(
    lines: list[str], newline: str, ended: bool
) -> None:
    data = (newline.join(lines) + (newline if ended else "")).encode()

    rest, sections = split_sections(data, "## Session Compaction ")

    assert sum(map(len, (rest, *sections))) == len(data)
    assert split_sections(rest, "## Session Compaction ").sections == ()
    whole = join_sections(rest, *sections)
    assert said(whole) == said(data)
    assert whole.endswith(b"\n")


def said(data: bytes) -> Counter[bytes]:
    return Counter(line for line in data.splitlines() if line.strip())


def test_what_stands_in_a_block_of_code_is_no_section(nano: Group) -> None:
    soul = (
        "# Soul\n\n## How to log\n```\n## Session Compaction <time>\ntext\n```\nAlways do so.\n\n"
        "## Session Compaction 2026-01-01\n```\n## not a heading\n```\n- one\n\n## End\nz\n"
    )
    put(nano, "SOUL.md", soul)

    assert migrate(nano).sections == 1

    assert "Always do so.\n\n## End\nz\n" in text(nano, "SOUL.md")
    assert text(nano, "MEMORY.md") == (
        "## Session Compaction 2026-01-01\n```\n## not a heading\n```\n- one\n"
    )


class TestUnasked:
    """What is due and safe is done by maintenance and by the start of a session."""

    def test_maintenance_does_it_and_status_says_so_before(self, nano: Group) -> None:
        put(nano, "CLAUDE.md", OLD)
        due = "CLAUDE.md becomes SOUL.md, 2 sections of SOUL.md move to MEMORY.md"
        found = status(nano)
        assert (found.migration, found.health) == (due, "attention")
        assert "migration due" in found.concerns
        before = said_lines(nano.repository)

        (step,) = (each for each in maintain(nano).steps if each.step == "migrate")

        assert (step.outcome, step.detail) == ("done", due)
        assert said_lines(nano.repository) == before + Counter([NOTE.encode()])
        assert (status(nano).migration, status(nano).concerns) == ("", ())
        assert migrate_due(nano).changed is False

    def test_a_layout_without_migration_has_nothing_due(self, group: Group) -> None:
        put(group, "CLAUDE.md", OLD)

        assert due_migration(group) == Migrated("")
        assert status(group).migration == ""

    def test_one_that_was_taken_back_is_not_done_again(self, nano: Group) -> None:
        put(nano, "CLAUDE.md", OLD)
        before = nano.repository.snapshot().commit
        done = migrate_due(nano)
        undo(nano, done.commits)
        assert git(nano.gitdir, "diff", before, "main") == ""

        assert migrate_due(nano).left == "somebody undid the migration of CLAUDE.md"
        assert text(nano, "CLAUDE.md") == OLD
        assert "taken" not in status(nano).migration
        assert status(nano).migration.endswith("undid the migration of CLAUDE.md")
        assert migrate(nano).changed, "who asks for it gets it"

    @pytest.mark.parametrize("which", [slice(None), slice(0, 1)], ids=["both", "sections"])
    def test_a_refusal_outlives_edits(self, nano: Group, which: slice) -> None:
        put(nano, "CLAUDE.md", OLD)
        undo(nano, migrate_due(nano).commits[which])
        path = "CLAUDE.md" if which.stop is None else "SOUL.md"
        edited(nano, path, f"{text(nano, path)}\nMore.\n")

        assert migrate_due(nano).left == f"somebody undid the migration of {path}"
        assert migrate(nano).changed, "who asks for it gets it"
        edited(nano, "SOUL.md", f"{text(nano, 'SOUL.md')}\n## Session Compaction 3\n\n- late\n")
        assert migrate_due(nano).changed, "and later sections move by themselves again"

    def test_status_says_that_both_files_exist(self, nano: Group) -> None:
        put(nano, "CLAUDE.md", "# Old\n")
        put(nano, "SOUL.md", "# New\n")

        found = status(nano)

        assert found.unmigrated == "CLAUDE.md and SOUL.md both exist; CLAUDE.md was left as it is"
        assert (found.migration, found.health) == ("", "ok")

    def test_a_refusal_outlives_any_number_of_commits(
        self, nano: Group, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(nano, "CLAUDE.md", OLD)
        undo(nano, migrate_due(nano).commits)
        migrate_due(nano)
        monkeypatch.setattr("gitmem.memory.curate.migrate.LOOKED_AT", 3)
        for number in range(3):
            put(nano, "CLAUDE.md", f"{OLD}\n{number}\n")

        assert migrate_due(nano).left == "somebody undid the migration of CLAUDE.md"

    def test_a_restored_file_stays_after_an_edit(self, nano: Group) -> None:
        put(nano, "SOUL.md", OLD)
        before = nano.repository.tip()
        migrate_due(nano)
        restore(nano, "SOUL.md", at=before)
        edited(nano, "SOUL.md", f"{OLD}\n\nMore.\n")

        assert migrate_due(nano).left == "somebody undid the migration of SOUL.md"

    def test_a_plain_git_revert_is_a_refusal_too(self, nano: Group) -> None:
        put(nano, "SOUL.md", OLD)
        (commit,) = migrate_due(nano).commits
        by_hand(nano, "revert", "--no-edit", commit)
        edited(nano, "SOUL.md", f"{OLD}\n\nMore.\n")

        assert migrate_due(nano).left == "somebody undid the migration of SOUL.md"

    @pytest.mark.parametrize("way", ["mv", "gitmem mv", "git mv", "git checkout"])
    def test_who_gives_the_old_name_back_by_hand_keeps_it(self, nano: Group, way: str) -> None:
        put(nano, "CLAUDE.md", OLD)
        before = nano.repository.tip()
        migrate_due(nano)
        soul, claude = nano.worktree / "SOUL.md", nano.worktree / "CLAUDE.md"
        if way == "mv":
            soul.rename(claude)
            capture(nano)
        elif way == "gitmem mv":
            move(nano, "SOUL.md", "CLAUDE.md", allow_policy=True)
        elif way == "git mv":
            by_hand(nano, "mv", "SOUL.md", "CLAUDE.md")
            by_hand(nano, "commit", "-m", "back")
        else:
            by_hand(nano, "checkout", before, "--", "CLAUDE.md")
            soul.unlink()
            capture(nano)

        assert migrate_due(nano).left == "somebody undid the migration of CLAUDE.md"
        edited(nano, "CLAUDE.md", f"{text(nano, 'CLAUDE.md')}\nMore.\n")
        assert not migrate_due(nano).changed
        assert migrate(nano).renamed, "who asks for it gets it"

    def test_an_undo_that_was_undone_is_no_refusal(self, nano: Group) -> None:
        put(nano, "SOUL.md", OLD)
        undo(nano, [undo(nano, migrate_due(nano).commits).commit])
        edited(nano, "SOUL.md", f"{text(nano, 'SOUL.md')}\n## Session Compaction 3\n\n- late\n")

        assert migrate_due(nano).changed

    @pytest.mark.parametrize(
        ("files", "why"),
        [
            (
                {"CLAUDE.md": "a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n"},
                "CLAUDE.md has conflict markers",
            ),
            (
                {"SOUL.md": OLD, "MEMORY.md": "<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n"},
                "MEMORY.md has conflict markers",
            ),
            (
                {"CLAUDE.md": "# Me\n\n<!-- gitmem:begin -->\nx\n<!-- gitmem:end -->\n"},
                "CLAUDE.md has a section for agents, so a host reads it",
            ),
        ],
    )
    def test_what_somebody_should_look_at_is_left(
        self, nano: Group, files: dict[str, str], why: str
    ) -> None:
        loose = Allowed(markers=True)
        write(nano, [Edit(path, text) for path, text in files.items()], allowed=loose)
        before = nano.repository.tip()

        done = migrate_due(nano)

        assert (done.changed, done.left) == (False, why)
        assert status(nano).migration.endswith(why)
        assert nano.repository.tip() == before

    def test_a_file_that_is_held_is_left(self, nano: Group) -> None:
        put(nano, "CLAUDE.md", OLD)
        edit(nano, "MEMORY.md", f"- {SECRET}\n")
        before = nano.repository.tip()

        done = migrate_due(nano)

        assert (done.changed, done.left) == (
            False,
            "MEMORY.md is held (secret: aws-key-id, line 1)",
        )
        assert nano.repository.tip() == before
        assert (nano.worktree / "MEMORY.md").read_text() == f"- {SECRET}\n"

    def test_one_that_cannot_be_is_told_and_no_failure(self, nano: Group) -> None:
        put(nano, "SOUL.md", OLD)
        put(nano, "Memory.md", "other letters\n")

        assert "Memory.md" in migrate_due(nano).left
        assert {each.outcome for each in maintain(nano).steps} <= {"done", "nothing"}
