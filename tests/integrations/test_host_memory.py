"""The memory that a host writes by itself: found, put under history where it is, and shown once."""

from __future__ import annotations

import json
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gitmem.integrations.doctor.doctor import Fault, Running, doctor
from gitmem.integrations.host_memory.adopt import group_name, own_folders, project_of
from gitmem.integrations.host_memory.folders import main_checkout, used_for
from gitmem.integrations.install import install as wiring
from gitmem.integrations.install.host_files import SCOPES
from gitmem.integrations.install.rewire import rewire
from gitmem.memory.admin.groups import remove_group, rename_group
from gitmem.memory.admin.init import init
from gitmem.memory.admin.link import link, unlink
from gitmem.memory.group import Store
from gitmem.memory.layouts import layout_of
from gitmem.memory.read.log import log
from gitmem.memory.recover.undo import undo
from gitmem.memory.write.capture import capture
from gitmem.memory.write.write import Edit, write
from tests.support.claude import CLAUDE, INDEX, TOPIC, Machine, installed, uninstalled
from tests.support.git import git


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def used(machine: Machine, project: Path | None = None, **environ: str) -> str:
    return used_for(CLAUDE, machine.environ | environ, str(project or machine.project)).folder


# ---- where it is


def test_a_project_has_a_folder_of_its_own(machine: Machine) -> None:
    assert used(machine) == str(machine.memory())


def test_a_subfolder_uses_the_folder_of_its_repository(machine: Machine) -> None:
    inner = machine.project / "src" / "till"
    inner.mkdir(parents=True)

    assert used(machine, inner) == str(machine.memory())


def test_a_worktree_uses_the_folder_of_the_main_checkout(machine: Machine) -> None:
    tree = machine.home / "tree"
    git(machine.project, "commit", "-q", "--allow-empty", "-m", "x")
    git(machine.project, "worktree", "add", "-q", str(tree))

    assert main_checkout(str(tree)) == str(machine.project)
    assert used(machine, tree) == str(machine.memory())


def test_a_folder_without_a_repository_has_its_own(machine: Machine) -> None:
    inner = machine.home / "plain" / "inner"
    inner.mkdir(parents=True)

    assert used(machine, inner) == str(machine.folder(inner) / "memory")


@pytest.mark.parametrize(
    "path", [".claude/settings.local.json", ".claude/settings.json", "~/.claude/settings.json"]
)
@pytest.mark.parametrize(
    ("said", "folder"),
    [
        ({"autoMemoryDirectory": "/srv/memory/"}, "/srv/memory"),
        ({"autoMemoryDirectory": "~/notes"}, "{home}/notes"),
        ({"autoMemoryEnabled": False}, ""),
        ({"env": {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}}, ""),
    ],
)
def test_settings_name_another_folder_or_none(
    machine: Machine, path: str, said: dict[str, Any], folder: str
) -> None:
    place = Path(path.replace("~", str(machine.home)))
    file = machine.project / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(said))

    assert used(machine) == folder.format(home=machine.home)


def test_the_variable_turns_it_off(machine: Machine) -> None:
    machine.memory()

    assert used(machine, CLAUDE_CODE_DISABLE_AUTO_MEMORY="1") == ""
    assert used(machine, CLAUDE_CODE_DISABLE_AUTO_MEMORY="0") != ""


def test_folders_without_a_note_are_not_found(machine: Machine) -> None:
    there = machine.memory()
    empty = machine.folder(machine.home) / "memory"
    empty.mkdir(parents=True)
    (empty / "notes.txt").write_text("no Markdown")

    assert own_folders(CLAUDE, machine.environ) == [there]


# ---- whose it is


def test_the_project_is_the_one_that_a_transcript_names(machine: Machine) -> None:
    folder = machine.memory()
    machine.session(machine.project)

    assert project_of(folder) == str(machine.project)
    name = group_name(machine.store, folder, str(machine.project), CLAUDE, machine.environ)
    assert name == "shop"


def test_a_transcript_of_a_subfolder_names_the_project_above_it(machine: Machine) -> None:
    inner = machine.project / "src"
    inner.mkdir()
    machine.session(inner, project=inner)

    assert project_of(machine.memory()) == str(machine.project)


def test_a_transcript_of_another_folder_names_nothing(machine: Machine) -> None:
    machine.session(machine.home / "elsewhere")

    assert project_of(machine.memory()) == ""


def test_without_a_transcript_the_name_comes_from_the_folder(machine: Machine) -> None:
    folder = machine.memory()

    assert group_name(machine.store, folder, "", CLAUDE, machine.environ) == "work-shop"


def test_two_projects_of_one_name_get_two_groups(machine: Machine) -> None:
    for project in (machine.project, machine.home / "old" / "shop", machine.home / "x" / "Shop"):
        project.mkdir(parents=True, exist_ok=True)
        machine.session(project, project)
        machine.adopt(machine.memory(project))

    assert machine.store.names() == ["old-shop", "shop", "x-Shop"]


@pytest.mark.parametrize("name", ["main", "global", ".dotted", "a b: c", "--", "ünïcode"])
def test_any_name_of_a_project_gives_a_group(machine: Machine, name: str) -> None:
    project = machine.home / "work" / name
    project.mkdir(parents=True)
    machine.session(project, project)

    done = machine.adopt(machine.memory(project))

    assert done.group not in ("main", "global")
    assert machine.store.names() == [done.group]


# ---- under history, where it is


