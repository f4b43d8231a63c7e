"""Packs read without libgit2: always what git would read, and never more than an error."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from gitmem.store.fsck.packs import Unindexed, readable, rebuild_index, write_pack
from gitmem.store.objects.database import Objects, object_id
from gitmem.store.objects.pack_entries import PackDamaged
from gitmem.store.objects.packs import Pack, Packs
from tests.support.git import git, git_bytes


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose one pack has every kind of object, and differences of differences."""
    gitdir = tmp_path_factory.mktemp("packed") / "repo.git"
    git(gitdir.parent, "init", "-q", "--bare", str(gitdir))
    made = random.Random(7)
    text, stream = "", "reset refs/heads/main\n"
    for number in range(40):
        text += f"line {number} {made.getrandbits(256):064x}\n"
        body = text * 30 if number == 39 else text
        stream += f"commit refs/heads/main\ncommitter A <a@b> {1000 + number} +0000\ndata 1\nx\n"
        stream += f"M 100644 inline a.md\ndata {len(body)}\n{body}\n"
        stream += f"M 100644 inline d/{number % 5}.md\ndata 2\n{number % 10}\n\n"
    git(gitdir, "fast-import", "--quiet", input=stream)
    git(gitdir, "tag", "-a", "-m", "t", "t1", "refs/heads/main")
    git(gitdir, "repack", "-adfq", "--depth=30", "--window=20")
    return gitdir


def stem(gitdir: Path) -> str:
    (path,) = (gitdir / "objects/pack").glob("*.pack")
    return str(path).removesuffix(".pack")


def all_of(gitdir: Path) -> dict[str, tuple[str, bytes]]:
    """Every object, by git."""
    listed = git(gitdir, "cat-file", "--batch-all-objects", "--batch-check").split("\n")[:-1]
    rows = [line.split() for line in listed]
    return {oid: (kind, git_bytes(gitdir, "cat-file", kind, oid)) for oid, kind, _ in rows}


@pytest.fixture(scope="module")
def truth(packed: Path) -> dict[str, tuple[str, bytes]]:
    return all_of(packed)


@pytest.fixture
def copy(packed: Path, tmp_path: Path) -> Path:
    """The repository, to be hurt."""
    gitdir = tmp_path / "repo.git"
    shutil.copytree(packed, gitdir)
    for path in (gitdir / "objects/pack").iterdir():
        path.chmod(0o600)
    return gitdir


def test_every_object_is_what_git_says(packed: Path, truth: dict[str, tuple[str, bytes]]) -> None:
    packs = Packs(str(packed / "objects/pack"))

    assert {kind for kind, _ in truth.values()} == {"commit", "tree", "blob", "tag"}
    assert {oid: packs.read(oid) for oid in truth} == truth
    assert sorted(oid for pack in packs for oid in pack.names()) == sorted(truth)
    assert packs.read("0" * 40) is None


def test_objects_are_found_by_the_beginning_of_their_name(
    packed: Path, truth: dict[str, tuple[str, bytes]]
) -> None:
    objects = Objects(packed)
    for oid in truth:
        expected = sorted(each for each in truth if each.startswith(oid[:4]))
        assert objects.expand(oid[:4]) == expected


def test_a_pack_without_an_index_gives_everything(
    packed: Path, truth: dict[str, tuple[str, bytes]]
) -> None:
    pack = Unindexed(stem(packed))

    assert {oid: pack.read(oid) for oid in pack.names()} == truth


def test_an_index_made_anew_is_git_s_own(copy: Path) -> None:
    index = Path(f"{stem(copy)}.idx")
    before = index.read_bytes()
    index.unlink()

    rebuild_index(stem(copy))

    assert index.read_bytes() == before


def test_packs_that_come_and_go_are_noticed(
    copy: Path, truth: dict[str, tuple[str, bytes]]
) -> None:
    packs = Packs(str(copy / "objects/pack"))
    oid = next(iter(truth))
    assert packs.read(oid)

    name = git(copy, "hash-object", "-w", "--stdin", input="new").strip()
    git(copy, "repack", "-adq")
    git(copy, "prune-packed")
    reachable = packs.read(oid)
    (copy / "objects" / name[:2] / name[2:]).unlink()

    assert reachable == truth[oid]
    assert packs.read(name) is None
    packs.close()
    assert packs.read(oid) == truth[oid]


@pytest.mark.parametrize("ending", [".idx", ".pack"])
def test_a_damaged_pack_gives_the_right_content_or_an_error(
    copy: Path, truth: dict[str, tuple[str, bytes]], ending: str
) -> None:
    path = Path(stem(copy) + ending)
    whole = path.read_bytes()
    chance = random.Random(ending)
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 1, 4, 30))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data[: chance.choice((len(data), chance.randrange(len(data))))])
        packs = Packs(str(copy / "objects/pack"))
        for oid, content in truth.items():
            try:
                assert packs.read(oid) in (content, None)
            except PackDamaged:
                continue
        packs.close()


def test_what_is_built_on_a_lost_object_is_saved_when_that_is_found_elsewhere(
    copy: Path, truth: dict[str, tuple[str, bytes]]
) -> None:
    newest = git(copy, "rev-parse", "refs/heads/main:a.md").strip()
    at = Pack(stem(copy)).offset(newest)
    assert at is not None
    data = bytearray(Path(f"{stem(copy)}.pack").read_bytes())
    data[at + 100] ^= 0xFF
    Path(f"{stem(copy)}.pack").write_bytes(data)

    def supply(oid: str) -> tuple[str, bytes] | None:
        return truth[oid] if oid == newest else None

    without = readable(stem(copy), lambda oid: None)[1]
    packs, found = readable(stem(copy), supply)

    assert len(without) < len(truth) - 30  # nearly all versions are differences from the newest
    assert found.keys() == truth.keys()
    folder = copy / "objects/pack"
    made = write_pack(folder, found, supply)
    for path in folder.iterdir():
        if not str(path).startswith(made):
            path.unlink()
    del packs
    assert all_of(copy) == truth
    assert git(copy, "fsck", "--strict", "--full") == ""


def test_a_pack_written_here_is_one_that_git_reads(copy: Path, tmp_path: Path) -> None:
    packs, found = readable(stem(copy), lambda oid: None)
    made = write_pack(tmp_path, found, lambda oid: None)

    assert "ok" in git(copy, "verify-pack", "-v", f"{made}.idx").splitlines()[-1]
    assert len(packs) == 2
    assert os.stat(f"{made}.pack").st_mode & 0o777 == 0o400
    for oid in found:
        content = found[oid].read(oid)
        assert content is not None
        assert object_id(*content) == oid
