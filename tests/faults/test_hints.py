"""Hints that cure: for every kind of finding, the command that is printed ends it."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gitmem.memory.admin.check import SECRET
from gitmem.memory.write.write import Edit
from gitmem.model.paths import is_path
from gitmem.store.fsck.reflogs import BROKEN_LOG, KEPT_CODE, REWOUND
from gitmem.store.lock import Lock, lock_path
from tests.support.cli import Said, run_gitmem, shell_words
from tests.support.damage import (
    check_now,
    clone,
    cut,
    flip,
    object_file,
    oid,
    pack,
    pack_file,
    rich_scene,
)
from tests.support.faults import Scene, assert_sound, copied
from tests.support.git import GitFailed, git
from tests.support.samples import body

ROOT = Path(__file__).parents[2]
OLD_BLOB, HEAD_BLOB = "main~5:notes/a.md", "main:notes/a.md"
PERSON = {
    "GIT_AUTHOR_NAME": "Person",
    "GIT_AUTHOR_EMAIL": "person@example.org",
    "GIT_COMMITTER_NAME": "Person",
    "GIT_COMMITTER_EMAIL": "person@example.org",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A store that was found sound, made once and never touched."""
    scene = rich_scene(tmp_path_factory.mktemp("whole") / "store")
    assert check_now(scene).sound
    return scene


@pytest.fixture
def scene(whole: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A copy of it, to be hurt."""
    found = clone(whole, tmp_path / "store")
    monkeypatch.setenv("GITMEM_HOME", str(found.root))
    for name, value in PERSON.items():
        monkeypatch.setenv(name, value)
    return found


def commands_in(hint: str) -> list[str]:
    """What a hint says to type, in order; several of them are a choice."""
    return re.findall(r"`([^`]+)`", hint)


def typed(scene: Scene, command: str) -> None:
    """Type COMMAND in the group's folder; what a person has to fill in is filled in."""
    if "| gitmem" in command:
        return  # nobody has a copy of what is lost
    command = command.replace("COPY", str(scene.root.parent / "copy/groups/main")).replace(
        "NEW", "new.md"
    )
    if command.startswith("gitmem "):
        run_gitmem(*shell_words(command)[1:])
        return
    folder = scene.worktree if scene.worktree.is_dir() else scene.root
    subprocess.run(["bash", "-c", command], cwd=folder, check=True, capture_output=True)


# One way to come to each kind of finding ---------------------------------------------------------


def old_lock(scene: Scene) -> None:
    lock = scene.gitdir / "packed-refs.lock"
    lock.touch()
    hour_ago = time.time() - 3600
    os.utime(lock, (hour_ago, hour_ago))


def torn_record(scene: Scene) -> None:
    Path(lock_path(scene.gitdir)).write_bytes(b'12345678 ["torn", "')


def unfinished_write(scene: Scene) -> None:
    lock = scene.gitdir / "index.lock"
    lock.touch()
    with scene.opened() as group, group.writing(0.1) as writer:
        (scene.worktree / "top.md").write_bytes(b"edited\n")
        writer.capture("top.md")
    lock.unlink()


def leftover(scene: Scene) -> None:
    path = scene.worktree / ".gitmem-0123456789abcdef-0"
    path.write_bytes(b"left\n")
    os.utime(path, (0, 0))


def late_edit(scene: Scene) -> None:
    folder = scene.gitdir / "gitmem/swapped"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / ".gitmem-0123456789abcdef-0-top.md").write_text("late\n")


def gitfile(scene: Scene) -> Path:
    (scene.worktree / ".git").unlink()
    return scene.worktree / ".git"


def worktree_link(scene: Scene) -> None:
    scene.worktree.rename(scene.root / "elsewhere")
    scene.worktree.symlink_to(scene.root / "elsewhere")


def lost_branch_file(scene: Scene) -> None:
    git(scene.gitdir, "pack-refs", "--all")
    scene.write(Edit("top.md", "newer\n"))
    (scene.gitdir / "refs/heads/main").unlink()


