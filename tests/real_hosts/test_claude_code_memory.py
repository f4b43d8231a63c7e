"""The memory that the real Claude Code writes by itself, under history, and back again.

Each module fixture is one bench: a project without a link, and a project with one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_hosts.bench import Bench, Json, Run, a_bench, call, script

pytestmark = pytest.mark.hosts

NAMED = re.compile(r"file-based memory(?: system)? at `?([^`\s]+)")
INDEX = "- [Mascot](mascot.md) - it is called quokka-lantern\n"
TOPIC = "---\nname: mascot\ndescription: the mascot\n---\nA quokka.\n"
AUTHOR = {
    f"GIT_{who}_{what}": "ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


def named(bench: Bench, run: Run) -> Path:
    """The folder that Claude Code tells the model to keep memory in."""
    found = NAMED.search(bench.seen(run.first))
    assert found
    return Path(found[1])


def group_of(bench: Bench, folder: Path) -> str:
    groups = bench.gitmem_json("groups")["groups"]
    rows = (each["name"] for each in groups if folder.is_relative_to(Path(each["worktree"])))
    return str(next(rows, ""))


def newest(bench: Bench, group: str, path: str = "") -> Json:
    rows = bench.gitmem_json("-g", group, "log", *([path] if path else []))["entries"]
    return dict(rows[0]) if rows else {}


# ---- a project without a link


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A project in which Claude Code has written memory before gitmem came."""
    with a_bench(tmp_path_factory.mktemp("own-memory")) as bench:
        folder = named(bench, bench.claude("hello"))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "MEMORY.md").write_text(INDEX)
        (folder / "mascot.md").write_text(TOPIC)
        bench.gitmem("install", "claude-code")
        yield bench


@pytest.fixture(scope="module")
def first(plain: Bench) -> Run:
    return plain.claude("hello")


def test_the_folder_is_a_group_named_after_the_project(plain: Bench, first: Run) -> None:
    assert group_of(plain, named(plain, first)) == "project"


def test_the_index_reaches_the_model_once(plain: Bench, first: Run) -> None:
    assert plain.seen(first.first).count("quokka-lantern") == 1


def test_doctor_finds_nothing(plain: Bench) -> None:
    codes = [each["code"] for each in plain.gitmem_json("doctor")["findings"]]

    assert [each for each in codes if "memory" in each] == []


@pytest.fixture(scope="module")
def edits(plain: Bench, first: Run) -> Run:
    """A prompt whose model writes a note, changes the index twice and deletes a note."""
    folder = named(plain, first)
    return plain.claude(
        script(
            call("Write", file_path=str(folder / "oslo.md"), content="Kroner.\n"),
            call("Read", file_path=str(folder / "MEMORY.md")),
            call(
                "Edit",
                file_path=str(folder / "MEMORY.md"),
                old_string="- [Mascot]",
                new_string="- [Oslo](oslo.md)\n- [Mascot]",
            ),
            call(
                "Edit",
                file_path=str(folder / "MEMORY.md"),
                old_string="- [Oslo](oslo.md)",
                new_string="- [Oslo](oslo.md) - kroner",
            ),
            call("Bash", command=f"rm {folder / 'mascot.md'}"),
        ),
        "--allowedTools",
        "Bash(rm:*)",
    )


def test_no_write_into_the_hosts_memory_is_denied(edits: Run) -> None:
    assert edits.session
    assert edits.denied == []


@pytest.mark.parametrize("path", ["oslo.md", "MEMORY.md", "mascot.md"])
def test_an_edit_there_is_a_commit_of_its_session(plain: Bench, edits: Run, path: str) -> None:
    row = newest(plain, "project", path)

    assert (row.get("session"), row.get("agent")) == (edits.session, "claude-code")


def test_each_version_of_the_index_is_in_history(plain: Bench, edits: Run) -> None:
    rows = plain.gitmem_json("-g", "project", "log", "MEMORY.md")["entries"]

    assert len([each for each in rows if each["session"] == edits.session]) == 2


def test_undo_brings_the_deleted_note_back(plain: Bench, first: Run, edits: Run) -> None:
    commit = newest(plain, "project", "mascot.md")["commit"]
    plain.gitmem("-g", "project", "undo", commit)

    assert (named(plain, first) / "mascot.md").read_text() == TOPIC


def test_a_worktree_and_a_subfolder_use_the_same_group(plain: Bench, first: Run) -> None:
    plain.run("git", "commit", "-q", "--allow-empty", "-m", "x", **AUTHOR)
    tree, inner = plain.root / "tree", plain.project / "src"
    plain.run("git", "worktree", "add", "-q", tree)
    inner.mkdir()

    for place in (tree, inner):
        run = plain.claude("hello", cwd=place)
        assert group_of(plain, named(plain, run)) == "project", place


