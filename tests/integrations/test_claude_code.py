"""What Claude Code writes down is read as a conversation, and everything else is passed over."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.integrations.hosts.table import CLAUDE, HOSTS
from gitmem.integrations.transcripts.claude_code import (
    chat_of,
    project_files,
    project_folders,
    read_line,
    transcript_files,
)
from gitmem.integrations.transcripts.readers import ReadLine, home_of
from gitmem.memory.transcripts.add import NewMessage

AT = datetime(2026, 2, 8, 14, 30, tzinfo=UTC)
READER: ReadLine = read_line


def row(kind: str = "user", content: object = "hello", **fields: object) -> dict[str, object]:
    """A line of a session, as an object."""
    return {
        "parentUuid": None,
        "isSidechain": False,
        "type": kind,
        "uuid": "u-1",
        "sessionId": "s-1",
        "timestamp": "2026-02-08T14:30:00.000Z",
        "cwd": "/home/ada/garden",
        "message": {"role": kind, "content": content},
        **fields,
    }


def read(value: object, chat: str = "file") -> tuple[NewMessage | None, str]:
    return read_line(json.dumps(value).encode(), chat)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize("sender", ["user", "assistant"])
@pytest.mark.parametrize("content", ["water the beans", [text("water the beans")]])
def test_what_was_said_is_read(sender: str, content: object) -> None:
    assert read(row(sender, content)) == (
        NewMessage("s-1", sender, "water the beans", AT, "u-1"),
        "",
    )


def test_only_texts_are_taken_and_parted_by_a_blank_line() -> None:
    content = [
        {"type": "thinking", "thinking": "the beans again", "signature": "x"},
        text("I water them."),
        {"type": "tool_use", "id": "t-1", "name": "Bash", "input": {"command": "open tap"}},
        {"type": "tool_result", "tool_use_id": "t-1", "content": [text("a flood")]},
        {"type": "image", "source": {"type": "base64", "data": "AAAA"}},
        text("Done.\n"),
    ]

    said = read(row("assistant", content))[0]

    assert said is not None
    assert said.text == "I water them.\n\nDone.\n"


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "hm"},
        {"type": "redacted_thinking", "data": "hm"},
        {"type": "tool_use", "id": "t", "name": "Read", "input": {}},
        {"type": "tool_result", "tool_use_id": "t", "content": "lines"},
        {"type": "tool_result", "tool_use_id": "t", "content": [text("lines")]},
        {"type": "image", "source": {}},
        text(" \n"),
    ],
)
def test_a_line_without_words_has_no_text(block: object) -> None:
    assert read(row("user", [block])) == (None, "no text")
    assert read(row("assistant", [block])) == (None, "no text")
    assert read(row("user", "")) == (None, "no text")


@pytest.mark.parametrize(
    "fields", [{"isMeta": True}, {"isSidechain": True}, {"teamName": "gardeners"}]
)
def test_what_was_said_aside_is_no_conversation(fields: dict[str, object]) -> None:
    assert read(row("user", "hello", **fields)) == (None, "not conversation")


def test_what_the_host_adds_to_a_prompt_is_left_out_of_it() -> None:
    aside = "<system-reminder>be kind\n\nand brief</system-reminder>"

    for words in (f"{aside}\nPlant beans.", f"Plant beans.{aside}", f"Plant {aside}beans."):
        heard, _ = read(row("user", words))
        assert heard is not None
        assert heard.text.strip() == "Plant beans."


def test_a_user_may_write_of_the_tag_around_what_the_host_adds() -> None:
    words = "What does <system-reminder> mean? Also: we moved to Adyen."
    aside = "<system-reminder>be kind</system-reminder>"

    for text in (words, f"{aside}\n{words}"):
        heard, _ = read(row("user", text))
        assert heard is not None
        assert heard.text.strip() == words


@pytest.mark.parametrize(
    "words",
    [
        "<command-name>/clear</command-name>",
        "<command-message>clear</command-message>\n<command-name>/clear</command-name>",
        "\n  <command-args></command-args>",
        "<local-command-stdout>done</local-command-stdout>",
        "<local-command-stderr>oh</local-command-stderr>",
        "<local-command-caveat>not for you</local-command-caveat>",
        "<bash-input>ls</bash-input>",
        "<bash-stdout>beans</bash-stdout><bash-stderr></bash-stderr>",
        "<session-start-hook>hi</session-start-hook>",
        "<system-reminder>be kind</system-reminder>",
        "<task-notification>ready</task-notification>",
        "<tick>9</tick>",
        "<goal>grow</goal>",
        "<ide_opened_file>beans.md</ide_opened_file>",
        "<ide_selection>beans</ide_selection>",
        "[Request interrupted by user]",
        "[Request interrupted by user for tool use]",
    ],
)
def test_what_the_host_writes_in_its_users_name_is_no_conversation(words: str) -> None:
    assert read(row("user", words)) == (None, "not conversation")
    assert read(row("user", [text(words)])) == (None, "not conversation")
    assert read(row("assistant", words))[0] is not None


def test_a_question_is_not_lost_behind_what_the_editor_put_in_front() -> None:
    said = read(row("user", [text("<ide_selection>beans</ide_selection>"), text("Why?")]))[0]

    assert said is not None
    assert said.text == "Why?"


@pytest.mark.parametrize(
    "head",
    [
        "<command-message>diary</command-message>\n<command-name>/diary</command-name>\n",
        "<command-name>/diary</command-name>\n  <command-message>diary</command-message>\n  ",
        "<command-name>diary</command-name>",
    ],
)
def test_a_slash_command_is_kept_as_it_was_typed(head: str) -> None:
    said = read(row("user", f"{head}<command-args>we use <b>Adyen</b>\nnow</command-args>"))[0]

    assert said is not None
    assert said.text == "/diary we use <b>Adyen</b>\nnow"


@pytest.mark.parametrize("words", ["", "  \n"])
def test_a_slash_command_without_words_is_no_conversation(words: str) -> None:
    name = "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n"

    passed = read(row("user", f"{name}<command-args>{words}</command-args>"))

    assert passed == (None, "not conversation")


def test_a_tag_in_the_middle_is_the_users_own() -> None:
    assert read(row("user", "what does <command-name> mean?"))[0] is not None


def test_a_summary_is_kept_and_says_what_it_is() -> None:
    said = read(row("user", "<goal> was: beans", isCompactSummary=True))[0]

    assert said == NewMessage("s-1", "summary", "<goal> was: beans", AT, "u-1")


@pytest.mark.parametrize(
    "kind",
    [
        *("summary", "custom-title", "ai-title", "last-prompt", "tag", "mode", "permission-mode"),
        *("queue-operation", "file-history-snapshot", "content-replacement"),
        *("progress", "system", "attachment"),
        *("api-request", "api-request-shape", "api-request-blob", "cost-state", "tools-used"),
        *("atis-latch", "isolation-latch", "data-flow-records", "data-flow-incomplete"),
    ],
)
def test_what_the_host_notes_for_itself_is_no_conversation(kind: str) -> None:
    assert read({"type": kind}) == (None, "not conversation")
    assert read(row(kind)) == (None, "not conversation")


def test_a_kind_that_nobody_knows_is_said_to_be_unknown() -> None:
    assert read(row("telepathy")) == (None, "unknown: telepathy")
    assert read({"type": ""}) == (None, "unknown")


@pytest.mark.parametrize(
    "value",
    [
        *({}, [], "user", 1, None, {"type": None}, {"type": ["user"]}, {"type": {"a": 1}}),
        row(uuid=None),
        row(uuid=7),
        row(uuid=""),
        row(timestamp=None),
        row(timestamp=1770561000),
        row(timestamp="some day"),
        row(message=None),
        row(message="hello"),
        row(message={}),
        row(content=None),
        row(content={"type": "text", "text": "hello"}),
        row(content=[{"type": "text", "text": ["hello"]}]),
    ],
)
def test_what_lacks_what_it_must_have_cannot_be_read(value: object) -> None:
    assert read(value) == (None, "unreadable")


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"{", b"\xff\xfe", b'{"type": "user"', b"\0"),
        b'{"type": "user", "message": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=lambda raw: repr(raw[:12]),
)
def test_what_is_no_object_cannot_be_read(raw: bytes) -> None:
    assert read_line(raw, "file") == (None, "unreadable")


def test_a_mark_in_front_and_a_return_behind_change_nothing() -> None:
    raw = b"\xef\xbb\xbf" + json.dumps(row()).encode() + b"\r\n"

    assert read_line(raw, "file") == (NewMessage("s-1", "user", "hello", AT, "u-1"), "")


@pytest.mark.parametrize("session", [None, "", 7, ["s"]])
def test_a_line_that_names_no_chat_is_of_its_files(session: object) -> None:
    said = read(row(sessionId=session), "file")[0]

    assert said is not None
    assert said.chat == "file"


@pytest.mark.parametrize("at", ["2026-02-08T14:30:00Z", "2026-02-08T14:30:00"])
def test_a_time_without_a_zone_is_in_utc(at: str) -> None:
    said = read(row(timestamp=at))[0]

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
blocks = st.fixed_dictionaries({}, optional={"type": st.just("text") | values, "text": values})
contents = values | st.lists(blocks | values, max_size=4)
rows = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system"]) | values},
    optional={
        "uuid": st.just("u") | values,
        "timestamp": st.just("2026-02-08T14:30:00Z") | values,
        "sessionId": values,
        "isMeta": values,
        "isCompactSummary": values,
        "message": values | st.fixed_dictionaries({"content": contents}),
    },
)


@given(rows)
def test_no_fields_make_reading_fail(value: dict[str, object]) -> None:
    said, passed = read(value)

    assert (said is None) == bool(passed)
    if said:
        assert said.id
        assert said.text.strip()
        assert said.at.tzinfo is UTC
        "".join((said.id, said.chat, said.text)).encode()


def folder(home: Path, name: str, *files: str) -> Path:
    place = home / "projects" / name
    for each in files:
        (place / each).parent.mkdir(parents=True, exist_ok=True)
        (place / each).write_text("{}\n")
    place.mkdir(parents=True, exist_ok=True)
    return place


def test_sessions_are_found_in_order_and_nothing_else(tmp_path: Path) -> None:
    second = folder(tmp_path, "-work-b", "2.jsonl", "1.jsonl", "agent-7.jsonl", "memory/MEMORY.md")
    first = folder(tmp_path, "-work-a", "3.jsonl", "3/subagents/agent-1.jsonl", "notes.txt")
    folder(tmp_path, "-work-c", "4.jsonl/in-a-folder.jsonl")
    (tmp_path / "projects" / "stray.jsonl").write_text("{}\n")
    (second / "gone.jsonl").symlink_to("nowhere")

    found = list(transcript_files(tmp_path))

    assert found == [first / "3.jsonl", second / "1.jsonl", second / "2.jsonl"]
    assert [chat_of(each) for each in found] == ["3", "1", "2"]


def test_a_home_without_sessions_has_none(tmp_path: Path) -> None:
    assert list(transcript_files(tmp_path)) == []
    assert list(transcript_files(tmp_path / "nowhere")) == []
    assert project_folders(tmp_path / "nowhere", tmp_path) == []


def slug(path: Path) -> str:
    """The name that the folder of PATH has by the rule, in other words than the code's."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in str(path.resolve()))


