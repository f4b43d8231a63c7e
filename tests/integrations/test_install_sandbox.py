"""The sandbox of Codex can write to memory: in step with links, and taken out again."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.integrations.install.parts.sandbox import ROOTS, TABLE, put_roots, take_roots
from gitmem.memory.admin.groups import rename_group
from gitmem.memory.admin.link import unlink
from tests.integrations.test_install_permissions import Linked

WANTED = ("/s/groups/shop", "/s/repos/shop.git")
MODEL = 'model = "gpt-5.5"  # mine\n\n[projects."/work"]\ntrust_level = "trusted"\n'


def said(text: str) -> dict[str, Any]:
    return tomllib.loads(text)


TEXTS = {
    "nothing": "",
    "other settings": MODEL,
    "no end of the last line": 'model = "gpt-5.5"',
    "Windows": MODEL.replace("\n", "\r\n"),
    "a table": f"[{TABLE}]\nnetwork_access = true # yes\n\n{MODEL}",
    "a table at the end": f"{MODEL}[ {TABLE} ] # mine",
    "an empty list": f"{MODEL}[{TABLE}]\n{ROOTS} = []\nnetwork_access = true\n",
    "a list": f"[{TABLE}]\n{ROOTS} = ['/data', \"/ä\"] # mine\n\n{MODEL}",
    "a list of lines": (
        f"[{TABLE}]\n{ROOTS} = [ # [\n  '/data', # a ] and a \"\n\n  '/b',\n]\n"
        "network_access = true\n"
    ),
    "a list of lines in Windows": f"[{TABLE}]\r\n{ROOTS} = [\r\n  '/data'\r\n]\r\n",
    "a dotted key": f"{TABLE}.{ROOTS} = ['/data']\n{MODEL}",
    "a text that looks like it": (
        f"note = '''\n[{TABLE}]\n{ROOTS} = ['/x']\n'''\n[a]\nb = [\n[1], ['''\n[{TABLE}]''']]\n"
    ),
    "a table below it": f"[{TABLE}.more]\na = 1\n",
    "a table of another name": f"[profiles.{TABLE}]\n{ROOTS} = ['/x']\n",
}


@pytest.mark.parametrize("before", TEXTS.values(), ids=list(TEXTS))
class TestTheList:
    def test_all_else_says_what_it_said(self, before: str) -> None:
        merged = put_roots(before, WANTED, ())

        assert merged.remarks == ()
        assert merged.given == {ROOTS: list(WANTED)}
        now, then = said(merged.text), said(before)
        old = then.setdefault(TABLE, {}).pop(ROOTS, [])
        assert now[TABLE].pop(ROOTS) == [*WANTED, *old]
        assert now == then

    def test_every_line_that_is_not_ours_stays(self, before: str) -> None:
        lines = put_roots(before, WANTED, ()).text.splitlines(keepends=True)

        theirs = [each for each in before.splitlines(keepends=True) if ROOTS not in each]
        missing = [each for each in theirs if each not in lines and f"{each}\n" not in lines]
        assert missing == []
        assert ("\r\n" in before) == any(each.endswith("\r\n") for each in lines)

    def test_a_second_time_changes_nothing(self, before: str) -> None:
        text = put_roots(before, WANTED, ()).text

        assert put_roots(text, WANTED, WANTED).text == text

    def test_taken_out_it_is_as_it_was(self, before: str) -> None:
        text = put_roots(before, WANTED, ()).text

        assert take_roots(text, before, WANTED) == before

    def test_one_more_and_one_less(self, before: str) -> None:
        text = put_roots(before, WANTED, ()).text

        more = put_roots(text, (*WANTED, "/s/groups/blog"), WANTED)
        less = put_roots(more.text, WANTED, more.given[ROOTS])

        assert "/s/groups/blog" in said(more.text)[TABLE][ROOTS]
        assert less.text == text

    def test_what_was_added_since_stays(self, before: str) -> None:
        text = put_roots(before, WANTED, ()).text + '\n[hooks.state."x"]\ntrusted_hash = "1"\n'

        left = take_roots(text, before, WANTED)

        assert said(left) == {**said(before), "hooks": {"state": {"x": {"trusted_hash": "1"}}}}


@pytest.mark.parametrize(
    "text",
    [
        f"{TABLE} = {{ {ROOTS} = ['/data'] }}\n",
        f"{TABLE} = {{}}\n",
        f"['{TABLE}']\n'{ROOTS}' = ['/data']\n",
    ],
)
def test_what_is_written_in_a_way_that_is_not_edited_is_left_and_told(text: str) -> None:
    merged = put_roots(text, WANTED, ())

    assert merged.text == text
    [told] = merged.remarks
    assert f"by hand: {json.dumps(WANTED)}" in told


def test_folders_that_the_user_has_opened_stay_the_users() -> None:
    text = f"[{TABLE}]\n{ROOTS} = ['/s/groups', '/s/repos/shop.git']\n"

    merged = put_roots(text, WANTED, ())

    assert (merged.text, dict(merged.given)) == (text, {})
    assert take_roots(text, text, ()) == text


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@given(st.lists(NAMES, max_size=3), st.data())
def test_any_name_of_a_folder_is_put_and_taken_or_left(
    names: list[str], data: st.DataObject
) -> None:
    """What TOML cannot say is left out and told; nothing else ever breaks the file."""
    before = data.draw(st.sampled_from(sorted(TEXTS.values())))
    wanted = [f"/s/{each}" for each in names]

    merged = put_roots(before, wanted, ())
    ours = merged.given.get(ROOTS, [])

    assert set(said(merged.text).get(TABLE, {}).get(ROOTS, [])) >= set(ours)
    assert take_roots(merged.text, before, ours) == before


# ---- installed


@pytest.fixture
def linked(tmp_path: Path) -> Linked:
    return Linked(tmp_path)


def config(linked: Linked) -> Path:
    return linked.home / ".codex" / "config.toml"


def roots(linked: Linked) -> list[str]:
    found: list[str] = said(config(linked).read_text())[TABLE][ROOTS]
    return found


def of_groups(linked: Linked, *names: str) -> list[str]:
    folders = [(linked.store.default_worktree(x), linked.store.gitdir(x)) for x in names]
    return [str(each) for pair in folders for each in pair]


@pytest.mark.parametrize("first", ["install", "link"])
def test_codex_can_write_to_main_and_to_linked_groups(linked: Linked, first: str) -> None:
    if first == "install":
        linked.install("codex")
        linked.link("shop")
    else:
        linked.link("shop")
        linked.install("codex")

    assert sorted(roots(linked)) == sorted(of_groups(linked, "main", "shop"))
    assert linked.install("codex").files == ()
    assert linked.rewire().files == ()


def test_the_change_is_shown_before_it_is_made(linked: Linked) -> None:
    done = linked.install("codex", dry_run=True)

    [shown] = [each for each in done.files if each.path == str(config(linked))]
    assert f"+{ROOTS} = " in shown.diff
    assert not config(linked).exists()


def test_links_that_go_and_groups_that_are_renamed_take_their_folders_along(linked: Linked) -> None:
    linked.install("codex")
    linked.link("shop")

    rename_group(linked.store, "shop", "market")
    linked.rewire()
    assert sorted(roots(linked)) == sorted(of_groups(linked, "main", "market"))

    unlink(linked.store, linked.project)
    linked.rewire()
    assert roots(linked) == of_groups(linked, "main")


@pytest.mark.parametrize("mcp", [True, False])
@pytest.mark.parametrize("before", TEXTS.values(), ids=list(TEXTS))
def test_uninstalling_restores_the_bytes(linked: Linked, before: str, mcp: bool) -> None:
    linked.write(config(linked), before.encode())
    linked.install("codex", mcp=mcp)
    linked.link("shop")
    assert roots(linked)

    linked.uninstall("codex")

    assert config(linked).read_bytes() == before.encode()


@pytest.mark.parametrize("mcp", [True, False])
def test_uninstalling_leaves_what_codex_has_written_since(linked: Linked, mcp: bool) -> None:
    linked.write(config(linked), MODEL.encode())
    linked.install("codex", mcp=mcp)
    trust = '\n[hooks.state]\n\n[hooks.state."x"]\ntrusted_hash = "1"\n'
    with config(linked).open("a") as file:
        file.write(trust)

    linked.uninstall("codex")

    assert config(linked).read_text() == MODEL + trust


def test_a_file_that_was_not_there_is_gone_again(linked: Linked) -> None:
    linked.install("codex")
    linked.uninstall("codex")

    assert not config(linked).exists()


def test_a_config_that_nobody_can_read_is_told_and_left(linked: Linked) -> None:
    linked.write(config(linked), b"model = \n")

    done = linked.install("codex")

    assert config(linked).read_bytes() == b"model = \n"
    assert any("the sandbox still denies writes to memory" in each for each in done.remarks)
    linked.uninstall("codex")
    assert config(linked).read_bytes() == b"model = \n"


def test_the_sandbox_of_a_project_names_no_folder_of_this_machine(linked: Linked) -> None:
    linked.install("codex", "project")

    assert not (linked.project / ".codex" / "config.toml").exists()
    assert not config(linked).exists()
