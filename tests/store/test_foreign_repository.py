"""Somebody else's repository is read as git reads it, in every state it may be in."""

from __future__ import annotations

import shutil
import zlib
from pathlib import Path

import pytest

from gitmem.store.foreign.repository import (
    Foreign,
    ForeignCommit,
    HistoryUnreadable,
    find,
    is_repository,
)
from tests.support.git import git


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A repository with a merge, a tag, a packed part and a loose part."""
    root = tmp_path / "source"
    root.mkdir()
    git(root, "init", "-q", "-b", "trunk")
    save(root, "a.md", "one\n", "first")
    save(root, "notes/b.md", "two\n", "second\n\nwith a body")
    git(root, "switch", "-q", "-c", "side")
    save(root, "side.md", "side\n", "on the side")
    git(root, "switch", "-q", "trunk")
    git(root, "gc", "-q")
    save(root, "a.md", "one\nthree\n", "third")
    git(root, "merge", "-q", "--no-ff", "-m", "both", "side")
    return root


def save(root: Path, path: str, text: str, message: str) -> str:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode())
    git(root, "add", path)
    git(root, "commit", "-q", "-m", message, env={"GIT_AUTHOR_DATE": "2025-11-30T08:00:00+05:30"})
    return git(root, "rev-parse", "HEAD").strip()


def opened(folder: Path) -> Foreign:
    found = find(folder)
    assert found is not None
    return found


def past_of(folder: Path) -> tuple[ForeignCommit, ...]:
    found = opened(folder)
    head = found.head()
    return found.past(head).commits if head else ()


def loose(root: Path, oid: str) -> Path:
    return root / ".git" / "objects" / oid[:2] / oid[2:]


def test_every_commit_is_read_with_its_author_date_and_words(source: Path) -> None:
    said = git(source, "log", "--format=%H|%P|%an|%ae|%at|%T|%s", "trunk").splitlines()
    read = {
        "|".join([
            each.commit.oid,
            " ".join(each.commit.parents),
            each.commit.author,
            each.email,
            str(int(each.commit.time.timestamp())),
            each.commit.tree,
            each.commit.message.split("\n")[0],
        ])
        for each in past_of(source)
    }  # fmt: skip

    assert read == set(said)
    assert all(f"{each.commit.time:%z}" == "+0530" for each in past_of(source)[:2])


def test_parents_come_before_their_children(source: Path) -> None:
    seen: set[str] = set()
    for each in past_of(source):
        assert set(each.commit.parents) <= seen
        seen.add(each.commit.oid)


def test_the_folder_inside_a_repository_has_the_part_of_its_past(source: Path) -> None:
    found = opened(source / "notes")

    assert (found.prefix, found.is_own) == ("notes", False)
    assert [each.root is not None for each in past_of(source / "notes")][:2] == [False, True]
    assert found.names(past_of(source / "notes")[-1].root) == {"b.md"}


def test_a_folder_that_the_repository_around_it_does_not_track_has_none(source: Path) -> None:
    (source / "memories").mkdir()
    (source / "memories" / "soul.md").write_text("I am\n")

    assert find(source / "memories") is None
    assert find(source.parent) is None


def test_a_work_tree_beside_and_a_submodule_are_found_by_their_git_file(
    source: Path, tmp_path: Path
) -> None:
    git(source, "worktree", "add", "-q", str(tmp_path / "beside"), "side")

    found = opened(tmp_path / "beside")

    assert found.head() == git(source, "rev-parse", "side").strip()
    assert len(past_of(tmp_path / "beside")) == 3


def test_a_bare_repository_is_read_too(source: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(source), "bare.git")

    found = opened(tmp_path / "bare.git")

    assert found.bare
    assert len(past_of(tmp_path / "bare.git")) == 5
    assert is_repository(tmp_path / "bare.git")


def test_a_repository_without_commits_has_no_head(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "empty")

    assert opened(tmp_path / "empty").head() is None


def test_a_detached_head_is_a_head(source: Path) -> None:
    git(source, "checkout", "-q", "HEAD~1")

    assert opened(source).head() == git(source, "rev-parse", "HEAD").strip()


def test_a_shallow_clone_ends_where_it_was_cut_and_says_so(source: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{source}", "shallow")
    found = opened(tmp_path / "shallow")

    past = found.past(found.head() or "")

    assert len(past.commits) == 1
    assert "shallow" in past.problems[0]


def test_objects_may_be_borrowed_from_another_repository(source: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--shared", str(source), "borrower")

    assert len(past_of(tmp_path / "borrower")) == 5
    assert source.resolve() / ".git" in [each.resolve() for each in opened(source).folders()]


@pytest.mark.parametrize("damage", ["truncated", "emptied", "gone", "garbage"])
def test_a_damaged_commit_ends_the_past_and_never_hangs(source: Path, damage: str) -> None:
    third = git(source, "rev-parse", "HEAD~1").strip()
    path = loose(source, third)
    raw = path.read_bytes()
    path.chmod(0o600)
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes({"truncated": raw[:-5], "emptied": b""}.get(damage, zlib.compress(b"x")))
    found = opened(source)

    past = found.past(found.head() or "")

    assert third[:10] in past.problems[0]
    # What the merge brought in from the side is still there.
    assert {each.commit.message.split("\n")[0] for each in past.commits} == {
        "first", "second", "on the side", "both",
    }  # fmt: skip


def test_other_object_and_ref_formats_are_named(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256", "wide")
    git(tmp_path, "init", "-q", "table")
    with (tmp_path / "table" / ".git" / "config").open("a") as file:
        file.write("[extensions]\n\trefStorage = reftable\n")

    with pytest.raises(HistoryUnreadable, match="sha256"):
        find(tmp_path / "wide")
    with pytest.raises(HistoryUnreadable, match="reftable"):
        find(tmp_path / "table")


@pytest.mark.parametrize("name", ["", "HEAD", "objects", "refs"])
def test_links_in_the_place_of_git_are_not_followed(
    source: Path, tmp_path: Path, name: str
) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    if name:
        git(trap, "init", "-q", "-b", "trunk")
        place = trap / ".git" / name
        place.unlink() if place.is_file() else shutil.rmtree(place)
        place.symlink_to(source / ".git" / name)
    else:
        (trap / ".git").symlink_to(source / ".git")

    with pytest.raises(HistoryUnreadable, match="link"):
        find(trap)


@pytest.mark.parametrize("text", ["", "gitdir: nowhere\n", "gibberish", "\0\xff"])
def test_a_git_file_that_leads_nowhere_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text, "latin-1")

    with pytest.raises(HistoryUnreadable):
        find(tmp_path)


def test_a_head_that_is_nonsense_is_named(source: Path) -> None:
    (source / ".git" / "HEAD").write_text("nonsense\n")

    with pytest.raises(HistoryUnreadable, match="HEAD"):
        opened(source).head()


def test_words_in_another_encoding_are_read(source: Path) -> None:
    message = source.parent / "message"
    message.write_bytes("größer\n".encode("latin-1"))
    git(
        source,
        "-c",
        "i18n.commitEncoding=latin1",
        "commit",
        "-q",
        "--allow-empty",
        "-F",
        str(message),
    )

    assert past_of(source)[-1].commit.message == "größer\n"


def test_ignored_files_are_told(source: Path) -> None:
    (source / ".gitignore").write_text("*.log\n!keep.log\n")
    found = opened(source)

    assert found.ignores("x.log")
    assert not found.ignores("keep.log")
    assert not found.ignores("a.md")


def test_nothing_in_the_repository_is_written_and_no_program_of_it_runs(source: Path) -> None:
    mark = source.parent / "ran"
    for name in ("post-checkout", "fsmonitor", "pre-commit"):
        hook = source / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
        hook.chmod(0o755)
    with (source / ".git" / "config").open("a") as file:
        file.write(f"[core]\n\tfsmonitor = {source}/.git/hooks/fsmonitor\n")
        file.write(f'[filter "x"]\n\tclean = touch {mark}\n\tsmudge = touch {mark}\n')
    (source / ".gitattributes").write_text("* filter=x\n")
    before = {path: path.stat().st_mtime_ns for path in source.rglob("*")}

    found = opened(source)
    for each in found.past(found.head() or "").commits:
        found.names(each.root)
    found.ignores("a.md")
    found.close()

    assert not mark.exists()
    assert {path: path.stat().st_mtime_ns for path in source.rglob("*")} == before
