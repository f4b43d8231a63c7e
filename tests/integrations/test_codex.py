"""What Codex writes down is read as a conversation, and everything else is passed over."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from hashlib import sha1
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.integrations.hosts.table import CODEX, HOSTS
from gitmem.integrations.transcripts.codex import (
    chat_of,
    project_files,
    read_line,
    transcript_files,
)
from gitmem.integrations.transcripts.readers import ReadLine, home_of
from gitmem.memory.transcripts.add import NewMessage

AT = datetime(2026, 2, 8, 14, 30, tzinfo=UTC)
STAMP = "2026-02-08T14:30:00.000Z"
UUID = "0199c0de-1111-7222-8333-444455556666"
READER: ReadLine = read_line


def line(kind: str, payload: object, at: object = STAMP) -> dict[str, object]:
    """A line of a rollout, as an object."""
    return {"timestamp": at, "type": kind, "payload": payload}


def message(role: object = "user", content: object = None, **more: object) -> dict[str, object]:
    given = [text("hello")] if content is None else content
    return {"type": "message", "role": role, "content": given, **more}


def text(words: object, kind: str = "input_text") -> dict[str, object]:
    return {"type": kind, "text": words}


def item(**payload: object) -> dict[str, object]:
    return line("response_item", payload)


def read(value: object, chat: str = "c-1") -> tuple[NewMessage | None, str]:
    return read_line(json.dumps(value).encode(), chat)


@pytest.mark.parametrize(("role", "kind"), [("user", "input_text"), ("assistant", "output_text")])
def test_what_was_said_is_read(role: str, kind: str) -> None:
    said = read(item(**message(role, [text("water the beans", kind)], id="m-1")))

    assert said == (NewMessage("c-1", role, "water the beans", AT, "m-1"), "")


def test_only_texts_are_taken_and_parted_by_a_blank_line() -> None:
    content = [text("Look:"), {"type": "input_image", "image_url": "data:"}, text("beans.")]

    said = read(item(**message("user", content)))[0]

    assert said is not None
    assert said.text == "Look:\n\nbeans."


@pytest.mark.parametrize("own", [None, "", 7, ["m"]])
def test_a_message_without_an_id_gets_one_from_what_it_is(own: object) -> None:
    said = read(item(**message("user", [text("a"), text("b")], id=own)), "c-1")[0]

    assert said is not None
    assert said.id == "c-1:" + sha1(f"{STAMP}\nuser\na\n\nb".encode()).hexdigest()[:16]


def test_such_an_id_tells_messages_apart() -> None:
    said = [
        read(item(**message())),
        read(item(**message("assistant"))),
        read(item(**message(content=[text("bye")]))),
        read(line("response_item", message(), "2026-02-08T14:30:01Z")),
        read(item(**message()), "c-2"),
    ]

    assert len({each.id for each, _ in said if each}) == len(said)
    assert read(item(**message())) == said[0]


def test_half_a_character_is_no_obstacle_to_an_id() -> None:
    said = read(item(**message(content=[text("beans \ud83d")])), "c-\udc80")[0]

    assert said is not None
    assert (said.chat, said.text) == ("c-\ufffd", "beans \ufffd")
    assert said.id.startswith("c-\ufffd:")


@pytest.mark.parametrize("role", ["developer", "system", "tool", ""])
def test_other_roles_are_no_conversation(role: str) -> None:
    assert read(item(**message(role))) == (None, "not conversation")


@pytest.mark.parametrize(
    "words",
    [
        "<environment_context>\n  <cwd>/work</cwd>\n</environment_context>",
        "\n<user_instructions>be kind</user_instructions>",
        "# AGENTS.md instructions for /work\n\nbe kind",
        "# AGENTS.md instructions\n\n<INSTRUCTIONS>\nbe kind\n</INSTRUCTIONS>",
        "<skill>\nwatering\n</skill>",
        "<subagent_notification>ready</subagent_notification>",
        "<turn_aborted>stopped</turn_aborted>",
        "<user_shell_command>ls</user_shell_command>",
    ],
)
def test_what_the_host_writes_in_its_users_name_is_no_conversation(words: str) -> None:
    assert read(item(**message("user", [text(words)]))) == (None, "not conversation")
    assert read(item(**message("assistant", [text(words)])))[0] is not None

    said = read(item(**message("user", [text(words), text("Why?")])))[0]
    assert said is not None
    assert said.text == "Why?"


def by(*writers: str) -> dict[str, object]:
    """The metadata of a message whose blocks are by WRITERS."""
    rows = [{"provenance": {"type": each}} for each in writers]
    return {"internal_chat_message_metadata_passthrough": {"content_item_metadata": rows}}


@pytest.mark.parametrize("writer", ["agents_md", "harness", "skills"])
def test_what_the_host_says_it_wrote_is_no_conversation(writer: str) -> None:
    blocks = [text("Be kind."), text("Why?")]

    assert read(item(**message("user", blocks, **by(writer, writer)))) == (None, "not conversation")
    said = read(item(**message("user", blocks, **by(writer, "user"))))[0]
    assert said is not None
    assert said.text == "Why?"


def test_a_user_may_begin_as_the_host_does() -> None:
    words = "# AGENTS.md instructions for us are too long"

    said = read(item(**message("user", [text(words)], **by("user"))))[0]

    assert said is not None
    assert said.text == words


@pytest.mark.parametrize("writers", [["gardener"], [], ["user", "user"]])
def test_metadata_that_tells_nothing_drops_no_message(writers: list[str]) -> None:
    assert read(item(**message("user", [text("Why?")], **by(*writers))))[0] is not None
    instructions = [text("<environment_context>here")]
    assert read(item(**message("user", instructions, **by(*writers))))[0] is None


@pytest.mark.parametrize(
    "kind",
    [
        *("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"),
        *("local_shell_call", "web_search_call", "reasoning", "ghost_snapshot", "compaction"),
        "gardening_call",
    ],
)
def test_tools_and_thoughts_have_no_text(kind: str) -> None:
    assert read(item(type=kind, call_id="1", output="a flood", text="x")) == (None, "no text")


def test_a_message_without_words_has_no_text() -> None:
    for content in ([], "", [text(" \n")], [{"type": "input_image"}]):
        assert read(item(**message("user", content))) == (None, "no text")


@pytest.mark.parametrize("kind", ["session_meta", "event_msg", "turn_context", "compacted"])
def test_what_the_host_notes_for_itself_is_no_conversation(kind: str) -> None:
    assert read(line(kind, {"type": "user_message", "message": "hi"})) == (None, "not conversation")
    assert read({"type": kind}) == (None, "not conversation")


def test_what_agents_tell_each_other_is_no_conversation() -> None:
    assert read(item(type="agent_message", content=[text("hi")])) == (None, "not conversation")


def test_a_kind_that_nobody_knows_is_said_to_be_unknown() -> None:
    assert read(line("telepathy", {})) == (None, "unknown: telepathy")
    assert read(item(type="telepathy", text="hi")) == (None, "unknown: telepathy")


@pytest.mark.parametrize(
    "value",
    [
        *({}, [], "x", 1, None, {"type": None}, {"type": ["response_item"]}),
        {"type": "response_item"},
        line("response_item", None),
        line("response_item", [message()]),
        line("response_item", {}),
        line("response_item", {"type": ["message"]}),
        line("response_item", message(), None),
        line("response_item", message(), 1770561000),
        line("response_item", message(), "some day"),
        item(**message(None)),
        item(**message(["user"])),
        item(**message("user", {"type": "input_text", "text": "hello"})),
        item(**message("user", 7)),
        item(**message("user", [text(["hello"])])),
    ],
)
def test_what_lacks_what_it_must_have_cannot_be_read(value: object) -> None:
    assert read(value) == (None, "unreadable")


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"{", b"\xff\xfe", b'{"type": "response_item"', b"\0"),
        b'{"type": "response_item", "payload": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=lambda raw: repr(raw[:12]),
)
def test_what_is_no_object_cannot_be_read(raw: bytes) -> None:
    assert read_line(raw, "c-1") == (None, "unreadable")


def test_a_mark_in_front_and_a_return_behind_change_nothing() -> None:
    raw = b"\xef\xbb\xbf" + json.dumps(item(**message(id="m-1"))).encode() + b"\r\n"

    assert read_line(raw, "c-1") == (NewMessage("c-1", "user", "hello", AT, "m-1"), "")


@pytest.mark.parametrize("at", ["2026-02-08T14:30:00Z", "2026-02-08T14:30:00"])
def test_a_time_without_a_zone_is_in_utc(at: str) -> None:
    said = read(line("response_item", message(), at))[0]

    assert said is not None
    assert said.at == AT


@given(st.binary(), st.text())
def test_no_bytes_make_reading_fail(raw: bytes, chat: str) -> None:
    read_line(raw, chat)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
blocks = st.fixed_dictionaries(
    {}, optional={"type": st.just("input_text") | values, "text": values}
)
payloads = st.fixed_dictionaries(
    {"type": st.just("message") | values},
    optional={
        "role": st.sampled_from(["user", "assistant"]) | values,
        "id": values,
        "content": values | st.lists(blocks | values, max_size=4),
    },
)
rows = st.fixed_dictionaries(
    {"type": st.just("response_item") | values, "payload": payloads | values},
    optional={"timestamp": st.just(STAMP) | values},
)


@given(rows, st.text(st.characters()))
def test_no_fields_make_reading_fail(value: dict[str, object], chat: str) -> None:
    said, passed = read(value, chat)

    assert (said is None) == bool(passed)
    if said:
        assert said.id
        assert said.text.strip()
        assert said.at.tzinfo is UTC
        "".join((said.id, said.chat, said.text)).encode()


def rollout(home: Path, day: str, name: str, first: object = None) -> Path:
    path = home / "sessions" / day / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(first) + "\n" + json.dumps(item(**message())) + "\n")
    return path


def begun_in(directory: object) -> dict[str, object]:
    return line("session_meta", {"id": UUID, "cwd": directory})


def test_rollouts_are_found_oldest_first_and_nothing_else(tmp_path: Path) -> None:
    third = rollout(tmp_path, "2026/02/08", "rollout-2026-02-08T09-00-00-b.jsonl")
    second = rollout(tmp_path, "2026/02/08", "rollout-2026-02-08T08-00-00-c.jsonl")
    first = rollout(tmp_path, "2025/12/31", "rollout-2025-12-31T23-00-00-d.jsonl")
    rollout(tmp_path, "2026/02/08", "notes.jsonl")
    rollout(tmp_path, "2026/02/08", "rollout-1.json")
    rollout(tmp_path, "2026/02", "rollout-2.jsonl")
    rollout(tmp_path, "2026/02/08/old", "rollout-3.jsonl")
    rollout(tmp_path, "some/other/place", "rollout-4.jsonl")
    os.mkfifo(tmp_path / "sessions/2026/02/08/rollout-5.jsonl")

    assert list(transcript_files(tmp_path)) == [first, second, third]
    assert list(transcript_files(tmp_path / "nowhere")) == []


@pytest.mark.parametrize(
    "told",
    [
        {"thread_source": "subagent", "source": "exec"},
        {"source": {"subagent": {"thread_spawn": {"depth": 1}}}},
    ],
)
def test_the_rollout_of_a_subagent_is_no_conversation(
    tmp_path: Path, told: dict[str, object]
) -> None:
    aside = line("session_meta", {"cwd": str(tmp_path), **told})
    own = line("session_meta", {"cwd": str(tmp_path), "thread_source": "user", "source": "exec"})
    rollout(tmp_path, "2026/02/08", f"rollout-2026-02-08T14-30-00-{UUID}.jsonl", aside)
    kept = rollout(tmp_path, "2026/02/09", f"rollout-2026-02-09T14-30-00-{UUID}.jsonl", own)

    assert list(transcript_files(tmp_path)) == [kept]
    assert list(project_files(tmp_path, tmp_path)) == [kept]


def test_the_chat_of_a_rollout_is_the_uuid_in_its_name() -> None:
    assert chat_of(Path(f"/x/rollout-2026-02-08T14-30-00-{UUID}.jsonl")) == UUID
    assert chat_of(Path(f"rollout-{UUID.upper()}.jsonl")) == UUID.upper()
    assert chat_of(Path("rollout-2026-02-08T14-30-00-abc.jsonl")) == (
        "rollout-2026-02-08T14-30-00-abc"
    )


def test_a_rollout_by_another_name_is_of_the_same_chat(tmp_path: Path) -> None:
    renamed = rollout(tmp_path, "2026/02/08", "renamed.jsonl", begun_in("/x"))
    odd = rollout(tmp_path, "2026/02/08", "odd.jsonl", line("session_meta", {"id": "../x"}))

    assert chat_of(renamed) == UUID
    assert chat_of(odd) == "odd"


def test_the_rollouts_of_a_project_are_those_begun_in_it(tmp_path: Path) -> None:
    project, link, home = tmp_path / "garden", tmp_path / "link", tmp_path / "home"
    project.mkdir()
    link.symlink_to(project)
    day = "2026/02/08"
    own = [
        rollout(home, day, "rollout-1.jsonl", begun_in(str(project))),
        rollout(home, day, "rollout-2.jsonl", begun_in(f"{link}/")),
    ]
    rollout(home, day, "rollout-3.jsonl", begun_in(str(project / "beans")))
    rollout(home, day, "rollout-4.jsonl", begun_in(str(tmp_path)))
    rollout(home, day, "rollout-5.jsonl", line("turn_context", {"cwd": str(project)}))

    assert list(project_files(home, project)) == own
    assert list(project_files(home, link)) == own


@pytest.mark.parametrize(
    "first",
    [
        *(None, [], {}, {"type": "session_meta"}, line("session_meta", "garden")),
        *map(begun_in, (None, 7, "", ".", "garden", "/a\0b", "/\ud800", ["/"])),
    ],
)
def test_a_rollout_that_does_not_say_where_it_began_is_of_no_project(
    tmp_path: Path, first: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "garden"
    project.mkdir()
    monkeypatch.chdir(tmp_path)
    rollout(tmp_path, "2026/02/08", "rollout-1.jsonl", first)

    for each in (project, tmp_path, Path("/")):
        assert list(project_files(tmp_path, each)) == []


def test_an_empty_rollout_and_one_that_goes_away_are_of_no_project(tmp_path: Path) -> None:
    rollout(tmp_path, "2026/02/08", "rollout-1.jsonl").write_bytes(b"")
    kept = rollout(tmp_path, "2026/02/08", "rollout-2.jsonl", begun_in(str(tmp_path)))
    gone = rollout(tmp_path, "2026/02/08", "rollout-3.jsonl", begun_in(str(tmp_path)))

    found = project_files(tmp_path, tmp_path)

    assert next(found) == kept
    gone.unlink()
    assert list(found) == []


def test_the_home_is_where_the_environment_says() -> None:
    assert home_of(HOSTS[CODEX], {"CODEX_HOME": "/etc/c", "HOME": "/home/ada"}) == Path("/etc/c")
    assert home_of(HOSTS[CODEX], {"HOME": "/home/ada"}) == Path("/home/ada/.codex")
    assert home_of(HOSTS[CODEX], {"CODEX_HOME": "", "HOME": "/h"}) == Path("/h/.codex")
