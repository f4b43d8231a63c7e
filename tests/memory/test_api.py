"""The Python API: the verbs as methods."""

from __future__ import annotations

import ast
import inspect
import operator
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gitmem
from gitmem import results
from gitmem.api.arguments import KINDS
from gitmem.errors import BadInput, GroupNotFound, GroupRefused
from gitmem.model.hints import COMMAND_ONLY, method_of
from gitmem.model.record import Record
from tests.support.api_page import methods, result_types
from tests.support.clocks import START
from tests.support.git import git
from tests.support.samples import body

METHODS = methods()
DEFAULTS = {"bool": (False, True), "Several": ((),), "str": ("all", "MEMORY.md"), "int": (8,)}
"""What optional parameters of each type may default to; all others to None."""
NOT_RESULTS = {"None", "Mapping", "Path", "Hint", "ForModel"}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[gitmem.Memory]:
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


def test_a_store_may_want_its_group_named(memory: gitmem.Memory, tmp_path: Path) -> None:
    (tmp_path / "store" / "config.yaml").write_text("require_group: true\n")

    with pytest.raises(BadInput, match="requires the name of a group"):
        gitmem.open(store=tmp_path / "store")
    gitmem.open("main", store=tmp_path / "store").close()


def test_who_acts_is_recorded(tmp_path: Path) -> None:
    with gitmem.open(
        store=tmp_path / "s", agent="ada", session="s-1", source="chat", create=True
    ) as group:
        group.write("a.md", "one\n", reason="why", turn="t-1", id="op-1")
        (entry,) = group.history.log(limit=1)

    assert (entry.agent, entry.session, entry.source) == ("ada", "s-1", "chat")
    assert (entry.reason, entry.turn, entry.id) == ("why", "t-1", "op-1")


def test_no_environment_variable_is_read(
    memory: gitmem.Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
        (entry,) = group.history.log(limit=1)

    assert (entry.agent, entry.session) == ("agent", "")
    assert entry.time.year > 2000


def test_acting_groups_are_held_to_what_they_may(memory: gitmem.Memory, tmp_path: Path) -> None:
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

        assert group.history.log(limit=1)[0].time == START


def test_every_verb_is_a_method(memory: gitmem.Memory) -> None:
    first = memory.write("notes/a.md", "one\n", create=True)
    memory.write("notes/a.md", b"two\r\n", append=True, if_match=first.blob)
    batch = memory.batch([gitmem.Edit("b.md", "b\n"), gitmem.Edit("c.md", "c\n")], turn="t")
    assert len(batch.changes) == 2
    assert memory.read("notes/a.md").data == b"one\ntwo\r\n"
    assert memory.read("notes/a.md", at=first.commit).text == "one\n"
    assert [each.path for each in memory.list("*.md").files] == ["b.md", "c.md", "notes/a.md"]
    assert memory.history.show(batch.commit).entry.turn == "t"
    assert len(memory.history.diff(first.commit).files) == 3
    assert memory.mv("b.md", "d.md").moved == (("b.md", "d.md"),)
    assert memory.rm("d.md").moved == (("d.md", "archive/d.md"),)
    (memory.worktree / "c.md").write_text("changed\n")
    assert memory.status().health == "edited"
    assert len(memory.history.diff().files) == 1
    assert [each.path for each in memory.capture(["c.md"], reason="why").captured] == ["c.md"]
    assert memory.undo(reason="no").changed
    assert memory.restore("c.md", previous=True).changes[0].path == "c.md"
    assert memory.restore(at=first.commit).kept_newer == ("archive/d.md", "c.md")
    assert memory.held() == ()
    assert memory.check().sound
    assert git(memory.worktree, "fsck", "--strict") == ""
    assert git(memory.worktree, "status", "--porcelain") == ""


def test_one_name_is_as_good_as_a_list_of_one(memory: gitmem.Memory) -> None:
    memory.write("a.md", "first\n")
    (memory.worktree / "b.md").write_text("by hand\n")
    assert len(memory.capture("b.md").captured) == 1

    memory.undo(memory.write("a.md", "second\n").commit)
    assert memory.read("a.md").text == "first\n"

    assert len(memory.archive("a.md").archived) == 1


def test_held_versions_can_be_decided_on(memory: gitmem.Memory) -> None:
    secret = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)
    (memory.worktree / "a.md").write_text(f"{secret}\n")

    assert [each.path for each in memory.held()] == ["a.md"]
    assert secret not in memory.held.show("a.md").text
    assert memory.held.accept("a.md", reason="an example").path == "a.md"
    (memory.worktree / "a.md").write_text(f"{secret}\n{'ASIA' + secret[4:]}\n")
    assert memory.held.drop("a.md").put_back
    assert (memory.worktree / "a.md").read_text() == f"{secret}\n"


