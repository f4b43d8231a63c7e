"""The permission rules of Claude Code: for each group, in step with links, and taken out again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click import Context, Group

from gitmem.cli.app import app
from gitmem.cli.commands import COMMANDS
from gitmem.errors import JsonRefused
from gitmem.integrations.install import files
from gitmem.integrations.install.parts.permissions import VERBS, put_rules, take_rules
from gitmem.integrations.install.record import installs
from gitmem.integrations.install.rewire import Rewired, rewire
from gitmem.integrations.install.skills import alias_layouts, shipped_folder, skill_files
from gitmem.memory.admin.groups import remove_group, rename_group
from gitmem.memory.admin.init import init
from gitmem.memory.admin.link import link, unlink
from gitmem.memory.group import Store
from gitmem.model.text import frontmatter
from tests.integrations.test_install import MESSY, Machine, tree
from tests.support.git import git


class Linked(Machine):
    """A machine with two groups besides main, and a folder for one of them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for name in ("main", "shop", "blog"):
            init(self.store, name)
        self.local = self.project / ".claude" / "settings.local.json"

    def link(self, group: str, folder: Path | None = None) -> Rewired:
        link(self.store, folder or self.project, group)
        return self.rewire()

    def rewire(self) -> Rewired:
        return rewire(Store(self.store.root), self.environ)

    def of_group(self, name: str) -> list[str]:
        place = self.store.default_worktree(name)
        return [f"Read(/{place}/**)", f"Edit(/{place}/**)"]


@pytest.fixture
def linked(tmp_path: Path) -> Linked:
    return Linked(tmp_path)


def allowed(path: Path) -> list[str]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8-sig"))
    rules: list[str] = found["permissions"]["allow"]
    return rules


def files_of(path: Path) -> list[str]:
    """The rules on files alone."""
    return [each for each in allowed(path) if each.startswith(("Read(", "Edit("))]


@pytest.mark.parametrize("first", ["install", "link"])
def test_a_linked_folder_may_use_the_files_of_its_group_and_no_other(
    linked: Linked, first: str
) -> None:
    if first == "install":
        linked.install()
        linked.link("shop")
    else:
        linked.link("shop")
        linked.install()

    assert files_of(linked.local) == linked.of_group("shop")
    assert files_of(linked.settings) == linked.of_group("main")
    assert linked.install().files == ()
    assert linked.rewire().files == ()


def test_a_folder_that_changes_its_group_changes_its_rules(linked: Linked) -> None:
    linked.write(linked.local, b'{"permissions": {"allow": ["Bash(ls:*)"]}}')
    linked.install()
    linked.link("shop")

    done = linked.link("blog")

    assert [(each.path, each.action) for each in done.files] == [(str(linked.local), "changed")]
    assert allowed(linked.local) == ["Bash(ls:*)", *linked.of_group("blog")]


def test_a_folder_that_is_no_longer_linked_is_as_it_was(linked: Linked) -> None:
    before = tree(linked.project)
    linked.install()
    linked.link("shop")

    unlink(linked.store, linked.project)
    done = linked.rewire()

    assert [(each.path, each.action) for each in done.files] == [(str(linked.local), "removed")]
    assert tree(linked.project) == before


def test_a_group_that_is_renamed_or_removed_takes_its_rules_along(linked: Linked) -> None:
    linked.install()
    linked.link("shop")

    rename_group(linked.store, "shop", "store")
    linked.rewire()
    assert files_of(linked.local) == linked.of_group("store")

    remove_group(linked.store, "store")
    linked.rewire()
    assert not linked.local.exists()


def test_uninstalling_leaves_every_linked_folder_as_it_was(linked: Linked, tmp_path: Path) -> None:
    other = tmp_path / "other"
    linked.write(other / ".claude" / "settings.local.json", MESSY)
    linked.write(linked.settings, MESSY)
    before = tree(linked.home, linked.project, other)
    linked.install()
    linked.link("shop")
    linked.link("blog", other)
    assert linked.of_group("blog")[0] in allowed(other / ".claude" / "settings.local.json")

    linked.uninstall()

    assert tree(linked.home, linked.project, other) == before
    assert installs(linked.store.root) == ()


