"""The last sound copy is never given up: what is damaged is healed before anything is replaced."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import gitmem.store.fault_points
from gitmem.errors import Refused
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store
from gitmem.memory.read.read import read
from gitmem.memory.recover.restore import restore
from gitmem.memory.recover.undo import undo
from gitmem.memory.write.capture import capture
from gitmem.memory.write.move import move, remove
from gitmem.memory.write.write import Allowed, Edit, write
from gitmem.store.objects.database import ObjectDamaged, blob_id
from gitmem.store.transaction.plan import Plan, Step
from tests.support.damage import (
    WATCHDOG,
    WOUNDS,
    check_now,
    fsck_is_clean,
    hurt_in_pack,
    object_file,
    oid,
    pack,
    pack_file,
)
from tests.support.faults import Scene, assert_sound
from tests.support.git import git
from tests.support.processes import Crowd, Voice

PATH = "notes/a.md"
SOME = ("zero-length", "one bit turned", "missing")


@contextmanager
def opened(scene: Scene, name: str, acting: str | None = None) -> Iterator[Group]:
    group = Group(Store(scene.root), name, acting=acting)
    try:
        yield group
    finally:
        group.close()


def loose_name(data: bytes) -> str:
    name = blob_id(data)
    return f"{name[:2]}/{name[2:]}"


def reads(scene: Scene, path: str = PATH, at: str | None = None) -> bytes:
    with scene.opened() as group:
        return read(group, path, at=at).data


@pytest.mark.parametrize("wound", SOME)
def test_a_write_keeps_the_version_that_only_the_work_tree_has(scene: Scene, wound: str) -> None:
    before, old = reads(scene), oid(scene, f"main:{PATH}")
    WOUNDS[wound](object_file(scene, f"main:{PATH}"))

    with scene.opened() as group:
        written = write(group, [Edit(PATH, "# notes/a.md\n\nquite another text\n" * 9)])

    assert written.changes[0].change == "changed"
    assert reads(scene, at="main~1") == before
    assert git(scene.gitdir, "cat-file", "blob", old).encode() == before
    assert check_now(scene, full=True).sound
    assert_sound(scene)


def test_guards_judge_what_was_healed(scene: Scene) -> None:
    scene.write(Edit(PATH, "a long text of many lines\n" * 50))
    object_file(scene, f"main:{PATH}").unlink()

    with scene.opened() as group, pytest.raises(Refused):
        write(group, [Edit(PATH, "short\n")])

    assert check_now(scene, full=True).sound


VERBS: dict[str, Callable[[Group], object]] = {
    "move": lambda group: move(group, PATH, "notes/moved.md"),
    "remove": lambda group: remove(group, PATH),
    "restore": lambda group: restore(group, PATH, at="main~6"),
    "append": lambda group: write(group, [Edit(PATH, "one more line\n", append=True)]),
    "undo": lambda group: undo(group, ["main~3"]),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_gives_up_the_last_sound_copy(scene: Scene, verb: str, packed: bool) -> None:
    old, before = oid(scene, f"main:{PATH}"), reads(scene)
    if packed:
        pack(scene)
        hurt_in_pack(scene, old)
    else:
        os.truncate(object_file(scene, f"main:{PATH}"), 5)

    with scene.opened() as group:
        VERBS[verb](group)

    with scene.opened() as group:
        assert group.repository.objects.read_as("blob", old) == before
        assert group.repository.objects.holds(old)
    assert check_now(scene, repair=True).sound
    assert fsck_is_clean(scene)


def test_a_writer_without_sources_keeps_what_comes_out(scene: Scene) -> None:
    """The swap itself is the last guard: whatever made the plan did not read the old version."""
    old, before = oid(scene, f"main:{PATH}"), reads(scene)
    object_file(scene, f"main:{PATH}").unlink()

    with scene.opened() as group:
        group.repository.objects.rescuer = None
        step = Step({PATH: b"new\n"}, group.note("write", paths=(PATH,)))
        with group.writing() as writer:
            writer.publish(lambda _: Plan((step,), None))

    assert git(scene.gitdir, "cat-file", "blob", old).encode() == before


def test_a_dead_writer_s_swap_keeps_what_came_out(scene: Scene) -> None:
    old, before = oid(scene, f"main:{PATH}"), reads(scene)
    with Crowd() as crowd:
        crowd.start(die_after_the_swap, str(scene.root))
        assert [words for _, words in crowd.hear_out(WATCHDOG)] == [["placed"]]
    object_file(scene, f"main~1:{PATH}").unlink()

    scene.write(Edit("other.md", "the next writer finishes it\n"))

    assert git(scene.gitdir, "cat-file", "blob", old).encode() == before
    assert_sound(scene)


@pytest.mark.parametrize("wound", SOME)
def test_a_read_heals_from_the_work_tree_and_says_so(scene: Scene, wound: str) -> None:
    before = reads(scene)
    WOUNDS[wound](object_file(scene, f"main:{PATH}"))

    with scene.opened() as group:
        assert read(group, PATH).data == before
        assert f"from the work tree ({PATH})" in group.damage[0]

    assert fsck_is_clean(scene)


def test_a_reader_of_another_group_changes_nothing(scene: Scene) -> None:
    before = reads(scene)
    init(Store(scene.root), "global")
    with opened(scene, "global") as group:
        write(group, [Edit(PATH, before)])
    path = scene.root / "repos/global.git/objects" / loose_name(before)
    path.unlink()

    with opened(scene, "global", acting="main") as group:
        assert group.keeps
    with opened(scene, "global", acting="other") as group:
        assert read(group, PATH).data == before
    assert not path.exists()


@pytest.mark.parametrize("what", ["main:notes", "main^{tree}"])
def test_a_folder_is_healed_by_whoever_needs_it(scene: Scene, what: str) -> None:
    object_file(scene, what).unlink()

    scene.write(Edit(PATH, "a new text in a folder that was lost\n"))

    assert check_now(scene, full=True).sound
    assert_sound(scene)


def test_versions_built_on_a_damaged_one_are_read_with_its_second_copy(scene: Scene) -> None:
    texts = {at: reads(scene, at=at) for at in ("main", "main~5", "main~9")}
    pack(scene)
    hurt_in_pack(scene, oid(scene, f"main:{PATH}"))

    for at, text in texts.items():
        assert reads(scene, at=at) == text


def test_a_version_that_nobody_has_stops_a_write_and_says_what_to_do(scene: Scene) -> None:
    lose(scene)

    with scene.opened() as group, pytest.raises(ObjectDamaged) as raised:
        write(group, [Edit(PATH, "new\n")])

    assert PATH in raised.value.message
    assert "check --repair" in raised.value.hint
    assert "allow_shrink=True" in raised.value.hint
    with scene.opened() as group:
        written = write(group, [Edit(PATH, "new\n")], allowed=Allowed(shrink=True))
    assert written.changes[0].change == "changed"
    assert "is lost" in written.warnings[0]


def test_check_repair_ends_what_stopped_the_write(scene: Scene) -> None:
    lose(scene)

    check_now(scene, repair=True)

    with scene.opened() as group:
        write(group, [Edit(PATH, "# a\n\n" + "something of the same length\n" * 9)])


def test_an_edit_over_a_version_that_nobody_has_is_marked(scene: Scene) -> None:
    object_file(scene, f"main:{PATH}").unlink()
    (scene.worktree / PATH).write_text("edited by hand\n")

    with scene.opened() as group:
        (captured,) = capture(group).captured

    assert "cannot be read" in captured.violations[0]


def die_after_the_swap(voice: Voice, root: str) -> None:
    """A child that replaces a file and dies before it lets go of the old version."""

    def reached(point: str) -> None:
        if point == "placed":
            voice.say(point)
            os.kill(os.getpid(), signal.SIGKILL)

    gitmem.store.fault_points.reached = reached
    Scene(Path(root)).write(Edit(PATH, "new\n"))


def lose(scene: Scene) -> None:
    """Lose the version at HEAD, with a held one in its place: nobody has the bytes any more."""
    object_file(scene, f"main:{PATH}").unlink()
    (scene.worktree / PATH).unlink()
    (scene.worktree / PATH).symlink_to("elsewhere")


@pytest.mark.parametrize("wound", SOME)
def test_a_pack_whose_index_is_lost_still_gives_everything(scene: Scene, wound: str) -> None:
    texts = {at: reads(scene, at=at) for at in ("main", "main~5", "main~9")}
    pack(scene)
    WOUNDS[wound](pack_file(scene, ".idx"))
    os.utime(pack_file(scene, ".pack"), (0, 0))  # else git may be about to write its index
    shutil.rmtree(scene.worktree / "notes")

    for at, text in texts.items():
        assert reads(scene, at=at) == text
    assert check_now(scene, repair=True).commits == 13
    assert fsck_is_clean(scene)