def test_results_cannot_be_changed(memory: gitmem.Memory) -> None:
    written = memory.write("a.md", "one\n")

    for result in (written, written.changes[0], memory.read("a.md"), memory.status()):
        with pytest.raises(AttributeError):
            result.commit = ""  # type: ignore[misc, union-attr]


@pytest.mark.parametrize("name", METHODS)
def test_options_are_keywords_and_everything_is_typed_and_said(name: str) -> None:
    method = METHODS[name]
    signature = inspect.signature(method)
    assert method.__doc__, name
    assert signature.return_annotation is not inspect.Signature.empty, name
    given = list(signature.parameters.values())[1:]
    assert {each.annotation for each in given} <= KINDS.keys(), "a type that nobody checks"
    flags = [each for each in given if each.annotation == "bool"]
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in flags), name
    optional = (each for each in given if each.default is not inspect.Parameter.empty)
    assert all(each.default in DEFAULTS.get(each.annotation, (None,)) for each in optional), name
    assert (Path(gitmem.__file__).parent / "py.typed").exists()


def test_the_results_are_exported_and_cannot_be_unpacked(memory: gitmem.Memory) -> None:
    for name, kind in result_types().items():
        assert issubclass(kind, Record), name
        for text in kind.__annotations__.values():
            assert set(re.findall(r"\b[A-Z]\w+", text)) - NOT_RESULTS <= {*results.__all__}, name
    returned = " ".join(inspect.signature(each).return_annotation for each in METHODS.values())
    assert set(re.findall(r"\b[A-Z]\w+", returned)) - {"None"} <= {*results.__all__}
    with pytest.raises(TypeError):
        list(memory.write("a.md", "one\n"))  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("name", "values", "named", "parameter"),
    [
        ("write", (3,), {}, "path"),
        ("write", ("a.md", 3), {}, "text"),
        ("write", ("a.md", "x"), {"append": 1}, "append"),
        ("write", ("a.md", "x"), {"set": [("a", "b")]}, "set"),
        ("write", ("a.md", "x"), {"set": {"a": 1}}, "set"),
        ("write", ("a.md", "x"), {"reason": b"why"}, "reason"),
        ("write", ("a.md", "x"), {"allow_secret": [1]}, "allow_secret"),
        ("batch", ("a.md",), {}, "edits"),
        ("batch", ([("a.md", "x")],), {}, "edits"),
        ("read", (None,), {}, "path"),
        ("read", (Path("a.md"),), {}, "path"),
        ("search", ("x",), {"limit": "8"}, "limit"),
        ("search", ("x",), {"limit": True}, "limit"),
        ("capture", (b"a.md",), {}, "paths"),
        ("undo", ([None],), {}, "commits"),
        ("decide", (None,), {}, "plan"),
        ("entries", (3,), {}, "path"),
        ("entries.confirm", (None,), {}, "targets"),
        ("history.log", (), {"limit": "1"}, "limit"),
        ("held.show", (3,), {}, "target"),
        ("kept.restore", (3,), {}, "commit"),
        ("transcripts.add", ("hello",), {}, "messages"),
        ("transcripts.add", (["hello"],), {}, "messages"),
        ("transcripts.show", ("c",), {"last": 1.5}, "last"),
    ],
)
def test_an_argument_of_the_wrong_type_is_bad_input_that_names_it(
    memory: gitmem.Memory,
    name: str,
    values: tuple[object, ...],
    named: dict[str, object],
    parameter: str,
) -> None:
    before = git(memory.worktree, "rev-parse", "HEAD")

    with pytest.raises(BadInput, match=f"^{parameter} must be ") as caught:
        operator.attrgetter(name)(memory)(*values, **named)

    assert caught.value.facts["parameter"] == parameter
    assert caught.value.hint
    assert git(memory.worktree, "rev-parse", "HEAD") == before


