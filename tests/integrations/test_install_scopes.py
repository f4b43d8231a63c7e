"""Two installations that share files: whichever goes last leaves all as it was before the first."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product
from pathlib import Path

import pytest

from gitmem.integrations.host_memory.folders import folder_names
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install.host_files import SCOPES
from gitmem.integrations.install.record import installs
from gitmem.memory.admin.link import unlink
from gitmem.memory.group import Store
from tests.integrations.test_install import MESSY, tree
from tests.integrations.test_install_permissions import Linked, files_of
from tests.support.git import git

STEPS = ("install user", "install project", "link", "uninstall user", "uninstall project")
BOTH_WAYS = [*permutations(SCOPES)]


def orders(steps: Sequence[str] = STEPS) -> Iterator[tuple[str, ...]]:
    """Every order in which STEPS can be taken: nothing goes before it came."""
    for order in permutations(steps):
        gone = [each for each in order if each.startswith("uninstall ")]
        if all(order.index(each.removeprefix("un")) < order.index(each) for each in gone):
            yield order


class Scopes(Linked):
    """A machine whose project is a repository, and whose login shell finds no gitmem."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        git(self.project, "init", "-q")

    def take(self, host: str, step: str) -> None:
        verb, _, scope = step.partition(" ")
        if verb == "install":
            path = str(self.home / ".local" / "bin")
            self.install(host, scope, group=self.group, path=path, mcp=True)
        elif verb == "uninstall":
            assert self.uninstall(host, scope).left == ()
        else:
            self.link("shop")

    @property
    def group(self) -> str:
        """That which the command line would take for the project."""
        return Store(self.store.root).linked(str(self.project)) or "main"

    def seen(self) -> dict[str, bytes | None]:
        return tree(self.home, self.project)


@pytest.fixture
def machine(tmp_path: Path) -> Scopes:
    return Scopes(tmp_path)


def nothing(machine: Scopes) -> None:
    """The user has none of the files."""


def files_of_a_user(machine: Scopes) -> None:
    """Every file that may get a part of ours has something of the user's in it."""
    for row in HOSTS.values():
        for root, at in ((machine.home / row.home, row.user), (machine.project, row.project)):
            machine.write(root / at.memory, b"# Mine")
            for path in filter(None, (at.hooks, at.local)):
                machine.write(root / path, MESSY)
            if at.mcp.endswith(".toml"):
                machine.write(root / at.mcp, b'model = "x"\n')
    machine.write(machine.home / ".local" / "bin" / "mine", b"#!/bin/sh\n")


def cases() -> Iterator[object]:
    """Every order for each host and start; the usual ones also where nobody waits for minutes."""
    for host, start, order in product(HOSTS, (nothing, files_of_a_user), orders()):
        is_quick = order.index("link") == 2 and (host == "claude-code" or start is nothing)
        marks = () if is_quick else pytest.mark.slow
        name = f"{host}-{start.__name__}-{', '.join(order)}"
        yield pytest.param(host, start, order, marks=marks, id=name)


@pytest.mark.parametrize(("host", "start", "order"), [*cases()])
def test_the_last_to_go_leaves_all_as_it_was(
    tmp_path: Path, host: str, start: Callable[[Scopes], None], order: tuple[str, ...]
) -> None:
    machine = Scopes(tmp_path)
    start(machine)
    before = machine.seen()

    for step in order:
        machine.take(host, step)

    assert machine.seen() == before
    assert installs(machine.store.root) == ()


@pytest.mark.parametrize("order", BOTH_WAYS, ids=", ".join)
@pytest.mark.parametrize("goes", SCOPES)
@pytest.mark.parametrize("host", HOSTS)
def test_what_stays_lacks_nothing_when_the_other_goes(
    machine: Scopes, host: str, goes: str, order: tuple[str, ...]
) -> None:
    machine.link("shop")
    for scope in order:
        machine.take(host, f"install {scope}")

    machine.take(host, f"uninstall {goes}")

    [stays] = {*SCOPES} - {goes}
    path = str(machine.home / ".local" / "bin")
    again = machine.install(host, stays, group=machine.group, path=path, dry_run=True)
    assert [each.diff for each in again.files] == []


