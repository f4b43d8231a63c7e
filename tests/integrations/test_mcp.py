"""`gitmem mcp`: every tool, by the real client of the SDK over stdio."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from gitmem.integrations.mcp.texts import MOST
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store
from gitmem.memory.transcripts.add import NewMessage, transcript_add
from gitmem.memory.write.move import remove
from gitmem.memory.write.write import Edit, write
from tests.support.clocks import START, Clock
from tests.support.git import git
from tests.support.histories import dropped_by_stash, edit, put
from tests.support.serving import CLIENT, Server, serving

NOW = Clock()
READING = {"memory_search", "memory_get", "memory_list", "memory_history", "memory_status"}
NAMES = [
    "memory_search",
    "memory_get",
    "memory_write",
    "memory_append",
    "memory_entry",
    "memory_list",
    "memory_history",
    "memory_restore",
    "memory_status",
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the store of all these tests is; each has a group of its own in it."""
    folder = tmp_path_factory.mktemp("serving")
    init(Store(folder / "store"), "main", layout="standard", now=NOW)
    return folder


@pytest.fixture(scope="module")
def main(home: Path) -> Iterator[Server]:
    """A server of the group main, which may name every other one."""
    with serving(home, "-g", "main", env={"GITMEM_NOW": START.isoformat()}) as server:
        yield server
        assert server.errors == ""


class Bound:
    """The server, with one group that every call names."""

    def __init__(self, server: Server, group: Group) -> None:
        self.server, self.group = server, group

    def done(self, tool: str, /, **arguments: object) -> str:
        return self.server.done(tool, group=self.group.name, **arguments).text

    def facts(self, tool: str, /, **arguments: object) -> dict:
        return self.server.done(tool, group=self.group.name, **arguments).facts

    def refused(self, tool: str, /, **arguments: object) -> str:
        return self.server.refused(tool, group=self.group.name, **arguments)

    def stands(self, path: str) -> str:
        """What git has there."""
        return git(self.group.gitdir, "show", f"main:{path}")


NUMBERS = count()


@pytest.fixture
def memory(home: Path, main: Server) -> Iterator[Bound]:
    """A fresh group with the standard layout."""
    store, name = Store(home / "store"), f"group{next(NUMBERS)}"
    init(store, name, layout="standard", now=NOW)
    group = Group(store, name, now=NOW)
    yield Bound(main, group)
    group.close()


class TestWhatIsOffered:
    def test_the_tools_come_in_a_fixed_order(self, main: Server) -> None:
        assert [tool.name for tool in main.tools()] == NAMES

    def test_each_tool_says_what_it_may_do(self, main: Server) -> None:
        for tool in main.tools():
            hints = tool.annotations
            assert hints is not None
            assert hints.read_only_hint is (tool.name in READING)
            assert hints.destructive_hint is False
            assert hints.open_world_hint is False
            assert hints.idempotent_hint is (tool.name in READING)

    def test_no_text_is_longer_than_a_host_shows(self, main: Server) -> None:
        texts = [main.client.instructions or "", *(tool.description for tool in main.tools())]

        assert all(0 < len(text or "") < 2048 for text in texts)
        assert "group main" in texts[0]

    def test_each_parameter_is_described_and_nothing_else_is_taken(self, main: Server) -> None:
        for tool in main.tools():
            schema = tool.input_schema
            assert schema["additionalProperties"] is False
            assert "group" in schema["properties"]
            assert all(each["description"] for each in schema["properties"].values())

    def test_the_newest_protocol_is_spoken(self, main: Server) -> None:
        assert main.client.protocol_version == "2026-07-28"


