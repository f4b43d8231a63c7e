"""Writing the same content again heals what is damaged, in a loose file or in a pack."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.memory.write.write import Edit
from gitmem.store.repository import Repository
from tests.support.damage import (
    WOUNDS,
    check_now,
    flip_byte,
    fsck_is_clean,
    hurt_in_pack,
    object_file,
    oid,
    pack,
    pack_file,
    watched,
)
from tests.support.faults import Scene, assert_sound
from tests.support.git import git
from tests.support.processes import Voice


def write_again(voice: Voice, root: str, edits: list[list[str]]) -> None:
    """A child that writes, one commit for each edit."""
    for path, text in edits:
        change = Scene(Path(root)).write(Edit(path, text)).changes[0]
        voice.say(*change._asdict().values())


@pytest.mark.parametrize("wound", WOUNDS)
def test_the_same_content_again_heals_the_file(scene: Scene, wound: str) -> None:
    head, text = scene.head(), (scene.worktree / "top.md").read_text()
    WOUNDS[wound](object_file(scene, "main:top.md"))

    watched(write_again, str(scene.root), [["top.md", text]])

    assert scene.files()["top.md"].decode() == text
    assert_sound(scene)
    assert git(scene.gitdir, "rev-list", "--count", f"{head}..refs/heads/main").strip() in (
        "0",
        "1",
    )


@pytest.mark.parametrize("wound", WOUNDS)
def test_the_content_of_a_damaged_version_elsewhere_heals_it(scene: Scene, wound: str) -> None:
    old = git(scene.gitdir, "show", "main~5:notes/a.md")
    WOUNDS[wound](object_file(scene, "main~5:notes/a.md"))

    watched(write_again, str(scene.root), [["copy.md", old]])

    assert check_now(scene, full=True).sound
    assert_sound(scene)


@pytest.mark.parametrize("wound", WOUNDS)
def test_a_folder_that_comes_to_be_again_is_healed(scene: Scene, wound: str) -> None:
    before = git(scene.gitdir, "show", "main~1:top.md")
    lost = object_file(scene, "main~1^{tree}")  # top.md alone was changed since
    WOUNDS[wound](lost)

    watched(write_again, str(scene.root), [["top.md", before]])

    assert lost.is_file()
    assert_sound(scene)


def hurt_in_index(scene: Scene, name: str) -> None:
    """Let the pack's index point far away: libgit2 crashes when it looks there."""
    path = pack_file(scene, ".idx")
    shown = git(scene.gitdir, "show-index", input=path.read_bytes())
    names = [line.split()[1] for line in shown.splitlines()]
    number = sorted(names).index(name)
    flip_byte(path, 8 + 256 * 4 + len(names) * 24 + number * 4)


@pytest.mark.parametrize("hurt", [hurt_in_pack, hurt_in_index])
def test_the_same_content_again_heals_what_a_pack_has_lost(
    scene: Scene, hurt: Callable[[Scene, str], None]
) -> None:
    text, name = (scene.worktree / "top.md").read_text(), oid(scene, "main:top.md")
    pack(scene)
    hurt(scene, name)
    assert not fsck_is_clean(scene)

    watched(write_again, str(scene.root), [["top.md", text], ["other.md", text]])

    assert stored(scene, name) == text.encode()
    assert check_now(scene, repair=True).sound
    assert_sound(scene)
    assert scene.files()["top.md"] == scene.files()["other.md"] == text.encode()


def test_an_object_that_only_a_damaged_pack_has_is_written_beside_it(scene: Scene) -> None:
    data, name = (scene.worktree / "top.md").read_bytes(), oid(scene, "main:top.md")
    pack(scene)
    path = pack_file(scene, ".pack")
    path.write_bytes(path.read_bytes()[:12] + bytes(path.stat().st_size - 12))

    repository = Repository(scene.gitdir)
    assert repository.objects.write("blob", data) == name
    repository.close()

    assert stored(scene, name) == data


def stored(scene: Scene, name: str) -> bytes:
    """What gitmem reads: git itself gives up on such a pack."""
    repository = Repository(scene.gitdir)
    try:
        return repository.objects.read_as("blob", name)
    finally:
        repository.close()
