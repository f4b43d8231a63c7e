"""The Python API: the verbs as methods."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import gitmem
from gitmem.errors import BadInput, GroupNotFound, GroupRefused
from tests.support.clocks import START
from tests.support.git import git
from tests.support.samples import body


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[gitmem.Group]:
    with gitmem.open(
        "main", store=tmp_path / "store", agent="ada", create=True, layout="none"
    ) as group:
        yield group


def test_a_group_is_opened_where_it_is_and_made_only_if_asked(tmp_path: Path) -> None:
    with pytest.raises(GroupNotFound):
        gitmem.open(store=tmp_path / "store")
    assert not (tmp_path / "store").exists()

    with gitmem.open(store=tmp_path / "store", create=True) as made:
        assert made.name == "main"
        assert made.worktree == tmp_path / "store" / "groups" / "main"
    with gitmem.open(store=str(tmp_path / "store")) as again:
        assert again.name == "main"


def test_a_tilde_is_the_home_folder(sealed_machine: Path) -> None:
    with gitmem.open(store="~/memory", create=True) as group:
        assert group.worktree == sealed_machine / "memory" / "groups" / "main"


def test_a_store_may_want_its_group_named(memory: gitmem.Group, tmp_path: Path) -> None:
    (tmp_path / "store" / "config.yaml").write_text("require_group: true\n")

    with pytest.raises(BadInput, match="named"):
        gitmem.open(store=tmp_path / "store")
    gitmem.open("main", store=tmp_path / "store").close()


def test_who_acts_is_recorded(tmp_path: Path) -> None:
    with gitmem.open(
        store=tmp_path / "s", agent="ada", session="s-1", source="chat", create=True
    ) as group:
        group.write("a.md", "one\n", reason="why", turn="t-1", operation="op-1")
        (entry,) = group.log(limit=1)

    assert (entry.agent, entry.session, entry.source) == ("ada", "s-1", "chat")
    assert (entry.reason, entry.turn, entry.id) == ("why", "t-1", "op-1")


def test_no_environment_variable_is_read(
    memory: gitmem.Group, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "GITMEM_AGENT": "mallory",
        "GITMEM_GROUP": "other",
        "GITMEM_HOME": "/nowhere",
        "GITMEM_NOW": "2000-01-01T00:00:00Z",
        "GITMEM_SESSION": "x",
        "GIT_DIR": "/nowhere",
        "GIT_AUTHOR_NAME": "mallory",
        "EMAIL": "mallory@example.org",
    }.items():
        monkeypatch.setenv(name, value)

    with gitmem.open(store=tmp_path / "store", create=True) as group:
        group.write("a.md", "one\n")
        (entry,) = group.log(limit=1)

    assert (entry.agent, entry.session) == ("agent", "")
    assert entry.time.year > 2000


def test_acting_groups_are_held_to_what_they_may(memory: gitmem.Group, tmp_path: Path) -> None:
    store = tmp_path / "store"

    with pytest.raises(GroupRefused):
        gitmem.open("main", store=store, acting="research")
    with pytest.raises(GroupRefused):
        gitmem.open("other", store=store, acting="research", create=True)
    with gitmem.open("research", store=store, acting="research", create=True) as own:
        own.write("a.md", "one\n")


def test_the_clock_is_an_argument(tmp_path: Path) -> None:
    with gitmem.open(store=tmp_path / "s", create=True, now=lambda: START) as group:
        group.write("a.md", "one\n")

        assert group.log(limit=1)[0].time == START


def test_every_verb_is_a_method(memory: gitmem.Group) -> None:
    first = memory.write("notes/a.md", "one\n", create=True)
    memory.write("notes/a.md", b"two\r\n", append=True, if_match=first.blob)
    batch = memory.write_batch([gitmem.Edit("b.md", "b\n"), gitmem.Edit("c.md", "c\n")], turn="t")
    assert len(batch.changes) == 2
    assert memory.read("notes/a.md").data == b"one\ntwo\r\n"
    assert memory.read("notes/a.md", at=first.commit).text == "one\n"
    assert [each.path for each in memory.list("*.md").files] == ["b.md", "c.md", "notes/a.md"]
    assert memory.show(batch.commit).entry.turn == "t"
    assert len(memory.diff(first.commit).files) == 3
    assert memory.move("b.md", "d.md").moved == (("b.md", "d.md"),)
    assert memory.remove("d.md").moved == (("d.md", "archive/d.md"),)
    (memory.worktree / "c.md").write_text("changed\n")
    assert memory.status().health == "edited"
    assert len(memory.diff().files) == 1
    assert [each.path for each in memory.capture(["c.md"], reason="why").captured] == ["c.md"]
    assert memory.undo(reason="no").changed
    assert memory.restore("c.md", previous=True).changes[0].path == "c.md"
    assert memory.restore(at=first.commit).kept_newer == ("archive/d.md", "c.md")
    assert memory.held() == ()
    assert memory.check().sound
    assert git(memory.worktree, "fsck", "--strict") == ""
    assert git(memory.worktree, "status", "--porcelain") == ""


def test_one_name_is_as_good_as_a_list_of_one(memory: gitmem.Group) -> None:
    memory.write("a.md", "first\n")
    (memory.worktree / "b.md").write_text("by hand\n")
    assert len(memory.capture("b.md").captured) == 1

    memory.undo(memory.write("a.md", "second\n").commit)
    assert memory.read("a.md").text == "first\n"

    assert len(memory.archive("a.md").archived) == 1


def test_held_versions_can_be_decided_on(memory: gitmem.Group) -> None:
    secret = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)
    (memory.worktree / "a.md").write_text(f"{secret}\n")

    assert [each.path for each in memory.held()] == ["a.md"]
    assert secret not in memory.held_show("a.md").text
    assert memory.held_accept("a.md", reason="an example").path == "a.md"
    (memory.worktree / "a.md").write_text(f"{secret}\n{'ASIA' + secret[4:]}\n")
    assert memory.held_drop("a.md").put_back
    assert (memory.worktree / "a.md").read_text() == f"{secret}\n"


def test_results_cannot_be_changed(memory: gitmem.Group) -> None:
    written = memory.write("a.md", "one\n")

    for result in (written, written.changes[0], memory.read("a.md"), memory.status()):
        with pytest.raises(AttributeError):
            result.commit = ""  # type: ignore[misc, union-attr]


def test_options_are_keywords_and_everything_is_typed_and_said() -> None:
    for name, method in inspect.getmembers(gitmem.Group, inspect.isfunction):
        if name.startswith("_"):
            continue
        signature = inspect.signature(method)
        assert method.__doc__, name
        assert signature.return_annotation is not inspect.Signature.empty, name
        flags = [each for each in signature.parameters.values() if each.annotation == "bool"]
        assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in flags), name
    assert (Path(gitmem.__file__).parent / "py.typed").exists()


def test_errors_have_a_code_a_message_a_hint_and_facts(memory: gitmem.Group) -> None:
    with pytest.raises(gitmem.GitmemError) as caught:
        memory.read("none.md")

    error = caught.value
    assert (error.code, error.facts["path"]) == ("path-not-found", "none.md")
    assert error.message == str(error)
    assert error.hint


def test_names_that_are_not_public_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        gitmem.nothing  # noqa: B018
    assert all(getattr(gitmem, name) for name in gitmem.__all__)


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, gitmem; print(*sorted({'pygit2', 'click', 'yaml'} & set(sys.modules)))"
    root = Path(gitmem.__file__).parents[1]

    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == ""


def test_threads_may_share_a_group(memory: gitmem.Group) -> None:
    errors: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(6):
                memory.write("shared.md", f"- {name} {number}", append=True)
                memory.write(f"{name}.md", f"{number}\n")
                assert f"- {name} {number}" in memory.read("shared.md").text
        except BaseException as error:  # noqa: BLE001 - a thread's error would be lost
            errors.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert errors == []
    expected = sorted(f"- {name} {number}" for name in "abc" for number in range(6))
    assert sorted(memory.read("shared.md").text.splitlines()) == expected
    assert git(memory.worktree, "rev-list", "--count", "main") == "37\n"
    assert git(memory.worktree, "status", "--porcelain") == ""
