"""Annotated tags, judged by git itself."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from gitmem.errors import Busy, Conflict
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.refs.tags import Tag, read_tag, replace_tag, sound_tags, tag_names, write_tag
from gitmem.store.repository import Repository
from tests.support.git import git
from tests.support.histories import Drawn, import_history, truncate

WHEN = datetime(2026, 2, 8, 14, 30, tzinfo=timezone(timedelta(hours=-8)))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    commits = [Drawn(1_700_000_000 + n, (n,) if n else (), {"a.md": f"{n}\n"}) for n in range(3)]
    return import_history(tmp_path / "it.git", commits)


def tag_of(repository: Repository, name: str = "snapshot/2026-02-08", back: int = 0) -> Tag:
    commit = git(repository.gitdir, "rev-parse", f"main~{back}").strip()
    return Tag(name, commit, "ada", WHEN, "memory: daily snapshot 2026-02-08")


def show(repository: Repository, name: str) -> str:
    return git(repository.gitdir, "cat-file", "tag", name)


def test_git_reads_the_tag_as_it_was_meant(repository: Repository) -> None:
    tag = tag_of(repository)

    write_tag(repository, tag)

    assert show(repository, tag.name) == (
        f"object {tag.commit}\ntype commit\ntag snapshot/2026-02-08\n"
        "tagger ada <agent@gitmem.invalid> 1770589800 -0800\n\n"
        "memory: daily snapshot 2026-02-08\n"
    )
    assert git(repository.gitdir, "fsck", "--strict") == ""
    assert read_tag(repository, tag.name) == tag


def test_a_tag_is_private_as_everything_else(repository: Repository) -> None:
    before = os.umask(0)
    try:
        write_tag(repository, tag_of(repository))
    finally:
        os.umask(before)

    folder = repository.gitdir / "refs" / "tags" / "snapshot"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "2026-02-08").stat().st_mode) == 0o600


def test_a_name_that_is_taken_is_never_moved(repository: Repository) -> None:
    write_tag(repository, tag_of(repository, back=1))

    with pytest.raises(Conflict, match="the tag snapshot/2026-02-08 could not be made"):
        write_tag(repository, tag_of(repository))

    assert read_tag(repository, "snapshot/2026-02-08") == tag_of(repository, back=1)


def test_a_tag_where_the_folder_should_be_is_a_conflict(repository: Repository) -> None:
    git(repository.gitdir, "tag", "snapshot")

    with pytest.raises(Conflict):
        write_tag(repository, tag_of(repository))


def test_a_tag_that_makes_room_keeps_all_it_says_under_its_new_name(repository: Repository) -> None:
    old, new = tag_of(repository, back=1), tag_of(repository)._replace(message="again")
    write_tag(repository, old)

    replace_tag(repository, new, "snapshot/2026-02-08-1")

    assert read_tag(repository, "snapshot/2026-02-08") == new
    assert read_tag(repository, "snapshot/2026-02-08-1") == old._replace(
        name="snapshot/2026-02-08-1"
    )
    assert "tag snapshot/2026-02-08-1\n" in show(repository, "snapshot/2026-02-08-1")
    assert git(repository.gitdir, "fsck", "--strict", "--no-dangling") == ""


def test_a_person_s_plain_tag_can_make_room_too(repository: Repository) -> None:
    git(repository.gitdir, "tag", "snapshot/2026-02-08", "main~2")

    replace_tag(repository, tag_of(repository), "snapshot/2026-02-08-1")

    commit = git(repository.gitdir, "rev-parse", "main~2").strip()
    assert git(repository.gitdir, "rev-parse", "snapshot/2026-02-08-1").strip() == commit
    assert read_tag(repository, "snapshot/2026-02-08") == tag_of(repository)
    assert git(repository.gitdir, "fsck", "--strict") == ""


def test_a_living_git_s_lock_is_respected(repository: Repository) -> None:
    lock = repository.gitdir / "refs" / "tags" / "snapshot" / "2026-02-08.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text(f"{git(repository.gitdir, 'rev-parse', 'main').strip()}\n")

    with pytest.raises(Busy, match=r"git holds 2026-02-08\.lock"):
        write_tag(repository, tag_of(repository))
    assert lock.exists()


@pytest.mark.parametrize("content", ["", "\0" * 41])
def test_an_empty_lock_that_has_stood_for_a_while_is_nobody_s(
    repository: Repository, content: str
) -> None:
    lock = repository.gitdir / "refs" / "tags" / "snapshot" / "2026-02-08.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text(content)
    with pytest.raises(Busy):
        write_tag(repository, tag_of(repository))
    os.utime(lock, (1_000_000_000, 1_000_000_000))

    write_tag(repository, tag_of(repository))

    assert read_tag(repository, "snapshot/2026-02-08") == tag_of(repository)


def test_tags_are_listed_by_name_packed_or_not(repository: Repository) -> None:
    write_tag(repository, tag_of(repository, "snapshot/2026-02-08"))
    git(repository.gitdir, "pack-refs", "--all")
    git(repository.gitdir, "tag", "snapshotted")
    write_tag(repository, tag_of(repository, "snapshot/2026-02-07"))

    assert tag_names(repository, "snapshot/") == ["snapshot/2026-02-07", "snapshot/2026-02-08"]
    assert len(tag_names(repository)) == 3


def test_tags_by_others_are_read_as_far_as_they_go(repository: Repository) -> None:
    git(repository.gitdir, "tag", "plain")
    git(repository.gitdir, "tag", "-m", "of a tag", "second", "plain")
    git(repository.gitdir, "tag", "blob", git(repository.gitdir, "rev-parse", "main:a.md").strip())
    commit = git(repository.gitdir, "rev-parse", "main").strip()

    assert read_tag(repository, "plain") == Tag("plain", commit)
    second = read_tag(repository, "second")
    assert second
    assert (second.commit, second.tagger, second.message) == (
        commit,
        "A Person",
        "of a tag",
    )
    assert second.time
    assert second.time.astimezone(UTC).year > 2000
    assert read_tag(repository, "blob") is None
    assert read_tag(repository, "nothing") is None


def test_a_damaged_tag_hides_no_other(repository: Repository) -> None:
    first, second = tag_of(repository, "snapshot/1"), tag_of(repository, "snapshot/2")
    write_tag(repository, first)
    write_tag(repository, second)
    truncate(repository, git(repository.gitdir, "rev-parse", "refs/tags/snapshot/1").strip())

    assert list(sound_tags(repository, ["snapshot/1", "snapshot/2"])) == [second]
    with pytest.raises(ObjectDamaged):
        read_tag(repository, "snapshot/1")