def test_a_write_from_a_worktree_is_a_commit(plain: Bench, first: Run) -> None:
    tree = plain.root / "second-tree"
    plain.run("git", "commit", "-q", "--allow-empty", "-m", "y", **AUTHOR)
    plain.run("git", "worktree", "add", "-q", tree)
    write = call("Write", file_path=str(named(plain, first) / "tree.md"), content="A tree.\n")

    run = plain.claude(script(write), cwd=tree)

    assert newest(plain, "project", "tree.md").get("session") == run.session != ""


def test_memory_that_comes_later_is_adopted_at_its_first_write(plain: Bench) -> None:
    later = plain.root / "later"
    later.mkdir()
    plain.run("git", "init", "-q", ".", cwd=later)
    folder = named(plain, plain.claude("hello", cwd=later))
    assert group_of(plain, folder) == ""

    plain.claude(
        script(call("Write", file_path=str(folder / "MEMORY.md"), content=INDEX)), cwd=later
    )

    assert group_of(plain, folder) == "later"


# ---- a project that uses a group


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The same, and the project uses a group of its own before and after."""
    with a_bench(tmp_path_factory.mktemp("linked-memory")) as bench:
        folder = named(bench, bench.claude("hello"))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "MEMORY.md").write_text(INDEX)
        bench.begin("claude-code")
        yield bench


@pytest.fixture(scope="module")
def moved(linked: Bench) -> Run:
    folder = linked.group / "memory"
    write = call("Write", file_path=str(folder / "oslo.md"), content="Kroner.\n")
    return linked.claude(script(write))


def test_the_host_keeps_its_memory_in_the_group(linked: Bench, moved: Run) -> None:
    assert named(linked, moved) == linked.group / "memory"


def test_what_it_wrote_before_reaches_the_model_once(linked: Bench, moved: Run) -> None:
    assert linked.seen(moved.first).count("quokka-lantern") == 1


def test_a_write_into_the_group_is_a_commit_of_its_session(linked: Bench, moved: Run) -> None:
    assert moved.denied == []
    assert linked.commit_of("memory/oslo.md").get("session") == moved.session != ""


def test_uninstalling_gives_the_host_its_files_back(linked: Bench, moved: Run) -> None:
    linked.gitmem("install", "claude-code", "--uninstall")

    run = linked.claude("hello")

    folder = named(linked, run)
    assert folder.parent.parent.name == "projects"
    assert (folder / "oslo.md").read_text() == "Kroner.\n"
    assert linked.seen(run.first).count("quokka-lantern") == 1
    local = linked.project / ".claude" / "settings.local.json"
    assert not local.exists() or "autoMemoryDirectory" not in json.loads(local.read_text())


# ---- a project without a link, and an installation for it alone


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The same as the first, with one `gitmem install --scope project`."""
    with a_bench(tmp_path_factory.mktemp("project-scope")) as bench:
        folder = named(bench, bench.claude("hello"))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "MEMORY.md").write_text(INDEX)
        bench.gitmem("install", "claude-code", "--scope", "project")
        yield bench


def test_one_install_for_a_project_is_enough(alone: Bench) -> None:
    codes = [each["code"] for each in alone.gitmem_json("doctor")["findings"]]
    again = alone.gitmem_json("install", "claude-code", "--scope", "project", "--dry-run")

    assert "permissions-missing" not in codes
    assert (again["files"], again["adopted"]) == ([], [])


def test_the_model_may_use_the_group_that_it_adopted(alone: Bench) -> None:
    folder = named(alone, alone.claude("hello"))
    run = alone.claude(
        script(
            call("Write", file_path=str(folder / "oslo.md"), content="Kroner.\n"),
            call("Bash", command="gitmem write bergen.md 'Rain.'"),
            call("Skill", skill="facts"),
        )
    )

    assert run.denied == []
    assert {each.name for each in folder.glob("*.md")} >= {"oslo.md", "bergen.md"}
    assert newest(alone, "project", "oslo.md").get("session") == run.session != ""


@pytest.mark.parametrize("goes", [("user", "project"), ("project", "user")], ids=", ".join)
def test_uninstalling_both_scopes_leaves_the_project_as_it_was(
    tmp_path: Path, goes: tuple[str, ...]
) -> None:
    with a_bench(tmp_path) as bench:
        first, last = goes
        bench.begin("claude-code")
        bench.gitmem("install", "claude-code", "--scope", "project")
        bench.gitmem("install", "claude-code", "--scope", first, "--uninstall")

        run = bench.claude(script(call("Bash", command="gitmem write facts/oslo.md 'Kroner.'")))
        assert bench.commit_of("facts/oslo.md").get("session") == run.session != ""

        bench.gitmem("install", "claude-code", "--scope", last, "--uninstall")
        assert bench.run("git", "status", "--porcelain", "--ignored").stdout == ""
        assert [each.name for each in bench.project.iterdir()] == [".git"]
