"""Whatever is damaged, the verdict is right, nothing hangs, and what can be saved is saved."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from itertools import cycle, product
from pathlib import Path

import pytest

from gitmem.memory.write.write import Edit
from tests.support.damage import (
    FILES,
    WOUNDS,
    behaved,
    check_now,
    clone,
    flip,
    fsck_is_clean,
    healed,
    object_file,
    oid,
    pack,
    pack_file,
    rich_scene,
    roots,
)
from tests.support.faults import Scene, assert_sound, commits_of, files_on_disk
from tests.support.git import git

HEAD_BLOB, OLD_BLOB = "main:notes/a.md", "main~5:notes/a.md"
HEAD_TREE, HEAD_ROOT = "main:notes", "main^{tree}"
OLD_TREE, OLD_ROOT = "main~5:notes/deep", "main~5^{tree}"
TIP, OLD_COMMIT = "main^{commit}", "main~5"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A store that was found sound, made once and never touched."""
    scene = rich_scene(tmp_path_factory.mktemp("whole") / "store")
    assert check_now(scene).sound
    return scene


def ref(content: bytes | None) -> Callable[[Scene], None]:
    def damage(scene: Scene) -> None:
        path = scene.gitdir / "refs/heads/main"
        path.unlink() if content is None else path.write_bytes(content)

    return damage


def gitfile(scene: Scene) -> Path:
    (scene.worktree / ".git").unlink()
    return scene.worktree / ".git"


def plant_repository(scene: Scene) -> None:
    """An agent's own `.git`, with a hook that any git command would run."""
    folder = gitfile(scene)
    shutil.copytree(scene.gitdir, folder)
    hook = folder / "hooks" / "post-index-change"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {scene.root}/hooked\n")
    hook.chmod(0o755)
    config = (folder / "config").read_text().replace("/dev/null", str(hook.parent))
    (folder / "config").write_text(config)


def write_to(name: str, content: bytes) -> Callable[[Scene], None]:
    return lambda scene: (scene.gitdir / name).write_bytes(content) and None


LOST = "branch-lost"
OUTFIT: dict[str, tuple[Callable[[Scene], object], str, str, str]] = {
    # what is done, what check says, what a read says, what a write says
    "ref empty": (ref(b""), "ref-malformed", LOST, LOST),
    "ref of 20 digits": (ref(b"0123456789" * 2), "ref-malformed", LOST, LOST),
    "ref full of NULs": (ref(bytes(41)), "ref-malformed", LOST, LOST),
    "ref missing": (ref(None), "branch-missing", LOST, LOST),
    "ref to nothing": (
        ref(b"a" * 40 + b"\n"),
        "object-missing",
        "object-missing",
        "object-missing",
    ),
    "HEAD empty": (write_to("HEAD", b""), "head-damaged", "ok", "ok"),
    "HEAD full of NULs": (write_to("HEAD", bytes(21)), "head-damaged", "ok", "ok"),
    "HEAD missing": (
        lambda scene: (scene.gitdir / "HEAD").unlink(),
        "head-damaged",
        "ok",
        "ok",
    ),
    "index empty": (write_to("index", b""), "index-unreadable", "ok", "ok"),
    "index garbage": (
        write_to("index", b"DIRC" + bytes(range(200))),
        "index-unreadable",
        "ok",
        "ok",
    ),
    "index missing": (lambda scene: (scene.gitdir / "index").unlink(), "index-missing", "ok", "ok"),
    "config garbage": (
        write_to("config", b"[core\x00\xff"),
        "config-damaged",
        "damaged",
        "damaged",
    ),
    "config empty": (write_to("config", b""), "config-damaged", "ok", "ok"),
    "config missing": (
        lambda scene: (scene.gitdir / "config").unlink(),
        "config-damaged",
        "ok",
        "ok",
    ),
    "packed-refs garbage": (
        write_to("packed-refs", b"# pack-refs\nnot a ref\n\x00\x00\n"),
        "packed-refs-malformed",
        "ok",
        "ok",
    ),
    "work tree removed": (
        lambda scene: shutil.rmtree(scene.worktree),
        "worktree-missing",
        "ok",
        "ok",
    ),
    ".git missing": (gitfile, "gitfile-missing", "ok", "ok"),
    ".git a repository": (plant_repository, "gitfile-foreign", "ok", "ok"),
    ".git a link": (lambda scene: gitfile(scene).symlink_to("/etc"), "gitfile-foreign", "ok", "ok"),
    ".git a pipe": (lambda scene: os.mkfifo(gitfile(scene)), "gitfile-foreign", "ok", "ok"),
}


