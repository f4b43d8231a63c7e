"""Git is the judge here: it writes the index we read, and reads the index we write."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.store.index.file import IndexEntry, IndexFile, Stat, build, is_clean
from gitmem.store.index.format import IndexUnreadable
from tests.support.git import git_bytes

OLD = 1_500_000_000_123_456_789
NO_STAT = Stat(0, 0, 0, 0, 0, 0, 0)
DEBUG = re.compile(
    rb"(\d+) ([0-9a-f]{40}) (\d)\t([^\0]+)\0"
    rb"  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n"
    rb"  dev: (\d+)\tino: (\d+)\n  uid: (\d+)\tgid: (\d+)\n  size: (\d+)\tflags: [0-9a-f]+\n"
)


class Repo:
    """A real repository that sees no configuration but its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.index_path = root / ".git/index"
        self.git("init", "-q", "-b", "main")

    def git(self, *args: str, stdin: bytes = b"") -> bytes:
        # A judge that refreshes the index as it reads would hide our mistakes.
        return git_bytes(self.root, *args, input=stdin, env={"GIT_OPTIONAL_LOCKS": "0"})

    def write(self, path: str, content: bytes, mtime_ns: int = OLD) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        os.utime(file, ns=(mtime_ns, mtime_ns))

    def entry(self, path: str, mode: int = 0o100644) -> IndexEntry:
        """Return the entry for the file as it is on disk, its blob stored."""
        oid = self.git("hash-object", "-w", "--no-filters", "--", path).strip()
        found = Stat.of((self.root / path).stat())
        return IndexEntry(os.fsencode(path), bytes.fromhex(oid.decode()), mode, found)

    def index(self) -> IndexFile:
        return IndexFile.parse(self.index_path.read_bytes())

    def install(self, index: IndexFile) -> None:
        self.index_path.write_bytes(index.data)

    def patch(self, changes: dict[bytes, IndexEntry | None]) -> None:
        changed = self.index().patched(changes)
        self.install(changed)
        assert list(self.index().entries()) == list(changed.entries())

    def entries(self) -> list[IndexEntry]:
        """Return the entries as git reads them from the index file."""
        out = self.git("ls-files", "--stage", "--debug", "-z")
        found = [row.groups() for row in DEBUG.finditer(out)]
        assert DEBUG.sub(b"", out) == b""
        return [_entry(row) for row in found if row[2] == b"0"]

    def judge(self) -> None:
        """Have git check the index file: its checksum, its objects, and every file it names."""
        self.git("fsck", "--strict", "--no-dangling")
        assert self.git("diff-files") == b""


