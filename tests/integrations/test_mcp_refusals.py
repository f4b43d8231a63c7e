"""`gitmem mcp`: what is refused, to whom, and in which words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.errors import Damaged
from gitmem.integrations.mcp.groups import Endpoint, OpenGroups, called
from gitmem.integrations.mcp.tools import answered
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store
from gitmem.memory.recover.restore import restore
from gitmem.memory.write.move import move, remove
from gitmem.memory.write.write import Allowed, Edit, write
from gitmem.store.lock import Lock, lock_path
from tests.support.git import git
from tests.support.histories import put, truncate
from tests.support.serving import Server, serving

TOKEN = "ghp_" + "a1B2" * 9
"""Put together here, so that scanners stay quiet."""


CHANGING = [
    ("memory_write", {"text": "gitmem: 1\n"}),
    ("memory_append", {"text": "# more\n"}),
    ("memory_entry", {"title": "More", "text": "x"}),
    ("memory_restore", {"previous": True}),
    ("memory_restore", {}),
]
READING = [
    ("memory_get", {}),
    ("memory_get", {"at": "now"}),
    ("memory_list", {}),
    ("memory_list", {"entries": True}),
    ("memory_history", {}),
]
HURRIED = """
from gitmem.cli import main
from gitmem.memory.group import Group
Group.writing.__defaults__ = (0.2,)
main()
"""
"""A gitmem that waits less long for a lock."""
MOST_OPEN = """\
gitmem: 1
layers:
  soul: {kind: document, path: soul.md, policy: protected}
  log: {kind: log, path: log.md, rotated: "old/{date}.md", policy: append-only}
  once: {kind: notes, path: once/*.md, policy: write-once}
"""


class Served:
    """A store with four groups, and a server of `other` and one of `nano`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Store(folder / "store")
        for name, layout in (
            ("main", "standard"),
            ("other", "standard"),
            ("global", "standard"),
            ("nano", "nano"),
        ):
            init(self.store, name, layout=layout)

    def group(self, name: str) -> Group:
        return Group(self.store, name)

    def tip(self, name: str) -> str:
        """The newest commit of a group."""
        return git(self.store.gitdir(name), "rev-parse", "main")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return Served(tmp_path_factory.mktemp("serving"))


@pytest.fixture(scope="module")
def other(served: Served) -> Iterator[Server]:
    """A server of a group that is not main, for a client of the old protocol."""
    with serving(served.folder, "-g", "other", mode="legacy") as server:
        assert server.client.protocol_version == "2025-11-25"
        yield server
        assert server.errors == ""


@pytest.fixture(scope="module")
def main(served: Served) -> Iterator[Server]:
    with serving(served.folder, "-g", "main") as server:
        yield server
        assert server.errors == ""


@pytest.fixture(scope="module")
def nano(served: Served) -> Iterator[Server]:
    """The group `nano`, with a file that its layout does not name for tools."""
    group = served.group("nano")
    put(group, "MEMORY.md", "The heron.\n")
    put(group, "memory/notes.md", "A heron, noted.\n")
    put(group, "plans.md", "A heron.\n")
    put(group, "plans.md", "The secret heron.\n\n### Secret\n", reason="a secret reason")
    put(group, "memory/was.md", "It goes away.\n")
    move(group, "memory/was.md", "hidden/is.md")
    group.close()
    with serving(served.folder, "-g", "nano", env={"GITMEM_GROUP": "nano"}) as server:
        yield server
        assert server.errors == ""


class TestGuards:
    def test_a_credential_is_refused_and_its_value_is_not_repeated(
        self, served: Served, other: Server
    ) -> None:
        before = served.tip("other")
        for tool, more in (
            ("memory_write", {}),
            ("memory_append", {}),
            ("memory_entry", {"title": "A key"}),
        ):
            said = other.refused(tool, path="keys.md", text=f"token: {TOKEN}", **more)
            assert said.startswith("secret-found: keys.md line ")
            assert "(github-token)" in said
            assert TOKEN not in said
            assert "hint: keep the value elsewhere" in said
            assert "--allow-secret github-token ...`" in said
        assert "secret-found" in other.refused(
            "memory_write", path="a.md", text="fine", reason=f"it is {TOKEN}"
        )
        assert served.tip("other") == before

    def test_a_model_cannot_wave_a_credential_through(self, other: Server) -> None:
        said = other.refused("memory_write", path="a.md", text=TOKEN, allow_secret=["github-token"])

        assert "has no parameter 'allow_secret'" in said

    def test_most_of_a_file_is_not_lost_by_accident(self, served: Served, other: Server) -> None:
        group = served.group("other")
        put(group, "long.md", "a line\n" * 200)
        group.close()

        said = other.refused("memory_write", path="long.md", text="short")

        assert said.startswith("shrink-refused: long.md has 1,400 bytes in 200 lines")
        assert '`memory_get(path="long.md")`' in said
        assert "repeat with allow_shrink: true" in said

    @pytest.mark.parametrize(
        "path",
        ["../main/state.md", "/etc/passwd", "a/../../b.md", ".git/config", "a\\b.md", "x\x00.md"],
    )
    @pytest.mark.parametrize(
        ("tool", "more"),
        [
            ("memory_get", {}),
            ("memory_write", {"text": "x"}),
            ("memory_append", {"text": "x"}),
            ("memory_entry", {"title": "x", "text": "y"}),
            ("memory_history", {}),
            ("memory_restore", {"previous": True}),
        ],
    )
    def test_no_path_leads_out_of_the_group(
        self, served: Served, other: Server, path: str, tool: str, more: dict[str, object]
    ) -> None:
        before = served.tip("other")

        said = other.refused(tool, path=path, **more)

        assert said.startswith(("path-refused: ", "path-not-found: "))
        assert "root:x:" not in said
        assert served.tip("other") == before

    def test_a_version_that_is_no_longer_so_stops_a_write(
        self, served: Served, other: Server
    ) -> None:
        group = served.group("other")
        first = put(group, "stale.md", "one\n")
        second = put(group, "stale.md", "two\n")
        group.close()

        for tool, more in (
            ("memory_write", {"text": "mine"}),
            ("memory_append", {"text": "mine"}),
            ("memory_entry", {"text": "mine", "title": "Mine"}),
        ):
            said = other.refused(tool, path="stale.md", if_match=first.blob[:12], **more)
            assert said.startswith(f"blob-mismatch: stale.md is {second.blob}, not ")
            assert 'read it again (`memory_get(path="stale.md")`)' in said
        assert "bad-input" in other.refused(
            "memory_write", path="stale.md", text="x", if_match="newest"
        )

    def test_a_file_that_exists_is_not_created(self, served: Served, other: Server) -> None:
        said = other.refused("memory_write", path="state.md", text="x", create=True)

        assert said.startswith("conflict: 'state.md' exists already")
        assert "leave out `create`" in said

    def test_a_layer_that_is_only_added_to_stays_so(self, other: Server) -> None:
        other.done("memory_append", path="sessions", text="- 14:02 deployed")

        said = other.refused("memory_write", path="sessions/current.md", text="anew")

        assert said.startswith("policy-refused: sessions/current.md is append-only")
        assert '`memory_append(path="sessions/current.md")`' in said
        assert "`gitmem write --allow-policy ...`" in said

    @pytest.mark.parametrize("path", ["gitmem.yaml", "./gitmem.yaml"])
    @pytest.mark.parametrize(("tool", "more"), CHANGING)
    def test_a_model_cannot_take_away_what_protects(
        self, other: Server, path: str, tool: str, more: dict[str, object]
    ) -> None:
        assert "only a person may change it" in other.refused(tool, path=path, **more)

    @pytest.mark.parametrize("spelling", ["{}/gitmem.yaml", "{}/./gitmem.yaml", "{}//gitmem.yaml"])
    @pytest.mark.parametrize(("tool", "more"), CHANGING)
    def test_nor_by_its_place_on_disk(
        self, served: Served, other: Server, spelling: str, tool: str, more: dict[str, object]
    ) -> None:
        root, before = served.store.default_worktree("other"), served.tip("other")

        said = other.refused(tool, path=spelling.format(root), **more)

        assert said.startswith("path-refused: ")
        assert served.tip("other") == before

    @pytest.mark.parametrize("path", ["{}", "{}/", "{}/state.md", "/etc/passwd", "\\etc\\passwd"])
    def test_no_path_is_absolute_and_no_answer_tells_where_the_group_lies(
        self, served: Served, other: Server, path: str
    ) -> None:
        root = str(served.store.default_worktree("other"))
        for tool, more in (*READING, *CHANGING):
            said = other.refused(tool, path=path.format(root), **more)
            assert said.startswith("path-refused: path refused: ")
            assert root not in said.replace(path.format(root)[:60], "")

    def test_what_a_layout_protects_is_not_brought_back_by_a_model(self, served: Served) -> None:
        init(served.store, "kept", layout="none")
        group = served.group("kept")
        put(group, "gitmem.yaml", MOST_OPEN)
        first = put(group, "soul.md", "I am Ada.\n")
        write(group, [Edit("soul.md", "I am Bob.\n")], allowed=Allowed(policy=True))
        put(group, "log.md", "- one\n")
        put(group, "log.md", "- one\n- two\n")
        put(group, "once/a.md", "said\n")
        write(group, [Edit("once/a.md", "unsaid\n")], allowed=Allowed(policy=True))
        before = served.tip("kept")
        with serving(served.folder, "-g", "kept") as server:
            for path, policy in (
                ("soul.md", "protected"),
                ("log.md", "append-only"),
                ("once", "write-once"),
            ):
                said = server.refused("memory_restore", path=path, previous=True)
                assert said.startswith("policy-refused: ")
                assert f"is {policy} by the layout" in said
            assert "protected" in server.refused("memory_write", path="soul.md", text="I am Eve.")
            assert "write-once" in server.refused("memory_write", path="once/a.md", text="anew")
        assert served.tip("kept") == before

        assert restore(group, "soul.md", at=first.commit).changes  # a person may
        group.close()

    def test_the_address_of_an_entry_is_no_name_for_a_file(
        self, served: Served, other: Server
    ) -> None:
        other.done("memory_entry", path="decisions", title="Use ESM", text="Now.")

        for tool in ("memory_write", "memory_append"):
            for path in ("reference/decisions.md#use-esm", "./reference/decisions.md#use-esm"):
                said = other.refused(tool, path=path, text="x")
                call = 'memory_entry(path="reference/decisions.md", title="use-esm")'
                assert f"write to it: `{call}`" in said
        assert "Now." in other.done("memory_get", path="decisions#use-esm").text

    def test_nothing_takes_the_place_of_the_archive(self, other: Server) -> None:
        for path in ("archive", "Archive/x.md"):
            said = other.refused("memory_write", path=path, text="x")
            assert "archive" in said

    def test_the_archive_stays_as_it_is(self, served: Served, other: Server) -> None:
        group = served.group("other")
        put(group, "facts/old.md", "old\n")
        remove(group, "facts/old.md")
        group.close()

        for tool, more in (
            ("memory_write", {"text": "new"}),
            ("memory_append", {"text": "new"}),
            ("memory_entry", {"text": "new", "title": "New"}),
            ("memory_restore", {"previous": True}),
        ):
            for path in ("archive/facts/old.md", "./archive/new.md"):
                said = other.refused(tool, path=path, **more)
                assert "is in the archive, which is read-only" in said
                assert "`memory_restore(path=" in said

    def test_frontmatter_that_is_none_is_refused(self, other: Server) -> None:
        said = other.refused("memory_write", path="a.md", text="---\na: !!python/x y\n---\n")

        assert said.startswith("frontmatter-refused: ")

    def test_a_twin_of_a_name_is_refused(self, other: Server) -> None:
        for path in ("State.md", "Reference/new.md"):
            said = other.refused("memory_write", path=path, text="x")
            assert "only in case or Unicode form" in said

    def test_no_link_is_followed(self, served: Served, other: Server) -> None:
        group, outside = served.group("other"), served.folder / "outside"
        outside.mkdir()
        (group.worktree / "link").symlink_to(outside)
        group.close()

        other.call("memory_write", path="link/a.md", text="x")

        assert list(outside.iterdir()) == []
        other.refused("memory_get", path="link/b.md")

    def test_a_branch_of_somebody_elses_is_not_written_to(
        self, served: Served, main: Server
    ) -> None:
        init(served.store, "away", layout="none")
        group = served.group("away")
        put(group, "a.md", "one\n")
        git(group.worktree, "switch", "-q", "-c", "mine")

        said = main.refused("memory_write", path="a.md", text="two", group="away")

        assert "on the branch 'mine'" in said
        assert "run `git switch main`" in said
        assert main.done("memory_get", path="a.md", group="away").text.endswith("one\n")
        group.close()

    def test_a_lock_that_somebody_holds_is_told_as_such(self, served: Served) -> None:
        init(served.store, "busy", layout="none")
        group = served.group("busy")
        put(group, "a.md", "one\n")
        lock = Lock(lock_path(group.gitdir))
        lock.acquire()
        try:
            with serving(served.folder, "-g", "main", program=("-c", HURRIED)) as main:
                said = main.refused("memory_write", path="a.md", text="two", group="busy")
                assert main.done("memory_get", path="a.md", group="busy").text.endswith("one\n")
                assert main.errors == ""
        finally:
            lock.release()
        group.close()

        assert said.startswith("busy: ")
        assert "nothing was written; try again" in said

    def test_what_is_too_big_is_refused(self, other: Server) -> None:
        assert other.refused("memory_write", path="big.md", text="x" * (1 << 20) + "y").startswith(
            "too-big: big.md would have 1,048,578 bytes"
        )


class TestMistakes:
    def test_a_file_that_is_missing_is_told_with_the_way_on(self, other: Server) -> None:
        said = other.refused("memory_get", path="indentity.md")
        missing, _, hint = said.partition("\n")
        assert missing.startswith("path-not-found: no file 'indentity.md' in group ")
        assert hint == "hint: did you mean identity.md?"
        assert "`memory_list()`" in other.refused("memory_get")
        assert "path-not-found" in other.refused("memory_history", path="never.md")
        assert "no file 'never.md'" in other.refused("memory_restore", path="never.md")
        assert "is a folder" in other.refused("memory_get", path="reference")
        assert "not-found" in other.refused("memory_get", path="decisions#nothing")

    def test_a_file_that_is_gone_says_what_became_of_it(
        self, served: Served, other: Server
    ) -> None:
        group = served.group("other")
        written = put(group, "gone.md", "one\n")
        git(group.worktree, "rm", "-q", "gone.md")
        git(group.worktree, "commit", "-q", "-m", "away with it")
        group.close()

        said = other.refused("memory_get", path="gone.md")

        assert f'`memory_restore(path="gone.md", at="{written.commit[:10]}")`' in said

    @pytest.mark.parametrize(
        ("tool", "arguments", "said"),
        [
            ("memory_forget", {}, "unknown tool 'memory_forget'"),
            ("memory_write", {"path": "a.md"}, "memory_write needs 'text'"),
            ("memory_write", {"text": "x"}, "memory_write needs 'path'"),
            ("memory_write", {"path": " ", "text": "x"}, "'path' is empty"),
            ("memory_write", {"path": "a.md", "text": 5}, "'text' must be a text"),
            (
                "memory_write",
                {"path": "a.md", "text": "x", "ifMatch": "y"},
                "no parameter 'ifMatch'",
            ),
            ("memory_append", {"path": "a.md", "text": ""}, "'text' is empty"),
            ("memory_entry", {"path": "a.md", "title": "x", "fields": [1]}, "an object of texts"),
            ("memory_search", {"query": ""}, "'query' is empty"),
            ("memory_search", {"query": "x", "source": "disk"}, "invalid source 'disk'"),
            ("memory_search", {"query": "x", "limit": "many"}, "'limit' must be a whole number"),
            ("memory_search", {"query": "x", "layer": "nothing"}, "no layer 'nothing'"),
            ("memory_search", {"query": "x", "since": "then"}, "invalid date 'then'"),
            ("memory_history", {"since": "then"}, "invalid date 'then'"),
            ("memory_get", {"path": "state.md", "at": "nothing"}, "nothing"),
            ("memory_list", {"entries": "perhaps"}, "'entries' must be true or false"),
            ("memory_get", {"path": "state.md", "offset": "--5"}, "must be a whole number"),
            ("memory_get", {"path": "state.md", "offset": "9" * 5000}, "must be a whole number"),
            ("memory_write", {"path": "a.md", "text": "", "fields": "[" * 9999}, "an object of"),
            ("memory_status", {"group": "main\0"}, "contains a control character"),
            ("memory_status", {"group": "x/../main"}, "contains a slash"),
            ("memory_restore", {"path": "."}, "no file or entry given"),
            (
                "memory_restore",
                {"path": "a.md", "at": "yesterday", "previous": True},
                "both `at` and `previous`",
            ),
        ],
    )
    def test_it_is_told_in_plain_words(
        self, other: Server, tool: str, arguments: dict[str, object], said: str
    ) -> None:
        told = other.refused(tool, **arguments)

        assert said in told
        assert "\nhint: " in told
        assert "Traceback" not in told
        assert "pydantic" not in told

    def test_a_number_beyond_all_bounds_is_brought_inside(self, other: Server) -> None:
        told = other.done("memory_history", offset=2**63)

        assert told.facts["entries"] == []


class TestGroups:
    @pytest.mark.parametrize(
        ("tool", "more"),
        [
            ("memory_search", {"query": "x"}),
            ("memory_get", {"path": "state.md"}),
            ("memory_write", {"path": "a.md", "text": "x"}),
            ("memory_append", {"path": "a.md", "text": "x"}),
            ("memory_entry", {"path": "ideas", "title": "x"}),
            ("memory_list", {}),
            ("memory_history", {}),
            ("memory_restore", {"path": "state.md"}),
            ("memory_status", {}),
        ],
    )
    def test_only_main_may_name_another_group(
        self, served: Served, other: Server, tool: str, more: dict[str, object]
    ) -> None:
        before = served.tip("main")

        said = other.refused(tool, group="main", **more)

        assert said.startswith("group-refused: the group 'other' may not read the group 'main'")
        assert "leave out `group`" in said
        assert "group-refused" in other.refused(tool, group="../main", **more)
        assert "group-refused" in other.refused(tool, group="nobody", **more)
        assert served.tip("main") == before

    def test_what_is_shared_can_be_read_by_all_and_written_by_main(
        self, served: Served, other: Server
    ) -> None:
        assert other.done("memory_get", path="state.md", group="global").text
        assert other.done("memory_status", group="global").facts["group"] == "global"
        for tool, more in (
            ("memory_write", {"path": "a.md", "text": "x"}),
            ("memory_append", {"path": "a.md", "text": "x"}),
            ("memory_entry", {"path": "ideas", "title": "x"}),
            ("memory_restore", {"path": "state.md", "previous": True}),
        ):
            said = other.refused(tool, group="global", **more)
            assert "the group 'other' may not write to the group 'global'" in said

    def test_its_own_group_may_be_named_and_no_other_is_told_of(self, other: Server) -> None:
        told = other.done("memory_status", group="other")

        assert told.facts["group"] == "other"
        assert "groups" not in told.facts


class TestTheListOfALayout:
    """`allow` in a layout names the files that such tools may touch."""

    @pytest.mark.parametrize(
        ("tool", "arguments"),
        [
            ("memory_get", {"path": "SOUL.md"}),
            ("memory_get", {"path": "soul"}),
            ("memory_get", {"path": "plans.md", "at": "tomorrow"}),
            ("memory_get", {"path": "memory/../plans.md"}),
            ("memory_get", {"path": "plans.md#x"}),
            ("memory_get", {"path": "gitmem.yaml"}),
            ("memory_write", {"path": "plans.md", "text": "x"}),
            ("memory_write", {"path": "./plans.md", "text": "x"}),
            ("memory_write", {"path": "gitmem.yaml", "text": "gitmem: 1\n"}),
            ("memory_append", {"path": "SOUL.md", "text": "x"}),
            ("memory_append", {"path": "soul", "text": "x"}),
            ("memory_entry", {"path": "memory/deep/er.md", "title": "x"}),
            ("memory_history", {"path": "plans.md"}),
            ("memory_restore", {"path": "plans.md", "previous": True}),
            ("memory_restore", {"path": "memory/", "previous": True}),
            ("memory_list", {"path": "plans.md#nothing", "entries": True}),
            ("memory_list", {"path": "./plans.md#nothing", "entries": True}),
        ],
    )
    def test_no_tool_touches_another_file(
        self, served: Served, nano: Server, tool: str, arguments: dict[str, object]
    ) -> None:
        before = served.tip("nano")

        said = nano.refused(tool, **arguments)

        assert said.startswith("path-refused: ")
        assert "heron" not in said
        assert served.tip("nano") == before

    def test_those_that_it_names_are_read_and_written(self, nano: Server) -> None:
        assert "The heron." in nano.done("memory_get").text
        assert nano.done("memory_get", path="memory.md").text.startswith("MEMORY.md (")
        assert "noted" in nano.done("memory_get", path="memory\\notes.md").text
        nano.done("memory_append", path="memory", text="It is grey.")
        assert "It is grey." in nano.done("memory_get", path="memory").text
        assert nano.done("memory_history", path="memory", limit=1).facts["entries"]
        nano.done("memory_write", path="memory/new.md", text="new")
        nano.done("memory_restore", path="MEMORY.md", previous=True)
        assert nano.done("memory_history", path="MEMORY.md").facts["entries"]

    @pytest.mark.parametrize(
        ("tool", "arguments"),
        [
            ("memory_get", {"path": "memory/plans.md"}),
            ("memory_get", {"path": "memory/was.md"}),
            ("memory_history", {"path": "memory/plans.md"}),
            ("memory_list", {"path": "plan.md", "entries": True}),
            ("memory_restore", {"path": "memory/plans.md"}),
            ("memory_search", {"query": "x", "layer": "nothing"}),
        ],
    )
    def test_no_hint_names_another_file(
        self, nano: Server, tool: str, arguments: dict[str, object]
    ) -> None:
        said = nano.refused(tool, **arguments)

        asked = str(arguments.get("path"))
        assert "plan" not in said.replace(asked, "")
        assert "hidden" not in said
        assert "gitmem.yaml" not in said

    def test_a_hint_may_name_those_that_it_names(self, nano: Server) -> None:
        assert "did you mean memory/notes.md" in nano.refused("memory_get", path="memory/note.md")

    def test_a_file_that_need_not_be_there_is_no_alarm(self, served: Served) -> None:
        init(served.store, "empty", layout="nano")
        with serving(served.folder, "-g", "empty") as server:
            assert "needs attention" not in server.done("memory_status").text

    def test_others_are_not_found_listed_or_named(self, nano: Server) -> None:
        assert "secret" not in nano.done("memory_search", query="secret heron").text
        assert {*nano.done("memory_list").facts["files"]} >= {"MEMORY.md", "memory/notes.md"}
        for tool in ("memory_list", "memory_history", "memory_status"):
            told = nano.done(tool)
            for word in ("plans", "SOUL", "secret"):
                assert word not in told.text
                assert word not in str(told.facts)
        layers = nano.done("memory_status").facts["layers"]
        assert [each["name"] for each in layers] == ["memory", "notes"]


class TestWhatIsDamaged:
    def test_it_is_told_and_the_server_goes_on(self, served: Served, main: Server) -> None:
        init(served.store, "hurt", layout="none")
        group = served.group("hurt")
        put(group, "sound.md", "sound\n")
        written = put(group, "hurt.md", "hurt " * 50)
        truncate(group.repository, written.blob)
        (group.worktree / "hurt.md").unlink()
        with pytest.raises(Damaged):
            group.repository.objects.read(written.blob)
        group.close()

        said = main.refused("memory_get", path="hurt.md", group="hurt")
        assert said.startswith("object-damaged: ")
        assert "gitmem check --repair" in said
        assert "damaged  hurt.md" in main.done("memory_list", group="hurt").text
        assert "note: object" in main.done("memory_list", group="hurt").text
        sound = main.done("memory_get", path="sound.md", group="hurt").text
        assert "sound" in sound
        assert "note: object" not in sound

    def test_names_that_are_no_text_are_listed_as_far_as_they_can(
        self, served: Served, main: Server
    ) -> None:
        init(served.store, "names", layout="none")
        group = served.group("names")
        (group.worktree / os.fsdecode(b"bad\xff.md")).write_text("x\n")
        git(group.worktree, "add", "--all")
        git(group.worktree, "commit", "-q", "-m", "by hand")
        group.close()

        told = main.done("memory_list", group="names")
        assert list(told.facts["files"]) == ["bad\\u{DCFF}.md"]
        assert main.done("memory_history", group="names").facts["entries"]

    def test_a_bug_of_ours_is_an_answer_without_a_trace(self, served: Served) -> None:
        endpoint = Endpoint(OpenGroups(), served.store, "main", "main", clock=lambda: 1 / 0)

        told = answered(called(endpoint, "ada"), "memory_append", {"path": "diary", "text": "x"})

        assert told.failed
        assert told.text.startswith("unexpected: unexpected ZeroDivisionError: division by zero\n")