@pytest.mark.parametrize("name", OUTFIT)
def test_a_damaged_outfit_is_named_and_mended(scene: Scene, tmp_path: Path, name: str) -> None:
    damage, code, reads, writes = OUTFIT[name]
    before, commits, root = scene.files(), commits_of(scene.gitdir), roots(scene)
    damage(scene)
    live = clone(scene, tmp_path / "live") if "pipe" not in name else None

    report = healed(scene)

    assert report["check"].faults == {code}
    assert report["repair"].repaired == {code}
    assert report["after"] == report["again"] == (True, [])
    assert_sound(scene)
    assert (scene.files(), roots(scene)) == (before, root)
    assert commits_of(scene.gitdir) >= commits
    assert not (scene.root / "hooked").exists()
    scene.write(Edit("after.md", "it goes on\n"))
    assert_sound(scene)
    if live:
        answers = behaved(live)
        assert {code for what, code in answers.items() if "read" in what} == {reads}
        assert (answers["log"], answers["write"], answers["retry"]) == (reads, writes, writes)


def test_a_lost_branch_never_becomes_a_new_root(scene: Scene) -> None:
    root = roots(scene)
    (scene.gitdir / "refs/heads/main").unlink()
    git(scene.gitdir, "reflog", "expire", "--expire=now", "--all")
    shutil.rmtree(scene.gitdir / "logs")

    answers = behaved(scene)

    assert answers["write"] == answers["retry"] == LOST
    report = healed(scene)  # the tag, and the commits that were built on it
    assert report["repair"].repaired == {"branch-missing"}
    assert_sound(scene)
    assert roots(scene) == root
    assert set(scene.files()) == set(FILES)


SOME = ("zero-length", "cut to half", "one bit turned", "missing")
FEW = ("one bit turned", "missing")
FOLDERS = (HEAD_TREE, HEAD_ROOT, OLD_ROOT)


@pytest.mark.parametrize(
    ("what", "wound"), [*product((HEAD_BLOB,), WOUNDS), *product(FOLDERS, SOME)]
)
def test_what_stands_elsewhere_too_is_healed(scene: Scene, what: str, wound: str) -> None:
    before, head = scene.files(), scene.head()
    WOUNDS[wound](object_file(scene, what))

    report = healed(scene)

    expected = "object-missing" if wound == "missing" else "object-damaged"
    assert report["check"].faults == {expected}
    assert report["repair"].repaired == {expected}
    assert report["after"] == report["again"] == (True, [])
    assert_sound(scene)
    assert (scene.files(), scene.head()) == (before, head)
    assert bool(quarantined(scene)) == (wound != "missing")


def quarantined(scene: Scene) -> list[str]:
    folder = scene.gitdir / "gitmem" / "quarantine"
    return os.listdir(folder) if folder.is_dir() else []


@pytest.mark.parametrize("wound", WOUNDS)
def test_other_files_are_not_touched_by_a_damaged_blob(scene: Scene, wound: str) -> None:
    WOUNDS[wound](object_file(scene, HEAD_BLOB))
    (scene.worktree / "notes/a.md").unlink()  # else whoever reads it heals it from there

    answers = behaved(scene)

    hurt = "object-missing" if wound == "missing" else "object-damaged"
    assert answers.pop("read notes/a.md") == hurt
    assert set(answers.values()) == {"ok"}


@pytest.mark.parametrize(("what", "wound"), list(product((HEAD_BLOB, HEAD_TREE, HEAD_ROOT), FEW)))
def test_whoever_needs_what_stands_elsewhere_heals_it(scene: Scene, what: str, wound: str) -> None:
    before = scene.files()
    WOUNDS[wound](object_file(scene, what))

    assert set(behaved(scene).values()) == {"ok"}

    assert check_now(scene, full=True).sound
    assert before.items() <= scene.files().items()


@pytest.mark.parametrize(("what", "wound"), list(product((HEAD_ROOT, TIP), SOME)))
def test_no_command_hangs_or_lies_when_the_newest_state_is_gone(
    scene: Scene, what: str, wound: str
) -> None:
    head = scene.head()
    WOUNDS[wound](object_file(scene, what))
    if what == HEAD_ROOT:  # its names stand in the index and in the work tree, too
        (scene.gitdir / "index").unlink()
        (scene.worktree / "top.md").write_text("edited\n")

    answers = behaved(scene)

    hurt = "object-missing" if wound == "missing" else "object-damaged"
    assert {code for name, code in answers.items() if name != "log"} == {hurt}
    assert (scene.gitdir / "refs/heads/main").read_text().strip() == head


@pytest.mark.parametrize("wound", SOME)
def test_a_lost_tip_is_taken_in_again_from_the_work_tree(scene: Scene, wound: str) -> None:
    before, root, older = scene.files(), roots(scene), oid(scene, "main~1")
    WOUNDS[wound](object_file(scene, TIP))

    report = healed(scene)

    assert report["after"] == report["again"] == (True, [])
    assert_sound(scene)
    assert scene.files() == before
    assert roots(scene) == root
    assert older in commits_of(scene.gitdir)


