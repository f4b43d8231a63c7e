"""Hosts that had another memory system: what does not load is named, taken over, and given back."""

from __future__ import annotations

import json
import shutil
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from gitmem.errors import Refused
from gitmem.integrations.install import apply as carrying_out
from gitmem.integrations.install.files import digest
from gitmem.integrations.install.record import installs
from gitmem.integrations.install.skill_update import update_installed
from gitmem.integrations.install.skills import plugin_files, shipped_folder, skill_files
from gitmem.memory.admin.init import init
from gitmem.model import skill_rules
from gitmem.model.text import frontmatter
from gitmem.resources import templates
from tests.integrations.test_install import Machine, tree
from tests.support.processes import Crowd, Voice, need_strace, traced
from tests.support.skills import layouts_of

INJECT = "node ~/zylos/.claude/skills/zylos-memory/scripts/session-start-inject.js"
BRIDGE = "node ~/zylos/.claude/skills/comm-bridge/scripts/c4-session-init.js"
OTHER = "node ~/zylos/.claude/skills/other/scripts/greet.js"
OLD_HOOKS = {
    "hooks": {
        "SessionStart": [
            {
                "matcher": "",
                "hooks": [
                    {"type": "command", "command": INJECT, "timeout": 10000},
                    {"type": "command", "command": BRIDGE, "timeout": 10000},
                    {"type": "command", "command": OTHER},
                ],
            }
        ],
        "UserPromptSubmit": [
            {"hooks": [{"type": "command", "command": "node c4-threshold-check.js"}]}
        ],
    },
    "model": "opus",
}
OLD_SECTION = """\
## Memory System

Files in `~/zylos/memory/`.

### Sync

When asked to, invoke `/zylos-memory`.

```sh
# Memory is what this comment is about
```
"""
OLD_PAGE = f"# Agent\n\nBe kind.\n\n{OLD_SECTION}\n## Tools\n\nMany.\n"
OLD_SKILL = b"---\nname: zylos-memory\ndescription: old\n---\n\nRun the scripts.\n"


