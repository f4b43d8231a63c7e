"""The history that a folder brings along is kept, but for what may not enter git."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitmem.errors import BadInput, SecretFound
from gitmem.memory.admin.init import init
from gitmem.memory.adopt.adopt import adopt
from gitmem.memory.group import Store, Who
from gitmem.memory.read.log import log
from gitmem.memory.read.status import status
from gitmem.model.commit_messages import parse
from tests.support.adopting import KEY, TOKEN, assert_sound, opened, taken_of, texts, with_secrets
from tests.support.clocks import Clock
from tests.support.git import git, git_bytes
from tests.support.histories import Drawn, import_history, put
from tests.support.memories import ARIZUKO, CLAUDE, ZYLOS, commit, history, lay


@pytest.fixture
def zylos(tmp_path: Path) -> Path:
    return lay(tmp_path / "memory", ZYLOS)


class TestItsOwnHistory:
    def test_is_kept_with_authors_dates_and_words(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = history(
            tmp_path / "m",
            ("begin", {"soul.md": "one\n", "user.md": "u\n"}),
            ("more\n\nwith a body\n\nGitmem-Op: forged", {"soul.md": "one\ntwo\n"}),
            ("", {"diary/2026-01-01T10-00-00.md": "d\n"}),
            ("---\nscissors and such", {"user.md": None}),
        )

        done = adopt(store, "main", folder, now=clock)

        assert (done.commits, done.dates_from) == (4, "git")
        form = "--format=%an <%ae> %aI"
        ours = git(store.gitdir("main"), "log", "--reverse", form).splitlines()
        assert ours[1:5] == git(folder, "log", "--reverse", form).splitlines()
        subjects = git(store.gitdir("main"), "log", "--reverse", "--format=%s").splitlines()
        assert subjects[1:3] == ["begin", "more"]
        notes = [
            parse(git(store.gitdir("main"), "log", "-1", "--format=%B", each))
            for each in git(store.gitdir("main"), "rev-list", "--reverse", "main").split()[1:5]
        ]
        assert [note.op for note in notes] == ["adopt"] * 4
        assert [note.source for note in notes] == git(
            folder, "rev-list", "--reverse", "HEAD"
        ).split()
        assert "with a body" in notes[1].body
        assert_sound(store)

    def test_gives_the_same_trees_and_the_same_blame(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = history(tmp_path / "m", ("a", {"soul.md": "1\n2\n3\n", "user.md": "u\n"}))
        git(folder, "switch", "-q", "-c", "side")
        commit(folder, "side", {"soul.md": "1\n2\n3\nside\n", "side.md": "s\n"}, day=2)
        git(folder, "switch", "-q", "trunk")
        commit(folder, "trunk", {"soul.md": "0\n1\n2\n3\n"}, day=3)
        git(folder, "merge", "-q", "--no-ff", "-m", "joined", "side")
        commit(folder, "after", {"diary/x.md": "x\n"}, day=4)

        adopt(store, "main", folder, now=clock)

        gitdir = store.gitdir("main")
        form = "--format=%T %an"
        theirs = set(git(folder, "log", form).splitlines())
        assert theirs <= set(git(gitdir, "log", form).splitlines())
        assert git(gitdir, "log", "--merges", "--format=%s").strip() == "joined"
        for path in ("soul.md", "side.md"):
            blames = [
                re.findall(r"(?m)^author (.*)", git(where, "blame", "--line-porcelain", at, path))
                for where, at in ((folder, "HEAD"), (gitdir, "main"))
            ]
            assert blames[0] == blames[1]
        assert_sound(store)

    def test_what_was_not_committed_lands_after_it(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = history(tmp_path / "m", ("a", {"soul.md": "1\n", "user.md": "u\n", "x.md": "x\n"}))
        lay(folder, {"soul.md": "1\nedited\n", "diary/new.md": "new\n"})
        (folder / "x.md").unlink()

        done = adopt(store, "main", folder, now=clock)

        group = opened(store)
        assert done.dates_from == "git and mtime"
        assert texts(taken_of(group)) | {"gitmem.yaml": ""} == {
            "soul.md": "1\nedited\n", "user.md": "u\n", "diary/new.md": "new\n", "gitmem.yaml": "",
        }  # fmt: skip
        assert git(group.worktree, "log", "-1", "--format=%as", "--", "soul.md").strip() == (
            "2026-01-01"
        )
        assert "x.md" not in done.taken
        assert texts({"x": git_bytes(group.gitdir, "show", "main~4:x.md")}) == {"x": "x\n"}

    def test_a_folder_in_a_repository_brings_its_part_of_the_history(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        project = history(
            tmp_path / "project",
            ("code", {"main.py": "x\n"}),
            ("memory", {"memory/soul.md": "1\n"}),
            ("code again", {"main.py": "y\n"}),
            ("memory again", {"memory/soul.md": "1\n2\n", "main.py": "z\n"}),
        )
        lay(project / "memory", {"user.md": "not tracked\n"})
        (project / ".gitignore").write_text("memory/*\n!memory/soul.md\n")

        done = adopt(store, "main", project / "memory", in_place=True, now=clock)

        subjects = git(store.gitdir("main"), "log", "--reverse", "--format=%s").splitlines()
        assert subjects[1:3] == ["memory", "memory again"]
        assert set(done.taken) == {"soul.md", "user.md"}
        assert "rm -r --cached memory" in " ".join(done.remarks)
        assert done.excluded_in == str(project / ".git" / "info" / "exclude")
        assert_sound(store)

    def test_a_repository_without_commits_is_a_plain_folder(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = lay(tmp_path / "m", ARIZUKO)
        git(folder, "init", "-q")

        done = adopt(store, "main", folder, now=clock)

        assert (done.commits, done.dates_from, done.layout) == (0, "mtime", "arizuko")

    def test_a_bare_repository_gives_its_last_commit(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        origin = history(tmp_path / "m", ("a", {"soul.md": "1\n"}), ("b", {"user.md": "u\n"}))
        git(tmp_path, "clone", "-q", "--bare", str(origin), "bare.git")

        done = adopt(store, "main", tmp_path / "bare.git", now=clock)

        assert set(done.taken) == {"soul.md", "user.md"}
        assert (opened(store).worktree / "user.md").read_text() == "u\n"

    @pytest.mark.parametrize("kind", ["sha256", "link", "nonsense", "nowhere"])
    def test_one_that_cannot_be_read_is_left_out_and_said_so(
        self, store: Store, clock: Clock, tmp_path: Path, kind: str
    ) -> None:
        folder = lay(tmp_path / "m", CLAUDE)
        if kind == "sha256":
            git(folder, "init", "-q", "--object-format=sha256")
        elif kind == "link":
            (folder / ".git").symlink_to(history(tmp_path / "x", ("a", {"a.md": "a"})) / ".git")
        else:
            (folder / ".git").write_text("gitdir: /nowhere\n" if kind == "nowhere" else "?")

        done = adopt(store, "main", folder, now=clock)

        assert "its git history was left out" in done.remarks[0]
        assert (done.dates_from, len(done.taken)) == ("mtime", len(CLAUDE))

    def test_damage_costs_the_commit_that_is_damaged_and_no_more(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = history(
            tmp_path / "m",
            ("a", {"soul.md": "1\n"}),
            ("b", {"diary/x.md": "x\n"}),
            ("c", {"user.md": "u\n"}),
        )
        tree = git(folder, "rev-parse", "HEAD~1:diary").strip()
        blob = git(folder, "rev-parse", "HEAD:user.md").strip()
        for oid in (tree, blob):
            place = folder / ".git" / "objects" / oid[:2] / oid[2:]
            place.chmod(0o600)
            place.write_bytes(place.read_bytes()[:-4])

        done = adopt(store, "main", folder, now=clock)

        assert set(done.taken) == {"soul.md", "user.md", "diary/x.md"}
        assert any("was left out" in each for each in done.remarks)
        assert_sound(store)

    def test_a_sparse_checkout_has_deleted_nothing(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = history(tmp_path / "m", ("a", {"soul.md": "1\n", "diary/x.md": "x\n"}))
        git(folder, "sparse-checkout", "set", "--no-cone", "soul.md")
        assert not (folder / "diary").exists()

        done = adopt(store, "main", folder, now=clock)

        assert set(done.taken) == {"soul.md", "diary/x.md"}

    def test_a_head_that_is_damaged_leaves_the_files(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = history(tmp_path / "m", ("a", {"soul.md": "1\n"}))
        head = git(folder, "rev-parse", "HEAD").strip()
        place = folder / ".git" / "objects" / head[:2] / head[2:]
        place.chmod(0o600)
        place.write_bytes(place.read_bytes()[:-4])

        done = adopt(store, "main", folder, now=clock)

        assert (done.taken, done.commits, done.dates_from) == (("soul.md",), 0, "mtime")
        assert "cannot be read: it is truncated" in done.remarks[0]

    def test_what_its_own_rules_ignore_is_left_out(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = history(tmp_path / "m", ("a", {"soul.md": "1\n", "kept.log": "tracked\n"}))
        lay(folder, {"x.log": "noise\n", ".gitignore": "*.log\n"})

        done = adopt(store, "main", folder, layout="soul", now=clock)

        assert set(done.taken) == {"soul.md", "kept.log"}
        assert ("x.log", "ignored by its own .gitignore") in [each[:2] for each in done.left]

    def test_submodules_links_and_pointers_in_the_past_are_named(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        inner = history(tmp_path / "inner", ("a", {"a.md": "a\n"}))
        pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
        folder = history(tmp_path / "m", ("a", {"soul.md": "1\n", "big.md": pointer}))
        (folder / "link.md").symlink_to("soul.md")
        allowed = ("-c", "protocol.file.allow=always")
        git(folder, *allowed, "submodule", "--quiet", "add", str(inner), "sub")
        commit(folder, "links", {"big.md": "small now\n"}, day=2)

        done = adopt(store, "main", folder, layout="soul", now=clock)

        why = {each.path: each.why for each in done.left if each.commit}
        assert why["sub"] == "submodule"
        assert why["big.md"].startswith("LFS pointer")
        assert {each.path: each.why for each in done.left}["link.md"] == "link"
        assert "sub/a.md" in done.taken  # its files stand there, after all

    def test_a_gitmem_group_of_another_store_comes_with_its_layout(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        other = Store(tmp_path / "other")
        init(other, "main", layout="zylos", now=clock)
        theirs = opened(other)
        put(theirs, "state.md", "busy\n", reason="because")

        done = adopt(store, "main", theirs.worktree, now=clock)

        ours = opened(store)
        assert (done.layout, done.why) == ("zylos", ("gitmem.yaml",))
        assert taken_of(ours) == taken_of(theirs)
        assert "because" in log(ours, "state.md")[0].reason
        with pytest.raises(BadInput, match="of its own"):
            adopt(store, "second", theirs.worktree, layout="nano", now=clock)


class TestSecrets:
    def test_of_any_commit_enter_no_object_and_no_answer(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = with_secrets(tmp_path / "m")

        done = adopt(store, "main", folder, now=clock)

        for secret in (KEY, TOKEN):
            everything = git_bytes(
                store.gitdir("main"), "cat-file", "--batch-all-objects", "--batch"
            )
            assert secret.encode() not in everything
            assert secret not in repr(done)
            for path in store.root.rglob("*"):
                assert secret not in path.name
                assert not path.is_file() or secret.encode() not in path.read_bytes()
        assert_sound(store)

    def test_in_the_name_of_who_adopts_are_refused(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        for who in (Who(TOKEN), Who("ada", TOKEN), Who("ada", "", f"from {TOKEN}")):
            with pytest.raises(SecretFound):
                adopt(store, "main", zylos, who=who, now=clock)
        assert not store.root.exists()

    def test_are_named_by_rule_line_and_commit(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        folder = with_secrets(tmp_path / "m")

        left = adopt(store, "main", folder, now=clock).left

        oops = git(folder, "rev-parse", "HEAD~3").strip()
        assert ("soul.md", "secret: aws-key-id, line 2", oops) in left
        assert ("gone.md", "secret: github-token, line 1", oops) in left
        assert ("user.md", "secret: aws-key-id, line 2", "") in left

    def test_cost_only_the_version_that_holds_them(
        self, store: Store, clock: Clock, tmp_path: Path
    ) -> None:
        adopt(store, "main", with_secrets(tmp_path / "m"), now=clock)

        group = opened(store)
        assert texts(taken_of(group))["soul.md"] == "I am\nbrief\n"
        assert texts(taken_of(group))["user.md"] == "u\n"  # the last version that may be kept
        blame = git(group.worktree, "blame", "--line-porcelain", "soul.md")
        assert re.findall(r"(?m)^author (.*)", blame) == ["Author 1", "Author 3"]

    def test_stay_outside_in_place_where_the_file_stands(
        self, store: Store, clock: Clock, zylos: Path
    ) -> None:
        (zylos / "identity.md").write_text(f"# I\n\nkey {KEY}\n")

        done = adopt(store, "main", zylos, in_place=True, now=clock)

        assert ("identity.md", "secret: aws-key-id, line 3") in [each[:2] for each in done.left]
        assert done.missing == ()  # it is there, and left out
        assert KEY in (zylos / "identity.md").read_text()
        assert [each.path for each in status(opened(store)).held] == ["identity.md"]


PATHS = ("a.md", "b.md", "d/c.md", "d", ".dot/x")
TEXTS = ("one\n", "two\n", f"{KEY}\n")


@st.composite
def drawn(draw: st.DrawFn) -> list[Drawn]:
    """A history of any shape; some versions may not enter git, and d is a file or a folder."""
    commits: list[Drawn] = []
    for number in range(draw(st.integers(1, 7))):
        files = draw(st.dictionaries(st.sampled_from(PATHS), st.sampled_from(TEXTS)))
        if "d" in files:
            files.pop("d/c.md", None)
        earlier = st.lists(st.integers(1, number), min_size=1, max_size=2, unique=True)
        parents = tuple(draw(earlier)) if number else ()
        commits.append(Drawn(1_700_000_000 + number, parents, files))
    return commits


def kept(commits: list[Drawn]) -> Iterator[dict[str, str]]:
    """What the files are after each commit, where what may not enter git never happened."""
    states: list[dict[str, str]] = []
    for each in commits:
        first = each.parents[0] - 1 if each.parents else -1
        before = commits[first].files if each.parents else {}
        state = dict(states[first]) if each.parents else {}
        for path in before.keys() - each.files.keys():
            state.pop(path, None)
        for path, text in each.files.items():
            if before.get(path) != text and KEY not in text and not path.startswith("."):
                state[path] = text
        states.append(state)
        yield state


@settings(max_examples=25)
@given(commits=drawn())
@example([Drawn(1, (), {}), Drawn(2, (1,), {"a.md": "one\n"}), Drawn(3, (1, 2), {})])
def test_each_commit_holds_the_last_versions_that_may_be_kept(
    tmp_path_factory: pytest.TempPathFactory, commits: list[Drawn]
) -> None:
    root = tmp_path_factory.mktemp("law")
    import_history(root / "theirs.git", commits).close()
    wanted = dict(enumerate(kept(commits), 1))
    store = Store(root / "store")

    try:
        done = adopt(store, "main", root / "theirs.git", layout="none")
    except BadInput:  # nothing at all may be kept
        assert not any(wanted[len(commits)].values())
        return

    gitdir = store.gitdir("main")
    theirs = git(root / "theirs.git", "log", "--format=%H %s", "main").splitlines()
    numbers = {oid: int(number) for oid, number in (line.split() for line in theirs)}
    remade = git(gitdir, "rev-list", "--topo-order", "main").split()[:-1]
    assert done.commits == len(remade)
    for oid in remade:
        source = parse(git(gitdir, "log", "-1", "--format=%B", oid)).source
        names = git(gitdir, "ls-tree", "-r", "--name-only", oid).split()
        found = {name: git(gitdir, "show", f"{oid}:{name}") for name in names}
        assert found == wanted[numbers[source]]
    assert texts(taken_of(opened(store))) == wanted[len(commits)]
    assert git(gitdir, "fsck", "--strict", "--no-dangling") == ""