def lost_transcripts(scene: Scene) -> None:
    assert run_gitmem("transcript", "add", "--chat", "c", "--from", "ada", "hello").code == 0
    (scene.gitdir / "refs/gitmem/transcripts").unlink()


def conflict(scene: Scene, name: str = "top.md") -> None:
    git(scene.worktree, "checkout", "-qb", "side", "main~1")
    for branch in ("side", "main"):
        git(scene.worktree, "checkout", "-q", branch)
        (scene.worktree / name).write_text(f"{branch}\n")
        git(scene.worktree, "add", ".")
        git(scene.worktree, "commit", "-qm", branch)
    with pytest.raises(GitFailed):
        git(scene.worktree, "merge", "-q", "side")


def merging(scene: Scene) -> None:
    git(scene.worktree, "checkout", "-qb", "side")
    (scene.worktree / "side.md").write_text("side\n")
    git(scene.worktree, "add", "side.md")
    git(scene.worktree, "commit", "-qm", "side")
    git(scene.worktree, "checkout", "-q", "main")
    git(scene.worktree, "merge", "-q", "--no-ff", "--no-commit", "side")


def staged(scene: Scene) -> None:
    (scene.worktree / "top.md").write_bytes(b"edited\n")
    git(scene.worktree, "add", "top.md")


def stale_index(scene: Scene) -> None:
    """The index of an hour ago over the files of now."""
    kept = (scene.gitdir / "index").read_bytes()
    scene.write(Edit("top.md", "newer\n"))
    (scene.gitdir / "index").write_bytes(kept)


def odd_name(scene: Scene, name: str = "back\\slash.md") -> None:
    committed(scene, name, "odd\n")
    scene.write(Edit("after.md", "x\n"))


def committed(scene: Scene, name: str, text: str) -> None:
    """Let a person commit a file with plain git."""
    (scene.worktree / name).write_text(text)
    git(scene.worktree, "add", ".")
    git(scene.worktree, "commit", "-qm", "by hand")


def secret(scene: Scene, name: str = "key.md") -> None:
    committed(scene, name, f"the key: AKIA{body('ABCDEFGHIJKLMNOP', 16)}\n")


def tagged_secret(scene: Scene) -> None:
    git(scene.worktree, "switch", "-q", "--detach")
    secret(scene)
    git(scene.worktree, "tag", "old")
    git(scene.worktree, "switch", "-q", "main")


def kept_secret(scene: Scene) -> None:
    secret(scene)
    scene.write(Edit("after.md", "x\n"))
    git(scene.worktree, "reset", "-q", "--hard", "HEAD~2")
    scene.write(Edit("after.md", "y\n"))


def twins(scene: Scene, name: str = "top.md") -> None:
    committed(scene, name, "one\n")
    committed(scene, name.upper(), "twin\n")


def borrowed(scene: Scene) -> None:
    other = scene.root.parent / "other.git"
    subprocess.run(["git", "init", "-q", "--bare", str(other)], check=True)
    (scene.gitdir / "objects/info").mkdir(exist_ok=True)
    (scene.gitdir / "objects/info/alternates").write_text(f"{other}/objects\n")


def lost_object(scene: Scene) -> None:
    copied(scene, scene.root.parent / "copy")
    object_file(scene, OLD_BLOB).unlink()


def unused_damage(scene: Scene) -> None:
    stray = git(scene.gitdir, "hash-object", "-w", "--stdin", input="stray\n").strip()
    path = scene.gitdir / "objects" / stray[:2] / stray[2:]
    path.chmod(0o600)
    cut(path, 0.5)


def in_pack(ending: str, wound: Callable[[Path], object]) -> Callable[[Scene], None]:
    def damage(scene: Scene) -> None:
        pack(scene)
        wound(pack_file(scene, ending))

    return damage


def lost_pack(scene: Scene) -> None:
    git(scene.gitdir, "repack", "-aq")  # the loose objects stay
    pack_file(scene, ".pack").unlink()