def test_uninstalling_needs_no_settings_of_the_store(linked: Linked) -> None:
    before = tree(linked.home, linked.project)
    linked.install()
    linked.link("shop")
    linked.store.config.write_text("links: [")

    linked.store = Store(linked.store.root)
    linked.uninstall()

    assert tree(linked.home, linked.project) == before


def test_an_edit_since_and_a_rule_of_the_user_stay(linked: Linked) -> None:
    theirs = linked.of_group("shop")[0]
    linked.write(linked.local, json.dumps({"permissions": {"allow": [theirs]}}).encode())
    linked.install()
    linked.link("shop")
    text = json.loads(linked.local.read_text())
    text["permissions"]["allow"].insert(1, "Bash(make:*)")
    linked.local.write_text(json.dumps(text))

    linked.uninstall()

    assert allowed(linked.local) == [theirs, "Bash(make:*)"]


def test_settings_of_a_folder_that_nobody_can_read_hold_up_no_other(
    linked: Linked, tmp_path: Path
) -> None:
    broken = linked.write(tmp_path / "other/.claude/settings.local.json", b'{"permissions": ')
    linked.link("blog", tmp_path / "other")
    assert any(str(broken) in each for each in linked.install().remarks)

    done = linked.link("shop")

    assert files_of(linked.local) == linked.of_group("shop")
    assert any(str(broken) in each for each in done.remarks)
    assert broken.read_bytes() == b'{"permissions": '
    linked.uninstall()
    assert broken.read_bytes() == b'{"permissions": '


def test_a_folder_that_is_away_keeps_its_rules(linked: Linked, tmp_path: Path) -> None:
    linked.install()
    linked.link("shop")
    linked.project.rename(tmp_path / "away")
    linked.rewire()
    (tmp_path / "away").rename(linked.project)

    assert linked.rewire().files == ()
    linked.uninstall()
    assert not linked.local.exists()


def test_who_wants_no_rules_gets_none_until_they_ask(linked: Linked) -> None:
    linked.write(linked.settings, MESSY)
    linked.link("shop")
    linked.install(host_memory=False)
    linked.install(permissions=False)

    assert allowed(linked.settings) == ["Bash(ls:*)"]
    assert not linked.local.exists()
    linked.link("blog")
    linked.install()
    assert not linked.local.exists()
    linked.install(permissions=True)
    assert files_of(linked.local) == linked.of_group("blog")


def test_an_older_release_reads_the_record(linked: Linked) -> None:
    linked.install()
    linked.link("shop")

    found = json.loads((linked.store.root / "installs.json").read_text())

    # The fields that the first release knew; it refuses a row with any other.
    old = {"host", "scope", "root", "gitmem", "skills_version", "skills_folder", "skills"}
    old |= {"skills_begun", "files", "handlers", "mcp", "folders"}
    assert found["version"] == 1
    assert all(set(row) == old for row in found["installs"])
    assert all(len(each) == 3 for row in found["installs"] for each in row["files"].values())


@pytest.mark.parametrize(
    "before",
    [
        "",
        "{}",
        '{"permissions": {}}',
        '{"permissions": {"allow": []}}',
        '{"permissions": {"allow": ["a"], "deny": ["b"]}, "z": 1}\n',
        '{\r\n\t"permissions": {\r\n\t\t"allow": [\r\n\t\t\t"a"\r\n\t\t]\r\n\t}\r\n}\r\n',
        MESSY.decode(),
    ],
)
def test_rules_go_out_as_they_came(before: str) -> None:
    merged = put_rules(before, ["x", "y"], [])

    assert put_rules(merged.text, ["x", "y"], ["x", "y"]) == merged
    after = take_rules(merged.text, before, merged.given["allow"])
    assert after == (before or "{}\n")


