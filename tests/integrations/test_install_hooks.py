"""Our handlers in a host's settings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.errors import JsonRefused
from gitmem.integrations.hosts.program import Program
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install.parts.hooks import (
    PROMPT,
    PartAdded,
    events_wired,
    is_ours,
    put_hooks,
    shipped_handlers,
    take_hooks,
)

BARE = Program(("gitmem",))
WANTED = shipped_handlers("claude-code", BARE)

COMMANDS = st.sampled_from(["say done", "prettier --write", "./gitmem-wrapper hook", "git commit"])
HANDLERS = st.fixed_dictionaries(
    {"type": st.just("command"), "command": COMMANDS}, optional={"timeout": st.integers(1, 60)}
)
GROUPS = st.fixed_dictionaries(
    {"hooks": st.lists(HANDLERS, max_size=2)}, optional={"matcher": st.just("Bash")}
)
EVENTS = st.sampled_from(["SessionStart", "Stop", "PreToolUse", "Notification"])
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "model": st.text(max_size=3),
        "hooks": st.dictionaries(EVENTS, st.lists(GROUPS, max_size=2), max_size=3),
        "env": st.dictionaries(st.text(max_size=2), st.text(max_size=2), max_size=2),
    },
)
LOOKS = st.sampled_from([{}, {"indent": 2}, {"indent": "\t"}, {"separators": (",", ":")}])
TEXTS = st.builds(
    lambda data, look, end: json.dumps(data, **look) + end,
    SETTINGS,
    LOOKS,
    st.sampled_from(["", "\n"]),
)


def handler(command: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **more}


def settings(*handlers: dict[str, Any], event: str = "Stop") -> str:
    return json.dumps({"hooks": {event: [{"hooks": list(handlers)}]}}, indent=2)


def commands(text: str, event: str = "Stop") -> list[str]:
    groups = json.loads(text)["hooks"].get(event, [])
    return [each["command"] for group in groups for each in group["hooks"]]


@given(TEXTS)
def test_what_is_put_in_and_taken_out_again_leaves_the_very_same_text(text: str) -> None:
    merged = put_hooks(text, WANTED, {})

    assert set(events_wired(json.loads(merged.text))) == set(WANTED)
    assert put_hooks(merged.text, WANTED, WANTED) == PartAdded(merged.text)
    assert take_hooks(merged.text, text) == text


@given(TEXTS)
def test_no_key_is_lost_and_none_changes_its_place(text: str) -> None:
    before, merged = json.loads(text), json.loads(put_hooks(text, WANTED, {}).text)

    assert list(merged)[: len(before)] == list(before)
    assert {**merged, "hooks": 0} == {**before, "hooks": 0}
    for event, groups in before.get("hooks", {}).items():
        assert merged["hooks"][event][: len(groups)] == groups
    old = list(before.get("hooks", {}))
    assert list(merged["hooks"])[: len(old)] == old


@pytest.mark.parametrize("host", HOSTS)
def test_every_event_is_answered_for_the_right_host(host: str) -> None:
    second = 1000 if host == "gemini" else 1
    for event, group in shipped_handlers(host, BARE, on_prompt=True).items():
        (only,) = group["hooks"]
        assert only["command"].startswith("gitmem hook ")
        assert only["command"].endswith(f"--host {host}")
        assert second <= only["timeout"] <= 10 * second
        if event == "SessionStart":
            assert only["timeout"] == 10 * second
        if event == HOSTS[host].named(PROMPT):
            assert only["command"] == f"gitmem hook user-prompt-submit --host {host}"
            assert only["timeout"] == 5 * second


def test_a_program_elsewhere_and_its_store_are_quoted_for_a_shell() -> None:
    found = shipped_handlers("codex", Program(("/opt/my tools/gitmem",), "/data/a b"))

    (only,) = found["Stop"]["hooks"]
    assert only["command"] == ("'/opt/my tools/gitmem' --store '/data/a b' hook stop --host codex")
    assert is_ours(only)


@pytest.mark.parametrize(
    "command",
    [
        "gitmem hook stop --host claude-code",
        "gitmem hook",
        "/old/place/bin/gitmem hook stop",
        "'/my tools/gitmem' --store '/a b' hook stop",
        "gitmem --store=/x --json hook stop",
        "/usr/bin/python3.11 -m gitmem hook stop",
    ],
)
def test_a_line_of_ours_is_known_whatever_its_age_or_place(command: str) -> None:
    text = settings(handler("say one"), handler(command, timeout=99), handler("say two"))

    merged = put_hooks(text, WANTED, {}).text

    ours = "gitmem hook stop --host claude-code"
    assert commands(merged) == ["say one", ours, "say two"]
    assert json.loads(merged)["hooks"]["Stop"][0]["hooks"][1]["timeout"] == 99
    assert commands(take_hooks(merged, "")) == ["say one", "say two"]
    assert take_hooks(merged, text) == text


@pytest.mark.parametrize(
    "command",
    [
        "echo gitmem hook stop",
        "gitmem write notes.md hook",
        "./my-gitmem hook stop",
        "gitmem hook stop; say done",
        "gitmem hook stop 2>>/tmp/log",
        "GITMEM_HOME=/x gitmem hook stop",
        "gitmem hook 'stop",
        "",
    ],
)
def test_what_somebody_made_of_it_is_theirs(command: str) -> None:
    text = settings(handler(command))

    merged = put_hooks(text, WANTED, {}).text

    assert commands(merged)[0] == command
    assert commands(take_hooks(merged, text)) == [command]


def test_who_calls_us_in_a_way_of_their_own_is_not_made_to_call_us_twice() -> None:
    merged = put_hooks(settings(handler("sh -c 'sleep 1; gitmem hook stop'")), WANTED, {})

    assert len(commands(merged.text)) == 1
    assert merged.remarks == ("your own command for Stop already calls gitmem: it stays",)


def test_the_exec_form_is_known_and_replaced() -> None:
    merged = put_hooks(settings(handler("gitmem", args=["hook", "stop"])), WANTED, {}).text

    assert json.loads(merged)["hooks"]["Stop"] == [WANTED["Stop"]]


def test_two_of_ours_become_one_in_the_place_of_the_first() -> None:
    text = settings(handler("gitmem hook stop"), handler("say"), handler("/x/gitmem hook stop"))

    assert commands(put_hooks(text, WANTED, {}).text) == [
        "gitmem hook stop --host claude-code",
        "say",
    ]


def test_a_call_with_a_group_of_its_own_stays_as_it_is() -> None:
    text = settings(handler("gitmem -g shop hook stop"))

    merged = put_hooks(text, WANTED, WANTED)

    assert commands(merged.text) == ["gitmem -g shop hook stop"]
    assert merged.remarks == ("your own command for Stop already calls gitmem: it stays",)


@pytest.mark.parametrize(
    "command", ["gitmem hook stop -g mine", "gitmem hook stop", "/x/gitmem hook stop"]
)
def test_a_call_that_stood_there_before_us_outlives_us(command: str) -> None:
    text = settings(handler(command, timeout=3))
    put = json.loads(put_hooks(text, WANTED, {}).text)
    edited = json.dumps({**put, "x": 1}, indent=2)

    assert json.loads(take_hooks(edited, text)) == {**json.loads(text), "x": 1}


def test_a_call_with_a_group_of_its_own_stays_when_nobody_knows_what_was_before() -> None:
    text = settings(handler("gitmem -g shop hook stop"))

    assert commands(take_hooks(put_hooks(text, WANTED, {}).text, "")) == [
        "gitmem -g shop hook stop"
    ]


def test_who_answers_only_some_sources_keeps_that() -> None:
    groups = [
        {"matcher": each, "hooks": [handler("gitmem hook session-start")]}
        for each in ("startup", "resume")
    ]
    text = json.dumps({"hooks": {"SessionStart": groups}})

    found = json.loads(put_hooks(text, WANTED, {}).text)["hooks"]["SessionStart"]

    assert [each["matcher"] for each in found] == ["startup", "resume"]


def test_an_event_that_we_never_asked_for_is_somebody_elses_wish() -> None:
    text = settings(handler("gitmem hook notification"), event="Notification")

    assert commands(put_hooks(text, WANTED, {}).text, "Notification") == [
        "gitmem hook notification"
    ]


def test_an_event_that_is_no_longer_answered_is_given_up() -> None:
    ours = {"OldEvent": {"hooks": [handler("gitmem hook old-event")]}}
    text = settings(handler("gitmem hook old-event"), event="OldEvent")

    assert "OldEvent" not in json.loads(put_hooks(text, WANTED, ours).text)["hooks"]


def test_what_nobody_touched_since_gets_the_matcher_of_the_new_version() -> None:
    old = {"PostToolUse": {"matcher": "Write", "hooks": [handler("gitmem hook post-tool-use")]}}
    text = put_hooks("", old, {}).text
    edited = text.replace('"Write"', '"Write|MyTool"')

    renewed, kept = (json.loads(put_hooks(each, WANTED, old).text) for each in (text, edited))

    assert renewed["hooks"]["PostToolUse"] == [WANTED["PostToolUse"]]
    assert kept["hooks"]["PostToolUse"][0]["matcher"] == "Write|MyTool"


def test_empty_containers_that_were_there_before_stay() -> None:
    text = '{\n  "hooks": {\n    "Stop": []\n  }\n}\n'

    assert take_hooks(put_hooks(text, WANTED, {}).text, text) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "the whole is a list, not an object"),
        ('{"hooks": []}', "hooks is a list, not an object"),
        ('{"hooks": {"Stop": {}}}', "hooks.Stop is an object, not a list"),
        ('{"hooks": {"Stop": ["x"]}}', "hooks.Stop.0 is a text, not an object"),
        ('{"hooks": {"Stop": [{"hooks": 1}]}}', "hooks.Stop.0.hooks is a number or null"),
        ('{"hooks": {}, "hooks": {}}', "duplicate name 'hooks'"),
        ('{"hooks": {},}', "not valid JSON"),
    ],
)
def test_settings_that_could_mean_anything_are_refused(text: str, said: str) -> None:
    with pytest.raises(JsonRefused) as caught:
        put_hooks(text, WANTED, {})

    assert said in caught.value.message
