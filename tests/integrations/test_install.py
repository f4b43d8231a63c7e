"""Installing into a host, with real files: put in, repeated, taken out, and never by force."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gitmem.errors import BadInput, Conflict, Damaged, GitmemError, NotFound
from gitmem.integrations.hosts.program import Program, find_program
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install import install as hosts
from gitmem.integrations.install.files import FileEdit, make
from gitmem.integrations.install.host_files import SCOPES
from gitmem.integrations.install.install import Installed
from gitmem.integrations.install.parts.hooks import events_wired
from gitmem.integrations.install.parts.sections import BEGIN, END
from gitmem.integrations.install.record import installs
from gitmem.memory.admin.init import init
from gitmem.memory.group import Store

MESSY = b"""\xef\xbb\xbf{\r
\t"model" : "opus",\r
\t"permissions": {"allow": ["Bash(ls:*)"], "deny": []},\r
\t"hooks" : {\r
\t\t"Stop" : [\r
\t\t\t{"hooks": [{"type": "command", "command": "say done"}]}\r
\t\t]\r
\t},\r
\t"z": 1.50, "a": [ ]\r
}"""


class Machine:
    """A home folder with a store and a project in it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir()
        self.project.mkdir()
        self.environ = {"HOME": str(self.home)}
        self.store = Store(folder / "store")

    def install(self, host: str = "claude-code", scope: str = "user", **wishes: Any) -> Installed:
        program = wishes.pop("program", Program(("gitmem",)))
        group = wishes.pop("group", "main")
        return hosts.install(
            self.store,
            group,
            host,
            scope,
            program=program,
            environ=self.environ,
            project=self.project,
            **wishes,
        )

    def uninstall(self, host: str = "claude-code", scope: str = "user") -> Installed:
        return hosts.uninstall(self.store, host, scope, environ=self.environ, project=self.project)

    @property
    def settings(self) -> Path:
        return self.home / ".claude" / "settings.json"

    def write(self, path: Path, data: bytes) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def tree(*folders: Path) -> dict[str, bytes | None]:
    """Everything in FOLDERS: files with their bytes, all else with None."""
    found = [each for folder in folders for each in sorted(folder.rglob("*"))]
    return {str(each): each.read_bytes() if each.is_file() else None for each in found}


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("host", HOSTS)
def test_a_machine_without_anything_gets_all_of_it_and_is_then_as_it_was(
    machine: Machine, host: str, scope: str
) -> None:
    before = tree(machine.home, machine.project)

    done = machine.install(host, scope, mcp=True, on_prompt=True)

    places = {
        ("claude-code", "user"): (".claude/settings.json", ".claude/skills", ".claude/CLAUDE.md"),
        ("claude-code", "project"): (".claude/settings.json", ".claude/skills", "CLAUDE.md"),
        ("codex", "user"): (".codex/hooks.json", ".codex/skills", ".codex/AGENTS.md"),
        ("codex", "project"): (".codex/hooks.json", ".agents/skills", "AGENTS.md"),
        ("gemini", "user"): (".gemini/settings.json", ".gemini/skills", ".gemini/GEMINI.md"),
        ("gemini", "project"): (".gemini/settings.json", ".gemini/skills", "GEMINI.md"),
        ("copilot", "user"): (
            ".copilot/hooks/gitmem.json",
            ".copilot/skills",
            ".copilot/copilot-instructions.md",
        ),
        ("copilot", "project"): (
            ".github/hooks/gitmem.json",
            ".github/skills",
            ".github/copilot-instructions.md",
        ),
    }
    root = machine.home if scope == "user" else machine.project
    hooks, skills, memory = (root / each for each in places[host, scope])
    events = events_wired(json.loads(hooks.read_text()))
    usual = ("SessionStart", "PostToolUse", "Stop", "UserPromptSubmit", "SessionEnd")
    assert {HOSTS[host].named(each) for each in usual} <= events.keys()
    assert (skills / "gitmem-memory" / "SKILL.md").is_file()
    assert memory.read_text().startswith(BEGIN)
    assert done.group == "main"
    assert (machine.store.root / ".env.example").read_text().count("\nTZ=UTC\n") == 1

    again = machine.install(host, scope)
    assert (again.files, again.group) == ((), "")

    machine.uninstall(host, scope)
    assert tree(machine.home, machine.project) == before
    assert not (machine.store.root / "installs.json").exists()