class Zylos(Machine):
    """A machine with an agent of the old system in its project folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        init(self.store, "main", layout="zylos")
        local = json.dumps(OLD_HOOKS, indent=4).encode()
        self.local = self.write(self.project / ".claude" / "settings.local.json", local)
        self.page = self.write(self.project / "CLAUDE.md", OLD_PAGE.encode())
        self.skills = self.project / ".claude" / "skills"
        self.old_skill = self.write(self.skills / "zylos-memory" / "SKILL.md", OLD_SKILL)
        self.script = self.write(self.skills / "zylos-memory/scripts/rotate-session.js", b"//\n")
        self.diary = self.write(self.skills / "diary" / "SKILL.md", b"their diary\n")

    def replaced(self, **wishes: Any) -> str:
        return "\n".join(self.install(scope="project", replace=True, **wishes).remarks)


@pytest.fixture
def zylos(tmp_path: Path) -> Zylos:
    return Zylos(tmp_path)


def commands_at(path: Path, event: str = "SessionStart") -> list[str]:
    groups = json.loads(path.read_text()).get("hooks", {}).get(event, [])
    return [each["command"] for group in groups for each in group["hooks"]]


def test_an_installation_says_what_does_not_load_and_what_to_type(zylos: Zylos) -> None:
    said = "\n".join(zylos.install(scope="project").remarks)

    assert "2 skills of gitmem do not load: diary, zylos-memory" in said
    assert "`gitmem install claude-code --scope project --replace`" in said
    assert f"{zylos.local} runs session-start-inject.js at SessionStart" in said
    assert f"{zylos.page} has the section 'Memory System'" in said
    found = json.loads(zylos.local.read_text())
    assert found.pop("permissions")
    assert found == OLD_HOOKS
    assert zylos.page.read_text().startswith(OLD_PAGE)
    assert zylos.old_skill.read_bytes() == OLD_SKILL


def test_replacing_takes_over_and_everything_comes_back_byte_for_byte(zylos: Zylos) -> None:
    before = tree(zylos.project)

    said = zylos.replaced()

    assert commands_at(zylos.local) == [OTHER]
    assert commands_at(zylos.local, "UserPromptSubmit") == []
    assert json.loads(zylos.local.read_text())["model"] == "opus"
    page = zylos.page.read_text()
    assert page.startswith("# Agent\n\nBe kind.\n\n<!-- gitmem:begin -->\n")
    assert page.endswith("<!-- gitmem:end -->\n\n## Tools\n\nMany.\n")
    assert "zylos/memory" not in page
    assert b"gitmem-memory" in zylos.old_skill.read_bytes()
    assert frontmatter.read(zylos.diary.read_text())["name"] == "diary"
    assert zylos.script.read_bytes() == b"//\n"
    assert not list(zylos.skills.rglob("*.gitmem-new"))
    assert "--uninstall` puts it back" in said
    assert str(zylos.store.root / "backups") in said

    assert zylos.install(scope="project").files == ()
    assert zylos.install(scope="project", replace=True).files == ()
    zylos.uninstall(scope="project")
    assert tree(zylos.project) == before


def test_a_replacement_after_an_installation_has_the_same_way_back(zylos: Zylos) -> None:
    before = tree(zylos.project)
    zylos.install(scope="project")

    zylos.replaced()

    assert not list(zylos.skills.rglob("*.gitmem-new"))
    zylos.uninstall(scope="project")
    assert tree(zylos.project) == before


def test_what_was_done_since_stays_and_the_old_comes_back(zylos: Zylos) -> None:
    zylos.replaced()
    zylos.page.write_text(zylos.page.read_text() + "\n## Mine\n")
    zylos.local.write_text(zylos.local.read_text().replace('"opus"', '"sonnet"'))
    zylos.diary.write_text("edited since\n")

    said = "\n".join(zylos.uninstall(scope="project").remarks)

    assert zylos.page.read_text() == f"{OLD_PAGE}\n## Mine\n"
    assert set(commands_at(zylos.local)) == {INJECT, BRIDGE, OTHER}
    assert commands_at(zylos.local, "UserPromptSubmit") == ["node c4-threshold-check.js"]
    assert json.loads(zylos.local.read_text())["model"] == "sonnet"
    assert zylos.old_skill.read_bytes() == OLD_SKILL
    assert zylos.diary.read_text() == "edited since\n"
    assert f"{zylos.diary} was edited" in said
    assert str(zylos.store.root / "backups" / "SKILL.md.") in said


def test_what_a_person_removed_by_hand_does_not_come_back(zylos: Zylos) -> None:
    zylos.install(scope="project")
    zylos.page.write_text(zylos.page.read_text().replace(OLD_SECTION, ""))

    zylos.uninstall(scope="project")

    assert "Memory System" not in zylos.page.read_text()


def test_a_dry_run_shows_it_and_touches_nothing(zylos: Zylos) -> None:
    before = tree(zylos.project, zylos.store.root)

    done = zylos.install(scope="project", replace=True, dry_run=True)

    changed = {Path(each.path).name for each in done.files if each.action == "changed"}
    assert changed == {"settings.local.json", "CLAUDE.md", "SKILL.md"}
    assert any("session-start-inject.js" in each.diff for each in done.files)
    assert any("Run the scripts." in each.diff for each in done.files)
    assert tree(zylos.project, zylos.store.root) == before


def test_a_link_in_place_of_a_skill_is_left_and_named(zylos: Zylos, tmp_path: Path) -> None:
    (tmp_path / "facts").mkdir()
    (zylos.skills / "facts").symlink_to(tmp_path / "facts")

    said = zylos.replaced()

    assert f"{zylos.skills / 'facts'} is not gitmem's" in said
    assert "1 skill of gitmem does not load: facts" in said
    assert f"remove or rename {zylos.skills / 'facts'}" in said
    assert list((tmp_path / "facts").iterdir()) == []


def test_a_linked_file_of_a_skill_is_not_written_through(zylos: Zylos, tmp_path: Path) -> None:
    shared = zylos.write(tmp_path / "shared" / "facts.md", b"shared\n")
    (zylos.skills / "facts").mkdir()
    (zylos.skills / "facts" / "SKILL.md").symlink_to(shared)
    before = tree(zylos.project)

    said = zylos.replaced()

    assert "1 skill of gitmem does not load: facts" in said
    assert shared.read_bytes() == b"shared\n"
    zylos.uninstall(scope="project")
    assert tree(zylos.project) == before


def test_a_replacement_that_broke_off_goes_on_and_has_its_way_back(
    zylos: Zylos, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(zylos.project)
    with monkeypatch.context() as patched:
        patched.setattr(carrying_out, "make_skills", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            zylos.replaced()
    assert tree(zylos.project) == before

    zylos.install(scope="project", replace=True)

    assert frontmatter.read(zylos.diary.read_text())["name"] == "diary"
    assert not list(zylos.skills.rglob("*.gitmem-new"))
    zylos.uninstall(scope="project")
    assert tree(zylos.project) == before


def _interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"hooks": 3}'])
def test_settings_that_make_no_sense_lose_nothing(zylos: Zylos, text: bytes) -> None:
    zylos.local.write_bytes(text)
    before = tree(zylos.project)

    if text in (b"{", b"[]"):
        with pytest.raises(Refused) as caught:
            zylos.replaced()
        assert caught.value.message.startswith(str(zylos.local))
        assert tree(zylos.project) == before
    else:
        zylos.replaced()
        assert json.loads(zylos.local.read_bytes()) != {}
        zylos.uninstall(scope="project")
    assert zylos.local.read_bytes() == text


def test_settings_that_broke_since_are_left_and_named(zylos: Zylos) -> None:
    zylos.replaced()
    whole = zylos.local.read_bytes()
    zylos.local.write_bytes(b"{")

    (left,) = zylos.uninstall(scope="project").left

    assert left.startswith(str(zylos.local))
    assert zylos.old_skill.read_bytes() == OLD_SKILL
    zylos.local.write_bytes(whole)
    zylos.uninstall(scope="project")
    assert commands_at(zylos.local) == [INJECT, BRIDGE, OTHER]


def test_codex_is_no_different(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    init(machine.store, "main", layout="arizuko")
    folder = machine.home / ".codex"
    machine.write(folder / "hooks.json", json.dumps(OLD_HOOKS).encode())
    machine.write(folder / "AGENTS.md", OLD_PAGE.replace("\n", "\r\n").encode())
    machine.write(folder / "skills" / "recall" / "SKILL.md", b"theirs")
    before = tree(machine.home)

    machine.install("codex", replace=True)

    assert INJECT not in (folder / "hooks.json").read_text()
    assert b"zylos/memory" not in (folder / "AGENTS.md").read_bytes()
    assert b"\n" not in (folder / "AGENTS.md").read_bytes().replace(b"\r\n", b"")
    assert b"recall-memories" in (folder / "skills" / "recall" / "SKILL.md").read_bytes()
    machine.uninstall("codex")
    assert tree(machine.home) == before


def test_an_earlier_release_can_read_the_record(zylos: Zylos) -> None:
    """It knows these keys of a row, and of each file three values."""
    zylos.replaced()

    (row,) = json.loads((zylos.store.root / "installs.json").read_text())["installs"]

    assert set(row) == {
        "host",
        "scope",
        "root",
        "gitmem",
        "skills_version",
        "skills_folder",
        "skills",
        "skills_begun",
        "files",
        "handlers",
        "mcp",
        "folders",
    }
    assert {len(each) for each in row["files"].values()} == {3}


def test_maintenance_leaves_what_was_replaced_as_it_is(zylos: Zylos) -> None:
    before = tree(zylos.project)
    zylos.replaced()
    record = zylos.store.root / "installs.json"
    record.write_text(record.read_text().replace('"gitmem": "', '"gitmem": "0.0.0-'))
    ours = tree(zylos.project)

    update_installed(zylos.store.root)

    assert tree(zylos.project) == ours
    zylos.uninstall(scope="project")
    assert tree(zylos.project) == before


def test_another_layout_gives_the_name_back_to_the_old_skill(zylos: Zylos) -> None:
    zylos.replaced()
    init(zylos.store, "plain", layout="standard")

    zylos.install(scope="project", group="plain")

    assert zylos.old_skill.read_bytes() == OLD_SKILL
    assert frontmatter.read(zylos.diary.read_text())["name"] == "diary"
    zylos.uninstall(scope="project")
    assert zylos.diary.read_bytes() == b"their diary\n"


class TwoScopes(Zylos):
    """The old system has its hooks and its section for the user as well."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.write(self.settings, json.dumps(OLD_HOOKS).encode())
        page = OLD_PAGE.replace("\n", "\r\n").encode()
        self.user_page = self.write(self.home / ".claude" / "CLAUDE.md", page)

    @property
    def shared(self) -> tuple[Path, ...]:
        """The files in which the old system has its part."""
        return (self.settings, self.local, self.page, self.user_page)

    def former(self) -> list[Path]:
        """Those of them in which it still has one."""
        words = ("session-start-inject.js", "c4-", "~/zylos/memory")
        return [each for each in self.shared if any(x in each.read_text() for x in words)]

    def twice(self, **wishes: Any) -> list[str]:
        """What an installation says of memory that is shown twice."""
        return [each for each in self.install(**wishes).remarks if "is shown twice" in each]