class TestWriting:
    def test_a_file_is_written_as_one_commit_in_the_name_of_the_client(self, memory: Bound) -> None:
        told = memory.facts(
            "memory_write", path="notes/ada.md", text="Ada likes tea", reason="she said so"
        )

        assert memory.stands("notes/ada.md") == "Ada likes tea\n"
        form = "--format=%H|%an|%b"
        head, author, *body = git(memory.group.gitdir, "log", "-1", form, "main").split("|")
        assert (head, author) == (told["commit"], CLIENT)
        assert body[0].startswith("she said so\n")
        assert f"Gitmem-Agent: {CLIENT}\n" in body[0]
        assert "Gitmem-Source: mcp\n" in body[0]
        (file,) = told["files"]
        assert (file["path"], file["change"], file["bytes"]) == ("notes/ada.md", "created", 14)
        blob = git(memory.group.gitdir, "rev-parse", "main:notes/ada.md").strip()
        assert file["version"] == blob

    def test_the_text_says_the_same_as_the_facts(self, memory: Bound) -> None:
        told = memory.server.done("memory_write", path="a.md", text="x\n", group=memory.group.name)

        version, commit = told.facts["files"][0]["version"], told.facts["commit"]
        assert told.text == (
            f"written a.md (new, +1 -0 lines, 2 bytes, version {version[:12]})\n"
            f"commit {commit[:10]}"
        )

    def test_the_same_again_changes_nothing(self, memory: Bound) -> None:
        first = memory.facts("memory_write", path="a.md", text="x")
        again = memory.facts("memory_write", path="a.md", text="x")

        assert again["commit"] == first["commit"]
        assert again["files"][0]["change"] == "unchanged"

    def test_a_version_that_was_read_guards_the_next_write(self, memory: Bound) -> None:
        put(memory.group, "a.md", "one\n")
        version = memory.done("memory_get", path="a.md").split("version ")[1][:12]

        told = memory.facts("memory_write", path="a.md", text="two", if_match=version)

        assert told["files"][0]["change"] == "changed"

    def test_text_is_added_to_the_file_of_a_layer(self, memory: Bound) -> None:
        memory.done("memory_append", path="diary", text="Met Ada.", fields={"summary": "Ada"})
        memory.done("memory_append", path="diary", text="She left.")

        page = memory.stands("diary/2026-02-08.md")
        assert page == "---\nsummary: Ada\n---\nMet Ada.\n\nShe left.\n"

    def test_a_journal_and_a_log_are_added_to_by_every_write(self, memory: Bound) -> None:
        for path in ("diary", "sessions"):
            for _ in range(2):
                memory.done("memory_write", path=path, text="- it rained")

        assert memory.stands("diary/2026-02-08.md").count("it rained") == 2
        assert memory.stands("sessions/current.md").count("it rained") == 2

    def test_a_profile_is_that_of_the_user_who_is_named(self, memory: Bound) -> None:
        memory.done("memory_append", path="user", user="tg:1", text="- likes tea")

        assert "- likes tea\n" in memory.stands("users/tg%3A1/profile.md")

    def test_an_entry_is_made_and_changed_field_by_field(self, memory: Bound) -> None:
        entry = {"path": "decisions", "title": "Use ESM only"}
        memory.done("memory_entry", **entry, text="It is time.", fields={"Importance": 2})
        memory.done("memory_entry", **entry, fields='{"Status": "active"}')

        said = memory.done("memory_get", path="decisions#use-esm-only")
        assert "- **Importance:** 2\n" in said
        assert "- **Status:** active\n" in said
        assert "\nIt is time.\n" in said

    def test_an_edit_by_other_tools_is_committed_first_and_told(self, memory: Bound) -> None:
        put(memory.group, "a.md", "one\n")
        edit(memory.group, "a.md", "one\nmine\n")

        told = memory.server.done("memory_append", path="a.md", text="two", group=memory.group.name)

        assert memory.stands("a.md") == "one\nmine\ntwo\n"
        assert "note: an earlier edit of a.md was captured first" in told.text
        assert len(told.facts["notes"]) == 1

    def test_commits_that_are_put_back_on_the_branch_are_told_once(self, memory: Bound) -> None:
        put(memory.group, "a.md", "one\n")
        dropped_by_stash(memory.group, "lost.md", "lost\n")

        told = memory.server.done("memory_append", path="a.md", text="two", group=memory.group.name)
        again = memory.server.done("memory_append", path="a.md", text="3", group=memory.group.name)

        assert "note: 1 commit had left the branch and is back" in told.text
        assert memory.stands("lost.md") == "lost\n"
        assert "left the branch" not in again.text

    def test_a_large_change_that_is_meant_can_be_made(self, memory: Bound) -> None:
        put(memory.group, "a.md", "a line\n" * 200)

        memory.done("memory_write", path="a.md", text="short", allow_shrink=True)

        assert memory.stands("a.md") == "short\n"


