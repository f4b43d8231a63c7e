"""The doctor: what is wired, what is not, and what would make a hook fail."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gitmem
from gitmem.errors import Damaged
from gitmem.integrations.doctor.access import handler_digest
from gitmem.integrations.doctor.doctor import Doctored, Running, doctor
from gitmem.integrations.doctor.host_memory import CODE as HOST_MEMORY
from gitmem.integrations.doctor.machine import CONVERTED
from gitmem.integrations.hosts.program import Program
from gitmem.integrations.install import install as hosts
from gitmem.integrations.install.files import digest
from gitmem.integrations.install.install import Installed
from gitmem.memory.admin.check import check_group
from gitmem.memory.admin.init import init
from gitmem.memory.admin.link import link
from gitmem.memory.group import Group, Store
from tests.support.git import git
from tests.support.histories import by_hand, put
from tests.support.moulds import Moulds

ROOT = Path(gitmem.__file__).parents[1]


class Machine:
    """A machine on which gitmem is installed for Claude Code, and all is well."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project, self.tools = folder / "home", folder / "project", folder / "bin"
        for each in (self.home, self.project, self.tools):
            each.mkdir()
        self.script("gitmem", f'exec {sys.executable} -m gitmem "$@"')
        (self.tools / "git").symlink_to(str(shutil.which("git")))
        self.environ = {
            "HOME": str(self.home),
            "PATH": str(self.tools),
            "PYTHONPATH": str(ROOT),
        }
        self.profile(self.tools)
        self.store = Store(folder / "store")
        self.running = Running((str(self.tools / "gitmem"),), (3, 11, 0), has_mcp=True)
        self.managed = folder / "managed.json"

    def profile(self, *folders: Path) -> None:
        """Let a login shell look for programs in FOLDERS alone."""
        path = ":".join(map(str, folders))
        (self.home / ".profile").write_text(f"echo hello\nexport PATH='{path}'\n")

    def script(self, name: str, line: str) -> Path:
        path = self.tools / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
        return path

    def install(self, host: str = "claude-code", scope: str = "user", **wishes: Any) -> Installed:
        program = wishes.pop("program", Program(("gitmem",)))
        return hosts.install(
            self.store,
            "main",
            host,
            scope,
            program=program,
            environ=self.environ,
            project=self.project,
            **wishes,
        )

    def look(self, group: str = "main") -> Doctored:
        return doctor(
            self.store,
            group,
            environ=self.environ,
            project=self.project,
            running=self.running,
            managed=self.managed,
        )

    def found(self) -> dict[str, tuple[str, str]]:
        """What there is to say, by its code."""
        findings = self.look().findings
        assert all(each.hint for each in findings)
        return {each.code: (each.message, each.hint) for each in findings}

    @property
    def settings(self) -> Path:
        return self.home / ".claude" / "settings.json"

    def set(self, path: Path, **values: object) -> None:
        """Put settings into a file of Claude Code's."""
        path.parent.mkdir(parents=True, exist_ok=True)
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**before, **values}))


@pytest.fixture
def bare(tmp_path: Path) -> Machine:
    """A machine on which nothing was installed yet."""
    return Machine(tmp_path)


@pytest.fixture
def machine(bare: Machine, moulds: Moulds) -> Machine:
    def make(root: Path) -> None:
        init(Store(root), "main", layout=hosts.LAYOUT)

    moulds.cast("of a machine", bare.store.root, make)
    bare.install()
    return bare


def test_where_all_is_well_it_says_what_is_wired(machine: Machine) -> None:
    seen = machine.look()

    assert seen.findings == ()
    assert seen.is_well
    (row,) = seen.wired
    assert (row.host, row.scope, row.settings) == ("claude-code", "user", str(machine.settings))
    assert {"SessionStart", "SessionEnd"} <= set(row.events)
    assert row.commands == (("gitmem",),)
    assert (row.skills, row.section, row.mcp, row.plugin) == (6, True, False, "")


def test_core_files_that_a_session_start_would_cut(machine: Machine) -> None:
    machine.install("codex")
    group = Group(machine.store, "main")
    put(group, "identity.md", "I keep the books of the guild.\n" * 130)
    put(group, "state.md", "- [ ] a task of some length\n" * 140)
    put(group, "references.md", "- TZ: see .env\n")
    assert "core-cut" not in machine.found()
    put(group, "references.md", "- TZ: see .env\n" * 130)

    said, hint = machine.found()["core-cut"]

    assert said.startswith("a session start in codex has no room for all of group main: ")
    assert re.search(r"references\.md \(\d+ of 1949 bytes\)", said)
    assert "status" in hint


def test_every_host_and_scope_is_looked_at(machine: Machine) -> None:
    machine.install("codex", "project", mcp=True)
    machine.install("codex", "user")

    rows = {(each.host, each.scope): each for each in machine.look().wired}

    assert set(rows) == {("claude-code", "user"), ("codex", "user"), ("codex", "project")}
    assert rows["codex", "project"].mcp
    assert not rows["codex", "user"].mcp