def test_the_folder_becomes_a_group_and_no_file_changes(machine: Machine) -> None:
    folder = machine.memory()
    machine.session(machine.project)
    before = {each.name: each.read_bytes() for each in folder.iterdir()}

    done = machine.adopt(folder)

    assert (done.group, done.files, done.linked) == ("shop", 2, True)
    assert machine.links() == {str(machine.project): "shop"}
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert machine.opened("shop").worktree == folder


def test_a_dry_run_makes_nothing(machine: Machine) -> None:
    folder = machine.memory()
    machine.session(machine.project)

    done = machine.adopt(folder, dry_run=True)

    assert (done.group, done.linked) == ("shop", True)
    assert sorted(each.name for each in folder.iterdir()) == ["MEMORY.md", "mascot.md"]
    assert not machine.store.root.exists()


def test_a_project_that_uses_a_group_keeps_it(machine: Machine) -> None:
    init(machine.store, "till")
    link(machine.store, machine.project, "till")
    machine.session(machine.project)

    done = machine.adopt(machine.memory())

    assert machine.links() == {str(machine.project): "till"}
    assert done.next == f"`gitmem -g shop link {machine.project}`"


def test_where_main_holds_memory_the_link_is_left_to_a_person(machine: Machine) -> None:
    init(machine.store, "main", layout="standard")
    write(machine.opened("main"), [Edit("facts/oslo.md", b"Kroner.\n")])
    machine.session(machine.project)

    done = machine.adopt(machine.memory())

    assert machine.links() == {}
    assert done.next == f"`gitmem -g shop link {machine.project}`"


def test_where_main_is_as_it_began_the_project_is_linked(machine: Machine) -> None:
    init(machine.store, "main", layout="standard")
    machine.session(machine.project)

    assert machine.adopt(machine.memory()).linked


def test_an_edit_in_main_that_nobody_captured_counts_as_memory(machine: Machine) -> None:
    init(machine.store, "main", layout="standard")
    (machine.opened("main").worktree / "identity.md").write_text("I am Ada's.\n")
    machine.session(machine.project)

    assert not machine.adopt(machine.memory()).linked


def test_the_home_folder_is_never_linked(machine: Machine) -> None:
    machine.session(machine.home, machine.home)

    done = machine.adopt(machine.memory(machine.home))

    assert (done.linked, done.next) == (False, "")
    assert machine.links() == {}


def test_a_note_with_a_secret_stays_and_is_named(machine: Machine) -> None:
    folder = machine.memory(keys="the pass" + "word is " + "hunter2-9f3kq8")
    machine.session(machine.project)

    done = machine.adopt(folder)

    assert done.held == ("keys.md",)
    assert "hunter2" in (folder / "keys.md").read_text()


# ---- shown once


def test_the_index_that_the_host_loads_is_not_shown_again(machine: Machine) -> None:
    machine.session(machine.project)
    machine.adopt(machine.memory())

    assert "quokka-lantern" not in machine.started()


