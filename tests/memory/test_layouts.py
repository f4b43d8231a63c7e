"""The layout that counts: read from the commit, and never a reason to stop."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitmem.errors import BadInput, Conflict, Damaged, LayoutRefused, PathRefused, Refused
from gitmem.memory.admin.check import check
from gitmem.memory.admin.init import init
from gitmem.memory.context.inject import inject
from gitmem.memory.entries.move_entry import move_entry
from gitmem.memory.group import Group, Store
from gitmem.memory.layouts import layout_at, layout_of, shipped, starter_files
from gitmem.memory.read.log import log
from gitmem.memory.read.read import read
from gitmem.memory.read.status import status
from gitmem.memory.recover.restore import restore
from gitmem.memory.write.capture import capture
from gitmem.memory.write.move import move, remove
from gitmem.memory.write.write import Allowed, Edit, write
from gitmem.model.guards import MAX_FILE
from gitmem.model.layout.layout import EMPTY, FILE
from tests.support.clocks import Clock
from tests.support.git import git

SMALL = "gitmem: 1\nlayout: small\nlayers:\n  state: {kind: document, path: state.md}\n"

NOWHERE = "gitmem: 1\ntimezone: Mars/Olympus\n"


@pytest.fixture
def zylos(store: Store, clock: Clock) -> Iterator[Group]:
    init(store, "z", layout="zylos", now=clock)
    opened = Group(store, "z", now=clock)
    yield opened
    opened.close()


@pytest.mark.parametrize("name", shipped())
def test_a_group_begins_with_the_files_of_its_layout(name: str, store: Store, clock: Clock) -> None:
    made = init(store, "g", layout=name, now=clock)
    group = Group(store, "g", now=clock)

    assert made.layout == name == layout_of(group).name
    assert sorted(made.started) == sorted(starter_files(name))
    for path, data in starter_files(name).items():
        assert (group.worktree / path).read_bytes() == data
    assert git(group.worktree, "status", "--porcelain") == ""
    git(group.gitdir, "fsck", "--strict")


def test_a_second_init_changes_nothing(store: Store, clock: Clock) -> None:
    first = init(store, "g", layout="zylos", now=clock)

    again = init(store, "g", layout="zylos", relayout=True, now=clock)

    assert (again.commit, again.started) == (first.commit, ())


def test_what_stands_there_already_is_not_replaced(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "state.md").write_text("# Mine\n")

    made = init(store, "g", worktree=folder, layout="zylos")

    assert (folder / "state.md").read_text() == "# Mine\n"
    assert "state.md" not in made.started
    assert "identity.md" in made.started


def test_a_group_without_a_layout_can_be_given_one(group: Group) -> None:
    write(group, [Edit("notes.md", "mine\n")])

    made = init(group.store, "main", layout="soul", relayout=True)

    assert made.started == (FILE,)
    assert layout_of(group).name == "soul"


def test_another_layout_is_not_put_over_the_first(zylos: Group) -> None:
    with pytest.raises(Conflict, match="has the layout 'zylos' already") as caught:
        init(zylos.store, "z", layout="soul", relayout=True)

    assert "gitmem edit gitmem.yaml" in caught.value.hint


def test_an_unknown_layout_is_an_error_before_anything_is_made(store: Store) -> None:
    with pytest.raises(BadInput, match="no layout 'zylus'") as caught:
        init(store, "g", layout="zylus")

    assert "zylos" in caught.value.hint
    assert not store.root.exists()


def test_a_folder_of_your_own_is_a_layout(store: Store, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / "notes").mkdir(parents=True)
    (mine / "layout.yaml").write_text(SMALL)
    (mine / "notes" / "hello.md").write_text("hello\n")

    made = init(store, "g", layout=str(mine))

    assert made.layout == "small"
    assert sorted(made.started) == [FILE, "notes/hello.md"]


UNFIT: dict[str, Callable[[Path], object]] = {
    "a link": lambda at: (at / "l.md").symlink_to("/etc/passwd"),
    "a pipe": lambda at: os.mkfifo(at / "p.md"),
    "too big": lambda at: (at / "b.md").write_bytes(b"a" * (MAX_FILE + 1)),
    "a bad name": lambda at: (at / "a\\b.md").write_text("x"),
    "twin folders": lambda at: [
        ((at / each).mkdir(), (at / each / f"{each}1.md").write_text("x")) for each in "Aa"
    ],
    "twins": lambda at: ((at / "T.md").write_text("x"), (at / "t.md").write_text("x")),
    "a second layout": lambda at: (at / FILE).write_text("gitmem: ["),
    "broken frontmatter": lambda at: (at / "f.md").write_text("---\na: [\n---\n"),
}


@pytest.mark.parametrize("what", UNFIT)
def test_a_folder_of_your_own_passes_every_guard(store: Store, tmp_path: Path, what: str) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "layout.yaml").write_text(SMALL)
    UNFIT[what](mine)

    with pytest.raises((BadInput, Refused)):
        init(store, "g", layout=str(mine))

    assert not store.root.exists()


def test_a_broken_layout_of_your_own_is_named_by_its_file(store: Store, tmp_path: Path) -> None:
    (tmp_path / "layout.yaml").write_text("gitmem: 1\nlayerz: {}\n")

    with pytest.raises(LayoutRefused, match=r"layout\.yaml line 2, layerz"):
        init(store, "g", layout=str(tmp_path))


def test_no_operation_puts_a_broken_layout_in_place(zylos: Group) -> None:
    good = zylos.repository.tip()
    (zylos.worktree / FILE).write_text("gitmem: [\n")
    broken = capture(zylos).captured[0].commit
    write(zylos, [Edit("x.md", "no layout\n"), Edit(FILE, read(zylos, FILE, at=good).text)])
    write(zylos, [Edit("reference/ideas.md", "Soon.", entry="Idea")])
    attempts: list[Callable[[], object]] = [
        lambda: restore(zylos, FILE, at=broken),
        lambda: move_entry(zylos, "reference/ideas.md#idea", FILE),
    ]

    for attempt in attempts:
        with pytest.raises(LayoutRefused):
            attempt()
    for away in (lambda: remove(zylos, FILE), lambda: move(zylos, FILE, "x.yaml")):
        with pytest.raises(Conflict, match="stays"):
            away()
    for path in (f"{FILE}/x.md", "GITMEM.YAML", "Gitmem.yaml/x.md"):
        with pytest.raises(PathRefused):
            write(zylos, [Edit(path, "x\n")])
    assert layout_of(zylos).name == "zylos"


NEWER = """\
gitmem: 1
layout: tomorrow
colour: {deep: [1, 2]}
layers:
  ideas:
    kind: entries
    path: ideas.md
    shade: dark
    status: [raw]
