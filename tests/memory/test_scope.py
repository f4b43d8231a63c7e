"""A group in a folder where somebody also works: only memory is memory there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitmem.errors import PathRefused, Refused
from gitmem.integrations.doctor.machine import store_faults
from gitmem.memory.admin.check import check
from gitmem.memory.admin.init import init
from gitmem.memory.adopt.adopt import adopt
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.layouts import shipped, shipped_layout
from gitmem.memory.read.status import status
from gitmem.memory.recover.held import held_accept, held_list
from gitmem.memory.recover.ignore import held_ignore
from gitmem.memory.upkeep.maintain import maintain
from gitmem.memory.write.capture import capture
from gitmem.memory.write.count_edits import count_edits, is_unchanged
from gitmem.memory.write.move import move, remove
from gitmem.memory.write.open_edits import pending_edits
from gitmem.model.layout.layout import Layout
from gitmem.model.scope import scope_of
from gitmem.store.worktree.scope import exclude_rest
from tests.support.adopting import KEY, assert_sound, taken_of, texts
from tests.support.clocks import Clock
from tests.support.git import git
from tests.support.histories import put
from tests.support.memories import ZYLOS, history, lay
from tests.support.workspaces import MEMORY, WORK, opened_names, work_beside, workspace


@pytest.fixture
def zylos(tmp_path: Path) -> Path:
    return workspace(tmp_path / "zylos")


@pytest.fixture
def group(store: Store, clock: Clock, zylos: Path) -> Iterator[Group]:
    """The workspace, adopted in place."""
    adopt(store, "main", zylos, in_place=True, now=clock)
    opened = Group(store, "main", who=Who("ada"), now=clock)
    yield opened
    opened.close()


def names(group: Group) -> set[str]:
    return set(taken_of(group))


def relayout(group: Group, keys: str) -> None:
    """Add KEYS to the layout."""
    text = texts(taken_of(group))["gitmem.yaml"]
    put(group, "gitmem.yaml", text.replace("gitmem: 1\n", f"gitmem: 1\n{keys}\n", 1))


class TestAdoptingInPlace:
    @pytest.mark.parametrize("name", MEMORY)
    def test_takes_what_the_layers_name_and_nothing_else(
        self, store: Store, clock: Clock, tmp_path: Path, name: str
    ) -> None:
        folder = workspace(tmp_path / "work", name)
        done = adopt(store, "main", folder, in_place=True, now=clock)

        assert (done.layout, done.sure) == (name, "certain")
        assert set(done.taken) == MEMORY[name].keys()
        assert (done.left, done.held, done.remarks) == ((), (), ())
        tops = {path.partition("/")[0] + "/" * ("/" in path) for path in work_beside(name)}
        assert set(done.outside) == tops
        group = Group(store, "main", now=clock)
        assert names(group) == {*MEMORY[name], "gitmem.yaml"}
        assert git(folder, "status", "--porcelain", "--untracked-files=all") == ""
        assert not any(count_edits(group, group.repository.snapshot()))
        group.close()
        assert_sound(store)

    def test_does_not_look_into_what_is_no_memory(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        with opened_names() as seen:
            adopt(store, "main", zylos, in_place=True, now=clock)
        assert not {each for each in seen if "node_modules" in each or "src" in each.split("/")}

    def test_more_files_beside_than_a_memory_may_have_are_no_reason_to_refuse(
        self, store: Store, clock: Clock, zylos: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("gitmem.memory.adopt.folder.MOST_FILES", 20)
        assert adopt(store, "main", zylos, in_place=True, now=clock).taken

    @pytest.mark.parametrize("own", [False, True])
    def test_a_copy_of_a_workspace_takes_memory_alone(
        self, store: Store, clock: Clock, tmp_path: Path, own: bool
    ) -> None:
        folder = tmp_path / "work"
        if own:
            history(folder, ("begin", {**ZYLOS, **WORK}))
        else:
            lay(folder, {**ZYLOS, **WORK})
        done = adopt(store, "main", folder, now=clock)
        assert set(done.taken) == ZYLOS.keys()
        assert {"src/", "package.json"} <= set(done.outside)
        group = Group(store, "main", now=clock)
        assert names(group) == {*ZYLOS, "gitmem.yaml"}
        assert git(group.worktree, "log", "--format=%s", "--", "src") == ""
        group.close()

    def test_a_copy_without_a_layout_takes_all(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        done = adopt(store, "main", zylos, layout="none", now=clock)
        assert {"src/main.ts", "package.json", "state.md"} <= set(done.taken)
        assert done.outside == ()

    def test_a_copy_of_notes_beside_the_layers_takes_all(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        more = {"ideas/boat.md": "x\n", "list.txt": "x\n", "data.json": "{}\n"}
        done = adopt(store, "main", lay(tmp_path / "notes", {**ZYLOS, **more}), now=clock)
        assert set(done.taken) == {*ZYLOS, *more}

    def test_a_copy_of_a_workspace_too_big_to_read_takes_memory_alone(
        self, store: Store, clock: Clock, zylos: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("gitmem.memory.adopt.folder.MOST_FILES", 20)
        assert set(adopt(store, "main", zylos, now=clock).taken) == ZYLOS.keys()

    def test_the_history_of_a_project_around_it_brings_only_memory(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        history(
            tmp_path / "project",
            ("begin", {f"bot/{path}": text for path, text in {**ZYLOS, **WORK}.items()}),
            ("work", {"bot/src/main.ts": "changed\n"}),
            ("remember", {"bot/state.md": "# State\n\nBusy.\n"}),
        )
        done = adopt(store, "main", tmp_path / "project/bot", in_place=True, now=clock)
        group = Group(store, "main", now=clock)
        assert set(done.taken) == ZYLOS.keys()
        assert done.commits == 2
        assert git(group.worktree, "log", "--format=%s", "--", "src") == ""
        group.close()

    def test_a_layout_of_its_own_decides(self, store: Store, clock: Clock, zylos: Path) -> None:
        layout = "gitmem: 1\nlayout: mine\nlayers:\n  all: {kind: notes, path: 'src/**'}\n"
        (zylos / "gitmem.yaml").write_text(layout)
        done = adopt(store, "main", zylos, in_place=True, now=clock)
        assert {"src/main.ts", "src/lib/deep/er/util.ts"} <= set(done.taken)
        assert not {"state.md", "package.json"} & set(done.taken)

    def test_a_broken_layout_of_its_own_takes_no_workspace_in(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        (zylos / "gitmem.yaml").write_text("gitmem: 1\nlayers: 5\n")
        adopt(store, "main", zylos, in_place=True, now=clock)
        group = Group(store, "main", now=clock)
        assert names(group) == {"gitmem.yaml"}
        assert pending_edits(group).edits == ()
        group.close()


class TestOutside:
    def test_nothing_is_captured_counted_held_or_shown(
        self, group: Group, zylos: Path, clock: Clock
    ) -> None:
        (zylos / "src/main.ts").write_text(f"const key = '{KEY}'\n")
        (zylos / "src/new.ts").write_text("new\n")
        (zylos / "notes.md").write_text("scratch\n")
        (zylos / ".env").write_text("TOKEN=1\n")
        snapshot = group.repository.snapshot()

        assert is_unchanged(group, snapshot)
        scan = pending_edits(group)
        assert (scan.edits, scan.held, scan.ignored) == ((), (), 0)
        done = capture(group)
        assert (done.captured, done.held, done.ignored) == ((), (), 0)
        found = status(group)
        assert (found.edits, found.held, found.ignored) == ((), (), 0)
        maintain(group)
        assert check(group).findings == ()
        assert group.repository.snapshot().commit == snapshot.commit
        assert git(zylos, "status", "--porcelain", "--untracked-files=all") == ""

    @pytest.mark.parametrize("what", [capture, status, maintain, check, pending_edits])
    def test_no_folder_is_entered(self, group: Group, zylos: Path, what: object) -> None:
        (zylos / "state.md").write_text("edited\n")
        with opened_names() as seen:
            what(group)  # type: ignore[operator]
        assert not {each for each in seen if "node_modules" in each or "src" in each.split("/")}

    def test_an_edit_of_memory_is_found_as_ever(self, group: Group, zylos: Path) -> None:
        (zylos / "state.md").write_text("edited\n")
        lay(zylos, {"users/bob/profile.md": "# Bob\n", "archive/2025-11.md": "old\n"})
        (zylos / "reference/ideas.md").unlink()
        os.symlink("/etc/passwd", zylos / "sessions/2026-02-01.md")

        done = capture(group)

        assert {each.path for each in done.captured} == {
            "state.md", "users/bob/profile.md", "archive/2025-11.md", "reference/ideas.md",
        }  # fmt: skip
        assert [each.path for each in done.held] == ["sessions/2026-02-01.md"]

    def test_a_file_beside_those_of_a_layer_is_none_of_them(
        self, group: Group, zylos: Path
    ) -> None:
        lay(
            zylos, {"users/ada/photo.txt": "x", "reference/readme.txt": "x", "sessions/x/y.md": "x"}
        )
        assert capture(group).captured == ()

    def test_to_capture_it_by_name_says_what_to_do(self, group: Group, zylos: Path) -> None:
        with pytest.raises(PathRefused, match=r"'src/main\.ts' is outside the memory") as caught:
            capture(group, ["src/main.ts"], must_exist=True)
        assert "include:" in caught.value.hint
        assert capture(group, [str(zylos / "src/main.ts")]).captured == ()

    def test_a_file_that_leaves_memory_by_hand_is_gone_from_it(
        self, group: Group, zylos: Path
    ) -> None:
        (zylos / "reference/ideas.md").rename(zylos / "src/lib/ideas.md")
        (zylos / "state.md").unlink()
        assert {(each.path, each.moved_to) for each in status(group).edits} == {
            ("reference/ideas.md", "src/lib/ideas.md"), ("state.md", ""),
        }  # fmt: skip
        done = capture(group, reason="tidy").captured
        assert {(each.path, each.moved_to) for each in done} == {
            ("reference/ideas.md", "src/lib/ideas.md"), ("state.md", ""),
        }  # fmt: skip
        said = git(zylos, "log", "-1", "--format=%B", "--", "reference/ideas.md")
        assert "tidy (moved to src/lib/ideas.md, outside memory)" in said
        assert "moved to" not in git(zylos, "log", "-1", "--format=%B", "--", "state.md")
        assert "reference/ideas.md" not in names(group)
        assert (zylos / "src/lib/ideas.md").exists()

    def test_a_file_that_left_is_not_looked_for_without_end(
        self, group: Group, zylos: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("gitmem.store.worktree.scope.MOST_NAMES", 3)
        (zylos / "reference/ideas.md").rename(zylos / "src/lib/ideas.md")
        assert [each.moved_to for each in pending_edits(group).edits] == [""]

    def test_a_pattern_of_held_ignore_counts_among_memory_alone(
        self, group: Group, zylos: Path
    ) -> None:
        lay(zylos, {"users/bob/profile.md": "# Bob\n"})
        done = held_ignore(group, "*.md")
        assert done.paths == ("users/bob/profile.md",)
        assert pending_edits(group).ignored_by_pattern == 1
        assert git(zylos, "status", "--porcelain", "--untracked-files=all") == ""

    def test_a_repair_takes_in_no_workspace(self, group: Group, zylos: Path, store: Store) -> None:
        (zylos / "state.md").write_text("edited\n")
        branch = store.gitdir("main") / "refs/heads/main"
        branch.write_text("0" * 40 + "\n")
        check(group, repair=True)
        again = Group(store, "main")
        assert names(again) <= {*ZYLOS, "gitmem.yaml"}
        assert (zylos / "state.md").read_text() == "edited\n"
        again.close()


class TestKeys:
    def test_include_adds_and_ignore_takes_away(self, group: Group, zylos: Path) -> None:
        relayout(
            group, 'include: [notes/, README.md, "src/*.md"]\nignore: ["**/draft-*", users/bob/]'
        )
        lay(zylos, {
            "notes/a.md": "x", "notes/deep/b.txt": "x", "notes/draft-c.md": "x", "src/plan.md": "x",
            "users/bob/profile.md": "x", "users/cyd/profile.md": "x",
        })  # fmt: skip

        found = {each.path for each in capture(group).captured}

        assert found == {
            "notes/a.md", "notes/deep/b.txt", "README.md", "src/plan.md", "users/cyd/profile.md",
        }  # fmt: skip
        assert git(zylos, "status", "--porcelain", "--untracked-files=all") == ""

    def test_what_git_has_is_memory_whatever_they_say(self, group: Group, zylos: Path) -> None:
        relayout(group, 'ignore: [users/, "state.md"]')
        (zylos / "state.md").write_text("edited\n")
        (zylos / "users/ada/profile.md").write_text("edited\n")
        (zylos / "users/default/profile.md").unlink()
        found = {each.path for each in capture(group).captured}
        assert found == {"state.md", "users/ada/profile.md", "users/default/profile.md"}

    def test_a_layout_changed_by_hand_counts_at_once(self, group: Group, zylos: Path) -> None:
        text = (zylos / "gitmem.yaml").read_text()
        (zylos / "gitmem.yaml").write_text(f"{text}include: [notes/]\n")
        lay(zylos, {"notes/a.md": "x"})
        assert {each.path for each in capture(group).captured} == {"gitmem.yaml", "notes/a.md"}

    def test_an_ignore_counts_for_the_capture_that_brings_it(
        self, group: Group, zylos: Path
    ) -> None:
        text = (zylos / "gitmem.yaml").read_text()
        (zylos / "gitmem.yaml").write_text(f"{text}ignore: [users/bob/, state.md]\n")
        lay(zylos, {"users/bob/profile.md": "private\n"})
        done = capture(group)
        assert [each.path for each in done.captured] == ["gitmem.yaml"]
        assert done.still_memory == ("state.md",)
        assert capture(group).still_memory == ()
        assert status(group).still_memory == ("state.md",)

    def test_an_edited_layout_that_cannot_be_read_changes_nothing(
        self, group: Group, zylos: Path
    ) -> None:
        (zylos / "gitmem.yaml").write_text("gitmem: 1\nlayers: [\n")
        lay(zylos, {"users/bob/profile.md": "x\n", "src/new.ts": "x\n"})
        assert "users/bob/profile.md" in {each.path for each in capture(group).captured}
        assert "src/new.ts" not in names(group)

    def test_git_takes_an_ignored_file_out_of_memory_and_leaves_it_there(
        self, group: Group, zylos: Path
    ) -> None:
        relayout(group, "ignore: [state.md]")
        git(zylos, "rm", "-q", "--cached", "state.md")
        git(zylos, "commit", "-qm", "Ignore it")
        (zylos / "state.md").write_text("private\n")
        assert capture(group).captured == ()
        assert "state.md" not in names(group)
        assert status(group).still_memory == ()

    def test_in_the_store_everything_is_memory(self, store: Store, clock: Clock) -> None:
        init(store, "main", layout="zylos", now=clock)
        group = Group(store, "main", now=clock)
        lay(group.worktree, {**WORK, ".gitignore": "src/\n"})
        assert {each.path for each in capture(group).captured} == WORK.keys()
        group.close()


class TestLeftOutside:
    """Edits that wait while the layout changes are named: nobody would capture them later."""

    @pytest.fixture
    def waiting(self, group: Group, zylos: Path) -> str:
        """A layout that no longer names two new files."""
        relayout(group, "include: [notes/]")
        lay(zylos, {"notes/a.md": "x\n", "notes/b.md": "x\n", "users/bob/profile.md": "x\n"})
        assert group.take_rejoined() == ()
        return shipped_layout_text("zylos")

    @pytest.mark.parametrize("by", ["write", "hand", "git"])
    def test_are_named_whoever_changes_it(
        self, group: Group, zylos: Path, waiting: str, by: str
    ) -> None:
        if by == "write":
            put(group, "gitmem.yaml", waiting)
        else:
            (zylos / "gitmem.yaml").write_text(waiting)
            if by == "git":
                git(zylos, "commit", "-qam", "by hand")
            capture(group)
        assert [each.paths for each in group.left_outside] == [("notes/a.md", "notes/b.md")]
        (told,) = group.take_rejoined()
        assert "`include:`" in told
        put(group, "state.md", "# State\n\nTwo.\n")
        assert group.take_rejoined() == ()
        assert (zylos / "notes/a.md").exists()

    def test_what_ignore_names_is_no_news(self, group: Group, zylos: Path, waiting: str) -> None:
        put(group, "gitmem.yaml", f"{waiting}ignore: [notes/]\n")
        assert group.take_rejoined() == ()

    def test_a_first_layout_names_them_too(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = lay(tmp_path / "work", {"state.md": "x\n"})
        init(store, "main", worktree=folder, now=clock)
        group = Group(store, "main", now=clock)
        lay(folder, {"plan.md": "x\n"})
        put(group, "gitmem.yaml", shipped_layout_text("zylos"))
        assert [each.paths for each in group.left_outside] == [("plan.md",)]
        group.close()

    def test_an_adoption_has_none(self, group: Group) -> None:
        assert group.take_rejoined() == ()


class TestGitignore:
    @pytest.mark.parametrize("rule", ["users/", "users/*", "profile.md"])
    def test_a_layer_that_it_hides_is_named(
        self, store: Store, clock: Clock, zylos: Path, rule: str
    ) -> None:
        (zylos / ".gitignore").write_text(f"{rule}\n")
        done = adopt(store, "main", zylos, in_place=True, now=clock)
        assert any("include: [users/]" in each for each in done.remarks)
        group = Group(store, "main", now=clock)
        found = status(group)
        assert found.gitignored == ("users/",)
        assert (found.health, found.concerns[-1]) == ("attention", "users/ hidden by .gitignore")
        assert [each.code for each in store_faults(store, "main")] == ["layer-ignored"]
        relayout(group, "include: [users/]")
        capture(group)
        assert status(group).gitignored == ()
        group.close()

    def test_a_rule_about_some_files_of_a_layer_is_nothing_to_report(
        self, group: Group, zylos: Path
    ) -> None:
        (zylos / ".gitignore").write_text("users/bob/\n")
        lay(zylos, {"users/bob/profile.md": "x\n"})
        assert status(group).gitignored == ()

    def test_what_it_names_is_no_memory(self, group: Group, zylos: Path) -> None:
        (zylos / ".gitignore").write_text("*.tmp.md\nsessions/2026-01-*\n!sessions/2026-01-31.md\n")
        lay(zylos, {
            "archive/x.tmp.md": "x", "sessions/2026-01-30.md": "x", "sessions/2026-01-31.md": "x",
            "archive/.gitignore": "/deep/\n", "archive/deep/a.md": "x", "archive/a/deep/b.md": "x",
        })  # fmt: skip
        found = {each.path for each in capture(group).captured}
        assert found == {"sessions/2026-01-31.md", "archive/a/deep/b.md"}
        assert pending_edits(group).held == ()

    def test_what_git_has_and_what_include_names_stays_memory(
        self, group: Group, zylos: Path
    ) -> None:
        relayout(group, "include: [notes/]")
        (zylos / ".gitignore").write_text("*\n")
        lay(zylos, {"notes/a.md": "x", "users/bob/profile.md": "x"})
        (zylos / "state.md").write_text("edited\n")
        assert {each.path for each in capture(group).captured} == {"notes/a.md", "state.md"}

    def test_an_adoption_names_what_it_leaves_for_it(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        (zylos / ".gitignore").write_text("node_modules/\nusers/\n/references.md\n")
        done = adopt(store, "main", zylos, in_place=True, now=clock)
        assert {(each.path, each.why) for each in done.left} == {
            ("references.md", "ignored by its own .gitignore"),
            ("users/", "ignored by its own .gitignore"),
        }
        assert "users/ada/profile.md" not in done.taken

    def test_rules_of_a_repository_around_the_folder_say_nothing(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        lay(tmp_path / "home", {".gitignore": "memory/\n", "app.py": "x\n"})
        git(tmp_path / "home", "init", "-q")
        lay(tmp_path / "home/memory", ZYLOS)
        done = adopt(store, "main", tmp_path / "home/memory", in_place=True, now=clock)
        assert set(done.taken) == ZYLOS.keys()

    def test_a_group_without_a_layout_respects_it(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = lay(tmp_path / "work", {**WORK, ".gitignore": "node_modules\n*.txt\n"})
        with opened_names() as seen:
            init(store, "main", worktree=folder, now=clock)
        group = Group(store, "main", now=clock)
        assert names(group) == {
            path for path in WORK if "node_modules" not in path and not path.endswith(".txt")
        }
        assert not any("left-pad" in each for each in seen)
        group.close()


class TestWriting:
    def test_a_write_names_a_file_and_so_makes_it_memory(self, group: Group, zylos: Path) -> None:
        put(group, "notes/plan.md", "one\n")
        assert git(zylos, "status", "--porcelain", "--untracked-files=all") == ""
        (zylos / "notes/plan.md").write_text("two\n")
        (zylos / "notes/other.md").write_text("mine\n")
        assert [each.path for each in capture(group).captured] == ["notes/plan.md"]
        (zylos / "notes/plan.md").unlink()
        assert [each.path for each in capture(group).captured] == ["notes/plan.md"]
        assert "notes/plan.md" not in names(group)

    @pytest.mark.parametrize(
        "deed",
        [
            lambda group: put(group, "src/main.ts", "boom\n"),
            lambda group: move(group, "state.md", "src/main.ts"),
            lambda group: move(group, "src/main.ts", "notes/a.md"),
            lambda group: remove(group, "src/main.ts"),
            lambda group: remove(group, "src"),
        ],
        ids=["write", "mv over it", "mv", "rm", "rm of a folder"],
    )
    def test_a_file_beside_memory_is_never_touched(
        self, group: Group, zylos: Path, deed: Callable[[Group], object]
    ) -> None:
        before = names(group)
        with pytest.raises(PathRefused, match="outside the memory") as caught:
            deed(group)
        assert "`include:`" in caught.value.hint
        assert (zylos / "src/main.ts").read_text() == WORK["src/main.ts"]
        assert names(group) == before

    def test_an_ignored_file_is_never_written_over(self, group: Group, zylos: Path) -> None:
        relayout(group, "ignore: [users/bob/]")
        lay(zylos, {"users/bob/profile.md": "private\n"})
        with pytest.raises(PathRefused) as caught:
            put(group, "users/bob/profile.md", "boom\n")
        assert "`ignore:`" in caught.value.hint
        assert (zylos / "users/bob/profile.md").read_text() == "private\n"

    @pytest.mark.parametrize("link", [False, True])
    def test_nothing_beside_memory_makes_room_for_a_folder(
        self, group: Group, zylos: Path, link: bool
    ) -> None:
        place = zylos / "work"
        if link:
            place.symlink_to(zylos / "src")
        else:
            place.write_text("mine\n")
        for deed in (
            lambda: put(group, "work/a.md", "boom\n"),
            lambda: move(group, "state.md", "work/deep/state.md"),
        ):
            with pytest.raises(PathRefused, match="'work' is outside the memory") as caught:
                deed()
            assert "move it away" in caught.value.hint
        assert place.is_symlink() if link else place.read_text() == "mine\n"
        assert held_list(group) == ()

    def test_an_excluded_file_is_neither_captured_nor_written_over(
        self, group: Group, zylos: Path
    ) -> None:
        lay(zylos, {".gitignore": "users/bob/\n", "users/bob/profile.md": "private\n"})
        with pytest.raises(PathRefused, match="outside the memory"):
            put(group, "users/bob/profile.md", "boom\n")
        with pytest.raises(PathRefused, match="outside the memory"):
            remove(group, "users/bob/profile.md")
        assert (zylos / "users/bob/profile.md").read_text() == "private\n"
        assert git(zylos, "log", "--all", "--format=%h", "--", "users/bob") == ""


class TestCheckout:
    """Plain git asks before it replaces a file beside memory, at a path that was memory once."""

    ODD = "src/a[1]*? \\b.md "

    def refuses(self, folder: Path, commit: str, path: str) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("mine\n")
        with pytest.raises(AssertionError, match="would be overwritten by checkout"):
            git(folder, "checkout", "-q", commit)
        assert (folder / path).read_text() == "mine\n"
        (folder / path).unlink()

    def test_refuses_after_a_file_left_memory(self, group: Group, zylos: Path) -> None:
        for path in ("src/lib/plan.md", "notes.md", "users/ada/todo.md"):
            old = put(group, path, "old\n").commit
            remove(group, path, reason="done")
            put(group, "state.md", f"# State\n\nWithout {path}.\n")
            self.refuses(zylos, old, path)
        assert git(zylos, "status", "--porcelain", "--untracked-files=all") == ""
        (zylos / "src/lib/other.md").write_text("mine\n")
        assert git(zylos, "status", "--porcelain", "--untracked-files=all") == ""

    def test_refuses_whatever_the_name(self, group: Group, zylos: Path) -> None:
        (zylos / self.ODD).write_text("old\n")
        git(zylos, "add", "-f", "--", self.ODD)
        git(zylos, "commit", "-qm", "by hand")
        old = git(zylos, "rev-parse", "HEAD").strip()
        git(zylos, "rm", "-q", "--cached", "--", self.ODD)
        git(zylos, "commit", "-qm", "by hand")
        capture(group)
        (zylos / "src/a1b.md").write_text("mine\n")
        (zylos / self.ODD).unlink()
        assert git(zylos, "status", "--porcelain", "--untracked-files=all") == ""
        put(group, "state.md", "# State\n\nTwo.\n")
        self.refuses(zylos, old, self.ODD)

    @pytest.mark.parametrize("keys", ["ignore: [users/, state.md]", 'ignore: ["**/*e.md"]'])
    def test_refuses_for_what_ignore_names(self, group: Group, zylos: Path, keys: str) -> None:
        old = group.repository.tip()
        relayout(group, keys)
        git(zylos, "rm", "-q", "--cached", "state.md", "users/ada/profile.md")
        git(zylos, "commit", "-qm", "Ignore it")
        capture(group)
        for path in ("state.md", "users/ada/profile.md"):
            self.refuses(zylos, old, path)

    def test_refuses_where_a_layout_changed_later(self, group: Group, zylos: Path) -> None:
        relayout(group, "include: [notes/]")
        old = put(group, "notes/a.md", "old\n").commit
        remove(group, "notes/a.md", reason="done")
        assert "notes/a.md" not in (group.gitdir / "info/exclude").read_text()
        put(group, "gitmem.yaml", shipped_layout_text("zylos"))
        self.refuses(zylos, old, "notes/a.md")

    def test_what_is_memory_again_needs_no_rule(self, group: Group, zylos: Path) -> None:
        exclude = group.gitdir / "info/exclude"
        before = exclude.read_text()
        put(group, "notes/a.md", "old\n")
        remove(group, "notes/a.md", reason="done")
        assert "!/notes/a.md" in exclude.read_text().splitlines()
        put(group, "notes/a.md", "new\n")
        assert exclude.read_text() == before

    def test_the_rules_are_bounded(
        self, group: Group, zylos: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("gitmem.store.worktree.scope.MOST_LEFT", 2)
        for number in range(4):
            put(group, f"notes/{number}.md", f"{number}\n")
            remove(group, f"notes/{number}.md", reason="done")
        lines = (group.gitdir / "info/exclude").read_text().splitlines()
        assert [each for each in lines if each.endswith(".md") and "notes/" in each] == [
            "!/notes/2.md", "!/notes/3.md",
        ]  # fmt: skip


class TestLinks:
    """A link in the place of a folder in which memory would lie."""

    @pytest.fixture
    def elsewhere(self, zylos: Path) -> Path:
        """Where the profiles of the workspace really are."""
        target = (zylos / "users").rename(zylos.parent / "elsewhere")
        (zylos / "users").symlink_to(target)
        (zylos / "node_modules/users").symlink_to(target)
        (zylos / "work").symlink_to(target)
        return target

    def test_is_named_and_never_followed(
        self, store: Store, clock: Clock, zylos: Path, elsewhere: Path
    ) -> None:
        done = adopt(store, "main", zylos, in_place=True, now=clock)
        assert [(each.path, each.why) for each in done.left] == [("users", "link")]
        assert "users" not in done.outside
        group = Group(store, "main", now=clock)
        assert [(each.path, each.rule) for each in capture(group).held] == [("users", "link")]
        assert [each.path for each in status(group).held] == ["users"]
        assert count_edits(group, group.repository.snapshot()) == (0, 1)
        assert not {each for each in names(group) if each.startswith("users")}
        held_ignore(group, "users")
        assert status(group).held == ()
        group.close()

    def test_the_hint_puts_a_copy_of_the_folder_there(
        self, store: Store, clock: Clock, zylos: Path, elsewhere: Path
    ) -> None:
        adopt(store, "main", zylos, in_place=True, now=clock)
        group = Group(store, "main", now=clock)
        with pytest.raises(Refused) as caught:
            held_accept(group, "users")
        subprocess.run(caught.value.hint.split("`")[1], shell=True, check=True)
        assert {each.path for each in capture(group).captured} == {
            path for path in ZYLOS if path.startswith("users/")
        }
        assert not (zylos / "users").is_symlink()
        assert (elsewhere / "ada/profile.md").exists()
        assert pending_edits(group)[:2] == ((), ())
        group.close()

    @pytest.mark.parametrize("keys", ["ignore: [users/]", ".gitignore"])
    def test_one_that_is_no_memory_is_not_named(self, group: Group, zylos: Path, keys: str) -> None:
        for path in [each for each in names(group) if each.startswith("users/")]:
            remove(group, path, reason="leaves")
        if keys == ".gitignore":
            (zylos / ".gitignore").write_text("users/\n")
        else:
            relayout(group, keys)
        capture(group)
        (zylos / "users").symlink_to(zylos / "src")
        assert pending_edits(group)[:2] == ((), ())

    def test_files_that_were_memory_do_not_count_as_deleted(
        self, group: Group, zylos: Path, elsewhere: Path
    ) -> None:
        before = names(group)
        done = capture(group)
        assert (done.captured, [each.path for each in done.held]) == ((), ["users"])
        assert names(group) == before

    def test_a_link_to_a_file_of_that_name_is_no_memory(self, group: Group, zylos: Path) -> None:
        relayout(group, "include: [notes/]")
        (zylos / "notes").symlink_to(zylos / "package.json")
        assert pending_edits(group)[:2] == ((), ())


class TestInit:
    @pytest.mark.parametrize("excluded", [False, True])
    def test_a_file_that_is_in_the_way_or_excluded_stays(
        self, store: Store, clock: Clock, tmp_path: Path, excluded: bool
    ) -> None:
        folder = lay(tmp_path / "work", {"identity.md": "mine\n", "reference": "mine\n"})
        if excluded:
            (folder / ".gitignore").write_text("identity.md\n")
        done = init(store, "main", worktree=folder, layout="standard", now=clock)
        group = Group(store, "main", now=clock)
        assert "identity.md" not in done.started
        assert ("identity.md" in names(group)) is not excluded
        assert (folder / "identity.md").read_text() == "mine\n"
        assert (folder / "reference").read_text() == "mine\n"
        group.close()

    def test_a_workspace_gets_a_layout_and_keeps_its_work(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = lay(tmp_path / "work", {**WORK, "identity.md": "# Me\n", "facts/tea.md": "x\n"})
        done = init(store, "main", worktree=folder, layout="standard", now=clock)
        group = Group(store, "main", now=clock)
        assert done.captured == 2
        assert "identity.md" not in done.started
        assert texts(taken_of(group))["identity.md"] == "# Me\n"
        assert not names(group) & WORK.keys()
        assert git(folder, "status", "--porcelain", "--untracked-files=all") == ""
        group.close()

    def test_a_group_that_has_all_of_a_workspace_in_git_keeps_it(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        """As earlier releases adopted it."""
        folder = lay(tmp_path / "work", {**WORK, **ZYLOS})
        init(store, "main", worktree=folder, now=clock)
        group = Group(store, "main", now=clock)
        text = shipped_layout_text("zylos")
        put(group, "gitmem.yaml", text)
        assert WORK.keys() <= names(group)

        (folder / "src/main.ts").write_text("changed\n")
        (folder / "src/new.ts").write_text("new\n")
        (folder / "package.json").unlink()
        assert {each.path for each in capture(group).captured} == {"src/main.ts", "package.json"}
        assert is_unchanged(group, group.repository.snapshot())
        group.close()

    def test_its_rules_for_git_go_with_the_keys_that_brought_them(
        self, group: Group, zylos: Path
    ) -> None:
        """A group of an earlier release has all files, but where its layout says otherwise."""
        git(group.gitdir, "config", "--unset", "gitmem.scope")
        old = Group(group.store, "main", now=group.now)
        relayout(old, "ignore: ['*.log']")
        (zylos / "new.txt").write_text("x\n")
        assert git(zylos, "status", "--porcelain", "new.txt") == ""
        put(old, "gitmem.yaml", shipped_layout_text("zylos"))
        assert git(zylos, "status", "--porcelain", "new.txt") == "?? new.txt\n"
        assert "new.txt" in {each.path for each in capture(old).captured}
        old.close()


def shipped_layout_text(name: str) -> str:
    from gitmem.memory.layouts import starter_files

    return starter_files(name)["gitmem.yaml"].decode()


PATHS = (
    "a.md", "MEMORY.md", "memory.md", "memory/a.md", "memory/a/b.md", "soul.md", "SOUL.md",
    "CLAUDE.md", "diary/2026-02-08.md", "diary/week/2026-W05.md", "diary/week/x/y.md", "facts/a.md",
    "facts/a.txt", "facts/b/a.md", "users/x.md", "users/x/profile.md", "users/x/y.md",
    "users/default/profile.md", "archive/a/b/c.txt", "reference/decisions.md", "reference/x.md",
    "sessions/current.md", "sessions/2026-02-08.md", "src/facts/a.md", "state.md", "gitmem.yaml",
    "episodes/2026-W05.md", "episodes/2026-02.md", "notes/a/b/c.md", "notes/a.txt", "x/y/z/q.md",
)  # fmt: skip
EXTRA = (
    Layout(),
    Layout(include=("notes/**",)),
    Layout(include=("notes/*.md", "x/{user}/z/*.md"), ignore=("x/**",)),
    Layout(include=("**/a.md",), ignore=("facts/**", "**/x.md")),
)


@pytest.mark.parametrize("which", [*shipped(), *range(len(EXTRA))])
def test_git_leaves_alone_what_is_no_memory(
    store: Store, clock: Clock, tmp_path: Path, which: str | int
) -> None:
    """Git is the second opinion on the rules in its exclude file; it may show more, never less."""
    layout = shipped_layout(which) if isinstance(which, str) else EXTRA[which]
    folder = lay(tmp_path / "work", dict.fromkeys(PATHS, "x\n"))
    git(folder, "init", "-q")
    scope = scope_of(layout)
    exclude_rest(folder / ".git", scope)
    shown = git(folder, "ls-files", "--others", "--exclude-standard").splitlines()
    memory = {path for path in PATHS if scope.holds(path)}
    assert set(shown) >= memory
    if which != len(EXTRA) - 1:
        assert set(shown) == memory
    assert all(scope.reaches(path[:at]) for path in memory for at in slashes(path))


def slashes(path: str) -> Iterator[int]:
    return (at for at, char in enumerate(path) if char == "/")