NEVER = {
    # They reach outside of the store, destroy, run other programs, or decide for a person.
    "adopt",
    "archive",
    "check",
    "completion",
    "consolidate",
    "doctor",
    "edit",
    "groups",
    "held",
    "hook",
    "init",
    "install",
    "kept",
    "link",
    "lint",
    "maintain",
    "mcp",
    "memory-tool",
    "migrate",
    "move-entry",
    "mv",
    "restore",
    "rm",
    "rollup",
    "rotate",
    "schedule",
    "snapshot",
    "snapshots",
    "transcript prune",
    "undo",
}


def test_every_command_is_allowed_or_never_is() -> None:
    transcript = app.get_command(Context(app), "transcript")
    assert isinstance(transcript, Group)
    commands = {*COMMANDS} - {"transcript"}
    commands |= {f"transcript {each}" for each in transcript.list_commands(Context(transcript))}

    assert {*VERBS} | NEVER == commands
    assert not {*VERBS} & NEVER


def test_the_rules_of_the_user_name_commands_skills_and_the_server(linked: Linked) -> None:
    linked.install(mcp=True)

    rules = allowed(linked.settings)

    assert "Bash(gitmem write:*)" in rules
    assert "Bash(gitmem transcript pending:*)" in rules
    assert not [x for x in rules if x in ("Bash(gitmem:*)", "Bash(gitmem transcript:*)")]
    skills = {each.name for each in (linked.home / ".claude" / "skills").iterdir()}
    assert {f"Skill({each})" for each in skills} == {x for x in rules if x.startswith("Skill(")}
    assert "mcp__gitmem" in rules
    linked.install(mcp=False)
    assert "mcp__gitmem" not in allowed(linked.settings)


def test_a_skill_of_somebody_else_is_not_allowed(linked: Linked) -> None:
    linked.write(linked.home / ".claude" / "skills" / "diary" / "SKILL.md", b"theirs\n")

    linked.install()

    assert "Skill(diary)" not in allowed(linked.settings)
    assert "Skill(facts)" in allowed(linked.settings)