def _entry(row: tuple[bytes, ...]) -> IndexEntry:
    mode, oid, _, path, *rest = row
    cs, cn, ms, mn, dev, ino, uid, gid, size = map(int, rest)
    times = cs * 10**9 + cn, ms * 10**9 + mn
    stat = Stat(*times, dev, ino, uid, gid, size)
    return IndexEntry(path, bytes.fromhex(oid.decode()), int(mode, 8), stat)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with one commit of five files, whose index has a TREE extension."""
    repo = Repo(tmp_path)
    for path in ("a.md", "a/b.md", "a/c.md", "grüße/日本.md", "z"):
        repo.write(path, path.encode())
    repo.git("add", ".")
    repo.git("commit", "-qm", "first")
    assert b"TREE" in repo.index_path.read_bytes()
    return repo


def plain(path: bytes, content: bytes = b"", mode: int = 0o100644) -> IndexEntry:
    oid = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).digest()
    return IndexEntry(path, oid, mode, NO_STAT)


def with_conflict(repo: Repo) -> None:
    repo.git("rm", "-q", "--cached", "a.md")
    oid = repo.git("rev-parse", ":z").strip()
    stages = [b"100644 %s %d\ta.md" % (oid, stage) for stage in (1, 2, 3)]
    repo.git("update-index", "--index-info", stdin=b"\n".join(stages) + b"\n")


def with_intent_to_add(repo: Repo) -> None:
    repo.write("later.md", b"later")
    repo.git("add", "-N", "later.md")


def with_version_4(repo: Repo) -> None:
    repo.git("update-index", "--index-version", "4")


def with_version_4_and_extended_flags(repo: Repo) -> None:
    with_intent_to_add(repo)
    with_version_4(repo)


def with_assumption(repo: Repo) -> None:
    repo.git("update-index", "--assume-unchanged", "a.md")


def with_several_blocks(repo: Repo) -> None:
    repo.git("-c", "index.threads=2", "update-index", "--index-version", "4", "--force-write-index")
    assert b"IEOT" in repo.index_path.read_bytes()


def as_committed(repo: Repo) -> None:
    pass


KINDS: list[tuple[Callable[[Repo], None], int]] = [
    (as_committed, 2),
    (with_assumption, 2),
    (with_conflict, 2),
    (with_intent_to_add, 3),
    (with_version_4, 4),
    (with_version_4_and_extended_flags, 4),
    (with_several_blocks, 4),
]


@pytest.mark.parametrize(("make", "version"), KINDS)
def test_an_index_that_git_wrote_reads_as_git_reads_it(
    repo: Repo, make: Callable[[Repo], None], version: int
) -> None:
    make(repo)
    data = repo.index_path.read_bytes()
    assert int.from_bytes(data[4:8], "big") == version

    index = IndexFile.parse(data)

    assert list(index.entries()) == repo.entries()
    assert [index.get(entry.path) for entry in index.entries()] == repo.entries()
    extended = make in {with_intent_to_add, with_version_4_and_extended_flags}
    assert index.data[7] == (3 if extended else 2)
    assert version == 4 or index.data == data


@pytest.mark.parametrize(("make", "_version"), KINDS)
def test_any_index_of_git_can_be_patched_and_the_rest_stays(
    repo: Repo, make: Callable[[Repo], None], _version: int
) -> None:
    make(repo)
    before = repo.git("ls-files", "-s", "-v", "--debug", "--", ":!z")

    repo.write("z", b"changed\n")
    repo.patch({b"z": repo.entry("z")})

    assert repo.git("ls-files", "-s", "-v", "--debug", "--", ":!z") == before
    assert repo.git("rev-parse", ":z") == repo.git("hash-object", "z")
    repo.git("fsck", "--strict")


def test_git_agrees_with_what_a_patch_replaced_added_and_removed(repo: Repo) -> None:
    repo.write("a/b.md", b"replaced")
    repo.write("a/bb.md", b"added\n")
    (repo.root / "a/c.md").unlink()

    repo.patch(
        {b"a/b.md": repo.entry("a/b.md"), b"a/bb.md": repo.entry("a/bb.md"), b"a/c.md": None}
    )

    assert repo.git("status", "--porcelain") == b"M  a/b.md\nA  a/bb.md\nD  a/c.md\n"
    assert repo.entries() == list(repo.index().entries())
    repo.judge()
    repo.git("commit", "-qm", "second")
    assert repo.git("status", "--porcelain") == b""


def test_git_builds_the_right_tree_from_a_patched_index(repo: Repo) -> None:
    """A cached tree left behind by a patch would bring the old content back here."""
    repo.write("a/b.md", b"replaced")

    repo.patch({b"a/b.md": repo.entry("a/b.md")})
    tree = repo.git("write-tree").strip().decode()

    assert repo.git("show", f"{tree}:a/b.md") == b"replaced"


def test_git_trusts_the_stat_we_recorded_and_does_not_read_the_file(repo: Repo) -> None:
    repo.write("a.md", b"A.MD")  # the size of a.md, other content: only a read could tell
    lie = repo.entry("a.md")._replace(oid=plain(b"a.md", b"a.md").oid)

    repo.patch({b"a.md": lie})

    assert repo.git("status", "--porcelain") == b""
    assert repo.git("diff-files") == b""


def test_a_file_changed_after_the_patch_is_seen_by_git(repo: Repo) -> None:
    repo.patch({b"a.md": repo.entry("a.md")})

    repo.write("a.md", b"edited", mtime_ns=OLD + 10**9)

    assert repo.git("status", "--porcelain") == b" M a.md\n"


def test_a_new_index_satisfies_git(repo: Repo) -> None:
    (repo.root / "z").chmod(0o755)
    (repo.root / "link").symlink_to("z")
    link = plain(b"link", b"z", 0o120000)._replace(stat=Stat.of((repo.root / "link").lstat()))
    repo.git("hash-object", "-w", "--stdin", stdin=b"z")
    files = [repo.entry(path) for path in ("a/c.md", "grüße/日本.md", "a.md", "a/b.md")]

    repo.install(build([*files, link, repo.entry("z", 0o100755)]))

    assert repo.git("status", "--porcelain") == b"A  link\nM  z\n"
    assert repo.entries() == list(repo.index().entries())
    repo.judge()


def test_an_empty_index_satisfies_git(repo: Repo) -> None:
    repo.install(build([]))

    assert repo.git("ls-files") == b""
    assert list(repo.index().entries()) == []
    repo.judge()


def test_a_patch_settles_a_conflict(repo: Repo) -> None:
    with_conflict(repo)
    assert repo.index().unmerged() == [b"a.md"]
    assert repo.index().get(b"a.md") is None

    repo.patch({b"a.md": repo.entry("a.md")})

    assert repo.git("ls-files", "-u") == b""
    assert repo.index().unmerged() == []
    assert repo.git("status", "--porcelain") == b""
    repo.judge()


def test_a_conflict_can_be_taken_out(repo: Repo) -> None:
    with_conflict(repo)

    repo.patch({b"a.md": None})

    assert repo.git("ls-files", "a.md") == b""
    assert repo.git("status", "--porcelain") == b"D  a.md\n?? a.md\n"


@pytest.mark.parametrize(
    ("added", "lost"), [("a", {b"a/b.md", b"a/c.md"}), ("z/y/x", {b"z"}), ("a.md/b", {b"a.md"})]
)
def test_a_file_and_a_folder_of_one_name_do_not_live_together(
    repo: Repo, added: str, lost: set[bytes]
) -> None:
    before = {entry.path for entry in repo.entries()}
    new = plain(added.encode(), b"z")

    repo.patch({new.path: new})

    assert {entry.path for entry in repo.entries()} == before - lost | {new.path}
    assert repo.git("write-tree")


def test_a_file_takes_the_very_place_of_the_only_file_in_its_folder(repo: Repo) -> None:
    """The two entries have one position and one size, but not one path."""
    repo.install(build([plain(b"a/b", b"z")]))

    index = repo.index().patched({b"a": plain(b"a", b"z")})

    assert index.get(b"a") == plain(b"a", b"z")
    assert index.get(b"a/b") is None


def test_flags_of_other_entries_survive_and_those_of_the_patched_one_do_not(repo: Repo) -> None:
    repo.git("update-index", "--assume-unchanged", "a.md", "a/b.md")
    repo.git("update-index", "--skip-worktree", "a/c.md", "z")

    repo.patch({b"a/b.md": repo.entry("a/b.md"), b"z": repo.entry("z")})

    rows = repo.git("-c", "core.quotePath=no", "ls-files", "-v").decode().splitlines()
    assert rows == ["h a.md", "H a/b.md", "S a/c.md", "H grüße/日本.md", "H z"]


def test_an_entry_that_shrinks_as_it_loses_its_flags_moves_the_others() -> None:
    index = IndexFile.parse(sealed(header(3, 2) + raw(0x4001, b"\x40\0b") + raw(1, b"z")))

    changed = index.patched({b"b": plain(b"b")})

    assert len(changed.data) == len(index.data) - 8
    assert changed.get(b"z") == index.get(b"z")


def test_paths_longer_than_the_length_field_are_kept(repo: Repo) -> None:
    paths = [b"x" * length for length in (255, 256, 4094, 4095, 4096, 5000)]
    blob = repo.git("hash-object", "-w", "z").strip()
    lines = [b"100644 %s 0\t%s" % (blob, path) for path in paths[::2]]
    repo.git("update-index", "--index-info", stdin=b"\n".join(lines) + b"\n")

    repo.patch({path: plain(path, b"z") for path in paths[1::2]})

    assert [entry.path for entry in repo.entries() if entry.path > b"x"] == [*paths, b"z"]
    assert repo.entries() == list(repo.index().entries())
    with_version_4(repo)
    assert repo.entries() == list(repo.index().entries())


def test_a_patch_that_changes_nothing_is_the_same_object(repo: Repo) -> None:
    index = repo.index()

    assert index.patched({}) is index
    assert index.patched({b"nowhere.md": None, b"a": None}) is index


def test_the_original_is_not_touched_by_a_patch(repo: Repo) -> None:
    index = repo.index()
    before = index.data, list(index.entries())

    index.patched({b"a.md": plain(b"a.md", b"z"), b"new": plain(b"new", b"z"), b"z": None})

    assert (index.data, list(index.entries())) == before


@pytest.mark.parametrize(
    "command",
    [
        ("update-index", "--split-index"),
        ("sparse-checkout", "set", "--cone", "--sparse-index", "a"),
    ],
)
def test_an_index_whose_entries_are_elsewhere_is_refused(
    repo: Repo, command: tuple[str, ...]
) -> None:
    repo.git(*command)

    with pytest.raises(IndexUnreadable, match=r"extension b'(link|sdir)'"):
        repo.index()


def test_an_index_without_a_checksum_is_read_and_patched_into_one_that_has_it(repo: Repo) -> None:
    data = repo.index_path.read_bytes()

    bare = IndexFile.parse(data[:-20] + bytes(20))

    assert list(bare.entries()) == list(repo.index().entries())
    repo.install(bare.patched({b"z": None, b"a.md": repo.entry("a.md")}))
    repo.git("fsck", "--strict")


def sealed(body: bytes) -> bytes:
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


@pytest.mark.parametrize(("make", "_version"), KINDS)
def test_no_damaged_byte_goes_unnoticed(
    repo: Repo, make: Callable[[Repo], None], _version: int
) -> None:
    make(repo)
    data = repo.index_path.read_bytes()

    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        with pytest.raises(IndexUnreadable):
            IndexFile.parse(bytes(damaged))
    for length in range(len(data)):
        with pytest.raises(IndexUnreadable):
            IndexFile.parse(data[:length])


def exercise(data: bytes) -> None:
    """Do everything to DATA: whatever is accepted has to hold together, the rest is refused."""
    try:
        index = IndexFile.parse(data)
    except IndexUnreadable:
        return
    entries = list(index.entries())
    assert [index.get(entry.path) for entry in entries] == entries
    first = {entry.path: None for entry in entries[:1]}
    changed = index.patched({b"m/n": plain(b"m/n", b"z"), **first})
    again = IndexFile.parse(changed.data)
    assert list(again.entries()) == list(changed.entries())
    assert again.unmerged() == changed.unmerged()
    assert again.racy(0) == list(again.entries())


@pytest.mark.parametrize(("make", "_version"), KINDS)
def test_damage_under_a_good_checksum_is_refused_or_harmless(
    repo: Repo, make: Callable[[Repo], None], _version: int
) -> None:
    make(repo)
    body = repo.index_path.read_bytes()[:-20]

    for at in range(len(body)):
        for value in {0, 0x20, 0x7F, 0xFF, body[at] ^ 1, body[at] ^ 0x40} - {body[at]}:
            exercise(sealed(body[:at] + bytes([value]) + body[at + 1 :]))
    for length in range(len(body)):
        exercise(sealed(body[:length]))


@given(st.integers(2, 4), st.integers(0, 40), st.binary(max_size=400))
def test_noise_behind_a_good_header_is_refused_or_harmless(
    version: int, count: int, noise: bytes
) -> None:
    exercise(header(version, count) + noise + bytes(20))


def header(version: int, count: int) -> bytes:
    return b"DIRC" + version.to_bytes(4, "big") + count.to_bytes(4, "big")


def raw(flags: int, rest: bytes) -> bytes:
    """Return an entry with REST where its path belongs, padded as in versions 2 and 3."""
    entry = bytes(40) + b"x" * 20 + flags.to_bytes(2, "big") + rest
    return entry + bytes(8 - len(entry) % 8)


def test_disorder_is_refused() -> None:
    a, b, a_in_conflict = raw(1, b"a"), raw(1, b"b"), raw(0x1001, b"a")

    assert IndexFile.parse(sealed(header(2, 2) + a + b)).unmerged() == []
    assert IndexFile.parse(sealed(header(2, 2) + a_in_conflict + b)).unmerged() == [b"a"]
    for bad in (b + a, a + a, a_in_conflict * 2, a + a_in_conflict, a_in_conflict + a):
        with pytest.raises(IndexUnreadable, match="order"):
            IndexFile.parse(sealed(header(2, 2) + bad))


ODD = {
    "another signature": b"CRID" + header(2, 0)[4:],
    "version 1": header(1, 0),
    "version 5": header(5, 0),
    "fewer entries than it says": header(2, 2**32 - 1) + raw(1, b"a"),
    "no padding": header(2, 1) + raw(1, b"a")[:-1],
    "no path": header(2, 1) + raw(0, b""),
    "a path with a NUL": header(2, 1) + raw(3, b"a\0b"),
    "a path longer than it says": header(2, 1) + raw(1, b"ab"),
    "a long path longer than it says": header(2, 1) + raw(256, b"a" * 257),
    "a long path shorter than it says": header(2, 1) + raw(0xFFF, b"a" * 4094),
    "extended flags in version 2": header(2, 1) + raw(0x4001, b"\0\0a"),
    "unknown extended flags": header(3, 1) + raw(0x4001, b"\x80\0a"),
    "unknown low extended flags": header(3, 1) + raw(0x4001, b"\0\1a"),
    "half an extension": header(2, 0) + b"TREE\0\0",
    "an extension beyond the end": header(2, 0) + b"TREE\0\0\0\2a",
    "a required extension": header(2, 0) + b"link\0\0\0\0",
    "a required extension in version 4": header(4, 0) + b"link\0\0\0\0",
    "more cut than there is": header(4, 1) + raw(1, b"\x01a")[:65],
    "another length in version 4": header(4, 1) + raw(2, b"\x00a")[:65],
    "a varint without end": header(4, 1) + raw(1, b"\xff" * 9)[:71],
}


@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_an_odd_index_is_refused(body: bytes) -> None:
    with pytest.raises(IndexUnreadable):
        IndexFile.parse(sealed(body))


@pytest.mark.parametrize(
    "body",
    [
        header(2, 1) + raw(1, b"a"),
        header(2, 1) + raw(256, b"a" * 256),
        header(3, 1) + raw(0x4001, b"\x60\0a"),
        header(4, 1) + raw(1, b"\0a")[:65],
        header(4, 1) + raw(1, b"\0a")[:65] + b"TREE\0\0\0\1a",
    ],
)
def test_the_same_without_the_oddity_is_read(body: bytes) -> None:
    assert len(list(IndexFile.parse(sealed(body)).entries())) == 1


@pytest.mark.parametrize(
    "entry",
    [
        *[plain(path) for path in (b"", b"/a", b"a/", b"a//b", b"./a", b"a/../b", b"a\0b")],
        *[plain(path) for path in (b".git", b"a/.GIT/config")],
        plain(b"a", mode=0o100600),
        plain(b"a")._replace(oid=bytes(20)),
        plain(b"a")._replace(oid=b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
    ],
)
def test_an_entry_git_would_refuse_is_not_put_in(entry: IndexEntry) -> None:
    with pytest.raises(ValueError, match="git"):
        build([entry])


def test_contradictory_changes_are_refused() -> None:
    empty = build([])

    with pytest.raises(ValueError, match="at the same time"):
        empty.patched({b"a": plain(b"a"), b"a/b/c": plain(b"a/b/c")})
    with pytest.raises(ValueError, match="is given for"):
        empty.patched({b"a": plain(b"b")})
    with pytest.raises(ValueError, match="two entries"):
        build([plain(b"a"), plain(b"a")])


names = st.sampled_from([b"a", b"a.md", b"a-b", b"a0", b"b", "ä".encode(), b"x" * 9])
paths = st.lists(names, min_size=1, max_size=3).map(b"/".join)
contents = st.sampled_from([b"", b"1", b"2"])
stats = st.tuples(*[st.integers(0, 2**32 - 1)] * 7).map(Stat._make)


@st.composite
def changesets(draw: st.DrawFn) -> dict[bytes, IndexEntry | None]:
    changes: dict[bytes, IndexEntry | None] = {}
    for path in draw(st.lists(paths, max_size=5)):
        clash = any(within(path, other) or within(other, path) for other in changes)
        if clash or draw(st.integers(0, 3)) == 0:
            changes[path] = None
        else:
            changes[path] = plain(path, draw(contents))._replace(stat=draw(stats))
    return changes


def within(path: bytes, folder: bytes) -> bool:
    return path.startswith(folder + b"/")


def apply(model: dict[bytes, IndexEntry], changes: dict[bytes, IndexEntry | None]) -> None:
    for path, entry in changes.items():
        model.pop(path, None)
        if entry is not None:
            for other in [p for p in model if within(p, path) or within(path, p)]:
                del model[other]
            model[path] = entry


@settings(max_examples=max(300, settings().max_examples))
@given(st.lists(changesets(), max_size=6))
def test_patches_do_what_a_dict_does(history: list[dict[bytes, IndexEntry | None]]) -> None:
    index, model = build([]), dict[bytes, IndexEntry]()
    for changes in history:
        index = index.patched(changes)
        apply(model, changes)

        assert list(index.entries()) == sorted(model.values())
        assert all(index.get(path) == model.get(path) for path in changes)
        assert index.data == build(model.values()).data
        assert list(IndexFile.parse(index.data).entries()) == sorted(model.values())


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repo]:
    repo = Repo(tmp_path_factory.mktemp("bench"))
    for content in (b"", b"1", b"2"):
        repo.git("hash-object", "-w", "--stdin", stdin=content)
    yield repo
    repo.git("fsck", "--strict")


@given(st.lists(changesets(), min_size=1, max_size=5), st.sampled_from([2, 4]))
def test_git_reads_any_series_of_patches_as_we_do(
    bench: Repo, history: list[dict[bytes, IndexEntry | None]], version: int
) -> None:
    model: dict[bytes, IndexEntry] = {}
    bench.install(build([]))
    for changes in history:
        bench.patch(changes)
        apply(model, changes)
    bench.git("update-index", "--index-version", str(version))

    assert bench.entries() == sorted(model.values())
    assert list(bench.index().entries()) == sorted(model.values())
    bench.git("write-tree")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    os.utime(file, ns=(OLD, OLD))
    return file


def entry_of(file: Path) -> IndexEntry:
    return plain(b"file", file.read_bytes())._replace(stat=Stat.of(file.stat()))


def test_an_untouched_file_older_than_the_index_is_clean(file: Path) -> None:
    assert is_clean(entry_of(file), file.stat(), OLD + 1)


@pytest.mark.parametrize("index_mtime", [0, OLD - 1, OLD])
def test_a_file_not_older_than_the_index_is_never_clean(file: Path, index_mtime: int) -> None:
    assert not is_clean(entry_of(file), file.stat(), index_mtime)


@pytest.mark.parametrize("field", ["mtime_ns", "ctime_ns", "ino", "size"])
def test_one_nanosecond_or_byte_makes_a_file_unclean(file: Path, field: str) -> None:
    entry = entry_of(file)
    found = entry.stat._asdict()
    other = entry._replace(stat=Stat(**found | {field: found[field] - 1}))

    assert not is_clean(other, file.stat(), time.time_ns())


def test_a_file_replaced_by_one_that_looks_the_same_is_not_clean(file: Path) -> None:
    entry = entry_of(file)
    twin = file.with_name("twin")
    twin.write_bytes(b"CONTENT")
    os.utime(twin, ns=(OLD, OLD))
    twin.replace(file)

    assert not is_clean(entry, file.stat(), time.time_ns())


def test_only_regular_files_are_clean(file: Path) -> None:
    entry = entry_of(file)
    link = file.with_name("link")
    link.symlink_to("file")
    as_link = plain(b"link", b"file", 0o120000)._replace(stat=Stat.of(link.lstat()))

    assert not is_clean(entry._replace(mode=0o120000), file.stat(), OLD + 1)
    assert not is_clean(as_link, link.lstat(), time.time_ns() + 10**9)
    assert not is_clean(as_link._replace(mode=0o100644), link.lstat(), time.time_ns() + 10**9)


def test_an_empty_size_is_believed_of_the_empty_blob_alone(file: Path) -> None:
    file.write_bytes(b"")
    os.utime(file, ns=(OLD, OLD))

    assert is_clean(entry_of(file), file.stat(), OLD + 1)
    assert not is_clean(entry_of(file)._replace(oid=b"x" * 20), file.stat(), OLD + 1)


def test_numbers_beyond_32_bits_are_cut_as_git_cuts_them(repo: Repo) -> None:
    for path, seconds in (("a.md", -1), ("z", 2**32 + 7)):
        moment = seconds * 10**9 + 5
        os.utime(repo.root / path, ns=(moment, moment))
        if (repo.root / path).stat().st_mtime_ns != moment:
            pytest.skip("this file system cannot store the moment")
    repo.git("update-index", "--really-refresh")

    by_git = {entry.path: entry for entry in repo.entries()}
    assert by_git[b"a.md"].stat.mtime_ns == (2**32 - 1) * 10**9 + 5
    assert by_git[b"z"].stat.mtime_ns == 7 * 10**9 + 5
    for path in ("a.md", "z"):
        assert repo.entry(path) == by_git[path.encode()]
    assert build(by_git.values()).get(b"z") == by_git[b"z"]


def test_the_entries_an_index_cannot_vouch_for_are_found(repo: Repo) -> None:
    repo.write("a/b.md", b"one", mtime_ns=OLD + 1)
    repo.write("z", b"two", mtime_ns=OLD + 10**9)
    with_conflict(repo)
    repo.patch({b"a/b.md": repo.entry("a/b.md"), b"z": repo.entry("z")})

    def late(moment: int) -> list[bytes]:
        return [entry.path for entry in repo.index().racy(moment)]

    assert late(OLD + 10**9 + 1) == []
    assert late(OLD + 10**9) == late(OLD + 2) == [b"z"]
    assert late(OLD + 1) == [b"a/b.md", b"z"]
    assert late(OLD) == [b"a/b.md", b"a/c.md", "grüße/日本.md".encode(), b"z"]


def test_git_reads_the_file_of_a_smudged_entry(repo: Repo) -> None:
    """An edit that left no trace in the stat shows once the entry is smudged, and only then."""
    repo.git("config", "core.trustctime", "false")
    entry = repo.entry("z")
    repo.patch({b"z": entry})
    repo.write("z", b"Z")
    assert repo.git("status", "--porcelain") == b""

    repo.patch({b"z": entry.smudged()})

    assert repo.git("status", "--porcelain") == b" M z\n"
    assert not is_clean(entry.smudged(), (repo.root / "z").stat(), time.time_ns())
    repo.write("z", b"z")
    assert repo.git("status", "--porcelain") == b""