def moved_back(scene: Scene) -> None:
    git(scene.worktree, "reset", "-q", "--hard", "HEAD~1")
    scene.write(Edit("after.md", "x\n"))
    for ref in (scene.gitdir / "refs/gitmem/kept").iterdir():
        ref.unlink()  # as a release that kept nothing leaves it


def amended(scene: Scene) -> None:
    git(scene.worktree, "commit", "-q", "--amend", "-m", "amended")
    scene.write(Edit("after.md", "x\n"))


def lost_version(scene: Scene) -> None:
    before = scene.head()
    scene.write(Edit("lost.md", "lost\n"))
    object_file(scene, "main:lost.md").unlink()
    git(scene.worktree, "update-ref", "-m", "reset: moving to HEAD", "refs/heads/main", before)
    git(scene.worktree, "read-tree", "--reset", before)
    (scene.worktree / "lost.md").unlink()
    scene.write(Edit("after.md", "x\n"))


def bad_layout(scene: Scene) -> None:
    (scene.worktree / "gitmem.yaml").write_text("layers: [\n")
    git(scene.worktree, "add", ".")
    git(scene.worktree, "commit", "-qm", "a layout")


def write_to(name: str, content: bytes) -> Callable[[Scene], object]:
    return lambda scene: (scene.gitdir / name).write_bytes(content)


def config_with(key: str, value: str) -> Callable[[Scene], object]:
    return lambda scene: git(scene.gitdir, "config", key, value)


DAMAGE: dict[str, Callable[[Scene], object]] = {
    "folder-missing": lambda scene: shutil.rmtree(scene.gitdir / "gitmem"),
    "config-damaged": write_to("config", b""),
    "config-changed": config_with("gc.auto", "1000"),
    "head-damaged": write_to("HEAD", b""),
    "head-elsewhere": lambda scene: git(scene.worktree, "checkout", "-q", "--detach"),
    "mode": lambda scene: os.chmod(scene.gitdir, 0o755),
    "git-lock": old_lock,
    "record-torn": torn_record,
    "write-unfinished": unfinished_write,
    "leftover": leftover,
    "late-edit": late_edit,
    "worktree-link": worktree_link,
    "worktree-missing": lambda scene: shutil.rmtree(scene.worktree),
    "gitfile-missing": gitfile,
    "gitfile-foreign": lambda scene: gitfile(scene).write_text("gitdir: /nowhere\n"),
    "ref-malformed": write_to("refs/heads/main", b""),
    "packed-refs-malformed": write_to("packed-refs", b"# pack-refs\nnot a ref\n"),
    "branch-missing": lambda scene: (scene.gitdir / "refs/heads/main").unlink(),
    "branch-behind": lost_branch_file,
    "ref-missing": lost_transcripts,
    "reflog-torn": lambda scene: (scene.gitdir / "logs/HEAD").write_bytes(b"torn\n"),
    "alternates": borrowed,
    "object-missing": lost_object,
    "object-damaged": lambda scene: cut(object_file(scene, HEAD_BLOB), 0.5),
    "object-damaged-unused": unused_damage,
    "pack-damaged": in_pack(".pack", lambda path: flip(path, 0.5)),
    "pack-missing": lost_pack,
    "pack-index-damaged": in_pack(".idx", lambda path: flip(path, 0.5)),
    "pack-index-missing": in_pack(".idx", Path.unlink),
    "pack-cache-damaged": write_to("objects/info/commit-graph", b"CGPH garbage"),
    "path-refused": odd_name,
    "twin": twins,
    "index-missing": lambda scene: (scene.gitdir / "index").unlink(),
    "index-unreadable": write_to("index", b""),
    "index-conflict": conflict,
    "git-operation": merging,
    "index-stale": stale_index,
    "staged": staged,
    "uncommitted": lambda scene: (scene.worktree / "top.md").write_bytes(b"edited\n"),
    REWOUND: moved_back,
    KEPT_CODE: amended,
    "version-lost": lost_version,
    "reflog-unreadable": lost_version,
    "layout": bad_layout,
    "secret": secret,
}
NAMED: dict[str, Callable[[Scene, str], object]] = {
    "path-refused": odd_name,
    "twin": twins,
    "index-conflict": conflict,
    "secret": secret,
    "uncommitted": lambda scene, name: (scene.worktree / name).write_bytes(b"new\n"),
}
"""Findings that name a file."""
NAMES = {
    "quote and command": "it's `id`; $(id).md",
    "dash": "-dash.md",
    "line end and escape": "a\n\x1b[2J.md",
    "no UTF-8": "caf\udce9.md",
}
BY_HAND = {
    "format-unknown": "another gitmem has to be installed",
    "not-a-plain-file": "as it may be: it has no hint",
    "date-in-the-future": "a clock has to be set, or time to pass",
    "time-zone": "a file of the store has to be edited",
}


