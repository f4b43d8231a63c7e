"""Writing: one call, one commit."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.api.memory import open_group
from gitmem.errors import (
    BadInput,
    Conflict,
    FrontmatterRefused,
    GroupRefused,
    PathRefused,
    SecretFound,
    ShrinkRefused,
    TooBig,
)
from gitmem.memory.admin.init import init
from gitmem.memory.entries.entries import entries
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.log import log
from gitmem.memory.read.read import read
from gitmem.memory.write.write import Allowed, BlobMismatch, Edit, Written, write
from gitmem.model.commit_messages import parse
from gitmem.store.objects.database import ObjectDamaged, blob_id
from tests.support.clocks import START, Clock
from tests.support.git import git, git_bytes
from tests.support.histories import by_hand, edit, put, reopened, truncate
from tests.support.samples import body

BIG = "a line of some length, to make the file large\n" * 20
SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)


def append(group: Group, path: str, text: str | bytes) -> Written:
    return write(group, [Edit(path, text, append=True)])


def commits(group: Group) -> int:
    return int(git(group.gitdir, "rev-list", "--count", "main"))


def objects(group: Group) -> set[str]:
    return set(git(group.gitdir, "cat-file", "--batch-check", "--batch-all-objects").splitlines())


def test_a_write_is_one_commit_that_says_who_and_why(group: Group) -> None:
    done = write(
        group, [Edit("notes/tea.md", "# Tea\nAda likes it\n")], reason="She said so", turn="t-7"
    )

    assert commits(group) == 2
    assert git(group.gitdir, "rev-parse", "main").strip() == done.commit
    assert git(group.gitdir, "show", "-s", "--format=%s%n%b%an <%ae> %cn", "main").splitlines() == [
        "write(notes/tea.md): Tea",
        "She said so",
        "",
        "Gitmem-Op: write",
        f"Gitmem-Id: {parse(git(group.gitdir, 'show', '-s', '--format=%B')).id}",
        "Gitmem-Agent: ada",
        "Gitmem-Session: s-1",
        "Gitmem-Source: chat",
        "Gitmem-Turn: t-7",
        "Gitmem-Reason: She said so",
        "ada <agent@gitmem.invalid> gitmem",
    ]
    change = done.changes[0]
    assert (change.path, change.change, change.bytes) == ("notes/tea.md", "created", 19)
    assert (change.added, change.removed) == (2, 0)
    assert done.blob == change.blob == git(group.gitdir, "rev-parse", "main:notes/tea.md").strip()
    assert (group.worktree / "notes/tea.md").read_text() == "# Tea\nAda likes it\n"
    assert git(group.worktree, "status", "--porcelain") == ""
    assert git(group.gitdir, "fsck", "--strict") == ""


def test_the_same_content_again_is_no_commit(group: Group) -> None:
    first = put(group, "a.md", "one\n")
    before = objects(group)

    again = put(group, "a.md", "one\n", reason="once more")

    assert (again.commit, again.changed) == (first.commit, False)
    assert again.changes[0].change == "unchanged"
    assert again.changes[0].blob == first.blob
    assert objects(group) == before


def test_a_replaced_file_says_how_much_changed(group: Group) -> None:
    put(group, "a.md", "one\ntwo\nthree\n")

    change = put(group, "a.md", "one\n2\n3\nfour\n").changes[0]

    assert (change.change, change.added, change.removed) == ("changed", 3, 2)


@pytest.mark.parametrize(
    ("before", "added", "after"),
    [
        (b"one", b"two", b"one\ntwo\n"),
        (b"one\n", b"two\n", b"one\ntwo\n"),
        (b"one\n", b"two", b"one\ntwo\n"),
        (b"one\r\n", b"two", b"one\r\ntwo\r\n"),
        (b"one\r\ntwo", b"three\r\n", b"one\r\ntwo\r\nthree\r\n"),
        (b"", b"two", b"two\n"),
        (b"one\n\n", b"two\n\n", b"one\n\ntwo\n\n"),
        (b"one", b"", b"one\n"),
        (b"one\n", b"", b"one\n"),
    ],
)
def test_an_addition_never_shares_a_line_with_what_stood_there(
    group: Group, before: bytes, added: bytes, after: bytes
) -> None:
    put(group, "a.md", before)

    append(group, "a.md", added)

    assert git_bytes(group.gitdir, "cat-file", "blob", "main:a.md") == after
    assert (group.worktree / "a.md").read_bytes() == after


def test_an_addition_to_nothing_makes_the_file(group: Group) -> None:
    done = append(group, "a.md", "one")

    assert (group.worktree / "a.md").read_bytes() == b"one\n"
    assert git(group.gitdir, "log", "-1", "--format=%s") == "append(a.md): one\n"
    assert done.changes[0].change == "created"


lines = st.binary(min_size=1, max_size=9).filter(lambda line: b"\n" not in line.rstrip(b"\n"))


@settings(max_examples=30)
@given(st.lists(lines, min_size=1, max_size=6))
def test_every_added_line_stays_a_line(
    tmp_path_factory: pytest.TempPathFactory, added: list[bytes]
) -> None:
    group = open_group(store=tmp_path_factory.getbasetemp() / "law", create=True)
    path = f"{os.urandom(4).hex()}.md"

    group.batch([Edit(path, line, append=True) for line in added])

    text = group.read(path).data
    group.close()
    expected = b""
    for line in added:  # a file whose lines end in CRLF goes on like that
        end = b"\r\n" if b"\r\n" in expected else b"\n"
        expected += line if line.endswith(b"\n") else line + end
    assert text == expected


def test_create_fails_where_there_is_a_file(group: Group) -> None:
    write(group, [Edit("a.md", "one\n", create=True)])

    with pytest.raises(Conflict, match="exists already") as caught:
        write(group, [Edit("a.md", "two\n", create=True)])
    assert caught.value.facts["blob"] == blob_id(b"one\n")
    assert commits(group) == 2


def test_create_sees_a_file_that_nobody_has_captured_yet(group: Group) -> None:
    edit(group, "a.md", "by hand\n")

    with pytest.raises(Conflict):
        write(group, [Edit("a.md", "two\n", create=True)])
    assert (group.worktree / "a.md").read_text() == "by hand\n"


@pytest.mark.parametrize("digits", [40, 7, 4])
def test_if_match_lets_the_version_it_names_be_replaced(group: Group, digits: int) -> None:
    seen = put(group, "a.md", "one\n").blob

    write(group, [Edit("a.md", "two\n", if_match=seen[:digits].upper())])

    assert git(group.gitdir, "show", "main:a.md") == "two\n"


def test_if_match_fails_with_the_version_that_is_there(group: Group) -> None:
    seen = put(group, "a.md", "one\n").blob
    now = put(group, "a.md", "two\n").blob

    with pytest.raises(BlobMismatch) as caught:
        write(group, [Edit("a.md", "mine\n", if_match=seen)])
    assert caught.value.facts["blob"] == now
    assert (caught.value.code, now in caught.value.message) == ("blob-mismatch", True)

    with pytest.raises(BlobMismatch) as caught:
        write(group, [Edit("none.md", "mine\n", if_match=seen)])
    assert caught.value.facts["blob"] is None


def test_if_match_is_told_of_an_edit_that_nobody_has_captured_yet(group: Group) -> None:
    seen = put(group, "a.md", "one\n").blob
    edit(group, "a.md", "by hand\n")

    with pytest.raises(BlobMismatch) as caught:
        write(group, [Edit("a.md", "mine\n", if_match=seen)])
    assert caught.value.facts["blob"] == blob_id(b"by hand\n")
    assert git(group.gitdir, "show", "main:a.md") == "by hand\n"


@pytest.mark.parametrize("word", ["a", "abc", "latest", "0" * 41, "HEAD"])
def test_if_match_wants_a_blob(group: Group, word: str) -> None:
    with pytest.raises(BadInput):
        write(group, [Edit("a.md", "one\n", if_match=word)])


def test_a_retry_with_the_same_id_is_recognised(group: Group) -> None:
    first = write(group, [Edit("a.md", "one", append=True)], operation="op-1")
    put(group, "a.md", "one\nsomebody else\n")

    again = write(group, [Edit("a.md", "one", append=True)], operation="op-1")

    assert (again.recognised, again.commit, again.changed) == (True, first.commit, False)
    assert again.blob == first.blob
    assert git(group.gitdir, "show", "main:a.md") == "one\nsomebody else\n"


def test_an_id_that_was_used_for_other_files_is_a_conflict(group: Group) -> None:
    write(group, [Edit("a.md", "one\n")], operation="op-1")

    with pytest.raises(Conflict, match="used before"):
        write(group, [Edit("b.md", "one\n")], operation="op-1")


@pytest.mark.parametrize(
    "operation", ["a/b", "../../x", "x" * 300, "a\nGitmem-Agent: mallory", " ", "Ünï ☂", "\x00"]
)
def test_an_operation_id_can_be_anything(group: Group, operation: str) -> None:
    done = write(group, [Edit("a.md", "one\n")], operation=operation)

    assert not done.pending
    assert (group.worktree / "a.md").read_text() == "one\n"
    assert git(group.worktree, "status", "--porcelain") == ""
    entry = log(group)[0]
    assert (entry.id, entry.agent) == (operation, "ada")
    assert write(group, [Edit("a.md", "one\n")], operation=operation).recognised


@pytest.mark.parametrize(
    "data",
    [
        b"one\r\ntwo\r\n",
        b"mixed\r\nlines\nand\rmore",
        b"\xef\xbb\xbfwith a mark\n",
        b"not \xff utf-8 \x00\n",
        "日本語 und ÄÖÜ ́\n".encode(),
        b"",
    ],
)
@pytest.mark.parametrize("path", ["ordner/ärger mit Leerzeichen.md", "日本/語.md", "A\u0308.md"])
def test_names_and_bodies_round_trip_byte_for_byte(group: Group, path: str, data: bytes) -> None:
    put(group, path, data)

    assert git_bytes(group.gitdir, "cat-file", "blob", f"main:{path}") == data
    assert (group.worktree / path).read_bytes() == data
    assert git_bytes(group.gitdir, "ls-tree", "-rz", "--name-only", "main") == (
        path.encode() + b"\0"
    )
    assert git(group.worktree, "status", "--porcelain") == ""


def test_planted_attributes_change_no_bytes(group: Group) -> None:
    (group.worktree / ".gitattributes").write_text("* text eol=crlf ident filter=x\n")
    (group.worktree / ".gitignore").write_text("*\n")

    put(group, "a.md", "one $Id$\n")

    assert git_bytes(group.gitdir, "cat-file", "blob", "main:a.md") == b"one $Id$\n"
    assert (group.worktree / "a.md").read_bytes() == b"one $Id$\n"


def test_an_absolute_path_into_the_work_tree_is_understood(group: Group) -> None:
    done = put(group, str(group.worktree / "notes" / "a.md"), "one\n")

    assert done.changes[0].path == "notes/a.md"
    for path in ("/etc/passwd", str(group.worktree), f"{group.worktree}/../x", f"{group.gitdir}/x"):
        with pytest.raises(PathRefused):
            put(group, path, "one\n")


@pytest.mark.parametrize(
    "path", ["../x.md", "a//b.md", "a/", ".hidden", "a/.git/x", "a\\b", "a\nb", "", "x" * 201]
)
def test_a_path_outside_the_grammar_is_refused_before_anything_happens(
    group: Group, path: str
) -> None:
    before = objects(group)

    with pytest.raises(PathRefused):
        put(group, path, "one\n")
    assert objects(group) == before


def test_a_name_that_differs_only_in_case_or_form_is_refused(group: Group) -> None:
    put(group, "Notes/Café.md", "one\n")

    for twin in ("notes/x.md", "Notes/café.md", "Notes/Cafe\u0301.md"):
        with pytest.raises(PathRefused, match="only in case") as caught:
            put(group, twin, "two\n")
        assert caught.value.facts["rule"] == "twin"
    put(group, "Notes/Café.md", "two\n")


def test_a_file_cannot_stand_where_a_folder_does_nor_below_a_file(group: Group) -> None:
    put(group, "notes/a.md", "one\n")

    with pytest.raises(PathRefused, match="is a folder"):
        put(group, "notes", "two\n")
    with pytest.raises(PathRefused, match="is a file"):
        put(group, "notes/a.md/b.md", "two\n")


def test_a_file_cannot_take_the_place_of_a_folder_nobody_has_captured_yet(group: Group) -> None:
    edit(group, "notes/a.md", "by hand\n")

    with pytest.raises(PathRefused, match="is a folder"):
        put(group, "notes", "two\n")
    assert git(group.gitdir, "show", "main:notes/a.md") == "by hand\n"


def test_an_empty_folder_makes_room_for_a_file(group: Group) -> None:
    (group.worktree / "notes").mkdir()

    done = put(group, "notes", "two\n")

    assert (done.set_aside, done.pending) == ((), False)
    assert (group.worktree / "notes").read_text() == "two\n"


def test_a_write_that_would_lose_most_of_a_file_is_refused(group: Group) -> None:
    put(group, "a.md", BIG)

    with pytest.raises(ShrinkRefused) as caught:
        write(group, [Edit("a.md", "short\n")])
    assert caught.value.facts["bytes"] == len(BIG)
    with pytest.raises(ShrinkRefused):
        write(group, [Edit("a.md", " \n")])
    write(group, [Edit("a.md", BIG[: len(BIG) // 2])])
    write(group, [Edit("a.md", "short\n")], allowed=Allowed(shrink=True))


def test_a_guard_refuses_before_any_object_is_written(group: Group) -> None:
    put(group, "a.md", BIG)
    before = objects(group)

    for error, text in (
        (SecretFound, f"{BIG}key {SECRET}\n"),
        (TooBig, "x" * (1024 * 1024 + 1)),
        (FrontmatterRefused, f"---\na: &x 1\nb: *x\n---\n{BIG}"),
        (ShrinkRefused, "short\n"),
        (BadInput, BIG + "\ud800"),
    ):
        with pytest.raises(error):
            write(group, [Edit("a.md", text)])
    assert objects(group) == before


def test_an_allowed_credential_stands_in_the_file_and_in_no_message(group: Group) -> None:
    allowed = Allowed(secrets=("aws-key-id",))

    write(group, [Edit("a.md", f"{SECRET} is the key\n")], allowed=allowed)
    write(group, [Edit("a.md", f"the key was {SECRET}\n")], allowed=allowed)

    assert SECRET in git(group.gitdir, "show", "main:a.md")
    assert SECRET not in git(group.gitdir, "log", "--format=%B%n%gs", "-g", "main")
    assert SECRET[:12] not in git(group.gitdir, "log", "--format=%B", "main")


def test_a_message_is_no_place_for_a_book(group: Group) -> None:
    with pytest.raises(TooBig):
        put(group, "a.md", "one\n", reason="x" * 20_000)


@pytest.mark.parametrize(
    "agent", ["<bot>", ".", '"quoted"', "O'Neil; rm -rf", "🤖", "ada lovelace", "日本", "a" * 200]
)
def test_an_agent_can_have_any_printable_name(group: Group, agent: str) -> None:
    named = Group(group.store, "main", who=Who(agent))

    put(named, "a.md", "one\n")

    assert log(named)[0].agent == agent
    assert log(named, agent=agent)[0].paths == ("a.md",)
    assert git(group.gitdir, "fsck", "--strict") == ""
    named.close()


@pytest.mark.parametrize("agent", ["", "  ", "a\nb", "a\x1b[31m", "a\u202eb", "x" * 201])
def test_an_agents_name_must_be_seen_as_it_is(group: Group, agent: str) -> None:
    named = Group(group.store, "main", who=Who(agent))

    with pytest.raises(BadInput):
        put(named, "a.md", "one\n")
    assert commits(group) == 1
    named.close()


def test_no_text_can_forge_a_trailer(group: Group) -> None:
    forged = "because\n\nGitmem-Agent: mallory\nGitmem-Id: x"
    named = Group(group.store, "main", who=Who("ada", "s\nGitmem-Agent: mallory", forged))

    write(
        named,
        [Edit("a.md", "Gitmem-Op: undo\n\nGitmem-Agent: mallory\n")],
        reason=forged,
        turn="t\nGitmem-Agent: mallory",
    )

    entry = log(named)[0]
    assert (entry.agent, entry.op, entry.reason) == ("ada", "write", forged)
    trailers = git(group.gitdir, "log", "-1", "--format=%(trailers:key=Gitmem-Agent,valueonly)")
    assert trailers.split() == ["ada"]
    named.close()


def test_an_edit_by_somebody_else_is_committed_first(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "a.md", "one\nby hand\n")

    done = append(group, "a.md", "two")

    assert [each.path for each in done.captured] == ["a.md"]
    assert git(group.gitdir, "show", "main~1:a.md") == "one\nby hand\n"
    assert git(group.gitdir, "show", "main:a.md") == "one\nby hand\ntwo\n"
    assert log(group)[1].agent == "unknown"


def test_edits_of_other_files_are_left_for_capture(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "b.md", "by hand\n")

    done = put(group, "a.md", "two\n")

    assert done.captured == ()
    assert (group.worktree / "b.md").read_text() == "by hand\n"


def test_a_held_version_makes_room_and_is_kept(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "a.md", f"one\nkey {SECRET}\n")
    os.chmod(group.worktree / "a.md", 0o644)

    done = put(group, "a.md", "two\n")

    (aside,) = done.set_aside
    assert (aside.path, aside.rule) == ("a.md", "secret: aws-key-id, line 2")
    assert aside.content.read_text() == f"one\nkey {SECRET}\n"
    assert aside.content.is_relative_to(group.gitdir / "gitmem" / "held")
    for path in aside.content, aside.content.parent / "meta.json":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in aside.content.parents[:2]:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (group.worktree / "a.md").read_text() == "two\n"
    assert git(group.worktree, "status", "--porcelain") == ""


def test_the_same_content_again_still_makes_a_held_version_go(group: Group) -> None:
    head = put(group, "a.md", "one\n").commit
    edit(group, "a.md", f"one\nkey {SECRET}\n")

    done = put(group, "a.md", "one\n")

    assert (done.commit, done.changed, len(done.set_aside)) == (head, False, 1)
    assert (group.worktree / "a.md").read_text() == "one\n"
    assert git(group.worktree, "status", "--porcelain") == ""


def test_a_link_in_the_way_is_set_aside_and_not_followed(group: Group, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.md").write_text("outside\n")
    (group.worktree / "notes").symlink_to(tmp_path / "outside")
    (group.worktree / "b.md").symlink_to(tmp_path / "outside" / "a.md")

    aside = [*put(group, "notes/a.md", "one\n").set_aside, *put(group, "b.md", "two\n").set_aside]

    assert [(each.path, each.content.is_symlink()) for each in aside] == [
        ("notes", True),
        ("b.md", True),
    ]
    assert (tmp_path / "outside" / "a.md").read_text() == "outside\n"
    assert (group.worktree / "notes" / "a.md").read_text() == "one\n"
    assert not (group.worktree / "b.md").is_symlink()


def test_a_hard_link_is_set_aside_and_its_other_name_keeps_its_mode(
    group: Group, tmp_path: Path
) -> None:
    (tmp_path / "outside.md").write_text("outside\n")
    os.chmod(tmp_path / "outside.md", 0o644)
    os.link(tmp_path / "outside.md", group.worktree / "a.md")

    done = put(group, "a.md", "one\n")

    assert [each.rule for each in done.set_aside] == ["hard-link"]
    assert (tmp_path / "outside.md").read_text() == "outside\n"
    assert stat.S_IMODE((tmp_path / "outside.md").stat().st_mode) == 0o644


def test_a_file_keeps_the_mode_somebody_gave_it(group: Group) -> None:
    put(group, "a.md", "one\n")
    os.chmod(group.worktree / "a.md", 0o640)

    put(group, "a.md", "two\n")

    assert stat.S_IMODE((group.worktree / "a.md").stat().st_mode) == 0o640
    assert git(group.gitdir, "ls-tree", "main", "a.md").startswith("100644 ")


def test_the_same_content_heals_a_damaged_version_without_a_commit(group: Group) -> None:
    done = put(group, "a.md", "one\n")
    truncate(group.repository, done.blob)
    group = reopened(group)

    again = put(group, "a.md", "one\n")

    assert (again.commit, again.changed) == (done.commit, False)
    assert git(group.gitdir, "show", "main:a.md") == "one\n"
    assert git(group.gitdir, "fsck", "--strict") == ""
    group.close()


def test_a_damaged_version_can_be_replaced_but_not_added_to(group: Group) -> None:
    truncate(group.repository, put(group, "a.md", "one\n").blob)
    group = reopened(group)

    with pytest.raises(ObjectDamaged):
        append(group, "a.md", "two")
    assert put(group, "a.md", "new\n").changes[0].change == "changed"
    assert git(group.gitdir, "show", "main:a.md") == "new\n"
    group.close()


def test_the_clock_is_the_groups_and_never_runs_backwards_along_the_branch(
    group: Group, clock: Clock
) -> None:
    put(group, "a.md", "one\n")
    clock.set("2020-01-01T00:00:00Z")
    put(group, "a.md", "two\n")
    edit(group, "a.md", "three\n")
    put(group, "a.md", "four\n")

    rows = git(group.gitdir, "log", "--reverse", "--format=%at %ct", "main").splitlines()
    authored, committed = zip(*(map(int, row.split()) for row in rows), strict=True)
    assert list(committed) == sorted(committed)
    assert committed[0] > START.timestamp()
    assert datetime.fromtimestamp(authored[-1], UTC).year == 2020


def test_a_fixed_clock_makes_the_same_commit_twice(tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        store = Store(tmp_path / name)
        init(store, "main", now=lambda: START)
        group = Group(store, "main", now=lambda: START)
        write(group, [Edit("a.md", "one\n")], operation="op-1")
        made.append(git(group.gitdir, "log", "-1", "--format=%at %ct %T"))
        group.close()

    assert made[0] == made[1]
    assert made[0].startswith(f"{int(START.timestamp())} ")


def test_time_is_recorded_in_the_zone_of_the_store(store: Store) -> None:
    store.root.mkdir()
    (store.root / ".env").write_text("OTHER=1\nexport TZ='Asia/Kolkata' # ours\n")
    init(store, "main")
    group = Group(store, "main", now=lambda: START)

    put(group, "a.md", "one\n")

    assert git(group.gitdir, "log", "-1", "--format=%ai") == "2026-02-08 17:30:00 +0530\n"
    assert group.now().utcoffset() == timedelta(hours=5, minutes=30)
    group.close()


def test_a_zone_that_does_not_exist_stops_no_write(store: Store) -> None:
    store.root.mkdir()
    (store.root / ".env").write_text("TZ=Mars/Olympus\n")
    init(store, "main")
    group = Group(store, "main", now=lambda: START)

    put(group, "a.md", "one\n")

    assert git(group.gitdir, "log", "-1", "--format=%ai") == "2026-02-08 12:00:00 +0000\n"
    group.close()


@pytest.mark.parametrize("where", ["detached", "branch"])
def test_writes_wait_while_a_person_has_head_elsewhere(group: Group, where: str) -> None:
    put(group, "a.md", "one\n")
    head = put(group, "a.md", "two\n").commit
    by_hand(
        group, *(["checkout", "-q", "HEAD~1"] if where == "detached" else ["switch", "-qc", "x"])
    )

    with pytest.raises(
        Conflict, match="detached" if where == "detached" else "branch 'x'"
    ) as caught:
        put(group, "b.md", "three\n")
    assert "git switch main" in caught.value.hint
    assert group.repository.tip() == head
    assert log(group)[0].commit == head

    by_hand(group, "switch", "-q", "main")
    assert put(group, "b.md", "three\n").captured == ()
    assert git(group.worktree, "status", "--porcelain") == ""


def test_other_groups_may_read_global_and_not_write_to_it(store: Store) -> None:
    init(store, "global")
    reader = Group(store, "global", acting="research")

    with pytest.raises(GroupRefused):
        put(reader, "a.md", "one\n")
    reader.close()
    writer = Group(store, "global", acting="main")
    put(writer, "a.md", "one\n")
    writer.close()


def test_nothing_to_write_is_a_mistake(group: Group) -> None:
    with pytest.raises(BadInput):
        write(group, [])


def test_a_file_where_a_folder_is_needed_is_captured_and_the_write_refused(group: Group) -> None:
    (group.worktree / "new").write_text("somebody's note\n")

    with pytest.raises(PathRefused, match="new is a file"):
        write(group, [Edit("new/d.md", "text\n")])

    assert git(group.gitdir, "show", "main:new") == "somebody's note\n"
    assert (group.worktree / "new").read_text() == "somebody's note\n"


def test_an_operation_id_is_recognised_for_the_same_write_only(group: Group) -> None:
    first = write(group, [Edit("a.md", "one\n")], operation="op-1")

    again = write(group, [Edit("a.md", "one\n")], operation="op-1")
    assert (again.commit, again.recognised) == (first.commit, True)
    with pytest.raises(Conflict, match="op-1"):
        write(group, [Edit("a.md", "two\n")], operation="op-1")
    with pytest.raises(Conflict, match="op-1"):
        write(group, [Edit("a.md", "two\n", append=True)], operation="op-1")


def test_a_path_may_begin_with_a_dot_and_a_slash(group: Group) -> None:
    assert write(group, [Edit("./notes/a.md", "one\n")]).changes[0].path == "notes/a.md"


def test_the_reflog_names_gitmem_and_nobody_else(group: Group) -> None:
    write(group, [Edit("a.md", "one\n")])

    for name in ("HEAD", "refs/heads/main"):
        lines = (group.gitdir / "logs" / name).read_text().splitlines()
        assert lines
        assert all(" gitmem <gitmem@gitmem.invalid> " in line for line in lines)


@pytest.mark.parametrize("path", ["a.md#use-esm", "./a.md#use-esm", "a.md#new one", "a.md#x.md"])
def test_the_address_of_an_entry_is_no_name_for_a_file(group: Group, path: str) -> None:
    put(group, "a.md", "### Use ESM\nNow.\n")

    with pytest.raises(BadInput, match="is an entry, not a file") as caught:
        put(group, path, "x\n")

    assert "`memory.write('a.md', entry=" in caught.value.hint
    assert len(entries(group, "a.md#use-esm").entries) == 1


def test_a_sign_of_an_address_may_stand_in_the_name_of_a_file(group: Group) -> None:
    put(group, "a.md#x", "one\n")
    put(group, "a.md", "### X\nThe entry.\n")
    put(group, "a.md#x", "two\n")

    assert read(group, "a.md#x").text == "two\n"
