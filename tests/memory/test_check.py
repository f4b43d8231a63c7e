"""What `check` says and mends beside damaged objects, which `tests/faults` looks after."""

from __future__ import annotations

import os
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.errors import GroupNotFound, GroupRefused
from gitmem.memory.admin.check import Checked, CheckFinding, check, check_group
from gitmem.memory.admin.init import init
from gitmem.memory.group import Store
from gitmem.memory.write.write import Edit
from gitmem.store import fault_points
from gitmem.store.fsck.check import inspect
from gitmem.store.lock import Lock, lock_path
from tests.support.damage import check_now, hurt_in_pack, object_file, oid, pack
from tests.support.faults import Scene, assert_sound, new_scene
from tests.support.git import git
from tests.support.processes import Crowd, Voice, alone

YEAR_2099 = {"GIT_COMMITTER_DATE": "4070908800 +0000", "GIT_AUTHOR_DATE": "4070908800 +0000"}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A store with two files and three commits."""
    scene = new_scene(tmp_path / "store")
    scene.write(Edit("notes/a.md", "first\n"))
    scene.write(Edit("notes/a.md", "second\n"), Edit("b.md", "b\n"))
    return scene


def verified(scene: Scene) -> str:
    return git(
        scene.gitdir, "for-each-ref", "--format=%(objectname)", "refs/gitmem/verified"
    ).strip()


def everything_in(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and content of every file."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return {str(path): (path.stat().st_mode, path.read_bytes()) for path in files}


def only(checked: Checked) -> CheckFinding:
    (finding,) = checked.findings
    return finding


def codes(checked: Checked) -> dict[str, str]:
    """Each code that was found with its severity."""
    return {each.code: each.severity for each in checked.findings}


def quarantine(scene: Scene) -> list[str]:
    folder = scene.gitdir / "gitmem" / "quarantine"
    return sorted(os.listdir(folder)) if folder.is_dir() else []


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_a_sound_group_has_no_findings_and_is_remembered_as_verified(scene: Scene) -> None:
    checked = check_now(scene)

    assert checked == Checked((), checked.objects, 3, True)
    assert checked.objects == len(
        git(scene.gitdir, "cat-file", "--batch-all-objects", "--batch-check").splitlines()
    )
    assert verified(scene) == scene.head()


def test_an_open_group_is_checked_alike(scene: Scene) -> None:
    with scene.opened() as group:
        assert check(group).sound
        assert check(group, repair=True, full=True).findings == ()


def test_looking_changes_nothing(scene: Scene) -> None:
    object_file(scene, "main:b.md").write_bytes(b"")
    (scene.gitdir / "HEAD").write_bytes(b"")
    (scene.worktree / ".git").unlink()
    before = everything_in(scene.root)

    assert not check_now(scene).sound

    assert everything_in(scene.root) == before


def test_a_group_at_work_is_checked_and_only_not_remembered(scene: Scene) -> None:
    start = time.monotonic()
    with Lock(lock_path(scene.gitdir)):
        assert check_now(scene).sound

    assert verified(scene) == ""
    assert time.monotonic() - start < 5


def test_a_loose_object_that_vanished_from_a_verified_past_is_noticed(scene: Scene) -> None:
    check_now(scene)
    object_file(scene, "main~1:notes/a.md").unlink()

    checked = check_now(scene)

    assert codes(checked) == {"object-missing": "warning"}
    assert "older version of notes/a.md" in only(checked).message


def test_a_verified_past_in_packs_is_relied_on_unless_all_is_asked_for(scene: Scene) -> None:
    pack(scene)
    now = datetime.now(UTC)
    assert inspect(scene.gitdir, now=now).walked_all
    check_now(scene)

    relying, asking = inspect(scene.gitdir, now=now), inspect(scene.gitdir, now=now, full=True)

    assert (relying.walked_all, asking.walked_all) == (False, True)
    assert (relying.commits, relying.findings) == (asking.commits, asking.findings) == (3, ())


def test_what_was_verified_and_is_lost_since_stays_named(scene: Scene) -> None:
    lost = oid(scene, "main~1:notes/a.md")
    pack(scene)
    check_now(scene)
    hurt_in_pack(scene, lost)

    repaired = check_now(scene, repair=True)

    assert not repaired.sound
    assert [each.object for each in check_now(scene).findings] == [lost]
    assert verified(scene) == ""


def test_progress_never_goes_back_and_never_beyond_the_whole(tmp_path: Path) -> None:
    scene = new_scene(
        tmp_path / "store", {f"n{number}.md": b"%d\n" % number for number in range(99)}
    )
    steps: list[tuple[int, int]] = []

    check_group(Store(scene.root), "main", progress=lambda *step: steps.append(step))

    assert steps
    assert steps == sorted(steps)
    assert all(done <= total for done, total in steps)


def test_a_git_directory_that_others_may_enter_is_closed(scene: Scene) -> None:
    scene.gitdir.chmod(0o755)
    (scene.gitdir / "gitmem").chmod(0o750)

    assert codes(check_now(scene)) == {"mode": "warning"}
    assert check_now(scene, repair=True).sound

    assert scene.gitdir.stat().st_mode & 0o777 == 0o700
    assert check_now(scene).findings == ()


def test_a_changed_configuration_is_set_right_and_what_others_put_there_stays(
    scene: Scene,
) -> None:
    git(scene.gitdir, "config", "core.hooksPath", "/tmp/hooks")
    git(scene.gitdir, "config", "gc.auto", "6700")
    git(scene.gitdir, "config", "user.name", "A Person")
    git(scene.gitdir, "config", "remote.origin.url", "../backup.git")

    checked = check_now(scene)

    assert codes(checked) == {"config-changed": "warning"}
    assert "core.hookspath is /tmp/hooks" in only(checked).message
    assert check_now(scene, repair=True).sound
    assert git(scene.gitdir, "config", "core.hooksPath") == "/dev/null\n"
    assert git(scene.gitdir, "config", "gc.auto") == "0\n"
    assert git(scene.gitdir, "config", "user.name") == "A Person\n"
    assert git(scene.gitdir, "config", "remote.origin.url") == "../backup.git\n"
    assert_sound(scene)


def test_what_a_person_may_configure_is_no_finding(scene: Scene) -> None:
    git(scene.gitdir, "config", "user.name", "A Person")
    git(scene.gitdir, "config", "core.symlinks", "no")
    git(scene.gitdir, "config", "alias.x", "log --format='%h \"%s\"' # all")

    assert check_now(scene).findings == ()


def test_a_newer_format_is_named_and_left_alone(scene: Scene) -> None:
    git(scene.gitdir, "config", "gitmem.format", "2")
    (scene.gitdir / "HEAD").write_bytes(b"")
    before = everything_in(scene.root)

    checked = check_now(scene, repair=True)

    assert "format-unknown" in codes(checked)
    assert everything_in(scene.root) == before


@pytest.mark.parametrize("how", [("switch", "-q", "-c", "other"), ("switch", "-q", "--detach")])
def test_a_head_that_a_person_moved_is_named_and_left_alone(
    scene: Scene, how: tuple[str, ...]
) -> None:
    git(scene.worktree, *how)
    head = (scene.gitdir / "HEAD").read_text()

    checked = check_now(scene, repair=True)

    assert codes(checked) == {"head-elsewhere": "warning"}
    assert not checked.sound
    assert "git switch main" in only(checked).hint
    assert (scene.gitdir / "HEAD").read_text() == head


def test_what_came_in_by_plain_git_is_named(scene: Scene) -> None:
    (scene.worktree / "link.md").symlink_to("b.md")
    (scene.worktree / "run.md").write_text("run\n")
    (scene.worktree / ".hidden").write_text("hidden\n")
    (scene.worktree / "B.md").write_text("a twin\n")
    git(scene.worktree, "-c", "core.symlinks=true", "add", "-A")
    git(scene.worktree, "update-index", "--chmod=+x", "run.md")
    git(scene.worktree, "commit", "-q", "-m", "by hand")

    checked = check_now(scene)

    assert codes(checked) == {
        "path-refused": "warning",
        "twin": "warning",
        "not-a-plain-file": "info",
    }
    assert {each.path for each in checked.findings} == {"link.md", "run.md", ".hidden", "b.md"}


def test_a_date_in_the_future_is_good_to_know_and_no_fault(scene: Scene) -> None:
    git(scene.worktree, "commit", "-q", "--allow-empty", "-m", "later", env=YEAR_2099)

    checked = check_now(scene)

    assert codes(checked) == {"date-in-the-future": "info"}
    assert checked.sound
    assert check_group(Store(scene.root), "main", now=lambda: datetime(2100, 1, 1, tzinfo=UTC)) == (
        checked._replace(findings=())
    )


def test_only_the_commit_that_began_a_wrong_date_is_named(scene: Scene) -> None:
    """Committer time never runs backwards: what follows has the same date, and is right."""
    git(scene.worktree, "commit", "-q", "--allow-empty", "-m", "later", env=YEAR_2099)
    wrong = scene.head()
    for number in range(3):
        scene.write(Edit("b.md", f"{number}\n"))
    git(scene.worktree, "commit", "-q", "--allow-empty", "-m", "again", env=YEAR_2099)

    assert [each.object for each in check_now(scene).findings] == [wrong]
    assert [each.object for each in check_now(scene).findings] == [wrong], "also by a second check"


def test_edits_that_wait_are_good_to_know_and_no_fault(scene: Scene) -> None:
    (scene.worktree / "b.md").write_text("edited\n")
    (scene.worktree / "new.md").write_text("staged\n")
    git(scene.worktree, "add", "new.md")

    checked = check_now(scene, repair=True)

    assert codes(checked) == {"uncommitted": "info", "staged": "info"}
    assert checked.sound
    assert (scene.worktree / "b.md").read_text() == "edited\n"
    assert "new.md" not in scene.files()


def test_an_index_that_would_undo_the_last_write_is_brought_to_head(scene: Scene) -> None:
    git(scene.worktree, "read-tree", "HEAD~1")

    checked = check_now(scene)

    assert codes(checked) == {"index-stale": "warning"}
    assert check_now(scene, repair=True).sound
    assert_sound(scene)


def test_a_conflict_in_the_index_is_named(scene: Scene) -> None:
    blob = oid(scene, "main:b.md")
    lines = f"100644 {blob} 1\tb.md\n100644 {blob} 2\tb.md\n"
    git(scene.worktree, "update-index", "--index-info", input=f"0 {'0' * 40}\tb.md\n{lines}")

    assert "index-conflict" in codes(check_now(scene))


LOCKS = ("refs/heads/main.lock", "HEAD.lock", "index.lock", "packed-refs.lock")


@pytest.mark.parametrize("name", LOCKS)
def test_a_young_lock_is_somebodys_and_an_old_one_is_named(scene: Scene, name: str) -> None:
    lock = scene.gitdir / name
    lock.touch()

    assert check_now(scene).findings == ()
    age(lock, 60)
    finding = only(check_now(scene, repair=True))

    assert (finding.code, finding.path, finding.repaired) == ("git-lock", name, "")
    assert f"rm {lock}" in finding.hint
    assert lock.exists()


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_that_nobody_has_open_for_long_is_moved_away(scene: Scene, name: str) -> None:
    lock = scene.gitdir / name
    lock.write_bytes(b"what it held")
    age(lock, 3600)

    with lock.open("rb"):
        assert not check_now(scene, repair=True).sound
        assert lock.exists()
    assert check_now(scene, repair=True).sound

    assert not lock.exists()
    assert quarantine(scene) == [f"{lock.name}.0"]
    assert_sound(scene)


def die_at(voice: Voice, root: str, step: str) -> None:
    """A writer that dies at a named step of the protocol."""
    voice.say("alive")
    fault_points.reached = lambda reached: os._exit(9) if reached == step else None
    Scene(Path(root)).write(Edit("b.md", "the last write\n"), Edit("c.md", "new\n"))


@pytest.mark.parametrize("step", ["recorded", "objects", "branch", "placed", "staged"])
def test_an_interrupted_write_is_good_to_know_and_repair_finishes_it(
    scene: Scene, step: str
) -> None:
    alone(die_at, str(scene.root), step)

    checked = check_now(scene)
    repaired = check_now(scene, repair=True)

    assert codes(checked)["write-unfinished"] == "info"
    assert checked.sound
    assert repaired.sound
    assert "write-unfinished" in {each.code for each in repaired.findings if each.repaired}
    assert check_now(scene).findings == ()
    assert_sound(scene)
    assert scene.files()["b.md"] in (b"b\n", b"the last write\n")


def test_a_torn_record_is_kept_in_quarantine(scene: Scene) -> None:
    lock = Path(lock_path(scene.gitdir))
    lock.write_bytes(b'0badc0de ["torn')

    assert codes(check_now(scene)) == {"record-torn": "warning"}
    assert check_now(scene, repair=True).sound

    assert quarantine(scene) == ["record.0"]
    assert_sound(scene)


def test_what_a_dead_writer_left_is_removed_or_set_aside(scene: Scene) -> None:
    known, unknown = scene.worktree / ".gitmem-1-0", scene.worktree / "notes" / ".gitmem-2-0"
    known.write_text("second\n")
    unknown.write_text("in no commit\n")
    temps = [scene.gitdir / "objects" / name for name in ("tmp_obj_gitmem_1", "pack/tmp_pack_1")]
    for path in (known, unknown, *temps):
        path.touch()
        age(path, 3600)

    checked = check_now(scene)
    repaired = check_now(scene, repair=True)

    assert codes(checked) == {"leftover": "info"}
    assert checked.sound
    assert len([each for each in repaired.findings if each.repaired]) == 4
    held = list((scene.gitdir / "gitmem" / "held").glob("*/content"))
    assert [path.read_text() for path in held] == ["in no commit\n"]
    assert_sound(scene)


def test_a_branch_that_fell_back_behind_its_reflog_catches_up(scene: Scene) -> None:
    git(scene.gitdir, "pack-refs", "--all")
    scene.write(Edit("b.md", "since\n"))
    head = scene.head()
    (scene.gitdir / "refs/heads/main").unlink()  # git now sees the packed, older value
    assert scene.head() != head

    assert codes(check_now(scene))["branch-behind"] == "error"
    assert check_now(scene, repair=True).sound

    assert scene.head() == head
    assert_sound(scene)


def test_a_writer_notices_a_branch_that_fell_back(scene: Scene) -> None:
    git(scene.gitdir, "pack-refs", "--all")
    scene.write(Edit("b.md", "since\n"))
    (scene.gitdir / "refs/heads/main").unlink()

    scene.write(Edit("c.md", "c\n"))

    assert scene.files()["b.md"] == b"since\n"
    assert git(scene.gitdir, "log", "--format=%s", "refs/heads/main").split("\n")[1] == (
        "write(b.md): since"
    )
    assert_sound(scene)


def test_a_person_may_take_the_branch_back(scene: Scene) -> None:
    git(scene.worktree, "reset", "-q", "--hard", "HEAD~1")
    git(scene.gitdir, "pack-refs", "--all")
    head = scene.head()

    lost = git(scene.gitdir, "rev-parse", "ORIG_HEAD").strip()
    assert codes(check_now(scene)) == {"branch-rewound": "warning"}
    assert check_now(scene, repair=True).sound
    scene.write(Edit("c.md", "c\n"))

    assert oid(scene, "main~1") == head
    (kept,) = check_now(scene).findings
    assert (kept.code, kept.severity, kept.object) == ("commits-kept", "info", lost)
    assert oid(scene, f"refs/gitmem/kept/{lost[:12]}") == lost


def test_every_commit_that_left_the_branch_is_named_and_kept(scene: Scene) -> None:
    """Not only the newest, and not only those of the last hundred moves."""
    gone = []
    for number in range(3):
        gone.append(scene.write(Edit("lost.md", f"{number}\n")).commit)
        git(scene.worktree, "commit", "-q", "--amend", "-m", f"amended {number}")
    git(scene.gitdir, "pack-refs", "--all")
    for ref in (scene.gitdir / "refs/gitmem").rglob("*"):
        if ref.is_file():
            ref.unlink()  # as a release that kept nothing would have left it
    packed = scene.gitdir / "packed-refs"
    rows = packed.read_text().splitlines(keepends=True)
    packed.write_text("".join(row for row in rows if "refs/gitmem/" not in row))
    for number in range(120):
        scene.write(Edit("many.md", f"{number}\n"))

    found = [each for each in check_now(scene).findings if each.code == "branch-rewound"]
    assert {each.object for each in found} == set(gone[:2]), "the writer has kept the third"
    assert check_now(scene, repair=True).sound
    kept = [each.object for each in check_now(scene).findings if each.code == "commits-kept"]
    assert set(kept) == set(gone)


def test_a_branch_moved_back_is_noticed_and_what_was_verified_stays_so(scene: Scene) -> None:
    assert check_now(scene).sound
    verified = oid(scene, "refs/gitmem/verified")
    git(scene.worktree, "reset", "-q", "--hard", "HEAD~1")
    git(scene.gitdir, "reflog", "expire", "--expire=now", "--all")

    assert codes(check_now(scene)) == {"branch-rewound": "warning"}

    assert oid(scene, "refs/gitmem/verified") == verified


def test_a_lost_tag_is_found_by_its_own_name(scene: Scene) -> None:
    git(scene.gitdir, "tag", "-a", "-m", "a day", "snapshot/2026-02-08", "refs/heads/main")
    tag = scene.gitdir / "refs/tags/snapshot/2026-02-08"
    target = tag.read_text()
    tag.write_bytes(bytes(41))

    assert codes(check_now(scene)) == {"ref-malformed": "error"}
    assert check_now(scene, repair=True).sound

    assert tag.read_text() == target
    assert_sound(scene)


def test_torn_lines_of_a_reflog_are_kept_in_quarantine(scene: Scene) -> None:
    log = scene.gitdir / "logs/refs/heads/main"
    whole = log.read_bytes()
    log.write_bytes(whole + bytes(500))

    assert codes(check_now(scene)) == {"reflog-torn": "warning"}
    assert check_now(scene, repair=True).sound

    assert log.read_bytes() == whole
    assert quarantine(scene) == ["reflog-main.0"]


def test_a_torn_reflog_does_not_cost_the_newest_commits(scene: Scene) -> None:
    log, head = scene.gitdir / "logs/refs/heads/main", scene.head()
    for path in (log, scene.gitdir / "logs/HEAD"):
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:1]) + bytes(300))
    (scene.gitdir / "refs/heads/main").write_bytes(bytes(41))

    assert check_now(scene, repair=True).sound

    assert scene.head() == head


def test_a_work_tree_elsewhere_is_tied_again(tmp_path: Path) -> None:
    place = tmp_path / "agent" / "memory"
    init(Store(tmp_path / "store"), "main", worktree=place)
    scene = Scene(tmp_path / "store")
    scene.write(Edit("a.md", "a\n"))
    (place / ".git").unlink()

    assert codes(check_now(scene)) == {"gitfile-missing": "warning"}
    assert check_now(scene, repair=True).sound

    assert git(place, "status", "--porcelain") == ""
    assert check_now(scene).findings == ()


def test_folders_of_the_git_directory_are_made_again(scene: Scene) -> None:
    shutil.rmtree(Path(lock_path(scene.gitdir)).parent)

    assert codes(check_now(scene)) == {"folder-missing": "error"}
    assert check_now(scene, repair=True).sound

    scene.write(Edit("c.md", "c\n"))
    assert_sound(scene)


def test_only_those_who_may_write_repair_or_remember(scene: Scene) -> None:
    store = Store(scene.root)
    init(store, "global")

    assert check_group(store, "global", acting="other").sound

    assert not (store.gitdir("global") / "refs/gitmem/verified").exists()
    with pytest.raises(GroupRefused):
        check_group(store, "global", repair=True, acting="other")
    with pytest.raises(GroupRefused):
        check_group(store, "main", acting="other")


def test_a_group_that_is_not_there_is_said_so(scene: Scene) -> None:
    with pytest.raises(GroupNotFound):
        check_group(Store(scene.root), "nobody")


def write_on(voice: Voice, root: str) -> None:
    """A writer that goes on until it is told to stop by being killed."""
    voice.say("alive")
    for number in range(10_000):
        Scene(Path(root)).write(Edit("notes/a.md", f"number {number}\n" * 9))


def test_a_check_beside_a_busy_writer_and_a_repack_finds_nothing_wrong(scene: Scene) -> None:
    with Crowd() as crowd:
        assert crowd.start(write_on, str(scene.root)).hear() == ["alive"]
        found = []
        for number in range(12):
            found += [each for each in check_now(scene).findings if each.severity != "info"]
            if number % 4 == 1:
                git(scene.gitdir, "pack-refs", "--all")
                git(scene.gitdir, "repack", "-adq")

    assert found == []
    assert check_now(scene, repair=True).sound
    assert_sound(scene)


def test_a_work_tree_that_is_a_link_is_no_sound_one(scene: Scene) -> None:
    real = scene.worktree.with_name("real")
    scene.worktree.rename(real)
    scene.worktree.symlink_to(real)

    assert codes(check_now(scene))["worktree-link"] == "error"