def findings(scene: Scene) -> dict[str, dict[str, Any]]:
    """What check says, by code."""
    said = run_gitmem("check", "--json")
    return {each["code"]: each for each in said.document["findings"] if not each["repaired"]}


@pytest.mark.parametrize("code", DAMAGE)
def test_the_hint_ends_the_finding(
    scene: Scene, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = scene.root.parent / "editor"
    editor.write_text("#!/bin/sh\nprintf 'gitmem: 1\\nlayers: {}\\n' > \"$1\"\n")
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(editor))
    DAMAGE[code](scene)
    assert_hint_ends(scene, code)


@pytest.mark.parametrize("damage", [tagged_secret, kept_secret])
def test_the_hint_ends_a_secret_that_is_not_on_the_branch(
    scene: Scene, damage: Callable[[Scene], None]
) -> None:
    damage(scene)
    assert_hint_ends(scene, "secret")


def named_cases() -> Iterator[Any]:
    """Every finding with every name it can have."""
    # A name that gitmem allows is not refused; a new file with any other is held, not pending.
    impossible = {("path-refused", True), ("uncommitted", False)}
    yield pytest.param("path-refused", ".hidden.md", id="path-refused, dot")
    for code in NAMED:
        for what, name in NAMES.items():
            if (code, is_path(name)) not in impossible:
                yield pytest.param(code, name, id=f"{code}, {what}")


@pytest.mark.parametrize(("code", "name"), list(named_cases()))
def test_the_hint_ends_the_finding_whatever_the_file_is_called(
    scene: Scene, code: str, name: str
) -> None:
    NAMED[code](scene, name)
    assert_hint_ends(scene, code)


def assert_hint_ends(scene: Scene, code: str) -> None:
    """Type what the hint of a finding says until the finding is gone."""
    found = findings(scene)
    assert code in found, found
    commands = commands_in(found[code]["hint"])
    assert commands, found[code]["hint"]
    for command in commands:
        typed(scene, command)
        if code not in findings(scene):
            break
    left = findings(scene)
    assert code not in left, left[code]
    assert not [each for each in left.values() if each["severity"] == "error"]


def test_every_kind_of_finding_has_a_case() -> None:
    assert set(codes_in_source()) == DAMAGE.keys() | BY_HAND.keys()


def codes_in_source() -> Iterator[str]:
    """The code of every finding that is made anywhere."""
    constants = {"REWOUND": REWOUND, "KEPT_CODE": KEPT_CODE, "SECRET": SECRET}
    constants["BROKEN_LOG"] = BROKEN_LOG
    yield from ("object-damaged", "object-missing")  # one of them, by what is wrong
    places = [
        *(ROOT / "gitmem/store/fsck").glob("*.py"),
        ROOT / "gitmem/memory/admin/check.py",
    ]
    for path in places:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            at = {"error": 0, "warning": 0, "info": 0, "CheckFinding": 0, "PackFault": 1}.get(
                node.func.id
            )
            if at is None or len(node.args) <= at:
                continue
            first = node.args[at]
            if isinstance(first, ast.Constant):
                yield str(first.value)
            elif isinstance(first, ast.Name) and first.id in constants:
                yield constants[first.id]