def test_the_index_is_shown_where_the_hosts_memory_is_off(machine: Machine) -> None:
    machine.session(machine.project)
    machine.adopt(machine.memory())
    machine.environ["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] = "1"

    assert machine.started().count("quokka-lantern") == 1


def test_the_index_of_another_group_is_shown(machine: Machine) -> None:
    init(machine.store, "till", layout="claude-code")
    link(machine.store, machine.project, "till")
    machine.memory()
    write(machine.opened("till"), [Edit("MEMORY.md", b"- the till is called emu-lantern\n")])

    assert machine.started().count("emu-lantern") == 1


def test_a_resumed_session_is_not_told_what_its_host_tells(machine: Machine) -> None:
    machine.session(machine.project)
    folder = machine.memory()
    machine.adopt(folder)
    machine.started()
    (folder / "MEMORY.md").write_text(INDEX + "- it moved to emu-lantern\n")

    assert "emu-lantern" not in machine.started("SessionStart-resume")


def test_the_command_inject_shows_the_index_as_ever(machine: Machine) -> None:
    from gitmem.memory.context.inject import inject

    machine.session(machine.project)
    machine.adopt(machine.memory())

    assert inject(machine.opened("shop")).text.count("quokka-lantern") == 1


# ---- install


def local_settings(machine: Machine) -> Path:
    return machine.project / ".claude" / "settings.local.json"


def directory(machine: Machine) -> str:
    path = local_settings(machine)
    said = json.loads(path.read_text()) if path.exists() else {}
    return str(said.get("autoMemoryDirectory", ""))


def test_install_adopts_every_folder_that_is_there(machine: Machine) -> None:
    other = machine.home / "other"
    other.mkdir()
    for project in (machine.project, other):
        machine.session(project, project)
        machine.memory(project)

    done = installed(machine)

    assert sorted((each.group, each.linked) for each in done.adopted) == [
        ("other", True),
        ("shop", True),
    ]
    assert machine.links() == {str(machine.project): "shop", str(other): "other"}
    assert directory(machine) == ""  # the host already uses the group's own folder


def test_installing_again_adopts_nothing(machine: Machine) -> None:
    machine.session(machine.project)
    machine.memory()
    installed(machine)

    assert installed(machine).adopted == ()
    assert machine.store.names() == ["main", "shop"]


def test_a_dry_run_of_install_shows_the_adoption_and_does_nothing(machine: Machine) -> None:
    machine.session(machine.project)
    folder = machine.memory()

    done = installed(machine, dry_run=True)

    assert [each.group for each in done.adopted] == ["shop"]
    assert not (folder / ".git").exists()
    assert not machine.store.root.exists()
    would = {each.path for each in done.files}
    assert would == {each.path for each in installed(machine).files}


def test_who_keeps_the_hosts_memory_as_it_is_is_not_asked_again(machine: Machine) -> None:
    machine.session(machine.project)
    folder = machine.memory()

    assert installed(machine, host_memory=False).adopted == ()
    assert installed(machine).adopted == ()
    assert not (folder / ".git").exists()
    assert [each.group for each in installed(machine, host_memory=True).adopted] == ["shop"]


def test_install_for_one_project_leaves_the_others_alone(machine: Machine) -> None:
    other = machine.home / "other"
    other.mkdir()
    for project in (machine.project, other):
        machine.session(project, project)
        machine.memory(project)

    done = installed(machine, "project")

    assert [each.group for each in done.adopted] == ["shop"]


@pytest.mark.parametrize("scope", SCOPES)
def test_one_install_is_enough_where_it_adopts_and_links(machine: Machine, scope: str) -> None:
    machine.session(machine.project)
    folder = machine.memory()
    would = installed(machine, scope, dry_run=True)

    done = installed(machine, scope)

    assert machine.links() == {str(machine.project): "shop"}
    assert f"Edit(/{folder}/**)" in local_settings(machine).read_text()
    assert [each.diff for each in would.files] == [each.diff for each in done.files]
    assert [each for each in done.next if f"link {machine.project}" in each] == []
    group = "shop" if scope == "project" else "main"
    again = installed(machine, scope, group=group, dry_run=True)
    assert [each.diff for each in again.files] == []
    assert "permissions-missing" not in {each.code for each in all_findings(machine)}


def test_a_group_that_was_named_for_a_project_waits_for_its_link(machine: Machine) -> None:
    for name in ("main", "blog"):
        init(machine.store, name)
    machine.session(machine.project)
    machine.memory()

    done = installed(machine, "project", group="blog")

    assert (done.adopted, machine.links()) == ((), {})
    assert done.next[0] == f"`gitmem -g blog link {machine.project}`"
    group = machine.store.default_worktree("blog")
    assert f"Edit(/{group}/**)" in local_settings(machine).read_text()
    link(machine.store, machine.project, "blog")
    rewire(Store(machine.store.root), machine.environ)
    assert directory(machine) == str(group / "memory")


def test_a_repository_of_the_users_own_is_named_and_left(machine: Machine) -> None:
    folder = machine.memory()
    git(folder, "init", "-q", ".")

    done = installed(machine)

    assert done.adopted == ()
    assert [each for each in done.remarks if str(folder) in each and "not adopted" in each]


# ---- hooks


def written(machine: Machine, path: Path, **said: Any) -> dict[str, Any]:
    """The hook for a file that the tool Write has just written."""
    tool = {"tool_input": {"file_path": str(path), "content": path.read_text()}}
    return machine.hook("post-tool-use", "PostToolUse-Write", **tool, **said)


def test_the_first_write_into_the_hosts_memory_adopts_it(machine: Machine) -> None:
    installed(machine)
    folder = machine.memory()

    assert written(machine, folder / "mascot.md") == {}

    assert machine.links() == {str(machine.project): "shop"}
    newest = log(machine.opened("shop"))[0]
    assert (newest.session, newest.agent) == ("5c2b3bb2-6fc7-44ef-97c4-8b3e32fb7330", "claude-code")


def test_each_later_write_is_a_commit_of_its_session(machine: Machine) -> None:
    installed(machine)
    folder = machine.memory()
    written(machine, folder / "mascot.md")
    (folder / "mascot.md").write_text(TOPIC + "It hops.\n")

    written(machine, folder / "mascot.md", session_id="later")

    newest = log(machine.opened("shop"), "mascot.md")[0]
    assert (newest.op, newest.session) == ("capture", "later")


def test_a_write_from_a_worktree_is_of_the_main_checkout(machine: Machine) -> None:
    installed(machine)
    tree = machine.home / "tree"
    git(machine.project, "commit", "-q", "--allow-empty", "-m", "x")
    git(machine.project, "worktree", "add", "-q", str(tree))

    written(machine, machine.memory() / "mascot.md", cwd=str(tree))

    assert machine.links() == {str(machine.project): "shop"}


def test_a_turn_that_ends_adopts_what_a_shell_wrote(machine: Machine) -> None:
    installed(machine)
    machine.memory()

    machine.hook("stop", "Stop")

    assert machine.links() == {str(machine.project): "shop"}


@pytest.mark.parametrize("is_linked", [True, False])
def test_a_note_that_the_host_deletes_is_captured_when_the_turn_ends(
    machine: Machine, is_linked: bool
) -> None:
    installed(machine)
    if not is_linked:
        write(machine.opened("main"), [Edit("facts/oslo.md", b"Kroner.\n")])
    folder = machine.memory()
    written(machine, folder / "mascot.md")
    (folder / "mascot.md").unlink()

    machine.hook("stop", "Stop")

    newest = log(machine.opened("shop"))[0]
    assert (newest.op, newest.paths) == ("capture", ("mascot.md",))
    undo(machine.opened("shop"), [newest.commit])
    assert (folder / "mascot.md").read_text() == TOPIC


def busy_main(machine: Machine) -> None:
    """The group of folders without a link holds memory, so no project is linked by itself."""
    installed(machine)
    write(machine.opened("main"), [Edit("facts/oslo.md", b"Kroner.\n")])


@pytest.mark.parametrize("door", ["write", "stop"])
def test_the_user_is_told_once_of_a_group_that_the_project_does_not_use(
    machine: Machine, door: str
) -> None:
    busy_main(machine)
    folder = machine.memory()

    def hook() -> dict[str, Any]:
        if door == "write":
            return written(machine, folder / "mascot.md")
        return machine.hook("stop", "Stop")

    said = hook()["systemMessage"]

    assert "shop" in said
    assert str(folder) in said
    assert f"`gitmem -g shop link {machine.project}`" in said
    assert f"`gitmem link {machine.project} --remove`" in said
    (folder / "mascot.md").write_text(TOPIC + "It hops.\n")
    assert hook() == {}
    assert machine.hook("stop", "Stop") == {}


def test_a_group_that_nobody_can_link_is_told_without_a_command(machine: Machine) -> None:
    installed(machine)
    folder = machine.memory(machine.home)

    said = written(machine, folder / "mascot.md", cwd=str(machine.home))["systemMessage"]

    assert str(folder) in said
    assert " link " not in said


@pytest.mark.parametrize("wanted", [False, None])
def test_nothing_is_adopted_where_nobody_wants_it(machine: Machine, wanted: bool | None) -> None:
    if wanted is None:
        init(machine.store, "main", layout="standard")
    else:
        installed(machine, host_memory=False)
    folder = machine.memory()

    written(machine, folder / "mascot.md")
    machine.hook("stop", "Stop")

    assert machine.store.names() == ["main"]
    assert not (folder / ".git").exists()


def test_two_hooks_at_once_make_one_group(machine: Machine) -> None:
    installed(machine)
    folder = machine.memory(second=TOPIC)
    names = ("mascot", "second", "MEMORY")

    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda name: written(machine, folder / f"{name}.md"), names))

    assert machine.store.names() == ["main", "shop"]
    assert git(folder, "status", "--porcelain") == ""