def test_settings_come_back_byte_for_byte(machine: Machine) -> None:
    machine.write(machine.settings, MESSY)

    machine.install(on_prompt=True)

    changed = machine.settings.read_bytes()
    assert changed.startswith(
        b'\xef\xbb\xbf{\r\n\t"model" : "opus",\r\n\t"permissions": {"allow": ['
    )
    assert changed.endswith(b'\t"z": 1.50, "a": [ ]\r\n}')
    assert b"\n" not in changed.replace(b"\r\n", b"")
    machine.install(on_prompt=False)
    assert "UserPromptSubmit" not in json.loads(machine.settings.read_text("utf-8-sig"))["hooks"]
    machine.uninstall()
    assert machine.settings.read_bytes() == MESSY


def test_what_was_done_to_the_file_since_stays(machine: Machine) -> None:
    machine.write(machine.settings, MESSY)
    machine.install()
    changed = machine.settings.read_bytes().replace(b'"opus"', b'"sonnet"')
    machine.settings.write_bytes(changed)

    machine.uninstall()

    assert machine.settings.read_bytes() == MESSY.replace(b'"opus"', b'"sonnet"')


def test_a_second_installation_over_an_edit_keeps_the_edit_when_it_goes(machine: Machine) -> None:
    machine.write(machine.settings, MESSY)
    machine.install()
    machine.settings.write_bytes(machine.settings.read_bytes().replace(b'"opus"', b'"sonnet"'))
    machine.install(program=Program(("/elsewhere/gitmem",)))

    machine.uninstall()

    assert machine.settings.read_bytes() == MESSY.replace(b'"opus"', b'"sonnet"')


def test_a_file_of_ours_in_which_somebody_wrote_is_not_deleted(machine: Machine) -> None:
    machine.install()
    text = machine.settings.read_text().replace('{\n  "hooks"', '{\n  "model": "opus",\n  "hooks"')
    machine.settings.write_text(text)

    machine.uninstall()

    assert machine.settings.read_text() == '{\n  "model": "opus"\n}\n'


def test_a_file_that_said_nothing_before_says_nothing_afterwards(machine: Machine) -> None:
    machine.write(machine.settings, b"{}")
    machine.install()
    machine.settings.write_bytes(machine.settings.read_bytes() + b"\n")

    machine.uninstall()

    assert machine.settings.read_bytes() == b"{}\n"


def test_without_its_record_it_still_knows_its_own(machine: Machine) -> None:
    machine.write(machine.settings, MESSY)
    machine.write(machine.home / ".claude" / "CLAUDE.md", b"# Mine\n")
    machine.install()
    (machine.store.root / "installs.json").unlink()

    assert machine.install().files == ()
    machine.uninstall()

    assert machine.settings.read_bytes() == MESSY
    assert (machine.home / ".claude" / "CLAUDE.md").read_bytes() == b"# Mine\n"
    assert list((machine.home / ".claude" / "skills").iterdir()) == []


def test_skills_of_a_project_that_was_cloned_are_known_as_far_as_nobody_edited_them(
    machine: Machine,
) -> None:
    machine.install(scope="project")
    skills = machine.project / ".claude" / "skills"
    (skills / "facts" / "SKILL.md").write_text("mine")
    machine.store = Store(machine.home / "store of somebody else")

    machine.uninstall(scope="project")

    left = [each for each in skills.rglob("*") if each.is_file()]
    assert left == [skills / "facts" / "SKILL.md"]