# What status and maintain say --------------------------------------------------------------------


class State(NamedTuple):
    """A state that status names: how to come to it, and the field that says so."""

    damage: Callable[[Scene], object]
    field: str


def stashed(scene: Scene) -> None:
    before = scene.head()
    scene.write(Edit("top.md", "published\n"))
    how = "reset: moving to HEAD"
    git(scene.gitdir, "update-ref", "-m", how, "refs/heads/main", before)
    git(scene.worktree, "read-tree", "--reset", "-u", before)


def shrunk(scene: Scene) -> None:
    scene.write(Edit("big.md", "a line\n" * 100))
    (scene.worktree / "big.md").write_text("a line\n")
    assert run_gitmem("capture").code == 0


MARKERS = "<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n"
STATES = {
    "edited": State(DAMAGE["uncommitted"], "edits"),
    "left the branch": State(stashed, "waiting"),
    "kept": State(amended, "kept"),
    "taken off the branch just now": State(
        lambda scene: git(scene.worktree, "commit", "-q", "--amend", "-m", "amended"), "kept"
    ),
    "on another branch": State(
        lambda scene: git(scene.worktree, "switch", "-qc", "side"), "concerns"
    ),
    "a rule broken": State(shrunk, "violations"),
    "conflict markers": State(lambda scene: committed(scene, "it's a -g.md", MARKERS), "marked"),
    "a secret": State(lambda scene: secret(scene, "it's a key.md"), "secrets"),
    "a secret in a tag": State(tagged_secret, "secrets"),
    "a secret in a kept commit": State(kept_secret, "secrets"),
    "a merge": State(merging, "operation"),
    "no work tree": State(DAMAGE["worktree-missing"], "damaged"),
}
TYPED = (
    r"gitmem (?:capture|check --repair|(?:undo|kept restore) \w+|edit .*|check --acknowledge \w+)"
    r"|git switch main|git merge --continue"
)
"""The commands of the status screen that end a state."""


@pytest.mark.parametrize("name", STATES)
def test_the_command_that_status_prints_ends_the_state(
    scene: Scene, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = scene.root.parent / "editor"
    editor.write_text('#!/bin/sh\necho resolved > "$1"\n')
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(editor))
    monkeypatch.setenv("GIT_EDITOR", "true")
    state = STATES[name]
    state.damage(scene)
    assert stands(state)
    said = run_gitmem("status").out
    commands = re.findall(TYPED, said)
    assert commands, said
    for command in commands:
        typed(scene, command)
    assert not stands(state)
    if state.field != "secrets":  # a sound group may have one that somebody acknowledged
        assert_sound(scene)


def stands(state: State) -> bool:
    """Whether status still names it."""
    document = run_gitmem("status", "--json").document
    return bool(document.get(state.field, document["health"].startswith(state.field)))


def failures(said: Said) -> list[dict[str, Any]]:
    return [each for each in said.document["steps"] if each["outcome"] == "failed"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda scene: cut(object_file(scene, HEAD_BLOB), 0.5),
        lambda scene: git(scene.worktree, "checkout", "-q", "--detach"),
        lambda scene: git(scene.worktree, "commit", "-q", "--amend", "-m", "amended"),
        lambda scene: shutil.rmtree(scene.worktree),
    ],
    ids=["damaged", "HEAD elsewhere", "amended", "no work tree"],
)
def test_the_hint_that_maintain_prints_ends_its_failure(
    scene: Scene, damage: Callable[[Scene], object]
) -> None:
    scene.write(Edit("notes/a.md", "not read back yet\n"))
    damage(scene)
    failed = failures(run_gitmem("maintain", "--json"))
    for hint in {each["hint"] for each in failed}:
        (command,) = commands_in(hint)
        typed(scene, command)
    assert not failures(run_gitmem("maintain", "--json"))
    assert run_gitmem("check").code == 0
    assert oid(scene, "main")


def test_the_lock_is_free_after_all_that(scene: Scene) -> None:
    with Lock(lock_path(scene.gitdir)):
        pass
