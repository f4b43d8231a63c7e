"""Finding what was edited with ordinary tools."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.errors import Damaged, PathRefused
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store
from gitmem.memory.write.capture import capture
from gitmem.memory.write.open_edits import PendingEdit, Scan, pending_edits, scan_edits
from gitmem.memory.write.write import Allowed, Edit, write
from gitmem.model.secrets.find import find
from gitmem.store.index.staging import entry
from gitmem.store.lock import Inflight, Item, Lock, lock_path
from gitmem.store.transaction.capture import HeldEdit
from gitmem.store.worktree.worktree import WorkTree
from tests.support.clocks import Clock
from tests.support.git import git
from tests.support.histories import by_hand, edit, put, reopened, truncate

SECRET = "AKIA" + "MKGDALMEEMKMOAJC"
LONG = "".join(f"line {number} says something\n" for number in range(10))


def found(scan: Scan) -> list[tuple[str, str]]:
    return sorted((each.path, each.change) for each in scan.edits)


def test_a_group_as_it_was_written_has_no_edits(group: Group) -> None:
    write(group, [Edit("a.md", "one\n"), Edit("ä/b c.md", "two\r\n"), Edit("e.md", "")])

    scan = pending_edits(group)

    assert scan == Scan((), (), 0, group.repository.tip())


def test_each_kind_of_edit_is_found(group: Group) -> None:
    for path in ("a.md", "gone.md", "old.md", "same.md"):
        put(group, path, f"{path}\n")
    edit(group, "a.md", "changed\n")
    edit(group, "dir/ünew.md", "new\n")
    (group.worktree / "gone.md").unlink()
    (group.worktree / "old.md").rename(group.worktree / "dir" / "moved.md")
    edit(group, "same.md", "same.md\n")

    assert pending_edits(group).edits == (
        PendingEdit("gone.md", "deleted"),
        PendingEdit("dir/moved.md", "moved", "old.md"),
        PendingEdit("a.md", "changed"),
        PendingEdit("dir/ünew.md", "new"),
    )


def test_an_edit_that_keeps_size_and_mtime_is_found(group: Group) -> None:
    put(group, "a.md", "one\n")
    file = group.worktree / "a.md"
    before = file.stat()
    file.write_text("two\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert found(pending_edits(group)) == [("a.md", "changed")]


def test_an_edit_right_after_the_write_is_found(group: Group) -> None:
    for number in range(30):
        put(group, "a.md", f"{number:04}\n")
        (group.worktree / "a.md").write_text(f"{number:03}x\n")

        assert found(pending_edits(group)) == [("a.md", "changed")]
        capture(group)


def test_a_file_that_the_index_vouches_for_is_not_read(group: Group) -> None:
    blob = put(group, "a.md", "one\n").blob
    file = edit(group, "a.md", "two\n")
    os.utime(file, (1_000_000, 1_000_000))
    lie = entry("a.md", blob, file.stat())  # it never held that blob: only reading could tell
    group.repository.staging.update({"a.md": lie}, list, lambda _: True)

    assert pending_edits(reopened(group)).edits == ()


def test_without_an_index_nothing_is_lost(group: Group) -> None:
    put(group, "a.md", "one\n")
    put(group, "b.md", "two\n")
    edit(group, "b.md", "edited\n")
    for damage in (b"", b"DIRC garbage", None):
        (group.gitdir / "index").unlink(missing_ok=True)
        if damage is not None:
            (group.gitdir / "index").write_bytes(damage)

        assert found(pending_edits(reopened(group))) == [("b.md", "changed")]


def test_what_a_person_staged_or_checked_out_is_an_edit(group: Group) -> None:
    first = put(group, "a.md", "one\n").commit
    put(group, "a.md", "two\n")
    put(group, "b.md", "two\n")
    by_hand(group, "checkout", "-q", first, "--", "a.md")
    edit(group, "b.md", "staged\n")
    edit(group, "c.md", "staged\n")
    by_hand(group, "add", "-A")
    by_hand(group, "rm", "-q", "--cached", "b.md")

    assert found(pending_edits(group)) == [
        ("a.md", "changed"),
        ("b.md", "changed"),
        ("c.md", "new"),
    ]


def test_a_commit_by_a_person_is_no_edit(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "a.md", "two\n")
    edit(group, ".gitignore", "*.md\n")
    by_hand(group, "add", "-A", "-f")
    by_hand(group, "commit", "-q", "-m", "x")

    assert found(pending_edits(group)) == []


def test_what_only_plain_git_keeps_is_not_missed(group: Group) -> None:
    commit = put(group, "a.md", "one\n").commit
    hidden = edit(group, ".hidden.md", "by a person\n")
    by_hand(group, "add", "-A")
    by_hand(group, "update-index", "--add", "--cacheinfo", f"160000,{commit},inner")
    by_hand(group, "commit", "-q", "-m", "x")
    hidden.unlink()

    assert pending_edits(group) == Scan((), (), 0, group.repository.tip())


def test_a_planted_gitignore_hides_nothing(group: Group) -> None:
    edit(group, ".gitignore", "*\n")
    edit(group, "sub/.gitattributes", "* text eol=crlf\n")
    edit(group, "a.md", "one\n")

    scan = pending_edits(group)

    assert (found(scan), scan.ignored) == ([("a.md", "new")], 2)


def test_dot_names_are_counted_and_not_looked_at(group: Group) -> None:
    put(group, "sub/a.md", "one\n")
    edit(group, ".obsidian/workspace.json", "{}\n")
    edit(group, ".obsidian/.deeper", "{}\n")
    edit(group, "sub/.swp", "x\n")
    edit(group, "sub/.git/config", "x\n")
    edit(group, "sub/.gitmem-0123456789abcdef-0", "ours, on its way\n")

    assert pending_edits(group) == Scan((), (), 3, group.repository.tip())
    assert pending_edits(group, ["sub"]).ignored == 2
    assert pending_edits(group, ["sub/a.md"]).ignored == 0


@pytest.mark.parametrize(
    ("path", "text", "rule"),
    [
        ("key.md", f"key: {SECRET}\n", "secret: "),
        ("big.md", "x" * (1024 * 1024 + 1), "too-big"),
        ("bad\\name.md", "x\n", "path"),
        ("trailing.", "x\n", "path"),
        ("/".join("abcdefghi") + ".md", "x\n", "path"),
    ],
)
def test_what_may_not_enter_git_is_held(group: Group, path: str, text: str, rule: str) -> None:
    edit(group, path, text)
    edit(group, "fine.md", "x\n")

    scan = pending_edits(group)

    assert found(scan) == [("fine.md", "new")]
    (held,) = scan.held
    assert held.path == path
    assert held.rule.startswith(rule)


def test_things_that_are_no_plain_files_are_held(group: Group, tmp_path: Path) -> None:
    put(group, "was-a-file.md", "one\n")
    outside = tmp_path / "outside.md"
    outside.write_text("secret plans\n")
    os.symlink(outside, group.worktree / "link.md")
    os.symlink(tmp_path, group.worktree / "folder")
    os.link(outside, group.worktree / "hard.md")
    os.mkfifo(group.worktree / "pipe")
    (group.worktree / "was-a-file.md").unlink()
    os.symlink(outside, group.worktree / "was-a-file.md")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(group.worktree, os.O_RDONLY)
        server.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)

        scan = pending_edits(group)

    assert scan.edits == ()
    assert scan.held == (
        HeldEdit("folder", "link"),
        HeldEdit("hard.md", "hard-link"),
        HeldEdit("link.md", "link"),
        HeldEdit("pipe", "special"),
        HeldEdit("socket", "special"),
        HeldEdit("was-a-file.md", "link"),
    )


def test_a_name_that_is_not_utf_8_is_held(group: Group) -> None:
    with open(os.path.join(os.fsencode(group.worktree), b"caf\xe9.md"), "wb") as file:
        file.write(b"x\n")

    assert pending_edits(group).held == (HeldEdit("caf\udce9.md", "path"),)


def test_a_changed_file_with_a_secret_is_held_and_an_old_one_is_no_news(group: Group) -> None:
    put(group, "a.md", "one\n")
    rule = find(SECRET)[0].rule
    known = Edit("known.md", f"key: {SECRET}\n{LONG}")
    write(group, [known], allowed=Allowed((rule,)))
    edit(group, "a.md", f"one\nkey: {SECRET}\n")
    edit(group, "known.md", f"key: {SECRET}\n{LONG}more\n")

    scan = pending_edits(group)

    assert found(scan) == [("known.md", "changed")]
    assert [each.path for each in scan.held] == ["a.md"]

    (group.worktree / "known.md").rename(group.worktree / "moved.md")
    assert ("moved.md", "moved") in found(pending_edits(group))


def test_a_folder_behind_a_link_is_one_held_thing_and_nothing_below_is_deleted(
    group: Group, tmp_path: Path
) -> None:
    put(group, "notes/a.md", "one\n")
    put(group, "notes/b.md", "one\n")
    shutil.move(group.worktree / "notes", tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", group.worktree / "notes")

    scan = pending_edits(group)

    assert (scan.edits, scan.held) == ((), (HeldEdit("notes", "link"),))
    alone = pending_edits(group, ["notes/a.md"])
    assert (alone.edits, alone.held) == ((), (HeldEdit("notes/a.md", "link"),))


@contextmanager
def as_nobody(root: Path) -> Iterator[None]:
    """Without the rights of root, to whom no folder is closed."""
    nobody = 65534
    if os.geteuid() != 0:
        yield
        return
    for path in (root, *root.rglob("*")):
        os.chown(path, nobody, nobody, follow_symlinks=False)
    os.seteuid(nobody)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that others may enter, which pytest's own are not."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield place
    for folder in place.rglob("*"):
        if folder.is_dir() and not folder.is_symlink():
            folder.chmod(0o700)
    shutil.rmtree(place)


@pytest.fixture
def shut(open_place: Path, clock: Clock) -> Iterator[Group]:
    """A group in which a folder and a file will be closed."""
    store = Store(open_place)
    init(store, "main", now=clock)
    group = Group(store, "main", now=clock)
    for path in ("closed/a.md", "closed/deep/b.md", "open/c.md", "open/d.md"):
        put(group, path, "one\n")
    edit(group, "open/c.md", "two\n")
    yield group
    group.close()


@pytest.mark.parametrize("mode", [0o000, 0o300])
def test_a_closed_folder_is_one_held_thing_and_nothing_below_is_deleted(
    shut: Group, mode: int
) -> None:
    (shut.worktree / "closed").chmod(mode)

    with as_nobody(shut.store.root):
        scan = pending_edits(reopened(shut))

    assert found(scan) == [("open/c.md", "changed")]
    assert scan.held == (HeldEdit("closed", "unreadable"),)


def test_a_file_in_a_closed_folder_is_held_when_it_is_asked_for(shut: Group) -> None:
    (shut.worktree / "closed").chmod(0o000)

    with as_nobody(shut.store.root):
        scan = pending_edits(reopened(shut), ["closed/a.md", "closed/deep"])

    assert scan.edits == ()
    assert [each.rule for each in scan.held] == ["unreadable", "unreadable"]


def test_a_closed_file_is_held(shut: Group) -> None:
    edit(shut, "open/new.md", "three\n").chmod(0o000)
    edit(shut, "open/d.md", "three\n").chmod(0o000)

    with as_nobody(shut.store.root):
        scan = pending_edits(reopened(shut))

    assert found(scan) == [("open/c.md", "changed")]
    assert scan.held == (
        HeldEdit("open/d.md", "unreadable"),
        HeldEdit("open/new.md", "unreadable"),
    )


def test_a_folder_in_the_place_of_a_file_is_a_deletion_and_a_new_file(group: Group) -> None:
    put(group, "notes", "one\n")
    put(group, "dir/a.md", "two\n")
    (group.worktree / "notes").unlink()
    edit(group, "notes/a.md", "one\n")
    shutil.rmtree(group.worktree / "dir")
    edit(group, "dir", "two\n")

    assert pending_edits(group).edits == (
        PendingEdit("dir/a.md", "deleted"),
        PendingEdit("notes", "deleted"),
        PendingEdit("dir", "new"),
        PendingEdit("notes/a.md", "new"),
    )


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (LONG, "moved"),
        (LONG.replace("line 1 ", "LINE 1 "), "moved"),
        (LONG.replace("\n", "\r\n"), "moved"),
        ("".join(reversed(LONG.splitlines(keepends=True))), "moved"),
        ("\n".join(LONG.split("\n")[:6]) + "\n", "moved"),
        ("\n".join(LONG.split("\n")[:5]) + "\n", "new"),
        ("quite different\n", "new"),
    ],
)
def test_a_renamed_file_is_known_by_most_of_its_lines(group: Group, text: str, change: str) -> None:
    put(group, "old.md", LONG)
    (group.worktree / "old.md").unlink()
    edit(group, "new.md", text)

    assert ("new.md", change) in found(pending_edits(group))


def test_of_several_renamed_files_each_finds_its_own(group: Group) -> None:
    write(group, [Edit(f"old/{name}.md", LONG) for name in "abc"])
    shutil.move(group.worktree / "old", group.worktree / "new")
    edit(group, "new/b.md", LONG + "more\n")

    assert {(each.moved_from, each.path) for each in pending_edits(group).edits} == {
        ("old/a.md", "new/a.md"),
        ("old/b.md", "new/b.md"),
        ("old/c.md", "new/c.md"),
    }


def test_a_copy_is_new_and_an_empty_file_was_never_another(group: Group) -> None:
    put(group, "a.md", LONG)
    put(group, "empty.md", "")
    edit(group, "copy.md", LONG)
    (group.worktree / "empty.md").rename(group.worktree / "hollow.md")

    assert found(pending_edits(group)) == [
        ("copy.md", "new"),
        ("empty.md", "deleted"),
        ("hollow.md", "new"),
    ]


def test_where_many_files_moved_only_equal_ones_are_paired(group: Group) -> None:
    write(group, [Edit(f"old/{number}.md", f"{LONG}{number}\n") for number in range(40)])
    for number in range(40):
        (group.worktree / f"old/{number}.md").unlink()
        edit(group, f"new/{number}.md", f"{LONG}{number}\n" + ("more\n" if number > 4 else ""))

    moved = {each.path for each in pending_edits(group).edits if each.change == "moved"}

    assert moved == {f"new/{number}.md" for number in range(5)}


def test_only_what_is_asked_for_is_looked_at(group: Group) -> None:
    for path in ("notes/a.md", "notes/deep/b.md", "notes.md", "c.md"):
        put(group, path, f"{path}\n")
        edit(group, path, "edited\n")

    assert found(pending_edits(group, ["notes"])) == [
        ("notes/a.md", "changed"),
        ("notes/deep/b.md", "changed"),
    ]
    assert found(pending_edits(group, ["notes/", "notes/deep", "c.md", "none.md"])) == [
        ("c.md", "changed"),
        ("notes/a.md", "changed"),
        ("notes/deep/b.md", "changed"),
    ]
    assert len(pending_edits(group, [""]).edits) == 4


@pytest.mark.parametrize("path", ["../x", "..", "notes/../../x", ".git", "a/./b", "a\0b"])
def test_a_place_that_leads_out_is_refused(group: Group, path: str) -> None:
    with pytest.raises(PathRefused):
        pending_edits(group, [path])


def test_a_damaged_version_at_head_does_not_stop_the_search(group: Group) -> None:
    blob = put(group, "a.md", "one\n").blob
    put(group, "b.md", "two\n")
    edit(group, "a.md", "edited\n")
    truncate(group.repository, blob)

    assert found(pending_edits(reopened(group))) == [("a.md", "changed")]


@pytest.mark.parametrize("left", [True, False])
def test_what_a_writer_has_on_its_way_is_no_edit(group: Group, left: bool) -> None:
    old = put(group, "a.md", "one\n").blob
    gone = put(group, "gone.md", "going\n").blob
    edit(group, "a.md", "two\n")
    edit(group, "fresh.md", "three\n")
    by_hand(group, "add", "-A")
    by_hand(group, "rm", "-q", "--cached", "gone.md")
    by_hand(group, "commit", "-q", "-m", "as if it had landed")
    by_hand(group, "rm", "-q", "--cached", "-r", ".")
    edit(group, "a.md", "one\n")
    (group.worktree / "fresh.md").unlink()
    assert len(pending_edits(group).edits) == 3
    items = (
        Item("a.md", old, "1" * 40, ".gitmem-x-0", True),
        Item("fresh.md", None, "2" * 40, ".gitmem-x-1", True),
        Item("gone.md", gone, None, ".gitmem-x-2", True),
    )
    with Lock(lock_path(group.gitdir)) as lock:
        lock.note(Inflight("x", "", 1, left, items))

    assert pending_edits(group).edits == ()

    edit(group, "a.md", "edited by somebody\n")
    assert found(pending_edits(group)) == [("a.md", "changed")]


def test_a_writer_at_work_is_waited_for_by_nobody(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "a.md", "two\n")

    with Lock(lock_path(group.gitdir)):
        assert found(pending_edits(group)) == [("a.md", "changed")]


def test_the_files_of_a_writer_at_work_do_not_look_like_edits(group: Group) -> None:
    other = reopened(group)
    scans = []

    def write_on() -> None:
        for number in range(60):
            write(other, [Edit(path, f"{number}\n") for path in ("a.md", "b.md", "c/d.md")])

    writer = Thread(target=write_on)
    writer.start()
    while writer.is_alive():
        scans.append(pending_edits(group))
    writer.join()
    other.close()

    assert len(scans) > 5
    assert [each for each in scans if each.edits] == []


def test_a_work_tree_that_was_removed_holds_no_deletions(group: Group) -> None:
    put(group, "a.md", "one\n")
    put(group, "b.md", "two\n")
    edit(group, "b.md", "edited\n")
    (group.worktree / ".git").unlink()
    (group.worktree / "a.md").unlink()

    assert found(pending_edits(group)) == [("b.md", "changed")]

    shutil.rmtree(group.worktree)
    assert pending_edits(group) == Scan((), (), 0, group.repository.tip())


def test_a_work_tree_elsewhere_that_is_not_there_is_said_to_be_so(
    store: Store, clock: Clock, tmp_path: Path
) -> None:
    init(store, "away", worktree=tmp_path / "disk", now=clock)
    group = Group(store, "away", now=clock)
    put(group, "a.md", "one\n")
    shutil.rmtree(tmp_path / "disk")
    (tmp_path / "disk").mkdir()

    with pytest.raises(Damaged, match="not there, or not ours"):
        pending_edits(group)
    group.close()


NAMES = ("a.md", "b.md", "x/a.md", "x/y/c.md", "ü b.md", "x/ü.md")
TEXTS = ("", "one\n", "two\r\n", "three")
DEEDS = st.tuples(st.sampled_from(NAMES), st.sampled_from((None, *TEXTS)))
NUMBERS = count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stores")


@given(
    written=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(TEXTS), max_size=5),
    edits=st.lists(DEEDS, max_size=6),
)
def test_edits_are_what_git_status_says(
    folder: Path, written: dict[str, str], edits: list[tuple[str, str | None]]
) -> None:
    store = Store(folder / str(next(NUMBERS)))
    init(store, "main")
    group = Group(store, "main")
    if written:
        write(group, [Edit(path, text) for path, text in written.items()])
    for path, text in edits:
        if text is None:
            (group.worktree / path).unlink(missing_ok=True)
        else:
            edit(group, path, text)

    scan = pending_edits(group)
    moved = {each.moved_from: each.path for each in scan.edits if each.moved_from}
    ours = {(each.path, each.change) for each in scan.edits if not each.moved_from}
    ours |= {(source, "deleted") for source in moved} | {(path, "new") for path in moved.values()}

    status = git(group.worktree, "status", "--porcelain", "-z", "-uall", "--no-renames")
    words = {" M": "changed", " D": "deleted", "??": "new"}
    assert ours == {(row[3:], words[row[:2]]) for row in status.split("\0") if row}
    assert all(
        (group.worktree / path).read_text().split() == written[source].split()
        for source, path in moved.items()
    )
    group.close()


def test_the_comparison_needs_no_group(group: Group) -> None:
    edit(group, "a.md", "one\n")
    worktree = WorkTree(group.worktree)

    scan = scan_edits(group.repository, worktree)

    worktree.close()
    assert found(scan) == [("a.md", "new")]