@pytest.mark.parametrize("is_uninstalled", [True, False])
def test_what_a_writer_left_that_died_is_swept(machine: Machine, is_uninstalled: bool) -> None:
    machine.install()
    left = [
        machine.write(machine.home / ".claude" / f"{each}.0011aabb.gitmem-tmp", b"half")
        for each in (".settings.json", "skills/diary/.SKILL.md", "skills/.x")
    ]
    machine.write(machine.home / ".claude" / ".mine.gitmem-tmp", b"theirs")

    machine.uninstall() if is_uninstalled else machine.install()

    assert not any(each.exists() for each in left)
    assert (machine.home / ".claude" / ".mine.gitmem-tmp").exists()


def test_what_a_link_leads_to_is_never_deleted(machine: Machine) -> None:
    machine.install()
    moved = machine.settings.rename(machine.home / "dotfiles.json")
    machine.settings.symlink_to(moved)

    machine.uninstall()

    assert machine.settings.is_symlink()
    assert json.loads(moved.read_text()) == {}


def test_each_changed_file_is_kept_and_no_older_copy_is_ever_lost(machine: Machine) -> None:
    machine.write(machine.settings, b'{"a": 1}')
    (first,) = (each for each in machine.install().files if each.path == str(machine.settings))
    machine.settings.write_bytes(b'{"a": 2}')
    (second,) = (each for each in machine.install().files if each.path == str(machine.settings))

    assert Path(first.backup).read_bytes() == b'{"a": 1}'
    assert Path(second.backup).read_bytes() == b'{"a": 2}'
    assert Path(first.backup).stat().st_mode & 0o777 == 0o600
    assert '-{"a": 1}\n' in first.diff
    assert '+{"a": 1, "hooks": {"SessionStart"' in first.diff


def test_a_dry_run_tells_the_same_and_touches_nothing(machine: Machine) -> None:
    machine.write(machine.settings, MESSY)
    before = tree(machine.home, machine.project, machine.store.root)

    told = machine.install(mcp=True, dry_run=True)

    assert tree(machine.home, machine.project, machine.store.root) == before
    assert not machine.store.root.exists()
    done = machine.install(mcp=True)
    assert told.files == done.files


def test_a_link_to_settings_stays_a_link_and_the_mode_a_mode(machine: Machine) -> None:
    target = machine.write(machine.home / "dotfiles" / "claude.json", b"{}\n")
    target.chmod(0o640)
    machine.settings.parent.mkdir()
    machine.settings.symlink_to("../dotfiles/claude.json")

    machine.install()

    assert os.readlink(machine.settings) == "../dotfiles/claude.json"
    assert "SessionStart" in json.loads(target.read_text())["hooks"]
    assert target.stat().st_mode & 0o777 == 0o640
    machine.uninstall()
    assert target.read_bytes() == b"{}\n"
    assert machine.settings.is_symlink()


def test_new_files_are_closed_to_others_unless_they_are_of_a_project(machine: Machine) -> None:
    machine.install(scope="user")
    machine.install(scope="project")

    assert machine.settings.stat().st_mode & 0o777 == 0o600
    assert (machine.project / ".claude" / "settings.json").stat().st_mode & 0o777 == 0o644
    assert (machine.project / ".claude").stat().st_mode & 0o777 == 0o755


BROKEN: list[tuple[str, bytes, str]] = [
    ("settings.json", b'{"a": 1,}', "settings.json: not valid JSON"),
    ("settings.json", b'{"hooks": {}, "hooks": {}}', "duplicate name 'hooks'"),
    ("settings.json", b'{"hooks": []}', "hooks is a list"),
    ("settings.json", b"\xff\xfe{}", "is not UTF-8"),
    ("CLAUDE.md", f"{BEGIN}\nno end".encode(), "CLAUDE.md: the markers"),
    ("CLAUDE.md", f"{BEGIN}{END}{BEGIN}{END}".encode(), "CLAUDE.md: the markers"),
]