@pytest.fixture
def both(tmp_path: Path) -> TwoScopes:
    return TwoScopes(tmp_path)


class TestBothScopes:
    @pytest.mark.parametrize("scope", ["user", "project"])
    def test_one_command_takes_over_in_both_and_one_gives_both_back(
        self, both: TwoScopes, scope: str
    ) -> None:
        before = tree(both.home, both.project)

        done = both.install(scope=scope, replace=True)

        assert both.former() == []
        assert OTHER in commands_at(both.settings)
        assert OTHER in commands_at(both.local)
        ours = [each for each in both.shared if "gitmem:begin" in each.read_text()]
        assert ours == [both.page if scope == "project" else both.user_page]
        assert {*both.shared} <= {Path(each.path) for each in done.files if each.backup}
        assert both.twice(scope=scope) == []
        assert both.install(scope=scope, replace=True).files == ()
        both.uninstall(scope=scope)
        assert tree(both.home, both.project) == before

    def test_a_dry_run_shows_both_and_touches_neither(self, both: TwoScopes) -> None:
        before = tree(both.home, both.project)

        done = both.install(scope="project", replace=True, dry_run=True)

        assert {*both.shared} <= {Path(x.path) for x in done.files if x.action == "changed"}
        assert both.twice(scope="project", replace=True, dry_run=True) == []
        assert tree(both.home, both.project) == before

    def test_without_replacing_the_other_scope_is_named_with_what_to_type(
        self, both: TwoScopes
    ) -> None:
        before = both.settings.read_bytes(), both.user_page.read_bytes()

        said = both.twice(scope="project")

        (first, *_) = (each for each in said if each.startswith(f"{both.settings} runs"))
        assert "`gitmem install claude-code --scope project --replace` removes it" in first
        assert (both.settings.read_bytes(), both.user_page.read_bytes()) == before

    @pytest.mark.parametrize("replace", [False, True])
    def test_a_skill_of_the_user_that_hides_ours_in_the_project_is_named(
        self, both: TwoScopes, replace: bool
    ) -> None:
        theirs = both.write(both.home / ".claude" / "skills" / "users" / "SKILL.md", b"theirs\n")

        said = both.install(scope="project", replace=replace).remarks

        away = both.home / ".claude" / "users.before-gitmem"
        (note,) = (each for each in said if each.startswith(str(theirs.parent)))
        assert f"`mv {theirs.parent} {away}`" in note
        assert theirs.read_bytes() == b"theirs\n"
        theirs.parent.rename(away)
        said = both.install(scope="project", replace=replace).remarks
        assert not [each for each in said if str(theirs.parent) in each]

    def test_what_was_edited_in_the_other_scope_since_stays(self, both: TwoScopes) -> None:
        both.install(scope="project", replace=True)
        both.user_page.write_bytes(both.user_page.read_bytes().replace(b"Many.", b"Few."))
        both.settings.write_text(both.settings.read_text().replace('"opus"', '"sonnet"'))

        both.uninstall(scope="project")

        page = OLD_PAGE.replace("Many.", "Few.").replace("\n", "\r\n")
        assert both.user_page.read_bytes() == page.encode()
        assert set(commands_at(both.settings)) == {INJECT, BRIDGE, OTHER}
        assert json.loads(both.settings.read_text())["model"] == "sonnet"

    @pytest.mark.parametrize("section", ["", OLD_SECTION], ids=["gone", "back by hand"])
    def test_a_page_that_is_another_by_now_gets_the_section_once(
        self, both: TwoScopes, section: str
    ) -> None:
        both.install(scope="project", replace=True)
        both.user_page.write_text(f"# New page\n{section and chr(10)}{section}")

        both.uninstall(scope="project")

        assert both.user_page.read_text() == f"# New page\n\n{OLD_SECTION}"

    def test_a_file_that_is_gone_since_stays_so(self, both: TwoScopes) -> None:
        both.install(scope="project", replace=True)
        both.user_page.unlink()

        both.uninstall(scope="project")

        assert not both.user_page.exists()
        assert set(commands_at(both.settings)) == {INJECT, BRIDGE, OTHER}

    @pytest.mark.parametrize("scope", ["user", "project"])
    def test_folders_that_are_one_by_a_link_are_changed_once(
        self, both: TwoScopes, scope: str
    ) -> None:
        both.local.rename(both.settings.with_name(both.local.name))
        shutil.rmtree(both.project / ".claude")
        (both.project / ".claude").symlink_to(both.home / ".claude")
        both.page.unlink()
        both.page.symlink_to(both.user_page)
        before = tree(both.home, both.project)
        assert both.twice(scope=scope, replace=True, dry_run=True) == []

        both.install(scope=scope, replace=True)

        assert commands_at(both.settings)[0] == OTHER
        assert both.former() == []
        both.uninstall(scope=scope)
        assert tree(both.home, both.project) == before

    def test_giving_back_beside_another_installation_says_that_memory_is_shown_twice(
        self, both: TwoScopes
    ) -> None:
        both.install(scope="project", replace=True)
        both.install(scope="user")

        said = both.uninstall(scope="project").remarks

        (first, *_) = (each for each in said if each.startswith(f"{both.local} runs"))
        assert "`gitmem install claude-code --scope user --replace` removes it" in first
        both.install(scope="user", replace=True)
        assert both.former() == []

    @pytest.mark.parametrize(
        ("first", "step"), [(4, 6), pytest.param(1, 1, marks=pytest.mark.slow)]
    )
    def test_a_kill_at_any_step_leaves_whole_files_and_two_ways_out(
        self, tmp_path: Path, first: int, step: int
    ) -> None:
        need_strace()
        folder, origin = tmp_path / "here", tmp_path / "origin"
        folder.mkdir()
        both = TwoScopes(folder)
        shutil.copytree(folder, origin, symlinks=True)
        before = tree(both.home, both.project)
        both.install(scope="project", replace=True)
        after = tree(both.home, both.project)

        for number in count(first, step):
            _as_in(origin, folder)
            if _survives(both, tmp_path / "log", number):
                break
            for path in both.shared:
                assert path.read_bytes() in (before[str(path)], after[str(path)])
            shutil.copytree(folder, tmp_path / "killed", symlinks=True)
            both.uninstall(scope="project")
            assert tree(both.home, both.project) == before, f"uninstalled after rename {number}"
            _as_in(tmp_path / "killed", folder)
            both.install(scope="project", replace=True)
            assert tree(both.home, both.project) == after, f"repeated after rename {number}"
            both.uninstall(scope="project")
            assert tree(both.home, both.project) == before, f"and uninstalled after {number}"
            shutil.rmtree(tmp_path / "killed")
        assert number > len(both.shared)