class TestReading:
    def test_a_search_shows_where_when_and_the_passage(self, memory: Bound) -> None:
        put(memory.group, "facts/birds.md", "Herons are grey.\n")
        transcript_add(memory.group, [NewMessage("tg:1", "Ada", "I saw the heron.")])

        said = memory.done("memory_search", query="what colour is a heron?")

        assert "facts/birds.md (lines 1-1, " in said
        assert "\n   Herons are grey.\n" in said
        assert "said by Ada in tg:1" in said
        only = memory.done("memory_search", query="heron", source="transcripts")
        assert "birds.md" not in only
        assert memory.done("memory_search", query="zeppelin") == "No matches."

    def test_a_search_can_be_narrowed(self, memory: Bound) -> None:
        put(memory.group, "facts/birds.md", "Herons are grey.\n")
        put(memory.group, "other/birds.md", "Herons are large.\n")
        put(memory.group, "old.md", "Herons are birds.\n")
        remove(memory.group, "old.md")

        assert "large" not in memory.done("memory_search", query="heron", layer="facts")
        assert memory.done("memory_search", query="heron", limit=1).count("Herons") == 1
        assert "birds." not in memory.done("memory_search", query="heron").replace("birds.md", "")
        assert "Herons are birds" in memory.done("memory_search", query="heron", archive=True)
        since = memory.done("memory_search", query="heron", since="2100-01-01")
        assert since == "No matches."

    def test_what_is_shared_by_all_groups_is_found_and_said_to_be(
        self, home: Path, memory: Bound
    ) -> None:
        store = Store(home / "store")
        init(store, "global", layout="standard", now=NOW)
        shared = Group(store, "global", now=NOW)
        put(shared, "facts/shared.md", "Storks are everywhere.\n")
        shared.close()

        said = memory.done("memory_search", query="storks")

        assert said.startswith("1. group global: facts/shared.md")

    def test_a_file_is_shown_with_its_version(self, memory: Bound) -> None:
        written = put(memory.group, "a.md", "one\ntwo\n")

        said = memory.done("memory_get", path="a.md")

        head = f"a.md (version {written.blob[:12]}, commit {written.commit[:10]})"
        assert said == f"{head}\n\none\ntwo\n"

    def test_a_file_that_was_edited_with_other_tools_is_said_to_be(self, memory: Bound) -> None:
        first = put(memory.group, "a.md", "one\n")
        edit(memory.group, "a.md", "one\nby hand\n")

        said = memory.done("memory_get", path="a.md")
        assert "not in memory yet" in said.partition("\n\n")[0]
        assert said.endswith("\n\none\n")
        assert "not in memory" not in memory.done("memory_get", path="a.md", at=first.commit)
        memory.done("memory_append", path="b.md", text="another file")
        assert "not in memory yet" in memory.done("memory_get", path="a.md")
        memory.done("memory_append", path="a.md", text="two")
        assert memory.done("memory_get", path="a.md").endswith(")\n\none\nby hand\ntwo\n")

    def test_a_file_is_shown_as_it_was(self, memory: Bound) -> None:
        first = put(memory.group, "a.md", "one\n")
        put(memory.group, "a.md", "two\n")

        assert memory.done("memory_get", path="a.md", at=first.commit).endswith("\n\none\n")
        assert memory.done("memory_get", path="a.md").endswith("\n\ntwo\n")

    def test_an_entry_is_shown_alone_now_and_as_it_was(self, memory: Bound) -> None:
        group = memory.group
        first = write(group, [Edit("ideas", "It flies.\n", entry="A kite")])
        write(group, [Edit("ideas", "It sails.\n", entry="A kite")])
        write(group, [Edit("ideas", "It drives.\n", entry="A car")])

        said = memory.done("memory_get", path="reference/ideas.md#a-kite")
        assert said.startswith("reference/ideas.md#a-kite (version ")
        assert "It sails." in said
        assert "It drives." not in said
        old = memory.done("memory_get", path="ideas#a-kite", at=first.commit)
        assert "It flies." in old

    def test_the_name_of_a_layer_is_as_good_as_its_file(self, memory: Bound) -> None:
        assert memory.done("memory_get", path="state").startswith("state.md (version ")
        put(memory.group, "diary/2026-02-08.md", "Rain.\n")
        assert list(memory.facts("memory_list", path="diary")["files"]) == ["diary/2026-02-08.md"]

    def test_files_are_listed_with_their_sizes(self, memory: Bound) -> None:
        first = put(memory.group, "notes/a.md", "12345")
        put(memory.group, "notes/b.md", "1")

        told = memory.facts("memory_list", path="notes/*.md")
        assert told == {"total": 2, "files": {"notes/a.md": 5, "notes/b.md": 1}}
        said = memory.done("memory_list", path="notes", at=first.commit)
        assert said == "1 file\n5 bytes  notes/a.md"

    def test_entries_are_listed_with_their_addresses(self, memory: Bound) -> None:
        write(memory.group, [Edit("ideas", "It flies.\n", entry="A kite")])

        told = memory.facts("memory_list", entries=True)

        kite = {"address": "reference/ideas.md#a-kite", "title": "A kite"}
        assert told == {"total": 1, "entries": [kite]}

    def test_the_history_says_who_when_and_why(self, memory: Bound) -> None:
        put(memory.group, "a.md", "one\n")
        memory.done("memory_write", path="a.md", text="two", reason="it changed")
        put(memory.group, "b.md", "other\n")

        told = memory.facts("memory_history", path="a.md")["entries"]
        assert [each["agent"] for each in told] == [CLIENT, "agent"]
        assert (told[0]["op"], told[0]["reason"]) == ("write", "it changed")
        assert told[0]["paths"] == ["a.md"]
        said = memory.done("memory_history", path="a.md")
        assert f"write by {CLIENT}: a.md: two\n  why: it changed" in said
        assert len(memory.facts("memory_history")["entries"]) > 2
        mine = memory.facts("memory_history", agent=CLIENT)["entries"]
        assert len(mine) == 1

    def test_the_history_of_an_entry_is_that_of_its_file(self, memory: Bound) -> None:
        write(memory.group, [Edit("ideas", "It flies.\n", entry="A kite")])

        told = memory.facts("memory_history", path="ideas#a-kite", limit=1)

        assert told["entries"][0]["title"] == "A kite"

    def test_the_state_names_the_layers_and_what_needs_a_look(self, memory: Bound) -> None:
        edit(memory.group, "facts/new.md", "by hand\n")

        told = memory.server.done("memory_status", group=memory.group.name)

        assert (told.facts["layout"], told.facts["health"]) == ("standard", "edited")
        names = {each["name"]: each["path"] for each in told.facts["layers"]}
        assert names["decisions"] == "reference/decisions.md"
        assert told.facts["edited"] == ["facts/new.md"]
        assert "not in memory yet" in told.text
        assert "main" in told.facts["groups"]
        assert "- decisions, entries, reference/decisions.md" in told.text
        assert "facts/new.md" in told.text