def test_a_file_of_another_memory_folder_is_left_alone(machine: Machine) -> None:
    installed(machine)
    folder = machine.project / "projects" / "x" / "memory"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("not the host's")

    written(machine, folder / "a.md")

    assert machine.store.names() == ["main"]


@pytest.mark.parametrize("door", ["install", "write", "stop"])
def test_an_adoption_that_was_killed_is_finished(machine: Machine, door: str) -> None:
    """Its writer died when the folder had its group, and the group had no file."""
    installed(machine)
    machine.session(machine.project)
    folder = machine.memory()
    init(machine.store, "shop", worktree=folder, capture_files=False)

    if door == "install":
        installed(machine)
    elif door == "write":
        written(machine, folder / "mascot.md")
    else:
        machine.hook("stop", "Stop")

    assert machine.store.names() == ["main", "shop"]
    assert machine.links() == {str(machine.project): "shop"}
    assert layout_of(machine.opened("shop")).name == "claude-code"
    assert git(folder, "status", "--porcelain") == ""


def test_a_session_of_one_group_says_nothing_of_another(machine: Machine) -> None:
    installed(machine)
    init(machine.store, "till", layout="standard")
    folder = machine.memory()
    written(machine, folder / "mascot.md")
    tip = log(machine.opened("shop"))[0].commit
    (folder / "mascot.md").unlink()
    machine.environ["GITMEM_GROUP"] = "till"

    assert machine.hook("stop", "Stop") == {}
    assert log(machine.opened("shop"))[0].commit == tip


def test_a_host_that_rewrites_its_index_meanwhile_loses_nothing(machine: Machine) -> None:
    """Nobody but the host changes its file, and the last version is in history, too."""
    installed(machine)
    index = machine.memory() / "MEMORY.md"
    written(machine, index)
    replaced = []
    with ThreadPoolExecutor() as pool:
        hooks = [pool.submit(written, machine, index) for _ in range(4)]
        while not all(each.done() for each in hooks):
            before = f"{INDEX}- version {len(replaced)}\n"
            index.write_text(before)
            time.sleep(0.01)
            replaced.append(index.read_text() != before)
    machine.hook("stop", "Stop")

    assert not any(replaced)
    assert index.read_text() == before
    assert git(index.parent, "show", "HEAD:MEMORY.md") == before
    assert git(index.parent, "status", "--porcelain") == ""


# ---- a linked folder


def linked(machine: Machine, layout: str = "standard") -> Path:
    """The project uses the group `till`, whose work tree is returned."""
    init(machine.store, "till", layout=layout)
    link(machine.store, machine.project, "till")
    return machine.opened("till").worktree


@pytest.mark.parametrize(("layout", "inside"), [("standard", "memory"), ("claude-code", "")])
def test_the_memory_of_a_linked_folder_moves_into_its_group(
    machine: Machine, layout: str, inside: str
) -> None:
    tree, folder = linked(machine, layout), machine.memory()
    machine.session(machine.project)
    before = {each.name: each.read_bytes() for each in folder.iterdir()}

    done = installed(machine)

    assert done.adopted == ()
    assert directory(machine) == str(tree / inside)
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before
    assert {name: (tree / inside / name).read_bytes() for name in before} == before
    assert used(machine) == str(tree / inside)
    assert git(tree, "status", "--porcelain") == ""


def test_a_link_that_is_made_after_install_moves_it_too(machine: Machine) -> None:
    installed(machine)
    machine.memory()
    tree = linked(machine)

    done = rewire(machine.store, machine.environ)

    assert directory(machine) == str(tree / "memory")
    assert (tree / "memory" / "MEMORY.md").read_text() == INDEX
    assert [each for each in done.remarks if "2 files" in each]
    assert rewire(machine.store, machine.environ).files == ()


def test_a_write_into_the_group_is_a_commit_of_its_session(machine: Machine) -> None:
    tree = linked(machine)
    installed(machine)
    (tree / "memory").mkdir()
    (tree / "memory" / "new.md").write_text(TOPIC)

    written(machine, tree / "memory" / "new.md")

    newest = log(machine.opened("till"), "memory/new.md")[0]
    assert newest.session == "5c2b3bb2-6fc7-44ef-97c4-8b3e32fb7330"


