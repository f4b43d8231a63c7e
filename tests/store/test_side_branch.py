"""A line of commits beside the branch: nothing else moves, and the dead are in nobody's way."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

import gitmem.store.fault_points
import gitmem.store.refs.move
from gitmem.errors import Busy, Conflict, Damaged
from gitmem.memory.admin.check import check
from gitmem.memory.group import Group
from gitmem.memory.write.write import Edit
from gitmem.model.commit_messages import Note
from gitmem.model.transcripts.batches import REF
from gitmem.store.lock import Lock, decode, lock_path
from gitmem.store.refs.side_branch import side_branch, side_branch_tip
from tests.faults.test_locks import die_at as die_writing_at
from tests.faults.test_locks import let_go, living_git
from tests.support.faults import (
    Scene,
    assert_sound,
    dying_at,
    files_at,
    files_on_disk,
    leftovers,
    line,
    new_scene,
    write_once,
)
from tests.support.git import git
from tests.support.moulds import Moulds
from tests.support.processes import Voice, alone

STEPS = ("locked", "objects", "held", "logged", "branch")
BEFORE_THE_MOVE = STEPS[:-1]
WHEN = datetime(2026, 2, 8, 12, tzinfo=UTC)


@pytest.fixture
def scene(tmp_path: Path, moulds: Moulds) -> Scene:
    files = {"a.md": b"first\n", "b.md": b"b\n"}
    moulds.cast("beside a line", tmp_path / "store", lambda root: new_scene(root, files))
    return Scene(tmp_path / "store")


def note(title: str = "one more") -> Note:
    return Note("transcript", os.urandom(8).hex(), "ada", title=title)


def append(scene: Scene, path: str, data: bytes | None = b"x\n", title: str = "one more") -> str:
    with scene.opened() as group, side_branch(group.repository, REF) as aside:
        return aside.append(aside.tip(), {path: data}, note(title), WHEN)


def restart(scene: Scene, **files: bytes | None) -> str:
    with scene.opened() as group, side_branch(group.repository, REF) as aside:
        return aside.restart(aside.tip() or "", files, note("anew"), WHEN)


def tip(scene: Scene) -> str | None:
    with scene.opened() as group:
        return side_branch_tip(group.repository, REF)


def by_git(scene: Scene) -> str:
    return git(scene.gitdir, "rev-parse", REF).strip()


def objects_left(scene: Scene) -> list[str]:
    return [each.name for each in (scene.gitdir / "objects").glob("tmp_obj_*")]


def all_but_the_line(scene: Scene) -> list[object]:
    """Everything that a commit on the line has no business with."""
    watching = {"GIT_OPTIONAL_LOCKS": "0"}
    return [
        git(scene.gitdir, "for-each-ref", "refs/heads", "refs/tags"),
        git(scene.gitdir, "reflog", "show", "main"),
        (scene.gitdir / "HEAD").read_bytes(),
        (scene.gitdir / "index").read_bytes(),
        (scene.gitdir / "index").stat().st_mtime_ns,
        Path(lock_path(scene.gitdir)).read_bytes().rstrip(),
        files_on_disk(scene.worktree),
        git(scene.worktree, "status", "--porcelain", env=watching),
    ]


def test_a_commit_on_the_line_moves_nothing_else(scene: Scene) -> None:
    (scene.worktree / "a.md").write_text("an edit that waits\n")
    (scene.worktree / "new.md").write_text("and a file\n")
    before = all_but_the_line(scene)

    append(scene, "day/1.jsonl", b"one\n")
    append(scene, "day/2.jsonl", b"two\n")
    append(scene, "day/1.jsonl", None)

    assert all_but_the_line(scene) == before
    assert files_at(scene.gitdir, REF) == {"day/2.jsonl": b"two\n"}
    assert git(scene.gitdir, "fsck", "--strict", "--no-dangling") == ""
    assert leftovers(scene) == []


def test_the_first_commit_has_no_parent_and_the_others_are_a_line(scene: Scene) -> None:
    assert tip(scene) is None

    made = [append(scene, f"{number}.jsonl") for number in range(4)]

    assert git(scene.gitdir, "rev-list", "--reverse", REF).split() == made
    assert git(scene.gitdir, "log", "-1", "--format=%P", made[0]).strip() == ""
    assert tip(scene) == by_git(scene) == made[-1]
    assert git(scene.gitdir, "merge-base", REF, "main", check=False) == ""


def test_nobody_else_may_read_it(scene: Scene) -> None:
    before = os.umask(0)
    try:
        append(scene, "1.jsonl")
        append(scene, "2.jsonl")
    finally:
        os.umask(before)

    for top in (scene.gitdir, scene.gitdir / "logs"):
        assert stat.S_IMODE((top / REF).stat().st_mode) == 0o600
        assert stat.S_IMODE((top / REF).parent.stat().st_mode) == 0o700
    with scene.opened() as group:
        assert [each.code for each in check(group).findings if each.code == "mode"] == []


def test_git_reads_its_log(scene: Scene) -> None:
    made = [append(scene, f"{number}.jsonl", title=f"the {number}th") for number in range(3)]

    said = git(scene.gitdir, "reflog", "show", "--format=%H %gs", REF).splitlines()

    assert said == [f"{made[n]} transcript: the {n}th" for n in (2, 1, 0)]
    lines = (scene.gitdir / "logs" / REF).read_text().splitlines()
    assert [each.split()[0] for each in lines] == ["0" * 40, *made[:-1]]


def test_a_log_that_was_torn_goes_on_in_a_line_of_its_own(scene: Scene) -> None:
    first = append(scene, "1.jsonl")
    log = scene.gitdir / "logs" / REF
    log.write_text(log.read_text() + "0000000")

    second = append(scene, "2.jsonl")

    assert git(scene.gitdir, "reflog", "show", "--format=%H", REF).split() == [second, first]


def while_it_writes(monkeypatch: pytest.MonkeyPatch, step: str, act: Callable[[], object]) -> None:
    """Let somebody act once, at a named step."""
    acts = [act]

    def reached(point: str) -> None:
        if point == step and acts:
            acts.pop()()

    monkeypatch.setattr(gitmem.store.fault_points, "reached", reached)


@pytest.mark.parametrize("deed", ["made", "moved on", "moved back", "removed"])
def test_who_is_overtaken_by_plain_git_writes_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, deed: str
) -> None:
    made = [] if deed == "made" else [append(scene, "1.jsonl"), append(scene, "2.jsonl")]
    theirs = git(scene.gitdir, "commit-tree", "-m", "by hand", "main^{tree}").strip()
    command = {
        "made": ("update-ref", REF, theirs, "0" * 40),
        "moved on": ("update-ref", REF, theirs),
        "moved back": ("update-ref", REF, *made[:1]),
        "removed": ("update-ref", "-d", REF),
    }[deed]
    while_it_writes(monkeypatch, "objects", lambda: git(scene.gitdir, *command))

    with pytest.raises(Conflict, match="nothing was written") as caught:
        append(scene, "3.jsonl")

    assert caught.value.hint == "repeat"
    assert tip(scene) == {"moved back": made[:1], "removed": [None]}.get(deed, [theirs])[0]
    assert leftovers(scene) == []
    again = append(scene, "3.jsonl")
    assert by_git(scene) == again
    assert "3.jsonl" in files_at(scene.gitdir, REF)
    assert_sound(scene)


def test_what_was_read_before_is_no_base_any_more(scene: Scene) -> None:
    old = append(scene, "1.jsonl")
    new = append(scene, "2.jsonl")

    with (
        scene.opened() as group,
        pytest.raises(Conflict),
        side_branch(group.repository, REF) as aside,
    ):
        aside.append(old, {"3.jsonl": b"x\n"}, note(), WHEN)

    assert by_git(scene) == new


def die_at(voice: Voice, root: str, step: str, anew: bool = False) -> None:
    """A writer of the line that dies at a named step."""
    dying_at(voice, step)
    if anew:
        restart(Scene(Path(root)), dead=b"dead\n")
    else:
        append(Scene(Path(root)), "dead.jsonl", b"dead\n")


@pytest.mark.parametrize("first", ["first", "next"])
@pytest.mark.parametrize("then", ["line", "branch"])
@pytest.mark.parametrize("step", STEPS)
def test_whoever_dies_is_in_nobody_s_way(scene: Scene, step: str, then: str, first: str) -> None:
    before = append(scene, "1.jsonl") if first == "next" else None
    assert alone(die_at, str(scene.root), step) == [["dies", step]]
    assert (scene.gitdir / f"{REF}.lock").exists() is (step in ("held", "logged"))
    if step not in ("logged", "branch"):
        assert tip(scene) == before

    if then == "branch":
        assert not scene.write(Edit("b.md", line("alive"))).pending
    after = append(scene, "2.jsonl")
    scene.write(Edit("c.md", line("alive")))

    assert by_git(scene) == after
    kept = files_at(scene.gitdir, REF)
    assert "2.jsonl" in kept
    assert ("1.jsonl" in kept) is (first == "next")
    assert ("dead.jsonl" in kept) or step != "branch"
    assert [*(scene.gitdir / "gitmem").glob("*.new")] == []
    assert_sound(scene)


def test_what_the_dead_left_among_the_objects_goes_and_what_is_young_stays(scene: Scene) -> None:
    old, young = (scene.gitdir / "objects" / f"tmp_obj_gitmem_{x}" for x in ("old", "young"))
    old.write_bytes(b"half")
    young.write_bytes(b"of an adoption, which needs no lock for its objects")
    os.utime(old, (1, 1))

    append(scene, "1.jsonl")

    assert objects_left(scene) == [young.name]


@pytest.mark.parametrize("wants", ["verify", "update", "create"])
def test_a_living_git_s_lock_is_respected(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, wants: str
) -> None:
    monkeypatch.setattr(gitmem.store.refs.move, "PATIENCE", 0.1)
    made = [] if wants == "create" else [append(scene, "1.jsonl"), append(scene, "2.jsonl")]
    # To a commit of ours, or to none: by what it holds it cannot be told from that of the dead.
    value = {"verify": made[-1:], "update": made[:1], "create": [scene.head()]}[wants][0]
    lock = scene.gitdir / f"{REF}.lock"

    with living_git(scene, f"{wants} {REF} {value}") as holder:
        held = lock.read_bytes()
        time.sleep(1.1 if wants == "verify" else 0)
        for _ in range(2):
            with pytest.raises(Busy, match=r"git holds transcripts\.lock, so nothing was written"):
                append(scene, "3.jsonl")
        assert lock.read_bytes() == held
        let_go(holder)

    assert tip(scene) == (made[-1] if made else None)
    assert by_git(scene) if made else True
    append(scene, "3.jsonl")
    assert_sound(scene)


def test_a_lock_that_goes_is_waited_for(scene: Scene) -> None:
    first = append(scene, "1.jsonl")
    with living_git(scene, f"verify {REF} {first}") as holder:
        release = threading.Timer(0.2, let_go, [holder])
        release.start()
        after = append(scene, "2.jsonl")
        release.join()

    assert by_git(scene) == after


def test_a_lock_of_a_living_git_survives_the_death_of_one_of_us(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gitmem.store.refs.move, "PATIENCE", 0.1)
    monkeypatch.setattr(Group.writing, "__defaults__", (0.2,))
    first = append(scene, "1.jsonl")
    alone(die_at, str(scene.root), "objects")
    locks = {name: scene.gitdir / f"{name}.lock" for name in ("refs/heads/main", REF)}

    for name, value in (("refs/heads/main", scene.head()), (REF, first)):
        with living_git(scene, f"verify {name} {value}") as holder:
            time.sleep(1.1)
            with pytest.raises(Busy):
                scene.write(Edit("b.md", "no\n")) if name != REF else append(scene, "2.jsonl")
            assert locks[name].exists()
            let_go(holder)

    scene.write(Edit("b.md", line("alive")))
    append(scene, "2.jsonl")
    assert_sound(scene)


@pytest.mark.parametrize("step", ["recorded", "objects", "branch", "placed", "staged"])
@pytest.mark.parametrize("dies", [False, True])
def test_the_work_of_a_dead_writer_of_the_branch_is_left_to_the_next_one(
    scene: Scene, step: str, dies: bool
) -> None:
    alone(die_writing_at, str(scene.root), step)
    record = Path(lock_path(scene.gitdir)).read_bytes()
    assert decode(record)

    if dies:
        for each in STEPS:
            alone(die_at, str(scene.root), each)
    append(scene, "1.jsonl")

    assert Path(lock_path(scene.gitdir)).read_bytes() == record
    alone(write_once, str(scene.root), [["b.md", line("again")]])
    landed = step not in ("recorded", "objects")
    assert (line("dead").encode() in scene.files()["a.md"]) is landed
    assert_sound(scene)


def test_a_person_who_uses_plain_git_is_noticed_though_one_of_us_died_meanwhile(
    scene: Scene,
) -> None:
    scene.write(Edit("a.md", "first\nsecond\n"))
    for step in STEPS:
        alone(die_at, str(scene.root), step)
    git(scene.worktree, "checkout", "-q", "HEAD~1", "--", "a.md")

    done = scene.write(Edit("b.md", line("later")))

    assert [each.path for each in done.captured] == ["a.md"]
    assert scene.files()["a.md"] == b"first\n"


@pytest.mark.parametrize("step", STEPS)
def test_control_c_leaves_nothing_behind(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    first = append(scene, "1.jsonl")

    def interrupt() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        while_it_writes(patched, step, interrupt)
        with pytest.raises(KeyboardInterrupt):
            append(scene, "2.jsonl")

    assert (tip(scene) == first) is (step in BEFORE_THE_MOVE)
    assert_sound(scene)
    assert objects_left(scene) == []
    append(scene, "3.jsonl", title="after it")
    assert_sound(scene)


def test_one_waits_for_the_group_s_lock_and_then_says_so(scene: Scene) -> None:
    with (
        Lock(lock_path(scene.gitdir)),
        scene.opened() as group,
        pytest.raises(Busy),
        side_branch(group.repository, REF, wait=0.05),
    ):
        raise AssertionError


class TestALostRef:
    """Without its file git takes a ref for one that never was, or for what it once packed."""

    def test_of_a_file_that_is_gone_the_log_knows(self, scene: Scene) -> None:
        made = [append(scene, f"{number}.jsonl") for number in range(2)]
        (scene.gitdir / REF).unlink()

        assert tip(scene) == made[-1]
        with scene.opened() as group:
            (found,) = (each for each in check(group).findings if each.path == REF)
        assert (found.code, found.severity) == ("ref-missing", "warning")
        assert made[-1][:10] in found.message
        assert "check --repair" in found.hint

        last = append(scene, "2.jsonl")
        assert git(scene.gitdir, "rev-list", REF).split() == [last, *reversed(made)]
        with scene.opened() as group:
            assert check(group).sound

    def test_nobody_falls_back_to_what_was_packed_long_ago(self, scene: Scene) -> None:
        first = append(scene, "0.jsonl")
        git(scene.gitdir, "pack-refs", "--all")
        assert tip(scene) == first
        second = append(scene, "1.jsonl")
        (scene.gitdir / REF).unlink()
        assert by_git(scene) == first, "that is what git says"

        assert tip(scene) == second
        with scene.opened() as group:
            assert "ref-missing" in [each.code for each in check(group).findings]
        third = append(scene, "2.jsonl")
        assert git(scene.gitdir, "rev-list", REF).split() == [third, second, first]

    def test_a_packed_ref_is_as_good_as_any(self, scene: Scene) -> None:
        first = append(scene, "0.jsonl")
        git(scene.gitdir, "pack-refs", "--all")
        with scene.opened() as group:
            assert check(group).sound

        second = append(scene, "1.jsonl")

        git(scene.gitdir, "pack-refs", "--all")
        assert git(scene.gitdir, "rev-list", REF).split() == [second, first]
        assert tip(scene) == second

    def test_one_that_a_person_removed_is_gone(self, scene: Scene) -> None:
        append(scene, "0.jsonl")
        git(scene.gitdir, "update-ref", "-d", REF)

        assert tip(scene) is None
        with scene.opened() as group:
            assert check(group).sound

    @pytest.mark.parametrize("content", [b"", b"\0" * 41, b"garbage\n", b"ref: refs/heads/main\n"])
    def test_a_torn_one_is_damage_and_never_begun_anew(self, scene: Scene, content: bytes) -> None:
        append(scene, "0.jsonl")
        (scene.gitdir / REF).write_bytes(content)

        with pytest.raises(Damaged, match="cannot be read") as caught:
            append(scene, "1.jsonl")

        assert "check --repair" in caught.value.hint
        assert (scene.gitdir / REF).read_bytes() == content


def test_a_line_that_begins_anew_has_one_root_and_a_log_of_one_move(scene: Scene) -> None:
    old = [append(scene, f"{number}.jsonl") for number in range(3)]

    new = restart(scene, **{"0.jsonl": None, "more": b"more\n"})

    assert git(scene.gitdir, "rev-list", REF).split() == [new]
    assert set(files_at(scene.gitdir, REF)) == {"1.jsonl", "2.jsonl", "more"}
    reached = git(scene.gitdir, "rev-list", "--all", "--reflog").split()
    assert not {*old} & {*reached}
    assert git(scene.gitdir, "reflog", "show", "--format=%H", REF).split() == [new]
    (scene.gitdir / REF).unlink()
    assert tip(scene) == new, "it can be found again at once"
    append(scene, "3.jsonl")
    assert_sound(scene)


@pytest.mark.parametrize("step", STEPS)
def test_whoever_dies_beginning_anew_leaves_the_old_line_or_the_new_one(
    scene: Scene, step: str
) -> None:
    old = [append(scene, f"{number}.jsonl") for number in range(2)]
    alone(die_at, str(scene.root), step, True)

    kept = files_at(scene.gitdir, REF)
    landed = step == "branch"
    assert ("dead" in kept) is landed
    lines = (scene.gitdir / "logs" / REF).read_text().splitlines()
    assert not landed or not any(old[-1] in each for each in lines), "nor does a log know it"
    append(scene, "3.jsonl")
    assert set(files_at(scene.gitdir, REF)) == {"0.jsonl", "1.jsonl", "3.jsonl"} | (
        {"dead"} if landed else set()
    )
    scene.write(Edit("b.md", line("alive")))
    assert_sound(scene)