class TestBringingBack:
    def test_a_file_comes_back_as_it_was(self, memory: Bound) -> None:
        first = put(memory.group, "a.md", "one\n")
        put(memory.group, "a.md", "two\n")

        told = memory.facts("memory_restore", path="a.md", at=first.commit, reason="oops")
        assert memory.stands("a.md") == "one\n"
        assert told["files"][0]["change"] == "changed"
        memory.done("memory_restore", path="a.md", previous=True)
        assert memory.stands("a.md") == "two\n"

    def test_an_entry_comes_back_alone(self, memory: Bound) -> None:
        group = memory.group
        first = write(group, [Edit("ideas", "It flies.\n", entry="A kite")])
        write(group, [Edit("ideas", "It sails.\n", entry="A kite")])
        write(group, [Edit("ideas", "It drives.\n", entry="A car")])

        memory.done("memory_restore", path="ideas#a-kite", at=first.commit)

        page = memory.stands("reference/ideas.md")
        assert "It flies." in page
        assert "It drives." in page

    def test_what_was_archived_comes_back_from_there(self, memory: Bound) -> None:
        put(memory.group, "facts/a.md", "one\n")
        remove(memory.group, "facts/a.md")

        memory.done("memory_restore", path="facts/a.md")

        assert memory.stands("facts/a.md") == "one\n"

    def test_without_a_moment_the_versions_are_listed_with_the_call_for_each(
        self, memory: Bound
    ) -> None:
        first = put(memory.group, "a.md", "one\n")
        put(memory.group, "a.md", "two\n")

        said = memory.refused("memory_restore", path="a.md")

        assert said.startswith("choose-version: ")
        call = f'memory_restore(path="a.md", at="{first.commit[:10]}")'
        assert call in said
        assert "hint: to restore the version before: `memory_restore(path=" in said


