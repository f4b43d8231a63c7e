"""Installing into Gemini CLI and Copilot CLI: what differs from Claude Code and Codex."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from gitmem.errors import GitmemError
from gitmem.integrations.doctor.doctor import Running, doctor
from gitmem.integrations.hosts.program import Program
from gitmem.integrations.hosts.table import HOSTS, agent_of_client, host_in, session_in
from gitmem.integrations.install import install as hosts
from gitmem.integrations.install.install import Installed
from gitmem.integrations.install.parts.permissions import VERBS, policy
from gitmem.integrations.install.parts.sections import BEGIN
from gitmem.memory.group import Store

MESSY = b"""\xef\xbb\xbf{\r
\t"security" : {"auth": {"selectedType": "gemini-api-key"}},\r
\t"mcpServers" : {"other": {"command": "x"}},\r
\t"hooks" : {\r
\t\t"AfterAgent" : [\r
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

    def install(self, host: str, scope: str = "user", **wishes: Any) -> Installed:
        return hosts.install(
            self.store,
            "main",
            host,
            scope,
            program=wishes.pop("program", Program(("gitmem",))),
            environ=self.environ,
            project=self.project,
            **wishes,
        )

    def uninstall(self, host: str, scope: str = "user") -> Installed:
        return hosts.uninstall(self.store, host, scope, environ=self.environ, project=self.project)

    def findings(self) -> list[str]:
        found = doctor(
            self.store,
            "main",
            environ=self.environ,
            project=self.project,
            running=Running(("gitmem",), (3, 11, 0), has_mcp=True),
            managed=None,
        )
        return [each.code for each in found.findings]

    def write(self, path: str, data: bytes) -> Path:
        found = self.home / path
        found.parent.mkdir(parents=True, exist_ok=True)
        found.write_bytes(data)
        return found


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# ---- one file for hooks and servers


def test_hooks_and_the_server_stand_in_one_file_and_come_out_of_it(machine: Machine) -> None:
    settings = machine.write(".gemini/settings.json", MESSY)

    done = machine.install("gemini", mcp=True, on_prompt=True)

    found = json.loads(settings.read_text("utf-8-sig"))
    assert [each.path for each in done.files].count(str(settings)) == 1
    assert {"SessionStart", "BeforeAgent", "AfterTool"} < found["hooks"].keys()
    assert found["mcpServers"]["gitmem"] == {"command": "gitmem", "args": ["mcp"], "trust": True}
    machine.uninstall("gemini")
    assert settings.read_bytes() == MESSY


@pytest.mark.parametrize("has_record", [True, False])
def test_only_what_is_ours_comes_out_of_a_file_that_was_edited(
    machine: Machine, has_record: bool
) -> None:
    settings = machine.write(".gemini/settings.json", MESSY)
    machine.install("gemini", mcp=has_record)
    settings.write_bytes(settings.read_bytes().replace(b"1.50", b"2.50"))
    if not has_record:
        (machine.store.root / "installs.json").unlink()

    machine.uninstall("gemini")

    assert settings.read_bytes() == MESSY.replace(b"1.50", b"2.50")


def test_no_mcp_takes_out_the_server_and_leaves_the_hooks(machine: Machine) -> None:
    settings = machine.write(".gemini/settings.json", MESSY)
    machine.install("gemini", mcp=True)

    machine.install("gemini", mcp=False)

    found = json.loads(settings.read_text("utf-8-sig"))
    assert found["mcpServers"] == {"other": {"command": "x"}}
    assert "SessionStart" in found["hooks"]
    machine.uninstall("gemini")
    assert settings.read_bytes() == MESSY


def test_a_server_that_cannot_be_put_there_stops_it_before_anything_is_touched(
    machine: Machine,
) -> None:
    settings = machine.write(".gemini/settings.json", b'{"mcpServers": []}')

    with pytest.raises(GitmemError, match="mcpServers is a list"):
        machine.install("gemini", mcp=True)

    assert settings.read_bytes() == b'{"mcpServers": []}'
    assert not (machine.home / ".gemini" / "GEMINI.md").exists()


def test_who_asked_for_prompts_keeps_them_until_told(machine: Machine) -> None:
    settings = machine.home / ".gemini" / "settings.json"
    machine.install("gemini", on_prompt=True)

    assert machine.install("gemini").files == ()
    assert "BeforeAgent" in json.loads(settings.read_text())["hooks"]
    machine.install("gemini", on_prompt=False)
    assert "BeforeAgent" not in json.loads(settings.read_text())["hooks"]


def test_the_server_of_copilot_says_what_copilot_needs(machine: Machine) -> None:
    machine.install("copilot", mcp=True)

    servers = json.loads((machine.home / ".copilot" / "mcp-config.json").read_text())["mcpServers"]
    assert servers["gitmem"] == {
        "command": "gitmem",
        "args": ["mcp"],
        "type": "local",
        "tools": ["*"],
    }


@pytest.mark.parametrize(
    ("host", "variable", "place"),
    [
        ("gemini", "GEMINI_CLI_HOME", "moved/.gemini/settings.json"),
        ("copilot", "COPILOT_HOME", "moved/hooks/gitmem.json"),
    ],
)
def test_the_home_of_a_host_is_where_its_variable_says(
    machine: Machine, host: str, variable: str, place: str
) -> None:
    machine.environ[variable] = str(machine.home / "moved")

    machine.install(host)

    assert "SessionStart" in json.loads((machine.home / place).read_text())["hooks"]
    assert [each.name for each in machine.home.iterdir()] == ["moved"]


# ---- the policy of Gemini


def test_the_policy_allows_no_command_that_destroys_or_reaches_outside() -> None:
    first = {each.split()[0] for each in VERBS}

    assert not first & {"remote", "sync", "backup", "install", "groups", "held", "purge", "adopt"}
    assert not first & {"mv", "rm", "restore", "undo", "edit", "schedule", "hook", "mcp", "link"}
    assert "transcript" not in VERBS
    assert not [each for each in VERBS if each != each.strip()]


def test_a_policy_that_somebody_changed_stays_and_is_told(machine: Machine) -> None:
    path = machine.home / ".gemini" / "policies" / "gitmem.toml"
    machine.install("gemini")
    edited = path.read_text().replace('"gitmem write"', '"gitmem read"')
    path.write_text(edited)

    done = machine.install("gemini")

    assert [each for each in done.remarks if each.startswith(f"{path}: ")]
    assert path.read_text() == edited
    machine.uninstall("gemini")
    assert path.read_text() == edited


def test_a_policy_of_an_older_release_is_renewed(machine: Machine) -> None:
    path = machine.home / ".gemini" / "policies" / "gitmem.toml"
    machine.install("gemini")
    old = path.read_text().replace('  "gitmem status",\n', "")
    record = machine.store.root / "installs.json"
    new, was = (sha256(each.encode()).hexdigest() for each in (path.read_text(), old))
    record.write_text(record.read_text().replace(new, was))
    path.write_text(old)

    machine.install("gemini")

    assert path.read_text() == policy()
    machine.uninstall("gemini")
    assert not path.parent.exists()


def test_who_wants_no_permissions_has_no_policy(machine: Machine) -> None:
    path = machine.home / ".gemini" / "policies" / "gitmem.toml"
    machine.install("gemini")
    assert path.read_text() == policy()

    machine.install("gemini", permissions=False)
    assert not path.exists()
    machine.install("gemini")
    assert not path.exists(), "the choice is remembered"
    machine.install("gemini", permissions=True)
    assert path.read_text() == policy()
    machine.uninstall("gemini")
    assert not path.parent.exists()


def test_a_project_gets_no_policy(machine: Machine) -> None:
    machine.install("gemini", "project")

    assert not list(machine.project.rglob("*.toml"))
    assert not (machine.home / ".gemini").exists()


# ---- what is left to a person, and what the doctor sees


def test_what_copilot_skips_in_an_untrusted_project_is_said(machine: Machine) -> None:
    steps = machine.install("copilot", "project").next

    assert [each for each in steps if "trust it" in each]
    assert not [each for each in machine.install("copilot").next if "trust" in each]
    assert not [each for each in machine.install("gemini").next if "Codex" in each]


@pytest.mark.parametrize(
    ("host", "path", "said"),
    [
        ("gemini", ".gemini/settings.json", b'{"hooksConfig": {"enabled": false}}'),
        ("gemini", ".gemini/settings.json", b'{"hooksConfig": {"disabled": ["gitmem"]}}'),
        ("copilot", ".copilot/settings.json", b'{"disableAllHooks": true}'),
    ],
)
def test_the_doctor_sees_a_switch_that_keeps_hooks_from_running(
    machine: Machine, host: str, path: str, said: bytes
) -> None:
    machine.install(host)
    assert "hooks-disabled" not in machine.findings()
    machine.uninstall(host)
    machine.write(path, said)

    machine.install(host)

    assert "hooks-disabled" in machine.findings()


@pytest.mark.parametrize("host", ["gemini", "copilot"])
def test_the_doctor_sees_a_host_that_calls_us_twice(machine: Machine, host: str) -> None:
    machine.install(host)
    machine.install(host, "project")

    assert "double" in machine.findings()


def test_the_doctor_sees_calls_in_the_other_settings_of_copilot(machine: Machine) -> None:
    machine.install("copilot")
    hooks = (machine.home / ".copilot" / "hooks" / "gitmem.json").read_bytes()
    machine.write(".copilot/settings.json", hooks)

    assert "double" in machine.findings()


def test_the_doctor_is_content_with_one_host_that_is_wired(machine: Machine) -> None:
    machine.install("gemini")

    assert not {"not-wired", "double", "hooks-old"} & set(machine.findings())


# ---- the table


@pytest.mark.parametrize(
    ("environ", "host", "session"),
    [
        ({"GEMINI_CLI": "1"}, "gemini", ""),
        ({"COPILOT_CLI": "1", "COPILOT_AGENT_SESSION_ID": "s"}, "copilot", "s"),
        ({"COPILOT_AGENT_SESSION_ID": "s"}, "copilot", "s"),
    ],
)
def test_a_command_in_the_shell_of_a_host_knows_it(
    environ: dict[str, str], host: str, session: str
) -> None:
    found = host_in(environ)

    assert found is not None
    assert (found.name, session_in(environ)) == (host, session)


def test_the_alias_that_other_hosts_set_for_a_project_is_no_sign_of_claude_code() -> None:
    assert host_in({"CLAUDE_PROJECT_DIR": "/home/ada/shop"}) is None


@pytest.mark.parametrize(
    ("client", "agent"),
    [("gemini-cli-mcp-client", "gemini"), ("copilot-cli", "copilot"), ("other", "other")],
)
def test_a_client_has_the_name_of_its_host(client: str, agent: str) -> None:
    assert agent_of_client(client) == agent


@pytest.mark.parametrize("host", HOSTS)
def test_a_section_tells_a_reader_without_hooks_what_to_do(machine: Machine, host: str) -> None:
    """Other hosts read the file as well: OpenCode reads CLAUDE.md, Copilot all of them."""
    machine.install(host)
    path = machine.home / HOSTS[host].home / HOSTS[host].user.memory

    text = " ".join(path.read_text().split())

    assert text.startswith(BEGIN)
    assert "With its hooks, a session starts with the files marked *always* below" in text
    assert "if yours did not, run `gitmem inject`" in text
    assert "without hooks `gitmem capture` does" in text
