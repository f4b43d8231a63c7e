"""A folder that somebody already has comes under history: whole, with its past, and unchanged."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gitmem.store.fault_points
from gitmem.errors import (
    BadInput,
    Conflict,
    GitmemError,
    GroupRefused,
    NotFound,
)
from gitmem.memory.admin.init import init
from gitmem.memory.adopt.adopt import Adopted, adopt
from gitmem.memory.curate.migrate import migrate
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.layouts import layout_of, starter_files
from gitmem.memory.read.log import log
from gitmem.memory.read.status import status
from gitmem.memory.recover.held import held_accept, held_list
from gitmem.memory.write.capture import capture
from gitmem.memory.write.open_edits import pending_edits
from tests.support.adopting import KEY, assert_sound, opened, taken_of, texts, with_secrets
from tests.support.clocks import Clock
from tests.support.git import git, git_bytes
from tests.support.histories import put
from tests.support.memories import SYSTEMS, ZYLOS, history, lay, stand
from tests.support.processes import Voice, alone

MIB = 1024 * 1024


@pytest.fixture
def zylos(tmp_path: Path) -> Path:
    return lay(tmp_path / "memory", ZYLOS)


@pytest.mark.parametrize("name", SYSTEMS)
class TestEachSystem:
    def test_is_taken_whole_and_byte_for_byte(
        self, store: Store, clock: Clock, tmp_path: Path, name: str
    ) -> None:
        folder = lay(tmp_path / "theirs", SYSTEMS[name])
        before = stand(folder)

        done = adopt(store, "main", folder, now=clock)

        group = opened(store)
        assert (done.layout, done.sure) == (name, "certain")
        assert set(done.taken) == SYSTEMS[name].keys()
        files = texts(taken_of(group))
        assert files.pop("gitmem.yaml").encode() == starter_files(name)["gitmem.yaml"]
        assert files == SYSTEMS[name]
        assert layout_of(group).name == name
        assert stand(folder) == before
        assert git(group.worktree, "status", "--porcelain") == ""
        assert {p: d for p, (d, _, _) in stand(group.worktree).items() if d}.keys() == {
            *SYSTEMS[name],
            "gitmem.yaml",
        }
        assert_sound(store)

    def test_stays_where_it_is_in_place(
        self, store: Store, clock: Clock, tmp_path: Path, name: str
    ) -> None:
        folder = lay(tmp_path / "theirs", SYSTEMS[name])
        before = stand(folder)

        done = adopt(store, "main", folder, in_place=True, now=clock)

        assert done.worktree == str(folder)
        after = stand(folder)
        del after["gitmem.yaml"]
        assert after == before
        assert git(folder, "status", "--porcelain") == ""
        group = opened(store)
        assert pending_edits(group)[:2] == ((), ())
        assert_sound(store)


class TestDates:
    def test_of_a_plain_folder_are_those_of_its_files(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        done = adopt(store, "main", zylos, now=clock)

        assert (done.dates_from, done.commits) == ("mtime", 0)
        group = opened(store)
        for number, path in enumerate(ZYLOS):
            line = git(group.worktree, "blame", "--porcelain", path)
            seconds = int(line.split("author-time ")[1].split("\n")[0])
            assert f"{datetime.fromtimestamp(seconds, UTC):%m-%d}" == f"01-{number + 1:02}"

    def test_one_commit_holds_a_local_day_and_its_newest_time(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        store.root.mkdir()
        (store.root / ".env").write_text("TZ='Pacific/Kiritimati'\n")
        folder = lay(tmp_path / "m", {"soul.md": "a\n", "user.md": "b\n", "diary/x.md": "c\n"})
        for path, when in (
            ("soul.md", "2026-01-05T09:59:59+00:00"),  # 23:59 there
            ("user.md", "2026-01-05T10:00:01+00:00"),  # the next day there
            ("diary/x.md", "2026-01-06T09:00:00+00:00"),
        ):
            seconds = datetime.fromisoformat(when).timestamp()
            os.utime(folder / path, (seconds, seconds))

        adopt(store, "main", folder, now=clock)

        rows = git(store.gitdir("main"), "log", "--reverse", "--format=%aI %s").splitlines()
        assert rows[1:3] == [
            "2026-01-05T23:59:59+14:00 adopt(soul.md): as it was on 2026-01-05",
            "2026-01-06T23:00:00+14:00 adopt(2 files): as it was on 2026-01-06",
        ]

    @pytest.mark.parametrize("seconds", [0, -5, 2**33], ids=["none", "negative", "future"])
    def test_that_cannot_be_are_now(
        self, store: Store, clock: Clock, tmp_path: Path, seconds: int
    ) -> None:
        folder = lay(tmp_path / "m", {"soul.md": "a\n"})
        os.utime(folder / "soul.md", (seconds, seconds))

        adopt(store, "main", folder, now=clock)

        assert git(store.gitdir("main"), "log", "-1", "--format=%as", "--", "soul.md").strip() == (
            "2026-02-08"
        )
        assert_sound(store)

    def test_of_the_committer_are_now_and_never_run_backwards(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        adopt(store, "main", zylos, now=clock)

        times = git(store.gitdir("main"), "log", "--reverse", "--format=%ct").split()
        assert times == sorted(times)
        assert datetime.fromtimestamp(int(times[0]), UTC).year == 2026


class TestWhatIsLeftOut:
    def test_is_named_with_its_reason(self, store: Store, clock: Clock, zylos: Path) -> None:
        (zylos / ".env").write_text("TZ=UTC\n")
        (zylos / ".obsidian").mkdir()
        (zylos / ".obsidian" / "a.json").write_text("{}")
        (zylos / "notes").mkdir()
        (zylos / "notes" / ".hidden.md").write_text("x")
        (zylos / "link.md").symlink_to("/etc/hostname")
        (zylos / "linked").symlink_to("/etc")
        (zylos / "big.md").write_bytes(b"x" * (MIB + 1))
        (zylos / "just.md").write_bytes(b"x" * MIB)
        os.mkfifo(zylos / "pipe")
        os.link(zylos / "state.md", zylos.parent / "twin.md")
        (zylos / "bad name .md").write_text("x")
        (zylos / "back\\slash.md").write_text("x")

        done = adopt(store, "main", zylos, now=clock)

        assert {each.path: each.why for each in done.left} == {
            ".env": "dot name",
            ".obsidian/": "dot name",
            "notes/.hidden.md": "dot name",
            "link.md": "link",
            "linked": "link",
            "big.md": "too-big",
            "pipe": "special",
            "state.md": "hard-link",
            "back\\slash.md": "path: backslash",
        }
        assert "just.md" in done.taken
        assert "bad name .md" in done.taken
        assert done.missing == ()  # it is there, and left out

    def test_a_hard_link_is_held_as_a_capture_holds_it(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        os.link(zylos / "state.md", zylos.parent / "twin.md")
        (zylos / "key.md").write_text(KEY)
        os.link(zylos / "key.md", zylos.parent / "key-twin.md")
        text = (zylos / "state.md").read_bytes()

        done = adopt(store, "main", zylos, now=clock)

        assert done.held == ("state.md",)
        assert {"state.md", "key.md"} <= {each.path for each in done.left}
        with closing(opened(store)) as group:
            assert status(group).set_aside == 1
            (thing,) = held_list(group)
            assert (thing.path, thing.rule, thing.set_aside) == ("state.md", "hard-link", True)
            assert not (group.worktree / "state.md").exists()
            held_accept(group, thing.id)
            assert (group.worktree / "state.md").read_bytes() == text
            assert held_list(group) == ()
        assert (zylos / "state.md").stat().st_nlink == 2

    def test_in_place_a_hard_link_is_held_where_it_stands(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        os.link(zylos / "state.md", zylos.parent / "twin.md")

        adopt(store, "main", zylos, in_place=True, now=clock)

        with closing(opened(store)) as group:
            (thing,) = held_list(group)
            assert (thing.path, thing.rule, thing.set_aside) == ("state.md", "hard-link", False)

    def test_a_folder_of_hard_links_alone_is_told_the_way(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = tmp_path / "all linked"
        folder.mkdir()
        (folder / "a.md").write_text("one\n")
        os.link(folder / "a.md", tmp_path / "twin.md")

        with pytest.raises(BadInput, match="hard-link") as caught:
            adopt(store, "main", folder, layout="none", now=clock)
        assert caught.value.hint.startswith("every file has a second hard link")
        assert "cp -r '" in caught.value.hint

    def test_a_hard_link_is_no_reason_to_say_that_the_other_files_are_links(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = tmp_path / "it's a vault"
        folder.mkdir()
        (folder / "a.md").write_text("one\n")
        os.link(folder / "a.md", folder / "b.md")
        (folder / "key.md").write_text(f"the key: {KEY}\n")

        with pytest.raises(BadInput) as caught:
            adopt(store, "main", folder, layout="none", now=clock)

        assert caught.value.message.endswith("left out: 2 hard-link, 1 secret")
        assert caught.value.hint.startswith("2 of the files have a second hard link")
        (copying, _) = re.findall(r"`(cp .*?)`, then `gitmem adopt (.*)`", caught.value.hint)[0]
        subprocess.run(["bash", "-c", copying], check=True)
        done = adopt(store, "main", Path(f"{folder}-copy"), layout="none", now=clock)
        assert sorted(done.taken) == ["a.md", "b.md"]

    def test_twins_binary_files_and_odd_frontmatter_are_kept_and_remarked(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        lay(zylos, {"Notes.md": "a\n", "notes.md": "b\n", "é.md": "c\n", "e\u0301.md": "d\n"})
        (zylos / "face.png").write_bytes(b"\x89PNG\0\0")
        (zylos / "bad.md").write_text("---\na: &x 1\nb: *x\n---\n")

        done = adopt(store, "main", zylos, now=clock)

        said = "\n".join(done.remarks)
        assert "Notes.md and notes.md differ only in case" in said
        assert "e\u0301.md and é.md differ only" in said
        assert "face.png is binary" in said
        assert "bad.md" in said
        files = taken_of(opened(store))
        assert (files["Notes.md"], files["notes.md"]) == (b"a\n", b"b\n")
        assert files["face.png"] == b"\x89PNG\0\0"
        assert git(store.gitdir("main"), "fsck", "--strict") == ""

    def test_a_name_that_is_no_utf_8_is_left_out(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        with open(os.fsencode(zylos) + b"/caf\xe9.md", "w") as file:
            file.write("x")

        done = adopt(store, "main", zylos, now=clock)

        assert [each.why for each in done.left] == ["path: not-utf-8"]

    def test_a_link_that_stands_for_the_folder_itself_is_the_folder(
        self, store: Store, clock: Clock, zylos: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "here").symlink_to(zylos)

        assert adopt(store, "main", tmp_path / "here", now=clock).source == str(zylos)


NAMES = st.sampled_from(
    ["a.md", "b/c.md", "b/d.md", ".env", ".git2/x", "b/.x", "l.md", "big.md", "key.md", "f/g/h.md"]
)


@settings(max_examples=25)
@given(names=st.sets(NAMES, min_size=1), links=st.sets(st.sampled_from(["x.md", "b/y.md"])))
def test_what_is_taken_and_what_is_left_out_is_what_was_there(
    tmp_path_factory: pytest.TempPathFactory, names: set[str], links: set[str]
) -> None:
    root = tmp_path_factory.mktemp("law")
    contents = {"big.md": "x" * (MIB + 1), "key.md": f"{KEY}\n"}
    folder = lay(
        root / "m", {"soul.md": "I\n", **{name: contents.get(name, name) for name in names}}
    )
    for name in links:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to("nowhere")
    store = Store(root / "store")

    done = adopt(store, "main", folder, layout="soul")

    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    there |= {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink()}
    out = {each.path for each in done.left}
    assert {each for each in there if not within(each, out)} == set(done.taken)
    assert all(any(within(each, {name}) for each in there) for name in out)
    assert not set(done.taken) & out
    assert taken_of(opened(store)).keys() == {*done.taken, "gitmem.yaml"}


def within(path: str, names: set[str]) -> bool:
    return any(path == name or (name.endswith("/") and path.startswith(name)) for name in names)


def test_a_whole_home_is_no_memory(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitmem.memory.adopt.folder.MOST_FILES", 5)
    folder = lay(tmp_path / "home", {f"{number}.md": "x\n" for number in range(6)})

    with pytest.raises(BadInput, match="more than 5 files"):
        adopt(store, "main", folder, layout="none")
    assert not store.root.exists()


class TestTheLayout:
    def test_that_is_named_is_taken_even_if_it_fits_badly(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        done = adopt(store, "main", zylos, layout="nano", now=clock)

        assert (done.layout, done.sure, done.missing) == ("nano", "chosen", ("SOUL.md",))
        assert layout_of(opened(store)).name == "nano"

    def test_a_file_of_an_old_name_is_told_with_the_command(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = lay(tmp_path / "m", {"MEMORY.md": "x\n", "memory/a.md": "y\n", "CLAUDE.md": "z\n"})

        done = adopt(store, "main", folder, layout="nano", now=clock)

        assert any("CLAUDE.md is called SOUL.md" in each for each in done.remarks)
        assert migrate(opened(store)).renamed == (("CLAUDE.md", "SOUL.md"),)

    def test_none_adds_nothing(self, store: Store, clock: Clock, zylos: Path) -> None:
        done = adopt(store, "main", zylos, layout="none", now=clock)

        assert taken_of(opened(store)).keys() == ZYLOS.keys() == set(done.taken)

    def test_that_does_not_exist_is_refused(self, store: Store, zylos: Path) -> None:
        with pytest.raises(BadInput, match="no layout 'zilos'"):
            adopt(store, "main", zylos, layout="zilos")
        assert not store.root.exists()

    def test_is_never_guessed(self, store: Store, tmp_path: Path) -> None:
        folder = lay(tmp_path / "m", {"diary/2026-01-01.md": "x\n"})

        with pytest.raises(BadInput, match="not clear") as caught:
            adopt(store, "main", folder)
        assert "layout=" in caught.value.hint
        candidates = caught.value.facts["candidates"]
        assert isinstance(candidates, list)
        assert {each["layout"] for each in candidates} >= {"arizuko", "soul"}
        assert not store.root.exists()

    def test_of_a_folder_inside_is_pointed_out(self, store: Store, tmp_path: Path) -> None:
        lay(tmp_path / "home" / "memory", ZYLOS)
        lay(tmp_path / "home", {"package.json": "{}", "index.js": ""})

        with pytest.raises(BadInput) as caught:
            adopt(store, "main", tmp_path / "home")
        assert f"gitmem adopt {tmp_path / 'home' / 'memory'}" in caught.value.hint

    def test_of_its_own_is_kept_even_if_it_is_broken(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        (zylos / "gitmem.yaml").write_text("gitmem: 7\n")

        done = adopt(store, "main", zylos, now=clock)

        assert taken_of(opened(store))["gitmem.yaml"] == b"gitmem: 7\n"
        assert "cannot be used" in " ".join(done.remarks)

    def test_brings_no_template_into_somebodys_memory(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = lay(tmp_path / "m", {"identity.md": "I\n", "sessions/current.md": "s\n"})

        done = adopt(store, "main", folder, layout="zylos", now=clock)

        assert taken_of(opened(store)).keys() == {
            "identity.md", "sessions/current.md", "gitmem.yaml",
        }  # fmt: skip
        assert done.missing == ("state.md", "references.md")


class TestDryRun:
    def test_changes_nothing_at_all(self, store: Store, clock: Clock, zylos: Path) -> None:
        before = stand(zylos.parent)

        done = adopt(store, "main", zylos, dry_run=True, now=clock)

        assert done.dry_run
        assert stand(zylos.parent) == before
        assert not store.root.exists()

    @pytest.mark.parametrize("in_place", [False, True])
    def test_says_what_is_done_afterwards(
        self, store: Store, clock: Clock, zylos: Path, in_place: bool
    ) -> None:
        told = adopt(store, "main", zylos, in_place=in_place, dry_run=True, now=clock)
        done = adopt(store, "main", zylos, in_place=in_place, now=clock)

        assert done._replace(commit="", dry_run=True) == told

    def test_of_a_history_counts_as_it_will_be(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = with_secrets(tmp_path / "m")
        before = stand(tmp_path)

        told = adopt(store, "main", folder, dry_run=True, now=clock)

        assert stand(tmp_path) == before
        done = adopt(store, "main", folder, now=clock)
        assert done._replace(commit="", dry_run=True) == told
        kept = git(store.gitdir("main"), "log", "--format=%an").count("Author")
        assert kept == told.commits


class TestTheGroup:
    def test_may_be_there_and_empty(self, store: Store, clock: Clock, zylos: Path) -> None:
        init(store, "main", now=clock)

        assert len(adopt(store, "main", zylos, now=clock).taken) == len(ZYLOS)
        assert_sound(store)

    def test_that_has_files_is_not_mixed(self, store: Store, clock: Clock, zylos: Path) -> None:
        init(store, "main", now=clock)
        group = opened(store)
        tip = put(group, "a.md", "mine\n").commit

        with pytest.raises(Conflict, match="has files;") as caught:
            adopt(store, "main", zylos, now=clock)

        assert "-g NAME" in caught.value.hint
        assert group.repository.tip() == tip

    def test_whose_files_are_not_committed_yet_is_not_mixed_either(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        init(store, "main", now=clock)
        (store.default_worktree("main") / "identity.md").write_text("mine\n")

        with pytest.raises(Conflict):
            adopt(store, "main", zylos, now=clock)
        assert (store.default_worktree("main") / "identity.md").read_text() == "mine\n"

    def test_that_is_lost_but_left_its_files_is_not_mixed(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        lay(store.default_worktree("main"), {"identity.md": "mine\n"})

        with pytest.raises(Conflict):
            adopt(store, "main", zylos, now=clock)
        assert store.names() == []

    @pytest.mark.parametrize("in_place", [False, True])
    def test_that_has_this_folder_already_says_so(
        self, store: Store, clock: Clock, zylos: Path, in_place: bool
    ) -> None:
        first = adopt(store, "main", zylos, in_place=in_place, now=clock)

        again = adopt(store, "main", zylos, in_place=in_place, now=clock)

        assert (again.already, again.commit) == (True, first.commit)
        assert set(again.taken) == {*first.taken, "gitmem.yaml"}
        put(opened(store), "later.md", "x\n")
        assert adopt(store, "main", zylos, in_place=in_place, now=clock).already

    def test_that_another_may_not_touch_is_refused(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        with pytest.raises(GroupRefused):
            adopt(store, "theirs", zylos, acting="mine", now=clock)
        assert not store.root.exists()

    def test_of_another_cannot_be_read_through_a_planted_git_file(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        init(store, "theirs", now=clock)
        put(opened(store, "theirs"), "soul.md", "their own business\n")
        trap = lay(tmp_path / "trap", {"soul.md": "x\n"})
        (trap / ".git").write_text(f"gitdir: {store.gitdir('theirs')}\n")

        with pytest.raises(GroupRefused):
            adopt(store, "mine", trap, acting="mine", now=clock)
        (trap / ".git").unlink()
        git(trap, "init", "-q")
        borrowed = trap / ".git" / "objects" / "info" / "alternates"
        borrowed.write_text(f"{store.gitdir('theirs')}/objects\n")
        with pytest.raises(GroupRefused):
            adopt(store, "mine", trap, acting="mine", now=clock)

    def test_of_another_with_its_work_tree_elsewhere_is_left_alone(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        adopt(store, "theirs", zylos, in_place=True, now=clock)

        for source in (zylos, zylos / "reference", zylos.parent):
            with pytest.raises((GroupRefused, Conflict)):
                adopt(store, "mine", source, layout="zylos", now=clock)
            with pytest.raises((GroupRefused, Conflict)) as caught:
                adopt(store, "mine", source, layout="zylos", acting="mine", now=clock)
            assert "theirs" not in str(caught.value)
        assert store.names() == ["theirs"]


class TestFoldersThatCannotBe:
    def test_the_store_and_the_folder_lie_apart(self, store: Store, tmp_path: Path) -> None:
        init(store, "main")
        for source in (store.root, store.root / "groups" / "main", tmp_path):
            with pytest.raises(Conflict, match="within each other"):
                adopt(store, "new", source)
        assert store.names() == ["main"]

    def test_missing_a_file_or_empty(self, store: Store, tmp_path: Path) -> None:
        (tmp_path / "file.md").write_text("x")
        (tmp_path / "empty").mkdir()
        (tmp_path / "dots").mkdir()
        (tmp_path / "dots" / ".env").write_text("x")
        (tmp_path / "loop").symlink_to("loop")

        with pytest.raises(NotFound, match="no folder"):
            adopt(store, "main", tmp_path / "nothing")
        with pytest.raises(BadInput, match="not a folder"):
            adopt(store, "main", tmp_path / "file.md")
        with pytest.raises(BadInput, match="nothing to adopt"):
            adopt(store, "main", tmp_path / "empty")
        with pytest.raises(BadInput, match="left out: 1 dot name"):
            adopt(store, "main", tmp_path / "dots")
        with pytest.raises(GitmemError):
            adopt(store, "main", tmp_path / "loop")
        assert not store.root.exists()


class TestInPlace:
    def test_an_agent_goes_on_editing_under_history(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        adopt(store, "main", zylos, in_place=True, now=clock)
        with (zylos / "sessions" / "current.md").open("a") as file:
            file.write("- 14:02 deployed\n")
        (zylos / "reference" / "ideas.md").unlink()
        (zylos / "users" / "bob").mkdir()
        (zylos / "users" / "bob" / "profile.md").write_text("new\n")

        group = Group(store, "main", who=Who("ada"), now=clock)
        captured = capture(group).captured

        assert {each.path for each in captured} == {
            "sessions/current.md", "reference/ideas.md", "users/bob/profile.md",
        }  # fmt: skip
        assert git(zylos, "status", "--porcelain") == ""
        assert git(zylos, "log", "-1", "--format=%as", "--", "identity.md").strip() == "2026-01-01"
        put(group, "state.md", "written by us\n")
        assert (zylos / "state.md").read_text() == "written by us\n"
        assert_sound(store)

    def test_a_version_that_may_not_enter_stands_over_an_older_one_that_may(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        project = history(tmp_path / "project", ("memory", {"memory/soul.md": "clean\n"}))
        folder = project / "memory"
        (folder / "soul.md").write_text(f"clean\n{KEY}\n")

        done = adopt(store, "main", folder, in_place=True, now=clock)

        assert done.left[0][:2] == ("soul.md", "secret: aws-key-id, line 2")
        assert (folder / "soul.md").read_text() == f"clean\n{KEY}\n"
        group = opened(store)
        assert taken_of(group)["soul.md"] == b"clean\n"
        assert [each.path for each in pending_edits(group).held] == ["soul.md"]
        assert KEY.encode() not in git_bytes(
            group.gitdir, "cat-file", "--batch-all-objects", "--batch"
        )

    def test_a_repository_around_it_ignores_it(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        project = history(tmp_path / "project", ("code", {"main.py": "x\n"}))
        folder = lay(project / "memories", SYSTEMS["soul"])

        done = adopt(store, "main", folder, in_place=True, now=clock)

        assert done.excluded_in == str(project / ".git" / "info" / "exclude")
        assert "/memories/" in Path(done.excluded_in).read_text().splitlines()
        assert git(project, "status", "--porcelain") == ""
        adopt(store, "main", folder, in_place=True, now=clock)
        assert Path(done.excluded_in).read_text().count("/memories/") == 1

    def test_a_repository_itself_is_refused_and_unchanged(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = history(tmp_path / "m", ("a", {"soul.md": "1\n"}))
        before = {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}

        with pytest.raises(Conflict, match="is a git repository") as caught:
            adopt(store, "main", folder, in_place=True, now=clock)

        assert "leave out in_place=True" in caught.value.hint
        assert {path: path.lstat().st_mtime_ns for path in folder.rglob("*")} == before
        assert not store.root.exists()

    def test_a_copy_and_a_work_tree_are_two_things(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        adopt(store, "main", zylos, now=clock)

        with pytest.raises(Conflict, match="has its files in"):
            adopt(store, "main", zylos, in_place=True, now=clock)
        assert not (zylos / ".git").exists()

    def test_an_edit_between_reading_and_landing_stays_an_edit(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        rounds = count()

        def edit(done: int, total: int) -> None:
            if next(rounds) == len(ZYLOS) + 2:  # everything is read, and is being written
                (zylos / "state.md").write_text("meanwhile\n")

        adopt(store, "main", zylos, in_place=True, now=clock, progress=edit)

        assert (zylos / "state.md").read_text() == "meanwhile\n"
        group = opened(store)
        assert [each.path for each in pending_edits(group).edits] == ["state.md"]
        capture(group)
        assert taken_of(group)["state.md"] == b"meanwhile\n"
        assert_sound(store)


def test_a_file_that_changes_while_it_is_read_is_read_again(
    store: Store, clock: Clock, tmp_path: Path
) -> None:
    folder = lay(tmp_path / "m", {"soul.md": "a" * 500_000, "user.md": "u\n"})
    stop = threading.Event()

    def rewrite() -> None:
        while not stop.is_set():
            for letter in "bc":
                (folder / "soul.md").write_text(letter * 500_000)
                time.sleep(0.003)

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        for number in range(3):
            adopt(store, f"g{number}", folder, now=clock)
            data = taken_of(opened(store, f"g{number}"))["soul.md"]
            assert len(set(data)) == 1
            assert len(data) == 500_000
    finally:
        stop.set()
        writer.join()


def adopt_many(store: Store, clock: Clock, folder: Path, number: int) -> None:
    names = {f"facts/{each % 50}/{each}.md": f"fact {each}\n" for each in range(number)}
    lay(folder, {"diary/20260101.md": "d\n", "users/a.md": "u\n", **names})
    seen: list[tuple[int, int]] = []

    done = adopt(
        store, "main", folder, layout="arizuko", now=clock,
        progress=lambda now, total: seen.append((now, total)),
    )  # fmt: skip

    assert len(done.taken) == number + 2
    assert (number + 2, number + 2) in seen
    assert not done.pending
    listed = git(store.gitdir("main"), "ls-tree", "-r", "--name-only", "main")
    assert listed.count("\n") == number + 3
    assert git(store.default_worktree("main"), "status", "--porcelain") == ""


def test_many_files_are_told_as_they_go(store: Store, clock: Clock, tmp_path: Path) -> None:
    adopt_many(store, clock, tmp_path / "m", 300)


@pytest.mark.slow
def test_five_thousand_files_are_no_trouble(store: Store, clock: Clock, tmp_path: Path) -> None:
    adopt_many(store, clock, tmp_path / "m", 5000)


def die_while(voice: Voice, store: str, folder: str, in_place: bool, step: int) -> None:
    """Adopt, and die at the STEP-th thing that is told or reached."""
    points = count(1)

    def reached(point: object, *_: object) -> None:
        if next(points) == step:
            voice.say("dies", str(point))
            os.kill(os.getpid(), signal.SIGKILL)

    gitmem.store.fault_points.reached = reached
    adopt(Store(Path(store)), "main", Path(folder), in_place=in_place, progress=reached)
    voice.say("adopted")


def kill_at(tmp_path: Path, in_place: bool, step: int) -> bool:
    """Kill an adoption at a step, then try again; False when there are not so many steps."""
    files = {"soul.md": "I\n", "user.md": "u\n", "diary/2026-01-01T10-00-00.md": "d\n"}
    folder, store = lay(tmp_path / f"m{step}", files), Store(tmp_path / f"store{step}")
    before = stand(folder)
    said = alone(die_while, str(store.root), str(folder), in_place, step)
    after = stand(folder)
    assert {path: after[path] for path in before} == before
    new = after.keys() - before.keys() - {"gitmem.yaml"}
    assert all(Path(path).name.startswith(".gitmem-") for path in new)

    done = adopt(store, "main", folder, in_place=in_place)

    group = opened(store)
    assert done.already or len(done.taken) == 3
    assert texts(taken_of(group)) == {**files, "gitmem.yaml": starter("soul")}
    assert git(group.worktree, "status", "--porcelain") == ""
    assert {path: stand(folder)[path] for path in before} == before
    assert [each.time.day for each in log(group)[-4:-1]] == [3, 2, 1]
    assert git(group.gitdir, "fsck", "--strict", "--no-dangling") == ""
    assert not list(group.worktree.rglob(".gitmem-*"))
    group.close()
    return bool(said[0][0] != "adopted")


@pytest.mark.parametrize("in_place", [False, True], ids=["copy", "in place"])
def test_killed_at_some_steps_nothing_is_lost_and_a_second_try_succeeds(
    tmp_path: Path, in_place: bool
) -> None:
    assert all(kill_at(tmp_path, in_place, step) for step in (2, 4, 6, 8, 9, 10, 11, 12))


@pytest.mark.slow
@pytest.mark.parametrize("in_place", [False, True], ids=["copy", "in place"])
def test_killed_at_any_step_nothing_is_lost_and_a_second_try_succeeds(
    tmp_path: Path, in_place: bool
) -> None:
    steps = next(step for step in count(1) if not kill_at(tmp_path, in_place, step))
    assert steps > 12


def starter(name: str) -> str:
    return starter_files(name)["gitmem.yaml"].decode()


class TestTimeZone:
    """The `.env` of the adopted system says in which zone its days begin."""

    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        return tmp_path / "zylos"

    def adopted(self, store: Store, clock: Clock, home: Path, env: str, **options: str) -> Adopted:
        lay(home / "memory", ZYLOS)
        (home / ".env").write_text(env)
        return adopt(store, "main", home / "memory", now=clock, **options)

    @pytest.mark.parametrize(
        "line",
        [
            "TZ=Asia/Tokyo",
            "TZ='Asia/Tokyo'",
            'export TZ="Asia/Tokyo"  # here',
            "TZ=:Asia/Tokyo",
            "TZ=UTC\nTZ = Asia/Tokyo",
        ],
    )
    def test_it_becomes_that_of_the_group(
        self, store: Store, clock: Clock, home: Path, line: str
    ) -> None:
        done = self.adopted(store, clock, home, f"TOKEN={KEY}\n{line}\n")

        assert (done.timezone, done.timezone_from) == ("Asia/Tokyo", str(home / ".env"))
        group = opened(store)
        layout = layout_of(group)
        assert (layout.name, layout.timezone) == ("zylos", "Asia/Tokyo")
        assert str(group.now().tzinfo) == "Asia/Tokyo"
        assert KEY not in repr(done)
        assert not any(KEY.encode() in data for data in taken_of(group).values())
        assert not any(".env" in path for path in taken_of(group))
        group.close()
        assert_sound(store)

    def test_one_in_the_folder_itself_comes_first(
        self, store: Store, clock: Clock, home: Path
    ) -> None:
        lay(home / "memory", {".env": "TZ=Europe/Berlin\n"})
        done = self.adopted(store, clock, home, "TZ=Asia/Tokyo\n")
        assert (done.timezone, done.timezone_from) == (
            "Europe/Berlin",
            str(home / "memory" / ".env"),
        )

    @pytest.mark.parametrize("env", ["", "TZ=\n", "LTZ=Asia/Tokyo\n", "# TZ=Asia/Tokyo\n"])
    def test_without_one_nothing_is_said(
        self, store: Store, clock: Clock, home: Path, env: str
    ) -> None:
        done = self.adopted(store, clock, home, env)
        assert (done.timezone, done.remarks) == ("", ())
        assert layout_of(opened(store)).timezone == ""

    @pytest.mark.parametrize("zone", ["Mars/Olympus", "CET-1CEST", "../../etc/passwd", "a: b"])
    def test_one_that_there_is_not_is_said_and_stops_nothing(
        self, store: Store, clock: Clock, home: Path, zone: str
    ) -> None:
        done = self.adopted(store, clock, home, f"TZ={zone}\n")
        assert done.timezone == ""
        assert f"TZ={zone} in {home / '.env'} is no known time zone" in done.remarks[0]
        assert layout_of(opened(store)).timezone == ""

    def test_a_layout_that_names_one_keeps_it(
        self, store: Store, clock: Clock, home: Path, tmp_path: Path
    ) -> None:
        text = starter_files("zylos")["gitmem.yaml"].decode()
        mine = text.replace("gitmem: 1\n", "gitmem: 1\ntimezone: Europe/Rome\n")
        lay(tmp_path / "mine", {"layout.yaml": mine})
        done = self.adopted(store, clock, home, "TZ=Asia/Tokyo\n", layout=str(tmp_path / "mine"))
        assert (done.timezone, done.remarks) == ("", ())
        assert layout_of(opened(store)).timezone == "Europe/Rome"

    @pytest.mark.parametrize("own", ["gitmem: 1\nlayout: mine\n", ""])
    def test_where_there_is_no_place_for_it_the_user_is_told(
        self, store: Store, clock: Clock, home: Path, own: str
    ) -> None:
        options = {} if own else {"layout": "none"}
        if own:
            lay(home / "memory", {"gitmem.yaml": own})
        done = self.adopted(store, clock, home, "TZ=Asia/Tokyo\n", **options)
        assert done.timezone == ""
        assert "add `timezone: Asia/Tokyo`" in done.remarks[0]

    def test_a_pipe_or_a_folder_in_its_place_is_passed_over(
        self, store: Store, clock: Clock, home: Path
    ) -> None:
        lay(home / "memory", ZYLOS)
        os.mkfifo(home / "memory" / ".env")
        (home / ".env").mkdir()
        assert adopt(store, "main", home / "memory", now=clock).timezone == ""