def test_the_sessions_of_a_project_are_those_of_its_folder(tmp_path: Path) -> None:
    project = tmp_path / "my garden_2.0"
    project.mkdir()
    home = tmp_path / "home"
    own = folder(home, slug(project), "b.jsonl", "a.jsonl", "agent-1.jsonl")
    folder(home, slug(project) + "-more", "c.jsonl")
    folder(home, slug(tmp_path), "d.jsonl")

    assert own.name.endswith("-my-garden-2-0")
    assert project_folders(home, project) == [own]
    assert list(project_files(home, project)) == [own / "a.jsonl", own / "b.jsonl"]


def test_a_project_is_known_by_its_real_name(tmp_path: Path) -> None:
    project, link = tmp_path / "garden", tmp_path / "link"
    project.mkdir()
    link.symlink_to(project)
    home = tmp_path / "home"
    own = folder(home, slug(project))

    assert project_folders(home, link) == [own]
    assert project_folders(home, project / ".." / "garden") == [own]


def test_an_accent_is_one_letter_however_it_is_spelled(tmp_path: Path) -> None:
    home = tmp_path / "home"
    own = folder(home, slug(tmp_path) + "-caf-")

    for form in ("NFC", "NFD"):
        assert project_folders(home, tmp_path / unicodedata.normalize(form, "café")) == [own]


