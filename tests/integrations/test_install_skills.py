"""Skills through the versions: ours are brought up to date, a person's words stay."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from gitmem import __version__
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install.files import digest, make
from gitmem.integrations.install.record import Install, installs, remember
from gitmem.integrations.install.skill_update import (
    make_skills,
    plan_removal,
    plan_skills,
    update_installed,
)
from gitmem.integrations.install.skills import (
    shipped_folder,
    skill_files,
    version,
)
from gitmem.model import skill_rules
from gitmem.model.text import frontmatter


class Skills:
    """Skills that ship, a folder into which they are installed, and what is remembered of it."""

    def __init__(self, folder: Path) -> None:
        self.source, self.place = folder / "source", folder / "place"
        self.known: dict[str, str] = {}
        self.version = 0

    def ship(self, files: dict[str, str], **migration: object) -> None:
        """Bring out the next version, in which there are FILES; nothing removes one."""
        number = version(self.source) + 1
        for name, text in files.items():
            path = self.source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        steps = self.source / "migrations"
        steps.mkdir(parents=True, exist_ok=True)
        (steps / f"{number:04}.yaml").write_text(yaml.safe_dump(migration))

    def withdraw(self, name: str) -> None:
        for path in sorted((self.source / name).rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (self.source / name).rmdir()

    def install(self, *, put_back: bool = True) -> tuple[str, ...]:
        """Install what is new, and give the remarks."""
        plan = plan_skills(self.source, "codex", self.place, self.known, put_back=put_back)
        make_skills(plan, self.place, mode=0o600)
        self.known, self.version = dict(plan.known), plan.version
        return tuple(each.replace(f"{self.place}/", "") for each in plan.remarks)

    def write(self, path: str, text: str) -> None:
        (self.place / path).parent.mkdir(parents=True, exist_ok=True)
        (self.place / path).write_text(text)

    @property
    def files(self) -> dict[str, str]:
        found = sorted(each for each in self.place.rglob("*") if each.is_file())
        return {each.relative_to(self.place).as_posix(): each.read_text() for each in found}


@pytest.fixture
def skills(tmp_path: Path) -> Skills:
    """The first version, installed: a skill of one file and one of two."""
    made = Skills(tmp_path)
    made.ship({"a/SKILL.md": "a1", "b/SKILL.md": "b1", "b/more/x.md": "x1"}, added=["a", "b"])
    assert made.install() == ()
    assert made.files == {"a/SKILL.md": "a1", "b/SKILL.md": "b1", "b/more/x.md": "x1"}
    return made


def test_a_new_version_comes_and_a_second_time_nothing_happens(skills: Skills) -> None:
    skills.ship({"b/more/x.md": "x2", "c/SKILL.md": "c2"}, changed=["b"], added=["c"])

    for _ in range(2):
        assert skills.install() == ()
        assert skills.files == {
            "a/SKILL.md": "a1",
            "b/SKILL.md": "b1",
            "b/more/x.md": "x2",
            "c/SKILL.md": "c2",
        }
    assert skills.version == 2


def test_an_edit_stays_and_a_new_version_is_named_once(skills: Skills) -> None:
    skills.write("a/SKILL.md", "mine")
    assert skills.install() == ()  # nothing new to report

    skills.ship({"a/SKILL.md": "a2"}, changed=["a"])

    (remark,) = skills.install()
    assert remark.startswith("a/SKILL.md was edited: it stays")
    assert "--replace" in remark
    assert skills.files["a/SKILL.md"] == "mine"
    assert skills.install() == ()
    assert {*skills.files} == {"a/SKILL.md", "b/SKILL.md", "b/more/x.md"}


def test_an_edit_is_replaced_on_request_and_comes_back(skills: Skills) -> None:
    skills.write("a/SKILL.md", "mine")
    skills.ship({"a/SKILL.md": "a2"}, changed=["a"])
    skills.install()

    plan = plan_skills(skills.source, "codex", skills.place, skills.known, replace=True)
    make_skills(plan, skills.place, mode=0o600)

    assert skills.files["a/SKILL.md"] == "a2"
    assert plan.replaced == ("a/SKILL.md",)
    gone = plan_removal(skills.place, plan.known, theirs={"a/SKILL.md": b"mine"})
    make_skills(gone, skills.place, mode=0o600)
    assert skills.files == {"a/SKILL.md": "mine"}


def test_an_edit_behind_a_link_is_never_replaced(skills: Skills) -> None:
    moved = (skills.place / "a" / "SKILL.md").rename(skills.place.parent / "mine.md")
    (skills.place / "a" / "SKILL.md").symlink_to(moved)
    moved.write_text("mine")
    skills.ship({"a/SKILL.md": "a2"}, changed=["a"])

    plan = plan_skills(skills.source, "codex", skills.place, skills.known, replace=True)
    make_skills(plan, skills.place, mode=0o600)

    assert moved.read_text() == "mine"


def test_an_edit_that_equals_the_new_version_is_ours_again(skills: Skills) -> None:
    skills.write("a/SKILL.md", "mine")
    skills.ship({"a/SKILL.md": "a2"}, changed=["a"])
    skills.install()

    skills.write("a/SKILL.md", "a2")
    skills.install()

    skills.ship({"a/SKILL.md": "a3"}, changed=["a"])
    assert skills.install() == ()
    assert skills.files["a/SKILL.md"] == "a3"


def test_copies_that_an_older_release_laid_beside_an_edit_are_removed(skills: Skills) -> None:
    """It wrote the new version as NAME.gitmem-new, and recorded it."""
    for name, edited in (("a/SKILL.md.gitmem-new", False), ("b/SKILL.md.gitmem-new", True)):
        skills.write(name, "new")
        skills.known[name] = digest(b"new")
        if edited:
            skills.write(name, "half of a merge")

    (remark,) = skills.install()

    assert remark == "b/SKILL.md.gitmem-new was edited: it stays"
    assert "a/SKILL.md.gitmem-new" not in skills.files
    assert skills.files["b/SKILL.md.gitmem-new"] == "half of a merge"


def test_a_folder_of_somebody_else_is_left_and_named(tmp_path: Path) -> None:
    skills = Skills(tmp_path)
    skills.ship({"a/SKILL.md": "a1", "a/x.md": "x1", "b/SKILL.md": "b1"}, added=["a", "b"])
    skills.write("a/SKILL.md", "theirs")

    said = skills.install()

    assert said == ("a is not gitmem's: it stays, and gitmem's skill a is not installed",)
    assert skills.install() == said
    assert skills.files == {"a/SKILL.md": "theirs", "b/SKILL.md": "b1"}
    plan = plan_removal(skills.place, skills.known)
    make_skills(plan, skills.place, mode=0o600)
    assert plan.remarks == ()
    assert skills.files == {"a/SKILL.md": "theirs"}


def test_ours_takes_the_place_of_one_that_somebody_gave_up(tmp_path: Path) -> None:
    skills = Skills(tmp_path)
    skills.ship({"a/SKILL.md": "a1"}, added=["a"])
    skills.write("a/SKILL.md", "theirs")
    skills.install()
    skills.ship({"a/SKILL.md": "a2"}, changed=["a"])
    skills.install()
    assert skills.files == {"a/SKILL.md": "theirs"}

    (skills.place / "a" / "SKILL.md").unlink()

    assert skills.install() == ()
    assert skills.files == {"a/SKILL.md": "a2"}


@pytest.mark.parametrize("is_link", [True, False])
def test_what_is_no_folder_of_a_skill_is_left(tmp_path: Path, is_link: bool) -> None:
    skills = Skills(tmp_path)
    skills.ship({"a/SKILL.md": "a1"}, added=["a"])
    skills.place.mkdir()
    (tmp_path / "theirs").mkdir()
    if is_link:
        (skills.place / "a").symlink_to(tmp_path / "theirs")
    else:
        (skills.place / "a").write_text("theirs")

    (remark,) = skills.install()
    assert remark.startswith("a is not gitmem's: it stays")
    assert list((tmp_path / "theirs").iterdir()) == []


@pytest.mark.parametrize("linked", ["a", "a/SKILL.md"])
def test_what_somebody_moved_and_linked_is_not_deleted(skills: Skills, linked: str) -> None:
    moved = (skills.place / linked).rename(skills.place.parent / "dotfiles")
    (skills.place / linked).symlink_to(moved)

    plan = plan_removal(skills.place, skills.known)
    make_skills(plan, skills.place, mode=0o600)

    assert skills.files["a/SKILL.md"] == "a1" if linked != "a" else (moved / "SKILL.md").exists()
    assert "a/SKILL.md is behind a link: it stays" in plan.remarks[0]
    assert not (skills.place / "b").exists()


def test_what_a_writer_left_that_died_makes_no_skill_foreign(tmp_path: Path) -> None:
    skills = Skills(tmp_path)
    skills.ship({"a/SKILL.md": "a1"}, added=["a"])
    skills.write("a/.SKILL.md.599c1b27.gitmem-tmp", "half")

    assert skills.install() == ()
    assert skills.files["a/SKILL.md"] == "a1"


def test_a_file_that_somebody_put_into_our_folder_is_not_written_over(skills: Skills) -> None:
    skills.write("a/notes.md", "theirs")
    skills.ship({"a/notes.md": "ours"}, changed=["a"])

    assert len(skills.install()) == 1
    assert skills.files["a/notes.md"] == "theirs"


def test_a_skill_under_a_new_name_leaves_edits_and_additions_where_they_are(
    skills: Skills,
) -> None:
    skills.write("b/SKILL.md", "mine")
    skills.write("b/notes.md", "also mine")
    skills.withdraw("b")
    skills.ship({"c/SKILL.md": "c2", "c/more/x.md": "x2"}, removed=["b"], added=["c"])

    assert skills.install() == ("b/SKILL.md was edited: it stays",)
    assert skills.files == {
        "a/SKILL.md": "a1",
        "b/SKILL.md": "mine",
        "b/notes.md": "also mine",
        "c/SKILL.md": "c2",
        "c/more/x.md": "x2",
    }


def test_a_new_name_that_somebody_took_first_stays_theirs(skills: Skills) -> None:
    skills.write("c/SKILL.md", "theirs")
    skills.withdraw("a")
    skills.ship({"c/SKILL.md": "a2"}, removed=["a"], added=["c"])

    (said,) = skills.install()
    assert said.startswith("c is not gitmem's: it stays")
    assert skills.files["c/SKILL.md"] == "theirs"
    assert "a/SKILL.md" not in skills.files


def test_a_removed_skill_goes_unless_it_was_edited(skills: Skills) -> None:
    skills.write("b/more/x.md", "mine")
    skills.withdraw("a")
    skills.withdraw("b")
    skills.ship({"z/SKILL.md": "z2"}, removed=["a", "b"], added=["z"])

    assert skills.install() == ("b/more/x.md was edited: it stays",)
    assert skills.files == {"b/more/x.md": "mine", "z/SKILL.md": "z2"}
    assert not (skills.place / "a").exists()


def test_what_somebody_removed_comes_back_only_when_asked_for(skills: Skills) -> None:
    (skills.place / "b" / "SKILL.md").unlink()
    skills.ship({"b/SKILL.md": "b2", "b/new.md": "n2"}, changed=["b"])

    skills.install(put_back=False)
    assert skills.files == {"a/SKILL.md": "a1", "b/more/x.md": "x1"}

    skills.install()
    assert skills.files["b/SKILL.md"] == "b2"
    assert skills.files["b/new.md"] == "n2"


def test_maintenance_brings_every_installation_up_to_date(skills: Skills, tmp_path: Path) -> None:
    store = tmp_path / "store"
    gone = str(tmp_path / "project that was deleted")
    for scope, folder in (("user", str(skills.place)), ("project", gone)):
        row = Install("codex", scope, folder, __version__, 1, folder, skills.known)
        store.mkdir(exist_ok=True)
        remember(store, row)
    assert update_installed(store, skills.source) == ()

    skills.ship({"a/SKILL.md": "a2"}, changed=["a"])
    (done,) = update_installed(store, skills.source)

    assert done.files == (str(skills.place / "a" / "SKILL.md"),)
    assert skills.files["a/SKILL.md"] == "a2"
    assert not Path(gone).exists()
    assert {each.scope: each.skills_version for each in installs(store)} == {
        "user": 2,
        "project": 1,
    }
    assert update_installed(store, skills.source) == ()


def test_an_installation_without_skills_gets_none_by_maintenance(
    skills: Skills, tmp_path: Path
) -> None:
    (tmp_path / "store").mkdir()
    row = Install("codex", "user", "x", "0.0.1", 0, str(tmp_path / "empty"))
    (tmp_path / "empty").mkdir()
    remember(tmp_path / "store", row)

    assert update_installed(tmp_path / "store", skills.source) == ()
    assert list((tmp_path / "empty").iterdir()) == []


def test_maintenance_tells_of_a_record_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "installs.json").write_text("{")

    (done,) = update_installed(tmp_path)

    assert "installs.json is unreadable" in done.remarks[0]


def test_the_migrations_that_ship_lead_to_the_skills_that_ship() -> None:
    names: dict[str, int] = {}
    files = sorted((shipped_folder() / "migrations").iterdir())
    assert [each.name for each in files] == [f"{n + 1:04}.yaml" for n in range(len(files))]
    for number, path in enumerate(files, 1):
        step = yaml.safe_load(path.read_text())
        assert set(step) <= {"added", "changed", "removed"}, path
        for name in (*step.get("added", ()), *step.get("changed", ())):
            names[name] = number
        for name in step.get("removed", ()):
            del names[name]

    found = skill_files(shipped_folder(), "codex")
    mains = {path.removesuffix("/SKILL.md"): data for path, data in found.items()}
    metadata = {name: frontmatter.read(mains[name].decode())["metadata"] for name in names}
    assert {name: each["version"] for name, each in metadata.items()} == {
        name: str(number) for name, number in names.items()
    }
    assert {path.partition("/")[0] for path in found} == set(names)


@pytest.mark.parametrize("host", HOSTS)
def test_each_host_gets_skills_it_can_read(host: str) -> None:
    also = ("context", "argument-hint") if host == "claude-code" else ()

    for path, data in skill_files(shipped_folder(), host).items():
        if path.endswith("/SKILL.md"):
            name = path.removesuffix("/SKILL.md")
            assert skill_rules.problems(data.decode(), name, also=also) == ()
    sync = skill_files(shipped_folder(), host)["gitmem-memory/SKILL.md"].decode()
    assert ("\ncontext: fork\n" in sync) == (host == "claude-code")


def test_an_update_that_broke_off_goes_on_where_it_was(skills: Skills) -> None:
    skills.install()
    before, known = dict(skills.files), dict(skills.known)
    skills.ship({"a/SKILL.md": "a2", "b/SKILL.md": "b2"}, changed=["a", "b"])
    plan = plan_skills(skills.source, "codex", skills.place, known)
    make(plan.changes[0], mode=0o600)  # the disk is full now

    again = plan_skills(skills.source, "codex", skills.place, known, begun=plan.known)
    taken = plan_removal(skills.place, known, plan.known)

    assert skills.files == {**before, "a/SKILL.md": "a2"}
    assert [each.path.parent.name for each in again.changes] == ["b"]
    assert (again.remarks, taken.remarks) == ((), ())
    assert {each.path.name for each in taken.changes if each.after is None} >= {"SKILL.md"}
    assert len(taken.changes) == len(before)