class TestWhatIsLong:
    def test_a_long_file_is_cut_and_the_rest_can_be_had(self, memory: Bound) -> None:
        text = "".join(f"line {number} of a long file\n" for number in range(4000))
        put(memory.group, "long.md", text)

        pieces, offset = [], 0
        while True:
            said = memory.done("memory_get", path="long.md", offset=offset)
            assert len(said) < MOST + 300
            body, _, rest = said.partition("\n\n")[2].partition("\n[cut here; ")
            pieces.append(body)
            if not rest:
                break
            offset = int(rest.partition("offset=")[2].rstrip("]"))

        assert len(pieces) > 5
        assert "".join(pieces) == text

    def test_one_line_without_an_end_is_cut_all_the_same(self, memory: Bound) -> None:
        put(memory.group, "long.md", "x" * 50_000)

        said = memory.done("memory_get", path="long.md")

        assert f"characters 1-{MOST:,} of 50,000" in said
        last = memory.done("memory_get", path="long.md", offset=49_990)
        assert last.endswith("\n\n" + "x" * 10)

    def test_behind_the_end_there_is_nothing_and_that_is_said(self, memory: Bound) -> None:
        put(memory.group, "a.md", "12345\n")

        assert "the offset is beyond its 6 characters" in memory.done(
            "memory_get", path="a.md", offset=100
        )
        assert "no more commits" in memory.done("memory_history", path="a.md", offset=100)

    def test_what_is_wrong_is_not_repeated_at_length(self, memory: Bound) -> None:
        for tool, arguments in (
            ("memory_get", {"path": "x" * 200_000}),
            ("memory_get", {"path": "state.md", "at": "x" * 200_000}),
            ("memory_search", {"query": "x", "source": "y" * 200_000}),
            ("memory_search", {"query": "x", "layer": "y" * 200_000}),
            ("memory_status", {"z" * 200_000: 1}),
        ):
            assert len(memory.refused(tool, **arguments)) < MOST

    def test_the_facts_of_an_answer_are_as_short_as_its_text(self, memory: Bound) -> None:
        names = [f"{'long' * 40}/{'name' * 45}-{n}.md" for n in range(120)]
        for text in ("one\n", "two\n", "three\n", "four\n"):
            write(memory.group, [Edit(each, text) for each in names])

        for told in (
            memory.server.done("memory_history", group=memory.group.name),
            memory.server.done("memory_list", group=memory.group.name),
            memory.server.done(
                "memory_restore", path="long" * 40, previous=True, group=memory.group.name
            ),
        ):
            assert len(told.text) < MOST + 300
            assert len(json.dumps(told.facts)) < MOST + 300

    def test_a_long_list_goes_on_where_it_was_cut(self, memory: Bound) -> None:
        names = [f"many/n{n:03}.md" for n in range(250)]
        names += [f"many/z{n:03}-{'long' * 40}.md" for n in range(100)]
        write(memory.group, [Edit(each, "x\n") for each in names])

        found: dict[str, int] = {}
        while True:
            told = memory.server.done(
                "memory_list", path="many", offset=len(found), group=memory.group.name
            )
            assert len(told.text) < MOST + 300
            assert told.facts["total"] == len(names)
            found |= told.facts["files"]
            if "more" not in told.facts:
                break
            assert f"offset={len(found)}" in told.text

        assert [*found] == names

    def test_a_long_history_goes_on_where_it_was_cut(self, memory: Bound) -> None:
        for number in range(7):
            put(memory.group, "a.md", f"{number}\n")

        first = memory.facts("memory_history", path="a.md", limit=5)
        rest = memory.facts("memory_history", path="a.md", limit=5, offset=5)

        assert first["more"] == "more: same call with offset=5"
        assert "more" not in rest
        commits = [each["commit"] for each in (*first["entries"], *rest["entries"])]
        follow = git(memory.group.gitdir, "log", "--format=%H", "main", "--", "a.md").split()
        assert commits == follow

    def test_long_reasons_and_many_files_do_not_fill_a_history(self, memory: Bound) -> None:
        for number in range(3):
            edits = [Edit(f"d/{n}.md", f"{number} {n}\n") for n in range(60)]
            write(memory.group, edits, reason="because " * 1500)

        told = memory.server.done("memory_history", group=memory.group.name)

        assert len(told.text) < 3000
        newest = told.facts["entries"][0]
        assert (newest["files"], len(newest["paths"])) == (60, 20)
        assert newest["reason"].endswith(" ...")

    def test_many_long_hits_do_not_fill_an_answer(self, memory: Bound) -> None:
        passage = "A heron stood in the water and waited. " * 19
        write(memory.group, [Edit(f"facts/{n}.md", f"{passage}{n}\n") for n in range(64)])

        said = memory.done("memory_search", query="heron", limit=64)

        assert len(said) < MOST + 300
        assert "more left out for length" in said