@pytest.mark.parametrize("wound", WOUNDS)
def test_a_commit_lost_in_the_past_gets_a_stand_in(scene: Scene, wound: str) -> None:
    before, head, commits = scene.files(), scene.head(), commits_of(scene.gitdir)
    WOUNDS[wound](object_file(scene, OLD_COMMIT))

    report = healed(scene)

    assert report["check"].faults <= {"object-missing", "object-damaged", "reflog-torn"}
    assert report["after"].faults == report["again"].faults == {"object-missing"}
    assert not report["after"].sound  # history does lack it, and nobody pretends otherwise
    assert (scene.files(), scene.head()) == (before, head)
    assert commits_of(scene.gitdir) >= commits  # git walks all of it
    assert set(behaved(scene).values()) == {"ok"}


@pytest.mark.parametrize(("what", "wound"), list(product((OLD_BLOB, OLD_TREE), SOME)))
def test_an_older_version_that_is_lost_for_good_costs_nothing_else(
    scene: Scene, what: str, wound: str
) -> None:
    before, head = scene.files(), scene.head()
    lost = oid(scene, what)
    WOUNDS[wound](object_file(scene, what))

    report = healed(scene)

    (finding,) = report["after"].findings
    assert (finding["path"], finding["object"]) == (what.partition(":")[2], lost)
    assert "older version" in finding["message"]
    assert lost in finding["hint"]
    assert (scene.files(), scene.head()) == (before, head)
    assert set(behaved(scene).values()) == {"ok"}


@pytest.mark.parametrize("wound", SOME)
def test_a_file_that_is_lost_for_good_falls_back_to_its_last_version(
    scene: Scene, wound: str
) -> None:
    before = scene.files()
    older = git(scene.gitdir, "show", "main~4:notes/a.md").encode()
    lost = oid(scene, HEAD_BLOB)
    WOUNDS[wound](object_file(scene, HEAD_BLOB))
    (scene.worktree / "notes/a.md").unlink()

    report = healed(scene)

    assert report["repair"].repaired == report["check"].faults
    assert report["after"].faults == report["again"].faults == {"object-missing"}
    assert scene.files() == {**before, "notes/a.md": older}
    assert files_on_disk(scene.worktree) == scene.files()
    message = git(scene.gitdir, "log", "-1", "--format=%B", "refs/heads/main")
    assert "Gitmem-Op: restore" in message
    assert lost[:10] in message
    assert "notes/a.md" in message
    assert set(behaved(scene).values()) == {"ok"}


def test_a_file_that_never_had_another_version_is_removed_and_named(scene: Scene) -> None:
    scene.write(Edit("new.md", "only once\n"))
    before = scene.files()
    object_file(scene, "main:new.md").unlink()
    (scene.worktree / "new.md").unlink()

    report = healed(scene)

    del before["new.md"]
    assert scene.files() == before
    assert "no earlier version" in git(scene.gitdir, "log", "-1", "--format=%B", "refs/heads/main")
    assert report["after"].faults == {"object-missing"}
    assert set(behaved(scene).values()) == {"ok"}


def test_a_newer_edit_wins_over_a_version_that_is_lost(scene: Scene) -> None:
    object_file(scene, HEAD_BLOB).unlink()
    (scene.worktree / "notes/a.md").write_text("edited since\n")

    healed(scene)

    assert scene.files()["notes/a.md"] == b"edited since\n"
    assert (scene.worktree / "notes/a.md").read_text() == "edited since\n"
    assert set(behaved(scene).values()) == {"ok"}


@pytest.mark.parametrize("what", [HEAD_TREE, HEAD_ROOT])
def test_a_folder_is_put_together_without_the_index(scene: Scene, what: str) -> None:
    before, head = scene.files(), scene.head()
    object_file(scene, what).unlink()
    (scene.gitdir / "index").write_bytes(b"garbage")

    report = healed(scene)

    assert report["after"] == (True, [])
    assert_sound(scene)
    assert (scene.files(), scene.head()) == (before, head)


def test_a_folder_that_is_lost_for_good_falls_back_to_its_last_version(scene: Scene) -> None:
    before = scene.files()
    older = git(scene.gitdir, "show", "main~4:notes/deep/c.md").encode()
    for lost in [object_file(scene, f"main:notes/deep{rest}") for rest in ("", "/c.md")]:
        lost.unlink()
    (scene.gitdir / "index").unlink()
    shutil.rmtree(scene.worktree / "notes/deep")

    healed(scene)

    assert scene.files() == {**before, "notes/deep/c.md": older}
    assert set(behaved(scene).values()) == {"ok"}


