"""The host's own memory where a project is moved or away, where notes are stuck, or kept out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gitmem.errors import StorageFailed
from gitmem.integrations.doctor.doctor import Fault, Running, doctor
from gitmem.integrations.host_memory import move
from gitmem.integrations.install import install as wiring
from gitmem.integrations.install.install import Installed
from gitmem.integrations.install.record import installs
from gitmem.integrations.install.rewire import rewire
from gitmem.memory.admin.init import init
from gitmem.memory.admin.link import link, unlink
from gitmem.memory.write.capture import capture
from tests.support.claude import Machine, installed, uninstalled
from tests.support.git import git


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def linked(machine: Machine) -> Path:
    """The project uses the group `till`, whose work tree is returned."""
    init(machine.store, "till", layout="standard")
    link(machine.store, machine.project, "till")
    return machine.opened("till").worktree


def local_settings(project: Path) -> Path:
    return project / ".claude" / "settings.local.json"


def said(project: Path) -> dict[str, Any]:
    path = local_settings(project)
    return json.loads(path.read_text()) if path.exists() else {}


def findings(machine: Machine, project: Path | None = None) -> list[Fault]:
    found = doctor(
        machine.store,
        "main",
        environ=machine.environ,
        project=project or machine.project,
        running=Running(("gitmem",), (3, 11), True),
    ).findings
    return [each for each in found if each.code == "host-memory"]


def away(machine: Machine) -> Path:
    """Where the project is while its disk is not mounted; or what it is called from now on."""
    return machine.project.rename(machine.home / "moved")


def uninstalled_in(machine: Machine, project: Path, scope: str = "user") -> Installed:
    return wiring.uninstall(
        machine.store, "claude-code", scope, environ=machine.environ, project=project
    )


# ---- uninstalling while a project is not there


def test_a_project_that_is_away_is_named_and_finished_later(machine: Machine) -> None:
    tree = linked(machine)
    folder = machine.memory()
    installed(machine)
    place = away(machine)

    done = uninstalled_in(machine, machine.home)

    [left] = done.left
    assert str(machine.project) in left
    assert "gitmem install claude-code --uninstall" in left
    assert rewire(machine.store, machine.environ).files == ()
    place.rename(machine.project)
    (tree / "memory" / "late.md").write_text("written meanwhile\n")
    [found] = findings(machine)
    assert str(local_settings(machine.project)) in found.message
    assert found.hint == "`gitmem install claude-code --scope user --uninstall`"
    again = uninstalled(machine)
    assert again.left == ()
    assert not local_settings(machine.project).exists()
    assert (folder / "late.md").exists()
    assert git(machine.project, "status", "--porcelain") == ""
    assert installs(machine.store.root) == ()
    assert findings(machine) == []


def test_a_link_puts_nothing_into_projects_of_an_uninstalled_host(machine: Machine) -> None:
    linked(machine)
    installed(machine)
    away(machine)
    uninstalled_in(machine, machine.home)
    other = machine.home / "other"
    other.mkdir()
    link(machine.store, other, "till")

    assert rewire(machine.store, machine.environ).files == ()
    assert said(other) == {}


def test_a_project_that_is_gone_for_good_is_no_failure(machine: Machine) -> None:
    linked(machine)
    installed(machine)
    shutil.rmtree(machine.project)
    [left] = uninstalled_in(machine, machine.home).left
    assert f"`gitmem link {machine.project} --remove`" in left
    unlink(machine.store, machine.project)

    done = uninstalled_in(machine, machine.home)

    assert done.left == ()
    assert [each for each in done.remarks if str(local_settings(machine.project)) in each]


def test_settings_that_somebody_deleted_are_not_missed(machine: Machine) -> None:
    linked(machine)
    installed(machine)
    shutil.rmtree(machine.project / ".claude")

    assert uninstalled(machine).left == ()
    assert installs(machine.store.root) == ()


def test_a_project_that_was_renamed_is_found_where_uninstall_runs(machine: Machine) -> None:
    linked(machine)
    installed(machine)
    place = away(machine)

    done = uninstalled_in(machine, place)

    assert done.left == ()
    assert not local_settings(place).exists()
    assert installs(machine.store.root) == ()


# ---- uninstalling without a record


@pytest.mark.parametrize("what", ["store", "record"])
def test_a_lost_record_leaves_no_setting_behind(machine: Machine, what: str) -> None:
    tree = linked(machine)
    folder = machine.memory()
    local_settings(machine.project).parent.mkdir()
    local_settings(machine.project).write_text('{"permissions": {"allow": ["Read(//etc/x)"]}}\n')
    installed(machine)
    (tree / "memory" / "new.md").write_text("written since\n")
    assert said(machine.project)["autoMemoryDirectory"]
    if what == "store":
        shutil.rmtree(machine.store.root)
    else:
        (machine.store.root / "installs.json").unlink()

    done = uninstalled(machine)

    assert said(machine.project) == {"permissions": {"allow": ["Read(//etc/x)"]}}
    assert [each for each in done.remarks if "other projects" in each]
    if what == "store":
        assert not machine.store.root.exists()
        assert not [each for each in done.files if each.backup]
    else:
        assert (folder / "new.md").exists()
    assert uninstalled(machine).files == ()
    assert uninstalled(machine).remarks == ()


def test_a_setting_of_the_user_stays_where_the_record_is_lost(machine: Machine) -> None:
    linked(machine)
    installed(machine)
    mine = {"autoMemoryDirectory": str(machine.home / "notes")}
    local_settings(machine.project).write_text(json.dumps(mine))
    shutil.rmtree(machine.store.root)

    uninstalled(machine)

    assert said(machine.project) == mine


# ---- a linked project without transcripts


def test_memory_of_a_linked_project_without_a_transcript_is_not_adopted(machine: Machine) -> None:
    tree = linked(machine)
    machine.memory()

    done = installed(machine)

    assert done.adopted == ()
    assert machine.store.names() == ["main", "till"]
    assert (tree / "memory" / "mascot.md").exists()
    assert findings(machine) == []


def test_memory_of_a_linked_project_that_is_away_goes_into_its_group(machine: Machine) -> None:
    tree = linked(machine)
    machine.memory()
    away(machine)

    done = installed(machine)

    assert done.adopted == ()
    assert (tree / "memory" / "mascot.md").exists()
    assert findings(machine, machine.home) == []


# ---- a project that was renamed


def test_the_doctor_names_a_project_that_is_gone_and_a_link_ends_it(machine: Machine) -> None:
    tree = linked(machine)
    machine.memory()
    local_settings(machine.project).parent.mkdir()
    local_settings(machine.project).write_text('{"outputStyle": "terse"}')
    installed(machine)
    place = away(machine)

    [gone] = findings(machine, machine.home)
    assert f"no folder {machine.project}" in gone.message
    assert "`gitmem -g till link NEWDIR`" in gone.hint
    inside = [each for each in findings(machine, place) if each != gone]
    [here] = inside
    assert "group till" in here.message
    assert str(place) in here.message
    assert here.hint == f"`gitmem -g till link {place}`"

    machine.run("link", str(place), "-g", "till")

    assert findings(machine, place) == []
    assert said(place)["autoMemoryDirectory"] == str(tree / "memory")
    assert installed(machine).adopted == ()
    assert findings(machine, place) == []
    assert uninstalled_in(machine, machine.home).left == ()
    assert local_settings(place).read_text() == '{"outputStyle": "terse"}'


def test_the_doctor_forgets_a_project_that_is_unlinked(machine: Machine) -> None:
    linked(machine)
    installed(machine)
    shutil.rmtree(machine.project)
    [found] = findings(machine, machine.home)
    assert f"`gitmem link {machine.project} --remove`" in found.hint

    machine.run("link", str(machine.project), "--remove")

    assert findings(machine, machine.home) == []


# ---- notes that do not come back


def test_a_note_that_cannot_come_back_is_left_and_not_only_remarked(machine: Machine) -> None:
    tree, folder = linked(machine), machine.memory()
    installed(machine)
    (tree / "memory" / "new.md").write_text("written since\n")
    (folder / "new.md").mkdir()

    done = uninstalled(machine)

    [left] = done.left
    assert str(tree / "memory" / "new.md") in left
    assert not [each for each in done.remarks if "new.md" in each]
    [running] = [each for each in done.remarks if "running" in each]
    assert str(tree / "memory") in running
    assert not local_settings(machine.project).exists()


def test_a_group_whose_notes_cannot_be_read_is_left(machine: Machine) -> None:
    tree = linked(machine)
    machine.memory()
    installed(machine)
    shutil.rmtree(tree / "memory")

    [left] = uninstalled(machine).left

    assert str(tree / "memory") in left


def test_one_unreadable_note_keeps_no_other_deletion_back(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, folder = linked(machine), machine.memory(aaa="first\n", zzz="last\n")
    installed(machine)
    for name in ("aaa.md", "zzz.md"):
        (tree / "memory" / name).unlink()
    capture(machine.opened("till"))
    read = move.read_file

    def fails(path: Path) -> bytes | None:
        if path == folder / "aaa.md":
            raise StorageFailed(f"{path} cannot be read: Input/output error", hint="see to it")
        return read(path)

    monkeypatch.setattr(move, "read_file", fails)

    done = uninstalled(machine)

    assert not (folder / "zzz.md").exists()
    [left] = done.left
    assert "aaa.md" in left


def test_an_older_version_in_the_group_replaces_nothing(machine: Machine) -> None:
    tree, folder = linked(machine), machine.memory(plan="the first plan\n")
    installed(machine)
    note = tree / "memory" / "plan.md"
    note.write_text("the second plan\n")
    capture(machine.opened("till"))
    (folder / "plan.md").write_text("the second plan\n")
    git(tree, "checkout", "-q", "HEAD^", "--", "memory/plan.md")
    assert note.read_text() == "the first plan\n"

    [left] = uninstalled(machine).left

    assert (folder / "plan.md").read_text() == "the second plan\n"
    assert "older" in left


def test_a_version_that_came_back_replaces_the_one_between(machine: Machine) -> None:
    tree, folder = linked(machine), machine.memory(plan="the first plan\n")
    installed(machine)
    for text in ("the second plan\n", "the first plan\n"):
        (tree / "memory" / "plan.md").write_text(text)
        capture(machine.opened("till"))
    (folder / "plan.md").write_text("the second plan\n")

    assert uninstalled(machine).left == ()

    assert (folder / "plan.md").read_text() == "the first plan\n"


# ---- a project that keeps the host's memory as it is


@pytest.mark.parametrize("first", ["user", "project"])
def test_what_a_project_declines_binds_the_user_scope(machine: Machine, first: str) -> None:
    tree, folder = linked(machine), machine.memory()
    if first == "user":
        installed(machine)
        (tree / "memory" / "new.md").write_text("written since\n")

    installed(machine, "project", group="till", host_memory=False)
    if first == "user":
        assert "autoMemoryDirectory" not in said(machine.project)
        assert (folder / "new.md").exists()
    installed(machine)

    assert "autoMemoryDirectory" not in said(machine.project)
    assert findings(machine) == []
    assert findings(machine, machine.home) == []
    assert rewire(machine.store, machine.environ).files == ()
    installed(machine, "project", group="till", host_memory=True)
    assert said(machine.project)["autoMemoryDirectory"] == str(tree / "memory")


def test_memory_of_an_unlinked_project_that_declined_is_not_adopted(machine: Machine) -> None:
    machine.session(machine.project)
    machine.memory()
    installed(machine, "project", host_memory=False)

    assert installed(machine).adopted == ()
    assert findings(machine, machine.home) == []