@pytest.mark.parametrize(("name", "data", "said"), BROKEN)
def test_what_cannot_be_read_for_sure_stops_it_before_anything_is_touched(
    machine: Machine, name: str, data: bytes, said: str
) -> None:
    init(machine.store, "main")
    machine.write(machine.home / ".claude" / name, data)
    before = tree(machine.home)

    with pytest.raises(GitmemError) as caught:
        machine.install()

    assert said in caught.value.message
    assert caught.value.hint
    assert tree(machine.home) == before
    assert installs(machine.store.root) == ()


@pytest.mark.parametrize("name", ["CLAUDE.md", "settings.json"])
def test_a_file_that_nobody_can_read_keeps_no_other_from_being_as_it_was(
    machine: Machine, name: str
) -> None:
    before = tree(machine.home)
    machine.install()
    broken = machine.home / ".claude" / name
    whole, half = broken.read_bytes(), broken.read_bytes()[:-30]
    broken.write_bytes(half)

    done = machine.uninstall()

    (said,) = done.left
    assert said.startswith(f"{broken}: ")
    assert [str(broken)] == [each for each in tree(machine.home) if Path(each).is_file()]
    assert broken.read_bytes() == half
    broken.write_bytes(whole)
    assert machine.uninstall().left == ()
    assert tree(machine.home) == before
    assert installs(machine.store.root) == ()


def test_a_call_that_stays_is_named(machine: Machine) -> None:
    group = {"hooks": [{"type": "command", "command": "gitmem hook stop -g mine", "timeout": 3}]}
    machine.write(machine.settings, json.dumps({"hooks": {"Stop": [group]}}).encode())
    machine.install()

    (said,) = machine.uninstall().remarks

    assert said.endswith("call gitmem: Stop")
    assert str(machine.settings) in said


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n\r\n\r\n"])
def test_the_last_line_ends_as_it_did_whatever_was_edited(machine: Machine, end: str) -> None:
    memory = machine.write(machine.home / ".codex" / "AGENTS.md", f"# A{end}".encode())
    config = machine.write(machine.home / ".codex" / "config.toml", f"a = 1{end}".encode())
    machine.install("codex", mcp=True)
    for path in (memory, config):
        path.write_bytes(b"# new\n" + path.read_bytes())

    machine.uninstall("codex")

    assert memory.read_bytes() == f"# new\n# A{end}".encode()
    assert config.read_bytes() == f"# new\na = 1{end}".encode()


def test_an_installation_that_stops_halfway_can_be_finished_or_taken_out(machine: Machine) -> None:
    machine.write(machine.settings, MESSY)
    machine.write(machine.home / "a file", b"")
    link = machine.home / ".claude" / "CLAUDE.md"
    link.symlink_to(machine.home / "a file" / "CLAUDE.md")
    before = tree(machine.home)

    with pytest.raises(GitmemError, match=r"writing .* failed"):
        machine.install()

    assert (machine.home / ".claude" / "skills" / "diary").exists()
    assert machine.settings.read_bytes() == MESSY  # the host is told last
    machine.uninstall()
    assert tree(machine.home) == before
    with pytest.raises(GitmemError, match=r"writing .* failed"):
        machine.install()
    link.unlink()
    machine.install()
    machine.uninstall()
    assert machine.settings.read_bytes() == MESSY
    assert not link.exists()


def test_something_else_in_the_place_of_a_file_is_not_touched(machine: Machine) -> None:
    machine.settings.mkdir(parents=True)

    with pytest.raises(GitmemError, match="not a regular file"):
        machine.install()


def test_a_file_that_changes_under_our_hands_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"theirs")

    with pytest.raises(Conflict, match="another program changed"):
        make(FileEdit(path, b"what we saw", b"ours"), mode=0o600)

    assert path.read_bytes() == b"theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_the_section_keeps_its_place_and_everything_around_it(machine: Machine) -> None:
    path = machine.write(machine.home / ".codex" / "AGENTS.md", b"# Mine\r\n\r\nMore.")
    machine.install("codex")
    section = path.read_bytes()
    assert section.startswith(b"# Mine\r\n\r\nMore.\r\n\r\n<!-- gitmem:begin -->\r\n## Memory\r\n")
    assert section.endswith(b"<!-- gitmem:end -->\r\n")

    path.write_bytes(b"Before.\r\n" + section.replace(b"## Memory", b"## Old") + b"After.\r\n")
    machine.install("codex")

    assert path.read_bytes() == b"Before.\r\n" + section + b"After.\r\n"
    machine.uninstall("codex")
    assert path.read_bytes() == b"Before.\r\n# Mine\r\n\r\nMore.\r\nAfter.\r\n"