def test_other_names_of_skills_are_allowed_as_well(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    init(machine.store, "main", layout="zylos")

    machine.install()

    assert "Skill(zylos-memory)" in allowed(machine.settings)


def test_the_rules_of_a_plugin_name_its_skills_and_its_server(linked: Linked) -> None:
    linked.write(linked.settings, b'{"enabledPlugins": {"gitmem@gitmem": true}}')

    linked.install()

    rules = allowed(linked.settings)
    assert {"Skill(gitmem:diary)", "mcp__plugin_gitmem_gitmem"} <= {*rules}
    assert linked.link("shop").files[0].path == str(linked.local)
    assert allowed(linked.settings) == rules


def test_an_installation_of_a_project_puts_its_rules_where_nobody_else_has_them(
    linked: Linked,
) -> None:
    link(linked.store, linked.project, "shop")

    linked.install(scope="project", group="shop")

    shared = json.loads((linked.project / ".claude" / "settings.json").read_text())
    assert "permissions" not in shared
    assert files_of(linked.local) == linked.of_group("shop")
    assert "Bash(gitmem write:*)" in allowed(linked.local)
    linked.link("blog")
    assert files_of(linked.local) == linked.of_group("blog")
    assert "Bash(gitmem write:*)" in allowed(linked.local)


def test_git_does_not_see_the_file_that_was_made_in_a_project(
    linked: Linked, tmp_path: Path
) -> None:
    git(linked.project, "init", "-q")
    folders = [linked.project / "[a] b", linked.project / "c"]
    for folder in folders:
        folder.mkdir()
    before = tree(linked.project)
    linked.install()

    for folder, group in zip(folders, ("shop", "blog"), strict=True):
        linked.link(group, folder)

    assert git(linked.project, "status", "--porcelain", "-uall") == ""
    unlink(linked.store, folders[0])
    linked.rewire()
    assert git(linked.project, "status", "--porcelain", "-uall") == ""
    linked.uninstall()
    assert tree(linked.project) == before


def test_a_file_that_was_there_before_is_the_users_to_ignore(linked: Linked) -> None:
    git(linked.project, "init", "-q")
    linked.write(linked.local, b"{}\n")
    linked.install()
    linked.link("shop")

    assert "?? .claude/" in git(linked.project, "status", "--porcelain")


OUTSIDE = NEVER - {
    # What a skill may do besides: all of it comes back with `undo` or `restore`.
    "archive",
    "consolidate",
    "lint",
    "move-entry",
    "rollup",
    "rotate",
    "snapshot",
    "snapshots",
    "undo",
}


@pytest.mark.parametrize("layout", ["", *alias_layouts(shipped_folder())])
def test_a_skill_opens_no_door_that_the_rules_keep_shut(layout: str) -> None:
    found = skill_files(shipped_folder(), "claude-code", layout)
    pages = [data.decode() for path, data in found.items() if path.endswith("/SKILL.md")]
    tools = [each for page in pages for each in frontmatter.read(page)["allowed-tools"]]

    shell = {each.removeprefix("Bash(") for each in tools if each.startswith("Bash(")}
    assert {each.removesuffix(":*)") for each in shell} & {f"gitmem {x}" for x in OUTSIDE} == set()
    assert not shell & {"gitmem:*)", "gitmem transcript:*)"}
    assert {each for each in tools if "(" not in each} == {"Read", "Grep", "Glob"}


@pytest.mark.parametrize("step", range(12))
def test_who_dies_on_the_way_leaves_nothing_that_does_not_go(
    linked: Linked, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(linked.project, "init", "-q")
    linked.write(linked.settings, MESSY)
    before = tree(linked.home, linked.project)
    linked.install()
    link(linked.store, linked.project, "shop")
    with monkeypatch.context() as patched:
        patched.setattr(files, "_replace", dying(step))
        try:
            linked.rewire()
        except Died:
            pass
        else:
            assert step > 5, "it has fewer steps than that"

    if step % 2:
        assert linked.rewire().left == ()
        assert files_of(linked.local) == linked.of_group("shop")
    linked.uninstall()

    assert tree(linked.home, linked.project) == before


class Died(BaseException):
    """The process ends here."""


def dying(step: int) -> Callable[..., None]:
    """A way to write a file that ends the process at a STEP: before it, or after where odd."""
    left = [step // 2]
    write = files._replace

    def replace(path: Path, data: bytes, mode: int) -> None:
        left[0] -= 1
        if left[0] >= 0:
            write(path, data, mode)
            return
        if step % 2:
            write(path, data, mode)
        raise Died

    return replace


@pytest.mark.parametrize("text", [b'{"permissions": ', b"[]", b'{"permissions": {"allow": "x"}}'])
def test_rules_of_a_project_that_nobody_can_read_stop_it_before_anything_is_touched(
    tmp_path: Path, text: bytes
) -> None:
    machine = Machine(tmp_path)
    broken = machine.write(machine.project / ".claude" / "settings.local.json", text)
    before = tree(tmp_path)

    for dry_run in (True, False):
        with pytest.raises(JsonRefused) as caught:
            machine.install(scope="project", dry_run=dry_run)
        assert caught.value.message.startswith(f"{broken}: ")

    assert tree(tmp_path) == before


def test_rules_of_a_linked_folder_that_nobody_can_read_are_named_there_too(linked: Linked) -> None:
    broken = linked.write(linked.local, b'{"permissions": ')
    linked.link("shop")

    done = linked.install()  # in the very folder: its hooks are looked at, too

    assert [each for each in done.remarks if each.startswith(f"{broken}: ")]
    assert linked.install().files == ()
    assert broken.read_bytes() == b'{"permissions": '


def test_rules_of_a_project_that_broke_since_stop_no_other_installation(linked: Linked) -> None:
    linked.link("shop")
    linked.install()
    linked.install(scope="project", group="shop")
    whole = linked.local.read_bytes()
    broken = linked.write(linked.local, b'{"permissions": ')

    done = linked.link("blog")

    assert [each for each in done.left if each.startswith(f"{broken}: ")]
    assert [x for x in linked.uninstall(scope="project").left if x.startswith(f"{broken}: ")]
    linked.uninstall()
    assert broken.read_bytes() == b'{"permissions": '
    linked.write(linked.local, whole)
    assert linked.uninstall(scope="project").left == ()
    assert not linked.local.exists()
