"""Flags, then the environment, then defaults."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.cli.settings import Flags, resolve
from gitmem.errors import BadInput

HOME = {"HOME": "/home/ada"}


@pytest.mark.parametrize(
    ("flag", "environ", "store"),
    [
        ("/a", {"GITMEM_HOME": "/b", "XDG_DATA_HOME": "/c"}, "/a"),
        ("", {"GITMEM_HOME": "/b", "XDG_DATA_HOME": "/c"}, "/b"),
        ("", {"XDG_DATA_HOME": "/c"}, "/c/gitmem"),
        ("", {"XDG_DATA_HOME": "not/absolute"}, "/home/ada/.local/share/gitmem"),
        ("", {"GITMEM_HOME": "", "XDG_DATA_HOME": ""}, "/home/ada/.local/share/gitmem"),
        ("~/memory", {}, "/home/ada/memory"),
        ("~", {}, "/home/ada"),
        ("", {"GITMEM_HOME": "~/memory"}, "/home/ada/memory"),
        ("/a/../b/", {}, "/b"),
    ],
)
def test_the_store_is_named_by_flag_variable_or_convention(
    flag: str, environ: dict[str, str], store: str
) -> None:
    assert resolve(Flags(store=flag), HOME | environ).store == Path(store)


def test_a_relative_store_is_made_absolute() -> None:
    assert resolve(Flags(store="memory"), HOME).store == Path(os.getcwd()) / "memory"


def test_without_anything_the_group_is_main_and_nobody_acts() -> None:
    settings = resolve(Flags(), HOME)

    assert (settings.group, settings.group_named, settings.acting) == ("main", False, None)


def test_the_variable_names_the_group_and_who_acts() -> None:
    settings = resolve(Flags(), {"GITMEM_GROUP": "research"})

    assert (settings.group, settings.group_named, settings.acting) == ("research", True, "research")


def test_a_flag_changes_the_group_but_not_who_acts() -> None:
    settings = resolve(Flags(group="global"), {"GITMEM_GROUP": "research"})

    assert (settings.group, settings.acting) == ("global", "research")


@pytest.mark.parametrize(
    ("flags", "environ", "who"),
    [
        (Flags(), {}, ("agent", "", "")),
        (Flags(), {"GITMEM_AGENT": "ada", "GITMEM_SESSION": "s1"}, ("ada", "s1", "")),
        (Flags(), {"CLAUDE_CODE_SESSION_ID": "c1"}, ("claude-code", "c1", "")),
        (Flags(), {"CLAUDECODE": "1"}, ("claude-code", "", "")),
        (Flags(), {"CODEX_SESSION_ID": "x1", "CODEX_THREAD_ID": "x2"}, ("codex", "x1", "")),
        (Flags(), {"CODEX_THREAD_ID": "x2"}, ("codex", "x2", "")),
        (Flags(), {"CLAUDECODE": "1", "CODEX_THREAD_ID": "x2"}, ("claude-code", "", "")),
        (Flags(), {"GITMEM_AGENT": "ada", "CODEX_THREAD_ID": "x2"}, ("ada", "x2", "")),
        (
            Flags(),
            {"GITMEM_SESSION": "s1", "CLAUDE_CODE_SESSION_ID": "c1"},
            ("claude-code", "s1", ""),
        ),
        (Flags(agent="bob", session="s2", source="mail"), {"GITMEM_AGENT": "ada"}, None),
    ],
)
def test_who_acts_is_told_by_flags_then_variables(
    flags: Flags, environ: dict[str, str], who: tuple[str, str, str] | None
) -> None:
    settings = resolve(flags, environ)

    assert (settings.agent, settings.session, settings.source) == (who or ("bob", "s2", "mail"))


def test_the_clock_can_be_made_to_stand_still() -> None:
    moment = resolve(Flags(), {"GITMEM_NOW": "2026-02-08T14:30:00Z"}).now

    assert moment == datetime(2026, 2, 8, 14, 30, tzinfo=UTC)
    assert resolve(Flags(), {}).now is None


def test_a_time_without_an_offset_is_the_machines() -> None:
    moment = resolve(Flags(), {"GITMEM_NOW": "2026-02-08T14:30"}).now

    assert moment is not None
    assert moment.utcoffset() is not None


def test_a_clock_that_is_no_time_is_a_usage_error() -> None:
    with pytest.raises(BadInput, match="GITMEM_NOW"):
        resolve(Flags(), {"GITMEM_NOW": "noonish"})


@pytest.mark.parametrize(
    ("environ", "colour"),
    [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colours_can_be_forbidden(environ: dict[str, str], colour: bool) -> None:
    assert resolve(Flags(), environ).colour is colour