def test_uninstalling_gives_the_host_what_it_wrote_since(machine: Machine) -> None:
    tree, folder = linked(machine), machine.memory()
    installed(machine)
    (tree / "memory" / "new.md").write_text("written since\n")
    (tree / "memory" / "MEMORY.md").write_text(INDEX + "- [New](new.md)\n")

    uninstalled(machine)

    assert not local_settings(machine).exists()
    assert (folder / "new.md").read_text() == "written since\n"
    assert (folder / "MEMORY.md").read_text() == INDEX + "- [New](new.md)\n"
    assert (folder / "mascot.md").read_text() == TOPIC
    assert (tree / "memory" / "new.md").exists()


def test_uninstalling_overwrites_nothing_that_the_group_never_held(machine: Machine) -> None:
    tree, folder = linked(machine), machine.memory()
    installed(machine)
    (tree / "memory" / "mascot.md").write_text("A newer quokka.\n")
    (folder / "mascot.md").write_text("by a session that began earlier\n")

    done = uninstalled(machine)

    assert (folder / "mascot.md").read_text() == "by a session that began earlier\n"
    assert [each for each in done.left if "not copied" in each and "mascot.md" in each]


def test_uninstalling_restores_the_settings_to_the_byte(machine: Machine) -> None:
    linked(machine)
    raw = b'{"outputStyle": "terse",\r\n  "permissions": {"deny": ["WebFetch"]} }'
    local_settings(machine).parent.mkdir()
    local_settings(machine).write_bytes(raw)
    installed(machine)
    assert directory(machine)

    uninstalled(machine)

    assert local_settings(machine).read_bytes() == raw


def test_a_folder_that_is_linked_no_more_has_its_memory_back(machine: Machine) -> None:
    tree, folder = linked(machine), machine.memory()
    installed(machine)
    (tree / "memory" / "new.md").write_text("written since\n")
    unlink(machine.store, machine.project)

    rewire(machine.store, machine.environ)

    assert directory(machine) == ""
    assert (folder / "new.md").read_text() == "written since\n"


def test_another_link_takes_the_memory_along(machine: Machine) -> None:
    tree = linked(machine)
    machine.memory()
    installed(machine)
    (tree / "memory" / "new.md").write_text("written since\n")
    init(machine.store, "shed", layout="standard")
    link(machine.store, machine.project, "shed")

    rewire(machine.store, machine.environ)

    shed = machine.opened("shed").worktree
    assert directory(machine) == str(shed / "memory")
    assert (shed / "memory" / "new.md").read_text() == "written since\n"


def test_a_group_that_is_renamed_is_followed(machine: Machine) -> None:
    tree = linked(machine)
    machine.memory()
    installed(machine)
    (tree / "memory" / "new.md").write_text("written since\n")
    rename_group(machine.store, "till", "desk")

    rewire(machine.store, machine.environ)

    desk = machine.opened("desk").worktree
    assert directory(machine) == str(desk / "memory")
    assert sorted(each.name for each in (desk / "memory").iterdir()) == [
        "MEMORY.md",
        "mascot.md",
        "new.md",
    ]


@pytest.fixture(params=["worktree", "subfolder"])
def beside(machine: Machine, request: pytest.FixtureRequest) -> Path:
    """A worktree or a subfolder of the project, which is linked to the group `feature`."""
    git(machine.project, "commit", "-q", "--allow-empty", "-m", "x")
    if request.param == "worktree":
        folder = machine.home / "tree"
        git(machine.project, "worktree", "add", "-q", str(folder))
    else:
        folder = machine.project / "src"
        folder.mkdir()
    init(machine.store, "feature", layout="standard")
    write(machine.opened("feature"), [Edit("state.md", b"# State\n\nOn the feature.\n")])
    link(machine.store, folder, "feature")
    return folder


def of_feature(machine: Machine) -> list[str]:
    """The notes of the host that the group `feature` has."""
    tree = machine.opened("feature").worktree
    return sorted(each.name for each in (tree / "memory").glob("*"))


@pytest.mark.parametrize("is_linked", [True, False])
def test_a_link_of_a_worktree_or_a_subfolder_copies_no_notes(
    machine: Machine, beside: Path, is_linked: bool
) -> None:
    """The host has one memory for the repository; what a session is shown is the link's."""
    machine.session(machine.project)
    folder = machine.memory()
    group = "shop"
    if is_linked:
        folder, group = linked(machine) / "memory", "till"
    installed(machine)
    wiring.rewire(machine.store, machine.environ)

    assert of_feature(machine) == []
    local = beside / ".claude" / "settings.local.json"
    assert "autoMemoryDirectory" not in local.read_text()
    assert used(machine, beside) == str(folder)
    assert findings(machine, beside) == findings(machine) == []
    assert machine.started(cwd=str(beside)).count("On the feature.") == 1
    (folder / "mascot.md").write_text(TOPIC + "It hops.\n")
    written(machine, folder / "mascot.md", cwd=str(beside))
    assert log(machine.opened(group), path_of(machine, group))[0].op == "capture"


def path_of(machine: Machine, group: str) -> str:
    return "mascot.md" if group == "shop" else "memory/mascot.md"


def test_memory_of_a_folder_that_became_a_part_of_a_repository_is_adopted(
    machine: Machine,
) -> None:
    """It moves nowhere, so nothing else would put it under history."""
    inner = machine.project / "src"
    inner.mkdir()
    init(machine.store, "feature", layout="standard")
    link(machine.store, inner, "feature")
    machine.memory(inner)
    machine.session(inner, inner)

    installed(machine)

    assert "src" in machine.store.names()
    assert findings(machine) == []