PACKED = {
    "bit turned at the start": (".pack", lambda path: flip(path, 0.03)),
    "bit turned in the middle": (".pack", lambda path: flip(path, 0.5)),
    "bit turned near the end": (".pack", lambda path: flip(path, 0.95)),
    "bit turned in its checksum": (".pack", lambda path: flip(path, 1.0)),
    "cut to half": (".pack", WOUNDS["cut to half"]),
    "cut by one byte": (".pack", WOUNDS["cut by one byte"]),
    "index bit turned in the table": (".idx", lambda path: flip(path, 0.1)),
    "index bit turned in a name": (".idx", lambda path: flip(path, 0.5)),
    "index bit turned in an offset": (".idx", lambda path: flip(path, 0.98, 7)),
    "index cut": (".idx", WOUNDS["cut to half"]),
    "index empty": (".idx", WOUNDS["zero-length"]),
    "index missing": (".idx", WOUNDS["missing"]),
}


@pytest.mark.parametrize("name", PACKED)
def test_a_damaged_pack_is_read_as_far_as_it_goes(scene: Scene, tmp_path: Path, name: str) -> None:
    ending, wound = PACKED[name]
    before, root, head = scene.files(), roots(scene), scene.head()
    pack(scene)
    wound(pack_file(scene, ending))
    live = clone(scene, tmp_path / "live")

    assert set(behaved(live).values()) <= {"ok", "object-damaged", "object-missing"}
    report = healed(scene)

    assert not report["check"].sound
    assert scene.files() == before
    assert report["after"].sound == fsck_is_clean(scene)
    assert report["after"] == report["again"]
    assert set(behaved(scene).values()) == {"ok"}
    if ending == ".idx" or "checksum" in name:
        assert report["after"].sound
        assert scene.head() != head  # what `behaved` wrote
        assert (roots(scene), oid(scene, "main~2")) == (root, head)


def test_a_damaged_loose_object_is_read_from_its_pack(scene: Scene) -> None:
    path = object_file(scene, HEAD_BLOB)
    content = path.read_bytes()
    pack(scene)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content[: len(content) // 2])

    assert set(behaved(scene).values()) == {"ok"}
    report = healed(scene)

    assert report["check"].faults == {"object-damaged-unused"}
    assert report["after"] == (True, [])
    assert_sound(scene)


def test_everything_damaged_at_once_still_gives_answers(scene: Scene) -> None:
    for path in (scene.gitdir / "objects").rglob("??/*"):
        os.chmod(path, 0o600)
        WOUNDS["cut to half"](path)

    assert set(behaved(scene).values()) == {"object-damaged"}
    report = healed(scene)

    assert not report["after"].sound
    assert files_on_disk(scene.worktree).keys() == set(FILES)


def packed_scene(whole: Scene, root: Path) -> Scene:
    """The same after a person's `git gc`, and one write later."""
    scene = clone(whole, root)
    git(scene.gitdir, "gc", "-q")
    scene.write(Edit("later.md", "after the gc\n"))
    return scene


def assert_one_damaged_file_costs_nothing(scene: Scene, name: str, wound: str, copy: Path) -> None:
    before = scene.files()
    hurt = clone(scene, copy)
    os.chmod(hurt.gitdir / name, 0o600)
    WOUNDS[wound](hurt.gitdir / name)

    report = healed(hurt)

    assert hurt.files() == before, (name, wound)
    assert report["repair"].sound == report["after"].sound == fsck_is_clean(hurt), (name, wound)
    assert not report["again"].repaired, (name, wound)
    hurt.write(Edit("after.md", "it goes on\n"))
    shutil.rmtree(copy)


def files_of(scene: Scene) -> list[str]:
    files = (path for path in scene.gitdir.rglob("*") if path.is_file() and path.stat().st_size)
    return sorted(str(path.relative_to(scene.gitdir)) for path in files)


def test_one_damaged_file_in_the_git_directory_costs_no_memory(
    whole: Scene, tmp_path: Path
) -> None:
    scene = packed_scene(whole, tmp_path / "store")
    wounds = cycle(SOME)
    for name in files_of(scene):
        assert_one_damaged_file_costs_nothing(scene, name, next(wounds), tmp_path / "hurt")


@pytest.mark.slow
@pytest.mark.parametrize("wound", WOUNDS)
@pytest.mark.parametrize("packed", [False, True])
def test_any_damage_to_any_file_of_the_git_directory_costs_no_memory(
    whole: Scene, tmp_path: Path, wound: str, packed: bool
) -> None:
    make = packed_scene if packed else clone
    scene = make(whole, tmp_path / "store")
    for name in files_of(scene):
        assert_one_damaged_file_costs_nothing(scene, name, wound, tmp_path / "hurt")