@pytest.mark.parametrize("goes", BOTH_WAYS, ids=", ".join)
def test_both_follow_the_link_of_their_folder(machine: Scopes, goes: tuple[str, ...]) -> None:
    before = machine.seen()
    machine.take("claude-code", "install user")
    machine.take("claude-code", "install project")

    machine.link("shop")
    assert files_of(machine.local) == machine.of_group("shop")
    machine.link("blog")
    assert files_of(machine.local) == machine.of_group("blog")
    assert str(machine.store.default_worktree("blog")) in machine.local.read_text()
    unlink(Store(machine.store.root), machine.project)
    machine.rewire()
    assert files_of(machine.local) == machine.of_group("main")
    assert "autoMemoryDirectory" not in machine.local.read_text()
    for scope in goes:
        machine.take("claude-code", f"uninstall {scope}")
    assert machine.seen() == before


@pytest.mark.parametrize("goes", BOTH_WAYS, ids=", ".join)
def test_a_rule_that_came_between_is_all_that_stays(machine: Scopes, goes: tuple[str, ...]) -> None:
    machine.link("shop")
    machine.take("claude-code", "install user")
    said = json.loads(machine.local.read_text())
    said["permissions"]["allow"].append("Bash(make:*)")
    machine.local.write_text(json.dumps(said))
    machine.take("claude-code", "install project")

    for scope in goes:
        machine.take("claude-code", f"uninstall {scope}")

    assert json.loads(machine.local.read_text()) == {"permissions": {"allow": ["Bash(make:*)"]}}


@pytest.mark.parametrize("goes", BOTH_WAYS, ids=", ".join)
@pytest.mark.parametrize("replaces", BOTH_WAYS, ids=", ".join)
def test_what_a_former_system_left_comes_back_with_the_last(
    machine: Scopes, replaces: tuple[str, ...], goes: tuple[str, ...]
) -> None:
    section = b"# Mine\n\n## Memory System\n\nInvoke /zylos-memory.\n"
    for page in (machine.home / ".claude" / "CLAUDE.md", machine.project / "CLAUDE.md"):
        machine.write(page, section)
    before = machine.seen()
    first, second = replaces
    machine.install(scope=first)
    machine.install(scope=second, replace=True)

    for scope in goes:
        machine.take("claude-code", f"uninstall {scope}")

    assert machine.seen() == before


@pytest.mark.parametrize("goes", [*permutations(("claude-code", "codex"))], ids=", ".join)
def test_two_hosts_whose_instructions_are_one_file(machine: Scopes, goes: tuple[str, ...]) -> None:
    machine.write(machine.project / "AGENTS.md", b"# Mine")
    (machine.project / "CLAUDE.md").symlink_to("AGENTS.md")
    before = machine.seen()
    machine.take("claude-code", "install project")
    machine.take("codex", "install project")

    for host in goes:
        machine.take(host, "uninstall project")

    assert machine.seen() == before


@pytest.mark.parametrize("goes", BOTH_WAYS, ids=", ".join)
def test_memory_stays_in_the_group_until_the_last_goes(
    machine: Scopes, goes: tuple[str, ...]
) -> None:
    machine.link("shop")
    for scope in SCOPES:
        machine.take("claude-code", f"install {scope}")
    [name] = folder_names(str(machine.project))
    own = machine.home / ".claude" / "projects" / name / "memory" / "later.md"
    group = machine.store.default_worktree("shop")
    machine.write(group / "memory" / "later.md", b"A note.\n")
    first, last = goes

    machine.take("claude-code", f"uninstall {first}")
    assert not own.exists()
    said = json.loads(machine.local.read_text())
    assert said["autoMemoryDirectory"] == str(group / "memory")

    machine.take("claude-code", f"uninstall {last}")
    assert own.read_bytes() == b"A note.\n"
    assert not machine.local.exists()