def test_a_machine_without_anything_is_told_where_to_begin(bare: Machine) -> None:
    found = bare.found()

    assert set(found) == {"store-missing", "not-wired"}
    assert "gitmem init" in found["store-missing"][1]
    assert "gitmem install claude-code" in found["not-wired"][1]


def elsewhere(machine: Machine) -> Path:
    """Let the program lie in a folder that is not on PATH, and give its place."""
    folder = machine.home / "my tools"
    folder.mkdir()
    place = (machine.tools / "gitmem").rename(folder / "gitmem")
    machine.running = machine.running._replace(words=(str(place),))
    return place


@pytest.mark.parametrize("scope", ["user", "project"])
def test_skills_find_no_program_though_hooks_do(bare: Machine, scope: str) -> None:
    place = elsewhere(bare)
    bare.install(scope=scope, program=Program((str(place),)))

    found = bare.found()

    assert set(found) == {"not-on-path"}
    told = found["not-on-path"][1].partition(": ")[2]
    done = subprocess.run(
        ["/bin/sh", "-c", f"{told}; command -v gitmem"],
        env=bare.environ,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(place)


def test_the_plugin_finds_no_program(machine: Machine) -> None:
    hosts.uninstall(
        machine.store, "claude-code", "user", environ=machine.environ, project=machine.project
    )
    machine.set(machine.settings, enabledPlugins={"gitmem@gitmem": True})
    elsewhere(machine)

    assert set(machine.found()) == {"not-on-path", "permissions-missing"}
    machine.running = machine.running._replace(words=(sys.executable, "-m", "gitmem"))
    assert "uv tool install" in machine.found()["not-on-path"][1]


@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_hook_whose_program_is_gone(bare: Machine, scope: str) -> None:
    bare.install(scope=scope, program=Program(("/nowhere/gitmem",)))

    message, hint = bare.found()["program-missing"]
    assert message.endswith("calls /nowhere/gitmem, which is missing")
    assert hint.startswith(f"`gitmem install claude-code --scope {scope}`")


def test_a_plain_call_that_finds_another_store_than_the_hooks(bare: Machine) -> None:
    other = f"{bare.home}/other store"
    mine = {"hooks": [{"type": "command", "command": "gitmem hook stop -g mine"}]}
    bare.set(bare.settings, hooks={"Stop": [mine]})
    bare.install(program=Program(("gitmem",), other))

    message, hint = bare.found()["other-store"]
    assert other in message
    assert f"export GITMEM_HOME='{other}'" in hint
    bare.install(program=Program(("gitmem",), str(bare.store.root)))
    assert bare.found() == {}


@pytest.mark.parametrize("by", ["plugin", "project"])
def test_a_server_without_what_it_needs(machine: Machine, by: str) -> None:
    if by == "plugin":
        machine.set(machine.settings, enabledPlugins={"gitmem@gitmem": True})
    else:
        machine.install("codex", "project", mcp=True)
    assert "mcp-missing" not in machine.found()
    machine.running = machine.running._replace(has_mcp=False)

    assert "uv tool install '.[mcp]'" in machine.found()["mcp-missing"][1]


@pytest.mark.parametrize(
    ("line", "said"),
    [("echo gitmem 0.0.1", "is 0.0.1, and this is"), ("exit 1", "is not a working gitmem")],
)
def test_a_hook_that_finds_another_program(machine: Machine, line: str, said: str) -> None:
    machine.script("gitmem", line)

    assert said in machine.found()["other-version"][0]


def test_a_module_as_the_program_is_asked_like_any_other(machine: Machine) -> None:
    machine.install(program=Program((sys.executable, "-m", "gitmem")))

    assert machine.found() == {}


def test_a_python_that_is_too_old_and_a_missing_git(machine: Machine) -> None:
    machine.running = machine.running._replace(python=(3, 10, 4))
    (machine.tools / "git").unlink()

    assert set(machine.found()) == {"python-old", "git-missing"}


def test_a_group_that_is_not_there(machine: Machine) -> None:
    (found,) = machine.look("research").findings

    assert found.code == "group-missing"
    assert found.hint == "`gitmem -g research init`"


def test_settings_of_the_store_that_make_no_sense(machine: Machine) -> None:
    machine.store.config.write_text("links: [\n")
    said = machine.look()
    machine.store.config.write_text(f"links:\n  {machine.project}: gone\n")
    machine.store = Store(machine.store.root)

    assert [each.code for each in said.findings] == ["config-broken"]
    assert "--remove" in machine.found()["link-dangling"][1]


def test_a_layout_that_makes_no_sense(machine: Machine) -> None:
    group = Group(machine.store, "main")
    (group.worktree / "gitmem.yaml").write_text("layers: 7\n")
    by_hand(group, "commit", "-qam", "broken")

    assert "edit gitmem.yaml" in machine.found()["layout-broken"][1]


def test_a_program_that_only_a_project_names_is_not_run(machine: Machine) -> None:
    mark = machine.project / "ran"
    script = machine.project / "gitmem"
    script.write_text(f"#!/bin/sh\ntouch {mark}\necho gitmem 9\n")
    script.chmod(0o755)
    machine.install(scope="project", program=Program((str(script),)))

    machine.look()

    assert not mark.exists()


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_calls_in_files_that_are_not_ours_to_write(machine: Machine, host: str) -> None:
    machine.install(host)
    if host == "codex":
        (machine.home / ".codex" / "config.toml").write_text(
            '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = "gitmem hook stop --host codex"\n'
        )
    else:
        group = {"hooks": [{"type": "command", "command": "gitmem hook stop"}]}
        machine.set(machine.project / ".claude" / "settings.local.json", hooks={"Stop": [group]})

    assert "twice" in machine.found()["double"][0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize(
    "path",
    [
        "",
        "repos",
        "repos/main.git",
        "repos/main.git/objects",
        "repos/main.git/refs/heads",
        "repos/main.git/gitmem",
        "groups/main",
    ],
)
def test_a_store_of_somebody_else(machine: Machine, path: str) -> None:
    os.chown(machine.store.root / path, 12345, -1)

    message, hint = machine.found()["wrong-owner"]
    assert "belongs to user 12345" in message
    assert hint.startswith("`sudo chown -R ")


@pytest.mark.parametrize(
    "lines", ["[extensions]\n\trefStorage = reftable", '[extensions] refstorage="reftable" ; mine']
)
def test_a_repository_whose_refs_are_a_table(machine: Machine, lines: str) -> None:
    config = machine.store.gitdir("main") / "config"
    git(machine.store.root, "config", "-f", str(config), "core.repositoryformatversion", "1")
    config.write_text(f"{config.read_text()}{lines}\n")

    found = machine.found()

    assert set(found) == {"reftable"}
    assert "refs migrate --ref-format=files`, then" in found["reftable"][1]
    assert "check --repair" in found["reftable"][1]


def to_sha256(machine: Machine) -> Path:
    """Let the repository of the group be one of the other kind, with the same history."""
    gitdir, made = machine.store.gitdir("main"), machine.home / "made.git"
    git(machine.home, "init", "-q", "--bare", "-b", "main", "--object-format=sha256", str(made))
    said = git(gitdir, "fast-export", "--all")
    git(made, "fast-import", "--quiet", input=said)
    git(made, "config", "core.bare", "false")
    git(made, "config", "core.worktree", "../../groups/main")
    shutil.rmtree(gitdir)
    return made.rename(gitdir)


def test_a_repository_of_the_other_kind_of_ids_is_converted_by_what_it_says(
    machine: Machine,
) -> None:
    group = Group(machine.store, "main")
    put(group, "notes.md", "Kept.\n")
    gitdir = to_sha256(machine)
    (group.worktree / "later.md").write_text("Not committed yet.\n")
    before = (gitdir / "config").read_bytes()

    with pytest.raises(Damaged, match=r"named by sha256.*nothing in it was changed") as caught:
        check_group(machine.store, "main", repair=True)
    with pytest.raises(Damaged, match="named by sha256"):
        Group(machine.store, "main")

    assert "gitmem doctor" in caught.value.hint
    assert (gitdir / "config").read_bytes() == before
    found = machine.found()
    assert set(found) == {"sha256"}
    environ = {**machine.environ, "PATH": f"{machine.tools}:{os.environ['PATH']}"}
    for line in re.findall(r"`([^`]+)`", found["sha256"][1]):
        subprocess.run(
            ["/bin/sh", "-c", line],
            env={**environ, "GITMEM_HOME": str(machine.store.root)},
            check=True,
            capture_output=True,
        )
    assert machine.found() == {}
    assert check_group(machine.store, "main").sound
    assert Group(machine.store, "main").repository.snapshot().read("notes.md") == b"Kept.\n"
    assert (group.worktree / "later.md").exists()


def test_a_group_that_cannot_be_opened(machine: Machine) -> None:
    shutil.rmtree(machine.store.gitdir("main") / "refs")

    message, hint = machine.found()["group-damaged"]
    assert "the branch of this group is missing" in message
    assert hint == "`gitmem -g main check`"


@pytest.mark.parametrize("name", ["disableAllHooks", "allowManagedHooksOnly"])
@pytest.mark.parametrize("place", ["user", "project", "local", "managed"])
def test_hooks_that_are_switched_off_anywhere(machine: Machine, name: str, place: str) -> None:
    files = {
        "user": machine.settings,
        "project": machine.project / ".claude" / "settings.json",
        "local": machine.project / ".claude" / "settings.local.json",
        "managed": machine.managed,
    }
    machine.set(files[place], **{name: True})

    message, _ = machine.found()["hooks-disabled"]
    assert message == f"{name} is set in {files[place]}: no hook runs"


def test_hooks_that_codex_was_told_not_to_call(machine: Machine) -> None:
    config = machine.home / ".codex" / "config.toml"
    machine.install("codex")
    config.write_text("[features]\nhooks = false\n")

    assert f"in {config}" in machine.found()["hooks-disabled"][0]
    config.write_text("[features]\nhooks = true\n")
    assert "hooks-disabled" not in machine.found()


def trusted(hooks: Path) -> str:
    """What Codex writes into its config when a person trusts the hooks in a file."""
    said = json.loads(hooks.read_text())["hooks"]
    rows = []
    for event, [group] in said.items():
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
        digest = handler_digest(event, group, group["hooks"][0])
        rows.append(f'[hooks.state."{hooks}:{name}:0:0"]\ntrusted_hash = "{digest}"\n')
    return "\n".join(rows)


@pytest.mark.parametrize("scope", ["user", "project"])
def test_hooks_that_nobody_has_trusted_are_told_until_somebody_does(
    machine: Machine, scope: str
) -> None:
    machine.install("codex", scope)
    root = machine.home if scope == "user" else machine.project
    hooks, config = root / ".codex" / "hooks.json", machine.home / ".codex" / "config.toml"

    message, hint = machine.found()["hooks-untrusted"]
    assert message.startswith(f"Codex skips hooks in {hooks} that are not trusted: SessionStart, ")
    assert "/hooks" in hint

    config.parent.mkdir(exist_ok=True)
    with config.open("a") as file:
        file.write("\n" + trusted(hooks))
    assert "hooks-untrusted" not in machine.found()

    config.write_text(config.read_text() + "enabled = false\n")
    assert machine.found()["hooks-disabled"][0].endswith("that are disabled: SessionEnd")
    edited = hooks.read_text().replace('"timeout": 10', '"timeout": 20', 1)
    hooks.write_text(edited)
    assert machine.found()["hooks-untrusted"][0].endswith("that are not trusted: SessionStart")


@pytest.mark.parametrize(
    ("event", "group", "digest"),
    [
        (
            "SessionStart",
            {"hooks": [{"timeout": 10, "statusMessage": "gitmem"}]},
            "2e19e08e5ae6725ce25ffe1433a74e07343ce8c9fd72c9a3f609fade0c9877e8",
        ),
        (
            "PostToolUse",
            {
                "matcher": "apply_patch|Write|Edit",
                "hooks": [{"timeout": 10, "statusMessage": "gitmem"}],
            },
            "47bfa5c3f7d56116be35a43b3132a35c9ce5845417d78b4e3a89575fae8cf385",
        ),
        (
            "Stop",
            {"matcher": "", "hooks": [{"timeout": 10, "statusMessage": "gitmem", "async": False}]},
            "f5b44b2ba2bf6b515443a80a6ed07e46143ca8bcf51ce0333f09f9cb90dcfe0f",
        ),
    ],
)
def test_a_hook_is_known_as_codex_knows_it(event: str, group: dict[str, Any], digest: str) -> None:
    """As `hooks/list` of the app server of Codex 0.166.0 told."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "-", event).lower()
    handler = {"type": "command", "command": f"gitmem hook {name} --host codex"}

    found = handler_digest(event, group, group["hooks"][0] | handler)

    assert found == f"sha256:{digest}"


@pytest.mark.parametrize(
    ("rules", "is_found"),
    [
        ({}, True),
        ({"allowWrite": ["/elsewhere"]}, True),
        ({"allowWrite": ["{store}"]}, False),
        ({"allowWrite": ["{store}/**"]}, False),
        ({"allowWrite": ["/{store}/"]}, False),
        ({"allowWrite": ["{parent}"]}, False),
        ({"allowWrite": ["{store}"], "denyWrite": ["{parent}/**"]}, True),
        ({"allowWrite": ["{store}"], "denyRead": ["{store}"]}, True),
    ],
)
def test_a_sandbox_around_the_model(
    machine: Machine, rules: dict[str, list[str]], is_found: bool
) -> None:
    root = machine.store.root
    filesystem = {
        key: [each.format(store=root, parent=root.parent) for each in value]
        for key, value in rules.items()
    }
    machine.set(machine.settings, sandbox={"enabled": True, "filesystem": filesystem})

    assert set(machine.found()) == ({"sandbox"} if is_found else set())
    machine.set(machine.settings, sandbox={"enabled": False, "filesystem": filesystem})
    assert machine.found() == {}


def test_a_store_at_home_is_found_in_a_rule_with_a_tilde(machine: Machine) -> None:
    shutil.move(machine.store.root, machine.home / "memory")
    machine.store = Store(machine.home / "memory")
    machine.set(
        machine.settings, sandbox={"enabled": True, "filesystem": {"allowWrite": ["~/memory"]}}
    )

    assert "sandbox" not in machine.found()


WORKSPACE = 'sandbox_mode = "workspace-write"\n'
SERVER = '[mcp_servers.gitmem]\ncommand = "gitmem"\nargs = ["mcp"]\n'
ROOTS = "[sandbox_workspace_write]\nwritable_roots = "


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("", True),
        ('sandbox_mode = "danger-full-access"', False),
        ('sandbox_mode = "read-only"', True),
        (f'sandbox_mode = "read-only"\n{SERVER}', False),
        (f'default_permissions = "mine"\n{ROOTS}["STORE"]', True),
        (f'default_permissions = "mine"\n{SERVER}', False),
        (WORKSPACE, True),
        (f"{WORKSPACE}{SERVER}", True),
        (f'{WORKSPACE}{ROOTS}["STORE"]', False),
        (f'{ROOTS}["STORE/groups/main"]', True),
        (f'{ROOTS}["STORE/groups", "STORE/repos/main.git"]', False),
    ],
)
def test_a_sandbox_of_codex(machine: Machine, text: str, is_found: bool) -> None:
    machine.install("codex")
    config = machine.home / ".codex" / "config.toml"
    config.write_text(text.replace("STORE", str(machine.store.root)))

    found = machine.found()
    assert ("sandbox" in found) == is_found
    assert ("--mcp" in found.get("sandbox", ("", ""))[1]) == (is_found and SERVER not in text)


def test_the_sandbox_of_codex_is_open_after_install(machine: Machine) -> None:
    machine.install("codex")
    hooks = machine.home / ".codex" / "hooks.json"
    with hooks.with_name("config.toml").open("a") as file:
        file.write("\n" + trusted(hooks))

    assert machine.found() == {}
    init(machine.store, "shop")
    link(machine.store, machine.project, "shop")
    message, hint = machine.found()["sandbox"]
    assert str(machine.store.gitdir("shop")) in message
    assert hint.startswith("`gitmem install codex`")


def test_twice_the_same_by_plugin_or_by_scope(machine: Machine) -> None:
    machine.install(scope="project")
    message, hint = machine.found()["double"]
    assert str(machine.settings) in message
    assert hint == "`gitmem install claude-code --scope project --uninstall`"

    hosts.uninstall(
        machine.store, "claude-code", "project", environ=machine.environ, project=machine.project
    )
    machine.set(machine.settings, enabledPlugins={"gitmem@gitmem": True})
    message, hint = machine.found()["double"]
    assert "the plugin gitmem@gitmem" in message
    assert hint == "`gitmem install claude-code --scope user --uninstall`"


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_twice_the_same_by_the_plugin_of_a_project(machine: Machine, name: str) -> None:
    path = machine.project / ".claude" / name
    machine.set(path, enabledPlugins={"gitmem@gitmem": True})

    assert "the plugin gitmem@gitmem" in machine.found()["double"][0]


def test_settings_that_nobody_can_read(machine: Machine) -> None:
    machine.settings.write_text('{"a": 1,}')

    message, _ = machine.found()["settings-broken"]
    assert message.startswith(f"{machine.settings}: not valid JSON")
    assert machine.look().wired[0].problem

    machine.install("codex", "project")
    (machine.project / ".codex" / "config.toml").write_text("model =")
    messages = [each.message for each in machine.look().findings]
    assert any("config.toml: invalid TOML" in each for each in messages)


def test_marks_of_which_one_is_missing(machine: Machine) -> None:
    memory = machine.home / ".claude" / "CLAUDE.md"
    memory.write_text(memory.read_text().replace("<!-- gitmem:end -->", ""))

    message, hint = machine.found()["section-broken"]
    assert message.startswith(f"{memory}: the markers")
    assert "gitmem install claude-code" in hint


def test_a_skill_that_somebody_removed_or_edited_is_no_fault(machine: Machine) -> None:
    skills = machine.home / ".claude" / "skills"
    shutil.rmtree(skills / "diary")
    (skills / "facts" / "SKILL.md").write_text("mine")

    assert machine.found() == {}
    assert machine.look().wired[0].skills == 5


def test_a_skill_of_somebody_else_is_not_counted(bare: Machine) -> None:
    theirs = bare.home / ".claude" / "skills" / "diary" / "SKILL.md"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("theirs")
    bare.install()

    assert set(bare.found()) == {"skill-shadowed"}
    assert bare.look().wired[0].skills == 5


def test_hooks_and_skills_of_an_older_version(machine: Machine) -> None:
    said = json.loads(machine.settings.read_text())
    del said["hooks"]["SessionEnd"]
    machine.settings.write_text(json.dumps(said))
    skill = machine.home / ".claude" / "skills" / "diary" / "SKILL.md"
    record = machine.store.root / "installs.json"
    as_given = record.read_text().replace(digest(skill.read_bytes()), digest(b"as it was"))
    record.write_text(as_given)
    skill.write_text("as it was")

    found = machine.found()

    assert "has no hook for SessionEnd" in found["hooks-old"][0]
    assert found["skills-stale"][0].endswith(": diary")
    assert found["skills-stale"][1] == "`gitmem install claude-code --scope user`"
    machine.install()
    assert machine.found() == {}


def test_a_record_that_cannot_be_read(machine: Machine) -> None:
    (machine.store.root / "installs.json").write_text("[]")

    assert "move it away" in machine.found()["record-broken"][1]


def test_it_changes_nothing(machine: Machine) -> None:
    def state() -> dict[str, int]:
        folders = (machine.home, machine.project, machine.store.root)
        found = (each for folder in folders for each in folder.rglob("*"))
        return {str(each): each.stat().st_mtime_ns for each in found}

    before = state()
    machine.look()

    assert state() == before


def test_the_page_names_every_finding() -> None:
    sources = "".join(
        each.read_text() for each in (ROOT / "gitmem/integrations/doctor").rglob("*.py")
    )
    codes = set(re.findall(r'Fault\(\s*"([a-z-]+)"', sources))
    codes |= {*CONVERTED, HOST_MEMORY}
    page = (ROOT / "docs" / "hosts.md").read_text("utf-8")
    table = page.partition("## What the doctor looks for")[2].partition("\n## ")[0]

    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`([a-z0-9-]+)`", "".join(rows))) == codes


OLD_INJECT = "node ~/zylos/.claude/skills/zylos-memory/scripts/session-start-inject.js"
OLD_PLACES = {
    "user": ("home", ".claude/settings.json"),
    "project": ("project", ".claude/settings.json"),
    "local": ("project", ".claude/settings.local.json"),
}


def add_old_hook(path: Path, command: str = OLD_INJECT) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    said = json.loads(path.read_text()) if path.exists() else {}
    groups = said.setdefault("hooks", {}).setdefault("SessionStart", [])
    groups.append({"matcher": "", "hooks": [{"type": "command", "command": command}]})
    path.write_text(json.dumps(said))


@pytest.mark.parametrize("place", OLD_PLACES)
def test_memory_that_another_system_shows_as_well(machine: Machine, place: str) -> None:
    folder, name = OLD_PLACES[place]
    path = getattr(machine, folder) / name
    add_old_hook(path)

    message, hint = machine.found()["memory-twice"]

    assert message.startswith(f"{path} runs session-start-inject.js at SessionStart")
    assert hint.startswith("`gitmem install claude-code --scope user --replace`")
    machine.install(replace=True)
    assert machine.found() == {}


@pytest.mark.parametrize(
    "command",
    [
        "node /srv/old/session-start-inject.js",
        "node ~/zylos/.claude/skills/zylos-memory/scripts/session-start-inject",
        "bun '/My Bot/session-start-inject.mjs' --quiet",
        "cd ~/zylos/.claude/skills/zylos-memory/scripts && node inject-v4.js",
        "node $CLAUDE_PROJECT_DIR/.claude/skills/zylos-memory/scripts/inject-v4.js",
    ],
)
def test_an_old_hook_under_another_path_or_name(machine: Machine, command: str) -> None:
    add_old_hook(machine.settings, command)

    message, _ = machine.found()["memory-twice"]

    assert message.startswith(f"{machine.settings} runs ")
    machine.install(replace=True)
    assert machine.found() == {}
    assert command not in machine.settings.read_text()


@pytest.mark.parametrize("command", ["node my-session-start-inject.js", "node zylos-memory-ui.js"])
def test_a_hook_whose_name_is_only_alike(machine: Machine, command: str) -> None:
    add_old_hook(machine.settings, command)

    assert machine.found() == {}


def test_an_old_hook_that_an_administrator_has_set(machine: Machine) -> None:
    add_old_hook(machine.managed)

    message, hint = machine.found()["memory-twice"]

    assert message.startswith(f"{machine.managed} runs session-start-inject.js")
    assert hint == f"remove it from {machine.managed}: gitmem does not write that file"


def test_local_settings_that_nobody_can_read(machine: Machine) -> None:
    local = machine.project / ".claude" / "settings.local.json"
    add_old_hook(local)
    local.write_text(local.read_text().replace("}]}]}", "}]}],}"))

    message, _ = machine.found()["settings-broken"]

    assert message.startswith(str(local))


@pytest.mark.parametrize("name", ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_old_section_in_any_page_of_the_project(
    machine: Machine, name: str, newline: str
) -> None:
    page, text = machine.project / name, "# Bot\n\n## Memory System\n\nInvoke /zylos-memory.\n"
    page.parent.mkdir(exist_ok=True)
    page.write_bytes(text.replace("\n", newline).encode())
    before = page.read_bytes()

    message, hint = machine.found()["section-old"]

    assert message.startswith(f"{page} has the section 'Memory System'")
    assert "--scope user --replace`" in hint
    machine.install(replace=True)
    assert machine.found() == {}
    hosts.uninstall(
        machine.store, "claude-code", "user", environ=machine.environ, project=machine.project
    )
    assert page.read_bytes() == before


def test_an_old_section_in_a_folder_above_the_project(machine: Machine) -> None:
    page = machine.project.parent / "CLAUDE.md"
    page.write_text("## Memory System\n\nInvoke /zylos-memory.\n")

    message, hint = machine.found()["section-old"]

    assert message.startswith(f"{page} has the section 'Memory System'")
    assert hint == f"remove it from {page} by hand"


@pytest.mark.parametrize(
    "text",
    [
        "## How I remember\n\nRun `node skills/zylos-memory/scripts/memory-sync.js`.\n",
        "Memory System\n-------------\n\nsession-start-inject.js shows your memory.\n",
    ],
)
def test_lines_of_the_old_system_under_another_heading_are_a_note(
    machine: Machine, text: str
) -> None:
    memory = machine.home / ".claude" / "CLAUDE.md"
    memory.write_text(f"{memory.read_text()}\n{text}")

    (note,) = machine.look().notes

    assert note.startswith(f"{memory} names ")
    assert machine.install(replace=True).remarks[-1:] == (note,)
    assert text in memory.read_text()


@pytest.mark.parametrize("scope", ["user", "project"])
def test_folders_that_are_one_by_a_link_call_once(bare: Machine, scope: str) -> None:
    dotfiles = bare.home.parent / "dotfiles"
    dotfiles.mkdir()
    for folder in (bare.home, bare.project):
        (folder / ".claude").symlink_to(dotfiles)

    said = bare.install(scope=scope).remarks

    assert not [each for each in said if "calls gitmem, too" in each]
    assert bare.found() == {}


def test_a_section_on_memory_of_another_system(machine: Machine) -> None:
    memory = machine.home / ".claude" / "CLAUDE.md"
    memory.write_text(f"## Memory System\n\nInvoke /zylos-memory.\n\n{memory.read_text()}")

    message, hint = machine.found()["section-old"]

    assert message.startswith(f"{memory} has the section 'Memory System'")
    assert "--scope user --replace`" in hint
    machine.install(replace=True)
    assert machine.found() == {}


@pytest.mark.parametrize(
    ("heading", "said"),
    [
        ("Memory System", "All of it lies in ~/zylos/memory/."),
        ("Memory", "Use /diary and write to groups/shop/diary."),
        ("memory", "The laptop has 16 GB."),
        ("🧠 Memory", "Keep notes in ~/notes."),
        ("3. **Memory System:**", "Keep notes in ~/notes."),
    ],
)
def test_any_other_section_on_memory_is_a_note_and_stays(
    machine: Machine, heading: str, said: str
) -> None:
    memory = machine.home / ".claude" / "CLAUDE.md"
    memory.write_text(f"{memory.read_text()}\n## {heading}\n\n{said}\n")

    looked = machine.look()
    done = machine.install(replace=True)

    assert (looked.findings, looked.is_well) == ((), True)
    (note,) = looked.notes
    assert note.startswith(f"{memory} has a section '{heading}' that does not mention gitmem")
    assert note in done.remarks
    assert said in memory.read_text()


@pytest.mark.parametrize(
    "text", ["## Memory\n\nKept by gitmem.\n", "## Memory leaks\n\nUse valgrind.\n", ""]
)
def test_a_section_that_is_about_gitmem_or_something_else_is_no_note(
    machine: Machine, text: str
) -> None:
    memory = machine.home / ".claude" / "CLAUDE.md"
    memory.write_text(f"{memory.read_text()}\n{text}")

    assert machine.look().notes == ()


@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_skill_of_the_same_name_in_either_scope(machine: Machine, scope: str) -> None:
    folder = machine.home if scope == "user" else machine.project
    theirs = folder / ".claude" / "skills" / "diary" / "SKILL.md"
    if scope == "user":
        hosts.uninstall(
            machine.store, "claude-code", "user", environ=machine.environ, project=machine.project
        )
    theirs.parent.mkdir(parents=True, exist_ok=True)
    theirs.write_text("theirs")
    machine.install()

    message, hint = machine.found()["skill-shadowed"]

    assert message.startswith(f"{theirs.parent} is not gitmem's")
    if scope == "project":
        away = theirs.parents[2] / "diary.before-gitmem"
        assert hint == f"`mv {theirs.parent} {away}` lets gitmem's load"
        return
    assert hint.startswith("`gitmem install claude-code --scope user --replace`")
    machine.install(replace=True)
    assert machine.found() == {}


@pytest.mark.parametrize("by", ["settings", "plugin"])
def test_a_skill_that_keeps_memory_past_gitmem(machine: Machine, by: str) -> None:
    if by == "plugin":
        machine.set(machine.settings, enabledPlugins={"gitmem@gitmem": True})
        machine.install()
    old = machine.home / ".claude" / "skills" / "zylos-memory" / "SKILL.md"
    old.parent.mkdir(parents=True, exist_ok=True)
    old.write_text("old")

    assert machine.found()["skill-old"] == (
        f"{old.parent} is a skill of another memory system, which bypasses gitmem",
        f"move it out of {old.parents[1]}",
    )


class TestPermissions:
    def test_what_somebody_took_out_is_named(self, machine: Machine) -> None:
        machine.install()
        assert machine.look().findings == ()
        path = machine.home / ".claude" / "settings.json"
        found = json.loads(path.read_text())
        found["permissions"]["allow"].remove("Bash(gitmem write:*)")
        path.write_text(json.dumps(found))

        (finding,) = machine.look().findings

        assert finding.code == "permissions-missing"
        assert finding.message.endswith("does not allow Bash(gitmem write:*)")
        assert "`gitmem install claude-code --scope user`" in finding.hint
        machine.install()
        assert machine.look().findings == ()

    def test_who_declined_is_not_told(self, machine: Machine) -> None:
        machine.install(permissions=False)

        assert machine.look().findings == ()

    def test_a_linked_folder_that_lacks_its_rules(self, machine: Machine) -> None:
        init(machine.store, "shop")
        machine.install()
        link(machine.store, machine.project, "shop")
        machine.store = Store(machine.store.root)

        found = {each.code: each.message for each in machine.look().findings}

        assert found.keys() == {"permissions-missing", "host-memory"}
        assert str(machine.project / ".claude" / "settings.local.json") in str(found.values())
        machine.install()
        assert machine.look().findings == ()

    @pytest.mark.parametrize("kind", ["deny", "ask"])
    @pytest.mark.parametrize(
        "rule",
        ["Bash", "Bash(*)", "Bash(gitmem:*)", "Bash(gitmem *)", "Edit(~/**)", "Skill(diary)"],
    )
    def test_a_rule_of_the_user_against_ours(
        self, machine: Machine, monkeypatch: pytest.MonkeyPatch, rule: str, kind: str
    ) -> None:
        monkeypatch.setenv("HOME", str(machine.store.root.parent))
        machine.install()
        path = machine.project / ".claude" / "settings.json"
        path.parent.mkdir()
        path.write_text(json.dumps({"permissions": {kind: [rule]}}))

        (finding,) = machine.look().findings

        assert finding.code == "permissions-missing"
        assert f"{path} " in finding.message
        assert f" {rule}, which overrides " in finding.message

    @pytest.mark.parametrize(
        "rule", ["Bash(git:*)", "Bash(gitmem purge:*)", "Edit(//etc/**)", "Read(.env)", "WebFetch"]
    )
    def test_other_rules_of_the_user_are_theirs(self, machine: Machine, rule: str) -> None:
        machine.install()
        path = machine.project / ".claude" / "settings.json"
        path.parent.mkdir()
        path.write_text(json.dumps({"permissions": {"deny": [rule]}}))

        assert machine.look().findings == ()


class TestCalls:
    def test_a_call_that_works_only_in_this_shell(self, machine: Machine) -> None:
        machine.profile(Path("/usr/bin"), Path("/bin"))

        found = machine.found()

        assert set(found) == {"hook-fails"}
        assert any("login shell does not find gitmem" in each for each in machine.look().notes)
        assert "gitmem hook session-start --host claude-code" in found["hook-fails"][0]
        assert "not found" in found["hook-fails"][0]
        assert "`gitmem install claude-code --scope user`" in found["hook-fails"][1]

    def test_a_program_that_fails_is_quoted(self, machine: Machine) -> None:
        broken = machine.script("broken", "echo 'no module named gitmem' >&2; exit 1")
        place = broken.rename(broken.with_name("elsewhere"))
        place.parent.joinpath("old").mkdir()
        place = place.rename(place.parent / "old" / "gitmem")
        machine.install(program=Program((str(place),)))

        found = machine.found()

        assert found["hook-fails"][0].endswith("fails: no module named gitmem")

    def test_a_server_that_does_not_answer(self, machine: Machine) -> None:
        machine.install("codex", mcp=True)
        machine.script("gitmem", 'case "$*" in *mcp*) echo "broken pipe dream" >&2; exit 3;; esac')

        said = [each.message for each in machine.look().findings if each.code == "hook-fails"]

        assert said == ["the MCP server `gitmem mcp` fails: broken pipe dream"]

    def test_a_server_that_answers(self, machine: Machine) -> None:
        machine.install("codex", mcp=True)

        assert "hook-fails" not in machine.found()