def test_memory_of_a_project_below_a_linked_folder_is_adopted(machine: Machine) -> None:
    init(machine.store, "work", layout="standard")
    link(machine.store, machine.project.parent, "work")
    machine.memory()
    machine.session(machine.project)

    installed(machine)

    assert machine.store.names() == ["main", "shop", "work"]
    assert machine.links() == {str(machine.project.parent): "work"}
    assert findings(machine) == []


def trashed(machine: Machine) -> Path:
    """The work tree of the one group in the trash."""
    [folder] = (machine.store.root / "trash").iterdir()
    return folder / "groups" / "till"


def test_a_group_that_is_removed_gives_the_notes_back_first(machine: Machine) -> None:
    tree, folder = linked(machine), machine.memory()
    installed(machine)
    (tree / "memory" / "new.md").write_text("written since\n")
    (tree / "memory" / "MEMORY.md").write_text(INDEX + "- [New](new.md)\n")

    told = machine.removed("till")

    assert directory(machine) == ""
    assert (folder / "new.md").read_text() == "written since\n"
    assert (folder / "MEMORY.md").read_text() == INDEX + "- [New](new.md)\n"
    assert "2 files of the host's memory copied back" in told
    assert "note: no folder" not in told
    assert (trashed(machine) / "memory" / "new.md").exists()


def test_a_note_that_cannot_come_back_is_named_with_its_place_in_the_trash(
    machine: Machine,
) -> None:
    tree, folder = linked(machine), machine.memory()
    installed(machine)
    (tree / "memory" / "mascot.md").write_text("A newer quokka.\n")
    (folder / "mascot.md").write_text("by a session that began earlier\n")

    told = machine.removed("till")

    assert (folder / "mascot.md").read_text() == "by a session that began earlier\n"
    assert (trashed(machine) / "memory" / "mascot.md").read_text() == "A newer quokka.\n"
    assert "not copied" in told
    assert str(trashed(machine) / "memory") in told


def test_a_group_can_be_removed_where_no_note_can_come_back(machine: Machine) -> None:
    tree, folder = linked(machine), machine.memory()
    installed(machine)
    (tree / "memory" / "mascot.md").write_text("A newer quokka.\n")
    (folder / "mascot.md").unlink()
    (folder / "mascot.md").mkdir()

    told = machine.removed("till")

    assert "till" not in machine.store.names()
    assert str(folder / "mascot.md") in told
    assert str(trashed(machine) / "memory") in told


def in_the_way(folder: Path, elsewhere: Path, what: str) -> None:
    """Let something stand where notes of FOLDER would be copied to."""
    elsewhere.mkdir()
    if what.startswith("folder"):
        shutil.rmtree(folder)
        folder.symlink_to(elsewhere) if what == "folder is a link" else folder.write_text("x")
    else:
        (folder / "mascot.md").unlink()
        place = elsewhere / "none.md"
        link = what == "note is a link"
        (folder / "mascot.md").symlink_to(place) if link else (folder / "mascot.md").mkdir()


@pytest.mark.parametrize(
    "what", ["folder is a link", "folder is a file", "note is a link", "note is a folder"]
)
def test_what_is_in_the_way_costs_no_other_note(machine: Machine, what: str) -> None:
    tree, folder = linked(machine), machine.memory()
    installed(machine)
    (tree / "memory" / "mascot.md").write_text("A newer quokka.\n")
    (tree / "memory" / "new.md").write_text("written since\n")
    elsewhere = machine.home / "elsewhere"
    in_the_way(folder, elsewhere, what)

    told = machine.removed("till")

    assert list(elsewhere.iterdir()) == []
    assert "not copied" in told
    assert str(trashed(machine) / "memory") in told
    assert (trashed(machine) / "memory" / "mascot.md").read_text() == "A newer quokka.\n"
    if what.startswith("note"):
        assert (folder / "new.md").read_text() == "written since\n"


@pytest.mark.parametrize("door", ["remove", "uninstall", "link"])
def test_a_note_that_the_group_deleted_does_not_come_back(machine: Machine, door: str) -> None:
    tree, folder = linked(machine), machine.memory(kept=TOPIC)
    installed(machine)
    (tree / "memory" / "mascot.md").unlink()
    capture(machine.opened("till"))
    (folder / "late.md").write_text("by a session that began earlier\n")

    if door == "remove":
        assert "mascot.md" in machine.removed("till")
    elif door == "uninstall":
        uninstalled(machine)
    else:
        init(machine.store, "shed", layout="standard")
        link(machine.store, machine.project, "shed")
        wiring.rewire(machine.store, machine.environ)

    assert sorted(each.name for each in folder.glob("*.md")) == ["MEMORY.md", "kept.md", "late.md"]
    assert not (Path(used(machine)) / "mascot.md").exists()
    [copy] = (machine.store.root / "backups").glob("mascot.md.*")
    assert copy.read_text() == TOPIC


def test_a_removal_that_is_refused_copies_nothing(machine: Machine) -> None:
    tree, folder = linked(machine), machine.memory()
    installed(machine)
    (tree / "memory" / "new.md").write_text("written since\n")
    machine.environ["GITMEM_GROUP"] = "till"

    with pytest.raises(AssertionError, match="only main or a person"):
        machine.removed("till")

    assert not (folder / "new.md").exists()
    assert directory(machine) == str(tree / "memory")