def _as_in(origin: Path, folder: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(origin, folder, symlinks=True)


def _install(voice: Voice, machine: TwoScopes) -> None:
    voice.hear()
    machine.install(scope="project", replace=True)


def _survives(machine: TwoScopes, log: Path, number: int) -> bool:
    """Whether an installation has fewer than NUMBER renames; it is killed at that one."""
    with Crowd() as crowd:
        child = crowd.start(_install, machine)
        with traced(child, log, ("rename",), f"signal=KILL:when={number}"):
            child.say("go")
            return ["done"] in child.finish()


ALIASES = [("zylos", "zylos-memory", "gitmem-memory"), ("arizuko", "recall", "recall-memories")]


class TestAliases:
    @pytest.mark.parametrize(("layout", "alias", "meant"), ALIASES)
    @pytest.mark.parametrize("host", ["claude-code", "codex"])
    def test_a_layout_brings_the_names_that_its_system_uses(
        self, tmp_path: Path, host: str, layout: str, alias: str, meant: str
    ) -> None:
        machine = Machine(tmp_path)
        init(machine.store, "main", layout=layout)
        before = tree(machine.home)

        machine.install(host)

        folder = machine.home / (".claude" if host == "claude-code" else ".codex") / "skills"
        text = (folder / alias / "SKILL.md").read_text()
        also = ("context", "argument-hint")
        assert skill_rules.problems(text, alias, also=also) == ()
        target = (folder / alias / f"../{meant}/SKILL.md").resolve()
        assert f"(../{meant}/SKILL.md)" in text
        assert target.is_file()
        assert len(text.splitlines()) < 25
        assert layouts_of(f"aliases/{layout}/{alias}") == [layout]
        assert machine.install(host).files == ()
        machine.uninstall(host)
        assert tree(machine.home) == before

    def test_the_old_request_for_a_sync_names_a_skill_that_is_there(self, tmp_path: Path) -> None:
        machine = Machine(tmp_path)
        init(machine.store, "main", layout="zylos")
        machine.install()

        path = machine.home / ".claude" / "skills" / "zylos-memory" / "SKILL.md"
        meta = frontmatter.read(path.read_text())
        assert "[Action Required]" in str(meta["description"])
        assert "/zylos-memory" in str(meta["description"])
        assert meta["context"] == "fork"

    @pytest.mark.parametrize("layout", ["standard", "soul", "nano", "claude-code"])
    def test_no_other_layout_has_them(self, tmp_path: Path, layout: str) -> None:
        machine = Machine(tmp_path)
        init(machine.store, "main", layout=layout)
        machine.install()

        found = {each.name for each in (machine.home / ".claude" / "skills").iterdir()}
        assert not found & {"recall", "zylos-memory"}

    def test_they_are_renewed_and_go_with_the_layout(self, tmp_path: Path) -> None:
        machine = Machine(tmp_path)
        init(machine.store, "main", layout="zylos")
        init(machine.store, "diary", layout="arizuko")
        machine.install()
        path = machine.home / ".claude" / "skills" / "zylos-memory" / "SKILL.md"
        given, record = path.read_bytes(), machine.store.root / "installs.json"
        older = given.replace(b"flush memory", b"flush")
        path.write_bytes(older)
        old = record.read_text().replace(digest(given), digest(older))
        record.write_text(old.replace('"gitmem": "', '"gitmem": "0.0.0-'))

        (done,) = update_installed(machine.store.root)

        assert done.files == (str(path),)
        assert path.read_bytes() == given
        machine.install(group="diary")
        assert not path.exists()
        assert (path.parents[1] / "recall" / "SKILL.md").is_file()
        assert len(installs(machine.store.root)) == 1

    def test_the_plugin_has_none(self) -> None:
        assert not [each for each in plugin_files() if "recall/" in each or "zylos" in each]
        assert not [each for each in skill_files(shipped_folder(), "codex") if "alias" in each]

    def test_they_ship_as_files(self) -> None:
        assert (
            templates() / "skills" / "aliases" / "zylos" / "zylos-memory" / "SKILL.md"
        ).is_file()