def test_a_group_is_opened_with_arguments_of_the_right_types(tmp_path: Path) -> None:
    wrong: list[dict[str, object]] = [{"store": None}, {"store": tmp_path, "now": 3}]
    for named in wrong:
        with pytest.raises(BadInput, match="must be"):
            gitmem.open("main", **named)  # type: ignore[arg-type]


def test_an_iterator_is_as_good_as_a_list(memory: gitmem.Memory) -> None:
    edits = (gitmem.Edit(f"{name}.md", "x\n") for name in "ab")
    assert len(memory.batch(edits).changes) == 2
    assert len(memory.archive(f"{name}.md" for name in "ab").archived) == 2


def test_names_of_the_last_release_work_and_warn(memory: gitmem.Memory) -> None:
    old: Any = memory
    with pytest.warns(DeprecationWarning, match="use memory.batch"):
        old.write_batch([gitmem.Edit("a.md", "one\n")])
    with pytest.warns(DeprecationWarning, match="id="):
        old.write("a.md", "two\n", operation="op-1")
    with pytest.warns(DeprecationWarning, match=r"memory\.history\.log"):
        assert old.log(limit=1)[0].id == "op-1"
    with pytest.warns(DeprecationWarning, match="NewMessage"):
        spoken = gitmem.Spoken("c", "ada", "hello", id="1")  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match=r"memory\.transcripts\.add"):
        assert old.transcript_add([spoken]).added == 1
    with pytest.warns(DeprecationWarning, match="set="):
        assert gitmem.Edit("a.md", fields=(("a", "b"),)).set == (("a", "b"),)  # type: ignore[call-arg]
    for name, new in results._OLD.items():
        with pytest.warns(DeprecationWarning, match=f"results.{new}"):
            assert getattr(results, name) is getattr(results, new)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        results.Nothing  # type: ignore[attr-defined] # noqa: B018
    for name, new in gitmem.Memory._OLD.items():
        with pytest.warns(DeprecationWarning, match=re.escape(new)):
            assert callable(getattr(old, name))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        old.nothing  # noqa: B018
    with pytest.raises(TypeError, match="unexpected keyword"):
        old.read("a.md", operation="x")


def test_every_verb_of_a_hint_is_a_method_with_its_options() -> None:
    for verb, options in hinted_calls():
        if {verb, verb.partition(" ")[0]} & COMMAND_ONLY:
            continue
        method, left = method_of(verb, tuple((each, True) for each in options))
        known = inspect.signature(METHODS[method]).parameters
        assert {name for name, _ in left} <= known.keys(), (verb, options)


def hinted_calls() -> Iterator[tuple[str, set[str]]]:
    """The verbs, and the names of their options, that the code calls `call` with."""
    for path in Path(gitmem.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "call" and node.args:
                verb = node.args[0]
                if isinstance(verb, ast.Constant) and isinstance(verb.value, str):
                    options = {each.arg for each in node.keywords if each.arg}
                    yield verb.value, options - {"group"}


def test_errors_have_a_code_a_message_a_hint_and_facts(memory: gitmem.Memory) -> None:
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


def test_threads_may_share_a_group(memory: gitmem.Memory) -> None:
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