def test_a_character_that_is_two_to_javascript_is_found_as_one_and_as_two(tmp_path: Path) -> None:
    home = tmp_path / "home"
    one = folder(home, slug(tmp_path) + "--beans")
    two = folder(home, slug(tmp_path) + "---beans")

    assert sorted(project_folders(home, tmp_path / "🌱beans")) == sorted([one, two])


def test_of_a_long_name_the_beginning_counts_and_any_digest(tmp_path: Path) -> None:
    home = tmp_path / "home"
    project = tmp_path.joinpath(*["a long way down"] * 16)
    start = slug(project)[:200]
    own = [folder(home, f"{start}-{each}", "a.jsonl") for each in ("1x9z", "k3")]
    for other in (start, slug(project)[:220], f"{start}-", f"{start}-K3", f"{start[:-1]}x-k3"):
        folder(home, other, "b.jsonl")
    (home / "projects" / f"{start}-file").write_text("")

    assert project_folders(home, project) == own
    assert list(project_files(home, project)) == [each / "a.jsonl" for each in own]


@pytest.mark.parametrize(("more", "cut"), [(0, False), (1, True)])
def test_a_name_of_two_hundred_letters_is_not_cut(tmp_path: Path, more: int, cut: bool) -> None:
    home, room = tmp_path / "home", 200 - len(str(tmp_path.resolve())) - 1
    project = tmp_path / ("x" * (room + more))
    whole = folder(home, slug(project)[:200])
    digest = folder(home, f"{slug(project)[:200]}-k3")

    assert project_folders(home, project) == [digest if cut else whole]


def test_the_home_is_where_the_environment_says() -> None:
    assert home_of(HOSTS[CLAUDE], {"CLAUDE_CONFIG_DIR": "/etc/c", "HOME": "/home/ada"}) == Path(
        "/etc/c"
    )
    assert home_of(HOSTS[CLAUDE], {"HOME": "/home/ada"}) == Path("/home/ada/.claude")
    assert home_of(HOSTS[CLAUDE], {"CLAUDE_CONFIG_DIR": "", "HOME": "/h"}) == Path("/h/.claude")