def test_notes_whose_folder_is_gone_are_named(machine: Machine) -> None:
    tree, folder = linked(machine), machine.memory()
    installed(machine)
    remove_group(machine.store, "till")

    done = rewire(machine.store, machine.environ)

    assert directory(machine) == ""
    [said] = [each for each in done.remarks if str(tree / "memory") in each]
    assert str(folder) in said
    assert str(machine.store.root / "trash") in said


def test_a_folder_that_never_had_a_note_is_not_missed(machine: Machine) -> None:
    linked(machine)
    installed(machine)

    assert uninstalled(machine).remarks == ()


SECRET = "token = ghp_" + "R7cK2mWq9ZtB4xYvN8sJ5dLpH3fGaE1uTo6i" + "\n"


def too_big() -> str:
    return "A long line of notes.\n" * 100_000


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("MEMORY.md", INDEX + SECRET, "secret"),
        ("big.md", too_big(), "big.md ("),
        (".hidden.md", "A note.\n", "dot"),
    ],
)
def test_memory_that_may_not_enter_git_whole_stays_where_the_host_reads_it(
    machine: Machine, name: str, text: str, rule: str
) -> None:
    tree, folder = linked(machine), machine.memory()
    (folder / name).write_text(text)

    done = installed(machine)

    assert directory(machine) == ""
    assert not (tree / "memory").exists()
    assert used(machine) == str(folder)
    [said] = [each for each in done.remarks if str(machine.project) in each]
    assert name in said
    assert rule in said
    assert "gitmem install claude-code" in said
    [found] = findings(machine)
    assert name in found.message
    assert rule in found.message

    (folder / name).write_text(INDEX) if name == "MEMORY.md" else (folder / name).unlink()
    installed(machine)
    assert directory(machine) == str(tree / "memory")
    assert findings(machine) == []


def test_a_link_does_not_hide_an_index_with_a_secret(machine: Machine) -> None:
    installed(machine)
    folder = machine.memory(MEMORY=INDEX + SECRET)
    linked(machine)

    done = rewire(machine.store, machine.environ)

    assert used(machine) == str(folder)
    assert [each for each in done.remarks if "MEMORY.md" in each and "secret" in each]
    assert SECRET.rsplit(maxsplit=1)[-1] not in str(done)


def test_files_of_the_desktop_do_not_keep_memory_from_moving(machine: Machine) -> None:
    tree, folder = linked(machine), machine.memory()
    (folder / "deep").mkdir()
    for each in (folder / ".DS_Store", folder / "deep" / ".DS_Store"):
        each.write_bytes(b"\0\1")

    installed(machine)

    assert directory(machine) == str(tree / "memory")


def test_a_secret_that_another_group_refuses_leaves_the_setting(machine: Machine) -> None:
    tree = linked(machine)
    machine.memory()
    installed(machine)
    (tree / "memory" / "MEMORY.md").write_text(INDEX + SECRET)
    init(machine.store, "shed", layout="standard")
    link(machine.store, machine.project, "shed")

    done = rewire(machine.store, machine.environ)

    assert directory(machine) == str(tree / "memory")
    assert [each for each in done.remarks if "MEMORY.md" in each and "secret" in each]


def test_a_group_that_is_renamed_is_followed_in_spite_of_a_secret(machine: Machine) -> None:
    linked(machine)
    folder = machine.memory()
    installed(machine)
    (folder / "late.md").write_text(SECRET)
    rename_group(machine.store, "till", "desk")

    rewire(machine.store, machine.environ)

    assert directory(machine) == str(machine.opened("desk").worktree / "memory")
    [found] = findings(machine)
    assert "late.md" in found.message


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("settings.local.json", {"autoMemoryDirectory": "/srv/mine"}),
        ("settings.json", {"autoMemoryDirectory": "/srv/mine"}),
        ("settings.json", {"autoMemoryEnabled": False}),
    ],
)
def test_what_the_user_has_set_stays_and_is_named(
    machine: Machine, name: str, said: dict[str, Any]
) -> None:
    linked(machine)
    machine.memory()
    path = machine.project / ".claude" / name
    path.parent.mkdir()
    path.write_text(json.dumps(said))

    done = installed(machine, permissions=False)

    assert json.loads(path.read_text()) == said
    assert directory(machine) in ("", "/srv/mine")
    assert [each for each in done.remarks if str(machine.project) in each]
    uninstalled(machine)
    assert json.loads(path.read_text()) == said