retrieve: {top: 3, hue: 1}
"""


def test_keys_of_a_newer_release_are_passed_over_and_told(zylos: Group) -> None:
    (zylos.worktree / FILE).write_text(NEWER)
    capture(zylos)

    layout = layout_of(zylos)
    assert (layout.name, layout.retrieve.top) == ("tomorrow", 3)
    assert layout.layers[0].statuses == ("raw",)
    told = f"{FILE} has unknown keys, which are ignored: colour, layers.ideas.shade, retrieve.hue"
    assert list(layout.unknown) == ["colour", "layers.ideas.shade", "retrieve.hue"]
    assert status(zylos).layout_problem == told
    assert [each.code for each in check(zylos).findings] == ["layout"]
    again = Group(zylos.store, zylos.name, now=zylos.now)  # from the cache
    assert layout_of(again).unknown == layout.unknown
    again.close()


def test_who_changes_such_a_layout_keeps_its_keys_and_makes_no_other(zylos: Group) -> None:
    (zylos.worktree / FILE).write_text(NEWER)
    capture(zylos)

    write(zylos, [Edit(FILE, NEWER.replace("top: 3", "top: 4"))])
    assert layout_of(zylos).retrieve.top == 4
    with pytest.raises(LayoutRefused):
        write(zylos, [Edit(FILE, NEWER.replace("status:", "statuss:"))])


def test_a_write_of_a_broken_layout_is_refused_with_line_and_key(zylos: Group) -> None:
    with pytest.raises(LayoutRefused, match=r"line 4.*kindd") as caught:
        write(zylos, [Edit(FILE, "gitmem: 1\nlayers:\n  one:\n    kindd: document\n")])

    assert caught.value.facts["line"] == 4
    assert caught.value.facts["key"] == "layers.one.kindd"
    assert layout_of(zylos).name == "zylos"


def test_a_zone_that_does_not_exist_is_refused(zylos: Group) -> None:
    with pytest.raises(LayoutRefused, match="Mars/Olympus"):
        write(
            zylos, [Edit(FILE, "gitmem: 1\ntimezone: Mars/Olympus\n")], allowed=Allowed(shrink=True)
        )


@pytest.mark.parametrize("broken", ["gitmem: [\n", NOWHERE, "\xff\xfe"])
def test_a_broken_one_that_got_in_does_not_stop_the_group(zylos: Group, broken: str) -> None:
    (zylos.worktree / FILE).write_text(broken, "latin-1")
    capture(zylos)

    loaded = layout_at(zylos, zylos.repository.snapshot())

    assert loaded.layout.name == "zylos"
    assert "an older version is used" in loaded.problem
    written = write(zylos, [Edit("sessions", "- still here\n")])
    assert written.changes[0].path == "sessions/current.md"
    assert [each.code for each in check(zylos).findings if each.path == FILE] == ["layout"]


def test_a_captured_one_that_is_broken_is_named_in_the_log(zylos: Group) -> None:
    (zylos.worktree / FILE).write_text("gitmem: 1\nlayerz: {}\n")
    capture(zylos)

    (first, *_) = log(zylos, FILE)

    assert any("layerz" in each and "line 2" in each for each in first.violations)


def test_one_that_was_deleted_by_hand_is_named(zylos: Group) -> None:
    (zylos.worktree / FILE).unlink()
    capture(zylos)

    assert any("layout" in each for each in log(zylos, limit=1)[0].violations)


def damage(group: Group, blob: str) -> None:
    path = group.gitdir / "objects" / blob[:2] / blob[2:]
    os.chmod(path, 0o600)
    path.write_bytes(b"junk")
    (group.gitdir / "gitmem" / "layout").unlink()


def test_a_damaged_one_is_read_from_the_work_tree_if_that_is_the_same(zylos: Group) -> None:
    damage(zylos, zylos.repository.snapshot().oid(FILE) or "")

    assert layout_of(Group(zylos.store, "z")).name == "zylos"


def test_a_damaged_one_that_is_nowhere_else_is_no_licence(zylos: Group) -> None:
    write(zylos, [Edit("sessions", "- one")])
    text = (zylos.worktree / FILE).read_text()
    damage(zylos, zylos.repository.snapshot().oid(FILE) or "")
    (zylos.worktree / FILE).write_text("gitmem: [")
    again = Group(zylos.store, "z")

    for edit in (Edit("sessions/current.md", "over\n"), Edit("diary", "x\n"), Edit("x.md", "x\n")):
        with pytest.raises(Damaged, match=r"gitmem\.yaml cannot be read"):
            write(again, [edit])
    with pytest.raises(Damaged):
        inject(again)
    write(again, [Edit(FILE, text)])
    assert layout_of(Group(zylos.store, "z")).name == "zylos"


def test_a_deleted_one_still_counts_until_there_is_another(zylos: Group) -> None:
    (zylos.worktree / FILE).unlink()
    capture(zylos)

    assert layout_of(zylos).name == "zylos"
    assert check(zylos).sound is False

    write(zylos, [Edit(FILE, SMALL)])
    assert layout_of(zylos).name == "small"
    assert check(zylos).sound is True


def test_many_writes_later_the_last_valid_one_is_still_found(zylos: Group) -> None:
    (zylos.worktree / FILE).write_text("gitmem: [\n")
    capture(zylos)
    for number in range(30):
        write(zylos, [Edit("notes.md", f"{number}\n")])
        again = Group(zylos.store, "z")
        assert layout_of(again).name == "zylos"
        again.close()


def test_without_one_there_is_none_and_nothing_to_say(group: Group) -> None:
    for number in range(20):
        write(group, [Edit("notes.md", f"{number}\n")])

    loaded = layout_at(group, group.repository.snapshot())

    assert (loaded.layout, loaded.blob, loaded.problem) == (EMPTY, "", "")


def test_the_layout_of_then_is_that_of_the_commit(zylos: Group) -> None:
    then = zylos.repository.snapshot()
    write(zylos, [Edit(FILE, SMALL)], allowed=Allowed(shrink=True))

    assert layout_at(zylos, then).layout.name == "zylos"
    assert layout_of(zylos).name == "small"


@pytest.mark.parametrize("damage", ["", "x", "torn"])
def test_the_cache_is_never_trusted_over_the_file(zylos: Group, damage: str) -> None:
    layout = layout_of(zylos)
    cache = zylos.gitdir / "gitmem" / "layout"
    data = cache.read_bytes()
    cache.write_bytes(data[: len(data) // 2] if damage == "torn" else damage.encode())

    assert layout_of(Group(zylos.store, "z")) == layout
    cache.unlink()
    assert layout_of(Group(zylos.store, "z")) == layout
    assert cache.read_bytes() == data


def test_an_env_that_is_no_file_stops_nobody(store: Store, clock: Clock) -> None:
    store.root.mkdir()
    os.mkfifo(store.root / ".env")

    init(store, "g", layout="zylos", now=clock)

    assert Group(store, "g").zone


def test_the_zone_of_the_layout_counts_before_the_store_s(store: Store, clock: Clock) -> None:
    store.root.mkdir()
    (store.root / ".env").write_text("TZ='Asia/Tokyo'\n")
    init(store, "g", layout="zylos", now=clock)
    group = Group(store, "g", now=clock)
    assert str(group.zone) == "Asia/Tokyo"

    text = (group.worktree / FILE).read_text()
    write(group, [Edit(FILE, text.replace("gitmem: 1\n", "gitmem: 1\ntimezone: Europe/Berlin\n"))])

    assert str(group.zone) == "Europe/Berlin"
    assert str(Group(store, "g").zone) == "Europe/Berlin"