def test_the_section_says_what_the_group_has_and_what_to_do(machine: Machine) -> None:
    init(machine.store, "main", layout="zylos")
    machine.install()

    text = (machine.home / ".claude" / "CLAUDE.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    known = {row[0]: row[1:] for row in rows if len(row) == 5}
    assert known["state"][0::2] == ["`state.md`", "always"]
    assert known["state"][3] == "4 KB"
    assert known["user"][0::2] == ["`users/<user>/profile.md`", "when you read it"]
    for words in ("[Action Required]", "/zylos-memory", "**Write at once.**", "**Sizes.**"):
        assert words in text


def test_mcp_of_a_project_stands_in_its_file_and_goes_when_told(machine: Machine) -> None:
    path = machine.write(machine.project / ".mcp.json", b'{"mcpServers": {"x": {"command": "y"}}}')
    machine.install(scope="project", mcp=True)
    assert json.loads(path.read_text())["mcpServers"] == {
        "x": {"command": "y"},
        "gitmem": {"command": "gitmem", "args": ["mcp"]},
    }

    machine.install(scope="project")
    assert "gitmem" in json.loads(path.read_text())["mcpServers"]
    machine.install(scope="project", mcp=False)
    assert path.read_bytes() == b'{"mcpServers": {"x": {"command": "y"}}}'


def test_mcp_of_codex_is_a_block_that_can_be_replaced(machine: Machine) -> None:
    path = machine.write(machine.home / ".codex" / "config.toml", b'model = "o" # mine')
    machine.install("codex", mcp=True)
    machine.install("codex", program=Program(("/my tools/gitmem",), "/a b"))

    assert path.read_text().startswith('model = "o" # mine\n\n# gitmem:begin\n')
    assert tomllib.loads(path.read_text())["mcp_servers"]["gitmem"] == {
        "command": "/my tools/gitmem",
        "args": ["--store", "/a b", "mcp"],
    }
    machine.uninstall("codex")
    assert path.read_bytes() == b'model = "o" # mine'


@pytest.mark.parametrize(
    ("host", "path", "data"),
    [
        ("claude-code", ".mcp.json", b'{"mcpServers": {"gitmem": {"command": "mine"}}}'),
        ("codex", ".codex/config.toml", b'[mcp_servers.gitmem]\ncommand = "mine"\n'),
    ],
)
def test_a_server_of_that_name_that_is_not_ours_stays(
    machine: Machine, host: str, path: str, data: bytes
) -> None:
    file = machine.write(machine.project / path, data)

    done = machine.install(host, "project", mcp=True)

    assert any("'gitmem' there is not gitmem's" in each for each in done.remarks)
    machine.uninstall(host, "project")
    assert file.read_bytes() == data


OTHER_TABLE = '[mcp_servers.other]\ncommand = "x"\n'


def codex_config(machine: Machine, program: str = "gitmem") -> Path:
    """Codex's file, with our server in it."""
    machine.install("codex", mcp=True, program=Program((program,)))
    return machine.home / ".codex" / "config.toml"


def test_what_others_put_between_our_marks_stays(machine: Machine) -> None:
    path = codex_config(machine)
    path.write_text(path.read_text().replace("# gitmem:end", f"\n{OTHER_TABLE}# gitmem:end"))

    codex_config(machine, "/new/gitmem")
    servers = tomllib.loads(path.read_text())["mcp_servers"]
    assert servers["gitmem"]["command"] == "/new/gitmem"
    assert servers["other"] == {"command": "x"}
    machine.uninstall("codex")

    assert path.read_text() == f"\n{OTHER_TABLE}"


def test_a_key_that_somebody_gave_our_server_stays(machine: Machine) -> None:
    path = codex_config(machine)
    path.write_text(path.read_text().replace("# gitmem:end", "timeout = 30\n# gitmem:end"))
    edited = path.read_text()

    assert machine.install("codex").files == ()
    codex_config(machine, "/new/gitmem")
    assert path.read_text() == edited.replace('"gitmem"', '"/new/gitmem"')
    machine.uninstall("codex")

    assert tomllib.loads(path.read_text())["mcp_servers"]["gitmem"]["timeout"] == 30


def test_our_server_as_somebody_changed_it_stays(machine: Machine) -> None:
    path = codex_config(machine)
    edited = path.read_text().replace('["mcp"]', '["mcp", "-g", "shop"]')
    path.write_text(edited)

    done = codex_config(machine, "/new/gitmem")

    assert done.read_text() == edited
    machine.uninstall("codex")
    assert path.read_text() == edited.partition("\n[sandbox_workspace_write]")[0]


@pytest.mark.parametrize("mcp", [True, None])
def test_marks_in_a_text_of_somebody_are_no_marks(machine: Machine, mcp: bool | None) -> None:
    path = codex_config(machine)
    quoted = f'notes = """\n{path.read_text()}"""\n'
    machine.uninstall("codex")
    machine.write(path, quoted.encode())
    machine.install("codex", mcp=mcp)
    path.write_text(path.read_text().replace("notes", "words"))

    machine.uninstall("codex")

    assert path.read_text().rstrip() == quoted.replace("notes", "words").rstrip()


def test_servers_in_a_list_are_refused(machine: Machine) -> None:
    path = machine.write(machine.home / ".codex" / "config.toml", b"[[mcp_servers]]\na = 1\n")

    with pytest.raises(GitmemError, match="mcp_servers is not a table"):
        machine.install("codex", mcp=True)
    machine.install("codex")
    machine.uninstall("codex")

    assert path.read_text() == "[[mcp_servers]]\na = 1\n"


def test_broken_toml_is_refused(machine: Machine) -> None:
    machine.write(machine.home / ".codex" / "config.toml", b"model = ")

    with pytest.raises(GitmemError, match="invalid TOML") as caught:
        machine.install("codex", mcp=True)

    assert "config.toml" in caught.value.message


def test_mcp_of_the_user_of_claude_code_is_left_to_its_own_command(machine: Machine) -> None:
    done = machine.install(mcp=True)

    assert "`claude mcp add --scope user gitmem -- gitmem mcp`" in done.next
    assert not (machine.home / ".claude.json").exists()


def test_with_the_plugin_enabled_nothing_happens_twice(machine: Machine) -> None:
    machine.install()
    settings = json.loads(machine.settings.read_text())
    machine.settings.write_text(json.dumps({"enabledPlugins": {"gitmem@gitmem": True}, **settings}))

    done = machine.install(mcp=True)

    assert events_wired(json.loads(machine.settings.read_text())) == {}
    assert not (machine.home / ".claude" / "skills" / "diary").exists()
    assert (machine.home / ".claude" / "CLAUDE.md").exists()
    assert any("the plugin gitmem@gitmem is enabled" in each for each in done.remarks)


def test_the_plugin_of_the_user_counts_in_every_project(machine: Machine) -> None:
    machine.write(machine.settings, b'{"enabledPlugins": {"gitmem@gitmem": true}}')

    machine.install(scope="project")

    # A plugin cannot bring permission rules, so these are put in all the same.
    local = machine.project / ".claude" / "settings.local.json"
    assert list((machine.project / ".claude").iterdir()) == [local]
    assert list(json.loads(local.read_text())) == ["permissions"]
    assert (machine.project / "CLAUDE.md").exists()


def test_the_plugin_that_a_person_enabled_for_one_project_counts_there(machine: Machine) -> None:
    local = machine.project / ".claude" / "settings.local.json"
    machine.write(local, b'{"enabledPlugins": {"gitmem@gitmem": true}}')

    done = machine.install(scope="project")

    assert not (machine.project / ".claude" / "settings.json").exists()
    assert any("the plugin gitmem@gitmem is enabled" in each for each in done.remarks)


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_the_plugin_of_a_project_is_warned_of_by_the_user(machine: Machine, name: str) -> None:
    path = machine.project / ".claude" / name
    machine.write(path, b'{"enabledPlugins": {"gitmem@gitmem": true}}')

    done = machine.install(scope="user")

    assert events_wired(json.loads(machine.settings.read_text()))
    (said,) = done.remarks
    assert f"is enabled in {machine.project}, too" in said


def test_what_is_refused_makes_no_store(machine: Machine) -> None:
    machine.write(machine.settings, b"{")

    with pytest.raises(GitmemError, match="not valid JSON"):
        machine.install()

    assert not machine.store.root.exists()


def test_a_store_that_hooks_name_is_to_be_named_to_shells(machine: Machine) -> None:
    done = machine.install(program=Program(("gitmem",), "/a b"))

    assert any("export GITMEM_HOME='/a b'" in each for each in done.next)
    assert not any("export" in each for each in machine.install().next)


def test_two_scopes_at_once_are_warned_of(machine: Machine) -> None:
    machine.install(scope="user")

    done = machine.install(scope="project")

    (said,) = done.remarks
    assert f"{machine.settings} calls gitmem, too" in said
    assert "`gitmem install claude-code --scope user --uninstall`" in said


def test_the_home_folder_is_no_project(machine: Machine) -> None:
    machine.project = machine.home

    with pytest.raises(BadInput, match="is your home folder"):
        machine.install(scope="project")
    assert machine.install(scope="user").files


def test_the_folders_that_the_environment_names_are_taken(machine: Machine, tmp_path: Path) -> None:
    machine.environ |= {"CLAUDE_CONFIG_DIR": f"{tmp_path}/c", "CODEX_HOME": f"{tmp_path}/x"}

    machine.install("claude-code")
    machine.install("codex")

    assert (tmp_path / "c" / "settings.json").is_file()
    assert (tmp_path / "x" / "hooks.json").is_file()
    assert list(machine.home.iterdir()) == []


def test_a_group_that_is_not_there_is_made_only_where_there_is_none(machine: Machine) -> None:
    assert machine.install(group="research").group == "research"

    with pytest.raises(NotFound, match="has no group 'reserch'"):
        machine.install(group="reserch")
    done = machine.install(scope="project", group="research")
    assert done.next[0] == f"`gitmem -g research link {machine.project}`"


def test_another_group_for_folders_without_a_link_has_to_be_set(machine: Machine) -> None:
    done = machine.install(group="research")

    assert done.next[0].startswith("put `export GITMEM_GROUP=research` into the profile")


def test_a_record_that_cannot_be_read_stops_it(machine: Machine) -> None:
    machine.install()
    (machine.store.root / "installs.json").write_text('{"version": 99}')

    with pytest.raises(Damaged, match="version 99") as caught:
        machine.install()
    assert "move it away" in caught.value.hint


def test_the_program_is_called_by_name_only_where_that_is_this_one(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    for folder in (own, other):
        folder.mkdir()
        (folder / "gitmem").write_text("#!/bin/sh\n")
        (folder / "gitmem").chmod(0o755)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "gitmem").symlink_to(own / "gitmem")

    def found(path: Path, argv0: Path = own / "gitmem") -> tuple[str, ...]:
        return find_program(str(argv0), str(tmp_path / "python"), str(path)).words

    assert found(own) == ("gitmem",)
    assert found(tmp_path / "linked") == ("gitmem",)
    assert found(own, tmp_path / "linked" / "gitmem") == ("gitmem",)
    assert found(other) == (str(own / "gitmem"),)
    assert found(tmp_path) == (str(own / "gitmem"),)
    assert found(tmp_path, tmp_path / "__main__.py") == (str(tmp_path / "python"), "-m", "gitmem")