def test_the_variable_of_the_user_stays_and_is_named(machine: Machine) -> None:
    linked(machine)
    machine.environ["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] = "1"

    done = installed(machine)

    assert directory(machine) == ""
    assert [each for each in done.remarks if "CLAUDE_CODE_DISABLE_AUTO_MEMORY" in each]


def test_who_changes_their_mind_has_the_memory_back(machine: Machine) -> None:
    tree, folder = linked(machine), machine.memory()
    installed(machine)
    (tree / "memory" / "new.md").write_text("written since\n")

    installed(machine, host_memory=False)

    assert directory(machine) == ""
    assert (folder / "new.md").read_text() == "written since\n"


def test_a_damaged_group_keeps_its_setting_and_stops_nothing_else(machine: Machine) -> None:
    tree = linked(machine)
    installed(machine)
    (machine.store.gitdir("till") / "config").write_text("[gitmem]\n\tformat = 99\n")

    rewire(machine.store, machine.environ)

    assert directory(machine) == str(tree / "memory")


def test_a_note_that_was_deleted_from_the_group_stays_deleted(machine: Machine) -> None:
    tree, _ = linked(machine), machine.memory()
    installed(machine)
    (tree / "memory" / "mascot.md").unlink()

    installed(machine)

    assert not (tree / "memory" / "mascot.md").exists()
    assert findings(machine) == []


def test_a_session_that_still_writes_to_the_old_folder_makes_no_second_note(
    machine: Machine,
) -> None:
    tree, folder = linked(machine), machine.memory()
    installed(machine)
    (folder / "mascot.md").write_text("An emu.\n")
    (folder / "MEMORY.md").write_text("- [Mascot](mascot.md) - an emu\n")
    [found] = findings(machine)
    assert "2 files" in found.message

    installed(machine)

    assert sorted(each.name for each in (tree / "memory").iterdir()) == ["MEMORY.md", "mascot.md"]
    assert (tree / "memory" / "mascot.md").read_text() == "An emu.\n"
    assert (tree / "memory" / "MEMORY.md").read_text() == "- [Mascot](mascot.md) - an emu\n"
    assert findings(machine) == []


def test_two_projects_of_one_group_share_its_index(machine: Machine) -> None:
    tree, other = linked(machine), machine.home / "other"
    other.mkdir()
    link(machine.store, other, "till")
    machine.memory()
    machine.memory(other, MEMORY="- [Emu](emu.md) - of the other project\n")

    installed(machine)

    lines = (tree / "memory" / "MEMORY.md").read_text().splitlines(keepends=True)
    assert sorted(lines) == sorted([INDEX, "- [Emu](emu.md) - of the other project\n"])
    assert not (tree / "memory" / "MEMORY-2.md").exists()
    assert findings(machine) == []


# ---- doctor


def findings(machine: Machine, project: Path | None = None) -> list[Fault]:
    return [each for each in all_findings(machine, project) if each.code == "host-memory"]


def all_findings(machine: Machine, project: Path | None = None) -> tuple[Fault, ...]:
    return doctor(
        machine.store,
        "main",
        environ=machine.environ,
        project=project or machine.project,
        running=Running(("gitmem",), (3, 11), True),
    ).findings


def test_the_doctor_finds_nothing_in_what_is_under_history(machine: Machine) -> None:
    machine.session(machine.project)
    machine.memory()
    installed(machine)

    assert findings(machine) == []


def test_the_doctor_names_memory_that_came_later(machine: Machine) -> None:
    installed(machine)
    folder = machine.memory()

    [found] = findings(machine)

    assert str(folder) in found.message
    assert found.hint == "`gitmem install claude-code`"
    installed(machine)
    assert findings(machine) == []


@pytest.fixture
def apart(machine: Machine) -> Path:
    """The host's own memory of the project is a group that the project does not use."""
    busy_main(machine)
    folder = machine.memory()
    machine.session(machine.project)
    written(machine, folder / "mascot.md")
    return folder


def test_the_doctor_names_a_group_that_the_project_does_not_use(
    machine: Machine, apart: Path
) -> None:
    [found] = findings(machine)

    assert "group shop" in found.message
    assert str(apart) in found.message
    assert str(machine.project) in found.message
    assert f"`gitmem -g shop link {machine.project}`" in found.hint
    machine.run("link", str(machine.project), "-g", "shop")
    assert findings(machine) == []


def test_the_doctor_says_no_more_of_a_link_that_was_declined(machine: Machine, apart: Path) -> None:
    machine.run("link", str(machine.project), "--remove")

    assert findings(machine) == []
    assert machine.links() == {}
    assert machine.started().count("Kroner") == 1
    installed(machine)
    assert machine.links() == {}


def test_who_takes_the_link_out_is_not_asked_for_it(machine: Machine) -> None:
    machine.session(machine.project)
    machine.memory()
    installed(machine)
    assert machine.links() == {str(machine.project): "shop"}

    machine.run("link", str(machine.project), "--remove")

    assert findings(machine) == []
    machine.run("link", str(machine.project), "-g", "shop")
    assert machine.links() == {str(machine.project): "shop"}


def test_memory_of_a_project_that_declined_is_adopted_without_a_link(machine: Machine) -> None:
    machine.session(machine.project)
    folder = machine.memory()
    installed(machine)
    machine.run("link", str(machine.project), "--remove")
    machine.run("groups", "remove", "shop", "--yes")

    written(machine, folder / "mascot.md")

    assert "shop" in machine.store.names()
    assert machine.links() == {}


def test_the_doctor_says_nothing_to_who_keeps_it_as_it_is(machine: Machine) -> None:
    installed(machine, host_memory=False)
    machine.memory()

    assert findings(machine) == []


def test_the_doctor_names_notes_that_went_to_the_other_folder(machine: Machine) -> None:
    tree, folder = linked(machine), machine.memory()
    installed(machine)
    assert findings(machine) == []
    (folder / "late.md").write_text("by a session that began earlier\n")

    [found] = findings(machine)

    assert "1 file" in found.message
    installed(machine)
    assert (tree / "memory" / "late.md").exists()
    assert findings(machine) == []


def test_the_doctor_names_a_setting_that_somebody_took_out(machine: Machine) -> None:
    linked(machine)
    installed(machine)
    local_settings(machine).write_text("{}")

    [found] = findings(machine)

    assert "autoMemoryDirectory" in found.message
    installed(machine)
    assert findings(machine) == []


def test_the_doctor_names_two_groups_that_compete(machine: Machine) -> None:
    init(machine.store, "shed", layout="claude-code")
    linked(machine)
    local_settings(machine).parent.mkdir()
    said = {"autoMemoryDirectory": str(machine.opened("shed").worktree)}
    local_settings(machine).write_text(json.dumps(said))
    installed(machine)

    [found] = findings(machine)

    assert "till" in found.message
    assert "shed" in found.message
