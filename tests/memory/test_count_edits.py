"""A quick look at the work tree says what the long search says."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store
from gitmem.memory.write.count_edits import count_edits, is_unchanged
from gitmem.memory.write.open_edits import pending_edits
from gitmem.store.index.file import is_clean
from tests.support.clocks import Clock
from tests.support.histories import by_hand, edit, put, reopened


def looks_untouched(group: Group) -> bool:
    fresh = reopened(group)
    try:
        return is_unchanged(fresh, fresh.repository.snapshot())
    finally:
        fresh.close()


def test_a_work_tree_as_it_was_written_is_untouched(group: Group) -> None:
    put(group, "a.md", "one\n")
    put(group, "deep/er/b.md", "two\n")
    (group.worktree / "empty").mkdir()
    (group.worktree / ".hidden").write_text("not ours")

    assert looks_untouched(group)
    assert count_edits(group, group.repository.snapshot()) == (0, 0)


def test_a_file_that_was_only_touched_is_read_and_found_the_same(group: Group) -> None:
    put(group, "a.md", "one\n")
    os.utime(group.worktree / "a.md")

    assert looks_untouched(group)


def test_an_edit_that_keeps_size_and_times_is_seen(group: Group) -> None:
    put(group, "a.md", "one\n")
    file = group.worktree / "a.md"
    before = file.stat()
    file.write_text("two\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert not looks_untouched(group)


def test_the_index_vouches_for_no_file_that_is_clean_by_chance(group: Group) -> None:
    put(group, "a.md", "one\n")
    put(group, "empty.md", "")
    age = 1_600_000_000 * 10**9  # before the index was written
    for name in ("a.md", "empty.md"):
        os.utime(group.worktree / name, ns=(age, age))
    by_hand(group, "add", ".")
    index, written = group.repository.staging.load()
    assert index

    for entry in index.entries():
        now = (group.worktree / entry.path.decode()).lstat()
        assert index.vouches(entry.path, entry.oid, now, written) == is_clean(entry, now, written)
        assert index.vouches(entry.path, entry.oid, now, written)
        assert not index.vouches(entry.path, bytes(20), now, written)
        assert not index.vouches(entry.path + b"x", entry.oid, now, written)
        assert not index.vouches(entry.path, entry.oid, now, age)
        elsewhere = (group.worktree / "gitmem.yaml").parent.lstat()
        assert not index.vouches(entry.path, entry.oid, elsewhere, written)


def test_a_second_name_or_a_link_is_seen(group: Group) -> None:
    put(group, "a.md", "one\n")
    os.link(group.worktree / "a.md", group.worktree.parent / "other")
    assert not looks_untouched(group)
    by_hand(group, "rm", "-q", "--cached", "a.md")
    by_hand(group, "add", "a.md")  # git itself does not mind
    assert not looks_untouched(group)
    (group.worktree.parent / "other").unlink()
    (group.worktree / "a.md").unlink()
    (group.worktree / "a.md").symlink_to("b.md")

    assert not looks_untouched(group)


deeds = st.lists(
    st.tuples(
        st.sampled_from(["write", "delete", "folder", "new"]),
        st.sampled_from(["a.md", "b/c.md", "b/d.md", "e/f/g.md"]),
        st.sampled_from(["one\n", "two\n", "a.md\n"]),
    ),
    max_size=4,
)


@given(deeds)
@settings(max_examples=30)
def test_the_quick_look_agrees_with_the_long_search(deeds: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        init(store, "main", now=Clock())
        group = Group(store, "main", now=Clock())
        for path in ("a.md", "b/c.md"):
            put(group, path, f"{path}\n")
        for deed, path, text in deeds:
            _do(group, deed, path, text)

        scan = pending_edits(group)
        assert looks_untouched(group) == (not scan.edits and not scan.held)
        count = count_edits(group, group.repository.snapshot())
        assert count == (len(scan.edits), len(scan.held))
        group.close()


def _do(group: Group, deed: str, path: str, text: str) -> None:
    place = group.worktree / path
    if deed == "delete":
        place.unlink(missing_ok=True)
    elif deed == "folder":
        (group.worktree / "empty" / "inside").mkdir(parents=True, exist_ok=True)
    elif deed == "write" and place.exists():
        place.write_text(text)
    elif deed == "new":
        edit(group, path, text)
